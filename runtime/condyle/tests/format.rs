//! The corpus in `testdata/format`: valid files with the expected values, and files that a reader must
//! reject.
//!
//! The test builds the files, which must match the folder byte for byte; `CONDYLE_WRITE=1` writes them.
//! `testdata/format/read.py` reads them without this library.

use std::collections::BTreeMap;
use std::path::Path;

use condyle::container::{Container, ContainerReader, ContainerWriter, EntryKind};
use condyle::motion::RootMotionOptions;
use condyle::play::Event;
use condyle::{
    Clip, Dispatch, Interpolation, Joint, Numeric, Pose, RawClip, Skeleton, Target, Track, Transform, sample,
    sampling,
};
use condyle_encode::{EncodeOptions, Shell, encode};

/// Checksum of docs/format.md.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(bytes.len() as u64, |sum, word| {
        let mut padded = [0; 8];
        padded[..word.len()].copy_from_slice(word);
        let sum = (sum ^ u64::from_le_bytes(padded)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum ^ sum >> 32
    })
}

fn skeleton() -> Skeleton {
    let at = |x, y, z| Transform { translation: [x, y, z], ..Transform::IDENTITY };
    let leaning = Transform { rotation: [0.6, 0.0, 0.0, 0.8], ..at(0.0, 0.5, 0.0) };
    let joints = [
        Joint::new("hips", None, at(0.0, 1.0, 0.0)),
        Joint::new("spine", Some(0), leaning),
        Joint::new("arm", Some(1), at(0.25, 0.25, 0.0)),
        Joint::new("hånd", Some(2), Transform { scale: [1.0, 2.0, 1.0], ..at(0.5, 0.0, 0.0) }),
    ];
    Skeleton::new(joints).expect("parents before children")
}

/// A rotation about an axis by an angle with the half-angle tangent `x`; the same bits on every platform.
fn turn(axis: usize, x: f64) -> [f32; 4] {
    let length = (1.0 + x * x).sqrt();
    let mut q = [0.0, 0.0, 0.0, (1.0 / length) as f32];
    q[axis] = (x / length) as f32;
    q
}

fn track(target: Target, interpolation: Interpolation, timeline: usize, values: Vec<f32>) -> Track {
    Track { target, interpolation, timeline, values }
}

/// Curves, uncompressed keys, tracks without a joint, and events.
fn wave() -> RawClip {
    let times: Vec<f32> = (0..=60).map(|frame| frame as f32 / 32.0).collect();
    let over = |of: &dyn Fn(f64) -> Vec<f32>| times.iter().flat_map(|&t| of(t.into())).collect::<Vec<f32>>();
    let bump = |t: f64| t * (1.875 - t);
    let linear = Interpolation::Linear;
    let tracks = vec![
        track(Target::Rotation(1), linear, 0, over(&|t| turn(0, bump(t)).to_vec())),
        track(Target::Rotation(2), linear, 0, over(&|t| turn(2, t - bump(t)).to_vec())),
        track(
            Target::Rotation(3),
            Interpolation::Step,
            1,
            [turn(1, 0.0), turn(1, 1.0), turn(1, -3.0)].concat(),
        ),
        track(
            Target::Translation(0),
            linear,
            0,
            over(&|t| [0.0, 1.0 + 0.25 * bump(t), 0.5 * t].map(|v| v as f32).to_vec()),
        ),
        track(Target::Scale(3), linear, 0, over(&|t| [1.0, 2.0 + bump(t), 1.0].map(|v| v as f32).to_vec())),
        track(
            Target::Weights(7),
            linear,
            0,
            over(&|t| [t / 2.0, 1.0 - t / 2.0, bump(t), 0.5].map(|v| v as f32).to_vec()),
        ),
        track(Target::Vector(2), Interpolation::Step, 1, vec![0.0, 1.0, 0.25]),
        track(Target::FreeRotation(1), linear, 0, over(&|t| turn(1, t).to_vec())),
    ];
    RawClip::new("wave".into(), vec![times, vec![0.0, 0.5, 1.25]], tracks).expect("finite keys")
}

/// Two keys, which are smaller than a curve.
fn nod() -> RawClip {
    let values = [turn(2, 0.0), turn(2, 1.0)].concat();
    let tracks = vec![track(Target::Rotation(1), Interpolation::Linear, 0, values)];
    RawClip::new("nod".into(), vec![vec![2.0, 2.5]], tracks).expect("two keys")
}

/// Uncompressed cubic splines.
fn spline() -> RawClip {
    let places = [[0.0; 3], [0.25, 0.25, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.25, 0.5, 0.0], [0.0; 3]];
    let zero = [0.0; 4];
    let turns = [zero, turn(0, 0.0), [0.5, 0.0, 0.0, 0.0], [0.0, 0.25, 0.0, 0.0], turn(0, 1.0), zero];
    let cubic = Interpolation::CubicSpline;
    let tracks = vec![
        track(Target::Rotation(1), cubic, 0, turns.concat()),
        track(Target::Translation(2), cubic, 0, places.concat()),
    ];
    RawClip::new("spline".into(), vec![vec![1.0, 3.0]], tracks).expect("two keys")
}

/// One curve and one constant: the worked example of docs/format.md.
fn bend() -> RawClip {
    let times: Vec<f32> = (0..=16).map(|frame| frame as f32 / 32.0).collect();
    let turns = times.iter().flat_map(|&t| turn(2, 4.0 * f64::from(t * (0.5 - t)))).collect();
    let tracks = vec![
        track(Target::Rotation(2), Interpolation::Linear, 0, turns),
        track(Target::Translation(3), Interpolation::Linear, 1, vec![0.75, 0.0, 0.0]),
    ];
    RawClip::new("bend".into(), vec![times, vec![0.0]], tracks).expect("finite keys")
}

/// Several segments, corners, and in the last segment a movement too large for a curve.
fn long() -> RawClip {
    let times: Vec<f32> = (0..=160).map(|frame| frame as f32 / 32.0).collect();
    let corner = |t: f32| f64::from((t % 2.0 - 1.0).abs());
    let over = |of: &dyn Fn(f32) -> Vec<f32>| times.iter().flat_map(|&t| of(t)).collect::<Vec<f32>>();
    let linear = Interpolation::Linear;
    let tracks = vec![
        track(
            Target::Rotation(0),
            linear,
            0,
            over(&|t| turn(1, if t > 3.0 { corner(t) } else { 0.0 }).to_vec()),
        ),
        track(Target::Rotation(1), linear, 0, over(&|t| turn(0, corner(t)).to_vec())),
        track(Target::Translation(0), linear, 0, over(&|t| vec![0.0, 1.0, corner(t) as f32])),
        track(Target::Translation(2), linear, 0, over(&|t| vec![if t == 4.5 { 4e3 } else { 0.25 }; 3])),
    ];
    RawClip::new("long".into(), vec![times], tracks).expect("finite keys")
}

/// Shell radius in metres.
const SHELL: f32 = 0.03;

fn encoded(raw: &RawClip, rate: f32, change: impl FnOnce(&mut EncodeOptions)) -> Vec<u8> {
    let mut options = EncodeOptions::new(1e-3, Shell::Balls(SHELL));
    options.rate = Some(rate);
    change(&mut options);
    encode(raw, &skeleton(), &options, &mut |_| ()).expect("a clip of the skeleton").bytes().to_vec()
}

/// Clips with their shells, after an entry of an unknown kind whose layout has another version.
fn container(clips: &[(&str, &[u8])], shell: Option<f32>) -> Vec<u8> {
    let mut writer = ContainerWriter::default();
    let model = writer.add_skeleton("figure", &skeleton()).expect("names within the limit");
    let unknown = writer.add(EntryKind::Unknown(77), "of another version", Some(model), b"?");
    for (name, clip) in clips {
        let clip = writer.add(EntryKind::Clip, name, Some(model), clip).expect("entries within the limit");
        shell.map_or(Ok(()), |radius| writer.set_shell(clip, radius)).expect("a clip");
    }
    with_version(&writer.finish(), unknown.expect("entries within the limit"), 5)
}

/// Changes the layout version of an entry.
fn with_version(file: &[u8], entry: usize, version: u16) -> Vec<u8> {
    let mut file = file.to_vec();
    file[32 + 40 * entry + 2..][..2].copy_from_slice(&version.to_le_bytes());
    let end = ContainerReader::needed(&file).expect("a header") - 8;
    let sum = checksum(&file[..end]);
    file[end..end + 8].copy_from_slice(&sum.to_le_bytes());
    file
}

/// Files that a reader must accept.
fn valid() -> BTreeMap<&'static str, Vec<u8>> {
    let event = |seconds, name: &str| Event { seconds, name: name.into() };
    let wave = encoded(&wave(), 32.0, |options| {
        options.events = vec![event(0.0, "begins"), event(0.5, "grüßt")];
        options.root_motion = Some(RootMotionOptions::default());
    });
    let still = RawClip::new("still".into(), vec![], vec![]).expect("no keys");
    let small = [("still", still), ("nod", nod()), ("spline", spline()), ("bend", bend())]
        .map(|(n, raw)| (n, encoded(&raw, 32.0, |_| ())));
    let long = encoded(&long(), 32.0, |options| options.root_motion = Some(RootMotionOptions::default()));
    BTreeMap::from([
        ("wave.condyle", container(&[("wave", &wave)], Some(SHELL))),
        ("small.condyle", container(&small.each_ref().map(|(name, clip)| (*name, &clip[..])), None)),
        ("long.condyle", container(&[("long", &long)], Some(SHELL))),
    ])
}

/// Changes the bytes of the last clip in a container, and fixes the checksums.
fn with_clip(file: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let container = Container::from_bytes(file).expect("a container");
    let entry = container.entries().last().expect("a clip");
    let mut clip = container.data(entry.index).expect("the bytes of an entry").to_vec();
    change(&mut clip);
    let length = (clip.len() as u32).to_le_bytes();
    clip[8..12].copy_from_slice(&length);
    let sum = checksum(&clip[..12]) ^ checksum(&clip[20..]);
    clip[12..20].copy_from_slice(&sum.to_le_bytes());
    let mut writer = ContainerWriter::default();
    for entry in container.entries() {
        let data = container.data(entry.index).expect("the bytes of an entry");
        let own = if entry.index + 1 == container.entry_count() { &clip[..] } else { data };
        let index = writer.add(entry.kind, entry.name, entry.model, own).expect("entries within the limit");
        container.shell(index).map_or(Ok(()), |radius| writer.set_shell(index, radius)).expect("a clip");
    }
    writer.finish()
}

/// Invalid track descriptions, in the clip of the worked example of docs/format.md.
fn refused_tracks(wave: &[u8], small: &[u8]) -> [(&'static str, (Vec<u8>, &'static str)); 8] {
    let of_bend = |at: usize, byte: u8| with_clip(small, |clip| clip[at] = byte);
    // Offset of the event names; the event times are before them.
    let of_events = |from_names: usize, byte: u8| {
        with_clip(wave, |clip| {
            let names = clip.windows(6).position(|name| name == b"begins").expect("an event");
            clip[names - 16 + from_names] = byte;
        })
    };
    let many_keys = with_clip(small, |clip| {
        clip[64..68].fill(0);
        clip[69..73].copy_from_slice(&[255, 255, 0, 0]);
        clip[102] = 0;
        clip.drain(82..99);
    });
    [
        ("refused/frames.condyle", (of_bend(27, 1), "frames")),
        ("refused/class.condyle", (of_bend(68, 8), "class")),
        ("refused/keys.condyle", (many_keys, "keys")),
        ("refused/widths.condyle", (of_bend(102, 25), "widths")),
        ("refused/joint.condyle", (of_bend(103, 9), "index")),
        ("refused/events_order.condyle", (of_events(3, 64), "events")),
        ("refused/event_name.condyle", (of_events(16, 255), "not UTF-8")),
        ("refused/clip_longer.condyle", (with_clip(small, |clip| clip.extend([0; 40])), "bytes left over")),
    ]
}

/// Files that a reader must reject, with the reason.
fn refused(wave: &[u8], small: &[u8]) -> BTreeMap<&'static str, (Vec<u8>, &'static str)> {
    let changed = |at: usize, byte: u8| {
        let mut file = wave.to_vec();
        file[at] = byte;
        file
    };
    let of_clip = |at: usize, bytes: &'static [u8]| {
        with_clip(wave, move |clip| clip[at..at + bytes.len()].copy_from_slice(bytes))
    };
    let mut all = BTreeMap::from([
        ("refused/magic.condyle", (changed(0, b'c'), "magic")),
        ("refused/major_version.condyle", (changed(8, 2), "version")),
        ("refused/skeleton_version.condyle", (with_version(wave, 0, 1), "version of the entry")),
        ("refused/half.condyle", (wave[..wave.len() / 2].to_vec(), "truncated")),
        ("refused/longer.condyle", ([wave, b"?"].concat(), "length")),
        ("refused/damaged_table.condyle", (changed(40, 1), "checksum")),
        ("refused/damaged_clip.condyle", (changed(wave.len() - 40, 0x5a), "checksum")),
        ("refused/clip_magic.condyle", (of_clip(0, b"clip"), "magic")),
        ("refused/clip_version.condyle", (of_clip(4, &[2]), "version")),
        ("refused/clip_flags.condyle", (of_clip(6, &[8]), "flags")),
        ("refused/backwards.condyle", (of_clip(36, &[0, 0, 128, 191]), "times")),
        ("refused/other_skeleton.condyle", (of_clip(28, &[1, 2, 3, 4]), "skeleton")),
        ("refused/other_rest_pose.condyle", (of_clip(52, &[1, 2, 3, 4]), "rest pose")),
        (
            "refused/required_chunk.condyle",
            (
                with_clip(wave, |clip| {
                    clip[6] |= 4;
                    let chunk = [8, 0, 0, 0, b'n', b'e', b'w', 0x80, 0, 0, 0, 0];
                    clip.splice(56..56, chunk);
                }),
                "required chunk",
            ),
        ),
    ]);
    all.extend(refused_tracks(wave, small));
    all
}

fn json(numbers: &[f32]) -> String {
    let all: Vec<String> = numbers.iter().map(|v| format!("{v:?}")).collect();
    format!("[{}]", all.join(", "))
}

/// Values of a clip at some times, computed by the library.
fn answers(clip: &Clip<'_>) -> String {
    let events: Vec<String> = (0..clip.event_count())
        .filter_map(|at| clip.event(at))
        .map(|(t, name)| format!("[{t:?}, \"{name}\"]"))
        .collect();
    let skeleton = skeleton();
    let moments = [-1.0, 0.0, 0.1, 1.0 / 3.0, 0.5, 0.77, 1.0, 9.0].map(|part| {
        let seconds = clip.start() + part * clip.duration();
        let mut pose = Pose::rest(&skeleton);
        sample(clip, &skeleton, seconds, &mut pose).expect("the skeleton of the clip");
        let local: Vec<String> = pose
            .transforms()
            .map(|t| json(&[&t.rotation[..], &t.translation, &t.scale].concat()))
            .collect();
        let free = clip.free_tracks().map(|(target, width)| {
            let mut values = vec![0.0; width];
            sampling::track(clip, target, seconds, &mut values).expect("the width of the track");
            json(&values)
        });
        let free: Vec<String> = free.collect();
        let motion = clip.motion_at(seconds);
        let motion: Vec<f32> = motion.rotation.iter().chain(&motion.translation).map(|&v| v as f32).collect();
        let (local, free, motion) = (local.join(",\n      "), free.join(",\n      "), json(&motion));
        format!("    {{\"seconds\": {seconds:?}, \"local\": [\n      {local}], \"free\": [\n      {free}],\n      \"motion\": {motion}}}")
    });
    format!("\"events\": [{}], \"moments\": [\n{}]}}", events.join(", "), moments.join(",\n"))
}

/// All files of the folder.
fn corpus() -> BTreeMap<String, Vec<u8>> {
    let valid = valid();
    let refused = refused(&valid["wave.condyle"], &valid["small.condyle"]);
    let mut told = Vec::new();
    for (name, file) in &valid {
        let container = Container::from_bytes(file).expect("a container");
        let clips = container.entries().filter(|entry| entry.kind == EntryKind::Clip);
        let clips = clips.map(|entry| {
            let shell = container.shell(entry.index).map_or("null".into(), |radius| radius.to_string());
            let answers = answers(&container.clip(entry.index).expect("a clip"));
            format!("  \"{}\": {{\"shell\": {shell}, {answers}", entry.name)
        });
        told.push(format!("\"{name}\": {{\n{}}}", clips.collect::<Vec<_>>().join(",\n")));
    }
    let why: Vec<String> = refused.iter().map(|(name, (_, why))| format!("\"{name}\": \"{why}\"")).collect();
    let vectors: Vec<String> = [&b""[..], b"abc", b"CONDYLE\0\x01\x00\x01\x00"]
        .map(|bytes| {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{{\"bytes\": \"{hex}\", \"checksum\": \"{:016x}\"}}", checksum(bytes))
        })
        .into();
    let mut files = BTreeMap::from([
        ("answers.json".to_string(), format!("{{{}}}\n", told.join(",\n")).into_bytes()),
        ("refused.json".to_string(), format!("{{{}}}\n", why.join(",\n")).into_bytes()),
        ("checksums.json".to_string(), format!("[{}]\n", vectors.join(",\n")).into_bytes()),
    ]);
    files.extend(valid.into_iter().map(|(name, file)| (name.into(), file)));
    files.extend(refused.into_iter().map(|(name, (file, _))| (name.into(), file)));
    files
}

#[test]
fn the_corpus_is_what_the_library_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/format");
    // Portable mode, which gives the same bits on every platform.
    let isa = Dispatch::current().isa();
    let corpus = Dispatch::new(isa, Numeric::Portable).expect("the current instruction set").scope(corpus);
    for (name, want) in corpus {
        let path = folder.join(&name);
        if std::env::var_os("CONDYLE_WRITE").is_some() {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a place");
            std::fs::write(&path, &want).expect("room");
        }
        let found = std::fs::read(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(found == want, "{name} would change; CONDYLE_WRITE=1 writes it");
    }
}

/// The library rejects all of these files, except those that are invalid only with a skeleton.
#[test]
fn what_must_be_refused_is_refused() {
    let valid = valid();
    let skeleton = skeleton();
    for (name, (file, why)) in refused(&valid["wave.condyle"], &valid["small.condyle"]) {
        let read = || -> Result<(), condyle::Error> {
            let container = Container::from_bytes(&file)?;
            container.skeleton(0)?;
            let clip = container.clip(container.entry_count() - 1)?;
            sample(&clip, &skeleton, 0.0, &mut Pose::rest(&skeleton))
        };
        assert!(read().is_err(), "{name}: {why}");
    }
}
