//! The bytes of a document's data, by use.

use std::collections::BTreeSet;

use crate::document::{Document, StoredView};
use crate::draco;
use crate::json::whole;
use crate::value::Value;

/// Bytes of the buffer views of a document, as the file stores them: compressed views count compressed.
///
/// ```
/// use condyle_gltf::example;
///
/// let counts = example::document().byte_counts();
/// assert!(counts.geometry > 0 && counts.animation > 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ByteCounts {
    /// Vertices, triangles, morph targets and inverse bind matrices.
    pub geometry: usize,
    /// Key times and values, except those that are part of a view for geometry.
    pub animation: usize,
}

impl Document {
    /// Returns the bytes of the document's data, by use. Images and JSON are not counted.
    #[must_use]
    pub fn byte_counts(&self) -> ByteCounts {
        let json = self.stored_json();
        let list = |key: &str| json.get(key).and_then(Value::as_array).into_iter().flatten();
        let mut geometry = BTreeSet::new();
        let primitives = list("meshes").filter_map(|mesh| mesh.get("primitives")?.as_array()).flatten();
        for primitive in primitives {
            let targets = primitive.get("targets").and_then(Value::as_array).into_iter().flatten();
            let attributes = primitive.get("attributes").into_iter().chain(targets);
            let attributes = attributes.filter_map(Value::as_object).flat_map(|all| all.values());
            let accessors = attributes.chain(primitive.get("indices")).filter_map(whole);
            geometry.extend(accessors.flat_map(|accessor| views(json, accessor)));
            let own =
                primitive.get("extensions").and_then(|all| all.get(draco::EXTENSION)?.get("bufferView"));
            geometry.extend(own.and_then(whole));
        }
        let matrices = list("skins").filter_map(|skin| whole(skin.get("inverseBindMatrices")?));
        geometry.extend(matrices.flat_map(|accessor| views(json, accessor)));
        let samplers = list("animations").filter_map(|it| it.get("samplers")?.as_array()).flatten();
        let both = samplers.flat_map(|sampler| [sampler.get("input"), sampler.get("output")]).flatten();
        let animation: BTreeSet<usize> =
            both.filter_map(whole).flat_map(|accessor| views(json, accessor)).collect();
        let bytes = |&view: &usize| {
            let found = self.stored_view(view);
            found.map_or(0, |StoredView { plain, compressed }| {
                plain.map_or(0, <[u8]>::len) + compressed.map_or(0, |(_, data)| data.len())
            })
        };
        ByteCounts {
            geometry: geometry.iter().map(bytes).sum(),
            animation: animation.difference(&geometry).map(bytes).sum(),
        }
    }
}

/// Returns the buffer views of an accessor, including those of its sparse elements.
fn views(json: &Value, accessor: usize) -> impl Iterator<Item = usize> + use<> {
    let accessor = json.get("accessors").and_then(|all| all.get(accessor));
    let places = ["/bufferView", "/sparse/indices/bufferView", "/sparse/values/bufferView"];
    let found = places.map(|place| whole(accessor?.pointer(place)?));
    found.into_iter().flatten()
}
