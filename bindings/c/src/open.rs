//! Opening of files.

use std::ffi::{CString, c_char};

use condyle_base::problem::{Problem, Severity};
use runtime::container::{Container, EntryKind};
use runtime::sampling::AnyClip;

use crate::clip::condyle_clip;
use crate::guard::{free, guard};
use crate::mesh::condyle_mesh;
use crate::numbers::{
    CONDYLE_SEVERITY_ERROR, CONDYLE_SEVERITY_NOTE, CONDYLE_SEVERITY_WARNING, condyle_severity,
};
use crate::skeleton::condyle_skeleton;
use crate::status::{
    CONDYLE_INVALID_FILE, CONDYLE_NOT_FOUND, CONDYLE_UNREADABLE, Fault, condyle_error, condyle_status,
};
use crate::text::c_text;
use crate::types::is_shared;

/// Contents of a file: a skeleton, and any number of clips and meshes.
///
/// Never changes: any number of threads may use it. `condyle_model_free` frees everything that its functions
/// return.
pub struct condyle_model {
    pub(crate) skeleton: condyle_skeleton,
    clips: Vec<condyle_clip>,
    pub(crate) meshes: Vec<condyle_mesh>,
    problems: Vec<[CString; 3]>,
    severities: Vec<Severity>,
    name: CString,
    pub(crate) unit: f64,
    /// Document without its clips, which the encoder and springs need.
    #[cfg(feature = "files")]
    #[cfg_attr(not(any(feature = "encode", feature = "solve")), expect(dead_code, reason = "used by them"))]
    pub(crate) asset: Option<condyle_gltf::Asset>,
}

const _: () = is_shared::<condyle_model>();

/// Options of `condyle_open`. `CONDYLE_OPEN_OPTIONS` has the defaults.
#[repr(C)]
pub struct condyle_open_options {
    /// Size of this structure: `CONDYLE_OPEN_OPTIONS` sets it.
    pub size: usize,
    /// Name of the model, if a .condyle file holds several; otherwise null.
    pub model: *const c_char,
    /// Metres per unit of the file, or 0 if the file states it. Coordinates do not change.
    pub unit: f64,
    /// 1 rotates a file with +Z up to +Y up, otherwise 0.
    pub z_up: u32,
}

/// Properties of a model. Pointers live as long as the model.
#[repr(C)]
pub struct condyle_model_info {
    /// Size of this structure. Set it before the call.
    pub size: usize,
    /// Path of the file, or the name that the caller passed; UTF-8.
    pub name: *const c_char,
    /// Number of clips.
    pub clip_count: usize,
    /// Number of meshes.
    pub mesh_count: usize,
    /// Number of problems that were repaired.
    pub problem_count: usize,
    /// Metres per unit, or 0 if unknown.
    pub unit: f64,
}

/// Problem of a file that was repaired. Pointers live as long as the model.
#[repr(C)]
pub struct condyle_problem {
    /// Severity.
    pub severity: condyle_severity,
    /// Place in the file, for example a JSON pointer; UTF-8.
    pub place: *const c_char,
    /// Value found, and value expected.
    pub what: *const c_char,
    /// Handling of the problem.
    pub action: *const c_char,
}

/// Options as the library takes them.
struct Asked<'a> {
    model: Option<&'a str>,
    unit: Option<f64>,
    z_up: bool,
}

impl<'a> Asked<'a> {
    fn new(options: *const condyle_open_options) -> Result<Self, Fault> {
        if options.is_null() {
            return Ok(Self { model: None, unit: None, z_up: false });
        }
        let it = sized!(options);
        let model = if it.model.is_null() { None } else { Some(text!(it.model, "options->model")) };
        // 0 stands for "not set"; the library checks other values.
        let unit = (it.unit != 0.0).then_some(it.unit);
        let z_up = flag("options->z_up", it.z_up)?;
        Ok(Self { model, unit, z_up })
    }
}

/// Value of a 0 or 1 argument.
pub(crate) fn flag(what: &str, value: u32) -> Result<bool, Fault> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(crate::status::unknown(what, value, "0 or 1")),
    }
}

/// Opens a file: .glb, .gltf, .vrm, .vrma, .condyle, .bvh or .npz; with the runtime library, .condyle only.
/// Free the model with `condyle_model_free`.
///
/// `path` is UTF-8. `options` may be null.
///
/// Errors: `CONDYLE_UNREADABLE`; `CONDYLE_INVALID_FILE`, whose text lists the problems;
/// `CONDYLE_UNSUPPORTED` for a format that this build cannot read; `CONDYLE_NOT_FOUND` for
/// `options->model`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_open(
    path: *const c_char,
    options: *const condyle_open_options,
    model: *mut *mut condyle_model,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(model);
        let (path, asked) = (text!(path), Asked::new(options)?);
        give!(model, open(path, None, &asked)?);
        Ok(())
    })
}

/// Opens the bytes of a file, which are copied. External files of a .gltf are not found.
///
/// `name` appears in messages, and its extension helps to recognise the format.
///
/// Errors: those of `condyle_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_open_memory(
    name: *const c_char,
    bytes: *const u8,
    byte_count: usize,
    options: *const condyle_open_options,
    model: *mut *mut condyle_model,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(model);
        let (name, asked) = (text!(name), Asked::new(options)?);
        give!(model, open(name, Some(elements!(bytes, byte_count)), &asked)?);
        Ok(())
    })
}

/// Frees a model with its skeleton, clips and meshes. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_model_free(model: *mut condyle_model) {
    free(model);
}

/// Writes the properties of a model to `info`. Set `info->size` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_model_get_info(
    model: *const condyle_model,
    info: *mut condyle_model_info,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let it = shared!(model);
        let found = condyle_model_info {
            size: size_of::<condyle_model_info>(),
            name: it.name.as_ptr(),
            clip_count: it.clips.len(),
            mesh_count: it.meshes.len(),
            problem_count: it.problems.len(),
            unit: it.unit,
        };
        put_sized!(info, found);
        Ok(())
    })
}

/// Writes the skeleton of a model to `skeleton`. It lives as long as the model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_model_get_skeleton(
    model: *const condyle_model,
    skeleton: *mut *const condyle_skeleton,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        put!(skeleton, &raw const shared!(model).skeleton);
        Ok(())
    })
}

/// Writes a clip of a model to `clip`. It lives as long as the model.
///
/// Errors: `CONDYLE_NOT_FOUND` if there is no clip `index`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_model_get_clip(
    model: *const condyle_model,
    index: usize,
    clip: *mut *const condyle_clip,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        put!(clip, at(&shared!(model).clips, "clip", index)?);
        Ok(())
    })
}

/// Writes the first clip with this name to `clip`. It lives as long as the model.
///
/// Errors: `CONDYLE_NOT_FOUND`. The text lists the names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_model_find_clip(
    model: *const condyle_model,
    name: *const c_char,
    clip: *mut *const condyle_clip,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(clip);
        let (it, name) = (shared!(model), text!(name));
        let found = it.clips.iter().find(|it| it.clip.name() == name);
        let missing = || {
            let names: Vec<_> = it.clips.iter().map(|it| format!("{:?}", it.clip.name())).collect();
            let text = format!("no clip {name:?}: the file has {}", names.join(", "));
            Fault::Other(CONDYLE_NOT_FOUND, text)
        };
        put!(clip, found.ok_or_else(missing)?);
        Ok(())
    })
}

/// Writes a mesh of a model to `mesh`. It lives as long as the model.
///
/// Errors: `CONDYLE_NOT_FOUND` if there is no mesh `index`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_model_get_mesh(
    model: *const condyle_model,
    index: usize,
    mesh: *mut *const condyle_mesh,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        put!(mesh, at(&shared!(model).meshes, "mesh", index)?);
        Ok(())
    })
}

/// Writes a problem that was repaired to `problem`.
///
/// Errors: `CONDYLE_NOT_FOUND` if there is no problem `index`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_model_get_problem(
    model: *const condyle_model,
    index: usize,
    problem: *mut condyle_problem,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let it = shared!(model);
        let [place, what, action] = at(&it.problems, "problem", index)?;
        let severity = match at(&it.severities, "problem", index)? {
            Severity::Error => CONDYLE_SEVERITY_ERROR,
            Severity::Warning => CONDYLE_SEVERITY_WARNING,
            Severity::Note => CONDYLE_SEVERITY_NOTE,
        };
        let (place, what, action) = (place.as_ptr(), what.as_ptr(), action.as_ptr());
        put!(problem, condyle_problem { severity, place, what, action });
        Ok(())
    })
}

fn at<'a, T>(list: &'a [T], what: &str, index: usize) -> Result<&'a T, Fault> {
    let missing = || Fault::Other(CONDYLE_NOT_FOUND, format!("{what} {index}: there are {}", list.len()));
    list.get(index).ok_or_else(missing)
}

/// Error with all problems, one per line.
#[cfg(feature = "files")]
fn invalid(name: &str, problems: &[Problem]) -> Fault {
    let lines: String = problems.iter().map(|problem| format!("\n  {problem}")).collect();
    Fault::Other(CONDYLE_INVALID_FILE, format!("{name} cannot be used{lines}"))
}

/// Meshes of a container.
fn container_meshes(
    name: &str,
    bytes: &[u8],
    which: Option<&str>,
    skeleton: &runtime::Skeleton,
) -> Result<Vec<condyle_mesh>, Fault> {
    let container = Container::from_bytes(bytes)?;
    let model = chosen(name, &container, which)?;
    let entries = container.of_model(EntryKind::Mesh, model);
    let meshes = entries.map(|entry| {
        let mesh = container.mesh(entry.index, skeleton)?;
        condyle_mesh::new(entry.name, mesh, skeleton.joint_count())
    });
    Ok(meshes.collect::<Result<_, _>>()?)
}

/// Skeleton entry of the model with this name, or of the only one.
fn chosen(name: &str, container: &Container<'_>, which: Option<&str>) -> Result<usize, Fault> {
    let models: Vec<_> = container.entries().filter(|it| it.kind == EntryKind::Skeleton).collect();
    let names = || models.iter().map(|it| format!("{:?}", it.name)).collect::<Vec<_>>().join(", ");
    match (which, &models[..]) {
        (None, [one]) => Ok(one.index),
        (None, []) => Err(Fault::Other(CONDYLE_INVALID_FILE, format!("{name} holds no models"))),
        (None, _) => {
            let text = format!("{name} holds several models; set options->model to one of {}", names());
            Err(Fault::Other(CONDYLE_NOT_FOUND, text))
        }
        (Some(which), all) => all.iter().find(|it| it.name == which).map(|it| it.index).ok_or_else(|| {
            let text = format!("{name} has no model {which:?}; options->model must be one of {}", names());
            Fault::Other(CONDYLE_NOT_FOUND, text)
        }),
    }
}

fn read(path: &str) -> Result<Vec<u8>, Fault> {
    std::fs::read(path).map_err(|error| Fault::Other(CONDYLE_UNREADABLE, format!("{path}: {error}")))
}

#[cfg(feature = "files")]
fn open(name: &str, bytes: Option<&[u8]>, asked: &Asked<'_>) -> Result<condyle_model, Fault> {
    use condyle_io::{Format, Options};

    let options = Options { model: asked.model, unit: asked.unit, z_up: asked.z_up, ..Options::default() };
    let opened = match bytes {
        Some(bytes) => condyle_io::from_bytes(name, bytes, &options),
        None => condyle_io::open(name, &options),
    };
    let mut model = opened.map_err(|error| failed(name, &error))?;
    let (unit, problems) = (model.unit.unwrap_or(0.0), std::mem::take(&mut model.problems));
    let skeleton = model.skeleton.clone();
    let is_container = model.format == Format::Container;
    let mut clips: Vec<AnyClip<'static>> = Vec::new();
    for it in std::mem::take(&mut model.clips) {
        clips.push(it.clip);
    }
    let asset = model.into_asset().map_err(|refused| invalid(name, &refused.problems))?;
    let asset = asset.map(|(asset, _)| asset);
    let meshes = match &asset {
        Some(asset) => {
            let placed = asset.placed_meshes()?;
            let joints = skeleton.joint_count();
            placed.map(|(name, mesh)| condyle_mesh::new(name, mesh, joints)).collect::<Result<_, _>>()?
        }
        None if is_container => match bytes {
            Some(bytes) => container_meshes(name, bytes, asked.model, &skeleton)?,
            None => container_meshes(name, &read(name)?, asked.model, &skeleton)?,
        },
        None => Vec::new(),
    };
    Ok(condyle_model { asset, ..condyle_model::new(name, skeleton, clips, meshes, &problems, unit) })
}

/// Status and text of an error of `condyle-io`.
#[cfg(feature = "files")]
fn failed(name: &str, error: &condyle_io::OpenError) -> Fault {
    use condyle_io::{Misfit, OpenError};

    match error {
        OpenError::Unreadable { error, .. } => Fault::Other(CONDYLE_UNREADABLE, format!("{name}: {error}")),
        OpenError::Misfit { misfit: Misfit::SeveralModels(names), .. } => {
            let text =
                format!("{name} holds several models; set options->model to one of {}", names.join(", "));
            Fault::Other(CONDYLE_NOT_FOUND, text)
        }
        OpenError::Misfit { misfit: Misfit::NoSuchModel(wanted, names), .. } => {
            let text = format!("{name} has no model {wanted:?}; it has {}", names.join(", "));
            Fault::Other(CONDYLE_NOT_FOUND, text)
        }
        OpenError::Misfit { .. } => Fault::Other(crate::status::CONDYLE_INVALID_ARGUMENT, error.to_string()),
        other => invalid(name, &other.problems()),
    }
}

#[cfg(not(feature = "files"))]
fn open(name: &str, bytes: Option<&[u8]>, asked: &Asked<'_>) -> Result<condyle_model, Fault> {
    use crate::status::CONDYLE_UNSUPPORTED;

    let file;
    let bytes = match bytes {
        Some(bytes) => bytes,
        None => {
            file = read(name)?;
            &file
        }
    };
    let container = Container::from_bytes(bytes).map_err(|error| match error {
        runtime::Error::Magic { .. } => {
            let text = format!("{name} is not a .condyle file, and this build reads no others");
            Fault::Other(CONDYLE_UNSUPPORTED, text)
        }
        error => Fault::Other(CONDYLE_INVALID_FILE, format!("{name}: {error}")),
    })?;
    if asked.z_up {
        let text = "options->z_up: this build cannot rotate files; rotate them before packing".to_owned();
        return Err(Fault::Other(CONDYLE_UNSUPPORTED, text));
    }
    let at = chosen(name, &container, asked.model)?;
    let skeleton = container.skeleton(at)?;
    let mut clips = Vec::new();
    for entry in container.of_model(EntryKind::Clip, at) {
        let clip = container.clip(entry.index)?.into_owned();
        let (found, needed) = (clip.joint_count(), skeleton.joint_count());
        runtime::Error::check_len("clip of the file", found, needed)?;
        clips.push(AnyClip::compressed(entry.name.to_owned(), clip));
    }
    let meshes = container_meshes(name, bytes, asked.model, &skeleton)?;
    let unit = asked.unit.or_else(|| container.unit(at).map(f64::from)).unwrap_or(0.0);
    Ok(condyle_model::new(name, skeleton, clips, meshes, &[], unit))
}

impl condyle_model {
    fn new(
        name: &str,
        skeleton: runtime::Skeleton,
        clips: Vec<AnyClip<'static>>,
        meshes: Vec<condyle_mesh>,
        problems: &[Problem],
        unit: f64,
    ) -> Self {
        let texts = problems.iter().map(|it| [&it.place, &it.what, &it.action].map(|text| c_text(text)));
        Self {
            skeleton: condyle_skeleton::new(skeleton),
            clips: clips.into_iter().map(condyle_clip::new).collect(),
            meshes,
            problems: texts.collect(),
            severities: problems.iter().map(|it| it.severity).collect(),
            name: c_text(name),
            unit,
            #[cfg(feature = "files")]
            asset: None,
        }
    }
}
