//! The page in `web`: its files, their sizes, and its tests in a browser.

use std::path::PathBuf;
use std::process::Command;

use crate::step::{Log, Outcome, Step, Stop, need, npm, works};
use crate::web;

/// Most bytes of the first load after gzip, without a character.
const MOST: u64 = 480_000;

pub(crate) fn steps() -> Vec<Step> {
    // Shares the build folder of the package, which is built once.
    vec![Step::new("page", check).apart("web").waiting()]
}

/// Folder of the source.
fn own() -> PathBuf {
    crate::root().join("web")
}

/// Builds the npm package and the page.
pub(crate) fn write(log: &mut Log) -> Outcome {
    web::build(log)?;
    build(log)
}

/// Writes the page to `target/web`, where `condyle view` of the same checkout finds it.
fn build(log: &mut Log) -> Outcome {
    need("node", &["--version"])?;
    let mut install = npm();
    install.args(["ci", "--no-audit", "--no-fund"]).current_dir(own());
    if log.run(&mut install).is_err() {
        return Err(Stop::Skipped("npm could not install three.js and esbuild".into()));
    }
    let mut command = Command::new("node");
    let table = log.capture(command.arg("build.mjs").current_dir(own()))?;
    log.note(&table);
    let row = table.lines().find(|line| line.starts_with("| first load"));
    let gzip = row.and_then(|row| row.split('|').nth(3)?.trim().parse::<u64>().ok());
    match gzip {
        None => Err(Stop::Failed("web/build.mjs printed no sum of sizes".into())),
        Some(gzip) if gzip > MOST => {
            Err(Stop::Failed(format!("the first load has {gzip} bytes after gzip, more than {MOST}")))
        }
        Some(gzip) => Ok(format!("target/web, first load {gzip} bytes after gzip")),
    }
}

/// Builds the page, and drives every control in a browser.
fn check(log: &mut Log) -> Outcome {
    if !web::package().join("package.json").is_file() {
        web::build(log)?;
    }
    let built = build(log)?;
    let chromium = ["chromium", "chromium-browser", "google-chrome"];
    let Some(browser) = chromium.into_iter().find(|name| works(name, &["--version"])) else {
        return Err(Stop::Skipped(format!("no Chromium is installed; {built}")));
    };
    let browser = log.capture(Command::new("which").arg(browser))?;
    let mut tests = npm();
    tests.args(["test", "--silent"]).current_dir(own()).env("CHROMIUM", browser.trim());
    log.run(&mut tests)?;
    Ok(built)
}
