use std::collections::BTreeSet;

use gobo_types::{CompileLimits, RefusalKind};
use proptest::prelude::*;

use super::syntax::{Node, Pattern};
use super::*;

fn budget() -> Budget {
    Budget::new(CompileLimits::default())
}

/// Checks which texts a pattern matches.
fn check(pattern: &str, yes: &[&str], no: &[&str]) {
    let language = ecma(pattern, &budget()).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    for (texts, expected) in [(yes, true), (no, false)] {
        for text in texts {
            assert_eq!(language.accepts(text), expected, "{pattern} of {text:?}");
        }
    }
}

#[test]
fn a_match_may_stand_anywhere_but_for_anchors() {
    check("foo", &["foo", "a foo b"], &["", "fo", "f oo"]);
    check("^foo", &["foo", "foo\n"], &[" foo"]);
    check("foo$", &["foo", "\nfoo"], &["foo\n"]);
    check("^foo$", &["foo"], &["", "foofoo", "foo\n"]);
    check("", &["", "a"], &[]);
    check("^", &["", "a"], &[]);
    check("^$", &[""], &["a", "\n"]);
    check("$^", &[""], &["a"]);
    check("a^b", &[], &["", "ab", "a\nb"]);
    check("a$b", &[], &["ab", "a", "b"]);
    check("(^a|b$)c?", &["a", "ax", "xb", "ac"], &["xa", "bx", "bc"]);
    check("^a|b$", &["ax", "xb"], &["xa", "bx"]);
    check("(?:^a)*b", &["b", "ab", "xb"], &["a"]);
    check("(?:a|$)(?:^|b)", &["", "ab"], &["a", "ba"]);
    check("^(a|ab)(c|bcd)$", &["ac", "abc", "abcd", "abbcd"], &["abcdc"]);
}

#[test]
fn quantifiers_count_and_laziness_changes_nothing() {
    check("^a*$", &["", "aaa"], &["b"]);
    check("^a+?$", &["a", "aaa"], &[""]);
    check("^a??b$", &["b", "ab"], &["aab"]);
    check("^a{2}$", &["aa"], &["a", "aaa"]);
    check("^a{2,}?$", &["aa", "aaaa"], &["a"]);
    check("^a{1,3}$", &["a", "aaa"], &["", "aaaa"]);
    check("^(?:ab?){0}$", &[""], &["a"]);
    check("^(?:a{0,2}b){2}$", &["bb", "aabab"], &["aaabb", "b"]);
}

#[test]
fn signs_without_a_meaning_stand_for_themselves() {
    check("^a{$", &["a{"], &["a"]);
    check("^a{,2}$", &["a{,2}"], &["aa"]);
    check("^{a}$", &["{a}"], &[]);
    check("^x{1$", &["x{1"], &["x"]);
    check("^a{1,b}]$", &["a{1,b}]"], &[]);
    check("^]}$", &["]}"], &[]);
    check(r"^\/\-\.\@\_\'\:\#\ \é$", &["/-.@_':# é"], &[]);
    check(r"^\a\Z\A\z\e\Q$", &["aZAzeQ"], &["", "a"]);
    check(r"^\x1\u12\xg$", &["x1u12xg"], &[]);
    check(r"^\k$", &["k"], &[]);
}

#[test]
fn escapes_stand_for_characters() {
    check(r"^\t\n\v\f\r\0\cJ\cj$", &["\t\n\u{b}\u{c}\r\0\n\n"], &[]);
    check(r"^\x41\u00e9\u{1F600}\u{000000041}$", &["Aé😀A"], &[]);
    check(r"^\uD83D\uDE00$", &["😀"], &["\u{fffd}"]);
    check(r"^.$", &["😀", "é"], &["", "ab", "\n", "\r", "\u{2028}", "\u{2029}"]);
    // Half a pair is no character.
    check(r"\uD83D", &[], &["", "😀"]);
    check(r"a|\uDE00", &["a"], &["😀"]);
    check(r"^\uD83D\u0041|b", &["b"], &["A"]);
    check(r"^[\uD83D\uDE00-\uD83D\uDE02]$", &["😀", "😁", "😂"], &["😃"]);
    check(r"^[\uD800-\uDFFF]?$", &[""], &["😀"]);
    check(r"^[^\uD800-\uDFFF]$", &["😀", "a"], &[]);
    check(r"^[\u0041-\uD900\uE000-\uFFFF]$", &["A", "\u{d7ff}", "\u{e000}"], &["@", "😀"]);
}

#[test]
fn classes_have_ranges_and_escapes() {
    check("^[a-cx]$", &["a", "b", "c", "x"], &["d", "-", ""]);
    check("^[^a-c]$", &["d", "\n", "😀"], &["a", ""]);
    check("[]", &[], &["", "a"]);
    check("^[^]$", &["a", "\n", "😀"], &[""]);
    check("^[]a]$", &[], &["]", "a", "a]"]);
    check(r"^[\]\\\-a\b\B]$", &["]", "\\", "-", "a", "\u{8}", "B"], &["b"]);
    check("^[-a]$|^[b-]$|^[--/]$", &["-", "a", "b", ".", "/"], &["c"]);
    check(r"^[\w-z]$", &["-", "a", "z"], &["{"]);
    check(r"^[+-\d]$", &["+", "-", "1"], &[",", "."]);
    check(r"^[\d-x-z]$", &["5", "-", "x", "z"], &["y"]);
    check(r"^[(*+?.{^$|]$", &["(", "*", "^", "$", "|"], &["a"]);
    check(r"^[\0-\x1f\u{7f}]$", &["\0", "\u{1f}", "\u{7f}"], &[" "]);
    check(r"^[\cA-\cC]$", &["\u{1}", "\u{3}"], &["A"]);
    check(r"^\d$", &["0", "9"], &["٣"]);
    check(r"^\D$", &["٣", "\n"], &["0"]);
    check(r"^\w$", &["a", "_", "Z", "0"], &["é", "-"]);
    check(r"^[^\W]\W$", &["aé"], &["éa"]);
    let spaces =
        "\t\n\u{b}\u{c}\r \u{a0}\u{1680}\u{2000}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";
    check(r"^\s+$", &[spaces], &["\u{85}", "\u{200b}", "\u{180e}", ""]);
    check(
        r"^[\S]+$",
        &["\u{85}\u{200b}é"],
        &spaces.split("").filter(|text| !text.is_empty()).collect::<Vec<_>>(),
    );
}

#[test]
fn properties_are_those_of_unicode() {
    check(r"^\p{Letter}cole$", &["école"], &["1cole", "cole"]);
    check(r"^\p{L}\p{Lu}\P{L}$", &["éÉ1"], &["éé1", "éÉa"]);
    check(r"^[\p{Script=Greek}\p{Nd}]+$", &["αβγ٣5"], &["a"]);
    check(r"^\p{sc=Cyrl}\p{General_Category=Lu}$", &["яЯ"], &["яя"]);
    check(r"^\p{Zl}\p{ASCII}\p{Alphabetic}$", &["\u{2028}aß"], &["\na\u{df}"]);
    check(r"^[^\P{Lu}]$", &["A", "É"], &["a", "1"]);
}

#[test]
fn groups_are_named_or_not() {
    check("^(a)(?:b)(?<nam_e$>c)(?<é>d)$", &["abcd"], &["abc"]);
    check("^(?P<year>\\d{2})-(?P<rest>a|b)$", &["12-a", "00-b"], &["12-", "?P<year>12-a"]);
    check("^(?:)()$", &[""], &["a"]);
}

#[test]
fn what_stands_before_is_looked_at() {
    check("(?<=a+b)c", &["abc", "xaabc"], &["bc", "c", "abxc"]);
    check("^(?<!x)y", &["y"], &["xy"]);
    check(r"(?<=\bno )\w+", &["no way", "oh no 1"], &["yno way", "no "]);
    check("(?<!^|,)b", &["ab", ",ab"], &["b", ",b"]);
    check("^(?=.*(?<=a)b)c", &["cab"], &["cb", "ab"]);
}

#[test]
fn word_boundaries_look_at_both_sides() {
    check(r"\bfoo\b", &["foo", "a foo.", "éfooé"], &["foobar", "_foo", "1foo"]);
    check(r"\Boo\B", &["foox", "1oo1"], &["oo", "foo", "oox", "-oo-"]);
    check(r"^\b", &["a", "ab-"], &["", "-a"]);
    check(r"^\B", &["", "-a"], &["a"]);
    check(r"\b$", &["a", "-a"], &["", "a-"]);
    check(r"^(?:\w\b-?)*$", &["", "a", "a-b-c", "a-"], &["ab", "-"]);
    check(r"^[ab-]{1,3}\b[ab-]{1,3}$", &["a-", "ab--", "-a"], &["ab", "--", "abab"]);
}

#[test]
fn look_aheads_hold_where_they_stand() {
    check("^(?!foo)[a-z]+$", &["fo", "bar", "afoo"], &["foo", "food", ""]);
    check("^(?=.*[0-9])(?=.*[a-z]).{3,}$", &["a1-", "--a1"], &["a1", "abc", "123"]);
    check("foo(?!bar)", &["foo", "foobaz", "foobarfoo"], &["foobar", "fo"]);
    check("foo(?=bar).{4}$", &["foobar!", "xfoobar1"], &["foobar", "foobaz!"]);
    check("^((?!x).)*$", &["", "abc"], &["x", "abxc", "\n"]);
    check("^(?:(?!.*--)[a-z-])+$", &["a-b-c", "-"], &["a--b", "--", ""]);
    check("^(?:a(?=b|$)|b)*$", &["", "abab", "bba"], &["aa", "aab"]);
    check("^(?!(?!a))", &["a", "ab"], &["", "b"]);
    check("^(?=a(?!b(?=c)))", &["a", "ab", "abd", "acc"], &["abc", "b"]);
    check("(?!^)a", &["ba"], &["a", "ab"]);
    check("(?=^a)", &["a", "ab"], &["ba", ""]);
    check("(?=a$)", &["a", "ba"], &["ab"]);
    check("^a(?!$)", &["ab"], &["a"]);
    check("^(?:a|(?=b)b|(?!c)[^a])$", &["a", "b", "d"], &["c", ""]);
    check("(?=a)*b", &["b", "ab"], &["a"]);
    check("(?=a){2}ab", &["ab"], &["b"]);
    check("(?!)|a", &["a"], &["b", ""]);
    check("(?=)", &["", "b"], &[]);
    check(r"^(?!\d+$)\w+\b(?=;)", &["a;", "a1;"], &["1,", "a"]);
    check("x(?!.*x)y$", &["xy", "xxy", "xyxy"], &["xyx"]);
    check(
        r"^(?!.*://)(?=.{1,9}$)((.{1,3}\.){1,7}(?![0-9]*$)[a-z0-9-]+\.?)$",
        &["a.b", "a.b."],
        &["a.1", "a", "://.a"],
    );
}

#[test]
fn refusals_name_the_offset() {
    use RefusalKind::{Malformed, Unsupported};
    for (pattern, kind, place) in [
        (r"(a)\1", Unsupported, 3),
        (r"é(?<n>a)\k<n>", Unsupported, 9),
        ("(?<=a(?=b))b", Unsupported, 0),
        ("a(?i:b)", Unsupported, 1),
        ("a(?i-s:b)", Unsupported, 1),
        ("a(?-i:b)", Unsupported, 1),
        (r"\p{Klingon}", Unsupported, 0),
        (r"a\p{}", Unsupported, 1),
        (r"\p{^L}", Unsupported, 0),
        ("(?i)a", Malformed, 0),
        ("(?P<n>a)b(?P=n)", Unsupported, 9),
        ("(?P<1>a)", Malformed, 0),
        ("(?P<n", Malformed, 0),
        ("(?P", Malformed, 0),
        ("(?P>n)", Malformed, 0),
        ("(?&n)", Malformed, 0),
        ("a(?R)", Malformed, 1),
        ("(?#a)", Malformed, 0),
        ("(?>a)", Malformed, 0),
        ("(?|a|b)", Malformed, 0),
        ("(a)?(?(1)b|c)", Malformed, 4),
        ("(?'n'a)", Malformed, 0),
        ("(?<>a)", Malformed, 0),
        ("(?<1>a)", Malformed, 0),
        ("(?<n", Malformed, 0),
        ("(?", Malformed, 0),
        ("a(b", Malformed, 1),
        ("a(b|(c)", Malformed, 1),
        ("ab)", Malformed, 2),
        ("a[b", Malformed, 1),
        ("[", Malformed, 0),
        ("[b-a]", Malformed, 1),
        (r"x[a\1]", Malformed, 3),
        ("*a", Malformed, 0),
        ("a|+", Malformed, 2),
        ("a**", Malformed, 2),
        ("a{2}{3}", Malformed, 4),
        ("{2}", Malformed, 0),
        ("^*", Malformed, 1),
        ("a${2}", Malformed, 2),
        (r"\b+", Malformed, 2),
        ("a{3,2}", Malformed, 1),
        (r"a\", Malformed, 1),
        (r"[a\", Malformed, 2),
        (r"\c1", Malformed, 0),
        (r"\01", Malformed, 0),
        (r"\pL", Malformed, 0),
        (r"\p{L", Malformed, 0),
        (r"\u{110000}", Malformed, 0),
        (r"\u{}", Malformed, 0),
        (r"\u{1", Malformed, 0),
    ] {
        let Err(CompileError::Refused(refusal)) = ecma(pattern, &budget()) else {
            panic!("{pattern} is not refused");
        };
        assert_eq!(
            (refusal.kind, refusal.place.as_str()),
            (kind, format!("offset {place}").as_str()),
            "{pattern}"
        );
    }
}

#[test]
fn limits_are_named_and_what_is_within_them_is_read() {
    let nested =
        |open: &str, close: &str, levels: usize| format!("{}a{}", open.repeat(levels), close.repeat(levels));
    for (open, close) in [("(", ")"), ("(?:b|x", "|c){1,2}?d"), ("(?=", "b?)"), ("(?!b)(?:", "|x)")] {
        match ecma(&nested(open, close, 250), &budget()) {
            Ok(_) | Err(CompileError::OverBudget(_)) => {}
            Err(error) => panic!("{open}: {error}"),
        }
        let error = ecma(&nested(open, close, 251), &budget()).unwrap_err();
        let place = open.len() * 250 + open.find('(').unwrap();
        assert_eq!(
            error,
            CompileError::refuse(
                RefusalKind::Unsupported,
                format!("offset {place}"),
                "it nests deeper than 250 levels",
            ),
        );
    }
    let error = ecma(&"a".repeat((1 << 20) + 1), &budget()).unwrap_err();
    assert!(error.to_string().contains("the limit is 1048576"), "{error}");
}

#[test]
fn what_is_too_large_is_over_budget() {
    let limits = CompileLimits { max_states: 1 << 12, max_steps: 20_000_000, max_bytes: 16 << 20 };
    for pattern in [
        "(a|b)*a(a|b){30}$",
        "((a{1000}){1000}){1000}",
        "(?:(?:(?:(?=a){1000}){1000}){1000}){1000}",
        "a{4294967295}",
        "(?!b)a{4294967295}b|c(?=d)",
        "^(?:a(?=.{14}b)|b)*$",
        &r"\p{L}".repeat(100_000),
        &"(?=a)|".repeat(100_000),
        &"a(?=a)".repeat(10_000),
        &r"\b".repeat(1 << 19),
    ] {
        let verdict = ecma(pattern, &Budget::new(limits)).map(|language| language.len());
        assert!(matches!(verdict, Err(CompileError::OverBudget(_))), "{pattern:.40}: {verdict:?}");
    }
    check("^.{0,5000}$", &["", &"x".repeat(5000)], &[&"x".repeat(5001)]);
    let words = |count: usize| vec!["some"; count].join("  ");
    check(r"^(?:\S+\s+){0,99}\S+$", &[&words(1), &words(100)], &["", " ", &words(101)]);
}

/// What a pattern matches, found by following the definition: for each place in a text, the places where a match that
/// begins there may end.
struct Oracle<'a> {
    pattern: &'a Pattern,
    text: Vec<char>,
}

impl Oracle<'_> {
    fn accepts(&self) -> bool {
        (0..=self.text.len()).any(|at| !self.ends(&self.pattern.node, at).is_empty())
    }

    fn is_word(&self, at: Option<usize>) -> bool {
        at.and_then(|at| self.text.get(at)).is_some_and(|char| char.is_ascii_alphanumeric() || *char == '_')
    }

    fn ends(&self, node: &Node, at: usize) -> BTreeSet<usize> {
        let when = |holds: bool, at: usize| BTreeSet::from_iter(holds.then_some(at));
        let reads = |is: &dyn Fn(char) -> bool| when(self.text.get(at).is_some_and(|char| is(*char)), at + 1);
        match node {
            Node::Empty => when(true, at),
            Node::Char(char) => reads(&|read| read == *char),
            Node::Class(class) => {
                reads(&|read| class.char_ranges().any(|(first, last)| (first..=last).contains(&read)))
            }
            Node::Concat(parts) => {
                parts.iter().fold(BTreeSet::from([at]), |ends, part| self.all(&ends, part))
            }
            Node::Alternate(parts) => parts.iter().flat_map(|part| self.ends(part, at)).collect(),
            Node::Repeat { node, min, max } => {
                let mut ends = BTreeSet::from([at]);
                for _ in 0..*min {
                    ends = self.all(&ends, node);
                }
                // More rounds than characters end nowhere new.
                for _ in *min..max.unwrap_or(u32::MAX).min(min + 1 + u32::try_from(self.text.len()).unwrap())
                {
                    ends = &ends | &self.all(&ends, node);
                }
                ends
            }
            Node::Start => when(at == 0, at),
            Node::End => when(at == self.text.len(), at),
            Node::Boundary { is_negated } => {
                let is_boundary = self.is_word(at.checked_sub(1)) != self.is_word(Some(at));
                when(is_boundary != *is_negated, at)
            }
            Node::Look(look) => {
                let look = &self.pattern.looks[*look];
                when(self.ends(&look.body, at).is_empty() == look.is_negated, at)
            }
        }
    }

    fn all(&self, ends: &BTreeSet<usize>, node: &Node) -> BTreeSet<usize> {
        ends.iter().flat_map(|&at| self.ends(node, at)).collect()
    }
}

/// Patterns of few characters, with all that looks around in any place.
fn patterns() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(
        &[
            "a", "b", "-", ".", "[ab]", "[^a]", "^", "$", r"\b", r"\B", r"\w", "", "ab", "a*", "(?!a)",
            "(?=b)",
        ][..],
    );
    let quantifiers = prop::sample::select(&["*", "+", "?", "{2}", "{0,2}", "{1,}", "{1,3}?", "{0}"][..]);
    leaf.prop_map(str::to_owned).prop_recursive(5, 24, 4, move |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 2..5).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => (inner.clone(), quantifiers.clone()).prop_map(|(inner, times)| format!("({inner}){times}")),
            1 => inner.clone().prop_map(|inner| format!("(?={inner})")),
            1 => inner.clone().prop_map(|inner| format!("(?!{inner})")),
            1 => inner.prop_map(|inner| format!("^{inner}$")),
        ]
    })
}

/// All texts of up to so many characters of a few.
fn texts(length: usize) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut from = 0;
    for _ in 0..length {
        let to = texts.len();
        for at in from..to {
            texts.extend(['a', 'b', '-', '\n'].map(|char| format!("{}{char}", texts[at])));
        }
        from = to;
    }
    texts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn patterns_match_what_their_definition_says(pattern in patterns(), long in "[ab-]{5,8}") {
        let language = ecma(&pattern, &budget()).unwrap();
        let parsed = parse::parse(&pattern, &budget()).unwrap();
        for text in texts(4).into_iter().chain([long]) {
            let oracle = Oracle { pattern: &parsed, text: text.chars().collect() };
            prop_assert_eq!(language.accepts(&text), oracle.accepts(), "{} of {:?}", pattern, text);
        }
    }

    #[test]
    fn no_pattern_panics(pattern in r"[ab(){}\[\]?:=!<>*+.^$|\\dwpuxk0-9,é-]{0,24}") {
        let limits = CompileLimits { max_states: 1 << 10, max_steps: 1_000_000, max_bytes: 4 << 20 };
        let _ = ecma(&pattern, &Budget::new(limits));
    }
}

#[test]
fn groups_of_other_dialects_are_named() {
    for (pattern, what) in [
        ("(?P<n>a)(?P=n)", "(?P=name) is a back-reference"),
        ("(?P>n)", "(?P> begins a call of a group"),
        ("(?#a)", "(?# begins a comment"),
        ("(?>a)", "(?> begins a group without backtracking"),
        ("(?(1)a|b)", "(?( begins a condition on a group"),
    ] {
        let error = ecma(pattern, &Budget::new(CompileLimits::default())).unwrap_err().to_string();
        assert!(error.contains(what), "{pattern}: {error}");
    }
}
