//! Rays and nearest points on the triangles of a posed body, and refitting of the BVH.

use std::rc::Rc;

use condyle_query::hits::{Ray, TriangleTree};
use condyle_testing::reference::{self, Triangle};

use super::case;
use crate::data::Random;
use crate::harness::{Case, Subjects};

/// Ten limbs of a thousand triangles.
const TRIANGLES: usize = 10_000;
/// Number of rays or points.
const ASKED: usize = if cfg!(test) { 16 } else { 256 };
/// Result of a miss.
const NONE: f32 = -1.0;

/// Refitting reads the positions and the triangles, and writes eight boxes per node.
pub(super) fn cases() -> Vec<Case> {
    vec![
        case("hit_refit_10k", "", TRIANGLES, 24, refit),
        case("hit_ray_10k", "", ASKED, 0, rays),
        case("hit_closest_10k", "", ASKED, 0, points),
    ]
}

/// A body before and after bending, with the queries.
pub(crate) struct Scene {
    bind: Vec<[f32; 3]>,
    pub(crate) posed: Vec<[f32; 3]>,
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) rays: Vec<Ray>,
    pub(crate) points: Vec<[f32; 3]>,
}

/// Centre of each limb and half of its size.
const LIMBS: [([f32; 3], [f32; 3]); 10] = [
    ([0.0, 1.25, 0.0], [0.2, 0.35, 0.15]),
    ([0.0, 1.7, 0.0], [0.1, 0.13, 0.12]),
    ([0.35, 1.45, 0.0], [0.2, 0.06, 0.06]),
    ([-0.35, 1.45, 0.0], [0.2, 0.06, 0.06]),
    ([0.7, 1.45, 0.0], [0.2, 0.05, 0.05]),
    ([-0.7, 1.45, 0.0], [0.2, 0.05, 0.05]),
    ([0.12, 0.75, 0.0], [0.1, 0.25, 0.1]),
    ([-0.12, 0.75, 0.0], [0.1, 0.25, 0.1]),
    ([0.12, 0.25, 0.0], [0.07, 0.25, 0.07]),
    ([-0.12, 0.25, 0.0], [0.07, 0.25, 0.07]),
];

impl Scene {
    fn new() -> Rc<Self> {
        const RINGS: usize = 21;
        const SECTORS: usize = 25;
        let mut random = Random(77);
        let (mut bind, mut triangles) = (vec![], vec![]);
        for (middle, half) in LIMBS {
            let first = bind.len() as u32;
            for ring in 0..=RINGS {
                let (ring_sin, ring_cos) = (std::f32::consts::PI * ring as f32 / RINGS as f32).sin_cos();
                for sector in 0..SECTORS {
                    let (sin, cos) = (std::f32::consts::TAU * sector as f32 / SECTORS as f32).sin_cos();
                    let bump = random.range(0.97, 1.03);
                    let unit = [ring_sin * cos * bump, ring_cos, ring_sin * sin * bump];
                    bind.push(std::array::from_fn(|k| middle[k] + half[k] * unit[k]));
                }
            }
            for (ring, sector) in (0..RINGS * SECTORS).map(|k| (k / SECTORS, k % SECTORS)) {
                let at = |ring: usize, sector: usize| first + (ring * SECTORS + sector % SECTORS) as u32;
                let [a, b] = [at(ring, sector), at(ring, sector + 1)];
                let [c, d] = [at(ring + 1, sector), at(ring + 1, sector + 1)];
                if ring > 0 {
                    triangles.push([a, b, c]);
                }
                if ring + 1 < RINGS {
                    triangles.push([b, d, c]);
                }
            }
        }
        assert_eq!(triangles.len(), TRIANGLES);
        // The body leans and twists.
        let bent = |&[x, y, z]: &[f32; 3]| {
            let (sin, cos) = (0.7 * y).sin_cos();
            [x * cos + z * sin, y, z * cos - x * sin + 0.2 * y * y]
        };
        let posed: Vec<[f32; 3]> = bind.iter().map(bent).collect();
        let near = |random: &mut Random, spread: f32| -> [f32; 3] {
            let on = posed[(random.range(0.0, 0.999) * posed.len() as f32) as usize];
            std::array::from_fn(|k| on[k] + random.range(-spread, spread))
        };
        let points = (0..ASKED).map(|_| near(&mut random, 0.3)).collect();
        let ray = |_| {
            let (to, from) = (near(&mut random, 0.1), near(&mut random, 3.0));
            Ray { max: f32::INFINITY, ..Ray::between(from, to) }
        };
        let rays = (0..ASKED).map(ray).collect();
        Rc::new(Self { bind, posed, triangles, rays, points })
    }

    /// BVH of the bind pose.
    fn tree(&self) -> TriangleTree {
        TriangleTree::new(&self.bind, &self.triangles).expect("a valid mesh")
    }

    fn posed_tree(&self) -> TriangleTree {
        let mut tree = self.tree();
        tree.refit(&self.posed).expect("as many positions");
        tree
    }

    fn corners(&self) -> Vec<Triangle> {
        self.triangles.iter().map(|t| t.map(|v| self.posed[v as usize].map(f64::from))).collect()
    }
}

/// Largest difference between two boxes.
fn box_error(got: [[f32; 3]; 2], scene: &Scene) -> f64 {
    let mut worst = 0.0_f64;
    for k in 0..3 {
        let along = || scene.posed.iter().map(|p| f64::from(p[k]));
        let want = [along().fold(f64::INFINITY, f64::min), along().fold(f64::NEG_INFINITY, f64::max)];
        worst = worst.max((f64::from(got[0][k]) - want[0]).abs()).max((f64::from(got[1][k]) - want[1]).abs());
    }
    worst
}

fn refit(subjects: &mut Subjects) {
    subjects.only_fast();
    let scene = Scene::new();
    let looked_at = scene.clone();
    subjects.kernel(
        "condyle",
        0.0,
        &scene,
        scene.tree(),
        |scene, tree| tree.refit(&scene.posed).expect("as many positions"),
        move |tree| box_error([tree.bounds().min, tree.bounds().max], &looked_at),
    );
    #[cfg(feature = "peers")]
    {
        use crate::peers::parry3d::Tree;
        let looked_at = scene.clone();
        let tree = Tree::new(&scene.bind, &scene.triangles);
        let error = move |tree: &Tree| box_error(tree.bounds(), &looked_at);
        let refit = |scene: &Rc<Scene>, tree: &mut Tree| tree.refit(&scene.posed, &scene.triangles);
        subjects.peer("parry3d_refit", scene.clone(), tree, refit, error.clone());
        let rebuild = |scene: &Rc<Scene>, tree: &mut Tree| *tree = Tree::new(&scene.posed, &scene.triangles);
        subjects.peer(
            "parry3d_rebuild",
            scene.clone(),
            Tree::new(&scene.bind, &scene.triangles),
            rebuild,
            error,
        );
    }
}

/// Queries of condyle, parry3d and glam.
struct Ways {
    condyle: fn(&(Rc<Scene>, TriangleTree), &mut Vec<f32>),
    #[cfg(feature = "peers")]
    parry3d: fn(&(Rc<Scene>, crate::peers::parry3d::Tree), &mut Vec<f32>),
    #[cfg(feature = "peers")]
    glam: fn(&Rc<Scene>, &mut Vec<f32>),
}

/// Adds implementations of a query, with the expected distances.
fn distances(subjects: &mut Subjects, scene: Rc<Scene>, want: Vec<f64>, ways: Ways) {
    let want = Rc::new(want);
    let wrong = move |out: &Vec<f32>| super::worst(out.iter().zip(want.iter().copied()));
    let out = vec![f32::NAN; ASKED];
    let input = Rc::new((scene.clone(), scene.posed_tree()));
    subjects.kernel("condyle", 1e-6, &input, out.clone(), ways.condyle, wrong.clone());
    #[cfg(feature = "peers")]
    {
        let tree = crate::peers::parry3d::Tree::new(&scene.posed, &scene.triangles);
        subjects.peer("parry3d", (scene.clone(), tree), out.clone(), ways.parry3d, wrong.clone());
        subjects.peer("glam", scene, out, ways.glam, wrong);
    }
}

fn rays(subjects: &mut Subjects) {
    subjects.only_fast();
    let scene = Scene::new();
    let triangles = scene.corners();
    let first = |ray: &Ray| {
        let (origin, direction) = (ray.origin.map(f64::from), ray.direction.map(f64::from));
        let met = triangles.iter().filter_map(|&t| reference::ray_meets_triangle(origin, direction, t));
        let least = met.map(|met| met.0).fold(f64::INFINITY, f64::min);
        if least.is_finite() { least } else { f64::from(NONE) }
    };
    let want = scene.rays.iter().map(first).collect();
    let ways = Ways {
        condyle: |(scene, tree), out| {
            for (out, ray) in out.iter_mut().zip(&scene.rays) {
                *out = tree.first_hit(ray).map_or(NONE, |hit| hit.distance);
            }
        },
        #[cfg(feature = "peers")]
        parry3d: |(scene, tree), out| {
            for (out, ray) in out.iter_mut().zip(&scene.rays) {
                *out = tree.cast(ray).unwrap_or(NONE);
            }
        },
        #[cfg(feature = "peers")]
        glam: |scene, out| {
            for (out, ray) in out.iter_mut().zip(&scene.rays) {
                *out = crate::peers::glam::first_hit(&scene.posed, &scene.triangles, ray).unwrap_or(NONE);
            }
        },
    };
    distances(subjects, scene, want, ways);
}

fn points(subjects: &mut Subjects) {
    subjects.only_fast();
    let scene = Scene::new();
    let triangles = scene.corners();
    let nearest = |p: &[f32; 3]| {
        let p = p.map(f64::from);
        triangles.iter().map(|&t| reference::distance_to_triangle(p, t)).fold(f64::INFINITY, f64::min)
    };
    let want = scene.points.iter().map(nearest).collect();
    let ways = Ways {
        condyle: |(scene, tree), out| {
            for (out, &point) in out.iter_mut().zip(&scene.points) {
                *out = tree.closest_point(point, f32::INFINITY).map_or(NONE, |nearest| nearest.distance);
            }
        },
        #[cfg(feature = "peers")]
        parry3d: |(scene, tree), out| {
            for (out, &point) in out.iter_mut().zip(&scene.points) {
                *out = tree.distance(point);
            }
        },
        #[cfg(feature = "peers")]
        glam: |scene, out| {
            for (out, &point) in out.iter_mut().zip(&scene.points) {
                *out = crate::peers::glam::distance(&scene.posed, &scene.triangles, point);
            }
        },
    };
    distances(subjects, scene, want, ways);
}
