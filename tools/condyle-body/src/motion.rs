//! Motion of body models.

use std::fmt;
use std::path::Path;

use condyle::{Error, Interpolation, RawClip, Target, Track};

use crate::layout::Layout;
use crate::names;
use crate::npz::Npz;
use crate::shaped::ShapedBody;
use condyle_base::problem::{Problem, Refused, Severity};

/// A motion in AMASS's layout or a similar one: rotations of joints in each frame.
#[derive(Clone)]
pub struct BodyMotion {
    name: String,
    /// File name for errors.
    file: String,
    layout: Layout,
}

/// A motion as a clip of a body.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BodyClip {
    /// The motion as a clip of the body's skeleton.
    pub clip: RawClip,
    /// Repaired or dropped parts of the motion; empty if it is complete.
    pub problems: Vec<Problem>,
}

/// Prints the sizes, not the numbers.
impl fmt::Debug for BodyMotion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("BodyMotion");
        all.field("frames", &self.frame_count()).field("rate", &self.layout.rate);
        all.field("joints", &self.layout.joints).field("gender", &self.layout.gender).finish_non_exhaustive()
    }
}

impl BodyMotion {
    /// Reads a motion from a file. The name of its clip is the file name without the extension.
    ///
    /// # Errors
    /// [`Refused`] if it cannot be read or is not a motion.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Refused> {
        let path = path.as_ref();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::read(&stem, &mut Npz::open(path)?)
    }

    /// Reads a motion from the bytes of a file. `name` is the name of the clip, and errors contain it.
    ///
    /// # Errors
    /// [`Refused`] if the bytes are not a motion.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Refused> {
        Self::read(name, &mut Npz::from_bytes(name, bytes)?)
    }

    fn read(name: &str, npz: &mut Npz) -> Result<Self, Refused> {
        let layout = Layout::read(npz)?;
        Ok(Self { name: name.into(), file: npz.name().into(), layout })
    }

    /// Number of frames.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.layout.rotations.len() / self.layout.joints
    }

    /// Number of animated joints.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.layout.joints
    }

    /// Frames per second.
    #[must_use]
    pub fn frame_rate(&self) -> f64 {
        self.layout.rate
    }

    /// Returns the shape parameters of the recorded person; their mean if each frame has separate ones.
    #[must_use]
    pub fn betas(&self) -> &[f32] {
        &self.layout.betas
    }

    /// Returns the intended model in lower case: `female`, `male` or `neutral`. Empty if the file does not
    /// specify it.
    #[must_use]
    pub fn gender(&self) -> &str {
        &self.layout.gender
    }

    /// Returns the recoverable problems of the file. [`BodyClip::problems`] also lists the joints that the
    /// body lacks.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.layout.problems
    }

    /// Returns the motion as a clip of a body: linear tracks of the rotation of each joint and of the root
    /// translation.
    ///
    /// Each quaternion has the sign that is nearer to the quaternion of the previous frame.
    ///
    /// A motion of 21 to 25 or 51 to 55 rotations (except 53) has a layout of SMPL, SMPL-H or SMPL-X. Root,
    /// hands and face can be missing. Its joints have names, and rotate the body's joints of the same name.
    /// Joints that the body lacks are dropped; [`BodyClip::problems`] reports them if they rotate. Any other
    /// number of rotations must equal the body's joint count.
    ///
    /// AMASS has Z up, and the clip keeps the axes of the file. To convert it to Y up, the up axis of body
    /// models, call `clip.turned(body.skeleton(), condyle::clip::Y_UP_FROM_Z_UP)`.
    ///
    /// # Errors
    /// [`Refused`] if the number of rotations matches neither a layout nor the body, or if the body lacks all
    /// of its joints. Also if the frame times are not distinct in f32, or a position is outside the range of
    /// f32.
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
            let what = format!("none of its {own} joints matches one of the body's {bodys} joints by name");
            return Err(refused(&layout.arrays, what));
        }
        if !left_out.is_empty() {
            let what = format!("the body has no joint {}", left_out.join(", "));
            problems.push(Problem::new(Severity::Warning, "", what, "their rotations are ignored"));
        }
        let times = (0..self.frame_count()).map(|at| (at as f64 / layout.rate) as f32).collect();
        let clip = RawClip::new(self.name.clone(), vec![times], tracks);
        let clip = clip.and_then(|clip| clip.for_skeleton(skeleton));
        Ok(BodyClip { clip: clip.map_err(|error| refused("", words(&error)))?, problems })
    }

    fn joint_name(&self, joint: usize) -> String {
        self.layout.names.as_ref().map_or_else(|| joint.to_string(), |names| names[joint].clone())
    }

    /// Returns the body's joint for each joint of the motion.
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
                "it rotates {own} joints, expected {} (the known layouts) or {bodys} (the body)",
                names::KNOWN
            )),
        }
    }

    /// Returns the rotations of a joint. Each quaternion has the sign that is nearer to the quaternion of the
    /// previous frame.
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

/// Converts a clip error to a message about the file.
fn words(error: &Error) -> String {
    match error {
        Error::KeyOrder { .. } => "the times of its frames are not distinct in f32".into(),
        Error::NotFinite { .. } => "a position is outside the range of f32".into(),
        _ => error.to_string(),
    }
}
