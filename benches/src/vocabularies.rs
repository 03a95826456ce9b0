//! The vocabularies that everything is measured over: gobo's files, from which the peers take their tokens too.

use std::path::{Path, PathBuf};

use anyhow::Context;
use gobo_artifact::Vocabulary;
use gobo_tokenizer::{ImportOptions, Imported};
use gobo_types::Binding;
use serde::{Deserialize, Serialize};

/// Those of the targets.
const WANTED: [&str; 4] = ["o200k_base", "gemma", "llama-3.1", "qwen2.5"];
/// Those that need no data.
const BUILT_IN: [&str; 2] = ["o200k_base", "cl100k_base"];

/// A vocabulary file and the binding of its name: all that a contestant is given.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Source {
    pub name: String,
    pub file: PathBuf,
    pub binding: Binding,
}

impl Source {
    pub fn open(&self) -> anyhow::Result<Vocabulary> {
        Ok(Vocabulary::open(&self.file)?)
    }

    fn write(name: &str, imported: Imported, folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join(format!("{name}.gobov"));
        std::fs::write(&file, imported.table.build()?)?;
        Ok(Self { name: name.into(), file, binding: Binding::new(imported.eos, imported.logits_width) })
    }

    /// One of the vocabularies that are compiled in.
    pub fn built_in(name: &str, folder: &Path) -> anyhow::Result<Self> {
        Self::write(name, gobo_tokenizer::builtin(name).context("not a built-in name")?, folder)
    }
}

/// `GOBO_DATA`, else `shared/data` beside the repository.
pub fn data() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    std::env::var_os("GOBO_DATA").map_or_else(beside, PathBuf::from)
}

/// Imports what is there and is asked for (all, if `only` is empty) into files in `folder`.
pub fn load(only: &[String], folder: &Path) -> anyhow::Result<Vec<Source>> {
    let asked = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
    let tokenizer = |name: &str| data().join("tokenizers").join(name).join("tokenizer.json");
    let found: Vec<&str> = WANTED.into_iter().filter(|name| tokenizer(name).is_file()).collect();
    if found.is_empty() {
        eprintln!("!!! no tokenizers in {}: BUILT-IN VOCABULARIES ONLY; set GOBO_DATA", data().display());
        let names = BUILT_IN.into_iter().filter(|name| asked(name));
        return names.map(|name| Source::built_in(name, folder)).collect();
    }
    for name in WANTED.iter().filter(|name| !found.contains(name)) {
        eprintln!("!!! {name} IS NOT MEASURED: {} is not there", tokenizer(name).display());
    }
    let import = |name| {
        let imported = gobo_tokenizer::import(&tokenizer(name), &ImportOptions::default());
        Source::write(name, imported.with_context(|| format!("importing {name}"))?, folder)
    };
    found.into_iter().filter(|name| asked(name)).map(import).collect()
}
