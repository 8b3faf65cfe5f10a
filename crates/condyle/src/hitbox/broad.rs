//! Which hitboxes may be hit at all: eight spheres at a time.

use fearless_simd::{f32x8, prelude::*};

use crate::simd::{Mode, dispatch};

pub(super) const LANES: usize = 8;

/// Groups whose answers are the bits of one number.
const CHUNK: usize = 128 / LANES;

/// The centres and radii of eight spheres.
pub(super) type Spheres = [[f32; LANES]; 4];

/// A straight way, as thick as `radius` to all sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) origin: [f32; 3],
    /// Of unit length, or zero.
    pub(super) direction: [f32; 3],
    /// Rounded up.
    pub(super) length: f32,
    /// Rounded up.
    pub(super) radius: f32,
}

/// Calls `each` with the index of every sphere of the first `count` that the way may touch, until it returns something.
#[inline]
pub(super) fn near<T>(
    groups: &[Spheres],
    count: usize,
    way: &Way,
    mut each: impl FnMut(usize) -> Option<T>,
) -> Option<T> {
    for (chunk, groups) in groups.chunks(CHUNK).enumerate() {
        let mut bits = dispatch!(|s, mode| touched(s, mode, groups, way));
        while bits != 0 {
            let at = chunk * CHUNK * LANES + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            // The last lanes may be empty.
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

/// A bit for each sphere. What f32 rounds is a few parts in 10^7 of the square of the distance from the origin: more than that is
/// allowed for, and NaN is no reason to leave one out.
#[inline(always)]
fn touched<S: Simd, M: Mode>(s: S, mode: M, groups: &[Spheres], way: &Way) -> u128 {
    let splat = |v| f32x8::splat(s, v);
    let ([ox, oy, oz], [dx, dy, dz]) = (way.origin, way.direction);
    let (ox, oy, oz) = (splat(ox), splat(oy), splat(oz));
    let (dx, dy, dz) = (splat(dx), splat(dy), splat(dz));
    let (length, radius, rounding) = (splat(way.length), splat(way.radius), splat(4e-6));
    let zero = splat(0.0);
    let mut bits = 0;
    for (at, [x, y, z, r]) in groups.iter().enumerate() {
        let lanes = |v: &[f32; LANES]| f32x8::load_array_ref(s, v);
        let (x, y, z) = (lanes(x) - ox, lanes(y) - oy, lanes(z) - oz);
        let along = mode.madd(x, dx, mode.madd(y, dy, z * dz));
        let along = along.max(zero).min(length);
        let far2 = mode.madd(x, x, mode.madd(y, y, z * z));
        let (x, y, z) = (x - along * dx, y - along * dy, z - along * dz);
        let off2 = mode.madd(x, x, mode.madd(y, y, z * z));
        let r = lanes(r) + radius;
        let outside = off2.simd_gt(mode.madd(r, r, far2 * rounding));
        bits |= u128::from(outside.to_bitmask() & 0xff ^ 0xff) << (at * LANES % 128);
    }
    bits
}
