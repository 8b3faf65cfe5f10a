//! Hostile documents. Each must be accepted or refused with the place and the reason: no panic, no two seconds, and no
//! memory out of proportion to its size.
#![cfg(not(target_family = "wasm"))]

#[path = "../exercise/mod.rs"]
mod exercise;
#[path = "../tiny/mod.rs"]
mod tiny;

mod attempt;
mod buffers;
mod container;
mod files;
mod json;

use std::fmt::Display;

use attempt::attempt_with;
use condyle_gltf::{Asset, Document, Refused};

/// Imports a document from memory, and poses and writes what is accepted.
fn attempt(case: impl Display, bytes: &[u8]) -> Result<Asset, Refused> {
    attempt_with(case, bytes.len(), || {
        Document::from_slice("hostile", bytes, None).and_then(Asset::from_document)
    })
}

/// The document must be refused, with an error at `path`.
fn refuse(case: impl Display, bytes: &[u8], path: &str) {
    match attempt(&case, bytes) {
        Ok(_) => panic!("{case}: accepted"),
        Err(refused) => {
            assert!(
                refused.problems.iter().any(|p| p.path == path),
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
    let character = attempt("character", &tiny::character().glb()).expect("accepted above");
    assert_eq!((character.clips.len(), character.skins.len(), character.instances.len()), (1, 1, 3));
    assert_eq!(character.clips[0].tracks().len(), 4);
    assert!(character.problems.is_empty(), "{:?}", character.problems);
}
