//! Broken files: truncated, flipped bits, false chunk lengths, and invalid JSON.

use super::{Must, Take, give};
use crate::tiny::{self, glb};

pub(crate) fn cut_short_at_every_length(take: Take<'_>) {
    for (name, tiny) in tiny::all() {
        for (kind, bytes) in [("gltf", tiny.gltf()), ("glb", tiny.glb())] {
            for length in 0..bytes.len() {
                let case = format_args!("{name}.{kind} cut to {length} bytes");
                give(take, case, &bytes[..length], Must::BeRefused);
            }
        }
    }
}

pub(crate) fn one_bit_flipped_in_every_byte(take: Take<'_>) {
    for (name, tiny) in tiny::all() {
        for (kind, bytes) in [("gltf", tiny.gltf()), ("glb", tiny.glb())] {
            for at in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                let case = format_args!("{name}.{kind} with a bit of byte {at} flipped");
                give(take, case, &flipped, Must::EndWell);
            }
        }
    }
}

pub(crate) fn every_byte_replaced_by_one_with_a_meaning(take: Take<'_>) {
    let bytes = tiny::character().gltf();
    let json = bytes.len() - bytes.iter().rev().position(|b| *b == b'}').unwrap_or(0);
    for at in 0..json {
        for with in *b"\"{}[],:0-9e\\\0\xff" {
            let mut changed = bytes.clone();
            changed[at] = with;
            give(take, format_args!("byte {at} replaced by {with:#04x}"), &changed, Must::EndWell);
        }
    }
}

pub(crate) fn headers_and_chunks_that_lie(take: Take<'_>) {
    let good = tiny::character().glb();
    let json_length = u32::from_le_bytes([good[12], good[13], good[14], good[15]]) as usize;
    let binary = 20 + json_length;
    let word = |at: usize, value: u32| {
        let mut file = good.clone();
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        file
    };
    for value in [0, 1, 3, 11, 12, 19, json_length as u32 + 4, u32::MAX] {
        give(take, format_args!("JSON chunk of length {value}"), word(12, value), Must::BeRefusedAt(""));
    }
    for value in [0, 1, 3, 11, 12, 19, json_length as u32 + 4] {
        give(take, format_args!("declared length {value}"), word(8, value), Must::BeRefusedAt(""));
    }
    for value in [good.len() as u32 + 4, u32::MAX] {
        give(take, format_args!("declared length {value}"), word(8, value), Must::BeToldAt(""));
    }
    for version in [0, 1, 3, u32::MAX] {
        give(take, format_args!("version {version}"), word(4, version), Must::BeRefusedAt(""));
    }
    give(take, "the wrong magic", word(0, 0x1234_5678), Must::BeRefusedAt(""));
    give(take, "no JSON chunk", word(16, 0x004e_4942), Must::BeRefusedAt(""));
    for value in [1, 2, u32::MAX, 1 << 31] {
        give(take, format_args!("binary chunk of length {value}"), word(binary, value), Must::EndWell);
    }
    give(
        take,
        "a binary chunk of an unknown kind",
        word(binary + 4, 0x5858_5858),
        Must::BeRefusedAt("/bufferViews/0/buffer"),
    );
    let mut twice = good.clone();
    twice.extend(&good[binary..]);
    let length = (twice.len() as u32).to_le_bytes();
    twice[8..12].copy_from_slice(&length);
    give(take, "two binary chunks", &twice, Must::EndWell);
    give(take, "bytes after the end", [&good[..], &[0; 7]].concat(), Must::EndWell);
}

pub(crate) fn what_is_no_document(take: Take<'_>) {
    for text in
        ["", "{", "[]", "null", "1", "\"glTF\"", "{}", "{\"asset\":{}}", "\u{feff}{}", "glTF", "\0\0\0\0"]
    {
        give(take, text, text.as_bytes(), Must::BeRefused);
        give(take, format_args!("{text} in a .glb"), glb(text.as_bytes(), &[]), Must::BeRefused);
    }
    give(take, "not UTF-8", &b"{\"asset\":{\"version\":\"2.0\xff\"}}"[..], Must::BeRefused);
    give(take, "a key twice", &br#"{"asset":{"version":"2.0"},"asset":7}"#[..], Must::EndWell);
}

pub(crate) fn deep_nesting(take: Take<'_>) {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"extras\":", "}]")] {
        for depth in [100, 10_000, 1_000_000] {
            let nested = format!("{}0{}", open.repeat(depth), close.repeat(depth));
            give(take, format_args!("{depth} times {open}"), nested.as_bytes(), Must::EndWell);
            let inside = format!("{{\"asset\":{{\"version\":\"2.0\",\"extras\":{nested}}}}}");
            give(take, format_args!("{depth} times {open} in extras"), inside.as_bytes(), Must::EndWell);
            let case = format_args!("{depth} times {open}, never closed");
            give(take, case, open.repeat(depth).as_bytes(), Must::EndWell);
        }
    }
}

pub(crate) fn data_uris_that_are_broken(take: Take<'_>) {
    let good = tiny::character().gltf();
    let text = String::from_utf8(good).expect("JSON");
    for (from, to) in [
        ("base64,", "base64"),
        ("base64,", "base64,*"),
        ("base64,", "base64,===="),
        ("data:", "date:"),
        ("data:application/octet-stream;base64,", "data:"),
    ] {
        let broken = text.replacen(from, to, 1);
        assert_ne!(broken, text);
        let case = format_args!("{from} replaced by {to}");
        give(take, case, broken.as_bytes(), Must::BeRefusedAt("/buffers/0/uri"));
    }
}
