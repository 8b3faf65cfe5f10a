//! `condyle view`: a model in the browser, from a server that only this machine can reach.

mod page;
mod request;
mod server;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use condyle_io::{Format, Options};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use self::page::Site;
use self::server::Server;
use crate::failure::Failure;
use crate::model::document;
use crate::output::{print, tell};
use crate::text::path_text;

/// Show a model in the browser: play its clips, and see the error of a compression
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle view fox.glb
  condyle view fox.glb run.glb --no-open            with more clips; prints the address

The page shows the files again when they change. It is served to this machine only, under an address
that cannot be guessed, and requests nothing from elsewhere. Ctrl-C ends it.")]
pub(crate) struct Args {
    /// Model, then any files with clips for it: .glb, .gltf, .vrm, .fbx, .bvh or .condyle
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// Print the address, and do not open a browser
    #[arg(long)]
    no_open: bool,
    /// Port of the address, 0 for any free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

/// Characters of a name that are not encoded in a URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut site = Site::of_page()?;
    let mut opened = Vec::new();
    for (at, model) in args.models.iter().enumerate() {
        for (name, path) in files(model)? {
            // The number separates files of the same name.
            let name = format!("model/{at}/{name}");
            opened.push(format!("open={}", utf8_percent_encode(&name, PLAIN)));
            site.add(name, path);
        }
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|error| {
        Failure::Usage(format!("port {}: {error}; choose another one with --port", args.port))
    })?;
    let server = Server::new(listener, site)?;
    let address = format!("{}?{}&watch", server.address(), opened.join("&"));
    print(&format!("{address}\n"))?;
    if !args.no_open && open::that_detached(&address).is_err() {
        tell(&"no browser was found; open the address above in one");
    }
    tell(&"Ctrl-C ends the server");
    server.serve();
    Ok(())
}

/// Returns the files of a model, the model itself first, with names relative to its folder.
fn files(model: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let read = document::read(model, &Options::default(), false)?;
    if read.format == Format::Body {
        return Err(Failure::Usage(format!(
            "{}: the page does not show {} files; write one that it shows: `condyle encode {0} -o motion.condyle`",
            path_text(model),
            read.format.name(),
        )));
    }
    let own =
        model.canonicalize().map_err(|error| Failure::Data(format!("{}: {error}", path_text(model))))?;
    let folder = own.parent().unwrap_or(&own).to_path_buf();
    let others = read.files.into_iter().filter(|path| *path != own && path.starts_with(&folder));
    Ok([own.clone()].into_iter().chain(others).map(|path| (page::name(&path, &folder), path)).collect())
}
