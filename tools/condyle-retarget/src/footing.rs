//! Footing: the size of the target's steps, and where its feet stand for those of the source.

use condyle::Error;

use crate::body::{Body, Leg};
use crate::maths::{Quat64, Vec3, rotate, scaled, sub};
use crate::options::{PlanOptions, Ratio};

/// Where the target's feet stand for those of the source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Footing {
    /// Size of the target's steps compared with the source's.
    pub(crate) ratio: f64,
    /// Offset of each footprint: the target's from the scaled source's, where both bodies hang straight.
    pub(crate) prints: [Vec3; 2],
    /// Whether a planted foot is still even where the source's creeps.
    pub(crate) plant: bool,
    /// Ground of the source, from its rest pose or given.
    pub(crate) ground: Ground,
    /// Whether the ground was given.
    pub(crate) given_ground: bool,
}

/// Heights of the source's ground and of its feet where they stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ground {
    pub(crate) floor: f64,
    pub(crate) toes: [f64; 2],
}

impl Footing {
    /// Compares the legs of two bodies, where `facing` turns the source to the target's direction.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the ratio is not greater than 0, or if a leg of either body has no length.
    pub(crate) fn new(
        source: &Body,
        target: &Body,
        facing: Quat64,
        options: &PlanOptions,
    ) -> Result<Self, Error> {
        let ratio = ratio(source, target, options.ratio)?;
        let [a, b] = [source, target].map(|body| body.legs);
        let prints = [0, 1].map(|at| {
            let source = scaled(rotate(facing, a[at].print), ratio);
            sub(b[at].print, source)
        });
        let alike = a.iter().zip(&b).all(|(a, b)| {
            let near = |a: f64, b: f64| (a - b).abs() < 1e-5 * source.height;
            near(a.lengths[0], b.lengths[0]) && near(a.lengths[1], b.lengths[1])
        });
        let alike = alike && (source.width - target.width).abs() < 1e-5 * source.height;
        let floor = options.ground.unwrap_or(source.floor);
        Ok(Self {
            ratio,
            prints,
            plant: options.plant.unwrap_or(!alike),
            ground: Ground { floor, toes: a.map(|leg| floor + leg.toe_height) },
            given_ground: options.ground.is_some(),
        })
    }
}

/// Returns the size of the target's steps.
fn ratio(source: &Body, target: &Body, wanted: Ratio) -> Result<f64, Error> {
    let measure = |body: &Body| match wanted {
        Ratio::LegsAndHips => body.mean(Leg::length) + body.width,
        Ratio::HipHeight => body.hip_height(),
        Ratio::Legs | Ratio::Fixed(_) => body.mean(Leg::length),
    };
    for (what, body) in [("source legs", source), ("target legs", target)] {
        let short = body.legs.iter().position(|leg| leg.lengths.iter().any(|&it| it < 1e-4 * body.height));
        if let Some(at) = short {
            return Err(Error::OutOfRange { what, at, needed: "thighs and shins with a length" });
        }
    }
    let ratio = if let Ratio::Fixed(ratio) = wanted { ratio } else { measure(target) / measure(source) };
    if ratio > 0.0 && ratio.is_finite() {
        return Ok(ratio);
    }
    Err(Error::OutOfRange { what: "ratio", at: 0, needed: "greater than 0" })
}
