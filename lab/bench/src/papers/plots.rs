//! Plots of `condyle-bench papers`: error over angle, velocity over the factor, and rounds over the step.

use condyle::interpolation::{Degree, Method, Terms};
use condyle_draw::plot::{
    BLACK, BLUE, GREEN, GREY, Line, ORANGE, PINK, Panel, Plot, RED, RGBColor, SKY, power_of_ten,
};
use condyle_testing::reference::{corrected_nlerp, eberly, log_lerp, nlerp, slerp};

use super::blow::{self, Between, far_pair};
use super::descent::{Descent, METHODS, RESIDUALS};
use super::van_waveren::{WIDEST, error_in_f32};

/// Largest error of each method over the angle, in f32 as the library computes it.
pub(crate) fn error() -> Plot {
    const STEPS: u32 = 120;
    let terms = |n| Terms::new(n).unwrap_or(Terms::MAX);
    let methods = [
        (Method::Nlerp, RED, false),
        (Method::Eberly(terms(2)), ORANGE, true),
        (Method::Eberly(terms(4)), ORANGE, false),
        (Method::Slerp(Degree::Four), SKY, false),
        (Method::Eberly(terms(8)), PINK, false),
        (Method::EberlyHalved(terms(3)), PINK, true),
        (Method::Slerp(Degree::Six), BLUE, true),
        (Method::VanWaveren, GREEN, false),
        (Method::CorrectedNlerp, GREY, false),
        (Method::default(), BLUE, false),
    ];
    let lines = methods.map(|(method, colour, dashed)| Line {
        name: method.to_string(),
        colour,
        dashed,
        points: (1..=STEPS)
            .map(|k| {
                let theta = WIDEST * f64::from(k) / f64::from(STEPS);
                let error = error_in_f32(theta, method);
                (2.0 * theta.to_degrees(), error.max(1e-12).log10())
            })
            .collect(),
    });
    Plot {
        title: "Error of each method relative to slerp, computed in f32".into(),
        x_label: "angle between the two rotations, degrees".into(),
        y_label: "largest error of a component".into(),
        x: 0.0..180.0,
        x_labels: 10,
        x_format: |x| format!("{x:.0}"),
        panels: vec![Panel { y: -8.0..-1.0, labels: 8, format: power_of_ten, height: 520 }],
        lines: lines.into(),
    }
}

/// Velocity along one path, relative to slerp.
pub(crate) fn velocity() -> Plot {
    const STEPS: u32 = 200;
    let (a, b) = far_pair();
    let between: [(&str, RGBColor, Between); 6] = [
        ("nlerp", RED, nlerp),
        ("log-quaternion lerp", GREEN, |a, b, t| log_lerp([0.0, 0.0, 0.0, 1.0], a, b, t)),
        ("Eberly, 1 term", ORANGE, |a, b, t| eberly(a, b, t, 1)),
        ("Eberly, 2 terms", PINK, |a, b, t| eberly(a, b, t, 2)),
        ("slerp", BLACK, slerp),
        ("corrected nlerp", BLUE, corrected_nlerp),
    ];
    let lines = between.map(|(name, colour, between)| Line {
        name: name.into(),
        colour,
        dashed: name == "corrected nlerp",
        points: (0..)
            .zip(blow::velocity(between, a, b, STEPS))
            .map(|(k, v)| ((f64::from(k) + 0.5) / f64::from(STEPS), v))
            .collect(),
    });
    Plot {
        title: "Velocity between two rotations 150° apart, each 150° from the identity".into(),
        x_label: "interpolation factor t".into(),
        y_label: "angular velocity, 1 = slerp".into(),
        x: 0.0..1.0,
        x_labels: 11,
        x_format: |x| format!("{x:.1}"),
        panels: vec![
            Panel { y: 0.7..1.201, labels: 6, format: |y| format!("{y:.1}"), height: 300 },
            Panel { y: 0.98..1.08001, labels: 6, format: |y| format!("{y:.2}"), height: 262 },
        ],
        lines: lines.into(),
    }
}

/// Rounds of cyclic descent over the step, the fraction of its best rotation that a joint makes per round.
pub(crate) fn rounds() -> Plot {
    let Descent(rows) = Descent::measure();
    let mut lines = Vec::new();
    for (at, ((residual, _), colours)) in
        RESIDUALS.iter().zip([[SKY, BLUE], [ORANGE, RED], [GREY, BLACK]]).enumerate()
    {
        // The second line is dashed, so that the first one stays visible.
        for (which, ((name, _), colour)) in METHODS.iter().zip(colours).enumerate() {
            lines.push(Line {
                name: format!("{name} to {residual}"),
                colour,
                dashed: which == 1,
                points: rows.iter().map(|row| (row.step, row.rounds[at][which])).collect(),
            });
        }
    }
    Plot {
        title: "Rounds of cyclic descent until the end of 6 bones is near the goal, in chain lengths".into(),
        x_label: "step: fraction of the best rotation that a joint makes per round".into(),
        y_label: "rounds, mean of 200 goals".into(),
        x: 0.2..1.0,
        x_labels: 9,
        x_format: |x| format!("{x:.1}"),
        panels: vec![Panel { y: 0.0..100.0, labels: 11, format: |y| format!("{y:.0}"), height: 520 }],
        lines,
    }
}
