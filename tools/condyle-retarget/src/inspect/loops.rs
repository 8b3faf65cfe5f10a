//! Defects at the seam of a loop: the pose jumps, or the body drifts or turns.

use super::record::{Record, apart};
use super::steps::median;
use super::{Defect, Kind};
use crate::rig::{Humanoid, Role};

/// Largest distance between the last and the first pose of a loop, as a fraction of the height.
const LOOP: f64 = 0.1;
/// Seam that counts, as a multiple of the usual step.
const STEP: f64 = 1.5;
/// Smallest seam that counts, as a fraction of the height.
const SEEN: f64 = 0.002;
/// Drift of a loop, as fractions of the height. More is a walk.
const DRIFT: [f64; 2] = [0.005, 0.1];
/// Turn of a loop, in radians. More is a turn on purpose.
const TURN: [f64; 2] = [1.0 * core::f64::consts::PI / 180.0, 15.0 * core::f64::consts::PI / 180.0];
/// Largest way of a body that stays in place, as a multiple of its drift.
const WALK: f64 = 3.0;

pub(super) fn defects(record: &Record, humanoid: Option<&Humanoid>) -> Vec<Defect> {
    let count = record.frame_count();
    if count < 4 {
        return Vec::new();
    }
    let root = humanoid.and_then(|map| map.joint(Role::Hips)).map_or(record.root, usize::from);
    let last = count - 1;
    let seconds = record.times[last];
    let [from, to] = [0, last].map(|frame| Body::new(record, frame, root));
    let seam = (0..record.joint_count).map(|joint| apart(from.place(joint), to.place(joint)));
    let (joint, amount) =
        seam.enumerate().fold((0, 0.0), |worst, it| if it.1 > worst.1 { it } else { worst });
    // The step of the joint that is farthest apart, in a body that stands still.
    let steps = (1..count).map(|frame| {
        let [a, b] = [frame - 1, frame].map(|frame| Body::new(record, frame, root).place(joint));
        apart(a, b)
    });
    let usual = median(steps.collect());
    let mut found = Vec::new();
    if amount > LOOP * record.height {
        return found;
    }
    let defect = |kind, joint: usize, amount| Defect { kind, joint: joint as u16, seconds, amount, count: 1 };
    if amount > (STEP * usual).max(SEEN * record.height) {
        found.push(defect(Kind::Seam, joint, amount));
    }
    let way: f64 = (1..count)
        .map(|frame| {
            let [a, b] = [frame - 1, frame].map(|frame| flat(record.places(frame)[root]));
            apart(a, b)
        })
        .sum();
    let drift = apart(flat(record.places(0)[root]), flat(record.places(last)[root]));
    if drift > DRIFT[0] * record.height && drift < DRIFT[1] * record.height && way > WALK * drift {
        found.push(defect(Kind::Drift, root, drift));
    }
    let turn = (to.yaw - from.yaw + core::f64::consts::PI).rem_euclid(2.0 * core::f64::consts::PI);
    let turn = (turn - core::f64::consts::PI).abs();
    if turn > TURN[0] && turn < TURN[1] {
        found.push(defect(Kind::Turn, root, turn));
    }
    found
}

/// A body in one frame, as seen from its root on the ground.
struct Body<'a> {
    places: &'a [[f32; 3]],
    root: [f32; 3],
    yaw: f64,
}

impl<'a> Body<'a> {
    fn new(record: &'a Record, frame: usize, root: usize) -> Self {
        let places = record.places(frame);
        let [first, now] = [0, frame].map(|frame| record.heading[frame]);
        // Rotation from the first frame: now * conjugate(first). Its twist about +Y is the yaw.
        let [x, y, z, w] = now;
        let [a, b, c, d] = first;
        let about_y = y * d - w * b - (z * a - x * c);
        let real = w * d + x * a + y * b + z * c;
        Self { places, root: flat(places[root]), yaw: 2.0 * about_y.atan2(real) }
    }

    /// Place of a joint, with the root above the origin and without its yaw.
    fn place(&self, joint: usize) -> [f32; 3] {
        let [x, y, z] = core::array::from_fn(|c| f64::from(self.places[joint][c]) - f64::from(self.root[c]));
        let (sin, cos) = (-self.yaw).sin_cos();
        [x * cos + z * sin, y, z * cos - x * sin].map(|v| v as f32)
    }
}

fn flat([x, _, z]: [f32; 3]) -> [f32; 3] {
    [x, 0.0, z]
}
