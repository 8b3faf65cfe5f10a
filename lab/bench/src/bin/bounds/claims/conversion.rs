//! Quaternions to matrices and back.

use condyle::math::JointQuat;
use condyle::{Affine, Dispatch, Pose, Transform, convert};

use super::{apart, quat, start_rotation, unit, worst};
use crate::climb::{Claim, Random};

/// `joints_to_matrices` and `pose_to_matrices`: error relative to the scale.
const TO_MATRICES: [f64; 2] = [3.8e-7, 2.4e-7];
/// `matrices_to_joints` and `matrices_to_pose`: errors of rotation components, rotation length and scale.
const FROM_MATRICES: [f64; 3] = [2.6e-7, 2.3e-7, 3.9e-7];

/// Error of the rotation from matrices whose shear is small enough to count as rounding.
const LEANING: f64 = 1.6e-3;

/// A rotation and three scales of one sign whose ratios are at most 1000.
fn start_transform(random: &mut Random, case: &mut [f32]) {
    start_rotation(random, &mut case[..4]);
    let size = random.magnitude(-3.0).abs();
    for scale in &mut case[4..] {
        *scale = (size * (1.0 + random.magnitude(-7.0))) as f32;
    }
}

fn repair_transform(case: &mut [f32]) -> bool {
    for scale in &mut case[4..] {
        *scale = scale.abs();
    }
    let in_range = |v: &f32| (1e-3..=1e3).contains(v);
    unit(&mut case[..4]) && case[4..].iter().all(in_range)
}

/// Exact matrix of a rotation and three scales.
fn exact([x, y, z, w]: [f64; 4], scale: [f64; 3]) -> [[f64; 3]; 3] {
    let rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ];
    rows.map(|row| std::array::from_fn(|c| row[c] * scale[c]))
}

/// Claims about conversions to matrices and back.
pub(super) fn claims(dispatch: Dispatch) -> Vec<Claim> {
    let claim = |what: &str, bound: f64, width, error: fn(&[f32]) -> f64| Claim {
        what: what.into(),
        way: "",
        dispatch: Some(dispatch),
        bound,
        width,
        start: start_transform,
        repair: repair_transform,
        error: Box::new(move |case| dispatch.scope(|| error(case))),
    };
    let mut claims = vec![
        claim("joints_to_matrices", TO_MATRICES[0], 5, |case| {
            let joint = JointQuat { rotation: quat(case), scale: case[4], ..JointQuat::IDENTITY };
            let mut got = [Affine::IDENTITY];
            convert::joints_to_matrices(&[joint], &mut got).expect("one each");
            to_matrices(&got[0], case, [case[4]; 3]) / TO_MATRICES[0]
        }),
        claim("joints_to_columns", TO_MATRICES[0], 5, |case| {
            let joint = JointQuat { rotation: quat(case), scale: case[4], ..JointQuat::IDENTITY };
            let mut got = [[0.0; 16]];
            convert::joints_to_columns(&[joint], &mut got).expect("one each");
            to_matrices(&Affine::from_columns(&got[0]), case, [case[4]; 3]) / TO_MATRICES[0]
        }),
        claim("pose_to_matrices", TO_MATRICES[1], 7, |case| {
            let scale = [case[4], case[5], case[6]];
            let mut got = [Affine::IDENTITY];
            convert::pose_to_matrices(&pose(case, scale), &mut got).expect("one each");
            to_matrices(&got[0], case, scale) / TO_MATRICES[1]
        }),
        claim("pose_to_columns", TO_MATRICES[1], 7, |case| {
            let scale = [case[4], case[5], case[6]];
            let mut got = [[0.0; 16]];
            convert::pose_to_columns(&pose(case, scale), &mut got).expect("one each");
            to_matrices(&Affine::from_columns(&got[0]), case, scale) / TO_MATRICES[1]
        }),
    ];
    for (at, part) in ["rotation", "length", "scale"].into_iter().enumerate() {
        let back = |name: &str, width, errors: fn(&[f32]) -> [f64; 3]| Claim {
            what: format!("{name}, {part}"),
            way: "",
            dispatch: Some(dispatch),
            bound: FROM_MATRICES[at],
            width,
            start: start_transform,
            repair: repair_transform,
            error: Box::new(move |case| dispatch.scope(|| errors(case))[at]),
        };
        claims.push(back("matrices_to_joints", 5, |case| {
            let mut got = [JointQuat::IDENTITY];
            convert::matrices_to_joints(&[rounded(case, [case[4]; 3])], &mut got).expect("one each");
            from_matrices(got[0].rotation, &[got[0].scale], case)
        }));
        claims.push(back("matrices_to_pose", 7, |case| {
            let mut got = Pose::identity(1);
            let matrix = rounded(case, [case[4], case[5], case[6]]);
            convert::matrices_to_pose(&[matrix], &mut got).expect("one each");
            from_matrices(got.get(0).rotation, &got.get(0).scale, case)
        }));
    }
    // All three pairs of columns are sheared.
    let leaning = |what: &str, error: fn(&[f32]) -> f64| Claim {
        what: what.into(),
        way: "",
        dispatch: Some(dispatch),
        bound: LEANING,
        width: 7,
        start: |random, case| {
            start_rotation(random, &mut case[..4]);
            case[4..].fill_with(|| (2e-3 * random.signed()) as f32);
        },
        repair: |case| unit(&mut case[..4]) && case[4..].iter().all(|lean| lean.abs() <= 3e-3),
        error: Box::new(move |case| dispatch.scope(|| error(case))),
    };
    claims.push(leaning("matrices_to_joints, leaning", |case| {
        let mut got = [JointQuat::IDENTITY];
        convert::matrices_to_joints(&[leant(case)], &mut got).expect("one each");
        either(got[0].rotation, leant(case).to_joint().0.rotation) / LEANING
    }));
    claims.push(leaning("matrices_to_pose, leaning", |case| {
        let mut got = Pose::identity(1);
        convert::matrices_to_pose(&[leant(case)], &mut got).expect("one each");
        either(got.get(0).rotation, leant(case).to_transform().0.rotation) / LEANING
    }));
    claims
}

/// Rotation whose second and third columns are sheared towards the previous ones.
fn leant(case: &[f32]) -> Affine {
    let rows = exact(quat(case).map(f64::from), [1.0; 3]);
    let [ab, ac, bc] = [case[4], case[5], case[6]].map(f64::from);
    Affine { rows: rows.map(|[a, b, c]| [a, b + ab * a, c + ac * a + bc * b, 0.0].map(|v| v as f32)) }
}

/// Difference of two quaternions, up to sign.
fn either(a: [f32; 4], b: [f32; 4]) -> f64 {
    let b = b.map(f64::from);
    apart(a, b).min(apart(a, b.map(|v| -v)))
}

fn pose(case: &[f32], scale: [f32; 3]) -> Pose {
    Pose::from_transforms(&[Transform { rotation: quat(case), scale, ..Transform::IDENTITY }])
}

/// Largest error of an entry, relative to the scale of its column.
fn to_matrices(got: &Affine, case: &[f32], scale: [f32; 3]) -> f64 {
    let want = exact(quat(case).map(f64::from), scale.map(f64::from));
    let part = |r: usize| {
        let columns: [f32; 3] = std::array::from_fn(|c| got.rows[r][c]);
        let scaled = |c: usize| (f64::from(columns[c]) - want[r][c]).abs() / f64::from(scale[c]);
        worst((0..3).map(scaled))
    };
    worst((0..3).map(part))
}

/// Matrix of a case in f32.
fn rounded(case: &[f32], scale: [f32; 3]) -> Affine {
    let rows = exact(quat(case).map(f64::from), scale.map(f64::from));
    Affine { rows: rows.map(|[x, y, z]| [x as f32, y as f32, z as f32, 0.0]) }
}

fn from_matrices(rotation: [f32; 4], scale: &[f32], case: &[f32]) -> [f64; 3] {
    let want = quat(case).map(f64::from);
    let rotated = apart(rotation, want).min(apart(rotation, want.map(|v| -v)));
    let length = rotation.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    let scaled = scale.iter().zip(&case[4..]).map(|(got, want)| (f64::from(got / want) - 1.0).abs());
    [rotated / FROM_MATRICES[0], (length - 1.0).abs() / FROM_MATRICES[1], worst(scaled) / FROM_MATRICES[2]]
}
