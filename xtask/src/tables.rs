//! `cargo xtask tables`: fits the polynomials of the slerp weights, and writes them and Eberly's factors as
//! Rust source.
//!
//! With `x = cos θ` and `z = 1 - x`, the weight `sin(tθ) / sin θ` is `t + z · t(1 - t²) · P(z, t²)`. It is
//! exact at t = 0, t = 1 and θ = 0 for any `P`. Eberly (2018) uses a power series for `P`; a minimax fit over
//! x, t in [0, 1] needs half of its terms. Row `i` of a table holds the coefficients of `z^i`, a polynomial
//! of degree `i` in t².

use std::fmt::Write as _;

use crate::eberly;
use crate::step::{Log, Outcome, cargo};

/// Writes the formatted tables.
pub(crate) fn write(log: &mut Log) -> Outcome {
    let folder = crate::root().join("runtime/condyle/src/interpolation");
    std::fs::write(folder.join("slerp_table.rs"), source())?;
    std::fs::write(folder.join("eberly_table.rs"), eberly::source())?;
    log.run(&mut cargo("fmt", ["-p", "condyle"]))?;
    Ok("wrote slerp_table.rs and eberly_table.rs".into())
}

/// One fitted table.
struct Fit {
    /// `coefficients[i][j]` belongs to `z^i · t^(2j)`.
    coefficients: Vec<Vec<f64>>,
    /// Largest error of the weight in f64 arithmetic.
    max_error: f64,
}

/// Half of the angle whose cosine is `1 - z`. Exact for small angles too, where `1 - z` has no digits left.
fn half_angle(z: f64) -> f64 {
    (z / 2.0).sqrt().asin()
}

/// Exact weight of slerp, `sin(tθ) / sin θ` with `cos θ = 1 - z`.
fn slerp_weight(z: f64, t: f64) -> f64 {
    let theta = 2.0 * half_angle(z);
    if theta == 0.0 { t } else { (t * theta).sin() / theta.sin() }
}

/// Position on the chord at `t` of the half angle, both measured from the middle: `tan(tθ/2) / tan(θ/2)`.
fn chord_factor(z: f64, t: f64) -> f64 {
    let half = half_angle(z);
    if half == 0.0 { t } else { (t * half).tan() / half.tan() }
}

fn basis(degree: usize, z: f64, t: f64) -> impl Iterator<Item = f64> {
    let (s, front) = (t * t, z * t * (1.0 - t * t));
    (0..degree).flat_map(move |i| (0..=i).map(move |j| front * z.powi(i as i32) * s.powi(j as i32)))
}

/// Least squares by Householder reflections: the `x` with the smallest `|rows · x - right|`.
fn solve(mut rows: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let (m, n) = (rows.len(), rows[0].len());
    for k in 0..n {
        let norm = rows[k..].iter().map(|r| r[k] * r[k]).sum::<f64>().sqrt();
        let alpha = if rows[k][k] > 0.0 { -norm } else { norm };
        let mut v: Vec<f64> = rows[k..].iter().map(|r| r[k]).collect();
        v[0] -= alpha;
        let length: f64 = v.iter().map(|x| x * x).sum();
        if length == 0.0 {
            continue;
        }
        for c in k..n {
            let dot: f64 = v.iter().zip(&rows[k..]).map(|(v, r)| v * r[c]).sum();
            let f = 2.0 * dot / length;
            for (v, r) in v.iter().zip(&mut rows[k..]) {
                r[c] -= f * v;
            }
        }
        let dot: f64 = v.iter().zip(&right[k..]).map(|(v, b)| v * b).sum();
        let f = 2.0 * dot / length;
        for (v, b) in v.iter().zip(&mut right[k..m]) {
            *b -= f * v;
        }
    }
    let mut x = vec![0.0; n];
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|c| rows[k][c] * x[c]).sum();
        x[k] = (right[k] - known) / rows[k][k];
    }
    x
}

/// Fits `P` of `target = t + z · t(1 - t²) · P(z, t²)` with powers of `z` below `degree` by Lawson's
/// iteration: weighted least squares in which each point's weight is multiplied by its error until all
/// extremes are equal.
fn fit(target: fn(f64, f64) -> f64, degree: usize) -> Fit {
    const SIDE: usize = 48;
    let node = |k: usize| 0.5 - 0.5 * (std::f64::consts::PI * (k as f64 + 0.5) / SIDE as f64).cos();
    let points: Vec<(f64, f64)> = (0..SIDE * SIDE).map(|k| (node(k / SIDE), node(k % SIDE))).collect();
    let right: Vec<f64> = points.iter().map(|&(z, t)| target(z, t) - t).collect();
    let table: Vec<Vec<f64>> = points.iter().map(|&(z, t)| basis(degree, z, t).collect()).collect();
    let mut lawson = vec![1.0; points.len()];
    let mut best = (f64::INFINITY, Vec::new());
    for _ in 0..40 {
        let scaled =
            table.iter().zip(&lawson).map(|(r, w): (_, &f64)| r.iter().map(|v| v * w.sqrt()).collect());
        let weighted = right.iter().zip(&lawson).map(|(b, w)| b * w.sqrt()).collect();
        let x = solve(scaled.collect(), weighted);
        let error: Vec<f64> = table
            .iter()
            .zip(&right)
            .map(|(r, b)| (r.iter().zip(&x).map(|(r, x)| r * x).sum::<f64>() - b).abs())
            .collect();
        let worst = error.iter().copied().fold(0.0, f64::max);
        if worst < best.0 {
            best = (worst, x);
        }
        let mean = lawson.iter().zip(&error).map(|(w, e)| w * e).sum::<f64>() / lawson.iter().sum::<f64>();
        for (w, e) in lawson.iter_mut().zip(&error) {
            *w *= e / mean;
        }
    }
    let mut flat = best.1.into_iter();
    let coefficients: Vec<Vec<f64>> = (0..degree).map(|i| flat.by_ref().take(i + 1).collect()).collect();
    let max_error = max_error(target, &coefficients);
    Fit { coefficients, max_error }
}

/// Largest error of the weight over a dense grid.
fn max_error(target: fn(f64, f64) -> f64, coefficients: &[Vec<f64>]) -> f64 {
    let steps = 1500;
    let mut worst = 0.0_f64;
    for zi in 0..=steps {
        for ti in 0..=steps {
            let (z, t) = (f64::from(zi) / f64::from(steps), f64::from(ti) / f64::from(steps));
            let s = t * t;
            let p = coefficients
                .iter()
                .rev()
                .fold(0.0, |p, row| p * z + row.iter().rev().fold(0.0, |c, &k| c * s + k));
            worst = worst.max((t + z * t * (1.0 - s) * p - target(z, t)).abs());
        }
    }
    worst
}

/// Source text of `slerp_table.rs`.
fn source() -> String {
    let mut text = String::from(
        "//! Polynomials of the slerp weights. Generated by `cargo xtask tables`; its source documents them.\n",
    );
    for degree in [4, 6, 9] {
        table(&mut text, "SLERP", "weight of slerp", degree, &fit(slerp_weight, degree));
    }
    table(&mut text, "CHORD", "chord factor", 8, &fit(chord_factor, 8));
    text
}

fn table(text: &mut String, name: &str, what: &str, degree: usize, fit: &Fit) {
    write!(
        text,
        "\n/// Degree {degree}. Largest error of a {what}: {:.1e}, without arithmetic rounding.\n\
         pub(crate) const {name}_{degree}: [[f64; {degree}]; {degree}] = [\n",
        fit.max_error
    )
    .expect("writing to a string");
    for row in &fit.coefficients {
        // Ten digits exceed the precision of the fit.
        let numbers: Vec<String> = row
            .iter()
            .copied()
            .chain(std::iter::repeat(0.0))
            .take(degree)
            .map(|c| format!("{:?}", format!("{c:.9e}").parse::<f64>().expect("a number")))
            .collect();
        writeln!(text, "    [{}],", numbers.join(", ")).expect("writing to a string");
    }
    text.push_str("];\n");
}
