//! Converts an asset's meshes to the form that a container stores.

use std::collections::HashSet;
use std::sync::Arc;

use condyle::container::{MeshPlacement, PlacedMesh};
use condyle::{Error, MorphTarget, SkinnedMesh, Vertices};

use crate::asset::{Asset, Instance, Placement};
use crate::meshes::Primitive;
use crate::value::Value;

/// Limit on the bytes for mesh copies in addition to the meshes themselves. A document of a few hundred bytes
/// can show one mesh on a million nodes.
const MOST_ADDED: usize = 64 << 20;

impl Asset {
    /// Returns each primitive of each instance with the instance's name, in the order of
    /// [`Asset::instances`].
    ///
    /// Pass them to [`ContainerWriter::add_mesh`](condyle::container::ContainerWriter::add_mesh).
    ///
    /// # Errors
    /// [`Error::TooMany`] if many nodes share one mesh, so that its copies take over 64 MiB more than all
    /// meshes.
    pub fn placed_meshes(&self) -> Result<impl Iterator<Item = (&str, PlacedMesh)>, Error> {
        self.check_copies()?;
        let parts = self.instances.iter().flat_map(|i| i.primitives.iter().map(move |p| (i, p)));
        Ok(parts.map(|(instance, primitive)| (instance.name.as_str(), self.placed_mesh(instance, primitive))))
    }

    fn placed_mesh(&self, instance: &Instance, primitive: &Primitive) -> PlacedMesh {
        let placement = match &instance.placement {
            Placement::Skin(skin) => MeshPlacement::Skin(self.skins[*skin].clone()),
            Placement::Joint(joint) => MeshPlacement::Joint(*joint),
            Placement::Fixed(matrix) => MeshPlacement::Fixed(*matrix),
        };
        let mut placed = PlacedMesh::new(SkinnedMesh::clone(&primitive.mesh), placement);
        placed.morph_weights.clone_from(&instance.morph_weights);
        placed.node = instance.node as u32;
        placed.color = self.color(primitive).unwrap_or(placed.color);
        placed.drawable = primitive.drawable;
        placed.shown = instance.in_default_scene;
        placed
    }

    /// Returns the base colour of a primitive's material, if the material has four components.
    fn color(&self, primitive: &Primitive) -> Option<[f32; 4]> {
        let material = self.document.json.get("materials")?.get(primitive.material?)?;
        let factor = material.get("pbrMetallicRoughness")?.get("baseColorFactor")?.as_array()?;
        let numbers: Option<Vec<f32>> = factor.iter().map(|v| Value::as_f64(v).map(|v| v as f32)).collect();
        numbers?.try_into().ok().filter(|color: &[f32; 4]| color.iter().all(|v| v.is_finite()))
    }

    fn check_copies(&self) -> Result<(), Error> {
        let mut seen = HashSet::new();
        let (mut copies, mut meshes) = (0_usize, 0_usize);
        for instance in &self.instances {
            let skin = match instance.placement {
                Placement::Skin(skin) => size_of_val(self.skins[skin].inverse_bind()),
                Placement::Joint(_) | Placement::Fixed(_) => 0,
            };
            for Primitive { mesh, .. } in &instance.primitives {
                let own = bytes(mesh);
                copies = copies.saturating_add(own + skin + instance.name.len() + size_of::<PlacedMesh>());
                if seen.insert(Arc::as_ptr(mesh)) {
                    meshes = meshes.saturating_add(own);
                }
            }
        }
        let limit = meshes.saturating_add(MOST_ADDED);
        if copies <= limit {
            Ok(())
        } else {
            Err(Error::TooMany { what: "the bytes of copies of meshes", found: copies, limit })
        }
    }
}

fn bytes(mesh: &SkinnedMesh) -> usize {
    let Vertices { positions, normals, tangents } = mesh.vertices();
    let (starts, joints, weights) = mesh.influences().as_slices();
    let targets = mesh.morph_targets().iter().map(MorphTarget::byte_count);
    size_of_val(&**positions)
        + size_of_val(&**normals)
        + size_of_val(&**tangents)
        + size_of_val(starts)
        + size_of_val(joints)
        + size_of_val(weights)
        + size_of_val(mesh.indices())
        + targets.sum::<usize>()
}
