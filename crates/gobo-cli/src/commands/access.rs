use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use anyhow::{Context as _, ensure};
use gobo_server::{AccessEntry, AccessFile, access_entry};
use gobo_types::Digest;
use serde_json::json;

use crate::args::{AccessCheckArgs, AccessCommand, Global, TokenArgs};
use crate::output::{self, Outcome};

pub(crate) fn run(global: &Global, command: AccessCommand) -> anyhow::Result<Outcome> {
    match command {
        AccessCommand::Token(args) => token(&args),
        AccessCommand::Check(args) => check(global, args),
    }
}

/// Random bytes that a token is made of.
const TOKEN_BYTES: usize = 32;

fn token(args: &TokenArgs) -> anyhow::Result<Outcome> {
    ensure!(
        !args.name.is_empty() && !args.name.chars().any(char::is_control),
        "a name has at least one character and no control characters"
    );
    let mut random = [0; TOKEN_BYTES];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut random))
        .context("no random bytes")?;
    let token = Digest::of(&random).to_string();
    let out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&args.out);
    let mut out = out.with_context(|| format!("cannot make {}", args.out.display()))?;
    writeln!(out, "{token}").and_then(|()| out.sync_all()).context("cannot write the token")?;
    let entry =
        AccessEntry { token: &token, name: &args.name, roles: &args.role, tenant: args.tenant.as_deref() };
    output::line(access_entry(&entry).trim_end())?;
    Ok(Outcome::Yes)
}

fn check(global: &Global, args: AccessCheckArgs) -> anyhow::Result<Outcome> {
    let [tokens, certificates, processes] = AccessFile(args.file).check()?;
    if global.json {
        output::line(json!({ "tokens": tokens, "certificates": certificates, "processes": processes }))?;
    } else {
        output::line(format_args!(
            "{tokens} tokens, {certificates} certificates, {processes} users and groups"
        ))?;
    }
    Ok(Outcome::Yes)
}
