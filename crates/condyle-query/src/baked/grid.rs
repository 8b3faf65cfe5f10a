//! From floats to 16-bit numbers and back.

use condyle_base::error::Error;

/// Evenly spaced values along each axis, counted by 16-bit numbers: `origin + step · number`.
///
/// A value within the box of the grid is at most half a step from the nearest number's, and 6e-8 of the farthest coordinate and of the box more by rounding to f32.
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

/// The greatest number.
const LAST: f64 = u16::MAX as f64;

impl Grid {
    /// That of unit vectors: from -1 in steps of 1/32,767, so that 0, 1 and -1 are among its values. Its last number, 65,535, lies above 1.
    pub const UNIT: Self = Self { origin: [-1.0; 3], step: [1.0 / 32767.0; 3] };

    /// With these corners of its box. An axis along which it has no extent has steps of 0.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a corner that is not finite, or a box with a side beyond what f32 holds; [`Error::OutOfRange`] where `low` is above `high`.
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
            // Up, so that the last number is not below the box.
            let near = exact as f32;
            step[axis] = if f64::from(near) < exact { near.next_up() } else { near };
        }
        // As it is computed: the last number's value is then a number too.
        Error::check_finite("step", &step.map(|step| LAST as f32 * step), 1)?;
        Ok(Self { origin: low, step })
    }

    /// The value of number 0 of each axis.
    #[must_use]
    pub fn origin(&self) -> [f32; 3] {
        self.origin
    }

    /// How far apart two numbers that follow one another are.
    #[must_use]
    pub fn step(&self) -> [f32; 3] {
        self.step
    }

    /// The nearest numbers; those at the border for what lies outside of the box.
    #[must_use]
    pub fn pack(&self, point: [f32; 3]) -> [u16; 3] {
        core::array::from_fn(|axis| {
            let (from, step) = (f64::from(self.origin[axis]), f64::from(self.step[axis]));
            // Nothing divided by nothing becomes 0, as all that is no number.
            ((f64::from(point[axis]) - from) / step + 0.5) as u16
        })
    }

    /// The value of numbers.
    #[must_use]
    pub fn unpack(&self, numbers: [u16; 3]) -> [f32; 3] {
        core::array::from_fn(|axis| f32::from(numbers[axis]) * self.step[axis] + self.origin[axis])
    }

    /// `Ok` if every vector is finite and no farther outside of the box than half a step.
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
