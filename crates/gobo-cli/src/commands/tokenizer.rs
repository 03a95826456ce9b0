use std::collections::BTreeSet;
use std::path::Path;

use gobo_store::Store;
use gobo_tokenizer::{BUILTIN, EosChoice, ImportOptions};
use serde_json::{Value, json};

use crate::args::{Global, TokenizerCommand};
use crate::backend;
use crate::output::{self, Outcome, grouped, human_bytes};
use crate::vocabulary::Loaded;

pub(crate) fn run(global: &Global, command: TokenizerCommand) -> anyhow::Result<Outcome> {
    match command {
        TokenizerCommand::Import { path, name, logits_width, eos } => {
            import(global, &path, name, logits_width, &eos)
        }
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
    logits_width: Option<u32>,
    eos: &[String],
) -> anyhow::Result<Outcome> {
    let eos = eos
        .iter()
        .map(|eos| eos.parse().map_or_else(|_| EosChoice::Text(eos.clone()), EosChoice::Id))
        .collect();
    let options = ImportOptions { eos, logits_width, ..ImportOptions::default() };
    let store = Store::open(global.store_dir()?)?;
    let name = backend::import(&store, path, name, &options)?;
    print(global, &describe(&Loaded::open(&name, global)?))?;
    Ok(Outcome::Yes)
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
