//! JSON within a grammar: `%regex {…}`, `%json {…}`, `%llguidance {…}`.

use gobo_types::CompileError;
use serde_json::{Deserializer, Map, Value};

use super::scan::Scanner;
use super::syntax::Item;
use crate::bnf::shown;
use crate::words::words;

/// What stands in a schema and changes how llguidance writes its texts.
const GUIDANCE: &str = "x-guidance";

/// `%regex {…}` or `%json {…}`, whose percent sign stands here.
pub(super) fn part(scanner: &mut Scanner<'_>) -> Result<Item, CompileError> {
    let at = scanner.at;
    scanner.at += 1;
    let word = scanner.take_while(|char| char.is_ascii_alphabetic());
    if word == "json" {
        return schema(scanner);
    }
    if word != "regex" {
        return Err(scanner.unsupported(at, format!("%{word} is not supported here")));
    }
    let mut members = object(scanner)?.into_iter();
    let (Some((kind, value)), None) = (members.next(), members.next()) else {
        return Err(scanner.malformed(at, "%regex has one member"));
    };
    let pieces: Option<Vec<String>> = match kind.as_str() {
        "substring_chars" => value.as_str().map(|text| text.chars().map(String::from).collect()),
        "substring_words" => value.as_str().map(words),
        "substring_chunks" => value
            .as_array()
            .and_then(|chunks| chunks.iter().map(|chunk| chunk.as_str().map(str::to_owned)).collect()),
        _ => {
            let reason = "%regex has one of substring_chars, substring_words, substring_chunks";
            return Err(scanner.unsupported(at, reason));
        }
    };
    let pieces =
        pieces.ok_or_else(|| scanner.malformed(at, format!("{kind} has a value of another type")))?;
    Ok(Item::Chain(pieces))
}

/// The JSON Schema that begins here, after blanks.
fn schema(scanner: &mut Scanner<'_>) -> Result<Item, CompileError> {
    scanner.skip(true);
    let at = scanner.at;
    let mut values = Deserializer::from_str(scanner.rest()).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => {
            if value.get(GUIDANCE).is_some() {
                let reason =
                    format!("{GUIDANCE} in a schema is not supported: it changes how values are written");
                return Err(scanner.unsupported(at, reason));
            }
            scanner.at += values.byte_offset();
            Ok(Item::Schema(scanner.text[at..scanner.at].to_owned()))
        }
        Some(Err(error)) => Err(scanner.malformed(at, format!("no JSON Schema: {error}"))),
        None => Err(scanner.malformed(at, "the text ends here too early")),
    }
}

/// The options after `%llguidance`, of which `allow_initial_skip` alone is about texts.
pub(super) fn initial_skip(scanner: &mut Scanner<'_>) -> Result<Option<bool>, CompileError> {
    let at = scanner.at;
    let mut skip = None;
    for (name, value) in object(scanner)? {
        match (name.as_str(), &value) {
            ("allow_initial_skip", Value::Bool(allowed)) => skip = Some(*allowed),
            // How tokens are forced is no matter of texts.
            ("no_forcing", Value::Bool(_)) | ("allow_invalid_utf8" | "ignore_once", Value::Bool(false)) => {}
            _ => {
                let reason = format!(
                    "the option {} is not supported: of llguidance's there are allow_initial_skip and no_forcing",
                    shown(&name)
                );
                return Err(scanner.unsupported(at, reason));
            }
        }
    }
    Ok(skip)
}

/// The JSON object that begins here, after blanks.
fn object(scanner: &mut Scanner<'_>) -> Result<Map<String, Value>, CompileError> {
    scanner.skip(false);
    let at = scanner.at;
    let mut values = Deserializer::from_str(scanner.rest()).into_iter::<Map<String, Value>>();
    match values.next() {
        Some(Ok(object)) => {
            scanner.at += values.byte_offset();
            Ok(object)
        }
        Some(Err(error)) => Err(scanner.malformed(at, format!("no JSON object: {error}"))),
        None => Err(scanner.malformed(at, "the text ends here too early")),
    }
}
