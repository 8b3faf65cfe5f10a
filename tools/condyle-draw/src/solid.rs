//! Boxes next to the character, with the character's shadow on them.

use crate::raster::{Canvas, Corner};
use crate::stage::{Camera, Ground, Shadow};
use crate::vector::{Vec3, dot, sub};

/// An axis-aligned box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solid {
    /// Corner with the minimum coordinates, in world space.
    pub low: Vec3,
    /// Corner with the maximum coordinates.
    pub high: Vec3,
    /// Linear colour.
    pub color: Vec3,
}

impl Solid {
    /// Returns its corners. Bit `k` of the index is set if the corner is at the high end of axis `k`.
    #[must_use]
    pub fn corners(&self) -> [Vec3; 8] {
        core::array::from_fn(|i| {
            core::array::from_fn(|k| if i >> k & 1 == 0 { self.low[k] } else { self.high[k] })
        })
    }

    /// Returns the faces with their normals; corners are counter-clockwise as seen from outside.
    pub fn faces(&self) -> impl Iterator<Item = (Vec3, [Vec3; 4])> {
        let corners = self.corners();
        (0..6).map(move |face| {
            let (axis, far) = (face / 2, face % 2);
            let mut normal = [0.0; 3];
            normal[axis] = if far == 1 { 1.0 } else { -1.0 };
            let [mut u, mut v] = [1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3)];
            if far == 0 {
                (u, v) = (v, u);
            }
            (normal, [0, u, u + v, v].map(|i| corners[(far << axis) + i]))
        })
    }

    pub(crate) fn triangles(&self) -> impl Iterator<Item = [Vec3; 3]> {
        self.faces().flat_map(|(_, [a, b, c, d])| [[a, b, c], [a, c, d]])
    }

    /// Draws the box. `shadow` is the shadow of the objects that stand on it.
    pub(crate) fn draw(&self, canvas: &mut Canvas, camera: &Camera, ground: &Ground, shadow: &Shadow) {
        for (normal, [a, b, c, d]) in self.faces() {
            // A back face is hidden by other faces or by the next box.
            if dot(normal, sub(camera.eye, a)) <= 0.0 {
                continue;
            }
            // A face turned away from the light gets no light, so it has no shadow.
            let lit = (dot(normal, camera.light) * 6.0).clamp(0.0, 1.0);
            for triangle in [[a, b, c], [a, c, d]] {
                let corners = triangle.map(|p| Corner { at: camera.place(p), values: p });
                canvas.triangle(camera.lens, &corners, |&at, _| {
                    let dark = 1.0 - 0.58 * lit * ground.shade(shadow, camera.light, at);
                    let [r, g, b] = camera.shade(self.color, normal, at).map(|v| v * dark);
                    Some([r, g, b, 1.0])
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::{cross, length};

    #[test]
    fn the_faces_of_a_box_enclose_it() {
        let solid = Solid { low: [-1.0, 0.0, 2.0], high: [1.0, 3.0, 7.0], color: [0.5; 3] };
        let middle = [0.0, 1.5, 4.5];
        let mut area = 0.0;
        for (normal, [a, b, c, d]) in solid.faces() {
            for p in [a, b, c, d] {
                assert!(dot(normal, sub(p, middle)) > 0.9, "{normal:?} {p:?}");
            }
            let across = cross(sub(b, a), sub(d, a));
            assert!(dot(across, normal) == length(across) && sub(c, b) == sub(d, a), "{normal:?}");
            area += length(across);
        }
        assert!((area - 2.0 * (2.0 * 3.0 + 2.0 * 5.0 + 3.0 * 5.0)).abs() < 1e-4, "{area}");
        assert_eq!(solid.triangles().count(), 12);
    }
}
