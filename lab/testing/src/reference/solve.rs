//! Inverse kinematics, from the formulas.

use super::algebra::rotate;
use super::algebra::{dot, sum, unit};
use super::algebra::{quat_inverse, quat_product};

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn less(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| a[i] - b[i])
}

/// Returns the shortest rotation between the directions of two vectors, which must not be opposite. Computes
/// the rotation halfway between the identity and the rotation by twice the angle.
fn arc(from: [f64; 3], to: [f64; 3]) -> [f64; 4] {
    let ([x, y, z], cos) = (cross(from, to), dot(from, to));
    unit([x, y, z, cos + (dot(from, from) * dot(to, to)).sqrt()])
}

/// Returns the end point of each bone, with the root at the origin.
fn ends(bones: &[[f64; 3]], rotations: &[[f64; 4]]) -> Vec<[f64; 3]> {
    let (mut turned, mut end) = ([0.0, 0.0, 0.0, 1.0], [0.0; 3]);
    let pairs = bones.iter().zip(rotations);
    pairs
        .map(|(&bone, &rotation)| {
            turned = quat_product(turned, rotation);
            end = sum(end, rotate(turned, bone));
            end
        })
        .collect()
}

/// Runs one iteration of cyclic coordinate descent on a chain of bones, and returns the distance of the end
/// from the goal.
///
/// Goes from the last joint to the first. `part` receives the rotation that brings the end nearest to the
/// goal, and returns the part of it to apply.
///
/// `bones[i]` is the vector along the bone in the space that joint `i` rotates, and `rotations[i]` its local
/// rotation. The first joint is at the origin. Wang and Chen 1991.
#[must_use]
pub fn cyclic_descent(
    bones: &[[f64; 3]],
    rotations: &mut [[f64; 4]],
    goal: [f64; 3],
    part: impl Fn([f64; 4]) -> [f64; 4],
) -> f64 {
    for joint in (0..bones.len()).rev() {
        let ends = ends(bones, rotations);
        let pivot = if joint == 0 { [0.0; 3] } else { ends[joint - 1] };
        let above = rotations[..joint].iter().fold([0.0, 0.0, 0.0, 1.0], |a, &b| quat_product(a, b));
        let own = |way| rotate(quat_inverse(above), way);
        let turn = arc(own(less(ends[bones.len() - 1], pivot)), own(less(goal, pivot)));
        rotations[joint] = unit(quat_product(part(turn), rotations[joint]));
    }
    let end = ends(bones, rotations).last().copied().unwrap_or_default();
    let off = less(goal, end);
    dot(off, off).sqrt()
}
