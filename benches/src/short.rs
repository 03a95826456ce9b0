//! Runs that print their figures as one table, and keep them in one file: what their programs have in common.

use std::path::Path;

use anyhow::{Context, bail};
use gobo_measure::origin::load_average;

use crate::record::{Record, origin};

/// Runs `measure`, which gives the targets of what it has recorded as comments, and prints the figures by `measures`. With `--machine NAME` among the
/// words of the command, the record is written too.
pub fn run(
    part: &str,
    measures: &[&str],
    measure: impl FnOnce(&mut Record) -> anyhow::Result<Vec<String>>,
) -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let machine = match &words[..] {
        [] => None,
        [flag, machine] if flag == "--machine" => Some(machine.as_str()),
        _ => bail!(
            "usage: {part} [--machine NAME]\n\n\
             --machine       writes the record to record/NAME/; nothing is written unless given"
        ),
    };
    let (origin, load_before) = (origin(part, &words, machine), load_average());
    let mut record = Record::default();
    let targets = measure(&mut record)?;
    let origin = origin.noting(format!("load average before {load_before}, after {}", load_average()));

    println!(
        "{origin}\n\n| constraint | contestant | measure | n | p50 | p99 |\n|---|---|---|---:|---:|---:|"
    );
    for measure in measures {
        for row in record.rows.iter().filter(|row| row.measure == *measure) {
            let (constraint, contestant) = (&row.constraint, &row.contestant);
            match &row.figure {
                Ok(spread) => {
                    let (n, p50, p99) = (spread.n, spread.p50, spread.p99);
                    println!("| {constraint} | {contestant} | {measure} | {n} | {p50:.0} | {p99:.0} |");
                }
                Err(note) => println!("| {constraint} | {contestant} | {measure} | | {note} | |"),
            }
        }
    }
    println!();
    targets.iter().for_each(|line| println!("{line}"));
    if let Some(machine) = machine {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record").join(machine);
        std::fs::create_dir_all(&folder)?;
        let comments: String = targets.iter().map(|line| format!("# {line}\n")).collect();
        let path = folder.join(format!("{}-{part}.csv", origin.date));
        std::fs::write(path, record.csv(&origin) + &comments).context("writing the record")?;
    }
    Ok(())
}
