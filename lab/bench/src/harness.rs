//! Interleaved timing of checked implementations. The result is the minimum, never the mean.

use std::cell::{OnceCell, RefCell};
use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use condyle::{Dispatch, Numeric};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::machine::ticks_per_ns;

/// Duration of a timed slice: long compared with the clock's resolution, short enough to fall between
/// interruptions.
const SLICE_SECONDS: f64 = 100e-6;
/// Time limit of a case in a pass, after at least [`LEAST_ROUNDS`] rounds.
const CASE_SECONDS: f64 = 0.5;
const LEAST_ROUNDS: u32 = 3;
/// Error limit of peers. Errors below it are only reported; a larger one means that the peer computed
/// something else.
const PEER_BOUND: f64 = 1e-3;

thread_local! {
    /// Pool of this thread and others.
    static POOL: OnceCell<Rc<ThreadPool>> = const { OnceCell::new() };
}

fn pool_of(threads: usize) -> Rc<ThreadPool> {
    let builder = ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
    Rc::new(builder.build().expect("a few threads"))
}

/// Implementation of a benchmark.
pub(crate) struct Subject {
    pub(crate) work: &'static str,
    /// `condyle`, the name of another method of condyle, or the peer's name.
    pub(crate) implementation: &'static str,
    /// Instruction set. For a peer, the one it was compiled for.
    pub(crate) isa: &'static str,
    /// `fast` or `portable`.
    pub(crate) mode: &'static str,
    /// Number of threads.
    pub(crate) threads: usize,
    /// Whether the implementation is a peer. Peers are compiled for one instruction set.
    peer: bool,
    /// Maximum error that passes.
    bound: f64,
    /// Runs the work the given number of times.
    call: Box<dyn FnMut(u32)>,
    /// Resets the output to its initial value.
    restore: Box<dyn FnMut()>,
    /// Returns the maximum difference between the output of `call` and the f64 reference.
    error: Box<dyn FnMut() -> f64>,
}

/// Output shared by several subjects, its initial value, and the number of threads.
pub(crate) struct Room<T> {
    fresh: Rc<T>,
    out: Rc<RefCell<T>>,
    threads: usize,
}

impl<T: Clone> Room<T> {
    pub(crate) fn new(out: T) -> Self {
        Self { fresh: Rc::new(out.clone()), out: Rc::new(RefCell::new(out)), threads: 1 }
    }

    /// The same output for subjects on this number of threads.
    pub(crate) fn on(&self, threads: usize) -> Self {
        Self { fresh: self.fresh.clone(), out: self.out.clone(), threads }
    }
}

/// All implementations that do the same work on the same data.
pub(crate) struct Subjects {
    work: &'static str,
    levels: Vec<Dispatch>,
    list: Vec<Subject>,
}

impl Subjects {
    pub(crate) fn new(work: &'static str, levels: &[Dispatch]) -> Self {
        Self { work, levels: levels.to_vec(), list: Vec::new() }
    }

    /// Keeps each instruction set once, for work that does not depend on the numeric mode.
    pub(crate) fn only_fast(&mut self) {
        self.levels.dedup_by_key(|level| level.isa());
        for level in &mut self.levels {
            *level = Dispatch::new(level.isa(), Numeric::Fast).unwrap_or(*level);
        }
    }

    /// Adds a kernel of condyle for every instruction set and both modes. All write to the same `out`, which
    /// must start with a wrong result.
    pub(crate) fn kernel<I: 'static, T: Clone + 'static>(
        &mut self,
        implementation: &'static str,
        bound: f64,
        input: &Rc<I>,
        out: T,
        call: impl Fn(&I, &mut T) + Clone + 'static,
        error: impl Fn(&T) -> f64 + Clone + 'static,
    ) {
        self.kernel_in(&Room::new(out), implementation, bound, input, call, error);
    }

    /// Like [`kernel_in`](Self::kernel_in), on a pool with the room's number of threads if there are several.
    /// The calling thread is one of them.
    pub(crate) fn kernel_on<I: Sync + 'static, T: Clone + Send + 'static>(
        &mut self,
        room: &Room<T>,
        implementation: &'static str,
        bound: f64,
        input: &Rc<I>,
        call: impl Fn(&I, &mut T) + Clone + Sync + 'static,
        error: impl Fn(&T) -> f64 + Clone + 'static,
    ) {
        if room.threads == 1 {
            return self.kernel_in(room, implementation, bound, input, call, error);
        }
        let pool = POOL.with(|pool| pool.get_or_init(|| pool_of(room.threads)).clone());
        assert_eq!(pool.current_num_threads(), room.threads, "a thread is in one pool only");
        let call = move |input: &I, out: &mut T| {
            // Pool threads do not inherit the dispatch of this thread.
            let dispatch = Dispatch::current();
            pool.install(|| dispatch.scope(|| call(input, out)));
        };
        self.kernel_in(room, implementation, bound, input, call, error);
    }

    /// Like [`kernel`](Self::kernel), with an output that other subjects share.
    pub(crate) fn kernel_in<I: 'static, T: Clone + 'static>(
        &mut self,
        room: &Room<T>,
        implementation: &'static str,
        bound: f64,
        input: &Rc<I>,
        call: impl Fn(&I, &mut T) + Clone + 'static,
        error: impl Fn(&T) -> f64 + Clone + 'static,
    ) {
        for &dispatch in &self.levels {
            let (fresh, restored) = (room.fresh.clone(), room.out.clone());
            let (run, error) = runner(input.clone(), room.out.clone(), call.clone(), error.clone());
            self.list.push(Subject {
                work: self.work,
                implementation,
                isa: dispatch.isa().name(),
                mode: dispatch.numeric().name(),
                threads: room.threads,
                peer: false,
                bound,
                call: Box::new(move |times| dispatch.scope(|| run(times))),
                restore: Box::new(move || restored.borrow_mut().clone_from(&fresh)),
                error: Box::new(error),
            });
        }
    }

    /// Adds an alternative to condyle, for the instruction set enabled at compile time. `out` must start with
    /// a wrong result.
    pub(crate) fn peer<I: 'static, T: 'static>(
        &mut self,
        implementation: &'static str,
        input: I,
        out: T,
        call: impl Fn(&I, &mut T) + 'static,
        error: impl Fn(&T) -> f64 + 'static,
    ) {
        self.peer_of(self.work, implementation, input, out, call, error);
    }

    /// Like [`peer`](Self::peer) under another benchmark name, for comparisons.
    pub(crate) fn peer_of<I: 'static, T: 'static>(
        &mut self,
        work: &'static str,
        implementation: &'static str,
        input: I,
        out: T,
        call: impl Fn(&I, &mut T) + 'static,
        error: impl Fn(&T) -> f64 + 'static,
    ) {
        let (run, error) = runner(Rc::new(input), Rc::new(RefCell::new(out)), call, error);
        self.list.push(Subject {
            work,
            implementation,
            isa: COMPILED_FOR,
            mode: "fast",
            threads: 1,
            peer: true,
            bound: PEER_BOUND,
            call: Box::new(run),
            restore: Box::new(|| {}),
            error: Box::new(error),
        });
    }
}

/// Instruction set enabled at compile time, which peers use.
const COMPILED_FOR: &str = if cfg!(target_feature = "avx512f") {
    "avx512"
} else if cfg!(target_feature = "avx2") {
    "avx2"
} else if cfg!(target_feature = "sse4.2") {
    "sse42"
} else if cfg!(target_feature = "sse2") {
    "sse2"
} else if cfg!(target_feature = "neon") {
    "neon"
} else {
    "scalar"
};

/// Returns a function that repeats the work, and a function that computes the error. `black_box` prevents the
/// compiler from moving work out of the loop.
fn runner<I, T>(
    input: Rc<I>,
    out: Rc<RefCell<T>>,
    call: impl Fn(&I, &mut T),
    error: impl Fn(&T) -> f64,
) -> (impl Fn(u32), impl Fn() -> f64) {
    let looked_at = Rc::clone(&out);
    let run = move |times| {
        let mut out = out.borrow_mut();
        for _ in 0..times {
            call(black_box(&*input), black_box(&mut *out));
        }
    };
    (run, move || error(&looked_at.borrow()))
}

/// One benchmark with a number of elements and a layout.
pub(crate) struct Case {
    pub(crate) work: &'static str,
    /// Size of the data: joints, vertices or bytes.
    pub(crate) n: usize,
    /// Elements per unit of `n`: the layers of a blend, otherwise 1.
    pub(crate) times: usize,
    /// `blocks`, `structs` or empty.
    pub(crate) layout: &'static str,
    /// Bytes read and written per element, each once.
    pub(crate) bytes: usize,
    /// Additions and multiplications of the formula per element. 0 if roots, divisions or latencies dominate.
    pub(crate) flops: usize,
    /// Builds the data and all subjects.
    pub(crate) build: Box<dyn Fn(&mut Subjects)>,
}

/// One result.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) work: &'static str,
    pub(crate) n: usize,
    pub(crate) layout: &'static str,
    /// See [`Case::bytes`].
    pub(crate) bytes: usize,
    /// Size in bytes of all elements.
    pub(crate) data: usize,
    /// See [`Case::flops`].
    pub(crate) flops: usize,
    pub(crate) implementation: &'static str,
    pub(crate) isa: &'static str,
    pub(crate) mode: &'static str,
    pub(crate) threads: usize,
    /// Whether the implementation is a peer.
    pub(crate) peer: bool,
    /// Minimum nanoseconds per element.
    pub(crate) ns: f64,
    /// `ns` in cycles of the core's clock during the measurement.
    pub(crate) cycles: f64,
    /// `ns` in ticks of the time-stamp counter, or in cycles if there is no counter.
    pub(crate) ticks: f64,
    pub(crate) max_error: f64,
}

impl Row {
    /// Takes the times of another measurement if they are shorter. All three change together, because their
    /// ratio is a clock rate.
    pub(crate) fn keep_less(&mut self, other: &Self) {
        if other.ns < self.ns {
            (self.ns, self.cycles, self.ticks) = (other.ns, other.cycles, other.ticks);
        }
    }
}

/// Checks every result, then times all subjects interleaved, `rounds` times or until the time limit. With
/// `rounds` = 0 nothing is timed.
///
/// # Panics
/// Panics if a result is wrong, or if the output is already correct before the call.
pub(crate) fn run(case: &Case, levels: &[Dispatch], rounds: u32) -> Vec<Row> {
    let mut subjects = Subjects::new(case.work, levels);
    (case.build)(&mut subjects);
    let mut subjects = subjects.list;
    let mut rows: Vec<Row> = subjects.iter_mut().map(|subject| checked(case, subject)).collect();
    let mut seconds: Vec<f64> = vec![f64::INFINITY; subjects.len()];
    let mut calls: Vec<u32> = vec![1; subjects.len()];
    let (mut ghz, mut done, start) = (0.0, 0, Instant::now());
    while done < rounds && (done < LEAST_ROUNDS || start.elapsed().as_secs_f64() < CASE_SECONDS) {
        ghz = clock_ghz().max(ghz);
        for ((subject, seconds), calls) in subjects.iter_mut().zip(&mut seconds).zip(&mut calls) {
            let start = Instant::now();
            (subject.call)(*calls);
            *seconds = seconds.min(start.elapsed().as_secs_f64() / f64::from(*calls));
            *calls = (SLICE_SECONDS / *seconds).clamp(1.0, 1e6) as u32;
        }
        done += 1;
    }
    let ticks_per_ns = ticks_per_ns();
    for (row, seconds) in rows.iter_mut().zip(seconds) {
        row.ns = seconds * 1e9 / (case.n * case.times) as f64;
        row.cycles = row.ns * ghz;
        row.ticks = row.ns * ticks_per_ns.unwrap_or(ghz);
    }
    rows
}

fn checked(case: &Case, subject: &mut Subject) -> Row {
    let Subject { work, implementation, isa, mode, threads, peer, bound, .. } = *subject;
    let Case { n, times, layout, bytes, flops, .. } = *case;
    let data = n * times * bytes;
    let who = format!("{work}, {n} {layout}, {implementation} {isa} {mode} on {threads}");
    // An implementation that does nothing must not pass.
    (subject.restore)();
    let before = (subject.error)();
    assert!(before > bound || before.is_nan(), "{who}: error {before:e} without a call");
    (subject.call)(1);
    let max_error = (subject.error)();
    assert!(max_error <= bound, "{who}: error {max_error:e}, limit {bound:e}");
    let [ns, cycles, ticks] = [f64::NAN; 3];
    Row {
        work,
        n,
        layout,
        bytes,
        data,
        flops,
        implementation,
        isa,
        mode,
        threads,
        peer,
        ns,
        cycles,
        ticks,
        max_error,
    }
}

/// Clock rate of the core in GHz, from a chain of dependent multiplications of three cycles each. The
/// time-stamp counter would not help, because it runs at another rate.
fn clock_ghz() -> f64 {
    const STEPS: u32 = 50_000;
    let start = Instant::now();
    let mut x = black_box(3_u64);
    for _ in 0..STEPS {
        x = x.wrapping_mul(x);
    }
    black_box(x);
    3.0 * f64::from(STEPS) / start.elapsed().as_secs_f64() / 1e9
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Builds a kernel that writes the correct result 1 only in its first call.
    fn writing_once(out: f64) {
        let build = move |subjects: &mut Subjects| {
            let write = |first: &Cell<bool>, out: &mut f64| {
                if first.replace(false) {
                    *out = 1.0;
                }
            };
            subjects.kernel("condyle", 0.0, &Rc::new(Cell::new(true)), out, write, |out| (out - 1.0).abs());
        };
        let case =
            Case { work: "once", n: 1, times: 1, layout: "", bytes: 0, flops: 0, build: Box::new(build) };
        run(&case, &Dispatch::all().collect::<Vec<_>>(), 0);
    }

    #[test]
    #[should_panic = "error 1e0, limit 0e0"]
    fn no_level_passes_by_what_another_one_wrote() {
        writing_once(0.0);
    }

    #[test]
    #[should_panic = "without a call"]
    fn nobody_passes_by_what_was_there_before() {
        writing_once(1.0);
    }
}
