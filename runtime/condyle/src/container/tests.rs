use std::borrow::ToOwned;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use super::*;
use crate::mesh::{Influences, MorphDeltas, MorphTarget, SkinnedMesh, Vertices};
use crate::testing::{Random, tries};
use condyle_base::math::Affine;

/// Returns one mesh for each placement, with and without optional attributes.
fn meshes(random: &mut Random, joints: usize) -> Vec<PlacedMesh> {
    let rich = random.mesh(11, joints);
    let indices = vec![0, 10, 4, 3, 3, 3];
    let indexed = |mesh: &SkinnedMesh| {
        let (vertices, influences) = (mesh.vertices().clone(), mesh.influences().clone());
        SkinnedMesh::new(vertices, influences, indices.clone(), mesh.morph_targets().to_vec()).expect("valid")
    };
    let bare = Vertices { positions: (0..5).map(|_| random.vector(1.0)).collect(), ..Vertices::default() };
    // Only one vertex moves, so the target is written as sparse.
    let normals = &[(3, [0.5, 0.0, 0.25])];
    let nod = MorphTarget::from_sparse(5, MorphDeltas { normals, ..MorphDeltas::default() }).expect("finite");
    let bare = SkinnedMesh::new(bare, Influences::rigid(5), vec![], vec![nod]).expect("valid");
    let empty = SkinnedMesh::new(Vertices::default(), Influences::rigid(0), vec![], vec![]).expect("valid");
    let place = |mesh: SkinnedMesh, placement, node| PlacedMesh {
        morph_weights: (0..mesh.morph_targets().len()).map(|i| i as f32 / 4.0).collect(),
        mesh,
        placement,
        node,
        color: [0.25, 0.5, 0.75, 1.0],
        drawable: node != 7,
        shown: node != 8,
    };
    vec![
        place(indexed(&rich), MeshPlacement::Skin(random.skin(joints)), 3),
        place(rich, MeshPlacement::Skin(random.skin(joints)), 7),
        place(bare.clone(), MeshPlacement::Joint(joints as u16 - 1), 8),
        place(bare, MeshPlacement::Fixed(Affine::from(random.transform())), 9),
        place(empty, MeshPlacement::Joint(0), u32::MAX),
    ]
}

/// Returns two models with meshes, clips, a document and an entry of an unknown kind.
fn example(random: &mut Random, joints: usize) -> (ContainerWriter, Skeleton, Vec<PlacedMesh>) {
    let mut writer = ContainerWriter::default();
    let (skeleton, other) = (random.skeleton(joints), random.skeleton(1));
    let mut meshes = meshes(random, joints);
    for mesh in &mut meshes {
        if let MeshPlacement::Skin(skin) = &mut mesh.placement {
            *skin = skin.clone().for_skeleton(&skeleton).expect("joints of this skeleton");
        }
    }
    let add = |writer: &mut ContainerWriter, kind, name: &str, model, data: &[u8]| {
        writer.add(kind, name, model, data).expect("a valid entry");
    };
    add(&mut writer, EntryKind::Unknown(77), "später", None, b"who knows");
    let model = writer.add_skeleton("狐", &skeleton).expect("a valid entry");
    for mesh in &meshes {
        writer.add_mesh("part", model, mesh, &skeleton).expect("a valid entry");
    }
    add(&mut writer, EntryKind::Clip, "run", Some(model), &[1; 17]);
    add(&mut writer, EntryKind::Clip, "", Some(model), &[]);
    let second = writer.add_skeleton("crow", &other).expect("a valid entry");
    add(&mut writer, EntryKind::Clip, "run", Some(second), &[2; 16]);
    add(&mut writer, EntryKind::Document, "source", Some(model), b"glTF");
    (writer, skeleton, meshes)
}

/// Reads all entries of a container, up to the first error.
fn read_all(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let container = Container::from_bytes(bytes)?;
    let mut skeletons = vec![None; container.entry_count()];
    for entry in container.entries().filter(|e| e.kind == EntryKind::Skeleton) {
        skeletons[entry.index] = Some(container.skeleton(entry.index)?);
    }
    let mut all = Vec::new();
    for entry in container.entries() {
        let skeleton = entry.model.and_then(|model| skeletons[model].as_ref());
        if let (EntryKind::Mesh, Some(skeleton)) = (entry.kind, skeleton) {
            container.mesh(entry.index, skeleton)?;
        }
        let line = std::format!("{:?} {} {:?}", entry.kind, entry.name, entry.model);
        all.push((line, container.data(entry.index)?.to_owned()));
    }
    Ok(all)
}

fn head_of(placed: &PlacedMesh) -> MeshHead {
    MeshHead {
        placement: placed.placement.clone(),
        node: placed.node,
        color: placed.color,
        vertex_count: placed.mesh.vertex_count(),
        index_count: placed.mesh.indices().len(),
        morph_target_count: placed.mesh.morph_targets().len(),
        drawable: placed.drawable,
        shown: placed.shown,
    }
}

#[test]
fn what_is_written_is_read_back() {
    for joints in [1, 2, 3, 16, 67] {
        let mut random = Random(joints as u64);
        let (writer, skeleton, meshes) = example(&mut random, joints);
        let bytes = writer.clone().finish();
        assert_eq!(writer.finish(), bytes, "{joints} joints, written twice");
        let container = Container::from_bytes(&bytes).expect("a container");
        assert_eq!((container.version(), container.as_bytes().len()), ((1, 1), bytes.len()));

        let model = container.find(EntryKind::Skeleton, "狐").expect("the model");
        assert_eq!(container.skeleton(model), Ok(skeleton.clone()), "{joints} joints");
        let found: Result<Vec<_>, _> =
            container.of_model(EntryKind::Mesh, model).map(|e| container.mesh(e.index, &skeleton)).collect();
        for (entry, mesh) in container.of_model(EntryKind::Mesh, model).zip(&meshes) {
            assert_eq!(container.mesh_head(entry.index, &skeleton), Ok(head_of(mesh)), "{joints} joints");
        }
        assert_eq!(found, Ok(meshes), "{joints} joints");
        let clips: Vec<_> =
            container.of_model(EntryKind::Clip, model).map(|e| (e.name, container.data(e.index))).collect();
        assert_eq!(clips, [("run", Ok(&[1; 17][..])), ("", Ok(&[][..]))]);
        let document = container.find(EntryKind::Document, "source").expect("the document");
        assert_eq!(container.document(document), Ok(&b"glTF"[..]));
        assert_eq!(container.find(EntryKind::Clip, "狐"), None);
        let unknown = container.entry(0).expect("the first");
        assert_eq!((unknown.kind, unknown.name, unknown.model), (EntryKind::Unknown(77), "später", None));
        assert_eq!(container.data(0), Ok(&b"who knows"[..]));
        assert!(container.entries().all(|e| e.offset % 16 == 0));
    }
}

#[test]
fn a_unit_is_said_beside_the_skeleton() {
    let (mut writer, ..) = example(&mut Random(5), 3);
    let silent = writer.clone().finish();
    let model = Container::from_bytes(&silent).expect("a container").find(EntryKind::Skeleton, "狐");
    let model = model.expect("the model");
    assert_eq!(Container::from_bytes(&silent).expect("a container").unit(model), None);
    writer.set_unit(model, 0.0125).expect("a skeleton");
    let said = writer.clone().finish();
    // The unit takes no extra bytes, and readers that do not know it read the same contents.
    assert_eq!((said.len(), read_all(&said)), (silent.len(), read_all(&silent)));
    let container = Container::from_bytes(&said).expect("a container");
    assert_eq!((container.unit(model), container.unit(0), container.unit(999)), (Some(0.0125), None, None));
    // Invalid units are neither written nor accepted by the reader.
    for metres in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(writer.set_unit(model, metres).is_err(), "{metres}");
        let mut bytes = said.clone();
        bytes[HEADER + model * ENTRY + 12..][..4].copy_from_slice(&metres.to_le_bytes());
        seal(&mut bytes);
        assert_eq!(Container::from_bytes(&bytes).expect("a container").unit(model), None, "{metres}");
    }
    assert!(writer.set_unit(0, 1.0).is_err() && writer.set_unit(999, 1.0).is_err());
}

#[test]
fn a_shell_is_stored_beside_the_clip() {
    let (mut writer, ..) = example(&mut Random(5), 3);
    let silent = writer.clone().finish();
    let container = Container::from_bytes(&silent).expect("a container");
    let clip = container.find(EntryKind::Clip, "run").expect("a clip");
    let model = container.entry(clip).expect("the clip").model.expect("a model of the clip");
    assert_eq!(container.shell(clip), None);
    writer.set_shell(clip, 0.05).expect("a clip");
    let stored = writer.clone().finish();
    assert_eq!((stored.len(), read_all(&stored)), (silent.len(), read_all(&silent)));
    let container = Container::from_bytes(&stored).expect("a container");
    assert_eq!(
        (container.shell(clip), container.shell(model), container.unit(clip)),
        (Some(0.05), None, None)
    );
    assert_eq!((container.shell(clip + 1), container.shell(999)), (None, None));
    for radius in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let refused = Error::OutOfRange { what: "radius", at: 0, needed: "a finite number above 0" };
        assert_eq!(writer.set_shell(clip, radius), Err(refused), "{radius}");
        let mut bytes = stored.clone();
        bytes[HEADER + clip * ENTRY + 12..][..4].copy_from_slice(&radius.to_le_bytes());
        seal(&mut bytes);
        assert_eq!(Container::from_bytes(&bytes).expect("a container").shell(clip), None, "{radius}");
    }
    let (count, found) = (container.entry_count(), model as u64);
    let expected = "the index of a clip";
    assert_eq!(writer.set_shell(model, 1.0), Err(Error::Value { what: "clips", at: count, found, expected }));
    assert!(writer.set_shell(999, 1.0).is_err() && writer.set_unit(clip, 1.0).is_err());
}

/// The error occurs when the entry is read; other entries are not affected.
#[test]
fn an_entry_with_a_newer_layout_is_refused() {
    let (mut writer, skeleton, _) = example(&mut Random(5), 3);
    writer.add(EntryKind::Metadata, "library", None, b"{}").expect("a valid entry");
    let file = writer.finish();
    let kinds: Vec<EntryKind> =
        Container::from_bytes(&file).expect("a container").entries().map(|entry| entry.kind).collect();
    for (index, kind) in kinds.into_iter().enumerate() {
        let mut newer = file.clone();
        newer[HEADER + index * ENTRY + 2..][..2].copy_from_slice(&7_u16.to_le_bytes());
        seal(&mut newer);
        let container = Container::from_bytes(&newer).expect("a container");
        let entry = container.entry(index).expect("an entry");
        assert_eq!((entry.kind, entry.version), (kind, 7));
        let refused: Vec<_> = (0..13).filter(|other| container.data(*other).is_err()).collect();
        let error = match kind {
            EntryKind::Unknown(_) => {
                assert!(refused.is_empty());
                continue;
            }
            EntryKind::Skeleton => container.skeleton(index).err(),
            EntryKind::Mesh => container.mesh(index, &skeleton).err(),
            EntryKind::Clip => container.clip(index).err(),
            EntryKind::Document => container.document(index).err(),
            _ => container.data(index).err(),
        };
        let newer = Error::Version { what: "entries", at: Some(index), found: 7, newest: 0 };
        assert_eq!((&refused[..], error.as_ref()), (&[index][..], Some(&newer)), "{kind:?}");
        let want = std::format!(
            "entries[{index}] has version 7, but only version 0 is supported: it was written by"
        );
        assert!(newer.to_string().starts_with(&want), "{newer}");
    }
}

#[test]
fn a_kind_may_be_said_by_its_number() {
    let mut writer = ContainerWriter::default();
    for code in [1, 2, 3, 4, 5, 6, 0, u16::MAX] {
        writer.add(EntryKind::Unknown(code), "", None, &[]).expect("an entry");
        assert_eq!(u16::from(EntryKind::from(code)), code);
    }
    assert_eq!(writer.add(EntryKind::Clip, "", Some(0), &[]), Ok(8), "the first is a skeleton");
    let bytes = writer.finish();
    let container = Container::from_bytes(&bytes).expect("a container");
    let kinds: Vec<_> = container.entries().map(|entry| entry.kind).take(6).collect();
    let named =
        [EntryKind::Skeleton, EntryKind::Mesh, EntryKind::Clip, EntryKind::Document, EntryKind::Metadata];
    assert_eq!((&kinds[..5], kinds[5]), (&named[..], EntryKind::Unknown(6)));
}

#[test]
fn nothing_at_all_is_a_container_too() {
    let bytes = ContainerWriter::default().finish();
    assert_eq!(bytes.len(), HEADER + CHECKSUM);
    assert_eq!(Container::from_bytes(&bytes).map(|c| c.entry_count()), Ok(0));
}

#[test]
fn a_reader_goes_by_what_it_has() {
    let (writer, skeleton, meshes) = example(&mut Random(3), 5);
    let bytes = writer.finish();
    assert_eq!(ContainerReader::needed(&[]), Ok(HEADER));
    let needed = ContainerReader::needed(&bytes[..HEADER]).expect("a header");
    for length in 0..needed {
        let wanted = if length < HEADER { HEADER } else { needed };
        assert_eq!(ContainerReader::needed(&bytes[..length]), Ok(wanted), "{length} bytes");
        let refused = ContainerReader::from_prefix(&bytes[..length]).expect_err("too few bytes");
        assert!(matches!(refused, Error::Truncated { .. }), "{length} bytes: {refused}");
    }
    let reader = ContainerReader::from_prefix(&bytes[..needed]).expect("the table is there");
    assert_eq!(reader.file_length(), bytes.len() as u64);
    let part = |index| {
        let entry = reader.entry(index).expect("an entry");
        &bytes[entry.offset as usize..][..entry.length as usize]
    };
    assert_eq!(reader.skeleton(1, part(1)), Ok(skeleton.clone()));
    assert_eq!(reader.mesh(2, part(2), &skeleton).as_ref(), Ok(&meshes[0]));
    // The bytes of another entry, too few bytes, and an index out of range.
    assert!(matches!(reader.skeleton(1, part(2)), Err(Error::Length { .. })));
    assert!(matches!(reader.data(7, &part(7)[1..]), Err(Error::Length { .. })));
    let swapped = [3; 17];
    assert_eq!(reader.data(7, &swapped), Err(Error::Checksum { what: "entries", at: Some(7) }));
    assert_eq!(reader.data(99, &[]), Err(Error::Index { what: "entries", at: 99, found: 99, count: 12 }));
    for (index, wrong) in [(0, "kinds of entries"), (1, "kinds of entries"), (11, "kinds of entries")] {
        let refused = reader.mesh(index, part(index), &skeleton).expect_err("no mesh");
        assert!(
            matches!(refused, Error::Value { what, at, .. } if what == wrong && at == index),
            "{refused}"
        );
    }
}

#[test]
fn every_truncation_and_every_extra_byte_is_refused() {
    let bytes = example(&mut Random(5), 3).0.finish();
    for length in 0..bytes.len() {
        let refused = Container::from_bytes(&bytes[..length]).expect_err("a part");
        assert!(matches!(refused, Error::Truncated { .. }), "{length} bytes: {refused}");
    }
    for extra in [1, 16, 100] {
        let longer = [&bytes[..], &vec![0; extra]].concat();
        let (found, needed) = (longer.len(), bytes.len());
        let refused = Err(Error::Length { what: "the bytes of a container", found, needed });
        assert_eq!(Container::from_bytes(&longer).map(|_| ()), refused);
    }
}

/// Only padding may change without an error, because it is not read.
#[test]
#[cfg_attr(miri, ignore = "slow")]
fn every_change_of_a_byte_is_refused_or_changes_nothing() {
    let mut bytes = example(&mut Random(6), 3).0.finish();
    let want = read_all(&bytes).expect("valid");
    let mut unnoticed = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            match read_all(&bytes) {
                Ok(found) => {
                    unnoticed += 1;
                    assert_eq!(found, want, "bit {bit} of byte {at}");
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            bytes[at] ^= 1 << bit;
        }
    }
    assert!(unnoticed <= 8 * 16 * want.len(), "{unnoticed} changes of padding");
}

#[test]
fn other_formats_and_newer_versions_are_named() {
    let bytes = ContainerWriter::default().finish();
    for other in [&b"glTF\x02\0\0\0"[..], b"{", b"CONDYLE1________________________"] {
        assert_eq!(Container::from_bytes(other).map(|_| ()), Err(Error::Magic { what: "a container" }));
        assert_eq!(ContainerReader::needed(other), Err(Error::Magic { what: "a container" }));
    }
    let versioned = |major: u16, minor: u16| {
        let mut bytes = bytes.clone();
        bytes[10..12].copy_from_slice(&minor.to_le_bytes());
        seal(&mut bytes);
        if major != MAJOR {
            bytes[8..10].copy_from_slice(&major.to_le_bytes());
        }
        Container::from_bytes(&bytes).map(|c| c.version())
    };
    for found in [0, 2, 256, u16::MAX] {
        assert_eq!(
            versioned(found, 0),
            Err(Error::Version { what: "a container", at: None, found, newest: 1 })
        );
    }
    assert_eq!([versioned(1, 0), versioned(1, 9)], [Ok((1, 0)), Ok((1, 9))]);
}

/// Corrects the checksum of the table.
fn seal(bytes: &mut [u8]) {
    let end = ContainerReader::needed(bytes).expect("a header") - CHECKSUM;
    let sum = checksum(&bytes[..end]);
    bytes[end..end + CHECKSUM].copy_from_slice(&sum.to_le_bytes());
}

/// Tables with wrong contents and a correct checksum.
#[test]
fn tables_that_cannot_be_are_refused_with_the_place() {
    let bytes = example(&mut Random(7), 2).0.finish();
    let field = |entry: usize, at: usize| HEADER + entry * ENTRY + at;
    let stored = |entry, at| bytes::u64_at(&bytes, field(entry, at));
    let with32 = |entry, at, value: u32| {
        let mut bytes = bytes.clone();
        bytes[field(entry, at)..][..4].copy_from_slice(&value.to_le_bytes());
        seal(&mut bytes);
        Container::from_bytes(&bytes).map(|_| ())
    };
    let with64 = |entry, at, value: u64| {
        let mut bytes = bytes.clone();
        bytes[field(entry, at)..][..8].copy_from_slice(&value.to_le_bytes());
        seal(&mut bytes);
        Container::from_bytes(&bytes).map(|_| ())
    };
    let value = |what, at, found, expected| Err(Error::Value { what, at, found, expected });
    assert_eq!(with32(2, 4, 1), Ok(()));
    assert_eq!(with32(2, 4, 12), Err(Error::Index { what: "models", at: 2, found: 12, count: 12 }));
    assert_eq!(with32(2, 4, 0), value("models", 2, 0, "the index of a skeleton"));
    let place = "an offset in the names, at least the end of the previous name";
    assert_eq!(with32(3, 8, 0), value("ends of names", 3, 0, place));
    assert_eq!(with32(3, 8, 9999), value("ends of names", 3, 9999, place));
    // Inside the multi-byte character that is the fox's name.
    assert_eq!(with32(0, 8, 8), Err(Error::NotText { what: "the names of a container", at: 0 }));
    let expected = "an offset after the table and the previous entry";
    assert_eq!(with64(1, 16, stored(1, 16) + 8), value("offsets", 1, stored(1, 16) + 8, "a multiple of 16"));
    assert_eq!(with64(0, 16, 0), value("offsets", 0, 0, expected));
    assert_eq!(with64(3, 16, stored(2, 16)), value("offsets", 3, stored(2, 16), expected));
    let most = u64::MAX - 15;
    let fits = "at most the rest of the file";
    assert_eq!(with64(3, 16, most), value("lengths", 3, stored(3, 24), fits));
    assert_eq!(with64(11, 24, 5), value("lengths", 11, 5, fits));
    assert_eq!(with64(11, 24, u64::MAX), value("lengths", 11, u64::MAX, fits));
    // An entry that overlaps the next one.
    let next = stored(3, 16);
    assert_eq!(with64(2, 24, stored(2, 24) + 16), value("offsets", 3, next, expected));
    // A file length in the header that ends inside the table.
    let mut empty = ContainerWriter::default().finish();
    empty[24..32].copy_from_slice(&39_u64.to_le_bytes());
    seal(&mut empty);
    assert_eq!(
        Container::from_bytes(&empty).map(|_| ()),
        value("length of the file", 0, 39, "at least the size of the table")
    );
    // Too many entries: the error reports the size needed, and nothing is allocated.
    let mut many = bytes.clone();
    many[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    match Container::from_bytes(&many) {
        Err(Error::Truncated { needed, .. }) => assert!(needed as u64 > 1 << 37),
        Err(Error::TooMany { what: "the table of a container", .. }) if usize::BITS < 64 => {}
        other => panic!("{:?}", other.map(|_| ())),
    }
}

#[test]
fn names_that_are_no_text_are_refused() {
    let mut bytes = example(&mut Random(8), 2).0.finish();
    let names = HEADER + 12 * ENTRY;
    assert_eq!(&bytes[names..names + 7], "später".as_bytes());
    bytes[names + 2] = 0xff;
    seal(&mut bytes);
    let refused = Container::from_bytes(&bytes).map(|_| ());
    assert_eq!(refused, Err(Error::NotText { what: "the names of a container", at: 0 }));
}

/// Reads an entry with a correct checksum and arbitrary contents.
fn read_entry(kind: EntryKind, data: &[u8], skeleton: &Skeleton) -> Result<(), Error> {
    let mut writer = ContainerWriter::default();
    let model = writer.add_skeleton("", skeleton)?;
    let index = writer.add(kind, "", Some(model), data)?;
    let bytes = writer.finish();
    let container = Container::from_bytes(&bytes)?;
    match kind {
        EntryKind::Skeleton => container.skeleton(index).map(|_| ()),
        _ => {
            let read = container.mesh(index, skeleton);
            // A mesh that can be read has a head that can be read.
            if let Ok(mesh) = &read {
                assert_eq!(container.mesh_head(index, skeleton), Ok(head_of(mesh)));
            }
            read.map(|_| ())
        }
    }
}

#[test]
fn skeletons_that_cannot_be_are_refused() {
    let skeleton = Random(9).skeleton(3);
    let mut data = Vec::new();
    models::write_skeleton(&skeleton, &mut data).expect("a skeleton");
    let read = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut data = data.clone();
        change(&mut data);
        read_entry(EntryKind::Skeleton, &data, &skeleton)
    };
    assert_eq!(read(&|_| {}), Ok(()));
    for length in 0..data.len() {
        assert!(read(&|data| data.truncate(length)).is_err(), "{length} bytes");
    }
    let what = "bytes after a skeleton";
    assert_eq!(read(&|data| data.push(0)), Err(Error::Length { what, found: 1, needed: 0 }));
    assert_eq!(read(&|data| data[10] = 1), Err(Error::ParentOrder { joint: 1, parent: 1 }));
    let nan = |data: &mut Vec<u8>| data[8 + 8 + 12..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_eq!(read(&nan), Err(Error::NotFinite { what: "joints", at: 0 }));
    let end = 8 + 8 + 12 + 120;
    assert_eq!(read(&|data| data[end] = 99), Err(Error::NotText { what: "names of joints", at: 0 }));
    assert_eq!(read(&|data| data[end + 4] = 0), Err(Error::NotText { what: "names of joints", at: 1 }));
    // Three names of seven letters, with one letter that belongs to no name.
    let what = "names of joints";
    let refused = Err(Error::Length { what, found: 21, needed: 20 });
    assert_eq!(read(&|data| data[end + 8] = 20), refused);
    let many = |data: &mut Vec<u8>| data[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(read(&many), Err(Error::Truncated { what: "parents", .. })));
}

#[test]
fn meshes_that_cannot_be_are_refused() {
    let mut random = Random(10);
    let skeleton = random.skeleton(3);
    let meshes = meshes(&mut random, 3);
    let [skinned, _, held, fixed, _] = &meshes[..] else { panic!("five meshes") };
    let bytes = |mesh: &PlacedMesh| {
        let mut data = Vec::new();
        models::write_mesh(mesh, &skeleton, &mut data).expect("a mesh");
        data
    };
    for (name, mesh) in [("skinned", skinned), ("held", held), ("fixed", fixed)] {
        let data = bytes(mesh);
        for length in 0..data.len() {
            let refused = read_entry(EntryKind::Mesh, &data[..length], &skeleton).expect_err("a part");
            let short = matches!(refused, Error::Truncated { .. } | Error::TooShort { .. });
            assert!(short, "{name}, {length} bytes: {refused}");
        }
        let refused = read_entry(EntryKind::Mesh, &[&data[..], &[0; 4]].concat(), &skeleton);
        let what = "bytes after a mesh";
        assert_eq!(refused, Err(Error::Length { what, found: 4, needed: 0 }), "{name}");
    }
    let with = |mesh, at: usize, value: u32| {
        let mut data = bytes(mesh);
        data[at..at + 4].copy_from_slice(&value.to_le_bytes());
        read_entry(EntryKind::Mesh, &data, &skeleton)
    };
    for flags in [1, 32, u32::MAX] {
        let refused = with(held, 0, flags);
        assert!(matches!(refused, Err(Error::Value { what: "flags of a mesh", .. })), "{refused:?}");
    }
    assert!(matches!(with(held, 4, 3), Err(Error::Value { what: "placement of a mesh", found: 3, .. })));
    // Counts larger than the file: vertices, influences, indices, morph targets, joints.
    for at in [12, 16, 20, 24, 28] {
        for mesh in [skinned, held] {
            assert!(with(mesh, at, u32::MAX).is_err() && with(mesh, at, 1 << 30).is_err(), "at {at}");
        }
    }
    // The morph target at the end: flags, number of vertices that move, the vertex, and the delta of its
    // normal.
    let target = bytes(held).len() - 24;
    let refused = with(held, target, 16);
    assert!(matches!(refused, Err(Error::Value { what: "flags of morph targets", .. })), "{refused:?}");
    for moved in [2, u32::MAX] {
        assert!(matches!(with(held, target + 4, moved), Err(Error::Truncated { .. })));
    }
    let what = "morph normals";
    assert_eq!(with(held, target + 8, 5), Err(Error::Index { what, at: 0, found: 5, count: 5 }));
    assert_eq!(with(held, target + 12, f32::NAN.to_bits()), Err(Error::NotFinite { what, at: 0 }));
    assert_eq!(with(held, 32, f32::NAN.to_bits()), Err(Error::NotFinite { what: "color", at: 0 }));
    let what = "joint of a mesh";
    assert_eq!(with(held, 48, 3), Err(Error::Index { what, at: 0, found: 3, count: 3 }));
    assert!(matches!(with(held, 48, 65_536), Err(Error::Value { what: "joint of a mesh", .. })));
    assert_eq!(
        with(fixed, 48, f32::INFINITY.to_bits()),
        Err(Error::NotFinite { what: "matrix of a mesh", at: 0 })
    );
    let what = "joints of a skin";
    assert_eq!(with(skinned, 48, 9), Err(Error::Index { what, at: 0, found: 9, count: 3 }));
    // The ends of the rows follow 3 joints and their matrices, 3 weights and 11 vertices.
    let ends = 48 + 8 + 3 * 48 + 12 + 11 * (12 + 12 + 16);
    assert!(matches!(
        with(skinned, ends, 44),
        Err(Error::Value { what: "ends of influences", at: 0 | 1, .. })
    ));
    let influences = skinned.mesh.influences().as_slices().1.len() as u32;
    let last = with(skinned, ends + 40, influences - 1);
    let needed = influences as usize - 1;
    assert_eq!(last, Err(Error::Length { what: "influences", found: needed + 1, needed }));
    // A joint that the skin lacks.
    let refused = with(skinned, ends + 44, 0x0009_0009);
    assert_eq!(refused, Err(Error::TooShort { what: "joints of the skin", found: 3, needed: 10 }));
}

#[test]
fn what_would_not_be_read_is_not_written() {
    let mut random = Random(11);
    let (skeleton, small) = (random.skeleton(3), random.skeleton(2));
    let mesh = meshes(&mut random, 3).swap_remove(0);
    let mut writer = ContainerWriter::default();
    let model = writer.add_skeleton("", &skeleton).expect("a skeleton");
    let clip = writer.add(EntryKind::Clip, "", Some(model), &[]).expect("a clip");
    let refused = writer.add_mesh("", model, &mesh, &small);
    assert!(matches!(refused, Err(Error::Index { what: "joints of a skin", .. })), "{refused:?}");
    let short = PlacedMesh { morph_weights: vec![0.0; 2], ..mesh.clone() };
    let refused = writer.add_mesh("", model, &short, &skeleton);
    assert_eq!(refused, Err(Error::Length { what: "morph weights", found: 2, needed: 3 }));
    let several = PlacedMesh { placement: MeshPlacement::Joint(0), ..mesh.clone() };
    let refused = writer.add_mesh("", model, &several, &skeleton);
    assert!(
        matches!(refused, Err(Error::Index { what: "joints of influences", count: 1, .. })),
        "{refused:?}"
    );
    let odd = PlacedMesh { morph_weights: vec![0.0, f32::NAN, 0.0], ..mesh.clone() };
    let refused = writer.add_mesh("", model, &odd, &skeleton);
    assert_eq!(refused, Err(Error::NotFinite { what: "morph weights", at: 1 }));
    let odd = PlacedMesh { color: [f32::NAN; 4], ..mesh.clone() };
    let refused = writer.add_mesh("", model, &odd, &skeleton);
    assert_eq!(refused, Err(Error::NotFinite { what: "color", at: 0 }));
    for (model, refused) in [
        (9, Error::Index { what: "models", at: 2, found: 9, count: 2 }),
        (clip, Error::Value { what: "models", at: 2, found: 1, expected: "the index of a skeleton" }),
    ] {
        assert_eq!(writer.add(EntryKind::Clip, "", Some(model), &[]), Err(refused));
    }
    // The rejected calls have not changed the writer.
    assert_eq!(Container::from_bytes(&writer.finish()).map(|c| c.entry_count()), Ok(2));
}

/// Random bytes with correct checksums. Nothing may panic, and accepted contents are written as the same
/// contents.
#[test]
fn damage_behind_right_checksums() {
    let mut random = Random(12);
    let skeleton = random.skeleton(3);
    let mesh = meshes(&mut random, 3).swap_remove(0);
    let (mut whole, mut bones) = (Vec::new(), Vec::new());
    models::write_mesh(&mesh, &skeleton, &mut whole).expect("a mesh");
    models::write_skeleton(&skeleton, &mut bones).expect("a skeleton");
    let mut accepted = 0;
    for round in 0..tries(4000) {
        let mut data = if round % 2 == 0 { whole.clone() } else { bones.clone() };
        for _ in 0..=random.below(3) {
            let at = random.below(data.len().min(if round % 3 == 0 { 64 } else { usize::MAX }));
            data[at] = random.bits() as u8;
        }
        let mut again = Vec::new();
        if round % 2 == 0 {
            let Ok(mesh) = models::read_mesh(&data, &skeleton) else { continue };
            models::write_mesh(&mesh, &skeleton, &mut again).expect("a mesh or skeleton that was read");
            // Unsorted rows are sorted.
            assert_eq!(models::read_mesh(&again, &skeleton), Ok(mesh), "round {round}");
        } else {
            let Ok(skeleton) = models::read_skeleton(&data) else { continue };
            models::write_skeleton(&skeleton, &mut again).expect("a mesh or skeleton that was read");
            assert_eq!(models::read_skeleton(&again), Ok(skeleton), "round {round}");
        }
        accepted += 1;
    }
    assert!(cfg!(miri) || accepted > 500, "{accepted}");
}

/// The model field of an unknown kind may hold any value.
#[test]
fn an_entry_of_an_unknown_kind_is_passed_over() {
    let mut writer = ContainerWriter::default();
    writer.add(EntryKind::Clip, "run", None, b"run").expect("anything");
    writer.add(EntryKind::Unknown(99), "new", None, b"new").expect("anything");
    let file = writer.finish();
    for model in [0_u32, 1, 77] {
        let mut file = file.clone();
        file[HEADER + ENTRY + 4..][..4].copy_from_slice(&model.to_le_bytes());
        seal(&mut file);
        let container = Container::from_bytes(&file).expect("a container");
        let found: Vec<_> = container.entries().map(|entry| (entry.name, entry.model)).collect();
        assert_eq!(found, [("run", None), ("new", None)]);
        assert_eq!(container.data(1), Ok(&b"new"[..]));
    }
}
