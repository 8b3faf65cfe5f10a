//! Constants that the header shows as enumerations.
//!
//! A caller can pass any number, which a Rust enumeration must not hold. So functions take the number, and
//! cbindgen, which resolves types by their names only, writes the enumeration of the same name.

#![expect(unreachable_pub, reason = "cbindgen writes public items only")]

/// Behaviour of a clip when the clock is outside of it.
#[repr(u32)]
pub enum condyle_looping {
    /// The clip holds its first and last pose.
    CONDYLE_CLAMP = 0,
    /// The clip repeats forever, forward and backward.
    CONDYLE_WRAP = 1,
}

/// Mean of rotations.
#[repr(u32)]
pub enum condyle_mean {
    /// Weighted sum of quaternions, normalised. Fast, and accurate for poses that are not far apart.
    CONDYLE_MEAN_LINEAR = 0,
    /// Mean in the exponential map about the rest pose.
    CONDYLE_MEAN_EXPONENTIAL = 1,
}

/// Skinning method of a palette.
#[repr(u32)]
pub enum condyle_skinning {
    /// Weighted sum of matrices, with normals that are right under non-uniform scale.
    CONDYLE_SKIN_LINEAR = 0,
    /// Weighted sum of matrices, which transforms normals too, as in most engines.
    CONDYLE_SKIN_LINEAR_PLAIN = 1,
    /// Dual quaternions, which keep the volume of twisting limbs.
    CONDYLE_SKIN_DUAL_QUATERNION = 2,
}

/// Severity of a problem.
#[repr(u32)]
pub enum condyle_severity {
    /// The file was rejected.
    CONDYLE_SEVERITY_ERROR = 0,
    /// Data was repaired or ignored.
    CONDYLE_SEVERITY_WARNING = 1,
    /// Remark without consequences.
    CONDYLE_SEVERITY_NOTE = 2,
}

/// Solver of a chain.
#[repr(u32)]
pub enum condyle_chain_method {
    /// Damped least squares with restarts: the most accurate.
    CONDYLE_CHAIN_LEAST_SQUARES = 0,
    /// Cyclic coordinate descent.
    CONDYLE_CHAIN_CYCLIC_DESCENT = 1,
    /// FABRIK: the joints move towards the goal and back.
    CONDYLE_CHAIN_FABRIK = 2,
}

/// Shape of a collider.
#[repr(u32)]
pub enum condyle_collider_shape {
    /// Sphere.
    CONDYLE_COLLIDER_SPHERE = 0,
    /// Capsule.
    CONDYLE_COLLIDER_CAPSULE = 1,
    /// Plane.
    CONDYLE_COLLIDER_PLANE = 2,
}

/// Shape of a hitbox.
#[repr(u32)]
pub enum condyle_shape_kind {
    /// Sphere.
    CONDYLE_SHAPE_SPHERE = 0,
    /// Capsule.
    CONDYLE_SHAPE_CAPSULE = 1,
    /// Box.
    CONDYLE_SHAPE_BOX = 2,
}
