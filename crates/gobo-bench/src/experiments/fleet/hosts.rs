//! A bucket that is filled, and hosts that have it: stores on one machine, with a daemon each.
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use gobo_client::{Client, Constraint, Fill, Source};
use gobo_remote::object::Names;
use gobo_remote::{Bucket, connect};
use gobo_types::IndexKey;
use object_store::ObjectStoreExt as _;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::args::Options;
use crate::generator::runtime;
use crate::generator::workload::Workload;
use crate::subject::daemon::{DaemonProcess, Launcher};
use crate::subject::program;

/// The manifest that the bucket is filled under.
pub(super) const MANIFEST: &str = "bench";

/// The schemas that lie in the bucket.
pub(super) const KNOWN: &str = "known";

/// A bucket with indices, and what hosts need to use it.
pub(super) struct Fleet {
    pub(super) home: TempDir,
    pub(super) runtime: Runtime,
    launcher: Launcher,
    pub(super) program: PathBuf,
    pub(super) url: String,
    bucket: Bucket,
    names: Names,
    /// What `gobo` is told of the vocabulary, and the name that it has then.
    tokenizer: String,
    pub(super) vocabulary: String,
    pub(super) keys: u32,
}

impl Fleet {
    /// Compiles schemas into a bucket: that at `remote`, or a folder.
    pub(super) fn fill(
        options: &Options,
        tokenizer: &str,
        keys: u32,
        remote: Option<&str>,
    ) -> anyhow::Result<Self> {
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
    pub(super) fn host(&self, name: &str, more: &[&str]) -> anyhow::Result<Host> {
        self.host_in(name, more, &[])
    }

    /// The same with an environment.
    pub(super) fn host_in(
        &self,
        name: &str,
        more: &[&str],
        environment: &[(&str, String)],
    ) -> anyhow::Result<Host> {
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
    pub(super) fn first_mask(&self, host: &Host, constraint: &Constraint) -> anyhow::Result<Source> {
        let resolved = self.runtime.block_on(host.client.resolve(&self.vocabulary, constraint))?;
        let mut row = vec![0; resolved.binding.mask_words()];
        let (_, fill) = host.client.first_mask(&resolved, &mut row)?;
        ensure!(fill == Fill::Masked, "the first mask is empty");
        Ok(resolved.source)
    }

    /// A bare GET of an index's object, into a file that is on the disk afterwards.
    pub(super) fn bare_get(&self, key: &IndexKey, file: &Path) -> anyhow::Result<()> {
        let object = self.names.index(key);
        let bytes = self.runtime.block_on(async { self.bucket.store.get(&object).await?.bytes().await })?;
        write_synced(file, &bytes)
    }

    /// The numbers of a host's daemon.
    pub(super) fn status(&self, host: &Host) -> anyhow::Result<Value> {
        let mut command = Command::new(&self.program);
        command.args(["status", "--json", "--server", &host.daemon.unix, "--store"]).arg(&host.store);
        let output = command.stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "gobo status: {}", output.status);
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

pub(super) struct Host {
    pub(super) store: PathBuf,
    pub(super) daemon: DaemonProcess,
    pub(super) client: Client,
}

fn write_synced(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    use std::io::Write as _;

    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    Ok(file.sync_all()?)
}

/// Runs a command to its end, quietly.
pub(super) fn finish(command: &mut Command) -> anyhow::Result<()> {
    command.env_remove("GOBO_SERVER").env_remove("GOBO_STORE").env("GOBO_LOG", "error");
    let output = command.stdin(Stdio::null()).output().context("cannot start gobo")?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// A bucket that takes connections and never answers: its address, and the environment that leads there.
pub(super) fn hanging() -> anyhow::Result<(String, [(&'static str, String); 5])> {
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
