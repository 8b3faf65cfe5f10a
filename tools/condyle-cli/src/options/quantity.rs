//! Lengths, rates and times on the command line.

use crate::output::tell;

/// Frames per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Rate {
    Auto,
    Hertz(f32),
}

/// Height in metres above which a character is probably stored in another unit.
pub(crate) const TALL: f64 = 10.0;

/// A length above 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Length {
    pub(crate) metres: f64,
    has_unit: bool,
}

impl Length {
    /// Warns if a number without a unit is above `usual` metres, because 5 may have been meant as 5 mm.
    pub(crate) fn warn_above(self, usual: f64, option: &str) {
        let Self { metres, has_unit } = self;
        if !has_unit && metres > usual {
            tell(&format_args!(
                "{option} {metres} has no unit and is read as metres; write {metres}mm or {metres}cm if you meant \
                 that, else {metres}m"
            ));
        }
    }
}

/// Parses a length: `0.5mm`, `3 cm`, `1.8m`. Without a unit it is in metres.
pub(crate) fn parse_length(text: &str) -> Result<Length, String> {
    let text = text.trim();
    let (number, parts) = without_unit(text);
    let has_unit = number.len() < text.len();
    match number.parse::<f64>().map(|number| number / parts) {
        Ok(metres) if (1e-9..=1e9).contains(&metres) => Ok(Length { metres, has_unit }),
        Ok(metres) if metres > 0.0 => Err("a length is from 1e-9 to 1e9 metres".into()),
        _ => Err("a length is a number above 0, in metres or with a unit, such as 0.5mm, 3cm or 1.8m".into()),
    }
}

/// Parses a coordinate in metres: like a length, but it may be negative or 0.
pub(crate) fn parse_coordinate(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let (number, parts) = without_unit(text);
    match number.parse::<f64>().map(|number| number / parts) {
        Ok(metres) if metres.abs() <= 1e9 => Ok(metres),
        _ => {
            Err("a coordinate is a number of metres, or one with a unit, such as -0.25, 30cm or 1.2m".into())
        }
    }
}

/// Parses a point: three coordinates.
pub(crate) fn parse_point(text: &str) -> Result<[f64; 3], String> {
    let parts: Vec<_> = text.split(',').map(parse_coordinate).collect();
    match &parts[..] {
        [Ok(x), Ok(y), Ok(z)] => Ok([*x, *y, *z]),
        _ => Err("a point is x,y,z in metres, or with units, such as 0.3,1.2m,-25cm, each within 1e9 m of 0"
            .into()),
    }
}

/// Splits a length into its number and the number of its units per metre; 1 without a unit.
fn without_unit(text: &str) -> (&str, f64) {
    let units = [("mm", 1e3), ("cm", 1e2), ("m", 1.0)];
    let unit = units.iter().find_map(|&(unit, parts)| Some((text.strip_suffix(unit)?, parts)));
    let (number, parts) = unit.unwrap_or((text, 1.0));
    (number.trim_end(), parts)
}

/// Parses the maximum error of a vertex.
pub(crate) fn parse_error(text: &str) -> Result<Length, String> {
    let number = text.trim().trim_end_matches(['c', 'm']).trim_end();
    match number.parse::<f64>() {
        Ok(0.0) => Err("an error of 0 cannot be reached in f32; give a small error, such as 0.001mm".into()),
        _ => parse_length(text),
    }
}

/// Returns the shortest decimal that rounds to this f32: 0.03, not 0.029999999329447746.
pub(crate) fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(number.into())
}

/// Returns the largest f32 that is at most `number`.
pub(crate) fn at_most(number: f64) -> f32 {
    let near = number as f32;
    if f64::from(near) > number { near.next_down() } else { near }
}

pub(crate) fn parse_rate(text: &str) -> Result<Rate, String> {
    match text.parse::<f32>() {
        _ if text == "auto" => Ok(Rate::Auto),
        Ok(rate) if (0.1..=1000.0).contains(&rate) => Ok(Rate::Hertz(rate)),
        _ => Err("a rate is `auto` or a number from 0.1 to 1000, such as 30".into()),
    }
}

/// Parses a time in seconds. Any finite number is valid, because a clip holds its first value before its
/// first key and its last value after its last key.
pub(crate) fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if seconds.is_finite() => Ok(seconds),
        _ => Err("a time is a finite number of seconds, such as 0.5".into()),
    }
}

/// Returns a parser for frames per second from 0.1 to `max`.
pub(crate) fn fps_up_to(max: f64) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse::<f64>() {
        Ok(fps) if (0.1..=max).contains(&fps) => Ok(fps),
        _ => Err(format!("a rate is a number from 0.1 to {max}, such as 25")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units() {
        for (text, metres, has_unit) in [
            ("0.5mm", 5e-4, true),
            ("3 cm", 0.03, true),
            ("1.8m", 1.8, true),
            (" 2e-3 ", 0.002, false),
            ("180", 180.0, false),
        ] {
            assert_eq!(parse_length(text), Ok(Length { metres, has_unit }), "{text}");
            assert_eq!(parse_error(text), Ok(Length { metres, has_unit }), "{text}");
        }
        for (wrong, why) in [
            ("", "above 0"),
            ("mm", "above 0"),
            ("0", "above 0"),
            ("-1mm", "above 0"),
            ("nan", "above 0"),
            ("1km", "above 0"),
            ("1 inch", "above 0"),
            ("1e99m", "1e9 metres"),
            ("infm", "1e9 metres"),
            ("1e-10", "1e9 metres"),
        ] {
            assert!(parse_length(wrong).is_err_and(|e| e.contains(why)), "{wrong}");
        }
    }

    #[test]
    fn coordinates_have_signs() {
        for (text, metres) in
            [("-5mm", -0.005), ("0", 0.0), ("+0.3", 0.3), (" 12 cm ", 0.12), ("-1e3m", -1000.0)]
        {
            assert_eq!(parse_coordinate(text), Ok(metres), "{text}");
        }
        for wrong in ["", "m", "nan", "inf", "1e10", "1km", "--1"] {
            assert!(parse_coordinate(wrong).is_err_and(|why| why.contains("metres")), "{wrong}");
        }
    }

    #[test]
    fn points_are_three_coordinates() {
        assert_eq!(parse_point("-1, 20cm,0.5m"), Ok([-1.0, 0.2, 0.5]));
        for wrong in ["", "1,2", "1,2,3,4", "1,2,x", "1,,3", "nan,0,0"] {
            assert!(parse_point(wrong).is_err_and(|why| why.contains("x,y,z")), "{wrong}");
        }
    }

    #[test]
    fn no_error_is_a_length_of_its_own() {
        for nothing in ["0", "0.0", "-0", "0mm", " 0 cm", "0e5m"] {
            assert!(parse_error(nothing).is_err_and(|e| e.contains("an error of 0")), "{nothing}");
        }
        for wrong in ["", "m", "-1mm", "nan", "1e-10", "0 inch"] {
            assert!(parse_error(wrong).is_err_and(|e| e.starts_with("a length")), "{wrong}");
        }
    }

    #[test]
    fn auto_is_a_word() {
        assert_eq!(parse_rate("auto"), Ok(Rate::Auto));
        assert_eq!(parse_rate("24"), Ok(Rate::Hertz(24.0)));
        for wrong in ["Auto", "0", "nan", "1e9", ""] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_budget_is_never_rounded_up() {
        for number in [1e-4, 5e-4, 0.1 / 3.0, 7.3e-9, 1.0] {
            let found = f64::from(at_most(number));
            assert!(found <= number && found > number * (1.0 - 2e-7), "{number}: {found}");
        }
    }
}
