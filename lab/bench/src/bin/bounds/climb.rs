//! Hill climb: starts from many cases, changes them by small and large steps, and keeps changes that increase
//! the error.

use condyle::Dispatch;

/// Pseudorandom numbers that are the same in every run: xorshift64*.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Starts a different sequence for each seed. The state is never 0, because xorshift would stay there.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15).max(1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Number from 0 to 1, exclusive.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Number from -1 to 1.
    pub(crate) fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    /// Index below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.unit() * count as f64) as usize
    }

    /// Number of either sign with a uniformly distributed order of magnitude from `10^least` to 1.
    pub(crate) fn magnitude(&mut self, least: f64) -> f64 {
        10.0_f64.powf(least * self.unit()) * self.signed().signum()
    }
}

type Measure = Box<dyn Fn(&[f32]) -> f64 + Sync>;

/// Error bound under attack, on one instruction set in one mode. A case is a list of numbers.
pub(crate) struct Claim {
    /// Name of the bound, the same on all instruction sets.
    pub(crate) what: String,
    /// Variant of the computation, or empty.
    pub(crate) way: &'static str,
    /// `None` if the result is the same on all instruction sets.
    pub(crate) dispatch: Option<Dispatch>,
    /// Stated bound, or the largest one if it depends on the case.
    pub(crate) bound: f64,
    /// Number of values of a case.
    pub(crate) width: usize,
    /// Fills in a start case.
    pub(crate) start: fn(&mut Random, &mut [f32]),
    /// Moves a changed case back into the domain of the bound. Returns false if it cannot.
    pub(crate) repair: fn(&mut [f32]) -> bool,
    /// Error of a case relative to its stated bound. More than 1 breaks the bound.
    pub(crate) error: Measure,
}

impl Claim {
    /// Name, variant and instruction set.
    pub(crate) fn name(&self) -> String {
        let place = self.dispatch.map_or_else(String::new, |dispatch| dispatch.to_string());
        let parts = [&*self.what, self.way, &*place];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

/// Worst case found.
pub(crate) struct Witness {
    pub(crate) case: Vec<f32>,
    pub(crate) error: f64,
}

/// Whether an error is worse than another. NaN is worse than any number.
pub(crate) fn is_worse(error: f64, than: f64) -> bool {
    error > than || (error.is_nan() && !than.is_nan())
}

/// Number of unsuccessful changes after which a climb ends.
const PATIENCE: usize = 3000;

/// Attacks a claim with this many evaluations, from known cases and from random ones.
pub(crate) fn climb(claim: &Claim, known: &[Vec<f32>], seed: u64, evaluations: usize) -> Witness {
    let mut random = Random::new(seed);
    let mut best = Witness { case: vec![0.0; claim.width], error: 0.0 };
    let (mut case, mut error, mut failures) = (vec![0.0; claim.width], -1.0, PATIENCE);
    let mut changed = case.clone();
    for known in known.iter().filter(|known| known.len() == claim.width) {
        changed.copy_from_slice(known);
        let found = if (claim.repair)(&mut changed) { (claim.error)(&changed) } else { 0.0 };
        if is_worse(found, best.error) {
            best = Witness { case: changed.clone(), error: found };
        }
    }
    for _ in 0..evaluations {
        if failures == PATIENCE {
            // Half of the climbs start near the best case so far, at a distance of a random magnitude.
            if best.error > 0.0 && random.below(2) == 0 {
                case.clone_from(&best.case);
                change(claim, &mut random, &mut case);
            } else {
                (claim.start)(&mut random, &mut case);
            }
            failures = 0;
            error = if (claim.repair)(&mut case) { (claim.error)(&case) } else { -1.0 };
        } else {
            changed.clone_from(&case);
            change(claim, &mut random, &mut changed);
            let found = if (claim.repair)(&mut changed) { (claim.error)(&changed) } else { -1.0 };
            failures += 1;
            if found == error || is_worse(found, error) {
                failures = if is_worse(found, error) { 0 } else { failures };
                error = found;
                std::mem::swap(&mut case, &mut changed);
            }
        }
        if is_worse(error, best.error) {
            best = Witness { case: case.clone(), error };
            if error.is_nan() {
                break;
            }
        }
    }
    best
}

/// Changes one or more values: to a neighbouring float, by a fraction, by an amount, or to the value of
/// another start case.
fn change(claim: &Claim, random: &mut Random, case: &mut [f32]) {
    let count = if random.below(3) == 0 { 1 + random.below(case.len()) } else { 1 };
    for _ in 0..count {
        let at = random.below(case.len());
        let value = f64::from(case[at]);
        case[at] = match random.below(8) {
            0..=2 => {
                let steps = 1 + random.below(4);
                let up = random.below(2) == 0;
                (0..steps).fold(case[at], |v, _| if up { v.next_up() } else { v.next_down() })
            }
            3 | 4 => (value * (1.0 + random.magnitude(-7.0))) as f32,
            5 => (value + random.magnitude(-9.0)) as f32,
            6 => -case[at],
            _ => {
                let mut other = vec![0.0; claim.width];
                (claim.start)(random, &mut other);
                other[at]
            }
        };
    }
}
