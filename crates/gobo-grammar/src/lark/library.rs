//! The grammars that Lark has built in, written anew from what their names stand for: `common`, `python` and `unicode` as its reference
//! lists them, and `lark`, the words of Lark itself.

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

/// The text of a built-in grammar.
pub(super) fn text(name: &str) -> Option<&'static str> {
    Some(match name {
        "common" => COMMON,
        "lark" => LARK,
        "python" => PYTHON,
        "unicode" => UNICODE,
        _ => return None,
    })
}
