//! What the documentation prints, and the demonstration.

use std::path::Path;
use std::process::Command;

use super::TOKENIZER;
use crate::gobo::{json, one};

/// Every example of the documentation: behind a line `$ …` stands what it prints.
#[test]
fn examples_of_the_documentation_print_what_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bin = Path::new(env!("CARGO_BIN_EXE_gobo")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let store = tempfile::tempdir().unwrap();
    // The pages show what comes after the first use of a vocabulary, which says how long it took.
    one(store.path(), 0, &["tokenizer", "show", TOKENIZER]);
    let pages = ["docs/semantics.md", "docs/recursion.md", "docs/grammars.md"];
    let pages = pages.map(|page| std::fs::read_to_string(root.join(page)).unwrap()).concat();
    let blocks = pages.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut seen = 0;
    for example in blocks.flat_map(|block| block.strip_prefix("$ ").unwrap().split("\n$ ")) {
        let (command, expected) = example.split_once('\n').unwrap_or((example, ""));
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{command} 2>&1")]).current_dir(&root).env("PATH", &path);
        shell.env("GOBO_STORE", store.path()).env_remove("GOBO_SERVER").env_remove("GOBO_LOG");
        let printed = String::from_utf8(shell.output().unwrap().stdout).unwrap();
        assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
        seen += 1;
    }
    assert!(seen >= 10, "{seen}");
}

#[test]
fn the_demo_ends_well_and_its_library_is_right() {
    let home = tempfile::tempdir().unwrap();
    let library = concat!(env!("CARGO_MANIFEST_DIR"), "/library/everyday.jsonl");
    let printed = json(home.path(), 0, &["check", "--tokenizer", TOKENIZER, library]);
    let summary = &printed.last().unwrap()["summary"];
    assert_eq!((&summary["wrong"], &summary["refused"]), (&0.into(), &0.into()));
    let shown = json(home.path(), 0, &["demo"]);
    assert_eq!(shown.len(), 2 * usize::try_from(summary["cases"].as_u64().unwrap()).unwrap());
    for (file, count) in [("grammars", 2), ("tools", 11)] {
        let file = format!("{}/library/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let printed = json(home.path(), 0, &["check", "--tokenizer", TOKENIZER, &file]);
        let summary = &printed.last().unwrap()["summary"];
        assert_eq!((&summary["index"], &summary["wrong"]), (&count.into(), &0.into()), "{summary}");
    }
}
