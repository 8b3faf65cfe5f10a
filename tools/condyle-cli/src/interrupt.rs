//! SIGHUP, SIGINT, SIGTERM and SIGXFSZ end the program after its unfinished files are removed.

#[cfg(unix)]
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{io, process, thread};

use condyle_io::job::discard_unfinished;
#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGXFSZ};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// Number of the caught signal; 0 for none.
static CAUGHT: AtomicUsize = AtomicUsize::new(0);
static IS_WATCHED: Mutex<bool> = Mutex::new(false);

/// Catches the signals, from the first output file on. Before that they end the program immediately.
pub(crate) fn watch() -> io::Result<()> {
    let mut is_watched = IS_WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_watched {
        return Ok(());
    }
    thread::Builder::new().name("signals".into()).spawn(wait_for_signals)?;
    for signal in caught() {
        flag::register_usize(signal, &CAUGHT, signal as usize)?;
    }
    *is_watched = true;
    Ok(())
}

/// Returns the signals that end the program. A signal that the parent process ignores, as `nohup` does, stays
/// ignored.
#[cfg(unix)]
fn caught() -> Vec<i32> {
    // One bit for each signal, starting with signal 1. Only Linux reports ignored signals to programs without
    // `unsafe` code.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    match ignored {
        Some(bits) => {
            let all = [SIGHUP, SIGINT, SIGTERM, SIGXFSZ];
            all.into_iter().filter(|signal| bits >> (signal - 1) & 1 == 0).collect()
        }
        // A program under `nohup` must outlive its terminal.
        None => vec![SIGINT, SIGTERM, SIGXFSZ],
    }
}

#[cfg(not(unix))]
fn caught() -> Vec<i32> {
    vec![SIGINT, SIGTERM]
}

/// Waits for a signal, then removes all unfinished files and ends the program. The handler can only set a
/// flag; on Windows it could not even wake a waiting thread.
fn wait_for_signals() {
    while CAUGHT.load(Ordering::SeqCst) == 0 {
        thread::sleep(Duration::from_millis(10));
    }
    let signal = CAUGHT.load(Ordering::SeqCst) as i32;
    // Held to the end, so that no other thread begins or finishes a file.
    let _discarded = discard_unfinished();
    // The parent process sees the signal, as without a handler; a shell reports 129, 130 or 143.
    let _ = low_level::emulate_default_handler(signal);
    process::exit(128 + signal);
}
