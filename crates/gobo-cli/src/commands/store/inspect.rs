use std::path::Path;

use gobo_artifact::layout::Artifact;
use gobo_artifact::{ArtifactError, Fault, Index, Vocabulary};
use gobo_types::{COMPILER_EPOCH, Digest, FORMAT_EPOCH, Report};
use serde_json::{Value, json};

use crate::args::Global;
use crate::commands::report::print_report;
use crate::inputs::{advised, index_file};
use crate::output::{self, Outcome, grouped, human_bytes};

/// Either kind of artifact.
pub(crate) enum AnyArtifact {
    Index(Index),
    Vocabulary(Vocabulary),
}

impl AnyArtifact {
    pub(crate) fn open(file: &Path) -> Result<Self, ArtifactError> {
        match Index::open(file) {
            Err(ArtifactError::Format { fault: Fault::Kind { .. }, .. }) => {
                Vocabulary::open(file).map(Self::Vocabulary)
            }
            other => other.map(Self::Index),
        }
    }

    pub(crate) fn artifact(&self) -> &Artifact {
        match self {
            Self::Index(index) => index.artifact(),
            Self::Vocabulary(vocabulary) => vocabulary.artifact(),
        }
    }

    pub(crate) fn verify(&self) -> Result<(), ArtifactError> {
        match self {
            Self::Index(index) => index.verify(),
            Self::Vocabulary(vocabulary) => vocabulary.verify(),
        }
    }

    fn header(&self) -> Result<Vec<(&'static str, Value)>, ArtifactError> {
        let mut header =
            vec![("format_version", json!(FORMAT_EPOCH)), ("bytes", json!(self.artifact().bytes().len()))];
        match self {
            Self::Index(index) => {
                let root = index.root();
                header.extend([
                    ("kind", json!("index")),
                    ("index_key", json!(index.key().to_string())),
                    ("vocabulary_digest", json!(index.vocabulary_digest().to_string())),
                    ("constraint_digest", json!(index.constraint_digest().to_string())),
                    ("constraint_kind", json!(index.constraint_kind())),
                    ("constraint", json!(index.constraint_text())),
                    ("class", json!(index.class().name())),
                    ("compiler_epoch", json!(root.compiler_epoch)),
                    ("vocabulary_len", json!(root.vocabulary_len)),
                    ("states", json!(index.states() - 1)),
                    ("byte_classes", json!(root.classes)),
                    ("rows", json!(root.row_computations)),
                    ("distinct_rows", json!(root.rows)),
                ]);
                if let Some(calls) = index.call_root()? {
                    let (classes, pairs) = index.pair_counts();
                    header.extend([
                        ("return_states", json!(calls.returns.len())),
                        ("return_classes", json!(classes)),
                        ("pairs", json!(pairs)),
                        ("push_depth", json!(calls.push_depth)),
                        // No number where there is no bound.
                        ("pop_depth", json!(calls.pop_depth)),
                    ]);
                }
            }
            Self::Vocabulary(vocabulary) => {
                let root = vocabulary.root();
                header.extend([
                    ("kind", json!("vocabulary")),
                    ("vocabulary_digest", json!(vocabulary.digest().to_string())),
                    ("vocabulary_len", json!(root.len)),
                    ("tokens", json!(root.tokens)),
                    ("special", json!(root.special)),
                    ("longest_token_bytes", json!(root.longest_token_bytes)),
                    ("trie_nodes", json!(root.trie_nodes)),
                ]);
            }
        }
        Ok(header)
    }

    fn report(&self) -> Result<Report, ArtifactError> {
        match self {
            Self::Index(index) => index.report(),
            Self::Vocabulary(_) => Ok(Report::default()),
        }
    }
}

pub(crate) fn run(global: &Global, file: &Path) -> anyhow::Result<Outcome> {
    let any = AnyArtifact::open(&index_file(file, global)?).map_err(advised)?;
    let report = any.report()?;
    let header = any.header()?;
    if global.json {
        let sections: Vec<Value> = any
            .artifact()
            .sections()
            .iter()
            .map(|section| {
                json!({
                    "name": section.name(), "kind": section.kind, "storage": section.storage,
                    "offset": section.offset, "bytes": section.length, "digest": Digest(section.digest).to_string(),
                })
            })
            .collect();
        let header: serde_json::Map<String, Value> =
            header.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        output::line(json!({"header": header, "sections": sections, "report": report}))?;
        return Ok(Outcome::Yes);
    }
    for (key, value) in header {
        let value = match &value {
            Value::Null => "unbounded".to_owned(),
            Value::String(text) => shortened(text),
            other => other.as_u64().map_or_else(|| other.to_string(), grouped),
        };
        output::line(format_args!("{key:<20} {value}"))?;
    }
    output::line("")?;
    let rows: Vec<Vec<String>> = any
        .artifact()
        .sections()
        .iter()
        .map(|section| vec![section.name().into(), grouped(section.offset), human_bytes(section.length)])
        .collect();
    output::line(output::table(&["section", "offset", "size"], &rows))?;
    print_report(&report, usize::MAX)?;
    if let AnyArtifact::Index(index) = &any
        && index.root().compiler_epoch != COMPILER_EPOCH
    {
        output::note(format_args!(
            "hint: this program is compiler epoch {COMPILER_EPOCH} and would compile it again"
        ));
    }
    Ok(Outcome::Yes)
}

/// Characters of a constraint that a person is shown.
const TEXT_SHOWN: usize = 1000;

/// A text that fits a screen.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(TEXT_SHOWN) {
        Some((end, _)) => {
            format!("{} … {} more bytes; --json has all", &text[..end], grouped((text.len() - end) as u64))
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        assert_eq!(shortened("é"), "é");
        let long = shortened(&"é".repeat(TEXT_SHOWN + 3));
        assert!(long.ends_with("é … 6 more bytes; --json has all"), "{long}");
    }
}
