//! The instances of a crowd, one after another; with the feature `rayon` in parts, on the threads of the pool.

use alloc::vec;
use alloc::vec::Vec;

use crate::error::Error;
#[cfg(feature = "rayon")]
use crate::simd::Dispatch;

/// Every part but the last has a multiple of this many instances: the lanes of [`model::crowd`](crate::model::crowd).
const STEP: usize = 8;

/// What a part needs at least to be worth a thread's while: some twenty microseconds of the cheapest stage.
#[cfg(feature = "rayon")]
const LEAST: usize = 128;

/// In how many parts so many instances are gone through.
#[cfg(feature = "rayon")]
pub(crate) fn part_count(instances: usize) -> usize {
    // A crowd of one part does not even ask for the pool, which the first to ask would start.
    let parts = (instances / LEAST).max(1);
    match if parts > 1 { rayon::current_num_threads() } else { 1 } {
        1 => 1,
        // Several for each thread, as some take longer than others.
        threads => parts.min(4 * threads),
    }
}

/// In how many parts so many instances are gone through.
#[cfg(not(feature = "rayon"))]
pub(crate) fn part_count(_: usize) -> usize {
    1
}

/// Does `work` for parts of a crowd: it gets the part's first instance, what it writes, which is `width` elements
/// for each instance, and one of `scratch`, of which there is one for each part.
pub(crate) fn for_each_part<T: Send, S: Send>(
    out: &mut [T],
    width: usize,
    scratch: &mut [S],
    work: impl Fn(usize, &mut [T], &mut S) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    if out.is_empty() {
        return Ok(());
    }
    let instances = out.len() / width;
    let len = instances.div_ceil(scratch.len()).next_multiple_of(STEP);
    #[cfg(feature = "rayon")]
    if scratch.len() > 1 {
        use rayon::prelude::*;
        // The choice of this thread is not that of those in the pool.
        let dispatch = Dispatch::current();
        let parts = out.par_chunks_mut(len * width).zip(scratch).enumerate();
        return parts
            .try_for_each(|(part, (out, scratch))| dispatch.scope(|| work(part * len, out, scratch)));
    }
    let mut parts = out.chunks_mut(len * width).zip(scratch).enumerate();
    parts.try_for_each(|(part, (out, scratch))| work(part * len, out, scratch))
}

/// [`for_each_part`] for two lists of what is written, one element of each for an instance.
pub(crate) fn for_each_part_of_two<A: Send, B: Send, S: Send>(
    first: &mut [A],
    second: &mut [B],
    scratch: &mut [S],
    work: impl Fn(usize, &mut [A], &mut [B], &mut S) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    if first.is_empty() {
        return Ok(());
    }
    let len = first.len().div_ceil(scratch.len()).next_multiple_of(STEP);
    #[cfg(feature = "rayon")]
    if scratch.len() > 1 {
        use rayon::prelude::*;
        let dispatch = Dispatch::current();
        let both = first.par_chunks_mut(len).zip(second.par_chunks_mut(len));
        return both.zip(scratch).enumerate().try_for_each(|(part, ((first, second), scratch))| {
            dispatch.scope(|| work(part * len, first, second, scratch))
        });
    }
    let mut parts = first.chunks_mut(len).zip(second.chunks_mut(len)).zip(scratch).enumerate();
    parts.try_for_each(|(part, ((first, second), scratch))| work(part * len, first, second, scratch))
}

/// Does `work` for each instance with its place and what it writes, of which there is one for each.
pub(crate) fn for_each<T: Send>(
    out: &mut [T],
    work: impl Fn(usize, &mut T) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    for_each_part(out, 1, &mut no_scratch(out.len()), |first, out, ()| {
        (first..).zip(out).try_for_each(|(instance, out)| work(instance, out))
    })
}

/// For the parts of so many instances, where they need none. It takes no memory, so nothing is allocated.
pub(crate) fn no_scratch(instances: usize) -> Vec<()> {
    vec![(); part_count(instances)]
}
