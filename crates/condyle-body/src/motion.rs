//! Motion of body models.

use std::fmt;
use std::path::Path;

use condyle::{Error, Interpolation, RawClip, Target, Track};

use crate::layout::Layout;
use crate::names;
use crate::npz::Npz;
use crate::shaped::ShapedBody;
use condyle_base::problem::{Problem, Refused, Severity};

/// A motion in AMASS's layout or one of its kin: rotations of joints in each frame.
#[derive(Clone)]
pub struct BodyMotion {
    name: String,
    /// What errors call it.
    file: String,
    layout: Layout,
}

/// A motion as a clip of a body.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BodyClip {
    /// The clip of the body's skeleton.
    pub clip: RawClip,
    /// What was repaired or left out of the motion: empty if it is all there.
    pub problems: Vec<Problem>,
}

/// How much there is, not the numbers.
impl fmt::Debug for BodyMotion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("BodyMotion");
        all.field("frames", &self.frame_count()).field("rate", &self.layout.rate);
        all.field("joints", &self.layout.joints).field("gender", &self.layout.gender).finish_non_exhaustive()
    }
}

impl BodyMotion {
    /// Reads a file. Its clip is called as the file without its ending.
    ///
    /// # Errors
    /// [`Refused`] if it cannot be read or is no motion.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Refused> {
        let path = path.as_ref();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::read(&stem, &mut Npz::open(path)?)
    }

    /// The same of the bytes of a file; `name` is what errors and the clip are called.
    ///
    /// # Errors
    /// [`Refused`] if they are no motion.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Refused> {
        Self::read(name, &mut Npz::from_bytes(name, bytes)?)
    }

    fn read(name: &str, npz: &mut Npz) -> Result<Self, Refused> {
        let layout = Layout::read(npz)?;
        Ok(Self { name: name.into(), file: npz.name().into(), layout })
    }

    /// How many frames it has.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.layout.rotations.len() / self.layout.joints
    }

    /// How many joints it turns.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.layout.joints
    }

    /// Frames per second.
    #[must_use]
    pub fn frame_rate(&self) -> f64 {
        self.layout.rate
    }

    /// The numbers of the person who moved; their mean where each frame has its own.
    #[must_use]
    pub fn betas(&self) -> &[f32] {
        &self.layout.betas
    }

    /// The model that is meant, in small letters: `female`, `male` or `neutral`; empty where the file does not say.
    #[must_use]
    pub fn gender(&self) -> &str {
        &self.layout.gender
    }

    /// What was odd about the file and how it was repaired. [`BodyClip::problems`] has these and what the body lacks.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.layout.problems
    }

    /// The motion as a clip of a body: a linear track of the rotation of each joint, going on to the nearer quaternion,
    /// and of the root's place.
    ///
    /// A motion of 21 to 25 or 51 to 55 rotations (except 53) is in one of the layouts of SMPL, SMPL-H and SMPL-X, with
    /// or without the root, hands and face: its joints have names, and turn the joints of the same name. Joints that
    /// the body lacks are left out, which [`BodyClip::problems`] reports if they turn. Any other number of rotations must
    /// be the number of joints of the body.
    ///
    /// AMASS has Z up, and the clip has what the file has: `clip.turned(body.skeleton(), condyle::clip::Y_UP_FROM_Z_UP)` stands it up along Y, to which body
    /// models stand at rest.
    ///
    /// # Errors
    /// [`Refused`] if the motion has as many rotations as neither a layout nor the body, if none of its joints is one
    /// of the body, or if f32 cannot tell the times of its frames apart or does not reach their places.
    pub fn clip(&self, body: &ShapedBody) -> Result<BodyClip, Refused> {
        let refused = |array: &str, what: String| crate::npz::refused(&self.file, array, what);
        let (layout, skeleton) = (&self.layout, body.skeleton());
        let mut problems = layout.problems.clone();
        let mut left_out = Vec::new();
        let mut tracks = Vec::new();
        let track =
            |target, values| Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
        if !layout.places.is_empty() {
            let rest = skeleton.rest().get(0).translation.map(f64::from);
            let values =
                layout.places.iter().flat_map(|place| [0, 1, 2].map(|c| (rest[c] + place[c]) as f32));
            tracks.push(track(Target::Translation(0), values.collect()));
        }
        let of_places = tracks.len();
        for (joint, there) in
            self.pairs(skeleton).map_err(|what| refused(&layout.arrays, what))?.into_iter().enumerate()
        {
            let turns = || layout.rotations.chunks_exact(layout.joints).any(|row| row[joint][3].abs() < 1.0);
            match there {
                Some(there) => tracks.push(track(Target::Rotation(there), self.rotations(joint))),
                None if turns() => left_out.push(self.joint_name(joint)),
                None => {}
            }
        }
        if tracks.len() == of_places {
            let (own, bodys) = (layout.joints, skeleton.joint_count());
            let what = format!("none of its {own} joints has the name of one of the body's {bodys}");
            return Err(refused(&layout.arrays, what));
        }
        if !left_out.is_empty() {
            let what = format!("the body has no joint {}", left_out.join(", "));
            problems.push(Problem::new(Severity::Warning, "", what, "their rotations are left out"));
        }
        let times = (0..self.frame_count()).map(|at| (at as f64 / layout.rate) as f32).collect();
        let clip = RawClip::new(self.name.clone(), vec![times], tracks);
        let clip = clip.and_then(|clip| clip.for_skeleton(skeleton));
        Ok(BodyClip { clip: clip.map_err(|error| refused("", words(&error)))?, problems })
    }

    fn joint_name(&self, joint: usize) -> String {
        self.layout.names.as_ref().map_or_else(|| joint.to_string(), |names| names[joint].clone())
    }

    /// The body's joint for each of the motion's.
    fn pairs(&self, skeleton: &condyle::Skeleton) -> Result<Vec<Option<u16>>, String> {
        let (own, bodys) = (self.layout.joints, skeleton.joint_count());
        match &self.layout.names {
            Some(names)
                if own != bodys || names.iter().any(|name| skeleton.joint_by_name(name).is_some()) =>
            {
                Ok(names.iter().map(|name| skeleton.joint_by_name(name)).collect())
            }
            _ if own == bodys => Ok((0..own as u16).map(Some).collect()),
            _ => Err(format!(
                "it turns {own} joints, where {} of a layout or {bodys} of the body are expected",
                names::KNOWN
            )),
        }
    }

    /// Each quaternion on the side of the one before.
    fn rotations(&self, joint: usize) -> Vec<f32> {
        let mut values = Vec::with_capacity(4 * self.frame_count());
        let mut before = [0.0, 0.0, 0.0, 1.0];
        for row in self.layout.rotations.chunks_exact(self.layout.joints) {
            let mut q = row[joint];
            if q.iter().zip(before).map(|(a, b)| a * b).sum::<f64>() < 0.0 {
                q = q.map(|v| -v);
            }
            before = q;
            values.extend(q.map(|v| v as f32));
        }
        values
    }
}

/// What the library refuses of a clip, in the words of the file.
fn words(error: &Error) -> String {
    match error {
        Error::KeyOrder { .. } => "f32 cannot tell the times of its frames apart".into(),
        Error::NotFinite { .. } => "a place is beyond f32".into(),
        _ => error.to_string(),
    }
}
