//! Computes the share of dual quaternions for each vertex from how joints swing and twist.

use alloc::collections::BTreeMap;
use alloc::{vec, vec::Vec};

use super::bind_place;
use crate::mesh::{Influences, Skin};
use crate::pose::Pose;
use crate::skeleton::{NO_PARENT, Skeleton};
use condyle_base::error::Error;
use condyle_base::math::decompose::nearest_rotation;
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{columns, dot};

/// Measures over any number of poses how much the joints of a skin twist about their bones and how much they
/// swing. It computes the shares for [`Influences::with_dual_shares`].
///
/// Where a joint twists, linear blending collapses the skin like a candy wrapper, and dual quaternions keep
/// its cross-section. Where a joint swings, for example a bending elbow, dual quaternions bulge on the
/// outside, and linear blending does not. Each vertex therefore gets a share of dual quaternions that equals
/// the fraction of twist in the movement of its joints. Compute the shares once, from the clips of a
/// character or from poses that show its range of motion, and store them with the mesh.
///
/// # Definition
///
/// The bone of a joint points to its children. Without children it continues the direction from the parent.
/// The rotation of a joint relative to its parent is measured from the bind pose. It is split into a swing of
/// the bone and a twist about it. An angle counts as `1 - cos(angle / 2)`, about an eighth of its square.
/// This is the loss of a cross-section halfway between two joints under linear blending.
///
/// For each pair of influences of a vertex, the twists and swings of the joints between them are summed. If
/// two joints have no common ancestor, that includes all joints up to their roots. The sums are weighted by
/// the product of the pair's weights. The share of the vertex is the sum of twists divided by the sum of
/// twists and swings. It is 0 if the joints do not rotate relative to each other, because both methods then
/// agree.
///
/// # Cost
///
/// Memory is proportional to the size of the skeleton, and so is the time per pose. The time for
/// [`dual_shares`](Self::dual_shares) is proportional to the number of influences, times the number of joints
/// between the influences of a vertex.
///
/// ```
/// use condyle::skinning::SwingTwist;
/// use condyle::{Affine, Influences, Pose, Skin, Transform, example};
///
/// // An arm along x: the elbow bends about z, the hand twists about x.
/// let skeleton = example::chain(["upper arm", "forearm", "hand"], [1.0, 0.0, 0.0]);
/// let along = |x| Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY };
/// let bind = [-1.0, -2.0, -3.0].map(|x| Affine::from(along(x)));
/// let bound = Skin::new(vec![0, 1, 2], bind.to_vec())?;
/// let mut pose = Pose::rest(&skeleton);
/// pose.set(1, &Transform { rotation: [0.0, 0.0, 0.6, 0.8], ..along(1.0) });
/// pose.set(2, &Transform { rotation: [0.8, 0.0, 0.0, 0.6], ..along(1.0) });
///
/// let mut turns = SwingTwist::new(&skeleton, &bound)?;
/// turns.add(&pose)?;
/// let arm = Influences::from_rows([[(0, 0.5), (1, 0.5)], [(1, 0.5), (2, 0.5)]])?;
/// let shares = turns.dual_shares(&arm)?;
/// assert_eq!(shares, [0.0, 1.0]);
/// let arm = arm.with_dual_shares(shares)?;
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SwingTwist<'a> {
    skeleton: &'a Skeleton,
    skin: &'a Skin,
    /// Per joint, the inverse of its rotation relative to its parent in the bind pose.
    unbind: Vec<Quat64>,
    /// Per joint, the unit direction of its bone in joint space; zero if it has no bone.
    bones: Vec<[f64; 3]>,
    /// Per joint, the sums over all poses.
    twists: Vec<f64>,
    swings: Vec<f64>,
}

impl<'a> SwingTwist<'a> {
    /// Returns a measurement without poses. Joints that the skin does not use are included, with their rest
    /// pose in the skeleton.
    ///
    /// # Errors
    /// Those of [`Skin::fits`].
    pub fn new(skeleton: &'a Skeleton, skin: &'a Skin) -> Result<Self, Error> {
        skin.fits(skeleton)?;
        let count = skeleton.joint_count();
        let bind = Bind::of(skeleton, skin);
        let unbind = (0..count).map(|joint| conjugate(bind.rotation(joint))).collect();
        let (twists, swings) = (vec![0.0; count], vec![0.0; count]);
        Ok(Self { skeleton, skin, unbind, bones: bind.bones(), twists, swings })
    }

    /// Adds a pose. Joints with a zero or non-finite rotation are skipped, and so are joints that rotate by
    /// less than 3e-5 radians.
    ///
    /// # Errors
    /// [`Error::Length`] if the pose does not have one transform per joint of the skeleton.
    pub fn add(&mut self, pose: &Pose) -> Result<(), Error> {
        pose.check_joints("pose", self.skeleton.joint_count())?;
        for (joint, local) in pose.transforms().enumerate() {
            let turn = product(self.unbind[joint], local.rotation.map(f64::from));
            let [twist, swing] = losses(turn, self.bones[joint]);
            // False for NaN.
            if twist + swing > STILL {
                self.twists[joint] += twist;
                self.swings[joint] += swing.max(0.0);
            }
        }
        Ok(())
    }

    /// Returns the share of each vertex, from 0 to 1, as the argument of [`Influences::with_dual_shares`].
    ///
    /// # Errors
    /// [`Error::TooShort`] if the influences refer to a joint that the skin does not have.
    pub fn dual_shares(&self, influences: &Influences) -> Result<Vec<f32>, Error> {
        Error::check_room("skin", self.skin.joints().len(), influences.joint_bound())?;
        let mut weights = BTreeMap::new();
        let share = |vertex| {
            for (influence, weight) in influences.row(vertex) {
                let joint = self.skin.joints()[usize::from(influence)];
                *weights.entry(joint).or_insert(0.0) += f64::from(weight).abs();
            }
            self.share(&mut weights) as f32
        };
        Ok((0..influences.vertex_count()).map(share).collect())
    }

    /// Returns the share of a vertex with these weights, and clears them.
    ///
    /// A joint is between two influences if exactly one of them is the joint itself or a descendant. It
    /// counts with the product of the weights on both sides, so one pass up the skeleton handles all pairs.
    fn share(&self, weights: &mut BTreeMap<u16, f64>) -> f64 {
        let total: f64 = weights.values().sum();
        let (mut twist, mut both) = (0.0, 0.0);
        // Parents come before their children.
        while let Some((joint, below)) = weights.pop_last() {
            let beside = total - below;
            // If all weight is below this joint, neither it nor any later joint is between two influences.
            if beside <= 1e-12 * total {
                break;
            }
            let (at, part) = (usize::from(joint), below * beside);
            twist += part * self.twists[at];
            both += part * (self.twists[at] + self.swings[at]);
            let parent = self.skeleton.parents()[at];
            if parent != NO_PARENT {
                *weights.entry(parent).or_insert(0.0) += below;
            }
        }
        weights.clear();
        if both > 0.0 { (twist / both).min(1.0) } else { 0.0 }
    }
}

/// Rotations up to this sum of both `losses` count as rounding errors.
const STILL: f64 = 1e-10;

/// Returns the loss of a cross-section halfway under linear blending: from the twist of a rotation about
/// `bone`, and from its swing.
fn losses([x, y, z, w]: Quat64, bone: [f64; 3]) -> [f64; 2] {
    let about = dot([x, y, z], bone);
    let length = sqrt_f64(dot([x, y, z], [x, y, z]) + w * w);
    // The length times the cosine of half the swing angle. `w` is the length times that of half the rotation.
    let swung = sqrt_f64(about * about + w * w);
    let twist = if swung > 0.0 { 1.0 - w.abs() / swung } else { 0.0 };
    [twist, 1.0 - swung / length]
}

/// The bind pose: from the skin for joints that it uses, and from the rest pose for others.
struct Bind<'a> {
    skeleton: &'a Skeleton,
    /// Rotation and position in mesh space, for joints that the skin uses.
    joints: Vec<Option<(Quat64, [f64; 3])>>,
}

impl<'a> Bind<'a> {
    fn of(skeleton: &'a Skeleton, skin: &Skin) -> Self {
        let mut joints = vec![None; skeleton.joint_count()];
        for (&joint, inverse) in skin.joints().iter().zip(skin.inverse_bind()) {
            let back = nearest_rotation(&columns(&inverse.to_f64()));
            joints[usize::from(joint)] = Some((conjugate(back), bind_place(inverse)));
        }
        Self { skeleton, joints }
    }

    /// Returns a joint's parent and the joint, if the skin uses both.
    fn pair(&self, joint: usize) -> Option<[(Quat64, [f64; 3]); 2]> {
        let parent = self.joints.get(usize::from(self.skeleton.parents()[joint]))?;
        Some([(*parent)?, self.joints[joint]?])
    }

    /// Returns the rotation of a joint relative to its parent.
    fn rotation(&self, joint: usize) -> Quat64 {
        match self.pair(joint) {
            Some([(parent, _), (own, _)]) => product(conjugate(parent), own),
            None => self.skeleton.rest().get(joint).rotation.map(f64::from),
        }
    }

    /// Returns the vector from a joint's parent to the joint, in the parent's space.
    fn offset(&self, joint: usize) -> [f64; 3] {
        match self.pair(joint) {
            Some([(turned, from), (_, to)]) => {
                rotate(conjugate(turned), core::array::from_fn(|c| to[c] - from[c]))
            }
            None => self.skeleton.rest().get(joint).translation.map(f64::from),
        }
    }

    /// Returns the direction of each bone, in the space of its joint.
    fn bones(&self) -> Vec<[f64; 3]> {
        let count = self.skeleton.joint_count();
        // Children that do not deform the mesh count only if the others give no direction.
        let (mut sums, mut others) = (vec![[0.0; 3]; count], vec![[0.0; 3]; count]);
        for (joint, &parent) in self.skeleton.parents().iter().enumerate().filter(|(_, p)| **p != NO_PARENT) {
            let sums = if self.joints[joint].is_some() { &mut sums } else { &mut others };
            let (sum, offset) = (&mut sums[usize::from(parent)], self.offset(joint));
            *sum = core::array::from_fn(|c| sum[c] + offset[c]);
        }
        let bone = |joint: usize| {
            let onwards = rotate(conjugate(self.rotation(joint)), self.offset(joint));
            let is_root = self.skeleton.parents()[joint] == NO_PARENT;
            let onwards = if is_root { [0.0; 3] } else { onwards };
            [sums[joint], others[joint], onwards].into_iter().find_map(direction).unwrap_or([0.0; 3])
        };
        (0..count).map(bone).collect()
    }
}

fn direction(v: [f64; 3]) -> Option<[f64; 3]> {
    let length = sqrt_f64(dot(v, v));
    (length > 1e-12 && length.is_finite()).then(|| v.map(|c| c / length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Vertices;
    use crate::model::local_to_model;
    use crate::skeleton::Joint;
    use crate::skinning::{NormalRule, Palette, palette, palette_dual, skin};
    use crate::testing::{Random, assert_close, assert_portable, tries};
    use condyle_base::math::scalar::sin_cos_f64;
    use condyle_base::math::{Affine, Transform};

    /// Swing and twist by definition: the rotation is a twist followed by a swing whose axis is perpendicular
    /// to the bone.
    fn losses_by_definition(turn: Quat64, bone: [f64; 3]) -> [f64; 2] {
        let about = dot([turn[0], turn[1], turn[2]], bone);
        let length = (about * about + turn[3] * turn[3]).sqrt();
        let [x, y, z] = bone.map(|v| v * about / length);
        let twist = [x, y, z, turn[3] / length];
        let swing = product(turn, conjugate(twist));
        assert!(dot([swing[0], swing[1], swing[2]], bone).abs() < 1e-9);
        [twist, swing].map(|q| 1.0 - q[3].abs())
    }

    /// Returns all joints between two joints.
    fn between(skeleton: &Skeleton, [mut a, mut b]: [u16; 2]) -> Vec<usize> {
        let mut way = vec![];
        while a != b {
            let lower = if b == NO_PARENT || (a != NO_PARENT && a > b) { &mut a } else { &mut b };
            way.push(usize::from(*lower));
            *lower = skeleton.parents()[usize::from(*lower)];
        }
        way
    }

    /// Returns a skin bound in the rest pose, without scales.
    fn bound_at_rest(skeleton: &Skeleton) -> Skin {
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(skeleton, skeleton.rest(), &mut model).expect("sizes agree");
        // The joint indices of influences and of the skeleton differ.
        let joints: Vec<u16> = (0..model.len() as u16).rev().collect();
        let inverse = joints.iter().map(|&joint| model[usize::from(joint)].inverse().expect("no scales"));
        Skin::new(joints.clone(), inverse.collect()).expect("equal lengths")
    }

    fn without_scales(random: &mut Random, joints: usize) -> Skeleton {
        let skeleton = random.skeleton(joints);
        let mut rest = skeleton.rest().clone();
        for joint in 0..joints {
            rest.set(joint, &Transform { scale: [1.0; 3], ..rest.get(joint) });
        }
        skeleton.with_rest(&rest).expect("one transform per joint")
    }

    #[test]
    fn shares_are_the_sum_over_all_pairs() {
        let mut random = Random(41);
        let skeleton = without_scales(&mut random, 40);
        let bound = bound_at_rest(&skeleton);
        let influences = random.influences(tries(300), 40);
        let mut turns = SwingTwist::new(&skeleton, &bound).expect("a skin of this skeleton");
        let (mut twists, mut swings) = (vec![0.0; 40], vec![0.0; 40]);
        let rest: Vec<Transform> = skeleton.rest().transforms().collect();
        for _ in 0..3 {
            let pose = random.pose(40);
            turns.add(&pose).expect("one transform per joint");
            for (joint, local) in pose.transforms().enumerate() {
                let wide = |q: [f32; 4]| q.map(f64::from);
                let children = (0..40).filter(|&c| skeleton.parent(c as u16) == Some(joint as u16));
                let mut bone = [0.0; 3];
                for child in children {
                    (0..3).for_each(|c| bone[c] += f64::from(rest[child].translation[c]));
                }
                if bone == [0.0; 3] && skeleton.parent(joint as u16).is_some() {
                    let onwards = rest[joint].translation.map(f64::from);
                    bone = rotate(conjugate(wide(rest[joint].rotation)), onwards);
                }
                let length = dot(bone, bone).sqrt();
                let turn = product(conjugate(wide(rest[joint].rotation)), wide(local.rotation));
                let [twist, swing] =
                    losses_by_definition(turn, bone.map(|v| if length > 0.0 { v / length } else { 0.0 }));
                twists[joint] += twist;
                swings[joint] += swing;
            }
        }
        let got = turns.dual_shares(&influences).expect("joints within the skin");
        for (v, got) in got.into_iter().enumerate() {
            let row: Vec<_> = influences.row(v).collect();
            let (mut twist, mut both) = (0.0, 0.0);
            for (i, a) in row.iter().enumerate() {
                for b in &row[..i] {
                    let way = between(&skeleton, [a.0, b.0].map(|at| bound.joints()[usize::from(at)]));
                    let weight = f64::from(a.1.abs()) * f64::from(b.1.abs());
                    for joint in way {
                        twist += weight * twists[joint];
                        both += weight * (twists[joint] + swings[joint]);
                    }
                }
            }
            let want = if both > 0.0 { twist / both } else { 0.0 };
            assert_close(&[got], &[want], 1e-5, format_args!("vertex {v}: {row:?}"));
        }
    }

    /// An arm along x of radius 1. Its elbow at -8 and wrist at 8 each blend over four metres.
    fn arm() -> (Skeleton, Skin, Vertices, Influences) {
        let along = |x: f32| Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY };
        let joints = [("shoulder", None, -16.0), ("elbow", Some(0), 8.0), ("wrist", Some(1), 16.0)];
        let skeleton = Skeleton::new(joints.map(|(name, parent, x)| Joint::new(name, parent, along(x))));
        let inverse = [16.0, 8.0, -8.0].map(|x| Affine::from(along(x)));
        let (mut positions, mut rows) = (vec![], vec![]);
        for ring in -48..=48 {
            let x = ring as f32 / 4.0;
            let [elbow, wrist] = [-8.0, 8.0].map(|at| (0.5 + (x - at) / 4.0).clamp(0.0, 1.0));
            for k in 0..24 {
                let (sin, cos) = sin_cos_f64(f64::from(k) * core::f64::consts::TAU / 24.0);
                positions.push([x, sin as f32, cos as f32]);
                rows.push([(0, 1.0 - elbow), (1, elbow - wrist), (2, wrist)]);
            }
        }
        (
            skeleton.expect("parents before children"),
            Skin::new(vec![0, 1, 2], inverse.to_vec()).expect("equal lengths"),
            Vertices { positions, ..Vertices::default() },
            Influences::from_rows(rows).expect("finite"),
        )
    }

    /// Returns a rotation by angles in degrees about the arm and across it.
    fn turned([twist, bend]: [f64; 2]) -> [f32; 4] {
        let half = |degrees: f64| sin_cos_f64(degrees.to_radians() / 2.0);
        let ((sin, cos), (across, other)) = (half(twist), half(bend));
        product([0.0, 0.0, across, other], [sin, 0.0, 0.0, cos]).map(|v| v as f32)
    }

    /// Returns the distance of the outside of the elbow from its joint, and the minimum radius at the wrist.
    fn elbow_and_wrist(palette: &Palette, influences: &Influences, bind: &Vertices) -> [f64; 2] {
        let mut posed = Vertices::zeroed_like(bind);
        skin(influences, palette, bind.as_slices(), posed.as_slices_mut()).expect("sizes agree");
        let outer = bind.positions.iter().position(|&[x, y, _]| x == -8.0 && y < -0.999);
        let [x, y, _] = posed.positions[outer.expect("an outer vertex")];
        let elbow = f64::from((x + 8.0) * (x + 8.0) + y * y).sqrt();
        // After the bend the forearm points up from the elbow at x = -8.
        let wrist =
            bind.positions.iter().zip(&posed.positions).filter(|(bind, _)| (bind[0] - 8.0).abs() <= 2.0);
        let radius = wrist.map(|(_, &[x, _, z])| f64::from((x + 8.0) * (x + 8.0) + z * z).sqrt());
        [elbow, radius.fold(f64::MAX, f64::min)]
    }

    /// The elbow bends by 90 degrees and the wrist twists by 170. In the measured poses, the elbow also
    /// twists a little and the wrist also bends. The documentation states the figures.
    #[test]
    fn an_elbow_bends_as_linear_and_a_wrist_twists_as_dual() {
        let (skeleton, bound, bind, influences) = arm();
        let mut turns = SwingTwist::new(&skeleton, &bound).expect("a skin of this skeleton");
        for (elbow, wrist) in
            [([0.0, 45.0], [60.0, 5.0]), ([5.0, 90.0], [170.0, 10.0]), ([5.0, 110.0], [-80.0, -10.0])]
        {
            let mut pose = skeleton.rest().clone();
            pose.set(1, &Transform { rotation: turned(elbow), ..pose.get(1) });
            pose.set(2, &Transform { rotation: turned(wrist), ..pose.get(2) });
            turns.add(&pose).expect("one transform per joint");
        }
        let shares = turns.dual_shares(&influences).expect("joints within the skin");
        let mapped = influences.clone().with_dual_shares(shares).expect("from 0 to 1");

        let mut pose = skeleton.rest().clone();
        pose.set(1, &Transform { rotation: turned([0.0, 90.0]), ..pose.get(1) });
        pose.set(2, &Transform { rotation: turned([170.0, 0.0]), ..pose.get(2) });
        let mut model = [Affine::IDENTITY; 3];
        local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
        let (mut linear, mut dual) = (Palette::default(), Palette::default());
        palette(&bound, &model, NormalRule::default(), &mut linear).expect("sizes agree");
        palette_dual(&bound, &model, NormalRule::default(), &mut dual).expect("sizes agree");
        let got = [(&influences, &linear), (&influences, &dual), (&mapped, &dual)]
            .map(|(influences, palette)| elbow_and_wrist(palette, influences, &bind));
        for (got, want) in
            got.into_iter().zip([[core::f64::consts::FRAC_1_SQRT_2, 0.0872], [1.0, 1.0], [0.708, 0.994]])
        {
            assert!((got[0] - want[0]).abs() < 1e-3 && (got[1] - want[1]).abs() < 1e-3, "{got:?} {want:?}");
        }
    }

    #[test]
    fn what_has_no_rotation_does_not_count() {
        let (skeleton, bound, _, influences) = arm();
        let mut turns = SwingTwist::new(&skeleton, &bound).expect("a skin of this skeleton");
        let none = turns.dual_shares(&influences).expect("joints within the skin");
        turns.add(skeleton.rest()).expect("one transform per joint");
        for rotation in [[f32::NAN; 4], [0.0; 4], [f32::INFINITY; 4], [0.0, 0.0, 0.0, f32::INFINITY]] {
            let mut pose = skeleton.rest().clone();
            pose.set(1, &Transform { rotation, ..pose.get(1) });
            turns.add(&pose).expect("one transform per joint");
        }
        assert_eq!(turns.dual_shares(&influences), Ok(none.clone()));
        assert!(none.iter().all(|&share| share == 0.0));

        let wrong = Error::Length { what: "pose", found: 2, needed: 3 };
        assert_eq!(turns.add(&Pose::identity(2)), Err(wrong));
        let wrong = Error::TooShort { what: "skin", found: 3, needed: 4 };
        let other = Influences::from_rows([[(3, 1.0)]]).expect("finite");
        assert_eq!(turns.dual_shares(&other), Err(wrong));
        let far = Skin::new(vec![3], vec![Affine::IDENTITY]).expect("equal lengths");
        assert!(SwingTwist::new(&skeleton, &far).is_err());
    }

    #[test]
    fn the_bits_are_the_same_everywhere() {
        assert_portable(0x4a73_6b53_501b_7c9a, |hash| {
            let mut random = Random(42);
            let skeleton = without_scales(&mut random, 30);
            let bound = random.skin(30);
            let mut turns = SwingTwist::new(&skeleton, &bound).expect("a skin of this skeleton");
            (0..3).for_each(|_| turns.add(&random.pose(30)).expect("one transform per joint"));
            hash.add(&turns.dual_shares(&random.influences(200, 30)).expect("joints within the skin"));
        });
    }
}
