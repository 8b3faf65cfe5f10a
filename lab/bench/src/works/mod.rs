//! Benchmarks: condyle on every instruction set in both modes, and its peers on the same data.

mod arm;
mod baked;
mod blend;
mod body;
mod bounds;
pub(crate) mod call;
mod character;
mod clip;
mod convert;
mod hitbox;
mod hits;
mod interpolate;
mod limbs;
mod model;
mod morph;
mod palette;
pub(crate) mod roofline;
mod sample;
mod skin;
mod springs;
mod surface;

use condyle::{Affine, Pose, Transform};
use condyle_testing::reference;

use crate::harness::{Case, Subjects};

/// Condyle with clips unpacked into frames.
pub(crate) const FRAMES: &str = "frames";

/// Number of joints of a character.
const JOINTS: usize = 67;
/// Number of joints that exceed the L2 cache, in whole blocks. Tests use fewer.
const MANY: usize = if cfg!(test) { 2000 } else { 65_520 };

/// All cases in the order of the stages. Cases of one benchmark are consecutive.
pub(crate) fn all() -> Vec<Case> {
    let groups = [
        roofline::cases(),
        sample::cases(),
        clip::cases(),
        character::cases(),
        call::cases(),
        interpolate::cases(),
        convert::cases(),
        blend::cases(),
        limbs::cases(),
        arm::cases(),
        body::cases(),
        springs::cases(),
        model::cases(),
        palette::cases(),
        morph::cases(),
        skin::cases(),
        surface::cases(),
        bounds::cases(),
        hitbox::cases(),
        hits::cases(),
        baked::cases(),
    ];
    groups.into_iter().flatten().collect()
}

fn case(
    work: &'static str,
    layout: &'static str,
    n: usize,
    bytes: usize,
    build: impl Fn(&mut Subjects) + 'static,
) -> Case {
    Case { work, n, times: 1, layout, bytes, flops: 0, build: Box::new(build) }
}

/// Adds a copy of as many bytes as a benchmark moves, half read and half written, as the bandwidth reference.
fn copying(subjects: &mut Subjects, work: &'static str, vertices: usize, bytes: usize) {
    let from: Vec<u8> = (0..vertices * bytes / 2).map(|i| i as u8).collect();
    let want = from.clone();
    let wrong = move |to: &Vec<u8>| if *to == want { 0.0 } else { f64::INFINITY };
    let to = vec![0; from.len()];
    subjects.peer_of(work, "plain", from, to, |from, to| to.copy_from_slice(from), wrong);
}

fn worst<'a>(pairs: impl IntoIterator<Item = (&'a f32, f64)>) -> f64 {
    // NaN counts as the largest error. `f64::max` would ignore it.
    let difference = |(got, want): (&f32, f64)| (f64::from(*got) - want).abs();
    pairs.into_iter().map(difference).fold(0.0, |worst, d| if d > worst || d.is_nan() { d } else { worst })
}

/// Rounds a pose of the reference.
fn pose(locals: &[reference::Local]) -> Pose {
    let joints: Vec<Transform> = locals
        .iter()
        .map(|local| Transform {
            rotation: local.rotation.map(|v| v as f32),
            translation: local.translation.map(|v| v as f32),
            scale: local.scale.map(|v| v as f32),
        })
        .collect();
    Pose::from_transforms(&joints)
}

/// Largest of several errors.
fn largest(errors: impl IntoIterator<Item = f64>) -> f64 {
    errors.into_iter().fold(0.0, |worst, e| if e > worst || e.is_nan() { e } else { worst })
}

/// Largest error over all expected values. Infinite if a value is missing.
fn worst_of<'a, G, W: 'a>(
    got: impl IntoIterator<Item = G>,
    want: impl IntoIterator<Item = &'a W>,
    error: impl Fn(G, &W) -> f64,
) -> f64 {
    let mut got = got.into_iter();
    largest(want.into_iter().map(|want| got.next().map_or(f64::INFINITY, |got| error(got, want))))
}

/// Largest difference between matrices and the reference.
fn worst_matrices<'a>(
    got: impl IntoIterator<Item = Affine>,
    want: impl IntoIterator<Item = &'a reference::Matrix>,
) -> f64 {
    worst_of(got, want, |got, want| {
        worst(got.rows.as_flattened().iter().zip(want.as_flattened().iter().copied()))
    })
}

/// Largest difference between joints and the reference.
fn worst_joints(got: impl IntoIterator<Item = Transform>, want: &[reference::Local]) -> f64 {
    worst_of(got, want, worst_joint)
}

fn worst_joint(got: Transform, want: &reference::Local) -> f64 {
    let rotation = worst(got.rotation.iter().zip(want.rotation));
    let translation = worst(got.translation.iter().zip(want.translation));
    let scale = worst(got.scale.iter().zip(want.scale));
    largest([rotation, translation, scale])
}
