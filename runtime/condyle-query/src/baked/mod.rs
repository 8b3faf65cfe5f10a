//! Vertex animation: posed vertices of a clip, baked into frames of 16-bit numbers and played back without a
//! skeleton.
//!
//! This is the content of a vertex animation texture, and a CPU implementation of the shader that reads it. A
//! frame holds two triples of numbers per vertex, one for the position within a [`Grid`] and one for the
//! normal. Playback interpolates linearly between two frames. A server with the same [`BakedClip`] can
//! reproduce the crowd that the GPU draws.
//!
//! A frame takes 12 bytes per vertex, which is a lot of memory, but playback does nothing except read and
//! interpolate. Use it for crowds of small meshes, for cloth, and for other meshes without a skeleton.

mod grid;
mod kernel;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

pub use self::grid::Grid;
use self::kernel::{Between, GROUP, Group};
use condyle::mesh::{VertexSlices, VertexSlicesMut};
use condyle::play::Looping;
use condyle_base::error::Error;
use condyle_base::simd::dispatch;

/// Frames of the vertices of one mesh, evenly spaced in time; at least one frame.
///
/// ```
/// use condyle_query::baked::{self, BakedClip, Grid};
/// use condyle::mesh::{VertexSlices, VertexSlicesMut};
/// use condyle::Looping;
///
/// // One vertex that rises by 1 m in a second and sinks again.
/// let frame = |positions| VertexSlices { positions, ..VertexSlices::default() };
/// let grid = Grid::around([0.0; 3], [0.0, 1.0, 0.0])?;
/// let mut clip = BakedClip::new(grid, 1.0, frame(&[[0.0; 3]]))?;
/// clip.push(frame(&[[0.0, 1.0, 0.0]]))?;
/// clip.push(frame(&[[0.0; 3]]))?;
/// assert_eq!((clip.frame_count(), clip.duration()), (3, 2.0));
///
/// let mut posed = [[0.0; 3]];
/// let out = VertexSlicesMut { positions: &mut posed, ..VertexSlicesMut::default() };
/// baked::sample(&clip, 2.25, Looping::Wrap, out)?;
/// assert!((posed[0][1] - 0.25).abs() < 1e-5);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct BakedClip {
    grid: Grid,
    fps: f32,
    vertices: usize,
    frames: usize,
    /// Groups of vertices, frame by frame.
    positions: Vec<Group>,
    /// Same number of groups, or empty if the clip has no normals.
    normals: Vec<Group>,
}

impl BakedClip {
    /// Creates a clip with one frame. `grid` must enclose the positions of all frames; `fps` is the number of
    /// frames per second.
    ///
    /// # Errors
    /// [`Error::NotFinite`] or [`Error::OutOfRange`] if `fps` is not from 1e-6 to 1e6. Otherwise the errors
    /// of [`push`](Self::push).
    pub fn new(grid: Grid, fps: f32, first: VertexSlices<'_>) -> Result<Self, Error> {
        Error::check_number("fps", fps)?;
        if !(1e-6..=1e6).contains(&fps) {
            return Err(Error::OutOfRange { what: "fps", at: 0, needed: "from 0.000001 to 1000000" });
        }
        let vertices = first.positions.len();
        let mut clip = Self { grid, fps, vertices, frames: 0, positions: Vec::new(), normals: Vec::new() };
        clip.append(first, !first.normals.is_empty())?;
        Ok(clip)
    }

    /// Appends a frame: positions, and normals if the first frame has them. Tangents are ignored.
    ///
    /// # Errors
    /// [`Error::Length`] if the number of positions or normals differs from the first frame.
    /// [`Error::NotFinite`] if a number is not finite. [`Error::OutOfRange`] for a position outside the
    /// grid's box, or a normal outside the box of [`Grid::UNIT`]. The clip is then unchanged.
    pub fn push(&mut self, frame: VertexSlices<'_>) -> Result<(), Error> {
        self.append(frame, self.has_normals())
    }

    fn append(&mut self, frame: VertexSlices<'_>, with_normals: bool) -> Result<(), Error> {
        Error::check_len("positions", frame.positions.len(), self.vertices)?;
        Error::check_len("normals", frame.normals.len(), if with_normals { self.vertices } else { 0 })?;
        self.grid.check("positions", frame.positions)?;
        Grid::UNIT.check("normals", frame.normals)?;
        pack(&self.grid, frame.positions, &mut self.positions);
        pack(&Grid::UNIT, frame.normals, &mut self.normals);
        self.frames += 1;
        Ok(())
    }

    /// Returns the grid of the positions. Normals use [`Grid::UNIT`].
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Returns the number of frames per second.
    #[must_use]
    pub fn fps(&self) -> f32 {
        self.fps
    }

    /// Returns the number of frames, at least 1.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.frames
    }

    /// Returns the number of vertices per frame.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.vertices
    }

    /// Returns whether the frames have normals.
    #[must_use]
    pub fn has_normals(&self) -> bool {
        !self.normals.is_empty()
    }

    /// Returns the time from the first frame to the last, in seconds.
    #[must_use]
    pub fn duration(&self) -> f64 {
        (self.frames - 1) as f64 / f64::from(self.fps)
    }

    /// Returns the size of all frames in bytes.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        size_of_val(&*self.positions) + size_of_val(&*self.normals)
    }

    /// Returns the packed positions of a frame, as in a texture; empty for a frame that does not exist.
    pub fn positions(&self, frame: usize) -> impl Iterator<Item = [u16; 3]> + '_ {
        self.numbers(&self.positions, frame)
    }

    /// Returns the packed normals of a frame; empty if the clip has no normals.
    pub fn normals(&self, frame: usize) -> impl Iterator<Item = [u16; 3]> + '_ {
        self.numbers(&self.normals, frame)
    }

    fn numbers<'a>(&self, all: &'a [Group], frame: usize) -> impl Iterator<Item = [u16; 3]> + use<'a> {
        let each =
            self.groups(all, frame).iter().flat_map(|[x, y, z]| (0..GROUP).map(|at| [x[at], y[at], z[at]]));
        each.take(self.vertices)
    }

    fn groups<'a>(&self, all: &'a [Group], frame: usize) -> &'a [Group] {
        let count = self.vertices.div_ceil(GROUP);
        all.chunks(count.max(1)).nth(frame).unwrap_or(&[])
    }

    /// The two frames around a time, and the interpolation factor.
    fn frames(&self, seconds: f64, looping: Looping) -> Result<Span, Error> {
        let duration = self.duration();
        let moment = looping.moment(seconds, duration)?.seconds;
        let last = self.frames - 1;
        // The duration is rounded, so its end is mapped to the last frame explicitly.
        let at = moment * f64::from(self.fps);
        let at = if moment < duration && at < last as f64 { at } else { last as f64 };
        let first = at as usize;
        Ok(Span { first, second: (first + 1).min(last), factor: (at - first as f64) as f32 })
    }

    fn between<'a>(&self, all: &'a [Group], span: Span) -> Between<'a> {
        Between { from: self.groups(all, span.first), to: self.groups(all, span.second), factor: span.factor }
    }

    fn unpack_positions(&self, span: Span, out: &mut [[f32; 3]]) {
        let between = self.between(&self.positions, span);
        dispatch!(|s, mode| kernel::unpack(s, mode, &self.grid, between, false, out));
    }

    fn unpack_normals(&self, span: Span, out: &mut [[f32; 3]]) {
        let between = self.between(&self.normals, span);
        dispatch!(|s, mode| kernel::unpack(s, mode, &Grid::UNIT, between, true, out));
    }

    /// Returns an error unless the output has room for `instances` instances. Normals may be empty, and must
    /// be if the clip has no normals.
    fn check(&self, instances: usize, positions: &[[f32; 3]], normals: &[[f32; 3]]) -> Result<(), Error> {
        let needed = instances * self.vertices;
        Error::check_len("positions", positions.len(), needed)?;
        match normals.len() {
            0 => Ok(()),
            found => Error::check_len("normals", found, if self.has_normals() { needed } else { 0 }),
        }
    }
}

/// Two frames, and the interpolation factor from the first to the second.
#[derive(Clone, Copy)]
struct Span {
    first: usize,
    second: usize,
    factor: f32,
}

/// Prints the sizes, not the numbers.
impl core::fmt::Debug for BakedClip {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut all = f.debug_struct("BakedClip");
        all.field("grid", &self.grid).field("fps", &self.fps).field("frames", &self.frames);
        all.field("vertices", &self.vertices).field("normals", &self.has_normals()).finish()
    }
}

/// Appends vectors in whole groups; the last group is padded with zeros.
fn pack(grid: &Grid, vectors: &[[f32; 3]], to: &mut Vec<Group>) {
    for eight in vectors.chunks(GROUP) {
        let mut group = [[0; GROUP]; 3];
        for (at, &vector) in eight.iter().enumerate() {
            let numbers = grid.pack(vector);
            (0..3).for_each(|axis| group[axis][at] = numbers[axis]);
        }
        to.push(group);
    }
}

/// Samples the vertices of a baked clip at time `seconds`, which is 0 at the start of the clip's first loop.
///
/// `out` receives positions, and unit normals if it has room for normals; its tangents are unchanged.
/// Positions and normals are interpolated linearly between frames. Normals are then normalised, and are zero
/// if they are opposite in the two frames. [`Looping::Wrap`] jumps from the last frame to the first: for a
/// cycle, bake the first pose again at the end.
///
/// Errors are relative to linear interpolation between the input frames. A position component differs by at
/// most 0.51 of a [step](Grid::step) plus 1.2e-7 of the grid's largest coordinate. A normal component differs
/// by at most 6e-5 if the two frames' normals are at most 90 degrees apart.
///
/// # Errors
/// [`Error::NotFinite`] for `seconds`. [`Error::Length`] if an array does not hold one element per vertex.
/// Normals may be empty, and must be if the clip has no normals. `out` is then unchanged.
///
/// ```
/// use condyle_query::baked::{self, BakedClip, Grid};
/// use condyle::mesh::{VertexSlices, VertexSlicesMut};
/// use condyle::Looping;
///
/// let frame = VertexSlices { positions: &[[0.5, 0.0, 2.0]], normals: &[[0.0, 0.0, 1.0]], ..VertexSlices::default() };
/// let clip = BakedClip::new(Grid::around([0.0; 3], [1.0, 1.0, 2.0])?, 30.0, frame)?;
/// let (mut positions, mut normals) = ([[0.0; 3]], [[0.0; 3]]);
/// let out = VertexSlicesMut { positions: &mut positions, normals: &mut normals, ..VertexSlicesMut::default() };
/// baked::sample(&clip, 7.5, Looping::Wrap, out)?;
/// assert!((positions[0][0] - 0.5).abs() < 1e-5);
/// assert_eq!(normals[0], [0.0, 0.0, 1.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn sample(
    clip: &BakedClip,
    seconds: f64,
    looping: Looping,
    out: VertexSlicesMut<'_>,
) -> Result<(), Error> {
    clip.check(1, out.positions, out.normals)?;
    let span = clip.frames(seconds, looping)?;
    clip.unpack_positions(span, out.positions);
    clip.unpack_normals(span, out.normals);
    Ok(())
}
