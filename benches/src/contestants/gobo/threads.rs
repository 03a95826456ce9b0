//! A library compiled by one thread and by two, each constraint by one of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::Gobo;
use crate::ask::Answer;
use crate::cases::Case;
use crate::contestants::Contestant;

/// Alternates one thread and two; the samples are milliseconds for the whole library.
pub fn one_and_two(gobo: &Gobo, cases: &[Case], rounds: usize) -> anyhow::Result<Answer> {
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        one.push(library_ms(gobo, cases, 1)?);
        two.push(library_ms(gobo, cases, 2)?);
    }
    let mut answer = Answer::default();
    answer.samples.insert("one_thread_ms".into(), one);
    answer.samples.insert("two_threads_ms".into(), two);
    Ok(answer)
}

fn library_ms(gobo: &Gobo, cases: &[Case], threads: usize) -> anyhow::Result<f64> {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            gobo.compile(case)?;
        }
        anyhow::Ok(())
    };
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        others.into_iter().map(|other| other.join().expect("compiles do not panic")).fold(own, Result::and)
    })?;
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}
