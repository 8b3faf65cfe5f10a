//! Where errors are measured, and what they are.

use alloc::vec;
use alloc::vec::Vec;

use super::algebra::{Matrix, length, subtract};
use super::{Job, Shell, search, source};
use crate::math::{ROUNDED, normalize, quats};
use crate::sample::sample_portably;
use crate::{Clip, Error, Pose, Rigid, Skeleton, Skin, SkinnedMesh, Transform64, sample_set};

/// The greatest error of a joint's points.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JointError {
    /// The distance, in the skeleton's units.
    pub error: f32,
    /// When, in seconds.
    pub seconds: f32,
    /// Which point of the joint's shell.
    pub point: usize,
}

/// What a decoded clip is off by: distances in model space, in the skeleton's units; in the portable mode, so that it is the same everywhere.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    /// The greatest of all, at the frames and where they were held between them.
    pub error_max: f32,
    /// 99 of 100 joints are nearer to their places, counted at each frame.
    pub error_p99: f32,
    /// The greatest between the frames; 0 if they were held at the frames only.
    pub error_between_max: f32,
    /// The joint that has the greatest.
    pub joint: usize,
    /// When, in seconds.
    pub seconds: f32,
    /// Of each joint.
    pub joints: Vec<JointError>,
    /// The greatest at each frame.
    pub frames: Vec<f32>,
    /// The greatest error of a morph weight or a named value.
    pub value_error_max: f32,
}

/// The points of each joint, in its own space.
pub(super) fn shell(skeleton: &Skeleton, shell: &Shell) -> Result<Vec<Vec<[f64; 3]>>, Error> {
    let count = skeleton.joint_count();
    match shell {
        Shell::Distance(distance) => {
            if !distance.is_finite() || *distance <= 0.0 {
                return Err(Error::NotFinite { what: "options", at: 2 });
            }
            Ok(along_axes(skeleton, f64::from(*distance)))
        }
        Shell::Points(points) => {
            Error::check_len("the shell", points.len(), count)?;
            for (at, points) in points.iter().enumerate() {
                if !points.iter().flatten().all(|v| v.is_finite()) {
                    return Err(Error::NotFinite { what: "the shell", at });
                }
            }
            Ok(points.iter().map(|points| points.iter().map(|p| p.map(f64::from)).collect()).collect())
        }
    }
}

/// Model matrices of the rest pose.
fn rest(skeleton: &Skeleton) -> Vec<Matrix> {
    let mut model: Vec<Matrix> = Vec::with_capacity(skeleton.joint_count());
    for (joint, t) in skeleton.rest().transforms().enumerate() {
        let local = Matrix::new(&t.into());
        let parent = skeleton.parent(joint as u16).map(|p| model[usize::from(p)]);
        model.push(parent.map_or(local, |parent| parent.multiply(&local)));
    }
    model
}

/// How far the joints of the rest pose are from the origin, and their points from them.
pub(super) fn extent(skeleton: &Skeleton, shell: &[Vec<[f64; 3]>]) -> f64 {
    let model = rest(skeleton);
    let points = model.iter().zip(shell).flat_map(|(m, points)| points.iter().map(|&p| length(m.point(p))));
    model.iter().map(|m| length(m.origin)).chain(points).fold(0.0, f64::max)
}

/// Three points at a distance in the model's space, in the rest pose.
fn along_axes(skeleton: &Skeleton, distance: f64) -> Vec<Vec<[f64; 3]>> {
    let of_joint = |m: &Matrix| {
        (0..3)
            .filter_map(|axis| {
                let size = length([m.linear[0][axis], m.linear[1][axis], m.linear[2][axis]]);
                let mut point = [0.0; 3];
                point[axis] = distance / size;
                (size > 0.0 && point[axis].is_finite()).then_some(point)
            })
            .collect()
    };
    rest(skeleton).iter().map(of_joint).collect()
}

/// See [`Shell::of_meshes`].
pub(super) fn shell_of_meshes<'a>(
    skeleton: &Skeleton,
    meshes: impl IntoIterator<Item = (&'a SkinnedMesh, &'a Skin)>,
    distance: f32,
) -> Result<Vec<Vec<[f32; 3]>>, Error> {
    let count = skeleton.joint_count();
    // For each joint the farthest vertex each way along the axes and the diagonals.
    let mut farthest: Vec<Vec<(f32, [f32; 3])>> = vec![Vec::new(); count];
    for (mesh, skin) in meshes {
        let bound = mesh.influences().joint_bound();
        if bound > skin.joints().len() {
            let found = bound - 1;
            return Err(Error::Index {
                what: "the joints of a mesh",
                at: 0,
                found,
                count: skin.joints().len(),
            });
        }
        if let Some((at, &joint)) = skin.joints().iter().enumerate().find(|(_, j)| usize::from(**j) >= count)
        {
            return Err(Error::Index { what: "the joints of a skin", at, found: joint.into(), count });
        }
        let (starts, joints, _) = mesh.influences().as_slices();
        for (vertex, position) in mesh.vertices().positions.iter().enumerate() {
            for &own in &joints[starts[vertex] as usize..starts[vertex + 1] as usize] {
                let own = usize::from(own);
                let local = skin.inverse_bind()[own].transform_point(*position);
                keep_farthest(&mut farthest[usize::from(skin.joints()[own])], local);
            }
        }
    }
    let bare = along_axes(skeleton, distance.into());
    let points = farthest.into_iter().zip(bare).map(|(far, bare)| {
        if far.is_empty() {
            return bare.into_iter().map(|p| p.map(|v| v as f32)).collect();
        }
        let mut points: Vec<[f32; 3]> = far.into_iter().map(|(_, p)| p).collect();
        points.sort_by(|a, b| a.partial_cmp(b).unwrap_or(core::cmp::Ordering::Equal));
        points.dedup();
        points
    });
    Ok(points.collect())
}

/// Thirteen ways, and back.
const WAYS: usize = 26;

fn keep_farthest(farthest: &mut Vec<(f32, [f32; 3])>, point: [f32; 3]) {
    if !point.iter().all(|v| v.is_finite()) {
        return;
    }
    if farthest.is_empty() {
        farthest.resize(WAYS, (f32::NEG_INFINITY, point));
    }
    for (way, far) in farthest.iter_mut().enumerate() {
        // The 27 combinations of -1, 0 and 1, without the middle one.
        let code = if way < 13 { way } else { way + 1 };
        let along: f32 =
            (0..3).map(|c| point[c] * (code / 3_usize.pow(c as u32) % 3) as f32 - point[c]).sum();
        if along > far.0 {
            *far = (along, point);
        }
    }
}

/// Decodes a clip at all moments where errors are held, and compares.
pub(super) fn measure(job: &Job<'_>, clip: &Clip<'_>) -> Result<Measured, Error> {
    let skeleton = job.skeleton;
    let count = skeleton.joint_count();
    let mut pose = Pose::rest(skeleton);
    let mut measured = Measured { joints: vec![JointError::default(); count], ..Measured::default() };
    let mut at_frames: Vec<f32> = Vec::with_capacity((job.frames + 1) * count);
    // Some frames at a time, so that a long clip takes no more memory than a short one.
    const CHUNK: usize = 64;
    let mut first = 0;
    loop {
        let frames = (job.frames - first).min(CHUNK);
        // What the decoder is asked for is an f32, and a joint that turns fast is elsewhere a rounding later.
        let seconds: Vec<f64> = job.seconds(first, frames).iter().map(|&s| (s as f32).into()).collect();
        let source: Vec<Vec<Transform64>> =
            (0..count).map(|j| source::joint(job.clip, skeleton, j, &job.tracks[j], &seconds)).collect();
        let model = search::place_all(&job.joints, &source);
        let motion: Vec<(Matrix, Matrix)> = seconds.iter().map(|&at| motion(job, clip, at)).collect();
        let mut decoded: Vec<Matrix> = Vec::with_capacity(count);
        let is_last = first + frames == job.frames;
        for (moment, &at) in seconds.iter().enumerate() {
            if moment == frames * job.moments && !is_last {
                // The first one of the next chunk.
                break;
            }
            sample_portably(clip, skeleton, at as f32, &mut pose)?;
            decoded.clear();
            let mut greatest = 0.0_f64;
            for (j, t) in pose.transforms().enumerate() {
                let mut local = Transform64::from(t);
                if (local.rotation.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() > ROUNDED {
                    // A rest pose of another length, which the authored clip has too.
                    normalize(&mut local.rotation);
                }
                let local = Matrix::new(&local);
                let joint = &job.joints[j];
                let placed = joint.parent.map_or(local, |p| decoded[p].multiply(&local));
                decoded.push(placed);
                let mut own = 0.0_f64;
                for (point, &p) in joint.shell.iter().enumerate() {
                    let (got, want) = &motion[moment];
                    let off =
                        length(subtract(got.point(placed.point(p)), want.point(model[j][moment].point(p))));
                    own = own.max(off);
                    if off as f32 > measured.joints[j].error {
                        measured.joints[j] = JointError { error: off as f32, seconds: at as f32, point };
                    }
                }
                greatest = greatest.max(own);
                if moment % job.moments == 0 {
                    at_frames.push(own as f32);
                }
            }
            if moment % job.moments == 0 {
                measured.frames.push(greatest as f32);
            } else {
                measured.error_between_max = measured.error_between_max.max(greatest as f32);
            }
            measure_values(job, clip, at, &mut measured)?;
        }
        first += frames;
        if is_last {
            break;
        }
    }
    for (joint, error) in measured.joints.iter().enumerate() {
        if error.error > measured.error_max {
            (measured.error_max, measured.joint, measured.seconds) = (error.error, joint, error.seconds);
        }
    }
    let ninety_nine = at_frames.len() * 99 / 100;
    if ninety_nine < at_frames.len() {
        let (_, p99, _) = at_frames.select_nth_unstable_by(ninety_nine, f32::total_cmp);
        measured.error_p99 = *p99;
    }
    Ok(measured)
}

/// How the character as a whole is moved, decoded and as taken out of the clip.
fn motion(job: &Job<'_>, clip: &Clip<'_>, seconds: f64) -> (Matrix, Matrix) {
    let matrix =
        |Rigid { rotation, translation }| Matrix { linear: quats::rows(rotation), origin: translation };
    let Some(motion) = &job.motion else { return (Matrix::IDENTITY, Matrix::IDENTITY) };
    (matrix(clip.motion_at(seconds)), matrix(motion.at(job, seconds)))
}

fn measure_values(job: &Job<'_>, clip: &Clip<'_>, at: f64, measured: &mut Measured) -> Result<(), Error> {
    for (set, track) in job.sets.iter().zip(&job.set_tracks) {
        let mut values = vec![0.0; set.width];
        sample_set(clip, set.target, at as f32, &mut values)?;
        for (c, &value) in values.iter().enumerate() {
            let off = (source::component(job.clip, track, c, at) - f64::from(value)).abs() as f32;
            measured.value_error_max = measured.value_error_max.max(off);
        }
    }
    Ok(())
}
