//! Condyle behind the operations that all entrants have.
//!
//! Even forms have clips within 0.1 mm, odd ones within 1 mm:
//!
//! | forms | difference |
//! |---|---|
//! | 0, 1 | packed clips |
//! | 2, 3 | frames: the samples unpacked into even poses; one call samples and blends two clips |
//! | 4, 5 | packed, mean by `interpolation::poses` instead of `blend` |
//! | 6, 7 | packed, palettes of three rows instead of 4x4 columns |

use std::cell::RefCell;
use std::rc::Rc;

use condyle::blending::Mean;
use condyle::frames::FramesOptions;
use condyle::interpolation::{self, Method, Selection};
use condyle::skinning::{palette_columns, palette_rows};
use condyle::{
    Affine, Clip, Dispatch, FrameLayer, Frames, Influences, Interpolation, Joint, Layer, NormalRule, Palette,
    Pose, RawClip, Skeleton, Skin, Target, Track, Transform, Vertices, blend, local_to_model, palette,
    sample, sample_frames, skin,
};
use condyle_encode::{EncodeOptions, Shell, encode};

use crate::data::{Data, Mesh, RATE, WIDTH};
use crate::player::{Cast, Player, Stage};

/// Error bounds of the clips in metres.
const BOUNDS: [f32; 2] = [1e-4, 1e-3];

/// Data and buffers, shared by all instruction sets.
pub(crate) struct Runtime {
    skeleton: Skeleton,
    skin: Skin,
    packed: [Vec<Clip<'static>>; 2],
    frames: [Vec<Frames>; 2],
    /// Two sampled poses and their mean.
    poses: [Pose; 3],
    model: Vec<Affine>,
    columns: Vec<[f32; 16]>,
    rows: Vec<Affine>,
    crowd_columns: Vec<[f32; 16]>,
    palette: Palette,
    influences: Influences,
    bind: Vertices,
    posed: Vertices,
}

/// Runtime with one instruction set.
pub(crate) struct OnIsa {
    pub(crate) dispatch: Dispatch,
    pub(crate) runtime: Rc<RefCell<Runtime>>,
}

fn skeleton(data: &Data) -> Skeleton {
    let joints = data.rest.chunks(WIDTH).zip(&data.parents).enumerate().map(|(j, (rest, &parent))| {
        let rest = Transform {
            translation: [rest[0], rest[1], rest[2]],
            rotation: [rest[3], rest[4], rest[5], rest[6]],
            scale: [rest[7], rest[8], rest[9]],
        };
        Joint::new(format!("joint{j}"), u16::try_from(parent).ok(), rest)
    });
    Skeleton::new(joints).expect("a skeleton")
}

fn raw_clip(data: &Data, clip: usize) -> RawClip {
    let keys = &data.clips[clip];
    let timeline = (0..keys.frames).map(|frame| frame as f32 / RATE).collect();
    let track = |target, joint: usize, from: usize, width: usize| {
        let joints = keys.values.chunks(WIDTH).skip(joint).step_by(data.joints());
        let values = joints.flat_map(|values| values[from..][..width].to_vec()).collect();
        Track { target, interpolation: Interpolation::Linear, timeline: 0, values }
    };
    let tracks = (0..data.joints()).flat_map(|j| {
        let joint = u16::try_from(j).expect("few joints");
        [
            track(Target::Translation(joint), j, 0, 3),
            track(Target::Rotation(joint), j, 3, 4),
            track(Target::Scale(joint), j, 7, 3),
        ]
    });
    RawClip::new(format!("clip{clip}"), vec![timeline], tracks.collect()).expect("a clip")
}

fn is_frames(form: usize) -> bool {
    matches!(form, 2 | 3)
}

impl Runtime {
    /// Encodes and unpacks all clips.
    pub(crate) fn new(data: &Data) -> Self {
        let skeleton = skeleton(data);
        let joints = skeleton.joint_count();
        let matrix = |rows: &[f32]| Affine {
            rows: [0, 1, 2].map(|r| [rows[4 * r], rows[4 * r + 1], rows[4 * r + 2], rows[4 * r + 3]]),
        };
        let inverse_bind = data.inverse_bind.chunks(12).map(matrix).collect();
        let skin = Skin::new((0..joints as u16).collect(), inverse_bind).expect("a skin");
        let start = std::time::Instant::now();
        let packed = BOUNDS.map(|bound| {
            let mut options = EncodeOptions::new(bound, Shell::Balls(Shell::RADIUS));
            options.rate = Some(RATE);
            let clip = |at| encode(&raw_clip(data, at), &skeleton, &options, &mut |_| ()).expect("a clip");
            (0..data.clips.len()).map(|at| clip(at).into_clip()).collect::<Vec<_>>()
        });
        eprintln!("Condyle: clips encoded in {:.1?}", start.elapsed());
        let start = std::time::Instant::now();
        let frames = BOUNDS.map(|bound| {
            let options = FramesOptions::new(&skeleton, bound, Shell::RADIUS);
            let clip = |at| raw_clip(data, at).to_frames(&skeleton, &options).expect("frames");
            (0..data.clips.len()).map(clip).collect()
        });
        eprintln!("Condyle: clips unpacked in {:.1?}", start.elapsed());
        let rest = Pose::rest(&skeleton);
        Self {
            skin,
            packed,
            frames,
            poses: [rest.clone(), rest.clone(), rest],
            model: vec![Affine::IDENTITY; joints],
            columns: vec![[0.0; 16]; joints],
            rows: vec![Affine::IDENTITY; joints],
            crowd_columns: Vec::new(),
            palette: Palette::default(),
            influences: Influences::rigid(0),
            bind: Vertices::default(),
            posed: Vertices::default(),
            skeleton,
        }
    }

    fn sample(&mut self, form: usize, clip: usize, seconds: f32, to: usize) {
        let (set, pose) = (form % 2, &mut self.poses[to]);
        let done = if is_frames(form) {
            let layer = FrameLayer::new(&self.frames[set][clip], seconds.into(), 1.0);
            sample_frames(&self.skeleton, &[layer], pose)
        } else {
            sample(&self.packed[set][clip], &self.skeleton, seconds.into(), pose)
        };
        done.expect("fitting lengths");
    }

    /// Samples two clips and computes their mean.
    fn mean(&mut self, form: usize, [a, b]: [usize; 2], [seconds_a, seconds_b]: [f32; 2]) {
        if is_frames(form) {
            let frames = &self.frames[form % 2];
            let layers = [
                FrameLayer::new(&frames[a], seconds_a.into(), 0.5),
                FrameLayer::new(&frames[b], seconds_b.into(), 0.5),
            ];
            sample_frames(&self.skeleton, &layers, &mut self.poses[2]).expect("fitting lengths");
        } else {
            self.sample(form, a, seconds_a, 0);
            self.sample(form, b, seconds_b, 1);
            self.blend(form);
        }
    }

    fn blend(&mut self, form: usize) {
        let [a, b, out] = &mut self.poses;
        if matches!(form, 4 | 5) {
            interpolation::poses(&*a, b, 0.5, Selection::All, Method::Nlerp, out).expect("fitting lengths");
        } else {
            let layers = [Layer::new(a, 0.5), Layer::new(b, 0.5)];
            blend(&self.skeleton, &layers, Mean::Linear, out).expect("fitting lengths");
        }
    }

    fn model_space(&mut self) {
        local_to_model(&self.skeleton, &self.poses[2], &mut self.model).expect("fitting lengths");
    }

    fn write_palette(&mut self, form: usize) {
        if form < 6 {
            palette_columns(&self.skin, &self.model, &mut self.columns).expect("fitting lengths");
        } else {
            palette_rows(&self.skin, &self.model, &mut self.rows).expect("fitting lengths");
        }
    }
}

impl Player for OnIsa {
    fn bytes(&self, form: usize, clip: usize) -> usize {
        let runtime = self.runtime.borrow();
        if is_frames(form) {
            runtime.frames[form % 2][clip].memory()
        } else {
            runtime.packed[form % 2][clip].as_bytes().len()
        }
    }

    fn sample(&mut self, form: usize, clip: usize, times: &[f32]) {
        self.dispatch.set_default();
        let mut runtime = self.runtime.borrow_mut();
        times.iter().for_each(|&time| runtime.sample(form, clip, time, 0));
    }

    fn pose(&mut self, form: usize, clip: usize, time: f32) -> Vec<f32> {
        self.sample(form, clip, &[time]);
        let numbers = |t: Transform| [&t.translation[..], &t.rotation, &t.scale].concat();
        self.runtime.borrow().poses[0].transforms().flat_map(numbers).collect()
    }

    fn character(&mut self, form: usize, clips: [usize; 2], times: [&[f32]; 2]) {
        self.dispatch.set_default();
        let mut runtime = self.runtime.borrow_mut();
        for (&a, &b) in times[0].iter().zip(times[1]) {
            runtime.mean(form, clips, [a, b]);
            runtime.model_space();
            runtime.write_palette(form);
        }
    }

    fn crowd(&mut self, form: usize, cast: &Cast) {
        self.dispatch.set_default();
        let runtime = &mut *self.runtime.borrow_mut();
        let joints = runtime.model.len();
        let Cast { clips: [clips_a, clips_b], times: [a, b] } = cast;
        runtime.crowd_columns.resize(a.len() * joints, [0.0; 16]);
        for at in 0..a.len() {
            runtime.mean(form, [clips_a[at] as usize, clips_b[at] as usize], [a[at], b[at]]);
            runtime.model_space();
            let out = &mut runtime.crowd_columns[at * joints..][..joints];
            palette_columns(&runtime.skin, &runtime.model, out).expect("fitting lengths");
        }
    }

    fn stage(&mut self, form: usize, stage: Stage, count: usize) {
        self.dispatch.set_default();
        let mut runtime = self.runtime.borrow_mut();
        for _ in 0..count {
            match stage {
                Stage::Blend => runtime.blend(form),
                Stage::Model => runtime.model_space(),
                Stage::Palette => runtime.write_palette(form),
            }
            std::hint::black_box(&mut *runtime);
        }
    }

    fn palette(&mut self, form: usize, at: Option<usize>) -> Vec<f32> {
        let runtime = self.runtime.borrow();
        let joints = runtime.model.len();
        match at {
            Some(at) => runtime.crowd_columns[at * joints..][..joints].as_flattened().to_vec(),
            None if form < 6 => runtime.columns.as_flattened().to_vec(),
            None => runtime.rows.iter().flat_map(Affine::to_columns).collect(),
        }
    }

    fn skins(&self) -> bool {
        true
    }

    fn set_mesh(&mut self, mesh: &Mesh) {
        let rows = mesh.joints.iter().zip(&mesh.weights);
        let rows = rows.map(|(joints, weights)| joints.iter().copied().zip(weights.iter().copied()));
        let mut runtime = self.runtime.borrow_mut();
        runtime.influences = Influences::from_rows(rows).expect("influences");
        runtime.bind = Vertices {
            positions: mesh.positions.clone(),
            normals: mesh.normals.clone(),
            tangents: mesh.tangents.iter().map(|&[x, y, z]| [x, y, z, 1.0]).collect(),
        };
        runtime.posed = Vertices::zeroed_like(&runtime.bind);
    }

    fn skin(&mut self, attributes: usize, count: usize) {
        self.dispatch.set_default();
        let runtime = &mut *self.runtime.borrow_mut();
        // Like the peers, which have no inverse transposes here.
        palette(&runtime.skin, &runtime.model, NormalRule::Plain, &mut runtime.palette)
            .expect("fitting lengths");
        let mut bind = runtime.bind.as_slices();
        if attributes < 1 {
            bind.normals = &[];
        }
        if attributes < 2 {
            bind.tangents = &[];
        }
        for _ in 0..count {
            let mut posed = runtime.posed.as_slices_mut();
            if attributes < 1 {
                posed.normals = &mut [];
            }
            if attributes < 2 {
                posed.tangents = &mut [];
            }
            skin(&runtime.influences, &runtime.palette, bind, posed).expect("fitting lengths");
        }
    }

    fn skinned(&mut self) -> [Vec<f32>; 2] {
        let runtime = self.runtime.borrow();
        let Vertices { positions, normals, .. } = &runtime.posed;
        [positions.as_flattened().to_vec(), normals.as_flattened().to_vec()]
    }
}
