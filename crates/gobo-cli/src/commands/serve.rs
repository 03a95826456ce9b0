use std::sync::Arc;

use gobo_engine::{Quarantine, UpkeepConfig};
use gobo_server::{ServeConfig, Server};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{Global, ServeArgs};
use crate::backend::engine_with;
use crate::output::{self, Outcome};

pub(crate) fn run(global: &Global, args: &ServeArgs) -> anyhow::Result<Outcome> {
    let upkeep = UpkeepConfig {
        background: true,
        max_bytes: args.max_store_bytes.0,
        grace: args.grace,
        scrub_rate: args.scrub_rate.0,
        quarantine: Quarantine { max_bytes: args.max_quarantine_bytes, max_age: args.max_quarantine_age },
        ..UpkeepConfig::default()
    };
    let engine = Arc::new(engine_with(global, upkeep)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut config = ServeConfig::of(&engine);
        config.tcp = args.listen;
        // Before the sockets: whoever sees them may signal.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let server = Server::bind(engine, &config).await?;
        if let Some(socket) = server.unix_path() {
            output::note(format_args!("listening on unix:{}", socket.display()));
        }
        if let Some(address) = server.tcp_address() {
            output::note(format_args!("listening on http://{address} (no encryption, no authentication)"));
        }
        server
            .run(async {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                output::note("stopping: calls under way may end");
            })
            .await?;
        Ok(Outcome::Yes)
    })
}
