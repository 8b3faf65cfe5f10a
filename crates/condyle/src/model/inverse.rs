//! From model-space matrices back to local ones.

use crate::{Affine, Error, Skeleton};

/// Turns model-space matrices into local ones: the inverse of [`local_to_model`](super::local_to_model).
///
/// `local[j]` receives `inverse(model[parent]) * model[j]`, or `model[j]` for a root. What was placed by something else
/// than a pose, a simulation or a constraint, becomes local again; whether these matrices are transforms of
/// a pose is another question. In f64, rounded once, the same in both numeric modes.
///
/// # Errors
/// [`Error::Length`] if `model` or `local` do not hold one matrix per joint; [`Error::NotInvertible`] for a parent that
/// flattens its children, after which `local` is of no use.
pub fn model_to_local(skeleton: &Skeleton, model: &[Affine], local: &mut [Affine]) -> Result<(), Error> {
    Error::check_len("model", model.len(), skeleton.joint_count())?;
    Error::check_len("local", local.len(), skeleton.joint_count())?;
    // Siblings often follow each other: their parent is inverted once.
    let mut last = None;
    for (out, joint) in local.iter_mut().zip(0_u16..) {
        let own = &model[usize::from(joint)];
        let Some(parent) = skeleton.parent(joint) else {
            *out = *own;
            continue;
        };
        let inverse = match last {
            Some((of, inverse)) if of == parent => inverse,
            _ => invert(&model[usize::from(parent)]),
        };
        last = Some((parent, inverse));
        *out = multiply(&inverse, own);
        if !out.rows.as_flattened().iter().all(|v| v.is_finite()) {
            return Err(Error::NotInvertible { what: "model", at: parent.into() });
        }
    }
    Ok(())
}

/// Not finite where there is none.
fn invert(m: &Affine) -> [[f64; 4]; 3] {
    let [a, b, c] = m.rows.map(|row| row.map(f64::from));
    let cross = |a: [f64; 4], b: [f64; 4]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let (bc, ca, ab) = (cross(b, c), cross(c, a), cross(a, b));
    let factor = 1.0 / (a[0] * bc[0] + a[1] * bc[1] + a[2] * bc[2]);
    core::array::from_fn(|r| {
        let (x, y, z) = (bc[r] * factor, ca[r] * factor, ab[r] * factor);
        [x, y, z, -(x * a[3] + y * b[3] + z * c[3])]
    })
}

fn multiply(a: &[[f64; 4]; 3], b: &Affine) -> Affine {
    let b = b.rows.map(|row| row.map(f64::from));
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
    use crate::testing::{Random, SIZES, assert_close, assert_portable};
    use crate::{Dispatch, local_to_model, reference};
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
}
