//! Structural tags by definition: backtracking over the tree of formats, on sequences of tokens.
//!
//! A sequence is a line of units, the bytes of ordinary tokens and one unit for each special token. A format is asked where its texts may end that
//! begin at a unit. It shares no code with what it judges.

use std::collections::BTreeSet;

use gobo_types::{SpecialText, TokenId};
use serde_json::{Value, json};

/// A token, by id or by text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    Id(TokenId),
    Text(&'static str),
}

/// A format.
#[derive(Debug, Clone)]
pub(super) enum Format {
    Const(&'static str),
    /// A schema that allows these texts.
    Values(Value, Vec<&'static str>),
    /// `a+b?`.
    Regex,
    /// `"a" root "b" | "x"`.
    Grammar,
    AnyText {
        excludes: Vec<&'static str>,
        max_chars: Option<usize>,
        max_tokens: Option<usize>,
    },
    Sequence(Vec<Format>),
    Or(Vec<Format>),
    Repeat(Box<Format>, u32, Option<u32>),
    Tag(Box<Tag>),
    Triggered {
        triggers: Vec<&'static str>,
        excludes: Vec<&'static str>,
        tags: Vec<Tag>,
        flow: (bool, bool),
    },
    Separated {
        separator: &'static str,
        tags: Vec<Tag>,
        flow: (bool, bool),
    },
    Dispatch {
        rules: Vec<(&'static str, Format)>,
        excludes: Vec<&'static str>,
        is_loop: bool,
    },
    Token(Name),
    ExcludeToken(Vec<Name>),
    AnyTokens(Vec<Name>, Option<usize>),
    TokenTriggered {
        triggers: Vec<Name>,
        excludes: Vec<Name>,
        tags: Vec<Tag>,
        flow: (bool, bool),
    },
    TokenDispatch {
        rules: Vec<(Name, Format)>,
        excludes: Vec<Name>,
        is_loop: bool,
    },
}

/// A text or a token.
#[derive(Debug, Clone)]
pub(super) enum Bound {
    Texts(Vec<&'static str>),
    Token(Name),
}

#[derive(Debug, Clone)]
pub(super) struct Tag {
    /// One text, or a token.
    pub(super) begin: Bound,
    pub(super) content: Format,
    pub(super) end: Bound,
}

/// A token of a vocabulary.
pub(super) type Entry = (&'static str, bool);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Byte(u8),
    Special(TokenId),
}

/// A sequence of tokens, and how strings are written.
pub(super) struct Line<'a> {
    tokens: &'a [Entry],
    how: SpecialText,
    units: Vec<Unit>,
    /// The first unit of each token, its id, and the unit after it.
    spans: Vec<(usize, TokenId, usize)>,
}

/// What ends the nearest tag around a format.
#[derive(Clone, Copy, Default)]
struct Around<'a> {
    texts: &'a [&'static str],
    token: Option<&'a Name>,
}

type Ends = BTreeSet<usize>;

/// The ends behind each of some units.
fn each(from: &Ends, of: impl Fn(usize) -> Ends) -> Ends {
    from.iter().flat_map(|&from| of(from)).collect()
}

impl<'a> Line<'a> {
    pub(super) fn new(tokens: &'a [Entry], how: SpecialText, ids: &[TokenId]) -> Self {
        let (mut units, mut spans) = (Vec::new(), Vec::new());
        for &id in ids {
            let (text, is_special) = tokens[id as usize];
            let first = units.len();
            if is_special {
                units.push(Unit::Special(id));
            } else {
                units.extend(text.bytes().map(Unit::Byte));
            }
            spans.push((first, id, units.len()));
        }
        Self { tokens, how, units, spans }
    }

    pub(super) fn is_text_of(&self, format: &Format) -> bool {
        self.ends(format, 0, Around::default()).contains(&self.units.len())
    }

    fn is_named(&self, name: &Name, id: TokenId) -> bool {
        match name {
            Name::Id(of) => *of == id,
            Name::Text(text) => self.tokens[id as usize].0 == *text,
        }
    }

    /// The unit after the token that begins at a unit, if it is wanted.
    fn token(&self, from: usize, is_wanted: impl Fn(TokenId) -> bool) -> Ends {
        let of = self.spans.iter().filter(|span| span.0 == from && is_wanted(span.1));
        of.map(|span| span.2).collect()
    }

    fn string(&self, text: &str, from: usize) -> Ends {
        let Some(char) = text.chars().next() else { return Ends::from([from]) };
        let mut ends = Ends::new();
        let special = self.tokens.iter().filter(|(name, is_special)| *is_special && text.starts_with(name));
        let longest = special.map(|(name, _)| *name).max_by_key(|name| name.len());
        if let Some(name) = longest.filter(|_| self.how != SpecialText::Spelled) {
            for end in self.token(from, |id| self.tokens[id as usize] == (name, true)) {
                ends.extend(self.string(&text[name.len()..], end));
            }
            if self.how == SpecialText::Token {
                return ends;
            }
        }
        let bytes = &text.as_bytes()[..char.len_utf8()];
        let end = from + bytes.len();
        let is_spelled = self
            .units
            .get(from..end)
            .is_some_and(|units| units.iter().zip(bytes).all(|(unit, byte)| *unit == Unit::Byte(*byte)));
        if is_spelled {
            ends.extend(self.string(&text[char.len_utf8()..], end));
        }
        ends
    }

    /// Where text may end that has no phrase in it.
    fn free(&self, from: usize, phrases: &[&str], max_chars: Option<usize>) -> Ends {
        let mut ends = Ends::new();
        let mut bytes = Vec::new();
        for end in from..=self.units.len() {
            if let Ok(text) = std::str::from_utf8(&bytes) {
                let has_phrase = phrases.iter().any(|phrase| !phrase.is_empty() && text.contains(phrase));
                if !has_phrase && max_chars.is_none_or(|most| text.chars().count() <= most) {
                    ends.insert(end);
                }
            }
            match self.units.get(end) {
                Some(Unit::Byte(byte)) => bytes.push(*byte),
                _ => break,
            }
        }
        ends
    }

    /// Those ends of a region before which no more tokens have begun there than may; or the first one after so many. None may: it ends at once.
    fn within(&self, from: usize, ends: &Ends, most: Option<usize>) -> Ends {
        let Some(most) = most else { return ends.clone() };
        let is_end = |end: &&usize| {
            let begun: Vec<_> = self.spans.iter().filter(|span| (from..**end).contains(&span.0)).collect();
            if begun.len() <= most && most > 0 {
                return true;
            }
            let spent = if most == 0 { from } else { begun[most - 1].2 };
            ends.range(spent..).next() == Some(*end)
        };
        ends.iter().filter(is_end).copied().collect()
    }

    fn many(&self, from: usize, min: u32, max: Option<u32>, of: impl Fn(usize) -> Ends) -> Ends {
        let (mut now, mut ends) = (Ends::from([from]), Ends::new());
        for count in 0..=self.units.len() + min as usize + 1 {
            if count >= min as usize {
                ends.extend(&now);
            }
            if max.is_some_and(|max| count >= max as usize) {
                break;
            }
            now = each(&now, &of);
        }
        ends
    }

    /// Tags among free texts.
    fn among(
        &self,
        from: usize,
        (at_least_one, stop_after_first): (bool, bool),
        free: impl Fn(usize) -> Ends,
        tag: impl Fn(usize) -> Ends,
    ) -> Ends {
        let after_first = |from: usize| {
            let more = self.many(from, 0, None, |from| each(&free(from), &tag));
            each(&more, &free)
        };
        match (at_least_one, stop_after_first) {
            (true, true) => tag(from),
            (true, false) => each(&tag(from), after_first),
            (false, true) => {
                let free = free(from);
                let tags = each(&free, &tag);
                free.union(&tags).copied().collect()
            }
            (false, false) => after_first(from),
        }
    }

    fn tag(&self, tag: &Tag, from: usize) -> Ends {
        let bound = |bound: &Bound, from: usize| match bound {
            Bound::Texts(texts) => texts.iter().flat_map(|text| self.string(text, from)).collect(),
            Bound::Token(name) => self.token(from, |id| self.is_named(name, id)),
        };
        let around = match &tag.end {
            Bound::Texts(texts) => Around { texts, token: None },
            Bound::Token(name) => Around { texts: &[], token: Some(name) },
        };
        let content = each(&bound(&tag.begin, from), |from| self.ends(&tag.content, from, around));
        each(&content, |from| bound(&tag.end, from))
    }

    fn tags(&self, tags: &[Tag], from: usize) -> Ends {
        tags.iter().flat_map(|tag| self.tag(tag, from)).collect()
    }

    fn others(&self, from: usize, lists: [&[Name]; 2], around: Around<'_>) -> Ends {
        let is_out = |id| {
            let named = lists.into_iter().flatten().chain(around.token);
            named.into_iter().any(|name| self.is_named(name, id))
        };
        self.token(from, |id| !is_out(id))
    }

    fn ends(&self, format: &Format, from: usize, around: Around<'_>) -> Ends {
        match format {
            Format::Const(text) => self.string(text, from),
            Format::Values(_, texts) => texts.iter().flat_map(|text| self.spelled(text, from)).collect(),
            Format::Regex => {
                let a = self.many(from, 1, None, |from| self.spelled("a", from));
                let b = each(&a, |from| self.spelled("b", from));
                a.union(&b).copied().collect()
            }
            Format::Grammar => {
                let a = self.spelled("a", from);
                let nested = each(&a, |from| self.ends(format, from, around));
                let closed = each(&nested, |from| self.spelled("b", from));
                self.spelled("x", from).union(&closed).copied().collect()
            }
            Format::AnyText { excludes, max_chars, max_tokens } => {
                let ends = self.free(from, &[excludes.as_slice(), around.texts].concat(), *max_chars);
                self.within(from, &ends, *max_tokens)
            }
            Format::Sequence(parts) => parts
                .iter()
                .fold(Ends::from([from]), |now, part| each(&now, |from| self.ends(part, from, around))),
            Format::Or(parts) => parts.iter().flat_map(|part| self.ends(part, from, around)).collect(),
            Format::Repeat(content, min, max) => {
                self.many(from, *min, *max, |from| self.ends(content, from, around))
            }
            Format::Tag(tag) => self.tag(tag, from),
            Format::Triggered { triggers, excludes, tags, flow } => {
                let phrases = [triggers.as_slice(), excludes, around.texts].concat();
                let free = |from| self.free(from, &phrases, None);
                self.among(from, *flow, free, |from| self.tags(tags, from))
            }
            Format::Separated { separator, tags, flow: (at_least_one, stop_after_first) } => {
                let first = self.tags(tags, from);
                let more = |from| each(&self.string(separator, from), |from| self.tags(tags, from));
                let mut ends = if *stop_after_first {
                    first
                } else {
                    each(&first, |from| self.many(from, 0, None, more))
                };
                if !at_least_one {
                    ends.insert(from);
                }
                ends
            }
            Format::Dispatch { rules, excludes, is_loop } => {
                let patterns: Vec<&str> = rules.iter().map(|rule| rule.0).collect();
                let phrases = [patterns.as_slice(), excludes].concat();
                let rule = |from: usize| {
                    let of = |(pattern, format): &(&'static str, Format)| {
                        each(&self.string(pattern, from), |from| self.ends(format, from, Around::default()))
                    };
                    rules.iter().flat_map(of).collect()
                };
                self.among(from, (false, !is_loop), |from| self.free(from, &phrases, None), rule)
            }
            Format::Token(name) => self.token(from, |id| self.is_named(name, id)),
            Format::ExcludeToken(excludes) => self.others(from, [excludes, &[]], around),
            Format::AnyTokens(excludes, max_tokens) => {
                let ends = self.many(from, 0, None, |from| self.others(from, [excludes, &[]], around));
                self.within(from, &ends, *max_tokens)
            }
            Format::TokenTriggered { triggers, excludes, tags, flow } => {
                let free =
                    |from| self.many(from, 0, None, |from| self.others(from, [excludes, triggers], around));
                self.among(from, *flow, free, |from| self.tags(tags, from))
            }
            Format::TokenDispatch { rules, excludes, is_loop } => {
                let tokens: Vec<Name> = rules.iter().map(|rule| rule.0.clone()).collect();
                let none = Around::default();
                let free =
                    |from| self.many(from, 0, None, |from| self.others(from, [excludes, &tokens], none));
                let rule = |from: usize| {
                    let of = |(name, format): &(Name, Format)| {
                        let begin = self.token(from, |id| self.is_named(name, id));
                        each(&begin, |from| self.ends(format, from, none))
                    };
                    rules.iter().flat_map(of).collect()
                };
                self.among(from, (false, !is_loop), free, rule)
            }
        }
    }

    /// Where a text ends that no token stands for.
    fn spelled(&self, text: &str, from: usize) -> Ends {
        let end = from + text.len();
        let bytes = text.bytes().map(Unit::Byte);
        let is_it = self.units.get(from..end).is_some_and(|units| units.iter().copied().eq(bytes));
        if is_it { Ends::from([end]) } else { Ends::new() }
    }
}

impl Name {
    fn json(&self) -> Value {
        match self {
            Self::Id(id) => json!(id),
            Self::Text(text) => json!(text),
        }
    }
}

fn names(names: &[Name]) -> Vec<Value> {
    names.iter().map(Name::json).collect()
}

impl Tag {
    fn json(&self) -> Value {
        let bound = |bound: &Bound| match bound {
            Bound::Texts(texts) => match texts.as_slice() {
                [text] => json!(text),
                texts => json!(texts),
            },
            Bound::Token(name) => json!({"type": "token", "token": name.json()}),
        };
        json!({"type": "tag", "begin": bound(&self.begin), "content": self.content.json(), "end": bound(&self.end)})
    }
}

impl Format {
    pub(super) fn json(&self) -> Value {
        let all = |parts: &[Self]| parts.iter().map(Self::json).collect::<Vec<_>>();
        let tags = |tags: &[Tag]| tags.iter().map(Tag::json).collect::<Vec<_>>();
        match self {
            Self::Const(value) => json!({"type": "const_string", "value": value}),
            Self::Values(schema, _) => json!({"type": "json_schema", "json_schema": schema}),
            Self::Regex => json!({"type": "regex", "pattern": "a+b?"}),
            Self::Grammar => json!({"type": "grammar", "grammar": "root ::= \"a\" root \"b\" | \"x\""}),
            Self::AnyText { excludes, max_chars, max_tokens } => {
                json!({"type": "any_text", "excludes": excludes, "max_chars": max_chars, "max_tokens": max_tokens})
            }
            Self::Sequence(parts) => json!({"type": "sequence", "elements": all(parts)}),
            Self::Or(parts) => json!({"type": "or", "elements": all(parts)}),
            Self::Repeat(content, 0, Some(1)) => json!({"type": "optional", "content": content.json()}),
            Self::Repeat(content, 0, None) => json!({"type": "star", "content": content.json()}),
            Self::Repeat(content, 1, None) => json!({"type": "plus", "content": content.json()}),
            Self::Repeat(content, min, max) => json!({
                "type": "repeat", "content": content.json(), "min": min, "max": max.map_or(-1, i64::from),
            }),
            Self::Tag(tag) => tag.json(),
            Self::Triggered { triggers, excludes, tags: of, flow: (at_least_one, stop_after_first) } => {
                json!({
                    "type": "triggered_tags", "triggers": triggers, "excludes": excludes, "tags": tags(of),
                    "at_least_one": at_least_one, "stop_after_first": stop_after_first,
                })
            }
            Self::Separated { separator, tags: of, flow: (at_least_one, stop_after_first) } => json!({
                "type": "tags_with_separator", "separator": separator, "tags": tags(of),
                "at_least_one": at_least_one, "stop_after_first": stop_after_first,
            }),
            Self::Dispatch { rules, excludes, is_loop } => {
                let rules: Vec<Value> =
                    rules.iter().map(|(pattern, format)| json!([pattern, format.json()])).collect();
                json!({"type": "dispatch", "rules": rules, "excludes": excludes, "loop": is_loop})
            }
            Self::Token(name) => json!({"type": "token", "token": name.json()}),
            Self::ExcludeToken(excludes) => {
                json!({"type": "exclude_token", "exclude_tokens": names(excludes)})
            }
            Self::AnyTokens(excludes, max_tokens) => {
                json!({"type": "any_tokens", "exclude_tokens": names(excludes), "max_tokens": max_tokens})
            }
            Self::TokenTriggered { triggers, excludes, tags: of, flow: (at_least_one, stop_after_first) } => {
                json!({
                    "type": "token_triggered_tags", "trigger_tokens": names(triggers), "exclude_tokens": names(excludes),
                    "tags": tags(of), "at_least_one": at_least_one, "stop_after_first": stop_after_first,
                })
            }
            Self::TokenDispatch { rules, excludes, is_loop } => {
                let rules: Vec<Value> =
                    rules.iter().map(|(name, format)| json!([name.json(), format.json()])).collect();
                json!({"type": "token_dispatch", "rules": rules, "exclude_tokens": names(excludes), "loop": is_loop})
            }
        }
    }
}
