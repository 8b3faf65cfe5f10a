//! The content of a file: nodes, and a row of numbers for each frame.

use std::fmt;
use std::path::Path;

use crate::hierarchy::{self, Node};
use crate::motion;
use crate::problem::{Fault, Problem, Problems, Refused, error};
use crate::scanner::Scanner;

/// A motion capture file in memory.
///
/// ```
/// use condyle_bvh::Bvh;
///
/// let file = b"HIERARCHY
/// ROOT Hips
/// {
///     OFFSET 0 0 0
///     CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
///     JOINT Head
///     {
///         OFFSET 0 60 0
///         CHANNELS 3 Zrotation Xrotation Yrotation
///         End Site
///         {
///             OFFSET 0 20 0
///         }
///     }
/// }
/// MOTION
/// Frames: 2
/// Frame Time: 0.0083333
/// 0 90 0  0 0 0   0 0 0
/// 1 90 0  0 0 10  0 -5 2.5e1
/// ";
/// let bvh = Bvh::from_slice("nod", file)?;
/// assert_eq!((bvh.frame_count(), bvh.channel_count(), bvh.frame_rate()), (2, 9, 120.0));
/// assert_eq!(bvh.frame(1), [1.0, 90.0, 0.0, 0.0, 0.0, 10.0, 0.0, -5.0, 25.0]);
/// assert_eq!(bvh.nodes()[1].name, "Head");
/// assert!(bvh.problems().is_empty());
/// # Ok::<(), condyle_bvh::Refused>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Bvh {
    name: String,
    nodes: Vec<Node>,
    channel_count: usize,
    frame_time: f64,
    frame_rate: f64,
    frame_count: usize,
    values: Vec<f64>,
    problems: Vec<Problem>,
}

/// Prints the name and the sizes, not the content.
impl fmt::Debug for Bvh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Bvh");
        all.field("name", &self.name)
            .field("nodes", &self.nodes.len())
            .field("channels", &self.channel_count);
        all.field("frames", &self.frame_count).field("rate", &self.frame_rate);
        all.field("problems", &self.problems.len()).finish_non_exhaustive()
    }
}

impl Bvh {
    /// Reads a file. Its name is the file name without the extension.
    ///
    /// # Errors
    /// [`Refused`] if the file cannot be read or used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Refused> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|e| Refused {
            name: shown.clone(),
            problems: vec![error(0, format!("the file cannot be read: {e}"))],
        })?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let bvh = Self::from_slice(&stem, &bytes);
        bvh.map_err(|refused| Refused { name: shown, ..refused })
    }

    /// Reads the bytes of a file.
    ///
    /// Memory is bounded by the input: about 4 bytes for each byte, and 400 bytes for each joint. There are
    /// at most 65,535 joints.
    ///
    /// # Errors
    /// [`Refused`] if the bytes are not a BVH file. Unambiguous deviations are repaired and reported in
    /// [`problems`](Self::problems).
    pub fn from_slice(name: &str, bytes: &[u8]) -> Result<Self, Refused> {
        let mut problems = Problems::default();
        match Self::read(name, bytes, &mut problems) {
            Ok(bvh) => Ok(Self { problems: problems.into_list(bytes), ..bvh }),
            Err(fault) => Err(problems.into_refused(name, bytes, fault)),
        }
    }

    fn read(name: &str, bytes: &[u8], problems: &mut Problems) -> Result<Self, Fault> {
        let mut scanner = Scanner::new(bytes);
        let nodes = hierarchy::read(&mut scanner, problems)?;
        let channel_count = nodes.iter().map(|node| node.channels.len()).sum();
        let motion = motion::read(&mut scanner, channel_count, problems)?;
        Ok(Self {
            name: name.into(),
            nodes,
            channel_count,
            frame_time: motion.frame_time,
            frame_rate: motion.frame_rate,
            frame_count: motion.frame_count,
            values: motion.values,
            problems: Vec::new(),
        })
    }

    /// Returns whether a file starts like a BVH file.
    ///
    /// ```
    /// assert!(condyle_bvh::Bvh::recognise(b"\xef\xbb\xbf\r\nhierarchy\r\nROOT"));
    /// assert!(!condyle_bvh::Bvh::recognise(b"{\"asset\": {}}"));
    /// ```
    #[must_use]
    pub fn recognise(bytes: &[u8]) -> bool {
        hierarchy::recognise(bytes)
    }

    /// Returns the name of the motion: the name given to [`from_slice`](Self::from_slice), or the file name
    /// without the extension.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the roots, joints and end sites in the order of the file, parents before children. There is at
    /// least one.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Number of values in a frame.
    #[must_use]
    pub fn channel_count(&self) -> usize {
        self.channel_count
    }

    /// Number of frames in the file, regardless of the declared number.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.frame_count
    }

    /// Returns the seconds per frame, as printed in the file.
    #[must_use]
    pub fn frame_time(&self) -> f64 {
        self.frame_time
    }

    /// Returns the frames per second.
    ///
    /// This is the reciprocal of the frame time, or the integer rate that its digits stand for: 0.0083333 is
    /// 120.
    #[must_use]
    pub fn frame_rate(&self) -> f64 {
        self.frame_rate
    }

    /// Returns all numbers, frame by frame: `(frames, channels)`.
    ///
    /// Each is the f64 nearest to the printed number: degrees for rotations, file units for positions.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns [`values`](Self::values) as f32: `(frames, channels)`. Above 128 degrees, adjacent f32 values
    /// differ by 1.5e-5 degrees.
    ///
    /// ```
    /// use condyle_bvh::Bvh;
    ///
    /// let file = b"HIERARCHY ROOT Hips { OFFSET 0 0 0 CHANNELS 2 Xrotation Yrotation }
    ///     MOTION Frames: 2 Frame Time: 1 .5 1 2 3";
    /// assert_eq!(Bvh::from_slice("turn", file)?.values_f32(), [0.5, 1.0, 2.0, 3.0]);
    /// # Ok::<(), condyle_bvh::Refused>(())
    /// ```
    #[must_use]
    pub fn values_f32(&self) -> Vec<f32> {
        self.values.iter().map(|value| *value as f32).collect()
    }

    /// Returns the channel values of one frame.
    ///
    /// # Panics
    /// If `frame` is not less than [`frame_count`](Self::frame_count).
    #[must_use]
    pub fn frame(&self, frame: usize) -> &[f64] {
        assert!(
            frame < self.frame_count,
            "frame {frame} is out of range: there are {} frames",
            self.frame_count
        );
        &self.values[frame * self.channel_count..][..self.channel_count]
    }

    /// Returns the recoverable problems, warnings first.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}
