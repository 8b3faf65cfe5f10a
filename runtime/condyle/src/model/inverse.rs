//! Conversion of model-space matrices to local ones.
//!
//! Four joints and their parents share lanes of f64. A parent of several joints is inverted several times,
//! which is cheaper than a lookup. A singular matrix gives NaN without a branch. Only if a result is NaN
//! does a second pass search for the joint to report.

use fearless_simd::{f32x4, f32x8, f64x4, prelude::*};

use crate::skeleton::{NO_PARENT, Skeleton};
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::math::vectors::{cross, dot};
use condyle_base::simd::{Dispatch, dispatch, each, transpose};

/// Converts model-space matrices to local ones: the inverse of [`local_to_model`](super::local_to_model).
///
/// `local[j]` receives `inverse(model[parent]) * model[j]`, or `model[j]` for a root. Use it for joints that
/// a simulation or a constraint has moved; a pose cannot represent every such matrix. Computed in f64 and
/// rounded once, with the same bits in both numeric modes.
///
/// # Singular matrices
///
/// A matrix counts as singular if its determinant is less than 2^-22 times the product of the columns'
/// lengths. An error in the last digit of f32 could then make it singular. Scales do not matter, however
/// unequal, but shear does.
///
/// # Errors
/// [`Error::Length`] if `model` or `local` does not hold one matrix per joint. [`Error::NotFinite`] for the
/// first matrix with NaN or an infinity. [`Error::NotInvertible`] for a parent whose matrix is singular, or
/// for which a child's local matrix overflows f32. For `NotFinite` and `NotInvertible` the content of `local`
/// is unspecified.
///
/// ```
/// use condyle::{Affine, Transform, example, local_to_model, model};
///
/// // Two joints, each 1 m above its parent.
/// let skeleton = example::chain(["shoulder", "elbow"], [0.0, 1.0, 0.0]);
/// let mut placed = vec![Affine::IDENTITY; 2];
/// local_to_model(&skeleton, skeleton.rest(), &mut placed)?;
/// // A ragdoll has moved the elbow.
/// placed[1] = Affine::from(Transform { translation: [3.0, 1.0, 0.0], ..Transform::IDENTITY });
/// let mut local = vec![Affine::IDENTITY; 2];
/// model::model_to_local(&skeleton, &placed, &mut local)?;
/// assert_eq!(local[1].transform_point([0.0; 3]), [3.0, 0.0, 0.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn model_to_local(skeleton: &Skeleton, model: &[Affine], local: &mut [Affine]) -> Result<(), Error> {
    Error::check_len("model", model.len(), skeleton.joint_count())?;
    Error::check_len("local", local.len(), skeleton.joint_count())?;
    let dispatch = Dispatch::current().portable();
    let whole = dispatch!(dispatch, |s| back(s, skeleton.parents(), model, local));
    if whole { Ok(()) } else { refusal(skeleton, model, local) }
}

/// Returns the error for the first joint that is not finite: in `model`, or in `local` because of a singular
/// parent.
#[cold]
fn refusal(skeleton: &Skeleton, model: &[Affine], local: &[Affine]) -> Result<(), Error> {
    for ((own, local), joint) in model.iter().zip(local).zip(0_u16..) {
        if !is_finite(own) {
            return Err(Error::NotFinite { what: "model", at: joint.into() });
        }
        if let Some(parent) = skeleton.parent(joint).filter(|_| !is_finite(local)) {
            return Err(Error::NotInvertible { what: "model", at: parent.into() });
        }
    }
    Ok(())
}

fn is_finite(m: &Affine) -> bool {
    m.rows.as_flattened().iter().all(|v| v.is_finite())
}

/// Minimum determinant of a regular matrix, relative to the product of the columns' lengths.
///
/// Below it, rounding of the columns to f32 (2^-24 of each) leaves no correct digit. [`Affine::inverse`] has
/// no such bound: it inverts every matrix that has an inverse. This function reports the loss as an error
/// instead.
const MIN_DETERMINANT: f64 = 1.0 / 4_194_304.0;

/// One number of each of four matrices.
type Four<S> = f64x4<S>;

/// One vector of each of four matrices.
type Vectors<S> = [Four<S>; 3];

/// Converts four joints at a time in lanes of f64. Returns whether all of `local` is finite, which it is not
/// if a parent is singular. Also returns `false` if the numbers are so large that their sum is not finite.
#[inline(always)]
fn back<S: Simd>(s: S, parents: &[u16], model: &[Affine], local: &mut [Affine]) -> bool {
    // Stays 0 while all added numbers are finite.
    let mut zero = f32x8::splat(s, 0.0);
    let (groups, last) = local.as_chunks_mut::<4>();
    let (owns, last_own) = model.as_chunks::<4>();
    let (above, last_above) = parents.as_chunks::<4>();
    for ((out, own), above) in groups.iter_mut().zip(owns).zip(above) {
        group(s, model, above, own.each_ref(), &mut zero, |k, r, row| out[k].rows[r] = row);
    }
    if !last.is_empty() {
        // The last joints, padded with roots at the origin.
        let above = |k: usize| *last_above.get(k).unwrap_or(&NO_PARENT);
        let own = |k: usize| last_own.get(k).unwrap_or(&Affine::IDENTITY);
        let above = [above(0), above(1), above(2), above(3)];
        let own = [own(0), own(1), own(2), own(3)];
        group(s, model, &above, own, &mut zero, |k, r, row| {
            if let Some(last) = last.get_mut(k) {
                last.rows[r] = row;
            }
        });
    }
    zero.simd_eq(zero).all_true()
}

/// Converts four joints. `put` receives the index of a joint, the index of a row, and the row.
#[inline(always)]
fn group<S: Simd>(
    s: S,
    model: &[Affine],
    parents: &[u16; 4],
    own: [&Affine; 4],
    zero: &mut f32x8<S>,
    mut put: impl FnMut(usize, usize, [f32; 4]),
) {
    // The parent index of a root is out of range.
    let above = |k: usize| model.get(usize::from(parents[k])).unwrap_or(&Affine::IDENTITY);
    let (inverse, origin) = inverses(s, columns_of_four(s, [above(0), above(1), above(2), above(3)]));
    let [x, y, z, t] = columns_of_four(s, own);
    // Subtract the parent's origin first: the difference is exact for close positions, but not for rounded
    // products.
    let t = [t[0] - origin[0], t[1] - origin[1], t[2] - origin[2]];
    let mut sum = f32x8::splat(s, 0.0);
    each!(r in [0, 1, 2] => {
        let xy = dot(inverse[r], x).narrow(dot(inverse[r], y));
        let zt = dot(inverse[r], z).narrow(dot(inverse[r], t));
        sum += xy + zt;
        let ((x, y), (z, t)) = (xy.split(), zt.split());
        let rows = transpose([x, y, z, t]);
        each!(k in [0, 1, 2, 3] => put(k, r, rows[k].to_array()));
    });
    *zero += sum * 0.0;
    each!(k in [0, 1, 2, 3] => {
        if parents[k] == NO_PARENT {
            each!(r in [0, 1, 2] => put(k, r, own[k].rows[r]));
        }
    });
}

/// Returns the columns of four matrices, one matrix per lane.
#[inline(always)]
fn columns_of_four<S: Simd>(s: S, [a, b, c, d]: [&Affine; 4]) -> [Vectors<S>; 4] {
    let mut columns = [[f64x4::splat(s, 0.0); 3]; 4];
    each!(r in [0, 1, 2] => {
        let row = |m: &Affine| f32x4::load_array_ref(s, &m.rows[r]);
        let [x, y, z, t] = transpose([row(a), row(b), row(c), row(d)]);
        (columns[0][r], columns[1][r]) = x.combine(y).widen();
        (columns[2][r], columns[3][r]) = z.combine(t).widen();
    });
    columns
}

/// Returns the rows of the inverses of the upper 3x3 parts, NaN for singular ones, and the translations.
#[inline(always)]
fn inverses<S: Simd>(s: S, [a, b, c, origin]: [Vectors<S>; 4]) -> ([Vectors<S>; 3], Vectors<S>) {
    let cofactors = [cross(b, c), cross(c, a), cross(a, b)];
    let determinant = dot(a, cofactors[0]);
    // Squared, which avoids square roots. Neither side overflows: f64 can hold the sixth power of any f32.
    let largest2 = dot(a, a) * dot(b, b) * dot(c, c);
    let regular = (determinant * determinant).simd_gt(largest2 * (MIN_DETERMINANT * MIN_DETERMINANT));
    let factor = regular.select(1.0 / determinant, f64x4::splat(s, f64::NAN));
    let scaled = |row: Vectors<S>| [row[0] * factor, row[1] * factor, row[2] * factor];
    ([scaled(cofactors[0]), scaled(cofactors[1]), scaled(cofactors[2])], origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::local_to_model;
    use crate::skeleton::Joint;
    use crate::testing::reference;
    use crate::testing::{Random, SIZES, assert_close, assert_portable, tries};
    use condyle_base::math::Transform;
    use condyle_base::simd::Dispatch;
    use std::{vec, vec::Vec};

    #[test]
    fn every_size_undoes_local_to_model() {
        for &joints in SIZES {
            let mut random = Random(joints as u64);
            let (skeleton, pose) = (random.skeleton(joints), random.pose(joints));
            let want: Vec<_> = reference::locals(&pose).iter().map(reference::local_matrix).collect();
            for dispatch in Dispatch::all() {
                let mut model = vec![Affine::IDENTITY; joints];
                let mut local = model.clone();
                dispatch.scope(|| {
                    local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
                    model_to_local(&skeleton, &model, &mut local).expect("invertible matrices");
                });
                for (joint, (got, want)) in local.iter().zip(&want).enumerate() {
                    // The inverse magnifies the rounding error of local_to_model.
                    let case = format_args!("{dispatch}, joint {joint} of {joints}");
                    assert_close(got.rows.as_flattened(), want.as_flattened(), 2e-5, case);
                }
            }
        }
    }

    /// Random matrices, sheared and mirrored, compared with the reference for the same input.
    #[test]
    fn any_matrices_are_the_formula() {
        let mut random = Random(6);
        let skeleton = random.skeleton(67);
        let mut any = || Affine { rows: [random.vector(1.0), random.vector(1.0), random.vector(1.0)] };
        let model: Vec<_> = (0..67).map(|_| any()).collect();
        let mut local = vec![Affine::IDENTITY; 67];
        model_to_local(&skeleton, &model, &mut local).expect("invertible matrices");
        let wide: Vec<_> = model.iter().map(reference::matrix).collect();
        for (got, want) in local.iter().zip(reference::model_to_local(&skeleton, &wide)) {
            let size = want.as_flattened().iter().fold(1.0_f64, |a, v| a.max(v.abs()));
            assert_close(got.rows.as_flattened(), want.as_flattened(), 1e-7 * size, "any matrix");
        }
    }

    #[test]
    fn the_bits_are_the_same_everywhere() {
        assert_portable(0x0056_b565_a871_c496, |hash| {
            let mut random = Random(22);
            let skeleton = random.skeleton(60);
            let mut model = vec![Affine::IDENTITY; 60];
            let mut local = model.clone();
            for _ in 0..4 {
                local_to_model(&skeleton, &random.pose(60), &mut model).expect("sizes agree");
                model_to_local(&skeleton, &model, &mut local).expect("invertible matrices");
                local.iter().for_each(|m| hash.add(m.rows.as_flattened()));
            }
        });
    }

    #[test]
    fn a_flat_parent_and_wrong_sizes_are_refused() {
        let skeleton = Random(1).skeleton(3);
        let mut model = [Affine::IDENTITY; 3];
        let mut local = model;
        let refused = model_to_local(&skeleton, &model[..2], &mut local);
        assert_eq!(refused, Err(Error::Length { what: "model", found: 2, needed: 3 }));
        let refused = model_to_local(&skeleton, &model, &mut local[..1]);
        assert_eq!(refused, Err(Error::Length { what: "local", found: 1, needed: 3 }));
        model[0].rows[1] = [0.0; 4];
        let refused = model_to_local(&skeleton, &model, &mut local);
        assert_eq!(refused, Err(Error::NotInvertible { what: "model", at: 0 }));
        // A leaf may be flat.
        let mut model = [Affine::IDENTITY; 3];
        model[2].rows[1] = [0.0; 4];
        assert_eq!(model_to_local(&skeleton, &model, &mut local), Ok(()));
    }

    /// A chain in which joint 0 is the parent of joint 1, and joint 1 the parent of joint 2.
    fn chain() -> (Skeleton, [Affine; 3]) {
        let joint = |parent| Joint::new("joint", parent, Transform::IDENTITY);
        (
            Skeleton::new([joint(None), joint(Some(0)), joint(Some(1))]).expect("a chain"),
            [Affine::IDENTITY; 3],
        )
    }

    #[test]
    fn what_is_not_finite_is_blamed_on_the_joint_that_holds_it() {
        let (skeleton, clean) = chain();
        for (at, bad) in (0..3).flat_map(|at| [f32::NAN, f32::INFINITY].map(|bad| (at, bad))) {
            let mut model = clean;
            model[at].rows[1][at + 1] = bad;
            let refused = model_to_local(&skeleton, &model, &mut clean.clone());
            assert_eq!(refused, Err(Error::NotFinite { what: "model", at }), "{bad}");
        }
    }

    #[test]
    fn parents_are_flat_where_no_digit_is_right() {
        let (skeleton, clean) = chain();
        let run = |parent: Affine| {
            let mut model = clean;
            model[1] = parent;
            model_to_local(&skeleton, &model, &mut clean.clone())
        };
        let flat = Err(Error::NotInvertible { what: "model", at: 1 });
        // Two columns that are parallel except for this angle.
        let lean = |angle: f32| Affine {
            rows: [[1.0, 1.0, 0.0, 0.0], [0.0, angle, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
        };
        assert_eq!(run(lean(3e-7)), Ok(()));
        assert_eq!(run(lean(-3e-7)), Ok(()));
        assert_eq!(run(lean(2e-7)), flat);
        assert_eq!(run(lean(-2e-7)), flat);
        // Rounding leaves a determinant without correct digits.
        let row = [0.1, 0.7, -0.3, 0.0];
        let twice = row.map(|v: f32| 3.3 * v);
        assert_eq!(run(Affine { rows: [row, twice, [0.5, -0.2, 0.9, 0.0]] }), flat);
        // Scale is not shear.
        for scale in [[1.0, 1e-12, 1e12], [1e-18; 3], [1e18; 3], [-1.0, 1e-20, 1.0]] {
            let rotation = Random(7).unit();
            assert_eq!(run(Transform { scale, rotation, ..Transform::IDENTITY }.into()), Ok(()), "{scale:?}");
        }
        // The local matrix overflows f32.
        let mut model = clean;
        model[1] = Transform { scale: [1e-30; 3], ..Transform::IDENTITY }.into();
        model[2] = Transform { scale: [1e30; 3], ..Transform::IDENTITY }.into();
        assert_eq!(model_to_local(&skeleton, &model, &mut clean.clone()), flat);
    }

    /// The first joint with an error is reported, at any lane of its group and with any errors after it.
    #[test]
    fn faults_are_found_in_the_order_of_joints() {
        let mut random = Random(36);
        for case in 0..tries(300) {
            let joints = 2 + random.below(40);
            let skeleton = random.skeleton(joints);
            let mut model = vec![Affine::IDENTITY; joints];
            local_to_model(&skeleton, &random.pose(joints), &mut model).expect("sizes agree");
            let mut broken = vec![None; joints];
            for _ in 0..1 + case % 3 {
                let at = random.below(joints);
                let flat = random.below(2) == 0;
                let rows = &mut model[at].rows;
                rows[1] = if flat { rows[2] } else { [f32::NAN; 4] };
                broken[at] = Some(flat);
            }
            let fault = |joint: usize| {
                if broken[joint] == Some(false) || model[joint].rows[1][0].is_nan() {
                    return Some(Error::NotFinite { what: "model", at: joint });
                }
                let parent = skeleton.parent(joint as u16).map(usize::from)?;
                (broken[parent] == Some(true)).then_some(Error::NotInvertible { what: "model", at: parent })
            };
            let want = (0..joints).find_map(fault).map_or(Ok(()), Err);
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| model_to_local(&skeleton, &model, &mut model.clone()));
                assert_eq!(got, want, "{dispatch}, case {case}: {broken:?}");
            }
        }
    }

    /// Finite matrices are accepted even if their sum overflows. A root keeps its bits, including the sign of
    /// zero.
    #[test]
    fn the_largest_numbers_pass() {
        let (skeleton, clean) = chain();
        for dispatch in Dispatch::all() {
            let mut model = clean;
            model[0].rows[1][2] = -0.0;
            model[2].rows = [[f32::MAX; 4], [-f32::MAX; 4], [f32::MAX; 4]];
            let mut local = clean;
            dispatch.scope(|| model_to_local(&skeleton, &model, &mut local)).expect("finite values");
            assert_eq!(local, model, "{dispatch}");
            assert!(local[0].rows[1][2].is_sign_negative(), "{dispatch}");
        }
    }
}
