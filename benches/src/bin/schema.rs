//! JSON Schema over a corpus, beside llguidance: prints the tables and records them.

use anyhow::Context;
use gobo_benches::heap::CountingHeap;
use gobo_benches::record::{commit, load, output_of, version_of};
use gobo_benches::run::schema;
use gobo_benches::schema::args::Args;
use gobo_benches::schema::{PEER, corpus, coverage, tables, time_plot};
use gobo_benches::{vocabularies, worker};

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
    let (commit, date, load_before) = (commit(), output_of("date", &["-u", "+%F"]), load());
    let folder = tempfile::tempdir()?;
    let sources = vocabularies::load(&[VOCABULARY.to_owned()], folder.path())?;
    let source = sources.first().with_context(|| format!("the tokenizer of {VOCABULARY} is needed"))?;
    let run = schema::corpus(&args, source, &entries)?;

    let command = ["cargo run --release --bin schema --", &words.join(" ")].join(" ");
    let machine = args.machine.as_deref().unwrap_or("a machine without a name");
    let load = format!("load average before {load_before}, after {}", load());
    let peer = format!("{PEER} {}", version_of(PEER));
    let origin = format!("commit {commit}; {date}; {command}; {machine}; {VOCABULARY}; {peer}; {load}");
    let report = format!("{origin}\n{}", tables::report(&run, &args));
    println!("{report}");
    if let Some(folder) = args.folder() {
        std::fs::create_dir_all(&folder)?;
        let path = |end: &str| folder.join(format!("{date}-schema{end}"));
        std::fs::write(path(".csv"), run.csv(&origin)).context("writing the record")?;
        std::fs::write(path("-coverage.csv"), coverage::csv(&run, &origin))?;
        std::fs::write(path(".md"), report)?;
        let title = format!("Compile times of JSON Schemas over {VOCABULARY}, commit {commit}, {date}");
        std::fs::write(path(".svg"), time_plot::draw(&run, &title))?;
    }
    Ok(())
}
