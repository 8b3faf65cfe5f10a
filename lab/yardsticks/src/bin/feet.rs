//! Foot placement: plays each clip of a file on level ground, slopes and stairs, and prints figures on feet,
//! knees and pelvis.
//!
//! ```text
//! cargo run -p condyle-yardsticks --bin feet -- character.glb walk
//! cargo run -p condyle-yardsticks --bin feet -- walk.bvh walk hips,left_hip,left_knee,left_foot,left_toes,right_hip,right_knee,right_foot,right_toes
//! ```

use std::error::Error;

use condyle::math::Rigid;
use condyle::motion::{RootMotionOptions, extract};
use condyle::sampling::PoseSource;
use condyle::{Affine, Looping, Pose, RawClip, Skeleton, local_to_model};
use condyle_bvh::{Bvh, ImportOptions};
use condyle_gltf::Asset;
use condyle_solve::foot_placement::{
    ContactOptions, Contacts, Feet, FeetFrame, Ground, GroundPoint, Leg, Plane, Step, contacts_raw, feet,
};

/// Joint names of the pelvis, then hip, knee, foot and toe of each side, in the files of several programs.
const NAMES: [&str; 5] = [
    "Hips,LeftUpLeg,LeftLeg,LeftFoot,LeftToeBase,RightUpLeg,RightLeg,RightFoot,RightToeBase",
    "hips,upperleg.l,lowerleg.l,foot.l,toes.l,upperleg.r,lowerleg.r,foot.r,toes.r",
    "hips,left_upper_leg,left_lower_leg,left_foot,left_toes,right_upper_leg,right_lower_leg,right_foot,right_toes",
    "Body,UpperLeg.L,LowerLeg.L,Foot.L,Foot.L,UpperLeg.R,LowerLeg.R,Foot.R,Foot.R",
    "b_Hip_01,b_LeftLeg01_015,b_LeftLeg02_016,b_LeftFoot01_017,b_LeftFoot02_018,\
     b_RightLeg01_019,b_RightLeg02_020,b_RightFoot01_021,b_RightFoot02_022",
];

/// Finds the pelvis and the legs by their names or indices.
fn legs(skeleton: &Skeleton, given: Option<&str>) -> Option<(u16, [Leg; 2])> {
    let find = |names: &str| {
        let joint = |name: &str| name.parse().ok().or_else(|| skeleton.joint_by_name(name));
        let joints: Option<Vec<u16>> = names.split(',').map(joint).collect();
        let joints = joints.filter(|joints| joints.len() == 9)?;
        let leg = |at: usize| {
            let [hip, knee, foot, toe] = [0, 1, 2, 3].map(|next| joints[at + next]);
            Leg { hip, knee, foot, toe: Some(toe).filter(|&toe| toe != foot) }
        };
        Some((joints[0], [leg(1), leg(5)]))
    };
    given.map_or_else(|| NAMES.iter().copied().find_map(find), find)
}

/// Returns the distance from hip to foot in the rest pose.
fn rest_length(skeleton: &Skeleton, leg: &Leg) -> f32 {
    let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
    if local_to_model(skeleton, skeleton.rest(), &mut model).is_err() {
        return 1.0;
    }
    let places = places(&model, &Rigid::IDENTITY);
    length(sub(places[usize::from(leg.hip)], places[usize::from(leg.foot)])) as f32
}

/// Frames per second.
const FPS: f64 = 60.0;

type Places = Vec<[f64; 3]>;

/// Returns the world positions of the joints.
fn places(model: &[Affine], placement: &Rigid) -> Places {
    model.iter().map(|m| placement.transform_point(m.rows.map(|row| f64::from(row[3])))).collect()
}

fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn length(a: [f64; 3]) -> f64 {
    (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt()
}

/// A clip and the data to play it.
struct Walk<'a> {
    skeleton: &'a Skeleton,
    clip: &'a RawClip,
    contacts: &'a Contacts,
    feet: &'a Feet,
    pelvis: u16,
    looping: Looping,
    loops: f64,
}

/// The frames of a clip on a ground.
struct Run {
    source: Vec<Places>,
    shown: Vec<Places>,
    planted: Vec<[bool; 2]>,
    /// Maximum distance of a planted foot from its target.
    off: f32,
}

/// Plays the clip on a ground.
fn play(walk: &Walk<'_>, ground: &dyn Ground) -> Result<Run, Box<dyn Error>> {
    let skeleton = walk.skeleton;
    let (mut pose, mut model) = (Pose::rest(skeleton), vec![Affine::IDENTITY; skeleton.joint_count()]);
    let mut state = walk.feet.start();
    let frames = (walk.clip.duration() * walk.loops * FPS) as usize;
    let mut run = Run { source: vec![], shown: vec![], planted: vec![], off: 0.0 };
    for frame in 0..frames {
        let clock = frame as f64 / FPS;
        walk.clip.pose(skeleton, walk.clip.moment(walk.looping, clock)?, &mut pose)?;
        local_to_model(skeleton, &pose, &mut model)?;
        let mut placement = walk.contacts.motion().over(walk.looping, 0.0, clock)?;
        run.source.push(places(&model, &placement));
        let steps = [walk.contacts.step(0, clock)?, walk.contacts.step(1, clock)?];
        // Places the character on the ground below its pelvis, like a game.
        let pelvis = run.source[frame][usize::from(walk.pelvis)];
        placement.translation[1] = ground.below([pelvis[0], 1e6, pelvis[2]]).map_or(0.0, |s| s.height);
        let seconds = if frame == 0 { 0.0 } else { (1.0 / FPS) as f32 };
        let input = FeetFrame { placement, ground, steps: &steps, seconds, weight: 1.0 };
        let reached = feet(skeleton, &model, walk.feet, &input, &mut state, &mut pose)?;
        run.off = run.off.max(reached.distance);
        local_to_model(skeleton, &pose, &mut model)?;
        run.shown.push(places(&model, &placement));
        run.planted.push(steps.map(|step| step == Step::Planted));
    }
    Ok(run)
}

/// Returns the position of a knee relative to the line from hip to foot: along it and off it.
fn bend(hip: [f64; 3], knee: [f64; 3], foot: [f64; 3]) -> [f64; 2] {
    let (line, bone) = (sub(foot, hip), sub(knee, hip));
    let far = length(line).max(1e-9);
    let along = (line[0] * bone[0] + line[1] * bone[1] + line[2] * bone[2]) / far;
    [along, (length(bone).powi(2) - along * along).max(0.0).sqrt()]
}

/// Returns the bend angle of a knee in degrees.
fn folded(hip: [f64; 3], knee: [f64; 3], foot: [f64; 3]) -> f64 {
    let (a, b) = (sub(knee, hip), sub(foot, knee));
    let cos = (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) / (length(a) * length(b)).max(1e-12);
    cos.clamp(-1.0, 1.0).acos().to_degrees()
}

/// Figures of a run; lengths are relative to the leg length.
#[derive(Default)]
struct Figures {
    slide: f64,
    /// Largest unexplained movement of a knee in a frame: beyond 1.5 times its source movement and the other
    /// corrections. Also its frame, and the number of frames above 1 % of the leg length.
    knee: (f64, usize, usize),
    folded: f64,
    source_folded: f64,
    /// Maximum acceleration of the pelvis in the source and in the result.
    pelvis: [f64; 2],
    /// Largest ratio of result to source acceleration among the joints below the pelvis, and its joint.
    joint: (f64, u16),
}

fn figures(walk: &Walk<'_>, run: &Run) -> Figures {
    let size = f64::from(walk.feet.leg_length());
    let mut out = Figures::default();
    for (at, leg) in walk.feet.legs().iter().enumerate() {
        let [hip, knee, foot, touching] = [leg.hip, leg.knee, leg.foot, leg.touching()].map(usize::from);
        let mut stood: Option<[f64; 3]> = None;
        for frame in 0..run.shown.len() {
            let (source, shown) = (&run.source[frame], &run.shown[frame]);
            out.folded = out.folded.max(folded(shown[hip], shown[knee], shown[foot]));
            out.source_folded = out.source_folded.max(folded(source[hip], source[knee], source[foot]));
            if run.planted[frame][at] {
                let from = *stood.get_or_insert(shown[touching]);
                out.slide = out.slide.max(length(sub(shown[touching], from)) / size);
            } else {
                stood = None;
            }
            let Some(last) = frame.checked_sub(1).filter(|_| frame > 30) else { continue };
            let moved = |all: &[Places], joint: usize| sub(all[frame][joint], all[last][joint]);
            let by = |joint| length(sub(moved(&run.shown, joint), moved(&run.source, joint)));
            let bends = |all: &[Places]| {
                let [now, then] = [frame, last].map(|at| bend(all[at][hip], all[at][knee], all[at][foot]));
                [now[0] - then[0], now[1] - then[1]]
            };
            let ([a, b], [c, d]) = (bends(&run.shown), bends(&run.source));
            let explained = by(hip) + by(foot) + (a - c).hypot(b - d);
            let beyond = length(moved(&run.shown, knee)) - 1.5 * length(moved(&run.source, knee)) - explained;
            if beyond / size > out.knee.0 {
                (out.knee.0, out.knee.1) = (beyond / size, frame);
            }
            out.knee.2 += usize::from(beyond > 0.01 * size);
        }
    }
    let peak = |all: &[Places], joint: u16| {
        let joint = usize::from(joint);
        let one = |w: &[Places]| {
            let [a, b, c] = [0, 1, 2].map(|at| w[at][joint]);
            length(sub(sub(a, b), sub(b, c))) * FPS * FPS / size
        };
        all.windows(3).skip(30).map(one).fold(0.0, f64::max)
    };
    out.pelvis = [peak(&run.source, walk.pelvis), peak(&run.shown, walk.pelvis)];
    for &joint in walk.skeleton.subtree(walk.pelvis) {
        let (from, to) = (peak(&run.source, joint), peak(&run.shown, joint));
        let ratio = to / from.max(1.0);
        if ratio > out.joint.0 {
            out.joint = (ratio, joint);
        }
    }
    out
}

/// Plays a clip on all grounds and prints a line for each.
fn print_all(walk: &Walk<'_>) -> Result<(), Box<dyn Error>> {
    let size = f64::from(walk.feet.leg_length()) / 0.9;
    // The stairs face the direction of travel.
    let end = walk.contacts.motion().at(walk.clip.duration()).translation;
    let run = play(walk, &Plane::level(0.0))?;
    let pelvis = usize::from(walk.pelvis);
    let (first, last) = (run.source[0][pelvis], run.source[run.source.len() - 1][pelvis]);
    let way = if length(end) > 0.1 * size { end } else { sub(last, first) };
    let far = way[0].hypot(way[2]);
    let [x, z] = if far > 0.1 * size { [way[0] / far, way[2] / far] } else { [0.0, 1.0] };
    let slope = |by: f64| Plane { point: [0.0; 3], normal: [-by * x, 1.0, -by * z] };
    let stairs = |up: f64| {
        move |p: [f64; 3]| {
            let along = (p[0] * x + p[2] * z) / size;
            Some(GroundPoint::level((along / 0.4 - 0.5).floor() * 0.12 * size * up))
        }
    };
    let grounds: [(&str, &dyn Ground); 5] = [
        ("level", &Plane::level(0.0)),
        ("up 20 %", &slope(0.2)),
        ("down 20 %", &slope(-0.2)),
        ("upstairs", &stairs(1.0)),
        ("downstairs", &stairs(-1.0)),
    ];
    for (name, ground) in grounds {
        let run = play(walk, ground)?;
        let f = figures(walk, &run);
        println!(
            "  {name:<10} slide {:6.2}  reach {:6.1}  knee {:6.1} at {:4} ({:3} frames)  fold {:3.0} of {:3.0}  pelvis {:5.1} of {:5.1} ({:.2})  {} {:.2}",
            1e3 * f.slide,
            1e3 * f64::from(run.off) / (0.9 * size),
            1e3 * f.knee.0,
            f.knee.1,
            f.knee.2,
            f.folded,
            f.source_folded,
            f.pelvis[1],
            f.pelvis[0],
            f.pelvis[1] / f.pelvis[0].max(1e-9),
            walk.skeleton.names()[usize::from(f.joint.1)],
            f.joint.0,
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: feet FILE [CLIP] [JOINTS]")?;
    let (skeleton, clips) = if path.ends_with(".bvh") {
        let (bvh, options) = (Bvh::open(&path)?, ImportOptions::default());
        (bvh.skeleton(&options)?, vec![bvh.clip(&options)?])
    } else {
        let asset = Asset::open(&path)?;
        (asset.skeleton, asset.clips)
    };
    let wanted = args.next().unwrap_or_default();
    let names = args.next();
    let (pelvis, legs) = legs(&skeleton, names.as_deref()).ok_or("no legs with known joint names")?;
    println!("lengths in thousandths of the leg length, accelerations in leg lengths per second squared");
    for clip in &clips {
        if !clip.name().contains(&wanted) || clip.duration() <= 0.0 {
            continue;
        }
        // Some rigs have feet that are not descendants of the legs. For those, only contacts are printed.
        let feet = Feet::new(&skeleton, pelvis, &legs).ok();
        let long = feet.as_ref().map_or_else(|| rest_length(&skeleton, &legs[0]), Feet::leg_length);
        let mut options = ContactOptions::for_legs(long);
        // A clip whose end position differs from its start position is not looped.
        let mut taken = RootMotionOptions::default();
        taken.joint = pelvis;
        let (_, motion) = extract(clip, &skeleton, &taken)?;
        let end = motion.at(clip.duration()).translation;
        let loops = length(end) < 0.1 * f64::from(long);
        options.looping = if loops { Looping::Wrap } else { Looping::Clamp };
        let contacts = match contacts_raw(clip, None, &skeleton, &legs.map(|leg| leg.touching()), &options) {
            Ok(contacts) => contacts,
            Err(error) => {
                println!("{}: {error}", clip.name());
                continue;
            }
        };
        let touches = |foot: usize| contacts.of(foot).iter().map(|c| c.end - c.start).collect::<Vec<_>>();
        let ground = contacts.treadmill().map_or(0.0, |v| f64::from(v[0]).hypot(v[2].into()));
        println!(
            "{}: {:.2} s, legs of {:.3}, ground {ground:.3} per second, touches {:.2?} and {:.2?} s",
            clip.name(),
            clip.duration(),
            long,
            touches(0),
            touches(1),
        );
        let Some(feet) = &feet else { continue };
        let walk = Walk {
            skeleton: &skeleton,
            clip,
            contacts: &contacts,
            feet,
            pelvis,
            looping: options.looping,
            loops: if loops { 6.0 } else { 1.0 },
        };
        print_all(&walk)?;
    }
    Ok(())
}
