//! Token edges by definition: grammars as expressions, read token by token by a list of all that may still come.
//!
//! A configuration is a list of expressions that are to be read, the next one last. A token is read in both ways that it has: its bytes one
//! after the other, and whole, where an edge is next. Every expression has a text, so a sequence of tokens can be gone on with exactly if
//! some configuration is left. It shares no code with what it judges.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use gobo_types::TokenId;

/// What an edge reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    Name(&'static str),
    Ids(TokenId, TokenId),
    All,
}

/// An expression of a grammar.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Expr {
    Text(&'static str),
    /// Any character.
    Any,
    Token {
        items: Vec<Item>,
        is_complement: bool,
    },
    Sequence(Vec<Expr>),
    Either(Vec<Expr>),
    /// Any number of times; each reads something.
    Many(Box<Expr>),
    Rule(usize),
}

/// What is to be read, the next one last.
type Configuration = Vec<Expr>;

/// What is next: a byte, one of a set of tokens, or a part of a character.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Leaf {
    Bytes(Vec<u8>),
    Token(Vec<Item>, bool),
}

#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) rules: &'a [Expr],
    /// Of each id the bytes, and whether it is special.
    pub(super) tokens: &'a [(Vec<u8>, bool)],
    pub(super) eos: &'a [TokenId],
}

/// Where a sequence of tokens stands: the bytes that are left of the leaf that is being read, and what is to be read after it.
pub(super) type Place = BTreeSet<(Vec<u8>, Configuration)>;

impl Reader<'_> {
    fn bytes(&self, id: TokenId) -> &[u8] {
        &self.tokens[id as usize].0
    }

    fn is_special(&self, id: TokenId) -> bool {
        self.tokens[id as usize].1
    }

    pub(super) fn start() -> Place {
        BTreeSet::from([(Vec::new(), vec![Expr::Rule(0)])])
    }

    pub(super) fn is_complete(&self, place: &Place) -> bool {
        place.iter().filter(|(left, _)| left.is_empty()).any(|(_, at)| self.leaves(at).1)
    }

    /// Whether an edge names an id: not only a complement has it.
    pub(super) fn is_named(&self, id: TokenId) -> bool {
        let mut open: Vec<&Expr> = self.rules.iter().collect();
        while let Some(expr) = open.pop() {
            match expr {
                Expr::Token { items, is_complement: false } if self.names(items, id) => return true,
                Expr::Sequence(parts) | Expr::Either(parts) => open.extend(parts),
                Expr::Many(part) => open.push(part),
                _ => {}
            }
        }
        false
    }

    fn names(&self, items: &[Item], id: TokenId) -> bool {
        items.iter().any(|item| match item {
            Item::Name(name) => self.bytes(id) == name.as_bytes(),
            Item::Ids(first, last) => (*first..=*last).contains(&id),
            Item::All => false,
        })
    }

    /// Whether an edge reads an id, which is no hole.
    fn reads(&self, items: &[Item], is_complement: bool, id: TokenId) -> bool {
        let is_token = !self.bytes(id).is_empty() || self.is_special(id);
        let has = items.contains(&Item::All) || self.names(items, id);
        is_token && has != is_complement
    }

    /// The place after a token, if it can be read: `by_edge` says that an edge has read it.
    pub(super) fn after(&self, place: &Place, id: TokenId) -> Place {
        let is_eos = self.eos.contains(&id);
        let mut next = Place::new();
        if !is_eos && !self.is_special(id) && !self.bytes(id).is_empty() {
            let mut bytes = place.clone();
            for &byte in self.bytes(id) {
                bytes = bytes.iter().flat_map(|at| self.after_byte(at, byte)).collect();
            }
            next.extend(bytes);
        }
        if !is_eos || self.is_named(id) {
            for (_, at) in place.iter().filter(|(left, _)| left.is_empty()) {
                for (leaf, rest) in self.leaves(at).0 {
                    if matches!(leaf, Leaf::Token(items, is_complement) if self.reads(&items, is_complement, id))
                    {
                        next.insert((Vec::new(), rest));
                    }
                }
            }
        }
        next
    }

    fn after_byte(&self, (left, at): &(Vec<u8>, Configuration), byte: u8) -> Vec<(Vec<u8>, Configuration)> {
        if let Some((&first, rest)) = left.split_first() {
            return if first == byte { vec![(rest.to_vec(), at.clone())] } else { Vec::new() };
        }
        let mut found = Vec::new();
        for (leaf, rest) in self.leaves(at).0 {
            if let Leaf::Bytes(bytes) = leaf
                && bytes[0] == byte
            {
                found.push((bytes[1..].to_vec(), rest));
            }
        }
        found
    }

    /// What may be read next, with what is to be read after it; and whether nothing more has to be.
    fn leaves(&self, at: &Configuration) -> (BTreeSet<(Leaf, Configuration)>, bool) {
        let (mut leaves, mut is_complete) = (BTreeSet::new(), false);
        let (mut open, mut seen) = (vec![at.clone()], BTreeSet::new());
        while let Some(mut at) = open.pop() {
            if !seen.insert(at.clone()) {
                continue;
            }
            match at.pop() {
                None => is_complete = true,
                Some(Expr::Text("")) => open.push(at),
                Some(Expr::Text(text)) => _ = leaves.insert((Leaf::Bytes(text.as_bytes().to_vec()), at)),
                // Of all characters, those that the tokens of the tests can write.
                Some(Expr::Any) => {
                    let inner = [0xa2, 0xa9, 0xbc];
                    let two = inner.map(|last| vec![0xc3, last]);
                    let three = inner.into_iter().flat_map(|next| inner.map(|last| vec![0xe6, next, last]));
                    let one = b"abc<x>/s\x01".iter().map(|byte| vec![*byte]);
                    leaves.extend(one.chain(two).chain(three).map(|bytes| (Leaf::Bytes(bytes), at.clone())));
                }
                Some(Expr::Token { items, is_complement }) => {
                    _ = leaves.insert((Leaf::Token(items, is_complement), at));
                }
                Some(Expr::Sequence(parts)) => {
                    at.extend(parts.into_iter().rev());
                    open.push(at);
                }
                Some(Expr::Either(parts)) => {
                    open.extend(parts.into_iter().map(|part| {
                        let mut at = at.clone();
                        at.push(part);
                        at
                    }));
                }
                Some(Expr::Many(part)) => {
                    open.push(at.clone());
                    at.push(Expr::Many(part.clone()));
                    at.push(*part);
                    open.push(at);
                }
                Some(Expr::Rule(rule)) => {
                    at.push(self.rules[rule].clone());
                    open.push(at);
                }
            }
        }
        (leaves, is_complete)
    }
}

/// Where a grammar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Gbnf,
    Ebnf,
    /// For the lexer `none`.
    Lark,
}

/// The grammar, whose start is `r0`; `named`: the ids with the text of a name, for complements of names in Lark's form, which has none.
pub(super) fn grammar(form: Form, rules: &[Expr], named: &dyn Fn(&str) -> Vec<TokenId>) -> String {
    let mut text = String::new();
    let sign = if form == Form::Lark { ":" } else { " ::=" };
    for (number, rule) in rules.iter().enumerate() {
        writeln!(text, "r{number}{sign} {}", written(form, rule, named)).expect("it is a string");
    }
    text
}

fn edge(form: Form, items: &[Item], is_complement: bool, named: &dyn Fn(&str) -> Vec<TokenId>) -> String {
    let listed = |items: &[Item]| {
        let ids = items.iter().map(|item| match item {
            Item::Ids(first, last) if first == last => first.to_string(),
            Item::Ids(first, last) => format!("{first}-{last}"),
            Item::All => "*".to_owned(),
            Item::Name(_) => unreachable!("names stand alone"),
        });
        ids.collect::<Vec<_>>().join(",")
    };
    match (form, items) {
        (Form::Ebnf, items) if !items.contains(&Item::All) => {
            let ids = items.iter().flat_map(|item| match item {
                Item::Ids(first, last) => (*first..=*last).map(|id| id.to_string()).collect::<Vec<_>>(),
                Item::Name(name) => vec![format!("{name:?}")],
                Item::All => unreachable!("it was looked for"),
            });
            let name = if is_complement { "ExcludeToken" } else { "Token" };
            format!("{name}({})", ids.collect::<Vec<_>>().join(", "))
        }
        (Form::Lark, [Item::Name(name)]) if is_complement => {
            let ids: Vec<Item> = named(name).into_iter().map(|id| Item::Ids(id, id)).collect();
            format!("<[^{}]>", listed(&ids))
        }
        (Form::Lark, items) if is_complement => format!("<[^{}]>", listed(items)),
        (_, [Item::Name(name)]) => format!("{}{name}", if is_complement { "!" } else { "" }),
        (_, items) => format!("{}<[{}]>", if is_complement { "!" } else { "" }, listed(items)),
    }
}

fn written(form: Form, expr: &Expr, named: &dyn Fn(&str) -> Vec<TokenId>) -> String {
    let written = |expr: &Expr| written(form, expr, named);
    let all = |parts: &[Expr], between: &str| parts.iter().map(written).collect::<Vec<_>>().join(between);
    match expr {
        Expr::Text(text) => format!("{text:?}"),
        Expr::Any => match form {
            Form::Gbnf => ".".to_owned(),
            Form::Ebnf => "[^]".to_owned(),
            Form::Lark => "/(.|\\n)/".to_owned(),
        },
        Expr::Token { items, is_complement } => edge(form, items, *is_complement, named),
        Expr::Sequence(parts) => format!("({})", all(parts, " ")),
        Expr::Either(parts) => format!("({})", all(parts, " | ")),
        Expr::Many(part) => format!("({})*", written(part)),
        Expr::Rule(rule) => format!("r{rule}"),
    }
}

/// The mask by definition.
pub(super) fn mask(reader: &Reader<'_>, place: &Place) -> BTreeMap<TokenId, Place> {
    let is_complete = reader.is_complete(place);
    let mut allowed = BTreeMap::new();
    for id in 0..u32::try_from(reader.tokens.len()).unwrap() {
        let next = reader.after(place, id);
        if !next.is_empty() || is_complete && reader.eos.contains(&id) {
            allowed.insert(id, next);
        }
    }
    allowed
}
