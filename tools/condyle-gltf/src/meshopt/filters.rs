//! The filters of mode 0, applied in place to decoded elements, as listed in the specification.

/// Applies `f` to elements of four 8-bit numbers.
fn each_8(bytes: &mut [u8], f: impl Fn([u8; 4]) -> [u8; 4]) {
    for element in bytes.as_chunks_mut::<4>().0 {
        *element = f(*element);
    }
}

/// Applies `f` to elements of four 16-bit numbers.
fn each_16(bytes: &mut [u8], f: impl Fn([u16; 4]) -> [u16; 4]) {
    for element in bytes.as_chunks_mut::<8>().0 {
        let words = core::array::from_fn(|i| u16::from_le_bytes([element[2 * i], element[2 * i + 1]]));
        for (out, word) in element.as_chunks_mut::<2>().0.iter_mut().zip(f(words)) {
            *out = word.to_le_bytes();
        }
    }
}

pub(crate) fn octahedral_8(bytes: &mut [u8]) {
    each_8(bytes, |v| {
        let [x, y, z] = octahedral([v[0], v[1], v[2]].map(|c| f32::from(c as i8)));
        let pack = |c: f32| (c * 127.0).round() as i8 as u8;
        [pack(x), pack(y), pack(z), v[3]]
    });
}

pub(super) fn octahedral_16(bytes: &mut [u8]) {
    each_16(bytes, |v| {
        let [x, y, z] = octahedral([v[0], v[1], v[2]].map(|c| f32::from(c as i16)));
        let pack = |c: f32| (c * 32767.0).round() as i16 as u16;
        [pack(x), pack(y), pack(z), v[3]]
    });
}

/// Returns the unit vector of two octahedral coordinates, which are fractions of the third number.
fn octahedral([x, y, one]: [f32; 3]) -> [f32; 3] {
    let (x, y) = (x / one, y / one);
    let z = 1.0 - x.abs() - y.abs();
    // The lower half is folded outwards.
    let t = z.min(0.0);
    let (x, y) = (x - t.copysign(x), y - t.copysign(y));
    let length = (x * x + y * y + z * z).sqrt();
    [x / length, y / length, z / length]
}

pub(super) fn quaternion(bytes: &mut [u8]) {
    each_16(bytes, |v| {
        // The last number is 1.0 in the element's precision, except for the two bits with the index of the
        // dropped component.
        let one = f32::from((v[3] | 3) as i16);
        let scale = core::f32::consts::FRAC_1_SQRT_2 / one;
        let [x, y, z] = [v[0], v[1], v[2]].map(|c| f32::from(c as i16) * scale);
        let w = (1.0 - x * x - y * y - z * z).max(0.0).sqrt();
        let dropped = usize::from(v[3] & 3);
        let mut out = [0; 4];
        for (i, component) in [w, x, y, z].into_iter().enumerate() {
            out[(dropped + i) % 4] = (component * 32767.0).round() as i16 as u16;
        }
        out
    });
}

/// Computes `mantissa * 2^exponent`, which is exact.
pub(crate) fn exponential(bytes: &mut [u8]) {
    each_8(bytes, |v| {
        let word = i32::from_le_bytes(v);
        let (exponent, mantissa) = (word >> 24, (word << 8) >> 8);
        let power = f64::from_bits(((1023 + exponent) as u64) << 52);
        ((f64::from(mantissa) * power) as f32).to_le_bytes()
    });
}

pub(super) fn color_8(bytes: &mut [u8]) {
    each_8(bytes, |v| {
        let [y, co, cg, alpha] =
            [i32::from(v[0]), i32::from(v[1] as i8), i32::from(v[2] as i8), i32::from(v[3])];
        color([y, co, cg, alpha], 255.0).map(|c| c as u8)
    });
}

pub(super) fn color_16(bytes: &mut [u8]) {
    each_16(bytes, |v| {
        let [y, co, cg, alpha] =
            [i32::from(v[0]), i32::from(v[1] as i16), i32::from(v[2] as i16), i32::from(v[3])];
        color([y, co, cg, alpha], 65535.0).map(|c| c as u16)
    });
}

/// Returns red, green, blue and alpha up to `max`, from luma, chroma and an alpha whose highest bit marks the
/// precision.
fn color([y, co, cg, alpha]: [i32; 4], max: f32) -> [f32; 4] {
    let bits = 32 - alpha.leading_zeros();
    let full = (1 << bits) - 1;
    let a = alpha & (full >> 1);
    let scale = max / full as f32;
    [y + co - cg, y + cg, y - co - cg, a << 1 | a & 1].map(|c| (c as f32 * scale).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_vectors() {
        // Ten bits, with 1.0 stored as 511: the axes, and a vector in the folded half.
        let words: [[i16; 4]; 4] = [[511, 0, 511, 7], [0, -511, 511, 8], [0, 0, 511, 9], [511, 511, 511, 10]];
        let mut bytes: Vec<u8> = words.as_flattened().iter().flat_map(|w| w.to_le_bytes()).collect();
        octahedral_16(&mut bytes);
        let out: Vec<i16> = bytes.as_chunks::<2>().0.iter().map(|b| i16::from_le_bytes(*b)).collect();
        assert_eq!(out, [32767, 0, 0, 7, 0, -32767, 0, 8, 0, 0, 32767, 9, 0, 0, -32767, 10]);
        let mut small = [63u8, 0, 63, 5];
        octahedral_8(&mut small);
        assert_eq!(small, [127, 0, 0, 5]);
    }

    #[test]
    fn rotations() {
        // With twelve bits, 1.0 is 2047. The low two bits drop z.
        let words: [i16; 4] = [0, 0, 2047, (2047 & !3) | 2];
        let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        quaternion(&mut bytes);
        let out: Vec<i16> = bytes.as_chunks::<2>().0.iter().map(|b| i16::from_le_bytes(*b)).collect();
        // The three stored components follow the dropped one cyclically: w, x, y.
        assert_eq!(out, [0, 23170, 23170, 0]);
    }

    #[test]
    fn numbers_of_any_size() {
        let pack = |exponent: i32, mantissa: i32| (exponent << 24 | mantissa & 0xff_ffff).to_le_bytes();
        for (exponent, mantissa, want) in
            [(0, 5, 5.0), (-3, -12, -1.5), (100, 1, 2f32.powi(100)), (-100, 3, 3.0 * 2f32.powi(-100))]
        {
            let mut bytes = pack(exponent, mantissa);
            exponential(&mut bytes);
            assert_eq!(f32::from_le_bytes(bytes), want);
        }
    }

    #[test]
    fn colors() {
        // Eight bits: alpha 0x80 | 127 is opaque; luma 255 without chroma is white.
        let mut bytes = [255, 0, 0, 255, 0, 0, 0, 128];
        color_8(&mut bytes);
        assert_eq!(bytes, [255, 255, 255, 255, 0, 0, 0, 0]);
        let mut wide: Vec<u8> = [15u16, 0, 0, 8].iter().flat_map(|w| w.to_le_bytes()).collect();
        color_16(&mut wide);
        let out: Vec<u16> = wide.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
        assert_eq!(out, [65535, 65535, 65535, 0]);
    }

    #[test]
    fn nonsense_does_not_panic() {
        for byte in [0, 1, 127, 128, 255] {
            let bytes = [byte; 16];
            for filter in [octahedral_8, octahedral_16, quaternion, exponential, color_8, color_16] {
                filter(&mut bytes.clone());
            }
        }
    }
}
