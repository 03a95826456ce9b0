//! Constraints with recursion against Earley's recogniser: small grammars, small vocabularies, every token tried.

use std::collections::HashSet;

use gobo_artifact::{Matcher, MatcherError};
use gobo_oracle::{Earley, Segmenter, Tokens};
use gobo_types::{
    Binding, Budget, CompileError, CompileLimits, Constraint, RefusalKind, TextStart, Whitespace,
};
use proptest::test_runner::TestCaseError;

use crate::judge::{Judge, Place, Verdict, Words};
use crate::subject::{allowed, answer, compile, index_of, matcher_with, refusal, vocabulary_of};

/// Compiles `grammar`, explores it, and judges texts cut into bytes and into long tokens.
fn judge(grammar: &str, words: &[&[u8]], accept: &[&str], reject: &[&str]) {
    let constraint = Constraint::gbnf(grammar, "root");
    let mut judge = Judge::new(&constraint, &Words::of(words));
    let fault = |error: TestCaseError| -> ! { panic!("{grammar}\n{error}") };
    let matcher = match judge.compile() {
        Ok(Verdict::Index(matcher)) => *matcher,
        Ok(Verdict::Empty) => panic!("{grammar}\nwas refused"),
        Ok(Verdict::OverBudget) => panic!("{grammar}\nis over budget"),
        Err(error) => fault(error),
    };
    let segmenter = Segmenter::new(&judge.tokens);
    for (texts, wanted) in [(accept, true), (reject, false)] {
        for text in texts {
            assert_eq!(
                judge.earley.contains(text.as_bytes()),
                wanted,
                "{grammar}\nthe oracle about {text:?}"
            );
            for cut in [Segmenter::bytes, Segmenter::greedy] {
                let Some(ids) = cut(&segmenter, text.as_bytes()) else { continue };
                match judge.judge_text(&matcher, text.as_bytes(), &ids) {
                    Ok(found) => assert_eq!(found, wanted, "{grammar}\n{text:?} as {ids:?}"),
                    Err(error) => fault(error),
                }
            }
        }
    }
    judge.explore(matcher, 150).unwrap_or_else(|error| fault(error));
}

const AB: &[&[u8]] = &[b"aa", b"ab", b"aab", b"bb", b"abb", b"aaaa", b"ba"];

#[test]
fn a_tail_that_each_level_may_leave_out() {
    judge(r#"root ::= "a" root "b"? | "a""#, AB, &["a", "aa", "aab", "aaabb"], &["", "ab", "aabb", "b"]);
}

#[test]
fn a_rule_that_recurs_in_last_place_below_another() {
    let words: &[&[u8]] = &[b"aa", b"a;", b"aaa;", b";;"];
    judge("root ::= s \";\"\ns ::= \"a\" s | \"a\"", words, &["a;", "aaaa;"], &[";", "aa", "a;;"]);
}

#[test]
fn left_recursion_direct_mutual_and_hidden() {
    let words: &[&[u8]] = &[b"xx", b"yx", b"by", b"bb", b"yxx", b"xa", b"ab"];
    judge(r#"root ::= root "x" | "y""#, words, &["y", "yx", "yxxx"], &["", "x", "yy"]);
    judge(
        "root ::= t \"a\" | \"x\"\nt ::= root \"b\" | \"y\"",
        words,
        &["x", "ya", "xba", "yaba"],
        &["y", "xa"],
    );
    judge("root ::= b root \"x\" | \"y\"\nb ::= \"b\" |", words, &["y", "yx", "byx", "bbyxx"], &["by", "x"]);
    judge("root ::= b root \"x\" | \"y\"\nb ::= \"\"", words, &["y", "yx", "yxxx"], &["x", "xy"]);
    judge("root ::= root b root \"x\" | \"y\"\nb ::= \"b\"?", words, &["y", "yyx", "ybyx"], &["yx", "yb"]);
}

#[test]
fn ambiguous_sums_and_products() {
    let words: &[&[u8]] = &[b"n+", b"+n", b"n*n", b"*n+", b"++"];
    let sums = "root ::= e\ne ::= e \"+\" e | e \"*\" e | \"n\"";
    judge(sums, words, &["n", "n+n*n", "n*n+n+n*n"], &["", "n+", "+n", "nn"]);
}

/// In the middle of a palindrome of like letters every place may be its middle: as many configurations as letters.
#[test]
fn palindromes() {
    let grammar = r#"root ::= "a" root "a" | "b" root "b" | """#;
    judge(grammar, AB, &["", "aa", "abba", "baab", "aaaaaa", "abbbba"], &["a", "ab", "aba"]);
    let odd = r#"root ::= "a" root "a" | "b" root "b" | "a"? "b"?"#;
    judge(odd, AB, &["a", "aba", "aabaa"], &["ba", "abab"]);
}

#[test]
fn a_dangling_else() {
    let words: &[&[u8]] = &[b"if ", b" else ", b"x else", b"if if "];
    let grammar = r#"root ::= "if " root | "if " root " else " root | "x""#;
    judge(grammar, words, &["x", "if x", "if if x else x", "if if x else x else x"], &["x else x", "if "]);
}

#[test]
fn starts_that_may_be_empty() {
    judge(
        "root ::= s*\ns ::= \"(\" root \")\"",
        &[b"()", b"))", b")("],
        &["", "()", "(()())()"],
        &["(", ")"],
    );
    judge("root ::= root root | \"(\" root \")\" |", &[b"()", b"))", b")("], &["", "(())()"], &["(", "())"]);
    judge("root ::= a b a\na ::= \"a\"*\nb ::= root? \"b\" |", AB, &["", "aab", "aabba"], &["é"]);
    judge("root ::=", AB, &[""], &[]);
    judge("root ::= t | \"a\"\nt ::= root | root root |", AB, &["", "a", "aaa"], &[]);
}

#[test]
fn a_language_without_texts_is_refused() {
    for grammar in [
        "root ::= root",
        "root ::= \"a\" root",
        "root ::= s \"a\"\ns ::= root \"b\" | s s",
        r"root ::= [^\x00-\U0010FFFF]",
        "root ::= \"a\" dead\ndead ::= \"(\" dead \")\" | dead | dead dead",
    ] {
        let judge = Judge::new(&Constraint::gbnf(grammar, "root"), &Words::of(AB));
        match judge.compile() {
            Ok(Verdict::Empty) => {}
            Ok(_) => panic!("{grammar}\nwas not refused"),
            Err(error) => panic!("{grammar}\n{error}"),
        }
    }
}

#[test]
fn rules_without_texts_and_rules_never_asked_for_change_nothing() {
    let grammar =
        "root ::= \"a\" root | \"b\" | \"c\" dead | dead root\ndead ::= dead \"x\" | \"(\" dead \")\"
unused ::= \"b\" unused-too?\nunused-too ::= unused | root root";
    judge(grammar, AB, &["b", "aab"], &["", "a", "ba"]);
    judge("root ::= root | \"a\"", AB, &["a"], &["", "aa"]);
    judge("root ::= a | \"a\" \"b\"\na ::= a", AB, &["ab"], &["a", ""]);
}

/// One token opens or closes many levels, or closes some, goes on in the one below and opens others.
#[test]
fn tokens_across_many_rules() {
    let brackets: &[&[u8]] = &[b"))))", b"((((", b")(", b"))(", b"()()", b"(())", b")))))))"];
    judge("root ::= (\"(\" root \")\")*", brackets, &["", "((((()))))()", "(()())"], &["(()", "())"]);
    judge("root ::= \"(\" root \")\" | \"x\"", brackets, &["x", "((((((x))))))"], &["()", "(x"]);
    let words: &[&[u8]] = &[
        b"\"}]},", b"\"}", b"]}", b"}]", b"},{\"", b"{\"", b"\":", b"\":[{\"", b"]]]]", b"[[[[", b"}}}}",
        b"[{", b"\":\"",
    ];
    let json = "root ::= object\nvalue ::= object | array | string | [0-9]+
object ::= \"{\" (member (\",\" member)*)? \"}\"\nmember ::= string \":\" value
array ::= \"[\" (value (\",\" value)*)? \"]\"\nstring ::= \"\\\"\" [a-zé]* \"\\\"\"";
    judge(
        json,
        words,
        &["{}", r#"{"a":[{"b":"c"}],"d":[[[[]]]]}"#, r#"{"é":{"a":{"b":{"c":{}}}}}"#],
        &["[]", r#"{"a":[{"b":"c"}}"#],
    );
}

/// Return states, their classes, and the pairs that an index stores.
fn stored(grammar: &str, words: &[&[u8]]) -> (usize, usize, usize) {
    let judge = Judge::new(&Constraint::gbnf(grammar, "root"), &Words::of(words));
    let index = index_of(&compile(&vocabulary_of(&judge.tokens), &judge.constraint, 1).unwrap());
    let returns = index.call_root().unwrap().map_or(0, |root| root.returns.len());
    let (classes, pairs) = index.pair_counts();
    (returns, classes, pairs)
}

/// A rule that counts its calls has a return state for each number. Tokens tell few of them apart, those near the end of the
/// count, and only these have pairs of their own; the masks count all the same.
#[test]
fn returns_that_no_token_tells_apart_share_their_pairs() {
    let text = |length: usize| format!("\"{}\"", "ab".repeat(length)[..length].to_owned());
    let long = "ab".repeat(35);
    let words: &[&[u8]] = &[b"ab", b"ba", b"aba", b"a\"", b"b\"", b"\"ab", b"abababab", long.as_bytes()];
    let grammar = "root ::= \"\\\"\" block{0,60} rest \"\\\"\"\nblock ::= [ab]{64}\nrest ::= [ab]{0,63}";
    let accept = [text(0), text(63), text(64), text(64 * 7 + 5), text(64 * 60), text(64 * 60 + 63)];
    let reject = [text(64 * 61), text(64 * 60 + 64)[1..].to_owned()];
    judge(grammar, words, &accept.each_ref().map(String::as_str), &reject.each_ref().map(String::as_str));
    let (returns, classes, pairs) = stored(grammar, words);
    // One more behind the rest.
    assert!(returns == 61 && classes <= 3 && pairs <= 3 * 65, "{returns} {classes} {pairs}");
}

/// Over a vocabulary that lacks single bytes, rules that do not call themselves are written out: the masks are those of the
/// regular expression of the same texts.
#[test]
fn calls_without_recursion_need_no_single_bytes() {
    let grammar = "root ::= \"<\" word \",\" list? word \">\"\nlist ::= \"[\" word (\",\" word)? \"]\"\n\
        word ::= \"'\" (\"abcdefgh\" | [xyz]{0,3} \"k\" [0-9])? \"'\"";
    let word = "'(?:abcdefgh|[xyz]{0,3}k[0-9])?'";
    let regex = format!(r"<{word},(?:\[{word}(?:,{word})?\])?{word}>");
    let words: &[&[u8]] = &[
        b"<'",
        b"'",
        b"abc",
        b"defgh",
        b"ab",
        b"cdef",
        b"gh'",
        b"',",
        b",",
        b",'",
        b"['",
        b"]'",
        b"'>",
        b">",
        b"x",
        b"yz",
        b"zz",
        b"k1",
        b"k2'",
        b"k",
        b"3",
        b"','",
        b"'],'",
        b"q",
        b"<''",
        b"xyzk0','xyzk0'>",
        b"''>",
    ];
    let mut tokens = Tokens::new();
    for word in words {
        tokens.push(word, false);
    }
    let binding = Binding::new(vec![], tokens.len());
    let (constraint, as_regex) = (Constraint::gbnf(grammar, "root"), Constraint::regex(&regex));
    let vocabulary = vocabulary_of(&tokens);
    let budget = Budget::new(CompileLimits::default());
    assert!(gobo_worker::lower(&constraint, &budget).unwrap().dfa.has_calls(), "the rule is shared");
    assert_eq!(
        vocabulary.root().single[usize::from(b'<' >> 5)] >> (b'<' & 31) & 1,
        0,
        "no token is the first byte"
    );
    let mut open =
        vec![(matcher_with(&constraint, &tokens, &binding), matcher_with(&as_regex, &tokens, &binding))];
    let mut seen = HashSet::new();
    let mut completed = 0;
    while let Some((one, other)) = open.pop() {
        assert_eq!(answer(&one, &binding), answer(&other, &binding));
        assert_eq!(one.is_complete(), other.is_complete());
        completed += u32::from(one.is_complete());
        for id in allowed(&one, &binding) {
            let (mut one, mut other) = (one.clone(), other.clone());
            one.advance(id).unwrap();
            other.advance(id).unwrap();
            if seen.insert((one.state(), other.state())) {
                open.push((one, other));
            }
        }
    }
    assert!(seen.len() > 30 && completed > 0, "{} {completed}", seen.len());
}

/// Tokens of all lengths over the characters of a counted rule, one and two bytes long, at each distance from its end: those
/// that fit are taken without a look, and those that do not go on where the rule was called, or nowhere.
#[test]
fn tokens_of_all_lengths_where_counted_rules_end() {
    let texts: Vec<String> = (1..=9)
        .flat_map(|length: usize| {
            let ascii = "abba".repeat(3)[..length].to_owned();
            let wide: String = "éaèb".chars().cycle().take(length).collect();
            let spaced = format!(" {ascii}");
            [
                ascii.clone(),
                ascii.replace('a', "c"),
                wide.clone(),
                format!("{ascii}\""),
                format!("{wide}\";"),
                spaced,
            ]
        })
        .collect();
    let words: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let string = |length: usize| "abéc".chars().cycle().take(length).collect::<String>();
    for (block, most) in [(5, 3), (12, 7)] {
        let grammar = format!(
            "root ::= \"\\\"\" (block | \" \" block){{0,3}} rest \";\"\nblock ::= [a-cà-ÿ]{{{block}}}\nrest ::= [a-cà-ÿ]{{2,{most}}} \"\\\"\""
        );
        let text = |length: usize| format!("\"{}\";", string(length));
        let accept = [text(2), text(most), text(block + 2), text(3 * block + most)];
        let reject = [text(1), text(3 * block + most + 1), format!("\" {}\";", string(most))];
        judge(
            &grammar,
            &words,
            &accept.each_ref().map(String::as_str),
            &reject.each_ref().map(String::as_str),
        );
        let bounded = format!("root ::= \"\\\"\" [a-c]{{1,{block}}} ([à-ÿ]{{1,{most}}} root)? \"\\\"\"");
        judge(&bounded, &words, &["\"abc\"", "\"abé\"b\"\""], &["\"\"", "\"é\""]);
    }
}

/// Rules that no token tells apart where they begin share a row there, and what may follow each of them is something else.
#[test]
fn rules_that_begin_alike_are_followed_by_what_is_their_own() {
    let words: &[&[u8]] = &[b"ab", b"b>x", b"a>y", b">x<", b">yq", b"a>z", b">z"];
    let count = |least: usize, most: usize| format!("\"<\" [ab]{{{least},{most}}} \">\"");
    let grammar = format!(
        "root ::= (\"p\"? one \"x\" | \"qq\"? \"q\" two \"y\" | \"q\" \"b\" two \"y\" | \"ra\"? \"r\" three \"z\" | \"rb\" three \"z\")+ \";\"\none ::= {}\ntwo ::= {}\nthree ::= {}",
        count(1, 20),
        count(1, 30),
        count(2, 40)
    );
    let text = |letter: &str, length: usize, end: &str| {
        format!("{letter}<{}>{end}", "ab".repeat(20)[..length].to_owned())
    };
    let accept = [
        text("", 1, "x;"),
        text("", 20, &format!("x{}", text("q", 30, "y;"))),
        text("q", 9, &format!("y{}", text("r", 7, "z;"))),
        text("r", 40, "z;"),
    ];
    let reject =
        [text("", 3, "y;"), text("q", 3, "x;"), text("r", 3, "y;"), text("q", 31, "y;"), text("r", 1, "z;")];
    judge(&grammar, words, &accept.each_ref().map(String::as_str), &reject.each_ref().map(String::as_str));
}

/// Short rules that are called within each other and counted: how far a token reaches depends on what it ends.
#[test]
fn counts_of_nested_calls_end_where_they_should() {
    let words: &[&[u8]] =
        &[b"x;", b"x;x;", b"x;x;x;", b");", b"x;);", b"););", b"(x;", b");x;(", b"x;)", b"(("];
    for count in [1, 3, 30] {
        let grammar = format!("root ::= \"(\" (item \";\"){{0,{count}}} \")\"\nitem ::= root | \"x\"");
        let list = |items: usize, item: &str| format!("({})", format!("{item};").repeat(items));
        let inner = list(count, "x");
        let nested = |items: usize| format!("({}{inner};)", "x;".repeat(items));
        let accept = [list(0, ""), inner.clone(), list(count, &inner), nested(count - 1)];
        let reject = [list(count + 1, "x"), nested(count), list(1, &list(count + 1, "x"))];
        judge(
            &grammar,
            words,
            &accept.each_ref().map(String::as_str),
            &reject.each_ref().map(String::as_str),
        );
        let (returns, classes, pairs) = stored(&grammar, words);
        assert!(returns == count && classes <= 5 && pairs <= 40, "{returns} {classes} {pairs}");
    }
}

/// A token that ends inside a character, and one that begins there.
#[test]
fn tokens_may_end_inside_a_character_of_any_rule() {
    let words: &[&[u8]] = &[b"(\xc3", b"\xa9)", b"\xa9\xc3", b"\xa8(", b"\xc3\xa9\xc3"];
    judge("root ::= \"é\" root \"è\" | \"(\" root \")\" | \"é\"", words, &["é", "(é)", "ééè"], &["è", "éè"]);
}

#[test]
fn built_in_json_over_a_small_vocabulary() {
    let words: &[&[u8]] = &[
        b"\"}]},",
        b"{\"",
        b"\":",
        b"\": ",
        b", \"",
        b",\"",
        b"[[",
        b"]]",
        b"}}}",
        b"[{}]",
        b"true",
        b"nul",
        b"e+1",
        b"-0.",
        b"00",
        b"\\u",
        b"\\ud83",
        b"d\\uDE0",
        b"\\\\\"",
        b"  ",
        b" \n",
        b"]\n",
        b"\xf0\x9f",
        b"\x98\x80\"",
    ];
    for policy in
        [Whitespace::Compact, Whitespace::Single, Whitespace::Lines, Whitespace::Flexible { max: 2 }]
    {
        let mut judge = Judge::new(&Constraint::json(policy), &Words::of(words));
        let Ok(Verdict::Index(matcher)) = judge.compile() else { panic!("{policy} was not compiled") };
        let explored = judge.explore(*matcher, 40).unwrap_or_else(|error| panic!("{policy}: {error}"));
        println!("{policy}: {explored:?}");
    }
}

/// One leading space is dropped whoever would have read it: the text's first character may be that of a rule called first,
/// or of one called by that. Every text of up to five characters.
#[test]
fn one_leading_space_is_dropped_before_called_rules_too() {
    for grammar in [
        "root ::= s\ns ::= \"(\" s \")\" | \" \" s? \"a\"",
        "root ::= s s | \"\"\ns ::= t | \"(\" s \")\"\nt ::= \" \"? \"(\" t? \")\" | \" a\"",
        "root ::= root \" \" | \" \" s | s\ns ::= \"(\" root? \")\" | \" \"",
        "root ::= s\ns ::= \" \" s \"a\" | \" \"",
    ] {
        let constraint = Constraint::gbnf(grammar, "root");
        let judge = Judge::new(&constraint, &Words::of(&[b" (", b"((", b" ", b"a", b"(", b")"]));
        let mut earley = Earley::of(&constraint).unwrap();
        let constraint = constraint.starting(TextStart::StripOneSpace);
        let start = matcher_with(&constraint, &judge.tokens, &judge.binding);
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            let longer: Vec<String> = texts
                .iter()
                .flat_map(|text| [" ", "a", "(", ")"].map(|more| format!("{text}{more}")))
                .collect();
            texts.extend(longer);
            texts.sort();
            texts.dedup();
        }
        for text in texts {
            let mut matcher = start.clone();
            let taken = matcher.advance_bytes(text.as_bytes()).is_ok();
            let rest = text.strip_prefix(' ').unwrap_or(&text);
            let place = earley.walk(earley.start(), rest.as_bytes());
            assert_eq!(taken, place.is_some(), "{grammar}\n{text:?} goes on");
            let complete = place.is_some_and(|set| earley.accepts(set));
            assert_eq!(taken && matcher.is_complete(), complete, "{grammar}\n{text:?}");
        }
    }
}

/// Recursion over a vocabulary that cannot write each byte by itself is refused, with a byte that it lacks.
#[test]
fn recursion_needs_each_byte_as_a_token() {
    let mut tokens = Tokens::new();
    for token in ["(", "()", "a)", "a"] {
        tokens.push(token.as_bytes(), false);
    }
    let (kind, reason) = refusal(&Constraint::gbnf("root ::= \"(\" root \")\" | \"a\"", "root"), &tokens);
    assert_eq!(kind, RefusalKind::Unspellable);
    assert!(reason.contains("0x29 \")\""), "{reason}");
    // The same brackets to a depth need no stack.
    let flat = Constraint::gbnf("root ::= \"(\" (\"(\" \"a)\" | \"a\") \")\"", "root");
    assert!(compile(&vocabulary_of(&tokens), &flat, 1).is_ok());
}

/// A rule that would need too many states is named, whether it is called or calls.
#[test]
fn an_over_budget_verdict_names_the_rule() {
    let tokens = Words::of(&[b"a", b"b", b"("]).with_each_of(b"ab()");
    for grammar in [
        "root ::= \"(\" root \")\" | blow\nblow ::= [ab]* \"a\" [ab]{25}",
        "root ::= ok | blow\nok ::= \"a\"\nblow ::= \"(\" blow \")\" | [ab]* \"a\" [ab]{25}",
    ] {
        match compile(&vocabulary_of(&tokens), &Constraint::gbnf(grammar, "root"), 1) {
            Err(CompileError::OverBudget(over)) => assert!(over.phase.contains("rule \"blow\""), "{over}"),
            other => panic!("{grammar}: {:?}", other.map(|bytes| bytes.len())),
        }
    }
}

/// Thousands of rules that may all end at once, of two kinds in turn, and of one kind: what may follow is what may follow
/// any of them.
#[test]
fn long_chains_of_returns_that_may_end_are_followed_to_the_bottom() {
    const PAIRS: usize = 2_000;
    let grammar = "root ::= \"(\" s \")\"\ns ::= \"i\" s (\"e\" s)? | \"w\" s (\"o\" s)? | \"x\"";
    let words: &[&[u8]] = &[b"x)", b"ex", b"oxox", b"ww"];
    let mut judge = Judge::new(&Constraint::gbnf(grammar, "root"), &Words::of(words));
    let start = matcher_with(&judge.constraint, &judge.tokens, &judge.binding);
    for nested in ["iw".repeat(PAIRS), "i".repeat(2 * PAIRS)] {
        let mut matcher = start.clone();
        let mut text = format!("({nested}");
        for more in ["", "x", "ex", "ox", "ex"] {
            let Some(set) = judge.earley.walk(judge.earley.start(), format!("{text}{more}").as_bytes())
            else {
                assert!(matcher.clone().advance_bytes(format!("{text}{more}").as_bytes()).is_err());
                continue;
            };
            text.push_str(more);
            matcher.reset();
            matcher.advance_bytes(text.as_bytes()).unwrap();
            assert_eq!(answer(&matcher, &judge.binding), judge.expected(Place::At(set)), "behind {more:?}");
        }
    }
}

/// A text whose stack is deeper than its limit has no mask and goes no further; each token of a mask is taken.
#[test]
fn a_token_past_the_depth_of_the_stack_is_taken_and_ends_the_masks() {
    let tokens = Words::of(&[b"((", b"))", b"x)"]).with_each_of(b"()x");
    let constraint = Constraint::gbnf("root ::= \"(\" root \")\" root | \"x\"", "root");
    let vocabulary = vocabulary_of(&tokens);
    let index = index_of(&compile(&vocabulary, &constraint, 1).unwrap());
    let binding = Binding::new(vec![], tokens.len());
    let mut matcher = Matcher::with_limits(index, vocabulary, &binding, 8, 3).unwrap();
    let segmenter = Segmenter::new(&tokens);
    let id = |text: &str| segmenter.greedy(text.as_bytes()).unwrap()[0];
    matcher.advance(id("((")).unwrap();
    // The first bracket is the whole text's, which nothing follows but its own rest.
    while matcher.stack_depth() < 3 {
        matcher.advance(id("(")).unwrap();
    }
    let before = answer(&matcher, &binding);
    for (text, frames) in [("(", 4), ("((", 5)] {
        assert!(matcher.allows(id(text)));
        matcher.advance(id(text)).unwrap();
        let past = MatcherError::StackDepth { limit: 3, frames };
        let mut mask = vec![0; matcher.mask_words()];
        assert_eq!(matcher.fill(&mut mask), Err(past.clone()));
        assert_eq!((matcher.advance(id("x")), matcher.validate(&[id("x")])), (Err(past), 0));
        assert!(!matcher.allows(id("x")) && matcher.mask().is_none());
        let mut forced = Vec::new();
        matcher.forced(&mut forced);
        assert_eq!((matcher.stack_depth(), forced.len()), (frames, 0));
        matcher.rollback(1).unwrap();
        assert_eq!(answer(&matcher, &binding), before);
    }
}
