//! Broken files are refused with the name of the array, or read. They never cause a panic, and memory is
//! bounded by the file size.

mod common;

use common::{Made, doubles, floats, integers, npy, npz};
use condyle_body::{BodyModel, BodyMotion, Refused};
use condyle_testing::Random;
use zip::CompressionMethod::{Deflated, Stored};

fn refused(arrays: &[(&str, Vec<u8>)]) -> Refused {
    BodyModel::from_bytes("hostile", npz(arrays, Stored)).expect_err("a broken file")
}

/// Returns the arrays of a model with one of them replaced.
fn with(name: &'static str, bytes: Vec<u8>) -> Vec<(&'static str, Vec<u8>)> {
    let mut arrays = Made::new(2, 6, 3, 2).arrays();
    arrays.iter_mut().filter(|(own, _)| *own == name).for_each(|(_, own)| own.clone_from(&bytes));
    arrays
}

#[test]
fn what_is_wrong_is_named() {
    let nan = {
        let mut values = vec![0.5; 18];
        values[5] = f64::NAN;
        values
    };
    let cases = [
        ("v_template", doubles(&[6, 2], &[0.0; 12]), "[6, 2], expected (vertices, 3)"),
        (
            "v_template",
            doubles(&[6, 3], &[0.0; 17]),
            "[6, 3] of type \"<f8\" does not match its size of 136 bytes",
        ),
        ("v_template", doubles(&[6, 3], &nan), "number 5 is NaN"),
        ("v_template", doubles(&[1 << 62, 3], &[]), "does not match its size of 0 bytes"),
        ("v_template", npy("|O", &[6, 3], false, &[0; 40]), "Python objects"),
        ("v_template", b"no array".to_vec(), "not a valid NumPy array"),
        ("v_template", b"\x93NUMPY\x01\x00\xff\xff{".to_vec(), "not a valid NumPy array"),
        ("v_template", doubles(&[0, 3], &[]), "no vertices"),
        ("v_template", npy("|u1", &[1; 9], true, &[0]), "in at most 8 axes"),
        ("v_template", npy(&"x".repeat(3000), &[6, 3], false, &[]), "\"...,"),
        ("v_template", npy(&"x".repeat(9000), &[6, 3], false, &[]), "expected at most 4096"),
        ("posedirs", doubles(&[6, 3, 18], &[1e300; 324]), "outside the range of f32"),
        ("shapedirs", floats(&[5, 3, 2], &[0.0; 30]), "(6, 3, numbers)"),
        ("shapedirs", doubles(&[6, 3, 1], &[1e300; 18]), "outside the range of f32"),
        ("posedirs", doubles(&[6, 3, 9], &[0.0; 162]), "(6, 3, 18)"),
        ("weights", doubles(&[3, 6], &[0.0; 18]), "(6, 3)"),
        ("kintree_table", integers(&[2, 3], &[-1, 2, 0, 0, 1, 2]), "parent of joint 1 is 2"),
        ("kintree_table", integers(&[2, 0], &[]), "0 joints"),
        ("f", integers(&[1, 3], &[0, 1, 6]), "number 2 is 6, expected a vertex from 0 to 5"),
    ];
    for (name, bytes, words) in cases {
        let why = refused(&with(name, bytes));
        assert!(
            why.problems[0].place == format!("array {name}") && why.to_string().contains(words),
            "{why} without {words:?}"
        );
    }
    let mut arrays = Made::new(2, 6, 3, 2).arrays();
    arrays.retain(|(name, _)| *name != "weights");
    let why = refused(&arrays);
    assert!(
        why.problems[0].place == "array weights"
            && why.problems[0].what.contains("J_regressor, f, kintree_table"),
        "{why}"
    );
    let why = BodyModel::from_bytes("a.pkl", b"\x80\x02}q".to_vec()).expect_err("not an archive");
    assert!(why.problems[0].what.contains(".pkl"), "{why}");
    let why = BodyMotion::from_bytes("a.npy", doubles(&[2, 322], &[0.0; 644])).expect_err("not an archive");
    assert!(why.problems[0].what.contains("(.npy)"), "{why}");
}

#[test]
fn motions_are_checked() {
    let poses = || ("poses", doubles(&[2, 6], &[0.0; 12]));
    let rate = || ("mocap_framerate", doubles(&[], &[60.0]));
    let read = |arrays: &[(&str, Vec<u8>)]| BodyMotion::from_bytes("m", npz(arrays, Deflated));
    assert!(read(&[poses(), rate()]).is_ok());
    let refused = |arrays: &[(&str, Vec<u8>)]| read(arrays).expect_err("a broken file").to_string();
    assert!(refused(&[poses()]).contains("mocap_framerate"));
    assert!(refused(&[poses(), ("mocap_frame_rate", doubles(&[], &[0.0]))]).contains("a rate from"));
    assert!(refused(&[rate(), ("poses", doubles(&[2, 5], &[0.0; 10]))]).contains("(frames, 3 * joints)"));
    assert!(refused(&[poses(), rate(), ("trans", doubles(&[3, 3], &[0.0; 9]))]).contains("(2, 3)"));
    assert!(refused(&[poses(), rate(), ("gender", doubles(&[], &[0.0]))]).contains("expected a string"));
}

#[test]
fn what_unpacks_out_of_proportion_is_refused() {
    let huge = doubles(&[4_000_000, 3], &vec![0.0; 12_000_000]);
    let bytes = npz(&[("v_template", huge)], Deflated);
    assert!(bytes.len() < 200_000);
    let why = BodyModel::from_bytes("bomb", bytes).expect_err("500 times its size");
    assert!(why.problems[0].what.contains("too large for the size of the file"), "{why}");
    // One byte each in the file, eight in memory, and eight more for reordering.
    let bytes = npz(&[("v_template", npy("|u1", &[2_000_000, 3], true, &vec![0; 6_000_000]))], Deflated);
    let why = BodyModel::from_bytes("bomb", bytes).expect_err("thousands of times its size");
    assert!(why.problems[0].what.contains("too large for the size of the file"), "{why}");
}

#[test]
fn a_file_may_end_anywhere_and_any_byte_may_be_another() {
    let mut random = Random(5);
    for method in [Stored, Deflated] {
        let whole = npz(&Made::new(4, 6, 3, 2).arrays(), method);
        for end in (0..whole.len()).step_by(7) {
            assert!(BodyModel::from_bytes("short", whole[..end].to_vec()).is_err());
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << random.below(8);
            let Ok(model) = BodyModel::from_bytes("flipped", bytes) else { continue };
            match model.shaped(&[0.5][..model.shape_count().min(1)]) {
                Ok(body) => assert_eq!(body.vertex_count(), model.vertex_count()),
                // A finite f64 can be outside the range of f32.
                Err(error) => assert!(matches!(error, condyle::Error::NotFinite { .. }), "{error}"),
            }
        }
    }
}
