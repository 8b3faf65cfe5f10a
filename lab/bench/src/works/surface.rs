//! Silhouette and normals of 10,000 posed triangles.

use std::collections::BTreeMap;
use std::rc::Rc;

use condyle::{Influences, SkinnedMesh, Vertices};
use condyle_query::surface::{self, Silhouette, Surface, Viewpoint, silhouette};

use super::{case, worst};
use crate::data::Random;
use crate::harness::{Case, Subjects};

/// Torus of this many squares around and along, with two triangles each.
const AROUND: u32 = 50;
const ALONG: u32 = 100;
const TRIANGLES: usize = 2 * (AROUND * ALONG) as usize;

pub(super) fn cases() -> Vec<Case> {
    vec![case("silhouette_10k", "", TRIANGLES, 0, outlines), case("normals_10k", "", TRIANGLES, 0, normals)]
}

struct Input {
    surface: Surface,
    positions: Vec<[f32; 3]>,
    indices: Vec<[u32; 3]>,
    /// Edges: two vertices, and the triangles on both sides.
    edges: Vec<([u32; 2], [u32; 2])>,
    lamp: [f32; 3],
}

impl Input {
    fn new() -> Rc<Self> {
        let mut random = Random(31);
        let mut positions = Vec::new();
        for (i, j) in (0..AROUND).flat_map(|i| (0..ALONG).map(move |j| (i, j))) {
            let mut turn =
                |at: u32, of: u32| std::f32::consts::TAU * (at as f32 + random.range(-0.2, 0.2)) / of as f32;
            let (across, along) = (turn(i, AROUND), turn(j, ALONG));
            let radius = 1.0 + 0.3 * across.cos();
            positions.push([radius * along.cos(), 0.3 * across.sin(), radius * along.sin()]);
        }
        let mut indices = Vec::new();
        for (i, j) in (0..AROUND).flat_map(|i| (0..ALONG).map(move |j| (i, j))) {
            let at = |i, j| i % AROUND * ALONG + j % ALONG;
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            indices.extend([[a, b, c], [a, c, d]]);
        }
        let bind = Vertices { positions: positions.clone(), ..Vertices::default() };
        let influences = Influences::rigid(positions.len() as u32);
        let mesh = SkinnedMesh::new(bind, influences, indices.as_flattened().to_vec(), vec![]);
        let surface = Surface::new(&mesh.expect("a valid mesh"));

        let mut sides = BTreeMap::new();
        for (triangle, &[a, b, c]) in (0_u32..).zip(&indices) {
            for side in [[a, b], [b, c], [c, a]] {
                sides.insert(side, triangle);
            }
        }
        let below = sides.iter().filter(|([a, b], _)| a < b);
        let edges = below.map(|(&[a, b], &triangle)| ([a, b], [triangle, sides[&[b, a]]])).collect();
        Rc::new(Self { surface, positions, indices, edges, lamp: [1.5, 2.0, 0.7] })
    }

    /// Silhouette edges in f64, each with its smaller vertex first.
    fn outline(&self) -> Vec<[u32; 2]> {
        let faces = |triangle: u32| {
            let [a, b, c] =
                self.indices[triangle as usize].map(|at| self.positions[at as usize].map(f64::from));
            let sub = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
            let (u, v, way) = (sub(b, a), sub(c, a), sub(self.lamp.map(f64::from), a));
            let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            normal[0] * way[0] + normal[1] * way[1] + normal[2] * way[2] > 0.0
        };
        let shown = self.edges.iter().filter(|(_, [a, b])| faces(*a) != faces(*b));
        shown.map(|([a, b], _)| [*a.min(b), *a.max(b)]).collect()
    }
}

/// Number of missing and extra edges.
fn difference(edges: &[[u32; 2]], want: &[[u32; 2]]) -> f64 {
    let mut got: Vec<_> = edges.iter().map(|[a, b]| [*a.min(b), *a.max(b)]).collect();
    got.sort_unstable();
    let missing = want.iter().filter(|edge| got.binary_search(edge).is_err()).count();
    (missing + got.len().abs_diff(want.len())) as f64
}

fn outlines(subjects: &mut Subjects) {
    let input = Input::new();
    let mut want = input.outline();
    want.sort_unstable();
    let want = Rc::new(want);
    let looked_at = want.clone();
    subjects.kernel(
        "condyle",
        0.0,
        &input,
        Silhouette::default(),
        |input, out| {
            silhouette(&input.surface, &input.positions, Viewpoint::Place(input.lamp), out)
                .expect("sizes agree");
        },
        move |out| difference(out.edges(), &looked_at),
    );
    #[cfg(feature = "peers")]
    subjects.peer(
        "glam",
        input,
        (vec![], vec![]),
        |input, (facing, edges): &mut (Vec<bool>, Vec<[u32; 2]>)| glam_outline(input, facing, edges),
        move |(_, edges)| difference(edges, &want),
    );
}

/// Computes the facing of each triangle, then tests each edge.
#[cfg(feature = "peers")]
fn glam_outline(input: &Input, facing: &mut Vec<bool>, edges: &mut Vec<[u32; 2]>) {
    use glam::Vec3;
    let lamp = Vec3::from(input.lamp);
    facing.clear();
    facing.extend(input.indices.iter().map(|triangle| {
        let [a, b, c] = triangle.map(|at| Vec3::from(input.positions[at as usize]));
        (b - a).cross(c - a).dot(lamp - a) > 0.0
    }));
    edges.clear();
    for &([a, b], [first, second]) in &input.edges {
        let (first, second) = (facing[first as usize], facing[second as usize]);
        if first != second {
            edges.push(if first { [a, b] } else { [b, a] });
        }
    }
}

fn normals(subjects: &mut Subjects) {
    let input = Input::new();
    let mut sums = vec![[0.0_f64; 3]; input.positions.len()];
    for triangle in &input.indices {
        let corners = triangle.map(|at| wide(input.positions[at as usize]));
        for at in 0..3 {
            let [a, b, c] = [0, 1, 2].map(|k| corners[(at + k) % 3]);
            let sub = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
            let (u, v) = (sub(b, a), sub(c, a));
            let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            let size = normal.iter().map(|c| c * c).sum::<f64>().sqrt();
            let angle = size.atan2(u.iter().zip(v).map(|(u, v)| u * v).sum());
            for (sum, c) in sums[triangle[at] as usize].iter_mut().zip(normal) {
                *sum += c / size * angle;
            }
        }
    }
    let unit = |sum: &[f64; 3]| sum.map(|c| c / sum.iter().map(|c| c * c).sum::<f64>().sqrt());
    let want: Rc<Vec<_>> = Rc::new(sums.iter().map(unit).collect());
    let wrong =
        move |out: &Vec<[f32; 3]>| worst(out.as_flattened().iter().zip(want.as_flattened().iter().copied()));
    let room = vec![[0.0; 3]; input.positions.len()];
    subjects.kernel(
        "condyle",
        1e-5,
        &input,
        room.clone(),
        |input, out| surface::normals(&input.surface, &input.positions, out).expect("sizes agree"),
        wrong.clone(),
    );
    #[cfg(feature = "peers")]
    subjects.peer("glam", input, room, |input, out| glam_normals(input, out), wrong);
}

fn wide(v: [f32; 3]) -> [f64; 3] {
    v.map(f64::from)
}

#[cfg(feature = "peers")]
fn glam_normals(input: &Input, out: &mut [[f32; 3]]) {
    use glam::Vec3;
    out.fill([0.0; 3]);
    for triangle in &input.indices {
        let [a, b, c] = triangle.map(|at| Vec3::from(input.positions[at as usize]));
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let angles =
            [(b - a).angle_between(c - a), (c - b).angle_between(a - b), (a - c).angle_between(b - c)];
        for (&vertex, angle) in triangle.iter().zip(angles) {
            let sum = &mut out[vertex as usize];
            *sum = (Vec3::from(*sum) + normal * angle).into();
        }
    }
    for normal in out {
        *normal = Vec3::from(*normal).normalize_or_zero().into();
    }
}
