//! Random sequences of C calls: any order, numbers, counts and constants, and objects that do not belong
//! together.
//!
//! One call in eight breaks a rule on purpose, and must fail: a null or misaligned pointer, a count beyond
//! the address space, arrays that overlap, a wrong `size`, or text that is not UTF-8.
//!
//! A failed call must report a text, and leave its output unchanged. No call may report an internal
//! error. AddressSanitizer finds accesses outside of the arrays, which have exactly the stated size.

use capi::*;

#[macro_use]
mod call;
#[macro_use]
mod pool;

mod blends;
mod clips;
mod files;
mod input;
mod meshes;
mod output;
mod poses;
mod queries;
mod seeds;
mod solvers;
mod writing;

use call::Misuse;
use input::Input;
use pool::Pools;

/// Objects and random numbers of one sequence.
pub(crate) struct World<'a> {
    input: Input<'a>,
    misuse: Misuse,
    pools: Pools,
    /// Model matrices of the last `condyle_local_to_model`.
    matrices: Vec<condyle_matrix>,
    /// Bytes that clips of `condyle_clip_view` use in place.
    viewed: Vec<Box<[u8]>>,
}

/// Runs the sequence that these bytes describe.
pub fn run(bytes: &[u8]) {
    let mut world = World {
        input: Input::new(bytes),
        misuse: Misuse::new(),
        pools: seeds::pools(),
        matrices: Vec::new(),
        viewed: Vec::new(),
    };
    // A sequence of this length takes milliseconds.
    for _ in 0..200 {
        if world.input.is_empty() {
            break;
        }
        world.step();
    }
    world.free_all();
}

impl World<'_> {
    fn step(&mut self) {
        self.misuse.begin(&mut self.input);
        match self.input.below(12) {
            0 => self.file(),
            1 | 2 => self.clip(),
            3 | 4 => self.pose(),
            5 | 6 => self.blend(),
            7 | 8 => self.mesh(),
            9 | 10 => self.solve(),
            _ => self.query(),
        }
    }
}
