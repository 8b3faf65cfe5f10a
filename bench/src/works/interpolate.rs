//! Interpolation between two lists of joints.

use std::rc::Rc;

use condyle::{Transform, reference};

use super::{JOINTS, MANY, case, largest, worst};
use crate::data::Random;
use crate::harness::{Case, Subjects};
use crate::peers::{self, Interpolate};

const FACTOR: f32 = 0.3;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for work in ["slerp_joints", "nlerp_joints"] {
        for (layout, bytes) in [("blocks", 3 * 40), ("structs", 3 * 32)] {
            for n in [JOINTS, 1024, MANY] {
                let build = move |subjects: &mut Subjects| build(subjects, n, layout, work == "slerp_joints");
                cases.push(case(work, layout, n, bytes, build));
            }
        }
    }
    cases
}

fn build(subjects: &mut Subjects, n: usize, layout: &str, slerp: bool) {
    let (from, to) = Random(6).pairs(n);
    let want = Rc::new(want(&from, &to, slerp));
    let data = Data { from, to, want, slerp };
    match layout {
        "blocks" => {
            data.peer::<peers::plain::Block>(subjects);
            #[cfg(feature = "peers")]
            data.peer::<peers::wide::Block>(subjects);
        }
        _ => {
            data.peer::<peers::plain::Joint>(subjects);
            #[cfg(feature = "peers")]
            data.peer::<peers::wide::Structs>(subjects);
        }
    }
    #[cfg(feature = "peers")]
    {
        data.peer::<peers::glam::Joint>(subjects);
        data.peer::<peers::ultraviolet::Joint>(subjects);
        data.peer::<peers::nalgebra::Joint>(subjects);
        data.peer::<peers::cgmath::Joint>(subjects);
    }
}

/// Rotation and translation.
type Want = Vec<([f64; 4], [f64; 3])>;

fn want(from: &[Transform], to: &[Transform], slerp: bool) -> Want {
    let t = f64::from(FACTOR);
    let one = |(from, to): (&Transform, &Transform)| {
        let (a, b) = (from.rotation.map(f64::from), to.rotation.map(f64::from));
        let rotation = match slerp {
            true => reference::slerp(a, b, t),
            false => {
                let sum: [f64; 4] = std::array::from_fn(|c| a[c] + (b[c] - a[c]) * t);
                let length = sum.iter().map(|v| v * v).sum::<f64>().sqrt();
                sum.map(|v| v / length)
            }
        };
        let [a, b] = [from, to].map(|joint| joint.translation.map(f64::from));
        (rotation, std::array::from_fn(|c| a[c] + (b[c] - a[c]) * t))
    };
    from.iter().zip(to).map(one).collect()
}

fn error(got: impl Iterator<Item = Transform>, want: &Want) -> f64 {
    largest(got.zip(want).map(|(got, (rotation, translation))| {
        worst(got.rotation.iter().zip(*rotation)).max(worst(got.translation.iter().zip(*translation)))
    }))
}

struct Data {
    from: Vec<Transform>,
    to: Vec<Transform>,
    want: Rc<Want>,
    slerp: bool,
}

impl Data {
    fn peer<J: Interpolate>(&self, subjects: &mut Subjects) {
        let (from, to): (Vec<J>, Vec<J>) = (peers::pack(&self.from), peers::pack(&self.to));
        let out = from.clone();
        let want = self.want.clone();
        let wrong = move |out: &Vec<J>| error(peers::unpack(out), &want);
        let input = (from, to);
        match self.slerp {
            true => subjects.peer(J::NAME, input, out, |input, out| each(input, out, J::slerp), wrong),
            false => subjects.peer(J::NAME, input, out, |input, out| each(input, out, J::nlerp), wrong),
        }
    }
}

/// What one writes.
fn each<J: Interpolate>((from, to): &(Vec<J>, Vec<J>), out: &mut [J], between: impl Fn(&J, &J, f32) -> J) {
    for ((out, from), to) in out.iter_mut().zip(from).zip(to) {
        *out = between(from, to, FACTOR);
    }
}
