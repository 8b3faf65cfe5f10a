//! `condyle completions`: a completion script for the user's shell.

use clap_complete::Shell;

use crate::failure::Failure;
use crate::output::print;

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle completions bash > ~/.local/share/bash-completion/completions/condyle
  condyle completions fish > ~/.config/fish/completions/condyle.fish")]
pub(crate) struct Args {
    /// Shell to complete for
    shell: Shell,
}

pub(crate) fn run(args: &Args, cli: clap::Command) -> Result<(), Failure> {
    let shown = cli.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut cli = clap::Command::new("condyle").version(env!("CARGO_PKG_VERSION")).subcommands(shown);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "condyle", &mut script);
    print(&String::from_utf8_lossy(&script))
}
