//! Shapes fitted to vertices.

use std::vec;

use super::*;
use condyle::mesh::{Influences, Skin, SkinnedMesh, Vertices};

pub(super) fn cloud(
    random: &mut Random,
    count: usize,
    each: impl Fn(&mut Random) -> [f32; 3],
) -> (SkinnedMesh, Skin) {
    let positions = (0..count).map(|_| each(random)).collect();
    let vertices = Vertices { positions, ..Vertices::default() };
    let mesh = SkinnedMesh::new(vertices, Influences::rigid(count as u32), vec![], vec![]).expect("a mesh");
    let bind = Affine::from(Transform { scale: [1.0; 3], ..random.transform() });
    (mesh, Skin::new(vec![0], vec![bind]).expect("equal lengths"))
}

#[test]
fn fitted_shapes_are_of_the_kind_that_vertices_are_and_hold_them() {
    let mut random = Random(205);
    let on_sphere = |random: &mut Random| random.unit::<3>();
    let on_capsule = |random: &mut Random| {
        let [x, y, z]: [f32; 3] = random.unit();
        [0.2 * x, 0.2 * y + random.range(-1.0, 1.0), 0.2 * z]
    };
    let in_box = |random: &mut Random| {
        let mut p: [f32; 3] = random.vector(1.0);
        p[random.below(3)] = [-1.0, 1.0][random.below(2)];
        [p[0], 0.7 * p[1], 0.5 * p[2]]
    };
    for round in 0..tries(9) {
        let (mesh, skin) = match round % 3 {
            0 => cloud(&mut random, 500, on_sphere),
            1 => cloud(&mut random, 500, on_capsule),
            _ => cloud(&mut random, 500, in_box),
        };
        let hitboxes = fit([(&mesh, &skin)], &Fit::default()).expect("valid numbers");
        let [Hitbox { joint: 0, shape }] = hitboxes.as_slice() else { panic!("{hitboxes:?}") };
        for &p in &mesh.vertices().positions {
            let local = skin.inverse_bind()[0].transform_point(p).map(f64::from);
            assert!(outside(shape, local) < 1e-6, "{shape:?} {local:?}");
        }
        match (round % 3, shape) {
            (0, Shape::Sphere { radius, .. }) => assert!(*radius < 1.01),
            (1, Shape::Capsule { radius, .. }) => assert!(*radius < 0.22, "{radius}"),
            (2, Shape::Box { half_extents: [x, y, z], .. }) => assert!(x * y * z < 0.35 * 1.05, "{shape:?}"),
            other => panic!("{other:?}"),
        }
        // With a lower coverage, the shape still holds the required number of vertices.
        let tight = fit([(&mesh, &skin)], &Fit { coverage: 0.8, ..Fit::default() }).expect("valid numbers");
        let within = mesh.vertices().positions.iter().filter(|&&p| {
            let local = skin.inverse_bind()[0].transform_point(p).map(f64::from);
            outside(&tight.as_slice()[0].shape, local) < 1e-6
        });
        assert!(within.count() >= 400);
    }
}

/// Tests that `coverage` counts as a decimal fraction, in spite of f32 rounding: 0.95 of 20 vertices is 19.
#[test]
fn as_many_vertices_are_covered_as_are_asked_for() {
    let mut random = Random(208);
    let (mesh, skin) = cloud(&mut random, 20, |random| random.vector(1.0));
    for hundredths in 0..=100 {
        let fit = fit([(&mesh, &skin)], &Fit { coverage: hundredths as f32 / 100.0, ..Fit::default() });
        let shape = fit.expect("valid numbers").as_slice()[0].shape;
        let within =
            mesh.vertices().positions.iter().filter(|&&p| {
                outside(&shape, skin.inverse_bind()[0].transform_point(p).map(f64::from)) < 1e-6
            });
        assert!(within.count() * 100 >= 20 * hundredths, "{hundredths} of 100");
    }
}

/// Flat and thin parts have no volume, whichever shape encloses them.
#[test]
fn flat_and_thin_parts_get_flat_and_thin_shapes() {
    let mut random = Random(209);
    for size in [1.0, 1e-3, 1e3] {
        for _ in 0..tries(20) {
            // A sheet twice as long as wide, arbitrarily rotated.
            let (mesh, skin) = cloud(&mut random, 60, |random| {
                [size * random.range(-1.0, 1.0), size * random.range(-0.5, 0.5), 0.0]
            });
            let fitted = fit([(&mesh, &skin)], &Fit::default()).expect("valid numbers");
            let Shape::Box { half_extents, .. } = fitted.as_slice()[0].shape else { panic!("{fitted:?}") };
            let mut half = half_extents;
            half.sort_by(f32::total_cmp);
            let thin = 1e-4 * size + 1e-6;
            assert!(half[0] <= thin && half[1] * half[2] <= 0.65 * size * size + thin, "{half:?}");
            // A needle.
            let (mesh, skin) = cloud(&mut random, 30, |random| [0.0, size * random.range(-1.0, 1.0), 0.0]);
            let fitted = fit([(&mesh, &skin)], &Fit::default()).expect("valid numbers");
            match fitted.as_slice()[0].shape {
                Shape::Capsule { radius, .. } => assert!(radius <= thin, "{radius}"),
                // For a short needle, the f32 rounding error of a capsule's ends can exceed the width of a
                // box, so a box fits too.
                Shape::Box { half_extents: [x, y, z], .. } if size < 1.0 => {
                    assert!(x.max(y).min(x.max(z)).min(y.max(z)) <= thin, "{fitted:?}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn vertices_go_to_their_heaviest_joint_and_to_heavy_ones() {
    let influences = Influences::from_rows([
        vec![(0, 1.0)],
        vec![(0, 0.6), (1, 0.4)],
        vec![(0, 0.3), (1, 0.7)],
        vec![(4, 0.25), (3, 0.25), (2, 0.25), (1, 0.25)],
        vec![],
    ]);
    let positions = vec![[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [4.0, 0.0, 0.0]];
    let vertices = Vertices { positions, ..Vertices::default() };
    let mesh = SkinnedMesh::new(vertices, influences.expect("finite"), vec![], vec![]).expect("a mesh");
    let skin = Skin::new(vec![9, 3, 5, 6, 7], vec![Affine::IDENTITY; 5]).expect("equal lengths");
    let joints = |least_weight| {
        let fitted = fit([(&mesh, &skin)], &Fit { least_weight, ..Fit::default() }).expect("valid numbers");
        fitted.as_slice().iter().map(|it| it.joint).collect::<Vec<_>>()
    };
    // With four equal weights, the first joint is used.
    assert_eq!(joints(0.5), [3, 9]);
    assert_eq!(joints(0.25), [3, 5, 6, 7, 9]);
    let refused = fit([(&mesh, &skin)], &Fit { coverage: 1.5, ..Fit::default() });
    assert!(matches!(refused, Err(Error::OutOfRange { what: "coverage", .. })), "{refused:?}");
    let few = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("equal lengths");
    assert!(matches!(fit([(&mesh, &few)], &Fit::default()), Err(Error::TooShort { .. })));
    let far = Skin::new(vec![0; 5], vec![Affine { rows: [[3e38; 4]; 3] }; 5]).expect("finite");
    assert!(matches!(fit([(&mesh, &far)], &Fit::default()), Err(Error::OutOfRange { .. })));
    assert_eq!(fit([], &Fit::default()), Ok(Hitboxes::default()));
}
