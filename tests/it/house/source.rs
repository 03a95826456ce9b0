//! Rust sources as far as the rules look at them: code without comments, texts and tests.

use std::path::{Path, PathBuf};

/// A product file.
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// Its code. Comments, texts and test items are blanks; lines are kept.
    pub(super) code: String,
    /// Its lines, those of test items apart.
    pub(super) lines: usize,
}

impl Source {
    /// The product files in a folder and below it. Files and folders of tests alone are left out.
    pub(super) fn all_below(folder: &Path) -> Vec<Self> {
        let mut sources = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_stem().is_some_and(|name| name == "tests") {
                continue;
            }
            if path.is_dir() {
                sources.extend(Self::all_below(&path));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push(Self::of(&path, &std::fs::read_to_string(&path).unwrap()));
            }
        }
        sources
    }

    pub(super) fn of(path: &Path, text: &str) -> Self {
        let mut code = without_comments_and_texts(text);
        let mut test_lines = 0;
        while let Some(start) = code.find("#[cfg(test)]") {
            let end = start + length_of_item(&code[start..]);
            test_lines += code[start..end].lines().count();
            let blanks: String =
                code[start..end].chars().map(|char| if char == '\n' { '\n' } else { ' ' }).collect();
            code.replace_range(start..end, &blanks);
        }
        Self { path: path.to_owned(), code, lines: text.lines().count() - test_lines }
    }
}

/// Up to the end of the first block, or of a statement before it.
fn length_of_item(code: &str) -> usize {
    let mut depth = 0;
    for (at, char) in code.char_indices() {
        match char {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Comments and the insides of texts as blanks. Every other byte stays where it is, if the text is ASCII.
fn without_comments_and_texts(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match (chars[at], chars.get(at + 1)) {
            ('/', Some('/')) => {
                chars[at..].iter().position(|char| *char == '\n').map_or(chars.len(), |length| at + length)
            }
            ('/', Some('*')) => end_of_block_comment(&chars, at),
            ('"', _) => end_of_text(&chars, at),
            ('r', Some('"' | '#')) if !follows_a_name(&chars, at) => end_of_raw_text(&chars, at),
            ('\'', Some('\\')) => at + 3 + chars[at + 3..].iter().position(|char| *char == '\'').unwrap_or(0),
            ('\'', Some(_)) if chars.get(at + 2) == Some(&'\'') => at + 3,
            _ => at,
        };
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|char| if *char == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

fn follows_a_name(chars: &[char], at: usize) -> bool {
    at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_')
}

fn end_of_block_comment(chars: &[char], start: usize) -> usize {
    let (mut depth, mut at) = (0, start);
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn end_of_text(chars: &[char], start: usize) -> usize {
    let mut at = start + 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

/// After `r"…"` or `r#"…"#`; `start` itself if there is none, as in the name `r#type`.
fn end_of_raw_text(chars: &[char], start: usize) -> usize {
    let hashes = chars[start + 1..].iter().take_while(|char| **char == '#').count();
    let first = start + 1 + hashes;
    if chars.get(first) != Some(&'"') {
        return start;
    }
    (first + 1..chars.len())
        .find(|&at| {
            chars[at] == '"'
                && chars[at + 1..].iter().take(hashes).filter(|char| **char == '#').count() == hashes
        })
        .map_or(chars.len(), |quote| quote + 1 + hashes)
}
