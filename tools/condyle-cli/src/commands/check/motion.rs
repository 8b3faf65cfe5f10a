//! `condyle check --motion`: defects of clips that a viewer sees.

use std::path::{Path, PathBuf};

use condyle::sampling::{AnyClip, PoseSource};
use condyle::{Affine, Pose, RawClip};
use condyle_draw::marks::Mark;
use condyle_draw::picture::{self, Format};
use condyle_draw::{Look, Scene, View};
use condyle_io::{Misfit, Model, OpenError, Options};
use condyle_retarget::inspect::{Defect, Kind, duplicates, inspect};
use condyle_retarget::rig::{Hints, find};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::model::humanoid::warn_of_bones;
use crate::model::{container, document};
use crate::output::{drawing, write_file};
use crate::text::{counted, path_text, printable, table};

/// Size of a picture in pixels, and the angles of its camera in degrees.
const SIZE: [u32; 2] = [640, 640];
const ANGLES: [f32; 2] = [35.0, 12.0];
/// Largest number of pictures of one file: the largest defects.
const MAX_PICTURES: usize = 24;
/// Rate of moments between keys that are farther apart, in hertz.
const RATE: f64 = 30.0;

/// Defects in the motion of a file.
pub(super) struct Report {
    model: Model,
    /// Name of the model in a container with several.
    name_in_file: Option<String>,
    /// Whether the lengths below are in metres.
    metres: Option<f64>,
    is_humanoid: bool,
    /// Clips with their defects, in file order.
    clips: Vec<(String, Vec<Defect>)>,
    /// Clips that show the same motion.
    same: Vec<(usize, usize)>,
}

impl Report {
    /// Inspects all clips of a file that `check` can use: one report, or one for each model of a container.
    pub(super) fn all(path: &Path) -> Result<Vec<Self>, Failure> {
        let failed = |error: OpenError| Failure::Data(error.to_string());
        match condyle_io::open(path, &Options::default()) {
            Err(OpenError::Misfit { misfit: Misfit::SeveralModels(names), name }) => {
                let bytes = container::read(path)?;
                let report = |wanted: &String| {
                    let options = Options { model: Some(wanted), ..Options::default() };
                    let model = condyle_io::from_bytes(&name, &bytes, &options).map_err(failed)?;
                    Self::new(path, model, Some(wanted.clone()))
                };
                names.iter().map(report).collect()
            }
            opened => Ok(vec![Self::new(path, opened.map_err(failed)?, None)?]),
        }
    }

    fn new(path: &Path, model: Model, name_in_file: Option<String>) -> Result<Self, Failure> {
        let name = path_text(path);
        let skeleton = &model.skeleton;
        let bones = model.asset.as_ref().map(|asset| asset.humanoid_bones()).unwrap_or_default();
        let first = model.clips.first().and_then(|it| {
            let mut pose = Pose::rest(skeleton);
            it.clip.pose(skeleton, it.clip.start(), &mut pose).ok().map(|()| pose)
        });
        let hints = Hints { bones, loose_feet: true, pose: first.as_ref(), ..Hints::default() };
        let found = find(skeleton, &hints).ok();
        if let Some(found) = &found {
            warn_of_bones(path, found);
        }
        let map = found.map(|found| found.humanoid);
        let unfit = |error: condyle::Error| Failure::Data(format!("{name}: {error}"));
        let mut clips = Vec::new();
        for it in &model.clips {
            let found = inspect(skeleton, map.as_ref(), &it.clip, &frames(&it.clip)).map_err(unfit)?;
            clips.push((it.clip.name().to_owned(), found));
        }
        let sources: Vec<&dyn PoseSource> = model.clips.iter().map(|it| &it.clip as _).collect();
        let same = duplicates(skeleton, &sources).map_err(unfit)?;
        // glTF is in metres unless the file states something else; a BVH states nothing.
        let metres = model.unit.or(model.asset.is_some().then_some(1.0));
        Ok(Self { is_humanoid: map.is_some(), metres, clips, same, model, name_in_file })
    }

    /// Number of defects and of pairs of equal clips.
    fn count(&self) -> usize {
        self.same.len() + self.clips.iter().map(|(_, defects)| defects.len()).sum::<usize>()
    }

    pub(super) fn to_text(&self) -> String {
        let clips = counted(self.clips.len(), "clip", "clips");
        let of = self.name_in_file.as_ref().map_or(String::new(), |name| format!(" of {}", printable(name)));
        let mut out = match self.count() {
            0 => format!("  motion{of}: {clips}, no defects\n"),
            count => format!("  motion{of}: {clips}, {}\n", counted(count, "defect", "defects")),
        };
        if !self.is_humanoid {
            out += "  note: not a humanoid, so sliding feet are not looked for\n";
        }
        let mut rows = Vec::new();
        for (name, defects) in &self.clips {
            for defect in defects {
                let times =
                    if defect.count > 1 { format!(", {} times", defect.count) } else { String::new() };
                rows.push(vec![
                    format!("  {}", printable(name)),
                    printable(self.joint(defect)),
                    format!("{:.2} s", defect.seconds),
                    format!("{}{times}", self.what(defect)),
                    format!("-> {}", advice(defect.kind)),
                ]);
            }
        }
        if !rows.is_empty() {
            out += &table("<<><<", rows);
        }
        for &(first, second) in &self.same {
            let [first, second] = [first, second].map(|at| printable(&self.clips[at].0));
            out += &format!("  {first} and {second} show the same motion  -> keep one of them\n");
        }
        out
    }

    pub(super) fn to_json(&self) -> Value {
        let defect = |it: &Defect| {
            let mut found = json!({
                "kind": it.kind.name(),
                "joint": self.joint(it),
                "at_s": it.seconds,
                "count": it.count,
                "what": self.what(it),
                "action": advice(it.kind),
            });
            let (key, amount) = match self.metres {
                _ if it.kind.is_angle() => ("degrees", it.amount.to_degrees()),
                Some(metres) => ("metres", it.amount * metres),
                None => ("units", it.amount),
            };
            found[key] = amount.into();
            found
        };
        let clips = self.clips.iter().map(|(name, defects)| {
            json!({ "clip": name, "defects": defects.iter().map(defect).collect::<Vec<_>>() })
        });
        let names = |&(a, b): &(usize, usize)| [a, b].map(|at| self.clips[at].0.clone());
        let mut found = json!({
            "humanoid": self.is_humanoid,
            "clips": clips.collect::<Vec<_>>(),
            "same": self.same.iter().map(names).collect::<Vec<_>>(),
        });
        if let Some(name) = &self.name_in_file {
            found["model"] = name.as_str().into();
        }
        found
    }

    /// Draws the worst moment of each defect, and returns the files.
    pub(super) fn draw(self, path: &Path, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        let name = path_text(path);
        let wrong = |what: String| Failure::Data(format!("{name}: {what}"));
        let mut all: Vec<(usize, Defect)> = Vec::new();
        for (clip, (_, defects)) in self.clips.iter().enumerate() {
            all.extend(defects.iter().map(|&defect| (clip, defect)));
        }
        // Angles and lengths have no common order: large ones of each kind first.
        all.sort_by(|(_, a), (_, b)| b.amount.total_cmp(&a.amount));
        all.truncate(MAX_PICTURES);
        let notes: Vec<String> = all
            .iter()
            .map(|(clip, it)| format!("{}: {} {}", self.clips[*clip].0, self.joint(it), self.what(it)))
            .collect();
        let clips: Vec<AnyClip<'static>> = self.model.clips.iter().map(|it| it.clip.clone()).collect();
        let asset = document::into_asset(path, self.model)?.0;
        let mut stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(name) = &self.name_in_file {
            stem += &format!("-{}", name.replace(['/', '\\'], "-"));
        }
        let mut files = Vec::new();
        drawing(all.len(), |tick| {
            for (at, ((clip, defect), note)) in all.iter().zip(&notes).enumerate() {
                let marks = |_: f64, model: &[Affine]| {
                    let at = model[usize::from(defect.joint)].transform_point([0.0; 3]);
                    let dot = Mark::Dot { at, radius: 7.0, color: [226, 60, 60] };
                    vec![dot, Mark::Note { text: note.clone() }]
                };
                let mut scene = Scene::new(&asset).map_err(|e| wrong(e.to_string()))?;
                scene.mark(&marks);
                let [yaw, pitch] = ANGLES.map(f32::to_radians);
                let view = View { yaw: asset.document.front() + yaw, pitch };
                let look = Look { view, size: SIZE, skeleton: true };
                let motion = Some(&clips[*clip] as &(dyn PoseSource + Sync));
                let shot = scene.frame(motion, &look, 1).map_err(|e| wrong(e.to_string()))?;
                let drawn = scene.draw(motion, defect.seconds, &shot, 0).map_err(|e| wrong(e.to_string()))?;
                let bytes = picture::still(Format::Png, &drawn).map_err(|e| wrong(e.to_string()))?;
                let file = folder.join(format!("{stem}-{:02}-{}.png", at + 1, defect.kind.name()));
                files.push(write_file(file, |out| out.write_all(&bytes))?.path);
                tick();
            }
            Ok(files)
        })
    }

    fn joint(&self, defect: &Defect) -> &str {
        &self.model.skeleton.names()[usize::from(defect.joint)]
    }

    /// Length in millimetres, or in units of the file if its unit is unknown.
    fn length(&self, amount: f64) -> String {
        match self.metres {
            Some(metres) => format!("{:.0} mm", amount * metres * 1e3),
            None => format!("{amount:.3} units"),
        }
    }

    fn what(&self, it: &Defect) -> String {
        let (length, degrees) = (self.length(it.amount), format!("{:.0} degrees", it.amount.to_degrees()));
        match it.kind {
            Kind::RestFrame => format!("begins in the rest pose, {length} from the next frame"),
            Kind::Jump => format!("the body jumps by {length} in one frame"),
            Kind::Spike => format!("turns away by {degrees} and back within two frames"),
            Kind::Flip => format!("turns by {degrees} in one frame"),
            Kind::Stretch => format!("the bone's length changes by {length}"),
            Kind::Seam => format!("the last pose is {length} from the first"),
            Kind::Drift => format!("ends {length} from its start"),
            Kind::Turn => format!("ends turned by {degrees}"),
            Kind::Slide => format!("slides by {length} while it stands"),
            // Kinds of later versions.
            other => format!("{}: {:.4}", other.name(), it.amount),
        }
    }
}

/// Returns what to do about a defect.
fn advice(kind: Kind) -> &'static str {
    match kind {
        Kind::RestFrame => "begin the clip one frame later",
        Kind::Jump => "cut the clip there, or remove the jump from the root",
        Kind::Spike => "delete the key at this time",
        Kind::Flip => "give both keys the nearer rotation, or step interpolation if the turn is meant",
        Kind::Stretch => "delete the translation keys, if the bone is rigid",
        Kind::Seam => "end the clip with its first pose, or play it once",
        Kind::Drift | Kind::Turn => "subtract it evenly over the clip, or extract root motion",
        Kind::Slide => "pin the foot while it stands: feet IK, or retarget the clip",
        _ => "look at the clip at this time",
    }
}

/// Times of the frames of a clip, in seconds.
fn frames(clip: &AnyClip<'_>) -> Vec<f64> {
    let duration = clip.end() - clip.start();
    let evenly = |count: f64| {
        let count = count.round().max(1.0);
        (0..=count as usize).map(move |frame| clip.start() + duration * frame as f64 / count).collect()
    };
    match (clip.as_raw(), clip.as_compressed()) {
        (Some(raw), _) => keys(raw),
        (None, Some(clip)) if clip.rate() > 0.0 => evenly(duration * f64::from(clip.rate())),
        _ => evenly(duration * RATE),
    }
}

/// Times of all keys of joints, and moments between keys that are far apart.
fn keys(clip: &RawClip) -> Vec<f64> {
    let mut is_used = vec![false; clip.timelines().len()];
    let joints = clip.tracks().iter().filter(|track| track.target.joint().is_some());
    joints.for_each(|track| is_used[track.timeline] = true);
    let used = clip.timelines().iter().zip(is_used).filter(|(_, is_used)| *is_used);
    let mut times: Vec<f64> = used.flat_map(|(times, _)| times.iter().map(|&time| f64::from(time))).collect();
    times.sort_by(f64::total_cmp);
    // Keys of several tracks at nearly the same time are one frame.
    times.dedup_by(|later, earlier| *later - *earlier < 1e-3);
    let most = 64 * times.len() + 8192;
    let mut all: Vec<f64> = Vec::new();
    for pair in times.windows(2) {
        let parts =
            ((pair[1] - pair[0]) * RATE).round().clamp(1.0, most as f64 / times.len() as f64) as usize;
        all.extend((0..parts).map(|part| pair[0] + (pair[1] - pair[0]) * part as f64 / parts as f64));
    }
    all.extend(times.last());
    all
}
