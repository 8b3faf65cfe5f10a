//! Boxes and spheres contain their points.

use arbitrary::{Result, Unstructured};
use condyle::{Affine, Error, Vertices};
use condyle_fuzz::any::{is_finite, is_moderate, matrix, number, points, size};
use condyle_query::bounds::{self, Aabb, JointBounds, Sphere};

use crate::case::Case;

pub(crate) fn exercise(case: &Case, input: &mut Unstructured<'_>) -> Result<()> {
    of_points(input)?;
    let targets = case.mesh.morph_targets().len();
    let ranges: Vec<[f32; 2]> =
        (0..targets).map(|_| Ok([number(input)?, number(input)?])).collect::<Result<_>>()?;
    let shape = match JointBounds::morphed(&case.mesh, &case.skin, &ranges) {
        Ok(shape) => shape,
        Err(error) => {
            let sound = is_finite(ranges.as_flattened());
            assert!(!sound || matches!(error, Error::OutOfRange { .. }), "{error}");
            return Ok(());
        }
    };
    let mut weights = Vec::new();
    for &[low, high] in &ranges {
        let part = f32::from(input.arbitrary::<u8>()?) / 255.0;
        let between = low + (high - low) * part;
        let between = if between.is_finite() { between } else { low };
        weights.push(between.clamp(low.min(high), low.max(high)));
    }
    let bind = case.morphed(&weights);
    let mut model = case.model(input)?;
    holds(case, &shape, &bind, &model);
    if input.ratio(1, 8)? {
        model.pop();
        let needed = shape.joint_bound();
        let refused = bounds::posed(&shape, &model);
        assert_eq!(matches!(refused, Err(Error::TooShort { .. })), model.len() < needed, "{refused:?}");
    }
    Ok(())
}

fn holds(case: &Case, shape: &JointBounds, bind: &Vertices, model: &[Affine]) {
    let found = bounds::posed(shape, model);
    let sphere = bounds::posed_sphere(shape, model);
    assert_eq!(found.is_ok(), sphere.is_ok());
    let (Ok(found), Ok(sphere)) = (found, sphere) else { return };
    assert_eq!(found.is_empty(), case.mesh.vertex_count() == 0);
    assert!(found.is_empty() || is_finite([found.min, found.max].as_flattened()), "{found:?}");
    each_joint(shape, model);
    // Skips values whose products lose precision in f32 or overflow.
    let (_, _, weights) = case.mesh.influences().as_slices();
    let matrices = model.iter().chain(case.skin.inverse_bind());
    let numbers = matrices.flat_map(|m| m.rows.as_flattened()).chain(bind.positions.as_flattened());
    if !is_moderate(&numbers.chain(weights).copied().collect::<Vec<_>>()) {
        return;
    }
    // With negative weights, the box is only guaranteed to hold if all influences are used.
    let any_negative = weights.iter().any(|weight| *weight < 0.0);
    let counts = if any_negative { &[u32::MAX][..] } else { &[u32::MAX, 3, 1] };
    for &most in counts {
        // If a sum overflows f32, the vertex has no position.
        let mut posed = case.posed(bind, model, most).positions;
        posed.retain(|point| is_finite(point));
        let exact = bounds::of(&posed);
        assert!(exact.is_empty() || found.encloses(&exact), "{most}: {exact:?} in {found:?}");
        for point in posed {
            assert!(sphere.contains(point), "{most}: {point:?} in {sphere:?}");
        }
    }
}

fn each_joint(shape: &JointBounds, model: &[Affine]) {
    let mut boxes = vec![Aabb::EMPTY; shape.joints().len()];
    bounds::per_joint(shape, model, &mut boxes).expect("the sizes agree");
    for ((joint, around), sphere) in shape.joints().iter().zip(&boxes).zip(shape.spheres()) {
        assert!(is_finite(&sphere.center) && sphere.radius >= 0.0, "{sphere:?}");
        let matrix = &model[usize::from(*joint)];
        assert!(!around.is_empty() || !is_finite(matrix.rows.as_flattened()), "{around:?}, {matrix:?}");
    }
    let before = boxes.clone();
    boxes.push(Aabb::EMPTY);
    assert!(matches!(bounds::per_joint(shape, model, &mut boxes), Err(Error::Length { .. })));
    assert_eq!(format!("{:?}", &boxes[..before.len()]), format!("{before:?}"));
}

fn of_points(input: &mut Unstructured<'_>) -> Result<()> {
    let count = input.int_in_range(0..=30)?;
    let points = points(input, count)?;
    let around = bounds::of(&points);
    for (c, (low, high)) in around.min.into_iter().zip(around.max).enumerate() {
        let values = || points.iter().map(|p| p[c]).filter(|v| !v.is_nan());
        assert!(values().all(|v| v >= low && v <= high));
        assert!(count == 0 || values().next().is_none() || values().any(|v| v == low));
    }
    let sphere = Sphere::around(&points);
    let sound = count > 0 && is_finite(points.as_flattened());
    assert_eq!(sphere.radius >= 0.0, sound, "{sphere:?}");
    assert!(!sound || points.iter().all(|&p| sphere.contains(p)), "{sphere:?}");
    if !sound {
        return Ok(());
    }
    let matrix = matrix(input)?;
    let [box_there, sphere_there] = [around.transformed(&matrix), {
        let Sphere { center, radius } = sphere.transformed(&matrix);
        Aabb { min: center.map(|v| v - radius), max: center.map(|v| v + radius) }
    }];
    if !is_finite(matrix.rows.as_flattened()) {
        return Ok(());
    }
    let terms =
        size(&points) * matrix.rows.as_flattened().iter().fold(0.0, |sum, v| sum + f64::from(v.abs()));
    for point in points {
        for (c, row) in matrix.rows.iter().enumerate() {
            let at: f64 =
                (0..3).map(|k| f64::from(row[k]) * f64::from(point[k])).sum::<f64>() + f64::from(row[3]);
            let slack = 1e-14 * (terms + f64::from(row[3].abs()));
            let within = |around: &Aabb, slack: f64| {
                let [low, high] = [around.min[c], around.max[c]].map(f64::from);
                at >= low - slack && at <= high + slack
            };
            assert!(within(&box_there, slack), "{at} in {box_there:?}");
            // Tolerance for the f32 rounding of the sphere's radius and of the coordinate.
            let radius = 1e-6 * (f64::from(sphere_there.max[c]) - f64::from(sphere_there.min[c]));
            let far = 1e-6 * at.abs();
            assert!(
                radius.is_nan() || within(&sphere_there, slack + radius + far),
                "{at} in {sphere_there:?}"
            );
        }
    }
    Ok(())
}
