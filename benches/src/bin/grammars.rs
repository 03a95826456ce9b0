//! Grammars of whole languages, beside the peers that read grammars: prints the tables and records them.

use gobo_benches::heap::CountingHeap;
use gobo_benches::recursion::{collected, program};

#[global_allocator]
static HEAP: CountingHeap = CountingHeap;

fn main() -> anyhow::Result<()> {
    program::run("grammars", collected::all)
}
