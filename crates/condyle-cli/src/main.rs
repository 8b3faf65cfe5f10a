//! The command line of Condyle: arguments and exit codes. Each subcommand is one module.

mod artist;
mod bench;
mod blend;
mod character;
mod check;
mod compare;
mod completions;
mod decode;
mod demo;
mod encode;
mod failure;
mod info;
mod material;
mod model;
mod npy;
mod numerics;
mod output;
mod overlay;
mod papers;
mod picture;
mod plot;
mod quantity;
mod raster;
mod render;
mod skin;
mod stage;
mod text;
mod vector;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Poses, bakes, checks, compares, compresses and draws glTF characters
#[derive(Parser)]
#[command(name = "condyle", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  condyle demo                                      the whole path on a built-in character
  condyle info fox.glb                              what is in a file
  condyle check *.glb                               what is wrong with files, and what is done about it
  condyle compare fox.glb smaller.glb               how far two files move apart
  condyle skin fox.glb --clip Run --time 0.5 -o posed.glb
  condyle render fox.glb --clip Run -o fox.gif      pictures, still or moving
  condyle encode fox.glb -o fox.condyle             its clips, compressed
  condyle blend fox.glb --clip Walk --clip Run -o fox.gif
  condyle bench --only slerp_joints                 how fast it is on this machine
  condyle papers --only eberly                      the tables of the papers behind it, computed again

Exit codes: 0 done, 1 a file cannot be used, 2 the command line is wrong.
Each subcommand explains itself: condyle skin --help";

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Render(render::Args),
    Blend(blend::Args),
    Skin(skin::Args),
    Info(info::Args),
    Check(check::Args),
    Compare(compare::Args),
    Encode(encode::Args),
    Decode(decode::Args),
    Papers(papers::Args),
    Bench(bench::Args),
    Completions(completions::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Render(args) => render::run(&args),
        Command::Blend(args) => blend::run(&args),
        Command::Skin(args) => skin::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Encode(args) => encode::run(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Papers(args) => papers::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Completions(args) => completions::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("condyle: {failure}");
            failure.exit_code()
        }
    }
}
