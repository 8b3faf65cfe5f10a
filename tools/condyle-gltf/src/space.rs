//! Axes and units of a document: rotation to Y up after reading, and the number of metres per unit.

use std::collections::HashSet;

use condyle::{Affine, Error, Quat, Transform};

use crate::asset::{Asset, Placement};
use crate::value::Value;

/// JSON paths of the unit, and of the mark for rotated axes.
const UNIT: &str = "/asset/extras/condyle/metresPerUnit";
const TURNED: &str = "/asset/extras/condyle/turned";

impl Asset {
    /// Returns the asset rotated about the origin: root nodes, rest pose, clips, and meshes that no joint
    /// moves.
    ///
    /// Use [`Y_UP_FROM_Z_UP`](condyle::clip::Y_UP_FROM_Z_UP) for files with Z up, which glTF does not allow
    /// but some exporters write.
    ///
    /// # Errors
    /// The errors of [`Skeleton::turned`](condyle::Skeleton::turned).
    pub fn turned(mut self, rotation: Quat) -> Result<Self, Error> {
        let clips = self.clips.iter().map(|clip| clip.turned(&self.skeleton, rotation));
        self.clips = clips.collect::<Result<_, _>>()?;
        self.skeleton = self.skeleton.turned(rotation)?;
        let turn = Affine::from(Transform { rotation, ..Transform::IDENTITY });
        for instance in &mut self.instances {
            if let Placement::Fixed(world) = &mut instance.placement {
                *world = turn * *world;
            }
        }
        self.document.edit(|json| turn_roots(json, &turn, rotation));
        self.set_turned();
        Ok(self)
    }

    /// Returns whether this document, or the document from which it was written, was
    /// [`turned`](Self::turned). The mark is in `asset.extras`.
    #[must_use]
    pub fn was_turned(&self) -> bool {
        self.document.json_at(TURNED).as_deref() == Some("true")
    }

    /// Marks the document as rotated before it was made: see [`was_turned`](Self::was_turned). The data does
    /// not change.
    pub fn set_turned(&mut self) {
        self.note("turned", true.into());
    }

    /// Returns the number of metres per unit, if the document has that entry in `asset.extras`.
    ///
    /// `condyle` writes the entry. A glTF unit is one metre, so only documents in other units need it.
    #[must_use]
    pub fn unit(&self) -> Option<f64> {
        let metres: f64 = self.document.json_at(UNIT)?.parse().ok()?;
        (metres > 0.0 && metres.is_finite()).then_some(metres)
    }

    /// Stores the number of metres per unit in the document, so that exported files have it: see
    /// [`unit`](Self::unit).
    ///
    /// The data does not change.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if `metres` is not finite and above 0.
    pub fn set_unit(&mut self, metres: f64) -> Result<(), Error> {
        if !(metres > 0.0 && metres.is_finite()) {
            return Err(Error::OutOfRange { what: "metres", at: 0, needed: "finite and above 0" });
        }
        self.note("metresPerUnit", metres.into());
        Ok(())
    }

    /// Writes an entry into the document's extras, which are stored as text.
    fn note(&mut self, key: &str, value: serde_json::Value) {
        let extras = self.document.json_at("/asset/extras");
        let extras = extras.and_then(|text| serde_json::from_str(&text).ok());
        let mut extras: serde_json::Map<String, serde_json::Value> = extras.unwrap_or_default();
        let own = extras.entry("condyle").or_insert_with(|| serde_json::json!({}));
        if !own.is_object() {
            *own = serde_json::json!({});
        }
        own[key] = value;
        let extras = serde_json::Value::Object(extras).to_string();
        self.document.edit(|json| json["asset"]["extras"] = extras.as_str().into());
    }
}

/// Rotates the nodes that are not children.
fn turn_roots(json: &mut Value, turn: &Affine, rotation: Quat) {
    let Some(nodes) = json.get_mut("nodes").and_then(Value::as_array_mut) else { return };
    let children = nodes.iter().filter_map(|node| node.get("children")?.as_array()).flatten();
    let children: HashSet<usize> = children.filter_map(Value::as_f64).map(|child| child as usize).collect();
    for (_, node) in nodes.iter_mut().enumerate().filter(|(at, _)| !children.contains(at)) {
        let Some(node) = node.as_object_mut() else { continue };
        if let Some(m) = node.get("matrix").and_then(numbers::<16>) {
            let rows = [0, 1, 2].map(|r| [m[r], m[4 + r], m[8 + r], m[12 + r]]);
            let [a, b, c] = (*turn * Affine { rows }).rows;
            let columns: Vec<f32> = (0..4)
                .flat_map(|column| [a[column], b[column], c[column], if column == 3 { 1.0 } else { 0.0 }])
                .collect();
            node.insert("matrix".into(), columns.into());
            continue;
        }
        if let Some(place) = node.get("translation").and_then(numbers::<3>) {
            let place = turn.rows.map(|row| row[0] * place[0] + row[1] * place[1] + row[2] * place[2]);
            node.insert("translation".into(), place.to_vec().into());
        }
        let own = node.get("rotation").and_then(numbers::<4>).unwrap_or([0.0, 0.0, 0.0, 1.0]);
        let turned = product(rotation, own);
        node.insert("rotation".into(), turned.to_vec().into());
    }
}

fn numbers<const N: usize>(list: &Value) -> Option<[f32; N]> {
    let list: Vec<f32> = list.as_array()?.iter().filter_map(Value::as_f64).map(|v| v as f32).collect();
    list.try_into().ok()
}

/// Returns the Hamilton product.
fn product([ax, ay, az, aw]: Quat, [bx, by, bz, bw]: Quat) -> Quat {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

#[cfg(test)]
mod tests {
    use crate::value::json;
    use condyle::clip::Y_UP_FROM_Z_UP;
    use condyle::{NormalRule, RawClip};

    use super::*;
    use crate::draco;
    use crate::testing::Builder;
    use crate::{ClipExporter, Document, Poser};

    /// Returns an animated node, a static node with a matrix and one with translation and rotation, all with
    /// a mesh.
    fn scene() -> Asset {
        let mut it = Builder::new(json!({
            "scene": 0, "scenes": [{"nodes": [0, 1, 2]}],
            "nodes": [
                {"name": "moved", "mesh": 0, "translation": [1, 2, 3]},
                {"name": "matrix", "mesh": 0, "matrix": [2, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 4, 5, 6, 1]},
                {"name": "parts", "mesh": 0, "rotation": [0.6, 0, 0, 0.8], "translation": [7, 8, 9]},
            ],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        }));
        it.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0, 1.0, 2.0]);
        let times = it.floats("SCALAR", &[0.0, 1.0]);
        let places = it.floats("VEC3", &[0.0, 0.0, 0.0, 3.0, 2.0, 1.0]);
        it.json["animations"] = json!([{
            "name": "slide", "samplers": [{"input": times, "output": places}],
            "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
        }]);
        it.import().expect("a scene")
    }

    /// Returns a mesh compressed by Draco on a node that moves.
    fn compressed() -> Asset {
        let case = draco::tests::cases().into_iter().find(|case| case["name"] == "positions only");
        let mut it = draco::tests::compressed(&case.expect("a case without a skin"), |_| ());
        it.json["nodes"][0]["translation"] = json!([1, 2, 3]);
        let times = it.floats("SCALAR", &[0.0, 1.0]);
        let places = it.floats("VEC3", &[0.0, 0.0, 0.0, 3.0, 2.0, 1.0]);
        it.json["animations"] = json!([{
            "name": "slide", "samplers": [{"input": times, "output": places}],
            "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
        }]);
        it.import().expect("a compressed scene")
    }

    fn points(asset: &Asset, clip: Option<&RawClip>) -> Vec<[f32; 3]> {
        let mut poser = Poser::new(asset, NormalRule::Plain.into()).expect("small");
        poser.pose(clip, 0.25).expect("a pose");
        let all = 0..asset.instances.len();
        all.flat_map(|at| poser.posed(at).iter().flat_map(|it| it.positions.clone()).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn every_mesh_is_turned_at_rest_and_in_motion_and_in_what_is_written() {
        for before in [scene(), compressed()] {
            check_turned(&before);
        }
    }

    /// Checks the asset itself, and the asset after it is written and read again.
    fn check_turned(before: &Asset) {
        let after = before.clone().turned(Y_UP_FROM_Z_UP).expect("turns");
        let glb = ClipExporter::new(&after).glb(&after.clips).expect("a document");
        let document = Document::from_slice("turned.glb", &glb, None).expect("readable");
        let written = Asset::from_document(document).expect("usable");
        assert!(written.was_turned() && !before.was_turned());
        for (name, it) in [("turned", &after), ("written", &written)] {
            for at_rest in [true, false] {
                let of = |asset: &Asset| points(asset, asset.clips.first().filter(|_| !at_rest));
                let (was, is) = (of(before), of(it));
                assert!(was.len() == is.len() && was.len() >= 9);
                for ([x, y, z], found) in was.into_iter().zip(is) {
                    let near = [x, z, -y].iter().zip(found).all(|(want, found)| (want - found).abs() < 1e-5);
                    assert!(near, "{name}, rest {at_rest}: {found:?} for {:?}", [x, y, z]);
                }
            }
        }
    }

    #[test]
    fn a_document_remembers_its_unit() {
        for asset in [scene(), compressed()] {
            check_unit(asset);
        }
    }

    fn check_unit(mut asset: Asset) {
        assert_eq!(asset.unit(), None);
        assert!(asset.set_unit(0.0).is_err() && asset.set_unit(f64::NAN).is_err());
        asset.document.json["asset"]["extras"] = r#"{"author": "us", "condyle": 3}"#.into();
        asset.set_unit(0.02).expect("a unit");
        asset.set_unit(0.01).expect("another unit");
        assert_eq!(asset.document.json_at("/asset/extras/author").as_deref(), Some("\"us\""));
        let glb = ClipExporter::new(&asset).glb(&asset.clips).expect("a document");
        let document = Document::from_slice("cm.glb", &glb, None).expect("readable");
        assert_eq!(Asset::from_document(document).expect("usable").unit(), Some(0.01));
    }
}
