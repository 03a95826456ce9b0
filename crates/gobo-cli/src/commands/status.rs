use serde_json::json;

use crate::args::Global;
use crate::backend::Backend;
use crate::output::{self, Outcome, grouped, human_bytes};

pub(crate) fn run(global: &Global) -> anyhow::Result<Outcome> {
    let status = match Backend::open(global)? {
        Backend::Daemon(runtime, client) => {
            let status = runtime.block_on(client.status())?;
            json!({
                "store": status.store, "vocabularies": status.vocabularies, "indices": status.indices,
                "bytes": status.bytes, "hits": status.hits, "misses": status.misses, "in_flight": status.in_flight,
                "queued": status.queued, "compiled": status.compiled, "refused": status.refused,
                "daemon": client.address(), "version": status.version, "workers": status.workers,
                "uptime_s": status.uptime_us / 1_000_000,
            })
        }
        Backend::Here(engine) => {
            let (indices, bytes) = engine.usage()?;
            json!({
                "store": engine.store().root(), "vocabularies": engine.store().list_names()?.len(),
                "indices": indices, "bytes": bytes, "hits": 0, "misses": 0, "in_flight": 0, "queued": 0,
                "daemon": null,
            })
        }
    };
    if global.json {
        output::line(&status)?;
        return Ok(Outcome::Yes);
    }
    for (key, value) in status.as_object().into_iter().flatten() {
        let shown = match (key.as_str(), value.as_u64(), value.as_str()) {
            ("bytes", Some(bytes), _) => human_bytes(bytes),
            (_, Some(number), _) => grouped(number),
            (_, _, Some(text)) => text.to_owned(),
            _ => "none runs here".to_owned(),
        };
        output::line(format_args!("{key:<13} {shown}"))?;
    }
    Ok(Outcome::Yes)
}
