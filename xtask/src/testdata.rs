//! Regenerates the models in `testdata` and their results; every file must stay unchanged. Reads the
//! `.condyle` files with another reader.

use std::process::Command;

use crate::step::{Log, Outcome, Step, Stop, need};

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("testdata", testdata), Step::new("corpus", corpus)]
}

/// Reads the `.condyle` files in `testdata/format` with a reader that shares no code with the library. A test
/// compares the files with the library's output.
fn corpus(log: &mut Log) -> Outcome {
    need("python3", &["--version"])?;
    let text = log.capture(Command::new("python3").arg(crate::root().join("testdata/format/read.py")))?;
    Ok(text.trim().into())
}

fn testdata(log: &mut Log) -> Outcome {
    need("node", &["--version"])?;
    need("npm", &["--version"])?;
    let folder = crate::root().join("testdata");
    let mut install = Command::new("npm");
    install.args(["ci", "--no-audit", "--no-fund", "--prefix"]).arg(&folder);
    if log.run(&mut install).is_err() {
        return Err(Stop::Skipped("npm could not install three.js".into()));
    }
    log.run(Command::new("node").arg(folder.join("make/main.mjs")).arg("--check"))?;
    Ok("all models and results are unchanged".into())
}
