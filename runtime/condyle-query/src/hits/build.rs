//! Tree construction: groups triangles into nodes of eight children by the surface area heuristic.
//!
//! The tree is built once, in the bind pose: neighbours stay near each other, because skin does not tear.
//! Only its boxes change with a pose, from vertices in the numbering of the tree, which are adjacent in
//! memory. A tree per joint, moved by the palette, would have to hold the blends between joints, and be
//! looser.

use alloc::vec;
use alloc::vec::Vec;

use condyle_base::order;

use super::node::{CHILDREN, FREE_LEVELS, LEAF, Leaf, Node};

/// Number of bins per axis for the centres of triangles.
const BINS: usize = 16;

/// Box around triangles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub(super) low: [f32; 3],
    pub(super) high: [f32; 3],
}

impl Bounds {
    /// Box that contains nothing.
    pub(super) const EMPTY: Self = Self { low: [f32::INFINITY; 3], high: [f32::NEG_INFINITY; 3] };

    pub(super) fn add(&mut self, other: &Self) {
        for k in 0..3 {
            self.low[k] = self.low[k].min(other.low[k]);
            self.high[k] = self.high[k].max(other.high[k]);
        }
    }

    pub(super) fn of(points: [[f32; 3]; 3]) -> Self {
        let mut bounds = Self::EMPTY;
        points.iter().for_each(|&p| bounds.add(&Self { low: p, high: p }));
        bounds
    }

    /// Twice the centre.
    fn centre(&self) -> [f32; 3] {
        core::array::from_fn(|k| self.low[k] + self.high[k])
    }

    /// Half of the surface area.
    fn area(&self) -> f32 {
        let [x, y, z] = core::array::from_fn(|k| self.high[k] - self.low[k]);
        x * y + y * z + z * x
    }
}

/// Nodes without boxes yet, each parent before its children, and the triangles in leaf order.
pub(super) struct Built {
    pub(super) nodes: Vec<Node>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) order: Vec<u32>,
}

/// Range of triangles that becomes one child or is split further.
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    end: usize,
    bounds: Bounds,
}

impl Part {
    fn len(&self) -> usize {
        self.end - self.first
    }

    fn new(first: usize, end: usize, order: &[u32], boxes: &[Bounds]) -> Self {
        let mut bounds = Bounds::EMPTY;
        order[first..end].iter().for_each(|&t| bounds.add(&boxes[t as usize]));
        Self { first, end, bounds }
    }
}

/// Marks the index of a node while the number of leaves, which are numbered first, is unknown.
///
/// Alone it marks a missing child: index 0 is the root, which is never a child.
const NODE: u32 = 1 << 31;

/// Builds the tree over triangles with the given boxes.
pub(super) fn build(boxes: &[Bounds]) -> Built {
    let mut built = Built { nodes: vec![], leaves: vec![], order: (0..boxes.len() as u32).collect() };
    if boxes.is_empty() {
        return built;
    }
    built.nodes.push(Node::EMPTY);
    // Nodes whose children are not known yet, each with its range and level.
    let mut open = vec![(0, Part::new(0, boxes.len(), &built.order, boxes), 0)];
    while let Some((node, part, level)) = open.pop() {
        let (mut parts, count) = children(part, level, &mut built.order, boxes);
        let parts = &mut parts[..count];
        // At most eight: the standard sort would be a large part of the code.
        for at in 1..count {
            let mut to = at;
            while to > 0 && parts[to - 1].first > parts[to].first {
                parts.swap(to - 1, to);
                to -= 1;
            }
        }
        let first_open = open.len();
        built.nodes[node].children = [NODE; CHILDREN];
        for (slot, part) in parts.iter().enumerate() {
            built.nodes[node].children[slot] = if part.len() <= LEAF {
                let leaf = Leaf { first: part.first as u32, count: part.len() as u32, ..Leaf::default() };
                built.leaves.push(leaf);
                built.leaves.len() as u32 - 1
            } else {
                built.nodes.push(Node::EMPTY);
                open.push((built.nodes.len() - 1, *part, level + 1));
                NODE | (built.nodes.len() as u32 - 1)
            };
        }
        open[first_open..].reverse();
    }
    let (leaves, nodes) = (built.leaves.len() as u32, built.nodes.len() as u32);
    for child in built.nodes.iter_mut().flat_map(|node| &mut node.children) {
        *child = match *child {
            NODE => leaves + nodes,
            child if child & NODE != 0 => leaves + (child & !NODE),
            leaf => leaf,
        };
    }
    built
}

/// Splits a range into at most eight parts.
fn children(part: Part, level: u32, order: &mut [u32], boxes: &[Bounds]) -> ([Part; CHILDREN], usize) {
    let (mut parts, mut count) = ([part; CHILDREN], 1);
    let free = level < FREE_LEVELS;
    while count < CHILDREN {
        let worth = |part: &Part| if free { part.bounds.area() } else { part.len() as f32 };
        let splittable = (0..count).filter(|&k| parts[k].len() > LEAF);
        let Some(at) = splittable.max_by(|&a, &b| worth(&parts[a]).total_cmp(&worth(&parts[b]))) else {
            break;
        };
        let Part { first, end, .. } = parts[at];
        let members = &mut order[first..end];
        let middle = first + if free { split(members, boxes) } else { halve(members, boxes) };
        parts[at] = Part::new(first, middle, order, boxes);
        parts[count] = Part::new(middle, end, order, boxes);
        count += 1;
    }
    (parts, count)
}

/// Contents of a bin.
#[derive(Clone, Copy)]
struct Bin {
    bounds: Bounds,
    count: usize,
}

impl Bin {
    const EMPTY: Self = Self { bounds: Bounds::EMPTY, count: 0 };

    fn add(&mut self, other: &Self) {
        self.bounds.add(&other.bounds);
        self.count += other.count;
    }

    /// Expected cost of testing the triangles. A partly filled leaf costs as much as a full one.
    fn cost(&self) -> f32 {
        if self.count == 0 { f32::INFINITY } else { self.bounds.area() * self.count.div_ceil(LEAF) as f32 }
    }
}

/// Maps the centre of a box to a bin along an axis.
#[derive(Clone, Copy)]
struct Axis {
    axis: usize,
    low: f32,
    per_bin: f32,
}

impl Axis {
    fn bin(&self, bounds: &Bounds) -> usize {
        let centre = bounds.low[self.axis] + bounds.high[self.axis];
        // The cast turns NaN into 0.
        (((centre - self.low) * self.per_bin) as usize).min(BINS - 1)
    }
}

/// Partitions the triangles in two so that the sum of area times cost is minimal. Returns the start of the
/// second part.
fn split(members: &mut [u32], boxes: &[Bounds]) -> usize {
    let around = around_centres(members, boxes);
    let mut best: Option<(f32, Axis, usize)> = None;
    for axis in 0..3 {
        let width = around.high[axis] - around.low[axis];
        if width <= 0.0 {
            continue;
        }
        let axis = Axis { axis, low: around.low[axis], per_bin: BINS as f32 / width };
        let mut bins = [Bin::EMPTY; BINS];
        for &t in members.iter() {
            let bounds = boxes[t as usize];
            bins[axis.bin(&bounds)].add(&Bin { bounds, count: 1 });
        }
        let (mut behind, mut above) = ([0.0; BINS], Bin::EMPTY);
        for k in (1..BINS).rev() {
            above.add(&bins[k]);
            behind[k] = above.cost();
        }
        let mut below = Bin::EMPTY;
        for k in 1..BINS {
            below.add(&bins[k - 1]);
            let cost = below.cost() + behind[k];
            if cost < best.map_or(f32::INFINITY, |best| best.0) {
                best = Some((cost, axis, k));
            }
        }
    }
    match best {
        Some((_, axis, from)) => partition(members, |t| axis.bin(&boxes[t as usize]) < from),
        None => halve(members, boxes),
    }
}

/// Box around the centres, in the doubled coordinates of [`Bounds::centre`].
fn around_centres(members: &[u32], boxes: &[Bounds]) -> Bounds {
    let mut around = Bounds::EMPTY;
    for &t in members {
        let centre = boxes[t as usize].centre();
        around.add(&Bounds { low: centre, high: centre });
    }
    around
}

/// Moves the members for which `first` is true to the front. Returns the number of these.
fn partition(members: &mut [u32], first: impl Fn(u32) -> bool) -> usize {
    let mut count = 0;
    for at in 0..members.len() {
        if first(members[at]) {
            members.swap(at, count);
            count += 1;
        }
    }
    count
}

/// Splits into two halves along the widest axis. Works for any arrangement of triangles.
fn halve(members: &mut [u32], boxes: &[Bounds]) -> usize {
    let around = around_centres(members, boxes);
    let width = |axis: usize| around.high[axis] - around.low[axis];
    let axis = (1..3).fold(0, |widest, axis| if width(axis) > width(widest) { axis } else { widest });
    let middle = members.len() / 2;
    let centre = |t: u32| boxes[t as usize].centre()[axis];
    members.select_nth_unstable_by(middle, |&a, &b| centre(a).total_cmp(&centre(b)).then(a.cmp(&b)));
    middle
}

/// Whether every edge is used by as many triangles in one direction as in the other. The surface is then
/// closed and consistently wound. Vertices at the same position count as one.
pub(super) fn is_closed(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> bool {
    // 0.0 and -0.0 are the same position.
    let place = |v: u32| positions[v as usize].map(|x| (x + 0.0).to_bits());
    let mut is_used = vec![false; positions.len()];
    triangles.as_flattened().iter().for_each(|&v| is_used[v as usize] = true);
    let mut used: Vec<u32> = (0..positions.len() as u32).filter(|&v| is_used[v as usize]).collect();
    used.sort_unstable_by_key(|&v| place(v));
    // First vertex at the same position.
    let mut welded = vec![0_u32; positions.len()];
    for group in used.chunk_by(|&a, &b| place(a) == place(b)) {
        group.iter().for_each(|&v| welded[v as usize] = group[0]);
    }
    let mut edges = Vec::with_capacity(3 * triangles.len());
    for triangle in triangles {
        let [a, b, c] = triangle.map(|v| welded[v as usize]);
        for (from, to) in [(a, b), (b, c), (c, a)] {
            if from != to {
                let ends = u64::from(from.min(to)) << 32 | u64::from(from.max(to));
                edges.push((ends, usize::from(from < to)));
            }
        }
    }
    order::sort_pairs(&mut edges);
    let balanced = |edge: &[(u64, usize)]| 2 * edge.iter().map(|e| e.1).sum::<usize>() == edge.len();
    !edges.is_empty() && edges.chunk_by(|a, b| a.0 == b.0).all(balanced)
}
