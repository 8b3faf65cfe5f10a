//! Pairs of vertices that are posed and compared together, whatever their order in the models.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use condyle::mesh::MorphDeltas;
use condyle::{Error as Refusal, Influences, MorphTarget, SkinnedMesh, Vertices};

use crate::compare::error::Error;
use crate::compare::pairs::Link;
use crate::compare::subject::Subject;

/// Maximum number of vertices in a cluster, chosen to fit the L1 cache.
const VERTICES: usize = 512;
/// Memory limit of all clusters in bytes, in addition to twice the size of the meshes.
const MOST_ADDED: usize = 64 << 20;

/// A group of pairs: vertex `i` of one mesh is compared with vertex `i` of the other.
pub(crate) struct Cluster {
    /// Part of each model.
    pub(crate) parts: [usize; 2],
    /// Meshes of the cluster, with positions, influences and morph targets only.
    pub(crate) meshes: [Arc<SkinnedMesh>; 2],
    /// Joints that the influences refer to.
    pub(crate) joints: [Vec<u16>; 2],
    /// Index of each vertex in its model's part.
    pub(crate) numbers: [Vec<u32>; 2],
}

/// Groups pairs by their parts, then by the heaviest joint, so that few joints move most clusters.
pub(crate) fn clusters(a: &Subject<'_>, b: &Subject<'_>, links: &[Link]) -> Result<Vec<Cluster>, Error> {
    let heaviest = |link: &Link| {
        let [part, vertex] = [link.parts[0], link.vertices[0]].map(|n| n as usize);
        let mut row = a.parts[part].mesh.influences().row(vertex);
        (row.next().map(|(joint, _)| joint), row.len())
    };
    let mut keyed: Vec<_> = links.iter().map(|&link| (link.parts, heaviest(&link), link.vertices)).collect();
    keyed.sort_unstable();
    let mut made = Made::default();
    let of_parts = keyed.chunk_by(|this, that| this.0 == that.0);
    let clusters = of_parts.flat_map(|links| links.chunks(VERTICES)).map(|links| {
        let parts = links[0].0.map(|part| part as usize);
        let numbers = [0, 1].map(|side| links.iter().map(|link| link.2[side]).collect::<Vec<u32>>());
        let mesh = |side: usize, it: &Subject<'_>| {
            made.submesh(&it.parts[parts[side]].mesh, &numbers[side]).map_err(|e| it.too_large(e))
        };
        let mut mesh = mesh;
        let meshes = [mesh(0, a)?, mesh(1, b)?];
        let joints = [0, 1].map(|side| {
            let mut joints = meshes[side].influences().as_slices().1.to_vec();
            joints.sort_unstable();
            joints.dedup();
            joints
        });
        Ok(Cluster { parts, meshes, joints, numbers })
    });
    clusters.collect()
}

/// Cache of mesh parts. A part that several instances share is made once, because a document of a few hundred
/// bytes can place one mesh at a million nodes.
#[derive(Default)]
struct Made {
    known: HashMap<(usize, Vec<u32>), Arc<SkinnedMesh>>,
    /// Bytes of the parts, and of the meshes that they were made from.
    bytes: usize,
    whole: HashSet<usize>,
    whole_bytes: usize,
}

impl Made {
    fn submesh(&mut self, mesh: &Arc<SkinnedMesh>, vertices: &[u32]) -> Result<Arc<SkinnedMesh>, Refusal> {
        let whole = Arc::as_ptr(mesh) as usize;
        let entry = match self.known.entry((whole, vertices.to_vec())) {
            Entry::Occupied(known) => return Ok(Arc::clone(known.get())),
            Entry::Vacant(entry) => entry,
        };
        if self.whole.insert(whole) {
            self.whole_bytes += bytes(mesh);
        }
        let influences = vertices.iter().map(|&vertex| mesh.influences().row(vertex as usize));
        let positions = vertices.iter().map(|&vertex| mesh.vertices().positions[vertex as usize]).collect();
        let made = SkinnedMesh::new(
            Vertices { positions, ..Vertices::default() },
            Influences::from_rows(influences)?,
            Vec::new(),
            mesh.morph_targets()
                .iter()
                .map(|target| subtarget(target, vertices))
                .collect::<Result<_, _>>()?,
        )?;
        self.bytes = self.bytes.saturating_add(bytes(&made));
        // Twice the meshes: a vertex of one model may have several counterparts in the other.
        let limit = (2 * self.whole_bytes).saturating_add(MOST_ADDED);
        if self.bytes > limit {
            return Err(Refusal::TooMany {
                what: "the byte buffer for pairs of vertices",
                found: self.bytes,
                limit,
            });
        }
        Ok(Arc::clone(entry.insert(Arc::new(made))))
    }
}

/// Returns the position offsets of these vertices in a morph target.
fn subtarget(target: &MorphTarget, vertices: &[u32]) -> Result<MorphTarget, Refusal> {
    let position = |(at, &vertex): (u32, &u32)| (at, target.delta(vertex as usize).position);
    let moved = (0..).zip(vertices).map(position).filter(|(_, by)| *by != [0.0; 3]);
    let positions = &moved.collect::<Vec<_>>();
    MorphTarget::from_sparse(vertices.len(), MorphDeltas { positions, ..MorphDeltas::default() })
}

/// Returns the bytes of positions, influences and morph targets.
fn bytes(mesh: &SkinnedMesh) -> usize {
    let (starts, joints, weights) = mesh.influences().as_slices();
    let targets = mesh.morph_targets().iter().map(MorphTarget::byte_count);
    size_of_val(&mesh.vertices().positions[..])
        + size_of_val(starts)
        + size_of_val(joints)
        + size_of_val(weights)
        + targets.sum::<usize>()
}
