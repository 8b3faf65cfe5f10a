//! Chains with non-uniform scales, compared with a random search that does not use the structure of the
//! chain.

use super::*;
use crate::maps::{Affine64, add, sub};
use crate::testing::model_of;
use condyle::{Joint, Pose, Skeleton};
use condyle_base::math::quats::rotate;

/// Error of the tip in model space for given rotations, computed only from the transforms.
struct Plain<'c> {
    case: &'c Case,
    above: Affine64,
    rotations: Vec<[f64; 4]>,
}

impl Plain<'_> {
    fn off(&self, rotations: &[[f64; 4]], goal: Vec64) -> f64 {
        let mut end = [0.0; 3];
        let mut at = self.case.tip();
        let first = self.case.joints[0];
        loop {
            let t = self.case.pose.get(at.into());
            let scale = t.scale.map(f64::from);
            let turned = match turning(self.case).iter().position(|&joint| joint == at) {
                Some(which) => rotations[which],
                None => unit(wide(t.rotation)),
            };
            let scaled = [end[0] * scale[0], end[1] * scale[1], end[2] * scale[2]];
            end = add(rotate(turned, scaled), t.translation.map(f64::from));
            if at == first {
                return length(sub(self.above.point(end), goal));
            }
            at = self.case.skeleton.parent(at).expect("a chain");
        }
    }

    /// Minimum distance, from random starts with ever smaller random steps.
    fn least(&mut self, random: &mut Random, goal: Vec64, starts: usize) -> f64 {
        let mut best = f64::INFINITY;
        let count = turning(self.case).len();
        for _ in 0..starts {
            self.rotations = (0..count).map(|_| random.unit::<4>().map(f64::from)).map(unit).collect();
            let mut now = self.off(&self.rotations, goal);
            let (mut size, mut misses) = (1.0, 0);
            while size > 1e-6 {
                let mut next = self.rotations.clone();
                for q in &mut next {
                    let [x, y, z] = random.vector::<3>(1.0).map(|v| f64::from(v) * size);
                    *q = unit(product([x, y, z, 1.0], *q));
                }
                let off = self.off(&next, goal);
                if off < now {
                    (self.rotations, now, misses) = (next, off, 0);
                } else {
                    misses += 1;
                    if misses == 8 * count {
                        (size, misses) = (size * 0.6, 0);
                    }
                }
            }
            best = best.min(now);
        }
        best
    }
}

/// Two bones of length 1 along X under a scale of 2, 1 and 0.5.
#[test]
fn two_bones_under_an_uneven_scale_come_as_near_as_they_can() {
    let plain = |scale, translation| Transform { scale, translation, ..Transform::IDENTITY };
    let above = Joint::new("above", None, plain([2.0, 1.0, 0.5], [0.0; 3]));
    let bone = |name, parent, x| Joint::new(name, Some(parent), plain([1.0; 3], [x, 0.0, 0.0]));
    let skeleton = Skeleton::new([above, bone("a", 0, 0.0), bone("b", 1, 1.0), bone("tip", 2, 1.0)]);
    let skeleton = skeleton.expect("an arm");
    let pose = Pose::rest(&skeleton);
    let model = model_of(&skeleton, &pose);
    for method in METHODS {
        let nearest = |goal| {
            let asked = Chain { method, ..Chain::new(&[1, 2], 3, goal) };
            chain(&skeleton, &model, &asked, &mut pose.clone()).expect("an arm")
        };
        let reached = nearest([5.0, 0.5, 1.5]);
        assert!((reached.distance - 1.722_714_8).abs() < 1e-6, "{method:?}: {reached:?}");
        // Straight up: the nearest point of the reachable ellipsoid is on its axis.
        let reached = nearest([0.0, 0.0, 1.5]);
        assert!((reached.distance - 0.5).abs() < 1e-6, "{method:?}: {reached:?}");
    }
}

/// The product of the scales is near or beyond the range of f64. Solvers return an error, or the tip is not
/// farther from the goal than before.
#[test]
fn long_chains_of_large_scales_are_errors_or_no_worse() {
    let mut random = Random(32);
    for (count, most) in [(2, 1e30), (5, 3e37), (8, 1e30), (20, 10.0), (48, 1e5), (60, 1e3), (64, 10.0)] {
        for try_ in 0..cases(60) {
            let joints = (0..=count).map(|at: u16| {
                let scale = core::array::from_fn(|_| most_power(&mut random, most));
                let rest = Transform { scale, rotation: random.unit(), translation: random.vector::<3>(1.0) };
                Joint::new(alloc::format!("{at}"), at.checked_sub(1), rest)
            });
            let skeleton = Skeleton::new(joints.collect::<Vec<_>>()).expect("a chain");
            let pose = Pose::rest(&skeleton);
            let Ok(model) = std::panic::catch_unwind(|| model_of(&skeleton, &pose)) else { continue };
            let turning: Vec<u16> = (0..count).collect();
            let goal = random.vector::<3>(2.0);
            for method in METHODS {
                let asked = Chain { method, ..Chain::new(&turning, count, goal) };
                let mut got = pose.clone();
                let Ok(reached) = chain(&skeleton, &model, &asked, &mut got) else { continue };
                let still = Chain { weight: 0.0, ..asked };
                let before = chain(&skeleton, &model, &still, &mut pose.clone());
                let Ok(before) = before else { continue };
                let case = (count, most, try_, method);
                assert!(
                    reached.distance <= before.distance * 1.0001 + 1e-6,
                    "{case:?}: {reached:?} {before:?}"
                );
            }
        }
    }
}

/// A random value from 1/most to most, uniform in its logarithm.
fn most_power(random: &mut Random, most: f64) -> f32 {
    most.powf(random.range(-1.0, 1.0).into()) as f32
}

/// Checks all methods.
#[test]
fn nothing_is_nearer_under_uneven_scales() {
    let mut random = Random(31);
    let all = cases(200);
    for scales in [Scales::UnevenAbove, Scales::Uneven] {
        let (mut worst, mut missed) = ([0.0_f64; 3], [0; 3]);
        for try_ in 0..all {
            let case = Case::new(&mut random, 2 + try_ % 3, try_ % 2, scales);
            let reach: f64 = bones(&case).1.iter().sum();
            let way = random.unit::<3>().map(f64::from);
            let far = f64::from(random.range(0.0, 2.0)) * reach;
            let root = case.place(case.joints[0]);
            let goal: [f32; 3] = core::array::from_fn(|c| (root[c] + far * way[c]) as f32);
            let above = Affine64::from(&case.model[usize::from(case.joints[0]) - 1]);
            let mut plain = Plain { case: &case, above, rotations: Vec::new() };
            let want = plain.least(&mut random, goal.map(f64::from), 6);
            for (at, method) in METHODS.into_iter().enumerate() {
                let mut got = case.clone();
                let asked = Chain { method, ..Chain::new(turning(&case), case.tip(), goal) };
                let reached = chain(&case.skeleton, &case.model, &asked, &mut got.pose).expect("a chain");
                let more = (f64::from(reached.distance) - want) / reach;
                worst[at] = worst[at].max(more);
                missed[at] += usize::from(more > 1e-3);
            }
        }
        assert_eq!(missed, [0; 3], "{scales:?}: {worst:?}");
    }
}
