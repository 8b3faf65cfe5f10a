//! The clips: walk, run and idle, solved from feet that do not slide.

use core::f32::consts::TAU;

use condyle::math::{sin_cos, sqrt};
use condyle::{Interpolation, Quat};
use condyle_draw::vector::*;

use super::rig::*;

const X: Vec3 = [1.0, 0.0, 0.0];
const Y: Vec3 = [0.0, 1.0, 0.0];
const Z: Vec3 = [0.0, 0.0, 1.0];

/// Keys of one property, as the document stores them.
pub(super) struct Channel {
    pub target: Property,
    pub interpolation: Interpolation,
    /// Times in seconds.
    pub times: Vec<f32>,
    pub values: Vec<f32>,
}

pub(super) enum Property {
    Rotation(usize),
    Translation(usize),
    /// Translation of the root of the character, above the hips.
    Root,
    Scale(usize),
    /// Weights of blink and smile.
    Face,
}

/// A clip that ends as it begins.
pub(super) struct Clip {
    pub name: &'static str,
    pub channels: Vec<Channel>,
}

/// The controls of the figure at one moment.
struct Figure {
    /// Offset from the bind pose in metres.
    hips: Vec3,
    hips_turn: Quat,
    /// The rotation of the shoulders in model space, spread over the joints of the spine.
    chest_turn: Quat,
    head_turn: Quat,
    arms: [ArmSetting; 2],
    feet: [Foot; 2],
}

/// Angles in radians; those of the right arm are mirrored.
struct ArmSetting {
    /// Forward swing; 0 hangs down.
    swing: f32,
    /// Spread away from the body.
    spread: f32,
    elbow: f32,
}

/// Pose of a foot: offset of the ankle from the bind pose, and pitch of foot and toes.
#[derive(Clone, Copy)]
struct Foot {
    ankle: Vec3,
    pitch: f32,
    toe_pitch: f32,
}

/// Parameters of a gait, in metres, radians and fractions of its period.
struct Gait {
    name: &'static str,
    period: f32,
    /// Fraction of the period that a foot is on the ground.
    stance: f32,
    /// Distance that the ground moves under the foot in that time.
    travel: f32,
    /// Middle of that distance, relative to the bind pose.
    middle: f32,
    /// Pitch at the first and at the last contact.
    strike: f32,
    lift_off: f32,
    /// Fractions of the stance at which the sole is flat, and at which the heel lifts.
    flat: f32,
    heel_rise: f32,
    /// Height of the ankle while it swings forward.
    carry: f32,
    /// Distance by which each foot is moved towards the middle.
    narrow: f32,
    /// Height of the hips: on average, and the extra height in the middle of a step.
    drop: f32,
    bob: f32,
    sway: f32,
    hips_yaw: f32,
    hips_roll: f32,
    lean: f32,
    chest_yaw: f32,
    arm_swing: f32,
    arm_bias: f32,
    elbow: f32,
    elbow_swing: f32,
    keys: usize,
}

const WALK: Gait = Gait {
    name: "walk",
    period: 1.0,
    stance: 0.6,
    travel: 0.66,
    middle: -0.03,
    strike: -0.32,
    lift_off: 0.95,
    flat: 0.22,
    heel_rise: 0.52,
    carry: 0.055,
    narrow: 0.028,
    drop: -0.042,
    bob: 0.016,
    sway: 0.022,
    hips_yaw: 0.12,
    hips_roll: 0.05,
    lean: 0.03,
    chest_yaw: 0.14,
    arm_swing: 0.44,
    arm_bias: 0.02,
    elbow: 0.32,
    elbow_swing: 0.2,
    keys: 32,
};

const RUN: Gait = Gait {
    name: "run",
    period: 0.7,
    stance: 0.36,
    travel: 0.62,
    middle: -0.06,
    strike: -0.12,
    lift_off: 0.95,
    flat: 0.2,
    heel_rise: 0.45,
    carry: 0.27,
    narrow: 0.045,
    drop: -0.055,
    bob: -0.038,
    sway: 0.012,
    hips_yaw: 0.16,
    hips_roll: 0.05,
    lean: 0.2,
    chest_yaw: 0.26,
    arm_swing: 0.85,
    arm_bias: 0.0,
    elbow: 1.55,
    elbow_swing: 0.3,
    keys: 32,
};

/// Ground speed of the walk, in metres per second.
pub(crate) const WALK_SPEED: f32 = WALK.travel / (WALK.stance * WALK.period);

/// Returns all clips of the character.
pub(super) fn clips(rig: &[Joint]) -> Vec<Clip> {
    vec![gait(rig, &WALK), gait(rig, &RUN), idle(rig)]
}

fn gait(rig: &[Joint], gait: &Gait) -> Clip {
    let mut channels = record(rig, gait.period, gait.keys, |phase| gait.figure(rig, phase));
    // A blink jumps between three states with step keys.
    channels.push(Channel {
        target: Property::Face,
        interpolation: Interpolation::Step,
        times: [0.0, 0.52, 0.62, 1.0].map(|t| t * gait.period).to_vec(),
        values: vec![0.0, 0.3, 1.0, 0.3, 0.0, 0.3, 0.0, 0.3],
    });
    Clip { name: gait.name, channels }
}

impl Gait {
    fn figure(&self, rig: &[Joint], phase: f32) -> Figure {
        let wave = |at: f32| sin_cos(TAU * (phase - at)).1;
        let step = sin_cos(2.0 * TAU * (phase - self.stance / 2.0)).1;
        let middle = wave(self.stance / 2.0);
        let yaw = |amount: f32| quat_about(Y, amount * wave(0.0));
        let lean = quat_about(X, self.lean);
        let roll = quat_about(Z, self.hips_roll * middle);
        let arm = |side: f32| ArmSetting {
            swing: self.arm_bias - side * self.arm_swing * wave(0.04),
            spread: 0.15,
            elbow: self.elbow - side * self.elbow_swing * wave(0.08),
        };
        Figure {
            hips: [self.sway * middle, self.drop + self.bob * step, 0.0],
            hips_turn: quat_mul(yaw(-self.hips_yaw), quat_mul(quat_about(X, self.lean * 0.5), roll)),
            chest_turn: quat_mul(yaw(self.chest_yaw), lean),
            head_turn: quat_about(X, self.lean * 0.35 + 0.012 * step),
            arms: [arm(1.0), arm(-1.0)],
            feet: [self.foot(rig, phase), self.foot(rig, phase + 0.5)],
        }
    }

    /// Returns the left foot; the right one is half a period later.
    fn foot(&self, rig: &[Joint], phase: f32) -> Foot {
        let phase = phase - phase.floor();
        if phase <= self.stance {
            return self.planted(rig, phase / self.stance);
        }
        // The foot is in the air from the last contact to the next; it leaves and arrives at the speed of the
        // ground.
        let s = (phase - self.stance) / (1.0 - self.stance);
        let (from, to) = (self.planted(rig, 1.0), self.planted(rig, 0.0));
        let share = (1.0 - self.stance) / self.stance;
        let near = 1.0 / 64.0;
        let slope = |a: Foot, b: Foot| scale(sub(b.ankle, a.ankle), share / near);
        let leave = slope(self.planted(rig, 1.0 - near), from);
        let arrive = slope(to, self.planted(rig, near));
        let ankle = core::array::from_fn(|k| hermite(from.ankle[k], leave[k], to.ankle[k], arrive[k], s));
        let bump = 16.0 * s * s * (1.0 - s) * (1.0 - s);
        let pitch = from.pitch + (to.pitch - from.pitch) * smooth(s / 0.85);
        Foot { ankle: add_scaled(ankle, Y, self.carry * bump), pitch, toe_pitch: pitch * smooth(s / 0.4) }
    }

    /// The foot on the ground, at the fraction `s` of the stance: it rolls over the heel, is flat, then rolls
    /// over the toes.
    fn planted(&self, rig: &[Joint], s: f32) -> Foot {
        let (ankle, toes) = (rig[FOOT].at, rig[TOES].at);
        let heel = [ankle[0], 0.0, ankle[2] - 0.06];
        let tipping = self.strike * (1.0 - smooth(s / self.flat));
        let rise = ((s - self.heel_rise) / (1.0 - self.heel_rise)).max(0.0);
        let lifting = self.lift_off * rise * rise * (2.0 - rise);
        let (pivot, pitch) = if s < self.flat { (heel, tipping) } else { (toes, lifting) };
        let turned = add(pivot, quat_rotate(quat_about(X, pitch), sub(ankle, pivot)));
        let ground = [-self.narrow, 0.0, self.middle + self.travel * (0.5 - s)];
        Foot { ankle: add(ground, sub(turned, ankle)), pitch, toe_pitch: tipping.min(0.0) }
    }
}

fn idle(rig: &[Joint]) -> Clip {
    const SECONDS: f32 = 4.0;
    let figure = |phase: f32| {
        let wave = |at: f32| sin_cos(TAU * (phase - at)).0;
        let breath = sin_cos(2.0 * TAU * phase).1;
        let arm = |side: f32| ArmSetting {
            swing: 0.02 + 0.015 * breath,
            spread: 0.15 + 0.02 * breath,
            elbow: 0.3 + side * 0.04 * wave(0.2),
        };
        let foot = Foot { ankle: [0.0; 3], pitch: 0.0, toe_pitch: 0.0 };
        Figure {
            hips: [0.02 * wave(0.0), -0.016 - 0.003 * breath, 0.0],
            hips_turn: quat_about(Z, 0.025 * wave(0.0)),
            chest_turn: quat_mul(quat_about(Y, 0.05 * wave(0.1)), quat_about(X, -0.02 * breath)),
            head_turn: quat_mul(quat_about(Y, 0.2 * wave(0.15)), quat_about(X, 0.03 * wave(0.4))),
            arms: [arm(1.0), arm(-1.0)],
            feet: [foot; 2],
        }
    };
    let mut channels = record(rig, SECONDS, 32, figure);
    // The slope of a breath is 0 at its turning points, so a cubic spline needs keys only there.
    let breaths = [[1.10, 1.04, 1.35], [1.0; 3], [1.10, 1.04, 1.35], [1.0; 3], [1.10, 1.04, 1.35]];
    channels.push(Channel {
        target: Property::Scale(BREATH),
        interpolation: Interpolation::CubicSpline,
        times: (0..5).map(|i| i as f32).collect(),
        values: breaths.iter().flat_map(|&b| [[0.0; 3], b, [0.0; 3]]).flatten().collect(),
    });
    let keys = [
        (0.0, 0.0, 0.2),
        (1.0, 0.0, 0.6),
        (1.1, 1.0, 0.65),
        (1.2, 0.0, 0.7),
        (2.6, 0.0, 1.0),
        (4.0, 0.0, 0.2),
    ];
    channels.push(Channel {
        target: Property::Face,
        interpolation: Interpolation::CubicSpline,
        times: keys.iter().map(|k| k.0).collect(),
        values: keys.iter().flat_map(|k| [0.0, 0.0, k.1, k.2, 0.0, 0.0]).collect(),
    });
    Clip { name: "idle", channels }
}

/// Solves the figure at evenly spaced phases: rotations of all joints that move, and translations of the
/// hips.
fn record(rig: &[Joint], period: f32, keys: usize, figure: impl Fn(f32) -> Figure) -> Vec<Channel> {
    let times: Vec<f32> = (0..=keys).map(|i| period * i as f32 / keys as f32).collect();
    // The last key equals the first one, bit for bit.
    let phases: Vec<f32> = (0..=keys).map(|i| (i % keys) as f32 / keys as f32).collect();
    let poses: Vec<Vec<Quat>> = phases.iter().map(|&p| solve(rig, &figure(p))).collect();
    let mut channels = Vec::new();
    for joint in 0..rig.len() {
        let values: Vec<f32> = poses.iter().flat_map(|pose| pose[joint]).collect();
        if values.chunks_exact(4).any(|q| q != [0.0, 0.0, 0.0, 1.0]) {
            let target = Property::Rotation(joint);
            let interpolation = Interpolation::Linear;
            channels.push(Channel { target, interpolation, times: times.clone(), values });
        }
    }
    let way = |phase: f32| add(rig[HIPS].at, figure(phase).hips);
    let near = 1.0 / 512.0;
    let values = phases.iter().flat_map(|&p| {
        let speed = scale(sub(way(p + near), way(p - near)), 0.5 / (near * period));
        [speed, way(p), speed]
    });
    channels.push(Channel {
        target: Property::Translation(HIPS),
        interpolation: Interpolation::CubicSpline,
        times,
        values: values.flatten().collect(),
    });
    channels
}

/// Returns the local rotation of every joint.
fn solve(rig: &[Joint], figure: &Figure) -> Vec<Quat> {
    const IDENTITY: Quat = [0.0, 0.0, 0.0, 1.0];
    let mut local = vec![IDENTITY; rig.len()];
    let hips = figure.hips_turn;
    local[HIPS] = hips;
    let bend = quat_mul(quat_conjugate(hips), figure.chest_turn);
    for (joint, share) in [(SPINE, 0.3), (CHEST, 0.4), (UPPER_CHEST, 0.3)] {
        local[joint] = part_of(bend, share);
    }
    let chest = [SPINE, CHEST, UPPER_CHEST].iter().fold(hips, |q, &j| quat_mul(q, local[j]));
    let look = quat_mul(quat_conjugate(chest), figure.head_turn);
    local[NECK] = part_of(look, 0.5);
    local[HEAD] = quat_mul(quat_conjugate(local[NECK]), look);
    for (side, (arm, foot)) in figure.arms.iter().zip(&figure.feet).enumerate() {
        // The arm is set like a left arm, then mirrored.
        let hang = quat_about(Z, -(0.872_664_6 - arm.spread));
        let place = |q: Quat| if side == 0 { q } else { [q[0], -q[1], -q[2], q[3]] };
        let joint = |left: usize| left + side * RIGHT;
        let hinge = cross(ARM, Z);
        let shrug = 0.06 * arm.swing;
        local[joint(SHOULDER)] = place(quat_about(Y, -shrug));
        local[joint(UPPER_ARM)] = place(quat_mul(quat_about(X, -arm.swing), hang));
        local[joint(LOWER_ARM)] = place(quat_about(hinge, arm.elbow));
        local[joint(FINGERS)] = place(quat_about(Z, -0.3));
        local[joint(FINGER_TIPS)] = place(quat_about(Z, -0.35));

        let [upper, lower, ankle] = [UPPER_LEG, LOWER_LEG, FOOT].map(|j| rig[joint(j)].at);
        let root = add(add(rig[HIPS].at, figure.hips), quat_rotate(hips, sub(upper, rig[HIPS].at)));
        let target = add(ankle, if side == 0 { foot.ankle } else { mirror(foot.ankle) });
        let ahead = quat_rotate(hips, Z);
        let knee = knee(root, target, length(sub(lower, upper)), length(sub(ankle, lower)), ahead);
        let thigh = quat_between(axes(sub(lower, upper), Z), axes(sub(knee, root), ahead));
        let shin = quat_between(axes(sub(ankle, lower), Z), axes(sub(target, knee), ahead));
        let sole = quat_about(X, foot.pitch);
        local[joint(UPPER_LEG)] = quat_mul(quat_conjugate(hips), thigh);
        local[joint(LOWER_LEG)] = quat_mul(quat_conjugate(thigh), shin);
        local[joint(FOOT)] = quat_mul(quat_conjugate(shin), sole);
        local[joint(TOES)] = quat_mul(quat_conjugate(sole), quat_about(X, foot.toe_pitch));
    }
    local
}

/// Returns the knee between hip and ankle, bent towards `ahead`; straight if the ankle is out of reach.
fn knee(hip: Vec3, ankle: Vec3, thigh: f32, shin: f32, ahead: Vec3) -> Vec3 {
    let reach = sub(ankle, hip);
    let far = length(reach).min((thigh + shin) * 0.9999);
    let along = normalize(reach);
    let out = normalize(add_scaled(ahead, along, -dot(ahead, along)));
    // The law of cosines: the distance of the knee along the line from hip to ankle, and off that line.
    let foot = (far * far + thigh * thigh - shin * shin) / (2.0 * far);
    let off = sqrt((thigh * thigh - foot * foot).max(0.0));
    add_scaled(add_scaled(hip, along, foot), out, off)
}

/// Right-handed axes: along a limb, and as far forward as possible.
fn axes(along: Vec3, ahead: Vec3) -> [Vec3; 3] {
    let along = normalize(along);
    let side = normalize(cross(along, ahead));
    [along, cross(side, along), side]
}

/// Returns a fraction of a moderate rotation.
fn part_of(turn: Quat, share: f32) -> Quat {
    let mixed = [turn[0] * share, turn[1] * share, turn[2] * share, 1.0 + (turn[3] - 1.0) * share];
    let len = sqrt(mixed.iter().map(|x| x * x).sum());
    mixed.map(|x| x / len)
}

/// Smoothstep: from 0 to 1 with slope 0 at both ends.
fn smooth(t: f32) -> f32 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// A cubic from `a` to `b` with the given slopes.
fn hermite(a: f32, slope_a: f32, b: f32, slope_b: f32, t: f32) -> f32 {
    let (t2, t3) = (t * t, t * t * t);
    let rise = 3.0 * t2 - 2.0 * t3;
    a * (1.0 - rise) + b * rise + slope_a * (t - 2.0 * t2 + t3) + slope_b * (t3 - t2)
}
