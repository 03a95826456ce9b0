//! Ambiguous grammars in which strings are counted: several counts and bounds in one state at once, on stacks that are joined, against
//! Earley's recogniser for the same grammars with all lengths written out.

use std::collections::HashMap;

use gobo_artifact::{Index, IndexClass, Matcher};
use gobo_automata::{Dfa, Expr, Grammar, Lowered, Rule, RuleId};
use gobo_compiler::CompileOptions;
use gobo_types::{Budget, CompileLimits, Constraint, LengthRange, Report, TextStart};

use crate::ambiguity::{next, walk, within_limits};
use crate::judge::{Judge, Words};
use crate::subject::vocabulary_of;

/// Alternatives of the one rule `R`, whose parts have blanks between them: `x0-3` and `p0-3` are counted bodies of strings, with bounds;
/// all else is text.
const GRAMMARS: [&str; 10] = [
    // Any number of levels may be open.
    r#"" x0-3 " R R | " x0-3 ""#,
    // Other bounds of the same body, other bodies, and the same count at another byte.
    r#"" x0-2 " R | " x1-4 " R R | "a x0-3 " | " p0-4 " R"#,
    r#"" x0-1 " R " x2- " | " x1-3 " R " x0-2 " | " x0-3 ""#,
    // Six counts in one state.
    r#"" x1-9 " | "a x0-9 " R R | "aa x0-9 " R | "aaa x0-9 " R R | "aab x1-7 " | "b x2-9 " R R R | "ab x0-8 " R"#,
    // Two parts of one string.
    r#"[ R | [ R ] | " x0-4 . x0-2 " | " x1-3 " R | " p0-2 . x1-2 " R R"#,
    // Bounds that no token reaches at first.
    r#"" x0-40 " R R | "ab x20-30 " R R | "aa x25- " | " x0-35 " | "b x0-33 " R"#,
    r#"R R | " x0-3 " | "a x0-3 " | " p0-3 ""#,
    r#"" x0-3 " R ] R | [ R | " x0-3 " | "a x1-3 " R"#,
    // Rules that end with one.
    r"[ R ] | , x0-3 | . R , p0-4 | [ R R ] | ] x1-40",
    r"[ R | , x0-3 | . x1-2",
];

/// What a part of an alternative is.
enum Part<'a> {
    Text(&'a str),
    Root,
    /// A body and its bounds: characters of a few, or pairs.
    Counted {
        pairs: bool,
        lengths: LengthRange,
    },
}

fn part(text: &str) -> Part<'_> {
    let bounds = |text: &str| {
        let (min, max) = text.split_once('-')?;
        Some(LengthRange { min: min.parse().ok()?, max: max.parse().ok(), head: None, tokens: None })
    };
    let counted = |pairs, lengths| Part::Counted { pairs, lengths };
    match (text, text.strip_prefix('x').and_then(bounds), text.strip_prefix('p').and_then(bounds)) {
        ("R", ..) => Part::Root,
        (_, Some(lengths), _) => counted(false, lengths),
        (_, _, Some(lengths)) => counted(true, lengths),
        _ => Part::Text(text),
    }
}

fn alternatives(grammar: &str) -> impl Iterator<Item = impl Iterator<Item = Part<'_>>> {
    grammar.split('|').map(|alternative| alternative.split_whitespace().map(part))
}

/// The grammar with all lengths written out.
fn written_out(grammar: &str) -> Constraint {
    let write = |part| match part {
        Part::Text(text) => format!("{text:?}"),
        Part::Root => "root".to_owned(),
        Part::Counted { pairs: true, lengths: LengthRange { max, .. } } => {
            format!(r#"("ab"){{0,{}}}"#, max.expect("pairs have a bound") / 2)
        }
        Part::Counted { pairs: false, lengths: LengthRange { min, max, .. } } => {
            let max = max.map(|max| max.to_string()).unwrap_or_default();
            format!(r#"([ab] | "é" | "\\n"){{{min},{max}}}"#)
        }
    };
    let all = alternatives(grammar).map(|parts| parts.map(write).collect::<Vec<_>>().join(" "));
    Constraint::gbnf(format!("root ::= {}", all.collect::<Vec<_>>().join(" | ")), "root")
}

/// The same with rules that are counted.
fn counted(grammar: &str) -> Grammar {
    let root = RuleId::of(0);
    let chars = Expr::Alternate(["a", "b", "é", "\\n"].map(Expr::text).to_vec()).repeat(0, None);
    let mut rules = vec![Rule { name: "root".to_owned(), expr: Expr::text(""), lengths: None }];
    let mut expr = |part: Part<'_>| match part {
        Part::Text(text) => Expr::text(text),
        Part::Root => Expr::Call(root),
        Part::Counted { pairs, lengths } => {
            let expr = if pairs { Expr::text("ab").repeat(0, None) } else { chars.clone() };
            let number = u32::try_from(rules.len()).expect("few rules");
            rules.push(Rule { name: "characters".to_owned(), expr, lengths: Some(lengths) });
            Expr::Call(RuleId::of(number))
        }
    };
    let all = alternatives(grammar).map(|parts| Expr::Concat(parts.map(&mut expr).collect())).collect();
    rules[0].expr = Expr::Alternate(all);
    Grammar { rules, start: root, called: Vec::new(), families: Vec::new(), tokens: Vec::new() }
}

fn words() -> Words {
    Words::of(&[
        b"\"a",
        b"\"aa",
        b"aa",
        b"ab",
        b"aab",
        b"abab",
        b"aaaaa",
        "aébé".as_bytes(),
        "é\"".as_bytes(),
        b"\xa9a",
        b"\"\\",
        b"na",
        b"a\\n",
        b"b\"",
        b"\"\"",
        b"a\"\"",
        b"aa\"\"b",
        b"\"a\"\"aab",
        b"\"\"\"\"",
        b"a.",
        b".b\"\"",
        b"]\"",
        b"[[\"",
        b"\"]",
        b",a",
        b"a]",
        b"[,ab]",
        b"aa]]]",
        b"].a",
    ])
}

fn matcher(judge: &Judge, grammar: &str) -> Matcher {
    let budget = Budget::new(CompileLimits::default());
    let dfa = Dfa::grammar(&counted(grammar), TextStart::Exact, &budget).unwrap();
    let vocabulary = vocabulary_of(&judge.tokens);
    let lowered = Lowered { dfa, report: Report::default(), tokens: None };
    // The constraint is a name alone: what is compiled is the automaton.
    let compiled =
        gobo_compiler::compile(&vocabulary, &judge.constraint, &lowered, &CompileOptions::default(), &budget);
    let compiled = compiled.unwrap_or_else(|error| panic!("{grammar}: {error}"));
    let index = Index::from_bytes(compiled.bytes()).unwrap();
    index.verify().unwrap();
    Matcher::new(index.into(), vocabulary, &judge.binding).unwrap()
}

/// What was met on the way along texts, in prefixes.
#[derive(Debug, Default)]
struct Met {
    /// One state had two counts at once.
    counts: usize,
    /// One state had one count with two bounds.
    bounds: usize,
    /// More configurations in a counted rule than have plain stacks.
    joined: usize,
}

impl Met {
    /// Reads a text once more, by bytes.
    fn along(&mut self, start: &Matcher, text: &[u8]) {
        let mut matcher = start.clone();
        for (at, &byte) in text.iter().enumerate() {
            matcher.advance_bytes(&[byte]).unwrap();
            let (all, counts) = (matcher.configurations(64), matcher.counts(64));
            assert_eq!(all.len(), counts.len());
            let mut by_state: HashMap<u32, Vec<(u32, LengthRange)>> = HashMap::new();
            for ((state, _), count) in all.into_iter().zip(counts) {
                if let Some(count) = count {
                    by_state.entry(state).or_default().push(count);
                }
            }
            let differ = |two: &[(u32, LengthRange)]| two[0].0 != two[1].0;
            let bounds = |two: &[(u32, LengthRange)]| two[0].0 == two[1].0 && two[0].1 != two[1].1;
            for of_state in by_state.values_mut() {
                of_state.sort_unstable();
                self.counts += usize::from(of_state.windows(2).any(differ));
                self.bounds += usize::from(of_state.windows(2).any(bounds));
                self.joined += usize::from(of_state.len() > 4);
            }
            if at % 16 == 0 {
                let mut mask = vec![0; matcher.mask_words()];
                matcher.fill(&mut mask).unwrap();
                for id in 0..matcher.vocabulary().len() {
                    assert_eq!(matcher.allows(id), mask[id as usize / 32] >> (id % 32) & 1 == 1, "{id}");
                }
            }
        }
    }
}

fn check(grammar: &str, words: &Words, bytes: usize, seeds: std::ops::Range<u32>, met: &mut Met) {
    let mut judge = Judge::new(&written_out(grammar), words);
    let matcher = matcher(&judge, grammar);
    for seed in seeds {
        let text = walk(&mut judge, &matcher, 0, bytes, seed);
        met.along(&matcher, &text.unwrap_or_else(|error| panic!("{grammar}\n{error}")));
        let (depth, nodes) = (seed % 5, seed % 23);
        within_limits(&judge, &matcher, depth, nodes, seed)
            .unwrap_or_else(|error| panic!("{grammar}\n{error}"));
    }
}

#[test]
fn counted_strings_under_several_configurations() {
    let words = words();
    let mut met = Met::default();
    for grammar in GRAMMARS {
        check(grammar, &words, 120, 1..6, &mut met);
    }
    assert!(met.counts >= 100 && met.bounds >= 100 && met.joined >= 100, "{met:?}");
}

/// A rule of random alternatives of strings, brackets and calls, and one that ends.
fn random_grammar(mut seed: u32) -> String {
    const STRINGS: [&str; 10] = [
        "\" x0-3 \"",
        "\" x0-2 \"",
        "\" x1-4 \"",
        "\"a x0-3 \"",
        "\"a x1- \"",
        "\"ab x0-6 \"",
        "\"é x2-5 \"",
        "\" p0-4 \"",
        "\"a p0-5 \"",
        "\" x0-2 . x1-3 \"",
    ];
    let mut random = |below: usize| next(&mut seed) as usize % below;
    let mut all = vec![STRINGS[random(STRINGS.len())].to_owned()];
    for _ in 0..2 + random(4) {
        let mut parts = Vec::new();
        for _ in 0..=random(4) {
            parts.push(match random(8) {
                0 => "[",
                1 => "]",
                2..=4 => "R",
                _ => STRINGS[random(STRINGS.len())],
            });
        }
        all.push(parts.join(" "));
    }
    all.join(" | ")
}

#[test]
fn random_grammars_of_counted_strings() {
    let words = words();
    let (mut met, mut ambiguous) = (Met::default(), 0);
    for seed in 1..=24 {
        let grammar = random_grammar(seed * 7_919);
        let judge = Judge::new(&written_out(&grammar), &words);
        ambiguous += usize::from(matcher(&judge, &grammar).index().class() == IndexClass::Ambiguous);
        check(&grammar, &words, 60, seed..seed + 2, &mut met);
    }
    assert!(ambiguous >= 12, "{ambiguous}");
    assert!(met.counts >= 40 && met.bounds >= 40 && met.joined >= 40, "{met:?}");
}
