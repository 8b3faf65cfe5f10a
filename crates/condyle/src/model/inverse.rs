//! From model-space matrices back to local ones.

use crate::error::Error;
use crate::math::Affine;
use crate::math::vectors::{columns, dot};
use crate::skeleton::Skeleton;

/// Turns model-space matrices into local ones: the inverse of [`local_to_model`](super::local_to_model).
///
/// `local[j]` receives `inverse(model[parent]) * model[j]`, or `model[j]` for a root. So joints that a
/// simulation or a constraint has placed become local again, though not every such matrix is a transform that
/// a pose can hold. In f64, rounded once, the same in both numeric modes.
///
/// # Errors
/// [`Error::Length`] if `model` or `local` do not hold one matrix per joint; [`Error::NotFinite`] for the
/// first matrix that holds NaN or an infinity; [`Error::NotInvertible`] for a parent whose matrix is
/// singular, or for which a child's local matrix overflows f32. `local` is then unspecified. A matrix counts
/// as singular if an error in the last place of f32 could make it so: if the determinant is less than 2^-22
/// of the product of the columns' lengths. Scales do not matter, however unequal; shear does.
///
/// ```
/// use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model, model};
///
/// # let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
/// # let arm = [Joint::new("shoulder", None, up), Joint::new("elbow", Some(0), up)];
/// # let skeleton = Skeleton::new(arm)?;
/// let mut placed = vec![Affine::IDENTITY; 2];
/// local_to_model(&skeleton, &Pose::rest(&skeleton), &mut placed)?;
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
    // Siblings often follow each other: their parent is inverted once.
    let mut last = None;
    for (out, joint) in local.iter_mut().zip(0_u16..) {
        let own = &model[usize::from(joint)];
        if !is_finite(own) {
            return Err(Error::NotFinite { what: "model", at: joint.into() });
        }
        let Some(parent) = skeleton.parent(joint) else {
            *out = *own;
            continue;
        };
        let flat = Error::NotInvertible { what: "model", at: parent.into() };
        let inverse = match last {
            Some((of, inverse)) if of == parent => inverse,
            _ => invert(&model[usize::from(parent)]).ok_or(flat.clone())?,
        };
        last = Some((parent, inverse));
        *out = multiply(&inverse, own);
        if !is_finite(out) {
            return Err(flat);
        }
    }
    Ok(())
}

fn is_finite(m: &Affine) -> bool {
    m.rows.as_flattened().iter().all(|v| v.is_finite())
}

/// The determinant below which a matrix counts as singular, relative to the product of the columns' lengths.
/// Below it the rounding of the columns to f32, 2^-24 of each, leaves no correct digit. [`Affine::inverse`]
/// has no such bound: it inverts any matrix that has an inverse, where here the caller is told that the way
/// back is lost.
const MIN_DETERMINANT: f64 = 1.0 / 4_194_304.0;

/// `None` for a singular matrix.
fn invert(m: &Affine) -> Option<[[f64; 4]; 3]> {
    let (inverse, determinant) = m.inverse_f64();
    // Squared, which saves the roots. Neither overflows, as f64 holds the sixth power of what f32 does.
    let largest2: f64 = columns(&m.to_f64()).map(|column| dot(column, column)).iter().product();
    (determinant * determinant > MIN_DETERMINANT * MIN_DETERMINANT * largest2).then_some(inverse)
}

fn multiply(a: &[[f64; 4]; 3], b: &Affine) -> Affine {
    let b = b.to_f64();
    let mut product = Affine::IDENTITY;
    for (out, a) in product.rows.iter_mut().zip(a) {
        for (c, out) in out.iter_mut().enumerate() {
            let last = if c == 3 { a[3] } else { 0.0 };
            *out = (a[0] * b[0][c] + a[1] * b[1][c] + a[2] * b[2][c] + last) as f32;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Transform;
    use crate::model::local_to_model;
    use crate::reference;
    use crate::simd::Dispatch;
    use crate::skeleton::Joint;
    use crate::testing::{Random, SIZES, assert_close, assert_portable};
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
                    model_to_local(&skeleton, &model, &mut local).expect("nothing is flat");
                });
                for (joint, (got, want)) in local.iter().zip(&want).enumerate() {
                    // What local_to_model rounds, its inverse magnifies.
                    let case = format_args!("{dispatch}, joint {joint} of {joints}");
                    assert_close(got.rows.as_flattened(), want.as_flattened(), 2e-5, case);
                }
            }
        }
    }

    /// Of any matrices, sheared and mirrored: against the reference on the same input.
    #[test]
    fn any_matrices_are_the_formula() {
        let mut random = Random(6);
        let skeleton = random.skeleton(67);
        let mut any = || Affine { rows: [random.vector(1.0), random.vector(1.0), random.vector(1.0)] };
        let model: Vec<_> = (0..67).map(|_| any()).collect();
        let mut local = vec![Affine::IDENTITY; 67];
        model_to_local(&skeleton, &model, &mut local).expect("nothing is flat");
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
                model_to_local(&skeleton, &model, &mut local).expect("nothing is flat");
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

    /// Joint 1 is the parent of joint 2, and joint 0 that of joint 1.
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
        // Two columns that lean towards each other, all but for such an angle.
        let lean = |angle: f32| Affine {
            rows: [[1.0, 1.0, 0.0, 0.0], [0.0, angle, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
        };
        assert_eq!(run(lean(3e-7)), Ok(()));
        assert_eq!(run(lean(-3e-7)), Ok(()));
        assert_eq!(run(lean(2e-7)), flat);
        assert_eq!(run(lean(-2e-7)), flat);
        // Rounding leaves a determinant, but not a right one.
        let row = [0.1, 0.7, -0.3, 0.0];
        let twice = row.map(|v: f32| 3.3 * v);
        assert_eq!(run(Affine { rows: [row, twice, [0.5, -0.2, 0.9, 0.0]] }), flat);
        // Scales are no shear.
        for scale in [[1.0, 1e-12, 1e12], [1e-18; 3], [1e18; 3], [-1.0, 1e-20, 1.0]] {
            let rotation = Random(7).unit();
            assert_eq!(run(Transform { scale, rotation, ..Transform::IDENTITY }.into()), Ok(()), "{scale:?}");
        }
        // Beyond what f32 can hold.
        let mut model = clean;
        model[1] = Transform { scale: [1e-30; 3], ..Transform::IDENTITY }.into();
        model[2] = Transform { scale: [1e30; 3], ..Transform::IDENTITY }.into();
        assert_eq!(model_to_local(&skeleton, &model, &mut clean.clone()), flat);
    }
}
