//! The skeleton that is searched: places of the joints in one pose, names as words, children.

use condyle::{Affine, Error, Pose, Skeleton, local_to_model};
use condyle_base::math::vectors::{dot, length, scaled, sub};

use super::name::{Reading, read_all};

pub(super) type Vec3 = [f64; 3];

/// Joints of a skeleton with all that the search reads.
pub(super) struct Body<'a> {
    pub(super) skeleton: &'a Skeleton,
    pub(super) readings: Vec<Reading>,
    /// Places in model space.
    pub(super) at: Vec<Vec3>,
    depth: Vec<u16>,
    first_child: Vec<Option<u16>>,
    next: Vec<Option<u16>>,
    /// Maximum length of a chain of bones: about the body's height.
    pub(super) size: f64,
}

impl<'a> Body<'a> {
    pub(super) fn new(skeleton: &'a Skeleton, pose: &Pose) -> Result<Self, Error> {
        let count = skeleton.joint_count();
        let mut model = vec![Affine::IDENTITY; count];
        local_to_model(skeleton, pose, &mut model)?;
        let at: Vec<Vec3> = model.iter().map(|m| m.rows.map(|row| f64::from(row[3]))).collect();
        let (mut first_child, mut next) = (vec![None; count], vec![None; count]);
        let mut depth = vec![0_u16; count];
        for joint in 0..count {
            if let Some(parent) = skeleton.parent(joint as u16) {
                depth[joint] = depth[usize::from(parent)] + 1;
            }
        }
        let mut reach = vec![0.0_f64; count];
        let mut size = 0.0_f64;
        for joint in (0..count).rev() {
            let Some(parent) = skeleton.parent(joint as u16) else { continue };
            let parent = usize::from(parent);
            next[joint] = first_child[parent];
            first_child[parent] = Some(joint as u16);
            reach[parent] = reach[parent].max(reach[joint] + length(sub(at[joint], at[parent])));
            // The bone below a root may be a distance from the ground or from the scene's middle.
            if skeleton.parent(parent as u16).is_some() {
                size = size.max(reach[parent]);
            }
        }
        let size = if size > 0.0 { size } else { reach.iter().copied().fold(0.0, f64::max) };
        let readings = read_all(skeleton.names());
        Ok(Self { skeleton, readings, at, depth, first_child, next, size })
    }

    pub(super) fn reading(&self, joint: u16) -> &Reading {
        &self.readings[usize::from(joint)]
    }

    pub(super) fn place(&self, joint: u16) -> Vec3 {
        self.at[usize::from(joint)]
    }

    pub(super) fn name(&self, joint: u16) -> &'a str {
        &self.skeleton.names()[usize::from(joint)]
    }

    /// Returns the vector from one joint to another.
    pub(super) fn between(&self, from: u16, to: u16) -> Vec3 {
        sub(self.place(to), self.place(from))
    }

    pub(super) fn distance(&self, from: u16, to: u16) -> f64 {
        length(self.between(from, to))
    }

    pub(super) fn children(&self, joint: u16) -> impl Iterator<Item = u16> + '_ {
        core::iter::successors(self.first_child[usize::from(joint)], |&it| self.next[usize::from(it)])
    }

    /// Returns a joint and its ancestors, upwards.
    pub(super) fn upwards(&self, joint: u16) -> impl Iterator<Item = u16> + '_ {
        core::iter::successors(Some(joint), |&joint| self.skeleton.parent(joint))
    }

    pub(super) fn is_below(&self, joint: u16, above: u16) -> bool {
        let levels = self.depth[usize::from(joint)].checked_sub(self.depth[usize::from(above)]);
        levels.is_some_and(|levels| self.upwards(joint).nth(levels.into()) == Some(above))
    }

    /// Returns the lowest joint at or above both.
    pub(super) fn common(&self, a: u16, b: u16) -> Option<u16> {
        let depth = |joint: u16| self.depth[usize::from(joint)];
        let (mut a, mut b) = (a, b);
        while depth(a) > depth(b) {
            a = self.skeleton.parent(a)?;
        }
        while depth(b) > depth(a) {
            b = self.skeleton.parent(b)?;
        }
        while a != b {
            (a, b) = (self.skeleton.parent(a)?, self.skeleton.parent(b)?);
        }
        Some(a)
    }

    /// Returns the joints from `above` to `joint`, without the first and the last.
    pub(super) fn path(&self, above: u16, joint: u16) -> Vec<u16> {
        let mut path: Vec<u16> = self.upwards(joint).skip(1).take_while(|&it| it != above).collect();
        path.reverse();
        path
    }

    /// Whether a joint is on the line of a bone, between its ends.
    pub(super) fn is_on_bone(&self, joint: u16, from: u16, to: u16) -> bool {
        let bone = self.between(from, to);
        let along = self.between(from, joint);
        let square = dot(bone, bone);
        if square == 0.0 {
            return false;
        }
        let t = dot(along, bone) / square;
        let off = length(sub(along, scaled(bone, t)));
        (-0.01..=1.01).contains(&t) && off * off <= 0.04 * 0.04 * square
    }
}

/// Returns the vector at length 1. `None` for a vector of length 0.
pub(super) fn unit(v: Vec3) -> Option<Vec3> {
    let length = length(v);
    (length > 0.0 && length.is_finite()).then(|| scaled(v, 1.0 / length))
}

/// Returns the cosine between two vectors, 0 if one has no length.
pub(super) fn cosine(a: Vec3, b: Vec3) -> f64 {
    unit(a).zip(unit(b)).map_or(0.0, |(a, b)| dot(a, b))
}
