//! How the daemon is doing.

use std::sync::Arc;

use axum::extract::State;
use gobo_engine::{Stats, StoreStats};
use gobo_types::{grouped, human_bytes};
use maud::html;

use super::frame::{facts, frame};
use super::plot::{bars, number, times};
use super::shared::{Answer, Shown};

/// Where an answer was, as the counter names it and as a person does.
const TIERS: [(&str, &str); 5] = [
    ("host", "this host"),
    ("verdict", "a remembered verdict"),
    ("remote", "the bucket"),
    ("upstream", "the pool"),
    ("compile", "a compile"),
];

pub(super) async fn page(State(shown): State<Arc<Shown>>) -> Answer {
    let engine = shown.engine()?;
    let (stats, store) = (engine.stats(), engine.store_stats());
    let (path, workers) = (engine.store().root().display().to_string(), engine.config().workers);
    let numbers = (shown.page.numbers)();
    let of_tier = |tier: &str| number(&numbers, &format!("gobo_resolves_total{{source=\"{tier}\"}}"));
    let all: f64 = TIERS.iter().map(|(tier, _)| of_tier(tier)).sum();
    let share =
        |count: f64| if all > 0.0 { format!("{:.1} %", count / all * 100.0) } else { "–".to_owned() };
    let tiers: Vec<(String, f64)> = TIERS
        .iter()
        .map(|(tier, name)| (format!("{name} ({})", share(of_tier(tier))), of_tier(tier)))
        .collect();
    let Stats { in_flight, queued, oldest_wait, refused, failed, unavailable, .. } = stats;
    let StoreStats { indices, bytes, max_bytes, verdicts, pinned, quarantined, .. } = store;
    let count = |number: u64| grouped(number);
    let content = html! {
        section aria-labelledby="answers" {
            h2 #answers { "Answers since the start" }
            (bars("Resolves, by where the answer was", "Source", &tiers))
            (facts(&[
                ("Refused or over budget", count(refused)),
                ("Turned away", count(unavailable)),
                ("Failed, each a bug", count(failed)),
            ]))
        }
        section aria-labelledby="times" {
            h2 #times { "Times since the start" }
            div.plots {
                (times(&numbers, "gobo_resolve_seconds", "From a miss to its answer"))
                (times(&numbers, "gobo_queue_seconds", "Before a worker"))
                (times(&numbers, "gobo_compile_seconds", "On a worker, each pass"))
            }
        }
        section aria-labelledby="now" {
            h2 #now { "Now" }
            (facts(&[
                ("Workers", workers.to_string()),
                ("On a worker", count(in_flight)),
                ("Waiting for one", count(queued)),
                ("The oldest has waited", format!("{:.1} s", oldest_wait.as_secs_f64())),
            ]))
        }
        section aria-labelledby="store" {
            h2 #store { "Store" }
            (facts(&[
                ("Folder", path),
                ("Indices", count(indices)),
                ("Their bytes", human_bytes(bytes)),
                ("Most bytes", max_bytes.map_or_else(|| "no limit".to_owned(), human_bytes)),
                ("Remembered verdicts", count(verdicts)),
                ("Pinned", count(pinned)),
                ("In quarantine", count(quarantined)),
            ]))
        }
    };
    Ok(frame("/", "Overview", &content))
}
