use anyhow::Context;
use gobo_automata::{Difference, Side, difference};
use serde_json::{Value, json};

use super::operand::{Opened, Verdict};
use crate::args::{DiffArgs, Global, Operand};
use crate::diagnostics;
use crate::output::{self, Outcome};

/// A comparison of two index files, besides their texts.
struct Files {
    same_bytes: bool,
    same_vocabulary: bool,
}

impl Files {
    /// `None` unless both sides are index files.
    fn of(a: &Opened, b: &Opened) -> Option<Self> {
        let (a, b) = (a.index()?, b.index()?);
        Some(Self {
            same_bytes: a.file_bytes() == b.file_bytes(),
            same_vocabulary: a.vocabulary_digest() == b.vocabulary_digest(),
        })
    }
}

pub(crate) fn run(global: &Global, args: &DiffArgs) -> anyhow::Result<Outcome> {
    let (options, grammars) = (args.defaults.options()?, args.defaults.grammars());
    let a = match args.a.open(args.text_start.into(), &options, grammars, global)? {
        Ok(opened) => opened,
        Err(verdict) => return refused(global, Side::A, &args.a, &verdict),
    };
    let b = match args.b.open(args.text_start.into(), &options, grammars, global)? {
        Ok(opened) => opened,
        Err(verdict) => return refused(global, Side::B, &args.b, &verdict),
    };
    let found = difference(&a, &b, args.max_pairs)
        .context("no difference as far as was looked\nhint: --max-pairs N looks farther")?;
    let files = Files::of(&a, &b);
    if global.json {
        output::line(json!({
            "equal": found.is_none(),
            "text": found.as_ref().and_then(|found| str::from_utf8(&found.text).ok()),
            "bytes": found.as_ref().map(|found| &found.text),
            "taken_by": found.as_ref().map(|found| name(found.taken_by)),
            "same_bytes": files.as_ref().map(|files| files.same_bytes),
            "same_vocabulary": files.as_ref().map(|files| files.same_vocabulary),
            "a": side_json(&args.a, &a),
            "b": side_json(&args.b, &b),
        }))?;
    } else {
        print(args, found.as_ref())?;
        if let Some(files) = files {
            print_files(&a, &b, &files)?;
        }
    }
    let Some(found) = found else { return Ok(Outcome::Yes) };
    let (lacks, operand) = match found.taken_by {
        Side::A => (&b, &args.b),
        Side::B => (&a, &args.a),
    };
    if let Some(index) = lacks.index()
        && !index.report()?.unspellable.is_empty()
    {
        output::note(format_args!(
            "hint: {operand} lacks what its vocabulary cannot write; `gobo inspect` says what that is"
        ));
    }
    Ok(Outcome::No)
}

fn name(side: Side) -> &'static str {
    match side {
        Side::A => "a",
        Side::B => "b",
    }
}

fn print(args: &DiffArgs, found: Option<&Difference>) -> anyhow::Result<()> {
    let Some(found) = found else { return output::line("equal") };
    let (text, bytes) = shown(&found.text);
    output::line(format_args!("differ    {text}"))?;
    if let Some(bytes) = bytes {
        output::line(format_args!("bytes     {bytes}"))?;
    }
    let (side, operand) = match found.taken_by {
        Side::A => ("A", &args.a),
        Side::B => ("B", &args.b),
    };
    output::line(format_args!("taken by  {side}, {operand}"))
}

/// A text in quotes, escaped; and its bytes where it is not UTF-8.
fn shown(text: &[u8]) -> (String, Option<String>) {
    match str::from_utf8(text) {
        Ok(text) => (format!("{text:?}"), None),
        Err(_) => {
            let bytes: Vec<String> = text.iter().map(|byte| format!("{byte:02x}")).collect();
            (format!("\"{}\"", text.escape_ascii()), Some(bytes.join(" ")))
        }
    }
}

fn print_files(a: &Opened, b: &Opened, files: &Files) -> anyhow::Result<()> {
    let same = match (files.same_bytes, files.same_vocabulary) {
        (true, _) => "byte for byte the same",
        (false, true) => "not the same bytes",
        (false, false) => "not the same bytes: they are for different vocabularies",
    };
    output::line(format_args!("files     {same}"))?;
    if !files.same_vocabulary {
        for (side, index) in [("A", a.index()), ("B", b.index())] {
            if let Some(index) = index {
                output::line(format_args!("{side} is for  vocabulary {}", index.vocabulary_digest()))?;
            }
        }
    }
    Ok(())
}

fn side_json(operand: &Operand, opened: &Opened) -> Value {
    match opened {
        Opened::Constraint { kind, dfa } => json!({
            "given": operand.to_string(), "kind": kind, "states": dfa.len() - 1,
            "index_key": null, "vocabulary_digest": null,
        }),
        Opened::Index(index) => json!({
            "given": operand.to_string(), "kind": "index", "states": index.states() - 1,
            "index_key": index.key().to_string(), "vocabulary_digest": index.vocabulary_digest().to_string(),
        }),
    }
}

/// A constraint that has no automaton. Never the status of a difference, whatever the verdict.
fn refused(global: &Global, side: Side, operand: &Operand, verdict: &Verdict) -> anyhow::Result<Outcome> {
    if global.json {
        let mut printed = diagnostics::verdict_json(&verdict.error, verdict.written.as_ref());
        printed["side"] = name(side).into();
        output::line(printed)?;
    } else {
        output::note(format_args!("in {operand}"));
        diagnostics::verdict(&verdict.error, verdict.written.as_ref(), false)?;
    }
    Ok(Outcome::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_what_is_no_text_is_shown_as_bytes() {
        assert_eq!(shown(b""), (r#""""#.into(), None));
        assert_eq!(shown("a\"\n\0é".as_bytes()), (r#""a\"\n\0é""#.into(), None));
        assert_eq!(shown(b"a\xe4\""), (r#""a\xe4\"""#.into(), Some("61 e4 22".into())));
    }
}
