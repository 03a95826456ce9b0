//! A reader of llama.cpp's GBNF by recursive descent, one function for each production of its syntax. O(length of the text).

use std::collections::HashMap;

use crate::context_free::grammar::{Grammar, RuleId, Symbol};

/// A text that is not GBNF.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} at character {at}")]
pub struct GbnfError {
    /// Characters before the fault.
    pub at: usize,
    /// What should be there.
    pub expected: &'static str,
}

/// Reads a grammar in llama.cpp's GBNF, by the guide beside its example grammars, and where that is silent by what
/// llama.cpp does:
///
/// - an escape such as `\xE9` is a character, never a byte;
/// - `.` and negated classes take line ends too;
/// - a rule ends with its line, save inside parentheses, after `::=` and after `|`, so an alternative that is empty and
///   the last of its rule takes the next rule's name for its first item;
/// - a repetition stands after an item, and may itself be repeated; `""`, `[]` and `x{0}` are no item;
/// - `{m,n}` has no form without `m`;
/// - of two rules with one name the later one counts;
/// - `[z-a]` is a class without characters.
///
/// Left recursion, which llama.cpp refuses, is read like any other rule. Rules of single tokens (`<think>`) are not read.
///
/// # Errors
/// [`GbnfError`] if this is not GBNF, or refers to a rule that it lacks. One of them may be `start`.
pub fn read_gbnf(text: &str, start: &str) -> Result<(Grammar, RuleId), GbnfError> {
    let mut reader = Reader {
        text: text.chars().collect(),
        at: 0,
        grammar: Grammar::new(),
        names: HashMap::new(),
        defined: Vec::new(),
    };
    reader.blanks(true);
    while reader.peek().is_some() {
        reader.definition()?;
    }
    let start = reader.named(start.to_owned());
    if reader.names.values().any(|rule| !reader.defined.contains(rule)) {
        return Err(reader.expected("a definition of each rule"));
    }
    Ok((reader.grammar, start))
}

struct Reader {
    text: Vec<char>,
    at: usize,
    grammar: Grammar,
    names: HashMap<String, RuleId>,
    defined: Vec<RuleId>,
}

/// Alternatives of one another.
type Alternatives = Vec<Vec<Symbol>>;

impl Reader {
    fn expected(&self, expected: &'static str) -> GbnfError {
        GbnfError { at: self.at, expected }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, char: char) -> bool {
        let found = self.peek() == Some(char);
        self.at += usize::from(found);
        found
    }

    /// Blanks and comments; line ends only where the rule continues after them.
    fn blanks(&mut self, across_lines: bool) {
        while let Some(char) = self.peek() {
            match char {
                ' ' | '\t' => self.at += 1,
                '\r' | '\n' if across_lines => self.at += 1,
                '#' => {
                    while self.peek().is_some_and(|char| char != '\r' && char != '\n') {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
    }

    fn named(&mut self, name: String) -> RuleId {
        let grammar = &mut self.grammar;
        *self.names.entry(name).or_insert_with(|| grammar.rule())
    }

    /// Letters, digits, dashes and, in newer grammars, underscores.
    fn name(&mut self) -> Option<String> {
        let rest = &self.text[self.at..];
        let name: String = rest
            .iter()
            .take_while(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_'))
            .collect();
        self.at += name.len();
        (!name.is_empty()).then_some(name)
    }

    fn definition(&mut self) -> Result<(), GbnfError> {
        let name = self.name().ok_or_else(|| self.expected("the name of a rule"))?;
        let rule = self.named(name);
        self.blanks(false);
        if !(self.eat(':') && self.eat(':') && self.eat('=')) {
            return Err(self.expected("::="));
        }
        self.blanks(true);
        let alternatives = self.alternatives(false)?;
        if self.peek().is_some_and(|char| char != '\r' && char != '\n') {
            return Err(self.expected("the end of the line"));
        }
        self.blanks(true);
        self.grammar.rules[rule.0] = alternatives;
        self.defined.push(rule);
        Ok(())
    }

    fn alternatives(&mut self, nested: bool) -> Result<Alternatives, GbnfError> {
        let mut alternatives = vec![self.sequence(nested)?];
        while self.eat('|') {
            self.blanks(true);
            alternatives.push(self.sequence(nested)?);
        }
        Ok(alternatives)
    }

    fn sequence(&mut self, nested: bool) -> Result<Vec<Symbol>, GbnfError> {
        let (mut sequence, mut item) = (Vec::new(), Vec::new());
        while let Some(char) = self.peek() {
            if let Some((min, max)) = self.times(nested)? {
                if item.is_empty() {
                    return Err(self.expected("an item before its repetition"));
                }
                item = self.grammar.repeat(&item, min, max);
            } else {
                let next = match char {
                    '"' => self.literal()?,
                    '[' => self.class()?,
                    '(' => {
                        self.at += 1;
                        self.blanks(true);
                        let alternatives = self.alternatives(true)?;
                        if !self.eat(')') {
                            return Err(self.expected(")"));
                        }
                        vec![self.grammar.any_of(alternatives)]
                    }
                    '.' => {
                        self.at += 1;
                        vec![Symbol::Chars(vec![('\0', char::MAX)])]
                    }
                    _ => match self.name() {
                        Some(name) => vec![Symbol::Rule(self.named(name))],
                        None => break,
                    },
                };
                sequence.append(&mut item);
                item = next;
            }
            self.blanks(nested);
        }
        sequence.append(&mut item);
        Ok(sequence)
    }

    /// A repetition, if one stands here.
    fn times(&mut self, nested: bool) -> Result<Option<(u32, Option<u32>)>, GbnfError> {
        let times = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.at += 1;
                self.blanks(nested);
                let min = self.number()?.ok_or_else(|| self.expected("a number"))?;
                self.blanks(nested);
                let mut max = Some(min);
                if self.eat(',') {
                    self.blanks(nested);
                    max = self.number()?;
                    self.blanks(nested);
                }
                if self.peek() != Some('}') || max.is_some_and(|max| max < min) {
                    return Err(self.expected("} after numbers in order"));
                }
                (min, max)
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(times))
    }

    fn number(&mut self) -> Result<Option<u32>, GbnfError> {
        let rest = &self.text[self.at..];
        let digits: String = rest.iter().take_while(|char| char.is_ascii_digit()).collect();
        self.at += digits.len();
        if digits.is_empty() {
            return Ok(None);
        }
        digits.parse().map(Some).map_err(|_| self.expected("a smaller number"))
    }

    fn literal(&mut self) -> Result<Vec<Symbol>, GbnfError> {
        self.at += 1;
        let mut literal = Vec::new();
        while !self.eat('"') {
            let char = self.char()?;
            literal.push(Symbol::Chars(characters(&[(char, char)])));
        }
        Ok(literal)
    }

    fn class(&mut self) -> Result<Vec<Symbol>, GbnfError> {
        self.at += 1;
        let negated = self.eat('^');
        let mut ranges = Vec::new();
        while !self.eat(']') {
            let first = self.char()?;
            let is_range = self.peek() == Some('-') && self.text.get(self.at + 1) != Some(&']');
            let last = if is_range {
                self.at += 1;
                self.char()?
            } else {
                first
            };
            ranges.push((first, last));
        }
        if ranges.is_empty() {
            return Ok(vec![]);
        }
        let ranges = if negated { all_but(&ranges) } else { ranges };
        Ok(vec![Symbol::Chars(characters(&ranges))])
    }

    /// A character or an escape, as a code point.
    fn char(&mut self) -> Result<u32, GbnfError> {
        let unfinished = "a character";
        let char = self.peek().ok_or_else(|| self.expected(unfinished))?;
        self.at += 1;
        if char != '\\' {
            return Ok(u32::from(char));
        }
        let escaped = self.peek().ok_or_else(|| self.expected(unfinished))?;
        self.at += 1;
        match escaped {
            'n' => Ok(0x0A),
            'r' => Ok(0x0D),
            't' => Ok(0x09),
            '\\' | '"' | '[' | ']' | '-' => Ok(u32::from(escaped)),
            'x' => self.hex(2),
            'u' => self.hex(4),
            'U' => self.hex(8),
            _ => Err(self.expected("a known escape")),
        }
    }

    fn hex(&mut self, digits: usize) -> Result<u32, GbnfError> {
        (0..digits).try_fold(0_u32, |number, _| {
            let digit = self.peek().and_then(|char| char.to_digit(16));
            let digit = digit.ok_or_else(|| self.expected("a hexadecimal digit"))?;
            self.at += 1;
            Ok(number << 4 | digit)
        })
    }
}

/// All code points outside of `ranges`.
fn all_but(ranges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut ranges: Vec<_> = ranges.iter().copied().filter(|(first, last)| first <= last).collect();
    ranges.sort_unstable();
    let (mut rest, mut from) = (Vec::new(), 0);
    for (first, last) in ranges {
        if from < first {
            rest.push((from, first - 1));
        }
        from = from.max(last.saturating_add(1));
    }
    rest.push((from, u32::from(char::MAX)));
    rest
}

/// The characters among code points: no surrogates, nothing behind the last.
fn characters(ranges: &[(u32, u32)]) -> Vec<(char, char)> {
    let pieces = [('\0', '\u{D7FF}'), ('\u{E000}', char::MAX)];
    let within = |&(first, last): &(u32, u32)| {
        pieces.iter().filter_map(move |&(from, to)| {
            let (first, last) = (first.max(from.into()), last.min(to.into()));
            (first <= last).then(|| {
                let char = |code| char::from_u32(code).expect("a piece has only characters");
                (char(first), char(last))
            })
        })
    };
    ranges.iter().flat_map(within).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Earley;

    fn check(grammar: &str, accept: &[&str], reject: &[&str]) {
        let (rules, root) = read_gbnf(grammar, "root").unwrap_or_else(|error| panic!("{grammar:?}: {error}"));
        let mut earley = Earley::new(&rules, root);
        for text in accept {
            assert!(earley.contains(text.as_bytes()), "{grammar:?} accepts {text:?}");
        }
        for text in reject {
            assert!(!earley.contains(text.as_bytes()), "{grammar:?} rejects {text:?}");
        }
    }

    #[test]
    fn literals_and_their_escapes() {
        check(r#"root ::= "a\n\r\t\\\"\[\]\x41\u00e9\U0001F600""#, &["a\n\r\t\\\"[]Aé😀"], &["a"]);
        check(r#"root ::= "\xE9""#, &["é"], &[]);
        check(r#"root ::= "" "a" """#, &["a"], &[""]);
        check("root ::= \"a\nb\"", &["a\nb"], &[]);
        check("root ::= \"#\" # a comment \"x\"\n# another", &["#"], &[]);
    }

    #[test]
    fn classes() {
        check("root ::= [a-c-e]", &["a", "b", "c", "-", "e"], &["d", "", "aa"]);
        check("root ::= [-a] [a-] [^-]", &["-ax", "a-b"], &["a--"]);
        check(r"root ::= [^\]\\\x00-\x1F]", &["a", "[", "é", "\u{7F}", "😀"], &["]", "\\", "\n", ""]);
        check("root ::= [é-ü中]", &["é", "ü", "中"], &["z", "e"]);
        check(r"root ::= [\u0041-\U00000043] .", &["A\n", "Bé"], &["D\n", "A"]);
        check("root ::= [^b-a^]", &["a", "b"], &["^"]);
        check("root ::= \"x\" []", &["x"], &["xa"]);
        check(r"root ::= [\uD000-\uE000]", &["\u{D000}", "\u{D7FF}", "\u{E000}"], &["a"]);
    }

    #[test]
    fn repetitions() {
        check(r#"root ::= "ab"* [c]+ "d"?"#, &["c", "ababccd"], &["", "abd", "abbc"]);
        check(
            r#"root ::= "ab"{2} "c"{1,} "d"{0,2} "e"{1,2}"#,
            &["ababce", "ababccddee"],
            &["abce", "ababcddde"],
        );
        check(r#"root ::= ("a" | "b" "c")+"#, &["a", "bca"], &["", "b"]);
        check(r#"root ::= "a"{2}*"#, &["", "aa", "aaaa"], &["a", "aaa"]);
        check(r#"root ::= "a"{ 0 , 1 } "b"{0}"#, &["", "a"], &["b", "aa"]);
    }

    #[test]
    fn lines() {
        check("root ::=\n\n \"a\" |\n # why\n \"b\" s\r\ns ::= (\n\"c\"\n|\n)\n", &["a", "b", "bc"], &["ab"]);
        check("root ::= | \"a\"", &["", "a"], &[]);
        check("root ::=", &[""], &["a"]);
        check("root ::= a-1 b_2\na-1 ::= \"a\"\nb_2 ::= \"b\"", &["ab"], &[]);
        check("root ::= \"a\"\nroot ::= \"b\"", &["b"], &["a"]);
    }

    #[test]
    fn what_is_not_gbnf_is_refused() {
        for bad in [
            "",
            "root",
            "root ::= \"a",
            "root ::= [a",
            "root ::= (\"a\"",
            "root ::= \"a\")",
            "root ::= other",
            "root ::= *",
            "root ::= \"\"*",
            "root ::= \"a\"{,2}",
            "root ::= \"a\"{2,1}",
            "root ::= \"a\"{99999999999}",
            "root ::= \"\\q\"",
            "root ::= \"\\x4\"",
            "root ::= \"a\"\n| \"b\"",
            "root ::= \"a\" |\ns ::= \"b\"",
            "root ::=\ns ::= \"b\"",
            "root := \"a\"",
            "root ::= <think>",
        ] {
            assert!(read_gbnf(bad, "root").is_err(), "{bad:?}");
        }
    }
}
