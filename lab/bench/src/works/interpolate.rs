//! Interpolation between two lists of joints.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4};
use std::rc::Rc;

use condyle::interpolation;
use condyle::interpolation::{Degree, Factor, Method, Selection, Terms};
use condyle::math::JointQuat;
use condyle::{Pose, Transform};
use condyle_testing::reference;
use condyle_testing::reference::Local;

use super::{JOINTS, MANY, case, worst_joints};
use crate::data::{Random, structs, transform};
use crate::harness::{Case, Subjects};
use crate::peers::{self, Interpolate};

pub(super) const FACTOR: f32 = 0.3;

/// A dot product, a chord, two polynomials of degree 9 and ten weighted sums.
const SLERP_FLOPS: usize = 95;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (work, flops) in [("slerp_joints", SLERP_FLOPS), ("nlerp_joints", 0)] {
        for (layout, bytes) in LAYOUTS {
            for n in [JOINTS, 1024, MANY] {
                let build = move |subjects: &mut Subjects| {
                    build(subjects, n, layout, work == "slerp_joints");
                };
                cases.push(Case { flops, ..case(work, layout, n, bytes, build) });
            }
        }
    }
    let terms = |count| Terms::new(count).expect("from 1 to 16");
    let others = [
        ("other_slerp4", Method::Slerp(Degree::Four), false),
        ("other_slerp6", Method::Slerp(Degree::Six), false),
        ("other_slerp_t_per_joint", Method::default(), true),
        ("other_eberly16", Method::Eberly(terms(16)), false),
        ("other_eberly5_halved", Method::EberlyHalved(terms(5)), false),
        ("other_corrected_nlerp", Method::CorrectedNlerp, false),
        ("other_exponential_map", Method::ExponentialMap, false),
    ];
    for (work, method, per_joint) in others {
        for (layout, bytes) in LAYOUTS {
            for n in [JOINTS, 1024] {
                let build = move |subjects: &mut Subjects| {
                    let mut data = Data::new(n, true);
                    data.which.factors = vec![FACTOR; if per_joint { n } else { 0 }];
                    data.kernel(subjects, layout, "condyle", method);
                };
                cases.push(case(work, layout, n, bytes, build));
            }
        }
    }
    for (layout, bytes) in LAYOUTS {
        for n in [JOINTS, 1024] {
            let build = move |subjects: &mut Subjects| {
                Data::every_other(n).kernel(subjects, layout, "condyle", Method::default());
            };
            cases.push(case("other_slerp_list", layout, n, bytes + 2, build));
        }
    }
    for (layout, bytes) in LAYOUTS {
        cases.push(case("other_slerp_in_place", layout, MANY, bytes, move |subjects| {
            in_place(subjects, layout);
        }));
    }
    for (layout, bytes) in LAYOUTS {
        cases.push(case("other_eberly5_through_middle", layout, 1024, bytes, move |subjects| {
            through_middle(subjects, layout);
        }));
    }
    cases
}

/// Interpolates into the first list, which converges to the second one over repeated calls.
fn in_place(subjects: &mut Subjects, layout: &str) {
    let Data { from, to, want, .. } = Data::new(MANY, true);
    let method = Method::default();
    let bound = bound(method);
    match layout {
        "blocks" => {
            let [from, to] = [from, to].map(|joints| Pose::from_transforms(&joints));
            let call = move |to: &Pose, pose: &mut Pose| {
                interpolation::poses(None, to, FACTOR, Selection::All, method, pose).expect("sizes agree");
            };
            let wrong = move |pose: &Pose| worst_joints(pose.transforms(), &want);
            subjects.kernel("condyle", bound, &Rc::new(to), from, call, wrong);
        }
        _ => {
            let [from, to] = [from, to].map(|joints| structs(&joints));
            let call = move |to: &Vec<JointQuat>, list: &mut Vec<JointQuat>| {
                interpolation::joints(None, to, FACTOR, Selection::All, method, list).expect("sizes agree");
            };
            let wrong = move |list: &Vec<JointQuat>| worst_joints(list.iter().map(transform), &want);
            subjects.kernel("condyle", bound, &Rc::new(to), from, call, wrong);
        }
    }
}

/// Eberly's series on half of the angle, with a precomputed midpoint.
fn through_middle(subjects: &mut Subjects, layout: &str) {
    let Data { from, to, want, .. } = Data::new(1024, true);
    let [from, to] = [from, to].map(|joints| Pose::from_transforms(&joints));
    let mut middle = from.clone();
    interpolation::poses(&from, &to, 0.5, Selection::All, Method::Exact, &mut middle).expect("sizes agree");
    let keys = [from, middle, to];
    let method = Method::Eberly(Terms::new(5).expect("from 1 to 16"));
    // The midpoint is rounded, and interpolation from it doubles the effect.
    let bound = method.error_bound(FRAC_PI_4) + 2e-7;
    match layout {
        "blocks" => {
            let call = move |[from, middle, to]: &[Pose; 3], out: &mut Pose| {
                interpolation::poses_through(from, middle, to, FACTOR, method, out).expect("sizes agree");
            };
            let out = keys[0].clone();
            let wrong = move |out: &Pose| worst_joints(out.transforms(), &want);
            subjects.kernel("condyle", bound, &Rc::new(keys), out, call, wrong);
        }
        _ => {
            let keys = keys.map(|pose| structs(&pose.transforms().collect::<Vec<_>>()));
            let call = move |[from, middle, to]: &[Vec<JointQuat>; 3], out: &mut Vec<JointQuat>| {
                interpolation::joints_through(from, middle, to, FACTOR, method, out).expect("sizes agree");
            };
            let out = keys[0].clone();
            let wrong = move |out: &Vec<JointQuat>| worst_joints(out.iter().map(transform), &want);
            subjects.kernel("condyle", bound, &Rc::new(keys), out, call, wrong);
        }
    }
}

/// Two joints are read, one is written.
const LAYOUTS: [(&str, usize); 2] = [("blocks", 3 * 40), ("structs", 3 * 32)];

fn build(subjects: &mut Subjects, n: usize, layout: &str, slerp: bool) {
    let data = Data::new(n, slerp);
    if slerp {
        data.kernel(subjects, layout, "condyle", Method::default());
        data.kernel(subjects, layout, "van_waveren", Method::VanWaveren);
        let eberly = Method::Eberly(Terms::new(8).expect("from 1 to 16"));
        data.kernel(subjects, layout, "eberly8", eberly);
    } else {
        data.kernel(subjects, layout, "condyle", Method::Nlerp);
    }
    peers::each_of_layout!(layout, data.peer(subjects));
}

/// Slerp between two lists with the factor of these benchmarks.
pub(super) fn slerps(from: &[Transform], to: &[Transform]) -> Vec<Local> {
    want(from, to, true)
}

fn want(from: &[Transform], to: &[Transform], slerp: bool) -> Vec<Local> {
    let t = f64::from(FACTOR);
    let one = |(from, to): (&Transform, &Transform)| {
        let (from, to) = (Local::from(*from), Local::from(*to));
        let rotation = match slerp {
            true => reference::slerp(from.rotation, to.rotation, t),
            false => {
                let sum: [f64; 4] = mix(from.rotation, to.rotation, t);
                let length = sum.iter().map(|v| v * v).sum::<f64>().sqrt();
                sum.map(|v| v / length)
            }
        };
        let translation = mix(from.translation, to.translation, t);
        Local { rotation, translation, scale: mix(from.scale, to.scale, t) }
    };
    from.iter().zip(to).map(one).collect()
}

fn mix<const N: usize>(from: [f64; N], to: [f64; N], t: f64) -> [f64; N] {
    std::array::from_fn(|c| from[c] + (to[c] - from[c]) * t)
}

/// Error limit of a kernel: the documented bound of its method, plus the rounding of products in the portable
/// mode.
fn bound(method: Method) -> f64 {
    method.error_bound(FRAC_PI_2) + 5e-8
}

/// Error limit of nlerp compared with nlerp.
const NLERP_BOUND: f64 = 3e-7;

struct Data {
    from: Vec<Transform>,
    to: Vec<Transform>,
    want: Rc<Vec<Local>>,
    slerp: bool,
    which: Which,
}

/// Factors and selection of joints.
#[derive(Clone, Default)]
struct Which {
    /// Factor per joint. Empty for one factor for all.
    factors: Vec<f32>,
    /// Indices of the selected joints. Empty for all.
    list: Vec<u16>,
}

impl Which {
    fn factor(&self) -> Factor<'_> {
        if self.factors.is_empty() { Factor::Same(FACTOR) } else { Factor::PerJoint(&self.factors) }
    }

    fn selection(&self) -> Selection<'_> {
        if self.list.is_empty() { Selection::All } else { Selection::List(&self.list) }
    }
}

impl Data {
    fn new(n: usize, slerp: bool) -> Self {
        let (from, to) = Random(6).pairs(n);
        let want = Rc::new(want(&from, &to, slerp));
        Self { from, to, want, slerp, which: Which::default() }
    }

    /// `n` selected joints, with an unselected joint after each.
    fn every_other(n: usize) -> Self {
        let mut data = Self::new(2 * n, true);
        data.which.list = (0..2 * n as u16).step_by(2).collect();
        for (want, from) in Rc::make_mut(&mut data.want).iter_mut().zip(&data.from).skip(1).step_by(2) {
            *want = Local::from(*from);
        }
        data
    }

    /// Adds a kernel of condyle.
    fn kernel(&self, subjects: &mut Subjects, layout: &str, implementation: &'static str, method: Method) {
        let bound = if self.slerp { bound(method) } else { NLERP_BOUND };
        let want = self.want.clone();
        let which = self.which.clone();
        match layout {
            "blocks" => {
                let [from, to] = [&self.from, &self.to].map(|joints| Pose::from_transforms(joints));
                let call = move |(from, to, which): &(Pose, Pose, Which), out: &mut Pose| {
                    interpolation::poses(from, to, which.factor(), which.selection(), method, out)
                        .expect("sizes agree");
                };
                let (out, wrong) = (from.clone(), move |out: &Pose| worst_joints(out.transforms(), &want));
                subjects.kernel(implementation, bound, &Rc::new((from, to, which)), out, call, wrong);
            }
            _ => {
                type Lists = (Vec<JointQuat>, Vec<JointQuat>, Which);
                let (from, to) = (structs(&self.from), structs(&self.to));
                let call = move |(from, to, which): &Lists, out: &mut Vec<JointQuat>| {
                    interpolation::joints(Some(from), to, which.factor(), which.selection(), method, out)
                        .expect("sizes agree");
                };
                let (out, wrong) =
                    (from.clone(), move |out: &Vec<_>| worst_joints(out.iter().map(transform), &want));
                subjects.kernel(implementation, bound, &Rc::new((from, to, which)), out, call, wrong);
            }
        }
    }

    fn peer<J: Interpolate>(&self, subjects: &mut Subjects) {
        let (from, to): (Vec<J>, Vec<J>) = (peers::pack(&self.from), peers::pack(&self.to));
        let out = from.clone();
        let want = self.want.clone();
        let wrong = move |out: &Vec<J>| worst_joints(peers::unpack(out), &want);
        let input = (from, to);
        match self.slerp {
            true => subjects.peer(J::NAME, input, out, |input, out| each(input, out, J::slerp), wrong),
            false => subjects.peer(J::NAME, input, out, |input, out| each(input, out, J::nlerp), wrong),
        }
    }
}

/// Loop for a peer crate.
fn each<J: Interpolate>((from, to): &(Vec<J>, Vec<J>), out: &mut [J], between: impl Fn(&J, &J, f32) -> J) {
    for ((out, from), to) in out.iter_mut().zip(from).zip(to) {
        *out = between(from, to, FACTOR);
    }
}
