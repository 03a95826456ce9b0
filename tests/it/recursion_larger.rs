//! Masks do not depend on how large the automaton is: random grammars alone, and beside a long literal that shares nothing with them. Where that makes
//! more states than calls, which it does in one case of eight, rows are found in another way (`gobo-compiler/src/pairs`).

use gobo_types::{Binding, CompileError, Constraint, Dialect};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::cases::config;
use crate::lexers::tokens;
use crate::recursion_random::grammar;
use crate::subject::{Answer, answer, compile, index_of, vocabulary_of};

/// Tokens beside all bytes.
const WORDS: [&str; 14] =
    ["ab", "aba", "((", "))", "()", ")(", "(a", "a)", "a,", ",b", "b))", "(((a", "é)", "aa,bb"];

const CHARS: [&str; 6] = ["a", "b", "(", ")", ",", "é"];

/// What the literal begins with, which no grammar has.
const FIRST: u32 = 1;

/// Bytes of the literal, a state each: more than the grammars have calls.
const LONG: usize = 1_100;

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn a_larger_automaton_has_the_same_masks(
        grammar in grammar(),
        texts in vec(vec(select(CHARS.to_vec()), 0..12), 1..20),
    ) {
        let tokens = tokens(&WORDS);
        let (vocabulary, binding) = (vocabulary_of(&tokens), Binding::new(vec![], tokens.len()));
        let larger = format!("{grammar}\nbegin ::= root | \"\\x01{}\"", "z".repeat(LONG));
        let constraint = |text: &str, start| Constraint::grammar(Dialect::Gbnf, text, start, None, vec![]);
        let matcher = |constraint: Constraint| match compile(&vocabulary, &constraint, 1) {
            Err(CompileError::Refused(_)) => None,
            bytes => {
                let index = index_of(&bytes.unwrap());
                Some(gobo_artifact::Matcher::new(index, vocabulary.clone(), &binding).unwrap())
            }
        };
        let alone = matcher(constraint(&grammar, "root"));
        let beside = matcher(constraint(&larger, "begin"));
        let Some(alone) = alone else { return Ok(()) };
        let beside = beside.expect("a literal refuses nothing");
        for text in texts {
            let text = text.concat();
            let (mut one, mut other) = (alone.clone(), beside.clone());
            for at in 0..=text.len() {
                let mut expected = answer(&one, &binding);
                match (at, &mut expected) {
                    (0, Answer::Mask(words)) => words[0] |= 1 << FIRST,
                    // The empty text alone.
                    (0, Answer::Ended) => return Ok(()),
                    _ => {}
                }
                prop_assert_eq!(expected, answer(&other, &binding), "{:?} of\n{}", &text.as_bytes()[..at], grammar);
                prop_assert_eq!(one.is_complete(), other.is_complete());
                let Some(&byte) = text.as_bytes().get(at) else { break };
                let [taken, too] = [&mut one, &mut other].map(|of| of.advance(u32::from(byte)).is_ok());
                prop_assert_eq!(taken, too);
                if !taken {
                    break;
                }
            }
        }
    }
}
