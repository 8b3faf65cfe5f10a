//! Long calls: interrupts end them, and whatever has an `update`, as tqdm's bars have, hears of their steps.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::Error;

/// How often the calling thread looks for an interrupt and updates the bar.
const INTERVAL: Duration = Duration::from_millis(50);

/// As much as the main thread of a program has.
const STACK: usize = 8 << 20;

/// Steps that are done, and whether there are to be more.
pub(crate) struct Steps {
    done: AtomicUsize,
    is_ended: AtomicBool,
    caller: ThreadId,
    heard: Mutex<Heard>,
}

/// What Python has heard of the steps.
struct Heard {
    bar: Option<Py<PyAny>>,
    steps: usize,
    at: Instant,
    /// What the bar or an interrupt has raised.
    error: Option<PyErr>,
}

/// When a thread asks again, in steps: about once in some milliseconds, as to ask takes as long as a short step.
pub(crate) struct Pace {
    left: u32,
    steps: u32,
    at: Instant,
}

impl Default for Pace {
    fn default() -> Self {
        Self { left: 1, steps: 1, at: Instant::now() }
    }
}

impl Pace {
    fn is_due(&mut self) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        let took = self.at.elapsed();
        self.steps = match took {
            _ if took < Duration::from_millis(1) => (2 * self.steps).min(1 << 12),
            _ if took > Duration::from_millis(8) => (self.steps / 8).max(1),
            _ => self.steps,
        };
        (self.left, self.at) = (self.steps, Instant::now());
        true
    }
}

impl Steps {
    fn new(bar: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        if let Some(bar) = bar
            && !bar.getattr("update").is_ok_and(|update| update.is_callable())
        {
            let kind = bar.get_type().name()?;
            let what = format!("progress is a {kind}, a bar with an update is wanted, such as tqdm's");
            return Err(PyTypeError::new_err(what));
        }
        let bar = bar.map(|bar| bar.clone().unbind());
        Ok(Self {
            done: AtomicUsize::new(0),
            is_ended: AtomicBool::new(false),
            caller: thread::current().id(),
            heard: Mutex::new(Heard { bar, steps: 0, at: Instant::now(), error: None }),
        })
    }

    /// One more. Whether the next one is to be done.
    pub(crate) fn add(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.go_on()
    }

    /// One more of many short ones: asks only now and then whether the next one is to be done, as `pace` says.
    pub(crate) fn add_short(&self, pace: &mut Pace) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed);
        !pace.is_due() || self.go_on()
    }

    /// All of them. Whether there are to be more.
    pub(crate) fn set(&self, done: usize) -> bool {
        self.done.store(done, Ordering::Relaxed);
        self.go_on()
    }

    /// Whether the next step is to be done. The calling thread looks for an interrupt now and then.
    pub(crate) fn go_on(&self) -> bool {
        if thread::current().id() == self.caller && self.heard().at.elapsed() >= INTERVAL {
            Python::attach(|py| self.tell(py));
        }
        !self.is_ended.load(Ordering::Relaxed)
    }

    /// Waits on the calling thread until `is_done`, which other threads that unpark it bring about.
    pub(crate) fn wait(&self, is_done: impl Fn() -> bool) {
        while !is_done() {
            thread::park_timeout(INTERVAL);
            self.go_on();
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the bar and looks for an interrupt, unless one has ended the call.
    fn tell(&self, py: Python<'_>) {
        // Python may run anything in between: the lock is not held.
        let (bar, told) = {
            let mut heard = self.heard();
            heard.at = Instant::now();
            if heard.error.is_some() {
                return;
            }
            (heard.bar.as_ref().map(|bar| bar.clone_ref(py)), heard.steps)
        };
        let done = self.done.load(Ordering::Relaxed);
        let updated = match bar {
            Some(bar) if done > told => bar.call_method1(py, "update", (done - told,)).map(drop),
            _ => Ok(()),
        };
        let mut heard = self.heard();
        heard.steps = heard.steps.max(done);
        heard.error = updated.and_then(|()| py.check_signals()).err();
        self.is_ended.store(heard.error.is_some(), Ordering::Relaxed);
    }

    /// The last update, and what was raised.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let has_bar = self.heard().bar.is_some();
        if has_bar {
            self.tell(py);
        }
        let error = self.heard().error.take();
        error.map_or(Ok(()), Err)
    }
}

/// Does `work` on the calling thread while other Python threads run. What the bar raises, or an interrupt, ends the call
/// at the next step, for which the work has to ask [`Steps::add`], [`Steps::set`] or [`Steps::go_on`].
pub(crate) fn told<T: Send>(
    py: Python<'_>,
    bar: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Steps) -> T + Send,
) -> PyResult<T> {
    let steps = Steps::new(bar)?;
    let done = py.detach(|| work(&steps));
    steps.finish(py).map(|()| done)
}

/// Does `work` on a thread of its own that may borrow, for work that no step of the calling thread is a part of.
pub(crate) fn told_elsewhere<T: Send>(
    py: Python<'_>,
    bar: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Steps) -> T + Send,
) -> PyResult<T> {
    told(py, bar, |steps| {
        let main = thread::current();
        thread::scope(|scope| {
            let working = scope.spawn(|| {
                let done = catch_unwind(AssertUnwindSafe(|| work(steps)));
                main.unpark();
                done
            });
            steps.wait(|| working.is_finished());
            working.join().and_then(|done| done).unwrap_or_else(|panic| resume_unwind(panic))
        })
    })
}

/// Does `work` on a thread of its own that borrows nothing. An interrupt, or what the bar raises, ends the call at once;
/// the thread ends at its next step, or when its work is done, and nobody hears of it.
pub(crate) fn told_apart<T: Send + 'static>(
    py: Python<'_>,
    bar: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Steps) -> T + Send + 'static,
) -> PyResult<T> {
    let steps = Arc::new(Steps::new(bar)?);
    let (main, own) = (thread::current(), Arc::clone(&steps));
    let working = thread::Builder::new().stack_size(STACK).spawn(move || {
        let done = catch_unwind(AssertUnwindSafe(|| work(&own)));
        main.unpark();
        done
    });
    let working = working.map_err(|e| Error::new_err(format!("no thread can be started: {e}")))?;
    py.detach(|| steps.wait(|| working.is_finished() || steps.is_ended.load(Ordering::Relaxed)));
    if steps.is_ended.load(Ordering::Relaxed) {
        steps.finish(py)?;
    }
    let done = py.detach(|| working.join()).and_then(|done| done);
    let done = done.unwrap_or_else(|panic| resume_unwind(panic));
    steps.finish(py).map(|()| done)
}

/// Ends the work of a thread of [`told_apart`] that has no other way out, if no more steps are to be done.
pub(crate) fn end_unless(go_on: bool) {
    if !go_on {
        resume_unwind(Box::new("the call was ended"));
    }
}
