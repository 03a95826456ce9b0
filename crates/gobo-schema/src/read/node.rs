//! Nodes: the normalised form of subschemas.
//!
//! A node is a list of [`Keyword`]s, all of which a value has to satisfy. Spellings that mean the same become one
//! keyword: `const` is an `enum` of one value, `$ref` an `allOf` of one subschema, `exclusiveMinimum: true` of draft 4
//! the exclusive bound of later drafts. Keywords that act together (`properties`, `patternProperties` and
//! `additionalProperties`; `prefixItems` and `items`) are one keyword too, as JSON Schema 2020-12, Core, sections
//! 10.3.1 and 10.3.2, defines them by one another.

use std::fmt;
use std::rc::Rc;

use foldhash::HashMap;
use gobo_types::dense_id;

use crate::read::decimal::{Decimal, Modulus};
use crate::read::value::{Json, ValueSet};

dense_id! {
    /// Identifies a subschema.
    pub(crate) struct NodeId;

    /// Identifies a set of strings: that of a `pattern` or a `format`.
    pub(crate) struct TextId;
}

/// The schema that every value satisfies.
pub(crate) const TRUE: NodeId = NodeId(0);
/// The schema that no value satisfies.
pub(crate) const FALSE: NodeId = NodeId(1);

impl NodeId {
    /// The constant that it is, if it is one.
    pub(crate) fn constant(self) -> Option<bool> {
        match self {
            TRUE => Some(true),
            FALSE => Some(false),
            _ => None,
        }
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of JSON types, one bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Types(pub(crate) u8);

impl Types {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOL: Self = Self(2);
    pub(crate) const NUMBER: Self = Self(4);
    pub(crate) const STRING: Self = Self(8);
    pub(crate) const ARRAY: Self = Self(16);
    pub(crate) const OBJECT: Self = Self(32);
    /// Integers alone; no other bit includes it.
    pub(crate) const INTEGER: Self = Self(64);
    pub(crate) const ALL: Self = Self(63);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) const fn but(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The type of a value.
    pub(crate) fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOL,
            Json::Number(_) => Self::NUMBER,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }
}

/// A normalised keyword: the demand of one keyword of a subschema, or of several that act together.
#[derive(Debug, Clone)]
pub(crate) enum Keyword {
    Types {
        types: Types,
        /// Draft 4: a number with a decimal point is no integer, even if its fraction is zero.
        plain_integers: bool,
    },
    /// `enum`, `const`.
    Values(Rc<ValueSet>),
    /// `minimum`, `maximum` and their exclusive forms.
    Bound {
        limit: Decimal,
        is_lower: bool,
        is_exclusive: bool,
    },
    MultipleOf(Modulus),
    /// `minLength`, `maxLength`, in characters.
    Length {
        min: u64,
        max: Option<u64>,
    },
    /// `pattern`, `format`.
    Text(TextId),
    /// `properties`, `patternProperties`, `additionalProperties`, which act together.
    Properties(Rc<Properties>),
    Required(Rc<[String]>),
    /// `propertyNames`: every name is a string that satisfies the subschema.
    PropertyNames(NodeId),
    PropertyCount {
        min: u64,
        max: Option<u64>,
    },
    /// `dependentRequired`, `dependentSchemas`: a property of that name requires others and a further subschema.
    Dependent {
        name: String,
        required: Rc<[String]>,
        schema: NodeId,
    },
    Items {
        prefix: Rc<[NodeId]>,
        rest: NodeId,
        /// Whether the schema states what items after the prefix satisfy.
        says_rest: bool,
    },
    ItemCount {
        min: u64,
        max: Option<u64>,
    },
    Contains {
        item: NodeId,
        min: u64,
        max: Option<u64>,
        /// Draft 2020-12: matching items count as evaluated.
        evaluates: bool,
    },
    /// `uniqueItems`.
    Unique,
    AllOf(Rc<[NodeId]>),
    AnyOf(Rc<[NodeId]>),
    OneOf(Rc<[NodeId]>),
    Not(NodeId),
    If {
        condition: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
    UnevaluatedProperties(NodeId),
    UnevaluatedItems(NodeId),
}

/// `properties`, `patternProperties`, `additionalProperties` of one schema.
#[derive(Debug)]
pub(crate) struct Properties {
    pub(crate) named: Vec<(String, NodeId)>,
    /// `[named]` by name.
    pub(crate) index: HashMap<String, usize>,
    pub(crate) patterns: Vec<(TextId, NodeId)>,
    pub(crate) additional: NodeId,
    /// Whether the schema states `additionalProperties`.
    pub(crate) says_additional: bool,
}

impl Properties {
    /// The schema that `properties` gives to a name.
    pub(crate) fn property(&self, name: &str) -> Option<NodeId> {
        self.index.get(name).map(|&at| self.named[at].1)
    }

    /// The schemas that apply to the value of a property; `matches` tells which patterns its name matches.
    pub(crate) fn schemas_of(&self, name: &str, matches: impl Fn(TextId) -> bool) -> Vec<NodeId> {
        let patterns = self.patterns.iter().filter(|(text, _)| matches(*text)).map(|(_, schema)| *schema);
        let mut schemas: Vec<NodeId> = self.property(name).into_iter().chain(patterns).collect();
        if schemas.is_empty() {
            schemas.push(self.additional);
        }
        schemas
    }
}
