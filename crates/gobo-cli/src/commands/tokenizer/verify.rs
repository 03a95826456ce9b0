//! A vocabulary beside its source, for a person to read and trust.
use std::collections::HashSet;
use std::path::Path;

use anyhow::Context;
use gobo_artifact::Vocabulary;
use gobo_tokenizer::{Conformance, Encoder, RoundTrip};
use gobo_types::ByteSet;
use serde_json::{Value, json};

use crate::args::Global;
use crate::inputs::Loaded;
use crate::output::{self, Outcome, grouped};

/// Most mismatches shown to a person; with `--json` all are.
const MISMATCHES_SHOWN: usize = 10;

/// Most ranges of ids shown to a person; with `--json` all ids are.
const RANGES_SHOWN: usize = 12;

pub(crate) fn run(global: &Global, tokenizer: &str, source: Option<&Path>) -> anyhow::Result<Outcome> {
    let loaded = Loaded::open(tokenizer, global)?;
    let encoder = match source {
        Some(path) => Some(Encoder::open(path)?),
        None => {
            loaded.encoder().context("its source cannot be used\nhint: --source FILE, if it has moved")?
        }
    };
    let encoder = encoder.context("its source is not known here\nhint: --source FILE")?;
    let source = source.map_or_else(|| loaded.source_name(), |path| path.display().to_string());
    let found = encoder.conformance(loaded.vocabulary.len(), |id| loaded.ordinary_bytes(id))?;
    let contents = Contents::of(&loaded.vocabulary);
    if global.json {
        output::line(as_json(&loaded, &source, encoder.judge(), &found, &contents))?;
    } else {
        write_verified(&loaded, &source, encoder.judge(), &found, &contents)?;
    }
    Ok(if found.passes() { Outcome::Yes } else { Outcome::No })
}

/// Ids and bytes of a vocabulary by what is peculiar to them.
struct Contents {
    /// Without bytes: no token, or one without a text of its own.
    holes: Vec<u32>,
    special: Vec<u32>,
    /// Ordinary ids that are not the first with their bytes.
    duplicates: Vec<u32>,
    /// Bytes that no ordinary token contains.
    unspellable: Vec<u8>,
    /// Bytes that are in ordinary tokens, and not one by themselves.
    only_inside: Vec<u8>,
}

impl Contents {
    fn of(vocabulary: &Vocabulary) -> Self {
        let ids = || 0..vocabulary.len();
        let is_hole = |id: &u32| vocabulary.bytes(*id).is_empty();
        let mut seen = HashSet::new();
        let ordinary = ids().filter(|id| !is_hole(id) && !vocabulary.is_special(*id));
        let duplicates = ordinary.filter(|&id| !seen.insert(vocabulary.bytes(id))).collect();
        let root = vocabulary.root();
        let has = |set: &[u32; 8], byte: u8| ByteSet::from_words(*set).contains(byte);
        let bytes = || 0..=255_u8;
        Self {
            holes: ids().filter(|id| is_hole(id) && !vocabulary.is_special(*id)).collect(),
            special: ids().filter(|&id| vocabulary.is_special(id)).collect(),
            duplicates,
            unspellable: bytes().filter(|&byte| !has(&root.spellable, byte)).collect(),
            only_inside: bytes()
                .filter(|&byte| has(&root.spellable, byte) && !has(&root.single, byte))
                .collect(),
        }
    }
}

/// The texts of the corpus that went in the way that is `wanted`.
fn trips(found: &Conformance, wanted: RoundTrip) -> Vec<&'static str> {
    found.round_trips.iter().filter(|(_, trip)| **trip == wanted).map(|(name, _)| *name).collect()
}

fn as_json(loaded: &Loaded, source: &str, judge: &str, found: &Conformance, contents: &Contents) -> Value {
    let mismatches: Vec<Value> = found
        .mismatches
        .iter()
        .map(|at| json!({"id": at.id, "ours": at.ours, "theirs": at.theirs}))
        .collect();
    json!({
        "name": loaded.name, "kind": loaded.kind, "source": source, "judge": judge,
        "digest": loaded.vocabulary.digest().to_string(), "passes": found.passes(),
        "compared": found.compared, "as_replacement": found.as_replacement, "beside": found.beside,
        "mismatches": mismatches, "round_trips": found.round_trips.len(),
        "lossy": trips(found, RoundTrip::SourceLossy), "lost": trips(found, RoundTrip::Lost),
        "unspellable": contents.unspellable, "only_inside": contents.only_inside,
        "eos": loaded.binding.eos, "bos": loaded.binding.bos, "pad": loaded.binding.pad,
        "special": contents.special, "holes": contents.holes, "duplicates": contents.duplicates,
    })
}

fn write_verified(
    loaded: &Loaded,
    source: &str,
    judge: &str,
    found: &Conformance,
    contents: &Contents,
) -> anyhow::Result<()> {
    let ids = grouped(loaded.vocabulary.len().into());
    line("vocabulary", &format!("{} ({}), {ids} ids", loaded.name, loaded.kind))?;
    line("source", source)?;
    line("decoder", judge)?;
    write_found(found)?;
    write_contents(loaded, contents)?;
    output::line(if found.passes() { "passes" } else { "DOES NOT PASS" })
}

fn line(about: &str, text: &str) -> anyhow::Result<()> {
    output::line(format!("{about:<12}  {text}").trim_end())
}

fn count(n: usize) -> String {
    grouped(n as u64)
}

/// Writes the result of the comparison with the source.
fn write_found(found: &Conformance) -> anyhow::Result<()> {
    let compared = grouped(found.compared.into());
    let differ = count(found.mismatches.len());
    line("token bytes", &format!("{compared} ids compared with what the decoder writes, {differ} differ"))?;
    for at in found.mismatches.iter().take(MISMATCHES_SHOWN) {
        line("", &format!("{}: {:?}, by the decoder {:?}", at.id, at.ours, at.theirs))?;
    }
    if found.mismatches.len() > MISMATCHES_SHOWN {
        line("", &format!("and {} more", count(found.mismatches.len() - MISMATCHES_SHOWN)))?;
    }
    if found.compared == 0 {
        line("", "no token is a letter, after which the others could be decoded")?;
    }
    if found.as_replacement > 0 {
        let parts = grouped(found.as_replacement.into());
        let why = "no single-byte tokens make them whole characters";
        line("", &format!("{parts} of them as U+FFFD only: {why}"))?;
    }
    if found.beside > 0 {
        let beside = grouped(found.beside.into());
        line("", &format!("{beside} more are in tokenizer_config.json alone: no decoder to compare with"))?;
    }
    let (kept, lost) = (trips(found, RoundTrip::Equal), trips(found, RoundTrip::Lost));
    let lossy = trips(found, RoundTrip::SourceLossy);
    let counts = [found.round_trips.len(), kept.len(), lost.len(), lossy.len()];
    let [texts, kept_texts, lost_texts, lossy_texts] = counts;
    let lossy_texts = format!("{lossy_texts} that the source itself does not give back");
    line("round trips", &format!("{texts} texts: {kept_texts} kept, {lost_texts} lost, {lossy_texts}"))?;
    for (about, names) in [("kept", kept), ("LOST", lost), ("not given back", lossy)] {
        if !names.is_empty() {
            line("", &format!("{about}: {}", names.join(", ")))?;
        }
    }
    Ok(())
}

/// Writes the contents of the vocabulary, and how its name uses it.
fn write_contents(loaded: &Loaded, contents: &Contents) -> anyhow::Result<()> {
    let Contents { unspellable, only_inside, .. } = contents;
    let spellable = 256 - unspellable.len();
    let alone = spellable - only_inside.len();
    line("bytes", &format!("{spellable} of 256 are in tokens, {alone} are a token by themselves"))?;
    for (about, bytes) in [("unspellable", unspellable), ("only in longer tokens", only_inside)] {
        if !bytes.is_empty() {
            let bytes: Vec<u32> = bytes.iter().map(|&byte| byte.into()).collect();
            line("", &format!("{about}: {}", ranges(&bytes, usize::MAX, |byte| format!("{byte:02x}"))))?;
        }
    }
    let named = |id: &u32| match loaded.vocabulary.bytes(*id) {
        [] => format!("{id} (no text)"),
        bytes => format!("{id} {:?}", String::from_utf8_lossy(bytes)),
    };
    let binding = &loaded.binding;
    for (role, ids) in
        [("eos", binding.eos.as_slice()), ("bos", binding.bos.as_slice()), ("pad", binding.pad.as_slice())]
    {
        let named: Vec<String> = ids.iter().map(named).collect();
        line(role, &if named.is_empty() { "none".into() } else { named.join(", ") })?;
    }
    for (about, ids, which) in [
        ("special", &contents.special, "never spelled"),
        ("holes", &contents.holes, "without text"),
        ("duplicates", &contents.duplicates, "with the bytes of a lower id"),
    ] {
        let listed = ranges(ids, RANGES_SHOWN, |id| id.to_string());
        let separator = if ids.is_empty() { "" } else { ": " };
        line(about, &format!("{} ids {which}{separator}{listed}", count(ids.len())))?;
        if about == "special" && !ids.is_empty() {
            let names: Vec<String> = ids.iter().take(RANGES_SHOWN).map(named).collect();
            let more = if ids.len() > names.len() { ", …" } else { "" };
            line("", &format!("{}{more}", names.join(", ")))?;
        }
    }
    Ok(())
}

/// Ascending numbers, each run by its ends, and at most `most` runs.
fn ranges(numbers: &[u32], most: usize, shown: impl Fn(u32) -> String) -> String {
    let runs: Vec<&[u32]> = numbers.chunk_by(|a, b| a + 1 == *b).collect();
    let mut parts: Vec<String> = runs
        .iter()
        .take(most)
        .map(|run| match run {
            [first, .., last] => format!("{}-{}", shown(*first), shown(*last)),
            only => only.iter().map(|number| shown(*number)).collect(),
        })
        .collect();
    if runs.len() > most {
        parts.push("…".into());
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers_are_shown_by_their_ends() {
        let shown = |numbers: &[u32], most| ranges(numbers, most, |number| number.to_string());
        assert_eq!(shown(&[], 3), "");
        assert_eq!(shown(&[0, 1, 2, 5, 7, 8], 3), "0-2, 5, 7-8");
        assert_eq!(shown(&[0, 1, 2, 5, 7, 8], 2), "0-2, 5, …");
    }
}
