//! Inverse kinematics, springs and methods of interpolation.

use condyle::Affine;
use condyle::interpolation::{Method, Selection, poses};
use condyle_base::error::Error;
use condyle_solve::full_body::{BodyOptions, Goal, GoalKind, body};
use condyle_solve::spring_bones::{Tick, springs};
use condyle_solve::{Aim, Reached, TwoBone, aim, two_bone};
use wasm_bindgen::prelude::*;

use crate::fault::Fault;
use crate::pose::Pose;

/// Numbers of a goal: joint, kind, four of the place or the orientation, three of the offset, weight. The
/// kinds are 0 for a position, 1 for an orientation, and 2 for a joint that stays where it is.
const GOAL: usize = 10;

/// Names of all methods of interpolation, separated by spaces.
#[wasm_bindgen]
#[expect(unreachable_pub, reason = "an export")]
pub fn methods() -> String {
    Method::all().map(|it| it.to_string()).collect::<Vec<_>>().join(" ")
}

#[wasm_bindgen]
impl Pose {
    /// Blends by a method of interpolation.
    pub fn interpolate(&mut self, clip: f64, seconds: f64, t: f32, method: &str) -> bool {
        let method = method.parse::<Method>().map_err(Fault::from);
        let result = method.and_then(|method| self.interpolated(clip, seconds, t, method));
        self.kept.keep(result)
    }

    /// Turns joints so that goals are met. `out` has the result.
    pub fn reach(&mut self, goals: &[f32], iterations: u32, shift: Option<u32>, ease: f32) -> bool {
        let result = self.reached_goals(goals, iterations, shift, ease);
        self.kept.keep(result)
    }

    /// Bends a limb. `vectors` has the goal and the pole, or only the goal.
    pub fn two_bone(&mut self, joints: &[u16], vectors: &[f32], weight: f32, soft: f32) -> bool {
        let result = self.bent(joints, vectors, weight, soft);
        self.kept.keep(result)
    }

    /// Turns a joint. `vectors` has the axis and the target.
    pub fn aim(&mut self, joint: usize, vectors: &[f32], weight: f32) -> bool {
        let result = self.aimed(joint, vectors, weight);
        self.kept.keep(result)
    }

    /// Swings the springs of the file. `world` has 16 numbers in columns, or none for the identity.
    pub fn swing(&mut self, seconds: f32, force: &[f32], weight: f32, world: &[f64]) -> bool {
        let result = self.swung(seconds, force, weight, world);
        self.kept.keep(result)
    }

    /// Stops all springs.
    pub fn reset_springs(&mut self) {
        if let Some(state) = &mut self.body.springs {
            state.reset();
        }
    }
}

/// Vectors of three numbers each.
pub(crate) fn vectors<const N: usize>(what: &'static str, numbers: &[f32]) -> Result<[[f32; 3]; N], Fault> {
    let found = numbers.as_chunks::<3>().0.try_into();
    found.map_err(|_| Error::Length { what, found: numbers.len(), needed: 3 * N }.into())
}

/// Matrix of 16 numbers in columns.
pub(crate) fn world_matrix(numbers: &[f64]) -> Result<Affine, Fault> {
    let length = || Error::Length { what: "world", found: numbers.len(), needed: 16 };
    let numbers: &[f64; 16] = numbers.try_into().map_err(|_| length())?;
    Ok(Affine::from_columns(&numbers.map(|v| v as f32)))
}

impl Pose {
    /// Blends by a method of interpolation.
    fn interpolated(&mut self, clip: f64, seconds: f64, t: f32, method: Method) -> Result<(), Fault> {
        self.sampled_other(clip, seconds)?;
        poses(None, &self.other, t, Selection::All, method, &mut self.joints)?;
        self.is_finished = false;
        Ok(())
    }

    /// Keeps the result of a solver, after which the model matrices are out of date.
    pub(crate) fn put_reached(&mut self, distance: f32, angle: f32, iterations: u32, met: bool) {
        self.is_finished = false;
        let numbers =
            [f64::from(distance), f64::from(angle), f64::from(iterations), f64::from(u8::from(met))];
        self.body.out.clear();
        self.body.out.extend(numbers);
    }

    /// Keeps the result of a limb, which is met within a ten-thousandth of the skeleton.
    pub(crate) fn put_limb(&mut self, it: Reached) {
        let reach = self.model.iter().flat_map(|it| it.rows.map(|row| row[3].abs())).fold(0.0, f32::max);
        self.put_reached(
            it.distance,
            it.angle,
            it.iterations,
            it.distance <= 1e-4 * reach && it.angle <= 1e-3,
        );
    }

    fn reached_goals(
        &mut self,
        numbers: &[f32],
        iterations: u32,
        shift: Option<u32>,
        ease: f32,
    ) -> Result<(), Fault> {
        let (numbers, rest) = numbers.as_chunks::<GOAL>();
        Error::check_len("numbers of goals", rest.len(), 0)?;
        let mut goals = Vec::with_capacity(numbers.len());
        for &[joint, kind, x, y, z, w, ox, oy, oz, weight] in numbers {
            let joint = self.character.check_joint(joint as usize)?;
            let (place, offset, orientation) = ([x, y, z], [ox, oy, oz], [x, y, z, w]);
            let kind = match kind {
                0.0 => GoalKind::Position { joint, offset, place },
                1.0 => GoalKind::Orientation { joint, orientation },
                _ => GoalKind::Pin { joint },
            };
            goals.push(Goal { kind, weight });
        }
        let shift = match shift {
            None => None,
            Some(joint) => Some((self.character.check_joint(joint as usize)?, ease)),
        };
        let options = BodyOptions { iterations, shift, ..BodyOptions::default() };
        let skeleton = &self.character.skeleton;
        let it = body(skeleton, &goals, &options, &mut self.body.buffer, &mut self.joints)?;
        self.put_reached(it.distance, it.angle, it.iterations, it.met);
        Ok(())
    }

    fn bent(&mut self, joints: &[u16], numbers: &[f32], weight: f32, soft: f32) -> Result<(), Fault> {
        self.finish()?;
        let joints = joints.try_into().map_err(|_| Error::Length {
            what: "joints",
            found: joints.len(),
            needed: 3,
        })?;
        let (goal, pole) = match numbers.len() {
            3 => (vectors::<1>("target", numbers)?[0], None),
            _ => {
                let [goal, pole] = vectors("target and pole", numbers)?;
                (goal, Some(pole))
            }
        };
        let limb = TwoBone { pole, weight, soft, ..TwoBone::new(joints, goal) };
        let it = two_bone(&self.character.skeleton, &self.model, &limb, &mut self.joints)?;
        self.put_limb(it);
        Ok(())
    }

    fn aimed(&mut self, joint: usize, numbers: &[f32], weight: f32) -> Result<(), Fault> {
        self.finish()?;
        let joint = self.character.check_joint(joint)?;
        let [axis, target] = vectors("axis and target", numbers)?;
        let it = Aim { weight, ..Aim::new(joint, axis, target) };
        let it = aim(&self.character.skeleton, &self.model, &it, &mut self.joints)?;
        self.put_limb(it);
        Ok(())
    }

    fn swung(&mut self, seconds: f32, force: &[f32], weight: f32, world: &[f64]) -> Result<(), Fault> {
        self.finish()?;
        let to_world = if world.is_empty() { Affine::IDENTITY } else { world_matrix(world)? };
        let [force] = vectors("force", force)?;
        let it = &*self.character;
        let asset = it.asset.borrow();
        let all = asset.as_ref().and_then(|asset| asset.springs.as_ref());
        if let (Some(all), Some(state)) = (all, &mut self.body.springs) {
            let tick = Tick { seconds, to_world, weight, force };
            springs(&it.skeleton, &self.model, all, &tick, state, &mut self.joints)?;
            self.is_finished = false;
        }
        Ok(())
    }
}
