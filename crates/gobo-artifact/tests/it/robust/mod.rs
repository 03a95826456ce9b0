//! The reader on bytes that nobody wrote in good faith: it never panics and never reads outside the file, `open` names
//! what is wrong with a header, and `verify` finds every change of content.

mod damage;
mod encoder;
mod exits;
mod files;
mod header;
mod hostile;
mod parts;
mod tokens;
mod walk;

use std::sync::LazyLock;

use gobo_artifact::{ArtifactError, Fault};
use gobo_types::{Constraint, Dialect, Lexer, LookAhead, SchemaOptions, Whitespace};

use crate::example;

/// A vocabulary and an index over it, both sound.
#[derive(Debug)]
struct Pair {
    vocabulary: Vec<u8>,
    index: Vec<u8>,
}

impl Pair {
    fn new(tokens: &[(&[u8], bool)], constraint: &Constraint) -> Self {
        let (vocabulary, index) = example::build(tokens, constraint);
        Self { vocabulary, index }
    }
}

/// Few bytes: a hole, a special token, one spelling with two ids.
static SMALL: LazyLock<Pair> = LazyLock::new(|| {
    let tokens: &[(&[u8], bool)] =
        &[(b"a", false), (b"b", false), (b"ab", false), (b"<eos>", true), (b"", false), (b"ab", false)];
    Pair::new(tokens, &Constraint::regex("(ab)*"))
});

/// Rows wide enough that all three kinds are worth it, and a trie with byte sets.
static WIDE: LazyLock<Pair> = LazyLock::new(|| {
    let letters = || b'a'..=b'z';
    let mut tokens: Vec<Vec<u8>> = (b'0'..=b'9').chain(letters()).map(|byte| vec![byte]).collect();
    tokens.extend(letters().flat_map(|one| letters().map(move |two| vec![one, two])));
    tokens.extend((0..1400_u32).map(|n| format!("x{n:x}").into_bytes()));
    let tokens: Vec<(&[u8], bool)> = tokens.iter().map(|token| (token.as_slice(), false)).collect();
    Pair::new(&tokens, &Constraint::regex("[a-z]+0?"))
});

/// The tokens of small texts with brackets.
const BRACKETS: &[(&[u8], bool)] = &[
    (b"[", false),
    (b"]", false),
    (b",", false),
    (b"x", false),
    (b"[[", false),
    (b"]]", false),
    (b"],", false),
    (b"<eos>", true),
    (b"x],[", false),
];

/// Calls, a stack and pending suffixes, with one configuration at a time.
static NESTED: LazyLock<Pair> = LazyLock::new(|| {
    let grammar = "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= root | \"x\"";
    Pair::new(BRACKETS, &Constraint::gbnf(grammar, "root"))
});

/// Calls that overlap: several configurations at a time, and returns at which a rule may end.
static AMBIGUOUS: LazyLock<Pair> = LazyLock::new(|| {
    let grammar = "root ::= \"[\" root \"[\" | \"x\" root? | \"[\" root (\"]\" root)? | \",\"";
    Pair::new(BRACKETS, &Constraint::gbnf(grammar, "root"))
});

/// Counted rules: strings of at most 3,000 letters, and of at least 2,100.
static COUNTED: LazyLock<Pair> = LazyLock::new(|| {
    let tokens: &[(&[u8], bool)] = &[
        (b"[", false),
        (b"]", false),
        (b",", false),
        (b"x", false),
        (b"\"", false),
        (b"xx", false),
        (b"x\"", false),
        (b"\",\"", false),
        (b"<eos>", true),
    ];
    let schema = r#"{"type": "array", "prefixItems": [
        {"type": "string", "pattern": "^x*$", "maxLength": 3000},
        {"type": "string", "pattern": "^x*$", "minLength": 2100, "maxLength": 3000}
    ], "items": false}"#;
    let options = SchemaOptions { whitespace: Whitespace::Compact, ..SchemaOptions::default() };
    Pair::new(tokens, &Constraint::schema(schema, options))
});

/// A counted rule whose texts have heads with a bound: e-mail addresses, over tokens for all their bytes.
static WITH_HEADS: LazyLock<Pair> = LazyLock::new(|| {
    let bytes: Vec<[u8; 1]> = (b' '..=b'~').map(|byte| [byte]).collect();
    let longer: [&[u8]; 4] = [b"xxxx", b"\"x", b"x@x", b"x\""];
    let tokens = bytes.iter().map(<[u8; 1]>::as_slice).chain(longer).map(|token| (token, false));
    let tokens: Vec<(&[u8], bool)> = tokens.chain([(&b"<eos>"[..], true)]).collect();
    let schema = r#"{"type": "string", "format": "email", "maxLength": 100}"#;
    let options = SchemaOptions { whitespace: Whitespace::Compact, ..SchemaOptions::default() };
    Pair::new(&tokens, &Constraint::schema(schema, options))
});

/// Rules with several exits: what ends a value decides whether `b` needs a space after it.
static EXITS: LazyLock<Pair> = LazyLock::new(|| {
    let tokens: &[(&[u8], bool)] = &[
        (b"(", false),
        (b")", false),
        (b"a", false),
        (b"b", false),
        (b" ", false),
        (b",", false),
        (b",)", false),
        (b"b)", false),
        (b" b)b", false),
        (b"<eos>", true),
    ];
    let grammar = include_str!("../../../../../docs/examples/exits.lark");
    let lexer = Some(Lexer::Contextual(LookAhead::default()));
    Pair::new(tokens, &Constraint::grammar(Dialect::Lark, grammar, "start", lexer, Vec::new()))
});

/// Token edges without calls: no token is read in both ways.
static EDGES: LazyLock<Pair> =
    LazyLock::new(|| Pair::new(CONTROLS, &Constraint::gbnf(EDGES_GRAMMAR, "root")));

/// Token edges, and a token that is read by its bytes too: several configurations, and no stack.
static BOTH_WAYS: LazyLock<Pair> = LazyLock::new(|| {
    let grammar = "root ::= <[1]> \"x\"* <eos> | \"[x\" | <[0]> <[0-2]>";
    Pair::new(CONTROLS, &Constraint::gbnf(grammar, "root"))
});

/// A rule that counts tokens.
static BUDGETED: LazyLock<Pair> = LazyLock::new(|| {
    let grammar = "root ::= \"[\" body \"x\" Token(\"<y>\")\nbody[max_tokens=2] ::= (\"[\" | \"x\")*";
    Pair::new(CONTROLS, &Constraint::grammar(Dialect::Ebnf, grammar, "root", None, Vec::new()))
});

const EDGES_GRAMMAR: &str = "root ::= <y> \"[\" <[2]>* (\"x\" <[^5]> | <eos>)";

/// Letters and control tokens.
const CONTROLS: &[(&[u8], bool)] =
    &[(b"[", false), (b"x", false), (b"<y>", true), (b"[x", false), (b"<eos>", true), (b"<z>", true)];

fn fault(error: ArtifactError) -> Fault {
    match error {
        ArtifactError::Format { fault, .. } => fault,
        other => panic!("no fault of the format: {other}"),
    }
}
