//! Every call of a frame on one element and on 67, to measure call overhead. Also the stages of a whole
//! character, each on the output of the previous one.

use std::cell::OnceCell;
use std::rc::Rc;

use condyle::blending::{Additive, Mean, add, difference, overlay};
use condyle::convert::joints_to_matrices;
use condyle::interpolation::{self, Method, Prepared, Selection};
use condyle::math::{JointMat, JointQuat, Rigid};
use condyle::model::model_to_local;
use condyle::motion::{RootMotion, RootMotionOptions, extract};
use condyle::skinning::{palette_columns, palette_rows};
use condyle::{
    Affine, Clip, FrameLayer, Layer, Looping, NormalRule, Palette, Pose, Skin, SkinnedMesh, Transform,
    Vertices, blend, interpolate as rotation, local_to_model, palette, sample, sample_frames, skin,
};
use condyle_encode::encode;
use condyle_encode::{EncodeOptions, Shell};
use condyle_testing::reference;

use super::clip::{BOUND, FORMS, Input, key, random_key};
use super::interpolate::{FACTOR, slerps};
use super::skin::{Want, random_palette};
use super::{FRAMES, JOINTS, case, largest, pose, worst_joints, worst_matrices};
use crate::data::{Random, structs};
use crate::harness::{Case, Subjects};

/// Number of elements of the large call that a call on one element is compared with.
pub(crate) const MANY: usize = JOINTS;

/// Benchmark whose call on many elements measures the arithmetic per element. For calls with one result, it
/// is the call that returns all results. No call returns several motions.
pub(crate) fn arithmetic(work: &str) -> Option<&str> {
    match work {
        "call_sample_joint" => Some("call_sample"),
        "call_rotation" => Some("call_interpolate"),
        "call_rotation_held" => Some("call_interpolate_held"),
        "call_motion_at" | "call_motion_over" => None,
        own => Some(own),
    }
}

const SIZES: &str = "sizes agree";
/// Error limit of poses and matrices.
const ROUNDED: f64 = 1e-5;
/// Error limit of motion. The budget of the clip is a millimetre.
const MOVED: f64 = 1e-2;
/// Seconds of a motion.
const STEP: f64 = 1.0 / 60.0;

/// Implementations of a call without a clip, which has no forms.
const CONDYLE: [&str; 1] = ["condyle"];

pub(super) fn cases() -> Vec<Case> {
    let mut calls = Calls::default();
    calls.stage("stage_67_sample", &CONDYLE, BOUND, sample_two, |data, room| {
        let [first, second] = [0, 1].map(|clip| data.posed(clip, room.calls));
        largest([
            worst_joints(room.pose.transforms(), &first),
            worst_joints(room.other.transforms(), &second),
        ])
    });
    calls.stage(
        "stage_67_sample_frames",
        &[FRAMES],
        BOUND,
        |data, _, room| {
            let seconds = [room.next(data), data.moment(room.calls + MOMENTS / 2)];
            let layer = |clip: usize| FrameLayer::new(&data.input.frames[clip], seconds[clip].into(), 0.5);
            sample_frames(&data.input.skeleton, &[layer(0), layer(1)], &mut room.pose).expect(SIZES);
        },
        |data, room| {
            let [first, second] = [0, 1].map(|clip| pose(&data.posed(clip, room.calls)));
            let half = vec![0.5; data.n];
            let layers = [(&first, half.clone()), (&second, half)];
            worst_joints(room.pose.transforms(), &reference::blend(data.input.skeleton.rest(), &layers, true))
        },
    );
    calls.each(
        "call_sample",
        "blocks",
        &FORMS,
        BOUND,
        |data, form, room| {
            let seconds = room.next(data);
            data.input.sample(form, (0, seconds), &mut room.pose);
        },
        |data, room| worst_joints(room.pose.transforms(), &data.posed(0, room.calls)),
    );
    calls.each(
        "call_sample_joint",
        "blocks",
        &CONDYLE,
        BOUND,
        |data, _, room| {
            let (clip, seconds) = (&data.input.clips[0], room.next(data));
            for (joint, out) in (0..).zip(&mut room.joints) {
                *out =
                    condyle::sampling::joint(clip, &data.input.skeleton, seconds.into(), joint).expect(SIZES);
            }
        },
        |data, room| worst_joints(room.joints.iter().copied(), &data.posed(0, room.calls)),
    );
    calls.both(
        ["stage_67_blend", "call_blend"],
        "blocks",
        |data, _, room| {
            let layers = [Layer::new(&data.from, FACTOR), Layer::new(&data.to, 1.0 - FACTOR)];
            blend(&data.input.skeleton, &layers, Mean::Linear, &mut room.pose).expect(SIZES);
        },
        |data, room| {
            let weights = [FACTOR, 1.0 - FACTOR].map(|weight| vec![f64::from(weight); data.n]);
            let layers: Vec<_> = [&data.from, &data.to].into_iter().zip(weights).collect();
            let want = reference::blend(data.input.skeleton.rest(), &layers, true);
            worst_joints(room.pose.transforms(), &want)
        },
    );
    calls.each(
        "call_add",
        "blocks",
        &CONDYLE,
        ROUNDED,
        |data, _, room| {
            add(&data.from, &[Additive::new(&data.difference, FACTOR)], &mut room.pose).expect(SIZES);
        },
        |data, room| {
            let layers = [(&data.difference, vec![f64::from(FACTOR); data.n])];
            worst_joints(room.pose.transforms(), &reference::add(&data.from, &layers))
        },
    );
    calls.each(
        "call_overlay",
        "blocks",
        &CONDYLE,
        ROUNDED,
        |data, _, room| overlay(&data.from, &data.to, FACTOR, None, &mut room.pose).expect(SIZES),
        |data, room| worst_joints(room.pose.transforms(), &data.between()),
    );
    interpolations(&mut calls);
    matrices(&mut calls);
    vertices(&mut calls);
    motions(&mut calls);
    calls.stages.into_iter().chain(calls.each).collect()
}

/// Computes the coefficients in each call, or once.
fn interpolations(calls: &mut Calls) {
    let wrong = |data: &Data, room: &Room| worst_joints(room.pose.transforms(), &data.between());
    let poses = |data: &Data, _: &str, room: &mut Room| {
        let (from, to, how) = (&data.from, &data.to, Method::default());
        interpolation::poses(from, to, FACTOR, Selection::All, how, &mut room.pose).expect(SIZES);
    };
    calls.each("call_interpolate", "blocks", &CONDYLE, ROUNDED, poses, wrong);
    let poses = |data: &Data, _: &str, room: &mut Room| {
        data.prepared.poses(&data.from, &data.to, Selection::All, &mut room.pose).expect(SIZES);
    };
    calls.each("call_interpolate_held", "blocks", &CONDYLE, ROUNDED, poses, wrong);
    let wrong = |data: &Data, room: &Room| {
        worst_joints(room.structs.iter().map(crate::data::transform), &data.between())
    };
    let joints = |data: &Data, _: &str, room: &mut Room| {
        let ([from, to], how) = (&data.structs, Method::default());
        interpolation::joints(Some(from), to, FACTOR, Selection::All, how, &mut room.structs).expect(SIZES);
    };
    calls.each("call_interpolate", "structs", &CONDYLE, ROUNDED, joints, wrong);
    let joints = |data: &Data, _: &str, room: &mut Room| {
        let [from, to] = &data.structs;
        data.prepared.joints(Some(from), to, Selection::All, &mut room.structs).expect(SIZES);
    };
    calls.each("call_interpolate_held", "structs", &CONDYLE, ROUNDED, joints, wrong);
    let wrong = |data: &Data, room: &Room| {
        let want = data.between();
        let rotated = |joint: (&JointQuat, &reference::Local)| {
            super::worst(joint.0.rotation.iter().zip(joint.1.rotation))
        };
        largest(room.structs.iter().zip(&want).map(rotated))
    };
    let rotations = |data: &Data, _: &str, room: &mut Room| {
        let [from, to] = &data.structs;
        for ((out, from), to) in room.structs.iter_mut().zip(from).zip(to) {
            out.rotation = rotation(from.rotation, to.rotation, FACTOR, Method::default());
        }
    };
    calls.each("call_rotation", "structs", &CONDYLE, ROUNDED, rotations, wrong);
    let rotations = |data: &Data, _: &str, room: &mut Room| {
        let [from, to] = &data.structs;
        for ((out, from), to) in room.structs.iter_mut().zip(from).zip(to) {
            out.rotation = data.prepared.rotation(from.rotation, to.rotation);
        }
    };
    calls.each("call_rotation_held", "structs", &CONDYLE, ROUNDED, rotations, wrong);
}

/// Joints to matrices, and matrices of joints to those of a skin.
fn matrices(calls: &mut Calls) {
    calls.each(
        "call_joints_to_matrices",
        "structs",
        &CONDYLE,
        ROUNDED,
        |data, _, room| joints_to_matrices(&data.structs[0], &mut room.matrices).expect(SIZES),
        |data, room| {
            let want: Vec<_> = reference::locals(&data.from).iter().map(reference::local_matrix).collect();
            worst_matrices(room.matrices.iter().copied(), &want)
        },
    );
    calls.both(
        ["stage_67_model", "call_local_to_model"],
        "blocks",
        |data, _, room| local_to_model(&data.input.skeleton, &data.from, &mut room.matrices).expect(SIZES),
        |data, room| {
            let want = reference::local_to_model(&data.input.skeleton, &reference::locals(&data.from));
            worst_matrices(room.matrices.iter().copied(), &want)
        },
    );
    calls.each(
        "call_model_to_local",
        "structs",
        &CONDYLE,
        ROUNDED,
        |data, _, room| {
            model_to_local(&data.input.skeleton, &data.model, &mut room.matrices).expect("nothing is flat");
        },
        |data, room| {
            let want = reference::model_to_local(&data.input.skeleton, &data.wide_model());
            worst_matrices(room.matrices.iter().copied(), &want)
        },
    );
    calls.each(
        "call_palette",
        "structs",
        &CONDYLE,
        ROUNDED,
        |data, _, room| {
            palette(&data.bound, &data.model, NormalRule::default(), &mut room.palette).expect(SIZES);
        },
        |data, room| {
            let got = room.palette.matrices().iter().map(|matrix| Affine::from_columns(&matrix.columns));
            worst_matrices(got, &data.palette())
        },
    );
    calls.both(
        ["stage_67_columns", "call_palette_columns"],
        "structs",
        |data, _, room| palette_columns(&data.bound, &data.model, &mut room.columns).expect(SIZES),
        |data, room| worst_matrices(room.columns.iter().map(Affine::from_columns), &data.palette()),
    );
    calls.both(
        ["stage_67_rows", "call_palette_rows"],
        "structs",
        |data, _, room| palette_rows(&data.bound, &data.model, &mut room.matrices).expect(SIZES),
        |data, room| worst_matrices(room.matrices.iter().copied(), &data.palette()),
    );
}

/// The outputs select the work: positions, normals, tangents.
fn vertices(calls: &mut Calls) {
    let mut skinned = |work, part: fn(&Room) -> &Vertices, part_mut: fn(&mut Room) -> &mut Vertices| {
        let call = move |data: &Data, _: &str, room: &mut Room| {
            let out = part_mut(room).as_slices_mut();
            skin(data.mesh.influences(), &data.matrices, data.mesh.vertices().as_slices(), out).expect(SIZES);
        };
        let wrong = move |data: &Data, room: &Room| super::skin::error(part(room), &data.skinned);
        calls.each(work, "structs", &CONDYLE, ROUNDED, call, wrong);
    };
    skinned("call_skin_p", |room| &room.vertices[0], |room| &mut room.vertices[0]);
    skinned("call_skin_pn", |room| &room.vertices[1], |room| &mut room.vertices[1]);
    skinned("call_skin_pnt", |room| &room.vertices[2], |room| &mut room.vertices[2]);
}

/// Uses another time for each element.
fn motions(calls: &mut Calls) {
    calls.each(
        "call_motion_at",
        "",
        &CONDYLE,
        MOVED,
        |data, _, room| {
            for at in 0..data.n {
                room.rigid[at] = data.moving.motion_at(room.next(data).into());
            }
        },
        |data, room| {
            let first = (room.calls + 1).saturating_sub(data.n);
            let want = (first..).map(|call| data.motion.at(data.moment(call).into()));
            largest(room.rigid.iter().zip(want).map(|(got, want)| apart(got, &want)))
        },
    );
    calls.each(
        "call_motion_over",
        "",
        &CONDYLE,
        MOVED,
        |data, _, room| {
            for at in 0..data.n {
                let from = f64::from(room.next(data));
                room.rigid[at] = data.moving.motion_over(Looping::Wrap, from, from + STEP).expect("finite");
            }
        },
        |data, room| {
            let want = |call: usize| {
                let from = f64::from(data.moment(call));
                data.motion.over(Looping::Wrap, from, from + STEP).expect("finite")
            };
            let first = (room.calls + 1).saturating_sub(data.n);
            largest(room.rigid.iter().zip(first..).map(|(got, call)| apart(got, &want(call))))
        },
    );
}

fn sample_two(data: &Data, form: &str, room: &mut Room) {
    let seconds = room.next(data);
    data.input.sample(form, (0, seconds), &mut room.pose);
    data.input.sample(form, (1, data.moment(room.calls + MOMENTS / 2)), &mut room.other);
}

/// Number of times at which a clip is sampled in turn. A power of two, so that the index takes no division.
const MOMENTS: usize = 128;

/// Inputs of all calls for `n` joints or vertices: the data of a character during posing.
struct Data {
    n: usize,
    /// Two clips in all forms, and the skeleton.
    input: Input,
    moments: [f32; MOMENTS],
    /// First clip with its root motion extracted, and that motion.
    moving: Clip<'static>,
    motion: RootMotion,
    /// Poses of the two clips, and their difference.
    from: Pose,
    to: Pose,
    difference: Pose,
    structs: [Vec<JointQuat>; 2],
    prepared: Prepared,
    model: Vec<Affine>,
    bound: Skin,
    mesh: SkinnedMesh,
    matrices: Palette,
    skinned: Want,
}

impl Data {
    fn new(n: usize) -> Self {
        let input = Input::new(n, 2, |random| (0..MOMENTS).map(|_| (0, key(random_key(random)))).collect());
        let (skeleton, raw) = (&input.skeleton, &input.raw[0]);
        let mut options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
        options.between = false;
        options.root_motion = Some(RootMotionOptions::default());
        let moving = encode(raw, skeleton, &options, &mut |_| ()).expect("a valid clip").into_clip();
        let motion = extract(raw, skeleton, &RootMotionOptions::default()).expect("it moves").1;
        let mut poses = [(); 3].map(|()| Pose::identity(n));
        let [from, to, apart] = &mut poses;
        for (clip, pose) in input.clips.iter().zip([&mut *from, &mut *to]) {
            sample(clip, skeleton, key(40).into(), pose).expect(SIZES);
        }
        difference(to, from, apart).expect(SIZES);
        let mut model = vec![Affine::IDENTITY; n];
        local_to_model(skeleton, from, &mut model).expect(SIZES);
        let mut random = Random(3);
        let mesh = random.mesh(n, super::skin::PALETTE, 4);
        let matrices = random_palette(&mut random).1;
        let joints = |pose: &Pose| structs(&pose.transforms().collect::<Vec<_>>());
        let structs = [joints(from), joints(to)];
        let [from, to, difference] = poses;
        Self {
            n,
            moments: std::array::from_fn(|call| input.moment(call).1),
            moving,
            motion,
            from,
            to,
            difference,
            structs,
            prepared: Prepared::new(FACTOR, Method::default()),
            model,
            bound: Random(4).skin(n),
            skinned: super::skin::want(&mesh, &matrices),
            mesh,
            matrices,
            input,
        }
    }

    /// Time of call number `call`.
    fn moment(&self, call: usize) -> f32 {
        self.moments[call % MOMENTS]
    }

    /// Pose of a clip after `calls` calls. The second clip is half of the times ahead.
    fn posed(&self, clip: usize, calls: usize) -> Vec<reference::Local> {
        let seconds = self.moment(calls + clip * MOMENTS / 2);
        reference::sample_raw(&self.input.raw[clip], &self.input.skeleton, seconds.into())
    }

    /// Interpolated poses.
    fn between(&self) -> Vec<reference::Local> {
        let [from, to] = [&self.from, &self.to].map(|pose| pose.transforms().collect::<Vec<_>>());
        slerps(&from, &to)
    }

    fn wide_model(&self) -> Vec<reference::Matrix> {
        self.model.iter().map(reference::matrix).collect()
    }

    fn palette(&self) -> Vec<reference::Matrix> {
        reference::palette(&self.bound, &self.wide_model())
    }
}

/// Outputs of all calls. They start with wrong values.
#[derive(Clone)]
struct Room {
    pose: Pose,
    other: Pose,
    joints: Vec<Transform>,
    structs: Vec<JointQuat>,
    matrices: Vec<JointMat>,
    columns: Vec<[f32; 16]>,
    palette: Palette,
    /// Outputs with positions only, with normals, and with tangents too.
    vertices: [Vertices; 3],
    rigid: Vec<Rigid>,
    calls: usize,
}

impl Room {
    fn new(data: &Data) -> Self {
        let n = data.n;
        let joints = vec![Transform { rotation: [f32::NAN; 4], ..Transform::IDENTITY }; n];
        let pose = Pose::from_transforms(&joints);
        let frames = Vertices::zeroed_like(data.mesh.vertices());
        let normals = Vertices { tangents: vec![], ..frames.clone() };
        let positions = Vertices { normals: vec![], ..normals.clone() };
        Self {
            other: pose.clone(),
            pose,
            structs: structs(&joints),
            joints,
            matrices: vec![Affine { rows: [[f32::NAN; 4]; 3] }; n],
            columns: vec![[f32::NAN; 16]; n],
            palette: Palette::default(),
            vertices: [positions, normals, frames],
            rigid: vec![Rigid { rotation: [f64::NAN; 4], ..Rigid::default() }; n],
            calls: 0,
        }
    }

    /// Time of the next call.
    fn next(&mut self, data: &Data) -> f32 {
        self.calls += 1;
        data.moment(self.calls)
    }
}

fn apart(got: &Rigid, want: &Rigid) -> f64 {
    let pairs = got.rotation.iter().zip(want.rotation).chain(got.translation.iter().zip(want.translation));
    largest(pairs.map(|(got, want)| (got - want).abs()))
}

/// List of cases, filled one call at a time.
#[derive(Default)]
struct Calls {
    each: Vec<Case>,
    stages: Vec<Case>,
    /// Data for one element and for many, created on first use.
    data: [Rc<OnceCell<Rc<Data>>>; 2],
}

impl Calls {
    /// Adds a call on one element and on many.
    fn each(
        &mut self,
        work: &'static str,
        layout: &'static str,
        implementations: &'static [&'static str],
        bound: f64,
        call: impl Fn(&Data, &'static str, &mut Room) + Copy + 'static,
        wrong: impl Fn(&Data, &Room) -> f64 + Copy + 'static,
    ) {
        for (n, data) in [1, MANY].into_iter().zip(&self.data) {
            let build = build(data, n, implementations, bound, call, wrong);
            self.each.push(case(work, layout, n, 0, build));
        }
    }

    /// Adds a call that poses one or more whole characters. It counts as one element.
    fn stage(
        &mut self,
        work: &'static str,
        implementations: &'static [&'static str],
        bound: f64,
        call: impl Fn(&Data, &'static str, &mut Room) + Copy + 'static,
        wrong: impl Fn(&Data, &Room) -> f64 + Copy + 'static,
    ) {
        let build = build(&self.data[1], MANY, implementations, bound, call, wrong);
        self.stages.push(case(work, "", 1, 0, build));
    }

    /// Adds a stage of a character that is also a separate call.
    fn both(
        &mut self,
        [stage, work]: [&'static str; 2],
        layout: &'static str,
        call: impl Fn(&Data, &'static str, &mut Room) + Copy + 'static,
        wrong: impl Fn(&Data, &Room) -> f64 + Copy + 'static,
    ) {
        self.stage(stage, &CONDYLE, ROUNDED, call, wrong);
        self.each(work, layout, &CONDYLE, ROUNDED, call, wrong);
    }
}

/// Builds all implementations of one call.
fn build(
    data: &Rc<OnceCell<Rc<Data>>>,
    n: usize,
    implementations: &'static [&'static str],
    bound: f64,
    call: impl Fn(&Data, &'static str, &mut Room) + Copy + 'static,
    wrong: impl Fn(&Data, &Room) -> f64 + Copy + 'static,
) -> impl Fn(&mut Subjects) + 'static {
    let data = data.clone();
    move |subjects| {
        let data = data.get_or_init(|| Rc::new(Data::new(n)));
        for &who in implementations {
            let looked_at = data.clone();
            let call = move |data: &Data, room: &mut Room| call(data, who, room);
            subjects
                .kernel(who, bound, data, Room::new(data), call, move |room: &Room| wrong(&looked_at, room));
        }
    }
}
