//! Ray queries.

use core::ops::ControlFlow;
use std::vec::Vec;

use super::{Mesh, ball, meshes, somewhere};
use crate::hits::{Hit, Ray, TriangleTree};
use condyle_base::math::vectors::{cross, dot};
use condyle_base::simd::Dispatch;
use condyle_testing::reference::{Triangle, ray_meets_triangle};
use condyle_testing::{Random, assert_portable, cases, tries};

/// Triangle index, distance along the ray, and whether the front is hit.
type Met = (usize, f64, bool);

fn all_met(ray: &Ray, triangles: &[Triangle]) -> Vec<Met> {
    let (origin, direction) = (ray.origin.map(f64::from), ray.direction.map(f64::from));
    let met = triangles.iter().enumerate().filter_map(|(at, &t)| {
        let (distance, front) = ray_meets_triangle(origin, direction, t)?;
        (distance <= f64::from(ray.max)).then_some((at, distance, front))
    });
    met.collect()
}

fn some_ray(random: &mut Random) -> Ray {
    let origin = somewhere(random);
    let mut direction: [f32; 3] = random.unit();
    if random.below(8) == 0 {
        direction[random.below(3)] = 0.0;
    }
    let length = [1.0, 1e-6, 1e6][random.below(3)];
    let max = if random.below(2) == 0 { f32::INFINITY } else { random.range(0.0, 2.0) / length };
    Ray { origin, direction: direction.map(|v| v * length), max }
}

#[track_caller]
fn check(hit: &Hit, (at, distance, front): Met, ray: &Ray, triangles: &[Triangle]) {
    assert!((f64::from(hit.distance) - distance).abs() <= 1e-6 * distance, "{ray:?}: {hit:?}, {distance}");
    assert_eq!(hit.front, front);
    let want: [f64; 3] =
        core::array::from_fn(|k| f64::from(ray.origin[k]) + f64::from(ray.direction[k]) * distance);
    let by_weights: [f64; 3] =
        core::array::from_fn(|k| (0..3).map(|c| f64::from(hit.weights[c]) * triangles[at][c][k]).sum());
    for k in 0..3 {
        assert!((f64::from(hit.position[k]) - want[k]).abs() < 1e-6, "{ray:?}: {hit:?}, {want:?}");
        assert!((by_weights[k] - want[k]).abs() < 1e-6, "{ray:?}: {hit:?}, {want:?}");
    }
    let towards: f64 = (0..3).map(|k| f64::from(hit.normal[k]) * f64::from(ray.direction[k])).sum();
    assert_eq!(towards < 0.0, front);
}

#[test]
fn rays_meet_what_the_formula_says() {
    let mut random = Random(3);
    let meshes = meshes(&mut random);
    let trees: Vec<_> = meshes.iter().map(|mesh| (mesh.name, mesh.tree(), mesh.corners())).collect();
    for case in 0..tries(100_000) {
        let (name, tree, triangles) = &trees[case % trees.len()];
        let ray = some_ray(&mut random);
        let want = all_met(&ray, triangles);
        let nearest = want.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let hit = tree.first_hit(&ray);
        assert_eq!(hit.is_some(), nearest.is_some(), "{name}: {ray:?}, {nearest:?}");
        assert_eq!(tree.any_hit(&ray), nearest.is_some(), "{name}: {ray:?}");
        if let (Some(hit), Some(nearest)) = (hit, nearest) {
            // The first of two equal triangles is reported.
            assert!(triangles[hit.triangle as usize] == triangles[nearest.0] || hit.front != nearest.2);
            check(&hit, (hit.triangle as usize, nearest.1, hit.front), &ray, triangles);
        }
        let mut got = Vec::new();
        tree.all_hits(&ray, |hit| {
            got.push(hit);
            ControlFlow::Continue(())
        });
        got.sort_unstable_by_key(|hit| hit.triangle);
        assert!(
            got.iter().map(|hit| hit.triangle as usize).eq(want.iter().map(|met| met.0)),
            "{name}: {ray:?}"
        );
        got.iter().zip(want).for_each(|(hit, met)| check(hit, met, &ray, triangles));
    }
}

#[test]
fn no_ray_slips_through_an_edge_or_a_vertex() {
    let mut random = Random(4);
    let mesh = ball(&mut random, 10, 12);
    let tree = mesh.tree();
    let inside = [0.0; 3];
    assert!(tree.contains(inside));
    for _ in 0..tries(100_000) {
        let [a, b, c] = mesh.triangles[random.below(mesh.triangles.len())].map(|v| mesh.posed[v as usize]);
        let part = [0.0, 0.25, 0.5, random.range(0.0, 1.0)][random.below(4)];
        let target: [f32; 3] = core::array::from_fn(|k| a[k] + (b[k] - a[k]) * part);
        let origin = random.vector(0.2);
        let direction = core::array::from_fn(|k| target[k] - origin[k]);
        let ray = Ray { origin, direction, max: f32::INFINITY };
        assert!(tree.any_hit(&ray), "{ray:?}");
        assert!(tree.first_hit(&ray).is_some_and(|hit| !hit.front), "{ray:?}");
        assert_eq!(tree.winding(origin, direction), 1, "{ray:?}");
        // Backwards, from outside and far away.
        let far = core::array::from_fn(|k| origin[k] + direction[k] * 3e4);
        let back = direction.map(|v| -v);
        assert_eq!(tree.winding(far, back), 0, "{ray:?}");
        let _ = c;
    }
}

/// Surface of a cube in squares of two triangles, with integer corners.
fn cube(squares: i32) -> Mesh {
    let mut points = Vec::new();
    let mut triangles = Vec::new();
    for axis in 0..3 {
        for side in [-squares, squares] {
            for (u, v) in (0..squares * squares).map(|k| (k / squares, k % squares)) {
                let corner = |du: i32, dv: i32| {
                    let mut p = [0.0; 3];
                    p[axis] = side as f32;
                    p[(axis + 1) % 3] = (2 * (u + du) - squares) as f32;
                    p[(axis + 2) % 3] = (2 * (v + dv) - squares) as f32;
                    p
                };
                let first = points.len() as u32;
                points.extend([corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)]);
                let [a, b, c, d] = [first, first + 1, first + 2, first + 3];
                triangles.extend(if side > 0 { [[a, b, c], [a, c, d]] } else { [[a, c, b], [a, d, c]] });
            }
        }
    }
    let posed = points.clone();
    Mesh { name: "cube", bind: points, posed, triangles }
}

#[test]
fn rays_along_axes_and_diagonals_meet_corners_and_sides_exactly() {
    let mesh = cube(4);
    let tree = mesh.tree();
    assert!(tree.is_closed());
    for at in 0..13 * 13 * 13 {
        let target = [at % 13 - 6, at / 13 % 13 - 6, at / 169 - 6].map(|v| v as f32);
        let outmost = target.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        if outmost > 0.0 {
            for origin in [[0.0; 3], [1.0, 0.0, 2.0], [-3.0, 3.0, 1.0], [3.5, -3.25, 0.125]] {
                assert_eq!(tree.winding(origin, target), 1, "from {origin:?} along {target:?}");
                let ray = Ray { origin, direction: target, max: f32::INFINITY };
                assert!(tree.first_hit(&ray).is_some_and(|hit| !hit.front), "{ray:?}");
            }
        }
        // A point on the surface may be either.
        let inside = outmost < 4.0;
        assert!(outmost == 4.0 || tree.contains(target) == inside, "{target:?}");
        // Rays in the plane of a side, along it and through its corners.
        for direction in [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]] {
            if target.iter().zip(direction).any(|(p, d)| *p * d < -4.0) && outmost > 4.0 {
                let within = target.iter().zip(direction).all(|(p, d)| d != 0.0 || p.abs() <= 4.0);
                let ray = Ray { origin: target, direction, max: f32::INFINITY };
                assert_eq!(tree.first_hit(&ray).map(|hit| hit.front), within.then_some(true), "{ray:?}");
            }
        }
    }
}

/// Stair step whose riser is seen edge-on: the ray comes down in the plane of the riser, between the two
/// treads.
#[test]
fn rays_in_the_plane_of_a_triangle_do_not_slip_and_meet_it_where_they_are() {
    let mut random = Random(8);
    let (mut risers, mut rays) = (0, 0);
    for _ in 0..cases(20_000) {
        // Integer coordinates, so that the ray is exactly in the plane.
        let mut whole =
            |most: usize| -> [f32; 3] { [0; 3].map(|_| (random.below(2 * most + 1)) as f32 - most as f32) };
        let (start, axes) = (whole(100), [whole(50), whole(50), whole(50)]);
        let at = |u: f32, v: f32, w: f32| -> [f32; 3] {
            core::array::from_fn(|k| start[k] + u * axes[0][k] + v * axes[1][k] + w * axes[2][k])
        };
        let profile = [(-3.0, 1.0), (0.0, 1.0), (0.0, 0.0), (3.0, 0.0)];
        let points: Vec<_> = profile.iter().flat_map(|&(u, v)| [at(u, v, -3.0), at(u, v, 3.0)]).collect();
        let triangles: Vec<_> =
            (0..3).flat_map(|k| [[2 * k, 2 * k + 1, 2 * k + 2], [2 * k + 1, 2 * k + 3, 2 * k + 2]]).collect();
        let volume = dot(axes[0].map(f64::from), cross(axes[1].map(f64::from), axes[2].map(f64::from)));
        let tree = TriangleTree::new(&points, &triangles).expect("a valid mesh");
        let mut off = || random.below(5) as f32 - 2.0;
        let ray = Ray::between(at(0.0, 5.0, off()), at(0.0, -4.0, off()));
        if volume == 0.0 {
            continue;
        }
        rays += 1;
        let mut hits = Vec::new();
        tree.all_hits(&ray, |hit| {
            hits.push(hit);
            ControlFlow::Continue(())
        });
        assert!(!hits.is_empty() && tree.first_hit(&ray).is_some(), "{ray:?} {points:?}");
        for hit in hits {
            risers += usize::from(hit.triangle / 2 == 1);
            let on_ray = ray.at(hit.distance);
            let size =
                f64::from(hit.position.iter().chain(&on_ray).fold(1.0_f32, |size, v| size.max(v.abs())));
            for k in 0..3 {
                let apart = f64::from(hit.position[k]) - f64::from(on_ray[k]);
                assert!(apart.abs() <= 1e-5 * size, "{ray:?} {points:?}: {hit:?}, {on_ray:?}");
            }
        }
    }
    assert!(20 * risers > rays, "{risers} of {rays}");
}

#[test]
fn what_is_met_twice_is_the_triangle_with_the_least_number() {
    let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let triangles = std::vec![[0, 1, 2]; 40];
    let tree = TriangleTree::new(&points, &triangles).expect("a valid mesh");
    let ray = Ray { origin: [0.25, 0.25, 1.0], direction: [0.0, 0.0, -1.0], max: 1.0 };
    assert_eq!(tree.first_hit(&ray).map(|hit| (hit.triangle, hit.distance)), Some((0, 1.0)));
    assert!(tree.first_hit(&Ray { max: 0.999, ..ray }).is_none());
    let mut count = 0;
    tree.all_hits(&ray, |_| {
        count += 1;
        if count < 30 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!(count, 30);
}

#[test]
fn rays_that_are_none_meet_nothing() {
    let mut random = Random(5);
    let tree = ball(&mut random, 6, 8).tree();
    let ray = Ray { origin: [0.0; 3], direction: [1.0, 0.0, 0.0], max: f32::INFINITY };
    assert!(tree.any_hit(&ray));
    for ray in [
        Ray { direction: [0.0, -0.0, 0.0], ..ray },
        Ray { direction: [f32::NAN, 1.0, 0.0], ..ray },
        Ray { direction: [0.0, f32::INFINITY, 0.0], ..ray },
        Ray { origin: [0.0, f32::NAN, 0.0], ..ray },
        Ray { origin: [f32::MAX, 0.0, 0.0], direction: [-1.0, 0.0, 0.0], ..ray },
        Ray { max: f32::NAN, ..ray },
        Ray { max: -1.0, ..ray },
    ] {
        assert!(!tree.any_hit(&ray) && tree.first_hit(&ray).is_none(), "{ray:?}");
        tree.all_hits(&ray, |hit| panic!("{ray:?}: {hit:?}"));
    }
    for size in [1e-40, 1e-20, 1e20, 1e38] {
        assert!(tree.any_hit(&Ray { direction: [size, 0.0, size], ..ray }), "{size}");
    }
}

#[test]
fn answers_are_the_same_on_every_instruction_set_and_in_either_mode() {
    let mut random = Random(6);
    let meshes = meshes(&mut random);
    let rays: Vec<_> = (0..tries(300)).map(|_| some_ray(&mut random)).collect();
    for mesh in &meshes {
        let tree = mesh.tree();
        let want: Vec<_> = rays.iter().map(|ray| tree.first_hit(ray)).collect();
        for dispatch in Dispatch::all() {
            let got: Vec<_> = dispatch.scope(|| {
                let tree = mesh.tree();
                rays.iter().map(|ray| tree.first_hit(ray)).collect()
            });
            assert_eq!(got, want, "{}, {dispatch}", mesh.name);
        }
    }
    assert_portable(0x33e7_c44c_86eb_09f0, |hash| {
        for mesh in &meshes {
            let tree = mesh.tree();
            for hit in rays.iter().filter_map(|ray| tree.first_hit(ray)) {
                hash.add(&[hit.triangle as f32, hit.distance]);
                hash.add(hit.weights.iter().chain(&hit.position).chain(&hit.normal));
            }
        }
    });
}

#[test]
fn many_threads_get_the_same_answers() {
    let mut random = Random(7);
    let tree = ball(&mut random, 10, 12).tree();
    let rays: Vec<_> = (0..tries(500)).map(|_| some_ray(&mut random)).collect();
    let ask = || rays.iter().map(|ray| tree.first_hit(ray)).collect::<Vec<_>>();
    let want = ask();
    if cfg!(target_family = "wasm") {
        return;
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().expect("no panic"), want));
    });
}
