//! Nearest points, and points inside.

use std::vec::Vec;

use super::{ball, broken, meshes, somewhere};
use crate::hits::{Attachment, TriangleTree};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::simd::Dispatch;
use condyle_testing::reference::{distance_to_triangle, winding_number};
use condyle_testing::{Random, assert_portable, tries};

#[test]
fn the_nearest_point_is_as_near_as_any() {
    let mut random = Random(11);
    let meshes = meshes(&mut random);
    let cases: Vec<_> = meshes.iter().map(|mesh| (mesh.name, mesh.tree(), mesh.corners())).collect();
    for case in 0..tries(100_000) {
        let (name, tree, triangles) = &cases[case % cases.len()];
        let point = if random.below(16) == 0 {
            // At a corner, the nearest point is the point itself.
            triangles[random.below(triangles.len())][0].map(|v| v as f32)
        } else {
            somewhere(&mut random)
        };
        let p = point.map(f64::from);
        let distances = triangles.iter().map(|&t| distance_to_triangle(p, t));
        let want = distances.fold(f64::INFINITY, f64::min);
        let got = tree.closest_point(point, f32::INFINITY).expect("there are triangles");
        assert!((f64::from(got.distance) - want).abs() <= 1e-7 * want, "{name}: {point:?}, {got:?}, {want}");
        let on = triangles[got.triangle as usize];
        assert!((distance_to_triangle(p, on) - want).abs() <= 1e-12, "{name}: {point:?}, {got:?}");
        let mut square = 0.0;
        for k in 0..3 {
            let by_weights: f64 = (0..3).map(|c| f64::from(got.weights[c]) * on[c][k]).sum();
            assert!((by_weights - f64::from(got.position[k])).abs() < 1e-6, "{name}: {point:?}, {got:?}");
            square += (by_weights - p[k]) * (by_weights - p[k]);
        }
        assert!((sqrt_f64(square) - want).abs() < 1e-6, "{name}: {point:?}, {got:?}");
        assert!(tree.closest_point(point, (want * 0.999) as f32).is_none() || want == 0.0);
        assert_eq!(tree.closest_point(point, (want * 1.001) as f32), Some(got));
    }
}

#[test]
fn inside_is_where_the_surface_goes_round() {
    let mut random = Random(12);
    let mesh = ball(&mut random, 10, 12);
    let (tree, triangles) = (mesh.tree(), mesh.corners());
    let mut inside = 0;
    for _ in 0..tries(20_000) {
        let point = somewhere(&mut random);
        let winding = winding_number(point.map(f64::from), &triangles);
        assert_eq!(tree.contains(point), winding > 0.5, "{point:?}: {winding}");
        inside += usize::from(winding > 0.5);
        for _ in 0..2 {
            assert_eq!(f64::from(tree.winding(point, random.unit())), (winding + 0.5).floor(), "{point:?}");
        }
    }
    assert!(inside > tries(20_000) / 10);
}

#[test]
fn inside_of_two_balls_is_inside_and_a_hole_matters_little() {
    let mut random = Random(13);
    // The second ball overlaps the first, shifted by 0.5 along x.
    let mut mesh = ball(&mut random, 8, 10);
    let other = ball(&mut random, 8, 10);
    let first = mesh.posed.len() as u32;
    mesh.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
    for (of, from) in [(&mut mesh.bind, &other.bind), (&mut mesh.posed, &other.posed)] {
        of.extend(from.iter().map(|&[x, y, z]| [x + 0.5, y, z]));
    }
    let tree = mesh.tree();
    assert_eq!(tree.winding([0.25, 0.0, 0.0], [0.3, 0.4, 0.5]), 2);
    assert!(tree.contains([0.25, 0.0, 0.0]) && !tree.contains([0.25, 3.0, 0.0]));
    let open = ball(&mut random, 10, 12);
    let mut triangles = open.triangles.clone();
    triangles.retain(|t| !t.contains(&0));
    let tree = TriangleTree::new(&open.bind, &triangles).expect("a valid mesh");
    assert!(!tree.is_closed());
    for _ in 0..tries(1000) {
        let point = random.vector(0.3);
        assert!(tree.contains(point), "{point:?}");
        let outside: [f32; 3] = random.unit().map(|v: f32| v * 1.5);
        assert!(!tree.contains(outside), "{outside:?}");
    }
}

#[test]
fn answers_are_the_same_on_every_instruction_set_and_in_either_mode() {
    let mut random = Random(14);
    let mesh = broken(&mut random);
    let points: Vec<_> = (0..tries(300)).map(|_| somewhere(&mut random)).collect();
    let ask = |tree: &TriangleTree| {
        points.iter().map(|&p| (tree.closest_point(p, 2.0), tree.contains(p))).collect::<Vec<_>>()
    };
    let want = ask(&mesh.tree());
    for dispatch in Dispatch::all() {
        assert_eq!(dispatch.scope(|| ask(&mesh.tree())), want, "{dispatch}");
    }
    assert_portable(0xa1d2_b0ce_dc46_20e9, |hash| {
        for nearest in ask(&mesh.tree()).into_iter().filter_map(|answer| answer.0) {
            hash.add(&[nearest.triangle as f32, nearest.distance]);
            hash.add(nearest.weights.iter().chain(&nearest.position).chain(&nearest.normal));
        }
    });
}

#[test]
fn what_is_attached_rides_along() {
    let mut random = Random(15);
    let mesh = ball(&mut random, 10, 12);
    let tree = TriangleTree::new(&mesh.bind, &mesh.triangles).expect("a valid mesh");
    for _ in 0..tries(200) {
        let nearest = tree.closest_point(somewhere(&mut random), 9.0).expect("near enough");
        let vertices = mesh.triangles[nearest.triangle as usize];
        let attachment = Attachment { vertices, weights: nearest.weights };
        let [bind, posed] =
            [&mesh.bind, &mesh.posed].map(|of| attachment.position(of).expect("valid vertex indices"));
        for k in 0..3 {
            assert!((bind[k] - nearest.position[k]).abs() < 1e-6);
            let want: f32 = (0..3).map(|c| nearest.weights[c] * mesh.posed[vertices[c] as usize][k]).sum();
            assert!((posed[k] - want).abs() < 1e-6);
        }
        let place = attachment.place(&mesh.bind).expect("valid vertex indices");
        let up = place.transform_vector([0.0, 0.0, 1.0]);
        assert!((0..3).all(|k| (up[k] - nearest.normal[k]).abs() < 1e-6), "{up:?}, {nearest:?}");
        let normal = attachment.normal(&mesh.bind).expect("valid vertex indices");
        let length: f32 = normal.iter().map(|v| v * v).sum();
        assert!((length - 1.0).abs() < 1e-6);
    }
    let flat = Attachment { vertices: [0, 0, 0], weights: [1.0, 0.0, 0.0] };
    let place = flat.place(&mesh.bind).expect("valid vertex indices");
    assert_eq!(place.transform_point([1.0, 0.0, 0.0]), [1.0, 1.0, 0.0]);
    assert!(Attachment { vertices: [0, 1, 500], ..flat }.position(&mesh.bind).is_err());
}

/// The third corner is on the line through the others except for rounding, so the normal is only rounding
/// error.
#[test]
fn axes_on_a_needle_are_perpendicular() {
    let mut random = Random(16);
    for _ in 0..tries(2000) {
        let first: [f32; 3] = random.vector(1e-16);
        let second: [f32; 3] = random.vector(1.0);
        let corners = [first, second, second.map(|v| 2.0 * v)];
        let place = Attachment { vertices: [0, 1, 2], weights: [1.0, 0.0, 0.0] }.place(&corners);
        let rows = place.expect("valid vertex indices").rows.map(|row| row.map(f64::from));
        for (a, b) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)] {
            let product: f64 = (0..3).map(|k| rows[a][k] * rows[b][k]).sum();
            assert!((product - f64::from(u8::from(a == b))).abs() < 1e-6, "{corners:?}: {rows:?}");
        }
    }
}
