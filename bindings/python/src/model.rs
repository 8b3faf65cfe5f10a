//! Models: a skeleton with clips and meshes, and what is posed of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use condyle::container::{ContainerWriter, EntryKind};
use condyle::sampling::{PoseSource, RawCursor};
use condyle::{Affine, Pose, RawClip, local_to_model};
use condyle_compare::Subject;
use condyle_encode::{EncodeOptions, Shell};
use condyle_gltf::{Asset, ClipExporter};
use condyle_io::ModelClip;
use numpy::PyArrayDyn;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::{Output, Times};
use crate::clip::{Clip, effort_of};
use crate::errors::{Error, Problem, refused};
use crate::frames::{Planes, for_each_frame, thread_count};
use crate::poses::{write_origins, write_rows};
use crate::primitive::Primitive;
use crate::progress::told_apart;
use crate::render::{self, Style, render, sheet};
use crate::save::{self, Kind};
use crate::skeleton::Skeleton;
use crate::vertices::{VertexArrays, write_vertices};

/// A character or a motion as `open` has read it: its skeleton, its clips and its meshes.
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
    /// What it was opened as.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// All joints, parents before their children.
    #[getter]
    fn skeleton(&self) -> Skeleton {
        Skeleton(Arc::clone(&self.skeleton))
    }

    /// All clips, in the order of the file.
    #[getter]
    fn clips<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.clips)
    }

    /// All meshes in pieces of one material, in the order of nodes and primitives: `primitive.slice` is where its vertices are in what `skin` returns.
    #[getter]
    fn primitives<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.primitives)
    }

    /// How many vertices all primitives have.
    #[getter]
    fn vertex_count(&self) -> usize {
        self.vertices
    }

    /// How many metres one of its units is, None where the file does not say.
    #[getter]
    pub(crate) fn unit(&self) -> Option<f32> {
        self.unit
    }

    /// What was odd about the file and how it was repaired: warnings first, then notes.
    #[getter]
    fn problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.problems.iter().cloned())
    }

    /// Where the joints are at each of `times`, in seconds: (T, J, 3), in model space.
    ///
    /// `clip` is an index, a name, a Clip of this skeleton, or None for the pose at rest.
    ///
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

    /// The model matrices of the joints at each of `times`: (T, J, 3, 4), rows of a 3 by 4 matrix each. `clip` is as in `joints`.
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

    /// The vertices at each of `times`, in world space: positions (T, V, 3), all primitives one after another. `clip` is as in `joints`; morph targets
    /// are applied.
    ///
    /// With `normals` or `tangents` the result is a Vertices of positions, normals (T, V, 3) and tangents (T, V, 4) with the handedness of the
    /// bitangent, None where they were not asked for. They are 0 for primitives that have none. A normal is
    /// turned by the blend of its joints' inverse transposes, which without uneven scale is the blended matrix, as the library does by
    /// default; a tangent by the blended matrix. `out` is an array to write positions to, or then a Vertices. `progress` is a bar with a step for each of `times`: tqdm's, or anything else with an `update`.
    ///
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

    /// A clip of this model compressed, within `budget` of the authored one at every vertex, in the units of the model; around joints without vertices it
    /// holds at the distance `shell`, without one 3 cm by `unit`. `clip`, `effort`, `rate` and `progress` are as in `joints` and `Clip.encode`.
    ///
    /// >>> condyle.open("two_joints.glb").encode("bend", 1e-3)
    /// <condyle.Clip "bend": 1.500 s, 2 joints, compressed>
    #[pyo3(signature = (clip, budget=5e-4, *, shell=None, effort="normal", rate=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn encode(
        &self,
        py: Python<'_>,
        clip: &Bound<'_, PyAny>,
        budget: f32,
        shell: Option<f32>,
        effort: &str,
        rate: Option<f32>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Clip> {
        let clip = self.clip(clip)?.ok_or_else(|| Error::new_err("clip is None, a clip is wanted"))?;
        clip.get().encoded(py, &self.options(py, clip.get(), budget, shell, effort, rate)?, progress)
    }

    /// The model as the bytes of a file .condyle, which `open` and `from_bytes` read: clips that are not compressed yet are encoded with `budget` and `shell`, as
    /// `encode` has them. Besides them it holds the meshes, and the document without its animations, of which images and materials are.
    /// `progress` is a bar with 100 steps for each of these.
    ///
    /// >>> packed = condyle.from_bytes(condyle.open("two_joints.glb").pack())
    /// >>> packed.clips[0].compressed
    /// True
    #[pyo3(signature = (budget=5e-4, *, shell=None, effort="normal", progress=None))]
    fn pack<'py>(
        &self,
        py: Python<'py>,
        budget: f32,
        shell: Option<f32>,
        effort: &str,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let packed = |clip: &Clip| {
            if clip.compressed() {
                return Ok(clip.clone());
            }
            let options = self.options(py, clip, budget, shell, effort, None)?;
            clip.encoded(py, &options, progress)
        };
        let clips = self.clips.iter().map(Py::get).map(packed).collect::<PyResult<Vec<_>>>()?;
        self.packed(py, &clips)
    }

    /// Writes it with all its clips to a file that other programs read, whole or not at all: .glb, with its meshes, materials and images; .bvh, if
    /// it has one clip; or .condyle, which is `pack` with its defaults.
    ///
    /// Of compressed clips a .glb has the fewest keys within a 16th of the clip's bound. What the file has no place for is left out with a UserWarning, as `Clip.save` says.
    ///
    /// >>> model = condyle.open("two_joints.glb")
    /// >>> model.with_clips([model.encode("bend")]).save("small.glb")
    /// >>> condyle.open("small.glb")
    /// <condyle.Model small.glb: 2 joints, 1 clip, 20 vertices>
    fn save(slf: &Bound<'_, Self>, path: PathBuf) -> PyResult<()> {
        let (py, it) = (slf.py(), slf.get());
        let clips: Vec<_> = it.clips.iter().map(|clip| clip.get().saved()).collect();
        let data = match (Kind::of(&path)?, &clips[..]) {
            (Kind::Glb, clips) => save::glb(
                py,
                &it.name,
                &it.skeleton,
                (it.asset.as_ref(), it.unit.map(f64::from), it.turned),
                clips,
            )?,
            (Kind::Bvh, [clip]) => save::bvh(py, *clip, None)?,
            (Kind::Bvh, clips) => {
                let count = clips.len();
                return Err(Error::new_err(format!(
                    "a BVH holds one clip, and {} has {count}; clips[0].save(...) writes the first",
                    it.name
                )));
            }
            (Kind::Condyle, _) => slf.call_method0("pack")?.extract::<Vec<u8>>()?,
        };
        save::write(&path, &data)
    }

    /// What a pickle of a model with clips as authored is read by: `data` is what the model is beside these.
    #[staticmethod]
    fn _from_parts(py: Python<'_>, data: &[u8], name: &str, clips: Vec<Bound<'_, Clip>>) -> PyResult<Self> {
        let of_bytes = py.import("condyle")?.getattr("from_bytes")?;
        let model = of_bytes.call1((PyBytes::new(py, data), name))?;
        model.cast::<Self>()?.get().with_clips(py, clips)
    }

    /// The same model with these clips of its skeleton in place of its own, to be packed, compared or handed on.
    ///
    /// >>> model = condyle.open("two_joints.glb")
    /// >>> coarse = model.with_clips([model.encode("bend", 0.05)])
    /// >>> condyle.compare(model, coarse)[0].worst < 0.05
    /// True
    #[pyo3(signature = (clips))]
    fn with_clips(&self, py: Python<'_>, clips: Vec<Bound<'_, Clip>>) -> PyResult<Self> {
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

    /// The same skeleton, clips and meshes to the bit: the bytes of what `pack` leaves as it is, and the clips if some are as authored. `problems` are
    /// those of what is written.
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

    /// Pictures of it: (H, W, 3) of uint8 at one of `times`, or (T, H, W, 3) at several, all through one camera that keeps the whole clip in view. Without
    /// `times` the clip's start is drawn, without a clip the pose at rest. A notebook shows what comes out, and its `save` writes a file.
    ///
    /// `size` is width and height in pixels; `yaw` and `pitch` say in degrees how far around the character from its front towards its left the
    /// camera is, and how far it looks down. `skeleton` draws the joints over the mesh, `bounds` and `hitboxes` what is around it; `skinning` is "linear" or
    /// "dual". `clip` and `progress` are as in `joints` and `skin`; what has no meshes is drawn as its bones. Images that cannot be drawn are warned of. The
    /// picture's `fps` is one by the mean step between `times`.
    ///
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

    /// A contact sheet of `count` evenly spaced moments of a clip, each of `size` and labelled with its time: (H, W, 3). The rest is as in `render`; `progress` has a step for each of them.
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

/// A clip, times, where to write and how many threads.
type Asked<'a, 'py> =
    (&'a Bound<'py, PyAny>, &'a Bound<'py, PyAny>, Option<&'a Bound<'py, PyAny>>, Option<i64>);

impl Model {
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

    /// The bytes of a file .condyle with these clips, which are compressed.
    fn packed<'py>(&self, py: Python<'py>, clips: &[Clip]) -> PyResult<Bound<'py, PyBytes>> {
        let mut writer = ContainerWriter::default();
        // In what folder it was is nobody's business.
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

    /// The clip that is meant, of this skeleton.
    fn clip<'py>(&self, clip: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, Clip>>> {
        let py = clip.py();
        if clip.is_none() {
            return Ok(None);
        }
        if let Ok(clip) = clip.cast::<Clip>() {
            self.check(clip.get())?;
            return Ok(Some(clip.clone()));
        }
        let count = self.clips.len();
        let found = if let Ok(name) = clip.extract::<String>() {
            let found = self.clips.iter().find(|clip| clip.get().name == name);
            found.ok_or_else(|| {
                let names: Vec<_> = self.clips.iter().map(|clip| format!("{:?}", clip.get().name)).collect();
                Error::new_err(format!(
                    "{} has no clip {name:?}, one of {} is wanted",
                    self.name,
                    names.join(", ")
                ))
            })?
        } else if let Ok(index) = clip.extract::<i64>() {
            let at = usize::try_from(if index < 0 { index + count as i64 } else { index });
            let found = at.ok().and_then(|at| self.clips.get(at));
            found.ok_or_else(|| PyIndexError::new_err(format!("clip {index} of {count}")))?
        } else {
            let kind = clip.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "clip is a {kind}, an index, a name, a Clip or None is wanted"
            )));
        };
        Ok(Some(found.bind(py).clone()))
    }

    /// To be drawn.
    fn drawn<'a>(&'a self, motion: Option<&'a ModelClip>) -> render::Drawn<'a> {
        let motion = motion.map(|motion| motion as &(dyn PoseSource + Sync));
        render::Drawn { name: &self.name, skeleton: &self.skeleton, asset: self.asset.as_deref(), motion }
    }

    /// The index of one of its own clips; none for None.
    pub(crate) fn own_clip(&self, clip: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let Some(clip) = self.clip(clip)? else { return Ok(None) };
        let found = self.clips.iter().position(|own| own.is(&clip));
        let other = || {
            Error::new_err(format!(
                "{:?} is none of the clips of {}; give an index or a name, or compare its with_clips(...)",
                clip.get().name,
                self.name
            ))
        };
        found.map(Some).ok_or_else(other)
    }

    /// Its meshes, or its joints, and its clips, to be compared with those of another model.
    pub(crate) fn subject(&self) -> Result<Subject<'_>, condyle_compare::Error> {
        let clips = self.clips.iter().map(Py::get).map(|clip| {
            condyle_compare::Clip::new(&clip.motion.clip).named(&*clip.name).within(clip.motion.shell)
        });
        match &self.asset {
            Some(asset) => Subject::new(&*self.name, asset, clips.collect()),
            None => Ok(Subject::of_joints(&*self.name, &self.skeleton, clips.collect())),
        }
    }

    /// An error if the clip is for another skeleton.
    fn check(&self, clip: &Clip) -> PyResult<()> {
        if Arc::ptr_eq(&clip.skeleton, &self.skeleton)
            || clip.skeleton.fingerprint() == self.skeleton.fingerprint()
        {
            return Ok(());
        }
        let name = &clip.name;
        Err(Error::new_err(format!(
            "the clip {name:?} is for a skeleton of other joints than that of {}: their names or parents differ",
            self.name
        )))
    }

    /// What moves the joints; none for the pose at rest.
    fn motion(&self, clip: &Bound<'_, PyAny>) -> PyResult<Option<Arc<ModelClip>>> {
        let Some(clip) = self.clip(clip)? else { return Ok(None) };
        Ok(Some(Arc::clone(&clip.get().motion)))
    }

    /// So many numbers of each joint's model matrix at each moment.
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

    /// For a clip within a budget at every vertex, or without meshes around every joint.
    fn options(
        &self,
        py: Python<'_>,
        clip: &Clip,
        budget: f32,
        shell: Option<f32>,
        effort: &str,
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
        options.effort = effort_of(effort)?;
        options.rate = rate;
        Ok(options)
    }
}
