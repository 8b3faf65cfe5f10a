//! Many characters in one call.

use std::rc::Rc;

use condyle::skinning::{palette_columns, palette_rows};
use condyle::{Affine, Pose, local_to_model};
use condyle_base::error::Error;
use wasm_bindgen::prelude::*;

use crate::blend::Blend;
use crate::build::{Cursor, Motion, is_blended};
use crate::character::{Character, Model, clip_at};
use crate::fault::{Fault, Kept};

/// Numbers of an instance: clip, seconds, other clip, other seconds, weight of the other.
const INPUT: usize = 5;

/// Palettes of all instances, `stride` matrices each.
enum Palettes {
    Columns(Vec<[f32; 16]>),
    Rows(Vec<Affine>),
}

/// Many characters of one model.
#[wasm_bindgen]
pub struct Crowd {
    character: Rc<Character>,
    /// Skins, with the offsets of their palettes.
    skins: Vec<(usize, usize)>,
    joints: Vec<u16>,
    /// Offset of the first joint.
    joints_at: usize,
    stride: usize,
    instances: Vec<f32>,
    palettes: Palettes,
    /// Two for each instance.
    cursors: Vec<[Cursor; 2]>,
    pose: Pose,
    other: Pose,
    blend: Blend,
    model: Vec<Affine>,
    kept: Kept,
}

#[wasm_bindgen]
impl Crowd {
    /// Makes a crowd. A stride of 0 is the number of matrices of the skins and joints. Palettes fill whole
    /// rows of `row` matrices.
    #[wasm_bindgen(constructor)]
    pub fn new(
        model: &Model,
        count: usize,
        skins: Vec<u32>,
        joints: Vec<u16>,
        rows: bool,
        stride: usize,
        row: usize,
    ) -> Result<Crowd, JsValue> {
        Ok(Self::of(Rc::clone(&model.0), count, (&skins, joints), rows, [stride, row])?)
    }

    /// Error of the last call that failed.
    pub fn error(&mut self) -> JsValue {
        self.kept.take()
    }

    /// Matrices from one instance to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Number of matrices.
    pub fn matrices(&self) -> usize {
        match &self.palettes {
            Palettes::Columns(matrices) => matrices.len(),
            Palettes::Rows(matrices) => matrices.len(),
        }
    }

    /// Offset of each skin and then of each joint in an instance, in matrices.
    pub fn offsets(&self) -> Vec<u32> {
        let joints = (self.joints_at..).take(self.joints.len());
        self.skins.iter().map(|&(_, offset)| offset).chain(joints).map(|offset| offset as u32).collect()
    }

    /// Address of the input.
    pub fn instances(&self) -> usize {
        self.instances.as_ptr() as usize
    }

    /// Address of the palettes.
    pub fn palettes(&self) -> usize {
        match &self.palettes {
            Palettes::Columns(matrices) => matrices.as_ptr() as usize,
            Palettes::Rows(matrices) => matrices.as_ptr() as usize,
        }
    }

    /// Adds to the times of all instances.
    pub fn advance(&mut self, seconds: f64) -> bool {
        let result = self.advanced(seconds);
        self.kept.keep(result)
    }

    /// Computes all palettes.
    pub fn update(&mut self) -> bool {
        let result = self.updated();
        self.kept.keep(result)
    }
}

impl Crowd {
    fn of(
        character: Rc<Character>,
        count: usize,
        (wanted, joints): (&[u32], Vec<u16>),
        rows: bool,
        [stride, row]: [usize; 2],
    ) -> Result<Self, Fault> {
        let (mut skins, mut joints_at) = (Vec::new(), 0);
        for &skin in wanted {
            skins.push((skin as usize, joints_at));
            joints_at += character.skin(skin as usize)?.joints().len();
        }
        for &joint in &joints {
            character.check_joint(joint.into())?;
        }
        let needed = joints_at + joints.len();
        let stride = if stride == 0 { needed } else { stride };
        Error::check_room("stride", stride, needed)?;
        // A quarter of the address space of the module.
        let limit = (1 << 30) / size_of::<[f32; 16]>();
        let all = count.saturating_mul(stride).checked_next_multiple_of(row.max(1)).unwrap_or(usize::MAX);
        let found = all.max(count);
        if found > limit {
            return Err(Error::TooMany { what: "matrices of a crowd", found, limit }.into());
        }
        let (first, at) = character.clips.borrow().first().map_or((-1.0, 0.0), |it| (0.0, it.start() as f32));
        let palettes = match rows {
            true => Palettes::Rows(vec![Affine::IDENTITY; all]),
            false => Palettes::Columns(vec![Affine::IDENTITY.to_columns(); all]),
        };
        let (pose, other) = (Pose::rest(&character.skeleton), Pose::rest(&character.skeleton));
        Ok(Self {
            skins,
            joints,
            joints_at,
            stride,
            instances: [first, at, first, at, 0.0].repeat(count),
            palettes,
            cursors: vec![Default::default(); count],
            blend: Blend::new(&character.skeleton),
            model: vec![Affine::IDENTITY; character.skeleton.joint_count()],
            kept: Kept::default(),
            pose,
            other,
            character,
        })
    }

    fn advanced(&mut self, seconds: f64) -> Result<(), Fault> {
        if !seconds.is_finite() {
            return Err(Error::NotFinite { what: "seconds", at: 0 }.into());
        }
        let clips = self.character.clips.borrow();
        let (instances, _) = self.instances.as_chunks_mut::<INPUT>();
        for (index, [a, at_a, b, at_b, _]) in instances.iter_mut().enumerate() {
            for (clip, at) in [(*a, at_a), (*b, at_b)] {
                if clip >= 0.0 {
                    let clip = clip_at(&clips, clip.into()).map_err(|it| it.at("instance", index))?;
                    *at = wrapped(clip, f64::from(*at) + seconds);
                }
            }
        }
        Ok(())
    }

    fn updated(&mut self) -> Result<(), Fault> {
        (0..self.cursors.len()).try_for_each(|at| self.posed(at).map_err(|it| it.at("instance", at)))
    }

    /// Computes the palettes of one instance.
    fn posed(&mut self, at: usize) -> Result<(), Fault> {
        let it = &*self.character;
        let (skeleton, clips) = (&it.skeleton, it.clips.borrow());
        let of = |clip: f32| match clip < 0.0 {
            true => Ok(None),
            false => clip_at(&clips, clip.into()).map(Some),
        };
        let sampled = |clip: Option<&Motion>, seconds: f32, cursor: &mut Cursor, pose: &mut Pose| {
            match clip {
                None => pose.clone_from(skeleton.rest()),
                Some(clip) => clip.sample(skeleton, seconds.into(), cursor, pose)?,
            }
            Ok::<(), Fault>(())
        };
        let [a, at_a, b, at_b, weight] = self.instances.as_chunks::<INPUT>().0[at];
        let [first, second] = &mut self.cursors[at];
        Error::check_number("weight", weight)?;
        if weight >= 1.0 {
            sampled(of(b)?, at_b, second, &mut self.pose)?;
        } else if weight <= 0.0 {
            sampled(of(a)?, at_a, first, &mut self.pose)?;
        } else {
            let (a, b) = (of(a)?, of(b)?);
            if !is_blended(skeleton, [(a, at_a, 1.0 - weight), (b, at_b, weight)], &mut self.pose)? {
                sampled(a, at_a, first, &mut self.pose)?;
                sampled(b, at_b, second, &mut self.other)?;
                self.blend.towards(skeleton, &self.other, weight, None, &mut self.pose)?;
            }
        }
        it.constrain(&mut self.pose)?;
        local_to_model(skeleton, &self.pose, &mut self.model)?;
        for &(skin, offset) in &self.skins {
            let skin = &it.skins[skin];
            let start = at * self.stride + offset;
            let range = start..start + skin.joints().len();
            match &mut self.palettes {
                Palettes::Columns(out) => palette_columns(skin, &self.model, &mut out[range])?,
                Palettes::Rows(out) => palette_rows(skin, &self.model, &mut out[range])?,
            }
        }
        for (at, &joint) in (at * self.stride + self.joints_at..).zip(&self.joints) {
            let matrix = &self.model[usize::from(joint)];
            match &mut self.palettes {
                Palettes::Columns(out) => out[at] = matrix.to_columns(),
                Palettes::Rows(out) => out[at] = *matrix,
            }
        }
        Ok(())
    }
}

/// Time in the clip, which goes on from the start after its end.
fn wrapped(clip: &Motion, seconds: f64) -> f32 {
    let (start, end) = (clip.start(), clip.end());
    let duration = end - start;
    let passed = seconds - start;
    let time = if duration > 0.0 { passed - (passed / duration).floor() * duration } else { 0.0 };
    // Rounding must not lead outside.
    (start + time.max(0.0).min(duration)) as f32
}
