//! A clip to pose a model with, or a blend of several.

use condyle::blending::Mean;
use condyle::sampling::{AnyClip, PoseSource};
use condyle::{Error, Layer, Pose, RawClip, Skeleton, blend};

use crate::text::printable;

/// A clip with its name.
pub(crate) struct Playable<'a> {
    name: String,
    kind: Kind<'a>,
}

enum Kind<'a> {
    One(AnyClip<'a>),
    /// Clips with their normalised weights, each at the same fraction of its duration.
    Mix(Vec<(Playable<'a>, f32)>),
}

impl<'a> Playable<'a> {
    pub(crate) fn new(clip: impl Into<AnyClip<'a>>) -> Self {
        let clip = clip.into();
        Self { name: clip.name().into(), kind: Kind::One(clip) }
    }

    /// Blends clips, each at the same fraction of its duration, by weights whose sum is above 0. The blend
    /// starts at 0, and its duration is the weighted mean.
    pub(crate) fn mix(parts: Vec<(Self, f32)>) -> Self {
        let total: f32 = parts.iter().map(|(_, weight)| weight).sum();
        let parts: Vec<_> = parts.into_iter().map(|(clip, weight)| (clip, weight / total)).collect();
        let names: Vec<_> = parts.iter().map(|(clip, _)| clip.name()).collect();
        let name = names.join(" and ");
        Self { name, kind: Kind::Mix(parts) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn start(&self) -> f64 {
        match &self.kind {
            Kind::One(clip) => clip.start(),
            Kind::Mix(_) => 0.0,
        }
    }

    pub(crate) fn end(&self) -> f64 {
        match &self.kind {
            Kind::One(clip) => clip.end(),
            Kind::Mix(parts) => {
                parts.iter().map(|(clip, weight)| (clip.end() - clip.start()) * f64::from(*weight)).sum()
            }
        }
    }

    /// Returns the clip, unless this is a blend.
    pub(crate) fn single(&self) -> Option<&AnyClip<'a>> {
        match &self.kind {
            Kind::One(clip) => Some(clip),
            Kind::Mix(_) => None,
        }
    }

    /// Returns the clip, if it is a raw one.
    pub(crate) fn as_raw(&self) -> Option<&RawClip> {
        self.single().and_then(AnyClip::as_raw)
    }

    /// Returns a warning that lists times outside the clip, which are clamped to its ends. `None` if each
    /// time is within half a millisecond of the clip.
    pub(crate) fn clamped(&self, times: &[f64]) -> Option<String> {
        const SHOWN: usize = 5;
        let (start, end) = (self.start(), self.end());
        let shown = start - 5e-4..=end + 5e-4;
        let outside: Vec<_> = times.iter().filter(|time| !shown.contains(time)).map(f64::to_string).collect();
        let first = outside[..outside.len().min(SHOWN)].join(", ");
        let more = if outside.len() > SHOWN { ", ..." } else { "" };
        let name = printable(&self.name);
        let what = format!("--time {first}{more} is clamped: {name} lasts from {start:.3} to {end:.3} s");
        (!outside.is_empty()).then_some(what)
    }

    /// Converts a time of the blend to the time in one of its clips.
    fn moment(&self, part: &Self, seconds: f64) -> f64 {
        let length = self.end() - self.start();
        let phase = if length > 0.0 { (seconds - self.start()) / length } else { 0.0 };
        part.start() + phase * (part.end() - part.start())
    }
}

impl PoseSource for Playable<'_> {
    fn start(&self) -> f64 {
        self.start()
    }

    fn end(&self) -> f64 {
        self.end()
    }

    fn pose(&self, skeleton: &Skeleton, seconds: f64, pose: &mut Pose) -> Result<(), Error> {
        let parts = match &self.kind {
            Kind::One(clip) => return clip.pose(skeleton, seconds, pose),
            Kind::Mix(parts) => parts,
        };
        let mut poses = Vec::new();
        for (clip, _) in parts {
            let mut own = Pose::rest(skeleton);
            clip.pose(skeleton, self.moment(clip, seconds), &mut own)?;
            poses.push(own);
        }
        let layers: Vec<_> =
            poses.iter().zip(parts).map(|(pose, (_, weight))| Layer::new(pose, *weight)).collect();
        blend(skeleton, &layers, Mean::default(), pose)
    }

    fn weights(&self, node: u32, seconds: f64, weights: &mut [f32]) -> Result<(), Error> {
        let parts = match &self.kind {
            Kind::One(clip) => return clip.weights(node, seconds, weights),
            Kind::Mix(parts) => parts,
        };
        let rest = weights.to_vec();
        weights.fill(0.0);
        for (clip, normalised) in parts {
            let mut own = rest.clone();
            clip.weights(node, self.moment(clip, seconds), &mut own)?;
            weights.iter_mut().zip(own).for_each(|(sum, weight)| *sum += weight * normalised);
        }
        Ok(())
    }
}
