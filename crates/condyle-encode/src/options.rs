//! Options and results of the encoder.

use alloc::vec::Vec;
use core::fmt;

use condyle::clip::{Clip, Target};
use condyle::motion::RootMotionOptions;
use condyle::play::Event;
use condyle_base::error::Error;

/// The points at which the error is measured.
///
/// ```
/// use condyle_encode::{EncodeOptions, JointShell, Shell};
/// use condyle::{Affine, Influences, Joint, Skeleton, Skin, SkinnedMesh, Transform, Vertices};
///
/// let skeleton = Skeleton::new([Joint::new("hip", None, Transform::IDENTITY)])?;
/// # let positions = vec![[0.0; 3], [0.1, 0.0, 0.0], [0.0, 0.2, 0.0]];
/// # let vertices = Vertices { positions, ..Vertices::default() };
/// # let mesh = SkinnedMesh::new(vertices, Influences::rigid(3), vec![], vec![])?;
/// # let skin = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// // A millimetre for every vertex, and within 3 cm of each joint that has none.
/// let options = EncodeOptions::new(1e-3, Shell::of_meshes(&skeleton, [(&mesh, &skin)], 0.03)?);
/// let Shell::Joints(joints) = &options.shell else { panic!("a shell for each joint") };
/// assert!(matches!(&joints[..], [JointShell::Points(_)]));
/// // Without meshes: every point within 3 cm of a joint.
/// let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
/// # assert_eq!(options.budget, 1e-3);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Shell {
    /// All points within this distance of each joint, in the skeleton's units, at rest.
    Balls(f32),
    /// A shell of its own for each joint.
    Joints(Vec<JointShell>),
}

/// The points of one joint at which the error is measured.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum JointShell {
    /// Points in the joint's own space. A joint without points is not measured.
    Points(Vec<[f32; 3]>),
    /// All points within this distance of the joint, in the skeleton's units, at rest.
    Ball(f32),
}

impl Shell {
    /// The radius of the ball around a joint without vertices where nothing else is requested, in metres: 3 cm.
    pub const RADIUS: f32 = 0.03;

    /// The smallest radius of its balls, in the skeleton's units. `None` if it has points only, as where
    /// every joint has vertices.
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

    /// [`RADIUS`](Self::RADIUS) in a model where one unit is `metres`.
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

/// How much time the encoder spends to save bytes.
///
/// ```
/// use condyle_encode::{Effort, EncodeOptions, Shell};
///
/// // While an artist waits; a build for release takes `Best`.
/// let mut options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// options.effort = Effort::Fast;
/// assert!(Effort::ALL.is_sorted() && Effort::Fast < Effort::Best);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Effort {
    /// Few kinds of curves.
    Fast,
    /// The kinds of curves that save most.
    #[default]
    Normal,
    /// All kinds of curves, several ways to split the error budget, and several segment lengths.
    Best,
}

impl Effort {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fast, Self::Normal, Self::Best];
}

/// Options of [`encode`](crate::encode()): [`new`](Self::new), whose other fields are then set.
///
/// ```
/// use condyle_encode::{Effort, EncodeOptions, Shell};
///
/// let mut options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
/// options.effort = Effort::Best;
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// How far a point of the shell may be from its place, in the skeleton's units.
    pub budget: f32,
    /// Another budget for some joints.
    pub joint_budgets: Vec<(u16, f32)>,
    /// How far a morph weight or a component of a scalar, vector or rotation track may be off.
    pub track_budget: f32,
    /// Another budget for some of these tracks: that of morph weights follows from how far their targets move vertices.
    pub track_budgets: Vec<(Target, f32)>,
    /// Frames per second at which the clip is sampled, changed slightly so that the last frame is the end
    /// of the clip: raised, or lowered where the rounding of the times may have moved the end behind a
    /// frame, by at most 0.3 frames.
    ///
    /// `None`: the lowest rate from 8 to 1000 whose frames all keys of joints are on, however the times are rounded, fitted to all of
    /// them; at least 24 if all keys are farther apart than an eighth of a second. A twentieth of the keys may be on no frame. If no
    /// rate fits, that of the densest timeline, at least 60. [`Encoded::rate`] is the rate taken, [`Encoded::off_frames`] counts the
    /// keys that miss its frames.
    pub rate: Option<f32>,
    /// Where errors are measured.
    pub shell: Shell,
    /// Whether the budget also holds between frames, at three moments between each two and at all keys of the
    /// source; else at the frames only.
    pub between: bool,
    /// How much time to spend.
    pub effort: Effort,
    /// Root motion to extract from the pose, for [`Clip::motion_at`](condyle::Clip::motion_at), as
    /// [`motion::extract`](condyle::motion::extract) does, but sampled at every frame: `sample_rate` is
    /// ignored. Its error counts towards the budget of every point.
    pub root_motion: Option<RootMotionOptions>,
    /// The events of the clip, for [`Clip::events`](condyle::Clip::events): seconds count from the clip's
    /// start.
    pub events: Vec<Event>,
}

impl EncodeOptions {
    /// Options that keep every point of `shell` within `budget` of its place, both in the skeleton's units.
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
            effort: Effort::default(),
            root_motion: None,
            events: Vec::new(),
        }
    }

    /// With a part of each budget.
    pub(super) fn with_part(&self, part: f32) -> Self {
        let mut it = self.clone();
        it.budget *= part;
        it.track_budget *= part;
        it.joint_budgets.iter_mut().for_each(|(_, budget)| *budget *= part);
        it.track_budgets.iter_mut().for_each(|(_, budget)| *budget *= part);
        it
    }

    /// How far the points of a joint may be off.
    pub(super) fn budget_of_joint(&self, joint: usize) -> f32 {
        let own = self.joint_budgets.iter().rev().find(|(j, _)| usize::from(*j) == joint);
        own.map_or(self.budget, |&(_, budget)| budget)
    }

    /// How far a component of a track that drives no joint may be off.
    pub(super) fn budget_of(&self, track: Target) -> f32 {
        let own = self.track_budgets.iter().rev().find(|(target, _)| *target == track);
        own.map_or(self.track_budget, |&(_, budget)| budget)
    }

    /// `Ok` if all budgets are numbers above 0, and those of joints name joints.
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

/// How a joint's property is stored.
///
/// ```
/// use condyle_encode::{EncodeOptions, Encoding, Shell};
/// use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
/// use condyle_encode::encode;
///
/// # let root = Joint::new("root", None, Transform::IDENTITY);
/// # let skeleton = Skeleton::new([root])?;
/// # let times: Vec<f32> = (0..=30).map(|k| k as f32 / 30.0).collect();
/// # let half = |t: &f32| (0.25 * (1.0 - (3.0 * t).cos())).sin_cos();
/// # let turn = Track {
/// #     target: Target::Rotation(0),
/// #     interpolation: Interpolation::Linear,
/// #     timeline: 0,
/// #     values: times.iter().flat_map(|t| [0.0, half(t).0, 0.0, half(t).1]).collect(),
/// # };
/// # let raw = RawClip::new("turn".into(), vec![times], vec![turn])?;
/// // One track of 31 keys, to one side and part of the way back: a curve serves, no track has to be a fallback track.
/// let encoded = encode(&raw, &skeleton, &EncodeOptions::new(5e-4, Shell::Balls(0.03)), &mut |_| ())?;
/// for (encoding, count) in &encoded.encodings {
///     println!("{count} tracks: {encoding:?}");
///     assert_ne!(*encoding, Encoding::Fallback);
/// }
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// One value.
    Constant,
    /// Straight lines, and slerp, between keys at every frame.
    Linear,
    /// A cubic spline: nearly always with fewer keys than frames.
    Spline,
    /// The authored keys.
    Fallback,
}

/// A clip, and how good it is.
///
/// ```
/// use condyle_encode::{EncodeOptions, Shell};
/// use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
/// use condyle_encode::encode;
///
/// # let root = Joint::new("root", None, Transform::IDENTITY);
/// # let skeleton = Skeleton::new([root])?;
/// # let half = std::f32::consts::FRAC_1_SQRT_2;
/// # let turn = Track {
/// #     target: Target::Rotation(0),
/// #     interpolation: Interpolation::Linear,
/// #     timeline: 0,
/// #     values: vec![0.0, 0.0, 0.0, 1.0, 0.0, half, 0.0, half],
/// # };
/// # let raw = RawClip::new("turn".into(), vec![vec![0.0, 1.0]], vec![turn])?;
/// let encoded = encode(&raw, &skeleton, &EncodeOptions::new(5e-4, Shell::Balls(0.03)), &mut |_| ())?;
/// println!("{} bytes instead of {}", encoded.bytes().len(), encoded.raw_bytes);
/// assert!(encoded.fallback.is_empty() && encoded.bytes().len() < encoded.raw_bytes);
/// // To a file with `bytes`, or to be played at once.
/// let clip = encoded.into_clip();
/// assert_eq!((clip.start(), clip.end()), (0.0, 1.0));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Encoded {
    pub(super) clip: Clip<'static>,
    /// The error of the decoded clip.
    pub measured: Measured,
    /// [`Shell::ball_radius`] of the shell that it was encoded with, for
    /// [`ContainerWriter::set_shell`](condyle::container::ContainerWriter::set_shell).
    pub shell: Option<f32>,
    /// The bytes of the same frames uncompressed, 40 per joint: rotation, translation and scale in f32.
    pub raw_bytes: usize,
    /// Frames in a second.
    pub rate: f32,
    /// The keys that are on no frame.
    pub off_frames: OffFrames,
    /// How many tracks are stored in each way, over all segments.
    pub encodings: Vec<(Encoding, usize)>,
    /// About how many bytes the tracks of each joint take in all segments; the rest belongs to no single
    /// joint.
    pub joint_bytes: Vec<usize>,
    /// Fallback tracks, in the whole clip or in some segments: no curve met the budget there, or a free track has keys between the frames, whose
    /// corners curves would cut, or the rest rotation of the joint is not a unit quaternion. Step tracks,
    /// which always are, are not listed, nor are those of a clip whose keys are fewer bytes than curves that would serve. All that is
    /// stored so costs more to sample, and gains nothing by [`Clip::resident`].
    pub fallback: Vec<Target>,
}

/// Keys that are on no frame: curves cut their corners, unless they bend between frames too. They cost bytes, not precision, because
/// the error is bounded between frames as well ([`EncodeOptions::between`]).
///
/// A key counts if it is more than a fiftieth of a frame from the nearest one, and farther than the rounding of the times explains. Keys
/// of steps do not count, because they are stored as they are.
///
/// ```
/// use condyle_encode::{EncodeOptions, Shell};
/// use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
/// use condyle_encode::encode;
///
/// let skeleton = Skeleton::new([Joint::new("lift", None, Transform::IDENTITY)])?;
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
    /// Number of keys that are on no frame; tracks that share their times count once.
    pub keys: usize,
    /// Number of all keys.
    pub all: usize,
    /// The largest distance of a key from the nearest frame, in frames.
    pub frames: f32,
}

impl Encoded {
    /// The clip, checked and ready to be sampled. It owns its bytes, so it outlives this.
    #[must_use]
    pub fn clip(&self) -> &Clip<'static> {
        &self.clip
    }

    /// The clip alone.
    #[must_use]
    pub fn into_clip(self) -> Clip<'static> {
        self.clip
    }

    /// The bytes of the clip, for a file: [`Clip::from_bytes`] reads them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.clip.as_bytes()
    }
}

/// What was encoded, in a line.
impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoded")
            .field("clip", &self.clip)
            .field("error_max", &self.measured.error_max)
            .field("fallback", &self.fallback.len())
            .finish_non_exhaustive()
    }
}

/// The greatest error of a joint's points.
///
/// ```
/// use condyle_encode::{EncodeOptions, Shell};
/// use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
/// use condyle_encode::encode;
///
/// # let root = Joint::new("root", None, Transform::IDENTITY);
/// # let skeleton = Skeleton::new([root])?;
/// # let half = std::f32::consts::FRAC_1_SQRT_2;
/// # let turn = Track {
/// #     target: Target::Rotation(0),
/// #     interpolation: Interpolation::Linear,
/// #     timeline: 0,
/// #     values: vec![0.0, 0.0, 0.0, 1.0, 0.0, half, 0.0, half],
/// # };
/// # let raw = RawClip::new("turn".into(), vec![vec![0.0, 1.0]], vec![turn])?;
/// let encoded = encode(&raw, &skeleton, &EncodeOptions::new(5e-4, Shell::Balls(0.03)), &mut |_| ())?;
/// for (name, worst) in skeleton.names().iter().zip(&encoded.measured.joints) {
///     println!("{name}: {} mm at {} s", 1e3 * worst.error, worst.seconds);
///     assert!(worst.error <= encoded.measured.error_max);
/// }
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct JointError {
    /// The distance, in the skeleton's units.
    pub error: f32,
    /// When, in seconds.
    pub seconds: f64,
    /// The index of the point in the joint's shell; 0 for a ball.
    pub point: usize,
}

/// What a decoded clip is off by: distances in model space, in the skeleton's units; in the portable mode, so
/// that it is the same everywhere.
///
/// ```
/// use condyle_encode::{EncodeOptions, Shell};
/// use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
/// use condyle_encode::encode;
///
/// # let root = Joint::new("root", None, Transform::IDENTITY);
/// # let skeleton = Skeleton::new([root])?;
/// # let half = std::f32::consts::FRAC_1_SQRT_2;
/// # let turn = Track {
/// #     target: Target::Rotation(0),
/// #     interpolation: Interpolation::Linear,
/// #     timeline: 0,
/// #     values: vec![0.0, 0.0, 0.0, 1.0, 0.0, half, 0.0, half],
/// # };
/// # let raw = RawClip::new("turn".into(), vec![vec![0.0, 1.0]], vec![turn])?;
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let measured = encode(&raw, &skeleton, &options, &mut |_| ())?.measured;
/// let joint = &skeleton.names()[measured.joint];
/// println!("{joint} is {} mm off at {} s", 1e3 * measured.error_max, measured.seconds);
/// assert!(measured.error_max <= options.budget);
/// assert_eq!(measured.error_max, measured.joints[measured.joint].error);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Measured {
    /// The greatest of all, at the frames and where they were held between them.
    pub error_max: f32,
    /// 99 of 100 joints are no farther from their places, counted at each frame; up to half a percent above.
    pub error_p99: f32,
    /// The greatest between the frames; 0 if they were held at the frames only.
    pub error_between_max: f32,
    /// The joint that has the greatest.
    pub joint: usize,
    /// When, in seconds.
    pub seconds: f64,
    /// Of each joint.
    pub joints: Vec<JointError>,
    /// The greatest at each frame.
    pub frames: Vec<f32>,
    /// The greatest error of a morph weight or a component of a scalar, vector or rotation track.
    pub track_error_max: f32,
    /// What it drives, if any is off.
    pub track_target: Option<Target>,
    /// The greatest error of each component of each track that drives no joint.
    pub tracks: Vec<(Target, Vec<f32>)>,
    /// How far a vertex that morph weights move may be off, by their errors and those of its joints: 0
    /// unless the encoder knows the meshes, as that of `condyle-gltf` does.
    pub morph_error: f32,
}

impl Measured {
    /// Of the free track `at`: each is added for the first time after all before it.
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

    /// The track that is farthest over its budget, if one is.
    pub(super) fn track_over_budget(&self, options: &EncodeOptions) -> Option<Target> {
        let over = |(target, errors): &(Target, Vec<f32>)| {
            let worst = errors.iter().copied().fold(0.0, f32::max);
            (worst / options.budget_of(*target), *target)
        };
        let worst = self.tracks.iter().map(over).reduce(|a, b| if b.0 > a.0 { b } else { a });
        worst.filter(|(part, _)| *part > 1.0).map(|(_, target)| target)
    }
}

/// The greatest errors, in a line.
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
