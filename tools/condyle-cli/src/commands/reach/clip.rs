//! A solved clip: the solved moments as keys, and the original tracks of all other joints.

use condyle::sampling::PoseSource;
use condyle::{Error, Interpolation, RawClip, Skeleton, Target, Track};
use rayon::prelude::*;

use super::request::residual;
use super::solver::{Scratch, Solved, Solver};
use crate::output::progress;

/// Solves a clip, or the rest pose, at these moments, ascending.
pub(crate) fn solve(
    solver: &Solver<'_>,
    skeleton: &Skeleton,
    clip: Option<&RawClip>,
    moments: &[f64],
) -> Result<Vec<Solved>, Error> {
    let bar = progress(moments.len(), "reaching");
    let one = |scratch: &mut Scratch<'_>, &seconds: &f64| {
        if let Some(clip) = clip {
            clip.pose(skeleton, seconds, &mut scratch.clip.pose)?;
        }
        let solved = solver.solve(seconds, scratch);
        bar.inc(1);
        solved
    };
    let solved = moments.par_iter().map_init(|| Scratch::new(skeleton), one).collect();
    bar.finish_and_clear();
    solved
}

/// Returns the clip with the solved moments in place of its tracks; tracks of unchanged joints stay.
pub(crate) fn reached(
    solver: &Solver<'_>,
    skeleton: &Skeleton,
    (clip, name): (Option<&RawClip>, &str),
    moments: &[f64],
    solved: &[Solved],
) -> Result<RawClip, Error> {
    let mut tracks: Vec<Track> = clip.map_or(Vec::new(), |clip| clip.tracks().to_vec());
    let mut timelines: Vec<Vec<f32>> = clip.map_or(Vec::new(), |clip| clip.timelines().to_vec());
    timelines.push(moments.iter().map(|&seconds| seconds as f32).collect());
    for (at, &joint) in solver.movable.iter().enumerate() {
        if !solved.iter().any(|moment| moment.changed[at]) {
            continue;
        }
        let mut replace = |target, values: Vec<f32>| {
            tracks.retain(|track| track.target != target);
            let (interpolation, timeline) = (Interpolation::Linear, timelines.len() - 1);
            tracks.push(Track { target, interpolation, timeline, values });
        };
        let locals = || solved.iter().map(|moment| &moment.locals[at]);
        replace(Target::Rotation(joint), locals().flat_map(|local| local.rotation).collect());
        if solver.shift == Some(joint) {
            replace(Target::Translation(joint), locals().flat_map(|local| local.translation).collect());
        }
    }
    RawClip::new(name.into(), timelines, tracks)?.for_skeleton(skeleton)
}

/// Residuals of each request at a moment, in units of length or radians: of the original clip, and of the
/// solved clip.
pub(crate) struct Residuals<'a, 'b> {
    pub solver: &'b Solver<'a>,
    pub skeleton: &'a Skeleton,
    /// Original clip; `None` for the rest pose.
    pub before: Option<&'b RawClip>,
    pub after: &'b RawClip,
}

impl Residuals<'_, '_> {
    /// Returns two residuals for each request: before and after.
    pub(crate) fn at(&self, seconds: f64) -> Result<Vec<[f64; 2]>, Error> {
        let [mut before, mut after] = [(); 2].map(|()| super::request::Placed::rest(self.skeleton));
        if let Some(clip) = self.before {
            clip.pose(self.skeleton, seconds, &mut before.pose)?;
        }
        self.after.pose(self.skeleton, seconds, &mut after.pose)?;
        before.place()?;
        after.place()?;
        let goals =
            self.solver.requests.iter().map(|request| request.goal(&before, seconds, self.solver.ease));
        Ok(goals.map(|goal| [&before, &after].map(|pose| residual(&goal, pose))).collect())
    }
}
