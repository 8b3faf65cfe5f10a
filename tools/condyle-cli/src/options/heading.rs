//! Headings of the groups of options in `--help`. The most important options of a command have no heading.

/// Input files, their clips, units and axes.
pub(crate) const INPUT: &str = "Input";
/// Positions and rotations that joints reach.
pub(crate) const GOALS: &str = "Goals";
/// Limits of joints.
pub(crate) const LIMITS: &str = "Joint limits";
/// Look of a picture.
pub(crate) const PICTURE: &str = "Picture";
/// Error bounds, and the methods and number formats that affect accuracy.
pub(crate) const PRECISION: &str = "Precision";
/// Contents and names of the output files.
pub(crate) const OUTPUT: &str = "Output";
/// Printed, plotted or written figures.
pub(crate) const REPORT: &str = "Report";
/// Work, threads and kernels.
pub(crate) const COMPUTATION: &str = "Computation";
