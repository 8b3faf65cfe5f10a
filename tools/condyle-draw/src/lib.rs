//! Draws characters that condyle poses, and line plots, on the CPU.
//!
//! ```text
//!  condyle-base ── condyle ── condyle-encode, -solve, -query ── condyle-gltf, -bvh, -body ── condyle-io, -draw
//!                                                                                                        ^ here
//! ```
//!
//! | input | output |
//! |---|---|
//! | an asset, a clip and moments | pixels, or a file: PNG, GIF, WebP |
//! | lines of numbers | a plot as SVG or PNG |
//!
//! A [`Scene`] is an asset to draw. [`Scene::frame`] places the camera so that a whole clip stays in view.
//! [`Scene::draw`] draws one moment as pixels, [`Scene::row`] a contact sheet, and [`Scene::movie`] an
//! animation as a file. [`picture`] encodes pixels as files. A [`View`] counts from the front of a character,
//! which `asset.document.front()` returns. [`plot`] draws lines; [`marks`], [`shapes`] and [`solid`] draw
//! over or next to a character.
//!
//! ```
//! use condyle::{Joint, Skeleton, Transform};
//! use condyle_draw::picture::{self, Format};
//! use condyle_draw::{Look, Scene};
//! use condyle_gltf::Asset;
//!
//! let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
//! let arm = Skeleton::new([Joint::new("shoulder", None, Transform::IDENTITY), Joint::new("elbow", Some(0), up)])?;
//! let asset = Asset::of_motion("arm", &arm, vec![])?;
//! let mut scene = Scene::new(&asset)?;
//! let look = Look { size: [64, 48], ..Look::default() };
//! let shot = scene.frame(None, &look, 1)?;
//! let pixels = scene.draw(None, 0.0, &shot, 0)?;
//! assert_eq!(pixels.dimensions(), (64, 48));
//! let png = picture::still(Format::Png, &pixels)?;
//! assert!(png.starts_with(b"\x89PNG"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod artist;
mod difference;
mod error;
mod limits;
pub mod marks;
mod material;
mod outline;
mod overlay;
pub mod picture;
#[cfg(feature = "plot")]
pub mod plot;
mod raster;
mod scene;
pub mod shapes;
pub mod solid;
mod stage;
pub mod vector;

pub use difference::{Greatest, millimetres};
pub use error::Error;
pub use image::RgbImage;
pub use outline::Seen;
pub use scene::{FPS, Film, Look, MAX_SHEET, Motion, SIDES, Scene, Shot, Size, columns, evenly};
pub use stage::View;
