//! Hostile documents. Each must be accepted, or refused with the path and the reason: no panic, and time and
//! memory limited by the document's size.
#![cfg(not(target_family = "wasm"))]

#[path = "../exercise/mod.rs"]
mod exercise;
#[path = "../hostile/mod.rs"]
mod hostile;
#[path = "../tiny/mod.rs"]
mod tiny;

mod attempt;
mod extras;
mod files;

use std::fmt::Display;

use attempt::attempt_with;
use condyle_gltf::{Asset, Document, Refused};
use hostile::{Hostile, Must};
use rayon::prelude::*;

/// Tries the document and checks its outcome.
fn check(family: &str, document: &Hostile<'_>) {
    let Hostile { case, bytes, must } = document;
    let case = format!("{family}: {case}");
    let result = attempt(&case, bytes);
    let rises = |times: &Vec<f32>| times.windows(2).all(|w| w[0] < w[1]);
    if let Ok(asset) = &result {
        assert!(asset.clips.iter().all(|clip| clip.timelines().iter().all(rises)), "{case}: key times");
    }
    match (must, &result) {
        (Must::EndWell, _) | (Must::BeAccepted, Ok(_)) | (Must::BeTold | Must::BeRefused, Err(_)) => {}
        (Must::BeTold, Ok(asset)) => assert!(!asset.problems.is_empty(), "{case}: not a word about it"),
        (Must::BeToldAt(place), Ok(asset)) => {
            let told = asset.problems.iter().any(|p| p.place.starts_with(place));
            assert!(told, "{case}: no word about {place}: {:?}", asset.problems);
        }
        (Must::BeRefusedAt(path), Err(refused)) => {
            assert!(
                refused.problems.iter().any(|p| p.place == *path),
                "{case}: no problem at {path}: {refused}"
            );
        }
        (Must::BeRefusedWith(words), Err(refused)) => {
            assert!(refused.to_string().contains(words), "{case}: {refused}");
        }
        (Must::BeAccepted | Must::BeToldAt(_), Err(refused)) => panic!("{case}: {refused}"),
        (Must::BeRefused | Must::BeRefusedAt(_) | Must::BeRefusedWith(_), Ok(_)) => {
            panic!("{case}: accepted")
        }
    }
}

#[test]
fn hostile_documents_end_well() {
    hostile::FAMILIES.par_iter().for_each(|(name, family)| family(&mut |document| check(name, &document)));
}

#[test]
fn morphed_meshes_have_times_of_their_own() {
    hostile::json::morph_weights_that_all_move_in_their_own_time(&mut |Hostile { case, bytes, .. }| {
        let asset = attempt(case, &bytes).expect("a valid document");
        assert_eq!((asset.instances.len(), asset.clips[0].timelines().len()), (5_000, 5_000));
    });
}

/// Imports a document from memory; poses and writes it if it is accepted.
fn attempt(case: impl Display, bytes: &[u8]) -> Result<Asset, Refused> {
    attempt_with(case, bytes.len(), || {
        Document::from_slice("hostile", bytes, None).and_then(Asset::from_document)
    })
}

/// Checks that the document is refused, with an error at `path`.
fn refuse(case: impl Display, bytes: &[u8], path: &str) {
    match attempt(&case, bytes) {
        Ok(_) => panic!("{case}: accepted"),
        Err(refused) => {
            assert!(
                refused.problems.iter().any(|p| p.place == path),
                "{case}: no problem at {path}: {refused}"
            );
        }
    }
}

#[test]
fn the_documents_that_hostile_ones_are_made_from_are_accepted() {
    for (name, tiny) in tiny::all() {
        for bytes in [tiny.gltf(), tiny.glb()] {
            let asset = attempt(name, &bytes).unwrap_or_else(|refused| panic!("{name}: {refused}"));
            assert!(asset.instances.iter().all(|i| !i.primitives.is_empty()), "{name}");
        }
    }
    let character = attempt("character", &tiny::character().glb()).expect("accepted before");
    assert_eq!((character.clips.len(), character.skins.len(), character.instances.len()), (1, 1, 3));
    assert_eq!(character.clips[0].tracks().len(), 4);
    assert!(character.problems.is_empty(), "{:?}", character.problems);
}
