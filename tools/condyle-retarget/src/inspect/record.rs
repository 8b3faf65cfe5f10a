//! A clip at its frames: where the joints are, and how far they turn.

use condyle::sampling::PoseSource;
use condyle::{Affine, Error, Pose, Skeleton, local_to_model};

use super::{Defect, Kind};

/// Smallest change of a bone's length that counts, as fractions of its length and of the height.
const STRETCH: [f64; 2] = [0.02, 0.002];

/// A clip at its frames.
pub(super) struct Record {
    pub(super) times: Vec<f64>,
    pub(super) joint_count: usize,
    /// Model-space places of all joints, frame by frame.
    places: Vec<[f32; 3]>,
    /// Model-space places at rest.
    pub(super) rest: Vec<[f32; 3]>,
    /// Angle in radians by which each joint turns from the frame before, and from the one before that.
    turns: Vec<[f32; 2]>,
    /// Model-space rotation of the first joint that moves, per frame.
    pub(super) heading: Vec<[f64; 4]>,
    /// First joint that the clip moves, or joint 0.
    pub(super) root: usize,
    /// Extent of the rest joints.
    pub(super) height: f64,
    /// Bones that change their length.
    pub(super) stretch: Vec<Defect>,
}

impl Record {
    pub(super) fn new(skeleton: &Skeleton, clip: &dyn PoseSource, times: &[f64]) -> Result<Self, Error> {
        let joint_count = skeleton.joint_count();
        let mut model = vec![Affine::IDENTITY; joint_count];
        let mut pose = Pose::rest(skeleton);
        local_to_model(skeleton, &pose, &mut model)?;
        let rest: Vec<[f32; 3]> = model.iter().map(place).collect();
        let height = extent(&rest);
        let mut places = Vec::with_capacity(joint_count * times.len());
        let mut turns = Vec::with_capacity(joint_count * times.len());
        let mut rotations: [Vec<[f32; 4]>; 2] = Default::default();
        let mut lengths: Vec<Length> = vec![Length::default(); joint_count];
        let mut heading = Vec::with_capacity(times.len());
        let root = first_moved(skeleton, clip, times)?;
        for &seconds in times {
            clip.pose(skeleton, seconds, &mut pose)?;
            local_to_model(skeleton, &pose, &mut model)?;
            places.extend(model.iter().map(place));
            for (joint, local) in pose.transforms().enumerate() {
                let angle = |frame: usize| match rotations[frame].get(joint) {
                    Some(&before) => between(before, local.rotation),
                    None => 0.0,
                };
                turns.push([angle(0), angle(1)]);
                lengths[joint].add(local.translation, seconds);
            }
            rotations.swap(0, 1);
            rotations[0].clear();
            rotations[0].extend(pose.transforms().map(|local| local.rotation));
            heading.push(model[root].to_transform().0.rotation.map(f64::from));
        }
        // The root travels, so its distance from the parent is no bone.
        let bones =
            (0..joint_count).filter(|&joint| joint != root && skeleton.parent(joint as u16).is_some());
        let stretch = bones.filter_map(|joint| lengths[joint].defect(joint as u16, height)).collect();
        let times = times.to_vec();
        Ok(Self { times, joint_count, places, rest, turns, heading, root, height, stretch })
    }

    pub(super) fn frame_count(&self) -> usize {
        self.times.len()
    }

    /// Places of all joints in a frame.
    pub(super) fn places(&self, frame: usize) -> &[[f32; 3]] {
        &self.places[frame * self.joint_count..][..self.joint_count]
    }

    /// Angle by which a joint turns in `frame`, from the frame before.
    pub(super) fn turn(&self, frame: usize, joint: usize) -> f64 {
        self.turns[frame * self.joint_count + joint][0].into()
    }

    /// Angle by which a joint turns in `frame`, from two frames before.
    pub(super) fn turn_of_two(&self, frame: usize, joint: usize) -> f64 {
        self.turns[frame * self.joint_count + joint][1].into()
    }

    /// Whether no joint is farther than `distance` from its place in another record.
    pub(super) fn is_same(&self, other: &Self, distance: f64) -> bool {
        self.places.len() == other.places.len()
            && self.places.iter().zip(&other.places).all(|(a, b)| apart(*a, *b) <= distance)
    }
}

/// Shortest and longest distance of a joint from its parent.
#[derive(Clone, Copy)]
struct Length {
    least: f64,
    most: f64,
    seconds: f64,
}

impl Default for Length {
    fn default() -> Self {
        Self { least: f64::INFINITY, most: 0.0, seconds: 0.0 }
    }
}

impl Length {
    fn add(&mut self, translation: [f32; 3], seconds: f64) {
        let length = apart(translation, [0.0; 3]);
        self.least = self.least.min(length);
        if length > self.most {
            (self.most, self.seconds) = (length, seconds);
        }
    }

    fn defect(&self, joint: u16, height: f64) -> Option<Defect> {
        let amount = self.most - self.least;
        let is_far = amount > STRETCH[0] * self.most && amount > STRETCH[1] * height;
        is_far.then_some(Defect { kind: Kind::Stretch, joint, seconds: self.seconds, amount, count: 1 })
    }
}

fn place(matrix: &Affine) -> [f32; 3] {
    matrix.transform_point([0.0; 3])
}

/// Distance of two points.
pub(super) fn apart(a: [f32; 3], b: [f32; 3]) -> f64 {
    let squares = (0..3).map(|c| f64::from(a[c]) - f64::from(b[c])).map(|d| d * d);
    squares.sum::<f64>().sqrt()
}

/// Angle between two rotations.
fn between(a: [f32; 4], b: [f32; 4]) -> f32 {
    let (a, b) = (a.map(f64::from), b.map(f64::from));
    // The difference is exact for small angles, where the arc cosine is not.
    let near = |sign: f64| (0..4).map(|c| (a[c] - sign * b[c]).powi(2)).sum::<f64>();
    let chord = near(1.0).min(near(-1.0)).sqrt();
    (4.0 * (chord / 2.0).min(1.0).asin()) as f32
}

/// First joint that the clip moves, at nine moments; joint 0 if it moves none.
fn first_moved(skeleton: &Skeleton, clip: &dyn PoseSource, times: &[f64]) -> Result<usize, Error> {
    const MOMENTS: usize = 9;
    let mut first = skeleton.joint_count();
    let mut pose = Pose::rest(skeleton);
    for moment in 0..MOMENTS {
        clip.pose(skeleton, times[moment * (times.len() - 1) / (MOMENTS - 1)], &mut pose)?;
        let mut pairs = pose.transforms().zip(skeleton.rest().transforms()).take(first);
        first = pairs.position(|(local, rest)| local != rest).unwrap_or(first);
    }
    Ok(if first == skeleton.joint_count() { 0 } else { first })
}

/// Longest side of the box around points.
fn extent(points: &[[f32; 3]]) -> f64 {
    let side = |c: usize| {
        let [least, most] = points.iter().fold([f32::INFINITY, f32::NEG_INFINITY], |[least, most], point| {
            [least.min(point[c]), most.max(point[c])]
        });
        f64::from(most) - f64::from(least)
    };
    (0..3).map(side).fold(0.0, f64::max)
}
