//! Prints the table: gobo, its peers and the floors, measured in one run, as ratios; and records it.

use std::path::Path;

use anyhow::Context;
use gobo_benches::args::Args;
use gobo_benches::heap::CountingHeap;
use gobo_benches::record::{Record, origin};
use gobo_benches::{cases, compile_plot, run, tables, vocabularies, worker};
use gobo_measure::origin::load_average;

#[global_allocator]
static HEAP: CountingHeap = CountingHeap;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, contestant, source] = &words[..]
        && flag == "--worker"
    {
        return worker::run(contestant, &serde_json::from_str(source)?);
    }
    let args = Args::parse(words.iter().cloned())?;
    let mut cases = cases::all();
    if let Some(name) = args.only.iter().find(|name| !cases.iter().any(|case| case.name == **name)) {
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        anyhow::bail!("no constraint is called {name}; there are {}", names.join(", "));
    }
    cases.retain(|case| args.only.is_empty() || args.only.contains(&case.name));

    let (origin, load_before) = (origin("table", &words, args.machine.as_deref()), load_average());
    let folder = tempfile::tempdir()?;
    let mut record = Record::default();
    for source in vocabularies::load(&args.vocabularies, folder.path())? {
        run::vocabulary(&args, &source, &cases, &mut record)?;
    }

    let origin = origin.noting(format!("load average before {load_before}, after {}", load_average()));
    println!("{origin}\n{}", tables::report(&record, &cases));
    if let Some(machine) = &args.machine {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record").join(machine);
        std::fs::create_dir_all(&folder)?;
        let path = |end: &str| folder.join(format!("{}-table.{end}", origin.date));
        std::fs::write(path("csv"), record.csv(&origin)).context("writing the record")?;
        std::fs::write(path("md"), format!("{origin}\n{}", tables::report(&record, &cases)))?;
        std::fs::write(path("svg"), compile_plot::draw(&record, &cases, &origin))?;
    }
    Ok(())
}
