//! Solves the poses of a clip for the requests, moment by moment.
//!
//! Each moment is solved separately, from the clip's pose there. The same moment has the same pose whatever
//! the other moments are, and moments can be solved in parallel. Where no request is active, the clip is
//! unchanged, bit for bit.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use condyle::{Error, Pose, Quat, Skeleton, Transform};
use condyle_gltf::{Asset, Placement};
use condyle_solve::Limits;
use condyle_solve::full_body::{self, BodyBuffer, BodyOptions, Goal, body};

use super::request::{Placed, Request};

/// Number of parts into which the path from the clip to the goals is divided, and solver steps for each part.
/// Half of the steps move only the joints near the goals.
///
/// Many poses reach the same goals. With a single search along the whole path, the poses of two adjacent
/// moments differ by centimetres if one of them takes a step more. Short parts keep adjacent poses close.
const PARTS: u32 = 8;
const STEPS: u32 = 4;
/// Steps of the last part. After them, a reachable goal is within a few hundredths of a millimetre, and an
/// unreachable one within one millimetre of the nearest pose. More steps would drift between equally near
/// poses.
const LAST_STEPS: u32 = 6;

/// Requests, and the joints that may move for them.
pub(crate) struct Solver<'a> {
    skeleton: &'a Skeleton,
    pub requests: Vec<Request>,
    /// Seconds that a request with times takes to begin and to end.
    pub ease: f32,
    /// Readiness of each joint to turn.
    readiness: Vec<f32>,
    /// Joint that moves as a whole.
    pub shift: Option<u16>,
    /// Residual at which the search stops, in units of the model.
    tolerance: f32,
    /// Joints that may change.
    pub movable: Vec<u16>,
    /// Limits of the joints.
    limits: Option<Limits>,
}

/// A solved moment.
pub(crate) struct Solved {
    /// Local transform of each movable joint.
    pub locals: Vec<Transform>,
    /// Whether each movable joint differs from the clip.
    pub changed: Vec<bool>,
    pub iterations: u32,
    pub time: Duration,
}

/// Memory reused from one moment to the next.
pub(crate) struct Scratch<'a> {
    pub clip: Placed<'a>,
    pose: Pose,
    goals: Vec<Goal<'static>>,
    buffer: BodyBuffer,
}

impl<'a> Scratch<'a> {
    pub(crate) fn new(skeleton: &'a Skeleton) -> Self {
        Self {
            clip: Placed::rest(skeleton),
            pose: Pose::rest(skeleton),
            goals: Vec::new(),
            buffer: BodyBuffer::default(),
        }
    }
}

impl<'a> Solver<'a> {
    /// Builds a solver; `tolerance` is in units of the model.
    pub(crate) fn new(
        asset: &'a Asset,
        requests: Vec<Request>,
        shift: Option<u16>,
        (ease, tolerance): (f32, f32),
    ) -> Self {
        let skeleton = &asset.skeleton;
        let trunk = trunk(asset);
        let asked = |request: &&Request| !request.turns() && trunk[usize::from(request.joint)];
        let shift = shift.or_else(|| requests.iter().find(asked).map(|request| request.joint));
        let readiness = readiness(skeleton, &requests, &trunk, shift);
        let mut above = vec![false; skeleton.joint_count()];
        for request in &requests {
            // The position of a joint does not depend on its rotation.
            let own = request.turns() || shift == Some(request.joint);
            let start = if own { Some(request.joint) } else { skeleton.parent(request.joint) };
            let way = std::iter::successors(start, |&joint| skeleton.parent(joint));
            way.for_each(|joint| above[usize::from(joint)] = true);
        }
        let movable = (0..skeleton.joint_count() as u16)
            .filter(|&joint| {
                above[usize::from(joint)] && (readiness[usize::from(joint)] > 0.0 || shift == Some(joint))
            })
            .collect();
        Self { skeleton, requests, ease, readiness, shift, tolerance, movable, limits: None }
    }

    /// Sets limits that joints keep while they turn.
    pub(crate) fn within(self, limits: Option<Limits>) -> Self {
        Self { limits, ..self }
    }

    /// Whether any request is active at a moment, except pins.
    fn asks(&self, seconds: f64) -> bool {
        self.requests.iter().any(|request| !request.stays() && request.share(seconds, self.ease) > 0.0)
    }

    /// Whether the joint that may move as a whole is movable.
    pub(crate) fn shifts(&self) -> bool {
        self.shift.is_some_and(|joint| self.movable.binary_search(&joint).is_ok())
    }

    /// Whether no joint may move for a request, because all its ancestors carry the whole character.
    pub(crate) fn is_held(&self, request: &Request) -> bool {
        let own = request.turns() || self.shift == Some(request.joint);
        let start = if own { Some(request.joint) } else { self.skeleton.parent(request.joint) };
        let mut way = std::iter::successors(start, |&joint| self.skeleton.parent(joint));
        !way.any(|joint| self.movable.binary_search(&joint).is_ok())
    }

    /// Solves the moment whose pose is in `scratch.clip`.
    pub(crate) fn solve(&self, seconds: f64, scratch: &mut Scratch<'_>) -> Result<Solved, Error> {
        let Scratch { clip, pose, goals, buffer } = scratch;
        clip.place()?;
        pose.clone_from(&clip.pose);
        let hold = self.limits.as_ref().map(|limits| |joint, rotation: Quat| limits.hold(joint, rotation));
        let mut options = BodyOptions {
            limit: hold.as_ref().map(|hold| hold as &dyn Fn(u16, Quat) -> Quat),
            iterations: STEPS,
            tolerance: Some(self.tolerance),
            ease: Some(&self.readiness),
            shift: self.shift.map(|joint| (joint, 1.0)),
            ..BodyOptions::default()
        };
        let (mut iterations, mut time) = (0, Duration::ZERO);
        let parts = if self.asks(seconds) { PARTS } else { 0 };
        for part in 1..=parts {
            if part == PARTS {
                options.iterations = LAST_STEPS;
            }
            let part = part as f32 / PARTS as f32;
            goals.clear();
            goals.extend(self.requests.iter().map(|request| {
                let share = request.share(seconds, self.ease);
                request.goal_on_the_way(clip, seconds, share * part)
            }));
            let begin = Instant::now();
            let reached = body(self.skeleton, goals, &options, buffer, pose)?;
            time += begin.elapsed();
            iterations += reached.iterations;
        }
        let own = |&joint: &u16| pose.get(joint.into());
        let locals: Vec<Transform> = self.movable.iter().map(own).collect();
        let changed = self.movable.iter().zip(&locals);
        let changed = changed.map(|(&joint, local)| clip.pose.get(joint.into()) != *local).collect();
        Ok(Solved { locals, changed, iterations, time })
    }
}

/// Returns for each joint whether it carries everything that moves vertices. A rotation of such a joint turns
/// the whole character, including its feet.
fn trunk(asset: &Asset) -> Vec<bool> {
    let skeleton = &asset.skeleton;
    let count = skeleton.joint_count();
    let mut deforming: HashSet<u16> = HashSet::new();
    for instance in &asset.instances {
        match instance.placement {
            // Only the joints of a skin that move a vertex count: others are controls for artists.
            Placement::Skin(skin) => {
                let joints = asset.skins[skin].joints();
                for influences in instance.primitives.iter().map(|it| it.mesh.influences()) {
                    let rows = (0..influences.vertex_count()).flat_map(|vertex| influences.row(vertex));
                    deforming.extend(rows.filter_map(|(joint, _)| joints.get(usize::from(joint))));
                }
            }
            Placement::Joint(joint) => _ = deforming.insert(joint),
            Placement::Fixed(_) => {}
        }
    }
    if deforming.is_empty() {
        deforming.extend(0..count as u16);
    }
    let mut carried = vec![0; count];
    for joint in (0..count as u16).rev() {
        carried[usize::from(joint)] += usize::from(deforming.contains(&joint));
        if let Some(parent) = skeleton.parent(joint) {
            carried[usize::from(parent)] += carried[usize::from(joint)];
        }
    }
    carried.iter().map(|&carried| carried == deforming.len()).collect()
}

/// Returns the readiness of each joint to turn, as the library computes it: near joints first, so that an arm
/// reaches before the back bends. The back also carries the other arm and the head. Joints of the trunk do
/// not turn, except one that moves as a whole.
fn readiness(skeleton: &Skeleton, requests: &[Request], trunk: &[bool], shift: Option<u16>) -> Vec<f32> {
    let asked: Vec<u16> =
        requests.iter().map(|request| request.joint).filter(|&joint| !trunk[usize::from(joint)]).collect();
    let mut ease = vec![1.0; skeleton.joint_count()];
    // The call cannot fail, because the joints belong to the skeleton.
    let _ = full_body::readiness(skeleton, skeleton.rest(), &asked, &mut ease);
    for (joint, ease) in (0..).zip(&mut ease) {
        if trunk[usize::from(joint)] && shift != Some(joint) {
            *ease = 0.0;
        }
    }
    ease
}
