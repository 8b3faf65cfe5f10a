//! Mesh data for [`skinning`](crate::skinning): vertices, influences, morph targets and inverse bind
//! matrices.
//!
//! An importer passes its arrays to [`SkinnedMesh`] and [`Skin`], which validate them once.

mod influences;
mod morph_target;
mod packed;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

pub use self::influences::{AtMost, Influences};
pub(crate) use self::influences::{GROUP_VERTICES, GroupRows};
pub(crate) use self::morph_target::{BLOCK_VERTICES, MorphBlock};
pub use self::morph_target::{MorphDelta, MorphDeltas, MorphTarget};
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Affine;

/// Vertex attributes, one array each.
///
/// ```
/// use condyle::Vertices;
///
/// let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let bind = Vertices { positions, normals: vec![[0.0, 0.0, 1.0]; 3], ..Vertices::default() };
/// // Allocates the output of a stage: the same number of positions and normals, and no tangents.
/// let posed = Vertices::zeroed_like(&bind);
/// assert_eq!((posed.positions.len(), posed.normals.len(), posed.tangents.len()), (3, 3, 0));
/// ```
#[derive(Default, PartialEq)]
pub struct Vertices {
    /// Positions in metres.
    pub positions: Vec<[f32; 3]>,
    /// Unit normals, or empty.
    pub normals: Vec<[f32; 3]>,
    /// Unit tangents with the handedness of the bitangent (+1 or -1) in `w`, or empty.
    pub tangents: Vec<[f32; 4]>,
}

/// `clone_from` reuses the existing allocation and allocates only if it is too small.
impl Clone for Vertices {
    fn clone(&self) -> Self {
        let Self { positions, normals, tangents } = self;
        Self { positions: positions.clone(), normals: normals.clone(), tangents: tangents.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { positions, normals, tangents } = source;
        self.positions.clone_from(positions);
        self.normals.clone_from(normals);
        self.tangents.clone_from(tangents);
    }
}

/// Prints the number of elements of each attribute, not their values.
impl fmt::Debug for Vertices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Vertices");
        all.field("positions", &self.positions.len()).field("normals", &self.normals.len());
        all.field("tangents", &self.tangents.len()).finish()
    }
}

impl Vertices {
    /// Allocates the output of a stage: as many elements of each attribute as `other` has, all zero.
    #[must_use]
    #[inline]
    pub fn zeroed_like(other: &Self) -> Self {
        Self {
            positions: vec![[0.0; 3]; other.positions.len()],
            normals: vec![[0.0; 3]; other.normals.len()],
            tangents: vec![[0.0; 4]; other.tangents.len()],
        }
    }

    /// Returns all attributes for reading.
    #[must_use]
    #[inline]
    pub fn as_slices(&self) -> VertexSlices<'_> {
        VertexSlices { positions: &self.positions, normals: &self.normals, tangents: &self.tangents }
    }

    /// Returns all attributes for writing.
    #[must_use]
    #[inline]
    pub fn as_slices_mut(&mut self) -> VertexSlicesMut<'_> {
        VertexSlicesMut {
            positions: &mut self.positions,
            normals: &mut self.normals,
            tangents: &mut self.tangents,
        }
    }
}

/// Borrowed vertex attributes for reading, from any memory. Normals and tangents may be empty.
///
/// ```
/// use condyle::mesh::VertexSlices;
/// use condyle::{Affine, Influences, NormalRule, Palette, Skin, Vertices, palette, skin};
///
/// let mut matrices = Palette::default();
/// let bound = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// palette(&bound, &[Affine::IDENTITY], NormalRule::default(), &mut matrices)?;
///
/// // A part of an engine's vertex array. Without input normals, no normals are computed.
/// let all = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 1.0, 0.0]];
/// let part = VertexSlices { positions: &all[1..], ..VertexSlices::default() };
/// let mut posed = Vertices { positions: vec![[0.0; 3]; 2], ..Vertices::default() };
/// skin(&Influences::rigid(2), &matrices, part, posed.as_slices_mut())?;
/// assert_eq!(posed.positions, all[1..]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct VertexSlices<'a> {
    /// Positions in metres.
    pub positions: &'a [[f32; 3]],
    /// Unit normals, or empty.
    pub normals: &'a [[f32; 3]],
    /// Unit tangents with the handedness of the bitangent (+1 or -1) in `w`, or empty.
    pub tangents: &'a [[f32; 4]],
}

/// Prints the number of elements of each attribute, not their values.
impl fmt::Debug for VertexSlices<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("VertexSlices");
        all.field("positions", &self.positions.len()).field("normals", &self.normals.len());
        all.field("tangents", &self.tangents.len()).finish()
    }
}

/// Borrowed vertex attributes for writing, in any memory. Empty normals or tangents are not computed.
///
/// ```
/// use condyle::mesh::{VertexSlices, VertexSlicesMut};
/// use condyle::{Affine, Influences, NormalRule, Palette, Skin, Transform, palette, skin};
///
/// // A rigid part on one joint, two metres above the origin.
/// let up = Affine::from(Transform { translation: [0.0, 2.0, 0.0], ..Transform::IDENTITY });
/// let mut matrices = Palette::default();
/// palette(&Skin::new(vec![0], vec![Affine::IDENTITY])?, &[up], NormalRule::default(), &mut matrices)?;
///
/// // The output goes to a range of a staging buffer that the whole scene shares.
/// let part = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
/// let mut staging = [[0.0; 3]; 8];
/// let bind = VertexSlices { positions: &part, ..VertexSlices::default() };
/// let posed = VertexSlicesMut { positions: &mut staging[4..6], ..VertexSlicesMut::default() };
/// skin(&Influences::rigid(2), &matrices, bind, posed)?;
/// assert_eq!(staging[4..6], [[0.0, 2.0, 0.0], [1.0, 2.0, 0.0]]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Default)]
pub struct VertexSlicesMut<'a> {
    /// Positions in metres.
    pub positions: &'a mut [[f32; 3]],
    /// Unit normals, or empty.
    pub normals: &'a mut [[f32; 3]],
    /// Unit tangents with the handedness of the bitangent (+1 or -1) in `w`, or empty.
    pub tangents: &'a mut [[f32; 4]],
}

/// Prints the number of elements of each attribute, not their values.
impl fmt::Debug for VertexSlicesMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("VertexSlicesMut");
        all.field("positions", &self.positions.len()).field("normals", &self.normals.len());
        all.field("tangents", &self.tangents.len()).finish()
    }
}

/// The joints and inverse bind matrices of a mesh.
///
/// ```
/// use condyle::{Affine, Joint, Skeleton, Skin, Transform, local_to_model};
///
/// // The mesh was modelled around the skeleton in its rest pose: the inverse bind matrices undo that pose.
/// let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
/// let skeleton = Skeleton::new([Joint::new("shoulder", None, up), Joint::new("elbow", Some(0), up)])?;
/// let mut model = [Affine::IDENTITY; 2];
/// local_to_model(&skeleton, skeleton.rest(), &mut model)?;
/// let inverse_bind = model.iter().map(|m| m.inverse().expect("no scale is 0")).collect();
///
/// let bound = Skin::new(vec![0, 1], inverse_bind)?;
/// assert_eq!(bound.inverse_bind()[1].transform_point([0.0, 2.0, 0.0]), [0.0; 3]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Skin {
    joints: Vec<u16>,
    inverse_bind: Vec<Affine>,
    /// One more than the largest joint index.
    joint_end: usize,
    /// Fingerprint of the skeleton that the skin belongs to; 0 if unknown.
    fingerprint: u32,
    /// Joint count of that skeleton; 0 if unknown.
    skeleton_joints: usize,
}

impl Skin {
    /// Checks and stores a skin.
    ///
    /// `joints[i]` is the skeleton joint of influence index `i`. `inverse_bind[i]` transforms a vertex from
    /// the bind pose to the space of that joint.
    ///
    /// # Errors
    /// [`Error::Length`] if the two lists differ in length, [`Error::TooMany`] above 65,535 joints,
    /// [`Error::NotFinite`] for a matrix with NaN or infinity.
    pub fn new(joints: Vec<u16>, inverse_bind: Vec<Affine>) -> Result<Self, Error> {
        Error::check_len("inverse bind matrices", inverse_bind.len(), joints.len())?;
        let limit = usize::from(u16::MAX);
        if joints.len() > limit {
            return Err(Error::TooMany { what: "joints of a skin", found: joints.len(), limit });
        }
        for (at, m) in inverse_bind.iter().enumerate() {
            if !m.rows.as_flattened().iter().all(|v| v.is_finite()) {
                return Err(Error::NotFinite { what: "inverse bind matrices", at });
            }
        }
        let joint_end = joints.iter().max().map_or(0, |&joint| usize::from(joint) + 1);
        Ok(Self { joints, inverse_bind, joint_end, fingerprint: 0, skeleton_joints: 0 })
    }

    /// Returns the skin tied to one skeleton.
    ///
    /// Functions that take a skin and a skeleton then reject any other skeleton, and [`fits`](Self::fits)
    /// checks it. Skins imported by `condyle-gltf` are tied to their skeleton.
    ///
    /// # Errors
    /// The errors of [`fits`](Self::fits).
    pub fn for_skeleton(mut self, skeleton: &Skeleton) -> Result<Self, Error> {
        self.fits(skeleton)?;
        (self.fingerprint, self.skeleton_joints) = (skeleton.fingerprint(), skeleton.joint_count());
        Ok(self)
    }

    /// Returns the fingerprint of the skeleton that the skin is tied to, or `None` if it is not tied to one.
    #[must_use]
    #[inline]
    pub fn fingerprint(&self) -> Option<u32> {
        Some(self.fingerprint).filter(|&of| of != 0)
    }

    /// Returns `Ok` if the skin can be used with this skeleton.
    ///
    /// Stages after [`local_to_model`](crate::local_to_model) receive only model matrices. They reject a
    /// tied skin if the number of matrices is wrong, but cannot detect another skeleton with the same number
    /// of joints. Call this function once, where skin and skeleton are paired.
    ///
    /// # Errors
    /// [`Error::Skeleton`] if the skin is tied to another skeleton, [`Error::Index`] if it uses a joint that
    /// the skeleton does not have.
    ///
    /// ```
    /// use condyle::{Affine, Error, Joint, Skeleton, Skin, Transform};
    ///
    /// let of = |name| Skeleton::new([Joint::new(name, None, Transform::IDENTITY)]);
    /// let (fox, bear) = (of("fox")?, of("bear")?);
    /// let fur = Skin::new(vec![0], vec![Affine::IDENTITY])?.for_skeleton(&fox)?;
    /// assert!(fur.fits(&fox).is_ok());
    /// assert!(matches!(fur.fits(&bear), Err(Error::Skeleton { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn fits(&self, skeleton: &Skeleton) -> Result<(), Error> {
        skeleton.check_fingerprint("the skin", self.fingerprint)?;
        self.check_joints(skeleton.joint_count())
    }

    /// Skeleton joint index of each influence index.
    #[must_use]
    #[inline]
    pub fn joints(&self) -> &[u16] {
        &self.joints
    }

    /// Inverse bind matrices, one per entry of [`joints`](Self::joints).
    #[must_use]
    #[inline]
    pub fn inverse_bind(&self) -> &[Affine] {
        &self.inverse_bind
    }

    /// Rejects a joint count that is too small for the joints of the skin. For a tied skin, the count must
    /// equal the joint count of its skeleton.
    #[inline]
    pub(crate) fn check_joints(&self, count: usize) -> Result<(), Error> {
        if ![0, count].contains(&self.skeleton_joints) {
            return Err(Error::Length {
                what: "joints of the model",
                found: count,
                needed: self.skeleton_joints,
            });
        }
        if self.joint_end <= count {
            return Ok(());
        }
        let at = self.joints.iter().position(|&joint| usize::from(joint) >= count).unwrap_or_default();
        let found = self.joints.get(at).copied().unwrap_or_default().into();
        Err(Error::Index { what: "joints of the skin", at, found, count })
    }
}

/// A triangle mesh in the bind pose: vertices, influences and morph targets.
///
/// ```
/// use condyle::{Error, Influences, SkinnedMesh, Vertices};
///
/// let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let triangle = Vertices { positions, ..Vertices::default() };
/// let mesh = SkinnedMesh::new(triangle.clone(), Influences::rigid(3), vec![0, 1, 2], vec![])?;
/// assert_eq!((mesh.vertex_count(), mesh.indices()), (3, &[0, 1, 2][..]));
///
/// // Arrays that do not match are rejected here. Later stages need no check.
/// let refused = SkinnedMesh::new(triangle, Influences::rigid(2), vec![0, 1, 2], vec![]);
/// assert_eq!(refused, Err(Error::Length { what: "influences", found: 2, needed: 3 }));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct SkinnedMesh {
    vertices: Vertices,
    influences: Influences,
    indices: Vec<u32>,
    morph_targets: Vec<MorphTarget>,
}

/// Prints the size of each part, not its values.
impl fmt::Debug for SkinnedMesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("SkinnedMesh");
        all.field("vertices", &self.vertices).field("influences", &self.influences);
        all.field("indices", &self.indices.len()).field("morph_targets", &self.morph_targets.len()).finish()
    }
}

impl SkinnedMesh {
    /// Checks and stores a mesh. `indices` has three vertex indices per triangle; it is empty for a mesh
    /// without an index buffer.
    ///
    /// # Errors
    /// [`Error::Length`] if an attribute or the influences do not have one element per vertex, or a morph
    /// target has another vertex count. Also if the number of indices is not a multiple of 3.
    /// [`Error::Index`] for an index that is not below the vertex count, [`Error::NotFinite`] for NaN or
    /// infinity.
    pub fn new(
        vertices: Vertices,
        influences: Influences,
        indices: Vec<u32>,
        morph_targets: Vec<MorphTarget>,
    ) -> Result<Self, Error> {
        let count = vertices.positions.len();
        let per_vertex = |what, found| {
            if found == 0 { Ok(()) } else { Error::check_len(what, found, count) }
        };
        Error::check_finite("positions", vertices.positions.as_flattened(), 3)?;
        per_vertex("normals", vertices.normals.len())?;
        Error::check_finite("normals", vertices.normals.as_flattened(), 3)?;
        per_vertex("tangents", vertices.tangents.len())?;
        Error::check_finite("tangents", vertices.tangents.as_flattened(), 4)?;
        Error::check_len("influences", influences.vertex_count(), count)?;
        for target in &morph_targets {
            Error::check_len("vertices of a morph target", target.vertex_count(), count)?;
        }
        if !indices.len().is_multiple_of(3) {
            let needed = indices.len().next_multiple_of(3);
            return Err(Error::Length { what: "indices", found: indices.len(), needed });
        }
        if let Some(at) = indices.iter().position(|&i| i as usize >= count) {
            return Err(Error::Index { what: "indices", at, found: indices[at] as usize, count });
        }
        Ok(Self { vertices, influences, indices, morph_targets })
    }

    /// Number of vertices.
    #[must_use]
    #[inline]
    pub fn vertex_count(&self) -> usize {
        self.vertices.positions.len()
    }

    /// Vertices in the bind pose.
    #[must_use]
    #[inline]
    pub fn vertices(&self) -> &Vertices {
        &self.vertices
    }

    /// Joints and weights of each vertex.
    #[must_use]
    #[inline]
    pub fn influences(&self) -> &Influences {
        &self.influences
    }

    /// Vertex indices, three per triangle; empty for a mesh without an index buffer.
    #[must_use]
    #[inline]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Morph targets, in the order of the document.
    #[must_use]
    #[inline]
    pub fn morph_targets(&self) -> &[MorphTarget] {
        &self.morph_targets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, tries};
    use std::format;

    #[test]
    fn a_large_mesh_prints_as_a_line() {
        let mesh = Random(3).mesh(tries(5000), 7);
        let text = format!("{mesh:?}");
        assert!(text.len() < 300 && text.contains(&format!("vertex_count: {}", tries(5000))), "{text}");
    }

    #[test]
    fn skins_must_be_whole_and_finite() {
        let identity = Affine::IDENTITY;
        let what = "inverse bind matrices";
        assert_eq!(Skin::new(vec![1, 2], vec![identity]), Err(Error::Length { what, found: 1, needed: 2 }));
        let mut bad = identity;
        bad.rows[2][3] = f32::INFINITY;
        assert_eq!(Skin::new(vec![1, 2], vec![identity, bad]), Err(Error::NotFinite { what, at: 1 }));
        assert!(Skin::new(vec![0; 65_536], vec![identity; 65_536]).is_err());
    }

    #[test]
    fn attributes_must_fit_the_vertices() {
        let whole = Random(1).mesh(5, 2);
        let build =
            |vertices, morphs| SkinnedMesh::new(vertices, whole.influences().clone(), vec![0, 4, 2], morphs);
        assert!(build(whole.vertices().clone(), whole.morph_targets().to_vec()).is_ok());
        let mut short = whole.vertices().clone();
        short.tangents.pop();
        assert_eq!(build(short, vec![]), Err(Error::Length { what: "tangents", found: 4, needed: 5 }));
        let mut bad = whole.vertices().clone();
        bad.normals[3][1] = f32::NAN;
        assert_eq!(build(bad, vec![]), Err(Error::NotFinite { what: "normals", at: 3 }));
        let mut morphs = whole.morph_targets().to_vec();
        morphs[2] = MorphTarget::from_sparse(6, MorphDeltas::default()).expect("nothing moves");
        let what = "vertices of a morph target";
        let refused = build(whole.vertices().clone(), morphs);
        assert_eq!(refused, Err(Error::Length { what, found: 6, needed: 5 }));
        let lost =
            SkinnedMesh::new(whole.vertices().clone(), whole.influences().clone(), vec![0, 5, 1], vec![]);
        assert_eq!(lost, Err(Error::Index { what: "indices", at: 1, found: 5, count: 5 }));
        let odd = SkinnedMesh::new(whole.vertices().clone(), whole.influences().clone(), vec![0, 1], vec![]);
        assert_eq!(odd, Err(Error::Length { what: "indices", found: 2, needed: 3 }));
        let few = SkinnedMesh::new(whole.vertices().clone(), Influences::rigid(4), vec![], vec![]);
        assert_eq!(few, Err(Error::Length { what: "influences", found: 4, needed: 5 }));
    }
}
