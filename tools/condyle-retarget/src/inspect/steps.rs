//! Defects between neighbouring frames: spikes, flips, jumps, and a first frame in the rest pose.

use super::record::{Record, apart};
use super::{Defect, Kind};

/// Smallest angle of a spike, in radians.
const SPIKE: f64 = 15.0 * core::f64::consts::PI / 180.0;
/// Smallest angle of a flip, in radians.
const FLIP: f64 = core::f64::consts::FRAC_PI_2;
/// Largest angle of the neighbours of a spike or a flip, as a fraction of its angle.
const QUIET: f64 = 0.3;
/// Smallest jump of the whole body, as a fraction of the height and as a multiple of the usual step.
const JUMP: [f64; 2] = [0.05, 10.0];
/// Distance from the rest pose at which a first frame is the rest pose, as a fraction of the height.
const AT_REST: f64 = 0.01;
/// Frames on both sides that must be quiet.
const NEIGHBOURS: usize = 2;

pub(super) fn defects(record: &Record) -> Vec<Defect> {
    let mut found: Vec<Defect> = (0..record.joint_count).flat_map(|joint| turns(record, joint)).collect();
    found.extend(jumps(record));
    found
}

/// Spikes and flips of one joint.
fn turns(record: &Record, joint: usize) -> Vec<Defect> {
    let count = record.frame_count();
    let turn = |frame: usize| record.turn(frame, joint);
    let mut found: [Option<Defect>; 2] = [None, None];
    let mut add = |at: usize, kind: Kind, frame: usize, amount: f64| {
        let seconds = record.times[frame];
        let defect = found[at].get_or_insert(Defect { kind, joint: joint as u16, seconds, amount, count: 0 });
        defect.count += 1;
        if amount > defect.amount {
            (defect.seconds, defect.amount) = (seconds, amount);
        }
    };
    // A step needs quiet frames on both sides, so that a fast movement does not count.
    let is_quiet = |frames: core::ops::Range<usize>, angle: f64| {
        let inside = frames.start >= 1 && frames.end <= count;
        inside && frames.into_iter().all(|frame| turn(frame) <= QUIET * angle)
    };
    let mut frame = 1;
    while frame < count {
        let angle = turn(frame);
        let next = if frame + 1 < count { turn(frame + 1) } else { 0.0 };
        let both = angle.min(next);
        let before = |angle| is_quiet(frame.saturating_sub(NEIGHBOURS)..frame, angle);
        if both > SPIKE
            && record.turn_of_two(frame + 1, joint) <= QUIET * both
            && before(both)
            && is_quiet(frame + 2..frame + 2 + NEIGHBOURS, both)
        {
            add(0, Kind::Spike, frame, both);
            frame += 1;
        } else if angle > FLIP && before(angle) && is_quiet(frame + 1..frame + 1 + NEIGHBOURS, angle) {
            add(1, Kind::Flip, frame, angle);
        }
        frame += 1;
    }
    // A joint that flips in every tenth frame is meant to.
    found.into_iter().flatten().filter(|defect| defect.count * 10 < count).collect()
}

/// Jumps of the whole body, and a first frame at rest.
fn jumps(record: &Record) -> Vec<Defect> {
    let count = record.frame_count();
    if count < 4 {
        return Vec::new();
    }
    // The step of a body is the median of its joints', so that a fast hand is no jump.
    let steps: Vec<f64> = (1..count)
        .map(|frame| {
            let pairs = record.places(frame - 1).iter().zip(record.places(frame));
            median(pairs.map(|(a, b)| apart(*a, *b)).collect())
        })
        .collect();
    let usual = median(steps.clone());
    let least = (JUMP[0] * record.height).max(JUMP[1] * usual);
    // A lunge takes several frames, a jump takes one.
    let is_alone = |at: usize| {
        let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        beside.filter_map(|at| steps.get(at)).all(|step| *step <= QUIET * steps[at])
    };
    let far: Vec<usize> = (0..steps.len()).filter(|&at| steps[at] > least && is_alone(at)).collect();
    // Step keys and cuts jump often, and are meant to.
    if far.len() * 10 >= count {
        return Vec::new();
    }
    let rest = record.rest.iter().zip(record.places(0)).map(|(a, b)| apart(*a, *b));
    let begins_at_rest = rest.fold(0.0, f64::max) <= AT_REST * record.height;
    let mut found = Vec::new();
    let (first, others): (Vec<usize>, Vec<usize>) =
        far.into_iter().partition(|&at| at == 0 && begins_at_rest);
    for (kind, frames) in [(Kind::RestFrame, first), (Kind::Jump, others)] {
        let Some(&worst) = frames.iter().max_by(|&&a, &&b| steps[a].total_cmp(&steps[b])) else { continue };
        // Step `at` leads to frame `at + 1`; a first frame at rest is itself the defect.
        let seconds = record.times[if kind == Kind::Jump { worst + 1 } else { worst }];
        let (joint, amount) = (record.root as u16, steps[worst]);
        found.push(Defect { kind, joint, seconds, amount, count: frames.len() });
    }
    found
}

/// Middle value; 0 without values.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let at = values.len() / 2;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}
