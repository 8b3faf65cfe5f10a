//! The limb that most are: its joints hang directly on one another, and the first one scales all axes alike. Then both bones keep their lengths
//! whatever turns, and the pose is found without any search.
//!
//! What has a square root is kept as a square, and what has a length as a multiple of its direction: six roots are left, most of which do not wait for each
//! other.

use super::TwoBone;
use crate::direct::{
    Above, DETERMINANTS, add, dot4, half, near_unit, nlerp, over, scaled, scaled4, sub, unit, within,
};
use condyle::pose::{Lanes, Pose, PoseBlock};
use condyle::skeleton::Skeleton;
use condyle_base::math::Affine;
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_base::math::real::Real;
use condyle_base::math::vectors::{cross, dot};
use condyle_base::simd::BLOCK;

/// Where the numbers of a limb lie.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    above: &'a Affine,
    /// The block and the lane of each joint.
    joints: [(&'a PoseBlock, usize); 3],
    reach: &'a TwoBone<'a>,
}

impl<'a> Source<'a> {
    /// Of joints that exist; `None` if others are between them, if the scale of the first one is not the same along all axes, or if more is asked for than
    /// a place and a pole.
    #[inline(always)]
    pub(crate) fn new(
        skeleton: &Skeleton,
        model: &'a [Affine],
        reach: &'a TwoBone<'a>,
        pose: &'a Pose,
    ) -> Option<Self> {
        let is_part = |part: f32| (0.0..=1.0).contains(&part);
        if reach.limits.is_some()
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

    /// All numbers that matter, by fours: the rows of the matrix above, the rotations of the first two joints, the translations of all three, the
    /// second one's scale, goal and pole. Behind these vectors are the scale of the first joint, `soft` and `weight`.
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

/// The two bones, and what they are to reach.
#[derive(Clone, Copy)]
struct Direct {
    /// The rows of the matrix above the first joint.
    above: [[f64; 4]; 3],
    pivot: [f64; 3],
    /// The rotations in the pose.
    given: [[f64; 4]; 2],
    /// The bones, in the spaces that the two joints turn, scaled as the first one does.
    upper: [f64; 3],
    lower: [f64; 3],
    /// In model space.
    goal: [f64; 3],
    pole: Option<[f64; 3]>,
    soft: f64,
    weight: f64,
}

/// The rotations that it comes to, and how far from the goal that is in model space.
struct Bent {
    turned: [[f64; 4]; 2],
    distance: f64,
    /// Where this is not set the limb is one of those that take more thought: straight, folded, flat, of no length, or out of reach under uneven scales.
    found: bool,
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
            upper: scaled([ux, uy, uz], even),
            lower: [lx * (p * even), ly * (q * even), lz * (r * even)],
            goal: [gx, gy, gz],
            pole: if has_pole { Some([px, py, pz]) } else { None },
            soft,
            weight,
        }
    }
}

/// Of one limb, as it was worked out.
#[inline(always)]
pub(crate) fn solve(limb: &Source<'_>) -> Option<([Quat64; 2], f64)> {
    let Bent { turned, distance, found } = match limb.reach.pole {
        None => Direct::new(limb, false).bent(),
        Some(_) => Direct::new(limb, true).bent(),
    };
    if found { Some((turned, distance)) } else { None }
}

/// What the squares of the bones' lengths may be, from where to where, so that no product of them overflows or vanishes.
const LENGTHS: [f64; 2] = [1e-16, 1e16];
/// The same of the pole's length.
const POLES: [f64; 2] = [1e-80, 1e80];

impl Direct {
    /// Bends the limb and turns it to the goal.
    #[inline(always)]
    fn bent(&self) -> Bent {
        let (zero, one) = (self.soft.like(0.0), self.soft.like(1.0));

        // All lengths are `size` times as long from here on, which spares the goal the division.
        let above = Above::new(&self.above);
        let size = above.determinant;
        let moved = [self.above[0][3], self.above[1][3], self.above[2][3]];
        let goal = sub(above.back(sub(self.goal, moved)), scaled(self.pivot, size));
        let (far2, size2) = (dot(goal, goal), size * size);
        let (upper2, lower2) = (dot(self.upper, self.upper), dot(self.lower, self.lower));
        let (a2, b2, sum) = (upper2 * size2, lower2 * size2, (upper2 + lower2) * size2);

        // Sine and cosine of the angle between the bones, times both lengths: with the tip as far out as the goal, or where it is to be instead, …
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
            let off = (wanted - far).abs() * size.recip().abs() * above.squares[0].sqrt();
            distance = f64::select(short, off, zero);
            let reaches = ((a + b) * 1e-6).is_below(wanted);
            found &= above.is_even() & reaches | !short;
        }
        let rest = most - cos * cos;
        let sin = f64::select(zero.is_below(rest), rest, zero).sqrt();

        // … and now, about an axis across.
        let given = [unit(self.given[0]), unit(self.given[1])];
        let upper = scaled(self.upper, size);
        let bone = scaled(rotate(given[1], self.lower), size);
        let normal = cross(upper, bone);
        let (cos_now, sine2) = (dot(upper, bone), dot(normal, normal));
        let sin_now = sine2.sqrt();

        let mut first = match self.pole {
            None => {
                // The tip from the first pivot, `a2 * sin_now` times as far out as it is, and the goal as the joint would turn it.
                let goal = rotate(conjugate(given[0]), goal);
                let size = a2 * sin_now * (ratio * far2);
                let (p, q) = ((a2 + cos) * sin_now - cos_now * sin, a2 * sin);
                let w = size + (dot(upper, goal) * p + dot(bone, goal) * q);
                let by = (size * w * 2.0).sqrt().recip();
                found &= (size * 1e-6).is_below(w);
                let [x, y, z] = cross(add(scaled(upper, p), scaled(bone, q)), goal);
                scaled4(product(given[0], [x, y, z, w]), by)
            }
            Some(pole) => {
                let pole = above.back(pole);
                let side = cross(pole, goal);
                let (pole2, side2) = (dot(pole, pole), dot(side, side));
                found &= (far2 * pole2 * 1e-12).is_below(side2) & within(pole2, POLES);
                let (over_a, over_far, over_side) = (over(a2), over(far2), over(side2));
                // The middle joint as a direction: along the way to the goal, and out to the side of the pole.
                let by = over_a * over_far * ratio.recip();
                let (p, q) = ((a2 + cos) * (by * over_far), sin * (by * over_far * over_side));
                let middle = add(scaled(goal, p), scaled(cross(goal, side), q));
                let from = [scaled(upper, over_a), scaled(normal, sin_now * sine2.recip())];
                between_frames(from, [middle, scaled(side, over_side)], self.given[0])
            }
        };

        // The second joint turns from the angle now to the other one.
        let (half_sin, half_cos, half2) =
            half(sin * cos_now - cos * sin_now, cos * cos_now + sin * sin_now, most);
        let [x, y, z] = scaled(normal, half_sin);
        let by = (sine2 * half2).sqrt().recip();
        let mut second = scaled4(product([x, y, z, half_cos * sin_now], given[1]), by);

        found &= near_unit(self.given[0])
            & near_unit(self.given[1])
            & above.found
            & (most * 1e-12).is_below(sine2);
        found &= within(upper2, LENGTHS) & within(lower2, LENGTHS) & within(size2, DETERMINANTS);
        let partly = self.weight.is_below(one);
        if f64::any(partly) {
            first = nlerp(given[0], first, self.weight);
            second = nlerp(given[1], second, self.weight);
            let tip = rotate(first, add(upper, scaled(rotate(second, self.lower), size)));
            let off = scaled(sub(tip, goal), size.recip());
            let off = above.linear(off);
            distance = f64::select(partly, dot(off, off).sqrt(), distance);
        }
        found &= distance.is_below(zero.like(1e38));
        Bent { turned: [first, second], distance, found }
    }

    /// How far out the tip is to be: not nearer and not farther than it comes, and softly.
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

/// The rotation that turns two directions at right angles into two others. Of the two quaternions that say so it is the one nearer to `like`.
#[inline(always)]
fn between_frames([u, n]: [[f64; 3]; 2], [v, m]: [[f64; 3]; 2], like: [f64; 4]) -> [f64; 4] {
    // Where the first two point away from each other it begins with a half turn about the second one, so that there is a shortest way.
    let cos = dot(u, v);
    let zero = cos.like(0.0);
    let away = cos.is_below(zero);
    let ahead = cos.like(1.0).with_sign_of(cos);
    let u = scaled(u, ahead);
    // By the shortest way from `u` to `v`, which is (u × v, w), then about `v`, from where that brings `n` to `m`.
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
