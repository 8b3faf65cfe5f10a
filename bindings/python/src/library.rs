//! Libraries: many clips of many skeletons in one memory-mapped file.

use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use condyle::container::{ContainerReader, EntryKind, checksum};
use condyle::sampling::AnyClip;
use condyle::{Clip as Packed, Pose, Skeleton as Joints, sample};
use condyle_io::ModelClip;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::arrays::Times;
use crate::clip::Clip;
use crate::errors::{Error, Problem, check_file, unusable};
use crate::frames::{Threads, on_threads, thread_count};
use crate::poses::{PoseArrays, get};
use crate::progress::{Pace, Steps, told};
use crate::skeleton::Skeleton;

/// Memory-mapped clips of a .condyle file, such as `condyle encode FOLDER` writes.
///
/// A file of any size opens in milliseconds, and clips that are not used take no memory. Processes that
/// map the same file share its memory, and a pickle contains only the path.
///
/// Do not change the file while it is open. To replace it, write another file and rename it, as
/// `condyle encode FOLDER` does. If the file became shorter, the next call raises FileError. If it is
/// cut short during a call, the process ends with SIGBUS, as with any mapped file.
///
/// >>> library = condyle.Library("motion.condyle")
/// >>> len(library), library.names[0], library.skeleton(0)
/// (1, 'bend', <condyle.Skeleton of 2 joints>)
/// >>> library.sample([0, 0, 0], [0.0, 0.5, 1.0]).rotations.shape
/// (3, 2, 4)
#[pyclass(frozen, module = "condyle", weakref)]
pub(crate) struct Library {
    path: String,
    bytes: Py<PyArray1<u8>>,
    /// The mapped file, used to check its length.
    file: File,
    clips: Vec<Entry>,
    /// Names of all clips, concatenated.
    names: String,
    skeletons: Vec<Arc<Joints>>,
    units: Vec<Option<f32>>,
    metadata: Option<Metadata>,
    told: PyOnceLock<Py<PyDict>>,
    places: OnceLock<HashMap<Box<str>, usize>>,
    kept: [Mutex<Option<Kept>>; KEPT],
}

/// Index and owned copy of a checked clip.
type Kept = (usize, Packed<'static>);

/// Number of cached clips from calls with one pair, of at most [`LARGEST`] bytes each: 4 MiB per
/// library.
const KEPT: usize = 64;
const LARGEST: usize = 1 << 16;

/// Number of pairs that are sorted together. Interrupts wait until a sort ends.
const BLOCK: usize = 1 << 17;

/// Byte range and checksum of the clip metadata.
#[derive(Clone, Copy)]
struct Metadata {
    begin: usize,
    end: usize,
    checksum: u64,
}

/// Byte range, name and skeleton of a clip.
struct Entry {
    begin: usize,
    end: usize,
    name_end: usize,
    skeleton: u32,
    shell: Option<f32>,
    checksum: u64,
    /// Whether the checksum was verified.
    is_whole: AtomicBool,
}

#[pymethods]
impl Library {
    #[new]
    fn new(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Self> {
        let options = PyDict::new(py);
        options.set_item("dtype", "u1")?;
        options.set_item("mode", "r")?;
        let name = path.display().to_string();
        let refuse = |what: String| unusable(py, &name, vec![Problem::of_file(what)]);
        check_file(&path).map_err(|why| why.raised(py, &name))?;
        // An empty file cannot be mapped.
        if std::fs::metadata(&path)?.len() == 0 {
            return Err(refuse("it is empty".into()));
        }
        let file = File::open(&path)?;
        let mapped = py.import("numpy")?.call_method("memmap", (&path,), Some(&options))?;
        let mapped = mapped.cast_into::<PyArray1<u8>>().map_err(PyErr::from)?;
        let bytes = mapped.readonly();
        let index = {
            let bytes = bytes.as_slice().map_err(|e| Error::new_err(e.to_string()))?;
            py.detach(|| Index::of(bytes)).map_err(refuse)?
        };
        let Index { clips, names, skeletons, units, metadata } = index;
        drop(bytes);
        let (told, places) = (PyOnceLock::new(), OnceLock::new());
        // An absolute path, so that a process in another folder finds the file.
        let name = std::path::absolute(&name)?.display().to_string();
        let (bytes, kept) = (mapped.unbind(), [const { Mutex::new(None) }; KEPT]);
        Ok(Self { path: name, bytes, file, clips, names, skeletons, units, metadata, told, places, kept })
    }

    /// Absolute path of the file.
    #[getter]
    fn path(&self) -> &str {
        &self.path
    }

    /// Names of all clips, in file order.
    #[getter]
    fn names(&self) -> Vec<&str> {
        (0..self.clips.len()).map(|at| self.name(at)).collect()
    }

    /// All skeletons. Clips with equal skeletons share one.
    #[getter]
    fn skeletons(&self) -> Vec<Skeleton> {
        self.skeletons.iter().map(|it| Skeleton(Arc::clone(it))).collect()
    }

    /// Metres per unit of each of `skeletons`, or None if the file does not state it.
    #[getter]
    fn units(&self) -> Vec<Option<f32>> {
        self.units.clone()
    }

    /// Index into `skeletons` for each clip, int64.
    #[getter]
    fn skeleton_indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.clips.iter().map(|it| i64::from(it.skeleton)))
    }

    /// Metadata of the clips: a dict of lists with one value per clip, such as "source", "tags",
    /// "seconds", "frames" and "error_max_m".
    ///
    /// Empty if the file has no metadata.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.told(py, "columns")
    }

    /// Files that could not be packed: a list of dicts with "source" and "why".
    #[getter]
    fn left_out<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.told(py, "left_out")
    }

    /// Return the index of the first clip with this name.
    fn index(&self, name: &str) -> PyResult<usize> {
        let unknown = || Error::new_err(format!("no clip is named {name:?}; see .names"));
        self.places().get(name).copied().ok_or_else(unknown)
    }

    /// Return the skeleton of a clip, given by index or name.
    fn skeleton(&self, clip: &Bound<'_, PyAny>) -> PyResult<Skeleton> {
        let at = self.place(clip)?;
        Ok(Skeleton(Arc::clone(&self.skeletons[self.clips[at].skeleton as usize])))
    }

    /// Returns a clip by index or name, with a copy of its bytes.
    fn __getitem__(&self, py: Python<'_>, clip: &Bound<'_, PyAny>) -> PyResult<Clip> {
        let at = self.place(clip)?;
        let bytes = self.bytes(py)?;
        let packed = self.packed(slice(&bytes)?, at).map_err(|why| self.broken(py, why))?.into_owned();
        let clip = AnyClip::compressed(self.name(at).to_owned(), packed);
        Ok(Clip {
            name: self.name(at).into(),
            skeleton: Arc::clone(&self.skeletons[self.clips[at].skeleton as usize]),
            motion: Arc::new(ModelClip { clip, shell: self.clips[at].shell }),
        })
    }

    /// Sample one pose per pair of clip index and time.
    ///
    /// Parameters
    /// ----------
    /// `indices` : array_like of int, shape (N,)
    ///     Clip indices.
    /// `times` : array_like, shape (N,)
    ///     Time of each pose in seconds.
    /// `out` : Poses or tuple of three ndarrays, optional
    ///     Arrays for the result.
    /// `threads` : int or None
    ///     Number of threads. None uses all cores. The results do not depend on it.
    ///
    /// Returns
    /// -------
    /// Poses
    ///     Rotations (N, J, 4), translations (N, J, 3) and scales (N, J, 3). J is the largest joint
    ///     count of these clips; rows beyond the joints of a skeleton hold the identity.
    ///
    /// Notes
    /// -----
    /// Pairs may be in any order. They are sorted, so each clip is read and checked once per 131,072
    /// pairs. A check takes some microseconds per 10 kB of clip, so a call with many pairs takes less
    /// time per pair. Up to 64 clips of at most 64 KiB (4 MiB in total) from calls with a single pair
    /// stay in memory after their check.
    ///
    /// Examples
    /// --------
    /// >>> library = condyle.Library("motion.condyle")
    /// >>> library.sample([0, 0], [1.0, 0.0]).translations.shape
    /// (2, 2, 3)
    #[pyo3(signature = (indices, times, *, out=None, threads=1))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'py, PyAny>,
        times: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (indices, moments) = (self.indices(indices)?, Times::new("times", times)?);
        let times = self.paired(&indices, &moments)?;
        let joints = indices.iter().map(|&at| self.joints(at)).max().unwrap_or(0);
        let mut out = PoseArrays::new(py, out, &[indices.len(), joints])?.apart_from(&[&moments])?;
        let widths = vec![joints; indices.len()];
        self.write(py, &indices, times, &widths, &mut out, thread_count(threads)?)?;
        out.into_poses(py)
    }

    /// Sample one pose per pair, like `sample`, without padding.
    ///
    /// Returns
    /// -------
    /// `poses` : Poses
    ///     Joints of all pairs, concatenated: rotations (M, 4), translations (M, 3) and scales (M, 3).
    /// `offsets` : ndarray of int64, shape (N + 1,)
    ///     Pair i has the rows `offsets[i]:offsets[i + 1]`.
    ///
    /// Examples
    /// --------
    /// >>> library = condyle.Library("motion.condyle")
    /// >>> poses, offsets = library.sample_ragged([0, 0], [1.0, 0.0])
    /// >>> poses.rotations.shape, offsets.tolist()
    /// ((4, 4), [0, 2, 4])
    #[pyo3(signature = (indices, times, *, threads=1))]
    fn sample_ragged<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'py, PyAny>,
        times: &Bound<'py, PyAny>,
        threads: Option<i64>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>)> {
        let (indices, times) = (self.indices(indices)?, Times::new("times", times)?);
        let times = self.paired(&indices, &times)?;
        let widths: Vec<usize> = indices.iter().map(|&at| self.joints(at)).collect();
        let mut out = PoseArrays::new(py, None, &[widths.iter().sum()])?;
        self.write(py, &indices, times, &widths, &mut out, thread_count(threads)?)?;
        let mut end = 0;
        let ends = widths.iter().map(|width| {
            end += *width as i64;
            end
        });
        let offsets = PyArray1::from_vec(py, std::iter::once(0).chain(ends).collect());
        Ok((out.into_poses(py)?, offsets))
    }

    /// Whether a clip has this name.
    fn __contains__(&self, name: &str) -> bool {
        self.places().contains_key(name)
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let builtins = slf.py().import("builtins")?;
        let indices = builtins.call_method1("range", (slf.get().clips.len(),))?;
        builtins.call_method1("map", (slf.getattr("__getitem__")?, indices))
    }

    fn __len__(&self) -> usize {
        self.clips.len()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().path.clone(),))
    }

    fn __repr__(&self) -> String {
        let (clips, skeletons) = (self.clips.len(), self.skeletons.len());
        let s = |count: usize| if count == 1 { "" } else { "s" };
        let path = &self.path;
        format!("<condyle.Library {path}: {clips} clip{}, {skeletons} skeleton{}>", s(clips), s(skeletons))
    }
}

impl Library {
    /// Index of the first clip of each name.
    fn places(&self) -> &HashMap<Box<str>, usize> {
        let all = || (0..self.clips.len()).rev().map(|at| (Box::from(self.name(at)), at)).collect();
        self.places.get_or_init(all)
    }

    /// Returns the bytes of the file after a check of its length. Reading a mapped page beyond the end
    /// of the file would end the process.
    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<PyReadonlyArray1<'py, u8>> {
        let bytes = self.bytes.bind(py).readonly();
        let (found, opened) = (self.file.metadata()?.len(), bytes.len()? as u64);
        if found < opened {
            let path = &self.path;
            let what = format!("it has {found} bytes, but had {opened} when it was opened");
            return Err(
                self.broken(py, format!("{what}; to replace it, write another file and rename it to {path}"))
            );
        }
        Ok(bytes)
    }

    fn name(&self, at: usize) -> &str {
        let begin = at.checked_sub(1).map_or(0, |before| self.clips[before].name_end);
        &self.names[begin..self.clips[at].name_end]
    }

    fn joints(&self, clip: usize) -> usize {
        self.skeletons[self.clips[clip].skeleton as usize].joint_count()
    }

    fn place(&self, clip: &Bound<'_, PyAny>) -> PyResult<usize> {
        if let Ok(name) = clip.extract::<String>() {
            return self.index(&name);
        }
        let found: i64 = clip.extract()?;
        let place = if found < 0 { found + self.clips.len() as i64 } else { found };
        let of = self.clips.len();
        let beyond = || PyIndexError::new_err(format!("no clip {found} of {of}"));
        usize::try_from(place).ok().filter(|at| *at < of).ok_or_else(beyond)
    }

    /// Requested clip indices.
    fn indices(&self, value: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let unfit = |what: String| Error::new_err(format!("indices must be integers of shape (N,), {what}"));
        // Fast path for arrays that need no conversion.
        if let Ok(array) = value.cast::<PyArray1<i64>>()
            && let Ok(array) = array.try_readonly()
            && let Ok(indices) = array.as_slice()
        {
            return self.places_of(indices);
        }
        let numpy = value.py().import("numpy")?;
        let array = numpy
            .call_method1("asarray", (value,))
            .map_err(|_| unfit("got values that do not form a regular array".into()))?;
        let dtype = array.getattr("dtype")?;
        let is_empty = array.getattr("size")?.extract::<usize>()? == 0;
        if !is_empty && !matches!(dtype.getattr("kind")?.extract::<String>()?.as_str(), "i" | "u") {
            return Err(unfit(format!("got dtype {}", dtype.str()?)));
        }
        let array = array.call_method1("astype", ("i8",))?;
        let array = array
            .cast::<PyArray1<i64>>()
            .map_err(|_| unfit("got an array that is not one-dimensional".into()))?;
        let array = array.readonly();
        self.places_of(array.as_slice().map_err(|e| Error::new_err(e.to_string()))?)
    }

    /// Checks that each number is the index of a clip.
    fn places_of(&self, indices: &[i64]) -> PyResult<Vec<usize>> {
        let of = self.clips.len();
        let place = |(at, found): (usize, &i64)| {
            let place = usize::try_from(*found).ok().filter(|place| *place < of);
            place.ok_or_else(|| {
                Error::new_err(format!("indices[{at}] must be a clip index below {of}, got {found}"))
            })
        };
        indices.iter().enumerate().map(place).collect()
    }

    /// Checks that there is one time per clip index.
    fn paired<'a>(&self, indices: &[usize], times: &'a Times<'_>) -> PyResult<&'a [f64]> {
        match times.times()? {
            found if found.len() == indices.len() => Ok(found),
            _ => Err(times.unfit(&format!("({},) like indices", indices.len()))),
        }
    }

    /// Writes poses into rows of `widths` joints each.
    fn write(
        &self,
        py: Python<'_>,
        indices: &[usize],
        times: &[f64],
        widths: &[usize],
        out: &mut PoseArrays<'_>,
        threads: Threads<'_, '_>,
    ) -> PyResult<()> {
        let bytes = self.bytes(py)?;
        let bytes = slice(&bytes)?;
        let mut left = out.planes(1)?.values;
        let most = threads.share(indices.len().min(BLOCK));
        let done = told(py, None, |steps| {
            for first in (0..indices.len()).step_by(BLOCK) {
                let block = first..indices.len().min(first + BLOCK);
                let mut rows: Vec<Row<'_>> = Vec::with_capacity(block.len());
                for at in block {
                    let mut numbers = [4, 3, 3].into_iter();
                    let row = left.each_mut().map(|left| {
                        let count = widths[at] * numbers.next().unwrap_or(0);
                        let (row, rest) = std::mem::take(left).split_at_mut(count);
                        *left = rest;
                        row
                    });
                    rows.push(Row { clip: indices[at], seconds: times[at], row });
                }
                // A stable sort, so that equal pairs keep their order.
                rows.sort_by(|a, b| a.clip.cmp(&b.clip).then(a.seconds.total_cmp(&b.seconds)));
                on_threads(rows.chunks_mut(most), steps, |rows| self.write_rows(bytes, rows, steps))?;
                if !steps.go_on() {
                    break;
                }
            }
            Ok(())
        })?;
        done.map_err(|why| self.broken(py, why))
    }

    /// Samples rows that are sorted by clip.
    fn write_rows(&self, bytes: &[u8], rows: &mut [Row<'_>], steps: &Steps) -> Result<(), String> {
        let mut poses: HashMap<u32, Pose> = HashMap::new();
        let is_alone = rows.len() == 1;
        let mut pace = Pace::default();
        for rows in rows.chunk_by_mut(|a, b| a.clip == b.clip) {
            let clip = rows[0].clip;
            let packed = if is_alone { self.kept(bytes, clip) } else { self.packed(bytes, clip) }?;
            let of = self.clips[clip].skeleton;
            let skeleton = &self.skeletons[of as usize];
            let pose = poses.entry(of).or_insert_with(|| Pose::rest(skeleton));
            for Row { seconds, row: [rotations, translations, scales], .. } in rows {
                let failed = |e: condyle::Error| format!("clip {clip}: {e}");
                sample(&packed, skeleton, *seconds, pose).map_err(failed)?;
                let joints = pose.joint_count();
                let (own, lacking) = rotations.split_at_mut(4 * joints);
                lacking.as_chunks_mut().0.fill([0.0, 0.0, 0.0, 1.0]);
                let (places, lacking) = translations.split_at_mut(3 * joints);
                lacking.fill(0.0);
                let (sizes, lacking) = scales.split_at_mut(3 * joints);
                lacking.fill(1.0);
                get(pose, [own, places, sizes]);
                if !steps.add_short(&mut pace) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Clip in the mapped file. The first access verifies its checksum.
    fn packed<'a>(&self, bytes: &'a [u8], at: usize) -> Result<Packed<'a>, String> {
        let entry = &self.clips[at];
        let data = bytes.get(entry.begin..entry.end).unwrap_or_default();
        if !entry.is_whole.load(Ordering::Relaxed) {
            if checksum(data) != entry.checksum {
                return Err(format!("clip {at} is damaged: its checksum does not match"));
            }
            entry.is_whole.store(true, Ordering::Relaxed);
        }
        Packed::from_bytes(data).map_err(|e| format!("clip {at}: {e}"))
    }

    /// Like [`Self::packed`], for a call with a single pose. The checked clip stays cached until
    /// another clip takes its slot, because the check takes longer than the pose.
    fn kept<'a>(&self, bytes: &'a [u8], at: usize) -> Result<Packed<'a>, String> {
        let mut place = self.kept[at % KEPT].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((clip, packed)) = &*place
            && *clip == at
        {
            return Ok(packed.clone());
        }
        let packed = self.packed(bytes, at)?;
        if packed.as_bytes().len() > LARGEST {
            return Ok(packed);
        }
        let packed = packed.into_owned();
        *place = Some((at, packed.clone()));
        Ok(packed)
    }

    fn broken(&self, py: Python<'_>, why: String) -> PyErr {
        unusable(py, &self.path, vec![Problem::of_file(why)])
    }

    /// Part of the clip metadata.
    fn told<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        let told = self.told.get_or_try_init(py, || {
            let told = PyDict::new(py);
            told.set_item("columns", PyDict::new(py))?;
            told.set_item("left_out", PyList::empty(py))?;
            if let Some(Metadata { begin, end, checksum: stored }) = self.metadata {
                let bytes = self.bytes(py)?;
                let data = slice(&bytes)?.get(begin..end).unwrap_or_default();
                let unfit = |what: &str| self.broken(py, format!("the clip metadata {what}"));
                if checksum(data) != stored {
                    return Err(unfit("is damaged: its checksum does not match"));
                }
                let found = py.import("json")?.call_method1("loads", (PyBytes::new(py, data),));
                let found = found.map_err(|e| unfit(&format!("is not JSON: {e}")))?;
                let found = found.cast::<PyDict>().map_err(|_| unfit("is not an object"))?;
                if let Some(columns) = found.get_item("columns")? {
                    let columns = columns
                        .cast_into::<PyDict>()
                        .map_err(|_| unfit("has columns that are not an object"))?;
                    let fits = |column: &Bound<'_, PyAny>| {
                        column.cast::<PyList>().is_ok_and(|it| it.len() == self.clips.len())
                    };
                    if !columns.iter().all(|(_, column)| fits(&column)) {
                        return Err(unfit("has a column that is not a list with one value per clip"));
                    }
                    told.set_item("columns", columns)?;
                }
                if let Some(left_out) = found.get_item("left_out")? {
                    let left_out = left_out
                        .cast_into::<PyList>()
                        .map_err(|_| unfit("has a left_out that is not a list"))?;
                    told.set_item("left_out", left_out)?;
                }
            }
            Ok::<_, PyErr>(told.unbind())
        })?;
        told.bind(py).as_any().get_item(key)
    }
}

/// Requested pair, and the destination of its pose.
struct Row<'a> {
    clip: usize,
    seconds: f64,
    row: [&'a mut [f32]; 3],
}

fn slice<'a>(bytes: &'a PyReadonlyArray1<'_, u8>) -> PyResult<&'a [u8]> {
    bytes.as_slice().map_err(|e| Error::new_err(e.to_string()))
}

/// Table of contents of a file.
struct Index {
    clips: Vec<Entry>,
    names: String,
    skeletons: Vec<Arc<Joints>>,
    units: Vec<Option<f32>>,
    metadata: Option<Metadata>,
}

impl Index {
    fn of(bytes: &[u8]) -> Result<Self, String> {
        let reader = ContainerReader::from_prefix(bytes).map_err(|e| e.to_string())?;
        if reader.file_length() != bytes.len() as u64 {
            return Err(format!(
                "it has {} bytes, but its header states {}",
                bytes.len(),
                reader.file_length()
            ));
        }
        let mut it =
            Self { clips: vec![], names: String::new(), skeletons: vec![], units: vec![], metadata: None };
        // Skeleton index by entry index.
        let mut models = HashMap::new();
        for entry in reader.entries() {
            // Within the file, because the reader checked the table.
            let (begin, end) = (entry.offset as usize, (entry.offset + entry.length) as usize);
            entry.check_version().map_err(|e| e.to_string())?;
            match entry.kind {
                EntryKind::Skeleton => {
                    let skeleton =
                        reader.skeleton(entry.index, &bytes[begin..end]).map_err(|e| e.to_string())?;
                    models.insert(entry.index, it.skeletons.len() as u32);
                    it.skeletons.push(Arc::new(skeleton));
                    it.units.push(reader.unit(entry.index));
                }
                EntryKind::Clip => {
                    let name = entry.name;
                    let skeleton = entry.model.and_then(|model| models.get(&model).copied());
                    let skeleton =
                        skeleton.ok_or_else(|| format!("no skeleton precedes its clip {name:?}"))?;
                    it.names.push_str(name);
                    let (name_end, checksum) = (it.names.len(), entry.checksum);
                    it.clips.push(Entry {
                        begin,
                        end,
                        name_end,
                        skeleton,
                        shell: reader.shell(entry.index),
                        checksum,
                        is_whole: AtomicBool::new(false),
                    });
                }
                EntryKind::Metadata if entry.name == "library" => {
                    it.metadata = Some(Metadata { begin, end, checksum: entry.checksum });
                }
                _ => {}
            }
        }
        Ok(it)
    }
}
