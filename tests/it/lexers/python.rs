//! The naive reader against Lark itself, which needs `lark` 1.3.1.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::{indented, random, texts};

/// Reads lines with a grammar, a lexer, blanks and levels, and texts; writes for each which texts are taken, or null where the grammar is
/// refused. With levels, texts are those whose lines are indented by so many blanks for each level.
const SCRIPT: &str = r#"
import json, sys
from lark import Lark
from lark.indenter import Indenter
class Noting(Indenter):
    NL_type, INDENT_type, DEDENT_type, tab_len = "_NL", "_INDENT", "_DEDENT", 8
    OPEN_PAREN_types, CLOSE_PAREN_types = ["OPEN"], ["CLOSE"]
    is_plain, by, depth = True, 0, 0
    def handle_NL(self, token):
        yield from super().handle_NL(token)
        plain = [self.by * level for level in range(len(self.indent_level))]
        self.is_plain &= self.indent_level == plain and len(plain) <= self.depth + 1
for line in sys.stdin:
    case = json.loads(line)
    noting = Noting()
    noting.by, noting.depth = case["by"], case["depth"]
    try:
        postlex = noting if noting.depth else None
        parser = Lark(case["grammar"], parser="lalr", lexer=case["lexer"], postlex=postlex)
    except Exception:
        print("null")
        continue
    taken = []
    for text in case["texts"]:
        noting.is_plain = True
        try:
            parser.parse(text)
            taken.append(noting.is_plain)
        except Exception:
            taken.append(False)
    print(json.dumps(taken))
"#;

#[test]
#[ignore = "needs Python with lark"]
fn the_naive_reader_is_lark() {
    const GRAMMARS: usize = 400;
    let mut runner = TestRunner::deterministic();
    let plain = texts(random::CHARS, 4);
    let mut cases = Vec::new();
    while cases.len() < GRAMMARS {
        let (grammar, texts) = if cases.len() < GRAMMARS / 2 {
            (random::grammar().new_tree(&mut runner).unwrap().current(), plain.clone())
        } else {
            let grammar = indented::grammar().new_tree(&mut runner).unwrap().current();
            (grammar, indented::texts_of_lines(&mut runner))
        };
        let (by, depth) = grammar.blocks.as_ref().map_or((0, 0), |blocks| (blocks.by, blocks.depth));
        for lexer in ["contextual", "basic"] {
            if let Some(reader) = grammar.reader(lexer == "contextual") {
                let taken: Vec<bool> = texts.iter().map(|text| reader.reads(text)).collect();
                let lark = grammar.to_lark();
                let case = json!({"grammar": lark, "lexer": lexer, "by": by, "depth": depth, "texts": texts});
                cases.push((case, taken));
            }
        }
    }
    let answers = crate::python::lines(SCRIPT, cases.iter().map(|case| case.0.to_string()).collect());
    assert_eq!(answers.len(), cases.len());
    let mut compared = 0;
    for (answer, (case, taken)) in answers.iter().zip(&cases) {
        let Some(answer) = answer.as_array() else { continue };
        compared += 1;
        let texts = case["texts"].as_array().unwrap();
        for ((found, expected), text) in taken.iter().zip(answer).zip(texts) {
            assert_eq!(
                Some(*found),
                expected.as_bool(),
                "{text}\n{}\n{}",
                case["grammar"].as_str().unwrap(),
                case["lexer"]
            );
        }
    }
    assert!(compared > GRAMMARS / 3, "Lark takes {compared} of the grammars");
}
