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

/// The shortest rotation from the direction of one vector to that of another that is not opposite to it: half way between no turn and twice of it.
fn arc(from: [f64; 3], to: [f64; 3]) -> [f64; 4] {
    let ([x, y, z], cos) = (cross(from, to), dot(from, to));
    unit([x, y, z, cos + (dot(from, from) * dot(to, to)).sqrt()])
}

/// From the root to where each bone ends, the root being the origin.
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

/// One round of cyclic coordinate descent on bones in a row, and how far the last one then ends from the goal. From the last to the first each
/// joint does a part of the turn that alone would bring the end nearest to the goal: `part` is given that turn, and gives what is done of it.
///
/// `bones[i]` is the way along the bone in the space that joint `i` turns, `rotations[i]` its local rotation. The first joint is at the origin. Wang and
/// Chen 1991.
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
