//! One character's motion on another: who is who in two skeletons, and poses that keep the meaning.
//!
//! ```text
//!  condyle-base ── condyle ──┬── condyle-encode
//!                            ├── condyle-solve
//!                            ├── condyle-query
//!                            └── condyle-retarget   <── here
//! ```
//!
//! [`rig`] finds the joints of a humanoid in a skeleton.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
mod certificate;
pub mod clip;
mod feet;
pub mod figures;
mod filter;
pub mod inspect;
mod limb;
mod matching;
mod maths;
mod plan;
pub mod rig;
mod step;
mod transfer;
mod write;

pub use certificate::{Certificate, Doubt, Reason};
pub use plan::{Plan, PlanOptions, Ratio};
pub use step::{State, retarget};
