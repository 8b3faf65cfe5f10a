//! From model matrices to the box around all vertices.

use fearless_simd::{f32x4, f32x8, prelude::*};

use super::aabb::Aabb;
use super::joints::{Group, JointBounds, LANES, Rounding, weighed};
use crate::math::Affine;
use crate::simd::{Mode, dispatch, each, transpose_halves};

/// A number in each of eight joints.
type Eight<S> = f32x8<S>;

/// The rows of the matrices of eight joints.
type Rows<S> = [[Eight<S>; 4]; 3];

/// The greatest coordinates of eight joints, the least ones, and what is rounded or outside of the points.
#[derive(Default)]
struct Reach {
    high: [[f32; LANES]; 3],
    low: [[f32; LANES]; 3],
    margin: [[f32; LANES]; 3],
}

/// The box, or `None` where a matrix holds NaN or an infinity, or makes them.
pub(super) fn posed(bounds: &JointBounds, model: &[Affine]) -> Option<Aabb> {
    let hull = dispatch!(|s, mode| hull(s, mode, bounds, model))?;
    let mut out = Aabb::EMPTY;
    for c in 0..3 {
        [out.min[c], out.max[c]] = weighed(&bounds.weights, hull.min[c], hull.max[c]);
    }
    Some(out)
}

/// The box of each joint's vertices; only those of finite matrices mean anything.
pub(super) fn boxes(bounds: &JointBounds, model: &[Affine], out: &mut [Aabb]) -> Option<()> {
    dispatch!(|s, mode| all_boxes(s, mode, bounds, model, out))
}

/// Around the hulls of all joints: boxes first, eight at a time, and points only of joints whose box reaches farther than
/// what was found before.
#[inline(always)]
fn hull<S: Simd, M: Mode>(s: S, mode: M, bounds: &JointBounds, model: &[Affine]) -> Option<Aabb> {
    let mut best = Aabb::EMPTY;
    let zero = f32x8::splat(s, 0.0);
    let mut unsound = [zero; 3];
    // Eight points of any joint in each, until a group is done.
    let (mut highest, mut lowest) =
        ([f32x8::splat(s, f32::NEG_INFINITY); 3], [f32x8::splat(s, f32::INFINITY); 3]);
    for group in &bounds.groups {
        let rows = load(s, group, model)?;
        let (high, low) = around(s, mode, group, &rows, bounds.rounding);
        // NaN and infinities stay, times zero, in the sum.
        each!(r in [0, 1, 2] => {
            unsound[r] = mode.madd(high[r], zero, mode.madd(low[r], zero, unsound[r]));
        });
        let mut farther = high[0].simd_gt(f32x8::splat(s, best.max[0]));
        farther |= low[0].simd_lt(f32x8::splat(s, best.min[0]));
        each!(r in [1, 2] => {
            farther |= high[r].simd_gt(f32x8::splat(s, best.max[r]));
            farther |= low[r].simd_lt(f32x8::splat(s, best.min[r]));
        });
        let mut left = farther.to_bitmask();
        if left == 0 {
            continue;
        }
        let mut reach = Reach::default();
        each!(r in [0, 1, 2] => {
            high[r].store_slice(&mut reach.high[r]);
            low[r].store_slice(&mut reach.low[r]);
            margin(s, mode, group, &rows[r], bounds.rounding).store_slice(&mut reach.margin[r]);
        });
        while left != 0 {
            let lane = (left.trailing_zeros() as usize).min(LANES - 1);
            left &= left - 1;
            let [begin, end] = group.points[lane];
            let points = bounds.points.get(begin as usize..end as usize)?;
            let matrix = model.get(usize::from(group.joints[lane]))?;
            let (max, min) = refined(s, mode, points, matrix);
            each!(r in [0, 1, 2] => {
                let margin = f32x8::splat(s, reach.margin[r][lane]);
                highest[r] = highest[r].max((max[r] + margin).min(f32x8::splat(s, reach.high[r][lane])));
                lowest[r] = lowest[r].min((min[r] - margin).max(f32x8::splat(s, reach.low[r][lane])));
            });
        }
        each!(r in [0, 1, 2] => {
            best.max[r] = highest[r].reduce_max();
            best.min[r] = lowest[r].reduce_min();
        });
    }
    let unsound = unsound[0] + unsound[1] + unsound[2];
    unsound.simd_eq(zero).all_true().then_some(best)
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
        let mut reach = Reach::default();
        each!(r in [0, 1, 2] => {
            high[r].store_slice(&mut reach.high[r]);
            low[r].store_slice(&mut reach.low[r]);
        });
        for lane in 0..LANES {
            let Some(out) = out.get_mut(lane) else { break };
            each!(r in [0, 1, 2] => {
                out.min[r] = reach.low[r][lane] + 0.0;
                out.max[r] = reach.high[r][lane] + 0.0;
            });
        }
    }
    Some(())
}

/// The matrices of a group, a joint in each lane.
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

/// How far the boxes of a group reach: the middle goes where the matrix takes it, and each row adds the magnitudes of what it
/// makes of the half edges.
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

/// How much farther than its points a joint may reach along one axis.
#[inline(always)]
fn margin<S: Simd, M: Mode>(
    s: S,
    mode: M,
    group: &Group,
    row: &[Eight<S>; 4],
    rounding: Rounding,
) -> Eight<S> {
    let lanes = |v: &[f32; LANES]| f32x8::load_array_ref(s, v);
    let (share, least) = (f32x8::splat(s, rounding.share), f32x8::splat(s, rounding.least));
    let [x, y, z] = [row[0].abs(), row[1].abs(), row[2].abs()];
    let rounded = mode.madd(z, lanes(&group.rounded[2]), mode.madd(row[3].abs(), share, least));
    let rounded = mode.madd(y, lanes(&group.rounded[1]), rounded);
    let rounded = mode.madd(x, lanes(&group.rounded[0]), rounded);
    // The squares of the tiniest numbers vanish and those of huge ones overflow: what is added keeps the root from being too small, and the
    // sum of the magnitudes, which is never below it, from being far too large.
    let tiny = f32x8::splat(s, 8.0 * f32::MIN_POSITIVE);
    let length = mode.madd(x, x, mode.madd(y, y, mode.madd(z, z, tiny))).sqrt();
    let length = length.min(x + y + z);
    mode.madd(length, lanes(&group.off), rounded)
}

/// The greatest and the least coordinates of moved points, lane by lane.
#[inline(always)]
fn refined<S: Simd, M: Mode>(
    s: S,
    mode: M,
    points: &[[[f32; LANES]; 3]],
    matrix: &Affine,
) -> ([Eight<S>; 3], [Eight<S>; 3]) {
    let (mut high, mut low) = ([f32x8::splat(s, f32::NEG_INFINITY); 3], [f32x8::splat(s, f32::INFINITY); 3]);
    for [x, y, z] in points {
        let lanes = |v: &[f32; LANES]| f32x8::load_array_ref(s, v);
        let (x, y, z) = (lanes(x), lanes(y), lanes(z));
        each!(r in [0, 1, 2] => {
            let [a, b, c, t] = matrix.rows[r];
            let (a, b) = (f32x8::splat(s, a), f32x8::splat(s, b));
            let (c, t) = (f32x8::splat(s, c), f32x8::splat(s, t));
            let v = mode.madd(a, x, mode.madd(b, y, mode.madd(c, z, t)));
            high[r] = high[r].max(v);
            low[r] = low[r].min(v);
        });
    }
    (high, low)
}
