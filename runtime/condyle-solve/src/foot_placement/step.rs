//! State of a foot: planted, or in the air.

/// State of a foot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// The foot stands on the ground.
    Planted,
    /// The foot is in the air, with its next landing if that is known.
    Swing(Option<Landing>),
}

/// Next landing of a foot, in the character's current model space, as if the character stood still and the
/// ground moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Landing {
    /// Seconds until the landing.
    pub seconds: f32,
    /// Position at which the joint that touches the ground will stand.
    pub place: [f32; 3],
    /// Position of that joint in the clip at the landing.
    pub from: [f32; 3],
    /// Velocity of that joint in the clip at the landing, over the ground, in metres per second.
    pub velocity: [f32; 3],
}
