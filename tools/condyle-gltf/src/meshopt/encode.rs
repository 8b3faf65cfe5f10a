//! Encodes mode 0: version 0 of the attribute stream, which both extensions read, and the input of its
//! filters.

use super::attributes::{GROUP, block_elements};
use super::filters;

/// Returns the input of the quaternion filter for these rotations, with the smallest number of bits that
/// reproduces all of them exactly. `None` if that is impossible.
pub(crate) fn quaternions(rotations: &[[i16; 4]]) -> Option<Vec<u8>> {
    let give_back = |bits: u32| {
        let found: Option<Vec<[u8; 8]>> = rotations.iter().map(|q| quaternion(*q, bits)).collect();
        found.map(|found| found.into_flattened())
    };
    (4..=15).find_map(give_back)
}

fn quaternion(q: [i16; 4], bits: u32) -> Option<[u8; 8]> {
    let one = (1_i16 << (bits - 1)) - 1;
    let scale = f64::from(one) * core::f64::consts::SQRT_2 / 32767.0;
    let bytes = |words: [i16; 4]| -> [u8; 8] {
        let words = words.map(i16::to_le_bytes);
        core::array::from_fn(|at| words[at / 2][at % 2])
    };
    // After rounding, the dropped component is not necessarily the largest. It must not be small, because
    // readers compute the remainder `1 - x² - y² - z²` with different errors. They also differ if the squares
    // add up to more than 1.
    let is_large = |&dropped: &usize| q[dropped] >= 13_000;
    (0..4).filter(is_large).find_map(|dropped| {
        let stored = |c: usize| {
            let stored = (f64::from(q[(dropped + c) % 4]) * scale).round() as i16;
            (stored.abs() <= one).then_some(stored)
        };
        let filtered = bytes([stored(1)?, stored(2)?, stored(3)?, one & !3 | dropped as i16]);
        let mut back = filtered;
        filters::quaternion(&mut back);
        (back == bytes(q) && is_clear([stored(1)?, stored(2)?, stored(3)?], one)).then_some(filtered)
    })
}

/// Returns whether all readers decode the same integers: no value is so close to halfway between two integers
/// that the order of operations decides.
fn is_clear(stored: [i16; 3], one: i16) -> bool {
    let [x, y, z] = stored.map(|v| f64::from(v) * core::f64::consts::FRAC_1_SQRT_2 / f64::from(one));
    let w = (1.0 - x * x - y * y - z * z).max(0.0).sqrt();
    [w, x, y, z].iter().all(|v| ((v * 32767.0).fract().abs() - 0.5).abs() > 0.01)
}

/// Returns the input of the exponential filter for these numbers, if it reproduces all of them. All numbers
/// at the same position in an element of `width` share one exponent.
pub(crate) fn exponentials(numbers: &[f32], width: usize) -> Option<Vec<u8>> {
    let exponents: Vec<i32> = (0..width)
        .map(|at| numbers[at..].iter().step_by(width).map(|&v| last_place(v)).min().unwrap_or(i32::MAX))
        .map(|least| if least == i32::MAX { 0 } else { least })
        .collect();
    let filtered = |(&v, &exponent): (&f32, &i32)| {
        let mantissa = f64::from(v) / 2_f64.powi(exponent);
        let fits = (-100..=100).contains(&exponent) && mantissa.abs() < f64::from(1 << 23);
        fits.then(|| (exponent << 24 | mantissa as i32 & 0xff_ffff).to_le_bytes())
    };
    let all: Option<Vec<[u8; 4]>> = numbers.iter().zip(exponents.iter().cycle()).map(filtered).collect();
    all.map(|all| all.into_flattened())
}

/// Returns the exponent of the lowest set bit; the maximum of `i32` for zero.
fn last_place(v: f32) -> i32 {
    if v == 0.0 {
        return i32::MAX;
    }
    let bits = v.to_bits();
    let (exponent, fraction) = ((bits >> 23 & 0xff) as i32, bits & 0x7f_ffff);
    // A subnormal number has the exponent of the smallest normal number, without the implicit leading one.
    let fraction = if exponent == 0 { fraction } else { fraction | 1 << 23 };
    exponent.max(1) - 150 + fraction.trailing_zeros() as i32
}

/// Encodes elements of `stride` bytes as a stream. `stride` is a multiple of four, at most 256.
pub(crate) fn attributes(elements: &[u8], stride: usize) -> Vec<u8> {
    let mut out = vec![0xa0];
    // The first element is the baseline, so its deltas are zero.
    let baseline = elements.get(..stride).map_or_else(|| vec![0; stride], <[u8]>::to_vec);
    let mut last = baseline.clone();
    for block in elements.chunks(block_elements(stride) * stride) {
        for (channel, last) in last.iter_mut().enumerate() {
            let deltas: Vec<u8> = block[channel..]
                .iter()
                .step_by(stride)
                .map(|&byte| zigzag(byte.wrapping_sub(core::mem::replace(last, byte))))
                .collect();
            write_deltas(&deltas, WIDTHS, &mut out);
        }
    }
    out.resize(out.len() + 32_usize.saturating_sub(stride), 0);
    out.extend(baseline);
    out
}

/// Bits of a delta for each code of a group, in version 0.
const WIDTHS: [u32; 4] = [0, 2, 4, 8];

/// Returns the groups of the deltas of one byte of each element of a block. Readers ignore the padding of the
/// last group; zeros take the fewest bytes.
fn groups(deltas: &[u8]) -> impl Iterator<Item = [u8; GROUP]> + '_ {
    deltas.chunks(GROUP).map(|deltas| core::array::from_fn(|at| deltas.get(at).copied().unwrap_or_default()))
}

/// Returns the code with the fewest bytes for a group, and these bytes.
fn best_code(group: &[u8; GROUP], widths: [u32; 4]) -> (u8, usize) {
    let sizes = widths.map(|width| group_bytes(group, width));
    let code = (0..4_u8).min_by_key(|&code| sizes[usize::from(code)]).unwrap_or(3);
    (code, sizes[usize::from(code)])
}

/// Returns the number of bytes that [`write_deltas`] writes.
pub(super) fn deltas_bytes(deltas: &[u8], widths: [u32; 4]) -> usize {
    let sizes = groups(deltas).map(|group| best_code(&group, widths).1);
    deltas.len().div_ceil(GROUP).div_ceil(4) + sizes.fold(0, usize::saturating_add)
}

/// Writes the deltas of one byte of each element of a block: two bits for each group, then the groups.
pub(super) fn write_deltas(deltas: &[u8], widths: [u32; 4], out: &mut Vec<u8>) {
    let header = out.len();
    out.resize(header + deltas.len().div_ceil(GROUP).div_ceil(4), 0);
    for (g, group) in groups(deltas).enumerate() {
        let (code, _) = best_code(&group, widths);
        out[header + g / 4] |= code << (2 * (g % 4));
        write_group(&group, widths[usize::from(code)], out);
    }
}

/// Returns the size of a group in bytes with deltas of `width` bits.
fn group_bytes(group: &[u8; GROUP], width: u32) -> usize {
    match width {
        0 if *group == [0; GROUP] => 0,
        0 => usize::MAX,
        8 => GROUP,
        _ => {
            let sentinel = (1 << width) - 1;
            GROUP * width as usize / 8 + group.iter().filter(|&&delta| delta >= sentinel).count()
        }
    }
}

/// Writes a group. A delta that does not fit the width is written as a sentinel, and follows as a whole byte.
fn write_group(group: &[u8; GROUP], width: u32, out: &mut Vec<u8>) {
    match width {
        0 => return,
        8 => return out.extend(group),
        _ => {}
    }
    let sentinel = (1 << width) - 1;
    for deltas in group.chunks(8 / width as usize) {
        // Single bits are packed from the low end, wider ones from the high end.
        out.push((0..).zip(deltas).fold(0, |byte, (at, &delta)| match width {
            1 => byte | delta.min(sentinel) << at,
            _ => byte << width | delta.min(sentinel),
        }));
    }
    out.extend(group.iter().filter(|&&delta| delta >= sentinel));
}

/// Maps `0, -1, 1, -2, ...` to `0, 1, 2, 3, ...`.
pub(super) fn zigzag(delta: u8) -> u8 {
    delta << 1 ^ 0_u8.wrapping_sub(delta >> 7)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::attributes::decode;
    use super::*;

    /// Returns seeded bytes. Each of `spreads` limits the difference from the previous element for a hundred
    /// bytes.
    pub(in super::super) fn bytes(seed: u64, length: usize, stride: usize, spreads: &[u8]) -> Vec<u8> {
        let mut state = seed | 1;
        let mut out: Vec<u8> = Vec::with_capacity(length);
        for at in 0..length {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let spread = spreads[at / 100 % spreads.len()];
            let by = (state >> 40) as u8 % spread;
            out.push(if at < stride {
                by
            } else {
                out[at - stride].wrapping_add(by).wrapping_sub(spread / 2)
            });
        }
        out
    }

    #[test]
    fn every_stride_and_count_comes_back() {
        for stride in (4..=256).step_by(4) {
            for count in [0, 1, 15, 16, 17, 31, 255, 256, 257, 1000] {
                for spreads in [&[1][..], &[4], &[14], &[255], &[1, 255, 3, 14, 1, 20]] {
                    let elements = bytes((stride * count) as u64, stride * count, stride, spreads);
                    let stream = attributes(&elements, stride);
                    let back = decode(&stream, count, stride);
                    assert_eq!(back.as_ref(), Ok(&elements), "{count} of {stride} bytes, {spreads:?}");
                }
            }
        }
    }

    #[test]
    fn each_group_takes_the_least_bytes() {
        let taken = |deltas: [u8; GROUP]| {
            let mut out = Vec::new();
            write_deltas(&deltas, WIDTHS, &mut out);
            (out[0], out.len() - 1)
        };
        let with =
            |few: &[u8]| -> [u8; GROUP] { core::array::from_fn(|i| few.get(i).copied().unwrap_or_default()) };
        assert_eq!(taken([0; GROUP]), (0, 0));
        assert_eq!(taken([2; GROUP]), (1, 4));
        // With one more sentinel, four bits take less space than two.
        assert_eq!(taken(with(&[3, 3, 3, 3])), (1, 8));
        assert_eq!(taken(with(&[3, 3, 3, 3, 3])), (2, 8));
        assert_eq!(taken(with(&[255; 7])), (1, 11));
        assert_eq!(taken([14; GROUP]), (2, 8));
        assert_eq!(taken([255; GROUP]), (3, 16));
    }

    #[test]
    fn rotations_of_the_filter_come_back_in_as_many_bits() {
        let noise = bytes(5, 4096, 4, &[255]);
        for bits in 4..=15_u32 {
            let one = (1_i16 << (bits - 1)) - 1;
            let stored = |at: usize| i16::from_le_bytes([noise[at], noise[at + 1]]) % one / 2;
            let filtered: Vec<[i16; 4]> = (0..4000)
                .step_by(8)
                .map(|at| {
                    [stored(at), stored(at + 2), stored(at + 4), one & !3 | i16::from(noise[at + 6] & 3)]
                })
                .filter(|&[a, b, c, _]| is_clear([a, b, c], one))
                .collect();
            assert!(filtered.len() > 200, "{bits}: {}", filtered.len());
            let mut back: Vec<u8> = filtered.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect();
            filters::quaternion(&mut back);
            let words = back.as_chunks::<2>().0.iter().map(|&b| i16::from_le_bytes(b)).collect::<Vec<_>>();
            let again = quaternions(words.as_chunks::<4>().0).expect("output of the filter");
            // The search returns the bit count of the input.
            assert_eq!((again[6] | 3, again[7]), ((one | 3) as u8, (one >> 8) as u8), "{bits}");
            let mut twice = again;
            filters::quaternion(&mut twice);
            assert_eq!(twice, back, "{bits}");
        }
        // The dropped component is never small, whether the remainder is close to 0 or negative.
        let dropped = quaternions(&[[6, 3, 23170, 23170]]).map(|stored| stored[6] & 3);
        assert_eq!(dropped, Some(2));
        assert_eq!(quaternions(&[[0, 0, 0, 32767]]), Some(vec![0, 0, 0, 0, 0, 0, 7, 0]));
        // The value 16040.5, which readers round in different directions.
        assert!(!is_clear([-1, 0, -11342], 16383) && is_clear([-1, 0, -11343], 16383));
        assert_eq!(quaternions(&[[1, 1, 1, 1]]), None);
        assert_eq!(quaternions(&[[0, 0, 0, -32767]]), None);
    }

    #[test]
    fn numbers_of_the_exponential_filter_come_back() {
        let wide = [1e9, 3.0, 2_f32.powi(-90), -7.0];
        for (numbers, width, shared) in [
            (&[1.5, 0.0, -0.25, 8191.0][..], 1, true),
            (&[0.0], 1, true),
            (&wide, 4, true),
            (&wide, 1, false),
        ] {
            let found = exponentials(numbers, width);
            assert_eq!(found.is_some(), shared, "{numbers:?}");
            let Some(mut bytes) = found else { continue };
            filters::exponential(&mut bytes);
            let back: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
            assert_eq!(back, numbers);
        }
        // Too many digits, too small, too large.
        for none in [16777215.0, 1e-38, 1e-45, 3e38, f32::from_bits(0x3f80_0001)] {
            assert_eq!(exponentials(&[none, 1.0], 1), None, "{none:e}");
        }
        // A shared exponent is the minimum.
        assert_eq!(exponentials(&[0.5, 2.0], 1), Some(vec![1, 0, 0, 255, 4, 0, 0, 255]));
    }

    #[test]
    fn what_stands_still_costs_its_headers() {
        // Four blocks of 256 elements: four header bytes for each of twelve bytes, and the start and end of
        // the stream.
        assert_eq!(attributes(&[7; 12 * 1024], 12).len(), 1 + 4 * 12 * 4 + 32);
    }
}
