use super::border::near_ellipse;
use super::*;
use condyle::Transform;
use condyle::skeleton::Joint;
use condyle_testing::{Random, assert_portable, cases, tries};

/// Reference for `excess`: swing and twist in angles, in f64. Returns the radians beyond the limit.
pub(crate) fn broken(limit: Option<&JointLimit>, rotation: Quat) -> f64 {
    let Some(limit) = limit else { return 0.0 };
    let unit = |q: Quat64| {
        let size = q.iter().map(|v| v * v).sum::<f64>().sqrt();
        q.map(|v| v / size)
    };
    let d = unit(product(conjugate(unit(wide(limit.reference))), unit(wide(rotation))));
    let axis = direction(limit.axis.map(f64::from)).expect("an axis");
    // The twist is the part of the rotation about the axis.
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
            // Distance of the border in that direction, in the plane of swings.
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
    // The larger the swing, the smaller the effect of a twist on the rotation.
    over_swing.max(2.0 * ((angle / 2.0).cos() * (over_twist.clamp(0.0, 3.1) / 2.0).sin()).asin()).max(0.0)
}

fn plane(axis: Vec64, side: [f32; 3], way: Vec64) -> [f64; 2] {
    let side = side.map(f64::from);
    let side = direction(sub(side, scaled(axis, dot(axis, side)))).expect("a side");
    [dot(side, way), dot(cross(axis, side), way)]
}

/// Distance of a point outside a polygon, by the winding number.
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
                let (sin, cos) = condyle_base::math::sin_cos(f32::from(at) * 0.9);
                let size = random.range(0.3, 2.5);
                [cos * size, sin * size]
            };
            Swing::Polygon { side, corners: (0..7).map(&mut corner).collect() }
        }
        _ => Swing::Free,
    };
    let least = random.range(-3.0, 3.0);
    let twist = (!kind.is_multiple_of(3)).then(|| [least, least + random.range(0.0, 3.0)]);
    JointLimit { reference: random.unit(), axis: random.vector(2.0), swing, twist, soft: 0.0 }
}

fn alone(limit: JointLimit) -> Result<Limits, Error> {
    let skeleton = Skeleton::new([Joint::new("", None, Transform::IDENTITY)]).expect("a root");
    Limits::new(&skeleton, [(0, limit)])
}

#[test]
fn what_is_clamped_is_within_and_what_is_within_stays() {
    let mut random = Random(1);
    let (mut stayed, mut moved, all) = (0, 0, cases(100_000));
    for try_ in 0..all {
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
            assert!(limits.excess(0, got) < 1e-5, "{try_}: {limit:?} {rotation:?}");
        } else if was == 0.0 {
            stayed += 1;
            assert_eq!(got, rotation, "{try_}: {limit:?}");
            assert_eq!(limits.excess(0, rotation), 0.0);
        }
    }
    assert!(cfg!(miri) || 10 * stayed > all && 10 * moved > 3 * all, "{stayed} {moved}");
}

/// Checks in the plane of swings that no sampled point of the border is nearer.
#[test]
fn the_nearest_swing_is_the_nearest() {
    let mut random = Random(2);
    for try_ in 0..tries(2000) {
        let p = random.vector::<2>(1.5).map(f64::from);
        let axes = [random.range(0.01, 1.0), random.range(0.01, 1.0)].map(f64::from);
        let Some(got) = near_ellipse(axes, p, 0.0) else {
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

/// A random angle up to π, including tiny ones and ones close to π.
fn any_angle(random: &mut Random) -> f32 {
    match random.below(4) {
        0 => core::f32::consts::PI - random.range(0.0, 1.0) * ten_to(-(random.below(8) as i32)) as f32,
        1 => random.range(0.1, 10.0) * ten_to(-(random.below(32) as i32)) as f32,
        _ => random.range(0.02, 3.1),
    }
    .clamp(1e-30, core::f32::consts::PI)
}

/// A cone, a hinge or an ellipse of any ratio, hard or soft, and any range of twist.
pub(crate) fn any_limit(random: &mut Random) -> JointLimit {
    let plain = random.below(3) == 0;
    let axis = if plain { [0.0, 0.0, 1.0] } else { random.unit() };
    let side = if plain { [1.0, 0.0, 0.0] } else { random.unit() };
    let swing = match random.below(8) {
        0 => Swing::Cone(any_angle(random)),
        1 => Swing::Hinge,
        _ => Swing::Ellipse { side, angles: [any_angle(random), any_angle(random)] },
    };
    let least = random.range(-3.0, 3.0);
    let twist = (random.below(3) > 0).then(|| [least, least + random.range(0.0, 3.0)]);
    let soft = if random.below(3) == 0 { random.range(0.0, 1.0) } else { 0.0 };
    let reference = if plain { [0.0, 0.0, 0.0, 1.0] } else { random.unit() };
    JointLimit { reference, axis, swing, twist, soft }
}

/// Allowed excess in radians after rounding. It grows near half a turn, where a swing's direction is
/// undefined.
pub(crate) fn slack(limit: &Limit, rotation: Quat) -> f32 {
    1e-5 + (1e-9 / shown(limit.split(wide(rotation)).0)) as f32
}

/// Cosine of half the swing angle.
fn shown([x, y]: [f64; 2]) -> f64 {
    let size = x * x + y * y;
    (1.0 - size).abs() / (1.0 + size)
}

fn ten_to(power: i32) -> f64 {
    let by = if power < 0 { 0.1 } else { 10.0 };
    (0..power.abs()).fold(1.0, |v, _| v * by)
}

/// Swing and twist in the frame of a limit. The swing is often near half a turn, near 0, and near an axis of
/// the plane.
fn any_rotation(random: &mut Random) -> Quat {
    let swing = match random.below(3) {
        0 => 1.0 - f64::from(random.range(0.0, 1.0)) * ten_to(-(random.below(10) as i32)),
        1 => f64::from(random.range(0.0, 1.0)) * ten_to(-(random.below(10) as i32)),
        _ => random.range(0.0, 1.0).into(),
    };
    let part = ten_to(-(random.below(12) as i32));
    let way =
        f64::from(random.range(-1.0, 1.0)) * part + core::f64::consts::FRAC_PI_2 * random.below(4) as f64;
    let (sin, cos) = condyle_base::math::scalar::sin_cos_f64(way);
    let (s, c) = condyle_base::math::scalar::sin_cos_f64(random.range(-3.2, 3.2).into());
    let twist = if random.below(3) == 0 { [0.0, 1.0] } else { [s, c] };
    product(swung([swing * cos, swing * sin]), [0.0, 0.0, twist[0], twist[1]]).map(|v| v as f32)
}

/// Borders of all ratios, hard and soft, and swings up to half a turn, where f32 keeps few digits of the
/// twist.
#[test]
fn what_is_clamped_once_is_within_from_then_on() {
    let mut random = Random(6);
    for try_ in 0..cases(100_000) {
        let limit = any_limit(&mut random);
        let limits = alone(limit.clone()).expect("a limit");
        let own = limits.limit(0).expect("the limit");
        let asked = any_rotation(&mut random);
        let rotation = product(product(own.frame, wide(asked)), conjugate(own.own)).map(|v| v as f32);
        let held = limits.hold(0, rotation);
        for got in [held, limits.clamp(0, rotation)] {
            let over = limits.excess(0, got);
            assert!(over <= slack(own, got), "{try_}: {over} beyond {limit:?}, {asked:?}");
        }
        // Steps of any length along the border.
        let far = ten_to(random.below(90) as i32 - 10);
        let towards = random.unit::<3>().map(|v| f64::from(v) * far);
        let slid = own.slide(wide(held), towards).map(|v| v as f32);
        let over = limits.excess(0, slid);
        assert!(over <= slack(own, slid), "{try_}: {over} beyond {limit:?}, {asked:?} and {towards:?}");
    }
}

/// Points at any distance, ellipses of all ratios: no sampled border point is nearer, to 1e-9 relative and
/// 1e-12 absolute.
#[test]
fn the_nearest_swing_is_the_nearest_from_far_away_and_of_flat_ellipses() {
    let mut random = Random(7);
    for try_ in 0..tries(4000) {
        let mut size = |most: i32| f64::from(random.range(0.1, 1.0)) * ten_to(most - random.below(14) as i32);
        let axes = [size(0), size(0)];
        let p = [size(12), size(12)];
        let Some(got) = near_ellipse(axes, p, 0.0) else {
            // Distance to the border, straight along one of the axes.
            let back = [0, 1].map(|c| {
                let other = (p[1 - c] / axes[1 - c]).min(1.0);
                (p[c] - axes[c] * (1.0 - other * other).sqrt()).max(0.0) + (p[1 - c] - axes[1 - c]).max(0.0)
            });
            assert!(back[0].min(back[1]) < 2e-7, "{try_}: {axes:?} {p:?}");
            continue;
        };
        let far = |q: [f64; 2]| (q[0] - p[0]).hypot(q[1] - p[1]);
        assert!((got[0] / axes[0]).hypot(got[1] / axes[1]) < 1.0 + 1e-9, "{try_}: {axes:?} {p:?} {got:?}");
        let mut least = f64::INFINITY;
        for part in 0..=400 {
            // Samples along the border, dense at both of its ends.
            let part = f64::from(part) / 400.0;
            let (sin, cos) = condyle_base::math::scalar::sin_cos_f64(part * core::f64::consts::FRAC_PI_2);
            for [u, v] in [[cos, sin], [part * part * part * 1e-3, 1.0], [1.0, part * part * part * 1e-3]] {
                let by = 1.0 / u.hypot(v);
                least = least.min(far([axes[0] * u * by, axes[1] * v * by]));
            }
        }
        assert!(far(got) <= least * (1.0 + 1e-9) + 1e-12, "{try_}: {axes:?} {p:?} {got:?} {least}");
    }
}

/// A rotation that moves outside a convex border moves its projection continuously.
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
            // Swings of up to 2 radians in all directions, so that no twist is near the opposite side of its
            // range.
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
    assert_portable(0x258b_b8bc_11bd_5776, |hash| {
        let mut random = Random(4);
        for try_ in 0..tries(1000) {
            let limits = alone(limit(&mut random, try_)).expect("a limit");
            hash.add(&limits.clamp(0, random.unit()));
        }
    });
}

/// Along a path from the reference, a soft limit is never exceeded, and the speed changes gradually.
#[test]
fn soft_borders_slow_down_smoothly() {
    let mut random = Random(5);
    for try_ in 0..tries(60) {
        let mut limit = limit(&mut random, 0);
        let side = random.unit();
        limit.swing = match try_ % 4 {
            0 => Swing::Cone(random.range(0.3, 2.5)),
            1 => Swing::Ellipse { side, angles: [random.range(0.5, 1.5), random.range(0.5, 1.5)] },
            2 => {
                Swing::Polygon { side, corners: std::vec![[0.8, 0.1], [0.1, 0.9], [-0.7, 0.0], [0.0, -0.6]] }
            }
            _ => Swing::Hinge,
        };
        limit.twist = Some([random.range(-1.4, -0.4), random.range(0.3, 1.4)]);
        limit.soft = random.range(0.1, 1.0);
        let limits = alone(limit.clone()).expect("a limit");
        let own = limits.limit(0).expect("the limit");
        let way = random.unit::<3>().map(f64::from);
        let axis = direction(limit.axis.map(f64::from)).expect("an axis");
        let way = if try_ % 4 == 3 { axis } else { way };
        // Speed of the result, measured over a step of this size.
        let step = 2e-4;
        let at = |part: i32| {
            let asked = product(wide(limit.reference), swung_by(scaled(way, f64::from(part) * step)));
            own.clamp(asked).unwrap_or(asked)
        };
        let mut before: Option<(Quat64, f64)> = None;
        for part in 0..9000 {
            let now = at(part);
            let over = broken(Some(&limit), now.map(|v| v as f32));
            assert!(over < 1e-5, "{try_}, {part}: {over} {limit:?}");
            if let Some((was, speed)) = before {
                let moved = angle(was, now) / step;
                // Only sliding around a polygon corner changes the speed abruptly.
                let rough = matches!(limit.swing, Swing::Polygon { .. });
                assert!(
                    speed < 0.0 || rough || (moved - speed).abs() < 0.05,
                    "{try_}, {part}: {speed} to {moved}, {limit:?}"
                );
                before = Some((now, moved));
            } else {
                before = Some((now, -1.0));
            }
        }
        // `hold` leaves its own result unchanged.
        let asked = product(wide(limit.reference), swung_by(scaled(way, 1.75)));
        assert_eq!(own.hold(own.hold(asked).unwrap_or(asked)), None, "{try_}");
    }
}

/// Rotation by a rotation vector.
fn swung_by(vector: Vec64) -> Quat64 {
    condyle_base::math::quats::from_rotation_vector(vector)
}

/// A soft border gives the mean of the hard borders around it. A circle agrees with a round ellipse, and
/// nearly with a polygon of 200 corners.
#[test]
fn soft_borders_are_means_of_hard_ones() {
    let (cone, soft) = (0.9_f64, 0.4);
    let radius = (0.225_f64).tan();
    let round = core::array::from_fn::<_, 200, _>(|at| {
        let (sin, cos) = (f64::from(at as u32) * core::f64::consts::TAU / 200.0).sin_cos();
        [cos * radius, sin * radius]
    });
    assert!((quarter(cone) - radius).abs() < 1e-12);
    let circle = Border::Circle(radius);
    let ellipse = Border::Ellipse([radius; 2]);
    let core = Core::new(&round, soft).expect("a convex polygon");
    let polygon = Border::Polygon { corners: round.to_vec(), core: Some(core) };
    for part in 0..200 {
        let far = radius * f64::from(part) / 100.0;
        let half = soft * radius;
        let mean =
            (0..4000).map(|at| far.min(radius + half * ((f64::from(at) + 0.5) / 2000.0 - 1.0))).sum::<f64>()
                / 4000.0;
        let (sin, cos) = 0.7_f64.sin_cos();
        for (border, near) in [(&circle, 1e-6), (&ellipse, 1e-6), (&polygon, 2e-3)] {
            let p = [far * cos, far * sin];
            let got = border.nearest(p, soft).unwrap_or(p);
            assert!((got[0].hypot(got[1]) - mean).abs() < near, "{near} {part}: {got:?} {mean}");
            assert!((got[0] * sin - got[1] * cos).abs() < near, "{near} {part}: {got:?}");
        }
    }
    for bad in [
        std::vec![[0.0, 0.0], [1.0, 0.0], [0.2, 0.2], [0.0, 1.0]],
        std::vec![[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]],
    ] {
        assert_eq!(Core::new(&bad, 0.5), None, "{bad:?}");
    }
}
