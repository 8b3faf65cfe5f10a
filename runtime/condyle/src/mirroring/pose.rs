//! Mirrored poses.
//!
//! Notation, for a joint and its partner: `R` and `R'` are their model matrices in the rest pose, and `G` is
//! the posed model matrix of the partner. `M` is the reflection. The partner's movement in model space is
//! `D`, so that `G = D · R'`. The joint must perform the reflected movement `M D M`. So its mirrored model
//! matrix is `M · G · C` with the constant `C = R'⁻¹ M R`, and its mirrored local matrix is
//!
//! `C(parent)⁻¹ · local(partner) · C`
//!
//! This holds for any axes of the two joints: the frames of one side do not have to mirror those of the
//! other.
//!
//! In a character that is not quite symmetric, `C` also has a scale and a translation. They are dropped, so
//! that limbs keep their lengths. The remaining rotation or reflection is `O`:
//!
//! 1. Rotation: the partner's local `r` becomes `O(parent)⁻¹ r E`. Here `E = q'⁻¹ O(parent) q`, and `q` and
//!    `q'` are the local rest rotations of the joint and its partner.
//! 2. Scale: its axes are permuted as `O` permutes the axes of the frames, and multiplied by the ratio of the
//!    rest scales.
//! 3. Translation: the rest translation, plus the reflected difference between the partner's translation and
//!    its rest translation.
//!
//! It follows that the rest pose is its own mirror image.
//!
//! A reflection is a rotation by 180 degrees times -1. The signs of two reflections cancel, so a rotation is
//! multiplied by a quaternion on each side. Both products together are one 4x4 matrix per joint, which also
//! maps the tangents of splines.

use alloc::vec;
use alloc::vec::Vec;

use fearless_simd::prelude::*;

use crate::pose::{Pose, PoseBlock};
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Transform;
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_base::math::vectors::normalize;
use condyle_base::simd::{BLOCK, Lanes, Mode, dispatch, load_all, store_all};

/// A rotation, optionally combined with the inversion of all axes. Represents any rotation or reflection.
#[derive(Clone, Copy)]
struct Turn {
    rotation: Quat64,
    sign: f64,
}

impl Turn {
    const IDENTITY: Self = Self { rotation: [0.0, 0.0, 0.0, 1.0], sign: 1.0 };

    fn rotation(rotation: Quat64) -> Self {
        Self { rotation, sign: 1.0 }
    }

    /// Reflection in the plane with the unit normal `normal`.
    fn reflection([x, y, z]: [f64; 3]) -> Self {
        Self { rotation: [x, y, z, 0.0], sign: -1.0 }
    }

    /// Reflection of the axes whose scale is negative.
    fn of_signs(scale: [f32; 3]) -> Self {
        let mut turn = Self::IDENTITY;
        for axis in (0..3).filter(|&axis| scale[axis] < 0.0) {
            let mut normal = [0.0; 3];
            normal[axis] = 1.0;
            turn = turn.then(Self::reflection(normal));
        }
        turn
    }

    /// `self * right`.
    fn then(self, right: Self) -> Self {
        Self { rotation: product(self.rotation, right.rotation), sign: self.sign * right.sign }
    }

    fn inverse(self) -> Self {
        Self { rotation: conjugate(self.rotation), ..self }
    }

    fn apply(self, v: [f64; 3]) -> [f64; 3] {
        rotate(self.rotation, v).map(|v| v * self.sign)
    }

    /// Matrix rows.
    fn matrix(self) -> [[f64; 3]; 3] {
        let columns = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|axis| self.apply(axis));
        core::array::from_fn(|r| columns.map(|column| column[r]))
    }
}

/// Linear maps of sixteen joints, as matrix rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Maps {
    pub(super) rotation: [[Lanes; 4]; 4],
    pub(super) translation: [[Lanes; 3]; 3],
    /// Offset that is added to the mapped translation.
    pub(super) rest: [Lanes; 3],
    pub(super) scale: [Lanes; 3],
}

impl Maps {
    const IDENTITY: Self = {
        let (zero, one) = ([0.0; BLOCK], [1.0; BLOCK]);
        Self {
            rotation: [
                [one, zero, zero, zero],
                [zero, one, zero, zero],
                [zero, zero, one, zero],
                [zero, zero, zero, one],
            ],
            translation: [[one, zero, zero], [zero, one, zero], [zero, zero, one]],
            rest: [zero; 3],
            scale: [one; 3],
        }
    };
}

/// Joint pairs and mirror plane of a skeleton, for [`mirror`] and [`clip`](super::clip()).
///
/// The plane goes through the origin of model space. Mirroring applies to the movement away from the rest
/// pose, so the rest pose should be as symmetric as the character is. The axes of the joints may differ
/// between the sides, including exports that create one side from the other with a negative scale.
///
/// A joint that is in no pair mirrors itself if it is a root or its parent mirrors itself, for example spine
/// and head. Otherwise it keeps its local transform, for example a sword in one hand. So do its unpaired
/// descendants.
///
/// Memory use is 124 bytes per joint for the maps and 5 for partner and axes.
///
/// ```
/// use condyle::mirroring::Mirror;
/// use condyle::{Joint, Pose, Skeleton, Transform, mirror, mirroring};
///
/// let joint = |name: &str, parent, x| {
///     Joint::new(name, parent, Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY })
/// };
/// let skeleton =
///     Skeleton::new([joint("hips", None, 0.0), joint("leg.L", Some(0), 0.2), joint("leg.R", Some(0), -0.2)])?;
/// let sides = Mirror::new(&skeleton, &mirroring::pairs(&skeleton), [1.0, 0.0, 0.0])?;
/// let mut step = Pose::rest(&skeleton);
/// step.set(1, &Transform { translation: [0.25, 0.5, 0.0], ..Transform::IDENTITY });
/// let mut other = Pose::identity(3);
/// mirror(&sides, &step, &mut other)?;
/// assert_eq!(other.get(2).translation, [-0.25, 0.5, 0.0]);
/// assert_eq!(other.get(1).translation, [0.2, 0.0, 0.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Mirror {
    pub(super) partners: Vec<u16>,
    /// Axis of the partner's scale that each axis of a joint's scale comes from.
    pub(super) axes: Vec<[u8; 3]>,
    pub(super) blocks: Vec<Maps>,
}

impl Mirror {
    /// Computes the maps of all joints.
    ///
    /// `pairs` lists the joints that exchange their movements; [`pairs`](super::pairs) finds them by name.
    /// `normal` is the direction perpendicular to the plane, of any length. For a character that faces along
    /// z it is `[1.0, 0.0, 0.0]`.
    ///
    /// # Errors
    /// [`Error::NoDirection`] if `normal` is 0 or not finite; [`Error::Index`] if a pair has a joint that the
    /// skeleton does not have; [`Error::PairedTwice`] if a joint is in two pairs. [`Error::PairParents`] if
    /// the parents of a pair are neither a pair nor one joint that is in no pair.
    pub fn new(skeleton: &Skeleton, pairs: &[(u16, u16)], normal: [f32; 3]) -> Result<Self, Error> {
        let partners = partners(skeleton, pairs)?;
        let mut normal = normal.map(f64::from);
        let length2: f64 = normal.iter().map(|v| v * v).sum();
        if !(length2 > 0.0 && length2.is_finite()) {
            return Err(Error::NoDirection { what: "normal" });
        }
        normalize(&mut normal);
        let plane = Turn::reflection(normal);
        let rest: Vec<Transform> = skeleton.rest().transforms().collect();
        let count = skeleton.joint_count();
        let mut mirror = Self {
            partners,
            axes: vec![[0, 1, 2]; count],
            blocks: vec![Maps::IDENTITY; count.div_ceil(BLOCK)],
        };
        // Orthogonal part of each joint's rest model matrix, and its `O`.
        let mut models: Vec<Turn> = Vec::with_capacity(count);
        let mut across: Vec<Turn> = Vec::with_capacity(count);
        // Whether a joint keeps its transform: it has no partner, and its parent has one or keeps its
        // transform.
        let mut kept: Vec<bool> = Vec::with_capacity(count);
        for joint in 0..count {
            let partner = usize::from(mirror.partners[joint]);
            let parent = skeleton.parent(joint as u16).map(usize::from);
            let [own, other] = [joint, partner].map(|j| {
                let mut rotation = rest[j].rotation.map(f64::from);
                normalize(&mut rotation);
                (Turn::rotation(rotation), Turn::of_signs(rest[j].scale))
            });
            let model = parent.map_or(Turn::IDENTITY, |p| models[p]).then(own.0).then(own.1);
            models.push(model);
            let alone = |joint: usize| usize::from(mirror.partners[joint]) == joint;
            kept.push(alone(joint) && parent.is_some_and(|p| kept[p] || !alone(p)));
            if kept[joint] {
                across.push(model.inverse().then(plane).then(model));
                continue;
            }
            let above = parent.map_or(plane, |p| across[p]);
            let right = other.0.inverse().then(above).then(own.0);
            let whole = other.1.then(right).then(own.1);
            across.push(whole);
            if joint <= partner {
                let axes = axes(whole.matrix(), joint == partner);
                mirror.axes[joint] = axes;
                for (to, from) in (0..).zip(axes) {
                    mirror.axes[partner][usize::from(from)] = to;
                }
            }
            mirror.set(joint, above.inverse(), right, &rest[joint], &rest[partner]);
        }
        Ok(mirror)
    }

    /// Number of joints that a pose must have.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.partners.len()
    }

    /// Partner of each joint; a joint in no pair is its own partner.
    #[must_use]
    pub fn partners(&self) -> &[u16] {
        &self.partners
    }

    /// Writes the maps from the partner's transform to the joint's transform.
    fn set(&mut self, joint: usize, left: Turn, right: Turn, own: &Transform, other: &Transform) {
        let (block, lane, axes) = (&mut self.blocks[joint / BLOCK], joint % BLOCK, self.axes[joint]);
        for from in 0..4 {
            let mut unit = [0.0; 4];
            unit[from] = 1.0;
            let to = product(product(left.rotation, unit), right.rotation);
            for (row, to) in block.rotation.iter_mut().zip(to) {
                row[from][lane] = to as f32;
            }
        }
        let matrix = left.matrix();
        let reflected = left.apply(other.translation.map(f64::from));
        for r in 0..3 {
            for (lanes, v) in block.translation[r].iter_mut().zip(matrix[r]) {
                lanes[lane] = v as f32;
            }
            block.rest[r][lane] = (f64::from(own.translation[r]) - reflected[r]) as f32;
            let (own, other) = (own.scale[r], other.scale[usize::from(axes[r])]);
            let ratio = own / other;
            block.scale[r][lane] = if ratio.is_finite() && ratio != 0.0 { ratio } else { 1.0 };
        }
    }

    /// Returns the partner's transform with permuted scale axes.
    fn with_axes(&self, joint: usize, t: Transform) -> Transform {
        Transform { scale: self.axes[joint].map(|axis| t.scale[usize::from(axis)]), ..t }
    }
}

/// Returns the partner of each joint.
fn partners(skeleton: &Skeleton, pairs: &[(u16, u16)]) -> Result<Vec<u16>, Error> {
    let count = skeleton.joint_count();
    let mut partners: Vec<Option<u16>> = vec![None; count];
    for (at, &(a, b)) in pairs.iter().enumerate() {
        for (joint, partner) in [(a, b), (b, a)] {
            let found = usize::from(joint);
            let slot = partners.get_mut(found).ok_or(Error::Index { what: "pairs", at, found, count })?;
            if slot.replace(partner).is_some_and(|before| a != b || before != a) {
                return Err(Error::PairedTwice { pair: at, joint: found });
            }
        }
    }
    let partners: Vec<u16> = (0..).zip(partners).map(|(joint, partner)| partner.unwrap_or(joint)).collect();
    for (pair, &(a, b)) in pairs.iter().enumerate().filter(|(_, (a, b))| a != b) {
        if skeleton.parent(a).map(|parent| partners[usize::from(parent)]) != skeleton.parent(b) {
            return Err(Error::PairParents { pair });
        }
    }
    Ok(partners)
}

/// Returns, for each axis of a joint, the nearest axis of its partner. For a joint that is its own partner,
/// the result must be its own inverse, so only the first four orders are tried.
fn axes(matrix: [[f64; 3]; 3], own: bool) -> [u8; 3] {
    const ORDERS: [[u8; 3]; 6] = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]];
    let fit = |order: &[u8; 3]| -> f64 {
        order.iter().enumerate().map(|(c, &r)| matrix[usize::from(r)][c] * matrix[usize::from(r)][c]).sum()
    };
    let mut best = ORDERS[0];
    for order in &ORDERS[1..if own { 4 } else { 6 }] {
        // The margin keeps rounding from deciding a tie.
        if fit(order) > fit(&best) + 1e-6 {
            best = *order;
        }
    }
    best
}

/// Mirrors a pose.
///
/// On a symmetric character, each joint moves in model space to the reflected position of its partner. A pose
/// mirrored twice equals the input: rotations within 5e-7, scales within a relative 2e-7. Translations are
/// within 5e-7 of the sum of three lengths: the translation, and the rest translations of the joint and its
/// partner. Rotations and scales are exact if the joints' axes in the rest pose are the axes of model space
/// and `normal` is one of them. Rotations keep their length, and their sign is continuous over time.
///
/// The scale axes of a joint come from the partner's axes that are nearest after reflection. They are
/// multiplied by the ratio of the two rest scales, or by 1 where the ratio does not exist. This is exact if
/// the axes are parallel after reflection, or if the scale is uniform.
///
/// If `pose` is `None`, `out` is the input and receives the result.
///
/// # Errors
/// [`Error::Length`] if a pose does not have [`Mirror::joint_count`] joints. `out` is then unchanged.
///
/// ```
/// use condyle::mirroring::Mirror;
/// use condyle::{Pose, Transform, example, mirror, mirroring};
///
/// // The names give the pairs: `hand.L` and `hand.R` are partners.
/// let skeleton = example::skeleton();
/// let sides = Mirror::new(&skeleton, &mirroring::pairs(&skeleton), [1.0, 0.0, 0.0])?;
/// let [left, right] = [example::ARM_L[2], example::ARM_R[2]].map(usize::from);
///
/// let mut left_up = Pose::rest(&skeleton);
/// left_up.set(left, &Transform { translation: [0.25, 0.5, 0.0], ..Transform::IDENTITY });
/// let mut right_up = Pose::rest(&skeleton);
/// mirror(&sides, &left_up, &mut right_up)?;
/// assert_eq!(right_up.get(left), skeleton.rest().get(left));
/// assert_eq!(right_up.get(right).translation, [-0.25, 0.5, 0.0]);
/// // And back, in place.
/// mirror(&sides, None, &mut right_up)?;
/// assert_eq!(right_up.get(left).translation, [0.25, 0.5, 0.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn mirror<'a>(sides: &Mirror, pose: impl Into<Option<&'a Pose>>, out: &mut Pose) -> Result<(), Error> {
    let pose = pose.into();
    pose.map_or(Ok(()), |pose| pose.check_joints("pose", sides.joint_count()))?;
    out.check_joints("out", sides.joint_count())?;
    for (joint, partner) in sides.partners.iter().map(|&p| usize::from(p)).enumerate() {
        if joint <= partner {
            let from = pose.unwrap_or(out);
            let [own, other] = [joint, partner].map(|joint| from.get(joint));
            out.set(joint, &sides.with_axes(joint, other));
            out.set(partner, &sides.with_axes(partner, own));
        }
    }
    reflect(&sides.blocks, out.blocks_mut());
    Ok(())
}

/// Maps each joint's transform, already exchanged with the partner's, to the frame of the joint.
fn reflect(maps: &[Maps], pose: &mut [PoseBlock]) {
    dispatch!(|s, mode| kernel(s, mode, maps, pose));
}

/// Returns `last` plus the dot product of a matrix row and a column, per lane.
#[inline(always)]
fn row<S: Simd, M: Mode, const N: usize>(
    mode: M,
    row: &[S::f32s; N],
    v: &[S::f32s; N],
    last: S::f32s,
) -> S::f32s {
    let mut sum = last;
    for (m, v) in row.iter().zip(v) {
        sum = mode.madd(*m, *v, sum);
    }
    sum
}

#[inline(always)]
fn kernel<S: Simd, M: Mode>(s: S, mode: M, maps: &[Maps], pose: &mut [PoseBlock]) {
    let zero = S::f32s::splat(s, 0.0);
    for (maps, block) in maps.iter().zip(pose) {
        for at in (0..BLOCK).step_by(S::f32s::LEN) {
            let q = load_all(s, &block.rotation, at);
            let mut turned = q;
            for (turned, lanes) in turned.iter_mut().zip(&maps.rotation) {
                *turned = row::<S, M, 4>(mode, &load_all(s, lanes, at), &q, zero);
            }
            store_all(&mut block.rotation, at, turned);
            let t = load_all(s, &block.translation, at);
            let mut moved: [S::f32s; 3] = load_all(s, &maps.rest, at);
            for (moved, lanes) in moved.iter_mut().zip(&maps.translation) {
                *moved = row::<S, M, 3>(mode, &load_all(s, lanes, at), &t, zero) + *moved;
            }
            store_all(&mut block.translation, at, moved);
            let mut scale: [S::f32s; 3] = load_all(s, &block.scale, at);
            let factors: [S::f32s; 3] = load_all(s, &maps.scale, at);
            for (scale, factor) in scale.iter_mut().zip(factors) {
                *scale *= factor;
            }
            store_all(&mut block.scale, at, scale);
        }
    }
}
