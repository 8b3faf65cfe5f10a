//! All parts in one file: the table first, which needs to know each entry, then the bytes, of which one part at a time is in memory.

use std::io::Write;
use std::path::Path;

use condyle::container::{Container, ContainerJoin, ContainerTable};
use condyle_compare::distinct;
use serde_json::{Value, json};

use super::LeftOut;
use super::part::{ClipLine, Part};
use crate::failure::Failure;
use crate::model::container::unfit;
use crate::output::{Draft, Written, progress};

/// What was written.
pub(super) struct Library {
    pub(super) file: Written,
    pub(super) skeletons: usize,
    pub(super) clips: usize,
}

/// The parts as one library, a skeleton for all that have the same.
pub(super) fn join(to: &Path, parts: &[Part], left_out: &[LeftOut]) -> Result<Library, Failure> {
    let columns = Columns::of(parts);
    let mut join = ContainerJoin::default();
    // The entries of each part that are copied.
    let mut copied: Vec<Vec<usize>> = Vec::new();
    let mut names = columns.names.iter();
    let bar = progress(2 * parts.len(), "joining");
    for part in parts {
        let (failed, bytes) = (|error: condyle::Error| part.unfit(&error), part.bytes()?);
        let container = Container::from_bytes(&bytes).map_err(failed)?;
        let name = |own: &str| names.next().cloned().unwrap_or_else(|| own.into());
        copied.push(join.add(&container, None, name).map_err(failed)?);
        bar.inc(1);
    }
    let told = columns.to_json(left_out).to_string();
    join.add_metadata("library", told.as_bytes()).map_err(|error| unfit(to, &error))?;
    let skeletons = join.skeleton_count();

    let mut draft = Draft::new(to.to_path_buf())?;
    let first = join.finish();
    draft.append(|out| out.write_all(&first))?;
    let mut length = first.len() as u64;
    let mut append = |data: &[u8]| {
        let zeros = ContainerTable::zeros(length);
        length += (zeros.len() + data.len()) as u64;
        draft.append(|out: &mut dyn Write| {
            out.write_all(zeros)?;
            out.write_all(data)
        })
    };
    for (part, entries) in parts.iter().zip(copied) {
        let (failed, bytes) = (|error: condyle::Error| part.unfit(&error), part.bytes()?);
        let container = Container::from_bytes(&bytes).map_err(failed)?;
        for entry in entries {
            append(container.data(entry).map_err(failed)?)?;
        }
        bar.inc(1);
    }
    append(told.as_bytes())?;
    bar.finish_and_clear();
    Ok(Library { file: draft.finish()?.keep()?, skeletons, clips: columns.names.len() })
}

/// What is told of all clips, in their order in the file.
struct Columns<'a> {
    names: Vec<String>,
    sources: Vec<&'a str>,
    clips: Vec<&'a ClipLine>,
}

impl<'a> Columns<'a> {
    fn of(parts: &'a [Part]) -> Self {
        let mut it = Self { names: vec![], sources: vec![], clips: vec![] };
        for part in parts {
            let stem = part.source.rsplit_once('.').map_or(&*part.source, |(stem, _)| stem);
            for clip in &part.clips {
                let several = part.clips.len() > 1;
                it.names.push(if several { format!("{stem}/{}", clip.name) } else { stem.into() });
                it.sources.push(&part.source);
                it.clips.push(clip);
            }
        }
        distinct(&mut it.names);
        it
    }

    fn to_json(&self, left_out: &[LeftOut]) -> Value {
        let column = |of: fn(&ClipLine) -> Value| self.clips.iter().map(|clip| of(clip)).collect::<Value>();
        // The folders that a file lies in.
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
