//! Numbers of the enumerations in `constants.rs`, and aliases with their names for arguments.
//!
//! A macro, because cbindgen must not see these items.

macro_rules! numbers {
    ($($name:ident { $($constant:ident),* $(,)? })*) => {
        $(
            #[doc = "Number of an enumeration of the header."]
            pub type $name = u32;
            $(
                #[doc = "Value of an enumeration of the header."]
                pub const $constant: u32 = crate::constants::$name::$constant as u32;
            )*
        )*
    };
}

numbers! {
    condyle_looping { CONDYLE_CLAMP, CONDYLE_WRAP }
    condyle_mean { CONDYLE_MEAN_LINEAR, CONDYLE_MEAN_EXPONENTIAL }
    condyle_skinning { CONDYLE_SKIN_LINEAR, CONDYLE_SKIN_LINEAR_PLAIN, CONDYLE_SKIN_DUAL_QUATERNION }
    condyle_chain_method { CONDYLE_CHAIN_LEAST_SQUARES, CONDYLE_CHAIN_CYCLIC_DESCENT, CONDYLE_CHAIN_FABRIK }
    condyle_collider_shape { CONDYLE_COLLIDER_SPHERE, CONDYLE_COLLIDER_CAPSULE, CONDYLE_COLLIDER_PLANE }
    condyle_shape_kind { CONDYLE_SHAPE_SPHERE, CONDYLE_SHAPE_CAPSULE, CONDYLE_SHAPE_BOX }
    condyle_severity { CONDYLE_SEVERITY_ERROR, CONDYLE_SEVERITY_WARNING, CONDYLE_SEVERITY_NOTE }
}
