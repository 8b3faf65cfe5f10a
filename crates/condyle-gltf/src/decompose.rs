//! A matrix taken apart into translation, rotation and scale, in 64 bits.

/// A local transform in the precision that the document states it in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trs {
    pub(crate) translation: [f64; 3],
    /// `xyzw`
    pub(crate) rotation: [f64; 4],
    pub(crate) scale: [f64; 3],
}

/// Three rows of four, the last row `0 0 0 1` left out.
pub(crate) type Rows = [[f64; 4]; 3];

impl Trs {
    pub(crate) const IDENTITY: Self =
        Self { translation: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0], scale: [1.0; 3] };

    pub(crate) fn to_rows(self) -> Rows {
        let [x, y, z, w] = self.rotation;
        let r = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ];
        let (s, t) = (self.scale, self.translation);
        core::array::from_fn(|i| [r[i][0] * s[0], r[i][1] * s[1], r[i][2] * s[2], t[i]])
    }
}

pub(crate) const IDENTITY_ROWS: Rows = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];

/// `a * b`: first `b`, then `a`.
pub(crate) fn multiply(a: &Rows, b: &Rows) -> Rows {
    core::array::from_fn(|r| {
        core::array::from_fn(|c| {
            let sum: f64 = (0..3).map(|k| a[r][k] * b[k][c]).sum();
            if c == 3 { sum + a[r][3] } else { sum }
        })
    })
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// `v` without its parts along `axes`, of length one; `None` if next to nothing is left.
fn orthonormal(v: [f64; 3], axes: &[[f64; 3]]) -> Option<[f64; 3]> {
    let length = dot(v, v).sqrt();
    let mut v = v.map(|c| c / length);
    // Twice, since the first pass leaves rounding errors where `v` is nearly dependent.
    for axis in axes.iter().chain(axes) {
        let along = dot(v, *axis);
        v = core::array::from_fn(|i| v[i] - along * axis[i]);
    }
    let left = dot(v, v).sqrt();
    // Not `left < ...`: a vector of length zero is NaN here.
    if left > 1e-6 { Some(v.map(|c| c / left)) } else { None }
}

/// Splits an affine matrix, given as 16 numbers in columns, so that `translation * rotation * scale` comes
/// near it.
///
/// The second result is how far it stays away: the greatest difference of an entry, as a part of the greatest
/// entry. It is zero, up to rounding, for every product of the three, mirrored and flattened ones included; a
/// sheared matrix is none.
pub(crate) fn decompose(m: &[f64; 16]) -> (Trs, f64) {
    let columns: [[f64; 3]; 3] = core::array::from_fn(|c| [m[4 * c], m[4 * c + 1], m[4 * c + 2]]);
    // Flattened axes have no direction of their own; they take what the others leave.
    let mut axes: [Option<[f64; 3]>; 3] = [None; 3];
    for c in 0..3 {
        let found: Vec<_> = axes.iter().flatten().copied().collect();
        axes[c] = orthonormal(columns[c], &found);
    }
    let units = IDENTITY_ROWS.map(|row| [row[0], row[1], row[2]]);
    for c in 0..3 {
        let found: Vec<_> = axes.iter().flatten().copied().collect();
        // The own axis first, so that a zero matrix keeps the identity.
        let candidates = [units[c], units[(c + 1) % 3], units[(c + 2) % 3]];
        axes[c] = axes[c].or_else(|| candidates.into_iter().find_map(|u| orthonormal(u, &found)));
    }
    let mut axes = axes.map(|axis| axis.unwrap_or([1.0, 0.0, 0.0]));
    if dot(cross(axes[0], axes[1]), axes[2]) < 0.0 {
        // A mirror image, which no rotation makes: one factor becomes negative. Best one that is flat anyway.
        let flat = columns.iter().position(|&c| dot(c, c) == 0.0).unwrap_or(0);
        axes[flat] = axes[flat].map(|v| -v);
    }
    let scale = core::array::from_fn(|c| dot(columns[c], axes[c]));
    let trs = Trs { translation: [m[12], m[13], m[14]], rotation: rotation(&axes), scale };
    let rebuilt = trs.to_rows();
    let entries = || (0..3).flat_map(|r| (0..3).map(move |c| (r, c)));
    let largest = entries().map(|(r, c)| columns[c][r].abs()).fold(0.0, f64::max);
    let apart = entries().map(|(r, c)| (columns[c][r] - rebuilt[r][c]).abs()).fold(0.0, f64::max);
    (trs, if largest > 0.0 { apart / largest } else { 0.0 })
}

/// The quaternion of three orthonormal, right-handed axes. From the greatest component on, so that nothing
/// cancels.
fn rotation(axes: &[[f64; 3]; 3]) -> [f64; 4] {
    let m = |r: usize, c: usize| axes[c][r];
    let trace = [
        1.0 + m(0, 0) - m(1, 1) - m(2, 2),
        1.0 - m(0, 0) + m(1, 1) - m(2, 2),
        1.0 - m(0, 0) - m(1, 1) + m(2, 2),
        1.0 + m(0, 0) + m(1, 1) + m(2, 2),
    ];
    let greatest = (0..4).rev().max_by(|&a, &b| trace[a].total_cmp(&trace[b])).unwrap_or(3);
    let q = match greatest {
        0 => [trace[0], m(1, 0) + m(0, 1), m(2, 0) + m(0, 2), m(2, 1) - m(1, 2)],
        1 => [m(1, 0) + m(0, 1), trace[1], m(2, 1) + m(1, 2), m(0, 2) - m(2, 0)],
        2 => [m(2, 0) + m(0, 2), m(2, 1) + m(1, 2), trace[2], m(1, 0) - m(0, 1)],
        _ => [m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1), trace[3]],
    };
    let length = q.iter().map(|c| c * c).sum::<f64>().sqrt();
    q.map(|c| c / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(rows: &Rows) -> [f64; 16] {
        core::array::from_fn(|i| if i % 4 == 3 { f64::from(u8::from(i == 15)) } else { rows[i % 4][i / 4] })
    }

    fn trs(rotation: [f64; 4], scale: [f64; 3]) -> Trs {
        let length = rotation.iter().map(|c| c * c).sum::<f64>().sqrt();
        Trs { translation: [1.0, -2.0, 3.0], rotation: rotation.map(|c| c / length), scale }
    }

    #[test]
    fn every_product_of_the_three_is_found_again() {
        for rotation in [
            [0.0, 0.0, 0.0, 1.0],
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 1e-9],
            [0.0, 0.0, 1.0, 0.0],
            [0.3, -0.5, 0.7, 0.1],
            [-0.9, 0.1, 0.1, -0.5],
        ] {
            for scale in [
                [1.0, 1.0, 1.0],
                [100.0, 0.01, 3.0],
                [-1.0, 1.0, 1.0],
                [2.0, -3.0, 4.0],
                [-1.0, -1.0, -1.0],
                [1e-20, 1e-20, 1e-20],
                [0.0, 1.0, 2.0],
                [1.0, 0.0, -2.0],
                [0.0, 0.0, 5.0],
                [0.0, 0.0, 0.0],
            ] {
                let rows = trs(rotation, scale).to_rows();
                let (found, apart) = decompose(&columns(&rows));
                assert!(apart < 1e-12, "{rotation:?} {scale:?}: {apart}");
                let largest = scale.iter().fold(0.0, |a: f64, s| a.max(s.abs()));
                for (a, b) in found.to_rows().as_flattened().iter().zip(rows.as_flattened()) {
                    assert!((a - b).abs() <= 1e-12 * largest, "{rotation:?} {scale:?}: {a} {b}");
                }
                let length = found.rotation.iter().map(|c| c * c).sum::<f64>();
                assert!((length - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn shear_is_measured() {
        let mut m = columns(&IDENTITY_ROWS);
        m[4] = 0.5;
        let (found, apart) = decompose(&m);
        assert!((apart - 0.5).abs() < 1e-12, "{apart}");
        assert!(found.to_rows().as_flattened().iter().all(|v| v.is_finite()));
        // Two equal columns: singular and sheared.
        m = [1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let (found, apart) = decompose(&m);
        assert!(apart > 0.1 && found.to_rows().as_flattened().iter().all(|v| v.is_finite()));
    }

    #[test]
    fn products_of_rows() {
        let a = trs([0.3, -0.5, 0.7, 0.1], [1.0, 2.0, 3.0]).to_rows();
        assert_eq!(multiply(&a, &IDENTITY_ROWS), a);
        assert_eq!(multiply(&IDENTITY_ROWS, &a), a);
        let shift: Rows = core::array::from_fn(|r| {
            core::array::from_fn(|c| if c == 3 { 1.0 } else { IDENTITY_ROWS[r][c] })
        });
        assert_eq!(multiply(&shift, &a)[2][3], 4.0);
    }
}
