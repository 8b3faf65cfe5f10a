//! Compares dual quaternion skinning of all models in all clips with the formula in f64.

use std::path::Path;

use condyle::{Dispatch, NormalRule, RawClip, Vertices};
use condyle_gltf::{Placement, Poser, Primitive, Skinning};
use condyle_testing::reference::{
    DualJoint, dual_joints, dual_matrix, dual_normal, local_to_model, locals, morph, palette, sample_raw,
    transform_point, transform_vector,
};

use crate::answers::Answers;
use crate::imported::weights;

/// Number of times in each clip, including both ends.
const MOMENTS: usize = 5;
/// Number of vertices of each primitive that are compared at each time, evenly spread.
const VERTICES: usize = 200;
/// Maximum error of positions, relative to the box diagonal.
const POSITIONS: f64 = 1e-6;
/// Maximum error of unit vectors, divided by their length before normalising.
const DIRECTIONS: f64 = 1e-5;
/// Cosine of half the rotation angle below which two rotations count as half a turn apart.
const HALF_TURN: f64 = 1e-5;

/// Positions, normals and tangents in the layout of a mesh and its morph targets.
type Morphed = [Vec<[f64; 3]>; 3];

/// The maximum errors.
#[derive(Debug, Default)]
struct Worst {
    position: f64,
    direction: f64,
    /// Number of vertices between joints that are half a turn apart: rounding decides the direction of their
    /// blend.
    undecided: usize,
}

pub(crate) fn skinned_as_the_formula(path: &Path) {
    let model = Answers::open(path);
    let asset = &model.asset;
    let mut poser = Poser::new(asset, Skinning::DualQuaternion.into()).expect("room for all instances");
    let mut worst = Worst::default();
    let clips = asset.clips.iter().map(Some);
    for clip in clips.chain(asset.clips.is_empty().then_some(None)) {
        for moment in 0..if clip.is_some() { MOMENTS } else { 1 } {
            let part = moment as f32 / (MOMENTS - 1) as f32;
            let seconds = clip.map_or(0.0, |clip| clip.start() + f64::from(part) * clip.duration());
            compare(&model, clip, seconds, &mut poser, &mut worst);
        }
    }
    let Worst { position, direction, undecided } = worst;
    println!("{}: {position:.2e}, directions {direction:.2e}, undecided {undecided}", model.name);
    assert!(worst.position <= POSITIONS && worst.direction <= DIRECTIONS, "{}: {worst:?}", model.name);
}

/// Compares one pose with the formula on every instruction set.
fn compare(model: &Answers, clip: Option<&RawClip>, seconds: f64, poser: &mut Poser<'_>, worst: &mut Worst) {
    let (asset, diagonal) = (&model.asset, model.number("bbox_diag"));
    let mut pose = match clip {
        Some(clip) => sample_raw(clip, &asset.skeleton, seconds),
        None => locals(asset.skeleton.rest()),
    };
    for joint in &mut pose {
        let length = joint.rotation.iter().map(|c| c * c).sum::<f64>().sqrt();
        joint.rotation = joint.rotation.map(|c| c / length);
    }
    let placed = local_to_model(&asset.skeleton, &pose);
    let mut want = vec![];
    for (at, instance) in asset.instances.iter().enumerate() {
        let Placement::Skin(skin) = instance.placement else { continue };
        let matrices = palette(&asset.skins[skin], &placed);
        let joints = dual_joints(&asset.skins[skin], &matrices);
        let weights = weights(instance, clip, seconds);
        for (k, primitive) in instance.primitives.iter().enumerate() {
            let morphed = morph(&primitive.mesh, &weights);
            let step = primitive.mesh.vertex_count().div_ceil(VERTICES).max(1);
            let vertices = (0..primitive.mesh.vertex_count()).step_by(step);
            for v in vertices {
                let want_v = Wanted::of(&joints, primitive, &morphed, v);
                worst.undecided += usize::from(want_v.is_none());
                want.extend(want_v.map(|want| (at, k, v, want)));
            }
        }
    }
    for dispatch in Dispatch::all() {
        dispatch.scope(|| poser.pose(clip, seconds)).expect("the clip is the asset's");
        for (instance, primitive, v, want) in &want {
            want.compare(&poser.posed(*instance)[*primitive], *v, diagonal, worst);
        }
    }
}

/// A vertex by the formula: its position, and its normal and tangent with their lengths before normalising.
struct Wanted {
    position: [f64; 3],
    normal: Option<([f64; 3], f64)>,
    tangent: Option<([f64; 3], f64)>,
}

impl Wanted {
    /// Returns `None` if joints are half a turn apart.
    fn of(
        joints: &[DualJoint],
        primitive: &Primitive,
        [points, normals, tangents]: &Morphed,
        v: usize,
    ) -> Option<Self> {
        let row: Vec<_> = primitive.mesh.influences().row(v).collect();
        let Some((heaviest, _)) = row.first() else {
            return Some(Self { position: [0.0; 3], normal: None, tangent: None });
        };
        let rotation = |joint: &u16| joints[usize::from(*joint)].rotation;
        let heaviest = rotation(heaviest);
        let apart = |q: [f64; 4]| heaviest.iter().zip(q).map(|(a, b)| a * b).sum::<f64>();
        if row.iter().any(|(joint, _)| apart(rotation(joint)).abs() < HALF_TURN) {
            return None;
        }
        let m = dual_matrix(joints, row.iter().copied());
        let tangent = |v: &[f64; 3]| {
            let turned = transform_vector(&m, *v);
            let length = turned.iter().map(|v| v * v).sum::<f64>().sqrt();
            (turned.map(|v| v / length), length)
        };
        let normal = |v: &[f64; 3]| dual_normal(joints, row.iter().copied(), NormalRule::default(), *v);
        Some(Self {
            position: transform_point(&m, points[v]),
            normal: normals.get(v).map(normal),
            tangent: tangents.get(v).map(tangent),
        })
    }

    fn compare(&self, got: &Vertices, v: usize, diagonal: f64, worst: &mut Worst) {
        let off = |got: &[f32], want: &[f64; 3]| {
            let off = got.iter().zip(want).map(|(got, want)| (f64::from(*got) - want).abs());
            // NaN counts as the largest error.
            off.fold(0.0, |a, b| if b <= a { a } else { b })
        };
        let position = off(&got.positions[v], &self.position) / diagonal;
        worst.position = if position <= worst.position { worst.position } else { position };
        let mut direction = |got: &[f32], want: &Option<([f64; 3], f64)>| {
            let Some((want, length)) = want.filter(|(_, length)| *length > 1e-3) else { return };
            let error = off(got, &want) * length.min(1.0);
            worst.direction = if error <= worst.direction { worst.direction } else { error };
        };
        if let Some(normal) = got.normals.get(v) {
            direction(normal, &self.normal);
        }
        if let Some([tangent @ .., _]) = got.tangents.get(v) {
            direction(tangent, &self.tangent);
        }
    }
}
