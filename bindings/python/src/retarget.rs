//! Motion of one humanoid on another one.

use std::collections::BTreeMap;
use std::sync::Arc;

use condyle::sampling::PoseSource;
use condyle::{Pose, Skeleton};
use condyle_io::ModelClip;
use condyle_io::distinct;
use condyle_retarget::clip::{ClipOptions, clip as whole_clip, frame_times};
use condyle_retarget::rig::{Found, Hints, Role, find};
use condyle_retarget::{Certificate, Plan, PlanOptions, Ratio};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::clip::Clip;
use crate::errors::{Error, refused, warn};
use crate::model::Model;

/// Frames per second where the keys of a clip are farther apart.
const RATE: f64 = 30.0;

/// Size of the steps: a number, or the name of a measure.
#[derive(FromPyObject)]
pub(crate) enum Steps {
    Number(f64),
    Name(String),
}

impl Steps {
    /// Returns the ratio in the units of both models. `factor` converts a number from metres.
    fn ratio(self, factor: f64) -> PyResult<Ratio> {
        match self {
            Self::Number(number) => Ok(Ratio::Fixed(number * factor)),
            Self::Name(name) if name == "legs" => Ok(Ratio::LegsAndHips),
            Self::Name(name) if name == "hip-height" => Ok(Ratio::HipHeight),
            Self::Name(name) => Err(Error::new_err(format!(
                "ratio must be 'legs', 'hip-height' or a number above 0, got {name:?}"
            ))),
        }
    }
}

/// Find the joints of a humanoid by a map in the file, by names, and by the shape of the skeleton.
///
/// Parameters
/// ----------
/// `model` : Model
///     Model with the skeleton.
/// `map` : dict of str to str or None, optional
///     Corrections: joint names by role, with None for a role that no joint has.
///
/// Returns
/// -------
/// dict of str to str
///     Joint names by role. The roles are the humanoid bones of VRM 1.0, such as ``leftUpperArm``.
///
/// Raises
/// ------
/// Error
///     If the skeleton is not a humanoid, with the roles that have no joint.
///
/// Examples
/// --------
/// >>> try:
/// ...     condyle.rig(condyle.open("two_joints.glb"))
/// ... except condyle.Error as error:
/// ...     print("no humanoid" in str(error))
/// True
#[pyfunction]
#[pyo3(signature = (model, map=None))]
pub(crate) fn rig(
    model: &Bound<'_, Model>,
    map: Option<BTreeMap<String, Option<String>>>,
) -> PyResult<BTreeMap<&'static str, String>> {
    let (skeleton, found) = humanoid("model", model, model.get().motions().next(), map)?;
    let name = |joint: u16| skeleton.names()[usize::from(joint)].clone();
    Ok(found.humanoid.roles().map(|(role, joint)| (role.name(), name(joint))).collect())
}

/// Put the motion of one humanoid on another one, with feet that stand.
///
/// Parameters
/// ----------
/// `source` : Model
///     Model with the motion. Its rest pose, bone axes, joint names, unit and proportions may differ.
/// `target` : Model
///     Character that receives the motion.
/// `clip` : int, str, Clip or None
///     Clip of the source. None takes all clips.
/// `ratio` : float or {'legs', 'hip-height'}
///     Size of the steps: by the legs and the distance of the hips, by the height of the hips, or a multiple
///     of the source's in metres. A model without a unit counts as one in metres.
/// `hands` : bool
///     Keeps hands that are near each other so, for claps and objects in both hands.
/// `ground` : {'rest', 'clip'} or None
///     Takes the ground under the motion from its rest pose or from each clip. None takes whichever fits.
/// `source_map`, `target_map` : dict of str to str or None, optional
///     Corrections of `rig`.
///
/// Returns
/// -------
/// tuple of Model and dict
///     The target with only the retargeted clips, and the certificate of each by its name. A number is added
///     to a name that occurs earlier. A certificate has planted frames, and how far feet slide, miss their
///     place or are off their height. Lengths are in mm. A target without a unit counts as one in metres.
///
/// Raises
/// ------
/// Error
///     If a skeleton is not a humanoid, the source has no clips, or the ratio is unknown.
#[pyfunction]
#[pyo3(signature = (source, target, clip=None, *, ratio=Steps::Name("legs".into()), hands=false, ground=None, source_map=None, target_map=None))]
#[pyo3(
    text_signature = "(source, target, clip=None, *, ratio='legs', hands=False, ground=None, source_map=None, target_map=None)"
)]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn retarget<'py>(
    py: Python<'py>,
    source: &Bound<'py, Model>,
    target: &Bound<'py, Model>,
    clip: Option<&Bound<'py, PyAny>>,
    ratio: Steps,
    hands: bool,
    ground: Option<&str>,
    source_map: Option<BTreeMap<String, Option<String>>>,
    target_map: Option<BTreeMap<String, Option<String>>>,
) -> PyResult<(Model, Bound<'py, PyDict>)> {
    let (from, to) = (source.get(), target.get());
    let clips = from.asked(py, clip)?;
    if clips.is_empty() {
        return Err(Error::new_err("the source has no clips"));
    }
    let (shaped, a) = humanoid("source", source, clips.first().map(|clip| &*clip.motion), source_map)?;
    let b = humanoid("target", target, None, target_map)?.1;
    let mut options = PlanOptions::default();
    let [metres_from, metres_to] = [from, to].map(|model| f64::from(model.unit().unwrap_or(1.0)));
    options.ratio = ratio.ratio(metres_from / metres_to)?;
    options.hands = hands;
    let mut clip_options = ClipOptions::default();
    clip_options.ground_from_clip = match ground {
        None => None,
        Some("rest") => Some(false),
        Some("clip") => Some(true),
        Some(other) => {
            return Err(Error::new_err(format!("ground must be 'rest', 'clip' or None, got {other:?}")));
        }
    };
    let plan = Plan::new(&shaped, &a.humanoid, to.shared_skeleton(), &b.humanoid, &options);
    let plan = plan.map_err(refused)?;
    let certificates = PyDict::new(py);
    let mut made = Vec::new();
    let mut names: Vec<String> = clips.iter().map(|clip| clip.name.clone()).collect();
    distinct(&mut names);
    for (clip, name) in clips.into_iter().zip(names) {
        let motion = Arc::clone(&clip.motion);
        let done = py.detach(|| {
            let times = frame_times(motion.clip.borrowed(), RATE)?;
            whole_clip(&plan, &motion.clip, &times, &clip_options)
        });
        let done = done.map_err(refused)?;
        certificates.set_item(&name, certificate(py, &done.certificate.in_unit(metres_to))?)?;
        let motion = Arc::new(ModelClip::from(done.clip.with_name(&name)));
        made.push(Bound::new(py, Clip { name, skeleton: Arc::clone(to.shared_skeleton()), motion })?);
    }
    Ok((to.with_clips(py, made)?, certificates))
}

/// The certificate as a dict; ranges of frames in doubt under `doubts`.
fn certificate<'py>(py: Python<'py>, it: &Certificate) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    for (name, value) in it.table() {
        told.set_item(name, value)?;
    }
    let doubts = it.doubts.iter().map(|doubt| (doubt.first, doubt.last, doubt.why.text(), doubt.worst));
    told.set_item("doubts", doubts.collect::<Vec<_>>())?;
    Ok(told)
}

/// Finds the humanoid of a model by its map, corrections, names and shape. Where the rest pose has no shape,
/// the first frame of the motion becomes the rest pose of the returned skeleton.
fn humanoid(
    what: &str,
    model: &Bound<'_, Model>,
    motion: Option<&ModelClip>,
    map: Option<BTreeMap<String, Option<String>>>,
) -> PyResult<(Skeleton, Found)> {
    let (py, model) = (model.py(), model.get());
    let skeleton = &**model.shared_skeleton();
    let mut corrections = Vec::new();
    for (role, joint) in map.into_iter().flatten() {
        let role: Role = role.parse().map_err(|error| Error::new_err(format!("{error}")))?;
        let joint = match joint {
            None => None,
            Some(name) => Some(skeleton.joint_by_name(&name).ok_or_else(|| {
                Error::new_err(format!("{what} has no joint {name:?}, given for the role {role}"))
            })?),
        };
        corrections.push((role, joint));
    }
    let first = motion.and_then(|motion| {
        let mut pose = Pose::rest(skeleton);
        motion.pose(skeleton, motion.start(), &mut pose).ok().map(|()| pose)
    });
    let bones = model.humanoid_bones();
    let hints = Hints { loose_feet: true, pose: first.as_ref(), bones, given: corrections };
    let found = find(skeleton, &hints).map_err(|why| Error::new_err(format!("{what}: {why}")))?;
    if let Some(why) = &found.unused_bones {
        warn(py, &format!("{what}: the map in the file is not used: {why}"))?;
    }
    let rest = first.as_ref().filter(|_| found.is_posed).unwrap_or(skeleton.rest());
    Ok((skeleton.with_rest(rest).map_err(refused)?, found))
}
