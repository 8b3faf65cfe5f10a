//! A valid character with a few edits, whose meshes are packed. The packed file must open, and each of its
//! posed vertices must be within the stated error of its original.
#![no_main]

use arbitrary::Unstructured;
use condyle_gltf::{
    Asset, Document, ExportError, MeshCompression, PackedMeshes, Poser, PoserOptions, Severity,
};

#[path = "../../../tools/condyle-gltf/tests/tiny/mod.rs"]
#[allow(dead_code, reason = "each target uses a part")]
mod tiny;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let exponent = input.int_in_range(-24..=4).unwrap_or(-10);
    let compression =
        if input.arbitrary().unwrap_or(true) { MeshCompression::Ext } else { MeshCompression::Khr };
    let mut tiny = tiny::character();
    condyle_fuzz::edit(&mut tiny.json, &mut tiny.buffer, &mut input).ok();
    let opened = Document::from_slice("fuzz", &tiny.glb(), None).and_then(Asset::from_document);
    let Ok(asset) = opened else { return };
    match condyle_gltf::pack_meshes(&asset, 2f32.powi(exponent), compression) {
        Ok(packed) => check(&asset, &packed),
        Err(ExportError::Pose(_) | ExportError::TooMuchWork { .. } | ExportError::TooLarge { .. }) => {}
        Err(error) => panic!("{error}"),
    }
});

fn check(asset: &Asset, packed: &PackedMeshes) {
    let opened = Document::from_slice("packed", &packed.glb, None).and_then(Asset::from_document);
    let again = match opened {
        Ok(again) => again,
        Err(refused) => {
            // Shared data makes the written file smaller, and with it the limit of memory.
            let mut errors = refused.problems.iter().filter(|p| p.severity == Severity::Error);
            assert!(errors.all(|p| p.what.contains("a document of this size")), "{refused}");
            return;
        }
    };
    assert_eq!(again.instances.len(), asset.instances.len());
    let options = PoserOptions::default;
    let (Ok(mut before), Ok(mut after)) = (Poser::new(asset, options()), Poser::new(&again, options()))
    else {
        return;
    };
    for clip in [None].into_iter().chain((0..asset.clips.len()).map(Some)) {
        let ends = clip.map_or([0.0; 2], |clip| [asset.clips[clip].start(), asset.clips[clip].end()]);
        for seconds in ends {
            let was = before.pose(clip.map(|clip| &asset.clips[clip]), seconds);
            let is = after.pose(clip.map(|clip| &again.clips[clip]), seconds);
            if was.is_ok() && is.is_ok() {
                compare(asset, packed, &before, &after);
            }
        }
    }
}

/// Compares each vertex of a triangle with the nearest one of the packed mesh, whose vertices are in another
/// order.
fn compare(asset: &Asset, packed: &PackedMeshes, before: &Poser<'_>, after: &Poser<'_>) {
    for (at, instance) in asset.instances.iter().enumerate() {
        let Some(mesh) = packed.meshes.iter().find(|mesh| mesh.mesh == instance.mesh) else { continue };
        for (index, primitive) in instance.primitives.iter().enumerate() {
            let (was, is) = (&before.posed(at)[index].positions, &after.posed(at)[index].positions);
            let size = was.iter().flatten().fold(0f32, |size, v| size.max(v.abs()));
            let allowed = mesh.error + 1e-5 * f64::from(size);
            for &vertex in primitive.triangles().flatten().collect::<Vec<u32>>().iter() {
                let from = was[vertex as usize];
                let nearest = is.iter().map(|to| distance(from, *to)).fold(f64::INFINITY, f64::min);
                assert!(nearest <= allowed, "vertex {vertex} of mesh {}: {nearest} > {allowed}", mesh.mesh);
            }
        }
    }
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    (0..3).map(|c| (f64::from(a[c]) - f64::from(b[c])).powi(2)).sum::<f64>().sqrt()
}
