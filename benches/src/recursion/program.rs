//! What the programs `recursion` and `grammars` do with their constraints: measure, print the tables, and record them.

use std::path::Path;

use anyhow::Context;
use gobo_measure::origin::load_average;

use super::{RecursiveCase, mask_plot, tables};
use crate::args::Args;
use crate::record::{Record, origin};
use crate::run::recursion;
use crate::{vocabularies, worker};

/// Those of the targets.
const VOCABULARIES: [&str; 2] = ["o200k_base", "llama-3.1"];

/// Runs the program of this name over its constraints, or a worker of it.
///
/// # Errors
/// Words that are unknown, constraints or vocabularies that cannot be had, a record that cannot be written.
pub fn run(program: &str, cases: impl FnOnce() -> anyhow::Result<Vec<RecursiveCase>>) -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, contestant, source] = &words[..]
        && flag == "--worker"
    {
        return worker::run(contestant, &serde_json::from_str(source)?);
    }
    let mut args = Args::parse(words.iter().cloned())?;
    if args.vocabularies.is_empty() {
        args.vocabularies = VOCABULARIES.map(str::to_owned).to_vec();
    }
    let mut cases = cases()?;
    if let Some(name) = args.only.iter().find(|name| !recursion::names(&cases).contains(&name.as_str())) {
        anyhow::bail!("no constraint is called {name}; there are {}", recursion::names(&cases).join(", "));
    }
    cases.retain(|case| args.only.is_empty() || args.only.contains(&case.case.name));

    let (origin, load_before) = (origin(program, &words, args.machine.as_deref()), load_average());
    let folder = tempfile::tempdir()?;
    let mut record = Record::default();
    for source in vocabularies::load(&args.vocabularies, folder.path())? {
        recursion::unit(&args, &source, &mut record)?;
        recursion::vocabulary(&args, &source, &cases, &mut record)?;
    }

    let origin = origin.noting(format!("load average before {load_before}, after {}", load_average()));
    let report = format!("{origin}\n{}", tables::report(&record, &cases));
    println!("{report}");
    if let Some(machine) = &args.machine {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record").join(machine);
        std::fs::create_dir_all(&folder)?;
        let path = |end: &str| folder.join(format!("{}-{program}.{end}", origin.date));
        std::fs::write(path("csv"), record.csv(&origin)).context("writing the record")?;
        std::fs::write(path("md"), report)?;
        std::fs::write(path("svg"), mask_plot::draw(&record, &cases, &origin))?;
    }
    Ok(())
}
