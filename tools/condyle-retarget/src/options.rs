//! Options of a plan.

/// Size of the target's steps compared with the source's.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Ratio {
    /// Thigh, shin and the distance of the hip joints, added up.
    #[default]
    LegsAndHips,
    /// Height of the hip joints of the straight legs above the ground.
    HipHeight,
    /// Thigh and shin.
    Legs,
    /// This number.
    Fixed(f64),
}

/// Options of a [`Plan`](crate::Plan).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Size of the steps.
    pub ratio: Ratio,
    /// Whether a standing foot is still even where the source's creeps by less than 1 cm/s. `None` means:
    /// unless both bodies have the same legs.
    pub plant: Option<bool>,
    /// Height of the ground under the source's motion, in units of its file. `None` takes it from the rest
    /// pose. With [`retarget`](fn@crate::retarget), motion capture whose rest pose has the hips at the origin
    /// needs it.
    pub ground: Option<f64>,
    /// Whether hands that are near each other keep the vector between them, for claps and objects in both
    /// hands. The arms then leave the directions of the source.
    pub hands: bool,
}
