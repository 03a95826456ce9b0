//! Patterns by their definition: where a match that begins at one place of a text may end. Looks match at places of the whole text, and an
//! extension has the texts of a predicate.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use gobo_types::RegexDialect;

/// A pattern.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    Text(&'static str),
    /// One character of a list, or of all others but the line feed.
    Class(&'static str, bool),
    Concat(Vec<Pattern>),
    Alternate(Vec<Pattern>),
    Repeat(Box<Pattern>, u32, Option<u32>),
    Look {
        ahead: bool,
        negated: bool,
        pattern: Box<Pattern>,
    },
    /// Between a word and what is none; or where that is not so.
    Boundary(bool),
    Start,
    End,
    Group(Group),
}

/// A named extension.
#[derive(Debug, Clone)]
pub(super) enum Group {
    Quoted,
    Unquoted { flow: bool },
    Until(Vec<&'static str>),
    Substring(&'static str),
    List { item: Box<Pattern>, delimiter: Box<Pattern>, count: (u32, Option<u32>) },
    Subsequence { items: Vec<Pattern>, delimiter: Box<Pattern> },
}

impl Pattern {
    /// Whether the whole text matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        self.ends(&text, 0).contains(&text.len())
    }

    /// Whether some part of the text matches.
    pub(super) fn is_found(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        (0..=text.len()).any(|at| !self.ends(&text, at).is_empty())
    }

    /// Where matches end that begin at a place.
    fn ends(&self, text: &[char], at: usize) -> BTreeSet<usize> {
        let here = |holds: bool| holds.then_some(at).into_iter().collect();
        match self {
            Self::Text(literal) => {
                let literal: Vec<char> = literal.chars().collect();
                text[at..].starts_with(&literal).then_some(at + literal.len()).into_iter().collect()
            }
            Self::Class(chars, negated) => {
                let is_in = |&char: &char| {
                    if *negated { char != '\n' && !chars.contains(char) } else { chars.contains(char) }
                };
                text.get(at).filter(|char| is_in(char)).map(|_| at + 1).into_iter().collect()
            }
            Self::Concat(parts) => {
                parts.iter().fold(BTreeSet::from([at]), |ends, part| then(&ends, part, text))
            }
            Self::Alternate(parts) => parts.iter().flat_map(|part| part.ends(text, at)).collect(),
            Self::Repeat(part, min, max) => repeated(part, (*min, *max), text, BTreeSet::from([at])),
            Self::Look { ahead: true, negated, pattern } => {
                here(pattern.ends(text, at).is_empty() == *negated)
            }
            Self::Look { ahead: false, negated, pattern } => {
                let before = (0..=at).any(|from| pattern.ends(text, from).contains(&at));
                here(before != *negated)
            }
            Self::Boundary(negated) => {
                let is_word = |char: Option<&char>| {
                    char.is_some_and(|char| char.is_ascii_alphanumeric() || *char == '_')
                };
                let before = is_word(at.checked_sub(1).and_then(|at| text.get(at)));
                here((before != is_word(text.get(at))) != *negated)
            }
            Self::Start => here(at == 0),
            Self::End => here(at == text.len()),
            Self::Group(group) => group.ends(text, at),
        }
    }

    /// The pattern in the syntax of a dialect.
    pub(super) fn written(&self, dialect: RegexDialect) -> String {
        let all = |parts: &[Self]| parts.iter().map(|part| part.written(dialect)).collect::<Vec<_>>();
        match self {
            Self::Text(text) => (*text).to_owned(),
            Self::Class(chars, negated) => {
                let sign = if *negated { "^\\n" } else { "" };
                format!("[{sign}{chars}]")
            }
            Self::Concat(parts) => format!("(?:{})", all(parts).concat()),
            Self::Alternate(parts) => format!("(?:{})", all(parts).join("|")),
            Self::Repeat(part, min, max) => {
                let max = max.map_or_else(String::new, |max| max.to_string());
                format!("(?:{}){{{min},{max}}}", part.written(dialect))
            }
            Self::Look { ahead, negated, pattern } => {
                let direction = if *ahead { "" } else { "<" };
                let sign = if *negated { '!' } else { '=' };
                format!("(?{direction}{sign}{})", pattern.written(dialect))
            }
            Self::Boundary(false) => "\\b".to_owned(),
            Self::Boundary(true) => "\\B".to_owned(),
            Self::Start => "^".to_owned(),
            Self::End if dialect == RegexDialect::Python => "\\Z".to_owned(),
            Self::End => "$".to_owned(),
            Self::Group(group) => group.written(),
        }
    }

    /// The characters of its texts, if that is one number: what Python looks behind for.
    pub(super) fn width(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.chars().count()),
            Self::Class(..) => Some(1),
            Self::Concat(parts) => parts.iter().map(Self::width).sum(),
            Self::Alternate(parts) => {
                let widths: BTreeSet<Option<usize>> = parts.iter().map(Self::width).collect();
                if widths.len() == 1 { widths.into_iter().next()? } else { None }
            }
            Self::Repeat(part, min, max) => {
                (*max == Some(*min)).then(|| Some(part.width()? * *min as usize))?
            }
            Self::Look { .. } | Self::Boundary(_) | Self::Start | Self::End => Some(0),
            Self::Group(_) => None,
        }
    }

    /// Whether each part of it satisfies a predicate.
    pub(super) fn all(&self, is: &dyn Fn(&Self) -> bool) -> bool {
        is(self)
            && match self {
                Self::Concat(parts) | Self::Alternate(parts) => parts.iter().all(|part| part.all(is)),
                Self::Repeat(part, ..) | Self::Look { pattern: part, .. } => part.all(is),
                _ => true,
            }
    }
}

fn count(text: &[char]) -> u32 {
    u32::try_from(text.len()).unwrap()
}

fn then(from: &BTreeSet<usize>, part: &Pattern, text: &[char]) -> BTreeSet<usize> {
    from.iter().flat_map(|&at| part.ends(text, at)).collect()
}

fn repeated(
    part: &Pattern,
    (min, max): (u32, Option<u32>),
    text: &[char],
    from: BTreeSet<usize>,
) -> BTreeSet<usize> {
    let mut ends = from;
    for _ in 0..min {
        ends = then(&ends, part, text);
    }
    let mut all = ends.clone();
    // More turns than there are characters find nothing new.
    for _ in min..max.unwrap_or(u32::MAX).min(min + count(text) + 1) {
        ends = then(&ends, part, text);
        all.extend(&ends);
    }
    all
}

impl Group {
    fn ends(&self, text: &[char], at: usize) -> BTreeSet<usize> {
        let part = |to: usize| text[at..to].iter().collect::<String>();
        let all_where = |is: &dyn Fn(&str) -> bool| (at..=text.len()).filter(|&to| is(&part(to))).collect();
        match self {
            Self::Quoted => all_where(&is_quoted),
            Self::Unquoted { flow } => all_where(&|text| is_plain(text, *flow)),
            Self::Until(phrases) => all_where(&|text| {
                let ends = phrases.iter().flat_map(|of| text.match_indices(of).map(|(at, _)| at + of.len()));
                // An occurrence may overlap one before it, which match_indices skips; only the first counts.
                ends.min() == Some(text.len())
            }),
            Self::Substring(of) => all_where(&|text| of.contains(text)),
            Self::List { item, delimiter, count: (min, max) } => {
                let mut lists = BTreeSet::from([at]);
                let mut all: BTreeSet<usize> = (*min == 0).then_some(at).into_iter().collect();
                for number in 1..=max.unwrap_or(u32::MAX).min(min + count(text) + 2) {
                    lists = if number == 1 { lists } else { then(&lists, delimiter, text) };
                    lists = then(&lists, item, text);
                    if number >= *min {
                        all.extend(&lists);
                    }
                }
                all
            }
            Self::Subsequence { items, delimiter } => {
                let mut all = BTreeSet::new();
                for chosen in 1..1_u32 << items.len() {
                    let mut ends: Option<BTreeSet<usize>> = None;
                    for item in (0..items.len()).filter(|at| chosen >> at & 1 == 1).map(|at| &items[at]) {
                        let from =
                            ends.map_or_else(|| BTreeSet::from([at]), |ends| then(&ends, delimiter, text));
                        ends = Some(then(&from, item, text));
                    }
                    all.extend(ends.unwrap_or_default());
                }
                all
            }
        }
    }

    fn written(&self) -> String {
        let of = |pattern: &Pattern| pattern.written(RegexDialect::Rust);
        match self {
            Self::Quoted => "(?P<QUOTED_TEXT>)".to_owned(),
            Self::Unquoted { flow: false } => "(?P<UNQUOTED_TEXT>)".to_owned(),
            Self::Unquoted { flow: true } => "(?P<UNQUOTED_TEXT>flow)".to_owned(),
            Self::Until(phrases) => format!("(?P<TEXT_UNTIL>{})", phrases.join("|")),
            Self::Substring(text) => format!("(?P<SUBSTRING_OF>{text})"),
            Self::List { item, delimiter, count: (min, max) } => {
                let mut text =
                    format!("(?P<DELIMITED_LIST>(?P<ITEM>{})(?P<DELIMITER>{})", of(item), of(delimiter));
                match max {
                    None if *min == 1 => {}
                    None => write!(text, "(?P<COUNT>{min},)").unwrap(),
                    Some(max) => write!(text, "(?P<COUNT>{min},{max})").unwrap(),
                }
                text + ")"
            }
            Self::Subsequence { items, delimiter } => {
                let items: Vec<String> = items.iter().map(|item| format!("(?P<ITEM>{})", of(item))).collect();
                let items = items.concat();
                format!("(?P<DELIMITED_SUBSEQUENCE_OF>{items}(?P<DELIMITER>{}))", of(delimiter))
            }
        }
    }
}

/// The words of the definition, read one after the other.
pub(super) fn is_quoted(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return false };
    let mut chars = inner.chars();
    let mut is_some = false;
    while let Some(char) = chars.next() {
        is_some |= char != ' ';
        let is_fine = match char {
            '"' => false,
            '\\' => matches!(chars.next(), Some('"' | '\\' | 'n')),
            ' ' => true,
            char => !char.is_whitespace(),
        };
        if !is_fine {
            return false;
        }
    }
    is_some
}

/// `ns-plain-one-line` of YAML 1.2.2, rule by rule: what each character is, and what stands beside it.
pub(super) fn is_plain(text: &str, flow: bool) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let is_ns = |char: char| {
        let is_printable = matches!(char, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        is_printable && !matches!(char, '\t' | ' ' | '\n' | '\r' | '\u{feff}')
    };
    let is_safe =
        |at: usize| chars.get(at).is_some_and(|&char| is_ns(char) && !(flow && ",[]{}".contains(char)));
    let (Some(first), Some(last)) = (chars.first(), chars.last()) else { return false };
    let begins = if "?:-".contains(*first) {
        is_safe(1)
    } else {
        is_ns(*first) && !",[]{}#&*!|>'\"%@`".contains(*first)
    };
    let goes_on = |at: usize| match chars[at] {
        ' ' | '\t' => true,
        '#' => is_ns(chars[at - 1]),
        ':' => is_safe(at + 1),
        _ => is_safe(at),
    };
    begins && !matches!(last, ' ' | '\t') && (1..chars.len()).all(goes_on)
}
