//! Palettes of all instances of all objects, side by side in the uploaded memory.

use clap::ValueEnum;
use condyle::skinning::{palette_columns, palette_rows};
use condyle::{Affine, Error, Skeleton, Skin};

/// Memory layout of a palette matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatrixFormat {
    /// 4x4, column by column, 64 bytes: `mat4x4<f32>`
    Columns,
    /// 3x4, row by row, 48 bytes: `mat3x4<f32>`
    Rows,
}

enum Matrices {
    Columns(Vec<[f32; 16]>),
    Rows(Vec<Affine>),
}

/// Palettes uploaded in each frame. The memory is reused.
pub(crate) struct Palettes {
    matrices: Matrices,
    /// Number of joints of the skin.
    width: usize,
}

impl Palettes {
    /// Allocates palettes for `instances` instances of a character.
    pub(crate) fn new(format: MatrixFormat, instances: usize, skin: &Skin) -> Self {
        let width = skin.joints().len();
        let count = instances * width;
        let matrices = match format {
            MatrixFormat::Columns => Matrices::Columns(vec![[0.0; 16]; count]),
            MatrixFormat::Rows => Matrices::Rows(vec![Affine::IDENTITY; count]),
        };
        Self { matrices, width }
    }

    /// Writes the palettes of the instances from `first` on. `models` holds the model matrices of each.
    ///
    /// # Errors
    /// The errors of the library.
    pub(crate) fn write(
        &mut self,
        first: usize,
        skin: &Skin,
        skeleton: &Skeleton,
        models: &[Affine],
    ) -> Result<(), Error> {
        let models = models.chunks(skeleton.joint_count().max(1));
        let from = first * self.width;
        match &mut self.matrices {
            Matrices::Columns(matrices) => models
                .zip(matrices[from..].chunks_mut(self.width))
                .try_for_each(|(model, matrices)| palette_columns(skin, model, matrices)),
            Matrices::Rows(matrices) => models
                .zip(matrices[from..].chunks_mut(self.width))
                .try_for_each(|(model, matrices)| palette_rows(skin, model, matrices)),
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.matrices {
            Matrices::Columns(matrices) => bytemuck::cast_slice(matrices),
            Matrices::Rows(matrices) => bytemuck::cast_slice(matrices),
        }
    }

    pub(crate) fn format(&self) -> MatrixFormat {
        match self.matrices {
            Matrices::Columns(_) => MatrixFormat::Columns,
            Matrices::Rows(_) => MatrixFormat::Rows,
        }
    }

    /// Number of matrices of one instance.
    pub(crate) fn matrices_of_one(&self) -> u32 {
        self.width as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::Character;

    /// Both layouts hold the same bits, for one instance and for many.
    #[test]
    fn rows_and_columns_are_the_same_matrices() {
        let character = Character::new().expect("valid");
        let (skin, skeleton) = (&character.skin, &character.skeleton);
        let width = skin.joints().len();
        let models: Vec<Affine> = (0..3 * width)
            .map(|at| {
                let translation = [at as f32, 0.1, -2.0];
                condyle::Transform { translation, ..condyle::Transform::IDENTITY }.into()
            })
            .collect();
        let [mut rows, mut columns] =
            [MatrixFormat::Rows, MatrixFormat::Columns].map(|format| Palettes::new(format, 3, skin));
        rows.write(0, skin, skeleton, &models).expect("sizes agree");
        columns.write(0, skin, skeleton, &models[..width]).expect("sizes agree");
        columns.write(1, skin, skeleton, &models[width..]).expect("sizes agree");
        let (Matrices::Rows(rows), Matrices::Columns(columns)) = (&rows.matrices, &columns.matrices) else {
            unreachable!("as asked")
        };
        assert!(rows.iter().zip(columns).all(|(rows, columns)| rows.to_columns() == *columns));
    }
}
