//! What `docs/deploy` shows of metrics exists.

use std::collections::BTreeSet;
use std::path::Path;

use super::root;

/// The names that begin with `gobo_` in a text.
fn names(text: &str) -> BTreeSet<String> {
    let is_part = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_';
    let words = text.split(|char: char| !is_part(char));
    words.filter(|word| word.starts_with("gobo_") && word.len() > 5).map(str::to_owned).collect()
}

fn sources(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else {
            into.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_metric_of_the_dashboard_and_the_rules_is_recorded() {
    let mut text = String::new();
    for name in ["gobo-server", "gobo-engine", "gobo-remote"] {
        sources(&root().join("crates").join(name).join("src"), &mut text);
    }
    let recorded = names(&text);
    for file in ["alerts.yaml", "dashboard.json"] {
        let shown = names(&std::fs::read_to_string(root().join("docs/deploy").join(file)).unwrap());
        assert!(shown.len() > 8, "{file}");
        for name in shown {
            assert!(recorded.contains(name.trim_end_matches("_bucket")), "{file}: nothing records {name}");
        }
    }
}
