//! A library compiled by one thread and by two, each constraint by one of them; beside arithmetic that shares nothing,
//! which says how much of a second core the machine has to give at that time.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::Gobo;
use crate::ask::Answer;
use crate::cases::Case;
use crate::contestants::Contestant;

/// Parts of the arithmetic, and steps of each: about as long as a library.
const PARTS: usize = 50;
const STEPS: u64 = 3_000_000;

/// Alternates one thread and two; the samples are milliseconds for the whole.
pub fn one_and_two(gobo: &Gobo, cases: &[Case], rounds: usize) -> anyhow::Result<Answer> {
    let compile = |at: usize| gobo.compile(&cases[at]).map(drop);
    let count = |_| {
        black_box((0..STEPS).fold(0_u64, |sum, step| black_box(sum.wrapping_mul(31) + step)));
        Ok(())
    };
    let mut answer = Answer::default();
    for _ in 0..rounds {
        for (name, threads) in [("one_thread_ms", 1), ("two_threads_ms", 2)] {
            let ms = shared_ms(cases.len(), threads, &compile)?;
            answer.samples.entry(name.into()).or_default().push(ms);
            let ms = shared_ms(PARTS, threads, &count)?;
            answer.samples.entry(format!("arithmetic_{name}")).or_default().push(ms);
        }
    }
    Ok(answer)
}

/// All parts, each done by whichever thread is free.
fn shared_ms(
    parts: usize,
    threads: usize,
    part: &(impl Fn(usize) -> anyhow::Result<()> + Sync),
) -> anyhow::Result<f64> {
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                at if at < parts => part(at)?,
                _ => return anyhow::Ok(()),
            }
        }
    };
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        others.into_iter().map(|other| other.join().expect("no part panics")).fold(own, Result::and)
    })?;
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}
