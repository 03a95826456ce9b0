//! Named extensions and prompts that end inside of a token: prints compiles, files and first masks, and records them.

use anyhow::Context as _;
use gobo_benches::extensions::{MEASURES, measure, targets};
use gobo_benches::short::run;
use gobo_benches::vocabularies::load;

fn main() -> anyhow::Result<()> {
    run("extensions", &MEASURES, |record| {
        let folder = tempfile::tempdir()?;
        let sources = load(&["o200k_base".to_owned()], folder.path())?;
        let source = sources.first().context("a vocabulary")?;
        measure(source, folder.path(), record)?;
        Ok(targets(&source.name, record))
    })
}
