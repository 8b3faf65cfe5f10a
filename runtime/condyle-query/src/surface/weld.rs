//! Vertices that coincide in every pose.

use alloc::vec::Vec;
use core::cmp::Ordering;

use condyle::mesh::SkinnedMesh;

/// Maximum difference per component of normals that count as equal, about 0.06 degrees: exporters round
/// normals.
const SAME_NORMAL: f32 = 1e-3;

/// Returns two lists with an entry for each vertex: the first vertex at the same place, and the first vertex
/// there with the same normal.
pub(super) fn places(mesh: &SkinnedMesh) -> (Vec<u32>, Vec<u32>) {
    let mut order: Vec<u32> = (0..mesh.vertex_count() as u32).collect();
    order.sort_unstable_by(|&a, &b| compare(mesh, a as usize, b as usize).then(a.cmp(&b)));
    let mut places = alloc::vec![0; order.len()];
    let mut smooth = alloc::vec![0; order.len()];
    let together = |a: &u32, b: &u32| compare(mesh, *a as usize, *b as usize) == Ordering::Equal;
    // First vertex of each distinct normal at one place.
    let mut normals: Vec<u32> = Vec::new();
    for same in order.chunk_by(together) {
        normals.clear();
        for &vertex in same {
            places[vertex as usize] = same[0];
            let known = normals.iter().find(|&&known| has_normal_of(mesh, known as usize, vertex as usize));
            smooth[vertex as usize] = known.copied().unwrap_or(vertex);
            // Limits the time for a place with hundreds of normals. Further normals there are not merged.
            if known.is_none() && normals.len() < 64 {
                normals.push(vertex);
            }
        }
    }
    (places, smooth)
}

fn has_normal_of(mesh: &SkinnedMesh, a: usize, b: usize) -> bool {
    let normals = &mesh.vertices().normals;
    let (Some(a), Some(b)) = (normals.get(a), normals.get(b)) else { return true };
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= SAME_NORMAL)
}

/// Orders vertices by all data that determines their posed position. 0.0 and -0.0 are equal.
fn compare(mesh: &SkinnedMesh, a: usize, b: usize) -> Ordering {
    let vector = |x: [f32; 3], y: [f32; 3]| {
        (0..3).map(|c| (x[c] + 0.0).total_cmp(&(y[c] + 0.0))).find(|it| it.is_ne())
    };
    let influences = || {
        let (x, y) = (mesh.influences().row(a), mesh.influences().row(b));
        x.map(ordered).cmp(y.map(ordered))
    };
    let share = |vertex: usize| mesh.influences().dual_shares().get(vertex).map(|share| share.to_bits());
    let morphed = || {
        let mut targets = mesh.morph_targets().iter();
        targets.find_map(|target| vector(target.delta(a).position, target.delta(b).position))
    };
    let positions = &mesh.vertices().positions;
    let places = vector(positions[a], positions[b]);
    let skinned = || influences().then_with(|| share(a).cmp(&share(b)));
    places.unwrap_or_else(|| skinned().then_with(|| morphed().unwrap_or(Ordering::Equal)))
}

/// Converts an influence to integers, for comparison.
fn ordered((joint, weight): (u16, f32)) -> (u16, u32) {
    (joint, weight.to_bits())
}
