//! The results as tables and as JSON.

use serde_json::json;

use crate::harness::Row;
use crate::machine::{MEMORIES, Memory, date, processor, ticks_per_ns};
use crate::table::Table;
use crate::works::roofline;

/// What stands over the tables of a group of works, and what their elements are.
pub(crate) fn section(work: &str) -> &'static str {
    match work.split('_').next().unwrap_or_default() {
        "roofline" => "What the machine can do: bytes or operations per cycle",
        "sample" => "Sampling: cycles per joint",
        "slerp" => "Spherical interpolation: cycles per joint",
        "nlerp" => "Normalised linear interpolation: cycles per joint",
        "other" => "Other ways to interpolate: cycles per joint",
        "quats" => "Joints to matrices: cycles per joint",
        "mats" => "Matrices to joints: cycles per joint",
        "local" | "model" => "Local to model and back: cycles per joint",
        "blend" => "Blending: cycles per joint and layer",
        "palette" => "Palette: cycles per joint",
        "morph" => "Morph targets: cycles per vertex",
        _ => "Skinning: cycles per vertex",
    }
}

/// A column: one case.
type Column = (&'static str, usize, &'static str);

fn column(row: &Row) -> Column {
    (row.work, row.n, row.layout)
}

/// In the order of their first appearance.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut out = Vec::new();
    for item in all {
        if !out.contains(&item) {
            out.push(item);
        }
    }
    out
}

/// What a row is held against: condyle on the same instruction set for one of our methods; on AVX2, or the best there is,
/// for a peer.
fn rival<'a>(rows: &'a [Row], row: &Row) -> Option<&'a Row> {
    let ours = || rows.iter().filter(|r| column(r) == column(row) && r.implementation == "condyle");
    if !row.peer {
        return ours().find(|r| (r.isa, r.mode) == (row.isa, row.mode));
    }
    let fast = || ours().filter(|r| r.mode == "fast");
    fast().find(|r| r.isa == "avx2").or_else(|| fast().next_back()).or_else(|| ours().next_back())
}

/// Each column's name: what tells it from the others.
fn names(columns: &[Column]) -> Vec<String> {
    let differs = |a: &dyn Fn(&Column) -> String| distinct(columns.iter().map(a)).len() > 1;
    let (works, sizes) = (differs(&|c| c.0.into()), differs(&|c| c.1.to_string()));
    let layouts = differs(&|c| c.2.into());
    let name = |&(work, n, layout): &Column| {
        if let Some(what) = work.strip_prefix("roofline_") {
            return what.replace('_', " ");
        }
        let mut parts: Vec<String> = Vec::new();
        if works || columns.len() == 1 {
            parts.push(work.into());
        }
        if layouts {
            parts.push(layout.into());
        }
        if sizes && (layouts || !works) {
            parts.push(n.to_string());
        }
        parts.join(" ")
    };
    columns.iter().map(name).collect()
}

/// The works of one section: a line for each who did them, a column for each case.
pub(crate) fn results(rows: &[Row]) -> Table {
    let columns = distinct(rows.iter().map(column));
    let lines = distinct(rows.iter().map(|row| (row.implementation, row.isa, row.mode, row.peer)));
    let bandwidth = rows[0].work.starts_with("roofline");
    let mut head: Vec<String> = ["impl", "isa", "mode"].map(String::from).into();
    head.extend(names(&columns));
    head.push("max error".into());
    let cells = |&(implementation, isa, mode, peer): &(&str, &str, &str, bool)| {
        let mut cells: Vec<String> = [implementation, isa, mode].map(String::from).into();
        let of_line: Vec<&Row> = rows
            .iter()
            .filter(|r| (r.implementation, r.isa, r.mode, r.peer) == (implementation, isa, mode, peer))
            .collect();
        for &at in &columns {
            let row = of_line.iter().find(|r| column(r) == at);
            cells.push(row.map_or(String::new(), |row| {
                let against = rival(rows, row).filter(|_| implementation != "condyle" && !bandwidth);
                match against {
                    _ if bandwidth => format!("{:.1}", 1.0 / row.cycles),
                    Some(ours) => format!("{:.1} ({:.2})", row.cycles, row.ns / ours.ns),
                    None => format!("{:.1}", row.cycles),
                }
            }));
        }
        let error = of_line.iter().map(|r| r.max_error).fold(0.0, f64::max);
        cells.push(if bandwidth { String::new() } else { format!("{error:.1e}") });
        cells
    };
    Table {
        title: section(rows[0].work).into(),
        note: String::new(),
        head,
        words: 3,
        rows: lines.iter().map(cells).collect(),
    }
}

/// The most that the machine did of this work in a cycle, on an instruction set or any.
fn most(rows: &[Row], work: &str, isa: Option<&str>) -> Option<f64> {
    let of_work = rows.iter().filter(|r| r.work == work && isa.is_none_or(|isa| r.isa == isa));
    of_work.map(|r| 1.0 / r.cycles).reduce(f64::max)
}

/// How close condyle comes to what its bytes and its arithmetic must take.
pub(crate) fn closeness(rows: &[Row]) -> Table {
    let ours =
        || rows.iter().filter(|r| r.implementation == "condyle" && r.mode == "fast" && !is_roofline(r));
    // AVX2 is what the targets are about; the best one is beside it.
    let mut sets = distinct(ours().map(|r| r.isa));
    let best = sets.last().copied();
    sets.retain(|&isa| isa == "avx2" || Some(isa) == best);
    let shown = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.1}"));
    let mut lines = Vec::new();
    for at in distinct(ours().map(column)) {
        let Some(first) = ours().find(|r| column(r) == at) else { continue };
        let memory = Memory::of(first.n * first.bytes);
        let copy = most(rows, roofline::works(memory)[2], None);
        let Some(by_bytes) = copy.map(|bandwidth| first.bytes as f64 / bandwidth) else { continue };
        let mut line = vec![
            first.work.into(),
            first.layout.into(),
            first.n.to_string(),
            first.bytes.to_string(),
            memory.name().into(),
            shown(Some(by_bytes)),
        ];
        for &isa in &sets {
            let throughput = most(rows, roofline::FMA, Some(isa)).filter(|_| first.flops > 0);
            let by_arithmetic = throughput.map(|throughput| first.flops as f64 / throughput);
            let cycles = ours().find(|r| column(r) == at && r.isa == isa).map(|r| r.cycles);
            let least = by_arithmetic.unwrap_or(0.0).max(by_bytes);
            let share = cycles.map_or(String::new(), |cycles| format!("{:.0} %", 100.0 * least / cycles));
            line.extend([shown(by_arithmetic), shown(cycles), share]);
        }
        lines.push(line);
    }
    let mut head: Vec<String> = ["work", "layout", "n", "bytes", "in", "by bytes"].map(String::from).into();
    for isa in sets {
        head.extend(["by arithmetic", "cycles", "share"].map(|what| format!("{isa} {what}")));
    }
    Table {
        title: "How close that is to the machine".into(),
        note: "The bytes that each element moves at the speed of a copy in the memory that holds them all, its \
               additions and multiplications at the speed of fused ones; the share is the slower of the two over \
               the time taken, and more than 100 % where a part of the data lies nearer than the whole would."
            .into(),
        head,
        words: 2,
        rows: lines,
    }
}

fn is_roofline(row: &Row) -> bool {
    row.work.starts_with("roofline")
}

/// One object per line.
pub(crate) fn json(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let line = json!({
            "work": row.work, "impl": row.implementation, "isa": row.isa, "mode": row.mode,
            "layout": row.layout, "n": row.n, "ns": row.ns, "cycles": row.cycles, "ticks": row.ticks,
            "max_error": row.max_error,
        });
        format!("{line}\n")
    };
    rows.iter().map(line).collect()
}

/// The clock that ran, from what all rows took in nanoseconds and cycles, and that of the time-stamp counter.
fn clock(rows: &[Row]) -> String {
    let clocks = || rows.iter().map(|r| r.cycles / r.ns);
    let (least, most) = (clocks().fold(f64::INFINITY, f64::min), clocks().fold(0.0, f64::max));
    let core = format!("{least:.2} to {most:.2} GHz while this ran");
    match ticks_per_ns() {
        Some(ticks) => format!("{core}, time-stamp counter at {ticks:.2} GHz"),
        None => format!("{core}, no time-stamp counter, so that ticks are cycles"),
    }
}

/// What has to be known to read the tables in a terminal.
pub(crate) fn summary(rows: &[Row]) -> String {
    format!(
        "Minima on {}, {}.\nIn brackets: how many times as long as condyle takes, on avx2 or on the same \
         instruction set.\n",
        processor(),
        clock(rows)
    )
}

/// Which crates, in which versions.
fn peers() -> String {
    let manifest = include_str!("../Cargo.toml");
    let peer = |line: &str| {
        let (name, rest) = line.split_once(" = { version = \"")?;
        let (version, rest) = rest.split_once('"')?;
        rest.contains("optional").then(|| format!("{name} {version}"))
    };
    manifest.lines().filter_map(peer).collect::<Vec<_>>().join(", ")
}

/// What has to be known to read the tables, a paragraph each.
pub(crate) fn conditions(rows: &[Row], rounds: u32) -> Vec<String> {
    let sets = MEMORIES.map(|memory| {
        let bytes = memory.working_set();
        let size =
            if bytes < 1 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) };
        format!("{} {size}", memory.name())
    });
    vec![
        format!("{}, {}, one thread, {}.", processor(), clock(rows), date()),
        "Every answer is checked against the f64 reference before it is timed; `max error` is the largest difference \
         in any component."
            .into(),
        format!(
            "Minimum of {rounds} rounds, fewer where an input is large; all who do one work take turns on the same data. The clock \
             is measured in every round, so cycles are those of the core."
        ),
        "In brackets: how many times as long as condyle takes on AVX2 in the fast mode, and for `van_waveren` and `eberly8`, \
         which are kernels of condyle too, on the same instruction set in the same mode."
            .into(),
        format!(
            "Peers ({}) are compiled as a registry user gets them, without `target-cpu`; `isa` says for what. Each is \
             written as its good user would: `wide` and `ultraviolet` hold eight joints per value, `plain` sixteen in \
             blocks, the others one.",
            peers()
        ),
        "Where the work differs: peers interpolate, blend and find rotation and translation, condyle scale as well. \
         `ultraviolet` leaves its matrices in lanes instead of one after another, goes the long way round where signs \
         differ and has no answer for equal ends, so all pairs of rotations here lie on the nearer side and apart. \
         `plain` in blocks uses Eberly's series; the other peers call an arccosine and sines. In `palette_67` condyle \
         also finds out whether normals need matrices of their own."
            .into(),
        "Every call sees the same data, so up to about a thousand elements the processor learns by heart which way \
         branches go: kind to peers that have them. Beyond that they pay, as in `mats_to_quats`."
            .into(),
        format!("What the machine can do is measured on {}, read, written, or half read and half written.", sets.join(", ")),
    ]
}
