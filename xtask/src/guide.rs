//! The user guide and the reference pages as a book, and the links of all pages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::step::{Log, Outcome, Step, Stop, need, out_dir};

/// Folder of the book, with `book.toml` and `SUMMARY.md`.
const BOOK: &str = "docs";

/// Pages outside of the book whose links are checked too.
const OTHERS: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "runtime/README.md",
    "tools/README.md",
    "lab/README.md",
    "bindings/python/README.md",
];

pub(crate) fn steps() -> Vec<Step> {
    // Does not build with cargo, so it waits for no other step.
    vec![Step::new("guide", check).apart("guide")]
}

/// Checks links and the table of contents, then builds the book.
pub(crate) fn check(log: &mut Log) -> Outcome {
    let root = crate::root();
    let mut pages = Vec::new();
    find(&root.join(BOOK), &mut pages)?;
    let mut faults = missing(&root, &pages)?;
    let book = pages.len();
    pages.extend(OTHERS.map(|page| root.join(page)));
    let mut anchors = BTreeMap::new();
    let mut count = 0;
    for page in &pages {
        for link in links(&std::fs::read_to_string(page)?) {
            count += 1;
            if let Some(why) = broken(page, &link.target, &mut anchors) {
                let shown = page.strip_prefix(&root).unwrap_or(page).display();
                faults.push(format!("{shown}:{}: {}: {why}", link.line, link.target));
            }
        }
    }
    faults.iter().for_each(|fault| log.note(fault));
    if !faults.is_empty() {
        return Err(Stop::Failed(format!(
            "{} broken links or missing pages, the first in {}",
            faults.len(),
            faults[0]
        )));
    }
    need("mdbook", &["--version"])?;
    let built = out_dir().join("guide");
    log.run(Command::new("mdbook").args(["build", "--dest-dir"]).arg(built).arg(root.join(BOOK)))?;
    Ok(format!("{book} pages, {count} links"))
}

/// Finds all Markdown files of a folder and the folders in it.
fn find(folder: &Path, pages: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for path in entries.into_iter().map(|entry| entry.path()) {
        if path.is_dir() {
            find(&path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        }
    }
    Ok(())
}

/// Returns the pages of the book that its `SUMMARY.md` does not list.
fn missing(root: &Path, pages: &[PathBuf]) -> Result<Vec<String>, Stop> {
    let summary = root.join(BOOK).join("SUMMARY.md");
    let listed = links(&std::fs::read_to_string(&summary)?);
    let listed: BTreeSet<PathBuf> = listed.iter().map(|link| root.join(BOOK).join(&link.target)).collect();
    let absent = pages.iter().filter(|page| **page != summary && !listed.contains(*page));
    let name = |page: &PathBuf| page.strip_prefix(root).unwrap_or(page).display().to_string();
    Ok(absent.map(|page| format!("{}: not in {BOOK}/SUMMARY.md", name(page))).collect())
}

/// A link of a page.
struct Link {
    line: usize,
    target: String,
}

/// Returns the links and pictures of a page.
fn links(text: &str) -> Vec<Link> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    let found = events.filter_map(|(event, range)| {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else {
            return None;
        };
        Some(Link { line: text[..range.start].matches('\n').count() + 1, target: dest_url.into_string() })
    });
    found.collect()
}

/// Returns the reason if a link has no target. Links to other hosts are not followed.
fn broken(page: &Path, target: &str, anchors: &mut BTreeMap<PathBuf, BTreeSet<String>>) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, name)| (file, Some(name)));
    let path =
        if file.is_empty() { page.to_path_buf() } else { plain(&page.parent().unwrap_or(page).join(file)) };
    if !path.starts_with(crate::root()) || !path.exists() {
        return Some("no such file".into());
    }
    let anchor = anchor?;
    if !anchors.contains_key(&path) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        anchors.insert(path.clone(), headings(&text));
    }
    if anchors[&path].contains(anchor) { None } else { Some("no such heading".into()) }
}

/// Removes `..` from a path, without access to the file system.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
        plain
    })
}

/// Returns the anchors of the headings of a page, as GitHub and mdBook name them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut title: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match (event, &mut title) {
            (Event::Start(Tag::Heading { .. }), _) => title = Some(String::new()),
            (Event::Text(part) | Event::Code(part), Some(title)) => title.push_str(&part),
            (Event::End(TagEnd::Heading(_)), _) => {
                let letters = title.take().unwrap_or_default();
                let letters = letters.trim().chars().flat_map(char::to_lowercase);
                let kept = letters.filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
                let slug: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
                let repeated = (1..).map(|count| format!("{slug}-{count}"));
                let free = std::iter::once(slug.clone()).chain(repeated).find(|name| !anchors.contains(name));
                anchors.extend(free);
            }
            _ => {}
        }
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_code_are_ignored() {
        let text = "See [a](x.md#b) and `[c](d)`, ![p](q.png).\n\n```md\n[e](f)\n```\n\n[g]\n\n[g]: h.md\n";
        let found: Vec<_> = links(text).into_iter().map(|link| (link.line, link.target)).collect();
        let expected = [(1, "x.md#b"), (1, "q.png"), (7, "h.md")];
        assert_eq!(found, expected.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn headings_are_anchors() {
        let found = headings("# Your engine: `skin`\n## Same\n## Same\n```sh\n# comment\n```\n#no\n");
        assert_eq!(found, ["same", "same-1", "your-engine-skin"].map(str::to_owned).into());
    }

    #[test]
    fn a_missing_file_and_a_missing_heading_are_reported() {
        let page = crate::root().join("CONTRIBUTING.md");
        let fault = |target| broken(&page, target, &mut BTreeMap::new());
        assert_eq!(fault("README.md"), None);
        assert_eq!(fault("#build-and-test"), None);
        assert_eq!(fault("docs/none.md").as_deref(), Some("no such file"));
        assert_eq!(fault("../elsewhere.md").as_deref(), Some("no such file"));
        assert_eq!(fault("README.md#no-such-heading").as_deref(), Some("no such heading"));
    }
}
