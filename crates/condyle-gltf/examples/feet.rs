//! Feet on the ground: a clip of a document walks on level ground, on stairs and on a slope, and what its feet and joints do is measured.
//!
//! ```text
//! cargo run --example feet -- character.glb walk
//! ```

use std::error::Error;

use condyle::math::Rigid;
use condyle::motion::RootMotion;
use condyle::sample::PoseSource;
use condyle::solve::feet::{
    ContactOptions, Contacts, Feet, FeetFrame, Ground, Leg, Plane, Step, Surface, contacts_raw, feet,
};
use condyle::{Affine, Looping, Pose, RawClip, Skeleton, Transform, local_to_model};
use condyle_gltf::Asset;

/// Names of the pelvis and of hip, knee, foot and toe of either side, as some programs have them.
const NAMES: [[&str; 9]; 3] = [
    [
        "Hips",
        "LeftUpLeg",
        "LeftLeg",
        "LeftFoot",
        "LeftToeBase",
        "RightUpLeg",
        "RightLeg",
        "RightFoot",
        "RightToeBase",
    ],
    ["hips", "upperleg.l", "lowerleg.l", "foot.l", "toes.l", "upperleg.r", "lowerleg.r", "foot.r", "toes.r"],
    [
        "hips",
        "left_upper_leg",
        "left_lower_leg",
        "left_foot",
        "left_toes",
        "right_upper_leg",
        "right_lower_leg",
        "right_foot",
        "right_toes",
    ],
];

/// The pelvis and the legs, by their names.
fn legs(skeleton: &Skeleton) -> Option<(u16, [Leg; 2])> {
    NAMES.iter().find_map(|names| {
        let joints: Option<Vec<u16>> = names.iter().map(|name| skeleton.joint_by_name(name)).collect();
        let j = joints?;
        let leg = |at: usize| Leg { hip: j[at], knee: j[at + 1], foot: j[at + 2], toe: Some(j[at + 3]) };
        Some((j[0], [leg(1), leg(5)]))
    })
}

/// Frames in a second.
const FPS: f64 = 60.0;

/// Where joints are in the world.
fn places(model: &[Affine], placement: &Rigid) -> Vec<[f64; 3]> {
    model.iter().map(|m| placement.transform_point(m.rows.map(|row| f64::from(row[3])))).collect()
}

/// The speed of the ground below a character that walks on the spot: that of feet which are low.
fn ground_speed(clip: &RawClip, skeleton: &Skeleton, legs: &[Leg; 2]) -> Result<[f64; 3], Box<dyn Error>> {
    let (mut pose, mut model) = (Pose::rest(skeleton), vec![Affine::IDENTITY; skeleton.joint_count()]);
    let steps = (clip.duration() * 120.0) as usize;
    let mut paths = vec![vec![]; 2];
    for at in 0..=steps {
        clip.pose(skeleton, clip.start() + clip.duration() * at as f64 / steps as f64, &mut pose)?;
        local_to_model(skeleton, &pose, &mut model)?;
        for (path, leg) in paths.iter_mut().zip(legs) {
            path.push(model[usize::from(leg.touching())].rows.map(|row| f64::from(row[3])));
        }
    }
    let low = paths.iter().flatten().fold(f64::INFINITY, |low, p| low.min(p[1]));
    let limit =
        0.03 * f64::from(Feet::new(skeleton, legs[0].hip.min(legs[1].hip), &[])?.leg_length().max(1.0));
    let mut speeds: [Vec<f64>; 2] = [vec![], vec![]];
    for path in &paths {
        for w in path.windows(2).filter(|w| w[0][1] < low + limit && w[1][1] < low + limit) {
            speeds[0].push((w[0][0] - w[1][0]) * 120.0);
            speeds[1].push((w[0][2] - w[1][2]) * 120.0);
        }
    }
    let mut median = |at: usize| {
        let v = &mut speeds[at];
        v.sort_by(f64::total_cmp);
        v.get(v.len() / 2).copied().unwrap_or(0.0)
    };
    Ok([median(0), 0.0, median(1)])
}

/// Whether the clip itself takes its character along.
fn travels(clip: &RawClip, skeleton: &Skeleton, pelvis: u16, leg: f32) -> Result<bool, Box<dyn Error>> {
    let (mut pose, mut model) = (Pose::rest(skeleton), vec![Affine::IDENTITY; skeleton.joint_count()]);
    let mut places = vec![];
    for at in 0..=20 {
        clip.pose(skeleton, clip.start() + clip.duration() * at as f64 / 20.0, &mut pose)?;
        local_to_model(skeleton, &pose, &mut model)?;
        places.push(model[usize::from(pelvis)].rows.map(|row| row[3]));
    }
    let from = places[0];
    Ok(places.iter().any(|p| (p[0] - from[0]).abs().max((p[2] - from[2]).abs()) > leg))
}

/// A clip with what is needed to play it.
struct Walk<'a> {
    skeleton: &'a Skeleton,
    clip: &'a RawClip,
    motion: Option<&'a RootMotion>,
    contacts: &'a Contacts,
    feet: &'a Feet,
    pelvis: u16,
    legs: &'a [Leg; 2],
    loops: f64,
    first: f64,
}

/// Plays the clip on a ground and prints how far planted feet move, and which joints accelerate the most against the clip.
fn measure(walk: &Walk<'_>, name: &str, ground: &dyn Ground) -> Result<(), Box<dyn Error>> {
    let skeleton = walk.skeleton;
    let count = skeleton.joint_count();
    let (mut pose, mut model) = (Pose::rest(skeleton), vec![Affine::IDENTITY; count]);
    let mut state = walk.feet.start();
    let duration = walk.clip.duration();
    let looping = if walk.motion.is_some() { Looping::Wrap } else { Looping::Clamp };
    let frames = (duration * walk.loops * FPS) as usize;
    let (mut source, mut shown, mut planted) = (vec![], vec![], vec![]);
    let mut off = 0.0_f32;
    for frame in 0..frames {
        let clock = walk.first + frame as f64 / FPS;
        let seconds = walk.clip.moment(looping, clock)?;
        walk.clip.pose(skeleton, seconds, &mut pose)?;
        local_to_model(skeleton, &pose, &mut model)?;
        let motion = walk.motion.map_or(Rigid::IDENTITY, |m| m.at(f64::from(seconds - walk.clip.start())));
        let mut placement = match walk.motion {
            Some(m) => m.over(Looping::Wrap, 0.0, clock)?,
            None => Rigid::IDENTITY,
        };
        source.push(places(&model, &placement));
        let steps: Vec<Step> =
            (0..2).map(|at| walk.contacts.step(at, clock, &motion)).collect::<Result<_, _>>()?;
        let high = ground.below(placement.translation.map(|v| v + 1e3)).map_or(0.0, |s| s.height);
        placement.translation[1] = high;
        let input = FeetFrame {
            placement,
            ground,
            steps: &steps,
            seconds: if frame == 0 { 0.0 } else { (1.0 / FPS) as f32 },
            weight: 1.0,
        };
        off = off.max(feet(skeleton, &model, walk.feet, &input, &mut state, &mut pose)?.distance);
        local_to_model(skeleton, &pose, &mut model)?;
        shown.push(places(&model, &placement));
        planted.push(steps.iter().map(|s| matches!(s, Step::Planted)).collect::<Vec<_>>());
    }
    // From where the foot stood when it was first planted.
    let (mut slide, mut sink) = (0.0_f64, 0.0_f64);
    for (at, leg) in walk.legs.iter().enumerate() {
        let joint = usize::from(leg.touching());
        let mut stood: Option<[f64; 3]> = None;
        for frame in 0..frames {
            if !planted[frame][at] {
                stood = None;
                continue;
            }
            let now = shown[frame][joint];
            let at = *stood.get_or_insert(now);
            slide = slide.max(((now[0] - at[0]).powi(2) + (now[2] - at[2]).powi(2)).sqrt());
            sink = sink.max((now[1] - at[1]).abs());
        }
    }
    let peak = |all: &[Vec<[f64; 3]>], joint: usize| {
        all.windows(3)
            .map(|w| {
                let a: [f64; 3] = std::array::from_fn(|c| {
                    (w[0][joint][c] - 2.0 * w[1][joint][c] + w[2][joint][c]) * FPS * FPS
                });
                (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt()
            })
            .enumerate()
            .fold((0.0, 0), |m: (f64, usize), (i, a)| if a > m.0 { (a, i) } else { m })
    };
    let mut ratios: Vec<_> = skeleton
        .subtree(walk.pelvis)
        .iter()
        .map(|&j| {
            let (from, to) = (peak(&source, j.into()), peak(&shown, j.into()));
            (to.0 / from.0.max(1e-9), j, from.0, to.0, to.1)
        })
        .collect();
    ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!(
        "{name}: slide {:.3} mm, sink {:.3} mm, out of reach {:.3} mm",
        slide * 1e3,
        sink * 1e3,
        off * 1e3
    );
    for (ratio, joint, from, to, at) in ratios.iter().take(3) {
        println!(
            "  {:<16} {ratio:.2}  ({from:.1} -> {to:.1} m/s2 at {:.3} s)",
            skeleton.names()[usize::from(*joint)],
            *at as f64 / FPS
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("a file, and the name of a clip")?;
    let asset = Asset::open(&path)?;
    let skeleton = &asset.skeleton;
    let (pelvis, legs) = legs(skeleton).ok_or("no legs of a known name")?;
    let wanted = args.next();
    for clip in &asset.clips {
        if wanted.as_ref().is_some_and(|w| !clip.name().contains(w.as_str())) || clip.duration() <= 0.0 {
            continue;
        }
        let feet = Feet::new(skeleton, pelvis, &legs)?;
        let mut options = ContactOptions::for_legs(feet.leg_length());
        let in_place = !travels(clip, skeleton, pelvis, feet.leg_length())?;
        let speed = ground_speed(clip, skeleton, &legs)?;
        let motion = if in_place {
            options.looping = Looping::Wrap;
            let end = speed.map(|v| (v * clip.duration()) as f32);
            let end = Transform { translation: end, ..Transform::IDENTITY };
            Some(RootMotion::new(clip.duration(), vec![Transform::IDENTITY, end])?)
        } else {
            None
        };
        let joints = legs.map(|leg| leg.touching());
        let contacts = contacts_raw(clip, motion.as_ref(), skeleton, &joints, &options)?;
        println!(
            "{}: {:.2} s, legs of {:.3} m, ground {speed:.2?} m/s",
            clip.name(),
            clip.duration(),
            feet.leg_length()
        );
        for foot in 0..2 {
            for c in contacts.of(foot) {
                println!(
                    "  foot {foot}: {:.3} to {:.3} s, place {:.3?} from {:.3?} v {:.2?}",
                    c.start, c.end, c.place, c.from, c.velocity
                );
            }
        }
        let size = f64::from(feet.leg_length()) / 0.9;
        let walk = Walk {
            skeleton,
            clip,
            motion: motion.as_ref(),
            contacts: &contacts,
            feet: &feet,
            pelvis,
            legs: &legs,
            loops: if in_place { 6.0 } else { 0.99 },
            first: if in_place { 0.0 } else { 0.05 },
        };
        measure(&walk, "level", &Plane::level(0.0))?;
        // Which way it goes.
        let (x, z) = if in_place { (speed[0], speed[2]) } else { (0.0, 1.0) };
        let way = (x * x + z * z).sqrt().max(1e-9);
        let (x, z) = (x / way, z / way);
        measure(&walk, "slope up 20 %", &Plane { point: [0.0; 3], normal: [-0.2 * x, 1.0, -0.2 * z] })?;
        measure(&walk, "slope down 20 %", &Plane { point: [0.0; 3], normal: [0.2 * x, 1.0, 0.2 * z] })?;
        let stairs = |up: f64| {
            move |p: [f64; 3]| {
                let along = (p[0] * x + p[2] * z) / size;
                Some(Surface::level((along / 0.4 - 0.5).floor() * 0.12 * size * up))
            }
        };
        measure(&walk, "stairs up", &stairs(1.0))?;
        measure(&walk, "stairs down", &stairs(-1.0))?;
    }
    Ok(())
}
