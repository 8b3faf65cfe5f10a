//! The second part of a file: how many frames there are, how long each lasts, and a row of numbers for each.

use crate::number::{self, is_space, last_digit, plain};
use crate::problem::{Fault, Kind, Problems, quoted};
use crate::scanner::Scanner;

/// Frames per second where the file does not say.
const USUAL_RATE: f64 = 30.0;

/// Seconds that a frame may last: from a millionth to a day.
pub(crate) const FRAME_TIMES: std::ops::RangeInclusive<f64> = 1e-6..=86_400.0;

/// What the file says of its frames.
pub(crate) struct Motion {
    pub(crate) frame_time: f64,
    pub(crate) frame_rate: f64,
    pub(crate) frame_count: usize,
    /// `channels` numbers for each frame.
    pub(crate) values: Vec<f64>,
}

pub(crate) fn read(
    scanner: &mut Scanner<'_>,
    channels: usize,
    problems: &mut Problems,
) -> Result<Motion, Fault> {
    let (at, word) = scanner.clone().word();
    if word.is_empty() {
        problems.warn(Kind::NoMotion, at, || ("there is no MOTION".into(), "only the skeleton is read"));
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
        let say = || ("there is no Frames: with their number".into(), "all rows are taken");
        problems.warn(Kind::NoCount, before, say);
    }
    let values = match channels {
        0 => no_values(scanner, asked, problems),
        _ => values(scanner, channels, asked, problems)?,
    };
    let frame_count = values.len() / channels.max(1);
    // Where it says more than there are, that is reported.
    if frame_count == 0 && channels > 0 && asked.is_none_or(|asked| asked.frames == 0) {
        let at = asked.map_or(before, |asked| asked.at);
        let found = if asked.is_some() { "Frames: says 0" } else { "there are no frames" };
        problems.warn(Kind::NoFrames, at, || (found.into(), "only the skeleton is read"));
    }
    Ok(Motion { frame_time, frame_rate, frame_count, values })
}

/// What `Frames:` says, and where.
#[derive(Clone, Copy)]
struct Asked {
    frames: usize,
    at: usize,
}

/// `Frames: 24`; `None` where it is missing. Some write it behind `Frame Time:`.
fn frame_count(scanner: &mut Scanner<'_>) -> Result<Option<Asked>, Fault> {
    scanner.skip_space();
    let at = scanner.at;
    if !scanner.take_label(&["Frames"]) {
        return Ok(None);
    }
    let number = scanner.clone();
    let count = scanner.number("the number of Frames")?;
    if count >= 0.0 && count.fract() == 0.0 {
        // Greater ones are out of reach anyway.
        return Ok(Some(Asked { frames: count as usize, at }));
    }
    Err(number.unexpected("the number of Frames"))
}

/// `Frame Time: 0.0333333`: seconds, and what that is as a rate.
fn frame_time(scanner: &mut Scanner<'_>, problems: &mut Problems) -> Result<(f64, f64), Fault> {
    scanner.skip_space();
    let at = scanner.at;
    let found = if scanner.take_label(&["Frame", "Time"]) {
        let (_, word) = scanner.clone().word();
        let seconds = scanner.number("the Frame Time in seconds")?;
        if FRAME_TIMES.contains(&seconds) {
            return Ok((seconds, rate(seconds, last_digit(word))));
        }
        format!("Frame Time is {}, which is no number of seconds from a millionth to a day", quoted(word))
    } else {
        "there is no Frame Time:".into()
    };
    problems.warn(Kind::FrameTime, at, || (found, "30 frames per second are assumed"));
    Ok((1.0 / USUAL_RATE, USUAL_RATE))
}

/// Frames per second. 0.0083333 is meant to be 1/120: where the time of one whole number of frames per second may be printed so, and
/// of none beside it, it is that one. What is rounded is off by half a unit of the last digit, what is cut off by less than one.
fn rate(seconds: f64, last_digit: f64) -> f64 {
    let whole = (1.0 / seconds).round();
    let fits = |rate: f64| {
        let (off, hair) = (1.0 / rate - seconds, 1e-9 * last_digit);
        rate >= 1.0 && off >= -0.5 * last_digit - hair && off < last_digit - hair
    };
    if fits(whole) && !fits(whole - 1.0) && !fits(whole + 1.0) { whole } else { 1.0 / seconds }
}

/// Where no joint has channels, there is nothing to take from frames.
fn no_values(scanner: &mut Scanner<'_>, asked: Option<Asked>, problems: &mut Problems) -> Vec<f64> {
    if let Some(asked) = asked.filter(|asked| asked.frames > 0) {
        let say = || ("there are frames, but no joint has CHANNELS".into(), "only the skeleton is read");
        problems.warn(Kind::NoChannels, asked.at, say);
    } else {
        tell_more(scanner, 0, problems);
    }
    Vec::new()
}

/// Whatever is behind the frames.
fn tell_more(scanner: &mut Scanner<'_>, found: usize, problems: &mut Problems) {
    scanner.skip_space();
    if scanner.at < scanner.text.len() {
        let what = format!("there is more behind the {found} frames that Frames: says");
        problems.warn(Kind::More, scanner.at, || (what, "it is left out"));
    }
}

/// All rows. They are taken as one run of numbers, so that a row may go on in the next line.
fn values(
    scanner: &mut Scanner<'_>,
    channels: usize,
    asked: Option<Asked>,
    problems: &mut Problems,
) -> Result<Vec<f64>, Fault> {
    let text = scanner.text;
    // Each number takes two bytes at least, so that memory is in proportion to the file whatever it says of itself.
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

/// Reads numbers into `values` from the one at `count` on, up to what is no plain one: how many there are then, and where it goes on. A function
/// of its own, so that all it needs stays in registers.
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

/// A word that is no plain number, and its length. `above` is the number of the frame before.
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
    let say =
        || (format!("a number of a frame is {}", quoted(word)), "that of the frame before is taken, or 0");
    problems.warn(Kind::NotFinite, at, say);
    Ok((above.unwrap_or(0.0), word.len()))
}

/// Whether nothing but spaces comes before the end of the line.
#[inline(always)]
fn is_line_end(rest: &[u8]) -> bool {
    let first = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    first.is_none_or(|byte| matches!(byte, b'\n' | b'\r'))
}

#[cold]
fn tell_uneven(channels: usize, at: usize, problems: &mut Problems) {
    let what = format!("a line does not end with a frame: frames have {channels} numbers");
    problems.warn(Kind::Uneven, at, || (what, "numbers are taken in their order, whatever line they are in"));
}

/// Leaves whole rows, and tells where there are more or fewer than the file says.
fn check_count(
    scanner: &mut Scanner<'_>,
    values: &mut Vec<f64>,
    channels: usize,
    asked: Option<Asked>,
    problems: &mut Problems,
) {
    let part = values.len() % channels;
    if part > 0 {
        let what = format!("the last frame has {part} numbers instead of {channels}");
        problems.warn(Kind::PartOfARow, scanner.at, || (what, "it is left out"));
        values.truncate(values.len() - part);
    }
    let found = values.len() / channels;
    if let Some(asked) = asked
        && found < asked.frames
    {
        let what = format!("Frames: says {}, but there are {found}", asked.frames);
        problems.warn(Kind::Rows, asked.at, || (what, "those that are there are taken"));
    }
    tell_more(scanner, found, problems);
    if values.capacity() / 2 > values.len() {
        values.shrink_to_fit();
    }
}
