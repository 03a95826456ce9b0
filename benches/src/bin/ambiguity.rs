//! Ambiguous texts of 2,000 bytes: prints masks, advances and the memory of stacks, and records them.

use std::path::Path;

use anyhow::{Context, bail};
use gobo_benches::ambiguity::{MEASURES, measure, targets};
use gobo_benches::heap::CountingHeap;
use gobo_benches::record::{Record, origin};
use gobo_benches::vocabularies::Source;
use gobo_measure::origin::load_average;

#[global_allocator]
static HEAP: CountingHeap = CountingHeap;

const USAGE: &str = "usage: ambiguity [--machine NAME]

--machine       writes the record to record/NAME/; nothing is written unless given";

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let machine = match &words[..] {
        [] => None,
        [flag, machine] if flag == "--machine" => Some(machine.as_str()),
        _ => bail!(USAGE),
    };
    let (origin, load_before) = (origin("ambiguity", &words, machine), load_average());
    let folder = tempfile::tempdir()?;
    let mut record = Record::default();
    measure(&Source::built_in("o200k_base", folder.path())?, &mut record)?;
    let origin = origin.noting(format!("load average before {load_before}, after {}", load_average()));

    println!("{origin}\n\n| text | measure | n | p50 | p99 |\n|---|---|---:|---:|---:|");
    for measure in MEASURES {
        for row in record.rows.iter().filter(|row| row.measure == measure) {
            match &row.figure {
                Ok(spread) => {
                    let (p50, p99) = (spread.p50, spread.p99);
                    println!("| {} | {measure} | {} | {p50:.0} | {p99:.0} |", row.constraint, spread.n);
                }
                Err(note) => println!("| {} | {measure} | | {note} | |", row.constraint),
            }
        }
    }
    println!();
    let targets = targets(&record);
    targets.iter().for_each(|line| println!("{line}"));
    if let Some(machine) = machine {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record").join(machine);
        std::fs::create_dir_all(&folder)?;
        let comments: String = targets.iter().map(|line| format!("# {line}\n")).collect();
        let path = folder.join(format!("{}-ambiguity.csv", origin.date));
        std::fs::write(path, record.csv(&origin) + &comments).context("writing the record")?;
    }
    Ok(())
}
