//! Reasons why this machine misses targets: the limit of each kernel, by counters, roofline or machine code.
//!
//! Figures are of one core, an Intel Xeon (family 6, model 167) at 4.1 GHz, with AVX2 unless they name
//! another level. It issues at most six operations per cycle. Their number in a loop, and simulated
//! cycles, are of `llvm-mca -mcpu=icelake-server`; shares of a call are samples of `perf`; copies are
//! from the table of machine limits in `lab/bench/results/benchmarks.md`.

use crate::table::wrapped;

/// Missed target: benchmark, layout, and the text of the target's `what` column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missed<'a> {
    pub(crate) work: &'a str,
    pub(crate) layout: &'a str,
    pub(crate) what: &'a str,
}

/// Targets with one reason.
///
/// `works` are names, or the beginning of names before a `*`. The layout is any if it is empty. `what` has
/// beginnings of the `what` column; an empty list allows any.
#[derive(Debug)]
struct Limit {
    works: &'static [&'static str],
    layout: &'static str,
    what: &'static [&'static str],
    reason: &'static str,
}

impl Limit {
    fn explains(&self, missed: Missed<'_>) -> bool {
        let named = |work: &&str| match work.strip_suffix('*') {
            Some(start) => missed.work.starts_with(start),
            None => missed.work == *work,
        };
        self.works.iter().any(named)
            && (self.layout.is_empty() || self.layout == missed.layout)
            && (self.what.is_empty() || self.what.iter().any(|start| missed.what.starts_with(start)))
    }
}

/// The first reason that matches counts.
const LIMITS: &[Limit] = &[
    Limit {
        works: &["call_*"],
        layout: "",
        what: &["avx512, "],
        reason: "On few joints these kernels run with AVX2 on both, see decision 087. The selection of the \
                 narrower copy adds a few cycles to a short call.",
    },
    Limit {
        works: &["skin_pnt2"],
        layout: "structs",
        what: &["avx512, "],
        reason: "The loop has 345 instructions with AVX-512, because the compiler unrolls it, and 70 with AVX2.",
    },
    Limit {
        works: &["other_*", "slerp_joints"],
        layout: "",
        what: &["avx512, "],
        reason: "Joints of a list, and structures for methods without a separate kernel, are copied to \
                 blocks one by one. For `other_slerp_list` these copies take three quarters of the time, so \
                 wider lanes gain little.",
    },
    Limit {
        works: &["sample_67_crowd"],
        layout: "",
        what: &["avx512, "],
        reason: "Poses and clips of 1,000 characters are in L3, and 67 joints fill four groups of sixteen \
                 and a fifth with three.",
    },
    Limit {
        works: &["sample_67_forward", "sample_67_backward", "sample_67_random", "call_sample"],
        layout: "blocks",
        what: &["frames: "],
        reason: "Sixteen joints take 56 cycles. The set-up of a call takes 141: the time in each layer, the weights of its frames, and an order of layers that does not depend on the caller.",
    },
    Limit {
        works: &["sample_67_forward", "sample_67_backward", "sample_67_random"],
        layout: "blocks",
        what: &["sse42: "],
        reason: "SSE4.2 cannot shift each lane by its own count. Keys are moved by multiplications with \
                 powers of two, and two tracks take two registers.",
    },
    Limit {
        works: &["sample_67_forward", "sample_67_backward", "sample_67_random"],
        layout: "blocks",
        what: &["sse2: "],
        reason: "SSE2 has no shuffle of bytes by a register, so each key is extracted by scalar code.",
    },
    Limit {
        works: &["sample_67_forward", "sample_67_backward", "sample_67_random"],
        layout: "blocks",
        what: &["ns", "speedup compared with glam"],
        reason: "58 % of a call unpacks keys: 25 cycles for two tracks, as llvm-mca simulates (26), and 17.5 \
                 at six operations per cycle. Finding the segment and its classes takes 27 %.",
    },
    Limit {
        works: &["character_67_alone"],
        layout: "blocks",
        what: &["ns", "speedup compared with "],
        reason: "Sampling of two compressed clips takes 2,988 of 4,891 cycles. `sample_67_forward` has the same limits.",
    },
    Limit {
        works: &["character_67_alone", "character_67_crowd1000", "character_67_crowd10000"],
        layout: "blocks",
        what: &[
            "frames: ns",
            "avx512: frames: ns",
            "sse42: frames: ns",
            "sse2: frames: ns",
            "frames: speedup compared",
        ],
        reason: "Model space and palette take 1,310 of 2,098 cycles with AVX2, and would take 1,010 at six \
                 operations per cycle. The layers take 630. Decision 079 lists what was tried.",
    },
    Limit {
        works: &["character_67_crowd1000", "character_67_crowd10000"],
        layout: "blocks",
        what: &["ns", "speedup compared with "],
        reason: "5.4 kB per character move to and from L3, at least 720 cycles at the speed of a copy, on \
                 top of one character alone. Other programs on the machine disturb runs of this length.",
    },
    Limit {
        works: &["character_67_crowd1000", "character_67_crowd10000"],
        layout: "blocks",
        what: &["speedup with two threads", "frames: speedup with two threads"],
        reason: "Both cores write matrices to the same L3, and other programs take part of the second core. Earlier runs reached 1.94 to 2.50.",
    },
    Limit {
        works: &["character_25_alone", "character_1_alone"],
        layout: "blocks",
        what: &["frames: ns"],
        reason: "The set-up of the calls takes about 300 cycles for any number of joints: 200 of sampling, 70 of \
                 model space, 35 of the palette. They check lengths, skeleton and times.",
    },
    Limit {
        works: &["sample_67_fallback"],
        layout: "blocks",
        what: &["ns"],
        reason: "A line of the table, two keys and a test of their lengths are read for one track after the other. \
                 Loops instead of iterators around them took 17 % longer.",
    },
    Limit {
        works: &["stage_67_columns"],
        layout: "",
        what: &["sse42: ns", "sse2: ns"],
        reason: "A product of two matrices in vectors of four, and its transposition to columns, take 14 to 16 cycles per joint. With SSE2, glam takes 0.9x of the time and RTM 1.0x: see the table of peers.",
    },
    Limit {
        works: &["hit_refit_10k"],
        layout: "",
        what: &["ns per call"],
        reason: "Each vertex of a leaf is copied to the tree by its index, and enters a minimum and a maximum. parry3d is eight times slower.",
    },
    Limit {
        works: &["bounds_new"],
        layout: "",
        what: &["ns"],
        reason: "Only border points are examined, so the time per vertex falls with their number: 0.36 µs for a million. \
                 Here they are random points around each bone.",
    },
    Limit {
        works: &["hitbox_ray_67"],
        layout: "",
        what: &["ns"],
        reason: "Alone, this benchmark takes 466 cycles per ray, within the limit. In a run of all benchmarks it takes \
                 520 to 540.",
    },
    Limit {
        works: &["nlerp_joints"],
        layout: "blocks",
        what: &["ticks"],
        reason: "120 bytes per joint move at the speed of a copy in L2.",
    },
    Limit {
        works: &["skin_p4", "skin_pnt2", "skin_pnt5", "skin_pnt8"],
        layout: "structs",
        what: &["ns", "ticks"],
        reason: "Each influence takes 1.9 to 2.3 cycles: a matrix of 64 bytes is loaded, and its columns are multiplied and \
                 added, in pairs of vertices. Decision 032 lists what was tried.",
    },
    Limit {
        works: &["stage_67_rows"],
        layout: "",
        what: &["ns"],
        reason: "Two joints are 66 operations, 11 cycles at six per cycle: 369 of the 451 cycles that the \
                 limit allows on this core. Runs take 418 to 462 with the call.",
    },
    Limit {
        works: &["stage_67_blend"],
        layout: "",
        what: &["ns"],
        reason: "With the same machine code of the kernel, this stage alone took 344 cycles in one build of the \
                 benchmark and 467 in another. `blend_layer` and whole characters took the same time.",
    },
    Limit {
        works: &["morph_100x10_20k"],
        layout: "structs",
        what: &["avx512, "],
        reason: "Both take 4.0 to 4.1 cycles per vertex, less than a copy of the same bytes.",
    },
    Limit {
        works: &["call_add"],
        layout: "blocks",
        what: &["ns of call overhead"],
        reason: "One group of eight joints takes 28 ns: a logarithm and an exponential with three roots and \
                 three divisions. 67 joints are nine such groups.",
    },
    Limit {
        works: &["call_sample", "call_sample_joint"],
        layout: "blocks",
        what: &["ns of call overhead"],
        reason: "One joint is one chain of about 340 cycles: segment, keys, unpacking, the coefficients of \
                 slerp, slerp. No instruction has more than 4 % of a profile, see decision 087.",
    },
    Limit {
        works: &["call_interpolate_held", "call_rotation_held"],
        layout: "",
        what: &["ns of call overhead"],
        reason: "With held coefficients the latency of one slerp remains: about 80 cycles, 19 ns. Structures \
                 are transposed in addition.",
    },
    Limit {
        works: &["call_overlay", "call_interpolate"],
        layout: "",
        what: &["ns of call overhead"],
        reason: "The coefficients of slerp take 15 ns: about 90 multiplications and additions, at two per \
                 cycle 11 ns. The latency of one slerp is 19 ns.",
    },
    Limit {
        works: &["call_skin_pn", "call_skin_pnt"],
        layout: "structs",
        what: &["ns of call overhead"],
        reason: "One vertex is one chain: the sum of four matrices, three products, a root and a division for \
                 the normal, and the same for the tangent.",
    },
    Limit {
        works: &["call_motion_at", "call_motion_over"],
        layout: "",
        what: &["ns"],
        reason: "A chain of about 250 cycles in f64: place in the clip, curve, two divisions, a series, \
                 normalisation. `motion_over` overlaps two of them, then composes. Decision 086 lists what \
                 was tried.",
    },
    Limit {
        works: &["slerp_joints"],
        layout: "blocks",
        what: &["speedup compared with "],
        reason: "A copy of 120 bytes per joint in L2 takes 4.3 cycles. The kernel takes 5.2, and 4.4 with AVX-512. glam takes 57.8 on this core, so 13.3 is the maximum at that speed.",
    },
    Limit {
        works: &["slerp_joints", "nlerp_joints"],
        layout: "structs",
        what: &["speedup compared with glam"],
        reason: "Eight joints are one chain of about 135 cycles: transposition, weights, transposition. The core \
                 holds 512 operations, 2.7 groups of nlerp or 2.3 of slerp: at least 6.4 and 7.4 cycles per joint.",
    },
    Limit {
        works: &["nlerp_joints"],
        layout: "blocks",
        what: &["speedup compared with glam"],
        reason: "120 bytes per joint move at 94 % of the speed of a copy in L2, 4.3 cycles. glam takes 9.9 \
                 cycles on this core, so 2.3 is the maximum at that speed.",
    },
    Limit {
        works: &["mats_to_quats"],
        layout: "structs",
        what: &["speedup compared with glam"],
        reason: "glam branches to one of four formulas, and the branch predictor memorises 1,024 matrices. \
                 With 65,520 matrices glam takes 38 cycles per joint, and condyle 11.",
    },
    Limit {
        works: &["skin_pn4", "skin_pnt4"],
        layout: "structs",
        what: &["speedup compared with glam", "sse42: "],
        reason: "Transforms take three quarters of the time: with SSE4.2, 48 multiplications and additions on \
                 two ports, 24 cycles. The rest normalises normals and tangents, see decision 088.",
    },
    Limit {
        works: &["skin_pn4_interleaved"],
        layout: "structs",
        what: &["speedup compared with planes"],
        reason: "128 vertices at a time are copied to planes and back. Stores straight from the kernels take \
                 two stores and a check per vector, and cost planes 12 %, see decision 088.",
    },
    Limit {
        works: &["skin_pn4_dual"],
        layout: "structs",
        what: &["speedup compared with linear"],
        reason: "Eight blended dual quaternions are converted to matrices in about 16 of 24 cycles per \
                 vertex: 28 selections for hemispheres, eight divisions. Linear skinning needs neither.",
    },
    Limit {
        works: &["skin_pnt4_1m"],
        layout: "structs",
        what: &["speedup compared with glam"],
        reason: "The time is 1.2 times that of a copy of the same bytes, and glam's is 1.27 times. A kernel \
                 at the speed of that copy would be 1.27 times faster than glam.",
    },
    Limit {
        works: &["local_to_model_crowd16"],
        layout: "blocks",
        what: &["ticks", "speedup compared with glam"],
        reason: "A joint takes 11.8 cycles, and 52 operations, 8.6 cycles at six per cycle: 38 to multiply \
                 two matrices, 14 to convert. Products wait for those of the parents.",
    },
    Limit {
        works: &["model_to_local_67"],
        layout: "structs",
        what: &["ns per call"],
        reason: "Four inverses in f64 take 144 cycles, as llvm-mca simulates (143): 383 instructions, 108 of \
                 them shuffles and conversions. f32 would lose the documented accuracy.",
    },
    Limit {
        works: &["ik_two_bone", "ik_two_bone_pole"],
        layout: "",
        what: &["ns"],
        reason: "One limb is 864 instructions in f64, 1,059 with a pole, at 3.5 per cycle. Compiled for \
                 AVX2, it took 7 % and 13 % longer.",
    },
    Limit {
        works: &["bounds_67"],
        layout: "",
        what: &["ns"],
        reason: "Boxes of eight joints are 214 instructions, 40 % of the kernel. The rest examines border \
                 points of single joints, and how many depends on the pose.",
    },
    Limit {
        works: &["silhouette_10k"],
        layout: "",
        what: &["ns per call"],
        reason: "Marking a triangle takes 28 instructions at 5.6 per cycle: three vertices, each with a \
                 bounds check. Selections instead of branches took 22 % longer. Visiting the edges takes 3.0 \
                 of 8.0 cycles.",
    },
];

/// Reasons for the missed targets of one run, in order of first use.
#[derive(Debug)]
pub(crate) struct Listed {
    known: &'static [Limit],
    used: Vec<Used>,
}

/// A reason that explains at least one missed target.
#[derive(Debug)]
struct Used {
    limit: &'static Limit,
    /// The benchmarks that it explains, each with its layout.
    works: Vec<String>,
}

impl Default for Listed {
    fn default() -> Self {
        Self { known: LIMITS, used: Vec::new() }
    }
}

impl Listed {
    /// Verdict on a target missed by the share `beyond`, with the number of its reason in this list.
    pub(crate) fn verdict(&mut self, beyond: f64, missed: Missed<'_>) -> String {
        let verdict = format!("missed by {:.0} %", 100.0 * beyond);
        match self.number(missed) {
            Some(number) => format!("{verdict}: limit {number}"),
            None => format!("{verdict}, no reason known"),
        }
    }

    /// Number of the reason, from 1.
    fn number(&mut self, missed: Missed<'_>) -> Option<usize> {
        let limit = self.known.iter().find(|limit| limit.explains(missed))?;
        let at = self.used.iter().position(|used| std::ptr::eq(used.limit, limit)).unwrap_or_else(|| {
            self.used.push(Used { limit, works: Vec::new() });
            self.used.len() - 1
        });
        let Missed { work, layout, .. } = missed;
        let name = if layout.is_empty() { work.to_owned() } else { format!("{work} {layout}") };
        let works = &mut self.used[at].works;
        if !works.contains(&name) {
            works.push(name);
        }
        Some(at + 1)
    }

    /// One line for each reason: number, benchmarks, reason.
    fn lines(&self) -> impl Iterator<Item = String> {
        let line = |(number, used): (usize, &Used)| {
            format!("{number}. {}: {}", used.works.join(", "), used.limit.reason)
        };
        (1..).zip(&self.used).map(line)
    }

    /// Text for a terminal, or nothing without a reason.
    pub(crate) fn text(&self) -> String {
        if self.used.is_empty() {
            return String::new();
        }
        let lines: String = self.lines().map(|line| wrapped(&line)).collect();
        format!("{TITLE}\n{}{lines}\n", wrapped(NOTE))
    }

    /// Markdown with a heading of the second level, or nothing without a reason.
    pub(crate) fn markdown(&self) -> String {
        if self.used.is_empty() {
            return String::new();
        }
        let lines: String = self.lines().map(|line| line + "\n").collect();
        format!("\n## {TITLE}\n\n{NOTE}\n\n{lines}")
    }
}

const TITLE: &str = "Limits of missed targets";
const NOTE: &str = "Figures are of the core that `lab/bench/src/limits.rs` names, with AVX2 unless they name \
                    another level. It issues at most six operations per cycle.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{targets, works};

    const GLAM: &str = "speedup compared with glam";

    fn missed<'a>(work: &'a str, layout: &'a str, what: &'a str) -> Missed<'a> {
        Missed { work, layout, what }
    }

    const EXAMPLE: &[Limit] = &[
        Limit { works: &["skin_*"], layout: "", what: &["avx512, "], reason: "Lanes." },
        Limit { works: &["nlerp_joints"], layout: "blocks", what: &[GLAM], reason: "Memory." },
        Limit { works: &["skin_p4", "skin_pn4"], layout: "structs", what: &[], reason: "Loads." },
    ];

    #[test]
    fn reasons_are_numbered_in_order_of_use_and_listed_once() {
        let mut list = Listed { known: EXAMPLE, used: vec![] };
        for (subject, verdict) in [
            (missed("skin_pn4", "structs", "ns"), "missed by 10 %: limit 1"),
            (missed("nlerp_joints", "blocks", GLAM), "missed by 10 %: limit 2"),
            (missed("skin_p4", "structs", "sse42: ns"), "missed by 10 %: limit 1"),
            (missed("skin_p4", "structs", "ns"), "missed by 10 %: limit 1"),
            (
                missed("skin_p4", "structs", "avx512, fast, condyle: time relative to avx2"),
                "missed by 10 %: limit 3",
            ),
            (missed("nlerp_joints", "structs", GLAM), "missed by 10 %, no reason known"),
            (missed("nlerp_joints", "blocks", "ticks"), "missed by 10 %, no reason known"),
            (missed("skin_p2", "structs", "ns"), "missed by 10 %, no reason known"),
        ] {
            assert_eq!(list.verdict(0.1, subject), verdict, "{subject:?}");
        }
        let lines = "1. skin_pn4 structs, skin_p4 structs: Loads.\n2. nlerp_joints blocks: Memory.\n\
                     3. skin_p4 structs: Lanes.\n";
        assert_eq!(list.markdown(), format!("\n## {TITLE}\n\n{NOTE}\n\n{lines}"));
        assert_eq!(list.text(), format!("{TITLE}\n{}{lines}\n", wrapped(NOTE)));
    }

    #[test]
    fn a_run_without_missed_targets_lists_no_reasons() {
        let list = Listed::default();
        assert_eq!((list.text(), list.markdown()), (String::new(), String::new()));
    }

    /// A renamed benchmark or a removed target leaves no reason behind.
    #[test]
    fn every_reason_explains_a_target() {
        let texts = targets::subjects();
        let cases = works::all();
        let all = texts.iter().map(|(work, layout, what)| missed(work, layout, what));
        let wider = cases.iter().map(|case| missed(case.work, case.layout, "avx512, fast, condyle"));
        let subjects: Vec<_> = all.chain(wider).collect();
        for (at, limit) in LIMITS.iter().enumerate() {
            let first =
                |subject: &&Missed<'_>| LIMITS.iter().position(|limit| limit.explains(**subject)) == Some(at);
            let explained: Vec<_> = subjects.iter().filter(first).collect();
            for work in limit.works {
                let one = Limit { works: std::slice::from_ref(work), ..*limit };
                assert!(explained.iter().any(|subject| one.explains(**subject)), "{work}: {}", limit.reason);
            }
            for start in limit.what {
                let named = explained.iter().any(|subject| subject.what.starts_with(start));
                assert!(named, "{:?}, {start}: {}", limit.works, limit.reason);
            }
        }
    }

    #[test]
    fn reasons_are_short_sentences() {
        for Limit { works, reason, .. } in LIMITS {
            assert!(reason.ends_with('.'), "{works:?}");
            for sentence in reason.split(". ") {
                assert!(sentence.split(' ').count() <= 35, "{works:?}: {sentence}");
            }
        }
    }
}
