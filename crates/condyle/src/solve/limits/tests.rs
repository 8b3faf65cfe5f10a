use super::*;
use crate::Transform;
use crate::skeleton::Joint;
use crate::testing::{Random, assert_portable, tries};

/// Swing and twist by angles, in f64: how many radians a rotation is beyond what its limit allows.
pub(in crate::solve) fn broken(limit: Option<&JointLimit>, rotation: Quat) -> f64 {
    let Some(limit) = limit else { return 0.0 };
    let unit = |q: Quat64| {
        let size = q.iter().map(|v| v * v).sum::<f64>().sqrt();
        q.map(|v| v / size)
    };
    let d = unit(product(conjugate(unit(wide(limit.reference))), unit(wide(rotation))));
    let axis = direction(limit.axis.map(f64::from)).expect("an axis");
    // The twist: what is left about the axis.
    let about = d[0] * axis[0] + d[1] * axis[1] + d[2] * axis[2];
    let size = about.hypot(d[3]);
    let twist = if size > 0.0 { [about / size, d[3] / size] } else { [0.0, 1.0] };
    let [x, y, z] = axis.map(|v| v * twist[0]);
    let swing = product(d, conjugate([x, y, z, twist[1]]));
    let vector = [swing[0], swing[1], swing[2]];
    let half = dot(vector, vector).sqrt();
    let angle = 2.0 * half.atan2(swing[3].abs());
    let sign = if swing[3] < 0.0 { -1.0 } else { 1.0 };
    let way = if half > 0.0 { vector.map(|v| v * sign / half) } else { vector };
    let over_swing = match &limit.swing {
        Swing::Free => 0.0,
        Swing::Hinge => angle,
        Swing::Cone(most) => angle - f64::from(*most),
        Swing::Ellipse { side, angles } => {
            // As far as the border is in that direction, in the plane of swings.
            let [x, y] = plane(axis, *side, way);
            let [a, b] = angles.map(|a| (f64::from(a) / 4.0).tan());
            angle - 4.0 * (1.0 / (x / a).hypot(y / b)).atan()
        }
        Swing::Polygon { side, corners } => {
            let p = plane(axis, *side, way).map(|v| v * (angle / 4.0).tan());
            let corners: Vec<_> = corners
                .iter()
                .map(|c| {
                    let c = c.map(f64::from);
                    let angle = c[0].hypot(c[1]);
                    c.map(|v| v / angle * (angle / 4.0).tan())
                })
                .collect();
            4.0 * outside(&corners, p)
        }
    };
    let over_twist = limit.twist.map_or(0.0, |[least, most]| {
        let turn = 2.0 * twist[0].atan2(twist[1]);
        let turns = |k: i32| turn + f64::from(k) * core::f64::consts::TAU;
        let beyond = |v: f64| (f64::from(least) - v).max(v - f64::from(most));
        (-20..=20).map(|k| beyond(turns(k))).fold(f64::INFINITY, f64::min)
    });
    // The more it is swung, the less of a rotation is a twist.
    over_swing.max(2.0 * ((angle / 2.0).cos() * (over_twist.clamp(0.0, 3.1) / 2.0).sin()).asin()).max(0.0)
}

fn plane(axis: Vec64, side: [f32; 3], way: Vec64) -> [f64; 2] {
    let side = side.map(f64::from);
    let side = direction(sub(side, scaled(axis, dot(axis, side)))).expect("a side");
    [dot(side, way), dot(cross(axis, side), way)]
}

/// How far a point is outside of a polygon, by the angle that its border winds about it.
fn outside(corners: &[[f64; 2]], p: [f64; 2]) -> f64 {
    let (mut wound, mut least) = (0.0, f64::INFINITY);
    for (at, from) in corners.iter().enumerate() {
        let to = corners[(at + 1) % corners.len()];
        let (a, b) = ([from[0] - p[0], from[1] - p[1]], [to[0] - p[0], to[1] - p[1]]);
        wound += (a[0] * b[1] - a[1] * b[0]).atan2(a[0] * b[0] + a[1] * b[1]);
        let edge = [b[0] - a[0], b[1] - a[1]];
        let t =
            (-(a[0] * edge[0] + a[1] * edge[1]) / (edge[0] * edge[0] + edge[1] * edge[1])).clamp(0.0, 1.0);
        least = least.min((a[0] + t * edge[0]).hypot(a[1] + t * edge[1]));
    }
    if wound.abs() > 1.0 { 0.0 } else { least }
}

fn limit(random: &mut Random, kind: usize) -> JointLimit {
    let side = random.unit();
    let swing = match kind % 5 {
        0 => Swing::Hinge,
        1 => Swing::Cone(random.range(0.0, 2.9)),
        2 => Swing::Ellipse { side, angles: [random.range(0.05, 2.9), random.range(0.05, 2.9)] },
        3 => {
            let mut corner = |at: u16| {
                let (sin, cos) = (f32::from(at) * 0.9).sin_cos();
                let size = random.range(0.3, 2.5);
                [cos * size, sin * size]
            };
            Swing::Polygon { side, corners: (0..7).map(&mut corner).collect() }
        }
        _ => Swing::Free,
    };
    let least = random.range(-3.0, 3.0);
    let twist = (!kind.is_multiple_of(3)).then(|| [least, least + random.range(0.0, 3.0)]);
    JointLimit { reference: random.unit(), axis: random.vector(2.0), swing, twist }
}

fn alone(limit: JointLimit) -> Result<Limits, Error> {
    let skeleton = Skeleton::new([Joint::new("", None, Transform::IDENTITY)]).expect("a root");
    Limits::new(&skeleton, [(0, limit)])
}

#[test]
fn what_is_clamped_is_within_and_what_is_within_stays() {
    let mut random = Random(1);
    let (mut stayed, mut moved) = (0, 0);
    for try_ in 0..tries(100_000) {
        let limit = limit(&mut random, try_);
        let limits = alone(limit.clone()).expect("a limit");
        let rotation = random.unit();
        let got = limits.clamp(0, rotation);
        let over = broken(Some(&limit), got);
        assert!(over < 1e-5, "{try_}: {over} {limit:?} {rotation:?}");
        let was = broken(Some(&limit), rotation);
        if was > 1e-5 {
            moved += 1;
            assert_ne!(got, rotation, "{try_}: {was} beyond {limit:?}");
            assert!(limits.excess(0, rotation) > 0.0, "{try_}");
            // Of what is swung by almost half a turn, f32 leaves fewer digits of the twist.
            assert!(limits.excess(0, got) < 2e-5, "{try_}: {limit:?} {rotation:?}");
        } else if was == 0.0 {
            stayed += 1;
            assert_eq!(got, rotation, "{try_}: {limit:?}");
            assert_eq!(limits.excess(0, rotation), 0.0);
        }
    }
    assert!(cfg!(miri) || stayed > 10_000 && moved > 30_000, "{stayed} {moved}");
}

/// In the plane of swings no point of the border is nearer.
#[test]
fn the_nearest_swing_is_the_nearest() {
    let mut random = Random(2);
    for try_ in 0..tries(2000) {
        let p = random.vector::<2>(1.5).map(f64::from);
        let axes = [random.range(0.01, 1.0), random.range(0.01, 1.0)].map(f64::from);
        let Some(got) = nearest_on_ellipse(axes, p) else {
            assert!((p[0] / axes[0]).hypot(p[1] / axes[1]) < 1.0 + 1e-4, "{try_}");
            continue;
        };
        let far = |q: [f64; 2]| (q[0] - p[0]).hypot(q[1] - p[1]);
        assert!(((got[0] / axes[0]).hypot(got[1] / axes[1]) - 1.0).abs() < 1e-12, "{try_}: {got:?}");
        for part in 0..1000 {
            let (sin, cos) = (f64::from(part) * core::f64::consts::TAU / 1000.0).sin_cos();
            assert!(far(got) <= far([axes[0] * cos, axes[1] * sin]) + 1e-12, "{try_}: {got:?}");
        }
    }
}

/// A rotation that moves on outside of a convex border takes its image along, and slowly where it is slow.
#[test]
fn nothing_jumps_along_the_border() {
    let mut random = Random(3);
    for try_ in 0..tries(300) {
        let side = random.unit();
        let swing = match try_ % 3 {
            0 => Swing::Cone(0.7),
            1 => Swing::Ellipse { side, angles: [0.4, 1.1] },
            _ => {
                Swing::Polygon { side, corners: std::vec![[0.8, 0.0], [0.0, 0.9], [-0.7, 0.0], [0.0, -0.6]] }
            }
        };
        let limit = JointLimit { swing, twist: Some([-0.5, 0.7]), ..JointLimit::free(random.unit()) };
        let limits = alone(limit).expect("a limit");
        let axis = random.unit::<3>();
        let about = random.unit::<3>();
        let mut before: Option<[f32; 4]> = None;
        for part in 0..1500 {
            let at = f64::from(part) / 1500.0 * core::f64::consts::TAU;
            // Swings of up to 2 radians in all directions, so that no twist comes near to its far side.
            let vector: [f64; 3] = core::array::from_fn(|c| {
                1.4 * f64::from(axis[c]) * at.sin() + 1.4 * f64::from(about[c]) * at.cos()
            });
            let size = dot(vector, vector).sqrt().max(1e-9);
            let (sin, cos) = (size / 2.0).sin_cos();
            let q = [vector[0] / size * sin, vector[1] / size * sin, vector[2] / size * sin, cos];
            let now = limits.clamp(0, q.map(|v| v as f32));
            if let Some(before) = before {
                assert!(angle(wide(before), wide(now)) < 0.08, "{try_}, {part}");
            }
            before = Some(now);
        }
    }
}

#[test]
fn wrong_limits_are_refused() {
    let free = JointLimit::free([0.0, 1.0, 0.0]);
    let swing = |swing| JointLimit { swing, ..free.clone() };
    let side = [1.0, 0.0, 0.0];
    let range = |needed| Error::OutOfRange { what: "limits", at: 0, needed };
    let nan = f32::NAN;
    for (limit, error) in [
        (JointLimit { axis: [0.0; 3], ..free.clone() }, Error::NoDirection { what: "axis" }),
        (JointLimit { axis: [nan; 3], ..free.clone() }, Error::NotFinite { what: "limits", at: 0 }),
        (JointLimit { reference: [0.0; 4], ..free.clone() }, Error::NotUnit { what: "limits", at: 0 }),
        (JointLimit { twist: Some([0.5, 0.4]), ..free.clone() }, range(TWIST)),
        (JointLimit { twist: Some([-4.0, 4.0]), ..free.clone() }, range(TWIST)),
        (JointLimit { twist: Some([nan, 4.0]), ..free.clone() }, Error::NotFinite { what: "limits", at: 0 }),
        (swing(Swing::Cone(3.2)), range(CONE)),
        (swing(Swing::Cone(-0.1)), range(CONE)),
        (swing(Swing::Ellipse { side, angles: [0.0, 1.0] }), range(ELLIPSE)),
        (swing(Swing::Ellipse { side: free.axis, angles: [1.0, 1.0] }), Error::NoDirection { what: "side" }),
        (swing(Swing::Polygon { side, corners: std::vec![[0.0; 2]; 2] }), range(POLYGON)),
        (swing(Swing::Polygon { side, corners: std::vec![[3.0; 2]; 3] }), range(POLYGON)),
    ] {
        assert_eq!(alone(limit.clone()), Err(error), "{limit:?}");
    }
    let skeleton = Random(1).skeleton(3);
    let refused = Limits::new(&skeleton, [(1, free.clone()), (7, free.clone())]);
    assert_eq!(refused, Err(Error::Index { what: "limits", at: 1, found: 7, count: 3 }));
    let limits = Limits::new(&skeleton, [(1, free.clone())]).expect("one limit");
    assert_eq!((limits.get(1), limits.get(0), limits.get(9)), (Some(&free), None, None));
    assert_eq!(
        clamp(&limits, &mut Pose::identity(4)),
        Err(Error::Length { what: "pose", found: 4, needed: 3 })
    );
}

#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0x067c_f937_6254_8143, |hash| {
        let mut random = Random(4);
        for try_ in 0..tries(1000) {
            let limits = alone(limit(&mut random, try_)).expect("a limit");
            hash.add(&limits.clamp(0, random.unit()));
        }
    });
}
