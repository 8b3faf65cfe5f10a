//! Exercises a document that was accepted or refused; shared by the malformed-input tests and the fuzz
//! targets.

use std::hint::black_box;

use condyle::{Error, NormalRule, RawClip};
use condyle_gltf::{Asset, ClipExporter, Document, ExportError, Exporter, Poser, Refused, Severity};
use condyle_solve::spring_bones::Tick;

/// Checks that a refusal has an error with a description, and with a JSON path unless it concerns the whole
/// file.
pub(crate) fn check_refusal(refused: &Refused) {
    let error = refused.problems.iter().find(|p| p.severity == Severity::Error);
    let error = error.expect("a refusal names at least one error");
    assert!(!error.what.is_empty() && (error.place.is_empty() || error.place.starts_with('/')), "{error:?}");
    let text = refused.to_string();
    assert!(text.contains(&refused.name) && text.contains(&error.what), "{text}");
}

/// Poses an accepted document at times inside and outside of each clip, and exports it with and without
/// clips. Errors that the documentation allows for such documents are accepted.
pub(crate) fn play(asset: &Asset) {
    write_clips(asset);
    let exporter = match Exporter::new(asset) {
        Ok(exporter) => exporter,
        Err(ExportError::TooLarge { .. }) => return,
        Err(error) => panic!("{error}"),
    };
    for rule in [NormalRule::InverseTranspose, NormalRule::Plain, NormalRule::BlendedInverseTranspose] {
        let mut poser = match Poser::new(asset, rule.into()) {
            Ok(poser) => poser,
            Err(Error::TooMany { .. }) => return,
            Err(error) => panic!("{error}"),
        };
        show(&mut poser, &exporter, None, 0.0);
        swing(&mut poser, asset);
        for clip in &asset.clips {
            let (start, end) = (clip.start(), clip.end());
            for time in [start - 1.0, start / 2.0 + end / 2.0, end] {
                show(&mut poser, &exporter, Some(clip), time);
            }
        }
    }
}

/// Checks that a document written with its clips is read back with them. The only allowed error is the memory
/// limit, because shared data makes the written file smaller.
fn write_clips(asset: &Asset) {
    let written = ClipExporter::new(asset).glb(&asset.clips).unwrap_or_else(|e| panic!("{e}"));
    let again = match Document::from_slice("written", &written, None).and_then(Asset::from_document) {
        Ok(again) => again,
        Err(refused) => {
            let mut errors = refused.problems.iter().filter(|p| p.severity == Severity::Error);
            assert!(errors.all(|p| p.what.contains("a document of this size")), "{refused}");
            return;
        }
    };
    assert_eq!(again.clips.len(), asset.clips.len());
    for (was, is) in asset.clips.iter().zip(&again.clips) {
        assert_eq!((was.name(), was.tracks().len()), (is.name(), is.tracks().len()));
    }
}

/// Simulates springs, and checks that the result is a pose.
fn swing(poser: &mut Poser<'_>, asset: &Asset) {
    for seconds in [0.0, 0.02, 0.3, 1e9] {
        match poser.swing(asset.clips.first(), seconds, &Tick::new(seconds as f32)) {
            Ok(()) | Err(Error::NotFinite { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn show(poser: &mut Poser<'_>, exporter: &Exporter<'_>, clip: Option<&RawClip>, time: f64) {
    match poser.pose(clip, time) {
        Ok(()) => {}
        // A spline between finite weights can leave the range of f32.
        Err(Error::NotFinite { .. }) => return,
        Err(error) => panic!("{error}"),
    }
    match exporter.glb(&poser.scene()) {
        Ok(bytes) => drop(black_box(bytes)),
        Err(ExportError::NotFinite { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}
