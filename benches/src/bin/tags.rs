//! Structural tags of many tools: prints compiles, files and masks, and records them.

use std::path::Path;

use anyhow::{Context, bail};
use gobo_benches::record::{Record, origin};
use gobo_benches::tags::{MEASURES, measure, targets};
use gobo_benches::vocabularies::load;
use gobo_measure::origin::load_average;

const USAGE: &str = "usage: tags [--machine NAME]

--machine       writes the record to record/NAME/; nothing is written unless given";

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let machine = match &words[..] {
        [] => None,
        [flag, machine] if flag == "--machine" => Some(machine.as_str()),
        _ => bail!(USAGE),
    };
    let (origin, load_before) = (origin("tags", &words, machine), load_average());
    let folder = tempfile::tempdir()?;
    let sources = load(&["qwen2.5".to_owned(), "o200k_base".to_owned()], folder.path())?;
    let source = sources.iter().find(|source| source.name == "qwen2.5").or(sources.first());
    let source = source.context("a vocabulary")?;
    let mut record = Record::default();
    measure(source, folder.path(), &mut record)?;
    let origin = origin.noting(format!("load average before {load_before}, after {}", load_average()));

    println!("{origin}\n\n| tag | who | measure | n | p50 | p99 |\n|---|---|---|---:|---:|---:|");
    for measure in MEASURES {
        for row in record.rows.iter().filter(|row| row.measure == measure) {
            match &row.figure {
                Ok(spread) => {
                    let (p50, p99) = (spread.p50, spread.p99);
                    let (tag, who) = (&row.constraint, &row.contestant);
                    println!("| {tag} | {who} | {measure} | {} | {p50:.0} | {p99:.0} |", spread.n);
                }
                Err(note) => println!("| {} | {} | {measure} | | {note} | |", row.constraint, row.contestant),
            }
        }
    }
    println!();
    let targets = targets(&source.name, &record);
    targets.iter().for_each(|line| println!("{line}"));
    if let Some(machine) = machine {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record").join(machine);
        std::fs::create_dir_all(&folder)?;
        let comments: String = targets.iter().map(|line| format!("# {line}\n")).collect();
        let path = folder.join(format!("{}-tags.csv", origin.date));
        std::fs::write(path, record.csv(&origin) + &comments).context("writing the record")?;
    }
    Ok(())
}
