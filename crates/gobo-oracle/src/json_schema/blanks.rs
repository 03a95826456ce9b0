//! The whitespace of a text, judged gap by gap after the definition of the policies (`docs/semantics.md`, *JSON*).
//!
//! The text is cut into its tokens, strings as a whole. Before and after every token there is a gap, empty or not; the tokens around a gap
//! and the number of brackets open there say which whitespace a policy allows in it.

use gobo_types::Whitespace;

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// A gap: its whitespace, and what stands around it.
#[derive(Debug, PartialEq, Eq)]
struct Gap<'t> {
    blanks: &'t str,
    /// The last character before it; `None` before the whole text.
    before: Option<char>,
    /// The first character after it; `None` after the whole text.
    after: Option<char>,
    /// Brackets open in it.
    depth: usize,
}

/// Whether every gap of a JSON text has whitespace that the policy allows. What stands between the gaps is not judged. O(text).
#[must_use]
pub fn blanks_belong(text: &str, whitespace: Whitespace) -> bool {
    gaps(text).iter().all(|gap| allows(whitespace, gap))
}

fn gaps(text: &str) -> Vec<Gap<'_>> {
    let mut gaps = Vec::new();
    let mut rest = text;
    let mut before = None;
    let mut depth = 0;
    loop {
        let token_at = rest.find(|char: char| !BLANKS.contains(&char)).unwrap_or(rest.len());
        let (blanks, next) = rest.split_at(token_at);
        let after = next.chars().next();
        gaps.push(Gap { blanks, before, after, depth });
        let Some(first) = after else { return gaps };
        match first {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = usize::saturating_sub(depth, 1),
            _ => {}
        }
        let (token, others) = next.split_at(token_length(next));
        before = token.chars().last();
        rest = others;
    }
}

/// Bytes of the token that a text begins with.
fn token_length(text: &str) -> usize {
    if let Some(string) = text.strip_prefix('"') {
        let mut is_escaped = false;
        for (at, char) in string.char_indices() {
            match char {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => return at + 2,
                _ => {}
            }
        }
        return text.len();
    }
    let is_mark = |char: char| "[]{},:\"".contains(char);
    match text.find(|char: char| is_mark(char) || BLANKS.contains(&char)) {
        Some(0) => 1,
        Some(end) => end,
        None => text.len(),
    }
}

fn allows(whitespace: Whitespace, gap: &Gap<'_>) -> bool {
    let Gap { blanks, before, after, depth } = *gap;
    let follows_separator = before == Some(',') || before == Some(':');
    match whitespace {
        Whitespace::Compact => blanks.is_empty(),
        Whitespace::Single => blanks.is_empty() || (blanks == " " && follows_separator && after.is_some()),
        Whitespace::Flexible { max } => blanks.len() <= max as usize,
        Whitespace::Lines => match (before, after) {
            (None, _) => blanks.is_empty(),
            (_, None) => matches!(blanks, "" | "\n" | "\r\n"),
            _ => matches!(blanks, "" | " ") || is_line(blanks),
        },
        Whitespace::Indent { by } => {
            let line = |depth: usize| format!("\n{}", " ".repeat(depth * by as usize));
            let opens = matches!(before, Some('[' | '{'));
            let closes = matches!(after, Some(']' | '}'));
            let expected = match before {
                _ if before.is_none() || after.is_none() || opens && closes => String::new(),
                Some(':') => " ".to_owned(),
                _ if closes => line(depth.saturating_sub(1)),
                _ if opens || before == Some(',') => line(depth),
                _ => String::new(),
            };
            blanks == expected
                && depth <= Whitespace::MAX_INDENTED_DEPTH as usize + usize::from(opens && closes)
        }
    }
}

/// A line end, and an indentation.
fn is_line(blanks: &str) -> bool {
    let indentation = blanks.strip_prefix("\r\n").or_else(|| blanks.strip_prefix('\n'));
    indentation.is_some_and(|indentation| {
        let is_all = |blank| indentation.chars().all(|char| char == blank);
        (indentation.len() <= 64 && is_all(' ')) || (indentation.len() <= 16 && is_all('\t'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_found_between_tokens() {
        let text = " {\"a, \\\" :\" :\t[1.5e3 , true]}\n";
        let found: Vec<(&str, Option<char>, Option<char>, usize)> =
            gaps(text).iter().map(|gap| (gap.blanks, gap.before, gap.after, gap.depth)).collect();
        assert_eq!(
            found,
            [
                (" ", None, Some('{'), 0),
                ("", Some('{'), Some('"'), 1),
                (" ", Some('"'), Some(':'), 1),
                ("\t", Some(':'), Some('['), 1),
                ("", Some('['), Some('1'), 2),
                (" ", Some('3'), Some(','), 2),
                (" ", Some(','), Some('t'), 2),
                ("", Some('e'), Some(']'), 2),
                ("", Some(']'), Some('}'), 1),
                ("\n", Some('}'), None, 0),
            ]
        );
    }

    #[test]
    fn each_policy_has_its_blanks() {
        let policies = [
            Whitespace::Compact,
            Whitespace::Single,
            Whitespace::Lines,
            Whitespace::Flexible { max: 2 },
            Whitespace::Indent { by: 1 },
        ];
        let full = format!("[\n{}1]", " ".repeat(64));
        let over = format!("[\n{}1]", "\t".repeat(17));
        for (text, expected) in [
            ("1", [true, true, true, true, true]),
            ("[]", [true, true, true, true, true]),
            ("[1,2]", [true, true, true, true, false]),
            ("[1, 2]", [false, true, true, true, false]),
            ("[1 ,2]", [false, false, true, true, false]),
            ("[ ]", [false, false, true, true, false]),
            ("[1,  2]", [false, false, false, true, false]),
            ("[1,\t2]", [false, false, false, true, false]),
            ("[\n 1,\n 2\n]", [false, false, true, true, true]),
            ("{\n \"a\": [\n  {}\n ]\n}", [false, false, true, false, true]),
            ("{\r\n\t\"a\": 1\r\n}\r\n", [false, false, true, false, false]),
            ("1\n", [false, false, true, true, false]),
            ("1\n ", [false, false, false, true, false]),
            (" 1", [false, false, false, true, false]),
            ("[1\n\n]", [false, false, false, true, false]),
            ("[1\r]", [false, false, false, true, false]),
            (full.as_str(), [false, false, true, false, false]),
            (over.as_str(), [false, false, false, false, false]),
            ("[\n \t1]", [false, false, false, false, false]),
        ] {
            assert_eq!(policies.map(|policy| blanks_belong(text, policy)), expected, "{text:?}");
        }
    }
}
