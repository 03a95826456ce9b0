//! The worker processes of the lookup's tests: `gobo-lookup-test-worker ROLE FOLDER`, started by a lookup under test.
//!
//! Each leaves a file in the folder, whose name is its process id.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gobo_types::{CompileError, Constraint};
use gobo_worker::{compile_constraint, run_worker_with};

#[path = "../../../gobo-engine/tests/it/full_verdicts.rs"]
mod full_verdicts;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (role, folder) = (args[0].as_str(), Path::new(&args[1]));
    let is_first = fs::read_dir(folder).unwrap().count() == 0;
    fs::write(folder.join(std::process::id().to_string()), "").unwrap();
    match role {
        "told" => work(|_| Ok(())),
        // Hangs if it is the first one, until somebody kills it.
        "hangs_first" if is_first => work(|_| hang()),
        "hangs_first" => work(|_| Ok(())),
        // Says at its first compile what a worker says whose disk is full.
        "no_room_once" => {
            let is_full = AtomicBool::new(true);
            let full = || CompileError::unavailable("cannot write it: No space left on device");
            work(move |_| if is_full.swap(false, Ordering::SeqCst) { Err(full()) } else { Ok(()) });
        }
        _ => panic!("no role of a worker: {args:?}"),
    }
}

fn hang() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Does what the text of the constraint says, after `before`, and compiles all others.
fn work(before: impl Fn(&Constraint) -> Result<(), CompileError> + Send + Sync + 'static) {
    let compile = move |vocabulary: &_, constraint: &Constraint, budget: &gobo_types::Budget| {
        before(constraint)?;
        match constraint.text().as_str() {
            "hang" => hang(),
            "die" => std::process::abort(),
            "panic" => panic!("broken on purpose"),
            // More steps than the first pass has.
            "costly" => budget.charge_steps("test", 10_000_000)?,
            // As long as several lookups take to ask for it.
            text if text.starts_with("slow") => std::thread::sleep(Duration::from_millis(300)),
            text => {
                if let Some(verdict) = full_verdicts::full_verdict(text) {
                    return Err(verdict);
                }
            }
        }
        compile_constraint(vocabulary, constraint, 1, budget)
    };
    run_worker_with(&compile).unwrap();
}
