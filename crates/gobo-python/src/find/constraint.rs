//! Constraints: the texts of a pattern, a list, a grammar, JSON, a schema, or a constructor call.

use std::borrow::Cow;
use std::sync::Arc;

use gobo_types::{
    Constraint, ConstraintDigest, DEFAULT_START, Dialect, Draft, GrammarDocument, Indentation, JsonNesting,
    Lexer, MatchMode, NumberForm, RegexDialect, SchemaDocument, SchemaOptions, SpecialText, TextStart,
    Tokenization, Whitespace,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyMapping, PyString, PyType};

use super::schemas;
use crate::arguments::{Count, Text, utf8, word};
use crate::errors::invalid;

/// A rule that texts have to obey, and every option that can change which texts those are.
///
/// Made by one of the static methods. Two constraints are equal if their digests are. Pickles.
#[pyclass(frozen, module = "gobo_masks", name = "Constraint")]
pub(crate) struct PyConstraint {
    pub(crate) constraint: Arc<Constraint>,
    /// Of the constraint: derived once.
    pub(super) digest: ConstraintDigest,
}

impl From<Constraint> for PyConstraint {
    fn from(constraint: Constraint) -> Self {
        Self { digest: constraint.digest(), constraint: Arc::new(constraint) }
    }
}

fn text_start(py: Python<'_>, word: &Text) -> PyResult<TextStart> {
    match word.0.as_str() {
        "exact" => Ok(TextStart::Exact),
        "strip_one_space" => Ok(TextStart::StripOneSpace),
        other => Err(invalid(py, format!("text_start: {other:?} is none of exact, strip_one_space"))),
    }
}

/// The text of a schema, from whatever states one.
fn schema_text<'a>(schema: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    let py = schema.py();
    if let Ok(text) = schema.cast::<PyString>() {
        return utf8(text).map(Cow::Borrowed);
    }
    if let Ok(bytes) = schema.cast::<PyBytes>() {
        let text = std::str::from_utf8(bytes.as_bytes());
        let wrong = |error| invalid(py, format!("the schema is no UTF-8: {error}"));
        return text.map(Cow::Borrowed).map_err(wrong);
    }
    if let Ok(is_all) = schema.cast::<PyBool>() {
        return Ok(Cow::Owned(is_all.is_true().to_string()));
    }
    let text = py.import("gobo_masks._schema")?.getattr("text")?.call1((schema,))?;
    Ok(Cow::Owned(text.extract::<Text>()?.0))
}

fn documents(given: Option<&Bound<'_, PyMapping>>) -> PyResult<Vec<SchemaDocument>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let mut documents = Vec::new();
    for item in given.items()?.iter() {
        let (uri, document) = item.extract::<(Text, Bound<'_, PyAny>)>()?;
        documents.push(SchemaDocument { uri: uri.0, document: schema_text(&document)?.into_owned() });
    }
    Ok(documents)
}

#[pymethods]
impl PyConstraint {
    /// The texts of the same constraint in which none of `phrases` stands, and beginnings of its texts that end with the first occurrence of
    /// one. Not for constraints that nest without end: their index is refused.
    fn stopping(&self, py: Python<'_>, phrases: Vec<Text>) -> Self {
        let stop = phrases.into_iter().map(|text| text.0).collect();
        let constraint = self.constraint.as_ref().clone();
        py.detach(|| Self::from(constraint.stopping(stop)))
    }

    /// The same constraint, in which classes of tokens have names: `{"IMAGE": {"begin": [7], "fill": [[100, 199]], "min": 1, "max": 64, "end": [8]}}`.
    /// `(?P<IMAGE>)` in a regular expression and `<class:IMAGE>` in a grammar is one token that begins it, so many that fill it, and one that ends
    /// it; a part without ids is left out. An id is a number, and a range a list of two.
    fn naming(&self, py: Python<'_>, classes: &Bound<'_, PyMapping>) -> PyResult<Self> {
        let text = schema_text(classes.as_any())?;
        let classes =
            serde_json::from_str(&text).map_err(|error| invalid(py, format!("token classes: {error}")))?;
        Ok(self.constraint.as_ref().clone().naming(classes).into())
    }

    /// The same texts, cut into tokens in `any` way, or only as the tokenizer itself cuts them (`canonical`), where a chunk begins with the text. The
    /// index is refused where it is not known how the tokenizer cuts, and for constraints that nest without end and are ambiguous or count characters.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come by value")]
    fn cut(&self, py: Python<'_>, tokenization: Text) -> PyResult<Self> {
        let tokenization = word::<Tokenization>(py, "tokenization", &tokenization)?;
        Ok(self.constraint.as_ref().clone().cut(tokenization).into())
    }

    /// A regular expression that the whole text must match, or with `search` some part of it.
    ///
    /// The syntax is that of Rust's `regex` with Unicode on (`\d` is any Unicode digit, `.` takes no line end), with look-around and named
    /// extensions such as `(?P<QUOTED_TEXT>)`; or that of `dialect`: `ecma` or `python`. There is no back reference. All patterns of
    /// `and_` must match as well, and none of `not_`. `text_start` is `exact` for text after a prompt, or `strip_one_space` for
    /// decoders that drop one leading space.
    #[staticmethod]
    #[pyo3(signature = (pattern, *, search = false, dialect = Text("rust".into()), and_ = Vec::new(), not_ = Vec::new(), text_start = Text("exact".into())), text_signature = "(pattern, *, search=False, dialect='rust', and_=(), not_=(), text_start='exact')")]
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come by value")]
    fn regex(
        py: Python<'_>,
        pattern: Text,
        search: bool,
        dialect: Text,
        and_: Vec<Text>,
        not_: Vec<Text>,
        text_start: Text,
    ) -> PyResult<Self> {
        let mode = if search { MatchMode::Search } else { MatchMode::Full };
        let dialect = word::<RegexDialect>(py, "dialect", &dialect)?;
        let [and, not] = [and_, not_].map(|of| of.into_iter().map(|text| text.0).collect());
        let constraint = Constraint::regex_with(pattern.0, mode, dialect, and, not);
        Ok(constraint.starting(self::text_start(py, &text_start)?).into())
    }

    /// One of `items`, a list of texts. Order and repetitions do not matter.
    #[staticmethod]
    #[pyo3(signature = (items, *, text_start = Text("exact".into())), text_signature = "(items, *, text_start='exact')")]
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come by value")]
    fn choice(items: &Bound<'_, PyAny>, text_start: Text) -> PyResult<Self> {
        let py = items.py();
        if items.is_instance_of::<PyString>() {
            return Err(invalid(py, "a choice is a list of texts, not one text"));
        }
        let items = items.try_iter()?.map(|item| Ok(item?.extract::<Text>()?.0));
        let items = items.collect::<PyResult<Vec<String>>>()?;
        Ok(Constraint::choice(items).starting(self::text_start(py, &text_start)?).into())
    }

    /// Any JSON value. `whitespace` is `compact`, `single` (at most one space after a comma or colon), `lines` (in each place one
    /// space at most, or a line end and an indentation), `flexible:N` (up to N whitespace characters wherever JSON allows them, N
    /// from 1 to 64) or `indent:N`. `numbers` is `plain`, as programs write and read them, or `json`, with all that JSON has.
    ///
    /// With `max_objects` and `max_arrays`, given together, at most so many objects and arrays stand around a value (up to 16 each), and the
    /// index needs no stack.
    #[staticmethod]
    #[pyo3(signature = (*, whitespace = Text("single".into()), numbers = Text("plain".into()), max_objects = None, max_arrays = None, text_start = Text("exact".into())), text_signature = "(*, whitespace='single', numbers='plain', max_objects=None, max_arrays=None, text_start='exact')")]
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come by value")]
    fn json(
        py: Python<'_>,
        whitespace: Text,
        numbers: Text,
        max_objects: Option<Count>,
        max_arrays: Option<Count>,
        text_start: Text,
    ) -> PyResult<Self> {
        let nesting = match [&max_objects, &max_arrays]
            .map(|of| of.as_ref().map(|of| u8::try_from(of.0).unwrap_or(u8::MAX)))
        {
            [None, None] => None,
            [Some(objects), Some(arrays)] => Some(
                JsonNesting::new(objects, arrays)
                    .ok_or_else(|| invalid(py, "max_objects and max_arrays are at most 16"))?,
            ),
            _ => return Err(invalid(py, "max_objects and max_arrays are given together")),
        };
        let whitespace = word::<Whitespace>(py, "whitespace", &whitespace)?;
        let numbers = word::<NumberForm>(py, "numbers", &numbers)?;
        let json = Constraint::json_with(whitespace, numbers).nested(nesting);
        Ok(json.starting(self::text_start(py, &text_start)?).into())
    }

    /// The JSON texts of the values that a JSON Schema allows. The schema is a text, bytes, a bool, a mapping (the order of its
    /// keys is the order of properties), a Pydantic model, a dataclass or a `TypedDict`.
    ///
    /// - `draft`: `draft4`, `draft6`, `draft7`, `draft2019-09` or `draft2020-12`, for schemas without `$schema`.
    /// - `dialect`: `json-schema`, or `openapi-3.0`, whose `nullable` counts, and which is draft 4 unless `draft` says otherwise.
    /// - `order`: properties come as `declared`, or in `any` order (at most 10 names).
    /// - `whitespace`: as for `json`.
    /// - `spelling`: characters are spelled in their `canonical` (shortest) form, or in `any`.
    /// - `notation`: values are written as `json`, or as `yaml` in block style, one text for each.
    /// - `numbers`: as for `json`.
    /// - `format`: is an `assert`ion, or an `annotate`ion that constrains nothing.
    /// - `date_times`: `date-time` and `time` are those of `rfc3339`, with an offset, or `naive` ones too.
    /// - `closed`: objects have no other members than those declared, unless the schema says so.
    /// - `max_depth`: greatest nesting depth, at most 64.
    /// - `documents`: texts of other schemas by their address, for references.
    /// - `allow_widening`: keywords that cannot be enforced are ignored and reported, and not refused.
    ///
    /// O(length): some microseconds for each KiB. A text that was given before with the same options, as another object too, is
    /// compared and not read again; up to 512 texts of at most 64 KiB, without documents, are remembered.
    #[staticmethod]
    #[pyo3(
        signature = (schema, *, draft = None, dialect = Text("json-schema".into()), order = Text("declared".into()), notation = Text("json".into()), whitespace = Text("single".into()), spelling = Text("canonical".into()), numbers = Text("plain".into()), format = Text("assert".into()), date_times = Text("rfc3339".into()), closed = false, max_depth = None, documents = None, allow_widening = false, text_start = Text("exact".into())),
        text_signature = "(schema, *, draft=None, dialect='json-schema', order='declared', notation='json', whitespace='single', spelling='canonical', numbers='plain', format='assert', date_times='rfc3339', closed=False, max_depth=None, documents=None, allow_widening=False, text_start='exact')"
    )]
    #[expect(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "keywords of Python")]
    fn schema(
        schema: &Bound<'_, PyAny>,
        draft: Option<Text>,
        dialect: Text,
        order: Text,
        notation: Text,
        whitespace: Text,
        spelling: Text,
        numbers: Text,
        format: Text,
        date_times: Text,
        closed: bool,
        max_depth: Option<Count>,
        documents: Option<&Bound<'_, PyMapping>>,
        allow_widening: bool,
        text_start: Text,
    ) -> PyResult<Self> {
        let py = schema.py();
        let max_depth = max_depth.map(|depth| {
            let most = SchemaOptions::MAX_DEPTH;
            let within = u32::try_from(depth.0).ok().filter(|depth| *depth <= most);
            within.ok_or_else(|| invalid(py, format!("max_depth: {} is more than {most}", depth.0)))
        });
        let options = SchemaOptions {
            draft: draft.map(|draft| word::<Draft>(py, "draft", &draft)).transpose()?,
            dialect: word(py, "dialect", &dialect)?,
            order: word(py, "order", &order)?,
            notation: word(py, "notation", &notation)?,
            whitespace: word(py, "whitespace", &whitespace)?,
            spelling: word(py, "spelling", &spelling)?,
            numbers: word(py, "numbers", &numbers)?,
            format: word(py, "format", &format)?,
            date_times: word(py, "date_times", &date_times)?,
            closed,
            max_depth: max_depth.transpose()?,
            documents: self::documents(documents)?,
            allow_widening,
        };
        let text_start = self::text_start(py, &text_start)?;
        let text = schema_text(schema)?;
        if schemas::is_remembered(&text, &options) {
            let (constraint, digest) = schemas::read(&text, options, text_start);
            return Ok(Self { constraint, digest });
        }
        // Megabytes of schema are read by other threads' leave.
        Ok(py.detach(|| Self::from(Constraint::schema(&text, options).starting(text_start))))
    }

    /// The texts of a structural tag, as engines send them for calls of tools: its JSON text, or a mapping, with `type` and `format` or the
    /// format alone.
    ///
    /// - `special_text`: strings that are texts of special tokens are written by the `token`, `spelled` by others, or `both`.
    /// - `whitespace`, `numbers`, `order`: as for `schema`, of all schemas in it.
    /// - `open`: objects may have other members than those declared, as the standard says.
    #[staticmethod]
    #[pyo3(
        signature = (format, *, special_text = Text("both".into()), order = Text("declared".into()), whitespace = Text("single".into()), numbers = Text("plain".into()), open = false, text_start = Text("exact".into())),
        text_signature = "(format, *, special_text='both', order='declared', whitespace='single', numbers='plain', open=False, text_start='exact')"
    )]
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come by value")]
    fn structural_tag(
        format: &Bound<'_, PyAny>,
        special_text: Text,
        order: Text,
        whitespace: Text,
        numbers: Text,
        open: bool,
        text_start: Text,
    ) -> PyResult<Self> {
        let py = format.py();
        let options = SchemaOptions {
            order: word(py, "order", &order)?,
            whitespace: word(py, "whitespace", &whitespace)?,
            numbers: word(py, "numbers", &numbers)?,
            closed: !open,
            ..SchemaOptions::of_tags()
        };
        let special_text = word::<SpecialText>(py, "special_text", &special_text)?;
        let text_start = self::text_start(py, &text_start)?;
        let text = schema_text(format)?;
        Ok(py.detach(|| Self::from(Constraint::tag(&text, special_text, options).starting(text_start))))
    }

    /// The texts of a grammar in llama.cpp's GBNF, from its rule `start`.
    #[staticmethod]
    #[pyo3(signature = (grammar, *, start = Text(DEFAULT_START.into()), text_start = Text("exact".into())), text_signature = "(grammar, *, start='root', text_start='exact')")]
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come by value")]
    fn gbnf(py: Python<'_>, grammar: Text, start: Text, text_start: Text) -> PyResult<Self> {
        let text_start = self::text_start(py, &text_start)?;
        Ok(Constraint::gbnf(grammar.0, start.0).starting(text_start).into())
    }

    /// The texts of a grammar, from its rule `start`.
    ///
    /// - `dialect`: `gbnf` (llama.cpp's), `ebnf` (`XGrammar`'s and transformers-CFG's) or `lark` (Lark's and llguidance's).
    /// - `start`: the rule of whole texts; `root`, and in Lark `start`, where none is given.
    /// - `lexer`: for Lark `contextual` (the default) or `basic`, as Lark's lexers of these names, with a look-ahead of 1 to 16 characters
    ///   as in `basic:4`; `longest` (the default of grammars with what only llguidance has), as llguidance splits texts; or `none`: a
    ///   terminal stands for each of its texts, and ignored text may stand between terminals.
    /// - `indent_by`, `indent_depth`: in grammars in Lark that declare `_INDENT` and `_DEDENT`, by how many blanks lines are indented for each
    ///   level (4, at most 16), and up to how many levels (16, at most 32). Texts with other lines are left out.
    /// - `documents`: texts of the grammars that it imports, by the path of the import: `lib/words` for `%import lib.words.NAME`.
    #[staticmethod]
    #[pyo3(
        signature = (grammar, *, dialect, start = None, lexer = None, indent_by = None, indent_depth = None, documents = None, text_start = Text("exact".into())),
        text_signature = "(grammar, *, dialect, start=None, lexer=None, indent_by=None, indent_depth=None, documents=None, text_start='exact')"
    )]
    #[expect(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "keywords of Python")]
    fn grammar(
        py: Python<'_>,
        grammar: Text,
        dialect: Text,
        start: Option<Text>,
        lexer: Option<Text>,
        indent_by: Option<Count>,
        indent_depth: Option<Count>,
        documents: Option<&Bound<'_, PyMapping>>,
        text_start: Text,
    ) -> PyResult<Self> {
        let dialect = word::<Dialect>(py, "dialect", &dialect)?;
        let lexer = lexer.map(|lexer| word::<Lexer>(py, "lexer", &lexer)).transpose()?;
        let start = start.map_or_else(|| dialect.default_start().to_owned(), |start| start.0);
        let mut beside = Vec::new();
        let documents = documents.map(PyMappingMethods::items).transpose()?;
        for item in documents.into_iter().flatten() {
            let (name, text) = item.extract::<(Text, Text)>()?;
            beside.push(GrammarDocument { name: name.0, text: text.0 });
        }
        let text_start = self::text_start(py, &text_start)?;
        // What is above all bytes is out of bounds, too.
        let [by, depth] =
            [indent_by, indent_depth].map(|of| of.map(|of| u8::try_from(of.0).unwrap_or(u8::MAX)));
        let Some(indentation) = Indentation::default().overwritten(by, depth) else {
            return Err(invalid(py, "indent_by is from 1 to 16, and indent_depth from 1 to 32"));
        };
        let constraint = Constraint::grammar(dialect, grammar.0, start, lexer, beside).indented(indentation);
        Ok(constraint.starting(text_start).into())
    }

    /// Constructor calls of a dataclass, `Person(name="Ada", age=3)`: all its fields as keywords, in their order, with literals of
    /// their types. `name` is written instead of the name of the class. `parse_call` reads such a text.
    ///
    /// Annotations may be `str`, `int` (up to 640 digits), `float`, `bool`, `None`, `list`, `tuple` and `dict` of such, `Optional`,
    /// `Union`, `Literal`, enumerations, and other dataclasses. Others raise `InvalidError`.
    #[staticmethod]
    #[pyo3(signature = (cls, *, name = None, text_start = Text("exact".into())), text_signature = "(cls, *, name=None, text_start='exact')")]
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come by value")]
    fn call(cls: &Bound<'_, PyType>, name: Option<Text>, text_start: Text) -> PyResult<Self> {
        let py = cls.py();
        let grammar = py.import("gobo_masks._call")?.getattr("grammar")?;
        let grammar = grammar.call1((cls, name.map(|name| name.0)))?.extract::<Text>()?;
        let text_start = self::text_start(py, &text_start)?;
        Ok(Constraint::gbnf(grammar.0, DEFAULT_START).starting(text_start).into())
    }

    /// `regex`, `choice`, `json`, `schema`, `tag` or `grammar`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.constraint.kind()
    }

    /// The canonical text of the rule: the pattern, the items one per line, the grammar, the schema without whitespace.
    #[getter]
    fn text(&self) -> String {
        self.constraint.text()
    }

    /// The digest over the rule and all options, 64 hexadecimal digits.
    #[getter]
    fn digest(&self) -> String {
        self.digest.to_string()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().digest == self.digest)
    }

    fn __hash__(&self) -> u64 {
        self.digest.as_bytes().first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }

    fn __repr__(&self) -> String {
        let (text, mut shown) = (self.constraint.text(), String::new());
        shown.extend(text.chars().take(60));
        let more = if shown.len() < text.len() { "…" } else { "" };
        format!("<gobo_masks.Constraint {} {shown:?}{more}>", self.constraint.kind())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let stored =
            serde_json::to_string(&*self.constraint).map_err(|error| invalid(py, error.to_string()))?;
        Ok((py.import("gobo_masks._native")?.getattr("_constraint")?, (stored,)))
    }
}

/// A constraint from what its pickle holds.
#[pyfunction]
#[pyo3(name = "_constraint")]
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python come by value")]
pub(crate) fn restore(py: Python<'_>, stored: Text) -> PyResult<PyConstraint> {
    let constraint = serde_json::from_str::<Constraint>(&stored.0);
    constraint.map(PyConstraint::from).map_err(|error| invalid(py, format!("no pickled constraint: {error}")))
}
