//! Joint influences of vertices, in rows of any length.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use condyle_base::error::Error;

/// Joints and weights of each vertex, as compressed sparse rows of any length.
///
/// Each row is sorted by descending weight. Zero weights are not stored.
///
/// ```
/// use condyle::Influences;
///
/// // The first vertex follows two joints of the arm, the second only the hand.
/// let influences = Influences::from_rows([vec![(4, 0.25), (3, 0.75)], vec![(5, 1.0)]])?;
/// assert!(influences.row(0).eq([(3, 0.75), (4, 0.25)]));
/// assert_eq!((influences.longest_row(), influences.joint_bound()), (2, 6));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone)]
pub struct Influences {
    /// Row `v` is `joints[starts[v]..starts[v + 1]]`, and the same range of `weights`. Padded rows follow the
    /// last row: see [`GroupRows`].
    starts: Vec<u32>,
    joints: Vec<u16>,
    weights: Vec<f32>,
    /// One more than the largest joint index.
    joint_bound: usize,
    /// Length of the longest row.
    longest: usize,
    groups: Vec<GroupRows>,
    /// Dual-quaternion share of each vertex, or empty.
    dual_shares: Vec<f32>,
    /// Joint count of the skin that the influences belong to; 0 if unknown.
    skin_joints: usize,
}

/// Ignores the skin that the influences belong to.
impl PartialEq for Influences {
    fn eq(&self, other: &Self) -> bool {
        // The other fields, except `skin_joints`, are derived from these.
        (&self.starts, &self.joints, &self.weights, &self.dual_shares)
            == (&other.starts, &other.joints, &other.weights, &other.dual_shares)
    }
}

/// Vertices that [`skinning`](crate::skinning) processes together.
pub(crate) const GROUP_VERTICES: usize = 8;

/// Largest number of influences with a separate kernel.
const EVEN: usize = 8;

/// Where the kernels find the influences of a group of [`GROUP_VERTICES`] vertices.
///
/// If the vertices of a group have different numbers of influences, a copy of their rows is padded to the
/// longest one. The last group is filled up with copies of its last row. A padded influence has the first
/// joint of its row, and weight 0 with the sign of the first weight. If matrices are finite, its products are
/// zeros with the signs of the first products: they change no bit of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupRows {
    /// The first influence in `joints` and `weights`.
    pub(crate) begin: u32,
    /// Influences of each vertex: 1 to [`EVEN`]. 0 if a row is empty or longer: only `starts` has the rows.
    pub(crate) count: u8,
}

/// Prints the number of influences, not their values.
impl fmt::Debug for Influences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Influences");
        all.field("vertex_count", &self.vertex_count()).field("influences", &self.as_slices().1.len());
        all.field("joint_bound", &self.joint_bound).field("longest_row", &self.longest).finish()
    }
}

impl Influences {
    /// Builds influences from rows of `(joint, weight)`, one row per vertex.
    ///
    /// Zero weights are dropped. Each row is sorted by descending weight, then by ascending joint.
    ///
    /// Weights are not normalised: the importer decides whether they sum to 1.
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
            groups: vec![],
            dual_shares: vec![],
            skin_joints: 0,
        };
        let mut row = Vec::new();
        for (at, pairs) in rows.into_iter().enumerate() {
            row.clear();
            row.extend(pairs.into_iter().filter(|p| p.1 != 0.0));
            if row.iter().any(|p| !p.1.is_finite()) {
                return Err(Error::NotFinite { what: "weights", at });
            }
            // Rows with the same influences compare equal, regardless of their order in the file.
            row.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
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
        it.pad_groups();
        Ok(it)
    }

    /// Returns influences of a rigid part: every vertex follows joint 0 with weight 1.
    #[must_use]
    pub fn rigid(vertex_count: u32) -> Self {
        let n = vertex_count as usize;
        let mut it = Self {
            starts: (0..=vertex_count).collect(),
            joints: vec![0; n],
            weights: vec![1.0; n],
            joint_bound: n.min(1),
            longest: n.min(1),
            groups: vec![],
            dual_shares: vec![],
            skin_joints: 0,
        };
        it.pad_groups();
        it
    }

    /// Makes the rows for kernels from the rows of vertices.
    fn pad_groups(&mut self) {
        let vertices = self.vertex_count();
        let mut row = Vec::new();
        for first in (0..vertices).step_by(GROUP_VERTICES) {
            let starts = &self.starts[first..=vertices.min(first + GROUP_VERTICES)];
            let lengths = || starts.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
            let (shortest, longest) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
            let begin = self.joints.len();
            let has_room = u32::try_from(begin + GROUP_VERTICES * longest).is_ok();
            let is_even = shortest == longest && starts.len() > GROUP_VERTICES;
            let group = if shortest == 0 || longest > EVEN || !(is_even || has_room) {
                GroupRows { begin: starts[0], count: 0 }
            } else if is_even {
                GroupRows { begin: starts[0], count: longest as u8 }
            } else {
                for v in 0..GROUP_VERTICES {
                    row.clear();
                    row.extend(self.row((first + v).min(vertices - 1)));
                    let (joint, weight) = row[0];
                    row.resize(longest, (joint, 0.0_f32.copysign(weight)));
                    self.joints.extend(row.iter().map(|influence| influence.0));
                    self.weights.extend(row.iter().map(|influence| influence.1));
                }
                GroupRows { begin: begin as u32, count: longest as u8 }
            };
            self.groups.push(group);
        }
    }

    /// Returns the influences tied to skins of `joint_count` joints.
    ///
    /// [`skin`](crate::skin()) then rejects a palette with another number of matrices. Influences imported by
    /// `condyle-gltf` are tied, unless skins of different sizes share the mesh.
    ///
    /// # Errors
    /// [`Error::TooShort`] if a joint index is not below `joint_count`.
    ///
    /// ```
    /// use condyle::{Affine, Error, Influences, NormalRule, Palette, Skin, Vertices, palette, skin};
    ///
    /// let hand = Influences::rigid(1).for_skin_of(20)?;
    /// let bind = Vertices { positions: vec![[0.0; 3]], ..Vertices::default() };
    /// // The palette of a whole body has the wrong size.
    /// let body = Skin::new((0..67).collect(), vec![Affine::IDENTITY; 67])?;
    /// let mut matrices = Palette::default();
    /// palette(&body, &[Affine::IDENTITY; 67], NormalRule::Plain, &mut matrices)?;
    /// let mut posed = Vertices::zeroed_like(&bind);
    /// let refused = skin(&hand, &matrices, bind.as_slices(), posed.as_slices_mut());
    /// assert!(matches!(refused, Err(Error::Length { found: 67, needed: 20, .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn for_skin_of(mut self, joint_count: usize) -> Result<Self, Error> {
        Error::check_room("joints of the skin", joint_count, self.joint_bound)?;
        self.skin_joints = joint_count;
        Ok(self)
    }

    /// Returns `Ok` if the influences can be used with a palette or skin of `joint_count` joints.
    #[doc(hidden)]
    pub fn check_joints(&self, what: &'static str, joint_count: usize) -> Result<(), Error> {
        match self.skin_joints {
            0 => Error::check_room(what, joint_count, self.joint_bound),
            known => Error::check_len(what, joint_count, known),
        }
    }

    /// Sets the fraction of each vertex that is skinned by dual quaternions: 0 for linear blending, 1 for
    /// dual quaternions.
    ///
    /// Between 0 and 1, [`skin`](crate::skin()) computes both and mixes the results. Without shares, or with
    /// an empty list, the palette decides: one from [`skinning::palette_dual`](crate::skinning::palette_dual)
    /// uses dual quaternions for all vertices. [`skinning::SwingTwist`](crate::skinning::SwingTwist) computes
    /// shares from poses.
    ///
    /// # Errors
    /// [`Error::Length`] if the list is not empty and does not have one share per vertex,
    /// [`Error::OutOfRange`] for a share outside 0 to 1.
    ///
    /// ```
    /// use condyle::Influences;
    ///
    /// // The upper arm bends, the forearm twists.
    /// let arm = Influences::from_rows([[(0, 0.5), (1, 0.5)], [(1, 0.5), (2, 0.5)]])?;
    /// let arm = arm.with_dual_shares(vec![0.0, 1.0])?;
    /// assert_eq!(arm.dual_shares(), [0.0, 1.0]);
    /// assert!(arm.with_dual_shares(vec![2.0, 1.0]).is_err());
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn with_dual_shares(mut self, shares: Vec<f32>) -> Result<Self, Error> {
        let what = "dual shares";
        if !shares.is_empty() {
            Error::check_len(what, shares.len(), self.vertex_count())?;
        }
        if let Some(at) = shares.iter().position(|share| !(0.0..=1.0).contains(share)) {
            return Err(Error::OutOfRange { what, at, needed: "from 0 to 1" });
        }
        self.dual_shares = shares;
        Ok(self)
    }

    /// Fraction of each vertex that is skinned by dual quaternions, from 0 to 1; empty if not set.
    #[must_use]
    pub fn dual_shares(&self) -> &[f32] {
        &self.dual_shares
    }

    /// Number of vertices.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// One more than the largest joint index: the minimum number of matrices in a palette.
    #[must_use]
    pub fn joint_bound(&self) -> usize {
        self.joint_bound
    }

    /// Largest number of influences on one vertex.
    #[must_use]
    pub fn longest_row(&self) -> usize {
        self.longest
    }

    /// Returns the influences on one vertex, heaviest first.
    ///
    /// # Panics
    /// If `vertex` is not below the vertex count.
    #[inline]
    pub fn row(&self, vertex: usize) -> impl ExactSizeIterator<Item = (u16, f32)> + '_ {
        let range = self.starts[vertex] as usize..self.starts[vertex + 1] as usize;
        self.joints[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }

    /// Limits each vertex to its `count` heaviest influences, for a lower level of detail.
    ///
    /// The remaining weights are scaled so that their sum does not change. The minimum is one influence,
    /// which makes the vertex rigid.
    #[must_use]
    pub fn at_most(&self, count: u32) -> AtMost<'_, Self> {
        AtMost::new(self, count)
    }

    /// One per [`GROUP_VERTICES`] vertices.
    pub(crate) fn groups(&self) -> &[GroupRows] {
        &self.groups
    }

    /// Returns `(joints, weights)` with the rows of [`groups`](Self::groups).
    pub(crate) fn with_padding(&self) -> (&[u16], &[f32]) {
        (&self.joints, &self.weights)
    }

    /// Returns `(starts, joints, weights)`. Row `v` is `starts[v]..starts[v + 1]` in the other two.
    #[must_use]
    pub fn as_slices(&self) -> (&[u32], &[u16], &[f32]) {
        let count = self.starts[self.vertex_count()] as usize;
        (&self.starts, &self.joints[..count], &self.weights[..count])
    }
}

/// Influences limited to the heaviest ones of each vertex. A plain reference converts to all influences.
///
/// Vertices jump when the limit changes, so use it for characters at some distance. J.M.P. van Waveren, *Fast
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
/// // Far from the camera, the heaviest joint is enough.
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

    /// Returns the influences and the limit per vertex.
    pub(crate) fn parts(self) -> (&'a T, u32) {
        (self.of, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_zeros_dropped() {
        let rows = [vec![(3, 0.25), (9, 0.0), (1, 0.5), (2, 0.25)], vec![], vec![(7, 1.0)]];
        let influences = Influences::from_rows(rows).expect("finite");
        let row = |v| influences.row(v).collect::<Vec<_>>();
        assert_eq!(row(0), [(1, 0.5), (2, 0.25), (3, 0.25)]);
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
            influences.groups().iter().map(|group| group.count).collect::<Vec<_>>()
        };
        for count in 0..=9 {
            let want = if (1..=EVEN).contains(&count) { count as u8 } else { 0 };
            assert_eq!(counts(&[count; 16]), [want; 2]);
            assert_eq!(counts(&[count; 17]), [want; 3]);
            for other in 0..8 {
                let mut rows = [count; 16];
                rows[other] = 10;
                assert_eq!(counts(&rows), [0, want], "vertex {other}");
                rows[other] = EVEN;
                assert_eq!(counts(&rows), [if want == 0 { 0 } else { EVEN as u8 }, want], "vertex {other}");
            }
        }
        assert_eq!(counts(&[]), []);
        let even = Influences::from_rows(vec![row(3); 16]).expect("finite");
        assert_eq!(even.with_padding().0.len(), 48, "even groups are not copied");
    }

    #[test]
    fn shorter_rows_are_padded_with_their_first_joint_and_zero() {
        let rows = [vec![(3, 0.75), (9, 0.25)], vec![(4, -1.0)], vec![(7, 1.0)]];
        let influences = Influences::from_rows(rows).expect("finite");
        let &[GroupRows { begin, count: 2 }] = influences.groups() else { panic!("one group of two") };
        assert_eq!(begin, 4);
        let (joints, weights) = influences.with_padding();
        assert_eq!(joints[4..], [3, 9, 4, 4, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]);
        assert_eq!(weights[4..8], [0.75, 0.25, -1.0, 0.0]);
        assert!(
            weights[7].is_sign_negative() && weights[9..].iter().step_by(2).all(|zero| zero.to_bits() == 0)
        );
        assert_eq!(
            influences.as_slices(),
            (&[0, 2, 3, 4][..], &[3, 9, 4, 7][..], &[0.75, 0.25, -1.0, 1.0][..])
        );
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
}
