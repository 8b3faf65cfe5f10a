//! Joints that goals depend on, in f64: their placement, and the unknowns.

use alloc::vec::Vec;

pub(super) use crate::maps::{Vec64, length, sub};
use condyle_base::math::quats::{Quat64, conjugate, product, rotate, rows};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{cofactors, cross, dot};

/// A matrix as three rows.
pub(super) type Mat64 = [[f64; 3]; 3];

/// Index for no parent or no unknown.
pub(super) const NONE: u32 = u32::MAX;

/// `a + b * by`.
pub(super) fn add_scaled(a: Vec64, b: Vec64, by: f64) -> Vec64 {
    [a[0] + b[0] * by, a[1] + b[1] * by, a[2] + b[2] * by]
}

pub(super) fn transform(m: &Mat64, v: Vec64) -> Vec64 {
    [dot(m[0], v), dot(m[1], v), dot(m[2], v)]
}

/// Applies the transposed matrix to a vector.
pub(super) fn transform_back(m: &Mat64, v: Vec64) -> Vec64 {
    add_scaled(add_scaled(m[0].map(|c| c * v[0]), m[1], v[1]), m[2], v[2])
}

pub(super) fn multiply(a: &Mat64, b: &Mat64) -> Mat64 {
    let row = |r: Vec64| add_scaled(add_scaled(b[0].map(|c| c * r[0]), b[1], r[1]), b[2], r[2]);
    [row(a[0]), row(a[1]), row(a[2])]
}

/// Matrix of `x ↦ cross(x, v)`.
pub(super) fn crossed_with([x, y, z]: Vec64) -> Mat64 {
    [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
}

/// Normalises a quaternion. If it is almost normalised, one Newton step suffices. Returns the identity if it
/// has no direction.
pub(super) fn unit(q: Quat64) -> Quat64 {
    let squared = (q[0] * q[0] + q[1] * q[1]) + (q[2] * q[2] + q[3] * q[3]);
    if (squared - 1.0).abs() < 1e-8 {
        return q.map(|v| v * (1.5 - 0.5 * squared));
    }
    let mut q = q;
    condyle_base::math::vectors::normalize(&mut q);
    q
}

/// A joint of a goal, or an ancestor of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joint {
    /// Joint index in the skeleton.
    pub(super) joint: u16,
    /// Index among these joints; `NONE` for a root.
    pub(super) parent: u32,
    /// Index of the unknown that turns the joint, or `NONE`.
    pub(super) turn: u32,
    /// Index of the unknown that translates the joint, or `NONE`.
    pub(super) shift: u32,
    /// Whether all scales above the joint are uniform and positive.
    pub(super) even: bool,
    pub(super) scale: Vec64,
}

/// An unknown vector: the rotation or the translation of a joint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unknown {
    /// Index among the joints.
    pub(super) joint: u32,
    /// Whether the unknown translates its joint instead of turning it.
    pub(super) shifts: bool,
    /// Ease: the inverse of a stiffness.
    pub(super) ease: f64,
    /// Next rotation above a rotation. `NONE` for the topmost rotation and for a shift.
    pub(super) above: u32,
}

/// Local transform of a joint, without the scale, which never changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Local {
    pub(super) rotation: Quat64,
    pub(super) translation: Vec64,
}

/// A joint in model space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// Rotation and scale.
    pub(super) axes: Mat64,
    pub(super) at: Vec64,
    /// Product of the rotations alone.
    pub(super) turn: Quat64,
}

impl Placed {
    pub(super) const MODEL: Self = Self {
        axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        at: [0.0; 3],
        turn: [0.0, 0.0, 0.0, 1.0],
    };
}

/// Placement of a joint's parent.
pub(super) fn above<'a>(joint: &Joint, placed: &'a [Placed]) -> &'a Placed {
    placed.get(joint.parent as usize).unwrap_or(&Placed::MODEL)
}

/// Computes the placement of all joints, parents first.
pub(super) fn place(joints: &[Joint], locals: &[Local], placed: &mut [Placed]) {
    for (at, (joint, local)) in joints.iter().zip(locals).enumerate() {
        let parent = above(joint, placed);
        let [x, y, z] = joint.scale;
        let own = rows(local.rotation).map(|r| [r[0] * x, r[1] * y, r[2] * z]);
        placed[at] = Placed {
            axes: multiply(&parent.axes, &own),
            at: add_scaled(transform(&parent.axes, local.translation), parent.at, 1.0),
            turn: unit(product(parent.turn, local.rotation)),
        };
    }
}

/// Jacobian of a point attached to a joint: maps a rotation vector of the joint, about axes of model space
/// ignoring scales, to the movement of the point. `arm` is the vector from the joint to the point, or a sum
/// of such vectors.
pub(super) fn turning(even: bool, above: &Placed, arm: Vec64) -> Mat64 {
    if even {
        return crossed_with(arm);
    }
    // Maps through the parent's space, which non-uniform scales distort: A ((Rᵀ x) × (A⁻¹ arm)). A singular
    // matrix has no inverse, so the joint does not move the point.
    let Some(inverse) = inverse(&above.axes) else { return [[0.0; 3]; 3] };
    let turned = rows(conjugate(above.turn));
    multiply(&above.axes, &multiply(&crossed_with(transform(&inverse, arm)), &turned))
}

/// Returns the inverse of a matrix. `None` if the matrix is singular or the inverse is not finite.
fn inverse(m: &Mat64) -> Option<Mat64> {
    let column = |c: usize| [m[0][c], m[1][c], m[2][c]];
    let (rows, determinant) = cofactors([column(0), column(1), column(2)]);
    let rows = rows.map(|row| row.map(|v| v / determinant));
    rows.as_flattened().iter().all(|v| v.is_finite()).then_some(rows)
}

/// Converts a movement in model space to a change of the translation of a child of `above`. Zero if its
/// matrix is singular.
pub(super) fn shift_back(above: &Placed, shift: Vec64) -> Vec64 {
    inverse(&above.axes).map_or([0.0; 3], |inverse| transform(&inverse, shift))
}

/// A joint's rotation after a further rotation about axes of model space. The quaternion `(v / 2, 1)`,
/// normalised, needs no trigonometry, is accurate to the third power of the angle, and never exceeds half a
/// turn.
pub(super) fn turned(above: &Placed, vector: Vec64, rotation: Quat64) -> Quat64 {
    let [x, y, z] = rotate(conjugate(above.turn), vector).map(|v| v * 0.5);
    let by = 1.0 / sqrt_f64(1.0 + ((x * x + y * y) + z * z));
    unit(product([x * by, y * by, z * by, by], rotation))
}

/// Returns `(2 sin(θ/2))²` for the angle θ between two rotations, and the vector of length `sin θ` along the
/// rotation axis, in the parent's space. The vector is half of the negative gradient of the first value.
pub(super) fn apart(from: Quat64, to: Quat64) -> (f64, Vec64) {
    let [x, y, z, w] = product(to, conjugate(from));
    let v = [2.0 * x, 2.0 * y, 2.0 * z];
    (dot(v, v), v.map(|v| v * w))
}

/// Sums the shares, and the shares times the positions, over each joint and its descendants.
pub(super) fn gather(joints: &[Joint], placed: &[Placed], shares: &[f64], sums: &mut Vec<(Vec64, f64)>) {
    sums.clear();
    sums.extend(placed.iter().zip(shares).map(|(placed, &share)| (placed.at.map(|v| v * share), share)));
    for at in (0..joints.len()).rev() {
        let (sum, share) = sums[at];
        if let Some(parent) = sums.get_mut(joints[at].parent as usize) {
            parent.0 = add_scaled(parent.0, sum, 1.0);
            parent.1 += share;
        }
    }
}

/// Inverse of a symmetric positive definite matrix, times a factor.
pub(super) fn inverse_symmetric(m: &Mat64, by: f64) -> Mat64 {
    let (cofactors, determinant) = cofactors(*m);
    let by = by / determinant;
    cofactors.map(|row| row.map(|v| v * by))
}

/// Adds `by * b` to a matrix.
pub(super) fn add_matrix(to: &mut Mat64, b: &Mat64, by: f64) {
    for (to, b) in to.iter_mut().zip(b) {
        *to = add_scaled(*to, *b, by);
    }
}

/// Stiffness of a bone against rotation when a force pulls at its end. It is the second derivative of `-force
/// · bone` with respect to a rotation of the bone, without its negative part.
///
/// The second derivative is `(f · b) 1 - (f bᵀ + b fᵀ) / 2`. Its eigenvectors are the normal of both vectors
/// and the two bisectors of their angle. The negative eigenvalue of a bisector is dropped, and that of the
/// normal if the force pushes. The form below does not divide by the sine of the angle.
pub(super) fn tension(force: Vec64, bone: Vec64) -> Mat64 {
    let (pulls, long) = (length(force), length(bone));
    let all = pulls * long;
    if all == 0.0 || all.is_nan() {
        return [[0.0; 3]; 3];
    }
    let (f, b) = (force.map(|v| v / pulls), bone.map(|v| v / long));
    let cos = dot(f, b).clamp(-1.0, 1.0);
    let half = add_scaled(f, b, 1.0);
    let across = cross(f, b);
    let (even, by) = (0.5 * (1.0 + cos), 0.5 / (1.0 + cos.abs()));
    let mut out = [[0.0; 3]; 3];
    for (r, row) in out.iter_mut().enumerate() {
        row[r] = even;
        *row = add_scaled(*row, half, -0.25 * half[r]);
        *row = add_scaled(*row, across, -by * across[r]).map(|v| v * all);
    }
    out
}
