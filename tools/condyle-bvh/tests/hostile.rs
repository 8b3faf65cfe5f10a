//! Broken files are refused with a line, or read. They never cause a panic, and memory is bounded by the file
//! size.

mod common;

use common::exercise::exercise;
use common::{DIALECTS, PLAIN, make};
use condyle_bvh::Bvh;
use condyle_testing::{Random, cases};

fn small() -> Vec<u8> {
    make(&mut Random(1), 3, 2).sorted().text(&PLAIN).into_bytes()
}

#[test]
fn a_file_may_end_anywhere() {
    for dialect in &DIALECTS {
        let text = make(&mut Random(5), 5, 3).sorted().text(dialect).into_bytes();
        (0..text.len()).for_each(|end| exercise(&text[..end]));
    }
}

#[test]
fn any_byte_may_be_another() {
    let text = small();
    for at in 0..text.len() {
        for other in [
            0,
            b' ',
            b'\n',
            b'{',
            b'}',
            b'0',
            b'9',
            b'-',
            b'.',
            b'e',
            b':',
            b'#',
            0xff,
            text[at] ^ 1,
            text[at] ^ 0x80,
        ] {
            let mut text = text.clone();
            text[at] = other;
            exercise(&text);
        }
    }
}

#[test]
fn channels_of_other_names_move_nothing() {
    exercise(b"HIERARCHY ROOT A { OFFSET 0 0 0 CHANNELS 1 Wrotation } MOTION Frames: 2 Frame Time: .5  1  2");
}

/// Words that no program writes to such a file.
const ODD: [&str; 6] = ["1e999 ", "nan ", "-1.#IND ", "99999999999999999999 ", "\u{feff} ", "0x1 "];

#[test]
fn words_may_be_lost_doubled_or_elsewhere() {
    let text = String::from_utf8(small()).unwrap();
    let words: Vec<&str> = text.split_inclusive(|c: char| c.is_ascii_whitespace()).collect();
    let mut random = Random(7);
    for _ in 0..cases(2000) {
        let mut words = words.clone();
        for _ in 0..1 + random.below(3) {
            let (a, b) = (random.below(words.len()), random.below(words.len()));
            match random.below(4) {
                0 => drop(words.remove(a)),
                1 => words.insert(a, words[b]),
                2 => words.swap(a, b),
                _ => words[a] = ODD[b % ODD.len()],
            }
        }
        exercise(words.concat().as_bytes());
    }
}

#[test]
fn what_a_file_says_of_itself_reserves_nothing() {
    for text in [
        "HIERARCHY ROOT a { CHANNELS 1 Xrotation } MOTION Frames: 18446744073709551615 Frame Time: 1 1 2 3"
            .to_owned(),
        "HIERARCHY ROOT a { CHANNELS 1 Xrotation } MOTION Frames: 1e300 Frame Time: 1 1 2 3".to_owned(),
        "HIERARCHY ROOT a { CHANNELS 18446744073709551615 Xrotation".to_owned(),
        format!(
            "HIERARCHY ROOT a {{ CHANNELS 1 Xrotation }} MOTION Frames: 9 Frame Time: 1 {}",
            "9".repeat(1 << 20)
        ),
        format!("HIERARCHY ROOT a {{ {}", "{".repeat(1 << 20)),
        format!("HIERARCHY ROOT {}", "a".repeat(1 << 20)),
        // Each end site would repeat the long name of its joint.
        format!("HIERARCHY ROOT {}{{{}}}", "a".repeat(1 << 20), "End{}".repeat(60_000)),
    ] {
        exercise(text.as_bytes());
    }
    let text = format!("HIERARCHY ROOT {}{{{}}}", "a".repeat(1 << 20), "End{}".repeat(60_000));
    let bvh = Bvh::from_slice("long", text.as_bytes()).unwrap();
    assert!(bvh.nodes()[1..].iter().all(|node| node.name == "End"));
}
