use std::collections::HashMap;
use std::time::SystemTime;

use gobo_artifact::Index;
use gobo_artifact::file::{Links, OpenRegular};
use gobo_store::Store;
use gobo_types::{IndexKey, VocabularyDigest};
use serde_json::json;

use super::age::{age, unix_ms};
use crate::args::{Global, LsArgs};
use crate::backend::Backend;
use crate::inputs::MIN_DIGITS;
use crate::output::{self, Outcome, human_bytes};

/// Columns of a line, of the name of a vocabulary, and fewest digits of a key.
const WIDTH: usize = 80;
const NAME_WIDTH: usize = 12;
const KEY_DIGITS: usize = 2 * MIN_DIGITS;

/// An index as it is listed.
struct Line {
    key: IndexKey,
    kind: String,
    /// None where the file cannot be read.
    text: Option<String>,
    vocabulary: Option<VocabularyDigest>,
    bytes: u64,
    published: SystemTime,
    /// As far as the file system records it.
    used: Option<SystemTime>,
}

pub(crate) fn run(global: &Global, args: &LsArgs) -> anyhow::Result<Outcome> {
    let (mut lines, names) = match Backend::daemon(global)? {
        Some(backend) => of_daemon(&backend)?,
        None => match global.existing_store()? {
            Some(store) => (of_files(&store)?, names_of(&store)?),
            None => (Vec::new(), HashMap::new()),
        },
    };
    // The newest first.
    lines.sort_by_key(|line| (std::cmp::Reverse(line.published), line.key));
    let name =
        |line: &Line| line.vocabulary.map(|digest| names.get(&digest).cloned().unwrap_or(digest.to_string()));
    if global.json {
        for line in &lines {
            output::line(json!({
                "index_key": line.key.to_string(), "constraint_kind": line.kind, "constraint": line.text,
                "vocabulary": line.vocabulary.and_then(|digest| names.get(&digest)),
                "vocabulary_digest": line.vocabulary.map(|digest| digest.to_string()), "bytes": line.bytes,
                "published_unix_ms": unix_ms(line.published), "last_used_unix_ms": line.used.map(unix_ms),
            }))?;
        }
        return Ok(Outcome::Yes);
    }
    let keys: Vec<IndexKey> = lines.iter().map(|line| line.key).collect();
    let digits = if args.full { 64 } else { unique_digits(&keys) };
    let names_wide = if args.full { usize::MAX } else { NAME_WIDTH };
    let cells: Vec<[String; 6]> = lines
        .iter()
        .map(|line| {
            [
                line.key.to_string()[..digits].to_owned(),
                clipped(&name(line).unwrap_or_else(|| "-".to_owned()), names_wide),
                human_bytes(line.bytes),
                age(line.published),
                line.used.map_or_else(|| "-".to_owned(), age),
                constraint(line),
            ]
        })
        .collect();
    print(&cells, if args.full { usize::MAX } else { WIDTH })?;
    if cells.is_empty() {
        output::note("the store has no indices\nhint: `gobo get` and `gobo prewarm` compile into it");
    }
    Ok(Outcome::Yes)
}

/// Kind and text on one line.
fn constraint(line: &Line) -> String {
    let text = line.text.as_deref().unwrap_or_default();
    let shown: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let words: Vec<&str> = shown.split_whitespace().collect();
    // Patterns are what they are; of schemas and grammars the indentation is nobody's matter.
    let shown = if matches!(line.kind.as_str(), "regex" | "choice") { shown } else { words.join(" ") };
    format!("{} {shown}", line.kind)
}

fn print(cells: &[[String; 6]], width: usize) -> anyhow::Result<()> {
    let heading = ["key", "vocabulary", "size", "age", "used", "constraint"].map(str::to_owned);
    let length = |cell: &String| cell.chars().count();
    let widths: Vec<usize> = (0..5)
        .map(|column| {
            cells.iter().chain([&heading]).map(|row| length(&row[column])).max().unwrap_or_default()
        })
        .collect();
    let left = width.saturating_sub(widths.iter().map(|width| width + 2).sum());
    if cells.is_empty() {
        return Ok(());
    }
    for row in std::iter::once(&heading).chain(cells) {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 1 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let cells: Vec<String> = cells.chain([clipped(&row[5], left)]).collect();
        output::line(cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// A text that is cut where it is too wide.
fn clipped(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept + "…"
}

/// So many digits tell all keys apart.
fn unique_digits(keys: &[IndexKey]) -> usize {
    let mut texts: Vec<String> = keys.iter().map(IndexKey::to_string).collect();
    texts.sort_unstable();
    let common =
        |one: &str, two: &str| one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count();
    let most = texts.windows(2).map(|pair| common(&pair[0], &pair[1]) + 1).max().unwrap_or(0);
    most.clamp(KEY_DIGITS, 64)
}

/// The names of vocabularies, the first of each.
fn names_of(store: &Store) -> anyhow::Result<HashMap<VocabularyDigest, String>> {
    let mut names = HashMap::new();
    for name in store.list_names()? {
        // One broken name hides no other.
        if let Ok(Some(named)) = store.get_name(&name) {
            names.entry(named.vocabulary).or_insert(name);
        }
    }
    Ok(names)
}

/// The indices of a store by their files. Looking at them is no use of them.
fn of_files(store: &Store) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for file in store.scan_indices() {
        let file = file?;
        let opened = OpenRegular::new(Links::Refuse).unnoticed().open(&file.path).ok();
        let index = opened.and_then(|opened| Index::open_file(&opened, &file.path).ok());
        let kind = index.as_ref().map_or("damaged", |index| index.constraint_kind());
        lines.push(Line {
            key: file.key,
            kind: kind.to_owned(),
            text: index.as_ref().map(|index| index.constraint_text().to_owned()),
            vocabulary: index.as_ref().map(Index::vocabulary_digest),
            bytes: file.bytes,
            published: file.published,
            used: Some(file.accessed.max(file.published)),
        });
    }
    Ok(lines)
}

/// The indices in a daemon's catalog. Where its store is at hand, the files say the rest; else it is asked for each.
fn of_daemon(backend: &Backend) -> anyhow::Result<(Vec<Line>, HashMap<VocabularyDigest, String>)> {
    let Backend::Daemon(runtime, client) = backend else { return Ok(Default::default()) };
    let mut files: HashMap<IndexKey, Line> =
        of_files(client.store())?.into_iter().map(|line| (line.key, line)).collect();
    runtime.block_on(async {
        let mut lines = Vec::new();
        for entry in client.indices().await? {
            let file = files.remove(&entry.key);
            let (text, used) = match file {
                Some(file) if file.text.is_some() => (file.text, file.used),
                // Evicted since it was listed.
                _ => (client.describe(&entry.key).await.ok().map(|told| told.constraint_text), None),
            };
            lines.push(Line {
                key: entry.key,
                kind: entry.constraint_kind,
                text,
                vocabulary: Some(entry.vocabulary_digest),
                bytes: entry.bytes,
                published: entry.created,
                used,
            });
        }
        let known = client.vocabularies().await?.into_iter();
        Ok((lines, known.map(|vocabulary| (vocabulary.digest, vocabulary.name)).collect()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_shown_as_far_as_they_differ() {
        let key = |text: &str| format!("{text}{}", "0".repeat(64 - text.len())).parse::<IndexKey>().unwrap();
        assert_eq!(unique_digits(&[]), KEY_DIGITS);
        assert_eq!(unique_digits(&[key("a"), key("b")]), KEY_DIGITS);
        assert_eq!(unique_digits(&[key("aaaaaaaaaa1"), key("b"), key("aaaaaaaaaa2")]), 11);
    }

    #[test]
    fn texts_are_cut_at_characters_and_stand_on_one_line() {
        assert_eq!((clipped("éàü", 3), clipped("éàü", 2)), ("éàü".into(), "é…".into()));
        let line = |kind: &str, text: &str| Line {
            key: "0".repeat(64).parse().unwrap(),
            kind: kind.into(),
            text: Some(text.into()),
            vocabulary: None,
            bytes: 0,
            published: SystemTime::UNIX_EPOCH,
            used: None,
        };
        assert_eq!(constraint(&line("schema", "{\n  \"a\":  1\n}")), "schema { \"a\": 1 }");
        assert_eq!(constraint(&line("regex", "a  b\tc")), "regex a  b c");
    }
}
