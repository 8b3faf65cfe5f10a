//! Morph targets and dual-quaternion skinning.

use arbitrary::{Result, Unstructured};
use condyle::mesh::VertexSlicesMut;
use condyle::skinning::palette_dual;
use condyle::{NormalRule, Palette, Vertices, morph, palette, skin};
use condyle_fuzz::any::{bits, is_finite, is_moderate, number};
use condyle_testing::reference;

use crate::case::Case;

pub(crate) fn exercise(case: &Case, input: &mut Unstructured<'_>) -> Result<()> {
    let targets = case.mesh.morph_targets().len();
    let weights: Vec<f32> = (0..targets).map(|_| number(input)).collect::<Result<_>>()?;
    let bind = if is_finite(&weights) {
        morphed(case, &weights);
        case.morphed(&weights)
    } else {
        let mut out = case.mesh.vertices().clone();
        assert!(morph(&case.mesh, &weights, out.as_slices_mut()).is_err());
        assert_eq!(&out, case.mesh.vertices());
        out
    };
    dual(case, &bind, input)
}

/// Checks that morphed vertices equal the rounded sum in f64.
fn morphed(case: &Case, weights: &[f32]) {
    let found = case.morphed(weights);
    let [positions, normals, _] = reference::morph(&case.mesh, weights);
    let terms = |vertex: usize, c: usize, of_normal: bool| -> f64 {
        let base = case.mesh.vertices();
        let own = if of_normal { base.normals[vertex][c] } else { base.positions[vertex][c] };
        let moved = case.mesh.morph_targets().iter().zip(weights).map(|(target, weight)| {
            let delta = target.delta(vertex);
            let delta = if of_normal { delta.normal[c] } else { delta.position[c] };
            (f64::from(delta) * f64::from(*weight)).abs()
        });
        f64::from(own).abs() + moved.sum::<f64>()
    };
    for (of_normal, found, want) in [(false, &found.positions, positions), (true, &found.normals, normals)] {
        for (vertex, (found, want)) in found.iter().zip(want).enumerate() {
            for c in 0..3 {
                let terms = terms(vertex, c, of_normal);
                // The tolerance for normals is relative to the terms too, because `morph` does not normalise
                // them.
                let same = (f64::from(found[c]) - want[c]).abs() <= 1e-6 * terms + 1e-37;
                assert!(same || terms > 1e38, "vertex {vertex}: {found:?}, {want:?} is right");
            }
        }
    }
}

fn dual(case: &Case, bind: &Vertices, input: &mut Unstructured<'_>) -> Result<()> {
    let mut model = case.model(input)?;
    let rule = *input.choose(&[
        NormalRule::InverseTranspose,
        NormalRule::Plain,
        NormalRule::BlendedInverseTranspose,
    ])?;
    let mut matrices = Palette::default();
    palette_dual(&case.skin, &model, rule, &mut matrices).expect("all joints are there");
    assert_eq!(matrices.dual_quats().len(), case.skin.joints().len());
    let mut linear = Palette::default();
    palette(&case.skin, &model, rule, &mut linear).expect("all joints are there");
    assert!(linear.dual_quats().is_empty());
    let sound = |joint: usize| is_finite(&matrices.matrices()[joint].columns);
    for (joint, quat) in matrices.dual_quats().iter().enumerate() {
        let square: f64 = quat.real.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
        let unit = (square - 1.0).abs() < 1e-5;
        assert!(unit == sound(joint), "{quat:?} of {:?}", matrices.matrices()[joint]);
    }

    let influences = case.mesh.influences();
    let mut posed = Vertices::zeroed_like(bind);
    skin(influences, &matrices, bind.as_slices(), posed.as_slices_mut()).expect("the sizes agree");
    let mut alone = Vertices::zeroed_like(bind);
    skin(influences, &linear, bind.as_slices(), alone.as_slices_mut()).expect("the sizes agree");
    for vertex in 0..case.mesh.vertex_count() {
        let share = influences.dual_shares().get(vertex).copied().unwrap_or(1.0);
        let [found, plain] = [&posed, &alone].map(|it| it.positions[vertex]);
        if share == 0.0 {
            assert_eq!(bits(&found), bits(&plain), "vertex {vertex} has no share");
        }
        // Non-finite joints have no effect. The other joints and their weights must have moderate magnitudes.
        let own = || influences.row(vertex);
        let whole = |name: u16| is_moderate(&matrices.matrices()[usize::from(name)].columns);
        let moderate =
            own().all(|(name, weight)| (!sound(name.into()) || whole(name)) && is_moderate(&[weight]));
        let taken_apart = is_moderate(
            matrices.dual_stretches().iter().map(|m| m.columns).collect::<Vec<_>>().as_flattened(),
        );
        if share == 1.0 && moderate && taken_apart && is_moderate(&bind.positions[vertex]) {
            assert!(is_finite(&found), "vertex {vertex}: {found:?} of {:?}", bind.positions[vertex]);
        }
        let bound = bind.normals.get(vertex).is_some_and(|normal| is_moderate(normal));
        if share == 1.0 && moderate && taken_apart && bound {
            let normal = posed.normals[vertex];
            let square: f32 = normal.iter().map(|v| v * v).sum();
            assert!(normal == [0.0; 3] || (square - 1.0).abs() < 1e-5, "vertex {vertex}: {normal:?}");
        }
    }

    // Refused calls change nothing.
    let before = (matrices.clone(), posed.positions.clone());
    if influences.vertex_count() > 0 {
        let short = VertexSlicesMut { positions: &mut posed.positions[1..], ..VertexSlicesMut::default() };
        assert!(skin(influences, &matrices, bind.as_slices(), short).is_err());
        assert_eq!(bits(posed.positions.as_flattened()), bits(before.1.as_flattened()));
    }
    model.clear();
    assert!(palette_dual(&case.skin, &model, rule, &mut matrices).is_err());
    assert_eq!(format!("{matrices:?}"), format!("{:?}", before.0));
    Ok(())
}
