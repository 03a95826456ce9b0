//! The figures of README.md and docs/performance.md are those of the records in `benches/record`.
//!
//! Both documents have blocks between `<!-- numbers: NAME -->` and `<!-- /numbers -->`, and a picture. Here each of them is made again
//! from the newest record of each kind, and compared. After new records, or a change of what a block shows:
//!
//! ```sh
//! UPDATE=1 cargo test --workspace --test it -- records
//! ```
//!
//! writes them. Figures that stand outside of blocks are those that no record can change (limits, versions).

mod ambiguity;
mod figures;
mod markdown;
mod newest;
mod peers;
mod picture;
mod python;
mod service;
mod targets;

use std::path::{Path, PathBuf};

use gobo_measure::{Origin, Table};

use self::newest::Records;

const OPEN: &str = "<!-- numbers: ";
const CLOSE: &str = "<!-- /numbers -->";

/// The documents with such blocks.
const DOCUMENTS: [&str; 2] = ["README.md", "docs/performance.md"];

/// The picture of both.
const PICTURE: &str = "docs/performance.svg";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A block by its name, for a document whose links to files of the repository begin with `up`.
fn block(name: &str, records: &Records, up: &str) -> String {
    match name {
        "summary" => figures::summary(records, up),
        "records" => figures::records(records, up),
        "compile" => peers::compile(records),
        "steps" => peers::steps(records),
        "recursion" => peers::recursion(records),
        "grammars" => peers::grammars(records),
        "ambiguity" => ambiguity::figures(records),
        "schema" => peers::schema(records),
        "vocabulary" => peers::vocabulary(records),
        "service" => service::load(records),
        "storm" => service::figures_of(records, "storm"),
        "fleet" => service::figures_of(records, "fleet"),
        "soak" => service::figures_of(records, "soak"),
        "hostile" => service::hostile(records),
        "python" => python::figures(records),
        "targets" => targets::table(records, up),
        other => panic!("no block is called {other}"),
    }
}

/// The document with every block made by `make`, and how many there were.
fn rewritten(document: &str, mut make: impl FnMut(&str) -> String) -> (String, usize) {
    let (mut written, mut rest, mut blocks) = (String::new(), document, 0);
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (name, after) = after.split_once(" -->").expect("a name of the block");
        let (_, after) = after.split_once(CLOSE).unwrap_or_else(|| panic!("{name} has no end"));
        let made = make(name);
        written.extend([before, OPEN, name, " -->\n", made.trim_end(), "\n", CLOSE]);
        (rest, blocks) = (after, blocks + 1);
    }
    (written + rest, blocks)
}

#[test]
fn documents_say_what_the_records_say() {
    let records = Records::newest(&root());
    let is_update = std::env::var_os("UPDATE").is_some();
    let mut stale = Vec::new();
    let mut compare = |path: &str, made: String| {
        let path = root().join(path);
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        if found == made {
            return;
        }
        if is_update {
            std::fs::write(path, made).unwrap();
            return;
        }
        let line = found.lines().zip(made.lines()).position(|(found, made)| found != made);
        let at = line.unwrap_or(found.lines().count().min(made.lines().count()));
        let shown = |text: &str| text.lines().nth(at).unwrap_or("(the end)").to_owned();
        stale.push(format!("{}:{}:\n- {}\n+ {}", path.display(), at + 1, shown(&found), shown(&made)));
    };
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        let up = if document.contains('/') { "../" } else { "" };
        let (made, blocks) = rewritten(&text, |name| block(name, &records, up));
        assert!(blocks > 0, "{document} has no block of numbers");
        compare(document, made);
    }
    compare(PICTURE, picture::compile(&records));
    assert!(
        stale.is_empty(),
        "other figures than in the records; `UPDATE=1 cargo test --workspace --test it -- records` writes them:\n{}",
        stale.join("\n")
    );
}

#[test]
fn every_record_names_its_commit_date_epoch_machine_and_command() {
    let files = newest::files_below(&root().join("benches/record"));
    let csv = files.iter().filter(|path| path.extension().is_some_and(|end| end == "csv"));
    let mut seen = 0;
    for path in csv {
        let text = std::fs::read_to_string(path).unwrap();
        let origin = Origin::parse(text.lines().next().unwrap_or_default());
        let origin = origin.unwrap_or_else(|| panic!("{} does not say where it comes from", path.display()));
        assert!(origin.compiler_epoch <= gobo_types::COMPILER_EPOCH, "{}: {origin}", path.display());
        assert!(!origin.commit.is_empty() && !origin.command.is_empty(), "{}: {origin}", path.display());
        let table = Table::parse(&text);
        assert!(!table.columns.is_empty() && table.rows().next().is_some(), "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 10, "{seen}");
}

#[test]
fn blocks_are_replaced_and_the_text_around_them_is_kept() {
    let document =
        "a\n<!-- numbers: x -->\nold\n<!-- /numbers -->\nb\n<!-- numbers: y -->\n<!-- /numbers -->";
    let (made, blocks) = rewritten(document, |name| format!("{name} is new\n"));
    assert_eq!(blocks, 2);
    assert_eq!(
        made,
        "a\n<!-- numbers: x -->\nx is new\n<!-- /numbers -->\nb\n<!-- numbers: y -->\ny is new\n<!-- /numbers -->"
    );
    assert_eq!(rewritten(&made, |name| format!("{name} is new")).0, made, "once is enough");
    let table = "# commit 1; date 2026-01-02; compiler epoch 1; machine m; command c\nname,p50_us\nhit,1.5\n";
    let changed = Table::parse(&table.replace("1.5", "2.5"));
    let shown =
        |table: &Table| markdown::time(table.rows().next().unwrap().number("p50_us").map(|us| us * 1e3));
    assert_eq!((shown(&Table::parse(table)).as_str(), shown(&changed).as_str()), ("1.50 µs", "2.50 µs"));
}
