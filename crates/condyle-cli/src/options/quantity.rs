//! Lengths, rates and times on the command line.

/// Frames per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Rate {
    Authored,
    Hertz(f32),
}

/// Where errors are measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum ShellSize {
    /// As far from the joints as the vertices of the mesh are.
    Mesh,
    /// At this many metres from each joint.
    Distance(f64),
}

/// A length in metres: `0.5mm`, `3 cm`, `1.8m`, `0.0005`.
pub(crate) fn parse_length(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let units = [("mm", 1e3), ("cm", 1e2), ("m", 1.0)];
    let (number, parts) = units
        .iter()
        .find_map(|&(unit, parts)| Some((text.strip_suffix(unit)?, parts)))
        .unwrap_or((text, 1.0));
    match number.trim_end().parse::<f64>() {
        Ok(number) if (1e-9..=1e9).contains(&(number / parts)) => Ok(number / parts),
        _ => Err("a length is a number above 0 with a unit, such as 0.5mm, 3cm or 1.8m".into()),
    }
}

pub(crate) fn parse_rate(text: &str) -> Result<Rate, String> {
    match text.parse::<f32>() {
        _ if text == "auto" => Ok(Rate::Authored),
        Ok(rate) if (0.1..=1000.0).contains(&rate) => Ok(Rate::Hertz(rate)),
        _ => Err("a rate is `auto` or a number from 0.1 to 1000, such as 30".into()),
    }
}

pub(crate) fn parse_shell(text: &str) -> Result<ShellSize, String> {
    match text {
        "auto" => Ok(ShellSize::Mesh),
        _ => parse_length(text).map(ShellSize::Distance).map_err(|e| format!("`auto`, or a length: {e}")),
    }
}

/// A time in seconds. Any finite number will do: before its first and after its last key a clip holds their
/// values.
pub(crate) fn parse_seconds(text: &str) -> Result<f32, String> {
    match text.trim().parse::<f32>() {
        Ok(seconds) if seconds.is_finite() => Ok(seconds),
        _ => Err("a time is a finite number of seconds, such as 0.5".into()),
    }
}

/// A parser for frames per second, from 0.1 to `max`.
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
        for (text, metres) in
            [("0.5mm", 5e-4), ("3 cm", 0.03), ("1.8m", 1.8), (" 2e-3 ", 0.002), ("1.8", 1.8)]
        {
            assert_eq!(parse_length(text), Ok(metres), "{text}");
        }
        for wrong in ["", "mm", "0", "-1mm", "nan", "infm", "1km", "1 inch", "1e99m"] {
            assert!(parse_length(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn auto_is_a_word() {
        assert_eq!(parse_rate("auto"), Ok(Rate::Authored));
        assert_eq!(parse_rate("24"), Ok(Rate::Hertz(24.0)));
        assert_eq!(parse_shell("auto"), Ok(ShellSize::Mesh));
        assert_eq!(parse_shell("3cm"), Ok(ShellSize::Distance(0.03)));
        for wrong in ["Auto", "0", "nan", "1e9", ""] {
            assert!(parse_rate(wrong).is_err() && parse_shell(&format!("{wrong}x")).is_err(), "{wrong}");
        }
    }
}
