//! A hand that follows a path while the character walks.

use condyle::{Affine, RawClip};
use condyle_draw::marks::Mark;
use condyle_draw::picture::Format;
use condyle_draw::vector::{Vec3, length, sub};
use condyle_draw::{FPS, Film, Look, Scene, evenly};
use condyle_gltf::Asset;

use crate::commands::reach::clip::{reached, solve};
use crate::commands::reach::marked::Marked;
use crate::commands::reach::path::Path;
use crate::commands::reach::request::{Kind, Request};
use crate::commands::reach::solver::Solver;
use crate::failure::Failure;
use crate::output::drawing;

const HAND: &str = "left_hand";
/// Joint that keeps its pose in the walk, so that the back does not bend for the arm.
const STAYS: &str = "upper_chest";
/// Points of the path, in front of the chest.
const ROUND: [Vec3; 4] = [[0.36, 1.25, 0.30], [0.22, 1.40, 0.34], [0.08, 1.25, 0.34], [0.22, 1.10, 0.30]];
/// Residual in metres at which a goal counts as reached.
const TOLERANCE: f32 = 1e-5;

/// Draws the clip with the hand on its path, once around in each period. Each frame prints the residual of
/// the hand.
pub(super) fn movie(asset: &Asset, clip: &RawClip, look: &Look) -> Result<Vec<u8>, Failure> {
    let failed = |e: condyle::Error| Failure::Data(format!("the built-in character: {e}"));
    let find = |name: &str| {
        let missing = || Failure::Data(format!("the built-in character has no {name}"));
        asset.skeleton.joint_by_name(name).ok_or_else(missing)
    };
    let joint = find(HAND)?;
    let still = [Kind::Stay, Kind::StayTurned].map(|kind| find(STAYS).map(|joint| Request { joint, kind }));
    let way = way(clip).map_err(|at| Failure::Data(format!("two points at {at} s")))?;
    let mut requests = vec![Request { joint, kind: Kind::Place(way.clone()) }];
    for request in still {
        requests.push(request?);
    }
    let solver = Solver::new(asset, requests, None, (1.0, TOLERANCE));
    let moments = evenly(Some(clip), (clip.duration() * FPS).round() as usize);
    let solved = solve(&solver, &asset.skeleton, Some(clip), &moments).map_err(failed)?;
    let reaching =
        reached(&solver, &asset.skeleton, (Some(clip), "reach"), &moments, &solved).map_err(failed)?;
    let marked = Marked::new(&solver, &asset.skeleton, Some(clip)).map_err(failed)?;
    let marks = |seconds: f64, model: &[Affine]| {
        let hand = model[usize::from(joint)].transform_point([0.0; 3]);
        let off = 1e3 * length(sub(hand, way.at(seconds)));
        let mut marks = marked.at(seconds, model);
        marks.push(Mark::Note { text: format!("{off:.3} mm off") });
        marks
    };
    let mut scene = Scene::new(asset)?;
    scene.mark(&marks);
    Ok(drawing(moments.len(), |tick| {
        scene.movie(Format::Gif, Some(&reaching), &Film::new(&moments, FPS), look, tick)
    })?)
}

/// Returns the closed path, repeated from one period before the clip to one period after it.
fn way(clip: &RawClip) -> Result<Path<Vec3>, f64> {
    let period = clip.duration();
    let steps = ROUND.len() as i16;
    let keys = (-steps..=2 * steps).map(|step| {
        let seconds = clip.start() + period * f64::from(step) / f64::from(steps);
        (seconds, ROUND[step.rem_euclid(steps) as usize])
    });
    Path::new(keys.collect())
}
