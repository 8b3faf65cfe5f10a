//! Turns takes into animations.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use ufbx::{Anim, AnimCurve, AnimStack, AnimValue, ElementType, ExtrapolationMode, Node};

use crate::buffer::{AccessorType, Buffer, TooLarge};
use crate::context::Context;
use crate::curve::{Method, Source, Track, fit};
use crate::morphs;
use crate::rig::{self, Rig};

/// Largest error of a rotation, in radians: 2e-5 degrees.
const TURN: f64 = 3e-7;

/// Largest error of a translation, in sizes of the model.
const MOVE: f64 = 1e-7;

/// Largest error of a scale or a weight.
const RATIO: f64 = 5e-7;

/// Repeats of a curve before its first or after its last key.
const REPEATS: usize = 10_000;

/// Degrees between two keys of an Euler angle that are fitted as one segment.
const SPAN: f64 = 270.0;

/// Evaluations and keys for a file of `len` bytes. A dance takes one for two bytes.
fn work(len: usize) -> usize {
    1_000_000 + len.saturating_mul(20)
}

/// Keys that may be added between those of a file of `len` bytes. A dance needs one for 200 bytes.
fn halvings(len: usize) -> usize {
    20_000 + len / 16
}

/// Transforms of a node that are kept for its other tracks.
const KNOWN: usize = 1 << 16;

/// Times at which the properties of one node or one blend shape have keys.
#[derive(Default)]
struct Times {
    /// Key times of translation, rotation and scale. `None` if a property is not animated.
    parts: [Option<Vec<f64>>; 3],
    weights: Option<Vec<f64>>,
}

/// How well the tracks of a node fit.
#[derive(Default)]
struct Fitted {
    /// Pieces that miss the tolerance.
    missed: usize,
    /// Whether some transform is only the nearest one.
    sheared: bool,
}

/// Animations of a document.
pub(crate) struct Takes<'a> {
    rig: &'a Rig<'a>,
    /// Whether the document has the mesh of each node of the scene.
    has_mesh: &'a [bool],
    /// Extent of the model in metres.
    size: f64,
    work: usize,
    halvings: usize,
}

impl<'a> Takes<'a> {
    /// Animations of a file of `len` bytes.
    pub(crate) fn new(rig: &'a Rig<'a>, has_mesh: &'a [bool], size: f64, len: usize) -> Self {
        Self { rig, has_mesh, size, work: work(len), halvings: halvings(len) }
    }

    /// Returns the animations of all takes.
    pub(crate) fn animations(&mut self, context: &mut Context<'_>) -> Result<Vec<Value>, TooLarge> {
        let mut all = Vec::new();
        for stack in &self.rig.scene.anim_stacks {
            let name = &*stack.element.name;
            match self.animation(stack, context)? {
                Some(mut animation) => {
                    if !name.is_empty() {
                        animation["name"] = name.into();
                    }
                    all.push(animation);
                }
                None => context.problems.note(
                    format!("take {name}"),
                    "it moves no node and no blend shape",
                    "the take is left out",
                ),
            }
        }
        Ok(all)
    }

    fn animation(&mut self, stack: &AnimStack, context: &mut Context<'_>) -> Result<Option<Value>, TooLarge> {
        let Some(range) = range(stack) else { return Ok(None) };
        let mut gather = Gather { range, left: self.work, nodes: BTreeMap::new(), shared: Vec::new() };
        gather.stack(stack, self.rig)?;
        self.work = gather.left;
        let (nodes, shared) = (gather.nodes, gather.shared);
        let mut out = Output::default();
        for (id, mut times) in nodes {
            let Some(node) = self.rig.scene.nodes.get(id as usize) else { continue };
            let Some(target) = context.node(id) else { continue };
            let lists = times.parts.iter_mut().chain([&mut times.weights]);
            for list in lists.flatten() {
                list.extend_from_slice(&shared);
                list.sort_by(f64::total_cmp);
                list.dedup();
            }
            let animated = AnimatedNode { anim: &stack.anim, node, target, start: range.start };
            let Fitted { missed, sheared } = self.node(&animated, &times, &mut out, &mut context.buffer)?;
            let place = || format!("node {}", &*node.element.name);
            if sheared {
                context.problems.warn(place(), rig::SHEARED, rig::NEAREST);
            }
            if missed > 0 {
                let what = format!("{missed} pieces of its curves turn or bend too fast for a spline");
                context.problems.warn(place(), what, "the nearest spline is used");
            }
        }
        if out.channels.is_empty() {
            return Ok(None);
        }
        Ok(Some(json!({"channels": out.channels, "samplers": out.samplers})))
    }

    /// Adds the tracks of a node.
    fn node(
        &mut self,
        animated: &AnimatedNode<'_>,
        times: &Times,
        out: &mut Output,
        buffer: &mut Buffer,
    ) -> Result<Fitted, TooLarge> {
        let mut fitted = self.transforms(animated, times, out, buffer)?;
        fitted.missed += self.weights(animated, times, out, buffer)?;
        if self.work == 0 { Err(TooLarge) } else { Ok(fitted) }
    }

    fn transforms(
        &mut self,
        &AnimatedNode { anim, node, target, start }: &AnimatedNode<'_>,
        times: &Times,
        out: &mut Output,
        buffer: &mut Buffer,
    ) -> Result<Fitted, TooLarge> {
        let mut known: HashMap<u64, [f64; 10]> = HashMap::new();
        let mut fitted = Fitted::default();
        let paths = [
            ("translation", 0..3, AccessorType::Vec3),
            ("rotation", 3..7, AccessorType::Vec4),
            ("scale", 7..10, AccessorType::Vec3),
        ];
        for ((path, range, accessor_type), times) in paths.into_iter().zip(&times.parts) {
            let Some(times) = times else { continue };
            let rig = self.rig;
            let (mut used, mut sheared) = (0, false);
            let mut at = |time: f64, value: &mut [f64]| {
                if known.len() >= KNOWN {
                    known.clear();
                }
                let row = known.entry(time.to_bits()).or_insert_with(|| {
                    used += 1;
                    let local = rig.local(Some(anim), node, start + time);
                    sheared |= local.sheared;
                    numbers(&local.transform)
                });
                value.copy_from_slice(&row[range.clone()]);
            };
            let tolerance =
                [MOVE * self.size, TURN, RATIO][usize::from(range.start > 0) + usize::from(range.start > 3)];
            let is_rotation = range.start == 3;
            let mut source =
                Source { width: range.len(), is_rotation, tolerance, left: self.halvings, at: &mut at };
            let track = fit(&mut source, times);
            self.halvings = source.left;
            self.work = self.work.saturating_sub(used);
            fitted.missed += track.missed;
            fitted.sheared |= sheared;
            out.add(Channel { node: target, path, accessor_type }, &track, buffer)?;
        }
        Ok(fitted)
    }

    /// Adds the weights of a node's blend shapes, and returns the number of pieces that miss the tolerance.
    fn weights(
        &mut self,
        &AnimatedNode { anim, node, target, start }: &AnimatedNode<'_>,
        times: &Times,
        out: &mut Output,
        buffer: &mut Buffer,
    ) -> Result<usize, TooLarge> {
        let mesh = node.mesh.as_ref().filter(|_| self.has_mesh[node.element.typed_id as usize]);
        let (Some(mesh), Some(times)) = (mesh, &times.weights) else { return Ok(0) };
        let width = morphs::count(mesh);
        if width == 0 {
            return Ok(0);
        }
        let mut used = 0;
        let mut at = |time: f64, value: &mut [f64]| {
            used += width;
            let weights =
                morphs::weights(mesh, |channel| ufbx::evaluate_blend_weight(anim, channel, start + time));
            value.iter_mut().zip(weights).for_each(|(value, weight)| *value = weight);
        };
        let mut source =
            Source { width, is_rotation: false, tolerance: RATIO, left: self.halvings, at: &mut at };
        let track = fit(&mut source, times);
        self.halvings = source.left;
        self.work = self.work.saturating_sub(used);
        let channel = Channel { node: target, path: "weights", accessor_type: AccessorType::Scalar };
        out.add(channel, &track, buffer)?;
        Ok(track.missed)
    }
}

/// A node with tracks in a take.
struct AnimatedNode<'a> {
    anim: &'a Anim,
    node: &'a Node,
    /// Index of the document's node.
    target: usize,
    /// Start of the take in seconds.
    start: f64,
}

/// Start and end of a take in seconds.
#[derive(Clone, Copy)]
struct TakeRange {
    start: f64,
    end: f64,
}

/// Start and end that a take states, else those of its keys.
fn range(stack: &AnimStack) -> Option<TakeRange> {
    if stack.time_begin < stack.time_end && (stack.time_end - stack.time_begin).is_finite() {
        return Some(TakeRange { start: stack.time_begin, end: stack.time_end });
    }
    let values = stack.layers.into_iter().flat_map(|layer| &*layer.anim_props);
    let curves = values.flat_map(|property| property.anim_value.curves.iter().flatten());
    let with_keys = curves.filter(|curve| !curve.keyframes.is_empty());
    let ends = with_keys.map(|curve| TakeRange { start: curve.min_time, end: curve.max_time });
    let whole = ends.reduce(|a, b| TakeRange { start: a.start.min(b.start), end: a.end.max(b.end) });
    whole.filter(|range| (range.end - range.start).is_finite())
}

fn numbers(transform: &ufbx::Transform) -> [f64; 10] {
    let (t, r, s) = (transform.translation, transform.rotation, transform.scale);
    [t.x, t.y, t.z, r.x, r.y, r.z, r.w, s.x, s.y, s.z]
}

/// Collects the key times of a take, relative to its start.
struct Gather {
    range: TakeRange,
    left: usize,
    nodes: BTreeMap<u32, Times>,
    /// Key times of the weights of layers, which concern all nodes.
    shared: Vec<f64>,
}

impl Gather {
    fn stack(&mut self, stack: &AnimStack, rig: &Rig<'_>) -> Result<(), TooLarge> {
        for property in stack.layers.into_iter().flat_map(|layer| &*layer.anim_props) {
            let (name, value) = (&*property.prop_name, &*property.anim_value);
            match property.element.type_ {
                ElementType::Node => {
                    if let Some(node) = ufbx::as_node(&property.element).filter(|node| !node.is_root) {
                        self.transform(node, name, value)?;
                    }
                }
                ElementType::BlendChannel if name == "DeformPercent" => {
                    let times = self.times(value, false)?;
                    self.weights(rig.nodes_of_channel(property.element.element_id), &times)?;
                }
                // Versions before 7 animate properties of the mesh, which the channels follow.
                ElementType::Mesh => {
                    let times = self.times(value, false)?;
                    let mesh = ufbx::as_mesh(&property.element).filter(|mesh| morphs::count(mesh) > 0);
                    let nodes = mesh.into_iter().flat_map(|mesh| &mesh.element.instances);
                    self.weights(nodes.map(|node| node.element.typed_id), &times)?;
                }
                ElementType::AnimLayer => {
                    let times = self.times(value, false)?;
                    self.shared.extend(times);
                }
                _ => {}
            }
        }
        self.inherited(rig)
    }

    fn weights(&mut self, nodes: impl Iterator<Item = u32>, times: &[f64]) -> Result<(), TooLarge> {
        for node in nodes {
            self.left = self.left.checked_sub(times.len() + 1).ok_or(TooLarge)?;
            let list = &mut self.nodes.entry(node).or_default().weights;
            list.get_or_insert_default().extend_from_slice(times);
        }
        Ok(())
    }

    fn transform(&mut self, node: &Node, name: &str, value: &AnimValue) -> Result<(), TooLarge> {
        let pivots = || ["RotationPivot", "ScalingPivot"].iter().any(|name| is_set(node, name));
        let parts = match name {
            "Lcl Translation" => [true, false, false],
            "Lcl Rotation" => [pivots(), true, false],
            "Lcl Scaling" => [pivots(), false, true],
            "PreRotation" | "PostRotation" | "RotationOrder" => [true, true, false],
            "RotationOffset" | "RotationPivot" | "ScalingOffset" | "ScalingPivot" => [true, false, false],
            _ => return Ok(()),
        };
        let times = self.times(value, name.ends_with("Rotation"))?;
        self.left = self.left.checked_sub(2 * times.len()).ok_or(TooLarge)?;
        let lists = &mut self.nodes.entry(node.element.typed_id).or_default().parts;
        for (list, _) in lists.iter_mut().zip(parts).filter(|it| it.1) {
            list.get_or_insert_default().extend_from_slice(&times);
        }
        Ok(())
    }

    /// Nodes that compensate the scale of others have keys where those have.
    fn inherited(&mut self, rig: &Rig<'_>) -> Result<(), TooLarge> {
        let mut scales: HashMap<u32, Vec<f64>> = HashMap::new();
        for (id, times) in &self.nodes {
            scales.extend(times.parts[2].clone().map(|list| (*id, list)));
        }
        if scales.is_empty() && self.nodes.is_empty() {
            return Ok(());
        }
        for node in rig.scene.nodes.into_iter().filter(|node| rig.compensates(node)) {
            let mut found: Vec<f64> = Vec::new();
            let mut is_moved = false;
            for start in [&node.parent, &node.inherit_scale_node] {
                let mut at = start.as_deref();
                while let Some(node) = at {
                    self.left = self.left.checked_sub(1).ok_or(TooLarge)?;
                    if let Some(times) = scales.get(&node.element.typed_id) {
                        self.left = self.left.checked_sub(times.len()).ok_or(TooLarge)?;
                        found.extend_from_slice(times);
                        is_moved = true;
                    }
                    at = node.inherit_scale_node.as_deref();
                }
            }
            let known = self.nodes.get(&node.element.typed_id);
            let part = |part: usize| known.and_then(|times| times.parts[part].clone());
            let [turn, scale] = [part(1), part(2)];
            if !is_moved && turn.is_none() && scale.is_none() {
                continue;
            }
            found.extend(turn.into_iter().chain(scale).flatten());
            let parts = &mut self.nodes.entry(node.element.typed_id).or_default().parts;
            parts[1] = Some(found.clone());
            parts[2] = Some(found);
        }
        Ok(())
    }

    /// Key times of all curves of a value within the take, relative to its start.
    fn times(&mut self, value: &AnimValue, are_angles: bool) -> Result<Vec<f64>, TooLarge> {
        let mut all = Vec::new();
        for curve in value.curves.iter().flatten() {
            self.curve(curve, are_angles, &mut all)?;
        }
        if all.is_empty() {
            all.push(0.0);
        }
        Ok(all)
    }

    fn curve(&mut self, curve: &AnimCurve, are_angles: bool, all: &mut Vec<f64>) -> Result<(), TooLarge> {
        let TakeRange { start, end } = self.range;
        let keys = &*curve.keyframes;
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Ok(()) };
        let mut times: Vec<f64> = Vec::with_capacity(keys.len());
        for (index, key) in keys.iter().enumerate() {
            times.push(key.time);
            let Some(next) = keys.get(index + 1).filter(|_| are_angles) else { continue };
            let turn = (next.value - key.value).abs();
            if turn > SPAN {
                let parts = (turn / SPAN).ceil().min(1000.0);
                times.extend(
                    (1..parts as usize).map(|k| key.time + (next.time - key.time) * (k as f64 / parts)),
                );
            }
        }
        let repeats = |mode: ExtrapolationMode| {
            matches!(
                mode,
                ExtrapolationMode::Repeat | ExtrapolationMode::Mirror | ExtrapolationMode::RepeatRelative
            )
        };
        let (before, after) = (curve.pre_extrapolation.mode, curve.post_extrapolation.mode);
        let length = last.time - first.time;
        let mut extra: Vec<f64> = Vec::new();
        if length > 0.0 {
            for (is_on, side, reach) in
                [(repeats(before), -1.0, first.time - start), (repeats(after), 1.0, end - last.time)]
            {
                let count =
                    if is_on { (reach / length).ceil().clamp(0.0, REPEATS as f64) as usize } else { 0 };
                self.left = self.left.checked_sub(count.saturating_mul(times.len())).ok_or(TooLarge)?;
                for k in 1..=count {
                    let shift = side * length * k as f64;
                    extra.extend(times.iter().map(|time| time + shift));
                    extra.extend(times.iter().map(|time| first.time + last.time - time + shift));
                }
            }
        }
        times.extend(extra);
        // The curve goes on before the start or after the end.
        if first.time < start || (before != ExtrapolationMode::Constant && first.time > start) {
            times.push(start);
        }
        if last.time > end || (after != ExtrapolationMode::Constant && last.time < end) {
            times.push(end);
        }
        self.left = self.left.checked_sub(times.len()).ok_or(TooLarge)?;
        let slack = 1e-9;
        let inside = times.into_iter().filter(|it| (start - slack..=end + slack).contains(it));
        all.extend(inside.map(|time| time - start));
        Ok(())
    }
}

fn is_set(node: &Node, name: &str) -> bool {
    let value = ufbx::find_prop(&node.element.props, name).map(|it| it.value_vec4);
    value.is_some_and(|it| it.x != 0.0 || it.y != 0.0 || it.z != 0.0)
}

/// Target of a track.
struct Channel {
    /// Index of the document's node.
    node: usize,
    path: &'static str,
    accessor_type: AccessorType,
}

/// Samplers and channels of an animation.
#[derive(Default)]
struct Output {
    /// Accessors of equal times.
    times: HashMap<Vec<u32>, usize>,
    samplers: Vec<Value>,
    channels: Vec<Value>,
}

impl Output {
    fn add(
        &mut self,
        Channel { node, path, accessor_type }: Channel,
        track: &Track,
        buffer: &mut Buffer,
    ) -> Result<(), TooLarge> {
        if track.times.is_empty() {
            return Ok(());
        }
        let bits: Vec<u32> = track.times.iter().map(|time| time.to_bits()).collect();
        let input = match self.times.get(&bits) {
            Some(&input) => input,
            None => {
                let input = buffer.numbers(AccessorType::Scalar, &track.times, true)?;
                self.times.insert(bits, input);
                input
            }
        };
        let output = buffer.numbers(accessor_type, &track.values, false)?;
        let mut sampler = json!({"input": input, "output": output});
        if track.method != Method::Linear {
            sampler["interpolation"] = track.method.name().into();
        }
        self.channels.push(json!({"sampler": self.samplers.len(), "target": {"node": node, "path": path}}));
        self.samplers.push(sampler);
        Ok(())
    }
}
