//! The command line of the schema benchmark.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

pub const USAGE: &str =
    "usage: schema [--every 1] [--only Github_easy,…] [--rounds 3] [--bound-s 5] [--machine NAME] \
[--output FOLDER]

--every    takes every Nth schema of the corpus
--only     which files of the corpus; all unless given
--rounds   how often both take their turn at each schema
--bound-s  seconds after which one answer of a contestant is given up
--machine  names the machine, and writes the record to record/NAME/ unless --output is given
--output   writes the record to this folder; nothing is written without this and --machine";

/// What to run.
#[derive(Debug, Clone)]
pub struct Args {
    pub every: usize,
    pub only: Vec<String>,
    pub rounds: usize,
    pub bound: Duration,
    pub machine: Option<String>,
    pub output: Option<PathBuf>,
}

impl Args {
    pub fn parse(mut words: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut args = Self {
            every: 1,
            only: Vec::new(),
            rounds: 3,
            bound: Duration::from_secs(5),
            machine: None,
            output: None,
        };
        while let Some(flag) = words.next() {
            if flag == "--help" {
                bail!(USAGE);
            }
            let value = words.next().with_context(|| format!("{flag} needs a value\n{USAGE}"))?;
            match flag.as_str() {
                "--every" => args.every = value.parse().context("--every takes a number")?,
                "--only" => args.only = value.split(',').map(str::to_owned).collect(),
                "--rounds" => args.rounds = value.parse().context("--rounds takes a number")?,
                "--bound-s" => {
                    args.bound = Duration::from_secs(value.parse().context("--bound-s takes whole seconds")?);
                }
                "--machine" => args.machine = Some(value),
                "--output" => args.output = Some(value.into()),
                _ => bail!("{flag} is unknown\n{USAGE}"),
            }
        }
        if args.every == 0 || args.rounds == 0 {
            bail!("--every and --rounds are at least 1\n{USAGE}");
        }
        Ok(args)
    }

    /// Where the record goes, if anywhere.
    pub fn folder(&self) -> Option<PathBuf> {
        let records = || Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
        let of_machine = || self.machine.as_ref().map(|machine| records().join(machine));
        self.output.clone().or_else(of_machine)
    }
}
