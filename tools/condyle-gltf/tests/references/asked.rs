//! Compares rays and nearest points on the posed triangles of whole clips with a test of every triangle in
//! f64.

use std::path::Path;

use condyle_gltf::{Asset, Poser, PoserOptions};
use condyle_query::hits::{Ray, Shape, TriangleTree};
use condyle_testing::Random;
use condyle_testing::reference::{self, Triangle};

/// Number of times in each clip, from start to end.
const MOMENTS: usize = 9;

/// Number of triangle tests for each pose of a mesh, over all queries.
const ASKED: usize = 20_000;

/// Returns a number in `[-1, 1)`.
fn signed(random: &mut Random) -> f32 {
    (random.bits() >> 32) as i32 as f32 / 2_147_483_648.0
}

pub(crate) fn as_every_triangle_answers(path: &Path) {
    let asset = Asset::open(path).unwrap_or_else(|e| panic!("{e}"));
    let mut poser = Poser::new(&asset, PoserOptions::default()).expect("room for all instances");
    let mut trees: Vec<Vec<Option<TriangleTree>>> = Vec::new();
    for instance in &asset.instances {
        let tree = |mesh| TriangleTree::of_mesh(mesh).expect("an imported mesh is finite");
        trees.push(instance.primitives.iter().map(|p| p.drawable.then(|| tree(&p.mesh))).collect());
    }
    let mut random = Random(path.to_string_lossy().len() as u64);
    let clips = asset.clips.iter().map(Some);
    for clip in clips.chain(asset.clips.is_empty().then_some(None)) {
        for moment in 0..MOMENTS {
            let seconds = clip
                .map_or(0.0, |clip| clip.start() + clip.duration() * moment as f64 / (MOMENTS - 1) as f64);
            poser.pose(clip, seconds).expect("the clip is the asset's");
            for (instance, trees) in trees.iter_mut().enumerate() {
                for (primitive, tree) in trees.iter_mut().enumerate() {
                    let Some(tree) = tree else { continue };
                    let mesh = &asset.instances[instance].primitives[primitive].mesh;
                    let positions = &poser.posed(instance)[primitive].positions;
                    tree.refit(positions).expect("finite positions");
                    ask(tree, &triangles(mesh.indices(), positions), &mut random);
                }
            }
        }
    }
}

fn triangles(indices: &[u32], positions: &[[f32; 3]]) -> Vec<Triangle> {
    let at = |v: usize| positions[v].map(f64::from);
    if indices.is_empty() {
        return (0..positions.len() / 3).map(|t| [at(3 * t), at(3 * t + 1), at(3 * t + 2)]).collect();
    }
    indices.as_chunks::<3>().0.iter().map(|t| t.map(|v| at(v as usize))).collect()
}

fn ask(tree: &TriangleTree, triangles: &[Triangle], random: &mut Random) {
    let all = tree.bounds();
    if all.is_empty() {
        return;
    }
    let (low, high) = (all.min, all.max);
    let size = (0..3).map(|k| high[k] - low[k]).fold(0.0, f32::max);
    let somewhere = |random: &mut Random| -> [f32; 3] {
        std::array::from_fn(|k| (low[k] + high[k]) * 0.5 + signed(random) * size)
    };
    for _ in 0..(ASKED / triangles.len().max(1)).clamp(1, 100) {
        let (from, to) = (somewhere(random), somewhere(random));
        let ray = Ray { max: f32::INFINITY, ..Ray::between(from, to) };
        let (origin, direction) = (ray.origin.map(f64::from), ray.direction.map(f64::from));
        let met = triangles.iter().filter_map(|&t| reference::ray_meets_triangle(origin, direction, t));
        let want = met.map(|met| met.0).fold(f64::INFINITY, f64::min);
        let got = tree.first_hit(&ray).map_or(f64::INFINITY, |hit| f64::from(hit.distance));
        assert!(got == want || (got - want).abs() <= 1e-6 * want, "{ray:?}: {got} instead of {want}");
        assert_eq!(tree.any_hit(&ray), want < f64::INFINITY, "{ray:?}");

        let distances = triangles.iter().map(|&t| reference::distance_to_triangle(origin, t));
        let want = distances.fold(f64::INFINITY, f64::min);
        let got = tree.closest_point(from, f32::INFINITY).map_or(f64::INFINITY, |p| f64::from(p.distance));
        assert!((got - want).abs() <= 1e-6 * want, "{from:?}: {got} instead of {want}");
        for factor in [0.999, 1.001] {
            let sphere = Shape::Sphere { center: from, radius: (want * factor) as f32 };
            assert_eq!(tree.overlaps(&sphere), factor > 1.0 || want == 0.0, "{sphere:?}, {want}");
        }
    }
}
