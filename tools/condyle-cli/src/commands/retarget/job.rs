//! One file of motion on the target.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Parser;
use condyle::container::{ContainerWriter, EntryKind};
use condyle::sampling::AnyClip;
use condyle::{RawClip, Skeleton};
use condyle_body::BodyModel;
use condyle_bvh::WriteOptions;
use condyle_gltf::{Asset, ClipExporter};
use condyle_io::Format;
use condyle_io::distinct;
use condyle_retarget::clip::{ClipOptions, clip, frame_times};
use condyle_retarget::rig::Found;
use condyle_retarget::{Certificate, Plan, PlanOptions, Ratio};
use indicatif::ProgressBar;
use rayon::prelude::*;
use serde_json::Value;

use super::report::{ClipDone, Done};
use super::{Args, Ground, report, space};
use crate::commands::encode::{self, Settings};
use crate::failure::{Failure, too_large};
use crate::model::container::has_format;
use crate::model::humanoid::Who;
use crate::model::playable::Playable;
use crate::model::{self, Chosen, Model};
use crate::options::job::Job;
use crate::options::source::find_clip;
use crate::options::work::Work;
use crate::output::warn;
use crate::text::{path_text, printable};

/// Format of an output file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    Glb,
    Condyle,
    Bvh,
}

impl Form {
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Glb => "glb",
            Self::Condyle => "condyle",
            Self::Bvh => "bvh",
        }
    }
}

/// Frames per second where the keys of the source are farther apart.
const RATE: f64 = 30.0;

/// The character that receives the motion.
pub(super) struct Target {
    path: PathBuf,
    model: Model,
    found: Found,
    /// Metres per unit, if known.
    metres: Option<f64>,
}

impl Target {
    pub(super) fn open(args: &Args) -> Result<Self, Failure> {
        let path = &args.on;
        let mut job = Job::reading(path)?;
        let model =
            job.open(path, || model::open(path, Chosen::default(), None, args.space.character(), false))?;
        let metres = space::metres(path, &model);
        if args.fail_over {
            space::needed(path, metres, "--on-unit", "--fail-over")?;
        }
        let Who { found, .. } = Who::of(path, &model, &[], args.on_map.as_deref(), false)?;
        Ok(Self { path: path.to_path_buf(), model, found, metres })
    }

    /// Returns the canonical paths of all files that the character was read from.
    pub(super) fn sources(&self) -> &BTreeSet<PathBuf> {
        &self.model.sources
    }
}

/// Returns the source's skeleton and humanoid. Where the rest pose has no shape, the first frame becomes the
/// rest pose.
fn source(
    args: &Args,
    path: &Path,
    model: &Model,
    clips: &[Playable<'_>],
) -> Result<(Skeleton, Found), Failure> {
    let who = Who::of(path, model, clips, args.map.as_deref(), false)?;
    if let Some(clip) = &who.clip {
        warn(path, &format!("the rest pose is no stance; the shape comes from the first frame of {clip:?}"));
    }
    let shaped = model.asset.skeleton.with_rest(&who.pose);
    let shaped = shaped.map_err(|e| Failure::Data(format!("{}: {e}", path_text(path))))?;
    Ok((shaped, who.found))
}

/// Retargets the clips of a file.
pub(super) fn run(
    args: &Args,
    path: &Path,
    body: Option<&BodyModel>,
    target: &Target,
    form: Form,
) -> Result<Done, Failure> {
    let name = path_text(path);
    let model = Job::reading(path)?.open(path, || match body {
        Some(body) if has_format(path, Format::Body) => model::open_person(path, body, args.space.motion()),
        _ => model::open(path, args.which.or_with(args.clip.as_deref()), None, args.space.motion(), false),
    })?;
    let mut clips = model.clips();
    if let Some(wanted) = &args.clip {
        let at = find_clip(&name, &clips, wanted)?;
        clips = vec![clips.swap_remove(at)];
    }
    match (clips.len(), form) {
        (0, _) => return Err(Failure::Data(format!("{name} holds no motion"))),
        (2.., Form::Bvh) => {
            return Err(Failure::Usage(format!("a BVH holds one clip, and {name} has several; add --clip")));
        }
        _ => {}
    }
    let (skeleton, found) = source(args, path, &model, &clips)?;
    let failed = |e: &dyn std::fmt::Display| Failure::Data(format!("{name}: {e}"));
    let mut options = PlanOptions::default();
    options.ratio = ratio(args, path, &model, target)?;
    options.hands = args.hands;
    let to = &target.model.asset;
    let plan = Plan::new(&skeleton, &found.humanoid, &to.skeleton, &target.found.humanoid, &options);
    let plan = plan.map_err(|e| failed(&e))?;
    let mut budget = args.limit.budget(model.sources.iter().chain(target.sources()));
    let mut jobs = Vec::new();
    for clip in clips.iter().filter_map(Playable::single) {
        let times = frame_times(clip.borrowed(), RATE).map_err(|e| failed(&e))?;
        budget.afford(&name, clip.name(), &Work::fit(to, times.len(), 1))?;
        jobs.push((clip, times));
    }
    let mut clip_options = ClipOptions::default();
    clip_options.ground_from_clip = args.ground.map(|ground| ground == Ground::Clip);
    let one = |(motion, times): &(&AnyClip<'_>, Vec<f32>)| {
        let done = clip(&plan, *motion, times, &clip_options).map_err(|e| failed(&e))?;
        Ok((done.clip, (done.certificate, free_tracks(motion))))
    };
    let done = jobs.par_iter().map(one).collect::<Result<Vec<_>, Failure>>()?;
    let mut names: Vec<String> = jobs.iter().map(|(clip, _)| clip.name().to_owned()).collect();
    if let [only] = &mut names[..]
        && only.is_empty()
    {
        *only = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    distinct(&mut names);
    let (made, certificates): (Vec<RawClip>, Vec<(Certificate, usize)>) = done.into_iter().unzip();
    let made: Vec<RawClip> = made.into_iter().zip(&names).map(|(clip, name)| clip.with_name(name)).collect();
    let clips: Vec<ClipDone> = (made.iter().zip(certificates))
        .map(|(clip, (certificate, tracks_left_out))| ClipDone {
            name: clip.name().to_owned(),
            seconds: clip.duration(),
            times: clip.timelines().first().cloned().unwrap_or_default(),
            certificate: certificate.in_unit(target.model.metres()),
            tracks_left_out,
        })
        .collect();
    let bytes = match form {
        Form::Glb => document(target, &made, &clips)?,
        Form::Condyle => container(target, made)?,
        Form::Bvh => bvh(target, &made[0])?,
    };
    let mut doubts = doubts("source", &skeleton, &found);
    doubts.extend(self::doubts("target", &to.skeleton, &target.found));
    let sources = model.sources.iter().chain(target.sources()).cloned().collect();
    Ok(Done { bytes, clips, doubts, has_unit: target.metres.is_some(), sources })
}

/// Returns the ratio in the units of both files. `--ratio NUMBER` is in metres.
fn ratio(args: &Args, path: &Path, model: &Model, target: &Target) -> Result<Ratio, Failure> {
    let Ratio::Fixed(number) = args.ratio else { return Ok(args.ratio) };
    let by = "--ratio NUMBER";
    let from = space::needed(path, space::metres(path, model), "--unit", by)?;
    let to = space::needed(&target.path, target.metres, "--on-unit", by)?;
    Ok(Ratio::Fixed(number * from / to))
}

/// Returns the number of tracks that move no joint, such as morph weights. The result omits them.
fn free_tracks(clip: &AnyClip<'_>) -> usize {
    let raw = clip.as_raw().map(|clip| clip.tracks().iter().filter(|it| it.target.joint().is_none()).count());
    raw.or_else(|| clip.as_compressed().map(|clip| clip.free_tracks().len())).unwrap_or(0)
}

/// Describes the joints in doubt.
fn doubts(whose: &str, skeleton: &Skeleton, found: &Found) -> Vec<String> {
    let one = |doubt: &condyle_retarget::rig::Doubt| {
        let joint = printable(&skeleton.names()[usize::from(doubt.joint)]);
        format!("{whose}: {} is {joint}: {}", doubt.role, doubt.why)
    };
    found.doubts.iter().map(one).collect()
}

/// Returns the character with the clips, and with the certificates as extras of the animations.
fn document(target: &Target, clips: &[RawClip], done: &[ClipDone]) -> Result<Vec<u8>, Failure> {
    let name = path_text(&target.path);
    let exporter = ClipExporter::new(&target.model.asset);
    let glb = exporter.glb(clips).map_err(|e| Failure::Data(format!("{name}: {e}")))?;
    let broken = || Failure::Data(format!("{name}: the written document cannot be read"));
    let length: [u8; 4] = glb.get(12..16).and_then(|it| it.try_into().ok()).ok_or_else(broken)?;
    let end = 20 + u32::from_le_bytes(length) as usize;
    let text = glb.get(20..end).ok_or_else(broken)?;
    let mut json: Value = serde_json::from_slice(text).map_err(|_| broken())?;
    for (animation, clip) in json["animations"].as_array_mut().into_iter().flatten().zip(done) {
        animation["extras"]["condyle_retarget"] = report::certificate(clip);
    }
    let mut text = json.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let rest = &glb[end..];
    let total = 20 + text.len() + rest.len();
    let total = u32::try_from(total).map_err(|_| too_large(&name, &"the document exceeds 4 GB"))?;
    let mut out = Vec::with_capacity(total as usize);
    out.extend(&glb[..8]);
    out.extend(total.to_le_bytes());
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(b"JSON");
    out.extend(text);
    out.extend(rest);
    Ok(out)
}

/// The encoder's options with their defaults.
#[derive(Parser)]
struct Defaults {
    #[command(flatten)]
    settings: Settings,
}

/// Returns the character's meshes and document, and the compressed clips.
fn container(target: &Target, clips: Vec<RawClip>) -> Result<Vec<u8>, Failure> {
    let name = path_text(&target.path);
    let failed = |e: &dyn std::fmt::Display| Failure::Data(format!("{name}: {e}"));
    let mut asset: Asset = target.model.asset.clone();
    asset.clips = clips;
    let unit = asset.unit();
    let settings = Defaults::parse_from(["retarget"]).settings;
    let job = settings.job(&target.path, asset, unit.unwrap_or(1.0))?;
    let mut writer = ContainerWriter::default();
    let model = writer.add_skeleton(&job.name, &job.asset.skeleton).map_err(|e| failed(&e))?;
    if let Some(metres) = unit {
        writer.set_unit(model, metres as f32).map_err(|e| failed(&e))?;
    }
    for (name, mesh) in job.asset.placed_meshes().map_err(|e| failed(&e))? {
        writer.add_mesh(name, model, &mesh, &job.asset.skeleton).map_err(|e| failed(&e))?;
    }
    for clip in &job.asset.clips {
        let row = encode::row(&job, clip, &ProgressBar::hidden())?;
        row.add_to(&mut writer, model).map_err(|e| failed(&e))?;
    }
    let none: &[RawClip] = &[];
    let document = ClipExporter::new(&job.asset).glb(none).map_err(|e| failed(&e))?;
    writer.add(EntryKind::Document, &job.name, Some(model), &document).map_err(|e| failed(&e))?;
    Ok(writer.finish())
}

/// Returns the text of a BVH, at the mean rate of the keys.
fn bvh(target: &Target, clip: &RawClip) -> Result<Vec<u8>, Failure> {
    let steps = clip.timelines().first().map_or(0, |times| times.len().saturating_sub(1));
    let rate = if clip.duration() > 0.0 { steps as f64 / clip.duration() } else { RATE };
    let whole = rate.round();
    let rate = if (rate - whole).abs() < 1e-3 * rate { whole } else { rate };
    let text = condyle_bvh::write(&target.model.asset.skeleton, clip, &WriteOptions::new(rate));
    let text = text.map_err(|e| Failure::Data(format!("{}: {e}", path_text(&target.path))))?;
    Ok(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use condyle::{Interpolation, Target as Of, Track};

    use super::*;

    #[test]
    fn tracks_without_a_joint_are_counted() {
        let track = |target, values: &[f32]| Track {
            target,
            interpolation: Interpolation::Linear,
            timeline: 0,
            values: values.to_vec(),
        };
        let tracks = vec![
            track(Of::Translation(0), &[0.0, 1.0, 0.0]),
            track(Of::Weights(3), &[0.2, 0.8]),
            track(Of::Vector(1), &[5.0]),
        ];
        let clip = RawClip::new(String::new(), vec![vec![0.0]], tracks).expect("three tracks");
        assert_eq!(free_tracks(&AnyClip::from(&clip)), 2);
    }
}
