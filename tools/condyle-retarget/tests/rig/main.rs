//! Finds the humanoid in made bodies: the names of each convention, any stance, axes, units and front.

mod hostile;
#[path = "../made/mod.rs"]
mod made;

use std::f64::consts::FRAC_PI_2;

use condyle::{Joint, Pose, Skeleton, Transform};
use condyle_base::math::quats::{conjugate, product, renormalized};
use condyle_base::math::vectors::{length, scaled};
use condyle_retarget::rig::{Found, Hints, Role, find};
use condyle_testing::Random;
use made::{Bone, Convention, Stance, conventions};

const STANDING: Stance = Stance { arms: 0.0, turn: [0.0; 3], units: 1.0, axes: false };

/// Returns the roles that a result has otherwise than it should, with both joints.
fn wrong(
    made: &Convention,
    skeleton: &Skeleton,
    joints: &[u16],
    found: &Found,
    only: fn(Role) -> bool,
) -> String {
    let mut wrong = String::new();
    for role in Role::ALL.into_iter().filter(|role| only(*role)) {
        let wanted = made.bones.iter().position(|bone| bone.role == Some(role)).map(|at| joints[at]);
        let has = found.humanoid.joint(role);
        if has != wanted {
            let name = |joint: Option<u16>| joint.map(|joint| &skeleton.names()[usize::from(joint)]);
            wrong += &format!("{role}: {:?} instead of {:?}; ", name(has), name(wanted));
        }
    }
    wrong
}

/// Returns the lists of a result with wrong joints: spine, neck, twists, palms.
fn lists(made: &Convention, joints: &[u16], found: &Found) -> String {
    let map = &found.humanoid;
    let sorted = |mut all: Vec<u16>| {
        all.sort_unstable();
        all
    };
    let with = |is: &dyn Fn(&Bone) -> bool| {
        let all = made.bones.iter().zip(joints).filter(|(bone, _)| is(bone));
        sorted(all.map(|(_, joint)| *joint).collect())
    };
    let mut wrong = String::new();
    let mut check = |what: &str, found: Vec<u16>, wanted: Vec<u16>| {
        if sorted(found.clone()) != wanted {
            wrong += &format!("{what}: {found:?} instead of {wanted:?}; ");
        }
    };
    check("twists", map.twists().iter().map(|it| it.joint).collect(), with(&|bone| bone.twist.is_some()));
    check("palms", map.metacarpals().iter().map(|it| it.joint).collect(), with(&|bone| bone.palm));
    let middle = |low: f64, high: f64| {
        with(&|bone| {
            let [x, y, z] = bone.at;
            x == 0.0 && z == 0.0 && (low..high).contains(&y)
        })
    };
    check("spine", map.spine().to_vec(), middle(0.96, 1.46));
    check("neck", map.neck().to_vec(), middle(1.46, 1.58));
    for twist in map.twists() {
        let at = joints.iter().position(|joint| *joint == twist.joint);
        if at.and_then(|at| made.bones[at].twist) != Some(twist.of) {
            wrong += &format!("the twist {} is not of {}; ", twist.joint, twist.of);
        }
    }
    wrong
}

#[test]
fn every_convention_is_read_in_any_stance() {
    let mut random = Random(101);
    let stances = [
        STANDING,
        Stance { arms: 0.8, ..STANDING },
        Stance { arms: 1.4, turn: [0.0, FRAC_PI_2, 0.0], ..STANDING },
        // Z is up, and the character faces -Y, in centimetres.
        Stance { arms: 0.8, turn: [FRAC_PI_2, 0.0, 0.0], units: 100.0, axes: false },
        Stance { arms: 0.3, turn: [0.0, 3.1, 0.0], axes: true, ..STANDING },
        Stance { arms: 1.2, turn: [0.4, 2.0, -1.1], units: 0.01, axes: true },
    ];
    let mut all = Vec::new();
    for made in conventions() {
        for stance in stances {
            let (skeleton, joints) = made.skeleton(stance, &mut random);
            let found = find(&skeleton, &Hints::default());
            match found {
                Err(error) => all.push(format!("{}, {stance:?}: {error}", made.name)),
                Ok(found) => {
                    let wrong =
                        wrong(&made, &skeleton, &joints, &found, |_| true) + &lists(&made, &joints, &found);
                    if !wrong.is_empty() || !found.doubts.is_empty() {
                        all.push(format!("{}, {stance:?}: {wrong} {:?}", made.name, found.doubts));
                    }
                }
            }
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

fn renamed(skeleton: &Skeleton, rename: impl Fn(usize, &str) -> String) -> Skeleton {
    let joint = |at: usize| Joint {
        name: rename(at, &skeleton.names()[at]),
        parent: skeleton.parent(at as u16),
        node: None,
        rest: skeleton.rest().get(at),
    };
    Skeleton::new((0..skeleton.joint_count()).map(joint)).expect("the same joints")
}

#[test]
fn limbs_are_found_without_names() {
    let mut random = Random(102);
    let mut all = Vec::new();
    for made in conventions() {
        // The tips of helpers are no part of a body with names that mean nothing, nor are bones in pieces.
        let pieces = made.bones.iter().any(|bone| bone.name.contains("001") || bone.name.contains("02."));
        if !made.has_toes() || pieces {
            continue;
        }
        let stance = Stance { arms: 0.6, turn: [0.0, 2.5, 0.0], axes: true, ..STANDING };
        let (skeleton, joints) = made.skeleton(stance, &mut random);
        let skeleton = renamed(&skeleton, |at, _| format!("joint_{at}"));
        let found = find(&skeleton, &Hints::default());
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                all.push(format!("{}: {error}", made.name));
                continue;
            }
        };
        let limbs = |role: Role| role.is_required() && role.side().is_some();
        let wrong = wrong(&made, &skeleton, &joints, &found, limbs);
        if !wrong.is_empty() {
            all.push(format!("{}: {wrong}", made.name));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn names_with_the_wrong_side_are_doubted_and_not_believed() {
    let mut random = Random(103);
    let mut all = Vec::new();
    for made in conventions().into_iter().filter(Convention::has_toes) {
        let mut other = made.clone();
        for bone in &mut other.bones {
            let mirror = bone.role.filter(|role| role.side().is_some()).map(Role::mirrored);
            let twin = made.bones.iter().find(|twin| mirror.is_some() && twin.role == mirror);
            if let Some(twin) = twin {
                bone.name.clone_from(&twin.name);
            }
        }
        let (skeleton, joints) = other.skeleton(Stance { arms: 0.6, axes: true, ..STANDING }, &mut random);
        let found = find(&skeleton, &Hints::default());
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                all.push(format!("{}: {error}", made.name));
                continue;
            }
        };
        let wrong = wrong(&other, &skeleton, &joints, &found, |role| role.is_required());
        if !wrong.is_empty() {
            all.push(format!("{}: {wrong}", made.name));
        }
        let doubted = |role: Role| found.doubts.iter().any(|doubt| doubt.role == role);
        assert!(doubted(Role::LeftUpperArm) && doubted(Role::RightFoot), "{}: {:?}", made.name, found.doubts);
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn helpers_are_not_taken_for_limbs() {
    let helpers =
        ["hair_01", "Sword", "IK_target", "cape.L", "skirt_R_02", "weapon_socket", "x9", "ctrl_foot.L"];
    let mut random = Random(104);
    let mut all = Vec::new();
    for made in conventions() {
        let (skeleton, joints) = made.skeleton(Stance { axes: true, ..STANDING }, &mut random);
        let mut bones: Vec<Joint> = (0..skeleton.joint_count())
            .map(|at| Joint {
                name: skeleton.names()[at].clone(),
                parent: skeleton.parent(at as u16),
                node: None,
                rest: skeleton.rest().get(at),
            })
            .collect();
        for helper in 0..24 {
            // Some helpers are below others, as hair is.
            let parent = if helper % 3 == 0 { random.below(skeleton.joint_count()) } else { bones.len() - 1 };
            let translation = random.vector(made.longest() as f32 * 0.5);
            let rest = Transform { translation, ..Transform::IDENTITY };
            let name = helpers[random.below(helpers.len())];
            bones.push(Joint::new(name, Some(parent as u16), rest));
        }
        let skeleton = Skeleton::new(bones).expect("a skeleton");
        let found = find(&skeleton, &Hints::default());
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                all.push(format!("{}: {error}", made.name));
                continue;
            }
        };
        let wrong = wrong(&made, &skeleton, &joints, &found, |role| role.is_required());
        if !wrong.is_empty() {
            all.push(format!("{}: {wrong}", made.name));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn corrections_decide() {
    let made = conventions().remove(0);
    let (skeleton, joints) = made.skeleton(STANDING, &mut Random(105));
    let joint =
        |role: Role| joints[made.bones.iter().position(|bone| bone.role == Some(role)).expect("a role")];
    let given = vec![
        (Role::LeftHand, Some(joint(Role::LeftLowerArm))),
        (Role::LeftLowerArm, Some(joint(Role::LeftUpperArm))),
        (Role::LeftUpperArm, Some(joint(Role::LeftShoulder))),
        (Role::LeftToes, None),
    ];
    let found = find(&skeleton, &Hints { given: given.clone(), ..Hints::default() }).expect("a humanoid");
    for (role, joint) in given {
        assert_eq!(found.humanoid.joint(role), joint, "{role}");
    }
    assert_eq!(found.humanoid.joint(Role::RightToes), Some(joint(Role::RightToes)));
    let left_out = Hints { given: vec![(Role::Head, None)], ..Hints::default() };
    assert_eq!(find(&skeleton, &left_out).expect_err("a head is required").missing, [Role::Head]);
}

#[test]
fn a_body_on_four_legs_is_refused() {
    let made = conventions().remove(0);
    let mut animal = made.clone();
    for bone in &mut animal.bones {
        // The body above the hips turns forward; arms hang down from it.
        if bone.at[1] > 0.96 && !bone.name.contains("Leg") {
            let [x, y, z] = bone.at;
            let above = y - 0.95;
            bone.at = if x.abs() > 0.1 {
                [x.signum() * 0.15, 0.95 - (x.abs() - 0.15), above]
            } else {
                [x, 0.95 + z, above]
            };
        }
    }
    let (skeleton, _) = animal.skeleton(STANDING, &mut Random(106));
    let error = find(&skeleton, &Hints::default()).expect_err("an animal");
    assert!(error.to_string().contains("four legs"), "{error}");
}

/// Returns a pose in which every bone points up, as the rest poses of some motion capture do.
fn pole(skeleton: &Skeleton) -> Pose {
    let mut pose = skeleton.rest().clone();
    let mut model = Vec::new();
    for joint in 0..skeleton.joint_count() {
        let above = skeleton.parent(joint as u16).map_or([0.0, 0.0, 0.0, 1.0], |it| model[usize::from(it)]);
        let child =
            (joint + 1..skeleton.joint_count()).find(|&it| skeleton.parent(it as u16) == Some(joint as u16));
        let to = child.map_or([0.0, 1.0, 0.0], |child| skeleton.rest().get(child).translation.map(f64::from));
        let size = length(to);
        let turn = if size > 0.0 { between(scaled(to, 1.0 / size)) } else { [0.0, 0.0, 0.0, 1.0] };
        let mut local = pose.get(joint);
        local.rotation = product(conjugate(above), turn).map(|v| v as f32);
        pose.set(joint, &local);
        model.push(turn);
    }
    pose
}

/// Returns the shortest rotation from a unit vector to +Y.
fn between([x, y, z]: [f64; 3]) -> [f64; 4] {
    // The half-way vector, or any axis across for the opposite direction.
    if y < -0.999_999 { [1.0, 0.0, 0.0, 0.0] } else { renormalized([-z, 0.0, x, 1.0 + y]) }
}

#[test]
fn a_rest_pose_without_a_shape_needs_a_frame() {
    let made = conventions().remove(0);
    let (whole, joints) = made.skeleton(STANDING, &mut Random(107));
    let shapeless = whole.with_rest(&pole(&whole)).expect("the same joints");
    let look = |pose| find(&shapeless, &Hints { pose, ..Hints::default() });
    let blind = look(None).expect("names decide");
    assert!(!blind.has_stance && !blind.is_posed, "{:?}", blind.doubts);
    let found = look(Some(whole.rest())).expect("a humanoid");
    assert!(found.has_stance && found.is_posed && found.doubts.is_empty(), "{:?}", found.doubts);
    assert_eq!(wrong(&made, &shapeless, &joints, &found, |_| true), "");
    // A rest pose with a shape is enough, and a pose of another body is an error.
    let own = find(&whole, &Hints { pose: Some(shapeless.rest()), ..Hints::default() }).expect("a humanoid");
    assert!(own.has_stance && !own.is_posed);
    assert!(look(Some(&Pose::identity(3))).is_err());
}
