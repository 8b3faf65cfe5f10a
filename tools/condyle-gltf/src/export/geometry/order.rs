//! The order of triangles and vertices: neighbours follow each other, for the vertex cache of a GPU and for
//! the compression of indices and vertices.
//!
//! Source: T. Forsyth, "Linear-Speed Vertex Cache Optimisation", 2006: the next triangle has the highest sum
//! of vertex scores. A vertex scores high if it was used recently, and if few triangles are left that use it.
//! Here, a triangle that shares an edge with a recent one scores higher, because its index code is a byte.

use std::collections::VecDeque;

/// Number of recent vertices that the score prefers. The index code knows 16 vertices and 16 edges.
const CACHE: usize = 16;
/// Score of the vertices of the last triangle. Less than that of the vertices before, to avoid long strips.
const LAST: f32 = 0.9;
/// Weight of the score for vertices with few triangles left.
const FEW_LEFT: f32 = 2.0;
/// Score of a triangle with a recent edge.
const EDGE: f32 = 2.0;

/// Maximum number of triangles around a recent vertex that are compared. Real vertices have about six; the
/// hub of a fan has all of them.
const COMPARED: usize = 32;

/// Returns the same triangles in another order, in time proportional to their number.
pub(super) fn ordered(triangles: &[[u32; 3]], vertex_count: usize) -> Vec<[u32; 3]> {
    let mut around = Around::new(triangles, vertex_count);
    let mut left: Vec<u32> = (0..vertex_count).map(|v| around.row(v).len() as u32).collect();
    let mut is_out = vec![false; triangles.len()];
    let mut recent: VecDeque<u32> = VecDeque::with_capacity(CACHE + 3);
    let mut edges: VecDeque<[u32; 2]> = VecDeque::with_capacity(CACHE + 3);
    let mut out = Vec::with_capacity(triangles.len());
    let mut first = 0;
    while out.len() < triangles.len() {
        let mut best: Option<(f32, usize)> = None;
        for &vertex in &recent {
            for &at in around.next(vertex as usize, &is_out) {
                let at = at as usize;
                let score = score(triangles[at], &recent, &edges, &left);
                let is_better = best.is_none_or(|(most, known)| score > most || score == most && at < known);
                if is_better {
                    best = Some((score, at));
                }
            }
        }
        let at = best.map_or_else(
            || {
                while is_out[first] {
                    first += 1;
                }
                first
            },
            |(_, at)| at,
        );
        is_out[at] = true;
        let [a, b, c] = triangles[at];
        out.push([a, b, c]);
        for vertex in [a, b, c] {
            left[vertex as usize] = left[vertex as usize].saturating_sub(1);
            if let Some(known) = recent.iter().position(|&v| v == vertex) {
                recent.remove(known);
            }
            recent.push_front(vertex);
        }
        recent.truncate(CACHE);
        for edge in [[b, a], [c, b], [a, c]] {
            edges.push_front(edge);
        }
        edges.truncate(CACHE);
    }
    out
}

fn score([a, b, c]: [u32; 3], recent: &VecDeque<u32>, edges: &VecDeque<[u32; 2]>, left: &[u32]) -> f32 {
    let vertex = |v: u32| {
        let used = match recent.iter().position(|&r| r == v) {
            Some(0..3) => LAST,
            Some(at) => {
                let near = 1.0 - (at - 3) as f32 / (CACHE - 3) as f32;
                near * near.sqrt()
            }
            None => 0.0,
        };
        used + FEW_LEFT / (left[v as usize].max(1) as f32).sqrt()
    };
    let shares = edges.iter().any(|edge| [[a, b], [b, c], [c, a]].contains(edge));
    vertex(a) + vertex(b) + vertex(c) + if shares { EDGE } else { 0.0 }
}

/// Renumbers vertices in the order of their first use. Returns the old number of each vertex; vertices
/// without a triangle are left out.
pub(super) fn renumber(triangles: &mut [[u32; 3]], vertex_count: usize) -> Vec<u32> {
    let mut new = vec![u32::MAX; vertex_count];
    let mut old = Vec::with_capacity(vertex_count);
    for corner in triangles.as_flattened_mut() {
        let known = &mut new[*corner as usize];
        if *known == u32::MAX {
            *known = old.len() as u32;
            old.push(*corner);
        }
        *corner = *known;
    }
    old
}

/// The triangles around each vertex, as compressed rows.
struct Around {
    starts: Vec<u32>,
    /// Number of triangles at the start of each row that may be left.
    left: Vec<u32>,
    triangles: Vec<u32>,
}

impl Around {
    fn new(triangles: &[[u32; 3]], vertex_count: usize) -> Self {
        let mut left = vec![0_u32; vertex_count];
        triangles.as_flattened().iter().for_each(|&corner| left[corner as usize] += 1);
        let mut starts = vec![0; vertex_count + 1];
        for (at, count) in left.iter().enumerate() {
            starts[at + 1] = starts[at] + count;
        }
        let mut ends = starts.clone();
        let mut around = vec![0; 3 * triangles.len()];
        for (at, corner) in triangles.as_flattened().iter().enumerate() {
            let end = &mut ends[*corner as usize];
            around[*end as usize] = at as u32 / 3;
            *end += 1;
        }
        Self { starts, left, triangles: around }
    }

    /// Returns all triangles around a vertex.
    fn row(&self, vertex: usize) -> &[u32] {
        &self.triangles[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }

    /// Returns up to [`COMPARED`] triangles around a vertex that are not out. Those that are out leave the
    /// row, each once.
    fn next(&mut self, vertex: usize, is_out: &[bool]) -> &[u32] {
        let (start, left) = (self.starts[vertex] as usize, &mut self.left[vertex]);
        let row = &mut self.triangles[start..];
        let mut at = 0;
        while at < COMPARED.min(*left as usize) {
            if is_out[row[at] as usize] {
                *left -= 1;
                row[at] = row[*left as usize];
            } else {
                at += 1;
            }
        }
        &row[..at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meshopt::triangles;

    /// Returns a grid of `n` by `n` squares with its triangles in a random order.
    fn shuffled_grid(n: u32) -> Vec<[u32; 3]> {
        let at = |x: u32, y: u32| y * (n + 1) + x;
        let square = |x: u32, y: u32| {
            [[at(x, y), at(x + 1, y), at(x, y + 1)], [at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)]]
        };
        let mut list: Vec<[u32; 3]> = (0..n * n).flat_map(|i| square(i % n, i / n)).collect();
        let mut state = 1_u64;
        for i in (1..list.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            list.swap(i, (state >> 33) as usize % (i + 1));
        }
        list
    }

    /// Returns the vertices that a cache of 16 entries, first in first out, loads per triangle.
    fn loads(triangles: &[[u32; 3]]) -> f64 {
        let mut cache: VecDeque<u32> = VecDeque::new();
        let mut count = 0;
        for &corner in triangles.as_flattened() {
            if !cache.contains(&corner) {
                count += 1;
                cache.push_front(corner);
                cache.truncate(16);
            }
        }
        f64::from(count) / triangles.len() as f64
    }

    #[test]
    fn every_triangle_stays() {
        for n in [0, 1, 2, 3, 8, 16, 17] {
            let list = shuffled_grid(n);
            let vertices = ((n + 1) * (n + 1)) as usize;
            let mut found = ordered(&list, vertices);
            let order = |list: &[[u32; 3]]| {
                let mut list = list.to_vec();
                list.sort_unstable();
                list
            };
            assert_eq!(order(&found), order(&list), "{n}");
            let old = renumber(&mut found, vertices);
            assert_eq!(old.len(), if n == 0 { 0 } else { vertices }, "{n}");
            let mut top = 0;
            for &corner in found.as_flattened() {
                assert!(corner <= top, "{n}");
                top = top.max(corner + 1);
            }
        }
        // A vertex without a triangle is left out, and a triangle without an area stays.
        let mut odd = ordered(&[[4, 4, 1], [1, 1, 1]], 9);
        assert_eq!(renumber(&mut odd, 9).len(), 2);
    }

    /// Looking at all triangles of the hub for each triangle would take minutes.
    #[test]
    fn a_hub_and_equal_triangles_take_time_in_proportion() {
        let fan: Vec<[u32; 3]> = (1..100_000).map(|v| [0, v, v + 1]).collect();
        assert_eq!(ordered(&fan, 100_001), fan);
        let equal = vec![[0; 3]; 100_000];
        assert_eq!(ordered(&equal, 1), equal);
    }

    #[test]
    fn neighbours_follow_each_other() {
        let list = shuffled_grid(40);
        let mut found = ordered(&list, 41 * 41);
        assert!(loads(&list) > 2.5 && loads(&found) < 0.8, "{} {}", loads(&list), loads(&found));
        renumber(&mut found, 41 * 41);
        let bytes = triangles::triangles([&found[..]]).len() as f64 / found.len() as f64;
        assert!(bytes < 1.3, "{bytes}");
    }
}
