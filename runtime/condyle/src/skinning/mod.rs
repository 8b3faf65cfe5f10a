//! Skinning: deforms the vertices of a mesh by model-space matrices, with linear blending or dual
//! quaternions.
//!
//! The usual sequence is [`palette`](crate::palette()) once per skin, then [`skin`](crate::skin()) once per
//! mesh. If the mesh has morph targets, call [`morph`](crate::morph()) first. For GPU skinning, write the
//! palette straight to the upload buffer with [`palette_columns`] or [`palette_rows`].
//!
//! [`palette_dual`] replaces `palette` where joints twist, because dual quaternions keep the volume.
//! [`SwingTwist`] computes which vertices should use them. [`WeightedBases`] and [`positions`] compute
//! positions only, for example for hit tests. [`bitangents`](bitangents()) computes the third axis of tangent
//! space.

mod bases;
mod bitangents;
mod call;
mod chunks;
mod dual;
mod few;
mod interleaved;
mod kernel;
mod morph;
mod packed;
mod palette;
mod parts;
mod rows;
mod runs;
mod vectors;
mod vertices;

pub use self::bases::{WeightedBases, positions};
pub use self::bitangents::bitangents;
use self::call::{Frames, Normals};
pub use self::dual::{SwingTwist, palette_dual};
pub use self::interleaved::{Interleaved, InterleavedMut, VertexLayout};
pub use self::morph::morph;
pub use self::palette::{NormalRule, Palette, palette, palette_columns, palette_rows};
pub use self::parts::{DualQuat, PaletteMatrix};
pub use self::vertices::{VertexSource, VertexTarget};
use crate::mesh::{AtMost, Influences};
use condyle_base::error::Error;

/// Deforms vertices by the weighted sum of their joints' matrices, or of their dual quaternions if
/// [`palette_dual`] filled the palette.
///
/// `bind` holds the vertices in the bind pose, and `posed` receives them in model space. Normals and tangents
/// are computed if both `bind` and `posed` have them. They have unit length, or are zero if they have no
/// direction. The fourth component of a tangent keeps its handedness, unless the blended matrix of the vertex
/// mirrors; a blend of rotations may mirror too. Weights are not normalised. A vertex without influences is
/// moved to the origin, with zero normal and tangent.
///
/// Each side is either planes, with one array per attribute, or [`Interleaved`] bytes, for example a mapped
/// vertex buffer. Both give the same numbers. glTF 2.0, "Skins".
///
/// The error of a component of a position is at most 2.4e-7 plus 6e-8 per influence. It is relative to the
/// sum of the magnitudes of the terms. docs/accuracy.md lists the bounds for normals, tangents and fewer
/// influences.
///
/// # Errors
/// - [`Error::Length`] if an array does not hold one element per vertex; normals and tangents may be empty.
///   Also if the joint count of the palette's skin differs from that of the influences' skin.
/// - [`Error::TooShort`] if the bytes end before the last vertex, or if the palette lacks a joint that the
///   influences refer to.
/// - [`Error::OutOfRange`] for a [`VertexLayout`] whose attributes overlap or exceed its stride.
///
/// On these errors `posed` is unchanged. After [`Error::Internal`], a bug of the library, it is incomplete.
///
/// ```
/// use condyle::{Affine, NormalRule, Palette, Vertices, example, local_to_model, palette, skin};
///
/// let (skeleton, mesh) = (example::skeleton(), example::mesh());
/// let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
/// local_to_model(&skeleton, skeleton.rest(), &mut model)?;
/// // The lower arm moves up by 1 m. Its weight at vertex 4, at the elbow, is a quarter.
/// model[usize::from(example::ARM_L[1])].rows[1][3] += 1.0;
/// let mut matrices = Palette::default();
/// palette(&example::skin(), &model, NormalRule::default(), &mut matrices)?;
/// let mut posed = Vertices::zeroed_like(mesh.vertices());
/// skin(mesh.influences(), &matrices, mesh.vertices().as_slices(), posed.as_slices_mut())?;
/// assert_eq!(mesh.vertices().positions[4], [0.5, 1.5625, 0.0625]);
/// assert_eq!(posed.positions[4], [0.5, 1.8125, 0.0625]);
/// // At a distance the heaviest influence is enough.
/// skin(mesh.influences().at_most(1), &matrices, mesh.vertices().as_slices(), posed.as_slices_mut())?;
/// assert_eq!(posed.positions[4], [0.5, 1.5625, 0.0625]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn skin<'a>(
    influences: impl Into<AtMost<'a, Influences>>,
    palette: &Palette,
    bind: impl Into<VertexSource<'a>>,
    posed: impl Into<VertexTarget<'a>>,
) -> Result<(), Error> {
    skin_at_most(influences.into(), palette, bind.into(), posed.into())
}

/// Not generic, so that the kernels are compiled only once.
fn skin_at_most(
    influences: AtMost<'_, Influences>,
    palette: &Palette,
    bind: VertexSource<'_>,
    posed: VertexTarget<'_>,
) -> Result<(), Error> {
    let (all, _) = influences.parts();
    let count = all.vertex_count();
    let bind_has = bind.check(count)?;
    let posed_has = posed.check(count)?;
    all.check_joints("palette", palette.matrices().len())?;

    let normals = match palette.rule() {
        _ if !(bind_has.normals && posed_has.normals) => Normals::None,
        NormalRule::BlendedInverseTranspose => Normals::Cofactors,
        _ if palette.normal_matrices().is_empty() => Normals::Blended,
        _ => Normals::Own,
    };
    let frames = Frames { normals, tangents: bind_has.tangents && posed_has.tangents };
    let done = match (bind, posed) {
        (VertexSource::Planes(bind), VertexTarget::Planes(posed)) => {
            runs::skin_range(influences, palette, frames, 0..count, bind, posed)
        }
        (bind, posed) => chunks::skin_chunks(influences, palette, frames, bind, posed),
    };
    done.ok_or(Error::Internal { what: "the influences name matrices of the palette" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Skin, SkinnedMesh, VertexSlices, Vertices};
    use crate::skinning::palette::palette;
    use crate::testing::reference;
    use crate::testing::{Random, SIZES, assert_close};
    use condyle_base::math::{Affine, Transform};
    use condyle_base::simd::Dispatch;
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
            .map(|joint| {
                let mut t = random.transform();
                // The matrices of some joints have zeros of both signs.
                if joint % 3 == 2 {
                    (t.rotation, t.translation) = ([0.0, 0.0, 0.0, 1.0], [0.0, -0.0, 0.0]);
                }
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
        // Miri is slow, and uneven scales are enough to run the separate code of each rule.
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

                    // A normal or tangent that nearly cancels has few significant digits, so the bound is
                    // relative to its length before normalisation.
                    let [x, y, z, w] = bind.tangents[v];
                    let tangent = reference::transform_vector(&blended, [x, y, z].map(f64::from));
                    let length = tangent.iter().map(|v| v * v).sum::<f64>().sqrt();
                    if length > 0.0 {
                        let unit = tangent.map(|v| v / length);
                        assert_close(&got.tangents[v][..3], &unit, 8e-7 / length.min(1.0), case);
                    } else {
                        assert_eq!(got.tangents[v][..3], [0.0; 3], "{case}");
                    }
                    // If the blend nearly cancels, f32 cannot resolve the sign of its determinant.
                    let determinant = reference::determinant(&blended);
                    if determinant.abs() > 1e-5 {
                        assert_eq!(got.tangents[v][3], if determinant < 0.0 { -w } else { w }, "{case}");
                    }
                    // Relative to the length of the sum before normalisation.
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

    /// Half turns about x, y and z: none of them mirrors, but their weighted sum does.
    #[test]
    fn rotations_may_blend_to_a_mirror() {
        let half_turn = |axis| {
            let mut rotation = [0.0; 4];
            rotation[axis] = 1.0;
            Affine::from(Transform { rotation, ..Transform::IDENTITY })
        };
        let bound = Skin::new(vec![0, 1, 2], vec![Affine::IDENTITY; 3]).expect("equal lengths");
        let mut matrices = Palette::default();
        let model = [0, 1, 2].map(half_turn);
        palette(&bound, &model, NormalRule::default(), &mut matrices).expect("sizes agree");
        assert!(!matrices.mirrors());
        let influences = Influences::from_rows([[(0, 0.25), (1, 0.375), (2, 0.375)]]).expect("finite");
        let bind = Vertices {
            positions: vec![[1.0; 3]],
            normals: vec![[0.0, 0.0, 1.0]],
            tangents: vec![[1.0, 0.0, 0.0, 1.0]],
        };
        for dispatch in Dispatch::all() {
            let mut out = Vertices::zeroed_like(&bind);
            dispatch
                .scope(|| skin(&influences, &matrices, bind.as_slices(), out.as_slices_mut()))
                .expect("sizes agree");
            assert_eq!(out.positions, [[-0.5, -0.25, -0.25]], "{dispatch}");
            assert_eq!(out.tangents, [[-1.0, 0.0, 0.0, -1.0]], "{dispatch}");
        }
    }

    /// Rotations, half turns and mirrors of any scale, with weights of either sign and any sum. The
    /// handedness is the sign of the determinant if f32 can resolve it, and does not depend on other joints.
    #[test]
    fn handedness_follows_the_determinant_of_the_blend() {
        let joints = 24;
        let mut random = Random(77);
        let model: Vec<Affine> = (0..joints)
            .map(|joint| {
                let mut t = random.transform();
                t.scale = [[0.01, 1.0, 70.0][joint % 3]; 3];
                if joint % 4 == 0 {
                    let [x, y, z] = random.vector(1.0);
                    let length = (x * x + y * y + z * z).sqrt();
                    t.rotation = [x / length, y / length, z / length, 0.0];
                }
                if joint % 5 == 0 {
                    t.scale[joint / 5 % 3] *= -1.0;
                }
                Affine::from(t)
            })
            .collect();
        let bound = Skin::new((0..joints as u16).collect(), vec![Affine::IDENTITY; joints]).expect("lengths");
        let mut matrices = Palette::default();
        palette(&bound, &model, NormalRule::Plain, &mut matrices).expect("sizes agree");
        let wide = reference::palette_matrices(&matrices);
        let (mut kept, mut turned) = (0, 0);
        for most in [8, 1, 2, 3] {
            let vertices = if cfg!(miri) { 19 } else { 603 };
            let rows: Vec<Vec<(u16, f32)>> = (0..vertices)
                .map(|v| {
                    let influence = |_| {
                        let joint = random.below(joints / 3) * 3 + v % 3;
                        let weight = random.range(0.1, 1.0);
                        (joint as u16, if random.below(6) == 0 { -weight } else { weight })
                    };
                    (0..=v / 16 % 8).map(influence).collect()
                })
                .collect();
            let influences = Influences::from_rows(rows).expect("finite");
            let bind = random.mesh(vertices, 1).vertices().clone();
            for dispatch in Dispatch::all() {
                let mut out = Vertices::zeroed_like(&bind);
                let influences_kept = influences.at_most(most);
                dispatch
                    .scope(|| skin(influences_kept, &matrices, bind.as_slices(), out.as_slices_mut()))
                    .expect("sizes agree");
                for v in 0..vertices {
                    let row: Vec<_> = influences.row(v).collect();
                    let row = reference::at_most(&row, most as usize);
                    let size: f64 = row
                        .iter()
                        .map(|&(joint, weight)| {
                            f64::from(weight.abs() * [0.01, 1.0, 70.0][usize::from(joint) % 3])
                        })
                        .sum();
                    let determinant = reference::determinant(&reference::blend_matrices(&wide, row));
                    if determinant.abs() < 1e-5 * size.powi(3) {
                        continue;
                    }
                    let hand = bind.tangents[v][3];
                    let want = if determinant < 0.0 { -hand } else { hand };
                    assert_eq!(
                        out.tangents[v][3], want,
                        "{dispatch}, vertex {v}, at most {most}: {determinant}"
                    );
                    *(if want == hand { &mut kept } else { &mut turned }) += 1;
                }
            }
        }
        assert!(cfg!(miri) || kept.min(turned) > 500, "{kept} kept, {turned} turned");
    }

    /// The squares and determinants of huge and tiny matrices overflow or underflow f32, but the directions
    /// are still correct.
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

    /// Joints that do not influence a vertex have no effect on it, even if they mirror.
    #[test]
    fn a_result_does_not_depend_on_other_joints() {
        let mut random = Random(13);
        let mesh = random.mesh(67, 9);
        let bound = Skin::new((0..10).collect(), vec![Affine::IDENTITY; 10]).expect("equal lengths");
        let mut model: Vec<Affine> =
            (0..10).map(|_| Affine::from(Transform { scale: [1.0; 3], ..random.transform() })).collect();
        for (rule, dispatch) in RULES.into_iter().flat_map(|r| Dispatch::all().map(move |d| (r, d))) {
            let [plain, mirrored] = [1.0, -1.0].map(|x| {
                model[9] = Affine::from(Transform { scale: [x, 1.0, 1.0], ..Transform::IDENTITY });
                let mut matrices = Palette::default();
                palette(&bound, &model, rule, &mut matrices).expect("sizes agree");
                assert_eq!(matrices.mirrors(), x < 0.0);
                dispatch.scope(|| posed(&mesh, &matrices))
            });
            assert!(plain == mirrored, "{dispatch} {rule:?}");
        }
    }

    /// The result for a vertex has the same bits alone, among others, and at any index.
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

    /// A cap on influences gives the result of a mesh that has only the kept influences, with all the weight.
    #[test]
    fn at_most_so_many_influences_share_all_the_weight() {
        let mut random = Random(12);
        let mesh = random.mesh(67, 9);
        for (rule, count) in RULES.into_iter().flat_map(|r| [0, 1, 2, 3, 4, 8].map(|c| (r, c))) {
            let matrices = random_palette(&mut random, 9, rule, false);
            let kept = (0..67).map(|v| {
                let row: Vec<_> = mesh.influences().row(v).collect();
                reference::at_most(&row, count.max(1))
            });
            let kept = Influences::from_rows(kept).expect("finite");
            for dispatch in Dispatch::all() {
                let [mut got, mut want] = [(); 2].map(|()| Vertices::zeroed_like(mesh.vertices()));
                let bind = mesh.vertices().as_slices();
                dispatch.scope(|| {
                    let most = mesh.influences().at_most(count as u32);
                    skin(most, &matrices, bind, got.as_slices_mut()).expect("sizes agree");
                    skin(&kept, &matrices, bind, want.as_slices_mut()).expect("sizes agree");
                });
                for v in 0..67 {
                    let case = format_args!("{dispatch}, {rule:?}, vertex {v}, at most {count}");
                    assert_close(&got.positions[v], &want.positions[v].map(f64::from), 1e-6, case);
                    // Relative to the length before normalisation. For one influence that is the length of
                    // its matrix product.
                    if count < 2 {
                        assert_close(&got.normals[v], &want.normals[v].map(f64::from), 1e-6, case);
                        assert_close(&got.tangents[v], &want.tangents[v].map(f64::from), 1e-6, case);
                    }
                    let whole = mesh.influences().row(v).len() <= count;
                    assert!(!whole || got.normals[v] == want.normals[v], "{case}");
                }
            }
        }
    }

    /// Weights that cancel cannot be rescaled, so they are used unchanged.
    #[test]
    fn weights_without_a_sum_are_kept() {
        let row = [(0, 1.0), (0, 0.0), (0, -1.0)];
        let influences = Influences::from_rows([row, [(0, -1.0), (0, f32::MIN_POSITIVE), (0, 1.0)]]);
        let influences = influences.expect("finite");
        let mut matrices = Palette::default();
        let one = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("equal lengths");
        palette(&one, &[Affine::IDENTITY], NormalRule::Plain, &mut matrices).expect("sizes agree");
        let bind = Vertices { positions: vec![[2.0, 3.0, 4.0]; 2], ..Vertices::default() };
        let mut out = bind.clone();
        skin(influences.at_most(1), &matrices, bind.as_slices(), out.as_slices_mut()).expect("sizes agree");
        assert!(out.positions.as_flattened().iter().all(|v| v.is_finite()), "{out:?}");
    }

    /// A vertex next to one without influences uses the mixed kernel. Kernels for rows of one length, which
    /// may be padded, give the same bits.
    #[test]
    #[cfg_attr(miri, ignore = "slow")]
    fn groups_with_as_many_influences_are_as_each_vertex_alone() {
        // More vertices than fit in one run.
        let vertices = 147;
        // 0: rows of different lengths, some of them empty or longer than the kernels' rows.
        for count in 0..=5 {
            let mut random = Random(count as u64);
            let mut bind = random.mesh(vertices, 3).vertices().clone();
            for v in (0..vertices).step_by(3) {
                bind.positions[v] = [0.0, -0.0, v as f32];
                bind.normals[v] = [-0.0, 1.0, 0.0];
            }
            let rows: Vec<Vec<(u16, f32)>> = (0..vertices)
                .map(|v| {
                    let own = if v < vertices / 2 { 1 + random.below(8) } else { random.below(10) };
                    let own = if count == 0 { own } else { count };
                    (0..own).map(|_| (random.below(9) as u16, random.range(-0.1, 0.5))).collect()
                })
                .collect();
            let influences = Influences::from_rows(rows).expect("finite");
            for (rule, even) in RULES.into_iter().flat_map(|r| [true, false].map(|e| (r, e))) {
                let matrices = random_palette(&mut random, 9, rule, even);
                for (dispatch, most) in Dispatch::all().flat_map(|d| [u32::MAX, 2].map(|most| (d, most))) {
                    let mut all = Vertices::zeroed_like(&bind);
                    let mut bare = Vertices { positions: vec![[0.0; 3]; vertices], ..Vertices::default() };
                    dispatch.scope(|| {
                        let influences = influences.at_most(most);
                        skin(influences, &matrices, bind.as_slices(), all.as_slices_mut()).expect("sizes");
                        skin(influences, &matrices, bind.as_slices(), bare.as_slices_mut()).expect("sizes");
                    });
                    assert_eq!(bare.positions, all.positions, "{dispatch} {rule:?}, {count} influences");
                    for v in 0..vertices {
                        let two = Vertices {
                            positions: vec![bind.positions[v]; 2],
                            normals: vec![bind.normals[v]; 2],
                            tangents: vec![bind.tangents[v]; 2],
                        };
                        let row: Vec<_> = influences.row(v).collect();
                        let rows = Influences::from_rows([row, vec![]]).expect("finite");
                        let mut alone = Vertices::zeroed_like(&two);
                        dispatch.scope(|| {
                            skin(rows.at_most(most), &matrices, two.as_slices(), alone.as_slices_mut())
                                .expect("sizes");
                        });
                        let bits = |of: &Vertices, v: usize| {
                            let [normal, tangent] = [&of.normals[v][..], &of.tangents[v][..]];
                            [&of.positions[v][..], normal, tangent]
                                .concat()
                                .iter()
                                .map(|n| n.to_bits())
                                .collect::<Vec<_>>()
                        };
                        let case = format_args!("{dispatch} {rule:?}, vertex {v}, {count} influences");
                        assert_eq!(bits(&alone, 0), bits(&all, v), "{case}");
                    }
                }
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
