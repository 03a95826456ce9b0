//! The JSON text of a structural tag as formats. A field that a type does not have is refused by its JSON pointer.

use std::collections::BTreeMap;

use gobo_automata::TokenItem;
use gobo_schema::{Arguments, Style};
use gobo_types::{Budget, CharCount, CompileError, RefusalKind};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::PHASE;
use super::format::{Begin, End, Flow, Format, Placed, Schema, Tag};

/// Deepest nesting of formats.
const NEST_LIMIT: u32 = 64;

/// Most formats and tags of one text.
const MAX_FORMATS: usize = 1 << 16;

/// Longest text in bytes.
const MAX_TAG_BYTES: usize = 8 << 20;

/// Bytes of JSON that are scanned in the time of one step elsewhere.
const BYTES_PER_STEP: u64 = 64;

/// The format of a text. O(bytes × depth).
///
/// # Errors
/// A refusal whose place is a JSON pointer; [`CompileError::OverBudget`].
pub(super) fn read(text: &str, budget: &Budget) -> Result<Placed, CompileError> {
    if text.len() > MAX_TAG_BYTES {
        let reason = format!("the structural tag has {} bytes, the limit is {MAX_TAG_BYTES}", text.len());
        return Err(CompileError::refuse(RefusalKind::Unsupported, "", reason));
    }
    let mut reader = Reader { left: MAX_FORMATS, budget };
    let whole: Box<RawValue> = serde_json::from_str(text).map_err(|error| {
        CompileError::refuse(RefusalKind::Malformed, "", format!("the structural tag is no JSON: {error}"))
    })?;
    let mut object = Object::of("", &whole)?;
    match object.text("type")?.as_deref() {
        Some("structural_tag") => {
            let format = if object.fields.contains_key("structures") {
                reader.older(&mut object)?
            } else {
                let (pointer, value) = object.required("format")?;
                reader.format(pointer, &value, 0)?
            };
            object.finish()?;
            Ok(format)
        }
        None if object.fields.contains_key("structures") => {
            let format = reader.older(&mut object)?;
            object.finish()?;
            Ok(format)
        }
        _ => reader.format(String::new(), &whole, 0),
    }
}

fn malformed(pointer: &str, reason: impl Into<String>) -> CompileError {
    CompileError::refuse(RefusalKind::Malformed, pointer, reason)
}

/// The pointer to a field, or to an element.
fn below(pointer: &str, field: &str) -> String {
    format!("{pointer}/{}", field.replace('~', "~0").replace('/', "~1"))
}

/// A JSON object whose fields are taken one by one.
struct Object {
    pointer: String,
    fields: BTreeMap<String, Box<RawValue>>,
}

impl Object {
    fn of(pointer: &str, value: &RawValue) -> Result<Self, CompileError> {
        let fields = serde_json::from_str(value.get())
            .map_err(|_| malformed(pointer, format!("an object is expected, not {}", shown(value))))?;
        Ok(Self { pointer: pointer.to_owned(), fields })
    }

    fn take(&mut self, field: &str) -> Option<(String, Box<RawValue>)> {
        let value = self.fields.remove(field).filter(|value| value.get() != "null")?;
        Some((below(&self.pointer, field), value))
    }

    fn required(&mut self, field: &str) -> Result<(String, Box<RawValue>), CompileError> {
        self.take(field).ok_or_else(|| malformed(&self.pointer, format!("the field {field} is missing")))
    }

    /// A field of a plain type; `expected` says which, as in `a text`.
    fn plain<T: DeserializeOwned>(&mut self, field: &str, expected: &str) -> Result<Option<T>, CompileError> {
        let Some((pointer, value)) = self.take(field) else { return Ok(None) };
        let read = serde_json::from_str(value.get());
        let wrong = |_| malformed(&pointer, format!("{field} is {expected}, not {}", shown(&value)));
        read.map(Some).map_err(wrong)
    }

    fn text(&mut self, field: &str) -> Result<Option<String>, CompileError> {
        self.plain(field, "a text")
    }

    fn needed_text(&mut self, field: &str) -> Result<String, CompileError> {
        let text = self.text(field)?;
        text.ok_or_else(|| malformed(&self.pointer, format!("the field {field} is missing")))
    }

    fn texts(&mut self, field: &str) -> Result<Vec<String>, CompileError> {
        Ok(self.plain(field, "a list of texts")?.unwrap_or_default())
    }

    fn flag(&mut self, field: &str, default: bool) -> Result<bool, CompileError> {
        Ok(self.plain(field, "true or false")?.unwrap_or(default))
    }

    fn flow(&mut self) -> Result<Flow, CompileError> {
        let at_least_one = self.flag("at_least_one", false)?;
        Ok(Flow { at_least_one, stop_after_first: self.flag("stop_after_first", false)? })
    }

    /// The elements of a list.
    fn list(&mut self, field: &str) -> Result<Vec<(String, Box<RawValue>)>, CompileError> {
        let (pointer, value) = self.required(field)?;
        elements(&pointer, &value)
    }

    /// Tokens, by id or by text.
    fn tokens(&mut self, field: &str) -> Result<Vec<TokenItem>, CompileError> {
        let Some((pointer, value)) = self.take(field) else { return Ok(Vec::new()) };
        elements(&pointer, &value)?.iter().map(|(pointer, value)| token(pointer, value)).collect()
    }

    /// How many tokens may begin in a region.
    fn max_tokens(&mut self) -> Result<Option<u32>, CompileError> {
        let max_tokens: Option<u32> = self.plain("max_tokens", "a number of tokens")?;
        match max_tokens {
            Some(tokens) if tokens >= CharCount::MAX_CHARS => {
                let reason = format!("max_tokens is {tokens}, the limit is {}", CharCount::MAX_CHARS - 1);
                let pointer = below(&self.pointer, "max_tokens");
                Err(CompileError::refuse(RefusalKind::Unsupported, pointer, reason))
            }
            max_tokens => Ok(max_tokens),
        }
    }

    fn finish(self) -> Result<(), CompileError> {
        match self.fields.keys().next() {
            None => Ok(()),
            Some(field) => {
                let pointer = below(&self.pointer, field);
                Err(malformed(&pointer, format!("there is no field {field} here")))
            }
        }
    }
}

/// A value as a reason shows it.
fn shown(value: &RawValue) -> String {
    let text = value.get();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn elements(pointer: &str, value: &RawValue) -> Result<Vec<(String, Box<RawValue>)>, CompileError> {
    let list: Vec<Box<RawValue>> = serde_json::from_str(value.get())
        .map_err(|_| malformed(pointer, format!("a list is expected, not {}", shown(value))))?;
    Ok((0..).zip(list).map(|(at, value): (usize, _)| (format!("{pointer}/{at}"), value)).collect())
}

/// A token by its id or by its text.
fn token(pointer: &str, value: &RawValue) -> Result<TokenItem, CompileError> {
    if let Ok(id) = serde_json::from_str::<u32>(value.get()) {
        return Ok(TokenItem::Ids(id, id));
    }
    match serde_json::from_str::<String>(value.get()) {
        Ok(text) if !text.is_empty() => Ok(TokenItem::Name(text)),
        _ => Err(malformed(pointer, format!("a token is an id or a text, not {}", shown(value)))),
    }
}

/// The format of a schema.
fn schema(object: &mut Object) -> Result<Format, CompileError> {
    let (_, schema) = object.required("json_schema")?;
    let style = match object.text("style")?.as_deref() {
        None | Some("json") => None,
        Some(word) => Some(Style::of(word).ok_or_else(|| {
            let known: Vec<&str> = Style::words().collect();
            let reason = format!("there is no style {word:?}: styles are json, {}", known.join(", "));
            CompileError::refuse(RefusalKind::Unsupported, below(&object.pointer, "style"), reason)
        })?),
    };
    let excludes = object.texts("excludes")?;
    for (at, exclude) in excludes.iter().enumerate() {
        // Such a text may stand across an escape of JSON, where no string has it.
        let is_escape = |char: char| char.is_ascii_hexdigit() || char < ' ' || "\"\\/bfnrtu".contains(char);
        let is_inside = |char: char| char < ' ' || "\"\\".contains(char);
        let pointer = || below(&below(&object.pointer, "excludes"), &at.to_string());
        if exclude.is_empty() {
            return Err(malformed(&pointer(), "an exclude is the empty text"));
        }
        if exclude.starts_with(is_escape) || exclude.contains(is_inside) {
            let reason = format!("the exclude {exclude:?} has characters of escapes of JSON");
            return Err(CompileError::refuse(RefusalKind::Unsupported, pointer(), reason));
        }
    }
    Ok(Format::Schema(Schema {
        text: schema.get().to_owned(),
        arguments: Arguments { style, excludes },
        any_order: object.flag("any_order", false)?,
        max_whitespace: object.plain("max_whitespace_cnt", "a number of characters")?,
    }))
}

/// A format of type `token`, where a text may stand as well.
fn token_format(pointer: &str, value: &RawValue) -> Result<TokenItem, CompileError> {
    let mut object = Object::of(pointer, value)
        .map_err(|_| malformed(pointer, format!("a text or a token is expected, not {}", shown(value))))?;
    if let Some(kind) = object.text("type")?.filter(|kind| kind != "token") {
        return Err(malformed(&below(pointer, "type"), format!("a token is expected, not {kind}")));
    }
    let (at, value) = object.required("token")?;
    let token = token(&at, &value)?;
    object.finish()?;
    Ok(token)
}

struct Reader<'a> {
    /// How many formats there may still be.
    left: usize,
    budget: &'a Budget,
}

impl Reader<'_> {
    fn count(&mut self, pointer: &str, value: &RawValue) -> Result<(), CompileError> {
        self.budget.charge_steps(PHASE, 1 + value.get().len() as u64 / BYTES_PER_STEP)?;
        let Some(left) = self.left.checked_sub(1) else {
            let reason = format!("the structural tag has more than {MAX_FORMATS} formats");
            return Err(CompileError::refuse(RefusalKind::Unsupported, pointer, reason));
        };
        self.left = left;
        Ok(())
    }

    fn format(&mut self, pointer: String, value: &RawValue, depth: u32) -> Result<Placed, CompileError> {
        self.count(&pointer, value)?;
        if depth == NEST_LIMIT {
            let reason = format!("formats nest deeper than {NEST_LIMIT} levels");
            return Err(CompileError::refuse(RefusalKind::Unsupported, pointer, reason));
        }
        let mut object = Object::of(&pointer, value)?;
        let kind = object.needed_text("type")?;
        let format = self.of_type(&kind, &mut object, depth)?;
        object.finish()?;
        Ok(Placed { pointer, format })
    }

    fn of_type(&mut self, kind: &str, object: &mut Object, depth: u32) -> Result<Format, CompileError> {
        Ok(match kind {
            "const_string" => Format::Const(object.needed_text("value")?),
            "json_schema" => schema(object)?,
            "grammar" => Format::Grammar(object.needed_text("grammar")?),
            "regex" => Format::Regex(object.needed_text("pattern")?),
            "any_text" => {
                let max_chars = object.plain("max_chars", "a number of characters")?;
                let max_tokens = object.max_tokens()?;
                Format::AnyText { excludes: object.texts("excludes")?, max_chars, max_tokens }
            }
            "sequence" => Format::Sequence(self.all(object, "elements", depth)?),
            "or" => Format::Or(self.all(object, "elements", depth)?),
            "optional" => self.repeat(object, 0, Some(1), depth)?,
            "star" => self.repeat(object, 0, None, depth)?,
            "plus" => self.repeat(object, 1, None, depth)?,
            "repeat" => {
                let min: u32 = object.plain("min", "a number")?.unwrap_or(0);
                let max: i64 = object.plain("max", "a number, or -1")?.unwrap_or(-1);
                let max = match max {
                    -1 => None,
                    max => Some(u32::try_from(max).map_err(|_| {
                        malformed(
                            &below(&object.pointer, "max"),
                            format!("max is a number, or -1, not {max}"),
                        )
                    })?),
                };
                if let Some(max) = max.filter(|max| *max < min) {
                    let reason = format!("{min} to {max} times is never: max is below min");
                    return Err(malformed(&object.pointer, reason));
                }
                self.repeat(object, min, max, depth)?
            }
            "tag" => Format::Tag(Box::new(self.tag(object, depth)?)),
            "triggered_tags" => Format::Triggered {
                triggers: object.texts("triggers")?,
                excludes: object.texts("excludes")?,
                tags: self.tags(object, depth)?,
                flow: object.flow()?,
            },
            "tags_with_separator" => Format::Separated {
                separator: object.needed_text("separator")?,
                tags: self.tags(object, depth)?,
                flow: object.flow()?,
            },
            "dispatch" => {
                let rules = self.rules(object, depth, |pointer, value| {
                    serde_json::from_str(value.get())
                        .map_err(|_| malformed(pointer, format!("a pattern is a text, not {}", shown(value))))
                })?;
                Format::Dispatch {
                    rules,
                    excludes: object.texts("excludes")?,
                    is_loop: object.flag("loop", true)?,
                }
            }
            "token" => {
                let (pointer, value) = object.required("token")?;
                Format::Token(token(&pointer, &value)?)
            }
            "exclude_token" => Format::ExcludeToken(object.tokens("exclude_tokens")?),
            "any_tokens" => {
                let max_tokens = object.max_tokens()?;
                Format::AnyTokens { excludes: object.tokens("exclude_tokens")?, max_tokens }
            }
            "token_triggered_tags" => Format::TokenTriggered {
                triggers: object.tokens("trigger_tokens")?,
                excludes: object.tokens("exclude_tokens")?,
                tags: self.tags(object, depth)?,
                flow: object.flow()?,
            },
            "token_dispatch" => Format::TokenDispatch {
                rules: self.rules(object, depth, token)?,
                excludes: object.tokens("exclude_tokens")?,
                is_loop: object.flag("loop", true)?,
            },
            "qwen_xml_parameter" => {
                let (_, schema) = object.required("json_schema")?;
                let arguments = Arguments { style: Some(Style::Qwen), excludes: Vec::new() };
                let text = schema.get().to_owned();
                Format::Schema(Schema { text, arguments, any_order: false, max_whitespace: None })
            }
            other => {
                let reason = format!("there is no format of type {other:?}");
                return Err(malformed(&below(&object.pointer, "type"), reason));
            }
        })
    }

    fn all(&mut self, object: &mut Object, field: &str, depth: u32) -> Result<Vec<Placed>, CompileError> {
        let elements = object.list(field)?;
        elements.into_iter().map(|(pointer, value)| self.format(pointer, &value, depth + 1)).collect()
    }

    fn repeat(
        &mut self,
        object: &mut Object,
        min: u32,
        max: Option<u32>,
        depth: u32,
    ) -> Result<Format, CompileError> {
        let (pointer, value) = object.required("content")?;
        let content = Box::new(self.format(pointer, &value, depth + 1)?);
        Ok(Format::Repeat { content, min, max })
    }

    /// Pairs of a pattern and a format.
    fn rules<T>(
        &mut self,
        object: &mut Object,
        depth: u32,
        read: impl Fn(&str, &RawValue) -> Result<T, CompileError>,
    ) -> Result<Vec<(T, Placed)>, CompileError> {
        let mut rules = Vec::new();
        for (pointer, rule) in object.list("rules")? {
            let [(of, pattern), (at, format)] = <[_; 2]>::try_from(elements(&pointer, &rule)?)
                .map_err(|_| malformed(&pointer, "a rule is a list of a pattern and a format"))?;
            rules.push((read(&of, &pattern)?, self.format(at, &format, depth + 1)?));
        }
        Ok(rules)
    }

    fn tags(&mut self, object: &mut Object, depth: u32) -> Result<Vec<Tag>, CompileError> {
        let mut tags = Vec::new();
        for (pointer, value) in object.list("tags")? {
            self.count(&pointer, &value)?;
            let mut tag = Object::of(&pointer, &value)?;
            if let Some(kind) = tag.text("type")?.filter(|kind| kind != "tag") {
                return Err(malformed(&below(&pointer, "type"), format!("a tag is expected, not {kind}")));
            }
            tags.push(self.tag(&mut tag, depth + 1)?);
            tag.finish()?;
        }
        Ok(tags)
    }

    fn tag(&mut self, object: &mut Object, depth: u32) -> Result<Tag, CompileError> {
        let pointer = object.pointer.clone();
        let (begin_at, begin) = object.required("begin")?;
        let begin = match serde_json::from_str::<String>(begin.get()) {
            Ok(text) => Begin::Text(text),
            Err(_) => Begin::Token(token_format(&begin_at, &begin)?),
        };
        let (content_at, content) = object.required("content")?;
        let content = self.format(content_at, &content, depth + 1)?;
        let (end_at, end) = object.required("end")?;
        let end = if let Ok(text) = serde_json::from_str::<String>(end.get()) {
            End::Texts(vec![text])
        } else if let Ok(texts) = serde_json::from_str::<Vec<String>>(end.get()) {
            if texts.is_empty() {
                return Err(malformed(&end_at, "a tag without an end: the list is empty"));
            }
            End::Texts(texts)
        } else {
            End::Token(token_format(&end_at, &end)?)
        };
        Ok(Tag { pointer, begin, content, end })
    }

    /// The older form: `structures` of a begin, a schema and an end, and `triggers`.
    fn older(&mut self, object: &mut Object) -> Result<Placed, CompileError> {
        let mut tags = Vec::new();
        for (pointer, value) in object.list("structures")? {
            self.count(&pointer, &value)?;
            let mut structure = Object::of(&pointer, &value)?;
            let begin = Begin::Text(structure.needed_text("begin")?);
            let (at, schema) = structure.required("schema")?;
            // A schema may be given as its text.
            let text =
                serde_json::from_str::<String>(schema.get()).unwrap_or_else(|_| schema.get().to_owned());
            let format = Format::Schema(Schema { text, ..Schema::default() });
            let end = End::Texts(vec![structure.needed_text("end")?]);
            structure.finish()?;
            tags.push(Tag { pointer, begin, content: Placed { pointer: at, format }, end });
        }
        // SGLang says here how many tags there are.
        let (triggers, flow) = (object.texts("triggers")?, object.flow()?);
        let format = Format::Triggered { triggers, excludes: Vec::new(), tags, flow };
        Ok(Placed { pointer: object.pointer.clone(), format })
    }
}
