//! Runs all stages from a clip to posed vertices, with buffers that are reused for each pose.

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

/// Limit on the bytes for posing in addition to the meshes themselves. A document of a few hundred bytes can
/// show one mesh on a million nodes.
const MOST_ADDED: usize = 64 << 20;

/// Blending method for a vertex that follows several joints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Skinning {
    /// Weighted sum of matrices, as glTF defines it.
    #[default]
    Linear,
    /// Dual quaternions, which keep the volume of twisting limbs: see [`palette_dual`]. If influences have
    /// [shares](condyle::Influences::with_dual_shares), the shares blend between this and linear skinning.
    DualQuaternion,
}

/// Options of a [`Poser`]. Start from a [`NormalRule`], a [`Skinning`] or the default, then set the fields.
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
    /// Transformation of normals.
    pub normal_rule: NormalRule,
    /// Blending method for vertices that follow several joints.
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

/// Poses all instances of an asset, one pose after another.
///
/// To skin a pose that your code has changed, for example by `feet` of `condyle-solve`, pass a [`PoseSource`]
/// whose `pose` copies it and whose `weights` does nothing.
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
    /// Skin for meshes without one: a single joint with an identity inverse bind matrix.
    rigid: Skin,
    weights: Vec<f32>,
    /// State of the springs; `None` if the asset has no springs.
    springs: Option<SpringState>,
    /// Morphed vertices in mesh space, by instance and primitive; empty without morph targets.
    morphed: Vec<Vec<Vertices>>,
    /// Posed vertices in world space, by instance and primitive.
    posed: Vec<Vec<Vertices>>,
}

impl<'a> Poser<'a> {
    /// Allocates the buffers that are reused for each pose.
    ///
    /// # Errors
    /// [`Error::TooMany`] if many nodes share one mesh, so that the posed copies take over 64 MiB more than
    /// all meshes.
    pub fn new(asset: &'a Asset, options: PoserOptions) -> Result<Self, Error> {
        check_room(asset)?;
        let room = |wanted: fn(&SkinnedMesh) -> bool| -> Vec<Vec<Vertices>> {
            let room = |mesh: &SkinnedMesh| {
                if wanted(mesh) { Vertices::zeroed_like(mesh.vertices()) } else { Vertices::default() }
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

    /// Poses all instances with `clip` at `seconds`, or in the rest pose if `clip` is `None`.
    ///
    /// A clip is a [`RawClip`], a [`Clip`](condyle::Clip) or any other [`PoseSource`]. It holds its first key
    /// before its start and its last key after its end; to loop, wrap `seconds` yourself. The node
    /// constraints of VRM 1.0 are applied afterwards, in the rest pose too: see [`Asset::constrain`].
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `seconds` is NaN or infinite, or if a vertex leaves the range of f32. Other
    /// errors if `clip` was not made for this asset.
    pub fn pose<M: PoseSource + ?Sized>(&mut self, clip: Option<&M>, seconds: f64) -> Result<(), Error> {
        self.sample(clip, seconds)?;
        self.vertices(clip, seconds)
    }

    /// Like [`pose`](Self::pose), and also simulates the springs from the previous call of `swing` to this
    /// one.
    ///
    /// `tick` holds the elapsed time and the movement of the character. Without springs, this is the same as
    /// `pose`. Vertices stay in model space, even if the character moves.
    ///
    /// # Errors
    /// The errors of [`pose`](Self::pose), and those of [`springs`](condyle_solve::spring_bones::springs()).
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

    /// Returns the state of the springs, to reset or move it; `None` if the asset has no springs.
    pub fn springs_mut(&mut self) -> Option<&mut SpringState> {
        self.springs.as_mut()
    }

    /// Samples the pose and computes the model matrices.
    fn sample<M: PoseSource + ?Sized>(&mut self, clip: Option<&M>, seconds: f64) -> Result<(), Error> {
        match clip {
            Some(clip) => clip.pose(&self.asset.skeleton, seconds, &mut self.pose)?,
            None => self.pose.clone_from(self.asset.skeleton.rest()),
        }
        self.asset.constrain(&mut self.pose)?;
        local_to_model(&self.asset.skeleton, &self.pose, &mut self.model)
    }

    /// Like [`pose`](Self::pose), but writes the vertices to the caller's memory.
    ///
    /// `out` has one element for each primitive of each instance, in their order; the elements can be slices
    /// of one array. Normals and tangents are written if both the primitive and the element have them.
    /// [`posed`](Self::posed) and [`scene`](Self::scene) do not change.
    ///
    /// # Errors
    /// The errors of [`pose`](Self::pose), and [`Error::Length`] if the number of elements of `out`, or of
    /// vertices in one of them, is wrong.
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

    /// Computes the vertices of all instances for the current pose.
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

    /// Computes the palette and the morph weights of an instance.
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

    /// Computes the vertices of a primitive; `gather` must have run for its instance.
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

    /// Poses all instances in the rest pose.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a vertex leaves the range of f32.
    pub fn rest(&mut self) -> Result<(), Error> {
        self.pose::<RawClip>(None, 0.0)
    }

    /// Returns the local transforms of the joints.
    #[must_use]
    pub fn local(&self) -> &Pose {
        &self.pose
    }

    /// Returns the model matrix of each joint of the skeleton.
    #[must_use]
    pub fn model(&self) -> &[Affine] {
        &self.model
    }

    /// Returns the vertices of each primitive of an instance, in the document's world space. That is the
    /// model space of [`model`](Self::model).
    ///
    /// # Panics
    /// If the asset has no such instance.
    #[must_use]
    pub fn posed(&self, instance: usize) -> &[Vertices] {
        &self.posed[instance]
    }

    /// Returns the posed scene, for [`Exporter::glb`](crate::Exporter::glb).
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

/// Checks the memory for posed copies: each instance has separate vertex buffers, and two sets of them with
/// morph targets.
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
    if room <= limit {
        Ok(())
    } else {
        Err(Error::TooMany { what: "the byte buffer for posed copies of meshes", found: room, limit })
    }
}

fn vertex_bytes(mesh: &SkinnedMesh) -> usize {
    let Vertices { positions, normals, tangents } = mesh.vertices();
    size_of_val(&**positions) + size_of_val(&**normals) + size_of_val(&**tangents)
}
