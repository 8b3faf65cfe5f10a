//! Writes a skeleton and any source of poses to a file.

use std::fmt::Write;

use condyle::sampling::PoseSource;
use condyle::skeleton::NO_PARENT;
use condyle::{Error, Pose, Skeleton, Transform};

use crate::hierarchy::END;
use crate::motion::FRAME_TIMES;
use crate::rotation::{IDENTITY, Quat64, RotationOrder, product, rows, unrotate};

/// Selects the joints with position channels in addition to the roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PositionChannels {
    /// Joints whose position differs from their rest position by at least the printed precision.
    #[default]
    Moving,
    /// No other joints. They stay at their offsets in the file, even if they move in the poses.
    Roots,
    /// All joints.
    All,
}

/// Options for writing a file.
///
/// ```
/// use condyle_bvh::{RotationOrder, WriteOptions};
///
/// let mut options = WriteOptions::new(120.0);
/// options.order = RotationOrder::ZYX;
/// options.scale = 100.0; // metres to centimetres
/// assert_eq!(options.decimals, 6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Frames per second; a frame can last from a millionth of a second to a day.
    pub rate: f64,
    /// Order of the rotations, the same for all joints.
    pub order: RotationOrder,
    /// Factor for lengths, above 0.
    pub scale: f64,
    /// Selects the joints with position channels.
    pub positions: PositionChannels,
    /// Number of decimals, from 1 to 9.
    pub decimals: u8,
}

impl WriteOptions {
    /// Returns options with order ZXY, scale 1 and six decimals.
    #[must_use]
    pub fn new(rate: f64) -> Self {
        let (order, positions) = (RotationOrder::default(), PositionChannels::default());
        Self { rate, order, scale: 1.0, positions, decimals: 6 }
    }

    fn check(&self) -> Result<(), Error> {
        let positive = |v: f64| v > 0.0 && v.is_finite();
        let wrong = |what, needed| Err(Error::OutOfRange { what, at: 0, needed });
        match self {
            _ if !FRAME_TIMES.contains(&(1.0 / self.rate)) => {
                wrong("rate", "from 1/86400 to 1,000,000 frames per second")
            }
            _ if !positive(self.scale) => wrong("scale", "finite and above 0"),
            _ if !(1..=9).contains(&self.decimals) => wrong("decimals", "from 1 to 9"),
            _ => Ok(()),
        }
    }
}

/// Maximum number of indented levels.
const DEEPEST: usize = 64;

/// Maximum number of frames: the times of more frames are not distinct in f32.
const MOST_FRAMES: f64 = 16_777_216.0;

/// Returns the text of a BVH file: the skeleton, and the poses of the source from its start to its end at the
/// given rate.
///
/// Each joint has three rotation channels, and each root three position channels before them.
/// [`PositionChannels`] selects the position channels of other joints. Angles do not jump between frames,
/// even at the singularity of their order.
///
/// The rest pose of a BVH has no rotations. The offsets come from the skeleton's rest pose; its rotations
/// appear only in the frames. BVH has no scales: scales are applied to the positions, and joints keep the
/// skeleton's positions and rotations.
///
/// A joint with the name of its parent plus `_End`, without movement and without children, becomes an End
/// Site. [`Bvh::skeleton`](crate::Bvh::skeleton) gives End Sites such names. Joints are in depth-first order.
///
/// Accuracy after reading back: rotations are within 1e-6 radians with six decimals. Positions are within one
/// unit of the last digit for each joint up to the root, plus the effect of rotation errors.
///
/// # Errors
/// - [`Error::OutOfRange`] for invalid options, and for more than 16,777,216 frames.
/// - [`Error::NotFinite`] if a length is outside the range of f64.
/// - The errors of the source.
///
/// ```
/// use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
/// use condyle_bvh::{Bvh, ImportOptions, WriteOptions, write};
///
/// let up = Transform { translation: [0.0, 60.0, 0.0], ..Transform::IDENTITY };
/// let skeleton = Skeleton::new([Joint::new("Hips", None, Transform::IDENTITY), Joint::new("Head", Some(0), up)])?;
/// let half = std::f32::consts::FRAC_1_SQRT_2;
/// let values = vec![0.0, 0.0, 0.0, 1.0, 0.0, half, 0.0, half];
/// let turn = Track { target: Target::Rotation(1), interpolation: Interpolation::Linear, timeline: 0, values };
/// let clip = RawClip::new("look".into(), vec![vec![0.0, 0.5]], vec![turn])?;
///
/// let text = write(&skeleton, &clip, &WriteOptions::new(4.0))?;
/// let back = Bvh::from_slice("look", text.as_bytes()).expect("a valid file");
/// assert_eq!((back.frame_count(), back.channel_count(), back.frame_rate()), (3, 9, 4.0));
/// assert!((back.frame(1)[8] - 45.0).abs() < 1e-5);
/// assert_eq!(back.skeleton(&ImportOptions::default())?, skeleton);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn write<S: PoseSource>(
    skeleton: &Skeleton,
    source: &S,
    options: &WriteOptions,
) -> Result<String, Error> {
    options.check()?;
    let (start, seconds) = (source.start(), source.end() - source.start());
    let last = (seconds * options.rate).round();
    if !(0.0..MOST_FRAMES).contains(&last) {
        return Err(Error::OutOfRange { what: "frames", at: 0, needed: "from 1 to 16,777,216" });
    }
    let frames = last as usize + 1;
    let time = |frame: usize| start + frame as f64 / options.rate;
    let mut writer = Writer::new(skeleton, options)?;
    let mut pose = Pose::rest(skeleton);
    for frame in 0..frames {
        source.pose(skeleton, time(frame), &mut pose)?;
        writer.look(&pose)?;
    }
    writer.hierarchy();
    // The shortest digits of this f64. A reader gets the same rate, except for its last bit.
    let seconds = 1.0 / options.rate;
    let _ = write!(writer.out, "MOTION\nFrames: {frames}\nFrame Time: {seconds}\n");
    for frame in 0..frames {
        source.pose(skeleton, time(frame), &mut pose)?;
        writer.row(&pose)?;
    }
    Ok(writer.out)
}

/// Position of a joint relative to its parent after removing all scales, and its rotation.
#[derive(Clone, Copy)]
struct Local {
    place: [f64; 3],
    rotation: Quat64,
}

/// Properties of a joint that decide how it is written.
#[derive(Clone, Copy, Default)]
struct Kind {
    moves: bool,
    turns: bool,
    has_children: bool,
}

struct Writer<'a> {
    skeleton: &'a Skeleton,
    options: &'a WriteOptions,
    /// All joints, depth first.
    order: Vec<u16>,
    kinds: Vec<Kind>,
    rest: Vec<Local>,
    /// The angles of the previous frame.
    angles: Vec<[f64; 3]>,
    local: Vec<Local>,
    space: Vec<Space>,
    out: String,
}

/// The transform that a joint passes to its children: its matrix without translation, and its rotation alone.
#[derive(Clone, Copy)]
struct Space {
    matrix: [[f64; 3]; 3],
    rotation: Quat64,
}

impl<'a> Writer<'a> {
    fn new(skeleton: &'a Skeleton, options: &'a WriteOptions) -> Result<Self, Error> {
        let count = skeleton.joint_count();
        let parents = skeleton.parents();
        let roots = (0..count).filter(|joint| parents[*joint] == NO_PARENT);
        let order = roots.flat_map(|root| skeleton.subtree(root as u16)).copied().collect();
        let mut kinds = vec![Kind::default(); count];
        parents
            .iter()
            .filter(|parent| **parent != NO_PARENT)
            .for_each(|p| kinds[usize::from(*p)].has_children = true);
        let mut it = Self {
            skeleton,
            options,
            order,
            kinds,
            rest: Vec::new(),
            angles: vec![[0.0; 3]; count],
            local: Vec::with_capacity(count),
            space: Vec::with_capacity(count),
            out: String::new(),
        };
        it.place(skeleton.rest())?;
        it.rest = it.local.clone();
        Ok(it)
    }

    /// Removes the scales from a pose; joint positions and rotations stay the same.
    fn place(&mut self, pose: &Pose) -> Result<(), Error> {
        self.local.clear();
        self.space.clear();
        for (joint, t) in pose.transforms().enumerate() {
            let parent = self.skeleton.parent(joint as u16);
            let above = parent
                .map_or(Space { matrix: rows(IDENTITY), rotation: IDENTITY }, |p| self.space[usize::from(p)]);
            let (local, space) = below(&above, &t, self.options.scale);
            if !local.place.iter().all(|v| v.is_finite()) {
                return Err(Error::NotFinite { what: "joint positions", at: joint });
            }
            self.local.push(local);
            self.space.push(space);
        }
        Ok(())
    }

    /// Records which joints move and rotate.
    fn look(&mut self, pose: &Pose) -> Result<(), Error> {
        self.place(pose)?;
        let printed = 0.5 / 10_u64.pow(self.options.decimals.into()) as f64;
        for ((kind, rest), now) in self.kinds.iter_mut().zip(&self.rest).zip(&self.local) {
            kind.moves |= rest.place.iter().zip(now.place).any(|(a, b)| (a - b).abs() > printed);
            kind.turns |= now.rotation[..3].iter().any(|v| v.abs() > 1e-6);
        }
        Ok(())
    }

    fn has_positions(&self, joint: u16) -> bool {
        let asked = match self.options.positions {
            PositionChannels::Moving => self.kinds[usize::from(joint)].moves,
            PositionChannels::Roots => false,
            PositionChannels::All => true,
        };
        self.skeleton.parent(joint).is_none() || asked
    }

    /// Returns whether a joint becomes an end site.
    fn is_end(&self, joint: u16) -> bool {
        let Some(parent) = self.skeleton.parent(joint) else { return false };
        let (kind, names) = (self.kinds[usize::from(joint)], self.skeleton.names());
        let is_named =
            names[usize::from(joint)].strip_suffix(END) == Some(names[usize::from(parent)].as_str());
        // An end site at the position of its joint would not be read back as a joint.
        let is_apart = self.rest[usize::from(joint)].place != [0.0; 3];
        is_named && is_apart && !kind.has_children && !kind.moves && !kind.turns
    }

    fn hierarchy(&mut self) {
        self.out.push_str("HIERARCHY\n");
        let mut open: Vec<u16> = Vec::new();
        for at in 0..self.order.len() {
            let joint = self.order[at];
            let parent = self.skeleton.parent(joint);
            while open.last().copied() != parent {
                open.pop();
                self.line(open.len(), "}");
            }
            self.joint(joint, open.len());
            open.push(joint);
        }
        for depth in (0..open.len()).rev() {
            self.line(depth, "}");
        }
    }

    /// Writes an indented line. Tabs are only for human readers and have a limit, because in a chain of
    /// thousands of joints they would fill most of the file.
    fn line(&mut self, depth: usize, text: &str) {
        self.out.extend(std::iter::repeat_n('\t', depth.min(DEEPEST)));
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Writes a joint, except for its closing brace.
    fn joint(&mut self, joint: u16, depth: usize) {
        let at = usize::from(joint);
        let is_end = self.is_end(joint);
        let head = match self.skeleton.parent(joint) {
            _ if is_end => "End Site".into(),
            None => format!("ROOT {}", name(self.skeleton, at)),
            Some(_) => format!("JOINT {}", name(self.skeleton, at)),
        };
        self.line(depth, &head);
        self.line(depth, "{");
        let mut offset = String::from("OFFSET");
        self.rest[at].place.iter().for_each(|v| number(&mut offset, *v, self.options.decimals));
        self.line(depth + 1, &offset);
        if is_end {
            return;
        }
        let mut channels = String::new();
        if self.has_positions(joint) {
            channels.push_str(" Xposition Yposition Zposition");
        }
        for axis in self.options.order.axes() {
            let _ = write!(channels, " {}rotation", ["X", "Y", "Z"][axis as usize]);
        }
        let count = channels.matches(' ').count();
        self.line(depth + 1, &format!("CHANNELS {count}{channels}"));
        if !self.kinds[at].has_children {
            // Many readers require an end site; one at 0 0 0 has no effect.
            self.line(depth + 1, "End Site");
            self.line(depth + 1, "{");
            let mut offset = String::from("OFFSET");
            (0..3).for_each(|_| number(&mut offset, 0.0, self.options.decimals));
            self.line(depth + 2, &offset);
            self.line(depth + 1, "}");
        }
    }

    fn row(&mut self, pose: &Pose) -> Result<(), Error> {
        self.place(pose)?;
        let begin = self.out.len();
        for at in 0..self.order.len() {
            let joint = self.order[at];
            if self.is_end(joint) {
                continue;
            }
            let local = self.local[usize::from(joint)];
            if self.has_positions(joint) {
                local.place.iter().for_each(|v| number(&mut self.out, *v, self.options.decimals));
            }
            let angles = &mut self.angles[usize::from(joint)];
            *angles = self.options.order.angles(local.rotation, *angles);
            angles.iter().for_each(|v| number(&mut self.out, *v, self.options.decimals));
        }
        // Each number starts with a space; this removes the first one.
        self.out.remove(begin);
        self.out.push('\n');
        Ok(())
    }
}

/// Returns a joint's transform relative to its parent, and the transform for its children.
fn below(above: &Space, t: &Transform, scale: f64) -> (Local, Space) {
    let [x, y, z] = t.translation.map(f64::from);
    let place = above.matrix.map(|row| (row[0] * x + row[1] * y + row[2] * z) * scale);
    let q = t.rotation.map(f64::from);
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let rotation = q.map(|v| v / length);
    let factors = t.scale.map(f64::from);
    let own = rows(rotation).map(|row| [row[0] * factors[0], row[1] * factors[1], row[2] * factors[2]]);
    let column = |row: &[f64; 3], c: usize| row[0] * own[0][c] + row[1] * own[1][c] + row[2] * own[2][c];
    let matrix = above.matrix.map(|row| [column(&row, 0), column(&row, 1), column(&row, 2)]);
    let local = Local { place: unrotate(above.rotation, place), rotation };
    (local, Space { matrix, rotation: product(above.rotation, rotation) })
}

/// Returns the name of a joint, without characters that would end a name in the file.
fn name(skeleton: &Skeleton, joint: usize) -> String {
    let own = skeleton.names()[joint].trim();
    let fits = |c: char| if c.is_control() || matches!(c, '{' | '}') { '_' } else { c };
    if own.is_empty() { format!("joint_{joint}") } else { own.chars().map(fits).collect() }
}

/// Writes a space and a number. A number that rounds to zero has no sign.
fn number(out: &mut String, value: f64, decimals: u8) {
    let power = 10_u64.pow(decimals.into());
    let scaled = (value * power as f64).round();
    if scaled.abs() >= 9e15 {
        let _ = write!(out, " {value:.*}", usize::from(decimals));
        return;
    }
    let digits = scaled.abs() as u64;
    let sign = if scaled < 0.0 { "-" } else { "" };
    let _ = write!(out, " {sign}{}.{:02$}", digits / power, digits % power, usize::from(decimals));
}
