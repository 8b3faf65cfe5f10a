//! Tests boxes, spheres and hitboxes of all models in all clips, against every vertex and against ray
//! marching.

use std::path::Path;

use condyle::{Affine, Dispatch, RawClip};
use condyle_gltf::{Asset, Placement, Poser, PoserOptions};
use condyle_query::bounds::{self, Aabb, JointBounds};
use condyle_query::hitbox::{Fit, PosedHitboxes, fit, place};
use condyle_query::hits::Ray;

/// Number of times in each clip, including both ends.
const MOMENTS: usize = 21;
/// Rays for each model: more than 10^5 for all reference characters together.
const RAYS: usize = 5000;

/// Calls `each` at times through all clips, or once in the rest pose without clips.
fn through_clips(asset: &Asset, mut each: impl FnMut(&mut Poser<'_>)) {
    let mut poser = Poser::new(asset, PoserOptions::default()).expect("room for all instances");
    if asset.clips.is_empty() {
        poser.rest().expect("finite");
        each(&mut poser);
    }
    for clip in &asset.clips {
        for moment in 0..MOMENTS {
            let part = moment as f32 / (MOMENTS - 1) as f32;
            let seconds = clip.start() + f64::from(part) * clip.duration();
            poser.pose::<RawClip>(Some(clip), seconds).expect("the clip is the asset's");
            each(&mut poser);
        }
    }
}

fn diagonal(it: &Aabb) -> f64 {
    it.half_extents().iter().map(|&v| (2.0 * f64::from(v)).powi(2)).sum::<f64>().sqrt()
}

/// Checks that no vertex is outside on any instruction set, and prints how much larger than the exact box the
/// bounds are.
pub(crate) fn no_vertex_is_outside(path: &Path) {
    let asset = Asset::open(path).unwrap_or_else(|e| panic!("{e}"));
    let mut shapes = vec![];
    for (at, instance) in asset.instances.iter().enumerate() {
        let Placement::Skin(skin) = instance.placement else { continue };
        for (k, primitive) in instance.primitives.iter().enumerate() {
            // Wider ranges than those of the clips.
            let ranges = vec![[-1.0, 2.0]; primitive.mesh.morph_targets().len()];
            let shape = JointBounds::morphed(&primitive.mesh, &asset.skins[skin], &ranges)
                .expect("a skin for this mesh");
            shapes.push((at, k, shape));
        }
    }
    if shapes.is_empty() {
        return;
    }
    let (mut sum, mut worst, mut count) = (0.0, 0.0_f64, 0.0);
    through_clips(&asset, |poser| {
        let (mut all, mut all_exact) = (Aabb::EMPTY, Aabb::EMPTY);
        for (at, k, shape) in &shapes {
            let posed = &poser.posed(*at)[*k].positions;
            let exact = bounds::of(posed);
            for dispatch in Dispatch::all() {
                let found = dispatch.scope(|| bounds::posed(shape, poser.model())).expect("finite");
                assert!(found.encloses(&exact), "{path:?}, {dispatch}: {found:?} around {exact:?}");
                all = all.union(found);
            }
            let sphere = bounds::posed_sphere(shape, poser.model()).expect("finite");
            assert!(posed.iter().all(|&p| sphere.contains(p)), "{path:?}: {sphere:?}");
            all_exact = all_exact.union(exact);
        }
        let times = diagonal(&all) / diagonal(&all_exact);
        (sum, worst, count) = (sum + times, worst.max(times), count + 1.0);
    });
    println!("{}: {:.3} times the exact diagonal, at most {worst:.3}", path.display(), sum / count);
    let morphs = asset.instances.iter().any(|instance| !instance.morph_weights.is_empty());
    assert!(morphs || worst < 3.0, "{path:?}: {worst}");
}

/// Casts rays at the hitboxes of all meshes, in the middle of the first clip.
pub(crate) fn rays_hit_hitboxes(path: &Path) {
    let asset = Asset::open(path).unwrap_or_else(|e| panic!("{e}"));
    let mut meshes = vec![];
    for instance in &asset.instances {
        let Placement::Skin(skin) = instance.placement else { continue };
        meshes.extend(instance.primitives.iter().map(|primitive| (&*primitive.mesh, &asset.skins[skin])));
    }
    let hitboxes = fit(meshes, &Fit::default()).expect("skins for these meshes");
    let mut poser = Poser::new(&asset, PoserOptions::default()).expect("room for all instances");
    let middle = asset.clips.first().map_or(0.0, |clip| (clip.start() + clip.end()) / 2.0);
    poser.pose(asset.clips.first(), middle).expect("the clip is the asset's");
    let mut posed = PosedHitboxes::default();
    let model: &[Affine] = poser.model();
    place(&hitboxes, model, &mut posed).expect("sizes agree");
    if posed.is_empty() {
        return;
    }
    let around = posed.bounds();
    let size = diagonal(&around) as f32;
    let mut seed = 1_u64;
    let mut random = |from: f32, to: f32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from + (to - from) * ((seed >> 40) as f32 / (1_u64 << 24) as f32)
    };
    let mut hits = 0;
    for _ in 0..RAYS {
        let mut point = || [0, 1, 2].map(|c| random(around.min[c], around.max[c]));
        let (a, b) = (point(), point());
        let direction = [0, 1, 2].map(|c| b[c] - a[c]);
        let origin = [0, 1, 2].map(|c| a[c] - 2.0 * direction[c]);
        let ray = Ray { origin, direction, max: 5.0 };
        let got = posed.first_hit(&ray);
        let at = |t: f64| [0, 1, 2].map(|c| (f64::from(origin[c]) + t * f64::from(direction[c])) as f32);
        let length = direction.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
        // Each step is as long as the distance to the nearest surface.
        let (mut t, mut least) = (0.0, f64::INFINITY);
        let want = loop {
            let far =
                f64::from(posed.closest_point(at(t), f32::INFINITY).expect("at least one hitbox").distance);
            if far < 2e-6 * f64::from(size) {
                break Some(t);
            }
            least = least.min(far);
            t += far / length;
            if t > 5.0 {
                break None;
            }
        };
        let case = format!("{path:?}: {ray:?} {got:?} {want:?}");
        match (got, want) {
            (None, None) => {}
            (Some(hit), Some(t)) => {
                hits += 1;
                let off = posed
                    .closest_point(at(hit.distance.into()), f32::INFINITY)
                    .expect("at least one hitbox")
                    .distance;
                assert!(off.abs() < 1e-5 * size || hit.distance == 0.0, "{case}: {off}");
                assert!(f64::from(hit.distance) > t - 1e-5 * f64::from(size) / length, "{case}");
            }
            // The ray passes within the distance at which marching stops.
            (None, Some(_)) => {
                assert!(least > 0.0, "{case}");
                let near = posed.closest_point(at(t), f32::INFINITY).expect("at least one hitbox").distance;
                assert!(near >= 0.0, "{case}");
            }
            (Some(_), None) => panic!("{case}"),
        }
    }
    println!("{}: {} hitboxes, {hits} of {RAYS} rays hit", path.display(), posed.len());
}
