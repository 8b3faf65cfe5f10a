//! Crowds have bit for bit what the single calls give, on any number of threads, and allocate nothing once they have run.

use condyle::blend::{self, Additive, Mean, Overlay};
use condyle::encode::{EncodeOptions, Shell};
use condyle::model::{self, CrowdBuffer};
use condyle::sample::{self, ClipAt};
use condyle::solve::{self, Aim, Reached, TwoBone, Up};
use condyle::{
    Affine, Clip, Dispatch, Error, Influences, Interpolation, Joint, Layer, NormalRule, Palette, Pose,
    RawClip, Skeleton, Skin, Target, Track, Transform, Vertices, encode, local_to_model, skin,
};

/// More than a block, and no whole number of anything.
const JOINTS: usize = 19;

/// Some number from -1 to 1, another one for each place.
fn number(place: usize) -> f32 {
    (place as f32 * 12.9898).sin()
}

fn turn(place: usize) -> [f32; 4] {
    let v = [0, 1, 2].map(|axis| 0.6 * number(3 * place + axis));
    let length = (1.0 + v.iter().map(|v| v * v).sum::<f32>()).sqrt();
    [v[0] / length, v[1] / length, v[2] / length, 1.0 / length]
}

/// What all instances share.
struct Cast {
    skeleton: Skeleton,
    /// Packed and resident in turn.
    clips: Vec<Clip<'static>>,
    skin: Skin,
    breath: Pose,
    mask: Vec<f32>,
    wanted: Vec<bool>,
}

impl Cast {
    fn new() -> Self {
        let joint = |at: usize| {
            let rest = Transform {
                rotation: turn(at),
                translation: [number(at), 0.4, number(at + 7)],
                scale: [1.0; 3],
            };
            Joint::new(format!("joint {at}"), (at > 0).then(|| (at as u16 - 1) / 2), rest)
        };
        let skeleton = Skeleton::new((0..JOINTS).map(joint)).expect("parents come first");
        let clip = |seed: usize| {
            let times: Vec<f32> = (0..=20).map(|key| key as f32 / 10.0).collect();
            let track = |joint: usize| Track {
                target: Target::Rotation(joint as u16),
                interpolation: Interpolation::Linear,
                timeline: 0,
                values: (0..times.len()).flat_map(|key| turn(seed + joint + 2 * key)).collect(),
            };
            let tracks = (0..JOINTS).map(track).collect();
            let raw = RawClip::new(format!("clip {seed}"), vec![times.clone()], tracks).expect("a clip");
            let encoded = encode(&raw, &skeleton, &EncodeOptions::new(1e-2, Shell::Balls(0.03)), &mut |_| ())
                .expect("a clip");
            let clip = encoded.into_clip();
            if seed.is_multiple_of(2) { clip } else { clip.into_resident().expect("it fits") }
        };
        let bind = (0..JOINTS - 2)
            .map(|at| Transform { translation: [number(at), 1.0, 0.0], ..Transform::IDENTITY }.into());
        let breaths: Vec<_> =
            (0..JOINTS).map(|at| Transform { rotation: turn(at + 50), ..Transform::IDENTITY }).collect();
        Self {
            clips: (0..4).map(clip).collect(),
            // Some joints, and not in their order.
            skin: Skin::new((2..JOINTS as u16).rev().collect(), bind.collect()).expect("a matrix each"),
            breath: Pose::from_transforms(&breaths),
            mask: (0..JOINTS).map(|joint| number(joint).abs()).collect(),
            wanted: (0..JOINTS).map(|joint| joint % 3 != 1).collect(),
            skeleton,
        }
    }

    fn plays(&self, instance: usize, layer: usize, frame: usize) -> ClipAt<'_> {
        let at = 2 * instance + layer;
        let plays = ClipAt::new(&self.clips[at * 7 % 4], f64::from(1.0 + number(at + frame)));
        ClipAt { wanted: instance.is_multiple_of(3).then_some(&self.wanted), ..plays }
    }

    fn layers<'a>(&self, [a, b]: [&'a Pose; 2], instance: usize) -> [Layer<'a>; 2] {
        let weight = 0.5 + 0.5 * number(instance);
        [Layer::new(a, weight), Layer::new(b, if instance.is_multiple_of(5) { 0.0 } else { 1.0 - weight })]
    }

    fn additives(&self, instance: usize) -> [Additive<'_>; 1] {
        [Additive { mask: Some(&self.mask), ..Additive::new(&self.breath, number(instance)) }]
    }

    fn reach(&self, instance: usize) -> TwoBone<'static> {
        let goal = [0, 1, 2].map(|axis| 0.7 * number(3 * instance + axis));
        TwoBone { pole: (instance % 20 < 9).then_some([0.0, 0.3, 1.0]), ..TwoBone::new([1, 3, 7], goal) }
    }

    fn look(&self, instance: usize) -> Aim<'static> {
        let up = Up { axis: [1.0, 0.0, 0.0], direction: [0.0, 1.0, 0.2] };
        let look = Aim::new(2, [0.0, 0.0, 1.0], [number(instance), 3.0, number(instance + 5)]);
        Aim { up: (instance % 18 < 7).then_some(up), ..look }
    }

    fn overlay<'a>(&'a self, over: &'a Pose, instance: usize) -> Overlay<'a> {
        Overlay {
            mask: instance.is_multiple_of(2).then_some(&self.mask),
            ..Overlay::new(over, number(instance))
        }
    }
}

/// What a frame writes: for each instance two poses that are sampled, their mean, what is added and laid over it, the
/// same in place of the mean, which then reaches and looks, the matrices and both kinds of palette.
struct Frame<'a> {
    cast: &'a Cast,
    plays: Vec<ClipAt<'a>>,
    poses: [Vec<Pose>; 6],
    buffer: CrowdBuffer,
    reached: [Vec<Result<Reached, Error>>; 2],
    models: Vec<Affine>,
    rows: Vec<Affine>,
    columns: Vec<[f32; 16]>,
}

impl<'a> Frame<'a> {
    fn new(cast: &'a Cast, count: usize) -> Self {
        let matrices = count * cast.skin.joints().len();
        Self {
            cast,
            plays: Vec::new(),
            poses: [(); 6].map(|()| vec![Pose::identity(JOINTS); count]),
            buffer: CrowdBuffer::default(),
            reached: [(); 2].map(|()| vec![Ok(Reached::default()); count]),
            models: vec![Affine::IDENTITY; count * JOINTS],
            rows: vec![Affine::IDENTITY; matrices],
            columns: vec![[0.0; 16]; matrices],
        }
    }

    fn by_crowd(&mut self, frame: usize) -> Result<(), Error> {
        let Self { cast, plays, poses, buffer, reached: [reached, looked], models, rows, columns } = self;
        let [a, b, mean, more, last, placed] = poses;
        let cast: &'a Cast = cast;
        for (layer, poses) in [&mut *a, &mut *b].into_iter().enumerate() {
            plays.clear();
            plays.extend((0..poses.len()).map(|instance| cast.plays(instance, layer, frame)));
            sample::crowd(plays, &cast.skeleton, poses)?;
        }
        blend::crowd(&cast.skeleton, |at| cast.layers([&a[at], &b[at]], at), Mean::Linear, mean)?;
        blend::add_crowd(mean, |at| cast.additives(at), more)?;
        blend::overlay_crowd(more, |at| cast.overlay(&a[at], at), last)?;
        blend::crowd(&cast.skeleton, |at| cast.layers([&a[at], &b[at]], at), Mean::Linear, placed)?;
        blend::add_crowd_in_place(placed, |at| cast.additives(at))?;
        blend::overlay_crowd_in_place(placed, |at| cast.overlay(&a[at], at))?;
        model::crowd(&cast.skeleton, last, buffer, models)?;
        solve::two_bone_crowd(&cast.skeleton, models, |at| cast.reach(at), placed, reached)?;
        solve::aim_crowd(&cast.skeleton, models, |at| cast.look(at), placed, looked)?;
        skin::palette_rows_crowd(&cast.skin, &cast.skeleton, models, rows)?;
        skin::palette_columns_crowd(&cast.skin, &cast.skeleton, models, columns)
    }

    fn one_by_one(&mut self, frame: usize) -> Result<(), Error> {
        let Self { cast, poses, reached: [reached, looked], models, rows, columns, .. } = self;
        let [a, b, mean, more, last, placed] = poses;
        let width = cast.skin.joints().len();
        for at in 0..a.len() {
            for (layer, pose) in [&mut a[at], &mut b[at]].into_iter().enumerate() {
                let ClipAt { clip, seconds, wanted, .. } = cast.plays(at, layer, frame);
                match wanted {
                    Some(wanted) => sample::partial(clip, &cast.skeleton, seconds, wanted, pose)?,
                    None => sample::sample(clip, &cast.skeleton, seconds, pose)?,
                }
            }
            let layers = cast.layers([&a[at], &b[at]], at);
            blend::blend(&cast.skeleton, &layers, Mean::Linear, &mut mean[at])?;
            blend::add(&mean[at], &cast.additives(at), &mut more[at])?;
            let Overlay { over, amount, mask } = cast.overlay(&a[at], at);
            blend::overlay(&more[at], over, amount, mask, &mut last[at])?;
            placed[at].clone_from(&last[at]);
            let model = &mut models[at * JOINTS..][..JOINTS];
            local_to_model(&cast.skeleton, &last[at], model)?;
            reached[at] = solve::two_bone(&cast.skeleton, model, &cast.reach(at), &mut placed[at]);
            looked[at] = solve::aim(&cast.skeleton, model, &cast.look(at), &mut placed[at]);
            skin::palette_rows(&cast.skin, model, &mut rows[at * width..][..width])?;
            skin::palette_columns(&cast.skin, model, &mut columns[at * width..][..width])?;
        }
        Ok(())
    }

    /// All that was written.
    fn bits(&self) -> Vec<u32> {
        let poses = self.poses.iter().flatten().flat_map(Pose::transforms);
        let poses = poses.flat_map(|t| t.rotation.into_iter().chain(t.translation).chain(t.scale));
        let matrices = self.models.iter().chain(&self.rows).flat_map(|m| m.rows.as_flattened());
        let reached = self.reached.iter().flatten().flatten().map(|reached| reached.distance);
        let all = poses.chain(reached).chain(matrices.chain(self.columns.iter().flatten()).copied());
        all.map(f32::to_bits).collect()
    }
}

/// Both ways, from the same buffers.
fn assert_alike(cast: &Cast, count: usize, case: &str) -> Vec<u32> {
    let [mut crowd, mut single] = [(); 2].map(|()| Frame::new(cast, count));
    crowd.by_crowd(3).expect("sizes agree");
    single.one_by_one(3).expect("sizes agree");
    let bits = crowd.bits();
    assert!(bits == single.bits(), "{count} instances, {case}");
    bits
}

#[test]
fn every_instance_is_as_it_is_alone() {
    let cast = Cast::new();
    for dispatch in Dispatch::all() {
        for count in [0, 1, 7, 9, 130] {
            dispatch.scope(|| assert_alike(&cast, count, &dispatch.to_string()));
        }
    }
}

/// Threads of a pool know nothing of the scope that the caller is in: the choice has to come with the work.
#[cfg(all(feature = "rayon", not(target_family = "wasm")))]
#[test]
fn the_bits_are_those_of_any_number_of_threads() {
    let cast = Cast::new();
    // Of several parts, the last of which is smaller, in groups of eight and some.
    let count = 1100;
    let mut modes = Vec::new();
    for dispatch in Dispatch::all().filter(|dispatch| dispatch.isa() == condyle::Isa::best()) {
        let mut want: Option<Vec<u32>> = None;
        for threads in [1, 2, 3, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let case = format!("{dispatch}, {threads} threads");
            let bits = pool.install(|| dispatch.scope(|| assert_alike(&cast, count, &case)));
            assert!(*want.get_or_insert_with(|| bits.clone()) == bits, "{case}");
        }
        modes.extend(want);
    }
    // Else it would not show if a thread had a choice of its own.
    assert!(modes.len() < 2 || modes[0] != modes[1], "the modes differ");
}

/// Rayon allocates for its own queues, but not where a single thread does all the work.
fn on_one_thread<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    #[cfg(all(feature = "rayon", not(target_family = "wasm")))]
    return rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread").install(run);
    #[cfg(not(all(feature = "rayon", not(target_family = "wasm"))))]
    run()
}

#[test]
fn nothing_is_allocated_after_the_first_frame() {
    let cast = Cast::new();
    let (first, later) = on_one_thread(|| {
        let mut frame = Frame::new(&cast, 300);
        let first = allocation_counter::measure(|| frame.by_crowd(0).expect("sizes agree"));
        let later = allocation_counter::measure(|| {
            for at in 1..4 {
                frame.by_crowd(at).expect("sizes agree");
            }
        });
        (first, later)
    });
    assert!(first.count_total > 0, "the counter counts");
    assert_eq!(later.count_total, 0, "{later:?}");
}

#[test]
fn dual_quaternions_allocate_once_too() {
    let cast = Cast::new();
    let vertices = 500;
    let rows = (0..vertices).map(|v| [0, 1, 5].map(|k| (((v + k) % cast.skin.joints().len()) as u16, 0.25)));
    let influences = Influences::from_rows(rows).expect("finite");
    let bind = Vertices {
        positions: vec![[1.0, 2.0, 3.0]; vertices],
        normals: vec![[0.0, 1.0, 0.0]; vertices],
        tangents: vec![[1.0, 0.0, 0.0, 1.0]; vertices],
    };
    let mut posed = Vertices::zeroed_like(&bind);
    let mut model = vec![Affine::IDENTITY; JOINTS];
    local_to_model(&cast.skeleton, cast.skeleton.rest(), &mut model).expect("sizes agree");
    let mut matrices = Palette::default();
    let mut frame = |scale: f32| {
        // One joint that scales alone: stretches and their inverse transposes are there too.
        model[JOINTS / 2].rows[0][0] *= scale;
        skin::palette_dual(&cast.skin, &model, NormalRule::default(), &mut matrices)?;
        skin(&influences, &matrices, bind.as_slices(), posed.as_slices_mut())
    };
    let first = allocation_counter::measure(|| frame(1.5).expect("sizes agree"));
    let later = allocation_counter::measure(|| (0..3).for_each(|_| frame(1.1).expect("sizes agree")));
    assert!(first.count_total > 0, "the counter counts");
    assert_eq!(later.count_total, 0, "{later:?}");
}

/// Buffers that are copied from one frame to the next keep their memory, smaller ones too.
#[test]
fn clone_from_keeps_the_memory() {
    let cast = Cast::new();
    let mut model = vec![Affine::IDENTITY; JOINTS];
    local_to_model(&cast.skeleton, cast.skeleton.rest(), &mut model).expect("sizes agree");
    model[JOINTS / 2].rows[0][0] *= 1.5;
    let palettes = [&cast.skin, &Skin::new(vec![2], vec![Affine::IDENTITY]).expect("a joint")].map(|bound| {
        let mut matrices = Palette::default();
        skin::palette_dual(bound, &model, NormalRule::default(), &mut matrices).expect("sizes agree");
        matrices
    });
    let poses = [JOINTS, 1, 2 * JOINTS].map(Pose::identity);
    let vertices = [500, 7].map(|count| Vertices {
        positions: vec![[1.0, 2.0, 3.0]; count],
        normals: vec![[0.0, 1.0, 0.0]; count],
        tangents: vec![[1.0, 0.0, 0.0, 1.0]; count],
    });
    let (mut pose, mut posed, mut matrices) = (poses[2].clone(), vertices[0].clone(), palettes[0].clone());
    let copied = allocation_counter::measure(|| {
        for at in [1, 0] {
            pose.clone_from(&poses[at]);
            posed.clone_from(&vertices[at]);
            matrices.clone_from(&palettes[at]);
            assert!(posed == vertices[at] && matrices == palettes[at]);
            assert_eq!(pose.joint_count(), poses[at].joint_count());
        }
    });
    assert_eq!(copied.count_total, 0, "{copied:?}");
    assert!(!matrices.dual_quats().is_empty() && matrices.dual_quats() == palettes[0].dual_quats());
}

/// The skin of another model beside a model's matrices, and the mesh of another one beside a palette.
#[test]
fn parts_of_other_models_are_refused() {
    let cast = Cast::new();
    let mut matrices = Palette::default();
    // More joints than the skeleton has that the skin is for, or fewer than it has but enough for the skin.
    let last = usize::from(*cast.skin.joints().iter().max().expect("joints"));
    for joints in [JOINTS + 1, last + 1].into_iter().filter(|&joints| joints != JOINTS) {
        let model = vec![Affine::IDENTITY; joints];
        let mut rows = vec![Affine::IDENTITY; cast.skin.joints().len()];
        let bound = cast.skin.clone().for_skeleton(&cast.skeleton).expect("its own");
        let refused = [
            condyle::palette(&bound, &model, NormalRule::default(), &mut matrices),
            skin::palette_dual(&bound, &model, NormalRule::default(), &mut matrices),
            skin::palette_rows(&bound, &model, &mut rows),
        ];
        for found in refused {
            assert!(
                matches!(found, Err(Error::Length { found, needed: JOINTS, .. }) if found == joints),
                "{found:?}"
            );
        }
    }
    let model = vec![Affine::IDENTITY; JOINTS];
    condyle::palette(&cast.skin, &model, NormalRule::default(), &mut matrices).expect("sizes agree");
    let bind = Vertices { positions: vec![[1.0, 2.0, 3.0]; 4], ..Vertices::default() };
    let mut posed = Vertices::zeroed_like(&bind);
    let own = cast.skin.joints().len();
    let mut pose =
        |influences: &Influences| skin(influences, &matrices, bind.as_slices(), posed.as_slices_mut());
    pose(&Influences::rigid(4)).expect("nobody said whose they are");
    pose(&Influences::rigid(4).for_skin_of(own).expect("enough")).expect("its own");
    for other in [own + 1, 1].into_iter().filter(|&other| other != own) {
        let refused = pose(&Influences::rigid(4).for_skin_of(other).expect("enough"));
        assert!(
            matches!(refused, Err(Error::Length { found, needed, .. }) if (found, needed) == (own, other)),
            "{refused:?}"
        );
    }
    let named = Influences::from_rows([[(5, 1.0)]]).expect("finite");
    assert!(matches!(named.for_skin_of(5), Err(Error::TooShort { .. })));
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let cast = Cast::new();
    let (skeleton, rest) = (&cast.skeleton, cast.skeleton.rest());
    let (other, untouched) = (Pose::identity(JOINTS + 1), vec![Pose::identity(JOINTS); 3]);
    let mut out = untouched.clone();
    let length = |refused: Result<(), Error>, found, needed| {
        let is =
            matches!(refused, Err(Error::Length { found: f, needed: n, .. }) if (f, n) == (found, needed));
        assert!(is, "{refused:?}");
    };

    // The last of three does not fit.
    let mut plays = [0, 1, 2].map(|instance| cast.plays(instance, 0, 0));
    plays[2].wanted = Some(&[true; 4]);
    length(sample::crowd(&plays, skeleton, &mut out), 4, JOINTS);
    plays[2] = ClipAt::new(&cast.clips[0], f64::NAN);
    let refused = sample::crowd(&plays, skeleton, &mut out);
    assert_eq!(refused, Err(Error::NotFinite { what: "seconds", at: 0 }));
    length(sample::crowd(&plays[..2], skeleton, &mut out), 3, 2);

    let last = |at: usize| if at == 2 { &other } else { rest };
    let layers = |at: usize| [Layer::new(rest, 1.0), Layer::new(last(at), 1.0)];
    length(blend::crowd(skeleton, layers, Mean::Linear, &mut out), JOINTS + 1, JOINTS);
    let layers = |at: usize| [Layer::new(rest, if at == 2 { f32::NAN } else { 1.0 })];
    let refused = blend::crowd(skeleton, layers, Mean::Linear, &mut out);
    assert_eq!(refused, Err(Error::NotFinite { what: "weights", at: 0 }));

    let bases = [rest; 3];
    let additives = |at: usize| [Additive::new(last(at), 1.0)];
    length(blend::add_crowd(&bases, additives, &mut out), JOINTS + 1, JOINTS);
    length(blend::add_crowd(&bases, |_| [], &mut out[..2]), 2, 3);
    let overlays = |at: usize| Overlay::new(last(at), 1.0);
    length(blend::overlay_crowd(&bases, overlays, &mut out), JOINTS + 1, JOINTS);
    length(blend::overlay_crowd(&bases[..2], |_| Overlay::new(rest, 1.0), &mut out), 3, 2);
    length(blend::add_crowd_in_place(&mut out, additives), JOINTS + 1, JOINTS);
    length(blend::overlay_crowd_in_place(&mut out, overlays), JOINTS + 1, JOINTS);
    let refused = blend::overlay_crowd_in_place(&mut out, |at| {
        Overlay::new(rest, if at == 2 { f32::NAN } else { 1.0 })
    });
    assert_eq!(refused, Err(Error::NotFinite { what: "amount", at: 0 }));
    assert_eq!(out, untouched);

    let (width, models) = (cast.skin.joints().len(), vec![Affine::IDENTITY; 3 * JOINTS]);
    let mut columns = vec![[7.0; 16]; 3 * width];
    let few = Skeleton::new([Joint::new("alone", None, Transform::IDENTITY)]).expect("a root");
    length(
        skin::palette_columns_crowd(&cast.skin, skeleton, &models[1..], &mut columns),
        3 * JOINTS - 1,
        2 * JOINTS,
    );
    length(
        skin::palette_columns_crowd(&cast.skin, skeleton, &models, &mut columns[1..]),
        3 * width - 1,
        3 * width,
    );
    let refused = skin::palette_columns_crowd(&cast.skin, &few, &models[..3], &mut columns);
    assert!(matches!(refused, Err(Error::Index { at: 0, count: 1, .. })), "{refused:?}");
    assert!(columns.as_flattened().iter().all(|&v| v == 7.0));
    // As many joints, but others: which one stands where is not what the skin means.
    let strange = (0..JOINTS).map(|at| Joint::new(format!("strange {at}"), None, Transform::IDENTITY));
    let strange = Skeleton::new(strange).expect("roots");
    let bound = cast.skin.clone().for_skeleton(skeleton).expect("its joints");
    let mut rows = vec![Affine::IDENTITY; 3 * width];
    let refused = skin::palette_columns_crowd(&bound, &strange, &models, &mut columns);
    assert!(matches!(refused, Err(Error::Skeleton { what: "the skin", .. })), "{refused:?}");
    let refused = skin::palette_rows_crowd(&bound, &strange, &models, &mut rows);
    assert!(matches!(refused, Err(Error::Skeleton { what: "the skin", .. })), "{refused:?}");
    assert_eq!(skin::palette_rows_crowd(&bound, skeleton, &models, &mut rows), Ok(()));
    assert!(columns.as_flattened().iter().all(|&v| v == 7.0));
    let mut rows = vec![Affine::IDENTITY; 2];
    length(skin::palette_rows_crowd(&cast.skin, skeleton, &models, &mut rows), 2, 3 * width);
    // Nobody, and nothing of anybody.
    assert_eq!(skin::palette_rows_crowd(&cast.skin, skeleton, &[], &mut []), Ok(()));
    let empty = Skin::new(vec![], vec![]).expect("equal lengths");
    assert_eq!(skin::palette_rows_crowd(&empty, skeleton, &models, &mut []), Ok(()));
    let nobody = Skeleton::new([]).expect("no joints");
    length(skin::palette_rows_crowd(&empty, &nobody, &models, &mut []), 3 * JOINTS, 0);
}
