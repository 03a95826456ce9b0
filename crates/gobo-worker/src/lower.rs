//! Lowering: the automaton of a constraint, made by the reader of its kind.

use gobo_artifact::Vocabulary;
use gobo_automata::{Dfa, Language, Lowered};
use gobo_grammar::json::{json, narrowed, truncated};
use gobo_grammar::regex::{check_classes, with_tokens};
use gobo_grammar::{Texts, Written};
use gobo_schema::{embedded, schema, schema_by_states};
use gobo_types::{
    Budget, CompileError, Constraint, RefusalKind, RegexDialect, Report, ReportEntry, Source, TextStart,
};

use crate::misread::misread;
use crate::regex;
use crate::tags;
use crate::tokens::resolve;

/// Where nothing matches, and something looks around.
const LOOKS_READ_NOTHING: &str = "A look-around reads nothing, and the whole text has to match: write out what it looks at, or give --match search.";

/// The automaton of a constraint, and what it enforces, over any vocabulary: token edges are told apart as they are written, and have no
/// ids.
///
/// # Errors
/// [`CompileError::Refused`] for what is malformed, unsupported or has no text; [`CompileError::OverBudget`].
pub fn lower(constraint: &Constraint, budget: &Budget) -> Result<Lowered, CompileError> {
    budget.holding(|| lowered(constraint, None, budget), |lowered| lowered.dfa.bytes())
}

/// As [`lower`], over a vocabulary, in which token edges have their ids.
///
/// # Errors
/// As for [`lower`]; a refusal of tokens that the vocabulary lacks.
pub fn lower_over(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    budget: &Budget,
) -> Result<Lowered, CompileError> {
    budget.holding(|| lowered(constraint, Some(vocabulary), budget), |lowered| lowered.dfa.bytes())
}

fn lowered(
    constraint: &Constraint,
    vocabulary: Option<&Vocabulary>,
    budget: &Budget,
) -> Result<Lowered, CompileError> {
    let classes = &constraint.token_classes;
    check_classes(classes, budget)?;
    let mut tokens = None;
    let text_start = constraint.text_start;
    let kind = constraint.kind();
    let enforcing =
        |why: String| Report { enforced: vec![ReportEntry::whole(kind, why)], ..Report::default() };
    let (dfa, mut report) = match &constraint.source {
        Source::Regex { pattern, mode, dialect, and, not } => {
            let language = regex::language((pattern, classes), *mode, *dialect, (and, not), budget)?;
            let mut report = enforcing("exactly as written".to_owned());
            report.enforced.extend(regex::options(*dialect, and.len(), not.len()));
            report.notes = if *dialect == RegexDialect::Rust { misread(pattern) } else { Vec::new() };
            let dfa = match with_tokens(&language, classes, budget)? {
                None => Dfa::language(language, text_start, budget)?,
                Some(mut grammar) => {
                    tokens = resolve(&mut grammar, vocabulary, budget)?;
                    Dfa::grammar(&grammar, text_start, budget)?
                }
            };
            (dfa, report)
        }
        Source::Choice { items } => {
            (Dfa::choice(items, text_start, budget)?, enforcing("exactly one of the items".to_owned()))
        }
        Source::Grammar { start, lexer, indentation, .. } => {
            let written = Written::of(constraint).expect("it is a grammar");
            let mut read = written.read_with(Some(&embedded), budget)?;
            if let Texts::Rules(grammar) = &mut read.texts {
                tokens = resolve(grammar, vocabulary, budget)?;
            }
            let mut report = Report {
                narrowed: read.narrowed,
                notes: read.notes,
                ..enforcing(format!("exactly the texts of the rule {start}"))
            };
            if let Some(lexer) = lexer {
                report.enforced.push(ReportEntry::whole("lexer", lexer.to_string()));
            }
            if read.is_indented {
                report.enforced.push(ReportEntry::whole("indentation", indentation.to_string()));
            }
            (read.texts.dfa(text_start, budget)?, report)
        }
        Source::Json { whitespace, numbers, nesting } => {
            let dfa = match nesting {
                None => Dfa::grammar(&json(*whitespace, *numbers), text_start, budget)?,
                Some(nesting) => {
                    let texts = Language::expr(&truncated(*whitespace, *numbers, *nesting, budget)?, budget)?;
                    Dfa::language(texts, text_start, budget)?
                }
            };
            let report = enforcing("any JSON value (RFC 8259)".to_owned());
            (dfa, Report { narrowed: narrowed(*whitespace, *numbers, *nesting), ..report })
        }
        Source::Tag { format, special_text, options } => {
            let special_text = *special_text;
            let is_outline = false;
            let input = tags::Input { format, special_text, options, classes, vocabulary, is_outline };
            let (mut grammar, report) = tags::tag(&input, budget)?;
            tokens = resolve(&mut grammar, vocabulary, budget)?;
            (Dfa::grammar(&grammar, text_start, budget)?, report)
        }
        Source::Schema { schema: text, options } => {
            let read = if constraint.tokenization.is_any() { schema } else { schema_by_states };
            let (grammar, report) = read(text, options, budget)?;
            (Dfa::grammar(&grammar, text_start, budget)?, report)
        }
    };
    let dfa = if constraint.stop.is_empty() { dfa } else { stopping(&dfa, constraint, budget)? };
    if dfa.is_empty() {
        let (place, reason) = (format!("the whole {kind}"), "no text matches it");
        let looks = matches!(&constraint.source, Source::Regex { pattern, .. } if pattern.contains("(?=") || pattern.contains("(?<="));
        return Err(CompileError::refuse(RefusalKind::Unsatisfiable, place, reason).advising(if looks {
            LOOKS_READ_NOTHING
        } else {
            ""
        }));
    }
    if text_start == TextStart::StripOneSpace {
        let why = "of what is left when one leading space is dropped";
        report.enforced.push(ReportEntry::whole("text_start", why));
    }
    if !constraint.stop.is_empty() {
        let phrases: Vec<String> = constraint.stop.iter().map(|phrase| format!("{phrase:?}")).collect();
        let why = format!("a text ends behind the first occurrence of {}", phrases.join(", "));
        report.enforced.push(ReportEntry::whole("stop", why));
    }
    Ok(Lowered { dfa, report, tokens })
}

/// Texts that end behind the first of some phrases.
fn stopping(dfa: &Dfa, constraint: &Constraint, budget: &Budget) -> Result<Dfa, CompileError> {
    if constraint.stop.iter().any(String::is_empty) {
        let reason = "a stop phrase is the empty text, which stands before everything";
        return Err(CompileError::refuse(RefusalKind::Malformed, "the stop phrases", reason));
    }
    let Some(dfa) = dfa.expand_calls(budget)? else {
        let reason = "a rule calls itself or counts tokens, and such texts are not cut at a phrase";
        return Err(CompileError::refuse(RefusalKind::Unsupported, "the stop phrases", reason));
    };
    dfa.stopping(&constraint.stop, budget)
}

#[cfg(test)]
mod tests {
    use gobo_types::{CompileLimits, Limit};

    use super::*;

    fn budget() -> Budget {
        Budget::new(CompileLimits::default())
    }

    fn dfa(constraint: &Constraint) -> Dfa {
        lower(constraint, &budget()).unwrap().dfa
    }

    #[test]
    fn one_leading_space_is_dropped_and_no_more() {
        for (pattern, accepted, refused) in [
            ("ab", vec!["ab", " ab"], vec!["  ab", "a b", " "]),
            (" ab", vec!["  ab"], vec!["ab", " ab"]),
            (" *", vec!["", " ", "  "], vec!["a"]),
            ("|a", vec!["", " ", "a", " a"], vec!["  "]),
            ("(ab)*", vec!["", "ab", " abab"], vec!["ab ab", "  "]),
        ] {
            let dfa = dfa(&Constraint::regex(pattern).starting(TextStart::StripOneSpace));
            assert!(accepted.iter().all(|text| dfa.accepts(text.as_bytes())), "{pattern}");
            assert!(!refused.iter().any(|text| dfa.accepts(text.as_bytes())), "{pattern}");
        }
    }

    #[test]
    fn a_choice_is_the_regex_of_its_alternatives() {
        let items = ["", "a", "ab", "abc", "xbc", "bc", "é", "中文", "a.b"];
        let pattern = items.map(|item| item.replace('.', "\\.")).join("|");
        assert_eq!(dfa(&Constraint::choice(items)), dfa(&Constraint::regex(pattern)));
    }

    /// Thousands of wide characters that each lead to a state of their own.
    #[test]
    fn a_start_with_an_exit_for_each_character_keeps_them_apart() {
        let chars: Vec<char> = ('\u{4e00}'..='\u{6500}').collect();
        let item = |at: usize| format!("{}{at:04}", chars[at]);
        let dfa = dfa(&Constraint::choice((0..chars.len()).map(item)));
        for at in 0..chars.len() {
            assert!(dfa.accepts(item(at).as_bytes()));
            let other = format!("{}{:04}", chars[at], (at + 1) % chars.len());
            assert!(!dfa.accepts(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn every_alternative_is_alive() {
        let dfa = dfa(&Constraint::regex("a|ab"));
        assert!(dfa.accepts(b"a") && dfa.accepts(b"ab") && !dfa.accepts(b"abb") && !dfa.accepts(b""));
    }

    #[test]
    fn anchors_are_exact_anywhere() {
        for (pattern, accepted, refused) in [
            ("^abc$", vec!["abc"], vec!["", "ab", "xabc"]),
            ("(^a|b)*", vec!["", "a", "ab", "bb", "abb"], vec!["aa", "ba"]),
            (r"(a$|b)*", vec!["", "a", "ba", "bb"], vec!["ab", "aa"]),
            (r"\A(|$)(^|x)\z", vec!["", "x"], vec!["xx"]),
            ("a(^b|c)", vec!["ac"], vec!["ab", "b"]),
            ("$^", vec![""], vec!["a"]),
        ] {
            let dfa = dfa(&Constraint::regex(pattern));
            assert!(accepted.iter().all(|text| dfa.accepts(text.as_bytes())), "{pattern}");
            assert!(!refused.iter().any(|text| dfa.accepts(text.as_bytes())), "{pattern}");
        }
        assert!(matches!(
            lower(&Constraint::regex("a^b"), &budget()),
            Err(CompileError::Refused(refusal)) if refusal.kind == RefusalKind::Unsatisfiable
        ));
    }

    #[test]
    fn a_search_matches_anywhere_and_anchors_still_hold() {
        let dfa = dfa(&Constraint::search("^a|b$|c"));
        for (text, expected) in
            [("ax", true), ("xb", true), ("xcx\n", true), ("xa", false), ("bx", false), ("", false)]
        {
            assert_eq!(dfa.accepts(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn refusals_name_the_construct_and_its_place() {
        for (pattern, kind, place, word) in [
            (r"a\bc", RefusalKind::Unsatisfiable, "the whole regex", "no text"),
            ("é(?>a)", RefusalKind::Unsupported, "offset 4", "an atomic group"),
            ("(a)(?1)", RefusalKind::Unsupported, "offset 5", "the call of a group"),
            ("(?P<x>a)(?P=x)", RefusalKind::Unsupported, "offset 10", "a backreference"),
            ("(a)?(?(1)b|c)", RefusalKind::Unsupported, "offset 6", "a condition on a group"),
            (r"(?=a)(b)\1", RefusalKind::Unsupported, "offset 8", "backreference"),
            (r"(a)\1", RefusalKind::Unsupported, "offset 3", "backreference"),
            ("a\0b", RefusalKind::Malformed, "offset 1", "NUL"),
            ("[z-a]", RefusalKind::Malformed, "offset 1", "range"),
            ("abc((a)", RefusalKind::Malformed, "offset 3", "group"),
            (r"(?-u:\xff)", RefusalKind::Unsupported, "offset 5", "UTF-8"),
        ] {
            match lower(&Constraint::regex(pattern), &budget()) {
                Err(CompileError::Refused(refusal)) => {
                    assert_eq!((refusal.kind, refusal.place.as_str()), (kind, place), "{pattern}: {refusal}");
                    assert!(refusal.reason.contains(word), "{pattern}: {refusal}");
                }
                other => panic!("{pattern}: {other:?}"),
            }
        }
    }

    #[test]
    fn refusals_of_patterns_say_what_to_do_next() {
        for (pattern, help) in [
            ("(?<=a(?=b))b", "after the look-behind"),
            (r"(a)\1", "aa|bb"),
            ("a{,5}", "{0,5}"),
            ("(?>a)", "(?:…)"),
            ("(?#x)a", "comment"),
            (r"a\Z", r"\z"),
            (r"\Qa\E", "backslash"),
            (r"\h", r"[ \t]"),
            (r"\p{Foo}", r"\p{L}"),
            ("[b-a]", "lower character first"),
            ("(a", r"\("),
            ("a)", r"\)"),
            ("[a", r"\["),
            ("*a", "backslash"),
            ("(?-u:.)", "(?-u)"),
        ] {
            match lower(&Constraint::regex(pattern), &budget()) {
                Err(CompileError::Refused(refusal)) => {
                    assert!(refusal.help.contains(help), "{pattern}: {refusal} {:?}", refusal.help);
                    assert!(refusal.span.is_some(), "{pattern}");
                }
                other => panic!("{pattern}: {other:?}"),
            }
        }
    }

    #[test]
    fn killers_end_in_verdicts() {
        let deep = format!("{}a{}", "(".repeat(60_000), ")".repeat(60_000));
        assert!(matches!(lower(&Constraint::regex(deep), &budget()), Err(CompileError::Refused(_))));
        for pattern in ["(a|b)*a(a|b){25}", "a{1000000}", "((a{1000}){1000}){1000}", r"(\w{1000}){1000}"] {
            let result = lower(&Constraint::regex(pattern), &budget());
            assert!(matches!(result, Err(CompileError::OverBudget(_))), "{pattern}");
        }
        // A megabyte of pattern that stands for a gigabyte of ranges.
        let classes = r"\pL".repeat(300_000);
        assert!(matches!(lower(&Constraint::regex(classes), &budget()), Err(CompileError::OverBudget(_))));
        let tight = Budget::new(CompileLimits { max_states: 10, ..CompileLimits::default() });
        match lower(&Constraint::choice(["abcdefghijklmnop"]), &tight) {
            Err(CompileError::OverBudget(over)) => {
                assert_eq!((over.limit, over.given), (Limit::MaxStates, 10));
            }
            other => panic!("{other:?}"),
        }
    }
}
