//! `gobo check --server`: the verdict of a daemon on each constraint of a case file.
use std::sync::Arc;

use gobo_client::{Checked, Client, ClientError};
use gobo_types::{CompileError, ErrorKind, ReportEntry};
use serde_json::{Value, json};

use super::check::Summary;
use crate::args::{CheckArgs, Global};
use crate::backend::Backend;
use crate::cases::Case;
use crate::diagnostics::verdict_json;
use crate::output::{self, Outcome, progress};

/// Calls under way at once. The daemon decides what runs.
const CALLS: usize = 16;

pub(crate) fn run(global: &Global, args: &CheckArgs) -> anyhow::Result<Outcome> {
    let cases = Case::read_all(&args.file, &args.defaults.options()?, args.defaults.grammars())?;
    let backend = Backend::open(global)?;
    let name: Arc<str> = backend.name_of(&args.tokenizer.tokenizer)?.into();
    let Backend::Daemon(runtime, client) = backend else { unreachable!("a server was given") };
    let client = Arc::<Client>::from(client);
    output::note("the daemon is asked about the constraints; texts are not tried, and nothing is kept");
    let mut summary = Summary::default();
    let bar = progress(cases.len(), "check");
    runtime.block_on(async {
        let mut calls = std::collections::VecDeque::new();
        let mut waiting = cases.into_iter();
        loop {
            while calls.len() < CALLS {
                let Some(case) = waiting.next() else { break };
                let (client, name) = (Arc::clone(&client), Arc::clone(&name));
                calls.push_back(tokio::spawn(async move {
                    let checked = client.check(&name, &case.constraint).await;
                    (case, checked)
                }));
            }
            let Some(call) = calls.pop_front() else { return anyhow::Ok(()) };
            let (case, checked) = call.await?;
            bar.inc(1);
            let (line, is_wrong) = match checked {
                Ok(checked) => (describe(&checked), case.invalid),
                Err(ClientError::Verdict(verdict)) => (verdict_json(&verdict, None), false),
                Err(error @ ClientError::Daemon { .. }) if error.kind() == ErrorKind::Busy => {
                    (verdict_json(&CompileError::unavailable(error.to_string()), None), false)
                }
                Err(error) => return Err(error.into()),
            };
            let verdict = line["verdict"].as_str().unwrap_or("failed");
            summary.count_verdict(verdict);
            summary.wrong += u64::from(is_wrong);
            bar.suspend(|| print(global, &case, &line, is_wrong))?;
        }
    })?;
    bar.finish_and_clear();
    summary.finish(global)
}

fn describe(checked: &Checked) -> Value {
    let report = &checked.report;
    let entries = |entries: &[ReportEntry]| -> Vec<Value> {
        let of = |entry: &ReportEntry| json!({"pointer": entry.pointer, "keyword": entry.keyword, "why": entry.why});
        entries.iter().map(of).collect()
    };
    let compile_us = u64::try_from(checked.compile.as_micros()).unwrap_or(u64::MAX);
    json!({
        "verdict": "index", "key": checked.key.to_string(), "bytes": checked.bytes, "states": checked.states,
        "rows": checked.rows, "is_published": checked.is_published, "compile_us": compile_us,
        "report": {
            "enforced": entries(&report.enforced), "narrowed": entries(&report.narrowed),
            "unspellable": entries(&report.unspellable), "annotations": entries(&report.annotations),
            "widened": entries(&report.widened), "notes": entries(&report.notes),
        },
    })
}

/// Every case for a script; for a person those without an index.
fn print(global: &Global, case: &Case, line: &Value, is_wrong: bool) -> anyhow::Result<()> {
    if global.json {
        let mut line = line.clone();
        line["id"] = case.id.clone().into();
        return output::line(line);
    }
    if is_wrong {
        return output::line(format_args!("{}: an index, and should be refused", case.id));
    }
    match line["reason"].as_str() {
        Some(reason) => output::line(format_args!("{}: {reason}", case.id)),
        None => Ok(()),
    }
}
