"""Constraints of all kinds, each with a judge that knows nothing of gobo. All have short texts, so that a random model ends them."""

import json
import re

import jsonschema

from gobo_masks import Constraint

REGEXES = [
    "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "(0[1-9]|1[0-2])/([0-2][0-9]|3[01])",
    "[a-f0-9]{8}-[a-f0-9]{4}",
    "#[0-9A-F]{6}",
    "(red|green|blue)( and (red|green|blue)){0,2}",
    "[A-Z][a-z]{2,8}(-[A-Z][a-z]{2,8})?",
    "[+-]?[0-9]{1,3}(\\.[0-9]{1,2})?",
    "([01][0-9]|2[0-3]):[0-5][0-9]",
    "(GET|POST|PUT) /[a-z]{1,6}(/[0-9]{1,3})?",
    "[äöüß]{1,4}|[日本語]{2,3}",
    "(a|ab|abc){1,3}c?",
    "[^\\s\"'<>]{3,6}",
]

CHOICES = [
    ["yes", "no"],
    ["red", "green", "blue", "reddish", "re"],
    ["New York", "São Paulo", "東京", "Zürich"],
    [" leading", "trailing ", "in  side", "\ttab", "line\nend"],
    ["a" * length for length in range(1, 20, 3)],
]

SCHEMAS = [
    {"type": "boolean"},
    {"enum": ["red", 1, None, {"a": [1, 2]}]},
    {"const": {"deep": [{"er": "value"}]}},
    {"type": "string", "minLength": 1, "maxLength": 6},
    {"type": "string", "pattern": "^[a-z]{2}-[0-9]{2}$"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "ipv4"},
    {"type": "string", "format": "uuid"},
    {"type": "integer", "minimum": 10, "maximum": 99},
    {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 1, "maxItems": 3},
    {"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "null"}], "items": False, "minItems": 2},
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 4}, "ok": {"type": "boolean"}},
        "required": ["name", "ok"],
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "note": {"type": "string", "maxLength": 3}},
        "required": ["kind"],
        "additionalProperties": False,
    },
    {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 9}, {"type": "string", "enum": ["none"]}]},
    {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
    {"enum": ["red", "blue", "green"], "not": {"const": "blue"}},
    {
        "$defs": {"point": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9}, "minItems": 2, "maxItems": 2}},
        "type": "object",
        "properties": {"from": {"$ref": "#/$defs/point"}, "to": {"$ref": "#/$defs/point"}},
        "required": ["from", "to"],
        "additionalProperties": False,
    },
]


def sums(text):
    """Judge of the grammar of sums: `1+(2+3)`, at most two digits a number, parsed by descent."""
    place = 0

    def peek():
        return text[place : place + 1]

    def term():
        nonlocal place
        if peek() == "(":
            place += 1
            if not sum_() or peek() != ")":
                return False
            place += 1
            return True
        digits = re.match("[0-9]{1,2}", text[place:], re.ASCII)
        place += len(digits.group()) if digits else 0
        return digits is not None

    def sum_():
        nonlocal place
        if not term():
            return False
        while peek() == "+":
            place += 1
            if not term():
                return False
        return True

    return sum_() and place == len(text)


def is_palindrome(text):
    return text == text[::-1] and set(text) <= set("ab") and len(text) % 2 == 1


def is_json(text):
    json.loads(text)
    return True


GRAMMARS = [
    ('root ::= term ("+" term)?\nterm ::= [0-9] [0-9]? | "(" [0-9] "+" term ")"', sums),
    ('root ::= "a" root "a" | "b" root "b" | [ab]', is_palindrome),
    ('root ::= "[" ("null" ("," "null"){0,3})? "]"', is_json),
    ('root ::= key "=" value\nkey ::= [a-z]{1,4}\nvalue ::= [0-9]{1,3} | "\\"" [a-z]* "\\""', re.compile('[a-z]{1,4}=([0-9]{1,3}|"[a-z]*")').fullmatch),
]


def _schema_judge(schema):
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    return lambda text: validator.is_valid(json.loads(text))


def cases():
    """`(name, constraint, judge)` of each; a judge is true of a valid text, and may raise at an invalid one."""
    for pattern in REGEXES:
        yield f"regex {pattern}", Constraint.regex(pattern), re.compile(pattern).fullmatch
    for items in CHOICES:
        yield f"choice {items}", Constraint.choice(items), items.__contains__
    for schema in SCHEMAS:
        yield f"schema {schema}", Constraint.schema(schema), _schema_judge(schema)
    for grammar, judge in GRAMMARS:
        yield f"gbnf {grammar}", Constraint.gbnf(grammar), judge
    yield "json", Constraint.json(), is_json
