//! Exercises the bytes of a file; shared by the tests and the fuzz target.

use condyle::Error;
use condyle_bvh::{Bvh, ImportOptions, Positions, Severity, WriteOptions, write};

/// Reads the bytes and writes the result. Checks that a refusal has a location and a reason.
pub(crate) fn exercise(bytes: &[u8]) {
    let bvh = match Bvh::from_slice("hostile", bytes) {
        Ok(bvh) => bvh,
        Err(refused) => {
            let first = &refused.problems[0];
            assert!(
                first.severity == Severity::Error
                    && first.place.starts_with("line ")
                    && !first.what.is_empty()
            );
            return;
        }
    };
    assert!(bvh.problems().iter().all(|problem| problem.severity != Severity::Error));
    assert_eq!(bvh.values().len(), bvh.frame_count() * bvh.channel_count());
    assert!(bvh.values().len() <= bytes.len() && bvh.values().iter().all(|value| value.is_finite()));
    for positions in [Positions::ReplaceOffsets, Positions::AddToOffsets] {
        let mut options = ImportOptions::default();
        options.positions = positions;
        let (skeleton, clip) = match (bvh.skeleton(&options), bvh.clip(&options)) {
            (Ok(skeleton), Ok(clip)) => (skeleton, clip),
            // Finite numbers outside the range of f32.
            (_, Err(Error::NotFinite { .. })) => continue,
            (_, Err(error)) => panic!("{error}"),
            (Err(error), Ok(_)) => panic!("{error}"),
        };
        if skeleton.joint_count() * bvh.frame_count() > 10_000 {
            continue;
        }
        let text = write(&skeleton, &clip, &WriteOptions::new(bvh.frame_rate())).expect("finite poses");
        let back = Bvh::from_slice("again", text.as_bytes()).unwrap_or_else(|refused| panic!("{refused}"));
        // A clip without known channels does not move and has zero length.
        let frames = if clip.tracks().is_empty() { 1 } else { bvh.frame_count() };
        assert_eq!(back.frame_count(), frames);
    }
}
