//! Tokenizers: import, list, show, and verify against their sources.

mod import;
mod remove;
mod show;
mod verify;

use std::collections::BTreeSet;

use anyhow::Context;
use gobo_artifact::Vocabulary;
use gobo_engine::Existing;
use gobo_store::{NamedVocabulary, Store};
use gobo_tokenizer::{BUILTIN, ImportOptions, TokenChoice};
use serde_json::{Value, json};

use crate::args::{Global, TokenizerCommand};
use crate::output::{self, Outcome, grouped, human_bytes};

pub(crate) fn run(global: &Global, command: TokenizerCommand) -> anyhow::Result<Outcome> {
    match command {
        TokenizerCommand::Import { path, name, logits_width, special, eos, bos, pad, replace } => {
            let choice =
                |token: String| token.parse().map_or_else(|_| TokenChoice::Text(token), TokenChoice::Id);
            let eos = eos.into_iter().map(choice).collect();
            let (bos, pad) = (bos.map(choice), pad.map(choice));
            let existing = if replace { Existing::Replace } else { Existing::Keep };
            let options = ImportOptions { eos, bos, pad, logits_width, special };
            match &global.server {
                Some(address) => import::remote(global, address, &path, name, &options, existing),
                None => import::local(global, &path, name, &options, existing),
            }
        }
        TokenizerCommand::Verify { tokenizer, source } => verify::run(global, &tokenizer, source.as_deref()),
        TokenizerCommand::List => list(global),
        TokenizerCommand::Rm { name, force } => remove::run(global, &name, force),
        TokenizerCommand::Show { tokenizer } => show::show(global, &tokenizer),
    }
}

/// Reads names and the heads of their vocabularies only. A built-in vocabulary that was never used has no numbers:
/// it would have to be built.
fn list(global: &Global) -> anyhow::Result<Outcome> {
    let store = global.existing_store()?;
    let stored = store.as_ref().map(Store::list_names).transpose()?.unwrap_or_default();
    let names: BTreeSet<String> =
        stored.iter().cloned().chain(BUILTIN.iter().map(|&name| name.to_owned())).collect();
    let mut rows = Vec::new();
    for name in names {
        let described = match store.as_ref().filter(|_| stored.contains(&name)) {
            None => json!({"name": name, "kind": "tiktoken"}),
            Some(store) => match open_named(store, &name) {
                Ok((named, vocabulary)) => show::describe(&name, &named.kind, &vocabulary, &named.binding),
                // One broken name hides no other.
                Err(error) => {
                    output::note(format_args!("{error:#}"));
                    continue;
                }
            },
        };
        if global.json {
            output::line(&described)?;
            continue;
        }
        let number = |key: &str| described[key].as_u64().map_or_else(|| "-".into(), grouped);
        let ids = |key: &str| match &described[key] {
            Value::Null => "-".into(),
            ids => ids.to_string(),
        };
        let kind = described["kind"].as_str().unwrap_or_default().into();
        let size = described["bytes"].as_u64().map_or_else(|| "built in".into(), human_bytes);
        rows.push(vec![
            name,
            kind,
            number("tokens"),
            number("logits_width"),
            ids("eos"),
            ids("bos"),
            ids("pad"),
            size,
        ]);
    }
    if !global.json {
        output::line(output::table(
            &["name", "kind", "tokens", "logits", "eos", "bos", "pad", "size"],
            &rows,
        ))?;
    }
    Ok(Outcome::Yes)
}

fn open_named(store: &Store, name: &str) -> anyhow::Result<(NamedVocabulary, Vocabulary)> {
    let named = store.get_name(name)?.with_context(|| format!("{name} has just been removed"))?;
    let vocabulary = store.open_vocabulary(&named.vocabulary)?;
    let vocabulary =
        vocabulary.with_context(|| format!("the vocabulary of {name} is gone\nhint: import it again"))?;
    Ok((named, vocabulary))
}
