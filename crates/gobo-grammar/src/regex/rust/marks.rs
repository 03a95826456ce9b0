//! Groups that the syntax of `regex-syntax` has not: look-around, and named extensions, any number of each.
//!
//! Each is renamed to a group of that syntax whose name is a *mark*, so that the library parses what stands in it, flags and all, and the
//! tree shows where it was: `(?=a)` becomes `(?P<mark0>a)`. The scan knows of the syntax only where parentheses are characters: behind
//! a backslash, in classes, and in comments under the flag `x`. Whoever parses the text compares the number of marks there with those
//! here: where they differ, the scan has taken something else for a group.

use gobo_types::{CompileError, NamedClasses};

use super::super::extensions::Extension;
use super::super::syntax::Direction;

/// What a mark stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Look { direction: Direction, negated: bool },
    Extension(Extension),
}

/// A group that is marked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) group: Group,
    /// The byte of the pattern where it begins.
    pub(super) at: usize,
    /// Whether nothing stands in it. Then a character stands there in the text, because the library takes a repetition of what has none
    /// for one time.
    pub(super) is_empty: bool,
}

/// A pattern whose groups are marked.
#[derive(Debug)]
pub(super) struct Marked {
    /// The pattern in the library's syntax.
    pub(super) text: String,
    /// How the name of each mark begins; its number follows.
    pub(super) name: String,
    /// By number.
    pub(super) marks: Vec<Mark>,
    /// Bytes of the text with the bytes of the pattern that they were, where the distance changes; ascending.
    moved: Vec<(usize, usize)>,
}

const LOOKS: [(&str, Direction, bool); 4] = [
    ("?=", Direction::Ahead, false),
    ("?!", Direction::Ahead, true),
    ("?<=", Direction::Behind, false),
    ("?<!", Direction::Behind, true),
];

/// A place in a pattern that is read.
struct Scan<'a> {
    pattern: &'a str,
    classes: &'a NamedClasses,
    at: usize,
    /// Whether blanks and comments are skipped, here and around each open group.
    is_verbose: bool,
    around: Vec<(bool, Option<Group>)>,
    marked: Marked,
}

/// Marks the groups of a pattern, in which classes of tokens have names. O(pattern).
pub(super) fn mark(pattern: &str, classes: &NamedClasses) -> Marked {
    let mut name = "gobo".to_owned();
    while pattern.contains(&name) {
        name.push('_');
    }
    let text = String::with_capacity(pattern.len() + 16);
    let marked = Marked { text, name, marks: Vec::new(), moved: vec![(0, 0)] };
    let mut scan = Scan { pattern, classes, at: 0, is_verbose: false, around: Vec::new(), marked };
    while let Some(char) = scan.copy() {
        match char {
            '\\' => drop(scan.copy()),
            '[' => scan.class(),
            '(' => scan.group(),
            ')' => {
                if let Some((is_verbose, _)) = scan.around.pop() {
                    scan.is_verbose = is_verbose;
                }
            }
            '#' if scan.is_verbose => scan.comment(),
            _ => {}
        }
    }
    scan.marked
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        &self.pattern[self.at..]
    }

    fn copy(&mut self) -> Option<char> {
        let char = self.rest().chars().next()?;
        self.at += char.len_utf8();
        self.marked.text.push(char);
        Some(char)
    }

    /// Copies what comes next if it is this text; whether it is.
    fn copy_if(&mut self, text: &str) -> bool {
        let is_there = self.rest().starts_with(text);
        if is_there {
            self.at += text.len();
            self.marked.text.push_str(text);
        }
        is_there
    }

    fn comment(&mut self) {
        while self.copy().is_some_and(|char| char != '\n') {}
    }

    /// Blanks and comments, where these are skipped.
    fn skip(&mut self) {
        while self.is_verbose && self.rest().starts_with(|char: char| char.is_whitespace() || char == '#') {
            if self.copy() == Some('#') {
                self.comment();
            }
        }
    }

    /// The rest of a class, in which other classes may nest. A bracket that closes, right where a class begins, is a member.
    fn class(&mut self) {
        let mut depth = 1;
        let mut is_first = true;
        self.copy_if("^");
        while depth > 0 {
            let Some(char) = self.copy() else { return };
            match char {
                '\\' => drop(self.copy()),
                '[' => {
                    depth += 1;
                    self.copy_if("^");
                    is_first = true;
                    continue;
                }
                ']' if !is_first => depth -= 1,
                '#' if self.is_verbose => {
                    self.comment();
                    continue;
                }
                char if self.is_verbose && char.is_whitespace() => continue,
                _ => {}
            }
            is_first = false;
        }
    }

    /// What follows a parenthesis.
    fn group(&mut self) {
        let at = self.at - 1;
        self.skip();
        let look = LOOKS.iter().find(|look| self.rest().starts_with(look.0));
        if let Some(&(sign, direction, negated)) = look {
            self.mark(sign.len(), Group::Look { direction, negated }, at);
            return;
        }
        for sign in ["?P<", "?<"] {
            let Some(named) = self.rest().strip_prefix(sign) else { continue };
            let Some((name, _)) = named.split_once('>') else { break };
            let within = match self.around.last() {
                Some((_, Some(Group::Extension(around)))) => Some(*around),
                _ => None,
            };
            let Some(extension) = Extension::named(name, within, self.classes) else { break };
            let length = sign.len() + name.len() + 1;
            self.mark(length, Group::Extension(extension), at);
            self.skip();
            if self.rest().starts_with(')') {
                self.marked.text.push('_');
                self.moved();
                self.marked.marks.iter_mut().last().expect("it was just added").is_empty = true;
            }
            return;
        }
        if self.rest().starts_with('?') {
            self.flags();
        } else {
            self.around.push((self.is_verbose, None));
        }
    }

    /// Replaces so many bytes by the name of a mark.
    fn mark(&mut self, length: usize, group: Group, at: usize) {
        self.at += length;
        let Marked { text, name, marks, .. } = &mut self.marked;
        text.push_str("?P<");
        text.push_str(name);
        text.push_str(&marks.len().to_string());
        text.push('>');
        marks.push(Mark { group, at, is_empty: false });
        self.around.push((self.is_verbose, Some(group)));
        self.moved();
    }

    fn moved(&mut self) {
        self.marked.moved.push((self.marked.text.len(), self.at));
    }

    /// Flags of a group or of the rest of the group around it; a group with a name has none.
    fn flags(&mut self) {
        let before = self.is_verbose;
        let mut on = true;
        let mut is_verbose = before;
        self.copy_if("?");
        loop {
            match self.rest().chars().next() {
                Some('x') => is_verbose = on,
                Some('-') => on = false,
                Some(':') => {
                    self.around.push((before, None));
                    self.is_verbose = is_verbose;
                    return;
                }
                Some(')') => {
                    // The parenthesis is copied here: it ends no group of its own.
                    self.copy();
                    self.is_verbose = is_verbose;
                    return;
                }
                Some(letter) if letter.is_ascii_alphabetic() && !(self.rest().starts_with("P<")) => {}
                _ => {
                    self.around.push((before, None));
                    return;
                }
            }
            self.copy();
        }
    }
}

impl Marked {
    /// The byte of the pattern that a byte of the text was.
    fn origin(&self, at: usize) -> usize {
        let (text, pattern) = self.moved[self.moved.partition_point(|moved| moved.0 <= at) - 1];
        pattern + (at - text)
    }

    /// A refusal of the text as one of the pattern.
    pub(super) fn translated(&self, error: CompileError) -> CompileError {
        let CompileError::Refused(mut refusal) = error else { return error };
        let Some(span) = refusal.span else { return CompileError::Refused(refusal) };
        let span = span.within(&self.text);
        let (start, end) = (self.origin(span.start), self.origin(span.end));
        refusal.place = format!("offset {start}").into();
        CompileError::Refused(refusal).spanning(start..end.max(start))
    }
}
