//! Checks that an exported file shows the pose.

use condyle::Affine;
use condyle_gltf::{Asset, Document, Exporter, Placement, Poser, PoserOptions};

/// Exports `asset` at a time of its first clip. Returns the file, and the poser with the posed vertices.
pub(crate) fn export<'a>(asset: &'a Asset, seconds: f64) -> (Vec<u8>, Poser<'a>) {
    let mut poser = Poser::new(asset, PoserOptions::default()).expect("copies within the size limit");
    poser.pose(asset.clips.first(), seconds).expect("the clip fits");
    let glb = Exporter::new(asset)
        .expect("copies within the size limit")
        .glb(&poser.scene())
        .expect("a scene of this asset");
    (glb, poser)
}

pub(crate) fn import(glb: &[u8]) -> Asset {
    let document = Document::from_slice("exported.glb", glb, None).unwrap_or_else(|e| panic!("{e}"));
    Asset::from_document(document).unwrap_or_else(|e| panic!("{e}"))
}

/// Asserts that the written file, read back in its rest pose, shows the posed vertices. Vertices of skinned
/// meshes must be equal; others are transformed by their node again.
pub(crate) fn assert_shows(glb: &[u8], asset: &Asset, posed: &Poser<'_>, name: &str) {
    let written = import(glb);
    assert!(written.clips.is_empty() && written.skins.is_empty(), "{name}: it moves");
    assert_eq!(written.instances.len(), asset.instances.len(), "{name}");
    let mut rest = Poser::new(&written, PoserOptions::default()).expect("copies within the size limit");
    rest.rest().expect("the rest pose");
    for (at, (was, is)) in asset.instances.iter().zip(&written.instances).enumerate() {
        assert_eq!((is.node, &is.name), (was.node, &was.name), "{name}");
        for (a, b) in posed.posed(at).iter().zip(rest.posed(at)) {
            assert_eq!(a.normals.len(), b.normals.len(), "{name}, node {}", was.node);
            if matches!(was.placement, Placement::Skin(_)) {
                assert_eq!(is.placement, Placement::Fixed(Affine::IDENTITY), "{name}");
                assert_eq!(a.positions, b.positions, "{name}, node {}", was.node);
            }
            let size = a.positions.as_flattened().iter().fold(1.0_f32, |m, x| m.max(x.abs()));
            for (a, b) in a.positions.as_flattened().iter().zip(b.positions.as_flattened()) {
                assert!((a - b).abs() <= 1e-5 * size, "{name}, node {}: {a} became {b}", was.node);
            }
        }
    }
}
