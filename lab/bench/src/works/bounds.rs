//! Bounding box of a posed character, from its matrices.

use std::rc::Rc;

use condyle::{
    Affine, Influences, NormalRule, Palette, Skeleton, Skin, SkinnedMesh, Vertices, local_to_model, palette,
    skin,
};
use condyle_query::bounds::{self, Aabb, JointBounds};

use super::{JOINTS, case, largest};
use crate::data::Random;
use crate::harness::{Case, Subjects};

/// Number of characters, used in turn.
const FEW: usize = 16;
/// Vertices around each bone.
const VERTICES: usize = 60;
/// The same for the set-up of a detailed mesh, of 100,000 vertices. Tests use fewer.
const DETAILED: usize = if cfg!(test) { VERTICES } else { 1500 };
/// Maximum distance in metres of a vertex outside its box.
const BOUND: f64 = 0.0;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("bounds_67", "", FEW, 0, build),
        case("bounds_new", "", JOINTS * DETAILED, 0, set_up),
        case("bounds_vertices", "", JOINTS * VERTICES, 12, vertices),
    ]
}

/// Character of bones with vertices around them, and some of its poses. Vertices near a joint are also
/// weighted to its parent.
struct Input {
    shape: JointBounds,
    mesh: SkinnedMesh,
    bind: Skin,
    models: Vec<Vec<Affine>>,
    /// All vertices of each pose.
    posed: Vec<Vec<[f32; 3]>>,
    #[cfg(feature = "peers")]
    boxes: Vec<(usize, [glam::Vec3A; 2])>,
}

impl Input {
    fn new(vertices: usize) -> Rc<Self> {
        let mut random = Random(26);
        let skeleton = random.skeleton(JOINTS);
        let rest = model(&skeleton, skeleton.rest());
        let (mut positions, mut rows) = (vec![], vec![]);
        for joint in 0..JOINTS as u16 {
            let end = skeleton.rest().get(usize::from(joint)).translation;
            let parent = skeleton.parent(joint);
            for _ in 0..vertices {
                let t = random.range(0.0, 1.0);
                let out: [f32; 3] = std::array::from_fn(|_| random.range(-0.05, 0.05));
                let local = std::array::from_fn(|c| t * end[c] + out[c]);
                positions.push(rest[usize::from(joint)].transform_point(local));
                let own = (0.5 + 2.0 * t).min(1.0);
                rows.push(
                    [Some((joint, own)), parent.map(|parent| (parent, 1.0 - own))]
                        .map(|pair| pair.unwrap_or((joint, 0.0))),
                );
            }
        }
        let inverse = rest.iter().map(|m| m.inverse().expect("rigid")).collect();
        let bound = Skin::new((0..JOINTS as u16).collect(), inverse).expect("equal lengths");
        let influences = Influences::from_rows(rows).expect("finite");
        let vertices = Vertices { positions, ..Vertices::default() };
        let mesh = SkinnedMesh::new(vertices, influences, vec![], vec![]).expect("a mesh");
        let shape = JointBounds::new(&mesh, &bound).expect("sound numbers");
        let models: Vec<_> = (0..FEW).map(|_| model(&skeleton, &random.pose(JOINTS))).collect();
        let mut matrices = Palette::default();
        let posed = models.iter().map(|model| {
            palette(&bound, model, NormalRule::Plain, &mut matrices).expect("sizes agree");
            let mut out = Vertices::zeroed_like(mesh.vertices());
            skin(mesh.influences(), &matrices, mesh.vertices().as_slices(), out.as_slices_mut())
                .expect("sizes agree");
            out.positions
        });
        let posed = posed.collect();
        #[cfg(feature = "peers")]
        let boxes = (0..JOINTS)
            .map(|joint| {
                let own = (0..mesh.vertex_count())
                    .filter(|&v| mesh.influences().row(v).any(|(j, _)| usize::from(j) == joint));
                let local =
                    own.map(|v| bound.inverse_bind()[joint].transform_point(mesh.vertices().positions[v]));
                let it = bounds::of(&local.collect::<Vec<_>>());
                (joint, [it.center(), it.half_extents()].map(glam::Vec3A::from))
            })
            .collect();
        Rc::new(Self {
            shape,
            mesh,
            bind: bound,
            models,
            posed,
            #[cfg(feature = "peers")]
            boxes,
        })
    }

    /// Maximum distance of a vertex outside its box.
    fn outside(&self, boxes: &[Aabb]) -> f64 {
        largest(boxes.iter().zip(&self.posed).map(|(found, posed)| {
            let exact = bounds::of(posed);
            let off = |c: usize| (found.min[c] - exact.min[c]).max(exact.max[c] - found.max[c]);
            f64::from(off(0).max(off(1)).max(off(2))).max(0.0)
        }))
    }
}

fn model(skeleton: &Skeleton, pose: &condyle::Pose) -> Vec<Affine> {
    let mut model = vec![Affine::IDENTITY; JOINTS];
    local_to_model(skeleton, pose, &mut model).expect("sizes agree");
    model
}

/// Facts about a mesh for the boxes of all its poses, once per mesh.
fn set_up(subjects: &mut Subjects) {
    let input = Input::new(DETAILED);
    let looked_at = input.clone();
    subjects.kernel(
        "condyle",
        BOUND,
        &input,
        None,
        |input, shape| *shape = Some(JointBounds::new(&input.mesh, &input.bind).expect("sound numbers")),
        move |shape: &Option<JointBounds>| {
            let Some(shape) = shape else { return f64::INFINITY };
            let of_pose = |model: &Vec<Affine>| bounds::posed(shape, model).expect("sizes agree");
            looked_at.outside(&looked_at.models.iter().map(of_pose).collect::<Vec<_>>())
        },
    );
}

fn build(subjects: &mut Subjects) {
    let input = Input::new(VERTICES);
    let looked_at = input.clone();
    subjects.kernel(
        "condyle",
        BOUND,
        &input,
        vec![Aabb::EMPTY; FEW],
        |input, boxes| {
            for (model, out) in input.models.iter().zip(boxes) {
                *out = bounds::posed(&input.shape, model).expect("sizes agree");
            }
        },
        move |boxes| looked_at.outside(boxes),
    );
    #[cfg(feature = "peers")]
    {
        let matrices: Vec<Vec<glam::Affine3A>> = input
            .models
            .iter()
            .map(|model| {
                model
                    .iter()
                    .map(|m| glam::Affine3A::from_mat4(glam::Mat4::from_cols_array(&m.to_columns())))
                    .collect()
            })
            .collect();
        let looked_at = input.clone();
        subjects.peer(
            "glam",
            (input.boxes.clone(), matrices),
            vec![Aabb::EMPTY; FEW],
            |(boxes, matrices), out| {
                for (model, out) in matrices.iter().zip(out) {
                    let (mut min, mut max) = (glam::Vec3A::INFINITY, glam::Vec3A::NEG_INFINITY);
                    for (joint, [center, half]) in boxes {
                        let m = &model[*joint];
                        let middle = m.transform_point3a(*center);
                        let [x, y, z] = [m.matrix3.x_axis, m.matrix3.y_axis, m.matrix3.z_axis];
                        let half = x.abs() * half.x + y.abs() * half.y + z.abs() * half.z;
                        (min, max) = (min.min(middle - half), max.max(middle + half));
                    }
                    *out = Aabb { min: min.to_array(), max: max.to_array() };
                }
            },
            move |boxes| looked_at.outside(boxes),
        );
    }
}

/// Exact box of the vertices.
fn vertices(subjects: &mut Subjects) {
    let input = Input::new(VERTICES);
    let want = input.posed[0].iter().fold(Aabb::EMPTY, |it, &p| it.union(Aabb { min: p, max: p }));
    let off = move |got: &Aabb| if *got == want { 0.0 } else { f64::INFINITY };
    subjects.kernel(
        "condyle",
        0.0,
        &input,
        Aabb::EMPTY,
        |input, out| *out = bounds::of(&input.posed[0]),
        off,
    );
    #[cfg(feature = "peers")]
    subjects.peer(
        "glam",
        input.posed[0].clone(),
        Aabb::EMPTY,
        |positions, out| {
            let (mut min, mut max) = (glam::Vec3::INFINITY, glam::Vec3::NEG_INFINITY);
            for p in positions {
                let p = glam::Vec3::from_array(*p);
                (min, max) = (min.min(p), max.max(p));
            }
            *out = Aabb { min: min.to_array(), max: max.to_array() };
        },
        off,
    );
}
