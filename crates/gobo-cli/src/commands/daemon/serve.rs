use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use gobo_engine::{
    Engine, EngineConfig, EngineError, PassTime, PullRequest, Quarantine, TenantLimits, UpkeepConfig,
    WorkerConfig,
};
use gobo_server::{Reload, ServeConfig, ServeLimits, Server};
use gobo_types::error_chain;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, watch};

use super::collector::{Collector, LAST_SPANS};
use super::pull::in_words;
use super::supervisor;
use super::upstream::Pool;
use crate::args::{Command, Global, ModeArg, ServeArgs, parse_again};
use crate::backend;
use crate::output::{self, Outcome};
use gobo_cli::exit::complain;

fn config(global: &Global, args: &ServeArgs, runtime: &Handle) -> anyhow::Result<EngineConfig> {
    let processes = if args.inline {
        None
    } else {
        Some(WorkerConfig {
            address_space_bytes: args.worker_memory_mib << 20,
            processor_time: Duration::from_secs(args.worker_cpu_s),
            wall_clock: Duration::from_secs(args.worker_wall_s),
            ..backend::workers()?
        })
    };
    let upstream = args.pool.upstream.as_deref();
    let pool = |address| Pool::new(address, args.pool.credentials(), runtime.clone(), args.pool.budget());
    let upstream = upstream.map(pool).transpose()?;
    Ok(EngineConfig {
        processes,
        upstream: upstream.map(|pool| Arc::new(pool) as _),
        pass_time: PassTime {
            floor: Duration::from_millis(args.pass_cpu_ms),
            per_step: Duration::from_nanos(args.pass_cpu_ns),
        },
        queue_length: args.queue as usize,
        tenant: TenantLimits {
            jobs: args.tenant_jobs as usize,
            bytes: args.tenant_mib << 20,
            per_second: args.tenant_rate,
        },
        upkeep: UpkeepConfig {
            background: true,
            max_bytes: args.max_store_bytes.0,
            grace: args.grace,
            scrub_rate: args.scrub_rate.0,
            audit_share: Some(args.audit_share).filter(|share| *share > 0),
            quarantine: Quarantine { max_bytes: args.max_quarantine_bytes, max_age: args.max_quarantine_age },
            ..UpkeepConfig::default()
        },
        remote: args.bucket.tier((args.remote_mode == ModeArg::Write).then_some(&args.write), args.lookup)?,
        ..backend::config(global)?.serving()
    })
}

/// Descriptors that are kept for files, workers and the catalog.
const KEPT_DESCRIPTORS: u64 = 256;

/// Fewest connections of a socket, however few descriptors there are.
const MIN_CONNECTIONS: u64 = 8;

fn limits(args: &ServeArgs) -> ServeLimits {
    let wanted = u64::from(args.max_connections);
    // Each of two sockets may have as many.
    let possible = (raise_descriptors().saturating_sub(KEPT_DESCRIPTORS) / 2).max(MIN_CONNECTIONS);
    if possible < wanted {
        output::note(format_args!(
            "at most {possible} connections of each socket: the system allows few open files"
        ));
    }
    ServeLimits {
        connections: usize::try_from(wanted.min(possible)).unwrap_or(usize::MAX),
        calls: args.max_calls as usize,
        request_bytes: args.max_request_mib << 20,
        ..ServeLimits::default()
    }
}

/// Raises the number of files that this process may have open to what the system lets it have, and returns it.
fn raise_descriptors() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    (if raised { maximum } else { current }).unwrap_or(u64::MAX)
}

/// Says so if the workers together may use more memory than the system lets this process and its children have: then it ends all of them.
fn note_memory(args: &ServeArgs, threads: usize) {
    let Some(limit) = memory_limit().filter(|_| !args.inline) else { return };
    // Two more are kept for new interactive compiles.
    let workers = threads as u64 + 2;
    let needed = workers.saturating_mul(args.worker_memory_mib << 20);
    if needed > limit {
        output::note(format_args!(
            "{workers} workers may use {} MiB each, and the limit of this control group is {} MiB: the system may end the daemon before a \
             worker; hint: --worker-memory-mib {} or fewer --threads",
            args.worker_memory_mib,
            limit >> 20,
            ((limit / workers) >> 20).max(256),
        ));
    }
}

/// The memory limit of the control group of this process (cgroups(7), version 2); `None`: there is none.
fn memory_limit() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let of = |path: &str| {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup{path}/memory.max")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    // In a container its own group is the root.
    of(path.trim_end_matches('/')).or_else(|| of(""))
}

/// Most addresses of one name.
const MAX_ADDRESSES: usize = 16;

/// The addresses that a host has, with a port; none where no host is given. A name stands for all of its addresses, each once.
async fn addresses(option: &str, host: Option<&str>) -> anyhow::Result<Vec<SocketAddr>> {
    let Some(host) = host else { return Ok(Vec::new()) };
    let found = tokio::net::lookup_host(host).await.with_context(|| {
        format!("{option} {host}: the system knows no such host\nhint: an address such as 127.0.0.1:7450 needs no look-up")
    })?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found.take(MAX_ADDRESSES) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

/// How long a stop waits: the pause of a daemon that listens on TCP, calls under way, what is written to the bucket last, and the last spans.
fn longest_stop(args: &ServeArgs, has_tcp: bool, has_collector: bool) -> Duration {
    let pause = if has_tcp { args.drain_pause } else { Duration::ZERO };
    let writes = args.bucket.remote.is_some() && args.remote_mode == ModeArg::Write;
    let spans = if has_collector { LAST_SPANS } else { Duration::ZERO };
    pause + args.drain + spans + if writes { Engine::LAST_WRITES } else { Duration::ZERO }
}

fn in_seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// How often a thread that waits looks whether the daemon ends.
const LOOK: Duration = Duration::from_millis(250);

/// Starts the thread that fetches what manifests name, now and whenever they change, and returns what says when the daemon is warm.
fn keep_pulled(engine: &Arc<Engine>, args: &ServeArgs) -> anyhow::Result<watch::Receiver<bool>> {
    let (warm, is_warm) = watch::channel(false);
    let (engine, names, every) = (Arc::clone(engine), args.pull.clone(), args.pull_every);
    let max_bytes = args.pull_limits.pull_max_bytes;
    let warm = Arc::new(warm);
    let (in_time, deadline) = (Arc::clone(&warm), args.pull_limits.pull_deadline);
    tokio::spawn(async move {
        tokio::time::sleep(deadline).await;
        in_time.send_replace(true);
    });
    let work = move || {
        // By manifest: the state whose objects are all here.
        let mut whole = HashMap::new();
        while !engine.is_closed() {
            for name in &names {
                pull(&engine, name, max_bytes, &mut whole);
            }
            warm.send_replace(true);
            let begun = Instant::now();
            while begun.elapsed() < every && !engine.is_closed() {
                std::thread::sleep(LOOK.min(every));
            }
        }
    };
    std::thread::Builder::new().name("gobo-pull".into()).spawn(work).context("cannot start a thread")?;
    Ok(is_warm)
}

fn pull(engine: &Engine, name: &str, max_bytes: Option<u64>, whole: &mut HashMap<String, Vec<String>>) {
    let state =
        engine.remote().ok_or(EngineError::NoRemote).and_then(|remote| Ok(remote.manifest_state(name)?));
    let pulled = state.and_then(|state| {
        if whole.get(name) == Some(&state) {
            return Ok(None);
        }
        let request = PullRequest { manifest: name.to_owned(), max_bytes, deadline: None };
        engine.pull(&request, &mut |_| ()).map(|pulled| Some((state, pulled)))
    });
    match pulled {
        Ok(None) => {}
        Ok(Some((state, pulled))) => {
            tracing::info!(manifest = name, "{}", in_words(&pulled));
            // What is left for want of room is left for good.
            if pulled.vocabularies_missing.is_empty() && pulled.rejected + pulled.failed == 0 {
                whole.insert(name.to_owned(), state);
            }
        }
        Err(error) => {
            tracing::warn!(manifest = name, error = error_chain(&error), "a manifest cannot be pulled");
        }
    }
}

/// Reads the files of certificates, access and options anew at each SIGHUP, and says what of the options has changed.
async fn reload_on_hangup(mut hangup: Signal, reload: Reload, started_with: String) {
    let runtime = Handle::current();
    while hangup.recv().await.is_some() {
        supervisor::reloading();
        let (reload, started_with) = (reload.clone(), started_with.clone());
        let read = runtime.spawn_blocking(move || (reload.now(), options_again(&started_with, &reload)));
        if let Ok((broken, options)) = read.await {
            let said = if broken.is_empty() { "reloaded" } else { "not all could be reloaded" };
            output::note(format_args!("{said}: certificates and access"));
            match options {
                Ok(changed) if changed.is_empty() => {}
                Ok(changed) => output::note(format_args!("needs a restart: {}", changed.join(", "))),
                Err(error) => complain(&error.context("the options from before stay")),
            }
        }
        supervisor::ready();
    }
}

/// Options that are taken over from a daemon's file when it changes.
const TAKEN_OVER: [&str; 4] = ["log", "max-connections", "max-calls", "max-request-mib"];

/// The names of options that are not what a daemon was started with and that need a restart. The others are taken over at once.
fn options_again(started_with: &str, reload: &Reload) -> anyhow::Result<Vec<String>> {
    let Command::Serve(now) = parse_again()?.command else { return Ok(Vec::new()) };
    output::log_as(&now.log)?;
    reload.limits(&limits(&now));
    // Without the origins: where a value comes from is no matter of the daemon.
    let settings = |printed: &str| -> HashMap<String, String> {
        let settings = printed.lines().filter_map(|line| {
            let line = line.trim_start_matches("# ");
            line.split("  # ")
                .next()?
                .split_once(" = ")
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        });
        settings.collect()
    };
    let (before, now) = (settings(started_with), settings(&now.printed));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let changed = names
        .into_iter()
        .filter(|name| !TAKEN_OVER.contains(&name.as_str()) && before.get(*name) != now.get(*name));
    Ok(changed.cloned().collect())
}

pub(crate) fn run(global: &Global, args: &ServeArgs) -> anyhow::Result<Outcome> {
    if args.print_config {
        output::line(args.printed.trim_end())?;
        return Ok(Outcome::Yes);
    }
    let starting = supervisor::starting();
    // Before any other file has one of their numbers.
    let inherited = supervisor::inherited()?;
    let limits = limits(args);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // A request to read files anew must not end a daemon that starts.
    let hangup = {
        let _context = runtime.enter();
        signal(SignalKind::hangup())?
    };
    let engine = Arc::new(Engine::open(config(global, args, runtime.handle())?)?);
    note_memory(args, engine.config().workers);
    runtime.block_on(async {
        let mut config = ServeConfig::of(&engine);
        config.tcp = addresses("--listen", args.listen.as_deref()).await?;
        config.admin = addresses("--admin", args.admin.as_deref()).await?;
        (config.socket_group, config.drain_pause, config.drain) =
            (args.socket_group, args.drain_pause, args.drain);
        (config.tls, config.insecure) = (args.edge.tls(), args.edge.insecure);
        (config.access, config.admin_open) = (args.edge.access(), args.edge.admin_open);
        config.page = args.edge.page.then(|| args.edge.page_host.clone());
        config.limits = limits;
        let collector = Collector::from_environment()?;
        config.tracer = collector.clone().map(|collector| collector as _);
        config.warm = (!args.pull.is_empty()).then(|| keep_pulled(&engine, args)).transpose()?;
        // Before the sockets: a process that sees them may signal.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let server = Server::bind_with(engine, &config, inherited).await?;
        drop(starting);
        if let Some(socket) = server.unix_path() {
            output::note(format_args!("listening on unix:{}", socket.display()));
        }
        for address in server.tcp_addresses() {
            match (&args.edge.tls_cert, &args.edge.access) {
                (Some(_), _) => output::note(format_args!("listening on https://{address}")),
                (None, Some(_)) => {
                    output::note(format_args!("listening on http://{address} (no encryption)"));
                }
                (None, None) => {
                    output::note(format_args!(
                        "listening on http://{address} (no encryption, no authentication)"
                    ));
                }
            }
        }
        if let Some(pool) = &args.pool.upstream {
            output::note(format_args!("having {pool} compile"));
        }
        if let Some(bucket) = &args.bucket.remote {
            output::note(format_args!("sharing indices through {bucket}"));
        }
        for address in server.admin_addresses() {
            let scheme = if server.is_admin_encrypted(*address) { "https" } else { "http" };
            let pages = if args.edge.page { "pages at /, " } else { "" };
            output::note(format_args!(
                "operators on {scheme}://{address}: {pages}/metrics, /healthz, /readyz"
            ));
        }
        let longest_stop = longest_stop(args, server.tcp_addresses().next().is_some(), collector.is_some());
        output::note(format_args!("a stop waits at most {}", in_seconds(longest_stop)));
        tokio::spawn(reload_on_hangup(hangup, server.reload(), args.printed.clone()));
        supervisor::ready();
        supervisor::keep_alive();
        let (first, second) = (Notify::new(), Notify::new());
        let signalled = async {
            for told in [&first, &second] {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                told.notify_one();
            }
            std::future::pending::<()>().await;
        };
        let serving = server.run_until(
            async {
                first.notified().await;
                supervisor::stopping(longest_stop);
                output::note("stopping: calls under way may end; a second signal cuts them off");
            },
            second.notified(),
        );
        tokio::select! {
            served = serving => served?,
            () = signalled => {}
        }
        if let Some(collector) = collector {
            // What is left is told before the process ends, unless that takes too long.
            let _ = Handle::current().spawn_blocking(move || collector.close()).await;
        }
        Ok(Outcome::Yes)
    })
}
