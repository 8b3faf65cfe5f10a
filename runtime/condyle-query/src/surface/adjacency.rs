//! Groups triangles into patches, and finds the edges between them.

use alloc::vec;
use alloc::vec::Vec;

use super::{InnerEdge, OuterEdge, PATCH, Patch, Surface};

/// Side of a triangle: the lower vertex, the higher vertex, whether it runs from the higher to the lower, and
/// the triangle.
type Side = (u32, u32, bool, u32);

/// Edge of two triangles, or of one if the edge is open. `ends` are in the order in which the first triangle
/// traverses them.
struct Edge {
    ends: [u32; 2],
    triangles: [Option<u32>; 2],
}

/// Builds the surface. The corners of `triangles` are vertices that `smooth` contains.
pub(super) fn build(places: Vec<u32>, smooth: Vec<u32>, triangles: &[[u32; 3]]) -> Surface {
    let edges = edges(triangles.iter().map(|corners| corners.map(|vertex| places[vertex as usize])));
    let (order, ends) = patches(triangles.len(), &edges);
    // Patch of each triangle, and its index in the patch.
    let mut seats = vec![0_u32; triangles.len()];
    let (mut corners, mut patches, mut first) = (Vec::new(), Vec::new(), 0);
    for (patch, &end) in ends.iter().enumerate() {
        let members = &order[first..end];
        for (seat, &triangle) in members.iter().enumerate() {
            seats[triangle as usize] = (patch * PATCH + seat) as u32;
        }
        for eight in members.chunks(8) {
            let mut group = [[0; 8]; 3];
            for (lane, &triangle) in eight.iter().enumerate() {
                for (slot, corner) in group.iter_mut().zip(triangles[triangle as usize]) {
                    slot[lane] = corner;
                }
            }
            corners.push(group);
        }
        patches.push(Patch { groups: corners.len() as u32, edges: 0 });
        first = end;
    }

    let nowhere = (patches.len() * PATCH) as u32;
    let (mut inner, mut outer, mut open_count) = (Vec::new(), Vec::new(), 0);
    for edge in &edges {
        let seat = |triangle: Option<u32>| triangle.map_or(nowhere, |triangle| seats[triangle as usize]);
        let [a, b] = edge.triangles.map(seat);
        open_count += usize::from(b == nowhere);
        let patch_of = |seat: u32| seat as usize / PATCH;
        if patch_of(a) == patch_of(b) {
            let within = [a, b].map(|seat| (seat as usize % PATCH) as u8);
            inner.push((patch_of(a), InnerEdge { ends: edge.ends, triangles: within }));
        } else {
            outer.push(OuterEdge { ends: edge.ends, triangles: [a, b] });
        }
    }
    inner.sort_by_key(|(patch, _)| *patch);
    outer.sort_by_key(|edge| edge.triangles);
    for (patch, _) in &inner {
        patches[*patch].edges += 1;
    }
    let mut end = 0;
    for patch in &mut patches {
        end += patch.edges;
        patch.edges = end;
    }
    let inner = inner.into_iter().map(|(_, edge)| edge).collect();
    let triangle_count = triangles.len();
    Surface { places, smooth, patches, corners, triangle_count, inner, outer, open_count }
}

/// All edges: sides with opposite directions in pairs, then the remaining sides.
fn edges(triangles: impl ExactSizeIterator<Item = [u32; 3]>) -> Vec<Edge> {
    let mut sides: Vec<Side> = Vec::with_capacity(3 * triangles.len());
    for (triangle, [a, b, c]) in triangles.enumerate() {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            sides.push((from.min(to), from.max(to), from > to, triangle as u32));
        }
    }
    sides.sort_unstable();
    let mut edges = Vec::with_capacity(sides.len() / 2);
    for same in sides.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (up, down) = same.split_at(same.partition_point(|side| !side.2));
        for at in 0..up.len().max(down.len()) {
            let (low, high, ..) = same[0];
            edges.push(match (up.get(at), down.get(at)) {
                (Some(up), down) => {
                    Edge { ends: [low, high], triangles: [Some(up.3), down.map(|side| side.3)] }
                }
                (None, down) => Edge { ends: [high, low], triangles: [down.map(|side| side.3), None] },
            });
        }
    }
    edges
}

/// Sorts triangles so that neighbours are close, and returns the order and the end of each patch. A patch
/// begins with the first remaining triangle and grows breadth-first across edges.
fn patches(count: usize, edges: &[Edge]) -> (Vec<u32>, Vec<usize>) {
    let mut neighbours = vec![Vec::new(); count];
    for edge in edges {
        if let [Some(a), Some(b)] = edge.triangles {
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
        }
    }
    let (mut taken, mut order, mut ends) = (vec![false; count], Vec::with_capacity(count), Vec::new());
    let mut begin = 0;
    for seed in 0..count as u32 {
        if taken[seed as usize] {
            continue;
        }
        // A patch with room continues at another seed, so that pieces of a few triangles share one.
        if order.len() - begin >= PATCH {
            ends.push(order.len());
            begin = order.len();
        }
        let mut next = order.len();
        taken[seed as usize] = true;
        order.push(seed);
        while next < order.len() {
            let here = order[next];
            next += 1;
            for &there in &neighbours[here as usize] {
                if order.len() - begin < PATCH && !taken[there as usize] {
                    taken[there as usize] = true;
                    order.push(there);
                }
            }
        }
    }
    if order.len() > begin {
        ends.push(order.len());
    }
    (order, ends)
}
