//! Queries on all hitboxes match the queries on each one separately.

use std::ops::ControlFlow;

use arbitrary::{Result, Unstructured};
use condyle::{Affine, Error};
use condyle_fuzz::any::{is_finite, is_moderate, number, quat, vector};
use condyle_query::hitbox::{Fit, Hitbox, HitboxHit, Hitboxes, NearestHitbox, PosedHitboxes, fit, place};
use condyle_query::hits::{Ray, Shape};

use crate::case::Case;

pub(crate) fn exercise(case: &Case, input: &mut Unstructured<'_>) -> Result<()> {
    let options = Fit {
        least_weight: if input.arbitrary()? { 0.5 } else { number(input)? },
        coverage: if input.arbitrary()? { 1.0 } else { number(input)? },
    };
    let fitted = fit([(&case.mesh, &case.skin)], &options);
    let mut list = match fitted {
        Ok(fitted) => {
            if options.coverage == 1.0 {
                around_vertices(case, &fitted);
            }
            fitted.as_slice().to_vec()
        }
        Err(error) => {
            assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
            Vec::new()
        }
    };
    while list.len() < 20 && input.ratio(1, 2)? {
        list.push(Hitbox { joint: input.int_in_range(0..=case.joints as u16)?, shape: shape(input)? });
    }
    let Ok(hitboxes) = Hitboxes::new(list) else { return Ok(()) };
    let model = case.model(input)?;
    let mut posed = PosedHitboxes::default();
    if hitboxes.joint_bound() > model.len() {
        assert!(matches!(place(&hitboxes, &model, &mut posed), Err(Error::TooShort { .. })));
        assert!(posed.is_empty());
        return Ok(());
    }
    place(&hitboxes, &model, &mut posed).expect("all joints are there");
    let alone = alone(&hitboxes, &model);
    for _ in 0..input.int_in_range(1..=4)? {
        ray(&posed, &alone, input)?;
        point(&posed, &alone, input)?;
        touched(&posed, &alone, input)?;
    }
    Ok(())
}

fn shape(input: &mut Unstructured<'_>) -> Result<Shape> {
    Ok(match input.int_in_range(0..=2)? {
        0 => Shape::Sphere { center: vector(input)?, radius: number(input)?.abs() },
        1 => Shape::Capsule { from: vector(input)?, to: vector(input)?, radius: number(input)?.abs() },
        _ => {
            let half_extents = [number(input)?.abs(), number(input)?.abs(), number(input)?.abs()];
            Shape::Box { center: vector(input)?, rotation: quat(input)?, half_extents }
        }
    })
}

/// Checks that each vertex is in the shape of the joint of its heaviest influence.
fn around_vertices(case: &Case, fitted: &Hitboxes) {
    if !is_moderate(case.mesh.vertices().positions.as_flattened()) {
        return;
    }
    for (vertex, &position) in case.mesh.vertices().positions.iter().enumerate() {
        let Some((name, _)) = case.mesh.influences().row(vertex).next() else { continue };
        let bind = &case.skin.inverse_bind()[usize::from(name)];
        if !is_moderate(bind.rows.as_flattened()) {
            continue;
        }
        let joint = case.skin.joints()[usize::from(name)];
        let of_joint = fitted.as_slice().iter().find(|hitbox| hitbox.joint == joint);
        let it = Hitbox { joint: 0, ..*of_joint.expect("the joint has a vertex") };
        let mut posed = PosedHitboxes::default();
        place(&Hitboxes::new(vec![it]).expect("it was fitted"), &[Affine::IDENTITY], &mut posed)
            .expect("there is one joint");
        let at = bind.transform_point(position);
        let size = at.iter().fold(0.0, |size: f32, v| size.max(v.abs()));
        let terms = bind.rows.as_flattened().iter().fold(0.0, |sum: f32, v| sum + v.abs());
        let farthest = position.iter().fold(1.0, |size: f32, v| size.max(v.abs()));
        let nearest = posed.closest_point(at, f32::INFINITY).expect("there is a hitbox");
        let extent = extent(&it.shape);
        let slack = 1e-5 * (size + extent) + 1e-6 * terms * farthest;
        assert!(
            nearest.distance <= slack,
            "vertex {vertex} at {at:?} is {} outside of {it:?}",
            nearest.distance
        );
    }
}

fn extent(shape: &Shape) -> f32 {
    let sum = |v: &[f32]| v.iter().map(|v| v.abs()).sum::<f32>();
    match shape {
        Shape::Sphere { center, radius } => sum(center) + radius,
        Shape::Capsule { from, to, radius } => sum(from) + sum(to) + radius,
        Shape::Box { center, half_extents, .. } => sum(center) + sum(half_extents),
        other => unreachable!("{other:?} is made by nobody here"),
    }
}

fn alone(hitboxes: &Hitboxes, model: &[Affine]) -> Vec<PosedHitboxes> {
    let each = hitboxes.as_slice().iter().map(|&hitbox| {
        let mut posed = PosedHitboxes::default();
        let it = Hitboxes::new(vec![hitbox]).expect("it was one of many");
        place(&it, model, &mut posed).expect("all joints are there");
        let matrix = &model[usize::from(hitbox.joint)];
        (posed, is_finite(matrix.rows.as_flattened()))
    });
    // A hitbox moved by a non-finite matrix is never hit.
    let ray = Ray { origin: [0.0; 3], direction: [1.0, 0.0, 0.0], max: f32::INFINITY };
    each.map(|(posed, sound)| {
        assert!(sound || !posed.any_hit(&ray) && posed.closest_point([0.0; 3], f32::INFINITY).is_none());
        posed
    })
    .collect()
}

fn all_hits(posed: &PosedHitboxes, ray: &Ray) -> Vec<HitboxHit> {
    let mut hits = Vec::new();
    posed.all_hits(ray, |hit| {
        hits.push(hit);
        ControlFlow::Continue(())
    });
    hits
}

fn ray(posed: &PosedHitboxes, alone: &[PosedHitboxes], input: &mut Unstructured<'_>) -> Result<()> {
    let max = if input.arbitrary()? { f32::INFINITY } else { number(input)? };
    let ray = Ray { origin: vector(input)?, direction: vector(input)?, max };
    let all = all_hits(posed, &ray);
    let each: Vec<HitboxHit> = alone
        .iter()
        .enumerate()
        .filter_map(|(hitbox, posed)| posed.first_hit(&ray).map(|hit| HitboxHit { hitbox, ..hit }))
        .collect();
    assert_eq!(all, each, "{ray:?}");
    assert_eq!(posed.any_hit(&ray), !all.is_empty());
    let nearest = all.iter().map(|hit| hit.distance).reduce(f32::min);
    let first = posed.first_hit(&ray);
    assert_eq!(first.map(|hit| hit.distance), nearest, "{ray:?}");
    for hit in first.iter().chain(&all) {
        assert!(hit.distance >= 0.0 && hit.distance <= max, "{hit:?}, {ray:?}");
        let square: f32 = hit.normal.iter().map(|v| v * v).sum();
        // A zero-length ray has no incoming direction.
        assert!((square - 1.0).abs() < 1e-5 || ray.direction == [0.0; 3], "{hit:?}, {ray:?}");
        assert!(!hit.position.iter().any(|v| v.is_nan()), "{hit:?}, {ray:?}");
    }
    Ok(())
}

fn point(posed: &PosedHitboxes, alone: &[PosedHitboxes], input: &mut Unstructured<'_>) -> Result<()> {
    let point = vector(input)?;
    let max = if input.arbitrary()? { f32::INFINITY } else { number(input)? };
    let found = posed.closest_point(point, max);
    let each = alone.iter().filter_map(|posed| posed.closest_point(point, max));
    let nearest = each.map(|it| it.distance).reduce(f32::min);
    // If two distances are near the f32 limit, `closest_point` may report either hitbox.
    let far = |distance: Option<f32>| distance.is_some_and(|distance| distance > 1e30);
    let distance = found.map(|it| it.distance);
    assert!(
        distance == nearest || far(distance) && far(nearest),
        "{distance:?}, {nearest:?}, {point:?}, {max}"
    );
    if let Some(NearestHitbox { distance, position, normal, .. }) = found {
        let square: f32 = normal.iter().map(|v| v * v).sum();
        assert!(distance <= max && (square - 1.0).abs() < 1e-5, "{found:?}");
        assert!(!position.iter().any(|v| v.is_nan()), "{found:?}");
    }
    let containing = alone.iter().position(|posed| posed.containing(point).is_some());
    assert_eq!(posed.containing(point), containing, "{point:?}");
    Ok(())
}

fn touched(posed: &PosedHitboxes, alone: &[PosedHitboxes], input: &mut Unstructured<'_>) -> Result<()> {
    let shape = shape(input)?;
    let mut told = Vec::new();
    posed.overlapping(&shape, |at| {
        told.push(at);
        ControlFlow::Continue(())
    });
    let each: Vec<usize> = (0..alone.len()).filter(|&at| alone[at].overlaps(&shape)).collect();
    assert_eq!(told, each, "{shape:?}");
    assert_eq!(posed.overlaps(&shape), !told.is_empty());
    Ok(())
}
