//! Springs of a crowd: results match stepping each character alone, steps do not allocate, and an error
//! changes nothing.

use condyle::{Affine, Error, Joint, Pose, Skeleton, Transform, local_to_model};
use condyle_solve::spring_bones::{self, CrowdBuffer, Spring, SpringJoint, SpringState, Springs, Tick};

/// A head with two braids.
struct Character {
    skeleton: Skeleton,
    springs: Springs,
    model: Vec<Affine>,
}

impl Character {
    fn new() -> Self {
        let at = |x, y| Transform { translation: [x, y, 0.0], ..Transform::IDENTITY };
        let mut joints = vec![Joint::new("head", None, at(0.0, 1.6))];
        for x in [-0.1, 0.1] {
            let first = joints.len() as u16;
            joints.push(Joint::new("braid", Some(0), at(x, 0.0)));
            joints.extend((0..3).map(|bone| Joint::new("braid", Some(first + bone), at(0.0, -0.1))));
        }
        let skeleton = Skeleton::new(joints).expect("parents before children");
        let list = [1, 5].map(|first| Spring::new((first..first + 4).map(SpringJoint::new)));
        let springs = Springs::new(&skeleton, &list, &[]).expect("valid springs");
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(&skeleton, skeleton.rest(), &mut model).expect("sizes agree");
        Self { skeleton, springs, model }
    }
}

/// Every third instance has another frame rate; all of them move.
fn tick(instance: usize, frame: usize) -> Tick {
    let mut to_world = Affine::IDENTITY;
    to_world.rows[0][3] = (instance * frame % 7) as f32 * 0.1;
    Tick { to_world, ..Tick::new(if instance.is_multiple_of(3) { 0.01 } else { 0.02 }) }
}

struct Crowd<'a> {
    character: &'a Character,
    models: Vec<Affine>,
    states: Vec<SpringState>,
    poses: Vec<Pose>,
    buffer: CrowdBuffer,
}

impl<'a> Crowd<'a> {
    fn new(character: &'a Character, count: usize) -> Self {
        Self {
            character,
            models: character.model.repeat(count),
            states: vec![SpringState::new(&character.springs); count],
            poses: vec![Pose::rest(&character.skeleton); count],
            buffer: CrowdBuffer::default(),
        }
    }

    fn swing(&mut self, ticks: impl Fn(usize) -> Tick) -> Result<(), Error> {
        let Self { character: Character { skeleton, springs, .. }, models, states, poses, buffer } = self;
        spring_bones::crowd(skeleton, models, springs, ticks, buffer, states, poses)
    }

    fn swing_one_by_one(&mut self, frame: usize) {
        let Character { skeleton, springs, model } = self.character;
        for (at, (state, pose)) in self.states.iter_mut().zip(&mut self.poses).enumerate() {
            spring_bones::springs(skeleton, model, springs, &tick(at, frame), state, pose)
                .expect("sizes agree");
        }
    }
}

#[test]
fn a_crowd_is_as_each_alone() {
    let character = Character::new();
    let [mut crowd, mut single] = [(); 2].map(|()| Crowd::new(&character, 50));
    for frame in 0..10 {
        crowd.swing(|at| tick(at, frame)).expect("sizes agree");
        single.swing_one_by_one(frame);
        assert!(crowd.poses == single.poses, "frame {frame}");
    }
}

#[test]
fn nothing_is_allocated_after_the_first_frame() {
    let character = Character::new();
    let mut crowd = Crowd::new(&character, 30);
    let first = allocation_counter::measure(|| crowd.swing(|at| tick(at, 0)).expect("sizes agree"));
    let later = allocation_counter::measure(|| {
        for frame in 1..4 {
            crowd.swing(|at| tick(at, frame)).expect("sizes agree");
            crowd.swing_one_by_one(frame);
        }
    });
    assert!(first.count_total > 0, "the allocation counter is active");
    assert_eq!(later.count_total, 0, "{later:?}");
}

#[test]
fn nobody_swings_if_one_is_refused() {
    let character = Character::new();
    let [mut crowd, mut untouched] = [(); 2].map(|()| Crowd::new(&character, 9));
    let wrong = |at: usize| if at == 7 { Tick::new(f32::NAN) } else { tick(at, 1) };
    crowd.swing(|at| tick(at, 0)).expect("sizes agree");
    untouched.swing_one_by_one(0);
    assert_eq!(crowd.swing(wrong), Err(Error::NotFinite { what: "seconds", at: 0 }));
    assert_eq!(crowd.poses, untouched.poses);
    for frame in 1..5 {
        crowd.swing(|at| tick(at, frame)).expect("sizes agree");
        untouched.swing_one_by_one(frame);
    }
    assert_eq!(crowd.poses, untouched.poses);
}
