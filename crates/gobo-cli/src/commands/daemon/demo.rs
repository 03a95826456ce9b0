//! The whole system in one run: a daemon on a temporary store, a library prewarmed into it, and two workers.
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use gobo_client::Client;
use gobo_engine::{Engine, EngineConfig};
use gobo_server::{ServeConfig, Server};
use gobo_types::Constraint;
use serde_json::json;
use tokio::sync::oneshot;

use crate::args::Global;
use crate::backend::runtime;
use crate::cases::Case;
use crate::commands::constraint::sample;
use crate::output::{self, Outcome, grouped, human_bytes, human_us, progress};

const VOCABULARY: &str = "o200k_base";

/// The row of one constraint in the table.
struct Row {
    id: String,
    states: u32,
    rows: u32,
    bytes: u64,
    compile_us: u64,
    map_us: u64,
    stream_us: u64,
}

pub(crate) fn run(global: &Global) -> anyhow::Result<Outcome> {
    let home = tempfile::tempdir().context("cannot make a temporary store")?;
    let cases = Case::library()?;
    let constraints: Vec<(String, Constraint)> =
        cases.into_iter().map(|case| (case.id, case.constraint)).collect();
    runtime()?.block_on(async {
        let step = |text: &str| output::note(format_args!("· {text}"));
        step("a daemon starts on a temporary store");
        let mut config = EngineConfig::new(home.path().join("daemon"));
        config.workers = global.threads_or(config.workers);
        let engine = Arc::new(Engine::open(config)?);
        let mut serving = ServeConfig::of(&engine);
        serving.tcp = vec![([127, 0, 0, 1], 0).into()];
        let server = Server::bind(engine, &serving).await?;
        let address =
            format!("http://{}", server.tcp_addresses().next().context("the daemon has no address")?);
        let (stop, stopped) = oneshot::channel::<()>();
        let daemon = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));

        let here = Client::builder().store(home.path().join("daemon")).connect()?;
        step(&format!("it imports the vocabulary {VOCABULARY}"));
        here.vocabulary(VOCABULARY).await?;

        let all: Vec<Constraint> = constraints.iter().map(|(_, constraint)| constraint.clone()).collect();
        step(&format!("it prewarms {} constraints", all.len()));
        let mut rows: Vec<Row> = Vec::new();
        let bar = progress(all.len(), "prewarm");
        let begun = Instant::now();
        let mut batch = here.resolve_batch(VOCABULARY, &all, true).await?;
        while let Some(item) = batch.next().await? {
            let id = constraints[item.position].0.clone();
            let location = item.outcome.with_context(|| id.clone())?;
            let compile_us = u64::try_from(location.compile.as_micros())?;
            let (states, bytes) = (location.states, location.bytes);
            rows.push(Row { id, states, rows: location.rows, bytes, compile_us, map_us: 0, stream_us: 0 });
            bar.inc(1);
        }
        bar.finish_and_clear();
        let prewarm_us = u64::try_from(begun.elapsed().as_micros())?;
        let order = |id: &str| constraints.iter().position(|(known, _)| known == id);
        rows.sort_by_key(|row| order(&row.id));

        step("a worker on this host finds them without a call, and maps them");
        let bar = progress(all.len(), "map");
        for (row, constraint) in rows.iter_mut().zip(&all) {
            row.map_us = here.resolve(VOCABULARY, constraint).await?.resolve_us;
            bar.inc(1);
        }
        bar.finish_and_clear();

        step(&format!("a worker with a store of its own asks over {address}, and maps what is streamed"));
        let there = Client::builder().store(home.path().join("worker")).server(address).connect()?;
        let bar = progress(all.len(), "stream");
        for (row, constraint) in rows.iter_mut().zip(&all) {
            row.stream_us = there.resolve(VOCABULARY, constraint).await?.resolve_us;
            bar.inc(1);
        }
        bar.finish_and_clear();
        print(global, &rows)?;

        if !global.json {
            output::line("\nTexts that random tokens under the masks write:\n")?;
        }
        let mut random = fastrand::Rng::with_seed(7);
        for (id, constraint) in &constraints {
            let mut matcher = there.matcher(&there.resolve(VOCABULARY, constraint).await?)?;
            let walk = sample::walk(&mut matcher, 40, &mut random)?;
            let text = String::from_utf8_lossy(&walk.text);
            if global.json {
                output::line(
                    json!({"id": id, "text": text, "tokens": walk.tokens.len(), "complete": walk.complete}),
                )?;
            } else if walk.complete
                && text.chars().count() <= 60
                && text.chars().all(|shown| !shown.is_control())
            {
                output::line(format_args!("  {id:<24} {text}"))?;
            }
        }
        let _ = stop.send(());
        daemon.await.context("the daemon")??;
        if !global.json {
            output::line(format_args!(
                "\n{} constraints prewarmed in {}: once, for every worker and every restart.",
                rows.len(),
                human_us(prewarm_us)
            ))?;
        }
        Ok(Outcome::Yes)
    })
}

fn print(global: &Global, rows: &[Row]) -> anyhow::Result<()> {
    if global.json {
        for row in rows {
            output::line(json!({
                "id": row.id, "states": row.states, "rows": row.rows, "bytes": row.bytes,
                "compile_us": row.compile_us, "map_us": row.map_us, "stream_us": row.stream_us,
            }))?;
        }
        return Ok(());
    }
    let heading = ["constraint", "states", "rows", "bytes", "compile", "hit: map", "hit: stream"];
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.id.clone(),
                grouped(row.states.into()),
                grouped(row.rows.into()),
                human_bytes(row.bytes),
                human_us(row.compile_us),
                human_us(row.map_us),
                human_us(row.stream_us),
            ]
        })
        .collect();
    output::line(format_args!("\n{}", output::table(&heading, &cells)))
}
