//! Work on many frames on several threads. Each thread writes a separate part of the results.

use std::mem;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;

use condyle::Error as Refusal;
use pyo3::prelude::*;

use crate::errors::Error;
use crate::progress::{Pace, Steps, told};

/// Maximum number of threads. With more, starting a thread takes longer than the work it does.
const MOST: usize = 1024;

/// Number of elements per step if there are no frames. This many stay in the cache between steps.
pub(crate) const CHUNK: usize = 256;

/// Number of threads that the caller requested. Default: as many as the machine runs in parallel.
pub(crate) fn thread_count(asked: Option<i64>) -> PyResult<Threads<'static, 'static>> {
    let Some(threads) = asked else {
        let count = thread::available_parallelism().map_or(1, NonZero::get).min(MOST);
        return Ok(Threads { count, bar: None });
    };
    match usize::try_from(threads) {
        Ok(count @ 1..=MOST) => Ok(Threads { count, bar: None }),
        _ => Err(Error::new_err(format!("threads must be 1 to {MOST} or None, got {threads}"))),
    }
}

/// Number of threads, and the progress bar they update.
#[derive(Clone, Copy)]
pub(crate) struct Threads<'a, 'py> {
    count: usize,
    bar: Option<&'a Bound<'py, PyAny>>,
}

impl Threads<'_, '_> {
    /// Sets a bar that gets one step per frame.
    pub(crate) fn telling<'a, 'py>(self, bar: Option<&'a Bound<'py, PyAny>>) -> Threads<'a, 'py> {
        Threads { count: self.count, bar }
    }

    /// Thread pool of this size, for a stage that distributes its work itself.
    pub(crate) fn pool(self) -> PyResult<rayon::ThreadPool> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.count).build();
        pool.map_err(|e| Error::new_err(format!("cannot start a thread, use fewer threads: {e}")))
    }

    /// Number of items that each thread processes.
    pub(crate) fn share(self, things: usize) -> usize {
        things.div_ceil(self.count).max(1)
    }
}

/// Runs `work` for each part: the first part on this thread, each other part on a new thread. Returns
/// the error of the first failing part.
///
/// Threads are started in each call. The threads of a pool would not exist in a process forked by
/// Python.
pub(crate) fn on_threads<T: Send>(
    mut parts: impl ExactSizeIterator<Item = T>,
    steps: &Steps,
    work: impl Fn(T) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let Some(own) = parts.next() else { return Ok(()) };
    thread::scope(|scope| {
        let work = &work;
        let start = |part| {
            let (end, working) = mpsc::channel();
            let worker = thread::Builder::new().spawn_scoped(scope, move || {
                let _end = end;
                work(part)
            });
            worker.map(|worker| (worker, working))
        };
        let started: Vec<_> = parts.map(start).collect();
        let own = work(own);
        let others = started.into_iter().map(|it| match it {
            Ok((worker, working)) => {
                steps.wait(working);
                worker.join().unwrap_or_else(|panic| resume_unwind(panic))
            }
            Err(e) => Err(format!("cannot start a thread, use fewer threads: {e}")),
        });
        // Waits for all, also after an error, so that an interrupt is heard.
        let others = others.collect::<Vec<_>>();
        own.and(others.into_iter().collect())
    })
}

/// Arrays written by one call, and the number of values per frame of each.
pub(crate) struct Planes<'a, const N: usize> {
    pub(crate) values: [&'a mut [f32]; N],
    pub(crate) widths: [usize; N],
}

impl<'a, const N: usize> Planes<'a, N> {
    /// Splits off the next frames, or fewer if not that many remain.
    fn take(&mut self, frames: usize) -> [&'a mut [f32]; N] {
        let mut widths = self.widths.iter();
        self.values.each_mut().map(|values| {
            let width = widths.next().copied().unwrap_or(0);
            let all = mem::take(values);
            let (first, rest) = all.split_at_mut((frames * width).min(all.len()));
            *values = rest;
            first
        })
    }
}

/// Runs `work` for each frame on several threads, each with a workspace created by `start`. `work`
/// receives the frame and its part of each result.
///
/// The results do not depend on the number of threads. The returned error always belongs to the first
/// failing frame.
pub(crate) fn for_each_frame<const N: usize, W>(
    py: Python<'_>,
    threads: Threads<'_, '_>,
    frames: usize,
    mut planes: Planes<'_, N>,
    start: impl Fn() -> Result<W, Refusal> + Sync,
    work: impl Fn(&mut W, usize, [&mut [f32]; N]) -> Result<(), Refusal> + Sync,
) -> PyResult<()> {
    // Frames without any values need no work.
    if frames == 0
        || planes.values.iter().all(|values| values.is_empty())
            && planes.widths.iter().all(|width| *width == 0)
    {
        return Ok(());
    }
    let most = threads.share(frames);
    let parts: Vec<_> = (0..frames)
        .step_by(most)
        .map(|first| {
            let count = most.min(frames - first);
            (first, count, Planes { values: planes.take(count), widths: planes.widths })
        })
        .collect();
    let done = told(py, threads.bar, |steps| {
        on_threads(parts.into_iter(), steps, |(first, count, mut planes)| {
            let mut own = start().map_err(|e| e.to_string())?;
            let mut pace = Pace::default();
            for frame in first..first + count {
                work(&mut own, frame, planes.take(1)).map_err(|e| format!("frame {frame}: {e}"))?;
                if !steps.add_short(&mut pace) {
                    break;
                }
            }
            Ok(())
        })
    })?;
    done.map_err(Error::new_err)
}
