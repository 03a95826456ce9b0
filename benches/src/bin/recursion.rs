//! Constraints that call themselves, beside the peers that read grammars: prints the tables and records them.

use gobo_benches::heap::CountingHeap;
use gobo_benches::recursion::{cases, program};

#[global_allocator]
static HEAP: CountingHeap = CountingHeap;

fn main() -> anyhow::Result<()> {
    program::run("recursion", cases::all)
}
