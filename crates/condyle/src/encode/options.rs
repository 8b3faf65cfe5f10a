//! Options and results of the encoder.

use alloc::vec::Vec;

use crate::clip::Target;
use crate::motion::RootMotionOptions;
use crate::play::Event;

/// Where on each joint the error is measured.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Shell {
    /// On three points at this distance along the axes of every joint, in the skeleton's units.
    Distance(f32),
    /// On these points in the joint's own space, one list per joint. A joint without points is not measured.
    Points(Vec<Vec<[f32; 3]>>),
}

/// How much time the encoder spends to save bytes.
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

/// Options of [`encode`](crate::encode).
#[derive(Debug, Clone, PartialEq)]
pub struct EncodeOptions {
    /// How far a point of the shell may be from its place, in the skeleton's units.
    pub budget: f32,
    /// Another budget for some joints.
    pub joint_budgets: Vec<(u16, f32)>,
    /// How far a morph weight or a component of a scalar, vector or rotation track may be off.
    pub value_budget: f32,
    /// Frames per second at which the clip is sampled, raised slightly so that the last frame is the end of
    /// the clip. `None`: the authored rate, up to 1000, or 60 if the keys fit no rate.
    pub rate: Option<f32>,
    /// Where errors are measured.
    pub shell: Shell,
    /// Whether the budget also holds between frames, at three moments between each two; else at the frames
    /// only.
    pub between: bool,
    /// How much time to spend.
    pub effort: Effort,
    /// Root motion to extract from the pose, for [`Clip::motion_at`](crate::Clip::motion_at), as
    /// [`extract_root_motion`](crate::extract_root_motion) does, but sampled at every frame: `sample_rate` is
    /// ignored. Its error counts towards the budget of every point.
    pub motion: Option<RootMotionOptions>,
    /// The events of the clip, for [`Clip::events`](crate::Clip::events): seconds count from the clip's
    /// start.
    pub events: Vec<Event>,
}

impl Default for EncodeOptions {
    /// Half a millimetre on three points 3 cm from each joint, for a skeleton in metres.
    fn default() -> Self {
        Self {
            budget: 5e-4,
            joint_budgets: Vec::new(),
            value_budget: 1e-3,
            rate: None,
            shell: Shell::Distance(0.03),
            between: true,
            effort: Effort::default(),
            motion: None,
            events: Vec::new(),
        }
    }
}

/// How a joint's property is stored.
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
    Authored,
}

/// A clip, and how good it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// For [`Clip::from_bytes`](crate::Clip::from_bytes).
    pub bytes: Vec<u8>,
    /// The error of the decoded clip.
    pub measured: Measured,
    /// The bytes of the same frames uncompressed, 40 per joint: rotation, translation and scale in f32.
    pub raw_bytes: usize,
    /// Frames in a second.
    pub rate: f32,
    /// How many tracks are stored in each way, over all segments.
    pub encodings: Vec<(Encoding, usize)>,
    /// About how many bytes the tracks of each joint take in all segments; the rest belongs to no single
    /// joint.
    pub joint_bytes: Vec<usize>,
    /// Tracks stored as authored: no curve met the budget, or a free track has keys between the frames, whose
    /// corners curves would cut, or the rest rotation of the joint is not a unit quaternion. Step tracks,
    /// which always are, are not listed.
    pub authored: Vec<Target>,
}

/// The greatest error of a joint's points.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JointError {
    /// The distance, in the skeleton's units.
    pub error: f32,
    /// When, in seconds.
    pub seconds: f32,
    /// Which point of the joint's shell.
    pub point: usize,
}

/// What a decoded clip is off by: distances in model space, in the skeleton's units; in the portable mode, so
/// that it is the same everywhere.
#[derive(Debug, Clone, PartialEq, Default)]
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
    pub seconds: f32,
    /// Of each joint.
    pub joints: Vec<JointError>,
    /// The greatest at each frame.
    pub frames: Vec<f32>,
    /// The greatest error of a morph weight or a named value, and whose it is.
    pub value_error_max: f32,
    /// What has the greatest error of a value, if any is off.
    pub value_target: Option<Target>,
}
