//! Drawing on the CPU: a posed asset as an image or an animation, and line plots.

mod artist;
mod material;
mod overlay;
pub(crate) mod picture;
pub(crate) mod plot;
mod raster;
pub(crate) mod scene;
pub(crate) mod stage;
pub(crate) mod vector;
