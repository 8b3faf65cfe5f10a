//! From a clip to posed vertices, all stages in turn, with buffers that are kept from one moment to the next.

use std::collections::HashSet;
use std::sync::Arc;

use condyle::mesh::{VertexSlices, VertexSlicesMut};
use condyle::sampling::PoseSource;
use condyle::skinning::palette_dual;
use condyle::{
    Affine, Error, NormalRule, Palette, Pose, RawClip, Skin, SkinnedMesh, Vertices, local_to_model, morph,
    palette, skin,
};
use condyle_solve::spring_bones::{SpringState, Tick, springs};

use crate::asset::{Asset, Placement};
use crate::export::PosedScene;
use crate::meshes::Primitive;

/// Bytes that posing may take beyond those of the meshes themselves: a document of a few hundred bytes can
/// show one mesh at a million nodes.
const MOST_ADDED: usize = 64 << 20;

/// How what joints do is blended where a vertex follows several of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Skinning {
    /// By the weighted sum of matrices, as glTF says.
    #[default]
    Linear,
    /// By dual quaternions, which keep the volume of what twists: see [`palette_dual`]. Where influences have
    /// [shares](condyle::Influences::with_dual_shares), by as much.
    DualQuaternion,
}

/// How a [`Poser`] works. Made of a [`NormalRule`] or a [`Skinning`], or by default, and then set.
///
/// ```
/// use condyle::NormalRule;
/// use condyle_gltf::{PoserOptions, Skinning};
///
/// let mut options = PoserOptions::default();
/// assert_eq!(options.skinning, Skinning::Linear);
/// options.normal_rule = NormalRule::Plain;
/// assert_eq!(PoserOptions::from(NormalRule::Plain).normal_rule, options.normal_rule);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PoserOptions {
    /// How normals follow the joints.
    pub normal_rule: NormalRule,
    /// How vertices do that follow several joints.
    pub skinning: Skinning,
}

impl From<NormalRule> for PoserOptions {
    fn from(normal_rule: NormalRule) -> Self {
        Self { normal_rule, ..Self::default() }
    }
}

impl From<Skinning> for PoserOptions {
    fn from(skinning: Skinning) -> Self {
        Self { skinning, ..Self::default() }
    }
}

/// Poses all instances of an asset, one moment after another.
///
/// ```no_run
/// use condyle_gltf::{Asset, Exporter, Poser, PoserOptions};
///
/// let asset = Asset::open("fox.glb")?;
/// let mut poser = Poser::new(&asset, PoserOptions::default())?;
/// poser.pose(asset.clips.first(), 0.5)?;
/// std::fs::write("posed.glb", Exporter::new(&asset)?.glb(&poser.scene())?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Poser<'a> {
    asset: &'a Asset,
    options: PoserOptions,
    pose: Pose,
    model: Vec<Affine>,
    palette: Palette,
    /// The skin of meshes without one: a single joint with an identity for its inverse bind matrix.
    rigid: Skin,
    weights: Vec<f32>,
    /// Of what swings, if anything does.
    springs: Option<SpringState>,
    /// Per instance and primitive, in the space of the mesh; empty where there are no morph targets.
    morphed: Vec<Vec<Vertices>>,
    /// Per instance and primitive, in world space.
    posed: Vec<Vec<Vertices>>,
}

impl<'a> Poser<'a> {
    /// Allocates the buffers that every moment needs.
    ///
    /// # Errors
    /// [`Error::TooMany`] if so many nodes show one mesh that its copies take 64 MiB more than all meshes.
    pub fn new(asset: &'a Asset, options: PoserOptions) -> Result<Self, Error> {
        check_room(asset)?;
        let room = |wanted: fn(&SkinnedMesh) -> bool| -> Vec<Vec<Vertices>> {
            let room = |mesh: &SkinnedMesh| match wanted(mesh) {
                true => Vertices::zeroed_like(mesh.vertices()),
                false => Vertices::default(),
            };
            let instances = asset.instances.iter();
            instances.map(|i| i.primitives.iter().map(|p| room(&p.mesh)).collect()).collect()
        };
        Ok(Self {
            asset,
            options,
            pose: Pose::rest(&asset.skeleton),
            model: vec![Affine::IDENTITY; asset.skeleton.joint_count()],
            palette: Palette::default(),
            rigid: Skin::new(vec![0], vec![Affine::IDENTITY])?,
            weights: Vec::new(),
            springs: asset.springs.as_ref().map(SpringState::new),
            morphed: room(|mesh| !mesh.morph_targets().is_empty()),
            posed: room(|_| true),
        })
    }

    /// Poses everything as `clip` has it at `seconds`, or in the rest pose for `None`. A clip is a
    /// [`RawClip`], a [`Clip`](condyle::Clip), or any other [`PoseSource`]; it holds its first key before its
    /// start and its last one after its end, and callers who want a loop wrap `seconds` themselves. Node
    /// constraints of VRM 1.0 turn joints after that, in the rest pose too: [`Asset::constrain`].
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `seconds` is NaN or infinite, or if a vertex leaves the range of f32; others
    /// if `clip` is not one of the asset's.
    pub fn pose<M: PoseSource + ?Sized>(&mut self, clip: Option<&M>, seconds: f64) -> Result<(), Error> {
        self.sample(clip, seconds)?;
        self.vertices(clip, seconds)
    }

    /// As [`pose`](Self::pose), and what has springs swings since the call of this function before: `tick` says how much time that is, and where the character
    /// goes. Without springs it does what `pose` does. Vertices stay in model space, wherever the character is.
    ///
    /// # Errors
    /// As [`pose`](Self::pose), and those of [`springs`](condyle_solve::spring_bones::springs()).
    ///
    /// ```no_run
    /// use condyle_solve::spring_bones::Tick;
    /// use condyle_gltf::{Asset, Poser, PoserOptions};
    ///
    /// let asset = Asset::open("character.vrm")?;
    /// let mut poser = Poser::new(&asset, PoserOptions::default())?;
    /// for frame in 0..60 {
    ///     poser.swing(asset.clips.first(), f64::from(frame) / 60.0, &Tick::new(1.0 / 60.0))?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn swing<M: PoseSource + ?Sized>(
        &mut self,
        clip: Option<&M>,
        seconds: f64,
        tick: &Tick,
    ) -> Result<(), Error> {
        self.sample(clip, seconds)?;
        if let (Some(all), Some(state)) = (&self.asset.springs, &mut self.springs) {
            springs(&self.asset.skeleton, &self.model, all, tick, state, &mut self.pose)?;
            local_to_model(&self.asset.skeleton, &self.pose, &mut self.model)?;
        }
        self.vertices(clip, seconds)
    }

    /// What swings, to reset it or to take it along; `None` if nothing does.
    pub fn springs_mut(&mut self) -> Option<&mut SpringState> {
        self.springs.as_mut()
    }

    /// The pose, and the joints' matrices.
    fn sample<M: PoseSource + ?Sized>(&mut self, clip: Option<&M>, seconds: f64) -> Result<(), Error> {
        match clip {
            Some(clip) => clip.pose(&self.asset.skeleton, seconds, &mut self.pose)?,
            None => self.pose.clone_from(self.asset.skeleton.rest()),
        }
        self.asset.constrain(&mut self.pose)?;
        local_to_model(&self.asset.skeleton, &self.pose, &mut self.model)
    }

    /// As [`pose`](Self::pose), with the vertices in the caller's memory: one element of `out` for each primitive of each instance, in
    /// their order, such as slices of one array. Normals and tangents are written where both the primitive and the element have
    /// them. [`posed`](Self::posed) and [`scene`](Self::scene) stay as they are.
    ///
    /// # Errors
    /// As [`pose`](Self::pose), and [`Error::Length`] if `out` has another number of elements, or one of them another number of vertices.
    pub fn pose_into<M: PoseSource + ?Sized>(
        &mut self,
        clip: Option<&M>,
        seconds: f64,
        out: &mut [VertexSlicesMut<'_>],
    ) -> Result<(), Error> {
        let needed = self.asset.instances.iter().map(|instance| instance.primitives.len()).sum();
        if out.len() != needed {
            return Err(Error::Length { what: "out", found: out.len(), needed });
        }
        self.sample(clip, seconds)?;
        let mut out = out.iter_mut();
        for (at, instance) in self.asset.instances.iter().enumerate() {
            self.gather(at, clip, seconds)?;
            for (primitive, out) in (0..instance.primitives.len()).zip(&mut out) {
                self.deform(at, primitive, out)?;
            }
        }
        Ok(())
    }

    /// The vertices of the pose.
    fn vertices<M: PoseSource + ?Sized>(&mut self, clip: Option<&M>, seconds: f64) -> Result<(), Error> {
        for (at, instance) in self.asset.instances.iter().enumerate() {
            self.gather(at, clip, seconds)?;
            for primitive in 0..instance.primitives.len() {
                let mut posed = std::mem::take(&mut self.posed[at][primitive]);
                let deformed = self.deform(at, primitive, &mut posed.as_slices_mut());
                self.posed[at][primitive] = posed;
                deformed?;
            }
        }
        Ok(())
    }

    /// What moves an instance: its palette and its morph weights.
    fn gather<M: PoseSource + ?Sized>(
        &mut self,
        at: usize,
        clip: Option<&M>,
        seconds: f64,
    ) -> Result<(), Error> {
        let (asset, rule) = (self.asset, self.options.normal_rule);
        let instance = &asset.instances[at];
        let skin_palette = match self.options.skinning {
            Skinning::Linear => palette,
            Skinning::DualQuaternion => palette_dual,
        };
        match &instance.placement {
            Placement::Skin(s) => skin_palette(&asset.skins[*s], &self.model, rule, &mut self.palette)?,
            Placement::Joint(joint) => {
                let own = std::slice::from_ref(&self.model[usize::from(*joint)]);
                palette(&self.rigid, own, rule, &mut self.palette)?;
            }
            Placement::Fixed(world) => {
                palette(&self.rigid, std::slice::from_ref(world), rule, &mut self.palette)?;
            }
        }
        self.weights.clone_from(&instance.morph_weights);
        if let Some(clip) = clip.filter(|_| !self.weights.is_empty()) {
            clip.weights(instance.node as u32, seconds, &mut self.weights)?;
        }
        Ok(())
    }

    /// The vertices of a primitive, by what was gathered of its instance.
    fn deform(&mut self, at: usize, primitive: usize, out: &mut VertexSlicesMut<'_>) -> Result<(), Error> {
        let mesh = &self.asset.instances[at].primitives[primitive].mesh;
        let mut bind = mesh.vertices();
        if !mesh.morph_targets().is_empty() {
            morph(mesh, &self.weights, self.morphed[at][primitive].as_slices_mut())?;
            bind = &self.morphed[at][primitive];
        }
        let posed = VertexSlicesMut {
            positions: &mut *out.positions,
            normals: &mut *out.normals,
            tangents: &mut *out.tangents,
        };
        skin(mesh.influences(), &self.palette, bind.as_slices(), posed)?;
        check_finite("posed positions", out.positions)?;
        check_finite("posed normals", out.normals)?;
        check_finite("posed tangents", out.tangents)
    }

    /// Poses everything in the rest pose.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a vertex leaves the range of f32.
    pub fn rest(&mut self) -> Result<(), Error> {
        self.pose::<RawClip>(None, 0.0)
    }

    /// The local transforms of the joints.
    #[must_use]
    pub fn local(&self) -> &Pose {
        &self.pose
    }

    /// The model matrix of each joint of the skeleton.
    #[must_use]
    pub fn model(&self) -> &[Affine] {
        &self.model
    }

    /// The vertices of each primitive of an instance, in world space.
    ///
    /// # Panics
    /// If the asset has no such instance.
    #[must_use]
    pub fn posed(&self, instance: usize) -> &[Vertices] {
        &self.posed[instance]
    }

    /// The posed scene, as an [`Exporter`](crate::Exporter) takes it.
    #[must_use]
    pub fn scene(&self) -> PosedScene<'_> {
        let instances = self.asset.instances.iter().zip(&self.posed).zip(&self.morphed);
        PosedScene {
            pose: &self.pose,
            instances: instances
                .map(|((instance, posed), morphed)| {
                    let skinned = matches!(instance.placement, Placement::Skin(_));
                    let meshes = instance.primitives.iter().map(|p| p.mesh.vertices());
                    meshes
                        .zip(posed)
                        .zip(morphed)
                        .map(|((bind, posed), morphed)| match () {
                            () if skinned => posed,
                            () if morphed.positions.is_empty() => bind,
                            () => morphed,
                        })
                        .map(Vertices::as_slices)
                        .collect::<Vec<VertexSlices<'_>>>()
                })
                .collect(),
        }
    }
}

fn check_finite<const N: usize>(what: &'static str, vectors: &[[f32; N]]) -> Result<(), Error> {
    let broken = vectors.iter().position(|v| !v.iter().all(|x| x.is_finite()));
    broken.map_or(Ok(()), |at| Err(Error::NotFinite { what, at }))
}

/// Every instance has vertex buffers of its own, twice if it has morph targets.
fn check_room(asset: &Asset) -> Result<(), Error> {
    let mut seen = HashSet::new();
    let (mut room, mut meshes) = (0_usize, 0_usize);
    for Primitive { mesh, .. } in asset.instances.iter().flat_map(|instance| &instance.primitives) {
        let own = vertex_bytes(mesh);
        let times = if mesh.morph_targets().is_empty() { 1 } else { 2 };
        room = room.saturating_add(own.saturating_mul(times) + 2 * size_of::<Vertices>());
        if seen.insert(Arc::as_ptr(mesh)) {
            meshes = meshes.saturating_add(own);
        }
    }
    let limit = meshes.saturating_add(MOST_ADDED);
    match room <= limit {
        true => Ok(()),
        false => {
            Err(Error::TooMany { what: "the byte buffer for posed copies of meshes", found: room, limit })
        }
    }
}

fn vertex_bytes(mesh: &SkinnedMesh) -> usize {
    let Vertices { positions, normals, tangents } = mesh.vertices();
    size_of_val(&**positions) + size_of_val(&**normals) + size_of_val(&**tangents)
}
