//! What the encoder is asked for, and what it answers.

use alloc::vec::Vec;

use crate::clip::Target;
use crate::motion::RootMotionOptions;
use crate::play::Event;

/// Where on each joint the error is measured.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Shell {
    /// On three points this far along the axes of every joint, in the skeleton's units.
    Distance(f32),
    /// On points of each joint's own space: one list for each joint. A joint without points is measured nowhere.
    Points(Vec<Vec<[f32; 3]>>),
}

/// How long the encoder looks for fewer bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Effort {
    /// Few kinds of curves.
    Fast,
    /// The kinds of curves that save most.
    #[default]
    Normal,
    /// All of them, several ways to share out the error, and several lengths of segments.
    Best,
}

impl Effort {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fast, Self::Normal, Self::Best];
}

/// What [`encode`](crate::encode) is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodeOptions {
    /// How far a point of the shell may be from its place, in the skeleton's units.
    pub budget: f32,
    /// Another budget for some joints.
    pub joint_budgets: Vec<(u16, f32)>,
    /// How far a morph weight or a named value may be off.
    pub value_budget: f32,
    /// Frames in a second that the clip is looked at, or a few more, so that the last one is its end. `None`: those that it was authored at, up to 1000, or 60
    /// if its keys fall on no frames.
    pub rate: Option<f32>,
    /// Where errors are measured.
    pub shell: Shell,
    /// Whether errors are held between the frames too, at three moments between each two; else at the frames only.
    pub between: bool,
    /// How long to look.
    pub effort: Effort,
    /// What is taken out of the pose as the motion of the character, for [`Clip::motion_at`](crate::Clip::motion_at), as
    /// [`extract_root_motion`](crate::extract_root_motion) does it, but with a sample at each frame whatever its `sample_rate`. What the motion is off by counts within the budget, wherever on the character it is.
    pub motion: Option<RootMotionOptions>,
    /// What happens during the clip, for [`Clip::events`](crate::Clip::events): seconds count from the clip's start.
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
    /// What the decoded clip was found to be off by.
    pub measured: Measured,
    /// Bytes of the same frames as 40 bytes a joint: rotation, translation and scale in f32.
    pub raw_bytes: usize,
    /// Frames in a second.
    pub rate: f32,
    /// How many tracks are stored in which way, over all segments.
    pub encodings: Vec<(Encoding, usize)>,
    /// About how many bytes the keys of each joint take, in all segments; the rest is shared by all.
    pub joint_bytes: Vec<usize>,
    /// What no curve brings under the budget, so that its keys are stored as authored; values with keys between the frames too, of which curves
    /// would cut the corners, and rotations of joints whose rest pose is of another length. Steps, which always are, are not counted.
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

/// What a decoded clip is off by: distances in model space, in the skeleton's units; in the portable mode, so that it is the same everywhere.
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
