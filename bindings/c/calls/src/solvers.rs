//! Inverse kinematics, feet and springs.

use std::ffi::c_void;
use std::ptr::null;

use capi::*;

use crate::World;
use crate::output::Output;
use crate::pool::Handle;

impl World<'_> {
    pub(crate) fn solve(&mut self) {
        match self.input.below(9) {
            0 | 1 => self.two_bone(),
            2 => self.aim(),
            3 => self.chain(),
            4 => self.new_feet(),
            5 => self.place_feet(),
            6 => self.new_springs(),
            _ => self.swing(),
        }
    }

    fn two_bone(&mut self) {
        let (skeleton, pose) = (any!(self, skeletons), any!(self, poses));
        let (joints, before) = (self.joints_of(skeleton), self.transforms_of(pose));
        let count = self.count(joints);
        let first = self.input.joint(joints);
        let joints = match self.input.one_in(4) {
            true => [first, self.input.joint(joints), self.input.joint(joints)],
            false => [first, first.saturating_add(1), first.saturating_add(2)],
        };
        let options = condyle_two_bone_options {
            size: self.size::<condyle_two_bone_options>(),
            joints,
            goal: self.input.numbers(),
            pole: if self.input.one_in(2) { self.input.numbers() } else { [0.0; 3] },
            orientation: if self.input.one_in(4) { self.input.rotation() } else { [0.0; 4] },
            soft: if self.input.one_in(4) { self.input.number() } else { 0.0 },
            weight: if self.input.one_in(4) { self.input.number() } else { 1.0 },
        };
        let (model, mut reached) = (self.model(count), Output::new(1));
        let (skeleton, model) = (self.at(skeleton), self.array(&model, count));
        let (options, target) = (self.at(&raw const options), self.at_mut(pose));
        let out = self.optional_mut(reached.pointer());
        let ok = call!(self, condyle_two_bone(skeleton, model, count, options, target, out));
        reached.check(ok, "condyle_two_bone");
        self.check_pose(ok, pose, &before);
    }

    fn aim(&mut self) {
        let (skeleton, pose) = (any!(self, skeletons), any!(self, poses));
        let (joints, before) = (self.joints_of(skeleton), self.transforms_of(pose));
        let count = self.count(joints);
        let most = if self.input.one_in(16) { CONDYLE_MAX_CHAIN + 3 } else { 4 };
        let right = self.input.below(most);
        let share_count = self.count(right);
        let shares: Vec<_> = (0..if share_count > 1 << 20 { 1 } else { share_count })
            .map(|at| condyle_joint_weight {
                joint: if self.input.one_in(8) { self.input.joint(joints) } else { at as u16 },
                weight: self.input.number(),
            })
            .collect();
        let options = condyle_aim_options {
            size: self.size::<condyle_aim_options>(),
            joint: self.input.joint(joints),
            axis: self.input.numbers(),
            origin: self.input.numbers(),
            target: self.input.numbers(),
            up_axis: if self.input.one_in(2) { self.input.numbers() } else { [0.0; 3] },
            up_direction: self.input.numbers(),
            weight: if self.input.one_in(4) { self.input.number() } else { 1.0 },
            shares: self.array(&shares, share_count),
            share_count,
        };
        let (model, mut reached) = (self.model(count), Output::new(1));
        let (skeleton, model) = (self.at(skeleton), self.array(&model, count));
        let (options, target) = (self.at(&raw const options), self.at_mut(pose));
        let out = self.optional_mut(reached.pointer());
        let ok = call!(self, condyle_aim(skeleton, model, count, options, target, out));
        reached.check(ok, "condyle_aim");
        self.check_pose(ok, pose, &before);
    }

    fn chain(&mut self) {
        let (skeleton, pose) = (any!(self, skeletons), any!(self, poses));
        let (joints, before) = (self.joints_of(skeleton), self.transforms_of(pose));
        let count = self.count(joints);
        let first = self.input.joint(joints);
        let most = if self.input.one_in(16) { CONDYLE_MAX_CHAIN + 3 } else { 5 };
        let right = self.input.below(most);
        let joint_count = self.count(right);
        let list: Vec<u16> =
            (0..if joint_count > 1 << 20 { 1 } else { joint_count })
                .map(|at| {
                    if self.input.one_in(8) {
                        self.input.joint(joints)
                    } else {
                        first.wrapping_add(at as u16)
                    }
                })
                .collect();
        let last = list.last().copied().unwrap_or(0);
        let options = condyle_chain_options {
            size: self.size::<condyle_chain_options>(),
            joints: self.array(&list, joint_count),
            joint_count,
            tip: if self.input.one_in(4) { self.input.joint(joints) } else { last },
            offset: self.input.numbers(),
            goal: self.input.numbers(),
            orientation: if self.input.one_in(2) { self.input.rotation() } else { [0.0; 4] },
            method: self.input.constant(3),
            tolerance: if self.input.one_in(4) { self.input.number() } else { 0.0001 },
            iterations: self.input.below(60) as u16,
            weight: if self.input.one_in(4) { self.input.number() } else { 1.0 },
        };
        let (model, mut reached) = (self.model(count), Output::new(1));
        let (skeleton, model) = (self.at(skeleton), self.array(&model, count));
        let (options, target) = (self.at(&raw const options), self.at_mut(pose));
        let out = self.optional_mut(reached.pointer());
        let ok = call!(self, condyle_chain(skeleton, model, count, options, target, out));
        reached.check(ok, "condyle_chain");
        self.check_pose(ok, pose, &before);
    }

    fn new_feet(&mut self) {
        let skeleton = any!(self, skeletons);
        let joints = self.joints_of(skeleton);
        match self.input.below(3) {
            0 => {
                let most = if self.input.one_in(8) { CONDYLE_MAX_LEGS + 2 } else { 3 };
                let right = self.input.below(most);
                let count = self.count(right);
                let legs: Vec<_> = (0..if count > 1 << 20 { 1 } else { count })
                    .map(|at| {
                        let hip =
                            if self.input.one_in(4) { self.input.joint(joints) } else { 1 + 4 * at as u16 };
                        let below = |step| hip.saturating_add(step);
                        let toe = if self.input.one_in(2) { below(3) } else { CONDYLE_NO_JOINT };
                        condyle_leg { hip, knee: below(1), foot: below(2), toe }
                    })
                    .collect();
                let pelvis = if self.input.one_in(8) { self.input.joint(joints) } else { 0 };
                let skeleton = self.at(skeleton);
                make!(self, feet, condyle_feet_new(skeleton, pelvis, self.array(&legs, count), count; out));
            }
            1 => {
                let feet = any!(self, feet);
                make!(self, feet_states, condyle_feet_state_new(self.at(feet); out));
            }
            _ => {
                let (feet, clip, looping) = (any!(self, feet), any!(self, clips), self.input.constant(2));
                let (clip, skeleton) = (self.at(clip), self.at(skeleton));
                make!(self, contacts, condyle_contacts_new(clip, skeleton, self.at(feet), looping; out));
            }
        }
    }

    fn place_feet(&mut self) {
        let (skeleton, pose) = (any!(self, skeletons), any!(self, poses));
        let (feet, state) = (any!(self, feet), any!(self, feet_states));
        let (joints, before) = (self.joints_of(skeleton), self.transforms_of(pose));
        let count = self.count(joints);
        let at = self.input.below(self.pools.contacts.len() + 1);
        let contacts = self.pools.contacts.get(at).map_or(null(), |it| it.pointer.cast_const());
        let mut heights = Ground { points: Vec::new(), next: 0 };
        for _ in 0..self.input.below(4) {
            let normal =
                if self.input.one_in(2) { [0.0, 1.0, 0.0] } else { [(); 3].map(|()| self.input.double()) };
            heights.points.push((self.input.double(), normal));
        }
        let has_ground = !self.input.one_in(12);
        self.misuse.must_fail |= !has_ground;
        let frame = condyle_feet_frame {
            size: self.size::<condyle_feet_frame>(),
            placement: self.input.rigid(),
            ground: has_ground.then_some(ground),
            ground_data: (&raw mut heights).cast(),
            contacts,
            clock: self.input.double(),
            seconds: if self.input.one_in(4) { self.input.number() } else { 0.02 },
            weight: if self.input.one_in(4) { self.input.number() } else { 1.0 },
        };
        let (model, mut reached) = (self.model(count), Output::new(1));
        let (skeleton, model, feet) = (self.at(skeleton), self.array(&model, count), self.at(feet));
        let (frame, state, target) = (self.at(&raw const frame), self.at_mut(state), self.at_mut(pose));
        let out = self.optional_mut(reached.pointer());
        let ok = call!(self, condyle_feet_place(skeleton, model, count, feet, frame, state, target, out));
        reached.check(ok, "condyle_feet_place");
        self.check_pose(ok, pose, &before);
    }

    fn new_springs(&mut self) {
        if self.input.one_in(3) {
            let model = any!(self, models);
            make!(self, springs, condyle_springs_of_model(self.at(model); out));
            return;
        }
        if self.input.one_in(2) {
            let springs = any!(self, springs);
            make!(self, spring_states, condyle_spring_state_new(self.at(springs); out));
            return;
        }
        let skeleton = any!(self, skeletons);
        let joints = self.joints_of(skeleton);
        let right = self.input.below(3);
        let collider_count = self.count(right);
        let colliders: Vec<_> = (0..if collider_count > 1 << 20 { 1 } else { collider_count })
            .map(|_| condyle_collider {
                joint: if self.input.one_in(2) { CONDYLE_NO_JOINT } else { self.input.joint(joints) },
                shape: self.input.constant(3),
                inside: self.input.flag(),
                offset: self.input.numbers(),
                tail: self.input.numbers(),
                radius: self.input.number().abs(),
            })
            .collect();
        let (mut lists, mut chains) = (Vec::new(), Vec::new());
        for _ in 0..self.input.below(3) {
            let (first, joint_count) = (self.input.joint(joints), self.input.below(4));
            let part = |world: &mut Self| world.input.number().abs().min(1.0);
            let list: Vec<_> = (0..joint_count)
                .map(|at| condyle_spring_joint {
                    joint: first.wrapping_add(at as u16),
                    stiffness: self.input.number().abs(),
                    gravity: self.input.numbers(),
                    drag: part(self),
                    hit_radius: part(self),
                })
                .collect();
            let indices: Vec<u16> =
                (0..self.input.below(3)).map(|_| self.input.joint(colliders.len())).collect();
            chains.push(condyle_spring {
                joints: self.array(&list, joint_count),
                joint_count,
                end: if self.input.one_in(2) { self.input.numbers() } else { [0.0; 3] },
                center: if self.input.one_in(4) { self.input.joint(joints) } else { CONDYLE_NO_JOINT },
                colliders: self.array(&indices, indices.len()),
                collider_count: indices.len(),
            });
            lists.push((list, indices));
        }
        let count = chains.len();
        let (skeleton, chains) = (self.at(skeleton), self.array(&chains, count));
        let colliders = self.array(&colliders, collider_count);
        make!(self, springs, condyle_springs_new(skeleton, chains, count, colliders, collider_count; out));
    }

    fn swing(&mut self) {
        let (springs, state) = (any!(self, springs), any!(self, spring_states));
        if self.input.one_in(8) {
            call!(self, condyle_spring_state_reset(self.at_mut(state)));
            return;
        }
        let (skeleton, pose) = (any!(self, skeletons), any!(self, poses));
        let (joints, before) = (self.joints_of(skeleton), self.transforms_of(pose));
        let count = self.count(joints);
        let frame = condyle_spring_frame {
            size: self.size::<condyle_spring_frame>(),
            seconds: if self.input.one_in(4) { self.input.number() } else { 0.02 },
            to_world: self.input.matrix(),
            weight: if self.input.one_in(4) { self.input.number() } else { 1.0 },
            force: self.input.numbers(),
        };
        let model = self.model(count);
        let (skeleton, model, springs) = (self.at(skeleton), self.array(&model, count), self.at(springs));
        let (frame, state) = (self.at(&raw const frame), self.at_mut(state));
        let ok = call!(
            self,
            condyle_springs_swing(skeleton, model, count, springs, frame, state, self.at_mut(pose))
        );
        self.check_pose(ok, pose, &before);
    }
}

/// Points of the ground, one per call; none at the end of the list.
struct Ground {
    points: Vec<(f64, [f64; 3])>,
    next: usize,
}

/// Ground of the caller.
unsafe extern "C" fn ground(data: *mut c_void, from: *const f64, point: *mut condyle_ground_point) -> u32 {
    // SAFETY: the data that `place_feet` passes with this function, and no one else uses meanwhile.
    let data = unsafe { &mut *data.cast::<Ground>() };
    // SAFETY: by the rules of the header, three numbers.
    let from = unsafe { *from.cast::<[f64; 3]>() };
    assert!(from.iter().all(|v| v.is_finite()), "{from:?}");
    let Some((height, normal)) = data.points.get(data.next) else {
        data.next = 0;
        return 0;
    };
    data.next += 1;
    // SAFETY: by the rules of the header, a point to be written.
    unsafe { point.write(condyle_ground_point { height: *height, normal: *normal }) };
    1
}
