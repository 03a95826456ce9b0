//! Counts the instructions of the hot paths and compares them with the record; fails where one has grown.

use anyhow::Context;
use gobo_benches::instructions::{WORKLOADS, compare, count, write};
use gobo_benches::vocabularies::Source;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // The inner call, under valgrind.
        ["--workload", name, source] => {
            let (_, work) =
                WORKLOADS.into_iter().find(|(known, _)| *known == name).context("a known workload")?;
            work(&serde_json::from_str(source)?)
        }
        [] | ["--record"] => {
            let folder = tempfile::tempdir()?;
            let counts = count(&Source::built_in("o200k_base", folder.path())?)?;
            if args.is_empty() { compare(&counts) } else { write(&counts) }
        }
        _ => anyhow::bail!("usage: instructions [--record]"),
    }
}
