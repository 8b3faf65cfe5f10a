//! Equations of a step, compared with differences of poses and with the same equations solved at full size.

use super::*;
use crate::full_body::buffer::Sought;
use crate::full_body::rows::measure;
use crate::full_body::tree::{above, add_scaled, place, shift_back, sub, turned};
use condyle_base::math::vectors::dot;
use condyle_testing::tries;
use std::vec;

/// A random pose. Scales are non-uniform, which distorts the descendants, or uniform if `even`.
fn limbs(random: &mut Random, joints: usize, even: bool) -> (Skeleton, Pose) {
    let skeleton = random.skeleton(joints);
    let mut pose = random.pose(joints);
    for joint in (0..joints).filter(|_| even) {
        let t = pose.get(joint);
        pose.set(joint, &Transform { scale: [t.scale[0]; 3], ..t });
    }
    (skeleton, pose)
}

/// A buffer before its first step, with a goal of each kind.
fn prepared(random: &mut Random, even: bool) -> (BodyBuffer, f64) {
    let joints = 12;
    let (skeleton, pose) = limbs(random, joints, even);
    let masses: Vec<(u16, f32)> = (0..joints as u16).map(|joint| (joint, random.range(0.0, 2.0))).collect();
    let offset = Goal {
        kind: crate::full_body::GoalKind::Position {
            joint: 9,
            offset: random.vector(0.3),
            place: random.vector(1.0),
        },
        weight: 0.7,
    };
    let goals = [
        Goal::position(11, random.vector(1.0)),
        Goal { weight: 0.5, ..Goal::orientation(10, random.unit()) },
        offset,
        Goal { weight: 2.0, ..Goal::mass(&masses, random.vector(1.0)) },
        Goal::mass(&masses[3..9], random.vector(1.0)),
        Goal::orientation(5, random.unit()),
        Goal { weight: 0.0, ..Goal::pin(3) },
    ];
    let ease: Vec<f32> =
        (0..joints).map(|joint| if joint == 4 { 0.0 } else { random.range(0.5, 2.0) }).collect();
    let options = BodyOptions { ease: Some(&ease), shift: Some((1, 0.5)), ..BodyOptions::default() };
    let mut buffer = BodyBuffer::default();
    buffer.prepare(&skeleton, &goals, &options, &pose).expect("valid goals");
    buffer.take(&options, 0.0);
    // Moves the pose away from the input pose, so that `back` is not zero.
    for unknown in &buffer.unknowns {
        let local = &mut buffer.now.locals[unknown.joint as usize];
        local.rotation =
            turned(&super::super::tree::Placed::MODEL, random.vector(0.3).map(f64::from), local.rotation);
    }
    place(&buffer.joints, &buffer.now.locals, &mut buffer.now.placed);
    let pull = 0.01;
    remeasure(&mut buffer, pull);
    (buffer, pull)
}

fn remeasure(buffer: &mut BodyBuffer, pull: f64) {
    let BodyBuffer { joints, unknowns, given, goals, shares, now, .. } = buffer;
    measure(joints, unknowns, given, goals, shares, pull, now);
}

/// Dense Jacobian without weights: three rows per goal, three columns per unknown.
fn dense(buffer: &BodyBuffer) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![0.0; 3 * buffer.unknowns.len()]; 3 * buffer.goals.len()];
    for (goal, row) in buffer.goals.iter().enumerate() {
        for at in row.links.clone() {
            let unknown = buffer.links.unknown[at] as usize;
            for (r, values) in buffer.links.moved[at].iter().enumerate() {
                rows[3 * goal + r][3 * unknown..3 * unknown + 3].copy_from_slice(values);
            }
        }
    }
    rows
}

#[test]
fn goals_move_as_the_jacobian_says() {
    for case in 0..tries(40) {
        let (mut buffer, pull) = prepared(&mut Random(case as u64), case % 2 == 0);
        buffer.linearize();
        let (jacobian, before) = (dense(&buffer), buffer.now.clone());
        for (column, unknown) in
            buffer.unknowns.clone().iter().enumerate().flat_map(|(k, u)| (0..3).map(move |c| (3 * k + c, *u)))
        {
            let mut by = [0.0; 3];
            by[column % 3] = 1e-6;
            let mut moved = [-1.0, 1.0].map(|sign| {
                buffer.now.copy(&before);
                let joint = buffer.joints[unknown.joint as usize];
                let above = above(&joint, &before.placed);
                let local = &mut buffer.now.locals[unknown.joint as usize];
                let by = by.map(|v| v * sign);
                if unknown.shifts {
                    local.translation = add_scaled(local.translation, shift_back(above, by), 1.0);
                } else {
                    local.rotation = turned(above, by, local.rotation);
                }
                place(&buffer.joints, &buffer.now.locals, &mut buffer.now.placed);
                remeasure(&mut buffer, pull);
                buffer.now.errors.clone()
            });
            let [less, more] = &mut moved;
            for (goal, (less, more)) in less.iter().zip(more).enumerate() {
                // Skips rotations, because their error vectors are linear only for small errors.
                if matches!(buffer.goals[goal].sought, Sought::Turn { .. }) {
                    continue;
                }
                let want = sub(*less, *more).map(|v| v / 2e-6);
                for c in 0..3 {
                    let got = jacobian[3 * goal + c][column];
                    let of = buffer.goals[goal].weight > 0.0;
                    assert!(
                        !of || (got - want[c]).abs() < 1e-7,
                        "case {case}, goal {goal}, {column}: {got} {}",
                        want[c]
                    );
                }
            }
        }
    }
}

/// Gaussian elimination with pivoting.
fn eliminate(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot =
            (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).expect("at least one row");
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let by = a[i][k] / a[k][k];
            let (above, below) = a.split_at_mut(i);
            for (to, v) in below[0][k..].iter_mut().zip(&above[k][k..]) {
                *to -= by * v;
            }
            b[i] -= by * b[k];
        }
    }
    for k in (0..n).rev() {
        b[k] = (b[k] - (k + 1..n).map(|c| a[k][c] * b[c]).sum::<f64>()) / a[k][k];
    }
    b
}

/// Solves the full system `(Jᵀ J + (pull + damping) D⁻¹ + Lᵀ K L) x = Jᵀ e + pull D⁻¹ z`, where `L` sums the
/// rotations down to each bone.
fn full_step(buffer: &BodyBuffer, pull: f64) -> Vec<f64> {
    let n = 3 * buffer.unknowns.len();
    let mut jacobian = dense(buffer);
    let (mut a, mut b) = (vec![vec![0.0; n]; n], vec![0.0; n]);
    for (row, values) in jacobian.iter_mut().enumerate() {
        let weight = buffer.goals[row / 3].weight;
        values.iter_mut().for_each(|v| *v *= weight);
        let error = buffer.now.errors[row / 3][row % 3] * weight;
        for i in 0..n {
            b[i] += values[i] * error;
            for j in 0..n {
                a[i][j] += values[i] * values[j];
            }
        }
    }
    let ways: Vec<Vec<usize>> = (0..buffer.unknowns.len())
        .map(|unknown| {
            let next = |at: &usize| {
                Some(buffer.unknowns[*at].above as usize).filter(|&at| at < buffer.unknowns.len())
            };
            std::iter::successors(Some(unknown), next).collect()
        })
        .collect();
    for (k, unknown) in buffer.unknowns.iter().enumerate() {
        for c in 0..3 {
            a[3 * k + c][3 * k + c] += buffer.damped / unknown.ease;
            b[3 * k + c] += pull / unknown.ease * buffer.back[k][c];
        }
        for &i in &ways[k] {
            for &j in &ways[k] {
                for r in 0..3 {
                    for c in 0..3 {
                        a[3 * i + r][3 * j + c] += buffer.tension[k][r][c];
                    }
                }
            }
        }
    }
    eliminate(a, b)
}

#[test]
fn the_step_is_that_of_the_full_equations() {
    for case in 0..tries(40) {
        let (mut buffer, pull) = prepared(&mut Random(case as u64), case % 2 == 0);
        buffer.linearize();
        buffer.look_back();
        buffer.damped = pull + [0.0, 1e-3, 0.3][case % 3];
        assert!(buffer.find_step(pull), "case {case}");
        let want = full_step(&buffer, pull);
        let size = want.iter().fold(1.0, |most: f64, v| most.max(v.abs()));
        for (at, (got, want)) in buffer.step.as_flattened().iter().zip(&want).enumerate() {
            assert!((got - want).abs() < 1e-8 * size, "case {case}, {at}: {got} instead of {want}");
        }
    }
}

/// The tension is the second derivative of the squared errors without its negative part. For a force along
/// the bone no part is negative.
#[test]
fn tension_is_the_curvature() {
    use condyle_base::math::quats::{from_rotation_vector, rotate};
    let mut random = Random(8);
    for case in 0..tries(500) {
        let bone = random.vector::<3>(1.0).map(f64::from);
        let force =
            if case % 2 == 0 { bone.map(|v| v * 3.0) } else { random.vector::<3>(1.0).map(f64::from) };
        let got = super::super::tree::tension(force, bone);
        let about = random.unit::<3>().map(f64::from);
        let pulls = |by: f64| dot(force, rotate(from_rotation_vector(about.map(|v| v * by)), bone));
        let want = (2.0 * pulls(0.0) - pulls(1e-4) - pulls(-1e-4)) / 1e-8;
        let got = dot(about, crate::full_body::tree::transform(&got, about));
        assert!(got >= want - 1e-6 && got >= -1e-12, "case {case}: {got} {want}");
        assert!(case % 2 == 1 || got < want + 1e-6, "case {case}: {got} {want}");
    }
    assert_eq!(super::super::tree::tension([0.0; 3], [1.0; 3]), [[0.0; 3]; 3]);
}

/// Reference search: the same cost from the same pose, by full equations without tension and with a fixed
/// rule for the damping, until nothing moves.
pub(super) fn settle(
    skeleton: &Skeleton,
    goals: &[Goal<'_>],
    options: &BodyOptions<'_>,
    pose: &Pose,
    start: &Pose,
    steps: usize,
) -> f64 {
    let mut buffer = BodyBuffer::default();
    buffer.prepare(skeleton, goals, options, pose).expect("valid goals");
    buffer.take(options, 0.0);
    let pull = f64::from(options.pull);
    for (joint, local) in buffer.joints.iter().zip(&mut buffer.now.locals) {
        let t = start.get(joint.joint.into());
        local.rotation = super::super::tree::unit(t.rotation.map(f64::from));
        local.translation = t.translation.map(|v| f64::from(v) / buffer.size);
    }
    place(&buffer.joints, &buffer.now.locals, &mut buffer.now.placed);
    remeasure(&mut buffer, pull);
    let mut damping = 1.0;
    for _ in 0..steps {
        buffer.linearize();
        buffer.tension.fill([[0.0; 3]; 3]);
        buffer.look_back();
        buffer.damped = pull + damping;
        let step = full_step(&buffer, pull);
        buffer.step = step.as_chunks::<3>().0.to_vec();
        let before = buffer.now.clone();
        buffer.take_step(options);
        std::mem::swap(&mut buffer.now, &mut buffer.next);
        place(&buffer.joints, &buffer.now.locals, &mut buffer.now.placed);
        remeasure(&mut buffer, pull);
        if buffer.now.cost < before.cost {
            damping = (damping / 3.0).max(1e-12);
        } else {
            buffer.now = before;
            damping *= 2.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    buffer.now.missed.sqrt()
}
