//! Broken files: cut short, flipped bits, chunks that lie, and JSON that is none.

use crate::tiny::{self, glb};
use crate::{attempt, refuse};

#[test]
fn cut_short_at_every_length() {
    for (name, tiny) in tiny::all() {
        for (kind, bytes) in [("gltf", tiny.gltf()), ("glb", tiny.glb())] {
            for length in 0..bytes.len() {
                let case = format_args!("{name}.{kind} cut to {length} bytes");
                assert!(attempt(case, &bytes[..length]).is_err(), "{case}: accepted");
            }
        }
    }
}

#[test]
fn one_bit_flipped_in_every_byte() {
    for (name, tiny) in tiny::all() {
        for (kind, bytes) in [("gltf", tiny.gltf()), ("glb", tiny.glb())] {
            for at in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                attempt(format_args!("{name}.{kind} with a bit of byte {at} flipped"), &flipped).ok();
            }
        }
    }
}

#[test]
fn every_byte_replaced_by_one_with_a_meaning() {
    let bytes = tiny::character().gltf();
    let json = bytes.len() - bytes.iter().rev().position(|b| *b == b'}').unwrap_or(0);
    for at in 0..json {
        for with in *b"\"{}[],:0-9e\\\0\xff" {
            let mut changed = bytes.clone();
            changed[at] = with;
            // The whole path for one of them, the parser alone would be enough for the others.
            attempt(format_args!("byte {at} replaced by {with:#04x}"), &changed).ok();
        }
    }
}

#[test]
fn headers_and_chunks_that_lie() {
    let good = tiny::character().glb();
    let json_length = u32::from_le_bytes([good[12], good[13], good[14], good[15]]) as usize;
    let binary = 20 + json_length;
    let word = |at: usize, value: u32| {
        let mut file = good.clone();
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        file
    };
    for value in [0, 1, 3, 11, 12, 19, json_length as u32 + 4, u32::MAX] {
        refuse(format_args!("JSON chunk of length {value}"), &word(12, value), "");
    }
    for value in [0, 1, 3, 11, 12, 19, json_length as u32 + 4] {
        refuse(format_args!("declared length {value}"), &word(8, value), "");
    }
    for value in [good.len() as u32 + 4, u32::MAX] {
        let asset = attempt(format_args!("declared length {value}"), &word(8, value)).expect("all is there");
        assert!(!asset.problems.is_empty(), "declared length {value}: not a word about it");
    }
    for version in [0, 1, 3, u32::MAX] {
        refuse(format_args!("version {version}"), &word(4, version), "");
    }
    refuse("the wrong magic", &word(0, 0x1234_5678), "");
    refuse("no JSON chunk", &word(16, 0x004e_4942), "");
    for value in [1, 2, u32::MAX, 1 << 31] {
        attempt(format_args!("binary chunk of length {value}"), &word(binary, value)).ok();
    }
    refuse("a binary chunk of an unknown kind", &word(binary + 4, 0x5858_5858), "/bufferViews/0/buffer");
    let mut twice = good.clone();
    twice.extend(&good[binary..]);
    let length = (twice.len() as u32).to_le_bytes();
    twice[8..12].copy_from_slice(&length);
    attempt("two binary chunks", &twice).ok();
    attempt("bytes behind the end", &[&good[..], &[0; 7]].concat()).ok();
}

#[test]
fn what_is_no_document() {
    for text in
        ["", "{", "[]", "null", "1", "\"glTF\"", "{}", "{\"asset\":{}}", "\u{feff}{}", "glTF", "\0\0\0\0"]
    {
        assert!(attempt(text, text.as_bytes()).is_err(), "{text:?}: accepted");
        assert!(attempt(text, &glb(text.as_bytes(), &[])).is_err(), "{text:?} in a .glb: accepted");
    }
    assert!(attempt("not UTF-8", b"{\"asset\":{\"version\":\"2.0\xff\"}}").is_err());
    let two = br#"{"asset":{"version":"2.0"},"asset":7}"#;
    attempt("a key twice", two).ok();
}

#[test]
fn deep_nesting() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"extras\":", "}]")] {
        for depth in [100, 10_000, 1_000_000] {
            let nested = format!("{}0{}", open.repeat(depth), close.repeat(depth));
            attempt(format_args!("{depth} times {open}"), nested.as_bytes()).ok();
            let inside = format!("{{\"asset\":{{\"version\":\"2.0\",\"extras\":{nested}}}}}");
            attempt(format_args!("{depth} times {open} in extras"), inside.as_bytes()).ok();
            attempt(format_args!("{depth} times {open}, never closed"), open.repeat(depth).as_bytes()).ok();
        }
    }
}
