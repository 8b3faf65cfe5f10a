//! Limbs with joint limits: a search about the line to the goal, then cyclic descent, then least squares.

use super::Limb;
use crate::chain::{Node, Row, least_squares, sweep};
use crate::limits::Limit;
use crate::maps::{Affine64, Vec64, add, angle, direction, length, sub, turn, unit};
use condyle_base::math::quats::{Quat64, product, rotate};
use condyle_base::math::scalar::{sin_cos_f64, sqrt_f64};
use condyle_base::math::vectors::{cross, dot};

/// Rotations of both joints, and the distance between tip and goal that they give.
#[derive(Clone, Copy)]
struct Tried {
    distance: f64,
    turned: [Quat64; 2],
}

impl Limb {
    /// Solution within limits. The solver first tries the free solution, also rotated about the line to the
    /// goal, for either bend of a hinge. If such a pose reaches the goal within the limits, it is returned.
    ///
    /// Otherwise the nearest of these poses and the input pose are improved by cyclic descent. The best
    /// result is then improved by least squares, which also restarts from other poses.
    #[inline(never)]
    pub(super) fn within(&self, limits: [Option<&Limit>; 2]) -> ([Quat64; 2], u32) {
        let held = |at: usize, q: Quat64| limits[at].and_then(|limit| limit.clamp(q)).unwrap_or(q);
        let off = |turned: [Quat64; 2]| length(self.to_model.vector(sub(self.tip(turned), self.goal)));
        let given = [0, 1].map(|at| held(at, unit(self.given[at])));
        let hinge = limits[1].and_then(Limit::hinge);
        let mut bends = match hinge {
            Some(axis) => self.hinged(axis, given[1]),
            None => [self.bent_freely()[1]; 2],
        };
        if let (Some(_), Some(limit)) = (hinge, limits[1].filter(|limit| limit.is_soft())) {
            bends = nearer_to_limit(limit, bends);
        }
        let mut starts = [Tried { distance: off(given), turned: given }; 3];
        let mut enough = f64::INFINITY;
        for (bend, start) in bends.into_iter().zip(&mut starts) {
            let second = held(1, unit(bend));
            let bone = rotate(second, self.lower);
            let (axis, arm) = (self.normal(bone).0, self.arm(bone));
            let first = unit(self.turned_to_goal(arm, axis));
            // Lower bound of the distance with this bend. Without a hinge the bound holds only if the limit
            // left the bend unchanged.
            let least = length(self.to_model.vector(sub(self.nearest(length(arm)), self.goal)));
            if hinge.is_some() || second == unit(bend) {
                enough = enough.min(least);
            }
            let size = length(arm);
            let mut judge = |first: Quat64| {
                let turned = [held(0, first), second];
                let off = off(turned);
                // Among equally near poses the first one is kept, because it needs the smallest rotation.
                if off < start.distance - 1e-9 * size || start.turned == given {
                    *start = Tried { distance: off, turned };
                }
                (off, off <= least + 1e-7 * size)
            };
            let Some(along) = direction(rotate(first, arm)) else { continue };
            if judge(first).1 {
                continue;
            }
            swivel_search(|angle| {
                let (sin, cos) = sin_cos_f64(angle);
                judge(unit(product(turn(along, sin, cos), first)))
            });
        }
        let size = length(self.to_model.vector(self.upper)) + length(self.to_model.vector(self.goal));
        let near = |distance: f64| distance <= enough.max(0.0) + 1e-7 * size || !distance.is_finite();
        let mut best = starts[0];
        for start in starts {
            if start.distance < best.distance - 1e-9 * size {
                best = start;
            }
        }
        let mut rounds = 1;
        if enough.is_finite() && near(best.distance) {
            return (best.turned, rounds);
        }
        let Some(back) = self.between.inverse() else { return (best.turned, rounds) };
        for (at, start) in starts.into_iter().enumerate() {
            if at == 1 && hinge.is_none() {
                continue;
            }
            let (found, more) = self.descended(limits, back, start);
            rounds += more;
            if found.distance < best.distance - 1e-9 * size {
                best = found;
            }
            if enough.is_finite() && near(best.distance) {
                return (best.turned, rounds);
            }
        }
        let (found, more) = self.searched(limits, back, best.turned, 1e-7 * size);
        rounds += more;
        if found.distance < best.distance - 1e-9 * size {
            best = found;
        }
        (best.turned, rounds)
    }

    /// Improves two rotations by least squares, and restarts from others. Also returns the number of rounds.
    fn searched(
        &self,
        limits: [Option<&Limit>; 2],
        back: Affine64,
        turned: [Quat64; 2],
        near: f64,
    ) -> (Tried, u32) {
        let mut nodes = self.nodes(limits, back, turned);
        let mut row = self.row(&mut nodes);
        let rounds = least_squares(&mut row, near, SEARCHED, STARTS);
        let arm = row.arm();
        let turned = [row.nodes[0].rotation, row.nodes[1].rotation];
        (Tried { distance: row.distance(arm), turned }, rounds)
    }

    fn nodes<'l>(
        &self,
        limits: [Option<&'l Limit>; 2],
        back: Affine64,
        turned: [Quat64; 2],
    ) -> [Node<'l>; 2] {
        let node = |at: usize| Node {
            rotation: turned[at],
            best: turned[at],
            pivot: self.pivots[at],
            limit: limits[at],
            hinge: limits[at].and_then(Limit::hinge),
            ..Node::NEW
        };
        [Node { carry: self.between, back, between: self.turned_between, ..node(0) }, node(1)]
    }

    fn row<'n, 'l>(&self, nodes: &'n mut [Node<'l>; 2]) -> Row<'n, 'l> {
        let even = self.even && self.to_model.is_even();
        let goal = add(self.goal, self.pivots[0]);
        let (tip, to_model, even_below) = (self.lower, self.to_model, self.even);
        let mut row = Row { nodes, tip, to_model, goal, even, even_below };
        row.aim_at(goal);
        row
    }

    /// Improves two rotations by cyclic descent until it no longer helps. Also returns the number of rounds.
    fn descended(&self, limits: [Option<&Limit>; 2], back: Affine64, start: Tried) -> (Tried, u32) {
        let mut distance = start.distance;
        let mut nodes = self.nodes(limits, back, start.turned);
        let mut row = self.row(&mut nodes);
        let mut rounds = 0;
        while rounds < ROUNDS {
            rounds += 1;
            let arm = sweep(&mut row, 1.0, None);
            let now = row.distance(arm);
            let better = now < distance * (1.0 - 1e-6);
            distance = now;
            if !better {
                break;
            }
        }
        let turned = [row.nodes[0].rotation, row.nodes[1].rotation];
        (Tried { distance, turned }, rounds)
    }

    /// The two rotations of a hinge that bring the tip to its target distance.
    fn hinged(&self, axis: Vec64, second: Quat64) -> [Quat64; 2] {
        let bone = rotate(second, self.lower);
        if !self.even {
            return [product(self.search(axis, bone), second); 2];
        }
        let along = self.between.transposed(self.upper);
        let carried = self.between.vector(bone);
        let (a2, b2) = (dot(self.upper, self.upper), dot(carried, carried));
        let rest = dot(axis, along) * dot(axis, bone);
        let (cos, sin) = (dot(along, bone) - rest, dot(along, cross(axis, bone)));
        let size = sqrt_f64(cos * cos + sin * sin);
        if size.is_nan() || size <= 0.0 {
            return [second; 2];
        }
        // The squared length is a² + b² + 2 (rest + size · cos φ), where φ is the bend relative to the
        // straightest one.
        let squared = |by: f64| sqrt_f64((a2 + b2 + 2.0 * (rest + by * size)).max(0.0));
        let far = self.distance(squared(-1.0), squared(1.0));
        let c = ((0.5 * (far * far - a2 - b2) - rest) / size).clamp(-1.0, 1.0);
        let s = sqrt_f64((1.0 - c) * (1.0 + c));
        let bent = |s: f64| product(turn(axis, c * sin + s * cos, c * cos - s * sin), second);
        // The bend nearer to the current one comes first.
        let nearer = if sin > 0.0 { -1.0 } else { 1.0 };
        [bent(nearer * s), bent(-nearer * s)]
    }
}

/// Searches the angle about the line to the goal at which the limits let the tip come nearest. It samples
/// angles alternately on both sides, then refines each local minimum by golden-section search. `judge`
/// returns the tip's distance at an angle, and whether it is near enough.
fn swivel_search(mut judge: impl FnMut(f64) -> (f64, bool)) {
    const STEP: f64 = core::f64::consts::TAU / SWIVELS as f64;
    let mut off = [0.0; SWIVELS];
    for part in 0..SWIVELS {
        let angle = part.div_ceil(2) as f64 * STEP;
        let at = if part % 2 == 0 { part / 2 } else { SWIVELS - part.div_ceil(2) };
        let (now, near) = judge(if part % 2 == 0 { angle } else { -angle });
        if near {
            return;
        }
        off[at] = now;
    }
    for part in 0..SWIVELS {
        let at = if part % 2 == 0 { part / 2 } else { SWIVELS - part.div_ceil(2) };
        let (before, after) = (off[(at + SWIVELS - 1) % SWIVELS], off[(at + 1) % SWIVELS]);
        if off[at] > before || off[at] > after {
            continue;
        }
        let middle = at as f64 * STEP;
        let (mut low, mut high) = (middle - STEP, middle + STEP);
        let inner = |low: f64, high: f64| [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
        let [mut a, mut b] = inner(low, high);
        let (mut off_a, mut off_b) = (judge(a), judge(b));
        for _ in 0..REFINED {
            if off_a.1 || off_b.1 {
                return;
            }
            if off_a.0 <= off_b.0 {
                (high, b, off_b) = (b, a, off_a);
                a = inner(low, high)[0];
                off_a = judge(a);
            } else {
                (low, a, off_a) = (a, b, off_b);
                b = inner(low, high)[1];
                off_b = judge(b);
            }
        }
    }
}

const GOLDEN: f64 = 0.618_033_988_749_895;
/// Steps of the golden-section search around a local minimum.
const REFINED: u32 = 32;
/// Number of sampled angles about the line to the goal.
const SWIVELS: usize = 24;
/// Maximum number of rounds of cyclic descent, after the sampling.
const ROUNDS: u32 = 60;
/// Maximum number of rounds of least squares, after cyclic descent.
const SEARCHED: u32 = 200;
/// Number of starts of least squares.
const STARTS: u32 = 24;

/// The bend that exceeds a soft limit less, or the first one if both are equal, in place of both.
///
/// A soft limit reduces both bends, and the one farther beyond the limit ends up nearer to the border.
fn nearer_to_limit(limit: &Limit, bends: [Quat64; 2]) -> [Quat64; 2] {
    let beyond = bends.map(|bend| limit.hold(unit(bend)).map_or(0.0, |held| angle(held, unit(bend))));
    [bends[usize::from(beyond[1] < beyond[0])]; 2]
}
