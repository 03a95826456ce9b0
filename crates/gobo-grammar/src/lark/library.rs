//! The grammars that Lark has built in, written anew from what their names stand for: `common`, `python` and `unicode` as its reference
//! lists them, and `lark`, the words of Lark itself.
//!
//! Lexers ask more of a terminal than its texts: which one is preferred, and how long the pattern is that Lark writes for it. So for them
//! some terminals are lazy or look ahead, and each has Lark's length.

use std::sync::LazyLock;

use gobo_types::Lexer;

/// Their names.
pub(super) const NAMES: [&str; 4] = ["common", "lark", "python", "unicode"];

/// Words that many languages share.
const COMMON: &str = r#"
DIGIT: "0".."9"
HEXDIGIT: DIGIT | "A".."F" | "a".."f"
INT: DIGIT+
SIGNED_INT: /[+-]?/ INT
DECIMAL: INT "." INT? | "." INT
_EXP: /[eE]/ SIGNED_INT
FLOAT: DECIMAL _EXP? | INT _EXP
SIGNED_FLOAT: /[+-]?/ FLOAT
NUMBER: INT | FLOAT
SIGNED_NUMBER: /[+-]?/ NUMBER

_STRING_INNER: /[^\n]*/
_STRING_ESC_INNER: /([^\n\\]|\\[^\n])*/
ESCAPED_STRING: /"([^"\n\\]|\\[^\n])*"/

LCASE_LETTER: "a".."z"
UCASE_LETTER: "A".."Z"
LETTER: LCASE_LETTER | UCASE_LETTER
WORD: LETTER+
CNAME: /[A-Za-z_][0-9A-Za-z_]*/

WS_INLINE: /[ \t]+/
WS: /[ \t\f\r\n]+/
CR: "\r"
LF: "\n"
NEWLINE: (CR? LF)+

SH_COMMENT: /#[^\n]*/
CPP_COMMENT: /\/\/[^\n]*/
C_COMMENT: /\/\*([^*]|\*+[^*\/])*\*+\//
SQL_COMMENT: /--[^\n]*/
"#;

/// Words of Python (*The Python Language Reference*, chapter 2).
const PYTHON: &str = r#"
NAME: /[^\W\d]\w*/
COMMENT: /#[^\n]*/
DEC_NUMBER: /0(_?0)*/ | /[1-9](_?[0-9])*/
HEX_NUMBER: /0x(_?[0-9a-f])+/i
OCT_NUMBER: /0o(_?[0-7])+/i
BIN_NUMBER: /0b(_?[01])+/i
FLOAT_NUMBER: /([0-9](_?[0-9])*\.([0-9](_?[0-9])*)?|\.[0-9](_?[0-9])*)(e[+-]?[0-9](_?[0-9])*)?/i
    | /[0-9](_?[0-9])*e[+-]?[0-9](_?[0-9])*/i
IMAG_NUMBER: /[0-9](_?[0-9])*j/i | FLOAT_NUMBER "j"i
STRING: /[ubf]?r?|r[ubf]/i (/"([^"\n\\]|\\[^\n])*"/ | /'([^'\n\\]|\\[^\n])*'/)
LONG_STRING: /[ubf]?r?|r[ubf]/i (/"""("?"?([^"\\]|\\(.|\n)))*"""/ | /'''('?'?([^'\\]|\\(.|\n)))*'''/)
"#;

/// Blanks with the no-break space.
const UNICODE: &str = r"
WS_INLINE: /[ \t\xa0]+/
WS: /[ \t\f\r\n\xa0]+/
";

/// Words of Lark (its reference, *Grammar Reference*).
const LARK: &str = r#"
OP: /[+*?]/
RULE: /!?[_?]?[a-z][_a-z0-9]*/
TOKEN: /_?[A-Z][_A-Z0-9]*/
STRING: /"([^"\n\\]|\\[^\n])*"i?/
REGEXP: /\/([^\/\\]|\\(.|\n))([^\/\\]|\\(.|\n))*\/[imslux]*/
_NL: /(\r?\n)+\s*/
NUMBER: /[+-]?[0-9]+/
WS_INLINE: /[ \t]+/
COMMENT: /\s*\/\/[^\n]*/ | /\s*#[^\n]*/
"#;

/// What lexers have in the place of a line of a built-in grammar: `(grammar, name, definition)`.
const LEXED: [(&str, &str, &str); 12] = [
    ("common", "_STRING_INNER", r"/[^\n]*?/"),
    ("common", "_STRING_ESC_INNER", r"/([^\n\\]|\\[^\n])*?/"),
    ("lark", "OP", r"/[+*]|[?](?![a-z])/"),
    ("lark", "REGEXP", r"/\/(?!\/)(\\\/|\\\\|[^\/])*?\/[imslux]*/"),
    ("python", "DEC_NUMBER", r"/0(_?0)*(?![1-9])/ | /[1-9](_?[0-9])*/"),
    ("python", "HEX_NUMBER.2", r"/0x(_?[0-9a-f])+/i"),
    ("python", "OCT_NUMBER.2", r"/0o(_?[0-7])+/i"),
    ("python", "BIN_NUMBER.2", r"/0b(_?[01])+/i"),
    (
        "python",
        "FLOAT_NUMBER.2",
        r"/[0-9](_?[0-9])*e[+-]?[0-9](_?[0-9])*/i
    | /([0-9](_?[0-9])*\.([0-9](_?[0-9])*)?|\.[0-9](_?[0-9])*)(e[+-]?[0-9](_?[0-9])*)?/i",
    ),
    ("python", "IMAG_NUMBER.2", r#"(FLOAT_NUMBER | /[0-9](_?[0-9])*/) "j"i"#),
    ("python", "STRING", r#"/([ubf]?r?|r[ubf])("(?!"")([^"\n\\]|\\[^\n])*"|'(?!'')([^'\n\\]|\\[^\n])*')/i"#),
    (
        "python",
        "LONG_STRING",
        r#"/([ubf]?r?|r[ubf])("""("?"?([^"\\]|\\(.|\n)))*"""|\'\'\'(\'?\'?([^\'\\]|\\(.|\n)))*\'\'\')/i"#,
    ),
];

/// The number of characters of the pattern that Lark 1.3.1 writes for a terminal: `(grammar, name, characters)`.
const LENGTHS: [(&str, &str, u64); 48] = [
    ("common", "DIGIT", 5),
    ("common", "HEXDIGIT", 21),
    ("common", "INT", 10),
    ("common", "SIGNED_INT", 24),
    ("common", "DECIMAL", 44),
    ("common", "_EXP", 31),
    ("common", "FLOAT", 126),
    ("common", "SIGNED_FLOAT", 140),
    ("common", "NUMBER", 141),
    ("common", "SIGNED_NUMBER", 155),
    ("common", "_STRING_INNER", 3),
    ("common", "_STRING_ESC_INNER", 18),
    ("common", "ESCAPED_STRING", 20),
    ("common", "LCASE_LETTER", 5),
    ("common", "UCASE_LETTER", 5),
    ("common", "LETTER", 15),
    ("common", "WORD", 20),
    ("common", "CNAME", 53),
    ("common", "WS_INLINE", 13),
    ("common", "WS", 12),
    ("common", "CR", 1),
    ("common", "LF", 1),
    ("common", "NEWLINE", 12),
    ("common", "SH_COMMENT", 6),
    ("common", "CPP_COMMENT", 9),
    ("common", "C_COMMENT", 13),
    ("common", "SQL_COMMENT", 7),
    ("python", "NAME", 10),
    ("python", "COMMENT", 6),
    ("python", "STRING", 77),
    ("python", "LONG_STRING", 78),
    ("python", "DEC_NUMBER", 48),
    ("python", "HEX_NUMBER", 40),
    ("python", "OCT_NUMBER", 24),
    ("python", "BIN_NUMBER", 24),
    ("python", "FLOAT_NUMBER", 192),
    ("python", "IMAG_NUMBER", 225),
    ("lark", "NUMBER", 24),
    ("lark", "WS_INLINE", 13),
    ("lark", "OP", 17),
    ("lark", "RULE", 22),
    ("lark", "TOKEN", 17),
    ("lark", "STRING", 26),
    ("lark", "REGEXP", 38),
    ("lark", "_NL", 9),
    ("lark", "COMMENT", 33),
    ("unicode", "WS_INLINE", 10),
    ("unicode", "WS", 13),
];

/// `common` as llguidance has it: its strings go on over line ends.
static LLGUIDANCE_COMMON: LazyLock<String> = LazyLock::new(|| {
    let is_other = |line: &&str| is_line_of(line, "ESCAPED_STRING");
    let kept = COMMON.lines().filter(|line| !is_other(line)).flat_map(|line| [line, "\n"]);
    kept.chain([r#"ESCAPED_STRING: /"([^"\\]|\\.)*"/"#, "\n"]).collect()
});

/// [`text`] for lexers.
static LEXED_TEXTS: LazyLock<[String; NAMES.len()]> = LazyLock::new(|| {
    NAMES.map(|grammar| {
        let texts = text(grammar, Some(Lexer::None)).unwrap_or_default();
        let is_kept = |line: &&str| !LEXED.iter().any(|of| of.0 == grammar && is_line_of(line, of.1));
        let mut text: String = texts
            .lines()
            .filter(|line| !line.starts_with(' '))
            .filter(is_kept)
            .flat_map(|line| [line, "\n"])
            .collect();
        for (_, name, definition) in LEXED.iter().filter(|of| of.0 == grammar) {
            text.extend([*name, ": ", definition, "\n"]);
        }
        text
    })
});

/// Whether a line defines a name, which may have a priority.
fn is_line_of(line: &str, name: &str) -> bool {
    let name = name.split('.').next().unwrap_or(name);
    line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'))
}

/// The text of a built-in grammar under a lexer.
pub(super) fn text(name: &str, lexer: Option<Lexer>) -> Option<&'static str> {
    let at = NAMES.iter().position(|known| *known == name)?;
    Some(match lexer {
        Some(Lexer::Longest) if name == "common" => LLGUIDANCE_COMMON.as_str(),
        Some(Lexer::None | Lexer::Longest) => [COMMON, LARK, PYTHON, UNICODE][at],
        None | Some(Lexer::Contextual(_) | Lexer::Basic(_)) => LEXED_TEXTS[at].as_str(),
    })
}

/// The number of characters of the pattern that Lark writes for a terminal of a built-in grammar.
pub(super) fn length(grammar: &str, name: &str) -> Option<u64> {
    LENGTHS.iter().find(|of| of.0 == grammar && of.1 == name).map(|of| of.2)
}
