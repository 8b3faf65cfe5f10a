//! What every hostile document must keep to: no panic, a limit on time, and one on memory.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use condyle_gltf::{Asset, Refused};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory is counted for the whole process, so one document at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Of the processor where that is known, so that what else the machine does makes nothing fail.
const TIME_LIMIT: Duration = Duration::from_secs(2);
const MEMORY_LIMIT: usize = 300 << 20;
/// What an import may take on top of a fixed sum, for each byte of the document: the importer's own allowance is 32 bytes
/// of decoded data, which are held twice for a moment.
const MEMORY_PER_BYTE: usize = 80;
const MEMORY_BASE: usize = 160 << 20;

/// When something began: on the clock of the wall, and of the processor for this thread.
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

    /// Linux tells the nanoseconds that this thread has run.
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
    let _one = ONE_AT_A_TIME.lock();
    let before = MEMORY.current_usage();
    let start = Clock::now();
    let mut import_peak = 0;
    MEMORY.reset_peak_usage();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let result = import();
        import_peak = MEMORY.peak_usage().saturating_sub(before);
        match &result {
            Ok(asset) => crate::exercise::play(asset),
            Err(refused) => crate::exercise::check_refusal(refused),
        }
        result
    }));
    let peak = MEMORY.peak_usage().saturating_sub(before);
    let time = start.elapsed();
    let Ok(result) = result else { panic!("{case}: panicked, see above") };
    assert!(time < TIME_LIMIT, "{case}: took {time:?}");
    let limit = MEMORY_BASE + size.saturating_mul(MEMORY_PER_BYTE);
    assert!(import_peak < limit, "{case}: {size} bytes took {import_peak} bytes of memory to import");
    assert!(size > 1 << 20 || peak < MEMORY_LIMIT, "{case}: {size} bytes took {peak} bytes of memory");
    result
}

/// Reproducible and no more (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % limit
    }
}
