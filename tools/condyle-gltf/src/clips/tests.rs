//! Channels and samplers, valid and invalid.

use super::*;
use crate::problem::Problem;
use crate::testing::{Builder, character};
use crate::value::{Value, json};

/// Returns the character with one animation of one channel on node 2.
fn animated(path: &str, interpolation: &str, times: &[f32], values: &[f32]) -> Builder {
    let mut it = character();
    let input = it.floats("SCALAR", times);
    let shape = match path {
        "rotation" => "VEC4",
        "weights" => "SCALAR",
        _ => "VEC3",
    };
    let output = it.floats(shape, values);
    it.json["animations"] = json!([{
        "name": "walk",
        "samplers": [{"input": input, "output": output, "interpolation": interpolation}],
        "channels": [{"sampler": 0, "target": {"node": 2, "path": path}}],
    }]);
    it
}

fn clip(it: &Builder) -> RawClip {
    it.import().unwrap().clips.remove(0)
}

#[test]
fn values_arrive_as_they_are_stored() {
    for (path, interpolation, want, values) in [
        ("translation", "LINEAR", Interpolation::Linear, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("scale", "STEP", Interpolation::Step, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("rotation", "CUBICSPLINE", Interpolation::CubicSpline, (0..24).map(|i| i as f32).collect()),
    ] {
        let it = animated(path, interpolation, &[0.5, 2.0], &values);
        assert_eq!(it.summary(), []);
        let clip = clip(&it);
        assert_eq!((clip.name(), clip.start(), clip.end()), ("walk", 0.5, 2.0));
        let track = &clip.tracks()[0];
        assert_eq!((track.interpolation, &track.values), (want, &values), "{path}");
    }
}

#[test]
fn integers_become_fractions() {
    let mut it = animated("rotation", "LINEAR", &[0.0], &[0.0; 4]);
    let output = it.accessor("VEC4", 5122, 1, &[0, 0, 0, 0, 1, 128, 0, 0]);
    it.json["accessors"][output]["normalized"] = json!(true);
    it.json["animations"][0]["samplers"][0]["output"] = json!(output);
    assert_eq!(clip(&it).tracks()[0].values, [0.0, 0.0, -1.0, 0.0]);
}

#[test]
fn tracks_share_the_times_of_one_accessor() {
    let mut it = animated("translation", "LINEAR", &[0.0, 1.0], &[0.0; 6]);
    let other = it.floats("SCALAR", &[0.0, 1.0]);
    let animation = &mut it.json["animations"][0];
    let sampler = animation["samplers"][0].clone();
    animation["samplers"] = json!([sampler, sampler, {"input": other, "output": sampler["output"]}]);
    animation["channels"] = json!([
        {"sampler": 0, "target": {"node": 2, "path": "translation"}},
        {"sampler": 1, "target": {"node": 2, "path": "scale"}},
        {"sampler": 2, "target": {"node": 1, "path": "scale"}},
    ]);
    let clip = clip(&it);
    assert_eq!(clip.timelines().len(), 2);
    assert_eq!(clip.tracks().iter().filter(|t| t.timeline == 0).count(), 2);
}

#[test]
fn keys_in_disorder_are_sorted_and_two_at_one_time_are_a_jump() {
    let imported = |times: &[f32]| {
        let values: Vec<f32> = (0..times.len()).flat_map(|k| [k as f32; 3]).collect();
        let it = animated("translation", "LINEAR", times, &values);
        assert_eq!(it.summary().len(), 1, "{times:?}");
        let clip = clip(&it);
        let values: Vec<f32> = clip.tracks()[0].values.iter().copied().step_by(3).collect();
        (clip.timelines()[0].clone(), values)
    };
    let before = 1.0_f32.next_down();
    assert_eq!(
        imported(&[2.0, 0.0, 1.0, -0.0, 1.0]),
        (vec![0.0, before, 1.0, 2.0], vec![3.0, 2.0, 4.0, 0.0])
    );
    // The second of three keys at the same time is never visible. At the end of the clip, both remaining keys
    // are kept.
    assert_eq!(imported(&[0.0, 1.0, 1.0, 1.0]), (vec![0.0, before, 1.0], vec![0.0, 1.0, 3.0]));
    // A key right before the jump already exists.
    assert_eq!(imported(&[0.0, before, 1.0, 1.0]), (vec![0.0, before, 1.0], vec![0.0, 1.0, 3.0]));
}

/// Tests a jump in every form of the clip: just before it the value comes from its first key, at the jump
/// from its second key.
#[test]
fn a_jump_stays_a_jump() {
    use condyle::sampling::{PoseSource, RawCursor};
    use condyle::{Pose, RawClip, sampling};
    use condyle_encode::encode;
    use condyle_encode::{EncodeOptions, KeyFormat, Shell, reduce};

    // A jump at a frame, between frames, and at the end.
    for at in [0.5_f32, 0.517, 1.0] {
        let mut times: Vec<f32> = (0..=30).map(|frame| frame as f32 / 30.0).collect();
        times.retain(|&time| time != at);
        let place = times.partition_point(|&time| time < at);
        times.splice(place..place, [at; 2]);
        // The value rises by 1 per second, drops by 3 and continues to rise.
        let value = |key: usize| times[key] - if key > place { 3.0 } else { 0.0 };
        let values: Vec<f32> = (0..times.len()).flat_map(|key| [0.0, value(key), 0.0]).collect();
        let asset = animated("translation", "LINEAR", &times, &values).import().unwrap();
        let (clip, skeleton) = (&asset.clips[0], &asset.skeleton);
        let joint = clip.tracks()[0].target.joint().expect("a joint").into();
        let moments = [at - 0.01, at.next_down(), at, (at + 0.01).min(1.0)];
        let want = moments.map(|time| if time < at { time } else { time - 3.0 });
        let check = |found: [f32; 4], by: &str| {
            let off = found.iter().zip(want).map(|(found, want)| (found - want).abs()).fold(0.0, f32::max);
            assert!(off < 1.1e-3, "{by}, a jump at {at}: {found:?}, {want:?}");
        };
        let sampled = |clip: &RawClip| {
            moments.map(|time| {
                let mut pose = Pose::rest(skeleton);
                sampling::raw(clip, skeleton, time.into(), &mut RawCursor::default(), &mut pose).unwrap();
                pose.get(joint).translation[1]
            })
        };
        check(sampled(clip), "raw");
        let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
        let encoded = encode(clip, skeleton, &options, &mut |_| ()).unwrap();
        let posed = moments.map(|time| {
            let mut pose = Pose::rest(skeleton);
            encoded.clip().pose(skeleton, time.into(), &mut pose).unwrap();
            pose.get(joint).translation[1]
        });
        check(posed, "encoded");
        for format in [KeyFormat::Floats, KeyFormat::Shorts, KeyFormat::Filtered] {
            let reduced = reduce(clip, skeleton, &options, format).unwrap();
            check(sampled(&reduced.clip), "reduced");
        }
    }
}

#[test]
fn faulty_keys() {
    let summary = |times: &[f32], values: &[f32]| animated("translation", "LINEAR", times, values).summary();
    let input = "/animations/0/samplers/0/input".to_string();
    let output = "/animations/0/samplers/0/output".to_string();
    assert_eq!(summary(&[0.0, f32::NAN], &[0.0; 6]), [(Severity::Error, input.clone(), 1)]);
    assert_eq!(summary(&[-1.0, 1.0], &[0.0; 6]), [(Severity::Warning, input, 1)]);
    assert_eq!(summary(&[0.0, 1.0], &[0.0; 3]), [(Severity::Error, output.clone(), 1)]);
    assert_eq!(summary(&[0.0, 1.0], &[0.0; 9]), [(Severity::Warning, output.clone(), 1)]);
    assert_eq!(summary(&[0.0], &[0.0, f32::INFINITY, f32::NAN]), [(Severity::Error, output, 2)]);
}

#[test]
fn rotations_far_from_unit_length_are_repaired_and_rounded_ones_kept() {
    let rounded = [0.0, 0.0, 0.707, 0.707];
    let values = [[0.0; 4], [0.0, 3.0, 0.0, 4.0], rounded, [1.0, 0.0, 0.0, 0.0]].concat();
    let it = animated("rotation", "LINEAR", &[0.0, 1.0, 2.0, 3.0], &values);
    let want = [[0.0, 0.0, 0.0, 1.0], [0.0, 0.6, 0.0, 0.8], rounded, [1.0, 0.0, 0.0, 0.0]].concat();
    assert_eq!(clip(&it).tracks()[0].values, want);
    let found: Vec<_> = it.problems().into_iter().map(|p| (p.severity, p.action)).collect();
    assert_eq!(
        found,
        [
            (Severity::Warning, "treated as no rotation".into()),
            (Severity::Warning, "normalised".into()),
            (Severity::Note, "normalised when sampled".into()),
        ]
    );
}

#[test]
fn morph_weights_belong_to_the_node() {
    let mut it = animated("weights", "STEP", &[0.0, 1.0], &[1.0, 2.0, 3.0, 4.0]);
    let channel = &mut it.json["animations"][0]["channels"][0];
    channel["target"]["node"] = json!(0);
    // Without morph targets, the channel has no effect.
    let lost = ["/animations/0/channels/0/target", "/animations/0"];
    assert_eq!(it.summary(), lost.map(|path| (Severity::Warning, path.into(), 1)));
    it.json["meshes"][0]["primitives"][0]["targets"] = json!([{}, {"POSITION": 0}]);
    assert_eq!(it.summary(), []);
    let clip = clip(&it);
    assert_eq!(clip.tracks()[0].target, Target::Weights(0));
    assert_eq!(clip.tracks()[0].values, [1.0, 2.0, 3.0, 4.0]);
}

/// Returns the problems of the animation after `change`, and whether its track still exists.
fn changed(change: impl Fn(&mut Value)) -> (Vec<Problem>, bool) {
    let mut it = animated("translation", "LINEAR", &[0.0], &[0.0; 3]);
    change(&mut it.json);
    let kept = it.import().is_ok_and(|asset| asset.clips[0].tracks().len() == 1);
    (it.problems(), kept)
}

#[test]
fn what_cannot_be_kept_is_a_warning_that_says_what_is_lost() {
    let lost = |change: &dyn Fn(&mut Value), path: &str, what: &str| {
        let (problems, kept) = changed(|json| {
            change(&mut json["animations"][0]["channels"][0]["target"]);
            if json["animations"][0]["channels"][0]["target"]["extensions"].is_object() {
                json["extensionsUsed"] = json!(["KHR_animation_pointer"]);
            }
        });
        assert!(!kept, "{path}");
        let of = |p: &Problem| (p.severity, p.place.clone(), p.what.clone(), p.action.clone());
        let warning = |path: &str, what: &str, action: &str| {
            (Severity::Warning, path.to_string(), what.to_string(), action.to_string())
        };
        let found: Vec<_> = problems.iter().filter(|p| p.severity < Severity::Note).map(of).collect();
        let all = ("has no usable channel", "all of its motion is dropped");
        assert_eq!(
            found,
            [warning(path, what, "this motion is dropped"), warning("/animations/0", all.0, all.1)]
        );
    };
    let target = "/animations/0/channels/0/target";
    lost(
        &|t| {
            t["path"] = json!("pointer");
            t["extensions"] = json!({"KHR_animation_pointer": {"pointer": "/materials/0/emissiveFactor"}});
        },
        target,
        "moves \"/materials/0/emissiveFactor\" by KHR_animation_pointer, which is only supported for nodes",
    );
    lost(
        &|t| t["path"] = json!("colour"),
        &format!("{target}/path"),
        "drives the unknown property \"colour\"",
    );
}

#[test]
fn pointers_to_properties_of_nodes_are_channels() {
    let plain = animated("translation", "LINEAR", &[0.0, 1.0], &[0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
    let aimed = |pointer: &str| {
        let mut it = animated("translation", "LINEAR", &[0.0, 1.0], &[0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
        for list in ["extensionsUsed", "extensionsRequired"] {
            it.json[list] = json!(["KHR_animation_pointer"]);
        }
        it.json["animations"][0]["channels"][0]["target"] = json!({
            "path": "pointer",
            "extensions": {"KHR_animation_pointer": {"pointer": pointer}},
        });
        it
    };
    let node = &plain.json["animations"][0]["channels"][0]["target"]["node"];
    let it = aimed(&format!("/nodes/{node}/translation"));
    assert_eq!(it.summary(), []);
    assert_eq!((clip(&it), it.import().unwrap().skeleton), (clip(&plain), plain.import().unwrap().skeleton));
    // A node that moves only through a pointer becomes a joint.
    let mut it = aimed("/nodes/3/scale");
    it.json["nodes"].as_array_mut().unwrap().push(json!({"name": "wind"}));
    it.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(json!(3));
    assert_eq!(it.summary(), []);
    let joint = it.import().unwrap().skeleton.joint_by_name("wind").unwrap();
    assert_eq!(clip(&it).tracks()[0].target, Target::Scale(joint));
    for pointer in
        ["/nodes/77/scale", "/nodes/+1/scale", "/nodes/01/scale", "/nodes/1/matrix", "/nodes/1", "x"]
    {
        let lost = ["/animations/0/channels/0/target", "/animations/0"];
        assert_eq!(
            aimed(pointer).summary(),
            lost.map(|path| (Severity::Warning, path.into(), 1)),
            "{pointer}"
        );
    }
}

/// Tests a channel without a node: the exporter writes an animation without tracks in this form.
#[test]
fn a_channel_without_a_node_loses_nothing() {
    let (problems, kept) =
        changed(|json| json["animations"][0]["channels"][0]["target"]["node"] = Value::Null);
    assert!(!kept);
    let found: Vec<_> = problems.iter().map(|p| (p.severity, p.action.as_str())).collect();
    assert_eq!(found, [(Severity::Note, "the channel is ignored")]);
}

/// Tests a file with only a skeleton and its movement, like an export "without skin" or a source for
/// retargeting.
#[test]
fn a_motion_without_a_mesh_is_kept() {
    let mut it = Builder::new(json!({
        "scenes": [{"nodes": [0]}],
        "nodes": [
            {"name": "Armature", "children": [1]},
            {"name": "Hips", "children": [2, 3]},
            {"name": "Spine"},
            {"name": "Leg"},
        ],
    }));
    let times = it.floats("SCALAR", &[0.0, 1.0]);
    let turns = it.floats("VEC4", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.6, 0.0, 0.8]);
    it.json["animations"] = json!([{
        "name": "Walk",
        "samplers": [{"input": times, "output": turns}],
        "channels": [
            {"sampler": 0, "target": {"node": 2, "path": "rotation"}},
            {"sampler": 0, "target": {"node": 1, "path": "rotation"}},
        ],
    }]);
    let asset = it.import().unwrap();
    assert_eq!(asset.skeleton.names(), ["Armature", "Hips", "Spine"]);
    assert_eq!(asset.clips[0].tracks().len(), 2);
    assert_eq!(asset.clips[0].fingerprint(), Some(asset.skeleton.fingerprint()));
    assert!(asset.problems.iter().all(|p| p.severity == Severity::Note), "{:?}", asset.problems);
}

#[test]
fn samplers_that_no_channel_uses_are_looked_at_too() {
    let mut it = animated("translation", "LINEAR", &[0.0, 1.0], &[0.0; 6]);
    let samplers = it.json["animations"][0]["samplers"].as_array_mut().unwrap();
    samplers.push(samplers[0].clone());
    samplers.push(json!({"input": 99, "output": 98, "interpolation": "CUBIC"}));
    let warning = |key: &str| (Severity::Warning, format!("/animations/0/samplers/2/{key}"), 1);
    assert_eq!(it.summary(), [warning("input"), warning("output"), warning("interpolation")]);
}

#[test]
fn two_channels_on_one_property() {
    let (problems, kept) = changed(|json| {
        let channels = json["animations"][0]["channels"].as_array_mut().unwrap();
        channels.push(channels[0].clone());
    });
    assert!(kept);
    let found: Vec<_> = problems.iter().map(|p| (p.severity, p.place.as_str())).collect();
    assert_eq!(found, [(Severity::Warning, "/animations/0/channels/1")]);
}

#[test]
fn an_animated_matrix_is_taken_apart() {
    let (problems, kept) = changed(|json| {
        json["nodes"][2] = json!({"matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1]});
    });
    assert!(kept);
    let found: Vec<_> = problems.iter().map(|p| (p.severity, p.place.as_str())).collect();
    assert_eq!(found, [(Severity::Warning, "/nodes/2")]);
}

#[test]
fn broken_references_are_errors() {
    let error = |change: &dyn Fn(&mut Value), path: &str| {
        let (problems, _) = changed(|json| change(&mut json["animations"][0]));
        let found: Vec<_> = problems.iter().map(|p| (p.severity, p.place.as_str())).collect();
        assert_eq!(found, [(Severity::Error, path)]);
    };
    error(&|a| a["channels"][0]["sampler"] = json!(1), "/animations/0/channels/0/sampler");
    error(&|a| a["channels"][0]["target"]["node"] = json!(77), "/animations/0/channels/0/target/node");
    error(&|a| a["channels"][0]["target"] = Value::Null, "/animations/0/channels/0");
    error(&|a| a["samplers"][0]["input"] = json!(99), "/animations/0/samplers/0/input");
    error(&|a| a["samplers"][0]["input"] = json!(0), "/animations/0/samplers/0/input");
    error(&|a| a["samplers"][0]["output"] = json!(2), "/animations/0/samplers/0/output");
    error(&|a| a["samplers"][0]["output"] = Value::Null, "/animations/0/samplers/0");
    error(&|a| a["samplers"][0]["interpolation"] = json!("CUBIC"), "/animations/0/samplers/0/interpolation");
    error(&|a| a["channels"] = json!({}), "/animations/0/channels");
}

#[test]
fn clips_without_a_name_are_numbered() {
    let mut it = animated("translation", "LINEAR", &[0.0], &[0.0; 3]);
    it.json["animations"][0].as_object_mut().unwrap().remove("name");
    assert_eq!(clip(&it).name(), "animation 0");
}
