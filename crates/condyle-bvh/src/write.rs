//! From a skeleton and whatever has poses to a file.

use std::fmt::Write;

use condyle::sampling::PoseSource;
use condyle::skeleton::NO_PARENT;
use condyle::{Error, Pose, Skeleton, Transform};

use crate::hierarchy::END;
use crate::motion::FRAME_TIMES;
use crate::rotation::{IDENTITY, Quat64, RotationOrder, product, rows, unrotate};

/// Which joints have channels of position, besides the roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PositionChannels {
    /// Those that do not stay where they are at rest, by what is printed.
    #[default]
    Moving,
    /// None: what moves along its bone stays at its offset.
    Roots,
    /// All.
    All,
}

/// How a file is written.
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
    /// Frames per second, of which each lasts from a millionth of a second to a day.
    pub rate: f64,
    /// The order of rotations, the same for all joints.
    pub order: RotationOrder,
    /// What lengths are multiplied by, above 0.
    pub scale: f64,
    /// Which joints have channels of position.
    pub positions: PositionChannels,
    /// Digits behind the point, from 1 to 9.
    pub decimals: u8,
}

impl WriteOptions {
    /// ZXY, lengths as they are, six decimals.
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
                wrong("rate", "from one frame a day to a million a second")
            }
            _ if !positive(self.scale) => wrong("scale", "finite and above 0"),
            _ if !(1..=9).contains(&self.decimals) => wrong("decimals", "from 1 to 9"),
            _ => Ok(()),
        }
    }
}

/// Levels that are indented.
const DEEPEST: usize = 64;

/// The most frames of a file: the times of more cannot be told apart in f32.
const MOST_FRAMES: f64 = 16_777_216.0;

/// The text of a BVH file: the skeleton, and the poses of the source from its start to its end at the given rate.
///
/// Each joint has three channels of rotation, each root three of position before them; see [`PositionChannels`] for those of other joints. Angles go on
/// from frame to frame without a jump, through the singular place of their order too. In the rest pose of a BVH nothing is turned, so that the
/// offsets are those of the skeleton's rest pose and its rotations are in the frames alone. There are no scales: joints are where the skeleton has
/// them, turned as it turns them.
///
/// A joint that is called as its parent with `_End` behind it, does not move and has no children becomes an End Site, as
/// [`Bvh::skeleton`](crate::Bvh::skeleton) names them; joints are in depth-first order. Read back, rotations are within 1e-6 radians with six decimals, places within one
/// unit of the last digit for each joint up to the root, and what that turns.
///
/// # Errors
/// [`Error::OutOfRange`] for options that are none, and for more than 16,777,216 frames; [`Error::NotFinite`] where lengths are beyond f64; what the
/// source says.
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
/// let back = Bvh::from_slice("look", text.as_bytes()).expect("as it was written");
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
    // The shortest digits that are this f64: what reads it has the same rate, but for its last bit.
    let seconds = 1.0 / options.rate;
    let _ = write!(writer.out, "MOTION\nFrames: {frames}\nFrame Time: {seconds}\n");
    for frame in 0..frames {
        source.pose(skeleton, time(frame), &mut pose)?;
        writer.row(&pose)?;
    }
    Ok(writer.out)
}

/// Where a joint is on its parent if no joint has a scale, and how it is turned.
#[derive(Clone, Copy)]
struct Local {
    place: [f64; 3],
    rotation: Quat64,
}

/// How a joint is written.
#[derive(Clone, Copy, Default)]
struct Kind {
    moves: bool,
    turns: bool,
    has_children: bool,
}

struct Writer<'a> {
    skeleton: &'a Skeleton,
    options: &'a WriteOptions,
    /// All joints, those below a joint behind it.
    order: Vec<u16>,
    kinds: Vec<Kind>,
    rest: Vec<Local>,
    /// The angles of the frame before.
    angles: Vec<[f64; 3]>,
    local: Vec<Local>,
    space: Vec<Space>,
    out: String,
}

/// What a joint does to those below it: its matrix without its place, and its rotation alone.
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

    /// Takes the scales out of a pose: where the joints are and how they are turned stays.
    fn place(&mut self, pose: &Pose) -> Result<(), Error> {
        self.local.clear();
        self.space.clear();
        for (joint, t) in pose.transforms().enumerate() {
            let parent = self.skeleton.parent(joint as u16);
            let above = parent
                .map_or(Space { matrix: rows(IDENTITY), rotation: IDENTITY }, |p| self.space[usize::from(p)]);
            let (local, space) = below(&above, &t, self.options.scale);
            if !local.place.iter().all(|v| v.is_finite()) {
                return Err(Error::NotFinite { what: "places of joints", at: joint });
            }
            self.local.push(local);
            self.space.push(space);
        }
        Ok(())
    }

    /// Notes which joints move and turn.
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

    /// Whether a joint is an end site.
    fn is_end(&self, joint: u16) -> bool {
        let Some(parent) = self.skeleton.parent(joint) else { return false };
        let (kind, names) = (self.kinds[usize::from(joint)], self.skeleton.names());
        let is_named =
            names[usize::from(joint)].strip_suffix(END) == Some(names[usize::from(parent)].as_str());
        // One that is where its joint is would not be read back as a joint.
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

    /// Tabs are for whoever reads the file: in a chain of thousands of joints they would be most of it.
    fn line(&mut self, depth: usize, text: &str) {
        self.out.extend(std::iter::repeat_n('\t', depth.min(DEEPEST)));
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// A joint but for its closing brace.
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
            // Many readers look for one; where it is at 0 0 0 it says nothing.
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
        // Each number has a space before it.
        self.out.remove(begin);
        self.out.push('\n');
        Ok(())
    }
}

/// A joint on what is above it.
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

/// The name of a joint without what ends a name in a file.
fn name(skeleton: &Skeleton, joint: usize) -> String {
    let own = skeleton.names()[joint].trim();
    let fits = |c: char| if c.is_control() || matches!(c, '{' | '}') { '_' } else { c };
    if own.is_empty() { format!("joint_{joint}") } else { own.chars().map(fits).collect() }
}

/// A space and a number. What rounds to zero has no sign.
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
