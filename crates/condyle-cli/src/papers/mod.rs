//! `condyle papers`: what the papers behind the library say, computed again.

mod blow;
mod eberly;

use clap::ValueEnum;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::output::{print, print_json};
use blow::Properties;
use eberly::Tables;

/// Recompute the tables of the papers that the library is built on
#[derive(clap::Args)]
pub(crate) struct Args {
    /// One of the papers
    #[arg(long, value_enum)]
    only: Option<Paper>,
    /// Everything as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Paper {
    Eberly,
    VanWaveren,
    Blow,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let wanted = |paper| args.only.is_none_or(|only| only == paper);
    let mut json = Map::new();
    let mut text = Vec::new();
    if wanted(Paper::Eberly) {
        let tables = Tables::compute();
        json.insert("eberly".into(), tables.json());
        text.push(tables.text());
    }
    if wanted(Paper::Blow) {
        let properties = Properties::measure();
        json.insert("blow".into(), properties.json());
        text.push(properties.text());
    }
    match args.json {
        true => print_json(&format!("{:#}", Value::Object(json))),
        false => print(&text.join("\n")),
    }
}
