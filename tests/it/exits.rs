//! Rules with several exits: random grammars with families against Earley's recogniser, and what exits are for.

use std::collections::BTreeMap;

use gobo_artifact::{Index, IndexClass, Matcher};
use gobo_automata::{Dfa, Expr, Grammar, Lowered, Rule, RuleId};
use gobo_compiler::CompileOptions;
use gobo_types::{Budget, CompileLimits, Constraint, Report, TextStart};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;

use crate::cases::config;
use crate::judge::{Judge, Place, Taken, Words};
use crate::subject::vocabulary_of;

/// Rules as lines `name: part part | part`. A part that is no name of a rule is text, with `_` for a space. Rules whose names begin with one letter
/// are a family, but for the first rule, the start.
struct Rules(Vec<(String, Vec<Vec<String>>)>);

impl Rules {
    fn of(lines: &str) -> Self {
        let rule = |line: &str| {
            let (name, alternatives) = line.split_once(':').expect("a name");
            let parts = |of: &str| of.split_whitespace().map(str::to_owned).collect();
            (name.trim().to_owned(), alternatives.split('|').map(parts).collect())
        };
        Self(lines.lines().filter(|line| !line.trim().is_empty()).map(rule).collect())
    }

    fn rule(&self, part: &str) -> Option<usize> {
        self.0.iter().position(|(name, _)| name == part)
    }

    /// As the oracle reads it, which knows of no families.
    fn written(&self) -> Constraint {
        let part = |part: &String| match self.rule(part) {
            Some(_) => part.clone(),
            None => format!("{:?}", part.replace('_', " ")),
        };
        let parts = |parts: &Vec<String>| match parts.as_slice() {
            [] => "\"\"".to_owned(),
            parts => parts.iter().map(part).collect::<Vec<_>>().join(" "),
        };
        let rule = |(name, all): &(String, Vec<Vec<String>>)| {
            format!("{name} ::= {}", all.iter().map(parts).collect::<Vec<_>>().join(" | "))
        };
        let rules: Vec<String> = self.0.iter().map(rule).collect();
        Constraint::gbnf(rules.join("\n"), self.0[0].0.as_str())
    }

    fn grammar(&self, has_families: bool) -> Grammar {
        let part = |part: &String| match self.rule(part) {
            Some(rule) => Expr::Call(RuleId::of(u32::try_from(rule).expect("few rules"))),
            None => Expr::text(part.replace('_', " ")),
        };
        let parts = |parts: &Vec<String>| Expr::Concat(parts.iter().map(part).collect());
        let rules = self.0.iter().map(|(name, all)| Rule {
            name: name.clone(),
            expr: Expr::Alternate(all.iter().map(parts).collect()),
            lengths: None,
        });
        let mut families: BTreeMap<&str, Vec<RuleId>> = BTreeMap::new();
        for (number, (name, _)) in (0..).zip(&self.0).skip(1) {
            families.entry(&name[..1]).or_default().push(RuleId::of(number));
        }
        let families = families.into_values().filter(|_| has_families);
        Grammar {
            rules: rules.collect(),
            start: RuleId::of(0),
            called: Vec::new(),
            tokens: Vec::new(),
            families: families.collect(),
        }
    }

    /// A matcher at the start; `None` where no text is one.
    fn matcher(&self, judge: &Judge, has_families: bool) -> Option<Matcher> {
        let budget = Budget::new(CompileLimits::default());
        let dfa = Dfa::folded(&self.grammar(has_families), TextStart::Exact, &budget).unwrap();
        if dfa.is_empty() {
            return None;
        }
        let vocabulary = vocabulary_of(&judge.tokens);
        let lowered = Lowered { dfa, report: Report::default(), tokens: None };
        let options = CompileOptions::default();
        // The constraint is a name alone: what is compiled is the automaton.
        let compiled = gobo_compiler::compile(&vocabulary, &judge.constraint, &lowered, &options, &budget);
        let compiled = compiled.unwrap_or_else(|error| panic!("{:?}: {error}", judge.constraint));
        let index = Index::from_bytes(compiled.bytes()).unwrap();
        index.verify().unwrap();
        Some(Matcher::new(index.into(), vocabulary, &judge.binding).unwrap())
    }
}

fn words() -> Words {
    Words::of(&[
        b"ab",
        b"a(",
        b"))",
        b"()",
        b")b",
        b"a,",
        b",a",
        b"b)a",
        b"((",
        b"aab",
        b"ba",
        b"a)),",
        "éa".as_bytes(),
        b"a\xc3",
        b"\xa9,",
        b" x",
        b"a ;",
        b");",
        b";)",
        b"a););",
    ])
}

/// A walk over allowed tokens, with the mask at each place.
fn walk(judge: &mut Judge, start: &Matcher, tokens: usize, mut seed: u32) -> Result<u64, TestCaseError> {
    let (mut matcher, mut place) = (start.clone(), judge.start());
    let mut most = 0;
    for _ in 0..tokens {
        judge.check(place, &matcher)?;
        most = most.max(matcher.configuration_count());
        let Place::At(set) = place else { break };
        let ids = judge.sorted.allowed(&mut judge.earley, set);
        if ids.is_empty() {
            break;
        }
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let id = ids[(seed >> 8) as usize % ids.len()];
        match judge.take(place, &mut matcher, id)? {
            Taken::To(next) => place = next,
            Taken::Refused => return Err(TestCaseError::fail(format!("token {id} was refused"))),
        }
    }
    Ok(most)
}

const NAMES: [&str; 7] = ["r", "e0", "e1", "e2", "f0", "f1", "g0"];

fn rules() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        5 => select(vec!["a", "b", "(", ")", ",", "é", "ab", "a)"]),
        5 => select(NAMES[1..].to_vec()),
        1 => select(vec!["r"]),
    ];
    let shape = select(vec![
        "( e0 , ) | ( e1 ) | a",
        "a e0 | b",
        "a e1 | ( e0 ) | b",
        "e0 a | b",
        "a | a a",
        "( r )",
        "e2 b | a",
        "",
        "e0 , e1 | a",
        "( e0 ) b | ( e1 ) a | ( e2 )",
        "f0 e0 | f1 e1 | a",
        "f0 | f1 b | ( e0 )",
    ]);
    let alternative = vec(part, 1..4).prop_map(|parts| parts.join(" "));
    let free = vec(alternative, 1..4).prop_map(|all| all.join(" | "));
    let rule = prop_oneof![
        3 => free.clone(),
        2 => (shape, free).prop_map(|(shape, free)| format!("{shape} | {free}")),
    ];
    vec(rule, NAMES.len()).prop_map(|rules| {
        let lines = NAMES.iter().zip(rules).map(|(name, rule)| format!("{name}: {rule}\n"));
        lines.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { source_file: Some(file!()), ..config(60) })]

    /// Every token at every prefix, and along walks: texts are those of the rules, whatever families they are of.
    #[test]
    fn random_families(lines in rules(), seed in any::<u32>()) {
        let rules = Rules::of(&lines);
        let mut judge = Judge::new(&rules.written(), &words());
        prop_assume!(judge.tokens.len() > 24);
        if let Some(matcher) = rules.matcher(&judge, true) {
            judge.explore(matcher.clone(), 8).map_err(|error| TestCaseError::fail(format!("{lines}{error}")))?;
            for walked in 0..3 {
                walk(&mut judge, &matcher, 24, seed.wrapping_add(walked)).map_err(|error| TestCaseError::fail(format!("{lines}{error}")))?;
            }
        } else {
            prop_assert!(!judge.earley.is_satisfiable());
        }
    }
}

/// As a lexer has it: behind a name a keyword needs a space, and behind a bracket none.
const NAMES_AND_BRACKETS: &str = "
    r: e0 _x | e1 x
    e0: a | a e0 | g0 , e0 | h0 , e0
    e1: ( e0 _; ) | ( e1 ; ) | g0 , e1 | h0 , e1
    g0: ( e0 _; ) | ( e1 ; )
    h0: a | a h0
";

/// Where exits are nested in exits, and one leads to another.
const NESTED: &str = "
    r: e0 ) | e1 , | ( r )
    e0: f0 a | f1 b | ( e0 ) e0 | ( e1 , e1
    e1: f0 b | f1 a | ( e0 ) e1 | ( e1 , e0
    f0: a | a f0 | ( e0 ) f0
    f1: a b | a f1 | ( e1 ) f1
";

/// One text is of two rules.
const IN_COMMON: &str = "
    r: e0 , r | e1 ) r | e2 a | b
    e0: a | ( e0 ) | ( e1 )
    e1: a | a a | ( e1 ) | ( e2 )
    e2: a a | a | ( e2 )
";

#[test]
fn exits_decide_what_callers_guess() {
    for (lines, is_deterministic) in [(NAMES_AND_BRACKETS, true), (NESTED, false), (IN_COMMON, false)] {
        let rules = Rules::of(lines);
        let mut judge = Judge::new(&rules.written(), &words());
        let [folded, guessed] = [true, false].map(|has| rules.matcher(&judge, has).unwrap());
        if is_deterministic {
            assert_eq!(folded.index().class(), IndexClass::Deterministic, "{lines}");
        }
        assert_eq!(guessed.index().class(), IndexClass::Ambiguous, "{lines}");
        let (mut with, mut without) = (0, 0);
        for seed in 0..12 {
            with = with
                .max(walk(&mut judge, &folded, 60, seed).unwrap_or_else(|error| panic!("{lines}{error}")));
            without = without.max(walk(&mut judge, &guessed, 60, seed).unwrap());
        }
        assert!(with < without, "{with} and {without} configurations\n{lines}");
    }
}
