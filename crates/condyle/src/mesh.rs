//! What is deformed. In go arrays of vertices, influences, morph targets and inverse bind matrices, as an
//! importer has them; out come a [`SkinnedMesh`] and a [`Skin`], checked once, for [`skin`](mod@crate::skin).

mod packed;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::error::Error;
use crate::math::Affine;
use crate::skeleton::Skeleton;

/// Vertex attributes, one array each.
///
/// ```
/// use condyle::Vertices;
///
/// let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let bind = Vertices { positions, normals: vec![[0.0, 0.0, 1.0]; 3], ..Vertices::default() };
/// // Room for what a stage computes: as many positions and normals, and no tangents either.
/// let posed = Vertices::zeroed_like(&bind);
/// assert_eq!((posed.positions.len(), posed.normals.len(), posed.tangents.len()), (3, 3, 0));
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Vertices {
    /// Metres.
    pub positions: Vec<[f32; 3]>,
    /// Unit vectors, or empty.
    pub normals: Vec<[f32; 3]>,
    /// Unit vectors and the handedness of the bitangent (+1 or -1), or empty.
    pub tangents: Vec<[f32; 4]>,
}

/// How many of each attribute, not their numbers.
impl fmt::Debug for Vertices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Vertices");
        all.field("positions", &self.positions.len()).field("normals", &self.normals.len());
        all.field("tangents", &self.tangents.len()).finish()
    }
}

impl Vertices {
    /// Room for the result of a stage: the same attributes, all zero.
    #[must_use]
    pub fn zeroed_like(other: &Self) -> Self {
        Self {
            positions: vec![[0.0; 3]; other.positions.len()],
            normals: vec![[0.0; 3]; other.normals.len()],
            tangents: vec![[0.0; 4]; other.tangents.len()],
        }
    }

    /// All attributes, to read.
    #[must_use]
    pub fn as_slices(&self) -> VertexSlices<'_> {
        VertexSlices { positions: &self.positions, normals: &self.normals, tangents: &self.tangents }
    }

    /// All attributes, to write.
    #[must_use]
    pub fn as_slices_mut(&mut self) -> VertexSlicesMut<'_> {
        VertexSlicesMut {
            positions: &mut self.positions,
            normals: &mut self.normals,
            tangents: &mut self.tangents,
        }
    }
}

/// Vertex attributes to read, wherever they lie. Normals and tangents may be empty.
///
/// ```
/// use condyle::mesh::VertexSlices;
/// use condyle::{Affine, Influences, NormalRule, Palette, Skin, Vertices, palette, skin};
///
/// let mut matrices = Palette::default();
/// let bound = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// palette(&bound, &[Affine::IDENTITY], NormalRule::default(), &mut matrices)?;
///
/// // One part of an engine's own vertex array. Without normals to read, none are computed.
/// let all = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 1.0, 0.0]];
/// let part = VertexSlices { positions: &all[1..], ..VertexSlices::default() };
/// let mut posed = Vertices { positions: vec![[0.0; 3]; 2], ..Vertices::default() };
/// skin(&Influences::rigid(2), &matrices, part, posed.as_slices_mut())?;
/// assert_eq!(posed.positions, all[1..]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct VertexSlices<'a> {
    /// Metres.
    pub positions: &'a [[f32; 3]],
    /// Unit vectors, or empty.
    pub normals: &'a [[f32; 3]],
    /// Unit vectors and the handedness of the bitangent (+1 or -1), or empty.
    pub tangents: &'a [[f32; 4]],
}

/// How many of each attribute, not their numbers.
impl fmt::Debug for VertexSlices<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("VertexSlices");
        all.field("positions", &self.positions.len()).field("normals", &self.normals.len());
        all.field("tangents", &self.tangents.len()).finish()
    }
}

/// Vertex attributes to write, wherever they lie. Empty normals or tangents are not computed.
///
/// ```
/// use condyle::mesh::{VertexSlices, VertexSlicesMut};
/// use condyle::{Affine, Influences, NormalRule, Palette, Skin, Transform, palette, skin};
///
/// // A rigid part on one joint, two metres up.
/// let up = Affine::from(Transform { translation: [0.0, 2.0, 0.0], ..Transform::IDENTITY });
/// let mut matrices = Palette::default();
/// palette(&Skin::new(vec![0], vec![Affine::IDENTITY])?, &[up], NormalRule::default(), &mut matrices)?;
///
/// // Written to its place in a staging buffer that the whole scene shares.
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
    /// Metres.
    pub positions: &'a mut [[f32; 3]],
    /// Unit vectors, or empty.
    pub normals: &'a mut [[f32; 3]],
    /// Unit vectors and the handedness of the bitangent (+1 or -1), or empty.
    pub tangents: &'a mut [[f32; 4]],
}

/// How many of each attribute, not their numbers.
impl fmt::Debug for VertexSlicesMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("VertexSlicesMut");
        all.field("positions", &self.positions.len()).field("normals", &self.normals.len());
        all.field("tangents", &self.tangents.len()).finish()
    }
}

/// One morph target: what is added to each attribute at weight 1. Empty arrays add nothing.
///
/// ```
/// use condyle::{Influences, MorphTarget, SkinnedMesh, Vertices, morph};
///
/// let lip = Vertices { positions: vec![[0.0, 1.5, 0.0]], ..Vertices::default() };
/// let smile = MorphTarget { positions: vec![[0.0, 0.25, 0.0]], ..MorphTarget::default() };
/// let mesh = SkinnedMesh::new(lip, Influences::rigid(1), vec![], vec![smile])?;
///
/// let mut morphed = Vertices::zeroed_like(mesh.vertices());
/// morph(&mesh, &[0.5], morphed.as_slices_mut())?;
/// assert_eq!(morphed.positions, [[0.0, 1.625, 0.0]]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MorphTarget {
    /// Metres, one per vertex or empty.
    pub positions: Vec<[f32; 3]>,
    /// One per vertex or empty.
    pub normals: Vec<[f32; 3]>,
    /// One per vertex or empty; the handedness never changes.
    pub tangents: Vec<[f32; 3]>,
}

/// Which joints move each vertex, and how much: compressed rows of any length.
///
/// Each row is sorted by falling weight. Zero weights are not stored.
///
/// ```
/// use condyle::Influences;
///
/// // The first vertex belongs to two joints of the arm, the second to the hand alone.
/// let influences = Influences::from_rows([vec![(4, 0.25), (3, 0.75)], vec![(5, 1.0)]])?;
/// assert!(influences.row(0).eq([(3, 0.75), (4, 0.25)]));
/// assert_eq!((influences.longest_row(), influences.joint_bound()), (2, 6));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Influences {
    /// Row `v` is `joints[starts[v]..starts[v + 1]]`, the same range of `weights`.
    starts: Vec<u32>,
    joints: Vec<u16>,
    weights: Vec<f32>,
    /// One more than the greatest joint named.
    joint_bound: usize,
    /// The longest row.
    longest: usize,
    /// See [`group_counts`](Self::group_counts).
    group_counts: Vec<u8>,
}

/// Vertices that [`skin`](mod@crate::skin) takes at a time.
pub(crate) const GROUP_VERTICES: usize = 8;

/// How many there are, not which.
impl fmt::Debug for Influences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Influences");
        all.field("vertex_count", &self.vertex_count()).field("influences", &self.joints.len());
        all.field("joint_bound", &self.joint_bound).field("longest_row", &self.longest).finish()
    }
}

impl Influences {
    /// From rows of `(joint, weight)`, one row per vertex. Zero weights are dropped, the rest is sorted.
    ///
    /// Weights are used as they are: whether they sum to one is the importer's business.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a weight that is NaN or infinite, [`Error::TooMany`] above 2^32 influences.
    pub fn from_rows<R>(rows: impl IntoIterator<Item = R>) -> Result<Self, Error>
    where
        R: IntoIterator<Item = (u16, f32)>,
    {
        let mut it = Self {
            starts: vec![0],
            joints: vec![],
            weights: vec![],
            joint_bound: 0,
            longest: 0,
            group_counts: vec![],
        };
        let mut row = Vec::new();
        for (at, pairs) in rows.into_iter().enumerate() {
            row.clear();
            row.extend(pairs.into_iter().filter(|p| p.1 != 0.0));
            if row.iter().any(|p| !p.1.is_finite()) {
                return Err(Error::NotFinite { what: "weights", at });
            }
            // Stable, so that equal weights keep the file's order on every platform.
            row.sort_by(|a, b| b.1.total_cmp(&a.1));
            for &(joint, weight) in &row {
                it.joints.push(joint);
                it.weights.push(weight);
                it.joint_bound = it.joint_bound.max(usize::from(joint) + 1);
            }
            it.longest = it.longest.max(row.len());
            let found = it.joints.len();
            let end = u32::try_from(found);
            it.starts.push(end.map_err(|_| Error::TooMany {
                what: "influences",
                found,
                limit: u32::MAX as usize,
            })?);
        }
        it.group_counts = group_counts(&it.starts);
        Ok(it)
    }

    /// Every vertex follows joint 0 alone: a rigid part.
    #[must_use]
    pub fn rigid(vertex_count: u32) -> Self {
        let n = vertex_count as usize;
        let starts: Vec<_> = (0..=vertex_count).collect();
        Self {
            group_counts: group_counts(&starts),
            starts,
            joints: vec![0; n],
            weights: vec![1.0; n],
            joint_bound: n.min(1),
            longest: n.min(1),
        }
    }

    /// How many vertices there are.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// One more than the greatest joint named; a palette must hold at least as many matrices.
    #[must_use]
    pub fn joint_bound(&self) -> usize {
        self.joint_bound
    }

    /// The greatest number of influences on one vertex.
    #[must_use]
    pub fn longest_row(&self) -> usize {
        self.longest
    }

    /// The influences on one vertex, heaviest first.
    ///
    /// # Panics
    /// If there is no such vertex.
    #[inline]
    pub fn row(&self, vertex: usize) -> impl ExactSizeIterator<Item = (u16, f32)> + '_ {
        let range = self.starts[vertex] as usize..self.starts[vertex + 1] as usize;
        self.joints[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }

    /// Only the `count` heaviest influences of each vertex, for a lower level of detail. What is left is multiplied so that
    /// its sum stays that of all weights; one influence is always left, which makes the vertex rigid.
    #[must_use]
    pub fn at_most(&self, count: u32) -> AtMost<'_, Self> {
        AtMost::new(self, count)
    }

    /// One to four where all vertices of a group of [`GROUP_VERTICES`] have as many influences, as they mostly do; else
    /// 0, and for a group that is not whole.
    pub(crate) fn group_counts(&self) -> &[u8] {
        &self.group_counts
    }

    /// `(starts, joints, weights)`: row `v` is `joints[starts[v]..starts[v + 1]]`.
    #[must_use]
    pub fn as_slices(&self) -> (&[u32], &[u16], &[f32]) {
        (&self.starts, &self.joints, &self.weights)
    }
}

/// The counts of [`Influences::group_counts`].
fn group_counts(starts: &[u32]) -> Vec<u8> {
    let count_of = |ends: &[u32]| ends[1] - ends[0];
    let vertices = starts.len() - 1;
    let group = |first: usize| {
        let starts = starts.get(first..=first + GROUP_VERTICES)?;
        let count = count_of(starts);
        let common = starts.windows(2).all(|ends| count_of(ends) == count) && (1..=4).contains(&count);
        common.then_some(count as u8)
    };
    (0..vertices).step_by(GROUP_VERTICES).map(|first| group(first).unwrap_or(0)).collect()
}

/// Influences, of which only the heaviest of each vertex count. A plain reference turns into all of them.
///
/// Between two levels a vertex jumps: they are for characters at some distance. J.M.P. van Waveren, *Fast
/// Skinning*, section 2.
///
/// ```
/// use condyle::{Affine, Influences, NormalRule, Palette, Skin, Transform, Vertices, palette, skin};
///
/// let up = |y| Affine::from(Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY });
/// let bound = Skin::new(vec![0, 1], vec![Affine::IDENTITY; 2])?;
/// let mut matrices = Palette::default();
/// palette(&bound, &[up(0.0), up(4.0)], NormalRule::default(), &mut matrices)?;
///
/// let influences = Influences::from_rows([[(0, 0.25), (1, 0.75)]])?;
/// let bind = Vertices { positions: vec![[0.0; 3]], ..Vertices::default() };
/// let mut posed = Vertices::zeroed_like(&bind);
/// skin(&influences, &matrices, bind.as_slices(), posed.as_slices_mut())?;
/// assert_eq!(posed.positions[0][1], 3.0);
/// // Far from the camera the heaviest joint is enough.
/// skin(influences.at_most(1), &matrices, bind.as_slices(), posed.as_slices_mut())?;
/// assert_eq!(posed.positions[0][1], 4.0);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug)]
pub struct AtMost<'a, T> {
    of: &'a T,
    count: u32,
}

impl<T> Clone for AtMost<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for AtMost<'_, T> {}

impl<'a, T> From<&'a T> for AtMost<'a, T> {
    fn from(of: &'a T) -> Self {
        Self { of, count: u32::MAX }
    }
}

impl<'a, T> AtMost<'a, T> {
    pub(crate) fn new(of: &'a T, count: u32) -> Self {
        Self { of, count: count.max(1) }
    }

    /// Whose influences, and how many of each vertex.
    pub(crate) fn parts(self) -> (&'a T, u32) {
        (self.of, self.count)
    }
}

/// The joints that a mesh is bound to, and the pose that it was bound in.
///
/// ```
/// use condyle::{Affine, Joint, Skeleton, Skin, Transform, local_to_model};
///
/// // A mesh that was modelled around the skeleton at rest: its inverse bind matrices undo that pose.
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
    /// One more than the greatest joint.
    joint_end: usize,
    /// Of the skeleton that it is for; 0 if that is not known.
    fingerprint: u32,
}

impl Skin {
    /// `joints[i]` is the skeleton's joint that influence `i` stands for; `inverse_bind[i]` takes a
    /// vertex in the bind pose to the space of that joint.
    ///
    /// # Errors
    /// [`Error::Length`] if the two differ in length, [`Error::TooMany`] above 65,535 joints,
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
        Ok(Self { joints, inverse_bind, joint_end, fingerprint: 0 })
    }

    /// The same skin, for this skeleton alone: what takes both refuses it beside another one, and [`fits`](Self::fits) tells.
    /// What `condyle-gltf` imports is so.
    ///
    /// # Errors
    /// As [`fits`](Self::fits).
    pub fn for_skeleton(mut self, skeleton: &Skeleton) -> Result<Self, Error> {
        self.fits(skeleton)?;
        self.fingerprint = skeleton.fingerprint();
        Ok(self)
    }

    /// The fingerprint of the skeleton that it is for, if it is for one alone.
    #[must_use]
    pub fn fingerprint(&self) -> Option<u32> {
        Some(self.fingerprint).filter(|&of| of != 0)
    }

    /// `Ok` if the skin may be used with this skeleton. The stages after [`local_to_model`](crate::local_to_model) see its
    /// matrices only, which do not tell whose they are: ask once, where both come together.
    ///
    /// # Errors
    /// [`Error::Skeleton`] if it is for another one, [`Error::Index`] if it names a joint that the skeleton does not have.
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
    pub fn fits(&self, skeleton: &Skeleton) -> Result<(), Error> {
        skeleton.check_fingerprint("the skin", self.fingerprint)?;
        self.check_joints(skeleton.joint_count())
    }

    /// The skeleton's joint of each influence index.
    #[must_use]
    pub fn joints(&self) -> &[u16] {
        &self.joints
    }

    /// One matrix per entry of [`joints`](Self::joints).
    #[must_use]
    pub fn inverse_bind(&self) -> &[Affine] {
        &self.inverse_bind
    }

    /// Refuses a joint that a skeleton with `count` joints does not have.
    pub(crate) fn check_joints(&self, count: usize) -> Result<(), Error> {
        if self.joint_end <= count {
            return Ok(());
        }
        let at = self.joints.iter().position(|&joint| usize::from(joint) >= count).unwrap_or_default();
        let found = self.joints.get(at).copied().unwrap_or_default().into();
        Err(Error::Index { what: "joints of the skin", at, found, count })
    }
}

/// Triangles that follow joints: vertices, influences, morph targets, in the bind pose.
///
/// ```
/// use condyle::{Error, Influences, SkinnedMesh, Vertices};
///
/// let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let triangle = Vertices { positions, ..Vertices::default() };
/// let mesh = SkinnedMesh::new(triangle.clone(), Influences::rigid(3), vec![0, 1, 2], vec![])?;
/// assert_eq!((mesh.vertex_count(), mesh.indices()), (3, &[0, 1, 2][..]));
///
/// // What does not fit together is refused here, once, and no later stage has to look.
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

/// How many of each part, not their numbers.
impl fmt::Debug for SkinnedMesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("SkinnedMesh");
        all.field("vertices", &self.vertices).field("influences", &self.influences);
        all.field("indices", &self.indices.len()).field("morph_targets", &self.morph_targets.len()).finish()
    }
}

impl SkinnedMesh {
    /// Checks and keeps a mesh. `indices` are triangles, three a piece; empty where the vertices are drawn in order.
    ///
    /// # Errors
    /// [`Error::Length`] where an attribute, the influences or a morph target do not have one element per vertex,
    /// or the indices are not whole triangles; [`Error::Index`] for an index past the last vertex, [`Error::NotFinite`] for NaN or infinity.
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
            per_vertex("morph positions", target.positions.len())?;
            per_vertex("morph normals", target.normals.len())?;
            per_vertex("morph tangents", target.tangents.len())?;
            Error::check_finite("morph positions", target.positions.as_flattened(), 3)?;
            Error::check_finite("morph normals", target.normals.as_flattened(), 3)?;
            Error::check_finite("morph tangents", target.tangents.as_flattened(), 3)?;
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

    /// How many vertices there are.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.vertices.positions.len()
    }

    /// The vertices in the bind pose.
    #[must_use]
    pub fn vertices(&self) -> &Vertices {
        &self.vertices
    }

    /// Which joints move each vertex.
    #[must_use]
    pub fn influences(&self) -> &Influences {
        &self.influences
    }

    /// Triangles, three indices a piece; empty where the vertices are drawn in order.
    #[must_use]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The morph targets, in the document's order.
    #[must_use]
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
    fn rows_are_sorted_and_zeros_dropped() {
        let rows = [vec![(3, 0.25), (9, 0.0), (1, 0.5), (2, 0.25)], vec![], vec![(7, 1.0)]];
        let influences = Influences::from_rows(rows).expect("finite");
        let row = |v| influences.row(v).collect::<Vec<_>>();
        assert_eq!(row(0), [(1, 0.5), (3, 0.25), (2, 0.25)]);
        assert_eq!((row(1), row(2)), (vec![], vec![(7, 1.0)]));
        assert_eq!(
            (influences.vertex_count(), influences.joint_bound(), influences.longest_row()),
            (3, 8, 3)
        );
        let refused = Influences::from_rows([vec![], vec![(0, f32::NAN)]]);
        assert_eq!(refused, Err(Error::NotFinite { what: "weights", at: 1 }));
    }

    #[test]
    fn groups_know_how_many_influences_all_of_their_vertices_have() {
        let row = |count: usize| vec![(0, 1.0); count];
        let counts = |rows: &[usize]| {
            let influences = Influences::from_rows(rows.iter().map(|&n| row(n))).expect("finite");
            influences.group_counts().to_vec()
        };
        for count in 0..=5 {
            let want = if (1..=4).contains(&count) { count as u8 } else { 0 };
            assert_eq!(counts(&[count; 16]), [want; 2]);
            assert_eq!(counts(&[count; 17]), [want, want, 0]);
            for other in 0..8 {
                let mut rows = [count; 16];
                rows[other] = 6;
                assert_eq!(counts(&rows), [0, want], "vertex {other}");
            }
        }
        assert_eq!(counts(&[]), []);
        assert_eq!(Influences::rigid(15).group_counts(), [1, 0]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow")]
    fn the_greatest_joint_and_long_rows_are_kept() {
        let row: Vec<_> = (0..=u16::MAX).map(|j| (j, 1.0 / 65_536.0)).collect();
        let influences = Influences::from_rows([row]).expect("finite");
        assert_eq!((influences.joint_bound(), influences.longest_row()), (65_536, 65_536));
    }

    #[test]
    fn rigid_is_one_joint_of_weight_one() {
        let want = Influences::from_rows(vec![vec![(0, 1.0)]; 5]);
        assert_eq!(Ok(Influences::rigid(5)), want);
        assert_eq!(Influences::rigid(0).joint_bound(), 0);
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
        morphs[2].positions.pop();
        assert!(build(whole.vertices().clone(), morphs).is_err());
        let lost =
            SkinnedMesh::new(whole.vertices().clone(), whole.influences().clone(), vec![0, 5, 1], vec![]);
        assert_eq!(lost, Err(Error::Index { what: "indices", at: 1, found: 5, count: 5 }));
        let odd = SkinnedMesh::new(whole.vertices().clone(), whole.influences().clone(), vec![0, 1], vec![]);
        assert_eq!(odd, Err(Error::Length { what: "indices", found: 2, needed: 3 }));
        let few = SkinnedMesh::new(whole.vertices().clone(), Influences::rigid(4), vec![], vec![]);
        assert_eq!(few, Err(Error::Length { what: "influences", found: 4, needed: 5 }));
    }
}
