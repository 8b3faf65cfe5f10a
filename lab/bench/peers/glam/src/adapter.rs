//! An animation system by hand. Forms: 0 has a timeline per joint, found by binary search, and slerp; 1 has
//! whole frames, found by their index, and nlerp. Neither compresses.

use std::path::Path;

use glam::{Affine3A, Mat4, Quat, Vec3, Vec3A};

use crate::data::{Data, RATE, WIDTH};

#[derive(Clone, Copy)]
struct Joint {
    rotation: Quat,
    translation: Vec3,
    scale: Vec3,
}

impl Joint {
    fn slerp(&self, to: &Self, t: f32) -> Self {
        self.mixed(to, t, self.rotation.slerp(to.rotation, t))
    }

    fn nlerp(&self, to: &Self, t: f32) -> Self {
        self.mixed(to, t, self.rotation.lerp(to.rotation, t))
    }

    fn mixed(&self, to: &Self, t: f32, rotation: Quat) -> Self {
        Self {
            rotation,
            translation: self.translation.lerp(to.translation, t),
            scale: self.scale.lerp(to.scale, t),
        }
    }
}

struct Clip {
    times: Vec<f32>,
    /// All keys of a joint in a row.
    keys: Vec<Joint>,
    /// All joints of a frame in a row.
    frames: Vec<Joint>,
}

#[derive(Default)]
struct Mesh {
    joints: Vec<[u16; 4]>,
    weights: Vec<[f32; 4]>,
    /// Positions, normals, tangents.
    bind: [Vec<Vec3>; 3],
    posed: [Vec<Vec3>; 3],
}

pub(crate) struct Peer {
    parents: Vec<i32>,
    inverse_bind: Vec<Affine3A>,
    clips: Vec<Clip>,
    /// Two sampled poses and their mean.
    local: [Vec<Joint>; 3],
    model: Vec<Affine3A>,
    palette: Vec<Mat4>,
    palettes: Vec<Mat4>,
    mesh: Mesh,
}

impl Peer {
    pub(crate) fn new(data: &Path, _skeleton: &Path, _archives: &Path) -> Self {
        let data = Data::read(data);
        let joints = data.joints();
        let joint = |v: &[f32]| Joint {
            translation: Vec3::from_slice(v),
            rotation: Quat::from_slice(&v[3..]),
            scale: Vec3::from_slice(&v[7..]),
        };
        let clips = data.clips.iter().map(|clip| {
            let frames: Vec<Joint> = clip.values.chunks(WIDTH).map(joint).collect();
            let keys = (0..joints).flat_map(|j| frames.iter().skip(j).step_by(joints).copied()).collect();
            let times = (0..clip.frames).map(|frame| frame as f32 / RATE).collect();
            Clip { times, keys, frames }
        });
        let clips = clips.collect();
        let rest: Vec<Joint> = data.rest.chunks(WIDTH).map(joint).collect();
        let matrix = |r: &[f32]| {
            let column = |c: usize| Vec3A::new(r[c], r[4 + c], r[8 + c]);
            Affine3A::from_cols(column(0), column(1), column(2), column(3))
        };
        Self {
            inverse_bind: data.inverse_bind.chunks(12).map(matrix).collect(),
            parents: data.parents,
            clips,
            local: [rest.clone(), rest.clone(), rest],
            model: vec![Affine3A::IDENTITY; joints],
            palette: vec![Mat4::IDENTITY; joints],
            palettes: Vec::new(),
            mesh: Mesh::default(),
        }
    }

    pub(crate) fn bytes(&self, form: usize, clip: usize) -> usize {
        let Clip { times, keys, frames } = &self.clips[clip];
        if form == 0 { size_of_val(&times[..]) + size_of_val(&keys[..]) } else { size_of_val(&frames[..]) }
    }

    pub(crate) fn sample(&mut self, form: usize, clip: usize, time: f32, to: usize) {
        let Clip { times, keys, frames } = &self.clips[clip];
        let out = &mut self.local[to];
        if form == 0 {
            for (out, keys) in out.iter_mut().zip(keys.chunks(times.len())) {
                let key = times.partition_point(|&key| key <= time).clamp(1, times.len() - 1) - 1;
                let t = ((time - times[key]) / (times[key + 1] - times[key])).clamp(0.0, 1.0);
                *out = keys[key].slerp(&keys[key + 1], t);
            }
        } else {
            let joints = out.len();
            let at = (time * RATE).clamp(0.0, (times.len() - 1) as f32);
            let frame = (at as usize).min(times.len() - 2);
            let [a, b] = [frame, frame + 1].map(|frame| &frames[frame * joints..][..joints]);
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = a.nlerp(b, at - frame as f32);
            }
        }
    }

    pub(crate) fn pose(&self) -> Vec<f32> {
        let numbers = |joint: &Joint| {
            let Joint { rotation, translation, scale } = joint;
            [&translation.to_array()[..], &rotation.to_array()[..], &scale.to_array()[..]].concat()
        };
        self.local[0].iter().flat_map(numbers).collect()
    }

    pub(crate) fn blend(&mut self, form: usize) {
        let [a, b, out] = &mut self.local;
        for ((out, a), b) in out.iter_mut().zip(&*a).zip(&*b) {
            *out = if form == 0 { a.slerp(b, 0.5) } else { a.nlerp(b, 0.5) };
        }
    }

    pub(crate) fn model_space(&mut self) {
        for (j, local) in self.local[2].iter().enumerate() {
            let Joint { rotation, translation, scale } = *local;
            let local = Affine3A::from_scale_rotation_translation(scale, rotation, translation);
            self.model[j] = match usize::try_from(self.parents[j]) {
                Ok(parent) => self.model[parent] * local,
                Err(_) => local,
            };
        }
    }

    pub(crate) fn write_palette(&mut self) {
        place(&self.model, &self.inverse_bind, &mut self.palette);
    }

    /// Makes room for the palettes of a crowd.
    pub(crate) fn crowd_of(&mut self, count: usize) {
        self.palettes.resize(count * self.parents.len(), Mat4::IDENTITY);
    }

    /// One frame of one character of the crowd.
    pub(crate) fn crowd_character(&mut self, form: usize, at: usize, plays: [(usize, f32); 2]) {
        for (to, (clip, time)) in plays.into_iter().enumerate() {
            self.sample(form, clip, time, to);
        }
        self.blend(form);
        self.model_space();
        let joints = self.parents.len();
        place(&self.model, &self.inverse_bind, &mut self.palettes[at * joints..][..joints]);
    }

    /// Matrices of the last character, or of one of the crowd.
    pub(crate) fn palette(&self, at: Option<usize>) -> Vec<f32> {
        let joints = self.parents.len();
        let palette = at.map_or(&self.palette[..], |at| &self.palettes[at * joints..][..joints]);
        palette.iter().flat_map(Mat4::to_cols_array).collect()
    }

    pub(crate) fn set_mesh(&mut self, joints: &[u16], weights: &[f32], attributes: [&[f32]; 3]) {
        let bind = attributes.map(|values| values.chunks(3).map(Vec3::from_slice).collect::<Vec<_>>());
        self.mesh = Mesh {
            joints: joints.as_chunks().0.to_vec(),
            weights: weights.as_chunks().0.to_vec(),
            posed: bind.clone(),
            bind,
        };
    }

    /// Skins positions, and with `attributes` above zero normals, above one tangents. Directions are not
    /// normalised, like in ozz-animation.
    pub(crate) fn skin(&mut self, attributes: usize) {
        let Self { palette, mesh: Mesh { joints, weights, bind, posed }, .. } = self;
        let [positions, normals, tangents] = posed;
        for (v, (joints, weights)) in joints.iter().zip(&*weights).enumerate() {
            let mut matrix = Mat4::ZERO;
            for (&joint, &weight) in joints.iter().zip(weights) {
                matrix += palette[usize::from(joint)] * weight;
            }
            positions[v] = matrix.transform_point3(bind[0][v]);
            if attributes > 0 {
                normals[v] = matrix.transform_vector3(bind[1][v]);
            }
            if attributes > 1 {
                tangents[v] = matrix.transform_vector3(bind[2][v]);
            }
        }
    }

    /// Positions and normals of the last skinning.
    pub(crate) fn skinned(&self) -> [Vec<f32>; 2] {
        let [positions, normals, _] = &self.mesh.posed;
        [positions, normals].map(|values| values.iter().flat_map(Vec3::to_array).collect())
    }
}

fn place(model: &[Affine3A], inverse_bind: &[Affine3A], palette: &mut [Mat4]) {
    for ((out, model), inverse_bind) in palette.iter_mut().zip(model).zip(inverse_bind) {
        *out = Mat4::from(*model * *inverse_bind);
    }
}
