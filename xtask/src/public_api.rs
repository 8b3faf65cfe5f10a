//! `cargo xtask public-api`: lists the documented items of every library, with fields and methods, as text
//! files, so that a review shows interface changes. The files do not list trait implementations,
//! re-exports without a page, and hidden items.

use std::fmt::Write as _;
use std::path::Path;

use crate::lint;
use crate::step::{Log, Outcome, Step, Stop};

/// Published crates, in publishing order.
pub(crate) const PUBLISHED: [&str; 13] = [
    "condyle-base",
    "condyle",
    "condyle-encode",
    "condyle-solve",
    "condyle-retarget",
    "condyle-query",
    "condyle-bvh",
    "condyle-body",
    "condyle-fbx",
    "condyle-gltf",
    "condyle-io",
    "condyle-draw",
    "condyle-cli",
];

/// Folder of the text files, one per library.
const FOLDER: &str = "docs/api";

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("public-api", check)]
}

/// Compares the interfaces with the files.
pub(crate) fn check(log: &mut Log) -> Outcome {
    let mut faults = 0;
    let mut items = 0;
    for (krate, text) in interfaces(log)? {
        let path = Path::new(FOLDER).join(format!("{krate}.txt"));
        let known = std::fs::read_to_string(crate::root().join(&path)).unwrap_or_default();
        items += text.lines().filter(|line| is_item(line)).count();
        if known.lines().next() != text.lines().next() && !known.is_empty() {
            return Err(Stop::Skipped(format!("the files in {FOLDER} were written by another compiler")));
        }
        if known == text {
            continue;
        }
        faults += 1;
        let difference = |a: &str, b: &str, sign: &str| {
            let lines = a.lines().filter(|line| !b.lines().any(|other| other == *line));
            lines.map(|line| format!("{sign} {line}\n")).collect::<String>()
        };
        let (gone, new) = (difference(&known, &text, "-"), difference(&text, &known, "+"));
        log.note(&format!("{}\n{gone}{new}", path.display()));
    }
    match faults {
        0 => Ok(format!("{items} items")),
        count => Err(Stop::Failed(format!(
            "{count} interfaces differ from {FOLDER}; if this is intended, run `cargo xtask public-api --update`"
        ))),
    }
}

/// Rewrites the files.
pub(crate) fn update(log: &mut Log) -> Outcome {
    let folder = crate::root().join(FOLDER);
    std::fs::create_dir_all(&folder)?;
    for (krate, text) in interfaces(log)? {
        std::fs::write(folder.join(format!("{krate}.txt")), text)?;
    }
    check(log)
}

/// Whether a line begins an item. Fields and methods are indented.
fn is_item(line: &str) -> bool {
    !line.starts_with([' ', '#']) && !line.is_empty()
}

/// Text of each library, from the pages that rustdoc writes.
fn interfaces(log: &mut Log) -> Result<Vec<(&'static str, String)>, Stop> {
    lint::doc(log)?;
    let pages = crate::root().join("target/doc");
    let version = log.capture(std::process::Command::new("rustdoc").arg("--version"))?;
    let libraries = PUBLISHED.into_iter().filter(|krate| *krate != "condyle-cli");
    libraries
        .map(|krate| Ok((krate, interface(&pages.join(krate.replace('-', "_")), krate, version.trim())?)))
        .collect()
}

fn interface(pages: &Path, krate: &str, version: &str) -> Result<String, Stop> {
    let mut text = format!(
        "# Documented items of {krate}, by {version}. Written by `cargo xtask public-api --update`.\n"
    );
    let all = std::fs::read_to_string(pages.join("all.html"))?;
    let list = all.split_once("List of all items</h1>").map_or("", |(_, list)| list);
    let mut items: Vec<(&str, &str)> = between(list, "<li><a href=\"", "</a>")
        .filter_map(|link| link.split_once("\">"))
        .filter(|(page, _)| !page.starts_with("../"))
        .collect();
    items.sort_by_key(|(_, name)| *name);
    for (page, name) in items {
        let kind = page.rsplit('/').next().and_then(|file| file.split('.').next()).unwrap_or_default();
        writeln!(text, "\n{kind} {name}").ok();
        let html = std::fs::read_to_string(pages.join(page))?;
        // Skips methods of traits.
        let ends = ["trait", "synthetic", "blanket"].map(|kind| format!("id=\"{kind}-implementations\""));
        let ends = ends.iter().map(String::as_str).chain(["id=\"implementors\""]);
        let own = &html[..ends.filter_map(|end| html.find(end)).min().unwrap_or(html.len())];
        for declaration in between(own, "<pre class=\"rust item-decl\"><code>", "</code></pre>") {
            for line in plain(declaration).lines().filter(|line| !line.trim().is_empty()) {
                writeln!(text, "    {}", line.trim_end()).ok();
            }
        }
        for method in between(own, "<h4 class=\"code-header\">", "</h4>") {
            writeln!(text, "    {}", plain(method).split_whitespace().collect::<Vec<_>>().join(" ")).ok();
        }
    }
    Ok(text)
}

/// Parts of a text between two marks.
fn between<'a>(text: &'a str, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(begin).skip(1).filter_map(move |rest| rest.split(end).next())
}

/// HTML text without tags.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html.replace("<br>", "\n");
    while let Some(tag) = rest.find('<') {
        text += &rest[..tag];
        let end = rest[tag..].find('>').map_or(rest.len(), |end| tag + end + 1);
        rest = rest[end..].to_owned();
    }
    text += &rest;
    let named =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    named.into_iter().fold(text, |text, (name, letter)| text.replace(name, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_names_of_letters_go() {
        let html = "<a href=\"x\">pub</a> fn f(&amp;self) -&gt; Vec&lt;<b>u8</b>&gt;";
        assert_eq!(plain(html), "pub fn f(&self) -> Vec<u8>");
        assert_eq!(between("a[1]b[2]", "[", "]").collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn items_begin_their_line() {
        let text = "# Public items\n\nfn f\n    pub fn f()\n";
        assert_eq!(text.lines().filter(|line| is_item(line)).count(), 1);
    }
}
