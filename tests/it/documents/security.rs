//! Each claim of `docs/security.md` names tests that exist.

use std::collections::HashSet;
use std::path::Path;

use super::root;

/// The names of all functions in the sources below.
fn functions(folder: &Path, found: &mut HashSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") {
                functions(&path, found);
            }
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(path).unwrap();
            let named = text.lines().filter_map(|line| line.trim_start().split_once("fn "));
            found.extend(named.filter_map(|(_, rest)| Some(rest.split_once('(')?.0.to_owned())));
        }
    }
}

#[test]
fn each_claim_about_security_names_its_tests() {
    let text = std::fs::read_to_string(root().join("docs/security.md")).unwrap();
    let table = text.split("## Who could do what").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut known = HashSet::new();
    functions(&root().join("crates"), &mut known);
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with('|')).skip(2).collect();
    assert!(rows.len() > 10, "{rows:?}");
    for row in rows {
        let tests = row.trim_end_matches('|').rsplit('|').next().unwrap();
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test is named: {row}");
        for name in names {
            assert!(known.contains(name), "there is no test {name}: {row}");
        }
    }
}
