//! All parts in one file: the table first, which needs to know each entry, then the bytes, of which one part at a time is in memory.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use condyle::container::{Container, ContainerTable, EntryKind};
use serde_json::{Value, json};

use super::LeftOut;
use super::part::{ClipLine, Part};
use crate::failure::Failure;
use crate::model::container::unfit;
use crate::model::distinct;
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
    let mut table = ContainerTable::default();
    let mut models = HashMap::new();
    // The entries of each part that are copied.
    let mut copied: Vec<Vec<usize>> = Vec::new();
    let mut names = columns.names.iter();
    let bar = progress(2 * parts.len(), "joining");
    for part in parts {
        let (failed, bytes) = (|error: condyle::Error| part.unfit(&error), part.bytes()?);
        let container = Container::from_bytes(&bytes).map_err(failed)?;
        let mut entries = Vec::new();
        let mut model = None;
        for entry in container.entries() {
            let data = container.data(entry.index).map_err(failed)?;
            match entry.kind {
                EntryKind::Skeleton => {
                    let unit = container.unit(entry.index);
                    let key = (unit.map(f32::to_bits), data.to_vec());
                    model = models.get(&key).copied();
                    if model.is_none() {
                        let at = table.add(entry.kind, entry.name, None, data).map_err(failed)?;
                        unit.map_or(Ok(()), |unit| table.set_unit(at, unit)).map_err(failed)?;
                        models.insert(key, at);
                        (model, entries) = (Some(at), vec![entry.index]);
                    }
                }
                EntryKind::Clip => {
                    let name = names.next().map_or(entry.name, String::as_str);
                    table.add(entry.kind, name, model, data).map_err(failed)?;
                    entries.push(entry.index);
                }
                _ => {}
            }
        }
        copied.push(entries);
        bar.inc(1);
    }
    let told = columns.to_json(left_out).to_string();
    let metadata = table.add(EntryKind::Metadata, "library", None, told.as_bytes());
    metadata.map_err(|error| unfit(to, &error))?;

    let mut draft = Draft::new(to.to_path_buf())?;
    let first = table.finish();
    draft.append(|out| out.write_all(&first))?;
    let mut length = first.len() as u64;
    let mut append = |data: &[u8]| {
        let zeros = (length.next_multiple_of(ContainerTable::ALIGNMENT as u64) - length) as usize;
        length += (zeros + data.len()) as u64;
        draft.append(|out: &mut dyn Write| {
            out.write_all(&[0; ContainerTable::ALIGNMENT][..zeros])?;
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
    Ok(Library { file: draft.finish()?.keep()?, skeletons: models.len(), clips: columns.names.len() })
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
