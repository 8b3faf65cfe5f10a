//! The Python package `condyle`: a thin wrapper around the library.

mod arrays;
mod blend;
mod body;
mod clip;
mod combine;
mod compare;
mod convert;
mod errors;
mod frames;
mod interpolate;
mod join;
mod keyed;
mod kinematics;
mod library;
mod model;
mod motion;
mod open;
mod pickled;
mod poses;
mod primitive;
mod progress;
mod render;
mod retarget;
mod retime;
mod save;
mod skeleton;
mod solve;
mod unpacked;
mod vertices;

use pyo3::prelude::*;

#[pymodule]
mod _condyle {
    #[pymodule_export]
    use super::blend::{add, blend, difference};
    #[pymodule_export]
    use super::body::{Body, BodyModel, BodyMotion};
    #[pymodule_export]
    use super::clip::Clip;
    #[pymodule_export]
    use super::compare::compare;
    #[pymodule_export]
    use super::convert::{from_matrices, to_matrices};
    #[pymodule_export]
    use super::errors::{Error, FileError, Problem};
    #[pymodule_export]
    use super::interpolate::{error_bound, interpolate, nlerp, slerp};
    #[pymodule_export]
    use super::join::join;
    #[pymodule_export]
    use super::kinematics::forward_kinematics;
    #[pymodule_export]
    use super::library::Library;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::open::{from_bytes, open};
    #[pymodule_export]
    use super::primitive::Primitive;
    #[pymodule_export]
    use super::render::_picture_file;
    #[pymodule_export]
    use super::retarget::{retarget, rig};
    #[pymodule_export]
    use super::skeleton::Skeleton;
    #[pymodule_export]
    use super::solve::{aim, chain, two_bone};
    #[pymodule_export]
    use super::unpacked::{Frames, sample_frames};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
