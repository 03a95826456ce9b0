//! The vocabulary of JSON Schema: which keywords hold subschemas, which say something about values, which are annotations.

/// Steps of visiting a subschema: its keywords are looked up, and its location is copied.
pub(crate) const STEPS_PER_SCHEMA: u64 = 32;
/// Steps of a keyword that is looked up in a list.
pub(crate) const STEPS_PER_KEYWORD: u64 = 4;

/// Keywords whose value is a schema.
pub(crate) const SCHEMAS: [&str; 12] = [
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

/// Annotations (JSON Schema 2020-12, Validation, section 9): they say nothing about values.
pub(crate) const ANNOTATIONS: [&str; 9] = [
    "title",
    "description",
    "default",
    "examples",
    "readOnly",
    "writeOnly",
    "deprecated",
    "$comment",
    "$schema",
];
/// Keywords that say something about values in some draft.
pub(crate) const KEYWORDS: [&str; 50] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "$schema",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "properties",
    "patternProperties",
    "additionalProperties",
    "required",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "items",
    "prefixItems",
    "additionalItems",
    "minItems",
    "maxItems",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$defs",
    "definitions",
    "contentSchema",
];
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
