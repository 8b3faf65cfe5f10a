//! Checks of all results against f64, before anything is timed.

use crate::data::{Data, Mesh, Random};
use crate::entrants::Entrant;
use crate::exact;
use crate::player::Cast;
use crate::results::Results;

/// Largest error of a joint in metres, with clips at 0.1 mm or with all keys.
const SMALL: f64 = 0.5e-3;
/// The same at 1 mm, with room for ozz-animation, whose tolerance is not a bound.
const LARGE: f64 = 6e-3;
/// Largest error of a skinned coordinate in metres, and of a component of a normal.
const SKIN_LIMIT: f64 = 1e-5;

/// Places of the joints of whole characters, from the palettes.
///
/// # Panics
/// If an entrant disagrees with f64.
pub(crate) fn characters(data: &Data, entrants: &[Entrant], results: &mut Results) {
    let mut random = Random(5);
    let rest = exact::model(data, &data.rest);
    for _ in 0..40 {
        let times = [0, 1].map(|clip| random.unit() * data.duration(clip));
        let [a, b] = [0, 1].map(|clip| exact::sampled(data, clip, times[clip]));
        let expected = exact::model(data, &exact::mixed(&a, &b, 0.5));
        for entrant in entrants {
            let forms =
                [("joint error, small", entrant.exact, SMALL), ("joint error, 1 mm", entrant.form, LARGE)];
            for (work, form, limit) in forms {
                let mut player = entrant.player.borrow_mut();
                player.character(form, [0, 1], [&times[..1], &times[1..]]);
                let palette = player.palette(form, None);
                let joints = palette.chunks(16).zip(&rest).zip(&expected);
                let error = joints.map(|((columns, rest), expected)| {
                    let placed = exact::product(&exact::from_columns(columns), rest);
                    exact::distance(placed.map(|row| row[3]), expected.map(|row| row[3]))
                });
                let error = error.fold(0.0, f64::max);
                results.raise(work, entrant, error * 1e3);
                assert!(error <= limit, "{} {}: {error} m off", entrant.name, entrant.target);
            }
        }
    }
}

/// Crowds have the palettes of single characters.
///
/// # Panics
/// If they differ.
pub(crate) fn crowds(data: &Data, entrants: &[Entrant]) {
    let cast = cast(data, 20, 3);
    for entrant in entrants.iter().filter(|entrant| entrant.variant_of.is_none()) {
        let mut player = entrant.player.borrow_mut();
        player.crowd(entrant.form, &cast);
        for at in 0..20 {
            let crowd = player.palette(entrant.form, Some(at));
            let clips = cast.clips.each_ref().map(|clips| clips[at] as usize);
            let times = cast.times.each_ref().map(|times| &times[at..=at]);
            player.character(entrant.form, clips, times);
            let single = player.palette(entrant.form, None);
            let difference = crowd.iter().zip(&single).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(difference < 1e-6, "{} {}: {difference}", entrant.name, entrant.target);
        }
    }
}

/// Characters with two of the short clips each, at random times.
pub(crate) fn cast(data: &Data, count: usize, seed: u64) -> Cast {
    let mut random = Random(seed);
    let short: Vec<usize> = (0..data.clips.len()).filter(|&clip| data.duration(clip) < 2.0).collect();
    let mut plays = || -> (Vec<i32>, Vec<f32>) {
        let play = |_| {
            let clip = short[random.below(short.len())];
            (clip as i32, random.unit() * data.duration(clip))
        };
        (0..count).map(play).unzip()
    };
    let ((clips_a, times_a), (clips_b, times_b)) = (plays(), plays());
    Cast { clips: [clips_a, clips_b], times: [times_a, times_b] }
}

/// Positions and directions of normals, against f64 with the palette of the entrant itself.
///
/// # Panics
/// If they differ.
pub(crate) fn skinning(mesh: &Mesh, entrant: &Entrant) {
    let mut player = entrant.player.borrow_mut();
    player.skin(2, 1);
    let palette: Vec<_> = player.palette(entrant.form, None).chunks(16).map(exact::from_columns).collect();
    let [positions, normals] = player.skinned();
    let unit = |v: [f64; 3]| {
        let length = exact::distance(v, [0.0; 3]);
        v.map(|v| v / length)
    };
    for (v, (joints, weights)) in mesh.joints.iter().zip(&mesh.weights).enumerate() {
        let mut expected = [[0.0; 3]; 2];
        for (&joint, &weight) in joints.iter().zip(weights) {
            for (sum, (bind, w)) in
                expected.iter_mut().zip([(mesh.positions[v], 1.0), (mesh.normals[v], 0.0)])
            {
                let posed = exact::transformed(&palette[usize::from(joint)], bind.map(f64::from), w);
                sum.iter_mut().zip(posed).for_each(|(sum, posed)| *sum += f64::from(weight) * posed);
            }
        }
        let found = [&positions, &normals].map(|all| [0, 1, 2].map(|i| f64::from(all[3 * v + i])));
        let error = exact::distance(found[0], expected[0]);
        assert!(error < SKIN_LIMIT, "{} {}: {error} m off", entrant.name, entrant.target);
        // Opposed directions cancel, and rounding decides the rest.
        if exact::distance(expected[1], [0.0; 3]) > 0.1 {
            let error = exact::distance(unit(found[1]), unit(expected[1]));
            assert!(error < SKIN_LIMIT, "{} {}: normal {error} off", entrant.name, entrant.target);
        }
    }
}
