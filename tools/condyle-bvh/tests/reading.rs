//! Compares the imported content with a simple independent evaluation, for every dialect.

mod common;

use common::{DIALECTS, File, Made, PLAIN, differences, make, posed};
use condyle_bvh::{Bvh, Channel, ImportOptions, Positions, Problem, Severity};
use condyle_testing::{Random, cases};

fn read(text: impl AsRef<[u8]>) -> Bvh {
    Bvh::from_slice("test", text.as_ref()).unwrap_or_else(|refused| panic!("{refused}"))
}

fn refused(text: impl AsRef<[u8]>) -> Problem {
    let text = text.as_ref();
    match Bvh::from_slice("test", text) {
        Ok(bvh) => panic!("{bvh:?} of {}", String::from_utf8_lossy(text)),
        Err(refused) => refused.problems[0].clone(),
    }
}

/// Returns a file with a joint that rotates about one axis, followed by `motion`.
fn hinge(motion: &str) -> String {
    format!("HIERARCHY\nROOT a\n{{\nOFFSET 1 2 3\nCHANNELS 1 Zrotation\n}}\n{motion}")
}

fn rows(bvh: &Bvh) -> Vec<Vec<f64>> {
    (0..bvh.frame_count()).map(|frame| bvh.frame(frame).to_vec()).collect()
}

#[track_caller]
fn assert_told(bvh: &Bvh, line: usize, words: &str) {
    let found = bvh.problems().iter().any(|it| it.place == format!("line {line}") && it.what.contains(words));
    assert!(found, "{:?} holds no {words:?} in line {line}", bvh.problems());
}

#[test]
fn clips_are_the_matrices_of_the_file_in_every_dialect() {
    let mut random = Random(3);
    for case in 0..cases(60) {
        let (joints, frames) = (1 + random.below(8), 1 + random.below(4));
        let file = make(&mut random, joints, frames).sorted();
        for dialect in &DIALECTS {
            let bvh = read(file.text(dialect));
            assert_eq!(bvh.problems(), [], "{case}, {dialect:?}");
            assert_eq!(rows(&bvh), file.frames, "{case}, {dialect:?}");
            assert_eq!(bvh.frame_rate(), file.rate);
            let options = ImportOptions::default();
            let (skeleton, clip) = (bvh.skeleton(&options).unwrap(), bvh.clip(&options).unwrap());
            let names: Vec<_> = file.joints.iter().map(|joint| &joint.name).collect();
            assert_eq!(skeleton.names().iter().collect::<Vec<_>>(), names);
            for frame in 0..frames {
                let seconds = (frame as f64 / file.rate) as f32;
                let (turned, placed) = differences(&posed(&skeleton, &clip, seconds), &file.model(frame));
                assert!(turned < 2e-6 && placed < 5e-4, "{case}, frame {frame}: {turned} {placed}");
            }
        }
    }
}

#[test]
fn rotations_go_on_to_the_nearer_quaternion() {
    // The range of most files: from -180 to 180 degrees.
    let turns: String = (0..40).map(|frame| format!("{}\n", (37 * frame + 180) % 360 - 180)).collect();
    let clip = read(hinge(&format!("MOTION\nFrames: 40\nFrame Time: 0.1\n{turns}")));
    let clip = clip.clip(&ImportOptions::default()).unwrap();
    let keys = clip.tracks()[0].values.as_chunks::<4>().0;
    assert!(keys.windows(2).all(|pair| pair[0].iter().zip(pair[1]).map(|(a, b)| a * b).sum::<f32>() > 0.9));
}

#[test]
fn whole_turns_are_taken_off_exactly() {
    let of = |degrees: &str| {
        let bvh = read(hinge(&format!("MOTION\nFrames: 1\nFrame Time: 0.1\n{degrees}\n")));
        bvh.clip(&ImportOptions::default()).unwrap().tracks()[0].values.clone()
    };
    assert_eq!(of("30"), of("3600000030"));
    let far = of("1e300");
    assert!((far.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-6, "{far:?}");
}

#[test]
fn rotations_have_the_same_bits_beside_any_other_frame() {
    let mut random = Random(4);
    let mut angle =
        || if random.below(3) == 0 { random.range_f64(-2e3, 2e3) } else { random.range_f64(-180.0, 180.0) };
    let rows: Vec<String> = (0..9).map(|_| format!("{} {} {}\n", angle(), angle(), angle())).collect();
    let keys = |rows: &[String]| {
        let (count, rows) = (rows.len(), rows.concat());
        let joint = "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 3 Zrotation Xrotation Yrotation }";
        let bvh = read(format!("{joint} MOTION Frames: {count} Frame Time: 1\n{rows}"));
        bvh.clip(&ImportOptions::default()).unwrap().tracks()[0].values.as_chunks::<4>().0.to_vec()
    };
    let all = keys(&rows);
    for from in 0..rows.len() {
        for (at, key) in keys(&rows[from..]).into_iter().enumerate() {
            let want = all[from + at];
            assert!(key == want || key == want.map(|v| -v), "{key:?} from {from} on, else {want:?}");
        }
    }
}

#[test]
fn positions_replace_offsets_or_are_added() {
    let text = "HIERARCHY ROOT a { OFFSET 1 2 3 CHANNELS 2 Zposition Xrotation } MOTION Frames: 1 Frame Time: 1 10 0";
    let place = |positions| {
        let mut options = ImportOptions::default();
        (options.positions, options.scale) = (positions, 0.5);
        read(text).clip(&options).unwrap().tracks()[1].values.clone()
    };
    assert_eq!(place(Positions::ReplaceOffsets), [0.5, 1.0, 5.0]);
    assert_eq!(place(Positions::AddToOffsets), [0.5, 1.0, 6.5]);
}

#[test]
fn end_sites_are_joints_if_they_are_somewhere_else() {
    let text = "HIERARCHY ROOT a { OFFSET 0 0 0 End Site { OFFSET 0 5 0 } JOINT b { OFFSET 1 0 0 End Site { OFFSET 0 0 0 } } \
                End Site Tip 2 { OFFSET 0 0 1 } end head { OFFSET 0 0 2 } }";
    let bvh = read(text);
    let mut options = ImportOptions::default();
    assert_eq!(bvh.skeleton(&options).unwrap().names(), ["a", "a_End", "b", "Tip 2", "head"]);
    assert_eq!(bvh.skeleton(&options).unwrap().parents(), [u16::MAX, 0, 0, 0, 0]);
    options.end_sites = false;
    assert_eq!(bvh.skeleton(&options).unwrap().names(), ["a", "b"]);
    assert_told(&bvh, 1, "MOTION is missing");
}

#[test]
fn several_roots_and_deep_and_nameless_joints() {
    let bvh = read("HIERARCHY ROOT a { OFFSET 0 0 0 } ROOT { OFFSET 1 0 0 } MOTION Frames: 0 Frame Time: 1");
    assert_eq!(bvh.skeleton(&ImportOptions::default()).unwrap().parents(), [u16::MAX; 2]);
    assert_told(&bvh, 1, "more than one ROOT");
    assert_told(&bvh, 1, "has no name");

    let deep = |count: usize| {
        let open: String = (1..count).map(|_| "JOINT j{OFFSET 0 1 0 ").collect();
        format!("HIERARCHY ROOT r{{OFFSET 0 0 0 {open}{}", "}".repeat(count))
    };
    let bvh = read(deep(65_535));
    assert_eq!(bvh.skeleton(&ImportOptions::default()).unwrap().joint_count(), 65_535);
    let same =
        bvh.problems().iter().find(|it| it.what.contains("more than one joint is named")).expect("a note");
    assert_eq!((same.severity, same.count), (Severity::Note, 65_533));
    assert!(refused(deep(65_536)).what.contains("more than 65535 joints"));
}

#[test]
fn names_may_hold_anything_but_braces() {
    let bvh = read(
        "HIERARCHY\r\nROOT \t Bip01: L Thigh {\r\nOFFSET 0 0 0\r\nJOINT\r\n\tmixamorig:Hips\r\n{OFFSET 0 0 0}}",
    );
    assert_eq!(bvh.nodes()[0].name, "Bip01: L Thigh");
    assert_eq!(bvh.nodes()[1].name, "mixamorig:Hips");
    let bvh = read(b"HIERARCHY ROOT H\xfcfte { OFFSET 0 0 0 } MOTION");
    assert_eq!(bvh.nodes()[0].name, "H\u{fffd}fte");
    assert_told(&bvh, 1, "not valid UTF-8");
}

#[test]
fn what_the_hierarchy_lacks_is_told() {
    let bvh = read(
        "HIERARCHY\nROOT a\n{\nCHANNELS 2 Xscale Zrotation\nJOINT b {\nOFFSET nan 1 inf OFFSET 2 3 1.#IND }\n}\nMOTION\nFrames: 1\nFrame Time: 1\n5 90",
    );
    assert_eq!(bvh.nodes()[0].channels[0], Channel::Other);
    assert_eq!(bvh.nodes()[1].offset, [2.0, 3.0, 0.0]);
    assert_told(&bvh, 4, "unknown channel \"Xscale\"");
    assert_told(&bvh, 6, "an OFFSET is NaN");
    assert_told(&bvh, 6, "a second OFFSET");
    let half = std::f32::consts::FRAC_1_SQRT_2;
    assert_eq!(bvh.clip(&ImportOptions::default()).unwrap().tracks()[0].values, [0.0, 0.0, half, half]);
}

#[test]
fn frames_are_those_that_are_there() {
    let told = |motion: &str, line: usize, words: &str| {
        let bvh = read(hinge(motion));
        assert_told(&bvh, line, words);
        rows(&bvh).concat()
    };
    assert_eq!(
        told("MOTION\nFrames: 3\nFrame Time: .1\n1\n2\n", 8, "declares 3, but the file has 2"),
        [1.0, 2.0]
    );
    assert_eq!(
        told("MOTION\nFrames: 4000000000\nFrame Time: .1\n1", 8, "declares 4000000000, but the file has 1"),
        [1.0]
    );
    assert_eq!(
        told("MOTION\nFrames: 1\nFrame Time: .1\n1\n\n 2\n3", 12, "more text follows the 1 frames"),
        [1.0]
    );
    assert_eq!(
        told("MOTION\nFrames: 0\nFrame Time: .1\n1\n", 10, "more text follows the 0 frames"),
        [0.0; 0]
    );
    assert_eq!(told("MOTION\nFrames: 0\nFrame Time: .1\n", 8, "`Frames:` declares 0"), [0.0; 0]);
    assert_eq!(told("MOTION\nFrame Time: .1\n", 8, "there are no frames"), [0.0; 0]);
    assert_eq!(told("MOTION\nFrame Time: .1\n1\n2", 8, "`Frames:` is missing"), [1.0, 2.0]);
    assert_eq!(
        told(
            "MOTION\nFrames: 2\nFrame Time: .1\n1 2\n",
            10,
            "a frame of 1 numbers does not end at the end of a line"
        ),
        [1.0, 2.0]
    );
    assert_eq!(told("MOTION\nFrames: 3\nFrame Time: .1\n1\nNaN\n-1.#INF", 11, "is \"NaN\""), [1.0, 1.0, 1.0]);

    let two = "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 2 Xrotation Yrotation }\nMOTION\nFrames: 2\nFrame Time: 1\n";
    let bvh = read(format!("{two}1 nan\n3"));
    assert_eq!(rows(&bvh), [[1.0, 0.0]]);
    assert_told(&bvh, 6, "the last frame has 1 numbers, expected 2");
    // Numbers in other forms are read among the plain ones.
    let bvh = read(format!("{two}-1.5 +2.50\n2.5e-1 nan       "));
    assert_eq!(rows(&bvh), [[-1.5, 2.5], [0.25, 2.5]]);
    // A row can continue on the next line.
    let bvh = read(format!("{two}1\n2\n3\n4"));
    assert_eq!((rows(&bvh), bvh.problems()), (vec![vec![1.0, 2.0], vec![3.0, 4.0]], &[][..]));

    let bvh = read("HIERARCHY ROOT a { OFFSET 0 0 0 } MOTION Frames: 4000000000 Frame Time: 1 ");
    assert_eq!(bvh.frame_count(), 0);
    assert_told(&bvh, 1, "no joint has CHANNELS");
    assert!(bvh.clip(&ImportOptions::default()).unwrap().tracks().is_empty());
}

#[test]
fn rates_are_those_that_the_digits_mean() {
    let rate = |time: &str| {
        let bvh = read(hinge(&format!("MOTION\nFrames:1\nFrame Time:{time}\n1")));
        (bvh.frame_rate(), bvh.problems().len())
    };
    for (time, want) in [
        ("0.0083333", 120.0),
        (" .008333", 120.0),
        ("0.00833", 120.0),
        ("0.033333", 30.0),
        ("3.3333e-2", 30.0),
        ("0.0166667", 60.0),
        ("0.016666", 60.0),
        ("0.04", 25.0),
        ("0.0333667", 1.0 / 0.0333667),
        ("0.02777", 36.0),
        ("0.025", 40.0),
        ("2.5", 0.4),
        ("2", 0.5),
        ("0.6", 1.0 / 0.6),
        ("0.9", 1.0 / 0.9),
        ("1", 1.0),
        // Too few digits to determine an integer rate.
        ("0.03", 1.0 / 0.03),
    ] {
        assert_eq!(rate(time), (want, 0), "{time}");
    }
    for time in ["0", "-1", "nan", "inf", "1e-9", "1e9"] {
        assert_eq!(rate(time), (30.0, 1), "{time}");
    }
    let bvh = read(hinge("MOTION\nFrames: 1\n5"));
    assert_eq!((bvh.frame_rate(), rows(&bvh)), (30.0, vec![vec![5.0]]));
    assert_told(&bvh, 9, "`Frame Time:` is missing");
    let bvh = read(hinge("MOTION Frames : 1 frame  TIME : 0.5 7"));
    assert_eq!((bvh.frame_rate(), rows(&bvh), bvh.problems()), (2.0, vec![vec![7.0]], &[][..]));
    let bvh = read(hinge("MOTION Frame Time: 0.5 Frames: 1 7"));
    assert_eq!((bvh.frame_rate(), rows(&bvh), bvh.problems()), (2.0, vec![vec![7.0]], &[][..]));
}

#[test]
fn joints_without_names_and_what_is_behind_nothing_are_told() {
    let bvh = read("HIERARCHY ROOT { CHANNELS 0 } MOTION Frames: 0 Frame Time: .5 rubbish ]] here");
    assert_told(&bvh, 1, "a joint has no OFFSET");
    assert_told(&bvh, 1, "more text follows the 0 frames");
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    for (text, line, what) in [
        ("", 1, "expected HIERARCHY, found the end of the file"),
        ("glTF", 1, "expected HIERARCHY, found \"glTF\""),
        ("HIERARCHY\n\nJOINT a", 3, "expected ROOT, found \"JOINT\""),
        ("HIERARCHY\nROOT a\nOFFSET", 3, "expected {, found \"OFFSET\""),
        ("HIERARCHY\nROOT a {\nOFFSET 1 2\n}", 4, "expected a number after OFFSET, found \"}\""),
        ("HIERARCHY\nROOT a {\nOFFSET 1 2,5 3\n}", 3, "expected a number after OFFSET, found \"2,5\""),
        (
            "HIERARCHY\nROOT a {\nOFFSET 1 2 3\n{",
            4,
            "expected OFFSET, CHANNELS, JOINT, End Site or }, found \"{\"",
        ),
        ("HIERARCHY\nROOT a {\nCHANNELS x", 3, "expected the number of CHANNELS, found \"x\""),
        ("HIERARCHY\nROOT a {\nCHANNELS 99999999999999999999", 3, "expected the number of CHANNELS, found"),
        (
            "HIERARCHY\nROOT a {\nCHANNELS 4000000000 Xrotation\n}",
            3,
            "CHANNELS declares 4000000000, but 1 names follow",
        ),
        (
            "HIERARCHY\nROOT a {\nCHANNELS 1 Xrotation Yrotation\n}",
            3,
            "CHANNELS declares 1, but more names follow",
        ),
        ("HIERARCHY\nROOT a {\nCHANNELS 0\nCHANNELS 0\n}", 4, "a second CHANNELS"),
        (
            "HIERARCHY\nROOT a {\nEnd Site {\nCHANNELS 0\n}\n}",
            4,
            "expected OFFSET or } in an End Site, found \"CHANNELS\"",
        ),
        (
            "HIERARCHY\nROOT a {\n",
            3,
            "expected OFFSET, CHANNELS, JOINT, End Site or }, found the end of the file",
        ),
        ("HIERARCHY\nROOT a {\nOFFSET 0 0 0\n}\n}\n", 5, "expected MOTION, found \"}\""),
        (&hinge("MOTION\nFrames: -1\nFrame Time: 1"), 8, "expected the number of frames, found \"-1\""),
        (&hinge("MOTION\nFrames: 1.5\nFrame Time: 1"), 8, "expected the number of frames, found \"1.5\""),
        (&hinge("MOTION\nFrames: 1\nFrame Time: x"), 9, "expected the frame time in seconds, found \"x\""),
        (&hinge("MOTION\nFrames: 2\nFrame Time: 1\n1\n2x"), 11, "expected a number of a frame, found \"2x\""),
        (
            &hinge("MOTION\nFrames: 2\nFrame Time: 1\n1 0,5"),
            10,
            "expected a number of a frame, found \"0,5\"",
        ),
    ] {
        let problem = refused(text);
        assert_eq!(
            (problem.severity, &*problem.place),
            (Severity::Error, &*format!("line {line}")),
            "{text}: {problem}"
        );
        assert!(problem.what.contains(what), "{text}: {problem}");
    }
}

#[test]
fn options_are_checked() {
    let bvh = read(hinge("MOTION Frames: 1 Frame Time: 1 1"));
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut options = ImportOptions::default();
        options.scale = scale;
        assert!(
            matches!(bvh.skeleton(&options), Err(condyle::Error::OutOfRange { what: "scale", .. })),
            "{scale}"
        );
        assert!(bvh.clip(&options).is_err());
    }
    let mut options = ImportOptions::default();
    options.scale = 1e300;
    assert!(bvh.skeleton(&options).is_err());
    let far =
        read("HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 1 Xposition } MOTION Frames: 1 Frame Time: 1 1e200");
    assert!(far.clip(&ImportOptions::default()).is_err());
}

/// Tests the text of a generated file, which the other tests use.
#[test]
fn a_file_that_is_made_is_ordinary() {
    let joint =
        |name: &str, parent, channels| Made { name: name.into(), parent, offset: [0.0, 1.0, 0.0], channels };
    let joints = vec![joint("hips", None, vec!["Xposition", "Zrotation"]), joint("head", Some(0), vec![])];
    let text = File { joints, rate: 30.0, frames: vec![vec![1.0, 90.0]] }.text(&PLAIN);
    assert_eq!(
        text,
        "HIERARCHY\nROOT hips\n{\n\tOFFSET 0.000000 1.000000 0.000000\n\tCHANNELS 2 Xposition Zrotation\n\tJOINT head\n\t{\n\t\t\
         OFFSET 0.000000 1.000000 0.000000\n\t\tCHANNELS 0 \n}\n}\nMOTION\nFrames: 1\nFrame Time: 0.0333333\n1.000000 90.000000\n"
    );
}
