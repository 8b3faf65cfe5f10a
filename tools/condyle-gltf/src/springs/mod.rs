//! Reads the spring bones of VRM and converts them to the library's springs.

mod vrm0;
mod vrm1;

use std::collections::HashSet;

use condyle::math::Transform64;
use condyle::{Error, Skeleton};
use condyle_solve::spring_bones::{Collider, ColliderShape, Spring, SpringJoint, Springs};

use crate::json::Json;
use crate::problem::Problems;
use crate::rows::{Rows, multiply};
use crate::scene::Scene;

pub(crate) use vrm1::check_version;

/// The springs of a document, with node indices instead of joint indices.
#[derive(Debug, Default)]
pub(crate) struct Found {
    springs: Vec<FoundSpring>,
    colliders: Vec<FoundCollider>,
}

#[derive(Debug)]
struct FoundSpring {
    path: String,
    nodes: Vec<usize>,
    /// Settings of each node; `joint` is not known yet.
    settings: Vec<SpringJoint>,
    end: Option<[f32; 3]>,
    center: Option<usize>,
    colliders: Vec<u16>,
}

#[derive(Debug)]
struct FoundCollider {
    node: usize,
    shape: ColliderShape,
}

/// Limits on the springs of a document, so that hostile documents finish in bounded time.
#[derive(Debug, Default)]
struct Limits {
    pairs: usize,
}

/// Reads the springs of a document: those of VRM 1.0 if it has any, else those of VRM 0.x.
pub(crate) fn read(root: &Json<'_>, scene: &Scene, problems: &mut Problems) -> Found {
    let mut found = Found::default();
    if let Some(extension) = root.extension("VRMC_springBone") {
        vrm1::read(&extension, scene, &mut found, problems);
    } else if let Some(extension) = root.extension("VRM").and_then(|vrm| vrm.get("secondaryAnimation")) {
        vrm0::read(&extension, scene, &mut found, problems);
    }
    found
}

impl Found {
    /// Marks the nodes that springs rotate, and their tails.
    pub(crate) fn mark(&self, nodes: &mut [bool]) {
        for &node in self.springs.iter().flat_map(|spring| &spring.nodes) {
            nodes[node] = true;
        }
    }

    /// Returns the springs of a skeleton; `None` without springs.
    pub(crate) fn resolve(
        self,
        scene: &Scene,
        joint_of_node: &[Option<u16>],
        skeleton: &Skeleton,
        problems: &mut Problems,
    ) -> Option<Springs> {
        if self.springs.is_empty() {
            return None;
        }
        let places = places(scene, joint_of_node);
        let turned = self.turned(scene);
        let colliders: Vec<Collider> = self.colliders.iter().map(|it| it.on(&places[it.node])).collect();
        let (mut springs, mut found) = (Vec::new(), Vec::new());
        for it in &self.springs {
            let joints = it.nodes.iter().map(|&node| joint_of_node[node]).collect::<Option<Vec<u16>>>();
            // The skeleton was built for other animations, without these nodes.
            let Some(joints) = joints else { continue };
            let settings = joints.iter().zip(&it.settings).map(|(&joint, it)| SpringJoint { joint, ..*it });
            let center = it.center.and_then(|node| {
                if turned[node] {
                    let path = format!("{}/center", it.path);
                    let what = format!("node {node} is moved by a spring");
                    problems.warning(
                        path,
                        what,
                        "the nearest ancestor that no spring moves is used as center",
                    );
                    let above = std::iter::successors(skeleton.parent(joints[0]), |&at| skeleton.parent(at));
                    let is_moved = |at: &u16| skeleton.node(*at).is_some_and(|node| turned[node as usize]);
                    above.into_iter().find(|at| !is_moved(at))
                } else {
                    places[node].joint
                }
            });
            found.push(it);
            springs.push(Spring {
                joints: settings.collect(),
                end: it.end,
                center,
                colliders: it.colliders.clone(),
            });
        }
        let error = match Springs::new(skeleton, &springs, &colliders) {
            Ok(springs) => return Some(springs),
            Err(error) => error,
        };
        // A collider can be a descendant of a joint that it stops.
        let carried = |at: u16| turned[self.colliders[usize::from(at)].node];
        for (spring, it) in springs.iter_mut().zip(&found) {
            let count = spring.colliders.len();
            spring.colliders.retain(|&at| !carried(at));
            if spring.colliders.len() < count {
                problems.warning(&it.path, error.to_string(), "colliders that springs move are ignored");
            }
        }
        // An invalid spring is dropped alone; the others stay.
        loop {
            let error = match Springs::new(skeleton, &springs, &colliders) {
                Ok(springs) => return Some(springs),
                Err(error) => error,
            };
            match error {
                Error::OutOfRange { what: "springs", at, .. }
                | Error::Index { what: "springs", at, .. }
                | Error::NotFinite { what: "springs", at }
                    if springs.len() > 1 && at < springs.len() =>
                {
                    problems.warning(&found.remove(at).path, error.to_string(), "this spring is ignored");
                    springs.remove(at);
                }
                _ => {
                    let path = found.first().map_or("/springs", |it| &*it.path);
                    problems.warning(path, error.to_string(), "all springs are ignored");
                    return None;
                }
            }
        }
    }

    /// Returns whether a spring moves each node.
    fn turned(&self, scene: &Scene) -> Vec<bool> {
        let mut turned = vec![false; scene.nodes.len()];
        for it in &self.springs {
            let tails = usize::from(it.end.is_none());
            it.nodes[..it.nodes.len() - tails].iter().for_each(|&node| turned[node] = true);
        }
        for &node in &scene.order {
            turned[node] |= scene.nodes[node].parent.is_some_and(|parent| turned[parent]);
        }
        turned
    }

    /// Adds a spring, unless another spring already moves one of its nodes.
    fn push(&mut self, spring: FoundSpring, swings: &mut HashSet<usize>, problems: &mut Problems) {
        let tails = usize::from(spring.end.is_none());
        let turning = &spring.nodes[..spring.nodes.len() - tails];
        if let Some(node) = turning.iter().find(|node| swings.contains(node)) {
            let what = format!("node {node} is already in a spring");
            problems.warning(&spring.path, what, "the spring is ignored");
            return;
        }
        swings.extend(turning);
        self.springs.push(spring);
    }
}

impl Limits {
    /// Returns the colliders of a spring with this number of joints, as many as the limit allows.
    fn take(
        &mut self,
        joints: usize,
        path: &str,
        mut colliders: Vec<u16>,
        problems: &mut Problems,
    ) -> Vec<u16> {
        // Half of the limit, because the segments between joints count too.
        let left = (Springs::MAX_PAIRS / 2).saturating_sub(self.pairs) / joints.max(1);
        if colliders.len() > left {
            let what =
                format!("there are more than {} pairs of joints and colliders", Springs::MAX_PAIRS / 2);
            problems.warning(path, what, "further colliders are ignored");
            colliders.truncate(left);
        }
        self.pairs += joints * colliders.len();
        colliders
    }
}

/// The nearest joint at or above a node, and the matrix from node space to joint space.
#[derive(Clone)]
struct Place {
    joint: Option<u16>,
    rows: Rows,
}

/// Returns the place of each node.
fn places(scene: &Scene, joint_of_node: &[Option<u16>]) -> Vec<Place> {
    let start = Place { joint: None, rows: Transform64::IDENTITY.to_rows() };
    let mut places = vec![start.clone(); scene.nodes.len()];
    for &node in &scene.order {
        let it = &scene.nodes[node];
        if joint_of_node[node].is_some() {
            places[node] = Place { joint: joint_of_node[node], ..start.clone() };
            continue;
        }
        let local = it.matrix.unwrap_or_else(|| it.trs.to_rows());
        let above = it.parent.map_or(&start, |parent| &places[parent]);
        places[node] = Place { joint: above.joint, rows: multiply(&above.rows, &local) };
    }
    places
}

impl FoundCollider {
    /// Returns the collider in joint space. The nodes between the collider and its joint do not move.
    fn on(&self, place: &Place) -> Collider {
        let point = |p: [f32; 3]| {
            let [x, y, z] = p.map(f64::from);
            place.rows.map(|r| (r[0] * x + r[1] * y + r[2] * z + r[3]) as f32)
        };
        let shape = match self.shape {
            ColliderShape::Sphere { offset, radius, inside } => {
                ColliderShape::Sphere { offset: point(offset), radius, inside }
            }
            ColliderShape::Capsule { offset, tail, radius, inside } => {
                ColliderShape::Capsule { offset: point(offset), tail: point(tail), radius, inside }
            }
            ColliderShape::Plane { offset, normal } => {
                ColliderShape::Plane { offset: point(offset), normal: turned_normal(&place.rows, normal) }
            }
            other => other,
        };
        Collider { joint: place.joint, shape }
    }
}

/// Transforms a normal by the inverse transpose, which has the direction of the cofactor matrix. Returns the
/// normal unchanged if the cofactors are flat.
fn turned_normal(rows: &Rows, normal: [f32; 3]) -> [f32; 3] {
    let [a, b, c] = rows.map(|r| [r[0], r[1], r[2]]);
    let cross = |u: [f64; 3], v: [f64; 3]| {
        [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    };
    let dot = |u: [f64; 3], v: [f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let cofactors = [cross(b, c), cross(c, a), cross(a, b)];
    let sign = if dot(a, cofactors[0]) < 0.0 { -1.0 } else { 1.0 };
    let turned = cofactors.map(|row| sign * dot(row, normal.map(f64::from)));
    let size = dot(turned, turned).sqrt();
    if size > 0.0 && size.is_finite() { turned.map(|v| (v / size) as f32) } else { normal }
}

/// Returns the number `key`, clamped to a range. A clamped value is reported.
pub(crate) fn number(
    json: &Json<'_>,
    key: &str,
    default: f32,
    [least, most]: [f32; 2],
    problems: &mut Problems,
) -> f32 {
    let value = json.number_or(key, default, problems);
    let within = value.clamp(least, most);
    if within != value {
        let what = format!("is {value}, expected a number from {least}");
        let what = if most < f32::MAX { format!("{what} to {most}") } else { what };
        problems.warning(format!("{}/{key}", json.path), what, format!("treated as {within}"));
    }
    within
}

/// The range of nonnegative numbers.
const NOT_NEGATIVE: [f32; 2] = [0.0, f32::MAX];

/// Returns the colliders of the collider groups that a spring lists; dropped colliders are skipped.
fn stops(groups: &[Vec<u16>], spring: &Json<'_>, problems: &mut Problems) -> Vec<u16> {
    let mut all = Vec::new();
    for item in spring.list("colliderGroups", problems) {
        let Some(group) = item.index("collider groups", groups.len(), problems) else { continue };
        // Many springs can list large groups.
        if problems.afford(&item.path, size_of_val(&*groups[group])).is_none() {
            break;
        }
        all.extend(&groups[group]);
    }
    all
}

#[cfg(test)]
mod tests;
