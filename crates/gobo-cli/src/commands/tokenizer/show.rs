//! What a vocabulary is, for a person and for a script.

use gobo_artifact::Vocabulary;
use gobo_client::{Client, VocabularyInfo};
use gobo_types::Binding;
use serde_json::{Value, json};

use crate::args::Global;
use crate::backend;
use crate::inputs::Loaded;
use crate::output::{self, Outcome, grouped, human_bytes};

/// A summary of a vocabulary. O(1).
pub(super) fn describe(name: &str, kind: &str, vocabulary: &Vocabulary, binding: &Binding) -> Value {
    let root = vocabulary.root();
    json!({
        "name": name,
        "kind": kind,
        "tokens": root.tokens,
        "vocabulary_len": root.len,
        "logits_width": binding.logits_width,
        "special": root.special,
        "eos": binding.eos,
        "bos": binding.bos,
        "pad": binding.pad,
        "canonical": vocabulary.canonical_form(),
        "digest": vocabulary.digest().to_string(),
        "bytes": vocabulary.file_bytes().len(),
    })
}

/// As [`describe`], of a vocabulary in a daemon's store.
pub(super) fn describe_remote(info: &VocabularyInfo) -> Value {
    let binding = info.binding.as_ref();
    json!({
        "name": info.name,
        "kind": info.tokenizer_kind,
        "tokens": info.tokens,
        "vocabulary_len": info.length,
        "logits_width": binding.map(|binding| binding.logits_width),
        "special": info.special,
        "eos": binding.map(|binding| &binding.eos),
        "bos": binding.and_then(|binding| binding.bos),
        "pad": binding.and_then(|binding| binding.pad),
        "canonical": info.canonical,
        "digest": info.digest.to_string(),
        "bytes": info.bytes,
    })
}

pub(super) fn remote(global: &Global, address: &str, name: &str) -> anyhow::Result<Outcome> {
    let runtime = backend::runtime()?;
    let client = Client::builder().store(global.store_dir()?).server(address).connect()?;
    print(global, &describe_remote(&runtime.block_on(client.vocabulary(name))?))?;
    Ok(Outcome::Yes)
}

pub(super) fn local(global: &Global, tokenizer: &str) -> anyhow::Result<Outcome> {
    let Loaded { name, kind, vocabulary, binding, .. } = &Loaded::open(tokenizer, global)?;
    print(global, &describe(name, kind, vocabulary, binding))?;
    Ok(Outcome::Yes)
}

pub(super) fn print(global: &Global, described: &Value) -> anyhow::Result<()> {
    if global.json {
        return output::line(described);
    }
    for (key, value) in described.as_object().into_iter().flatten() {
        let shown = match (key.as_str(), value) {
            (_, Value::Null) => "none".into(),
            (_, Value::String(text)) => text.clone(),
            ("bytes", bytes) => bytes.as_u64().map_or_else(|| bytes.to_string(), human_bytes),
            // Ids are names, and not counts.
            ("eos" | "bos" | "pad", ids) => ids.to_string(),
            (_, count) => count.as_u64().map_or_else(|| count.to_string(), grouped),
        };
        output::line(format_args!("{key:<15} {shown}"))?;
    }
    Ok(())
}
