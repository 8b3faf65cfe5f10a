//! Properties of the machine, as far as the system reports them.

use std::fs;

/// Memory level that holds data in repeated use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    L1,
    L2,
    L3,
    Main,
}

/// Fastest first.
pub(crate) const MEMORIES: [Memory; 4] = [Memory::L1, Memory::L2, Memory::L3, Memory::Main];

/// Larger than any cache.
const MUCH: usize = 128 << 20;

impl Memory {
    /// Fastest level that holds this number of bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        let fits = |memory: &Self| memory.capacity().is_some_and(|capacity| bytes <= capacity);
        MEMORIES.into_iter().find(fits).unwrap_or(Self::Main)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::Main => "memory",
        }
    }

    /// Capacity in bytes. A common value if the system does not report it; `None` for main memory.
    fn capacity(self) -> Option<usize> {
        let (level, common) = match self {
            Self::L1 => ("1", 32 << 10),
            Self::L2 => ("2", 1 << 20),
            Self::L3 => ("3", 32 << 20),
            Self::Main => return None,
        };
        let told = (0..8).find_map(|index| {
            let read = |what: &str| {
                fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}")).ok()
            };
            let holds_data = matches!(read("type")?.trim(), "Data" | "Unified");
            if !holds_data || read("level")?.trim() != level {
                return None;
            }
            read("size")?.trim().strip_suffix('K')?.parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
        });
        Some(told.unwrap_or(common))
    }

    /// Number of bytes that fit this level and no faster one. It is a few times the capacity of the faster
    /// level, because the last cache is often shared and much larger than one core's part.
    pub(crate) fn working_set(self) -> usize {
        let nearer = MEMORIES.into_iter().rev().skip_while(|memory| *memory != self).nth(1);
        let nearer = nearer.and_then(Self::capacity).unwrap_or(0);
        match self.capacity() {
            Some(capacity) if nearer == 0 => capacity / 2,
            Some(capacity) => (4 * nearer).min(nearer.midpoint(capacity)),
            None => (4 * nearer).max(MUCH),
        }
    }
}

/// Ticks of the processor's time-stamp counter per nanosecond, independent of the core clock. `None` if there
/// is no counter.
pub(crate) fn ticks_per_ns() -> Option<f64> {
    #[cfg(target_arch = "x86_64")]
    {
        // About a minute of ticks. The clock was calibrated against the system clock when it was created, and
        // counts nanoseconds if it found no counter.
        const TICKS: u64 = 1 << 37;
        let ns = quanta::Clock::new().delta_as_nanos(0, TICKS);
        (ns != TICKS).then_some(TICKS as f64 / ns as f64)
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// Name of the processor, or its architecture if the system does not report one.
#[must_use]
pub fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let value = info.lines().find_map(|line| line.strip_prefix(name)?.split_once(": "))?.1;
        Some(value.trim().to_owned())
    };
    let Some(name) = field("model name") else {
        return std::env::consts::ARCH.into();
    };
    match (field("cpu family"), field("model\t")) {
        (Some(family), Some(model)) => format!("{name}, family {family}, model {model}"),
        _ => name,
    }
}

/// Load average of the last minute, and the number of CPUs: `load 0.31 on 2 CPUs`. `None` if the system does
/// not report the load.
#[must_use]
pub fn load() -> Option<String> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    let minute = load.split_whitespace().next()?;
    let cpus = std::thread::available_parallelism().ok()?;
    Some(format!("load {minute} on {cpus} CPUs"))
}

/// Current date in UTC, as year, month and day.
#[must_use]
pub fn date() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut days = now.map_or(0, |since| since.as_secs() / 86_400);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_lies_in_the_nearest_memory_that_holds_it() {
        assert_eq!(Memory::of(1024), Memory::L1);
        assert_eq!(Memory::of(usize::MAX), Memory::Main);
        for memory in MEMORIES {
            assert_eq!(Memory::of(memory.working_set()), memory);
        }
    }

    #[test]
    fn a_date_is_a_date() {
        let date = date();
        let parts: Vec<u32> = date.split('-').map(|part| part.parse().expect("a number")).collect();
        assert!(parts[0] >= 2025 && (1..=12).contains(&parts[1]) && (1..=31).contains(&parts[2]), "{date}");
    }
}
