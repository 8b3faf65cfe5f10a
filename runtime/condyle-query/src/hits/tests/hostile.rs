//! Adversarial meshes.

use core::ops::ControlFlow;
use std::vec::Vec;

use super::{ball, somewhere};
use crate::bounds::Aabb;
use crate::hits::{LIMIT, Ray, Shape, TriangleTree};
use condyle_base::error::Error;
use condyle_testing::{Random, tries};

/// Runs all queries, none of which may panic or loop forever. Returns the number of triangles that a huge box
/// touches.
fn ask_all(tree: &TriangleTree, random: &mut Random) -> usize {
    let (origin, direction) = (somewhere(random), random.unit());
    let ray = Ray { origin, direction, max: f32::INFINITY };
    assert_eq!(tree.first_hit(&ray).is_some(), tree.any_hit(&ray));
    let inside = tree.contains(origin);
    assert!(!inside || !tree.bounds().is_empty());
    assert_eq!(tree.closest_point(origin, f32::INFINITY).is_some(), tree.triangle_count() > 0);
    let mut touched = 0;
    let everything = Shape::Box { center: [0.0; 3], rotation: [0.0; 4], half_extents: [LIMIT; 3] };
    tree.overlapping(&everything, |_| {
        touched += 1;
        ControlFlow::Continue(())
    });
    touched
}

#[test]
fn meshes_of_any_kind_are_asked_in_bounded_time() {
    let mut random = Random(31);
    let count = tries(50_000);
    let strip: Vec<[u32; 3]> = (0..count as u32).map(|t| [t, t + 1, t + 2]).collect();
    // Each position is twice as far out as the one before, repeatedly, so that every split separates only
    // one.
    let mut powers = Vec::new();
    while powers.len() < count + 2 {
        let size = (0..powers.len() % 120).fold(1e-18_f32, |size, _| size * 2.0);
        powers.push([size, 0.0, -size]);
    }
    let along = (0..count + 2).map(|v| [v as f32, 0.0, 0.0]).collect();
    let same = std::vec![[0.5, 0.25, 0.125]; count + 2];
    let largest = (0..count + 2).map(|_| random.vector::<3>(1.0).map(|v| v * LIMIT)).collect();
    let smallest = (0..count + 2).map(|_| random.vector::<3>(1.0).map(|v| v * 1e-38)).collect();
    for positions in [powers, along, same, largest, smallest, Vec::from([[0.0; 3]; 2])] {
        let triangles = if positions.len() == 2 { &[][..] } else { &strip };
        let mut tree = TriangleTree::new(&positions, triangles).expect("a valid mesh");
        assert_eq!(ask_all(&tree, &mut random), triangles.len());
        // Now all vertices are at one point.
        tree.refit(&std::vec![[1.0; 3]; positions.len()]).expect("one position per vertex");
        assert_eq!(ask_all(&tree, &mut random), triangles.len());
    }
}

/// No split is better than another, and all triangles are equally near.
#[test]
fn many_triangles_in_one_point_are_a_tree_like_any_other() {
    let count = tries(200_000);
    let at = [0.5, -0.25, 2.0];
    let triangles: Vec<[u32; 3]> = (0..count as u32).map(|t| [t, t + 1, t + 2]).collect();
    let mut tree = TriangleTree::new(&std::vec![at; count + 2], &triangles).expect("a valid mesh");
    // The tree is as deep as for separate triangles: each level has an eighth of the one above, with up to
    // eight per leaf.
    assert!(tree.nodes.len() < count / 16 && tree.leaves.len() <= count / 4);
    let mut random = Random(33);
    for _ in 0..2 {
        let nearest = tree.closest_point([0.5, -0.25, 5.0], f32::INFINITY).expect("there are triangles");
        assert_eq!((nearest.triangle, nearest.position, nearest.distance), (0, at, 3.0));
        let through = Ray { origin: [0.0; 3], direction: at, max: f32::INFINITY };
        assert!(!tree.any_hit(&through), "triangles without area");
        assert_eq!(ask_all(&tree, &mut random), count);
        tree.refit(&std::vec![at; count + 2]).expect("one position per vertex");
    }
}

#[test]
fn what_is_no_number_is_refused_and_the_tree_stays() {
    let mut random = Random(32);
    let mesh = ball(&mut random, 6, 8);
    let mut tree = mesh.tree();
    let ask = |tree: &TriangleTree| tree.closest_point([3.0, 0.0, 0.0], 9.0);
    let before = ask(&tree);
    for at in [0, 7, mesh.posed.len() - 1] {
        for (value, is_number) in
            [(f32::NAN, false), (f32::INFINITY, false), (-f32::MAX, true), (2.0 * LIMIT, true)]
        {
            let mut posed = mesh.bind.clone();
            posed[at][at % 3] = value;
            let refused = tree.refit(&posed).expect_err("positions out of range");
            if is_number {
                assert!(
                    matches!(refused, Error::OutOfRange { what: "positions", at: found, .. } if found == at)
                );
            } else {
                assert_eq!(refused, Error::NotFinite { what: "positions", at });
            }
            assert_eq!(TriangleTree::new(&posed, &mesh.triangles).err(), Some(refused));
            assert_eq!(ask(&tree), before);
        }
    }
    let refused = tree.refit(&mesh.posed[1..]).expect_err("a missing position");
    assert!(matches!(refused, Error::Length { what: "positions", .. }));
    let count = mesh.bind.len();
    let refused = TriangleTree::new(&mesh.bind, &[[0, 1, 2], [3, 1, count as u32]]).err();
    assert_eq!(refused, Some(Error::Index { what: "triangles", at: 1, found: count, count }));
}

#[test]
fn vertices_of_no_triangle_may_be_anywhere() {
    let mut points = std::vec![[f32::NAN; 3], [0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [f32::INFINITY; 3]];
    let mut tree = TriangleTree::new(&points, &[[1, 2, 3]]).expect("unused positions are not checked");
    points[1] = [0.0, 0.0, 1.0];
    tree.refit(&points).expect("unused positions are not checked");
    assert_eq!(tree.bounds(), Aabb { min: [0.0; 3], max: [1.0; 3] });
}
