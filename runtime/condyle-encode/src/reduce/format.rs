//! Rounding of key numbers, and approximate size of the rounded numbers.

use alloc::vec::Vec;

use condyle::clip::fallback::{ONE, from_short, to_short};
use condyle::clip::{Interpolation, Target, Track};
use condyle_base::math::quats::Quat64;
use condyle_base::math::scalar::sqrt_f64;

/// Number format in which keys will be stored. [`reduce`](super::reduce) rounds values to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KeyFormat {
    /// 32-bit floats.
    #[default]
    Floats,
    /// Rotations as multiples of 1/32767 and morph weights as multiples of 1/65535, where that precision is
    /// enough. glTF stores these in 16-bit integers.
    Shorts,
    /// The coarsest numbers that the budget allows, in forms that the filters of `EXT_meshopt_compression`
    /// decode. Rotations have three components of 4 to 15 bits, or else the form of [`Shorts`](Self::Shorts).
    /// All other numbers are multiples of a power of two. The keys are chosen for minimum size in this form.
    Filtered,
}

impl KeyFormat {
    /// Returns the result of `serves` for the highest grade that it accepts. Grade 0 is the finest, and the
    /// only one except with filters.
    pub(super) fn coarsest<T>(self, grades: i32, mut serves: impl FnMut(i32) -> Option<T>) -> Option<T> {
        let mut best = serves(0)?;
        let (mut taken, mut refused) = (0, if self == Self::Filtered { grades } else { 1 });
        while taken + 1 < refused {
            let grade = i32::midpoint(taken, refused);
            match serves(grade) {
                Some(found) => (taken, best) = (grade, found),
                None => refused = grade,
            }
        }
        Some(best)
    }
}

/// Number of bytes per number of a track: two if 16-bit integers hold all of them.
pub(super) fn number_bytes(track: &Track) -> usize {
    let holds: fn(f32) -> bool = match track.target {
        Target::Rotation(_) if track.interpolation != Interpolation::CubicSpline => {
            |v| from_short(to_short(v.into())) == v
        }
        Target::Weights(_) => |v| nearest(f64::from(v) * 65535.0).clamp(0, 65535) as f32 / 65535.0 == v,
        _ => return 4,
    };
    if track.values.iter().all(|&v| holds(v)) { 2 } else { 4 }
}

/// Number of grades of [`rotation`].
pub(super) const ROTATION_GRADES: i32 = 13;

/// Stored form of a rotation: the integers, and the values that readers get. Grade 0 is as fine as the format
/// allows, and each further grade has one bit less.
pub(super) fn rotation(q: Quat64, format: KeyFormat, grade: i32) -> ([i32; 4], [f32; 4]) {
    match format {
        KeyFormat::Floats => ([0; 4], q.map(|v| v as f32)),
        _ if grade > 0 => without_largest(q, 16 - grade),
        // The filter would round 16 bits once more.
        _ => {
            let steps = q.map(to_short);
            (steps.map(i32::from), steps.map(from_short))
        }
    }
}

/// Encodes a rotation without its largest component, which is made positive. Stores the three components
/// after it in cyclic order, in `bits` bits each. The fourth number holds `bits` and the index of the
/// largest. Avoids numbers that readers may round differently, if adjacent numbers are unambiguous.
fn without_largest(q: Quat64, bits: i32) -> ([i32; 4], [f32; 4]) {
    let largest = (0..4).fold(0, |most, c| if q[c].abs() > q[most].abs() { c } else { most });
    let one = (1 << (bits - 1)) - 1;
    let scale = f64::from(one) * core::f64::consts::SQRT_2 * if q[largest] < 0.0 { -1.0 } else { 1.0 };
    let wanted: [f64; 3] = core::array::from_fn(|c| q[(largest + 1 + c) % 4] * scale);
    let nearest = wanted.map(|v| nearest(v).clamp(-one, one));
    // Rounded to the other side of the exact value.
    let beside = |c: usize| {
        let mut stored = nearest;
        stored[c] += if wanted[c] < f64::from(nearest[c]) { -1 } else { 1 };
        stored
    };
    let off = |c: &usize| (wanted[*c] - f64::from(nearest[*c])).abs();
    let mut order = [0, 1, 2];
    order.sort_by(|a, b| off(b).total_cmp(&off(a)));
    let ways = [nearest, beside(order[0]), beside(order[1]), beside(order[2])];
    let serves = |stored: &&[i32; 3]| stored.iter().all(|v| v.abs() <= one) && read(**stored, one).1;
    let stored = *ways.iter().find(serves).unwrap_or(&nearest);
    let mut back = [0.0; 4];
    for (c, steps) in read(stored, one).0.into_iter().enumerate() {
        back[(largest + c) % 4] = steps as f32 / ONE;
    }
    ([stored[0], stored[1], stored[2], one & !3 | largest as i32], back)
}

/// Minimum distance from the midpoint of two integers, in f64, at which all readers round to the same side.
/// Readers compute in f32 and in different orders.
const CLEAR: f64 = 1.0 / 64.0;

/// Values that readers get from three components, by the listing of the extension's quaternion filter: the
/// largest component and these, as multiples of 1/32767. Also returns whether all readers get them.
fn read(stored: [i32; 3], one: i32) -> ([i32; 4], bool) {
    let [x, y, z] = stored.map(|v| f64::from(v) * core::f64::consts::FRAC_1_SQRT_2 / f64::from(one));
    let w = sqrt_f64((1.0 - x * x - y * y - z * z).max(0.0));
    let exact = [w, x, y, z].map(|v| v * 32767.0);
    let steps = exact.map(nearest);
    let is_clear = exact.iter().zip(steps).all(|(v, steps)| (v - f64::from(steps)).abs() < 0.5 - CLEAR);
    (steps, is_clear)
}

/// Nearest integer; halves are rounded away from zero.
fn nearest(v: f64) -> i32 {
    (v + if v < 0.0 { -0.5 } else { 0.5 }) as i32
}

/// Number of grades of [`Steps`].
pub(super) const STEP_GRADES: i32 = 20;

/// Rounding to multiples of a power of two that 24 bits hold, or to f32.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Steps(Option<i32>);

impl Steps {
    /// Finest steps for numbers up to `greatest`.
    pub(super) fn finest(format: KeyFormat, greatest: f64) -> Self {
        // The largest number is less than 2^22 steps, so f32 holds all multiples.
        let finest = (exponent(greatest) - 21).max(-100);
        Self((format == KeyFormat::Filtered && finest <= 100 - STEP_GRADES).then_some(finest))
    }

    pub(super) fn coarser(self, by: i32) -> Self {
        Self(self.0.map(|exponent| (exponent + by).clamp(-100, 100)))
    }

    /// Coarsest steps that are at most `step`.
    pub(super) fn up_to(self, step: f64) -> Self {
        Self(self.0.map(|finest| exponent(step.max(0.0)).min(100).max(finest)))
    }

    pub(super) fn round(self, v: f64) -> f32 {
        match self.0 {
            Some(exponent) => (f64::from(nearest(v / power(exponent))) * power(exponent)) as f32,
            None => v as f32,
        }
    }

    /// Number of steps of a rounded number.
    pub(super) fn count(self, v: f32) -> i32 {
        self.0.map_or(0, |exponent| nearest(f64::from(v) / power(exponent)))
    }
}

/// Exponent of a non-negative number.
pub(super) fn exponent(v: f64) -> i32 {
    (v.to_bits() >> 52) as i32 - 1023
}

/// Maximum magnitude.
pub(super) fn greatest(numbers: impl IntoIterator<Item = f64>) -> f64 {
    numbers.into_iter().fold(0.0, |most, v| v.abs().max(most))
}

fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Number of deltas per group.
const GROUP: usize = 16;

/// Approximate number of bytes of keys of `width` numbers of `bytes` bytes in the extension's attribute
/// stream. Each byte of each number is stored as the difference from the key before. Groups of sixteen
/// differences take 0, 2, 4 or 8 bits each, plus one byte for each difference that does not fit.
pub(super) fn stream_bytes(numbers: &[i32], width: usize, bytes: usize) -> usize {
    let mut quarters = 0;
    for at in 0..width * bytes {
        let (number, shift) = (at / bytes, 8 * (at % bytes));
        let column: Vec<u8> = numbers[number..].iter().step_by(width).map(|&v| (v >> shift) as u8).collect();
        let deltas: Vec<u8> = column.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        for group in deltas.chunks(GROUP) {
            let wide = |most: u8| group.iter().filter(|&&d| d.min(d.wrapping_neg()) > most).count();
            let count = group.len();
            if wide(0) > 0 {
                quarters += (count + 4 * wide(1)).min(2 * count + 4 * wide(7)).min(4 * count);
            }
        }
    }
    // Two bits per group for its width.
    quarters.div_ceil(4) + (numbers.len() * bytes).div_ceil(4 * GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::Random;

    #[test]
    fn rotations_are_as_near_as_their_bits_allow() {
        let mut random = Random(3);
        for _ in 0..500 {
            let q = random.unit::<4>().map(f64::from);
            for grade in 1..ROTATION_GRADES {
                let (stored, back) = rotation(q, KeyFormat::Filtered, grade);
                let one = f64::from((1 << (15 - grade)) - 1);
                let sign =
                    if (0..4).map(|c| q[c] * f64::from(back[c])).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
                // Half a step in three components; the fourth, which is the largest, compensates for them.
                let most = 1.5 * core::f64::consts::FRAC_1_SQRT_2 / one + 1.0 / 32767.0;
                for c in 0..4 {
                    let off = (q[c] - sign * f64::from(back[c])).abs();
                    assert!(off <= most, "{q:?} at {grade}: {back:?} from {stored:?}");
                }
            }
        }
    }

    /// A number outside the range of the integers, or between two of them, does not fit, as in the exporter.
    #[test]
    fn two_bytes_are_counted_where_integers_hold_a_number() {
        let bytes = |target, v: f32| {
            let (interpolation, values) = (Interpolation::Linear, alloc::vec![v; 4]);
            number_bytes(&Track { target, interpolation, timeline: 0, values })
        };
        for (v, rotation, weights) in [
            (-1.0, 2, 4),
            (1.0, 2, 2),
            (2.0, 4, 4),
            (1.00003, 4, 4),
            (32768.0 / 32767.0, 4, 4),
            (65536.0 / 65535.0, 4, 4),
            (from_short(23170), 2, 4),
            (-0.0, 2, 2),
            (0.3, 4, 4),
            (21845.0 / 65535.0, 4, 2),
        ] {
            let found = [Target::Rotation(0), Target::Weights(0)].map(|target| bytes(target, v));
            assert_eq!(found, [rotation, weights], "{v}");
        }
        let splines = Track {
            target: Target::Rotation(0),
            interpolation: Interpolation::CubicSpline,
            timeline: 0,
            values: alloc::vec![1.0; 12],
        };
        assert_eq!((number_bytes(&splines), bytes(Target::Translation(0), 1.0)), (4, 4));
    }

    #[test]
    fn the_quaternion_filters_own_example() {
        // A right angle about x: x and w are equal, and the first of them is omitted.
        let half = core::f64::consts::FRAC_1_SQRT_2;
        let (stored, back) = rotation([half, 0.0, 0.0, half], KeyFormat::Filtered, 4);
        assert_eq!(stored, [0, 0, 2047, 2044]);
        assert_eq!(back.map(|v| v * 32767.0), [23170.0, 0.0, 0.0, 23170.0]);
        assert_eq!(rotation([-half, 0.0, 0.0, -half], KeyFormat::Filtered, 4).0, stored);
    }

    #[test]
    fn steps_hold_what_they_are_for() {
        for greatest in [1e-35, 3e-3, 1.0, 1.5, 4095.9, 1e20] {
            let finest = Steps::finest(KeyFormat::Filtered, greatest);
            let back = f64::from(finest.round(greatest));
            assert!((back - greatest).abs() <= greatest.max(1e-28) * 2.5e-7, "{greatest:e}: {back:e}");
            assert!(finest.count(greatest as f32) < 1 << 22);
            assert_eq!(finest.round(-greatest), -back as f32);
        }
        let halves = Steps(Some(-1));
        assert_eq!([0.24, 0.25, -0.8, 7.3].map(|v| halves.round(v)), [0.0, 0.5, -1.0, 7.5]);
        assert_eq!(halves.coarser(2).round(7.3), 8.0);
        // A number beyond the exponents of the filter stays unchanged.
        assert_eq!(Steps::finest(KeyFormat::Filtered, 1e38).round(1.1e38), 1.1e38_f64 as f32);
    }

    #[test]
    fn bytes_grow_with_the_differences() {
        let of = |numbers: &[i32]| stream_bytes(numbers, 1, 3);
        let keys = |step: i32| -> Vec<i32> { (0..17).map(|key| key * step).collect() };
        // One byte of headers, and 0, 1/4, 1/2 or 1 byte for each of sixteen differences.
        assert_eq!([0, 1, 7, 8].map(|step| of(&keys(step))), [1, 5, 9, 17]);
        // A second byte that changes twice.
        assert_eq!(of(&[0, 0, 300, 300, 0]), 1 + 1 + 2 + 1);
    }

    #[test]
    fn the_coarsest_is_found() {
        let find = |format: KeyFormat, most| format.coarsest(13, |grade| (grade <= most).then_some(grade));
        assert_eq!([0, 5, 12].map(|most| find(KeyFormat::Filtered, most)), [Some(0), Some(5), Some(12)]);
        assert_eq!((find(KeyFormat::Filtered, -1), find(KeyFormat::Shorts, 5)), (None, Some(0)));
    }
}
