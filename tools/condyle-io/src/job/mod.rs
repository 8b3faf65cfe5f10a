//! Jobs: what a command or a script does with files.
//!
//! | step | here |
//! |---|---|
//! | input files: one, several, or those of a folder | [`Folder`], [`Source`] |
//! | destinations, checked before the work and again when all input files are known | [`Files`] |
//! | work, limited in proportion to the input files | [`Budget`], [`Work`] |
//! | all files of a folder on all processors; what an earlier run made is kept | [`Parts`], [`make_all`], [`Mirror`] |
//! | output files, all or none, also if the program is interrupted | [`write_file`], [`Draft`], [`keep_all`] |
//! | progress | [`Reporter`] |
//!
//! The module prints no text, and its errors name no option of a program: the caller adds the advice.
//!
//! ```
//! use condyle_io::job::{Files, write_file};
//!
//! let folder = tempfile::tempdir()?;
//! let (input, output) = (folder.path().join("a.bvh"), folder.path().join("new/a.glb"));
//! std::fs::write(&input, "HIERARCHY")?;
//! let files = Files::new([&*input], [&*output], false)?;
//! assert_eq!(files.byte_count(), 9);
//! let written = write_file(output, |out| out.write_all(b"glTF"))?;
//! assert_eq!(written.bytes, 4);
//! assert!(Files::new([&*input], [&*input], false).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod draft;
mod files;
mod folder;
mod mirror;
mod parts;
pub mod text;
mod work;

pub use draft::{Discarded, Draft, Finished, WriteError, Written, discard_unfinished, keep_all, write_file};
pub use files::{DestinationError, Files, file_above};
pub use folder::{Folder, LeftOut, Source};
pub use mirror::{Mirror, Planned, Product};
pub use parts::{
    Made, Outcome, PartError, Parts, Reporter, Stop, file_stamp, make_all, named_stamp, remove_parts,
};
pub use work::{Budget, OverBudget, Work};
