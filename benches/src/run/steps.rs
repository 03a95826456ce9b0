//! What decoding costs: masks and advances along texts, and opening a file.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use gobo_artifact::Vocabulary;

use super::{ALL, Peer};
use crate::ask::{Answer, Ask, Sequence};
use crate::compare;
use crate::record::Record;
use crate::spread::Spread;
use crate::vocabularies::Source;

/// Warm rounds over the texts of one constraint.
const ROUNDS: usize = 50;
/// An ask in which a contestant compiles once and then only steps.
pub(super) const STEPPING: Duration = Duration::from_secs(30);

/// The ordinary tokens by their bytes.
pub struct Tokens<'a> {
    ids: HashMap<&'a [u8], u32>,
    longest: usize,
}

impl<'a> Tokens<'a> {
    pub fn of(vocabulary: &'a Vocabulary) -> Self {
        let ordinary = (0..vocabulary.len()).filter(|&id| !vocabulary.is_special(id));
        let ids =
            ordinary.map(|id| (vocabulary.bytes(id), id)).filter(|(bytes, _)| !bytes.is_empty()).collect();
        Self { ids, longest: vocabulary.root().longest_token_bytes as usize }
    }

    /// The text in tokens, always the longest that fits. Whatever the constraint, each of them is allowed: what is left
    /// of an accepted text can be written.
    pub fn greedy(&self, text: &str) -> Vec<u32> {
        let (mut rest, mut tokens) = (text.as_bytes(), Vec::new());
        while !rest.is_empty() {
            let lengths = (1..=rest.len().min(self.longest)).rev();
            let fitting = lengths.filter_map(|len| Some((len, *self.ids.get(&rest[..len])?)));
            let (len, id) = fitting.take(1).next().expect("every byte of the texts is a token");
            tokens.push(id);
            rest = &rest[len..];
        }
        tokens
    }
}

pub(super) fn push(
    record: &mut Record,
    at: (&str, &str, &str),
    prefix: &str,
    answer: Result<Answer, String>,
) {
    match answer {
        Ok(answer) => {
            for (measure, samples) in &answer.samples {
                let figure = Spread::of(samples).ok_or_else(|| "no samples".to_owned());
                record.push(at, &format!("{prefix}{measure}"), figure);
            }
            for (fact, value) in &answer.facts {
                record.push(at, &format!("{prefix}{fact}"), Ok(Spread::exact(*value)));
            }
        }
        Err(reason) => record.push(at, &format!("{prefix}error"), Err(reason)),
    }
}

/// Each contestant along the texts, in turns; only those that compile the constraint. What an advance costs in each
/// text is also added to `advances`.
pub fn walk(
    peers: &mut [Peer],
    source: &Source,
    sequence: &Sequence,
    record: &mut Record,
    advances: &mut BTreeMap<&'static str, Vec<f64>>,
) {
    for peer in peers {
        let at = (&*source.name, &*sequence.case.name, peer.name());
        if record.get(at, "compile_ns").is_some() {
            let ask = Ask::Walk { sequence: sequence.clone(), rounds: ROUNDS };
            let answer = peer.ask_within(&ask, STEPPING);
            let samples = answer.as_ref().ok().and_then(|answer| answer.samples.get("advance_ns"));
            advances.entry(peer.name()).or_default().extend(samples.into_iter().flatten());
            push(record, at, "walk_", answer);
        }
    }
}

/// gobo's masks against those of each peer on the very same regular expression.
pub fn masks(
    peers: &mut [Peer],
    source: &Source,
    vocabulary: &Vocabulary,
    sequence: &Sequence,
    record: &mut Record,
) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let sequence = Sequence { case: sequence.case.as_regex(), ..sequence.clone() };
    let mut written = Vec::new();
    for peer in peers {
        let at = (&*source.name, &*sequence.case.name, peer.name());
        let to = folder.path().join(peer.name());
        if record.get(at, "compile_ns").is_some() {
            match peer.ask_within(&Ask::Masks { sequence: sequence.clone(), to: to.clone() }, STEPPING) {
                Ok(_) => written.push((peer.name(), to)),
                Err(reason) => record.push(at, "masks", Err(reason)),
            }
        }
    }
    let Some((("gobo", own), others)) = written.split_first().map(|((name, to), rest)| ((*name, to), rest))
    else {
        return Ok(());
    };
    for (name, to) in others {
        let at = (&*source.name, &*sequence.case.name, *name);
        // outlines-core knows one EOS.
        let ignored =
            if *name == "outlines-core" { source.binding.eos.get(1..).unwrap_or_default() } else { &[] };
        let difference = compare::masks(own, to, vocabulary, &sequence.texts, ignored)?;
        for (measure, count) in [
            ("masks_compared", difference.masks),
            ("masks_different", difference.different_masks),
            ("bits_only_gobo", difference.only_gobo),
            ("bits_only_peer", difference.only_peer),
        ] {
            record.push(at, measure, Ok(Spread::exact(count as f64)));
        }
        if let Some(example) = difference.example {
            record.push(at, "masks_example", Err(example));
        }
    }
    Ok(())
}

/// gobo's fills beside copies of the same rows: each constraint alone, and all at once as a batch of strangers.
pub fn beside_copies(gobo: &mut Peer, source: &Source, sequences: &[Sequence], record: &mut Record) {
    let alone = sequences.chunks(1).map(|one| (one[0].case.name.as_str(), one));
    for (name, sequences) in alone.chain([(ALL, sequences)]) {
        let ask = Ask::FillBesideCopy { sequences: sequences.to_vec(), rounds: ROUNDS };
        push(record, (&source.name, name, "gobo"), "copy_", gobo.ask_within(&ask, STEPPING));
    }
}

/// The smallest and the largest file, opened to their first mask.
pub fn open(gobo: &mut Peer, source: &Source, sequences: &[Sequence], record: &mut Record) {
    let size = |sequence: &Sequence| {
        record.get((&source.name, &sequence.case.name, "gobo"), "file_bytes").map_or(0.0, |size| size.p50)
    };
    let mut by_size: Vec<&Sequence> = sequences.iter().collect();
    by_size.sort_by(|a, b| size(a).total_cmp(&size(b)));
    let ends = [by_size.first(), by_size.last()];
    let sizes = ends.map(|end| end.map_or(0.0, |sequence| size(sequence)));
    for ((end, bytes), name) in ends.into_iter().zip(sizes).zip(["smallest_file", "largest_file"]) {
        let Some(sequence) = end else { continue };
        let at = (&*source.name, name, "gobo");
        record.push(at, "file_bytes", Ok(Spread::exact(bytes)));
        let ask = Ask::Open { case: sequence.case.clone(), samples: 1000 };
        push(record, at, "", gobo.ask_within(&ask, STEPPING));
    }
}
