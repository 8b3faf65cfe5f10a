//! Bitangents, the third axis of the tangent space of a vertex.

use fearless_simd::{f32x8, prelude::*};

use super::packed::{PACKED, copy_front, load_two, packed, packed_mut, store_two, two_tangents};
use crate::mesh::GROUP_VERTICES;
use condyle_base::error::Error;
use condyle_base::simd::{Mode, dispatch, transpose_halves};

/// Computes bitangents: the handedness of each tangent (its fourth component) times normal cross tangent.
///
/// Bitangents have unit length if normals and tangents do and are perpendicular to each other. glTF 2.0,
/// "Meshes".
///
/// # Errors
/// [`Error::Length`] if `tangents` or `bitangents` does not hold one element per normal.
///
/// ```
/// use condyle::skinning;
///
/// let (normals, tangents) = ([[0.0, 0.0, 1.0]; 2], [[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, -1.0]]);
/// let mut bitangents = [[0.0; 3]; 2];
/// skinning::bitangents(&normals, &tangents, &mut bitangents)?;
/// assert_eq!(bitangents, [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn bitangents(
    normals: &[[f32; 3]],
    tangents: &[[f32; 4]],
    bitangents: &mut [[f32; 3]],
) -> Result<(), Error> {
    Error::check_len("tangents", tangents.len(), normals.len())?;
    Error::check_len("bitangents", bitangents.len(), normals.len())?;
    dispatch!(|s, mode| cross_all(s, mode, normals, tangents, bitangents));
    Ok(())
}

#[inline(always)]
fn cross_all<S: Simd, M: Mode>(
    s: S,
    mode: M,
    normals: &[[f32; 3]],
    tangents: &[[f32; 4]],
    bitangents: &mut [[f32; 3]],
) {
    // Copy the last one to eight vertices to a padded buffer, because each vector is loaded with the float
    // after it.
    let last = normals.len().saturating_sub(1) / GROUP_VERTICES * GROUP_VERTICES;
    let (mut tail, mut tail_out) = ([0.0; PACKED], [0.0; PACKED]);
    let mut tail_tangents = [[0.0; 4]; GROUP_VERTICES];
    copy_front(tail.as_chunks_mut().0, normals.get(last..).unwrap_or(&[]));
    copy_front(&mut tail_tangents, tangents.get(last..).unwrap_or(&[]));
    for at in (0..normals.len()).step_by(GROUP_VERTICES) {
        let normals = packed(normals, at).unwrap_or(&tail);
        let whole = tangents.get(at..).and_then(|t| t.first_chunk()).filter(|_| at < last);
        let tangents = whole.unwrap_or(&tail_tangents);
        let out = packed_mut(bitangents, at).unwrap_or(&mut tail_out);

        let (zero, mut n, mut t) =
            (f32x8::splat(s, 0.0), [f32x8::splat(s, 0.0); 4], [f32x8::splat(s, 0.0); 4]);
        for pair in 0..GROUP_VERTICES / 2 {
            n[pair] = load_two(s, normals, pair);
            t[pair] = two_tangents(s, tangents, pair);
        }
        let ([a, b, c, _], [x, y, z, hand]) = (transpose_halves(n), transpose_halves(t));
        let crossed = [
            hand * mode.msub(b, z, c * y),
            hand * mode.msub(c, x, a * z),
            hand * mode.msub(a, y, b * x),
            zero,
        ];
        for (pair, both) in transpose_halves(crossed).into_iter().enumerate() {
            store_two(out, pair, both);
        }
    }
    copy_front(bitangents.get_mut(last..).unwrap_or(&mut []), tail_out.as_chunks().0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::reference;
    use crate::testing::{Random, SIZES, assert_close, assert_portable};
    use condyle_base::simd::Dispatch;
    use std::vec;

    #[test]
    fn every_size_is_the_formula() {
        for &vertices in SIZES {
            let mesh = Random(vertices as u64).mesh(vertices, 3);
            let (normals, tangents) = (&mesh.vertices().normals, &mesh.vertices().tangents);
            for dispatch in Dispatch::all() {
                let mut got = vec![[0.0; 3]; vertices];
                dispatch.scope(|| bitangents(normals, tangents, &mut got)).expect("sizes agree");
                for (v, got) in got.iter().enumerate() {
                    let want = reference::bitangent(normals[v].map(f64::from), tangents[v].map(f64::from));
                    assert_close(got, &want, 1.2e-7, format_args!("{dispatch}, vertex {v} of {vertices}"));
                }
            }
        }
    }

    #[test]
    fn right_hands_turn_x_and_y_into_z() {
        let mut got = [[0.0; 3]; 2];
        let tangents = [[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, -1.0]];
        bitangents(&[[1.0, 0.0, 0.0]; 2], &tangents, &mut got).expect("sizes agree");
        assert_eq!(got, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]);
    }

    #[test]
    fn the_bits_are_the_same_everywhere() {
        assert_portable(0xc1b7_a886_b826_8c51, |hash| {
            let mesh = Random(23).mesh(333, 3);
            let mut out = vec![[0.0; 3]; 333];
            bitangents(&mesh.vertices().normals, &mesh.vertices().tangents, &mut out).expect("sizes agree");
            hash.add(out.as_flattened());
        });
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let mut out = [[0.0; 3]; 2];
        let refused = bitangents(&[[0.0; 3]; 2], &[[0.0; 4]; 1], &mut out);
        assert_eq!(refused, Err(Error::Length { what: "tangents", found: 1, needed: 2 }));
        let refused = bitangents(&[[0.0; 3]; 3], &[[0.0; 4]; 3], &mut out);
        assert_eq!(refused, Err(Error::Length { what: "bitangents", found: 2, needed: 3 }));
    }
}
