//! Reads `VRMC_springBone` 1.0, with `VRMC_springBone_extended_collider`.

use std::collections::HashSet;

use condyle_solve::spring_bones::{ColliderShape, SpringJoint};

use super::{Found, FoundCollider, FoundSpring, Limits, NOT_NEGATIVE, number, stops};
use crate::json::Json;
use crate::problem::{Problems, quoted};
use crate::scene::Scene;

pub(super) fn read(extension: &Json<'_>, scene: &Scene, found: &mut Found, problems: &mut Problems) {
    problems.as_warnings("springs are read as far as possible", |problems| {
        check_version(extension, problems);
        let groups = read_colliders(extension, scene, found, problems);
        let (mut swings, mut limits) = (HashSet::new(), Limits::default());
        for spring in extension.objects("springs", problems) {
            let read = problems.as_warnings("the spring is ignored", |problems| {
                let read = read_spring(&spring, scene, &groups, problems);
                read.filter(|_| !problems.has_errors())
            });
            if let Some(mut read) = read {
                let colliders = std::mem::take(&mut read.colliders);
                read.colliders = limits.take(read.nodes.len(), &read.path, colliders, problems);
                found.push(read, &mut swings, problems);
            }
        }
    });
}

/// Warns if the version of a VRM 1.0 extension is not 1.0.
pub(crate) fn check_version(extension: &Json<'_>, problems: &mut Problems) {
    let version = extension.text_of("specVersion", problems);
    if let Some(version) = version.filter(|&version| version != "1.0" && version != "1.0-beta") {
        let path = extension.path.child("specVersion");
        problems.warning(path, format!("is {}, expected \"1.0\"", quoted(version)), "read as 1.0");
    }
}

/// Reads the colliders and returns the collider groups.
fn read_colliders(
    extension: &Json<'_>,
    scene: &Scene,
    found: &mut Found,
    problems: &mut Problems,
) -> Vec<Vec<u16>> {
    let mut place_of = Vec::new();
    for collider in extension.objects("colliders", problems) {
        let read = problems.as_warnings("the collider is ignored", |problems| {
            let node = collider.require("node", problems)?.index("nodes", scene.nodes.len(), problems)?;
            let shape = read_shape(&collider, problems)?;
            (!problems.has_errors()).then_some((node, shape))
        });
        let place = u16::try_from(found.colliders.len()).ok();
        place_of.push(read.and_then(|(node, shape)| {
            if place.is_none() {
                problems.warning(&collider.path, "is beyond the maximum of 65536 colliders", "ignored");
            }
            found.colliders.push(FoundCollider { node, shape: place.map(|_| shape)? });
            place
        }));
    }
    let groups = extension.objects("colliderGroups", problems);
    let read = groups.iter().map(|group| {
        let colliders = group.list("colliders", problems);
        let indices = colliders.iter().filter_map(|item| item.index("colliders", place_of.len(), problems));
        indices.collect::<Vec<_>>().into_iter().filter_map(|index| place_of[index]).collect()
    });
    read.collect()
}

/// Returns the extended shape if it exists, else the plain shape.
fn read_shape(collider: &Json<'_>, problems: &mut Problems) -> Option<ColliderShape> {
    let extended = collider.extension("VRMC_springBone_extended_collider");
    if let Some(shape) = extended.and_then(|extended| extended.get("shape")) {
        if let Some(plane) = shape.get("plane") {
            let offset = vector(&plane, "offset", [0.0; 3], problems);
            let normal = vector(&plane, "normal", [0.0, 0.0, 1.0], problems);
            if normal == [0.0; 3] {
                problems.error(plane.path.child("normal"), "has no direction");
            }
            return Some(ColliderShape::Plane { offset, normal });
        }
        if let Some(shape) = round(&shape, problems) {
            return Some(shape);
        }
    }
    let shape = collider.require("shape", problems)?;
    let read = round(&shape, problems);
    if read.is_none() {
        problems.error(&shape.path, "is neither a sphere nor a capsule");
    }
    read
}

fn round(shape: &Json<'_>, problems: &mut Problems) -> Option<ColliderShape> {
    if let Some(sphere) = shape.get("sphere") {
        let offset = vector(&sphere, "offset", [0.0; 3], problems);
        let radius = number(&sphere, "radius", 0.0, NOT_NEGATIVE, problems);
        return Some(ColliderShape::Sphere { offset, radius, inside: sphere.flag("inside", problems) });
    }
    let capsule = shape.get("capsule")?;
    let offset = vector(&capsule, "offset", [0.0; 3], problems);
    let tail = vector(&capsule, "tail", [0.0; 3], problems);
    let radius = number(&capsule, "radius", 0.0, NOT_NEGATIVE, problems);
    Some(ColliderShape::Capsule { offset, tail, radius, inside: capsule.flag("inside", problems) })
}

fn vector(json: &Json<'_>, key: &str, default: [f32; 3], problems: &mut Problems) -> [f32; 3] {
    json.vector::<3>(key, problems).map_or(default, |v| v.map(|v| v as f32))
}

fn read_spring(
    spring: &Json<'_>,
    scene: &Scene,
    groups: &[Vec<u16>],
    problems: &mut Problems,
) -> Option<FoundSpring> {
    let joints = spring.objects("joints", problems);
    let (mut nodes, mut settings) = (Vec::new(), Vec::new());
    for joint in &joints {
        let node = joint.require("node", problems)?.index("nodes", scene.nodes.len(), problems)?;
        if let Some(&last) = nodes.last()
            && (last == node || !scene.is_above(last, node))
        {
            problems
                .error(joint.path.child("node"), format!("node {node} is not a descendant of node {last}"));
        }
        nodes.push(node);
        let direction = vector(joint, "gravityDir", [0.0, -1.0, 0.0], problems);
        let power = joint.number_or("gravityPower", 0.0, problems);
        settings.push(SpringJoint {
            stiffness: number(joint, "stiffness", 1.0, NOT_NEGATIVE, problems),
            gravity: direction.map(|v| (v * power).clamp(f32::MIN, f32::MAX)),
            drag: number(joint, "dragForce", 0.5, [0.0, 1.0], problems),
            hit_radius: number(joint, "hitRadius", 0.0, NOT_NEGATIVE, problems),
            ..SpringJoint::new(0)
        });
    }
    if nodes.len() < 2 {
        problems.warning(&spring.path, "has fewer than two joints, so nothing swings", "ignored");
        return None;
    }
    let center = spring.reference("center", "nodes", scene.nodes.len(), problems);
    let colliders = stops(groups, spring, problems);
    Some(FoundSpring { path: spring.path.to_string(), nodes, settings, end: None, center, colliders })
}
