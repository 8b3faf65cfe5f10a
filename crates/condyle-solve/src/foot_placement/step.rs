//! What a foot is about to do.

/// What a foot does now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// It stands.
    Planted,
    /// It is in the air, and where it will come down, if that is known.
    Swing(Option<Landing>),
}

/// Where and when a foot will come down: in model space as of now, as if the character stood and its movement came to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Landing {
    /// Until then.
    pub seconds: f32,
    /// Where the joint that touches will stand.
    pub place: [f32; 3],
    /// Where the clip will have it when it touches.
    pub from: [f32; 3],
    /// How fast the clip will still move it then, over the ground, in metres per second.
    pub velocity: [f32; 3],
}
