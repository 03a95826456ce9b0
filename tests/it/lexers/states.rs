//! Texts by the states of the parser, beside the same texts by rules: two lowerings that share the parser's table and the lexer alone, of which the
//! other tests hold the rules against naive readers.

use std::sync::Arc;

use gobo_artifact::{Index, Matcher, Vocabulary};
use gobo_automata::Lowered;
use gobo_compiler::CompileOptions;
use gobo_grammar::{Read, Texts, Written};
use gobo_types::{
    Binding, Budget, CompileError, CompileLimits, Constraint, Indentation, Lexer, LookAhead, Report,
    TextStart,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;

use super::random::{grammar, indentation};
use super::{constraint, indented, texts, tokens};
use crate::cases::config;
use crate::subject::{answer, vocabulary_of};

/// The characters of the random grammars.
const CHARS: &str = "ab1 ";

/// Tokens beside all bytes.
const WORDS: [&str; 18] = [
    "ab",
    "a1",
    "1 ",
    " a",
    "aab1",
    "b a",
    "ba1 ",
    "  ",
    "1a b",
    "a b a",
    "b1b1b",
    " 1 1 ",
    "\n ",
    "a\n",
    "a\n b",
    "\n  (",
    ")\n",
    "\na\n a\n  a\n",
];

/// Both lexers, with as many characters of look-ahead as there may be by states.
fn lexers() -> [Lexer; 2] {
    let look_ahead = LookAhead::new(3).unwrap();
    [Lexer::Contextual(look_ahead), Lexer::Basic(look_ahead)]
}

/// A constraint in one of its forms.
struct Form {
    constraint: Constraint,
    read: Read,
}

impl Form {
    /// Its matcher over the tokens of [`WORDS`]; `None` where no text is one.
    fn matcher(&self, vocabulary: &Arc<Vocabulary>, binding: &Binding) -> Option<Matcher> {
        let budget = Budget::new(CompileLimits::default());
        let dfa = self.read.texts.dfa(self.constraint.text_start, &budget).unwrap();
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

/// By rules and by states; `None` where the grammar is refused, or states do not say enough of its blocks.
fn forms(constraint: &Constraint) -> Option<[Form; 2]> {
    const REFUSED: [&str; 2] = ["empty any number of times", "since the last block began"];
    let budget = Budget::new(CompileLimits::default());
    let written = Written::of(constraint).unwrap();
    let rules = match written.read(&budget) {
        Err(CompileError::Refused(_)) => return None,
        read => read.unwrap(),
    };
    let states = match written.read_by_states(&budget) {
        Err(CompileError::Refused(refusal)) if REFUSED.iter().any(|words| refusal.reason.contains(words)) => {
            return None;
        }
        read => read.unwrap(),
    };
    assert!(matches!(rules.texts, Texts::Rules(_)));
    if states.is_indented && matches!(states.texts, Texts::Rules(_)) {
        return None;
    }
    assert!(matches!(states.texts, Texts::States(_)));
    Some([rules, states].map(|read| Form { constraint: constraint.clone(), read }))
}

/// Compares both forms of a grammar on texts: what is taken, what is a beginning, and each mask on the way; whether there are both.
fn agree(
    grammar: &str,
    indentation: Indentation,
    text_start: TextStart,
    all: &[String],
) -> Result<bool, TestCaseError> {
    let tokens = tokens(&WORDS);
    let (vocabulary, binding) = (vocabulary_of(&tokens), Binding::new(vec![], tokens.len()));
    for lexer in lexers() {
        let constraint = constraint(grammar, lexer).indented(indentation).starting(text_start);
        let Some(forms) = forms(&constraint) else { return Ok(false) };
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
    Ok(true)
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
        agree(&grammar.to_lark(), Indentation::default(), text_start, &all)?;
    }

    #[test]
    fn states_have_the_blocks_of_rules(
        grammar in indented::grammar(),
        long in indented::long(),
        is_stripped in any::<bool>(),
    ) {
        let text_start = if is_stripped { TextStart::StripOneSpace } else { TextStart::Exact };
        let all: Vec<String> = texts(indented::CHARS, 4).into_iter().chain(long).collect();
        agree(&grammar.to_lark(), indentation(&grammar), text_start, &all)?;
    }
}

/// Checks a grammar on some texts, and all short ones over some characters.
fn check(grammar: &str, chars: &str, most: usize, some: &[&str]) {
    let all: Vec<String> =
        texts(chars, most).into_iter().chain(some.iter().map(|text| (*text).to_owned())).collect();
    for text_start in [TextStart::Exact, TextStart::StripOneSpace] {
        agree(grammar, Indentation::default(), text_start, &all).unwrap();
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
    let [_, form] = forms(&constraint("start: \"(\" start \")\" | \"a\"", lexers()[1])).unwrap();
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
    let [_, states] = forms(&constraint(&grammar, lexers()[1])).unwrap();
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

/// Checks a grammar with blocks on some texts, and all short ones over some characters: both forms read it.
fn check_blocks(grammar: &str, (by, depth): (u8, u8), chars: &str, most: usize, some: &[&str]) {
    let some = some.iter().map(|text| (*text).to_owned());
    let all: Vec<String> = texts(chars, most).into_iter().chain(some).collect();
    let indentation = Indentation::new(by, depth).unwrap();
    for text_start in [TextStart::Exact, TextStart::StripOneSpace] {
        assert!(agree(grammar, indentation, text_start, &all).unwrap(), "{grammar}");
    }
}

/// Statements on one line and over several ones, with blocks that go on with others at their level, and brackets in brackets.
#[test]
fn blocks_are_found_by_the_level_below() {
    const TEXTS: [&str; 14] = [
        "a:\n b\nc:\n b\nb\n",
        "a:\n a:\n  b\n c:\n  b\nb\n",
        "a:\n a:\n  b\nc:\n b\n",
        "a b:b\nc:\n b\n",
        "a:b\nc:b\nc:b\n",
        "a:\n a:b\n c:b\nb",
        "a:\n a:\n  b\n\n \n  #x\n#x\n b\n",
        "a:\n a:\n  a:\n   b\n",
        "@b\n@b\na:\n @b\n a:\n  b\n",
        "a b(b,\n(\n\n b)\n):\n b(\n)\nb\n",
        "a((b)\n:\n b\n",
        "a:\n b\n ",
        "a:\n  b\n",
        "(b)\n",
    ];
    let grammar = "start: (_NL | stmt)*\nstmt: e _NL | \"a\" [e] \":\" suite [\"c\" \":\" suite] | mark+ \"a\" [e] \":\" suite\nmark: \"@\" e _NL\n\
                   suite: e _NL | _NL _INDENT stmt+ _DEDENT\ne: \"b\" | e \"(\" [e (\",\" e)*] \")\" | \"(\" e \")\"\n\
                   _NL: (/(\\r?\\n[\\t ]*)+/ | /#[^\\n]*/)+\n%ignore \" \"\n%declare _INDENT _DEDENT";
    check_blocks(grammar, (1, 2), "ab:\n (", 5, &TEXTS);
    check_blocks(grammar, (2, 3), "b@\n )", 4, &TEXTS);
}

/// Rules read what states do not: lines without end above each other on the stack of the parser, and blocks that another rule ends.
#[test]
fn rules_read_what_states_do_not() {
    let newline = "_NL: /(\\n *)+/\n%declare _INDENT _DEDENT";
    let budget = Budget::new(CompileLimits::default());
    for rule in [
        "x: \"a\" _NL x | \"b\" _NL | \"c\" _NL _INDENT x _DEDENT",
        "x: \"a\" x | \"b\" _NL _INDENT x _DEDENT | \"c\" _NL",
    ] {
        let constraint = constraint(&format!("start: x\n{rule}\n{newline}"), lexers()[1]);
        let written = Written::of(&constraint).unwrap();
        let refusal = written.read_by_states(&budget).unwrap_err().to_string();
        assert!(refusal.contains("64 symbols"), "{refusal}");
        assert!(matches!(written.read(&budget).unwrap().texts, Texts::Rules(_)));
    }
    let halves = format!("start: begin \"a\" _NL _DEDENT\nbegin: \"b\" _NL _INDENT\n{newline}");
    let halves = constraint(&halves, lexers()[1]);
    let read = Written::of(&halves).unwrap().read_by_states(&budget).unwrap();
    assert!(matches!(read.texts, Texts::Rules(_)));
}

/// Where a grammar would have many exits states read it; where they cannot, rules do, however many these have.
#[test]
fn what_states_refuse_of_large_grammars_is_read_by_rules() {
    // A tail ends in one way for each letter that it may have ended with: none before it may follow.
    let letters: Vec<char> = ('a'..='z').chain('A'..='N').collect();
    let tails = letters.iter().enumerate();
    let tails: Vec<String> = tails.map(|(at, letter)| format!("s{}: s{at} [\"{letter}\"]", at + 1)).collect();
    let any: Vec<String> = letters.iter().map(|letter| format!("\"{letter}\"")).collect();
    let read = |lines: &str| {
        let text = format!(
            "start: lines\n{lines}\nline: s{} ({})* _NL\nblock: \"!\" _NL _INDENT lines _DEDENT\ns0: \".\"\n{}\n\
             _NL: /(\\n *)+/\n%declare _INDENT _DEDENT\n",
            letters.len(),
            any.join(" | "),
            tails.join("\n")
        );
        let constraint = constraint(&text, lexers()[1]);
        Written::of(&constraint).unwrap().read(&Budget::new(CompileLimits::default())).unwrap().texts
    };
    assert!(matches!(read("lines: (line | block)+"), Texts::States(_)));
    assert!(matches!(read("lines: (line | block) [lines]"), Texts::Rules(_)));
}
