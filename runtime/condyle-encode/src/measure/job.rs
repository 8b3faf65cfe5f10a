//! Data of one clip that stays the same while its segments are fitted, and its root motion.

use alloc::vec;
use alloc::vec::Vec;

use crate::measure::algebra::{Affine64, sub};
use crate::measure::ball::Ball;
use crate::measure::joint_facts::{JointFacts, joint_facts};
use crate::measure::model::model_matrices;
use crate::measure::rate::{self, Frames};
use crate::measure::raw_clip::{self, JointTracks};
use crate::options::EncodeOptions;
use condyle::clip::layout::{MAX_FRAMES, MAX_FREE_TRACKS, MAX_PLACES};
use condyle::clip::write::{FreeTrack, free_parts};
use condyle::clip::{RawClip, Track};
use condyle::motion::RootMotion;
use condyle::play::Events;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::is_loose;
use condyle_base::math::{Rigid, Transform64};

/// Number of moments per frame at which errors are checked with [`EncodeOptions::between`]. Two: defaults
/// +2.2 %; eight: -2.1 %, with twice as many moments to check. The documentation states three between frames.
pub(crate) const MOMENTS_PER_FRAME: usize = 4;

/// Maximum of joints times moments in a segment of usual length, which bounds the memory of the search: about
/// 1 GB with 65,535 joints. Half: 65,535 joints in 10 frames take two segments, in one of which a joint
/// fails, and 92 % more bytes.
pub(crate) const MAX_SEGMENT_SAMPLES: usize = 1 << 21;

/// Data of one clip that stays the same while its segments are fitted.
pub(crate) struct ClipJob<'a> {
    pub(crate) clip: &'a RawClip,
    pub(crate) skeleton: &'a Skeleton,
    pub(crate) options: &'a EncodeOptions,
    pub(crate) joints: Vec<JointFacts>,
    pub(crate) tracks: Vec<JointTracks<'a>>,
    pub(crate) free_tracks: Vec<FreeTrack>,
    pub(crate) free_sources: Vec<&'a Track>,
    pub(crate) events: Events,
    pub(crate) motion: Option<Motion>,
    pub(crate) frames: usize,
    /// Number of moments per frame at which errors are checked.
    pub(crate) moments: usize,
    /// Source key times in seconds that are not among these moments; errors are measured there too.
    pub(crate) keys_between: Vec<f64>,
    /// Maximum distance of a joint or shell point from the origin in the rest pose.
    pub(crate) size: f64,
}

impl<'a> ClipJob<'a> {
    /// `motion` is the extracted root motion and its joint.
    pub(crate) fn new(
        clip: &'a RawClip,
        skeleton: &'a Skeleton,
        options: &'a EncodeOptions,
        Frames { count: frames, is_lowered }: Frames,
        motion: Option<(u16, RootMotion)>,
    ) -> Result<Self, Error> {
        clip.check_skeleton(skeleton)?;
        let tracks = raw_clip::joint_tracks(clip, skeleton.joint_count());
        // A long clip with few keys may have a lowered rate, so that keys are between frames, where curves
        // cannot follow them.
        let slack = if is_lowered { rate::slack(clip, frames) } else { 0.0 };
        let is_kept = |track: Option<&Track>| {
            track.is_some_and(|track| {
                let is_off = || is_lowered && !rate::is_on_frames(clip, track, frames, slack);
                clip.is_stepped(track) || is_off()
            })
        };
        let fallback = |joint: usize| {
            let is_loose = is_loose(&Transform64::from(skeleton.rest().get(joint)).rotation);
            let JointTracks { rotation, translation, scale } = tracks[joint];
            [is_kept(rotation) || is_loose, is_kept(translation), is_kept(scale)]
        };
        let (joints, size) = joint_facts(skeleton, options, fallback)?;
        let (free_tracks, free_sources) = free_tracks(clip);
        let (found, limit) = (free_parts(&free_tracks), MAX_FREE_TRACKS);
        if found > limit {
            return Err(Error::TooMany { what: "free tracks", found, limit });
        }
        let limit = MAX_PLACES / found.max(1);
        if frames > limit {
            return Err(Error::TooMany { what: "frames", found: frames, limit });
        }
        let events = Events::new(clip.duration(), options.events.clone())?;
        let moments = if options.between { MOMENTS_PER_FRAME } else { 1 };
        let keys_between = if options.between {
            rate::keys_between(clip, frames * moments, MAX_FRAMES)?
        } else {
            Vec::new()
        };
        let mut job = Self {
            clip,
            skeleton,
            options,
            joints,
            tracks,
            free_tracks,
            free_sources,
            events,
            motion: None,
            frames,
            moments,
            keys_between,
            size,
        };
        job.motion = motion.map(|(joint, motion)| Motion::new(&mut job, joint, motion));
        Ok(job)
    }
}

impl ClipJob<'_> {
    /// Moments of a segment at which errors are checked, in seconds.
    pub(crate) fn seconds(&self, first: usize, frames: usize) -> Vec<f64> {
        let (start, end) = (self.clip.start(), self.clip.end());
        let all = (self.frames * self.moments).max(1) as f64;
        let from = first * self.moments;
        (from..=from + frames * self.moments)
            .map(|moment| start + moment as f64 / all * (end - start))
            .collect()
    }
}

/// Free tracks of a clip, and the source track of each.
fn free_tracks(clip: &RawClip) -> (Vec<FreeTrack>, Vec<&Track>) {
    let tracks = clip.tracks().iter().filter(|t| t.target.joint().is_none());
    tracks
        .map(|track| {
            let keys = clip.timelines()[track.timeline].len();
            (FreeTrack { target: track.target, width: track.width(keys) }, track)
        })
        .unzip()
}

/// Root motion of a clip, and the joint that represents it.
pub(crate) struct Motion {
    pub(crate) motion: RootMotion,
    pub(crate) facts: JointFacts,
}

/// Fraction of the budget that root motion may use, at any point of the character. It is only two of hundreds
/// of tracks, so a tight limit costs few bytes and leaves most of the budget to the pose. With extracted
/// motion, the four models of the defaults take 32,275 bytes; with half, 32,231; with twice, 32,406:
/// uncritical.
const MOTION_FRACTION: f64 = 1.0 / 16.0;
/// Maximum error of any point of the character, if the centre and six points at twice its reach are off by at
/// most 1. Derived, not tuned: the translation adds 1, and the rotation at half the distance adds √(3/2) / 2.
const WORST_POINT_RATIO: f64 = 1.65;

/// The joint itself.
const ORIGIN: Ball = Ball { centre: [0.0; 3], axes: None };

impl Motion {
    /// Creates the motion, and reserves its fraction of the budget in all joints.
    pub(crate) fn new(job: &mut ClipJob<'_>, joint: u16, motion: RootMotion) -> Self {
        let budget =
            job.joints.iter().map(|joint| joint.budget).fold(f64::INFINITY, f64::min) * MOTION_FRACTION;
        job.joints.iter_mut().for_each(|joint| joint.budget -= budget);
        // Pose at the start. Without root motion, the character stays close to it.
        let start = job.seconds(0, 0);
        let local = |j: usize| raw_clip::joint(job.clip, job.skeleton, j, &job.tracks[j], &start[..1]);
        let local: Vec<Vec<Transform64>> = (0..job.joints.len()).map(local).collect();
        let model = model_matrices(&job.joints, &local);
        let middle = model[usize::from(joint)][0].origin;
        let mut reach = 0.0_f64;
        for (joint, model) in job.joints.iter().zip(&model) {
            let from = Affine64 { origin: sub(model[0].origin, middle), ..model[0] };
            let balls = joint.shell.iter().chain([&ORIGIN]);
            reach = balls.fold(reach, |reach, ball| reach.max(ball.farthest(&from)));
        }
        let mut shell: Vec<Ball> = vec![Ball::point(middle)];
        for axis in 0..3 {
            for sign in [2.0, -2.0] {
                let mut point = middle;
                point[axis] += sign * reach;
                shell.push(Ball::point(point));
            }
        }
        let rest = Transform64::IDENTITY;
        let facts = JointFacts {
            parent: None,
            rest,
            shell,
            budget: budget / WORST_POINT_RATIO,
            fallback: [false; 3],
        };
        Self { motion, facts }
    }

    /// Motion at time `seconds` of the clip.
    pub(crate) fn at(&self, job: &ClipJob<'_>, seconds: f64) -> Rigid {
        self.motion.at(seconds - job.clip.start())
    }
}
