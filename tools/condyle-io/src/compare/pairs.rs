//! Pairing of the vertices or joints of two models, and their distances at rest.

use std::collections::HashMap;
use std::hash::Hash;

use condyle_gltf::StillNode;
use rayon::prelude::*;

use crate::compare::error::{Error, NoMeshes};
use crate::compare::joints::{By, node_twins, twins};
use crate::compare::subject::{POINTS, Part, Subject, Worst};
use crate::compare::tree::{Tree, square};

/// Distance at rest, relative to the size of the models, below which two vertices count as being at the same
/// position.
const SAME: f64 = 1e-4;
/// Maximum distance at rest, relative to the size of the models, between a vertex and its counterpart. It
/// allows for coarse positions, such as 8 bits.
const MOST: f64 = 4e-3;
/// Factor on the median distance from a vertex to the nearest vertex of the other model at rest. Farther
/// vertices are not counterparts.
const SPREAD: f64 = 8.0;

/// Roundings of a position to f32 between a vertex and its counterpart.
const ROUNDINGS: f64 = 4.0;

/// Kind of pairing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Vertices, by their order.
    Order,
    /// Vertices, by their position at rest.
    Place,
    /// Joints, because no meshes could be paired.
    Joints(By),
}

impl How {
    /// Returns `order`, `place` or `joints`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Place => "place",
            Self::Joints(_) => "joints",
        }
    }
}

/// A vertex of each model: its part, and its index in the part.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Link {
    pub(crate) parts: [u32; 2],
    pub(crate) vertices: [u32; 2],
}

/// All pairs, and their distances in the rest poses.
pub(crate) struct Pairs {
    pub(crate) how: How,
    pub(crate) links: Vec<Link>,
    /// Distances in each part of the first model.
    pub(crate) rest: Vec<AtRest>,
    /// Number of vertices or joints in each model, and of those without a counterpart.
    pub(crate) counts: [usize; 2],
    pub(crate) unpaired: [usize; 2],
    /// Names of joints without a counterpart; empty for vertices.
    pub(crate) unknown: [Vec<String>; 2],
    /// Reason why meshes were not paired, if they were not.
    pub(crate) why: Option<NoMeshes>,
    /// Distance from a joint to the points that represent it, in units of the models; 0 for vertices.
    pub(crate) reach: f64,
}

/// Distances in a part in the rest pose.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct AtRest {
    pub(crate) unpaired: usize,
    /// Largest distance of a vertex from its counterpart, in units of the models, and that vertex.
    pub(crate) worst: f64,
    pub(crate) vertex: usize,
}

impl Pairs {
    /// Returns the vertex with the largest distance from its counterpart at rest; the first one if all
    /// distances are 0.
    pub(crate) fn worst_at_rest(&self) -> Worst {
        let worst = |(part, it): (usize, &AtRest)| Worst { part, vertex: it.vertex, distance: it.worst };
        let further = |most: Worst, it: Worst| if it.distance > most.distance { it } else { most };
        self.rest.iter().enumerate().map(worst).fold(Worst::default(), further)
    }

    fn new(a: &Subject<'_>, b: &Subject<'_>, how: How, links: Vec<Link>) -> Self {
        let mut rest = vec![AtRest::default(); a.parts.len()];
        let mut paired =
            [a, b].map(|it| it.parts.iter().map(|p| vec![false; p.rest.len()]).collect::<Vec<_>>());
        for link in &links {
            let [(p, v), (q, w)] =
                [0, 1].map(|side| (link.parts[side] as usize, link.vertices[side] as usize));
            (paired[0][p][v], paired[1][q][w]) = (true, true);
            let distance = square(&a.parts[p].rest[v], &b.parts[q].rest[w]).sqrt();
            if distance > rest[p].worst {
                (rest[p].worst, rest[p].vertex) = (distance, v);
            }
        }
        let alone = |part: &Vec<bool>| part.iter().filter(|paired| !**paired).count();
        let unpaired = [0, 1].map(|side| paired[side].iter().map(alone).sum());
        rest.iter_mut().zip(&paired[0]).for_each(|(rest, part)| rest.unpaired = alone(part));
        let counts = [a, b].map(Subject::vertex_count);
        let unknown = [Vec::new(), Vec::new()];
        Self { how, links, rest, counts, unpaired, unknown, why: None, reach: 0.0 }
    }
}

/// Pairs the vertices of two models by order if that pairs equal positions, else by position; or pairs their
/// joints.
pub(crate) fn pairs(a: &mut Subject<'_>, b: &mut Subject<'_>, radius: f64) -> Result<Pairs, Error> {
    match meshes(a, b) {
        Ok(found) => Ok(found),
        Err(why) => by_joints(a, b, why, radius),
    }
}

/// Pairs vertices, or returns the reason why that is impossible.
fn meshes(a: &Subject<'_>, b: &Subject<'_>) -> Result<Pairs, NoMeshes> {
    let counts = [a, b].map(Subject::vertex_count);
    if let Some(side) = counts.iter().position(|count| *count == 0) {
        return Err(NoMeshes::Empty { model: [a, b][side].name().into() });
    }
    let size = size(a).min(size(b));
    let twins = twin_parts(a, b);
    let all = twins.len() == a.parts.len() && twins.len() == b.parts.len();
    let in_order = |within: f64| -> Vec<(usize, usize)> {
        twins.iter().copied().filter(|&(p, q)| is_near(&a.parts[p], &b.parts[q], within)).collect()
    };
    let ordered = |twins: &[(usize, usize)]| Pairs::new(a, b, How::Order, links_in_order(a, twins));
    let mut kept = in_order(SAME * size);
    if all && kept.len() == twins.len() {
        return Ok(ordered(&twins));
    }
    let places = Places::new(a, b, &kept, size);
    kept = in_order(places.reach);
    if all && kept.len() == twins.len() {
        return Ok(ordered(&twins));
    }
    let found = Pairs::new(a, b, How::Place, places.links(a, b, &kept));
    let paired = [0, 1].map(|side| found.counts[side] - found.unpaired[side]);
    // If few positions match, the models may have different rest poses.
    let mostly = (0..2).all(|side| 10 * paired[side] >= 9 * counts[side]);
    if !mostly && all && have_equal_joints(a, b, &twins) {
        return Ok(ordered(&twins));
    }
    // A simplified model, or a part of a model, may match the other model only in part.
    match (0..2).any(|side| 2 * paired[side] >= counts[side]) {
        true => Ok(found),
        false => Err(NoMeshes::Few { paired: paired[0], vertices: counts[0], models: names(a, b) }),
    }
}

fn names(a: &Subject<'_>, b: &Subject<'_>) -> [String; 2] {
    [a, b].map(|it| it.name().into())
}

/// Returns the longest side of the box around all vertices at rest, or around all joints.
fn size(it: &Subject<'_>) -> f64 {
    let vertices = it.parts.iter().flat_map(|part| &part.rest).copied();
    let joints = it.rest_model().unwrap_or_default().into_iter().map(|m| m.rows.map(|row| row[3]));
    let mut bounds = [(f64::INFINITY, f64::NEG_INFINITY); 3];
    let mut add = |p: [f32; 3]| {
        bounds.iter_mut().zip(p.map(f64::from)).for_each(|(b, x)| *b = (b.0.min(x), b.1.max(x)));
    };
    match it.vertex_count() {
        0 => joints.for_each(&mut add),
        _ => vertices.for_each(&mut add),
    }
    bounds.iter().map(|(low, high)| high - low).fold(0.0, f64::max)
}

/// Pairs parts by name, or all parts by order if names do not match. Both parts must have the same number of
/// vertices.
fn twin_parts(a: &Subject<'_>, b: &Subject<'_>) -> Vec<(usize, usize)> {
    let twins = parts_by_name(a, b);
    twins.into_iter().filter(|&(p, q)| a.parts[p].rest.len() == b.parts[q].rest.len()).collect()
}

/// Pairs parts by name, or all parts by order if names do not match.
fn parts_by_name(a: &Subject<'_>, b: &Subject<'_>) -> Vec<(usize, usize)> {
    let key = |part: &Part| (part.name.clone(), part.primitive);
    let (these, those) = (&a.parts, &b.parts);
    let named = by_key(these.iter().map(key), those.iter().map(key));
    match named.len() < these.len() && these.len() == those.len() {
        true => (0..these.len()).map(|part| (part, part)).collect(),
        false => named,
    }
}

/// Whether each vertex of a part is within a distance of the vertex with the same index in the other part, at
/// rest.
fn is_near(a: &Part, b: &Part, within: f64) -> bool {
    a.rest.iter().zip(&b.rest).all(|(p, q)| square(p, q) <= within * within)
}

fn links_in_order(a: &Subject<'_>, twins: &[(usize, usize)]) -> Vec<Link> {
    let of = |&(p, q): &(usize, usize)| {
        (0..a.parts[p].rest.len() as u32).map(move |v| Link { parts: [p as u32, q as u32], vertices: [v; 2] })
    };
    twins.iter().flat_map(of).collect()
}

/// Whether the same joints move these parts: by name, or by index in skeletons with the same structure.
fn have_equal_joints(a: &Subject<'_>, b: &Subject<'_>, twins: &[(usize, usize)]) -> bool {
    let [these, those] = [a, b].map(|it| it.skeleton);
    let alike = these.parents() == those.parents();
    let movers = |&(p, q): &(usize, usize)| ((a.parts[p].mover, b.parts[q].mover), (p, q));
    let distinct: HashMap<_, _> = twins.iter().map(movers).collect();
    distinct.values().all(|&(p, q)| {
        let (own, other) = (a.joints_of(&a.parts[p]), b.joints_of(&b.parts[q]));
        let name = |(&joint, &twin): (&u16, &u16)| {
            these.names()[usize::from(joint)] == those.names()[usize::from(twin)]
        };
        own.len() == other.len() && ((alike && own == other) || own.iter().zip(other).all(name))
    })
}

/// All vertices of a model, part after part.
struct Flat {
    places: Vec<[f32; 3]>,
    /// Part and vertex index.
    names: Vec<[u32; 2]>,
    /// Vertices whose counterpart is not known yet.
    open: Vec<u32>,
}

impl Flat {
    fn new(it: &Subject<'_>) -> Self {
        let places = it.parts.iter().flat_map(|part| part.rest.iter().copied()).collect();
        let parts = it.parts.iter().zip(0..);
        let names = parts.flat_map(|(part, at)| (0..part.rest.len() as u32).map(move |v| [at, v])).collect();
        Self { places, names, open: Vec::new() }
    }

    /// Marks all vertices outside of these parts as not known yet.
    fn leave_open(&mut self, parts: usize, known: impl Iterator<Item = usize>) {
        let mut open = vec![true; parts];
        known.for_each(|part| open[part] = false);
        let vertices = self.names.iter().zip(0..);
        self.open =
            vertices.filter(|([part, _], _)| open[*part as usize]).map(|(_, vertex)| vertex).collect();
    }
}

/// Vertices at rest, and the tolerance of their positions.
struct Places {
    flat: [Flat; 2],
    trees: [Tree<3>; 2],
    /// Vertices farther apart than this at rest are different.
    reach: f64,
}

impl Places {
    /// Computes the tolerance from the vertices outside of the parts whose order is known.
    fn new(a: &Subject<'_>, b: &Subject<'_>, known: &[(usize, usize)], size: f64) -> Self {
        let flat = [a, b].map(Flat::new);
        let trees = [0, 1].map(|side| Tree::new(&flat[side].places));
        let mut it = Self { flat, trees, reach: 0.0 };
        it.leave_open(a, b, known);
        // The smaller median measures the rounding, because vertices that only one model has increase the
        // other median.
        let middle = [0, 1].map(|side| {
            let Flat { places, open, .. } = &it.flat[side];
            let nearest = |&vertex: &u32| it.trees[1 - side].nearest(&places[vertex as usize]);
            let mut squares: Vec<f64> =
                open.par_iter().map(nearest).map(|n| n.map_or(f64::INFINITY, |n| n.1)).collect();
            let half = squares.len() / 2;
            match squares.is_empty() {
                true => f64::INFINITY,
                false => squares.select_nth_unstable_by(half, f64::total_cmp).1.sqrt(),
            }
        });
        // Far from the origin, most vertices can have equal positions, and some be a rounding apart.
        let numbers = it.flat.iter().flat_map(|flat| flat.places.as_flattened());
        let far = numbers.fold(0.0_f32, |most, v| most.max(v.abs()));
        let least = (SAME * size).max(ROUNDINGS * f64::from(f32::EPSILON * far));
        it.reach = (SPREAD * middle[0].min(middle[1])).clamp(least, least.max(MOST * size));
        it
    }

    fn leave_open(&mut self, a: &Subject<'_>, b: &Subject<'_>, known: &[(usize, usize)]) {
        self.flat[0].leave_open(a.parts.len(), known.iter().map(|twins| twins.0));
        self.flat[1].leave_open(b.parts.len(), known.iter().map(|twins| twins.1));
    }

    /// Pairs the known parts by order, and all other vertices by position. Of several vertices at one
    /// position, one of the same part is chosen, because instances of a mesh may overlap at rest. Of several
    /// of these, the one with the same joints and morph targets is chosen. A vertex may have several
    /// counterparts, because meshes are split along seams.
    fn links(mut self, a: &Subject<'_>, b: &Subject<'_>, known: &[(usize, usize)]) -> Vec<Link> {
        self.leave_open(a, b, known);
        let marks = marks(a, b, &self.flat, self.reach);
        let mut links = links_in_order(a, known);
        let mut twins = [a, b].map(|it| vec![None; it.parts.len()]);
        for (p, q) in parts_by_name(a, b) {
            (twins[0][p], twins[1][q]) = (Some(q), Some(p));
        }
        let mut met = vec![false; self.flat[1].places.len()];
        for side in [0, 1] {
            let (own, other) = (&self.flat[side], 1 - side);
            let twins = &twins[side];
            let of_parts = part_trees([a, b][other], &marks[other], twins);
            let tree = std::sync::LazyLock::new(|| Tree::new(&marks[other]));
            let near = |vertex: u32, found: Option<(u32, f64)>| {
                let found = found?.0;
                let apart = square(&own.places[vertex as usize], &self.flat[other].places[found as usize]);
                (apart <= self.reach * self.reach).then_some(found)
            };
            let twin = |&vertex: &u32| {
                let mark = &marks[side][vertex as usize];
                let of_part = twins[own.names[vertex as usize][0] as usize].and_then(|part: usize| {
                    let (first, tree) = of_parts[part].as_ref()?;
                    let (found, square) = tree.nearest(mark)?;
                    near(vertex, Some((first + found, square)))
                });
                if of_part.is_some() {
                    return Some((vertex, of_part?));
                }
                let marked = near(vertex, tree.nearest(mark));
                // If no vertex with the same joints and morph targets is near, the nearest vertex counts,
                // because joints may differ only by their names.
                let plain = || near(vertex, self.trees[other].nearest(&own.places[vertex as usize]));
                Some((vertex, marked.or_else(plain)?))
            };
            let open: Vec<u32> = match side {
                0 => own.open.clone(),
                _ => own.open.iter().copied().filter(|&vertex| !met[vertex as usize]).collect(),
            };
            let found: Vec<(u32, u32)> = open.par_iter().filter_map(twin).collect();
            for (vertex, twin) in found {
                let mut names = [own.names[vertex as usize], self.flat[other].names[twin as usize]];
                match side {
                    0 => met[twin as usize] = true,
                    _ => names.swap(0, 1),
                }
                let [[p, v], [q, w]] = names;
                links.push(Link { parts: [p, q], vertices: [v, w] });
            }
        }
        links
    }
}

/// Trees of the parts that are twins, with the number of the first vertex of each.
fn part_trees<const D: usize>(
    it: &Subject<'_>,
    marks: &[[f32; D]],
    twins: &[Option<usize>],
) -> Vec<Option<(u32, Tree<D>)>> {
    let mut is_twin = vec![false; it.parts.len()];
    twins.iter().flatten().for_each(|&part| is_twin[part] = true);
    let mut first = 0;
    let ranges = it.parts.iter().zip(is_twin).map(|(part, is_twin)| {
        let range = first..first + part.rest.len();
        first = range.end;
        (range, is_twin)
    });
    let ranges: Vec<_> = ranges.collect();
    let tree = |(range, is_twin): (std::ops::Range<usize>, bool)| {
        is_twin.then(|| (range.start as u32, Tree::new(&marks[range])))
    };
    ranges.into_par_iter().map(tree).collect()
}

/// Returns coordinates that distinguish vertices, in units of the models. They are the position at rest, a
/// position for each mix of joints, and the offset by morph targets. Positions of different mixes are a few
/// times `reach` apart.
fn marks(a: &Subject<'_>, b: &Subject<'_>, flat: &[Flat; 2], reach: f64) -> [Vec<[f32; 9]>; 2] {
    let (twins, _) = twins(a.skeleton, b.skeleton);
    let far = 2.0 * reach as f32;
    let own = |joint: usize| {
        // Independent numbers from -1 to 1, by the finisher of splitmix64.
        [1, 2, 3].map(|axis| {
            let mut x = (4 * joint as u64 + axis).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            far * (((x >> 40) as f32) / (1 << 23) as f32 - 1.0)
        })
    };
    let mut known = [a, b].map(|it| vec![None; it.skeleton.joint_count()]);
    for (joint, twin) in twins.iter().enumerate().filter_map(|(joint, twin)| Some((joint, (*twin)?))) {
        known[0][joint] = Some(own(joint));
        known[1][usize::from(twin)] = Some(own(joint));
    }
    [(a, 0), (b, 1)].map(|(it, side)| {
        // A joint without a counterpart counts as its nearest ancestor with one.
        let mut of_joint: Vec<[f32; 3]> = Vec::with_capacity(known[side].len());
        for (joint, own) in known[side].iter().enumerate() {
            let parent = it.skeleton.parent(joint as u16);
            of_joint.push(own.or(parent.map(|parent| of_joint[usize::from(parent)])).unwrap_or_default());
        }
        let stirred = it.stirred();
        let all = flat[side].names.par_iter().zip(&flat[side].places);
        let mark = |(&[part, vertex], place): (&[u32; 2], &[f32; 3])| {
            let (part, vertex, mut mix) = (part as usize, vertex as usize, [0.0; 3]);
            let (mesh, joints) = (&it.parts[part].mesh, it.joints_of(&it.parts[part]));
            for (joint, weight) in mesh.influences().row(vertex) {
                let Some(&joint) = joints.get(usize::from(joint)) else { continue };
                let own = of_joint[usize::from(joint)];
                mix.iter_mut().zip(own).for_each(|(sum, x)| *sum += weight * x);
            }
            let moved = stirred[part].get(vertex).copied().unwrap_or_default();
            let mut mark = [0.0; 9];
            for (slot, x) in mark.iter_mut().zip(place.iter().chain(&mix).chain(&moved)) {
                *slot = *x;
            }
            mark
        };
        all.map(mark).collect()
    })
}

/// Pairs joints, which replace the meshes in both models. A joint of one model may be a node of the other
/// that is not a joint.
fn by_joints(a: &mut Subject<'_>, b: &mut Subject<'_>, why: NoMeshes, reach: f64) -> Result<Pairs, Error> {
    let ((still_a, all_a), (still_b, all_b)) = (a.nodes(), b.nodes());
    let (pairs, by) = node_twins([a.skeleton, b.skeleton], [&all_a, &all_b]);
    if pairs.is_empty() {
        return Err(Error::Different { models: names(a, b), why });
    }
    let side = |side: usize| pairs.iter().map(|pair| [pair.0, pair.1][side]).collect();
    let (of_a, unknown_a) = take_nodes(a, &still_a, side(0), reach)?;
    let (of_b, unknown_b) = take_nodes(b, &still_b, side(1), reach)?;
    let points = |(own, other): &(u16, u16)| {
        let places = [of_a[own], of_b[other]];
        (0..POINTS).map(move |k| Link {
            parts: places.map(|place| place.0),
            vertices: places.map(|place| (POINTS * place.1 + k) as u32),
        })
    };
    let mut found = Pairs::new(a, b, How::Joints(by), pairs.iter().flat_map(points).collect());
    let four = |counts: [usize; 2]| counts.map(|count| count / POINTS);
    (found.counts, found.unpaired) = (four(found.counts), four(found.unpaired));
    found.rest.iter_mut().for_each(|rest| rest.unpaired /= POINTS);
    Ok(Pairs { why: Some(why), reach, unknown: [unknown_a, unknown_b], ..found })
}

/// Part of each node, and its index in the part.
type NodePlaces = HashMap<u16, (u32, usize)>;

/// Replaces the meshes of a model by points for its joints and for the paired nodes that are not joints.
/// Returns the part of each node with its index there, and the names of joints that are not paired.
fn take_nodes(
    it: &mut Subject<'_>,
    still: &[StillNode],
    mut paired: Vec<u16>,
    reach: f64,
) -> Result<(NodePlaces, Vec<String>), Error> {
    paired.sort_unstable();
    let first = it.skeleton.joint_count() as u16;
    let met = &paired[paired.partition_point(|&node| node < first)..];
    let nodes: Vec<_> = met.iter().map(|node| &still[usize::from(node - first)]).collect();
    let places = it.take_joints(reach, &nodes)?;
    let places = (0..first).chain(met.iter().copied()).zip(places).collect();
    let alone = (0..first).filter(|joint| paired.binary_search(joint).is_err());
    Ok((places, alone.map(|joint| it.skeleton.names()[usize::from(joint)].clone()).collect()))
}

/// Pairs the clips of two models; returns pairs of indices.
///
/// Clips are paired by name. Clips without names are paired by order if both models have the same number of
/// them. If no name is in both models, all clips are paired by order, if their numbers are equal.
#[must_use]
pub fn pair_clips(a: &Subject<'_>, b: &Subject<'_>) -> Vec<(usize, usize)> {
    let names = |it: &Subject<'_>| -> Vec<Option<String>> {
        (0..).zip(it.clips()).map(|(at, clip)| it.is_named(at).then(|| clip.name().to_owned())).collect()
    };
    let (these, those) = (names(a), names(b));
    let nameless = |names: &[Option<String>]| names.iter().filter(|name| name.is_none()).count();
    let mut pairs = by_key(these.iter(), those.iter());
    // The order of clips without a name is meaningless if one of them is missing.
    if nameless(&these) != nameless(&those) {
        pairs.retain(|&(clip, _)| these[clip].is_some());
    }
    // If no name matches, an export may have lost the names.
    match pairs.is_empty() && these.len() == those.len() {
        true => (0..these.len()).map(|clip| (clip, clip)).collect(),
        false => pairs,
    }
}

/// Pairs equal keys: the first with the first, the second with the second.
fn by_key<K: Hash + Eq>(a: impl Iterator<Item = K>, b: impl Iterator<Item = K>) -> Vec<(usize, usize)> {
    let mut places: HashMap<K, Vec<usize>> = HashMap::new();
    for (place, key) in b.enumerate() {
        places.entry(key).or_default().push(place);
    }
    places.values_mut().for_each(|places| places.reverse());
    a.enumerate().filter_map(|(at, key)| Some((at, places.get_mut(&key)?.pop()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_gltf::{Asset, Document};

    /// Two instances of a triangle at one place, with these vertices.
    fn two_triangles(corners: [[f32; 3]; 3]) -> Asset {
        let json = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0,1]}],
            "nodes":[{"name":"left","mesh":0},{"name":"right","mesh":0}],
            "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],
            "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3",
            "min":[0,0,0],"max":[1,1,0]}],"bufferViews":[{"buffer":0,"byteLength":36}],
            "buffers":[{"byteLength":36}]}"#;
        let json = format!("{json}{}", " ".repeat(json.len().wrapping_neg() % 4));
        let mut glb = b"glTF\x02\0\0\0".to_vec();
        let word = |n: usize| (n as u32).to_le_bytes();
        glb.extend(word(12 + 8 + json.len() + 8 + 36));
        glb.extend(word(json.len()).iter().chain(b"JSON").chain(json.as_bytes()));
        glb.extend(word(36).iter().chain(b"BIN\0"));
        glb.extend(corners.as_flattened().iter().flat_map(|x| x.to_le_bytes()));
        Asset::from_document(Document::from_slice("triangles", &glb, None).expect("a file")).expect("a model")
    }

    #[test]
    fn instances_at_one_place_are_paired_with_themselves() {
        let [a, b, c] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let (a, b) = (two_triangles([a, b, c]), two_triangles([c, a, b]));
        let mut sides = [&a, &b].map(|asset| Subject::new("triangles", asset, vec![]).expect("small"));
        let [a, b] = &mut sides;
        let found = pairs(a, b, 0.1).expect("the same vertices");
        assert_eq!((found.how, found.unpaired, found.links.len()), (How::Place, [0, 0], 6));
        for Link { parts, vertices } in found.links {
            assert_eq!(parts[0], parts[1], "{vertices:?}");
        }
    }

    #[test]
    fn vertices_far_from_the_origin_may_be_a_rounding_apart() {
        let far = 1e4_f32;
        let corners = [[far, 0.0, 0.0], [far + 1.0, 0.0, 0.0], [far, 1.0, 0.0]];
        let mut other = [corners[2], corners[0], corners[1]];
        other[2][0] = other[2][0].next_up();
        let (a, b) = (two_triangles(corners), two_triangles(other));
        let mut sides = [&a, &b].map(|asset| Subject::new("triangles", asset, vec![]).expect("small"));
        let [a, b] = &mut sides;
        let found = pairs(a, b, 0.1).expect("the same vertices");
        assert_eq!((found.how, found.unpaired), (How::Place, [0, 0]));
    }

    #[test]
    fn equal_keys_are_paired_in_their_order() {
        let pairs = by_key(["a", "b", "a", "c", "a"].into_iter(), ["a", "c", "a", "d"].into_iter());
        assert_eq!(pairs, [(0, 0), (2, 2), (3, 1)]);
    }
}
