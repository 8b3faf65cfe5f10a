//! Hitboxes as triangle meshes.

use core::f32::consts::{FRAC_PI_2, TAU};

use condyle::math::sin_cos;
use condyle_draw::solid::Solid;
use condyle_draw::vector::{Vec3, add, add_scaled, frame, quat_rotate, scale, sub};
use condyle_query::hits::Shape;

/// Corners of a full circle around the axis.
const AROUND: u16 = 24;
/// Bands from the pole of a hemisphere to its rim.
const BANDS: u16 = 6;

/// Triangles, counter-clockwise as seen from outside.
#[derive(Default)]
pub(super) struct Surface {
    pub(super) positions: Vec<Vec3>,
    /// One unit normal for each position.
    pub(super) normals: Vec<Vec3>,
    pub(super) triangles: Vec<[u32; 3]>,
}

pub(super) fn surface(shape: &Shape) -> Surface {
    match *shape {
        Shape::Sphere { center, radius } => rounded(center, center, radius),
        Shape::Capsule { from, to, radius } => rounded(from, to, radius),
        Shape::Box { center, rotation, half_extents } => {
            let solid = Solid { low: half_extents.map(|v| -v), high: half_extents, color: [0.0; 3] };
            let mut it = Surface::default();
            for (normal, corners) in solid.faces() {
                let first = it.positions.len() as u32;
                it.positions.extend(corners.map(|corner| add(center, quat_rotate(rotation, corner))));
                it.normals.extend([quat_rotate(rotation, normal); 4]);
                it.triangles
                    .extend([[0, 1, 2], [0, 2, 3]].map(|it: [u32; 3]| it.map(|corner| first + corner)));
            }
            it
        }
        // Hitboxes have no other shapes.
        _ => Surface::default(),
    }
}

/// A hemisphere around each end, and the surface between them; a sphere if both ends are equal.
fn rounded(from: Vec3, to: Vec3, radius: f32) -> Surface {
    let [axis, side, other] = frame(sub(to, from));
    let turn = |step: u16, steps: u16, whole: f32| sin_cos(f32::from(step) / f32::from(steps) * whole);
    let mut it = Surface::default();
    // Sine and cosine of the latitude of each ring, from the pole behind `from` to the pole beyond `to`.
    let behind = (0..=BANDS).map(|band| (from, turn(BANDS - band, BANDS, FRAC_PI_2), -1.0));
    let beyond = (0..=BANDS).map(|band| (to, turn(band, BANDS, FRAC_PI_2), 1.0));
    for (center, (sin, cos), sign) in behind.chain(beyond) {
        for step in 0..AROUND {
            let (sin_around, cos_around) = turn(step, AROUND, TAU);
            let out = add_scaled(scale(side, cos_around), other, sin_around);
            let normal = add_scaled(scale(out, cos), axis, sign * sin);
            it.positions.push(add_scaled(center, normal, radius));
            it.normals.push(normal);
        }
    }
    let last = 2 * BANDS;
    for ring in 0..=last {
        // The two middle rings of a sphere coincide.
        if ring == BANDS && from == to {
            continue;
        }
        for step in 0..AROUND {
            let corner = |ring: u16, step: u16| u32::from(ring * AROUND + step % AROUND);
            let [a, b] = [step, step + 1].map(|step| corner(ring, step));
            let [c, d] = [step, step + 1].map(|step| corner(ring + 1, step));
            // A ring at a pole is a single point.
            it.triangles.extend((ring > 0).then_some([a, b, c]));
            it.triangles.extend((ring < last).then_some([b, d, c]));
        }
    }
    it
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_draw::vector::{cross, dot, length};

    /// Corners are on the shape. Triangles face outwards and enclose nearly its volume.
    #[test]
    fn triangles_are_on_their_shapes() {
        let (from, to, radius) = ([0.0, 1.0, 0.0], [2.0, 1.0, 1.0], 0.5);
        let pi = core::f32::consts::PI;
        let ball = 4.0 / 3.0 * pi * radius * radius * radius;
        let shapes = [
            (Shape::Sphere { center: to, radius }, ball),
            (Shape::Capsule { from, to, radius }, ball + 5.0_f32.sqrt() * pi * radius * radius),
            (
                Shape::Box {
                    center: [1.0, 2.0, 3.0],
                    rotation: [0.0, 0.6, 0.0, 0.8],
                    half_extents: [1.0, 2.0, 3.0],
                },
                48.0,
            ),
        ];
        for (shape, volume) in shapes {
            let it = surface(&shape);
            assert_eq!(it.positions.len(), it.normals.len());
            assert!(it.normals.iter().all(|n| (length(*n) - 1.0).abs() < 1e-6), "{shape:?}");
            let mut found = 0.0;
            for corners in &it.triangles {
                let [a, b, c] = corners.map(|corner| it.positions[corner as usize]);
                let across = cross(sub(b, a), sub(c, a));
                for &corner in corners {
                    assert!(dot(across, it.normals[corner as usize]) > 0.9 * length(across), "{shape:?}");
                }
                assert!(length(across) > 1e-4, "{shape:?}: {corners:?}");
                found += dot(a, cross(b, c)) / 6.0;
            }
            assert!((0.96 * volume..1.0001 * volume).contains(&found), "{shape:?}: {found}, not {volume}");
        }
        for p in surface(&Shape::Capsule { from, to, radius }).positions {
            let along = sub(to, from);
            let t = (dot(sub(p, from), along) / dot(along, along)).clamp(0.0, 1.0);
            assert!((length(sub(p, add_scaled(from, along, t))) - radius).abs() < 1e-5, "{p:?}");
        }
    }
}
