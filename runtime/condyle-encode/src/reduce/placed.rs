//! Model matrices of a joint as readers decode it.
//!
//! Rotations stored as integers are not exactly of unit length. Readers that normalise them and readers that
//! do not place the joints below differently. The fit aims at the mean of both, and its limits leave room for
//! half of the difference.

use alloc::vec;
use alloc::vec::Vec;

use crate::curve::alignment::Spread;
use crate::measure::algebra::{Affine64, add, length};
use crate::measure::ball::squares;
use crate::measure::joint_facts::JointFacts;
use crate::measure::model::joint_matrices;
use condyle_base::math::Transform64;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::normalize;

/// Model matrices of a joint, per moment.
#[derive(Default)]
pub(super) struct Placed {
    /// Mean of the matrices of both kinds of readers.
    pub(super) mean: Vec<Affine64>,
    /// Matrices of readers that do not normalise, minus the mean. Empty if all readers get the same.
    off: Vec<Affine64>,
}

impl Placed {
    /// Places a joint with local transforms as readers get them that do not normalise.
    pub(super) fn new(above: Option<&Self>, own: &[Transform64], readers_differ: bool) -> Self {
        if !readers_differ {
            return Self { mean: joint_matrices(above.map(|above| &above.mean[..]), own), off: Vec::new() };
        }
        let (mut mean, mut off) = (Vec::with_capacity(own.len()), Vec::with_capacity(own.len()));
        for (moment, local) in own.iter().enumerate() {
            let loose = Affine64::local(local);
            let mut unit = *local;
            normalize(&mut unit.rotation);
            let unit = Affine64::local(&unit);
            let [loose, unit] = match above {
                None => [loose, unit],
                Some(above) => {
                    let (mean, off) = (&above.mean[moment], &above.off[moment]);
                    [plus(mean, off).after(&loose), mean.less(off).after(&unit)]
                }
            };
            let half = scaled(&loose.less(&unit), 0.5);
            mean.push(loose.less(&half));
            off.push(half);
        }
        Self { mean, off }
    }

    /// Half of the differences between readers in the space of a child with these local transforms.
    pub(super) fn spreads(above: Option<&Self>, child: &[Transform64]) -> Vec<Spread> {
        let Some(above) = above else { return vec![Spread::default(); child.len()] };
        let of = |(off, local): (&Affine64, &Transform64)| Spread {
            shift: length(off.point(local.translation)),
            turn: sqrt_f64(squares(&off.linear)),
        };
        above.off.iter().zip(child).map(of).collect()
    }

    /// Maximum distance of a point of the joint from its authored position.
    pub(super) fn error(&self, joint: &JointFacts, model: &[Affine64]) -> f64 {
        let mut worst = 0.0_f64;
        for (moment, (mean, want)) in self.mean.iter().zip(model).enumerate() {
            let mut read = |is: &Affine64| {
                for ball in &joint.shell {
                    worst = worst.max(ball.beyond(is, want, worst).unwrap_or_default());
                }
            };
            match self.off.get(moment) {
                None => read(mean),
                Some(off) => [plus(mean, off), mean.less(off)].iter().for_each(read),
            }
        }
        worst
    }
}

fn plus(a: &Affine64, b: &Affine64) -> Affine64 {
    let linear = core::array::from_fn(|row| add(a.linear[row], b.linear[row]));
    Affine64 { linear, origin: add(a.origin, b.origin) }
}

fn scaled(matrix: &Affine64, by: f64) -> Affine64 {
    let scaled = |row: [f64; 3]| row.map(|v| v * by);
    Affine64 { linear: matrix.linear.map(scaled), origin: scaled(matrix.origin) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_base::math::quats::Quat64;
    use condyle_testing::Random;

    /// The mean plus and minus the difference is a chain as each kind of reader places it.
    #[test]
    fn a_chain_is_placed_for_both_kinds_of_readers() {
        let mut random = Random(3);
        let (mut placed, mut chains): (Vec<Placed>, Vec<[Affine64; 2]>) = Default::default();
        for joint in 0..6_usize {
            let long: Quat64 = random.unit::<4>().map(|v| 1.001 * f64::from(v));
            let mut local = Transform64 {
                translation: random.vector(1.0).map(f64::from),
                rotation: long,
                scale: [1.0; 3],
            };
            placed.push(Placed::new(joint.checked_sub(1).map(|above| &placed[above]), &[local], true));
            let loose = Affine64::local(&local);
            normalize(&mut local.rotation);
            let own = [loose, Affine64::local(&local)];
            chains.push(match chains.last() {
                Some(above) => [above[0].after(&own[0]), above[1].after(&own[1])],
                None => own,
            });
            let (mean, off) = (&placed[joint].mean[0], &placed[joint].off[0]);
            let is = [plus(mean, off), mean.less(off)];
            for (is, want) in is.iter().zip(&chains[joint]) {
                let off = is.less(want);
                assert!(length(off.origin) + sqrt_f64(squares(&off.linear)) < 1e-12, "joint {joint}");
            }
            assert!(squares(&off.linear) > 0.0);
        }
    }
}
