//! What is said where nothing of a GBNF grammar fits.

/// Why the rest of a grammar begins with nothing that can stand there, and what to write instead.
pub(crate) fn misfit(rest: &str) -> (String, &'static str) {
    match rest.chars().next() {
        None => ("the text ends here too early".to_owned(), ""),
        Some(':') if rest.starts_with("::=") => (
            "::= inside a rule: after ::=, after | and in parentheses a rule goes on over line ends; an empty one is \
             written \"\""
                .to_owned(),
            "Write \"\" for an empty rule, and close the parentheses of the rule before.",
        ),
        Some('|') => (
            "| at the beginning of a line: outside parentheses a rule ends with its line, unless that ends with |"
                .to_owned(),
            "Move | to the end of the line before, or put the alternatives in parentheses.",
        ),
        Some(')') => (
            "a parenthesis is closed that was never opened".to_owned(),
            "Leave it out, or write \")\" to match one.",
        ),
        Some('\'' | '“' | '”' | '‘' | '’') => {
            ("literals stand in double quotes".to_owned(), "Write \"…\" with straight double quotes.")
        }
        Some(other @ (';' | ',')) => (
            format!("unexpected {other:?}"),
            "Leave it out: a rule ends with its line, and a sequence has no commas. Write it in double quotes to match it.",
        ),
        Some('/') => {
            ("unexpected '/'".to_owned(), "A comment begins with #; write \"/\" to match a slash.")
        }
        Some(other) => (
            format!("unexpected {other:?}"),
            "Write characters that are to be matched in double quotes.",
        ),
    }
}
