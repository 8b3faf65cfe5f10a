//! Values of vertex attributes that posing does not change, read on request.

use crate::asset::{Asset, Instance};
use crate::json::whole;
use crate::meshes::Primitive;

/// Attributes of a primitive that posing does not change.
///
/// Each is read on request, as an array with one element per vertex of [`Primitive::mesh`]. For an invalid
/// attribute the result is `None`, and [`Asset::problems`] has a warning.
impl Asset {
    /// Returns texture coordinates, the attribute `TEXCOORD_set`: u to the right, v down, 0 to 1 across the
    /// image.
    ///
    /// Returns `None` if the primitive has no such attribute.
    #[must_use]
    pub fn texture_coordinates(
        &self,
        instance: &Instance,
        primitive: &Primitive,
        set: usize,
    ) -> Option<Vec<[f32; 2]>> {
        self.attribute(instance, primitive, &format!("TEXCOORD_{set}"))
    }

    /// Returns vertex colours, the attribute `COLOR_set`: linear red, green, blue and opacity.
    ///
    /// The opacity is 1 if the document has only three components. Returns `None` if the primitive has no
    /// such attribute.
    #[must_use]
    pub fn colors(&self, instance: &Instance, primitive: &Primitive, set: usize) -> Option<Vec<[f32; 4]>> {
        let name = format!("COLOR_{set}");
        let opaque = |[r, g, b]: [f32; 3]| [r, g, b, 1.0];
        self.attribute(instance, primitive, &name)
            .or_else(|| Some(self.attribute(instance, primitive, &name)?.into_iter().map(opaque).collect()))
    }

    /// Returns the attribute of this name, for example a custom `_HEIGHT`, with `N` numbers per vertex.
    ///
    /// Normalised integers become fractions. Returns `None` if the attribute is missing or has another number
    /// of components.
    #[must_use]
    pub fn attribute<const N: usize>(
        &self,
        instance: &Instance,
        primitive: &Primitive,
        name: &str,
    ) -> Option<Vec<[f32; N]>> {
        let mesh = self.document.json.get("meshes")?.get(instance.mesh)?;
        let accessor = mesh.get("primitives")?.get(primitive.index)?.get("attributes")?.get(name)?;
        self.document.vectors(whole(accessor)?, primitive.mesh.vertex_count())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::character;
    use crate::value::json;

    #[test]
    fn attributes_are_read_when_asked_for() {
        let mut it = character();
        let uv = it.floats("VEC2", &[0.0, 1.0, 0.5, 0.25, 1.0, 0.0]);
        let rgb = it.accessor("VEC3", 5121, 3, &[255, 0, 51, 0, 0, 0, 0, 255, 0, 0, 0, 0]);
        let rgba = it.floats("VEC4", &[0.5; 12]);
        let two = it.floats("VEC2", &[0.0; 4]);
        it.json["accessors"][rgb]["normalized"] = json!(true);
        it.json["bufferViews"].as_array_mut().unwrap()[rgb]["byteStride"] = json!(4);
        let attributes = &mut it.json["meshes"][0]["primitives"][0]["attributes"];
        for (name, accessor) in
            [("TEXCOORD_1", uv), ("COLOR_0", rgb), ("COLOR_1", rgba), ("_OWN", uv), ("TEXCOORD_2", two)]
        {
            attributes[name] = json!(accessor);
        }
        // Some exporters write integers as floats.
        attributes["_OWN"] = json!(uv as f64);
        let asset = it.import().unwrap();
        let (instance, primitive) = (&asset.instances[0], &asset.instances[0].primitives[0]);
        let uvs = |set| asset.texture_coordinates(instance, primitive, set);
        let want = vec![[0.0, 1.0], [0.5, 0.25], [1.0, 0.0]];
        assert_eq!((uvs(0), uvs(1), uvs(2)), (None, Some(want.clone()), None));
        let colors = |set| asset.colors(instance, primitive, set).map(|all| all[0]);
        assert_eq!((colors(0), colors(1), colors(2)), (Some([1.0, 0.0, 0.2, 1.0]), Some([0.5; 4]), None));
        assert_eq!(asset.attribute(instance, primitive, "_OWN"), Some(want));
        assert_eq!(asset.attribute::<3>(instance, primitive, "_OWN"), None);
    }
}
