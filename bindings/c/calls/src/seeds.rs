//! Objects that every sequence begins with: characters of small files, and one with legs.

use std::cell::OnceCell;
use std::ptr::{null, null_mut};

use capi::*;

use crate::World;
use crate::call::Misuse;
use crate::input::Input;
use crate::pool::{Handle, Pools};

/// Files of `testdata`.
pub(crate) const FILES: [&[u8]; 4] = [
    include_bytes!("../../../../testdata/two_joints.glb"),
    include_bytes!("../../../../testdata/morph.glb"),
    include_bytes!("../../../../testdata/eight_influences.glb"),
    include_bytes!("../../../../testdata/rigid.glb"),
];

/// Parents of the joints of a character: pelvis, two legs of four joints, a tail.
const PARENTS: [u16; 11] = [CONDYLE_NO_JOINT, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9];

thread_local! {
    // A reference, because the objects outlive the thread.
    static SEEDS: OnceCell<&'static Pools> = const { OnceCell::new() };
}

/// Objects that live to the end of the program.
pub(crate) fn pools() -> Pools {
    SEEDS.with(|seeds| (*seeds.get_or_init(|| Box::leak(Box::new(make())))).clone())
}

fn make() -> Pools {
    let mut world = World {
        input: Input::new(&[]),
        misuse: Misuse::new(),
        pools: Pools::default(),
        matrices: Vec::new(),
        viewed: Vec::new(),
    };
    world.seed();
    let mut pools = world.pools;
    pools.forget();
    pools
}

impl World<'_> {
    fn seed(&mut self) {
        let legs = self.legs();
        for file in FILES.iter().copied().chain([&legs[..]]) {
            let name = c"seed";
            assert!(
                make!(self, models, condyle_open_memory(name.as_ptr(), file.as_ptr(), file.len(), null(); out))
            );
            self.list_parts();
        }
        let raw = self.pools.clips.clone();
        for clip in raw {
            for model in self.pools.models.clone() {
                make!(self, clips, condyle_encode(model.pointer, clip.pointer, null(); out; null_mut()));
            }
        }
        // Feet, springs and frames of the character with legs.
        let skeleton = self.pools.skeletons.first().expect("made above").pointer;
        let legs = [1_u16, 5].map(|hip| condyle_leg { hip, knee: hip + 1, foot: hip + 2, toe: hip + 3 });
        assert!(make!(self, feet, condyle_feet_new(skeleton, 0, legs.as_ptr(), 2; out)));
    }

    /// A .condyle file of a character with legs, whose skeleton and raw clip become seeds too.
    fn legs(&mut self) -> Vec<u8> {
        let rest = |at: usize| condyle_transform {
            rotation: [0.0, 0.0, 0.0, 1.0],
            translation: match at {
                0 => [0.0, 2.0, 0.0],
                1 => [0.25, 0.0, 0.0],
                5 => [-0.25, 0.0, 0.0],
                4 | 8 => [0.0, 0.0, 0.25],
                9 | 10 => [0.0, 0.0, -0.5],
                _ => [0.0, -0.9, 0.05],
            },
            scale: [1.0; 3],
        };
        let joints = PARENTS.iter().enumerate().map(|(at, parent)| condyle_joint {
            name: c"hip".as_ptr(),
            parent: *parent,
            rest: rest(at),
        });
        let joints = joints.collect::<Vec<_>>();
        assert!(make!(self, skeletons, condyle_skeleton_new(joints.as_ptr(), joints.len(); out)));
        let skeleton = self.pools.skeletons[0].pointer;
        let frames = (0..8).flat_map(|frame| {
            joints.iter().enumerate().map(move |(at, joint)| {
                let mut transform = joint.rest;
                let angle = 0.3 * ((frame * (at + 1)) as f32).sin();
                transform.rotation = [angle.sin(), 0.0, 0.0, angle.cos()];
                transform
            })
        });
        let frames = frames.collect::<Vec<_>>();
        let name = c"walk".as_ptr();
        assert!(make!(self, clips, condyle_clip_new(name, skeleton, frames.as_ptr(), 8, 30.0; out)));
        assert!(make!(self, writers, condyle_writer_new(; out)));
        let writer = self.pools.writers[0].pointer;
        let (mut model, mut bytes, mut count) = (0, null(), 0);
        assert!(call!(self, condyle_writer_add_skeleton(writer, name, skeleton, 1.0, &raw mut model)));
        assert!(call!(self, condyle_writer_finish(writer, &raw mut bytes, &raw mut count)));
        // SAFETY: the file of the writer, which is alive.
        unsafe { std::slice::from_raw_parts(bytes, count) }.to_vec()
    }
}
