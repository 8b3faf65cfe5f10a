//! Products of matrices in f64, the precision of numbers in JSON.

/// The first three rows of a matrix; the last row is `0 0 0 1`.
pub(crate) type Rows = [[f64; 4]; 3];

/// Returns `a * b`, which applies `b` first.
pub(crate) fn multiply(a: &Rows, b: &Rows) -> Rows {
    core::array::from_fn(|r| {
        core::array::from_fn(|c| {
            let sum: f64 = (0..3).map(|k| a[r][k] * b[k][c]).sum();
            if c == 3 { sum + a[r][3] } else { sum }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle::math::Transform64;

    #[test]
    fn products_of_rows() {
        let rotation = [0.5, -0.5, 0.5, 0.5];
        let a = Transform64 { rotation, translation: [1.0, -2.0, 3.0], scale: [1.0, 2.0, 3.0] }.to_rows();
        let identity = Transform64::IDENTITY.to_rows();
        assert_eq!(multiply(&a, &identity), a);
        assert_eq!(multiply(&identity, &a), a);
        let shift: Rows =
            core::array::from_fn(|r| core::array::from_fn(|c| if c == 3 { 1.0 } else { identity[r][c] }));
        assert_eq!(multiply(&shift, &a)[2][3], 4.0);
    }
}
