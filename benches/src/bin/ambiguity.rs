//! Ambiguous texts of 2,000 bytes: prints masks, advances and the memory of stacks, and records them.

use gobo_benches::ambiguity::{MEASURES, measure, targets};
use gobo_benches::heap::CountingHeap;
use gobo_benches::short::run;
use gobo_benches::vocabularies::Source;

#[global_allocator]
static HEAP: CountingHeap = CountingHeap;

fn main() -> anyhow::Result<()> {
    run("ambiguity", &MEASURES, |record| {
        let folder = tempfile::tempdir()?;
        measure(&Source::built_in("o200k_base", folder.path())?, record)?;
        Ok(targets(record))
    })
}
