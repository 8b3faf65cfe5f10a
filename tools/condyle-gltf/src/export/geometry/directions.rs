//! Unit vectors as octahedral coordinates of eight bits, for the octahedral filter.
//!
//! Source: Q. Meyer et al., "On Floating-Point Normal Vectors", 2010: the vector is projected to an
//! octahedron, whose lower half is folded outwards onto a square.

use crate::meshopt::filters;

/// Largest deviation of a vector's length from 1.
const UNIT: f64 = 0.02;

/// Returns the coordinates of a unit vector as multiples of 1/127, and the angle to the decoded vector in
/// radians. `None` if the vector does not have unit length.
pub(super) fn stored(vector: [f32; 3]) -> Option<([i8; 2], f64)> {
    let wanted = vector.map(f64::from);
    let length = wanted.iter().map(|v| v * v).sum::<f64>().sqrt();
    if (length - 1.0).abs() > UNIT || length.is_nan() {
        return None;
    }
    let [x, y, z] = wanted;
    let sum = x.abs() + y.abs() + z.abs();
    let (u, v) = (x / sum, y / sum);
    let (u, v) = if z < 0.0 { ((1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v)) } else { (u, v) };
    // The nearest coordinates are not always those of the nearest vector.
    let mut best = ([0; 2], f64::MIN);
    for at in 0..4 {
        let round = |v: f64, up: bool| {
            let scaled = v * 127.0;
            (if up { scaled.ceil() } else { scaled.floor() }).clamp(-127.0, 127.0) as i8
        };
        let candidate = [round(u, at & 1 == 1), round(v, at & 2 == 2)];
        let found = decoded(candidate);
        let size = found.iter().map(|v| v * v).sum::<f64>().sqrt() * length;
        let cosine = found.iter().zip(wanted).map(|(a, b)| a * b).sum::<f64>() / size;
        if cosine > best.1 {
            best = (candidate, cosine);
        }
    }
    Some((best.0, best.1.min(1.0).acos()))
}

fn decoded(stored: [i8; 2]) -> [f64; 3] {
    let mut bytes = [stored[0] as u8, stored[1] as u8, 127, 0];
    filters::octahedral_8(&mut bytes);
    [bytes[0], bytes[1], bytes[2]].map(|byte| f64::from(byte as i8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_vectors_stay_within_an_angle() {
        let mut worst = 0.0_f64;
        let count = 20_000;
        for i in 0..count {
            // Points on a spiral over the sphere.
            let z = 1.0 - 2.0 * (f64::from(i) + 0.5) / f64::from(count);
            let (sin, cos) = (f64::from(i) * 2.399_963).sin_cos();
            let r = (1.0 - z * z).sqrt();
            let (_, angle) = stored([r * cos, r * sin, z].map(|v| v as f32)).unwrap();
            worst = worst.max(angle);
        }
        assert!(worst.to_degrees() < 0.75, "{}", worst.to_degrees());
        for axis in 0..3 {
            for sign in [-1.0, 1.0] {
                let mut vector = [0.0; 3];
                vector[axis] = sign;
                assert_eq!(stored(vector).unwrap().1, 0.0, "{vector:?}");
            }
        }
    }

    #[test]
    fn other_vectors_are_refused() {
        for vector in [[0.0; 3], [0.5, 0.0, 0.0], [f32::NAN, 0.0, 1.0], [1.0, 1.0, 0.0]] {
            assert_eq!(stored(vector), None, "{vector:?}");
        }
    }
}
