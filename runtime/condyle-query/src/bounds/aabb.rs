//! Axis-aligned boxes.

use fearless_simd::{f32x8, prelude::*};

use condyle_base::math::Affine;
use condyle_base::simd::{Floats, dispatch, each};

/// Axis-aligned box from `min` to `max`, inclusive.
///
/// A box with a minimum above its maximum is empty. [`EMPTY`](Self::EMPTY) uses infinities, so that its
/// [`union`](Self::union) with any other box is that box.
///
/// ```
/// use condyle_query::bounds::Aabb;
///
/// // Around a whole clip: the union of the boxes at all sampled times.
/// let moments = [Aabb { min: [0.0; 3], max: [1.0; 3] }, Aabb { min: [2.0; 3], max: [3.0; 3] }];
/// let all = moments.into_iter().fold(Aabb::EMPTY, Aabb::union);
/// assert_eq!(all, Aabb { min: [0.0; 3], max: [3.0; 3] });
/// assert!(all.contains([1.5; 3]) && !moments[0].overlaps(&moments[1]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Aabb {
    /// Minimum coordinates, in metres.
    pub min: [f32; 3],
    /// Maximum coordinates, in metres.
    pub max: [f32; 3],
}

const _: () = assert!(size_of::<Aabb>() == 24);

impl Default for Aabb {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Aabb {
    /// Empty box.
    pub const EMPTY: Self = Self { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };

    /// Returns whether the box is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !(0..3).all(|c| self.min[c] <= self.max[c])
    }

    /// Returns the smallest box around both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            min: core::array::from_fn(|c| self.min[c].min(other.min[c])),
            max: core::array::from_fn(|c| self.max[c].max(other.max[c])),
        }
    }

    /// Returns whether the box contains a point.
    #[must_use]
    pub fn contains(&self, point: [f32; 3]) -> bool {
        (0..3).all(|c| self.min[c] <= point[c] && point[c] <= self.max[c])
    }

    /// Returns whether the box contains all of another box.
    #[must_use]
    pub fn encloses(&self, other: &Self) -> bool {
        (0..3).all(|c| self.min[c] <= other.min[c] && other.max[c] <= self.max[c])
    }

    /// Returns whether two boxes share a point.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        (0..3).all(|c| self.min[c] <= other.max[c] && other.min[c] <= self.max[c])
    }

    /// Returns the centre.
    #[must_use]
    pub fn center(&self) -> [f32; 3] {
        core::array::from_fn(|c| self.min[c] / 2.0 + self.max[c] / 2.0)
    }

    /// Returns the distances from the centre to the faces.
    #[must_use]
    pub fn half_extents(&self) -> [f32; 3] {
        core::array::from_fn(|c| self.max[c] / 2.0 - self.min[c] / 2.0)
    }

    /// Returns a box around this one after a transform, such as a character's world matrix. J. Arvo,
    /// *Transforming Axis-Aligned Bounding Boxes*, 1990. Computed in f64 and rounded outwards.
    #[must_use]
    pub fn transformed(&self, matrix: &Affine) -> Self {
        if self.is_empty() {
            return Self::EMPTY;
        }
        let mut out = Self::EMPTY;
        for (c, row) in matrix.rows.iter().enumerate() {
            let [mut low, mut high] = [f64::from(row[3]); 2];
            for ((m, min), max) in row.iter().zip(&self.min).zip(&self.max) {
                let m = f64::from(*m);
                let [a, b] = [m * f64::from(*min), m * f64::from(*max)];
                low += a.min(b);
                high += a.max(b);
            }
            out.min[c] = rounded_down(low);
            out.max[c] = rounded_up(high);
        }
        out
    }
}

/// Largest f32 that is not above `v`.
pub(super) fn rounded_down(v: f64) -> f32 {
    let near = v as f32;
    if f64::from(near) > v { near.next_down() } else { near }
}

/// Smallest f32 that is not below `v`.
pub(crate) fn rounded_up(v: f64) -> f32 {
    -rounded_down(-v)
}

/// Returns the exact box of points.
///
/// For a posed mesh this is the tightest box; [`posed`](super::posed()) computes one almost as tight without
/// skinning. NaN coordinates are ignored. If an axis has no other coordinates, the box is empty, as
/// [`Aabb::EMPTY`] is.
///
/// ```
/// use condyle_query::bounds::{self, Aabb};
///
/// let posed = [[0.0, 2.0, 0.0], [1.0, 0.0, -3.0]];
/// assert_eq!(bounds::of(&posed), Aabb { min: [0.0, 0.0, -3.0], max: [1.0, 2.0, 0.0] });
/// assert!(bounds::of(&[]).is_empty());
/// ```
#[must_use]
pub fn of(positions: &[[f32; 3]]) -> Aabb {
    dispatch!(|s| of_points(s, positions))
}

/// Number of floats after which the axes repeat in the same lanes.
const PERIOD: usize = 24;

/// Takes minima and maxima per lane, whichever axis the lane holds, and assigns them to axes at the end.
/// Needs no shuffles.
#[inline(always)]
fn of_points<S: Simd>(s: S, positions: &[[f32; 3]]) -> Aabb {
    let (periods, rest) = positions.as_flattened().as_chunks::<PERIOD>();
    let (mut low, mut high) = ([f32x8::splat(s, f32::INFINITY); 3], [f32x8::splat(s, f32::NEG_INFINITY); 3]);
    for period in periods {
        each!(k in [0, 1, 2] => {
            let v = f32x8::from_slice(s, &period[8 * k..8 * k + 8]);
            low[k] = less(low[k], v);
            high[k] = greater(high[k], v);
        });
    }
    let (mut min, mut max) = ([0.0; PERIOD], [0.0; PERIOD]);
    each!(k in [0, 1, 2] => {
        low[k].store_slice(&mut min[8 * k..8 * k + 8]);
        high[k].store_slice(&mut max[8 * k..8 * k + 8]);
    });
    let mut out = Aabb::EMPTY;
    let lanes = min.iter().zip(&max).enumerate();
    for (at, (&low, &high)) in lanes.chain(rest.iter().zip(rest).enumerate()) {
        if low < out.min[at % 3] {
            out.min[at % 3] = low;
        }
        if high > out.max[at % 3] {
            out.max[at % 3] = high;
        }
    }
    out
}

/// Minimum, or `a` if `b` is NaN.
#[inline(always)]
fn less<S: Simd, V: Floats<S>>(a: V, b: V) -> V {
    b.simd_lt(a).select(b, a)
}

/// Maximum, or `a` if `b` is NaN.
#[inline(always)]
fn greater<S: Simd, V: Floats<S>>(a: V, b: V) -> V {
    b.simd_gt(a).select(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_base::simd::Dispatch;
    use condyle_testing::{Random, SIZES};
    use std::vec::Vec;

    #[test]
    fn the_box_of_points_is_exact_at_every_size() {
        for &count in SIZES {
            let mut random = Random(count as u64);
            let mut points: Vec<[f32; 3]> = (0..count).map(|_| random.vector(3.0)).collect();
            if let Some(middle) = points.get_mut(count / 2) {
                *middle = [f32::NAN, 9.0, -9.0];
            }
            let mut want = Aabb::EMPTY;
            for point in &points {
                want = want.union(Aabb { min: *point, max: *point });
            }
            for dispatch in Dispatch::all() {
                assert_eq!(dispatch.scope(|| of(&points)), want, "{dispatch}, {count}");
            }
        }
    }

    #[test]
    fn a_moved_box_holds_its_moved_corners_and_touches_them() {
        let mut random = Random(4);
        for _ in 0..condyle_testing::tries(300) {
            let (a, b): ([f32; 3], [f32; 3]) = (random.vector(2.0), random.vector(2.0));
            let it = of(&[a, b]);
            let matrix = Affine::from(random.transform());
            let moved = it.transformed(&matrix);
            let mut touched = [[false; 2]; 3];
            for corner in 0..8 {
                let point: [f32; 3] =
                    core::array::from_fn(|c| if corner >> c & 1 == 0 { it.min[c] } else { it.max[c] });
                for (c, row) in matrix.rows.iter().enumerate() {
                    let v: f64 = (0..3).map(|k| f64::from(row[k]) * f64::from(point[k])).sum::<f64>()
                        + f64::from(row[3]);
                    let [low, high] = [moved.min[c], moved.max[c]].map(f64::from);
                    assert!(low <= v + 1e-15 && v <= high + 1e-15, "{low} {v} {high}");
                    touched[c][0] |= v - low < 1e-6;
                    touched[c][1] |= high - v < 1e-6;
                }
            }
            assert_eq!(touched, [[true; 2]; 3]);
        }
        assert!(Aabb::EMPTY.transformed(&Affine::IDENTITY).is_empty());
    }

    #[test]
    fn numbers_are_rounded_outwards() {
        for v in [0.1, -0.1, 1.0, 1e-60, -1e-60, 0.0] {
            assert!(f64::from(rounded_down(v)) <= v && f64::from(rounded_up(v)) >= v, "{v}");
            assert!(rounded_down(v) == rounded_up(v) || rounded_down(v).next_up() == rounded_up(v), "{v}");
        }
    }
}
