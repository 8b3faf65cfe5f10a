//! The models that subcommands read.

pub(crate) mod container;
pub(crate) mod document;
pub(crate) mod entries;
pub(crate) mod humanoid;
pub(crate) mod limits;
pub(crate) mod playable;
pub(crate) mod problems;
pub(crate) mod written;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use condyle::RawClip;
use condyle_body::BodyModel;
use condyle_gltf::{Asset, Extent};
use condyle_io::Person;
use condyle_io::distinct;

use self::container::{PackedClip, is_container};
use self::playable::Playable;
use crate::failure::{Failure, too_large};
use crate::options::quantity::Length;
use crate::options::space::Space;
use crate::output::warn;
use crate::text::{path_text, printable};

/// A model with its clips.
pub(crate) struct Model {
    /// The asset. If the clips are compressed, it has no clips.
    pub(crate) asset: Asset,
    /// Canonical paths of the files it was read from, none of which may be overwritten.
    pub(crate) sources: BTreeSet<PathBuf>,
    packed: Vec<PackedClip>,
    /// Whether the repairs of its files were reported already, as with --onto.
    pub(crate) is_reported: bool,
}

impl AsRef<Self> for Model {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// A model with its metres per unit.
impl AsRef<Model> for (Model, f64) {
    fn as_ref(&self) -> &Model {
        &self.0
    }
}

impl Model {
    /// Returns all clips, in file order.
    pub(crate) fn clips(&self) -> Vec<Playable<'_>> {
        let raw = self.asset.clips.iter().map(Playable::new);
        raw.chain(self.packed.iter().map(|it| Playable::new(it.any()))).collect()
    }

    /// Returns the compressed clips of a container, in file order.
    pub(crate) fn packed(&self) -> &[PackedClip] {
        &self.packed
    }

    /// Returns the metres per unit; 1 if neither the file nor the command states them.
    pub(crate) fn metres(&self) -> f64 {
        self.asset.unit().unwrap_or(1.0)
    }

    /// Returns the size along the axes; without vertices, that of the joints in the first frame of the first
    /// clip.
    pub(crate) fn extent(&self) -> Result<Extent, condyle::Error> {
        match self.packed.first() {
            Some(first) => self.asset.extent_in(Some(&first.clip)),
            None => self.asset.extent(),
        }
    }

    /// Scales the model to a height, if one is given, and returns the metres per unit.
    pub(crate) fn scaled(
        &mut self,
        path: &Path,
        space: Space,
        height: Option<Length>,
    ) -> Result<f64, Failure> {
        let metres = document::metres_of(path, self.extent(), self.asset.unit(), space, height)?;
        if height.is_some() {
            self.asset.set_unit(metres).map_err(|e| too_large(&path_text(path), &e))?;
        }
        Ok(metres)
    }

    /// Returns all clips, for a comparison with those of another model.
    pub(crate) fn compared(&self) -> Vec<condyle_io::compare::Clip<'_>> {
        use condyle_io::compare::Clip;
        let raw = self.asset.clips.iter().map(Clip::new);
        let packed = self.packed.iter().map(|it| Clip::new(it.any()).within(it.shell));
        raw.chain(packed).collect()
    }
}

/// The wanted model of a container with several.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chosen<'a> {
    /// Its name.
    pub(crate) model: Option<&'a str>,
    /// Name of one of its clips, if its own name is not given.
    pub(crate) clip: Option<&'a str>,
}

/// Opens a document or a container; `which` names one of several models in a container.
///
/// With `onto`, the clips are played on that model, and `space` describes the motion. With `json`, an
/// unusable document is also described on standard output, as by `check`.
pub(crate) fn open(
    path: &Path,
    which: Chosen<'_>,
    onto: Option<&Path>,
    space: Space,
    json: bool,
) -> Result<Model, Failure> {
    if let Some(onto) = onto {
        let (asset, sources) = open_onto(&[path.to_path_buf()], onto, space, None, json)?;
        return Ok(Model { asset, sources, packed: Vec::new(), is_reported: true });
    }
    let options = condyle_io::Options {
        model: which.model,
        clip: which.clip,
        unit: space.metres(),
        z_up: space.is_z_up(),
        ..Default::default()
    };
    let mut model = document::read(path, &options, json)?;
    let mut sources = std::mem::take(&mut model.files);
    let (asset, compressed) = document::into_asset(path, model)?;
    sources.extend(document::sources(path, Some(&asset.document)));
    let packed = compressed.into_iter().filter_map(PackedClip::of).collect();
    Ok(Model { asset, sources, packed, is_reported: false })
}

/// Opens a body model in the layout of the SMPL family.
pub(crate) fn body_model(path: &Path) -> Result<BodyModel, Failure> {
    BodyModel::open(path).map_err(|refused| Failure::Data(refused.to_string()))
}

/// Opens the motion of a person, a .npz in AMASS's layout, on the skeleton of that person.
pub(crate) fn open_person(path: &Path, body: &BodyModel, space: Space) -> Result<Model, Failure> {
    let person = Some(Person::Of(body));
    let options = condyle_io::Options { person, z_up: space.is_z_up(), ..Default::default() };
    let mut model = document::read(path, &options, false)?;
    let sources = std::mem::take(&mut model.files);
    let (asset, _) = document::into_asset(path, model)?;
    Ok(Model { asset, sources, packed: Vec::new(), is_reported: false })
}

/// Like [`open`], scaled to a height if one is given; also returns the metres per unit. With `onto`,
/// `height` describes this model.
pub(crate) fn open_scaled(
    path: &Path,
    which: Chosen<'_>,
    onto: Option<&Path>,
    space: Space,
    height: Option<Length>,
    json: bool,
) -> Result<(Model, f64), Failure> {
    let (mut model, space, height) = match onto {
        // The model is scaled before the clips are converted to its unit.
        Some(onto) => {
            let (asset, sources) = open_onto(&[path.to_path_buf()], onto, space, height, json)?;
            (Model { asset, sources, packed: Vec::new(), is_reported: true }, Space::AS_IN_FILE, None)
        }
        None => (open(path, which, None, space, json)?, space, height),
    };
    let metres = model.scaled(path, space, height)?;
    Ok((model, metres))
}

/// Opens the model `onto` with the clips of the motions in place of the clips it has, and returns it with the
/// files that were read.
///
/// Joints and morph targets are matched by name. If `space` gives the unit of the motions, their lengths are
/// converted to the unit of the model, which `height` may determine. Clips without a name, or with a name
/// that occurs in several files, are named after their file. A number is added where a name is still not
/// unique.
pub(crate) fn open_onto(
    motions: &[PathBuf],
    onto: &Path,
    space: Space,
    height: Option<Length>,
    json: bool,
) -> Result<(Asset, BTreeSet<PathBuf>), Failure> {
    if let Some(path) = motions.iter().map(PathBuf::as_path).chain([onto]).find(|path| is_container(path)) {
        return Err(Failure::Usage(format!(
            "{} is compressed already, for the skeleton that it holds; give the files that it was encoded from",
            path_text(path)
        )));
    }
    let mut asset = document::open(onto, Space::AS_IN_FILE, json)?;
    // The clips of the model itself are not played.
    asset.clips.clear();
    document::warn_of_repairs(onto, &asset);
    if height.is_some() {
        document::metres_per_unit(onto, &mut asset, Space::AS_IN_FILE, height)?;
    }
    if let (Some(unit), None) = (space.unit, asset.unit()) {
        let metres = unit.metres;
        warn(
            onto,
            &format!(
                "its unit is unknown and assumed to be 1 m: lengths of the motion are multiplied by {metres}"
            ),
        );
    }
    let mut sources = document::sources(onto, Some(&asset.document));
    let mut named = Vec::new();
    for (file, path) in motions.iter().enumerate() {
        let mut motion = document::open(path, space, json)?;
        let factor = motion.unit().map_or(1.0, |unit| unit / asset.unit().unwrap_or(1.0));
        let scaled = motion.clips.iter().map(|clip| clip.scaled(factor));
        motion.clips = scaled.collect::<Result<_, _>>().map_err(|e| too_large(&path_text(path), &e))?;
        document::warn_of_repairs(path, &motion);
        sources.extend(document::sources(path, Some(&motion.document)));
        let (clips, problems) = asset.clips_of(&motion).map_err(|e| too_large(&path_text(path), &e))?;
        problems.iter().for_each(|problem| warn(path, &problem.to_string()));
        let tracks = |clips: &[RawClip]| clips.iter().map(|clip| clip.tracks().len()).sum::<usize>();
        if tracks(&clips) == 0 && tracks(&motion.clips) > 0 {
            return Err(Failure::Data(format!(
                "{}: it moves no joint of {}; compare the joint names with `condyle info`",
                path_text(path),
                path_text(onto)
            )));
        }
        named.extend(clips.into_iter().map(|clip| (file, clip)));
    }
    let mut count = vec![0; motions.len()];
    named.iter().for_each(|(file, _)| count[*file] += 1);
    let mut files_of: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    for (file, clip) in &named {
        files_of.entry(clip.name()).or_default().insert(*file);
    }
    let name = |(file, clip): &(usize, RawClip)| {
        let stem = motions[*file].file_stem().unwrap_or_default().to_string_lossy();
        match (clip.name(), count[*file]) {
            (own, _) if !own.is_empty() && files_of[own].len() == 1 => own.to_owned(),
            (_, 1) => stem.into_owned(),
            (own, _) => format!("{stem}/{own}"),
        }
    };
    let mut names: Vec<String> = named.iter().map(name).collect();
    for at in distinct(&mut names) {
        let ((file, clip), name) = (&named[at], printable(&names[at]));
        warn(
            &motions[*file],
            &format!("its clip {} is renamed to {name}, to make the name unique", printable(clip.name())),
        );
    }
    asset.clips = named.into_iter().zip(names).map(|((_, clip), name)| clip.with_name(name)).collect();
    Ok((asset, sources))
}
