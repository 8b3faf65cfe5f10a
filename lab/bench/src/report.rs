//! Results as tables and as JSON.

use std::iter::once;

use serde_json::json;

use crate::harness::Row;
use crate::machine::{MEMORIES, Memory, date, processor, ticks_per_ns};
use crate::table::Table;
use crate::works::{FRAMES, call, roofline};

/// Heading and description of the table for a group of benchmarks.
pub(crate) fn section(work: &str) -> (&'static str, &'static str) {
    // A reference copy is listed with its benchmark.
    let work = work.strip_prefix("copy_of_").unwrap_or(work);
    match work.split('_').next().unwrap_or_default() {
        "roofline" => (
            "Machine limits: bytes or operations per cycle",
            "Operations are additions and multiplications, fused or separate. Bytes are read, written, or read \
             and written; `plain` is the system's copy.",
        ),
        "sample" | "layers" => (
            "Sampling: cycles per joint",
            "A clip of 67 joints and 121 frames, sampled at another time in each call. `frames` are unpacked \
             clips; `condyle` is compressed. `sample_raw` is an uncompressed clip with 31 keys per track, and all \
             tracks of `fallback` are raw keys in a clip. `layers`: two to four clips sampled and blended in one call, or two of which one is `masked`.",
        ),
        "hit" => (
            "Queries on posed triangles: cycles per triangle, ray or point",
            "A bending body of 10,000 triangles. `refit` fits the BVH to the pose, per triangle; `ray` is the first hit of one \
             of 256 rays, `closest` the nearest point. `glam` tests every triangle; `parry3d` uses its BVH.",
        ),
        "character" => (
            "Whole characters: cycles per character",
            "Each character has 67 joints, 25 or one, and blends two of 32 clips, half of each, at its own times. It then computes model space and a \
             palette of columns. One character, or many in a row. Two threads share the characters, in a pool of two. `frames` are \
             unpacked clips, sampled and blended in one pass; `condyle` is compressed. `glam_keys` has keys per joint, a binary search and slerp; `glam_frames` has whole frames and nlerp.",
        ),
        "stage" => (
            "Stages of a character: cycles per character",
            "67 joints. Each stage reads the output of the previous one: sampling of two clips, blending, model space, and the palette as \
             columns and as rows. `sample_frames` samples and blends unpacked clips.",
        ),
        "call" => (
            "Call overhead: nanoseconds",
            "The columns are a call on one joint or vertex, the time per element of a call on 67, and their difference, the overhead. \
             Poses are processed in blocks of sixteen joints, so their overhead includes the arithmetic of some joints. `sample_joint`, `rotation` \
             and `motion` return one result per call, so 67 are 67 calls. The overhead of the first two is relative to \
             `sample` and `interpolate`, which return all results in one call. `held` uses the interpolation coefficients that \
             `Prepared` stores. Skinning has 4 influences. All figures are in the fast mode.",
        ),
        "slerp" => ("Spherical interpolation: cycles per joint", "One factor for all joints."),
        "nlerp" => ("Normalised linear interpolation: cycles per joint", "One factor for all joints."),
        "other" => (
            "Other interpolation methods: cycles per joint",
            "Slerp: the polynomial of lower degree, a factor per joint, every other joint by a list of indices, \
             and output to the first argument. Eberly's series: 16 terms, 5 terms on half of the angle, and \
             5 terms with a precomputed midpoint. Others: nlerp with a corrected factor, and the exponential map.",
        ),
        "quats" => ("Joints to matrices: cycles per joint", "Three rows, or four columns (`columns`)."),
        "mats" => ("Matrices to joints: cycles per joint", ""),
        "local" | "model" => (
            "Local to model and back: cycles per joint",
            "A character of 67 joints, an update of half of it, sixteen characters, and model matrices to local transforms.",
        ),
        "blend" => ("Blending: cycles per joint and layer", "Four layers."),
        "palette" => {
            ("Palette: cycles per joint", "Condyle also determines whether normals need separate matrices.")
        }
        "ik" => (
            "Inverse kinematics: cycles per pose",
            "`two_bone`: an arm with two bones of 30 cm on a character of 67 joints, with or without a pole. `aim`: a joint that points at a target. `arm7`: 7 hinges with limits, from stretched straight up to 500 goals of allowed poses, for the position alone (`position`) or \
             with the orientation (`pose`), to 1 mm and 0.001 rad. `body55`: 55 joints with movable hips and 4 or 8 goals, to 1 mm, for 16 poses \
             from rest (`cold`) or frame by frame at 30 Hz (`warm`). The error is the largest residual, in metres or radians. docs/peers.md has the times of \
             other solvers for `arm7` and `body55`.",
        ),
        "morph" => (
            "Morph targets: cycles per vertex",
            "Positions and normals. `morph_1024`: three targets that move all vertices. `morph_100x10_20k`: a face of 20,000 vertices and 100 targets that \
             each move 10 % of it; ten targets are active.",
        ),
        "springs" => (
            "Spring bones: cycles per joint and frame",
            "Hair of 100 joints in 20 chains, of one character or of 100 (`crowd100`).",
        ),
        "silhouette" | "normals" => (
            "Posed triangles: cycles per triangle",
            "A closed surface of 10,000 triangles: its silhouette towards a light, and vertex normals, weighted by triangle angles.",
        ),
        "bounds" | "hitbox" | "baked" => (
            "Bounds, hitboxes and baked meshes: cycles per character, vertex, ray or joint",
            "`bounds_67`: the box around a character of 67 joints, from its matrices; `glam` uses a box per joint. `bounds_new`: the set-up of such boxes, per vertex of 100,500. \
             `bounds_vertices`: the box of 4,020 vertices. `hitbox_ray_67`: the first hit of one of 512 rays on 67 capsules. `hitbox_place_67`: placing the capsules on a pose. \
             `baked_10k`: positions and normals of 10,000 vertices between two baked frames.",
        ),
        _ => (
            "Skinning: cycles per vertex",
            "`p`: positions; `pn`: positions and normals; `pnt`: tangents too; `bases`: positions from weighted base vectors. With the number of \
             influences per vertex, of 1 to 4 in `pn1to4`, and 1024, 67 (`67`) or a million (`1m`) vertices. `pn4_interleaved` writes an interleaved vertex buffer \
             with texture coordinates in it; `planes` writes the same in separate arrays.",
        ),
    }
}

/// Table column: one case.
type Column = (&'static str, usize, &'static str);

fn column(row: &Row) -> Column {
    (row.work, row.n, row.layout)
}

/// Table row: implementation, threads, instruction set, mode, and whether it is a peer.
type Line = (&'static str, usize, &'static str, &'static str, bool);

fn line(row: &Row) -> Line {
    (row.implementation, row.threads, row.isa, row.mode, row.peer)
}

/// Implementation, with its number of threads if there are several.
fn who(&(implementation, threads, ..): &Line) -> String {
    if threads > 1 { format!("{implementation}, {threads} threads") } else { implementation.into() }
}

/// Label that distinguishes a row. Condyle on one thread is implied unless the label names another
/// implementation.
fn short(line: &Line) -> String {
    let (implementation, threads, isa, mode, peer) = *line;
    match implementation {
        "condyle" if threads == 1 => format!("{isa} {mode}"),
        _ if peer => implementation.into(),
        _ => format!("{} {isa} {mode}", who(line)),
    }
}

/// Distinct values in order of first appearance.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut out = Vec::new();
    for item in all {
        if !out.contains(&item) {
            out.push(item);
        }
    }
    out
}

/// Row that a result is compared with. For another method of condyle: condyle on the same instruction set.
/// For a peer: condyle on AVX2, or on the best available one.
fn rival<'a>(rows: &'a [Row], row: &Row) -> Option<&'a Row> {
    let ours = || rows.iter().filter(|r| column(r) == column(row)).filter(|r| is_condyle(r));
    if !row.peer {
        return ours().find(|r| (r.isa, r.mode) == (row.isa, row.mode));
    }
    let fast = || ours().filter(|r| r.mode == "fast");
    fast().find(|r| r.isa == "avx2").or_else(|| fast().next_back()).or_else(|| ours().next_back())
}

/// Condyle on one thread, the reference for other rows.
fn is_condyle(row: &Row) -> bool {
    (row.implementation, row.threads) == ("condyle", 1)
}

/// Name of each column, with only the parts in which columns differ.
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

/// Table of a section: one row per implementation and one column per case, or transposed if there are more
/// cases than implementations.
pub(crate) fn results(rows: &[Row]) -> Table {
    if rows[0].work.starts_with("call_") {
        return calls(rows);
    }
    // Reference copies are not results.
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

/// One row per call, with the time on one element, per element of many, and the overhead, for each
/// instruction set.
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
            ["1".into(), call::MANY.to_string(), "overhead".into()].map(|n: String| format!("{isa} {n}")),
        );
    }
    head.push("max error".into());
    let rows = lines.iter().map(line).collect();
    Table { title: title.into(), note: note.into(), head, words: 3, rows }
}

/// Maximum work per cycle that any implementation reached, for one instruction set or for all.
fn most(rows: &[Row], work: &str, isa: Option<&str>) -> Option<f64> {
    let of_work = rows.iter().filter(|r| r.work == work && isa.is_none_or(|isa| r.isa == isa));
    of_work.map(|r| 1.0 / r.cycles).reduce(f64::max)
}

/// Distance of condyle from the machine's roofline.
pub(crate) fn closeness(rows: &[Row]) -> Table {
    let ours = || rows.iter().filter(|r| is_condyle(r) && r.mode == "fast" && r.bytes > 0 && !is_roofline(r));
    // The required ratios are for AVX2. The best instruction set is shown next to it.
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
        title: "Distance from the roofline".into(),
        note: "Bytes and operations of each kernel per cycle, and in parentheses the share of the machine's limit. \
               The limit for bytes is a copy in the memory level that holds all of the data (`in`; for a \
               million vertices, a copy of the same number of bytes). The limit for operations is fused multiply-adds on the same \
               instruction set. The larger share is the distance from the roofline. It may exceed 100 %, because a \
               copy writes half of its bytes and most kernels write less. `bytes` are read and written once per \
               element. Operations are the additions and multiplications of the formula, and are omitted \
               if roots, divisions or latencies dominate. Kernels far from both limits wait for something else: \
               joints for their parents, samples for their keys, structures for the shuffles into \
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

/// Prefixes of the benchmarks that play a clip, which has a compressed and an unpacked form.
const PLAYING: [&str; 5] = ["sample_67", "character", "stage_67_sample", "call_sample", "call_motion"];

/// One JSON object per line.
pub(crate) fn json(rows: &[Row]) -> String {
    let line = |row: &Row| {
        // Both forms of a clip are condyle.
        let (implementation, form) = match row.implementation {
            FRAMES => ("condyle", Some(FRAMES)),
            "condyle" if PLAYING.iter().any(|work| row.work.starts_with(work)) => {
                ("condyle", Some("compressed"))
            }
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

/// Core clock from the nanoseconds and cycles of all rows, and rate of the time-stamp counter.
fn clock(rows: &[Row]) -> String {
    let clocks = || rows.iter().map(|r| r.cycles / r.ns);
    let (least, most) = (clocks().fold(f64::INFINITY, f64::min), clocks().fold(0.0, f64::max));
    let core = format!("{least:.2} to {most:.2} GHz while this ran");
    match ticks_per_ns() {
        Some(ticks) => format!("{core}, time-stamp counter at {ticks:.2} GHz"),
        None => format!("{core}, no time-stamp counter, so ticks are cycles"),
    }
}

/// Notes for the tables in a terminal.
pub(crate) fn summary(rows: &[Row]) -> String {
    format!(
        "Minima on {}, {}.\nIn parentheses: time relative to condyle, on avx2 or on the same \
         instruction set.\n",
        processor(),
        clock(rows)
    )
}

/// Peer crates with their versions.
fn peers() -> String {
    let manifest = include_str!("../Cargo.toml");
    let peer = |line: &str| {
        let (name, rest) = line.split_once(" = { version = \"")?;
        let (version, rest) = rest.split_once('"')?;
        rest.contains("optional").then(|| format!("{name} {version}"))
    };
    manifest.lines().filter_map(peer).collect::<Vec<_>>().join(", ")
}

/// Notes for the tables, one paragraph each.
pub(crate) fn conditions(rows: &[Row], rounds: u32) -> Vec<String> {
    let sets = MEMORIES.map(|memory| {
        let bytes = memory.working_set();
        let size =
            if bytes < 1 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) };
        format!("{} {size}", memory.name())
    });
    vec![
        format!("{}, {}, one thread unless stated otherwise, {}.", processor(), clock(rows), date()),
        "Every result is checked against the f64 reference before it is timed. `max error` is the largest difference \
         in any component."
            .into(),
        format!(
            "Minimum of {rounds} rounds, fewer for large inputs, in two passes over all benchmarks. All implementations of one benchmark run interleaved \
             on the same data. The core clock \
             is measured in every round, so cycles are core cycles."
        ),
        "In parentheses: time relative to condyle on AVX2 in the fast mode. For `van_waveren` and `eberly8`, \
         which are kernels of condyle too, relative to condyle on the same instruction set in the same mode."
            .into(),
        format!(
            "Peers are alternatives to condyle: idiomatic code with a crate ({}), or `plain` Rust with arrays \
             and loops that the compiler vectorises. They are compiled with default settings, without \
             `target-cpu`; `isa` is the resulting instruction set. The crate `ozz_rs` is missing because it needs a nightly compiler.",
            peers()
        ),
        "`blocks` are poses: sixteen joints with an array per component. `structs` are consecutive joints or vertices. \
         A number next to the layout is the number of elements. In blocks, `plain` holds sixteen joints per value."
            .into(),
        "Differences in the work: peers interpolate, blend and extract rotation and translation; condyle also handles scale. \
         All pairs of rotations here are distinct and in the same hemisphere. \
         `plain` in blocks uses Eberly's series; the other peers call an arccosine and sines."
            .into(),
        "Every call reads the same data, so branch predictors memorise the branch pattern for up to about 1,000 elements. \
         This favours peers with branches. With more elements, mispredictions slow them down, as in `mats_to_quats`."
            .into(),
        format!("The machine limits are measured on {}, read, written, or half read and half written.", sets.join(", ")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::works;

    /// A table with only reference copies would have no rows.
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
