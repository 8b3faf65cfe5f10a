//! The surfaces of the character: body, clothes and face, bound to the joints.

use super::loft::{Cut, Ring, Surface, ring};
use super::rig::*;
use condyle::math::sin_cos;
use condyle_draw::vector::{Vec3, add, add_scaled, cross, scale};

/// Materials, in the order of the document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Material {
    Skin,
    Shirt,
    Trousers,
    Shoes,
    Soles,
    Hair,
    Ink,
}

/// Materials with their colour (linear RGB) and roughness.
pub(super) const MATERIALS: [(Material, &str, [f32; 3], f32); 7] = [
    (Material::Skin, "skin", [0.74, 0.44, 0.29], 0.6),
    (Material::Shirt, "shirt", [0.035, 0.33, 0.34], 0.85),
    (Material::Trousers, "trousers", [0.045, 0.075, 0.16], 0.9),
    (Material::Shoes, "shoes", [0.62, 0.10, 0.05], 0.5),
    (Material::Soles, "soles", [0.75, 0.73, 0.68], 0.7),
    (Material::Hair, "hair", [0.075, 0.035, 0.018], 0.7),
    (Material::Ink, "ink", [0.012, 0.010, 0.012], 0.25),
];

/// Offsets of positions by the morph targets of the face.
pub(super) struct Expression {
    pub blink: Vec<Vec3>,
    pub smile: Vec<Vec3>,
}

/// The body and the clothes, one surface per material.
pub(super) fn body(rig: &[Joint]) -> Vec<(Material, Surface)> {
    let mut skin = neck(rig);
    skin.join(&head().bind(rig, &[NECK, HEAD], 4));
    let mut shirt = torso(rig);
    let mut trousers = pelvis(rig);
    let (mut shoes, mut soles, mut hair) = (Surface::default(), Surface::default(), hair(rig));
    let left: [(&mut Surface, Surface); 5] = [
        (&mut skin, arm(rig)),
        (&mut shirt, sleeve(rig)),
        (&mut trousers, leg(rig)),
        (&mut shoes, shoe(rig)),
        (&mut soles, sole(rig)),
    ];
    for (whole, part) in left {
        whole.join(&part);
        whole.join(&part.mirrored());
    }
    let brow = brow(rig);
    hair.join(&brow);
    hair.join(&brow.mirrored());
    vec![
        (Material::Skin, skin),
        (Material::Shirt, shirt),
        (Material::Trousers, trousers),
        (Material::Shoes, shoes),
        (Material::Soles, soles),
        (Material::Hair, hair),
    ]
}

/// Eyes and mouth, with their morph targets.
pub(super) fn face(rig: &[Joint]) -> (Surface, Expression) {
    const EYE: Vec3 = [0.034, 1.592, 0.0885];
    const MOUTH: Vec3 = [0.0, 1.522, 0.0905];
    let mut surface = Surface::ellipsoid(EYE, [0.0105, 0.0165, 0.0075], 10, 8);
    surface.join(&surface.mirrored());
    let eyes = surface.positions.len();
    // The mouth is a thin tube, lower in the middle.
    let rings: Vec<Ring> = (0..=8)
        .map(|i| {
            let x = (i - 4) as f32 / 4.0;
            let thick = if i % 8 == 0 { 0.0 } else { 0.0042 };
            let center = add(MOUTH, [0.024 * x, 0.004 * x * x, -0.008 * x * x]);
            Ring { center, side: thick, front: thick, back: thick }
        })
        .collect();
    surface.join(&Surface::loft(&rings, &Cut::along([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], 6, 1)));

    let still = [0.0; 3];
    let per_vertex = |eye: &dyn Fn(Vec3) -> Vec3, mouth: &dyn Fn(Vec3) -> Vec3| {
        let offset = |(i, &p): (usize, &Vec3)| if i < eyes { eye(p) } else { mouth(p) };
        surface.positions.iter().enumerate().map(offset).collect()
    };
    let blink = per_vertex(&|p| [0.0, (EYE[1] - 0.003 - p[1]) * 0.86, 0.0], &|_| still);
    let smile = per_vertex(&|p| [0.0, (EYE[1] - p[1]).max(0.0) * 0.35, 0.0], &|p| {
        let x = p[0] / 0.024;
        [0.012 * x, 0.017 * x * x - 0.004, -0.007 * x * x]
    });
    (surface.bind(rig, &[HEAD], 1), Expression { blink, smile })
}

fn torso(rig: &[Joint]) -> Surface {
    let rings = [
        ring(0.93, 0.0, 0.135, 0.085, 0.09),
        ring(0.868, 0.0, 0.158, 0.104, 0.115),
        ring(0.872, 0.0, 0.166, 0.112, 0.123),
        ring(0.93, 0.0, 0.162, 0.110, 0.118),
        ring(1.00, -0.002, 0.150, 0.104, 0.100),
        ring(1.07, -0.004, 0.143, 0.102, 0.090),
        ring(1.15, -0.006, 0.152, 0.108, 0.094),
        ring(1.24, -0.010, 0.169, 0.117, 0.104),
        ring(1.32, -0.015, 0.178, 0.111, 0.106),
        ring(1.37, -0.018, 0.170, 0.092, 0.096),
        ring(1.405, -0.019, 0.132, 0.073, 0.078),
        ring(1.432, -0.018, 0.071, 0.057, 0.060),
        ring(1.436, -0.018, 0.062, 0.050, 0.054),
        ring(1.415, -0.018, 0.055, 0.045, 0.048),
    ];
    let joints =
        [HIPS, SPINE, CHEST, UPPER_CHEST, BREATH, SHOULDER, SHOULDER + RIGHT, UPPER_LEG, UPPER_LEG + RIGHT];
    Surface::loft(&rings, &Cut::upwards(20, 2)).bind(rig, &joints, 3)
}

fn sleeve(rig: &[Joint]) -> Surface {
    let at = |along: f32, r: f32| arm_ring(along, r, r);
    let rings = [
        Ring { center: [0.085, 1.352, -0.016], side: 0.036, front: 0.045, back: 0.048 },
        Ring { center: [0.132, 1.365, -0.016], side: 0.045, front: 0.054, back: 0.056 },
        at(0.035, 0.056),
        at(0.09, 0.059),
        at(0.15, 0.061),
        at(0.166, 0.060),
        at(0.168, 0.055),
        at(0.13, 0.045),
    ];
    let cut = Cut::along(ARM, [0.0, 0.0, 1.0], 14, 2);
    Surface::loft(&rings, &cut).bind(rig, &[UPPER_CHEST, SHOULDER, UPPER_ARM], 3)
}

/// A ring around the left arm, `along` metres from its first joint.
fn arm_ring(along: f32, wide: f32, thick: f32) -> Ring {
    Ring { center: add_scaled([0.165, 1.37, -0.015], ARM, along), side: thick, front: wide, back: wide }
}

fn arm(rig: &[Joint]) -> Surface {
    let rings = [
        arm_ring(0.08, 0.040, 0.040),
        arm_ring(0.16, 0.043, 0.042),
        arm_ring(0.23, 0.039, 0.038),
        arm_ring(0.27, 0.036, 0.036),
        arm_ring(0.31, 0.039, 0.037),
        arm_ring(0.37, 0.037, 0.034),
        arm_ring(0.44, 0.030, 0.027),
        arm_ring(0.50, 0.026, 0.022),
        arm_ring(0.535, 0.034, 0.021),
        arm_ring(0.575, 0.043, 0.021),
        arm_ring(0.61, 0.042, 0.020),
        arm_ring(0.65, 0.036, 0.017),
        arm_ring(0.68, 0.025, 0.012),
        arm_ring(0.69, 0.0, 0.0),
    ];
    let forward = [0.0, 0.0, 1.0];
    let joints = [UPPER_ARM, LOWER_ARM, HAND, FINGERS, FINGER_TIPS];
    let mut arm = Surface::loft(&rings, &Cut::along(ARM, forward, 12, 2)).bind(rig, &joints, 4);
    // The thumb leaves the palm forwards and along the arm.
    let (sin, cos) = sin_cos(0.75);
    let (direction, front) = ([ARM[0] * sin, ARM[1] * sin, cos], [-ARM[0] * cos, -ARM[1] * cos, sin]);
    let thumb = [(0.0, 0.016), (0.02, 0.0165), (0.04, 0.015), (0.062, 0.0125), (0.074, 0.008), (0.078, 0.0)];
    let rings = thumb.map(|(along, r)| {
        let center = add_scaled([0.576, 1.019, 0.006], direction, along);
        Ring { center, side: r, front: r, back: r }
    });
    let cut = Cut { front, side: cross(direction, front), columns: 8, rows: 2 };
    arm.join(&Surface::loft(&rings, &cut).bind(rig, &[HAND, THUMB, THUMB_TIP], 4));
    arm
}

fn pelvis(rig: &[Joint]) -> Surface {
    let rings = [
        ring(0.775, 0.0, 0.0, 0.0, 0.0),
        ring(0.785, 0.0, 0.050, 0.040, 0.050),
        ring(0.82, 0.0, 0.118, 0.080, 0.098),
        ring(0.87, 0.0, 0.148, 0.097, 0.113),
        ring(0.91, 0.0, 0.136, 0.086, 0.098),
        ring(0.94, 0.0, 0.110, 0.066, 0.072),
        ring(0.95, 0.0, 0.0, 0.0, 0.0),
    ];
    let joints = [HIPS, SPINE, UPPER_LEG, UPPER_LEG + RIGHT];
    Surface::loft(&rings, &Cut::upwards(16, 1)).bind(rig, &joints, 3)
}

fn leg(rig: &[Joint]) -> Surface {
    let at = |y: f32, x: f32, z: f32, side: f32, front: f32, back: f32| Ring {
        center: [x, y, z],
        side,
        front,
        back,
    };
    let rings = [
        at(0.14, 0.102, -0.014, 0.044, 0.046, 0.046),
        at(0.082, 0.102, -0.012, 0.054, 0.064, 0.060),
        at(0.084, 0.102, -0.012, 0.059, 0.069, 0.065),
        at(0.13, 0.101, -0.012, 0.057, 0.062, 0.062),
        at(0.24, 0.101, -0.008, 0.058, 0.056, 0.066),
        at(0.36, 0.100, -0.002, 0.063, 0.059, 0.074),
        at(0.44, 0.099, 0.003, 0.063, 0.062, 0.066),
        at(0.49, 0.098, 0.006, 0.064, 0.066, 0.062),
        at(0.55, 0.097, 0.005, 0.068, 0.071, 0.067),
        at(0.66, 0.095, 0.001, 0.078, 0.082, 0.082),
        at(0.77, 0.090, -0.001, 0.083, 0.090, 0.092),
        at(0.84, 0.084, 0.000, 0.062, 0.070, 0.076),
        at(0.87, 0.082, -0.002, 0.038, 0.042, 0.048),
        at(0.88, 0.082, -0.004, 0.0, 0.0, 0.0),
    ];
    let joints = [HIPS, UPPER_LEG, LOWER_LEG];
    Surface::loft(&rings, &Cut::upwards(14, 2)).bind(rig, &joints, 3)
}

/// A ring of the left shoe, from `heel` to `toe` along z.
fn shoe_ring(y: f32, side: f32, heel: f32, toe: f32) -> Ring {
    // The foot is widest at the ball, so the halves meet in front of its middle.
    let z = heel + (toe - heel) * 0.58;
    Ring { center: [0.105, y, z], side, front: toe - z, back: z - heel }
}

fn shoe(rig: &[Joint]) -> Surface {
    let rings = [
        shoe_ring(0.016, 0.046, -0.078, 0.192),
        shoe_ring(0.03, 0.049, -0.082, 0.194),
        shoe_ring(0.048, 0.047, -0.081, 0.180),
        shoe_ring(0.064, 0.043, -0.078, 0.148),
        shoe_ring(0.080, 0.040, -0.075, 0.100),
        shoe_ring(0.098, 0.039, -0.070, 0.058),
        shoe_ring(0.125, 0.038, -0.064, 0.036),
        shoe_ring(0.130, 0.0, -0.015, -0.015),
    ];
    Surface::loft(&rings, &Cut::upwards(16, 1)).bind(rig, &[LOWER_LEG, FOOT, TOES], 4)
}

fn sole(rig: &[Joint]) -> Surface {
    let rings = [
        shoe_ring(0.0, 0.0, 0.05, 0.05),
        shoe_ring(0.0, 0.048, -0.078, 0.194),
        shoe_ring(0.006, 0.053, -0.086, 0.203),
        shoe_ring(0.022, 0.053, -0.087, 0.204),
        shoe_ring(0.026, 0.048, -0.080, 0.196),
    ];
    Surface::loft(&rings, &Cut::upwards(16, 1)).bind(rig, &[FOOT, TOES], 4)
}

fn neck(rig: &[Joint]) -> Surface {
    let rings = [
        ring(1.37, -0.018, 0.055, 0.045, 0.050),
        ring(1.43, -0.017, 0.050, 0.046, 0.050),
        ring(1.48, -0.010, 0.046, 0.046, 0.052),
        ring(1.53, -0.004, 0.048, 0.048, 0.058),
    ];
    Surface::loft(&rings, &Cut::upwards(16, 2)).bind(rig, &[UPPER_CHEST, NECK, HEAD], 3)
}

fn head() -> Surface {
    let rings = [
        ring(1.458, 0.030, 0.0, 0.0, 0.0),
        ring(1.462, 0.030, 0.026, 0.030, 0.034),
        ring(1.478, 0.020, 0.052, 0.060, 0.066),
        ring(1.510, 0.008, 0.074, 0.081, 0.085),
        ring(1.555, 0.000, 0.086, 0.092, 0.098),
        ring(1.605, -0.003, 0.091, 0.095, 0.104),
        ring(1.650, -0.006, 0.088, 0.091, 0.104),
        ring(1.695, -0.008, 0.073, 0.076, 0.089),
        ring(1.722, -0.010, 0.045, 0.050, 0.056),
        ring(1.732, -0.010, 0.0, 0.0, 0.0),
    ];
    let mut head = Surface::loft(&rings, &Cut::upwards(20, 2));
    head.join(&Surface::ellipsoid([0.0, 1.558, 0.096], [0.0135, 0.016, 0.018], 10, 6));
    let ear = Surface::ellipsoid([0.091, 1.578, -0.008], [0.011, 0.028, 0.018], 8, 6);
    head.join(&ear);
    head.join(&ear.mirrored());
    head
}

/// Hair: a cap that is tilted back, so that it covers the neck and not the brow, and a quiff.
fn hair(rig: &[Joint]) -> Surface {
    let (sin, cos) = sin_cos(-0.62);
    let (up, front) = ([0.0, cos, sin], [0.0, -sin, cos]);
    let center = [0.0, 1.618, -0.012];
    // Down the skull, from the crown to the hairline and back in under it.
    let outline = [
        (0.130, 0.0),
        (0.120, 0.45),
        (0.097, 0.76),
        (0.055, 0.97),
        (0.0, 1.05),
        (-0.035, 1.03),
        (-0.05, 0.95),
        (-0.045, 0.8),
    ];
    let rings: Vec<Ring> = outline
        .iter()
        .rev()
        .map(|&(height, wide)| Ring {
            center: add_scaled(center, up, height),
            side: 0.097 * wide,
            front: 0.103 * wide,
            back: 0.109 * wide,
        })
        .collect();
    let mut hair = Surface::loft(&rings, &Cut::along(up, front, 16, 2));
    hair.join(&Surface::ellipsoid([0.020, 1.700, 0.048], [0.066, 0.036, 0.052], 14, 10));
    hair.join(&Surface::ellipsoid([-0.040, 1.697, 0.044], [0.046, 0.026, 0.044], 12, 8));
    hair.bind(rig, &[HEAD], 1)
}

fn brow(rig: &[Joint]) -> Surface {
    Surface::ellipsoid([0.0; 3], [0.019, 0.0048, 0.006], 8, 6)
        .moved(add([0.036, 1.628, 0.0], scale([0.0, 0.0, 1.0], 0.086)))
        .bind(rig, &[HEAD], 1)
}
