//! All motion of a folder on one character.

use std::time::Instant;

use condyle_body::BodyModel;
use condyle_io::Format;
use condyle_io::job::{LeftOut, Made, Mirror, Outcome, Product, Source, file_stamp};
use serde_json::{Value, json};

use super::job::{self, Target};
use super::{Args, report};
use crate::failure::Failure;
use crate::options::job::{files_of, make_all, twins};
use crate::output::{print, print_json, write_file};
use crate::text::{counted, ending, path_text, printable};

/// A file, and its figures.
type Line = Made<Value>;

/// Retargets every file of a folder.
pub(super) fn run(args: &Args, body: Option<&BodyModel>) -> Result<(), Failure> {
    let begin = Instant::now();
    let (mut sources, unreadable) = find(args)?;
    let target = Target::open(args)?;
    let mirror = Mirror {
        folder: &args.output,
        ending: args.format.ending(),
        stamp: stamp(args, &target),
        shared: target.sources(),
        replaces_read_only: args.overwrite.force,
        make: |source: &Source| product(args, source, body, &target),
    };
    if let Some(two) = mirror.sort(&mut sources) {
        return Err(twins(two, &mirror.plan(two[1]).output));
    }
    let outcome = make_all(&mirror, &sources, unreadable, "retargeting", args.threads)?;
    let all = to_json(args, &outcome);
    let text = format!("{all:#}\n");
    write_file(args.output.join("report.json"), |file| file.write_all(text.as_bytes()))?;
    if args.json {
        print_json(&format!("{all:#}"))?;
    } else {
        print(&to_text(args, &outcome, begin.elapsed().as_secs_f64()))?;
    }
    verdict(args, &outcome)
}

/// Finds the motion files of the folder.
fn find(args: &Args) -> Result<(Vec<Source>, Vec<LeftOut>), Failure> {
    if ending(&args.output).is_some_and(|it| ["glb", "condyle", "bvh"].contains(&it.as_str())) {
        return Err(Failure::Usage(format!(
            "{} is a folder; name an output folder with -o, and the format of its files with --format",
            path_text(&args.source)
        )));
    }
    let formats = Format::ALL.into_iter().filter(|format| *format != Format::Body || args.body.is_some());
    let endings: Vec<&str> = formats.flat_map(|format| format.endings().iter().copied()).collect();
    // The body model itself has no motion.
    files_of(&args.source, &args.output, &endings, args.body.as_deref())
}

/// Returns the settings of all files, and the stamps of the files that they share.
fn stamp(args: &Args, target: &Target) -> Value {
    let maps = [&args.map, &args.on_map, &args.body].map(|map| map.as_deref().map(file_stamp));
    let mut stamp = json!({
        "on": target.sources().iter().map(|file| file_stamp(file)).collect::<Value>(),
        "maps_and_body": maps,
        "options": format!("{:?} {:?} {:?} {:?} {:?}", args.clip, args.ratio, args.hands, args.ground, args.space),
        "version": env!("CARGO_PKG_VERSION"),
    });
    if let Some(name) = args.which.name() {
        stamp["model"] = name.into();
    }
    stamp
}

fn product(
    args: &Args,
    source: &Source,
    body: Option<&BodyModel>,
    target: &Target,
) -> Result<Product, Failure> {
    let done = job::run(args, &source.path, body, target, args.format)?;
    let figures = [
        ("clips", report::clips(&done).into()),
        ("doubts", done.doubts.clone().into()),
        ("over", report::over(&done).into()),
    ];
    let figures = figures.map(|(name, value): (_, Value)| (name.to_owned(), value)).into_iter().collect();
    Ok(Product { bytes: done.bytes, files: done.sources, figures })
}

fn to_json(args: &Args, outcome: &Outcome<Value>) -> Value {
    let line = |line: &Line| {
        let told = &line.part;
        json!({ "source": line.source, "clips": told["clips"], "doubts": told["doubts"], "over": told["over"] })
    };
    json!({
        "on": args.on.to_string_lossy(),
        "files": outcome.made.iter().map(line).collect::<Vec<_>>(),
        "left_out": outcome.left_out.iter().map(LeftOut::to_json).collect::<Vec<_>>(),
    })
}

fn to_text(args: &Args, outcome: &Outcome<Value>, took: f64) -> String {
    let Outcome { made, left_out } = outcome;
    let clips = || made.iter().filter_map(|line| line.part["clips"].as_array()).flatten();
    let mut text = format!(
        "{} of {}, {}: {}, {took:.1} s\n",
        counted(clips().count(), "clip", "clips"),
        counted(made.len(), "file", "files"),
        match outcome.kept_count() {
            0 => "all new".into(),
            kept => format!("{kept} made before"),
        },
        path_text(&args.output),
    );
    let has_less = |clip: &&Value| clip["tracks_left_out"].as_u64() > Some(0);
    let less = clips().filter(has_less).count();
    if less > 0 {
        text += &format!(
            "note: tracks without a joint, such as morph weights, are left out in {}\n",
            counted(less, "clip", "clips")
        );
    }
    over(made).iter().for_each(|line| text += &format!("over the limits: {line}\n"));
    if !left_out.is_empty() {
        text += &format!("{} left out, see above\n", counted(left_out.len(), "file was", "files were"));
    }
    text
}

/// Lists the figures that are over their limits.
fn over(made: &[Line]) -> Vec<String> {
    let one = |line: &Line| {
        let all = line.part["over"].as_array().into_iter().flatten();
        let told = all.filter_map(|it| Some(format!("{}: {}", printable(&line.source), it.as_str()?)));
        told.collect::<Vec<_>>()
    };
    made.iter().flat_map(one).collect()
}

/// Returns the failure of a run without a usable file, or with --fail-over.
fn verdict(args: &Args, outcome: &Outcome<Value>) -> Result<(), Failure> {
    let folder = path_text(&args.source);
    if outcome.made.is_empty() {
        return Err(Failure::Data(format!("{folder}: none of its files can be used; see the errors above")));
    }
    let (over, left_out) = (over(&outcome.made).len(), outcome.left_out.len());
    let mut faults = Vec::new();
    if over > 0 {
        faults.push(format!("{} over the limits", counted(over, "figure is", "figures are")));
    }
    if left_out > 0 {
        faults.push(format!("{} left out", counted(left_out, "file is", "files are")));
    }
    if args.fail_over && !faults.is_empty() {
        return Err(Failure::Data(format!("{folder}: {}", faults.join(", and "))));
    }
    Ok(())
}
