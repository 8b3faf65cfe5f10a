//! Shell: the points and balls of each joint at which errors are measured.

use alloc::vec;
use alloc::vec::Vec;

use crate::measure::algebra::{Affine64, Vector, add, apply, length, sub, transposed};
use crate::measure::ball::Ball;
use crate::measure::convex_hull::{ConvexHull, middle};
use crate::options::{JointShell, Shell, positive};
use condyle::mesh::{MorphTarget, Skin, SkinnedMesh};
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::dot;

/// Shell of each joint, in joint space.
pub(crate) fn balls(skeleton: &Skeleton, shell: &Shell) -> Result<Vec<Vec<Ball>>, Error> {
    let count = skeleton.joint_count();
    match shell {
        Shell::Balls(radius) => {
            positive("shell", 0, *radius)?;
            Ok(axes(skeleton).into_iter().map(|axes| vec![ball(axes, *radius)]).collect())
        }
        Shell::Joints(joints) => {
            Error::check_len("the shell", joints.len(), count)?;
            for (at, joint) in joints.iter().enumerate() {
                match joint {
                    JointShell::Points(points) if !points.iter().flatten().all(|v| v.is_finite()) => {
                        return Err(Error::NotFinite { what: "the shell", at });
                    }
                    JointShell::Ball(radius) => positive("shell", at, *radius)?,
                    JointShell::Points(_) => {}
                }
            }
            let of_joint = |(joint, axes): (&JointShell, [Vector; 3])| match joint {
                JointShell::Points(points) => points.iter().map(|p| Ball::point(p.map(f64::from))).collect(),
                JointShell::Ball(radius) => vec![ball(axes, *radius)],
            };
            Ok(joints.iter().zip(axes(skeleton)).map(of_joint).collect())
        }
    }
}

/// Model matrices of the rest pose.
pub(crate) fn rest(skeleton: &Skeleton) -> Vec<Affine64> {
    let mut model: Vec<Affine64> = Vec::with_capacity(skeleton.joint_count());
    for (joint, t) in skeleton.rest().transforms().enumerate() {
        let local = Affine64::local(&t.into());
        let parent = skeleton.parent(joint as u16).map(|p| model[usize::from(p)]);
        model.push(parent.map_or(local, |parent| parent.after(&local)));
    }
    model
}

/// Maximum distance of a joint or shell point from the origin in the rest pose.
pub(crate) fn extent(skeleton: &Skeleton, shell: &[Vec<Ball>]) -> f64 {
    let model = rest(skeleton);
    let points = model.iter().zip(shell).flat_map(|(m, balls)| balls.iter().map(|ball| ball.farthest(m)));
    model.iter().map(|m| length(m.origin)).chain(points).fold(0.0, f64::max)
}

fn ball(axes: [Vector; 3], radius: f32) -> Ball {
    let of_row = |row: Vector| row.map(|v| v * f64::from(radius));
    Ball { centre: [0.0; 3], axes: Some(axes.map(of_row)) }
}

/// Matrix per joint that maps the unit ball to joint space. In the rest pose, its image is a unit ball around
/// the joint in model space. If the rest pose scales an axis to almost zero, for example to hide a prop, the
/// largest scale of all joints is used instead.
///
/// The model matrix is a rotation times an upper triangular matrix, by Gram-Schmidt orthogonalisation of its
/// columns. The rotation maps every ball to itself, so the result is the inverse of the triangular matrix.
/// Without shear this is diagonal: the joint axes divided by their scales.
fn axes(skeleton: &Skeleton) -> Vec<[Vector; 3]> {
    let model = rest(skeleton);
    let largest = model.iter().flat_map(|m| transposed(&m.linear).map(length)).fold(0.0, f64::max);
    // A skeleton of zero size has no scale.
    let largest = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
    model.iter().map(|m| unit_ball(m, largest)).collect()
}

fn unit_ball(model: &Affine64, largest: f64) -> [Vector; 3] {
    let [x, y, z] = transposed(&model.linear);
    let size = |v: Vector| if length(v) < largest / 100.0 { largest } else { length(v) };
    let along = |unit: Vector, v: Vector| {
        let part = dot(unit, v);
        // A part this small is f32 rounding error, not shear.
        if part.abs() > 1e-5 * length(v) { part } else { 0.0 }
    };
    let less = |v: Vector, unit: Vector, part: f64| sub(v, unit.map(|u| u * part));
    let a = size(x);
    let unit_x = x.map(|v| v / a);
    let b = along(unit_x, y);
    let y = less(y, unit_x, b);
    let c = size(y);
    let unit_y = y.map(|v| v / c);
    let (d, e) = (along(unit_x, z), along(unit_y, z));
    let f = size(less(less(z, unit_x, d), unit_y, e));
    [
        [1.0 / a, -b / (a * c), (b * e - c * d) / (a * c * f)],
        [0.0, 1.0 / c, -e / (c * f)],
        [0.0, 0.0, 1.0 / f],
    ]
}

impl Shell {
    /// Returns a shell of points around all vertices that each joint influences, in all meshes of the
    /// skeleton.
    ///
    /// The points are the farthest vertices in 26 directions, in a space in which the vertices spread evenly.
    /// They are scaled outwards until their convex hull contains every vertex. Therefore no vertex has a
    /// larger error than the worst of these points. Morph targets can add to the error of a vertex;
    /// [`Self::of_morphed_meshes`] includes them.
    ///
    /// Joints without vertices get a ball of `radius`, in the skeleton's units. Pass [`RADIUS`](Self::RADIUS)
    /// if the unit is a metre.
    ///
    /// # Errors
    /// [`Error::Index`] if a skin refers to a joint that the skeleton lacks, or a mesh to one that its skin
    /// lacks. [`Error::OutOfRange`] if the radius is not finite and greater than 0.
    pub fn of_meshes<'a>(
        skeleton: &Skeleton,
        meshes: impl IntoIterator<Item = (&'a SkinnedMesh, &'a Skin)>,
        radius: f32,
    ) -> Result<Self, Error> {
        let bare = meshes.into_iter().map(|(mesh, skin)| (mesh, skin, &[][..]));
        of_meshes(skeleton, bare, radius).map(Self::Joints)
    }

    /// Returns the shell of [`Self::of_meshes`] around all positions that morph targets give the vertices
    /// before skinning.
    ///
    /// `ranges` holds the minimum and maximum weight of each morph target of a mesh. Targets beyond the end
    /// of `ranges` have weight 0.
    ///
    /// # Errors
    /// Returns the errors of [`Self::of_meshes`], and [`Error::NotFinite`] for a range that is not finite.
    pub fn of_morphed_meshes<'a>(
        skeleton: &Skeleton,
        meshes: impl IntoIterator<Item = (&'a SkinnedMesh, &'a Skin, &'a [[f32; 2]])>,
        radius: f32,
    ) -> Result<Self, Error> {
        of_meshes(skeleton, meshes, radius).map(Self::Joints)
    }
}

/// Mesh, its skin, and the ranges of its morph weights.
type MeshWithRanges<'a> = (&'a SkinnedMesh, &'a Skin, &'a [[f32; 2]]);

/// See [`Shell::of_meshes`].
fn of_meshes<'a>(
    skeleton: &Skeleton,
    meshes: impl IntoIterator<Item = MeshWithRanges<'a>>,
    radius: f32,
) -> Result<Vec<JointShell>, Error> {
    positive("shell", 0, radius)?;
    let count = skeleton.joint_count();
    let meshes: Vec<MeshWithRanges<'_>> = meshes.into_iter().collect();
    for (mesh, skin, ranges) in &meshes {
        Error::check_finite("ranges", ranges.as_flattened(), 2)?;
        let (bound, count_of_skin) = (mesh.influences().joint_bound(), skin.joints().len());
        if bound > count_of_skin {
            let (what, found) = ("the joints of a mesh", bound - 1);
            return Err(Error::Index { what, at: 0, found, count: count_of_skin });
        }
        skin.fits(skeleton)?;
    }
    let mut clouds = vec![Cloud::default(); count];
    each_vertex(&meshes, |joint, point| clouds[joint].add(point));
    let axes: Vec<[Vector; 3]> = clouds.iter().map(Cloud::axes).collect();
    // Farthest vertex of each joint in each direction.
    let mut farthest: Vec<Vec<(f64, Vector)>> = vec![Vec::new(); count];
    each_vertex(&meshes, |joint, point| {
        let far = &mut farthest[joint];
        if far.is_empty() {
            far.resize(2 * AXES.len(), (f64::NEG_INFINITY, point));
        }
        let even = apply(&axes[joint], point);
        let (one_way, other_way) = far.split_at_mut(AXES.len());
        for ((axis, one), other) in AXES.iter().zip(one_way).zip(other_way.iter_mut().rev()) {
            let along = dot(*axis, even);
            if along > one.0 {
                *one = (along, point);
            }
            if -along > other.0 {
                *other = (-along, point);
            }
        }
    });
    // Vertices between the directions can be slightly outside the hull, so it is scaled up until it contains
    // all of them.
    let even: Vec<Vec<Vector>> = farthest
        .iter()
        .zip(&axes)
        .map(|(far, axes)| far.iter().map(|(_, point)| apply(axes, *point)).collect())
        .collect();
    let hulls: Vec<ConvexHull> = even.iter().map(|points| ConvexHull::around(points)).collect();
    let mut times = vec![1.0_f64; count];
    each_vertex(&meshes, |joint, point| {
        times[joint] = times[joint].max(hulls[joint].times(apply(&axes[joint], point)));
    });
    let of_joint = |(far, times): (Vec<(f64, Vector)>, f64)| {
        if far.is_empty() {
            return JointShell::Ball(radius);
        }
        let middle = middle(far.iter().map(|(_, point)| *point));
        let scaled = |point: Vector| add(middle, sub(point, middle).map(|v| v * times));
        let mut points: Vec<[f32; 3]> =
            far.iter().map(|(_, point)| scaled(*point).map(|v| v as f32)).collect();
        points.sort_by(|a, b| a.partial_cmp(b).unwrap_or(core::cmp::Ordering::Equal));
        points.dedup();
        JointShell::Points(points)
    };
    Ok(farthest.into_iter().zip(times).map(of_joint).collect())
}

/// Calls `each` for every finite vertex in the space of every joint that influences it. If morph targets move
/// the vertex, calls it for the corners of a box around all its positions.
fn each_vertex(meshes: &[MeshWithRanges<'_>], mut each: impl FnMut(usize, Vector)) {
    for (mesh, skin, ranges) in meshes {
        let (starts, joints, _) = mesh.influences().as_slices();
        let moving: Vec<(&MorphTarget, [f64; 2])> = mesh
            .morph_targets()
            .iter()
            .zip(*ranges)
            .filter(|(target, range)| target.has_positions() && **range != [0.0; 2])
            .map(|(target, [low, high])| {
                let (low, high) = (f64::from(*low), f64::from(*high));
                (target, [(low + high) / 2.0, (high - low).abs() / 2.0])
            })
            .collect();
        for (vertex, position) in mesh.vertices().positions.iter().enumerate() {
            let (mut middle, mut half) = (position.map(f64::from), [0.0; 3]);
            for (target, [at, wide]) in &moving {
                let by = target.delta(vertex).position.map(f64::from);
                middle = add(middle, by.map(|v| v * at));
                half = add(half, by.map(|v| v.abs() * wide));
            }
            let corners = if half == [0.0; 3] { 1 } else { 8 };
            for corner in 0..corners {
                let place: Vector = core::array::from_fn(|c| {
                    middle[c] + if corner >> c & 1 == 0 { half[c] } else { -half[c] }
                });
                let place = place.map(|v| v as f32);
                for &own in &joints[starts[vertex] as usize..starts[vertex + 1] as usize] {
                    let own = usize::from(own);
                    let local = skin.inverse_bind()[own].transform_point(place);
                    if local.iter().all(|v| v.is_finite()) {
                        each(skin.joints()[own].into(), local.map(f64::from));
                    }
                }
            }
        }
    }
}

/// Axes along which the farthest vertices are taken, in both directions: all combinations of -1, 0 and 1
/// except zero. More axes fit the shell more tightly, but the time of `Hull::around` grows with the cube of
/// their number.
const AXES: [Vector; 13] = {
    let mut axes = [[0.0; 3]; 13];
    let mut code = 0;
    while code < axes.len() {
        axes[code] = [(code % 3) as f64 - 1.0, (code / 3 % 3) as f64 - 1.0, (code / 9 % 3) as f64 - 1.0];
        code += 1;
    }
    axes
};

/// Moments of a joint's vertices: count, sum, and sums of products.
#[derive(Debug, Clone, Default)]
struct Cloud {
    count: f64,
    sum: Vector,
    products: [Vector; 3],
}

impl Cloud {
    fn add(&mut self, point: Vector) {
        self.count += 1.0;
        self.sum = add(self.sum, point);
        for (row, &v) in self.products.iter_mut().zip(&point) {
            *row = add(*row, point.map(|w| v * w));
        }
    }

    /// Rows of a whitening matrix, which makes the cloud equally wide in all directions. A limb then gets
    /// shell points all around it, even if it is thin, in any direction.
    fn axes(&self) -> [Vector; 3] {
        let n = self.count.max(1.0);
        let middle = self.sum.map(|v| v / n);
        let of = |r: usize, c: usize| self.products[r][c] / n - middle[r] * middle[c];
        let (xx, yy, zz) = (of(0, 0), of(1, 1), of(2, 2));
        // Flat clouds get a thousandth of their width, because the matrix would be singular otherwise.
        let least = (xx + yy + zz) * 1e-6 + f64::MIN_POSITIVE;
        let root = |v: f64| sqrt_f64(v.max(least));
        // Inverse of the Cholesky factor of the covariance.
        let a = root(xx);
        let (b, d) = (of(0, 1) / a, of(0, 2) / a);
        let c = root(yy - b * b);
        let e = (of(1, 2) - b * d) / c;
        let f = root(zz - d * d - e * e);
        [
            [1.0 / a, 0.0, 0.0],
            [-b / (a * c), 1.0 / c, 0.0],
            [(b * e - c * d) / (a * c * f), -e / (c * f), 1.0 / f],
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use condyle::mesh::{Influences, Vertices};
    use condyle::skeleton::Joint;
    use condyle_base::math::{Affine, Transform};
    use condyle_testing::{Random, tries};

    /// Balls are balls in model space in the rest pose, with scale and shear too.
    #[test]
    fn balls_are_round_at_rest() {
        let mut random = Random(43);
        for round in 0..tries(40) {
            let mut rest: Vec<Transform> = (0..3).map(|_| random.transform()).collect();
            rest[0].scale = [[1.0; 3], [1.0, 2.0, 0.5], [0.01; 3], [-3.0, 3.0, 3.0]][round % 4];
            let joint =
                |(at, &rest): (usize, &Transform)| Joint::new("", (at > 0).then(|| at as u16 - 1), rest);
            let skeleton = Skeleton::new(rest.iter().enumerate().map(joint)).expect("a row");
            let balls = balls(&skeleton, &Shell::Balls(0.03)).expect("balls");
            let model: Vec<Affine64> = super::rest(&skeleton);
            let largest = model.iter().flat_map(|m| transposed(&m.linear).map(length)).fold(0.0, f64::max);
            for (ball, model) in balls.iter().map(|balls| balls[0]).zip(&model) {
                let axes = ball.axes.expect("a ball");
                let flat =
                    transposed(&model.linear).map(length).into_iter().any(|size| size < largest / 50.0);
                for _ in 0..20 {
                    let unit: [f32; 3] = random.unit();
                    let out = apply(&model.linear, apply(&axes, unit.map(f64::from)));
                    let far = length(out) / 0.03;
                    assert!(flat || (far - 1.0).abs() < 1e-4, "{round}: {far}");
                }
            }
        }
    }

    /// Thick and thin clouds of vertices, each of two joints. All are inside the hulls of their joints'
    /// points, and the hulls are not much larger than necessary.
    #[test]
    fn all_vertices_are_within() {
        let mut random = Random(41);
        let joint = |parent| Joint::new("", parent, Transform::IDENTITY);
        let skeleton = Skeleton::new([joint(None), joint(Some(0)), joint(Some(0))]).expect("three joints");
        for round in 0..tries(40) {
            let count = [1, 2, 3, 5, 30, 2000][round % 6];
            let thick: [f32; 3] =
                [[1.0, 1.0, 1.0], [1.0, 0.1, 1e-3], [0.0, 1.0, 1.0], [0.0, 0.0, 2.0]][round / 6 % 4];
            let positions: Vec<[f32; 3]> = (0..count)
                .map(|_| {
                    let v: [f32; 3] = random.vector(1.0);
                    // Along a slope, like a limb.
                    let [x, y, z] = [0, 1, 2].map(|c| v[c] * thick[c]);
                    [x + 0.3 * z + 4.0, y - 0.7 * z, z + 0.2 * x]
                })
                .collect();
            let row = |_| [(0_u16, 0.5_f32), (1, 0.5)];
            let influences = Influences::from_rows((0..count).map(row)).expect("valid rows");
            let vertices = Vertices { positions: positions.clone(), normals: vec![], tangents: vec![] };
            let mesh = SkinnedMesh::new(vertices, influences, vec![], vec![]).expect("a mesh");
            let bind: Vec<Affine> = (0..2).map(|_| Affine::from(random.transform())).collect();
            let skin = Skin::new(vec![0, 2], bind.clone()).expect("equal lengths");
            let shell = of_meshes(&skeleton, [(&mesh, &skin, &[][..])], 0.03).expect("joints that exist");
            assert_eq!(shell[1], JointShell::Ball(0.03), "a joint without vertices");
            for (joint, bind) in [(0, &bind[0]), (2, &bind[1])] {
                let JointShell::Points(points) = &shell[joint] else { panic!("a ball") };
                let points: Vec<Vector> = points.iter().map(|p| p.map(f64::from)).collect();
                assert!(points.len() <= 2 * AXES.len(), "{}", points.len());
                let local: Vec<Vector> =
                    positions.iter().map(|p| bind.transform_point(*p).map(f64::from)).collect();
                let mut cloud = Cloud::default();
                local.iter().for_each(|&p| cloud.add(p));
                // Compares in the space where the cloud is equally wide, because rounding would matter
                // otherwise.
                let axes = cloud.axes();
                let even: Vec<Vector> = points.iter().map(|&p| apply(&axes, p)).collect();
                let hull = ConvexHull::around(&even);
                let farthest = local.iter().map(|&p| hull.times(apply(&axes, p))).fold(0.0, f64::max);
                let case = format!("{count} vertices, {thick:?}, joint {joint}: {farthest}");
                // The thickness of a flat cloud is f32 rounding error.
                assert!(farthest <= if thick.contains(&0.0) { 3.0 } else { 1.001 }, "{case}");
                assert!(count == 1 || farthest > 0.8, "{case}");
            }
        }
    }
}
