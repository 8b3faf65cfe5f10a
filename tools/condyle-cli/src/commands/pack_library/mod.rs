//! `condyle encode FOLDER`: all motion of a folder in one file.

mod join;
mod part;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use condyle_io::Format;
use condyle_io::job::{Folder, LeftOut, Made, Outcome, file_above, remove_parts};
use serde_json::{Value, json};

use self::part::{Encoding, Part};
use crate::commands::encode;
use crate::failure::Failure;
use crate::model::body_model;
use crate::options::job;
use crate::options::quantity::TALL;
use crate::output::{Written, check_destination, check_ending, print, print_json, warn};
use crate::text::{counted, hertz, millimetres, path_text, printable, size};

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
    if let Some(file) = file_above(&parts) {
        let (parts, file) = (path_text(&parts), path_text(file));
        return Err(Failure::Usage(format!(
            "{parts}: {file} is not a folder; choose another one with --parts"
        )));
    }
    let endings: Vec<&str> = endings().collect();
    // The body model itself has no motion.
    let body: Vec<&Path> = args.body.as_deref().into_iter().collect();
    let (sources, unreadable) = Folder { root, endings: &endings, except: &body }.sources();
    if sources.is_empty() {
        return Err(Failure::Data(format!(
            "{folder} has no motion files; their names end in .{}",
            endings.join(", .")
        )));
    }
    let body = args.body.as_deref().map(body_model).transpose()?;
    let encoding = Encoding {
        root,
        parts: &parts,
        settings: &args.settings,
        space: args.space,
        body: args.body.as_deref().zip(body.as_ref()),
        limit: args.limit,
    };
    let Outcome { made, left_out } =
        job::make_all(&encoding, &sources, unreadable, "encoding", args.threads)?;
    warn_of_heights(root, &made);
    warn_of_frames(root, &made);
    if made.is_empty() {
        return Err(Failure::Data(format!(
            "{folder}: none of its files can be used; correct the errors listed above"
        )));
    }
    let library = join::join(&args.output, &made, &left_out)?;
    if args.parts.is_none() {
        remove_parts(&parts, "condyle");
    }
    let report = Report { made: &made, left_out: &left_out, library: &library };
    let took = begin.elapsed().as_secs_f64();
    if args.json { print_json(&report.to_json(took).to_string()) } else { print(&report.to_text(took)) }
}

/// Returns the extensions of motion files.
fn endings() -> impl Iterator<Item = &'static str> {
    let formats = Format::ALL.into_iter().filter(|format| *format != Format::Container);
    formats.flat_map(|format| format.endings().iter().copied())
}

/// Warns about implausible heights: errors are bounded in metres, so a wrong unit makes the bound
/// meaningless.
fn warn_of_heights(folder: &Path, parts: &[Made<Part>]) {
    let is_odd = |height: f64| height > 0.0 && !(0.1..TALL).contains(&height);
    let odd: Vec<&Made<Part>> = parts.iter().filter(|made| is_odd(made.part.height)).collect();
    if let Some(first) = odd.first() {
        let (count, source) = (counted(odd.len(), "file is", "files are"), printable(&first.source));
        let height = first.part.height;
        warn(
            folder,
            &format!(
                "{count} implausibly tall or small, for example {source} with {height:.2} m; set the unit with --unit"
            ),
        );
    }
}

/// Warns about keys between the frames, because they cost bytes.
fn warn_of_frames(folder: &Path, parts: &[Made<Part>]) {
    let clips = parts.iter().flat_map(|made| &made.part.clips);
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

/// Figures of a written library.
struct Report<'a> {
    made: &'a [Made<Part>],
    left_out: &'a [LeftOut],
    library: &'a join::Library,
}

impl Report<'_> {
    fn clips(&self) -> impl Iterator<Item = &part::ClipLine> {
        self.made.iter().flat_map(|made| &made.part.clips)
    }

    fn sum(&self, of: impl Fn(&part::ClipLine) -> f64) -> f64 {
        self.clips().map(of).sum()
    }

    fn error_max(&self) -> f64 {
        self.clips().map(|clip| clip.error_max).fold(0.0, f64::max)
    }

    /// Returns the number of clips of each rate, the most frequent first.
    fn rates(&self) -> Vec<(String, usize)> {
        let mut rates: Vec<(String, usize)> = Vec::new();
        for clip in self.clips() {
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
        self.made.iter().filter(|made| made.is_kept).count()
    }

    fn to_json(&self, took: f64) -> Value {
        json!({
            "file": self.library.file.to_json(),
            "files": self.made.len(),
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
            counted(self.made.len(), "file", "files"),
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
