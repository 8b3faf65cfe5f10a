//! Reads and writes BVH files, a common exchange format for motion capture.
//!
//! ```text
//!  condyle-base ── condyle ── condyle-encode, -solve, -query ── condyle-gltf, -bvh, -body ── condyle-io, -draw
//!                                                                             ^ here
//! ```
//!
//! | input | output |
//! |---|---|
//! | a `.bvh` | a [`Bvh`], and from it a skeleton and a raw clip |
//! | a skeleton and poses over time | a `.bvh`: [`write()`] |
//!
//! [`Bvh::open`] reads a file without converting it: its nodes, and a row of numbers for each frame.
//! [`Bvh::skeleton`] and [`Bvh::clip`] convert it to condyle's types. [`write()`] writes a skeleton and any
//! source of poses.
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
//! Files are untrusted input. Time and memory are bounded by the file size, not by the counts that the file
//! declares. An unreadable file is refused with the line and the expected text ([`Refused`]). The format has
//! no standard, so this crate reads everything that is unambiguous. [`Bvh::problems`] reports deviations from
//! common practice.
//!
//! | in the file | handling |
//! |---|---|
//! | channels in any order and number | rotations multiply in their order, positions are in the parent's space |
//! | several roots | each is a root of the skeleton |
//! | End Site | a joint with the name of its parent joint plus `_End` ([`ImportOptions::end_sites`]) |
//! | keywords in any case, tabs, CRLF, a byte order mark, names with spaces or colons | accepted |
//! | fewer frames than `Frames:` declares, or a partial frame | complete frames are used |
//! | more frames | ignored |
//! | `Frame Time:` missing, NaN, below a millionth of a second or above a day | 30 frames per second |
//! | NaN and infinity, also as `1.#IND` | the number of the previous frame, or 0 |
//! | two joints with the same name, or a joint without a name | both are kept |
//! | a joint without OFFSET | its offset is 0 0 0 |
//! | a channel with an unknown name | not part of the clip |

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
