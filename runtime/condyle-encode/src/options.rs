//! Options and results of the encoder.

use alloc::vec::Vec;
use core::fmt;

use condyle::clip::{Clip, Target};
use condyle::motion::RootMotionOptions;
use condyle::play::Event;
use condyle_base::error::Error;

/// Points at which the error is measured.
///
/// ```
/// use condyle::example;
/// use condyle_encode::{EncodeOptions, JointShell, Shell};
///
/// // The mesh is the left sleeve, which the two arm joints move.
/// let (skeleton, mesh, skin) = (example::skeleton(), example::mesh(), example::skin());
/// // 1 mm for every vertex, and within 3 cm of each joint that has no vertices.
/// let options = EncodeOptions::new(1e-3, Shell::of_meshes(&skeleton, [(&mesh, &skin)], 0.03)?);
/// let Shell::Joints(joints) = &options.shell else { panic!("a shell for each joint") };
/// let points = |joint: u16| matches!(joints[usize::from(joint)], JointShell::Points(_));
/// assert!(points(example::ARM_L[0]) && points(example::ARM_L[1]) && !points(example::HEAD));
/// // Without meshes: every point within 3 cm of a joint.
/// let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
/// assert_eq!(options.budget, 1e-3);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Shell {
    /// Ball of this radius around each joint in the rest pose, in the skeleton's units.
    Balls(f32),
    /// One shell per joint.
    Joints(Vec<JointShell>),
}

/// Points of one joint at which the error is measured.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum JointShell {
    /// Points in joint space. A joint without points is not measured.
    Points(Vec<[f32; 3]>),
    /// Ball of this radius around the joint in the rest pose, in the skeleton's units.
    Ball(f32),
}

impl Shell {
    /// Default radius of the ball around a joint without vertices, in metres: 3 cm.
    pub const RADIUS: f32 = 0.03;

    /// Returns the smallest radius of the balls, in the skeleton's units. `None` if the shell has only
    /// points, because every joint has vertices.
    ///
    /// ```
    /// use condyle_encode::{JointShell, Shell};
    ///
    /// let vertex = JointShell::Points(vec![[0.0, 0.1, 0.0]]);
    /// assert_eq!(Shell::Balls(0.05).ball_radius(), Some(0.05));
    /// assert_eq!(Shell::Joints(vec![vertex.clone(), JointShell::Ball(0.03)]).ball_radius(), Some(0.03));
    /// assert_eq!(Shell::Joints(vec![vertex]).ball_radius(), None);
    /// ```
    #[must_use]
    pub fn ball_radius(&self) -> Option<f32> {
        match self {
            Self::Balls(radius) => Some(*radius),
            Self::Joints(joints) => joints.iter().filter_map(JointShell::radius).reduce(f32::min),
        }
    }

    /// Returns [`RADIUS`](Self::RADIUS) for a model in which one unit is `metres`.
    ///
    /// ```
    /// use condyle_encode::Shell;
    ///
    /// assert_eq!((Shell::radius(1.0), Shell::radius(0.01)), (0.03, 3.0));
    /// ```
    #[must_use]
    pub fn radius(metres: f64) -> f32 {
        (f64::from(Self::RADIUS) / metres).clamp(f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)) as f32
    }
}

impl JointShell {
    fn radius(&self) -> Option<f32> {
        match self {
            Self::Points(_) => None,
            Self::Ball(radius) => Some(*radius),
        }
    }
}

/// Options of [`encode`](crate::encode()). Create them with [`new`](Self::new), then set other fields.
///
/// ```
/// use condyle_encode::{EncodeOptions, Shell};
///
/// let mut options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
/// options.best = true; // slower, smaller
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// Maximum distance of a shell point from its authored position, in the skeleton's units.
    pub budget: f32,
    /// Budgets of individual joints that differ from `budget`.
    pub joint_budgets: Vec<(u16, f32)>,
    /// Maximum error of a morph weight or of a component of a scalar, vector or rotation track.
    pub track_budget: f32,
    /// Budgets of individual tracks that differ from `track_budget`. The budget of morph weights follows from
    /// the distance by which their targets move vertices.
    pub track_budgets: Vec<(Target, f32)>,
    /// Frames per second at which the clip is sampled. The rate is adjusted slightly so that the last frame
    /// is the end of the clip. Usually the encoder raises it. If rounding of the times may have moved the end
    /// past a frame, it lowers the rate, by at most 0.3 frames.
    ///
    /// With `None`, the encoder chooses the lowest rate from 8 to 1000 at which all keys of joints are on
    /// frames. It fits the rate to all key times, so that their rounding does not matter. At most one key in
    /// 20 may be off the frames. If all keys are more than 1/8 s apart, the rate is at least 24. If no rate
    /// fits, the encoder uses the key rate of the densest timeline, but at least 60.
    ///
    /// [`Encoded::rate`] is the rate used, and [`Encoded::off_frames`] counts the keys that are off its
    /// frames.
    pub rate: Option<f32>,
    /// Points at which the error is measured.
    pub shell: Shell,
    /// Whether the budget also holds between frames: at three intermediate times between frames and at all
    /// keys of the source. If false, it holds at the frames only.
    pub between: bool,
    /// Whether to search longer for a smaller clip: for the best segment length, and with several splits of
    /// the error budget. This is 3 to 5x slower. The usual search runs too, and the smaller clip is returned.
    pub best: bool,
    /// Root motion to extract from the pose, for [`Clip::motion_at`](condyle::Clip::motion_at). The
    /// extraction equals [`motion::extract`](condyle::motion::extract), sampled at every frame:
    /// `sample_rate` is ignored. The error of the motion counts towards the budget of every point.
    pub root_motion: Option<RootMotionOptions>,
    /// Events of the clip, for [`Clip::events`](condyle::Clip::events), with times in seconds from the clip's
    /// start.
    pub events: Vec<Event>,
}

impl EncodeOptions {
    /// Returns options that keep every point of `shell` within `budget` of its authored position, both in the
    /// skeleton's units.
    #[must_use]
    pub fn new(budget: f32, shell: Shell) -> Self {
        Self {
            budget,
            joint_budgets: Vec::new(),
            track_budget: 1e-3,
            track_budgets: Vec::new(),
            rate: None,
            shell,
            between: true,
            best: false,
            root_motion: None,
            events: Vec::new(),
        }
    }

    /// Returns the options with each budget multiplied by `part`.
    pub(super) fn with_part(&self, part: f32) -> Self {
        let mut options = self.clone();
        options.budget *= part;
        options.track_budget *= part;
        options.joint_budgets.iter_mut().for_each(|(_, budget)| *budget *= part);
        options.track_budgets.iter_mut().for_each(|(_, budget)| *budget *= part);
        options
    }

    /// Budget of a joint's points.
    pub(super) fn budget_of_joint(&self, joint: usize) -> f32 {
        let own = self.joint_budgets.iter().rev().find(|(j, _)| usize::from(*j) == joint);
        own.map_or(self.budget, |&(_, budget)| budget)
    }

    /// Budget of each component of a track that drives no joint.
    pub(super) fn budget_of(&self, track: Target) -> f32 {
        let own = self.track_budgets.iter().rev().find(|(target, _)| *target == track);
        own.map_or(self.track_budget, |&(_, budget)| budget)
    }

    /// Returns an error unless all budgets are finite and greater than 0, and joint budgets refer to existing
    /// joints.
    pub(super) fn check(&self, joint_count: usize) -> Result<(), Error> {
        positive("budget", 0, self.budget)?;
        positive("track_budget", 0, self.track_budget)?;
        for (at, &(_, budget)) in self.track_budgets.iter().enumerate() {
            positive("track budgets", at, budget)?;
        }
        for (at, &(joint, budget)) in self.joint_budgets.iter().enumerate() {
            positive("joint budgets", at, budget)?;
            let found = usize::from(joint);
            if found >= joint_count {
                return Err(Error::Index { what: "joint budgets", at, found, count: joint_count });
            }
        }
        Ok(())
    }
}

pub(super) fn positive(what: &'static str, at: usize, v: f32) -> Result<(), Error> {
    let needed = "finite and greater than 0";
    if v.is_finite() && v > 0.0 { Ok(()) } else { Err(Error::OutOfRange { what, at, needed }) }
}

/// Encoding of a track.
///
/// ```
/// use condyle::example;
/// use condyle_encode::{EncodeOptions, Encoding, Shell, encode};
///
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let encoded = encode(&example::walk(), &example::skeleton(), &options, &mut |_| ())?;
/// // Three tracks move: the hips and both legs. Each is within the budget without a fallback track.
/// for (encoding, count) in &encoded.encodings {
///     println!("{count} tracks: {encoding:?}");
///     assert_ne!(*encoding, Encoding::Fallback);
/// }
/// assert_eq!(encoded.encodings.iter().map(|(_, count)| count).sum::<usize>(), 3);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// One value.
    Constant,
    /// Linear interpolation between keys at every frame; for rotations, slerp, or nlerp where it is accurate
    /// enough.
    Linear,
    /// Cubic spline, almost always with fewer keys than frames.
    Spline,
    /// Authored keys.
    Fallback,
}

/// Compressed clip and its measured quality.
///
/// ```
/// use condyle::example;
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let encoded = encode(&example::walk(), &example::skeleton(), &options, &mut |_| ())?;
/// println!("{} bytes instead of {}", encoded.bytes().len(), encoded.raw_bytes);
/// assert!(encoded.fallback.is_empty() && encoded.bytes().len() < encoded.raw_bytes);
/// // Write `bytes` to a file, or play the clip directly.
/// let clip = encoded.into_clip();
/// assert_eq!((clip.start(), clip.end()), (0.0, 1.0));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Encoded {
    pub(super) clip: Clip<'static>,
    /// Error of the decoded clip.
    pub measured: Measured,
    /// [`Shell::ball_radius`] of the shell used for encoding, for
    /// [`ContainerWriter::set_shell`](condyle::container::ContainerWriter::set_shell).
    pub shell: Option<f32>,
    /// Size of the same frames uncompressed: 40 bytes per joint and frame, for rotation, translation and
    /// scale in f32.
    pub raw_bytes: usize,
    /// Frames per second.
    pub rate: f32,
    /// Keys that are not on a frame.
    pub off_frames: OffFrames,
    /// Number of tracks per encoding, over all segments.
    pub encodings: Vec<(Encoding, usize)>,
    /// Approximate number of bytes of each joint's tracks, over all segments. The remaining bytes belong to
    /// no single joint.
    pub joint_bytes: Vec<usize>,
    /// Fallback tracks, in the whole clip or in some segments. Either no curve met the budget, or the joint's
    /// rest rotation is not a unit quaternion. Or a free track has keys between frames, where curves would
    /// cut corners.
    ///
    /// Step tracks are always fallback tracks and are not listed. If all curves met the budget but keys take
    /// fewer bytes, the whole clip is stored as keys, and none of its tracks is listed. Fallback tracks cost
    /// more to sample.
    pub fallback: Vec<Target>,
}

/// Keys that are not on a frame. A curve with keys only on frames cuts corners there. Such keys cost bytes
/// but no precision, because the error is bounded between frames too ([`EncodeOptions::between`]).
///
/// A key counts if its distance from the nearest frame exceeds 1/50 of a frame and the rounding error of the
/// times. Keys of step tracks do not count, because they are stored unchanged.
///
/// ```
/// use condyle::{Interpolation, RawClip, Target, Track, example};
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// // A track with 25 keys per second.
/// let skeleton = example::chain(["lift"], [0.0; 3]);
/// let times: Vec<f32> = (0..=25).map(|key| key as f32 / 25.0).collect();
/// let values = times.iter().flat_map(|t| [0.0, t * t, 0.0]).collect();
/// let (target, interpolation) = (Target::Translation(0), Interpolation::Linear);
/// let up = Track { target, interpolation, timeline: 0, values };
/// let raw = RawClip::new("up".into(), vec![times], vec![up])?;
///
/// let mut options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let encoded = encode(&raw, &skeleton, &options, &mut |_| ())?;
/// assert_eq!((encoded.rate, encoded.off_frames.keys), (25.0, 0));
/// options.rate = Some(30.0);
/// let off = encode(&raw, &skeleton, &options, &mut |_| ())?.off_frames;
/// assert_eq!((off.keys, off.all), (20, 26));
/// assert!((off.frames - 0.4).abs() < 1e-5);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct OffFrames {
    /// Number of keys that are not on a frame; tracks that share their times count once.
    pub keys: usize,
    /// Total number of keys.
    pub all: usize,
    /// Maximum distance of a key from the nearest frame, in frames.
    pub frames: f32,
}

impl Encoded {
    /// Returns the clip, validated and ready to sample. It owns its bytes, so a clone outlives `self`.
    #[must_use]
    pub fn clip(&self) -> &Clip<'static> {
        &self.clip
    }

    /// Converts into the clip.
    #[must_use]
    pub fn into_clip(self) -> Clip<'static> {
        self.clip
    }

    /// Returns the bytes of the clip, for a file. [`Clip::from_bytes`] reads them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.clip.as_bytes()
    }
}

/// Prints a summary on one line.
impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoded")
            .field("clip", &self.clip)
            .field("error_max", &self.measured.error_max)
            .field("fallback", &self.fallback.len())
            .finish_non_exhaustive()
    }
}

/// Maximum error of a joint's points.
///
/// ```
/// use condyle::example;
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// let skeleton = example::skeleton();
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let encoded = encode(&example::walk(), &skeleton, &options, &mut |_| ())?;
/// for (name, worst) in skeleton.names().iter().zip(&encoded.measured.joints) {
///     println!("{name}: {} mm at {} s", 1e3 * worst.error, worst.seconds);
///     assert!(worst.error <= encoded.measured.error_max);
/// }
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct JointError {
    /// Maximum distance of a point from its authored position, in the skeleton's units.
    pub error: f32,
    /// Time of that error, in seconds.
    pub seconds: f64,
    /// Index of the point in the joint's shell; 0 for a ball.
    pub point: usize,
}

/// Measured error of a decoded clip: distances in model space, in the skeleton's units. Measured in portable
/// mode, so that the result is the same on every platform.
///
/// ```
/// use condyle::example;
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// let skeleton = example::skeleton();
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let measured = encode(&example::walk(), &skeleton, &options, &mut |_| ())?.measured;
/// let joint = &skeleton.names()[measured.joint];
/// println!("{joint} is {} mm off at {} s", 1e3 * measured.error_max, measured.seconds);
/// assert!(measured.error_max <= options.budget);
/// assert_eq!(measured.error_max, measured.joints[measured.joint].error);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Measured {
    /// Maximum error of all joints, at the frames and, if checked, between them.
    pub error_max: f32,
    /// 99th percentile of the joint errors at all frames, rounded up by at most 0.5 %.
    pub error_p99: f32,
    /// Maximum error between frames; 0 if only the frames were checked.
    pub error_between_max: f32,
    /// Joint with the maximum error.
    pub joint: usize,
    /// Time of the maximum error, in seconds.
    pub seconds: f64,
    /// Maximum error of each joint.
    pub joints: Vec<JointError>,
    /// Maximum error at each frame.
    pub frames: Vec<f32>,
    /// Maximum error of a morph weight or of a component of a scalar, vector or rotation track.
    pub track_error_max: f32,
    /// Target of the track with that error, if any track has an error.
    pub track_target: Option<Target>,
    /// Maximum error of each component of each track that drives no joint.
    pub tracks: Vec<(Target, Vec<f32>)>,
    /// Maximum distance of a joint from the origin in the authored clip.
    ///
    /// Errors are measured on f64 matrices of the decoded pose. Matrices in f32 add a few roundings of this
    /// distance: 1 mm each at 10 km.
    pub farthest: f32,
    /// Maximum error of a morphed vertex, from the errors of the morph weights and of the vertex's joints. 0
    /// unless the encoder has the meshes: `Asset::encode` of `condyle-gltf` does.
    pub morph_error: f32,
}

impl Measured {
    /// Adds an error of the free track `at`. Lower indices must have been added before.
    pub(super) fn add_track_error(&mut self, at: usize, target: Target, component: usize, error: f32) {
        if error > self.track_error_max {
            (self.track_error_max, self.track_target) = (error, Some(target));
        }
        if at == self.tracks.len() {
            self.tracks.push((target, Vec::new()));
        }
        if let Some((_, errors)) = self.tracks.get_mut(at) {
            errors.resize(errors.len().max(component + 1), 0.0);
            errors[component] = errors[component].max(error);
        }
    }

    /// Track that exceeds its budget by the largest factor, if any.
    pub(super) fn track_over_budget(&self, options: &EncodeOptions) -> Option<Target> {
        let over = |(target, errors): &(Target, Vec<f32>)| {
            let worst = errors.iter().copied().fold(0.0, f32::max);
            (worst / options.budget_of(*target), *target)
        };
        let worst = self.tracks.iter().map(over).reduce(|a, b| if b.0 > a.0 { b } else { a });
        worst.filter(|(part, _)| *part > 1.0).map(|(_, target)| target)
    }
}

/// Prints the maximum errors on one line.
impl fmt::Debug for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measured")
            .field("error_max", &self.error_max)
            .field("error_p99", &self.error_p99)
            .field("error_between_max", &self.error_between_max)
            .field("joint", &self.joint)
            .field("seconds", &self.seconds)
            .field("track_error_max", &self.track_error_max)
            .field("track_target", &self.track_target)
            .field("morph_error", &self.morph_error)
            .finish_non_exhaustive()
    }
}
