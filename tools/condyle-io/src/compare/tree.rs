//! Nearest neighbours of vertices, in a k-d tree.
//!
//! J.L. Bentley, *Multidimensional Binary Search Trees Used for Associative Searching*, 1975.

use rayon::prelude::*;

/// Maximum number of points that are searched one by one.
const LEAF: usize = 8;
/// Maximum number of leaves that one search visits. Points of a surface need about ten. Only degenerate sets
/// of points need more, and then the search returns the best point found so far.
const MOST_LEAVES: usize = 128;
/// Minimum number of points for which both halves are built in parallel.
const ALONE: usize = 1 << 13;

/// A set of points that finds the nearest one to any position.
pub(crate) struct Tree<const D: usize> {
    /// Points in k-d order. The middle point splits the others along its axis; each half is split likewise.
    points: Vec<([f32; D], u32)>,
    axes: Vec<u8>,
}

/// The best point so far.
struct Search {
    square: f64,
    point: Option<u32>,
    leaves: usize,
}

impl<const D: usize> Tree<D> {
    /// Builds the tree in O(n log n). Of equal points only the first is kept.
    pub(crate) fn new(points: &[[f32; D]]) -> Self {
        // Adding 0 turns -0 into +0, so both zeros are equal.
        let clean = |p: &[f32; D]| p.map(|x| x + 0.0);
        let mut points: Vec<_> = points.iter().zip(0..).map(|(p, at)| (clean(p), at)).collect();
        let order = |a: &[f32; D], b: &[f32; D]| {
            let mut axes = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
            axes.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        };
        points.par_sort_unstable_by(|a, b| order(&a.0, &b.0).then(a.1.cmp(&b.1)));
        points.dedup_by(|b, a| a.0 == b.0);
        let mut axes = vec![0; points.len()];
        part(&mut points, &mut axes);
        Self { points, axes }
    }

    /// Returns the nearest point, as its index in the list that the tree was built from, and the square of
    /// its distance.
    pub(crate) fn nearest(&self, to: &[f32; D]) -> Option<(u32, f64)> {
        let mut search = Search { square: f64::INFINITY, point: None, leaves: 0 };
        self.search(0..self.points.len(), to, &mut search);
        search.point.map(|point| (point, search.square))
    }

    fn search(&self, range: std::ops::Range<usize>, to: &[f32; D], best: &mut Search) {
        if range.len() <= LEAF {
            best.leaves += 1;
            self.points[range].iter().for_each(|point| best.look(point, to));
            return;
        }
        let middle = range.start + range.len() / 2;
        let axis = usize::from(self.axes[middle]);
        let beyond = f64::from(to[axis]) - f64::from(self.points[middle].0[axis]);
        let (below, above) = (range.start..middle, middle + 1..range.end);
        let (near, far) = if beyond < 0.0 { (below, above) } else { (above, below) };
        best.look(&self.points[middle], to);
        self.search(near, to, best);
        if beyond * beyond <= best.square && best.leaves < MOST_LEAVES {
            self.search(far, to, best);
        }
    }
}

impl Search {
    fn look<const D: usize>(&mut self, (place, point): &([f32; D], u32), to: &[f32; D]) {
        let square = square(place, to);
        // The first of several points at equal distance wins.
        let closer = (square, Some(*point)) < (self.square, self.point);
        if closer || self.point.is_none() {
            (self.square, self.point) = (square, Some(*point));
        }
    }
}

/// Returns the square of a distance.
pub(crate) fn square<const D: usize>(a: &[f32; D], b: &[f32; D]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum()
}

/// Moves the median along the widest axis to the middle, then does the same with each half.
fn part<const D: usize>(points: &mut [([f32; D], u32)], axes: &mut [u8]) {
    if points.len() <= LEAF {
        return;
    }
    let mut bounds = [(f32::INFINITY, f32::NEG_INFINITY); D];
    for (p, _) in points.iter() {
        bounds.iter_mut().zip(p).for_each(|(b, &x)| *b = (b.0.min(x), b.1.max(x)));
    }
    let width = |axis: usize| f64::from(bounds[axis].1) - f64::from(bounds[axis].0);
    let axis = (1..D).fold(0, |widest, axis| if width(axis) > width(widest) { axis } else { widest });
    let middle = points.len() / 2;
    points.select_nth_unstable_by(middle, |a, b| a.0[axis].total_cmp(&b.0[axis]).then(a.1.cmp(&b.1)));
    axes[middle] = axis as u8;
    let (below, above) = points.split_at_mut(middle);
    let (axes_below, axes_above) = axes.split_at_mut(middle);
    let halves = ((below, axes_below), (&mut above[1..], &mut axes_above[1..]));
    let ((below, axes_below), (above, axes_above)) = halves;
    match below.len() > ALONE {
        true => drop(rayon::join(|| part(below, axes_below), || part(above, axes_above))),
        false => {
            part(below, axes_below);
            part(above, axes_above);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns pseudorandom numbers from 0 to 1.
    fn noise(seed: u64) -> impl FnMut() -> f32 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 24) as f32
        }
    }

    #[test]
    fn the_nearest_is_that_of_all() {
        let mut next = noise(1);
        for count in [0, 1, 2, 8, 9, 17, 1000] {
            let points: Vec<[f32; 3]> =
                (0..count).map(|_| [next(), next(), (next() * 4.0).floor()]).collect();
            let tree = Tree::new(&points);
            for _ in 0..100 {
                let to = [next(), next(), 4.0 * next()];
                let all = points.iter().zip(0_u32..).map(|(p, at)| (square(p, &to), at));
                let want = all.min_by(|a, b| a.partial_cmp(b).expect("numbers")).map(|(d, at)| (at, d));
                assert_eq!(tree.nearest(&to), want, "{count}");
            }
        }
    }

    #[test]
    fn equal_points_are_the_first_of_them() {
        let points = [[1.0, 0.0], [-0.0, 0.0], [0.0, -0.0], [1.0, 0.0]].repeat(100);
        let tree = Tree::new(&points);
        assert_eq!(tree.points.len(), 2);
        assert_eq!(
            (tree.nearest(&[0.1, 0.0]).map(|n| n.0), tree.nearest(&[2.0, 0.0])),
            (Some(1), Some((0, 1.0)))
        );
    }

    /// All points are equally far from the query. A search that visits all of them for each query would take
    /// minutes.
    #[test]
    fn a_search_ends_where_all_are_equally_near() {
        let ring: Vec<[f32; 3]> =
            (0..200_000).map(|i| (i as f32).sin_cos()).map(|(x, y)| [x, y, 0.0]).collect();
        let tree = Tree::new(&ring);
        for at in 0..20_000 {
            let (_, square) = tree.nearest(&[0.0, 0.0, at as f32 * 1e-3]).expect("points");
            assert!(square.sqrt() < 1.001 * (at as f64 * 1e-3).hypot(1.0));
        }
    }
}
