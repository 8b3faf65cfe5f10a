//! Many frames on several threads, each of which writes its own part of the results.

use std::mem;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

use condyle::Error as Refusal;
use pyo3::prelude::*;

use crate::errors::Error;

/// Beyond this many threads each has less to do than starting it costs.
const MOST: usize = 1024;

/// What has no frames is gone through in so many elements at a time, which stay in the cache from one step to the next.
pub(crate) const CHUNK: usize = 256;

/// How many threads a caller has asked for; without a number as many as the machine runs at once.
pub(crate) fn thread_count(asked: Option<i64>) -> PyResult<usize> {
    let Some(threads) = asked else {
        return Ok(thread::available_parallelism().map_or(1, NonZero::get).min(MOST));
    };
    match usize::try_from(threads) {
        Ok(threads @ 1..=MOST) => Ok(threads),
        _ => Err(Error::new_err(format!("threads is {threads}, 1 to {MOST} or None is wanted"))),
    }
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
    threads: usize,
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
    let part = |first: usize, count: usize, mut planes: Planes<'_, N>| -> Result<(), String> {
        let mut own = start().map_err(|e| e.to_string())?;
        for frame in first..first + count {
            work(&mut own, frame, planes.take(1)).map_err(|e| format!("frame {frame}: {e}"))?;
        }
        Ok(())
    };
    let most = frames.div_ceil(threads);
    let done = py.detach(|| {
        if most == frames {
            return part(0, frames, planes);
        }
        thread::scope(|scope| {
            let part = &part;
            let mut parts = Vec::new();
            for first in (0..frames).step_by(most) {
                let count = most.min(frames - first);
                let own = Planes { values: planes.take(count), widths: planes.widths };
                let spawned = thread::Builder::new().spawn_scoped(scope, move || part(first, count, own));
                parts.push(
                    spawned.map_err(|e| format!("no thread can be started, ask for fewer threads: {e}"))?,
                );
            }
            let results: Vec<_> = parts.into_iter().map(thread::ScopedJoinHandle::join).collect();
            results.into_iter().try_for_each(|done| done.unwrap_or_else(|panic| resume_unwind(panic)))
        })
    });
    done.map_err(Error::new_err)
}
