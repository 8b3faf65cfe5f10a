//! Arbitrary triangles in arbitrary poses against their BVH. Results must match a test of every triangle and
//! be the same on each instruction set. A refused pose must leave the BVH unchanged.
#![no_main]

use std::ops::ControlFlow;

use arbitrary::{Result, Unstructured};
use condyle::{Dispatch, Error};
use condyle_fuzz::any::{is_finite, is_moderate, number, points, quat, size, vector};
use condyle_query::hits::{Attachment, Hit, LIMIT, Ray, Shape, TriangleTree};
use condyle_testing::reference::{
    Triangle, box_touches_triangle, distance_to_triangle, rotate, way_to_triangle, winding_number,
};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // If the input ends, the earlier calls still count.
    exercise(&mut Unstructured::new(bytes)).ok();
});

/// Tolerance of results, relative to the largest coordinate. It covers rounding and the difference between
/// the two methods.
const SLACK: f64 = 1e-5;

fn exercise(input: &mut Unstructured<'_>) -> Result<()> {
    let count = input.int_in_range(0..=40)?;
    let bind = points(input, count)?;
    let triangles = triangles(input, count)?;
    let mut tree = match TriangleTree::new(&bind, &triangles) {
        Ok(tree) => tree,
        Err(error) => {
            assert!(refusal(&bind, &triangles).is_some(), "{error}");
            return Ok(());
        }
    };
    assert_eq!(refusal(&bind, &triangles), None);
    let mut mesh = Mesh { positions: bind, triangles };
    while !input.is_empty() {
        match input.int_in_range(0..=6)? {
            0 => refit(&mut tree, &mut mesh, input)?,
            1 | 2 => ray(&tree, &mesh, input)?,
            3 => nearest(&tree, &mesh, input)?,
            4 => touched(&tree, &mesh, input)?,
            5 => inside(&tree, &mesh, input)?,
            _ => attached(&mesh, input)?,
        }
    }
    Ok(())
}

fn triangles(input: &mut Unstructured<'_>, vertices: usize) -> Result<Vec<[u32; 3]>> {
    let mut triangles: Vec<[u32; 3]> = Vec::new();
    if vertices == 0 {
        return Ok(triangles);
    }
    let count = input.int_in_range(0..=80)?;
    let last = vertices as u32 - 1;
    for _ in 0..count {
        triangles.push(match input.int_in_range(0..=7)? {
            // An existing triangle, with the same or the opposite winding.
            0 if !triangles.is_empty() => *input.choose(&triangles)?,
            1 if !triangles.is_empty() => {
                let [a, b, c] = *input.choose(&triangles)?;
                [b, a, c]
            }
            2 => [input.int_in_range(0..=last + 1)?, 0, last],
            _ => {
                [input.int_in_range(0..=last)?, input.int_in_range(0..=last)?, input.int_in_range(0..=last)?]
            }
        });
    }
    Ok(triangles)
}

/// Expected error of an invalid mesh.
fn refusal(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Option<&'static str> {
    let used = triangles.as_flattened();
    if used.iter().any(|&v| v as usize >= positions.len()) {
        return Some("a vertex that does not exist");
    }
    let out = used.iter().any(|&v| !positions[v as usize].iter().all(|x| x.abs() <= LIMIT));
    out.then_some("a coordinate out of range")
}

struct Mesh {
    positions: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
}

impl Mesh {
    fn corners(&self) -> impl Iterator<Item = Triangle> {
        self.triangles.iter().map(|t| t.map(|v| self.positions[v as usize].map(f64::from)))
    }

    /// Largest magnitude of a coordinate of all triangles.
    fn size(&self) -> f64 {
        self.corners().flatten().flatten().fold(0.0, |size, v| f64::max(size, v.abs()))
    }

    /// A vertex or an arbitrary point.
    fn point(&self, input: &mut Unstructured<'_>) -> Result<[f32; 3]> {
        if self.positions.is_empty() || input.arbitrary()? {
            return vector(input);
        }
        Ok(*input.choose(&self.positions)?)
    }
}

fn refit(tree: &mut TriangleTree, mesh: &mut Mesh, input: &mut Unstructured<'_>) -> Result<()> {
    let mut posed = points(input, mesh.positions.len())?;
    if input.ratio(1, 16)? {
        posed.pop();
    }
    let ask = |tree: &TriangleTree| (tree.closest_point([1.0, 2.0, 3.0], f32::INFINITY), tree.bounds());
    let before = ask(tree);
    match tree.refit(&posed) {
        Ok(()) => {
            assert!(refusal(&posed, &mesh.triangles).is_none());
            mesh.positions = posed;
        }
        Err(error) => {
            let shorter = posed.len() < mesh.positions.len();
            assert!(shorter || refusal(&posed, &mesh.triangles).is_some(), "{error}");
            assert_eq!(ask(tree), before);
        }
    }
    Ok(())
}

/// An arbitrary instruction set.
fn dispatch(input: &mut Unstructured<'_>) -> Result<Dispatch> {
    let all: Vec<_> = Dispatch::all().collect();
    Ok(*input.choose(&all)?)
}

fn all_hits(tree: &TriangleTree, ray: &Ray) -> Vec<Hit> {
    let mut hits = Vec::new();
    tree.all_hits(ray, |hit| {
        hits.push(hit);
        ControlFlow::Continue(())
    });
    hits.sort_by_key(|hit| hit.triangle);
    hits
}

fn ray(tree: &TriangleTree, mesh: &Mesh, input: &mut Unstructured<'_>) -> Result<()> {
    let from = mesh.point(input)?;
    let mut ray = match input.int_in_range(0..=2)? {
        0 => Ray { origin: from, direction: vector(input)?, max: f32::INFINITY },
        _ => Ray::between(from, mesh.point(input)?),
    };
    if input.arbitrary()? {
        ray.max = number(input)?;
    }
    let all = all_hits(tree, &ray);
    let first = tree.first_hit(&ray);
    assert_eq!(tree.any_hit(&ray), !all.is_empty());
    assert!(all.windows(2).all(|pair| pair[0].triangle < pair[1].triangle), "reported twice: {all:?}");
    for hit in &all {
        assert!(hit.distance >= 0.0 && hit.distance <= ray.max, "{hit:?}, {ray:?}");
        let sum: f32 = hit.weights.iter().sum();
        assert!(hit.weights.iter().all(|w| (0.0..=1.0).contains(w)) && (sum - 1.0).abs() < 1e-5, "{hit:?}");
        assert!(is_finite(&hit.position) && is_unit_or_zero(hit.normal), "{hit:?}");
    }
    let nearest = all.iter().map(|hit| hit.distance).reduce(f32::min);
    assert_eq!(first.map(|hit| hit.distance), nearest, "{ray:?}");
    assert!(first.is_none_or(|hit| all.contains(&hit)));
    brute_hits(mesh, &ray, &all);

    let mut told = 0;
    tree.all_hits(&ray, |_| {
        told += 1;
        ControlFlow::Break(())
    });
    assert_eq!(told, all.len().min(1));
    let again = dispatch(input)?.scope(|| (tree.first_hit(&ray), all_hits(tree, &ray)));
    assert_eq!(again, (first, all));
    Ok(())
}

/// Tests every triangle separately. Skips values for which rounding may decide the result.
fn brute_hits(mesh: &Mesh, ray: &Ray, all: &[Hit]) {
    let numbers = [ray.origin, ray.direction];
    if !is_moderate(numbers.as_flattened()) || !is_moderate(mesh.positions.as_flattened()) {
        return;
    }
    let [origin, direction] = numbers.map(|v| v.map(f64::from));
    for (at, corners) in mesh.corners().enumerate() {
        let met = all.iter().any(|hit| hit.triangle == at as u32);
        if let Some((t, [u, v, w])) = meets(origin, direction, corners) {
            let least = u.min(v).min(w);
            let max = f64::from(ray.max);
            let near = 1e-6 * (1.0 + t.abs());
            if least > 1e-6 && t > near && t < max - near {
                assert!(met, "triangle {at} is missed: {ray:?} {corners:?}");
            } else if least < -1e-6 || t < -near || t > max + near {
                assert!(!met, "triangle {at} is not in the way: {ray:?} {corners:?}");
            }
        }
    }
}

/// Distance to the plane of a triangle along a ray, and the barycentric weights there. `None` if
/// ill-conditioned.
fn meets(origin: [f64; 3], direction: [f64; 3], [a, b, c]: Triangle) -> Option<(f64, [f64; 3])> {
    let (ab, ac, from) = (minus(b, a), minus(c, a), minus(origin, a));
    let across = cross(direction, ac);
    let determinant = dot(ab, across);
    let sizes = dot(ab, ab) * dot(ac, ac) * dot(direction, direction);
    if sizes == 0.0 || determinant * determinant < 1e-8 * sizes {
        return None;
    }
    // Skips triangles far from the origin of the ray, because results lose precision there.
    if dot(from, from) > 1e10 * dot(ab, ab).min(dot(ac, ac)) {
        return None;
    }
    let u = dot(from, across) / determinant;
    let across = cross(from, ab);
    let v = dot(direction, across) / determinant;
    Some((dot(ac, across) / determinant, [u, v, 1.0 - u - v]))
}

fn nearest(tree: &TriangleTree, mesh: &Mesh, input: &mut Unstructured<'_>) -> Result<()> {
    let point = mesh.point(input)?;
    let max = if input.arbitrary()? { f32::INFINITY } else { number(input)? };
    let found = tree.closest_point(point, max);
    assert_eq!(dispatch(input)?.scope(|| tree.closest_point(point, max)), found);
    if !point.iter().all(|v| v.abs() <= LIMIT) || max.is_nan() || max < 0.0 {
        assert_eq!(found, None);
        return Ok(());
    }
    let at = point.map(f64::from);
    let want = mesh.corners().map(|t| distance(at, t)).fold(f64::INFINITY, f64::min);
    let slack = SLACK * f64::max(mesh.size(), size(&[point])) + 1e-18;
    let Some(found) = found else {
        assert!(want == f64::INFINITY || want > f64::from(max) - slack, "{want} is nearer than {max}");
        return Ok(());
    };
    assert!(
        found.distance <= max && is_finite(&found.position) && is_unit_or_zero(found.normal),
        "{found:?}"
    );
    let sum: f32 = found.weights.iter().sum();
    assert!(found.weights.iter().all(|w| (0.0..=1.0).contains(w)) && (sum - 1.0).abs() < 1e-5, "{found:?}");
    assert!((f64::from(found.distance) - want).abs() <= slack, "{found:?}, {want} is the nearest");
    let off = minus(found.position.map(f64::from), at);
    assert!((dot(off, off).sqrt() - want).abs() <= slack, "{found:?}, {want} is the nearest");
    Ok(())
}

/// Distance of a point from a triangle. For very thin triangles the distance from the edges, because the
/// normal is imprecise.
fn distance(p: [f64; 3], [a, b, c]: Triangle) -> f64 {
    let normal = cross(minus(b, a), minus(c, a));
    let longest = [minus(b, a), minus(c, b), minus(a, c)].map(|e| dot(e, e)).into_iter().fold(0.0, f64::max);
    if dot(normal, normal) < 1e-12 * longest * longest {
        let flat = |a, b| distance_to_triangle(p, [a, b, b]);
        return flat(a, b).min(flat(b, c)).min(flat(c, a));
    }
    distance_to_triangle(p, [a, b, c])
}

fn shape(mesh: &Mesh, input: &mut Unstructured<'_>) -> Result<Shape> {
    Ok(match input.int_in_range(0..=2)? {
        0 => Shape::Sphere { center: mesh.point(input)?, radius: number(input)? },
        1 => Shape::Capsule { from: mesh.point(input)?, to: mesh.point(input)?, radius: number(input)? },
        _ => {
            let half_extents = [number(input)?, number(input)?, number(input)?];
            Shape::Box { center: mesh.point(input)?, rotation: quat(input)?, half_extents }
        }
    })
}

fn touched(tree: &TriangleTree, mesh: &Mesh, input: &mut Unstructured<'_>) -> Result<()> {
    let shape = shape(mesh, input)?;
    let told = |tree: &TriangleTree| {
        let mut told = Vec::new();
        tree.overlapping(&shape, |triangle| {
            told.push(triangle);
            ControlFlow::Continue(())
        });
        told.sort_unstable();
        told
    };
    let all = told(tree);
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "reported twice: {all:?}");
    assert_eq!(tree.overlaps(&shape), !all.is_empty());
    assert_eq!(dispatch(input)?.scope(|| told(tree)), all);
    // The brute-force test searches along capsules, which is slow, so it covers only the first triangles.
    for (at, corners) in mesh.corners().enumerate().take(16) {
        if let Some(touches) = touches(&shape, corners, mesh.size()) {
            assert_eq!(all.contains(&(at as u32)), touches, "triangle {at}, {corners:?}, {shape:?}");
        }
    }
    Ok(())
}

/// Whether a shape touches a triangle. `None` if it almost touches.
fn touches(shape: &Shape, corners: Triangle, around: f64) -> Option<bool> {
    let by = |distance: f64, radius: f32, around: f64| {
        let slack = SLACK * (around + f64::from(radius)) + 1e-18;
        let apart = distance - f64::from(radius);
        (apart.abs() > slack).then_some(apart < 0.0)
    };
    let is_within = |v: &[f32]| v.iter().all(|v| v.abs() <= LIMIT);
    let is_size = |v: &[f32]| v.iter().all(|v| (0.0..=LIMIT).contains(v));
    match *shape {
        Shape::Sphere { center, radius } if is_within(&center) && is_size(&[radius]) => {
            by(distance(center.map(f64::from), corners), radius, around.max(size(&[center])))
        }
        Shape::Capsule { from, to, radius } if is_within(&from) && is_within(&to) && is_size(&[radius]) => {
            let [start, end] = [from, to].map(|p| p.map(f64::from));
            let [a, b, c] = corners;
            let normal = cross(minus(b, a), minus(c, a));
            let thin =
                dot(normal, normal) < 1e-6 * dot(minus(b, a), minus(b, a)) * dot(minus(c, a), minus(c, a));
            if thin {
                return None;
            }
            by(way_to_triangle(start, end, corners), radius, around.max(size(&[from, to])))
        }
        Shape::Box { center, rotation, half_extents }
            if is_within(&center) && is_size(&half_extents) && is_finite(&rotation) =>
        {
            let slack = SLACK * (around.max(size(&[center])) + size(&[half_extents])) + 1e-18;
            let axes = axes(rotation.map(f64::from));
            let touches = |grown: f64| {
                let half = half_extents.map(|v| f64::from(v) + grown);
                half.iter().all(|&v| v > 0.0)
                    && box_touches_triangle(center.map(f64::from), axes, half, corners)
            };
            if touches(-slack) {
                return Some(true);
            }
            (!touches(slack)).then_some(false)
        }
        _ => Some(false),
    }
}

/// Axes after the rotation by a quaternion of any length.
fn axes(q: [f64; 4]) -> [[f64; 3]; 3] {
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let unit = if length > 0.0 { q.map(|v| v / length) } else { [0.0, 0.0, 0.0, 1.0] };
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|axis| rotate(unit, axis))
}

fn inside(tree: &TriangleTree, mesh: &Mesh, input: &mut Unstructured<'_>) -> Result<()> {
    let point = mesh.point(input)?;
    let contains = tree.contains(point);
    if !point.iter().all(|v| v.abs() <= LIMIT) {
        assert!(!contains);
        return Ok(());
    }
    let at = point.map(f64::from);
    let apart = mesh.corners().map(|t| distance(at, t)).fold(f64::INFINITY, f64::min);
    let moderate = is_moderate(mesh.positions.as_flattened()) && is_moderate(&point);
    if tree.is_closed() && moderate && apart > 1e-4 * f64::max(mesh.size(), size(&[point])) {
        let winding = winding_number(at, &mesh.corners().collect::<Vec<_>>());
        // A posed surface may have gaps, because vertices at one position can be posed apart. A ray may pass
        // through a gap, but then the winding number is not an integer.
        let whole = (winding - winding.round()).abs() < 1e-6;
        assert!(!whole || contains == (winding.round() != 0.0), "{winding}, {contains}");
    }
    Ok(())
}

fn attached(mesh: &Mesh, input: &mut Unstructured<'_>) -> Result<()> {
    let mut vertex = || input.int_in_range(0..=mesh.positions.len() as u32);
    let vertices = [vertex()?, vertex()?, vertex()?];
    let it = Attachment { vertices, weights: vector(input)? };
    let results = [
        it.position(&mesh.positions).map(|_| ()),
        it.normal(&mesh.positions).map(|_| ()),
        it.place(&mesh.positions).map(|_| ()),
    ];
    let missing = vertices.iter().any(|&v| v as usize >= mesh.positions.len());
    for result in results {
        assert_eq!(matches!(result, Err(Error::Index { .. })), missing, "{result:?}");
    }
    if missing || !vertices.iter().all(|&v| is_finite(&mesh.positions[v as usize])) || !is_finite(&it.weights)
    {
        return Ok(());
    }
    let normal = it.normal(&mesh.positions).expect("there are these vertices");
    assert!(is_unit_or_zero(normal), "{normal:?}");
    let place = it.place(&mesh.positions).expect("there are these vertices");
    for row in place.rows {
        let [x, y, z, _] = row.map(f64::from);
        assert!((x * x + y * y + z * z - 1.0).abs() < 1e-5, "{place:?}");
    }
    Ok(())
}

fn is_unit_or_zero(v: [f32; 3]) -> bool {
    let square: f32 = v.iter().map(|v| v * v).sum();
    v == [0.0; 3] || (square - 1.0).abs() < 1e-5
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
