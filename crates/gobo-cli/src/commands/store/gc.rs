use std::time::SystemTime;

use gobo_client::{GarbageEvent, GarbageIndex, GarbageSummary};
use gobo_engine::{Candidate, CollectEvent, CollectRequest, Garbage, Spared};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::age::{age, unix_ms};
use crate::args::{GcArgs, Global};
use crate::backend::Backend;
use crate::output::{self, Outcome, grouped, human_bytes};

/// Digits of a key that a person is shown; with `--json` all are.
const KEY_DIGITS: usize = 16;

/// The fate of an index, as it is printed.
struct Line {
    what: &'static str,
    key: String,
    bytes: u64,
    last_used: SystemTime,
}

/// Prints as it goes.
struct Printer<'a> {
    bar: &'a ProgressBar,
    is_json: bool,
    is_dry: bool,
    broken: anyhow::Result<()>,
}

impl Printer<'_> {
    fn found(&self, indices: u64) {
        self.bar.set_length(indices);
    }

    fn print(&mut self, line: &Line) {
        self.bar.inc(1);
        if self.broken.is_err() {
            return;
        }
        let Line { what, key, bytes, last_used } = line;
        let printed = self.bar.suspend(|| {
            if self.is_json {
                return output::line(
                    json!({"what": what, "index_key": key, "bytes": bytes, "last_used_unix_ms": unix_ms(*last_used)}),
                );
            }
            let verb = match (*what, self.is_dry) {
                ("removed", false) => "removed",
                ("removed", true) => "would remove",
                ("pinned", _) => "spared, pinned",
                _ => "spared, in grace",
            };
            output::line(format_args!(
                "{verb} {}  {}, used {} ago",
                &key[..KEY_DIGITS],
                human_bytes(*bytes),
                age(*last_used)
            ))
        });
        self.broken = printed;
    }
}

pub(crate) fn run(global: &Global, args: &GcArgs) -> anyhow::Result<Outcome> {
    let bar = ProgressBar::new(0).with_message("indices");
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut printer = Printer { bar: &bar, is_json: global.json, is_dry: args.dry_run, broken: Ok(()) };
    let sum = match Backend::open(global)? {
        Backend::Daemon(runtime, client) => {
            let each = |event| match event {
                GarbageEvent::Found { indices, .. } => printer.found(indices),
                GarbageEvent::Removed(index) => printer.print(&of_reply("removed", &index)),
                GarbageEvent::Pinned(index) => printer.print(&of_reply("pinned", &index)),
                GarbageEvent::InGrace(index) => printer.print(&of_reply("in_grace", &index)),
                _ => {}
            };
            runtime.block_on(client.collect_garbage(args.max_store_bytes, args.dry_run, each))?
        }
        Backend::Here(engine) => {
            let request = CollectRequest { max_bytes: args.max_store_bytes, dry_run: args.dry_run };
            let garbage = engine.collect(&request, &mut |event| match event {
                CollectEvent::Scanned { indices, .. } => printer.found(indices),
                CollectEvent::Removed(candidate) => printer.print(&of_candidate("removed", &candidate)),
                CollectEvent::Spared(candidate, Spared::Pinned) => {
                    printer.print(&of_candidate("pinned", &candidate));
                }
                CollectEvent::Spared(candidate, Spared::InGrace) => {
                    printer.print(&of_candidate("in_grace", &candidate));
                }
                CollectEvent::Chosen(_) | CollectEvent::Forgotten(_) => {}
            })?;
            summary(&garbage)
        }
    };
    printer.broken?;
    bar.finish_and_clear();
    if global.json {
        output::line(as_json(&sum, args.dry_run))?;
        return Ok(Outcome::Yes);
    }
    let removed = if args.dry_run { "would be removed" } else { "removed" };
    output::line(format_args!(
        "{} of {} indices {removed}, {} of {}; spared {} pinned and {} in grace; {} of quarantine {removed}, {}",
        grouped(sum.removed),
        grouped(sum.indices),
        human_bytes(sum.removed_bytes),
        human_bytes(sum.bytes),
        grouped(sum.pinned),
        grouped(sum.in_grace),
        grouped(sum.quarantine_removed),
        human_bytes(sum.quarantine_removed_bytes)
    ))?;
    Ok(Outcome::Yes)
}

fn of_reply(what: &'static str, index: &GarbageIndex) -> Line {
    Line { what, key: index.key.to_string(), bytes: index.bytes, last_used: index.last_used }
}

fn of_candidate(what: &'static str, candidate: &Candidate) -> Line {
    Line { what, key: candidate.key.to_string(), bytes: candidate.bytes, last_used: candidate.last_used }
}

/// The sum of an engine in this process, as a daemon's is read.
fn summary(garbage: &Garbage) -> GarbageSummary {
    let Garbage { indices, quarantine } = garbage;
    GarbageSummary {
        indices: indices.indices,
        bytes: indices.bytes,
        removed: indices.removed,
        removed_bytes: indices.removed_bytes,
        pinned: indices.pinned,
        pinned_bytes: indices.pinned_bytes,
        in_grace: indices.in_grace,
        in_grace_bytes: indices.in_grace_bytes,
        quarantine_removed: quarantine.removed,
        quarantine_removed_bytes: quarantine.removed_bytes,
    }
}

fn as_json(sum: &GarbageSummary, is_dry: bool) -> Value {
    json!({
        "what": "sum", "dry_run": is_dry, "indices": sum.indices, "bytes": sum.bytes, "removed": sum.removed,
        "removed_bytes": sum.removed_bytes, "pinned": sum.pinned, "pinned_bytes": sum.pinned_bytes,
        "in_grace": sum.in_grace, "in_grace_bytes": sum.in_grace_bytes,
        "quarantine_removed": sum.quarantine_removed, "quarantine_removed_bytes": sum.quarantine_removed_bytes,
    })
}
