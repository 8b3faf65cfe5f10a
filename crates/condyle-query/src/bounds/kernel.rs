//! Kernel: the box around all vertices from model matrices.

use fearless_simd::{f32x4, f32x8, prelude::*};

use super::aabb::Aabb;
use super::joints::{Group, JointBounds, LANES, Rounding, weighed};
use condyle_base::math::{Affine, sqrt};
use condyle_base::simd::{Mode, dispatch, each, transpose_halves};

/// One number for each of eight joints.
type Eight<S> = f32x8<S>;

/// Matrix rows of eight joints.
type Rows<S> = [[Eight<S>; 4]; 3];

/// Number of groups whose boxes are stored for the search for the outermost joints.
const KEPT: usize = 12;

/// Extents of the boxes of eight joints towards the six sides: along each axis, then against each.
type Reach = [[f32; LANES]; 6];

/// Returns the box, or `None` if a matrix or a result is not finite.
pub(super) fn posed(bounds: &JointBounds, model: &[Affine]) -> Option<Aabb> {
    let hull = dispatch!(|s, mode| hull(s, mode, bounds, model))?;
    let mut out = Aabb::EMPTY;
    for c in 0..3 {
        [out.min[c], out.max[c]] = weighed(&bounds.weights, hull.min[c], hull.max[c]);
    }
    Some(out)
}

/// Computes the box of each joint's vertices; boxes of matrices that are not finite are meaningless.
pub(super) fn boxes(bounds: &JointBounds, model: &[Affine], out: &mut [Aabb]) -> Option<()> {
    dispatch!(|s, mode| all_boxes(s, mode, bounds, model, out))
}

/// Box of the hulls of all joints. Computes the boxes of all joints first. Then reads the points only of
/// joints whose box reaches farthest to a side, along that side's axis alone. Returns `None` if a matrix is
/// not finite, because its box is then not finite either.
#[inline(always)]
fn hull<S: Simd, M: Mode>(s: S, mode: M, bounds: &JointBounds, model: &[Affine]) -> Option<Aabb> {
    let zero = f32x8::splat(s, 0.0);
    let mut unsound = [zero; 3];
    let mut best = [f32::NEG_INFINITY; 6];
    let mut kept: [Reach; KEPT] = [[[0.0; LANES]; 6]; KEPT];
    for groups in bounds.groups.chunks(KEPT) {
        let mut most = [f32x8::splat(s, f32::NEG_INFINITY); 6];
        // Group of the maximum in each lane.
        let mut whose = [zero; 6];
        for (at, (group, reach)) in groups.iter().zip(&mut kept).enumerate() {
            let at = f32x8::splat(s, at as f32);
            let rows = load(s, group, model)?;
            let (high, low) = around(s, mode, group, &rows, bounds.rounding);
            each!(r in [0, 1, 2] => {
                // NaN and infinities, times zero, make the sum NaN.
                unsound[r] = mode.madd(high[r], zero, mode.madd(low[r], zero, unsound[r]));
                let low = -low[r];
                whose[r] = high[r].simd_gt(most[r]).select(at, whose[r]);
                whose[r + 3] = low.simd_gt(most[r + 3]).select(at, whose[r + 3]);
                most[r] = most[r].max(high[r]);
                most[r + 3] = most[r + 3].max(low);
                high[r].store_array(&mut reach[r]);
                low.store_array(&mut reach[r + 3]);
            });
        }
        // The joint whose box reaches farthest to a side probably stays the farthest. Most other joints can
        // then be skipped.
        each!(side in [0, 1, 2, 3, 4, 5] => {
            let farthest = most[side].simd_eq(f32x8::splat(s, most[side].reduce_max())).to_bitmask();
            let lane = (farthest.trailing_zeros() as usize).min(LANES - 1);
            let at = whose[side].as_slice()[lane] as usize;
            let reach = drawn_in(s, mode, bounds, model, BoxSide { group: groups.get(at)?, lane, side }, &mut kept.get_mut(at)?[side])?;
            best[side] = best[side].max(reach);
        });
        for (group, reach) in groups.iter().zip(&mut kept) {
            let mut farther = f32x8::load_array_ref(s, &reach[0]).simd_gt(f32x8::splat(s, best[0]));
            each!(side in [1, 2, 3, 4, 5] => {
                farther |= f32x8::load_array_ref(s, &reach[side]).simd_gt(f32x8::splat(s, best[side]));
            });
            let mut left = farther.to_bitmask();
            while left != 0 {
                let lane = (left.trailing_zeros() as usize).min(LANES - 1);
                left &= left - 1;
                for side in 0..6 {
                    if reach[side][lane] > best[side] {
                        let found = drawn_in(
                            s,
                            mode,
                            bounds,
                            model,
                            BoxSide { group, lane, side },
                            &mut reach[side],
                        )?;
                        best[side] = best[side].max(found);
                    }
                }
            }
        }
    }
    let unsound = unsound[0] + unsound[1] + unsound[2];
    let [x, y, z, left, down, back] = best;
    unsound.simd_eq(zero).all_true().then_some(Aabb { min: [-left, -down, -back], max: [x, y, z] })
}

/// One side of the box of a joint.
#[derive(Clone, Copy)]
struct BoxSide<'a> {
    group: &'a Group,
    /// Lane of the joint in the group.
    lane: usize,
    side: usize,
}

/// Returns the extent of one joint's points towards a side, and shrinks the joint's box to it.
#[inline(always)]
fn drawn_in<S: Simd, M: Mode>(
    s: S,
    mode: M,
    bounds: &JointBounds,
    model: &[Affine],
    BoxSide { group, lane, side }: BoxSide<'_>,
    reach: &mut [f32; LANES],
) -> Option<f32> {
    let [begin, end] = group.points[lane];
    let points = bounds.points.get(begin as usize..end as usize)?;
    let row = &model.get(usize::from(group.joints[lane]))?.rows[side % 3];
    let found = refined(s, mode, points, if side < 3 { *row } else { row.map(|v| -v) });
    reach[lane] = reach[lane].min(found + margin(group, lane, row, bounds.rounding));
    Some(reach[lane])
}

#[inline(always)]
fn all_boxes<S: Simd, M: Mode>(
    s: S,
    mode: M,
    bounds: &JointBounds,
    model: &[Affine],
    out: &mut [Aabb],
) -> Option<()> {
    for (group, out) in bounds.groups.iter().zip(out.chunks_mut(LANES)) {
        let rows = load(s, group, model)?;
        let (high, low) = around(s, mode, group, &rows, bounds.rounding);
        let mut reach: Reach = [[0.0; LANES]; 6];
        each!(r in [0, 1, 2] => {
            high[r].store_array(&mut reach[r]);
            low[r].store_array(&mut reach[r + 3]);
        });
        for (lane, out) in out.iter_mut().enumerate().take(LANES) {
            each!(r in [0, 1, 2] => {
                out.min[r] = reach[r + 3][lane] + 0.0;
                out.max[r] = reach[r][lane] + 0.0;
            });
        }
    }
    Some(())
}

/// Matrices of a group, one joint per lane.
#[inline(always)]
fn load<S: Simd>(s: S, group: &Group, model: &[Affine]) -> Option<Rows<S>> {
    let [a, b, c, d, e, f, g, h] = &group.joints;
    let of = |joint: &u16| model.get(usize::from(*joint));
    let (a, b, c, d) = (of(a)?, of(b)?, of(c)?, of(d)?);
    let (e, f, g, h) = (of(e)?, of(f)?, of(g)?, of(h)?);
    let mut rows = [[f32x8::splat(s, 0.0); 4]; 3];
    each!(r in [0, 1, 2] => {
        rows[r] = transpose_halves([
            two(s, &a.rows[r], &e.rows[r]),
            two(s, &b.rows[r], &f.rows[r]),
            two(s, &c.rows[r], &g.rows[r]),
            two(s, &d.rows[r], &h.rows[r]),
        ]);
    });
    Some(rows)
}

#[inline(always)]
fn two<S: Simd>(s: S, low: &[f32; 4], high: &[f32; 4]) -> f32x8<S> {
    f32x4::load_array_ref(s, low).combine(f32x4::load_array_ref(s, high))
}

/// Extents of the boxes of a group. The matrix moves the centre, and each row adds the magnitudes of its
/// products with the half extents.
#[inline(always)]
fn around<S: Simd, M: Mode>(
    s: S,
    mode: M,
    group: &Group,
    rows: &Rows<S>,
    rounding: Rounding,
) -> ([Eight<S>; 3], [Eight<S>; 3]) {
    let lanes = |v: &[f32; LANES]| f32x8::load_array_ref(s, v);
    let [cx, cy, cz] = [lanes(&group.center[0]), lanes(&group.center[1]), lanes(&group.center[2])];
    let [hx, hy, hz] = [lanes(&group.half[0]), lanes(&group.half[1]), lanes(&group.half[2])];
    let (share, least) = (f32x8::splat(s, rounding.share), f32x8::splat(s, rounding.least));
    let (mut high, mut low) = ([least; 3], [least; 3]);
    each!(r in [0, 1, 2] => {
        let [x, y, z, t] = rows[r];
        let middle = mode.madd(x, cx, mode.madd(y, cy, mode.madd(z, cz, t)));
        let half = mode.madd(z.abs(), hz, mode.madd(t.abs(), share, least));
        let half = mode.madd(x.abs(), hx, mode.madd(y.abs(), hy, half));
        (high[r], low[r]) = (middle + half, middle - half);
    });
    (high, low)
}

/// Maximum distance by which a joint's vertices exceed its chosen points along one axis.
#[inline(always)]
fn margin(group: &Group, lane: usize, row: &[f32; 4], rounding: Rounding) -> f32 {
    let [x, y, z, t] = row.map(f32::abs);
    let of = |c: usize| group.rounded[c][lane];
    let rounded = x * of(0) + y * of(1) + z * of(2) + (t * rounding.share + rounding.least);
    // Squares of tiny numbers underflow, so the constant keeps the root from being too small. Squares of huge
    // numbers overflow, so the sum of magnitudes, an upper bound, limits it.
    let length = sqrt(x * x + y * y + z * z + 8.0 * f32::MIN_POSITIVE).min(x + y + z);
    length * group.off[lane] + rounded
}

/// Maximum of the products of a matrix row with points.
#[inline(always)]
fn refined<S: Simd, M: Mode>(s: S, mode: M, points: &[[[f32; LANES]; 3]], row: [f32; 4]) -> f32 {
    let [a, b, c, t] = row.map(|v| f32x8::splat(s, v));
    let mut high = f32x8::splat(s, f32::NEG_INFINITY);
    for [x, y, z] in points {
        let lanes = |v: &[f32; LANES]| f32x8::load_array_ref(s, v);
        let v = mode.madd(a, lanes(x), mode.madd(b, lanes(y), mode.madd(c, lanes(z), t)));
        high = high.max(v);
    }
    high.reduce_max()
}
