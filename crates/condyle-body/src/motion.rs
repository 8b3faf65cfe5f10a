//! Motion of body models.

use std::fmt;
use std::path::Path;

use condyle::{Error, Interpolation, RawClip, Target, Track};

use crate::names;
use crate::npz::Npz;
use crate::refused::Refused;
use crate::shaped::ShapedBody;

/// Names of the rate: AMASS has had the first two, others have the third.
const RATES: [&str; 3] = ["mocap_framerate", "mocap_frame_rate", "fps"];

/// A motion in AMASS's layout: rotations of all joints in each frame.
#[derive(Clone, PartialEq)]
pub struct BodyMotion {
    name: String,
    /// Frames per second.
    rate: f64,
    joints: usize,
    /// Axes times angles, a row of all joints for each frame.
    poses: Vec<[f64; 3]>,
    /// One for each frame, or none.
    places: Vec<[f64; 3]>,
    betas: Vec<f32>,
    gender: String,
}

/// How much there is, not the numbers.
impl fmt::Debug for BodyMotion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("BodyMotion");
        all.field("frames", &self.frame_count()).field("rate", &self.rate).field("joints", &self.joints);
        all.field("gender", &self.gender).finish_non_exhaustive()
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
        let poses = npz.shaped("poses", &[0, 0], "(frames, 3 joints)")?;
        let [frames, numbers] = [poses.shape[0], poses.shape[1]];
        if numbers == 0 || !numbers.is_multiple_of(3) {
            return Err(npz.refused(
                "poses",
                format!("its rows have {numbers} numbers, where 3 for each joint are expected"),
            ));
        }
        let key = RATES.into_iter().find(|key| npz.has(key)).unwrap_or(RATES[0]);
        let rate = npz.one(key)?;
        if !(1e-3..=1e6).contains(&rate) {
            return Err(
                npz.refused(key, format!("it is {rate}, where a rate from 0.001 to 1000000 is expected"))
            );
        }
        let mut places = Vec::new();
        if npz.has("trans") {
            places =
                npz.shaped("trans", &[frames, 3], &format!("({frames}, 3)"))?.values.as_chunks().0.to_vec();
        }
        let betas =
            if npz.has("betas") { npz.shaped("betas", &[0], "(numbers,)")?.values } else { Vec::new() };
        let gender = if npz.has("gender") { npz.text("gender")? } else { String::new() };
        Ok(Self {
            name: name.into(),
            rate,
            joints: numbers / 3,
            poses: poses.values.as_chunks().0.to_vec(),
            places,
            betas: betas.iter().map(|beta| *beta as f32).collect(),
            gender,
        })
    }

    /// How many frames it has.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.poses.len() / self.joints
    }

    /// How many joints it turns.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.joints
    }

    /// Frames per second.
    #[must_use]
    pub fn frame_rate(&self) -> f64 {
        self.rate
    }

    /// The numbers of the person who moved.
    #[must_use]
    pub fn betas(&self) -> &[f32] {
        &self.betas
    }

    /// The model that is meant: `female`, `male` or `neutral`; empty where the file does not say.
    #[must_use]
    pub fn gender(&self) -> &str {
        &self.gender
    }

    /// The motion as a clip of a body: a linear track of the rotation of each joint, going on to the nearer quaternion, and of the root's place. Where
    /// the body has another number of joints, those of the same name are meant, and those that only one of both has are left out, as fingers are where the
    /// model has none.
    ///
    /// # Errors
    /// [`Error::KeyOrder`] if there are so many frames that f32 cannot tell their times apart, [`Error::NotFinite`] for places beyond f32.
    pub fn clip(&self, body: &ShapedBody) -> Result<RawClip, Error> {
        let skeleton = body.skeleton();
        let times: Vec<f32> = (0..self.frame_count()).map(|at| (at as f64 / self.rate) as f32).collect();
        let track =
            |target, values| Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
        let mut tracks = Vec::new();
        if !times.is_empty() {
            if !self.places.is_empty() {
                let rest = skeleton.rest().get(0).translation.map(f64::from);
                let values =
                    self.places.iter().flat_map(|place| [0, 1, 2].map(|c| (rest[c] + place[c]) as f32));
                tracks.push(track(Target::Translation(0), values.collect()));
            }
            // The models of the family count differently behind the wrists.
            let same = self.joints == skeleton.joint_count();
            for (joint, name) in names::of_joints(self.joints).iter().enumerate() {
                let there = if same { Some(joint as u16) } else { skeleton.joint_by_name(name) };
                if let Some(there) = there {
                    tracks.push(track(Target::Rotation(there), self.rotations(joint)));
                }
            }
        }
        let timelines = if tracks.is_empty() { Vec::new() } else { vec![times] };
        RawClip::new(self.name.clone(), timelines, tracks)?.for_skeleton(skeleton)
    }

    fn rotations(&self, joint: usize) -> Vec<f32> {
        let mut values = Vec::with_capacity(4 * self.frame_count());
        let mut before = [0.0, 0.0, 0.0, 1.0];
        for row in self.poses.chunks_exact(self.joints) {
            let mut q = quat(row[joint]);
            if q.iter().zip(before).map(|(a, b)| a * b).sum::<f64>() < 0.0 {
                q = q.map(|v| -v);
            }
            before = q;
            values.extend(q.map(|v| v as f32));
        }
        values
    }
}

/// Of an axis times an angle.
fn quat(v: [f64; 3]) -> [f64; 4] {
    let greatest = v.iter().fold(0.0_f64, |all, v| all.max(v.abs()));
    if greatest == 0.0 {
        return [0.0, 0.0, 0.0, 1.0];
    }
    // The squares of the smallest and the largest numbers are none.
    let unit = v.map(|v| v / greatest);
    let length = unit.iter().map(|v| v * v).sum::<f64>().sqrt();
    let (sine, cosine) = condyle::math::sin_cos_f64(0.5 * length * greatest);
    let [x, y, z] = unit.map(|v| v / length * sine);
    [x, y, z, cosine]
}
