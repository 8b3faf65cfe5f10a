//! Mirrored poses: what the left side does, done by the right one.
//!
//! A joint's movement `D`, from its place in the rest pose and seen in model space, is to be done by its
//! partner as `M D M`, where `M` reflects. A model matrix is `D` times that of the rest pose, `R`; so the
//! mirrored one is `M · G · C` with `G` that of the partner and `C = R'⁻¹ M R`, constants both `R` and `R'`
//! of the partner, and the mirrored local one
//!
//! `C(parent)⁻¹ · local(partner) · C`
//!
//! whatever the axes of the two joints are: neither side's frames need mirror the other's. `C` is taken
//! without what scales and places of the rest pose leave of it in a character that is not quite symmetric,
//! `O`, a rotation or a reflection: then limbs keep their own lengths. Of `q · diag(scale)` the rotation
//! becomes `O(parent)⁻¹ q E` with `E = q'⁻¹ O(parent) q` of the two rest rotations, and the scale changes its
//! axes as the frames do. A translation is that of the rest pose and the reflected difference from it. So the
//! rest pose is its own mirror image.
//!
//! A reflection is a half turn and -1; the signs of two of them cancel, so that rotations are multiplied by
//! quaternions on both sides: a matrix of four by four for each joint, which serves the tangents of splines
//! too.

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

/// A rotation, and -1 where all axes are turned round besides: every rotation and reflection.
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

    /// In the plane across `normal`, of unit length.
    fn reflection([x, y, z]: [f64; 3]) -> Self {
        Self { rotation: [x, y, z, 0.0], sign: -1.0 }
    }

    /// That of the axes whose factor is negative.
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

    /// Row by row.
    fn matrix(self) -> [[f64; 3]; 3] {
        let columns = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|axis| self.apply(axis));
        core::array::from_fn(|r| columns.map(|column| column[r]))
    }
}

/// Linear maps of sixteen joints, row by row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Maps {
    pub(super) rotation: [[Lanes; 4]; 4],
    pub(super) translation: [[Lanes; 3]; 3],
    /// What is added to the translation.
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

/// How the joints of a skeleton mirror each other; for [`mirror`] and [`clip`](super::clip()).
///
/// The plane goes through the origin of model space. Poses are mirrored as movements away from the rest pose,
/// which should be as symmetric as the character is; the axes of the joints may point wherever they do on
/// either side, also where an exporter made one side from the other by a negative scale.
///
/// Joints in no pair mirror themselves, as spine and head do, where they hang on such joints. Where not, as a
/// sword in one hand, they keep their own local transform, and so does all below them that is in no pair.
///
/// It holds 124 bytes per joint and a few more.
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
    /// Which axis of the partner's scale each axis of a joint's takes.
    pub(super) axes: Vec<[u8; 3]>,
    pub(super) blocks: Vec<Maps>,
}

impl Mirror {
    /// Finds what each joint's transforms are multiplied by.
    ///
    /// `pairs` holds the joints of which one does what the other did; [`pairs`](super::pairs) makes
    /// them from names. `normal` is the direction across the plane, of any length: `[1.0, 0.0, 0.0]`
    /// for a character that looks along z.
    ///
    /// # Errors
    /// [`Error::NoDirection`] if `normal` is 0 or not finite; [`Error::Index`] if a pair names a joint that
    /// the skeleton does not have; [`Error::PairedTwice`] if a joint is in two pairs; [`Error::PairParents`]
    /// if the parents of a pair's joints are neither the same joint, itself in no pair, nor a pair.
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
        // Of each joint the rest pose's model space without lengths, and O.
        let mut models: Vec<Turn> = Vec::with_capacity(count);
        let mut across: Vec<Turn> = Vec::with_capacity(count);
        // Whether it keeps its transform: it has no partner, and its parent has one or keeps its own.
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

    /// How many joints the poses must hold.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.partners.len()
    }

    /// The partner of each joint; a joint without one is its own.
    #[must_use]
    pub fn partners(&self) -> &[u16] {
        &self.partners
    }

    /// The maps of a joint from its partner's transforms to its own.
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

    /// A partner's transform with the axes of its scale changed.
    fn with_axes(&self, joint: usize, t: Transform) -> Transform {
        Transform { scale: self.axes[joint].map(|axis| t.scale[usize::from(axis)]), ..t }
    }
}

/// The partner of each joint.
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

/// Which axis of the partner each axis of a joint lies nearest to; those of a joint that mirrors itself
/// change places in pairs.
fn axes(matrix: [[f64; 3]; 3], own: bool) -> [u8; 3] {
    const ORDERS: [[u8; 3]; 6] = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]];
    let fit = |order: &[u8; 3]| -> f64 {
        order.iter().enumerate().map(|(c, &r)| matrix[usize::from(r)][c] * matrix[usize::from(r)][c]).sum()
    };
    let mut best = ORDERS[0];
    for order in &ORDERS[1..if own { 4 } else { 6 }] {
        // Where two are as near, rounding does not decide.
        if fit(order) > fit(&best) + 1e-6 {
            best = *order;
        }
    }
    best
}

/// The mirror image of a pose.
///
/// On a symmetric character each joint stands in model space where its partner's reflection was. Mirrored
/// twice, a pose is what it was: rotations within 5e-7, translations within 5e-7 of their length and those in
/// the rest pose, scales within 2e-7 of themselves; rotations and scales exactly where the joints' axes in
/// the rest pose are those of model space, and the plane lies across one of them. Rotations keep their length
/// and do not jump to their opposites.
///
/// A joint's scale takes the order of its axes from those of its partner nearest to which they lie when
/// reflected, and the ratio of the two in the rest pose, 1 where there is none: exact where the axes are the
/// same lines, or the scale is the same along all of them.
///
/// With `None` for `pose`, `out` holds the pose and gets the result.
///
/// # Errors
/// [`Error::Length`] if a pose does not hold [`Mirror::joint_count`] joints. `out` is then unchanged.
///
/// ```
/// use condyle::mirroring::Mirror;
/// use condyle::{Joint, Pose, Skeleton, Transform, mirror, mirroring};
///
/// # let joint = |name: &str, parent, x| {
/// #     Joint::new(name, parent, Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY })
/// # };
/// # let legs = [joint("leg.L", Some(0), 0.2), joint("leg.R", Some(0), -0.2)];
/// # let skeleton = Skeleton::new([joint("hips", None, 0.0)].into_iter().chain(legs))?;
/// # let sides = Mirror::new(&skeleton, &mirroring::pairs(&skeleton), [1.0, 0.0, 0.0])?;
/// let mut left_up = Pose::rest(&skeleton);
/// left_up.set(1, &Transform { translation: [0.25, 0.5, 0.0], ..Transform::IDENTITY });
/// let mut right_up = Pose::rest(&skeleton);
/// mirror(&sides, &left_up, &mut right_up)?;
/// assert_eq!(right_up.get(1), skeleton.rest().get(1));
/// assert_eq!(right_up.get(2).translation, [-0.25, 0.5, 0.0]);
/// // And back, over itself.
/// mirror(&sides, None, &mut right_up)?;
/// assert_eq!(right_up.get(1).translation, [0.25, 0.5, 0.0]);
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

/// What partners gave each other, in the frames of those who have it now.
fn reflect(maps: &[Maps], pose: &mut [PoseBlock]) {
    dispatch!(|s, mode| kernel(s, mode, maps, pose));
}

/// A row of each joint's matrix times a column, and `last` added.
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
