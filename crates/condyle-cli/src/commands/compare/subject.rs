//! One of the two files that are compared: its meshes, its clips, and where its vertices are.

use condyle::NormalRule;
use condyle_gltf::{Asset, Placement, Poser};

use crate::failure::Failure;
use crate::model::Model;
use crate::model::playable::Playable;
use crate::text::printable;

/// A file whose clips move vertices. Parts and clips are counted from 0.
pub(super) trait Subject {
    /// Its name, without control characters.
    fn file(&self) -> &str;

    /// Its meshes.
    fn parts(&self) -> &[Part];

    /// Its clips.
    fn clips(&self) -> &[Clip];

    /// Poses the vertices by a clip, or in the rest pose.
    fn pose(&mut self, clip: Option<usize>, seconds: f32) -> Result<(), Failure>;

    /// Where the vertices of a part are, in world space.
    fn positions(&self, part: usize) -> &[[f32; 3]];
}

/// A primitive of an instance.
pub(super) struct Part {
    /// That of the instance.
    pub(super) name: String,
    /// Its place among the parts of its instance.
    pub(super) primitive: usize,
    pub(super) vertex_count: usize,
    /// The joints of its skin, none without one: the name of each, and the place of its parent in the same
    /// list.
    pub(super) joints: Vec<(String, Option<usize>)>,
}

/// What is known of a clip without playing it.
pub(super) struct Clip {
    pub(super) name: String,
    pub(super) start: f32,
    pub(super) end: f32,
    /// The times of all its keys, rising.
    pub(super) keys: Vec<f32>,
}

impl Clip {
    fn new(clip: &Playable<'_>) -> Self {
        let keys = clip.keys();
        Self { name: clip.name().into(), start: clip.start(), end: clip.end(), keys }
    }
}

/// A model with its clips, authored or compressed.
pub(super) struct Gltf<'a> {
    file: String,
    parts: Vec<Part>,
    /// Instance and primitive of each part.
    places: Vec<(usize, usize)>,
    clips: Vec<Clip>,
    playables: Vec<Playable<'a>>,
    poser: Poser<'a>,
}

impl<'a> Gltf<'a> {
    pub(super) fn new(model: &'a Model) -> Result<Self, Failure> {
        let asset = &model.asset;
        let file = printable(asset.document.name());
        let poser = Poser::new(asset, NormalRule::Plain.into())
            .map_err(|e| Failure::Data(format!("{file}: {e}; reduce the model to what you need")))?;
        let skins: Vec<_> = (0..asset.skins.len()).map(|skin| joints(asset, skin)).collect();
        let (mut parts, mut places) = (Vec::new(), Vec::new());
        for (at, instance) in asset.instances.iter().enumerate() {
            for (primitive, source) in instance.primitives.iter().enumerate() {
                places.push((at, primitive));
                parts.push(Part {
                    name: instance.name.clone(),
                    primitive,
                    vertex_count: source.mesh.vertex_count(),
                    joints: match instance.placement {
                        Placement::Skin(skin) => skins[skin].clone(),
                        Placement::Joint(_) | Placement::Fixed(_) => Vec::new(),
                    },
                });
            }
        }
        let playables = model.clips();
        let clips = playables.iter().map(Clip::new).collect();
        Ok(Self { file, parts, places, clips, playables, poser })
    }
}

/// The joints of a skin. Those between two of them that the skin does not name are passed over.
fn joints(asset: &Asset, skin: usize) -> Vec<(String, Option<usize>)> {
    let (skeleton, joints) = (&asset.skeleton, asset.skins[skin].joints());
    let mut places = vec![None; skeleton.joint_count()];
    for (place, &joint) in joints.iter().enumerate() {
        places[usize::from(joint)].get_or_insert(place);
    }
    // Parents come first, so each finds what stands above its own.
    let mut above = vec![None; skeleton.joint_count()];
    for joint in 0..skeleton.joint_count() {
        let parent = skeleton.parent(joint as u16).map(usize::from);
        above[joint] = parent.and_then(|parent| places[parent].or(above[parent]));
    }
    let of = |&joint: &u16| (skeleton.names()[usize::from(joint)].clone(), above[usize::from(joint)]);
    joints.iter().map(of).collect()
}

impl Subject for Gltf<'_> {
    fn file(&self) -> &str {
        &self.file
    }

    fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn clips(&self) -> &[Clip] {
        &self.clips
    }

    fn pose(&mut self, clip: Option<usize>, seconds: f32) -> Result<(), Failure> {
        let posed = self.poser.pose(clip.map(|clip| &self.playables[clip]), seconds);
        posed.map_err(|e| {
            Failure::Data(format!("{} at {seconds} s: {e}; look at the keys and scales there", self.file))
        })
    }

    fn positions(&self, part: usize) -> &[[f32; 3]] {
        let (instance, primitive) = self.places[part];
        &self.poser.posed(instance)[primitive].positions
    }
}
