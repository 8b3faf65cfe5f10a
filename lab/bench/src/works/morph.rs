//! Morph targets of positions and normals. Three move all of a small mesh, and ten of a hundred each move a
//! tenth of a face.

use std::rc::Rc;

use condyle::{SkinnedMesh, Vertices, morph};
use condyle_testing::reference;

use super::{case, copying, largest, worst};
use crate::data::Random;
use crate::harness::{Case, Subjects};

/// Vertices of the small mesh.
const SMALL: u32 = 1024;
/// Columns and rows of the face: 20,000 vertices.
const FACE: [usize; 2] = [200, 100];
const VERTICES: usize = FACE[0] * FACE[1];
const TARGETS: usize = 100;
const ACTIVE: usize = 10;
/// Number of vertices that one target of the face moves.
const MOVED: usize = VERTICES / 10;

/// Size in bytes of a position and a normal.
const VERTEX: usize = 24;
/// Bytes per vertex of the face: the mesh is read and written once, and the deltas of the active targets are
/// read once.
const FACE_BYTES: usize = 2 * VERTEX + ACTIVE * MOVED * VERTEX / VERTICES;

pub(super) fn cases() -> Vec<Case> {
    let small =
        |subjects: &mut Subjects| build(subjects, Random(5).morphing_mesh(SMALL, 3), vec![0.25, 0.5, 0.75]);
    let face = |subjects: &mut Subjects| {
        build(subjects, Random(6).face(FACE, TARGETS, MOVED), face_weights());
        copying(subjects, "copy_of_morph_100x10_20k", VERTICES, FACE_BYTES);
    };
    vec![
        // The mesh and three targets are read, one mesh is written.
        case("morph_1024", "structs", SMALL as usize, 5 * VERTEX, small),
        case("morph_100x10_20k", "structs", VERTICES, FACE_BYTES, face),
    ]
}

/// Weights with a few active targets, far apart in the list.
fn face_weights() -> Vec<f32> {
    let weight = |k: usize| if k.is_multiple_of(TARGETS / ACTIVE) { 0.25 + k as f32 / 128.0 } else { 0.0 };
    (0..TARGETS).map(weight).collect()
}

type Want = [Vec<[f64; 3]>; 3];

fn error(out: &Vertices, want: &Want) -> f64 {
    let pairs = [(&out.positions, &want[0]), (&out.normals, &want[1])];
    largest(
        pairs.map(|(got, want)| worst(got.as_flattened().iter().zip(want.as_flattened().iter().copied()))),
    )
}

fn build(subjects: &mut Subjects, mesh: SkinnedMesh, weights: Vec<f32>) {
    let want = Rc::new(reference::morph(&mesh, &weights));
    let room = Vertices { tangents: vec![], ..Vertices::zeroed_like(mesh.vertices()) };
    let peers = Rc::new(Peers::new(&mesh, &weights));
    let looked_at = want.clone();
    subjects.kernel(
        "condyle",
        1e-5,
        &Rc::new((mesh, weights)),
        room.clone(),
        |(mesh, weights), out| morph(mesh, weights, out.as_slices_mut()).expect("sizes agree"),
        move |out| error(out, &looked_at),
    );
    let mut peer = |name, call: fn(&Rc<Peers>, &mut Vertices)| {
        let want = want.clone();
        subjects.peer(name, peers.clone(), room.clone(), call, move |out| error(out, &want));
    };
    peer("plain", plain);
    peer("plain_sparse", plain_sparse);
    #[cfg(feature = "peers")]
    {
        peer("glam", glam);
        peer("glam_sparse", glam_sparse);
    }
}

/// Same targets as arrays: of all vertices, and of moved vertices only.
struct Peers {
    base: Vertices,
    weights: Vec<f32>,
    dense: Vec<[Vec<[f32; 3]>; 2]>,
    sparse: Vec<Vec<(u32, [[f32; 3]; 2])>>,
}

impl Peers {
    fn new(mesh: &SkinnedMesh, weights: &[f32]) -> Self {
        let targets = mesh.morph_targets().iter();
        let sparse: Vec<Vec<_>> = targets
            .map(|target| target.deltas().map(|(v, delta)| (v, [delta.position, delta.normal])).collect())
            .collect();
        let dense = sparse.iter().map(|sparse| {
            let mut all = [(); 2].map(|()| vec![[0.0; 3]; mesh.vertex_count()]);
            for &(vertex, [position, normal]) in sparse {
                (all[0][vertex as usize], all[1][vertex as usize]) = (position, normal);
            }
            all
        });
        Self { base: mesh.vertices().clone(), weights: weights.to_vec(), dense: dense.collect(), sparse }
    }

    /// Targets with a non-zero weight.
    fn active<'a, T>(&'a self, targets: &'a [T]) -> impl Iterator<Item = (&'a T, f32)> + Clone {
        targets.iter().zip(self.weights.iter().copied()).filter(|(_, weight)| *weight != 0.0)
    }

    fn start(&self, out: &mut Vertices) {
        out.positions.copy_from_slice(&self.base.positions);
        out.normals.copy_from_slice(&self.base.normals);
    }
}

/// Adds one target after another to all vertices. The compiler can vectorise this.
fn plain(peers: &Rc<Peers>, out: &mut Vertices) {
    peers.start(out);
    for ([positions, normals], weight) in peers.active(&peers.dense) {
        for (out, deltas) in [(&mut out.positions, positions), (&mut out.normals, normals)] {
            for (out, delta) in out.as_flattened_mut().iter_mut().zip(deltas.as_flattened()) {
                *out += delta * weight;
            }
        }
    }
}

/// Adds one target after another to its moved vertices.
fn plain_sparse(peers: &Rc<Peers>, out: &mut Vertices) {
    peers.start(out);
    for (deltas, weight) in peers.active(&peers.sparse) {
        for &(vertex, deltas) in deltas {
            let vertex = vertex as usize;
            for (out, delta) in [&mut out.positions[vertex], &mut out.normals[vertex]].into_iter().zip(deltas)
            {
                out.iter_mut().zip(delta).for_each(|(out, delta)| *out += delta * weight);
            }
        }
    }
}

/// Computes one vertex after another.
#[cfg(feature = "peers")]
fn glam(peers: &Rc<Peers>, out: &mut Vertices) {
    use glam::Vec3A;
    let active = peers.active(&peers.dense);
    for v in 0..peers.base.positions.len() {
        let mut position = Vec3A::from(peers.base.positions[v]);
        let mut normal = Vec3A::from(peers.base.normals[v]);
        for ([positions, normals], weight) in active.clone() {
            position += Vec3A::from(positions[v]) * weight;
            normal += Vec3A::from(normals[v]) * weight;
        }
        (out.positions[v], out.normals[v]) = (position.into(), normal.into());
    }
}

/// Adds one target after another to its moved vertices.
#[cfg(feature = "peers")]
fn glam_sparse(peers: &Rc<Peers>, out: &mut Vertices) {
    use glam::Vec3A;
    peers.start(out);
    for (deltas, weight) in peers.active(&peers.sparse) {
        for &(vertex, [position, normal]) in deltas {
            let (at, by) = (&mut out.positions[vertex as usize], Vec3A::from(position) * weight);
            *at = (Vec3A::from(*at) + by).into();
            let (at, by) = (&mut out.normals[vertex as usize], Vec3A::from(normal) * weight);
            *at = (Vec3A::from(*at) + by).into();
        }
    }
}
