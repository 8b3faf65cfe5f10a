//! Closed form for the most common limb: each joint is the parent of the next, and the scale of the upper
//! joint is uniform. Both bones then keep their lengths under all rotations.
//!
//! # Formulas
//!
//! `A` is the linear part of the matrix above the upper joint, `det` its determinant. All lengths below are
//! multiplied by `det`, so the goal needs `det A⁻¹`, which is the matrix of cofactors, and no division:
//!
//! ```text
//! g = det A⁻¹ (goal_model - t) - det pivot       goal, from the upper joint, in the space above it
//! u = det upper                                  upper bone, as the upper joint turns it
//! l = det R₂ lower                               lower bone in the same space
//! a = |u|,  b = |l|,  r = |g|,  n = u × l
//! ```
//!
//! The tip is as far away as the goal if the angle θ between the bones obeys the law of cosines (0 is a
//! straight limb). θ₀ is that angle in the input pose:
//!
//! ```text
//! C  = ab cos θ  = (r² - a² - b²) / 2            S  = ab sin θ  = √(a²b² - C²)
//! C₀ = ab cos θ₀ = u · l                         S₀ = ab sin θ₀ = |n|
//! ```
//!
//! The lower joint turns by θ - θ₀ about `n`: `sin` and `cos` of that, times `(ab)²`, are `S C₀ - C S₀` and
//! `C C₀ + S S₀`.
//!
//! Without a pole vector the upper joint makes the shortest rotation from the new tip `v` to the goal. `v`,
//! times `a² S₀`, is `p u + q l` with `p = (a² + C) S₀ - C₀ S` and `q = a² S`. The quaternion is `(v × g, |v|
//! r + v · g)`, normalised. Its length is `√(2 |v| r w)`, so normalising takes one root.
//!
//! With a pole vector `k` the upper bone lies in the plane of goal and `k`. Its angle α, from the goal to the
//! side of `k`, has `cos α = (a² + C) / (a r)` and `sin α = S / (a r)`. The upper joint turns the frame `(u,
//! n)` to `(cos α g + sin α (g × s), s)` with `s = k × g`, all of unit length.
//!
//! # Worked example
//!
//! `A` is the identity, the bones have the lengths 3 and 4, and the knee is bent. The goal is 5 away,
//! straight down:
//!
//! ```text
//! g = (0, -5, 0)    u = (0, -3, 0)    l = (0, -3.2, 2.4)    n = u × l = (-7.2, 0, 0)
//! C  = (25 - 9 - 16) / 2 = 0          S  = √(144 - 0) = 12                     θ  = 90°
//! C₀ = 9.6                            S₀ = 7.2                                 θ₀ = 36.87°
//! ```
//!
//! **Lower joint.** `sin = 12 · 9.6 - 0 = 115.2` and `cos = 0 + 12 · 7.2 = 86.4`, both times 144: 0.8 and
//! 0.6. The joint turns by 53.13° about `n`, and the lower bone becomes `(0, 0, 4)`.
//!
//! **Upper joint.** `p = 9 · 7.2 - 9.6 · 12 = -50.4` and `q = 108`, so the tip is `p u + q l = (0, -194.4,
//! 259.2)`, divided by `a² S₀ = 64.8`: `(0, -3, 4)`, which is 5 away. `w = 9 · 7.2 · 25 + 972 = 2592` and `v
//! × g = (1296, 0, 0)`. Divided by `√(2 · 1620 · 2592) = 2897.9` the quaternion is `(0.447, 0, 0, 0.894)`, a
//! rotation by 53.13° about x. It takes `(0, -3, 4)` to `(0, -5, 0)`.
//!
//! The test `the_worked_limb_comes_out_as_the_preface_says` solves this limb.
//!
//! # Reasons
//!
//! 1. Roots and divisions have the longest latency. Squares stay squared, and lengths stay multiples of their
//!    directions. That leaves six roots, most of which are independent of each other.
//! 2. No branch depends on the limb's values, except for goals out of reach, soft limbs and weights below 1.
//! 3. Products of four lengths stay within f64, because the squares of the lengths are within [`LENGTHS`].
//!
//! # Limits
//!
//! `found` is false for limbs that are straight, folded, singular or of length zero. It is also false if the
//! goal is out of reach and scales are non-uniform. The caller then uses the general solver.
//!
//! # Figures
//!
//! One limb takes a quarter of the time of the general search. The code for AVX2 instead of baseline x86 was
//! 7 % slower without a pole vector and 13 % slower with one, so there is one copy.

use super::TwoBone;
use crate::direct::{Above, DETERMINANTS, dot4, half, near_unit, nlerp, over, scaled4, unit, within};
use condyle::pose::{Lanes, Pose, PoseBlock};
use condyle::skeleton::Skeleton;
use condyle_base::math::Affine;
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_base::math::real::Real;
use condyle_base::math::vectors::{add, cross, dot, scaled, sub};
use condyle_base::simd::BLOCK;

/// References to the inputs of one limb.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    above: &'a Affine,
    /// Block and lane of each joint.
    joints: [(&'a PoseBlock, usize); 3],
    reach: &'a TwoBone<'a>,
}

impl<'a> Source<'a> {
    /// Inputs for joints that exist. `None` if a joint is not the child of the one before it, or if the
    /// request has a hinge, an orientation or limits. Also `None` if the scale of the first joint is not
    /// uniform and positive.
    #[inline(always)]
    pub(crate) fn new(
        skeleton: &Skeleton,
        model: &'a [Affine],
        reach: &'a TwoBone<'a>,
        pose: &'a Pose,
    ) -> Option<Self> {
        let is_part = |part: f32| (0.0..=1.0).contains(&part);
        if reach.limits.is_some()
            || reach.hinge.is_some()
            || reach.orientation.is_some()
            || !is_part(reach.soft)
            || !is_part(reach.weight)
        {
            return None;
        }
        let [upper, lower, tip] = reach.joints;
        let parents = skeleton.parents();
        if parents[usize::from(lower)] != upper || parents[usize::from(tip)] != lower {
            return None;
        }
        let blocks = pose.blocks();
        let place = |joint: u16| (&blocks[usize::from(joint) / BLOCK], usize::from(joint) % BLOCK);
        let (first, lane) = place(upper);
        let [x, y, z] = &first.scale;
        if !(x[lane] == y[lane] && x[lane] == z[lane] && x[lane] > 0.0) {
            return None;
        }
        let above =
            model.get(usize::from(parents[usize::from(upper)])).unwrap_or(const { &Affine::IDENTITY });
        Some(Self { above, joints: [(first, lane), place(lower), place(tip)], reach })
    }

    /// All inputs in groups of four: rows of the parent matrix, rotations of the first two joints,
    /// translations of all three, scale of the second one, goal and pole vector. The fourth lanes of the
    /// translations hold the scale of the first joint, `soft` and `weight`.
    #[inline(always)]
    fn four(&self, at: usize) -> [f32; 4] {
        let [(first, i), (second, j), (third, k)] = self.joints;
        let TwoBone { goal, pole, soft, weight, .. } = *self.reach;
        let rotation = |[x, y, z, w]: &[Lanes; 4], i: usize| [x[i], y[i], z[i], w[i]];
        let vector = |[x, y, z]: &[Lanes; 3], i: usize, last| [x[i], y[i], z[i], last];
        match at {
            0..3 => self.above.rows[at],
            3 => rotation(&first.rotation, i),
            4 => rotation(&second.rotation, j),
            5 => vector(&first.translation, i, first.scale[0][i]),
            6 => vector(&second.translation, j, soft),
            7 => vector(&third.translation, k, weight),
            8 => vector(&second.scale, j, 0.0),
            9 => [goal[0], goal[1], goal[2], 0.0],
            _ => pole.map_or([0.0; 4], |[x, y, z]| [x, y, z, 0.0]),
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

/// A limb and its goal, in f64.
#[derive(Clone, Copy)]
struct Direct {
    /// Rows of the matrix above the upper joint.
    above: [[f64; 4]; 3],
    /// Position of the upper joint in the space of its parent.
    pivot: [f64; 3],
    /// Rotations in the input pose.
    given: [[f64; 4]; 2],
    /// Upper bone in the upper joint's space, including its scale.
    upper_local: [f64; 3],
    /// Lower bone in the lower joint's space, including the scales of both joints.
    lower_local: [f64; 3],
    goal_model: [f64; 3],
    pole_model: Option<[f64; 3]>,
    soft: f64,
    weight: f64,
}

/// Rotations of the solved limb, and the distance of its tip from the goal in model space.
struct Bent {
    turned: [[f64; 4]; 2],
    distance: f64,
    /// False for limbs that need the general solver: straight, folded, singular, of length zero, or out of
    /// reach with non-uniform scales.
    found: bool,
}

/// Squared lengths of a limb, all times the squared determinant.
struct Squares {
    /// `a²`, of the upper bone.
    upper: f64,
    /// `b²`, of the lower bone.
    lower: f64,
    /// `a² + b²`.
    sum: f64,
    /// `r²`, of the goal.
    goal: f64,
}

/// Angle between the bones that brings the tip to its target distance.
struct Elbow {
    /// `C`: the cosine times both lengths.
    cos: f64,
    /// `S`: the sine times both lengths.
    sin: f64,
    /// `a² b²`.
    most: f64,
    /// Distance of the tip as a multiple of the goal's distance.
    ratio: f64,
    /// Distance between tip and goal in model space.
    distance: f64,
    found: bool,
}

/// Both bones in the input pose, in the space that the upper joint rotates.
struct Bones {
    /// Rotations in the input pose, normalised.
    given: [[f64; 4]; 2],
    upper: [f64; 3],
    lower: [f64; 3],
    /// `n = u × l`.
    normal: [f64; 3],
    /// `C₀`.
    cos: f64,
    /// `S₀`.
    sin: f64,
    /// Square of `S₀`.
    sin2: f64,
}

impl Direct {
    #[inline(always)]
    fn new(numbers: &Source<'_>, has_pole: bool) -> Self {
        let ([x, y, z, even], [ux, uy, uz, soft]) = (numbers.load(5), numbers.load(6));
        let ([lx, ly, lz, weight], [p, q, r, _]) = (numbers.load(7), numbers.load(8));
        let ([gx, gy, gz, _], [px, py, pz, _]) = (numbers.load(9), numbers.load(10));
        Self {
            above: [numbers.load(0), numbers.load(1), numbers.load(2)],
            given: [numbers.load(3), numbers.load(4)],
            pivot: [x, y, z],
            upper_local: scaled([ux, uy, uz], even),
            lower_local: [lx * (p * even), ly * (q * even), lz * (r * even)],
            goal_model: [gx, gy, gz],
            pole_model: if has_pole { Some([px, py, pz]) } else { None },
            soft,
            weight,
        }
    }
}

/// Solves one limb. Returns its rotations and the distance from the goal, or `None` if it needs the general
/// solver.
#[inline(always)]
pub(crate) fn solve(limb: &Source<'_>) -> Option<([Quat64; 2], f64)> {
    let Bent { turned, distance, found } = match limb.reach.pole {
        None => Direct::new(limb, false).bent(),
        Some(_) => Direct::new(limb, true).bent(),
    };
    if found { Some((turned, distance)) } else { None }
}

/// Allowed range of the bones' squared lengths, so that no product of them overflows or underflows.
const LENGTHS: [f64; 2] = [1e-16, 1e16];
/// Allowed range of the pole vector's squared length.
const POLES: [f64; 2] = [1e-80, 1e80];

impl Direct {
    /// Bends the limb and turns it to the goal.
    #[inline(always)]
    fn bent(&self) -> Bent {
        let (zero, one) = (self.soft.like(0.0), self.soft.like(1.0));
        let above = Above::new(&self.above);
        let size = above.determinant;
        let moved = [self.above[0][3], self.above[1][3], self.above[2][3]];
        let goal = sub(above.back(sub(self.goal_model, moved)), scaled(self.pivot, size));
        let (far2, size2) = (dot(goal, goal), size * size);
        let (upper2, lower2) =
            (dot(self.upper_local, self.upper_local), dot(self.lower_local, self.lower_local));
        let squares = Squares {
            upper: upper2 * size2,
            lower: lower2 * size2,
            sum: (upper2 + lower2) * size2,
            goal: far2,
        };
        let elbow = self.elbow(&above, &squares);
        let bones = self.bones(size);
        let (mut first, turns) = match self.pole_model {
            None => bones.turned_to(goal, &elbow, &squares),
            Some(pole) => bones.turned_to_pole(goal, above.back(pole), &elbow, &squares, self.given[0]),
        };
        let mut second = bones.unfolded(&elbow);
        let mut distance = elbow.distance;
        let mut found = elbow.found & turns;
        found &= near_unit(self.given[0])
            & near_unit(self.given[1])
            & above.found
            & (elbow.most * 1e-12).is_below(bones.sin2);
        found &= within(upper2, LENGTHS) & within(lower2, LENGTHS) & within(size2, DETERMINANTS);
        let partly = self.weight.is_below(one);
        if f64::any(partly) {
            first = nlerp(bones.given[0], first, self.weight);
            second = nlerp(bones.given[1], second, self.weight);
            let lower = scaled(rotate(second, self.lower_local), size);
            let off = scaled(sub(rotate(first, add(bones.upper, lower)), goal), size.recip());
            let off_model = above.linear(off);
            distance = f64::select(partly, dot(off_model, off_model).sqrt(), distance);
        }
        found &= distance.is_below(zero.like(1e38));
        Bent { turned: [first, second], distance, found }
    }

    /// Returns the angle between the bones that brings the tip to the goal's distance. If the goal is out of
    /// reach, or the limb is soft, [`Self::wanted`] gives the target distance.
    #[inline(always)]
    fn elbow(&self, above: &Above, squares: &Squares) -> Elbow {
        let (zero, one) = (self.soft.like(0.0), self.soft.like(1.0));
        let &Squares { upper: a2, lower: b2, sum, goal: far2 } = squares;
        let (most, mut cos, mut ratio, mut distance) = (a2 * b2, (far2 - sum) * 0.5, one, zero);
        let short = most.is_below(cos * cos) | zero.is_below(self.soft);
        let mut found = (a2 * 1e-12).is_below(far2) & far2.is_below(a2 * 1e12);
        if f64::any(short) {
            let (a, b, far) = (a2.sqrt(), b2.sqrt(), far2.sqrt());
            let wanted = self.wanted(far, (a - b).abs(), a + b);
            let (nearer, most) = ((wanted * wanted - sum) * 0.5, a * b);
            let nearer =
                f64::select(most.is_below(nearer), most, f64::select(nearer.is_below(-most), -most, nearer));
            cos = f64::select(short, nearer, cos);
            ratio = f64::select(short, wanted * far.recip(), ratio);
            let off = (wanted - far).abs() * above.determinant.recip().abs() * above.squares[0].sqrt();
            distance = f64::select(short, off, zero);
            let reaches = ((a + b) * 1e-6).is_below(wanted);
            found &= above.is_even() & reaches | !short;
        }
        let rest = most - cos * cos;
        let sin = f64::select(zero.is_below(rest), rest, zero).sqrt();
        Elbow { cos, sin, most, ratio, distance, found }
    }

    /// Returns the bones in the input pose, times the determinant `size`.
    #[inline(always)]
    fn bones(&self, size: f64) -> Bones {
        let given = [unit(self.given[0]), unit(self.given[1])];
        let upper = scaled(self.upper_local, size);
        let lower = scaled(rotate(given[1], self.lower_local), size);
        let normal = cross(upper, lower);
        let (cos, sin2) = (dot(upper, lower), dot(normal, normal));
        Bones { given, upper, lower, normal, cos, sin: sin2.sqrt(), sin2 }
    }

    /// Returns the target distance of the tip: the goal's distance, clamped to the limb's reach, and eased if
    /// the limb is soft.
    #[inline(always)]
    fn wanted(&self, far: f64, least: f64, most: f64) -> f64 {
        let soft = self.soft * most;
        let begin = most - soft;
        let slow = most - soft * (soft * (far - begin + soft).recip());
        let zero = soft.like(0.0);
        let far = f64::select(zero.is_below(soft) & begin.is_below(far), slow, far);
        let far = f64::select(far.is_below(least), least, far);
        f64::select(most.is_below(far), most, far)
    }
}

impl Bones {
    /// Returns the rotation of the upper joint after the shortest rotation from the new tip to the goal, and
    /// whether that rotation is well defined.
    #[inline(always)]
    fn turned_to(&self, goal: [f64; 3], elbow: &Elbow, squares: &Squares) -> ([f64; 4], bool) {
        let &Elbow { cos, sin, ratio, .. } = elbow;
        let &Squares { upper: a2, goal: far2, .. } = squares;
        // The goal in the upper joint's local space.
        let goal = rotate(conjugate(self.given[0]), goal);
        let size = a2 * self.sin * (ratio * far2);
        let (p, q) = ((a2 + cos) * self.sin - self.cos * sin, a2 * sin);
        let w = size + (dot(self.upper, goal) * p + dot(self.lower, goal) * q);
        let by = (size * w * 2.0).sqrt().recip();
        let [x, y, z] = cross(add(scaled(self.upper, p), scaled(self.lower, q)), goal);
        (scaled4(product(self.given[0], [x, y, z, w]), by), (size * 1e-6).is_below(w))
    }

    /// Returns the rotation of the upper joint that puts the middle joint on the side of the pole vector.
    /// Also returns whether that side is well defined. Of the two equal quaternions it returns the one nearer
    /// to `like`.
    #[inline(always)]
    fn turned_to_pole(
        &self,
        goal: [f64; 3],
        pole: [f64; 3],
        elbow: &Elbow,
        squares: &Squares,
        like: [f64; 4],
    ) -> ([f64; 4], bool) {
        let &Elbow { cos, sin, ratio, .. } = elbow;
        let &Squares { upper: a2, goal: far2, .. } = squares;
        let side = cross(pole, goal);
        let (pole2, side2) = (dot(pole, pole), dot(side, side));
        let found = (far2 * pole2 * 1e-12).is_below(side2) & within(pole2, POLES);
        let (over_a, over_far, over_side) = (over(a2), over(far2), over(side2));
        // Direction of the middle joint: a part along the goal, and a part towards the pole vector.
        let by = over_a * over_far * ratio.recip();
        let (p, q) = ((a2 + cos) * (by * over_far), sin * (by * over_far * over_side));
        let middle = add(scaled(goal, p), scaled(cross(goal, side), q));
        let from = [scaled(self.upper, over_a), scaled(self.normal, self.sin * self.sin2.recip())];
        (between_frames(from, [middle, scaled(side, over_side)], like), found)
    }

    /// Returns the rotation of the lower joint, which turns from the angle in the input pose to that of
    /// `elbow`.
    #[inline(always)]
    fn unfolded(&self, elbow: &Elbow) -> [f64; 4] {
        let &Elbow { cos, sin, most, .. } = elbow;
        let (half_sin, half_cos, half2) =
            half(sin * self.cos - cos * self.sin, cos * self.cos + sin * self.sin, most);
        let [x, y, z] = scaled(self.normal, half_sin);
        let by = (self.sin2 * half2).sqrt().recip();
        scaled4(product([x, y, z, half_cos * self.sin], self.given[1]), by)
    }
}

/// Returns the rotation between two frames, each given by two orthogonal unit vectors. Of the two equal
/// quaternions it returns the one nearer to `like`.
#[inline(always)]
fn between_frames([u, n]: [[f64; 3]; 2], [v, m]: [[f64; 3]; 2], like: [f64; 4]) -> [f64; 4] {
    // If `u` and `v` are more than 90° apart, a half turn about `n` comes first, so that the shortest
    // rotation is well defined.
    let cos = dot(u, v);
    let zero = cos.like(0.0);
    let away = cos.is_below(zero);
    let ahead = cos.like(1.0).with_sign_of(cos);
    let u = scaled(u, ahead);
    // The shortest rotation from `u` to `v`, which is (u × v, w), then one about `v` that takes the rotated
    // `n` to `m`.
    let w = cos.abs() + 1.0;
    let b = cross(v, m);
    let along = dot(v, n);
    let (s, c, square) = half(along * dot(u, b) - w * dot(b, n), w * dot(m, n) - along * dot(u, m), w);
    let [x, y, z] = add(scaled(add(u, v), s), scaled(cross(u, v), c));
    let q = [x, y, z, w * c];
    let [x, y, z] = n;
    let other = product(q, [x, y, z, zero]);
    let [a, b] = [q, other];
    let q = [
        f64::select(away, b[0], a[0]),
        f64::select(away, b[1], a[1]),
        f64::select(away, b[2], a[2]),
        f64::select(away, b[3], a[3]),
    ];
    scaled4(q, (square * w * 2.0).sqrt().recip().with_sign_of(dot4(q, like)))
}
