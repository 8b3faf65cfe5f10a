//! Overlap queries with spheres, capsules and boxes.

use core::ops::ControlFlow;
use std::vec::Vec;

use super::{meshes, somewhere};
use crate::hits::{Shape, TriangleTree};
use condyle_base::simd::Dispatch;
use condyle_testing::reference::{Triangle, box_touches_triangle, distance_to_triangle, way_to_triangle};
use condyle_testing::{Random, tries};

/// Distance within which rounding may decide either way.
const NEAR: f64 = 1e-7;

/// Whether a triangle is touched, or `None` if rounding could decide it.
fn touches(shape: &Shape, triangle: Triangle) -> Option<bool> {
    let within = |distance: f64, radius: f32| {
        let gap = distance - f64::from(radius);
        (gap.abs() > NEAR).then_some(gap < 0.0)
    };
    match *shape {
        Shape::Sphere { center, radius } => {
            within(distance_to_triangle(center.map(f64::from), triangle), radius)
        }
        Shape::Capsule { from, to, radius } => {
            within(way_to_triangle(from.map(f64::from), to.map(f64::from), triangle), radius)
        }
        Shape::Box { center, rotation, half_extents } => {
            let axes = crate::hits::axes_of(rotation.map(f64::from));
            let touch = |grown: f64| {
                let half = half_extents.map(|v| f64::from(v) + grown);
                box_touches_triangle(center.map(f64::from), axes, half, triangle)
            };
            let [least, most] = [touch(-NEAR), touch(NEAR)];
            (least == most).then_some(most)
        }
    }
}

fn some_shape(random: &mut Random) -> Shape {
    let center = somewhere(random);
    let radius = [0.0, random.range(0.0, 0.2), random.range(0.0, 1.0)][random.below(3)];
    match random.below(3) {
        0 => Shape::Sphere { center, radius },
        1 => Shape::Capsule { from: center, to: somewhere(random), radius },
        _ => {
            let half_extents = core::array::from_fn(|_| random.range(0.0, 0.5));
            Shape::Box { center, rotation: random.unit(), half_extents }
        }
    }
}

fn all_touched(tree: &TriangleTree, shape: &Shape) -> Vec<u32> {
    let mut got = Vec::new();
    tree.overlapping(shape, |triangle| {
        got.push(triangle);
        ControlFlow::Continue(())
    });
    got.sort_unstable();
    got
}

#[test]
fn shapes_touch_what_the_formulas_say() {
    let mut random = Random(21);
    let meshes = meshes(&mut random);
    let cases: Vec<_> = meshes.iter().map(|mesh| (mesh.name, mesh.tree(), mesh.corners())).collect();
    let (mut touched, mut unclear) = (0, 0);
    for case in 0..tries(100_000) {
        let (name, tree, triangles) = &cases[case % cases.len()];
        let shape = some_shape(&mut random);
        let got = all_touched(tree, &shape);
        assert_eq!(tree.overlaps(&shape), !got.is_empty(), "{name}: {shape:?}");
        // The capsule reference is slow: check some of the triangles, and all touched ones.
        let some = |at: usize| at % 32 == case / 4 % 32 || got.binary_search(&(at as u32)).is_ok();
        for (at, &triangle) in triangles.iter().enumerate().filter(|(at, _)| some(*at)) {
            let is_touched = got.binary_search(&(at as u32)).is_ok();
            match touches(&shape, triangle) {
                None => unclear += 1,
                Some(want) => assert_eq!(is_touched, want, "{name}, triangle {at}: {shape:?}"),
            }
            touched += usize::from(is_touched);
        }
    }
    assert!(touched > tries(100_000) && unclear < tries(100_000) / 10, "{touched} {unclear}");
}

#[test]
fn ways_in_the_plane_of_triangles_touch_only_what_they_come_to() {
    let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let tree = TriangleTree::new(&points, &[[0, 1, 2]]).expect("a valid mesh");
    let lying = |from, to| tree.overlaps(&Shape::Capsule { from, to, radius: 0.0 });
    assert!(lying([-1.0, 0.25, 0.0], [2.0, 0.25, 0.0]), "across");
    assert!(lying([0.2, 0.2, 0.0], [0.3, 0.3, 0.0]), "inside");
    assert!(lying([-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]), "to a corner");
    assert!(lying([-1.0, 0.0, 0.0], [3.0, 0.0, 0.0]), "over an edge");
    assert!(!lying([-1.0, 1.25, 0.0], [2.0, 1.25, 0.0]), "past it");
    assert!(!lying([-2.0, 0.5, 0.0], [-1.0, 0.5, 0.0]), "before it");
}

#[test]
fn shapes_that_are_none_touch_nothing() {
    let tree = meshes(&mut Random(22))[0].tree();
    let (center, rotation) = ([0.0; 3], [0.0, 0.0, 0.0, 1.0]);
    assert!(tree.overlaps(&Shape::Sphere { center, radius: 2.0 }));
    // Without a rotation the box is axis-aligned.
    assert!(tree.overlaps(&Shape::Box { center, rotation: [0.0; 4], half_extents: [2.0; 3] }));
    for shape in [
        Shape::Sphere { center, radius: -1.0 },
        Shape::Sphere { center, radius: f32::NAN },
        Shape::Sphere { center, radius: f32::INFINITY },
        Shape::Sphere { center: [f32::NAN, 0.0, 0.0], radius: 2.0 },
        Shape::Capsule { from: center, to: [0.0, f32::INFINITY, 0.0], radius: 2.0 },
        Shape::Box { center, rotation: [f32::NAN; 4], half_extents: [2.0; 3] },
        Shape::Box { center, rotation, half_extents: [2.0, -2.0, 2.0] },
    ] {
        assert!(!tree.overlaps(&shape), "{shape:?}");
    }
}

#[test]
fn answers_are_the_same_on_every_instruction_set_and_in_either_mode() {
    let mut random = Random(23);
    let meshes = meshes(&mut random);
    let shapes: Vec<_> = (0..tries(300)).map(|_| some_shape(&mut random)).collect();
    for mesh in &meshes {
        let ask = || {
            let tree = mesh.tree();
            shapes.iter().map(|shape| all_touched(&tree, shape)).collect::<Vec<_>>()
        };
        let want = ask();
        for dispatch in Dispatch::all() {
            assert_eq!(dispatch.scope(ask), want, "{}, {dispatch}", mesh.name);
        }
    }
}

/// The rounding error that remains of the normal of a triangle without area is not perpendicular to the
/// triangle.
#[test]
fn a_triangle_without_area_is_touched_along_its_edges() {
    let points = [[-1.656_25; 3], [0.0; 3], [1.0; 3]];
    let tree = TriangleTree::new(&points, &[[0, 1, 2]]).expect("a valid mesh");
    let rotation = [1e-37, 8.906_25e-8, -7.031_25e-8, 1.0];
    assert!(tree.overlaps(&Shape::Box { center: [1.0; 3], rotation, half_extents: [1.0; 3] }));
    let mut random = Random(47);
    for try_ in 0..tries(20_000) {
        let (from, way) = (random.vector::<3>(1.0), random.vector::<3>(1.0));
        let at = |t: f32| core::array::from_fn(|k| from[k] + t * way[k]);
        let part = random.range(0.1, 0.9);
        let tree = TriangleTree::new(&[at(0.0), at(1.0), at(part)], &[[0, 1, 2]]).expect("a valid mesh");
        // A box around a point of the line.
        let shape = Shape::Box { center: at(part), rotation: random.unit(), half_extents: [0.01; 3] };
        assert!(tree.overlaps(&shape), "{try_}: {shape:?}");
    }
}
