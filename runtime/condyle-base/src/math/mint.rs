//! Conversions to and from the `mint` types, for interoperability with glam, nalgebra, cgmath and others.
//!
//! Quaternions and vectors are plain arrays, which `mint` converts itself.

use super::transform::Affine;

impl From<Affine> for mint::RowMatrix3x4<f32> {
    fn from(m: Affine) -> Self {
        let [x, y, z] = m.rows.map(mint::Vector4::from);
        Self { x, y, z }
    }
}

impl From<mint::RowMatrix3x4<f32>> for Affine {
    fn from(m: mint::RowMatrix3x4<f32>) -> Self {
        Self { rows: [m.x, m.y, m.z].map(<[f32; 4]>::from) }
    }
}

impl From<Affine> for mint::ColumnMatrix4<f32> {
    fn from(m: Affine) -> Self {
        let columns = m.to_columns();
        let column =
            |c: usize| mint::Vector4::from([columns[c], columns[c + 1], columns[c + 2], columns[c + 3]]);
        Self { x: column(0), y: column(4), z: column(8), w: column(12) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn matrices_go_there_and_back() {
        let m = Affine::from(Random(1).transform());
        assert_eq!(Affine::from(mint::RowMatrix3x4::from(m)), m);
        let columns = mint::ColumnMatrix4::from(m);
        assert_eq!(
            [columns.w.x, columns.w.y, columns.w.z, columns.w.w],
            [m.rows[0][3], m.rows[1][3], m.rows[2][3], 1.0]
        );
        assert_eq!(columns.x.y, m.rows[1][0]);
    }
}
