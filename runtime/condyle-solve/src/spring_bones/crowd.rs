//! Springs of many characters with the same skeleton, one character per lane.

use core::fmt;

use fearless_simd::prelude::*;

use super::data::Springs;
use super::gather::{self, get, set};
use super::lanes::{LANES, Lanes, Row, Side};
use super::state::{Schedule, SpringState, Time};
use super::step::{When, Work, show, step};
use super::{STEP, Tick, check, swing_alone};
use crate::maps::{Affine64, add};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::math::real::Real;
use condyle_base::simd::{has_lanes, in_lanes};

/// Scratch memory of [`crowd`]. It grows to the size of the springs on first use and is then reused. Each
/// thread needs a separate buffer.
#[derive(Clone, Default)]
pub struct CrowdBuffer(Work<Row>);

impl fmt::Debug for CrowdBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrowdBuffer").finish_non_exhaustive()
    }
}

/// Swings the joints of many characters with the same skeleton. The results are bit-identical to one call of
/// [`springs`](super::springs()) per character.
///
/// `models` holds the matrices of all instances in turn, one per joint. `states` and `poses` hold one element
/// per instance. `ticks` returns the tick of an instance by its index. It is called twice per instance,
/// because all ticks are checked first.
///
/// After the first call with these springs, a call with the same `buffer` does not allocate. To use threads,
/// split the crowd into parts of a multiple of four characters, with one buffer each.
///
/// # Errors
/// All errors of [`springs`](super::springs()). Also [`Error::Length`] if `states` and `poses` differ in
/// length, or if `models` does not hold one matrix per instance and joint. After an error all poses and
/// states are unchanged, provided that `ticks` returns the same values both times.
///
/// ```
/// use condyle::{Affine, Pose, example, local_to_model};
/// use condyle_solve::spring_bones::{self, CrowdBuffer, Spring, SpringJoint, SpringState, Springs, Tick};
///
/// // Horizontal tails with bones of 10 cm.
/// let skeleton = example::chain(["hips", "tail", "tip"], [0.1, 0.0, 0.0]);
/// let heavy = SpringJoint { gravity: [0.0, -1.0, 0.0], ..SpringJoint::new(1) };
/// let tails = Springs::new(&skeleton, &[Spring::new([heavy, SpringJoint::new(2)])], &[])?;
/// // Reused in every frame.
/// let mut buffer = CrowdBuffer::default();
/// let mut states = vec![SpringState::new(&tails); 5];
/// let mut poses = vec![Pose::rest(&skeleton); 5];
/// let mut models = vec![Affine::IDENTITY; 5 * skeleton.joint_count()];
/// for _frame in 0..10 {
///     for (pose, model) in poses.iter().zip(models.chunks_mut(skeleton.joint_count())) {
///         local_to_model(&skeleton, pose, model)?;
///     }
///     // The last character is in slow motion.
///     let ticks = |at: usize| Tick::new(if at == 4 { 0.002 } else { 0.02 });
///     spring_bones::crowd(&skeleton, &models, &tails, ticks, &mut buffer, &mut states, &mut poses)?;
/// }
/// assert_eq!(poses[0], poses[3]);
/// assert!(poses[4].get(1).rotation[2] > poses[0].get(1).rotation[2]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn crowd(
    skeleton: &Skeleton,
    models: &[Affine],
    springs: &Springs,
    ticks: impl Fn(usize) -> Tick,
    buffer: &mut CrowdBuffer,
    states: &mut [SpringState],
    poses: &mut [Pose],
) -> Result<(), Error> {
    let count = skeleton.joint_count();
    Error::check_len("states", states.len(), poses.len())?;
    Error::check_len("models", models.len(), count * poses.len())?;
    let model = |instance: usize| &models[instance * count..(instance + 1) * count];
    for (instance, (state, pose)) in states.iter().zip(poses.iter()).enumerate() {
        check(skeleton, model(instance), springs, &ticks(instance), state, pose)?;
    }
    let CrowdBuffer(work) = buffer;
    if !work.fits(springs) {
        work.resize(springs);
    }
    let groups = poses.chunks_mut(LANES).zip(states.chunks_mut(LANES));
    for (first, (poses, states)) in (0..).step_by(LANES).zip(groups) {
        if poses.len() == 1 || !has_lanes() {
            for (lane, (pose, state)) in poses.iter_mut().zip(states).enumerate() {
                let instance = first + lane;
                swing_alone(skeleton, model(instance), springs, &ticks(instance), state, pose);
            }
            continue;
        }
        let mut group = Group::default();
        for (lane, (pose, state)) in poses.iter().zip(&*states).enumerate() {
            let instance = first + lane;
            let character = Character { model: model(instance), tick: &ticks(instance), state, pose };
            group.enter(skeleton, springs, character, lane, work);
        }
        group.swing(springs, work);
        for (lane, (pose, state)) in poses.iter_mut().zip(states).enumerate() {
            group.leave(springs, work, lane, state, pose);
        }
    }
    Ok(())
}

/// One character of a crowd.
#[derive(Clone, Copy)]
struct Character<'a> {
    model: &'a [Affine],
    tick: &'a Tick,
    state: &'a SpringState,
    pose: &'a Pose,
}

/// A group of characters, one per lane.
#[derive(Default)]
struct Group {
    ticks: [Option<(Tick, Schedule, Affine64)>; LANES],
}

impl Group {
    /// Loads a character into its lane.
    fn enter(
        &mut self,
        skeleton: &Skeleton,
        springs: &Springs,
        character: Character<'_>,
        lane: usize,
        work: &mut Work<Row>,
    ) {
        let Character { model, tick, state, pose } = character;
        let to_world = (&tick.to_world).into();
        gather::gather(skeleton, springs, model, &to_world, pose, lane, work);
        let shift = state.shift(&to_world);
        let of_frames = [(&state.work.before, &mut work.before), (&state.work.centers, &mut work.centers)];
        for (from, to) in of_frames.into_iter().flat_map(|(from, to)| from.iter().zip(to)) {
            let [a, b, c, d, e, f, g, h, i, x, y, z] = *from;
            let [x, y, z] = add([x, y, z], shift);
            set(to, lane, [a, b, c, d, e, f, g, h, i, x, y, z]);
        }
        for (from, to) in state.work.tails.iter().zip(&mut work.tails) {
            set(&mut to.now, lane, add(from.now, shift));
            set(&mut to.before, lane, add(from.before, shift));
            set(&mut to.direction, lane, from.direction);
            set(&mut to.direction_before, lane, from.direction_before);
        }
        self.ticks[lane] = Some((*tick, Schedule::new(&state.time, tick.seconds), to_world));
    }

    /// Runs all steps of all lanes, and computes the output.
    ///
    /// Not generic, so that the kernel is compiled in this crate, once.
    fn swing(&self, springs: &Springs, work: &mut Work<Row>) {
        in_lanes!(|s| self.run(s, springs, work));
    }

    /// Kernel of [`swing`](Self::swing).
    #[inline(always)]
    fn run<S: Simd>(&self, s: S, springs: &Springs, work: &mut Work<Row>) {
        let mut late = Row::default();
        let mut rounds = 0;
        for lane in 0..LANES {
            let Some((_, schedule, _)) = &self.ticks[lane] else { continue };
            late.0[lane] = schedule.late / STEP;
            rounds = schedule.count.max(rounds);
        }
        for round in 0..rounds {
            let mut when = Rows::default();
            for lane in 0..LANES {
                let Some((tick, schedule, _)) = &self.ticks[lane] else { continue };
                // The steps are aligned at the end, so that all lanes finish in the same round.
                let Some(at) = (round + schedule.count).checked_sub(rounds) else { continue };
                when.factor.0[lane] = schedule.factor(at);
                when.takes.0[lane] = 1.0;
                when.rests.0[lane] = if schedule.rests && at == 0 { 1.0 } else { 0.0 };
                set(&mut when.force, lane, gather::force(tick));
            }
            when.step(s, springs, work);
        }
        show(Side(s), springs, work, Side(s).load(&late));
    }

    /// Stores the state and pose of the character in a lane.
    fn leave(
        &self,
        springs: &Springs,
        work: &Work<Row>,
        lane: usize,
        state: &mut SpringState,
        pose: &mut Pose,
    ) {
        let Some((tick, schedule, to_world)) = &self.ticks[lane] else { return };
        gather::scatter(springs, work, lane, tick.weight, pose);
        let of_frames = [(&mut state.work.before, &work.now), (&mut state.work.centers, &work.centers)];
        for (to, from) in of_frames.into_iter().flat_map(|(to, from)| to.iter_mut().zip(from)) {
            *to = get(from, lane);
        }
        for (to, from) in state.work.tails.iter_mut().zip(&work.tails) {
            to.now = get(&from.now, lane);
            to.before = get(&from.before, lane);
            to.direction = get(&from.direction, lane);
            to.direction_before = get(&from.direction_before, lane);
        }
        state.time = Time { started: true, late: schedule.late, to_world: *to_world };
    }
}

/// [`When`] in memory, with masks as 0 or 1.
#[derive(Default)]
struct Rows {
    factor: Row,
    takes: Row,
    rests: Row,
    force: [Row; 3],
}

impl Rows {
    #[inline(always)]
    fn step<S: Simd>(&self, s: S, springs: &Springs, work: &mut Work<Row>) {
        let l = Side(s);
        let zero = l.splat(0.0);
        let when = When {
            factor: l.load(&self.factor),
            takes: zero.is_below(l.load(&self.takes)),
            rests: zero.is_below(l.load(&self.rests)),
            force: l.load_all(&self.force),
        };
        step(l, springs, work, &when);
    }
}
