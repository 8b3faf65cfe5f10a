//! Quantisation of vectors to 16-bit numbers.

use condyle_base::error::Error;

/// Evenly spaced values along each axis, numbered by `u16`: `origin + step · number`.
///
/// If a value is within the box of the grid, its packed value differs by at most half a step, plus the f32
/// rounding error: 6e-8 of the largest coordinate and of the box size.
///
/// ```
/// use condyle_query::baked::Grid;
///
/// let grid = Grid::around([-1.0, 0.0, -0.5], [1.0, 2.0, 0.5])?;
/// let [x, y, z] = grid.unpack(grid.pack([0.3, 2.0, -0.5]));
/// assert!((x - 0.3).abs() < 16e-6 && (y - 2.0).abs() < 1e-6 && z == -0.5);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    origin: [f32; 3],
    step: [f32; 3],
}

/// Largest 16-bit number.
const LAST: f64 = u16::MAX as f64;

impl Grid {
    /// Grid for unit vectors: from -1 in steps of 1/32,767, so that it contains 0, 1 and -1 exactly. Its last
    /// number, 65,535, is above 1.
    pub const UNIT: Self = Self { origin: [-1.0; 3], step: [1.0 / 32767.0; 3] };

    /// Returns the grid of a box. The step is 0 along an axis without extent.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a corner that is not finite, or for a box with a side beyond the range of
    /// f32. [`Error::OutOfRange`] if `low` is above `high`.
    pub fn around(low: [f32; 3], high: [f32; 3]) -> Result<Self, Error> {
        Error::check_finite("low", &low, 1)?;
        Error::check_finite("high", &high, 1)?;
        let mut step = [0.0; 3];
        for axis in 0..3 {
            let size = f64::from(high[axis]) - f64::from(low[axis]);
            if size < 0.0 {
                return Err(Error::OutOfRange { what: "high", at: axis, needed: "at least `low`" });
            }
            let exact = size / LAST;
            // Rounds up, so that the value of the largest number is not below the upper side of the box.
            let near = exact as f32;
            step[axis] = if f64::from(near) < exact { near.next_up() } else { near };
        }
        // Computes the value as `unpack` does, so that the value of the largest number is finite too.
        Error::check_finite("step", &step.map(|step| LAST as f32 * step), 1)?;
        Ok(Self { origin: low, step })
    }

    /// Returns the value of number 0 on each axis.
    #[must_use]
    pub fn origin(&self) -> [f32; 3] {
        self.origin
    }

    /// Returns the distance between consecutive numbers on each axis.
    #[must_use]
    pub fn step(&self) -> [f32; 3] {
        self.step
    }

    /// Returns the number of the grid value nearest to each coordinate. Clamps points outside the box to the
    /// box.
    #[must_use]
    pub fn pack(&self, point: [f32; 3]) -> [u16; 3] {
        core::array::from_fn(|axis| {
            let (from, step) = (f64::from(self.origin[axis]), f64::from(self.step[axis]));
            // The cast turns NaN into 0, including 0 / 0.
            ((f64::from(point[axis]) - from) / step + 0.5) as u16
        })
    }

    /// Returns the vector that the packed numbers stand for.
    #[must_use]
    pub fn unpack(&self, numbers: [u16; 3]) -> [f32; 3] {
        core::array::from_fn(|axis| f32::from(numbers[axis]) * self.step[axis] + self.origin[axis])
    }

    /// Returns an error unless every vector is finite and at most half a step outside the box.
    pub(super) fn check(&self, what: &'static str, vectors: &[[f32; 3]]) -> Result<(), Error> {
        Error::check_finite(what, vectors.as_flattened(), 3)?;
        let is_outside = |point: &[f32; 3]| {
            (0..3).any(|axis| {
                let (from, step) = (f64::from(self.origin[axis]), f64::from(self.step[axis]));
                let beyond = f64::from(point[axis]) - from;
                beyond < -0.5 * step || beyond > (LAST + 0.5) * step
            })
        };
        match vectors.iter().position(is_outside) {
            None => Ok(()),
            Some(at) => Err(Error::OutOfRange { what, at, needed: "within the box of the grid" }),
        }
    }
}
