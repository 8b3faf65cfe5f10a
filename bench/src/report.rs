//! The results as tables and as JSON.

use std::iter::once;

use serde_json::json;

use crate::harness::Row;
use crate::machine::{MEMORIES, Memory, date, processor, ticks_per_ns};
use crate::table::Table;
use crate::works::{RESIDENT, call, roofline};

/// What stands over the table of a group of works, and what has to be said of them.
pub(crate) fn section(work: &str) -> (&'static str, &'static str) {
    // A copy that a work is held against is among its rows.
    let work = work.strip_prefix("copy_of_").unwrap_or(work);
    match work.split('_').next().unwrap_or_default() {
        "roofline" => (
            "What the machine can do: bytes or operations per cycle",
            "Operations are additions and multiplications, fused or one after the other. Bytes are read, written, or read \
             and written; `plain` is the system's own copy.",
        ),
        "sample" => (
            "Sampling: cycles per joint",
            "A clip of 67 joints, of 121 frames, at another moment each call; `resident` is condyle with the keys unpacked, else \
             they are packed. `sample_raw` is a clip as authored, with 31 keys per track.",
        ),
        "hit" => (
            "Questions about posed triangles: cycles per triangle, ray or point",
            "A body of 10,000 triangles that bends. `refit` puts the tree on the pose, by the triangle; `ray` is the first hit of one \
             of 256 rays, `closest` the nearest point. `glam` asks every triangle; `parry3d` has its tree over the same.",
        ),
        "character" => (
            "Whole characters: cycles per character",
            "67 joints: two of 32 clips at moments of its own, half of each, placed in model space, and the palette as columns; one \
             alone, or many in a row. Of two threads each takes parts of them, from a pool of exactly as many. `resident` is \
             condyle with the keys unpacked, else they are packed. `glam_keys` has keys per joint, a binary search and slerp, `glam_frames` whole frames and nlerp.",
        ),
        "stage" => (
            "The stages of a character: cycles per character",
            "Of 67 joints, each on what the one before wrote: two clips sampled, blended, placed in model space, and the palette as \
             columns and as rows. `resident` is condyle with the keys unpacked, else they are packed.",
        ),
        "call" => (
            "What a call costs: nanoseconds",
            "A call on one joint or vertex; each of 67 in one call; and the difference, which is what a call costs beside its \
             arithmetic. Poses go by sixteen joints, so for them that is some joints' arithmetic too. `sample_joint`, `rotation` \
             and `motion` have one result for each call: 67 are as many calls, and of the first two the difference is to \
             `sample` and `interpolate`, which have all in one call. `held` are the coefficients of interpolation that \
             `Prepared` keeps. Skinning is of 4 influences. Of two modes it is the fast one.",
        ),
        "slerp" => ("Spherical interpolation: cycles per joint", "One factor for all joints."),
        "nlerp" => ("Normalised linear interpolation: cycles per joint", "One factor for all joints."),
        "other" => (
            "Other ways to interpolate: cycles per joint",
            "The polynomial of lower degree, a factor per joint, Eberly's series of 16 terms, of 5 on half of the angle, \
             and with the middle known beforehand, nlerp with a corrected factor, the exponential map, slerp of every \
             other joint by a list of indices, and in place of its first argument.",
        ),
        "quats" => ("Joints to matrices: cycles per joint", "Of three rows; `columns` are of four columns."),
        "mats" => ("Matrices to joints: cycles per joint", ""),
        "local" | "model" => (
            "Local to model and back: cycles per joint",
            "A character of 67 joints, half of it anew, sixteen characters, and from model matrices to local ones.",
        ),
        "blend" => ("Blending: cycles per joint and layer", "Four layers."),
        "palette" => (
            "Palette: cycles per joint",
            "Condyle also finds out whether normals need matrices of their own.",
        ),
        "ik" => (
            "Inverse kinematics: cycles per pose",
            "`two_bone`: an arm of two bones of 30 cm on a character of 67 joints, with a pole or without; `aim`: a joint that points. `arm7`: 7 hinges, each with a range, from stretched straight up to 500 places that an allowed pose has (`position`), turned as \
             there (`pose`): to a millimetre and a thousandth of a radian. `body55`: 55 joints whose hips may move, on 4 or 8 places to a millimetre: of 16 poses \
             from rest (`cold`), or frame by frame at 30 Hz (`warm`). The error is the largest residual, in metres or radians. What other \
             solvers take for `arm7` and `body55` is in docs/peers.md.",
        ),
        "morph" => (
            "Morph targets: cycles per vertex",
            "Positions and normals. `morph_1024`: three targets that move all vertices. `morph_100x10_20k`: a face of 20,000 vertices and 100 targets that \
             move a tenth of it each, ten of them at work.",
        ),
        "springs" => (
            "Spring bones: cycles per joint and frame",
            "A hundred joints of hair in twenty rows, alone or of each of a hundred characters (`crowd100`).",
        ),
        "silhouette" | "normals" => (
            "Posed triangles: cycles per triangle",
            "A closed surface of ten thousand: its outline towards a lamp, and the normals of its triangles, weighted by angles.",
        ),
        "bounds" | "hitbox" | "baked" => (
            "The posed mesh: cycles per character, vertex, ray or joint",
            "`bounds_67`: the box around a character of 67 joints, from its matrices; `glam` has a box for each joint. `bounds_vertices`: that of \
             4,020 vertices. `hitbox_ray_67`: the first hit of one of 512 rays on 67 capsules; `hitbox_place_67`: these put on a pose. \
             `baked_10k`: positions and normals of 10,000 vertices between two baked frames.",
        ),
        _ => (
            "Skinning: cycles per vertex",
            "`p`: positions, `pn`: normals too, `pnt`: and tangents, `bases`: positions from weighted base vectors; of 2 or 4 \
             influences per vertex; 1024 vertices, 67 (`67`) or a million (`1m`). `pn4_interleaved` is written as a vertex buffer has \
             it, with texture coordinates between, beside the same in `planes`.",
        ),
    }
}

/// A column: one case.
type Column = (&'static str, usize, &'static str);

fn column(row: &Row) -> Column {
    (row.work, row.n, row.layout)
}

/// Who did it: the implementation, its threads, the instruction set, the mode, and whether it is a peer.
type Line = (&'static str, usize, &'static str, &'static str, bool);

fn line(row: &Row) -> Line {
    (row.implementation, row.threads, row.isa, row.mode, row.peer)
}

/// The implementation, and its threads where there are several.
fn who(&(implementation, threads, ..): &Line) -> String {
    if threads > 1 { format!("{implementation}, {threads} threads") } else { implementation.into() }
}

/// What tells a line from the others where condyle and its levels are meant unless something else is said.
fn short(line: &Line) -> String {
    let (implementation, threads, isa, mode, peer) = *line;
    match implementation {
        "condyle" if threads == 1 => format!("{isa} {mode}"),
        _ if peer => implementation.into(),
        _ => format!("{} {isa} {mode}", who(line)),
    }
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
    let ours = || rows.iter().filter(|r| column(r) == column(row)).filter(|r| is_condyle(r));
    if !row.peer {
        return ours().find(|r| (r.isa, r.mode) == (row.isa, row.mode));
    }
    let fast = || ours().filter(|r| r.mode == "fast");
    fast().find(|r| r.isa == "avx2").or_else(|| fast().next_back()).or_else(|| ours().next_back())
}

/// What others are held against: condyle as it is called for one, on one thread.
fn is_condyle(row: &Row) -> bool {
    (row.implementation, row.threads) == ("condyle", 1)
}

/// Each column's name: what tells it from the others.
fn names(columns: &[Column]) -> Vec<String> {
    let differs = |a: &dyn Fn(&Column) -> String| distinct(columns.iter().map(a)).len() > 1;
    let (works, layouts) = (differs(&|c| c.0.into()), differs(&|c| c.2.into()));
    let sizes = distinct(columns.iter().map(|c| (c.0, c.2))).len() < columns.len();
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
        if sizes {
            parts.push(n.to_string());
        }
        parts.join(" ")
    };
    columns.iter().map(name).collect()
}

/// The works of one section: a line for each who did them and a column for each case, or the other way round where there are
/// many cases.
pub(crate) fn results(rows: &[Row]) -> Table {
    if rows[0].work.starts_with("call_") {
        return calls(rows);
    }
    // What others are held against is no result.
    let rows: Vec<Row> = rows.iter().filter(|row| !row.work.starts_with("copy_of_")).cloned().collect();
    let columns = distinct(rows.iter().map(column));
    let lines = distinct(rows.iter().map(line));
    let bandwidth = is_roofline(&rows[0]);
    let cell = |of: Line, at: Column| {
        let row = rows.iter().find(|row| line(row) == of && column(row) == at)?;
        let against = rival(&rows, row).filter(|_| !is_condyle(row));
        Some(match against {
            _ if bandwidth => format!("{:.1}", 1.0 / row.cycles),
            Some(ours) => format!("{:.1} ({:.2})", row.cycles, row.ns / ours.ns),
            None => format!("{:.1}", row.cycles),
        })
    };
    let cell = |of, at| cell(of, at).unwrap_or_default();
    let error = |is_of: &dyn Fn(&Row) -> bool| {
        let worst = rows.iter().filter(|row| is_of(row)).map(|row| row.max_error).fold(0.0, f64::max);
        (!bandwidth).then(|| if worst == 0.0 { "0".into() } else { format!("{worst:.1e}") })
    };
    let max_error = (!bandwidth).then(|| "max error".to_string());
    let (title, note) = section(rows[0].work);
    let (title, note) = (title.into(), note.into());
    if columns.len() > lines.len() {
        let head = once("work".into()).chain(lines.iter().map(short)).chain(max_error).collect();
        let line = |(&at, name): (&Column, String)| {
            let cells = lines.iter().map(|&of| cell(of, at));
            once(name).chain(cells).chain(error(&|row| column(row) == at)).collect()
        };
        let rows = columns.iter().zip(names(&columns)).map(line).collect();
        return Table { title, note, head, words: 1, rows };
    }
    let head = ["impl", "isa", "mode"].map(String::from).into_iter();
    let head = head.chain(names(&columns)).chain(max_error).collect();
    let line = |&of: &Line| {
        let (_, _, isa, mode, _) = of;
        let names = [who(&of), isa.into(), mode.into()].into_iter();
        let cells = columns.iter().map(|&at| cell(of, at));
        names.chain(cells).chain(error(&|row| line(row) == of)).collect()
    };
    Table { title, note, head, words: 3, rows: lines.iter().map(line).collect() }
}

/// A line for each call, and for each instruction set what it takes on one element, for each of many, and what lies between.
fn calls(rows: &[Row]) -> Table {
    let sets = distinct(rows.iter().map(|row| row.isa));
    let find = |work: &str, n: usize, of: &Row, isa: &str| {
        let same = |r: &&Row| (r.work, r.n, r.isa) == (work, n, isa);
        let alike = |r: &&Row| (r.layout, r.implementation) == (of.layout, of.implementation);
        Some(rows.iter().filter(same).find(alike)?.ns)
    };
    let shown = |ns: Option<f64>| ns.map_or(String::new(), |ns| format!("{ns:.1}"));
    let cells = |of: &Row, isa: &str| {
        let [one, share] = [1, call::MANY].map(|n| find(of.work, n, of, isa));
        let arithmetic = call::arithmetic(of.work).and_then(|work| find(work, call::MANY, of, isa));
        [one, share, one.zip(arithmetic).map(|(one, share)| one - share)].map(shown)
    };
    let same =
        |a: &Row, b: &Row| (a.work, a.layout, a.implementation) == (b.work, b.layout, b.implementation);
    let mut lines: Vec<&Row> = Vec::new();
    for row in rows {
        if !lines.iter().any(|line| same(line, row)) {
            lines.push(row);
        }
    }
    let line = |of: &&Row| {
        let names = [of.work.strip_prefix("call_").unwrap_or(of.work), of.layout, of.implementation];
        let cells = sets.iter().flat_map(|isa| cells(of, isa));
        let error = rows.iter().filter(|row| same(row, of)).map(|row| row.max_error).fold(0.0, f64::max);
        names.map(String::from).into_iter().chain(cells).chain(once(format!("{error:.1e}"))).collect()
    };
    let (title, note) = section(rows[0].work);
    let mut head = ["call", "layout", "impl"].map(String::from).to_vec();
    for isa in &sets {
        head.extend(
            ["1".into(), call::MANY.to_string(), "beside".into()].map(|n: String| format!("{isa} {n}")),
        );
    }
    head.push("max error".into());
    let rows = lines.iter().map(line).collect();
    Table { title: title.into(), note: note.into(), head, words: 3, rows }
}

/// The most that the machine did of this work in a cycle, on an instruction set or any.
fn most(rows: &[Row], work: &str, isa: Option<&str>) -> Option<f64> {
    let of_work = rows.iter().filter(|r| r.work == work && isa.is_none_or(|isa| r.isa == isa));
    of_work.map(|r| 1.0 / r.cycles).reduce(f64::max)
}

/// How close condyle comes to the machine's roofline.
pub(crate) fn closeness(rows: &[Row]) -> Table {
    let ours = || rows.iter().filter(|r| is_condyle(r) && r.mode == "fast" && r.bytes > 0 && !is_roofline(r));
    // AVX2 is what the targets are about; the best one is beside it.
    let mut sets = distinct(ours().map(|r| r.isa));
    let best = sets.last().copied();
    sets.retain(|&isa| isa == "avx2" || Some(isa) == best);
    let mut lines = Vec::new();
    for at in distinct(ours().map(column)) {
        let Some(first) = ours().find(|r| column(r) == at) else { continue };
        let Row { work, layout, n, bytes, data, flops, .. } = *first;
        let memory = Memory::of(data);
        let same = rows.iter().find(|r| r.work.strip_prefix("copy_of_") == Some(work));
        let same = same.map(|copy| bytes as f64 / copy.cycles);
        let Some(copy) = same.or_else(|| most(rows, roofline::works(memory)[2], None)) else { continue };
        let mut line: Vec<String> = vec![work.into(), layout.into(), memory.name().into()];
        line.extend([n.to_string(), bytes.to_string(), format!("{copy:.1}")]);
        for &isa in &sets {
            let reached = |per_element: usize, most: Option<f64>| {
                let cycles = ours().find(|r| column(r) == at && r.isa == isa)?.cycles;
                let per_cycle = per_element as f64 / cycles;
                let share =
                    most.map_or(String::new(), |most| format!(" ({:.0} %)", 100.0 * per_cycle / most));
                Some(format!("{per_cycle:.1}{share}")).filter(|_| per_element > 0)
            };
            let fma = most(rows, roofline::FMA, Some(isa));
            line.extend([reached(bytes, Some(copy)), reached(flops, fma)].map(Option::unwrap_or_default));
        }
        lines.push(line);
    }
    let mut head: Vec<String> =
        ["work", "layout", "in", "n", "bytes", "copy B/cycle"].map(String::from).into();
    for isa in sets {
        head.extend(["B/cycle", "op/cycle"].map(|what| format!("{isa} {what}")));
    }
    Table {
        title: "How close each kernel comes to the roofline".into(),
        note: "Bytes that each kernel moves and operations that it makes per cycle, and in brackets the share \
               of what the machine can do: of a copy in the memory that holds all of the data (`in`; for a \
               million vertices, of a copy of as many bytes), and of fused multiply-adds on the same \
               instruction set. The greater share is how close it comes; it may pass 100 %, as half of what a \
               copy moves is written, and less of this. `bytes` are what has to be read and written for an \
               element, once; operations are the additions and multiplications of its formula, and left out \
               where roots, divisions or latencies decide. What is far from both waits for something else: a \
               character's joints for their parents, samples for their keys, structures for the shuffles into \
               lanes and back."
            .into(),
        head,
        words: 3,
        rows: lines,
    }
}

fn is_roofline(row: &Row) -> bool {
    row.work.starts_with("roofline")
}

/// How the works begin that play a clip, which has two forms.
const PLAYING: [&str; 5] = ["sample_67", "character", "stage_67_sample", "call_sample", "call_motion"];

/// One object per line.
pub(crate) fn json(rows: &[Row]) -> String {
    let line = |row: &Row| {
        // Both forms of a clip are condyle.
        let (implementation, form) = match row.implementation {
            RESIDENT => ("condyle", Some("resident")),
            "condyle" if PLAYING.iter().any(|work| row.work.starts_with(work)) => ("condyle", Some("packed")),
            other => (other, None),
        };
        let mut line = json!({
            "work": row.work, "impl": implementation, "isa": row.isa, "mode": row.mode,
            "threads": row.threads, "layout": row.layout, "n": row.n, "ns": row.ns, "cycles": row.cycles, "ticks": row.ticks,
            "max_error": row.max_error,
        });
        if let Some(form) = form {
            line["form"] = form.into();
        }
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
        format!("{}, {}, one thread unless more are named, {}.", processor(), clock(rows), date()),
        "Every answer is checked against the f64 reference before it is timed; `max error` is the largest difference \
         in any component."
            .into(),
        format!(
            "Minimum of {rounds} rounds, fewer where an input is large, in two passes over all works; all who do one work take turns \
             on the same data. The clock \
             is measured in every round, so cycles are those of the core."
        ),
        "In brackets: how many times as long as condyle takes on AVX2 in the fast mode, and for `van_waveren` and `eberly8`, \
         which are kernels of condyle too, on the same instruction set in the same mode."
            .into(),
        format!(
            "Peers are what one writes without condyle: with a crate ({}), as its good user would, or in `plain` Rust, arrays \
             and loops for the compiler to vectorise. They are compiled as a registry user gets them, without \
             `target-cpu`; `isa` says for what. The crate `ozz_rs` needs a nightly compiler, so it is not one of them.",
            peers()
        ),
        "`blocks` are poses: sixteen joints with an array per component; `structs` are joints or vertices one after another. \
         A number beside them is how many. Peers that hold several joints per value: in blocks `plain` sixteen and `wide` \
         eight, in both layouts `ultraviolet` eight; `wide` turns structures into lanes and back."
            .into(),
        "Where the work differs: peers interpolate, blend and find rotation and translation, condyle scale as well. \
         `ultraviolet` leaves its matrices in lanes instead of one after another, goes the long way round where signs \
         differ and has no answer for equal ends, so all pairs of rotations here lie on the nearer side and apart. \
         `plain` in blocks uses Eberly's series; the other peers call an arccosine and sines."
            .into(),
        "Every call sees the same data, so up to about a thousand elements the processor learns by heart which way \
         branches go: kind to peers that have them. Beyond that they pay, as in `mats_to_quats`."
            .into(),
        format!("What the machine can do is measured on {}, read, written, or half read and half written.", sets.join(", ")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::works;

    /// A table of copies alone would have no line.
    #[test]
    fn copies_stand_beside_what_is_held_against_them() {
        for case in works::all() {
            let copy = format!("copy_of_{}", case.work);
            assert_eq!(section(&copy), section(case.work));
        }
    }

    #[test]
    fn only_skinning_has_the_heading_of_skinning() {
        let (skinning, _) = section("skin_p4");
        for case in works::all() {
            let (title, _) = section(case.work);
            assert_eq!(title == skinning, case.work.starts_with("skin"), "{}: {title}", case.work);
        }
    }
}
