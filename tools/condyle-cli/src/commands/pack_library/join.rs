//! All parts in one file, with columns that describe their clips.

use std::path::Path;

use condyle_io::job::{LeftOut, Made, WriteError};
use condyle_io::{LibraryError, distinct};
use serde_json::{Value, json};

use super::part::{ClipLine, Part};
use crate::failure::Failure;
use crate::model::container::unfit;
use crate::output::{Written, draft, progress};

/// The written file, and its figures.
pub(super) struct Library {
    pub(super) file: Written,
    pub(super) skeletons: usize,
    pub(super) clips: usize,
}

/// Joins the parts to one library, and stores equal skeletons once.
pub(super) fn join(to: &Path, parts: &[Made<Part>], left_out: &[LeftOut]) -> Result<Library, Failure> {
    let columns = Columns::of(parts);
    let all: Vec<_> = parts.iter().map(|made| made.part.data()).collect();
    let metadata = columns.to_json(left_out).to_string();
    let library = condyle_io::Library { parts: &all, names: Some(&columns.names), metadata: Some(&metadata) };
    let bar = progress(2 * parts.len(), "joining");
    let mut draft = draft(to.to_path_buf())?;
    let mut step = || {
        bar.inc(1);
        true
    };
    let written = draft.append(|out| Ok(library.write(out, &mut step)))?;
    let written = written.map_err(|error| match error {
        LibraryError::Unreadable(at, error) => parts[at].part.unfit(&error),
        LibraryError::Unfit(at, error) => parts[at].part.unfit(&error),
        LibraryError::Changed(at) => parts[at].part.changed(),
        LibraryError::Output(error) => WriteError { path: to.to_path_buf(), error }.into(),
        other => unfit(to, &other),
    })?;
    bar.finish_and_clear();
    Ok(Library { file: draft.finish()?.keep()?, skeletons: written.skeletons, clips: written.clips })
}

/// Columns of all clips, in file order.
struct Columns<'a> {
    names: Vec<String>,
    sources: Vec<&'a str>,
    clips: Vec<&'a ClipLine>,
}

impl<'a> Columns<'a> {
    fn of(parts: &'a [Made<Part>]) -> Self {
        let mut it = Self { names: vec![], sources: vec![], clips: vec![] };
        for Made { source, part, .. } in parts {
            let stem = source.rsplit_once('.').map_or(&**source, |(stem, _)| stem);
            for clip in &part.clips {
                let several = part.clips.len() > 1;
                it.names.push(if several { format!("{stem}/{}", clip.name) } else { stem.into() });
                it.sources.push(source);
                it.clips.push(clip);
            }
        }
        distinct(&mut it.names);
        it
    }

    fn to_json(&self, left_out: &[LeftOut]) -> Value {
        let column = |of: fn(&ClipLine) -> Value| self.clips.iter().map(|clip| of(clip)).collect::<Value>();
        // Tags are the folders that contain a file.
        let tags = |source: &&str| {
            source.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect::<Value>()
        };
        json!({
            "columns": {
                "name": self.names,
                "source": self.sources,
                "tags": self.sources.iter().map(tags).collect::<Value>(),
                "seconds": column(|clip| clip.seconds.into()),
                "frames": column(|clip| clip.frames.into()),
                "rate_hz": column(|clip| clip.rate.into()),
                "joints": column(|clip| clip.joints.into()),
                "error_max_m": column(|clip| clip.error_max.into()),
                "raw_bytes": column(|clip| clip.raw_bytes.into()),
                "bytes": column(|clip| clip.bytes.into()),
                "repairs": column(|clip| clip.repairs.into()),
            },
            "left_out": left_out.iter().map(LeftOut::to_json).collect::<Value>(),
        })
    }
}
