//! Requests for joints, and the goals that follow from them at a moment of a clip.

use std::collections::BTreeMap;

use condyle::interpolation::{Method, interpolate};
use condyle::{Affine, Error, Pose, Quat, Skeleton, local_to_model};
use condyle_draw::vector::{Vec3, add_scaled, length, lerp, quat_conjugate, quat_mul, sub};
use condyle_solve::full_body::{Goal, GoalKind};

use super::asked::{Asked, find_joint, joint_name};
use super::path::Path;
use crate::failure::Failure;

/// A request for a joint, in model space.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub joint: u16,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Positions to reach.
    Place(Path<Vec3>),
    /// Offsets from the position in the clip.
    Offset(Path<Vec3>),
    /// Rotations to reach.
    Turn(Path<Quat>),
    /// The position in the clip.
    Stay,
    /// The rotation in the clip.
    StayTurned,
}

/// Requests of a command line, not yet sorted by joint.
pub(crate) struct Wishes<'a> {
    pub goals: &'a [Asked<[f64; 3]>],
    pub moves: &'a [Asked<[f64; 3]>],
    pub orientations: &'a [Asked<Option<Quat>>],
    pub pins: &'a [String],
}

impl Wishes<'_> {
    /// Returns the requests, sorted by joint, with the metres per unit of the model.
    pub(crate) fn requests(
        &self,
        file: &str,
        skeleton: &Skeleton,
        metres: f64,
    ) -> Result<Vec<Request>, Failure> {
        let units = |place: [f64; 3]| place.map(|v| (v / metres) as f32);
        let find = |joint: &str| find_joint(file, skeleton, joint);
        let (mut places, mut offsets, mut turns) = (Keys::new(), Keys::new(), Keys::new());
        for asked in self.goals {
            places.entry(find(&asked.joint)?).or_default().push((asked.time, units(asked.value)));
        }
        for asked in self.moves {
            offsets.entry(find(&asked.joint)?).or_default().push((asked.time, units(asked.value)));
        }
        let mut requests = Vec::new();
        for asked in self.orientations {
            let joint = find(&asked.joint)?;
            match asked.value {
                Some(turn) => turns.entry(joint).or_default().push((asked.time, turn)),
                None => requests.push(Request { joint, kind: Kind::StayTurned }),
            }
        }
        for joint in self.pins {
            let joint = find(joint)?;
            requests.extend([Kind::Stay, Kind::StayTurned].map(|kind| Request { joint, kind }));
        }
        let name = |joint: u16| joint_name(skeleton, joint);
        for (keys, kind) in [(places, Kind::Place as fn(_) -> _), (offsets, Kind::Offset)] {
            for (joint, keys) in keys {
                requests.push(Request { joint, kind: kind(path(&name(joint), keys)?) });
            }
        }
        for (joint, keys) in turns {
            requests.push(Request { joint, kind: Kind::Turn(path(&name(joint), keys)?) });
        }
        requests.sort_by_key(|request| (request.joint, request.turns()));
        let twice = requests
            .windows(2)
            .find(|pair| (pair[0].joint, pair[0].turns()) == (pair[1].joint, pair[1].turns()));
        match twice {
            Some(pair) => Err(Failure::Usage(format!(
                "{}: its {} has two requests; give only one of --goal, --move, --orientation and --pin",
                name(pair[0].joint),
                if pair[0].turns() { "orientation" } else { "place" }
            ))),
            None => Ok(requests),
        }
    }
}

type Keys<V> = BTreeMap<u16, Vec<(Option<f64>, V)>>;

/// Builds a path from the keys of a joint. Either all keys have times, or there is only one key.
fn path<V: Copy>(name: &str, keys: Vec<(Option<f64>, V)>) -> Result<Path<V>, Failure> {
    let timed: Option<Vec<(f64, V)>> = keys.iter().map(|&(time, value)| Some((time?, value))).collect();
    match (timed, &keys[..]) {
        (Some(timed), _) => Path::new(timed).map_err(|at| {
            Failure::Usage(format!("{name}: there are two goals at {at} s; give each a different time"))
        }),
        (None, [(_, value)]) => Ok(Path::constant(*value)),
        (None, _) => Err(Failure::Usage(format!(
            "{name}: each of several goals needs a time, as in JOINT=x,y,z@SECONDS"
        ))),
    }
}

/// A pose with its matrices.
pub(crate) struct Placed<'a> {
    pub skeleton: &'a Skeleton,
    pub pose: Pose,
    pub model: Vec<Affine>,
}

impl<'a> Placed<'a> {
    pub(crate) fn rest(skeleton: &'a Skeleton) -> Self {
        let model = vec![Affine::IDENTITY; skeleton.joint_count()];
        Self { skeleton, pose: Pose::rest(skeleton), model }
    }

    /// Updates the matrices. Must be called after the pose has changed.
    pub(crate) fn place(&mut self) -> Result<(), Error> {
        local_to_model(self.skeleton, &self.pose, &mut self.model)
    }

    pub(crate) fn at(&self, joint: u16) -> Vec3 {
        self.model[usize::from(joint)].transform_point([0.0; 3])
    }

    /// Returns the rotation of a joint in model space, without scale.
    fn turn(&self, joint: u16) -> Quat {
        let local = self.pose.get(joint.into()).rotation;
        self.skeleton.parent(joint).map_or(local, |parent| quat_mul(self.turn(parent), local))
    }
}

impl Request {
    /// Whether the request is about the rotation of a joint, not its position.
    pub(crate) fn turns(&self) -> bool {
        matches!(self.kind, Kind::Turn(_) | Kind::StayTurned)
    }

    /// Whether the request keeps the joint where the clip has it.
    pub(crate) fn stays(&self) -> bool {
        matches!(self.kind, Kind::Stay | Kind::StayTurned)
    }

    /// Moves times up to a thousandth of a second outside the clip to its ends; returns the first time that
    /// is farther outside.
    pub(crate) fn fit(&mut self, start: f64, end: f64) -> Option<f64> {
        match &mut self.kind {
            Kind::Place(path) | Kind::Offset(path) => path.fit(start, end),
            Kind::Turn(path) => path.fit(start, end),
            Kind::Stay | Kind::StayTurned => None,
        }
    }

    /// Returns the times of the request.
    pub(crate) fn times(&self) -> &[f64] {
        match &self.kind {
            Kind::Place(path) | Kind::Offset(path) => path.times(),
            Kind::Turn(path) => path.times(),
            Kind::Stay | Kind::StayTurned => &[],
        }
    }

    /// Returns the weight at a moment, from 0 to 1.
    pub(crate) fn share(&self, seconds: f64, ease: f32) -> f32 {
        match &self.kind {
            Kind::Place(path) | Kind::Offset(path) => path.share(seconds, ease),
            Kind::Turn(path) => path.share(seconds, ease),
            Kind::Stay | Kind::StayTurned => 1.0,
        }
    }

    /// Returns the goal at a moment, for the pose that the clip has there. With a lower weight, the goal is
    /// between the clip and the request, so goals never jump.
    pub(crate) fn goal(&self, clip: &Placed<'_>, seconds: f64, ease: f32) -> Goal<'static> {
        self.goal_on_the_way(clip, seconds, self.share(seconds, ease))
    }

    /// Returns the goal at a fraction of the way from the clip to the request, from 0 to 1.
    pub(crate) fn goal_on_the_way(&self, clip: &Placed<'_>, seconds: f64, share: f32) -> Goal<'static> {
        let joint = self.joint;
        let own = || clip.at(joint);
        match &self.kind {
            Kind::Place(path) => Goal::position(joint, lerp(own(), path.at(seconds), share)),
            Kind::Offset(path) => Goal::position(joint, add_scaled(own(), path.at(seconds), share)),
            Kind::Turn(path) => Goal::orientation(
                joint,
                interpolate(clip.turn(joint), path.at(seconds), share, Method::default()),
            ),
            Kind::Stay => Goal::position(joint, own()),
            Kind::StayTurned => Goal::orientation(joint, clip.turn(joint)),
        }
    }
}

/// Returns the residual of a pose, in units of length or radians.
pub(crate) fn residual(goal: &Goal<'_>, found: &Placed<'_>) -> f64 {
    match goal.kind {
        GoalKind::Position { joint, place, .. } => length(sub(found.at(joint), place)).into(),
        GoalKind::Orientation { joint, orientation } => {
            let [x, y, z, w] = quat_mul(quat_conjugate(orientation), found.turn(joint)).map(f64::from);
            2.0 * (x * x + y * y + z * z).sqrt().atan2(w.abs())
        }
        _ => 0.0,
    }
}
