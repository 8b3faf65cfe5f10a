//! Properties that all solvers share.

use super::full_body::{BodyBuffer, BodyOptions, Goal, body};
use super::testing::{Case, Scales};
use super::*;
use condyle::Pose;
use condyle_testing::Random;

/// Finite goals at or beyond the range of f32: the solver returns an error that names the goal, or the
/// correct distance. After an error the pose is unchanged.
#[test]
fn goals_at_the_end_of_all_numbers_are_reached_for_or_refused() {
    let case = Case::new(&mut Random(1), 2, 0, Scales::None);
    let joints: [u16; 3] = case.joints[..].try_into().expect("two bones");
    let tip = joints[2];
    let examples = Examples::new(&case.skeleton, &[&case.pose, &case.pose], &[tip]).expect("examples");
    for goal in [[3e38, 0.0, 0.0], [-3e38, 3e38, 3e38], [f32::MAX; 3], [0.0, 9e37, 0.0], [0.0, -1e30, 1e30]] {
        let far = goal.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
        let judge = |name: &str, (reached, pose): (Result<f32, condyle::Error>, &Pose)| match reached {
            Ok(distance) => {
                assert!((f64::from(distance) - far).abs() <= 1e-6 * far, "{name} {goal:?}: {distance}");
            }
            Err(error) => {
                assert!(far > 9.9e37, "{name} {goal:?}: {error}");
                let condyle::Error::OutOfRange { what, .. } = error else {
                    panic!("{name} {goal:?}: {error}")
                };
                assert!(["goal", "goals", "points", "target"].contains(&what), "{name} {goal:?}: {error}");
                assert_eq!(*pose, case.pose, "{name}");
            }
        };
        let check = |name: &str, solve: &dyn Fn(&mut Pose) -> Result<f32, condyle::Error>| {
            let mut pose = case.pose.clone();
            let reached = solve(&mut pose);
            judge(name, (reached, &pose));
        };
        let (skeleton, model) = (&case.skeleton, &case.model[..]);
        for weight in [1.0, 0.5] {
            for pole in [None, Some([0.0, 0.0, 1.0])] {
                let reach = TwoBone { weight, pole, ..TwoBone::new(joints, goal) };
                check("two_bone", &|pose| Ok(two_bone(skeleton, model, &reach, pose)?.distance));
            }
            for method in [
                ChainMethod::LeastSquares { restarts: 1 },
                ChainMethod::CyclicDescent { step: 1.0 },
                ChainMethod::Fabrik,
            ] {
                let asked = Chain { method, weight, ..Chain::new(&joints[..2], tip, goal) };
                check("chain", &|pose| Ok(chain(skeleton, model, &asked, pose)?.distance));
            }
            let curve = [[0.1, 0.2, 0.3], goal];
            let along = Spline { weight, ..Spline::new(&joints[..2], tip, &curve) };
            check("spline", &|pose| Ok(spline(skeleton, model, &along, pose)?.distance));
        }
        let goals = [Goal::position(tip, goal)];
        let options = BodyOptions::default();
        check("body", &|pose| {
            Ok(body(skeleton, &goals, &options, &mut BodyBuffer::default(), pose)?.distance)
        });
        let masses = [(joints[1], 1.0), (tip, 1.0)];
        let goals = [Goal::mass(&masses, goal), Goal { weight: 0.0, ..Goal::position(tip, goal) }];
        check("mass", &|pose| {
            Ok(body(skeleton, &goals, &options, &mut BodyBuffer::default(), pose)?.distance)
        });
        let goals = [ExampleGoal { joint: tip, offset: [0.0; 3], position: goal, weight: 1.0 }];
        check("example", &|_| Ok(example(&examples, &goals, &mut [0.0; 2])?.distance));
        // An aim returns a finite distance or an error.
        for weight in [1.0, 0.5] {
            let at = Aim { weight, ..Aim::new(joints[1], [0.0, 0.0, 1.0], goal) };
            let mut pose = case.pose.clone();
            match aim(skeleton, model, &at, &mut pose) {
                Ok(reached) => assert!(reached.distance.is_finite(), "{goal:?}: {reached:?}"),
                Err(error) => {
                    assert!(matches!(error, condyle::Error::OutOfRange { what: "target", .. }), "{error}");
                }
            }
        }
    }
}
