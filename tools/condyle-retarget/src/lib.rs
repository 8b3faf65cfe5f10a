//! One character's motion on another: who is who in two skeletons, and poses that keep the meaning.
//!
//! ```text
//!  condyle-base ── condyle ──┬── condyle-encode
//!                            ├── condyle-solve ── condyle-retarget   <── here
//!                            └── condyle-query
//! ```
//!
//! [`rig`] finds the joints of a humanoid in a skeleton. A [`Plan`] prepares one pair of skeletons.
//! [`retarget()`] moves one pose at a time, and [`clip`](mod@clip) a whole clip, with a [`Certificate`].
//!
//! ```
//! use condyle::{Pose, example};
//! use condyle_retarget::clip::{ClipOptions, clip, frame_times};
//! use condyle_retarget::rig::{Hints, find};
//! use condyle_retarget::{Plan, PlanOptions, State, retarget};
//!
//! // Usually two different characters.
//! let (skeleton, walk) = (example::skeleton(), example::walk());
//! let map = find(&skeleton, &Hints::default())?.humanoid;
//! let plan = Plan::new(&skeleton, &map, &skeleton, &map, &PlanOptions::default())?;
//!
//! // A whole clip.
//! let done = clip(&plan, &walk, &frame_times(&walk, 30.0)?, &ClipOptions::default())?;
//! assert_eq!((done.certificate.frames, done.clip.duration()), (31, 1.0));
//!
//! // One pose per frame of a program.
//! let (mut state, mut pose) = (State::new(&plan), Pose::rest(plan.target()));
//! retarget(&plan, skeleton.rest(), 1.0 / 60.0, &mut state, &mut pose)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Both models have +Y up. Their units need not be the same. [`figures`] defines all figures.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
mod certificate;
pub mod clip;
mod feet;
pub mod figures;
mod filter;
mod footing;
mod hands;
pub mod inspect;
mod mapping;
mod matching;
mod maths;
mod options;
mod plan;
pub mod rig;
mod step;
mod transfer;
mod write;

pub use certificate::{Certificate, Doubt, Reason};
pub use options::{PlanOptions, Ratio};
pub use plan::Plan;
pub use step::{State, retarget};
