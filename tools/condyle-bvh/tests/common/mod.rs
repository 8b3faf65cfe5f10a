//! Generates files from a seed, and evaluates them in a simple way: splits words at spaces, multiplies
//! matrices channel by channel.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod exercise;

use std::fmt::Write;

use condyle::math::sin_cos_f64;
use condyle::sampling::{self, RawCursor};
use condyle::{Affine, Pose, RawClip, Skeleton, local_to_model};

use condyle_testing::Random;

/// The style in which a file is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    pub(crate) line_end: &'static str,
    pub(crate) space: &'static str,
    pub(crate) indent: &'static str,
    pub(crate) has_mark: bool,
    pub(crate) is_shouting: bool,
    pub(crate) has_exponents: bool,
}

pub(crate) const PLAIN: Dialect = Dialect {
    line_end: "\n",
    space: " ",
    indent: "\t",
    has_mark: false,
    is_shouting: false,
    has_exponents: false,
};

pub(crate) const DIALECTS: [Dialect; 4] = [
    PLAIN,
    Dialect { line_end: "\r\n", space: "\t", indent: "  ", has_mark: true, ..PLAIN },
    Dialect { line_end: "\r", space: "   ", is_shouting: true, has_exponents: true, ..PLAIN },
    Dialect { line_end: " \n\n", space: " \t", indent: "", has_exponents: true, ..PLAIN },
];

/// A joint of a file; an end site if it has no channels and no children.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    pub(crate) offset: [f64; 3],
    pub(crate) channels: Vec<&'static str>,
}

/// The content of a file.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) joints: Vec<Made>,
    pub(crate) rate: f64,
    pub(crate) frames: Vec<Vec<f64>>,
}

pub(crate) const NAMES: [&str; 6] =
    ["Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation"];

/// Returns a number after rounding to six decimals.
pub(crate) fn printed(value: f64) -> f64 {
    format!("{value:.6}").parse().expect("a number")
}

/// Generates joints with random channels in random order, some without channels. Each joint's name is its
/// number.
pub(crate) fn make(random: &mut Random, joints: usize, frames: usize) -> File {
    let mut made: Vec<Made> = Vec::new();
    for joint in 0..joints {
        let parent = (joint > 0).then(|| random.below(joint));
        let mut channels = NAMES.to_vec();
        for at in (1..channels.len()).rev() {
            channels.swap(at, random.below(at + 1));
        }
        match random.below(4) {
            0 => {}
            1 => channels.clear(),
            _ => channels.retain(|name| name.ends_with("rotation")),
        }
        let offset = std::array::from_fn(|_| printed(random.range_f64(-30.0, 30.0)));
        made.push(Made { name: format!("joint {joint}"), parent, offset, channels });
    }
    if made.iter().all(|joint| joint.channels.is_empty()) {
        made[0].channels = NAMES.to_vec();
    }
    let names: Vec<&str> = made.iter().flat_map(|joint| joint.channels.iter().copied()).collect();
    let size = |name: &str| if name.ends_with("position") { 50.0 } else { 400.0 };
    let row = |random: &mut Random| {
        names.iter().map(|name| printed(random.range_f64(-size(name), size(name)))).collect()
    };
    let frames = (0..frames).map(|_| row(random)).collect();
    File { joints: made, rate: [30.0, 60.0, 120.0, 25.0][random.below(4)], frames }
}

impl File {
    /// Sorts the joints so that children follow their parents, which the braces of a file require.
    pub(crate) fn sorted(self) -> Self {
        let mut order = Vec::new();
        self.descend(0, &mut order);
        let place =
            |old: usize| order.iter().position(|it| *it == old).expect("the order contains every joint");
        let starts: Vec<usize> = self
            .joints
            .iter()
            .scan(0, |at, joint| {
                *at += joint.channels.len();
                Some(*at - joint.channels.len())
            })
            .collect();
        let joint = |old: &usize| {
            let joint = self.joints[*old].clone();
            Made { parent: joint.parent.map(place), ..joint }
        };
        let row = |row: &Vec<f64>| {
            order
                .iter()
                .flat_map(|old| row[starts[*old]..][..self.joints[*old].channels.len()].to_vec())
                .collect()
        };
        let frames = self.frames.iter().map(row).collect();
        Self { joints: order.iter().map(joint).collect(), frames, ..self }
    }

    fn descend(&self, joint: usize, order: &mut Vec<usize>) {
        order.push(joint);
        let children = (0..self.joints.len()).filter(|child| self.joints[*child].parent == Some(joint));
        children.for_each(|child| self.descend(child, order));
    }

    pub(crate) fn text(&self, dialect: &Dialect) -> String {
        let mut out = String::new();
        let Dialect { line_end, space, .. } = dialect;
        let word = |text: &str| if dialect.is_shouting { text.to_uppercase() } else { text.to_owned() };
        let number = |value: &f64| match dialect.has_exponents {
            true => format!("{value:e}"),
            false => format!("{value:.6}"),
        };
        let numbers = |values: &[f64]| values.iter().map(number).collect::<Vec<_>>().join(space);
        if dialect.has_mark {
            out.push('\u{feff}');
        }
        write!(out, "{}{line_end}", word("HIERARCHY")).unwrap();
        let mut open: Vec<usize> = Vec::new();
        for (at, joint) in self.joints.iter().enumerate() {
            while open.last().copied() != joint.parent {
                open.pop();
                write!(out, "{}}}{line_end}", dialect.indent.repeat(open.len())).unwrap();
            }
            let kind = word(if joint.parent.is_none() { "ROOT" } else { "JOINT" });
            let indent = dialect.indent.repeat(open.len());
            write!(out, "{indent}{kind}{space}{}{line_end}{indent}{{{line_end}", joint.name).unwrap();
            open.push(at);
            let indent = dialect.indent.repeat(open.len());
            write!(out, "{indent}{}{space}{}{line_end}", word("OFFSET"), numbers(&joint.offset)).unwrap();
            let (count, channels) = (joint.channels.len(), word(&joint.channels.join(space)));
            write!(out, "{indent}{}{space}{count}{space}{channels}{line_end}", word("CHANNELS")).unwrap();
        }
        open.iter().rev().for_each(|_| write!(out, "}}{line_end}").unwrap());
        write!(out, "{}{line_end}{}:{space}{}{line_end}", word("MOTION"), word("Frames"), self.frames.len())
            .unwrap();
        write!(out, "{}:{space}{:.7}{line_end}", word("Frame Time"), 1.0 / self.rate).unwrap();
        self.frames.iter().for_each(|row| write!(out, "{}{line_end}", numbers(row)).unwrap());
        out
    }

    /// Returns the model matrix of each joint: 4 × 4 in f64, channel by channel in the order of the file.
    /// Positions replace offsets and are not part of that order.
    pub(crate) fn model(&self, frame: usize) -> Vec<[[f64; 4]; 4]> {
        let mut numbers = self.frames[frame].iter();
        let mut model: Vec<[[f64; 4]; 4]> = Vec::new();
        for joint in &self.joints {
            let mut place = joint.offset;
            let mut turns = scaling();
            for channel in &joint.channels {
                let value = *numbers.next().expect("one for each channel");
                let axis = usize::from(channel.as_bytes()[0] - b'X');
                if channel.ends_with("position") {
                    place[axis] = value;
                } else {
                    turns = times(&turns, &turn(axis, value));
                }
            }
            let mut local = turns;
            (0..3).for_each(|row| local[row][3] = place[row]);
            model.push(joint.parent.map_or(local, |parent| times(&model[parent], &local)));
        }
        model
    }
}

fn scaling() -> [[f64; 4]; 4] {
    std::array::from_fn(|row| std::array::from_fn(|column| f64::from(u8::from(row == column))))
}

fn times(a: &[[f64; 4]; 4], b: &[[f64; 4]; 4]) -> [[f64; 4]; 4] {
    std::array::from_fn(|row| std::array::from_fn(|column| (0..4).map(|at| a[row][at] * b[at][column]).sum()))
}

fn turn(axis: usize, degrees: f64) -> [[f64; 4]; 4] {
    let (s, c) = sin_cos_f64(degrees / 180.0 * std::f64::consts::PI);
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let mut m = scaling();
    (m[u][u], m[u][v], m[v][u], m[v][v]) = (c, -s, s, c);
    m
}

/// Returns the model matrices of all joints at a time of a clip.
pub(crate) fn posed(skeleton: &Skeleton, clip: &RawClip, seconds: f32) -> Vec<Affine> {
    let mut pose = Pose::rest(skeleton);
    sampling::raw(clip, skeleton, seconds.into(), &mut RawCursor::default(), &mut pose)
        .expect("the clip is of this skeleton");
    let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
    local_to_model(skeleton, &pose, &mut model).expect("room for all");
    model
}

/// Returns the maximum differences of rotations and of positions.
pub(crate) fn differences(got: &[Affine], want: &[[[f64; 4]; 4]]) -> (f64, f64) {
    assert_eq!(got.len(), want.len());
    let mut worst = (0.0_f64, 0.0_f64);
    for (got, want) in got.iter().zip(want) {
        for (got, want) in got.rows.iter().zip(want) {
            let off = |at: usize| (f64::from(got[at]) - want[at]).abs();
            worst = (worst.0.max(off(0)).max(off(1)).max(off(2)), worst.1.max(off(3)));
        }
    }
    worst
}
