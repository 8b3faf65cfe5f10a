//! Plain local transforms of all nodes, whatever way a node inherits the scale of its parent.
//!
//! FBX has three ways. Let `R` and `S` be the rotation and scale of the parent, `r` and `s` those of the
//! node. The linear part of the node in the world is then `R S r s` (normal), `R r s` (the scale of the
//! parent is ignored) or `R r S s` (scales multiply by component).
//!
//! A chain of plain transforms has only the first, so the other two become `local = S^-1 r s` and
//! `S^-1 r S s`. These are rotation and scale if `S` is uniform, or if `r` keeps the axes of `S`. Otherwise
//! they are sheared, and the nearest transform is used.

use std::collections::HashMap;

use ufbx::{Anim, InheritMode, Matrix, Node, Quat, Scene, Transform, Vec3};

const ONE: Vec3 = Vec3 { x: 1.0, y: 1.0, z: 1.0 };

/// Cosine of the angle between two axes above which a transform counts as sheared.
const SHEAR: f64 = 1e-6;

/// Problem of a node whose transform is sheared.
pub(crate) const SHEARED: &str =
    "its scale relative to its parent's is sheared, because of its type of inheritance";
/// How a sheared transform is handled.
pub(crate) const NEAREST: &str = "the nearest rotation and scale are used";

/// Nodes of a scene.
pub(crate) struct Rig<'a> {
    pub(crate) scene: &'a Scene,
    /// Whether the children of a node see a scale other than 1 in any clip.
    scaled: Vec<bool>,
    /// Meshes that each blend shape channel deforms, by its element.
    deformed: HashMap<u32, Vec<u32>>,
}

/// Pairs of channels and meshes that are looked at.
const PAIRS: usize = 1 << 20;

/// A local transform, and whether it is only the nearest one.
pub(crate) struct Local {
    pub(crate) transform: Transform,
    pub(crate) sheared: bool,
}

impl<'a> Rig<'a> {
    pub(crate) fn new(scene: &'a Scene) -> Self {
        let mut animated = vec![false; scene.nodes.len()];
        for property in scene.anim_layers.into_iter().flat_map(|layer| &*layer.anim_props) {
            let Some(node) = ufbx::as_node(&property.element) else { continue };
            if let Some(it) = animated.get_mut(node.element.typed_id as usize) {
                *it |= &*property.prop_name == "Lcl Scaling";
            }
        }
        let mut deformed: HashMap<u32, Vec<u32>> = HashMap::new();
        let deformers = scene.meshes.into_iter().flat_map(|mesh| {
            mesh.blend_deformers
                .into_iter()
                .flat_map(move |it| it.channels.into_iter().map(move |it| (it, mesh)))
        });
        for (channel, mesh) in deformers.take(PAIRS) {
            deformed.entry(channel.element.element_id).or_default().push(mesh.element.typed_id);
        }
        let mut rig = Self { scene, scaled: vec![false; scene.nodes.len()], deformed };
        // Parents come before their children.
        for (index, node) in scene.nodes.into_iter().enumerate() {
            let inherited = node.inherit_mode != InheritMode::Normal
                && node.inherit_scale_node.as_ref().is_some_and(|it| rig.is_scaled(it));
            rig.scaled[index] = animated[index] || inherited || !is_one(node.local_transform.scale);
        }
        rig
    }

    /// Nodes with a mesh that a blend shape channel deforms.
    pub(crate) fn nodes_of_channel(&self, channel: u32) -> impl Iterator<Item = u32> {
        let meshes = self.deformed.get(&channel).into_iter().flatten();
        let meshes = meshes.filter_map(|id| self.scene.meshes.get(*id as usize));
        let nodes = meshes.flat_map(|mesh| mesh.element.instances.into_iter());
        nodes.map(|node| node.element.typed_id)
    }

    fn is_scaled(&self, node: &Node) -> bool {
        self.scaled.get(node.element.typed_id as usize).copied().unwrap_or(true)
    }

    /// Scale that the children of a node see.
    fn inherit_scale(&self, anim: Option<&Anim>, node: &Node, time: f64) -> Vec3 {
        let mut scale = ONE;
        let mut at = Some(node);
        while let Some(node) = at.filter(|node| self.is_scaled(node)) {
            scale = product(scale, own(anim, node, time).scale);
            at = match node.inherit_mode {
                InheritMode::Normal => None,
                _ => node.inherit_scale_node.as_deref(),
            };
        }
        scale
    }

    /// Whether the local transform of a node depends on other nodes.
    pub(crate) fn compensates(&self, node: &Node) -> bool {
        node.inherit_mode != InheritMode::Normal
            && [&node.parent, &node.inherit_scale_node].into_iter().flatten().any(|it| self.is_scaled(it))
    }

    /// Returns the local transform in a clip, or at rest.
    pub(crate) fn local(&self, anim: Option<&Anim>, node: &Node, time: f64) -> Local {
        let mut transform = own(anim, node, time);
        if !self.compensates(node) {
            return Local { transform, sheared: false };
        }
        let seen =
            |it: &Option<ufbx::Ref<Node>>| it.as_ref().map_or(ONE, |it| self.inherit_scale(anim, it, time));
        let (parent, scale) = (seen(&node.parent), seen(&node.inherit_scale_node));
        transform.scale = product(transform.scale, scale);
        if parent.x == 0.0 || parent.y == 0.0 || parent.z == 0.0 {
            return Local { transform, sheared: true };
        }
        let inverse = Vec3 { x: 1.0 / parent.x, y: 1.0 / parent.y, z: 1.0 / parent.z };
        if parent.x == parent.y && parent.y == parent.z {
            transform.scale = product(transform.scale, inverse);
            return Local { transform, sheared: false };
        }
        let linear = ufbx::Transform { translation: Vec3::default(), ..transform };
        let m = ufbx::transform_to_matrix(&linear);
        let i = [inverse.x, inverse.y, inverse.z];
        let columns = [[m.m00, m.m10, m.m20], [m.m01, m.m11, m.m21], [m.m02, m.m12, m.m22]];
        let columns = columns.map(|c| [c[0] * i[0], c[1] * i[1], c[2] * i[2]]);
        let sheared = is_sheared(&columns);
        (transform.rotation, transform.scale) = nearest(columns, transform.rotation);
        Local { transform, sheared }
    }
}

/// Transform of the node alone.
fn own(anim: Option<&Anim>, node: &Node, time: f64) -> Transform {
    anim.map_or(node.local_transform, |anim| ufbx::evaluate_transform(anim, node, time))
}

fn is_one(scale: Vec3) -> bool {
    scale.x == 1.0 && scale.y == 1.0 && scale.z == 1.0
}

fn product(a: Vec3, b: Vec3) -> Vec3 {
    Vec3 { x: a.x * b.x, y: a.y * b.y, z: a.z * b.z }
}

type Columns = [[f64; 3]; 3];

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn is_sheared(columns: &Columns) -> bool {
    [(0, 1), (1, 2), (2, 0)].into_iter().any(|(a, b)| {
        let (a, b) = (columns[a], columns[b]);
        dot(a, b).abs() > SHEAR * (dot(a, a) * dot(b, b)).sqrt()
    })
}

/// Nearest rotation to the directions of the columns, and the scale along it. Near `like` where several are.
///
/// Higham's iteration for the polar decomposition: the mean of a matrix and its inverse transpose, until
/// they are equal. Columns that are orthogonal already are kept.
fn nearest(columns: Columns, like: Quat) -> (Quat, Vec3) {
    let lengths = columns.map(|c| dot(c, c).sqrt());
    let fallback = (like, Vec3 { x: lengths[0], y: lengths[1], z: lengths[2] });
    let mut turn = [[0.0; 3]; 3];
    for ((turn, column), length) in turn.iter_mut().zip(columns).zip(lengths) {
        *turn = column.map(|v| v / length);
    }
    let mirror = if dot(cross(turn[0], turn[1]), turn[2]) < 0.0 { -1.0 } else { 1.0 };
    turn = turn.map(|c| c.map(|v| v * mirror));
    for _ in 0..20 {
        let volume = dot(cross(turn[0], turn[1]), turn[2]);
        let inverse = [cross(turn[1], turn[2]), cross(turn[2], turn[0]), cross(turn[0], turn[1])];
        for (turn, inverse) in turn.iter_mut().zip(inverse) {
            for (v, i) in turn.iter_mut().zip(inverse) {
                *v = 0.5 * (*v + i / volume);
            }
        }
    }
    if turn.iter().flatten().any(|v| !v.is_finite()) {
        return fallback;
    }
    let [a, b, c] = turn;
    let m = Matrix {
        m00: a[0],
        m10: a[1],
        m20: a[2],
        m01: b[0],
        m11: b[1],
        m21: b[2],
        m02: c[0],
        m12: c[1],
        m22: c[2],
        ..Matrix::default()
    };
    let scale = [0, 1, 2].map(|i| dot(turn[i], columns[i]));
    let rotation = ufbx::quat_normalize(ufbx::matrix_to_transform(&m).rotation);
    (rotation, Vec3 { x: scale[0], y: scale[1], z: scale[2] })
}
