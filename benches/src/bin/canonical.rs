//! Canonical tokens: prints tables, compiles, files, masks and forced tokens beside those of any tokens, and records them.

use gobo_benches::canonical::{MEASURES, measure, targets};
use gobo_benches::short::run;

fn main() -> anyhow::Result<()> {
    run("canonical", &MEASURES, |record| {
        measure(record)?;
        Ok(targets(record))
    })
}
