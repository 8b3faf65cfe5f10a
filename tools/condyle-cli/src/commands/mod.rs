//! The subcommands, one module each.

mod bake;
mod bounds;
mod check;
mod compare;
mod completions;
mod convert;
mod decode;
mod demo;
mod encode;
mod hitboxes;
mod info;
mod man;
mod pack;
mod pack_library;
mod raycast;
mod reach;
mod render;
mod retarget;
mod rig;
mod skin;
mod view;

use crate::failure::Failure;
use crate::options::numerics::Numerics;

/// Subcommand to run.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    #[command(aliases = ["draw", "gif"])]
    Render(render::Args),
    View(view::Args),
    Reach(reach::Args),
    Rig(rig::Args),
    Retarget(retarget::Args),
    Skin(skin::Args),
    Bake(bake::Args),
    Info(info::Args),
    #[command(aliases = ["validate", "lint"])]
    Check(check::Args),
    #[command(alias = "diff")]
    Compare(compare::Args),
    Convert(convert::Args),
    #[command(alias = "compress")]
    Encode(encode::Args),
    #[command(alias = "decompress")]
    Decode(decode::Args),
    #[command(alias = "optimize")]
    Pack(pack::Args),
    /// Query a posed character: bounds, ray hits, hitboxes of its joints
    #[command(
        subcommand,
        after_help = "\
Examples:
  condyle query bounds fox.glb --clip Run           boxes and spheres around it
  condyle query ray fox.glb --unit 1cm --rest --from 0,0.5,3 --to 0,0.5,-3
  condyle query hitboxes fox.glb -o fox.json        shapes that follow its joints"
    )]
    Query(Query),
    Completions(completions::Args),
    Man(man::Args),
    // Old names, kept for one release.
    #[command(hide = true)]
    Blend(render::Args),
    #[command(hide = true)]
    PackLibrary(encode::Args),
    #[command(hide = true)]
    Limits(reach::limits::Args),
    #[command(hide = true)]
    Bounds(bounds::Args),
    #[command(hide = true)]
    Raycast(raycast::Args),
    #[command(hide = true)]
    Hitboxes(hitboxes::Args),
}

/// Queries on a posed character.
#[derive(clap::Subcommand)]
pub(crate) enum Query {
    Bounds(bounds::Args),
    #[command(alias = "raycast")]
    Ray(raycast::Args),
    Hitboxes(hitboxes::Args),
}

/// Words that are not commands, and a hint for each.
pub(crate) const ELSEWHERE: [(&str, &str); 3] = [
    ("play", "`condyle render MODEL --clip NAME -o clip.gif` draws a clip"),
    ("bench", "to run the benchmark: `cargo run --release -p condyle-bench`"),
    ("papers", "to print the tables of the papers: `cargo run --release -p condyle-bench -- papers`"),
];

impl Command {
    /// Runs the command. `cli` describes the whole program, for shell completions.
    pub(crate) fn run(&self, cli: clap::Command) -> Result<(), Failure> {
        // Commands without these options take them from the environment.
        if matches!(
            self,
            Self::Info(_)
                | Self::Check(_)
                | Self::View(_)
                | Self::Rig(_)
                | Self::Convert(_)
                | Self::Encode(_)
                | Self::Decode(_)
                | Self::Pack(_)
                | Self::Retarget(_)
                | Self::PackLibrary(_)
                | Self::Limits(_)
                | Self::Hitboxes(_)
                | Self::Query(Query::Hitboxes(_))
        ) {
            Numerics::default().apply()?;
        }
        match self {
            Self::Demo(args) => demo::run(args),
            Self::Render(args) => render::run(args),
            Self::Blend(args) => render::blend(args),
            Self::View(args) => view::run(args),
            Self::Reach(args) => reach::run(args),
            Self::Rig(args) => rig::run(args),
            Self::Retarget(args) => retarget::run(args),
            Self::Skin(args) => skin::run(args),
            Self::Bake(args) => bake::run(args),
            Self::Info(args) => info::run(args),
            Self::Check(args) => check::run(args),
            Self::Compare(args) => compare::run(args),
            Self::Convert(args) => convert::run(args),
            Self::Encode(args) => match args.folder() {
                Some(folder) => pack_library::run(args, folder),
                None => encode::run(args),
            },
            Self::Decode(args) => decode::run(args),
            Self::Pack(args) => pack::run(args),
            Self::PackLibrary(args) => pack_library::run(args, &args.models[0]),
            Self::Limits(args) => reach::limits::run(args),
            Self::Bounds(args) | Self::Query(Query::Bounds(args)) => bounds::run(args),
            Self::Raycast(args) | Self::Query(Query::Ray(args)) => raycast::run(args),
            Self::Hitboxes(args) | Self::Query(Query::Hitboxes(args)) => hitboxes::run(args),
            Self::Completions(args) => completions::run(args, cli),
            Self::Man(args) => man::run(args, cli),
        }
    }
}
