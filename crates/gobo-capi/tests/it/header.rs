//! The header is what cbindgen makes of the sources. `UPDATE=1` writes it anew.

use std::fs;
use std::path::Path;

use cbindgen::{Builder, Config};

#[test]
fn the_header_is_that_of_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = Config::from_file(root.join("cbindgen.toml")).unwrap();
    // In the order in which they are to be read.
    let sources = ["status", "structs", "find", "matcher", "ffi/mod"];
    let builder = sources.iter().fold(Builder::new().with_config(config), |builder, source| {
        builder.with_src(root.join(format!("src/{source}.rs")))
    });
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = root.join("include/gobo.h");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == made,
        "include/gobo.h is of other sources; `UPDATE=1 cargo test -p gobo-capi header` writes it"
    );
    let exported: usize = ["mod", "matchers"]
        .iter()
        .map(|file| fs::read_to_string(root.join(format!("src/ffi/{file}.rs"))).unwrap())
        .map(|source| source.matches("#[unsafe(no_mangle)]").count())
        .sum();
    let is_declared = |line: &&str| {
        line.starts_with(|first: char| first.is_ascii_lowercase())
            && line.contains(" *gobo_") | line.contains(" gobo_")
            && line.contains('(')
    };
    let declared = made.lines().filter(is_declared).count();
    assert!(exported > 25 && declared == exported, "{declared} of {exported} functions");
}
