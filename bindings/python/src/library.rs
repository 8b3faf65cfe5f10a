//! Libraries: many clips of many skeletons in one file, which is mapped and not read.

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

/// The clips of a file .condyle, as `condyle encode FOLDER` makes of a folder: mapped, so that a file of any size is opened in milliseconds,
/// and what is not asked for takes no memory. Processes that map the same file share it, and a pickle is its path. The file must stay as it is while
/// it is open: to write it anew, write another one and rename it, as `condyle encode FOLDER` does. A file that became shorter is refused by the next call;
/// one that is cut short during a call ends the process (SIGBUS), as with any mapped file.
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
    /// The file that is mapped, whose length can change.
    file: File,
    clips: Vec<Entry>,
    /// One after another.
    names: String,
    skeletons: Vec<Arc<Joints>>,
    units: Vec<Option<f32>>,
    metadata: Option<Metadata>,
    told: PyOnceLock<Py<PyDict>>,
    places: OnceLock<HashMap<Box<str>, usize>>,
    kept: [Mutex<Option<Kept>>; KEPT],
}

/// A clip that was checked, by its index, in memory of its own.
type Kept = (usize, Packed<'static>);

/// So many clips that were asked for alone are kept, of at most [`LARGEST`] bytes each: 4 MiB of a library.
const KEPT: usize = 64;
const LARGEST: usize = 1 << 16;

/// So many pairs are sorted together: interrupts wait for a sort.
const BLOCK: usize = 1 << 17;

/// Where it is told what is known of the clips.
#[derive(Clone, Copy)]
struct Metadata {
    begin: usize,
    end: usize,
    checksum: u64,
}

/// Where a clip is in the file.
struct Entry {
    begin: usize,
    end: usize,
    name_end: usize,
    skeleton: u32,
    shell: Option<f32>,
    checksum: u64,
    /// Its checksum was compared.
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
        // What is empty cannot be mapped.
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
        // A process that has another folder finds it too.
        let name = std::path::absolute(&name)?.display().to_string();
        let (bytes, kept) = (mapped.unbind(), [const { Mutex::new(None) }; KEPT]);
        Ok(Self { path: name, bytes, file, clips, names, skeletons, units, metadata, told, places, kept })
    }

    /// The file.
    #[getter]
    fn path(&self) -> &str {
        &self.path
    }

    /// The names of all clips, in their order.
    #[getter]
    fn names(&self) -> Vec<&str> {
        (0..self.clips.len()).map(|at| self.name(at)).collect()
    }

    /// All skeletons. Clips of files with the same one share it.
    #[getter]
    fn skeletons(&self) -> Vec<Skeleton> {
        self.skeletons.iter().map(|it| Skeleton(Arc::clone(it))).collect()
    }

    /// How many metres a unit of each of `skeletons` is, None where the file does not say.
    #[getter]
    fn units(&self) -> Vec<Option<f32>> {
        self.units.clone()
    }

    /// For each clip, which of `skeletons` it moves: an int64 array.
    #[getter]
    fn skeleton_indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.clips.iter().map(|it| i64::from(it.skeleton)))
    }

    /// What is known of the clips: a dict of lists with a value for each, such as "source", "tags", "seconds", "frames" and "error_max_m". Empty
    /// where the file says nothing.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.told(py, "columns")
    }

    /// What could not be packed: a list of dicts with "source" and "why".
    #[getter]
    fn left_out<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.told(py, "left_out")
    }

    /// The index of the clip of a name.
    fn index(&self, name: &str) -> PyResult<usize> {
        let unknown = || Error::new_err(format!("no clip is called {name:?}; .names lists them"));
        self.places().get(name).copied().ok_or_else(unknown)
    }

    /// The skeleton that a clip moves, the clip by index or name.
    fn skeleton(&self, clip: &Bound<'_, PyAny>) -> PyResult<Skeleton> {
        let at = self.place(clip)?;
        Ok(Skeleton(Arc::clone(&self.skeletons[self.clips[at].skeleton as usize])))
    }

    /// A clip by index or name, as bytes of its own.
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

    /// One pose for each of `indices`, clips of the library, at as many `times`, in seconds: Poses of rotations (N, J, 4), translations (N, J, 3) and
    /// scales (N, J, 3). J is the most joints that one of these clips has; those that a skeleton lacks are the identity.
    ///
    /// Pairs may come in any order: they are sorted, so that a clip is read and checked once for each 131,072 of them. Checking takes some microseconds for every ten
    /// kilobytes of a clip, so many pairs in a call take less time each. Up to 64 clips that were asked for alone are kept as they were
    /// checked, unless they have more than 64 KiB: at most 4 MiB. The numbers are the same for any number of threads.
    ///
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

    /// As `sample`, without what skeletons lack: Poses of all joints one after another, rotations (M, 4), translations (M, 3) and scales (M, 3), and
    /// offsets (N + 1,), int64: those of pair i are `offsets[i]:offsets[i + 1]`.
    ///
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
    /// The first clip of each name.
    fn places(&self) -> &HashMap<Box<str>, usize> {
        let all = || (0..self.clips.len()).rev().map(|at| (Box::from(self.name(at)), at)).collect();
        self.places.get_or_init(all)
    }

    /// The bytes of the file, if it still has as many as when it was opened: to read what is mapped and no longer there ends the process.
    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<PyReadonlyArray1<'py, u8>> {
        let bytes = self.bytes.bind(py).readonly();
        let (found, opened) = (self.file.metadata()?.len(), bytes.len()? as u64);
        if found < opened {
            let path = &self.path;
            let what = format!("it has {found} bytes and had {opened} when it was opened");
            return Err(self.broken(py, format!("{what}; write another file and rename it to {path}")));
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
        let beyond = || PyIndexError::new_err(format!("clip {found} of {of}"));
        usize::try_from(place).ok().filter(|at| *at < of).ok_or_else(beyond)
    }

    /// Which clips are asked for.
    fn indices(&self, value: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let unfit = |what: String| Error::new_err(format!("indices {what}, whole numbers (N,) are wanted"));
        // What needs no conversion is asked nothing more.
        if let Ok(array) = value.cast::<PyArray1<i64>>()
            && let Ok(array) = array.try_readonly()
            && let Ok(indices) = array.as_slice()
        {
            return self.places_of(indices);
        }
        let numpy = value.py().import("numpy")?;
        let array =
            numpy.call_method1("asarray", (value,)).map_err(|_| unfit("is no array of one shape".into()))?;
        let dtype = array.getattr("dtype")?;
        let is_empty = array.getattr("size")?.extract::<usize>()? == 0;
        if !is_empty && !matches!(dtype.getattr("kind")?.extract::<String>()?.as_str(), "i" | "u") {
            return Err(unfit(format!("holds {}", dtype.str()?)));
        }
        let array = array.call_method1("astype", ("i8",))?;
        let array = array.cast::<PyArray1<i64>>().map_err(|_| unfit("has not one axis".into()))?;
        let array = array.readonly();
        self.places_of(array.as_slice().map_err(|e| Error::new_err(e.to_string()))?)
    }

    /// The same of whole numbers: each is the index of a clip.
    fn places_of(&self, indices: &[i64]) -> PyResult<Vec<usize>> {
        let of = self.clips.len();
        let place = |(at, found): (usize, &i64)| {
            let place = usize::try_from(*found).ok().filter(|place| *place < of);
            place.ok_or_else(|| {
                Error::new_err(format!("indices[{at}] is {found}, the index of one of {of} clips is wanted"))
            })
        };
        indices.iter().enumerate().map(place).collect()
    }

    /// As many times as clips.
    fn paired<'a>(&self, indices: &[usize], times: &'a Times<'_>) -> PyResult<&'a [f64]> {
        match times.times()? {
            found if found.len() == indices.len() => Ok(found),
            _ => Err(times.unfit(&format!("({},), as indices has,", indices.len()))),
        }
    }

    /// Poses into rows of so many joints each.
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
                // Stable, so that pairs that are the same stay in their order.
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

    /// Rows in the order of clips.
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

    /// A clip where it lies. Its checksum is compared when it is first asked for.
    fn packed<'a>(&self, bytes: &'a [u8], at: usize) -> Result<Packed<'a>, String> {
        let entry = &self.clips[at];
        let data = bytes.get(entry.begin..entry.end).unwrap_or_default();
        if !entry.is_whole.load(Ordering::Relaxed) {
            if checksum(data) != entry.checksum {
                return Err(format!("clip {at} is damaged: its checksum is another"));
            }
            entry.is_whole.store(true, Ordering::Relaxed);
        }
        Packed::from_bytes(data).map_err(|e| format!("clip {at}: {e}"))
    }

    /// As [`Self::packed`], for a pose alone: a clip is checked once, until another one takes its place, as that takes longer than the pose.
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

    /// A part of what the file says of its clips.
    fn told<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        let told = self.told.get_or_try_init(py, || {
            let told = PyDict::new(py);
            told.set_item("columns", PyDict::new(py))?;
            told.set_item("left_out", PyList::empty(py))?;
            if let Some(Metadata { begin, end, checksum: stored }) = self.metadata {
                let bytes = self.bytes(py)?;
                let data = slice(&bytes)?.get(begin..end).unwrap_or_default();
                let unfit = |what: &str| self.broken(py, format!("what it says of its clips {what}"));
                if checksum(data) != stored {
                    return Err(unfit("is damaged: its checksum is another"));
                }
                let found = py.import("json")?.call_method1("loads", (PyBytes::new(py, data),));
                let found = found.map_err(|e| unfit(&format!("is no JSON: {e}")))?;
                let found = found.cast::<PyDict>().map_err(|_| unfit("is no object"))?;
                if let Some(columns) = found.get_item("columns")? {
                    let columns =
                        columns.cast_into::<PyDict>().map_err(|_| unfit("has columns that are no object"))?;
                    let fits = |column: &Bound<'_, PyAny>| {
                        column.cast::<PyList>().is_ok_and(|it| it.len() == self.clips.len())
                    };
                    if !columns.iter().all(|(_, column)| fits(&column)) {
                        return Err(unfit("has a column that is no list with a value for each"));
                    }
                    told.set_item("columns", columns)?;
                }
                if let Some(left_out) = found.get_item("left_out")? {
                    let left_out =
                        left_out.cast_into::<PyList>().map_err(|_| unfit("has left_out that is no list"))?;
                    told.set_item("left_out", left_out)?;
                }
            }
            Ok::<_, PyErr>(told.unbind())
        })?;
        told.bind(py).as_any().get_item(key)
    }
}

/// A pair that was asked for, and where its pose goes.
struct Row<'a> {
    clip: usize,
    seconds: f64,
    row: [&'a mut [f32]; 3],
}

fn slice<'a>(bytes: &'a PyReadonlyArray1<'_, u8>) -> PyResult<&'a [u8]> {
    bytes.as_slice().map_err(|e| Error::new_err(e.to_string()))
}

/// What is where in a file.
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
                "it has {} bytes, and says that it has {}",
                bytes.len(),
                reader.file_length()
            ));
        }
        let mut it =
            Self { clips: vec![], names: String::new(), skeletons: vec![], units: vec![], metadata: None };
        // The place of each skeleton's entry.
        let mut models = HashMap::new();
        for entry in reader.entries() {
            // Within the file, as the table was checked.
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
                        skeleton.ok_or_else(|| format!("no skeleton stands before its clip {name:?}"))?;
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
