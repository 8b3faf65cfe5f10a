//! Morph targets, which come before skinning.

use fearless_simd::{f32x16, prelude::*};

use crate::error::Error;
use crate::mesh::{SkinnedMesh, VertexSlicesMut};
use crate::simd::{Mode, dispatch};

/// Adds weighted morph targets to a mesh's vertices.
///
/// `out` receives `base + Σ weight · target` for positions, and for normals and tangents where `out` and the mesh have
/// them; tangents keep their handedness. Normals and tangents are not made unit length: [`skin`](crate::skin()) does that.
/// Targets of weight 0 cost nothing. The error of a component is at most 6e-8, and 6e-8 for each target, of the sum of
/// the magnitudes of the vertex and of what is added. Weights come from [`sample::track`](crate::sample::track) or
/// [`raw_track`](crate::sample::raw_track); a [`Pose`](crate::Pose) holds none, so who blends clips blends their
/// weights too. glTF 2.0, "Morph Targets".
///
/// # Errors
/// [`Error::Length`] if there is not one weight per target, or an array of `out` does not hold one element per vertex
/// (normals and tangents may be empty); [`Error::NotFinite`] for a weight that is NaN or infinite. `out` is then
/// unchanged.
///
/// ```
/// use condyle::{Influences, MorphTarget, SkinnedMesh, Vertices, morph};
///
/// # let vertices = Vertices { positions: vec![[1.0, 0.0, 0.0]], ..Vertices::default() };
/// # let influences = Influences::from_rows([[(0, 0.75), (1, 0.25)]])?;
/// # let lifted = MorphTarget { positions: vec![[0.0, 2.0, 0.0]], ..MorphTarget::default() };
/// # let mesh = SkinnedMesh::new(vertices, influences, vec![], vec![lifted])?;
/// // Half of a target that lifts the vertex by two metres. What comes out goes where `skin` takes `bind`.
/// let mut morphed = Vertices::zeroed_like(mesh.vertices());
/// morph(&mesh, &[0.5], morphed.as_slices_mut())?;
/// assert_eq!(morphed.positions, [[1.0, 1.0, 0.0]]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn morph(mesh: &SkinnedMesh, weights: &[f32], out: VertexSlicesMut<'_>) -> Result<(), Error> {
    let base = mesh.vertices();
    Error::check_len("weights", weights.len(), mesh.morph_targets().len())?;
    Error::check_finite("weights", weights, 1)?;
    let of_count = |what, found| {
        if found == 0 { Ok(()) } else { Error::check_len(what, found, mesh.vertex_count()) }
    };
    Error::check_len("positions", out.positions.len(), mesh.vertex_count())?;
    of_count("normals", out.normals.len())?;
    of_count("tangents", out.tangents.len())?;
    out.positions.copy_from_slice(&base.positions);
    let (with_normals, with_tangents) = (
        !(out.normals.is_empty() || base.normals.is_empty()),
        !(out.tangents.is_empty() || base.tangents.is_empty()),
    );
    if with_normals {
        out.normals.copy_from_slice(&base.normals);
    }
    if with_tangents {
        out.tangents.copy_from_slice(&base.tangents);
    }
    for (target, &weight) in mesh.morph_targets().iter().zip(weights).filter(|(_, w)| **w != 0.0) {
        add(out.positions.as_flattened_mut(), target.positions.as_flattened(), weight);
        if with_normals {
            add(out.normals.as_flattened_mut(), target.normals.as_flattened(), weight);
        }
        if with_tangents {
            for (out, delta) in out.tangents.iter_mut().zip(&target.tangents) {
                for (out, delta) in out.iter_mut().zip(delta) {
                    *out += delta * weight;
                }
            }
        }
    }
    Ok(())
}

fn add(out: &mut [f32], delta: &[f32], weight: f32) {
    dispatch!(|s, mode| add_scaled(s, mode, out, delta, weight));
}

/// `out += delta · weight`. The tail goes through the same arithmetic, padded.
#[inline(always)]
fn add_scaled<S: Simd, M: Mode>(s: S, mode: M, out: &mut [f32], delta: &[f32], weight: f32) {
    let weight = f32x16::splat(s, weight);
    let (out, out_tail) = out.as_chunks_mut::<16>();
    let (delta, delta_tail) = delta.as_chunks::<16>();
    for (out, delta) in out.iter_mut().zip(delta) {
        let sum = mode.madd(f32x16::load_array_ref(s, delta), weight, f32x16::load_array_ref(s, out));
        sum.store_array(out);
    }
    let mut padded = [[0.0; 16]; 2];
    for (i, (out, delta)) in out_tail.iter().zip(delta_tail).enumerate() {
        padded[0][i] = *out;
        padded[1][i] = *delta;
    }
    let sum = mode.madd(f32x16::load_array(s, padded[1]), weight, f32x16::load_array(s, padded[0]));
    for ((out, _), sum) in out_tail.iter_mut().zip(delta_tail).zip(sum.to_array()) {
        *out = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Vertices;
    use crate::reference;
    use crate::simd::Dispatch;
    use crate::testing::{Random, SIZES, assert_close};

    fn morphed(mesh: &SkinnedMesh, weights: &[f32]) -> Vertices {
        let mut out = Vertices::zeroed_like(mesh.vertices());
        morph(mesh, weights, out.as_slices_mut()).expect("sizes agree");
        out
    }

    #[test]
    fn every_size_is_the_formula() {
        for &vertices in SIZES {
            let mesh = Random(vertices as u64).mesh(vertices, 3);
            let weights = [0.3, -1.0, 2.5];
            let [positions, normals, tangents] = reference::morph(&mesh, &weights);
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| morphed(&mesh, &weights));
                for v in 0..vertices {
                    let case = format_args!("{dispatch}, vertex {v} of {vertices}");
                    assert_close(&got.positions[v], &positions[v], 2.5e-7, case);
                    assert_close(&got.normals[v], &normals[v], 2.5e-7, case);
                    assert_close(&got.tangents[v][..3], &tangents[v], 2.5e-7, case);
                    assert_eq!(got.tangents[v][3], mesh.vertices().tangents[v][3], "{case}");
                }
            }
        }
    }

    #[test]
    fn weights_of_zero_leave_the_mesh_exactly() {
        let mesh = Random(1).mesh(33, 3);
        assert_eq!(morphed(&mesh, &[0.0, -0.0, 0.0]), *mesh.vertices());
    }

    #[test]
    fn wrong_sizes_and_weights_are_refused() {
        let mesh = Random(1).mesh(5, 2);
        let mut out = Vertices::zeroed_like(mesh.vertices());
        let refused = morph(&mesh, &[1.0; 2], out.as_slices_mut());
        assert_eq!(refused, Err(Error::Length { what: "weights", found: 2, needed: 3 }));
        let refused = morph(&mesh, &[1.0, f32::NAN, 0.0], out.as_slices_mut());
        assert_eq!(refused, Err(Error::NotFinite { what: "weights", at: 1 }));
        out.normals.pop();
        let refused = morph(&mesh, &[1.0; 3], out.as_slices_mut());
        assert_eq!(refused, Err(Error::Length { what: "normals", found: 4, needed: 5 }));
    }
}
