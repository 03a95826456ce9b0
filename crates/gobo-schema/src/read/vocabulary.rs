//! The vocabulary of JSON Schema: which keywords hold subschemas, which say something about values, which are annotations,
//! and in which drafts and vocabularies they are.

use gobo_types::{Draft, SchemaDialect, SchemaOptions};

/// Steps of visiting a subschema: its keywords are looked up, and its location is copied.
pub(crate) const STEPS_PER_SCHEMA: u64 = 32;
/// Steps of a keyword that is looked up in a list.
pub(crate) const STEPS_PER_KEYWORD: u64 = 4;

/// Keywords whose value is a schema.
pub const SCHEMAS: [&str; 12] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contentSchema",
];
/// Keywords whose value is a list of schemas.
pub(crate) const LISTS: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords whose value is an object of schemas.
pub(crate) const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Keywords that take effect through other keywords or references alone.
pub(crate) const ANCILLARY: [&str; 10] = [
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$defs",
    "definitions",
    "then",
    "else",
    "$vocabulary",
];

/// A set of vocabularies of the standard (JSON Schema 2020-12, Core, section 4.3.1), one bit for each. A keyword of a
/// vocabulary that a meta-schema leaves out is unknown to its schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vocabularies(u8);

impl Vocabularies {
    /// Always in use.
    pub(crate) const CORE: Self = Self(1);
    pub(crate) const APPLICATOR: Self = Self(2);
    pub(crate) const UNEVALUATED: Self = Self(4);
    pub(crate) const VALIDATION: Self = Self(8);
    pub(crate) const FORMAT: Self = Self(16);
    pub(crate) const CONTENT: Self = Self(32);
    pub(crate) const META_DATA: Self = Self(64);
    /// All of the standard.
    pub(crate) const ALL: Self = Self(127);
    /// That of the Schema Object of `OpenAPI` 3.0: `nullable`.
    pub(crate) const OPENAPI: Self = Self(128);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The vocabularies that a URI in `$vocabulary` names.
    pub(crate) fn named(uri: &str) -> Option<Self> {
        let name = uri.strip_prefix("https://json-schema.org/draft/")?;
        Some(match name.split_once("/vocab/")? {
            ("2019-09" | "2020-12", "core") => Self::CORE,
            ("2019-09", "applicator") => Self::APPLICATOR.or(Self::UNEVALUATED),
            ("2020-12", "applicator") => Self::APPLICATOR,
            ("2020-12", "unevaluated") => Self::UNEVALUATED,
            ("2019-09" | "2020-12", "validation") => Self::VALIDATION,
            ("2019-09", "format") | ("2020-12", "format-annotation" | "format-assertion") => Self::FORMAT,
            ("2019-09" | "2020-12", "content") => Self::CONTENT,
            ("2019-09" | "2020-12", "meta-data") => Self::META_DATA,
            _ => return None,
        })
    }
}

/// What a resource is written in: a draft, and the vocabularies of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) draft: Draft,
    pub(crate) vocabularies: Vocabularies,
}

impl Dialect {
    /// A draft with all its vocabularies.
    pub(crate) fn of(draft: Draft) -> Self {
        Self { draft, vocabularies: Vocabularies::ALL }
    }

    /// The dialect of schemas that name none, as the options say.
    pub(crate) fn by_default(options: &SchemaOptions) -> Self {
        match options.dialect {
            SchemaDialect::JsonSchema => Self::of(options.draft.unwrap_or(Draft::Draft202012)),
            SchemaDialect::OpenApi30 => {
                let vocabularies = Vocabularies::ALL.or(Vocabularies::OPENAPI);
                Self { draft: options.draft.unwrap_or(Draft::Draft4), vocabularies }
            }
        }
    }

    /// Whether a word is a keyword of it.
    pub(crate) fn has(self, keyword: &str) -> bool {
        self.word(keyword).is_some_and(|word| self.vocabularies.has(word.vocabulary))
    }

    /// The keyword in its draft.
    pub(crate) fn word(self, keyword: &str) -> Option<&'static Word> {
        let is_in =
            |word: &&Word| word.name == keyword && word.since <= self.draft && self.draft <= word.until;
        WORDS.iter().find(is_in)
    }

    /// Whether siblings of `$ref` are ignored.
    pub(crate) fn ignores_siblings(self) -> bool {
        self.draft <= Draft::Draft7
    }

    /// The keywords of it.
    pub(crate) fn words(self) -> impl Iterator<Item = &'static Word> {
        WORDS.iter().filter(move |word| self.has(word.name))
    }
}

/// Whether a word is a keyword that says something about values, or refers to what does, in some draft.
pub(crate) fn says_something(word: &str) -> bool {
    WORDS.iter().any(|known| known.name == word && !known.is_annotation)
}

/// Whether a word is a keyword that describes (JSON Schema 2020-12, Validation, section 9) or remarks.
pub(crate) fn is_remark(word: &str) -> bool {
    WORDS
        .iter()
        .any(|known| known.name == word && known.is_annotation && known.vocabulary != Vocabularies::CONTENT)
}

/// Whether a word is a keyword in some draft.
pub(crate) fn is_known(word: &str) -> bool {
    WORDS.iter().any(|known| known.name == word)
}

/// A keyword of the standard.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    /// The first draft that has it.
    since: Draft,
    /// The last one.
    until: Draft,
    pub(crate) vocabulary: Vocabularies,
    /// Whether it says nothing about values, and refers to nothing that does.
    pub(crate) is_annotation: bool,
}

const fn word(name: &'static str, vocabulary: Vocabularies) -> Word {
    Word { name, since: Draft::Draft4, until: Draft::Draft202012, vocabulary, is_annotation: false }
}

const fn remark(name: &'static str, vocabulary: Vocabularies) -> Word {
    Word { is_annotation: true, ..word(name, vocabulary) }
}

impl Word {
    const fn since(mut self, draft: Draft) -> Self {
        self.since = draft;
        self
    }

    const fn until(mut self, draft: Draft) -> Self {
        self.until = draft;
        self
    }
}

/// The keywords of all drafts. `dependencies` and `definitions` are kept by later drafts for compatibility.
static WORDS: [Word; 64] = {
    use Draft::{Draft4, Draft6, Draft7, Draft201909, Draft202012};
    const CORE: Vocabularies = Vocabularies::CORE;
    const APPLICATOR: Vocabularies = Vocabularies::APPLICATOR;
    const UNEVALUATED: Vocabularies = Vocabularies::UNEVALUATED;
    const VALIDATION: Vocabularies = Vocabularies::VALIDATION;
    const META_DATA: Vocabularies = Vocabularies::META_DATA;
    const CONTENT: Vocabularies = Vocabularies::CONTENT;
    [
        word("$ref", CORE),
        word("$dynamicRef", CORE).since(Draft202012),
        word("$recursiveRef", CORE).since(Draft201909).until(Draft201909),
        word("$schema", CORE),
        word("$id", CORE).since(Draft6),
        word("id", CORE).until(Draft4),
        word("$anchor", CORE).since(Draft201909),
        word("$dynamicAnchor", CORE).since(Draft202012),
        word("$recursiveAnchor", CORE).since(Draft201909).until(Draft201909),
        word("$vocabulary", CORE).since(Draft201909),
        word("$defs", CORE),
        word("definitions", CORE),
        remark("$comment", CORE),
        word("allOf", APPLICATOR),
        word("anyOf", APPLICATOR),
        word("oneOf", APPLICATOR),
        word("not", APPLICATOR),
        word("if", APPLICATOR).since(Draft7),
        word("then", APPLICATOR).since(Draft7),
        word("else", APPLICATOR).since(Draft7),
        word("properties", APPLICATOR),
        word("patternProperties", APPLICATOR),
        word("additionalProperties", APPLICATOR),
        word("propertyNames", APPLICATOR).since(Draft6),
        word("dependencies", APPLICATOR),
        word("dependentSchemas", APPLICATOR).since(Draft201909),
        word("items", APPLICATOR),
        word("prefixItems", APPLICATOR),
        word("additionalItems", APPLICATOR),
        word("contains", APPLICATOR).since(Draft6),
        word("unevaluatedProperties", UNEVALUATED).since(Draft201909),
        word("unevaluatedItems", UNEVALUATED).since(Draft201909),
        word("type", VALIDATION),
        word("enum", VALIDATION),
        word("const", VALIDATION).since(Draft6),
        word("minimum", VALIDATION),
        word("maximum", VALIDATION),
        word("exclusiveMinimum", VALIDATION),
        word("exclusiveMaximum", VALIDATION),
        word("multipleOf", VALIDATION),
        word("minLength", VALIDATION),
        word("maxLength", VALIDATION),
        word("pattern", VALIDATION),
        word("required", VALIDATION),
        word("minProperties", VALIDATION),
        word("maxProperties", VALIDATION),
        word("dependentRequired", VALIDATION).since(Draft201909),
        word("minItems", VALIDATION),
        word("maxItems", VALIDATION),
        word("minContains", VALIDATION).since(Draft201909),
        word("maxContains", VALIDATION).since(Draft201909),
        word("uniqueItems", VALIDATION),
        word("format", Vocabularies::FORMAT),
        word("nullable", Vocabularies::OPENAPI),
        remark("title", META_DATA),
        remark("description", META_DATA),
        remark("default", META_DATA),
        remark("examples", META_DATA),
        remark("readOnly", META_DATA),
        remark("writeOnly", META_DATA),
        remark("deprecated", META_DATA),
        remark("contentEncoding", CONTENT),
        remark("contentMediaType", CONTENT),
        remark("contentSchema", CONTENT),
    ]
};
