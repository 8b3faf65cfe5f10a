//! The frame loop of an engine, from the clock to skinned vertices, for a hundred procedural characters.
//!
//! ```text
//! cargo run --example engine_loop
//! ```

use std::f32::consts::TAU;

use condyle::blending::{self, Additive, Mean};
use condyle::math::Rigid;
use condyle::motion::{self, RootMotionOptions};
use condyle::play::Event;
use condyle::{
    Affine, Clip, Error, Influences, Interpolation, Joint, Layer, Looping, NormalRule, Palette, Player, Pose,
    RawClip, Skeleton, Skin, SkinnedMesh, Target, Track, Transform, Vertices,
};
use condyle_encode::{EncodeOptions, Shell};

const CHARACTERS: usize = 100;
const FRAMES: usize = 120;
const FRAME_SECONDS: f64 = 1.0 / 60.0;
/// Metres per second.
const WALK_SPEED: f32 = 1.4;
const RUN_SPEED: f32 = 4.0;

/// Joint indices in the skeleton. Parents come before their children.
const HIPS: u16 = 0;
const CHEST: u16 = 1;
const ARM: u16 = 2;
const LEGS: [u16; 2] = [3, 4];

fn main() -> Result<(), Error> {
    // Loading. Data shared by all characters is built once, never changes, and can be read by any number of
    // threads.
    let skeleton = skeleton()?;
    let (bound, mesh) = mesh(&skeleton)?;
    // Maximum error: half a millimetre at every vertex.
    let options = EncodeOptions::new(5e-4, Shell::of_meshes(&skeleton, [(&mesh, &bound)], Shell::RADIUS)?);
    let walk = gait(&skeleton, &options, "walk", [1.0, WALK_SPEED, 0.5])?;
    let run = gait(&skeleton, &options, "run", [0.7, RUN_SPEED, 0.9])?;
    let wave = swing("wave", ARM, 2.0, [2.0, 0.5])?;
    let wave = condyle_encode::encode(&wave, &skeleton, &options, &mut |_| ())?.into_clip();
    // An additive clip stores differences from a reference pose. It is encoded and sampled on the additive
    // skeleton.
    let breath =
        blending::difference_clip(&swing("breath", CHEST, 3.0, [0.0, 0.05])?, &skeleton, skeleton.rest())?;
    let additive = skeleton.additive();
    // All joints of that skeleton are at one point, so the error is measured at a larger radius, for the
    // descendants.
    let options = EncodeOptions::new(5e-4, Shell::Balls(0.5));
    let breath = condyle_encode::encode(&breath, &additive, &options, &mut |_| ())?.into_clip();
    // The wave moves only the arm.
    let arm = blending::joint_mask(&skeleton, &[(ARM, 1.0)], 0)?;

    // Characters. Each has a clock per clip, a world transform, and a speed between walking and running.
    let mut characters: Vec<Character> = (0..CHARACTERS).map(Character::new).collect();

    // Buffers for all frames. Each character has its pose and matrices. All share the scratch buffers; with
    // several threads, each thread has its scratch buffers.
    let joints = skeleton.joint_count();
    let mut poses = vec![Pose::rest(&skeleton); CHARACTERS];
    let mut models = vec![Affine::IDENTITY; CHARACTERS * joints];
    let mut posed = vec![Vertices::zeroed_like(mesh.vertices()); CHARACTERS];
    let [mut walking, mut running, mut moving] = [(); 3].map(|()| Pose::rest(&skeleton));
    let [mut waving, mut layered, mut breathing] = [(); 3].map(|()| Pose::rest(&skeleton));
    let mut matrices = Palette::default();
    let mut steps = 0;

    for _frame in 0..FRAMES {
        for (character, pose) in characters.iter_mut().zip(&mut poses) {
            // 1. Clocks. Both gaits get the duration of their blend, so that the feet stay in sync.
            //    `play::SyncTrack` also synchronises clips with different numbers of steps or different
            //    phases.
            let part = character.run_weight;
            let cycle = walk.duration() * f64::from(1.0 - part) + run.duration() * f64::from(part);
            character.walk.speed = walk.duration() / cycle;
            character.run.speed = run.duration() / cycle;
            for player in
                [&mut character.walk, &mut character.run, &mut character.wave, &mut character.breath]
            {
                player.advance(FRAME_SECONDS)?;
            }

            // 2. Events of the dominant gait: both gaits have the same steps, which must sound once.
            let (player, clip) = if part < 0.5 { (&character.walk, &walk) } else { (&character.run, &run) };
            steps += player.clip_events(clip)?.filter(|passed| passed.name.ends_with("foot")).count();

            // 3. Root motion, blended with the weights of the poses. It multiplies the world transform from
            //    the right. A game would pass the delta to its physics and use the resulting position.
            let (walked, ran) = (character.walk.motion(&walk)?, character.run.motion(&run)?);
            character.place = character.place * motion::blend(&[(walked, 1.0 - part), (ran, part)])?;

            // 4. Poses: sample, blend walk and run, overlay the wave on the arm, and add the breath.
            character.walk.sample(&walk, &skeleton, &mut walking)?;
            character.run.sample(&run, &skeleton, &mut running)?;
            let layers = [Layer::new(&walking, 1.0 - part), Layer::new(&running, part)];
            condyle::blend(&skeleton, &layers, Mean::Linear, &mut moving)?;
            character.wave.sample(&wave, &skeleton, &mut waving)?;
            blending::overlay(&moving, &waving, character.wave_amount, Some(&arm), &mut layered)?;
            character.breath.sample(&breath, &additive, &mut breathing)?;
            blending::add(&layered, &[Additive::new(&breathing, 1.0)], pose)?;
        }

        // 5. Model space. The matrices are kept because solvers, bounds and ray casts need them too.
        for (pose, model) in poses.iter().zip(models.chunks_mut(joints)) {
            condyle::local_to_model(&skeleton, pose, model)?;
        }

        // 6. Skinning. The vertices are in model space; the renderer applies `place`. An engine that skins on
        //    the GPU uploads the matrices of the palette and omits the call of `skin`.
        for (model, posed) in models.chunks(joints).zip(&mut posed) {
            condyle::palette(&bound, model, NormalRule::default(), &mut matrices)?;
            condyle::skin(mesh.influences(), &matrices, mesh.vertices().as_slices(), posed.as_slices_mut())?;
        }
    }

    let seconds = FRAMES as f64 * FRAME_SECONDS;
    println!("{CHARACTERS} characters of {joints} joints, {FRAMES} frames, {seconds} seconds");
    println!(
        "clips: {}, {} and {} bytes",
        walk.as_bytes().len(),
        run.as_bytes().len(),
        wave.as_bytes().len()
    );
    println!("{steps} step events");
    for character in [&characters[0], &characters[CHARACTERS / 2], &characters[CHARACTERS - 1]] {
        let way = character.place.translation[2];
        println!("run weight {:.2}: moved {way:.2} m", character.run_weight);
    }
    let highest = posed.iter().flat_map(|v| &v.positions).map(|p| p[1]).fold(f32::MIN, f32::max);
    println!("the highest of {} vertices is at {highest:.2} m", CHARACTERS * mesh.vertex_count());
    Ok(())
}

/// State of a character.
struct Character {
    walk: Player,
    run: Player,
    wave: Player,
    breath: Player,
    /// 0 walks, 1 runs.
    run_weight: f32,
    /// 0 keeps the arm at the side, 1 waves.
    wave_amount: f32,
    place: Rigid,
}

impl Character {
    fn new(index: usize) -> Self {
        let mut breath = Player::new(Looping::Wrap);
        // Different breathing rates.
        breath.speed = 0.8 + 0.4 * (index as f64 / CHARACTERS as f64);
        Self {
            walk: Player::new(Looping::Wrap),
            run: Player::new(Looping::Wrap),
            wave: Player::new(Looping::Clamp),
            breath,
            run_weight: index as f32 / (CHARACTERS - 1) as f32,
            wave_amount: if index.is_multiple_of(3) { 1.0 } else { 0.0 },
            place: Rigid { translation: [index as f64, 0.0, 0.0], ..Rigid::IDENTITY },
        }
    }
}

fn skeleton() -> Result<Skeleton, Error> {
    let joint = |name, parent, at: [f32; 3]| {
        Joint::new(name, parent, Transform { translation: at, ..Transform::IDENTITY })
    };
    Skeleton::new([
        joint("hips", None, [0.0, 1.0, 0.0]),
        joint("chest", Some(HIPS), [0.0, 0.4, 0.0]),
        joint("arm", Some(CHEST), [0.2, 0.1, 0.0]),
        joint("left leg", Some(HIPS), [0.1, -0.1, 0.0]),
        joint("right leg", Some(HIPS), [-0.1, -0.1, 0.0]),
    ])
}

/// A linear track with keys at these times.
fn track(target: Target, times: &[f32], at: impl Fn(f32) -> Vec<f32>) -> Track {
    let values = times.iter().flat_map(|&t| at(t)).collect();
    Track { target, interpolation: Interpolation::Linear, timeline: 0, values }
}

/// Rotation about x, as `xyzw`.
fn turn(angle: f32) -> Vec<f32> {
    vec![(angle / 2.0).sin(), 0.0, 0.0, (angle / 2.0).cos()]
}

/// A clip in which one joint swings about `angles[0]` with the amplitude `angles[1]`.
fn swing(name: &str, joint: u16, seconds: f32, angles: [f32; 2]) -> Result<RawClip, Error> {
    let times: Vec<f32> = (0..=30).map(|key| key as f32 / 30.0 * seconds).collect();
    let rotation =
        track(Target::Rotation(joint), &times, |t| turn(angles[0] + angles[1] * (t / seconds * TAU).sin()));
    RawClip::new(name.into(), vec![times], vec![rotation])
}

/// A compressed clip of two steps: the legs swing, and the hips move forward, which becomes root motion.
fn gait(
    skeleton: &Skeleton,
    options: &EncodeOptions,
    name: &str,
    [seconds, speed, angle]: [f32; 3],
) -> Result<Clip<'static>, Error> {
    let times: Vec<f32> = (0..=30).map(|key| key as f32 / 30.0 * seconds).collect();
    let leg = |side: usize, sign: f32| {
        track(Target::Rotation(LEGS[side]), &times, |t| turn(sign * angle * (t / seconds * TAU).sin()))
    };
    let hips = track(Target::Translation(HIPS), &times, |t| {
        vec![0.0, 1.0 + 0.03 * (t / seconds * 2.0 * TAU).cos(), speed * t]
    });
    let tracks = vec![hips, leg(0, 1.0), leg(1, -1.0)];
    let raw = RawClip::new(name.into(), vec![times], tracks)?;
    let mut options = options.clone();
    options.root_motion = Some(RootMotionOptions::default());
    options.events = [(0.25, "left foot"), (0.75, "right foot")]
        .map(|(part, name)| Event { seconds: part * f64::from(seconds), name: name.into() })
        .into();
    Ok(condyle_encode::encode(&raw, skeleton, &options, &mut |_| ())?.into_clip())
}

/// A box around each joint, bound in the rest pose. Its upper half also follows the parent.
fn mesh(skeleton: &Skeleton) -> Result<(Skin, SkinnedMesh), Error> {
    let mut rest = vec![Affine::IDENTITY; skeleton.joint_count()];
    condyle::local_to_model(skeleton, skeleton.rest(), &mut rest)?;
    let inverse = rest.iter().map(|joint| joint.inverse().unwrap_or_default()).collect();
    let (mut positions, mut rows) = (Vec::new(), Vec::new());
    for (joint, matrix) in (0..).zip(&rest) {
        for corner in 0..8 {
            let side = |bit: u8| if corner & bit == 0 { -0.08 } else { 0.08 };
            positions.push(matrix.transform_point([side(1), side(2), side(4)]));
            rows.push(match skeleton.parent(joint) {
                Some(parent) if side(2) > 0.0 => vec![(joint, 0.5), (parent, 0.5)],
                _ => vec![(joint, 1.0)],
            });
        }
    }
    let vertices = Vertices { positions, ..Vertices::default() };
    let mesh = SkinnedMesh::new(vertices, Influences::from_rows(rows)?, vec![], vec![])?;
    Ok((Skin::new((0..skeleton.joint_count() as u16).collect(), inverse)?, mesh))
}
