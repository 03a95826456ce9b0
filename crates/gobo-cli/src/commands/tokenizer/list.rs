//! The vocabularies that have names: those of the store at hand, or of a daemon's.

use std::collections::BTreeSet;

use anyhow::Context;
use gobo_artifact::Vocabulary;
use gobo_client::Client;
use gobo_store::{NamedVocabulary, Store};
use gobo_tokenizer::BUILTIN;
use serde_json::{Value, json};

use super::show::{describe, describe_remote};
use crate::args::Global;
use crate::backend;
use crate::output::{self, Outcome, grouped, human_bytes};

/// Reads names and the heads of their vocabularies only. A built-in vocabulary that was never used has no numbers:
/// it would have to be built.
pub(super) fn local(global: &Global) -> anyhow::Result<Outcome> {
    let store = global.existing_store()?;
    let stored = store.as_ref().map(Store::list_names).transpose()?.unwrap_or_default();
    let names: BTreeSet<String> =
        stored.iter().cloned().chain(BUILTIN.iter().map(|&name| name.to_owned())).collect();
    let mut described = Vec::new();
    for name in names {
        described.push(match store.as_ref().filter(|_| stored.contains(&name)) {
            None => json!({"name": name, "kind": "tiktoken"}),
            Some(store) => match open_named(store, &name) {
                Ok((named, vocabulary)) => describe(&name, &named.kind, &vocabulary, &named.binding),
                // One broken name hides no other.
                Err(error) => {
                    output::note(format_args!("{error:#}"));
                    continue;
                }
            },
        });
    }
    print(global, &described)
}

/// The names of a daemon's store. Those of built-in vocabularies that it has not used are not among them.
pub(super) fn remote(global: &Global, address: &str) -> anyhow::Result<Outcome> {
    let runtime = backend::runtime()?;
    let client = Client::builder().store(global.store_dir()?).server(address).connect()?;
    let vocabularies = runtime.block_on(client.vocabularies())?;
    let described: Vec<Value> = vocabularies.iter().map(describe_remote).collect();
    print(global, &described)
}

fn print(global: &Global, described: &[Value]) -> anyhow::Result<Outcome> {
    if global.json {
        described.iter().try_for_each(output::line)?;
        return Ok(Outcome::Yes);
    }
    let rows: Vec<Vec<String>> = described.iter().map(row).collect();
    output::line(output::table(&["name", "kind", "tokens", "logits", "eos", "bos", "pad", "size"], &rows))?;
    Ok(Outcome::Yes)
}

fn row(described: &Value) -> Vec<String> {
    let text = |key: &str| described[key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str| described[key].as_u64().map_or_else(|| "-".into(), grouped);
    let ids = |key: &str| match &described[key] {
        Value::Null => "-".into(),
        ids => ids.to_string(),
    };
    let size = described["bytes"].as_u64().map_or_else(|| "built in".into(), human_bytes);
    let (tokens, logits) = (number("tokens"), number("logits_width"));
    vec![text("name"), text("kind"), tokens, logits, ids("eos"), ids("bos"), ids("pad"), size]
}

fn open_named(store: &Store, name: &str) -> anyhow::Result<(NamedVocabulary, Vocabulary)> {
    let named = store.get_name(name)?.with_context(|| format!("{name} has just been removed"))?;
    let vocabulary = store.open_vocabulary(&named.vocabulary)?;
    let vocabulary =
        vocabulary.with_context(|| format!("the vocabulary of {name} is gone\nhint: import it again"))?;
    Ok((named, vocabulary))
}
