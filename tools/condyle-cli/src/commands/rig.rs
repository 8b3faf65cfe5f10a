//! `condyle rig`: the joints of a humanoid by role.

use std::path::{Path, PathBuf};

use condyle::sampling::PoseSource;
use condyle::{Affine, Skeleton};
use condyle_draw::marks::Mark;
use condyle_draw::picture::{self, Format};
use condyle_draw::{Look, Scene, View};
use condyle_gltf::{Asset, ClipExporter};
use condyle_retarget::rig::{Evidence, Found, Humanoid, Role, Side, write_map};
use serde_json::{Value, json};

use crate::commands::reach::asked::joint_name;
use crate::failure::{Failure, too_large};
use crate::model::Model;
use crate::model::container::is_container;
use crate::model::humanoid::Who;
use crate::model::playable::Playable;
use crate::options::heading::REPORT;
use crate::options::job::Job;
use crate::options::overwrite::Overwrite;
use crate::options::source::{self, Which};
use crate::options::space::{Height, Space};
use crate::options::work::{Limit, Work};
use crate::output::{Written, print, print_json, warn, write_file};
use crate::text::{self, counted, path_text, printable, table};

/// Find the joints of a humanoid: who is who, by names and by shape
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle rig man.glb                         a table of roles and joints
  condyle rig man.glb -o man.map              the map as text, to be corrected
  condyle rig man.glb --map man.map           with corrections
  condyle rig man.glb --picture man.png       each limb in its colour, with names
  condyle rig man.glb -o mapped.glb           the model, with the map as a glTF extension

Roles are the humanoid bones of VRM 1.0. A map in the file comes first: VRM, or the Khronos draft
KHR_character_skeleton_mapping. Else names and the shape of the skeleton decide together; where they
contradict each other, the table says so. If the rest pose is no stance, the first frame of the first
clip is used.

A map is text with one `role = joint name` per line. `-` is for a role that no joint has, `@7` is the
joint with index 7, and `#` begins a comment. Lines may be left out.

A model that is no humanoid is refused with exit code 1.")]
pub(crate) struct Args {
    /// Character: .glb, .gltf, .vrm, .vrma, .fbx, .bvh or .condyle
    model: PathBuf,
    /// Output file: the map as text, or the model with the map. Missing folders are created [default: print a
    /// table]
    #[arg(short, long, value_name = "OUT.map|.txt|.glb|.vrm")]
    output: Option<PathBuf>,
    /// Corrections: a text file with lines of `role = joint name`
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Draw the skeleton with each limb in its colour
    #[arg(long, value_name = "OUT.png")]
    picture: Option<PathBuf>,
    /// Ignore a map in the file
    #[arg(long)]
    guess: bool,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    height: Height,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print the map as JSON
    #[arg(long, help_heading = REPORT)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = &args.model;
    let is_model = check_output(args)?;
    if let Some(picture) = &args.picture
        && Format::of(picture) != Some(Format::Png)
    {
        return Err(Failure::Usage(format!("{}: choose a name that ends in .png", path_text(picture))));
    }
    let mut job = Job::new([path], args.output.iter().chain(&args.picture), args.overwrite)?;
    let model = job
        .open(path, || source::open(path, args.which.or_with(None), (args.space, args.height), args.json))?;
    let found = Who::of(path, &model, &model.clips(), args.map.as_deref(), args.guess)?;
    let mut files = Vec::new();
    if let Some(output) = &args.output {
        let bytes = match is_model {
            true => with_map(path, &model.asset, &found.found.humanoid)?,
            false => write_map(&found.found.humanoid, &model.asset.skeleton).into_bytes(),
        };
        files.push(write_file(output.clone(), |out| out.write_all(&bytes))?);
    }
    if let Some(picture) = &args.picture {
        let bytes = draw(path, args.limit, &model, &found)?;
        files.push(write_file(picture.clone(), |out| out.write_all(&bytes))?);
    }
    if args.json {
        return print_json(&format!("{:#}", found.to_json(path, &model.asset.skeleton, &files)));
    }
    let mut text = found.to_text(&model.asset.skeleton);
    for file in &files {
        text += &format!("{}\n", path_text(&file.path));
    }
    print(&text)
}

/// Returns whether the output is a model, if its name fits.
fn check_output(args: &Args) -> Result<bool, Failure> {
    let Some(output) = &args.output else { return Ok(false) };
    let ending = text::ending(output);
    match ending.as_deref() {
        Some("map" | "txt") => Ok(false),
        Some("glb" | "vrm" | "vrma") if is_container(&args.model) => Err(Failure::Usage(format!(
            "{}: its clips are compressed, and a .glb needs keys; run `condyle decode` and use its output",
            path_text(&args.model)
        ))),
        Some("glb") => Ok(true),
        // VRM needs an author and a licence, which only its own documents have.
        Some("vrm" | "vrma") if ending == text::ending(&args.model) => Ok(true),
        Some("vrm" | "vrma") => Err(Failure::Usage(format!(
            "{}: the model has no author and licence for a .vrm; choose a name that ends in .glb",
            path_text(output)
        ))),
        _ => Err(Failure::Usage(format!(
            "{}: choose a name that ends in .map or .txt, or in .glb for the model with the map",
            path_text(output)
        ))),
    }
}

impl Who {
    fn to_text(&self, skeleton: &Skeleton) -> String {
        let Found { humanoid, doubts, evidence, .. } = &self.found;
        let head = ["role", "joint", "evidence", "doubt"].map(String::from).to_vec();
        let rows = humanoid.roles().zip(evidence).map(|((role, joint), (_, evidence))| {
            let why = doubts.iter().filter(|doubt| doubt.role == role).map(|doubt| printable(&doubt.why));
            let why = why.collect::<Vec<_>>().join("; ");
            vec![role.to_string(), joint_name(skeleton, joint), evidence.to_string(), why]
        });
        let mut text = table("<<<<", std::iter::once(head).chain(rows));
        let names = |joints: &mut dyn Iterator<Item = u16>| {
            joints.map(|joint| joint_name(skeleton, joint)).collect::<Vec<_>>().join(", ")
        };
        let mut line = |what: &str, joints: &mut dyn Iterator<Item = u16>| {
            let names = names(joints);
            if !names.is_empty() {
                text += &format!("{what}: {names}\n");
            }
        };
        if humanoid.spine().len() > 3 {
            line("all joints of the spine", &mut humanoid.spine().iter().copied());
        }
        if humanoid.neck().len() > 1 {
            line("all joints of the neck", &mut humanoid.neck().iter().copied());
        }
        line("twists", &mut humanoid.twists().iter().map(|twist| twist.joint));
        line("bones of the palms", &mut humanoid.metacarpals().iter().map(|bone| bone.joint));
        if let Some(clip) = &self.clip {
            text +=
                &format!("the rest pose is no stance; the shape comes from the first frame of {clip:?}\n");
        }
        let roles = counted(humanoid.roles().count(), "role", "roles");
        text + &format!("{roles} of {}, {}\n", Role::ALL.len(), counted(doubts.len(), "doubt", "doubts"))
    }

    fn to_json(&self, path: &Path, skeleton: &Skeleton, files: &[Written]) -> Value {
        let Found { humanoid, doubts, evidence, .. } = &self.found;
        let joint = |joint: u16| json!({ "joint": joint_name(skeleton, joint), "joint_index": joint });
        let roles = humanoid.roles().zip(evidence).map(|((role, at), (_, evidence))| {
            let doubts = doubts.iter().filter(|doubt| doubt.role == role).map(|doubt| doubt.why.as_str());
            let mut one = joint(at);
            one["role"] = role.name().into();
            one["evidence"] = match evidence {
                Evidence::Given => "given",
                Evidence::NameAndShape => "name and shape",
                Evidence::Shape => "shape",
            }
            .into();
            one["doubts"] = doubts.collect::<Vec<_>>().into();
            one
        });
        let of = |role: Role, at: u16| {
            let mut one = joint(at);
            one["of"] = role.name().into();
            one
        };
        json!({
            "file": path.to_string_lossy(),
            "roles": roles.collect::<Vec<_>>(),
            "spine": humanoid.spine().iter().map(|&it| joint(it)).collect::<Vec<_>>(),
            "neck": humanoid.neck().iter().map(|&it| joint(it)).collect::<Vec<_>>(),
            "twists": humanoid.twists().iter().map(|it| of(it.of, it.joint)).collect::<Vec<_>>(),
            "metacarpals": humanoid.metacarpals().iter().map(|it| of(it.of, it.joint)).collect::<Vec<_>>(),
            "clip_of_shape": self.clip,
            "files": files.iter().map(Written::to_json).collect::<Vec<_>>(),
        })
    }
}

/// Returns the model with the map in an extension.
fn with_map(path: &Path, asset: &Asset, map: &Humanoid) -> Result<Vec<u8>, Failure> {
    let mut exporter = ClipExporter::new(asset);
    exporter.problems().iter().for_each(|problem| warn(path, &problem.to_string()));
    let bones: Vec<(&str, u16)> = map.roles().map(|(role, joint)| (role.name(), joint)).collect();
    exporter.set_humanoid(&bones);
    exporter.glb(&asset.clips).map_err(|error| too_large(&path_text(path), &error))
}

/// Colours of the body's parts: trunk, left arm, right arm, left leg, right leg.
const COLORS: [[u8; 3]; 5] = [[250, 205, 60], [255, 120, 90], [70, 170, 255], [235, 80, 190], [70, 215, 150]];

fn color(role: Role) -> [u8; 3] {
    let is_leg = matches!(
        role.on(Side::Left),
        Role::LeftUpperLeg | Role::LeftLowerLeg | Role::LeftFoot | Role::LeftToes
    );
    match role.side() {
        _ if role.on(Side::Left) == Role::LeftEye => COLORS[0],
        None => COLORS[0],
        Some(Side::Left) => COLORS[if is_leg { 3 } else { 1 }],
        Some(Side::Right) => COLORS[if is_leg { 4 } else { 2 }],
    }
}

/// Draws the humanoid from its front, with the joints of each limb in a colour.
fn draw(path: &Path, limit: Limit, model: &Model, who: &Who) -> Result<Vec<u8>, Failure> {
    let asset = &model.asset;
    limit.budget(&model.sources).afford(&path_text(path), "", &Work::draw(asset, 1))?;
    let map = &who.found.humanoid;
    let skeleton = &asset.skeleton;
    let at = |joint: u16, matrices: &[Affine]| matrices[usize::from(joint)].rows.map(|row| row[3]);
    let marks = |_: f64, matrices: &[Affine]| {
        let mut marks = Vec::new();
        for (role, joint) in map.roles() {
            let Some(above) = map.carrier(role).and_then(|carrier| map.joint(carrier)) else { continue };
            let ends = [at(above, matrices), at(joint, matrices)];
            marks.push(Mark::Line { ends, radius: 2.0, color: color(role) });
        }
        for (role, joint) in map.roles() {
            let doubted = who.found.doubts.iter().any(|doubt| doubt.role == role);
            let radius = if doubted { 5.0 } else { 3.0 };
            marks.push(Mark::Dot { at: at(joint, matrices), radius, color: color(role) });
        }
        // Names of fingers would cover each other.
        let is_finger = |role: Role| role.on(Side::Left) as usize > Role::LeftHand as usize;
        let names = map.roles().filter(|(role, _)| !is_finger(*role)).map(|(role, joint)| {
            let name = joint_name(skeleton, joint);
            (at(joint, matrices), format!("{role}: {name}"), color(role))
        });
        marks.push(Mark::Names { names: names.collect() });
        marks
    };
    let clips = model.clips();
    let clip = clips.first().filter(|_| who.clip.is_some());
    let motion = clip.map(|clip| clip as &(dyn PoseSource + Sync));
    let mut scene = Scene::new(asset)?;
    scene.mark(&marks);
    let view = View { yaw: who.front(skeleton), pitch: 0.1 };
    let look = Look { view, size: [1280, 1280], skeleton: false };
    let shot = scene.frame(motion, &look, 1)?;
    let seconds = clip.map_or(0.0, Playable::start);
    Ok(picture::still(Format::Png, &scene.draw(motion, seconds, &shot, 0)?)?)
}

impl Who {
    /// Returns the direction that the humanoid faces, about +Y from +Z.
    fn front(&self, skeleton: &Skeleton) -> f32 {
        let mut matrices = vec![Affine::IDENTITY; skeleton.joint_count()];
        let posed = condyle::local_to_model(skeleton, &self.pose, &mut matrices).is_ok();
        let joint = |role: Role| self.found.humanoid.joint(role).map_or(0, usize::from);
        let [left, right] = [Role::LeftUpperArm, Role::RightUpperArm].map(|role| {
            let rows = &matrices[joint(role)].rows;
            [rows[0][3], rows[2][3]]
        });
        let [x, z] = [left[0] - right[0], left[1] - right[1]];
        // Left is +X for a character that faces +Z.
        if posed && x.hypot(z) > 0.0 { (-z).atan2(x) } else { 0.0 }
    }
}
