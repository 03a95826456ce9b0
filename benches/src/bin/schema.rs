//! JSON Schema over a corpus, beside llguidance: prints the tables and records them.

use anyhow::Context;
use gobo_benches::heap::CountingHeap;
use gobo_benches::record::{origin, version_of};
use gobo_benches::run::schema;
use gobo_benches::schema::args::Args;
use gobo_benches::schema::{PEER, corpus, coverage, tables, time_plot};
use gobo_benches::{vocabularies, worker};
use gobo_measure::origin::load_average;

#[global_allocator]
static HEAP: CountingHeap = CountingHeap;

/// That of the targets.
const VOCABULARY: &str = "llama-3.1";

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, contestant, source] = &words[..]
        && flag == "--worker"
    {
        return worker::run(contestant, &serde_json::from_str(source)?);
    }
    let args = Args::parse(words.iter().cloned())?;
    let entries = corpus::read(&args)?;
    let (origin, load_before) = (origin("schema", &words, args.machine.as_deref()), load_average());
    let folder = tempfile::tempdir()?;
    let sources = vocabularies::load(&[VOCABULARY.to_owned()], folder.path())?;
    let source = sources.first().with_context(|| format!("the tokenizer of {VOCABULARY} is needed"))?;
    let run = schema::corpus(&args, source, &entries)?;

    let origin = origin
        .noting(VOCABULARY)
        .noting(format!("{PEER} {}", version_of(PEER)))
        .noting(format!("load average before {load_before}, after {}", load_average()));
    let report = format!("{origin}\n{}", tables::report(&run, &args));
    println!("{report}");
    if let Some(folder) = args.folder() {
        std::fs::create_dir_all(&folder)?;
        let path = |end: &str| folder.join(format!("{}-schema{end}", origin.date));
        std::fs::write(path(".csv"), run.csv(&origin)).context("writing the record")?;
        std::fs::write(path("-coverage.csv"), coverage::csv(&run, &origin))?;
        std::fs::write(path(".md"), report)?;
        std::fs::write(path(".svg"), time_plot::draw(&run, VOCABULARY, &origin))?;
    }
    Ok(())
}
