//! Posed meshes as Wavefront OBJ, which knows neither joints nor time.

use std::io::{self, Write};

use condyle_gltf::Asset;

use super::film::{Film, Part};
use crate::model::document::triangles;

/// What no pose changes, as text.
pub(super) struct Obj {
    /// Of each primitive.
    parts: Vec<Unposed>,
}

struct Unposed {
    /// The name of its group.
    group: String,
    coordinates: String,
    faces: String,
}

impl Obj {
    pub(super) fn new(film: &Film<'_>) -> Self {
        // How many of each there were before: OBJ counts from 1, over all groups.
        let (mut positions, mut coordinates, mut normals) = (1, 1, 1);
        let part = |part: &Part| {
            let instance = &film.asset.instances[part.instance];
            let primitive = &instance.primitives[part.primitive];
            let uv = film.asset.texture_coordinates(instance, primitive, 0).unwrap_or_default();
            let has_normals = !primitive.mesh.vertices().normals.is_empty();
            let mut faces = String::new();
            for corners in triangles(primitive) {
                faces.push('f');
                for corner in corners.map(|corner| corner as usize) {
                    faces += &match (uv.is_empty(), has_normals) {
                        (true, false) => format!(" {}", positions + corner),
                        (false, false) => format!(" {}/{}", positions + corner, coordinates + corner),
                        (true, true) => format!(" {}//{}", positions + corner, normals + corner),
                        (false, true) => {
                            format!(" {}/{}/{}", positions + corner, coordinates + corner, normals + corner)
                        }
                    };
                }
                faces.push('\n');
            }
            positions += part.count;
            coordinates += uv.len();
            normals += if has_normals { part.count } else { 0 };
            Unposed {
                group: group(&film.part_name(part)),
                // Up in OBJ, down in glTF.
                coordinates: uv.iter().map(|[u, v]| format!("vt {u} {}\n", 1.0 - v)).collect(),
                faces,
            }
        };
        Self { parts: film.parts.iter().map(part).collect() }
    }

    /// Writes the pose of the film's poser.
    pub(super) fn write(&self, film: &Film<'_>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "# Condyle {}: world space, metres as glTF has them, +Y up",
            env!("CARGO_PKG_VERSION")
        )?;
        for (part, unposed) in film.parts.iter().zip(&self.parts) {
            writeln!(out, "g {}", unposed.group)?;
            let posed = &film.poser.posed(part.instance)[part.primitive];
            posed.positions.iter().try_for_each(|[x, y, z]| writeln!(out, "v {x} {y} {z}"))?;
            out.write_all(unposed.coordinates.as_bytes())?;
            posed.normals.iter().try_for_each(|[x, y, z]| writeln!(out, "vn {x} {y} {z}"))?;
            out.write_all(unposed.faces.as_bytes())?;
        }
        Ok(())
    }
}

/// Whether the asset has a primitive that is not made of triangles, which leaves no faces.
pub(super) fn has_lines(asset: &Asset) -> bool {
    asset.instances.iter().flat_map(|instance| &instance.primitives).any(|primitive| !primitive.drawable)
}

/// A name without what ends it in OBJ.
fn group(name: &str) -> String {
    name.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_one_word() {
        assert_eq!(group("left arm\n#\t2.primitive0"), "left_arm_#_2.primitive0");
    }
}
