use std::time::Instant;

use anyhow::Context as _;
use gobo_engine::{Engine, EngineConfig, PullRequest, Pulled};
use serde_json::{Value, json};

use crate::args::{Global, OrderArg, PullArgs};
use crate::backend;
use crate::output::{self, Outcome, grouped, human_bytes, human_us, progress};

pub(crate) fn run(global: &Global, args: &PullArgs) -> anyhow::Result<Outcome> {
    let tier = args.bucket.tier(None, OrderArg::First)?;
    let tier = tier.context("there is no bucket to pull from\nhint: --remote URL gives one")?;
    let engine = Engine::open(EngineConfig { remote: Some(tier), ..backend::config(global)? })?;
    let mut is_whole = true;
    for manifest in &args.manifests {
        let begun = Instant::now();
        let request = PullRequest {
            manifest: manifest.clone(),
            max_bytes: args.limits.pull_max_bytes,
            deadline: Some(begun + args.limits.pull_deadline),
        };
        let bar = progress(0, manifest);
        let pulled = engine.pull(&request, &mut |done| bar.set_position(done));
        bar.finish_and_clear();
        let pulled = pulled?;
        is_whole &= pulled.is_whole();
        if global.json {
            let mut line = of_pulled(&pulled);
            line["manifest"] = manifest.as_str().into();
            line["seconds"] = begun.elapsed().as_secs_f64().into();
            output::line(line)?;
        } else {
            let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            output::line(format_args!("{manifest}: {} in {}", in_words(&pulled), human_us(took)))?;
        }
    }
    Ok(if is_whole { Outcome::Yes } else { Outcome::No })
}

fn of_pulled(pulled: &Pulled) -> Value {
    let Pulled {
        vocabularies,
        names,
        names_taken,
        vocabularies_missing,
        keys,
        present,
        indices,
        bytes,
        verdicts,
        absent,
        rejected,
        failed,
        left,
    } = pulled;
    json!({
        "vocabularies": vocabularies, "names": names, "names_taken": names_taken,
        "vocabularies_missing": vocabularies_missing, "keys": keys, "present": present, "indices": indices,
        "bytes": bytes, "verdicts": verdicts, "absent": absent, "rejected": rejected, "failed": failed, "left": left,
    })
}

/// What was pulled, for a person.
pub(super) fn in_words(pulled: &Pulled) -> String {
    let mut words = vec![format!(
        "{} indices ({}) and {} verdicts fetched, {} of {} keys were here",
        grouped(pulled.indices),
        human_bytes(pulled.bytes),
        grouped(pulled.verdicts),
        grouped(pulled.present),
        grouped(pulled.keys),
    )];
    for (number, what) in [
        (pulled.absent, "are not in the bucket any more"),
        (pulled.rejected, "are not to be used"),
        (pulled.failed, "could not be fetched"),
        (pulled.left, "are left, because the bytes or the time are spent"),
    ] {
        if number > 0 {
            words.push(format!("{} {what}", grouped(number)));
        }
    }
    let taken = |name| format!("the name {name} stands for another vocabulary here, and was left");
    words.extend(pulled.names_taken.iter().map(taken));
    words.extend(pulled.vocabularies_missing.iter().map(|missing| format!("no vocabulary {missing}")));
    words.join("; ")
}
