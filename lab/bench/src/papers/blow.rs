//! Blow's table of properties, with measured values.

use condyle_testing::Random;
use condyle_testing::reference::{
    corrected_nlerp, eberly, log_lerp, nearer, nlerp, quat_exp, quat_log, slerp, van_waveren,
};
use serde_json::{Value, json};

use super::page;
use condyle_bench::aligned;

pub(super) type Rotation = [f64; 4];
/// Interpolates from the first rotation to the second.
pub(super) type Between = fn(Rotation, Rotation, f64) -> Rotation;
type Blend = fn(&[(Rotation, f64)]) -> Rotation;

const IDENTITY: Rotation = [0.0, 0.0, 0.0, 1.0];
const WEIGHTS: [f64; 3] = [0.5, 0.3, 0.2];
const SAMPLES: usize = 400;
/// Step of the factor for the velocity at a point. A step of 1/64 would give a mean that is 1 % smaller at
/// the ends of the path.
const INSTANT: f64 = 1e-4;
/// Steps of the search for the worst case of a measurement.
const CLIMBS: usize = 600;
/// Steps of the factor along a path.
const STEPS: u32 = 64;

/// Method that interpolates between two rotations, and blends several.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) between: Between,
    /// Blends several rotations in one step. `None` if the method blends them one after another.
    blend: Option<Blend>,
    /// Claims in Blow's table 1: commutative, constant velocity, torque-minimal.
    says: Option<[bool; 3]>,
}

pub(crate) const METHODS: [Method; 7] = [
    Method { name: "slerp", between: slerp, blend: None, says: Some([false, true, true]) },
    Method { name: "nlerp", between: nlerp, blend: Some(normalised_sum), says: Some([true, false, true]) },
    Method {
        name: "log-quaternion lerp",
        between: logarithms,
        blend: Some(exponential_mean),
        says: Some([true, true, false]),
    },
    Method { name: "nlerp, one after another", between: nlerp, blend: None, says: None },
    Method { name: "corrected nlerp", between: corrected_nlerp, blend: None, says: None },
    Method { name: "Eberly, 8 terms", between: |a, b, t| eberly(a, b, t, 8), blend: None, says: None },
    Method { name: "van Waveren", between: van_waveren, blend: None, says: None },
];

fn logarithms(a: Rotation, b: Rotation, t: f64) -> Rotation {
    log_lerp(IDENTITY, a, b, t)
}

/// Nlerp of several rotations, each taken in the hemisphere of the identity, so that their order does not
/// matter.
fn normalised_sum(parts: &[(Rotation, f64)]) -> Rotation {
    let sum = |c: usize| parts.iter().map(|(q, w)| nearer(IDENTITY, *q)[c] * w).sum::<f64>();
    unit([sum(0), sum(1), sum(2), sum(3)])
}

fn exponential_mean(parts: &[(Rotation, f64)]) -> Rotation {
    let logs: Vec<_> = parts.iter().map(|(q, w)| (quat_log(nearer(IDENTITY, *q)), w)).collect();
    let sum = |c: usize| logs.iter().map(|(v, w)| v[c] * **w).sum::<f64>();
    quat_exp([sum(0), sum(1), sum(2)])
}

fn one_after_another(between: Between, parts: &[(Rotation, f64)]) -> Rotation {
    let mut total = 0.0;
    parts.iter().fold(IDENTITY, |so_far, &(q, weight)| {
        total += weight;
        between(so_far, q, weight / total)
    })
}

fn dot(a: Rotation, b: Rotation) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn unit(a: Rotation) -> Rotation {
    a.map(|v| v / dot(a, a).sqrt())
}

/// Angle of the rotation from `a` to `b` in degrees.
pub(crate) fn turn(a: Rotation, b: Rotation) -> f64 {
    let b = nearer(a, b);
    let length = |sign: f64| a.iter().zip(b).map(|(a, b)| (a + sign * b).powi(2)).sum::<f64>().sqrt();
    4.0 * length(-1.0).atan2(length(1.0)).to_degrees()
}

/// Angle between `q` and the great circle through `a` and `b`, as a rotation, in degrees.
fn off_path(a: Rotation, b: Rotation, q: Rotation) -> f64 {
    let along = dot(a, b);
    let upright: Rotation = std::array::from_fn(|i| b[i] - along * a[i]);
    let upright = unit(upright);
    let (x, y) = (dot(q, a), dot(q, upright));
    let rest: Rotation = std::array::from_fn(|i| q[i] - x * a[i] - y * upright[i]);
    2.0 * dot(rest, rest).sqrt().min(1.0).asin().to_degrees()
}

/// Velocity in each of `steps` parts of the path, relative to slerp.
pub(crate) fn velocity(between: Between, a: Rotation, b: Rotation, steps: u32) -> Vec<f64> {
    let place = |k: u32| between(a, b, f64::from(k) / f64::from(steps));
    (0..steps).map(|k| turn(place(k), place(k + 1)) * f64::from(steps) / turn(a, b)).collect()
}

/// Worst case of each measurement for one method.
struct Row {
    method: &'static Method,
    /// Largest difference between the path from `a` to `b` and the path from `b` to `a`, in degrees.
    swapped: f64,
    /// Largest difference between two orders of three rotations, in degrees.
    order: f64,
    /// Maximum minus minimum velocity along a path, relative to slerp.
    velocity: f64,
    /// Largest distance from the shortest path, in degrees.
    torque: f64,
}

/// Measured table.
pub(crate) struct Properties(Vec<Row>);

impl Properties {
    pub(crate) fn measure() -> Self {
        let mut random = Random(1);
        let triples = triples(&mut random);
        Self(METHODS.iter().map(|method| row(method, &triples, &mut random)).collect())
    }

    pub(crate) fn text(&self) -> String {
        let head =
            ["", "swapped", "order", "commutative?", "velocity", "constant?", "off path", "torque-minimal?"];
        let says = |row: &Row, which: usize| match row.method.says {
            Some(says) if says[which] => "yes".into(),
            Some(_) => "no".into(),
            None => String::new(),
        };
        let rows = self.0.iter().map(|row| {
            vec![
                row.method.name.into(),
                shown(row.swapped, "°"),
                shown(row.order, "°"),
                says(row, 0),
                shown(100.0 * row.velocity, " %"),
                says(row, 1),
                shown(row.torque, "°"),
                says(row, 2),
            ]
        });
        let mut out = format!(
            "Blow 2004, table 1, as measurements\n\
             Worst case of three rotations, each within 90° of the identity, by a search from {SAMPLES} random triples\n"
        );
        out += &aligned("<>><><><", std::iter::once(head.map(String::from).to_vec()).chain(rows));
        out += "\n  \
            swapped   difference between a to b at t and b to a at 1 - t\n  \
            order     difference between the six orders of three rotations weighted 0.5, 0.3 and 0.2. Nlerp and logarithms\n            \
                      blend them in one step, the others one after another. Nlerp one after another is not commutative\n  \
            velocity  maximum minus minimum velocity along a path, relative to slerp\n  \
            off path  distance from the shortest path\n  \
            ?         the property according to Blow. The velocity of logarithms varies with the fourth power of the angles.\n            \
                      It is constant only on lines through the frame, where logarithms equal slerp\n";
        out
    }

    pub(crate) fn markdown(&self) -> String {
        let head = [
            "",
            "swapped",
            "order of three rotations",
            "velocity, maximum minus minimum",
            "distance from the shortest path",
        ];
        let says = |row: &Row, which: usize, is: &str| match row.method.says {
            Some(says) if says[which] => format!(" ({is})"),
            Some(_) => format!(" (not {is})"),
            None => String::new(),
        };
        let rows = self.0.iter().map(|row| {
            vec![
                row.method.name.into(),
                shown(row.swapped, "°"),
                shown(row.order, "°") + &says(row, 0, "commutative"),
                shown(100.0 * row.velocity, " %") + &says(row, 1, "constant"),
                shown(row.torque, "°") + &says(row, 2, "torque-minimal"),
            ]
        });
        let rows = std::iter::once(head.map(String::from).to_vec()).chain(rows);
        page::block("blow-properties", &page::table("<<<<<", rows))
    }

    pub(crate) fn json(&self) -> Value {
        let row = |row: &Row| {
            let says = row.method.says.map(|says| json!({ "commutative": says[0], "constant_velocity": says[1], "torque_minimal": says[2] }));
            json!({
                "method": row.method.name,
                "swapped_degrees": row.swapped,
                "order_degrees": row.order,
                "velocity_variation": row.velocity,
                "off_path_degrees": row.torque,
                "printed": says,
            })
        };
        json!({ "samples": SAMPLES, "methods": self.0.iter().map(row).collect::<Vec<_>>() })
    }
}

/// Formats a value. Values at the level of f64 rounding are 0.
fn shown(value: f64, unit: &str) -> String {
    match value {
        ..1e-7 => "0".into(),
        ..1e-2 => format!("{value:.1e}{unit}"),
        _ => format!("{value:.3}{unit}"),
    }
}

/// Largest value of each measurement, over random triples and a hill climb from the worst of them.
fn row(method: &'static Method, triples: &[Triple], random: &mut Random) -> Row {
    let mut worst = [0.0; 4];
    for (measurement, worst) in worst.iter_mut().enumerate() {
        let of = |triple: &Triple| measured(method, triple)[measurement];
        let start = triples.iter().map(|triple| (of(triple), *triple));
        let Some((mut most, mut at)) = start.reduce(|a, b| if b.0 > a.0 { b } else { a }) else { continue };
        let mut reach = 0.3;
        for _ in 0..CLIMBS {
            let near = at.map(|log| within(log.map(|v| v + reach * (2.0 * random.fraction() - 1.0))));
            let found = of(&near);
            if found > most {
                (most, at) = (found, near);
            } else {
                reach = if reach > 1e-5 { 0.97 * reach } else { 0.3 };
            }
        }
        *worst = most;
    }
    let [swapped, order, velocity, torque] = worst;
    Row { method, swapped, order, velocity, torque }
}

/// The four measurements of [`Row`] for one triple: swapped, order, velocity and torque.
fn measured(method: &Method, triple: &Triple) -> [f64; 4] {
    let [a, b, c] = triple.map(quat_exp);
    let (mut fastest, mut slowest) = (0.0_f64, f64::INFINITY);
    for k in 0..=STEPS {
        let from = (f64::from(k) / f64::from(STEPS)).min(1.0 - INSTANT);
        let [here, there] = [from, from + INSTANT].map(|t| (method.between)(a, b, t));
        let speed = turn(here, there) / (INSTANT * turn(a, b));
        (fastest, slowest) = (fastest.max(speed), slowest.min(speed));
    }
    // For close rotations this would measure the rounding of f64.
    let velocity = if turn(a, b) > 1.0 { fastest - slowest } else { 0.0 };
    let [mut swapped, mut order, mut torque] = [0.0_f64; 3];
    for k in 0..=STEPS {
        let t = f64::from(k) / f64::from(STEPS);
        let (there, back) = ((method.between)(a, b, t), (method.between)(b, a, 1.0 - t));
        swapped = swapped.max(turn(there, back));
        torque = torque.max(off_path(a, b, unit(there)));
    }
    let parts = [(a, WEIGHTS[0]), (b, WEIGHTS[1]), (c, WEIGHTS[2])];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let mixed = orders.map(|order| {
        let parts = order.map(|k| parts[k]);
        method.blend.map_or_else(|| one_after_another(method.between, &parts), |blend| blend(&parts))
    });
    for other in mixed {
        order = order.max(turn(mixed[0], other));
    }
    [swapped, order, velocity, torque]
}

/// Axis times half angle of three rotations.
type Triple = [[f64; 3]; 3];

/// Limits a rotation to 90° from the identity, because a pair 180° apart has two shortest arcs.
fn within(log: [f64; 3]) -> [f64; 3] {
    const MOST: f64 = 0.9999 * std::f64::consts::FRAC_PI_4;
    let length = log.iter().map(|v| v * v).sum::<f64>().sqrt();
    if length > MOST { log.map(|v| v * (MOST / length)) } else { log }
}

/// Random rotations about arbitrary axes by up to 90°.
fn triples(random: &mut Random) -> Vec<Triple> {
    let mut rotation = || {
        let (z, around) = (2.0 * random.fraction() - 1.0, std::f64::consts::TAU * random.fraction());
        let half = std::f64::consts::FRAC_PI_4 * random.fraction();
        let flat = (1.0 - z * z).sqrt();
        within([flat * around.cos(), flat * around.sin(), z].map(|v| v * half))
    };
    (0..SAMPLES).map(|_| [rotation(), rotation(), rotation()]).collect()
}

/// Two rotations 150° apart, each 150° from the identity, for which the methods differ strongly.
pub(crate) fn far_pair() -> (Rotation, Rotation) {
    let (sin, cos) = 75.0_f64.to_radians().sin_cos();
    // Angle between the axes. It follows from the product of the quaternions, whose scalar part is the cosine
    // of half the angle between the rotations.
    let apart = ((cos - cos * cos) / (sin * sin)).acos();
    ([sin, 0.0, 0.0, cos], [sin * apart.cos(), sin * apart.sin(), 0.0, cos])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measurements_agree_with_the_table_but_for_the_logarithms_velocity() {
        for Row { method, order, velocity, torque, .. } in Properties::measure().0 {
            let Some([commutes, constant, minimal]) = method.says else { continue };
            assert_eq!(order < 1e-7, commutes, "{}: {order}", method.name);
            assert_eq!(torque < 1e-7, minimal, "{}: {torque}", method.name);
            let constant = constant && method.name != "log-quaternion lerp";
            assert_eq!(velocity < 1e-9, constant, "{}: {velocity}", method.name);
            // Nlerp has a closed form for rotations half a turn apart: `(2 tan(θ/2) - sin θ) / θ` is 2/π.
            assert!(method.name != "nlerp" || (0.635..0.637).contains(&velocity), "{velocity}");
        }
    }

    #[test]
    fn the_pair_of_the_plot_is_as_far_apart_as_it_says() {
        let (a, b) = far_pair();
        for (from, to) in [(a, b), (IDENTITY, a), (IDENTITY, b)] {
            assert!((turn(from, to) - 150.0).abs() < 1e-9);
        }
    }
}
