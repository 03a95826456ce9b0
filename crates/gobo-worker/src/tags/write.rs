//! Formats as a grammar: expressions within each other, and a rule for each distinct schema, grammar and pattern.

use std::collections::{BTreeSet, HashMap};

use gobo_artifact::Vocabulary;
use gobo_automata::{Expr, Grammar, Language, Rule, RuleId, TokenItem, TokenSet, without_phrases};
use gobo_grammar::MAX_TOKEN_SETS;
use gobo_grammar::ebnf::ebnf;
use gobo_schema::{arguments, ecma_regex};
use gobo_types::{
    Budget, CompileError, DenseId as _, LengthRange, MatchMode, NamedClasses, PropertyOrder, RefusalKind,
    Report, ReportEntry, SchemaOptions, SpecialText, Whitespace,
};

use super::PHASE;
use super::check::check;
use super::format::{Begin, End, Flow, Format, Placed, Schema, Tag};
use super::read::read;
use super::specials::Specials;

/// A structural tag, and the options that change its texts.
pub(crate) struct Input<'a> {
    /// Its JSON text.
    pub(crate) format: &'a str,
    pub(crate) special_text: SpecialText,
    /// Of its schemas.
    pub(crate) options: &'a SchemaOptions,
    /// The classes of tokens that its grammars may name.
    pub(crate) classes: &'a NamedClasses,
    /// Whose special tokens strings may hold; without one they are spelled.
    pub(crate) vocabulary: Option<&'a Vocabulary>,
    /// Whether each format becomes a rule, with its type and its place for a name, so that a text can be told where it stands.
    pub(crate) is_outline: bool,
}

/// The grammar of a structural tag, with its token sets, and what it enforces.
///
/// # Errors
/// A refusal whose place is a JSON pointer into the text; [`CompileError::OverBudget`].
pub(crate) fn tag(input: &Input<'_>, budget: &Budget) -> Result<(Grammar, Report), CompileError> {
    let format = read(input.format, budget)?;
    check(&format, budget)?;
    let mut writer = Writer {
        grammar: Grammar {
            rules: Vec::new(),
            start: RuleId::new(0),
            called: Vec::new(),
            families: Vec::new(),
            tokens: Vec::new(),
        },
        specials: Specials::of(input.vocabulary, input.special_text),
        classes: input.classes,
        options: input.options,
        report: Report::default(),
        schemas: HashMap::new(),
        sets: HashMap::new(),
        has_free_text: false,
        is_outline: input.is_outline,
        budget,
    };
    let expr = writer.expr(&format, &Around::default())?;
    let Writer { mut grammar, mut report, has_free_text, .. } = writer;
    grammar.start = RuleId::new(grammar.rules.len());
    grammar.rules.push(Rule { name: "tag".to_owned(), expr, lengths: None });
    let how = format!("texts of special tokens are written in this way: {}", input.special_text);
    report.enforced.insert(0, ReportEntry::whole("special_text", how));
    report.enforced.insert(0, ReportEntry::whole("structural_tag", "exactly the texts of the format"));
    if has_free_text {
        let why = "special tokens stand in no free text; XGrammar lets them through there";
        report.narrowed.push(ReportEntry::whole("any_text", why));
    }
    Ok((grammar, report))
}

/// The end of the nearest tag around a format.
#[derive(Default, Clone, Copy)]
struct Around<'a> {
    texts: &'a [String],
    token: Option<&'a TokenItem>,
}

struct Writer<'a> {
    classes: &'a NamedClasses,
    grammar: Grammar,
    specials: Specials,
    options: &'a SchemaOptions,
    report: Report,
    /// The rules of schemas that were written.
    schemas: HashMap<Schema, RuleId>,
    /// The token sets that were named.
    sets: HashMap<(Vec<TokenItem>, bool), usize>,
    /// Whether there is any text in which special tokens could stand elsewhere.
    has_free_text: bool,
    is_outline: bool,
    budget: &'a Budget,
}

impl Writer<'_> {
    fn expr(&mut self, placed: &Placed, around: &Around<'_>) -> Result<Expr, CompileError> {
        let Placed { pointer, format } = placed;
        if let Format::Tag(tag) = format {
            return self.tag(tag);
        }
        let expr = self.content(placed, around)?;
        Ok(self.named(|| at(format.name(), pointer), expr))
    }

    /// An expression, or in an outline the call of a rule with this name.
    fn named(&mut self, name: impl FnOnce() -> String, expr: Expr) -> Expr {
        if !self.is_outline {
            return expr;
        }
        let rule = RuleId::new(self.grammar.rules.len());
        self.grammar.rules.push(Rule { name: name(), expr, lengths: None });
        Expr::Call(rule)
    }

    /// What stands between the tags of a format.
    fn between(&mut self, pointer: &str, free: Expr) -> Expr {
        self.named(|| at("between tags", pointer), free)
    }

    fn content(&mut self, placed: &Placed, around: &Around<'_>) -> Result<Expr, CompileError> {
        let Placed { pointer, format } = placed;
        Ok(match format {
            Format::Const(text) => self.string(pointer, text)?,
            Format::Schema(of) => Expr::Call(self.schema(pointer, of)?),
            Format::Grammar(text) => {
                let read = ebnf(text, "root", self.classes, self.budget)
                    .map_err(|error| within(error, pointer, "grammar"))?;
                Expr::Call(self.append(pointer, read)?)
            }
            Format::Regex(pattern) => {
                let texts = ecma_regex(pattern, MatchMode::Full, self.budget);
                let texts = texts.map_err(|error| within(error, pointer, "pattern"))?;
                texts.to_expr(|chars| Expr::Chars(chars.clone()), self.budget)?
            }
            Format::AnyText { excludes, max_chars, max_tokens } => {
                let text = self.free(excludes.iter().chain(around.texts))?;
                let text = match max_chars {
                    None => text,
                    Some(most) => {
                        let any = Expr::chars([('\0', char::MAX)]).repeat(0, Some(*most));
                        let bounded = Language::expr(&any, self.budget)?;
                        let text = Language::expr(&text, self.budget)?.intersection(&bounded, self.budget)?;
                        text.to_expr(|chars| Expr::Chars(chars.clone()), self.budget)?
                    }
                };
                self.within_tokens(text, *max_tokens)?
            }
            Format::Sequence(parts) => Expr::Concat(self.all(parts, around)?),
            Format::Or(parts) => Expr::Alternate(self.all(parts, around)?),
            Format::Repeat { content, min, max } => self.expr(content, around)?.repeat(*min, *max),
            Format::Tag(tag) => self.tag(tag)?,
            Format::Triggered { triggers, excludes, tags, flow } => {
                let free = self.free(triggers.iter().chain(excludes).chain(around.texts))?;
                let free = self.between(pointer, free);
                let tags = self.tags(tags)?;
                among(free, tags, *flow)
            }
            Format::Separated { separator, tags, flow } => {
                let tags = self.tags(tags)?.shared();
                let more = Expr::Concat(vec![self.string(pointer, separator)?, tags.clone()]);
                let max = if flow.stop_after_first { Some(0) } else { None };
                let some = Expr::Concat(vec![tags, more.repeat(0, max)]);
                if flow.at_least_one { some } else { some.repeat(0, Some(1)) }
            }
            Format::Dispatch { rules, excludes, is_loop } => {
                let free = self.free(rules.iter().map(|rule| &rule.0).chain(excludes))?;
                let free = self.between(pointer, free);
                let mut ways = Vec::with_capacity(rules.len());
                for (pattern, format) in rules {
                    let behind = self.expr(format, &Around::default())?;
                    ways.push(Expr::Concat(vec![self.string(pointer, pattern)?, behind]));
                }
                let flow = Flow { at_least_one: false, stop_after_first: !is_loop };
                among(free, Expr::Alternate(ways), flow)
            }
            Format::Token(token) => self.edge(pointer, vec![token.clone()], false)?,
            Format::ExcludeToken(excludes) => self.other_token(pointer, excludes, &[], around)?,
            Format::AnyTokens { excludes, max_tokens } => {
                let tokens = self.other_token(pointer, excludes, &[], around)?.repeat(0, None);
                self.within_tokens(tokens, *max_tokens)?
            }
            Format::TokenTriggered { triggers, excludes, tags, flow } => {
                let free = self.other_token(pointer, excludes, triggers, around)?.repeat(0, None);
                let free = self.between(pointer, free);
                let tags = self.tags(tags)?;
                among(free, tags, *flow)
            }
            Format::TokenDispatch { rules, excludes, is_loop } => {
                let tokens: Vec<TokenItem> = rules.iter().map(|rule| rule.0.clone()).collect();
                let free = self.other_token(pointer, excludes, &tokens, &Around::default())?.repeat(0, None);
                let free = self.between(pointer, free);
                let mut ways = Vec::with_capacity(rules.len());
                for (token, format) in rules {
                    let begin = self.edge(pointer, vec![token.clone()], false)?;
                    ways.push(Expr::Concat(vec![begin, self.expr(format, &Around::default())?]));
                }
                let flow = Flow { at_least_one: false, stop_after_first: !is_loop };
                among(free, Expr::Alternate(ways), flow)
            }
        })
    }

    /// Texts of a region in which at most so many tokens begin: none without a token, and else a rule of its own, which counts them.
    fn within_tokens(&mut self, region: Expr, most: Option<u32>) -> Result<Expr, CompileError> {
        let Some(most) = most else { return Ok(region) };
        if most == 0 {
            return Ok(Expr::text(""));
        }
        let spent = edge(&mut self.grammar.tokens, &mut self.sets, "", vec![TokenItem::Spent], false)?;
        let expr = Language::expr(&region, self.budget)?.spent(&spent, self.budget)?;
        let rule = RuleId::new(self.grammar.rules.len());
        let lengths = Some(LengthRange::of_tokens(most));
        self.grammar.rules.push(Rule { name: "region".to_owned(), expr, lengths });
        Ok(Expr::Call(rule))
    }

    fn all(&mut self, parts: &[Placed], around: &Around<'_>) -> Result<Vec<Expr>, CompileError> {
        parts.iter().map(|part| self.expr(part, around)).collect()
    }

    /// Any one of some tags.
    fn tags(&mut self, tags: &[Tag]) -> Result<Expr, CompileError> {
        Ok(Expr::Alternate(tags.iter().map(|tag| self.tag(tag)).collect::<Result<_, _>>()?))
    }

    fn tag(&mut self, tag: &Tag) -> Result<Expr, CompileError> {
        let begin = match &tag.begin {
            Begin::Text(text) => self.string(&tag.pointer, text)?,
            Begin::Token(token) => self.edge(&tag.pointer, vec![token.clone()], false)?,
        };
        let around = match &tag.end {
            End::Texts(texts) => Around { texts, token: None },
            End::Token(token) => Around { texts: &[], token: Some(token) },
        };
        let content = self.expr(&tag.content, &around)?;
        let end = match &tag.end {
            End::Texts(texts) => {
                let texts = texts.iter().map(|text| self.string(&tag.pointer, text));
                Expr::Alternate(texts.collect::<Result<_, _>>()?)
            }
            End::Token(token) => self.edge(&tag.pointer, vec![token.clone()], false)?,
        };
        let name = || match &tag.begin {
            Begin::Text(text) => format!("tag {} {text:?}", tag.pointer),
            Begin::Token(token) => format!("tag {} {token:?}", tag.pointer),
        };
        Ok(self.named(name, Expr::Concat(vec![begin, content, end])))
    }

    /// A text, and the special tokens that stand for parts of it.
    fn string(&mut self, pointer: &str, text: &str) -> Result<Expr, CompileError> {
        let Self { specials, grammar, sets, budget, .. } = self;
        specials.string(text, |token| edge(&mut grammar.tokens, sets, pointer, vec![token], false), budget)
    }

    fn edge(
        &mut self,
        pointer: &str,
        items: Vec<TokenItem>,
        is_complement: bool,
    ) -> Result<Expr, CompileError> {
        edge(&mut self.grammar.tokens, &mut self.sets, pointer, items, is_complement)
    }

    /// A token that is none of these, and not the end of the tag around it.
    fn other_token(
        &mut self,
        pointer: &str,
        excludes: &[TokenItem],
        triggers: &[TokenItem],
        around: &Around<'_>,
    ) -> Result<Expr, CompileError> {
        let named = excludes.iter().chain(triggers).chain(around.token);
        self.edge(pointer, named.cloned().collect(), true)
    }

    /// Free text without these phrases.
    fn free<'p>(&mut self, phrases: impl Iterator<Item = &'p String>) -> Result<Expr, CompileError> {
        self.has_free_text = true;
        let phrases: BTreeSet<&str> =
            phrases.map(String::as_str).filter(|phrase| !phrase.is_empty()).collect();
        Ok(Expr::Machine(Box::new(without_phrases(phrases, self.budget)?)))
    }

    /// The rule of the values of a schema.
    fn schema(&mut self, pointer: &str, of: &Schema) -> Result<RuleId, CompileError> {
        if let Some(&known) = self.schemas.get(of) {
            return Ok(known);
        }
        let mut options = self.options.clone();
        if of.any_order {
            options.order = PropertyOrder::Any;
        }
        if let Some(most) = of.max_whitespace {
            options.whitespace = within_whitespace(options.whitespace, most);
        }
        let read = self.arguments(pointer, of, &options);
        let (grammar, report) = read.map_err(|error| within(error, pointer, "json_schema"))?;
        for (list, more) in [
            (&mut self.report.enforced, report.enforced),
            (&mut self.report.narrowed, report.narrowed),
            (&mut self.report.annotations, report.annotations),
            (&mut self.report.widened, report.widened),
            (&mut self.report.notes, report.notes),
        ] {
            for entry in below(more, pointer) {
                // What holds of all texts is said once.
                self.budget.charge_steps(PHASE, list.len() as u64 / 8)?;
                if !list.contains(&entry) {
                    list.push(entry);
                }
            }
        }
        let rule = self.append(pointer, grammar)?;
        self.schemas.insert(of.clone(), rule);
        Ok(rule)
    }

    /// The grammar of a schema, with its token sets.
    fn arguments(
        &self,
        pointer: &str,
        of: &Schema,
        options: &SchemaOptions,
    ) -> Result<(Grammar, Report), CompileError> {
        let (mut sets, mut known) = (Vec::new(), HashMap::new());
        let mut write = |text: &str| {
            let token = |item| edge(&mut sets, &mut known, pointer, vec![item], false);
            self.specials.string(text, token, self.budget)
        };
        let (mut grammar, report) = arguments(&of.text, options, &of.arguments, &mut write, self.budget)?;
        grammar.tokens = sets;
        Ok((grammar, report))
    }

    fn append(&mut self, pointer: &str, mut grammar: Grammar) -> Result<RuleId, CompileError> {
        check_sets(self.grammar.tokens.len() + grammar.tokens.len(), pointer)?;
        for set in &mut grammar.tokens {
            set.place = format!("{pointer}, {}", set.place);
            set.span = None;
        }
        self.grammar.append(grammar, self.budget)
    }
}

/// One token of a set; an equal one is the same set.
fn edge(
    sets: &mut Vec<TokenSet>,
    known: &mut HashMap<(Vec<TokenItem>, bool), usize>,
    pointer: &str,
    mut items: Vec<TokenItem>,
    is_complement: bool,
) -> Result<Expr, CompileError> {
    items.sort_unstable();
    items.dedup();
    let key = (items, is_complement);
    if let Some(&known) = known.get(&key) {
        return Ok(Expr::token_set(known));
    }
    let fresh = sets.len();
    check_sets(fresh + 1, pointer)?;
    let (items, place) = (key.0.clone(), pointer.to_owned());
    sets.push(TokenSet { items, is_complement, place, span: None });
    known.insert(key, fresh);
    Ok(Expr::token_set(fresh))
}

fn check_sets(sets: usize, pointer: &str) -> Result<(), CompileError> {
    if sets <= MAX_TOKEN_SETS {
        return Ok(());
    }
    let reason = format!("the structural tag has more than {MAX_TOKEN_SETS} different token edges");
    Err(CompileError::refuse(RefusalKind::Unsupported, pointer, reason))
}

/// A name with a JSON pointer; of the whole tag that is empty.
fn at(name: &str, pointer: &str) -> String {
    if pointer.is_empty() { name.to_owned() } else { format!("{name} {pointer}") }
}

/// Tags among free texts.
fn among(free: Expr, tags: Expr, flow: Flow) -> Expr {
    let (free, tags) = (free.shared(), tags.shared());
    let Flow { at_least_one, stop_after_first } = flow;
    match (at_least_one, stop_after_first) {
        (true, true) => tags,
        (false, true) => Expr::Concat(vec![free, tags.repeat(0, Some(1))]),
        (true, false) => {
            let more = Expr::Concat(vec![free.clone(), tags.clone()]).repeat(0, None);
            Expr::Concat(vec![tags, more, free])
        }
        (false, false) => Expr::Concat(vec![Expr::Concat(vec![free.clone(), tags]).repeat(0, None), free]),
    }
}

/// A policy whose runs of whitespace have at most so many characters.
fn within_whitespace(policy: Whitespace, most: u32) -> Whitespace {
    match policy {
        _ if most == 0 => Whitespace::Compact,
        Whitespace::Compact | Whitespace::Single => policy,
        Whitespace::Flexible { max } => Whitespace::Flexible { max: max.min(most) },
        // Lines are indented by more than any small number of characters.
        Whitespace::Lines | Whitespace::Indent { .. } if most >= 1 << 10 => policy,
        Whitespace::Lines | Whitespace::Indent { .. } => Whitespace::Single,
    }
}

/// Entries about a part, as entries about the whole tag.
fn below(entries: Vec<ReportEntry>, pointer: &str) -> impl Iterator<Item = ReportEntry> {
    let pointer = pointer.to_owned();
    entries.into_iter().map(move |entry| ReportEntry {
        pointer: if entry.pointer.is_empty() {
            String::new()
        } else {
            format!("{pointer}/json_schema{}", entry.pointer)
        },
        ..entry
    })
}

/// A refusal of a part, placed in the whole tag.
fn within(error: CompileError, pointer: &str, field: &str) -> CompileError {
    let CompileError::Refused(mut refusal) = error else { return error };
    let inner = refusal.place.to_string();
    refusal.place = if inner.is_empty() || inner.starts_with('/') {
        format!("{pointer}/{field}{inner}").into()
    } else {
        refusal.reason = format!("{} ({inner})", refusal.reason).into();
        format!("{pointer}/{field}").into()
    };
    refusal.span = None;
    CompileError::Refused(refusal)
}
