//! Skinned vertices, morph targets and palettes.

use condyle::mesh::MorphDeltas;
use condyle::mesh::{VertexSlices, VertexSlicesMut};
use condyle::skinning::WeightedBases;
use condyle::{
    Affine, Dispatch, Influences, MorphTarget, NormalRule, Palette, Skin, SkinnedMesh, Vertices, morph,
    palette, skin, skinning,
};
use condyle_testing::reference;
use reference::Matrix;

use super::{AFFINE, affine, start_affine, start_vector, unit, vector, worst};
use crate::climb::{Claim, Random};

/// `skin`, positions: error relative to the sum of the magnitudes of all terms, and error per influence.
const POSITION: [f64; 2] = [2.4e-7, 6e-8];
/// Same with only the heaviest influences: the error per influence counts all of them.
const AT_MOST: [f64; 2] = [3e-7, 6e-8];
/// `skin`, tangents, and normals by the blended matrix or blended inverse transposes. The first number is the
/// error times the ratio of the remaining length to the magnitudes of the terms. The second is the error per
/// influence.
const DIRECTION: [f64; 2] = [2.3e-7, 5e-8];
/// Normals by the inverse transpose of the blended matrix.
const COFACTORS: [f64; 2] = [2.8e-7, 5e-8];
/// Normals if scales that differ only by rounding count as equal.
const EVEN: f64 = 3.5e-5;
/// `skinning::positions`, as for `skin`.
const BASES: [f64; 2] = [2.4e-7, 6e-8];
/// `skinning::bitangents`.
const BITANGENT: f64 = 1.2e-7;
/// `morph`, for the vertex and per target.
const MORPH: f64 = 6e-8;
/// `palette`.
const PALETTE: f64 = 2.4e-7;

/// Values of an influence: weight and matrix.
const INFLUENCE: usize = 1 + AFFINE;
/// Values of a vertex: position, normal, tangent.
const VERTEX: usize = 9;

/// Fills in a vertex and its influences.
fn start(random: &mut Random, case: &mut [f32]) {
    let (vertex, influences) = case.split_at_mut(VERTEX);
    vertex.chunks_mut(3).for_each(|v| start_vector(random, v));
    for influence in influences.chunks_mut(INFLUENCE) {
        influence[0] = if random.below(2) == 0 { random.signed() } else { random.magnitude(-4.0) } as f32;
        start_affine(random, &mut influence[1..]);
    }
}

/// Requires values that f32 holds with full precision, also after multiplication.
fn repair(case: &mut [f32]) -> bool {
    let (vertex, influences) = case.split_at_mut(VERTEX);
    let plain = |v: &f32| *v == 0.0 || (1e-6..=1e6).contains(&v.abs());
    vertex[3..].chunks_mut(3).all(unit)
        && vertex[..3].iter().chain(&*influences).all(plain)
        && influences.chunks(INFLUENCE).all(|influence| influence[0] != 0.0)
}

/// Like [`repair`], with non-negative weights.
fn repair_positive(case: &mut [f32]) -> bool {
    case[VERTEX..].chunks_mut(INFLUENCE).for_each(|influence| influence[0] = influence[0].abs());
    repair(case)
}

/// Case in the library's types: one vertex, its influences, and the matrices of its joints.
struct Bound {
    mesh: SkinnedMesh,
    palette: Palette,
    matrices: Vec<Matrix>,
    row: Vec<(u16, f32)>,
}

impl Bound {
    fn new(case: &[f32], rule: NormalRule) -> Self {
        let (vertex, influences) = case.split_at(VERTEX);
        let [x, y, z] = vector(&vertex[6..]);
        let vertices = Vertices {
            positions: vec![vector(vertex)],
            normals: vec![vector(&vertex[3..])],
            tangents: vec![[x, y, z, 1.0]],
        };
        let row = (0..).zip(influences.chunks(INFLUENCE)).map(|(joint, influence)| (joint, influence[0]));
        let model: Vec<Affine> =
            influences.chunks(INFLUENCE).map(|influence| affine(&influence[1..])).collect();
        let influences = Influences::from_rows([row]).expect("finite weights");
        let joints = Skin::new((0..model.len() as u16).collect(), vec![Affine::IDENTITY; model.len()]);
        let mut matrices = Palette::default();
        palette(&joints.expect("one each"), &model, rule, &mut matrices).expect("a matrix each");
        Self {
            row: influences.row(0).collect(),
            matrices: model.iter().map(reference::matrix).collect(),
            palette: matrices,
            mesh: SkinnedMesh::new(vertices, influences, vec![], vec![]).expect("one vertex"),
        }
    }

    fn skinned(&self, count: u32) -> Vertices {
        let mut out = Vertices::zeroed_like(self.mesh.vertices());
        let bind: VertexSlices<'_> = self.mesh.vertices().as_slices();
        let posed: VertexSlicesMut<'_> = out.as_slices_mut();
        skin(self.mesh.influences().at_most(count), &self.palette, bind, posed).expect("one vertex");
        out
    }

    /// Sum of the magnitudes of the matrices, times the magnitudes of the weights.
    fn magnitudes(&self, matrices: &[Matrix]) -> Matrix {
        let magnitudes: Vec<Matrix> = matrices.iter().map(|m| m.map(|row| row.map(f64::abs))).collect();
        reference::blend_matrices(&magnitudes, self.row.iter().map(|&(joint, weight)| (joint, weight.abs())))
    }
}

fn magnitude(v: [f64; 3]) -> [f64; 3] {
    v.map(f64::abs)
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Largest error of a component relative to its magnitude.
fn part(got: [f32; 3], want: [f64; 3], whole: [f64; 3]) -> f64 {
    worst((0..3).map(|c| if whole[c] == 0.0 { 0.0 } else { (f64::from(got[c]) - want[c]).abs() / whole[c] }))
}

fn position(case: &[f32], bound: f64, count: u32) -> f64 {
    let mut it = Bound::new(case, NormalRule::Plain);
    let got = it.skinned(count).positions[0];
    it.row.truncate(count as usize);
    // Computed in f64, because `reference::at_most` rounds the remaining weights to f32.
    let sum = |row: &[(u16, f32)]| row.iter().map(|(_, weight)| f64::from(*weight)).sum::<f64>();
    let all: Vec<_> = it.mesh.influences().row(0).collect();
    let factor = if all.len() > it.row.len() { sum(&all) / sum(&it.row) } else { 1.0 };
    let p = it.mesh.vertices().positions[0].map(f64::from);
    let blended = reference::blend_matrices(&it.matrices, it.row.iter().copied());
    let want = reference::transform_point(&blended, p).map(|v| v * factor);
    let whole =
        reference::transform_point(&it.magnitudes(&it.matrices), magnitude(p)).map(|v| v * factor * bound);
    part(got, want, whole)
}

/// Error of a transformed direction. The bound grows with the ratio of the terms' magnitudes to the length of
/// their sum.
fn direction(m: &Matrix, magnitudes: &Matrix, v: [f32; 3], got: [f32; 3], bound: f64) -> f64 {
    let v = v.map(f64::from);
    let sum = reference::transform_vector(m, v);
    let whole = length(reference::transform_vector(magnitudes, magnitude(v)));
    let left = length(sum) / whole;
    // A sum that cancels up to rounding has no direction.
    if left < 1e-4 {
        return 0.0;
    }
    part(got, sum.map(|v| v / length(sum)), [bound / left; 3])
}

fn tangent(case: &[f32], bound: f64) -> f64 {
    let it = Bound::new(case, NormalRule::Plain);
    let [x, y, z, _] = it.skinned(u32::MAX).tangents[0];
    let blended = reference::blend_matrices(&it.matrices, it.row.iter().copied());
    direction(&blended, &it.magnitudes(&it.matrices), vector(&case[6..]), [x, y, z], bound)
}

fn normal(case: &[f32], rule: NormalRule, bound: f64) -> f64 {
    let it = Bound::new(case, rule);
    let got = it.skinned(u32::MAX).normals[0];
    let normal = vector(&case[3..]);
    match rule {
        NormalRule::InverseTranspose if it.palette.normal_matrices().is_empty() => 0.0,
        NormalRule::InverseTranspose => {
            let singular = |m: &Matrix| {
                let columns = [0, 1, 2].map(|c| length([m[0][c], m[1][c], m[2][c]]));
                reference::determinant(m).abs() < 1e-6 * columns.iter().product::<f64>()
            };
            if it.matrices.iter().any(singular) {
                return 0.0;
            }
            let own: Vec<Matrix> = it.matrices.iter().map(reference::inverse_transpose).collect();
            let blended = reference::blend_matrices(&own, it.row.iter().copied());
            direction(&blended, &it.magnitudes(&own), normal, got, bound)
        }
        NormalRule::BlendedInverseTranspose => {
            let blended = reference::blend_matrices(&it.matrices, it.row.iter().copied());
            let magnitudes = it.magnitudes(&it.matrices);
            let products = |r: usize, c: usize| {
                let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
                magnitudes[r1][c1] * magnitudes[r2][c2] + magnitudes[r1][c2] * magnitudes[r2][c1]
            };
            let whole: Matrix =
                std::array::from_fn(|r| std::array::from_fn(|c| if c < 3 { products(r, c) } else { 0.0 }));
            let determinant = reference::determinant(&blended);
            let most = (0..3).map(|c| magnitudes[0][c] * whole[0][c]).sum::<f64>();
            // A determinant that cancels up to rounding has no sign.
            if determinant.abs() < 1e-5 * most {
                return 0.0;
            }
            let cofactors = reference::cofactors(&blended).map(|row| row.map(|v| v * determinant.signum()));
            direction(&cofactors, &whole, normal, got, bound)
        }
        _ => {
            let blended = reference::blend_matrices(&it.matrices, it.row.iter().copied());
            direction(&blended, &it.magnitudes(&it.matrices), normal, got, bound)
        }
    }
}

/// Rotations with almost equal scales.
fn start_even(random: &mut Random, case: &mut [f32]) {
    start(random, case);
    let q: [f64; 4] = std::array::from_fn(|_| random.signed());
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let q = q.map(|v| v / length);
    let size = 10.0_f64.powf(2.0 * random.signed());
    let rows = [0, 1, 2].map(|c| {
        let mut axis = [0.0; 3];
        axis[c] = size;
        reference::rotate(q, axis)
    });
    for influence in case[VERTEX..].chunks_mut(INFLUENCE) {
        for (at, v) in influence[1..].iter_mut().enumerate() {
            let (r, c) = (at / 4, at % 4);
            *v = if c < 3 { rows[r][c] + 1e-5 * size * random.signed() } else { 0.0 } as f32;
        }
    }
}

/// If all scales count as equal, the kernel uses the plain matrix. The expected result uses the inverse
/// transpose.
fn even(case: &[f32]) -> f64 {
    let it = Bound::new(case, NormalRule::InverseTranspose);
    if !it.palette.normal_matrices().is_empty() {
        return 0.0;
    }
    let got = it.skinned(u32::MAX).normals[0];
    let normal = vector(&case[3..]).map(f64::from);
    let row = || it.row.iter().copied();
    let own: Vec<Matrix> = it.matrices.iter().map(reference::inverse_transpose).collect();
    let want = reference::transform_vector(&reference::blend_matrices(&own, row()), normal);
    let most: f64 = row()
        .map(|(joint, weight)| {
            f64::from(weight.abs()) * length(reference::transform_vector(&own[usize::from(joint)], normal))
        })
        .sum();
    let left = length(want) / most;
    if left < 1e-3 {
        return 0.0;
    }
    length(std::array::from_fn(|c| f64::from(got[c]) - want[c] / length(want))) * left / EVEN
}

/// Fills in a vertex, and for each influence also the inverse bind matrix.
fn start_bases(random: &mut Random, case: &mut [f32]) {
    start_vector(random, &mut case[..3]);
    for influence in case[3..].chunks_mut(INFLUENCE + AFFINE) {
        influence[0] = if random.below(2) == 0 { random.signed() } else { random.magnitude(-4.0) } as f32;
        start_affine(random, &mut influence[1..INFLUENCE]);
        start_affine(random, &mut influence[INFLUENCE..]);
    }
}

fn plain(case: &mut [f32]) -> bool {
    case.iter().all(|v| *v == 0.0 || (1e-6..=1e6).contains(&v.abs()))
}

fn bases(case: &[f32], bound: f64, kept: u32) -> f64 {
    let (position, influences) = case.split_at(3);
    let position = vector(position);
    let parts = || influences.chunks(INFLUENCE + AFFINE);
    let of = |joint: u16| &influences[usize::from(joint) * (INFLUENCE + AFFINE)..];
    let row = Influences::from_rows([(0..).zip(parts()).map(|(joint, influence)| (joint, influence[0]))]);
    let row = row.expect("finite weights");
    let count = parts().len();
    let bind = parts().map(|influence| affine(&influence[INFLUENCE..])).collect();
    let model: Vec<Affine> = parts().map(|influence| affine(&influence[1..])).collect();
    let joints = Skin::new((0..count as u16).collect(), bind).expect("one each");
    let bases = WeightedBases::new(&row, &joints, &[position]).expect("one vertex");
    let mut got = [[0.0; 3]];
    skinning::positions(bases.at_most(kept), &model, &mut got).expect("one vertex");
    let (mut want, mut whole) = ([0.0; 3], [0.0; 3]);
    let (all, row) = (|| row.row(0), || row.row(0).take(kept as usize));
    let sum =
        |row: &mut dyn Iterator<Item = (u16, f32)>| row.map(|(_, weight)| f64::from(weight)).sum::<f64>();
    let factor = if row().len() < all().len() { sum(&mut all()) / sum(&mut row()) } else { 1.0 };
    for (joint, weight) in row() {
        let (influence, model) = (of(joint), &model[usize::from(joint)]);
        let weight = f64::from(weight) * factor;
        let seen = reference::transform_point(
            &reference::matrix(&affine(&influence[INFLUENCE..])),
            position.map(f64::from),
        );
        let model = reference::matrix(model);
        let moved = reference::transform_point(&model, seen);
        let most = reference::transform_point(&model.map(|row| row.map(f64::abs)), magnitude(seen));
        for c in 0..3 {
            want[c] += weight * moved[c];
            whole[c] += weight.abs() * most[c] * bound;
        }
    }
    part(got[0], want, whole)
}

fn bitangent(case: &[f32]) -> f64 {
    let (normal, [x, y, z]) = (vector(case), vector(&case[3..]));
    let tangent = [x, y, z, if case[6] < 0.0 { -1.0 } else { 1.0 }];
    let mut got = [[0.0; 3]];
    skinning::bitangents(&[normal], &[tangent], &mut got).expect("one each");
    part(got[0], reference::bitangent(normal.map(f64::from), tangent.map(f64::from)), [BITANGENT; 3])
}

/// Error of morph targets. The case has a vertex, and the weight and delta of each target.
fn morphed(case: &[f32]) -> f64 {
    let (base, targets) = case.split_at(3);
    let vertices = Vertices { positions: vec![vector(base)], ..Vertices::default() };
    let weights: Vec<f32> = targets.chunks(4).map(|target| target[0]).collect();
    let count = weights.len();
    let targets: Vec<MorphTarget> = targets
        .chunks(4)
        .map(|target| {
            let positions = &[vector(&target[1..])];
            let deltas = MorphDeltas { positions, ..MorphDeltas::default() };
            MorphTarget::from_dense(1, deltas).expect("finite")
        })
        .collect();
    let mut whole = vector(base).map(|v| f64::from(v.abs()));
    for (target, weight) in targets.iter().zip(&weights) {
        for (whole, delta) in whole.iter_mut().zip(target.delta(0).position) {
            *whole += f64::from(delta.abs()) * f64::from(weight.abs());
        }
    }
    let mesh = SkinnedMesh::new(vertices, Influences::rigid(1), vec![], targets).expect("one vertex");
    let mut got = Vertices::zeroed_like(mesh.vertices());
    morph(&mesh, &weights, got.as_slices_mut()).expect("a weight each");
    let [want, ..] = reference::morph(&mesh, &weights);
    part(got.positions[0], want[0], whole.map(|v| v * MORPH * (1 + count) as f64))
}

fn product(case: &[f32]) -> f64 {
    let (model, bind) = (affine(case), affine(&case[AFFINE..]));
    let joints = Skin::new(vec![0], vec![bind]).expect("one each");
    let mut matrices = Palette::default();
    palette(&joints, &[model], NormalRule::Plain, &mut matrices).expect("one each");
    let got = reference::palette_matrix(&matrices.matrices()[0]);
    let [model, bind] = [model, bind].map(|m| reference::matrix(&m));
    let want = reference::multiply(&model, &bind);
    let whole = reference::multiply(&model.map(|row| row.map(f64::abs)), &bind.map(|row| row.map(f64::abs)));
    let parts = got.as_flattened().iter().zip(want.as_flattened()).zip(whole.as_flattened());
    worst(parts.map(|((got, want), whole)| if *whole == 0.0 { 0.0 } else { (got - want).abs() / whole }))
        / PALETTE
}

pub(super) fn claims(dispatch: Dispatch) -> Vec<Claim> {
    let claim = |what: String, bound: f64, width: usize, repair: fn(&mut [f32]) -> bool| Claim {
        what,
        way: "",
        dispatch: Some(dispatch),
        bound,
        width,
        start,
        repair,
        error: Box::new(|_| 0.0),
    };
    let of = |[all, each]: [f64; 2], count: usize| all + each * count as f64;
    let mut claims = Vec::new();
    for count in [1, 2, 3, 4, 8] {
        let name = |what: &str| format!("{what}, influences: {count}");
        let width = VERTEX + count * INFLUENCE;
        let bound = of(POSITION, count);
        claims.push(Claim {
            error: Box::new(move |case| dispatch.scope(|| position(case, bound, u32::MAX))),
            ..claim(name("skin, positions"), bound, width, repair)
        });
        let bound = of(DIRECTION, count);
        claims.push(Claim {
            error: Box::new(move |case| dispatch.scope(|| tangent(case, bound))),
            ..claim(name("skin, tangents"), bound, width, repair)
        });
        for (rule, bound) in [
            (NormalRule::Plain, of(DIRECTION, count)),
            (NormalRule::InverseTranspose, of(DIRECTION, count)),
            (NormalRule::BlendedInverseTranspose, of(COFACTORS, count)),
        ] {
            claims.push(Claim {
                error: Box::new(move |case| dispatch.scope(|| normal(case, rule, bound))),
                ..claim(name(&format!("skin, normals, {rule:?}")), bound, width, repair)
            });
        }
        let bound = of(BASES, count);
        claims.push(Claim {
            start: start_bases,
            error: Box::new(move |case| dispatch.scope(|| bases(case, bound, u32::MAX))),
            ..claim(name("skinning::positions"), bound, 3 + count * (INFLUENCE + AFFINE), plain)
        });
    }
    for (kept, count) in [(1, 4), (3, 4), (4, 8)] {
        let bound = of(AT_MOST, count);
        claims.push(Claim {
            error: Box::new(move |case| dispatch.scope(|| position(case, bound, kept))),
            ..claim(
                format!("skin, positions, at most {kept} of {count}"),
                bound,
                VERTEX + count * INFLUENCE,
                repair_positive,
            )
        });
        claims.push(Claim {
            start: start_bases,
            repair: |case| {
                case[3..]
                    .chunks_mut(INFLUENCE + AFFINE)
                    .for_each(|influence| influence[0] = influence[0].abs());
                plain(case)
            },
            error: Box::new(move |case| dispatch.scope(|| bases(case, bound, kept))),
            ..claim(
                format!("skinning::positions, at most {kept} of {count}"),
                bound,
                3 + count * (INFLUENCE + AFFINE),
                plain,
            )
        });
    }
    for count in [1, 2] {
        claims.push(Claim {
            start: start_even,
            error: Box::new(move |case| dispatch.scope(|| even(case))),
            ..claim(
                format!("skin, normals by plain matrices, influences: {count}"),
                EVEN,
                VERTEX + count * INFLUENCE,
                repair,
            )
        });
    }
    claims.push(Claim {
        start: |random, case| case.chunks_mut(3).for_each(|v| start_vector(random, v)),
        error: Box::new(move |case| dispatch.scope(|| bitangent(case))),
        ..claim("skinning::bitangents".into(), BITANGENT, 7, |case| case[..6].chunks_mut(3).all(unit))
    });
    for count in [1, 3, 8] {
        claims.push(Claim {
            start: |random, case| case.chunks_mut(4).for_each(|v| start_vector(random, v)),
            error: Box::new(move |case| dispatch.scope(|| morphed(case))),
            ..claim(format!("morph, targets: {count}"), MORPH * (1 + count) as f64, 3 + 4 * count, plain)
        });
    }
    claims.push(Claim {
        start: |random, case| case.chunks_mut(AFFINE).for_each(|m| start_affine(random, m)),
        error: Box::new(move |case| dispatch.scope(|| product(case))),
        ..claim("palette".into(), PALETTE, 2 * AFFINE, plain)
    });
    claims
}
