//! Operations that all entrants have.

use crate::data::Mesh;

/// Part of the work of a character, numbered like in `peer_stage`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Stage {
    Blend,
    Model,
    Palette,
}

/// Two clips with a time for each character of a crowd.
pub(crate) struct Cast {
    pub(crate) clips: [Vec<i32>; 2],
    pub(crate) times: [Vec<f32>; 2],
}

/// One library with all its clips and buffers. A form selects clips and method, see each implementation.
pub(crate) trait Player {
    /// Size of a clip in memory. 0 if unknown.
    fn bytes(&self, form: usize, clip: usize) -> usize;
    fn sample(&mut self, form: usize, clip: usize, times: &[f32]);
    /// Sampled local transforms, ten values per joint.
    fn pose(&mut self, form: usize, clip: usize, time: f32) -> Vec<f32>;
    /// Frames of one character: two clips, their mean, model space, palette.
    fn character(&mut self, form: usize, clips: [usize; 2], times: [&[f32]; 2]);
    /// One frame of each character.
    fn crowd(&mut self, form: usize, cast: &Cast);
    /// One stage, repeated on the data of the last character.
    fn stage(&mut self, form: usize, stage: Stage, count: usize);
    /// Palette of the last character or of one of the crowd, sixteen values per joint in columns.
    fn palette(&mut self, form: usize, at: Option<usize>) -> Vec<f32>;
    /// Whether this library skins.
    fn skins(&self) -> bool;
    fn set_mesh(&mut self, mesh: &Mesh);
    /// Skins positions, and with `attributes` above zero normals, above one tangents.
    fn skin(&mut self, attributes: usize, count: usize);
    /// Positions and normals of the last skinning.
    fn skinned(&mut self) -> [Vec<f32>; 2];
}
