use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use gobo_client::Credentials;
use gobo_store::Store;
use gobo_types::CompileLimits;

use super::units::{count, size};

/// Who may write to a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum StoreWriters {
    /// The user of the daemon, or of a command that works by itself
    #[default]
    Owner,
    /// The group of its folders too
    Group,
    /// Anybody
    Anyone,
}

/// What is shown to a daemon that is asked, and whom it is believed to be.
#[derive(Debug, Clone, Default, Args)]
pub struct Shown {
    /// The authorities that the daemon's certificate may come from, in PEM [default: those of the system]
    #[arg(long, global = true, env = "GOBO_CA", value_name = "FILE", help_heading = "Everywhere")]
    pub ca: Option<PathBuf>,
    /// A client certificate to show it, in PEM
    #[arg(long, global = true, env = "GOBO_CLIENT_CERT", value_name = "FILE", help_heading = "Everywhere")]
    pub client_cert: Option<PathBuf>,
    /// The private key of that certificate, in PEM
    #[arg(long, global = true, env = "GOBO_CLIENT_KEY", value_name = "FILE", help_heading = "Everywhere")]
    pub client_key: Option<PathBuf>,
    /// The name that the daemon's certificate has to have [default: the host of the address]
    #[arg(long, global = true, env = "GOBO_SERVER_NAME", value_name = "NAME", help_heading = "Everywhere")]
    pub server_name: Option<String>,
    /// A file with a token to show it
    #[arg(long, global = true, env = "GOBO_TOKEN_FILE", value_name = "FILE", help_heading = "Everywhere")]
    pub token_file: Option<PathBuf>,
}

impl Shown {
    /// The same for a client.
    pub fn credentials(&self) -> Credentials {
        Credentials {
            ca: self.ca.clone(),
            certificate: self.client_cert.clone(),
            key: self.client_key.clone(),
            server_name: self.server_name.clone(),
            token_file: self.token_file.clone(),
        }
    }
}

/// Options of all commands. A command refuses those that it has no use for.
#[derive(Debug, Clone, Default, Args)]
pub struct Global {
    /// The store: where vocabularies and indices are kept [default: $XDG_CACHE_HOME/gobo or ~/.cache/gobo]
    #[arg(long, global = true, env = "GOBO_STORE", value_name = "DIR", help_heading = "Everywhere")]
    pub store: Option<PathBuf>,
    /// Who besides root may write to the store: its owner refuses a store that others may write to
    #[arg(
        long,
        global = true,
        env = "GOBO_STORE_WRITERS",
        value_name = "WHO",
        value_enum,
        default_value_t,
        help_heading = "Everywhere"
    )]
    pub store_writers: StoreWriters,
    /// A daemon to ask: unix:PATH, https://HOST:PORT or http://HOST:PORT [default: the store's daemon.sock, if one listens there]
    #[arg(long, global = true, env = "GOBO_SERVER", value_name = "ADDR", help_heading = "Everywhere")]
    pub server: Option<String>,
    /// What is shown to it, and whom it is believed to be.
    #[command(flatten)]
    pub shown: Shown,
    /// Threads [default: 1 for one compile, all cores for check, prewarm and serve]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Everywhere")]
    pub threads: Option<u16>,
    /// Most states of any automaton: 262144, 500k, 1M [default: 262,144]
    #[arg(long, global = true, value_name = "N", value_parser = count, help_heading = "Everywhere")]
    pub max_states: Option<u64>,
    /// Most steps of one compile, 100 to 250 million a second: 500M, 4G [default: 2G]
    #[arg(long, global = true, value_name = "N", value_parser = count, help_heading = "Everywhere")]
    pub max_steps: Option<u64>,
    /// Most memory of the tables of one compile: 512MiB, 2GiB [default: 256MiB]
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, help_heading = "Everywhere")]
    pub max_bytes: Option<u64>,
    /// Print one JSON object (or one per line) instead of text
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub json: bool,
    /// The name of the command, for the error that others get while it owns the store.
    #[arg(skip)]
    pub command: &'static str,
}

impl Global {
    /// The budget of a compile: what was given, and the default of the rest.
    pub fn limits(&self) -> CompileLimits {
        let default = CompileLimits::default();
        CompileLimits {
            max_states: self.max_states.unwrap_or(default.max_states),
            max_steps: self.max_steps.unwrap_or(default.max_steps),
            max_bytes: self.max_bytes.unwrap_or(default.max_bytes),
        }
    }

    /// The threads that were given, else `default`.
    pub fn threads_or(&self, default: usize) -> usize {
        self.threads.map_or(default, usize::from)
    }

    /// The directory of the store.
    ///
    /// # Errors
    /// If none of `--store`, `GOBO_STORE`, `XDG_CACHE_HOME` and `HOME` is set.
    pub fn store_dir(&self) -> anyhow::Result<PathBuf> {
        if let Some(store) = &self.store {
            return Ok(store.clone());
        }
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set("XDG_CACHE_HOME")
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
            .map(|cache| cache.join("gobo"))
            .ok_or_else(|| anyhow!("there is no store: neither --store nor GOBO_STORE nor HOME is set"))
    }

    /// The store if it is there already; nothing is created.
    ///
    /// # Errors
    /// If the store cannot be opened.
    pub fn existing_store(&self) -> anyhow::Result<Option<Store>> {
        let dir = self.store_dir()?;
        if !dir.join("v0").is_dir() {
            return Ok(None);
        }
        Ok(Some(Store::open(dir)?))
    }
}
