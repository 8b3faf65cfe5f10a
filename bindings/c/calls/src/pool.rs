//! Live objects of the library, and the end of their lives.

use capi::*;

use crate::World;

/// Object of the library.
pub(crate) struct Handle<T> {
    pub(crate) pointer: *mut T,
    /// Whether this sequence frees it. Others belong to a model, or are seeds.
    pub(crate) owned: bool,
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

macro_rules! pools {
    ($($name:ident: $type:ident, $free:ident;)*) => {
        /// Live objects of each type.
        #[derive(Default, Clone)]
        pub(crate) struct Pools {
            $(pub(crate) $name: Vec<Handle<$type>>,)*
        }

        impl Pools {
            /// No sequence frees these objects.
            pub(crate) fn forget(&mut self) {
                $(for handle in &mut self.$name {
                    handle.owned = false;
                })*
            }
        }

        impl World<'_> {
            /// Frees all objects of this sequence.
            pub(crate) fn free_all(&mut self) {
                $(for handle in self.pools.$name.drain(..).filter(|it| it.owned) {
                    // SAFETY: a handle of the library, which is freed once.
                    unsafe { $free(handle.pointer) };
                })*
            }

            /// Frees one object of this sequence, or a null pointer. Models live to the end, because they own
            /// objects of other types.
            pub(crate) fn free_one(&mut self) {
                let kinds = [$(stringify!($name)),*];
                let kind = kinds[1 + self.input.below(kinds.len() - 1)];
                $(if kind == stringify!($name) {
                    let at = self.input.below(self.pools.$name.len());
                    let found = self.pools.$name.get(at).filter(|it| it.owned).copied();
                    if found.is_some() {
                        self.pools.$name.swap_remove(at);
                    }
                    let pointer = found.map_or(std::ptr::null_mut(), |it| it.pointer);
                    // SAFETY: null, or a handle of the library, which is freed once.
                    unsafe { $free(pointer) };
                })*
            }
        }
    };
}

pools! {
    // First, because others that were made from a model outlive it.
    models: condyle_model, condyle_model_free;
    bounds: condyle_bounds, condyle_bounds_free;
    clips: condyle_clip, condyle_clip_free;
    contacts: condyle_contacts, condyle_contacts_free;
    feet: condyle_feet, condyle_feet_free;
    feet_states: condyle_feet_state, condyle_feet_state_free;
    frames: condyle_frames, condyle_frames_free;
    hitboxes: condyle_hitboxes, condyle_hitboxes_free;
    inertializations: condyle_inertialization, condyle_inertialization_free;
    meshes: condyle_mesh, condyle_mesh_free;
    mirrors: condyle_mirror, condyle_mirror_free;
    palettes: condyle_palette, condyle_palette_free;
    players: condyle_player, condyle_player_free;
    poses: condyle_pose, condyle_pose_free;
    posed_hitboxes: condyle_posed_hitboxes, condyle_posed_hitboxes_free;
    skeletons: condyle_skeleton, condyle_skeleton_free;
    springs: condyle_springs, condyle_springs_free;
    spring_states: condyle_spring_state, condyle_spring_state_free;
    trees: condyle_tree, condyle_tree_free;
    writers: condyle_writer, condyle_writer_free;
}

/// Random object of a type.
macro_rules! any {
    ($world:ident, $name:ident) => {{
        let at = $world.input.below($world.pools.$name.len());
        match $world.pools.$name.get(at) {
            Some(found) => found.pointer,
            None => return,
        }
    }};
}

/// Creates an object by a call with this place for the handle as `$out`.
macro_rules! make {
    ($world:ident, $name:ident, $function:ident($($before:expr),* ; out $(; $($after:expr),*)?)) => {{
        let mut out = crate::output::Output::<*mut _>::new(1);
        let ok = call!($world, $function($($before,)* $world.at_mut(out.pointer()) $($(, $after)*)?));
        out.check(ok, stringify!($function));
        if ok {
            let handle = Handle { pointer: *out.get(0), owned: true };
            assert!(!handle.pointer.is_null());
            $world.pools.$name.push(handle);
        }
        ok
    }};
}
