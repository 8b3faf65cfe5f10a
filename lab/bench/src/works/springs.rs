//! Hair of 100 swinging joints, of one character or of a hundred, for a few frames from rest.

use std::rc::Rc;

use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model};
use condyle_solve::spring_bones::{
    Collider, ColliderShape, CrowdBuffer, Spring, SpringJoint, SpringState, Springs, Tick, crowd, springs,
};
use condyle_testing::reference::{quat_inverse, quat_product, rotate};

use super::{case, largest};
use crate::harness::{Case, Subjects};

const INSTANCES: usize = 100;
/// Chains of hair, and bones per chain.
const ROWS: u16 = 20;
const BONES: u16 = 5;
/// Number of calls. The first one places the tails.
const FRAMES: usize = 8;
const RATE: f32 = 60.0;
/// Error limit of a component of a rotation.
const BOUND: f64 = 1e-6;

/// Position of the head, and the spheres and capsules that stop the hair: on the head and across the
/// shoulders.
const HEAD: [f32; 3] = [0.0, 1.65, 0.0];
const BONE: [f32; 3] = [0.0, -0.08, 0.0];
const SPHERE: ([f32; 3], f32) = ([0.0, 0.08, 0.0], 0.08);
const CAPSULE: ([f32; 3], [f32; 3], f32) = ([-0.2, -0.25, 0.0], [0.2, -0.25, 0.0], 0.07);

pub(super) fn cases() -> Vec<Case> {
    let joints = usize::from(ROWS * BONES) * FRAMES;
    vec![
        case("springs_alone", "", joints, 0, alone),
        case("springs_crowd100", "", joints * INSTANCES, 0, many),
    ]
}

/// Spring settings of the bones of a chain.
fn settings(row: u16) -> SpringJoint {
    let part = f32::from(row) / f32::from(ROWS);
    SpringJoint {
        stiffness: 0.3 + part,
        gravity: [0.0, -0.3, 0.0],
        drag: 0.4 + 0.2 * part,
        hit_radius: 0.01,
        ..SpringJoint::new(0)
    }
}

/// Root of a chain relative to the head.
fn root(row: u16) -> [f32; 3] {
    let angle = std::f32::consts::TAU * f32::from(row) / f32::from(ROWS);
    [0.09 * angle.sin(), 0.1, 0.09 * angle.cos()]
}

/// Position of a character in a frame.
fn place(instance: usize, frame: usize) -> [f32; 3] {
    let t = frame as f32 / RATE + instance as f32;
    [t.sin(), 0.05 * (9.0 * t).sin(), t.cos()]
}

struct Input {
    skeleton: Skeleton,
    springs: Springs,
    models: Vec<Affine>,
}

impl Input {
    fn new() -> Rc<Self> {
        let at = |translation| Transform { translation, ..Transform::IDENTITY };
        let mut joints = vec![Joint::new("head", None, at(HEAD))];
        let mut list = Vec::new();
        for row in 0..ROWS {
            let first = joints.len() as u16;
            joints.push(Joint::new("hair", Some(0), at(root(row))));
            joints.extend((0..BONES).map(|bone| Joint::new("hair", Some(first + bone), at(BONE))));
            let own = (first..=first + BONES).map(|joint| SpringJoint { joint, ..settings(row) });
            list.push(Spring { colliders: vec![0, 1], ..Spring::new(own) });
        }
        let skeleton = Skeleton::new(joints).expect("parents come first");
        let (offset, radius) = SPHERE;
        let head = ColliderShape::Sphere { offset, radius, inside: false };
        let (offset, tail, radius) = CAPSULE;
        let shoulders = ColliderShape::Capsule { offset, tail, radius, inside: false };
        let colliders = [head, shoulders].map(|shape| Collider { joint: Some(0), shape });
        let springs = Springs::new(&skeleton, &list, &colliders).expect("valid springs");
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(&skeleton, skeleton.rest(), &mut model).expect("sizes agree");
        Rc::new(Self { models: model.repeat(INSTANCES), skeleton, springs })
    }

    fn tick(instance: usize, frame: usize) -> Tick {
        let mut to_world = Affine::IDENTITY;
        for (row, place) in to_world.rows.iter_mut().zip(place(instance, frame)) {
            row[3] = place;
        }
        Tick { to_world, ..Tick::new(1.0 / RATE) }
    }

    /// Error of a pose, which shows the second to last step.
    fn error(&self, instance: usize, pose: &Pose) -> f64 {
        let rows = (0..ROWS).flat_map(|row| {
            let first = 1 + usize::from(row * (BONES + 1));
            swung(instance, row).into_iter().enumerate().map(move |(bone, q)| (first + bone, q))
        });
        largest(rows.map(|(joint, want)| {
            let got = pose.get(joint).rotation;
            let off = |sign: f64| largest((0..4).map(|c| (f64::from(got[c]) - sign * want[c]).abs()));
            off(1.0).min(off(-1.0))
        }))
    }
}

fn alone(subjects: &mut Subjects) {
    let input = Input::new();
    let looked_at = input.clone();
    subjects.only_fast();
    subjects.kernel(
        "condyle",
        BOUND,
        &input,
        (SpringState::new(&input.springs), Pose::rest(&input.skeleton)),
        |input, (state, pose)| {
            state.reset();
            for frame in 0..FRAMES {
                let model = &input.models[..input.skeleton.joint_count()];
                let tick = Input::tick(0, frame);
                springs(&input.skeleton, model, &input.springs, &tick, state, pose).expect("sizes agree");
            }
        },
        move |(_, pose)| looked_at.error(0, pose),
    );
}

fn many(subjects: &mut Subjects) {
    let input = Input::new();
    let looked_at = input.clone();
    subjects.only_fast();
    let states = vec![SpringState::new(&input.springs); INSTANCES];
    subjects.kernel(
        "condyle",
        BOUND,
        &input,
        (CrowdBuffer::default(), states, vec![Pose::rest(&input.skeleton); INSTANCES]),
        |input, (buffer, states, poses)| {
            states.iter_mut().for_each(SpringState::reset);
            for frame in 0..FRAMES {
                let ticks = |instance: usize| Input::tick(instance, frame);
                crowd(&input.skeleton, &input.models, &input.springs, ticks, buffer, states, poses)
                    .expect("sizes agree");
            }
        },
        move |(_, _, poses)| largest((0..INSTANCES).map(|at| looked_at.error(at, &poses[at]))),
    );
}

type Vec3 = [f64; 3];

fn add(a: Vec3, b: Vec3, times: f64) -> Vec3 {
    std::array::from_fn(|c| a[c] + times * b[c])
}

fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Rotations of a chain after the second to last step, computed in f64 as specified.
fn swung(instance: usize, row: u16) -> Vec<[f64; 4]> {
    let wide = |v: [f32; 3]| v.map(f64::from);
    let SpringJoint { stiffness, gravity, drag, hit_radius, .. } = settings(row);
    let (stiffness, kept, hit) = (f64::from(stiffness), 1.0 - f64::from(drag), f64::from(hit_radius));
    let (gravity, step) = (wide(gravity), 1.0 / f64::from(RATE));
    let bone = wide(BONE);
    let length = dot(bone, bone).sqrt();
    let axis = bone.map(|v| v / length);
    let mut tails = Vec::new();
    let mut rotations = Vec::new();
    for frame in 0..FRAMES - 1 {
        let head = add(wide(HEAD), wide(place(instance, frame)), 1.0);
        let mut pivot = add(head, wide(root(row)), 1.0);
        let mut turned = [0.0, 0.0, 0.0, 1.0];
        rotations.clear();
        for at in 0..usize::from(BONES) {
            let rest = rotate(turned, axis);
            if frame == 0 {
                let tail = add(pivot, rest, length);
                tails.push([tail; 2]);
            }
            let [now, before] = tails[at];
            let next = add(now, add(now, before, -1.0), kept);
            let next = add(add(next, rest, stiffness * step), gravity, step);
            let at_length = |tail: Vec3| {
                let v = add(tail, pivot, -1.0);
                add(pivot, v, length / dot(v, v).sqrt())
            };
            let mut next = at_length(next);
            let (sphere, along) =
                (add(head, wide(SPHERE.0), 1.0), add(wide(CAPSULE.1), wide(CAPSULE.0), -1.0));
            let from = add(next, sphere, -1.0);
            let deep = dot(from, from).sqrt() - f64::from(SPHERE.1) - hit;
            if deep < 0.0 {
                next = at_length(add(next, from, -deep / dot(from, from).sqrt()));
            }
            let from = add(next, add(head, wide(CAPSULE.0), 1.0), -1.0);
            let part = (dot(from, along) / dot(along, along)).clamp(0.0, 1.0);
            let from = add(from, along, -part);
            let deep = dot(from, from).sqrt() - f64::from(CAPSULE.2) - hit;
            if deep < 0.0 {
                next = at_length(add(next, from, -deep / dot(from, from).sqrt()));
            }
            if frame == 0 {
                next = now;
            }
            tails[at] = [next, now];
            let there = rotate(quat_inverse(turned), add(next, pivot, -1.0)).map(|v| v / length);
            let about = [1, 2, 0].map(|c| axis[c] * there[(c + 1) % 3] - axis[(c + 1) % 3] * there[c]);
            let [x, y, z] = about;
            let q = [x, y, z, 1.0 + dot(axis, there)];
            let size = q.iter().map(|v| v * v).sum::<f64>().sqrt();
            let q = q.map(|v| v / size);
            rotations.push(q);
            turned = quat_product(turned, q);
            pivot = next;
        }
    }
    rotations
}
