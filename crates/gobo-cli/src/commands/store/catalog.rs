use std::time::Instant;

use serde_json::json;

use crate::args::{CatalogCommand, Global};
use crate::backend::Backend;
use crate::output::{self, Outcome, grouped, human_bytes, human_us};

pub(crate) fn run(global: &Global, command: &CatalogCommand) -> anyhow::Result<Outcome> {
    let CatalogCommand::Rebuild = command;
    let begun = Instant::now();
    let (indices, vocabularies, quarantined, bytes) = match Backend::open(global)? {
        Backend::Daemon(runtime, client) => {
            let rebuilt = runtime.block_on(client.rebuild_catalog())?;
            (rebuilt.indices, rebuilt.vocabularies, rebuilt.quarantined, rebuilt.bytes)
        }
        Backend::Here(engine) => {
            let rebuilt = engine.rebuild_catalog()?;
            (rebuilt.indices, rebuilt.vocabularies, rebuilt.quarantined, rebuilt.bytes)
        }
    };
    let elapsed_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    if global.json {
        output::line(json!({
            "indices": indices, "vocabularies": vocabularies, "quarantined": quarantined, "bytes": bytes,
            "elapsed_us": elapsed_us,
        }))?;
    } else {
        output::line(format_args!(
            "{} indices and {} vocabularies, {}, verified in {}; {} files quarantined",
            grouped(indices),
            grouped(vocabularies),
            human_bytes(bytes),
            human_us(elapsed_us),
            grouped(quarantined)
        ))?;
    }
    Ok(Outcome::Yes)
}
