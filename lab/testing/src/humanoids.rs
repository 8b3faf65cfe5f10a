//! Humanoids of several proportions, each with a walk and squats made for it: feet stand exactly.

use std::format;
use std::string::String;
use std::vec;
use std::vec::Vec;

use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
use condyle_base::math::quats::{Quat64, conjugate, from_rotation_vector, product, rotate};

type Vec3 = [f64; 3];

/// Proportions of a humanoid, in metres.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// Distance of the hip joints from the middle.
    pub hip: f64,
    /// Length of the thigh.
    pub thigh: f64,
    /// Length of the shin.
    pub shin: f64,
    /// Height of the ankle.
    pub ankle: f64,
    /// Length of the foot from the ankle to the ball, horizontally.
    pub foot: f64,
    /// Length of spine and neck.
    pub spine: f64,
    /// Length of the arm.
    pub arm: f64,
    /// Length of the head.
    pub head: f64,
}

impl Build {
    /// 1.85 m, long legs.
    pub const TALL: Self = Self {
        hip: 0.095,
        thigh: 0.47,
        shin: 0.46,
        ankle: 0.09,
        foot: 0.15,
        spine: 0.56,
        arm: 0.62,
        head: 0.26,
    };
    /// 1.45 m.
    pub const SHORT: Self = Self {
        hip: 0.085,
        thigh: 0.33,
        shin: 0.34,
        ankle: 0.07,
        foot: 0.11,
        spine: 0.46,
        arm: 0.48,
        head: 0.24,
    };
    /// 1.1 m, large head and short legs.
    pub const STYLISED: Self =
        Self { hip: 0.08, thigh: 0.16, shin: 0.18, ankle: 0.06, foot: 0.1, spine: 0.3, arm: 0.34, head: 0.4 };

    /// Returns the joints, with the names of Mixamo's skeletons.
    pub fn skeleton(&self) -> Skeleton {
        let mut joints: Vec<Joint> = Vec::new();
        let mut put = |name: &str, parent: Option<&str>, at: Vec3| {
            let parent = parent.and_then(|name| joints.iter().position(|joint| joint.name == name));
            let rest = Transform { translation: at.map(|v| v as f32), ..Transform::IDENTITY };
            joints.push(Joint::new(name, parent.map(|at| at as u16), rest));
        };
        put("Hips", None, [0.0, self.stand() + 0.06, 0.0]);
        let bone = self.spine / 4.0;
        for (name, parent) in
            [("Spine", "Hips"), ("Spine1", "Spine"), ("Spine2", "Spine1"), ("Neck", "Spine2")]
        {
            put(name, Some(parent), [0.0, bone, 0.0]);
        }
        put("Head", Some("Neck"), [0.0, 0.3 * self.head, 0.0]);
        put("HeadTop_End", Some("Head"), [0.0, 0.7 * self.head, 0.0]);
        for (side, sign) in [("Left", 1.0), ("Right", -1.0)] {
            let name = |part: &str| format!("{side}{part}");
            let mut limb = |part: &str, parent: String, at: Vec3| put(&name(part), Some(&parent), at);
            limb("Shoulder", "Spine2".into(), [sign * 0.04, 0.7 * bone, 0.0]);
            limb("Arm", name("Shoulder"), [sign * 1.2 * self.hip, 0.0, 0.0]);
            limb("ForeArm", name("Arm"), [sign * 0.5 * self.arm, 0.0, 0.0]);
            limb("Hand", name("ForeArm"), [sign * 0.5 * self.arm, 0.0, 0.0]);
            for finger in ["Index", "Middle"] {
                let z = if finger == "Index" { 0.02 } else { 0.0 };
                limb(&format!("Hand{finger}1"), name("Hand"), [sign * 0.08, 0.0, z]);
                limb(&format!("Hand{finger}2"), name(&format!("Hand{finger}1")), [sign * 0.03, 0.0, 0.0]);
                limb(&format!("Hand{finger}3"), name(&format!("Hand{finger}2")), [sign * 0.03, 0.0, 0.0]);
            }
            limb("UpLeg", "Hips".into(), [sign * self.hip, -0.06, 0.0]);
            limb("Leg", name("UpLeg"), [0.0, -self.thigh, 0.0]);
            limb("Foot", name("Leg"), [0.0, -self.shin, 0.0]);
            limb("ToeBase", name("Foot"), [sign * 0.02, 0.02 - self.ankle, self.foot]);
            limb("Toe_End", name("ToeBase"), [0.0, 0.0, 0.4 * self.foot]);
        }
        Skeleton::new(joints).expect("parents before children")
    }

    /// Returns pairs of VRM's bone name and joint.
    pub fn roles(skeleton: &Skeleton) -> Vec<(String, u16)> {
        let middle = [
            ("hips", "Hips"),
            ("spine", "Spine"),
            ("chest", "Spine1"),
            ("upperChest", "Spine2"),
            ("neck", "Neck"),
            ("head", "Head"),
        ];
        let sides = [
            ("Shoulder", "Shoulder"),
            ("UpperArm", "Arm"),
            ("LowerArm", "ForeArm"),
            ("Hand", "Hand"),
            ("UpperLeg", "UpLeg"),
            ("LowerLeg", "Leg"),
            ("Foot", "Foot"),
            ("Toes", "ToeBase"),
            ("IndexProximal", "HandIndex1"),
            ("IndexIntermediate", "HandIndex2"),
            ("IndexDistal", "HandIndex3"),
            ("MiddleProximal", "HandMiddle1"),
            ("MiddleIntermediate", "HandMiddle2"),
            ("MiddleDistal", "HandMiddle3"),
        ];
        let mut named: Vec<(String, String)> = middle.map(|(role, name)| (role.into(), name.into())).into();
        for (role, name) in sides {
            named.push((format!("left{role}"), format!("Left{name}")));
            named.push((format!("right{role}"), format!("Right{name}")));
        }
        named.into_iter().filter_map(|(role, name)| Some((role, skeleton.joint_by_name(&name)?))).collect()
    }

    /// Height of the hip joints of straight legs.
    fn stand(&self) -> f64 {
        self.thigh + self.shin + self.ankle
    }
}

/// Frames per second of the motions.
const RATE: f64 = 60.0;

/// One frame: the hips, and for each foot the ankle, the pitch and the heading.
struct Frame {
    hips: Vec3,
    turn: Quat64,
    feet: [(Vec3, [f64; 2]); 2],
    arms: f64,
}

/// Steps in lengths of the leg and in shares of a cycle of two steps.
struct Gait {
    name: &'static str,
    /// Length of a step.
    step: f64,
    /// Duration of a cycle, in seconds.
    cycle: f64,
    /// Share of a cycle in which a foot stands. Below a half, the body flies.
    stance: f64,
    /// Height to which a foot is lifted.
    lift: f64,
    /// Mean height of the hip joints above the ankles.
    height: f64,
    /// Height by which the hips rise and fall.
    bounce: f64,
    /// Share of a cycle at which the hips are lowest.
    low: f64,
}

const WALK: Gait = Gait {
    name: "walk",
    step: 0.45,
    cycle: 1.1,
    stance: 0.6,
    lift: 0.18,
    height: 0.93,
    bounce: 0.015,
    low: 0.25,
};

const RUN: Gait = Gait {
    name: "run",
    step: 0.7,
    cycle: 0.7,
    stance: 0.35,
    lift: 0.3,
    height: 0.88,
    bounce: 0.04,
    low: 0.175,
};

/// Returns a walk of six seconds that turns left, with heels that rise.
pub fn walk(build: &Build) -> RawClip {
    steps(build, &WALK)
}

/// Returns a run of six seconds that turns left, with both feet in the air between steps.
pub fn run(build: &Build) -> RawClip {
    steps(build, &RUN)
}

fn steps(build: &Build, gait: &Gait) -> RawClip {
    let leg = build.thigh + build.shin;
    let step = gait.step * leg;
    // The path is a circle: place and heading at a distance.
    let radius = 4.0 * leg;
    let path = |way: f64, aside: f64| {
        let angle = way / radius;
        let from = radius - aside;
        ([radius - from * angle.cos(), 0.0, from * angle.sin()], angle)
    };
    let frames = (0..(6.0 * RATE) as usize).map(|frame| {
        let phase = frame as f64 / RATE / gait.cycle;
        let (at, angle) = path(2.0 * step * phase, 0.0);
        let sway = -(std::f64::consts::TAU * 2.0 * (phase - gait.low)).cos();
        let feet = [0, 1].map(|side: usize| {
            let own = phase + 0.5 * side as f64;
            let (whole, part) = (own.floor(), own - own.floor());
            // The foot stands for its share of a cycle, then swings to its next place.
            let swing = ((part - gait.stance) / (1.0 - gait.stance)).max(0.0);
            let way = whole + smooth(swing) - 0.5 * side as f64 + 0.5 * gait.stance;
            let sign = if side == 0 { 1.0 } else { -1.0 };
            let (mut place, heading) = path(2.0 * step * way, sign * build.hip);
            let lift = (std::f64::consts::PI * swing).sin();
            place[1] = build.ankle + gait.lift * leg * lift * lift;
            (place, [0.6 * lift * lift, heading])
        });
        let height = (gait.height + gait.bounce * sway) * leg + build.ankle + 0.06;
        Frame {
            hips: [at[0], height, at[2]],
            turn: from_rotation_vector([0.0, angle, 0.0]),
            feet,
            arms: (std::f64::consts::TAU * phase).sin(),
        }
    });
    clip(gait.name, build, frames)
}

/// Returns four seconds of squats, with feet apart.
pub fn squats(build: &Build) -> RawClip {
    let leg = build.thigh + build.shin;
    let frames = (0..(4.0 * RATE) as usize).map(|frame| {
        let deep = 0.5 - 0.5 * (std::f64::consts::TAU * frame as f64 / RATE / 2.0).cos();
        let feet = [1.0, -1.0].map(|sign| ([sign * 1.8 * build.hip, build.ankle, 0.0], [0.0; 2]));
        let hips = [0.02 * deep, (0.97 - 0.4 * deep) * leg + build.ankle + 0.06, -0.1 * leg * deep];
        let turn = from_rotation_vector([0.3 * deep, 0.1 * deep, 0.0]);
        Frame { hips, turn, feet, arms: deep }
    });
    clip("squats", build, frames)
}

fn smooth(t: f64) -> f64 {
    t * t * t * (10.0 - 15.0 * t + 6.0 * t * t)
}

/// Bends the legs to their feet, and records the rotations.
fn clip(name: &str, build: &Build, frames: impl Iterator<Item = Frame>) -> RawClip {
    let skeleton = build.skeleton();
    let joint = |name: &str| skeleton.joint_by_name(name).expect("a joint of the body");
    let mut times = Vec::new();
    let mut hips = Vec::new();
    let mut turns: Vec<(u16, Vec<f32>)> = Vec::new();
    for (at, frame) in frames.enumerate() {
        times.push(at as f32 / RATE as f32);
        hips.extend(frame.hips.map(|v| v as f32));
        let mut set = vec![(joint("Hips"), frame.turn)];
        for (side, (name, sign)) in [("Left", 1.0), ("Right", -1.0)].into_iter().enumerate() {
            let (ankle, [pitch, heading]) = frame.feet[side];
            let hip = add(frame.hips, rotate(frame.turn, [sign * build.hip, -0.06, 0.0]));
            let to = rotate(conjugate(frame.turn), sub(ankle, hip));
            let [thigh, shin] = leg(build, to);
            let heading = from_rotation_vector([0.0, heading, 0.0]);
            let foot = product(heading, from_rotation_vector([pitch, 0.0, 0.0]));
            let above = product(frame.turn, product(thigh, shin));
            set.push((joint(&format!("{name}UpLeg")), thigh));
            set.push((joint(&format!("{name}Leg")), shin));
            set.push((joint(&format!("{name}Foot")), product(conjugate(above), foot)));
            let swing = from_rotation_vector([-0.5 * sign * frame.arms, 0.0, 0.0]);
            let down = from_rotation_vector([0.0, 0.0, -1.2 * sign]);
            set.push((joint(&format!("{name}Arm")), product(swing, down)));
            let bend = from_rotation_vector([0.0, -0.4 * sign, 0.0]);
            set.push((joint(&format!("{name}ForeArm")), bend));
        }
        turns.resize(set.len(), (0, Vec::new()));
        for ((joint, values), (at, turn)) in turns.iter_mut().zip(set) {
            *joint = at;
            values.extend(turn.map(|v| v as f32));
        }
    }
    let interpolation = Interpolation::Linear;
    let track = |target, values| Track { target, interpolation, timeline: 0, values };
    let mut tracks = vec![track(Target::Translation(0), hips)];
    tracks.extend(turns.into_iter().map(|(joint, values)| track(Target::Rotation(joint), values)));
    RawClip::new(name.into(), vec![times], tracks)
        .expect("valid tracks")
        .for_skeleton(&skeleton)
        .expect("its joints")
}

/// Returns the rotations of thigh and shin that bring the ankle to a place in the space of the hips. The knee
/// bends to the front.
fn leg(build: &Build, to: Vec3) -> [Quat64; 2] {
    let far = (to[0] * to[0] + to[1] * to[1] + to[2] * to[2]).sqrt().min(0.9999 * (build.thigh + build.shin));
    let (a, b) = (build.thigh, build.shin);
    let flex = std::f64::consts::PI - ((a * a + b * b - far * far) / (2.0 * a * b)).clamp(-1.0, 1.0).acos();
    // Angle of the ankle behind the thigh's direction.
    let behind = (b * flex.sin()).atan2(a + b * flex.cos());
    let pitch = to[2].atan2(-to[1]);
    let side = (to[0] / far).clamp(-1.0, 1.0).asin();
    let swing = product(from_rotation_vector([-pitch, 0.0, 0.0]), from_rotation_vector([0.0, 0.0, side]));
    let thigh = product(swing, from_rotation_vector([-behind, 0.0, 0.0]));
    [thigh, from_rotation_vector([flex, 0.0, 0.0])]
}

fn add(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|c| a[c] + b[c])
}

fn sub(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|c| a[c] - b[c])
}
