//! Surfaces lofted through rings, and the influences of the joints inside them.

use super::rig::{Joint, mirror, mirror_joint};
use condyle::math::sin_cos;
use condyle_draw::vector::{Vec3, add, add_scaled, cross, dot, length, normalize, scale, sub};

/// One cross-section: half an ellipse in front, half a different one behind.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    pub center: Vec3,
    /// Radii in metres: to either side, to the front, to the back. All zero closes the surface.
    pub side: f32,
    pub front: f32,
    pub back: f32,
}

/// A ring around the vertical axis, at `x = 0`.
pub(super) fn ring(y: f32, z: f32, side: f32, front: f32, back: f32) -> Ring {
    Ring { center: [0.0, y, z], side, front, back }
}

/// A surface of one piece, with the influences on it.
#[derive(Default, Clone)]
pub(super) struct Surface {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    /// Direction around the ring, unit length, and the sign of the bitangent.
    pub tangents: Vec<[f32; 4]>,
    /// u goes around once; v is the length along the loft in metres.
    pub uvs: Vec<[f32; 2]>,
    /// Four joints and their weights in 65535ths.
    pub influences: Vec<([u8; 4], [u16; 4])>,
    pub indices: Vec<u32>,
}

/// Division of a loft into triangles.
pub(super) struct Cut {
    /// The direction of `Ring::front`; the rings follow each other along `front x side`.
    pub front: Vec3,
    pub side: Vec3,
    pub columns: usize,
    /// Rows between two rings, on a curve through all of them.
    pub rows: usize,
}

impl Cut {
    /// Rings lie flat and follow each other upwards.
    pub(super) fn upwards(columns: usize, rows: usize) -> Self {
        Self { front: [0.0, 0.0, 1.0], side: [1.0, 0.0, 0.0], columns, rows }
    }

    /// Rings follow each other along `direction`, a unit vector across `front`.
    pub(super) fn along(direction: Vec3, front: Vec3, columns: usize, rows: usize) -> Self {
        Self { front, side: cross(direction, front), columns, rows }
    }
}

impl Surface {
    /// The surface through `rings`, not yet bound to any joint.
    pub(super) fn loft(rings: &[Ring], cut: &Cut) -> Self {
        let fine = refine(rings, cut.rows);
        let (columns, stride) = (cut.columns, cut.columns + 1);
        let mut it = Self::default();
        let (mut along, mut around) = (0.0, vec![]);
        for (i, ring) in fine.iter().enumerate() {
            if i > 0 {
                along += length(sub(ring.center, fine[i - 1].center));
            }
            // The last column repeats the first one with u = 1, so that a texture wraps around.
            for j in 0..stride {
                let u = j as f32 / columns as f32;
                let (sin, cos) = sin_cos(core::f32::consts::TAU * (j % columns) as f32 / columns as f32);
                let depth = if cos > 0.0 { ring.front } else { ring.back };
                let p = add_scaled(ring.center, cut.front, cos * depth);
                it.positions.push(add_scaled(p, cut.side, sin * ring.side));
                let tangent = add(scale(cut.front, -sin * depth), scale(cut.side, cos * ring.side));
                around.push(if ring.side > 0.0 { tangent } else { cut.side });
                it.uvs.push([u, along]);
            }
        }
        let mut normals = vec![[0.0; 3]; it.positions.len()];
        let closed = |row: usize| fine[row].side == 0.0;
        // Index of the vertex that sums up a normal: one per ring and column, one for a closed end.
        let home = |row: usize, j: usize| row * stride + if closed(row) { 0 } else { j % columns };
        for row in 0..fine.len() - 1 {
            for j in 0..columns {
                let quad = [(row, j), (row, j + 1), (row + 1, j + 1), (row + 1, j)];
                for (corners, end) in [([0, 1, 2], row), ([0, 2, 3], row + 1)] {
                    if closed(end) {
                        continue;
                    }
                    let at = corners.map(|c| quad[c].0 * stride + quad[c].1);
                    let [a, b, c] = at.map(|i| it.positions[i]);
                    let face = cross(sub(b, a), sub(c, a));
                    for corner in corners {
                        let n = &mut normals[home(quad[corner].0, quad[corner].1)];
                        *n = add(*n, face);
                    }
                    it.indices.extend(at.map(|i| i as u32));
                }
            }
        }
        it.normals =
            (0..it.positions.len()).map(|i| normalize(normals[home(i / stride, i % stride)])).collect();
        let across = |(&t, &n): (&Vec3, &Vec3)| {
            let [x, y, z] = normalize(add_scaled(t, n, -dot(t, n)));
            [x, y, z, 1.0]
        };
        it.tangents = around.iter().zip(&it.normals).map(across).collect();
        it
    }

    /// An ellipsoid with its axes along the model's.
    pub(super) fn ellipsoid(center: Vec3, radii: Vec3, columns: usize, rows: usize) -> Self {
        let rings: Vec<Ring> = (0..=rows)
            .map(|i| {
                let (sin, cos) = sin_cos(core::f32::consts::PI * i as f32 / rows as f32);
                let sin = if i == 0 || i == rows { 0.0 } else { sin };
                let center = add(center, [0.0, -cos * radii[1], 0.0]);
                Ring { center, side: sin * radii[0], front: sin * radii[2], back: sin * radii[2] }
            })
            .collect();
        Self::loft(&rings, &Cut::upwards(columns, 1))
    }

    /// Binds every vertex to the nearest of `joints`: the closer the joint, the larger its weight.
    ///
    /// `sharpness` is the power of the squared distance; a small one gives soft bends.
    pub(super) fn bind(mut self, rig: &[Joint], joints: &[usize], sharpness: u32) -> Self {
        self.influences = self
            .positions
            .iter()
            .map(|&p| {
                let mut row: Vec<(usize, f32)> = joints
                    .iter()
                    .map(|&j| {
                        let near = distance_squared(p, rig[j].at, rig[j].tip) + 1e-5;
                        (j, (0..sharpness).fold(1.0, |w, _| w * 1e-3 / near))
                    })
                    .collect();
                row.sort_by(|a, b| b.1.total_cmp(&a.1));
                row.truncate(4);
                let sum: f32 = row.iter().map(|r| r.1).sum();
                // Rounded down; the heaviest joint takes the rest up to 1, so that the sum is exact.
                let mut shares = row.iter().map(|r| (r.1 / sum * 65535.0) as u16).collect::<Vec<_>>();
                shares[0] += 65535 - shares.iter().sum::<u16>();
                let mut out = ([0; 4], [0; 4]);
                for (i, (&(joint, _), &share)) in row.iter().zip(&shares).filter(|(_, s)| **s > 0).enumerate()
                {
                    out.0[i] = joint as u8;
                    out.1[i] = share;
                }
                out
            })
            .collect();
        self
    }

    /// Moves every vertex; the normals do not change.
    pub(super) fn moved(mut self, by: Vec3) -> Self {
        for p in &mut self.positions {
            *p = add(*p, by);
        }
        self
    }

    /// The same surface on the other side of the body.
    pub(super) fn mirrored(&self) -> Self {
        let mut it = self.clone();
        for v in it.positions.iter_mut().chain(&mut it.normals) {
            *v = mirror(*v);
        }
        for [x, y, z, sign] in &mut it.tangents {
            [*x, *y, *z] = mirror([*x, *y, *z]);
            *sign = -*sign;
        }
        for (joints, weights) in &mut it.influences {
            for (joint, _) in joints.iter_mut().zip(weights).filter(|(_, w)| **w > 0) {
                *joint = mirror_joint(usize::from(*joint)) as u8;
            }
        }
        for triangle in it.indices.chunks_exact_mut(3) {
            triangle.swap(1, 2);
        }
        it
    }

    /// Appends another surface.
    pub(super) fn join(&mut self, other: &Self) {
        let first = self.positions.len() as u32;
        self.positions.extend(&other.positions);
        self.normals.extend(&other.normals);
        self.tangents.extend(&other.tangents);
        self.uvs.extend(&other.uvs);
        self.influences.extend(&other.influences);
        self.indices.extend(other.indices.iter().map(|i| first + i));
    }
}

/// Adds rings between the rings, on Catmull-Rom curves. Radii never become negative.
fn refine(rings: &[Ring], rows: usize) -> Vec<Ring> {
    let mut fine = Vec::new();
    let last = rings.len() - 1;
    for i in 0..last {
        let [a, b, c, d] = [rings[i.saturating_sub(1)], rings[i], rings[i + 1], rings[(i + 2).min(last)]];
        for row in 0..rows {
            let t = row as f32 / rows as f32;
            let mix = |a: f32, b: f32, c: f32, d: f32| {
                let bend = (2.0 * a - 5.0 * b + 4.0 * c - d) * t + (3.0 * (b - c) + d - a) * t * t;
                b + 0.5 * t * (c - a + bend)
            };
            let radius = |a, b, c, d| f32::max(mix(a, b, c, d), 0.0);
            fine.push(Ring {
                center: core::array::from_fn(|k| mix(a.center[k], b.center[k], c.center[k], d.center[k])),
                side: radius(a.side, b.side, c.side, d.side),
                front: radius(a.front, b.front, c.front, d.front),
                back: radius(a.back, b.back, c.back, d.back),
            });
        }
    }
    fine.push(rings[last]);
    fine
}

fn distance_squared(p: Vec3, a: Vec3, b: Vec3) -> f32 {
    let (along, from) = (sub(b, a), sub(p, a));
    let t = (dot(from, along) / dot(along, along)).clamp(0.0, 1.0);
    let off = sub(from, scale(along, t));
    dot(off, off)
}
