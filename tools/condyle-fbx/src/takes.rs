//! Turns takes into animations.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use ufbx::{Anim, AnimCurve, AnimStack, AnimValue, ElementType, ExtrapolationMode, Node};

use crate::buffer::{Buffer, Kind, TooLarge};
use crate::curve::{Method, Source, Track, fit};
use crate::morphs;
use crate::problems::Problems;
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
    pub(crate) rig: &'a Rig<'a>,
    /// Index of the document's node for each node of the scene.
    pub(crate) nodes: &'a [Option<usize>],
    /// Whether the document has the mesh of each node of the scene.
    has_mesh: &'a [bool],
    /// Extent of the model in metres.
    pub(crate) size: f64,
    work: usize,
    halvings: usize,
}

impl<'a> Takes<'a> {
    pub(crate) fn new(
        rig: &'a Rig<'a>,
        nodes: &'a [Option<usize>],
        has_mesh: &'a [bool],
        size: f64,
        len: usize,
    ) -> Self {
        Self { rig, nodes, has_mesh, size, work: work(len), halvings: halvings(len) }
    }

    /// Returns the animations of all takes.
    pub(crate) fn animations(
        &mut self,
        buffer: &mut Buffer,
        problems: &mut Problems,
    ) -> Result<Vec<Value>, TooLarge> {
        let mut all = Vec::new();
        for stack in &self.rig.scene.anim_stacks {
            let name = &*stack.element.name;
            match self.animation(stack, buffer, problems)? {
                Some(mut animation) => {
                    if !name.is_empty() {
                        animation["name"] = name.into();
                    }
                    all.push(animation);
                }
                None => problems.note(
                    format!("take {name}"),
                    "it moves no node and no blend shape",
                    "the take is left out",
                ),
            }
        }
        Ok(all)
    }

    fn animation(
        &mut self,
        stack: &AnimStack,
        buffer: &mut Buffer,
        problems: &mut Problems,
    ) -> Result<Option<Value>, TooLarge> {
        let Some(range) = self.range(stack) else { return Ok(None) };
        let mut gather = Gather { range, left: self.work, nodes: BTreeMap::new(), shared: Vec::new() };
        gather.stack(stack, self.rig)?;
        self.work = gather.left;
        let (nodes, shared) = (gather.nodes, gather.shared);
        let mut out = Output { buffer, times: HashMap::new(), samplers: Vec::new(), channels: Vec::new() };
        for (id, mut times) in nodes {
            let Some(node) = self.rig.scene.nodes.get(id as usize) else { continue };
            let Some(target) = self.nodes.get(id as usize).copied().flatten() else { continue };
            let lists = times.parts.iter_mut().chain([&mut times.weights]);
            for list in lists.flatten() {
                list.extend_from_slice(&shared);
                list.sort_by(f64::total_cmp);
                list.dedup();
            }
            let Fitted { missed, sheared } = self.node(stack, node, target, range.0, &times, &mut out)?;
            if sheared {
                problems.warn(format!("node {}", &*node.element.name), rig::SHEARED, rig::NEAREST);
            }
            if missed > 0 {
                let what = format!("{missed} pieces of its curves turn or bend too fast for a spline");
                problems.warn(format!("node {}", &*node.element.name), what, "the nearest spline is used");
            }
        }
        if out.channels.is_empty() {
            return Ok(None);
        }
        Ok(Some(json!({"channels": out.channels, "samplers": out.samplers})))
    }

    /// Start and end of a take in seconds: those that it states, else those of its keys.
    fn range(&self, stack: &AnimStack) -> Option<(f64, f64)> {
        if stack.time_begin < stack.time_end && (stack.time_end - stack.time_begin).is_finite() {
            return Some((stack.time_begin, stack.time_end));
        }
        let values = stack.layers.into_iter().flat_map(|layer| &*layer.anim_props);
        let curves = values.flat_map(|it| it.anim_value.curves.iter().flatten());
        let with_keys = curves.filter(|it| !it.keyframes.is_empty());
        let ends = with_keys.map(|it| (it.min_time, it.max_time));
        ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).filter(|it| (it.1 - it.0).is_finite())
    }

    /// Adds the tracks of a node.
    fn node(
        &mut self,
        stack: &AnimStack,
        node: &Node,
        target: usize,
        start: f64,
        times: &Times,
        out: &mut Output<'_>,
    ) -> Result<Fitted, TooLarge> {
        let anim: &Anim = &stack.anim;
        let mut known: HashMap<u64, [f64; 10]> = HashMap::new();
        let mut fitted = Fitted::default();
        let paths =
            [("translation", 0..3, Kind::Vec3), ("rotation", 3..7, Kind::Vec4), ("scale", 7..10, Kind::Vec3)];
        for ((path, range, kind), times) in paths.into_iter().zip(&times.parts) {
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
            out.add(target, path, kind, &track)?;
        }
        let mesh = node.mesh.as_ref().filter(|_| self.has_mesh[node.element.typed_id as usize]);
        let (Some(mesh), Some(times)) = (mesh, &times.weights) else { return Ok(fitted) };
        let width = morphs::count(mesh);
        if width > 0 {
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
            fitted.missed += track.missed;
            out.add(target, "weights", Kind::Scalar, &track)?;
        }
        match self.work {
            0 => Err(TooLarge),
            _ => Ok(fitted),
        }
    }
}

fn numbers(it: &ufbx::Transform) -> [f64; 10] {
    let (t, r, s) = (it.translation, it.rotation, it.scale);
    [t.x, t.y, t.z, r.x, r.y, r.z, r.w, s.x, s.y, s.z]
}

/// Collects the key times of a take, relative to its start.
struct Gather {
    range: (f64, f64),
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
            let own = self.nodes.get(&node.element.typed_id);
            let own = |part: usize| own.and_then(|it| it.parts[part].clone());
            let [turn, scale] = [own(1), own(2)];
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
        let (start, end) = self.range;
        let keys = &*curve.keyframes;
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Ok(()) };
        let mut own: Vec<f64> = Vec::with_capacity(keys.len());
        for (index, key) in keys.iter().enumerate() {
            own.push(key.time);
            let Some(next) = keys.get(index + 1).filter(|_| are_angles) else { continue };
            let turn = (next.value - key.value).abs();
            if turn > SPAN {
                let parts = (turn / SPAN).ceil().min(1000.0);
                own.extend(
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
                self.left = self.left.checked_sub(count.saturating_mul(own.len())).ok_or(TooLarge)?;
                for k in 1..=count {
                    let shift = side * length * k as f64;
                    extra.extend(own.iter().map(|time| time + shift));
                    extra.extend(own.iter().map(|time| first.time + last.time - time + shift));
                }
            }
        }
        own.extend(extra);
        // The curve goes on before the start or after the end.
        if first.time < start || (before != ExtrapolationMode::Constant && first.time > start) {
            own.push(start);
        }
        if last.time > end || (after != ExtrapolationMode::Constant && last.time < end) {
            own.push(end);
        }
        self.left = self.left.checked_sub(own.len()).ok_or(TooLarge)?;
        let slack = 1e-9;
        let inside = own.into_iter().filter(|it| (start - slack..=end + slack).contains(it));
        all.extend(inside.map(|time| time - start));
        Ok(())
    }
}

fn is_set(node: &Node, name: &str) -> bool {
    let value = ufbx::find_prop(&node.element.props, name).map(|it| it.value_vec4);
    value.is_some_and(|it| it.x != 0.0 || it.y != 0.0 || it.z != 0.0)
}

/// Samplers and channels of an animation.
struct Output<'a> {
    buffer: &'a mut Buffer,
    /// Accessors of equal times.
    times: HashMap<Vec<u32>, usize>,
    samplers: Vec<Value>,
    channels: Vec<Value>,
}

impl Output<'_> {
    fn add(&mut self, node: usize, path: &str, kind: Kind, track: &Track) -> Result<(), TooLarge> {
        if track.times.is_empty() {
            return Ok(());
        }
        let bits: Vec<u32> = track.times.iter().map(|time| time.to_bits()).collect();
        let input = match self.times.get(&bits) {
            Some(&input) => input,
            None => {
                let input = self.buffer.numbers(Kind::Scalar, &track.times, true)?;
                self.times.insert(bits, input);
                input
            }
        };
        let output = self.buffer.numbers(kind, &track.values, false)?;
        let mut sampler = json!({"input": input, "output": output});
        if track.method != Method::Linear {
            sampler["interpolation"] = track.method.name().into();
        }
        self.channels.push(json!({"sampler": self.samplers.len(), "target": {"node": node, "path": path}}));
        self.samplers.push(sampler);
        Ok(())
    }
}
