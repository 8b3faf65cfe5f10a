//! Solving a body again allocates nothing.

use condyle::{Joint, Pose, Skeleton, Transform};
use condyle_solve::full_body::{BodyBuffer, BodyOptions, Goal, body};

#[test]
fn nothing_is_allocated_after_the_first_call() {
    let joint = |at: usize| {
        let rest = Transform { translation: [0.1, 0.3, 0.05 * at as f32], ..Transform::IDENTITY };
        Joint::new(format!("joint {at}"), (at > 0).then(|| (at as u16 - 1) / 2), rest)
    };
    let skeleton = Skeleton::new((0..40).map(joint)).expect("parents before children");
    let masses: Vec<(u16, f32)> = (0..40).map(|joint| (joint, 1.0)).collect();
    let mut buffer = BodyBuffer::default();
    let mut frame = |by: f32| {
        let goals = [
            Goal::position(39, [0.5 + by, 1.0, 0.3]),
            Goal::position(21, [0.2, 0.8 - by, 0.3]),
            Goal::orientation(30, [0.6, 0.0, 0.0, 0.8]),
            Goal::mass(&masses, [0.4, by, 0.5]),
        ];
        let mut pose = Pose::rest(&skeleton);
        let options = BodyOptions { shift: Some((0, 1.0)), ..BodyOptions::default() };
        allocation_counter::measure(|| {
            body(&skeleton, &goals, &options, &mut buffer, &mut pose).expect("valid goals");
        })
    };
    assert!(frame(0.0).count_total > 0, "the allocation counter is active");
    for by in [0.1, 0.2, 50.0] {
        assert_eq!(frame(by).count_total, 0, "{by}");
    }
}

/// A straight limb with its goal on its line uses another branch of the search.
#[test]
fn nothing_is_allocated_where_a_limb_is_straight() {
    let up = Transform { translation: [0.0, 0.5, 0.0], ..Transform::IDENTITY };
    let joint = |at: u16| Joint::new("", at.checked_sub(1), up);
    let skeleton = Skeleton::new((0..4).map(joint)).expect("a chain");
    let mut buffer = BodyBuffer::default();
    for (call, place) in [[0.3, 1.5, 0.0], [0.0, 1.6, 0.0]].into_iter().enumerate() {
        let mut pose = Pose::rest(&skeleton);
        let options = BodyOptions::default();
        let counted = allocation_counter::measure(|| {
            let reached = body(&skeleton, &[Goal::position(3, place)], &options, &mut buffer, &mut pose);
            assert!(reached.expect("a valid goal").met);
        });
        assert!(call == 0 || counted.count_total == 0, "{counted:?}");
    }
}
