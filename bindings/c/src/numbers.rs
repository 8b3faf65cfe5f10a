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
    condyle_effort { CONDYLE_EFFORT_FAST, CONDYLE_EFFORT_NORMAL, CONDYLE_EFFORT_BEST }
    condyle_severity { CONDYLE_SEVERITY_ERROR, CONDYLE_SEVERITY_WARNING, CONDYLE_SEVERITY_NOTE }
}
