//! Steps charged and processor time keep one ratio, whatever part of a constraint its caller makes long.
//!
//! A budget is worth what it counts: a loop that charges nothing lets a caller have a worker for as long as it likes. So
//! constraints of every kind grow here until a budget ends them, and the time of each, for each step that it charged, is
//! compared with that of all others in the same run.

mod attacks;

use std::sync::Arc;
use std::time::Duration;

use gobo_artifact::Vocabulary;
use gobo_compiler::CompileOptions;
use gobo_oracle::Tokens;
use gobo_types::{Budget, CompileLimits, Constraint};
use rustix::time::{ClockId, clock_gettime};

use self::attacks::{Attack, attacks};
use crate::subject::vocabulary_of;

/// What ends a compile: some tens of milliseconds of work.
const MAX_STEPS: u64 = 1_000_000;

/// Constraints grow up to this length, also beyond the size at which the budget ends them: what is done before the first
/// charge grows on.
const MAX_TEXT_BYTES: usize = 1 << 19;

/// Greatest size, of constraints whose length does not grow with it.
const MAX_SIZE: usize = 1 << 16;

/// What is shorter is not looked at: its time is that of pages and caches.
const SHORTEST: Duration = Duration::from_millis(2);

/// What is longer has failed, and grows no more.
const LONGEST: Duration = Duration::from_secs(2);

/// Steps that are as good as charged, for what every compile costs.
const FREE_STEPS: u64 = 20_000;

/// How much longer a step may take than the steps of the quarter of all runs that goes on fastest.
const MOST: f64 = 20.0;

/// How much less it may take, where a compile ends well: what is charged too dear is refused without need.
const LEAST: f64 = 1.0 / 100.0;

/// How often a time is taken that is out of proportion: the least counts, as other work of the host only adds.
const TRIES: usize = 5;

/// One size of an attack.
struct Run {
    size: usize,
    text_bytes: usize,
    steps: u64,
    time: Duration,
    has_index: bool,
}

impl Run {
    /// Nanoseconds of each step.
    fn pace(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "steps are far below 2^52")]
        let steps = (self.steps + FREE_STEPS) as f64;
        self.time.as_secs_f64() * 1e9 / steps
    }
}

/// Processor time of this thread so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// All bytes, and some tokens of several.
fn vocabulary() -> Arc<Vocabulary> {
    let mut tokens = Tokens::new();
    for byte in 0..=u8::MAX {
        tokens.push(&[byte], false);
    }
    for word in ["ab", "\":", "\",\"", "00", "true", "k1", "{\"", "},", "é"] {
        tokens.push(word.as_bytes(), false);
    }
    vocabulary_of(&tokens)
}

fn run(attack: &Attack, size: usize, vocabulary: &Vocabulary) -> Run {
    let constraint: Constraint = attack.1(size);
    let budget = Budget::new(CompileLimits { max_steps: MAX_STEPS, ..CompileLimits::default() });
    let began = processor_time();
    let end = gobo_worker::lower(&constraint, &budget).and_then(|lowered| {
        let options = CompileOptions { threads: 1, cache: None, ..CompileOptions::default() };
        gobo_compiler::compile(vocabulary, &constraint, &lowered, &options, &budget)
    });
    let time = processor_time().saturating_sub(began);
    // A charge that the budget refuses is no work.
    let steps = budget.steps().min(MAX_STEPS);
    Run { size, text_bytes: constraint.text_bytes(), steps, time, has_index: end.is_ok() }
}

/// Doubles the size.
fn grow(attack: &Attack, vocabulary: &Vocabulary) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for size in (4..).map(|power| 1 << power) {
        let last = run(attack, size, vocabulary);
        let is_end = last.text_bytes > MAX_TEXT_BYTES / 2 || last.time > LONGEST;
        let is_bounded = runs.last().is_some_and(|before| before.text_bytes.abs_diff(last.text_bytes) < 2);
        runs.push(last);
        if is_end || is_bounded && size >= MAX_SIZE {
            break;
        }
    }
    runs
}

#[test]
fn time_and_steps_keep_one_ratio() {
    let vocabulary = vocabulary();
    let attacks = attacks();
    let mut runs: Vec<(&Attack, Run)> = Vec::new();
    for attack in &attacks {
        runs.extend(grow(attack, &vocabulary).into_iter().map(|run| (attack, run)));
    }
    let mut paces: Vec<f64> =
        runs.iter().filter(|(_, run)| run.time >= SHORTEST).map(|(_, run)| run.pace()).collect();
    paces.sort_unstable_by(f64::total_cmp);
    // Not the median, which many faults would move.
    let usual = paces[paces.len() / 4];
    println!(
        "{} attacks, {} sizes, {} of them long enough; usual {usual:.1} ns a step",
        attacks.len(),
        runs.len(),
        paces.len()
    );

    let mut faults = Vec::new();
    for (attack, first) in runs {
        let is_far = |run: &Run| {
            let too_long = run.time >= SHORTEST && run.pace() > usual * MOST;
            let too_dear = run.has_index && run.steps >= MAX_STEPS / 2 && run.pace() < usual * LEAST;
            too_long || too_dear
        };
        let mut best = first;
        for _ in 1..TRIES {
            if !is_far(&best) || best.time > LONGEST {
                break;
            }
            let again = run(attack, best.size, &vocabulary);
            if again.time < best.time {
                best = again;
            }
        }
        if is_far(&best) {
            let Run { size, text_bytes, steps, time, .. } = best;
            faults
                .push(format!("{}, size {size}, {text_bytes} bytes: {steps} steps in {time:.1?}", attack.0));
        }
    }
    assert!(faults.is_empty(), "far from {usual:.1} ns a step:\n{}", faults.join("\n"));
}
