//! Computes `a exp(t log(a⁻¹ b))`: a rotation about the axis between the two. Grassia 1998; Blow 2004.

use fearless_simd::prelude::*;

use super::factor::Factors;
use super::kernel::{dot, hemisphere, order, vector_block};
use super::method::Arc;
use crate::pose::PoseBlock;
use condyle_base::math::exp_map::{between, exp, log, product};
use condyle_base::simd::{BLOCK, Mode, Portable, dispatch, load, load_all, store_all};

/// Interpolates blocks with a factor per joint.
pub(super) fn blocks(
    arc: Arc,
    factors: &Factors<'_>,
    from: &[PoseBlock],
    to: &[PoseBlock],
    out: &mut [PoseBlock],
) {
    let given = arc == Arc::AsGiven;
    dispatch!(|s, mode| kernel(s, mode, given, factors, from, to, out));
}

#[inline(always)]
fn kernel<S: Simd, M: Mode>(
    s: S,
    mode: M,
    given: bool,
    factors: &Factors<'_>,
    from: &[PoseBlock],
    to: &[PoseBlock],
    out: &mut [PoseBlock],
) {
    for (i, ((from, to), out)) in from.iter().zip(to).zip(out).enumerate() {
        let t = factors.of_block(i);
        for at in (0..BLOCK).step_by(S::f32s::LEN) {
            let (a, mut b) = (load_all(s, &from.rotation, at), load_all(s, &to.rotation, at));
            if !given {
                // Not fused, like every dot product whose sign selects the arc.
                let sign = hemisphere(s, dot(Portable, &a, &b));
                b = [b[0] * sign, b[1] * sign, b[2] * sign, b[3] * sign];
            }
            let (near, far, f) = order(s, load(s, &t, at), a, b);
            let turn = between::<S>(&near, &far);
            let [x, y, z] =
                if given { log::<S, M, true>(s, mode, &turn) } else { log::<S, M, false>(s, mode, &turn) };
            let part = exp(s, mode, &[x * f, y * f, z * f]);
            store_all(&mut out.rotation, at, product::<S, M>(mode, &near, &part));
        }
        vector_block(s, mode, &from.translation, &to.translation, &t, &mut out.translation);
        vector_block(s, mode, &from.scale, &to.scale, &t, &mut out.scale);
    }
}
