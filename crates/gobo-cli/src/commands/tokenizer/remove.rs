//! Removes a name, and the vocabulary that nothing else needs.
use anyhow::{Context, bail};
use gobo_artifact::Index;
use gobo_artifact::file::{Links, OpenRegular};
use gobo_store::{Store, StoreError};
use gobo_types::VocabularyDigest;
use serde_json::json;

use crate::args::Global;
use crate::inputs::unknown_tokenizer;
use crate::output::{self, Outcome, grouped};

pub(crate) fn run(global: &Global, name: &str, force: bool) -> anyhow::Result<Outcome> {
    let store = global.existing_store()?.context("there is no store")?;
    let digest = match store.get_name(name) {
        Ok(Some(named)) => Some(named.vocabulary),
        Ok(None) if gobo_tokenizer::BUILTIN.contains(&name) => {
            bail!("{name} is built in, and has not been used with this store")
        }
        Ok(None) => return Err(unknown_tokenizer(name, Some(&store))),
        // Nobody can tell what it stood for.
        Err(StoreError::BrokenName { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let needs = digest.map(|digest| Needs::of(&store, name, digest)).transpose()?.unwrap_or_default();
    if needs.indices > 0 && needs.names.is_empty() && !force {
        bail!(
            "{} indices in the store are for the vocabulary of {name}, which has no other name\n\
             hint: --force removes the name alone; the indices and the vocabulary's file stay",
            grouped(needs.indices)
        );
    }
    store.remove_name(name)?;
    let is_needed = needs.indices > 0 || !needs.names.is_empty();
    let removed = match digest {
        Some(digest) if !is_needed => store.remove_vocabulary(&digest)?,
        _ => false,
    };
    if global.json {
        output::line(json!({
            "name": name, "vocabulary_digest": digest.map(|digest| digest.to_string()),
            "vocabulary_removed": removed, "indices": needs.indices, "other_names": needs.names,
        }))?;
    } else {
        output::line(format_args!("{name} removed{}", needs.shown(removed)))?;
    }
    Ok(Outcome::Yes)
}

/// What needs a vocabulary besides the name in question.
#[derive(Debug, Default)]
struct Needs {
    names: Vec<String>,
    indices: u64,
}

impl Needs {
    fn of(store: &Store, name: &str, digest: VocabularyDigest) -> anyhow::Result<Self> {
        let mut needs = Self::default();
        for other in store.list_names()?.into_iter().filter(|other| other != name) {
            if store.get_name(&other).is_ok_and(|named| named.is_some_and(|named| named.vocabulary == digest))
            {
                needs.names.push(other);
            }
        }
        for file in store.scan_indices() {
            let file = file?;
            let opened = OpenRegular::new(Links::Refuse).unnoticed().open(&file.path).ok();
            let index = opened.and_then(|opened| Index::open_file(&opened, &file.path).ok());
            needs.indices += u64::from(index.is_some_and(|index| index.vocabulary_digest() == digest));
        }
        Ok(needs)
    }

    /// The rest of the sentence that says what stays.
    fn shown(&self, is_removed: bool) -> String {
        let indices = grouped(self.indices);
        match (is_removed, &self.names[..], self.indices) {
            (true, ..) => ", and its vocabulary".to_owned(),
            (false, [], 0) => String::new(),
            (false, [], _) => format!("; its vocabulary stays, for {indices} indices"),
            (false, names, _) => format!("; its vocabulary stays: it is also called {}", names.join(", ")),
        }
    }
}
