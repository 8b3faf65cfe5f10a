//! Methods, and the distance of their results from another motion of the same body.

use std::time::Instant;

use condyle::Pose;
use condyle_retarget::clip::{self, ClipOptions};
use condyle_retarget::figures::{Figures, Legs, figures};
use condyle_retarget::rig::Role;
use condyle_retarget::{Certificate, Plan, PlanOptions, State, retarget};

use crate::bodies::{Failed, Take, bare, places};

/// A method of retargeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Copies local rotations by name, and scales the root by the height of the hips.
    Copy,
    /// Takes the paired motion of the target itself.
    Anchor,
    /// Solves whole clips.
    Clip,
    /// One pose at a time.
    Poses,
}

/// Mean of distances, in metres at 1.8 m.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mean {
    pub(crate) sum: f64,
    pub(crate) count: f64,
    pub(crate) worst: f64,
}

impl Mean {
    pub(crate) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
        self.worst = self.worst.max(value);
    }

    pub(crate) fn millimetres(&self) -> f64 {
        1e3 * self.sum / self.count.max(1.0)
    }
}

/// Distances between two motions of one body.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Distances {
    pub(crate) all: Mean,
    /// Hips subtracted.
    pub(crate) root_relative: Mean,
    /// Hips subtracted, without fingers.
    pub(crate) body: Mean,
}

/// Result of a method on one pair.
pub(crate) struct Outcome {
    pub(crate) poses: Vec<Pose>,
    pub(crate) ratio: f64,
    pub(crate) certificate: Option<Certificate>,
    /// Frames out of reach and standing frames, counted per foot, pose by pose.
    pub(crate) missed: [usize; 2],
}

/// Sums of one row of the table.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) figures: Figures,
    pub(crate) distances: Distances,
    pub(crate) out_of_reach: usize,
    pub(crate) standing: usize,
}

pub(crate) fn plan(source: &Take, target: &Take) -> Result<Plan, Failed> {
    Ok(Plan::new(&source.skeleton, &source.map, &target.skeleton, &target.map, &PlanOptions::default())?)
}

/// Runs a method on one pair.
pub(crate) fn run(method: Method, source: &Take, target: &Take) -> Result<Outcome, Failed> {
    let plan = plan(source, target)?;
    let ratio = plan.ratio();
    let plain = |poses: Vec<Pose>, ratio: f64| Outcome { poses, ratio, certificate: None, missed: [0; 2] };
    match method {
        Method::Copy => {
            let [a, b] = [source, target].map(hips_height);
            Ok(plain(copy(source, target, b / a)?, b / a))
        }
        Method::Anchor => Ok(plain(target.poses(&target.clip)?, ratio)),
        Method::Clip => {
            let done = clip::clip(&plan, &source.clip, &source.times, &ClipOptions::default())?;
            let target = Take { times: source.times.clone(), ..target.clone() };
            Ok(Outcome {
                poses: target.poses(&done.clip)?,
                ratio,
                certificate: Some(done.certificate),
                missed: [0; 2],
            })
        }
        Method::Poses => {
            let mut state = State::new(&plan);
            let (mut poses, mut missed) = (Vec::new(), [0; 2]);
            // 1 mm at 1.8 m.
            let limit = height(target) / 1800.0;
            let mut before = f64::from(source.times[0]);
            for (pose, &time) in source.poses(&source.clip)?.iter().zip(&source.times) {
                let mut out = Pose::rest(&target.skeleton);
                retarget(&plan, pose, f64::from(time) - before, &mut state, &mut out)?;
                before = time.into();
                missed[0] += state.missed().into_iter().filter(|&it| it > limit).count();
                missed[1] += state.standing().into_iter().filter(|&it| it > 0.5).count();
                poses.push(out);
            }
            Ok(Outcome { missed, ..plain(poses, ratio) })
        }
    }
}

/// Extent of the joints at rest along the vertical.
fn height(take: &Take) -> f64 {
    let rest = places(&take.skeleton, take.skeleton.rest());
    let extent = |pick: fn(f64, f64) -> f64| rest.iter().map(|at| at[1]).reduce(pick).unwrap_or_default();
    extent(f64::max) - extent(f64::min)
}

fn hips_height(take: &Take) -> f64 {
    let hips = take.map.joint(Role::Hips).unwrap_or_default();
    places(&take.skeleton, take.skeleton.rest())[usize::from(hips)][1]
}

/// The usual method: rotations of equal names, and a root that is scaled.
fn copy(source: &Take, target: &Take, ratio: f64) -> Result<Vec<Pose>, Failed> {
    let hips = target.map.joint(Role::Hips);
    let pairs: Vec<(usize, usize)> = (target.skeleton.names().iter().enumerate())
        .filter_map(|(joint, name)| Some((joint, source.joint(bare(name))?)))
        .collect();
    let copied = |pose: &Pose| {
        let mut out = Pose::rest(&target.skeleton);
        for &(to, from) in &pairs {
            let (mut local, theirs) = (out.get(to), pose.get(from));
            local.rotation = theirs.rotation;
            if hips == Some(to as u16) {
                local.translation = theirs.translation.map(|v| (f64::from(v) * ratio) as f32);
            }
            out.set(to, &local);
        }
        out
    };
    Ok(source.poses(&source.clip)?.iter().map(copied).collect())
}

impl Row {
    /// Adds one pair.
    pub(crate) fn add(
        &mut self,
        source: &Take,
        target: &Take,
        result: &Outcome,
        names: &[String],
    ) -> Result<(), Failed> {
        let mut legs = [source, target].map(|take| Legs::new(&take.skeleton, &take.map));
        let own = source.poses(&source.clip)?;
        for (legs, poses) in legs.iter_mut().zip([&own, &result.poses]) {
            let legs = legs.as_mut().map_err(|it| it.clone())?;
            for (&seconds, pose) in source.times.iter().zip(poses) {
                legs.add(seconds.into(), pose)?;
            }
        }
        let [a, b] = legs;
        self.figures.add(&figures(&a?, &b?, result.ratio)?);
        self.out_of_reach += result.missed[0];
        self.standing += result.missed[1];
        if let Some(certificate) = &result.certificate {
            self.out_of_reach += certificate.out_of_reach;
            self.standing += certificate.standing;
        }
        if target.clip.duration() > 0.0 && target.times.len() == source.times.len() {
            self.distances.add(target, &result.poses, &target.poses(&target.clip)?, names);
        }
        Ok(())
    }
}

impl Distances {
    /// Adds the distances of two motions of a body, over joints with these names.
    pub(crate) fn add(&mut self, body: &Take, a: &[Pose], b: &[Pose], names: &[String]) {
        let scale = 1.8 / height(body);
        let hips = usize::from(body.map.joint(Role::Hips).unwrap_or_default());
        let joints: Vec<(usize, bool)> = names
            .iter()
            .filter_map(|name| {
                Some((
                    body.joint(name)?,
                    name.contains("Hand") && name.ends_with(|c: char| c.is_ascii_digit()),
                ))
            })
            .collect();
        for (a, b) in a.iter().zip(b) {
            let [a, b] = [a, b].map(|pose| places(&body.skeleton, pose));
            for &(joint, is_finger) in &joints {
                let apart = |c: usize| a[joint][c] - b[joint][c];
                let relative = |c: usize| apart(c) - (a[hips][c] - b[hips][c]);
                let length =
                    |of: &dyn Fn(usize) -> f64| scale * (0..3).map(|c| of(c).powi(2)).sum::<f64>().sqrt();
                self.all.add(length(&apart));
                self.root_relative.add(length(&relative));
                if !is_finger {
                    self.body.add(length(&relative));
                }
            }
        }
    }
}

/// Names of the joints that all bodies of a list have.
pub(crate) fn common(takes: &[Take]) -> Vec<String> {
    let names = takes[0].skeleton.names().iter().map(|name| bare(name).to_owned());
    names.filter(|name| takes.iter().all(|take| take.joint(name).is_some())).collect()
}

/// Frames per second of one core, pose by pose, and the number of target joints.
pub(crate) fn speed(source: &Take, target: &Take) -> Result<(f64, usize), Failed> {
    let plan = plan(source, target)?;
    let poses = source.poses(&source.clip)?;
    let mut out = Pose::rest(&target.skeleton);
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let mut state = State::new(&plan);
        let start = Instant::now();
        for pose in &poses {
            retarget(&plan, pose, 1.0 / 60.0, &mut state, &mut out)?;
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok((poses.len() as f64 / best, target.skeleton.joint_count()))
}
