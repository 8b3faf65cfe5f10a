//! Influences in vertex buffer format, and their values.

use clap::ValueEnum;
use condyle::{Error, Influences};

/// Width of the joint indices of a vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum JointFormat {
    /// `Uint8x4`: skins with up to 256 joints
    U8,
    /// `Uint16x4`: skins with any number of joints
    U16,
}

impl JointFormat {
    /// Number of 32-bit words of the four joint indices of a vertex.
    pub(crate) fn words(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
        }
    }
}

/// Four influences per vertex.
pub(crate) struct Packed {
    /// `Uint8x4` or `Uint16x4`.
    pub(crate) joints: Vec<u8>,
    /// `Unorm8x4`.
    pub(crate) weights: Vec<[u8; 4]>,
    /// The same weights for the CPU. With other weights an object would jump when it switches between CPU and
    /// GPU.
    pub(crate) rounded: Influences,
}

impl Packed {
    /// Packs influences.
    ///
    /// # Errors
    /// The errors of [`Influences::pack`].
    pub(crate) fn new(influences: &Influences, format: JointFormat) -> Result<Self, Error> {
        let count = influences.vertex_count();
        let (mut wide, mut weights) = (vec![[0_u16; 4]; count], vec![[0; 4]; count]);
        let joints = match format {
            JointFormat::U8 => {
                let mut narrow = vec![[0_u8; 4]; count];
                influences.pack(&mut narrow, &mut weights)?;
                wide = narrow.iter().map(|joints| joints.map(u16::from)).collect();
                narrow.into_flattened()
            }
            JointFormat::U16 => {
                influences.pack(&mut wide, &mut weights)?;
                bytemuck::cast_slice(&wide).to_vec()
            }
        };
        let row = |(joints, weights): (&[u16; 4], &[u8; 4])| {
            [0, 1, 2, 3].map(|at| (joints[at], f32::from(weights[at]) / 255.0))
        };
        let rounded = Influences::from_rows(wide.iter().zip(&weights).map(row))?;
        Ok(Self { joints, weights, rounded })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_widths_mean_the_same() {
        let rows =
            [vec![(3, 0.75), (200, 0.25)], vec![], vec![(7, 0.3), (1, 0.3), (2, 0.2), (9, 0.1), (8, 0.1)]];
        let influences = Influences::from_rows(rows).expect("finite");
        let [narrow, wide] = [JointFormat::U8, JointFormat::U16]
            .map(|format| Packed::new(&influences, format).expect("small joints"));
        assert_eq!(narrow.joints, [3, 200, 0, 0, 0, 0, 0, 0, 1, 7, 2, 8]);
        assert_eq!(wide.joints.len(), 2 * narrow.joints.len());
        assert!(narrow.rounded == wide.rounded && narrow.weights == wide.weights);
        assert!(narrow.rounded.row(0).eq([(3, 191.0 / 255.0), (200, 64.0 / 255.0)]));
        assert_eq!((narrow.rounded.row(1).len(), narrow.rounded.row(2).len()), (0, 4));
    }

    #[test]
    fn what_pack_refuses_is_refused() {
        let refused = |row: [(u16, f32); 2], format| {
            let influences = Influences::from_rows([row]).expect("finite");
            Packed::new(&influences, format).err()
        };
        let large = [(256, 0.5), (0, 0.5)];
        assert!(matches!(refused(large, JointFormat::U8), Some(Error::Index { found: 256, .. })));
        assert!(refused(large, JointFormat::U16).is_none());
        let half = [(0, 0.25), (1, 0.25)];
        assert!(matches!(refused(half, JointFormat::U8), Some(Error::OutOfRange { what: "weights", .. })));
    }
}
