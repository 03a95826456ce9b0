//! Texts by the states of the parser, beside the same texts by rules: two lowerings that share the parser's table and the lexer alone, of which the
//! other tests hold the rules against naive readers.

use std::sync::Arc;

use gobo_artifact::{Index, Matcher, Vocabulary};
use gobo_automata::Lowered;
use gobo_compiler::CompileOptions;
use gobo_grammar::{Read, Texts, Written};
use gobo_types::{
    Binding, Budget, CompileError, CompileLimits, Constraint, Lexer, LookAhead, Report, TextStart,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;

use super::random::grammar;
use super::{constraint, texts, tokens};
use crate::cases::config;
use crate::subject::{answer, vocabulary_of};

/// The characters of the random grammars.
const CHARS: &str = "ab1 ";

/// Tokens beside all bytes.
const WORDS: [&str; 12] =
    ["ab", "a1", "1 ", " a", "aab1", "b a", "ba1 ", "  ", "1a b", "a b a", "b1b1b", " 1 1 "];

/// Both lexers, with as many characters of look-ahead as there may be by states.
fn lexers() -> [Lexer; 2] {
    let look_ahead = LookAhead::new(3).unwrap();
    [Lexer::Contextual(look_ahead), Lexer::Basic(look_ahead)]
}

/// A constraint in one of its forms.
struct Form {
    constraint: Constraint,
    read: Read,
    text_start: TextStart,
}

impl Form {
    /// Its matcher over the tokens of [`WORDS`]; `None` where no text is one.
    fn matcher(&self, vocabulary: &Arc<Vocabulary>, binding: &Binding) -> Option<Matcher> {
        let budget = Budget::new(CompileLimits::default());
        let dfa = self.read.texts.dfa(self.text_start, &budget).unwrap();
        if dfa.is_empty() {
            return None;
        }
        let lowered = Lowered { dfa, report: Report::default(), tokens: None };
        let options = CompileOptions::default();
        // The constraint is a name alone: what is compiled is the automaton.
        let compiled = gobo_compiler::compile(vocabulary, &self.constraint, &lowered, &options, &budget);
        let compiled = compiled.unwrap_or_else(|error| panic!("{}: {error}", self.constraint.text()));
        let index = Index::from_bytes(compiled.bytes()).unwrap();
        index.verify().unwrap();
        Some(Matcher::new(index.into(), Arc::clone(vocabulary), binding).unwrap())
    }
}

/// By rules and by states; `None` where the grammar is refused.
fn forms(grammar: &str, lexer: Lexer, text_start: TextStart) -> Option<[Form; 2]> {
    let constraint = constraint(grammar, lexer).starting(text_start);
    let budget = Budget::new(CompileLimits::default());
    let written = Written::of(&constraint).unwrap();
    let rules = match written.read(&budget) {
        Err(CompileError::Refused(_)) => return None,
        read => read.unwrap(),
    };
    let states = match written.read_by_states(&budget) {
        Err(CompileError::Refused(refusal)) if refusal.reason.contains("empty any number of times") => {
            return None;
        }
        read => read.unwrap(),
    };
    assert!(matches!(rules.texts, Texts::Rules(_)) && matches!(states.texts, Texts::States(_)));
    Some([rules, states].map(|read| Form { constraint: constraint.clone(), read, text_start }))
}

/// Compares both forms of a grammar on texts: what is taken, what is a beginning, and each mask on the way.
fn agree(grammar: &str, text_start: TextStart, all: &[String]) -> Result<(), TestCaseError> {
    let tokens = tokens(&WORDS);
    let (vocabulary, binding) = (vocabulary_of(&tokens), Binding::new(vec![], tokens.len()));
    for lexer in lexers() {
        let Some(forms) = forms(grammar, lexer, text_start) else { return Ok(()) };
        let [narrow, narrow_states] = [0, 1].map(|of: usize| !forms[of].read.narrowed.is_empty());
        prop_assert!(narrow_states || !narrow, "what is left out is said\n{}", grammar);
        let [rules, states] = forms.map(|form| form.matcher(&vocabulary, &binding));
        let (rules, states) = match (rules, states) {
            (Some(rules), Some(states)) => (rules, states),
            (None, None) => continue,
            (rules, _) => {
                return Err(TestCaseError::fail(format!(
                    "texts by rules alone: {}\n{grammar}",
                    rules.is_some()
                )));
            }
        };
        let mut walked = 0;
        for text in all {
            let (mut by_rules, mut by_states) = (rules.clone(), states.clone());
            for at in 0..=text.len() {
                let shown = || format!("{:?} under {lexer}\n{grammar}", &text[..at]);
                walked += 1;
                prop_assert_eq!(by_rules.is_complete(), by_states.is_complete(), "{}", shown());
                prop_assert_eq!(answer(&by_rules, &binding), answer(&by_states, &binding), "{}", shown());
                let Some(&byte) = text.as_bytes().get(at) else { break };
                let [one, other] =
                    [&mut by_rules, &mut by_states].map(|of| of.advance(u32::from(byte)).is_ok());
                prop_assert_eq!(one, other, "{:?}: {}", char::from(byte), shown());
                if !one {
                    break;
                }
            }
        }
        prop_assert!(walked > 0);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn states_have_the_masks_of_rules(
        grammar in grammar(),
        long in vec(vec(select(CHARS.chars().collect::<Vec<char>>()), 6..20).prop_map(String::from_iter), 0..30),
        is_stripped in any::<bool>(),
    ) {
        let text_start = if is_stripped { TextStart::StripOneSpace } else { TextStart::Exact };
        let all: Vec<String> = texts(CHARS, 4).into_iter().chain(long).collect();
        agree(&grammar.to_lark(), text_start, &all)?;
    }
}

/// Checks a grammar on some texts, and all short ones over some characters.
fn check(grammar: &str, chars: &str, most: usize, some: &[&str]) {
    let all: Vec<String> =
        texts(chars, most).into_iter().chain(some.iter().map(|text| (*text).to_owned())).collect();
    for text_start in [TextStart::Exact, TextStart::StripOneSpace] {
        agree(grammar, text_start, &all).unwrap();
    }
}

/// A comment up to the end of its line may stand where the line may end, and not between brackets: whether it may is a matter of
/// the stack.
#[test]
fn what_may_stand_depends_on_the_stack() {
    let grammar = "start: item (\"\\n\" item)*\nitem: \"a\" | \"(\" item (\"+\" item)* \")\" | \"[\" item \"\\n\" item \"]\"\n\
                   COMMENT: /#[^\\n]*/\n%ignore COMMENT\n%ignore \" \"";
    check(
        grammar,
        "a(#\n",
        6,
        &["(a+[a#x\na])", "[(a#", "[a #\n(a)]", "(a #)\n", "((a+a)) # \na", " [a\n[a\na]]"],
    );
}

/// What is decided by shifting may leave a stack from which nothing leads to a text.
#[test]
fn conflicts_are_decided_alike() {
    check("start: \"i\" start | \"i\" start \"e\" start | \"a\"", "iae", 7, &["iiaeiaea", "iiaeaea"]);
    // After `a b` the parser shifts `c`, and `x` needs one more.
    check(
        "start: \"(\" x \"c\" | \"[\" x\nx: \"a\" b\nb: \"b\" [\"c\"]",
        "(abc[",
        5,
        &["(abcc", "(abc", "[abc"],
    );
    // Nothing decides between these, and all readings stay.
    check("start: x \"c\" | y \"d\" | x y\nx: \"a\" | \"b\" \ny: \"a\" | \"c\"", "abcd", 4, &[]);
}

/// A token may begin as many rules as it has bytes, and the compiler does not run out of stack.
#[test]
fn a_token_begins_many_rules() {
    let [_, form] = forms("start: \"(\" start \")\" | \"a\"", lexers()[1], TextStart::Exact).unwrap();
    for depth in [256, 257, 4_096] {
        let (opened, closed) = ("(".repeat(depth), format!("a{}", ")".repeat(depth - 1)));
        let tokens = tokens(&[&opened, &closed]);
        let (vocabulary, binding) = (vocabulary_of(&tokens), Binding::new(vec![], tokens.len()));
        let mut matcher = form.matcher(&vocabulary, &binding).unwrap();
        matcher.advance(256).unwrap();
        assert!(matcher.allows(257) && !matcher.is_complete());
        matcher.advance(257).unwrap();
        assert!(!matcher.is_complete() && !matcher.allows(256));
        matcher.advance(u32::from(b')')).unwrap();
        assert!(matcher.is_complete());
    }
}

/// The most states that stand beside each other while a grammar with so many levels of operators is laid out.
fn states_of_levels(levels: u8) -> u64 {
    let level = |level: u8| {
        let (operator, next) = (char::from(b'a' + level), level + 1);
        if level % 4 == 2 {
            format!("e{level}: \"{operator}\" e{level} | e{next}")
        } else {
            format!("e{level}: e{next} (\"{operator}\" e{next})*")
        }
    };
    let all: Vec<String> = (0..levels).map(level).collect();
    let called = format!("e{levels} \"(\" test [\"=\" test] \")\"");
    let lists = "\"(\" test [each] \")\" | \"[\" test (\",\" test)* \"]\" | \"{\" test \":\" test \"}\"";
    let grammar = format!(
        "start: (NL | line NL)*\nline: test \":\" test | test (\"=\" test)* | \"@\" e2 \"~\" test\n\
         test: e0 [\"?\" e0 \"!\" test] | \"^\" \"0\" \":\" test\n\
         each: \"@\" e2 \"~\" e0 [each] | \"?\" e0 [each]\n{}\ne{levels}: \"0\" | {lists} | {called}\n\
         NL: /(\\n|#[^\\n]*\\n)+/\nCOMMENT: /#[^\\n]*\\n/\n%ignore COMMENT\n%ignore \" \"\n",
        all.join("\n")
    );
    let [_, states] = forms(&grammar, lexers()[1], TextStart::Exact).unwrap();
    let budget = Budget::new(CompileLimits::default());
    states.read.texts.dfa(TextStart::Exact, &budget).unwrap();
    budget.peak_states()
}

/// No state is there for every stack of operators that may stand before it.
#[test]
fn levels_of_operators_do_not_multiply() {
    let [some, twice] = [8, 16].map(states_of_levels);
    assert!(2 * twice <= 5 * some, "{some} states, and {twice}");
}

/// Empty rules, rules of one symbol, left and right recursion, and a start that may be empty.
#[test]
fn productions_of_all_lengths() {
    check("start: a*\na: b | \"(\" a* \")\"\nb: c\nc: e \"x\" e\ne: ", "(x)", 7, &["((x)(xx))x"]);
    check("start: l | r\nl: l \"a\" | \"b\"\nr: \"a\" r | \"c\"", "abc", 6, &["baaaaaa", "aaaaaaac"]);
    check("start: [\"a\"] e start \"b\" | e\ne: ", "ab", 7, &["aaabbb", "bbb"]);
}
