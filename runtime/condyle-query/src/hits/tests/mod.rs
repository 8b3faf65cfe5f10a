//! Comparison with a brute-force test of every triangle in f64, on closed, open and broken meshes.

mod hostile;
mod overlaps;
mod points;
mod rays;

use std::vec::Vec;

use super::TriangleTree;
use crate::bounds::Aabb;
use condyle_base::math::scalar::sin_cos_f64;
use condyle_testing::Random;
use condyle_testing::reference::Triangle;

/// Mesh with a bind pose and another pose to which the tree is refitted.
struct Mesh {
    name: &'static str,
    bind: Vec<[f32; 3]>,
    posed: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
}

impl Mesh {
    fn new(name: &'static str, bind: Vec<[f32; 3]>, triangles: Vec<[u32; 3]>) -> Self {
        let posed = bind.iter().map(|&p| twist(p)).collect();
        Self { name, bind, posed, triangles }
    }

    /// Returns the tree refitted to the pose.
    fn tree(&self) -> TriangleTree {
        let mut tree = TriangleTree::new(&self.bind, &self.triangles).expect("a valid mesh");
        tree.refit(&self.posed).expect("one position per vertex");
        tree
    }

    /// Returns the posed triangles in f64.
    fn corners(&self) -> Vec<Triangle> {
        self.triangles.iter().map(|t| t.map(|v| self.posed[v as usize].map(f64::from))).collect()
    }
}

/// Bends space, as joints would.
fn twist([x, y, z]: [f32; 3]) -> [f32; 3] {
    let (sin, cos) = sin_cos_f64(0.8 * f64::from(y));
    let [x, y, z] = [x, y, z].map(f64::from);
    [x * cos + z * sin, y + 0.2 * x * x, z * cos - x * sin].map(|v| v as f32)
}

/// Bumpy ball around the origin.
fn ball(random: &mut Random, rings: usize, sectors: usize) -> Mesh {
    let mut points = std::vec![[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]];
    for ring in 1..rings {
        let (ring_sin, ring_cos) = sin_cos_f64(core::f64::consts::PI * ring as f64 / rings as f64);
        for sector in 0..sectors {
            let (sin, cos) = sin_cos_f64(core::f64::consts::TAU * sector as f64 / sectors as f64);
            let radius = f64::from(random.range(0.8, 1.2));
            points.push(
                [ring_sin * cos * radius, ring_cos * radius, ring_sin * sin * radius].map(|v| v as f32),
            );
        }
    }
    let at = |ring: usize, sector: usize| (2 + (ring - 1) * sectors + sector % sectors) as u32;
    let mut triangles = Vec::new();
    for sector in 0..sectors {
        triangles.push([0, at(1, sector + 1), at(1, sector)]);
        triangles.push([1, at(rings - 1, sector), at(rings - 1, sector + 1)]);
        for ring in 1..rings - 1 {
            let [a, b] = [at(ring, sector), at(ring, sector + 1)];
            let [c, d] = [at(ring + 1, sector), at(ring + 1, sector + 1)];
            triangles.extend([[a, b, c], [b, d, c]]);
        }
    }
    Mesh::new("ball", points, triangles)
}

/// Random, unconnected triangles.
fn soup(random: &mut Random, count: usize) -> Mesh {
    let mut points = Vec::new();
    for _ in 0..count {
        let middle = random.vector::<3>(1.0);
        points.extend((0..3).map(|_| {
            let offset = random.vector::<3>(0.3);
            core::array::from_fn(|k| middle[k] + offset[k])
        }));
    }
    let triangles = (0..count as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    Mesh::new("soup", points, triangles)
}

/// Half of a ball, with triangles that have no area, are duplicated or are reversed.
fn broken(random: &mut Random) -> Mesh {
    let mut mesh = ball(random, 10, 12);
    mesh.name = "broken";
    mesh.triangles.truncate(mesh.triangles.len() / 2);
    for k in 0..12 {
        let [a, b, c] = mesh.triangles[7 * k];
        mesh.triangles.push([[a, a, b], [a, a, a], [a, b, c], [c, b, a]][k % 4]);
    }
    mesh
}

fn meshes(random: &mut Random) -> [Mesh; 4] {
    let few = soup(random, 5);
    [ball(random, 10, 12), soup(random, 150), broken(random), few]
}

/// Random point in or around a mesh.
fn somewhere(random: &mut Random) -> [f32; 3] {
    let size = if random.below(4) == 0 { 4.0 } else { 1.3 };
    random.vector(size)
}

#[test]
fn every_triangle_is_in_one_leaf_and_every_box_holds_what_is_below() {
    let mut random = Random(1);
    for mesh in meshes(&mut random) {
        let tree = mesh.tree();
        let mut seen = tree.triangles.clone();
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..mesh.triangles.len() as u32), "{}", mesh.name);
        for (slot, &triangle) in tree.triangles.iter().enumerate() {
            let want = mesh.corners()[triangle as usize];
            assert_eq!(tree.points(slot), want, "{}", mesh.name);
        }
        let Aabb { min: low, max: high } = tree.bounds();
        for k in 0..3 {
            let along = || mesh.corners().into_iter().flatten().map(move |p| p[k]);
            assert_eq!(f64::from(low[k]), along().fold(f64::INFINITY, f64::min));
            assert_eq!(f64::from(high[k]), along().fold(f64::NEG_INFINITY, f64::max));
        }
    }
}

#[test]
fn surfaces_are_closed_whatever_their_seams_are() {
    let mut random = Random(2);
    let mut mesh = ball(&mut random, 6, 8);
    let is_closed =
        |mesh: &Mesh| TriangleTree::new(&mesh.bind, &mesh.triangles).expect("a valid mesh").is_closed();
    assert!(is_closed(&mesh));
    // Every triangle has separate vertices.
    let corners: Vec<_> = mesh.triangles.as_flattened().iter().map(|&v| mesh.bind[v as usize]).collect();
    let apart = (0..mesh.triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    assert!(is_closed(&Mesh::new("apart", corners, apart)));
    mesh.triangles[5].swap(0, 1);
    assert!(!is_closed(&mesh));
    mesh.triangles.remove(5);
    assert!(!is_closed(&mesh));
    assert!(!is_closed(&Mesh::new("nothing", Vec::new(), Vec::new())));
}
