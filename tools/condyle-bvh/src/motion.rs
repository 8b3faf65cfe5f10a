//! Reads the second part of a file: the number of frames, the frame time, and a row of numbers for each
//! frame.

use crate::number::{self, is_space, last_digit, plain};
use crate::problem::{Fault, Kind, Problems, quoted};
use crate::scanner::Scanner;

/// Frames per second if the file does not specify them.
const USUAL_RATE: f64 = 30.0;

/// Valid frame times in seconds: from a millionth of a second to a day.
pub(crate) const FRAME_TIMES: std::ops::RangeInclusive<f64> = 1e-6..=86_400.0;

/// The frames of a file.
pub(crate) struct Motion {
    pub(crate) frame_time: f64,
    pub(crate) frame_rate: f64,
    pub(crate) frame_count: usize,
    /// The values of all frames, `channels` values for each.
    pub(crate) values: Vec<f64>,
}

pub(crate) fn read(
    scanner: &mut Scanner<'_>,
    channels: usize,
    problems: &mut Problems,
) -> Result<Motion, Fault> {
    let (at, word) = scanner.clone().word();
    if word.is_empty() {
        problems.warn(Kind::NoMotion, at, || ("MOTION is missing".into(), "only the skeleton is read"));
        let frame_time = 1.0 / USUAL_RATE;
        return Ok(Motion { frame_time, frame_rate: USUAL_RATE, frame_count: 0, values: Vec::new() });
    }
    scanner.expect("MOTION")?;
    let mut asked = frame_count(scanner)?;
    let before = scanner.at;
    let (frame_time, frame_rate) = frame_time(scanner, problems)?;
    if asked.is_none() {
        asked = frame_count(scanner)?;
    }
    if asked.is_none() {
        let say = || ("`Frames:` is missing".into(), "all rows are read");
        problems.warn(Kind::NoCount, before, say);
    }
    let values = match channels {
        0 => no_values(scanner, asked, problems),
        _ => values(scanner, channels, asked, problems)?,
    };
    let frame_count = values.len() / channels.max(1);
    // If the file declares more frames than it has, `check_count` reports that.
    if frame_count == 0 && channels > 0 && asked.is_none_or(|asked| asked.frames == 0) {
        let at = asked.map_or(before, |asked| asked.at);
        let found = if asked.is_some() { "`Frames:` declares 0" } else { "there are no frames" };
        problems.warn(Kind::NoFrames, at, || (found.into(), "only the skeleton is read"));
    }
    Ok(Motion { frame_time, frame_rate, frame_count, values })
}

/// The number in `Frames:`, and its position.
#[derive(Clone, Copy)]
struct Asked {
    frames: usize,
    at: usize,
}

/// Reads `Frames: 24`; `None` if it is missing. Some files have it after `Frame Time:`.
fn frame_count(scanner: &mut Scanner<'_>) -> Result<Option<Asked>, Fault> {
    scanner.skip_space();
    let at = scanner.at;
    if !scanner.take_label(&["Frames"]) {
        return Ok(None);
    }
    let number = scanner.clone();
    let count = scanner.number("the number of frames")?;
    if count >= 0.0 && count.fract() == 0.0 {
        // The cast saturates, which is harmless: no file holds that many frames.
        return Ok(Some(Asked { frames: count as usize, at }));
    }
    Err(number.unexpected("the number of frames"))
}

/// Reads `Frame Time: 0.0333333`. Returns the seconds and the frame rate.
fn frame_time(scanner: &mut Scanner<'_>, problems: &mut Problems) -> Result<(f64, f64), Fault> {
    scanner.skip_space();
    let at = scanner.at;
    let found = if scanner.take_label(&["Frame", "Time"]) {
        let (_, word) = scanner.clone().word();
        let seconds = scanner.number("the frame time in seconds")?;
        if FRAME_TIMES.contains(&seconds) {
            return Ok((seconds, rate(seconds, last_digit(word))));
        }
        format!("the frame time is {}, expected from 0.000001 to 86400 seconds", quoted(word))
    } else {
        "`Frame Time:` is missing".into()
    };
    problems.warn(Kind::FrameTime, at, || (found, "30 frames per second are assumed"));
    Ok((1.0 / USUAL_RATE, USUAL_RATE))
}

/// Returns the frames per second. If `seconds` is the rounded or truncated frame time of exactly one integer
/// rate, returns that rate: 0.0083333 gives 120.
///
/// A rounded number is off by half a unit of the last digit, a truncated one by less than one unit.
fn rate(seconds: f64, last_digit: f64) -> f64 {
    let whole = (1.0 / seconds).round();
    let fits = |rate: f64| {
        let (off, hair) = (1.0 / rate - seconds, 1e-9 * last_digit);
        rate >= 1.0 && off >= -0.5 * last_digit - hair && off < last_digit - hair
    };
    if fits(whole) && !fits(whole - 1.0) && !fits(whole + 1.0) { whole } else { 1.0 / seconds }
}

/// Handles a file in which no joint has channels, so that frames hold no data.
fn no_values(scanner: &mut Scanner<'_>, asked: Option<Asked>, problems: &mut Problems) -> Vec<f64> {
    if let Some(asked) = asked.filter(|asked| asked.frames > 0) {
        let say = || ("there are frames, but no joint has CHANNELS".into(), "only the skeleton is read");
        problems.warn(Kind::NoChannels, asked.at, say);
    } else {
        tell_more(scanner, 0, problems);
    }
    Vec::new()
}

/// Reports text after the frames.
fn tell_more(scanner: &mut Scanner<'_>, found: usize, problems: &mut Problems) {
    scanner.skip_space();
    if scanner.at < scanner.text.len() {
        let what = format!("more text follows the {found} frames");
        problems.warn(Kind::More, scanner.at, || (what, "it is ignored"));
    }
}

/// Reads all rows as one sequence of numbers, so that a row can continue on the next line.
fn values(
    scanner: &mut Scanner<'_>,
    channels: usize,
    asked: Option<Asked>,
    problems: &mut Problems,
) -> Result<Vec<f64>, Fault> {
    let text = scanner.text;
    // Each number takes at least two bytes, so memory is bounded by the file size, not by the declared count.
    let possible = (text.len() - scanner.at) / 2 + 1;
    let wanted = asked.map_or(usize::MAX, |asked| asked.frames.saturating_mul(channels));
    let mut values = vec![0.0; wanted.min(possible)];
    let mut count = 0;
    let mut at = scanner.at;
    let mut row_end = channels;
    let mut uneven = false;
    while count < values.len() {
        let row = row_end.min(values.len());
        (count, at) = plain_numbers(text, at, &mut values[..row], count);
        if at == text.len() && count < row {
            break;
        }
        if count < row {
            let above = count.checked_sub(channels).map(|above| values[above]);
            let length;
            (values[count], length) = unusual(scanner, at, above, problems)?;
            count += 1;
            at += length;
        }
        if count == row_end {
            row_end += channels;
            if !uneven && !is_line_end(&text[at..]) {
                uneven = true;
                tell_uneven(channels, at, problems);
            }
        }
    }
    values.truncate(count);
    scanner.at = at;
    check_count(scanner, &mut values, channels, asked, problems);
    Ok(values)
}

/// Reads plain numbers into `values`, starting at index `count`, until a word that is not a plain number.
/// Returns the new count and the position in the text. It is a separate function so that all its variables
/// stay in registers.
#[inline(never)]
fn plain_numbers(text: &[u8], mut at: usize, values: &mut [f64], mut count: usize) -> (usize, usize) {
    for value in &mut values[count..] {
        while text.get(at).is_some_and(|byte| is_space(*byte)) {
            at += 1;
        }
        let Some((number, length)) = text.get(at..).and_then(plain) else { break };
        *value = number;
        at += length;
        count += 1;
    }
    (count, at)
}

/// Reads a word that is not a plain number, and returns its value and length. `above` is the value of the
/// previous frame.
#[cold]
fn unusual(
    scanner: &Scanner<'_>,
    at: usize,
    above: Option<f64>,
    problems: &mut Problems,
) -> Result<(f64, usize), Fault> {
    let mut ahead = Scanner { at, ..scanner.clone() };
    let (_, word) = ahead.word();
    let Some(value) = number::unusual(word) else {
        return Err(Scanner { at, ..scanner.clone() }.unexpected("a number of a frame"));
    };
    if value.is_finite() {
        return Ok((value, word.len()));
    }
    let say = || {
        (
            format!("a number of a frame is {}", quoted(word)),
            "the number of the previous frame, or 0, is used instead",
        )
    };
    problems.warn(Kind::NotFinite, at, say);
    Ok((above.unwrap_or(0.0), word.len()))
}

/// Returns whether only spaces precede the end of the line.
#[inline(always)]
fn is_line_end(rest: &[u8]) -> bool {
    let first = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    first.is_none_or(|byte| matches!(byte, b'\n' | b'\r'))
}

#[cold]
fn tell_uneven(channels: usize, at: usize, problems: &mut Problems) {
    let what = format!("a frame of {channels} numbers does not end at the end of a line");
    problems.warn(Kind::Uneven, at, || (what, "numbers are read in order, regardless of lines"));
}

/// Drops an incomplete last row, and reports a number of rows that differs from the declared one.
fn check_count(
    scanner: &mut Scanner<'_>,
    values: &mut Vec<f64>,
    channels: usize,
    asked: Option<Asked>,
    problems: &mut Problems,
) {
    let part = values.len() % channels;
    if part > 0 {
        let what = format!("the last frame has {part} numbers, expected {channels}");
        problems.warn(Kind::PartOfARow, scanner.at, || (what, "it is ignored"));
        values.truncate(values.len() - part);
    }
    let found = values.len() / channels;
    if let Some(asked) = asked
        && found < asked.frames
    {
        let what = format!("`Frames:` declares {}, but the file has {found}", asked.frames);
        problems.warn(Kind::Rows, asked.at, || (what, "the frames in the file are used"));
    }
    tell_more(scanner, found, problems);
    if values.capacity() / 2 > values.len() {
        values.shrink_to_fit();
    }
}
