//! Tests of `condyle-bench papers`.

use std::path::Path;
use std::process::{Command, Output};

use insta::assert_snapshot;
use serde_json::Value;

/// Runs the program in a folder.
fn run(folder: &Path, line: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_condyle-bench"));
    program.current_dir(folder).args(line.split(' ')).output().expect("it runs")
}

/// Returns the standard output of a successful run.
fn text(line: &str) -> String {
    let output = run(Path::new("."), line);
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(line: &str) -> Value {
    serde_json::from_str(&text(line)).expect("one JSON object")
}

#[test]
fn the_tables_stand_beside_the_printed_ones() {
    assert_snapshot!("eberly", text("papers --only eberly"));
    assert_snapshot!("blow", text("papers --only blow"));
}

#[test]
fn json_has_every_figure_of_the_tables() {
    let eberly = json("papers --only eberly --json");
    for table in ["table_1", "table_2", "table_3"] {
        let rows = eberly["eberly"][table].as_array().expect("a table");
        assert_eq!(rows.len(), 16, "{table}");
        for row in rows {
            let (found, printed) = (&row["max_error"], &row["printed"]["max_error"]);
            let ratio = found.as_f64().expect("a number") / printed.as_f64().expect("a number");
            // The printed values of table 3 contain rounding errors in other rows.
            let trusted = table != "table_3" || row["n"].as_u64().is_some_and(|n| n != 9 && n < 13);
            assert!(!trusted || (ratio - 1.0).abs() < 1e-3, "{table}: {row}");
        }
    }
    let blow = json("papers --only blow --json");
    assert_eq!(blow["blow"]["methods"][0]["printed"]["commutative"], false);
    let steps = blow["blow_descent"]["steps"].as_array().expect("steps");
    assert_eq!((steps.len(), steps[8]["step"].as_f64()), (9, Some(1.0)));
    assert!(blow.get("eberly").is_none() && blow.get("van_waveren").is_none());
}

/// The page must contain the tables that are the same on every machine.
#[test]
fn the_page_has_the_tables() {
    let page = include_str!("../../../docs/reports/papers.md");
    for author in ["eberly", "blow"] {
        let tables = text(&format!("papers --only {author} --markdown"));
        for table in tables.split_inclusive("<!-- end -->\n") {
            assert!(page.contains(table), "docs/reports/papers.md lacks or differs from:\n{table}");
        }
    }
    for name in ["van-waveren-errors", "van-waveren-cycles"] {
        let (_, table) =
            page.split_once(&format!("<!-- condyle-bench papers: {name} -->\n")).expect("a mark");
        let (table, _) = table.split_once("<!-- end -->").expect("a mark");
        assert!(table.lines().count() >= 6, "{name}:\n{table}");
    }
}

#[test]
fn van_waverens_errors_and_cycles_are_reproduced() {
    let all = json("papers --only van-waveren --json");
    let errors = all["van_waveren"]["errors"].as_array().expect("errors");
    for error in errors.iter().filter(|error| !error["printed"].is_null()) {
        let (found, printed) = (error["max_error"].as_f64(), error["printed"].as_f64());
        assert!(found.expect("a number") < 1.05 * printed.expect("a number"), "{error}");
    }
    for paper in all["van_waveren"]["cycles"].as_array().expect("papers") {
        for routine in paper["routines"].as_array().expect("routines") {
            let here = routine["here"].as_array().expect("rows");
            for who in ["plain", "condyle"] {
                assert!(here.iter().any(|row| row["impl"] == who), "{who}: {routine}");
            }
            assert!(here.iter().all(|row| row["cycles"].as_f64().is_some_and(|c| c > 0.0)), "{routine}");
        }
    }
}

#[test]
fn plots_go_to_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = |line: &str| {
        let output = run(folder.path(), line);
        assert!(output.status.success(), "{line}: {output:?}");
        let files = std::fs::read_dir(folder.path().join("new/plots")).expect("a folder");
        let mut names: Vec<String> =
            files.map(|it| it.expect("a file").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let of_blow = ["rounds-over-step.svg", "velocity-over-t.svg"];
    assert_eq!(names("papers --only blow -o new/plots --json"), of_blow);
    let all = names("papers --only eberly -o new/plots");
    assert_eq!(all, ["error-over-angle.svg", "rounds-over-step.svg", "velocity-over-t.svg"]);
    for name in all {
        let svg = std::fs::read_to_string(folder.path().join("new/plots").join(&name)).expect("UTF-8");
        assert!(svg.starts_with("<svg") && svg.contains("nlerp") && svg.ends_with("</svg>\n"), "{name}");
    }
    // A file blocks the name of the folder.
    std::fs::write(folder.path().join("file"), "").expect("a file");
    let refused = run(folder.path(), "papers --only blow -o file");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("file"), "{refused:?}");
    assert_eq!(run(folder.path(), "papers --only shoemake").status.code(), Some(2));
}
