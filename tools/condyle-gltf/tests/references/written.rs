//! Writes documents and containers, and reads them again.

use std::path::Path;

use condyle::container::{Container, ContainerWriter, EntryKind};
use condyle::{RawClip, Skeleton, Track};
use condyle_gltf::{Asset, ClipExporter, Poser, PoserOptions};

use crate::answers::parsed;
use crate::shown::{assert_shows, export, import};

pub(crate) fn read_back_as_posed(path: &Path) {
    let asset = Asset::open(path).unwrap_or_else(|e| panic!("{e}"));
    let middle = asset.clips.first().map_or(0.0, |clip| 0.4 * clip.start() + 0.6 * clip.end());
    let (glb, posed) = export(&asset, middle);
    assert_shows(&glb, &asset, &posed, &path.display().to_string());
}

/// Returns key times and values of all tracks; ignores which of two equal timelines a track uses.
fn tracks(clip: &RawClip) -> Vec<(&Track, &[f32])> {
    let times = |track: &Track| &*clip.timelines()[track.timeline];
    clip.tracks().iter().map(|track| (track, times(track))).collect()
}

pub(crate) fn clips_come_back(path: &Path) {
    let name = path.display().to_string();
    let asset = Asset::open(path).unwrap_or_else(|e| panic!("{e}"));
    let exporter = ClipExporter::new(&asset);
    assert_eq!(exporter.problems(), [], "{name}");
    let written = import(&exporter.glb(&asset.clips).expect("clips of this asset"));
    assert_eq!(written.clips.len(), asset.clips.len(), "{name}");
    for (was, is) in asset.clips.iter().zip(&written.clips) {
        assert_eq!((was.name(), was.start(), was.end()), (is.name(), is.start(), is.end()), "{name}");
        let (was, is) = (tracks(was), tracks(is));
        assert_eq!(was.len(), is.len(), "{name}");
        for (was, is) in was.iter().zip(&is) {
            let what = |(track, times): &(&Track, &[f32])| {
                (track.target, track.interpolation, track.values.clone(), times.to_vec())
            };
            assert_eq!(what(was), what(is), "{name}");
        }
    }
    assert_eq!(written.skeleton, asset.skeleton, "{name}");
    assert_eq!(written.skins, asset.skins, "{name}");
    // After writing again, the document no longer changes.
    let again = import(&ClipExporter::new(&written).glb(&written.clips).expect("clips of this asset"));
    assert_eq!(again.clips, written.clips, "{name}");
    assert_eq!(parsed(&again.document)["meshes"], parsed(&written.document)["meshes"], "{name}");

    let seconds = asset.clips.first().map_or(0.0, |clip| 0.3 * clip.start() + 0.7 * clip.end());
    let mut posers = [&asset, &written]
        .map(|a| Poser::new(a, PoserOptions::default()).expect("copies within the size limit"));
    for (poser, of) in posers.iter_mut().zip([&asset, &written]) {
        poser.pose(of.clips.first(), seconds).expect("a clip of this asset");
    }
    for instance in 0..asset.instances.len() {
        assert_eq!(posers[0].posed(instance), posers[1].posed(instance), "{name}, instance {instance}");
    }
}

/// Packs a whole asset into a container: skeleton, meshes, and the document without its animations.
fn pack(asset: &Asset, name: &str) -> Vec<u8> {
    let mut writer = ContainerWriter::default();
    let model = writer.add_skeleton(name, &asset.skeleton).unwrap_or_else(|e| panic!("{name}: {e}"));
    for (part, mesh) in asset.placed_meshes().unwrap_or_else(|e| panic!("{name}: {e}")) {
        writer.add_mesh(part, model, &mesh, &asset.skeleton).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    let document = ClipExporter::new(asset).glb(&[]).unwrap_or_else(|e| panic!("{name}: {e}"));
    writer.add(EntryKind::Document, "source", Some(model), &document).expect("a model of this container");
    writer.finish()
}

pub(crate) fn comes_back_from_a_container(path: &Path) {
    let name = path.display().to_string();
    let asset = Asset::open(path).unwrap_or_else(|e| panic!("{e}"));
    let bytes = pack(&asset, &name);
    assert!(bytes == pack(&asset, &name), "{name}: packed twice");
    let container = Container::from_bytes(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
    let model = container.find(EntryKind::Skeleton, &name).expect("the model");
    let skeleton: Skeleton = container.skeleton(model).expect("the skeleton");
    assert_eq!(skeleton, asset.skeleton, "{name}");
    let mut meshes = asset.placed_meshes().expect("copies within the size limit");
    for entry in container.of_model(EntryKind::Mesh, model) {
        let mesh = container.mesh(entry.index, &skeleton).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(meshes.next() == Some((entry.name, mesh)), "{name}, entry {}", entry.index);
    }
    assert!(meshes.next().is_none(), "{name}");
    let document = container.find(EntryKind::Document, "source").expect("the document");
    let still = import(container.document(document).expect("a document"));
    assert!(still.clips.is_empty(), "{name}");
    // Without animations, fewer nodes are joints.
    let still = still.on_skeleton(skeleton).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(still.skins == asset.skins, "{name}");
}
