//! Arrays of numbers that `condyle skin` writes: the attributes of primitives, and the joints.

use std::path::PathBuf;

use condyle_gltf::{Asset, Poser};

use super::Playing;
use super::local::{NUMBERS, numbers};
use super::npy::{write_header, write_numbers};
use crate::failure::Failure;
use crate::output::{Draft, Written, draft, keep_all, progress};

/// One array file.
pub(super) enum Array {
    /// An attribute of a primitive; `primitive` is an index in the instance.
    Vertices {
        instance: usize,
        primitive: usize,
        attribute: Attribute,
    },
    Joints,
    /// Local transforms.
    Local,
}

#[derive(Clone, Copy)]
pub(super) enum Attribute {
    Position,
    Normal,
    Tangent,
}

/// Maximum number of files open together; for more arrays, the clip is posed again.
const MOST_OPEN: usize = 200;

/// Returns all attributes of the meshes, and the joints if requested. The error names the missing data.
pub(super) fn of(asset: &Asset, joints: bool, local: bool) -> Result<Vec<Array>, &'static str> {
    let mut arrays = Vec::new();
    for (instance, source) in asset.instances.iter().enumerate() {
        for (primitive, source) in source.primitives.iter().enumerate() {
            let bind = source.mesh.vertices();
            let there = [
                (Attribute::Position, true),
                (Attribute::Normal, !bind.normals.is_empty()),
                (Attribute::Tangent, !bind.tangents.is_empty()),
            ];
            let there = there.into_iter().filter(|(_, there)| *there);
            arrays.extend(there.map(|(attribute, _)| Array::Vertices { instance, primitive, attribute }));
        }
    }
    if (joints || local) && asset.skeleton.joint_count() == 0 {
        return Err("joints");
    }
    arrays.extend(joints.then_some(Array::Joints));
    arrays.extend(local.then_some(Array::Local));
    if arrays.is_empty() { Err("meshes") } else { Ok(arrays) }
}

impl Array {
    /// Returns the part of the file name that distinguishes the array.
    pub(super) fn name(&self, asset: &Asset) -> String {
        let &Self::Vertices { instance, primitive, attribute } = self else {
            return if matches!(self, Self::Local) { "local" } else { "joints" }.into();
        };
        let instance = &asset.instances[instance];
        let attribute = match attribute {
            Attribute::Position => "position",
            Attribute::Normal => "normal",
            Attribute::Tangent => "tangent",
        };
        format!("node{}.primitive{}.{attribute}", instance.node, instance.primitives[primitive].index)
    }

    /// Returns the shape for one moment, or for `frames` frames.
    pub(super) fn shape(&self, asset: &Asset, frames: Option<usize>) -> Vec<usize> {
        let rest = match self {
            Self::Joints => vec![asset.skeleton.joint_count(), 3, 4],
            Self::Local => vec![asset.skeleton.joint_count(), NUMBERS],
            Self::Vertices { instance, primitive, attribute } => {
                let count = asset.instances[*instance].primitives[*primitive].mesh.vertex_count();
                vec![count, if matches!(attribute, Attribute::Tangent) { 4 } else { 3 }]
            }
        };
        frames.into_iter().chain(rest).collect()
    }

    /// Appends the pose of the poser.
    fn append(&self, poser: &Poser<'_>, draft: &mut Draft) -> Result<(), Failure> {
        let appended = draft.append(|out| match self {
            Self::Joints => {
                poser.model().iter().try_for_each(|matrix| write_numbers(out, matrix.rows.as_flattened()))
            }
            Self::Local => poser.local().transforms().try_for_each(|t| write_numbers(out, &numbers(&t))),
            Self::Vertices { instance, primitive, attribute } => {
                let vertices = &poser.posed(*instance)[*primitive];
                match attribute {
                    Attribute::Position => write_numbers(out, vertices.positions.as_flattened()),
                    Attribute::Normal => write_numbers(out, vertices.normals.as_flattened()),
                    Attribute::Tangent => write_numbers(out, vertices.tangents.as_flattened()),
                }
            }
        });
        Ok(appended?)
    }
}

/// Writes all moments of each array to its file: all files or none. Only one moment is in memory at a time.
pub(super) fn write(
    playing: &mut Playing<'_>,
    arrays: &[Array],
    shapes: &[Vec<usize>],
    names: Vec<PathBuf>,
) -> Result<Vec<Written>, Failure> {
    let all: Vec<_> = arrays.iter().zip(shapes).zip(names).collect();
    let bar = progress(playing.moments.len() * all.len().div_ceil(MOST_OPEN), "posing");
    let mut finished = Vec::new();
    for part in all.chunks(MOST_OPEN) {
        let mut drafts = Vec::new();
        for ((array, shape), name) in part {
            let mut draft = draft(name.clone())?;
            draft.append(|out| write_header(out, shape))?;
            drafts.push((array, draft));
        }
        for moment in 0..playing.moments.len() {
            playing.pose(moment)?;
            drafts.iter_mut().try_for_each(|(array, draft)| array.append(&playing.poser, draft))?;
            bar.inc(1);
        }
        for (_, draft) in drafts {
            finished.push(draft.finish()?);
        }
    }
    bar.finish_and_clear();
    keep_all(finished)
}
