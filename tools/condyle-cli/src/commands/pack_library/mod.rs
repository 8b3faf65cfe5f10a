//! `condyle encode FOLDER`: all motion of a folder in one file.

mod join;
mod part;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use condyle_io::Format;
use rayon::prelude::*;
use serde_json::{Value, json};
use walkdir::WalkDir;

use self::part::{How, Part, Source, Why};
use crate::commands::encode;
use crate::failure::Failure;
use crate::model::body_model;
use crate::options::quantity::TALL;
use crate::output::{Written, check_destination, check_ending, print, print_json, progress, warn};
use crate::text::{counted, ending, hertz, millimetres, path_text, printable, size};

/// Rejects options that are for files.
fn check_options(args: &encode::Args, folder: &Path) -> Result<(), Failure> {
    let name = path_text(folder);
    if !folder.is_dir() {
        return Err(Failure::Usage(format!("{name} is not a folder; `condyle encode` takes single files")));
    }
    if args.models.len() > 1 {
        return Err(Failure::Usage(format!("{name} is a folder; give one folder, or only files")));
    }
    let of_files = [
        (args.onto.is_some(), "--onto", "name the files instead"),
        (args.height.length.is_some(), "--height", "give --unit, the unit of all its files"),
        (args.no_document, "--no-document", "leave it out: a library holds no documents"),
        (args.report.is_some(), "--report", "leave it out: --json prints the figures"),
    ];
    match of_files.iter().find(|(given, ..)| *given) {
        Some((_, option, next)) => {
            Err(Failure::Usage(format!("{option} is for files, and {name} is a folder; {next}")))
        }
        None => Ok(()),
    }
}

/// Encodes all motion in a folder.
pub(super) fn run(args: &encode::Args, root: &Path) -> Result<(), Failure> {
    let begin = Instant::now();
    let folder = path_text(root);
    check_options(args, root)?;
    check_ending(&args.output, "condyle", "a library")?;
    check_destination(&args.output, &BTreeSet::new(), args.overwrite)?;
    args.settings.warn_of_sizes();

    let parts = args.parts.clone().unwrap_or_else(|| beside(&args.output));
    if let Some(there) = parts.ancestors().find(|path| path.exists()).filter(|path| !path.is_dir()) {
        let (parts, there) = (path_text(&parts), path_text(there));
        return Err(Failure::Usage(format!(
            "{parts}: {there} is not a folder; choose another one with --parts"
        )));
    }
    let mut left_out = Vec::new();
    let mut sources = find(root, &parts, &mut left_out);
    // The body model itself has no motion.
    let body = args.body.as_deref().and_then(|path| path.canonicalize().ok());
    sources.retain(|source| body.is_none() || source.path.canonicalize().ok() != body);
    if sources.is_empty() {
        return Err(Failure::Data(format!(
            "{folder} has no motion files; their names end in .{}",
            endings().collect::<Vec<_>>().join(", .")
        )));
    }
    let model = args.body.as_deref().map(body_model).transpose()?;
    let how = How {
        settings: &args.settings,
        space: args.space,
        body: args.body.as_deref().zip(model.as_ref()),
        limit: args.limit,
    };
    let bar = progress(sources.len(), "encoding");
    let encoded: Vec<Result<Part, Why>> = args.threads.pool()?.install(|| {
        let part = |source: &Source| {
            let part = source.part(&how);
            bar.inc(1);
            part
        };
        sources.par_iter().map(part).collect()
    });
    bar.finish_and_clear();
    let mut whole = Vec::new();
    for (source, part) in sources.iter().zip(encoded) {
        match part {
            Ok(part) => whole.push(part),
            Err(Why::Unwritable(failure)) => return Err(failure),
            // Do not leak the absolute path of the folder.
            Err(Why::Unusable(why)) => {
                let why = why.to_string().replace(&path_text(&root.join(&source.name)), &source.name);
                left_out.push(LeftOut { source: source.name.clone(), why });
            }
        }
    }
    left_out.sort_by(|a, b| a.source.cmp(&b.source));
    left_out.iter().for_each(|it| warn(&root.join(&it.source), &format!("left out: {}", it.why)));
    warn_of_heights(root, &whole);
    warn_of_frames(root, &whole);
    if whole.is_empty() {
        return Err(Failure::Data(format!(
            "{folder}: none of its files can be used; correct the errors listed above"
        )));
    }
    let library = join::join(&args.output, &whole, &left_out)?;
    if args.parts.is_none() {
        remove(&parts);
    }
    let report = Report { whole: &whole, left_out: &left_out, library: &library };
    let took = begin.elapsed().as_secs_f64();
    if args.json { print_json(&report.to_json(took).to_string()) } else { print(&report.to_text(took)) }
}

/// Returns the extensions of motion files.
fn endings() -> impl Iterator<Item = &'static str> {
    let formats = Format::ALL.into_iter().filter(|format| *format != Format::Container);
    formats.flat_map(|format| format.endings().iter().copied())
}

/// A file that is left out of the library.
struct LeftOut {
    /// Path in the folder.
    source: String,
    why: String,
}

impl LeftOut {
    fn to_json(&self) -> Value {
        json!({ "source": self.source, "why": self.why })
    }
}

/// Warns about implausible heights: errors are bounded in metres, so a wrong unit makes the bound
/// meaningless.
fn warn_of_heights(folder: &Path, parts: &[Part]) {
    let is_odd = |height: f64| height > 0.0 && !(0.1..TALL).contains(&height);
    let odd: Vec<&Part> = parts.iter().filter(|part| is_odd(part.height)).collect();
    if let Some(first) = odd.first() {
        let (count, source) = (counted(odd.len(), "file is", "files are"), printable(&first.source));
        let height = first.height;
        warn(
            folder,
            &format!(
                "{count} implausibly tall or small, for example {source} with {height:.2} m; set the unit with --unit"
            ),
        );
    }
}

/// Warns about keys between the frames, because they cost bytes.
fn warn_of_frames(folder: &Path, parts: &[Part]) {
    let clips = parts.iter().flat_map(|part| &part.clips);
    let off: Vec<(&str, &str)> =
        clips.filter_map(|clip| Some((clip.name.as_str(), clip.off_frames.as_deref()?))).collect();
    if let Some((name, what)) = off.first() {
        let (count, name) = (counted(off.len(), "clip has", "clips have"), printable(name));
        warn(folder, &format!("{count} keys between the frames, for example {name}: {what}"));
    }
}

fn beside(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".parts");
    name.into()
}

/// Finds the files in the folder, sorted by name, with the same result on every platform.
fn find(folder: &Path, parts: &Path, left_out: &mut Vec<LeftOut>) -> Vec<Source> {
    let mut sources = Vec::new();
    // Links are followed; a link that forms a cycle is reported as a separate error.
    for entry in WalkDir::new(folder).follow_links(true) {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) => {
                let of_motion = ending(entry.path()).is_some_and(|it| endings().any(|ending| ending == it));
                sources.extend(of_motion.then(|| Source::new(folder, entry.path(), parts)));
            }
            Err(error) => {
                let path = error.path().unwrap_or(folder);
                let source = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
                left_out.push(LeftOut { source, why: error.to_string() });
            }
        }
    }
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    sources
}

/// Removes the encoded files, including those that an earlier run left for files that no longer exist, and
/// the empty folders.
fn remove(parts: &Path) {
    for entry in WalkDir::new(parts).contents_first(true).into_iter().flatten() {
        if entry.file_type().is_dir() {
            // A folder with other contents stays.
            let _ = std::fs::remove_dir(entry.path());
        } else if ending(entry.path()).as_deref() == Some("condyle") {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Figures of a written library.
struct Report<'a> {
    whole: &'a [Part],
    left_out: &'a [LeftOut],
    library: &'a join::Library,
}

impl Report<'_> {
    fn sum(&self, of: impl Fn(&part::ClipLine) -> f64) -> f64 {
        self.whole.iter().flat_map(|part| &part.clips).map(of).sum()
    }

    fn error_max(&self) -> f64 {
        self.whole.iter().flat_map(|part| &part.clips).map(|clip| clip.error_max).fold(0.0, f64::max)
    }

    /// Returns the number of clips of each rate, the most frequent first.
    fn rates(&self) -> Vec<(String, usize)> {
        let mut rates: Vec<(String, usize)> = Vec::new();
        for clip in self.whole.iter().flat_map(|part| &part.clips) {
            let rate = hertz(clip.rate as f32);
            match rates.iter_mut().find(|(known, _)| *known == rate) {
                Some((_, count)) => *count += 1,
                None => rates.push((rate, 1)),
            }
        }
        rates.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        rates
    }

    fn resumed(&self) -> usize {
        self.whole.iter().filter(|part| part.is_old).count()
    }

    fn to_json(&self, took: f64) -> Value {
        json!({
            "file": self.library.file.to_json(),
            "files": self.whole.len(),
            "files_encoded_before": self.resumed(),
            "skeletons": self.library.skeletons,
            "clips": self.library.clips,
            "seconds": self.sum(|clip| clip.seconds),
            "frames": self.sum(|clip| clip.frames as f64) as u64,
            "rates": self.rates().into_iter().map(|(rate, clips)| json!({ "rate": rate, "clips": clips })).collect::<Vec<_>>(),
            "raw_bytes": self.sum(|clip| clip.raw_bytes as f64) as u64,
            "bytes": self.sum(|clip| clip.bytes as f64) as u64,
            "error_max_m": self.error_max(),
            "took_s": took,
            "left_out": self.left_out.iter().map(LeftOut::to_json).collect::<Vec<_>>(),
        })
    }

    fn to_text(&self, took: f64) -> String {
        let [raw, bytes] = [self.sum(|clip| clip.raw_bytes as f64), self.sum(|clip| clip.bytes as f64)];
        let mut out = format!(
            "{} of {}, {}, {:.1} min: {} to {}, {:.1} to 1, error up to {} mm\n",
            counted(self.library.clips, "clip", "clips"),
            counted(self.whole.len(), "file", "files"),
            counted(self.library.skeletons, "skeleton", "skeletons"),
            self.sum(|clip| clip.seconds) / 60.0,
            size(raw as usize),
            size(bytes as usize),
            raw / bytes.max(1.0),
            millimetres(self.error_max()),
        );
        let mut rates = self.rates();
        let others: usize = rates.split_off(rates.len().min(5)).iter().map(|(_, count)| count).sum();
        rates.extend((others > 0).then(|| ("other rates".into(), others)));
        let rates: Vec<String> = rates.into_iter().map(|(rate, count)| format!("{rate} {count}")).collect();
        out += &format!("clips by rate: {}\n", rates.join(", "));
        if self.resumed() > 0 {
            out += &format!("{} encoded before\n", counted(self.resumed(), "file was", "files were"));
        }
        if !self.left_out.is_empty() {
            out +=
                &format!("{} left out, see above\n", counted(self.left_out.len(), "file was", "files were"));
        }
        out + &format!("{}, {took:.1} s\n", Written::summary(std::slice::from_ref(&self.library.file)))
    }
}
