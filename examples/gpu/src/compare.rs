//! Comparison of drawn vertices with the result of `skin` for the same model matrices.

use condyle::mesh::AtMost;
use condyle::skinning::InterleavedMut;
use condyle::{Affine, Error, Influences, NormalRule, Palette, Skin, palette, skin};

use crate::bounds::{Allowed, Bounds, With};
use crate::character::{LAYOUT, Mesh, Vertex};

/// Largest differences so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Worst {
    /// Largest difference of a component.
    pub(crate) difference: f64,
    /// Bound of that component.
    pub(crate) bound: f64,
    /// Largest difference relative to its bound. More than 1 or NaN is a failure.
    pub(crate) part: f64,
}

impl Worst {
    fn take(&mut self, a: [f32; 3], b: [f32; 3], bound: f64) {
        for (a, b) in a.into_iter().zip(b) {
            let difference = (f64::from(a) - f64::from(b)).abs();
            // NaN counts as the largest difference, and stays.
            if difference > self.difference || difference.is_nan() {
                (self.difference, self.bound) = (difference, bound);
            }
            let part = if difference == 0.0 { 0.0 } else { difference / bound };
            if part > self.part || part.is_nan() {
                self.part = part;
            }
        }
    }

    pub(crate) fn holds(&self) -> bool {
        self.part <= 1.0
    }
}

/// Differences of an object over all frames.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Differences {
    pub(crate) position: Worst,
    pub(crate) normal: Worst,
}

impl Differences {
    fn take(&mut self, a: &Vertex, b: &Vertex, allowed: Allowed) {
        self.position.take(a.position, b.position, allowed.position);
        self.normal.take(a.normal, b.normal, allowed.normal);
    }

    pub(crate) fn holds(&self) -> bool {
        self.position.holds() && self.normal.holds()
    }
}

/// Differences in the order of [`With::EACH`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Compared(pub(crate) [Differences; 3]);

impl Compared {
    pub(crate) fn holds(&self) -> bool {
        self.0.iter().all(Differences::holds)
    }

    /// Compares one instance. With `same_bits` the vertices come from `skin` with packed weights, and must
    /// have the same bits.
    ///
    /// # Errors
    /// The errors of the library.
    pub(crate) fn take(
        &mut self,
        drawn: &[Vertex],
        mesh: &Mesh,
        bound: &Skin,
        model: &[Affine],
        same_bits: bool,
    ) -> Result<(), Error> {
        let mut matrices = Palette::default();
        palette(bound, model, NormalRule::Plain, &mut matrices)?;
        let [packed, authored] = [&mesh.packed.rounded, &mesh.influences];
        let mut want = Vec::new();
        for with in With::EACH {
            want.push(match with {
                With::Packed => skinned(mesh, packed.into(), &matrices)?,
                With::Four => skinned(mesh, authored.at_most(4), &matrices)?,
                With::All => skinned(mesh, authored.into(), &matrices)?,
            });
        }
        let (mut packed_row, mut authored_row) = (Vec::new(), Vec::new());
        for (v, drawn) in drawn.iter().enumerate() {
            packed_row.clear();
            packed_row.extend(packed.row(v));
            authored_row.clear();
            authored_row.extend(authored.row(v));
            let bounds = Bounds::new(matrices.matrices(), &mesh.vertices[v], &packed_row, &authored_row);
            for (((with, own), want), allowed) in With::EACH.iter().zip(&mut self.0).zip(&want).zip(bounds.0)
            {
                let nothing = same_bits && *with == With::Packed;
                own.take(drawn, &want[v], if nothing { Allowed::NOTHING } else { allowed });
            }
        }
        Ok(())
    }
}

fn skinned(
    mesh: &Mesh,
    influences: AtMost<'_, Influences>,
    matrices: &Palette,
) -> Result<Vec<Vertex>, Error> {
    let mut posed = mesh.vertices.clone();
    let to = InterleavedMut { bytes: bytemuck::cast_slice_mut(&mut posed), layout: LAYOUT };
    skin(influences, matrices, mesh.bind(), to)?;
    Ok(posed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_kept() {
        let mut worst = Worst::default();
        worst.take([1.0, 2.0, 3.0], [1.0, 2.5, 3.0], 1.0);
        worst.take([0.0; 3], [0.0, 0.0, 0.25], 0.25);
        assert_eq!(worst, Worst { difference: 0.5, bound: 1.0, part: 1.0 });
        assert!(worst.holds());
        worst.take([0.0; 3], [0.1, 0.0, 0.0], 0.05);
        assert!(!worst.holds() && worst.difference == 0.5);
        let mut exact = Worst::default();
        exact.take([1.0; 3], [1.0; 3], 0.0);
        assert!(exact.holds());
        exact.take([1.0; 3], [1.0, 1.0 + f32::EPSILON, 1.0], 0.0);
        assert!(!exact.holds());
        let mut broken = Worst::default();
        broken.take([f32::NAN, 0.0, 0.0], [0.0; 3], 1.0);
        broken.take([0.5, 0.0, 0.0], [0.0; 3], 1.0);
        assert!(!broken.holds() && broken.difference.is_nan());
    }
}
