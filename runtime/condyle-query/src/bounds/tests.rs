//! Comparison with the skinned vertices.

use std::vec::Vec;
use std::{format, vec};

use super::*;
use condyle::mesh::{Influences, MorphDeltas, MorphTarget, Skin, SkinnedMesh, Vertices};
use condyle::skinning::{NormalRule, Palette, morph, palette, skin};
use condyle_base::math::Transform;
use condyle_base::simd::Dispatch;
use condyle_testing::{Random, assert_portable, cases, tries};

const JOINTS: usize = 21;

/// Kind of weights of the test mesh.
#[derive(Debug, Clone, Copy)]
enum Weighted {
    One,
    /// The sums are from 0 to 2; some vertices have no influences.
    Any,
    /// Some weights are negative.
    Negative,
}

fn mesh(random: &mut Random, vertices: usize, weighted: Weighted) -> SkinnedMesh {
    let row = |vertex: usize| {
        let count = if matches!(weighted, Weighted::Any) { vertex % 6 } else { 1 + vertex % 6 };
        let mut row: Vec<(u16, f32)> =
            (0..count).map(|_| (random.below(JOINTS - 1) as u16, random.range(0.01, 1.0))).collect();
        let wanted = if matches!(weighted, Weighted::Any) { 2.0 * random.range(0.0, 1.0) } else { 1.0 };
        let sum: f32 = row.iter().map(|p| p.1).sum();
        row.iter_mut().for_each(|p| p.1 *= wanted / sum);
        if let (Weighted::Negative, [first, .., last]) = (weighted, &mut row[..]) {
            (first.1, last.1) = (first.1 + last.1 + 0.2, -0.2);
        }
        row
    };
    let influences = Influences::from_rows((0..vertices).map(row)).expect("finite");
    let positions: Vec<[f32; 3]> = (0..vertices).map(|_| random.vector(1.0)).collect();
    let target = |positions: Vec<[f32; 3]>| {
        let deltas = MorphDeltas { positions: &positions, ..MorphDeltas::default() };
        MorphTarget::from_dense(vertices, deltas).expect("finite")
    };
    let targets = (0..3).map(|_| target((0..vertices).map(|_| random.vector(0.5)).collect())).collect();
    SkinnedMesh::new(Vertices { positions, ..Vertices::default() }, influences, vec![], targets)
        .expect("a mesh")
}

/// Mesh with one joint per vertex.
fn rigid(positions: Vec<[f32; 3]>, joints: usize) -> SkinnedMesh {
    let rows = (0..positions.len()).map(|v| [((v % joints) as u16, 1.0)]);
    let influences = Influences::from_rows(rows).expect("finite");
    SkinnedMesh::new(Vertices { positions, ..Vertices::default() }, influences, vec![], vec![])
        .expect("a mesh")
}

fn scaled(mesh: &SkinnedMesh, by: f32) -> SkinnedMesh {
    let mut vertices = mesh.vertices().clone();
    vertices.positions.as_flattened_mut().iter_mut().for_each(|v| *v *= by);
    SkinnedMesh::new(vertices, mesh.influences().clone(), vec![], vec![]).expect("a mesh")
}

/// Arbitrary transforms: near and far from the origin, mirrored, flat and non-uniformly scaled.
fn model(random: &mut Random, round: usize) -> Vec<Affine> {
    let far = [0.0, 1000.0, -3e5][round % 3];
    let matrix = |joint: usize| {
        let mut t = random.transform();
        t.translation = t.translation.map(|v| v + far);
        match joint % 5 {
            0 => t.scale = [1.0; 3],
            1 => t.scale = [0.01, -3.0, 100.0],
            2 => t.scale[1] = 0.0,
            _ => {}
        }
        Affine::from(t)
    };
    (0..JOINTS).map(matrix).collect()
}

fn posed_positions(
    mesh: &SkinnedMesh,
    bound: &Skin,
    model: &[Affine],
    weights: &[f32],
    most: u32,
) -> Vec<[f32; 3]> {
    let mut matrices = Palette::default();
    palette(bound, model, NormalRule::Plain, &mut matrices).expect("sizes agree");
    let mut bind = mesh.vertices().clone();
    morph(mesh, weights, bind.as_slices_mut()).expect("sizes agree");
    let mut out = bind.clone();
    skin(mesh.influences().at_most(most), &matrices, bind.as_slices(), out.as_slices_mut())
        .expect("sizes agree");
    out.positions
}

/// Each combination of mode and instruction set for the bound and for skinning.
#[test]
fn no_vertex_is_outside_of_the_box_or_the_sphere() {
    let mut random = Random(150);
    let dispatches: Vec<_> = Dispatch::all().collect();
    for round in 0..tries(60) {
        let weighted = [Weighted::One, Weighted::Any, Weighted::Negative][round / 3 % 3];
        let count = [0, 1, 9, 100][round % 4];
        let mesh = mesh(&mut random, count, weighted);
        let bound = random.skin(JOINTS);
        let ranges = [[0.0, 1.0], [-0.5, 0.25]];
        let shape = JointBounds::morphed(&mesh, &bound, &ranges).expect("valid numbers");
        let model = model(&mut random, round);
        let weights = [random.range(0.0, 1.0), random.range(-0.5, 0.25), 0.0];
        let caps: &[u32] =
            if matches!(weighted, Weighted::Negative) { &[u32::MAX] } else { &[u32::MAX, 1, 2] };
        for (at, dispatch) in dispatches.iter().enumerate() {
            let other = dispatches[(at + round) % dispatches.len()];
            let found = dispatch.scope(|| posed(&shape, &model)).expect("sizes agree");
            let sphere = dispatch.scope(|| posed_sphere(&shape, &model)).expect("sizes agree");
            for &most in caps {
                let case = format!("{dispatch} around {other}, round {round}, {weighted:?}, at most {most}");
                let points = other.scope(|| posed_positions(&mesh, &bound, &model, &weights, most));
                let exact = of(&points);
                assert!(found.encloses(&exact) || points.is_empty(), "{case}: {found:?} {exact:?}");
                assert!(points.iter().all(|&p| sphere.contains(p)), "{case}: {sphere:?} {exact:?}");
            }
        }
    }
}

/// Random number within `count` powers of two, starting at `2^low`.
fn power(random: &mut Random, low: i32, count: usize) -> f32 {
    let exponent = low + random.below(count) as i32;
    f32::from_bits(((exponent + 127) as u32) << 23) * random.range(1.0, 2.0)
}

/// Squares of f32 underflow below 1e-22 and overflow above 1e19, and products lose digits below 1e-38.
#[test]
fn no_vertex_is_outside_however_small_or_large_all_is() {
    let mut random = Random(156);
    for round in 0..cases(300) {
        let size = power(&mut random, -126, 139);
        // A ball of one joint has more vertices than chosen points, so only the margin covers the others.
        let mesh = if round % 2 == 0 {
            mesh(&mut random, 40, Weighted::One)
        } else {
            rigid((0..200).map(|_| random.unit()).collect(), 1)
        };
        let mesh = scaled(&mesh, size);
        let bound = random.skin(JOINTS);
        let shape = JointBounds::new(&mesh, &bound).expect("valid numbers");
        let far = power(&mut random, -126, 180);
        let least = random.below(200) as i32 - 126;
        let matrix = |_| {
            let mut it = Affine::from(random.transform());
            let scale = power(&mut random, least, 12);
            for row in &mut it.rows {
                row[..3].iter_mut().for_each(|v| *v *= scale);
                row[3] *= far * (random.below(3) as f32);
            }
            it
        };
        let model: Vec<Affine> = (0..JOINTS).map(matrix).collect();
        for dispatch in Dispatch::all() {
            let case = format!("{dispatch}, round {round}, {size:e}, 2^{least}, {far:e}");
            let points = dispatch.scope(|| posed_positions(&mesh, &bound, &model, &[], u32::MAX));
            let exact = of(&points);
            let found = dispatch.scope(|| posed(&shape, &model)).expect("values far below the limit of f32");
            assert!(found.encloses(&exact), "{case}: {found:?} {exact:?}");
            let sphere =
                dispatch.scope(|| posed_sphere(&shape, &model)).expect("values far below the limit of f32");
            assert!(points.iter().all(|&p| sphere.contains(p)), "{case}: {sphere:?} {exact:?}");
        }
    }
}

/// The box is as wide as f32 allows, so that its width overflows.
#[test]
fn boxes_from_end_to_end_of_f32_are_answered() {
    let vertices = Vertices { positions: vec![[-2.0, 0.0, 1.0], [2.0, 1.0, 0.0]], ..Vertices::default() };
    let mesh = SkinnedMesh::new(vertices, Influences::rigid(2), vec![], vec![]).expect("a mesh");
    let bound = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("equal lengths");
    let shape = JointBounds::new(&mesh, &bound).expect("valid numbers");
    let huge = Affine { rows: Affine::IDENTITY.rows.map(|row| row.map(|v| v * 1e38)) };
    for dispatch in Dispatch::all() {
        let found = dispatch.scope(|| posed(&shape, &[huge])).expect("values within the range of f32");
        assert!(found.min[0] <= -2e38 && found.max[0] >= 2e38, "{dispatch}: {found:?}");
    }
}

/// Each vertex has one joint, and each joint has fewer vertices than the maximum number of chosen points. The
/// box therefore exceeds the exact box only by rounding.
#[test]
fn rigid_parts_have_tight_boxes() {
    let mut random = Random(151);
    for round in 0..tries(30) {
        let mesh = rigid((0..60).map(|_| random.vector(1.0)).collect(), 6);
        let bound = random.skin(6);
        let shape = JointBounds::new(&mesh, &bound).expect("valid numbers");
        let model: Vec<_> = (0..6).map(|_| Affine::from(random.transform())).collect();
        let exact = of(&posed_positions(&mesh, &bound, &model, &[], u32::MAX));
        let found = posed(&shape, &model).expect("sizes agree");
        assert!(found.encloses(&exact));
        for c in 0..3 {
            let more = (exact.min[c] - found.min[c]).max(found.max[c] - exact.max[c]);
            assert!(more <= 1e-5, "round {round}: {found:?} {exact:?}");
        }
    }
}

#[test]
fn each_joint_has_a_box_and_a_sphere_around_what_it_moves() {
    let mut random = Random(152);
    let mesh = mesh(&mut random, 200, Weighted::One);
    let bound = random.skin(JOINTS);
    let shape = JointBounds::new(&mesh, &bound).expect("valid numbers");
    let model = model(&mut random, 0);
    for dispatch in Dispatch::all() {
        let mut boxes = vec![Aabb::EMPTY; shape.joints().len()];
        dispatch.scope(|| per_joint(&shape, &model, &mut boxes)).expect("sizes agree");
        for ((&joint, it), sphere) in shape.joints().iter().zip(&boxes).zip(shape.spheres()) {
            let name = bound.joints().iter().position(|&j| j == joint).expect("a joint of the skin");
            let mut count = 0;
            for vertex in 0..200 {
                if mesh.influences().row(vertex).any(|(own, _)| usize::from(own) == name) {
                    let local = bound.inverse_bind()[name].transform_point(mesh.vertices().positions[vertex]);
                    assert!(sphere.contains(local), "{dispatch}, joint {joint}");
                    assert!(
                        it.contains(model[usize::from(joint)].transform_point(local)),
                        "{dispatch}, joint {joint}"
                    );
                    count += 1;
                }
            }
            assert!(count > 0);
        }
    }
}

#[test]
fn what_is_not_finite_is_refused_by_its_joint() {
    let mut random = Random(154);
    let mesh = mesh(&mut random, 50, Weighted::One);
    let bound = random.skin(JOINTS);
    let shape = JointBounds::new(&mesh, &bound).expect("valid numbers");
    let good = model(&mut random, 0);
    for dispatch in Dispatch::all() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            for (r, c) in [(0, 0), (1, 3), (2, 2)] {
                let mut model = good.clone();
                model[7].rows[r][c] = bad;
                let refused = dispatch.scope(|| posed(&shape, &model));
                match refused {
                    Err(Error::NotFinite { what: "model", at }) => assert!(at == 7 || bad == f32::MAX),
                    Ok(found) => assert!(bad == f32::MAX && found.max.iter().all(|v| v.is_finite())),
                    _ => panic!("{refused:?}"),
                }
            }
        }
    }
    let refused = posed(&shape, &good[..JOINTS - 2]);
    assert!(matches!(refused, Err(Error::TooShort { what: "model", .. })), "{refused:?}");
    let refused = JointBounds::new(&mesh, &random.skin(3));
    assert!(matches!(refused, Err(Error::TooShort { what: "joints of the skin", .. })), "{refused:?}");
    let refused = JointBounds::morphed(&mesh, &bound, &[[0.0, f32::NAN]]);
    assert!(matches!(refused, Err(Error::NotFinite { what: "ranges", .. })), "{refused:?}");
    let far = Affine { rows: [[3e38; 4]; 3] };
    let refused =
        JointBounds::new(&mesh, &Skin::new(bound.joints().to_vec(), vec![far; JOINTS]).expect("finite"));
    assert!(matches!(refused, Err(Error::OutOfRange { .. })), "{refused:?}");
    // The matrix of a joint that moves no vertices is not checked.
    let unused = bound.joints().iter().find(|joint| !shape.joints().contains(joint));
    let mut model = good;
    model[usize::from(*unused.expect("the last one"))].rows[0][0] = f32::NAN;
    assert!(posed(&shape, &model).is_ok());
}

/// Thousands of vertices at one position have no extent and take no time.
#[test]
fn all_vertices_may_be_in_one_place() {
    let count = tries(20_000);
    let vertices = Vertices { positions: vec![[1.0, 2.0, 3.0]; count], ..Vertices::default() };
    let mesh = SkinnedMesh::new(vertices, Influences::rigid(count as u32), vec![], vec![]).expect("a mesh");
    let bound = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("equal lengths");
    let shape = JointBounds::new(&mesh, &bound).expect("valid numbers");
    let found = posed(&shape, &[Affine::from(Transform::IDENTITY)]).expect("sizes agree");
    assert!(found.contains([1.0, 2.0, 3.0]));
    assert!((0..3).all(|c| found.max[c] - found.min[c] < 1e-4));
}

#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0xa5ed_36ac_cdd2_805a, |hash| {
        let mut random = Random(155);
        for round in 0..20 {
            let weighted = [Weighted::One, Weighted::Any, Weighted::Negative][round % 3];
            let mesh = mesh(&mut random, 100, weighted);
            let shape = JointBounds::new(&mesh, &random.skin(JOINTS)).expect("valid numbers");
            let model = model(&mut random, 0);
            let found = posed(&shape, &model).expect("sizes agree");
            let sphere = posed_sphere(&shape, &model).expect("sizes agree");
            hash.add(found.min.iter().chain(&found.max).chain(&sphere.center).chain([&sphere.radius]));
            let mut boxes = vec![Aabb::EMPTY; shape.joints().len()];
            per_joint(&shape, &model, &mut boxes).expect("sizes agree");
            boxes.iter().for_each(|it| hash.add(it.min.iter().chain(&it.max)));
        }
    });
}
