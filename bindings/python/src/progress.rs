//! Interrupts and progress bars for long calls. Any object with an `update` method, such as a tqdm bar,
//! receives the steps.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::Error;

/// Interval at which the calling thread checks for interrupts and updates the bar.
const INTERVAL: Duration = Duration::from_millis(50);

/// Stack size of a worker thread, equal to that of a program's main thread.
const STACK: usize = 8 << 20;

/// Number of finished steps, and whether the call was interrupted.
pub(crate) struct Steps {
    done: AtomicUsize,
    is_ended: AtomicBool,
    caller: ThreadId,
    heard: Mutex<Heard>,
}

/// Progress that was reported to Python.
struct Heard {
    bar: Option<Py<PyAny>>,
    steps: usize,
    at: Instant,
    /// Exception raised by the bar or an interrupt.
    error: Option<PyErr>,
}

/// Number of steps until the next check of a thread. It adapts to a check every few milliseconds,
/// because a check costs as much as a short step.
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
            let what = format!("progress must have an update method, such as a tqdm bar, got {kind}");
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

    /// Adds one step. Returns whether to continue.
    pub(crate) fn add(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.go_on()
    }

    /// Adds one short step. Returns whether to continue, and checks this only as often as `pace`
    /// requires.
    pub(crate) fn add_short(&self, pace: &mut Pace) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed);
        !pace.is_due() || self.go_on()
    }

    /// Sets the number of finished steps. Returns whether to continue.
    pub(crate) fn set(&self, done: usize) -> bool {
        self.done.store(done, Ordering::Relaxed);
        self.go_on()
    }

    /// Returns whether to continue. On the calling thread this also checks for interrupts at intervals.
    pub(crate) fn go_on(&self) -> bool {
        if thread::current().id() == self.caller && self.heard().at.elapsed() >= INTERVAL {
            Python::attach(|py| self.tell(py));
        }
        !self.is_ended.load(Ordering::Relaxed)
    }

    /// Waits on the calling thread until a worker drops its end of the channel. Returns false immediately
    /// after an interrupt.
    pub(crate) fn wait(&self, working: Receiver<()>) -> bool {
        while working.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if !self.go_on() {
                return false;
            }
        }
        true
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the bar and checks for an interrupt, unless the call was already interrupted.
    fn tell(&self, py: Python<'_>) {
        // The lock is not held, because Python may run arbitrary code here.
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

    /// Makes the last update, and returns the pending exception.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let has_bar = self.heard().bar.is_some();
        if has_bar {
            self.tell(py);
        }
        let error = self.heard().error.take();
        error.map_or(Ok(()), Err)
    }
}

/// Runs `work` on the calling thread while other Python threads run. An interrupt or an exception of
/// the bar ends the call at the next step. `work` must therefore call [`Steps::add`], [`Steps::set`] or
/// [`Steps::go_on`].
pub(crate) fn told<T: Send>(
    py: Python<'_>,
    bar: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Steps) -> T + Send,
) -> PyResult<T> {
    let steps = Steps::new(bar)?;
    let done = py.detach(|| work(&steps));
    steps.finish(py).map(|()| done)
}

/// Runs `work` on a new thread that may borrow. For work without steps on the calling thread.
pub(crate) fn told_elsewhere<T: Send>(
    py: Python<'_>,
    bar: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Steps) -> T + Send,
) -> PyResult<T> {
    told(py, bar, |steps| {
        let (end, working) = mpsc::channel();
        thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let _end = end;
                work(steps)
            });
            steps.wait(working);
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    })
}

/// Runs `work` on a new thread that borrows nothing. An interrupt or an exception of the bar ends the
/// call immediately. The thread ends at its next step or when its work is done, and its result is
/// dropped.
pub(crate) fn told_apart<T: Send + 'static>(
    py: Python<'_>,
    bar: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Steps) -> T + Send + 'static,
) -> PyResult<T> {
    let steps = Arc::new(Steps::new(bar)?);
    let own = Arc::clone(&steps);
    let (end, working) = mpsc::channel();
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || {
        let _end = end;
        work(&own)
    });
    let worker = worker.map_err(|e| Error::new_err(format!("cannot start a thread: {e}")))?;
    let waiting = &steps;
    if !py.detach(move || waiting.wait(working)) {
        steps.finish(py)?;
    }
    let done = py.detach(|| worker.join()).unwrap_or_else(|panic| resume_unwind(panic));
    steps.finish(py).map(|()| done)
}

/// Unwinds a thread of [`told_apart`] that cannot return early, if the call was interrupted.
pub(crate) fn end_unless(go_on: bool) {
    if !go_on {
        resume_unwind(Box::new("the call was interrupted"));
    }
}
