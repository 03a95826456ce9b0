//! A daemon over a temporary store, and its clients. The client's tests include this file.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gobo_client::Client;
use gobo_engine::{CompileFn, Engine, EngineConfig, UpkeepConfig};
use gobo_server::{Reload, ServeConfig, ServeError, ServeLimits, Server};
use gobo_types::error_chain;
use gobo_worker::compile_constraint;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::full_verdicts::full_verdict;
use crate::tiny::tiny;

/// Holds every compile while it is shut, and counts.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) shut: AtomicBool,
    pub(crate) begun: AtomicUsize,
    pub(crate) cancelled: AtomicUsize,
}

impl Gate {
    fn compile(self: Arc<Self>) -> Box<CompileFn> {
        Box::new(move |vocabulary, constraint, budget| {
            self.begun.fetch_add(1, Ordering::SeqCst);
            while self.shut.load(Ordering::SeqCst) {
                if let Err(error) = budget.charge_steps("gate", 1) {
                    self.cancelled.fetch_add(1, Ordering::SeqCst);
                    return Err(error);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(constraint.text() != "panic", "broken on purpose");
            if let Some(verdict) = full_verdict(&constraint.text()) {
                return Err(verdict);
            }
            compile_constraint(vocabulary, constraint, 1, budget)
        })
    }
}

/// A running daemon over a store with the vocabulary `tiny`.
pub(crate) struct Daemon {
    pub(crate) tcp: String,
    pub(crate) gate: Arc<Gate>,
    reload: Reload,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl Daemon {
    /// On the store's own Unix socket, and on TCP.
    pub(crate) async fn start(store: &Path) -> Self {
        Self::start_with(store, Duration::from_secs(10)).await
    }

    pub(crate) async fn start_with(store: &Path, drain: Duration) -> Self {
        Self::start_caring(store, drain, UpkeepConfig::default()).await
    }

    pub(crate) async fn start_caring(store: &Path, drain: Duration, upkeep: UpkeepConfig) -> Self {
        Self::start_as(store, drain, upkeep, ServeLimits::default()).await
    }

    pub(crate) async fn start_limited(store: &Path, limits: ServeLimits) -> Self {
        Self::start_as(store, Duration::from_secs(10), UpkeepConfig::default(), limits).await
    }

    async fn start_as(store: &Path, drain: Duration, upkeep: UpkeepConfig, limits: ServeLimits) -> Self {
        Self::start_at(store, upkeep, |config| (config.drain, config.limits) = (drain, limits)).await
    }

    /// On a TCP address of this host, and otherwise as `edit` makes it.
    pub(crate) async fn start_at(
        store: &Path,
        upkeep: UpkeepConfig,
        edit: impl FnOnce(&mut ServeConfig),
    ) -> Self {
        let gate = Arc::new(Gate::default());
        let config = EngineConfig { workers: 2, queue_length: 64, upkeep, ..EngineConfig::new(store) };
        let engine = Engine::open_with(config, Arc::clone(&gate).compile()).unwrap();
        engine.import("tiny", &tiny(), None).unwrap();
        let engine = Arc::new(engine);
        let mut config = ServeConfig::of(&engine);
        config.tcp = vec![([127, 0, 0, 1], 0).into()];
        edit(&mut config);
        let server = Server::bind(engine, &config).await.unwrap();
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let tcp = format!("{scheme}://{}", server.tcp_addresses().next().unwrap());
        let reload = server.reload();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self { tcp, gate, reload, stop: Mutex::new(Some(stop)), serving }
    }

    /// Reads its files anew; what is wrong with them.
    pub(crate) fn reload(&self) -> Vec<String> {
        self.reload.now().iter().map(|error| error_chain(error)).collect()
    }

    /// Begins the shutdown.
    pub(crate) fn shut_down(&self) {
        drop(self.stop.lock().unwrap().take());
    }

    /// Shuts down, and returns when everything has ended.
    pub(crate) async fn stop(self) {
        self.shut_down();
        self.serving.await.unwrap().unwrap();
    }
}

pub(crate) fn client(store: &Path) -> Client {
    Client::builder().store(store).connect().unwrap()
}

/// A client with another store: as if on another host.
pub(crate) fn remote(store: &Path, daemon: &Daemon) -> Client {
    Client::builder().store(store).server(&daemon.tcp).connect().unwrap()
}

pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
