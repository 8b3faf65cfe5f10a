//! Linear-blend skinning.

use fearless_simd::{f32x4, f32x16, prelude::*};

use crate::mesh::{Influences, VertexSlices, VertexSlicesMut};
use crate::palette::PaletteMatrix;
use crate::simd::{Mode, dispatch, transpose};
use crate::{Error, NormalRule, Palette};

/// Deforms vertices by the weighted sum of their joints' matrices.
///
/// `bind` holds vertices in the bind pose, `posed` receives them in model space: positions, and normals and tangents
/// where both `bind` and `posed` have them, of unit length, or zero where they have no direction. Tangents keep their
/// handedness in the fourth component, unless the blended matrix mirrors. Weights are used as they are; a vertex
/// without influences lands on the origin, without normal or tangent. glTF 2.0, "Skins".
///
/// # Errors
/// [`Error::Length`] where an array does not hold one element per vertex (normals and tangents of `bind` and `posed`
/// may be empty), [`Error::TooShort`] if the palette lacks a joint that the influences name.
pub fn skin(
    influences: &Influences,
    palette: &Palette,
    bind: VertexSlices<'_>,
    posed: VertexSlicesMut<'_>,
) -> Result<(), Error> {
    let count = influences.vertex_count();
    let of_count = |what, found| if found == 0 { Ok(()) } else { Error::check_len(what, found, count) };
    Error::check_len("bind positions", bind.positions.len(), count)?;
    Error::check_len("posed positions", posed.positions.len(), count)?;
    of_count("bind normals", bind.normals.len())?;
    of_count("posed normals", posed.normals.len())?;
    of_count("bind tangents", bind.tangents.len())?;
    of_count("posed tangents", posed.tangents.len())?;
    Error::check_room("palette", palette.matrices().len(), influences.joint_bound())?;

    let with_normals = !(bind.normals.is_empty() || posed.normals.is_empty());
    let with_tangents = !(bind.tangents.is_empty() || posed.tangents.is_empty());
    let normals = match palette.rule() {
        _ if !with_normals => NONE,
        NormalRule::BlendedInverseTranspose => BLENDED_COFACTORS,
        _ if palette.normal_matrices().is_empty() => BLENDED,
        _ => OWN,
    };
    // Only tangents ask.
    let mirrors = with_tangents && palette.mirrors();
    macro_rules! run {
        ($normals:ident, $tangents:literal) => {
            dispatch!(|s, mode| skin_vertices::<_, _, $normals, $tangents>(
                s, mode, influences, palette, mirrors, bind, posed
            ))
        };
    }
    match (normals, with_tangents) {
        (NONE, false) => run!(NONE, false),
        (NONE, true) => run!(NONE, true),
        (BLENDED, false) => run!(BLENDED, false),
        (BLENDED, true) => run!(BLENDED, true),
        (OWN, false) => run!(OWN, false),
        (OWN, true) => run!(OWN, true),
        (_, false) => run!(BLENDED_COFACTORS, false),
        (_, true) => run!(BLENDED_COFACTORS, true),
    }
    Ok(())
}

/// What a normal is multiplied by: nothing, the blended matrix, the blend of matrices of its own, or the
/// cofactors of the blended matrix.
const NONE: u8 = 0;
const BLENDED: u8 = 1;
const OWN: u8 = 2;
const BLENDED_COFACTORS: u8 = 3;

/// Four columns.
type Matrix<S> = [f32x4<S>; 4];

/// The weighted sum of the matrices of one vertex, heaviest first.
#[inline(always)]
fn blend<'a, S: Simd, M: Mode>(
    s: S,
    mode: M,
    row: impl Iterator<Item = (&'a u16, &'a f32)>,
    matrices: &[PaletteMatrix],
) -> Matrix<S> {
    let mut sum = f32x16::splat(s, 0.0);
    for (&joint, &weight) in row {
        // Always there: `skin` has checked the greatest joint. Asking costs less than a panic path.
        if let Some(matrix) = matrices.get(usize::from(joint)) {
            sum = mode.madd(f32x16::splat(s, weight), f32x16::load_array_ref(s, &matrix.columns), sum);
        }
    }
    let (low, high) = sum.split();
    let ((a, b), (c, d)) = (low.split(), high.split());
    [a, b, c, d]
}

#[inline(always)]
fn move_point<S: Simd, M: Mode>(s: S, mode: M, m: &Matrix<S>, [x, y, z]: [f32; 3]) -> f32x4<S> {
    let x = mode.madd(m[0], f32x4::splat(s, x), m[3]);
    mode.madd(m[2], f32x4::splat(s, z), mode.madd(m[1], f32x4::splat(s, y), x))
}

#[inline(always)]
fn turn<S: Simd, M: Mode>(s: S, mode: M, m: &Matrix<S>, [x, y, z]: [f32; 3]) -> f32x4<S> {
    let x = m[0] * f32x4::splat(s, x);
    mode.madd(m[2], f32x4::splat(s, z), mode.madd(m[1], f32x4::splat(s, y), x))
}

/// Four vectors with length one, or zero where they have none: one root and one division for all four.
#[inline(always)]
fn unit<S: Simd, M: Mode>(s: S, mode: M, v: [f32x4<S>; 4]) -> [f32x4<S>; 4] {
    let [mut x, mut y, mut z, _] = transpose(v);
    let (zero, one) = (f32x4::splat(s, 0.0), f32x4::splat(s, 1.0));
    let mut square = mode.madd(z, z, mode.madd(y, y, x * x));
    let good = square.simd_gt(f32x4::splat(s, 1e-30)) & square.simd_lt(f32x4::splat(s, 1e30));
    if good.any_false() {
        // Squares that overflow or vanish: by the greatest component first. The other lanes stay as they are.
        let (ax, ay, az) = (x * one.copysign(x), y * one.copysign(y), z * one.copysign(z));
        let xy = ax.simd_gt(ay).select(ax, ay);
        let greatest = xy.simd_gt(az).select(xy, az);
        let scale = good.select(one, greatest.simd_gt(zero).select(greatest, one));
        (x, y, z) = (x / scale, y / scale, z / scale);
        square = mode.madd(z, z, mode.madd(y, y, x * x));
    }
    let length = square.sqrt();
    let factor = length.simd_gt(zero).select(one / length, zero);
    transpose([x * factor, y * factor, z * factor, zero])
}

#[inline(always)]
fn cross<S: Simd>(s: S, a: f32x4<S>, b: f32x4<S>) -> f32x4<S> {
    let (a, b) = (a.to_array(), b.to_array());
    let c = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], 0.0];
    f32x4::load_array(s, c)
}

/// The inverse transpose of the upper 3x3 part but for a positive factor, which is its cofactors with the sign of
/// its determinant; and that sign.
#[inline(always)]
fn inverse_transpose<S: Simd>(s: S, m: &Matrix<S>) -> (Matrix<S>, f32) {
    // Products of columns must neither overflow nor vanish: each is divided by its size first, and what is left of
    // the sizes joins at the end.
    let sizes = [size(m[0]), size(m[1]), size(m[2])];
    let splat = |value: f32| f32x4::splat(s, value);
    let (a, b, c) = (m[0] / splat(sizes[0]), m[1] / splat(sizes[1]), m[2] / splat(sizes[2]));
    let (bc, ca, ab) = (cross(s, b, c), cross(s, c, a), cross(s, a, b));
    let products = (a * bc).to_array();
    let sign = if products[0] + products[1] + products[2] < 0.0 { -1.0 } else { 1.0 };
    let [x, y, z] = sizes;
    let least = if x < y { x } else { y };
    let least = sign * if least < z { least } else { z };
    ([bc * splat(least / x), ca * splat(least / y), ab * splat(least / z), splat(0.0)], sign)
}

/// The greatest component, or 1 where there is none.
#[inline(always)]
fn size<S: Simd>(v: f32x4<S>) -> f32 {
    let [x, y, z, _] = v.to_array();
    let (x, y, z) = (x.abs(), y.abs(), z.abs());
    let xy = if x > y { x } else { y };
    let greatest = if xy > z { xy } else { z };
    if greatest > 0.0 { greatest } else { 1.0 }
}

/// Writes the first three lanes of each vector, closely packed: each store overlaps the one after it.
#[inline(always)]
fn store_packed<S: Simd>(out: &mut [[f32; 3]; 4], v: [f32x4<S>; 4]) {
    let flat = out.as_flattened_mut();
    v[0].store_slice(&mut flat[0..4]);
    v[1].store_slice(&mut flat[3..7]);
    v[2].store_slice(&mut flat[6..10]);
    let [x, y, z, _] = v[3].to_array();
    out[3] = [x, y, z];
}

/// Four vertices; one root serves the normals of all of them, another the tangents.
struct Quad<'a> {
    influence_counts: [u32; 4],
    positions: &'a [[f32; 3]; 4],
    normals: &'a [[f32; 3]; 4],
    tangents: &'a [[f32; 4]; 4],
}

/// Where a quad goes. What a kernel does not compute, it does not write.
struct QuadMut<'a> {
    positions: &'a mut [[f32; 3]; 4],
    normals: &'a mut [[f32; 3]; 4],
    tangents: &'a mut [[f32; 4]; 4],
}

#[inline(always)]
fn skin_quad<'a, S: Simd, M: Mode, const NORMALS: u8, const TANGENTS: bool>(
    s: S,
    mode: M,
    palette: &Palette,
    mirrors: bool,
    pairs: &mut (impl Iterator<Item = (&'a u16, &'a f32)> + Clone),
    bind: &Quad<'_>,
    posed: QuadMut<'_>,
) {
    let zero = f32x4::splat(s, 0.0);
    let (mut points, mut normals, mut tangents) = ([zero; 4], [zero; 4], [zero; 4]);
    let mut handedness = [1.0; 4];
    for v in 0..4 {
        let count = bind.influence_counts[v] as usize;
        let row = pairs.clone();
        let m = blend(s, mode, pairs.by_ref().take(count), palette.matrices());
        points[v] = move_point(s, mode, &m, bind.positions[v]);
        match NORMALS {
            NONE => {}
            OWN => {
                let own = blend(s, mode, row.clone().take(count), palette.normal_matrices());
                normals[v] = turn(s, mode, &own, bind.normals[v]);
            }
            BLENDED_COFACTORS => normals[v] = turn(s, mode, &inverse_transpose(s, &m).0, bind.normals[v]),
            _ => normals[v] = turn(s, mode, &m, bind.normals[v]),
        }
        if TANGENTS {
            let [x, y, z, w] = bind.tangents[v];
            tangents[v] = turn(s, mode, &m, [x, y, z]);
            handedness[v] = if mirrors { w * inverse_transpose(s, &m).1 } else { w };
        }
    }
    store_packed(posed.positions, points);
    if NORMALS != NONE {
        store_packed(posed.normals, unit(s, mode, normals));
    }
    if TANGENTS {
        let tangents = unit(s, mode, tangents);
        for v in 0..4 {
            let [x, y, z, _] = tangents[v].to_array();
            posed.tangents[v] = [x, y, z, handedness[v]];
        }
    }
}

#[inline(always)]
fn skin_vertices<S: Simd, M: Mode, const NORMALS: u8, const TANGENTS: bool>(
    s: S,
    mode: M,
    influences: &Influences,
    palette: &Palette,
    mirrors: bool,
    bind: VertexSlices<'_>,
    posed: VertexSlicesMut<'_>,
) {
    let (starts, joints, weights) = influences.as_slices();
    let mut pairs = joints.iter().zip(weights);
    let mut counts = starts.windows(2).map(|ends| ends[1] - ends[0]);

    // What a kernel does not compute gets room to read zeros from and to write nothing to.
    let (no_normals, no_tangents) = ([[0.0; 3]; 4], [[0.0; 4]; 4]);
    let (positions, positions_tail) = bind.positions.as_chunks::<4>();
    let (normals, normals_tail) = bind.normals.as_chunks::<4>();
    let (tangents, tangents_tail) = bind.tangents.as_chunks::<4>();
    let (posed_positions, posed_positions_tail) = posed.positions.as_chunks_mut::<4>();
    let (posed_normals, posed_normals_tail) = posed.normals.as_chunks_mut::<4>();
    let (posed_tangents, posed_tangents_tail) = posed.tangents.as_chunks_mut::<4>();
    let (mut posed_normals, mut posed_tangents) = (posed_normals.iter_mut(), posed_tangents.iter_mut());
    for (at, (positions, posed_positions)) in positions.iter().zip(posed_positions).enumerate() {
        let mut next = || counts.next().unwrap_or(0);
        let influence_counts = [next(), next(), next(), next()];
        let bind = Quad {
            influence_counts,
            positions,
            normals: normals.get(at).unwrap_or(&no_normals),
            tangents: tangents.get(at).unwrap_or(&no_tangents),
        };
        let (mut unused_normals, mut unused_tangents) = (no_normals, no_tangents);
        let posed = QuadMut {
            positions: posed_positions,
            normals: posed_normals.next().unwrap_or(&mut unused_normals),
            tangents: posed_tangents.next().unwrap_or(&mut unused_tangents),
        };
        skin_quad::<S, M, NORMALS, TANGENTS>(s, mode, palette, mirrors, &mut pairs, &bind, posed);
    }
    if positions_tail.is_empty() {
        return;
    }
    // The last one to three vertices go through the same code, padded with vertices that follow no joint.
    let mut padded = Tail::default();
    let mut influence_counts = [0; 4];
    for (out, count) in influence_counts.iter_mut().zip(counts) {
        *out = count;
    }
    padded.fill(positions_tail, normals_tail, tangents_tail);
    let mut out = Tail::default();
    let bind = Quad {
        influence_counts,
        positions: &padded.positions,
        normals: &padded.normals,
        tangents: &padded.tangents,
    };
    let posed =
        QuadMut { positions: &mut out.positions, normals: &mut out.normals, tangents: &mut out.tangents };
    skin_quad::<S, M, NORMALS, TANGENTS>(s, mode, palette, mirrors, &mut pairs, &bind, posed);
    copy_front(posed_positions_tail, &out.positions);
    if NORMALS != NONE {
        copy_front(posed_normals_tail, &out.normals);
    }
    if TANGENTS {
        copy_front(posed_tangents_tail, &out.tangents);
    }
}

/// The last vertices, padded to four.
#[derive(Default)]
struct Tail {
    positions: [[f32; 3]; 4],
    normals: [[f32; 3]; 4],
    tangents: [[f32; 4]; 4],
}

impl Tail {
    fn fill(&mut self, positions: &[[f32; 3]], normals: &[[f32; 3]], tangents: &[[f32; 4]]) {
        copy_front(&mut self.positions, positions);
        copy_front(&mut self.normals, normals);
        copy_front(&mut self.tangents, tangents);
    }
}

/// Copies as many elements as both have.
fn copy_front<T: Copy>(to: &mut [T], from: &[T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, SIZES, assert_close};
    use crate::{Affine, Dispatch, Skin, SkinnedMesh, Transform, Vertices, palette, reference};
    use std::{vec, vec::Vec};

    const RULES: [NormalRule; 3] =
        [NormalRule::InverseTranspose, NormalRule::Plain, NormalRule::BlendedInverseTranspose];

    fn posed(mesh: &SkinnedMesh, palette: &Palette) -> Vertices {
        let mut out = Vertices::zeroed_like(mesh.vertices());
        skin(mesh.influences(), palette, mesh.vertices().as_slices(), out.as_slices_mut())
            .expect("sizes agree");
        out
    }

    fn random_palette(random: &mut Random, joints: usize, rule: NormalRule, even: bool) -> Palette {
        let skin =
            Skin::new((0..joints as u16).collect(), vec![Affine::IDENTITY; joints]).expect("equal lengths");
        let model: Vec<Affine> = (0..joints)
            .map(|_| {
                let t = random.transform();
                // Some joints mirror.
                let x = if random.below(4) == 0 { -1.0 } else { 1.0 };
                let scale = if even { [x, 1.0, 1.0] } else { [x * t.scale[0], t.scale[1], t.scale[2]] };
                Affine::from(Transform { scale, ..t })
            })
            .collect();
        let mut out = Palette::default();
        palette(&skin, &model, rule, &mut out).expect("sizes agree");
        out
    }

    #[test]
    fn every_size_and_rule_is_the_formula() {
        // Miri is slow: with uneven scales all rules run lines of their own.
        let scales: &[bool] = if cfg!(miri) { &[false] } else { &[false, true] };
        let cases = SIZES.iter().flat_map(|n| RULES.map(|r| (n, r)));
        for (&vertices, rule, &even) in cases.flat_map(|(n, r)| scales.iter().map(move |e| (n, r, e))) {
            let mut random = Random(vertices as u64);
            let mesh = random.mesh(vertices, 40);
            let matrices = random_palette(&mut random, 40, rule, even);
            let wide = reference::palette_matrices(&matrices);
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| posed(&mesh, &matrices));
                for v in 0..vertices {
                    let case = format_args!("{dispatch}, {rule:?}, vertex {v} of {vertices}");
                    let row = || mesh.influences().row(v);
                    let blended = reference::blend_matrices(&wide, row());
                    let bind = mesh.vertices();
                    let want = reference::transform_point(&blended, bind.positions[v].map(f64::from));
                    assert_close(&got.positions[v], &want, 5e-7, case);

                    // A normal or tangent that nearly cancels has no digits: compare before it is made unit length.
                    let [x, y, z, w] = bind.tangents[v];
                    let tangent = reference::transform_vector(&blended, [x, y, z].map(f64::from));
                    let length = tangent.iter().map(|v| v * v).sum::<f64>().sqrt();
                    if length > 0.0 {
                        let unit = tangent.map(|v| v / length);
                        assert_close(&got.tangents[v][..3], &unit, 8e-7 / length.min(1.0), case);
                    } else {
                        assert_eq!(got.tangents[v][..3], [0.0; 3], "{case}");
                    }
                    // The determinant of a blend that nearly cancels has no sign that f32 could tell.
                    let determinant = reference::determinant(&blended);
                    let mirrored = matrices.mirrors() && determinant < 0.0;
                    if determinant.abs() > 1e-5 {
                        assert_eq!(got.tangents[v][3], if mirrored { -w } else { w }, "{case}");
                    }
                    // Over the length that the sum of the terms has before it is made unit.
                    let (want, length) =
                        reference::skin_normal(&wide, row(), rule, bind.normals[v].map(f64::from));
                    if length > 1e-3 {
                        let bound = if rule == NormalRule::BlendedInverseTranspose { 3e-6 } else { 1e-6 };
                        assert_close(&got.normals[v], &want, bound / length.min(1.0), case);
                    }
                }
            }
        }
    }

    #[test]
    fn the_identity_leaves_every_position_exactly() {
        let mesh = {
            let random = Random(3).mesh(50, 4);
            let rigid = Influences::rigid(50);
            SkinnedMesh::new(random.vertices().clone(), rigid, vec![], vec![]).expect("same vertices")
        };
        let one = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("equal lengths");
        let mut matrices = Palette::default();
        for (rule, dispatch) in RULES.into_iter().flat_map(|r| Dispatch::all().map(move |d| (r, d))) {
            palette(&one, &[Affine::IDENTITY], rule, &mut matrices).expect("sizes agree");
            let got = dispatch.scope(|| posed(&mesh, &matrices));
            assert_eq!(got.positions, mesh.vertices().positions, "{dispatch} {rule:?}");
            for (got, want) in got.normals.iter().zip(&mesh.vertices().normals) {
                assert_close(got, &want.map(f64::from), 1.2e-7, dispatch);
            }
        }
    }

    #[test]
    fn a_mirrored_joint_flips_the_handedness() {
        let mesh = Random(3).mesh(4, 1);
        let mesh = SkinnedMesh::new(mesh.vertices().clone(), Influences::rigid(4), vec![], vec![])
            .expect("4 vertices");
        let one = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("equal lengths");
        let mirror = Transform { scale: [-1.0, 1.0, 1.0], ..Transform::IDENTITY };
        let mut matrices = Palette::default();
        palette(&one, &[mirror.into()], NormalRule::default(), &mut matrices).expect("sizes agree");
        let got = posed(&mesh, &matrices);
        assert!(got.tangents.iter().zip(&mesh.vertices().tangents).all(|(got, bind)| got[3] == -bind[3]));
    }

    /// Neither the squares of huge and tiny matrices nor their determinants fit f32; directions come out all the same.
    #[test]
    fn normals_survive_extreme_scales() {
        let mesh = Random(8).mesh(8, 1);
        let mesh = SkinnedMesh::new(mesh.vertices().clone(), Influences::rigid(8), vec![], vec![])
            .expect("8 vertices");
        let one = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("equal lengths");
        let mut matrices = Palette::default();
        for size in [1e-30, 1e-23, 1e-13, 1.0, 1e13, 1e20, 1e30] {
            for scale in
                [[size, size, 1.5 * size], [-size, size, size], [-1.0, size, size], [size, 1.0, -1.0]]
            {
                let model = Affine::from(Transform { scale, ..Random(9).transform() });
                for (rule, dispatch) in RULES.into_iter().flat_map(|r| Dispatch::all().map(move |d| (r, d))) {
                    palette(&one, &[model], rule, &mut matrices).expect("sizes agree");
                    let wide = reference::palette_matrices(&matrices);
                    let got = dispatch.scope(|| posed(&mesh, &matrices));
                    for v in 0..8 {
                        let normal = mesh.vertices().normals[v].map(f64::from);
                        let (want, _) = reference::skin_normal(&wide, [(0, 1.0)], rule, normal);
                        let case = format_args!("{dispatch}, {rule:?}, scale {scale:?}, vertex {v}");
                        assert_close(&got.normals[v], &want, 1e-6, case);
                        let [x, y, z, w] = got.tangents[v];
                        let length: f64 = [x, y, z].map(f64::from).iter().map(|v| v * v).sum();
                        assert!((length - 1.0).abs() < 1e-6, "{case}: tangent {:?}", got.tangents[v]);
                        let mirrored = scale.iter().product::<f32>() < 0.0
                            || scale.iter().filter(|v| **v < 0.0).count() == 1;
                        assert_eq!(
                            w,
                            mesh.vertices().tangents[v][3] * if mirrored { -1.0 } else { 1.0 },
                            "{case}"
                        );
                    }
                }
            }
        }
    }

    /// A vertex gives the same bits alone, among others, and whatever its place.
    #[test]
    fn a_result_does_not_depend_on_its_neighbours() {
        let mut random = Random(11);
        let whole = random.mesh(40, 9);
        for (rule, dispatch) in RULES.into_iter().flat_map(|r| Dispatch::all().map(move |d| (r, d))) {
            let matrices = random_palette(&mut random, 9, rule, false);
            let all = dispatch.scope(|| posed(&whole, &matrices));
            for v in 0..40 {
                let one = Vertices {
                    positions: vec![whole.vertices().positions[v]],
                    normals: vec![whole.vertices().normals[v]],
                    tangents: vec![whole.vertices().tangents[v]],
                };
                let row = Influences::from_rows([whole.influences().row(v)]).expect("finite");
                let alone = SkinnedMesh::new(one, row, vec![], vec![]).expect("one vertex");
                let alone = dispatch.scope(|| posed(&alone, &matrices));
                assert_eq!(alone.positions[0], all.positions[v], "{dispatch} {rule:?} vertex {v}");
                assert_eq!(alone.normals[0], all.normals[v], "{dispatch} {rule:?} vertex {v}");
                assert_eq!(alone.tangents[0], all.tangents[v], "{dispatch} {rule:?} vertex {v}");
            }
        }
    }

    #[test]
    fn attributes_are_optional_on_either_side() {
        let mut random = Random(2);
        let mesh = random.mesh(7, 3);
        let matrices = random_palette(&mut random, 3, NormalRule::default(), false);
        let whole = posed(&mesh, &matrices);
        let bind = mesh.vertices().as_slices();
        let mut some = Vertices { positions: vec![[0.0; 3]; 7], ..Vertices::default() };
        skin(mesh.influences(), &matrices, bind, some.as_slices_mut()).expect("only positions");
        assert_eq!(some.positions, whole.positions);
        let mut all = Vertices::zeroed_like(mesh.vertices());
        let bare = VertexSlices { normals: &[], ..bind };
        skin(mesh.influences(), &matrices, bare, all.as_slices_mut()).expect("no normals");
        assert_eq!((all.normals, all.tangents), (vec![[0.0; 3]; 7], whole.tangents));
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let mut random = Random(2);
        let mesh = random.mesh(9, 3);
        let matrices = random_palette(&mut random, 3, NormalRule::default(), false);
        let bind = mesh.vertices();
        let mut out = Vertices::zeroed_like(bind);
        out.normals.pop();
        let refused = skin(mesh.influences(), &matrices, bind.as_slices(), out.as_slices_mut());
        assert_eq!(refused, Err(Error::Length { what: "posed normals", found: 8, needed: 9 }));
        let mut out = Vertices::zeroed_like(bind);
        let few =
            random_palette(&mut random, mesh.influences().joint_bound() - 1, NormalRule::default(), false);
        let refused = skin(mesh.influences(), &few, bind.as_slices(), out.as_slices_mut());
        assert!(matches!(refused, Err(Error::TooShort { what: "palette", .. })), "{refused:?}");
    }
}
