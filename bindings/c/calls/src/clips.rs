//! Clips, players and frames.

use std::ptr::{null, null_mut};

use capi::*;

use crate::World;
use crate::output::{Output, Sized};
use crate::pool::Handle;

impl World<'_> {
    pub(crate) fn clip(&mut self) {
        match self.input.below(10) {
            0 => self.load(),
            1 => self.new_clip(),
            2 => self.clip_properties(),
            3 | 4 => self.sample(),
            5 => self.clip_times(),
            6 | 7 => self.player(),
            8 => self.unpack(),
            _ => self.sample_frames(),
        }
    }

    /// Loads the bytes of a compressed clip, some of them changed.
    fn load(&mut self) {
        let (clip, name) = (any!(self, clips), self.text());
        let info = self.aside(|world| {
            let mut info = Sized::<condyle_clip_info>::exact();
            assert!(call!(world, condyle_clip_get_info(clip, info.pointer())));
            info
        });
        let info = info.get();
        let mut bytes = match info.bytes.is_null() {
            true => vec![0; self.input.below(100)],
            // SAFETY: the bytes of the clip, which is alive.
            false => unsafe { std::slice::from_raw_parts(info.bytes, info.byte_count) }.to_vec(),
        };
        for _ in 0..self.input.below(3) {
            let at = self.input.below(bytes.len());
            if let Some(byte) = bytes.get_mut(at) {
                *byte = self.input.below(256) as u8;
            }
        }
        if self.input.one_in(8) {
            bytes.truncate(self.input.below(bytes.len()));
        }
        let (count, bytes) = (bytes.len(), bytes.into_boxed_slice());
        let name = self.at(name.as_ptr());
        if self.input.one_in(2) {
            make!(self, clips, condyle_clip_load(name, self.array(&bytes, count), count; out));
        } else {
            make!(self, clips, condyle_clip_view(name, self.array(&bytes, count), count; out));
            self.viewed.push(bytes);
        }
    }

    fn new_clip(&mut self) {
        let (skeleton, name) = (any!(self, skeletons), self.text());
        let joints = self.joints_of(skeleton);
        let frames = self.input.below(5);
        let count = self.count(frames);
        // The product with the number of joints is beyond the address space too.
        let room = if count > 1 << 20 { 1 } else { count * joints };
        let tame = !self.input.one_in(4);
        let transforms: Vec<_> = (0..room)
            .map(|_| {
                let mut it = self.input.transform();
                if tame {
                    it.translation = it.translation.map(|v| v.clamp(-2.0, 2.0));
                }
                it
            })
            .collect();
        let rate = if self.input.one_in(8) { self.input.double() } else { 30.0 };
        let (name, skeleton) = (self.at(name.as_ptr()), self.at(skeleton));
        let transforms = self.array(&transforms, count);
        make!(self, clips, condyle_clip_new(name, skeleton, transforms, count, rate; out));
    }

    fn clip_properties(&mut self) {
        let clip = any!(self, clips);
        if self.input.one_in(2) {
            let mut info = Sized::<condyle_clip_info>::new(self);
            let ok = call!(self, condyle_clip_get_info(self.at(clip), self.at_mut(info.pointer())));
            info.check(ok, "condyle_clip_get_info");
        } else {
            let (mut event, at) = (Output::new(1), self.input.below(3));
            let ok = call!(self, condyle_clip_get_event(self.at(clip), at, self.at_mut(event.pointer())));
            event.check(ok, "condyle_clip_get_event");
        }
    }

    fn sample(&mut self) {
        let (clip, seconds) = (any!(self, clips), self.input.double());
        if self.input.one_in(3) {
            let mesh = any!(self, meshes);
            let right = self.mesh_info(mesh).morph_target_count;
            let count = self.count(right);
            let mut weights = Output::<f32>::new(count);
            let (clip, mesh) = (self.at(clip), self.at(mesh));
            let out = self.output_array(&mut weights, count);
            let ok = call!(self, condyle_sample_weights(clip, mesh, seconds, out, count));
            weights.check(ok, "condyle_sample_weights");
            return;
        }
        let (skeleton, pose) = (any!(self, skeletons), any!(self, poses));
        let before = self.transforms_of(pose);
        let (clip, skeleton) = (self.at(clip), self.at(skeleton));
        let ok = call!(self, condyle_sample(clip, skeleton, seconds, self.at_mut(pose)));
        self.check_pose(ok, pose, &before);
    }

    fn clip_times(&mut self) {
        let (clip, looping) = (any!(self, clips), self.input.constant(2));
        let [from, to] = [self.input.double(), self.input.double()];
        if self.input.one_in(2) {
            let mut seconds = Output::new(1);
            let clip = self.at(clip);
            let ok = call!(self, condyle_clip_moment(clip, looping, from, self.at_mut(seconds.pointer())));
            seconds.check(ok, "condyle_clip_moment");
        } else {
            let mut motion = Output::new(1);
            let clip = self.at(clip);
            let ok = call!(self, condyle_clip_motion(clip, looping, from, to, self.at_mut(motion.pointer())));
            motion.check(ok, "condyle_clip_motion");
        }
    }

    fn player(&mut self) {
        let looping = self.input.constant(2);
        if self.pools.players.is_empty() || self.input.one_in(10) {
            make!(self, players, condyle_player_new(looping; out));
            return;
        }
        let (player, clip) = (any!(self, players), any!(self, clips));
        let number = self.input.double();
        match self.input.below(8) {
            0 => {
                call!(self, condyle_player_set(self.at_mut(player), number, looping));
            }
            1 => {
                call!(self, condyle_player_seek(self.at_mut(player), number));
            }
            2 | 3 => {
                call!(self, condyle_player_advance(self.at_mut(player), number));
            }
            4 => {
                let mut clock = Output::new(1);
                let ok = call!(self, condyle_player_get_clock(self.at(player), self.at_mut(clock.pointer())));
                clock.check(ok, "condyle_player_get_clock");
            }
            5 => {
                let (skeleton, pose) = (any!(self, skeletons), any!(self, poses));
                let before = self.transforms_of(pose);
                let (player, clip, skeleton) = (self.at(player), self.at(clip), self.at(skeleton));
                let ok = call!(self, condyle_player_sample(player, clip, skeleton, self.at_mut(pose)));
                self.check_pose(ok, pose, &before);
            }
            6 => {
                let right = self.input.below(4);
                let capacity = self.count(right);
                let (mut events, mut count) = (Output::<condyle_event>::new(capacity), Output::new(1));
                let (player, clip) = (self.at(player), self.at(clip));
                let out = self.output_array(&mut events, capacity);
                let place = self.at_mut(count.pointer());
                let ok = call!(self, condyle_player_get_events(player, clip, out, capacity, place));
                events.check(ok, "condyle_player_get_events");
                count.check(ok, "condyle_player_get_events");
            }
            _ => {
                let mut motion = Output::new(1);
                let (player, clip) = (self.at(player), self.at(clip));
                let ok = call!(self, condyle_player_get_motion(player, clip, self.at_mut(motion.pointer())));
                motion.check(ok, "condyle_player_get_motion");
            }
        }
    }

    fn unpack(&mut self) {
        let (clip, skeleton) = (any!(self, clips), any!(self, skeletons));
        let tame = !self.input.one_in(8);
        let [bound, radius] = if tame { [0.01, 0.1] } else { self.input.numbers() };
        let (clip, skeleton) = (self.at(clip), self.at(skeleton));
        make!(self, frames, condyle_frames_new(clip, skeleton, bound, radius; out));
        let frames = any!(self, frames);
        self.misuse.begin(&mut self.input);
        let mut info = Sized::<condyle_frames_info>::new(self);
        let ok = call!(self, condyle_frames_get_info(self.at(frames), self.at_mut(info.pointer())));
        info.check(ok, "condyle_frames_get_info");
    }

    fn sample_frames(&mut self) {
        let (skeleton, pose) = (any!(self, skeletons), any!(self, poses));
        let joints = self.joints_of(skeleton);
        let before = self.transforms_of(pose);
        let (mut layers, mut masks) = (Vec::new(), Vec::new());
        for _ in 0..self.input.below(CONDYLE_MAX_FRAME_LAYERS + 2) {
            let frames = any!(self, frames);
            let (mask, mask_count) = self.mask(joints, &mut masks);
            let (seconds, weight) = (self.input.double(), self.input.number().abs());
            layers.push(condyle_frame_layer { frames: self.at(frames), seconds, weight, mask, mask_count });
        }
        let count = layers.len();
        let (skeleton, layers) = (self.at(skeleton), self.array(&layers, count));
        let ok = call!(self, condyle_sample_frames(skeleton, layers, count, self.at_mut(pose)));
        self.check_pose(ok, pose, &before);
    }

    /// Mask of a layer, or none. `masks` keeps it alive.
    pub(crate) fn mask(&mut self, joints: usize, masks: &mut Vec<Box<[f32]>>) -> (*const f32, usize) {
        if self.input.one_in(2) {
            return (null(), self.input.below(2));
        }
        let count = self.count(joints);
        let mask = self.input.list(if count > 1 << 20 { 1 } else { count }).into_boxed_slice();
        // A mask of no elements that is not null is one of the wrong length.
        let pointer = mask.as_ptr();
        masks.push(mask);
        (pointer, count)
    }

    /// Place of an output array. An empty one may be null.
    pub(crate) fn output_array<T>(&mut self, output: &mut Output<T>, count: usize) -> *mut T {
        match count {
            0 if self.input.one_in(2) => null_mut(),
            0 => output.pointer(),
            _ => self.at_mut(output.pointer()),
        }
    }
}
