//! Dependencies between the crates point strictly down, as the table of `crates/README.md` says: the page is read, and
//! compared with what Cargo knows, in both directions.
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// A row of the table.
struct Row {
    layer: u32,
    uses: BTreeSet<String>,
}

/// The rows of the table, by crate. The last column names crates without `gobo-`; what stands in brackets is a remark.
fn table(page: &str) -> BTreeMap<String, Row> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")).filter(|line| line.contains("`gobo-"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_end_matches(['|', ' ']).split(" | ").collect();
        let [layer, name, _, uses] = cells[..] else { panic!("a row has four cells: {line}") };
        let uses = uses.split(',').map(|used| used.split('(').next().unwrap().trim());
        let uses = uses.filter(|used| *used != "–").map(|used| format!("gobo-{used}")).collect();
        let layer = layer.parse().unwrap_or_else(|_| panic!("a layer is a number: {line}"));
        (name.trim_matches('`').to_owned(), Row { layer, uses })
    })
    .collect()
}

/// The crates in `crates/`, each with the crates of gobo that it uses; those that only its tests use are left out.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let in_crates =
        |package: &&Value| package["manifest_path"].as_str().unwrap().rsplit('/').nth(2) == Some("crates");
    let packages = metadata["packages"].as_array().unwrap().iter().filter(in_crates);
    packages
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let of_product = dependencies.filter(|dependency| dependency["kind"] != "dev");
            let names = of_product.map(|dependency| dependency["name"].as_str().unwrap().to_owned());
            let uses = names.filter(|name| name.starts_with("gobo-")).collect();
            (package["name"].as_str().unwrap().to_owned(), uses)
        })
        .collect()
}

#[test]
fn dependencies_point_down_as_the_page_says() {
    let table = table(include_str!("../../crates/README.md"));
    let crates = crates();
    assert!(table.keys().eq(crates.keys()), "{:?} in the table, {:?} there", table.keys(), crates.keys());
    for (name, uses) in &crates {
        let row = &table[name];
        assert_eq!(&row.uses, uses, "{name}: what the table says, and what Cargo.toml says");
        for used in uses {
            let layer = table[used].layer;
            assert!(layer < row.layer, "{name} of layer {} uses {used} of layer {layer}", row.layer);
        }
    }
}

/// Oracles judge what they share no code with, so nothing that ships may use them, and they see words alone.
#[test]
fn oracles_stand_apart() {
    let crates = crates();
    assert_eq!(crates["gobo-oracle"], BTreeSet::from(["gobo-types".to_owned()]));
    assert!(crates.values().all(|uses| !uses.contains("gobo-oracle")));
}
