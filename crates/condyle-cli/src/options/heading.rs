//! Headings of the groups of options in `--help`. The options of a command that matter most have none.

/// Files that are read, and what their numbers mean.
pub(crate) const INPUT: &str = "Input";
/// Places and rotations that joints are brought to.
pub(crate) const GOALS: &str = "Goals";
/// Limits of joints.
pub(crate) const LIMITS: &str = "Joint limits";
/// Look of a picture.
pub(crate) const PICTURE: &str = "Picture";
/// Bounds on errors, and the formulas and numbers that decide them.
pub(crate) const PRECISION: &str = "Precision";
/// Contents and names of the files that are written.
pub(crate) const OUTPUT: &str = "Output";
/// Figures that are printed, plotted or written as a page.
pub(crate) const REPORT: &str = "Report";
/// Work, threads and kernels.
pub(crate) const COMPUTATION: &str = "Computation";
