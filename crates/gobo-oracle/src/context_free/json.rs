//! RFC 8259 as a context-free grammar, one alternative for each form of the standard, with the whitespace of a policy.

use gobo_types::{NumberForm, Whitespace};

use crate::context_free::grammar::{Grammar, RuleId, Symbol, literal};

/// The whitespace of one policy, by place.
struct Blanks {
    /// After `,` and `:`.
    after: Vec<Symbol>,
    /// Everywhere else inside a value.
    elsewhere: Vec<Symbol>,
    /// Before and after the whole value.
    around: [Vec<Symbol>; 2],
}

/// The texts of RFC 8259 with the blanks of `whitespace`. Where two of the RFC's blanks meet (in `[ ]`, say) they are one
/// place. An escaped surrogate stands in a pair with its other half or not at all, since otherwise it is no character.
pub fn json_grammar(whitespace: Whitespace, numbers: NumberForm) -> (Grammar, RuleId) {
    let mut grammar = Grammar::new();
    if let Whitespace::Indent { by } = whitespace {
        let value = indented(&mut grammar, numbers, by as usize, 0);
        return (grammar, value);
    }
    let (text, value) = (grammar.rule(), grammar.rule());
    let Blanks { after, elsewhere, around: [first, last] } = blanks(&mut grammar, whitespace);
    let string = string(&mut grammar);
    let number = number(&mut grammar, numbers);
    let value_here = || vec![Symbol::Rule(value)];

    let member =
        [vec![string.clone()], elsewhere.clone(), literal(":"), after.clone(), value_here()].concat();
    let comma = [elsewhere.clone(), literal(","), after].concat();
    for (open, element, close) in [("[", value_here(), "]"), ("{", member, "}")] {
        let more = grammar.repeat(&[comma.clone(), element.clone()].concat(), 0, None);
        let open = [literal(open), elsewhere.clone()].concat();
        grammar.add(value, [open.clone(), literal(close)].concat());
        grammar.add(value, [open, element, more, elsewhere.clone(), literal(close)].concat());
    }
    grammar.add(value, vec![string]);
    grammar.add(value, vec![number]);
    for word in ["true", "false", "null"] {
        grammar.add(value, literal(word));
    }
    grammar.add(text, [first, value_here(), last].concat());
    (grammar, text)
}

/// The value inside `depth` brackets, as the pretty printer of `serde_json` lays it out with `by` spaces.
fn indented(grammar: &mut Grammar, numbers: NumberForm, by: usize, depth: usize) -> RuleId {
    let value = grammar.rule();
    let string = string(grammar);
    let number = number(grammar, numbers);
    grammar.add(value, vec![string.clone()]);
    grammar.add(value, vec![number]);
    for word in ["true", "false", "null", "[]", "{}"] {
        grammar.add(value, literal(word));
    }
    if depth < Whitespace::MAX_INDENTED_DEPTH as usize {
        let inner = indented(grammar, numbers, by, depth + 1);
        let new_line = |depth: usize| literal(&format!("\n{}", " ".repeat(by * depth)));
        let member = [vec![string], literal(": "), vec![Symbol::Rule(inner)]].concat();
        for (open, element, close) in [("[", vec![Symbol::Rule(inner)], "]"), ("{", member, "}")] {
            let more =
                grammar.repeat(&[literal(","), new_line(depth + 1), element.clone()].concat(), 0, None);
            let parts = [literal(open), new_line(depth + 1), element, more, new_line(depth), literal(close)];
            grammar.add(value, parts.concat());
        }
    }
    value
}

fn blanks(grammar: &mut Grammar, whitespace: Whitespace) -> Blanks {
    match whitespace {
        Whitespace::Compact => Blanks { after: vec![], elsewhere: vec![], around: [vec![], vec![]] },
        Whitespace::Single => {
            let after = vec![grammar.optional(literal(" "))];
            Blanks { after, elsewhere: vec![], around: [vec![], vec![]] }
        }
        Whitespace::Lines => {
            let line_end = grammar.any_of([literal("\n"), literal("\r\n")]);
            let spaces = grammar.repeat(&literal(" "), 0, Some(64));
            let tabs = grammar.repeat(&literal("\t"), 1, Some(16));
            let indentation = grammar.any_of([spaces, tabs]);
            let line = vec![line_end.clone(), indentation];
            let gap = vec![grammar.any_of([vec![], literal(" "), line])];
            let last = vec![grammar.optional(vec![line_end])];
            Blanks { after: gap.clone(), elsewhere: gap, around: [vec![], last] }
        }
        Whitespace::Flexible { max } => {
            let blank = one_of(" \t\n\r");
            let blanks = grammar.repeat(&[blank], 0, Some(max));
            Blanks { after: blanks.clone(), elsewhere: blanks.clone(), around: [blanks.clone(), blanks] }
        }
        Whitespace::Indent { .. } => unreachable!("indented texts have a grammar of their own"),
    }
}

fn one_of(characters: &str) -> Symbol {
    Symbol::Chars(characters.chars().map(|char| (char, char)).collect())
}

fn string(grammar: &mut Grammar) -> Symbol {
    let raw = Symbol::Chars(vec![('\u{20}', '!'), ('#', '['), (']', char::MAX)]);
    let hex = || Symbol::Chars(vec![('0', '9'), ('a', 'f'), ('A', 'F')]);
    let unicode = |digits: [Symbol; 4]| [literal("\\u"), digits.to_vec()].concat();
    let no_d = Symbol::Chars(vec![('0', '9'), ('a', 'c'), ('A', 'C'), ('e', 'f'), ('E', 'F')]);
    let high = unicode([one_of("dD"), one_of("89abAB"), hex(), hex()]);
    let low = unicode([one_of("dD"), one_of("cdefCDEF"), hex(), hex()]);
    let character = grammar.any_of([
        [literal("\\"), vec![one_of("\"\\/bfnrt")]].concat(),
        unicode([no_d, hex(), hex(), hex()]),
        unicode([one_of("dD"), one_of("01234567"), hex(), hex()]),
        [high, low].concat(),
    ]);
    // Characters that stand for themselves go round without a rule of their own.
    let characters = grammar.rule();
    grammar.add(characters, vec![]);
    grammar.add(characters, vec![Symbol::Rule(characters), raw]);
    grammar.add(characters, vec![Symbol::Rule(characters), character]);
    grammar.any_of([[literal("\""), vec![Symbol::Rule(characters)], literal("\"")].concat()])
}

/// The numbers of RFC 8259. Of the plain ones (`docs/json-schema.md`, *Numbers*) none is zero behind a minus, and fractions and
/// exponents are short.
fn number(grammar: &mut Grammar, numbers: NumberForm) -> Symbol {
    let (places, most) = match numbers {
        NumberForm::Plain => (Some(22), Some(3)),
        NumberForm::Json => (None, None),
    };
    let digit = [Symbol::Chars(vec![('0', '9')])];
    let nonzero = || vec![Symbol::Chars(vec![('1', '9')])];
    let more = grammar.repeat(&digit, 0, None);
    let whole = grammar.any_of([literal("0"), [nonzero(), more.clone()].concat()]);
    let sign = grammar.optional(vec![one_of("+-")]);
    let fraction = [literal("."), grammar.repeat(&digit, 1, places)].concat();
    let fraction = grammar.optional(fraction);
    let exponent = [vec![one_of("eE"), sign], grammar.repeat(&digit, 1, most)].concat();
    let exponent = grammar.optional(exponent);
    if numbers == NumberForm::Json {
        let minus = grammar.optional(literal("-"));
        return grammar.any_of([vec![minus, whole, fraction, exponent]]);
    }
    let mut mantissas =
        vec![vec![whole, fraction.clone()], [literal("-"), nonzero(), more, vec![fraction]].concat()];
    for zeros in 0..22 {
        let rest = grammar.repeat(&digit, 0, Some(21 - zeros));
        let start = literal(&format!("-0.{}", "0".repeat(zeros as usize)));
        mantissas.push([start, nonzero(), rest].concat());
    }
    let mantissa = grammar.any_of(mantissas);
    grammar.any_of([vec![mantissa, exponent]])
}

#[cfg(test)]
mod tests {
    use gobo_types::Constraint;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::Earley;

    fn earley(whitespace: Whitespace) -> Earley {
        Earley::of(&Constraint::json_with(whitespace, NumberForm::Json)).unwrap()
    }

    const COMPACT: [&str; 14] = [
        "0",
        "-0.5e+10",
        "\"\"",
        "null",
        "[]",
        "{}",
        "[[],{}]",
        "[1,true,false,null]",
        r#"{"a":{"b":[0]},"":1E9}"#,
        r#""\"\\\/\b\f\n\r\tA\u00e9""#,
        r#""\uD83D\uDE00\ud83d\ude00\uD7FF\uE000""#,
        "\"é中😀\u{7f}\u{2028}\"",
        "12e0",
        r#"[{"a":1},{"a":2}]"#,
    ];

    #[test]
    fn texts_without_blanks_are_texts_of_each_policy() {
        for policy in
            [Whitespace::Compact, Whitespace::Single, Whitespace::Lines, Whitespace::Flexible { max: 2 }]
        {
            let mut earley = earley(policy);
            for text in COMPACT {
                assert!(earley.contains(text.as_bytes()), "{policy}: {text}");
                serde_json::from_str::<serde_json::Value>(text).unwrap();
            }
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let mut earley = earley(Whitespace::Flexible { max: 3 });
        for text in [
            "",
            "01",
            "-",
            "+1",
            "1.",
            ".5",
            "1e",
            "1e+",
            "nul",
            "True",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{\"a\":1,}",
            "[1 2]",
            "1 2",
            "[",
            "\"",
            "\"\n\"",
            "\"\u{1f}\"",
            r#""\a""#,
            r#""\u12""#,
            r#""\U0041""#,
            r#""\uD83D""#,
            r#""\uDE00""#,
            r#""\uD83D\u0041""#,
            r#""\uDE00\uD83D""#,
            "'a'",
            "[1]]",
        ] {
            assert!(!earley.contains(text.as_bytes()), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
        }
        assert!(!earley.contains(b"\"\xc3\"") && !earley.contains(b"\"\xed\xa0\x80\""));
    }

    #[test]
    fn each_policy_has_its_blanks_and_no_others() {
        let mut compact = earley(Whitespace::Compact);
        let mut single = earley(Whitespace::Single);
        let mut flexible = earley(Whitespace::Flexible { max: 2 });
        for (text, by_single, by_flexible) in [
            (r#"{"a": 1, "b": [1, 2]}"#, true, true),
            (r#"{"a": 1,"b":[1, 2]}"#, true, true),
            ("[1,  2]", false, true),
            ("[1,\n2]", false, true),
            ("[1 ,2]", false, true),
            (" 1", false, true),
            ("1\t", false, true),
            ("[ ]", false, true),
            ("{ \r}", false, true),
            ("  [  1  ,  2  ]  ", false, true),
            ("{  \"a\"  :  1  }", false, true),
            ("[   ]", false, false),
            ("   1", false, false),
            ("[1\u{a0}]", false, false),
        ] {
            assert!(!compact.contains(text.as_bytes()), "{text:?}");
            assert_eq!(single.contains(text.as_bytes()), by_single, "{text:?}");
            assert_eq!(flexible.contains(text.as_bytes()), by_flexible, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn serde_json_agrees_about_texts_of_few_blanks(
            parts in prop::collection::vec(
                select(vec![
                    "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\\", "\\u", "\\n", "d8", "00", "\\ud800", "\\udc00",
                    "1", "0", "-", ".", "e", "+", "true", "null", " ", "\n", "é", "\u{7f}", "\u{1}", "\"b\":", "[1,",
                ]),
                0..9,
            ),
        ) {
            let text = parts.concat();
            let json = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            // There are at most eight blanks in all.
            prop_assert_eq!(earley(Whitespace::Flexible { max: 8 }).contains(text.as_bytes()), json, "{:?}", text);
        }
    }
}
