//! Influences in the layout of a GPU vertex buffer: four joints and four 8-bit weights per vertex.

use super::Influences;
use condyle_base::error::Error;

/// Influences per vertex.
const EACH: usize = 4;
/// Sum of the four weights of a vertex.
const ONE: u8 = u8::MAX;

impl Influences {
    /// Packs the four heaviest influences of each vertex for skinning on the GPU.
    ///
    /// The 8-bit weights of a vertex sum to exactly 255, or to 0 for a vertex without influences.
    ///
    /// `joints` and `weights` receive four entries per vertex. Unused entries are joint 0 with weight 0.
    /// Vertex formats:
    ///
    /// | API | `u8` joints | `u16` joints | weights |
    /// |---|---|---|---|
    /// | wgpu | `Uint8x4` | `Uint16x4` | `Unorm8x4` |
    /// | OpenGL | `GL_UNSIGNED_BYTE` | `GL_UNSIGNED_SHORT` | `GL_UNSIGNED_BYTE`, normalized |
    /// | Direct3D | `R8G8B8A8_UINT` | `R16G16B16A16_UINT` | `R8G8B8A8_UNORM` |
    ///
    /// A vertex with more than four influences loses the ones that [`at_most`](Self::at_most)`(4)` drops.
    /// Each of its four joints alone would move the vertex to some point. Rounding the weights moves the
    /// vertex by at most 1/255 of the largest distance between two of these points.
    ///
    /// # Errors
    /// [`Error::Length`] if `joints` or `weights` does not have one element per vertex. [`Error::Index`],
    /// with the vertex, for a joint that does not fit `J`. [`Error::OutOfRange`], with the vertex, if a
    /// weight is negative or if the sum of the weights differs from 1 by more than half a step. On an error,
    /// `joints` and `weights` are unchanged.
    ///
    /// ```
    /// use condyle::Influences;
    ///
    /// let influences = Influences::from_rows([vec![(3, 0.75), (4, 0.25)], vec![(5, 1.0)]])?;
    /// let (mut joints, mut weights) = ([[0_u8; 4]; 2], [[0; 4]; 2]);
    /// influences.pack(&mut joints, &mut weights)?;
    /// assert_eq!((joints, weights), ([[3, 4, 0, 0], [5, 0, 0, 0]], [[191, 64, 0, 0], [255, 0, 0, 0]]));
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn pack<J>(&self, joints: &mut [[J; EACH]], weights: &mut [[u8; EACH]]) -> Result<(), Error>
    where
        J: TryFrom<u16> + Copy + Default,
    {
        let vertices = self.vertex_count();
        Error::check_len("joints", joints.len(), vertices)?;
        Error::check_len("weights", weights.len(), vertices)?;
        for vertex in 0..vertices {
            self.check_packable::<J>(vertex)?;
        }
        for ((vertex, joints), weights) in (0..).zip(joints).zip(weights) {
            *joints = [J::default(); EACH];
            for (to, (joint, _)) in joints.iter_mut().zip(self.row(vertex)) {
                // `check_packable` rejected joints that do not fit.
                *to = J::try_from(joint).unwrap_or_default();
            }
            *weights = rounded(self.heaviest(vertex));
        }
        Ok(())
    }

    /// Weights of the four heaviest influences, padded with zeros.
    fn heaviest(&self, vertex: usize) -> [f32; EACH] {
        let mut weights = [0.0; EACH];
        for (to, (_, weight)) in weights.iter_mut().zip(self.row(vertex)) {
            *to = weight;
        }
        weights
    }

    fn check_packable<J: TryFrom<u16>>(&self, vertex: usize) -> Result<(), Error> {
        let (mut sum, mut least) = (0.0, 0.0_f32);
        for (_, weight) in self.row(vertex) {
            sum += f64::from(weight);
            least = least.min(weight);
        }
        let is_one = (sum - 1.0).abs() <= 0.5 / f64::from(ONE) || self.row(vertex).len() == 0;
        if least < 0.0 || !is_one {
            let needed = "non-negative, with a sum of 1";
            return Err(Error::OutOfRange { what: "weights", at: vertex, needed });
        }
        let fits = |joint: u16| J::try_from(joint).is_ok();
        let too_large = self.row(vertex).take(EACH).find(|&(joint, _)| !fits(joint));
        too_large.map_or(Ok(()), |(joint, _)| {
            // Number of joints that `J` can index, for example 256 for `u8`.
            let count = (0..joint).find(|&other| !fits(other)).unwrap_or(joint).into();
            Err(Error::Index { what: "joint of vertex", at: vertex, found: joint.into(), count })
        })
    }
}

/// Rounds weights to integers that sum to [`ONE`] by the largest-remainder method, which minimises the
/// largest error.
fn rounded(weights: [f32; EACH]) -> [u8; EACH] {
    let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    if sum == 0.0 {
        return [0; EACH];
    }
    let exact = weights.map(|weight| f64::from(weight) / sum * f64::from(ONE));
    let mut steps = exact.map(|steps| steps as u8);
    let missing = ONE.saturating_sub(steps.iter().sum());
    // The sort is stable: of equal remainders, the heaviest weight comes first.
    let mut order = [0, 1, 2, 3];
    let remainder = |at: usize| exact[at] - f64::from(exact[at] as u8);
    order.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)));
    order.into_iter().take(missing.into()).for_each(|at| steps[at] += 1);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;
    use std::{vec, vec::Vec};

    /// Rows of 0 to 6 influences whose weights sum to 1, except for rounding.
    fn random_rows(random: &mut Random, vertices: usize, joints: usize) -> Vec<Vec<(u16, f32)>> {
        let row = |v: usize| {
            let weights: Vec<f32> = (0..v % 7).map(|_| random.range(0.0, 1.0).powi(4)).collect();
            let sum: f32 = weights.iter().sum();
            weights.iter().map(|weight| (random.below(joints) as u16, weight / sum)).collect()
        };
        (0..vertices).map(row).collect()
    }

    #[test]
    fn weights_sum_to_all_steps_and_are_near() {
        let mut random = Random(6);
        let count = if cfg!(miri) { 40 } else { 700 };
        let influences = Influences::from_rows(random_rows(&mut random, count, 256)).expect("finite");
        let (mut joints, mut weights) = (vec![[7_u8; 4]; count], vec![[7; 4]; count]);
        influences.pack(&mut joints, &mut weights).expect("small joints");
        let mut wide = vec![[7_u16; 4]; count];
        influences.pack(&mut wide, &mut weights).expect("any joints");
        for v in 0..count {
            let row: Vec<_> = influences.row(v).take(4).collect();
            let kept: f64 = row.iter().map(|(_, weight)| f64::from(*weight)).sum();
            let sum: u32 = weights[v].iter().map(|&weight| u32::from(weight)).sum();
            assert_eq!(sum, if row.is_empty() { 0 } else { 255 }, "vertex {v}");
            let mut off = 0.0;
            for at in 0..4 {
                let (joint, weight) = row.get(at).copied().unwrap_or_default();
                assert_eq!((joints[v][at], wide[v][at]), (joint as u8, joint), "vertex {v}");
                let want = if kept > 0.0 { f64::from(weight) / kept } else { 0.0 };
                let own = (f64::from(weights[v][at]) / 255.0 - want).abs();
                assert!(own < 1.0 / 255.0, "vertex {v}: {own}");
                off += own;
            }
            // Half of the summed differences is the weight that moves from one joint to another.
            assert!(off / 2.0 <= 1.0 / 255.0 + 1e-12, "vertex {v}: {off}");
        }
    }

    #[test]
    fn the_greatest_remainders_are_rounded_up() {
        assert_eq!(rounded([0.5, 0.5, 0.0, 0.0]), [128, 127, 0, 0]);
        assert_eq!(rounded([0.25; 4]), [64, 64, 64, 63]);
        assert_eq!(rounded([1.0, 0.0, 0.0, 0.0]), [255, 0, 0, 0]);
        assert_eq!(rounded([0.998, 0.001, 0.001, 0.0]), [255, 0, 0, 0]);
        assert_eq!(rounded([0.997, 0.003, 0.0, 0.0]), [254, 1, 0, 0]);
        assert_eq!(rounded([0.0; 4]), [0; 4]);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_changes_nothing() {
        let refused = |row: Vec<(u16, f32)>| {
            let influences = Influences::from_rows([vec![(0, 1.0)], row]).expect("finite");
            let (mut joints, mut weights) = ([[9_u8; 4]; 2], [[9; 4]; 2]);
            let result = influences.pack(&mut joints, &mut weights);
            assert_eq!((joints, weights), ([[9; 4]; 2], [[9; 4]; 2]), "{result:?}");
            result.expect_err("does not fit")
        };
        let joint = Error::Index { what: "joint of vertex", at: 1, found: 256, count: 256 };
        assert_eq!(refused(vec![(256, 1.0)]), joint);
        for row in [vec![(0, 1.25), (1, -0.25)], vec![(0, 0.5)], vec![(0, 1.0), (1, 0.01)]] {
            assert!(matches!(refused(row), Error::OutOfRange { what: "weights", at: 1, .. }));
        }
        let signed = Influences::from_rows([vec![(200, 1.0)]]).expect("finite");
        let joint = Error::Index { what: "joint of vertex", at: 0, found: 200, count: 128 };
        assert_eq!(signed.pack(&mut [[0_i8; 4]], &mut [[0; 4]]), Err(joint));
        let one = Influences::rigid(1);
        assert!(one.pack(&mut [[0_u8; 4]; 2], &mut [[0; 4]]).is_err());
        assert!(one.pack(&mut [[0_u8; 4]], &mut []).is_err());
        // A fifth influence is dropped, so its joint does not have to fit `J`.
        let five: Vec<(u16, f32)> = (0..5)
            .map(|at| (if at == 4 { 999 } else { at }, [0.3, 0.25, 0.2, 0.15, 0.1][usize::from(at)]))
            .collect();
        let influences = Influences::from_rows([five]).expect("finite");
        let (mut joints, mut weights) = ([[0_u8; 4]], [[0; 4]]);
        influences.pack(&mut joints, &mut weights).expect("four small joints");
        assert_eq!(joints, [[0, 1, 2, 3]]);
    }
}
