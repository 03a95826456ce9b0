//! What to do next where a schema is refused, in the words of the command line and of the proto.

/// Where the options would let a construct pass.
pub(crate) const ALLOW_WIDENING: &str = "Allow widening (--allow-widening, the field allow_widening) to let it pass; the report then says what is not enforced.";

/// Where `uniqueItems` is refused.
pub(crate) const UNIQUE_ITEMS: &str = "Allow widening (--allow-widening, the field allow_widening) to let repeated items pass, which the report then says; or \
     list the values of the items in an enum of at most 12.";

/// Where a format is refused that nothing enforces.
pub(crate) const NO_FORMAT: &str = "Leave the format out, write a pattern in its place, take formats as remarks (--format annotate, the field format), or allow \
     widening (--allow-widening, the field allow_widening) to let any text pass.";

/// Where `multipleOf` is refused.
pub(crate) const MULTIPLE_OF: &str = "Use a divisor of fewer digits, list the values in an enum, or leave multipleOf out and check it afterwards.";

/// Where `unevaluatedProperties` or `unevaluatedItems` is refused.
pub(crate) const UNEVALUATED: &str =
    "Name the properties or items in one schema, with additionalProperties, items or maxItems beside them.";

/// Where properties with other names may be repeated.
pub(crate) const REPEATED_NAMES: &str = "Name the properties in properties, or set additionalProperties to false (--closed, the field closed, for all objects).";

/// Where objects have too many names for any order.
pub(crate) const ANY_ORDER: &str = "Use the declared order (--order declared, the field order).";
