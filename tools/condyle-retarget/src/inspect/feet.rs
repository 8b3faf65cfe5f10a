//! Feet that slide while they stand.

use condyle_solve::foot_placement::{Planted, ground_under};

use super::record::{Record, apart};
use super::{Defect, Kind};
use crate::rig::{Humanoid, Role};

/// Shortest time for which a foot stands, in seconds.
const SHORTEST: f64 = 0.15;
/// Smallest slide that counts, as a fraction of the height.
const SLIDE: f64 = 0.01;

pub(super) fn defects(record: &Record, map: &Humanoid) -> Vec<Defect> {
    let sides = [[Role::LeftToes, Role::LeftFoot], [Role::RightToes, Role::RightFoot]];
    let joints = sides.into_iter().filter_map(|[toes, foot]| map.joint(toes).or(map.joint(foot)));
    let planted = Planted::for_leg(leg_length(record, map));
    joints.filter_map(|joint| slide(record, joint, &planted)).collect()
}

/// Mean length of both legs at rest.
fn leg_length(record: &Record, map: &Humanoid) -> f64 {
    let place = |role: Role| record.rest[map.joint(role).map_or(0, usize::from)];
    let legs = [
        [Role::LeftUpperLeg, Role::LeftLowerLeg, Role::LeftFoot],
        [Role::RightUpperLeg, Role::RightLowerLeg, Role::RightFoot],
    ];
    let lengths = legs.map(|leg| {
        let [hip, knee, ankle] = leg.map(place);
        apart(hip, knee) + apart(knee, ankle)
    });
    (lengths[0] + lengths[1]) / 2.0
}

/// Worst slide of a foot over the times that it stands.
fn slide(record: &Record, joint: u16, planted: &Planted) -> Option<Defect> {
    let place = |frame: usize| record.places(frame)[usize::from(joint)];
    let count = record.frame_count();
    let floor = ground_under(&mut (0..count).map(|frame| place(frame)[1].into()).collect::<Vec<f64>>())?;
    let stands = |frame: usize, before: bool| {
        let [from, to] = [frame - 1, frame].map(place);
        let seconds = record.times[frame] - record.times[frame - 1];
        let above = f64::from(from[1].max(to[1])) - floor;
        planted.is_planted(above, apart(flat(from), flat(to)) / seconds, before)
    };
    let mut worst: Option<Defect> = None;
    let mut frame = 1;
    while frame < count {
        let first = frame;
        while frame < count && stands(frame, frame > first) {
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
