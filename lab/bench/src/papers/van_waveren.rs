//! Van Waveren's maximum errors and tables of clock cycles.

use std::f64::consts::FRAC_PI_2;

use condyle::Dispatch;
use condyle::interpolation::{self, Factor, Method, Selection};
use condyle::math::JointQuat;
use condyle_testing::reference::{arctangent, quat_exp, sine, slerp, van_waveren};
use serde_json::{Value, json};

use super::page;
use condyle_bench::aligned;
use condyle_testing::Random;

/// Maximum error as printed, and as found here.
struct Bound {
    what: &'static str,
    printed: Option<f64>,
    found: f64,
    /// Angle of the maximum error, in radians.
    at: f64,
}

/// Slightly less than 90° between quaternions. At 90° both arcs have the same length, and rounding decides
/// which is taken.
pub(super) const WIDEST: f64 = 0.9999 * FRAC_PI_2;

/// Maximum errors.
pub(crate) struct Errors(Vec<Bound>);

impl Errors {
    pub(crate) fn compute() -> Self {
        const STEPS: u32 = 1_000_000;
        let angle = |k: u32| FRAC_PI_2 * f64::from(k) / f64::from(STEPS);
        let largest = |error: &dyn Fn(f64) -> f64| {
            (0..=STEPS)
                .map(|k| (error(angle(k)), angle(k)))
                .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
        };
        let sine = largest(&|a| (sine(a) - a.sin()).abs());
        let arctangent = largest(&|a| (arctangent(a.sin(), a.cos()) - a).abs());
        let exact = climb();
        let kernel = over_grid(|theta| error_in_f32(theta, Method::VanWaveren));
        let kernel = WORST.into_iter().map(of_case).fold(kernel, |a, b| if b.0 > a.0 { b } else { a });
        Self(vec![
            Bound { what: "sine from 0 to 90°", printed: Some(2.308e-9), found: sine.0, at: sine.1 },
            Bound { what: "arctangent", printed: Some(1.359e-8), found: arctangent.0, at: arctangent.1 },
            Bound {
                what: "slerp with these approximations, in f64",
                printed: None,
                found: exact.0,
                at: exact.1,
            },
            Bound { what: "slerp, in f32", printed: Some(4.768e-7), found: kernel.0, at: kernel.1 },
        ])
    }

    fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        let head = ["", "largest error", "printed", "at"].map(String::from).to_vec();
        let row = |bound: &Bound| {
            vec![
                bound.what.into(),
                format!("{:.3e}", bound.found),
                bound.printed.map_or(String::new(), |p| format!("{p:.3e}")),
                format!("{:.2}°", bound.at.to_degrees()),
            ]
        };
        std::iter::once(head).chain(self.0.iter().map(row))
    }

    pub(crate) fn markdown(&self) -> String {
        page::block("van-waveren-errors", &page::table("<>>>", self.rows()))
    }

    pub(crate) fn text(&self) -> String {
        let mut out = String::from("Van Waveren 2005, Slerping Clock Cycles: largest errors\n");
        out += &aligned("<>>>", self.rows());
        out += "\n  \
            The angle is between the quaternions. The error of the sine is largest at 90°; the printed value is the\n  \
            error at 89.93°. The printed error of slerp is relative to a slerp in f32, with estimated roots and\n  \
            quotients refined once. Here it is the error of a component relative to f64, with exact roots and\n  \
            quotients. A hill climb found the worst case in f64, the program bounds the one in f32.\n";
        out
    }

    pub(crate) fn json(&self) -> Value {
        let row = |b: &Bound| json!({ "what": b.what, "max_error": b.found, "printed": b.printed, "at_radians": b.at });
        self.0.iter().map(row).collect()
    }
}

/// Worst cases found by `cargo run --release -p condyle-bench --bin bounds`, without and with fused
/// multiply-add: start, end and factor.
const WORST: [[f32; 9]; 2] = [
    [
        -0.999_985_5,
        -0.005_246_886_5,
        6.184_665e-5,
        0.001_209_974_3,
        0.702_882_65,
        0.057_021_536,
        -0.516_145_4,
        -0.486_105_4,
        0.269_622_1,
    ],
    [
        -0.000_145_605_77,
        1.0,
        3.016_181_1e-5,
        -0.000_193_632_21,
        0.018_691_156,
        0.997_740_1,
        0.057_359_885,
        -0.029_584_741,
        0.005_036_264_7,
    ],
];

/// Error of the library in such a case, and the angle between the quaternions.
fn of_case([ax, ay, az, aw, bx, by, bz, bw, t]: [f32; 9]) -> (f64, f64) {
    let (a, b) = ([ax, ay, az, aw], [bx, by, bz, bw]);
    let exact = slerp(a.map(f64::from), b.map(f64::from), t.into());
    let joint = |rotation| [JointQuat { rotation, ..JointQuat::IDENTITY }];
    let joints = |factor: Factor<'_>| {
        let mut out = joint(a);
        let done = interpolation::joints(
            Some(&joint(a)),
            &joint(b),
            factor,
            Selection::All,
            Method::VanWaveren,
            &mut out,
        );
        done.map_or([f32::NAN; 4], |()| out[0].rotation)
    };
    // Every instruction set has separate kernels for one factor and for a factor per joint.
    let found =
        Dispatch::all().flat_map(|it| it.scope(|| [joints(t.into()), joints(Factor::PerJoint(&[t]))]));
    let off = |found: [f32; 4]| {
        found.into_iter().zip(exact).map(|(f, e)| (f64::from(f) - e).abs()).fold(0.0, f64::max)
    };
    let off = found.map(off).fold(0.0, f64::max);
    let dot: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(b)).sum();
    (off, dot.abs().min(1.0).acos())
}

/// Largest error in f64 and its angle, by a hill climb from the worst angle of a grid.
fn climb() -> (f64, f64) {
    let error = |theta: f64, start: f64, t: f64, axis: [f64; 3]| {
        let length = axis.iter().map(|v| v * v).sum::<f64>().sqrt();
        let [a, b] = [start, start + theta].map(|angle| quat_exp(axis.map(|v| v / length * angle)));
        let pairs = van_waveren(a, b, t).into_iter().zip(slerp(a, b, t));
        pairs.map(|(f, e)| (f - e).abs()).fold(0.0, f64::max)
    };
    let (mut most, mut theta) = over_grid(|theta| error_at(theta, |q| q, van_waveren));
    let mut random = Random(3);
    // Several starts, because the error has many peaks.
    for _ in 0..40 {
        let mut at = [theta, 0.0, 0.0, 0.0, 0.0, 0.0];
        at[1..].iter_mut().for_each(|v| *v = 2.0 * random.fraction() - 1.0);
        let of = |[theta, start, t, x, y, z]: [f64; 6]| {
            error(theta.clamp(0.0, WIDEST), 3.0 * start, (0.5 + 0.5 * t).clamp(0.0, 1.0), [x, y, z])
        };
        let (mut own, mut reach) = (of(at), 0.3);
        for _ in 0..1500 {
            let near = at.map(|v| v + reach * (2.0 * random.fraction() - 1.0));
            let found = of(near);
            if found > own {
                (own, at) = (found, near);
            } else {
                reach = if reach > 1e-6 { 0.98 * reach } else { 0.3 };
            }
        }
        if own > most {
            (most, theta) = (own, at[0].clamp(0.0, WIDEST));
        }
    }
    (most, theta)
}

/// [`error_at`] for the library, in f32.
pub(super) fn error_in_f32(theta: f64, method: Method) -> f64 {
    // Inputs are rounded first, so that only the error of the method is measured.
    let rounded = |q: [f64; 4]| q.map(|v| f64::from(v as f32));
    error_at(theta, rounded, |a, b, t| {
        let [a, b] = [a, b].map(|q| q.map(|v| v as f32));
        interpolation::interpolate(a, b, t as f32, method).map(f64::from)
    })
}

/// Largest error over a grid of angles, and its angle.
fn over_grid(error_at: impl Fn(f64) -> f64) -> (f64, f64) {
    const STEPS: u32 = 180;
    let angles = (0..=STEPS).map(|k| WIDEST * f64::from(k) / f64::from(STEPS));
    angles.map(|theta| (error_at(theta), theta)).fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
}

/// Largest difference from slerp in any component, between quaternions `theta` apart, for many factors and
/// some axes. `input` transforms the quaternions first.
fn error_at(
    theta: f64,
    input: impl Fn([f64; 4]) -> [f64; 4],
    between: impl Fn([f64; 4], [f64; 4], f64) -> [f64; 4],
) -> f64 {
    let mut worst = 0.0_f64;
    for axis in [[1.0, 0.0, 0.0], [0.48, -0.6, 0.64], [0.0, 0.8, 0.6], [-0.36, 0.48, -0.8]] {
        for start in [-1.2, -0.35, 0.1, 0.8] {
            let [a, b] = [start, start + theta].map(|angle| input(quat_exp(axis.map(|v| v * angle))));
            for t in (0..=60).map(|k| f64::from(k as f32 / 60.0)) {
                let (found, exact) = (between(a, b, t), slerp(a, b, t));
                worst = found.iter().zip(exact).map(|(f, e)| (f - e).abs()).fold(worst, f64::max);
            }
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_cases_are_worse_than_those_of_a_grid() {
        let errors = Errors::compute().0;
        let found =
            |what: &str| errors.iter().find(|bound| bound.what == what).map_or(0.0, |bound| bound.found);
        let (in_f32, in_f64) = (found("slerp, in f32"), found("slerp with these approximations, in f64"));
        // A grid of 180 angles, 16 rotations and 61 factors finds 2.4e-7.
        assert!((3e-7..Method::VanWaveren.error_bound(2.0)).contains(&in_f32), "{in_f32}");
        assert!((1.75e-8..1.9e-8).contains(&in_f64), "{in_f64}");
    }
}
