//! The program `condyle`: its arguments and exit codes.

// These macros panic if a stream is closed; `output` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;
mod failure;
mod interrupt;
mod model;
mod options;
mod output;
mod text;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser};

use self::commands::Command;

/// Poses, bakes, checks, compares, compresses and draws glTF characters
#[derive(Parser)]
#[command(name = "condyle", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  condyle demo                                      every stage on a built-in character
  condyle info fox.glb                              what a file contains
  condyle check *.glb                               all problems of files, and how they are repaired
  condyle compare fox.glb smaller.glb --unit 1cm    distances between the vertices of two files
  condyle convert walk.bvh -o mo.glb --unit 1cm     any file as an ordinary .glb, FBX too
  condyle skin fox.glb --clip Run --time 0.5 -o posed.glb
  condyle bake fox.glb --clip Run -o run.exr        a clip as a texture, or as morph targets
  condyle render fox.glb --clip Run -o fox.gif      images, still or animated
  condyle render fox.glb --clip Walk --clip Run -o fox.gif    a blend of two clips
  condyle view fox.glb                              a model in the browser
  condyle encode fox.glb -o fox.condyle --unit 1cm  its clips, compressed
  condyle encode mocap -o mo.condyle --unit 1cm     all motion in a folder, compressed
  condyle pack fox.glb -o small.glb --unit 1cm      an ordinary .glb with smaller animations
  condyle rig man.glb                               who is who in a humanoid skeleton
  condyle reach fox.glb --unit 1cm --clip Walk --goal b_Head_05=5cm,0.46,0.25@0.5 -o sniff.glb
  condyle reach fox.glb --fit-limits -o fox.json    joint limits learned from its clips
  condyle retarget dance.bvh --on hero.glb -o hero_dance.glb    motion of another character
  condyle query bounds fox.glb --clip Run           boxes and spheres around it
  condyle query ray fox.glb --unit 1cm --rest --from 0,0.5,3 --to 0,0.5,-3
  condyle query hitboxes fox.glb -o fox.json        shapes that follow its joints

Exit codes: 0 success, 1 a file cannot be used, 2 the command line is wrong.
For the options of a subcommand: condyle skin --help";

/// Parses the command line. An argument that begins with a minus sign and a digit is a value, so that each
/// option reports its own valid range.
fn parse() -> Result<Cli, clap::Error> {
    let command = Cli::command().mut_subcommands(with_negative_values);
    let found = command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    found.map_err(|answer| with_place(without_double_dash(answer)))
}

fn with_negative_values(command: clap::Command) -> clap::Command {
    let value = |arg: clap::Arg| {
        let takes_values = arg.get_action().takes_values();
        arg.allow_negative_numbers(takes_values)
    };
    command.mut_args(value).mut_subcommands(with_negative_values)
}

/// Adds a hint to the answer to an unknown command.
fn with_place(mut answer: clap::Error) -> clap::Error {
    let Some(ContextValue::String(asked)) = answer.get(ContextKind::InvalidSubcommand) else { return answer };
    if let Some((_, place)) = commands::ELSEWHERE.iter().find(|(word, _)| word == asked) {
        answer.remove(ContextKind::SuggestedSubcommand);
        answer.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*place).into()]));
    }
    answer
}

/// Removes clap's advice to write `-- -x`, because no option takes a value after `--`.
fn without_double_dash(mut answer: clap::Error) -> clap::Error {
    if let Some(ContextValue::StyledStrs(mut tips)) = answer.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains("as a value, use"));
        if !tips.is_empty() {
            answer.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    answer
}

fn main() -> ExitCode {
    let done = match parse() {
        Ok(cli) => cli.command.run(Cli::command()).map(|()| ExitCode::SUCCESS),
        Err(answer) => output::print_answer(&answer).map(|()| {
            // 0 for requested help, else 2.
            ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(2))
        }),
    };
    done.unwrap_or_else(|failure| {
        output::tell(&failure);
        failure.exit_code()
    })
}
