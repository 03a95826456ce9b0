use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use serde::Serialize;
use serde_json::json;

use crate::args::{CheckArgs, Global};
use crate::cases::{Case, Replay, Replayed};
use crate::inputs::{Loaded, Pieces};
use crate::output::{self, Outcome, progress};

/// Counts over a file: `cases` is the sum of the five verdicts, the others count texts.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    cases: u64,
    index: u64,
    refused: u64,
    over_budget: u64,
    unavailable: u64,
    failed: u64,
    pub(super) wrong: u64,
    order: u64,
    spelling: u64,
    /// Texts that are neither right nor wrong: their other spelling is too long to be tried.
    not_respelled: u64,
    not_encodable: u64,
}

impl Summary {
    pub(super) fn count_verdict(&mut self, verdict: &str) {
        self.cases += 1;
        *match verdict {
            "index" => &mut self.index,
            "refused" => &mut self.refused,
            "over_budget" => &mut self.over_budget,
            "unavailable" => &mut self.unavailable,
            _ => &mut self.failed,
        } += 1;
    }

    /// The last line of the command, and its exit status.
    pub(super) fn finish(&self, global: &Global) -> anyhow::Result<Outcome> {
        if global.json {
            output::line(json!({"summary": self}))?;
        } else {
            output::line(self)?;
        }
        Ok(if self.wrong == 0 && self.failed == 0 { Outcome::Yes } else { Outcome::No })
    }

    fn count(&mut self, replayed: &Replayed<'_>) {
        self.count_verdict(replayed.verdict);
        self.wrong += replayed.wrong.len() as u64;
        self.order += replayed.order;
        self.spelling += replayed.spelling;
        self.not_respelled += replayed.not_respelled;
        self.not_encodable += replayed.not_encodable;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, index, refused, over_budget, unavailable, failed, wrong, .. } = self;
        write!(
            f,
            "{cases} cases: {index} index, {refused} refused, {over_budget} over budget, {unavailable} unavailable, \
             {failed} failed; {wrong} texts wrong, "
        )?;
        for (count, why) in [(self.order, "order"), (self.spelling, "spelling")] {
            if count > 0 {
                write!(f, "{count} shut out by their {why} only, ")?;
            }
        }
        if self.not_respelled > 0 {
            write!(f, "{} not judged, as respelling them takes too many digits, ", self.not_respelled)?;
        }
        write!(f, "{} walked in small tokens only", self.not_encodable)
    }
}

pub(crate) fn run(global: &Global, args: &CheckArgs) -> anyhow::Result<Outcome> {
    let cases = Case::read_all(&args.file, &args.defaults.options()?, args.defaults.grammars())?;
    let loaded = Loaded::open(&args.tokenizer.tokenizer, global)?;
    let encoder = loaded.encoder().unwrap_or_else(|error| {
        output::note(error);
        None
    });
    if encoder.is_none() {
        output::note(
            "there is no encoder of the tokenizer's own here: texts are walked in small tokens only",
        );
    }
    let threads = global.threads_or(thread::available_parallelism().map_or(1, usize::from));
    let replay = Replay {
        loaded: &loaded,
        encoder: encoder.as_ref(),
        limits: global.limits(),
        // Cases are independent, so threads serve cases first.
        threads: (threads / cases.len().max(1)).max(1),
    };
    let mut summary = Summary::default();
    let bar = progress(cases.len(), "check");
    let work = |case| {
        let replayed = replay.replay(case);
        bar.inc(1);
        replayed
    };
    in_order(&cases, threads, work, |replayed| {
        let replayed = replayed?;
        summary.count(&replayed);
        bar.suspend(|| print(global, &replayed))
    })?;
    bar.finish_and_clear();
    summary.finish(global)
}

/// Every case for a script, and what is wrong for a person.
fn print(global: &Global, replayed: &Replayed<'_>) -> anyhow::Result<()> {
    if global.json {
        return output::line(serde_json::to_value(replayed)?);
    }
    if replayed.verdict != "failed" && replayed.wrong.is_empty() {
        return Ok(());
    }
    let reason = replayed.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    output::line(format_args!("{}: {}{reason}", replayed.id, replayed.verdict))?;
    for wrong in &replayed.wrong {
        let what = wrong.text.map_or_else(|| "the constraint".to_owned(), Pieces::to_string);
        output::line(format_args!("  {what} should be {}", wrong.expected))?;
    }
    Ok(())
}

/// Works on all items on this many threads, and passes the results on in the order of the items, each as soon as possible.
/// Stops soon after `done` fails.
fn in_order<'a, T: Sync, R: Send>(
    items: &'a [T],
    threads: usize,
    work: impl Fn(&'a T) -> R + Sync,
    mut done: impl FnMut(R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    if sender.send((at, work(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut at = 0;
        for (position, result) in results {
            early.insert(position, result);
            while let Some(result) = early.remove(&at) {
                done(result)?;
                at += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn order_and_spelling_are_shown_where_they_matter() {
        let mut summary = Summary { cases: 2, index: 2, ..Summary::default() };
        let text = summary.to_string();
        assert!(text.ends_with("0 failed; 0 texts wrong, 0 walked in small tokens only"), "{text}");
        (summary.order, summary.spelling) = (3, 1);
        let text = summary.to_string();
        let expected =
            "0 texts wrong, 3 shut out by their order only, 1 shut out by their spelling only, 0 walked";
        assert!(text.contains(expected), "{text}");
        summary.not_respelled = 2;
        let text = summary.to_string();
        let expected = "0 texts wrong, 3 shut out by their order only, 1 shut out by their spelling only, 2 not judged, as \
                        respelling them takes too many digits, 0 walked in small tokens only";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn results_come_in_the_order_of_the_items_at_any_number_of_threads() {
        let items: Vec<u64> = (0..40).collect();
        for threads in [1, 3, 64] {
            let mut seen = Vec::new();
            let work = |item: &u64| {
                thread::sleep(Duration::from_micros(item * 37 % 300));
                item * 2
            };
            in_order(&items, threads, work, |result| {
                seen.push(result);
                Ok(())
            })
            .unwrap();
            assert_eq!(seen, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_failure_ends_the_work() {
        let items = [0; 1000];
        let worked = AtomicUsize::new(0);
        let work = |_: &i32| {
            thread::sleep(Duration::from_millis(1));
            worked.fetch_add(1, Ordering::Relaxed)
        };
        assert!(in_order(&items, 2, work, |_| anyhow::bail!("no")).is_err());
        assert!(worked.into_inner() < items.len());
    }
}
