//! Where errors are measured, and what they are.

use alloc::vec;
use alloc::vec::Vec;

use super::algebra::{Matrix, Vector, add, length, subtract};
use super::{Job, SEGMENT_PLACES, Shell, search, source};
use crate::decompose::dot;
use crate::math::{is_loose, normalize, quats, sqrt_f64};
use crate::sample::sample_by;
use crate::{
    Clip, Dispatch, Error, Pose, Rigid, Skeleton, Skin, SkinnedMesh, Target, Transform64, sample_set,
};

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
    /// 99 of 100 joints are no farther from their places, counted at each frame; up to half a percent above.
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
    /// The greatest error of a morph weight or a named value, and whose it is.
    pub value_error_max: f32,
    /// What has the greatest error of a value, if any is off.
    pub value_target: Option<Target>,
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

/// Three points at a distance in the model's space, in the rest pose. What is next to nothing there, as it is hidden, is as large as the
/// largest of all.
fn along_axes(skeleton: &Skeleton, distance: f64) -> Vec<Vec<[f64; 3]>> {
    let sizes = |m: &Matrix| -> [f64; 3] {
        core::array::from_fn(|axis| length([m.linear[0][axis], m.linear[1][axis], m.linear[2][axis]]))
    };
    let model = rest(skeleton);
    let largest = model.iter().flat_map(sizes).fold(0.0, f64::max);
    let of_joint = |m: &Matrix| {
        let point = |(axis, size): (usize, f64)| {
            let mut point = [0.0; 3];
            point[axis] = distance / if size < largest / 100.0 { largest } else { size };
            point[axis].is_finite().then_some(point)
        };
        sizes(m).into_iter().enumerate().filter_map(point).collect()
    };
    model.iter().map(of_joint).collect()
}

/// See [`Shell::of_meshes`].
pub(super) fn shell_of_meshes<'a>(
    skeleton: &Skeleton,
    meshes: impl IntoIterator<Item = (&'a SkinnedMesh, &'a Skin)>,
    distance: f32,
) -> Result<Vec<Vec<[f32; 3]>>, Error> {
    let count = skeleton.joint_count();
    let meshes: Vec<(&SkinnedMesh, &Skin)> = meshes.into_iter().collect();
    for (mesh, skin) in &meshes {
        let (bound, count_of_skin) = (mesh.influences().joint_bound(), skin.joints().len());
        if bound > count_of_skin {
            let (what, found) = ("the joints of a mesh", bound - 1);
            return Err(Error::Index { what, at: 0, found, count: count_of_skin });
        }
        if let Some((at, &joint)) = skin.joints().iter().enumerate().find(|(_, j)| usize::from(**j) >= count)
        {
            return Err(Error::Index { what: "the joints of a skin", at, found: joint.into(), count });
        }
    }
    let mut clouds = vec![Cloud::default(); count];
    each_vertex(&meshes, |joint, point| clouds[joint].add(point));
    let ways: Vec<[Vector; WAYS]> = clouds.iter().map(Cloud::ways).collect();
    // For each joint and way the farthest vertex.
    let mut farthest: Vec<Vec<(f64, [f32; 3])>> = vec![Vec::new(); count];
    each_vertex(&meshes, |joint, point| {
        let far = &mut farthest[joint];
        if far.is_empty() {
            far.resize(WAYS, (f64::NEG_INFINITY, point));
        }
        for (far, &way) in far.iter_mut().zip(&ways[joint]) {
            let along = dot(way, point.map(f64::from));
            if along > far.0 {
                *far = (along, point);
            }
        }
    });
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

/// Every vertex that is finite in the space of every joint that it follows.
fn each_vertex(meshes: &[(&SkinnedMesh, &Skin)], mut each: impl FnMut(usize, [f32; 3])) {
    for (mesh, skin) in meshes {
        let (starts, joints, _) = mesh.influences().as_slices();
        for (vertex, position) in mesh.vertices().positions.iter().enumerate() {
            for &own in &joints[starts[vertex] as usize..starts[vertex + 1] as usize] {
                let own = usize::from(own);
                let local = skin.inverse_bind()[own].transform_point(*position);
                if local.iter().all(|v| v.is_finite()) {
                    each(skin.joints()[own].into(), local);
                }
            }
        }
    }
}

/// Thirteen ways, and back.
const WAYS: usize = 26;

/// Where the vertices of a joint are: their number, their sum, and the sums of their products, in the order xx, xy, yy, xz, yz, zz.
#[derive(Debug, Clone, Default)]
struct Cloud {
    count: f64,
    sum: Vector,
    products: [f64; 6],
}

impl Cloud {
    fn add(&mut self, point: [f32; 3]) {
        let [x, y, z] = point.map(f64::from);
        self.count += 1.0;
        self.sum = add(self.sum, [x, y, z]);
        for (sum, product) in self.products.iter_mut().zip([x * x, x * y, y * y, x * z, y * z, z * z]) {
            *sum += product;
        }
    }

    /// The 26 combinations of -1, 0 and 1 in the space where the cloud is as wide in all directions: so a limb has vertices all around it,
    /// however thin it is and wherever it points.
    fn ways(&self) -> [Vector; WAYS] {
        let n = self.count.max(1.0);
        let middle = self.sum.map(|v| v / n);
        let of = |k: usize, r: usize, c: usize| self.products[k] / n - middle[r] * middle[c];
        let (xx, yy, zz) = (of(0, 0, 0), of(2, 1, 1), of(5, 2, 2));
        // What is flat has next to no width.
        let least = (xx + yy + zz) * 1e-6 + f64::MIN_POSITIVE;
        let root = |v: f64| sqrt_f64(v.max(least));
        // The lower triangle whose product with its transpose the spread is (Cholesky).
        let a = root(xx);
        let (b, d) = (of(1, 0, 1) / a, of(3, 0, 2) / a);
        let c = root(yy - b * b);
        let e = (of(4, 1, 2) - b * d) / c;
        let f = root(zz - d * d - e * e);
        core::array::from_fn(|way| {
            let code = if way < WAYS / 2 { way } else { way + 1 };
            let [x, y, z] = [1, 3, 9].map(|place| (code / place % 3) as f64 - 1.0);
            // Back by the transpose of its inverse.
            let z = z / f;
            let y = (y - e * z) / c;
            [(x - b * y - d * z) / a, y, z]
        })
    }
}

/// Decodes a clip at all moments where errors are held, and compares.
pub(super) fn measure(job: &Job<'_>, clip: &Clip<'_>) -> Result<Measured, Error> {
    let skeleton = job.skeleton;
    let count = skeleton.joint_count();
    let mut pose = Pose::rest(skeleton);
    let mut measured = Measured { joints: vec![JointError::default(); count], ..Measured::default() };
    let mut at_frames = Counts::new();
    // Some frames at a time, so that a long clip takes no more memory than a short one.
    let chunk = 64.min(SEGMENT_PLACES / (count.max(1) * job.moments)).max(1);
    let mut first = 0;
    loop {
        let frames = (job.frames - first).min(chunk);
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
            // What is decided by it is decided everywhere so.
            sample_by(Dispatch::current().portable(), clip, skeleton, at as f32, &mut pose)?;
            decoded.clear();
            let mut greatest = 0.0_f64;
            for (j, t) in pose.transforms().enumerate() {
                let mut local = Transform64::from(t);
                if is_loose(&local.rotation) {
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
                    at_frames.add(own as f32);
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
    measured.error_p99 = at_frames.percentile(99).min(measured.error_max);
    Ok(measured)
}

/// How many errors there are of each size: of any number of them in the same room, to half a percent.
struct Counts(Vec<u64>);

/// Bits of an f32 that are not told apart.
const ALIKE: u32 = 15;

impl Counts {
    fn new() -> Self {
        Self(vec![0; 1 << (31 - ALIKE)])
    }

    fn add(&mut self, error: f32) {
        // Without a sign, floats are in the order of their bits.
        self.0[(error.abs().to_bits() >> ALIKE) as usize] += 1;
    }

    /// What so many of 100 are not above.
    fn percentile(&self, percent: u64) -> f32 {
        let total: u64 = self.0.iter().sum();
        let mut left = (total * percent).div_ceil(100);
        let bin = self.0.iter().position(|&count| {
            let found = count >= left && left > 0;
            left = left.saturating_sub(count);
            found
        });
        bin.map_or(0.0, |bin| f32::from_bits(((bin as u32 + 1) << ALIKE) - 1))
    }
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
            if off > measured.value_error_max {
                (measured.value_error_max, measured.value_target) = (off, Some(set.target));
            }
        }
    }
    Ok(())
}
