//! Joined libraries. The table is written first, then the bytes of the parts, with one part in memory at a
//! time.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use condyle_io::{Library, LibraryError, PartData};
use pyo3::prelude::*;

use crate::errors::Error;

/// A .condyle file, as a path or as bytes.
#[derive(FromPyObject)]
pub(crate) enum Part {
    Bytes(Vec<u8>),
    Path(PathBuf),
}

impl Part {
    fn data(&self) -> PartData<'_> {
        match self {
            Self::Bytes(bytes) => PartData::Bytes(bytes),
            Self::Path(path) => PartData::File(path),
        }
    }

    fn name(&self, at: usize) -> String {
        match self {
            Self::Bytes(_) => format!("parts[{at}]"),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

/// Join the skeletons and clips of several .condyle files into one.
///
/// Parameters
/// ----------
/// `path` : str or PathLike
///     Output file. It may be one of the parts, and appears only when it is complete.
/// `parts` : list of bytes, str or PathLike
///     Contents of .condyle files, for example from `Clip.to_bytes`, or their paths.
/// `names` : list of str, optional
///     Names of all clips in order. Default: their current names.
/// `units` : list of float or None, optional
///     Metres per unit of each part, used if the part does not state it. None means unknown.
/// `told` : str, optional
///     JSON text for `Library.columns` and `Library.left_out`.
///
/// Notes
/// -----
/// Equal skeletons are stored once. The output bytes do not depend on the grouping of the parts, so
/// joined files can be joined again.
///
/// Examples
/// --------
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
                "units must have one element per part ({needed}), got {found}"
            )));
        }
        let all: Vec<_> = parts
            .iter()
            .zip(units)
            .map(|(part, unit)| condyle_io::Part {
                data: part.data(),
                unit: unit.map(f64::from),
                checksum: None,
            })
            .collect();
        let library = Library { parts: &all, names: names.as_deref(), metadata };
        let mut file = Draft::new(&path)?;
        library.write(&mut file.out, &mut || steps.add()).map_err(|error| failure(&parts, error))?;
        file.finish(&path)
    })?
}

/// Converts the error to OSError or Error.
fn failure(parts: &[Part], error: LibraryError) -> PyErr {
    let part = |at: usize| parts[at].name(at);
    Error::new_err(match error {
        LibraryError::Unreadable(at, error) if error.kind() == ErrorKind::InvalidInput => {
            format!("{}: {error}", part(at))
        }
        LibraryError::Unreadable(at, error) => {
            return std::io::Error::new(error.kind(), format!("{}: {error}", part(at))).into();
        }
        LibraryError::Unfit(at, error) => format!("{}: {error}", part(at)),
        LibraryError::Changed(at) => format!("{} changed while it was being read", part(at)),
        LibraryError::Names { found, needed } => {
            format!("names must have one element per clip ({needed}), got {found}")
        }
        LibraryError::Output(error) => return error.into(),
        other => other.to_string(),
    })
}

/// Output file under a temporary name in the same folder. It is renamed when complete, and deleted on
/// failure.
pub(crate) struct Draft {
    out: BufWriter<File>,
    path: PathBuf,
    is_whole: bool,
}

impl Draft {
    pub(crate) fn new(to: &Path) -> PyResult<Self> {
        let mut name = to.as_os_str().to_owned();
        name.push(format!(".{}.{:x}.joining", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let path = PathBuf::from(name);
        let file = File::create_new(&path)
            .map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", to.display())))?;
        Ok(Self { out: BufWriter::new(file), path, is_whole: false })
    }

    pub(crate) fn append(&mut self, data: &[u8]) -> PyResult<()> {
        Ok(self.out.write_all(data)?)
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

/// Counter that keeps temporary names unique among threads that write to the same path.
static NEXT: AtomicU32 = AtomicU32::new(0);
