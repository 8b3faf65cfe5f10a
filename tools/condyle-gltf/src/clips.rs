//! Reads animations as raw clips. Source: glTF 2.0, "Animations".

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use condyle::{Interpolation, RawClip, Skeleton, Target, Track};
use condyle_base::order;

use crate::accessor::{Accessor, Accessors};
use crate::format::{Component, Format, Shape, Usage};
use crate::json::{Json, Path, report_duplicate_names};
use crate::problem::{Problems, REFUSED, Severity, quoted};
use crate::scene::{Scene, UNIT_TOLERANCE};
use crate::value::Value;

const FRACTIONS: [Format; 5] = [
    Format::plain(Component::F32),
    Format::normalized(Component::I8),
    Format::normalized(Component::U8),
    Format::normalized(Component::I16),
    Format::normalized(Component::U16),
];
const TIMES: Usage =
    Usage { shape: Shape::Scalar, formats: &[Format::plain(Component::F32)], quantized: &[] };
const ROTATIONS: Usage = Usage { shape: Shape::Vec4, formats: &FRACTIONS, quantized: &[] };
const VECTORS: Usage =
    Usage { shape: Shape::Vec3, formats: &[Format::plain(Component::F32)], quantized: &[] };
const WEIGHTS: Usage = Usage { shape: Shape::Scalar, formats: &FRACTIONS, quantized: &[] };

/// Largest deviation from unit length that rounding alone can cause in a rotation. Normalised 8-bit integers
/// are the worst case.
const ROUNDING: f64 = 1e-2;

/// The possible targets of channels.
pub(crate) struct Targets<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) joint_of_node: &'a [Option<u16>],
    /// Number of morph targets of each mesh.
    pub(crate) morph_targets: &'a [usize],
}

/// Returns whether an animation moves each node, not counting morph weights.
pub(crate) fn animated_nodes(root: &Json<'_>, node_count: usize) -> Vec<bool> {
    let mut animated = vec![false; node_count];
    // Errors are reported when the clips are loaded.
    let silent = &mut Problems::unheard();
    for animation in root.list("animations", silent) {
        for channel in animation.list("channels", silent) {
            let Some(target) = channel.get("target") else { continue };
            let (path, node) = match pointed(&target) {
                Some((node, path)) => (Some(path), Some(node).filter(|&node| node < node_count)),
                None => {
                    (target.text_of("path", silent), target.reference("node", "nodes", node_count, silent))
                }
            };
            let moves = matches!(path, Some("translation" | "rotation" | "scale"));
            if let (true, Some(node)) = (moves, node) {
                animated[node] = true;
            }
        }
    }
    animated
}

/// Returns the node and the property that a channel drives through `KHR_animation_pointer`, if core glTF can
/// drive it too.
fn pointed<'a>(target: &Json<'a>) -> Option<(usize, &'a str)> {
    target.value.get("path").filter(|path| *path == "pointer")?;
    let pointer = target.value.pointer("/extensions/KHR_animation_pointer/pointer")?.as_str()?;
    let (node, property) = pointer.strip_prefix("/nodes/")?.split_once('/')?;
    // RFC 6901 allows no signs and no leading zeros.
    let digits = node.bytes().all(|c| c.is_ascii_digit()) && (node == "0" || !node.starts_with('0'));
    let known = matches!(property, "translation" | "rotation" | "scale" | "weights");
    Some((node.parse().ok().filter(|_| digits && known)?, property))
}

/// Returns one clip for each animation of the document.
pub(crate) fn load(
    root: &Json<'_>,
    targets: &Targets<'_>,
    accessors: &Accessors<'_>,
    skeleton: &Skeleton,
    problems: &mut Problems,
) -> Vec<RawClip> {
    let list = root.objects("animations", problems);
    report_duplicate_names("animations", &list, problems);
    let clip = |(index, json): (usize, &Json<'_>)| {
        let name = json.text_of("name", problems).map_or_else(|| unnamed(index), String::from);
        let mut loader = Loader {
            targets,
            accessors,
            samplers: json.objects("samplers", problems),
            inputs: HashMap::new(),
            timelines: Vec::new(),
            has_lost: false,
        };
        let tracks = loader.tracks(json, problems);
        if tracks.is_empty() && loader.has_lost {
            problems.warning(&json.path, "has no usable channel", "all of its motion is dropped");
        }
        RawClip::new(name, loader.timelines, tracks)
            .and_then(|clip| clip.for_skeleton(skeleton))
            .map_err(|e| problems.error(&json.path, e.to_string()))
            .ok()
    };
    list.iter().enumerate().filter_map(clip).collect()
}

/// Returns the name of a clip whose animation has no name.
fn unnamed(index: usize) -> String {
    format!("animation {index}")
}

/// Returns the name of an animation's clip.
pub(crate) fn name_of(index: usize, animation: &Value) -> String {
    animation.get("name").and_then(Value::as_str).map_or_else(|| unnamed(index), String::from)
}

/// The usable keys of an input accessor.
#[derive(Clone)]
struct Keys {
    /// Index of the clip's timeline.
    timeline: usize,
    /// Number of keys in the accessor.
    stored: usize,
    /// Accessor index of each key that is used; `None` if all are used, in order.
    chosen: Option<Rc<[usize]>>,
}

/// State of the loader while it reads one animation.
struct Loader<'a> {
    targets: &'a Targets<'a>,
    accessors: &'a Accessors<'a>,
    samplers: Vec<Json<'a>>,
    /// Keys of each input accessor, so that tracks share timelines.
    inputs: HashMap<usize, Option<Keys>>,
    timelines: Vec<Vec<f32>>,
    /// Whether any channel was dropped.
    has_lost: bool,
}

impl Loader<'_> {
    fn tracks(&mut self, json: &Json<'_>, problems: &mut Problems) -> Vec<Track> {
        let (mut driven, mut used) = (HashSet::new(), HashSet::new());
        let mut tracks = Vec::new();
        for channel in json.objects("channels", problems) {
            let sampler = channel.require("sampler", problems);
            let sampler = sampler.and_then(|s| s.index("samplers", self.samplers.len(), problems));
            let Some(target) = self.target(&channel, problems) else { continue };
            if !driven.insert(target) {
                let what = "drives the same property as an earlier channel of this animation";
                problems.warning(&channel.path, what, "the channel is ignored");
                continue;
            }
            if let Some(sampler) = sampler {
                used.insert(sampler);
                let sampler = self.samplers[sampler].clone();
                tracks.extend(self.track(target, &sampler, problems));
            }
        }
        for sampler in (0..self.samplers.len()).filter(|sampler| !used.contains(sampler)) {
            let sampler = &self.samplers[sampler];
            problems.as_warnings("the sampler is ignored", |problems| {
                if let Some(input) = sampler.require("input", problems) {
                    self.accessors.get(&input, &TIMES, problems);
                }
                if let Some(output) = sampler.require("output", problems) {
                    output.index("accessors", self.accessors.len(), problems);
                }
                interpolation(sampler, problems)
            });
        }
        tracks
    }

    /// Returns the target of a channel. Reports a problem and returns `None` if the channel cannot be used.
    fn target(&mut self, channel: &Json<'_>, problems: &mut Problems) -> Option<Target> {
        const IGNORED: &str = "the channel is ignored";
        const LOST: &str = "this motion is dropped";
        let json = channel.require("target", problems)?;
        let path = json.require("path", problems)?.text(problems)?;
        let nodes = self.targets.scene.nodes.len();
        let (node, path) = match pointed(&json) {
            Some((node, property)) if node < nodes => (node, property),
            _ if path == "pointer" => {
                let pointer = json.value.pointer("/extensions/KHR_animation_pointer/pointer");
                let property = pointer.and_then(Value::as_str).map_or("a property".into(), quoted);
                let what =
                    format!("moves {property} by KHR_animation_pointer, which is only supported for nodes");
                problems.warning(&json.path, what, LOST);
                self.has_lost = true;
                return None;
            }
            _ => {
                let Some(place) = json.get("node") else {
                    problems.note(&json.path, "names no node", IGNORED);
                    return None;
                };
                (place.index("nodes", nodes, problems)?, path)
            }
        };
        let it = &self.targets.scene.nodes[node];
        let target: fn(u16) -> Target = match path {
            "rotation" => Target::Rotation,
            "translation" => Target::Translation,
            "scale" => Target::Scale,
            "weights" => {
                let count = it.mesh.map_or(0, |mesh| self.targets.morph_targets[mesh]);
                if count == 0 {
                    problems.warning(
                        &json.path,
                        format!("drives morph weights, but node {node} has no morph targets"),
                        LOST,
                    );
                    self.has_lost = true;
                    return None;
                }
                return Some(Target::Weights(node as u32));
            }
            _ => {
                let what = format!("drives the unknown property {}", quoted(path));
                problems.warning(json.path.child("path"), what, LOST);
                self.has_lost = true;
                return None;
            }
        };
        if it.matrix.is_some() {
            let what = "is animated, but has a matrix instead of translation, rotation and scale";
            problems.warning(format!("/nodes/{node}"), what, "the matrix is decomposed");
        }
        // Every animated node is a joint.
        self.targets.joint_of_node[node].map(target)
    }

    fn track(&mut self, target: Target, sampler: &Json<'_>, problems: &mut Problems) -> Option<Track> {
        let interpolation = interpolation(sampler, problems)?;
        let (usage, values_per_key) = match target {
            Target::Rotation(_) => (&ROTATIONS, 1),
            Target::Translation(_) | Target::Scale(_) => (&VECTORS, 1),
            Target::Weights(node) => (
                &WEIGHTS,
                self.targets.scene.nodes[node as usize].mesh.map_or(0, |m| self.targets.morph_targets[m]),
            ),
            // A document has no other targets.
            _ => return None,
        };
        let (input, place) = (sampler.require("input", problems), sampler.require("output", problems));
        let keys = self.keys(&input?, problems);
        let place = place?;
        let output = self.accessors.get(&place, usage, problems);
        let (keys, output) = (keys?, output?);

        let per_key = values_per_key * if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        let needed = keys.stored.saturating_mul(per_key);
        if output.count != needed {
            let what = format!("has {} elements, {needed} expected for {} keys", output.count, keys.stored);
            if output.count < needed {
                problems.error(&place.path, what);
                return None;
            }
            problems.warning(&place.path, what, "the rest is ignored");
        }
        let mut values = self.values(&output, &keys, per_key, problems)?;
        let broken = values.iter().filter(|v| !v.is_finite()).count();
        if broken > 0 {
            problems.counted(Severity::Error, &place.path, broken, "a value is NaN or infinite", REFUSED);
            return None;
        }
        // Spline tangents do not have unit length, and spline values can pass through any length.
        if matches!(target, Target::Rotation(_)) && interpolation != Interpolation::CubicSpline {
            repair_rotations(&mut values, &place.path, problems);
        }
        Some(Track { target, interpolation, timeline: keys.timeline, values })
    }

    /// Returns the values of the used keys, `per_key` elements for each key.
    fn values(
        &self,
        output: &Accessor<'_>,
        keys: &Keys,
        per_key: usize,
        problems: &mut Problems,
    ) -> Option<Vec<f32>> {
        let mut values = output.floats(problems)?;
        let width = output.width() * per_key;
        values.truncate(keys.stored * width);
        Some(match &keys.chosen {
            None => values,
            Some(chosen) => {
                chosen.iter().flat_map(|&k| &values[k * width..(k + 1) * width]).copied().collect()
            }
        })
    }

    fn keys(&mut self, place: &Json<'_>, problems: &mut Problems) -> Option<Keys> {
        let accessor = self.accessors.get(place, &TIMES, problems)?;
        let index = place.whole(problems)?;
        if let Some(known) = self.inputs.get(&index) {
            return known.clone();
        }
        let timeline = self.timelines.len();
        let keys = key_times(&accessor, place, problems).map(|(times, chosen)| {
            self.timelines.push(times);
            Keys { timeline, stored: accessor.count, chosen: chosen.map(Rc::from) }
        });
        self.inputs.insert(index, keys.clone());
        keys
    }
}

fn interpolation(sampler: &Json<'_>, problems: &mut Problems) -> Option<Interpolation> {
    match sampler.text_of("interpolation", problems).unwrap_or("LINEAR") {
        "LINEAR" => Some(Interpolation::Linear),
        "STEP" => Some(Interpolation::Step),
        "CUBICSPLINE" => Some(Interpolation::CubicSpline),
        other => {
            let what = format!("is {}, expected LINEAR, STEP or CUBICSPLINE", quoted(other));
            problems.error(sampler.path.child("interpolation"), what);
            None
        }
    }
}

/// Returns increasing key times. If the keys were not in order, also returns the accessor index of each key.
/// Two keys at the same time are a jump.
fn key_times(
    accessor: &Accessor<'_>,
    place: &Json<'_>,
    problems: &mut Problems,
) -> Option<(Vec<f32>, Option<Vec<usize>>)> {
    let times = accessor.floats(problems)?;
    let broken = times.iter().filter(|t| !t.is_finite()).count();
    if broken > 0 {
        problems.counted(Severity::Error, &place.path, broken, "a key time is NaN or infinite", REFUSED);
        return None;
    }
    if times.is_empty() {
        problems.warning(&place.path, "there are no keys", "the channel is ignored");
        return None;
    }
    let negative = times.iter().filter(|&&t| t < 0.0).count();
    problems.counted(Severity::Warning, &place.path, negative, "a key time is negative", "used unchanged");
    let disorder = times.windows(2).filter(|w| w[0] >= w[1]).count();
    if disorder == 0 {
        return Some((times, None));
    }
    let what = "a key time is not greater than the one before it";
    let action = "the keys are sorted; of keys at the same time, the first and the last are kept as a jump";
    problems.counted(Severity::Warning, &place.path, disorder, what, action);
    let mut chosen: Vec<usize> = (0..times.len()).collect();
    // Adding zero makes -0 and 0 equal. The sort is stable, so the last of equal times stays last.
    let time = |k: usize| times[k] + 0.0;
    order::sort_by(&mut chosen, |&k| order::key(time(k).into()));
    let (mut rising, mut kept) = (Vec::with_capacity(times.len()), Vec::with_capacity(times.len()));
    for group in chosen.chunk_by(|&a, &b| time(a) == time(b)) {
        let (first, last) = (group[0], group[group.len() - 1]);
        let now = time(last);
        // The first key of a jump ends the segment before the jump, one f32 earlier. Before the first key
        // time there is no segment.
        if group.len() > 1 && rising.last().is_some_and(|&before| before < now.next_down()) {
            rising.push(now.next_down());
            kept.push(first);
        }
        rising.push(now);
        kept.push(last);
    }
    Some((rising, Some(kept)))
}

/// Normalises rotations whose length is far from 1. A length within a file's rounding error is kept, because
/// sampling normalises the interpolated rotation. Normalising here would bend the path between a rounded key
/// and an exact key.
fn repair_rotations(values: &mut [f32], path: &Path<'_>, problems: &mut Problems) {
    let (mut zero, mut far, mut near) = (0, 0, 0);
    let (mut worst_far, mut worst_near) = (1.0f64, 1.0f64);
    let keep_worst = |worst: &mut f64, length: f64| {
        if (length - 1.0).abs() > (*worst - 1.0).abs() {
            *worst = length;
        }
    };
    for q in values.as_chunks_mut::<4>().0 {
        let length = q.iter().map(|&c| f64::from(c) * f64::from(c)).sum::<f64>().sqrt();
        let off = (length - 1.0).abs();
        if length == 0.0 {
            zero += 1;
            *q = [0.0, 0.0, 0.0, 1.0];
        } else if off > ROUNDING {
            far += 1;
            keep_worst(&mut worst_far, length);
            *q = q.map(|c| (f64::from(c) / length) as f32);
        } else if off > UNIT_TOLERANCE {
            near += 1;
            keep_worst(&mut worst_near, length);
        }
    }
    if zero + far + near == 0 {
        return;
    }
    let length = |worst: f64| format!("a rotation has length {worst:.6}, not 1");
    problems.counted(Severity::Warning, path, zero, "a rotation has length 0", "treated as no rotation");
    problems.counted(Severity::Warning, path, far, length(worst_far), "normalised");
    problems.counted(Severity::Note, path, near, length(worst_near), "normalised when sampled");
}

#[cfg(test)]
mod tests;
