use std::vec::Vec;

use super::*;
use crate::limits::{JointLimit, Limits, Swing};
use crate::maps::{above, length};
use crate::testing::{Case, Scales};
use condyle_base::math::Affine;
use condyle_base::math::quats::from_rotation_vector;
use condyle_testing::{Random, tries};

/// A search with a random goal, over hinges and other joints.
fn search<'s, 'n, 'a>(row: &'s mut Row<'n, 'a>, random: &mut Random) -> Search<'s, 'n, 'a, SHORT, 6> {
    row.aim_at(random.vector(1.0).map(f64::from));
    let orientation = product(from_rotation_vector(random.vector(0.1).map(f64::from)), row.turned());
    let mut search = Search {
        radius: 0.3,
        size: row.reach(),
        row,
        wanted: Some(Wanted { orientation, radius2: 0.09 }),
        turns: [Turn::NEW; SHORT],
        arms: [[0.0; 3]; SHORT],
        off: [0.0; 6],
        cost: 0.0,
        best: f64::INFINITY,
        rounds: 0,
    };
    for (turn, node) in search.turns.iter_mut().zip(&*search.row.nodes) {
        turn.set_hinge(node);
        turn.begin(node);
    }
    (search.off, search.cost) = search.measure();
    search
}

fn with_rows(seed: u64, run: impl Fn(&mut Row<'_, '_>, &mut Random, usize)) {
    let mut random = Random(seed);
    for try_ in 0..tries(200) {
        let scales = [Scales::None, Scales::Even, Scales::UnevenAbove, Scales::Uneven][try_ % 4];
        let case = Case::new(&mut random, 2 + try_ % 6, try_ % 2, scales);
        let joints = &case.joints[..case.joints.len() - 1];
        let limit = |(at, &joint): (usize, &u16)| {
            let swing = if at % 2 == try_ % 2 { Swing::Hinge } else { Swing::Cone(0.4) };
            let twist = Some([random.range(-0.5, -0.1), random.range(0.1, 0.5)]);
            (
                joint,
                JointLimit {
                    swing,
                    twist,
                    reference: case.pose.get(joint.into()).rotation,
                    ..JointLimit::free(random.unit())
                },
            )
        };
        let limits: Vec<_> = joints.iter().enumerate().map(limit).collect();
        let limits = Limits::new(&case.skeleton, limits).expect("limits");
        let model: &[Affine] = &case.model;
        let above = above(&case.skeleton, model, joints[0]).expect("an invertible matrix");
        let mut nodes = [super::super::Node::NEW; SHORT];
        let mut row = Row::new(
            &case.skeleton,
            &above,
            &case.pose,
            joints.iter().copied(),
            crate::chain::Tip { joint: case.tip(), offset: [0.1, 0.0, 0.05] },
            Some(&limits),
            &mut nodes[..joints.len()],
        )
        .expect("a row");
        row.clamp();
        run(&mut row, &mut random, try_);
    }
}

/// Compares the Jacobian with differences over 0.001 radians.
#[test]
fn the_slopes_are_those_of_differences() {
    with_rows(1, |row, random, try_| {
        let mut search = search(row, random);
        search.linearize();
        for at in 0..search.row.nodes.len() {
            let rotation = search.row.nodes[at].rotation;
            let axes: &[Vec64] = match search.row.nodes[at].hinge {
                Some(axis) => &[axis],
                None => &[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            };
            let all = *search.turns[at].moved();
            for (&axis, moved) in axes.iter().zip(all) {
                let mut places = [1e-3, -1e-3].map(|by| {
                    let turned = product(from_rotation_vector(scaled(axis, by)), rotation);
                    search.row.nodes[at].rotation = turned;
                    let (off, _) = search.measure();
                    let Some(wanted) = search.wanted else { return (off, NO_TURN) };
                    (off, product(search.row.turned(), conjugate(wanted.orientation)))
                });
                search.row.nodes[at].rotation = rotation;
                for c in 0..3 {
                    let want = (places[1].0[c] - places[0].0[c]) / 2e-3;
                    assert!((moved[c] - want).abs() < 1e-5, "{try_}, joint {at}: {moved:?} and {want}");
                }
                let [(_, to), (_, from)] = &mut places;
                let turned = rotation_vector(product(*to, conjugate(*from)));
                for c in 0..3 {
                    let want = turned[c] / 2e-3 * 0.3;
                    assert!((moved[3 + c] - want).abs() < 1e-5, "{try_}, joint {at}: {moved:?} and {want}");
                }
            }
        }
    });
}

/// Steps stay within limits. Small steps lower the cost, by the predicted amount if no limit blocks them.
#[test]
fn steps_keep_limits_and_promises() {
    with_rows(2, |row, random, try_| {
        let mut search = search(row, random);
        search.linearize();
        for damping in [100.0, 1.0, 0.01] {
            let predicted = search.step(damping).expect("a step");
            for (at, node) in search.row.nodes.iter().enumerate() {
                let over = node.limit.and_then(|limit| limit.clamp(node.rotation));
                let off = over.map_or(0.0, |nearest| crate::maps::angle(nearest, node.rotation));
                assert!(off < 1e-6, "{try_}, joint {at}: {off}");
            }
            let (_, cost) = search.measure();
            if damping == 100.0 {
                assert!(predicted >= 0.0 && cost <= search.cost, "{try_}: {predicted}");
                let turns = &search.turns[..search.row.nodes.len()];
                // Rotations are not linear: the deviation is of the order of the squared step and the squared
                // remaining angle.
                let steps: f64 = turns.iter().map(|turn| length(turn.step()).powi(2)).sum();
                let most = if turns.iter().all(Turn::is_free) {
                    20.0 * steps * (1.0 + search.cost) + 0.01 * predicted
                } else {
                    predicted
                };
                let off = (search.cost - cost - predicted).abs();
                assert!(off <= most, "{try_}: {off} of {predicted}, {steps}");
            }
        }
    });
}

#[test]
fn a_system_is_solved() {
    with_rows(3, |row, random, try_| {
        let mut search = search(row, random);
        search.linearize();
        let turns = &mut search.turns[..search.row.nodes.len()];
        turns.iter_mut().for_each(Turn::set_free);
        let damping = 0.1;
        let x = solve(turns, search.off, damping).expect("a solution");
        // Multiplies the matrix by the solution: each joint takes its step, and its movement is subtracted.
        let mut left = search.off;
        for turn in turns {
            turn.give_way(&x);
            turn.subtract_moved(&mut left);
        }
        for (left, x) in left.iter().zip(x) {
            assert!((left - damping * x).abs() < 1e-10 * (1.0 + x.abs()), "{try_}: {left} and {x}");
        }
    });
}

/// Joints without a blocked direction compensate for the blocked ones: their part of the step is optimal.
#[test]
fn others_make_up_for_what_limits_hold() {
    let (mut all, mut best) = (0, 0);
    let counts = core::cell::RefCell::new((&mut all, &mut best));
    with_rows(4, |row, random, _| {
        let mut search = search(row, random);
        search.linearize();
        let damping = 0.02;
        search.step(damping).expect("a step");
        let turns = &search.turns[..search.row.nodes.len()];
        if turns.iter().all(Turn::is_free) {
            return;
        }
        let mut left = search.off;
        turns.iter().for_each(|turn| turn.subtract_moved(&mut left));
        for (turn, node) in turns.iter().zip(&*search.row.nodes) {
            if turn.is_free() && node.hinge.is_some() {
                let moved = turn.moved()[0];
                let slope: f64 = moved.iter().zip(left).map(|(a, b)| a * b).sum();
                let (all, best) = &mut *counts.borrow_mut();
                **all += 1;
                **best += usize::from((slope - damping * turn.step()[0]).abs() < 1e-9);
            }
        }
    });
    assert!(cfg!(miri) || all > 20 && best * 100 >= 90 * all, "{best} of {all}");
}
