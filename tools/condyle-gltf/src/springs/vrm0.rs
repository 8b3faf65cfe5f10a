//! Reads `secondaryAnimation` of VRM 0.x.
//!
//! Its vectors use Unity's left-handed axes, where +Z is -Z in the document. The last joint of a chain has no
//! tail node and gets a tail 7 cm away.

use std::collections::HashSet;

use condyle_solve::spring_bones::{ColliderShape, SpringJoint};

use super::{Found, FoundCollider, FoundSpring, Limits, NOT_NEGATIVE, number, stops};
use crate::json::Json;
use crate::problem::Problems;
use crate::scene::Scene;

/// Distance of the tail from the last joint of a chain, in metres.
const END: f64 = 0.07;

pub(super) fn read(extension: &Json<'_>, scene: &Scene, found: &mut Found, problems: &mut Problems) {
    problems.as_warnings("springs are read as far as possible", |problems| {
        let groups = read_colliders(extension, scene, found, problems);
        let (mut swings, mut seen, mut limits) = (HashSet::new(), HashSet::new(), Limits::default());
        for group in extension.objects("boneGroups", problems) {
            let read = problems.as_warnings("the springs of the group are ignored", |problems| {
                let read = read_group(&group, scene, &groups, &mut seen, problems);
                Some(read).filter(|_| !problems.has_errors())
            });
            let Some(read) = read else { continue };
            for mut spring in read {
                let colliders = std::mem::take(&mut spring.colliders);
                spring.colliders = limits.take(spring.nodes.len(), &spring.path, colliders, problems);
                found.push(spring, &mut swings, problems);
            }
        }
    });
}

/// Returns a Unity vector, which is an object, in the axes of the document.
fn vector(json: &Json<'_>, key: &str, default: [f32; 3], problems: &mut Problems) -> [f32; 3] {
    let Some(vector) = json.get(key) else { return default };
    let [x, y, z] = ["x", "y", "z"].map(|axis| vector.number_or(axis, 0.0, problems));
    [x, y, -z]
}

fn read_colliders(
    extension: &Json<'_>,
    scene: &Scene,
    found: &mut Found,
    problems: &mut Problems,
) -> Vec<Vec<u16>> {
    let mut groups = Vec::new();
    for group in extension.objects("colliderGroups", problems) {
        let first = found.colliders.len();
        let node = problems.as_warnings("the colliders of the group are ignored", |problems| {
            group.require("node", problems)?.index("nodes", scene.nodes.len(), problems)
        });
        for collider in group.objects("colliders", problems) {
            let read = problems.as_warnings("the collider is ignored", |problems| {
                let offset = vector(&collider, "offset", [0.0; 3], problems);
                let radius = number(&collider, "radius", 0.0, NOT_NEGATIVE, problems);
                let shape = ColliderShape::Sphere { offset, radius, inside: false };
                (!problems.has_errors()).then_some(shape)
            });
            let (Some(node), Some(shape)) = (node, read) else { continue };
            if found.colliders.len() > usize::from(u16::MAX) {
                problems.warning(&collider.path, "is beyond the maximum of 65536 colliders", "ignored");
                break;
            }
            found.colliders.push(FoundCollider { node, shape });
        }
        groups.push((first..found.colliders.len()).map(|at| at as u16).collect());
    }
    groups
}

/// Returns all chains of joints below the roots of a group, each with the group's settings.
fn read_group(
    group: &Json<'_>,
    scene: &Scene,
    groups: &[Vec<u16>],
    seen: &mut HashSet<usize>,
    problems: &mut Problems,
) -> Vec<FoundSpring> {
    let power = group.number_or("gravityPower", 0.0, problems);
    let settings = SpringJoint {
        // This is the spelling of the specification.
        stiffness: number(group, "stiffiness", 1.0, NOT_NEGATIVE, problems),
        gravity: vector(group, "gravityDir", [0.0, -1.0, 0.0], problems)
            .map(|v| (v * power).clamp(f32::MIN, f32::MAX)),
        drag: number(group, "dragForce", 0.5, [0.0, 1.0], problems),
        hit_radius: number(group, "hitRadius", 0.0, NOT_NEGATIVE, problems),
        ..SpringJoint::new(0)
    };
    // -1 means no center.
    let center = match group.get("center").and_then(|center| center.value.as_f64()) {
        Some(center) if center < 0.0 => None,
        _ => group.reference("center", "nodes", scene.nodes.len(), problems),
    };
    let colliders = stops(groups, group, problems);
    let mut springs = Vec::new();
    for bone in group.list("bones", problems) {
        let Some(root) = bone.index("nodes", scene.nodes.len(), problems) else { continue };
        if seen.contains(&root) {
            problems.warning(&bone.path, format!("node {root} is already in a spring"), "ignored");
        }
        let mut firsts = vec![root];
        while let Some(first) = firsts.pop() {
            let mut nodes = Vec::new();
            let mut at = Some(first);
            while let Some(node) = at.filter(|&node| seen.insert(node)) {
                nodes.push(node);
                let mut children = scene.children(node).iter().copied();
                at = children.next();
                firsts.extend(children);
            }
            let Some(&last) = nodes.last() else { continue };
            let rows = FoundSpring {
                path: bone.path.to_string(),
                settings: vec![settings; nodes.len()],
                end: Some(end(scene, last)),
                nodes,
                center,
                colliders: Vec::new(),
            };
            springs.push(rows);
        }
    }
    // Many springs can list many colliders.
    let cost = springs.len().saturating_mul(colliders.len());
    if problems.afford(&group.path, cost.saturating_mul(size_of::<u16>())).is_some() {
        springs.iter_mut().for_each(|spring| spring.colliders.clone_from(&colliders));
    }
    springs
}

/// Returns the position of a last joint's tail: 7 cm from the joint, in the direction from its parent to it.
fn end(scene: &Scene, node: usize) -> [f32; 3] {
    let translation = scene.nodes[node].trs.translation;
    let size = translation.iter().map(|v| v * v).sum::<f64>().sqrt();
    if size > 0.0 && size.is_finite() { translation.map(|v| (v / size * END) as f32) } else { [0.0; 3] }
}
