//! What the kernels are held to, on the level of AVX2 in the fast mode, and whether they keep it.

use crate::harness::Row;
use crate::table::Table;

/// What is demanded of one case.
enum Demand {
    /// Cycles per element, at most.
    Cycles(f64),
    /// At least so many times as fast as this implementation, or as the same instruction set where it is one of ours.
    Times(&'static str, f64),
    /// At most so many times as long as copying the same bytes.
    Copy(f64),
}

use Demand::{Copy, Cycles, Times};

const TARGETS: &[(&str, &str, usize, &[Demand])] = &[
    (
        "slerp_joints",
        "blocks",
        1024,
        &[Cycles(4.8), Times("glam", 14.0), Times("van_waveren", 3.5), Times("ultraviolet", 3.3)],
    ),
    ("slerp_joints", "structs", 1024, &[Cycles(8.5), Times("glam", 7.5)]),
    ("nlerp_joints", "blocks", 1024, &[Cycles(3.8), Times("glam", 4.4)]),
    ("nlerp_joints", "structs", 1024, &[Cycles(7.0), Times("glam", 2.4)]),
    ("quats_to_mats", "blocks", 1024, &[Cycles(6.0), Times("glam", 1.8)]),
    ("quats_to_mats", "structs", 1024, &[Cycles(6.9), Times("glam", 1.55)]),
    ("quats_to_mats", "blocks", 128, &[Cycles(4.6)]),
    ("quats_to_mats", "structs", 128, &[Cycles(7.0)]),
    ("mats_to_quats", "structs", 1024, &[Cycles(8.5), Times("glam", 1.25)]),
    ("skin_p2", "structs", 1024, &[Cycles(6.8), Times("glam", 1.65)]),
    ("skin_p4", "structs", 1024, &[Cycles(11.5), Times("glam", 1.6)]),
    ("skin_pnt2", "structs", 1024, &[Cycles(10.5)]),
    ("skin_pnt4", "structs", 1024, &[Cycles(16.5), Times("glam", 1.9)]),
    ("skin_p4_1m", "structs", 1_000_000, &[Copy(1.35), Times("glam", 1.25)]),
    ("skin_pnt4_1m", "structs", 1_000_000, &[Copy(1.35), Times("glam", 1.5)]),
    ("local_to_model_67", "blocks", 67, &[Cycles(17.0), Times("glam", 1.5)]),
    ("local_to_model_crowd16", "blocks", 67 * 16, &[Cycles(9.0), Times("glam", 2.8)]),
    ("blend_layer", "blocks", 1024, &[Cycles(4.5)]),
];

/// One line for each demand whose case is among the rows.
pub(crate) fn table(rows: &[Row]) -> Table {
    let mut lines = Vec::new();
    for &(work, layout, n, demands) in TARGETS {
        let find = |work: &str, implementation: &str| {
            let matches = |row: &&Row| row.work == work && row.layout == layout && row.n == n;
            let same = |row: &&Row| row.peer || (row.isa == "avx2" && row.mode == "fast");
            rows.iter().filter(matches).filter(same).find(|row| row.implementation == implementation)
        };
        let Some(ours) = find(work, "condyle") else {
            continue;
        };
        for demand in demands {
            let times_of = |row: &Row| row.ns / ours.ns;
            let (what, at_most, limit, found) = match *demand {
                Cycles(limit) => ("cycles".into(), true, limit, Some(ours.cycles)),
                Times(peer, limit) => {
                    (format!("times as fast as {peer}"), false, limit, find(work, peer).map(times_of))
                }
                Copy(limit) => {
                    let copy = find(&format!("copy_of_{work}"), "plain");
                    ("times as long as a copy".into(), true, limit, copy.map(|copy| 1.0 / times_of(copy)))
                }
            };
            let Some(found) = found else { continue };
            let (sign, beyond) =
                if at_most { ("≤", found / limit - 1.0) } else { ("≥", 1.0 - found / limit) };
            let verdict =
                if beyond <= 0.0 { "met".into() } else { format!("missed by {:.0} %", 100.0 * beyond) };
            let limit = format!("{sign} {limit}");
            let cells =
                [work.into(), layout.into(), what, n.to_string(), limit, format!("{found:.2}"), verdict];
            lines.push(cells.to_vec());
        }
    }
    Table {
        title: "Targets".into(),
        note: "On the level of AVX2, in the fast mode.".into(),
        head: ["work", "layout", "what", "n", "limit", "found", "verdict"].map(String::from).to_vec(),
        words: 3,
        rows: lines,
    }
}
