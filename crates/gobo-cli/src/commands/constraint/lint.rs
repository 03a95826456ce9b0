use std::fmt::Write as _;

use anyhow::bail;
use gobo_artifact::{Index, IndexClass};
use gobo_cli::options::GrammarArgs;
use gobo_grammar::Written;
use gobo_grammar::lint::{Ambiguity, Hidden, LexerFindings, Lint, Named, Recursive, line_and_column, lint};
use gobo_types::{Budget, CompileError, Constraint, Lexer};
use gobo_worker::{compile_alone, diagnose, lower};
use serde_json::{Value, json};

use crate::args::{Global, LintArgs};
use crate::diagnostics;
use crate::inputs::{Given, Loaded, grammar_file};
use crate::output::{self, Outcome, grouped, human_bytes};

/// What a grammar becomes.
struct Figures {
    class: IndexClass,
    states: u64,
    return_states: u64,
    steps: u64,
    table_bytes: u64,
    /// Over a vocabulary: pairs of a pending-suffix set and a class of return states, and the bytes of the file.
    index: Option<(u64, u64)>,
}

pub(crate) fn run(global: &Global, args: &LintArgs) -> anyhow::Result<Outcome> {
    let options =
        GrammarArgs { lexer: args.lexer, import_dir: args.import_dir.clone(), ..GrammarArgs::default() };
    let given = grammar_file(&args.file, args.dialect, args.start.as_deref(), &options)?;
    let loaded = args.tokenizer.as_ref().map(|tokenizer| Loaded::open(tokenizer, global)).transpose()?;
    if let Some(loaded) = &loaded {
        loaded.note_first_use();
    }
    let Some(written) = Written::of(&given.constraint) else {
        bail!("{}: no grammar", args.file.display());
    };
    let (grammar, lexer) = (written.grammar, written.lexer);
    let found = match lint(&written, args.length, &Budget::new(global.limits())) {
        Ok(found) => found,
        Err(error) => return given.verdict(&error, global.json),
    };
    let figures = figures(&given.constraint, loaded.as_ref(), global)?;
    if global.json {
        output::line(as_json(args, &given, grammar, &found, figures.as_ref()))?;
    } else {
        if let Ok(figures) = &figures {
            print_figures(figures)?;
        }
        print_names(grammar, &found)?;
        if let Some(lexer) = &found.lexer {
            print_lexer(grammar, lexer)?;
        }
        print_ambiguity(&found.ambiguity)?;
        let is_read = !matches!(found.ambiguity, Ambiguity::Unread(_));
        if is_read && matches!(lexer, Some(lexer) if lexer != Lexer::None) {
            output::line(
                "             (as the lexer none divides texts: another lexer may settle which tree it is)",
            )?;
        }
        if let Err(error) = &figures {
            diagnostics::verdict(error, Some(&given.written), false)?;
        }
    }
    Ok(match figures {
        _ if found.is_suspicious() => Outcome::No,
        Ok(_) => Outcome::Yes,
        Err(_) => Outcome::Refused,
    })
}

/// Lowers the grammar, or compiles it. The inner error is the verdict on it.
fn figures(
    constraint: &Constraint,
    loaded: Option<&Loaded>,
    global: &Global,
) -> anyhow::Result<Result<Figures, CompileError>> {
    let budget = Budget::new(global.limits());
    let Some(loaded) = loaded else {
        let lowered =
            lower(constraint, &budget).map_err(|error| diagnose(constraint, None, None, &budget, error));
        return Ok(lowered.map(|lowered| {
            let calls = lowered.dfa.calls.as_ref();
            Figures {
                class: match calls {
                    None => IndexClass::Regular,
                    Some(calls) if calls.is_deterministic => IndexClass::Deterministic,
                    Some(_) => IndexClass::Ambiguous,
                },
                states: lowered.dfa.len() as u64 - 1,
                return_states: calls.map_or(0, |calls| calls.returns.len() as u64),
                steps: budget.steps(),
                table_bytes: budget.peak_bytes(),
                index: None,
            }
        }));
    };
    let compiled = match compile_alone(&loaded.vocabulary, constraint, global.threads_or(1), &budget) {
        Ok(compiled) => compiled,
        Err(error) => return Ok(Err(error)),
    };
    let index = Index::from_bytes(compiled.bytes())?;
    Ok(Ok(Figures {
        class: index.class(),
        states: compiled.stats.states.into(),
        return_states: index.call_root()?.map_or(0, |calls| calls.returns.len() as u64),
        steps: compiled.stats.steps,
        table_bytes: compiled.stats.bytes,
        index: Some((index.pair_counts().1 as u64, compiled.bytes().len() as u64)),
    }))
}

fn print_figures(figures: &Figures) -> anyhow::Result<()> {
    output::line(format_args!("class        {}", figures.class.name()))?;
    let mut states = format!("states       {}", grouped(figures.states));
    if figures.class != IndexClass::Regular {
        let _ = write!(states, ", {}", counted(figures.return_states, "return state"));
        if let Some((pairs, _)) = figures.index {
            let _ = write!(states, ", {}", counted(pairs, "pair"));
        }
    }
    output::line(states)?;
    let tables = human_bytes(figures.table_bytes);
    output::line(format_args!("budget       {} steps, {tables} of tables", grouped(figures.steps)))?;
    if let Some((_, bytes)) = figures.index {
        output::line(format_args!("bytes        {}", human_bytes(bytes)))?;
    }
    Ok(())
}

/// So many of something.
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

fn print_names(grammar: &str, found: &Lint) -> anyhow::Result<()> {
    let lists = [("unreachable", &found.unreachable), ("unused", &found.unused), ("empty", &found.empty)];
    for (words, names) in lists {
        for name in names {
            output::line(format_args!("{words:<12} {}", shown(grammar, name)))?;
        }
    }
    for recursive in &found.recursive {
        let kinds = kinds(recursive).join(", ");
        let kinds = if kinds.is_empty() { "between its ends alone" } else { &kinds };
        output::line(format_args!("recursive    {}: {kinds}", shown(grammar, &recursive.rule)))?;
    }
    Ok(())
}

fn print_lexer(grammar: &str, found: &LexerFindings) -> anyhow::Result<()> {
    for hidden in &found.hidden {
        let at = line_of(grammar, hidden)
            .map_or_else(String::new, |(line, column)| format!(", line {line}, column {column}"));
        let by = match &hidden.by {
            Some((text, by)) => format!(": {text:?} is read as {by}"),
            None => String::new(),
        };
        output::line(format_args!("hidden       {}{at}{by}", hidden.name))?;
    }
    for glued in &found.glued {
        let (keyword, followers) = (&glued.keyword, some_of(&glued.followers));
        output::line(format_args!(
            "glued        {keyword:?} and {followers}, as in {:?}: more of it is a {}",
            glued.example, glued.name
        ))?;
    }
    if found.shifted > 0 {
        let places = grouped(found.shifted as u64);
        output::line(format_args!("conflicts    {places} between shifting and ending a rule: shifted"))?;
    }
    for (one, other) in &found.undecided {
        output::line(format_args!("conflicts    {one} and {other} end at one place: both readings stay"))?;
    }
    Ok(())
}

/// Some names of many.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn line_of(grammar: &str, hidden: &Hidden) -> Option<(usize, usize)> {
    hidden.at.map(|at| line_and_column(grammar, at))
}

fn print_ambiguity(ambiguity: &Ambiguity) -> anyhow::Result<()> {
    match ambiguity {
        Ambiguity::Found(two) => {
            output::line(format_args!("two trees    of {:?}", two.text))?;
            two.trees.iter().try_for_each(|tree| output::line(format_args!("             {tree}")))
        }
        Ambiguity::NoneUpTo(length) => output::line(format_args!(
            "two trees    of no text of at most {} characters; of longer ones nothing is known",
            grouped((*length).into())
        )),
        Ambiguity::Unread(reason) => output::line(format_args!(
            "two trees    and recursion: not looked for, the lexer none cannot read it ({reason})"
        )),
        Ambiguity::NoneBelow(length) => output::line(format_args!(
            "two trees    of no text of fewer than {} characters; then the search has ended",
            grouped((*length).into())
        )),
    }
}

/// A name and its place.
fn shown(grammar: &str, named: &Named) -> String {
    match place(grammar, named) {
        Some((line, column)) => format!("{}, line {line}, column {column}", named.name),
        None => named.name.clone(),
    }
}

fn place(grammar: &str, named: &Named) -> Option<(usize, usize)> {
    named.at.as_ref().map(|at| line_and_column(grammar, at.start))
}

fn kinds(recursive: &Recursive) -> Vec<&'static str> {
    let kinds =
        [(recursive.left, "left"), (recursive.right, "right"), (recursive.self_embedding, "self-embedding")];
    kinds.into_iter().filter_map(|(is_one, words)| is_one.then_some(words)).collect()
}

fn as_json(
    args: &LintArgs,
    given: &Given,
    grammar: &str,
    found: &Lint,
    figures: Result<&Figures, &CompileError>,
) -> Value {
    let named = |named: &Named| {
        let (line, column) = place(grammar, named).unzip();
        json!({"name": named.name, "terminal": named.is_terminal, "line": line, "column": column})
    };
    let list = |names: &[Named]| names.iter().map(named).collect::<Vec<_>>();
    let recursive = |found: &Recursive| {
        let mut printed = named(&found.rule);
        printed["kinds"] = kinds(found).into();
        printed
    };
    let (two, searched) = match &found.ambiguity {
        Ambiguity::Found(two) => (Some(two), None),
        Ambiguity::NoneUpTo(length) => (None, Some(*length)),
        Ambiguity::NoneBelow(length) => (None, length.checked_sub(1)),
        Ambiguity::Unread(_) => (None, None),
    };
    let lexer = found.lexer.as_ref().map(|lexer| lexer_json(grammar, lexer));
    let ok = figures.ok();
    json!({
        "grammar": args.file,
        "suspicious": found.is_suspicious(),
        "unreachable": list(&found.unreachable),
        "unused": list(&found.unused),
        "empty": list(&found.empty),
        "recursive": found.recursive.iter().map(recursive).collect::<Vec<_>>(),
        "lexer": lexer,
        "ambiguous_text": two.map(|two| &two.text),
        "trees": two.map(|two| &two.trees),
        "unambiguous_up_to": searched,
        "class": ok.map(|figures| figures.class.name()),
        "states": ok.map(|figures| figures.states),
        "return_states": ok.map(|figures| figures.return_states),
        "steps": ok.map(|figures| figures.steps),
        "table_bytes": ok.map(|figures| figures.table_bytes),
        "tokenizer": args.tokenizer,
        "pairs": ok.and_then(|figures| figures.index).map(|(pairs, _)| pairs),
        "artifact_bytes": ok.and_then(|figures| figures.index).map(|(_, bytes)| bytes),
        "verdict": figures.err().map(|error| diagnostics::verdict_json(error, Some(&given.written))),
    })
}

fn lexer_json(grammar: &str, found: &LexerFindings) -> Value {
    let hidden = found.hidden.iter().map(|hidden| {
        let ((line, column), (text, by)) = (line_of(grammar, hidden).unzip(), hidden.by.clone().unzip());
        json!({"name": hidden.name, "line": line, "column": column, "text": text, "read_as": by})
    });
    let glued = found.glued.iter().map(|glued| {
        json!({
            "keyword": glued.keyword,
            "followers": glued.followers,
            "name": glued.name,
            "example": glued.example,
        })
    });
    json!({
        "hidden": hidden.collect::<Vec<_>>(),
        "glued": glued.collect::<Vec<_>>(),
        "shift_reduce": found.shifted,
        "undecided": found.undecided,
    })
}
