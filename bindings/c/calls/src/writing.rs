//! Writing of files, and compression.

use std::ptr::null;

use capi::*;

use crate::World;
use crate::output::{Output, Sized};
use crate::pool::Handle;

impl World<'_> {
    /// Continues a file, or finishes and opens it.
    pub(crate) fn write(&mut self) {
        if self.pools.writers.is_empty() || self.input.one_in(8) {
            make!(self, writers, condyle_writer_new(; out));
            return;
        }
        let (writer, model) = (any!(self, writers), self.input.below(3));
        match self.input.below(5) {
            0 | 1 => {
                let (skeleton, name, mut at) = (any!(self, skeletons), self.text(), Output::new(1));
                let unit = self.input.pick(&[0.0, 1.0, 0.01, -1.0, f32::NAN]);
                let name = self.at(name.as_ptr());
                let writer = self.at_mut(writer);
                let skeleton = self.at(skeleton);
                let ok = call!(
                    self,
                    condyle_writer_add_skeleton(writer, name, skeleton, unit, self.at_mut(at.pointer()))
                );
                at.check(ok, "condyle_writer_add_skeleton");
            }
            2 => {
                let (mesh, name) = (any!(self, meshes), self.text());
                let name = self.at(name.as_ptr());
                call!(self, condyle_writer_add_mesh(self.at_mut(writer), model, name, self.at(mesh)));
            }
            3 => {
                let clip = any!(self, clips);
                call!(self, condyle_writer_add_clip(self.at_mut(writer), model, self.at(clip)));
            }
            _ => {
                let (mut bytes, mut count) = (Output::<*const u8>::new(1), Output::new(1));
                let writer = self.at_mut(writer);
                let ok = call!(
                    self,
                    condyle_writer_finish(writer, self.at_mut(bytes.pointer()), self.at_mut(count.pointer()))
                );
                bytes.check(ok, "condyle_writer_finish");
                count.check(ok, "condyle_writer_finish");
                if ok {
                    // SAFETY: the file of the writer, which is alive.
                    let file = unsafe { std::slice::from_raw_parts(*bytes.get(0), *count.get(0)) };
                    self.open_bytes(&file.to_vec());
                }
            }
        }
    }

    /// Compresses a clip, for any model.
    pub(crate) fn encode(&mut self) {
        let (model, clip, name) = (any!(self, models), any!(self, clips), self.text());
        let events: Vec<_> = (0..self.input.below(3))
            .map(|_| condyle_new_event { seconds: self.input.double(), name: name.as_ptr() })
            .collect();
        let count = self.count(events.len()).min(events.len());
        let has_options = self.input.one_in(2);
        self.misuse.must_fail = has_options && count > 0 && name.as_bytes() == b"\xff\xfe";
        let mut options = condyle_encode_options {
            size: size_of::<condyle_encode_options>(),
            error_bound: self.input.pick(&[0.001, 0.01, 0.1]),
            radius: 0.0,
            best: 0,
            between_frames: 0,
            motion_joint: CONDYLE_NO_JOINT,
            motion_height: self.input.flag(),
            motion_yaw: self.input.flag(),
            events: null(),
            event_count: count,
        };
        match self.input.below(6) {
            0 => options.error_bound = self.input.number(),
            1 => options.radius = self.input.number(),
            2 => (options.best, options.between_frames) = (self.input.flag(), self.input.flag()),
            3 => options.motion_joint = self.input.joint(2),
            _ => {}
        }
        let mut info = Sized::<condyle_encode_info>::exact();
        let wants_info = self.input.one_in(2);
        if has_options {
            options.size = self.size::<condyle_encode_options>();
            options.events = self.array(&events, count);
        }
        let options = if has_options { &raw const options } else { null() };
        if wants_info {
            info = Sized::new(self);
        }
        let info_at = if wants_info { info.pointer() } else { std::ptr::null_mut() };
        if self.input.one_in(2) {
            let model = self.at(model);
            let ok = make!(self, clips, condyle_encode(model, self.at(clip), options; out; info_at));
            info.check(ok, "condyle_encode");
            return;
        }
        let skeleton = any!(self, skeletons);
        let right = self.input.below(3);
        let count = self.count(right);
        let meshes = self.mesh_list(count);
        let (skeleton, meshes) = (self.at(skeleton), self.array(&meshes, count));
        let clip = self.at(clip);
        let ok = make!(self, clips, condyle_encode_for_meshes(skeleton, meshes, count, clip, options; out; info_at));
        info.check(ok, "condyle_encode_for_meshes");
    }
}
