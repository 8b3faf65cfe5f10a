//! Blending, additive poses, overlays and masks.

use std::ptr::null;

use capi::*;

use crate::World;
use crate::output::Output;
use crate::pool::Handle;

impl World<'_> {
    pub(crate) fn blend(&mut self) {
        match self.input.below(10) {
            0..3 => self.blend_layers(),
            3 | 4 => self.add(),
            5 => self.overlay(),
            6 => self.difference(),
            7 => self.joint_mask(),
            8 => self.inertialize(),
            _ => self.mirror(),
        }
    }

    /// Layers of random poses, at most two more than allowed. Sets `must_fail` if one of them is `out`.
    fn layers(
        &mut self,
        joints: usize,
        out: *const condyle_pose,
        masks: &mut Vec<Box<[f32]>>,
    ) -> Option<Vec<condyle_layer>> {
        let most = if self.input.one_in(16) { CONDYLE_MAX_LAYERS + 3 } else { 5 };
        let mut layers = Vec::new();
        for _ in 0..self.input.below(most) {
            let at = self.input.below(self.pools.poses.len());
            let pose = self.pools.poses.get(at)?.pointer.cast_const();
            self.misuse.must_fail |= pose == out;
            let (mask, mask_count) = self.mask(joints, masks);
            let weight = self.input.number();
            layers.push(condyle_layer { pose: self.at(pose), weight, mask, mask_count });
        }
        Some(layers)
    }

    fn blend_layers(&mut self) {
        let (skeleton, pose) = (any!(self, skeletons), any!(self, poses));
        let (joints, before) = (self.joints_of(skeleton), self.transforms_of(pose));
        let mut masks = Vec::new();
        let Some(layers) = self.layers(joints, pose, &mut masks) else { return };
        let (count, mean) = (layers.len(), self.input.constant(2));
        let (skeleton, layers) = (self.at(skeleton), self.array(&layers, count));
        let ok = call!(self, condyle_blend(skeleton, layers, count, mean, self.at_mut(pose)));
        self.check_pose(ok, pose, &before);
    }

    fn add(&mut self) {
        let (base, pose) = (any!(self, poses), any!(self, poses));
        let before = self.transforms_of(pose);
        let mut masks = Vec::new();
        let Some(layers) = self.layers(before.len(), pose, &mut masks) else { return };
        let count = layers.len();
        let base = if self.input.one_in(2) { null() } else { base.cast_const() };
        let layers = self.array(&layers, count);
        let ok = call!(self, condyle_add(base, layers, count, self.at_mut(pose)));
        self.check_pose(ok, pose, &before);
    }

    fn overlay(&mut self) {
        let (base, over, pose) = (any!(self, poses), any!(self, poses), any!(self, poses));
        let before = self.transforms_of(pose);
        let mut masks = Vec::new();
        let (mask, mask_count) = self.mask(before.len(), &mut masks);
        self.misuse.must_fail |= over == pose;
        let base = if self.input.one_in(2) { null() } else { base.cast_const() };
        let (over, amount) = (self.at(over), self.input.number());
        let ok = call!(self, condyle_overlay(base, over, amount, mask, mask_count, self.at_mut(pose)));
        self.check_pose(ok, pose, &before);
    }

    fn difference(&mut self) {
        let (pose, reference, difference) = (any!(self, poses), any!(self, poses), any!(self, poses));
        let before = self.transforms_of(difference);
        self.misuse.must_fail |= pose == difference || reference == difference;
        let (pose, reference) = (self.at(pose), self.at(reference));
        let ok = call!(self, condyle_difference(pose, reference, self.at_mut(difference)));
        self.check_pose(ok, difference, &before);
    }

    fn joint_mask(&mut self) {
        let skeleton = any!(self, skeletons);
        let joints = self.joints_of(skeleton);
        let right = self.input.below(4);
        let (root_count, mask_count) = (self.count(right), self.count(joints));
        let mut roots: Vec<_> = (0..if root_count > 1 << 20 { 1 } else { root_count })
            .map(|_| condyle_joint_weight { joint: self.input.joint(joints), weight: self.input.number() })
            .collect();
        let (mut mask, feather) = (Output::<f32>::new(mask_count), self.input.constant(4) as u16);
        let overlaps = self.input.one_in(8) && roots.len() == root_count && mask_count.min(root_count) > 0;
        if overlaps && mask_count.saturating_mul(size_of::<f32>()) <= size_of_val(&*roots) {
            self.misuse.must_fail = true;
            let inside = roots.as_mut_ptr();
            call!(self, condyle_joint_mask(skeleton, inside, root_count, feather, inside.cast(), mask_count));
            return;
        }
        let (skeleton, roots) = (self.at(skeleton), self.array(&roots, root_count));
        let out = self.output_array(&mut mask, mask_count);
        let ok = call!(self, condyle_joint_mask(skeleton, roots, root_count, feather, out, mask_count));
        mask.check(ok, "condyle_joint_mask");
    }

    fn inertialize(&mut self) {
        let skeleton = any!(self, skeletons);
        if self.pools.inertializations.is_empty() || self.input.one_in(6) {
            make!(self, inertializations, condyle_inertialization_new(self.at(skeleton); out));
            return;
        }
        let (transition, pose) = (any!(self, inertializations), any!(self, poses));
        if self.input.one_in(2) {
            let (before, seconds) = (self.transforms_of(pose), self.input.number());
            let transition = self.at(transition);
            let ok = call!(self, condyle_inertialization_apply(transition, seconds, self.at_mut(pose)));
            self.check_pose(ok, pose, &before);
            return;
        }
        let [a, b, c] = [any!(self, poses), any!(self, poses), any!(self, poses)];
        let (step, duration) = (self.input.number(), self.input.number());
        let (transition, pose, a) = (self.at_mut(transition), self.at(pose), self.at(a));
        let (b, c) = (self.at(b), self.at(c));
        call!(self, condyle_inertialization_start(transition, pose, a, b, c, step, duration));
    }

    fn mirror(&mut self) {
        if self.pools.mirrors.is_empty() || self.input.one_in(4) {
            let skeleton = any!(self, skeletons);
            let joints = self.joints_of(skeleton);
            let right = self.input.below(4);
            let count = self.count(right);
            let pairs: Vec<_> = (0..if count > 1 << 20 { 1 } else { count })
                .map(|_| condyle_joint_pair {
                    left: self.input.joint(joints),
                    right: self.input.joint(joints),
                })
                .collect();
            let normal = self.input.numbers::<3>();
            let (skeleton, pairs) = (self.at(skeleton), self.array(&pairs, count));
            let normal = self.optional(normal.as_ptr());
            make!(self, mirrors, condyle_mirror_new(skeleton, pairs, count, normal; out));
            return;
        }
        let (mirror, from, pose) = (any!(self, mirrors), any!(self, poses), any!(self, poses));
        let before = self.transforms_of(pose);
        let (mirror, from) = (self.at(mirror), self.optional(from));
        // A source that is the output changes it in place.
        let ok = call!(self, condyle_mirror_pose(mirror, from, self.at_mut(pose)));
        self.check_pose(ok, pose, &before);
    }
}
