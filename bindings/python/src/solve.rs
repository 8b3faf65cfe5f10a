//! Inverse kinematics on arrays of poses, one frame at a time.

use condyle::{Affine, Error as Refusal, Pose, local_to_model};
use condyle_solve::{Aim, Chain, ChainMethod, Orientation, TwoBone, Up};
use pyo3::prelude::*;

use crate::arrays::{Input, shape_text};
use crate::combine::PoseInputs;
use crate::errors::Error;
use crate::frames::{for_each_frame, thread_count};
use crate::poses::{PoseArrays, get};
use crate::skeleton::Skeleton;

/// Joint index, from an index or a name.
fn joint_of(asked: &Bound<'_, PyAny>, skeleton: &condyle::Skeleton) -> PyResult<u16> {
    if let Ok(name) = asked.extract::<String>() {
        let found = skeleton.names().iter().position(|own| *own == name);
        return found
            .map(|at| at as u16)
            .ok_or_else(|| Error::new_err(format!("no joint is named {name:?}")));
    }
    let found = asked.extract::<u16>().ok().filter(|at| usize::from(*at) < skeleton.joint_count());
    found.ok_or_else(|| {
        let (asked, count) =
            (asked.repr().map_or_else(|_| "?".into(), |it| it.to_string()), skeleton.joint_count());
        Error::new_err(format!("a joint must be a name or an index below {count}, got {asked}"))
    })
}

/// Values for all frames, or one row per frame.
struct PerFrame<'py> {
    input: Input<'py>,
    is_one: bool,
}

impl<'py> PerFrame<'py> {
    fn new<const N: usize>(name: &str, value: &Bound<'py, PyAny>, frames: &[usize]) -> PyResult<Self> {
        let input = Input::new(name, value)?;
        let each = [frames, &[N]].concat();
        let is_one = input.shape() == [N];
        if !is_one && input.shape() != each {
            return Err(input.unfit(&format!("({N},) or {}", shape_text(&each))));
        }
        input.check_finite()?;
        Ok(Self { input, is_one })
    }

    fn values<const N: usize>(&self) -> PyResult<Values<'_, N>> {
        Ok(Values { rows: self.input.values()?.as_chunks().0, is_one: self.is_one })
    }
}

struct Values<'a, const N: usize> {
    rows: &'a [[f32; N]],
    is_one: bool,
}

impl<const N: usize> Values<'_, N> {
    fn at(&self, frame: usize) -> [f32; N] {
        self.rows[if self.is_one { 0 } else { frame }]
    }
}

/// Solves each frame. `work` receives the frame's model matrices, and the pose to change.
fn solved<'py>(
    py: Python<'py>,
    skeleton: &Skeleton,
    poses: &PoseInputs<'py>,
    others: &[Option<&PerFrame<'py>>],
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
    work: impl Fn(usize, &[Affine], &mut Pose) -> Result<(), Refusal> + Sync,
) -> PyResult<Bound<'py, PyAny>> {
    let inputs: Vec<&Input<'_>> =
        poses.0.iter().chain(others.iter().flatten().map(|other| &other.input)).collect();
    let mut out = PoseArrays::new(py, out, poses.leading()?)?.apart_from(&inputs)?;
    let frames = poses.frames()?;
    let joints = skeleton.0.joint_count();
    let planes = out.planes(joints)?;
    let start = || Ok((Pose::identity(joints), vec![Affine::IDENTITY; joints]));
    for_each_frame(py, thread_count(threads)?, frames.count, planes, start, |(pose, model), frame, out| {
        frames.read(frame, pose);
        local_to_model(&skeleton.0, pose, model)?;
        work(frame, model, pose)?;
        get(pose, out);
        Ok(())
    })?;
    out.into_poses(py)
}

/// Poses of a skeleton, and the axes before the joint axis.
fn of_skeleton<'py>(
    skeleton: &Skeleton,
    poses: &Bound<'py, PyAny>,
) -> PyResult<(PoseInputs<'py>, Vec<usize>)> {
    let poses = PoseInputs::new("poses", poses)?;
    let (joints, frames) = poses.leading()?.split_last().unwrap_or((&0, &[]));
    if *joints != skeleton.0.joint_count() {
        return Err(poses.0[0].unfit(&format!("(..., {}, 4)", skeleton.0.joint_count())));
    }
    let frames = frames.to_vec();
    Ok((poses, frames))
}

/// Solve two-bone limbs: in each frame, move the end of an arm or leg to a goal, or as close as
/// possible.
///
/// Parameters
/// ----------
/// `skeleton` : Skeleton
///     Skeleton of the poses.
/// `poses` : Poses
///     Input poses, with rotations (..., J, 4).
/// `joints` : sequence of three int or str
///     Shoulder, elbow and hand, or hip, knee and foot. Each is a descendant of the previous one. The
///     first two rotate.
/// `goals` : array_like, shape (3,) or (..., 3)
///     Goal of the third joint in model space, for all frames or per frame.
/// `poles` : array_like, shape (3,) or (..., 3), optional
///     Directions in model space towards which the middle joint bends.
/// `orientations` : array_like, shape (4,) or (..., 4), optional
///     Rotations of the third joint in model space, as quaternions x, y, z, w.
/// `soft` : float
///     Last fraction of the limb's length over which it straightens gradually, for example 0.05. 0 is
///     off.
/// `weight` : float
///     Blend between the input pose (0) and the solution (1).
/// `out` : Poses, optional
///     Arrays for the result.
/// `threads` : int or None
///     Number of threads. None uses all cores.
///
/// Returns
/// -------
/// Poses
///     Solved poses in the shape of `poses`.
///
/// Examples
/// --------
/// >>> leg = condyle.Skeleton([-1, 0, 1], translations=[[0, 2, 0], [0, -1, 0], [0, -1, 0]])
/// >>> poses = condyle.two_bone(leg, leg.rest, [0, 1, 2], [0.5, 0.8, 0.2], poles=[0, 0, 1])
/// >>> bool(np.allclose(condyle.forward_kinematics(leg, *poses)[2, :, 3], [0.5, 0.8, 0.2], atol=1e-5))
/// True
#[pyfunction]
#[pyo3(signature = (skeleton, poses, joints, goals, *, poles=None, orientations=None, soft=0.0, weight=1.0, out=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn two_bone<'py>(
    py: Python<'py>,
    skeleton: &Skeleton,
    poses: &Bound<'py, PyAny>,
    joints: [Bound<'py, PyAny>; 3],
    goals: &Bound<'py, PyAny>,
    poles: Option<&Bound<'py, PyAny>>,
    orientations: Option<&Bound<'py, PyAny>>,
    soft: f32,
    weight: f32,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let (poses, frames) = of_skeleton(skeleton, poses)?;
    let [a, b, c] = &joints;
    let joints = [joint_of(a, &skeleton.0)?, joint_of(b, &skeleton.0)?, joint_of(c, &skeleton.0)?];
    let goals = PerFrame::new::<3>("goals", goals, &frames)?;
    let poles = poles.map(|it| PerFrame::new::<3>("poles", it, &frames)).transpose()?;
    let turns = orientations.map(|it| PerFrame::new::<4>("orientations", it, &frames)).transpose()?;
    let others = [Some(&goals), poles.as_ref(), turns.as_ref()];
    let goals = goals.values::<3>()?;
    let directions = poles.as_ref().map(PerFrame::values::<3>).transpose()?;
    let rotations = turns.as_ref().map(PerFrame::values::<4>).transpose()?;
    solved(py, skeleton, &poses, &others, out, threads, |frame, model, pose| {
        let reach = TwoBone {
            pole: directions.as_ref().map(|it| it.at(frame)),
            orientation: rotations.as_ref().map(|it| it.at(frame)),
            soft,
            weight,
            ..TwoBone::new(joints, goals.at(frame))
        };
        condyle_solve::two_bone(&skeleton.0, model, &reach, pose).map(|_| ())
    })
}

/// Aim a joint: in each frame, rotate it until one of its axes points at a target.
///
/// Parameters
/// ----------
/// `skeleton` : Skeleton
///     Skeleton of the poses.
/// `poses` : Poses
///     Input poses, with rotations (..., J, 4).
/// `joint` : int or str
///     Joint to rotate.
/// `axis` : sequence of three float
///     Axis to aim, in the joint's local space.
/// `targets` : array_like, shape (3,) or (..., 3)
///     Targets in model space, for all frames or per frame.
/// `origin` : sequence of three float
///     Origin of the axis in the joint's local space, such as the position of the eyes.
/// `up` : pair of (axis, direction), optional
///     Second axis in the joint's local space, and the model-space direction that it follows as closely
///     as possible. By default the joint takes the shortest rotation.
/// `weight` : float
///     Blend between the input pose (0) and the solution (1).
/// `out` : Poses, optional
///     Arrays for the result.
/// `threads` : int or None
///     Number of threads. None uses all cores.
///
/// Returns
/// -------
/// Poses
///     Solved poses in the shape of `poses`.
///
/// Examples
/// --------
/// >>> head = condyle.Skeleton([-1], names=["head"])
/// >>> poses = condyle.aim(head, head.rest, "head", [0, 0, 1], [3, 0, 0])
/// >>> condyle.to_matrices(*poses)[0, :, 2].round(6).tolist()
/// [1.0, 0.0, 0.0]
#[pyfunction]
#[pyo3(signature = (skeleton, poses, joint, axis, targets, *, origin=[0.0; 3], up=None, weight=1.0, out=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn aim<'py>(
    py: Python<'py>,
    skeleton: &Skeleton,
    poses: &Bound<'py, PyAny>,
    joint: &Bound<'py, PyAny>,
    axis: [f32; 3],
    targets: &Bound<'py, PyAny>,
    origin: [f32; 3],
    up: Option<([f32; 3], [f32; 3])>,
    weight: f32,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let (poses, frames) = of_skeleton(skeleton, poses)?;
    let joint = joint_of(joint, &skeleton.0)?;
    let targets = PerFrame::new::<3>("targets", targets, &frames)?;
    let others = [Some(&targets)];
    let places = targets.values::<3>()?;
    let up = up.map(|(axis, direction)| Up { axis, direction });
    solved(py, skeleton, &poses, &others, out, threads, |frame, model, pose| {
        let aim = Aim { origin, up, weight, ..Aim::new(joint, axis, places.at(frame)) };
        condyle_solve::aim(&skeleton.0, model, &aim, pose).map(|_| ())
    })
}

/// Solve a chain of joints: in each frame, move the end of the chain to a goal, or as close as
/// possible.
///
/// Each frame starts from its own input pose.
///
/// Parameters
/// ----------
/// `skeleton` : Skeleton
///     Skeleton of the poses.
/// `poses` : Poses
///     Input poses, with rotations (..., J, 4).
/// `joints` : sequence of int or str
///     At most 64 joints. Each is a descendant of the previous one.
/// `goals` : array_like, shape (3,) or (..., 3)
///     Goals of the last joint in model space, for all frames or per frame.
/// `orientations` : array_like, shape (4,) or (..., 4), optional
///     Rotations of the last joint in model space, as quaternions x, y, z, w.
/// `offset` : sequence of three float
///     Point that reaches the goal, in the last joint's local space.
/// `method` : "least_squares", "cyclic_descent" or "fabrik"
///     Solver.
/// `tolerance` : float
///     Distance to the goal at which the solver stops, in the units of the skeleton.
/// `iterations` : int
///     Maximum number of iterations.
/// `weight` : float
///     Blend between the input pose (0) and the solution (1).
/// `out` : Poses, optional
///     Arrays for the result.
/// `threads` : int or None
///     Number of threads. None uses all cores.
///
/// Returns
/// -------
/// Poses
///     Solved poses in the shape of `poses`.
///
/// Examples
/// --------
/// >>> tail = condyle.Skeleton([-1, 0, 1, 2], translations=[[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]])
/// >>> poses = condyle.chain(tail, tail.rest, [0, 1, 2, 3], [1, 1, 1])
/// >>> bool(np.allclose(condyle.forward_kinematics(tail, *poses)[3, :, 3], 1, atol=2e-4))
/// True
#[pyfunction]
#[pyo3(signature = (skeleton, poses, joints, goals, *, orientations=None, offset=[0.0; 3], method="least_squares", tolerance=1e-4, iterations=50, weight=1.0, out=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn chain<'py>(
    py: Python<'py>,
    skeleton: &Skeleton,
    poses: &Bound<'py, PyAny>,
    joints: Vec<Bound<'py, PyAny>>,
    goals: &Bound<'py, PyAny>,
    orientations: Option<&Bound<'py, PyAny>>,
    offset: [f32; 3],
    method: &str,
    tolerance: f32,
    iterations: i64,
    weight: f32,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let (poses, frames) = of_skeleton(skeleton, poses)?;
    let joints = joints.iter().map(|it| joint_of(it, &skeleton.0)).collect::<PyResult<Vec<_>>>()?;
    let Some(&tip) = joints.last() else {
        return Err(Error::new_err("joints is empty; pass at least one joint"));
    };
    let method = method_of(method)?;
    let iterations = u16::try_from(iterations)
        .map_err(|_| Error::new_err(format!("iterations must be 0 to 65535, got {iterations}")))?;
    let goals = PerFrame::new::<3>("goals", goals, &frames)?;
    let turns = orientations.map(|it| PerFrame::new::<4>("orientations", it, &frames)).transpose()?;
    let others = [Some(&goals), turns.as_ref()];
    let goals = goals.values::<3>()?;
    let rotations = turns.as_ref().map(PerFrame::values::<4>).transpose()?;
    solved(py, skeleton, &poses, &others, out, threads, |frame, model, pose| {
        let orientation = rotations.as_ref().map(|it| Orientation::new(it.at(frame)));
        let chain = Chain {
            offset,
            orientation,
            method,
            tolerance,
            iterations,
            weight,
            ..Chain::new(&joints, tip, goals.at(frame))
        };
        condyle_solve::chain(&skeleton.0, model, &chain, pose).map(|_| ())
    })
}

fn method_of(name: &str) -> PyResult<ChainMethod> {
    match name {
        "least_squares" => Ok(ChainMethod::LeastSquares { restarts: 4 }),
        "cyclic_descent" => Ok(ChainMethod::CyclicDescent { step: 1.0 }),
        "fabrik" => Ok(ChainMethod::Fabrik),
        _ => Err(Error::new_err(format!(
            "method must be \"least_squares\", \"cyclic_descent\" or \"fabrik\", got {name:?}"
        ))),
    }
}
