//! Interleaved timing: minima, never averages, of implementations that were checked first.

use std::hint::black_box;
use std::time::Instant;

/// Who does the work.
pub(crate) struct Subject {
    /// `condyle` or the peer's name.
    pub(crate) implementation: &'static str,
    /// The instruction set, empty for a peer that was compiled for one.
    pub(crate) isa: String,
    /// `fast` or `portable`, empty for a peer.
    pub(crate) mode: String,
    /// Does the work once.
    pub(crate) call: Box<dyn FnMut()>,
    /// The largest difference between what `call` left behind and the f64 reference.
    pub(crate) error: Box<dyn FnMut() -> f64>,
}

/// One thing to do, and all who do it on the same data.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    /// Elements a call: joints or vertices.
    pub(crate) n: usize,
    /// `blocks`, `structs` or nothing.
    pub(crate) layout: &'static str,
    /// The largest error that passes.
    pub(crate) bound: f64,
    pub(crate) subjects: Vec<Subject>,
}

/// A result line.
pub(crate) struct Row {
    pub(crate) work: &'static str,
    pub(crate) n: usize,
    pub(crate) layout: &'static str,
    pub(crate) subject: Subject,
    /// Minimum nanoseconds per element.
    pub(crate) ns: f64,
    pub(crate) max_error: f64,
}

/// Checks every answer, then times all subjects in turn, `rounds` times.
///
/// # Panics
/// If an answer is wrong: a time for it would mean nothing.
pub(crate) fn run(work: Work, rounds: u32) -> Vec<Row> {
    let Work { name, n, layout, bound, subjects } = work;
    let mut rows: Vec<Row> = subjects
        .into_iter()
        .map(|mut subject| {
            (subject.call)();
            let max_error = (subject.error)();
            assert!(
                max_error <= bound,
                "{name}, {} {} {}: off by {max_error:e}, more than {bound:e}",
                subject.implementation,
                subject.isa,
                subject.mode
            );
            Row { work: name, n, layout, subject, ns: f64::INFINITY, max_error }
        })
        .collect();
    for _ in 0..rounds {
        for row in &mut rows {
            // Long enough for the clock's resolution, short enough to fall between interruptions.
            let start = Instant::now();
            let mut calls = 0_u32;
            while calls < 3 || start.elapsed().as_micros() < 200 {
                (row.subject.call)();
                calls += 1;
            }
            let per_call = start.elapsed().as_secs_f64() / f64::from(calls);
            row.ns = row.ns.min(per_call * 1e9 / n as f64);
        }
    }
    rows
}

/// The clock that the core runs at, from a chain of dependent multiplications of three cycles each: no
/// instruction that reads a counter, whose rate is another one, is needed.
pub(crate) fn clock_ghz() -> f64 {
    const STEPS: u32 = 1_000_000;
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let start = Instant::now();
        let mut x = black_box(3_u64);
        for _ in 0..STEPS {
            x = x.wrapping_mul(x);
        }
        black_box(x);
        best = best.min(start.elapsed().as_secs_f64());
    }
    3.0 * f64::from(STEPS) / best / 1e9
}
