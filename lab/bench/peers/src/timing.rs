//! Minima of interleaved rounds.

use std::time::Instant;

use crate::entrants::Entrant;
use crate::results::Results;

/// Rounds at least, at most, and without a new minimum at the end.
const ROUNDS: [usize; 3] = [20, 80, 10];
/// Relative change that counts as a new minimum.
const CHANGE: f64 = 0.003;
/// Warm-up of caches and branch predictors in microseconds.
const WARM: u128 = 400;

struct Subject {
    entrant: Entrant,
    run: Box<dyn FnMut()>,
    minimum: f64,
}

/// Entrants that do the same work in turns.
pub(crate) struct Group {
    work: String,
    /// Number of elements per run.
    elements: usize,
    subjects: Vec<Subject>,
    /// Runs before each pass, untimed.
    before: Option<Box<dyn FnMut()>>,
}

impl Group {
    pub(crate) fn new(work: impl Into<String>, elements: usize) -> Self {
        Self { work: work.into(), elements, subjects: Vec::new(), before: None }
    }

    pub(crate) fn before(&mut self, run: impl FnMut() + 'static) {
        self.before = Some(Box::new(run));
    }

    pub(crate) fn add(&mut self, entrant: &Entrant, run: impl FnMut() + 'static) {
        let run = Box::new(run);
        self.subjects.push(Subject { entrant: entrant.clone(), run, minimum: f64::MAX });
    }

    /// Repeats rounds until the minima are stable. Results are in nanoseconds per element.
    pub(crate) fn time(mut self, results: &mut Results) {
        let [least, most, stable] = ROUNDS;
        let mut changed = 0;
        let mut round = 0;
        while round < least || (round < most && round - changed < stable) {
            for subject in &mut self.subjects {
                let mut pass = || {
                    self.before.iter_mut().for_each(|before| before());
                    let start = Instant::now();
                    (subject.run)();
                    start.elapsed()
                };
                let start = Instant::now();
                while start.elapsed().as_micros() < WARM {
                    pass();
                }
                let fastest = (0..5).map(|_| pass()).min().unwrap_or_default().as_nanos() as f64;
                if fastest < subject.minimum * (1.0 - CHANGE) {
                    changed = round;
                }
                subject.minimum = subject.minimum.min(fastest);
            }
            round += 1;
        }
        eprintln!("{}: {round} rounds", self.work);
        for Subject { entrant, minimum, .. } in self.subjects {
            results.set(&self.work, &entrant, minimum / self.elements as f64);
        }
    }
}
