//! Performance targets of the kernels, and whether they are met. Targets are for AVX2 in the fast mode unless
//! they name another level.

use condyle::{Isa, Numeric};

use crate::Request;
use crate::harness::Row;
use crate::limits::{Listed, Missed};
use crate::table::Table;
use crate::works::{FRAMES, call};

/// Target for one case.
enum Demand {
    /// Maximum per element, in ticks of 2.5 GHz on a core at 3.1 GHz.
    Ticks(f64),
    /// Minimum speedup over this implementation. A peer has one instruction set; another method of condyle is
    /// compared on the same one.
    Times(&'static str, f64),
    /// Maximum time relative to a copy of the same bytes.
    Copy(f64),
    /// Maximum nanoseconds per element on a core at 3.24 GHz, [`ZEN_3`].
    Nanoseconds(f64),
    /// The same on a core at 4.3 GHz, [`ZEN_5`].
    Zen5(f64),
    /// Maximum nanoseconds for all elements together on a core at 3.24 GHz.
    Call(f64),
    /// Maximum time per element relative to another case of condyle: benchmark, number of elements, factor.
    Of(&'static str, usize, f64),
    /// Maximum nanoseconds of a call on one element beyond its share of a call on many, on a core at 4.3 GHz.
    Over(f64),
    /// Minimum speedup with two threads.
    TwoThreads(f64),
    /// Target for this implementation of condyle.
    By(&'static str, &'static Self),
    /// Target for this instruction set.
    On(Isa, &'static Self),
}

use Demand::{By, Call, Copy, Nanoseconds, Of, On, Over, Ticks, Times, TwoThreads, Zen5};

/// Clocks in GHz of the cores for which times were required. Times are compared in cycles, so that the clock
/// of this core does not matter.
const ZEN_3: f64 = 3.24;
const ZEN_5: f64 = 4.3;
/// Cycles per tick of the time-stamp counter of the core for which ticks were required.
const TICK: f64 = 3.1 / 2.5;

/// Sampling of a clip, per joint.
const SAMPLE: &[Demand] = &[
    Nanoseconds(4.8),
    Times("glam", 6.0),
    On(Isa::Sse42, &Nanoseconds(9.0)),
    On(Isa::Sse2, &Nanoseconds(14.0)),
    By(FRAMES, &Zen5(1.5)),
];

/// Posing a crowd in L2, per character.
const CROWD_1000: &[Demand] = &[
    Nanoseconds(1400.0),
    Times("glam_keys", 5.0),
    Times("glam_frames", 1.4),
    TwoThreads(1.8),
    By(FRAMES, &Zen5(400.0)),
    By(FRAMES, &Times("glam_frames", 2.8)),
    By(FRAMES, &TwoThreads(1.8)),
];

/// Posing a crowd in L3, per character.
const CROWD_10000: &[Demand] = &[
    Nanoseconds(1400.0),
    Times("glam_keys", 5.0),
    Times("glam_frames", 1.4),
    TwoThreads(1.9),
    By(FRAMES, &Zen5(550.0)),
    By(FRAMES, &Times("glam_frames", 2.8)),
    By(FRAMES, &TwoThreads(1.9)),
];

/// Palette of a character, in nanoseconds with AVX2, and as fast as RTM with SSE.
const COLUMNS: &[Demand] = &[Nanoseconds(210.0), On(Isa::Sse42, &Zen5(152.0)), On(Isa::Sse2, &Zen5(152.0))];

/// Maximum overhead of a call.
const CALL: &[Demand] = &[Over(30.0)];
const PLAYED: &[Demand] = &[Over(30.0), By(FRAMES, &Over(30.0))];
const HELD: &[Demand] = &[Over(5.0)];

const TARGETS: &[(&str, &str, usize, &[Demand])] = &[
    ("sample_67_forward", "blocks", 67, SAMPLE),
    ("sample_67_backward", "blocks", 67, SAMPLE),
    ("sample_67_random", "blocks", 67, SAMPLE),
    ("sample_67_fallback", "blocks", 67, &[Zen5(12.0)]),
    ("sample_67_crowd", "blocks", 67_000, &[Of("sample_67_random", 67, 1.3)]),
    (
        "character_67_alone",
        "blocks",
        1,
        &[
            Nanoseconds(1300.0),
            Times("glam_keys", 5.0),
            Times("glam_frames", 1.5),
            By(FRAMES, &Zen5(350.0)),
            By(FRAMES, &Times("glam_frames", 2.8)),
            On(Isa::Avx512, &By(FRAMES, &Zen5(370.0))),
            On(Isa::Sse42, &By(FRAMES, &Zen5(560.0))),
            On(Isa::Sse2, &By(FRAMES, &Zen5(600.0))),
        ],
    ),
    ("character_25_alone", "blocks", 1, &[By(FRAMES, &Zen5(180.0))]),
    ("character_1_alone", "blocks", 1, &[By(FRAMES, &Zen5(50.0))]),
    ("character_67_crowd1000", "blocks", 1000, CROWD_1000),
    ("character_67_crowd10000", "blocks", 10_000, CROWD_10000),
    ("hit_refit_10k", "", 10_000, &[Call(20_000.0), Times("parry3d_refit", 5.0)]),
    ("hit_ray_10k", "", 256, &[Nanoseconds(2000.0), Times("parry3d", 1.5)]),
    ("hit_closest_10k", "", 256, &[Times("parry3d", 1.5)]),
    ("stage_67_blend", "", 1, &[Nanoseconds(110.0)]),
    ("stage_67_model", "", 1, &[Nanoseconds(260.0)]),
    ("stage_67_columns", "", 1, COLUMNS),
    ("stage_67_rows", "", 1, &[Nanoseconds(110.0)]),
    ("call_sample", "blocks", 1, PLAYED),
    ("call_sample_joint", "blocks", 1, CALL),
    ("call_blend", "blocks", 1, CALL),
    ("call_add", "blocks", 1, CALL),
    ("call_overlay", "blocks", 1, CALL),
    ("call_interpolate", "blocks", 1, CALL),
    ("call_interpolate", "structs", 1, CALL),
    ("call_interpolate_held", "blocks", 1, HELD),
    ("call_interpolate_held", "structs", 1, HELD),
    ("call_rotation", "structs", 1, CALL),
    ("call_rotation_held", "structs", 1, HELD),
    ("call_joints_to_matrices", "structs", 1, CALL),
    ("call_local_to_model", "blocks", 1, CALL),
    ("call_model_to_local", "structs", 1, CALL),
    ("call_palette", "structs", 1, CALL),
    ("call_palette_columns", "structs", 1, CALL),
    ("call_palette_rows", "structs", 1, CALL),
    ("call_skin_p", "structs", 1, CALL),
    ("call_skin_pn", "structs", 1, CALL),
    ("call_skin_pnt", "structs", 1, CALL),
    ("call_motion_at", "", 1, &[Zen5(40.0)]),
    ("call_motion_over", "", 1, &[Zen5(100.0)]),
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
    ("skin_p4", "structs", 1024, &[Nanoseconds(3.3), Times("glam", 1.6), On(Isa::Sse42, &Nanoseconds(5.2))]),
    ("skin_pn4", "structs", 1024, &[Nanoseconds(5.0), On(Isa::Sse42, &Nanoseconds(6.4))]),
    ("skin_pnt2", "structs", 1024, &[Ticks(10.5)]),
    (
        "skin_pnt4",
        "structs",
        1024,
        &[Nanoseconds(6.2), Times("glam", 1.9), On(Isa::Sse42, &Nanoseconds(7.6))],
    ),
    ("skin_pnt5", "structs", 1024, &[Zen5(4.6)]),
    ("skin_pnt8", "structs", 1024, &[Zen5(6.0)]),
    ("skin_pn1to4", "structs", 1024, &[Of("skin_pn4", 1024, 1.15)]),
    ("skin_pn4_interleaved", "structs", 1024, &[Times("planes", 0.91)]),
    ("skin_pn4_dual", "structs", 1024, &[Times("linear", 0.667), Times("glam", 1.5)]),
    ("morph_100x10_20k", "structs", 20_000, &[Copy(1.35)]),
    ("skin_p4_1m", "structs", 1_000_000, &[Copy(1.35), Times("glam", 1.25)]),
    ("skin_pnt4_1m", "structs", 1_000_000, &[Copy(1.35), Times("glam", 1.5)]),
    ("local_to_model_67", "blocks", 67, &[Ticks(17.0), Times("glam", 1.5)]),
    ("local_to_model_crowd16", "blocks", 67 * 16, &[Ticks(9.0), Times("glam", 2.8)]),
    ("model_to_local_67", "structs", 67, &[Call(500.0)]),
    ("blend_layer", "blocks", 1024, &[Ticks(4.5)]),
    ("ik_two_bone", "", 64, &[Nanoseconds(60.0)]),
    ("ik_two_bone_pole", "", 64, &[Nanoseconds(60.0)]),
    ("ik_arm7_position", "", 500, &[Nanoseconds(5_000.0)]),
    ("ik_arm7_pose", "", 500, &[Nanoseconds(30_000.0)]),
    ("ik_body55_goals4_cold", "", 16, &[Nanoseconds(150_000.0)]),
    ("ik_body55_goals8_cold", "", 16, &[Nanoseconds(400_000.0)]),
    ("ik_body55_goals8_warm", "", 60, &[Nanoseconds(150_000.0)]),
    ("bounds_67", "", 16, &[Zen5(250.0)]),
    ("bounds_new", "", 100_500, &[Zen5(300.0)]),
    ("hitbox_ray_67", "", 512, &[Nanoseconds(150.0), Times("glam", 2.0)]),
    ("springs_crowd100", "", 80_000, &[Nanoseconds(100.0)]),
    ("silhouette_10k", "", 10_000, &[Call(15_000.0)]),
];

/// Implementation and level that a target is about.
#[derive(Clone, Copy)]
struct Subject<'a> {
    rows: &'a [Row],
    layout: &'static str,
    implementation: &'static str,
    isa: Isa,
}

impl<'a> Subject<'a> {
    fn find(self, work: &str, n: usize, implementation: &str, threads: usize) -> Option<&'a Row> {
        let case = |row: &&Row| (row.work, row.layout, row.n) == (work, self.layout, n);
        let fast = |row: &Row| row.mode == Numeric::Fast.name() || !self.isa.fuses();
        let same = |row: &&Row| row.peer || (row.isa == self.isa.name() && fast(row));
        let who = |row: &&Row| (row.implementation, row.threads) == (implementation, threads);
        self.rows.iter().filter(case).filter(same).find(who)
    }
}

/// Target with its measured value.
struct Finding {
    what: String,
    at_most: bool,
    limit: f64,
    found: Option<f64>,
    cycles: Option<f64>,
    isa: Isa,
    /// Number of threads of the measured value.
    threads: usize,
}

impl Demand {
    fn of(&self, work: &str, n: usize, subject: Subject<'_>) -> Finding {
        let implementation = subject.implementation;
        let ours = subject.find(work, n, implementation, 1);
        let time_of = |work: &str, peer: &str| Some(subject.find(work, n, peer, 1)?.ns / ours?.ns);
        let finding = |what: &str, at_most, limit, found| {
            let (what, isa) = (what.to_owned(), subject.isa);
            Finding { what, at_most, limit, found, cycles: None, isa, threads: 1 }
        };
        // Also in cycles.
        let time = |what: &str, limit, clock: f64, factor: f64| {
            let cycles = ours.map(|row| factor * row.cycles);
            Finding { cycles, ..finding(what, true, limit, cycles.map(|cycles| cycles / clock)) }
        };
        match *self {
            Ticks(limit) => time("ticks", limit, TICK, 1.0),
            Nanoseconds(limit) => time(&format!("ns at {ZEN_3} GHz"), limit, ZEN_3, 1.0),
            Zen5(limit) => time(&format!("ns at {ZEN_5} GHz"), limit, ZEN_5, 1.0),
            Call(limit) => time(&format!("ns per call at {ZEN_3} GHz"), limit, ZEN_3, n as f64),
            Times(peer, limit) => {
                finding(&format!("speedup compared with {peer}"), false, limit, time_of(work, peer))
            }
            Copy(limit) => {
                let copy = time_of(&format!("copy_of_{work}"), "plain");
                finding("time relative to a copy", true, limit, copy.map(|time| 1.0 / time))
            }
            Of(other, count, limit) => {
                let one = subject.find(other, count, implementation, 1);
                let times = one.zip(ours).map(|(one, all)| all.ns / one.ns);
                finding(&format!("time relative to {other}"), true, limit, times)
            }
            Over(limit) => {
                let share = call::arithmetic(work);
                let share = share.and_then(|work| subject.find(work, call::MANY, implementation, 1));
                let over = share.zip(ours).map(|(share, one)| one.cycles - share.cycles);
                let what = format!("ns of call overhead at {ZEN_5} GHz");
                Finding { cycles: over, ..finding(&what, true, limit, over.map(|cycles| cycles / ZEN_5)) }
            }
            TwoThreads(limit) => {
                let two = subject.find(work, n, implementation, 2);
                let times = two.zip(ours).map(|(two, one)| one.ns / two.ns);
                let finding = finding("speedup with two threads", false, limit, times);
                Finding { threads: 2, ..finding }
            }
            By(implementation, demand) => {
                let finding = demand.of(work, n, Subject { implementation, ..subject });
                Finding { what: format!("{implementation}: {}", finding.what), ..finding }
            }
            On(isa, demand) => {
                let finding = demand.of(work, n, Subject { isa, ..subject });
                Finding { what: format!("{}: {}", isa.name(), finding.what), ..finding }
            }
        }
    }
}

/// Factor by which a kernel with AVX-512 may be slower than with AVX2.
const SLOWER: f64 = 1.03;

/// Text of the target that compares a result on AVX-512 with AVX2.
fn wider_than(row: &Row) -> String {
    let (narrow, wide) = (Isa::Avx2.name(), Isa::Avx512.name());
    format!("{wide}, {}, {}: time relative to {narrow}", row.mode, row.implementation)
}

/// Compares AVX-512 with AVX2 in both modes: one line with the number of results that are slower beyond
/// [`SLOWER`], and one for each of them. No lines if nothing was measured on both.
fn wider(rows: &[Row], limits: &mut Listed) -> Vec<Vec<String>> {
    let (narrow, wide) = (Isa::Avx2.name(), Isa::Avx512.name());
    // Two threads are measured with less certainty than 3 %.
    let is_ours = |row: &&Row| !row.peer && row.threads == 1 && !row.work.starts_with("roofline");
    let ours = |isa| rows.iter().filter(is_ours).filter(move |row| row.isa == isa);
    let subject = |row: &Row| (row.work, row.layout, row.n, row.implementation, row.mode);
    let times = |row| {
        let other = ours(narrow).find(|other| subject(other) == subject(row))?;
        Some((row, row.ns / other.ns))
    };
    let pairs: Vec<(&Row, f64)> = ours(wide).filter_map(times).collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let slower: Vec<_> = pairs.iter().filter(|(_, times)| *times > SLOWER).collect();
    let line = |work: &str, layout: &str, what: String, n: usize, cells: [String; 4]| {
        [vec![work.to_owned(), layout.to_owned(), what, n.to_string()], cells.to_vec()].concat()
    };
    let verdict = if slower.is_empty() { "met" } else { "missed, see below" };
    let found = slower.len().to_string();
    let what = format!("{wide}: results slower than on {narrow} by more than 3 %");
    let cells = ["≤ 0".to_owned(), found, String::new(), verdict.to_owned()];
    let all = line("all", "", what, pairs.len(), cells);
    let each = slower.iter().map(|(row, times)| {
        let what = wider_than(row);
        let missed = Missed { work: row.work, layout: row.layout, what: &what };
        let missed = limits.verdict(times / SLOWER - 1.0, missed);
        let cells = [format!("≤ {SLOWER}"), format!("{times:.2}"), format!("{:.2}", row.cycles), missed];
        line(row.work, row.layout, what, row.n, cells)
    });
    [all].into_iter().chain(each).collect()
}

/// Number of CPUs that this process may run on.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Targets of one run, with their verdicts and the reasons of those that were missed.
pub(crate) struct Verdicts {
    pub(crate) table: Table,
    limits: Listed,
}

impl Verdicts {
    /// Text for a terminal.
    pub(crate) fn text(&self) -> String {
        self.table.text() + &self.limits.text()
    }

    /// Markdown with headings of the second level.
    pub(crate) fn markdown(&self) -> String {
        self.table.markdown() + &self.limits.markdown()
    }
}

/// One row per target on a requested case, if its level was requested. A target with more threads than `cpus`
/// has no verdict.
pub(crate) fn verdicts(rows: &[Row], request: &Request, cpus: usize) -> Verdicts {
    // Instruction sets without fused multiply-add have one mode, under either name.
    let fast = |isa: Isa, numeric| numeric == Numeric::Fast || !isa.fuses();
    let asked = |isa| request.levels.iter().any(|level| level.isa() == isa && fast(isa, level.numeric()));
    let targets = TARGETS.iter().filter(|(work, _, n, _)| request.wants(work, *n));
    let (mut lines, mut limits) = (Vec::new(), Listed::default());
    for &(work, layout, n, demands) in targets {
        let subject = Subject { rows, layout, implementation: "condyle", isa: Isa::Avx2 };
        let findings = demands.iter().map(|demand| demand.of(work, n, subject));
        for Finding { what, at_most, limit, found, cycles, threads, .. } in findings.filter(|f| asked(f.isa))
        {
            let sign = if at_most { "≤" } else { "≥" };
            let verdict = |found: f64| {
                let beyond = if at_most { found / limit - 1.0 } else { 1.0 - found / limit };
                match beyond <= 0.0 {
                    _ if threads > cpus => format!("none: {cpus} CPU for {threads} threads"),
                    true => "met".into(),
                    false => limits.verdict(beyond, Missed { work, layout, what: &what }),
                }
            };
            let verdict = found.map_or("not measured".into(), verdict);
            let shown = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.2}"));
            lines.push(vec![
                work.into(),
                layout.into(),
                what,
                n.to_string(),
                format!("{sign} {limit}"),
                shown(found),
                shown(cycles),
                verdict,
            ]);
        }
    }
    lines.extend(wider(rows, &mut limits));
    let head = ["work", "layout", "what", "n", "limit", "found", "core cycles", "verdict"];
    let table = Table {
        title: "Targets".into(),
        note: "Targets are for AVX2 in the fast mode unless they name another level. Times are compared in \
               cycles of the core: `found` is the time that this number of cycles takes at the clock for which \
               the limit was set. That is 3.24 GHz of a Zen 3 core, 4.3 GHz of a Zen 5 core, or a core at 3.1 GHz \
               with a time-stamp counter of 2.5 GHz (`ticks`). \
               `ns of call overhead` is the time of a call on one joint or vertex, minus 1/67 of the \
               time of a call on 67. Calls that return one result are compared with the call that returns all of them: \
               `sample_joint` with `sample`, `rotation` with `interpolate`. The last lines compare AVX-512 with AVX2. \
               `limit` in a verdict is the number of the reason below the table."
            .into(),
        head: head.map(String::from).to_vec(),
        words: 3,
        rows: lines,
    };
    Verdicts { table, limits }
}

/// Work, layout and text of every target.
#[cfg(test)]
pub(crate) fn subjects() -> Vec<(&'static str, &'static str, String)> {
    let each = |&(work, layout, n, demands): &(&'static str, &'static str, usize, &'static [Demand])| {
        let subject = Subject { rows: &[], layout, implementation: "condyle", isa: Isa::Avx2 };
        demands.iter().map(move |demand| (work, layout, demand.of(work, n, subject).what))
    };
    TARGETS.iter().flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use condyle::Dispatch;

    use super::*;
    use crate::Format;

    /// `None` if the machine lacks this level.
    fn found(numeric: Numeric, only: Option<&str>, rows: &[Row]) -> Option<Vec<String>> {
        let levels = vec![Dispatch::new(Isa::Avx2, numeric)?];
        let only = only.map(String::from);
        let request = Request { only, elements: None, rounds: 1, format: Format::Text, levels };
        verdicts(rows, &request, 2).table.rows.into_iter().map(|mut line| line.pop()).collect()
    }

    #[test]
    fn one_cpu_has_no_verdict_about_two_threads() {
        let Some(level) = Dispatch::new(Isa::Avx2, Numeric::Fast) else { return };
        let of = |threads, ns| Row { threads, ..row("character_67_crowd1000", "blocks", 1000, ns) };
        let rows = [of(1, 1000.0), of(2, 990.0)];
        let only = Some(rows[0].work.to_string());
        let request = Request { only, elements: None, rounds: 1, format: Format::Text, levels: vec![level] };
        let of_threads = |cpus| {
            let mut lines = verdicts(&rows, &request, cpus).table.rows;
            lines.retain(|line| line[2].contains("two threads") && line[7] != "not measured");
            lines.into_iter().map(|mut line| line.pop().unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(of_threads(1), ["none: 1 CPU for 2 threads"]);
        assert!(of_threads(2)[0].starts_with("missed by"));
    }

    #[test]
    fn what_was_asked_for_and_not_measured_is_said() {
        let Some(all) = found(Numeric::Fast, None, &[]) else { return };
        let demands = TARGETS.iter().flat_map(|(.., demands)| *demands);
        let on_avx2 = demands.filter(|demand| !matches!(demand, On(..))).count();
        assert_eq!(all, vec!["not measured"; on_avx2]);
        assert_eq!(found(Numeric::Fast, Some("blend_layer"), &[]), Some(vec!["not measured".into()]));
        assert_eq!(found(Numeric::Portable, None, &[]), Some(vec![]));
    }

    /// Result of condyle on AVX2.
    fn row(work: &'static str, layout: &'static str, n: usize, ns: f64) -> Row {
        Row {
            work,
            n,
            layout,
            bytes: 0,
            data: 0,
            flops: 0,
            implementation: "condyle",
            isa: "avx2",
            mode: "fast",
            threads: 1,
            peer: false,
            ns,
            cycles: ns * ZEN_3,
            ticks: 1.0,
            max_error: 0.0,
        }
    }

    #[test]
    fn limits_of_time_are_limits_of_ticks() {
        for (ticks, verdict) in [(4.5, "met"), (5.4, "missed by 20 %, no reason known")] {
            let row = Row { cycles: ticks * TICK, ..row("blend_layer", "blocks", 1024, 1.0) };
            let Some(found) = found(Numeric::Fast, Some(row.work), &[row]) else { return };
            assert_eq!(found, [verdict]);
        }
    }

    #[test]
    fn a_limit_may_be_one_of_a_whole_call() {
        for (ns, verdict) in [(7.0, "met"), (9.0, "missed by 21 %: limit 1")] {
            let row = row("model_to_local_67", "structs", 67, ns);
            let Some(found) = found(Numeric::Fast, Some(row.work), &[row]) else { return };
            assert_eq!(found, [verdict]);
        }
    }

    #[test]
    fn what_a_call_costs_is_what_one_takes_beyond_its_share() {
        let zen_5 = |row: Row| Row { cycles: row.ns * ZEN_5, ..row };
        for (one, verdict) in [(34.0, "met"), (37.0, "missed by 10 %, no reason known")] {
            let rows =
                [zen_5(row("call_blend", "blocks", 1, one)), zen_5(row("call_blend", "blocks", 67, 4.0))];
            let Some(found) = found(Numeric::Fast, Some("call_blend"), &rows) else { return };
            assert_eq!(found, [verdict]);
        }
        // A joint sampled alone is compared with its share of a full sample.
        let rows = [
            zen_5(row("call_sample_joint", "blocks", 1, 34.0)),
            zen_5(row("call_sample", "blocks", 67, 4.0)),
        ];
        let Some(found) = found(Numeric::Fast, Some("call_sample_joint"), &rows) else { return };
        assert_eq!(found, ["met"]);
    }

    #[test]
    fn two_threads_are_held_against_one() {
        for (two, verdict) in [(500.0, "met"), (625.0, "missed by 11 %: limit 1")] {
            let of = |threads, ns| Row { threads, ..row("character_67_crowd1000", "blocks", 1000, ns) };
            let rows = [of(1, 1000.0), of(2, two)];
            let Some(found) = found(Numeric::Fast, Some(rows[0].work), &rows) else { return };
            // The first verdict is about the time per character.
            let measured: Vec<_> = found.iter().filter(|verdict| *verdict != "not measured").collect();
            assert_eq!(measured[1..], [verdict]);
        }
    }

    #[test]
    fn results_that_are_slower_with_avx_512_are_listed() {
        let on = |isa, work, ns| Row { isa, ..row(work, "structs", 1024, ns) };
        let rows = [
            on("avx2", "skin_p4", 3.0),
            on("avx512", "skin_p4", 3.3),
            on("avx2", "skin_pn4", 4.0),
            on("avx512", "skin_pn4", 4.1),
            on("avx512", "skin_pnt4", 9.0),
            Row { peer: true, ..on("avx512", "skin_p4", 9.0) },
        ];
        let lines = wider(&rows, &mut Listed::default());
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0][3..6], ["2", "≤ 0", "1"]);
        assert_eq!(
            [&lines[1][0], &lines[1][5], &lines[1][7]],
            ["skin_p4", "1.10", "missed by 7 %, no reason known"]
        );
        assert!(wider(&rows[..1], &mut Listed::default()).is_empty());
    }

    #[test]
    fn a_limit_of_another_level_is_told_where_that_level_ran() {
        for numeric in Numeric::ALL {
            let Some(level) = Dispatch::new(Isa::Sse42, numeric) else { return };
            let (only, levels) = (Some(String::from("skin_p4")), vec![level]);
            let request = Request { only, elements: None, rounds: 1, format: Format::Text, levels };
            let row = row("skin_p4", "structs", 1024, 5.0);
            let row = Row { isa: "sse42", mode: numeric.name(), ..row };
            let lines = verdicts(&[row], &request, 2).table.rows;
            assert_eq!(lines.len(), 1, "{numeric:?}");
            assert_eq!([&lines[0][2], &lines[0][7]], ["sse42: ns at 3.24 GHz", "met"], "{numeric:?}");
        }
    }
}
