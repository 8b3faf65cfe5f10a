//! Meshes of a model, and their posed vertices.

use std::rc::Rc;

use condyle::skinning::palette_dual;
use condyle::{NormalRule, SkinnedMesh, Vertices, morph, palette, skin as skinned};
use condyle_base::error::Error;
use condyle_query::hits::TriangleTree;
use wasm_bindgen::prelude::*;

use super::body::{Body, Posed};
use crate::character::{Character, Model};
use crate::fault::Fault;
use crate::pose::Pose;

/// Bytes of posed vertices of a pose, at most: a file of a few hundred bytes can show one mesh on a million
/// nodes.
const MOST: usize = 1 << 28;

impl Pose {
    /// Computes the vertices of a mesh, unless they are up to date.
    pub(crate) fn skinned(&mut self, mesh: usize) -> Result<(), Fault> {
        self.finish()?;
        let it = &*self.character;
        let count = it.meshes.len();
        let part = it.meshes.get(mesh).ok_or_else(|| Fault::missing("mesh", mesh, count))?;
        let source = &*part.mesh.mesh;
        let all: usize = self.body.parts.iter().map(|it| it.vertices.positions.len()).sum();
        let Body { parts, palette: matrices, now, is_dual, .. } = &mut self.body;
        let posed = &mut parts[mesh];
        if posed.of == *now {
            return Ok(());
        }
        if posed.vertices.positions.len() != part.mesh.vertices() {
            let (found, limit) = ((all + part.mesh.vertices()).saturating_mul(24), MOST);
            if found > limit {
                let what = "bytes of posed vertices";
                return Err(Error::TooMany { what, found, limit }.into());
            }
            posed.vertices = Vertices::zeroed_like(source.vertices());
        }
        let (skin, model, rule) = (&part.mesh.skin, part.matrices(&self.model), NormalRule::default());
        match *is_dual {
            true => palette_dual(skin, model, rule, matrices)?,
            false => palette(skin, model, rule, matrices)?,
        }
        let mut bind = source.vertices();
        if part.mesh.morph_targets() > 0 {
            if posed.morphed.positions.is_empty() {
                posed.morphed = Vertices::zeroed_like(bind);
            }
            morph(source, &posed.weights, posed.morphed.as_slices_mut())?;
            bind = &posed.morphed;
        }
        skinned(source.influences(), matrices, bind.as_slices(), posed.vertices.as_slices_mut())?;
        let numbers = posed.vertices.positions.as_flattened();
        // A loop without a branch, because this crate is compiled for size.
        let largest = numbers.iter().fold(0, |largest, it| (it.to_bits() & !(1 << 31)).max(largest));
        if largest >= f32::INFINITY.to_bits() {
            Error::check_finite("posed positions", numbers, 3)?;
        }
        posed.of = *now;
        Ok(())
    }

    pub(crate) fn positions(&self, mesh: usize) -> &[[f32; 3]] {
        &self.body.parts[mesh].vertices.positions
    }

    /// Triangles of a mesh in this pose.
    pub(crate) fn tree(&mut self, mesh: usize) -> Result<&TriangleTree, Fault> {
        self.skinned(mesh)?;
        let it = &self.character.meshes[mesh];
        let now = self.body.now;
        let Posed { tree, tree_of, vertices, .. } = &mut self.body.parts[mesh];
        let found = match tree {
            Some(found) => found,
            None => tree.insert(TriangleTree::of_mesh(&it.mesh.mesh)?),
        };
        if *tree_of != now {
            found.refit(&vertices.positions)?;
            *tree_of = now;
        }
        Ok(found)
    }

    /// Distances of all shown vertices from those of another pose. Returns the largest, with its mesh and
    /// vertex.
    pub(crate) fn differences(&mut self, other: &mut Self) -> Result<(f32, usize, usize), Fault> {
        other.joints_for(&self.character)?;
        let mut worst = (-1.0, 0, 0);
        for mesh in 0..self.character.meshes.len() {
            self.skinned(mesh)?;
            other.skinned(mesh)?;
            let own = &mut self.body.parts[mesh];
            let pairs = own.vertices.positions.iter().zip(other.positions(mesh));
            let distance = |(a, b): (&[f32; 3], &[f32; 3])| {
                let [x, y, z] = [0, 1, 2].map(|axis| a[axis] - b[axis]);
                (x * x + y * y + z * z).sqrt()
            };
            own.differences.clear();
            own.differences.extend(pairs.map(distance));
            if self.character.meshes[mesh].shown {
                for (vertex, &found) in own.differences.iter().enumerate() {
                    if found > worst.0 {
                        worst = (found, mesh, vertex);
                    }
                }
            }
        }
        Ok((worst.0.max(0.0), worst.1, worst.2))
    }
}

#[wasm_bindgen]
impl Pose {
    /// Selects linear or dual-quaternion skinning.
    pub fn set_dual(&mut self, is_dual: bool) {
        self.body.is_dual = is_dual;
        self.body.moved();
    }

    /// Computes the vertices of a mesh, and returns the address of the positions, or 0 for an error.
    pub fn skin(&mut self, mesh: usize) -> usize {
        let result = self.skinned(mesh);
        if self.kept.keep(result) { 0 } else { self.positions(mesh).as_ptr() as usize }
    }

    /// Address of the normals after `skin`.
    pub fn normals(&self, mesh: usize) -> usize {
        self.body.parts.get(mesh).map_or(0, |it| it.vertices.normals.as_ptr() as usize)
    }

    /// Number of normals after `skin`.
    pub fn normal_count(&self, mesh: usize) -> usize {
        self.body.parts.get(mesh).map_or(0, |it| it.vertices.normals.len())
    }

    /// Address of the weights of the morph targets, or 0 for a mesh that does not exist.
    pub fn morphs(&self, mesh: usize) -> usize {
        self.body.parts.get(mesh).map_or(0, |it| it.weights.as_ptr() as usize)
    }

    /// Computes the distances from another pose: the largest, its mesh and its vertex are in `out`.
    pub fn errors(&mut self, other: &mut Self) -> bool {
        let result = self.differences(other).map(|(largest, mesh, vertex)| {
            self.body.out.clear();
            self.body.out.extend([f64::from(largest), mesh as f64, vertex as f64]);
        });
        self.kept.keep(result)
    }

    /// Address of the distances of a mesh after `errors`.
    pub fn differences_of(&self, mesh: usize) -> usize {
        self.body.parts.get(mesh).map_or(0, |it| it.differences.as_ptr() as usize)
    }

    /// Address of the numbers of the last result.
    pub fn out(&self) -> usize {
        self.body.out.as_ptr() as usize
    }
}

/// Vertices of a mesh in the bind pose.
#[wasm_bindgen]
pub struct Geometry(Rc<Character>, usize);

#[wasm_bindgen]
impl Geometry {
    /// Finds a mesh.
    #[wasm_bindgen(constructor)]
    pub fn new(model: &Model, mesh: usize) -> Result<Geometry, JsValue> {
        let count = model.0.meshes.len();
        match mesh < count {
            true => Ok(Self(Rc::clone(&model.0), mesh)),
            false => Err(Fault::missing("mesh", mesh, count).into()),
        }
    }

    /// Positions.
    pub fn positions(&self) -> Vec<f32> {
        self.source().vertices().positions.as_flattened().to_vec()
    }

    /// Normals, or none.
    pub fn normals(&self) -> Vec<f32> {
        self.source().vertices().normals.as_flattened().to_vec()
    }

    /// Vertices of the triangles.
    pub fn indices(&self) -> Vec<u32> {
        self.source().indices().to_vec()
    }

    /// Palette indices, four for each vertex.
    pub fn skin_indices(&self) -> Result<Vec<u16>, JsValue> {
        Ok(self.packed()?.0)
    }

    /// Weights that sum to 255, four for each vertex.
    pub fn skin_weights(&self) -> Result<Vec<u8>, JsValue> {
        Ok(self.packed()?.1)
    }

    fn source(&self) -> &SkinnedMesh {
        &self.0.meshes[self.1].mesh.mesh
    }

    fn packed(&self) -> Result<(Vec<u16>, Vec<u8>), Fault> {
        let influences = self.source().influences();
        let (mut joints, mut weights) =
            (vec![[0_u16; 4]; influences.vertex_count()], vec![[0_u8; 4]; influences.vertex_count()]);
        influences.pack(&mut joints, &mut weights)?;
        Ok((joints.into_flattened(), weights.into_flattened()))
    }
}

/// Counter of the moments at which a clip is looked at for bounds.
const MOMENTS: usize = 64;

#[wasm_bindgen]
impl Model {
    /// Changes the metres per unit.
    pub fn set_unit(&self, metres: f64) -> Result<(), JsValue> {
        if let Some(asset) = &mut *self.0.asset.borrow_mut() {
            asset.set_unit(metres).map_err(Fault::from)?;
        } else if !(metres > 0.0 && metres.is_finite()) {
            let needed = "a finite number above 0";
            return Err(Fault::from(Error::OutOfRange { what: "unit", at: 0, needed }).into());
        }
        self.0.unit.set(Some(metres));
        Ok(())
    }

    /// Rotation and translation of a clip with root motion between two times.
    pub fn motion(&self, clip: f64, from: f64, to: f64, wrap: bool) -> Result<Vec<f64>, JsValue> {
        Ok(self.moved(clip, from, to, wrap)?)
    }

    /// Whether the file has spring bones.
    pub fn has_springs(&self) -> bool {
        self.0.asset.borrow().as_ref().is_some_and(|asset| asset.springs.is_some())
    }

    /// Box around the shown meshes in a clip, or in the rest pose: its minimum and maximum. Empty without
    /// meshes and joints.
    pub fn bounds(&self, clip: Option<f64>) -> Result<Vec<f32>, JsValue> {
        let mut pose = Pose::of(&self.0);
        let mut all = condyle_query::bounds::Aabb::EMPTY;
        match clip {
            None => all = pose.bounding_box()?,
            Some(clip) => {
                let (start, end) = {
                    let clips = self.0.clips.borrow();
                    let clip = crate::character::clip_at(&clips, clip)?;
                    (clip.start(), clip.end())
                };
                for at in 0..=MOMENTS {
                    pose.sampled(clip, start + (end - start) * at as f64 / MOMENTS as f64)?;
                    all = all.union(pose.bounding_box()?);
                }
            }
        }
        Ok(if all.is_empty() { Vec::new() } else { [all.min, all.max].concat() })
    }
}

impl Model {
    fn moved(&self, clip: f64, from: f64, to: f64, wrap: bool) -> Result<Vec<f64>, Fault> {
        let clips = self.0.clips.borrow();
        let clip = crate::character::clip_at(&clips, clip)?;
        let moved = match clip.compressed() {
            Some(clip) => clip.motion_over(super::looping(wrap), from, to)?,
            None => condyle::math::Rigid::IDENTITY,
        };
        Ok(moved.rotation.into_iter().chain(moved.translation).collect())
    }
}
