//! Posed meshes as Wavefront OBJ, which has neither joints nor time.

use std::io::{self, Write};

use super::film::{Film, Part};

/// Parts of the file that do not depend on the pose, as text.
pub(super) struct Obj {
    /// One for each primitive.
    parts: Vec<Unposed>,
}

struct Unposed {
    /// Name of the group.
    group: String,
    coordinates: String,
    /// Numbers of the first position, texture coordinate and normal; `None` for an absent attribute.
    first: [Option<usize>; 3],
}

impl Obj {
    pub(super) fn new(film: &Film<'_>) -> Self {
        // OBJ numbers start at 1 and continue over all groups.
        let mut next = [1; 3];
        let part = |part: &Part| {
            let (instance, primitive) = (film.instance(part), film.primitive(part));
            let uv = film.asset.texture_coordinates(instance, primitive, 0).unwrap_or_default();
            let counts = [part.count, uv.len(), primitive.mesh.vertices().normals.len()];
            let first = [0, 1, 2].map(|k| (counts[k] > 0).then_some(next[k]));
            next = [0, 1, 2].map(|k| next[k] + counts[k]);
            Unposed {
                group: group(&film.part_name(part)),
                // v points up in OBJ, down in glTF.
                coordinates: uv.iter().map(|[u, v]| format!("vt {u} {}\n", 1.0 - v)).collect(),
                first,
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
            // OBJ has no nodes that could mirror, so its faces are counter-clockwise as seen from outside.
            let is_mirrored = film.instance(part).is_mirrored(film.poser.model());
            for [a, b, c] in film.primitive(part).triangles() {
                let corners = if is_mirrored { [a, c, b] } else { [a, b, c] };
                let [a, b, c] = corners.map(|corner| unposed.corner(corner as usize));
                writeln!(out, "f {a} {b} {c}")?;
            }
        }
        Ok(())
    }
}

impl Unposed {
    /// Formats a vertex of the primitive for a face.
    fn corner(&self, vertex: usize) -> String {
        let [position, uv, normal] = self.first.map(|first| first.map(|first| first + vertex));
        let number = |it: Option<usize>| it.map_or(String::new(), |it| it.to_string());
        match (uv, normal) {
            (None, None) => number(position),
            (Some(_), None) => format!("{}/{}", number(position), number(uv)),
            (_, Some(_)) => format!("{}/{}/{}", number(position), number(uv), number(normal)),
        }
    }
}

/// Whether any primitive is not made of triangles, and so has no faces.
pub(super) fn has_lines(film: &Film<'_>) -> bool {
    film.parts.iter().any(|part| !film.primitive(part).drawable)
}

/// Replaces the characters that end a name in OBJ.
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
