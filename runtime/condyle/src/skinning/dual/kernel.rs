//! The kernel of dual-quaternion skinning, which processes a group of eight vertices at a time.
//!
//! Sums are computed for two vertices at a time, like sums of matrices. After that each lane is a vertex:
//! rotations are applied without conversion to a matrix, and the eight vertices share divisions and square
//! roots.

use fearless_simd::{f32x8, mask32x8, prelude::*};

use super::sums::Sums;
use crate::mesh::{GROUP_VERTICES, VertexSlices, VertexSlicesMut};
use crate::skinning::call::{DualCall, InfluenceRows, Normals};
use crate::skinning::packed::{PACKED, copy_front, load_two, packed, packed_mut, store_two, two_tangents};
use crate::skinning::vectors::{move_points, turn as turn_two, unit_lanes};
use condyle_base::simd::{Mode, each, part, transpose_halves};

/// Three components of eight vertices, in the lane order of [`transpose_halves`].
type Three<S> = [f32x8<S>; 3];

/// Skins whole groups. The starts of `rows` and all arrays except tangents hold one more element. A vertex
/// with a share below 1 is mixed with the content of `posed`.
#[inline(always)]
pub(in crate::skinning) fn skin_dual<S: Simd, M: Mode, const STRETCHED: bool>(
    s: S,
    mode: M,
    call: &DualCall<'_>,
    rows: InfluenceRows<'_>,
    bind: VertexSlices<'_>,
    posed: &mut VertexSlicesMut<'_>,
) -> Option<()> {
    let InfluenceRows { groups, starts } = rows;
    let (normals, tangents) = (call.frames.normals != Normals::None, call.frames.tangents);
    let mut sums = Sums::zero(s);
    for at in 0..starts.len() / GROUP_VERTICES {
        let first = at * GROUP_VERTICES;
        let Some(mix) = Mix::of(s, call.shares.get(first..).unwrap_or(&[])) else { continue };
        let (starts, longest) = (starts.get(first..)?.first_chunk()?, groups.get(at)?.count);
        part(
            #[inline(always)]
            || sums.make::<M, STRETCHED>(s, mode, call, starts, longest),
        )?;
        let turn = part(
            #[inline(always)]
            || Turn::of::<M, STRETCHED>(s, mode, call, &sums),
        );

        let mut from = load_pairs(s, packed(bind.positions, first)?);
        if STRETCHED {
            each!(pair in [0, 1, 2, 3] => from[pair] = move_points(mode, &sums.stretches[pair], from[pair]));
        }
        let mut points = turn.points(mode, transpose_halves(from));
        let to = packed_mut(posed.positions, first)?;
        if !mix.is_whole {
            points = mix.vectors(mode, load_packed(s, to), points);
        }
        store_packed(to, points);
        if normals {
            let mut from = load_pairs(s, packed(bind.normals, first)?);
            if STRETCHED {
                each!(pair in [0, 1, 2, 3] => from[pair] = turn_two(mode, &sums.normals[pair], from[pair]));
            }
            let mut vectors = part(
                #[inline(always)]
                || unit_lanes(s, mode, turn.directions(mode, transpose_halves(from))),
            );
            let to = packed_mut(posed.normals, first)?;
            if !mix.is_whole {
                vectors = mix.directions(s, mode, load_packed(s, to), vectors);
            }
            store_packed(to, vectors);
        }
        if tangents {
            let mut from = tangent_pairs(s, bind.tangents.get(first..)?.first_chunk()?);
            let [.., hands] = transpose_halves(from);
            let mut hands = hands * turn.hand;
            if STRETCHED {
                hands *= sums.hands(s, mode);
                each!(pair in [0, 1, 2, 3] => from[pair] = turn_two(mode, &sums.stretches[pair], from[pair]));
            }
            let mut vectors = part(
                #[inline(always)]
                || unit_lanes(s, mode, turn.directions(mode, transpose_halves(from))),
            );
            let to = posed.tangents.get_mut(first..)?.first_chunk_mut()?;
            if !mix.is_whole {
                let [x, y, z, linear] = transpose_halves(tangent_pairs(s, to));
                vectors = mix.directions(s, mode, [x, y, z], vectors);
                hands = mix.share.simd_ge(f32x8::splat(s, 0.5)).select(hands, linear);
            }
            store_tangents(to, vectors, hands);
        }
    }
    Some(())
}

/// The rotations and translations of eight vertices.
struct Turn<S: Simd> {
    /// The quaternions may have any length: results are multiplied by `factor`.
    axis: Three<S>,
    cos: f32x8<S>,
    along: Three<S>,
    dual_cos: f32x8<S>,
    /// Two, divided by the squared length of the quaternion.
    factor: f32x8<S>,
    /// Factors to apply to points first, and to directions.
    scale: Three<S>,
    flip: Three<S>,
    hand: f32x8<S>,
    /// Whether the vertex has influences.
    exists: mask32x8<S>,
}

impl<S: Simd> Turn<S> {
    #[inline(always)]
    fn of<M: Mode, const STRETCHED: bool>(s: S, mode: M, call: &DualCall<'_>, sums: &Sums<S>) -> Self {
        let (zero, one) = (f32x8::splat(s, 0.0), f32x8::splat(s, 1.0));
        let [x, y, z, cos] = transpose_halves(sums.real);
        let [u, v, w, dual_cos] = transpose_halves(sums.dual);
        let square = mode.madd(cos, cos, mode.madd(z, z, mode.madd(y, y, x * x)));
        let exists = square.simd_gt(zero);
        let [kx, ky, kz] = call.palette.scale;
        let (scale, flip, hand) = if STRETCHED {
            // Stretched vectors are weighted sums, so divide by the sum of the weights.
            let part = one / exists.select(sums.weights(), one);
            ([part; 3], [part; 3], one)
        } else {
            let hand = one.copysign(f32x8::splat(s, kx));
            let scale = [f32x8::splat(s, kx), f32x8::splat(s, ky), f32x8::splat(s, kz)];
            (scale, [hand, one, one], exists.select(hand, one))
        };
        let factor = exists.select((one + one) / square, zero);
        Self { axis: [x, y, z], cos, along: [u, v, w], dual_cos, factor, scale, flip, hand, exists }
    }

    /// Returns points after scale, rotation and translation.
    #[inline(always)]
    fn points<M: Mode>(&self, mode: M, [x, y, z, _]: [f32x8<S>; 4]) -> Three<S> {
        let p = times([x, y, z], self.scale);
        let ([cx, cy, cz], [ux, uy, uz]) = (self.across(mode, p), self.along);
        let [tx, ty, tz] = cross(mode, self.axis, [cx + ux, cy + uy, cz + uz]);
        let [ax, ay, az] = self.axis;
        let t = [
            mode.madd(self.cos, ux, tx) - self.dual_cos * ax,
            mode.madd(self.cos, uy, ty) - self.dual_cos * ay,
            mode.madd(self.cos, uz, tz) - self.dual_cos * az,
        ];
        self.added(mode, t, p)
    }

    /// Returns rotated directions of any length.
    #[inline(always)]
    fn directions<M: Mode>(&self, mode: M, [x, y, z, _]: [f32x8<S>; 4]) -> Three<S> {
        let v = times([x, y, z], self.flip);
        let t = cross(mode, self.axis, self.across(mode, v));
        self.added(mode, t, v)
    }

    /// Returns the cross product of the axis and `v`, plus `v` times the cosine.
    #[inline(always)]
    fn across<M: Mode>(&self, mode: M, v: Three<S>) -> Three<S> {
        let [x, y, z] = cross(mode, self.axis, v);
        [mode.madd(self.cos, v[0], x), mode.madd(self.cos, v[1], y), mode.madd(self.cos, v[2], z)]
    }

    #[inline(always)]
    fn added<M: Mode>(&self, mode: M, t: Three<S>, v: Three<S>) -> Three<S> {
        let zero = f32x8::splat(self.factor.token(), 0.0);
        [
            self.exists.select(mode.madd(self.factor, t[0], v[0]), zero),
            self.exists.select(mode.madd(self.factor, t[1], v[1]), zero),
            self.exists.select(mode.madd(self.factor, t[2], v[2]), zero),
        ]
    }
}

/// The shares of dual quaternions in eight vertices.
struct Mix<S: Simd> {
    share: f32x8<S>,
    /// Whether all shares are 1.
    is_whole: bool,
}

impl<S: Simd> Mix<S> {
    /// Returns `None` if all shares are 0. Without `shares`, all shares are 1.
    #[inline(always)]
    fn of(s: S, shares: &[f32]) -> Option<Self> {
        if shares.is_empty() {
            return Some(Self { share: f32x8::splat(s, 1.0), is_whole: true });
        }
        let mut own = [0.0; GROUP_VERTICES];
        copy_front(&mut own, shares);
        let [a, b, c, d, e, f, g, h] = own;
        let share = f32x8::load_array(s, [a, c, e, g, b, d, f, h]);
        let any = share.simd_gt(f32x8::splat(s, 0.0)).any_true();
        any.then(|| Self { share, is_whole: share.simd_ge(f32x8::splat(s, 1.0)).all_true() })
    }

    /// Mixes vectors. Shares of 0 and 1 return the linear or dual vector exactly.
    #[inline(always)]
    fn vectors<M: Mode>(&self, mode: M, linear: Three<S>, dual: Three<S>) -> Three<S> {
        let one = f32x8::splat(self.share.token(), 1.0);
        let left = one - self.share;
        let mixed = [
            mode.madd(self.share, dual[0], left * linear[0]),
            mode.madd(self.share, dual[1], left * linear[1]),
            mode.madd(self.share, dual[2], left * linear[2]),
        ];
        self.ends(linear, dual, mixed)
    }

    /// Mixes unit vectors and normalises the result.
    #[inline(always)]
    fn directions<M: Mode>(&self, s: S, mode: M, linear: Three<S>, dual: Three<S>) -> Three<S> {
        let mixed = unit_lanes(s, mode, self.vectors(mode, linear, dual));
        self.ends(linear, dual, mixed)
    }

    #[inline(always)]
    fn ends(&self, linear: Three<S>, dual: Three<S>, mixed: Three<S>) -> Three<S> {
        let s = self.share.token();
        let none = self.share.simd_le(f32x8::splat(s, 0.0));
        let whole = self.share.simd_ge(f32x8::splat(s, 1.0));
        [
            none.select(linear[0], whole.select(dual[0], mixed[0])),
            none.select(linear[1], whole.select(dual[1], mixed[1])),
            none.select(linear[2], whole.select(dual[2], mixed[2])),
        ]
    }
}

#[inline(always)]
fn times<S: Simd>(a: Three<S>, b: Three<S>) -> Three<S> {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2]]
}

#[inline(always)]
fn cross<S: Simd, M: Mode>(mode: M, a: Three<S>, b: Three<S>) -> Three<S> {
    [
        mode.msub(a[1], b[2], a[2] * b[1]),
        mode.msub(a[2], b[0], a[0] * b[2]),
        mode.msub(a[0], b[1], a[1] * b[0]),
    ]
}

/// Loads eight packed vectors, two in each register.
#[inline(always)]
fn load_pairs<S: Simd>(s: S, packed: &[f32; PACKED]) -> [f32x8<S>; 4] {
    [load_two(s, packed, 0), load_two(s, packed, 1), load_two(s, packed, 2), load_two(s, packed, 3)]
}

/// Loads eight packed vectors, one per lane.
#[inline(always)]
fn load_packed<S: Simd>(s: S, packed: &[f32; PACKED]) -> Three<S> {
    let [x, y, z, _] = transpose_halves(load_pairs(s, packed));
    [x, y, z]
}

/// Stores eight packed vectors. The number after them is unchanged.
#[inline(always)]
fn store_packed<S: Simd>(packed: &mut [f32; PACKED], [x, y, z]: Three<S>) {
    let after = packed[PACKED - 1];
    let [a, b, c, d] = transpose_halves([x, y, z, z]);
    store_two(packed, 0, a);
    store_two(packed, 1, b);
    store_two(packed, 2, c);
    store_two(packed, 3, d);
    packed[PACKED - 1] = after;
}

#[inline(always)]
fn tangent_pairs<S: Simd>(s: S, tangents: &[[f32; 4]; GROUP_VERTICES]) -> [f32x8<S>; 4] {
    [
        two_tangents(s, tangents, 0),
        two_tangents(s, tangents, 1),
        two_tangents(s, tangents, 2),
        two_tangents(s, tangents, 3),
    ]
}

#[inline(always)]
fn store_tangents<S: Simd>(to: &mut [[f32; 4]; GROUP_VERTICES], [x, y, z]: Three<S>, hands: f32x8<S>) {
    let to = to.as_flattened_mut();
    let [a, b, c, d] = transpose_halves([x, y, z, hands]);
    a.store_slice(&mut to[0..8]);
    b.store_slice(&mut to[8..16]);
    c.store_slice(&mut to[16..24]);
    d.store_slice(&mut to[24..32]);
}
