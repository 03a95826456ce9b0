use gobo_types::IndexKey;
use serde_json::json;

use crate::args::{Global, PinArgs, UnpinArgs};
use crate::backend::Backend;
use crate::output::{self, Outcome, human_bytes};

pub(crate) fn pin(global: &Global, args: &PinArgs) -> anyhow::Result<Outcome> {
    if args.list {
        return list(global);
    }
    let backend = Backend::open(global)?;
    let keys = backend.keys(&args.keys)?;
    let pinned = backend.pin(&keys)?;
    report(global, "pinned", pinned, keys.len() as u64 - pinned, "already were")
}

pub(crate) fn unpin(global: &Global, args: &UnpinArgs) -> anyhow::Result<Outcome> {
    let backend = Backend::open(global)?;
    let keys = backend.keys(&args.keys)?;
    let unpinned = match backend {
        Backend::Daemon(runtime, client) => runtime.block_on(client.unpin(&keys))?,
        Backend::Here(engine) => {
            keys.iter().try_fold(0, |gone, key| engine.unpin(key).map(|was| gone + u64::from(was)))?
        }
    };
    report(global, "unpinned", unpinned, keys.len() as u64 - unpinned, "were not pinned")
}

fn report(global: &Global, what: &str, done: u64, others: u64, why: &str) -> anyhow::Result<Outcome> {
    if global.json {
        output::line(json!({what: done, "unchanged": others}))?;
    } else {
        output::line(format_args!("{what} {done}"))?;
        if others > 0 {
            output::note(format_args!("{others} {why}"));
        }
    }
    Ok(Outcome::Yes)
}

fn list(global: &Global) -> anyhow::Result<Outcome> {
    let pins: Vec<(IndexKey, Option<u64>)> = match Backend::open(global)? {
        Backend::Daemon(runtime, client) => {
            let pins = runtime.block_on(client.pins())?;
            pins.into_iter().map(|pin| (pin.key, pin.bytes)).collect()
        }
        Backend::Here(engine) => engine.pins()?,
    };
    for (key, bytes) in pins {
        if global.json {
            output::line(json!({"index_key": key.to_string(), "bytes": bytes}))?;
        } else {
            let shown = bytes.map_or_else(|| "not in the store".to_owned(), human_bytes);
            output::line(format_args!("{key}  {shown}"))?;
        }
    }
    Ok(Outcome::Yes)
}
