//! Several files, or a folder, of which each file becomes one output in another folder.

use std::path::{Path, PathBuf};
use std::time::Instant;

use condyle_io::Format;
use condyle_io::job::{LeftOut, Made, Mirror, Outcome, Product, Source, file_above};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::options::job::{files_of, make_all, twins};
use crate::options::overwrite::Overwrite;
use crate::options::threads::Threads;
use crate::output::{print, print_json};
use crate::text::{counted, ending, path_text};

/// Outputs of a command that makes one file of each input.
pub(crate) struct Each<'a> {
    pub(crate) inputs: &'a [PathBuf],
    /// Output folder.
    pub(crate) output: &'a Path,
    pub(crate) overwrite: Overwrite,
    pub(crate) threads: Threads,
    /// Settings that change the outputs.
    pub(crate) settings: String,
    /// Text of the progress bar.
    pub(crate) what: &'static str,
    pub(crate) json: bool,
}

/// Returns the only input, if it is a file.
pub(crate) fn single(inputs: &[PathBuf]) -> Option<&Path> {
    match inputs {
        [one] if !one.is_dir() => Some(one),
        _ => None,
    }
}

impl Each<'_> {
    /// Makes the outputs, as .glb. Those whose inputs and settings did not change are not made again.
    pub(crate) fn run(
        &self,
        make: impl Fn(&Source) -> Result<Product, Failure> + Sync,
    ) -> Result<(), Failure> {
        let begin = Instant::now();
        let (mut sources, unreadable) = self.find()?;
        let mirror = Mirror {
            folder: self.output,
            ending: "glb",
            stamp: json!({ "options": self.settings, "version": env!("CARGO_PKG_VERSION") }),
            shared: &Default::default(),
            replaces_read_only: self.overwrite.force,
            make,
        };
        if let Some(two) = mirror.sort(&mut sources) {
            return Err(twins(two, &mirror.plan(two[1]).output));
        }
        let outcome = make_all(&mirror, &sources, unreadable, self.what, self.threads)?;
        match self.json {
            true => print_json(&self.to_json(&outcome).to_string())?,
            false => print(&self.to_text(&outcome, begin.elapsed().as_secs_f64()))?,
        }
        match outcome.made.is_empty() {
            true => Err(Failure::Data("none of the files can be used; see the errors above".into())),
            false => Ok(()),
        }
    }

    fn find(&self) -> Result<(Vec<Source>, Vec<LeftOut>), Failure> {
        let output = path_text(self.output);
        if ending(self.output).as_deref() == Some("glb") {
            return Err(Failure::Usage(format!(
                "{output}: several files become a folder of files; name a folder with -o"
            )));
        }
        if let [folder] = self.inputs {
            let formats = Format::ALL.into_iter();
            let formats = formats.filter(|it| ![Format::Container, Format::Body].contains(it));
            let endings: Vec<&str> = formats.flat_map(|format| format.endings().iter().copied()).collect();
            return files_of(folder, self.output, &endings, None);
        }
        if let Some(folder) = self.inputs.iter().find(|path| path.is_dir()) {
            let folder = path_text(folder);
            return Err(Failure::Usage(format!("{folder} is a folder; give one folder, or only files")));
        }
        if let Some(file) = file_above(self.output) {
            let file = path_text(file);
            return Err(Failure::Usage(format!("{file} is a file; name an output folder with -o")));
        }
        Ok((self.inputs.iter().map(|path| Source::of_file(path)).collect(), Vec::new()))
    }

    fn to_json(&self, outcome: &Outcome<Value>) -> Value {
        let line = |made: &Made<Value>| {
            let mut figures = made.part.clone();
            let object = figures.as_object_mut();
            object.into_iter().for_each(|it| it.retain(|name, _| name != "stamp" && name != "files"));
            figures["source"] = made.source.clone().into();
            figures["kept"] = made.is_kept.into();
            figures
        };
        json!({
            "folder": self.output.to_string_lossy(),
            "files": outcome.made.iter().map(line).collect::<Vec<_>>(),
            "left_out": outcome.left_out.iter().map(LeftOut::to_json).collect::<Vec<_>>(),
        })
    }

    fn to_text(&self, outcome: &Outcome<Value>, took: f64) -> String {
        let kept = match outcome.kept_count() {
            0 => "all new".into(),
            kept => format!("{kept} made before"),
        };
        let files = counted(outcome.made.len(), "file", "files");
        let mut text = format!("{files}, {kept}: {}, {took:.1} s\n", path_text(self.output));
        let left_out = outcome.left_out.len();
        if left_out > 0 {
            text += &format!("{} left out, see above\n", counted(left_out, "file was", "files were"));
        }
        text
    }
}
