//! A limit on the work of a job, relative to the size of its input files.
//!
//! A file of six kilobytes can request four million frames of sixteen joints. Each job checks all of its
//! clips here before it begins.

use std::collections::BTreeSet;
use std::fmt;

use condyle::{Error, RawClip};
use condyle_encode::{EncodeOptions, frame_count};
use condyle_gltf::{Asset, Placement, pack_meshes_work};

use super::text::{counted, printable, size};

/// Cost of posing a joint. Costs are counted in posed vertices.
const JOINT: u64 = 16;
/// Products of a matrix and a point for each posed vertex.
const PRODUCTS: u64 = 4;
/// Cost of fitting keys to a joint at one frame, including the moments up to the next frame.
const FIT: u64 = 256;
/// Cost of drawing a triangle.
const TRIANGLE: u64 = 4;
/// Cost of a vertex for two bounding spheres: that of its primitive and that of all primitives.
const SPHERES: u64 = 256;
/// Fixed cost of a moment.
const MOMENT: u64 = 64;
/// Work that any file may request: keys for four million joints times frames, which takes ten to twenty
/// seconds.
const BASE: u64 = 1 << 30;
/// Work that larger files may request per byte: keys for 64 joints times frames. A compressed clip in which
/// every joint moves has one or two joints times frames per byte.
const PER_BYTE: u64 = 1 << 14;

/// Remaining work of a job.
#[derive(Debug, Clone)]
pub struct Budget {
    factor: f64,
    bytes: u64,
    asked: u64,
}

impl Budget {
    /// Returns `factor` times the usual work for files of this size.
    #[must_use]
    pub fn new(factor: f64, bytes: u64) -> Self {
        Self { factor, bytes, asked: 0 }
    }

    /// Adds the work on a clip before the work begins; an empty name stands for the rest pose.
    ///
    /// # Errors
    /// [`OverBudget`] if the total is then above the limit.
    pub fn afford(&mut self, file: &str, clip: &str, work: &Work) -> Result<(), OverBudget> {
        let what =
            if clip.is_empty() { "the rest pose".into() } else { format!("the clip {}", printable(clip)) };
        self.afford_part(file, &what, work)
    }

    /// Adds the work on a part of a file.
    ///
    /// # Errors
    /// [`OverBudget`] if the total is then above the limit.
    pub fn afford_part(&mut self, file: &str, part: &str, work: &Work) -> Result<(), OverBudget> {
        let alone = self.asked == 0;
        self.asked = self.asked.saturating_add(work.total);
        let times = self.asked as f64 / BASE.max(self.bytes.saturating_mul(PER_BYTE)) as f64;
        if times <= self.factor {
            return Ok(());
        }
        let before = if alone { "" } else { " with the clips before it," };
        let what = format!("{}: {part}, {},{before}", printable(file), work.what);
        Err(OverBudget { what, bytes: self.bytes, times, factor: self.factor })
    }
}

/// More work than the input files allow.
#[derive(Debug, Clone, PartialEq)]
pub struct OverBudget {
    what: String,
    bytes: u64,
    times: f64,
    /// The limit: times the usual work for files of this size.
    pub factor: f64,
}

impl OverBudget {
    /// Returns a factor that is enough, rounded up.
    #[must_use]
    pub fn needed(&self) -> f64 {
        round_up(self.times)
    }
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = size(usize::try_from(self.bytes).unwrap_or(usize::MAX));
        write!(f, "{} would take {:.1} times the work allowed for {bytes}", self.what, self.times)
    }
}

impl std::error::Error for OverBudget {}

/// Estimated work of a request.
#[derive(Debug, Clone)]
pub struct Work {
    total: u64,
    /// Description for messages, such as `300 frames of 20 joints`.
    what: String,
}

impl Work {
    /// Returns the work of fitting keys or curves to frames of an asset, `tries` times each.
    #[must_use]
    pub fn fit(asset: &Asset, frames: usize, tries: u64) -> Self {
        let joints = asset.skeleton.joint_count();
        let fit = (frames as u64).saturating_mul(tries).saturating_mul(FIT * joints as u64 + MOMENT);
        // Morph weights are evaluated twice, at about 120 moments per second and at least 513.
        let morphed = asset.instances.iter().any(|it| !it.morph_weights.is_empty());
        let looks = if morphed { 2 * (5 * frames as u64).max(513) } else { 2 };
        let looks = posed_joints(asset).saturating_mul(looks).saturating_add(2 * posed_vertices(asset));
        Self {
            total: fit.saturating_add(looks),
            what: format!("{} of {}", frames_of(frames), joints_of(asset)),
        }
    }

    /// Like [`fit`](Self::fit), for a raw clip: at its frames, and at its keys between the frames.
    ///
    /// # Errors
    /// The errors of [`frame_count`].
    pub fn keys(asset: &Asset, clip: &RawClip, options: &EncodeOptions) -> Result<Self, Error> {
        let used = clip.tracks().iter().map(|track| clip.timelines()[track.timeline].len());
        let frames = frame_count(clip, asset.skeleton.joint_count(), options)?;
        Ok(Self::fit(asset, frames.saturating_add(used.sum::<usize>() / 4), 1))
    }

    /// Returns the work of packing the meshes of an asset.
    #[must_use]
    pub fn meshes(asset: &Asset) -> Self {
        let meshes: BTreeSet<usize> = asset.instances.iter().map(|it| it.mesh).collect();
        let keys = asset.clips.iter().map(|clip| clip.timelines().iter().map(Vec::len).max().unwrap_or(0));
        let moments = counted(keys.sum(), "key", "keys");
        Self {
            total: pack_meshes_work(asset) / PRODUCTS,
            what: format!("{} at {moments}", counted(meshes.len(), "mesh", "meshes")),
        }
    }

    /// Returns the work of posing these assets at a number of moments.
    #[must_use]
    pub fn play(assets: &[&Asset], moments: usize) -> Self {
        let pose = |asset: &&Asset| posed_joints(asset).saturating_add(posed_vertices(asset));
        let all = assets.iter().map(pose).fold(MOMENT, u64::saturating_add);
        let vertices: usize = assets.iter().map(|asset| vertices(asset).sum::<usize>()).sum();
        let joints: usize = assets.iter().map(|asset| asset.skeleton.joint_count()).sum();
        let (joints, vertices) =
            (counted(joints, "joint", "joints"), counted(vertices, "vertex", "vertices"));
        Self {
            total: all.saturating_mul(moments as u64),
            what: format!("{} of {joints} and {vertices}", counted(moments, "moment", "moments")),
        }
    }

    /// Like [`play`](Self::play), plus boxes and spheres around the vertices.
    #[must_use]
    pub fn bounds(asset: &Asset, moments: usize) -> Self {
        let spheres = SPHERES.saturating_mul(vertices(asset).sum::<usize>() as u64);
        let mut it = Self::play(&[asset], moments);
        it.total = it.total.saturating_add(spheres.saturating_mul(moments as u64));
        it
    }

    /// Like [`play`](Self::play), plus drawing.
    #[must_use]
    pub fn draw(asset: &Asset, moments: usize) -> Self {
        let primitives = asset.instances.iter().flat_map(|it| &it.primitives);
        let triangles: usize = primitives.map(|primitive| primitive.triangles().len()).sum();
        let mut it = Self::play(&[asset], moments);
        it.total =
            it.total.saturating_add(TRIANGLE.saturating_mul(moments as u64).saturating_mul(triangles as u64));
        it
    }
}

fn frames_of(frames: usize) -> String {
    counted(frames, "frame", "frames")
}

fn joints_of(asset: &Asset) -> String {
    counted(asset.skeleton.joint_count(), "joint", "joints")
}

/// Returns the cost of posing the joints of the skeleton, and the joints of each instance's skin, which have
/// separate matrices.
fn posed_joints(asset: &Asset) -> u64 {
    let own = asset.instances.iter().map(|it| match it.placement {
        Placement::Skin(skin) => asset.skins[skin].joints().len(),
        Placement::Joint(_) | Placement::Fixed(_) => 1,
    });
    JOINT.saturating_mul((asset.skeleton.joint_count() + own.sum::<usize>()) as u64)
}

/// Returns the number of vertices, counted again for each morph target.
fn posed_vertices(asset: &Asset) -> u64 {
    let primitives = asset.instances.iter().flat_map(|it| &it.primitives);
    let of = |mesh: &condyle::SkinnedMesh| mesh.vertex_count() * (1 + mesh.morph_targets().len());
    primitives.map(|primitive| of(&primitive.mesh) as u64).sum()
}

fn vertices(asset: &Asset) -> impl Iterator<Item = usize> + '_ {
    asset.instances.iter().flat_map(|it| &it.primitives).map(|primitive| primitive.mesh.vertex_count())
}

/// Rounds up to a whole number with at most two significant digits.
fn round_up(times: f64) -> f64 {
    let unit = 10_f64.powf(times.log10().floor() - 1.0).max(1.0);
    (times / unit).ceil() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys for `frames` frames of `joints` joints.
    fn fit(frames: u64, joints: u64) -> Work {
        Work { total: frames * FIT * joints, what: format!("{frames} frames of {joints} joints") }
    }

    fn afford(factor: f64, bytes: u64, works: &[Work]) -> Result<(), String> {
        let mut budget = Budget::new(factor, bytes);
        let all = works.iter().try_for_each(|work| budget.afford("a.glb", "Run", work));
        all.map_err(|over| format!("{over}; {}", over.needed()))
    }

    #[test]
    fn what_real_files_ask_for_passes() {
        // An hour of 100 joints at 120 Hz, with a fortieth of a byte per joint and frame.
        assert_eq!(afford(1.0, 1_080_000, &[fit(432_000, 100)]), Ok(()));
        // A minute of 300 joints at 60 Hz, most of which do not move.
        assert_eq!(afford(1.0, 3_000, &[fit(3600, 300)]), Ok(()));
        // A file of 200 clips.
        let clips: Vec<Work> = (0..200).map(|_| fit(300, 100)).collect();
        assert_eq!(afford(1.0, 500_000, &clips), Ok(()));
    }

    #[test]
    fn what_is_out_of_proportion_is_refused_with_what_would_allow_it() {
        let all = || fit(1 << 22, 16);
        let why = afford(1.0, 6_000, &[all()]).expect_err("67 million poses");
        for word in
            ["a.glb: the clip Run, 4194304 frames of 16 joints, would take 16.0 times", "5.9 KiB", "; 16"]
        {
            assert!(why.contains(word), "{word}: {why}");
        }
        assert_eq!(afford(16.0, 6_000, &[all()]), Ok(()));
        // The work adds up over several requests.
        let parts: Vec<Work> = (0..64).map(|_| fit(1 << 16, 16)).collect();
        let why = afford(1.0, 6_000, &parts).expect_err("as many");
        assert!(why.contains("joints, with the clips before it, would take"), "{why}");
        assert!(
            afford(0.01, 6_000, &[fit(300, 100)]).is_ok() && afford(0.001, 6_000, &[fit(300, 100)]).is_err()
        );
        let most = Work { total: u64::MAX, what: String::new() };
        assert!(afford(1.0, u64::MAX, &[most]).is_ok());
    }

    #[test]
    fn the_factor_that_is_told_is_enough() {
        for times in [1.0001, 1.5, 9.99, 10.01, 15.4, 99.1, 101.0, 12_345.6, 1e12 + 0.5] {
            assert!(round_up(times) >= times && round_up(times) <= 2.0 * times, "{times}");
        }
    }
}
