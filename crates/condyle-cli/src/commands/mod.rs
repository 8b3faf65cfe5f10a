//! The subcommands, one module each.

mod bake;
mod blend;
mod bounds;
mod check;
mod compare;
mod completions;
mod decode;
mod demo;
mod encode;
mod hitboxes;
mod info;
mod limits;
mod pack;
mod pack_library;
mod raycast;
mod reach;
mod render;
mod skin;

use crate::failure::Failure;
use crate::options::numerics::Numerics;

/// What the program is asked to do.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    Render(render::Args),
    Blend(blend::Args),
    Reach(reach::Args),
    Skin(skin::Args),
    Bake(bake::Args),
    Info(info::Args),
    Check(check::Args),
    Compare(compare::Args),
    Encode(encode::Args),
    Decode(decode::Args),
    Pack(pack::Args),
    PackLibrary(pack_library::Args),
    Limits(limits::Args),
    Bounds(bounds::Args),
    Raycast(raycast::Args),
    Hitboxes(hitboxes::Args),
    Completions(completions::Args),
}

impl Command {
    /// `cli` describes the whole program, for the completions of a shell.
    pub(crate) fn run(&self, cli: clap::Command) -> Result<(), Failure> {
        // Where there are no options for it, the environment alone says how to compute.
        if matches!(
            self,
            Self::Info(_)
                | Self::Check(_)
                | Self::Encode(_)
                | Self::Decode(_)
                | Self::Pack(_)
                | Self::PackLibrary(_)
                | Self::Limits(_)
                | Self::Hitboxes(_)
        ) {
            Numerics::default().apply()?;
        }
        match self {
            Self::Demo(args) => demo::run(args),
            Self::Render(args) => render::run(args),
            Self::Blend(args) => blend::run(args),
            Self::Reach(args) => reach::run(args),
            Self::Skin(args) => skin::run(args),
            Self::Bake(args) => bake::run(args),
            Self::Info(args) => info::run(args),
            Self::Check(args) => check::run(args),
            Self::Compare(args) => compare::run(args),
            Self::Encode(args) => encode::run(args),
            Self::Decode(args) => decode::run(args),
            Self::Pack(args) => pack::run(args),
            Self::PackLibrary(args) => pack_library::run(args),
            Self::Limits(args) => limits::run(args),
            Self::Bounds(args) => bounds::run(args),
            Self::Raycast(args) => raycast::run(args),
            Self::Hitboxes(args) => hitboxes::run(args),
            Self::Completions(args) => completions::run(args, cli),
        }
    }
}
