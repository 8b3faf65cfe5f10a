//! All motion of a folder on one character.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Instant, UNIX_EPOCH};

use condyle_body::BodyModel;
use condyle_io::Format;
use rayon::prelude::*;
use serde_json::{Value, json};
use walkdir::WalkDir;

use super::job::{self, Target};
use super::{Args, report};
use crate::failure::Failure;
use crate::output::{check_destination, print, print_json, progress, warn, write_file};
use crate::text::{counted, ending, path_text, printable};

/// A file of the folder.
struct Source {
    path: PathBuf,
    /// Path in the folder, with `/` as the separator.
    name: String,
    output: PathBuf,
    /// File with the certificates and the stamp of its inputs, next to the output.
    told: PathBuf,
}

/// Result of a file.
struct Line {
    name: String,
    told: Value,
    is_old: bool,
}

/// Retargets every file of a folder.
pub(super) fn run(args: &Args, body: Option<&BodyModel>) -> Result<(), Failure> {
    let begin = Instant::now();
    let (folder, out) = (path_text(&args.source), path_text(&args.output));
    if let Some(there) = args.output.ancestors().find(|it| it.exists()).filter(|it| !it.is_dir()) {
        let there = path_text(there);
        return Err(Failure::Usage(format!(
            "{folder} is a folder, and {there} is a file; name an output folder with -o"
        )));
    }
    if ending(&args.output).is_some_and(|it| ["glb", "condyle", "bvh"].contains(&it.as_str())) {
        return Err(Failure::Usage(format!(
            "{folder} is a folder; name an output folder with -o, and the format of its files with --format"
        )));
    }
    let (sources, mut left_out) = find(args)?;
    if sources.is_empty() {
        return Err(Failure::Data(format!("{folder} has no motion files")));
    }
    if let Some(two) = sources.windows(2).find(|two| two[0].output == two[1].output) {
        return Err(Failure::Usage(format!(
            "{} and {} would both become {}; rename one",
            printable(&two[0].name),
            printable(&two[1].name),
            path_text(&two[0].output)
        )));
    }
    let target = Target::open(args)?;
    let bar = progress(sources.len(), "retargeting");
    let one = |source: &Source| {
        let line = source.run(args, body, &target);
        bar.inc(1);
        line
    };
    let lines: Vec<Result<Line, Failure>> =
        args.threads.pool()?.install(|| sources.par_iter().map(one).collect());
    bar.finish_and_clear();
    let mut done = Vec::new();
    for (source, line) in sources.iter().zip(lines) {
        match line {
            Ok(line) => done.push(line),
            Err(why) => {
                warn(&source.path, &format!("left out: {why}"));
                left_out.push(json!({ "source": source.name, "why": why.to_string() }));
            }
        }
    }
    let all = json!({
        "on": args.on.to_string_lossy(),
        "files": done.iter().map(line_json).collect::<Vec<_>>(),
        "left_out": left_out,
    });
    let text = format!("{all:#}\n");
    write_file(args.output.join("report.json"), |file| file.write_all(text.as_bytes()))?;
    let over: Vec<String> = done.iter().flat_map(over).collect();
    if args.json {
        print_json(&format!("{all:#}"))?;
    } else {
        let old = done.iter().filter(|line| line.is_old).count();
        let clips: usize = done.iter().filter_map(|line| Some(line.told["clips"].as_array()?.len())).sum();
        let mut text = format!(
            "{} of {}, {}: {out}, {:.1} s\n",
            counted(clips, "clip", "clips"),
            counted(done.len(), "file", "files"),
            match old {
                0 => "all new".into(),
                old => format!("{old} made before"),
            },
            begin.elapsed().as_secs_f64()
        );
        let has_less = |clip: &&Value| clip["tracks_left_out"].as_u64() > Some(0);
        let clips = done.iter().filter_map(|line| line.told["clips"].as_array()).flatten();
        let less = clips.filter(has_less).count();
        if less > 0 {
            text += &format!(
                "note: tracks without a joint, such as morph weights, are left out in {}\n",
                counted(less, "clip", "clips")
            );
        }
        over.iter().for_each(|line| text += &format!("over the limits: {line}\n"));
        if !left_out.is_empty() {
            text += &format!("{} left out, see above\n", counted(left_out.len(), "file was", "files were"));
        }
        print(&text)?;
    }
    if done.is_empty() {
        return Err(Failure::Data(format!("{folder}: none of its files can be used; see the errors above")));
    }
    let mut faults = Vec::new();
    if !over.is_empty() {
        faults.push(format!("{} over the limits", counted(over.len(), "figure is", "figures are")));
    }
    if !left_out.is_empty() {
        faults.push(format!("{} left out", counted(left_out.len(), "file is", "files are")));
    }
    if args.fail_over && !faults.is_empty() {
        return Err(Failure::Data(format!("{folder}: {}", faults.join(", and "))));
    }
    Ok(())
}

fn line_json(line: &Line) -> Value {
    let told = &line.told;
    json!({ "source": line.name, "clips": told["clips"], "doubts": told["doubts"], "over": told["over"] })
}

fn over(line: &Line) -> Vec<String> {
    let all = line.told["over"].as_array().into_iter().flatten();
    all.filter_map(|it| Some(format!("{}: {}", printable(&line.name), it.as_str()?))).collect()
}

/// Finds the motion files of the folder, sorted by name, and lists the folders that cannot be read. The
/// output folder is left out, whatever its path is.
fn find(args: &Args) -> Result<(Vec<Source>, Vec<Value>), Failure> {
    let formats = Format::ALL.into_iter().filter(|format| *format != Format::Body || args.body.is_some());
    let endings: Vec<&str> = formats.flat_map(|format| format.endings().iter().copied()).collect();
    let output = args.output.canonicalize().ok();
    let is_output = |path: &Path| output.is_some() && path.canonicalize().ok() == output;
    if is_output(&args.source) {
        let folder = path_text(&args.source);
        return Err(Failure::Usage(format!(
            "{folder} has the motions, so it cannot be the output folder too; name another one with -o"
        )));
    }
    let (mut files, mut left_out) = (Vec::new(), Vec::new());
    let walk = WalkDir::new(&args.source).follow_links(true).into_iter();
    for entry in walk.filter_entry(|it| !(it.file_type().is_dir() && is_output(it.path()))) {
        match entry {
            Ok(entry) if entry.file_type().is_file() => files.push(entry.into_path()),
            Ok(_) => {}
            Err(error) => {
                let path = error.path().unwrap_or(&args.source);
                warn(path, &format!("left out: {error}"));
                let inside = path.strip_prefix(&args.source).unwrap_or(path);
                left_out.push(json!({ "source": inside.to_string_lossy(), "why": error.to_string() }));
            }
        }
    }
    let files = files.into_iter();
    // The body model itself has no motion.
    let body = args.body.as_deref().and_then(|path| path.canonicalize().ok());
    let files = files.filter(|path| body.is_none() || path.canonicalize().ok() != body);
    let motion = files.filter(|path| ending(path).is_some_and(|it| endings.contains(&it.as_str())));
    let mut sources: Vec<Source> = motion
        .map(|path| {
            let inside = path.strip_prefix(&args.source).unwrap_or(&path).to_path_buf();
            let names: Vec<_> = inside.iter().map(|name| name.to_string_lossy()).collect();
            let output = args.output.join(&inside).with_extension(args.format.ending());
            let told = output.with_extension(format!("{}.json", args.format.ending()));
            Source { name: names.join("/"), output, told, path }
        })
        .collect();
    sources.sort_by(|a, b| (&a.output, &a.name).cmp(&(&b.output, &b.name)));
    Ok((sources, left_out))
}

impl Source {
    /// Returns the result of an earlier run if it has the same inputs, else a new one.
    fn run(&self, args: &Args, body: Option<&BodyModel>, target: &Target) -> Result<Line, Failure> {
        let maps = [&args.map, &args.on_map, &args.body].map(|map| map.as_deref().map(file_stamp));
        let stamp = json!({
            "source": file_stamp(&self.path),
            "on": target.sources().iter().map(|file| file_stamp(file)).collect::<Value>(),
            "maps_and_body": maps,
            "options": format!("{:?} {:?} {:?} {:?} {:?}", args.clip, args.ratio, args.hands, args.ground, args.space),
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let Some(told) = self.known(&stamp) {
            return Ok(Line { name: self.name.clone(), told, is_old: true });
        }
        let done = job::run(args, &self.path, body, target, args.format)?;
        check_destination(&self.output, &done.sources, args.overwrite)?;
        let file = write_file(self.output.clone(), |out| out.write_all(&done.bytes))?;
        let mut told = job::stamp_of(&done);
        told["over"] = report::over(&done).into();
        told["bytes"] = file.bytes.into();
        told["stamp"] = stamp;
        told["files"] = self.files(&done.sources, target);
        let text = format!("{told:#}\n");
        write_file(self.told.clone(), |out| out.write_all(text.as_bytes()))?;
        Ok(Line { name: self.name.clone(), told, is_old: false })
    }

    fn known(&self, stamp: &Value) -> Option<Value> {
        let told: Value = serde_json::from_slice(&std::fs::read(&self.told).ok()?).ok()?;
        let bytes = std::fs::metadata(&self.output).ok()?.len();
        let folder = self.folder()?;
        let is_same = |(name, stamp): (&String, &Value)| file_stamp(&folder.join(name)) == *stamp;
        let is_known = told["stamp"] == *stamp
            && told["bytes"].as_u64() == Some(bytes)
            && told["files"].as_object()?.iter().all(is_same);
        is_known.then_some(told)
    }

    /// Returns the stamps of the files that the source names, such as the buffers of a .gltf. Their paths are
    /// relative to its folder.
    fn files(&self, sources: &BTreeSet<PathBuf>, target: &Target) -> Value {
        let own = self.path.canonicalize().ok();
        let named =
            sources.iter().filter(|file| own.as_ref() != Some(file) && !target.sources().contains(*file));
        let folder = self.folder().unwrap_or_default();
        let name = |file: &Path| file.strip_prefix(&folder).unwrap_or(file).to_string_lossy().into_owned();
        Value::Object(named.map(|file| (name(file), file_stamp(file))).collect())
    }

    /// Returns the canonical path of the folder that the source is in.
    fn folder(&self) -> Option<PathBuf> {
        Some(self.path.canonicalize().ok()?.parent()?.to_path_buf())
    }
}

/// Returns figures that change when a file changes.
fn file_stamp(path: &Path) -> Value {
    let file = std::fs::metadata(path).ok();
    let modified = file.as_ref().and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    json!({
        "bytes": file.map(|file| file.len()),
        "modified_ns": modified.map(|time| time.as_nanos().to_string()),
    })
}
