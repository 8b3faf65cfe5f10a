//! Blend shapes: each shape of each channel is a morph target.

use ufbx::{BlendChannel, BlendKeyframe, BlendShape, Mesh};

/// Channels of a mesh, in the order of their morph targets.
fn channels(mesh: &Mesh) -> impl Iterator<Item = &BlendChannel> {
    mesh.blend_deformers.into_iter().flat_map(|deformer| &deformer.channels)
}

/// Number of morph targets.
pub(crate) fn count(mesh: &Mesh) -> usize {
    channels(mesh).map(|channel| channel.keyframes.len()).sum()
}

/// Shape and name of a morph target.
pub(crate) struct Shape<'a> {
    pub(crate) shape: &'a BlendShape,
    pub(crate) name: &'a str,
}

/// Shapes of all morph targets. A channel with one shape gives it its name.
pub(crate) fn shapes(mesh: &Mesh) -> impl Iterator<Item = Shape<'_>> {
    channels(mesh).flat_map(|channel| {
        let is_alone = channel.keyframes.len() == 1;
        channel.keyframes.into_iter().map(move |key| {
            let (channel, shape) = (&*channel.element.name, &*key.shape.element.name);
            Shape { shape: &key.shape, name: if is_alone && !channel.is_empty() { channel } else { shape } }
        })
    })
}

/// Weight of each morph target, given those of the channels.
pub(crate) fn weights(mesh: &Mesh, mut weight: impl FnMut(&BlendChannel) -> f64) -> Vec<f64> {
    let mut all = Vec::new();
    for channel in channels(mesh) {
        share(&channel.keyframes, weight(channel), &mut all);
    }
    all
}

/// Splits the weight of a channel between the two shapes around it. The shapes are in the order of their
/// weights, and the mesh without a shape has weight 0.
fn share(keys: &[BlendKeyframe], weight: f64, all: &mut Vec<f64>) {
    let base = all.len();
    all.resize(base + keys.len(), 0.0);
    let first = keys.partition_point(|key| key.target_weight < 0.0);
    let (mut previous, mut next) = (None, None);
    if weight > 0.0 {
        previous = first.checked_sub(1);
        for (index, key) in keys.iter().enumerate().skip(first) {
            (previous, next) = (next, Some(index));
            if key.target_weight > weight {
                break;
            }
        }
    } else {
        previous = if first < keys.len() { Some(first) } else { previous };
        for index in (0..first).rev() {
            (previous, next) = (next, Some(index));
            if keys[index].target_weight < weight {
                break;
            }
        }
    }
    let target = |index: Option<usize>| index.map_or(0.0, |index| keys[index].target_weight);
    let length = target(next) - target(previous);
    if length != 0.0 {
        let part = (weight - target(previous)) / length;
        if let Some(index) = previous {
            all[base + index] = 1.0 - part;
        }
        if let Some(index) = next {
            all[base + index] = part;
        }
    }
}
