//! Node constraints of VRM 1.0 (`VRMC_node_constraint`): the rotation of a node follows another node, its
//! source.

mod apply;

use crate::json::Json;
use crate::problem::{Problems, quoted};
use crate::scene::Scene;
use crate::springs::{check_version, number};

const EXTENSION: &str = "VRMC_node_constraint";
const LEFT_OUT: &str = "the constraint is ignored";

/// Maximum number of ancestors of the sources and constrained nodes of all aim constraints together. Each of
/// them is visited for each pose.
const MOST_ABOVE: usize = 1 << 16;

/// Rule of a constraint. Axes have unit length.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Copies the rotation of the source about an axis of the constrained node.
    Roll([f64; 3]),
    /// Points an axis of the constrained node at the source.
    Aim([f64; 3]),
    /// Copies the local rotation of the source.
    Rotation,
}

/// A constraint between joints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Constraint {
    joint: u16,
    source: u16,
    kind: Kind,
    /// Blend weight, from 0 to 1.
    weight: f64,
}

/// The constraints of a document between nodes, dependencies first.
#[derive(Debug, Default)]
pub(crate) struct Found(Vec<FoundConstraint>);

#[derive(Debug, Clone)]
struct FoundConstraint {
    path: String,
    node: usize,
    source: usize,
    kind: Kind,
    weight: f64,
}

/// Reads the constraints of all nodes. Invalid ones are reported and dropped.
pub(crate) fn read(root: &Json<'_>, scene: &Scene, problems: &mut Problems) -> Found {
    // A document with a cycle of children is refused.
    if scene.order.len() < scene.nodes.len() {
        return Found::default();
    }
    let depths = depths(scene);
    let (mut found, mut above) = (Vec::new(), 0_usize);
    let nodes = root.list("nodes", &mut Problems::unheard());
    for (node, json) in nodes.iter().enumerate().take(scene.nodes.len()) {
        let Some(extension) = json.extension(EXTENSION) else { continue };
        let read = problems.as_warnings(LEFT_OUT, |problems| {
            let read = read_one(node, &extension, scene, problems)?;
            if matches!(read.kind, Kind::Aim(_)) {
                above += depths[node] + depths[read.source];
                if above > MOST_ABOVE {
                    let what = format!("aim constraints have more than {MOST_ABOVE} ancestors in total");
                    problems.error(&extension.path, what);
                }
            }
            (!problems.has_errors()).then_some(read)
        });
        found.extend(read);
    }
    ordered(found, scene, problems)
}

fn read_one(
    node: usize,
    extension: &Json<'_>,
    scene: &Scene,
    problems: &mut Problems,
) -> Option<FoundConstraint> {
    check_version(extension, problems);
    let constraint = extension.require("constraint", problems)?;
    let named = ["roll", "aim", "rotation"].map(|name| (name, constraint.get(name)));
    let mut forms = named.into_iter().filter_map(|(name, form)| Some((name, form?)));
    let (Some((name, form)), None) = (forms.next(), forms.next()) else {
        problems.error(&constraint.path, "must have exactly one of `roll`, `aim` and `rotation`");
        return None;
    };
    let kind = match name {
        "roll" => Kind::Roll(axis(&form, "rollAxis", &ROLL_AXES, problems)?),
        "aim" => Kind::Aim(axis(&form, "aimAxis", &AIM_AXES, problems)?),
        _ => Kind::Rotation,
    };
    let weight = f64::from(number(&form, "weight", 1.0, [0.0, 1.0], problems));
    let source = form.require("source", problems)?.index("nodes", scene.nodes.len(), problems)?;
    if source == node {
        problems.error(form.path.child("source"), "is the constrained node itself");
    } else if matches!(kind, Kind::Aim(_)) && scene.is_above(node, source) {
        let what = format!("node {source} is a descendant of the constrained node");
        problems.error(form.path.child("source"), what);
    }
    Some(FoundConstraint { path: extension.path.to_string(), node, source, kind, weight })
}

const ROLL_AXES: [(&str, [f64; 3]); 3] =
    [("X", [1.0, 0.0, 0.0]), ("Y", [0.0, 1.0, 0.0]), ("Z", [0.0, 0.0, 1.0])];
const AIM_AXES: [(&str, [f64; 3]); 6] = [
    ("PositiveX", [1.0, 0.0, 0.0]),
    ("NegativeX", [-1.0, 0.0, 0.0]),
    ("PositiveY", [0.0, 1.0, 0.0]),
    ("NegativeY", [0.0, -1.0, 0.0]),
    ("PositiveZ", [0.0, 0.0, 1.0]),
    ("NegativeZ", [0.0, 0.0, -1.0]),
];

/// Returns the axis with the name in property `key`.
fn axis(form: &Json<'_>, key: &str, axes: &[(&str, [f64; 3])], problems: &mut Problems) -> Option<[f64; 3]> {
    let value = form.require(key, problems)?;
    let text = value.text(problems)?;
    let found = axes.iter().find(|(name, _)| *name == text).map(|(_, axis)| *axis);
    if found.is_none() {
        let names = axes.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        problems.error(&value.path, format!("is {}, expected one of {names}", quoted(text)));
    }
    found
}

/// Returns the number of ancestors of each node.
fn depths(scene: &Scene) -> Vec<usize> {
    let mut depths = vec![0; scene.nodes.len()];
    for &node in &scene.order {
        depths[node] = scene.nodes[node].parent.map_or(0, |parent| depths[parent] + 1);
    }
    depths
}

/// Sorts constraints so that each comes after its dependencies. Cycles are reported and dropped.
fn ordered(found: Vec<FoundConstraint>, scene: &Scene, problems: &mut Problems) -> Found {
    let mut constraint_of = vec![None; scene.nodes.len()];
    for (at, it) in found.iter().enumerate() {
        constraint_of[it.node] = Some(at);
    }
    let above = |node: usize| std::iter::successors(scene.nodes[node].parent, |&at| scene.nodes[at].parent);
    let needs: Vec<Vec<usize>> = found
        .iter()
        .map(|it| match it.kind {
            // An aim depends on the position of its source and on the space of the constrained node.
            Kind::Aim(_) => {
                above(it.source).chain(above(it.node)).filter_map(|at| constraint_of[at]).collect()
            }
            Kind::Roll(_) | Kind::Rotation => constraint_of[it.source].into_iter().collect(),
        })
        .collect();
    let mut alive = vec![true; found.len()];
    let mut order = settled(&needs, &alive);
    if order.len() < found.len() {
        // The remaining constraints are on cycles or depend on them. After removing those on which no other
        // remaining constraint depends, only cycles and constraints between cycles remain.
        let mut stuck = alive.clone();
        order.iter().for_each(|&at| stuck[at] = false);
        settled(&reversed(&needs), &stuck).into_iter().for_each(|at| stuck[at] = false);
        for (at, it) in found.iter().enumerate().filter(|(at, _)| stuck[*at]) {
            problems.warning(&it.path, "is part of a cycle of constraints", LEFT_OUT);
            alive[at] = false;
        }
        order = settled(&needs, &alive);
    }
    Found(order.into_iter().map(|at| found[at].clone()).collect())
}

/// Returns the indices of the constraints that are alive, each after its dependencies that are alive. Cycles
/// and constraints that depend on them are not in the result.
fn settled(needs: &[Vec<usize>], alive: &[bool]) -> Vec<usize> {
    let users = reversed(needs);
    let mut open: Vec<usize> =
        needs.iter().map(|list| list.iter().filter(|&&at| alive[at]).count()).collect();
    let mut order: Vec<usize> = (0..needs.len()).filter(|&at| alive[at] && open[at] == 0).collect();
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        for &user in &users[at] {
            open[user] -= 1;
            if open[user] == 0 && alive[user] {
                order.push(user);
            }
        }
    }
    order
}

fn reversed(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut users = vec![Vec::new(); needs.len()];
    for (at, list) in needs.iter().enumerate() {
        list.iter().for_each(|&needed| users[needed].push(at));
    }
    users
}

impl Found {
    /// Marks constrained nodes and their sources.
    pub(crate) fn mark(&self, nodes: &mut [bool]) {
        for it in &self.0 {
            nodes[it.node] = true;
            nodes[it.source] = true;
        }
    }

    /// Returns the constraints between joints. A constraint is dropped if the skeleton lacks one of its
    /// joints, because the skeleton was built without it.
    pub(crate) fn resolve(&self, joint_of_node: &[Option<u16>]) -> Vec<Constraint> {
        let joints = self.0.iter().map(|it| {
            let (joint, source) = (joint_of_node[it.node]?, joint_of_node[it.source]?);
            Some(Constraint { joint, source, kind: it.kind, weight: it.weight })
        });
        joints.flatten().collect()
    }
}

#[cfg(test)]
mod tests;
