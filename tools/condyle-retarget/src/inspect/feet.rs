//! Feet that slide while they stand.

use super::record::{Record, apart};
use super::{Defect, Kind};
use crate::rig::{Humanoid, Role};

/// Height above its lowest place up to which a foot may stand, as a fraction of the height.
const LOW: f64 = 0.02;
/// Speed up to which a low foot stands, in heights per second.
const SLOW: f64 = 0.1;
/// Shortest time for which a foot stands, in seconds.
const SHORTEST: f64 = 0.15;
/// Smallest slide that counts, as a fraction of the height.
const SLIDE: f64 = 0.01;

pub(super) fn defects(record: &Record, map: &Humanoid) -> Vec<Defect> {
    let sides = [[Role::LeftToes, Role::LeftFoot], [Role::RightToes, Role::RightFoot]];
    let joints = sides.into_iter().filter_map(|[toes, foot]| map.joint(toes).or(map.joint(foot)));
    joints.filter_map(|joint| slide(record, joint)).collect()
}

/// Worst slide of a foot over the times that it stands.
fn slide(record: &Record, joint: u16) -> Option<Defect> {
    let place = |frame: usize| record.places(frame)[usize::from(joint)];
    let count = record.frame_count();
    let mut heights: Vec<f32> = (0..count).map(|frame| place(frame)[1]).collect();
    let at = heights.len() / 50;
    let floor = *heights.select_nth_unstable_by(at, f32::total_cmp).1;
    let stands = |frame: usize| {
        let [from, to] = [frame - 1, frame].map(place);
        let seconds = record.times[frame] - record.times[frame - 1];
        let is_low = f64::from(from[1].max(to[1]) - floor) < LOW * record.height;
        is_low && apart(flat(from), flat(to)) < SLOW * record.height * seconds
    };
    let mut worst: Option<Defect> = None;
    let mut frame = 1;
    while frame < count {
        let first = frame;
        while frame < count && stands(frame) {
            frame += 1;
        }
        // The foot stands from `first - 1` to `frame - 1`.
        let [from, to] = [first - 1, frame - 1];
        frame += 1;
        if record.times[to] - record.times[from] < SHORTEST {
            continue;
        }
        // A foot slows down before it stands, so only the middle half of its time counts.
        let quarter = (to - from) / 4;
        let first = flat(place(from + quarter));
        let ways = (from + quarter..=to - quarter).map(|frame| apart(first, flat(place(frame))));
        let amount = ways.fold(0.0, f64::max);
        if amount > SLIDE * record.height {
            let seconds = record.times[(from + to) / 2];
            let defect = worst.get_or_insert(Defect { kind: Kind::Slide, joint, seconds, amount, count: 0 });
            defect.count += 1;
            if amount > defect.amount {
                (defect.seconds, defect.amount) = (seconds, amount);
            }
        }
    }
    worst
}

fn flat([x, _, z]: [f32; 3]) -> [f32; 3] {
    [x, 0.0, z]
}
