//! Inverse kinematics: a pose that is made to reach.

pub mod body;
