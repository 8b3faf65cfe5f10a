//! Files: opening, contents, writing.

use std::ptr::null;

use capi::*;

use crate::World;
use crate::output::{Output, Sized};
use crate::pool::Handle;
use crate::seeds::FILES;

impl World<'_> {
    pub(crate) fn file(&mut self) {
        match self.input.below(6) {
            0 => self.open(),
            1 => self.parts(),
            2 => self.write(),
            3 | 4 => self.free_one(),
            _ => self.encode(),
        }
    }

    /// Opens a seed with some bytes changed, or a file that does not exist.
    fn open(&mut self) {
        let mut bytes = FILES[self.input.below(FILES.len())].to_vec();
        for _ in 0..self.input.below(4) {
            let at = self.input.below(bytes.len());
            bytes[at] = self.input.below(256) as u8;
        }
        if self.input.one_in(8) {
            bytes.truncate(self.input.below(bytes.len()));
        }
        self.open_bytes(&bytes);
    }

    pub(crate) fn open_bytes(&mut self, bytes: &[u8]) {
        let (name, model) = (self.text(), self.text());
        // This text is not read if the options are null.
        let must_fail = name.as_bytes() == b"\xff\xfe";
        let has_options = self.input.one_in(2);
        self.misuse.must_fail = must_fail || (has_options && model.as_bytes() == b"\xff\xfe");
        let options = condyle_open_options {
            size: if has_options { self.size::<condyle_open_options>() } else { 0 },
            model: if self.input.one_in(4) || self.misuse.must_fail { model.as_ptr() } else { null() },
            unit: if self.input.one_in(4) { self.input.double() } else { 0.0 },
            z_up: self.input.flag(),
        };
        let options = if has_options { &raw const options } else { null() };
        if self.input.one_in(8) {
            self.misuse.must_fail = true;
            let name = self.at(c"no/such/folder/a.glb".as_ptr());
            make!(self, models, condyle_open(name, options; out));
            return;
        }
        let name = self.at(name.as_ptr());
        let count = bytes.len();
        if make!(self, models, condyle_open_memory(name, self.array(bytes, count), count, options; out)) {
            self.list_parts();
        }
    }

    /// Adds the parts of the newest model to the pools.
    pub(crate) fn list_parts(&mut self) {
        let Some(model) = self.pools.models.last().copied() else { return };
        let model = model.pointer;
        let mut skeleton = Output::new(1);
        assert!(call!(self, condyle_model_get_skeleton(model, skeleton.pointer())));
        self.pools.skeletons.push(Handle { pointer: (*skeleton.get(0)).cast_mut(), owned: false });
        let mut info = Sized::<condyle_model_info>::exact();
        assert!(call!(self, condyle_model_get_info(model, info.pointer())));
        for at in 0..info.get().clip_count {
            let mut clip = Output::new(1);
            assert!(call!(self, condyle_model_get_clip(model, at, clip.pointer())));
            self.pools.clips.push(Handle { pointer: (*clip.get(0)).cast_mut(), owned: false });
        }
        for at in 0..info.get().mesh_count {
            let mut mesh = Output::new(1);
            assert!(call!(self, condyle_model_get_mesh(model, at, mesh.pointer())));
            self.pools.meshes.push(Handle { pointer: (*mesh.get(0)).cast_mut(), owned: false });
        }
    }

    /// Requests the contents of a model.
    fn parts(&mut self) {
        let (model, at) = (any!(self, models), self.input.below(3));
        match self.input.below(5) {
            0 => {
                let mut info = Sized::<condyle_model_info>::new(self);
                let ok = call!(self, condyle_model_get_info(self.at(model), self.at_mut(info.pointer())));
                info.check(ok, "condyle_model_get_info");
            }
            1 => {
                let mut found = Output::new(1);
                let ok =
                    call!(self, condyle_model_get_clip(self.at(model), at, self.at_mut(found.pointer())));
                found.check(ok, "condyle_model_get_clip");
            }
            2 => {
                let (mut found, name) = (Output::new(1), self.text());
                let name = self.at(name.as_ptr());
                let ok =
                    call!(self, condyle_model_find_clip(self.at(model), name, self.at_mut(found.pointer())));
                found.check(ok, "condyle_model_find_clip");
            }
            3 => {
                let mut found = Output::new(1);
                let ok =
                    call!(self, condyle_model_get_mesh(self.at(model), at, self.at_mut(found.pointer())));
                found.check(ok, "condyle_model_get_mesh");
            }
            _ => {
                let mut found = Output::new(1);
                let ok =
                    call!(self, condyle_model_get_problem(self.at(model), at, self.at_mut(found.pointer())));
                found.check(ok, "condyle_model_get_problem");
            }
        }
    }
}
