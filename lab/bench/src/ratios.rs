//! Required ratios of speed: condyle to a peer, to its other form of a clip, or to one thread.
//!
//! Both sides are implementations of one case, which run interleaved on the same data. Ratios are for AVX2 in
//! the fast mode; peers are compiled with default settings.

use condyle::{Isa, Numeric};

use crate::Request;
use crate::harness::Row;
use crate::table::Table;
use crate::works::FRAMES;

/// Condyle with compressed clips, or with a work that has no clips.
const CONDYLE: &str = "condyle";

/// Condyle with the same form on one thread. The ratio is then that of two threads.
const ONE_THREAD: &str = "one thread";

/// Required ratio of one case.
struct Ratio {
    work: &'static str,
    layout: &'static str,
    n: usize,
    implementation: &'static str,
    compared_with: &'static str,
    minimum: f64,
}

impl Ratio {
    const fn blocks(work: &'static str, n: usize, compared_with: &'static str, minimum: f64) -> Self {
        Self { work, layout: "blocks", n, implementation: CONDYLE, compared_with, minimum }
    }

    const fn frames(work: &'static str, n: usize, compared_with: &'static str, minimum: f64) -> Self {
        Self { implementation: FRAMES, ..Self::blocks(work, n, compared_with, minimum) }
    }

    const fn structs(work: &'static str, n: usize, compared_with: &'static str, minimum: f64) -> Self {
        Self { layout: "structs", ..Self::blocks(work, n, compared_with, minimum) }
    }

    const fn query(work: &'static str, n: usize, compared_with: &'static str, minimum: f64) -> Self {
        Self { layout: "", ..Self::blocks(work, n, compared_with, minimum) }
    }

    /// Number of threads of the faster side.
    fn threads(&self) -> usize {
        if self.compared_with == ONE_THREAD { 2 } else { 1 }
    }

    /// Measured ratio, if both sides were measured.
    fn measured(&self, rows: &[Row]) -> Option<f64> {
        let ns = |implementation: &str, threads: usize| {
            let case = |row: &&Row| (row.work, row.layout, row.n) == (self.work, self.layout, self.n);
            let level = |row: &Row| (row.isa, row.mode) == (Isa::Avx2.name(), Numeric::Fast.name());
            let side = |row: &&Row| (row.implementation, row.threads) == (implementation, threads);
            Some(rows.iter().filter(case).find(|row| (row.peer || level(row)) && side(row))?.ns)
        };
        let other = if self.threads() > 1 { self.implementation } else { self.compared_with };
        Some(ns(other, 1)? / ns(self.implementation, self.threads())?)
    }
}

const RATIOS: [Ratio; 38] = [
    // Whole characters.
    Ratio::blocks("character_67_alone", 1, "glam_keys", 4.0),
    Ratio::blocks("character_67_alone", 1, "glam_frames", 1.2),
    Ratio::frames("character_67_alone", 1, "glam_frames", 2.8),
    Ratio::frames("character_67_alone", 1, CONDYLE, 2.0),
    Ratio::frames("character_25_alone", 1, "glam_frames", 2.2),
    // Crowds.
    Ratio::blocks("character_67_crowd1000", 1000, "glam_keys", 4.0),
    Ratio::frames("character_67_crowd1000", 1000, "glam_frames", 2.4),
    Ratio::blocks("character_67_crowd10000", 10_000, "glam_keys", 4.0),
    Ratio::frames("character_67_crowd10000", 10_000, "glam_frames", 2.4),
    Ratio::blocks("character_67_crowd10000", 10_000, ONE_THREAD, 1.8),
    Ratio::frames("character_67_crowd10000", 10_000, ONE_THREAD, 1.8),
    Ratio::frames("sample_67_crowd", 67_000, CONDYLE, 2.0),
    // Sampling and interpolation.
    Ratio::blocks("sample_67_forward", 67, "glam", 5.0),
    Ratio::blocks("sample_67_random", 67, "glam", 5.0),
    Ratio::frames("sample_67_random", 67, CONDYLE, 3.0),
    Ratio::blocks("slerp_joints", 1024, "glam", 11.0),
    Ratio::blocks("slerp_joints", 1024, "plain", 4.0),
    Ratio::structs("slerp_joints", 1024, "glam", 7.0),
    Ratio::blocks("nlerp_joints", 1024, "glam", 2.0),
    // Blends, model space, palette.
    Ratio::blocks("blend_layer", 1024, "glam", 2.0),
    Ratio::structs("quats_to_mats", 1024, "glam", 1.55),
    Ratio::structs("mats_to_quats", 65_520, "glam", 3.0),
    Ratio::blocks("local_to_model_67", 67, "glam", 2.0),
    Ratio::blocks("local_to_model_crowd16", 67 * 16, "glam", 2.0),
    Ratio::structs("palette_67", 67, "glam", 1.0),
    // Skinning and morph targets.
    Ratio::structs("skin_p4", 1024, "glam", 1.6),
    Ratio::structs("skin_pn4", 1024, "glam", 1.7),
    Ratio::structs("skin_pnt4", 1024, "glam", 1.7),
    Ratio::structs("skin_pnt4_1m", 1_000_000, "glam", 1.4),
    Ratio::structs("skin_pn4_dual", 1024, "glam", 3.0),
    Ratio::structs("skin_pn4_dual", 1024, "linear", 0.6),
    Ratio::structs("morph_100x10_20k", 20_000, "glam_sparse", 2.0),
    // Rays, bounds and bakes.
    Ratio::query("hit_refit_10k", 10_000, "parry3d_refit", 5.0),
    Ratio::query("hit_ray_10k", 256, "parry3d", 1.5),
    Ratio::query("hit_closest_10k", 256, "parry3d", 1.5),
    Ratio::query("hitbox_ray_67", 512, "glam", 2.0),
    Ratio::query("normals_10k", 10_000, "glam", 2.5),
    Ratio::structs("baked_10k", 10_000, "glam", 10.0),
];

/// Number of CPUs that this process may run on.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// One row for each ratio of a requested case, if AVX2 in the fast mode was requested. A ratio with more
/// threads than `cpus` has no verdict.
pub(crate) fn table(rows: &[Row], request: &Request, cpus: usize) -> Table {
    let is_level = |isa, numeric| isa == Isa::Avx2 && numeric == Numeric::Fast;
    let requested = request.levels.iter().any(|level| is_level(level.isa(), level.numeric()));
    let ratios = RATIOS.iter().filter(|ratio| requested && request.wants(ratio.work, ratio.n));
    let line = |ratio: &Ratio| {
        let measured = ratio.measured(rows);
        let verdict = match measured {
            None => "not measured".into(),
            Some(_) if ratio.threads() > cpus => format!("none: {cpus} CPU for {} threads", ratio.threads()),
            Some(measured) if measured >= ratio.minimum => "met".into(),
            Some(measured) => format!("missed by {:.0} %", 100.0 * (1.0 - measured / ratio.minimum)),
        };
        vec![
            ratio.work.into(),
            ratio.layout.into(),
            ratio.implementation.into(),
            ratio.compared_with.into(),
            ratio.n.to_string(),
            format!("{:.2}", ratio.minimum),
            measured.map_or(String::new(), |measured| format!("{measured:.2}")),
            verdict,
        ]
    };
    let head = ["work", "layout", "impl", "compared with", "n", "minimum", "measured", "verdict"];
    Table {
        title: "Required ratios".into(),
        note: "Factors by which condyle is faster with AVX2 in the fast mode. Both sides run interleaved on the same \
               data. `one thread` is compared with two."
            .into(),
        head: head.map(String::from).to_vec(),
        words: 4,
        rows: ratios.map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::works;

    #[test]
    fn every_ratio_has_its_case() {
        let cases = works::all();
        for Ratio { work, layout, n, .. } in &RATIOS {
            // Tests have fewer elements in the largest cases.
            let is_case = |case: &&crate::harness::Case| (case.work, case.layout) == (*work, *layout);
            let mut cases = cases.iter().filter(is_case).peekable();
            assert!(cases.peek().is_some(), "{work} {layout}");
            assert!(*n > 60_000 || cases.any(|case| case.n == *n), "{work} {layout} {n}");
        }
    }

    #[test]
    fn ratios_are_of_one_case_on_avx2() {
        let row = |implementation, threads, isa, ns| Row {
            work: "character_67_crowd10000",
            n: 10_000,
            layout: "blocks",
            bytes: 0,
            data: 0,
            flops: 0,
            implementation,
            isa,
            mode: "fast",
            threads,
            peer: implementation == "glam_frames",
            ns,
            cycles: ns,
            ticks: ns,
            max_error: 0.0,
        };
        let frames = |threads, isa, ns| row(FRAMES, threads, isa, ns);
        let rows = [frames(1, "sse2", 900.0), frames(1, "avx2", 100.0), frames(2, "avx2", 80.0)];
        let rows = [&rows[..], &[row("glam_frames", 1, "sse2", 300.0)]].concat();
        let measured = |compared_with| {
            Ratio::frames("character_67_crowd10000", 10_000, compared_with, 2.0).measured(&rows)
        };
        assert_eq!(measured("glam_frames"), Some(3.0));
        assert_eq!(measured(ONE_THREAD), Some(1.25));
        assert_eq!(measured(CONDYLE), None);
    }
}
