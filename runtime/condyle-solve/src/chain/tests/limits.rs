//! Tests with limits of all shapes.

use super::*;
use crate::limits::tests::{any_limit, slack};

/// Cones, hinges and ellipses, from the narrowest representable ones to half a turn.
#[test]
fn limits_of_any_shape_are_never_broken() {
    let mut random = Random(13);
    for try_ in 0..cases(1_000) {
        let scales = [Scales::None, Scales::Even, Scales::UnevenAbove, Scales::Uneven][try_ % 4];
        let case = Case::new(&mut random, 2 + try_ % 5, try_ % 2, scales);
        let limits = turning(&case).iter().map(|&joint| (joint, any_limit(&mut random)));
        let limits = Limits::new(&case.skeleton, limits.collect::<Vec<_>>()).expect("limits");
        let asked = Chain {
            orientation: (try_ % 3 == 0).then(|| Orientation::new(random.unit())),
            limits: Some(&limits),
            weight: if try_ % 5 == 0 { random.range(0.1, 1.0) } else { 1.0 },
            ..Chain::new(turning(&case), case.tip(), random.vector(1.5))
        };
        for method in METHODS {
            let mut got = case.clone();
            let asked = Chain { method, ..asked };
            let reached = chain(&case.skeleton, &case.model, &asked, &mut got.pose).expect("a chain");
            got.assert_only_turned(&case.pose, try_);
            let off = apart(got.place(case.tip()), asked.goal.map(f64::from));
            assert!((off - f64::from(reached.distance)).abs() < 1e-5, "{try_}: {off}, {reached:?}");
            for &joint in turning(&case) {
                let rotation = got.pose.get(joint.into()).rotation;
                let (over, limit) = (limits.excess(joint, rotation), limits.limit(joint));
                let most = limit.map_or(0.0, |limit| slack(limit, rotation));
                assert!(over <= most, "{try_} {method:?}: {over} rad beyond {:?}", limits.get(joint));
            }
        }
    }
}
