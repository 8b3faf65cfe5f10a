//! Kernel: the box around all vertices from model matrices.

use fearless_simd::{f32x4, f32x8, prelude::*};

use super::aabb::Aabb;
use super::joints::{Group, Hull, JointBounds, LANES, Rounding, weighed};
use condyle_base::math::{Affine, sqrt};
use condyle_base::simd::{Mode, dispatch, each, transpose_halves};

/// One number for each of eight joints.
type Eight<S> = f32x8<S>;

/// Matrix rows of eight joints.
type Rows<S> = [[Eight<S>; 4]; 3];

/// Number of groups whose boxes are stored for the search for the outermost joints.
const KEPT: usize = 12;

/// Extents of the boxes of some groups towards a side.
type Reach = [[f32; LANES]; KEPT];

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
///
/// The sides are along each axis, then against each.
#[inline(always)]
fn hull<S: Simd, M: Mode>(s: S, mode: M, bounds: &JointBounds, model: &[Affine]) -> Option<Aabb> {
    let zero = f32x8::splat(s, 0.0);
    let mut unsound = [zero; 3];
    let mut best = [f32::NEG_INFINITY; 6];
    for (groups, hulls) in bounds.groups.chunks(KEPT).zip(bounds.hulls.chunks(KEPT * LANES)) {
        let mut kept: [Reach; 6] = [[[f32::NEG_INFINITY; LANES]; KEPT]; 6];
        let mut most = [f32x8::splat(s, f32::NEG_INFINITY); 6];
        for (at, group) in groups.iter().enumerate().take(KEPT) {
            let rows = load(s, group, model)?;
            let (high, low) = around(s, mode, group, &rows, bounds.rounding);
            each!(r in [0, 1, 2] => {
                // NaN and infinities, times zero, make the sum NaN.
                unsound[r] = mode.madd(high[r], zero, mode.madd(low[r], zero, unsound[r]));
                let low = -low[r];
                most[r] = most[r].max(high[r]);
                most[r + 3] = most[r + 3].max(low);
                high[r].store_array(&mut kept[r][at]);
                low.store_array(&mut kept[r + 3][at]);
            });
        }
        // The joint whose box reaches farthest to a side probably stays the farthest. Most other joints can
        // then be skipped. All sides are independent, and each step waits for the one before, so the steps
        // of all sides run next to each other.
        let mut first = [0; 6];
        let mut extent = [0.0; 6];
        each!(side in [0, 1, 2, 3, 4, 5] => {
            extent[side] = most[side].reduce_max();
            let limit = f32x8::splat(s, extent[side]);
            let reaching = reaching(&kept[side], |reach| f32x8::load_array_ref(s, reach).simd_ge(limit).to_bitmask());
            first[side] = lowest(reaching)?;
        });
        for side in 0..6 {
            let found = drawn_in(s, mode, bounds, hulls.get(first[side])?, model, side)?;
            best[side] = best[side].max(found.min(extent[side]));
        }
        for side in 0..6 {
            let limit = f32x8::splat(s, best[side]);
            let mut left =
                reaching(&kept[side], |reach| f32x8::load_array_ref(s, reach).simd_gt(limit).to_bitmask());
            for (word, left) in left.iter_mut().enumerate() {
                while *left != 0 {
                    let at = 64 * word + left.trailing_zeros() as usize;
                    *left &= *left - 1;
                    let reach = *kept[side].as_flattened().get(at)?;
                    if reach > best[side] && at != first[side] {
                        let found = drawn_in(s, mode, bounds, hulls.get(at)?, model, side)?;
                        best[side] = best[side].max(found.min(reach));
                    }
                }
            }
        }
    }
    let unsound = unsound[0] + unsound[1] + unsound[2];
    let [x, y, z, left, down, back] = best;
    unsound.simd_eq(zero).all_true().then_some(Aabb { min: [-left, -down, -back], max: [x, y, z] })
}

/// One bit per joint whose extent passes `test`, which returns eight bits.
#[inline(always)]
fn reaching(extents: &Reach, test: impl Fn(&[f32; LANES]) -> u64) -> [u64; 2] {
    let mut out = [0; 2];
    for (at, eight) in extents.iter().enumerate() {
        out[at / 8] |= test(eight) << (LANES * (at % 8));
    }
    out
}

/// Index of the lowest bit.
#[inline(always)]
fn lowest([low, high]: [u64; 2]) -> Option<usize> {
    match (low, high) {
        (0, 0) => None,
        (0, _) => Some(64 + high.trailing_zeros() as usize),
        _ => Some(low.trailing_zeros() as usize),
    }
}

/// Returns the extent of one joint's points towards a side.
#[inline(always)]
fn drawn_in<S: Simd, M: Mode>(
    s: S,
    mode: M,
    bounds: &JointBounds,
    hull: &Hull,
    model: &[Affine],
    side: usize,
) -> Option<f32> {
    let row = &model.get(usize::from(hull.joint))?.rows[side % 3];
    let found = refined(s, mode, &hull.points, if side < 3 { *row } else { row.map(|v| -v) });
    Some(found + margin(hull, row, bounds.rounding))
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
        let mut reach = [[0.0; LANES]; 6];
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
fn margin(hull: &Hull, row: &[f32; 4], rounding: Rounding) -> f32 {
    let [x, y, z, t] = row.map(f32::abs);
    let [a, b, c] = hull.rounded;
    let rounded = x * a + y * b + z * c + (t * rounding.share + rounding.least);
    // Squares of tiny numbers underflow, so the constant keeps the root from being too small. Squares of huge
    // numbers overflow, so the sum of magnitudes, an upper bound, limits it.
    let length = sqrt(x * x + y * y + z * z + 8.0 * f32::MIN_POSITIVE).min(x + y + z);
    length * hull.off + rounded
}

/// Maximum of the products of a matrix row with points.
#[inline(always)]
fn refined<S: Simd, M: Mode>(s: S, mode: M, points: &[[[f32; LANES]; 3]; 3], row: [f32; 4]) -> f32 {
    let [a, b, c, t] = row.map(|v| f32x8::splat(s, v));
    let mut high = f32x8::splat(s, f32::NEG_INFINITY);
    for [x, y, z] in points {
        let lanes = |v: &[f32; LANES]| f32x8::load_array_ref(s, v);
        let v = mode.madd(a, lanes(x), mode.madd(b, lanes(y), mode.madd(c, lanes(z), t)));
        high = high.max(v);
    }
    high.reduce_max()
}
