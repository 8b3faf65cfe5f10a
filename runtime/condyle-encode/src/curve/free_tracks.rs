//! Free tracks: morph weights, scalars, vectors and rotations that drive no joint, with three components per
//! curve.

use alloc::vec::Vec;

use crate::curve::least_squares::Shape;
use crate::curve::quantised::{Candidates, Classes, TrackId, cheapest, constant};
use crate::measure::algebra::{Vector, log_near, sub};
use crate::measure::budget::{CONSTANT_STEP, STATIC_THRESHOLD, USABLE_FRACTION};
use crate::measure::job::ClipJob;
use crate::measure::joint_facts::minus_rounding;
use crate::measure::raw_clip;
use condyle::clip::layout::{Kind, MAX_BITS, WIDTH};
use condyle::clip::write::Curve;

/// Ratio of the diagonal of a cube to its edge.
const SQRT_3: f64 = 1.732_050_807_568_877_2;

impl ClipJob<'_> {
    /// Fits the free tracks of a segment. On failure, returns the index of a track for which no curve met the
    /// budget.
    pub(crate) fn free_curves(
        &self,
        first: usize,
        frames: usize,
        shapes: &[Shape],
        fallback: &[bool],
        curves: &mut Vec<Curve>,
    ) -> Result<(), usize> {
        if self.free_tracks.is_empty() {
            return Ok(());
        }
        let seconds = self.seconds(first, frames);
        let mut classes = Classes::default();
        let mut add = |curve: Option<Curve>, classes: &mut Classes| {
            curve.iter().for_each(|curve| classes.add(curve));
            curves.extend(curve);
        };
        let mut index = 0;
        for (at, (free, track)) in self.free_tracks.iter().zip(&self.free_sources).enumerate() {
            if free.target.rotates() {
                if !fallback[at] {
                    // The error of a rotation is at most that of its logarithm.
                    let mut near = [0.0; 3];
                    let targets: Vec<Vector> = raw_clip::rotations(self.clip, track, &seconds)
                        .into_iter()
                        .map(|rotation| {
                            near = log_near(rotation, near);
                            near
                        })
                        .collect();
                    let limit = minus_rounding(self.options.budget_of(free.target), 1e-7) / SQRT_3;
                    let candidates = Candidates { shapes, classes: &classes };
                    add(values(index, &targets, candidates, limit).ok_or(at)?, &mut classes);
                }
                index += 1;
                continue;
            }
            for from in (0..free.width).step_by(WIDTH) {
                if !fallback[at] {
                    let value = |c: usize, seconds: f64| {
                        if from + c < free.width {
                            raw_clip::component(self.clip, track, from + c, seconds)
                        } else {
                            0.0
                        }
                    };
                    let targets: Vec<Vector> =
                        seconds.iter().map(|&s| core::array::from_fn(|c| value(c, s))).collect();
                    // Half a ULP is reserved for the decoder's f32 rounding.
                    let size = targets.iter().flatten().fold(0.0_f64, |size, v| size.max(v.abs()));
                    let limit = minus_rounding(self.options.budget_of(free.target), 1e-7 * size);
                    let candidates = Candidates { shapes, classes: &classes };
                    add(values(index, &targets, candidates, limit).ok_or(at)?, &mut classes);
                }
                index += 1;
            }
        }
        Ok(())
    }
}

/// Smallest curve for three components, each within `limit`: `Some(None)` if they are zero, `None` if no
/// curve passes.
fn values(
    index: usize,
    targets: &[[f64; 3]],
    candidates: Candidates<'_>,
    limit: f64,
) -> Option<Option<Curve>> {
    let id = TrackId { kind: Kind::Free, index };
    let middle = targets[targets.len() / 2];
    let off = |a: Vector, b: Vector| {
        let off = sub(a, b);
        off[0].abs().max(off[1].abs()).max(off[2].abs())
    };
    if let Some((curve, constant)) = constant(id, middle, limit * CONSTANT_STEP)
        && targets.iter().all(|&value| off(value, constant) < limit * (STATIC_THRESHOLD + CONSTANT_STEP))
    {
        return Some(curve);
    }
    cheapest(id, candidates, MAX_BITS, targets, limit, |shape, keys| {
        (0..targets.len())
            .all(|moment| off(shape.value(keys, moment), targets[moment]) <= limit * USABLE_FRACTION)
    })
    .map(Some)
}
