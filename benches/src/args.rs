//! The table's command line.

use std::time::Duration;

use anyhow::{Context, bail};

use crate::contestants::NAMES;

pub const USAGE: &str = "usage: table [--peers llguidance,outlines-core] [--vocabularies o200k_base,…] \
[--only colours,…] [--rounds 9] [--bound-s 5] [--machine NAME]

--peers         whom to measure beside gobo; all unless given, none for --peers ''
--vocabularies  which of those found; all unless given
--only          which constraints; all unless given
--rounds        how often all contestants take their turn at each constraint
--bound-s       seconds after which one answer of a contestant is given up
--machine       writes the record to record/NAME/; nothing is written unless given";

/// What to run.
#[derive(Debug, Clone)]
pub struct Args {
    pub peers: Vec<String>,
    pub vocabularies: Vec<String>,
    pub only: Vec<String>,
    pub rounds: usize,
    pub bound: Duration,
    pub machine: Option<String>,
}

impl Args {
    pub fn parse(mut words: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut args = Self {
            peers: NAMES[1..].iter().map(|&name| name.into()).collect(),
            vocabularies: Vec::new(),
            only: Vec::new(),
            rounds: 9,
            bound: Duration::from_secs(5),
            machine: None,
        };
        while let Some(flag) = words.next() {
            if flag == "--help" {
                bail!(USAGE);
            }
            let value = words.next().with_context(|| format!("{flag} needs a value\n{USAGE}"))?;
            let list = || value.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            match flag.as_str() {
                "--peers" => args.peers = list(),
                "--vocabularies" => args.vocabularies = list(),
                "--only" => args.only = list(),
                "--rounds" => args.rounds = value.parse().context("--rounds takes a number")?,
                "--bound-s" => {
                    args.bound = Duration::from_secs(value.parse().context("--bound-s takes whole seconds")?);
                }
                "--machine" => args.machine = Some(value),
                _ => bail!("{flag} is unknown\n{USAGE}"),
            }
        }
        if let Some(name) = args.peers.iter().find(|name| !NAMES[1..].contains(&name.as_str())) {
            bail!("no peer is called {name}\n{USAGE}");
        }
        Ok(args)
    }
}
