//! Skeletons, poses and model matrices.

use std::ffi::CString;

use capi::*;

use crate::World;
use crate::output::{Output, Sized};
use crate::pool::Handle;

/// Bits of transforms, which are equal for NaNs too.
pub(crate) type Bits = Vec<[u32; 10]>;

impl World<'_> {
    pub(crate) fn pose(&mut self) {
        match self.input.below(12) {
            0 => self.new_skeleton(),
            1 => self.skeleton_properties(),
            2 | 3 => {
                let skeleton = any!(self, skeletons);
                make!(self, poses, condyle_pose_new(self.at(skeleton); out));
            }
            4 => self.copy_pose(),
            5 | 6 => self.pose_transforms(),
            7..10 => self.model_matrices(),
            10 => self.columns(),
            _ => self.rigid(),
        }
    }

    fn new_skeleton(&mut self) {
        let right = self.input.below(9);
        let count = self.count(right);
        let names: Vec<CString> = (0..3).map(|_| self.text()).collect();
        let room = if count > 1 << 20 { 1 } else { count };
        let mut bad = false;
        let joints: Vec<_> = (0..room)
            .map(|at| {
                let name = &names[self.input.below(3)];
                bad |= name.as_bytes() == b"\xff\xfe";
                let parent = match self.input.below(12) {
                    0 => CONDYLE_NO_JOINT,
                    1 => self.input.joint(at + 1),
                    _ if at == 0 => CONDYLE_NO_JOINT,
                    _ => self.input.below(at) as u16,
                };
                let mut rest = self.input.transform();
                if !self.input.one_in(8) {
                    rest.translation = rest.translation.map(|v| v.clamp(-2.0, 2.0));
                }
                condyle_joint { name: self.at(name.as_ptr()), parent, rest }
            })
            .collect();
        // Only names that a joint has are read.
        let used = joints.iter().any(|joint| joint.name.is_null());
        self.misuse.must_fail = bad || used || count > 1 << 20;
        make!(self, skeletons, condyle_skeleton_new(self.array(&joints, count), count; out));
    }

    fn skeleton_properties(&mut self) {
        let skeleton = any!(self, skeletons);
        if self.input.one_in(2) {
            let mut info = Sized::<condyle_skeleton_info>::new(self);
            let ok = call!(self, condyle_skeleton_get_info(self.at(skeleton), self.at_mut(info.pointer())));
            info.check(ok, "condyle_skeleton_get_info");
        } else {
            let (mut joint, name) = (Output::new(1), self.text());
            let (skeleton, name) = (self.at(skeleton), self.at(name.as_ptr()));
            let ok = call!(self, condyle_skeleton_find_joint(skeleton, name, self.at_mut(joint.pointer())));
            joint.check(ok, "condyle_skeleton_find_joint");
        }
    }

    fn copy_pose(&mut self) {
        let pose = any!(self, poses);
        let before = self.transforms_of(pose);
        let ok = if self.input.one_in(2) {
            let skeleton = any!(self, skeletons);
            call!(self, condyle_pose_set_rest(self.at(skeleton), self.at_mut(pose)))
        } else {
            let from = any!(self, poses);
            self.misuse.must_fail |= from == pose;
            call!(self, condyle_pose_copy(self.at(from), self.at_mut(pose)))
        };
        self.check_pose(ok, pose, &before);
    }

    fn pose_transforms(&mut self) {
        let pose = any!(self, poses);
        let before = self.transforms_of(pose);
        let (first, right) = (self.input.below(before.len() + 2), self.input.below(before.len() + 1));
        let count = self.count(right);
        if self.input.one_in(2) {
            let mut transforms = Output::<condyle_transform>::new(count);
            let pose = self.at(pose);
            let out = self.output_array(&mut transforms, count);
            let ok = call!(self, condyle_pose_get(pose, first, out, count));
            transforms.check(ok, "condyle_pose_get");
        } else {
            let room = if count > 1 << 20 { 1 } else { count };
            let transforms: Vec<_> = (0..room).map(|_| self.input.transform()).collect();
            let target = self.at_mut(pose);
            let ok = call!(self, condyle_pose_set(target, first, self.array(&transforms, count), count));
            self.check_pose(ok, pose, &before);
        }
    }

    fn model_matrices(&mut self) {
        let (skeleton, pose) = (any!(self, skeletons), any!(self, poses));
        let right = self.joints_of(skeleton);
        let count = self.count(right);
        let mut matrices = Output::<condyle_matrix>::new(count);
        if self.input.one_in(4) {
            let mut old = self.model(count);
            let (joint, bits) = (self.input.joint(right), bits_of(&old));
            let (skeleton, pose) = (self.at(skeleton), self.at(pose));
            let out = if count == 0 { old.as_mut_ptr() } else { self.at_mut(old.as_mut_ptr()) };
            let ok = call!(self, condyle_local_to_model_below(skeleton, pose, joint, out, count));
            assert!(ok || bits_of(&old) == bits, "condyle_local_to_model_below failed and wrote");
            return;
        }
        let (skeleton, pose) = (self.at(skeleton), self.at(pose));
        let out = self.output_array(&mut matrices, count);
        let ok = call!(self, condyle_local_to_model(skeleton, pose, out, count));
        matrices.check(ok, "condyle_local_to_model");
        if ok {
            self.matrices = (0..count).map(|at| *matrices.get(at)).collect();
        }
    }

    fn columns(&mut self) {
        let right = self.input.below(6);
        let count = self.count(right);
        let mut matrices = self.model(count);
        let mut columns = Output::<condyle_columns>::new(count);
        if self.input.one_in(4) && !matrices.is_empty() && count == matrices.len() {
            self.misuse.must_fail = true;
            let out = matrices.as_mut_ptr();
            let inside = out.wrapping_byte_add(16 * self.input.below(3 * count)).cast();
            call!(self, condyle_matrices_to_columns(out, inside, count));
            return;
        }
        let read = self.array(&matrices, count);
        let out = self.output_array(&mut columns, count);
        let ok = call!(self, condyle_matrices_to_columns(read, out, count));
        columns.check(ok, "condyle_matrices_to_columns");
    }

    fn rigid(&mut self) {
        let mut product = Output::new(1);
        if self.input.one_in(2) {
            let [a, b] = [self.input.rigid(), self.input.rigid()];
            let (a, b) = (self.at(&raw const a), self.at(&raw const b));
            let ok = call!(self, condyle_rigid_multiply(a, b, self.at_mut(product.pointer())));
            product.check(ok, "condyle_rigid_multiply");
            return;
        }
        let right = self.input.below(CONDYLE_MAX_LAYERS + 2);
        let count = self.count(right);
        let room = if count > 1 << 20 { 1 } else { count };
        let motions: Vec<_> = (0..room).map(|_| self.input.rigid()).collect();
        let weights = self.input.list(room);
        let (motions, weights) = (self.array(&motions, count), self.array(&weights, count));
        let ok = call!(self, condyle_motion_blend(motions, weights, count, self.at_mut(product.pointer())));
        product.check(ok, "condyle_motion_blend");
    }

    /// Number of joints of a skeleton.
    pub(crate) fn joints_of(&mut self, skeleton: *const condyle_skeleton) -> usize {
        self.aside(|world| {
            let mut info = Sized::<condyle_skeleton_info>::exact();
            assert!(call!(world, condyle_skeleton_get_info(skeleton, info.pointer())));
            info.get().joint_count
        })
    }

    /// Transforms of a pose.
    pub(crate) fn transforms_of(&mut self, pose: *const condyle_pose) -> Bits {
        self.aside(|world| {
            // No pose has more joints than this. A call with too many fails.
            let mut count = 0;
            for step in [8, 4, 2, 1] {
                let mut out = Output::<condyle_transform>::new(count + step);
                if call!(world, condyle_pose_get(pose, 0, out.pointer(), count + step)) {
                    count += step;
                }
            }
            let mut out = Output::<condyle_transform>::new(count);
            assert!(call!(world, condyle_pose_get(pose, 0, out.pointer(), count)));
            let bits = |at: usize| {
                let it = out.get(at);
                let [a, b, c, d] = it.rotation.map(f32::to_bits);
                let ([e, f, g], [h, i, j]) = (it.translation.map(f32::to_bits), it.scale.map(f32::to_bits));
                [a, b, c, d, e, f, g, h, i, j]
            };
            (0..count).map(bits).collect()
        })
    }

    /// Panics if a failed call has changed a pose.
    pub(crate) fn check_pose(&mut self, ok: bool, pose: *const condyle_pose, before: &Bits) {
        assert!(ok || self.transforms_of(pose) == *before, "a failed call changed the pose");
    }

    /// Model matrices: those of the last pose, completed by random ones.
    pub(crate) fn model(&mut self, count: usize) -> Vec<condyle_matrix> {
        let count = if count > 1 << 20 { 1 } else { count };
        let mut matrices = self.matrices.clone();
        matrices.truncate(count);
        while matrices.len() < count {
            matrices.push(self.input.matrix());
        }
        matrices.into_boxed_slice().into_vec()
    }

    /// Runs calls outside of the sequence, without misuse.
    pub(crate) fn aside<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let (countdown, must_fail) = self.misuse.suspend();
        let result = body(self);
        self.misuse.resume(countdown, must_fail);
        result
    }
}

fn bits_of(matrices: &[condyle_matrix]) -> Vec<[u32; 12]> {
    let bits = |it: &condyle_matrix| std::array::from_fn(|at| it.rows[at / 4][at % 4].to_bits());
    matrices.iter().map(bits).collect()
}
