//! Hosts that share a bucket: what an index costs that is known to the bucket alone, what a bucket costs those whose index nobody has,
//! and a pull; each beside its floor, calls of both by turns.
//!
//! The bucket is filled by the product's own `gobo prewarm` and read by its daemons. A floor reads the very objects by the same crate,
//! writes their bytes to a file and syncs it. Hosts are stores on one machine.
mod lookups;
mod pulls;
mod storm;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use gobo_cli::output::Outcome;
use gobo_client::{Client, Constraint, Fill, Source};
use gobo_remote::object::Names;
use gobo_remote::{Bucket, connect};
use gobo_types::IndexKey;
use object_store::ObjectStoreExt as _;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::args::{FleetArgs, Options};
use crate::generator::runtime;
use crate::generator::workload::Workload;
use crate::report::Report;
use crate::subject::daemon::{DaemonProcess, Launcher};
use crate::subject::program;
pub(super) use storm::{run as run_storm, work};

/// The manifest that the bucket is filled under.
const MANIFEST: &str = "bench";

/// The schemas that lie in the bucket.
const KNOWN: &str = "known";

pub(super) fn run(options: &Options, args: &FleetArgs) -> anyhow::Result<Outcome> {
    let out = args.out.create()?;
    let fleet = Fleet::fill(options, &args.tokenizer, args.keys, args.remote.as_deref())?;
    let mut report = Report::default();
    lookups::hits(&fleet, &mut report)?;
    lookups::known(&fleet, &mut report)?;
    lookups::unseen(&fleet, &mut report)?;
    lookups::unseen_beside_a_bucket_that_hangs(&fleet, &mut report)?;
    pulls::run(&fleet, &mut report)?;
    report.finish(&options.global, "gobo-bench fleet", out)
}

/// A bucket with indices, and what hosts need to use it.
struct Fleet {
    home: TempDir,
    runtime: Runtime,
    launcher: Launcher,
    program: PathBuf,
    url: String,
    bucket: Bucket,
    names: Names,
    /// What `gobo` is told of the vocabulary, and the name that it has then.
    tokenizer: String,
    vocabulary: String,
    keys: u32,
}

impl Fleet {
    /// Compiles schemas into a bucket: that at `remote`, or a folder.
    fn fill(options: &Options, tokenizer: &str, keys: u32, remote: Option<&str>) -> anyhow::Result<Self> {
        let home = tempfile::tempdir().context("cannot make a temporary folder")?;
        let url =
            remote.map_or_else(|| format!("file://{}/bucket", home.path().display()), ToOwned::to_owned);
        let library = home.path().join("library.jsonl");
        let lines = (0..keys).map(|nth| {
            let schema = Workload::new(0).text(KNOWN, nth.into());
            format!("{{\"id\":\"{nth}\",\"schema\":{schema}}}\n")
        });
        fs::write(&library, lines.collect::<String>())?;
        let program = program::find(options.gobo.as_deref())?;
        let mut command = Command::new(&program);
        command
            .args(["prewarm", "--remote", &url, "--tokenizer", tokenizer, "--manifest", MANIFEST])
            .arg(&library);
        finish(&mut command)?;
        let bucket = connect(&url)?;
        let names = Names::under(bucket.prefix.clone());
        let vocabulary = Path::new(tokenizer).file_name().and_then(|name| name.to_str());
        let vocabulary = vocabulary.context("the tokenizer has no name")?.to_owned();
        let (launcher, tokenizer) = (Launcher::of(options)?, tokenizer.to_owned());
        Ok(Self {
            home,
            runtime: runtime()?,
            launcher,
            program,
            url,
            bucket,
            names,
            tokenizer,
            vocabulary,
            keys,
        })
    }

    /// A host with a vocabulary and no index but one, and its daemon. `more`: arguments of `gobo serve`.
    fn host(&self, name: &str, more: &[&str]) -> anyhow::Result<Host> {
        self.host_in(name, more, &[])
    }

    /// The same with an environment.
    fn host_in(&self, name: &str, more: &[&str], environment: &[(&str, String)]) -> anyhow::Result<Host> {
        let store = self.home.path().join(name);
        let more: Vec<String> = more.iter().copied().map(ToOwned::to_owned).collect();
        let daemon = self.launcher.start_in(environment, &store, &more)?;
        let mut command = Command::new(&self.program);
        command.args(["get", "--tokenizer", &self.tokenizer, "--regex", "warm", "--store"]).arg(&store);
        finish(&mut command)?;
        let client = self.runtime.block_on(async { Client::builder().store(&store).connect() })?;
        Ok(Host { store, daemon, client })
    }

    /// From a request to the first mask.
    fn first_mask(&self, host: &Host, constraint: &Constraint) -> anyhow::Result<Source> {
        let resolved = self.runtime.block_on(host.client.resolve(&self.vocabulary, constraint))?;
        let mut row = vec![0; resolved.binding.mask_words()];
        let (_, fill) = host.client.first_mask(&resolved, &mut row)?;
        ensure!(fill == Fill::Masked, "the first mask is empty");
        Ok(resolved.source)
    }

    /// A bare GET of an index's object, into a file that is on the disk afterwards.
    fn bare_get(&self, key: &IndexKey, file: &Path) -> anyhow::Result<()> {
        let object = self.names.index(key);
        let bytes = self.runtime.block_on(async { self.bucket.store.get(&object).await?.bytes().await })?;
        write_synced(file, &bytes)
    }

    /// The numbers of a host's daemon.
    fn status(&self, host: &Host) -> anyhow::Result<Value> {
        let mut command = Command::new(&self.program);
        command.args(["status", "--json", "--server", &host.daemon.unix, "--store"]).arg(&host.store);
        let output = command.stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "gobo status: {}", output.status);
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

struct Host {
    store: PathBuf,
    daemon: DaemonProcess,
    client: Client,
}

fn write_synced(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    use std::io::Write as _;

    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    Ok(file.sync_all()?)
}

/// Runs a command to its end, quietly.
fn finish(command: &mut Command) -> anyhow::Result<()> {
    command.env_remove("GOBO_SERVER").env_remove("GOBO_STORE").env("GOBO_LOG", "error");
    let output = command.stdin(Stdio::null()).output().context("cannot start gobo")?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// A bucket that takes connections and never answers: its address, and the environment that leads there.
fn hanging() -> anyhow::Result<(String, [(&'static str, String); 5])> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    // As long as this program runs.
    std::thread::spawn(move || {
        let kept: Vec<_> = listener.incoming().map_while(Result::ok).collect();
        drop(kept);
    });
    let environment = [
        ("AWS_ENDPOINT", endpoint),
        ("AWS_ACCESS_KEY_ID", "x".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "x".to_owned()),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
    ];
    Ok(("s3://artifacts/bench".to_owned(), environment))
}
