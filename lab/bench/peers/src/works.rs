//! The timed works.

use std::cell::RefCell;
use std::rc::Rc;

use crate::data::{Data, Mesh, Random};
use crate::entrants::{Entrant, GLAM_FRAMES};
use crate::player::Stage;
use crate::results::Results;
use crate::timing::Group;
use crate::verify;

/// Frames per second of a game.
const GAME: f32 = 60.0;
const CROWD: usize = 1000;

fn times(data: &Data, clip: usize, count: usize, random: Option<&mut Random>) -> Rc<Vec<f32>> {
    let end = data.duration(clip);
    Rc::new(match random {
        Some(random) => (0..count).map(|_| random.unit() * end).collect(),
        None => (0..count).map(|frame| (frame as f32 / GAME) % end).collect(),
    })
}

/// Forward, and at random times.
fn orders(seed: u64) -> [(&'static str, Option<Random>); 2] {
    [("forward", None), ("random", Some(Random(seed)))]
}

/// One character that walks and jogs, in nanoseconds per frame.
pub(crate) fn characters(data: &Data, entrants: &[Entrant], results: &mut Results) {
    const FRAMES: usize = 240;
    for (order, mut random) in orders(11) {
        let [a, b] = [0, 1].map(|clip| times(data, clip, FRAMES, random.as_mut()));
        let mut group = Group::new(format!("character, {order}"), FRAMES);
        for entrant in entrants.iter().filter(|entrant| !is_variant(entrant, Stage::Palette)) {
            let (a, b, player, form) = (a.clone(), b.clone(), entrant.player.clone(), entrant.form);
            group.add(entrant, move || player.borrow_mut().character(form, [0, 1], [&a, &b]));
        }
        group.time(results);
    }
}

/// Whether no entrant before this one has the same library.
fn is_first(entrants: &[Entrant], at: usize) -> bool {
    !entrants[..at].iter().any(|other| Rc::ptr_eq(&other.player, &entrants[at].player))
}

/// Whether this form differs from the first one of its library in this stage.
fn is_variant(entrant: &Entrant, stage: Stage) -> bool {
    entrant.variant_of == Some(stage)
}

/// Many characters, in nanoseconds per frame of one. Each pass is another frame.
pub(crate) fn crowds(data: &Rc<Data>, entrants: &[Entrant], results: &mut Results) {
    for (order, mut random) in orders(77) {
        let mut group = Group::new(format!("crowd, {order}"), CROWD);
        let cast = Rc::new(RefCell::new(verify::cast(data, CROWD, 3)));
        let (all, clips) = (cast.clone(), data.clone());
        group.before(move || {
            let cast = &mut *all.borrow_mut();
            for (clips_of, times) in cast.clips.iter().zip(&mut cast.times) {
                for (&clip, time) in clips_of.iter().zip(times) {
                    let end = clips.duration(clip as usize);
                    *time = match &mut random {
                        Some(random) => random.unit() * end,
                        None => (*time + 1.0 / GAME) % end,
                    };
                }
            }
        });
        let takes_part =
            |entrant: &&Entrant| entrant.variant_of.is_none() || is_variant(entrant, Stage::Model);
        for entrant in entrants.iter().filter(takes_part) {
            let (cast, player, form) = (cast.clone(), entrant.player.clone(), entrant.form);
            group.add(entrant, move || player.borrow_mut().crowd(form, &cast.borrow()));
        }
        group.time(results);
    }
}

/// One clip, in nanoseconds per joint.
pub(crate) fn sampling(data: &Data, entrants: &[Entrant], results: &mut Results) {
    for (clip, name, count) in [(0, "walk", 160), (3, "15 s", 900)] {
        for (order, mut random) in orders(9) {
            let times = times(data, clip, count, random.as_mut());
            let mut group = Group::new(format!("sample {name}, {order}"), count * data.joints());
            for entrant in entrants.iter().filter(|entrant| entrant.variant_of.is_none()) {
                let (times, player, form) = (times.clone(), entrant.player.clone(), entrant.form);
                group.add(entrant, move || player.borrow_mut().sample(form, clip, &times));
            }
            group.time(results);
        }
    }
}

/// Single stages of one character, in nanoseconds per call.
pub(crate) fn stages(entrants: &[Entrant], results: &mut Results) {
    const CALLS: usize = 200;
    for (stage, name) in [(Stage::Blend, "blend"), (Stage::Model, "model space"), (Stage::Palette, "palette")]
    {
        let mut group = Group::new(name, CALLS);
        for (at, entrant) in entrants.iter().enumerate() {
            // glam's forms differ in the mean too.
            let differs =
                is_variant(entrant, stage) || (entrant.name == GLAM_FRAMES && stage == Stage::Blend);
            if !differs && !is_first(entrants, at) {
                continue;
            }
            entrant.player.borrow_mut().character(entrant.form, [0, 1], [&[0.4], &[0.3]]);
            let (player, form) = (entrant.player.clone(), entrant.form);
            group.add(entrant, move || player.borrow_mut().stage(form, stage, CALLS));
        }
        group.time(results);
    }
}

/// Meshes with four influences per vertex, in nanoseconds per vertex.
pub(crate) fn skinning(data: &Data, entrants: &[Entrant], results: &mut Results) {
    /// Vertices per pass.
    const VERTICES: usize = 40_000;
    for count in [4000, 100_000] {
        let mesh = Mesh::random(count, data.joints());
        let mut skinners = Vec::new();
        for (at, entrant) in entrants.iter().enumerate() {
            let skins = entrant.player.borrow().skins();
            if skins && is_first(entrants, at) {
                entrant.player.borrow_mut().set_mesh(&mesh);
                entrant.player.borrow_mut().character(entrant.form, [0, 1], [&[0.4], &[0.3]]);
                verify::skinning(&mesh, entrant);
                skinners.push(entrant);
            }
        }
        for (attributes, name) in ["P", "P+N", "P+N+T"].into_iter().enumerate() {
            let calls = (VERTICES / count).max(1);
            let mut group = Group::new(format!("skin {count}, {name}"), count * calls);
            for entrant in &skinners {
                let player = entrant.player.clone();
                group.add(entrant, move || player.borrow_mut().skin(attributes, calls));
            }
            group.time(results);
        }
    }
}
