//! Reads and writes BVH files, in which motion capture is passed on, for condyle.
//!
//! ```text
//!  condyle-base ── condyle ── condyle-encode, -solve, -query ── condyle-gltf, -bvh, -body ── condyle-io, -compare, -draw
//!                                                                             ^ here
//! ```
//!
//! | goes in | comes out |
//! |---|---|
//! | a `.bvh` | a [`Bvh`], and of it a skeleton and a raw clip |
//! | a skeleton and poses over time | a `.bvh`: [`write()`] |
//!
//! [`Bvh::open`] reads one: its nodes and a row of numbers for each frame, as they are. [`Bvh::skeleton`] and [`Bvh::clip`] make of it what
//! condyle works with. [`write()`] writes a skeleton and whatever has poses.
//!
//! ```no_run
//! use condyle_bvh::{Bvh, ImportOptions};
//!
//! let bvh = Bvh::open("walk.bvh")?;
//! bvh.problems().iter().for_each(|problem| println!("{problem}"));
//! let mut options = ImportOptions::default();
//! options.scale = 0.01; // centimetres to metres
//! let (skeleton, clip) = (bvh.skeleton(&options)?, bvh.clip(&options)?);
//! println!("{} joints, {} s", skeleton.joint_count(), clip.duration());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Files are taken as hostile. Reading takes time and memory in proportion to their size, whatever they say of themselves, and refuses with
//! the line and what was expected there ([`Refused`]). There is no standard of the format: all that has only one meaning is read, and told
//! in [`Bvh::problems`] where it is not as most have it.
//!
//! | in the file | what becomes of it |
//! |---|---|
//! | channels in any order, of any number for a joint | rotations multiply in their order, positions count in the parent's space |
//! | several roots | each is a root of the skeleton |
//! | End Site | a joint, named as its own joint with `_End` behind it ([`ImportOptions::end_sites`]) |
//! | keywords in any case, tabs, CRLF, a byte order mark, names with spaces or colons | are read |
//! | fewer frames than `Frames:` says, half a frame | whole frames that are there are taken |
//! | more frames | are left out |
//! | `Frame Time:` missing, NaN, below a millionth of a second or above a day | 30 frames per second |
//! | NaN and infinities, `1.#IND` too | the number of the frame before, or 0 |
//! | two joints of a name, or without one | both are kept |
//! | a joint without OFFSET | is at 0 0 0 |
//! | a channel of another name | is left out of the clip |

mod bvh;
mod hierarchy;
mod import;
mod motion;
mod number;
mod problem;
mod rotation;
mod scanner;
mod write;

pub use bvh::Bvh;
pub use hierarchy::{Axis, Channel, Node};
pub use import::{ImportOptions, Positions};
pub use problem::{Problem, Refused, Severity};
pub use rotation::RotationOrder;
pub use write::{PositionChannels, WriteOptions, write};
