//! A clip frame by frame: all vertices, primitive after primitive, in world space.

use condyle_gltf::{Asset, Instance, Poser, PoserOptions, Primitive};

use crate::failure::{Failure, too_large};
use crate::model::playable::Playable;
use crate::options::moments::LONGEST;

/// Range of a primitive's vertices in a frame.
#[derive(Clone)]
pub(super) struct Part {
    /// Indices in the asset's instances, and in the primitives of that instance.
    pub(super) instance: usize,
    pub(super) primitive: usize,
    pub(super) first: usize,
    pub(super) count: usize,
}

/// Frames evenly spaced from the start of a clip to its end, both included.
#[derive(Clone, Copy)]
pub(super) struct Timing {
    start: f64,
    pub(super) duration: f64,
    pub(super) frames: usize,
    pub(super) fps: f64,
}

impl Timing {
    /// Uses `fps` frames per second, or the next higher rate whose last frame is the end of the clip. A pose
    /// is one frame.
    pub(super) fn new(clip: Option<&Playable<'_>>, fps: f64) -> Result<Self, Failure> {
        let (start, end) = clip.map_or((0.0, 0.0), |clip| (clip.start(), clip.end()));
        let duration = end - start;
        // A tolerance of a thousandth of a frame, so that rounding adds no frame.
        let steps = (duration * fps - 1e-3).ceil().max(0.0);
        if steps >= LONGEST as f64 {
            return Err(Failure::Usage(format!(
                "--fps {fps}: the clip lasts {duration} s, which is more than {LONGEST} frames; choose a lower --fps"
            )));
        }
        let steps = if duration > 0.0 { steps.max(1.0) } else { 0.0 };
        let fps = if steps > 0.0 { steps / duration } else { fps };
        Ok(Self { start, duration, frames: steps as usize + 1, fps })
    }

    /// Returns the seconds from the first frame to a frame, or to a moment between two.
    pub(super) fn since_start(&self, frame: f64) -> f64 {
        let last = self.frames.saturating_sub(1).max(1) as f64;
        self.duration * (frame / last)
    }

    fn seconds(&self, frame: f64) -> f64 {
        self.start + self.since_start(frame)
    }
}

/// Vertices of one frame. If any primitive has normals, each vertex has one; those of primitives without
/// normals are zero.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) positions: Vec<[f32; 3]>,
    pub(super) normals: Vec<[f32; 3]>,
}

pub(super) struct Film<'a> {
    pub(super) asset: &'a Asset,
    clip: Option<&'a Playable<'a>>,
    options: PoserOptions,
    pub(super) poser: Poser<'a>,
    /// Name of the file.
    pub(super) name: String,
    pub(super) timing: Timing,
    pub(super) parts: Vec<Part>,
    pub(super) has_normals: bool,
}

impl<'a> Film<'a> {
    pub(super) fn new(
        asset: &'a Asset,
        clip: Option<&'a Playable<'a>>,
        options: PoserOptions,
        name: String,
        timing: Timing,
        parts: Vec<Part>,
    ) -> Result<Self, Failure> {
        let poser = Poser::new(asset, options.clone()).map_err(|e| too_large(&name, &e))?;
        let has_normals = parts.iter().any(|part| !part.of(asset).mesh.vertices().normals.is_empty());
        Ok(Self { asset, clip, options, poser, name, timing, parts, has_normals })
    }

    /// Returns a copy with a separate poser, for other moments.
    pub(super) fn again(&self) -> Result<Self, Failure> {
        let (options, name, parts) = (self.options.clone(), self.name.clone(), self.parts.clone());
        Self::new(self.asset, self.clip, options, name, self.timing, parts)
    }

    pub(super) fn instance(&self, part: &Part) -> &'a Instance {
        &self.asset.instances[part.instance]
    }

    pub(super) fn primitive(&self, part: &Part) -> &'a Primitive {
        part.of(self.asset)
    }

    pub(super) fn vertex_count(&self) -> usize {
        self.parts.last().map_or(0, |part| part.first + part.count)
    }

    /// Returns the instance's name with the primitive's index.
    pub(super) fn part_name(&self, part: &Part) -> String {
        format!("{}.primitive{}", self.instance(part).name, self.primitive(part).index)
    }

    /// Poses everything at a frame, or at a moment between two.
    pub(super) fn pose(&mut self, frame: f64) -> Result<(), Failure> {
        self.pose_at(self.timing.seconds(frame))
    }

    pub(super) fn pose_at(&mut self, seconds: f64) -> Result<(), Failure> {
        let name = &self.name;
        self.poser.pose(self.clip, seconds).map_err(|error| {
            Failure::Data(format!("{name} at {seconds} s: {error}; check keys and scales at that time"))
        })
    }

    /// Poses like [`pose`](Self::pose), and collects all vertices in one list.
    pub(super) fn vertices(&mut self, frame: f64, to: &mut Frame) -> Result<(), Failure> {
        self.pose(frame)?;
        gather(&self.poser, &self.parts, self.has_normals, to);
        Ok(())
    }
}

/// Collects all vertices of a posed asset in one list.
pub(super) fn gather(poser: &Poser<'_>, parts: &[Part], has_normals: bool, to: &mut Frame) {
    to.positions.clear();
    to.normals.clear();
    for part in parts {
        let posed = &poser.posed(part.instance)[part.primitive];
        to.positions.extend_from_slice(&posed.positions);
        to.normals.extend_from_slice(&posed.normals);
        if has_normals {
            to.normals.resize(to.positions.len(), [0.0; 3]);
        }
    }
}

impl Part {
    fn of<'a>(&self, asset: &'a Asset) -> &'a Primitive {
        &asset.instances[self.instance].primitives[self.primitive]
    }
}

/// Returns the vertex ranges of all primitives of some instances, each given with its index.
pub(super) fn parts<'a>(instances: impl Iterator<Item = (usize, &'a Instance)>) -> Vec<Part> {
    let mut first = 0;
    let mut parts = Vec::new();
    for (instance, source) in instances {
        for (primitive, source) in source.primitives.iter().enumerate() {
            let count = source.mesh.vertex_count();
            parts.push(Part { instance, primitive, first, count });
            first += count;
        }
    }
    parts
}
