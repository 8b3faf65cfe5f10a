//! Three morph targets of positions and normals.

use std::rc::Rc;

use condyle::{SkinnedMesh, Vertices, morph, reference};

use super::{case, largest, worst};
use crate::data::Random;
use crate::harness::{Case, Subjects};

const VERTICES: u32 = 1024;
const WEIGHTS: [f32; 3] = [0.25, 0.5, 0.75];

/// The mesh and three targets read, one mesh written, each of a position and a normal.
pub(super) fn cases() -> Vec<Case> {
    vec![case("morph_1024", "structs", VERTICES as usize, 5 * 24, build)]
}

type Want = [Vec<[f64; 3]>; 3];

fn error(out: &Vertices, want: &Want) -> f64 {
    let pairs = [(&out.positions, &want[0]), (&out.normals, &want[1])];
    largest(
        pairs.map(|(got, want)| worst(got.as_flattened().iter().zip(want.as_flattened().iter().copied()))),
    )
}

fn build(subjects: &mut Subjects) {
    let mesh = Rc::new(Random(5).morphing_mesh(VERTICES, WEIGHTS.len()));
    let want = Rc::new(reference::morph(&mesh, &WEIGHTS));
    let room = Vertices { tangents: vec![], ..Vertices::zeroed_like(mesh.vertices()) };
    let looked_at = want.clone();
    subjects.kernel(
        "condyle",
        1e-5,
        &mesh,
        room.clone(),
        |mesh, out| morph(mesh, &WEIGHTS, out.as_slices_mut()).expect("sizes agree"),
        move |out| error(out, &looked_at),
    );
    let mut peer = |name, call: fn(&Rc<SkinnedMesh>, &mut Vertices)| {
        let want = want.clone();
        subjects.peer(name, mesh.clone(), room.clone(), call, move |out| error(out, &want));
    };
    peer("plain", plain);
    #[cfg(feature = "peers")]
    peer("glam", glam);
}

/// One target after another over all vertices, for the compiler to vectorise.
fn plain(mesh: &Rc<SkinnedMesh>, out: &mut Vertices) {
    out.positions.copy_from_slice(&mesh.vertices().positions);
    out.normals.copy_from_slice(&mesh.vertices().normals);
    for (target, weight) in mesh.morph_targets().iter().zip(WEIGHTS) {
        for (out, deltas) in [(&mut out.positions, &target.positions), (&mut out.normals, &target.normals)] {
            for (out, delta) in out.as_flattened_mut().iter_mut().zip(deltas.as_flattened()) {
                *out += delta * weight;
            }
        }
    }
}

/// Vertex by vertex.
#[cfg(feature = "peers")]
fn glam(mesh: &Rc<SkinnedMesh>, out: &mut Vertices) {
    use glam::Vec3A;
    for v in 0..mesh.vertex_count() {
        let mut position = Vec3A::from(mesh.vertices().positions[v]);
        let mut normal = Vec3A::from(mesh.vertices().normals[v]);
        for (target, weight) in mesh.morph_targets().iter().zip(WEIGHTS) {
            position += Vec3A::from(target.positions[v]) * weight;
            normal += Vec3A::from(target.normals[v]) * weight;
        }
        (out.positions[v], out.normals[v]) = (position.into(), normal.into());
    }
}
