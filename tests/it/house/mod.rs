//! The rules of the house that can be counted, over the sources of all crates.
//!
//! - The modules of a folder form no import circle: neither files nor floors, a floor being a folder with all below it.
//! - A product file has at most 500 lines, tests apart.
//! - A folder holds at most a dozen product files.
//! - No type alias stands for a bare integer: an identifier is a type of its own.
//!
//! Exceptions are named, with a reason. They can only become fewer: one that is needed no longer fails its test too.

mod dependencies;
mod exceptions;
mod imports;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use self::imports::Crate;
use self::source::Source;

const MAX_LINES: usize = 500;
const MAX_FILES: usize = 12;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The product files of each crate, by the name of the crate.
fn crates() -> BTreeMap<String, Vec<Source>> {
    let folders = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap());
    let folders = folders.filter(|folder| folder.path().join("src").is_dir());
    let name = |folder: &std::fs::DirEntry| folder.file_name().into_string().unwrap();
    folders.map(|folder| (name(&folder), Source::all_below(&folder.path().join("src")))).collect()
}

/// Compares what breaks a rule with the exceptions to it, both ways.
#[track_caller]
fn only_exceptions<'a>(
    rule: &str,
    found: &BTreeMap<String, String>,
    exceptions: impl Iterator<Item = (&'a str, &'a str)>,
) {
    let exceptions: BTreeMap<&str, &str> = exceptions.collect();
    assert!(exceptions.values().all(|reason| !reason.is_empty()), "{rule}: an exception has a reason");
    let new: Vec<String> = found
        .iter()
        .filter(|(place, _)| !exceptions.contains_key(place.as_str()))
        .map(|(place, what)| format!("{place}: {what}"))
        .collect();
    assert!(new.is_empty(), "{rule}:\n{}", new.join("\n"));
    let done: Vec<&&str> = exceptions.keys().filter(|place| !found.contains_key(**place)).collect();
    assert!(done.is_empty(), "{rule}: these keep the rule now, so they are no exceptions: {done:#?}");
}

fn shown(file: &Path) -> String {
    file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn product_files_have_at_most_500_lines() {
    let long = crates().into_values().flatten().filter(|source| source.lines > MAX_LINES);
    let long = long.map(|source| (shown(&source.path), format!("{} lines", source.lines))).collect();
    only_exceptions("at most 500 lines", &long, exceptions::LONG_FILES.iter().copied());
}

#[test]
fn folders_hold_at_most_a_dozen_product_files() {
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    for source in crates().into_values().flatten() {
        *files.entry(shown(source.path.parent().unwrap())).or_default() += 1;
    }
    files.retain(|_, files| *files > MAX_FILES);
    let full = files.into_iter().map(|(folder, files)| (folder, format!("{files} files"))).collect();
    only_exceptions("at most a dozen files", &full, exceptions::FULL_FOLDERS.iter().copied());
}

#[test]
fn modules_of_a_folder_form_no_import_circle() {
    let mut circles = BTreeMap::new();
    for (name, sources) in crates() {
        for (module, circle) in Crate::new(&sources).circles() {
            let place = [std::slice::from_ref(&name), module.as_slice()].concat().join("::");
            let circle: Vec<String> = circle.into_iter().collect();
            circles.insert(format!("{place}: {}", circle.join(" ")), String::from("a circle"));
        }
    }
    only_exceptions("no import circle", &circles, exceptions::CIRCLES.iter().copied());
}

#[test]
fn no_alias_stands_for_a_bare_integer() {
    const INTEGERS: [&str; 10] = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];
    let mut aliases = BTreeMap::new();
    for source in crates().into_values().flatten() {
        let words: Vec<&str> = source.code.split_whitespace().collect();
        for alias in words.windows(4) {
            let of = alias[3].trim_end_matches(';');
            if alias[0] == "type" && alias[2] == "=" && INTEGERS.contains(&of) {
                aliases.insert(format!("{} {}", shown(&source.path), alias[1]), format!("is {of}"));
            }
        }
    }
    only_exceptions("no alias of a bare integer", &aliases, exceptions::BARE_INTEGERS.iter().copied());
}

/// The rules are worth what finds their violations.
#[test]
fn violations_are_found() {
    let source = |path: &str, text: &str| Source::of(Path::new(path), text);
    let sources = [
        source("lib.rs", "mod a; mod b; mod floor; pub use a::One; pub use floor::*; // use b::Two;"),
        source(
            "a.rs",
            "use crate::{b::{Two as _, Three}, Deep};\npub struct One; const S: &str = \"crate::floor\";",
        ),
        source(
            "b.rs",
            "pub struct Two; pub struct Three;\n#[cfg(test)]\nmod tests {\n    use crate::One;\n}\n",
        ),
        source("floor/mod.rs", "mod deep; mod shallow; pub use deep::Deep;"),
        source(
            "floor/deep.rs",
            "pub struct Deep; fn f<'a>(c: &'a str) { let q = '\"'; super::shallow::f() }",
        ),
        source("floor/shallow.rs", "use super::deep::Deep; pub fn f() {}"),
    ];
    assert_eq!(sources[2].lines, 1);
    let circle = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let found = Crate::new(&sources).circles();
    assert_eq!(found, [(vec!["floor".to_owned()], circle(&["deep", "shallow"]))]);

    // Floor and file use each other, though no two files do.
    let mut sources = sources.into_iter().collect::<Vec<_>>();
    sources[5] = source("floor/shallow.rs", "use crate::One; pub fn f() {}");
    assert_eq!(Crate::new(&sources).circles(), [(vec![], circle(&["a", "floor"]))]);
}
