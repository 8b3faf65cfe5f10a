//! `condyle man`: the help of all commands as manual pages.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::options::overwrite::Overwrite;
use crate::output::{check_destination, finish_file, keep_all, print};
use crate::text::{counted, path_text};

/// Write manual pages for all commands into a folder
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle man -o ~/.local/share/man/man1      then `man condyle-render`")]
pub(crate) struct Args {
    /// Output folder, created if missing
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    #[command(flatten)]
    overwrite: Overwrite,
}

pub(crate) fn run(args: &Args, mut cli: clap::Command) -> Result<(), Failure> {
    cli.build();
    let mut pages = Vec::new();
    add_pages(&cli, &mut pages)?;
    let pages: Vec<(PathBuf, Vec<u8>)> =
        pages.into_iter().map(|(name, page)| (args.output.join(name), page)).collect();
    for (path, _) in &pages {
        check_destination(path, &BTreeSet::new(), args.overwrite)?;
    }
    let count = pages.len();
    let files = pages.into_iter().map(|(path, page)| finish_file(path, |out| out.write_all(&page)));
    keep_all(files.collect::<Result<_, Failure>>()?)?;
    print(&format!("{}: {}\n", path_text(&args.output), counted(count, "page", "pages")))
}

/// Adds the page of a command and those of its subcommands, except hidden ones.
fn add_pages(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), Failure> {
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone());
    man.render(&mut page).map_err(|e| Failure::Data(format!("cannot render a manual page: {e}")))?;
    pages.push((man.get_filename(), page));
    let below = command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help");
    below.into_iter().try_for_each(|it| add_pages(it, pages))
}
