//! Parses decimal numbers from bytes, correctly rounded.
//!
//! Almost all numbers in such files have at most 15 digits and a short exponent. Their digits as an integer
//! and the power of ten are both exact in f64. A single division or multiplication therefore rounds only
//! once. Source: Clinger 1990, "How to read floating point numbers accurately". All other numbers are parsed
//! by the standard library.

/// Powers of ten that are exact in f64.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Returns whether a byte is white space.
#[inline(always)]
pub(crate) fn is_space(byte: u8) -> bool {
    // Space, and tab, line feed, vertical tab, form feed and carriage return.
    byte == b' ' || byte.wrapping_sub(9) < 5
}

/// Returns the number at the start of `text` and its length in bytes, for plain numbers that end before white
/// space or at the end. `None` for all other forms.
#[inline(always)]
pub(crate) fn plain(text: &[u8]) -> Option<(f64, usize)> {
    let sign = usize::from(text.first() == Some(&b'-'));
    short(text, sign).or_else(|| {
        let (value, length) = long(text.get(sign..)?)?;
        Some((signed(value, sign), sign + length))
    })
}

/// Returns the number, or its negative if `sign` is 1. It has no branch, because signs are hard to predict.
#[inline(always)]
fn signed(value: f64, sign: usize) -> f64 {
    f64::from_bits(value.to_bits() | (sign as u64) << 63)
}

/// Reads up to seven digits, a point, one to eight digits and a white-space byte, if `text` has at least 16
/// bytes.
///
/// It processes all bytes together. The exit branch of a loop over the digits is mispredicted for half of the
/// numbers, which costs as much as this whole function. The end is computed before the value, so the CPU can
/// start on the next number early.
#[inline(always)]
fn short(text: &[u8], sign: usize) -> Option<(f64, usize)> {
    let bytes: &[u8; 16] = text.first_chunk()?;
    // After the XOR, digits are below 10.
    let eight = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?) ^ (ONES * 0x30));
    // The sign is replaced by a zero digit.
    let front = eight(0)? & !(0xff * sign as u64);
    let others = no_digits(front);
    let point = others.trailing_zeros() as usize / 8;
    // The second byte that is not a digit is in the same eight bytes, or it is the first one after them.
    let second = others & others.wrapping_sub(1);
    let later = 64 + no_digits(eight(8)?).trailing_zeros();
    let end = if second == 0 { later } else { second.trailing_zeros() } as usize / 8;
    let decimals = end.wrapping_sub(point + 1);
    if bytes.get(point) != Some(&b'.') || !is_space(*bytes.get(end)?) || decimals.wrapping_sub(1) >= 8 {
        return None;
    }
    // Shifts the digits to the end and fills the front with zeros.
    let whole = eight_digits(front << 8 << (56 - 8 * point));
    let part = eight_digits(eight(point + 1)? << (64 - 8 * decimals));
    let mantissa = (whole * WHOLE_POWERS[decimals] + part) as i64;
    Some((signed(mantissa as f64 / POWERS[decimals], sign), end))
}

/// Eight bytes of value 1.
const ONES: u64 = u64::MAX / 0xff;

/// Sets the highest bit of each byte that is 10 or more. A byte of 0x8a or more carries into the next byte,
/// but an accepted number has no such byte before its end.
#[inline(always)]
fn no_digits(bytes: u64) -> u64 {
    (bytes.wrapping_add(ONES * 0x76) | bytes) & (ONES * 0x80)
}

/// Powers of ten for up to eight decimals.
const WHOLE_POWERS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Returns the number of eight digits, one per byte, the first digit in the lowest byte.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

/// Reads up to 19 digits, also at the end of the text.
fn long(text: &[u8]) -> Option<(f64, usize)> {
    let digit = |at: usize| text.get(at).map_or(10, |byte| byte.wrapping_sub(b'0'));
    let mut at = 0;
    let mut mantissa = 0_u64;
    while digit(at) < 10 {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(digit(at).into());
        at += 1;
    }
    let mut digits = at;
    let mut decimals = 0;
    if text.get(at) == Some(&b'.') {
        at += 1;
        let point = at;
        while digit(at) < 10 {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(digit(at).into());
            at += 1;
        }
        decimals = at - point;
        digits += decimals;
    }
    // The integer cannot hold more than 19 digits.
    if digits.wrapping_sub(1) >= 19 || mantissa > 1 << 53 || text.get(at).is_some_and(|byte| !is_space(*byte))
    {
        return None;
    }
    Some((mantissa as f64 / POWERS[decimals], at))
}

/// Returns a word as a number; `None` if it is invalid. Infinity and NaN are accepted in the spellings of
/// other programs.
pub(crate) fn any(word: &[u8]) -> Option<f64> {
    if let Some((value, length)) = plain(word)
        && length == word.len()
    {
        return Some(value);
    }
    unusual(word)
}

/// Like [`any`], for words that [`plain`] does not accept.
pub(crate) fn unusual(word: &[u8]) -> Option<f64> {
    // Microsoft's libraries printed 1.#IND, -1.#QNAN and 1.#INF.
    if word.windows(2).any(|pair| pair == b".#") {
        return Some(f64::NAN);
    }
    let text = std::str::from_utf8(word).ok()?;
    let unsigned = text.trim_start_matches(['-', '+']);
    // Spellings such as "-nan(ind)" and "nan(0x8000)".
    if unsigned.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("nan(")) {
        return Some(f64::NAN);
    }
    text.parse().ok()
}

/// Returns the precision of a printed number: one unit of its last digit.
pub(crate) fn last_digit(word: &[u8]) -> f64 {
    let (mantissa, exponent) = match word.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e')) {
        Some(at) => {
            (&word[..at], std::str::from_utf8(&word[at + 1..]).ok().and_then(|it| it.parse::<i32>().ok()))
        }
        None => (word, Some(0)),
    };
    let point = mantissa.iter().position(|byte| *byte == b'.');
    let decimals = point.map_or(0, |at| mantissa.len() - at - 1);
    let shift = decimals as i64 - i64::from(exponent.unwrap_or(0));
    // Larger exponents make no difference.
    let power = POWERS[shift.unsigned_abs().min(22) as usize];
    if shift < 0 { power } else { 1.0 / power }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::{Random, cases};

    #[track_caller]
    fn check(text: &str) {
        let want: f64 = text.parse().unwrap();
        let got = any(text.as_bytes()).unwrap();
        assert_eq!(got.to_bits(), want.to_bits(), "{text}: {got} instead of {want}");
        // The number at the end of the text, and followed by more text.
        for tail in ["\n1.5 2345678901234567890", "\t\u{ff}\u{ff}..", " "] {
            if let Some(found) = plain(format!("{text}{tail}").as_bytes()) {
                assert_eq!(
                    (found.0.to_bits(), found.1),
                    (want.to_bits(), text.len()),
                    "{text:?} before {tail:?}"
                );
            }
        }
    }

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        let mut random = Random(1);
        for _ in 0..cases(20_000) {
            let value = random.range_f64(-1.0, 1.0) * [1e-6, 1.0, 180.0, 1e9, 1e300][random.below(5)];
            check(&format!("{:.*}", random.below(12), value));
            check(&format!("{value}"));
            check(&format!("{value:e}"));
            // Any digits, with a point at any position.
            let digits: String =
                (0..1 + random.below(25)).map(|_| char::from(b'0' + random.below(10) as u8)).collect();
            let point = random.below(digits.len() + 1);
            check(&format!("{}.{}", &digits[..point], &digits[point..]));
            check(&digits);
        }
    }

    /// Tests any number of digits on both sides of the point, followed by various bytes.
    #[test]
    fn numbers_of_every_length() {
        let mut random = Random(2);
        let mut digits = |count: usize| -> String {
            (0..count).map(|_| char::from(b'0' + [0, 9, random.below(10)][random.below(3)] as u8)).collect()
        };
        for case in 0..cases(20_000) {
            let (sign, whole, decimals) = (["", "-"][case % 2], case / 2 % 11, case / 22 % 12);
            let text = format!("{sign}{}.{}", digits(whole), digits(decimals));
            for tail in [" ", "\n", "\t", "\r", ".", "-", "/", ":", "e", "{", "\u{89}", "\u{ff}", "\u{30a}"] {
                let more = format!("{text}{tail}{} {}", digits(case % 5), digits(20));
                let got = plain(more.as_bytes()).map(|(value, length)| (value.to_bits(), length));
                let want = text.parse::<f64>().ok().filter(|_| tail.trim().is_empty());
                // Longer numbers may be left to the standard library.
                if whole + decimals < 16 || got.is_some() {
                    assert_eq!(got, want.map(|value| (value.to_bits(), text.len())), "{more:?}");
                }
            }
        }
    }

    #[test]
    fn forms_that_are_allowed() {
        for text in [
            "0",
            "-0",
            "0.0",
            "-0.000000",
            ".5",
            "5.",
            "-.25",
            "+1",
            "+.5e-3",
            "1e5",
            "1E-05",
            "-1.5E+3",
            "9007199254740992",
            "9007199254740993",
            "9007199254740991.5",
            "0.1",
            "123456789012345678",
            "9999999999999999999",
            "99999999999999999999",
            "0.0000000000000000000001",
            "00000000000000000000001",
            "1e400",
            "4.9e-324",
            "inf",
            "-Infinity",
            "1e-400",
        ] {
            check(text);
        }
        for text in ["nan", "-NaN", "1.#IND", "-1.#QNAN00", "-nan(ind)", "NaN(0x8)"] {
            assert!(any(text.as_bytes()).unwrap().is_nan(), "{text}");
        }
        for text in [
            "", ".", "-", "+", "--1", "+-1", "1,5", "1.2.3", "e5", "1e", "0x10", "1_000", "{", "é", "nano",
            "1.0f", "1 ",
        ] {
            assert_eq!(any(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_plain_number_ends_at_a_space() {
        assert_eq!(plain(b"-1.5 2"), Some((-1.5, 4)));
        assert_eq!(plain(b"7\r\n"), Some((7.0, 1)));
        for text in [&b"1.5}"[..], b"1e5 ", b"", b" 1", b"-", b".", b"nan"] {
            assert_eq!(plain(text), None, "{text:?}");
            // The same with more text, so that all 16 bytes are read together.
            let more = [text.strip_suffix(b" ").unwrap_or(text), b" 12345678901234567890"].concat();
            assert_eq!(plain(&more), None, "{more:?}");
        }
        assert!((0..=255_u8).all(|byte| is_space(byte) == [9, 10, 11, 12, 13, 32].contains(&byte)));
    }

    #[test]
    fn the_last_digit_counts_exponents() {
        for (text, want) in [
            ("0.0083333", 1e-7),
            ("1", 1.0),
            ("3.33e-2", 1e-4),
            ("5.", 1.0),
            ("1E+2", 100.0),
            ("1e999999", 1e22),
        ] {
            let got = last_digit(text.as_bytes());
            assert!((got / want - 1.0).abs() < 1e-12, "{text}: {got}");
        }
    }
}
