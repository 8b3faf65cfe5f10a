//! Baked frames decode to the input within half a step.

use arbitrary::{Result, Unstructured};
use condyle::mesh::{VertexSlices, VertexSlicesMut};
use condyle::{Error, Looping};
use condyle_fuzz::any::{is_finite, number, points, size, vector};
use condyle_query::baked::{self, BakedClip, Grid};

use crate::case::Case;

pub(crate) fn exercise(case: &Case, input: &mut Unstructured<'_>) -> Result<()> {
    let count = case.mesh.vertex_count();
    let mut frames = vec![points(input, count)?];
    while frames.len() < 4 && input.arbitrary()? {
        let model = case.model(input)?;
        frames.push(case.posed(case.mesh.vertices(), &model, u32::MAX).positions);
    }
    let around = condyle_query::bounds::of(&frames.concat());
    let (low, high) = if input.ratio(1, 4)? || count == 0 {
        (vector(input)?, vector(input)?)
    } else {
        (around.min, around.max)
    };
    let Ok(grid) = Grid::around(low, high) else {
        let extent = (0..3).map(|c| f64::from(high[c]) - f64::from(low[c]));
        assert!(extent.into_iter().any(|v| !(0.0..3.4e38).contains(&v)), "{low:?}, {high:?}");
        return Ok(());
    };
    let fps = if input.arbitrary()? { 30.0 } else { number(input)? };
    let slices = |positions| VertexSlices { positions, ..VertexSlices::default() };
    let Ok(mut clip) = BakedClip::new(grid, fps, slices(&frames[0])) else { return Ok(()) };
    let mut kept = vec![&frames[0]];
    for frame in &frames[1..] {
        let before = clip.clone();
        match clip.push(slices(frame)) {
            Ok(()) => kept.push(frame),
            Err(error) => {
                let sound = is_finite(frame.as_flattened());
                assert!(!sound || matches!(error, Error::OutOfRange { .. }), "{error}");
                assert_eq!(clip, before);
            }
        }
    }
    assert_eq!(clip.frame_count(), kept.len());
    let duration = clip.duration();
    assert!(duration >= 0.0 && duration.is_finite());
    let looping = if input.arbitrary()? { Looping::Wrap } else { Looping::Clamp };
    let moments = [input.arbitrary()?, f64::from(number(input)?), duration];
    play(&clip, &kept, looping, moments);
    Ok(())
}

fn play(clip: &BakedClip, frames: &[&Vec<[f32; 3]>], looping: Looping, moments: [f64; 3]) {
    let count = clip.vertex_count();
    for seconds in moments {
        let mut positions = vec![[7.0; 3]; count];
        let out = VertexSlicesMut { positions: &mut positions, ..VertexSlicesMut::default() };
        let done = baked::sample(clip, seconds, looping, out);
        assert_eq!(done.is_ok(), seconds.is_finite());
        if done.is_err() {
            assert!(positions.iter().all(|p| *p == [7.0; 3]));
            continue;
        }
        between(clip, frames, looping, seconds, &positions);
    }
}

/// Checks that each component is near the line between two frames.
fn between(clip: &BakedClip, frames: &[&Vec<[f32; 3]>], looping: Looping, seconds: f64, found: &[[f32; 3]]) {
    let moment = looping.moment(seconds, clip.duration()).expect("finite seconds").seconds;
    let last = frames.len() - 1;
    let at = (moment * f64::from(clip.fps())).min(last as f64);
    // The rounding of the time limits the precision of the frame position.
    let first = at as usize;
    let part = at - first as f64;
    let (from, to) = (frames[first], frames[(first + 1).min(last)]);
    let greatest = frames.iter().map(|frame| size(frame)).fold(0.0, f64::max);
    for ((found, from), to) in found.iter().zip(from).zip(to) {
        for c in 0..3 {
            let (a, b) = (f64::from(from[c]), f64::from(to[c]));
            let want = a + part * (b - a);
            let step = f64::from(clip.grid().step()[c]);
            let farthest = greatest.max(f64::from(clip.grid().origin()[c].abs())).max(65_535.0 * step);
            let slack = 0.51 * step + 1.2e-7 * farthest + 1e-6 * (b - a).abs();
            let off = (f64::from(found[c]) - want).abs();
            assert!(off <= slack, "{off} from {want} at frame {at}, {slack} may be: {:?}", clip.grid());
        }
    }
}
