//! What the kernels are held to, on the level of AVX2 in the fast mode, and whether they keep it.

use condyle::{Isa, Numeric};

use crate::Request;
use crate::harness::Row;
use crate::table::Table;

/// What is demanded of one case.
enum Demand {
    /// Ticks of the time-stamp counter per element, at most.
    Ticks(f64),
    /// At least so many times as fast as this implementation, or as the same instruction set where it is one of ours.
    Times(&'static str, f64),
    /// At most so many times as long as copying the same bytes.
    Copy(f64),
    /// Nanoseconds per element, at most.
    Nanoseconds(f64),
    /// At most so many times as long per element as another of our cases: this work with so many elements.
    Of(&'static str, usize, f64),
}

use Demand::{Copy, Nanoseconds, Of, Ticks, Times};

const TARGETS: &[(&str, &str, usize, &[Demand])] = &[
    ("sample_67_forward", "blocks", 67, &[Nanoseconds(6.0), Times("glam", 6.0)]),
    ("sample_67_backward", "blocks", 67, &[Nanoseconds(6.0), Times("glam", 6.0)]),
    ("sample_67_random", "blocks", 67, &[Nanoseconds(6.0), Times("glam", 6.0)]),
    ("sample_67_crowd", "blocks", 67_000, &[Of("sample_67_random", 67, 1.3)]),
    (
        "character_67_alone",
        "blocks",
        1,
        &[Nanoseconds(1300.0), Times("glam_keys", 5.0), Times("glam_frames", 1.5)],
    ),
    (
        "character_67_crowd1000",
        "blocks",
        1000,
        &[Nanoseconds(1400.0), Times("glam_keys", 5.0), Times("glam_frames", 1.4)],
    ),
    (
        "character_67_crowd10000",
        "blocks",
        10_000,
        &[Nanoseconds(1400.0), Times("glam_keys", 5.0), Times("glam_frames", 1.4)],
    ),
    (
        "slerp_joints",
        "blocks",
        1024,
        &[Ticks(4.8), Times("glam", 14.0), Times("van_waveren", 3.5), Times("ultraviolet", 3.3)],
    ),
    ("slerp_joints", "structs", 1024, &[Ticks(8.5), Times("glam", 7.5)]),
    ("nlerp_joints", "blocks", 1024, &[Ticks(3.8), Times("glam", 4.4)]),
    ("nlerp_joints", "structs", 1024, &[Ticks(7.0), Times("glam", 2.4)]),
    ("quats_to_mats", "blocks", 1024, &[Ticks(6.0), Times("glam", 1.8)]),
    ("quats_to_mats", "structs", 1024, &[Ticks(6.9), Times("glam", 1.55)]),
    ("quats_to_mats", "blocks", 128, &[Ticks(4.6)]),
    ("quats_to_mats", "structs", 128, &[Ticks(7.0)]),
    ("mats_to_quats", "structs", 1024, &[Ticks(8.5), Times("glam", 1.25)]),
    ("skin_p2", "structs", 1024, &[Ticks(6.8), Times("glam", 1.65)]),
    ("skin_p4", "structs", 1024, &[Ticks(11.5), Times("glam", 1.6)]),
    ("skin_pnt2", "structs", 1024, &[Ticks(10.5)]),
    ("skin_pnt4", "structs", 1024, &[Ticks(16.5), Times("glam", 1.9)]),
    ("skin_pn4_interleaved", "structs", 1024, &[Times("planes", 0.91)]),
    ("skin_p4_1m", "structs", 1_000_000, &[Copy(1.35), Times("glam", 1.25)]),
    ("skin_pnt4_1m", "structs", 1_000_000, &[Copy(1.35), Times("glam", 1.5)]),
    ("local_to_model_67", "blocks", 67, &[Ticks(17.0), Times("glam", 1.5)]),
    ("local_to_model_crowd16", "blocks", 67 * 16, &[Ticks(9.0), Times("glam", 2.8)]),
    ("blend_layer", "blocks", 1024, &[Ticks(4.5)]),
];

/// One line for each demand on a case that was asked for; none where the level that they are about was not.
pub(crate) fn table(rows: &[Row], request: &Request) -> Table {
    let asked = request.levels.iter().any(|l| (l.isa(), l.numeric()) == (Isa::Avx2, Numeric::Fast));
    let targets = TARGETS.iter().filter(|(work, _, n, _)| asked && request.wants(work, *n));
    let mut lines = Vec::new();
    for &(work, layout, n, demands) in targets {
        let find_of = |work: &str, n: usize, implementation: &str| {
            let matches = |row: &&Row| row.work == work && row.layout == layout && row.n == n;
            let same = |row: &&Row| row.peer || (row.isa == "avx2" && row.mode == "fast");
            rows.iter().filter(matches).filter(same).find(|row| row.implementation == implementation)
        };
        let find = |work: &str, implementation: &str| find_of(work, n, implementation);
        let ours = find(work, "condyle");
        for demand in demands {
            let time_of = |work: &str, implementation: &str| Some(find(work, implementation)?.ns / ours?.ns);
            let (what, at_most, limit, found, cycles) = match *demand {
                Ticks(limit) => {
                    ("ticks".into(), true, limit, ours.map(|row| row.ticks), ours.map(|row| row.cycles))
                }
                Nanoseconds(limit) => {
                    ("ns".into(), true, limit, ours.map(|row| row.ns), ours.map(|row| row.cycles))
                }
                Times(peer, limit) => {
                    (format!("times as fast as {peer}"), false, limit, time_of(work, peer), None)
                }
                Copy(limit) => {
                    let copy = time_of(&format!("copy_of_{work}"), "plain");
                    ("times as long as a copy".into(), true, limit, copy.map(|time| 1.0 / time), None)
                }
                Of(other, count, limit) => {
                    let times = find_of(other, count, "condyle").zip(ours).map(|(one, all)| all.ns / one.ns);
                    (format!("times as long as {other}"), true, limit, times, None)
                }
            };
            let sign = if at_most { "≤" } else { "≥" };
            let verdict = |found: f64| {
                let beyond = if at_most { found / limit - 1.0 } else { 1.0 - found / limit };
                if beyond <= 0.0 { "met".into() } else { format!("missed by {:.0} %", 100.0 * beyond) }
            };
            let shown = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.2}"));
            lines.push(vec![
                work.into(),
                layout.into(),
                what,
                n.to_string(),
                format!("{sign} {limit}"),
                shown(found),
                shown(cycles),
                found.map_or("not measured".into(), verdict),
            ]);
        }
    }
    let head = ["work", "layout", "what", "n", "limit", "found", "core cycles", "verdict"];
    Table {
        title: "Targets".into(),
        note: "On the level of AVX2, in the fast mode. Limits of time were set in ticks of a time-stamp counter of 2.5 GHz, \
               beside a core at 3.1 GHz, so it is ticks per element that they are compared with; the same time in cycles \
               of the core stands beside."
            .into(),
        head: head.map(String::from).to_vec(),
        words: 3,
        rows: lines,
    }
}

#[cfg(test)]
mod tests {
    use condyle::Dispatch;

    use super::*;
    use crate::Format;

    /// Nothing where the machine has no such level.
    fn verdicts(numeric: Numeric, only: Option<&str>, rows: &[Row]) -> Option<Vec<String>> {
        let levels = vec![Dispatch::new(Isa::Avx2, numeric)?];
        let only = only.map(String::from);
        let request = Request { only, elements: None, rounds: 1, format: Format::Text, levels };
        table(rows, &request).rows.into_iter().map(|mut line| line.pop()).collect()
    }

    #[test]
    fn what_was_asked_for_and_not_measured_is_said() {
        let Some(all) = verdicts(Numeric::Fast, None, &[]) else { return };
        let demands = TARGETS.iter().map(|(.., demands)| demands.len()).sum();
        assert_eq!(all, vec!["not measured"; demands]);
        assert_eq!(verdicts(Numeric::Fast, Some("blend_layer"), &[]), Some(vec!["not measured".into()]));
        assert_eq!(verdicts(Numeric::Portable, None, &[]), Some(vec![]));
    }

    #[test]
    fn limits_of_time_are_limits_of_ticks() {
        for (ticks, verdict) in [(4.5, "met"), (5.4, "missed by 20 %")] {
            let row = Row {
                work: "blend_layer",
                n: 1024,
                layout: "blocks",
                bytes: 0,
                data: 0,
                flops: 0,
                implementation: "condyle",
                isa: "avx2",
                mode: "fast",
                peer: false,
                ns: 1.0,
                cycles: 5.0,
                ticks,
                max_error: 0.0,
            };
            let Some(found) = verdicts(Numeric::Fast, Some(row.work), &[row]) else { return };
            assert_eq!(found, [verdict]);
        }
    }
}
