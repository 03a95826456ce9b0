//! The same patterns under readers of other authors: `resharp`, whose patterns have look-around, intersection and complement, and Python's `re`.

use std::cell::Cell;

use gobo_types::{Budget, CompileLimits, Constraint, MatchMode, RegexDialect};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use resharp::{Regex, RegexOptions};

use super::naive::Pattern;
use super::{CHARS, languages, pattern};
use crate::cases::config;
use crate::lexers::texts;

/// A pattern in resharp's syntax: there `_` is any byte, and a text begins at `\A` and ends at `\z`.
fn for_resharp(pattern: &Pattern) -> String {
    let mut is_class = false;
    let written = pattern.written(RegexDialect::Rust);
    let of = |char: char| {
        is_class = (is_class || char == '[') && char != ']';
        match char {
            '_' => r"\_".to_owned(),
            '^' if !is_class => r"\A".to_owned(),
            '$' if !is_class => r"\z".to_owned(),
            _ => char.to_string(),
        }
    };
    written.chars().map(of).collect()
}

fn whole(pattern: &str) -> Option<Regex> {
    let options = RegexOptions::default().multiline(false);
    Regex::with_options(&format!(r"\A(?:{pattern})\z"), options).ok()
}

/// Whether it is a regular expression in the narrow sense.
fn is_plain(pattern: &Pattern) -> bool {
    let is_look = |part: &Pattern| {
        matches!(part, Pattern::Look { .. } | Pattern::Boundary(_) | Pattern::Start | Pattern::End)
    };
    pattern.all(&|part| !is_look(part))
}

fn plain() -> impl Strategy<Value = Pattern> {
    pattern().prop_filter("it looks around", is_plain)
}

/// Looks at both ends of a pattern. Elsewhere resharp is no judge: its `(?:(?=a)|\A){2}` reads the text `a`, and `\b` holds in the empty one.
#[test]
fn patterns_match_what_resharp_matches() {
    let (all, compared) = (texts(CHARS, 4), Cell::new(0));
    let compare = |(ahead, body, behind, negated): (Pattern, Pattern, Pattern, (bool, bool))| {
        let look =
            |ahead, negated, pattern: Pattern| Pattern::Look { ahead, negated, pattern: pattern.into() };
        let looks = [look(true, negated.0, ahead), body, look(false, negated.1, behind)];
        let pattern = Pattern::Concat(looks.into());
        let written = for_resharp(&pattern);
        let Some(theirs) = whole(&written) else { return Ok(()) };
        let ours = languages(&pattern.written(RegexDialect::Rust), RegexDialect::Rust, MatchMode::Full);
        for text in &all {
            let Ok(expected) = theirs.is_match(text.as_bytes()) else { return Ok(()) };
            // One without texts is refused.
            let is_taken = ours.as_ref().is_ok_and(|ours| ours.accepts(text.as_bytes()));
            prop_assert_eq!(is_taken, expected, "{} {:?}", &written, text);
        }
        compared.set(compared.get() + 1);
        Ok(())
    };
    let config = config(2_000);
    let cases = config.cases;
    TestRunner::new(config).run(&(plain(), plain(), plain(), any::<(bool, bool)>()), compare).unwrap();
    // It has few of them.
    assert!(compared.get() * 40 >= cases, "{compared:?}");
}

/// Texts of several patterns that are none of others.
#[test]
fn sets_of_patterns_are_those_of_resharp() {
    let (all, compared) = (texts(CHARS, 4), Cell::new(0));
    let compare = |(patterns, signs): (Vec<Pattern>, Vec<bool>)| {
        let (first, others) = patterns.split_first().unwrap();
        let mut both = format!("({})", for_resharp(first));
        let (mut and, mut not) = (Vec::new(), Vec::new());
        for (other, is_wanted) in others.iter().zip(&signs) {
            let sign = if *is_wanted { "" } else { "~" };
            both = format!("{both}&{sign}({})", for_resharp(other));
            if *is_wanted { &mut and } else { &mut not }.push(other.written(RegexDialect::Rust));
        }
        let (rust, full) = (RegexDialect::Rust, MatchMode::Full);
        let constraint = Constraint::regex_with(first.written(rust), full, rust, and, not);
        let ours = gobo_worker::lower(&constraint, &Budget::new(CompileLimits::default()));
        let Some(theirs) = whole(&both) else { return Ok(()) };
        for text in &all {
            let Ok(expected) = theirs.is_match(text.as_bytes()) else { return Ok(()) };
            // One without texts is refused.
            let is_taken = ours.as_ref().is_ok_and(|ours| ours.dfa.accepts(text.as_bytes()));
            prop_assert_eq!(is_taken, expected, "{} {:?}", &both, text);
        }
        compared.set(compared.get() + 1);
        Ok(())
    };
    let config = config(200);
    let cases = config.cases;
    TestRunner::new(config).run(&(vec(plain(), 2..4), vec(any::<bool>(), 3)), compare).unwrap();
    assert!(compared.get() * 2 >= cases, "{compared:?}");
}

mod python {
    use proptest::strategy::ValueTree as _;
    use serde_json::json;

    use super::super::{is_of, repeats_assertions};
    use super::*;

    /// Reads a pattern and texts; says for each text whether it matches, and whether a part of it does.
    const SCRIPT: &str = r"
import json, re, sys
for line in sys.stdin:
    pattern, texts = json.loads(line)
    of = re.compile(pattern, re.ASCII)
    print(json.dumps([[of.fullmatch(text) is not None, of.search(text) is not None] for text in texts]))
";

    #[test]
    #[ignore = "needs Python"]
    fn patterns_match_what_python_matches() {
        let all = texts(CHARS, 4);
        let mut runner = TestRunner::new(config(600));
        let patterns = (0..600).map(|_| pattern().new_tree(&mut runner).unwrap().current());
        let of_python =
            |pattern: &Pattern| is_of(pattern, RegexDialect::Python) && !repeats_assertions(pattern);
        let patterns: Vec<Pattern> = patterns.filter(of_python).collect();
        let written = |pattern: &Pattern| pattern.written(RegexDialect::Python);
        let lines = patterns.iter().map(|pattern| json!([written(pattern), all]).to_string()).collect();
        let answers = crate::python::lines(SCRIPT, lines);
        assert_eq!(answers.len(), patterns.len());
        let mut compared = 0;
        for (pattern, answers) in patterns.iter().zip(answers) {
            let written = written(pattern);
            for (at, mode) in [MatchMode::Full, MatchMode::Search].into_iter().enumerate() {
                let ours = languages(&written, RegexDialect::Python, mode);
                compared += usize::from(ours.is_ok());
                let is_beyond = |error: &_| matches!(error, gobo_types::CompileError::Refused(refusal) if super::super::is_beyond(refusal));
                assert!(ours.as_ref().err().is_none_or(is_beyond), "{written}");
                let Ok(ours) = ours else { continue };
                for (text, answer) in all.iter().zip(answers.as_array().unwrap()) {
                    // Until Python 3.14 the empty text has no place for `\B`.
                    if text.is_empty() && written.contains(r"\B") {
                        continue;
                    }
                    assert_eq!(
                        ours.accepts(text.as_bytes()),
                        answer[at].as_bool().unwrap(),
                        "{written} {text:?}"
                    );
                }
            }
        }
        assert!(compared >= 300, "{compared} were compared");
    }
}
