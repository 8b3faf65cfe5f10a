//! Libraries of parts: the table first, then their bytes, of which one part at a time is in memory.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use condyle::container::{Container, ContainerJoin, ContainerTable, checksum};
use pyo3::prelude::*;

use crate::errors::Error;
use crate::progress::Steps;

/// A file .condyle, by its path or its bytes.
#[derive(FromPyObject)]
pub(crate) enum Part {
    Bytes(Vec<u8>),
    Path(PathBuf),
}

impl Part {
    fn bytes(&self) -> PyResult<Cow<'_, [u8]>> {
        match self {
            Self::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Self::Path(path) => {
                let named =
                    |e: std::io::Error| std::io::Error::new(e.kind(), format!("{}: {e}", path.display()));
                if !std::fs::metadata(path).map_err(named)?.is_file() {
                    return Err(Error::new_err(format!("{} is no file", path.display())));
                }
                Ok(Cow::Owned(std::fs::read(path).map_err(named)?))
            }
        }
    }

    fn name(&self, at: usize) -> String {
        match self {
            Self::Bytes(_) => format!("parts[{at}]"),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

/// Writes the skeletons and clips of several files .condyle as one to `path`; each of `parts` is a path, or bytes as of `Clip.to_bytes`. A skeleton
/// that several have is there once. The result is the same bytes however the parts were grouped: parts may be joined ones.
///
/// `names` are those of all clips in their order, None for those that they have. `units` say of each part how many metres a unit is where the part does
/// not say it, None where nobody knows. `told` is the JSON that `Library.columns` and `Library.left_out` are read from. The file is there when
/// it is whole; `path` may be one of the parts.
///
/// >>> clip = condyle.open("two_joints.glb").clips[0].encode(shell=0.03)
/// >>> condyle.join("twice.condyle", [clip.to_bytes(), "motion.condyle"], names=["a", "b"])
/// >>> condyle.Library("twice.condyle")["b"]
/// <condyle.Clip "b": 1.500 s, 2 joints, compressed>
#[pyfunction]
#[pyo3(signature = (path, parts, *, names=None, units=None, told=None))]
pub(crate) fn join(
    py: Python<'_>,
    path: PathBuf,
    parts: Vec<Part>,
    names: Option<Vec<String>>,
    units: Option<Vec<Option<f32>>>,
    told: Option<&str>,
) -> PyResult<()> {
    let metadata = told;
    crate::progress::told(py, None, |steps| {
        let units = units.unwrap_or_else(|| vec![None; parts.len()]);
        if units.len() != parts.len() {
            let (found, needed) = (units.len(), parts.len());
            return Err(Error::new_err(format!(
                "units has {found} elements, {needed} are wanted, as parts has"
            )));
        }
        let (first, copied) = table_of(&parts, &units, names.as_deref(), metadata, steps)?;
        let mut file = Draft::new(&path)?;
        file.append(&first)?;
        for ((at, part), Copied { entries, checksum: known }) in parts.iter().enumerate().zip(copied) {
            let bytes = part.bytes()?;
            if checksum(&bytes) != known {
                return Err(Error::new_err(format!("{} was changed while it was read", part.name(at))));
            }
            let failed = |error| unfit(part, at, error);
            let container = Container::from_bytes(&bytes).map_err(failed)?;
            for entry in entries {
                file.append(container.data(entry).map_err(failed)?)?;
            }
            go_on(steps)?;
        }
        if let Some(metadata) = metadata {
            file.append(metadata.as_bytes())?;
        }
        file.finish(&path)
    })?
}

/// An error, which nobody sees, where the call was ended.
fn go_on(steps: &Steps) -> PyResult<()> {
    if steps.add() { Ok(()) } else { Err(Error::new_err("the call was ended")) }
}

/// What is written of a part.
struct Copied {
    entries: Vec<usize>,
    /// Of all bytes of the part.
    checksum: u64,
}

/// The table of the whole, and what comes behind it.
fn table_of(
    parts: &[Part],
    units: &[Option<f32>],
    names: Option<&[String]>,
    metadata: Option<&str>,
    steps: &Steps,
) -> PyResult<(Vec<u8>, Vec<Copied>)> {
    let mut join = ContainerJoin::default();
    let mut clips = 0;
    let mut copied = Vec::with_capacity(parts.len());
    for (at, (part, unit)) in parts.iter().zip(units).enumerate() {
        let bytes = part.bytes()?;
        let failed = |error| unfit(part, at, error);
        let container = Container::from_bytes(&bytes).map_err(failed)?;
        let name = |own: &str| {
            let given = names.and_then(|names| names.get(clips).cloned());
            clips += 1;
            given.unwrap_or_else(|| own.into())
        };
        go_on(steps)?;
        let entries = join.add(&container, *unit, name).map_err(failed)?;
        copied.push(Copied { entries, checksum: checksum(&bytes) });
    }
    if let Some(found) = names.map(<[String]>::len).filter(|found| *found != clips) {
        return Err(Error::new_err(format!(
            "names has {found} elements, {clips} are wanted, one for each clip"
        )));
    }
    if let Some(metadata) = metadata {
        join.add_metadata("library", metadata.as_bytes()).map_err(crate::errors::refused)?;
    }
    Ok((join.finish(), copied))
}

fn unfit(part: &Part, at: usize, error: condyle::Error) -> PyErr {
    Error::new_err(format!("{}: {error}", part.name(at)))
}

/// A file that is being written, beside the one that it becomes; it is gone where that fails.
pub(crate) struct Draft {
    out: BufWriter<File>,
    path: PathBuf,
    length: u64,
    is_whole: bool,
}

impl Draft {
    pub(crate) fn new(to: &Path) -> PyResult<Self> {
        let mut name = to.as_os_str().to_owned();
        name.push(format!(".{}.{:x}.joining", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let path = PathBuf::from(name);
        let file = File::create_new(&path)
            .map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", to.display())))?;
        Ok(Self { out: BufWriter::new(file), path, length: 0, is_whole: false })
    }

    pub(crate) fn append(&mut self, data: &[u8]) -> PyResult<()> {
        let zeros = ContainerTable::zeros(self.length);
        self.out.write_all(zeros)?;
        self.out.write_all(data)?;
        self.length += (zeros.len() + data.len()) as u64;
        Ok(())
    }

    pub(crate) fn finish(mut self, to: &Path) -> PyResult<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        std::fs::rename(&self.path, to)?;
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Threads may write to one path at once.
static NEXT: AtomicU32 = AtomicU32::new(0);
