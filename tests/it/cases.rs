//! Random constraints, vocabularies and bindings.

use gobo_oracle::Tokens;
use gobo_types::{Binding, Constraint, TokenId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

/// One random compile, and the binding its masks are asked for with.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) constraint: Constraint,
    pub(crate) tokens: Tokens,
    pub(crate) binding: Binding,
}

/// `share` of each 100 of proptest's cases, whose number `PROPTEST_CASES` sets for long runs: 256 unless told.
pub(crate) fn config(share: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases * share / 100, max_shrink_iters: 4_000, ..default }
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    (constraint(), tokens(), vec(any::<Index>(), 0..3), 0..70_u32).prop_map(
        |(constraint, tokens, eos, padding)| {
            let binding = binding(&tokens, &eos, padding);
            Case { constraint, tokens, binding }
        },
    )
}

/// EOS ids are special tokens, holes, or ids in the padding: none that spells anything.
fn binding(tokens: &Tokens, eos: &[Index], padding: u32) -> Binding {
    let width = tokens.len() + padding;
    let silent = tokens.entries().filter(|(_, bytes, special)| *special || bytes.is_empty());
    let candidates: Vec<TokenId> = silent.map(|(id, ..)| id).chain(tokens.len()..width).collect();
    let eos = eos.iter().filter(|_| !candidates.is_empty()).map(|index| *index.get(&candidates)).collect();
    Binding::new(eos, width)
}

pub(crate) fn constraint() -> impl Strategy<Value = Constraint> {
    prop_oneof![
        6 => pattern().prop_map(Constraint::regex),
        2 => pattern().prop_map(Constraint::search),
        2 => vec(item(), 1..6).prop_map(Constraint::choice),
    ]
}

/// Classes wide enough that all tokens of a kind stay alive in them, a bounded number of times, in vocabularies with long
/// words of each kind: what a compiler may take without looking at each token.
pub(crate) fn wide_case() -> impl Strategy<Value = Case> {
    (wide_pattern(), words()).prop_map(|(pattern, tokens)| {
        let binding = Binding::new(vec![], tokens.len());
        Case { constraint: Constraint::regex(pattern), tokens, binding }
    })
}

fn wide_pattern() -> impl Strategy<Value = String> {
    let class = select(vec![
        r#"[^"\\\x00-\x1F]"#,
        r"\w",
        r"(?s:.)",
        ".",
        r"[a-z]",
        r"[a-zA-Z]",
        r"[a-zA-Z ]",
        r"\p{L}",
        r"[\p{L}\p{M} ]",
        r"\S",
        r"[^\s]",
        r"[ -~]",
        r"[^a]",
        r"[\u{80}-\u{10FFFF}]",
        r"[a-zé-ÿ]",
    ]);
    let count = prop_oneof![
        2 => Just("*".to_owned()),
        4 => (0_u32..4, 0_u32..22).prop_map(|(min, more)| format!("{{{min},{}}}", min + more)),
        1 => (14_u32..20).prop_map(|times| format!("{{{times}}}")),
    ];
    let piece = (class.clone(), count).prop_map(|(class, count)| format!("{class}{count}"));
    let end = select(vec!["", "\"", "x", "[0-9]{2}", "\n", "é"]);
    (piece.clone(), end.clone(), class, prop::option::of((piece, end))).prop_map(
        |(first, end, class, more)| match more {
            None => format!("{first}{end}"),
            Some((second, last)) => format!("{first}(?:{end}{class}{second}|{last})"),
        },
    )
}

/// All bytes, and words of up to twenty characters of each sort.
fn words() -> impl Strategy<Value = Tokens> {
    let word = prop_oneof![
        "[a-z]{1,20}",
        "[a-c]{1,3}[A-Z]{1,3}",
        " [a-zA-Z]{1,18}",
        "[é-ÿ一-三]{1,18}",
        " [a-cé]{1,4}",
        "[0-9.,-]{1,4}",
        " {1,20}",
        "[a-b]{0,3}[\"\\\\][a-b]{0,2}",
        "[a-b]{0,2}\u{3000}",
        "[a-b]{0,2}[\n\t\u{7F}]{1,3}",
        "e\u{301}{1,17}",
    ]
    .prop_map(String::into_bytes);
    let part = select(vec![&b"\xc3"[..], b"\xa9a", b"a\xe4", b"\xb8\xad", b"\xe4\xb8", b"x\xf0\x9f"])
        .prop_map(<[u8]>::to_vec);
    vec(prop_oneof![9 => word, 1 => part], 0..40).prop_map(|words| {
        let mut tokens = Tokens::new();
        for byte in 0..=255 {
            tokens.push(&[byte], false);
        }
        for word in &words {
            tokens.push(word, false);
        }
        tokens
    })
}

fn item() -> impl Strategy<Value = String> {
    vec(select(vec!["a", "b", "c", "ab", "é", "中", "😀", "1"]), 0..4).prop_map(|parts| parts.concat())
}

/// Patterns over few characters, so that tokens, alternatives and repetitions overlap all the time.
pub(crate) fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        8 => select(vec!["a", "b", "c", "ab", "é", "中", "😀", "1"]),
        3 => select(vec!["[ab]", "[^a]", "[^a-cé]", "[é-中]", "[a-cé😀]", ".", "(?s:.)", r"\x{E9}"]),
        2 => select(vec!["^", "$", r"\A", r"\z"]),
        1 => select(vec!["", "()", "[a&&b]"]),
        // The Kelvin sign is a k, and the long s an s, when case does not count.
        1 => select(vec![r"\d", r"\w", r"\s", r"\p{Greek}", r"\P{L}", "(?i:k)", "(?i:aé)", "(?i:ſ|b)"]),
    ];
    let repeats = vec!["*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,3}", "{2,}", "{0}", "{2,3}?"];
    leaf.prop_map(str::to_owned).prop_recursive(4, 16, 3, move |inner| {
        prop_oneof![
            4 => vec(inner.clone(), 2..4).prop_map(|parts| parts.concat()),
            2 => vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            1 => (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x}|{x}{y})")),
            1 => (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("(?:{x}{y}|{x})")),
            1 => inner.clone().prop_map(|x| format!("({x}|)")),
            3 => (inner.clone(), select(repeats.clone())).prop_map(|(x, times)| format!("(?:{x}){times}")),
            1 => inner.prop_map(|x| format!("(?i:{x})")),
        ]
    })
}

/// What tokens are made of: characters of the patterns, others, and pieces of characters.
const PIECES: [&[u8]; 24] = [
    b"a",
    b"b",
    b"c",
    b"1",
    b"A",
    b"k",
    b"\n",
    b" ",
    "é".as_bytes(),
    "中".as_bytes(),
    "😀".as_bytes(),
    "\u{212a}".as_bytes(),
    "λ".as_bytes(),
    b"\xc3",
    b"\xa9",
    b"\xe4",
    b"\xb8",
    b"\xad",
    b"\xb8\xad",
    b"\xf0\x9f",
    b"\x98",
    b"\x98\x80",
    b"\x80",
    b"\xff",
];

/// Vocabularies with all bytes, with some, with no single byte at all; each with repeated tokens, holes and special
/// tokens somewhere between.
pub(crate) fn tokens() -> impl Strategy<Value = Tokens> {
    let pieces: Vec<Vec<u8>> = PIECES.iter().map(|piece| piece.to_vec()).collect();
    let single = prop_oneof![
        2 => Just((0..=255).map(|byte| vec![byte]).collect()),
        3 => subsequence(pieces.clone(), 0..=PIECES.len()),
        2 => Just(vec![]),
    ];
    let several = vec(vec(select(pieces.clone()), 2..=4).prop_map(|parts| parts.concat()), 0..32);
    let silent = prop_oneof![
        Just((vec![], false)),
        Just((b"<s>".to_vec(), true)),
        Just((vec![], true)),
        select(pieces).prop_map(|piece| (piece, true)),
    ];
    (single, several, vec(any::<Index>(), 0..4), vec(silent, 0..5))
        .prop_filter("a vocabulary without ordinary tokens is refused", |(single, several, ..)| {
            !single.is_empty() || !several.is_empty()
        })
        .prop_flat_map(|(single, several, repeated, silent)| {
            let mut ordinary = [single, several].concat();
            ordinary.extend(repeated.iter().map(|index| index.get(&ordinary).clone()).collect::<Vec<_>>());
            let all = ordinary.into_iter().map(|bytes| (bytes, false)).chain(silent);
            Just(all.collect::<Vec<_>>()).prop_shuffle()
        })
        .prop_map(|all| {
            let mut tokens = Tokens::new();
            for (bytes, special) in all {
                tokens.push(&bytes, special);
            }
            tokens
        })
}
