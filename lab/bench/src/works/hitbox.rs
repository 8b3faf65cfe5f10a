//! Rays against the hitboxes of a posed character.

use std::rc::Rc;

use condyle::{Affine, local_to_model};
use condyle_query::hitbox::{Hitbox, Hitboxes, PosedHitboxes, place};
use condyle_query::hits::{Ray, Shape};

use super::{JOINTS, case, largest};
use crate::data::Random;
use crate::harness::{Case, Subjects};

/// Number of rays. Most pass close to a hitbox, some hit.
const RAYS: usize = 512;
/// Error limit in lengths of the ray.
const BOUND: f64 = 1e-5;

pub(super) fn cases() -> Vec<Case> {
    vec![case("hitbox_ray_67", "", RAYS, 0, rays), case("hitbox_place_67", "", JOINTS, 0, placing)]
}

struct Input {
    hitboxes: Hitboxes,
    model: Vec<Affine>,
    posed: PosedHitboxes,
    rays: Vec<Ray>,
    /// Distances in f64, infinite for a miss.
    want: Vec<f64>,
}

/// Capsule of a limb at a joint.
fn capsule(end: [f32; 3]) -> Shape {
    Shape::Capsule { from: [0.0; 3], to: end, radius: 0.06 }
}

impl Input {
    fn new() -> Rc<Self> {
        let mut random = Random(27);
        let skeleton = random.skeleton(JOINTS);
        let mut model = vec![Affine::IDENTITY; JOINTS];
        let pose = random.pose(JOINTS);
        local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
        let list =
            (0..JOINTS).map(|at| Hitbox { joint: at as u16, shape: capsule(pose.get(at).translation) });
        let hitboxes = Hitboxes::new(list.collect()).expect("sound shapes");
        let mut posed = PosedHitboxes::default();
        place(&hitboxes, &model, &mut posed).expect("sizes agree");
        let box_around = posed.bounds();
        let mut point =
            || -> [f32; 3] { std::array::from_fn(|c| random.range(box_around.min[c], box_around.max[c])) };
        let rays: Vec<_> = (0..RAYS)
            .map(|_| {
                let (a, b) = (point(), point());
                let direction = std::array::from_fn(|c| b[c] - a[c]);
                Ray { origin: std::array::from_fn(|c| a[c] - 4.0 * direction[c]), direction, max: 10.0 }
            })
            .collect();
        let solids: Vec<_> = model
            .iter()
            .zip(hitboxes.as_slice())
            .map(|(m, it)| {
                let Shape::Capsule { from, to, radius } = it.shape else { unreachable!("all are") };
                ([from, to].map(|p| m.transform_point(p).map(f64::from)), f64::from(radius))
            })
            .collect();
        let want = rays
            .iter()
            .map(|ray| {
                solids.iter().map(|(ends, radius)| marched(ray, ends, *radius)).fold(f64::INFINITY, f64::min)
            })
            .collect();
        Rc::new(Self { hitboxes, model, posed, rays, want })
    }

    /// Largest difference of distances. A hit instead of a miss, or the reverse, counts as 1.
    fn error(&self, got: &[f32]) -> f64 {
        let off = |(got, want): (&f32, &f64)| {
            let both = got.is_finite() && want.is_finite();
            if both {
                (f64::from(*got) - want).abs()
            } else if got.is_finite() == want.is_finite() {
                0.0
            } else {
                1.0
            }
        };
        largest(got.iter().zip(&self.want).map(off))
    }
}

/// Distance by sphere tracing: each step is as long as the distance to the capsule.
fn marched(ray: &Ray, [from, to]: &[[f64; 3]; 2], radius: f64) -> f64 {
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let sub = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let (origin, direction) = (ray.origin.map(f64::from), ray.direction.map(f64::from));
    let (length, way) = (dot(direction, direction).sqrt(), sub(*to, *from));
    let mut t = 0.0;
    for _ in 0..5000 {
        let off = sub([0, 1, 2].map(|c| origin[c] + t * direction[c]), *from);
        let at = (dot(off, way) / dot(way, way)).clamp(0.0, 1.0);
        let off = sub(off, way.map(|v| v * at));
        let far = dot(off, off).sqrt() - radius;
        if far < 1e-9 {
            return t;
        }
        t += far / length;
        if t > f64::from(ray.max) {
            break;
        }
    }
    f64::INFINITY
}

fn rays(subjects: &mut Subjects) {
    let input = Input::new();
    let looked_at = input.clone();
    subjects.kernel(
        "condyle",
        BOUND,
        &input,
        vec![0.0_f32; RAYS],
        |input, out| {
            for (ray, out) in input.rays.iter().zip(out) {
                *out = input.posed.first_hit(ray).map_or(f32::INFINITY, |hit| hit.distance);
            }
        },
        move |got| looked_at.error(got),
    );
    #[cfg(feature = "peers")]
    {
        let capsules: Vec<_> = input
            .model
            .iter()
            .zip(input.hitboxes.as_slice())
            .map(|(m, it)| {
                let Shape::Capsule { from, to, radius } = it.shape else { unreachable!("all are") };
                ([from, to].map(|p| glam::Vec3A::from(m.transform_point(p))), radius)
            })
            .collect();
        let looked_at = input.clone();
        subjects.peer(
            "glam",
            (capsules, input.rays.clone()),
            vec![0.0_f32; RAYS],
            |(capsules, rays), out| {
                for (ray, out) in rays.iter().zip(out) {
                    *out = capsules.iter().fold(f32::INFINITY, |best, it| best.min(by_glam(ray, it)));
                }
            },
            move |got| looked_at.error(got),
        );
    }
}

/// Distance to the capsule along the ray, infinite for a miss.
#[cfg(feature = "peers")]
fn by_glam(ray: &Ray, ([from, to], radius): &([glam::Vec3A; 2], f32)) -> f32 {
    let (origin, d) = (glam::Vec3A::from(ray.origin), glam::Vec3A::from(ray.direction));
    let (way, off) = (*to - *from, origin - *from);
    let (ww, wd, wo, dd) = (way.dot(way), way.dot(d), way.dot(off), d.dot(d));
    let a = ww * dd - wd * wd;
    let b = ww * d.dot(off) - wo * wd;
    let c = ww * off.dot(off) - wo * wo - radius * radius * ww;
    let h = b * b - a * c;
    if h < 0.0 {
        return f32::INFINITY;
    }
    let t = (-b - h.sqrt()) / a;
    let y = wo + t * wd;
    if y > 0.0 && y < ww {
        return if t >= 0.0 && t <= ray.max { t } else { f32::INFINITY };
    }
    let off = if y <= 0.0 { off } else { origin - *to };
    let b = d.dot(off);
    let h = b * b - dd * (off.dot(off) - radius * radius);
    if h < 0.0 {
        return f32::INFINITY;
    }
    let t = (-b - h.sqrt()) / dd;
    if t >= 0.0 && t <= ray.max { t } else { f32::INFINITY }
}

/// Places each hitbox with its joint, as required before ray queries.
fn placing(subjects: &mut Subjects) {
    let input = Input::new();
    let looked_at = input.clone();
    subjects.only_fast();
    subjects.kernel(
        "condyle",
        0.0,
        &input,
        PosedHitboxes::default(),
        |input, posed| place(&input.hitboxes, &input.model, posed).expect("sizes agree"),
        move |posed| if *posed == looked_at.posed { 0.0 } else { f64::INFINITY },
    );
}
