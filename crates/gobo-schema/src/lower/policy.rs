//! The policy of a compile: which of the texts of a value are allowed.

use gobo_types::{Draft, Notation, PropertyOrder, SchemaOptions, Spelling, Whitespace};

use crate::read::value::Json;
use crate::text::numbers::NumberTexts;
use crate::text::values::Values;
use gobo_automata::{Expr, RuleId};
use gobo_grammar::json::layout::Layout;

/// The options, and how they write known values.
pub(crate) struct Policy<'a> {
    pub(crate) options: &'a SchemaOptions,
    pub(crate) values: Values,
    /// Whether the texts stand within others: then no whitespace stands around them, and names that the schema neither names nor
    /// constrains are spelled in any way, as strings are.
    pub(crate) is_embedded: bool,
    /// Phrases that stand in no string and in no name.
    pub(crate) excludes: Vec<String>,
}

impl<'a> Policy<'a> {
    /// The policy of a schema of a draft, whose texts may stand within others. In draft 4, integers have no decimal point. `add` adds a rule of whitespace, if the policy
    /// counts it, that is to be called.
    pub(crate) fn new(
        (options, is_embedded): (&'a SchemaOptions, bool),
        draft: Draft,
        add: impl FnMut(&str, Expr) -> RuleId,
    ) -> Self {
        let layout = Layout::new(options.whitespace, add);
        let numbers = NumberTexts { form: options.numbers, is_digits_alone: draft == Draft::Draft4 };
        Self {
            options,
            values: Values { layout, spelling: options.spelling, numbers },
            is_embedded,
            excludes: Vec::new(),
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.values.layout
    }

    pub(crate) fn spelling(&self) -> Spelling {
        self.options.spelling
    }

    /// How names are spelled that the schema neither names nor constrains.
    pub(crate) fn free_names(&self) -> Spelling {
        if self.is_embedded { Spelling::Any } else { self.spelling() }
    }

    /// Whether named properties stand in the order of the schema.
    pub(crate) fn is_ordered(&self) -> bool {
        self.options.order == PropertyOrder::Declared
    }

    /// Whether no excluded phrase stands in a string or a name.
    pub(crate) fn allows_text(&self, text: &str) -> bool {
        !self.excludes.iter().any(|phrase| text.contains(phrase.as_str()))
    }

    /// Whether no excluded phrase stands in a value.
    pub(crate) fn allows(&self, value: &Json) -> bool {
        match value {
            Json::Null | Json::Bool(_) | Json::Number(_) => true,
            Json::String(text) => self.allows_text(text),
            Json::Array(items) => items.iter().all(|item| self.allows(item)),
            Json::Object(properties) => {
                properties.iter().all(|(name, value)| self.allows_text(name) && self.allows(value))
            }
        }
    }

    /// Maximum nesting depth of a value, if there is one.
    pub(crate) fn max_depth(&self) -> Option<u32> {
        let indented = match self.options.whitespace {
            _ if self.options.notation == Notation::Yaml => Some(Whitespace::MAX_INDENTED_DEPTH),
            Whitespace::Indent { .. } => Some(Whitespace::MAX_INDENTED_DEPTH),
            _ => None,
        };
        self.options.max_depth.into_iter().chain(indented).min()
    }
}
