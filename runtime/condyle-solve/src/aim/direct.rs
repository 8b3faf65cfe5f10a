//! Closed-form aim of one joint without limits: the shortest rotation, then one about the axis if there is an
//! `up`.

use super::{Aim, Reached};
use crate::direct::{Above, DETERMINANTS, half, near_unit, nlerp, over, scaled4, unit, within};
use condyle::pose::{Pose, PoseBlock};
use condyle::skeleton::Skeleton;
use condyle_base::math::quats::{conjugate, product, rotate};
use condyle_base::math::real::Real;
use condyle_base::math::vectors::{add, cross, dot, scaled, sub};
use condyle_base::math::{Affine, Quat};
use condyle_base::simd::BLOCK;

/// References to the inputs of one aim.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    above: &'a Affine,
    joint: (&'a PoseBlock, usize),
    aim: &'a Aim<'a>,
}

impl<'a> Source<'a> {
    /// Collects the inputs of an aim whose joint exists. `None` if the aim has limits, or a weight that is
    /// not from 0 to 1.
    #[inline(always)]
    pub(crate) fn new(
        skeleton: &Skeleton,
        model: &'a [Affine],
        aim: &'a Aim<'a>,
        pose: &'a Pose,
    ) -> Option<Self> {
        if aim.limits.is_some() || !(0.0..=1.0).contains(&aim.weight) {
            return None;
        }
        let joint = usize::from(aim.joint);
        let parent = usize::from(skeleton.parents()[joint]);
        let above = model.get(parent).unwrap_or(const { &Affine::IDENTITY });
        Some(Self { above, joint: (&pose.blocks()[joint / BLOCK], joint % BLOCK), aim })
    }

    /// All inputs in groups of four: rows of the parent matrix, rotation, translation and scale of the joint,
    /// axis, origin, target, up axis and up direction. The weight is in the fourth lane of the translation.
    #[inline(always)]
    fn four(&self, at: usize) -> [f32; 4] {
        let ((block, i), Aim { axis, origin, target, up, weight, .. }) = (self.joint, self.aim);
        let ([q, r, s, t], [x, y, z], [u, v, w]) = (&block.rotation, &block.translation, &block.scale);
        let vector = |[x, y, z]: [f32; 3]| [x, y, z, 0.0];
        match at {
            0..3 => self.above.rows[at],
            3 => [q[i], r[i], s[i], t[i]],
            4 => [x[i], y[i], z[i], *weight],
            5 => [u[i], v[i], w[i], 0.0],
            6 => vector(*axis),
            7 => vector(*origin),
            8 => vector(*target),
            9 => vector(up.map_or([0.0; 3], |up| up.axis)),
            _ => vector(up.map_or([0.0; 3], |up| up.direction)),
        }
    }
}

impl Source<'_> {
    #[inline(always)]
    fn load(&self, at: usize) -> [f64; 4] {
        let [x, y, z, w] = self.four(at);
        [x.into(), y.into(), z.into(), w.into()]
    }
}

/// Solution for one joint.
#[derive(Clone, Copy)]
pub(crate) struct Turned {
    pub(crate) rotation: Quat,
    /// The distance between ray and target.
    pub(crate) distance: f32,
}

/// Solves one joint, or returns `None` if it needs the general solver.
#[inline(always)]
pub(crate) fn solve(joint: &Source<'_>) -> Option<Turned> {
    let ([x, y, z, w], distance, found) = match joint.aim.up {
        None => aimed(joint, false),
        Some(_) => aimed(joint, true),
    };
    let rotation = [x as f32, y as f32, z as f32, w as f32];
    if found { Some(Turned { rotation, distance: distance as f32 }) } else { None }
}

/// Writes the rotation to the pose.
#[inline(always)]
pub(crate) fn write(aim: &Aim<'_>, rotation: Quat, distance: f32, pose: &mut Pose) -> Reached {
    if aim.weight > 0.0 {
        let (block, lane) = (usize::from(aim.joint) / BLOCK, usize::from(aim.joint) % BLOCK);
        let [x, y, z, w] = &mut pose.blocks_mut()[block].rotation;
        [x[lane], y[lane], z[lane], w[lane]] = rotation;
    }
    Reached { distance, angle: 0.0, iterations: 1 }
}

/// Allowed range of squared lengths, so that no product of them overflows or underflows.
const LENGTHS: [f64; 2] = [1e-60, 1e60];

/// Returns the rotation, the distance between ray and target, and whether the solution is valid. It is
/// invalid near a half turn, without a direction, or with a target nearer to the joint than the ray.
#[inline(always)]
fn aimed(numbers: &Source<'_>, has_up: bool) -> ([f64; 4], f64, bool) {
    let rows = [numbers.load(0), numbers.load(1), numbers.load(2)];
    let (q, [px, py, pz, weight], [sx, sy, sz, _]) = (numbers.load(3), numbers.load(4), numbers.load(5));
    let ([ax, ay, az, _], [ox, oy, oz, _], [tx, ty, tz, _]) =
        (numbers.load(6), numbers.load(7), numbers.load(8));
    let (zero, one) = (weight.like(0.0), weight.like(1.0));

    // Vector to the target, and origin and direction of the ray, in the joint's local space, scaled by
    // `size`.
    let above = Above::new(&rows);
    let size = above.determinant * above.determinant;
    let pivot = scaled([px, py, pz], above.determinant);
    let to = sub(above.back(sub([tx, ty, tz], [rows[0][3], rows[1][3], rows[2][3]])), pivot);
    let to = scaled(to, above.determinant);
    let given = unit(q);
    let goal = rotate(conjugate(given), to);
    let from = [ox * sx * size, oy * sy * size, oz * sz * size];
    let along = [ax * sx, ay * sy, az * sz];
    let (to2, from2, along2) = (dot(goal, goal), dot(from, from), dot(along, along));
    let along = scaled(along, over(along2));
    let mut found = near_unit(q) & above.found & within(size, DETERMINANTS);
    found &= within(to2, LENGTHS) & within(along2, LENGTHS) & from2.is_below(zero.like(LENGTHS[1]));

    // The point of the ray that is as far from the joint as the target.
    let (mut point, mut product2) = (along, to2);
    let beside = zero.is_below(from2);
    if f64::any(beside) {
        let middle = dot(from, along);
        let root = middle * middle - from2 + to2;
        let ahead = f64::select(zero.is_below(root), root, zero).sqrt() - middle;
        let there = add(from, scaled(along, ahead));
        point = [
            f64::select(beside, there[0], point[0]),
            f64::select(beside, there[1], point[1]),
            f64::select(beside, there[2], point[2]),
        ];
        product2 = f64::select(beside, to2 * dot(there, there), product2);
        found &= zero.is_below(root) & zero.is_below(ahead) | !beside;
    }
    let product_of_lengths = product2.sqrt();
    let w = product_of_lengths + dot(point, goal);
    found &= (product_of_lengths * 1e-6).is_below(w);
    let [x, y, z] = cross(point, goal);
    let mut turn = scaled4([x, y, z, w], (product_of_lengths * w * 2.0).sqrt().recip());

    if has_up {
        let ([ux, uy, uz, _], [dx, dy, dz, _]) = (numbers.load(9), numbers.load(10));
        let own = rotate(turn, [ux * sx, uy * sy, uz * sz]);
        let up = rotate(conjugate(given), scaled(above.back([dx, dy, dz]), above.determinant));
        let (swivel, is_known) = swivel(goal, to2, own, up);
        turn = product(swivel, turn);
        found &= is_known;
    }
    let mut turned = product(given, turn);
    let mut distance = zero;
    let partly = weight.is_below(one);
    if f64::any(partly) {
        turned = nlerp(given, turned, weight);
        let off = above.linear(scaled(sub(to, rotate(turned, from)), size.recip()));
        let along = above.linear(rotate(turned, along));
        let ahead = dot(off, along) * dot(along, along).recip();
        // If the target is behind the origin, the origin is the nearest point of the ray.
        let off = sub(off, scaled(along, f64::select(zero.is_below(ahead), ahead, zero)));
        distance = f64::select(partly, dot(off, off).sqrt(), zero);
    }
    (turned, distance, found & distance.is_below(zero.like(1e38)))
}

/// Rotation about a line that brings `from` as close to `to` as possible; `line2` is the squared length of
/// `line`. Also returns whether both vectors have a component perpendicular to the line.
#[inline(always)]
fn swivel(line: [f64; 3], line2: f64, from: [f64; 3], to: [f64; 3]) -> ([f64; 4], bool) {
    let (from2, to2) = (dot(from, from), dot(to, to));
    let (line, normal) = (scaled(line, over(line2)), line);
    let across = sub(from, scaled(line, dot(line, from)));
    let (along, across2) = (dot(normal, to), dot(across, across));
    let known =
        (from2 * 1e-12).is_below(across2) & (to2 * line2 * 1e-12).is_below(to2 * line2 - along * along);
    let (sin, cos) = (dot(line, cross(across, to)), dot(across, to));
    let (s, c, square) = half(sin, cos, (sin * sin + cos * cos).sqrt());
    let [x, y, z] = scaled(line, s);
    let known = known & within(from2, LENGTHS) & within(to2, LENGTHS);
    (scaled4([x, y, z, c], square.sqrt().recip()), known)
}
