//! Converts a file to a skeleton and a clip.

use condyle::{Error, Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};

use crate::bvh::Bvh;
use crate::hierarchy::{Channel, Node};
use crate::rotation::{IDENTITIES, IDENTITY, LANES, Quat64, turned};

/// Origin of a joint's position channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Positions {
    /// Position channels replace the offset: they are relative to the parent. LAFAN1, Blender and
    /// MotionBuilder use this.
    #[default]
    ReplaceOffsets,
    /// Position channels are added to the offset. If the offset is 0, as for most roots, both variants give
    /// the same result.
    AddToOffsets,
}

/// Options for converting a file to a skeleton and a clip.
///
/// ```
/// use condyle_bvh::ImportOptions;
///
/// // Lengths in files of the CMU library are inches multiplied by 0.45.
/// let mut options = ImportOptions::default();
/// options.scale = 0.0254 / 0.45;
/// assert!(options.end_sites);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// Factor for offsets and positions, above 0.
    ///
    /// A file does not state its unit. LAFAN1 and most other files are in centimetres; 0.01 converts them to
    /// metres. The default is 1, which keeps file units.
    pub scale: f64,
    /// Origin of position channels.
    pub positions: Positions,
    /// Whether an end site with a nonzero offset becomes a joint. This keeps the ends of bones: hands and
    /// feet, the top of the head.
    pub end_sites: bool,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { scale: 1.0, positions: Positions::default(), end_sites: true }
    }
}

impl ImportOptions {
    fn check(&self) -> Result<(), Error> {
        let sound = self.scale > 0.0 && self.scale.is_finite();
        if sound {
            Ok(())
        } else {
            Err(Error::OutOfRange { what: "scale", at: 0, needed: "finite and above 0" })
        }
    }

    fn keeps(&self, node: &Node) -> bool {
        !node.is_end_site || (self.end_sites && node.offset != [0.0; 3])
    }
}

impl Bvh {
    /// Returns the skeleton: one joint for each node in the order of the file, with its offset as rest
    /// translation.
    ///
    /// Rest rotations are the identity, so a zero rotation in the file is the identity here.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the scale is invalid, [`Error::NotFinite`] if an offset is outside the range
    /// of f32.
    ///
    /// ```
    /// use condyle_bvh::{Bvh, ImportOptions};
    ///
    /// // Offsets in centimetres.
    /// let file = b"HIERARCHY ROOT Hips { OFFSET 0 0 0
    ///     JOINT Head { OFFSET 0 60 0 End Site { OFFSET 0 20 0 } } }";
    /// let bvh = Bvh::from_slice("nod", file).expect("a valid file");
    /// let mut options = ImportOptions::default();
    /// options.scale = 0.01;
    /// let skeleton = bvh.skeleton(&options)?;
    /// assert_eq!(skeleton.names(), ["Hips", "Head", "Head_End"]);
    /// assert_eq!(skeleton.rest().get(1).translation, [0.0, 0.6, 0.0]);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn skeleton(&self, options: &ImportOptions) -> Result<Skeleton, Error> {
        options.check()?;
        let mut joint_of_node = Vec::with_capacity(self.nodes().len());
        let mut joints: Vec<Joint> = Vec::with_capacity(self.nodes().len());
        for node in self.nodes() {
            joint_of_node.push(joints.len() as u16);
            if options.keeps(node) {
                let rest = Transform {
                    translation: node.offset.map(|v| (v * options.scale) as f32),
                    ..Transform::IDENTITY
                };
                joints.push(Joint::new(node.name.clone(), node.parent.map(|at| joint_of_node[at]), rest));
            }
        }
        Skeleton::new(joints)
    }

    /// Returns the motion as a clip of [`skeleton`](Self::skeleton) with the same options.
    ///
    /// Each joint with rotation channels has a rotation track, and each joint with position channels a
    /// translation track. Tracks are linear and have a key at each frame. Rotations are computed in f64. Each
    /// quaternion has the sign that is nearer to the quaternion of the previous frame. Without frames, the
    /// clip has no tracks.
    ///
    /// The local matrix of a joint is its translation times its rotations in channel order, regardless of
    /// where the position channels are in that order.
    ///
    /// # Errors
    /// The errors of [`skeleton`](Self::skeleton), and [`Error::KeyOrder`] if there are too many frames for
    /// distinct f32 times.
    ///
    /// ```
    /// use condyle::{Pose, sampling};
    /// use condyle_bvh::{Bvh, ImportOptions};
    ///
    /// let file = b"HIERARCHY ROOT Arm { OFFSET 0 0 0 CHANNELS 1 Zrotation } MOTION Frames: 2 Frame Time: .5  0  90";
    /// let bvh = Bvh::from_slice("lift", file).expect("a valid file");
    /// let options = ImportOptions::default();
    /// let (skeleton, clip) = (bvh.skeleton(&options)?, bvh.clip(&options)?);
    /// assert_eq!((clip.name(), clip.duration()), ("lift", 0.5));
    ///
    /// let mut pose = Pose::rest(&skeleton);
    /// sampling::raw(&clip, &skeleton, 0.5, &mut sampling::RawCursor::default(), &mut pose)?;
    /// let half = std::f32::consts::FRAC_1_SQRT_2;
    /// assert_eq!(pose.get(0).rotation, [0.0, 0.0, half, half]);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn clip(&self, options: &ImportOptions) -> Result<RawClip, Error> {
        let skeleton = self.skeleton(options)?;
        let mut tracks = Vec::new();
        if self.frame_count() > 0 {
            let kept = self.nodes().iter().filter(|node| options.keeps(node));
            for (joint, node) in kept.enumerate() {
                let joint = joint as u16;
                tracks.extend(
                    self.translations(node, options).map(|values| track(Target::Translation(joint), values)),
                );
                tracks.extend(self.rotations(node).map(|values| track(Target::Rotation(joint), values)));
            }
        }
        let times: Vec<f32> =
            (0..self.frame_count()).map(|at| (at as f64 / self.frame_rate()) as f32).collect();
        let timelines = if tracks.is_empty() { Vec::new() } else { vec![times] };
        RawClip::new(self.name().into(), timelines, tracks)?.for_skeleton(&skeleton)
    }

    /// Returns the channel values of a node, frame by frame.
    fn rows(&self, node: &Node) -> impl Iterator<Item = &[f64]> {
        let (first, count) = (node.first_channel, node.channels.len());
        self.values().chunks_exact(self.channel_count().max(1)).map(move |row| &row[first..][..count])
    }

    fn translations(&self, node: &Node, options: &ImportOptions) -> Option<Vec<f32>> {
        let axes: Vec<(usize, usize)> =
            node.channels.iter().enumerate().filter_map(|(at, channel)| position(at, channel)).collect();
        let mut base = node.offset;
        if options.positions == Positions::ReplaceOffsets {
            axes.iter().for_each(|(_, axis)| base[*axis] = 0.0);
        }
        let place = |row: &[f64]| {
            let mut place = base;
            axes.iter().for_each(|(channel, axis)| place[*axis] += row[*channel]);
            place.map(|v| (v * options.scale) as f32)
        };
        (!axes.is_empty()).then(|| self.rows(node).flat_map(place).collect())
    }

    fn rotations(&self, node: &Node) -> Option<Vec<f32>> {
        let turns: Vec<_> =
            node.channels.iter().enumerate().filter_map(|(at, channel)| rotation(at, channel)).collect();
        if turns.is_empty() {
            return None;
        }
        let mut values = Vec::with_capacity(4 * self.frame_count());
        let mut before: Quat64 = IDENTITY;
        let width = self.channel_count();
        for rows in self.values().chunks(LANES * width) {
            let quats = turns.iter().fold(IDENTITIES, |quats, &(channel, axis)| {
                let mut degrees = [0.0; LANES];
                let numbers = rows.iter().skip(node.first_channel + channel).step_by(width);
                degrees.iter_mut().zip(numbers).for_each(|(angle, number)| *angle = *number);
                turned(quats, axis, degrees)
            });
            for frame in 0..rows.len() / width {
                let mut q = quats.map(|component| component[frame]);
                let dot = (q[0] * before[0] + q[1] * before[1]) + (q[2] * before[2] + q[3] * before[3]);
                if dot < 0.0 {
                    q = q.map(|v| -v);
                }
                before = q;
                values.extend(q.map(|v| v as f32));
            }
        }
        Some(values)
    }
}

fn position(at: usize, channel: &Channel) -> Option<(usize, usize)> {
    if let Channel::Position(axis) = channel { Some((at, *axis as usize)) } else { None }
}

fn rotation(at: usize, channel: &Channel) -> Option<(usize, crate::hierarchy::Axis)> {
    if let Channel::Rotation(axis) = channel { Some((at, *axis)) } else { None }
}

fn track(target: Target, values: Vec<f32>) -> Track {
    Track { target, interpolation: Interpolation::Linear, timeline: 0, values }
}
