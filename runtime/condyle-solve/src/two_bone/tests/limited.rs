//! Limits of all shapes, and goals that some allowed pose reaches.

use super::*;

/// The tip's position in a random pose within limits, which is therefore a reachable goal.
fn reached_somewhere(random: &mut Random, case: &Case, limits: &Limits) -> [f32; 3] {
    let mut pose = case.pose.clone();
    for &joint in &case.joints[..2] {
        let rotation = limits.hold(joint, random.unit());
        pose.set(joint.into(), &condyle::Transform { rotation, ..pose.get(joint.into()) });
    }
    point(&matrix(&case.skeleton, &pose, case.tip()), [0.0; 3]).map(|v| v as f32)
}

#[test]
fn goals_within_limits_are_reached() {
    let mut random = Random(21);
    let all = cases(2_000);
    // Misses with a hinge as middle joint, and with a swinging middle joint.
    let mut missed = [0; 2];
    for try_ in 0..all {
        let case = Case::new(&mut random, 2, try_ % 3 % 2, [Scales::None, Scales::Even][try_ % 2]);
        let limits = limits(&mut random, &case, try_);
        let goal = reached_somewhere(&mut random, &case, &limits);
        let reach = TwoBone { limits: Some(&limits), ..TwoBone::new(three(&case), goal) };
        let mut pose = case.pose.clone();
        let reached = two_bone(&case.skeleton, &case.model, &reach, &mut pose).expect("a limb");
        let [a, b, _] = lengths(&case, goal);
        missed[usize::from(try_ % 5 == 4)] += usize::from(f64::from(reached.distance) > 1e-4 * (a + b));
    }
    let [hinges, swinging] = missed;
    assert!(hinges * 20_000 <= all && swinging * 1_000 <= all, "{hinges} and {swinging} of {all}");
}
