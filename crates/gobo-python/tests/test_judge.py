"""Random schemas under every policy, judged by Python's `jsonschema` over exact decimals.

What masks let through is valid, and what is valid is let through in some order of its members.
"""

import itertools
import json
import os
import random
from decimal import Decimal, InvalidOperation, localcontext

import pytest
from conftest import EOS, TOKENS, mask_of, tokens_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gobo_masks as gobo

jsonschema = pytest.importorskip("jsonschema")

SECONDS = float(os.environ.get("GOBO_FUZZ_SECONDS", "6"))
# A schema costs up to a tenth of a second.
SCHEMAS = int(10 * SECONDS)
NAMES = ["a", "b", "ab"]
SCALARS = [None, True, False, "", "a", "b", "ab", "1", 0, 1, 2, 10, -1, Decimal("0.5"), Decimal("0.3"), Decimal("1.25")]
BOUNDS = [-1, 0, Decimal("0.5"), 1, 2, Decimal("9.75")]


def is_integer(_, value):
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


# `1.0` is an integer; the library knows that of floats alone.
Judge = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer),
)


def number(text):
    """A number that is judged exactly: with `numbers` as `json` an exponent may have any number of digits."""
    value = Decimal(text)
    if abs(value.as_tuple().exponent) > 1_000:
        raise InvalidOperation
    return value


def written(value, item_separator, key_separator):
    """A value as JSON, with exact decimals, in the order of its members."""
    if isinstance(value, dict):
        members = (json.dumps(name) + key_separator + written(of, item_separator, key_separator) for name, of in value.items())
        return "{" + item_separator.join(members) + "}"
    if isinstance(value, list):
        return "[" + item_separator.join(written(of, item_separator, key_separator) for of in value) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


def orders(value):
    """The value with its members in every order."""
    if isinstance(value, list):
        yield from (list(items) for items in itertools.product(*map(orders, value)))
    elif isinstance(value, dict):
        for names in itertools.permutations(value):
            for members in itertools.product(*(orders(value[name]) for name in names)):
                yield dict(zip(names, members))
    else:
        yield value


names = st.sampled_from(NAMES)
counts = st.integers(0, 3)
values = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
keywords = [
    ("type", st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object", ["string", "null"]])),
    ("const", values),
    ("enum", st.lists(values, min_size=1, max_size=4)),
    *((name, st.sampled_from(BOUNDS)) for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    ("multipleOf", st.sampled_from([1, 2, Decimal("0.5"), Decimal("0.1"), Decimal("0.25"), 3])),
    *((name, counts) for name in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")),
    ("pattern", st.sampled_from(["a", "^a", "b$", "^(a|b)*$", "^.{1,2}$", "[^a]", "a|^b$"])),
    ("required", st.lists(names, max_size=3, unique=True)),
    ("dependentRequired", st.dictionaries(names, st.lists(names, max_size=2, unique=True), max_size=1)),
]


def over(inner):
    some = st.lists(inner, min_size=1, max_size=3)
    members = st.dictionaries(names, inner, min_size=1, max_size=3)
    return st.one_of(
        *(st.builds(lambda value, name=name: {name: value}, of) for name, of in keywords),
        *(st.builds(lambda value, name=name: {name: value}, some) for name in ("anyOf", "oneOf", "allOf", "prefixItems")),
        *(st.builds(lambda value, name=name: {name: value}, inner) for name in ("not", "items", "additionalProperties", "contains")),
        st.builds(lambda value: {"properties": value}, members),
        st.builds(lambda value: {"patternProperties": {"^a": value}}, inner),
        st.builds(lambda one, two, three: {"if": one, "then": two, "else": three}, inner, inner, inner),
    )


def together(parts):
    return {name: value for part in parts for name, value in part.items()}


leaves = st.booleans() | st.lists(st.one_of(*(st.builds(lambda v, n=n: {n: v}, of) for n, of in keywords)), max_size=2).map(together)
schemas = st.recursive(leaves, lambda inner: st.lists(over(inner), min_size=1, max_size=3).map(together), max_leaves=8)
policies = st.fixed_dictionaries(
    {
        "order": st.sampled_from(["declared", "any"]),
        "whitespace": st.sampled_from(["single", "compact", "lines", "flexible:2"]),
        "numbers": st.sampled_from(["plain", "json"]),
        "spelling": st.sampled_from(["canonical", "any"]),
    }
)


def walk(index, seed):
    """A text that random tokens of the masks make, or None if it does not end soon."""
    chance, matcher, text = random.Random(seed), index.matcher(), b""
    for _ in range(80):
        allowed = sorted(mask_of(matcher))
        assert allowed, text
        # Ends are taken where they are allowed, so that most texts end.
        token = EOS if EOS in allowed and chance.random() < 0.7 else chance.choice(allowed)
        assert matcher.accept_token(token)
        if token == EOS:
            return text
        text += TOKENS[token]
    return None


def is_taken(index, value, separators):
    def takes(text):
        ids = [*tokens_of(text.encode()), EOS]
        return len(index.matcher().validate_tokens(ids)) == len(ids)

    return any(takes(written(one, *separators)) for one in orders(value))


SEEN = {"index": 0, "refused": 0, "walks": 0, "valid": 0, "invalid": 0}


@settings(max_examples=SCHEMAS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(schema=schemas, policy=policies, others=st.lists(values, max_size=4), seed=st.integers(0, 1 << 30))
def judge_one(client, vocabulary, schema, policy, others, seed):
    text = written(schema, ", ", ": ")
    judge = Judge(schema)
    pool = [*SCALARS, *others, [], {}, [1, "a"], {"a": 1}, {"a": "b", "b": None}]
    try:
        index = client.get(vocabulary, gobo.Constraint.schema(text, **policy))
    except (gobo.RefusedError, gobo.OverBudgetError) as error:
        SEEN["refused"] += 1
        if "no value" in str(error) or "no text" in str(error):
            assert not any(map(judge.is_valid, pool)), (text, str(error))
        return
    SEEN["index"] += 1
    for step in range(3):
        found = walk(index, seed + step)
        if found is None:
            continue
        try:
            value = json.loads(found, parse_float=number)
        except InvalidOperation:
            assert policy["numbers"] == "json", found
            continue
        SEEN["walks"] += 1
        assert judge.is_valid(value), (text, policy, found)
    separators = (",", ":") if policy["whitespace"] == "compact" else (", ", ": ")
    for value in pool:
        is_valid = judge.is_valid(value)
        SEEN["valid" if is_valid else "invalid"] += 1
        assert is_taken(index, value, separators) == is_valid, (text, policy, value)


def test_masks_are_what_another_validator_calls_valid(client, vocabulary):
    with localcontext(prec=3_000):
        judge_one(client, vocabulary)
    print(SEEN)
    assert SEEN["index"] > SEEN["refused"] and min(SEEN["walks"], SEEN["valid"], SEEN["invalid"]) > SCHEMAS
