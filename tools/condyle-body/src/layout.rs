//! Reads the arrays of a motion, in the common layouts, as rotations of named joints.

use crate::names;
use crate::npz::{Array, Npz};
use condyle_base::math::vectors::lerp;
use condyle_base::problem::{Problem, Refused, Severity};

/// Array names of the frame rate; AMASS uses the first two.
const RATES: [&str; 5] = ["mocap_framerate", "mocap_frame_rate", "frame_rate", "framerate", "fps"];
/// Array names of the root translation.
const PLACES: [&str; 3] = ["trans", "transl", "translation"];

/// Arrays that hold the rotations of a body part. `joints` returns the joint names for a rotation count.
struct Part {
    arrays: &'static [&'static str],
    joints: fn(usize) -> Option<Vec<String>>,
}

/// Rotations by body part, used if no array holds all rotations. The names are from AMASS and the `smplx`
/// package.
const PARTS: [Part; 9] = [
    Part { arrays: &["root_orient", "global_orient"], joints: |count| first_of(count, 1, names::body()) },
    Part {
        arrays: &["pose_body", "body_pose"],
        joints: |count| names::of_motion(count).filter(|_| matches!(count, 21 | 23)),
    },
    Part { arrays: &["pose_hand", "hand_pose"], joints: |count| (count == 30).then(names::hands) },
    Part { arrays: &["left_hand_pose"], joints: |count| first_of(count, 15, names::hands()) },
    Part { arrays: &["right_hand_pose"], joints: |count| first_of(count, 15, names::hands()[15..].to_vec()) },
    Part { arrays: &["pose_jaw", "jaw_pose"], joints: |count| first_of(count, 1, names::face()) },
    Part { arrays: &["pose_eye"], joints: |count| first_of(count, 2, names::face()[1..].to_vec()) },
    Part { arrays: &["leye_pose"], joints: |count| first_of(count, 1, names::face()[1..].to_vec()) },
    Part { arrays: &["reye_pose"], joints: |count| first_of(count, 1, names::face()[2..].to_vec()) },
];

/// Returns the first `wanted` names, if the joint count equals `wanted`.
fn first_of(count: usize, wanted: usize, mut names: Vec<String>) -> Option<Vec<String>> {
    names.truncate(wanted);
    (count == wanted).then_some(names)
}

/// A motion in the layout of its file.
#[derive(Clone)]
pub(crate) struct Layout {
    /// Names of the arrays that hold the rotations, for messages.
    pub(crate) arrays: String,
    /// Names of the animated joints; `None` if the joint count matches no layout.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) joints: usize,
    /// Quaternions (x, y, z, w) of all joints, frame by frame.
    pub(crate) rotations: Vec<[f64; 4]>,
    /// Root translation of each frame, or empty.
    pub(crate) places: Vec<[f64; 3]>,
    pub(crate) rate: f64,
    pub(crate) betas: Vec<f32>,
    pub(crate) gender: String,
    pub(crate) problems: Vec<Problem>,
}

impl Layout {
    pub(crate) fn read(npz: &mut Npz) -> Result<Self, Refused> {
        let Turned { arrays, names, joints, rows } =
            if npz.has("poses") { whole(npz)? } else { by_parts(npz)? };
        let frames = rows.len() / joints;
        let mut problems = Vec::new();
        if names.as_ref().is_some_and(|names| !names.contains(&names::body()[0])) {
            problems.push(Problem::new(
                Severity::Warning,
                "",
                "the rotation of the root is missing",
                "the root keeps its rest rotation",
            ));
        }
        let mut rotations: Vec<[f64; 4]> = rows.iter().map(|v| quat(*v)).collect();
        drop(rows);
        mend(npz, &arrays, "rotations", &mut rotations, joints, between, &mut problems)?;
        let mut places = Vec::new();
        if let Some(array) = npz.first(&PLACES) {
            let wanted = format!("({frames}, 3)");
            places = npz.array(array, |shape| shape == [frames, 3], &wanted)?.values.as_chunks().0.to_vec();
            mend(npz, array, "root positions", &mut places, 1, lerp, &mut problems)?;
        }
        let rate = rate(npz)?;
        let betas = betas(npz, frames, &mut problems)?;
        let gender =
            if npz.has("gender") { npz.text("gender")?.trim().to_ascii_lowercase() } else { String::new() };
        Ok(Self { arrays, names, joints, rotations, places, rate, betas, gender, problems })
    }
}

/// Reads an array of rotation vectors (axis times angle): (frames, 3 joints) or (frames, joints, 3).
fn axes(npz: &mut Npz, array: &str) -> Result<(usize, Array), Refused> {
    let fits = |shape: &[usize]| match *shape {
        [_, numbers] => numbers > 0 && numbers.is_multiple_of(3),
        [_, joints, 3] => joints > 0,
        _ => false,
    };
    let found = npz.array(array, fits, "(frames, 3 * joints) or (frames, joints, 3)")?;
    if found.shape[0] == 0 {
        return Err(npz.refused(array, "it has no frames"));
    }
    let joints = found.values.len() / found.shape[0] / 3;
    Ok((joints, found))
}

/// Rotations of several joints, read from one or more arrays.
struct Turned {
    /// Names of the arrays that hold the rotations, for messages.
    arrays: String,
    /// Joint names; `None` if the joint count matches no layout.
    names: Option<Vec<String>>,
    joints: usize,
    /// Rotation vectors (axis times angle) of all joints, frame by frame.
    rows: Vec<[f64; 3]>,
}

impl Turned {
    fn has_root(&self) -> bool {
        self.names.as_ref().is_none_or(|names| names[0] == names::body()[0])
    }

    /// Returns these joints followed by the joints of `other`, which must have the same number of frames.
    fn before(self, other: Self) -> Self {
        let frames = self.rows.chunks(self.joints).zip(other.rows.chunks(other.joints));
        let mut rows = Vec::with_capacity(self.rows.len() + other.rows.len());
        frames.for_each(|(own, others)| {
            rows.extend_from_slice(own);
            rows.extend_from_slice(others);
        });
        let arrays = format!("{}, {}", self.arrays, other.arrays);
        let names = self.names.zip(other.names).map(|(own, others)| [own, others].concat());
        Self { arrays, names, joints: self.joints + other.joints, rows }
    }
}

/// Reads all rotations from `poses`. If `poses` lacks the root, inserts the separate root array before it.
fn whole(npz: &mut Npz) -> Result<Turned, Refused> {
    let (joints, poses) = axes(npz, "poses")?;
    let names = names::of_motion(joints);
    let turned = Turned { arrays: "poses".into(), names, joints, rows: poses.values.as_chunks().0.to_vec() };
    match npz.first(PARTS[0].arrays).filter(|_| !turned.has_root()) {
        Some(array) => Ok(part(npz, &PARTS[0], array, Some(poses.shape[0]))?.before(turned)),
        None => Ok(turned),
    }
}

fn part(npz: &mut Npz, part: &Part, array: &str, frames: Option<usize>) -> Result<Turned, Refused> {
    let (joints, found) = axes(npz, array)?;
    if let Some(frames) = frames.filter(|frames| *frames != found.shape[0]) {
        let own = found.shape[0];
        return Err(npz.refused(array, format!("it has {own} frames, expected {frames}")));
    }
    let names = (part.joints)(joints);
    // The motion may be for a body model with this number of joints.
    let may_be_unknown = part.arrays.contains(&"pose_body");
    if names.is_none() && !may_be_unknown {
        let advice = "axis-angle rotations of each joint are supported, principal components are not";
        let what = format!("it has {} numbers per frame, which match no known layout; {advice}", 3 * joints);
        return Err(npz.refused(array, what));
    }
    Ok(Turned { arrays: array.into(), names, joints, rows: found.values.as_chunks().0.to_vec() })
}

fn by_parts(npz: &mut Npz) -> Result<Turned, Refused> {
    let mut all: Option<Turned> = None;
    for kind in &PARTS {
        let Some(array) = npz.first(kind.arrays) else { continue };
        let frames = all.as_ref().map(|all| all.rows.len() / all.joints);
        let found = part(npz, kind, array, frames)?;
        let known = all.as_ref().and_then(|all| all.names.as_ref()).zip(found.names.as_ref());
        if known.is_some_and(|(known, own)| known.contains(&own[0])) {
            return Err(npz.refused(array, "another array also has the rotations of its joints"));
        }
        all = Some(match all {
            Some(before) => before.before(found),
            None => found,
        });
    }
    all.ok_or_else(|| {
        let words = "poses, or root_orient and pose_body, or global_orient and body_pose";
        let names = npz.names();
        npz.refused("poses", format!("the file has no rotations: expected {words}, found {names}"))
    })
}

fn rate(npz: &mut Npz) -> Result<f64, Refused> {
    let Some(array) = npz.first(&RATES) else {
        let (words, names) = (RATES.join(", "), npz.names());
        return Err(npz.refused(
            RATES[0],
            format!("the file has no frame rate: expected one of {words}, found {names}"),
        ));
    };
    let rate = npz.one(array)?;
    if (1e-3..=1e6).contains(&rate) {
        Ok(rate)
    } else {
        Err(npz.refused(array, format!("it is {rate}, expected a rate from 0.001 to 1000000")))
    }
}

/// Reads the shape parameters: (parameters,), one row of them, or a row for each frame.
fn betas(npz: &mut Npz, frames: usize, problems: &mut Vec<Problem>) -> Result<Vec<f32>, Refused> {
    if !npz.has("betas") {
        return Ok(Vec::new());
    }
    let fits = |shape: &[usize]| match *shape {
        [_] => true,
        [rows, _] => rows == 1 || rows == frames,
        _ => false,
    };
    let words = format!("(numbers,), (1, numbers) or ({frames}, numbers)");
    let found = npz.array("betas", fits, &words)?;
    if let Some(at) = found.values.iter().position(|v| !v.is_finite()) {
        let value = found.values[at];
        return Err(npz.refused("betas", format!("its number {at} is {value}, expected a finite number")));
    }
    let count = found.shape.last().copied().unwrap_or(0);
    if count == 0 {
        return Ok(Vec::new());
    }
    let rows = found.values.chunks_exact(count);
    if rows.clone().all(|row| row == &found.values[..count]) {
        return Ok(found.values[..count].iter().map(|beta| *beta as f32).collect());
    }
    problems.push(Problem::new(
        Severity::Warning,
        "",
        "betas differ from frame to frame",
        "their mean is used",
    ));
    let mean = |at: usize| rows.clone().map(|row| row[at]).sum::<f64>() / (found.values.len() / count) as f64;
    Ok((0..count).map(|at| mean(at) as f32).collect())
}

/// Interpolates frames with non-finite numbers from the nearest frames before and after. Each frame has
/// `width` values.
fn mend<const N: usize>(
    npz: &Npz,
    array: &str,
    what: &str,
    values: &mut [[f64; N]],
    width: usize,
    between: impl Fn([f64; N], [f64; N], f64) -> [f64; N],
    problems: &mut Vec<Problem>,
) -> Result<(), Refused> {
    let frames = values.len() / width;
    let is_whole =
        |frame: usize| values[frame * width..][..width].as_flattened().iter().all(|v| v.is_finite());
    let whole: Vec<usize> = (0..frames).filter(|frame| is_whole(*frame)).collect();
    let broken = frames - whole.len();
    if broken == 0 {
        return Ok(());
    }
    let (Some(&first), Some(&last)) = (whole.first(), whole.last()) else {
        return Err(npz.refused(array, "every frame has a number that is not finite"));
    };
    let at = (0..frames).find(|frame| whole.binary_search(frame).is_err()).unwrap_or_default();
    let row = |frame: usize| frame * width..(frame + 1) * width;
    for frame in 0..first {
        values.copy_within(row(first), row(frame).start);
    }
    for frame in last + 1..frames {
        values.copy_within(row(last), row(frame).start);
    }
    for pair in whole.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        for frame in a + 1..b {
            let part = (frame - a) as f64 / (b - a) as f64;
            for joint in 0..width {
                values[frame * width + joint] =
                    between(values[a * width + joint], values[b * width + joint], part);
            }
        }
    }
    let what = format!("the {what} of {broken} of {frames} frames are not finite, first in frame {at}");
    problems.push(Problem::new(
        Severity::Warning,
        "",
        what,
        "they are interpolated from the frames before and after",
    ));
    Ok(())
}

/// Returns the normalised mean of two unit quaternions, along the shorter arc.
fn between(a: [f64; 4], b: [f64; 4], part: f64) -> [f64; 4] {
    let is_far = a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() < 0.0;
    let mean = lerp(a, if is_far { b.map(|v| -v) } else { b }, part);
    let length = mean.iter().map(|v| v * v).sum::<f64>().sqrt();
    mean.map(|v| v / length)
}

/// Returns the quaternion of a rotation vector; NaN if a number is not finite.
fn quat(v: [f64; 3]) -> [f64; 4] {
    if !v.iter().all(|v| v.is_finite()) {
        return [f64::NAN; 4];
    }
    let greatest = v.iter().fold(0.0_f64, |all, v| all.max(v.abs()));
    if greatest == 0.0 {
        return [0.0, 0.0, 0.0, 1.0];
    }
    // Scales first, because the squares of very small and very large numbers underflow or overflow.
    let unit = v.map(|v| v / greatest);
    let length = unit.iter().map(|v| v * v).sum::<f64>().sqrt();
    let (sine, cosine) = condyle::math::sin_cos_f64(0.5 * length * greatest);
    let [x, y, z] = unit.map(|v| v / length * sine);
    [x, y, z, cosine]
}
