//! A model compared with itself and with its joints, and rejected input.

use condyle::sampling::AnyClip;
use condyle::{Joint, Skeleton, Transform};
use condyle_gltf::Asset;
use condyle_io::compare::{
    By, Clip, Error, How, NoMeshes, Pairing, Place, Subject, common_shell, moments, pair_clips,
};

fn asset() -> Asset {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/two_joints.glb");
    Asset::open(path).expect("a model of the repository")
}

fn clips(asset: &Asset) -> Vec<Clip<'_>> {
    asset.clips.iter().map(Clip::new).collect()
}

fn whole(asset: &Asset) -> Subject<'_> {
    Subject::new("whole", asset, clips(asset)).expect("small")
}

fn joints(asset: &Asset) -> Subject<'_> {
    Subject::of_joints("joints", &asset.skeleton, clips(asset))
}

#[test]
fn a_model_is_nowhere_off_from_itself() {
    let asset = asset();
    let (a, b) = (whole(&asset), whole(&asset));
    assert_eq!(pair_clips(&a, &b), [(0, 0)]);
    let times = moments(&a.clips()[0], &b.clips()[0], None).expect("few");
    let pairing = Pairing::new(a, b).expect("the same");
    assert_eq!((pairing.how(), pairing.paired(), pairing.unpaired()), (How::Order, 20, [0; 2]));
    let mut told = 0;
    let tick = |more| {
        told += more;
        true
    };
    let found = pairing.measure((0, 0), None, tick).expect("plays");
    assert_eq!((found.worst.distance, found.percentile_99, told), (0.0, 0.0, times.len()));
    assert!(found.over_time.iter().map(|at| at.0).eq(times));
}

#[test]
fn joints_without_meshes_are_compared_by_their_names() {
    let asset = asset();
    let pairing = Pairing::new(whole(&asset), joints(&asset)).expect("the same joints");
    assert_eq!(pairing.how(), How::Joints(By::Name));
    assert_eq!(pairing.why(), Some(&NoMeshes::Empty { model: "joints".into() }));
    assert_eq!((pairing.paired(), pairing.parts().count()), (2, 0));
    let found = pairing.measure((0, 0), Some(10.0), |_| true).expect("plays");
    assert_eq!(found.worst.distance, 0.0);
    let Place::Joint { name } = pairing.place(&found.worst) else { panic!("a joint") };
    assert_eq!(name, asset.skeleton.names()[0]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let asset = asset();
    let other = Skeleton::new([Joint::new("other", None, Transform::IDENTITY)]).expect("one");
    let other = Subject::of_joints("other", &other, Vec::new());
    let Err(error) = Pairing::new(joints(&asset), other) else { panic!("nothing corresponds") };
    assert!(error.to_string().starts_with("joints and other do not hold the same model: "), "{error}");

    let pairing = Pairing::new(joints(&asset), joints(&asset)).expect("the same");
    let missing = Error::Clip { model: "joints".into(), found: 1, count: 1 };
    assert_eq!(pairing.measure((0, 1), None, |_| true), Err(missing));
    assert_eq!(pairing.measure((0, 0), Some(0.0), |_| true), Err(Error::Fps { found: 0.0 }));
    assert_eq!(pairing.measure((0, 0), None, |_| false), Err(Error::Stopped));
}

#[test]
fn joints_are_compared_within_the_smallest_shell_of_their_clips() {
    let asset = asset();
    let clip = asset.encode(&asset.clips[0], 1e-3).expect("a clip").into_clip();
    let subject = |shells: &[Option<f32>]| {
        let clips =
            shells.iter().map(|&shell| Clip::new(AnyClip::compressed("bend", clip.clone())).within(shell));
        Subject::of_joints("joints", &asset.skeleton, clips.collect())
    };
    let raw = joints(&asset);
    for (a, b, want) in [
        (&[None][..], &[None][..], None),
        (&[Some(0.5)], &[None], Some((0.5, 0))),
        (&[None], &[Some(0.5)], Some((0.5, 1))),
        (&[Some(0.5)], &[Some(0.25), None, Some(0.75)], Some((0.25, 1))),
        (&[Some(0.5)], &[Some(0.5)], Some((0.5, 0))),
    ] {
        assert_eq!(common_shell([&subject(a), &subject(b)]), want, "{a:?}, {b:?}");
        let pairing = Pairing::new(subject(a), subject(b)).expect("the same joints");
        assert_eq!(pairing.reach(), f64::from(want.map_or(0.03, |(radius, _)| radius)), "{a:?}, {b:?}");
    }
    assert_eq!(common_shell([&raw, &subject(&[Some(0.25)])]), Some((0.25, 1)));
}
