use anyhow::Context as _;
use gobo_remote::{Examined, Remote, RemoteError, Written, version};
use gobo_store::Store;
use serde_json::{Value, json};

use crate::args::{DoctorArgs, Global, OrderArg};
use crate::interrupt::TempFolder;
use crate::output::{self, Outcome, human_us};

/// Beyond this a signature of a request is not believed by some servers.
const MOST_SKEW_S: i64 = 300;

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    found: String,
    is_well: bool,
    hint: &'static str,
}

fn well(what: &'static str, found: impl Into<String>) -> Finding {
    Finding { what, found: found.into(), is_well: true, hint: "" }
}

fn ill(what: &'static str, error: &RemoteError, hint: &'static str) -> Finding {
    Finding { what, found: error.to_string(), is_well: false, hint }
}

pub(crate) fn run(global: &Global, args: &DoctorArgs) -> anyhow::Result<Outcome> {
    let tier = args.bucket.tier(args.write.then_some(&args.signing), OrderArg::First)?;
    let tier = tier.context("there is no bucket to look at\nhint: --remote URL gives one")?;
    let folder = TempFolder::new()?;
    let remote = Remote::open(tier.bucket, Store::open(folder.path())?, tier.config)?;
    let findings = findings(&remote.examine());
    if global.json {
        let all: serde_json::Map<String, Value> = findings
            .iter()
            .map(|finding| {
                (finding.what.replace(' ', "_"), json!({"found": finding.found, "well": finding.is_well}))
            })
            .collect();
        output::line(Value::Object(all))?;
    } else {
        for Finding { what, found, is_well, hint } in &findings {
            output::line(format_args!("{:<4} {what}: {found}", if *is_well { "ok" } else { "BAD" }))?;
            if !is_well && !hint.is_empty() {
                output::note(format_args!("hint: {hint}"));
            }
        }
    }
    Ok(if findings.iter().all(|finding| finding.is_well) { Outcome::Yes } else { Outcome::No })
}

fn findings(examined: &Examined) -> Vec<Finding> {
    let mut findings = vec![match &examined.versions {
        Ok(versions) if versions.is_empty() => {
            well("listing", "allowed; no version of gobo has written here")
        }
        Ok(versions) => well("listing", format!("allowed; there are objects of {}", versions.join(", "))),
        Err(error) => ill(
            "listing",
            error,
            "the endpoint, the name of the bucket, the credentials, and the right to list it",
        ),
    }];
    findings.push(match &examined.absent {
        Ok(()) => well("reading", "allowed; what is not there is said not to be there"),
        Err(error) => ill(
            "reading",
            error,
            "without the right to list, S3 answers 403 for what is not there, and each miss counts as refused",
        ),
    });
    match &examined.written {
        None => {}
        Some(Err(error)) => findings.push(ill("writing", error, "inference hosts need not write; jobs do")),
        Some(Ok(written)) => findings.extend(of_written(written)),
    }
    // What this version looks for.
    findings.push(well("this version", version()));
    findings
}

fn of_written(written: &Written) -> Vec<Finding> {
    let Written { put, gets, is_condition_kept, clock_ahead } = written;
    let micros = |time: &std::time::Duration| human_us(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    let at = |share: usize| gets.get(gets.len() * share / 100).map(micros).unwrap_or_default();
    let condition = if *is_condition_kept {
        "kept"
    } else {
        "ignored, which costs bandwidth where two hosts write one object"
    };
    let clock = Finding {
        what: "clock",
        found: format!("{clock_ahead} s ahead of this host"),
        is_well: clock_ahead.abs() < MOST_SKEW_S,
        hint: "set the clock of this host: signatures of requests have a time",
    };
    vec![
        well("writing", format!("allowed; {} for a small object", micros(put))),
        well("latency", format!("{} at the median of 20 reads, {} at most", at(50), at(99))),
        well("conditional writes", condition),
        clock,
    ]
}
