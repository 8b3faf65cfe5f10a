//! Many frames on several threads, each of which writes its own part of the results.

use std::mem;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

use condyle::Error as Refusal;
use pyo3::prelude::*;

use crate::errors::Error;
use crate::progress::{Pace, Steps, told};

/// Beyond this many threads each has less to do than starting it costs.
const MOST: usize = 1024;

/// What has no frames is gone through in so many elements at a time, which stay in the cache from one step to the next.
pub(crate) const CHUNK: usize = 256;

/// How many threads a caller has asked for; without a number as many as the machine runs at once.
pub(crate) fn thread_count(asked: Option<i64>) -> PyResult<Threads<'static, 'static>> {
    let Some(threads) = asked else {
        let count = thread::available_parallelism().map_or(1, NonZero::get).min(MOST);
        return Ok(Threads { count, bar: None });
    };
    match usize::try_from(threads) {
        Ok(count @ 1..=MOST) => Ok(Threads { count, bar: None }),
        _ => Err(Error::new_err(format!("threads is {threads}, 1 to {MOST} or None is wanted"))),
    }
}

/// How many threads there are, and whom they tell how far they are.
#[derive(Clone, Copy)]
pub(crate) struct Threads<'a, 'py> {
    count: usize,
    bar: Option<&'a Bound<'py, PyAny>>,
}

impl Threads<'_, '_> {
    /// A step for each frame.
    pub(crate) fn telling<'a, 'py>(self, bar: Option<&'a Bound<'py, PyAny>>) -> Threads<'a, 'py> {
        Threads { count: self.count, bar }
    }

    /// Threads of that many for a stage that shares its work out itself.
    pub(crate) fn pool(self) -> PyResult<rayon::ThreadPool> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.count).build();
        pool.map_err(|e| Error::new_err(format!("no thread can be started, ask for fewer threads: {e}")))
    }

    /// How many of so many things each of them does.
    pub(crate) fn share(self, things: usize) -> usize {
        things.div_ceil(self.count).max(1)
    }
}

/// Does `work` for each part, the first one here and each other one on a thread of its own. The error is that of the first part that has one.
///
/// Threads are started anew in each call: those of a pool would be missing in a process that Python has forked.
pub(crate) fn on_threads<T: Send>(
    mut parts: impl ExactSizeIterator<Item = T>,
    steps: &Steps,
    work: impl Fn(T) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let Some(own) = parts.next() else { return Ok(()) };
    let main = thread::current();
    thread::scope(|scope| {
        let (work, main) = (&work, &main);
        let start = |part| {
            thread::Builder::new().spawn_scoped(scope, move || {
                let done = work(part);
                main.unpark();
                done
            })
        };
        let started: Vec<_> = parts.map(start).collect();
        work(own)?;
        started.into_iter().try_for_each(|it| match it {
            Ok(it) => {
                steps.wait(|| it.is_finished());
                it.join().unwrap_or_else(|panic| resume_unwind(panic))
            }
            Err(e) => Err(format!("no thread can be started, ask for fewer threads: {e}")),
        })
    })
}

/// Results that are written together: numbers of each, and how many of them a frame has.
pub(crate) struct Planes<'a, const N: usize> {
    pub(crate) values: [&'a mut [f32]; N],
    pub(crate) widths: [usize; N],
}

impl<'a, const N: usize> Planes<'a, N> {
    /// Splits off the first frames, or what there is of them.
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

/// Does `work` for each frame on so many threads, each with what `start` makes for it. It gets the frame and its part of each result.
///
/// The numbers are the same for any number of threads, and so is the error: that of the first frame that has one.
pub(crate) fn for_each_frame<const N: usize, W>(
    py: Python<'_>,
    threads: Threads<'_, '_>,
    frames: usize,
    mut planes: Planes<'_, N>,
    start: impl Fn() -> Result<W, Refusal> + Sync,
    work: impl Fn(&mut W, usize, [&mut [f32]; N]) -> Result<(), Refusal> + Sync,
) -> PyResult<()> {
    // Frames of no numbers at all are all done.
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
