//! Tests of [`overlay`].

use super::*;
use crate::interpolation::{self, Factor, Method, Selection};

fn over(below: &Pose, layer: Layer<'_>) -> Pose {
    let mut out = Pose::identity(below.joint_count());
    overlay(below, layer.pose, layer.weight, layer.mask, &mut out).expect("sizes agree");
    out
}

#[test]
fn every_size_of_an_overlay_is_the_formula() {
    for &joints in SIZES {
        let mut random = Random(200 + joints as u64);
        let (below, above) = (random.pose(joints), random.pose(joints));
        let mask: Vec<f32> = (0..joints).map(|_| random.range(-0.2, 1.4)).collect();
        for (weight, mask) in [(0.3, None), (0.8, Some(&mask[..])), (1.0, Some(&mask))] {
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| over(&below, Layer { mask, ..Layer::new(&above, weight) }));
                for joint in 0..joints {
                    let t = f64::from((weight * mask.map_or(1.0, |mask| mask[joint])).clamp(0.0, 1.0));
                    let [a, b] = [&below, &above].map(|pose| reference::Local::from(pose.get(joint)));
                    let case = format_args!("{dispatch}, joint {joint} of {joints}, factor {t}");
                    let rotation = reference::slerp(a.rotation, b.rotation, t);
                    let got = got.get(joint);
                    let near: f64 = got.rotation.iter().zip(rotation).map(|(a, b)| f64::from(*a) * b).sum();
                    assert_close(&got.rotation, &rotation.map(|v| v * near.signum()), 2e-7, case);
                    let mix = |a: [f64; 3], b: [f64; 3]| -> [f64; 3] {
                        core::array::from_fn(|c| a[c] * (1.0 - t) + b[c] * t)
                    };
                    assert_close(&got.translation, &mix(a.translation, b.translation), 0.5 * 1.2e-7, case);
                    assert_close(&got.scale, &mix(a.scale, b.scale), 1.4 * 1.2e-7, case);
                }
            }
        }
    }
}

/// Compares bit for bit, except that a whole rotation may have the opposite sign.
#[test]
fn both_ends_of_an_overlay_are_exact() {
    let mut random = Random(201);
    let joints = tries(300);
    let all = poses(&mut random, joints, 2);
    let mask: Vec<f32> = (0..joints).map(|joint| [0.0, 0.5, 1.0, 7.0, -1.0][joint % 5]).collect();
    for dispatch in Dispatch::all() {
        let got = dispatch.scope(|| over(&all[0], Layer { mask: Some(&mask), ..Layer::new(&all[1], 2.0) }));
        let whole = dispatch.scope(|| [0.0, 1.0].map(|weight| over(&all[0], Layer::new(&all[1], weight))));
        for joint in 0..joints {
            let case = format_args!("{dispatch}, joint {joint}");
            let [below, above] = [0, 1].map(|n| all[n].get(joint));
            let near = reference_dot(below.rotation, above.rotation).signum() as f32;
            let above = Transform { rotation: above.rotation.map(|v| v * near), ..above };
            assert_eq!(got.get(joint), if [0, 4].contains(&(joint % 5)) { below } else { above }, "{case}");
            assert_eq!([0, 1].map(|n| whole[n].get(joint)), [below, above], "{case}");
        }
    }
}

#[test]
fn a_cross_fade_is_an_interpolation() {
    let mut random = Random(202);
    let (a, b) = (random.pose(67), random.pose(67));
    let mask: Vec<f32> = (0..67).map(|_| random.range(0.0, 1.0)).collect();
    let halves: Vec<f32> = mask.iter().map(|v| v * 0.5).collect();
    let mut want = Pose::identity(67);
    for dispatch in Dispatch::all() {
        dispatch.scope(|| {
            let method = Method::default();
            interpolation::poses(&a, &b, 0.5, Selection::All, method, &mut want).expect("sizes agree");
            assert_eq!(bits(&over(&a, Layer::new(&b, 0.5))), bits(&want), "{dispatch}");
            let factors = Factor::PerJoint(&halves);
            interpolation::poses(&a, &b, factors, Selection::All, method, &mut want).expect("sizes agree");
            let masked = Layer { mask: Some(&mask), ..Layer::new(&b, 0.5) };
            assert_eq!(bits(&over(&a, masked)), bits(&want), "{dispatch}");
        });
    }
}

#[test]
fn an_overlay_in_place_of_its_base_has_the_same_bits() {
    for &joints in SIZES {
        let mut random = Random(204 + joints as u64);
        let (below, above) = (random.pose(joints), random.pose(joints));
        let mask: Vec<f32> = (0..joints).map(|_| random.range(-0.2, 1.4)).collect();
        for (amount, mask) in
            [0.0, 0.3, 0.8, 1.0].into_iter().flat_map(|amount| [(amount, None), (amount, Some(&mask[..]))])
        {
            for dispatch in Dispatch::all() {
                let want = dispatch.scope(|| over(&below, Layer { mask, ..Layer::new(&above, amount) }));
                let mut pose = below.clone();
                dispatch.scope(|| overlay(None, &above, amount, mask, &mut pose)).expect("sizes agree");
                assert_eq!(bits(&pose), bits(&want), "{dispatch}, {joints} joints, {amount}, {mask:?}");
            }
        }
    }
}

#[test]
fn wrong_sizes_and_weights_of_an_overlay_are_refused() {
    let (rest, short) = (Pose::identity(5), Pose::identity(4));
    let mut out = Pose::identity(5);
    let length = |what| Err(Error::Length { what, found: 4, needed: 5 });
    assert_eq!(overlay(&rest, &short, 1.0, None, &mut out), length("over"));
    assert_eq!(overlay(&rest, &rest, 1.0, Some(&[1.0; 4]), &mut out), length("mask"));
    assert_eq!(overlay(&rest, &rest, 1.0, None, &mut short.clone()), length("out"));
    for weight in [f32::NAN, f32::INFINITY] {
        let refused = overlay(&rest, &rest, weight, None, &mut out);
        assert_eq!(refused, Err(Error::NotFinite { what: "amount", at: 0 }));
    }
    let mut pose = Pose::identity(5);
    assert_eq!(overlay(None, &short, 1.0, None, &mut pose), length("over"));
    assert_eq!(overlay(None, &rest, 1.0, Some(&[1.0; 4]), &mut pose), length("mask"));
    let refused = overlay(None, &rest, f32::NAN, None, &mut pose);
    assert_eq!(refused, Err(Error::NotFinite { what: "amount", at: 0 }));
    assert_eq!(pose, rest);
    let mask = [f32::NAN, 1.0, 0.0, 1.0, 0.0];
    let got = over(&rest, Layer { mask: Some(&mask), ..Layer::new(&rest, 1.0) });
    assert!(got.get(0).rotation[0].is_nan());
    assert_eq!(got.get(1), rest.get(1));
}

/// A masked layer drives only some joints. The other joints come from the reference, or from the other layers
/// if there are any.
#[test]
fn a_partial_pose_leaves_the_other_joints_to_the_reference() {
    let mut random = Random(203);
    let joints = tries(50);
    let (rest, all) = (random.pose(joints), poses(&mut random, joints, 2));
    let driven: Vec<f32> = (0..joints).map(|joint| f32::from(u8::from(joint % 3 == 0))).collect();
    for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
        dispatch.scope(|| {
            let partial = Layer { mask: Some(&driven), ..Layer::new(&all[0], 0.4) };
            let alone = blended(&rest, &[partial], mean);
            let beside = blended(&rest, &[partial, Layer::new(&all[1], 0.6)], mean);
            let whole = blended(&rest, &[Layer::new(&all[0], 0.4), Layer::new(&all[1], 0.6)], mean);
            for joint in 0..joints {
                let case = format_args!("{dispatch}, {mean:?}, joint {joint}");
                if joint % 3 == 0 {
                    assert_eq!(alone.get(joint).translation, all[0].get(joint).translation, "{case}");
                    let want = reference::Local::from(whole.get(joint));
                    assert_close(&beside.get(joint).translation, &want.translation, 2e-7, case);
                    assert_close(&beside.get(joint).rotation, &want.rotation, 1e-6, case);
                } else {
                    assert_eq!(alone.get(joint), rest.get(joint), "{case}");
                    assert_eq!(beside.get(joint).translation, all[1].get(joint).translation, "{case}");
                }
            }
        });
    }
}
