//! Everyday goals: near joints turn, and the rest of the body stays in place.

use super::*;
use crate::{TwoBone, two_bone};
use condyle_testing::cases;

/// The hands of a figure move up to 30 cm in all directions. If the arm reaches the goal alone, only the arm
/// turns. For other goals the back bends.
#[test]
fn what_an_arm_reaches_alone_moves_the_arm() {
    let mut random = Random(41);
    let skeleton = figure(1.0);
    let model = crate::testing::model_of(&skeleton, skeleton.rest());
    let before = placed(&skeleton, skeleton.rest());
    let (mut buffer, mut near) = (BodyBuffer::default(), 0);
    while near < cases(400) {
        let way = random.unit::<3>().map(|v| v * random.range(0.05, 0.3));
        let [hand, other] = if near % 2 == 0 { [8_u16, 12] } else { [12, 8] };
        let from = before[usize::from(hand)].0;
        let goal: [f32; 3] = core::array::from_fn(|c| from[c] as f32 + way[c]);
        let arm = TwoBone::new([hand - 2, hand - 1, hand], goal);
        let alone = two_bone(&skeleton, &model, &arm, &mut skeleton.rest().clone()).expect("an arm");
        let (mut pose, goals) = (skeleton.rest().clone(), [Goal::position(hand, goal)]);
        let reached = solve(&skeleton, &goals, &BodyOptions::default(), &mut buffer, &mut pose);
        assert!(reached.met, "{goal:?}: {reached:?}");
        if alone.distance > 1e-5 {
            continue;
        }
        near += 1;
        let after = placed(&skeleton, &pose);
        let moved = |joint: u16| far(before[usize::from(joint)].0, after[usize::from(joint)].0);
        assert!(moved(4) < 0.03 && moved(other) < 0.05, "{goal:?}: {} {}", moved(4), moved(other));
    }
}

/// A T-pose. No joint of a straight arm has a gradient towards a goal on its line, but the back must not turn
/// instead.
#[test]
fn straight_arms_bend_for_what_is_nearer() {
    let along = |x| at([x, 0.0, 0.0]);
    let joints = [
        (-1, at([0.0, 1.4, 0.0])),
        (0, at([0.0, 0.3, 0.0])),
        (0, along(0.2)),
        (2, along(0.3)),
        (3, along(0.3)),
    ];
    let other = [(0, along(-0.2)), (5, along(-0.3)), (6, along(-0.3))];
    let joints =
        joints.into_iter().chain(other).map(|(parent, t)| Joint::new("", u16::try_from(parent).ok(), t));
    let skeleton =
        Skeleton::new([Joint::new("", None, at([0.0; 3]))].into_iter().chain(joints.map(|joint| {
            let parent = joint.parent.map_or(0, |parent| parent + 1);
            Joint { parent: Some(parent), ..joint }
        })));
    let skeleton = skeleton.expect("a figure");
    let mut pose = skeleton.rest().clone();
    let goals = [Goal::position(5, [0.6, 1.4, 0.0])];
    let reached = solve(&skeleton, &goals, &BodyOptions::default(), &mut BodyBuffer::default(), &mut pose);
    assert!(
        reached.met && [0, 1].map(|joint| pose.get(joint)) == [0, 1].map(|joint| skeleton.rest().get(joint)),
        "{reached:?}"
    );
}
