//! Texts and whole numbers of a model as JSON, which JavaScript parses once. Other numbers go in an array, so
//! that the player needs no code to print them.

use condyle_base::problem::Problem;

use crate::character::{Character, Follows};

/// Writer of JSON.
#[derive(Default)]
struct Json(String);

impl Json {
    fn text(&mut self, text: &str) {
        self.0.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => self.0.extend(['\\', c]),
                '\0'..='\x1f' => {
                    let digit = |n: u32| char::from_digit(n, 16).unwrap_or('0');
                    self.0.push_str("\\u00");
                    self.0.extend([digit(c as u32 / 16), digit(c as u32 % 16)]);
                }
                _ => self.0.push(c),
            }
        }
        self.0.push('"');
    }

    fn number(&mut self, number: impl ToString) {
        self.0.push_str(&number.to_string());
    }

    fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.0.push('[');
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.0.push(',');
            }
            write(self, item);
        }
        self.0.push(']');
    }

    fn key(&mut self, name: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.text(name);
        self.0.push(':');
    }

    fn problems(&mut self, problems: &[Problem]) {
        self.key("problems");
        self.list(problems, |json, it| {
            json.list([it.severity.name(), &it.place, &it.what, &it.action], Self::text);
        });
        self.key("counts");
        self.list(problems, |json, it| json.number(it.count));
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Facts of an error about a file.
pub(crate) fn of_problems(problems: &[Problem]) -> String {
    let mut json = Json::default();
    json.problems(problems);
    json.end()
}

/// Facts of an error about a name.
pub(crate) fn of_names(names: &[String]) -> String {
    let mut json = Json::default();
    json.key("names");
    json.list(names, |json, name| json.text(name));
    json.end()
}

/// Texts and whole numbers of a model.
pub(crate) fn of_character(it: &Character) -> String {
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
            Follows::Nothing(_) => (-1, -1),
        };
        let counts = [mesh.vertices, mesh.triangles, mesh.morph_targets].map(|n| n as i64);
        let place = [skin, joint, i64::from(mesh.node), mesh.primitive as i64];
        json.list(place.into_iter().chain(counts).chain([mesh.shown.into()]), Json::number);
    });
    json.problems(&it.problems);
    json.end()
}

/// Texts and whole numbers of the clips of a model.
pub(crate) fn of_clips(it: &Character) -> String {
    let mut json = Json::default();
    let clips = it.clips.borrow();
    json.key("clips");
    json.list(&*clips, |json, clip| json.text(clip.name()));
    json.key("sizes");
    json.list(&*clips, |json, clip| {
        let compressed = i64::from(clip.compressed().is_some());
        let motion = i64::from(clip.compressed().is_some_and(|it| it.has_motion()));
        json.list([compressed, clip.byte_count() as i64, motion], Json::number);
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

/// Other numbers of the clips: start, end, error bound, then the times of the events.
pub(crate) fn numbers_of_clips(it: &Character) -> Vec<f64> {
    let mut numbers = Vec::new();
    for clip in &*it.clips.borrow() {
        let compressed = clip.compressed();
        numbers.extend([clip.start(), clip.end(), compressed.map_or(0.0, |it| it.budget().into())]);
        let count = compressed.map_or(0, |it| it.event_count());
        numbers.extend((0..count).map(|at| compressed.and_then(|it| it.event(at)).map_or(0.0, |it| it.0)));
    }
    numbers
}
