//! A plot of the largest distance over time.

use std::path::Path;

use condyle_draw::picture;
use condyle_draw::plot::{BLACK, BLUE, GREEN, GREY, Line, ORANGE, PINK, Panel, Plot, RED, RGBColor, SKY};

use crate::failure::Failure;
use crate::text::{ending, path_text};

/// Format of a plot, by its extension.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Format {
    Png,
    Svg,
}

impl Format {
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        match ending(path).as_deref() {
            Some("png") => Ok(Self::Png),
            Some("svg") => Ok(Self::Svg),
            _ => Err(Failure::Usage(format!("{}: choose a name that ends in .png or .svg", path_text(path)))),
        }
    }
}

/// A clip: its name, and millimetres over seconds.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// Maximum number of points of a line; more would fall into the same pixel.
const POINTS: usize = 1500;
/// Maximum number of letters of a name in the legend.
const MAX_NAME: usize = 17;

/// Plots the clips with the largest distances, one for each colour.
pub(super) fn draw(mut series: Vec<Series>, format: Format) -> Result<Vec<u8>, Failure> {
    const COLOURS: [RGBColor; 8] = [BLUE, RED, GREEN, ORANGE, PINK, SKY, GREY, BLACK];
    let highest = |s: &Series| s.points.iter().fold(0.0_f64, |m, p| m.max(p.1));
    series.sort_by(|a, b| highest(b).total_cmp(&highest(a)));
    series.truncate(COLOURS.len());
    let top = series.first().map_or(0.0, highest);
    let top = if top > 0.0 { 1.05 * top } else { 1.0 };
    let all = || series.iter().flat_map(|s| &s.points).map(|p| p.0);
    let (start, end) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
    let end = if end > start { end } else { start + 1.0 };
    let lines = series.into_iter().zip(COLOURS).map(|(s, colour)| Line {
        name: s.name.chars().take(MAX_NAME).collect(),
        colour,
        dashed: false,
        points: thinned(s.points),
    });
    let plot = Plot {
        title: "Largest distance between paired vertices".into(),
        x_label: "seconds".into(),
        y_label: "millimetres".into(),
        lines: lines.collect(),
        x: start..end,
        x_labels: 11,
        x_format: if end - start > 20.0 { |x| format!("{x:.0}") } else { |x| format!("{x:.2}") },
        panels: vec![Panel { y: 0.0..top, labels: 8, format: decimals(top), height: 420 }],
    };
    match format {
        Format::Svg => Ok(plot.svg()?.into_bytes()),
        Format::Png => Ok(picture::still(picture::Format::Png, &plot.pixels()?)?),
    }
}

/// Keeps the maximum of every few points.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let few = points.len().div_ceil(POINTS).max(1);
    let highest = |few: &[(f64, f64)]| few.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points.chunks(few).filter_map(highest).collect()
}

fn decimals(top: f64) -> fn(f64) -> String {
    match top {
        10.0.. => |y| format!("{y:.0}"),
        1.0.. => |y| format!("{y:.1}"),
        0.1.. => |y| format!("{y:.2}"),
        0.01.. => |y| format!("{y:.3}"),
        _ => |y| format!("{y:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_never_thinned_away() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), 0.5)).collect();
        points[77_777].1 = 9.0;
        let few = thinned(points);
        assert!(few.len() <= POINTS && few.contains(&(77_777.0, 9.0)), "{}", few.len());
        assert_eq!(thinned(vec![(0.0, 1.0)]), [(0.0, 1.0)]);
    }

    #[test]
    fn pictures_of_both_kinds_show_the_lines() {
        let series = |name: &str, top| Series { name: name.into(), points: vec![(0.0, 0.0), (1.0, top)] };
        let all = || (0..10).map(|i| series(&format!("clip {i}"), f64::from(i))).collect::<Vec<_>>();
        let svg = String::from_utf8(draw(all(), Format::Svg).expect("a plot")).expect("UTF-8");
        // The two lowest clips get no colour.
        assert!(svg.contains("clip 9") && svg.contains("clip 2") && !svg.contains("clip 1"), "{svg}");
        let png = draw(all(), Format::Png).expect("a plot");
        let picture = image::load_from_memory(&png).expect("a picture").to_rgb8();
        let has = |[r, g, b]: [u8; 3]| picture.pixels().filter(|p| p.0 == [r, g, b]).count();
        assert_eq!((picture.width(), picture.get_pixel(0, 0).0), (1920, [255; 3]));
        assert!(has([0, 114, 178]) > 1000 && has([0; 3]) > 100, "{} {}", has([0, 114, 178]), has([0; 3]));
        // No clip, and a clip with a single moment.
        for series in [vec![], vec![Series { name: String::new(), points: vec![(2.0, 0.0)] }]] {
            assert!(draw(series, Format::Png).is_ok());
        }
    }
}
