//! Arbitrary bytes as a container, and written containers with a few bytes replaced and with valid checksums.
#![no_main]

use std::hint::black_box;
use std::sync::OnceLock;

use arbitrary::{Result, Unstructured};
use condyle::container::{
    Container, ContainerReader, ContainerWriter, EntryKind, MeshPlacement, PlacedMesh, checksum,
};
use condyle::mesh::MorphDeltas;
use condyle::{Affine, Influences, Joint, MorphTarget, Skeleton, Skin, SkinnedMesh, Transform, Vertices};

/// A whole file, and its skeleton and mesh as bytes.
struct Seed {
    file: Vec<u8>,
    skeleton: Vec<u8>,
    mesh: Vec<u8>,
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    open(bytes);
    static SEED: OnceLock<Seed> = OnceLock::new();
    // If the input ends during an edit, the earlier edits still count.
    build(SEED.get_or_init(seed), &mut Unstructured::new(bytes)).ok();
});

fn seed() -> Seed {
    let joint = |name: &str, parent| Joint::new(name, parent, Transform::IDENTITY);
    let skeleton = Skeleton::new([joint("hip", None), joint("knee", Some(0))]).expect("parents first");
    let vertices = Vertices {
        positions: vec![[0.0; 3]; 3],
        normals: vec![[0.0, 0.0, 1.0]; 3],
        tangents: vec![[1.0, 0.0, 0.0, 1.0]; 3],
    };
    let rows = [vec![(0, 0.5), (1, 0.5)], vec![(1, 1.0)], vec![]];
    let influences = Influences::from_rows(rows).expect("finite");
    let smile = MorphDeltas { positions: &[(1, [1.0; 3])], ..MorphDeltas::default() };
    let smile = MorphTarget::from_sparse(3, smile).expect("finite");
    let mesh = SkinnedMesh::new(vertices, influences, vec![0, 1, 2], vec![smile]).expect("a mesh");
    let skin = Skin::new(vec![0, 1], vec![Affine::IDENTITY; 2]).expect("equal lengths");
    let mut mesh = PlacedMesh::new(mesh, MeshPlacement::Skin(skin));
    (mesh.morph_weights, mesh.node) = (vec![0.5], 2);
    let mut writer = ContainerWriter::default();
    let model = writer.add_skeleton("fox", &skeleton).expect("a skeleton");
    let part = writer.add_mesh("body", model, &mesh, &skeleton).expect("a mesh");
    writer.add(EntryKind::Clip, "run", Some(model), &[1; 9]).expect("a clip");
    writer.add(EntryKind::Unknown(99), "", None, &[2; 3]).expect("anything");
    let file = writer.finish();
    let container = Container::from_bytes(&file).expect("what was written");
    let data = |index| container.data(index).expect("what was written").to_vec();
    Seed { skeleton: data(model), mesh: data(part), file: file.clone() }
}

/// Edits the seed's file and corrects its checksum, or edits one of its entries and writes a new file.
fn build(seed: &Seed, input: &mut Unstructured<'_>) -> Result<()> {
    if input.arbitrary()? {
        let mut file = seed.file.clone();
        edit(&mut file, input)?;
        let end = ContainerReader::needed(&file).ok().and_then(|n| n.checked_sub(8));
        if let Some(end) = end.filter(|&end| end + 8 <= file.len()) {
            let sum = checksum(&file[..end]).to_le_bytes();
            file[end..end + 8].copy_from_slice(&sum);
        }
        open(&file);
        return Ok(());
    }
    let (mut skeleton, mut mesh) = (seed.skeleton.clone(), seed.mesh.clone());
    let done = if input.ratio(1, 4)? { edit(&mut skeleton, input) } else { edit(&mut mesh, input) };
    let mut writer = ContainerWriter::default();
    let model = writer.add(EntryKind::Skeleton, "", None, &skeleton).expect("any bytes");
    writer.add(EntryKind::Mesh, "", Some(model), &mesh).expect("any bytes");
    open(&writer.finish());
    done
}

/// Replaces a few values, and sometimes truncates or extends the bytes.
fn edit(bytes: &mut Vec<u8>, input: &mut Unstructured<'_>) -> Result<()> {
    for _ in 0..4 {
        if input.is_empty() || bytes.is_empty() {
            break;
        }
        let at = input.choose_index(bytes.len())?;
        match input.int_in_range(0..=7)? {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_slice(input.arbitrary::<[u8; 4]>()?.as_slice()),
            2 | 3 => bytes[at] = input.arbitrary()?,
            _ => {
                // Counts, offsets and indices are at multiples of four. Small values get past more checks.
                let number = if input.arbitrary()? {
                    input.arbitrary::<u8>()?.into()
                } else {
                    input.arbitrary::<u32>()?
                };
                let word = bytes.get_mut(at / 4 * 4..at / 4 * 4 + 4);
                word.into_iter().for_each(|word| word.copy_from_slice(&number.to_le_bytes()));
            }
        }
    }
    Ok(())
}

/// Reads every entry. Accepted content must survive a round trip through the writer.
fn open(bytes: &[u8]) {
    let container = match Container::from_bytes(bytes) {
        Ok(container) => container,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut writer = ContainerWriter::default();
    for entry in container.entries() {
        black_box((container.clip(entry.index).is_ok(), container.document(entry.index).is_ok()));
        if let Ok(skeleton) = container.skeleton(entry.index) {
            let model = writer.add_skeleton(entry.name, &skeleton).expect("it was read");
            let meshes = container.of_model(EntryKind::Mesh, entry.index);
            for mesh in meshes.filter_map(|mesh| container.mesh(mesh.index, &skeleton).ok()) {
                let added = writer.add_mesh("", model, &mesh, &skeleton).expect("it was read");
                let file = writer.clone().finish();
                let again = Container::from_bytes(&file).expect("it was written");
                assert_eq!(again.mesh(added, &skeleton).as_ref(), Ok(&mesh));
            }
        }
    }
}
