//! Joint limits drawn over a character: the range of a bone, and its direction.

use condyle::math::{atan2, sin_cos, sqrt};
use condyle::{Affine, Pose, Quat, Skeleton};
use condyle_solve::{JointLimit, Limits, Swing};
use image::RgbImage;

use super::overlay::{self, LineEnd};
use super::stage::Camera;
use super::vector::{
    Vec3, add, add_scaled, cross, dot, length, normalize, quat_about, quat_conjugate, quat_mul, quat_rotate,
    scale, sub,
};

/// Colour of the allowed range.
const REGION: [u8; 3] = [64, 132, 255];
/// Colours of a bone within its limit, and of one outside.
const WITHIN: [u8; 3] = [24, 160, 72];
const BEYOND: [u8; 3] = [226, 32, 36];
/// Radians by which rounding may move a rotation outside its limit.
const ROUNDED: f32 = 1e-4;
/// Number of points of a round border.
const POINTS: u16 = 48;

/// The posed skeleton with its matrices.
pub(crate) struct Posed<'a> {
    pub skeleton: &'a Skeleton,
    pub pose: &'a Pose,
    pub model: &'a [Affine],
}

/// The limit of one joint, in world space.
struct Sketch {
    at: Vec3,
    /// Border as seen from `at`: a closed line, or the arc of a hinge.
    border: Vec<Vec3>,
    closed: bool,
    /// End of the bone, drawn at the distance of the border.
    bone: Vec3,
    within: bool,
}

/// Draws the limits of some joints.
pub(crate) fn draw(
    picture: &mut RgbImage,
    camera: &Camera,
    posed: &Posed<'_>,
    limits: &Limits,
    joints: &[u16],
) {
    let unit = picture.width().min(picture.height()) as f32 / 640.0;
    let (wide, high) = (picture.width() as f32, picture.height() as f32);
    let place = |p: Vec3| {
        let [x, y] = camera.project(p)?;
        Some([wide / 2.0 + x, high / 2.0 - y])
    };
    let sketches = joints.iter().filter_map(|&joint| posed.sketch(limits, joint));
    let mut sketches: Vec<Sketch> = sketches.collect();
    // Far limits first.
    sketches.sort_by(|a, b| camera.place(b.at)[2].total_cmp(&camera.place(a.at)[2]));
    for sketch in &sketches {
        let color = if sketch.within { REGION } else { BEYOND };
        let (Some(at), Some(tip)) = (place(sketch.at), place(sketch.bone)) else { continue };
        let border: Vec<[f32; 2]> = sketch.border.iter().filter_map(|&p| place(p)).collect();
        if border.len() < sketch.border.len() || border.is_empty() {
            continue;
        }
        let next = |i: usize| border.get(i + 1).or(border.first().filter(|_| sketch.closed));
        for (i, from) in border.iter().enumerate() {
            if let Some(to) = next(i) {
                overlay::fill(picture, [at, *from, *to], color, 0.12);
            }
        }
        for (i, from) in border.iter().enumerate() {
            if let Some(to) = next(i) {
                overlay::tapered_line(
                    picture,
                    LineEnd::new(*from, 0.8 * unit),
                    LineEnd::new(*to, 0.8 * unit),
                    color,
                );
            }
        }
        if !sketch.closed {
            for end in [border[0], border[border.len() - 1]] {
                overlay::tapered_line(
                    picture,
                    LineEnd::new(at, 0.5 * unit),
                    LineEnd::new(end, 0.8 * unit),
                    color,
                );
            }
        }
        let color = if sketch.within { WITHIN } else { BEYOND };
        overlay::tapered_line(picture, LineEnd::new(at, 1.2 * unit), LineEnd::new(tip, 1.2 * unit), color);
        overlay::tapered_line(picture, LineEnd::new(tip, 2.6 * unit), LineEnd::new(tip, 2.6 * unit), color);
    }
}

impl Posed<'_> {
    fn place(&self, joint: u16) -> Vec3 {
        self.model[usize::from(joint)].rows.map(|row| row[3])
    }

    /// Returns the sketch of a joint's limit, if the joint has one that can be drawn.
    fn sketch(&self, limits: &Limits, joint: u16) -> Option<Sketch> {
        let limit = limits.get(joint)?;
        let rotation = self.pose.get(joint.into()).rotation;
        let at = self.place(joint);
        let (own, long) = self.bone(joint)?;
        let axis = normalize(limit.axis);
        // A hinge shows its bone, which turns about its axis; a joint that swings shows its axis.
        let leaning = dot(axis, own);
        let directions = if leaning.abs() > 0.7 {
            let axis = if leaning < 0.0 { scale(axis, -1.0) } else { axis };
            swings(limit, axis)
        } else {
            arc(limit, axis, own).map(|border| (border, own, false))
        };
        let (border, shown, closed) = directions?;
        let above = self.skeleton.parent(joint).map(|parent| self.model[usize::from(parent)]);
        // Normalised in world space, so the length does not depend on scales.
        let world = |d: Vec3| {
            let d = above.map_or(d, |above| above.transform_vector(d));
            add_scaled(at, normalize(d), 0.62 * long)
        };
        Some(Sketch {
            at,
            border: border.into_iter().map(world).collect(),
            closed,
            bone: world(quat_rotate(rotation, shown)),
            within: limits.excess(joint, rotation) <= ROUNDED,
        })
    }

    /// Returns the direction of a joint's bone in the joint's space, and its length in the world. The bone
    /// ends at the farthest child, or continues the one from the parent.
    fn bone(&self, joint: u16) -> Option<(Vec3, f32)> {
        let children = (joint..self.skeleton.joint_count() as u16)
            .filter(|&child| self.skeleton.parent(child) == Some(joint));
        let far = |child: u16| length(sub(self.place(child), self.place(joint)));
        let child = children.max_by(|&a, &b| far(a).total_cmp(&far(b))).filter(|&child| far(child) > 1e-6);
        if let Some(child) = child {
            return Some((normalize(self.pose.get(child.into()).translation), far(child)));
        }
        let parent = self.skeleton.parent(joint)?;
        let long = length(sub(self.place(joint), self.place(parent)));
        let t = self.skeleton.rest().get(joint.into());
        (long > 1e-6).then(|| (normalize(quat_rotate(quat_conjugate(t.rotation), t.translation)), 0.5 * long))
    }
}

/// Returns the border of the swings of an axis, in the space of the joint's parent. Also returns the axis,
/// and true because the line is closed.
fn swings(limit: &JointLimit, shown: Vec3) -> Option<(Vec<Vec3>, Vec3, bool)> {
    let axis = normalize(limit.axis);
    let around = (0..POINTS).map(|i| {
        let (sin, cos) = sin_cos(f32::from(i) * core::f32::consts::TAU / f32::from(POINTS));
        [cos, sin]
    });
    let plane = |angle: f32| {
        let (sin, cos) = sin_cos(angle / 4.0);
        sin / cos
    };
    // Borders in the plane of swings are circles, ellipses and straight lines.
    let (side, points): (Option<Vec3>, Vec<[f32; 2]>) = match &limit.swing {
        Swing::Cone(angle) => (None, around.map(|p| p.map(|v| v * plane(*angle))).collect()),
        Swing::Ellipse { side, angles: [a, b] } => {
            (Some(*side), around.map(|[x, y]| [x * plane(*a), y * plane(*b)]).collect())
        }
        Swing::Polygon { side, corners } => {
            let corners: Vec<_> = corners
                .iter()
                .map(|&[x, y]| {
                    let angle = sqrt(x * x + y * y);
                    let by = if angle > 0.0 { plane(angle) / angle } else { 0.0 };
                    [x * by, y * by]
                })
                .collect();
            (
                Some(*side),
                corners
                    .iter()
                    .enumerate()
                    .flat_map(|(i, from)| edge(*from, corners[(i + 1) % corners.len()]))
                    .collect(),
            )
        }
        _ => return None,
    };
    let side = normalize(match side {
        Some(side) => sub(side, scale(axis, dot(side, axis))),
        None => cross(axis, if axis[0].abs() < 0.7 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] }),
    });
    let other = cross(axis, side);
    let border = points.into_iter().map(|[x, y]| {
        let size = sqrt(x * x + y * y);
        let about = normalize(add(scale(side, x), scale(other, y)));
        let swing = quat_about(about, 4.0 * atan2(size, 1.0));
        quat_rotate(quat_mul(limit.reference, swing), shown)
    });
    Some((border.collect(), shown, true))
}

/// Returns points from one corner up to the next one, which is excluded.
fn edge(from: [f32; 2], to: [f32; 2]) -> impl Iterator<Item = [f32; 2]> {
    const PARTS: u16 = 6;
    (0..PARTS).map(move |part| {
        let t = f32::from(part) / f32::from(PARTS);
        [from[0] + (to[0] - from[0]) * t, from[1] + (to[1] - from[1]) * t]
    })
}

/// Returns the arc of a bone under the range of twist, in the space of the joint's parent.
fn arc(limit: &JointLimit, axis: Vec3, bone: Vec3) -> Option<Vec<Vec3>> {
    let [least, most] = limit.twist?;
    let turned = |part: u16| -> Quat {
        let angle = least + (most - least) * f32::from(part) / f32::from(POINTS);
        quat_mul(limit.reference, quat_about(axis, angle))
    };
    Some((0..=POINTS).map(|part| quat_rotate(turned(part), bone)).collect())
}
