//! SIMD broad phase: tests eight hitboxes at a time by bounding sphere and by the distance between the
//! capsule axis and the ray.
//!
//! Spheres are padded beyond the rounding error of f32, and the remaining candidates are tested in f64. The
//! results have the same bits everywhere, without a portable kernel for each shape and query.

use fearless_simd::{f32x8, prelude::*};

use super::solid::rounded_out;
use crate::bounds::Sphere;
use crate::hits::Solid;
use condyle_base::simd::{Mode, baseline, dispatch, each};

pub(super) const LANES: usize = 8;

/// Number of groups whose result bits fit in one `u128`.
const CHUNK: usize = 128 / LANES;

/// Bounds of eight hitboxes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Group {
    /// Centres and radii of the bounding spheres.
    pub(super) spheres: [[f32; LANES]; 4],
    /// Unit directions of the capsule axes, and the radius around each; zero for a box.
    pub(super) axes: [[f32; LANES]; 4],
}

impl Group {
    /// Bounds of at most eight solids. Unused lanes stay zero.
    pub(super) fn new(solids: &[Solid]) -> Self {
        let mut it = Self::default();
        for (lane, solid) in solids.iter().enumerate().take(LANES) {
            let Sphere { center: [x, y, z], radius } = solid.sphere();
            put(&mut it.spheres, lane, [x, y, z, radius]);
            if let Solid::Capsule { from, along, radius } = *solid {
                let [x, y, z] = along.map(|v| v as f32);
                put(&mut it.axes, lane, [x, y, z, rounded_out(radius, from)]);
            }
        }
        baseline!(|s| it.straighten(s));
        it
    }

    /// Normalises the axes. An axis so short that its square underflows becomes zero; the sphere is a close
    /// bound then.
    #[inline(always)]
    fn straighten<S: Simd>(&mut self, s: S) {
        let [x, y, z, _] = &mut self.axes;
        let axes = [&*x, &*y, &*z].map(|lanes| f32x8::load_array_ref(s, lanes));
        let square = axes[0] * axes[0] + axes[1] * axes[1] + axes[2] * axes[2];
        let (zero, one) = (f32x8::splat(s, 0.0), f32x8::splat(s, 1.0));
        let scale = square.simd_gt(f32x8::splat(s, 1e-30)).select(one / square.sqrt(), zero);
        for (lanes, axis) in [x, y, z].into_iter().zip(axes) {
            (axis * scale).store_array(lanes);
        }
    }
}

#[inline(always)]
fn put(lanes: &mut [[f32; LANES]; 4], lane: usize, values: [f32; 4]) {
    each!(k in [0, 1, 2, 3] => lanes[k][lane] = values[k]);
}

/// Segment with a radius.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) origin: [f32; 3],
    /// Unit vector, or zero.
    pub(super) direction: [f32; 3],
    /// Length, rounded up.
    pub(super) length: f32,
    /// Radius, rounded up.
    pub(super) radius: f32,
}

/// Calls `each` with the index of every hitbox of the first `count` that the segment may touch, until it
/// returns a value.
#[inline]
pub(super) fn near<T>(
    groups: &[Group],
    count: usize,
    way: &Way,
    mut each: impl FnMut(usize) -> Option<T>,
) -> Option<T> {
    for (chunk, groups) in groups.chunks(CHUNK).enumerate() {
        let mut bits = touching(groups, way);
        while bits != 0 {
            let at = chunk * CHUNK * LANES + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            // The last lanes may be unused.
            if at >= count {
                break;
            }
            if let Some(found) = each(at) {
                return Some(found);
            }
        }
    }
    None
}

/// Returns a bit for each hitbox that the segment may touch.
///
/// Not generic, so that the kernel is compiled in this crate, once.
fn touching(groups: &[Group], way: &Way) -> u128 {
    dispatch!(|s, mode| touched(s, mode, groups, way))
}

/// Kernel of [`touching`].
///
/// The f32 rounding error is a few parts in 10^7 of the compared lengths. The tolerances are larger, also
/// where the squares underflow. A NaN never excludes a hitbox.
#[inline(always)]
fn touched<S: Simd, M: Mode>(s: S, mode: M, groups: &[Group], way: &Way) -> u128 {
    let splat = |v| f32x8::splat(s, v);
    let origin = [splat(way.origin[0]), splat(way.origin[1]), splat(way.origin[2])];
    let direction = [splat(way.direction[0]), splat(way.direction[1]), splat(way.direction[2])];
    let [dx, dy, dz] = direction;
    let (length, radius) = (splat(way.length), splat(way.radius));
    let (zero, least) = (splat(0.0), splat(f32::MIN_POSITIVE));
    let mut bits = 0;
    for (at, Group { spheres, axes }) in groups.iter().enumerate() {
        let lanes = |v: &[f32; LANES]| f32x8::load_array_ref(s, v);
        let [x, y, z, around] =
            [lanes(&spheres[0]), lanes(&spheres[1]), lanes(&spheres[2]), lanes(&spheres[3])];
        let to = [x - origin[0], y - origin[1], z - origin[2]];
        let along = dot(mode, to, direction).max(zero).min(length);
        let far2 = dot(mode, to, to);
        let off = [to[0] - along * dx, to[1] - along * dy, to[2] - along * dz];
        let around = around + radius;
        let around2 = around * around;
        let outside = dot(mode, off, off).simd_gt(mode.madd(far2, splat(4e-6), around2 + least));

        // Distance between the two lines: the offset between them projected on their common perpendicular.
        let [ux, uy, uz, reach] = [lanes(&axes[0]), lanes(&axes[1]), lanes(&axes[2]), lanes(&axes[3])];
        let across = [mode.msub(dy, uz, dz * uy), mode.msub(dz, ux, dx * uz), mode.msub(dx, uy, dy * ux)];
        let apart = dot(mode, to, across);
        let reach = reach + radius;
        // (a + b)² <= (1 + k) a² + (1 + 1/k) b², where b is the rounding error. With k = 1/16, 2e-10 allows
        // an error of 3.4e-6 of the distance.
        let touching = mode.madd(reach * reach * splat(1.0625), dot(mode, across, across), least);
        let rounding = (far2 + around2) * splat(2e-10);
        let beside = (apart * apart).simd_gt(touching + rounding);
        bits |= u128::from((outside | beside).to_bitmask() & 0xff ^ 0xff) << (at * LANES % 128);
    }
    bits
}

#[inline(always)]
fn dot<S: Simd, M: Mode>(mode: M, a: [f32x8<S>; 3], b: [f32x8<S>; 3]) -> f32x8<S> {
    mode.madd(a[0], b[0], mode.madd(a[1], b[1], a[2] * b[2]))
}
