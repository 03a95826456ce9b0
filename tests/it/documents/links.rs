//! Links and paths of the documents lead somewhere.
//!
//! - The target of a link is a file or folder of the checkout, and its `#anchor` a heading of that document.
//! - A path in a code span or a code block is one too, if it begins with something that is there: at the root, beside the document, or
//!   among the crates. Paths with placeholders (`crates/CRATE`, `<date>`) and those of a store or another host are no such paths.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::root;

/// The documents, from the root.
fn documents() -> Vec<PathBuf> {
    let mut documents: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "crates/README.md", "benches/README.md"]
            .map(PathBuf::from)
            .to_vec();
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "md") {
            documents.push(path.strip_prefix(root()).unwrap().to_owned());
        }
    }
    documents.sort();
    documents
}

/// A document apart: prose without code spans, code, and headings.
#[derive(Default)]
struct Parts {
    prose: String,
    code: Vec<String>,
    anchors: BTreeSet<String>,
}

impl Parts {
    fn of(text: &str) -> Self {
        let mut parts = Self::default();
        let mut is_block = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                is_block = !is_block;
            } else if is_block
                || (line.starts_with("    ") && !line.trim_start().starts_with(['-', '*', '[']))
            {
                parts.code.extend(line.split([' ', '\'', '"', '=']).map(str::to_owned));
            } else {
                if let Some(heading) = line.strip_prefix('#') {
                    parts.heading(heading.trim_start_matches('#').trim());
                }
                for (at, part) in line.split('`').enumerate() {
                    if at % 2 == 0 { parts.prose += part } else { parts.code.push(part.to_owned()) }
                }
                parts.prose.push('\n');
            }
        }
        parts
    }

    /// The anchor that GitHub gives a heading.
    fn heading(&mut self, heading: &str) {
        // The text of a link counts, its target does not.
        let mut words = String::new();
        for (at, part) in heading.split("](").enumerate() {
            words += if at == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) };
        }
        let kept = words.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
        let slug: String = kept.map(|char| if char == ' ' { '-' } else { char }).collect();
        let slug = slug.to_lowercase();
        let nth = (0..).map(|at| if at == 0 { slug.clone() } else { format!("{slug}-{at}") });
        let new = nth.into_iter().find(|slug| !self.anchors.contains(slug));
        self.anchors.extend(new);
    }

    /// The targets of links and pictures.
    fn links(&self) -> Vec<&str> {
        let targets = self.prose.split("](").skip(1);
        targets.filter_map(|rest| rest.split([')', ' ', '\n']).next()).collect()
    }

    /// What in the code is a path of this checkout, if it begins with a name in one of the folders.
    fn paths(&self, bases: &[PathBuf]) -> Vec<&str> {
        let is_path = |word: &&str| {
            let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '/' | '.' | '-' | '_');
            let is_placeholder =
                |part: &str| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_uppercase());
            let first = word.split('/').next().unwrap_or_default();
            let is_here = |base: &PathBuf| {
                !first.is_empty() && first != "." && first != ".." && base.join(first).exists()
            };
            word.contains('/')
                && word.chars().all(is_plain)
                && !word.split('/').any(is_placeholder)
                && first != "target"
                && bases.iter().any(is_here)
        };
        self.code.iter().map(|word| word.trim_end_matches(['.', ','])).filter(is_path).collect()
    }
}

/// What is wrong in a document of the checkout at `root`.
fn wrong_in(root: &Path, document: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(root.join(document)).unwrap();
    let (parts, folder) = (Parts::of(&text), root.join(document).parent().unwrap().to_owned());
    let mut wrong = Vec::new();
    for link in parts.links() {
        if link.contains("://") || link.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
        let target = if path.is_empty() { root.join(document) } else { folder.join(path) };
        if !target.exists() {
            wrong.push(format!("{}: the link to {link} leads nowhere", document.display()));
        } else if let Some(anchor) = anchor
            && !std::fs::read_to_string(&target).is_ok_and(|text| Parts::of(&text).anchors.contains(anchor))
        {
            wrong.push(format!("{}: {link} has no such heading", document.display()));
        }
    }
    let bases = [root.to_owned(), folder, root.join("crates")];
    for path in parts.paths(&bases) {
        if !bases.iter().any(|base| base.join(path).exists()) {
            wrong.push(format!("{}: there is no {path}", document.display()));
        }
    }
    wrong
}

#[test]
fn every_link_and_path_of_the_documents_leads_somewhere() {
    let documents = documents();
    assert!(documents.len() >= 10, "{documents:?}");
    let wrong: Vec<String> = documents.iter().flat_map(|document| wrong_in(&root(), document)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn dead_links_headings_and_paths_are_found() {
    let folder = std::env::temp_dir().join(format!("gobo-links-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("docs")).unwrap();
    std::fs::write(folder.join("docs/there.md"), "# One `two`, three!\n## One two three\n").unwrap();
    let text = "[a](docs/there.md) [b](docs/gone.md) [c](docs/there.md#one-two-three-1) [d](docs/there.md#four)\n\
                `docs/there.md` and `docs/lost.md`, `docs/NAME` and `other/lost.md`, [e](https://example.org/x)\n\
                ```sh\nrun docs/away.md # `x`\n```\n[f](#mine)\n# Mine\n";
    std::fs::write(folder.join("README.md"), text).unwrap();
    let wrong = wrong_in(&folder, Path::new("README.md"));
    std::fs::remove_dir_all(&folder).unwrap();
    let expected = ["docs/gone.md leads", "docs/there.md#four has", "no docs/lost.md", "no docs/away.md"];
    assert_eq!(wrong.len(), expected.len(), "{wrong:#?}");
    assert!(wrong.iter().zip(expected).all(|(wrong, expected)| wrong.contains(expected)), "{wrong:#?}");
}
