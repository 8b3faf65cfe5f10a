//! Models: a skeleton with clips and meshes, and their posed joints, vertices and pictures.

mod select;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use condyle::container::{ContainerWriter, EntryKind};
use condyle::frames::FramesOptions;
use condyle::sampling::{PoseSource, RawCursor};
use condyle::{Affine, Pose, RawClip, local_to_model};
use condyle_encode::{EncodeOptions, Shell};
use condyle_gltf::{Asset, ClipExporter};
use condyle_io::ModelClip;
use condyle_io::compare::Subject;
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::{Output, Times};
use crate::clip::Clip;
use crate::errors::{Error, Problem, refused};
use crate::frames::{Planes, for_each_frame, thread_count};
use crate::poses::{write_origins, write_rows};
use crate::primitive::Primitive;
use crate::progress::told_apart;
use crate::render::{self, Style, render, sheet};
use crate::save::{self, Kind};
use crate::skeleton::Skeleton;
use crate::unpacked::{self, Frames};
use crate::vertices::{VertexArrays, write_vertices};

/// Character or motion, loaded by `open`: a skeleton, clips and meshes.
#[pyclass(frozen, module = "condyle")]
pub(crate) struct Model {
    name: String,
    skeleton: Arc<condyle::Skeleton>,
    asset: Option<Arc<Asset>>,
    clips: Vec<Py<Clip>>,
    primitives: Vec<Py<Primitive>>,
    vertices: usize,
    problems: Vec<Problem>,
    unit: Option<f32>,
    turned: bool,
}

#[pymethods]
impl Model {
    /// Path or name that the model was opened with.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// All joints, parents before children.
    #[getter]
    fn skeleton(&self) -> Skeleton {
        Skeleton(Arc::clone(&self.skeleton))
    }

    /// All clips, in file order.
    #[getter]
    fn clips<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.clips)
    }

    /// All mesh primitives, in the order of nodes and primitives. `primitive.slice` selects the
    /// vertices of one in the result of `skin`.
    #[getter]
    fn primitives<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.primitives)
    }

    /// Number of vertices of all primitives.
    #[getter]
    fn vertex_count(&self) -> usize {
        self.vertices
    }

    /// Metres per unit of the model, or None if the file does not state it.
    #[getter]
    pub(crate) fn unit(&self) -> Option<f32> {
        self.unit
    }

    /// Problems of the file and how each was repaired: warnings first, then notes.
    #[getter]
    fn problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.problems.iter().cloned())
    }

    /// Return the joint positions in model space at each time, (T, J, 3).
    ///
    /// Parameters
    /// ----------
    /// `clip` : int, str, Clip or None
    ///     Index, name, or clip of an equal skeleton. None is the rest pose.
    /// `times` : array_like, shape (T,)
    ///     Times in seconds.
    /// `out` : ndarray of float32, shape (T, J, 3), optional
    ///     Array for the result.
    /// `threads` : int or None
    ///     Number of threads. None uses all cores.
    ///
    /// Examples
    /// --------
    /// >>> model = condyle.open("two_joints.glb")
    /// >>> model.joints(None, [0.0]).round(3).tolist()
    /// [[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    #[pyo3(signature = (clip, times, *, out=None, threads=1))]
    fn joints<'py>(
        &self,
        py: Python<'py>,
        clip: &Bound<'py, PyAny>,
        times: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        self.posed(py, (clip, times, out, threads), &[3], write_origins)
    }

    /// Return the model-space matrices of the joints at each time: rows of 3x4 matrices, (T, J, 3, 4).
    ///
    /// See `joints` for the parameters.
    ///
    /// >>> condyle.open("two_joints.glb").matrices("bend", [0.0]).shape
    /// (1, 2, 3, 4)
    #[pyo3(signature = (clip, times, *, out=None, threads=1))]
    fn matrices<'py>(
        &self,
        py: Python<'py>,
        clip: &Bound<'py, PyAny>,
        times: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        self.posed(py, (clip, times, out, threads), &[3, 4], write_rows)
    }

    /// Return the skinned vertices in world space at each time. Applies morph targets.
    ///
    /// Parameters
    /// ----------
    /// `clip` : int, str, Clip or None
    ///     Index, name, or clip of an equal skeleton. None is the rest pose.
    /// `times` : array_like, shape (T,)
    ///     Times in seconds.
    /// `normals`, `tangents` : bool
    ///     Return normals or tangents too.
    /// `out` : ndarray of float32, shape (T, V, 3), or Vertices, optional
    ///     Array for the positions, or Vertices with `normals` or `tangents`.
    /// `threads` : int or None
    ///     Number of threads. None uses all cores.
    /// `progress` : object with an `update` method, optional
    ///     Progress bar with one step per time, such as tqdm's.
    ///
    /// Returns
    /// -------
    /// ndarray of float32, shape (T, V, 3), or Vertices
    ///     Positions of all primitives in order. With `normals` or `tangents`, Vertices with normals
    ///     (T, V, 3) and tangents (T, V, 4), whose last component is the handedness of the bitangent.
    ///     Unrequested fields hold None.
    ///
    /// Notes
    /// -----
    /// Primitives without normals or tangents get zeros. Normals are rotated by the blend of the
    /// inverse transposes of the joint matrices, which equals the blended matrix unless scales are
    /// non-uniform. Tangents are rotated by the blended matrix.
    ///
    /// Examples
    /// --------
    /// >>> model = condyle.open("two_joints.glb")
    /// >>> model.skin("bend", np.linspace(0, 1, 5)).shape
    /// (5, 20, 3)
    /// >>> model.skin(None, [0.0], normals=True).normals.shape
    /// (1, 20, 3)
    #[pyo3(signature = (clip, times, *, normals=false, tangents=false, out=None, threads=1, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn skin<'py>(
        &self,
        py: Python<'py>,
        clip: &Bound<'py, PyAny>,
        times: &Bound<'py, PyAny>,
        normals: bool,
        tangents: bool,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<i64>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let threads = thread_count(threads)?.telling(progress);
        let motion = self.motion(clip)?;
        let moments = Times::new("times", times)?;
        let times = moments.times()?;
        let wanted = [true, normals, tangents];
        let mut arrays = VertexArrays::new(py, out, wanted, [times.len(), self.vertices], &moments)?;
        if let Some(asset) = &self.asset {
            let planes = arrays.planes(self.vertices)?;
            write_vertices(py, asset, motion.as_deref(), times, planes, threads)?;
        }
        arrays.into_object(py)
    }

    /// Return a compressed clip of this model, with the error bounded at every vertex.
    ///
    /// Parameters
    /// ----------
    /// `clip` : int, str or Clip
    ///     Index, name, or clip of an equal skeleton.
    /// `budget` : float
    ///     Maximum error of every vertex, in the units of the model.
    /// `shell` : float, optional
    ///     Radius around joints without vertices within which the bound holds, in the units of the
    ///     model. Default: 3 cm, converted by `unit`.
    /// `best`, `rate`, `progress`
    ///     See `Clip.encode`.
    ///
    /// Returns
    /// -------
    /// Clip
    ///
    /// Examples
    /// --------
    /// >>> condyle.open("two_joints.glb").encode("bend", 1e-3)
    /// <condyle.Clip "bend": 1.500 s, 2 joints, compressed>
    #[pyo3(signature = (clip, budget=5e-4, *, shell=None, best=false, rate=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn encode(
        &self,
        py: Python<'_>,
        clip: &Bound<'_, PyAny>,
        budget: f32,
        shell: Option<f32>,
        best: bool,
        rate: Option<f32>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Clip> {
        let clip = self
            .clip(clip)?
            .ok_or_else(|| Error::new_err("clip must be an index, a name or a Clip, got None"))?;
        clip.get().encoded(py, &self.options(py, clip.get(), budget, shell, best, rate)?, progress)
    }

    /// Unpack a clip into evenly spaced poses, with the error bounded at every vertex.
    ///
    /// Parameters
    /// ----------
    /// `clip` : int, str or Clip
    ///     Clip of this model's skeleton.
    /// `budget` : float
    ///     Maximum error in the skeleton's units, in addition to the error of a compressed clip.
    /// `shell` : float, optional
    ///     Radius around joints without vertices, in the skeleton's units. Default: 3 cm.
    ///
    /// Returns
    /// -------
    /// Frames
    ///     See `Clip.to_frames` and `sample_frames`. Measured at the vertices of the bind pose, without morph
    ///     targets.
    ///
    /// Examples
    /// --------
    /// >>> model = condyle.open("two_joints.glb")
    /// >>> model.to_frames(model.clips[0].retime(0.25, 0.5), 1e-3).error <= 1e-3
    /// True
    #[pyo3(signature = (clip, budget=2e-4, *, shell=None))]
    fn to_frames(
        &self,
        py: Python<'_>,
        clip: &Bound<'_, PyAny>,
        budget: f32,
        shell: Option<f32>,
    ) -> PyResult<Frames> {
        let clip = self
            .clip(clip)?
            .ok_or_else(|| Error::new_err("clip must be an index, a name or a Clip, got None"))?;
        let shell = shell.unwrap_or_else(|| Shell::radius(self.unit.unwrap_or(1.0).into()));
        let options = match &self.asset {
            Some(asset) => unpacked::of_meshes(asset, budget, shell).map_err(refused)?,
            None => FramesOptions::new(&self.skeleton, budget, shell),
        };
        let clip = clip.get();
        Frames::new(py, &clip.name, (&clip.motion, &clip.skeleton), options)
    }

    /// Return the model as the bytes of a .condyle file, for `open` and `from_bytes`.
    ///
    /// Uncompressed clips are compressed with `budget` and `shell`, as by `encode`. The file also
    /// contains the meshes, and the source document without its animations, for its images and
    /// materials.
    ///
    /// Parameters
    /// ----------
    /// `budget`, `shell`, `best`
    ///     See `encode`.
    /// `progress` : object with an `update` method, optional
    ///     Progress bar with 100 steps per uncompressed clip.
    ///
    /// Examples
    /// --------
    /// >>> packed = condyle.from_bytes(condyle.open("two_joints.glb").pack())
    /// >>> packed.clips[0].compressed
    /// True
    #[pyo3(signature = (budget=5e-4, *, shell=None, best=false, progress=None))]
    fn pack<'py>(
        &self,
        py: Python<'py>,
        budget: f32,
        shell: Option<f32>,
        best: bool,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let packed = |clip: &Clip| {
            if clip.compressed() {
                return Ok(clip.clone());
            }
            let options = self.options(py, clip, budget, shell, best, None)?;
            clip.encoded(py, &options, progress)
        };
        let clips = self.clips.iter().map(Py::get).map(packed).collect::<PyResult<Vec<_>>>()?;
        self.packed(py, &clips)
    }

    /// Write the model with all its clips to a file for other programs.
    ///
    /// The extension of `path` selects the format: .glb with meshes, materials and images, .bvh for a
    /// model with one clip, or .condyle, the result of `pack` with default arguments. The file appears
    /// only when it is complete.
    ///
    /// Parameters
    /// ----------
    /// `path` : str or PathLike
    ///     File to write.
    /// `mesh_budget` : float, optional
    ///     Writes smaller meshes to a .glb, with at most this error of a vertex, in the skeleton's units.
    ///     By default meshes stay unchanged.
    /// `compression` : "ext" or "khr"
    ///     Extension for smaller meshes: EXT_meshopt_compression, which most programs read, or
    ///     KHR_meshopt_compression, whose files are smaller.
    ///
    /// Notes
    /// -----
    /// A compressed clip is written to a .glb with as few keys as possible, with an error within 1/16
    /// of the clip's bound. Data that the format cannot store is left out with a UserWarning; see
    /// `Clip.save`.
    ///
    /// The error of smaller meshes is measured in the rest pose and while the model's clips play, and not in
    /// other poses. Normals, tangents, colours and texture coordinates are rounded too, as by
    /// `condyle pack --mesh`.
    ///
    /// Examples
    /// --------
    /// >>> model = condyle.open("two_joints.glb")
    /// >>> model.with_clips([model.encode("bend")]).save("small.glb", mesh_budget=1e-3)
    /// >>> condyle.open("small.glb")
    /// <condyle.Model small.glb: 2 joints, 1 clip, 20 vertices>
    #[pyo3(signature = (path, *, mesh_budget=None, compression="ext"))]
    fn save(
        slf: &Bound<'_, Self>,
        path: PathBuf,
        mesh_budget: Option<f32>,
        compression: &str,
    ) -> PyResult<()> {
        let (py, it) = (slf.py(), slf.get());
        let smaller = save::Smaller::new(mesh_budget, compression)?;
        let clips: Vec<_> = it.clips.iter().map(|clip| clip.get().saved()).collect();
        let kind = Kind::of(&path)?;
        if mesh_budget.is_some() && kind != Kind::Glb {
            return Err(Error::new_err("mesh_budget applies only to .glb"));
        }
        let data = match (kind, &clips[..]) {
            (Kind::Glb, clips) => {
                let shape = (it.asset.as_ref(), it.unit.map(f64::from), it.turned);
                let glb = save::glb(py, &it.name, &it.skeleton, shape, clips)?;
                match smaller {
                    None => glb,
                    Some(smaller) => smaller.apply(py, &it.name, glb)?,
                }
            }
            (Kind::Bvh, [clip]) => save::bvh(py, *clip, None)?,
            (Kind::Bvh, clips) => {
                let count = clips.len();
                return Err(Error::new_err(format!(
                    "a BVH holds one clip, but {} has {count}; use clips[0].save(...) to write the first",
                    it.name
                )));
            }
            (Kind::Condyle, _) => slf.call_method0("pack")?.extract::<Vec<u8>>()?,
        };
        save::write(&path, &data)
    }

    /// Unpickling hook for a model with uncompressed clips. `data` holds the rest of the model.
    #[staticmethod]
    fn _from_parts(py: Python<'_>, data: &[u8], name: &str, clips: Vec<Bound<'_, Clip>>) -> PyResult<Self> {
        let of_bytes = py.import("condyle")?.getattr("from_bytes")?;
        let model = of_bytes.call1((PyBytes::new(py, data), name))?;
        model.cast::<Self>()?.get().with_clips(py, clips)
    }

    /// Return the same model with other clips of its skeleton, for example for `pack` or `compare`.
    ///
    /// >>> model = condyle.open("two_joints.glb")
    /// >>> coarse = model.with_clips([model.encode("bend", 0.05)])
    /// >>> condyle.compare(model, coarse)[0].worst < 0.05
    /// True
    #[pyo3(signature = (clips))]
    pub(crate) fn with_clips(&self, py: Python<'_>, clips: Vec<Bound<'_, Clip>>) -> PyResult<Self> {
        let own = |clip: &Bound<'_, Clip>| {
            self.check(clip.get())?;
            Py::new(py, Clip { skeleton: Arc::clone(&self.skeleton), ..clip.get().clone() })
        };
        Ok(Self {
            name: self.name.clone(),
            skeleton: Arc::clone(&self.skeleton),
            asset: self.asset.clone(),
            clips: clips.iter().map(own).collect::<PyResult<_>>()?,
            primitives: self.primitives.iter().map(|it| it.clone_ref(py)).collect(),
            vertices: self.vertices,
            problems: self.problems.clone(),
            unit: self.unit,
            turned: self.turned,
        })
    }

    /// Pickles skeleton, clips and meshes bit for bit: the packed bytes, and the clips separately if
    /// one is uncompressed. The copy's `problems` describe the packed file.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, it) = (slf.py(), slf.get());
        let clips: Vec<Clip> = it.clips.iter().map(|clip| clip.get().clone()).collect();
        if clips.iter().any(|clip| !clip.compressed()) {
            let parts = (it.packed(py, &[])?, &it.name, it.clips(py)?);
            return Ok((slf.getattr("_from_parts")?, parts.into_pyobject(py)?));
        }
        let parts = (it.packed(py, &clips)?, &it.name);
        Ok((py.import("condyle")?.getattr("from_bytes")?, parts.into_pyobject(py)?))
    }

    /// Draw the model.
    ///
    /// Parameters
    /// ----------
    /// `clip` : int, str, Clip or None
    ///     Index, name, or clip of an equal skeleton. None is the rest pose.
    /// `times` : float or array_like, shape (T,), optional
    ///     Times in seconds. Default: the start of the clip.
    /// `size` : tuple of int
    ///     Width and height in pixels.
    /// `yaw`, `pitch` : float
    ///     Camera angles in degrees: around the character from its front towards its left, and
    ///     downwards.
    /// `skeleton`, `bounds`, `hitboxes` : bool
    ///     Draw the joints over the mesh, the bounds, or the hitboxes.
    /// `skinning` : "linear" or "dual"
    ///     Linear blend or dual-quaternion skinning. `bounds` requires "linear".
    /// `out` : ndarray of uint8, optional
    ///     Array for the result.
    /// `threads` : int or None
    ///     Number of threads. None uses all cores.
    /// `progress` : object with an `update` method, optional
    ///     Progress bar with one step per time, such as tqdm's.
    ///
    /// Returns
    /// -------
    /// Picture
    ///     Pixels (H, W, 3) for a single time, or (T, H, W, 3) for an array of times. Notebooks display
    ///     it, and `Picture.save` writes it. Its `fps` is the inverse of the mean step between `times`.
    ///
    /// Notes
    /// -----
    /// One camera keeps the whole clip in view. A model without meshes is drawn as bones. A UserWarning
    /// reports images that cannot be drawn.
    ///
    /// Examples
    /// --------
    /// >>> model = condyle.open("two_joints.glb")
    /// >>> picture = model.render("bend", 0.5, size=(320, 240))
    /// >>> picture.shape, picture.dtype
    /// ((240, 320, 3), dtype('uint8'))
    /// >>> model.render("bend", np.linspace(0, 1, 5), size=(64, 64), skeleton=True).save("bend.gif")
    #[pyo3(
        signature = (
            clip=None, times=None, *, size=[640, 640], yaw=35.0, pitch=12.0, skeleton=false, bounds=false, hitboxes=false,
            skinning="linear", out=None, threads=1, progress=None
        ),
        text_signature = "($self, clip=None, times=None, *, size=(640, 640), yaw=35.0, pitch=12.0, skeleton=False, \
            bounds=False, hitboxes=False, skinning='linear', out=None, threads=1, progress=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn render<'py>(
        &self,
        py: Python<'py>,
        clip: Option<&Bound<'py, PyAny>>,
        times: Option<&Bound<'py, PyAny>>,
        size: [i64; 2],
        yaw: f32,
        pitch: f32,
        skeleton: bool,
        bounds: bool,
        hitboxes: bool,
        skinning: &str,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<i64>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let style = Style { size, yaw, pitch, skeleton, bounds, hitboxes, skinning };
        let motion = clip.map(|clip| self.motion(clip)).transpose()?.flatten();
        let threads = thread_count(threads)?;
        render(py, &self.drawn(motion.as_deref()), &style, times, out, threads, progress)
    }

    /// Draw a contact sheet of `count` evenly spaced times of a clip, (H, W, 3).
    ///
    /// Each picture has the given `size` and is labelled with its time. See `render` for the other
    /// parameters; `progress` gets one step per picture.
    ///
    /// >>> condyle.open("two_joints.glb").sheet("bend", 3, size=(120, 160)).shape
    /// (160, 360, 3)
    #[pyo3(
        signature = (
            clip, count=8, *, size=[240, 300], yaw=35.0, pitch=12.0, skeleton=false, bounds=false, hitboxes=false,
            skinning="linear", progress=None
        ),
        text_signature = "($self, clip, count=8, *, size=(240, 300), yaw=35.0, pitch=12.0, skeleton=False, bounds=False, \
            hitboxes=False, skinning='linear', progress=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn sheet<'py>(
        &self,
        py: Python<'py>,
        clip: &Bound<'py, PyAny>,
        count: i64,
        size: [i64; 2],
        yaw: f32,
        pitch: f32,
        skeleton: bool,
        bounds: bool,
        hitboxes: bool,
        skinning: &str,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let style = Style { size, yaw, pitch, skeleton, bounds, hitboxes, skinning };
        let clip = self.clip(clip)?;
        let (label, motion) = clip.as_ref().map_or(("", None), |clip| {
            let clip = clip.get();
            (clip.name.as_str(), Some(&*clip.motion))
        });
        sheet(py, &self.drawn(motion), label, &style, count, progress)
    }

    fn __repr__(&self) -> String {
        let counted =
            |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        format!(
            "<condyle.Model {}: {}, {}, {}>",
            self.name,
            counted(self.skeleton.joint_count(), "joint", "joints"),
            counted(self.clips.len(), "clip", "clips"),
            counted(self.vertices, "vertex", "vertices")
        )
    }
}

/// Clip, times, output array and number of threads.
type Asked<'a, 'py> =
    (&'a Bound<'py, PyAny>, &'a Bound<'py, PyAny>, Option<&'a Bound<'py, PyAny>>, Option<i64>);

impl Model {
    /// The skeleton, which clips share.
    pub(crate) fn shared_skeleton(&self) -> &Arc<condyle::Skeleton> {
        &self.skeleton
    }

    /// The motion of each clip, in file order.
    pub(crate) fn motions(&self) -> impl Iterator<Item = &ModelClip> {
        self.clips.iter().map(|clip| &*clip.get().motion)
    }

    /// Joints by bone of a humanoid map in the file.
    pub(crate) fn humanoid_bones(&self) -> BTreeMap<String, u16> {
        self.asset.as_ref().map_or_else(BTreeMap::new, |asset| asset.humanoid_bones())
    }

    pub(crate) fn new(py: Python<'_>, name: &str, opened: condyle_io::Model) -> PyResult<Self> {
        let condyle_io::Model { skeleton, asset, clips, problems, unit, is_turned, .. } = opened;
        let skeleton = Arc::new(skeleton);
        let clip = |motion: ModelClip| {
            let name = motion.clip.name().to_owned();
            Py::new(py, Clip { name, skeleton: Arc::clone(&skeleton), motion: Arc::new(motion) })
        };
        let clips = clips.into_iter().map(clip).collect::<PyResult<_>>()?;
        let (primitives, vertices) = Primitive::all(py, asset.as_ref())?;
        let (asset, unit) = (asset.map(Arc::new), unit.map(|metres| metres as f32));
        let problems = problems.iter().map(Problem::from).collect();
        let (name, turned) = (name.into(), is_turned);
        Ok(Self { name, skeleton, asset, clips, primitives, vertices, problems, unit, turned })
    }

    /// Bytes of a .condyle file with these clips. Uncompressed clips are left out.
    fn packed<'py>(&self, py: Python<'py>, clips: &[Clip]) -> PyResult<Bound<'py, PyBytes>> {
        let mut writer = ContainerWriter::default();
        // Only the file name, without the private path of its folder.
        let path = Path::new(&self.name);
        let name = path.file_stem().map_or_else(|| self.name.as_str().into(), |stem| stem.to_string_lossy());
        let model = writer.add_skeleton(&name, &self.skeleton).map_err(refused)?;
        self.unit.map_or(Ok(()), |unit| writer.set_unit(model, unit)).map_err(refused)?;
        if let Some(asset) = &self.asset {
            for (name, mesh) in asset.placed_meshes().map_err(refused)? {
                writer.add_mesh(name, model, &mesh, &self.skeleton).map_err(refused)?;
            }
        }
        for clip in clips {
            if let Some(packed) = clip.motion.clip.as_compressed() {
                let (kind, data) = (EntryKind::Clip, packed.as_bytes());
                let shell = clip.motion.shell;
                let clip = writer.add(kind, &clip.name, Some(model), data).map_err(refused)?;
                shell.map_or(Ok(()), |radius| writer.set_shell(clip, radius)).map_err(refused)?;
            }
        }
        if let Some(asset) = &self.asset {
            let none: &[RawClip] = &[];
            let document = ClipExporter::new(asset).glb(none).map_err(|e| Error::new_err(e.to_string()))?;
            writer.add(EntryKind::Document, &name, Some(model), &document).map_err(refused)?;
        }
        Ok(PyBytes::new(py, &writer.finish()))
    }

    /// The model for the renderer.
    fn drawn<'a>(&'a self, motion: Option<&'a ModelClip>) -> render::Drawn<'a> {
        let motion = motion.map(|motion| motion as &(dyn PoseSource + Sync));
        render::Drawn { name: &self.name, skeleton: &self.skeleton, asset: self.asset.as_deref(), motion }
    }

    /// Meshes or joints, and clips, for a comparison with another model.
    pub(crate) fn subject(&self) -> Result<Subject<'_>, condyle_io::compare::Error> {
        let clips = self.clips.iter().map(Py::get).map(|clip| {
            condyle_io::compare::Clip::new(&clip.motion.clip).named(&*clip.name).within(clip.motion.shell)
        });
        match &self.asset {
            Some(asset) => Subject::new(&*self.name, asset, clips.collect()),
            None => Ok(Subject::of_joints(&*self.name, &self.skeleton, clips.collect())),
        }
    }

    /// Evaluates the model matrices at each time, and writes values of shape `tail` per joint.
    fn posed<'py>(
        &self,
        py: Python<'py>,
        (clip, times, out, threads): Asked<'_, 'py>,
        tail: &[usize],
        write: impl Fn(&[Affine], &mut [f32]) + Sync,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let motion = self.motion(clip)?;
        let moments = Times::new("times", times)?;
        let times = moments.times()?;
        let (frames, joints) = (times.len(), self.skeleton.joint_count());
        let out = Output::new(py, "out", out, &[&[frames, joints], tail].concat())?;
        let mut out = out.apart_from(&[&moments])?;
        let width = joints * tail.iter().product::<usize>();
        let planes = Planes { values: [out.values()?], widths: [width] };
        let start = || Ok((Pose::rest(&self.skeleton), RawCursor::default(), vec![Affine::IDENTITY; joints]));
        for_each_frame(py, thread_count(threads)?, frames, planes, start, |own, frame, [out]| {
            let (pose, cursor, model) = own;
            if let Some(motion) = &motion {
                motion.clip.sample(&self.skeleton, times[frame], cursor, pose)?;
            }
            if let Some(asset) = &self.asset {
                asset.constrain(pose)?;
            }
            local_to_model(&self.skeleton, pose, model)?;
            write(model, out);
            Ok(())
        })?;
        Ok(out.into_array())
    }

    /// Encoder options that bound the error at every vertex, or around every joint if there are no
    /// meshes.
    fn options(
        &self,
        py: Python<'_>,
        clip: &Clip,
        budget: f32,
        shell: Option<f32>,
        best: bool,
        rate: Option<f32>,
    ) -> PyResult<EncodeOptions> {
        let shell = shell.unwrap_or_else(|| Shell::radius(self.unit.unwrap_or(1.0).into()));
        let mut options = match &self.asset {
            Some(asset) => {
                let (asset, motion) = (Arc::clone(asset), Arc::clone(&clip.motion));
                let failed = |e| Error::new_err(format!("the clip {:?}: {e}", clip.name));
                told_apart(py, None, move |_| asset.encode_options(&*motion, budget, shell))?
                    .map_err(failed)?
            }
            None => EncodeOptions::new(budget, Shell::Balls(shell)),
        };
        options.best = best;
        options.rate = rate;
        Ok(options)
    }
}
