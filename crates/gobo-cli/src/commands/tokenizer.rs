use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use gobo_store::Store;
use gobo_tokenizer::{BUILTIN, Encoder, ImportOptions, RoundTrip, TokenChoice};
use serde_json::{Value, json};

use crate::args::{Global, TokenizerCommand};
use crate::backend;
use crate::output::{self, Outcome, grouped, human_bytes};
use crate::vocabulary::Loaded;

pub(crate) fn run(global: &Global, command: TokenizerCommand) -> anyhow::Result<Outcome> {
    match command {
        TokenizerCommand::Import { path, name, logits_width, special, eos, bos, pad } => {
            let choice =
                |token: String| token.parse().map_or_else(|_| TokenChoice::Text(token), TokenChoice::Id);
            let eos = eos.into_iter().map(choice).collect();
            let (bos, pad) = (bos.map(choice), pad.map(choice));
            import(global, &path, name, &ImportOptions { eos, bos, pad, logits_width, special })
        }
        TokenizerCommand::Verify { tokenizer, source } => verify(global, &tokenizer, source.as_deref()),
        TokenizerCommand::List => list(global),
        TokenizerCommand::Show { tokenizer } => {
            print(global, &describe(&Loaded::open(&tokenizer, global)?))?;
            Ok(Outcome::Yes)
        }
    }
}

fn describe(loaded: &Loaded) -> Value {
    let root = loaded.vocabulary.root();
    json!({
        "name": loaded.name,
        "kind": loaded.kind,
        "tokens": root.tokens,
        "vocabulary_len": root.len,
        "logits_width": loaded.binding.logits_width,
        "special": root.special,
        "eos": loaded.binding.eos,
        "bos": loaded.binding.bos,
        "pad": loaded.binding.pad,
        "digest": loaded.vocabulary.digest().to_string(),
        "bytes": loaded.vocabulary.file_bytes().len(),
    })
}

fn print(global: &Global, described: &Value) -> anyhow::Result<()> {
    if global.json {
        return output::line(described);
    }
    for (key, value) in described.as_object().into_iter().flatten() {
        let shown =
            value.as_u64().map_or_else(|| value.as_str().map_or(value.to_string(), Into::into), grouped);
        output::line(format_args!("{key:<15} {shown}"))?;
    }
    Ok(())
}

fn import(
    global: &Global,
    path: &Path,
    name: Option<String>,
    options: &ImportOptions,
) -> anyhow::Result<Outcome> {
    let store = Store::open(global.store_dir()?)?;
    let name = backend::import(&store, path, name, options)?;
    print(global, &describe(&Loaded::open(&name, global)?))?;
    Ok(Outcome::Yes)
}

/// Most mismatches shown to a person; with `--json` all are.
const MISMATCHES_SHOWN: usize = 10;

fn verify(global: &Global, tokenizer: &str, source: Option<&Path>) -> anyhow::Result<Outcome> {
    let loaded = Loaded::open(tokenizer, global)?;
    let encoder = match source {
        Some(path) => Some(Encoder::open(path)?),
        None => loaded.encoder()?,
    };
    let encoder = encoder.context("its source is not known here\nhint: --source FILE")?;
    let vocabulary = &loaded.vocabulary;
    let found = encoder.conformance(vocabulary.len(), |id| loaded.ordinary_bytes(id))?;
    let spellable = &vocabulary.root().spellable;
    let unspellable: Vec<usize> =
        (0..256).filter(|byte| spellable[byte >> 5] >> (byte & 31) & 1 == 0).collect();
    let special: Vec<u32> = (0..vocabulary.len()).filter(|&id| vocabulary.is_special(id)).collect();
    let name = |id: u32| String::from_utf8_lossy(vocabulary.bytes(id)).into_owned();
    let trips =
        |wanted| found.round_trips.iter().filter(move |(_, trip)| **trip == wanted).map(|(name, _)| *name);
    let (lossy, lost): (Vec<&str>, Vec<&str>) =
        (trips(RoundTrip::SourceLossy).collect(), trips(RoundTrip::Lost).collect());
    let outcome = if found.passes() { Outcome::Yes } else { Outcome::No };
    if global.json {
        let mismatches: Vec<Value> = found
            .mismatches
            .iter()
            .map(|at| json!({"id": at.id, "ours": at.ours, "theirs": at.theirs}))
            .collect();
        output::line(json!({
            "name": loaded.name, "passes": found.passes(), "compared": found.compared, "mismatches": mismatches,
            "round_trips": found.round_trips.len(), "lossy": lossy, "lost": lost, "unspellable": unspellable,
            "eos": loaded.binding.eos, "special": special,
        }))?;
        return Ok(outcome);
    }
    let count = |n: usize| grouped(n as u64);
    output::line(format_args!(
        "token bytes   {} compared with the source's decoder, {} differ",
        grouped(found.compared.into()),
        count(found.mismatches.len())
    ))?;
    for at in found.mismatches.iter().take(MISMATCHES_SHOWN) {
        output::line(format_args!("  {:>8}  {:?}, by the decoder {:?}", at.id, at.ours, at.theirs))?;
    }
    output::line(format_args!(
        "round trips   {} texts: {} lost, {} not kept by the source itself",
        found.round_trips.len(),
        lost.len(),
        lossy.len()
    ))?;
    for (why, names) in [("lost", &lost), ("lossy source", &lossy)] {
        if !names.is_empty() {
            output::line(format_args!("  {why}: {}", names.join(", ")))?;
        }
    }
    let bytes: Vec<String> = unspellable.iter().map(|byte| format!("{byte:02x}")).collect();
    output::line(format_args!("bytes         {} of 256 can be written", 256 - unspellable.len()))?;
    if !bytes.is_empty() {
        output::line(format_args!("  not: {}", bytes.join(" ")))?;
    }
    let eos: Vec<String> = loaded.binding.eos.iter().map(|&id| format!("{id} {:?}", name(id))).collect();
    output::line(format_args!(
        "eos           {}",
        if eos.is_empty() { "none".into() } else { eos.join(", ") }
    ))?;
    let shown: Vec<String> = special.iter().take(8).map(|&id| format!("{id} {:?}", name(id))).collect();
    let more = if special.len() > shown.len() { ", …" } else { "" };
    output::line(format_args!("special       {}: {}{more}", count(special.len()), shown.join(", ")))?;
    output::line(if found.passes() { "passes" } else { "DOES NOT PASS" })?;
    Ok(outcome)
}

fn list(global: &Global) -> anyhow::Result<Outcome> {
    let stored = global.existing_store()?.map(|store| store.list_names()).transpose()?.unwrap_or_default();
    let names: BTreeSet<String> = stored.into_iter().chain(BUILTIN.map(Into::into)).collect();
    let mut rows = Vec::new();
    for name in names {
        let described = describe(&Loaded::open(&name, global)?);
        if global.json {
            output::line(&described)?;
            continue;
        }
        let number = |key: &str| described[key].as_u64().unwrap_or_default();
        rows.push(vec![
            name,
            described["kind"].as_str().unwrap_or_default().into(),
            grouped(number("tokens")),
            grouped(number("logits_width")),
            described["eos"].to_string(),
            human_bytes(number("bytes")),
        ]);
    }
    if !global.json {
        output::line(output::table(&["name", "kind", "tokens", "logits", "eos", "size"], &rows))?;
    }
    Ok(Outcome::Yes)
}
