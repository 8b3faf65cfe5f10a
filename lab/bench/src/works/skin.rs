//! Skinning by linear blending and by dual quaternions.

use std::ops::RangeInclusive;
use std::rc::Rc;

#[cfg(feature = "peers")]
use condyle::Influences;
use condyle::skinning::{InterleavedMut, VertexLayout, WeightedBases, bitangents};
use condyle::{Affine, NormalRule, Palette, Skin, SkinnedMesh, Vertices, local_to_model, palette};
use condyle::{skin, skinning};
use condyle_testing::reference;

use super::{case, copying, largest, worst};
use crate::data::Random;
use crate::harness::{Case, Subjects};
use crate::peers::{self, Deform};

/// Joints of the palette.
pub(super) const PALETTE: usize = 128;
/// A million vertices. Tests use fewer.
const MILLION: usize = if cfg!(test) { 10_000 } else { 1_000_000 };

/// Method and outputs of condyle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Positions by the blended matrix.
    Positions,
    /// Positions from pre-weighted base vectors.
    Bases,
    /// Positions and normals.
    Normals,
    /// Positions, normals and tangents.
    Frames,
}

use How::{Bases, Frames, Normals, Positions};

pub(super) fn cases() -> Vec<Case> {
    let cases = [
        ("skin_p2", "", 1024, 2..=2, Positions),
        ("skin_p4", "", 1024, 4..=4, Positions),
        ("skin_bases_p2", "", 1024, 2..=2, Bases),
        ("skin_bases_p4", "", 1024, 4..=4, Bases),
        ("skin_pn4", "", 1024, 4..=4, Normals),
        ("skin_pn1to4", "", 1024, 1..=4, Normals),
        ("skin_pnt2", "", 1024, 2..=2, Frames),
        ("skin_pnt4", "", 1024, 4..=4, Frames),
        ("skin_pnt5", "", 1024, 5..=5, Frames),
        ("skin_pnt8", "", 1024, 8..=8, Frames),
        ("skin_p4_67", "", 67, 4..=4, Positions),
        ("skin_pnt4_67", "", 67, 4..=4, Frames),
        ("skin_p4_1m", "copy_of_skin_p4_1m", MILLION, 4..=4, Positions),
        ("skin_bases_p4_1m", "copy_of_skin_bases_p4_1m", MILLION, 4..=4, Bases),
        ("skin_pnt4_1m", "copy_of_skin_pnt4_1m", MILLION, 4..=4, Frames),
    ];
    let case = |(work, copy, vertices, influences, how): (_, &'static str, _, RangeInclusive<usize>, _)| {
        // Number of influences that is counted in uneven meshes.
        let per_vertex = *influences.end();
        let bytes = bytes(per_vertex, how);
        let build = move |subjects: &mut Subjects| {
            skinning(subjects, vertices, influences.clone(), how);
            if !copy.is_empty() {
                copying(subjects, copy, vertices, bytes);
            }
        };
        Case { flops: flops(per_vertex, how), ..case(work, "structs", vertices, bytes, build) }
    };
    let mut cases: Vec<_> = cases.map(case).into();
    cases.push(super::case("skin_pn4_interleaved", "structs", 1024, 4 + 4 * (2 + 4) + 2 * 24, interleaving));
    let dual = super::case("skin_pn4_dual", "structs", 1024, bytes(4, Normals), dual_quaternions);
    cases.push(dual);
    cases.push(super::case("skin_bitangents", "structs", 1024, 12 + 16 + 12, crossing));
    cases
}

/// Positions and normals written to an interleaved vertex buffer with texture coordinates, and to separate
/// arrays.
fn interleaving(subjects: &mut Subjects) {
    const LAYOUT: VertexLayout = VertexLayout { stride: 32, position: 0, normal: Some(12), tangent: None };
    let mut random = Random(3);
    let mesh = random.mesh(1024, PALETTE, 4);
    let (mut bind, influences) = (mesh.vertices().clone(), mesh.influences().clone());
    bind.tangents.clear();
    let matrices = random_palette(&mut random).1;
    let want = Rc::new(want(&mesh, &matrices));
    let input = Rc::new((influences, bind, matrices));
    let room = Vertices::zeroed_like(&input.1);
    let looked_at = want.clone();
    subjects.kernel(
        "condyle",
        1e-5,
        &input,
        vec![0; LAYOUT.size_of(1024)],
        |(influences, bind, matrices), out| {
            let out = InterleavedMut { bytes: out, layout: LAYOUT };
            skin(influences, matrices, bind.as_slices(), out).expect("sizes agree");
        },
        move |out| {
            let numbers = |vertex: &[u8], at: usize| {
                [0, 1, 2]
                    .map(|c| vertex[at + 4 * c..].first_chunk().map_or(f32::NAN, |b| f32::from_ne_bytes(*b)))
            };
            let planes = |at| out.chunks(LAYOUT.stride).map(|vertex| numbers(vertex, at)).collect();
            let got = Vertices { positions: planes(0), normals: planes(12), tangents: vec![] };
            error(&got, &looked_at)
        },
    );
    subjects.kernel(
        "planes",
        1e-5,
        &input,
        room,
        |(influences, bind, matrices), out| {
            skin(influences, matrices, bind.as_slices(), out.as_slices_mut()).expect("sizes agree");
        },
        move |out| error(out, &want),
    );
}

/// Positions and normals by dual quaternions of joints without scale, and by linear blending.
fn dual_quaternions(subjects: &mut Subjects) {
    let mut random = Random(3);
    let mesh = random.mesh(1024, PALETTE, 4);
    let (mut bind, influences) = (mesh.vertices().clone(), mesh.influences().clone());
    bind.tangents.clear();
    let bound = random.skin(PALETTE);
    let model: Vec<Affine> = random.transforms(PALETTE).into_iter().map(Affine::from).collect();
    let (mut linear, mut dual) = (Palette::default(), Palette::default());
    palette(&bound, &model, NormalRule::default(), &mut linear).expect("sizes agree");
    skinning::palette_dual(&bound, &model, NormalRule::default(), &mut dual).expect("sizes agree");
    let joints = reference::dual_joints(&bound, &reference::palette_matrices(&linear));
    let wide = |v: usize| {
        let row: Vec<_> = influences.row(v).collect();
        let row = || row.iter().copied();
        let moved = reference::dual_matrix(&joints, row());
        let position = reference::transform_point(&moved, bind.positions[v].map(f64::from));
        let normal =
            reference::dual_normal(&joints, row(), NormalRule::default(), bind.normals[v].map(f64::from));
        [position, normal.0, [0.0; 3]]
    };
    let want_dual: Rc<Want> = Rc::new((0..1024).map(wide).collect());
    let want_linear = Rc::new(want(&mesh, &linear));
    #[cfg(feature = "peers")]
    let quats: Vec<_> =
        dual.dual_quats().iter().map(|quat| peers::glam::DualQuat::new(quat.real, quat.dual)).collect();
    let room = Vertices::zeroed_like(&bind);
    let mesh = Rc::new((influences, bind));
    for (name, palette, want) in [("condyle", dual, want_dual.clone()), ("linear", linear, want_linear)] {
        subjects.kernel(
            name,
            1e-5,
            &Rc::new((mesh.clone(), palette)),
            room.clone(),
            |(mesh, palette), out| {
                skin(&mesh.0, palette, mesh.1.as_slices(), out.as_slices_mut()).expect("sizes agree");
            },
            move |out| error(out, &want),
        );
    }
    #[cfg(feature = "peers")]
    subjects.peer(
        "glam",
        (mesh, quats),
        room,
        |(mesh, quats), out| dual_peer(&mesh.0, quats, &mesh.1, out),
        move |out| error(out, &want_dual),
    );
}

/// Dual quaternions, one vertex after another.
#[cfg(feature = "peers")]
fn dual_peer(influences: &Influences, quats: &[peers::glam::DualQuat], bind: &Vertices, out: &mut Vertices) {
    let (starts, joints, weights) = influences.as_slices();
    for (v, ends) in starts.windows(2).enumerate() {
        let range = ends[0] as usize..ends[1] as usize;
        let row = joints[range.clone()].iter().zip(&weights[range]);
        let mut row = row.map(|(&joint, &weight)| (&quats[usize::from(joint)], weight));
        let Some((first, weight)) = row.next() else {
            continue;
        };
        let sum = row.fold(first.scaled(weight), |sum, (quat, weight)| sum.plus(quat, weight, first));
        let motion = sum.normalized();
        out.positions[v] = motion.point(bind.positions[v]);
        out.normals[v] = motion.direction(bind.normals[v]);
    }
}

/// Model matrices of a random pose, and the palette.
pub(super) fn random_palette(random: &mut Random) -> ((Skin, Vec<Affine>), Palette) {
    let bound = random.skin(PALETTE);
    let skeleton = random.skeleton(PALETTE);
    let mut model = vec![Affine::IDENTITY; PALETTE];
    local_to_model(&skeleton, &random.pose(PALETTE), &mut model).expect("sizes agree");
    let mut matrices = Palette::default();
    palette(&bound, &model, NormalRule::default(), &mut matrices).expect("sizes agree");
    ((bound, model), matrices)
}

/// Bitangents from normals and tangents.
fn crossing(subjects: &mut Subjects) {
    let mesh = Random(3).mesh(1024, PALETTE, 1);
    let bind = mesh.vertices();
    let wide = |normal: &[f32; 3], tangent: &[f32; 4]| {
        reference::bitangent(normal.map(f64::from), tangent.map(f64::from))
    };
    let want: Vec<_> = bind.normals.iter().zip(&bind.tangents).map(|(n, t)| wide(n, t)).collect();
    let want = Rc::new(want);
    let wrong =
        move |out: &Vec<[f32; 3]>| worst(out.as_flattened().iter().zip(want.as_flattened().iter().copied()));
    let call = |bind: &Vertices, out: &mut Vec<[f32; 3]>| {
        bitangents(&bind.normals, &bind.tangents, out).expect("sizes agree");
    };
    subjects.kernel("condyle", 3e-7, &Rc::new(bind.clone()), vec![[0.0; 3]; 1024], call, wrong.clone());
    let call = |bind: &Vertices, out: &mut Vec<[f32; 3]>| {
        for ((out, [a, b, c]), [x, y, z, w]) in out.iter_mut().zip(&bind.normals).zip(&bind.tangents) {
            *out = [(b * z - c * y) * w, (c * x - a * z) * w, (a * y - b * x) * w];
        }
    };
    subjects.peer("plain", bind.clone(), vec![[0.0; 3]; 1024], call, wrong);
}

/// Bytes read and written per vertex: the end of its influences, a joint and a weight or a base vector per
/// influence, and the vertex.
fn bytes(per_vertex: usize, how: How) -> usize {
    match how {
        Positions => 4 + per_vertex * (2 + 4) + 2 * 12,
        Bases => 4 + per_vertex * (2 + 16) + 12,
        Normals => 4 + per_vertex * (2 + 4) + 2 * 24,
        Frames => 4 + per_vertex * (2 + 4) + 2 * 40,
    }
}

/// Operations per vertex: the weighted sum of matrices of twelve values times each vector, or each base
/// vector times its matrix. Roots and divisions are not counted.
fn flops(per_vertex: usize, how: How) -> usize {
    match how {
        Positions => 24 * per_vertex - 12 + 18,
        Bases => 24 * per_vertex - 3,
        Normals => 24 * per_vertex - 12 + 18 + 15 + 8,
        Frames => 24 * per_vertex - 12 + 18 + 2 * (15 + 8),
    }
}

/// Positions, normals and tangents.
pub(super) type Want = Vec<[[f64; 3]; 3]>;

pub(super) fn want(mesh: &SkinnedMesh, matrices: &Palette) -> Want {
    let wide = reference::palette_matrices(matrices);
    let unit = |v: [f64; 3]| {
        let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        v.map(|v| v / length)
    };
    let bind = mesh.vertices();
    let one = |v: usize| {
        let m = reference::blend_matrices(&wide, mesh.influences().row(v));
        let [x, y, z, _] = bind.tangents[v];
        let turned = |v: [f32; 3]| unit(reference::transform_vector(&m, v.map(f64::from)));
        let position = reference::transform_point(&m, bind.positions[v].map(f64::from));
        [position, turned(bind.normals[v]), turned([x, y, z])]
    };
    (0..mesh.vertex_count()).map(one).collect()
}

pub(super) fn error(got: &Vertices, want: &Want) -> f64 {
    let one = |(v, want): (usize, &[[f64; 3]; 3])| {
        let position = worst(got.positions[v].iter().zip(want[0]));
        let normal = got.normals.get(v).map_or(0.0, |n| worst(n.iter().zip(want[1])));
        let tangent = got.tangents.get(v).map_or(0.0, |t| worst(t[..3].iter().zip(want[2])));
        largest([position, normal, tangent])
    };
    largest(want.iter().enumerate().map(one))
}

fn skinning(subjects: &mut Subjects, vertices: usize, influences: RangeInclusive<usize>, how: How) {
    let mut random = Random(3);
    let mesh = Rc::new(random.uneven_mesh(vertices, PALETTE, influences));
    let ((bound, model), matrices) = random_palette(&mut random);
    let want = Rc::new(want(&mesh, &matrices));
    let mut room = Vertices::zeroed_like(mesh.vertices());
    if how != Frames {
        room.tangents.clear();
    }
    if matches!(how, Positions | Bases) {
        room.normals.clear();
    }
    let columns: Vec<[f32; 16]> = matrices.matrices().iter().map(|m| m.columns).collect();
    let looked_at = want.clone();
    match how {
        Bases => {
            let bases = WeightedBases::new(mesh.influences(), &bound, &mesh.vertices().positions);
            subjects.kernel(
                "condyle",
                1e-5,
                &Rc::new((bases.expect("sizes agree"), model)),
                room.clone(),
                |(bases, model), out| {
                    skinning::positions(bases, model, &mut out.positions).expect("sizes agree");
                },
                move |out| error(out, &looked_at),
            );
        }
        Positions | Normals | Frames => subjects.kernel(
            "condyle",
            1e-5,
            &Rc::new((mesh.clone(), matrices)),
            room.clone(),
            |(mesh, matrices), out| {
                skin(mesh.influences(), matrices, mesh.vertices().as_slices(), out.as_slices_mut())
                    .expect("sizes agree");
            },
            move |out| error(out, &looked_at),
        ),
    }
    let peers = Peers { mesh, columns, room, want };
    peers.add::<peers::plain::Columns>(subjects);
    #[cfg(feature = "peers")]
    peers.add::<glam::Mat4>(subjects);
}

/// Data of all peers.
struct Peers {
    mesh: Rc<SkinnedMesh>,
    columns: Vec<[f32; 16]>,
    room: Vertices,
    want: Rc<Want>,
}

impl Peers {
    /// Loop for a peer crate: blends the matrices, then transforms.
    fn add<M: Deform>(&self, subjects: &mut Subjects) {
        let matrices: Vec<M> = self.columns.iter().map(M::from_columns).collect();
        let want = self.want.clone();
        subjects.peer(
            M::NAME,
            (self.mesh.clone(), matrices),
            self.room.clone(),
            |(mesh, matrices), out| peer(mesh, matrices, out),
            move |out| error(out, &want),
        );
    }
}

fn peer<M: Deform>(mesh: &SkinnedMesh, palette: &[M], out: &mut Vertices) {
    let bind = mesh.vertices();
    let (starts, joints, weights) = mesh.influences().as_slices();
    for (v, ends) in starts.windows(2).enumerate() {
        let mut row = joints[ends[0] as usize..ends[1] as usize]
            .iter()
            .zip(&weights[ends[0] as usize..ends[1] as usize])
            .map(|(&joint, &weight)| (&palette[usize::from(joint)], weight));
        let Some((first, weight)) = row.next() else {
            continue;
        };
        let m = row.fold(first.scaled(weight), |sum, (m, weight)| sum.plus(m, weight));
        out.positions[v] = m.point(bind.positions[v]);
        if !out.normals.is_empty() {
            out.normals[v] = m.direction(bind.normals[v]);
        }
        if !out.tangents.is_empty() {
            let [x, y, z, w] = bind.tangents[v];
            let [x, y, z] = m.direction([x, y, z]);
            out.tangents[v] = [x, y, z, w];
        }
    }
}
