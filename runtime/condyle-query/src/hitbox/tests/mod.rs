//! Comparison with sphere tracing, alternating projections and brute force over all hitboxes.

mod fits;

use core::ops::ControlFlow;
use std::vec::Vec;
use std::{format, vec};

use super::*;
use crate::bounds::Aabb;
use crate::hits::{LIMIT, Ray, Solid};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::sub;
use condyle_base::math::vectors::{cross, dot};
use condyle_base::math::{Affine, Transform};
use condyle_base::simd::Dispatch;
use condyle_testing::{Random, assert_portable, tries};

fn shape(random: &mut Random) -> Shape {
    let (center, radius) = (random.vector(0.5), random.range(0.02, 0.3));
    match random.below(3) {
        0 => Shape::Sphere { center, radius },
        1 => {
            let to = [0, 1, 2].map(|c| center[c] + random.range(-0.5, 0.5));
            Shape::Capsule { from: center, to: if random.below(5) == 0 { center } else { to }, radius }
        }
        _ => {
            let half_extents =
                [0; 3].map(|_| if random.below(9) == 0 { 0.0 } else { random.range(0.02, 0.4) });
            Shape::Box { center, rotation: random.unit(), half_extents }
        }
    }
}

/// Nearest point of a shape, by its definition.
fn nearest(shape: &Shape, p: [f64; 3]) -> [f64; 3] {
    let ball = |middle: [f64; 3], radius: f32| {
        let to = sub(p, middle);
        let length = sqrt_f64(dot(to, to));
        let by = if length > f64::from(radius) { f64::from(radius) / length } else { 1.0 };
        [0, 1, 2].map(|c| middle[c] + to[c] * by)
    };
    match *shape {
        Shape::Sphere { center, radius } => ball(center.map(f64::from), radius),
        Shape::Capsule { from, to, radius } => {
            let (from, to) = (from.map(f64::from), to.map(f64::from));
            let at = |t: f64| [0, 1, 2].map(|c| from[c] + t * (to[c] - from[c]));
            let way = sub(to, from);
            let t = dot(sub(p, from), way) / dot(way, way).max(1e-300);
            ball(at(t.clamp(0.0, 1.0)), radius)
        }
        Shape::Box { center, rotation, half_extents } => {
            let mut turn = Affine::from(Transform { rotation, ..Transform::IDENTITY }).to_f64();
            let length2: f64 = rotation.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
            turn.as_flattened_mut().iter_mut().for_each(|v| *v /= sqrt_f64(length2));
            let off = sub(p, center.map(f64::from));
            let mut out = center.map(f64::from);
            for k in 0..3 {
                let axis = [0, 1, 2].map(|r| turn[r][k]);
                let half = f64::from(half_extents[k]);
                let along = dot(axis, off).clamp(-half, half);
                out = [0, 1, 2].map(|c| out[c] + along * axis[c]);
            }
            out
        }
    }
}

fn outside(shape: &Shape, p: [f64; 3]) -> f64 {
    let d = sub(nearest(shape, p), p);
    sqrt_f64(dot(d, d))
}

/// Sphere tracing: each step is as long as the distance to the nearest shape. `None` if the ray passes so
/// close that rounding would decide.
fn marched(shapes: &[Shape], ray: &Ray) -> Option<Option<f64>> {
    let direction = ray.direction.map(f64::from);
    let length = sqrt_f64(dot(direction, direction));
    let (mut t, mut least) = (0.0, f64::INFINITY);
    for _ in 0..2000 {
        let p = [0, 1, 2].map(|c| f64::from(ray.origin[c]) + t * direction[c]);
        let off = shapes.iter().map(|s| outside(s, p)).fold(f64::INFINITY, f64::min);
        if off < 1e-7 {
            return Some(Some(t));
        }
        least = f64::min(least, off);
        t += off / length;
        if t > f64::from(ray.max) {
            return (least > 1e-5).then_some(None);
        }
    }
    None
}

fn placed(shapes: &[Shape]) -> PosedHitboxes {
    let list = shapes.iter().map(|&shape| Hitbox { joint: 0, shape }).collect();
    let mut posed = PosedHitboxes::default();
    place(&Hitboxes::new(list).expect("valid shapes"), &[Affine::IDENTITY], &mut posed).expect("one joint");
    posed
}

fn all_hits(posed: &PosedHitboxes, ray: &Ray) -> Vec<HitboxHit> {
    let mut all = vec![];
    posed.all_hits(ray, |hit| {
        all.push(hit);
        ControlFlow::Continue(())
    });
    all
}

fn ray(random: &mut Random) -> Ray {
    let (origin, to): ([f32; 3], [f32; 3]) = (random.vector(2.0), random.vector(0.7));
    let by = random.range(0.1, 3.0);
    Ray { origin, direction: [0, 1, 2].map(|c| by * (to[c] - origin[c])), max: random.range(0.1, 30.0) }
}

#[test]
fn rays_hit_where_marching_hits() {
    let mut random = Random(200);
    let (mut hits, mut misses) = (0, 0);
    for round in 0..tries(20_000) {
        let shapes: Vec<_> = (0..1 + round % 4).map(|_| shape(&mut random)).collect();
        let posed = placed(&shapes);
        for _ in 0..if cfg!(miri) { 1 } else { 5 } {
            let ray = ray(&mut random);
            let Some(want) = marched(&shapes, &ray) else { continue };
            let got = posed.first_hit(&ray);
            let case = format!("{shapes:?} {ray:?} {got:?} {want:?}");
            assert_eq!(posed.any_hit(&ray), got.is_some(), "{case}");
            match (got, want) {
                (None, None) => misses += 1,
                (Some(hit), Some(t)) => {
                    hits += 1;
                    // A grazing ray stays near for a while, so this checks the distance of the hit point from
                    // the surface.
                    let p = [0, 1, 2].map(|c| {
                        f64::from(ray.origin[c]) + f64::from(hit.distance) * f64::from(ray.direction[c])
                    });
                    let off = shapes.iter().map(|s| outside(s, p)).fold(f64::INFINITY, f64::min);
                    assert!(off < 2e-6, "{case}");
                    assert!(
                        f64::from(hit.distance) >= t - 2e-6 && outside(&shapes[hit.hitbox], p) < 2e-6,
                        "{case}"
                    );
                    let length: f64 = hit.normal.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
                    assert!((length - 1.0).abs() < 1e-5, "{case}");
                    let against: f32 = hit.normal.iter().zip(&ray.direction).map(|(n, d)| n * d).sum();
                    assert!(against <= 1e-4, "{case}");
                    // A point slightly along the normal is outside the hitbox.
                    if hit.distance > 0.0 {
                        let out = [0, 1, 2].map(|c| p[c] + 1e-4 * f64::from(hit.normal[c]));
                        assert!(outside(&shapes[hit.hitbox], out) > 0.9e-4, "{case}");
                    }
                }
                _ => panic!("{case}"),
            }
        }
    }
    assert!(cfg!(miri) || (hits > 10_000 && misses > 10_000), "{hits} {misses}");
}

/// Uses as many hitboxes as a character has, near and far: the broad phase excludes no hitbox that brute
/// force finds, and all queries agree.
#[test]
fn no_hitbox_is_ruled_out_that_is_hit() {
    let mut random = Random(201);
    for round in 0..tries(300) {
        let far = [0.0, 10.0, 3000.0][round % 3];
        let count = [0, 1, 8, 67, 130, 257][round % 6];
        let list: Vec<_> =
            (0..count).map(|k| Hitbox { joint: k as u16 % 5, shape: shape(&mut random) }).collect();
        let model: Vec<_> = (0..5)
            .map(|_| {
                let mut t = random.transform();
                t.translation = t.translation.map(|v| 4.0 * v + far);
                Affine::from(t)
            })
            .collect();
        let mut posed = PosedHitboxes::default();
        place(&Hitboxes::new(list.clone()).expect("valid shapes"), &model, &mut posed).expect("sizes agree");
        assert_eq!((posed.len(), posed.is_empty()), (count, count == 0));
        let solids: Vec<Solid> = list
            .iter()
            .map(|it| Solid::of(&it.shape).moved(&model[usize::from(it.joint)].to_f64()))
            .collect();
        for _ in 0..if cfg!(miri) { 1 } else { 40 } {
            let mut ray = ray(&mut random);
            let away = [0.0, 100.0][random.below(2)];
            ray.origin = [0, 1, 2].map(|c| ray.origin[c] + far - away * ray.direction[c]);
            ray.max += away;
            let line = super::ray::Line::new(&ray).expect("finite");
            let mut want: Vec<(f64, usize)> = solids
                .iter()
                .enumerate()
                .filter_map(|(at, solid)| Some((super::ray::enter(solid, &line, line.max)?, at)))
                .collect();
            want.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
            for dispatch in Dispatch::all() {
                let case = format!("{dispatch}, {count} hitboxes, round {round}: {ray:?}");
                let (all, first, any) =
                    dispatch.scope(|| (all_hits(&posed, &ray), posed.first_hit(&ray), posed.any_hit(&ray)));
                assert_eq!(all.len(), want.len(), "{case}");
                assert!(want.iter().all(|(_, at)| all.iter().any(|hit| hit.hitbox == *at)), "{case}");
                assert!(all.windows(2).all(|pair| pair[0].hitbox < pair[1].hitbox), "{case}");
                assert_eq!(first.map(|hit| hit.distance), want.first().map(|(t, _)| *t as f32), "{case}");
                assert_eq!(any, !want.is_empty(), "{case}");
                if let Some(hit) = first {
                    assert_eq!(hit.joint, list[hit.hitbox].joint);
                }
            }
        }
    }
}

/// Long, thin capsules of any size that rays just touch, from near, far and inside, across and along. A
/// capsule that the broad phase excludes by the distance between the lines is not hit.
#[test]
fn no_capsule_is_ruled_out_that_a_ray_grazes() {
    let mut random = Random(211);
    let mut grazed = 0;
    for round in 0..tries(40_000) {
        let scale = 2.0_f32.powi(random.below(130) as i32 - 85);
        let far = scale * [0.0, 1.0, 1000.0][random.below(3)];
        let middle: [f32; 3] = random.vector(far);
        let axis: [f32; 3] = random.unit();
        let half = scale * random.range(0.5, 2.0);
        let radius = half * 10.0_f32.powi(-(random.below(7) as i32));
        let [from, to] = [-half, half].map(|h| [0, 1, 2].map(|c| middle[c] + h * axis[c]));
        let shape = Shape::Capsule { from, to, radius };
        let posed = placed(&[shape]);
        let solid = Solid::of(&shape).moved(&Affine::IDENTITY.to_f64());
        // The ray goes through a point on the side, in or nearly in the tangent plane there.
        let out = unit_across(&mut random, axis);
        let height = half * random.range(-1.0, 1.0);
        let sink = 1.0 - 10.0_f32.powi(-(random.below(7) as i32));
        let on: [f32; 3] = [0, 1, 2].map(|c| middle[c] + height * axis[c] + radius * sink * out[c]);
        let slant = 10.0_f32.powi(-(random.below(6) as i32));
        let side = cross(out.map(f64::from), axis.map(f64::from)).map(|v| v as f32);
        let direction = [0, 1, 2].map(|c| axis[c] + slant * side[c]);
        let back = scale * [0.0, 1.0, 30.0, 1e4][random.below(4)];
        let origin = [0, 1, 2].map(|c| on[c] - back * direction[c]);
        let ray = Ray { origin, direction, max: f32::INFINITY };
        let line = super::ray::Line::new(&ray).expect("finite");
        let want = super::ray::enter(&solid, &line, line.max);
        grazed += usize::from(want.is_some());
        for dispatch in Dispatch::all() {
            let any = dispatch.scope(|| posed.any_hit(&ray));
            assert_eq!(
                any,
                want.is_some(),
                "{dispatch}, {round}: {from:?} {to:?} {radius:e} {ray:?} {want:?}"
            );
        }
    }
    assert!(cfg!(miri) || grazed > 10_000, "{grazed}");
}

fn unit_across(random: &mut Random, axis: [f32; 3]) -> [f32; 3] {
    let across = cross(axis.map(f64::from), random.unit().map(f64::from));
    let length = sqrt_f64(dot(across, across));
    across.map(|v| (v / length) as f32)
}

#[test]
fn the_closest_point_is_that_of_the_closest_shape() {
    let mut random = Random(202);
    for round in 0..tries(20_000) {
        let shapes: Vec<_> = (0..1 + round % 12).map(|_| shape(&mut random)).collect();
        let posed = placed(&shapes);
        let point: [f32; 3] = random.vector(1.5);
        let at = point.map(f64::from);
        let got = posed.closest_point(point, f32::INFINITY).expect("at least one hitbox");
        // The same point is found with `max` at this distance, but not below it.
        if got.distance > 1e-3 {
            assert_eq!(posed.closest_point(point, got.distance * 1.0001), Some(got));
            assert_eq!(posed.closest_point(point, got.distance * 0.9999), None);
        }
        let want = shapes.iter().map(|s| outside(s, at)).fold(f64::INFINITY, f64::min);
        let case = format!("{shapes:?} {point:?} {got:?} {want}");
        assert!((f64::from(got.distance.max(0.0)) - want).abs() < 1e-6, "{case}");
        // The reference has its rotations in f32.
        if want > 1e-6 || got.distance < -1e-6 {
            assert_eq!(posed.containing(point).is_some(), want < 1e-6, "{case}");
        }
        // The point is on the surface of that hitbox, at the reported distance.
        let on = got.position.map(f64::from);
        assert!(outside(&shapes[got.hitbox], on) < 1e-6, "{case}");
        let off = sub(on, at);
        assert!((sqrt_f64(dot(off, off)) - f64::from(got.distance.abs())).abs() < 1e-6, "{case}");
        let out = [0, 1, 2].map(|c| on[c] + 1e-4 * f64::from(got.normal[c]));
        assert!((outside(&shapes[got.hitbox], out) - 1e-4).abs() < 1e-6, "{case}");
    }
    assert_eq!(PosedHitboxes::default().closest_point([0.0; 3], f32::INFINITY), None);
}

/// Distance between two convex bodies by alternating projections.
fn apart(a: &Shape, b: &Shape) -> f64 {
    let mut p = nearest(a, [0.3; 3]);
    let mut off = f64::INFINITY;
    for _ in 0..20_000 {
        let q = nearest(b, p);
        p = nearest(a, q);
        let d = sub(p, q);
        let now = sqrt_f64(dot(d, d));
        if now < 1e-6 || off - now < 1e-12 {
            return now;
        }
        off = now;
    }
    off
}

#[test]
fn shapes_overlap_where_they_are_not_apart() {
    let mut random = Random(203);
    let mut found = [0, 0];
    for _ in 0..tries(10_000) {
        let shapes = [shape(&mut random), shape(&mut random), shape(&mut random)];
        let posed = placed(&shapes);
        let other = shape(&mut random);
        for dispatch in Dispatch::all().take(1) {
            let mut met = vec![];
            dispatch.scope(|| {
                posed.overlapping(&other, |at| {
                    met.push(at);
                    ControlFlow::Continue(())
                });
            });
            assert_eq!(dispatch.scope(|| posed.overlaps(&other)), !met.is_empty());
            for (at, shape) in shapes.iter().enumerate() {
                let apart = apart(shape, &other);
                found[usize::from(apart > 1e-3)] += 1;
                // Bodies that barely touch make the projections converge too slowly.
                if !(1e-6..1e-3).contains(&apart) {
                    assert_eq!(met.contains(&at), apart < 1e-6, "{shape:?} {other:?} {apart}");
                }
            }
        }
    }
    assert!(cfg!(miri) || found.iter().all(|&n| n > 3000), "{found:?}");
}

fn off(p: [f64; 3], from: [f32; 3]) -> f64 {
    let d = sub(p, from.map(f64::from));
    sqrt_f64(dot(d, d))
}

/// Points in a shape stay in the moved shape for any matrix. Rotations and uniform scales do not make it
/// larger than necessary.
#[test]
fn moved_shapes_hold_what_they_held() {
    let mut random = Random(204);
    for round in 0..tries(500) {
        let shape = shape(&mut random);
        let mut transform = random.transform();
        if round % 2 == 0 {
            transform.scale = [random.range(0.5, 2.0); 3];
        }
        let mut matrix = Affine::from(transform);
        if round % 4 == 1 {
            matrix.rows[0][1] += random.range(-2.0, 2.0);
            matrix.rows[2] = if round % 8 == 1 { [0.0; 4] } else { matrix.rows[2] };
        }
        let rows = matrix.to_f64();
        let solid = Solid::of(&shape).moved(&rows);
        let (sphere, [middle, half]) = (solid.sphere(), solid.extent());
        let mut least = f64::INFINITY;
        for _ in 0..60 {
            // Point on the surface.
            let far: [f32; 3] = random.unit();
            let p = nearest(&shape, far.map(|v| 9.0 * f64::from(v)));
            let q = rows.map(|row| dot([row[0], row[1], row[2]], p) + row[3]);
            let distance = solid.closest(q).distance;
            assert!(distance < 2e-7, "{round}: {shape:?} {matrix:?} {distance}");
            assert!(off(q, sphere.center) <= f64::from(sphere.radius) + 2e-7, "{round}: {sphere:?}");
            assert!((0..3).all(|c| (q[c] - middle[c]).abs() <= half[c] + 2e-7), "{round}");
            least = least.min(distance);
        }
        assert!(round % 2 == 1 || least > -2e-6, "{round}: {shape:?} {least}");
    }
}

#[test]
fn any_numbers_have_an_answer() {
    let mut random = Random(206);
    let odd = [0.0, -0.0, 1.0, LIMIT, -LIMIT, f32::MIN_POSITIVE, 1e-45, f32::NAN, f32::INFINITY, f32::MIN];
    let mut pick = |n: usize| odd[random.below(n)];
    for _ in 0..tries(3000) {
        let mut vector = |n| [pick(n), pick(n), pick(n)];
        let sizes = vector(7).map(f32::abs);
        let shapes = [
            Shape::Sphere { center: vector(7), radius: sizes[0] },
            Shape::Capsule { from: vector(7), to: vector(7), radius: sizes[1] },
            Shape::Box { center: vector(7), rotation: [0.0, 0.6, 0.0, 0.8], half_extents: sizes },
        ];
        let list: Vec<_> = shapes.iter().map(|&shape| Hitbox { joint: 0, shape }).collect();
        let matrix = Affine { rows: [vector(10), vector(10), vector(10)].map(|[x, y, z]| [x, y, z, x]) };
        let mut posed = PosedHitboxes::default();
        for matrix in [Affine::IDENTITY, matrix] {
            place(&Hitboxes::new(list.clone()).expect("finite"), &[matrix], &mut posed).expect("one joint");
            let ray = Ray { origin: vector(10), direction: vector(10), max: vector(10)[0] };
            let first = posed.first_hit(&ray);
            assert_eq!(first.is_some(), !all_hits(&posed, &ray).is_empty());
            let _ = (posed.closest_point(vector(10), vector(10)[0]), posed.containing(vector(10)));
            let _ = posed.overlaps(&shapes[1]);
        }
    }
    let nan = Shape::Sphere { center: [f32::NAN; 3], radius: 1.0 };
    let refused = Hitboxes::new(vec![Hitbox { joint: 0, shape: nan }]);
    assert_eq!(refused, Err(Error::NotFinite { what: "hitboxes", at: 0 }));
    let below = Shape::Capsule { from: [0.0; 3], to: [1.0; 3], radius: -1.0 };
    let refused = Hitboxes::new(vec![Hitbox { joint: 0, shape: below }]);
    assert!(matches!(refused, Err(Error::OutOfRange { what: "hitboxes", at: 0, .. })), "{refused:?}");
    assert!(!placed(&[Shape::Sphere { center: [0.0; 3], radius: 1.0 }]).overlaps(&nan));
    let one =
        Hitboxes::new(vec![Hitbox { joint: 3, shape: Shape::Sphere { center: [0.0; 3], radius: 1.0 } }]);
    let refused = place(&one.expect("finite"), &[Affine::IDENTITY; 3], &mut PosedHitboxes::default());
    assert!(matches!(refused, Err(Error::TooShort { what: "model", found: 3, needed: 4 })), "{refused:?}");
}

/// Triangles and hitboxes accept the same shapes and rays.
#[test]
fn one_rule_says_what_may_be_asked() {
    use crate::hits::TriangleTree;
    let tree = TriangleTree::new(&[[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], &[[0, 1, 2]]);
    let tree = tree.expect("a triangle");
    let posed = placed(&[Shape::Box { center: [2.0, 2.0, 0.0], rotation: [0.0; 4], half_extents: [2.0; 3] }]);
    let turned = |rotation| Shape::Box { center: [1.0, -0.9, 0.0], rotation, half_extents: [1.3, 0.1, 0.1] };
    let (center, beyond) = ([0.0; 3], LIMIT.next_up());
    let shapes = [
        (true, Shape::Sphere { center, radius: LIMIT }),
        (false, Shape::Sphere { center, radius: beyond }),
        (false, Shape::Sphere { center, radius: -1.0 }),
        (false, Shape::Capsule { from: center, to: [0.0, beyond, 0.0], radius: 1.0 }),
        (true, Shape::Capsule { from: center, to: [0.0, LIMIT, 0.0], radius: 1.0 }),
        // A rotation by 45 degrees with quaternions of any length; a zero quaternion does not rotate.
        (true, turned([0.0, 0.0, 0.382_683, 0.923_880])),
        (true, turned([0.0, 0.0, 0.382_683e-20, 0.923_880e-20])),
        (true, turned([0.0, 0.0, 0.382_683e38, 0.923_880e38])),
        (false, turned([0.0; 4])),
        (false, turned([0.0, 0.0, f32::INFINITY, 1.0])),
    ];
    for (touches, shape) in shapes {
        assert_eq!((tree.overlaps(&shape), posed.overlaps(&shape)), (touches, touches), "{shape:?}");
        let sound = touches || shape == turned([0.0; 4]);
        assert_eq!(Hitboxes::new(vec![Hitbox { joint: 0, shape }]).is_ok(), sound, "{shape:?}");
    }
    for (far, meets) in [(LIMIT, true), (beyond, false)] {
        let origin = [1.0, 1.0, far];
        let ray = Ray { origin, direction: [0.0, 0.0, -1.0], max: f32::INFINITY };
        assert_eq!((tree.any_hit(&ray), posed.any_hit(&ray)), (meets, meets), "{ray:?}");
        let near = (tree.closest_point(origin, f32::INFINITY), posed.closest_point(origin, f32::INFINITY));
        assert_eq!((near.0.is_some(), near.1.is_some()), (meets, meets), "{origin:?}");
    }
}

#[test]
fn what_a_matrix_moves_that_is_not_finite_is_met_by_nothing() {
    let rotation = [0.0, 0.0, 0.0, 1.0];
    let shapes = [
        Shape::Sphere { center: [0.0; 3], radius: 1.0 },
        Shape::Capsule { from: [0.0; 3], to: [0.0, 1.0, 0.0], radius: 1.0 },
        Shape::Box { center: [0.0; 3], rotation, half_extents: [1.0; 3] },
    ];
    for (shape, entry) in shapes.iter().flat_map(|shape| (0..12).map(move |entry| (shape, entry))) {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut matrix = Affine::IDENTITY;
            matrix.rows.as_flattened_mut()[entry] = value;
            let mut posed = PosedHitboxes::default();
            let one = Hitboxes::new(vec![Hitbox { joint: 0, shape: *shape }]).expect("a valid shape");
            place(&one, &[matrix], &mut posed).expect("one joint");
            let what = format!("{shape:?} with {value} at {entry}");
            for way in [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.3, 0.4, 0.5], [0.0; 3]] {
                let ray = Ray { origin: way.map(|v| -5.0 * v), direction: way, max: f32::INFINITY };
                assert_eq!((posed.first_hit(&ray), posed.any_hit(&ray)), (None, false), "{what}, {ray:?}");
                assert!(all_hits(&posed, &ray).is_empty(), "{what}, {ray:?}");
            }
            assert_eq!(posed.closest_point([0.5; 3], f32::INFINITY), None, "{what}");
            assert_eq!(posed.containing([0.0; 3]), None, "{what}");
            assert!(!shapes.iter().any(|shape| posed.overlaps(shape)), "{what}");
            assert_eq!(posed.bounds(), Aabb::EMPTY, "{what}");
        }
    }
}

/// One end of a capsule is at the origin, the other so far away that its radius is negligible.
#[test]
fn the_box_around_what_is_huge_holds_where_it_is_hit() {
    let from = [1.837_07, 3.676_4, -6.624_6];
    let huge = Affine { rows: Affine::IDENTITY.rows.map(|row| row.map(|v| v * 1e29)) };
    let capsule = Shape::Capsule { from, to: [0.0; 3], radius: 1.2e-29 };
    let hitboxes = Hitboxes::new(vec![Hitbox { joint: 0, shape: capsule }]).expect("a valid shape");
    let mut posed = PosedHitboxes::default();
    place(&hitboxes, &[huge], &mut posed).expect("one joint");
    let ray = Ray { origin: [-0.031, -0.531, 0.0], direction: [-0.4, 0.6, -1.75], max: 0.2 };
    let hit = posed.first_hit(&ray).expect("the ray begins inside the hitbox");
    assert_eq!(hit.distance, 0.0);
    assert!(posed.bounds().contains(ray.origin), "{:?}", posed.bounds());
}

#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0x670e_525d_caa2_2b07, |hash| {
        let mut random = Random(209);
        let (mesh, skin) = fits::cloud(&mut random, 300, |random| {
            let [x, y, z]: [f32; 3] = random.unit();
            [0.2 * x, y, 0.4 * z]
        });
        let fitted = fit([(&mesh, &skin)], &Fit { coverage: 0.95, ..Fit::default() }).expect("valid numbers");
        let mut list = fitted.as_slice().to_vec();
        list.extend((0..50).map(|_| Hitbox { joint: 0, shape: shape(&mut random) }));
        let mut posed = PosedHitboxes::default();
        place(&Hitboxes::new(list).expect("valid"), &[random.transform().into()], &mut posed)
            .expect("one joint");
        hash.add(posed.bounds().min.iter().chain(&posed.bounds().max));
        for _ in 0..200 {
            if let Some(hit) = posed.first_hit(&ray(&mut random)) {
                hash.add(hit.position.iter().chain(&hit.normal).chain([&hit.distance, &(hit.hitbox as f32)]));
            }
            if let Some(near) = posed.closest_point(random.vector(1.0), f32::INFINITY) {
                hash.add(near.position.iter().chain(&near.normal).chain([&near.distance]));
            }
        }
    });
}
