//! Van Waveren's three tables of clock cycles: his two Pentium 4 processors next to this machine.

use std::convert::Infallible;

use condyle::{Dispatch, Isa, Numeric};
use condyle_bench::{Format, Request};
use serde_json::{Value, json};

use super::page;
use condyle_bench::aligned;

/// Row of van Waveren's tables, and the benchmark that does the same work.
struct Routine {
    name: &'static str,
    work: &'static str,
    /// Cycles per element on a 130 nm Pentium 4 and on a 90 nm one.
    c: [u32; 2],
    sse: [u32; 2],
    /// Cycles with SSE3, measured only on the 90 nm Pentium 4.
    sse3: Option<u32>,
}

struct Paper {
    title: &'static str,
    element: &'static str,
    routines: [Routine; 2],
}

const PAPERS: [Paper; 3] = [
    Paper {
        title: "Slerping Clock Cycles: 1024 joints of a quaternion and a vector",
        element: "joint",
        routines: [
            Routine {
                name: "SlerpJoints",
                work: "slerp_joints",
                c: [1011, 1018],
                sse: [107, 128],
                sse3: None,
            },
            Routine { name: "LerpJoints", work: "nlerp_joints", c: [213, 248], sse: [50, 52], sse3: None },
        ],
    },
    Paper {
        title: "Fast Skinning: 1024 vertices with two influences",
        element: "vertex",
        routines: [
            Routine { name: "TransformVerts", work: "skin_p2", c: [105, 127], sse: [33, 43], sse3: Some(41) },
            Routine {
                name: "TransformVertsAndTangents",
                work: "skin_pnt2",
                c: [192, 225],
                sse: [75, 88],
                sse3: Some(80),
            },
        ],
    },
    Paper {
        title: "From Quaternion to Matrix and Back: 1024 joints",
        element: "joint",
        routines: [
            Routine {
                name: "ConvertJointQuatsToJointMats",
                work: "quats_to_mats",
                c: [54, 62],
                sse: [30, 34],
                sse3: None,
            },
            Routine {
                name: "ConvertJointMatsToJointQuats",
                work: "mats_to_quats",
                c: [172, 173],
                sse: [61, 72],
                sse3: None,
            },
        ],
    },
];

/// Elements of each routine in the papers.
const ELEMENTS: usize = 1024;

/// One measurement of this machine.
struct Row {
    work: String,
    implementation: String,
    isa: String,
    portable: bool,
    cycles: f64,
    max_error: f64,
}

/// Measurements of this machine.
pub(crate) struct Cycles {
    rows: Vec<Row>,
    /// Load of this machine when the measurement began.
    load: Option<String>,
}

impl Cycles {
    pub(crate) fn measure(mut progress: impl FnMut()) -> Self {
        let load = condyle_bench::load();
        let mut rows = Vec::new();
        for routine in PAPERS.iter().flat_map(|paper| &paper.routines) {
            let request = Request {
                only: Some(routine.work.into()),
                elements: Some(ELEMENTS),
                rounds: 12,
                format: Format::Json,
                levels: Dispatch::all().collect(),
            };
            let Ok(()) = condyle_bench::run(
                &request,
                |_| {},
                |lines| {
                    rows.extend(lines.lines().filter_map(Row::read));
                    Ok::<(), Infallible>(())
                },
            );
            progress();
        }
        Self { rows, load }
    }

    /// Implementations measured here: name, implementation and instruction set, which is empty for the
    /// compiler's choice.
    fn measured() -> Vec<(String, &'static str, &'static str)> {
        let on_each = |who: &'static str, implementation| {
            Isa::all().map(move |isa| (format!("{who}, {}", isa.name()), implementation, isa.name()))
        };
        let plain = ("here, plain Rust".to_owned(), "plain", "");
        let his = on_each("here, van Waveren's method", "van_waveren");
        std::iter::once(plain).chain(his).chain(on_each("here, condyle", "condyle")).collect()
    }

    /// Cycles per element of one benchmark, if it was measured.
    fn cycles(&self, work: &str, (implementation, isa): (&str, &str), portable: bool) -> Option<f64> {
        let mut found = self.rows.iter().filter(|row| {
            row.work == work
                && row.implementation == implementation
                && (row.isa == isa || isa.is_empty())
                && row.portable == portable
        });
        found.next().map(|row| row.cycles)
    }

    /// One table of all six routines: the fast mode, or the portable mode if there is no other.
    pub(crate) fn markdown(&self) -> String {
        let routines: Vec<&Routine> = PAPERS.iter().flat_map(|paper| &paper.routines).collect();
        let head = routines.iter().map(|routine| format!("`{}`", routine.name));
        let mut rows = vec![std::iter::once(String::new()).chain(head).collect::<Vec<_>>()];
        let mut printed = |who: &str, cycles: &dyn Fn(&Routine) -> Option<u32>| {
            let cells =
                routines.iter().map(|routine| cycles(routine).map_or(String::new(), |c| c.to_string()));
            rows.push(std::iter::once(who.to_owned()).chain(cells).collect());
        };
        printed("Pentium 4, 130 nm, C", &|it| Some(it.c[0]));
        printed("Pentium 4, 130 nm, SSE", &|it| Some(it.sse[0]));
        printed("Pentium 4, 90 nm, C", &|it| Some(it.c[1]));
        printed("Pentium 4, 90 nm, SSE", &|it| Some(it.sse[1]));
        printed("Pentium 4, 90 nm, SSE3", &|it| it.sse3);
        for (who, implementation, isa) in Self::measured() {
            let cell = |routine: &&Routine| {
                let cycles = |portable| self.cycles(routine.work, (implementation, isa), portable);
                cycles(false).or_else(|| cycles(true)).map_or(String::new(), |c| format!("{c:.1}"))
            };
            let cells: Vec<String> = routines.iter().map(cell).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                rows.push(std::iter::once(who).chain(cells).collect());
            }
        }
        let (processor, date) = (condyle_bench::processor(), condyle_bench::date());
        let load = self.load.as_ref().map_or(String::new(), |load| format!(", {load} at the start"));
        let body = format!("{processor}, {date}{load}.\n\n{}", page::table("<>>>>>>", rows));
        page::block("van-waveren-cycles", &body)
    }

    pub(crate) fn text(&self) -> String {
        let unoptimised = if cfg!(debug_assertions) { UNOPTIMISED } else { "" };
        let tables: Vec<_> = PAPERS.iter().map(|paper| self.paper(paper)).collect();
        tables.join("\n") + NOTE + unoptimised
    }

    fn paper(&self, paper: &Paper) -> String {
        let mut rows = vec![vec![String::new()]];
        for routine in &paper.routines {
            rows[0].extend([routine.name.to_string(), "portable".into()]);
        }
        let mut printed = |who: &str, cycles: [Option<u32>; 2]| {
            let cells =
                cycles.iter().flat_map(|c| [c.map_or(String::new(), |c| c.to_string()), String::new()]);
            rows.push(std::iter::once(who.to_string()).chain(cells).collect());
        };
        for (at, size) in ["130 nm", "90 nm"].iter().enumerate() {
            let [one, two] = &paper.routines;
            printed(&format!("Pentium 4, {size}, C"), [Some(one.c[at]), Some(two.c[at])]);
            printed(&format!("Pentium 4, {size}, SSE"), [Some(one.sse[at]), Some(two.sse[at])]);
            if at == 1 && one.sse3.is_some() {
                printed(&format!("Pentium 4, {size}, SSE3"), [one.sse3, two.sse3]);
            }
        }
        for (who, implementation, isa) in Self::measured() {
            let cell = |work: &str, portable: bool| {
                let cycles = self.cycles(work, (implementation, isa), portable);
                cycles.map_or(String::new(), |cycles| format!("{cycles:.1}"))
            };
            let cells: Vec<String> =
                paper.routines.iter().flat_map(|r| [cell(r.work, false), cell(r.work, true)]).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                rows.push(std::iter::once(who).chain(cells).collect());
            }
        }
        format!("{}, cycles per {}\n{}", paper.title, paper.element, aligned("<>>>>", rows))
    }

    pub(crate) fn json(&self) -> Value {
        let routine = |routine: &Routine| {
            let here = self.rows.iter().filter(|row| row.work == routine.work).map(Row::json);
            json!({
                "routine": routine.name,
                "pentium_4_130_nm": { "c": routine.c[0], "sse": routine.sse[0] },
                "pentium_4_90_nm": { "c": routine.c[1], "sse": routine.sse[1], "sse3": routine.sse3 },
                "here": here.collect::<Vec<_>>(),
            })
        };
        let paper = |paper: &Paper| json!({ "paper": paper.title, "routines": paper.routines.iter().map(routine).collect::<Vec<_>>() });
        PAPERS.iter().map(paper).collect()
    }
}

const NOTE: &str = "
  Minima of interleaved rounds, in core clock cycles. Other load on the machine makes them meaningless.
  Plain Rust is the formula for one element at a time, compiled like this program. Condyle selects the
  instruction set at run time. Condyle also normalises normals and tangents, which the paper does not.
";

const UNOPTIMISED: &str =
    "  This program was built without optimisation, for tests: its cycle counts are meaningless.\n";

impl Row {
    /// Parses a line of the benchmark. `None` for a layout that the papers do not have.
    fn read(line: &str) -> Option<Self> {
        let row: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| row[key].as_str().map(String::from);
        (row["layout"] != "blocks").then_some(())?;
        Some(Self {
            work: text("work")?,
            implementation: text("impl")?,
            isa: text("isa")?,
            portable: row["mode"] == Numeric::Portable.name(),
            cycles: row["cycles"].as_f64()?,
            max_error: row["max_error"].as_f64()?,
        })
    }

    fn json(&self) -> Value {
        json!({
            "impl": self.implementation,
            "isa": self.isa,
            "mode": if self.portable { "portable" } else { "fast" },
            "cycles": self.cycles,
            "max_error": self.max_error,
        })
    }
}
