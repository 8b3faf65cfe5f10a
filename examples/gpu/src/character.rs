//! Procedural character: 42 joints, a tube along each bone, and a clip of exercises.

use std::f32::consts::TAU;
use std::mem::offset_of;

use bytemuck::{Pod, Zeroable};
use condyle::skinning::{Interleaved, VertexLayout};
use condyle::{
    Affine, Clip, Error, Influences, Interpolation, Joint, RawClip, Skeleton, Skin, Target, Track, Transform,
    local_to_model,
};
use condyle_encode::{EncodeOptions, Shell};

use crate::packed::{JointFormat, Packed};

/// Vertex in the vertex buffer. Attributes that skinning does not change, such as texture coordinates, belong
/// in a separate buffer shared by all objects of a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Vertex {
    /// Position in metres.
    pub(crate) position: [f32; 3],
    /// Unit normal.
    pub(crate) normal: [f32; 3],
}

/// Vertex layout for `skin`, which matches a `VertexBufferLayout` of wgpu.
pub(crate) const LAYOUT: VertexLayout = VertexLayout {
    stride: size_of::<Vertex>(),
    position: offset_of!(Vertex, position),
    normal: Some(offset_of!(Vertex, normal)),
    tangent: None,
};

/// Immutable data shared by all objects with this character.
pub(crate) struct Character {
    pub(crate) skeleton: Skeleton,
    pub(crate) skin: Skin,
    pub(crate) clip: Clip<'static>,
}

/// Skinned mesh for the CPU and the GPU.
pub(crate) struct Mesh {
    /// Vertices in the bind pose.
    pub(crate) vertices: Vec<Vertex>,
    /// Authored influences, any number per vertex.
    pub(crate) influences: Influences,
    /// Influences in GPU format.
    pub(crate) packed: Packed,
}

impl Mesh {
    /// Creates a mesh.
    ///
    /// # Errors
    /// The errors of [`Influences::pack`], or different numbers of influences and vertices.
    pub(crate) fn new(
        vertices: Vec<Vertex>,
        influences: Influences,
        format: JointFormat,
    ) -> Result<Self, Error> {
        let (found, needed) = (influences.vertex_count(), vertices.len());
        if found != needed {
            return Err(Error::Length { what: "influences", found, needed });
        }
        let packed = Packed::new(&influences, format)?;
        Ok(Self { vertices, influences, packed })
    }

    /// Vertices in the form that `skin` reads.
    pub(crate) fn bind(&self) -> Interleaved<'_> {
        Interleaved { bytes: bytemuck::cast_slice(&self.vertices), layout: LAYOUT }
    }
}

/// Rings of a tube, and vertices per ring.
const RINGS: u16 = 8;
const SIDES: u16 = 12;
/// Maximum number of influences per vertex, two more than the GPU format holds.
const INFLUENCES: usize = 6;
/// Number of keys of the clip, and its duration in seconds.
const KEYS: u16 = 40;
pub(crate) const SECONDS: f32 = 2.0;

impl Character {
    pub(crate) fn new() -> Result<Self, Error> {
        let skeleton = skeleton()?;
        let inverse = rest(&skeleton)?.iter().map(|joint| joint.inverse().unwrap_or_default()).collect();
        let skin = Skin::new((0..skeleton.joint_count() as u16).collect(), inverse)?;
        let raw = exercises(&skeleton)?;
        let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
        let clip = condyle_encode::encode(&raw, &skeleton, &options, &mut |_| ())?.into_clip();
        Ok(Self { skeleton, skin, clip })
    }

    /// Mesh with a tube along each bone.
    pub(crate) fn body(&self, format: JointFormat) -> Result<Mesh, Error> {
        let places: Vec<[f32; 3]> =
            rest(&self.skeleton)?.iter().map(|joint| joint.transform_point([0.0; 3])).collect();
        let bones = (0..self.skeleton.joint_count() as u16).filter_map(|joint| {
            Some([self.skeleton.parent(joint)?, joint].map(|end| places[usize::from(end)]))
        });
        let vertices: Vec<Vertex> = bones.flat_map(tube).collect();
        let rows = vertices.iter().map(|vertex| influences_at(vertex.position, &places));
        let influences = Influences::from_rows(rows)?;
        Mesh::new(vertices, influences, format)
    }

    /// Stick that is rigidly attached to the left hand.
    pub(crate) fn stick(&self, format: JointFormat) -> Result<Mesh, Error> {
        let hand = self.skeleton.joint_by_name("left hand").unwrap_or(0);
        let at = rest(&self.skeleton)?[usize::from(hand)].transform_point([0.06, 0.0, 0.0]);
        let ends = [-0.3, 0.5].map(|z| [at[0], at[1], at[2] + z]);
        let vertices: Vec<Vertex> = tube(ends).collect();
        let influences = Influences::from_rows(vertices.iter().map(|_| [(hand, 1.0)]))?;
        Mesh::new(vertices, influences, format)
    }
}

/// Model matrices of the rest pose.
fn rest(skeleton: &Skeleton) -> Result<Vec<Affine>, Error> {
    let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
    local_to_model(skeleton, skeleton.rest(), &mut model)?;
    Ok(model)
}

/// Adds a chain of joints with these names and translations below `parent`. Returns the index of the last
/// joint.
fn chain(joints: &mut Vec<Joint>, mut parent: Option<u16>, links: &[(&str, [f32; 3])]) -> u16 {
    for &(name, translation) in links {
        joints.push(Joint::new(name, parent, Transform { translation, ..Transform::IDENTITY }));
        parent = Some(joints.len() as u16 - 1);
    }
    parent.unwrap_or(0)
}

/// Skeleton with arms straight out to the sides, and hips one metre above the origin.
fn skeleton() -> Result<Skeleton, Error> {
    let mut joints = Vec::new();
    let trunk = [
        ("hips", [0.0, 1.0, 0.0]),
        ("spine", [0.0, 0.12, 0.0]),
        ("back", [0.0, 0.14, 0.0]),
        ("chest", [0.0, 0.14, 0.0]),
    ];
    let chest = chain(&mut joints, None, &trunk);
    chain(&mut joints, Some(chest), &[("neck", [0.0, 0.16, 0.0]), ("head", [0.0, 0.14, 0.02])]);
    for (side, x) in [("left", 1.0), ("right", -1.0)] {
        let named = |part: &str| format!("{side} {part}");
        let limb = |parts: &[(&str, [f32; 3])], joints: &mut Vec<Joint>, parent| {
            let names: Vec<String> = parts.iter().map(|(part, _)| named(part)).collect();
            let links: Vec<(&str, [f32; 3])> =
                names.iter().zip(parts).map(|(name, part)| (name.as_str(), part.1)).collect();
            chain(joints, Some(parent), &links)
        };
        let leg = [
            ("upper leg", [0.1 * x, -0.06, 0.0]),
            ("lower leg", [0.0, -0.42, 0.0]),
            ("foot", [0.0, -0.44, -0.02]),
            ("toes", [0.0, -0.05, 0.14]),
        ];
        limb(&leg, &mut joints, 0);
        let arm = [
            ("shoulder", [0.06 * x, 0.1, 0.0]),
            ("upper arm", [0.12 * x, 0.02, 0.0]),
            ("lower arm", [0.28 * x, 0.0, 0.0]),
            ("hand", [0.25 * x, 0.0, 0.0]),
        ];
        let hand = limb(&arm, &mut joints, chest);
        for (finger, z) in (0_i8..).zip(["thumb", "index", "middle", "ring", "little"]) {
            let across = 0.04 - 0.02 * f32::from(finger);
            let parts = [(z, [0.08 * x, 0.0, across]), ("tip", [0.04 * x, 0.0, 0.0])];
            limb(&parts, &mut joints, hand);
        }
    }
    Skeleton::new(joints)
}

/// Clip in which all joints swing about some axis and the hips move up and down.
fn exercises(skeleton: &Skeleton) -> Result<RawClip, Error> {
    let parts: Vec<f32> = (0..=KEYS).map(|key| f32::from(key) / f32::from(KEYS)).collect();
    let times: Vec<f32> = parts.iter().map(|part| part * SECONDS).collect();
    let track = |target, values| Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
    let swing = |joint: u16| {
        // Legs and arms swing far, fingers and back less, and neighbours are out of phase.
        let reach = if skeleton.parent(joint).is_some_and(|parent| parent < 4) { 0.35 } else { 0.5 };
        let axis = usize::from(joint) % 3;
        let rotation = |part: &f32| {
            let half = 0.5 * reach * (part * TAU + f32::from(joint)).sin();
            let mut rotation = [0.0, 0.0, 0.0, half.cos()];
            rotation[axis] = half.sin();
            rotation
        };
        track(Target::Rotation(joint), parts.iter().flat_map(rotation).collect())
    };
    let jump = parts.iter().flat_map(|part| [0.0, 1.0 + 0.1 * (part * TAU).sin(), 0.0]).collect();
    let tracks = (0..skeleton.joint_count() as u16).map(swing);
    let tracks = tracks.chain([track(Target::Translation(0), jump)]).collect();
    RawClip::new("exercises".into(), vec![times], tracks)
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Normalised cross product of `a` and `by`.
fn across(a: [f32; 3], by: [f32; 3]) -> [f32; 3] {
    let product = [a[1] * by[2] - a[2] * by[1], a[2] * by[0] - a[0] * by[2], a[0] * by[1] - a[1] * by[0]];
    let length = dot(product, product).sqrt();
    product.map(|component| component / length)
}

/// Rings of vertices from one end of a bone to the other, with normals that point away from it.
fn tube([from, to]: [[f32; 3]; 2]) -> impl Iterator<Item = Vertex> {
    let along = [0, 1, 2].map(|axis| to[axis] - from[axis]);
    // The axis with the smallest component is not parallel to the bone.
    let least = (0..3).min_by(|&a: &usize, &b| along[a].abs().total_cmp(&along[b].abs())).unwrap_or(0);
    let mut aside = [0.0; 3];
    aside[least] = 1.0;
    let ahead = across(along, aside);
    let side = across(ahead, along);
    let radius = 0.03 + 0.1 * dot(along, along).sqrt();
    (0..RINGS).flat_map(move |ring| {
        (0..SIDES).map(move |corner| {
            let (sin, cos) = (f32::from(corner) / f32::from(SIDES) * TAU).sin_cos();
            let part = f32::from(ring) / f32::from(RINGS - 1);
            let normal = [0, 1, 2].map(|axis| side[axis] * cos + ahead[axis] * sin);
            let position = [0, 1, 2].map(|axis| from[axis] + along[axis] * part + normal[axis] * radius);
            Vertex { position, normal }
        })
    })
}

/// Influences of the nearest joints with a sum of 1. Closer joints have larger weights, and weights below
/// 0.01 are dropped.
fn influences_at(position: [f32; 3], joints: &[[f32; 3]]) -> Vec<(u16, f32)> {
    let nearness = |joint: &[f32; 3]| {
        let way = [0, 1, 2].map(|axis| position[axis] - joint[axis]);
        (dot(way, way) + 0.002).powi(-6)
    };
    let mut row: Vec<(u16, f32)> = (0..).zip(joints.iter().map(nearness)).collect();
    row.sort_by(|a, b| b.1.total_cmp(&a.1));
    row.truncate(INFLUENCES);
    let least = 0.01 * row.iter().map(|(_, weight)| weight).sum::<f32>();
    row.retain(|(_, weight)| *weight >= least);
    let sum: f32 = row.iter().map(|(_, weight)| weight).sum();
    row.into_iter().map(|(joint, weight)| (joint, weight / sum)).collect()
}
