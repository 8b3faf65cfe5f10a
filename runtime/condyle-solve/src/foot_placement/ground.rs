//! Ground that feet stand on.

use alloc::vec;
use alloc::vec::Vec;

use crate::maps::direction;
use condyle_base::error::Error;
use condyle_base::math::vectors::{cross, dot};

/// A point on the ground.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroundPoint {
    /// Height in metres: the `y` coordinate in world space.
    pub height: f64,
    /// Unit normal with positive `y`.
    pub normal: [f64; 3],
}

impl GroundPoint {
    /// A point of level ground.
    #[must_use]
    pub fn level(height: f64) -> Self {
        Self { height, normal: [0.0, 1.0, 0.0] }
    }
}

/// Ground in world space, where `y` is up.
///
/// A closure that takes a point also implements this trait.
///
/// ```
/// use condyle_solve::foot_placement::{Ground, GroundPoint};
///
/// // Stairs along +Z; each step is 30 cm deep and 15 cm high.
/// let stairs = |from: [f64; 3]| Some(GroundPoint::level((from[2] / 0.3).floor().max(0.0) * 0.15));
/// assert_eq!(stairs.below([0.0, 2.0, 0.7]), Some(GroundPoint::level(0.3)));
/// ```
pub trait Ground {
    /// Returns the highest ground at or straight below a point. `None` if there is no ground.
    fn below(&self, from: [f64; 3]) -> Option<GroundPoint>;
}

impl<F: Fn([f64; 3]) -> Option<GroundPoint>> Ground for F {
    fn below(&self, from: [f64; 3]) -> Option<GroundPoint> {
        self(from)
    }
}

/// An infinite plane.
///
/// ```
/// use condyle_solve::foot_placement::{Ground, Plane};
///
/// // The plane rises by 25 % towards +X.
/// let slope = Plane { point: [0.0; 3], normal: [-0.25, 1.0, 0.0] };
/// let surface = slope.below([2.0, 9.0, 1.0]).expect("the ground is unbounded");
/// assert!((surface.height - 0.5).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plane {
    /// Any point of the plane.
    pub point: [f64; 3],
    /// Normal of any length. If the plane is vertical, there is no ground.
    pub normal: [f64; 3],
}

impl Plane {
    /// A level plane at a height.
    #[must_use]
    pub fn level(height: f64) -> Self {
        Self { point: [0.0, height, 0.0], normal: [0.0, 1.0, 0.0] }
    }
}

impl Ground for Plane {
    fn below(&self, from: [f64; 3]) -> Option<GroundPoint> {
        let mut normal = direction(self.normal)?;
        if normal[1] < 0.0 {
            normal = normal.map(|v| -v);
        }
        if normal[1] < 1e-6 {
            return None;
        }
        let [x, y, z] = self.point;
        let height = y - (normal[0] * (from[0] - x) + normal[2] * (from[2] - z)) / normal[1];
        Some(GroundPoint { height, normal })
    }
}

/// Height field over `x` and `z`, for example terrain. Normals are computed from neighbouring heights.
///
/// ```
/// use condyle_solve::foot_placement::{Ground, Heights};
///
/// let hills = Heights { height: |x: f64, z: f64| 0.1 * x * x + 0.2 * z, spacing: 0.02 };
/// let surface = hills.below([1.0, 5.0, 1.0]).expect("the ground is unbounded");
/// assert!((surface.height - 0.3).abs() < 1e-12);
/// assert!((surface.normal[0] / surface.normal[1] + 0.2).abs() < 2e-3);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Heights<F> {
    /// Function that returns the height in metres at `x` and `z`. If it is not finite, there is no ground.
    pub height: F,
    /// Distance in metres to the neighbours that determine the slope. The less steep side counts, so that the
    /// edge of a step is not a slope.
    pub spacing: f64,
}

impl<F: Fn(f64, f64) -> f64> Ground for Heights<F> {
    fn below(&self, from: [f64; 3]) -> Option<GroundPoint> {
        let [x, _, z] = from;
        let (height, far) = ((self.height)(x, z), self.spacing);
        if !height.is_finite() {
            return None;
        }
        let slope = |ahead: f64, behind: f64| {
            let (ahead, behind) = ((ahead - height) / far, (height - behind) / far);
            let least = if ahead.abs() < behind.abs() { ahead } else { behind };
            if ahead * behind > 0.0 && least.is_finite() { least } else { 0.0 }
        };
        let along_x = slope((self.height)(x + far, z), (self.height)(x - far, z));
        let along_z = slope((self.height)(x, z + far), (self.height)(x, z - far));
        Some(GroundPoint { height, normal: direction([-along_x, 1.0, -along_z]).unwrap_or([0.0, 1.0, 0.0]) })
    }
}

/// Triangles in a grid over `x` and `z`.
///
/// ```
/// use condyle_solve::foot_placement::{Ground, Triangles};
///
/// let ramp = [[[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [2.0, 1.0, 0.0]]];
/// let ground = Triangles::new(&ramp)?;
/// let surface = ground.below([1.0, 5.0, 0.25]).expect("above the ramp");
/// assert!((surface.height - 0.5).abs() < 1e-6);
/// assert_eq!(ground.below([1.0, 0.2, 0.25]), None, "from beneath it");
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Triangles {
    triangles: Vec<[[f64; 3]; 3]>,
    low: [f64; 2],
    /// Cells per metre, along `x` and `z`.
    per_metre: [f64; 2],
    cells: [usize; 2],
    /// Start of each cell's list in `members`.
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Triangles {
    /// Maximum number of triangles.
    pub const MAX: usize = 1 << 24;

    /// Builds a grid of triangles. Feet can stand on either side, but not on vertical or degenerate
    /// triangles.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a corner is NaN or infinite. [`Error::TooMany`] for more than
    /// [`MAX`](Self::MAX) triangles.
    pub fn new(triangles: &[[[f32; 3]; 3]]) -> Result<Self, Error> {
        Error::check_finite("triangles", triangles.as_flattened().as_flattened(), 9)?;
        if triangles.len() > Self::MAX {
            return Err(Error::TooMany { what: "triangles", found: triangles.len(), limit: Self::MAX });
        }
        let triangles: Vec<_> = triangles.iter().map(|t| t.map(|p| p.map(f64::from))).collect();
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for [x, _, z] in triangles.iter().flatten() {
            low = [low[0].min(*x), low[1].min(*z)];
            high = [high[0].max(*x), high[1].max(*z)];
        }
        if triangles.is_empty() {
            (low, high) = ([0.0; 2], [0.0; 2]);
        }
        let mut side = 1;
        while side * side < triangles.len() {
            side += 1;
        }
        // Large triangles are in many cells. Then the grid becomes coarser, so that the lists hold at most 8
        // entries per triangle.
        loop {
            let mut grid = Self {
                triangles: Vec::new(),
                low,
                per_metre: [0.0; 2],
                cells: [side; 2],
                starts: vec![],
                members: vec![],
            };
            for a in 0..2 {
                let width = high[a] - low[a];
                grid.per_metre[a] = if width > 0.0 { side as f64 / width } else { 0.0 };
            }
            let members: u64 = triangles.iter().map(|t| grid.covered(t).count() as u64).sum();
            if side == 1 || members <= 8 * triangles.len() as u64 {
                grid.fill(&triangles);
                grid.triangles = triangles;
                return Ok(grid);
            }
            side = side.div_ceil(2);
        }
    }

    fn cell(&self, axis: usize, v: f64) -> usize {
        // The cast turns negative numbers into 0.
        (((v - self.low[axis]) * self.per_metre[axis]) as usize).min(self.cells[axis] - 1)
    }

    /// Cells that a triangle may touch.
    fn covered(&self, [a, b, c]: &[[f64; 3]; 3]) -> impl Iterator<Item = usize> + use<> {
        let range = |axis: usize, at: usize| {
            let (low, high) = (a[at].min(b[at]).min(c[at]), a[at].max(b[at]).max(c[at]));
            self.cell(axis, low)..self.cell(axis, high) + 1
        };
        let (columns, rows, width) = (range(0, 0), range(1, 2), self.cells[0]);
        rows.flat_map(move |row| columns.clone().map(move |column| row * width + column))
    }

    fn fill(&mut self, triangles: &[[[f64; 3]; 3]]) {
        let mut starts = vec![0_u32; self.cells[0] * self.cells[1] + 1];
        for triangle in triangles {
            self.covered(triangle).for_each(|cell| starts[cell + 1] += 1);
        }
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        let mut members = vec![0; starts[starts.len() - 1] as usize];
        let mut next = starts.clone();
        for (index, triangle) in triangles.iter().enumerate() {
            for cell in self.covered(triangle) {
                members[next[cell] as usize] = index as u32;
                next[cell] += 1;
            }
        }
        (self.starts, self.members) = (starts, members);
    }
}

impl Ground for Triangles {
    fn below(&self, from: [f64; 3]) -> Option<GroundPoint> {
        let cell = self.cell(1, from[2]) * self.cells[0] + self.cell(0, from[0]);
        let members = &self.members[self.starts[cell] as usize..self.starts[cell + 1] as usize];
        let mut best: Option<GroundPoint> = None;
        for &index in members {
            let Some(surface) = under(&self.triangles[index as usize], from) else { continue };
            if surface.height <= from[1] && best.is_none_or(|best| surface.height > best.height) {
                best = Some(surface);
            }
        }
        best
    }
}

/// Intersection of the vertical line through a point with a triangle, including edges and corners.
fn under([a, b, c]: &[[f64; 3]; 3], p: [f64; 3]) -> Option<GroundPoint> {
    let side = |u: &[f64; 3], v: &[f64; 3]| (v[0] - u[0]) * (p[2] - u[2]) - (v[2] - u[2]) * (p[0] - u[0]);
    let sides = [side(a, b), side(b, c), side(c, a)];
    if sides.iter().any(|&s| s < 0.0) && sides.iter().any(|&s| s > 0.0) {
        return None;
    }
    let edge = |v: &[f64; 3]| core::array::from_fn(|k| v[k] - a[k]);
    let mut normal = direction(cross(edge(b), edge(c)))?;
    if normal[1] < 0.0 {
        normal = normal.map(|v| -v);
    }
    if normal[1] < 1e-6 {
        return None;
    }
    let height = a[1] - dot(normal, [p[0] - a[0], 0.0, p[2] - a[2]]) / normal[1];
    Some(GroundPoint { height, normal })
}
