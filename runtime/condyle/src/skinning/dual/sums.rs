//! Weighted sums of dual quaternions and stretches for a group of eight vertices, four influences at a time.

use fearless_simd::{f32x4, f32x8, mask32x8, prelude::*};

use crate::mesh::GROUP_VERTICES;
use crate::skinning::call::{DualCall, Normals};
use crate::skinning::parts::{DualPalette, DualQuat, PaletteMatrix};
use crate::skinning::rows::{Rows, blend_even};
use crate::skinning::vectors::{SURE, TwoMatrices, determinant_terms, determinants, inverse_transpose, join};
use condyle_base::simd::{Mode, each, part, spread_halves, transpose_halves};

/// The sums of a group, two vertices in each register.
pub(super) struct Sums<S: Simd> {
    /// Quaternions of any length, and their dual parts.
    pub(super) real: [f32x8<S>; 4],
    pub(super) dual: [f32x8<S>; 4],
    heaviest: [f32x8<S>; 4],
    /// Weighted stretches, if joints stretch.
    pub(super) stretches: [TwoMatrices<S>; 4],
    /// Matrices to apply to normals before the rotation.
    pub(super) normals: [TwoMatrices<S>; 4],
}

/// Four influences of each vertex of a group.
struct Four {
    joints: [[u16; 4]; GROUP_VERTICES],
    weights: [[f32; 4]; GROUP_VERTICES],
}

/// Minimum length of a sum of quaternions or weights; the inverse is the maximum.
const LEAST: f32 = 1e-4;

impl<S: Simd> Sums<S> {
    /// Allocates the sums once: creating them for each group would cost as much as a sum.
    #[inline(always)]
    pub(super) fn zero(s: S) -> Self {
        let zero = [f32x8::splat(s, 0.0); 4];
        Self { real: zero, dual: zero, heaviest: zero, stretches: [zero; 4], normals: [zero; 4] }
    }

    /// Computes the sums of a group. If the influences of a vertex cancel, only its heaviest influence is
    /// used. `longest` is the number of influences of the vertex that has most, or 0 if it is not known.
    #[inline(always)]
    pub(super) fn make<M: Mode, const STRETCHED: bool>(
        &mut self,
        s: S,
        mode: M,
        call: &DualCall<'_>,
        starts: &[u32; GROUP_VERTICES + 1],
        longest: u8,
    ) -> Option<()> {
        let all_four = longest == 4 && starts[GROUP_VERTICES] - starts[0] == 4 * GROUP_VERTICES as u32;
        let is_done = all_four && call.rows.max_influences >= 4 && {
            let begin = starts[0] as usize;
            let joints = call.rows.joints.get(begin..)?.as_chunks().0.first_chunk()?;
            let weights = call.rows.weights.get(begin..)?.as_chunks().0.first_chunk()?;
            self.add_four::<M, STRETCHED, true>(s, mode, call, joints, weights)?;
            self.are_sure::<M, STRETCHED>(s, mode).all_true()
        };
        if !is_done {
            part(
                #[inline(always)]
                || self.make_any::<M, STRETCHED>(s, mode, call, starts),
            )?;
        }
        if STRETCHED {
            part(
                #[inline(always)]
                || self.finish_normals(s, call),
            );
        }
        Some(())
    }

    /// Computes the sums of vertices with any number of influences.
    #[inline(always)]
    fn make_any<M: Mode, const STRETCHED: bool>(
        &mut self,
        s: S,
        mode: M,
        call: &DualCall<'_>,
        starts: &[u32; GROUP_VERTICES + 1],
    ) -> Option<()> {
        let mut counts = [0; GROUP_VERTICES];
        for (count, ends) in counts.iter_mut().zip(starts.windows(2)) {
            *count = (ends[1] - ends[0]).min(call.rows.max_influences);
        }
        let mut four = Four { joints: [[0; 4]; GROUP_VERTICES], weights: [[0.0; 4]; GROUP_VERTICES] };
        for _ in 0..2 {
            let zero = [f32x8::splat(s, 0.0); 4];
            (self.real, self.dual) = (zero, zero);
            if STRETCHED {
                (self.stretches, self.normals) = ([zero; 4], [zero; 4]);
            }
            let longest =
                counts.iter().fold(0, |longest, &count| if count > longest { count } else { longest });
            for at in (0..longest).step_by(4) {
                four.gather(call.rows, starts, &counts, at);
                if at == 0 {
                    self.heaviest = heaviest(s, &call.palette.quats, &four.joints)?;
                }
                part(
                    #[inline(always)]
                    || self.add_four::<M, STRETCHED, false>(s, mode, call, &four.joints, &four.weights),
                )?;
            }
            let sure = self.are_sure::<M, STRETCHED>(s, mode);
            if sure.all_true() {
                break;
            }
            let sure = sure.select(f32x8::splat(s, 1.0), f32x8::splat(s, 0.0)).to_array();
            for (v, count) in counts.iter_mut().enumerate() {
                if sure[place(v)] == 0.0 {
                    *count = (*count).min(1);
                }
            }
        }
        Some(())
    }

    /// Adds four influences of each vertex; with `BEGIN`, the previous sums are discarded.
    #[inline(always)]
    fn add_four<M: Mode, const STRETCHED: bool, const BEGIN: bool>(
        &mut self,
        s: S,
        mode: M,
        call: &DualCall<'_>,
        joints: &[[u16; 4]; GROUP_VERTICES],
        weights: &[[f32; 4]; GROUP_VERTICES],
    ) -> Option<()> {
        let (joints, weights) = (joints.as_chunks::<2>().0, weights.as_chunks::<2>().0);
        for (pair, (joints, weights)) in joints.iter().zip(weights).enumerate().take(GROUP_VERTICES / 2) {
            self.add_quats::<M, BEGIN>(s, mode, &call.palette.quats, pair, joints, weights)?;
            if STRETCHED {
                let DualPalette { stretches, normal_stretches, .. } = call.palette;
                let to = &mut self.stretches[pair];
                add_matrices::<_, _, BEGIN>(s, mode, stretches, joints, weights, to)?;
                if call.frames.normals == Normals::Own {
                    let to = &mut self.normals[pair];
                    add_matrices::<_, _, BEGIN>(s, mode, normal_stretches, joints, weights, to)?;
                }
            }
        }
        Some(())
    }

    /// Adds quaternions and their dual parts, with the sign that is closer to the heaviest influence.
    #[inline(always)]
    fn add_quats<M: Mode, const BEGIN: bool>(
        &mut self,
        s: S,
        mode: M,
        quats: &[DualQuat],
        pair: usize,
        joints: &[[u16; 4]; 2],
        weights: &[[f32; 4]; 2],
    ) -> Option<()> {
        let zero = f32x8::splat(s, 0.0);
        let (mut reals, mut duals) = ([zero; 4], [zero; 4]);
        each!(k in [0, 1, 2, 3] => {
            let (a, b) = (quats.get(usize::from(joints[0][k]))?, quats.get(usize::from(joints[1][k]))?);
            reals[k] = f32x4::load_array_ref(s, &a.real).combine(f32x4::load_array_ref(s, &b.real));
            duals[k] = f32x4::load_array_ref(s, &a.dual).combine(f32x4::load_array_ref(s, &b.dual));
        });
        let heaviest = if BEGIN { reals[0] } else { self.heaviest[pair] };
        // The lanes of each half are the four influences of a vertex.
        let [x, y, z, w] = transpose_halves([
            heaviest * reals[0],
            heaviest * reals[1],
            heaviest * reals[2],
            heaviest * reals[3],
        ]);
        let side = f32x8::splat(s, 1.0).copysign((x + y) + (z + w));
        let weights = f32x4::load_array_ref(s, &weights[0]).combine(f32x4::load_array_ref(s, &weights[1]));
        let weights = weights * side;
        let weights = [
            spread_halves::<S, 0>(weights),
            spread_halves::<S, 1>(weights),
            spread_halves::<S, 2>(weights),
            spread_halves::<S, 3>(weights),
        ];
        let (mut real, mut dual) = if BEGIN {
            (weights[0] * reals[0], weights[0] * duals[0])
        } else {
            (
                mode.madd(weights[0], reals[0], self.real[pair]),
                mode.madd(weights[0], duals[0], self.dual[pair]),
            )
        };
        each!(k in [1, 2, 3] => {
            real = mode.madd(weights[k], reals[k], real);
            dual = mode.madd(weights[k], duals[k], dual);
        });
        (self.real[pair], self.dual[pair]) = (real, dual);
        Some(())
    }

    /// Returns a mask of the sums that are neither close to zero nor too large for sums of weights.
    #[inline(always)]
    fn are_sure<M: Mode, const STRETCHED: bool>(&self, s: S, mode: M) -> mask32x8<S> {
        let (least, most) = (f32x8::splat(s, LEAST * LEAST), f32x8::splat(s, 1.0 / (LEAST * LEAST)));
        let [x, y, z, w] = transpose_halves(self.real);
        let square = mode.madd(w, w, mode.madd(z, z, mode.madd(y, y, x * x)));
        let sure = square.simd_ge(least) & square.simd_le(most);
        if !STRETCHED {
            return sure;
        }
        let weight = self.weights();
        let square = weight * weight;
        sure & square.simd_ge(least) & square.simd_le(most)
    }

    /// Returns the sums of the weights. Only valid if joints stretch.
    #[inline(always)]
    pub(super) fn weights(&self) -> f32x8<S> {
        let [a, b, c, d] = &self.stretches;
        let [.., weights] = transpose_halves([a[3], b[3], c[3], d[3]]);
        weights
    }

    /// Computes the matrices for normals if the palette has no separate ones.
    #[inline(always)]
    fn finish_normals(&mut self, s: S, call: &DualCall<'_>) {
        match call.frames.normals {
            Normals::Own | Normals::None => {}
            Normals::Blended => self.normals = self.stretches,
            Normals::Cofactors => {
                for (normals, stretches) in self.normals.iter_mut().zip(&self.stretches) {
                    let (a, b) = halves(stretches);
                    let (a, b) = (inverse_transpose(s, &a).0, inverse_transpose(s, &b).0);
                    *normals =
                        [a[0].combine(b[0]), a[1].combine(b[1]), a[2].combine(b[2]), a[3].combine(b[3])];
                }
            }
        }
    }

    /// Returns 1 if a stretch keeps the handedness, and -1 if it mirrors.
    #[inline(always)]
    pub(super) fn hands<M: Mode>(&self, s: S, mode: M) -> f32x8<S> {
        let one = f32x8::splat(s, 1.0);
        let [a, b, c, d] = &self.stretches;
        let determinants = determinants([
            determinant_terms(mode, a),
            determinant_terms(mode, b),
            determinant_terms(mode, c),
            determinant_terms(mode, d),
        ]);
        let side = one.copysign(self.weights());
        let size = determinants * one.copysign(determinants);
        let sure = size.simd_ge(f32x8::splat(s, *SURE.start())) & size.simd_le(f32x8::splat(s, *SURE.end()));
        if sure.all_true() {
            return side * one.copysign(determinants);
        }
        let mut exact = [1.0; GROUP_VERTICES];
        for (pair, stretches) in self.stretches.iter().enumerate() {
            let (a, b) = halves(stretches);
            exact[place(2 * pair)] = inverse_transpose(s, &a).1;
            exact[place(2 * pair + 1)] = inverse_transpose(s, &b).1;
        }
        side * f32x8::load_array(s, exact)
    }
}

/// Adds the weighted sums of matrices for two vertices.
#[inline(always)]
fn add_matrices<S: Simd, M: Mode, const BEGIN: bool>(
    s: S,
    mode: M,
    matrices: &[PaletteMatrix],
    joints: &[[u16; 4]; 2],
    weights: &[[f32; 4]; 2],
    to: &mut TwoMatrices<S>,
) -> Option<()> {
    let a = blend_even(s, mode, &joints[0], &weights[0], matrices)?;
    let sum = join(a, blend_even(s, mode, &joints[1], &weights[1], matrices)?);
    *to = if BEGIN { sum } else { [to[0] + sum[0], to[1] + sum[1], to[2] + sum[2], to[3] + sum[3]] };
    Some(())
}

/// Returns the lane of vertex `v` if each lane is a vertex.
#[inline(always)]
fn place(v: usize) -> usize {
    4 * (v % 2) + v / 2
}

/// Returns the matrices of both vertices.
#[inline(always)]
fn halves<S: Simd>([a, b, c, d]: &TwoMatrices<S>) -> ([f32x4<S>; 4], [f32x4<S>; 4]) {
    let ((a, e), (b, f), (c, g), (d, h)) = (a.split(), b.split(), c.split(), d.split());
    ([a, b, c, d], [e, f, g, h])
}

/// Returns the quaternions of the heaviest influences.
#[inline(always)]
fn heaviest<S: Simd>(s: S, quats: &[DualQuat], joints: &[[u16; 4]; GROUP_VERTICES]) -> Option<[f32x8<S>; 4]> {
    let mut out = [f32x8::splat(s, 0.0); 4];
    for (out, joints) in out.iter_mut().zip(joints.as_chunks::<2>().0) {
        let (a, b) = (quats.get(usize::from(joints[0][0]))?, quats.get(usize::from(joints[1][0]))?);
        *out = f32x4::load_array_ref(s, &a.real).combine(f32x4::load_array_ref(s, &b.real));
    }
    Some(out)
}

impl Four {
    /// Loads the influences of each vertex from `at` on, with weight 0 past the last one. A single influence
    /// gets all the weight.
    #[inline(always)]
    fn gather(
        &mut self,
        rows: Rows<'_>,
        starts: &[u32; GROUP_VERTICES + 1],
        counts: &[u32; GROUP_VERTICES],
        at: u32,
    ) {
        for v in 0..GROUP_VERTICES {
            let (begin, count) = ((starts[v] + at) as usize, counts[v].saturating_sub(at));
            let joints = rows.joints.get(begin..).and_then(|joints| joints.first_chunk::<4>());
            let weights = rows.weights.get(begin..).and_then(|weights| weights.first_chunk::<4>());
            if let (Some(joints), Some(weights)) = (joints, weights) {
                // The influences after a row belong to the next row, so their joints are valid too.
                (self.joints[v], self.weights[v]) = (*joints, *weights);
            } else {
                for k in 0..4 {
                    self.joints[v][k] = rows.joints.get(begin + k).copied().unwrap_or(0);
                    self.weights[v][k] = rows.weights.get(begin + k).copied().unwrap_or(0.0);
                }
            }
            for k in 0..4 {
                if k as u32 >= count {
                    self.weights[v][k] = 0.0;
                }
            }
            if at == 0 && counts[v] == 1 {
                self.weights[v][0] = 1.0;
            }
        }
    }
}
