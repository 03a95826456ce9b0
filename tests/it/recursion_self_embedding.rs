//! Random rules that call themselves several times in a row, some of the calls optional: any number of frames may be popped between two
//! letters of a token, so that suffixes stay pending all along the stack. Against Earley's recogniser.

use std::cell::Cell;
use std::sync::Arc;

use gobo_artifact::Matcher;
use gobo_oracle::{Earley, SortedTokens};
use gobo_types::{Constraint, TokenId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{TestCaseError, TestRunner};

use crate::cases::config;
use crate::data::{Tokenizer, data_dir, spread, tokenizer};
use crate::judge::{Judge, Verdict, Words};
use crate::subject::{allowed, compile, index_of};

const NAMES: [&str; 3] = ["root", "s", "t"];

/// One to three rules, each a letter or calls after a mark; letters of the rules overlap.
fn grammar() -> impl Strategy<Value = String> {
    let letter = || select(vec!["[a-c]", "\"a\"", "[ab]", "[bé]", "[a-cé]", "[é-ü]"]);
    let mark = select(vec!["\"-\"", "\"é\"", "\"a\"", "[ab]", "\"--\"", "\"-\"?"]);
    let times = || select(vec!["", "", "", "?", "?", "{1,2}", "{0,2}", "{1,3}", "*", "+"]);
    (1..=NAMES.len()).prop_flat_map(move |rules| {
        let called = prop_oneof![
            4 => select(NAMES[..rules].to_vec()),
            1 => letter(),
            1 => select(vec!["\")\"", "\"c\""]),
        ];
        let part = (called, times()).prop_map(|(called, times)| format!("{called}{times}"));
        let alternative =
            (mark.clone(), vec(part, 1..=3)).prop_map(|(mark, parts)| format!("{mark} {}", parts.join(" ")));
        let rule = (letter(), vec(alternative, 1..=2))
            .prop_map(|(letter, alternatives)| format!("{letter} | {}", alternatives.join(" | ")));
        vec(rule, rules).prop_map(|rules| {
            let rules = NAMES.iter().zip(rules).map(|(name, rule)| format!("{name} ::= {rule}"));
            rules.collect::<Vec<_>>().join("\n")
        })
    })
}

/// All texts of up to three letters, and some that open or read many frames.
fn words() -> Words {
    let letters: [&[u8]; 5] = [b"a", b"b", b"c", b"-", "é".as_bytes()];
    let mut words: Vec<Vec<u8>> = vec![vec![]];
    let mut begin = 0;
    for _ in 0..3 {
        let end = words.len();
        for at in begin..end {
            let word = words[at].clone();
            words.extend(letters.iter().map(|letter| [&word, *letter].concat()));
        }
        begin = end;
    }
    words.retain(|word| word.len() > 1);
    for text in ["----", "------", "-é-é", "abcabc", "a-b-c", "aaaaaaa", "ccb))", "))", "éééé", "a-aéb-bc"]
    {
        words.push(text.as_bytes().to_vec());
    }
    words.push(b"\xc3".to_vec());
    words.push(b"\xa9-a".to_vec());
    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    Words::of(&words)
}

#[test]
fn random_rules_that_call_themselves_in_a_row() {
    let (cases, over_budget) = (Cell::new(0), Cell::new(0));
    let words = words();
    let run = |grammar: String| -> Result<(), TestCaseError> {
        cases.set(cases.get() + 1);
        let mut judge = Judge::new(&Constraint::gbnf(&grammar, "root"), &words);
        match judge.compile()? {
            Verdict::Index(matcher) => {
                judge.explore(*matcher, 8)?;
            }
            Verdict::Empty => {}
            Verdict::OverBudget => {
                println!("over budget:\n{grammar}");
                over_budget.set(over_budget.get() + 1);
            }
        }
        Ok(())
    };
    let mut runner = TestRunner::new(ProptestConfig { source_file: Some(file!()), ..config(20) });
    runner.run(&grammar(), run).unwrap_or_else(|error| panic!("{error}"));
    println!("{} cases", cases.get());
    assert_eq!(over_budget.get(), 0, "of {} cases", cases.get());
}

/// Grammars of one line that piled up pending suffixes, or states of their tail calls, until the budget was spent; with what texts begin
/// with again and again.
const TINY: [(&str, &str); 8] = [
    (r#"root ::= [a-z] | "-" root root?"#, "-"),
    (r#"root ::= . | "é" root{1,2}"#, "é"),
    (r#"root ::= [a-zA-Z_] | "(" root root? ")""#, "("),
    (r#"root ::= [a-z] | "-" root root*"#, "-"),
    (r#"root ::= . | "-" root root?"#, "-"),
    (r#"root ::= [a-z]+ | "-" root root?"#, "-"),
    (r#"root ::= "a" [ab]{1,3} root? | [bé]"#, "ab"),
    (r#"root ::= . | "é" root{0,2} root{1,3} root{0,2}"#, "é"),
];

/// Of each tokenizer so many random grammars, and so many tokens into a text of each.
const GRAMMARS: u8 = 15;
const STEPS: u8 = 3;

/// A grammar on a tokenizer has an index, whose masks are Earley's after `prefix` and after tokens that follow it, chosen by `seed`. The
/// bytes of the index.
fn judge_masks(tokenizer: &Tokenizer, sorted: &SortedTokens, text: &str, prefix: &[u8], seed: u8) -> usize {
    let name = tokenizer.name;
    let constraint = Constraint::gbnf(text, "root");
    let mut earley = Earley::of(&constraint).unwrap();
    let bytes = compile(&tokenizer.vocabulary, &constraint, 1)
        .unwrap_or_else(|error| panic!("{text}\non {name}: {error}"));
    let vocabulary = Arc::clone(&tokenizer.vocabulary);
    let mut matcher = Matcher::new(index_of(&bytes), vocabulary, &tokenizer.binding).unwrap();
    matcher.advance_bytes(prefix).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut set = earley.walk(earley.start(), prefix).expect("it begins a text");
    for step in 0..=STEPS {
        let place = format!("{text}\non {name}, after {} and {step} tokens", prefix.escape_ascii());
        let found = allowed(&matcher, &tokenizer.binding);
        let wanted = sorted.allowed(&mut earley, set);
        let eos = |id: &TokenId| tokenizer.binding.eos.contains(id);
        let of_text: Vec<TokenId> = found.iter().copied().filter(|id| !eos(id)).collect();
        assert!(of_text.iter().eq(wanted.iter()), "{place}");
        assert_eq!(found.len() > of_text.len(), earley.accepts(set), "{place}");
        // The longest of some, so that tokens pop and push many frames.
        let some = (0..8_u8).map(|at| spread([text.as_bytes(), &[at, seed, step]]));
        let some = some.filter_map(|place| of_text.get(place % of_text.len().max(1)));
        let Some(&id) = some.max_by_key(|id| tokenizer.vocabulary.bytes(**id).len()) else { break };
        matcher.advance(id).unwrap_or_else(|error| panic!("{error}: {place}"));
        set = earley.walk(set, tokenizer.vocabulary.bytes(id)).expect("the mask allows it");
    }
    bytes.len()
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn tiny_self_embedding_grammars_have_an_index() {
    let dir = data_dir();
    for name in ["gpt2", "llama2", "llama-3.1", "o200k_base"] {
        let tokenizer = tokenizer(&dir, name);
        let sorted = SortedTokens::new(&tokenizer.tokens);
        for (grammar, mark) in TINY {
            // One frame, and a run of frames for each mark.
            for marks in [1, 6] {
                let bytes = judge_masks(&tokenizer, &sorted, grammar, mark.repeat(marks).as_bytes(), 0);
                println!("{name} {grammar}, {marks} marks: {bytes} bytes");
            }
        }
    }
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn random_self_embedding_grammars_have_an_index() {
    let dir = data_dir();
    let mut runner = TestRunner::deterministic();
    for name in ["gpt2", "llama2", "llama-3.1", "o200k_base"] {
        let tokenizer = tokenizer(&dir, name);
        let sorted = SortedTokens::new(&tokenizer.tokens);
        for case in 0..GRAMMARS {
            let text = grammar().new_tree(&mut runner).unwrap().current();
            let bytes = judge_masks(&tokenizer, &sorted, &text, b"", case);
            println!("{name}: {bytes} bytes");
        }
    }
}
