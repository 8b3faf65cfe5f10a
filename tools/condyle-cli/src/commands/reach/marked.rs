//! Goals in pictures: crosses at the goals, the paths between them, and lines from joints to the goals that
//! they miss.

use condyle::sampling::PoseSource;
use condyle::{Affine, Error, RawClip, Skeleton};

use super::request::{Kind, Placed, Request};
use super::solver::Solver;
use condyle_draw::marks::Mark;
use condyle_draw::vector::{Vec3, add};
use condyle_solve::full_body::GoalKind;

const GOAL: [u8; 3] = [20, 160, 90];
const WAY: [u8; 3] = [50, 120, 235];
const MISSED: [u8; 3] = [230, 40, 50];
const PIN: [u8; 3] = [150, 90, 220];

/// Straight segments of a path from one goal to the next.
const PIECES: u32 = 24;

/// Marks of a clip at any moment.
pub(crate) struct Marked<'a> {
    solver: &'a Solver<'a>,
    skeleton: &'a Skeleton,
    /// Original clip; `None` for the rest pose.
    clip: Option<&'a RawClip>,
    /// Marks that are the same at every moment.
    fixed: Vec<(Vec<Vec3>, Vec<Vec3>)>,
}

impl<'a> Marked<'a> {
    pub(crate) fn new(
        solver: &'a Solver<'a>,
        skeleton: &'a Skeleton,
        clip: Option<&'a RawClip>,
    ) -> Result<Self, Error> {
        let mut it = Self { solver, skeleton, clip, fixed: Vec::new() };
        for request in &solver.requests {
            let times = request.times();
            let goals = times.iter().map(|&seconds| it.place(request, seconds));
            let goals: Vec<Vec3> = goals.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
            let between = times.windows(2).flat_map(|pair| {
                (0..=PIECES)
                    .map(|piece| pair[0] + (pair[1] - pair[0]) * (f64::from(piece) / f64::from(PIECES)))
            });
            // Moments that are never played are not drawn.
            let played = |seconds: &f64| clip.is_none_or(|it| (it.start()..=it.end()).contains(seconds));
            let way = between.filter(played).map(|seconds| it.place(request, seconds));
            let way: Vec<Vec3> = way.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
            it.fixed.push((goals, way));
        }
        Ok(it)
    }

    fn pose(&self, seconds: f64) -> Result<Placed<'a>, Error> {
        let mut placed = Placed::rest(self.skeleton);
        if let Some(clip) = self.clip {
            clip.pose(self.skeleton, seconds, &mut placed.pose)?;
        }
        placed.place()?;
        Ok(placed)
    }

    /// Returns the position that the request gives the joint at full weight.
    fn place(&self, request: &Request, seconds: f64) -> Result<Option<Vec3>, Error> {
        Ok(match &request.kind {
            Kind::Place(path) => Some(path.at(seconds)),
            Kind::Offset(path) => Some(add(self.pose(seconds)?.at(request.joint), path.at(seconds))),
            Kind::Turn(_) | Kind::Stay | Kind::StayTurned => None,
        })
    }

    /// Returns the marks over a pose with these matrices. There are no marks if the clip cannot be posed,
    /// which is reported elsewhere.
    pub(crate) fn at(&self, seconds: f64, model: &[Affine]) -> Vec<Mark> {
        let Ok(clip) = self.pose(seconds) else { return Vec::new() };
        let mut marks = Vec::new();
        for (_, way) in &self.fixed {
            marks.extend(way.windows(2).map(|ends| Mark::Line {
                ends: [ends[0], ends[1]],
                radius: 1.2,
                color: WAY,
            }));
        }
        for (request, (goals, _)) in self.solver.requests.iter().zip(&self.fixed) {
            let joint = model[usize::from(request.joint)].transform_point([0.0; 3]);
            let GoalKind::Position { place, .. } = request.goal(&clip, seconds, self.solver.ease).kind else {
                continue;
            };
            let pinned = matches!(request.kind, Kind::Stay);
            if request.share(seconds, self.solver.ease) > 0.0 {
                marks.push(Mark::Line { ends: [joint, place], radius: 1.6, color: MISSED });
            }
            // A request that holds throughout has no times.
            let now = if request.times().is_empty() && !pinned { &[place][..] } else { &[] };
            let crosses = goals.iter().chain(now);
            marks.extend(crosses.map(|&at| Mark::Cross { at, arm: 7.0, color: GOAL }));
            marks.push(Mark::Dot { at: joint, radius: 3.5, color: if pinned { PIN } else { GOAL } });
        }
        marks
    }
}
