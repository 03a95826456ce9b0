use gobo_types::{Budget, CompileError, CompileLimits};
use proptest::prelude::*;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::*;

fn ours(pattern: &str) -> Result<Hir, CompileError> {
    let ast = ast::parse::Parser::new().parse(pattern).expect("a test has well-formed patterns");
    translate(pattern, &ast, Assertions::OfTexts, &Budget::new(CompileLimits::default()))
}

/// What the library makes of a pattern, a refusal as it would be told here.
fn of_the_library(pattern: &str) -> Result<Hir, CompileError> {
    let ast = ast::parse::Parser::new().parse(pattern).expect("a test has well-formed patterns");
    let hir = Translator::new().translate(pattern, &ast);
    hir.map_err(|error| Translation::error(error.span(), error.kind()))
}

/// The characters of a pattern that is one class.
fn chars(pattern: &str) -> Vec<(char, char)> {
    match ours(pattern).unwrap().into_kind() {
        HirKind::Class(Class::Unicode(class)) => CharSet::from_class(&class).char_ranges().collect(),
        HirKind::Class(Class::Bytes(class)) if class.ranges().is_empty() => Vec::new(),
        HirKind::Literal(literal) => {
            std::str::from_utf8(&literal.0).unwrap().chars().map(|char| (char, char)).collect()
        }
        other => panic!("{pattern}: {other:?}"),
    }
}

/// When this fails, the library complements classes as it should, and may be asked to again.
#[test]
fn the_library_still_swaps_the_bounds_of_the_empty_gap() {
    let range = ClassUnicodeRange::new;
    let mut class = ClassUnicode::new([range('\0', '\u{d7ff}'), range('\u{e000}', char::MAX)]);
    class.negate();
    assert_eq!(class.ranges(), [range('\u{d7ff}', '\u{e000}')]);
}

#[test]
fn complements_are_exact_at_the_surrogates() {
    for (pattern, expected) in [
        (r"[^\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]", &[][..]),
        (r"[^\x{1}-\x{D7FF}\x{E000}-\x{10FFFE}]", &[('\0', '\0'), (char::MAX, char::MAX)]),
        (r"[^\x{0}-\x{D7FF}\x{E000}-\x{FFFF}]", &[('\u{10000}', char::MAX)]),
        (r"[^[^\x{D7FF}\x{E000}]]", &[('\u{d7ff}', '\u{d7ff}'), ('\u{e000}', '\u{e000}')]),
        (r"[^\x{D7FF}\x{E000}&&\x{D7FF}]", &[('\0', '\u{d7fe}'), ('\u{e000}', char::MAX)]),
        (r"[\x{0}-\x{10FFFF}--[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]]", &[]),
        (
            r"[\x{D700}-\x{D7FF}\x{E000}~~\x{D7FF}-\x{E001}]",
            &[('\u{d700}', '\u{d7fe}'), ('\u{e001}', '\u{e001}')],
        ),
        (r"(?i)[^\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]", &[]),
    ] {
        assert_eq!(chars(pattern), expected, "{pattern}");
    }
    // Unassigned characters end at U+D7FF, those of private use begin at U+E000.
    let class = CharSet::new(chars(r"[^\p{Cn}\p{Co}]"));
    let either = CharSet::new(chars(r"\p{Cn}").into_iter().chain(chars(r"\p{Co}")));
    assert_eq!(class, either.complement());
    assert!(!class.has('\u{d7ff}') && !class.has('\u{e000}') && class.has('a'));
    // The characters of XML, and all others.
    let xml = r"\x09\x0A\x0D\x{20}-\x{D7FF}\x{E000}-\x{FFFD}\x{10000}-\x{10FFFF}";
    let other = [('\0', '\u{8}'), ('\u{b}', '\u{c}'), ('\u{e}', '\u{1f}'), ('\u{fffe}', '\u{ffff}')];
    assert_eq!(chars(&format!("[^{xml}]")), other);
}

/// What is asked of the library's tables, and holds for those of this version.
#[test]
fn tables_are_what_is_made_of_them() {
    for class in [r"\d", r"\s", r"\w"] {
        assert_eq!(ours(&format!("(?i){class}")).unwrap(), ours(&format!("(?i)[{class}]")).unwrap());
        let set = CharSet::new(chars(class));
        let mut folded = set.to_class();
        folded.case_fold_simple();
        assert_eq!(CharSet::from_class(&folded), set, "{class} is closed under change of case");
    }
    // The only property that the library finds as a complement.
    assert_eq!(CharSet::new(chars(r"\p{Assigned}")), CharSet::new(chars(r"\p{Cn}")).complement());
}

const PATTERNS: &[&str] = &[
    "",
    "a",
    "abc",
    "a|b",
    "ab|cd|",
    "(a)(?<x>b)(?:c)",
    "a*b+?c?",
    "a{2}b{2,}?c{2,3}",
    "(?U)a*b+?",
    "()",
    "(|a)",
    ".",
    "(?s).",
    "(?R).",
    "(?sR).",
    "^a$",
    r"\Aa\z",
    "(?m:a)^",
    "(?i)abcK",
    "(?i)ſ",
    "a(?i)b|c",
    "(a(?i)b|c)d",
    "(?i)a(?-i:b)c",
    "(?i:a(?s-i:.b).)",
    "(?x) a b [ c d ] # e",
    "é(?i)É",
    "(?-u)abc",
    "(?-u)é",
    "(?i-u)aé!",
    r"(?-u)\x61",
    r"(?-u)\xFF",
    r"(?-u)\xC3\xA9",
    "(?-u).",
    "(?s-u).",
    r"(?-u)\w\d\s",
    r"(?-u)\W",
    r"(?-u)[^a]",
    r"(?-u)[a-z]",
    "(?-u)[é]",
    r"(?-u)[\xFF]",
    r"(?-u)[a-\xFF]",
    r"(?-u)[^\xFF]",
    "(?-u)[[:^alpha:]]",
    "(?-u)[[:alpha:]]",
    r"(?-u)[\W]",
    r"(?-u)\p{L}",
    r"(?-u)[\pL]",
    "(?-u)[a-z&&b-x]",
    "(?-u)[a-z--b-x]",
    "(?i-u)[a-z--b-x]",
    "(?-u)[a-z~~b-x]",
    "(?-u)[a&&b]",
    "(?-u)[a&&[^b]]",
    "(?i-u)[a-f]",
    "(?-u)[a(?u)]",
    r"\d\D\s\S\w\W",
    r"[\d\D]",
    r"[^\w\s]",
    r"[^\W]",
    r"\pL\PL\p{Greek}\P{Greek}\p{sc=Greek}\p{scx!=Greek}",
    r"\p{^Greek}\P{^Greek}",
    r"\P{sc!=Greek}",
    r"\p{Any}\P{Any}",
    r"\p{ASCII}",
    r"\p{Assigned}\P{Assigned}",
    r"\p{Zl}\P{Zl}",
    r"\p{gc=Lu}",
    r"(?i)\p{Lu}\P{Lu}",
    r"(?i)[\p{Lu}]",
    r"(?i)[^\P{Lu}]",
    r"(?i)[[:^upper:]]",
    r"\p{Nonsense}",
    r"\p{sc=Nonsense}",
    r"\p{Nonsense=1}",
    r"[\p{Nonsense}]",
    r"\p{Cs}",
    "[a-z]",
    "[^a-z]",
    "[]a]",
    "[^]a]",
    "[a]",
    "[^a]",
    "[é-ü]",
    "[[:alpha:]]",
    "[[:^alpha:]]",
    "[^[:alpha:]]",
    "[[:alnum:][:ascii:][:blank:]]",
    "[[:cntrl:]]",
    "[[:digit:]]",
    "[[:graph:]]",
    "[[:lower:]]",
    "[[:print:]]",
    "[[:punct:]]",
    "[[:space:]]",
    "[[:upper:]]",
    "[[:word:]]",
    "[[:xdigit:]]",
    "[a-z&&[^aeiou]]",
    "[a-z&&aeiou&&a]",
    "[a-z--aeiou]",
    "[a-g~~b-h]",
    "[^a-g~~b-h]",
    "[a&&b]",
    "[^a&&b]",
    "[a[b[c]]]",
    "[a[^b[^c]]]",
    "[^a[^b]]",
    "(?i)[a-z]",
    "(?i)[^a-z]",
    "(?i)[^x]",
    "(?i)[^[^x]]",
    "(?i)[k&&K]",
    "(?i)[a-z--K]",
    "(?i)[a-k~~K-Z]",
    "(?i)[^a-z&&[^k]]",
    r"[\x00-\x7F]",
    r"[^\x00-\x7F]",
    r"[\x{7FF}-\x{800}]",
    r"[^\x{FFFF}\x{10000}]",
    r"[\x{D7FE}-\x{E001}]",
    r"[^\x{D7FF}]",
    r"[^\x{E000}]",
    "[^a]{2}|[^b]*",
    "(?i)a|b|[^c]",
];

#[test]
fn everything_else_means_what_the_library_says() {
    for pattern in PATTERNS {
        assert_eq!(ours(pattern), of_the_library(pattern), "{pattern}");
    }
}

/// Items of classes that never have U+D7FF as the end of one range and U+E000 as the begin of another.
fn class() -> impl Strategy<Value = String> {
    let item = prop::sample::select(
        &[
            "a",
            "b-k",
            "K",
            "ſ",
            "é",
            "Σ",
            r"\d",
            r"\W",
            r"\pN",
            r"\P{Lu}",
            "[:alpha:]",
            "[:^upper:]",
            r"\x{7F}-\x{800}",
            "日",
            "😀",
        ][..],
    );
    let leaf = prop::collection::vec(item, 1..4).prop_map(|items| items.concat());
    let set = leaf.prop_recursive(3, 12, 3, |inner| {
        let bracketed = (any::<bool>(), inner)
            .prop_map(|(negated, inner)| format!("[{}{inner}]", if negated { "^" } else { "" }));
        prop_oneof![
            prop::collection::vec(bracketed.clone(), 1..3).prop_map(|parts| parts.concat()),
            (bracketed.clone(), prop::sample::select(&["&&", "--", "~~"][..]), bracketed)
                .prop_map(|(one, sign, two)| format!("{one}{sign}{two}")),
        ]
    });
    (any::<bool>(), any::<bool>(), set).prop_map(|(cases, negated, set)| {
        format!("{}[{}{set}]", if cases { "(?i)" } else { "" }, if negated { "^" } else { "" })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn random_classes_mean_what_the_library_says(pattern in class()) {
        prop_assert_eq!(ours(&pattern), of_the_library(&pattern));
    }
}

#[test]
fn looking_up_cases_is_charged() {
    let limits = CompileLimits { max_steps: 100_000, ..CompileLimits::default() };
    let pattern = r"(?i)[\x{0}-\x{10FFFF}]";
    let ast = ast::parse::Parser::new().parse(pattern).unwrap();
    assert!(matches!(
        translate(pattern, &ast, Assertions::OfTexts, &Budget::new(limits)),
        Err(CompileError::OverBudget(_))
    ));
}
