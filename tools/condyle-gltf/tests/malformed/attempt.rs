//! Limits for every hostile document: no panic, limited time and limited memory.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use allocation_counter::measure;
use condyle_gltf::{Asset, Refused};

/// Time limit for a document. It applies to the thread's CPU time if available, so that other load on the
/// machine fails no test. It is twice the slowest document's time, because two threads can share a core.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Additional time for each byte of a document.
const TIME_PER_BYTE: Duration = Duration::from_nanos(1000);
const MEMORY_LIMIT: usize = 300 << 20;
/// Additional memory for an import for each byte of the document. The importer allows 32 bytes of decoded
/// data, of which two copies exist for a short time.
const MEMORY_PER_BYTE: usize = 80;
const MEMORY_BASE: usize = 160 << 20;

/// A start time on the wall clock and in CPU time of this thread.
struct Clock {
    wall: Instant,
    processor: Option<Duration>,
}

impl Clock {
    fn now() -> Self {
        Self { wall: Instant::now(), processor: Self::processor() }
    }

    fn elapsed(&self) -> Duration {
        let (now, before) = (Self::processor(), self.processor);
        now.zip(before).map_or_else(|| self.wall.elapsed(), |(now, before)| now.saturating_sub(before))
    }

    /// Reads the CPU time of this thread from Linux.
    fn processor() -> Option<Duration> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
    }
}

pub(crate) fn attempt_with(
    case: impl Display,
    size: usize,
    import: impl FnOnce() -> Result<Asset, Refused>,
) -> Result<Asset, Refused> {
    let start = Clock::now();
    let mut result = None;
    let (mut imported, mut played) = Default::default();
    let run = AssertUnwindSafe(|| {
        // Measures this thread only, so that documents of other tests do not count.
        imported = measure(|| result = Some(import()));
        played = measure(|| match &result {
            Some(Ok(asset)) => crate::exercise::play(asset),
            Some(Err(refused)) => crate::exercise::check_refusal(refused),
            None => {}
        });
    });
    let ended = catch_unwind(run);
    let time = start.elapsed();
    let (Ok(()), Some(result)) = (ended, result) else { panic!("{case}: panicked, see above") };
    let time_limit = TIME_LIMIT + TIME_PER_BYTE * size.try_into().unwrap_or(u32::MAX);
    assert!(time < time_limit, "{case}: {size} bytes took {time:?}");
    let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let import_peak = bytes(imported.bytes_max);
    let held = bytes(imported.bytes_current.try_into().unwrap_or(0));
    let peak = import_peak.max(held.saturating_add(bytes(played.bytes_max)));
    let limit = MEMORY_BASE + size.saturating_mul(MEMORY_PER_BYTE);
    assert!(import_peak < limit, "{case}: {size} bytes took {import_peak} bytes of memory to import");
    assert!(size > 1 << 20 || peak < MEMORY_LIMIT, "{case}: {size} bytes took {peak} bytes of memory");
    result
}
