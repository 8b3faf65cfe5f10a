use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

use super::*;
use condyle::mesh::{Influences, MorphDeltas, MorphTarget, Skin, Vertices};
use condyle::skinning::{NormalRule, Palette, palette, skin};
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::math::scalar::{atan2_f64, sqrt_f64};
use condyle_base::simd::Dispatch;
use condyle_testing::{Random, assert_close, assert_portable, tries};

/// Ball made of the six sides of a cube, `n` by `n` squares each. Sides do not share vertices. Four joints
/// move it.
fn ball(n: u32) -> SkinnedMesh {
    let (mut vertices, mut rows, mut indices) = (Vertices::default(), vec![], vec![]);
    for side in 0..6 {
        let first = vertices.positions.len() as u32;
        for (i, j) in (0..=n).flat_map(|i| (0..=n).map(move |j| (i, j))) {
            let [u, v] = [i, j].map(|at| 2.0 * at as f32 / n as f32 - 1.0);
            let (axis, w) = (side % 3, if side < 3 { 1.0 } else { -1.0 });
            let mut at = [0.0; 3];
            (at[axis], at[(axis + 1) % 3], at[(axis + 2) % 3]) = (w, u, v);
            // The terms have the same order for every side, so that its neighbour has the same bits.
            let size = (at[0] * at[0] + at[1] * at[1] + at[2] * at[2]).sqrt();
            let at = at.map(|c| c / size);
            rows.push([0.5 + 0.5 * at[0], 0.5 - 0.5 * at[0], 0.5 + 0.5 * at[1], 0.5 - 0.5 * at[1]]);
            vertices.normals.push(at);
            vertices.positions.push(at);
        }
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let at = |i, j| first + i * (n + 1) + j;
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            indices.extend(if side < 3 { [a, b, c, a, c, d] } else { [a, c, b, a, d, c] });
        }
    }
    let rows = rows.iter().map(|row| row.iter().zip(0..).map(|(weight, joint)| (joint, weight / 2.0)));
    let influences = Influences::from_rows(rows).expect("finite weights");
    SkinnedMesh::new(vertices, influences, indices, vec![]).expect("a valid mesh")
}

/// Positions posed by four random joint transforms.
fn posed(mesh: &SkinnedMesh, random: &mut Random) -> Vec<[f32; 3]> {
    let bound = Skin::new(vec![0, 1, 2, 3], vec![Affine::IDENTITY; 4]).expect("equal lengths");
    let model: Vec<Affine> = (0..4).map(|_| random.transform().into()).collect();
    let (mut matrices, mut out) = (Palette::default(), Vertices::zeroed_like(mesh.vertices()));
    palette(&bound, &model, NormalRule::Plain, &mut matrices).expect("sizes agree");
    skin(mesh.influences(), &matrices, mesh.vertices().as_slices(), out.as_slices_mut())
        .expect("sizes agree");
    out.positions
}

fn viewpoint(random: &mut Random) -> Viewpoint {
    if random.below(2) == 0 {
        Viewpoint::Place(random.vector(3.0))
    } else {
        Viewpoint::Direction(random.unit())
    }
}

fn outline(surface: &Surface, positions: &[[f32; 3]], from: Viewpoint) -> Silhouette {
    let mut out = Silhouette::default();
    silhouette(surface, positions, from, &mut out).expect("sizes agree");
    out
}

fn shade(surface: &Surface, positions: &[[f32; 3]], from: Viewpoint, far: Option<f32>) -> ShadowVolume {
    let mut out = ShadowVolume::default();
    shadow_volume(surface, positions, from, &outline(surface, positions, from), far, &mut out)
        .expect("sizes agree");
    out
}

/// Returns the edges that triangles do not traverse equally often in both directions. The number is positive
/// if traversals from the lower to the higher vertex prevail.
fn unbalanced(triangles: &[u32]) -> Vec<([u32; 2], i32)> {
    let mut balance = BTreeMap::new();
    for &[a, b, c] in triangles.as_chunks::<3>().0 {
        for [from, to] in [[a, b], [b, c], [c, a]] {
            *balance.entry([from.min(to), from.max(to)]).or_insert(0) += if from < to { 1 } else { -1 };
        }
    }
    balance.into_iter().filter(|(_, more)| *more != 0).collect()
}

fn wide(v: [f32; 3]) -> [f64; 3] {
    v.map(f64::from)
}

fn cross([a, b, c]: [f64; 3], [x, y, z]: [f64; 3]) -> [f64; 3] {
    [b * z - c * y, c * x - a * z, a * y - b * x]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[test]
fn a_closed_mesh_is_known_to_be() {
    for n in [1, 2, 7, 12] {
        let mesh = ball(n);
        let surface = Surface::new(&mesh);
        assert!(surface.is_closed(), "{n}: {:?}", surface.open_edges().collect::<Vec<_>>());
        assert_eq!(surface.triangle_count(), mesh.indices().len() / 3);
        assert_eq!(2 * surface.edge_count(), 3 * surface.triangle_count());
        let mut places = surface.triangles().flatten().collect::<Vec<_>>();
        places.sort_unstable();
        places.dedup();
        // Euler's formula.
        assert_eq!(places.len() + surface.triangle_count(), surface.edge_count() + 2);
    }
}

/// Silhouettes are loops in every pose, and each edge of the shadow occurs twice.
#[test]
fn silhouettes_are_loops_and_shadows_are_watertight() {
    let (mesh, mut random) = (ball(6), Random(15));
    let surface = Surface::new(&mesh);
    let mut longest = 0;
    for case in 0..tries(1000) {
        let (positions, from) = (posed(&mesh, &mut random), viewpoint(&mut random));
        let lit = outline(&surface, &positions, from);
        let mut balance = vec![0; positions.len()];
        for [from, to] in lit.edges() {
            balance[*from as usize] += 1;
            balance[*to as usize] -= 1;
        }
        assert!(balance.iter().all(|it| *it == 0), "case {case}");
        longest = longest.max(lit.edges().len());
        let far = [None, Some(2.0)][case % 2];
        let shadow = shade(&surface, &positions, from, far);
        assert_eq!(unbalanced(&shadow.indices), [], "case {case}");
        assert_eq!(shadow.indices.len(), 6 * (lit.facing_count() + lit.edges().len()));
    }
    assert!(longest > 24, "{longest}");
}

#[test]
fn a_triangle_faces_what_is_before_it() {
    let (mesh, mut random) = (ball(9), Random(16));
    let surface = Surface::new(&mesh);
    for dispatch in Dispatch::all() {
        for case in 0..tries(40) {
            let (positions, from) = (posed(&mesh, &mut random), viewpoint(&mut random));
            let lit = dispatch.scope(|| outline(&surface, &positions, from));
            for (patch, groups) in surface.groups().enumerate() {
                for triangle in 0..8 * groups.len() {
                    let corners = groups[triangle / 8].map(|slot| slot[triangle % 8]);
                    let [a, b, c] = corners.map(|vertex| wide(positions[vertex as usize]));
                    let normal = cross(sub(b, a), sub(c, a));
                    let way = match from {
                        Viewpoint::Place(place) => sub(wide(place), a),
                        Viewpoint::Direction(direction) => wide(direction),
                    };
                    let along = dot(normal, way);
                    // A triangle seen edge-on may be rounded to either side.
                    if along.abs() > 1e-6 * sqrt_f64(dot(way, way)) {
                        let faces = lit.facing(patch) >> triangle & 1 == 1;
                        assert_eq!(faces, along > 0.0, "{dispatch}, case {case}: {along}");
                    }
                }
            }
        }
    }
}

/// Compares the edges within and between patches with the edges of the individual triangles.
#[test]
fn edges_are_found_wherever_they_are() {
    let (mesh, mut random) = (ball(10), Random(17));
    let surface = Surface::new(&mesh);
    assert!(surface.patches.len() > 10 && surface.outer.len() < surface.inner.len());
    let (positions, from) = (posed(&mesh, &mut random), viewpoint(&mut random));
    let lit = outline(&surface, &positions, from);
    let facing: Vec<u32> = {
        let seats = surface.groups().enumerate().flat_map(|(patch, groups)| {
            (0..8 * groups.len()).map(move |at| (patch, at, groups[at / 8].map(|slot| slot[at % 8])))
        });
        let seen = seats.filter(|(patch, at, _)| lit.facing(*patch) >> at & 1 == 1);
        seen.flat_map(|(.., corners)| corners.map(|vertex| surface.places[vertex as usize])).collect()
    };
    let mut got: Vec<_> =
        lit.edges().iter().map(|&[a, b]| ([a.min(b), a.max(b)], if a < b { 1 } else { -1 })).collect();
    got.sort_unstable();
    assert_eq!(got, unbalanced(&facing));
}

#[test]
fn an_open_mesh_says_where() {
    let whole = ball(4);
    let indices = whole.indices()[6..].to_vec();
    let mesh = SkinnedMesh::new(whole.vertices().clone(), whole.influences().clone(), indices, vec![])
        .expect("valid");
    let (surface, mut random) = (Surface::new(&mesh), Random(18));
    let border: Vec<_> = surface.open_edges().collect();
    assert!(!surface.is_closed() && border.len() == 4, "{border:?}");
    for case in 0..tries(100) {
        let (positions, from) = (posed(&mesh, &mut random), viewpoint(&mut random));
        assert_eq!(unbalanced(&shade(&surface, &positions, from, None).indices), [], "case {case}");
    }
}

/// Three and four triangles along one edge, a duplicate triangle, a reversed triangle, and vertices that
/// coincide only in the bind pose.
#[test]
fn meshes_that_are_no_surface_are_taken_as_they_are() {
    let positions =
        vec![[0.0; 3], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]];
    let of = |indices: &[u32], influences| {
        let bind = Vertices { positions: positions.clone(), ..Vertices::default() };
        Surface::new(&SkinnedMesh::new(bind, influences, indices.to_vec(), vec![]).expect("valid"))
    };
    let fins = [0, 1, 2, 1, 0, 3, 0, 1, 4, 1, 0, 5];
    for (indices, open) in
        [(&fins[..9], 7), (&fins[..], 8), (&[0, 1, 2, 0, 1, 2], 6), (&[0, 1, 2, 2, 1, 0], 0)]
    {
        let surface = of(indices, Influences::rigid(6));
        assert_eq!(surface.open_edges().count(), open, "{indices:?}");
        for z in [-2.0, 2.0] {
            let from = Viewpoint::Place([0.3, 0.4, z]);
            assert_eq!(unbalanced(&shade(&surface, &positions, from, Some(1.0)).indices), [], "{indices:?}");
        }
    }

    let twice: Vec<_> = positions.iter().chain(&positions).copied().collect();
    let along = |joints: &[u16], lift: f32| {
        let influences = Influences::from_rows(joints.iter().map(|&joint| [(joint, 1.0)])).expect("finite");
        let bind = Vertices { positions: twice.clone(), ..Vertices::default() };
        let mut moved = vec![[0.0; 3]; 12];
        moved[6] = [0.0, lift, 0.0];
        let deltas = MorphDeltas { positions: &moved, ..MorphDeltas::default() };
        let target = MorphTarget::from_dense(12, deltas).expect("finite");
        // The second triangle is a neighbour of the first, but has separate vertices.
        let mesh = SkinnedMesh::new(bind, influences, vec![0, 1, 2, 7, 6, 3], vec![target]).expect("valid");
        Surface::new(&mesh).open_edges().count()
    };
    assert_eq!(along(&[0; 12], 0.0), 4);
    assert_eq!(along(&[0; 12], 1.0), 6, "morphed apart");
    assert_eq!(along(&[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], 0.0), 6, "on another joint");
}

#[test]
fn nothing_and_what_is_no_number_are_no_trouble() {
    let from = Viewpoint::Direction([0.0, 1.0, 0.0]);
    let mesh = |positions: Vec<[f32; 3]>, indices| {
        let influences = Influences::rigid(positions.len() as u32);
        SkinnedMesh::new(Vertices { positions, ..Vertices::default() }, influences, indices, vec![])
            .expect("valid")
    };
    let empty = Surface::new(&mesh(vec![], vec![]));
    assert!(empty.is_closed() && shade(&empty, &[], from, None).indices.is_empty());
    assert_eq!((area(&empty, &[]), volume(&empty, &[])), (Ok(0.0), Ok(0.0)));

    // All triangles at one point, then all along one edge.
    let count = tries(100_000) as u32;
    let point = Surface::new(&mesh(vec![[1.0; 3]; 3], (0..3 * count).map(|at| at % 3).collect()));
    assert_eq!((point.triangle_count(), point.edge_count()), (0, 0));
    let fan: Vec<_> = (0..count).map(|at| [at as f32, 1.0, 0.0]).chain([[0.0; 3], [0.0, 0.0, 1.0]]).collect();
    let fan = Surface::new(&mesh(fan.clone(), (0..count).flat_map(|at| [count, count + 1, at]).collect()));
    assert_eq!((fan.triangle_count(), fan.edge_count()), (count as usize, 3 * count as usize));

    let ball = ball(3);
    let surface = Surface::new(&ball);
    let mut positions = posed(&ball, &mut Random(3));
    for (at, what) in [(3, f32::NAN), (17, f32::INFINITY), (40, 1e30)] {
        let place = positions[at];
        positions.iter_mut().filter(|v| **v == place).for_each(|v| *v = [what; 3]);
    }
    assert_eq!(unbalanced(&shade(&surface, &positions, from, Some(1.0)).indices), []);
    let mut around = vec![[0.0; 3]; positions.len()];
    for dispatch in Dispatch::all() {
        dispatch.scope(|| normals(&surface, &positions, &mut around)).expect("sizes agree");
        assert!(around.as_flattened().iter().all(|v| v.is_finite()), "{dispatch}");
        let sound = |corner: u32| positions[corner as usize].iter().all(|v| v.abs() < 1e20);
        for triangle in ball.indices().as_chunks::<3>().0.iter().filter(|it| it.iter().all(|at| sound(*at))) {
            let unit =
                |at: u32| (dot(wide(around[at as usize]), wide(around[at as usize])) - 1.0).abs() < 1e-6;
            assert!(triangle.iter().all(|at| unit(*at)), "{dispatch}: neighbours keep their normals");
        }
    }
}

#[test]
fn vertices_are_together_by_what_moves_them() {
    let square = |rows: [[(u16, f32); 2]; 2], shares: Vec<f32>| {
        let [a, b, c, d] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]];
        let bind = Vertices { positions: vec![a, b, c, b, c, d], ..Vertices::default() };
        let influences = Influences::from_rows([0, 0, 0, 1, 1, 1].map(|half| rows[half]))
            .and_then(|rows| rows.with_dual_shares(shares));
        let mesh = SkinnedMesh::new(bind, influences.expect("finite"), vec![0, 1, 2, 3, 5, 4], vec![]);
        Surface::new(&mesh.expect("valid")).edge_count()
    };
    let (rows, turned) = ([(3, 0.5), (7, 0.5)], [(7, 0.5), (3, 0.5)]);
    assert_eq!(square([rows, rows], vec![0.5; 6]), 5);
    assert_eq!(square([rows, turned], vec![0.5; 6]), 5, "the same influences in another order");
    assert_eq!(square([rows, rows], vec![0.5, 0.5, 0.5, 0.0, 0.0, 0.0]), 6, "skinned otherwise");
}

/// Definition in f64, for each triangle of the mesh.
fn formula(mesh: &SkinnedMesh, positions: &[[f32; 3]]) -> Vec<[f64; 3]> {
    let bind = mesh.vertices();
    let mut sums = vec![[0.0; 3]; positions.len()];
    for corners in mesh.indices().as_chunks::<3>().0 {
        for at in 0..3 {
            let [a, b, c] = [0, 1, 2].map(|k| wide(positions[corners[(at + k) % 3] as usize]));
            let (u, v) = (sub(b, a), sub(c, a));
            let normal = cross(u, v);
            let size = sqrt_f64(dot(normal, normal));
            let own = corners[at] as usize;
            for (vertex, sum) in sums.iter_mut().enumerate() {
                if bind.positions[vertex] == bind.positions[own] && bind.normals[vertex] == bind.normals[own]
                {
                    for c in 0..3 {
                        sum[c] += normal[c] / size * atan2_f64(size, dot(u, v));
                    }
                }
            }
        }
    }
    sums.iter().map(|sum| sum.map(|c| c / sqrt_f64(dot(*sum, *sum)))).collect()
}

#[test]
fn normals_are_the_sum_of_those_around() {
    let mesh = ball(5);
    let surface = Surface::new(&mesh);
    for case in 0..tries(20) {
        let positions = posed(&mesh, &mut Random(case as u64));
        let want = formula(&mesh, &positions);
        for dispatch in Dispatch::all() {
            let mut got = vec![[0.0; 3]; positions.len()];
            dispatch.scope(|| normals(&surface, &positions, &mut got)).expect("sizes agree");
            for (vertex, (got, want)) in got.iter().zip(&want).enumerate() {
                assert_close(got, want, 1e-5, format_args!("{dispatch}, case {case}, vertex {vertex}"));
            }
        }
    }
}

/// A box with separate normals on each of its six sides keeps them.
#[test]
fn hard_edges_stay_hard() {
    let ball = ball(1);
    let mut vertices = ball.vertices().clone();
    for (vertex, normal) in vertices.normals.iter_mut().enumerate() {
        let side = vertex / 4;
        *normal = [0.0; 3];
        normal[side % 3] = if side < 3 { 1.0 } else { -1.0 };
    }
    let bind = vertices.clone();
    let mesh =
        SkinnedMesh::new(vertices, Influences::rigid(24), ball.indices().to_vec(), vec![]).expect("valid");
    let mut got = vec![[0.0; 3]; 24];
    normals(&Surface::new(&mesh), &bind.positions, &mut got).expect("sizes agree");
    for (got, want) in got.iter().zip(&bind.normals) {
        assert_close(got, &wide(*want), 1e-6, "a side");
    }
}

#[test]
fn measures_are_those_of_bodies() {
    let mesh = ball(40);
    let (surface, positions) = (Surface::new(&mesh), &mesh.vertices().positions);
    let pi = core::f64::consts::PI;
    let (got, round) = (area(&surface, positions).expect("sizes agree"), 4.0 * pi);
    assert!(got < round && got > 0.998 * round, "{got}");
    let (got, round) = (volume(&surface, positions).expect("sizes agree"), 4.0 / 3.0 * pi);
    assert!(got < round && got > 0.998 * round, "{got}");
}

/// The two factors bound the stretch in every direction, and some directions reach them.
#[test]
fn stretch_is_the_most_and_the_least_of_all_directions() {
    let mut random = Random(8);
    for case in 0..tries(200) {
        let (bind, posed): ([[f32; 3]; 3], [[f32; 3]; 3]) = (
            [random.vector(1.0), random.vector(1.0), random.vector(1.0)],
            [random.vector(1.0), random.vector(1.0), random.vector(1.0)],
        );
        let [most, least] = stretch(&bind, &posed).map(f64::from);
        let along = |corners: [[f32; 3]; 3], x: f64, y: f64| {
            let [a, b, c] = corners.map(wide);
            let (u, v) = (sub(b, a), sub(c, a));
            let way = [0, 1, 2].map(|k| x * u[k] + y * v[k]);
            sqrt_f64(dot(way, way))
        };
        let mut found = [0.0_f64, f64::INFINITY];
        for step in 0..2000 {
            let (y, x) = condyle_base::math::scalar::sin_cos_f64(pi() * f64::from(step) / 2000.0);
            let factor = along(posed, x, y) / along(bind, x, y);
            found = [found[0].max(factor), found[1].min(factor)];
        }
        assert!(found[0] <= most * 1.000_001 && found[0] > 0.98 * most, "case {case}: {found:?}, {most}");
        assert!(
            found[1] >= least * 0.999_999 && found[1] - least < 0.02 * most,
            "case {case}: {found:?}, {least}"
        );
    }
    assert_eq!(stretch(&[[1.0; 3]; 3], &[[0.0; 3], [1.0; 3], [2.0; 3]]), [1.0; 2]);
}

fn pi() -> f64 {
    core::f64::consts::PI
}

#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0x8ae0_8495_1034_2c1f, |hash| {
        let (mesh, mut random) = (ball(8), Random(9));
        let surface = Surface::new(&mesh);
        for _ in 0..5 {
            let (positions, from) = (posed(&mesh, &mut random), viewpoint(&mut random));
            let lit = outline(&surface, &positions, from);
            hash.add(&lit.edges().as_flattened().iter().map(|&at| at as f32).collect::<Vec<_>>());
            let mut out = vec![[0.0; 3]; positions.len()];
            normals(&surface, &positions, &mut out).expect("sizes agree");
            hash.add(out.as_flattened());
            hash.add(shade(&surface, &positions, from, Some(3.0)).positions.as_flattened());
        }
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    let (mesh, other) = (ball(2), ball(6));
    let (surface, other) = (Surface::new(&mesh), Surface::new(&other));
    let positions = &mesh.vertices().positions;
    let up = Viewpoint::Direction([0.0, 1.0, 0.0]);
    let mut lit = Silhouette::default();
    let short = Error::Length { what: "positions", found: 3, needed: positions.len() };
    assert_eq!(silhouette(&surface, &positions[..3], up, &mut lit), Err(short.clone()));
    let nowhere = silhouette(&surface, positions, Viewpoint::Direction([0.0; 3]), &mut lit);
    assert_eq!(nowhere, Err(Error::NoDirection { what: "viewpoint" }));
    let nan = silhouette(&surface, positions, Viewpoint::Place([0.0, f32::NAN, 0.0]), &mut lit);
    assert_eq!(nan, Err(Error::NotFinite { what: "viewpoint", at: 1 }));

    silhouette(&other, &ball(6).vertices().positions, up, &mut lit).expect("sizes agree");
    let mut out = ShadowVolume::default();
    let found = other.patches.len();
    let refused = shadow_volume(&surface, positions, up, &lit, None, &mut out);
    assert_eq!(refused, Err(Error::Length { what: "silhouette", found, needed: surface.patches.len() }));
    silhouette(&surface, positions, up, &mut lit).expect("sizes agree");
    for far in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let refused = shadow_volume(&surface, positions, up, &lit, Some(far), &mut out);
        assert!(matches!(refused, Err(Error::OutOfRange { what: "far", .. })), "{far}");
    }
    assert!(out.indices.is_empty());
    assert_eq!(area(&surface, &positions[..3]), Err(short.clone()));
    assert_eq!(volume(&surface, &positions[..3]), Err(short.clone()));
    assert_eq!(normals(&surface, &positions[..3], &mut []), Err(short));
    let refused = normals(&surface, positions, &mut [[0.0; 3]; 2]);
    assert_eq!(refused, Err(Error::Length { what: "normals", found: 2, needed: positions.len() }));
}

/// The far ends are at the requested distance, away from the light.
#[test]
fn directions_may_be_of_any_length() {
    let surface = Surface::new(&ball(8));
    let positions = ball(8).vertices().positions.clone();
    let seen = |length: f32| {
        let from = Viewpoint::Direction([0.0, length, 0.0]);
        let lit = outline(&surface, &positions, from);
        (lit.edges().to_vec(), lit.facing_count(), shade(&surface, &positions, from, Some(1.0)).positions)
    };
    let (edges, facing, ends) = seen(1.0);
    for length in [f32::MIN_POSITIVE / 64.0, 1e-40, 1e-23, 2e19, f32::MAX] {
        let found = seen(length);
        assert!((&found.0, found.1) == (&edges, facing), "a length of {length:e}");
        for (found, end) in found.2.iter().zip(&ends) {
            assert_close(&found[..3], &end.map(f64::from)[..3], 1e-6, length);
        }
    }
}

#[test]
fn silhouettes_of_other_surfaces_are_refused() {
    let (small, large) = (ball(3), ball(8));
    let (of_small, of_large) = (Surface::new(&small), Surface::new(&large));
    let above = Viewpoint::Direction([0.0, 1.0, 0.0]);
    let lit = outline(&of_large, &large.vertices().positions, above);
    let mut out = ShadowVolume::default();
    let done = shadow_volume(&of_small, &small.vertices().positions, above, &lit, Some(1.0), &mut out);
    assert!(matches!(done, Err(Error::Length { .. })), "{done:?}");
    assert!(out.positions.is_empty());
}

#[test]
fn far_ends_lie_behind_what_they_shade() {
    let mesh = ball(2);
    let (surface, positions) = (Surface::new(&mesh), &mesh.vertices().positions);
    let lamp = [0.0, 5.0, 0.0];
    let shadow = shade(&surface, positions, Viewpoint::Place(lamp), Some(2.0));
    for (at, &[near, far]) in shadow.positions.as_chunks::<2>().0.iter().enumerate() {
        let (near, far) = (wide([near[0], near[1], near[2]]), wide([far[0], far[1], far[2]]));
        let (way, from) = (sub(far, near), sub(near, wide(lamp)));
        let length = sqrt_f64(dot(way, way));
        assert!((length - 2.0).abs() < 1e-6, "vertex {at}");
        assert!((dot(way, from) / length - sqrt_f64(dot(from, from))).abs() < 1e-5, "vertex {at}");
    }
    let infinite = shade(&surface, positions, Viewpoint::Direction([0.0, 2.0, 0.0]), None);
    assert!(infinite.positions.iter().skip(1).step_by(2).all(|far| *far == [-0.0, -2.0, -0.0, 0.0]));
}

#[test]
fn the_smallest_normals_are_made_unit_length_too() {
    for size in [1.0, 1e-14, 1e-16, 1e-20, 1e-30, 1e-38] {
        let found = super::normals::unit([size, -2.0 * size, 2.0 * size]);
        for (found, want) in found.into_iter().zip([1.0 / 3.0, -2.0 / 3.0, 2.0 / 3.0]) {
            assert!((found - want).abs() < 3e-7, "{size}: {found}, not {want}");
        }
    }
    assert_eq!(super::normals::unit([0.0; 3]), [0.0; 3]);
}

#[test]
fn the_least_factor_is_not_above_the_greatest_one() {
    let bind = [
        [1.65625, 3.351_427_4e30, -1.296_875],
        [0.421_875, -1.734_375, -0.203_125],
        [1.101_587e26, 0.406_25, 0.625],
    ];
    let posed = [bind[0], bind[2], [-0.843_75, -0.9375, -1e7]];
    let [most, least] = stretch(&bind, &posed);
    assert!(most >= least, "{most}, {least}");
}
