//! Drawing on the CPU: a posed asset as an image or an animation, and line plots.

pub(crate) mod artist;
pub(crate) mod difference;
mod limits;
pub(crate) mod marks;
mod material;
pub(crate) mod outline;
mod overlay;
pub(crate) mod picture;
pub(crate) mod plot;
mod raster;
pub(crate) mod scene;
pub(crate) mod shapes;
pub(crate) mod solid;
pub(crate) mod stage;
pub(crate) mod vector;
