//! How far a call is, told to whatever has an `update` as tqdm's bars have.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// How often it is told.
const INTERVAL: Duration = Duration::from_millis(100);

/// Steps that are done, and whether there are to be more.
#[derive(Default)]
pub(crate) struct Steps {
    done: AtomicUsize,
    is_ended: AtomicBool,
}

impl Steps {
    /// One more. Whether the next one is to be done.
    pub(crate) fn add(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed);
        !self.is_ended.load(Ordering::Relaxed)
    }

    /// All of them. Whether there are to be more.
    pub(crate) fn set(&self, done: usize) -> bool {
        self.done.store(done, Ordering::Relaxed);
        !self.is_ended.load(Ordering::Relaxed)
    }
}

/// Does `work` while other Python threads run, and tells `bar` of its steps. What that raises, or an interrupt, ends the call: at the next step, if the
/// work asks [`Steps::add`] or [`Steps::set`].
pub(crate) fn told<T: Send>(
    py: Python<'_>,
    bar: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Steps) -> T + Send,
) -> PyResult<T> {
    let steps = Steps::default();
    let Some(bar) = bar else { return Ok(py.detach(|| work(&steps))) };
    let mut told = 0;
    let mut tell = || -> PyResult<()> {
        let done = steps.done.load(Ordering::Relaxed);
        if done > told {
            bar.call_method1("update", (done - told,))?;
            told = done;
        }
        py.check_signals()
    };
    let main = thread::current();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let working = scope.spawn(|| {
            let done = catch_unwind(AssertUnwindSafe(|| work(&steps)));
            is_done.store(true, Ordering::Release);
            main.unpark();
            done.unwrap_or_else(|panic| resume_unwind(panic))
        });
        let mut error = None;
        while !is_done.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(INTERVAL));
            if error.is_none() {
                error = tell().err();
                steps.is_ended.store(error.is_some(), Ordering::Relaxed);
            }
        }
        let done = py.detach(|| working.join()).unwrap_or_else(|panic| resume_unwind(panic));
        match error {
            Some(error) => Err(error),
            None => tell().map(|()| done),
        }
    })
}
