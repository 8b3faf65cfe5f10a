//! `--mesh`: smaller meshes, their error, and the parts that do not change.

use std::path::Path;

use condyle_gltf::{
    Asset, ByteCounts, Document, MeshCompression, PackedMesh, PackedMeshes, UnpackedPrimitive, pack_meshes,
};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::model::document::refusal;
use crate::output::warn;
use crate::text::{counted, millimetres, path_text, printable, size, table};

/// Fraction of --error for the meshes; the rest is for the animations.
pub(super) const MESH_PART: f64 = 0.5;

/// The meshes of a written file.
pub(super) struct Meshes {
    found: PackedMeshes,
    /// Metres per unit.
    metres: f64,
}

impl Meshes {
    /// Packs the meshes of a file whose animations are packed, with an error of at most `budget` units.
    pub(super) fn pack(
        (to, path): (&Path, &Path),
        glb: &[u8],
        budget: f32,
        metres: f64,
        compression: MeshCompression,
    ) -> Result<Self, Failure> {
        let name = path_text(to);
        let asset = Document::from_slice(&name, glb, None).and_then(Asset::from_document);
        let asset = asset.map_err(|refused| refusal(to, &refused))?;
        let found = pack_meshes(&asset, budget, compression)
            .map_err(|e| Failure::Data(format!("{}: {e}", path_text(path))))?;
        found.problems.iter().for_each(|problem| warn(path, &problem.to_string()));
        let meshes = Self { found, metres };
        let most = f64::from(budget) * metres;
        for mesh in meshes.found.meshes.iter().filter(|mesh| mesh.error * metres > most * (1.0 + 1e-6)) {
            let (found, most) = (millimetres(mesh.error * metres), millimetres(most));
            warn(path, &format!("{}: the error is {found} mm, more than {most} mm", name_of(mesh)));
        }
        Ok(meshes)
    }

    pub(super) fn glb(&self) -> &[u8] {
        &self.found.glb
    }

    /// Formats one line for each mesh, then the reasons for parts that do not change.
    pub(super) fn to_text(&self) -> String {
        let headings = ["mesh", "vertices", "after", "triangles", "step", "weights", "normals", "worst, mm"];
        let mut lines = vec![headings.map(String::from).to_vec()];
        lines.extend(self.found.meshes.iter().map(|mesh| self.cells(mesh)));
        let mut out = if lines.len() > 1 { table("<>>>>>>>", lines) } else { String::new() };
        for mesh in &self.found.meshes {
            if mesh.target_error > 0.0 {
                let more = millimetres(mesh.target_error * self.metres);
                out += &format!("{}: morph weights above a sum of 1 add {more} mm each\n", name_of(mesh));
            }
            for what in &mesh.floats {
                out += &format!("{}: floats stay for {}\n", name_of(mesh), printable(what));
            }
        }
        if let [measured, all] = self.found.moments
            && measured < all
        {
            out += &format!(
                "the errors of meshes are measured at {measured} of {all} moments, because all would take too long\n"
            );
        }
        for UnpackedPrimitive { mesh, primitive, why, .. } in &self.found.unpacked {
            out += &format!("mesh {mesh}: primitive {primitive} is unchanged: {}\n", printable(why));
        }
        out
    }

    fn cells(&self, mesh: &PackedMesh) -> Vec<String> {
        vec![
            name_of(mesh),
            mesh.vertices[0].to_string(),
            mesh.vertices[1].to_string(),
            mesh.triangles.to_string(),
            if mesh.step > 0.0 { significant(mesh.step) } else { "exact".into() },
            if mesh.weight_bits > 0 { counted(mesh.weight_bits as usize, "bit", "bits") } else { "-".into() },
            if mesh.angle > 0.0 { format!("{:.2}°", mesh.angle.to_degrees()) } else { "-".into() },
            millimetres(mesh.error * self.metres),
        ]
    }

    pub(super) fn to_json(&self) -> Value {
        let mesh = |mesh: &PackedMesh| {
            json!({
                "mesh": mesh.mesh,
                "name": mesh.name,
                "vertices_before": mesh.vertices[0],
                "vertices": mesh.vertices[1],
                "triangles": mesh.triangles,
                "step": mesh.step,
                "weight_bits": mesh.weight_bits,
                "angle_max_deg": mesh.angle.to_degrees(),
                "error_max_m": mesh.error * self.metres,
                "target_error_max_m": mesh.target_error * self.metres,
                "floats": mesh.floats,
            })
        };
        let unpacked = self.found.unpacked.iter();
        let unpacked =
            unpacked.map(|it| json!({ "mesh": it.mesh, "primitive": it.primitive, "why": it.why }));
        json!({
            "moments_measured": self.found.moments[0],
            "moments": self.found.moments[1],
            "meshes": self.found.meshes.iter().map(mesh).collect::<Vec<_>>(),
            "unpacked": unpacked.collect::<Vec<_>>(),
        })
    }
}

/// Formats a number like a length in millimetres: the larger it is, the fewer its decimals.
fn significant(number: f64) -> String {
    millimetres(number / 1000.0)
}

/// Returns the name of a mesh, or its index.
fn name_of(mesh: &PackedMesh) -> String {
    if mesh.name.is_empty() { format!("mesh {}", mesh.mesh) } else { printable(&mesh.name) }
}

/// Bytes of a file by kind: geometry, animations, and all else.
pub(super) struct Kinds([usize; 3]);

impl Kinds {
    pub(super) fn of(document: &Document, file: usize) -> Self {
        let ByteCounts { geometry, animation, .. } = document.byte_counts();
        Self([geometry, animation, file.saturating_sub(geometry + animation)])
    }

    pub(super) fn to_text(&self, after: &Self) -> String {
        let kind = |at: usize, name: &str| format!("{name} {} to {}", size(self.0[at]), size(after.0[at]));
        [kind(0, "geometry"), kind(1, "animations"), kind(2, "everything else")].join(", ")
    }

    pub(super) fn to_json(&self) -> Value {
        let [geometry, animation, other] = self.0;
        json!({ "geometry": geometry, "animation": animation, "other": other })
    }
}
