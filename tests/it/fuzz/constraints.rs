//! The texts of constraints: regular expressions, GBNF, JSON Schemas, each through its whole compile.

use std::sync::{Arc, LazyLock};

use gobo_artifact::Vocabulary;
use gobo_oracle::Tokens;
use gobo_types::{CompileError, CompileLimits, Constraint, Dialect, Lexer, LookAhead, SchemaOptions};

use super::fuzz;
use crate::subject::{compile_within, index_of, vocabulary_of};

/// Little, so that each input ends soon.
const LIMITS: CompileLimits = CompileLimits { max_states: 1 << 10, max_steps: 1 << 20, max_bytes: 16 << 20 };

/// Every byte, so that no text is unspellable, and some longer tokens.
static VOCABULARY: LazyLock<Arc<Vocabulary>> = LazyLock::new(|| {
    let mut tokens = Tokens::new();
    for byte in 0..=u8::MAX {
        tokens.push(&[byte], false);
    }
    for token in ["ab", "{\"", "\":", "true", "é"] {
        tokens.push(token.as_bytes(), false);
    }
    vocabulary_of(&tokens)
});

/// Whether the constraint is understood: it has an index, or a budget ends it.
fn compiles(constraint: &Constraint) -> bool {
    match compile_within(&VOCABULARY, constraint, 1, LIMITS) {
        Ok(bytes) => {
            index_of(&bytes);
            true
        }
        Err(CompileError::OverBudget(_)) => true,
        Err(CompileError::Refused(_)) => false,
        Err(other) => panic!("{other}"),
    }
}

fn seeds(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn regular_expressions() {
    let patterns = [
        r"(a|ab)*b{2,3}",
        r"^[^a\d]?\p{Greek}+$",
        r"(?i:k[[:alpha:]&&[^x]])|\x{1F600}*?",
        r"(?x) a # remark",
        r"(0|[a-b]{0,9}){1,4}|[]-a]",
    ];
    let words =
        ["(?:", "(?s-u)", "{0,1000}", r"\b", r"\p{L}", "[^", "&&", "--", r"\u{10FFFF}", "|", "$", "^", "é"];
    fuzz("regular expressions", seeds(&patterns), &words, |input| {
        let pattern = String::from_utf8_lossy(input);
        let full = compiles(&Constraint::regex(pattern.as_ref()));
        compiles(&Constraint::search(pattern.as_ref())) || full
    });
}

#[test]
fn gbnf() {
    let grammars = [
        "root ::= \"a\" root | \"b\"\n",
        "root ::= (item \",\")* item # remark\nitem ::= [^a-b]{1,3} | \"\\x41\" | root?\n",
        "root ::= x x\nx ::= | x \"a\" | (\"b\" | )+ [0\\]-]\n",
    ];
    let words = ["::=", "root", "\n", "\"\\u00e9\"", "{2,}", "{0}", "[]", "[^", "(", ")", "|", "#", "."];
    fuzz("GBNF", seeds(&grammars), &words, |input| {
        compiles(&Constraint::gbnf(String::from_utf8_lossy(input).as_ref(), "root"))
    });
}

#[test]
fn ebnf() {
    let grammars = [
        "root ::= item.a |\n  Regex(\"[0-9]{1,3}|a.*\")\n\nitem.a ::= [^] . \"\\x1F600\\/\"\n",
        "root ::= (Substring(\"abca\") \",\")* # remark\n  | [^a-b\\]]{1,3} root?\n",
    ];
    let words =
        ["::=", "root", "\n", "Regex(\"", "Substring(\"", "\")", "{2,}", "[^]", "(=", "\\x0", ".", "|"];
    fuzz("EBNF", seeds(&grammars), &words, |input| {
        let grammar = String::from_utf8_lossy(input);
        compiles(&Constraint::grammar(Dialect::Ebnf, grammar, "root", None, Vec::new()))
    });
}

#[test]
fn lark() {
    let grammars = [
        "start: \"a\" start? | B~1..2 -> b\nB: /x+(?!y)z|[^a]/i | \"c\"..\"d\"\n%ignore \" \"\n",
        "%import common (INT, WS)\n%ignore WS\nstart: list{INT, \",\"}\nlist{item, by}: item (by item)*\n",
        "start: A{,3} %regex {\"substring_chars\": \"abc\"}\nA: /[a-c]+/ & ~/b(?<=a)./ // remark\n%extend A: \"z\"\n",
        "start: p::0 t %json {\"type\":\"integer\"}\np::_: \"\" %if is_ones([0:2])\n | \"a\" p::set_bit(0) | \"b\" p::incr(_)\nt[suffix=\"x\"]: /.*/\n%ignore / *[#]/",
    ];
    let words = [
        "start",
        ":",
        "\n",
        "A",
        "/",
        "(?=",
        "(?<!a)",
        "\\b",
        "*+",
        "{1,9}",
        "~",
        "&",
        "::_",
        " : ",
        "::incr(_)",
        "%if lt([0:2],3)",
        "%json {}",
        "[lazy]",
        "[stop=\"a\"]",
        "%ignore",
        "%override",
        "|",
        "->",
    ];
    fuzz("Lark", seeds(&grammars), &words, |input| {
        let grammar = String::from_utf8_lossy(input);
        let lexers = [
            Lexer::None,
            Lexer::Contextual(LookAhead::default()),
            Lexer::Basic(LookAhead::default()),
            Lexer::Longest,
        ];
        let of = |lexer| Constraint::grammar(Dialect::Lark, grammar.clone(), "start", lexer, Vec::new());
        // Which lexer is the default is read off the grammar.
        let _ = of(None);
        // All of them are compiled, whatever becomes of the first.
        lexers.map(|lexer| compiles(&of(Some(lexer)))).contains(&true)
    });
}

#[test]
fn json_schemas() {
    let schemas = [
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"required":["a"],"$defs":{"b":{"enum":[0,"a",[]]}}}"##,
        r#"{"anyOf":[{"minimum":0.5,"multipleOf":0.1},{"pattern":"^a+(?=b)","maxLength":3},{"type":["null","boolean"]}]}"#,
        r#"{"oneOf":[{"items":{"const":0},"maxItems":2},{"contains":{},"uniqueItems":false}],"not":{"format":"date"}}"#,
        r#"{"if":{"minProperties":1},"then":{"patternProperties":{"^a":true},"additionalProperties":false},"else":{}}"#,
        "true",
    ];
    let words = [
        "\"$ref\":\"#\"",
        "\"allOf\":[",
        "\"not\":{",
        "\"unevaluatedProperties\":false",
        "\"dependencies\":{\"a\":[\"b\"]}",
        "\"prefixItems\":[{}]",
        "1e400",
        "-0.0",
        "\\ud800",
        "\"$dynamicRef\":\"#x\"",
        "\"$id\":\"a:\"",
        "{}",
        "[]",
        "null",
    ];
    fuzz("JSON Schemas", seeds(&schemas), &words, |input| {
        compiles(&Constraint::schema(String::from_utf8_lossy(input).as_ref(), SchemaOptions::default()))
    });
}
