//! Nlerp and slerp as the step of an iterative solver: rounds of cyclic coordinate descent.

use condyle_testing::reference::{cyclic_descent, nlerp, quat_product, rotate, slerp};
use serde_json::{Value, json};

use super::blow::{Between, Rotation};
use super::page;
use condyle_bench::aligned;

const BONES: usize = 6;
const GOALS: usize = 200;
/// Maximum number of rounds. A search that does not converge counts as this many.
const ROUNDS: u32 = 1000;
const IDENTITY: Rotation = [0.0, 0.0, 0.0, 1.0];
/// Residuals in lengths of the chain.
pub(super) const RESIDUALS: [(&str, f64); 3] = [("1e-2", 1e-2), ("1e-4", 1e-4), ("1e-6", 1e-6)];
pub(super) const METHODS: [(&str, Between); 2] = [("nlerp", nlerp), ("slerp", slerp)];

/// Chain of bones, and a goal that some pose of it reaches.
struct Case {
    rotations: [Rotation; BONES],
    goal: [f64; 3],
}

/// Mean rounds for one step size, by residual and method.
pub(super) struct Row {
    pub(super) step: f64,
    pub(super) rounds: [[f64; 2]; 3],
}

/// Mean rounds for each step size: the fraction of its best rotation that a joint makes per round.
pub(super) struct Descent(pub(super) Vec<Row>);

impl Descent {
    pub(super) fn measure() -> Self {
        let cases = cases();
        let row = |step: u32| {
            let step = f64::from(step) / 10.0;
            let [by_nlerp, by_slerp] = METHODS.map(|(_, between)| mean_rounds(&cases, between, step));
            Row { step, rounds: [0, 1, 2].map(|k| [by_nlerp[k], by_slerp[k]]) }
        };
        Self((2..=10).map(row).collect())
    }

    fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        let head = |(residual, _)| METHODS.map(|(name, _)| format!("{name} to {residual}"));
        let head = std::iter::once("step".to_owned()).chain(RESIDUALS.map(head).into_iter().flatten());
        let row = |row: &Row| {
            let rounds = row.rounds.as_flattened().iter().map(|rounds| format!("{rounds:.1}"));
            std::iter::once(format!("{:.1}", row.step)).chain(rounds).collect()
        };
        std::iter::once(head.collect()).chain(self.0.iter().map(row))
    }

    pub(super) fn markdown(&self) -> String {
        let apart = |[by_nlerp, by_slerp]: &[f64; 2]| (by_nlerp / by_slerp - 1.0).abs();
        let most = self.0.iter().flat_map(|row| &row.rounds).map(apart).fold(0.0, f64::max);
        let body = format!(
            "{}\nMean rounds of nlerp and of slerp differ by at most {:.1} %.\n",
            page::table(">>>>>>>", self.rows()),
            100.0 * most
        );
        page::block("blow-rounds", &body)
    }

    pub(super) fn text(&self) -> String {
        format!(
            "Nlerp and slerp as the step of cyclic descent\n\
             Rounds until the end of {BONES} bones is within a distance of the goal, in chain lengths: mean of {GOALS} goals\n{}",
            aligned(">>>>>>>", self.rows())
        )
    }

    pub(super) fn json(&self) -> Value {
        let row = |row: &Row| {
            let residuals = RESIDUALS.iter().zip(row.rounds).map(|((_, residual), [by_nlerp, by_slerp])| {
                json!({ "residual": residual, "nlerp_rounds": by_nlerp, "slerp_rounds": by_slerp })
            });
            json!({ "step": row.step, "residuals": residuals.collect::<Vec<_>>() })
        };
        json!({ "bones": BONES, "goals": GOALS, "steps": self.0.iter().map(row).collect::<Vec<_>>() })
    }
}

fn bones() -> [[f64; 3]; BONES] {
    [[0.0, 0.0, 1.0 / BONES as f64]; BONES]
}

fn mean_rounds(cases: &[Case], between: Between, step: f64) -> [f64; 3] {
    let mut sums = [0; 3];
    for case in cases {
        for (sum, rounds) in sums.iter_mut().zip(rounds(case, between, step)) {
            *sum += rounds;
        }
    }
    sums.map(|sum| f64::from(sum) / cases.len() as f64)
}

/// Rounds until each residual.
fn rounds(case: &Case, between: Between, step: f64) -> [u32; 3] {
    let (bones, mut rotations) = (bones(), case.rotations);
    let mut found = [ROUNDS; 3];
    for round in 1..ROUNDS {
        let off = cyclic_descent(&bones, &mut rotations, case.goal, |turn| between(IDENTITY, turn, step));
        for (found, (_, residual)) in found.iter_mut().zip(RESIDUALS) {
            if off <= residual {
                *found = round.min(*found);
            }
        }
        if found[2] < ROUNDS {
            break;
        }
    }
    found
}

/// Random poses and goals, the same in every run.
fn cases() -> Vec<Case> {
    let mut state = 14_u64;
    // SplitMix64.
    let mut random = move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut rotation = move || loop {
        let q: Rotation = std::array::from_fn(|_| 2.0 * random() - 1.0);
        let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
        if (0.1..1.0).contains(&length) {
            return q.map(|v| v / length);
        }
    };
    let mut case = || {
        let rotations = std::array::from_fn(|_| rotation());
        let (mut turned, mut goal) = (IDENTITY, [0.0; 3]);
        for bone in bones() {
            turned = quat_product(turned, rotation());
            let way = rotate(turned, bone);
            goal = std::array::from_fn(|c| goal[c] + way[c]);
        }
        Case { rotations, goal }
    };
    (0..GOALS).map(|_| case()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model};
    use condyle_solve::{Chain, ChainMethod, Limits, chain};

    #[test]
    fn nlerp_takes_as_many_rounds_as_slerp() {
        for Row { step, rounds } in Descent::measure().0 {
            for [by_nlerp, by_slerp] in rounds {
                assert!((by_nlerp / by_slerp - 1.0).abs() < 0.02, "{step}: {by_nlerp} and {by_slerp}");
                assert!(by_slerp < 0.2 * f64::from(ROUNDS), "{step}: {by_slerp}");
            }
        }
    }

    /// The plotted number of rounds also holds for the library.
    #[test]
    fn the_librarys_rounds_are_these() {
        let along = |z: f64| Transform { translation: [0.0, 0.0, z as f32], ..Transform::IDENTITY };
        let lengths = std::iter::once(0.0).chain([1.0 / BONES as f64; BONES]);
        let joints = (0..).zip(lengths).map(|(at, z)| Joint::new("bone", u16::checked_sub(at, 1), along(z)));
        let skeleton = Skeleton::new(joints).expect("a chain");
        let turning: Vec<u16> = (0..BONES as u16).collect();
        // Limits are set because without them the solver may straighten the chain in one step.
        let limits =
            Limits::new(&skeleton, [(0, condyle_solve::JointLimit::free([0.0, 0.0, 1.0]))]).expect("none");
        let cases = cases();
        for step in [0.4, 1.0] {
            let (mut library, mut here) = (0, 0);
            for case in &cases {
                let mut pose = Pose::rest(&skeleton);
                for (joint, rotation) in case.rotations.iter().enumerate() {
                    pose.set(joint, &Transform { rotation: rotation.map(|v| v as f32), ..pose.get(joint) });
                }
                let mut model = vec![Affine::IDENTITY; BONES + 1];
                local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
                let asked = Chain {
                    method: ChainMethod::CyclicDescent { step },
                    iterations: ROUNDS as u16,
                    limits: Some(&limits),
                    ..Chain::new(&turning, BONES as u16, case.goal.map(|v| v as f32))
                };
                library += chain(&skeleton, &model, &asked, &mut pose).expect("a chain").iterations;
                here += rounds(case, nlerp, f64::from(step))[1];
            }
            let ratio = f64::from(library) / f64::from(here);
            assert!((ratio - 1.0).abs() < 0.01, "{step}: {library} and {here}");
        }
    }
}
