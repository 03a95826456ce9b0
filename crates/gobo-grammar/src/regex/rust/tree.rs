//! From the library's tree of a marked pattern to a tree of ours.

use std::sync::Arc;

use gobo_automata::{CharSet, Language};
use gobo_types::{Budget, CompileError, NamedClasses, RefusalKind};
use regex_syntax::hir::{Capture, Class, Hir, HirKind, Look, Repetition};

use super::super::classes;
use super::super::extensions::{
    Count, Extension, PARAGRAPH_TOKEN, TEXT_TOKEN, class, list, quoted, subsequence, unquoted, until,
};
use super::super::syntax::{Direction, Node};
use super::super::texts::alone;
use super::marks::{Group, Mark, Marked};
use crate::words::words;

const PHASE: &str = "reading a regular expression";

/// Bytes that a node is charged.
const NODE_BYTES: u64 = 64;

/// The refusal of a group of a pattern.
pub(super) fn refuse(kind: RefusalKind, at: usize, reason: impl Into<String>) -> CompileError {
    CompileError::refuse(kind, format!("offset {at}"), reason).spanning(at..at + 1)
}

fn malformed(at: usize, reason: impl Into<String>) -> CompileError {
    refuse(RefusalKind::Malformed, at, reason)
}

/// Recurses as deep as the library's tree nests, which its parser bounds. `keeps_names`: extensions become [`Node::Named`].
///
/// # Errors
/// A refusal whose place is `offset N`, a byte of the pattern; [`CompileError::OverBudget`].
pub(super) fn tree(
    hir: &Hir,
    marked: &Marked,
    classes: &NamedClasses,
    keeps_names: bool,
    budget: &Budget,
) -> Result<Node, CompileError> {
    Reader { marked, classes, keeps_names, budget }.node(hir)
}

struct Reader<'a> {
    marked: &'a Marked,
    classes: &'a NamedClasses,
    keeps_names: bool,
    budget: &'a Budget,
}

impl Reader<'_> {
    fn node(&self, hir: &Hir) -> Result<Node, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, NODE_BYTES)?;
        let all = |parts: &[Hir]| parts.iter().map(|part| self.node(part)).collect::<Result<Vec<_>, _>>();
        Ok(match hir.kind() {
            HirKind::Empty => Node::empty(),
            HirKind::Literal(literal) => Node::Text(text(&literal.0)),
            HirKind::Class(class) => Node::Chars(set(class)),
            HirKind::Look(look) => assertion(*look),
            HirKind::Repetition(Repetition { min, max, sub, .. }) => self.node(sub)?.repeat(*min, *max),
            HirKind::Capture(capture) => match self.mark(capture) {
                Some(mark) => self.named(mark, self.marked(mark, &capture.sub)?),
                None => self.node(&capture.sub)?,
            },
            HirKind::Concat(parts) => Node::Concat(all(parts)?),
            HirKind::Alternation(parts) => Node::Alternate(all(parts)?),
        })
    }

    fn mark(&self, capture: &Capture) -> Option<Mark> {
        let number = capture.name.as_ref()?.strip_prefix(self.marked.name.as_str())?;
        self.marked.marks.get(number.parse::<usize>().ok()?).copied()
    }

    /// The node of a marked group, with the name of the extension where names are kept.
    fn named(&self, mark: Mark, node: Node) -> Node {
        match mark.group {
            Group::Extension(extension) if self.keeps_names => {
                Node::Named(extension.name(self.classes).to_owned(), Box::new(node))
            }
            _ => node,
        }
    }

    /// What stands in a marked group.
    fn inside(&self, mark: Mark, body: &Hir) -> Result<Node, CompileError> {
        if mark.is_empty { Ok(Node::empty()) } else { self.node(body) }
    }

    fn marked(&self, mark: Mark, body: &Hir) -> Result<Node, CompileError> {
        let at = mark.at;
        let extension = match mark.group {
            Group::Look { direction, negated } => {
                return Ok(Node::look(direction, negated, self.node(body)?));
            }
            Group::Extension(extension) => extension,
        };
        let literal = if mark.is_empty { Some(String::new()) } else { literal(body) };
        match extension {
            Extension::Quoted if mark.is_empty => Ok(quoted()),
            Extension::Quoted => Err(malformed(at, "QUOTED_TEXT has nothing in it: (?P<QUOTED_TEXT>)")),
            Extension::Unquoted => match literal.as_deref() {
                Some("") => unquoted(false, self.budget),
                Some("flow") => unquoted(true, self.budget),
                _ => {
                    let reason = "UNQUOTED_TEXT has nothing in it, or the word flow: (?P<UNQUOTED_TEXT>)";
                    Err(malformed(at, reason))
                }
            },
            Extension::Until => self.until(mark, body),
            Extension::Substring | Extension::SubstringOfWords => {
                let Some(text) = literal else {
                    return Err(malformed(at, "SUBSTRING_OF has a text in it, and no expression")
                        .advising("Write a backslash before characters that mean something else."));
                };
                let pieces = match extension {
                    Extension::Substring => text.chars().map(String::from).collect(),
                    _ => words(&text),
                };
                Ok(Node::Texts(Arc::new(Language::substrings(&pieces, self.budget)?)))
            }
            Extension::List => {
                let parts = self.parts(at, body)?;
                let [item] = &parts.items[..] else {
                    return Err(malformed(at, "DELIMITED_LIST has one group ITEM"));
                };
                let count = parts.count.unwrap_or(Count { min: 1, max: None });
                Ok(list(item, &parts.delimiter, count))
            }
            Extension::Subsequence => {
                let parts = self.parts(at, body)?;
                if parts.items.is_empty() || parts.count.is_some() {
                    let reason = "DELIMITED_SUBSEQUENCE_OF has groups ITEM, one or more, and one DELIMITER";
                    return Err(malformed(at, reason));
                }
                subsequence(&parts.items, &parts.delimiter, self.keeps_names, self.budget)
            }
            Extension::Item | Extension::Delimiter | Extension::Count => {
                unreachable!("parts of lists are read with them")
            }
            Extension::TextToken | Extension::ParagraphToken if mark.is_empty => {
                let is_text = extension == Extension::TextToken;
                let set = if is_text { TEXT_TOKEN } else { PARAGRAPH_TOKEN };
                Ok(Node::Chars(CharSet::token_set(set)))
            }
            Extension::TextToken | Extension::ParagraphToken => {
                Err(malformed(at, "TEXT_TOKEN and PARAGRAPH_TOKEN have nothing in them: (?P<TEXT_TOKEN>)"))
            }
            Extension::OfTokens(number) => {
                let Some((name, of)) = number.and_then(|number| self.classes.iter().nth(number)) else {
                    let reason = "no token class has the name IMAGE";
                    return Err(malformed(at, reason)
                        .advising("The constraint's token classes say which tokens each has."));
                };
                if mark.is_empty {
                    return Ok(class(name, of, self.classes));
                }
                let reason = format!("the token class {name} has nothing in it: (?P<{name}>)");
                Err(malformed(at, reason))
            }
        }
    }

    fn until(&self, mark: Mark, body: &Hir) -> Result<Node, CompileError> {
        let (at, node) = (mark.at, self.inside(mark, body)?);
        if node.looks_around() {
            let reason = "a phrase of TEXT_UNTIL looks at what stands around it";
            return Err(refuse(RefusalKind::Unsupported, at, reason));
        }
        let phrases = alone(&node, self.budget)?;
        if phrases.has_token_sets() {
            let reason = "a phrase of TEXT_UNTIL reads tokens";
            return Err(refuse(RefusalKind::Unsupported, at, reason));
        }
        if phrases.is_empty() || phrases.may_end(phrases.start()) {
            return Err(malformed(at, "a phrase of TEXT_UNTIL is empty")
                .advising("Write the phrase up to which the text goes, as in (?P<TEXT_UNTIL>stop)."));
        }
        Ok(Node::Texts(Arc::new(until(&phrases, self.budget)?)))
    }

    /// The groups of a list, which has nothing else in it.
    fn parts(&self, at: usize, body: &Hir) -> Result<Parts, CompileError> {
        let body = match body.kind() {
            HirKind::Concat(parts) => parts.as_slice(),
            _ => std::slice::from_ref(body),
        };
        let (mut items, mut delimiters, mut count) = (Vec::new(), Vec::new(), None);
        for part in body {
            let HirKind::Capture(capture) = part.kind() else { return Err(other_parts(at)) };
            let Some(mark) = self.mark(capture) else { return Err(other_parts(at)) };
            match mark.group {
                Group::Extension(Extension::Item) => {
                    items.push(self.named(mark, self.inside(mark, &capture.sub)?));
                }
                Group::Extension(Extension::Delimiter) => {
                    delimiters.push(self.named(mark, self.inside(mark, &capture.sub)?));
                }
                Group::Extension(Extension::Count) if count.is_none() => {
                    count = Some(counted(mark.at, &capture.sub)?);
                }
                _ => return Err(other_parts(at)),
            }
        }
        let [delimiter] = <[Node; 1]>::try_from(delimiters).map_err(|_| other_parts(at))?;
        Ok(Parts { items, delimiter, count })
    }
}

struct Parts {
    items: Vec<Node>,
    delimiter: Node,
    count: Option<Count>,
}

fn other_parts(at: usize) -> CompileError {
    malformed(
        at,
        "a delimited list has groups ITEM, one group DELIMITER, perhaps one COUNT, and nothing else",
    )
    .advising("Write (?P<DELIMITED_LIST>(?P<ITEM>[a-z]+)(?P<DELIMITER>, )(?P<COUNT>2,5)).")
}

/// `2,5`, `2,` or `2`.
fn counted(at: usize, body: &Hir) -> Result<Count, CompileError> {
    let text = literal(body).unwrap_or_default();
    let count = match text.split_once(',') {
        None => text.parse().ok().map(|count| Count { min: count, max: Some(count) }),
        Some((min, "")) => min.parse().ok().map(|min| Count { min, max: None }),
        Some((min, max)) => min
            .parse()
            .ok()
            .zip(max.parse().ok())
            .filter(|(min, max)| min <= max)
            .map(|(min, max)| Count { min, max: Some(max) }),
    };
    count.ok_or_else(|| malformed(at, "COUNT is a number, a least number as in 2, or both as in 2,5"))
}

/// The text of a tree that is nothing else.
fn literal(hir: &Hir) -> Option<String> {
    match hir.kind() {
        HirKind::Empty => Some(String::new()),
        HirKind::Literal(literal) => Some(text(&literal.0)),
        _ => None,
    }
}

fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).expect("patterns match UTF-8 only").to_owned()
}

fn set(class: &Class) -> CharSet {
    match class {
        Class::Unicode(class) => CharSet::from_class(class),
        // Without the flag u classes have ASCII alone.
        Class::Bytes(class) => CharSet::new(
            class.ranges().iter().map(|range| (char::from(range.start()), char::from(range.end()))),
        ),
    }
}

/// What an assertion looks at.
fn assertion(look: Look) -> Node {
    let ahead = |negated, node| Node::look(Direction::Ahead, negated, node);
    let behind = |negated, node| Node::look(Direction::Behind, negated, node);
    let one = |text: &str| Node::Text(text.to_owned());
    let start = || Node::whole(Direction::Behind, Node::empty());
    let end = || Node::whole(Direction::Ahead, Node::empty());
    let is_ascii = matches!(
        look,
        Look::WordAscii
            | Look::WordAsciiNegate
            | Look::WordStartAscii
            | Look::WordEndAscii
            | Look::WordStartHalfAscii
            | Look::WordEndHalfAscii
    );
    let word = || Node::Chars(classes::rust_word(is_ascii));
    let sides =
        |before: bool, after: bool| Node::Concat(vec![behind(!before, word()), ahead(!after, word())]);
    match look {
        Look::Start => start(),
        Look::End => end(),
        Look::StartLF => Node::Alternate(vec![start(), behind(false, one("\n"))]),
        Look::EndLF => Node::Alternate(vec![end(), ahead(false, one("\n"))]),
        // Not between the two characters of a line end.
        Look::StartCRLF => Node::Alternate(vec![
            start(),
            behind(false, one("\n")),
            Node::Concat(vec![behind(false, one("\r")), ahead(true, one("\n"))]),
        ]),
        Look::EndCRLF => Node::Alternate(vec![
            end(),
            ahead(false, one("\r")),
            Node::Concat(vec![behind(true, one("\r")), ahead(false, one("\n"))]),
        ]),
        Look::WordAscii | Look::WordUnicode => Node::Alternate(vec![sides(true, false), sides(false, true)]),
        Look::WordAsciiNegate | Look::WordUnicodeNegate => {
            Node::Alternate(vec![sides(true, true), sides(false, false)])
        }
        Look::WordStartAscii | Look::WordStartUnicode => sides(false, true),
        Look::WordEndAscii | Look::WordEndUnicode => sides(true, false),
        Look::WordStartHalfAscii | Look::WordStartHalfUnicode => behind(true, word()),
        Look::WordEndHalfAscii | Look::WordEndHalfUnicode => ahead(true, word()),
    }
}
