//! Structural tags of many tools: prints compiles, files and masks, and records them.

use anyhow::Context as _;
use gobo_benches::short::run;
use gobo_benches::tags::{MEASURES, measure, targets};
use gobo_benches::vocabularies::load;

fn main() -> anyhow::Result<()> {
    run("tags", &MEASURES, |record| {
        let folder = tempfile::tempdir()?;
        let sources = load(&["qwen2.5".to_owned(), "o200k_base".to_owned()], folder.path())?;
        let source = sources.iter().find(|source| source.name == "qwen2.5").or(sources.first());
        let source = source.context("a vocabulary")?;
        measure(source, folder.path(), record)?;
        Ok(targets(&source.name, record))
    })
}
