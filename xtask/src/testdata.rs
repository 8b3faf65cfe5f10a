//! The models in `testdata` and their answers, made again: every file must come out as it is. Files of our
//! own format, by another reader.

use std::process::Command;

use crate::step::{Log, Outcome, Step, Stop, need};

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("testdata", testdata), Step::new("corpus", corpus)]
}

/// The files `.condyle` in `testdata/format`, which a test compares with what the library writes, by a
/// reader that shares no code with it.
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
    Ok("every model and every answer comes out as it is".into())
}
