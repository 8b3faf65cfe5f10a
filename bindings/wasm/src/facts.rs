//! Names, counts and times of a model and its clips, for JavaScript.

use wasm_bindgen::prelude::*;

use crate::character::{Character, Model};
use crate::json::Json;
use crate::part::Follows;

#[wasm_bindgen]
impl Model {
    /// Texts and whole numbers as JSON.
    pub fn facts(&self) -> String {
        of_character(&self.0)
    }

    /// Texts and whole numbers of the clips as JSON.
    pub fn clips(&self) -> String {
        of_clips(&self.0)
    }

    /// Other numbers of the clips.
    pub fn clip_numbers(&self) -> Vec<f64> {
        numbers_of_clips(&self.0)
    }
}

/// Texts and whole numbers of a model.
fn of_character(it: &Character) -> String {
    let mut json = Json::default();
    json.key("name");
    json.text(&it.name);
    json.key("names");
    json.list(it.skeleton.names(), |json, name| json.text(name));
    json.key("parents");
    json.list(0..it.skeleton.joint_count(), |json, joint| {
        json.number(it.skeleton.parent(joint as u16).map_or(-1, i32::from));
    });
    json.key("nodes");
    json.list(0..it.skeleton.joint_count(), |json, joint| {
        json.number(it.skeleton.node(joint as u16).map_or(-1, i64::from));
    });
    json.key("skins");
    json.list(&it.skins, |json, skin| json.list(skin.joints(), Json::number));
    json.key("meshes");
    json.list(&it.meshes, |json, mesh| json.text(&mesh.name));
    json.key("parts");
    json.list(&it.meshes, |json, mesh| {
        let (skin, joint) = match mesh.follows {
            Follows::Skin(skin) => (skin as i64, -1),
            Follows::Joint(joint) => (-1, i64::from(joint)),
            Follows::Nothing => (-1, -1),
        };
        let source = &mesh.mesh;
        let counts = [source.vertices(), source.triangles(), source.morph_targets()].map(|n| n as i64);
        let place = [skin, joint, i64::from(mesh.node), mesh.primitive as i64];
        json.list(place.into_iter().chain(counts).chain([mesh.shown.into()]), Json::number);
    });
    json.problems(&it.problems);
    if let Some(place) = it.document {
        json.key("document");
        json.list(place, Json::number);
    }
    json.end()
}

/// Texts and whole numbers of the clips of a model.
fn of_clips(it: &Character) -> String {
    let mut json = Json::default();
    let clips = it.clips.borrow();
    json.key("clips");
    json.list(&*clips, |json, clip| json.text(clip.name()));
    json.key("sizes");
    json.list(&*clips, |json, clip| {
        let compressed = i64::from(clip.compressed().is_some());
        let motion = i64::from(clip.compressed().is_some_and(|it| it.has_motion()));
        let unpacked = clip.is_unpacked().into();
        json.list([compressed, clip.byte_count() as i64, motion, unpacked], Json::number);
    });
    json.key("events");
    json.list(&*clips, |json, clip| {
        let count = clip.compressed().map_or(0, |it| it.event_count());
        json.list(0..count, |json, at| {
            json.text(clip.compressed().and_then(|it| it.event(at)).map_or("", |(_, name)| name));
        });
    });
    json.end()
}

/// Other numbers of the clips: start, end, error bound, then the times of the events, then rate, error bounds
/// and bytes of the frames.
fn numbers_of_clips(it: &Character) -> Vec<f64> {
    let mut numbers = Vec::new();
    for clip in &*it.clips.borrow() {
        let compressed = clip.compressed();
        numbers.extend([clip.start(), clip.end(), compressed.map_or(0.0, |it| it.budget().into())]);
        let count = compressed.map_or(0, |it| it.event_count());
        numbers.extend((0..count).map(|at| compressed.and_then(|it| it.event(at)).map_or(0.0, |it| it.0)));
        numbers.extend(clip.frame_numbers().into_iter().flatten());
    }
    numbers
}
