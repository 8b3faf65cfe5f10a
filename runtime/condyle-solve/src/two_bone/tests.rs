mod at_once;
mod hinge;
mod limited;

use super::*;
use crate::limits::{JointLimit, Swing};
use crate::testing::{Case, Scales, apart, matrix, model_of, point};
use condyle_testing::{Random, assert_portable, cases, tries};

fn three(case: &Case) -> [u16; 3] {
    case.joints[..].try_into().expect("three joints")
}

/// Lengths of both bones and distance to the goal in model space; scales must be uniform.
fn lengths(case: &Case, goal: [f32; 3]) -> [f64; 3] {
    let [a, b, c] = three(case).map(|joint| case.place(joint));
    [apart(a, b), apart(b, c), apart(a, goal.map(f64::from))]
}

fn goal(random: &mut Random, case: &Case) -> [f32; 3] {
    let root = case.place(case.joints[0]);
    let reach = lengths(case, [0.0; 3])[..2].iter().sum::<f64>();
    let far = f64::from(random.range(0.0, 1.3)) * reach;
    let way = random.unit::<3>().map(f64::from);
    core::array::from_fn(|c| (root[c] + far * way[c]) as f32)
}

#[test]
fn the_tip_is_as_near_as_two_bones_let_it() {
    let mut random = Random(1);
    for try_ in 0..cases(100_000) {
        let scales = [Scales::None, Scales::Even][try_ % 2];
        let mut case = Case::new(&mut random, 2, try_ % 3, scales);
        let was = case.pose.clone();
        let joints = three(&case);
        let goal = goal(&mut random, &case);
        let pole = (!try_.is_multiple_of(4)).then(|| random.unit());
        let reach = TwoBone { pole, ..TwoBone::new(joints, goal) };
        let [a, b, far] = lengths(&case, goal);
        let want = (far - a - b).max((a - b).abs() - far).max(0.0);
        let reached = two_bone(&case.skeleton, &case.model, &reach, &mut case.pose).expect("a limb");
        case.assert_only_turned(&was, try_);
        let [now_a, now_b, _] = lengths(&case, goal);
        let size = a + b;
        assert!((now_a - a).abs().max((now_b - b).abs()) < 1e-6 * size, "{try_}: bones of {a} and {b}");
        let off = apart(case.place(joints[2]), goal.map(f64::from));
        let model = 1.0 + case.place(joints[0]).iter().map(|v| v.abs()).sum::<f64>();
        assert!((off - f64::from(reached.distance)).abs() < 2e-6 * model, "{try_}: {off}, {reached:?}");
        assert!((off - want).abs() < 2e-6 * model, "{try_}: {off} instead of {want}");
        // The middle joint is on the side of the pole vector.
        let Some(pole) = pole.map(|pole| pole.map(f64::from)) else { continue };
        let [root, middle, tip] = joints.map(|joint| case.place(joint));
        let (line, out) = (sub(tip, root), sub(middle, root));
        let Some(line) = direction(line) else { continue };
        let level = |v: Vec64| sub(v, scaled(line, dot(line, v)));
        let (out, pole) = (level(out), level(pole));
        if length(out) > 1e-3 * size && length(pole) > 1e-3 {
            let cos = dot(out, pole) / length(out) / length(pole);
            assert!(cos > 1.0 - 1e-5, "{try_}: {cos}");
        }
    }
}

/// Minimum distance to a goal over all directions from the root, found by pattern search on the sphere.
fn nearest_by_search(skeleton: &Skeleton, pose: &Pose, root: u16, radii: [f64; 2], goal: [f64; 3]) -> f64 {
    let above = skeleton.parent(root).map(|parent| matrix(skeleton, pose, parent)).expect("a parent");
    let pivot = pose.get(root.into()).translation.map(f64::from);
    let off = |[polar, round]: [f64; 2], far: f64| {
        let way = [polar.sin() * round.cos(), polar.sin() * round.sin(), polar.cos()];
        apart(point(&above, core::array::from_fn(|c| pivot[c] + far * way[c])), goal)
    };
    let mut best = f64::INFINITY;
    for far in radii {
        for start in 0..200 {
            let mut at = [f64::from(start % 10) / 10.0 * 3.2, f64::from(start / 10) / 20.0 * 6.3];
            let (mut step, mut now) = (0.3, off(at, far));
            while step > 1e-8 {
                let around = [[step, 0.0], [-step, 0.0], [0.0, step], [0.0, -step]];
                let next = around.map(|d| [at[0] + d[0], at[1] + d[1]]);
                let least = next.into_iter().min_by(|a, b| off(*a, far).total_cmp(&off(*b, far)));
                let least = least.expect("four of them");
                if off(least, far) < now { (at, now) = (least, off(least, far)) } else { step *= 0.5 }
            }
            best = best.min(now);
        }
    }
    best
}

#[test]
fn uneven_scales_above_change_what_is_nearest_and_not_whether_it_is_reached() {
    let mut random = Random(2);
    let mut unreached = 0;
    for try_ in 0..cases(20_000) {
        let mut case = Case::new(&mut random, 2, try_ % 2, Scales::UnevenAbove);
        let joints = three(&case);
        let goal = goal(&mut random, &case);
        // Positions in the space where the limb keeps its lengths.
        let above =
            Affine64::from(&case.model[usize::from(joints[0] - 1)]).inverse().expect("an invertible matrix");
        let [root, middle, tip] = joints.map(|joint| above.point(case.place(joint)));
        let far = apart(above.point(goal.map(f64::from)), root);
        let (a, b) = (apart(root, middle), apart(middle, tip));
        let (least, most) = ((a - b).abs(), a + b);
        let reach = TwoBone::new(joints, goal);
        let reached = two_bone(&case.skeleton, &case.model, &reach, &mut case.pose).expect("a limb");
        let off = apart(case.place(joints[2]), goal.map(f64::from));
        assert!((off - f64::from(reached.distance)).abs() < 1e-5, "{try_}: {off}, {reached:?}");
        if (least..most).contains(&far) {
            assert!(off < 1e-5, "{try_}: {off}");
        } else if unreached < cases(300) {
            unreached += 1;
            let radius = if far > most { most } else { least };
            let want =
                nearest_by_search(&case.skeleton, &case.pose, joints[0], [radius; 2], goal.map(f64::from));
            assert!((off - want).abs() < 1e-5, "{try_}: {off} instead of {want}, {radius} for {far}");
        }
    }
}

/// Checks the middle joint's circle: no angle brings the tip's distance closer to the goal's.
#[test]
fn uneven_scales_between_the_joints_are_searched() {
    let mut random = Random(3);
    for try_ in 0..cases(3_000) {
        let mut case = Case::new(&mut random, 2, try_ % 2, Scales::Uneven);
        let joints = three(&case);
        let goal = goal(&mut random, &case);
        let reach = TwoBone::new(joints, goal);
        let limb = Limb::new(&case.skeleton, &case.model, &reach, &case.pose).expect("a limb");
        let bone = rotate(limb.given[1], limb.lower);
        let (axis, _) = limb.normal(bone);
        let far = |part: u32| {
            let (sin, cos) = (f64::from(part) * core::f64::consts::PI / 5000.0).sin_cos();
            let [x, y, z] = scaled(axis, sin);
            length(limb.arm(rotate([x, y, z, cos], bone)))
        };
        let wanted = length(limb.goal);
        let parts = || (0..tries(5000) as u32).map(far);
        let (least, most) = parts().fold((f64::INFINITY, 0.0_f64), |(a, b), l| (a.min(l), b.max(l)));
        let want = (wanted - most).max(least - wanted).max(0.0);
        two_bone(&case.skeleton, &case.model, &reach, &mut case.pose).expect("a limb");
        let placed = Limb::new(&case.skeleton, &case.model, &reach, &case.pose).expect("a limb");
        let off = (length(placed.tip(placed.given)) - wanted).abs();
        assert!(off < want + 1e-5 || cfg!(miri), "{try_}: {off} instead of {want}");
        if want == 0.0 && !cfg!(miri) {
            assert!(apart(case.place(joints[2]), goal.map(f64::from)) < 1e-5, "{try_}");
        }
    }
}

#[test]
fn a_straight_limb_bends_towards_the_pole_and_a_bent_one_keeps_its_twist() {
    let along = condyle::Transform { translation: [0.0, -0.5, 0.0], ..condyle::Transform::IDENTITY };
    let leg = (0..3_u16).map(|at| condyle::Joint::new("leg", at.checked_sub(1), along));
    let skeleton = Skeleton::new(leg).expect("a chain");
    let model = model_of(&skeleton, skeleton.rest());
    for pole in [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [-0.6, 0.0, -0.8]] {
        let mut pose = Pose::rest(&skeleton);
        let reach = TwoBone { pole: Some(pole), ..TwoBone::new([0, 1, 2], [0.0, -1.2, 0.0]) };
        assert!(two_bone(&skeleton, &model, &reach, &mut pose).expect("a leg").distance < 1e-6);
        let knee = point(&matrix(&skeleton, &pose, 1), [0.0; 3]);
        let out = (0.25_f64 - 0.35 * 0.35).sqrt();
        for (knee, pole) in [knee[0], knee[2]].into_iter().zip([pole[0], pole[2]]) {
            assert!((knee - out * f64::from(pole)).abs() < 1e-6, "{knee} of {pole}");
        }
    }
    // Without a pole vector, a small step of the goal causes a small rotation, from every bent pose.
    let mut random = Random(4);
    for try_ in 0..tries(1000) {
        let case = Case::new(&mut random, 2, 0, Scales::None);
        let [a, b, _] = lengths(&case, [0.0; 3]);
        let tip = case.place(case.tip());
        let far = apart(tip, case.place(case.joints[0]));
        if far < (a - b).abs() + 0.1 * a.min(b) || far > a + b - 0.1 * a.min(b) || a.min(b) < 0.1 {
            continue;
        }
        let step = random.vector::<3>(1e-4);
        let goal = core::array::from_fn(|c| tip[c] as f32 + step[c]);
        let mut pose = case.pose.clone();
        two_bone(&case.skeleton, &case.model, &TwoBone::new(three(&case), goal), &mut pose).expect("a limb");
        for &joint in &case.joints {
            let [now, was] = [&pose, &case.pose].map(|pose| wide(pose.get(joint.into()).rotation));
            assert!(angle(now, was) < 2e-2, "{try_}: {}", angle(now, was));
        }
    }
}

/// Near full reach the limb slows down, and it never becomes straight.
#[test]
fn soft_limbs_stretch_smoothly() {
    let along = condyle::Transform { translation: [0.0, 0.0, 1.0], ..condyle::Transform::IDENTITY };
    let arm = (0..3_u16).map(|at| condyle::Joint::new("arm", at.checked_sub(1), along));
    let skeleton = Skeleton::new(arm).expect("a chain");
    let model = model_of(&skeleton, skeleton.rest());
    let far = |goal: f32| {
        let mut pose = Pose::rest(&skeleton);
        let reach = TwoBone { soft: 0.1, ..TwoBone::new([0, 1, 2], [0.0, 0.0, 1.0 + goal]) };
        two_bone(&skeleton, &model, &reach, &mut pose).expect("an arm");
        apart(point(&matrix(&skeleton, &pose, 2), [0.0; 3]), [0.0, 0.0, 1.0])
    };
    assert!((far(1.5) - 1.5).abs() < 1e-6 && (far(1.8) - 1.8).abs() < 1e-6);
    assert!((far(2.0) - 1.9).abs() < 1e-6, "half of the last tenth remains: {}", far(2.0));
    let mut before = [far(1.5), far(1.51)];
    for step in 2..200 {
        let now = far(1.5 + 0.01 * step as f32);
        let [a, b] = before;
        assert!(now > b && now < 2.0 && (now - 2.0 * b + a).abs() < 2e-3, "{step}: {now}");
        before = [b, now];
    }
}

#[test]
fn weights_go_a_part_of_the_way_and_the_tip_turns_as_asked() {
    let mut random = Random(5);
    for try_ in 0..cases(2000) {
        let scales = [Scales::None, Scales::Even, Scales::Uneven][try_ % 3];
        let case = Case::new(&mut random, 2, try_ % 2, scales);
        let (goal, wanted) = (goal(&mut random, &case), random.unit());
        let solved = |weight: f32| {
            let mut pose = case.pose.clone();
            let reach = TwoBone { weight, orientation: Some(wanted), ..TwoBone::new(three(&case), goal) };
            let reached = two_bone(&case.skeleton, &case.model, &reach, &mut pose).expect("a limb");
            let tip = case.tip();
            let turned = product(
                turned_above(&case.skeleton, &pose, tip).expect("a valid pose"),
                wide(pose.get(tip.into()).rotation),
            );
            assert!((angle(turned, wide(wanted)) - f64::from(reached.angle)).abs() < 1e-5, "{try_}");
            let off = apart(point(&matrix(&case.skeleton, &pose, tip), [0.0; 3]), goal.map(f64::from));
            assert!((off - f64::from(reached.distance)).abs() < 1e-5, "{try_}: {off} {reached:?}");
            (pose, reached)
        };
        assert_eq!(solved(0.0).0, case.pose, "{try_}");
        let ((whole, reached), (half, _)) = (solved(1.0), solved(0.5));
        assert!(reached.angle < 1e-5, "{try_}: {reached:?}");
        for joint in three(&case)[..2].iter().map(|&joint| usize::from(joint)) {
            let [was, half, whole] = [&case.pose, &half, &whole].map(|pose| wide(pose.get(joint).rotation));
            let (first, second) = (angle(was, half), angle(half, whole));
            assert!((first - second).abs() < 1e-5, "{try_}: {first} and {second}");
        }
    }
}

/// Limits of a shoulder with a cone, an ellipse or a polygon, and of an elbow, usually a hinge.
fn limits(random: &mut Random, case: &Case, kind: usize) -> Limits {
    let [upper, lower, _] = three(case);
    let side = random.unit();
    let swing = match kind % 4 {
        0 => Swing::Cone(random.range(0.2, 2.0)),
        1 => Swing::Ellipse { side, angles: [random.range(0.3, 1.5), random.range(0.3, 2.0)] },
        2 => {
            // Literal values, because sines from the platform's library are not bit-identical everywhere.
            let ways = [[1.0, 0.0], [0.309, 0.951], [-0.809, 0.588], [-0.809, -0.588], [0.309, -0.951]];
            let corner = |way: [f32; 2], size| way.map(|v| v * size);
            Swing::Polygon { side, corners: ways.map(|way| corner(way, random.range(0.4, 1.8))).into() }
        }
        _ => Swing::Free,
    };
    let twist = (!kind.is_multiple_of(3)).then(|| [random.range(-1.5, 0.0), random.range(0.1, 1.5)]);
    let shoulder = JointLimit { reference: random.unit(), swing, twist, ..JointLimit::free(random.unit()) };
    let bend = [random.range(-0.5, 0.2), random.range(0.5, 2.5)];
    let elbow = JointLimit { reference: random.unit(), ..JointLimit::hinge(random.unit(), bend) };
    let elbow = if kind % 5 == 4 {
        JointLimit { swing: Swing::Cone(random.range(0.2, 1.0)), twist: None, ..elbow }
    } else {
        elbow
    };
    Limits::new(&case.skeleton, [(upper, shoulder), (lower, elbow)]).expect("limits")
}

#[test]
fn limits_are_never_broken() {
    let mut random = Random(6);
    for try_ in 0..cases(40_000) {
        let scales =
            [Scales::None, Scales::Even, Scales::UnevenAbove, Scales::None, Scales::Uneven][try_ % 5];
        if scales == Scales::Uneven && try_ % 7 > 0 {
            continue;
        }
        let mut case = Case::new(&mut random, 2, try_ % 2, scales);
        let was = case.pose.clone();
        let limits = limits(&mut random, &case, try_);
        let goal = goal(&mut random, &case);
        let weight = if try_ % 4 == 0 { random.range(0.0, 1.0) } else { 1.0 };
        let pole = (try_ % 2 == 0).then(|| random.unit());
        let reach = TwoBone { limits: Some(&limits), weight, pole, ..TwoBone::new(three(&case), goal) };
        let reached = two_bone(&case.skeleton, &case.model, &reach, &mut case.pose).expect("a limb");
        case.assert_only_turned(&was, try_);
        for &joint in &case.joints {
            let broken =
                crate::limits::tests::broken(limits.get(joint), case.pose.get(joint.into()).rotation);
            assert!(broken < 1e-5, "{try_}: {broken} {:?}", limits.get(joint));
        }
        let off = apart(case.place(case.tip()), goal.map(f64::from));
        assert!((off - f64::from(reached.distance)).abs() < 1e-5, "{try_}: {off}, {reached:?}");
    }
}

/// Minimum distance that two limited joints allow, from random starts with ever smaller random steps.
fn least_by_search(random: &mut Random, case: &Case, limits: &Limits, goal: [f64; 3]) -> f64 {
    let [upper, lower, tip] = three(case);
    let reach = TwoBone::new([upper, lower, tip], [0.0; 3]);
    let limb = Limb::new(&case.skeleton, &case.model, &reach, &case.pose).expect("a limb");
    let above = &limb.to_model;
    let off = |turned: [Quat64; 2]| length(sub(above.point(add(limb.pivots[0], limb.tip(turned))), goal));
    let allowed = |joint: u16, q: Quat64| limits.limit(joint).and_then(|l| l.clamp(q)).unwrap_or(q);
    let mut best = f64::INFINITY;
    for _ in 0..12 {
        let mut at = [upper, lower].map(|joint| allowed(joint, random.unit().map(f64::from)));
        let mut now = off(at);
        let (mut size, mut misses) = (1.0, 0);
        while size > 1e-7 {
            let mut next = at;
            for (q, joint) in next.iter_mut().zip([upper, lower]) {
                let [x, y, z] = random.vector::<3>(1.0).map(|v| f64::from(v) * size);
                *q = allowed(joint, unit(product([x, y, z, 1.0], *q)));
            }
            if off(next) < now {
                (at, now, misses) = (next, off(next), 0);
            } else {
                misses += 1;
                if misses == 12 {
                    (size, misses) = (size * 0.5, 0);
                }
            }
        }
        best = best.min(now);
    }
    best
}

#[test]
#[cfg_attr(miri, ignore = "slow")]
fn with_limits_it_is_mostly_the_nearest_of_all() {
    let mut random = Random(7);
    let (mut good, mut all) = (0, 0);
    for try_ in 0..cases(500) {
        let case = Case::new(&mut random, 2, 0, Scales::None);
        let limits = limits(&mut random, &case, try_);
        let goal = goal(&mut random, &case);
        let reach = TwoBone { limits: Some(&limits), ..TwoBone::new(three(&case), goal) };
        let mut pose = case.pose.clone();
        let reached = two_bone(&case.skeleton, &case.model, &reach, &mut pose).expect("a limb");
        let want = least_by_search(&mut random, &case, &limits, goal.map(f64::from));
        let [a, b, _] = lengths(&case, goal);
        all += 1;
        good += u32::from(f64::from(reached.distance) <= want + 1e-4 * (a + b));
    }
    assert!(good * 100 >= all * 97, "{good} of {all}");
}

#[test]
fn hostile_input_is_an_error_or_finite() {
    let mut random = Random(8);
    let bad =
        [f32::NAN, f32::INFINITY, -f32::INFINITY, f32::MAX, -f32::MAX, f32::MIN_POSITIVE, 0.0, 1e-30, 1e20];
    for try_ in 0..cases(20_000) {
        let mut case = Case::new(&mut random, 2, try_ % 2, [Scales::None, Scales::Uneven][try_ / 2 % 2]);
        let limits = limits(&mut random, &case, try_);
        let mut reach = TwoBone::new(three(&case), goal(&mut random, &case));
        reach.limits = (try_ % 3 == 0).then_some(&limits);
        let value = bad[random.below(bad.len())];
        let at = random.below(3);
        match random.below(9) {
            0 => reach.goal[at] = value,
            1 => reach.pole = Some(core::array::from_fn(|c| if c == at { value } else { 0.0 })),
            2 => reach.orientation = Some(core::array::from_fn(|c| if c == at { value } else { 0.5 })),
            3 => reach.weight = value,
            4 => reach.soft = value,
            5 => reach.joints[at] = random.below(12) as u16,
            6 => {
                let joint = usize::from(case.joints[at]);
                let mut t = case.pose.get(joint);
                match random.below(3) {
                    0 => t.translation = [value; 3],
                    1 => t.scale[at] = value,
                    _ => t.rotation[at] = value,
                }
                case.pose.set(joint, &t);
            }
            7 => case.model[random.below(3)].rows[at] = [value; 4],
            _ => {
                // Zero-length bones, and a goal at the shoulder.
                for &joint in &case.joints[1..] {
                    case.pose.set(joint.into(), &condyle::Transform::IDENTITY);
                }
                reach.goal = case.place(case.joints[0]).map(|v| v as f32);
            }
        }
        let was = case.pose.clone();
        match two_bone(&case.skeleton, &case.model, &reach, &mut case.pose) {
            Ok(reached) => {
                assert!(reached.distance.is_finite() && reached.angle.is_finite(), "{try_}: {reached:?}");
                for &joint in &reach.joints {
                    let [q, given] = [&case.pose, &was].map(|pose| pose.get(joint.into()).rotation);
                    // Inputs that the request does not use may be NaN and stay unchanged.
                    let same = q.map(f32::to_bits) == given.map(f32::to_bits);
                    assert!(same || q.iter().all(|v| v.is_finite()), "{try_}: {q:?}");
                }
            }
            Err(error) => assert!(
                case.pose
                    .transforms()
                    .zip(was.transforms())
                    .all(|(a, b)| { a.rotation.map(f32::to_bits) == b.rotation.map(f32::to_bits) }),
                "{try_}: {error} changed the pose"
            ),
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    let case = Case::new(&mut Random(9), 2, 1, Scales::None);
    let joints = three(&case);
    let solve = |reach: &TwoBone<'_>| {
        two_bone(&case.skeleton, &case.model, reach, &mut case.pose.clone()).expect_err("refused")
    };
    let right = TwoBone::new(joints, [0.0; 3]);
    assert_eq!(
        solve(&TwoBone { goal: [0.0, f32::NAN, 0.0], ..right }),
        Error::NotFinite { what: "goal", at: 1 }
    );
    let range = |what| Error::OutOfRange { what, at: 0, needed: "from 0 to 1" };
    assert_eq!(solve(&TwoBone { weight: 1.5, ..right }), range("weight"));
    assert_eq!(solve(&TwoBone { soft: -0.5, ..right }), range("soft"));
    let [a, b, c] = joints;
    for (wrong, at) in [([b, a, c], 1), ([a, b, a], 2), ([a, a, c], 1), ([a, c, c], 2)] {
        assert_eq!(
            solve(&TwoBone { joints: wrong, ..right }),
            Error::OutOfRange { what: "joints", at, needed: "a descendant of the joint before it" }
        );
    }
    assert_eq!(
        solve(&TwoBone { joints: [a, b, 99], ..right }),
        Error::Index { what: "joints", at: 2, found: 99, count: case.skeleton.joint_count() }
    );
    assert_eq!(
        solve(&TwoBone { orientation: Some([0.0; 4]), ..right }),
        Error::NotUnit { what: "orientation", at: 0 }
    );
    let other = Limits::new(&Random(1).skeleton(5), []).expect("no limits");
    assert!(matches!(solve(&TwoBone { limits: Some(&other), ..right }), Error::Skeleton { .. }));
}

#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0x5429_2dcd_ebd7_7d11, |hash| {
        let mut random = Random(10);
        for try_ in 0..tries(500) {
            let scales = [Scales::None, Scales::Even, Scales::UnevenAbove, Scales::Uneven][try_ % 4];
            let mut case = Case::new(&mut random, 2, try_ % 2, scales);
            let limits = limits(&mut random, &case, try_);
            let reach = TwoBone {
                pole: (try_ % 3 == 0).then(|| random.unit()),
                orientation: Some(random.unit()),
                weight: if try_ % 5 == 0 { 0.7 } else { 1.0 },
                limits: (try_ % 2 == 0).then_some(&limits),
                soft: 0.05,
                ..TwoBone::new(three(&case), goal(&mut random, &case))
            };
            let reached = two_bone(&case.skeleton, &case.model, &reach, &mut case.pose).expect("a limb");
            hash.add(&[reached.distance, reached.angle]);
            for joint in three(&case) {
                hash.add(&case.pose.get(joint.into()).rotation);
            }
        }
    });
}

/// The same limits with soft borders.
fn softened(case: &Case, limits: &Limits, soft: f32) -> Limits {
    let all = case.joints.iter().filter_map(|&joint| Some((joint, limits.get(joint)?.clone())));
    let all = all.map(|(joint, limit)| (joint, JointLimit { soft, ..limit }));
    Limits::new(&case.skeleton, all.collect::<std::vec::Vec<_>>()).expect("limits")
}

#[test]
fn soft_limits_are_never_broken_either() {
    let mut random = Random(11);
    for try_ in 0..cases(10_000) {
        // No polygon, because a random one is not always convex and a soft limit requires that.
        let kind = [0, 1, 3, 4][try_ % 4];
        let scales = [Scales::None, Scales::Even, Scales::UnevenAbove][try_ % 3];
        let mut case = Case::new(&mut random, 2, try_ % 2, scales);
        let limits = limits(&mut random, &case, kind);
        let limits = softened(&case, &limits, random.range(0.0, 1.0));
        let goal = goal(&mut random, &case);
        let weight = if try_ % 5 == 0 { random.range(0.0, 1.0) } else { 1.0 };
        let reach = TwoBone { limits: Some(&limits), weight, ..TwoBone::new(three(&case), goal) };
        two_bone(&case.skeleton, &case.model, &reach, &mut case.pose).expect("a limb");
        for &joint in &case.joints {
            let rotation = case.pose.get(joint.into()).rotation;
            let broken = crate::limits::tests::broken(limits.get(joint), rotation);
            assert!(weight == 0.0 || broken < 1e-5, "{try_}: {broken} {:?}", limits.get(joint));
        }
    }
}

/// While a goal moves away at constant speed, an elbow stops abruptly at a hard limit and gradually at a soft
/// one.
#[test]
fn elbows_come_to_rest_at_soft_limits() {
    let at = |y| condyle::Transform { translation: [0.0, y, 0.0], ..condyle::Transform::IDENTITY };
    let joint = |parent, y| condyle::Joint::new("", parent, at(y));
    let skeleton =
        Skeleton::new([joint(None, 0.0), joint(Some(0), 1.0), joint(Some(1), 1.0)]).expect("a limb");
    for (soft, smooth) in [(0.0, false), (0.6, true)] {
        let elbow = JointLimit { soft, ..JointLimit::hinge([1.0, 0.0, 0.0], [0.8, 2.0]) };
        let limits = Limits::new(&skeleton, [(1, elbow)]).expect("limits");
        let mut bends = std::vec::Vec::new();
        for step in 0..400_u16 {
            let mut pose = Pose::rest(&skeleton);
            let bent = condyle_base::math::quats::from_rotation_vector([1.4, 0.0, 0.0]).map(|v| v as f32);
            pose.set(1, &condyle::Transform { rotation: bent, ..pose.get(1) });
            let model = crate::testing::model_of(&skeleton, &pose);
            let goal = [0.0, 0.9 + f32::from(step) * 0.0035, 0.4];
            let reach = TwoBone { limits: Some(&limits), ..TwoBone::new([0, 1, 2], goal) };
            two_bone(&skeleton, &model, &reach, &mut pose).expect("a limb");
            let [x, _, _, w] = pose.get(1).rotation.map(f64::from);
            bends.push(2.0 * condyle_base::math::scalar::atan2_f64(x, w));
        }
        let speeds: std::vec::Vec<_> = bends.windows(2).map(|pair| (pair[1] - pair[0]) / 0.0035).collect();
        let jerk = speeds.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f64::max);
        let allowed = 0.8 - 1e-5..2.0 + 1e-5;
        assert!((bends[0] - bends[399]).abs() > 0.5 && bends.iter().all(|b| allowed.contains(b)), "{soft}");
        assert_eq!(jerk < 0.3, smooth, "{soft}: {jerk}");
    }
}
