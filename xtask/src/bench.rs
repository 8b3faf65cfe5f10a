//! One round of the benchmark. Every implementation's result is checked before it is timed.

use crate::step::{Log, Outcome, Step, Stop, cargo};

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("bench", bench)]
}

fn bench(log: &mut Log) -> Outcome {
    let args = ["-p", "condyle-bench", "--", "--rounds", "1", "--json"];
    let rows = log.capture(&mut cargo("run", args))?.lines().count();
    if rows == 0 {
        Err(Stop::Failed("nothing was timed".into()))
    } else {
        Ok(format!("{rows} implementations"))
    }
}
