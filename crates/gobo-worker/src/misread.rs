//! Patterns that mean something else here than in the dialect that they look like: they are compiled as they stand, and noted.

use gobo_types::ReportEntry;

/// The flags of a JavaScript literal.
const FLAGS: &str = "dgimsuvy";

/// The names of POSIX classes.
const POSIX_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// What the author of a pattern probably did not mean. O(pattern).
pub(crate) fn misread(pattern: &str) -> Vec<ReportEntry> {
    let mut notes = Vec::new();
    if let Some(flags) = literal_flags(pattern) {
        let kept: String = flags.chars().filter(|flag| "ims".contains(*flag)).collect();
        let write =
            if kept.is_empty() { String::new() } else { format!(", and write (?{kept}) for the flags") };
        let why = format!("the slashes and {flags} are characters to match; leave them out{write}");
        notes.push(ReportEntry::whole("regex", why));
    }
    if let Some(name) = POSIX_CLASSES.into_iter().find(|name| has_bare_class(pattern, name)) {
        let why = format!(
            "[:{name}:] is a class of a colon and these letters; write [[:{name}:]] for the POSIX class"
        );
        notes.push(ReportEntry::whole("regex", why));
    }
    if pattern.get(1..).is_some_and(|rest| rest.contains("(?R)")) {
        let why = "(?R) sets the flag R, under which . and $ know CRLF; a pattern that contains itself is written as a grammar";
        notes.push(ReportEntry::whole("regex", why));
    }
    notes
}

/// The flags after a pattern between slashes, if there are some.
fn literal_flags(pattern: &str) -> Option<&str> {
    let (inner, flags) = pattern.strip_prefix('/')?.rsplit_once('/')?;
    let is_whole = !inner.replace("\\/", "").contains('/');
    (is_whole && !flags.is_empty() && flags.chars().all(|flag| FLAGS.contains(flag))).then_some(flags)
}

/// Whether `[:name:]` stands in a pattern outside a class.
fn has_bare_class(pattern: &str, name: &str) -> bool {
    let class = format!("[:{name}:]");
    pattern.match_indices(&class).any(|(at, _)| {
        let opens = pattern[..at].rfind(['[', ']']).is_some_and(|before| pattern[before..].starts_with('['));
        !opens
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_another_dialect_is_noted() {
        for (pattern, expected) in [
            ("/^ab+$/i", "(?i)"),
            ("/a/g", "leave them out"),
            ("[:alpha:]+", "[[:alpha:]]"),
            ("x[:digit:]", "[[:digit:]]"),
            (r"\((?:[^()]|(?R))*\)", "grammar"),
        ] {
            let notes = misread(pattern);
            assert!(notes.len() == 1 && notes[0].why.contains(expected), "{pattern}: {notes:?}");
        }
        for pattern in [
            "(?R).$",
            "/usr/bin",
            "/usr/bin/i",
            "/a/",
            "a/b/i",
            "[[:alpha:]]",
            "[^[:alpha:]x]",
            "[_[:digit:]]",
            "",
        ] {
            assert_eq!(misread(pattern), [], "{pattern}");
        }
    }
}
