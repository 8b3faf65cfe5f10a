//! Layout of skeletons and meshes in a container.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::mesh::{Influences, MorphDelta, MorphDeltas, MorphTarget, Skin, SkinnedMesh, Vertices};
use crate::skeleton::{Joint, NO_NODE, NO_PARENT, Skeleton};
use condyle_base::bytes::{Source, put_floats, put_u16s, put_u32s};
use condyle_base::error::Error;
use condyle_base::math::{Affine, Transform};

/// A mesh of a model with its placement, material colour and morph weights.
///
/// The mesh is checked against its skeleton when it is written and when it is read.
///
/// ```
/// use condyle::container::{Container, ContainerWriter, MeshPlacement, PlacedMesh};
/// use condyle::example;
///
/// let skeleton = example::skeleton();
/// let mut writer = ContainerWriter::default();
/// let model = writer.add_skeleton("walker", &skeleton)?;
/// let mut sleeve = PlacedMesh::new(example::mesh(), MeshPlacement::Skin(example::skin()));
/// sleeve.color = [0.6, 0.6, 0.7, 1.0];
/// let at = writer.add_mesh("sleeve", model, &sleeve, &skeleton)?;
/// let file = writer.finish();
/// assert_eq!(Container::from_bytes(&file)?.mesh(at, &skeleton)?, sleeve);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlacedMesh {
    /// Vertices in the bind pose.
    pub mesh: SkinnedMesh,
    /// Skin, joint or matrix that moves them.
    pub placement: MeshPlacement,
    /// Default weight of each morph target, used if no clip drives it.
    pub morph_weights: Vec<f32>,
    /// Index of the document's node, by which [`Target::Weights`](crate::Target::Weights) refers to these
    /// morph targets.
    pub node: u32,
    /// Colour of the material: linear red, green, blue, and opacity, normally from 0 to 1.
    pub color: [f32; 4],
    /// Whether the mesh consists of triangles, and not of points or lines.
    pub drawable: bool,
    /// Whether the document's default scene contains it.
    pub shown: bool,
}

/// A mesh without its vertices: all that a program needs that draws the mesh from another file.
///
/// ```
/// use condyle::container::{Container, ContainerWriter, MeshPlacement, PlacedMesh};
/// use condyle::example;
///
/// let skeleton = example::skeleton();
/// let mut writer = ContainerWriter::default();
/// let model = writer.add_skeleton("walker", &skeleton)?;
/// let sleeve = PlacedMesh::new(example::mesh(), MeshPlacement::Skin(example::skin()));
/// let at = writer.add_mesh("sleeve", model, &sleeve, &skeleton)?;
/// let head = Container::from_bytes(&writer.finish())?.mesh_head(at, &skeleton)?;
/// assert_eq!((head.vertex_count, head.placement), (sleeve.mesh.vertex_count(), sleeve.placement));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MeshHead {
    /// Skin, joint or matrix that moves the mesh.
    pub placement: MeshPlacement,
    /// Index of the document's node.
    pub node: u32,
    /// Colour of the material: linear red, green, blue, and opacity.
    pub color: [f32; 4],
    /// Number of vertices.
    pub vertex_count: usize,
    /// Number of vertex indices.
    pub index_count: usize,
    /// Number of morph targets.
    pub morph_target_count: usize,
    /// Whether the mesh consists of triangles, and not of points or lines.
    pub drawable: bool,
    /// Whether the document's default scene contains it.
    pub shown: bool,
}

/// Skin, joint or matrix that moves a mesh.
///
/// ```
/// use condyle::Affine;
/// use condyle::container::MeshPlacement;
///
/// // The joints that a mesh follows.
/// let follows = |placement: &MeshPlacement| match placement {
///     MeshPlacement::Skin(skin) => format!("{} joints", skin.joints().len()),
///     MeshPlacement::Joint(joint) => format!("joint {joint}"),
///     MeshPlacement::Fixed(_) => "nothing".to_string(),
/// };
/// assert_eq!(follows(&MeshPlacement::Joint(7)), "joint 7");
/// assert_eq!(follows(&MeshPlacement::Fixed(Affine::IDENTITY)), "nothing");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum MeshPlacement {
    /// Each vertex follows joints of the skin, by its influences.
    Skin(Skin),
    /// The whole mesh follows one joint of the skeleton. Its influences use only joint 0, as in
    /// [`Influences::rigid`].
    Joint(u16),
    /// The mesh does not move: this matrix transforms it to model space. Its influences use only joint 0.
    Fixed(Affine),
}

impl PlacedMesh {
    /// Returns a visible mesh of opaque white triangles with node 0 and all morph weights 0.
    #[must_use]
    pub fn new(mesh: SkinnedMesh, placement: MeshPlacement) -> Self {
        let morph_weights = vec![0.0; mesh.morph_targets().len()];
        Self { mesh, placement, morph_weights, node: 0, color: [1.0; 4], drawable: true, shown: true }
    }

    /// Checks that the parts match each other, and that their joints exist in the skeleton.
    fn check(&self, skeleton: &Skeleton) -> Result<(), Error> {
        let targets = self.mesh.morph_targets().len();
        Error::check_len("morph weights", self.morph_weights.len(), targets)?;
        Error::check_finite("morph weights", &self.morph_weights, 1)?;
        Error::check_finite("color", &self.color, 1)?;
        self.placement.check(skeleton)?;
        let (_, named, _) = self.mesh.influences().as_slices();
        let count = match &self.placement {
            MeshPlacement::Skin(skin) => skin.joints().len(),
            MeshPlacement::Joint(_) | MeshPlacement::Fixed(_) => 1,
        };
        check_joints("joints of influences", named, count)
    }
}

impl MeshPlacement {
    /// Checks that the joints exist in the skeleton.
    fn check(&self, skeleton: &Skeleton) -> Result<(), Error> {
        let count = skeleton.joint_count();
        match self {
            Self::Skin(skin) => {
                check_joints("joints of a skin", skin.joints(), count)?;
                skin.fits(skeleton)
            }
            Self::Joint(joint) => check_joints("joint of a mesh", &[*joint], count),
            Self::Fixed(matrix) => Error::check_finite("matrix of a mesh", matrix.rows.as_flattened(), 1),
        }
    }

    /// Binds a skin to the skeleton, even if it was not bound when it was written.
    fn bound(self, skeleton: &Skeleton) -> Result<Self, Error> {
        match self {
            Self::Skin(skin) => Ok(Self::Skin(skin.for_skeleton(skeleton)?)),
            other => Ok(other),
        }
    }
}

/// Checks that all joints are below `count`.
fn check_joints(what: &'static str, joints: &[u16], count: usize) -> Result<(), Error> {
    match joints.iter().position(|&joint| usize::from(joint) >= count) {
        None => Ok(()),
        Some(at) => Err(Error::Index { what, at, found: joints[at].into(), count }),
    }
}

/// Returns a length as 32 bits, as stored in the file.
fn count(what: &'static str, found: usize) -> Result<u32, Error> {
    u32::try_from(found).map_err(|_| Error::TooMany { what, found, limit: u32::MAX as usize })
}

pub(super) fn write_skeleton(skeleton: &Skeleton, out: &mut Vec<u8>) -> Result<(), Error> {
    let names: usize = skeleton.names().iter().map(String::len).sum();
    put_u32s(out, [count("joints", skeleton.joint_count())?, count("names of joints", names)?]);
    put_u16s(out, skeleton.parents());
    put_u32s(out, skeleton.nodes().iter().copied());
    for rest in skeleton.rest().transforms() {
        put_floats(out, &rest.rotation);
        put_floats(out, &rest.translation);
        put_floats(out, &rest.scale);
    }
    let mut end = 0;
    for name in skeleton.names() {
        end += name.len();
        // At most the sum of all lengths, which fits 32 bits.
        put_u32s(out, [end as u32]);
    }
    skeleton.names().iter().for_each(|name| out.extend(name.as_bytes()));
    Ok(())
}

pub(super) fn read_skeleton(data: &[u8]) -> Result<Skeleton, Error> {
    let mut source = Source(data);
    let [joints, text] = source.words("a skeleton")?.map(|n| n as usize);
    let parents = source.u16s("parents", joints)?;
    let nodes = source.u32s("nodes", joints)?;
    let rest = source.vectors::<10>("rest transforms", joints)?;
    let ends = source.u32s("ends of names", joints)?;
    let text = core::str::from_utf8(source.bytes("names of joints", text)?)
        .map_err(|_| Error::NotText { what: "names of joints", at: 0 })?;
    source.end("bytes after a skeleton")?;

    let mut start = 0;
    let mut found = Vec::with_capacity(joints);
    for (at, (((parent, node), rest), end)) in parents.zip(nodes).zip(rest).zip(ends).enumerate() {
        let end = end as usize;
        let name = text.get(start..end).ok_or(Error::NotText { what: "names of joints", at })?;
        start = end;
        let [x, y, z, w, tx, ty, tz, sx, sy, sz] = rest;
        found.push(Joint {
            name: name.into(),
            parent: Some(parent).filter(|&p| p != NO_PARENT),
            node: Some(node).filter(|&node| node != NO_NODE),
            rest: Transform { rotation: [x, y, z, w], translation: [tx, ty, tz], scale: [sx, sy, sz] },
        });
    }
    Error::check_len("names of joints", text.len(), start)?;
    let skeleton = Skeleton::new(found)?;
    Ok(skeleton)
}

/// Flags in the first word of a mesh or morph target. A mesh always has positions, so it has no flag for
/// them.
const POSITIONS: u32 = 1;
const NORMALS: u32 = 2;
const TANGENTS: u32 = 4;
const DRAWABLE: u32 = 8;
const SHOWN: u32 = 16;
/// Flag of a morph target: the vertices that move are listed.
const SPARSE: u32 = 8;

const SKIN: u32 = 0;
const JOINT: u32 = 1;
const FIXED: u32 = 2;

fn flag(bit: u32, is: bool) -> u32 {
    if is { bit } else { 0 }
}

pub(super) fn write_mesh(placed: &PlacedMesh, skeleton: &Skeleton, out: &mut Vec<u8>) -> Result<(), Error> {
    placed.check(skeleton)?;
    let mesh = &placed.mesh;
    let Vertices { positions, normals, tangents } = mesh.vertices();
    let (starts, joints, weights) = mesh.influences().as_slices();
    let (kind, skin_joints) = match &placed.placement {
        MeshPlacement::Skin(skin) => (SKIN, skin.joints().len()),
        MeshPlacement::Joint(_) => (JOINT, 0),
        MeshPlacement::Fixed(_) => (FIXED, 0),
    };
    let flags = flag(NORMALS, !normals.is_empty())
        | flag(TANGENTS, !tangents.is_empty())
        | flag(DRAWABLE, placed.drawable)
        | flag(SHOWN, placed.shown);
    put_u32s(
        out,
        [
            flags,
            kind,
            placed.node,
            count("vertices", positions.len())?,
            count("influences", joints.len())?,
            count("indices", mesh.indices().len())?,
            count("morph targets", mesh.morph_targets().len())?,
            count("joints of a skin", skin_joints)?,
        ],
    );
    put_floats(out, &placed.color);
    match &placed.placement {
        MeshPlacement::Skin(skin) => {
            put_u16s(out, skin.joints());
            skin.inverse_bind().iter().for_each(|m| put_floats(out, m.rows.as_flattened()));
        }
        MeshPlacement::Joint(joint) => put_u32s(out, [(*joint).into()]),
        MeshPlacement::Fixed(matrix) => put_floats(out, matrix.rows.as_flattened()),
    }
    put_floats(out, &placed.morph_weights);
    put_floats(out, positions.as_flattened());
    put_floats(out, normals.as_flattened());
    put_floats(out, tangents.as_flattened());
    put_u32s(out, starts.iter().skip(1).copied());
    put_u16s(out, joints);
    put_floats(out, weights);
    put_u32s(out, mesh.indices().iter().copied());
    for target in mesh.morph_targets() {
        write_target(target, out)?;
    }
    Ok(())
}

/// Writes the deltas of all vertices, or only of those that move if that takes fewer bytes.
fn write_target(target: &MorphTarget, out: &mut Vec<u8>) -> Result<(), Error> {
    let attributes = [
        Some(POSITIONS).filter(|_| target.has_positions()),
        Some(NORMALS).filter(|_| target.has_normals()),
        Some(TANGENTS).filter(|_| target.has_tangents()),
    ];
    let present = || attributes.into_iter().flatten();
    let pick = |attribute, delta: MorphDelta| match attribute {
        POSITIONS => delta.position,
        NORMALS => delta.normal,
        _ => delta.tangent,
    };
    let each = 12 * present().count();
    let moved = target.deltas().count();
    let sparse = moved.saturating_mul(4 + each) < target.vertex_count().saturating_mul(each);
    put_u32s(out, [present().sum::<u32>() | flag(SPARSE, sparse)]);
    if sparse {
        put_u32s(out, [count("vertices of a morph target", moved)?]);
        put_u32s(out, target.deltas().map(|(vertex, _)| vertex));
    }
    for attribute in present() {
        let mut put = |delta| put_floats(out, &pick(attribute, delta));
        if sparse {
            target.deltas().for_each(|(_, delta)| put(delta));
        } else {
            (0..target.vertex_count()).for_each(|vertex| put(target.delta(vertex)));
        }
    }
    Ok(())
}

/// Checks that no unknown bits are set.
fn check_flags(what: &'static str, at: usize, found: u32, known: u32) -> Result<(), Error> {
    match found & !known {
        0 => Ok(()),
        _ => Err(Error::Value { what, at, found: found.into(), expected: "only known bits" }),
    }
}

/// Reads the first part of a mesh, with its flags and its number of influences.
fn read_head(source: &mut Source<'_>) -> Result<(MeshHead, u32, usize), Error> {
    let [flags, kind, node, vertices, influences, indices, targets, joints] = source.words("a mesh")?;
    check_flags("flags of a mesh", 0, flags, NORMALS | TANGENTS | DRAWABLE | SHOWN)?;
    let [vertex_count, influences, index_count, morph_target_count, joints] =
        [vertices, influences, indices, targets, joints].map(|n| n as usize);
    let color = source.words("a mesh")?.map(f32::from_bits);
    let placement = read_placement(source, kind, joints)?;
    let (drawable, shown) = (flags & DRAWABLE != 0, flags & SHOWN != 0);
    let head =
        MeshHead { placement, node, color, vertex_count, index_count, morph_target_count, drawable, shown };
    Ok((head, flags, influences))
}

/// Reads a mesh without its vertices, whose bytes are not checked.
pub(super) fn read_mesh_head(data: &[u8], skeleton: &Skeleton) -> Result<MeshHead, Error> {
    let (mut head, ..) = read_head(&mut Source(data))?;
    head.placement.check(skeleton)?;
    Error::check_finite("color", &head.color, 1)?;
    head.placement = head.placement.bound(skeleton)?;
    Ok(head)
}

pub(super) fn read_mesh(data: &[u8], skeleton: &Skeleton) -> Result<PlacedMesh, Error> {
    let mut source = Source(data);
    let (head, flags, influences) = read_head(&mut source)?;
    let MeshHead { placement, node, color, vertex_count: vertices, drawable, shown, .. } = head;
    let (indices, targets) = (head.index_count, head.morph_target_count);
    let morph_weights = floats(&mut source, "morph weights", targets)?;
    let present = |bit, flags: u32| if flags & bit == 0 { 0 } else { vertices };
    let bind = Vertices {
        positions: source.vectors("positions", vertices)?,
        normals: source.vectors("normals", present(NORMALS, flags))?,
        tangents: source.vectors("tangents", present(TANGENTS, flags))?,
    };
    let influences = read_influences(&mut source, vertices, influences)?;
    let indices = source.u32s("indices", indices)?.collect();
    // Bounded by the number of weights, which are already read.
    let mut morph_targets = Vec::with_capacity(targets);
    for at in 0..targets {
        morph_targets.push(read_target(&mut source, at, vertices)?);
    }
    source.end("bytes after a mesh")?;
    let influences = match &placement {
        MeshPlacement::Skin(skin) => influences.for_skin_of(skin.joints().len())?,
        _ => influences,
    };
    let mut placed = PlacedMesh {
        mesh: SkinnedMesh::new(bind, influences, indices, morph_targets)?,
        placement,
        morph_weights,
        node,
        color,
        drawable,
        shown,
    };
    placed.check(skeleton)?;
    placed.placement = placed.placement.bound(skeleton)?;
    Ok(placed)
}

fn read_target(source: &mut Source<'_>, at: usize, vertices: usize) -> Result<MorphTarget, Error> {
    let [flags] = source.words("morph targets")?;
    check_flags("flags of morph targets", at, flags, POSITIONS | NORMALS | TANGENTS | SPARSE)?;
    let attributes = |source: &mut Source<'_>, moved: usize| -> Result<[Vec<[f32; 3]>; 3], Error> {
        let count = |bit| if flags & bit == 0 { 0 } else { moved };
        Ok([
            source.vectors("morph positions", count(POSITIONS))?,
            source.vectors("morph normals", count(NORMALS))?,
            source.vectors("morph tangents", count(TANGENTS))?,
        ])
    };
    if flags & SPARSE == 0 {
        let [positions, normals, tangents] = &attributes(source, vertices)?;
        return MorphTarget::from_dense(vertices, MorphDeltas { positions, normals, tangents });
    }
    let [moved] = source.words("morph targets")?;
    let moved = source.u32s("vertices of a morph target", moved as usize)?;
    let with_vertex = |deltas: Vec<[f32; 3]>| -> Vec<_> { moved.clone().zip(deltas).collect() };
    let [positions, normals, tangents] = &attributes(source, moved.len())?.map(with_vertex);
    MorphTarget::from_sparse(vertices, MorphDeltas { positions, normals, tangents })
}

fn read_placement(source: &mut Source<'_>, kind: u32, joints: usize) -> Result<MeshPlacement, Error> {
    let matrix = |numbers: [f32; 12]| {
        let (rows, _) = numbers.as_chunks::<4>();
        Affine { rows: [rows[0], rows[1], rows[2]] }
    };
    if kind != SKIN {
        Error::check_len("joints of a skin", joints, 0)?;
    }
    match kind {
        SKIN => {
            let named = source.u16s("joints of a skin", joints)?.collect();
            let inverse_bind = source.vectors("inverse bind matrices", joints)?;
            Ok(MeshPlacement::Skin(Skin::new(named, inverse_bind.into_iter().map(matrix).collect())?))
        }
        JOINT => {
            let [found] = source.words("joint of a mesh")?;
            let joint = u16::try_from(found).map_err(|_| Error::Value {
                what: "joint of a mesh",
                at: 0,
                found: found.into(),
                expected: "a number below 65,536",
            })?;
            Ok(MeshPlacement::Joint(joint))
        }
        FIXED => Ok(MeshPlacement::Fixed(matrix(source.words("matrix of a mesh")?.map(f32::from_bits)))),
        found => Err(Error::Value {
            what: "placement of a mesh",
            at: 0,
            found: found.into(),
            expected: "0 (a skin), 1 (a joint) or 2 (a matrix)",
        }),
    }
}

fn floats(source: &mut Source<'_>, what: &'static str, count: usize) -> Result<Vec<f32>, Error> {
    Ok(source.vectors::<1>(what, count)?.into_iter().map(|[v]| v).collect())
}

fn read_influences(source: &mut Source<'_>, vertices: usize, influences: usize) -> Result<Influences, Error> {
    let ends = source.u32s("ends of influences", vertices)?;
    let joints: Vec<u16> = source.u16s("joints of influences", influences)?.collect();
    let weights = floats(source, "weights", influences)?;
    let mut start = 0;
    for (at, end) in ends.clone().enumerate() {
        if (end as usize) < start {
            let expected = "at least the number of the previous vertex";
            return Err(Error::Value { what: "ends of influences", at, found: end.into(), expected });
        }
        start = end as usize;
    }
    Error::check_len("influences", influences, start)?;
    let mut start = 0;
    let rows = ends.map(|end| {
        let row = start..end as usize;
        start = row.end;
        joints[row.clone()].iter().copied().zip(weights[row].iter().copied())
    });
    let influences = Influences::from_rows(rows)?;
    Ok(influences)
}
