//! Options shared by several subcommands.

pub(crate) mod each;
pub(crate) mod heading;
pub(crate) mod job;
pub(crate) mod moments;
pub(crate) mod numerics;
pub(crate) mod overwrite;
pub(crate) mod quantity;
pub(crate) mod shell;
pub(crate) mod skinning;
pub(crate) mod source;
pub(crate) mod space;
pub(crate) mod threads;
pub(crate) mod work;
