//! The walk up stairs with planted feet, drawn from the recorded file `stairs.glb`.

use condyle::{Affine, RawClip};
use condyle_draw::marks::Mark;
use condyle_draw::picture::Format;
use condyle_draw::solid::Solid;
use condyle_draw::vector::Vec3;
use condyle_draw::{FPS, Film, Look, Scene, View};
use condyle_gltf::Asset;
use serde_json::Value;

use super::import;
use crate::failure::Failure;
use crate::output::drawing;

/// The motion. Its extras have the stairs (`solids`), and for each frame (`moments`) the points that touch
/// the ground and the distance that planted feet have moved.
const FILE: &[u8] = include_bytes!("stairs.glb");
/// View from the left and slightly from behind, so that no step hides the feet.
const VIEW: View = View { yaw: -1.85, pitch: 0.16 };
const PLANTED: [u8; 3] = [20, 160, 90];

/// Draws the character walking up the stairs; also returns a line with the distance that planted feet move.
pub(super) fn movie(asset: &Asset, look: &Look) -> Result<(Vec<u8>, String), Failure> {
    let invalid = |what: &str| Failure::Data(format!("the built-in stairs: {what}"));
    let recorded = import("stairs.glb", FILE)?;
    let clip: &RawClip = recorded.clips.first().ok_or_else(|| invalid("no clip"))?;
    let extras = recorded.document.json_at("/extras").unwrap_or_default();
    let extras: Value = serde_json::from_str(&extras).map_err(|e| invalid(&e.to_string()))?;
    let [solids, moments] =
        ["solids", "moments"].map(|key| extras[key].as_array().cloned().unwrap_or_default());
    let times: Vec<f64> = clip.timelines().first().into_iter().flatten().copied().map(f64::from).collect();
    let marks = |seconds: f64, _: &[Affine]| {
        let moment = moments.get(times.partition_point(|&time| time < seconds)).or(moments.last());
        let moment = moment.unwrap_or(&Value::Null);
        let dot = |at: &Value| Mark::Dot { at: vector(at), radius: 4.0, color: PLANTED };
        let dots = moment["planted"].as_array().into_iter().flatten().map(dot);
        dots.chain([Mark::Note { text: moved(moment) }]).collect()
    };
    let solid = |it: &Value| {
        let [low, high, color] = ["low", "high", "color"].map(|key| vector(&it[key]));
        Solid { low, high, color }
    };
    let mut scene = Scene::new(asset)?;
    scene.set_solids(solids.iter().map(solid).collect());
    scene.mark(&marks);
    let look = Look { view: VIEW, ..*look };
    let movie = drawing(times.len(), |tick| {
        scene.movie(Format::Gif, Some(clip), &Film::new(&times, FPS), &look, tick)
    })?;
    let last = moved(moments.last().unwrap_or(&Value::Null));
    Ok((movie, format!("the walk up stairs; planted feet {last}")))
}

fn vector(value: &Value) -> Vec3 {
    core::array::from_fn(|k| value[k].as_f64().unwrap_or_default() as f32)
}

/// Text of the distance that planted feet have moved, along the ground and vertically.
fn moved(moment: &Value) -> String {
    let [slide, sink] = ["slide", "sink"].map(|key| 1e3 * moment[key].as_f64().unwrap_or_default());
    format!("slide {slide:.3} mm, sink {sink:.3} mm")
}
