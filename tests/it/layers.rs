//! Dependencies between the crates point strictly down, as `crates/README.md` says.
use std::collections::BTreeMap;
use std::process::Command;

/// Each crate with the crates it may use.
const MAY_USE: [(&str, &[&str]); 16] = [
    ("gobo-types", &[]),
    ("gobo-measure", &[]),
    ("gobo-proto", &["gobo-types"]),
    ("gobo-artifact", &["gobo-types"]),
    ("gobo-automata", &["gobo-types"]),
    ("gobo-schema", &["gobo-types", "gobo-automata"]),
    ("gobo-lower", &["gobo-types", "gobo-automata", "gobo-schema"]),
    ("gobo-vocab", &["gobo-types", "gobo-artifact"]),
    ("gobo-tokenizer", &["gobo-types", "gobo-vocab"]),
    ("gobo-compiler", &["gobo-types", "gobo-artifact", "gobo-automata"]),
    ("gobo-store", &["gobo-types", "gobo-artifact"]),
    (
        "gobo-engine",
        &[
            "gobo-types",
            "gobo-artifact",
            "gobo-automata",
            "gobo-lower",
            "gobo-compiler",
            "gobo-tokenizer",
            "gobo-vocab",
            "gobo-store",
        ],
    ),
    ("gobo-server", &["gobo-types", "gobo-artifact", "gobo-store", "gobo-engine", "gobo-proto"]),
    ("gobo-client", &["gobo-types", "gobo-artifact", "gobo-store", "gobo-proto"]),
    (
        "gobo-cli",
        &[
            "gobo-types",
            "gobo-artifact",
            "gobo-automata",
            "gobo-schema",
            "gobo-lower",
            "gobo-tokenizer",
            "gobo-store",
            "gobo-engine",
            "gobo-server",
            "gobo-client",
            "gobo-proto",
        ],
    ),
    (
        "gobo-bench",
        &[
            "gobo-types",
            "gobo-measure",
            "gobo-artifact",
            "gobo-store",
            "gobo-engine",
            "gobo-server",
            "gobo-client",
            "gobo-proto",
            "gobo-cli",
        ],
    ),
];

#[test]
fn dependencies_point_down() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let may_use: BTreeMap<&str, &[&str]> = MAY_USE.into();
    let mut seen = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if name == "gobo-tests" {
            continue;
        }
        let allowed = may_use.get(name).unwrap_or_else(|| panic!("{name} is not in the table"));
        seen += 1;
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            let is_normal = dependency["kind"].is_null();
            assert!(
                !is_normal || !used.starts_with("gobo-") || allowed.contains(&used),
                "{name} uses {used}"
            );
        }
    }
    assert_eq!(seen, MAY_USE.len());
}
