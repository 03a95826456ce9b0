//! Random grammars over random vocabularies against Earley's recogniser.

use std::cell::Cell;

use gobo_artifact::{Matcher, MatcherError};
use gobo_oracle::Segmenter;
use gobo_types::{Constraint, TokenId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseError, TestRunner};

use crate::cases::config;
use crate::drafts;
use crate::judge::{Judge, Place, Taken, Verdict, Words};
use crate::matcher_steps::{Step, step};
use crate::subject::allowed;

/// What tokens and texts are made of: the characters of the grammars, one other, and pieces of one.
const PIECES: [&[u8]; 11] =
    [b"a", b"b", b"(", b")", "é".as_bytes(), b",", b"ab", b"))", b"\xc3", b"\xa9", b"x"];

pub(crate) fn words() -> impl Strategy<Value = Words> {
    let piece = || select(PIECES.to_vec());
    let word = vec(piece(), 1..=5).prop_map(|parts| (parts.concat(), false));
    let silent =
        select(vec![(vec![], false), (b"<s>".to_vec(), true), (vec![], true), (b"a".to_vec(), true)]);
    // One word that is always there, since a vocabulary of special tokens alone is refused.
    (vec(word, 1..20), vec(any::<Index>(), 0..4), vec(silent, 0..4), any::<bool>(), 0..40_u32, 0..3_usize)
        .prop_map(|(mut words, repeated, silent, bytes_first, padding, eos)| {
            let again: Vec<_> = repeated.iter().map(|index| index.get(&words).clone()).collect();
            words.extend(again.into_iter().chain(silent));
            Words { list: words, bytes_first, padding, eos }
        })
}

const NAMES: [&str; 4] = ["root", "s", "t-1", "u"];

fn leaf() -> impl Strategy<Value = String> {
    let literals = vec!["\"a\"", "\"b\"", "\"(\"", "\")\"", "\"é\"", "\",\"", "\"ab\"", "\")(\"", "\"aba\""];
    prop_oneof![
        12 => select(literals),
        2 => select(vec!["[ab]", "[a-bé]", "[()]", "[^\\x00-`c-\\U0010ffff]"]),
        1 => select(vec!["[^a]", ".", "[^()ab]"]),
        1 => select(vec!["\"\"", r"[^\x00-\U0010FFFF]"]),
        10 => select(NAMES.to_vec()),
    ]
    .prop_map(str::to_owned)
}

fn element() -> impl Strategy<Value = String> {
    let times = vec!["*", "+", "?", "{2}", "{0,2}", "{1,}", "{1,3}", "{0}", "{2}?"];
    leaf().prop_recursive(2, 6, 3, move |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 1..4).prop_map(|parts| format!("({})", parts.join(" "))),
            3 => vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" | "))),
            3 => (vec(inner.clone(), 1..3), select(times.clone()))
                .prop_map(|(parts, times)| format!("({}){times}", parts.join(" "))),
            1 => inner.prop_map(|part| format!("({part} |)")),
        ]
    })
}

/// Nothing may stand empty at the end of a line: behind `::=` and `|` a rule goes on in the next one.
fn rule() -> impl Strategy<Value = String> {
    let alternative = vec(element(), 1..4).prop_map(|parts| parts.join(" "));
    (vec(alternative, 1..4), select(vec!["", "", "", "", "", "| "]))
        .prop_map(|(alternatives, first)| format!("{first}{}", alternatives.join(" | ")))
}

/// Rules that refer to each other at random, and the shapes that recursion is known for with random parts in them.
pub(crate) fn grammar() -> impl Strategy<Value = String> {
    let shape = select(vec![
        "root X | Y",
        "s root X | Y",
        "s X | Y",
        "\"a\" root (Y)? | X",
        "X root X | Y root Y | Z",
        "\"(\" root \")\" X | Y",
        "root X root | Y",
        "(\"(\" root \")\" | \"[\" X \"]\")* Y",
        "X root | X root Y root | Z",
        "s s X root | Y",
    ]);
    let shaped = (shape, element(), element(), element()).prop_map(|(shape, x, y, z)| {
        // None of the parts has a capital letter of its own.
        shape.replace('X', &x).replace('Y', &y).replace('Z', &z)
    });
    let other = prop_oneof![
        6 => rule(),
        1 => element().prop_map(|part| format!("| {part}")),
        1 => element().prop_map(|part| format!("root {part} | \"b\"")),
        1 => element().prop_map(|part| format!("s {part} | \"a\"")),
        1 => select(NAMES.to_vec()).prop_map(str::to_owned),
    ];
    (prop_oneof![rule(), shaped], vec(other, NAMES.len() - 1)).prop_map(|(root, others)| {
        let rules = NAMES.iter().zip(std::iter::once(root).chain(others));
        rules.map(|(name, rule)| format!("{name} ::= {rule}")).collect::<Vec<_>>().join("\n")
    })
}

#[derive(Debug, Clone)]
struct Case {
    grammar: String,
    words: Words,
    steps: Vec<Step>,
    texts: Vec<Vec<u8>>,
}

fn case() -> impl Strategy<Value = Case> {
    let text = vec(select(PIECES.to_vec()), 0..8).prop_map(|parts| parts.concat());
    (grammar(), words(), vec(step(), 1..40), vec(text, 1..8))
        .prop_map(|(grammar, words, steps, texts)| Case { grammar, words, steps, texts })
}

/// A matcher against the plain list of the places it has been at.
struct Walk<'a> {
    judge: &'a mut Judge,
    matcher: Matcher,
    /// The start, then the place after each token.
    places: Vec<Place>,
}

impl Walk<'_> {
    fn here(&self) -> Place {
        *self.places.last().expect("the start is never taken back")
    }

    fn take(&mut self, id: TokenId) -> Result<(), TestCaseError> {
        if let Taken::To(next) = self.judge.take(self.here(), &mut self.matcher, id)? {
            self.places.push(next);
        }
        Ok(())
    }

    /// How far `ids` go, one after the other on a copy.
    fn validate(&mut self, ids: &[TokenId]) -> Result<(), TestCaseError> {
        let (mut stepped, mut place, mut count) = (self.matcher.clone(), self.here(), 0);
        for &id in ids {
            let Taken::To(next) = self.judge.take(place, &mut stepped, id)? else { break };
            place = next;
            count += 1;
        }
        prop_assert_eq!(self.matcher.validate(ids), count);
        self.judge.check(place, &stepped)
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Advance(index) => {
                let ids = allowed(&self.matcher, &self.judge.binding);
                // An EOS ends the walk: where there is another way, it is taken.
                let (eos, text): (Vec<_>, Vec<_>) =
                    ids.into_iter().partition(|&id| self.judge.binding.is_eos(id));
                let ids = if text.is_empty() { eos } else { text };
                if !ids.is_empty() {
                    self.take(*index.get(&ids))?;
                }
            }
            Step::Try(id) => self.take(*id)?,
            Step::Rollback(n) => {
                let available = self.places.len() - 1;
                let result = self.matcher.rollback(*n);
                if *n <= available {
                    prop_assert_eq!(result, Ok(()));
                    self.places.truncate(self.places.len() - n);
                } else {
                    prop_assert_eq!(result, Err(MatcherError::Rollback { given: *n, available }));
                }
            }
            Step::Fork(ids) => self.validate(ids)?,
            Step::Validate(ids) => {
                self.validate(ids)?;
                drafts::check(&self.matcher, ids)?;
            }
            Step::Reset => {
                self.matcher.reset();
                self.places.truncate(1);
            }
        }
        self.judge.check(self.here(), &self.matcher)
    }
}

/// Counted over all random cases.
#[derive(Debug, Default)]
struct Counts {
    cases: Cell<usize>,
    over_budget: Cell<usize>,
    empty: Cell<usize>,
}

fn add(counter: &Cell<usize>, n: usize) {
    counter.set(counter.get() + n);
}

fn run(case: &Case, counts: &Counts) -> Result<(), TestCaseError> {
    add(&counts.cases, 1);
    let mut judge = Judge::new(&Constraint::gbnf(&case.grammar, "root"), &case.words);
    let matcher = match judge.compile()? {
        Verdict::Index(matcher) => *matcher,
        Verdict::Empty => {
            add(&counts.empty, 1);
            return Ok(());
        }
        Verdict::OverBudget => {
            add(&counts.over_budget, 1);
            return Ok(());
        }
    };
    let segmenter = Segmenter::new(&judge.tokens);
    for text in &case.texts {
        for cut in [Segmenter::bytes, Segmenter::greedy] {
            // Texts may have bytes that the grammar has not, and the vocabulary has not either.
            if let Some(ids) = cut(&segmenter, text) {
                judge.judge_text(&matcher, text, &ids)?;
            }
        }
    }
    judge.explore(matcher.clone(), 12)?;
    let start = judge.start();
    let mut walk = Walk { judge: &mut judge, matcher, places: vec![start] };
    for step in &case.steps {
        walk.step(step)?;
    }
    Ok(())
}

#[test]
fn random_grammars_at_every_prefix_of_random_walks() {
    let counts = Counts::default();
    let mut runner = TestRunner::new(ProptestConfig { source_file: Some(file!()), ..config(200) });
    runner.run(&case(), |case| run(&case, &counts)).unwrap_or_else(|error| panic!("{error}"));
    println!("{counts:?}");
    let (cases, over_budget) = (counts.cases.get(), counts.over_budget.get());
    assert!(over_budget * 50 <= cases, "{over_budget} of {cases} cases were over budget");
}

/// Agreement means little on grammars that are all empty or finite.
#[test]
fn the_random_grammars_are_of_every_sort() {
    let mut runner = TestRunner::deterministic();
    let (mut empty, mut nullable, mut long, mut few) = (0, 0, 0, 0);
    for _ in 0..500 {
        let case = case().new_tree(&mut runner).expect("nothing is filtered").current();
        let mut judge = Judge::new(&Constraint::gbnf(&case.grammar, "root"), &case.words);
        let mut set = judge.earley.start();
        empty += usize::from(!judge.earley.is_satisfiable());
        nullable += usize::from(judge.earley.accepts(set));
        let mut length = 0;
        while length < 25 {
            let ids = judge.sorted.allowed(&mut judge.earley, set);
            let Some(&id) = ids.get(length * 7 % ids.len().max(1)) else { break };
            let Some(Place::At(next)) = judge.after(Place::At(set), id) else { break };
            set = next;
            length += 1;
        }
        long += usize::from(length == 25);
        few += usize::from((1..10).contains(&length));
    }
    println!("no text: {empty}, the empty text: {nullable}, 25 tokens and more: {long}, few: {few}");
    assert!((10..200).contains(&empty) && nullable > 50 && long > 100 && few > 20);
}
