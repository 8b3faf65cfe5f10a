//! Files: whatever holds a character or a motion.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use condyle::clip::Y_UP_FROM_Z_UP;
use condyle::container::{Container, Entry, EntryKind};
use condyle::{RawClip, Skeleton};
use condyle_body::{BodyClip, BodyModel, BodyMotion, ShapedBody};
use condyle_bvh::{Bvh, ImportOptions};
use condyle_gltf::{Asset, Document};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::body::Body;
use crate::errors::{Error, Problem, unusable};
use crate::model::{Model, Opened};
use crate::motion::Motion;
use crate::progress::told_apart;

/// Why a file is refused.
type Refused = Vec<Problem>;

/// The character or the motion in a file: .glb, .gltf, .vrm, .vrma, .condyle, .bvh or .npz.
///
/// `model` names one of several in a .condyle. A .npz is a motion in AMASS's layout, of which `body` says who moves, or a body model
/// of the SMPL family, of whose mean shape this is the skeleton alone: `BodyModel` has its vertices. What was odd but could be used is in `Model.problems`; what could not be used raises
/// FileError, which has all that is wrong in its `problems`. OSError if the file is not there or cannot be read.
///
/// `unit` is how many metres a unit of the file is: `Model.unit`, which `pack` stores and `compare` measures by; numbers stay as they are. `up` is the up
/// axis of the file, "y" or "z": with "z" the motion is turned to +Y up, as files of some capture systems and AMASS need it. Of a .npz only the motion is
/// turned, as body models stand along Y at rest; a .condyle cannot be turned.
///
/// >>> model = condyle.open("two_joints.glb")
/// >>> model.clips[0].name, len(model.skeleton)
/// ('bend', 2)
/// >>> model.joints("bend", [0.0, 0.5]).shape
/// (2, 2, 3)
#[pyfunction]
#[pyo3(signature = (path, *, model=None, body=None, unit=None, up="y"))]
pub(crate) fn open(
    py: Python<'_>,
    path: PathBuf,
    model: Option<&str>,
    body: Option<Bound<'_, Body>>,
    unit: Option<f64>,
    up: &str,
) -> PyResult<Model> {
    let space = Space::new(unit, up)?;
    let body = body.as_ref().map(|it| Arc::clone(&it.get().body));
    let shown = path.display().to_string();
    let (name, model) = (shown.clone(), model.map(str::to_owned));
    let opened = told_apart(py, None, move |_| -> std::io::Result<Result<Opened, Refused>> {
        let (body, model) = (body.as_deref(), model.as_deref());
        let named = |e: std::io::Error| std::io::Error::new(e.kind(), format!("{name}: {e}"));
        if !std::fs::metadata(&path).map_err(named)?.is_file() {
            return Ok(refuse("it is no file".into()));
        }
        let mut first = Vec::new();
        std::fs::File::open(&path).and_then(|file| file.take(64).read_to_end(&mut first)).map_err(named)?;
        Ok(match Kind::of(&first, &path) {
            Kind::Container if body.is_some() => refuse(NOBODY.into()),
            Kind::Container if space.turn => refuse(TURNED.into()),
            Kind::Container => container(&name, &std::fs::read(&path).map_err(named)?, model, &space),
            _ if model.is_some() => refuse(SINGLE.into()),
            Kind::Body => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                of_body(&stem, std::fs::read(&path).map_err(named)?, body, &space)
            }
            _ if body.is_some() => refuse(NOBODY.into()),
            Kind::Bvh => Bvh::open(&path)
                .map_err(|refused| listed(&refused.problems))
                .and_then(|bvh| motion_capture(&bvh, &space)),
            Kind::Document => Asset::open(&path)
                .map_err(|refused| listed(&refused.problems))
                .and_then(|asset| document(asset, &space)),
        })
    })??;
    Model::new(py, &shown, opened.map_err(|problems| unusable(py, &shown, problems))?)
}

const SINGLE: &str = "it is a single model; model= is for a .condyle with several";
const NOBODY: &str = "it is no motion of a body; body= is for a .npz";
const TURNED: &str = "its clips are compressed and cannot be turned; up= is for the files that it is made of";

/// Unit and axes of a file.
struct Space {
    /// Metres.
    unit: Option<f64>,
    /// Whether Z is up, so that it is turned.
    turn: bool,
}

impl Space {
    fn new(unit: Option<f64>, up: &str) -> PyResult<Self> {
        if let Some(metres) = unit.filter(|metres| !(*metres > 0.0 && metres.is_finite())) {
            return Err(Error::new_err(format!("unit is {metres}, a number of metres above 0 is wanted")));
        }
        match up {
            "y" | "z" => Ok(Self { unit, turn: up == "z" }),
            _ => Err(Error::new_err(format!("up is {up:?}, \"y\" or \"z\" is wanted"))),
        }
    }

    fn told(&self, file: Option<f32>) -> Option<f32> {
        self.unit.map(|metres| metres as f32).or(file)
    }

    fn clip(&self, clip: RawClip, skeleton: &Skeleton) -> Result<RawClip, condyle::Error> {
        if self.turn { clip.turned(skeleton, Y_UP_FROM_Z_UP) } else { Ok(clip) }
    }
}

/// The character or the motion in bytes, as `open` has it of a file; what is beside a .gltf is not found.
///
/// >>> condyle.from_bytes(pathlib.Path("two_joints.glb").read_bytes())
/// <condyle.Model bytes: 2 joints, 1 clip, 20 vertices>
#[pyfunction]
#[pyo3(signature = (data, name="bytes", *, model=None, body=None, unit=None, up="y"))]
pub(crate) fn from_bytes(
    py: Python<'_>,
    data: PyBackedBytes,
    name: &str,
    model: Option<&str>,
    body: Option<Bound<'_, Body>>,
    unit: Option<f64>,
    up: &str,
) -> PyResult<Model> {
    let space = Space::new(unit, up)?;
    let body = body.as_ref().map(|it| Arc::clone(&it.get().body));
    let (shown, model) = (name.to_owned(), model.map(str::to_owned));
    let opened = told_apart(py, None, move |_| {
        let (body, model, name, data) = (body.as_deref(), model.as_deref(), &*shown, &*data);
        match Kind::of(data, Path::new(name)) {
            Kind::Container if body.is_some() => refuse(NOBODY.into()),
            Kind::Container if space.turn => refuse(TURNED.into()),
            Kind::Container => container(name, data, model, &space),
            _ if model.is_some() => refuse(SINGLE.into()),
            Kind::Body => of_body(name, data.to_vec(), body, &space),
            _ if body.is_some() => refuse(NOBODY.into()),
            Kind::Bvh => Bvh::from_slice(name, data)
                .map_err(|refused| listed(&refused.problems))
                .and_then(|bvh| motion_capture(&bvh, &space)),
            Kind::Document => {
                let read = Document::from_slice(name, data, None).and_then(Asset::from_document);
                read.map_err(|refused| listed(&refused.problems)).and_then(|asset| document(asset, &space))
            }
        }
    })?;
    Model::new(py, name, opened.map_err(|problems| unusable(py, name, problems))?)
}

/// What is in a file, by its first bytes and its name.
enum Kind {
    Container,
    Body,
    Bvh,
    Document,
}

impl Kind {
    fn of(first: &[u8], path: &Path) -> Self {
        let is_bvh = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("bvh"));
        match () {
            () if first.starts_with(b"CONDYLE\0") => Self::Container,
            () if first.starts_with(b"PK") => Self::Body,
            () if is_bvh || Bvh::recognise(&first[..first.len().min(64)]) => Self::Bvh,
            () => Self::Document,
        }
    }
}

fn listed<'a, P: 'a>(problems: &'a [P]) -> Vec<Problem>
where
    Problem: From<&'a P>,
{
    problems.iter().map(Problem::from).collect()
}

fn refuse(what: String) -> Result<Opened, Refused> {
    Err(vec![Problem::of_file(what)])
}

fn unfit(what: &str) -> impl Fn(condyle::Error) -> Refused {
    move |error| vec![Problem::of_file(format!("{what}: {error}"))]
}

fn document(mut asset: Asset, space: &Space) -> Result<Opened, Refused> {
    if space.turn && !asset.was_turned() {
        asset = asset.turned(Y_UP_FROM_Z_UP).map_err(unfit("the turned model"))?;
    }
    space.unit.map_or(Ok(()), |metres| asset.set_unit(metres)).map_err(unfit("its unit"))?;
    let clips = std::mem::take(&mut asset.clips);
    Ok(Opened {
        skeleton: Arc::new(asset.skeleton.clone()),
        clips: clips.into_iter().map(|clip| (clip.name().into(), Motion::Raw(clip))).collect(),
        problems: listed(&asset.problems),
        unit: asset.unit().map(|metres| metres as f32),
        turned: asset.was_turned(),
        asset: Some(asset),
    })
}

fn motion_capture(bvh: &Bvh, space: &Space) -> Result<Opened, Refused> {
    let options = ImportOptions::default();
    let mut skeleton = bvh.skeleton(&options).map_err(unfit("the hierarchy"))?;
    let mut clips = Vec::new();
    if bvh.frame_count() > 0 {
        let clip = bvh.clip(&options).and_then(|clip| space.clip(clip, &skeleton));
        let clip = clip.map_err(unfit("the motion"))?;
        clips.push((clip.name().into(), Motion::Raw(clip)));
    }
    if space.turn {
        skeleton = skeleton.turned(Y_UP_FROM_Z_UP).map_err(unfit("the hierarchy"))?;
    }
    Ok(Opened {
        skeleton: Arc::new(skeleton),
        asset: None,
        clips,
        problems: listed(bvh.problems()),
        unit: space.told(None),
        turned: space.turn,
    })
}

/// The motion of a body, or without one the skeleton of a body model.
fn of_body(name: &str, bytes: Vec<u8>, body: Option<&ShapedBody>, space: &Space) -> Result<Opened, Refused> {
    let refused = |refused: condyle_body::Refused| vec![Problem::from(&refused)];
    let of = |body: &ShapedBody, clips, problems| Opened {
        skeleton: Arc::new(body.skeleton().clone()),
        asset: None,
        clips,
        problems,
        unit: space.told(None),
        turned: space.turn,
    };
    let is_model = BodyModel::recognise(&bytes);
    if let Some(body) = body {
        if is_model {
            return refuse(
                "it is a body model, where the motion of one is expected: array poses is missing".into(),
            );
        }
        let motion = BodyMotion::from_bytes(name, bytes).map_err(refused)?;
        let BodyClip { clip, repairs, .. } = motion.clip(body).map_err(refused)?;
        // Body models stand along Y at rest; it is the motion that brings them to Z.
        let clip = space.clip(clip, body.skeleton()).map_err(unfit("the motion"))?;
        let problems = repairs.iter().map(Problem::from).collect();
        return Ok(of(body, vec![(clip.name().into(), Motion::Raw(clip))], problems));
    }
    if is_model {
        let model = BodyModel::from_bytes(name, bytes).map_err(refused)?;
        return Ok(of(&model.shaped(&[]).map_err(unfit("the body"))?, vec![], vec![]));
    }
    // Other faults of the file first.
    BodyMotion::from_bytes(name, bytes).map_err(refused)?;
    refuse("it is the motion of a body; body= is who moves: BodyModel(...).shaped()".into())
}

/// A model of a container with its compressed clips; with its meshes if it was kept with its document.
fn container(name: &str, bytes: &[u8], which: Option<&str>, space: &Space) -> Result<Opened, Refused> {
    let container = Container::from_bytes(bytes).map_err(unfit("the container"))?;
    let model = chosen(&container, which)?;
    let skeleton = container.skeleton(model.index).map_err(unfit("its skeleton"))?;
    let mut asset = None;
    if let Some(entry) = container.of_model(EntryKind::Document, model.index).next() {
        let bytes = container.document(entry.index).map_err(unfit("its document"))?;
        let read = Document::from_slice(name, bytes, None).and_then(Asset::from_document);
        let read = read.map_err(|refused| listed(&refused.problems))?;
        let mut own = read.on_skeleton(skeleton.clone()).map_err(unfit("its skeleton"))?;
        space.unit.map_or(Ok(()), |metres| own.set_unit(metres)).map_err(unfit("its unit"))?;
        asset = Some(own);
    }
    let mut clips = Vec::new();
    for entry in container.of_model(EntryKind::Clip, model.index) {
        let clip = container.clip(entry.index).map_err(unfit(&format!("its clip {:?}", entry.name)))?;
        let (found, needed) = (clip.joint_count(), skeleton.joint_count());
        if found != needed {
            let error = condyle::Error::Length { what: "the joints of the skeleton", found, needed };
            return Err(unfit(&format!("its clip {:?}", entry.name))(error));
        }
        clips.push((entry.name.into(), Motion::Compressed(clip.into_owned(), container.shell(entry.index))));
    }
    let problems = asset.as_ref().map(|asset| listed(&asset.problems)).unwrap_or_default();
    let unit = space.told(container.unit(model.index));
    let turned = asset.as_ref().is_some_and(Asset::was_turned);
    Ok(Opened { skeleton: Arc::new(skeleton), asset, clips, problems, unit, turned })
}

/// The model of that name, or the only one.
fn chosen<'a>(container: &Container<'a>, which: Option<&str>) -> Result<Entry<'a>, Refused> {
    let mut models: Vec<_> = container.entries().filter(|entry| entry.kind == EntryKind::Skeleton).collect();
    let names: Vec<String> = models.iter().map(|entry| format!("{:?}", entry.name)).collect();
    let what = match which {
        Some(which) => {
            if let Some(at) = models.iter().position(|entry| entry.name == which) {
                return Ok(models.swap_remove(at));
            }
            format!("it has no model {which:?}, model= takes one of {}", names.join(", "))
        }
        None if models.len() == 1 => return Ok(models.swap_remove(0)),
        None if models.is_empty() => "it holds no models".into(),
        None => format!("it holds several models, choose one with model=: {}", names.join(", ")),
    };
    Err(vec![Problem::of_file(what)])
}
