//! Reference: the procedure of VRMC_springBone 1.0 followed literally, in f64, with all matrices recomputed
//! after each rotation. Also contains test characters.

use std::vec::Vec;

use crate::spring_bones::{Collider, ColliderShape, Spring, SpringJoint, Springs};
use condyle::model::local_to_model;
use condyle::pose::Pose;
use condyle::skeleton::{Joint, Skeleton};
use condyle_base::math::quats::{Quat64, product};
use condyle_base::math::scalar::sin_cos_f64;
use condyle_base::math::{Affine, Transform};
use condyle_testing::Random;

pub(super) type Vec3 = [f64; 3];
pub(super) type Matrix = [[f64; 4]; 3];

pub(super) fn sub(a: Vec3, b: Vec3) -> Vec3 {
    core::array::from_fn(|c| a[c] - b[c])
}

fn add(a: Vec3, b: Vec3) -> Vec3 {
    core::array::from_fn(|c| a[c] + b[c])
}

fn times(a: Vec3, by: f64) -> Vec3 {
    a.map(|a| a * by)
}

pub(super) fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn length(a: Vec3) -> f64 {
    dot(a, a).sqrt()
}

fn normalized(a: Vec3) -> Vec3 {
    times(a, 1.0 / length(a))
}

pub(super) fn point(m: &Matrix, p: Vec3) -> Vec3 {
    m.map(|r| r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + r[3])
}

pub(super) fn vector(m: &Matrix, p: Vec3) -> Vec3 {
    m.map(|r| r[0] * p[0] + r[1] * p[1] + r[2] * p[2])
}

fn concat(a: &Matrix, b: &Matrix) -> Matrix {
    let column = |c: usize| [b[0][c], b[1][c], b[2][c]];
    let columns = [vector(a, column(0)), vector(a, column(1)), vector(a, column(2)), point(a, column(3))];
    core::array::from_fn(|r| columns.map(|c| c[r]))
}

fn inverse(m: &Matrix) -> Matrix {
    // Cramer's rule.
    let c = |a: usize, b: usize, r: usize, s: usize| m[r][a] * m[s][b] - m[r][b] * m[s][a];
    let det = m[0][0] * c(1, 2, 1, 2) - m[0][1] * c(0, 2, 1, 2) + m[0][2] * c(0, 1, 1, 2);
    let mut out = [[0.0; 4]; 3];
    for (r, row) in out.iter_mut().enumerate() {
        for (k, value) in row.iter_mut().take(3).enumerate() {
            let (a, b, p, q) = ((r + 1) % 3, (r + 2) % 3, (k + 1) % 3, (k + 2) % 3);
            *value = c(a, b, p, q) / det;
        }
    }
    let back = vector(&out, [m[0][3], m[1][3], m[2][3]]);
    for (row, back) in out.iter_mut().zip(back) {
        row[3] = -back;
    }
    out
}

fn compose(t: &Transform, q: Quat64) -> Matrix {
    let [x, y, z, w] = q;
    let r = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ];
    core::array::from_fn(|row| {
        core::array::from_fn(|c| {
            if c < 3 { r[row][c] * f64::from(t.scale[c]) } else { t.translation[row].into() }
        })
    })
}

pub(super) fn unit(q: [f32; 4]) -> Quat64 {
    let q = q.map(f64::from);
    let size = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    q.map(|v| v / size)
}

fn affine(m: &Affine) -> Matrix {
    m.rows.map(|row| row.map(f64::from))
}

/// A test character.
pub(super) struct Scene {
    pub(super) skeleton: Skeleton,
    pub(super) list: Vec<Spring>,
    pub(super) colliders: Vec<Collider>,
    pub(super) springs: Springs,
    animated: Vec<u16>,
    walks: f32,
    /// Whether the character's world matrix mirrors it.
    pub(super) mirrored: bool,
}

impl Scene {
    /// A random character whose swinging joints depend on each other in many ways.
    pub(super) fn new(seed: u64, joints: usize) -> Self {
        let mut random = Random(seed);
        let all = (0..joints).map(|at| {
            let even = random.range(0.8, 1.25);
            let rest =
                Transform { rotation: random.unit(), translation: random.vector(0.2), scale: [even; 3] };
            let parent = (at > 0).then(|| (at - 1 - random.below(at.min(3))) as u16);
            Joint::new(std::format!("joint {at}"), parent, rest)
        });
        let skeleton = Skeleton::new(all.collect::<Vec<_>>()).expect("parents before children");
        let (mut taken, mut skips) = (std::vec![false; joints], std::vec![false; joints]);
        let mut list = Vec::new();
        for _ in 0..joints {
            let mut row = std::vec![random.below(joints) as u16];
            while let Some(&[first, ..]) = row.first_chunk::<1>() {
                let Some(mut parent) = skeleton.parent(first).filter(|_| row.len() < 5) else { break };
                // Sometimes skips a joint.
                if random.below(4) == 0 {
                    parent = skeleton.parent(parent).unwrap_or(parent);
                }
                row.insert(0, parent);
            }
            let end: Option<[f32; 3]> = (random.below(2) == 0).then(|| random.unit::<3>().map(|v| 0.1 * v));
            let turning = row.len() - usize::from(end.is_none());
            if turning == 0 || row[0] < 2 {
                continue;
            }
            // No joint in between is part of another spring.
            let mut all = std::vec![row[turning - 1]];
            let mut last = *row.last().expect("a row with entries");
            while let Some(parent) = skeleton.parent(last).filter(|_| last != row[0]) {
                all.push(parent);
                last = parent;
            }
            if all.iter().any(|&joint| skips[usize::from(joint)]) {
                continue;
            }
            all.iter().for_each(|&joint| skips[usize::from(joint)] = true);
            row[..turning].iter().for_each(|&joint| taken[usize::from(joint)] = true);
            let settings = row.iter().map(|&joint| SpringJoint {
                joint,
                stiffness: random.range(0.0, 2.0),
                gravity: random.vector(0.5),
                drag: random.range(0.2, 0.9),
                hit_radius: random.range(0.0, 0.05),
            });
            list.push(Spring { end, ..Spring::new(settings.collect::<Vec<_>>()) });
        }
        let moved = |joint: u16| {
            let mut at = Some(joint);
            while let Some(joint) = at {
                if taken[usize::from(joint)] {
                    return true;
                }
                at = skeleton.parent(joint);
            }
            false
        };
        let animated = (0..joints as u16).filter(|&joint| !moved(joint)).collect::<Vec<_>>();
        let mut colliders = Vec::new();
        for at in 0..8 {
            let inside = random.below(4) == 0;
            let radius = if inside { random.range(0.3, 0.6) } else { random.range(0.05, 0.2) };
            let (offset, tail, normal) = (random.vector(0.1), random.vector(0.3), random.vector(1.0));
            let shape = match at % 3 {
                0 => ColliderShape::Sphere { offset, radius, inside },
                1 => ColliderShape::Capsule { offset, tail, radius, inside },
                _ => ColliderShape::Plane { offset, normal },
            };
            // Some colliders are on swinging joints.
            let joint =
                if at < 6 { animated[random.below(animated.len())] } else { random.below(joints) as u16 };
            colliders.push(Collider { joint: (at != 4).then_some(joint), shape });
        }
        let springs = loop {
            for spring in &mut list {
                spring.colliders = (0..8).filter(|_| random.below(4) == 0).collect();
                spring.center = (random.below(3) == 0).then(|| animated[random.below(animated.len())]);
            }
            // Draws again if a collider is moved by a spring that it stops.
            if let Ok(springs) = Springs::new(&skeleton, &list, &colliders) {
                break springs;
            }
        };
        Self { skeleton, list, colliders, springs, animated, walks: 1.0, mirrored: false }
    }

    /// A head with hair: rows of five bones of 8 cm all around. Shoulders and head are colliders. The
    /// character runs in a circle and nods.
    pub(super) fn hair(rows: usize) -> Self {
        let mut joints = std::vec![
            Joint::new("chest", None, Transform { translation: [0.0, 1.4, 0.0], ..Transform::IDENTITY }),
            Joint::new("head", Some(0), Transform { translation: [0.0, 0.25, 0.0], ..Transform::IDENTITY }),
        ];
        let (mut list, mut random) = (Vec::new(), Random(1));
        for row in 0..rows {
            let (sin, cos) = sin_cos_f64(core::f64::consts::TAU * row as f64 / rows as f64);
            let root = [0.09 * sin as f32, 0.1, 0.09 * cos as f32];
            let first = joints.len() as u16;
            for bone in 0..6 {
                let translation = if bone == 0 { root } else { [0.0, -0.08, 0.0] };
                let parent = if bone == 0 { 1 } else { first + bone - 1 };
                let rest = Transform { translation, ..Transform::IDENTITY };
                joints.push(Joint::new("hair", Some(parent), rest));
            }
            let settings = (first..first + 6).map(|joint| SpringJoint {
                joint,
                stiffness: random.range(0.3, 1.5),
                gravity: [0.0, -random.range(0.0, 0.4), 0.0],
                drag: random.range(0.3, 0.7),
                hit_radius: 0.01,
            });
            list.push(Spring { colliders: std::vec![0, 1], ..Spring::new(settings) });
        }
        let capsule = ColliderShape::Capsule {
            offset: [-0.2, -0.05, 0.0],
            tail: [0.2, -0.05, 0.0],
            radius: 0.07,
            inside: false,
        };
        let sphere = ColliderShape::Sphere { offset: [0.0, 0.08, 0.0], radius: 0.08, inside: false };
        let colliders = std::vec![
            Collider { joint: Some(1), shape: sphere },
            Collider { joint: Some(0), shape: capsule },
        ];
        let skeleton = Skeleton::new(joints).expect("parents before children");
        let springs = Springs::new(&skeleton, &list, &colliders).expect("valid springs");
        Self { skeleton, list, colliders, springs, animated: std::vec![0, 1], walks: 1.0, mirrored: false }
    }

    /// Pose, matrices and placement at a time.
    pub(super) fn at(&self, seconds: f64) -> (Pose, Vec<Affine>, Affine) {
        let mut pose = self.skeleton.rest().clone();
        for (at, &joint) in self.animated.iter().enumerate() {
            let speed = 3.0 + at as f64 % 3.0;
            let (sin, cos) = sin_cos_f64(0.3 * sin_cos_f64(speed * seconds).0);
            let mut local = pose.get(joint.into());
            let turned = product(unit(local.rotation), [0.0, sin, 0.0, cos]);
            local.rotation = turned.map(|v| v as f32);
            pose.set(joint.into(), &local);
        }
        let mut model = std::vec![Affine::IDENTITY; self.skeleton.joint_count()];
        local_to_model(&self.skeleton, &pose, &mut model).expect("sizes agree");
        let (sin, cos) = sin_cos_f64(0.7 * seconds);
        let (s, c) = (sin as f32, cos as f32);
        let side = if self.mirrored { -1.0 } else { 1.0 };
        let to_world = Affine {
            rows: [
                [side * c, 0.0, s, self.walks * 1.5 * s],
                [0.0, 1.0, 0.0, 0.1 * sin_cos_f64(9.0 * seconds).0 as f32],
                [-side * s, 0.0, c, self.walks * 1.5 * c],
            ],
        };
        (pose, model, to_world)
    }
}

struct Swung {
    joint: usize,
    tail: Option<u16>,
    point: Vec3,
    spring: usize,
    settings: SpringJoint,
    now: Vec3,
    before: Vec3,
}

/// Reference simulation of the springs of a scene.
pub(super) struct Naive<'a> {
    scene: &'a Scene,
    swung: Vec<Swung>,
    /// Rotation of each joint in the simulation.
    pub(super) rotations: Vec<Quat64>,
    /// Whether a step was made.
    started: bool,
}

impl<'a> Naive<'a> {
    pub(super) fn new(scene: &'a Scene) -> Self {
        let mut swung = Vec::new();
        for joint in scene.springs.joints() {
            let found = scene.list.iter().enumerate().find_map(|(spring, it)| {
                let at = it.joints.iter().position(|other| other.joint == joint)?;
                let tail = it.joints.get(at + 1).map(|next| next.joint);
                (tail.is_some() || it.end.is_some()).then_some((spring, at, tail))
            });
            let (spring, at, tail) = found.expect("a joint of a spring");
            swung.push(Swung {
                joint: joint.into(),
                tail,
                point: scene.list[spring].end.unwrap_or_default().map(f64::from),
                spring,
                settings: scene.list[spring].joints[at],
                now: [0.0; 3],
                before: [0.0; 3],
            });
        }
        Self { scene, swung, rotations: Vec::new(), started: false }
    }

    fn worlds(&self, pose: &Pose, to_world: &Affine) -> Vec<Matrix> {
        let mut all: Vec<Matrix> = Vec::new();
        for (joint, t) in pose.transforms().enumerate() {
            let own = compose(&t, self.rotations[joint]);
            let above = match self.scene.skeleton.parent(joint as u16) {
                Some(parent) => all[usize::from(parent)],
                None => affine(to_world),
            };
            all.push(concat(&above, &own));
        }
        all
    }

    pub(super) fn step(&mut self, pose: &Pose, to_world: &Affine, dt: f64) {
        let rest = self.scene.skeleton.rest();
        let swings = |joint: usize| self.swung.iter().any(|it| it.joint == joint);
        let rotations = pose.transforms().enumerate().map(|(joint, t)| match (swings(joint), self.started) {
            (false, _) => unit(t.rotation),
            (true, false) => unit(rest.get(joint).rotation),
            (true, true) => self.rotations[joint],
        });
        self.rotations = rotations.collect();
        for at in 0..self.swung.len() {
            let worlds = self.worlds(pose, to_world);
            let it = &self.swung[at];
            let parent = match self.scene.skeleton.parent(it.joint as u16) {
                Some(parent) => worlds[usize::from(parent)],
                None => affine(to_world),
            };
            let local = pose.get(it.joint);
            let resting = unit(rest.get(it.joint).rotation);
            let initial = concat(&parent, &compose(&local, resting));
            // The tail in the space that the joint rotates.
            let point_local = match it.tail {
                None => it.point,
                Some(tail) => {
                    let tail = worlds[usize::from(tail)];
                    point(&inverse(&worlds[it.joint]), [tail[0][3], tail[1][3], tail[2][3]])
                }
            };
            let head = [initial[0][3], initial[1][3], initial[2][3]];
            let straight = sub(point(&initial, point_local), head);
            let bone = length(straight);
            let center = self.scene.list[it.spring].center.map(|center| worlds[usize::from(center)]);
            let (to, from) = match &center {
                Some(center) => (*center, inverse(center)),
                None => (affine(&Affine::IDENTITY), affine(&Affine::IDENTITY)),
            };
            if !self.started {
                let now = point(&from, add(head, straight));
                (self.swung[at].now, self.swung[at].before) = (now, now);
                continue;
            }
            let SpringJoint { stiffness, gravity, drag, hit_radius, .. } = it.settings;
            let inertia = times(sub(it.now, it.before), 1.0 - f64::from(drag));
            let mut next = point(&to, add(it.now, inertia));
            next = add(next, times(normalized(straight), f64::from(stiffness) * dt));
            next = add(next, times(gravity.map(f64::from), dt));
            let stretched = |tail: Vec3| add(head, times(normalized(sub(tail, head)), bone));
            next = stretched(next);
            for &collider in &self.scene.list[it.spring].colliders {
                let collider = &self.scene.colliders[usize::from(collider)];
                let world = collider.joint.map_or(affine(to_world), |joint| worlds[usize::from(joint)]);
                let (direction, distance) = collision(&collider.shape, &world, next, hit_radius.into());
                if distance < 0.0 {
                    next = stretched(sub(next, times(direction, distance)));
                }
            }
            let there = normalized(point(&inverse(&initial), next));
            let turned = product(resting, from_to(normalized(point_local), there));
            let it = &mut self.swung[at];
            it.before = it.now;
            it.now = point(&from, next);
            self.rotations[it.joint] = turned;
        }
        self.started = true;
    }
}

fn collision(shape: &ColliderShape, world: &Matrix, tail: Vec3, hit_radius: f64) -> (Vec3, f64) {
    let wide = |v: &[f32; 3]| v.map(f64::from);
    let (delta, radius, inside) = match shape {
        ColliderShape::Plane { offset, normal } => {
            let back = inverse(world);
            let normal = wide(normal);
            let column = |c: usize| [back[0][c], back[1][c], back[2][c]];
            let normal = normalized([0, 1, 2].map(|c| dot(column(c), normal)));
            return (normal, dot(sub(tail, point(world, wide(offset))), normal) - hit_radius);
        }
        ColliderShape::Sphere { offset, radius, inside } => {
            (sub(tail, point(world, wide(offset))), radius, inside)
        }
        ColliderShape::Capsule { offset, tail: end, radius, inside } => {
            let from = point(world, wide(offset));
            let along = sub(point(world, wide(end)), from);
            let delta = sub(tail, from);
            let part = (dot(along, delta) / dot(along, along)).clamp(0.0, 1.0);
            (sub(delta, times(along, part)), radius, inside)
        }
    };
    let (far, radius) = (length(delta), f64::from(*radius));
    if *inside {
        (times(delta, -1.0 / far), radius - hit_radius - far)
    } else {
        (times(delta, 1.0 / far), far - radius - hit_radius)
    }
}

fn from_to(a: Vec3, b: Vec3) -> Quat64 {
    let v = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let q = [v[0], v[1], v[2], 1.0 + dot(a, b)];
    let size = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    q.map(|v| v / size)
}

/// Angle between two rotations.
pub(super) fn angle(a: [f32; 4], b: Quat64) -> f64 {
    // Twice the chord between the quaternions, which is accurate for small angles.
    let a = unit(a);
    let far = |sign: f64| a.iter().zip(b).map(|(a, b)| (a - sign * b) * (a - sign * b)).sum::<f64>().sqrt();
    2.0 * far(1.0).min(far(-1.0))
}
