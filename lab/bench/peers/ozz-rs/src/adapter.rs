//! Jobs with shared buffers. Forms: 0 has all keys, 1 is reduced at 1 mm, like in `cpp/ozz.cc`.

use std::array::from_fn;
use std::path::Path;
use std::rc::Rc;

use glam::{Mat4, Vec3};
use ozz_animation_rs::{
    Animation, BlendingJob, BlendingJobRc, BlendingLayer, LocalToModelJob, LocalToModelJobRc, OzzRcBuf,
    SamplingContext, SamplingJob, SamplingJobRc, Skeleton, SkinningJob, SkinningJobRc, SoaTransform,
    ozz_rc_buf,
};

use crate::data::{Data, WIDTH};

pub(crate) struct Peer {
    skeleton: Rc<Skeleton>,
    clips: [Vec<Rc<Animation>>; 2],
    /// Two sampled poses and their mean.
    local: [OzzRcBuf<SoaTransform>; 3],
    model: OzzRcBuf<Mat4>,
    palette: OzzRcBuf<Mat4>,
    sampling: [SamplingJobRc; 2],
    /// Two per character.
    crowd: Vec<SamplingJobRc>,
    blending: BlendingJobRc<'static>,
    to_model: LocalToModelJobRc,
    inverse_bind: Vec<Mat4>,
    palettes: Vec<Mat4>,
    /// Jobs for positions, with normals, with tangents.
    skinning: Vec<SkinningJobRc>,
    posed: [OzzRcBuf<Vec3>; 3],
}

fn sampling(joints: usize, out: &OzzRcBuf<SoaTransform>) -> SamplingJobRc {
    let mut job: SamplingJobRc = SamplingJob::default();
    job.set_context(SamplingContext::new(joints));
    job.set_output(out.clone());
    job
}

fn run(job: &mut SamplingJobRc, clip: &Rc<Animation>, time: f32) {
    job.set_animation(clip.clone());
    job.set_ratio(time / clip.duration());
    job.run().expect("a valid job");
}

impl Peer {
    pub(crate) fn new(data: &Path, skeleton: &Path, archives: &Path) -> Self {
        let data = Data::read(data);
        let skeleton = Rc::new(Skeleton::from_path(skeleton).expect("a skeleton"));
        let clip = |form, clip| {
            let file = archives.join(format!("clip{clip}_{form}.ozz"));
            Rc::new(Animation::from_path(file).expect("an animation"))
        };
        let clips = from_fn(|form| (0..data.clips.len()).map(|at| clip(form, at)).collect());
        let joints = skeleton.num_joints();
        let rest = vec![SoaTransform::default(); skeleton.num_soa_joints()];
        let local: [OzzRcBuf<SoaTransform>; 3] = from_fn(|_| ozz_rc_buf(rest.clone()));
        let model = ozz_rc_buf(vec![Mat4::IDENTITY; joints]);
        let mut blending: BlendingJobRc = BlendingJob::default();
        blending.set_skeleton(skeleton.clone());
        blending.set_output(local[2].clone());
        for pose in &local[..2] {
            blending.layers_mut().push(BlendingLayer::with_weight(pose.clone(), 0.5));
        }
        let mut to_model: LocalToModelJobRc = LocalToModelJob::default();
        to_model.set_skeleton(skeleton.clone());
        to_model.set_input(local[2].clone());
        to_model.set_output(model.clone());
        let matrix = |r: &[f32]| {
            Mat4::from_cols_array(&from_fn(|i| match (i / 4, i % 4) {
                (column, 3) => f32::from(u8::from(column == 3)),
                (column, row) => r[4 * row + column],
            }))
        };
        Self {
            sampling: [sampling(joints, &local[0]), sampling(joints, &local[1])],
            inverse_bind: data.inverse_bind.chunks(12).map(matrix).collect(),
            palette: ozz_rc_buf(vec![Mat4::IDENTITY; joints]),
            palettes: Vec::new(),
            crowd: Vec::new(),
            skinning: Vec::new(),
            posed: from_fn(|_| ozz_rc_buf(Vec::new())),
            skeleton,
            clips,
            local,
            model,
            blending,
            to_model,
        }
    }

    /// The size in memory is not public.
    pub(crate) fn bytes(&self, _form: usize, _clip: usize) -> usize {
        0
    }

    pub(crate) fn sample(&mut self, form: usize, clip: usize, time: f32, to: usize) {
        run(&mut self.sampling[to], &self.clips[form][clip], time);
    }

    pub(crate) fn pose(&self) -> Vec<f32> {
        let local = self.local[0].borrow();
        let joint = |j: usize| -> [f32; WIDTH] {
            let SoaTransform { translation: t, rotation: r, scale: s } = &local[j / 4];
            [t.x, t.y, t.z, r.x, r.y, r.z, r.w, s.x, s.y, s.z].map(|lanes| lanes[j % 4])
        };
        (0..self.skeleton.num_joints()).flat_map(joint).collect()
    }

    pub(crate) fn blend(&mut self, _form: usize) {
        self.blending.run().expect("a valid job");
    }

    pub(crate) fn model_space(&mut self) {
        self.to_model.run().expect("a valid job");
    }

    pub(crate) fn write_palette(&mut self) {
        place(&self.model.borrow(), &self.inverse_bind, &mut self.palette.borrow_mut());
    }

    /// Makes room for a crowd.
    pub(crate) fn crowd_of(&mut self, count: usize) {
        let joints = self.skeleton.num_joints();
        while self.crowd.len() < 2 * count {
            self.crowd.push(sampling(joints, &self.local[self.crowd.len() % 2]));
        }
        self.palettes.resize(joints * count, Mat4::IDENTITY);
    }

    /// One frame of one character of the crowd.
    pub(crate) fn crowd_character(&mut self, form: usize, at: usize, plays: [(usize, f32); 2]) {
        for (to, (clip, time)) in plays.into_iter().enumerate() {
            run(&mut self.crowd[2 * at + to], &self.clips[form][clip], time);
        }
        self.blend(form);
        self.model_space();
        let joints = self.skeleton.num_joints();
        place(&self.model.borrow(), &self.inverse_bind, &mut self.palettes[at * joints..][..joints]);
    }

    /// Matrices of the last character, or of one of the crowd.
    pub(crate) fn palette(&self, at: Option<usize>) -> Vec<f32> {
        let joints = self.skeleton.num_joints();
        let palette = self.palette.borrow();
        let palette = at.map_or(&palette[..], |at| &self.palettes[at * joints..][..joints]);
        palette.iter().flat_map(Mat4::to_cols_array).collect()
    }

    pub(crate) fn set_mesh(&mut self, joints: &[u16], weights: &[f32], attributes: [&[f32]; 3]) {
        let bind = attributes.map(|values| values.chunks(3).map(Vec3::from_slice).collect::<Vec<_>>());
        self.posed = bind.clone().map(ozz_rc_buf);
        // Each last weight is implied.
        let weights = weights.chunks(4).flat_map(|weights| weights[..3].to_vec()).collect();
        let (joints, weights, bind) =
            (ozz_rc_buf(joints.to_vec()), ozz_rc_buf(weights), bind.map(ozz_rc_buf));
        let job = |attributes: usize| {
            let mut job: SkinningJobRc = SkinningJob::default();
            job.set_vertex_count(bind[0].borrow().len());
            job.set_influences_count(4);
            job.set_joint_matrices(self.palette.clone());
            job.set_joint_indices(joints.clone());
            job.set_joint_weights(weights.clone());
            job.set_in_positions(bind[0].clone());
            job.set_out_positions(self.posed[0].clone());
            if attributes > 0 {
                job.set_in_normals(bind[1].clone());
                job.set_out_normals(self.posed[1].clone());
            }
            if attributes > 1 {
                job.set_in_tangents(bind[2].clone());
                job.set_out_tangents(self.posed[2].clone());
            }
            job
        };
        self.skinning = (0..3).map(job).collect();
    }

    /// Skins positions, and with `attributes` above zero normals, above one tangents.
    pub(crate) fn skin(&mut self, attributes: usize) {
        self.skinning[attributes].run().expect("a valid job");
    }

    /// Positions and normals of the last skinning.
    pub(crate) fn skinned(&self) -> [Vec<f32>; 2] {
        [0, 1].map(|at| self.posed[at].borrow().iter().flat_map(Vec3::to_array).collect())
    }
}

fn place(model: &[Mat4], inverse_bind: &[Mat4], palette: &mut [Mat4]) {
    for ((out, model), inverse_bind) in palette.iter_mut().zip(model).zip(inverse_bind) {
        *out = *model * *inverse_bind;
    }
}
