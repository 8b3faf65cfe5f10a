//! The HTML report: one self-contained file.

use std::fmt::Write;

use super::row::{Row, Totals};
use crate::text::{hertz, millimetres, printable, size};

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#2a6fdb;--bar:#2a6fdb;--limit:#c8372d;--faint:#8884}\
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\
td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid var(--faint)}\
td:first-child,th:first-child,td.text,th.text{text-align:left}\
svg{display:block;width:100%;height:auto;margin:.5rem 0}\
svg text{font:11px system-ui,sans-serif;fill:currentColor}\
svg .name{font-size:9px;text-anchor:end}h2{margin-top:2.5rem}.axis{stroke:var(--faint)}.limit{stroke:var(--limit);stroke-dasharray:5 4}\
.error{fill:none;stroke:var(--line);stroke-width:1.2}.bar{fill:var(--bar)}.bar:hover{fill:var(--limit)}";

/// Width and height of a plot, and the margins for labels on its left and below it.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 180.0;
const LEFT: f64 = 80.0;
const BELOW: f64 = 22.0;
/// Margin for joint names below their bars, maximum number of names that stay legible, and maximum number of
/// letters of a name.
const NAMES: f64 = 104.0;
const MAX_NAMES: usize = 80;
const LETTERS: usize = 18;
/// Maximum number of points of a line: more would not be visible.
const POINTS: usize = 900;

/// Formats all clips; `budget` is in metres.
pub(super) fn page(budget: f64, rows: &[Row<'_>]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Compressed clips</title><style>{STYLE}</style></head><body>\n<h1 id=\"top\">Compressed clips</h1>\n"
    );
    let totals = Totals::of(rows);
    let _ = writeln!(
        out,
        "<p>{} clips, {} as {}, {:.1} to 1. The bound on the error is {} mm; the largest error is {} mm.</p>",
        rows.len(),
        size(totals.raw_bytes),
        size(totals.bytes),
        totals.ratio(),
        millimetres(budget),
        millimetres(totals.error_max),
    );
    out += "<table><thead><tr><th>clip</th><th class=\"text\">model</th><th>raw</th><th>encoded</th><th>ratio</th>\
            <th>per second</th><th>worst, mm</th><th>99 %, mm</th><th class=\"text\">where</th>\
            <th class=\"text\">tracks</th></tr></thead><tbody>\n";
    for (at, row) in rows.iter().enumerate() {
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#c{at}\">{}</a></td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{:.1}</td>\
             <td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td></tr>",
            escape(&row.name),
            escape(&row.job.name),
            size(row.encoded.raw_bytes),
            size(row.encoded.bytes().len()),
            row.ratio(),
            size(row.bytes_per_second().round() as usize),
            millimetres(row.error_max()),
            millimetres(row.metres(row.encoded.measured.error_p99)),
            escape(&row.place()),
            escape(&row.encoding()),
        );
    }
    out += "</tbody></table>\n";
    for (at, row) in rows.iter().enumerate() {
        let _ = writeln!(
            out,
            "<h2 id=\"c{at}\">{} <small>{} · <a href=\"#top\">all clips</a></small></h2>\n\
             <p>{} frames of {} joints in {:.2} s, {}.{}{}{}</p>",
            escape(&row.name),
            escape(&row.job.name),
            row.encoded.measured.frames.len(),
            row.job.asset.skeleton.joint_count(),
            row.seconds,
            hertz(row.encoded.rate),
            off_frames(row),
            vertex(row),
            fallback_tracks(row),
        );
        over_time(&mut out, budget, row);
        by_joint(&mut out, budget, row);
        size_by_joint(&mut out, row);
    }
    out + "</body></html>\n"
}

fn off_frames(row: &Row<'_>) -> String {
    row.off_frames().map_or_else(String::new, |what| format!(" {}.", escape(&what)))
}

fn vertex(row: &Row<'_>) -> String {
    let Some(worst) = &row.worst else { return String::new() };
    format!(
        " At the worst moment, the largest error of a vertex that follows {} is {} mm.",
        escape(row.joint()),
        millimetres(worst.distance * row.job.metres)
    )
}

fn fallback_tracks(row: &Row<'_>) -> String {
    let kept = row.fallback_tracks();
    if kept.is_empty() {
        return String::new();
    }
    format!(" Fallback tracks, stored with all keys: {}.", escape(&kept.join(", ")))
}

/// Returns the top of a scale: slightly above the budget, or above the largest error if that is larger.
fn top(budget: f64, errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(budget, f64::max) * 1.08
}

/// Opens a plot: axes from 0 to `top`, a labelled line at `mark`, and a margin of `below`.
fn open(out: &mut String, label: &str, (class, mark, word): (&str, f64, &str), top: f64, below: f64) {
    let level = HEIGHT * (1.0 - mark / top);
    let right = WIDTH - 1.0;
    let _ = writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{label}\">\
         <path class=\"axis\" d=\"M{LEFT} 0V{HEIGHT}H{right}\" fill=\"none\"/>\
         <path class=\"{class}\" d=\"M{LEFT} {level:.1}H{right}\"/>\
         <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{word}</text>\
         <text x=\"{}\" y=\"{HEIGHT}\" text-anchor=\"end\">0</text>",
        HEIGHT + below,
        LEFT - 6.0,
        level + 4.0,
        LEFT - 6.0,
    );
}

fn limit(budget: f64) -> String {
    format!("{} mm", millimetres(budget))
}

/// Plots the largest error of each frame.
fn over_time(out: &mut String, budget: f64, row: &Row<'_>) {
    let frames = &row.encoded.measured.frames;
    let top = top(budget, frames.iter().map(|&e| row.metres(e)));
    open(out, "largest error over time", ("limit", budget, &limit(budget)), top, BELOW);
    let step = frames.len().div_ceil(POINTS).max(1);
    let last = frames.len().saturating_sub(1).max(1) as f64;
    let points = frames.chunks(step).enumerate().map(|(at, chunk)| {
        let x = LEFT + (WIDTH - LEFT) * ((at * step) as f64 / last);
        let error = chunk.iter().fold(0.0, |most: f64, &e| most.max(row.metres(e)));
        format!("{x:.1} {:.1}", HEIGHT * (1.0 - error / top))
    });
    let points: Vec<_> = points.collect();
    let _ = writeln!(
        out,
        "<polyline class=\"error\" points=\"{}\"/>\
         <text x=\"{LEFT}\" y=\"{y}\">largest error of each frame</text>\
         <text x=\"{WIDTH}\" y=\"{y}\" text-anchor=\"end\">{:.2} s</text></svg>",
        points.join(" "),
        row.seconds,
        y = HEIGHT + BELOW - 6.0,
    );
}

/// Plots the largest error of each joint at any moment.
fn by_joint(out: &mut String, budget: f64, row: &Row<'_>) {
    let joints = &row.encoded.measured.joints;
    let top = top(budget, joints.iter().map(|j| row.metres(j.error)));
    open(out, "largest error by joint", ("limit", budget, &limit(budget)), top, below(row));
    let bar = |at: usize| {
        let error = row.metres(joints[at].error);
        (error / top, format!("{} mm at {:.3} s", millimetres(error), joints[at].seconds))
    };
    bars(out, row, "largest error of each joint, in the order of the skeleton", bar);
}

/// Plots the bytes of each joint's keys.
fn size_by_joint(out: &mut String, row: &Row<'_>) {
    let bytes = &row.encoded.joint_bytes;
    let most = bytes.iter().copied().max().unwrap_or(0).max(1);
    let top = most as f64 * 1.08;
    open(out, "size by joint", ("axis", most as f64, &size(most)), top, below(row));
    bars(out, row, "size of each joint's keys; data that joints share is not counted", |at| {
        (bytes[at] as f64 / top, size(bytes[at]))
    });
}

/// Whether the names of the joints fit.
fn is_named(row: &Row<'_>) -> bool {
    row.job.asset.skeleton.joint_count() <= MAX_NAMES
}

fn below(row: &Row<'_>) -> f64 {
    if is_named(row) { BELOW + NAMES } else { BELOW }
}

/// Draws a bar for each joint; `bar` returns its height as a fraction of the plot's, and its tooltip.
fn bars(out: &mut String, row: &Row<'_>, label: &str, bar: impl Fn(usize) -> (f64, String)) {
    let names = row.job.asset.skeleton.names();
    let width = (WIDTH - LEFT) / names.len().max(1) as f64;
    for (at, name) in names.iter().enumerate() {
        let (part, words) = bar(at);
        let left = LEFT + width * at as f64;
        let _ = write!(
            out,
            "<rect class=\"bar\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\">\
             <title>{}: {words}</title></rect>",
            HEIGHT * (1.0 - part),
            (width * 0.85).max(0.5),
            HEIGHT * part,
            escape(name),
        );
        if is_named(row) {
            let _ = write!(
                out,
                "<text class=\"name\" transform=\"translate({:.1} {}) rotate(-90)\">{}</text>",
                left + width * 0.425 + 3.0,
                HEIGHT + 4.0,
                escape(&shortened(name)),
            );
        }
    }
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{}\">{label}</text></svg>", HEIGHT + below(row) - 6.0);
}

/// Cuts a long name at its beginning, because joint names differ more at their ends.
fn shortened(name: &str) -> String {
    let letters = name.chars().count();
    if letters <= LETTERS {
        return name.to_owned();
    }
    let end: String = name.chars().skip(letters + 1 - LETTERS).collect();
    format!("…{end}")
}

/// Escapes text from a file for HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_and_nothing_else() {
        assert_eq!(escape("<b title=\"x\">&\u{1b}"), "&lt;b title=&quot;x&quot;&gt;&amp;\u{fffd}");
    }
}
