"""Constraints, and the schemas of classes."""

import dataclasses
import enum
import json
import pathlib
import pickle
import random
import resource
import sys
import typing

import pytest
from conftest import tokens_of

import gobo_masks as gobo
from gobo_masks import _schema


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclasses.dataclass
class Item:
    name: str
    count: int = 1


class Order(typing.TypedDict):
    items: list[Item]
    size: Size
    note: typing.NotRequired[str | None]
    pair: tuple[int, float]
    flags: dict[str, bool]
    kind: typing.Literal["a", 2]


@dataclasses.dataclass
class Node:
    value: typing.Any
    below: "list[Node]"


def walked(cls):
    return _schema._Walk().whole(cls)


def test_constraints_are_equal_by_what_they_allow():
    one, two = gobo.Constraint.choice(["b", "a", "a"]), gobo.Constraint.choice(("a", "b"))
    assert one == two and hash(one) == hash(two) and one.digest == two.digest and one != gobo.Constraint.choice(["a"]) and one != 3
    assert (one.kind, one.text) == ("choice", "a\nb")
    all_ = [
        gobo.Constraint.regex("a"),
        gobo.Constraint.regex("a", search=True),
        gobo.Constraint.regex("a", text_start="strip_one_space"),
        gobo.Constraint.json(),
        gobo.Constraint.schema("true", notation="yaml"),
        gobo.Constraint.regex("a").stopping(["b"]),
        gobo.Constraint.regex("a").naming({"A": {"begin": [1]}}),
        gobo.Constraint.regex("a").naming({"A": {"begin": [2]}}),
        gobo.Constraint.regex("a").stopping(["b", "c"]),
        gobo.Constraint.regex("a").cut("canonical"),
        gobo.Constraint.json(whitespace="flexible:3"),
        gobo.Constraint.structural_tag({"type": "any_text"}),
        gobo.Constraint.structural_tag({"type": "any_text"}, special_text="token"),
        gobo.Constraint.structural_tag({"type": "any_text"}, open=True),
        gobo.Constraint.structural_tag({"type": "any_text"}, order="any"),
        gobo.Constraint.json(numbers="json"),
        gobo.Constraint.json(whitespace="lines"),
        gobo.Constraint.gbnf('root ::= "a"\nother ::= "b"'),
        gobo.Constraint.gbnf('root ::= "a"\nother ::= "b"', start="other"),
        gobo.Constraint.grammar('root ::= "a"\nother ::= "b"', dialect="ebnf"),
        gobo.Constraint.grammar("start: A", dialect="lark"),
        gobo.Constraint.grammar("start: A", dialect="lark", lexer="basic"),
        gobo.Constraint.grammar("start: A", dialect="lark", lexer="basic:4"),
        gobo.Constraint.grammar("start: A", dialect="lark", indent_by=2),
        gobo.Constraint.grammar("start: A", dialect="lark", indent_depth=2),
        gobo.Constraint.grammar("start: A", dialect="lark", lexer="none"),
        gobo.Constraint.grammar("start: A", dialect="lark", lexer="none", start="a"),
        gobo.Constraint.grammar("start: A", dialect="lark", lexer="none", documents={"a": 'A: "a"'}),
        gobo.Constraint.schema({}),
        gobo.Constraint.schema({}, draft="draft7", order="any", whitespace="compact", spelling="any", numbers="json", format="annotate", date_times="naive", dialect="openapi-3.0", closed=True, max_depth=3, documents={"x:y": {"type": "null"}}, allow_widening=True),
        gobo.Constraint.schema(True),
    ]
    assert len({constraint.digest for constraint in all_}) == len(all_)
    for constraint in all_:
        copy = pickle.loads(pickle.dumps(constraint))
        assert copy == constraint and copy.digest == constraint.digest and repr(copy)


def test_patterns_have_dialects_and_others_beside_them(index_of):
    def takes(constraint, text):
        matcher = index_of(constraint).matcher()
        return all(matcher.accept_token(token) for token in tokens_of(text.encode())) and matcher.is_completed()

    plain = gobo.Constraint.regex("[abc]+")
    both = gobo.Constraint.regex("[abc]+", and_=[".b.", "a.*"], not_=["abc"])
    assert takes(plain, "abc") and takes(both, "aba") and not takes(both, "abc") and not takes(both, "bba")
    assert both == gobo.Constraint.regex("[abc]+", and_=["a.*", ".b."], not_=["abc"]) != plain
    assert takes(gobo.Constraint.regex(r"(?<=a)b|a\Z", dialect="python"), "a")
    assert takes(gobo.Constraint.regex("^a(?<!b)[^]$", dialect="ecma"), "ab")
    with pytest.raises(gobo.InvalidError, match="rust, ecma or python"):
        gobo.Constraint.regex("a", dialect="perl")
    nested = gobo.Constraint.json(max_objects=1, max_arrays=0)
    assert nested != gobo.Constraint.json()
    with pytest.raises(gobo.InvalidError, match="together"):
        gobo.Constraint.json(max_objects=1)
    with pytest.raises(gobo.InvalidError, match="at most 16"):
        gobo.Constraint.json(max_objects=17, max_arrays=0)


def test_a_dialect_is_one_of_its_kind():
    grammar = 'root ::= "a"'
    assert gobo.Constraint.grammar(grammar, dialect="gbnf") == gobo.Constraint.gbnf(grammar)
    assert gobo.Constraint.grammar("start: A", dialect="lark", lexer="contextual:8") == gobo.Constraint.grammar("start: A", dialect="lark")
    with pytest.raises(gobo.InvalidError, match="is no lexer"):
        gobo.Constraint.grammar("start: A", dialect="lark", lexer="shortest")
    with pytest.raises(gobo.InvalidError, match="dialect: lark is a dialect of grammars, not of schemas: json-schema, openapi-3.0"):
        gobo.Constraint.schema({}, dialect="lark")
    with pytest.raises(gobo.InvalidError, match="dialect: openapi-3.0 is a dialect of schemas, not of grammars: gbnf, ebnf, lark"):
        gobo.Constraint.grammar(grammar, dialect="openapi-3.0")


def test_schemas_come_in_many_forms():
    schema = {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"const": "é\U0001f600"}}}
    text = json.dumps(schema)
    of_dict = gobo.Constraint.schema(schema)
    assert of_dict.text == json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    assert gobo.Constraint.schema(json.dumps(schema, ensure_ascii=False)) == of_dict == gobo.Constraint.schema(json.dumps(schema, ensure_ascii=False, indent=3).encode())
    assert gobo.Constraint.schema(text).text == text.replace(" ", "")
    assert gobo.Constraint.schema(True).text == "true" and gobo.Constraint.schema(False).text == "false"


def test_schemas_that_were_read_before():
    """Whatever is remembered: the constraint is that of this text under these options."""

    def digest(schema, **options):
        return gobo.Constraint.schema(schema, **options).digest

    text = json.dumps({"type": "object", "properties": {"é": {"type": "string"}}})
    options = ["draft", "dialect", "order", "whitespace", "spelling", "numbers", "format", "date_times", "closed", "max_depth", "allow_widening", "text_start"]
    values = ["draft7", "openapi-3.0", "any", "compact", "any", "json", "annotate", "naive", True, 3, True, "strip_one_space"]
    for _ in range(2):
        digests = [digest(text, **{option: value}) for option, value in zip(options, values)] + [digest(text)]
        assert len(set(digests)) == len(digests)
        for option, value in zip(options, values):
            # Another text of the same schema has a place of its own.
            assert digest(text + " ", **{option: value}) == digest(text, **{option: value})

    # In any order, beside texts that are too long to be remembered: blanks are no part of a constraint.
    cases = [
        (schema, {option: value})
        for schema in (text, '{"type": "number"}', '{"enum": [1, "a"]}')
        for option, value in zip(["draft", *options], ["draft4", *values])
    ]
    expected = [digest(schema + " " * (1 << 16), **given) for schema, given in cases]
    for seed in range(20):
        order = random.Random(seed).sample(range(len(cases)), len(cases))
        assert [digest(cases[at][0], **cases[at][1]) for at in order] == [expected[at] for at in order]

    class Text(str):
        pass

    assert digest(text) == digest("".join(list(text))) == digest(Text(text)) == digest(text.encode())
    # With documents beside it, and too long: read each time.
    documents = [{"x:y": {"type": kind}} for kind in ("null", "string")]
    assert len({digest(text, documents=beside) for beside in (None, *documents, *documents)}) == 3
    long = json.dumps({"const": "x" * (1 << 17)})
    assert digest(long) == digest(long) != digest(text)
    # More than are remembered.
    texts = [json.dumps({"const": number}) for number in range(2000)]
    first = [digest(one) for one in texts]
    assert first == [digest(one) for one in texts] and len(set(first)) == 2000


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_schemas_that_are_remembered_stay_few():
    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    gobo.Constraint.schema({})
    before = resident()
    for number in range(5_000):
        gobo.Constraint.schema(json.dumps({"const": f"{number:08}" + "x" * 16_000}))
    assert resident() - before < 64 << 20


def test_stop_phrases(index_of):
    def takes(constraint, text):
        matcher = index_of(constraint).matcher()
        return all(matcher.accept_token(token) for token in tokens_of(text.encode())) and matcher.is_completed()

    answer = gobo.Constraint.regex("[ab]*").stopping(["bb", "aba"])
    assert answer == gobo.Constraint.regex("[ab]*").stopping(("aba", "bb", "aba"))
    assert takes(answer, "ab") and takes(answer, "abb") and takes(answer, "aaba")
    assert not takes(answer, "abba") and not takes(answer, "abaa")


def test_classes_of_tokens(index_of):
    classes = {"PICTURE": {"begin": [3], "fill": [[10, 11], 13], "max": 2}}
    picture = gobo.Constraint.regex("(?P<PICTURE>)").naming(classes)
    assert picture == gobo.Constraint.regex("(?P<PICTURE>)").naming({"PICTURE": {"fill": [13, 10, 11], "begin": [3], "max": 2}})
    matcher = index_of(picture).matcher()
    assert matcher.accept_token(3) and not matcher.is_completed() and not matcher.accept_token(12)
    assert matcher.accept_token(11) and matcher.is_completed() and matcher.accept_token(13)
    assert not matcher.accept_token(10)
    with pytest.raises(gobo.InvalidError, match="fills"):
        gobo.Constraint.regex("a").naming({"A": {"fills": [1]}})


def test_options_that_are_none():
    for option in ("draft", "order", "notation", "whitespace", "spelling", "numbers", "format", "text_start"):
        with pytest.raises(gobo.InvalidError, match="other"):
            gobo.Constraint.schema({}, **{option: "other"})
    for bad in (65, -1, 1 << 90):
        with pytest.raises(gobo.InvalidError):
            gobo.Constraint.schema({}, max_depth=bad)
    with pytest.raises(gobo.InvalidError):
        gobo.Constraint.choice("abc")
    with pytest.raises(TypeError):
        gobo.Constraint.regex(3)


def test_texts_that_are_none():
    class Loop(dict):
        pass

    loop = {}
    loop["a"] = loop
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for schema in (loop, deep, {"a": float("nan")}, {"a": {1, 2}}, {("a",): 1}, {"a": "\ud800"}, "\ud800", b"\xff", 3, None, [1], int, object(), str):
        with pytest.raises(gobo.InvalidError):
            gobo.Constraint.schema(schema)
    del deep
    for make in (gobo.Constraint.regex, gobo.Constraint.gbnf, lambda text: gobo.Constraint.choice([text]), lambda text: gobo.Constraint.json(whitespace=text)):
        with pytest.raises(gobo.InvalidError):
            make("a\ud800b")


def test_megabytes_and_nul(client, vocabulary):
    large = gobo.Constraint.schema({"type": "string", "description": "x" * 10_000_000})
    with pytest.raises(gobo.GoboError):
        client.get(vocabulary, large)
    assert client.get(vocabulary, gobo.Constraint.regex("a\\x00b")).matcher().forced() == b"a\0b"
    assert client.get(vocabulary, gobo.Constraint.choice(["a\0b"])).matcher().forced() == b"a\0b"
    with pytest.raises(gobo.RefusedError, match="NUL"):
        client.get(vocabulary, gobo.Constraint.regex("a\0b"))
    with pytest.raises(gobo.RefusedError):
        client.get(vocabulary, gobo.Constraint.gbnf('root ::= "a\0"'))
    with pytest.raises(gobo.RefusedError):
        client.get(vocabulary, gobo.Constraint.schema('{"a": \0}'))


def test_the_schema_of_a_class():
    assert walked(Item) == {"type": "object", "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}, "required": ["name"]}
    order = walked(Order)
    assert order["required"] == ["items", "size", "pair", "flags", "kind"] and list(order["$defs"]) == ["Item"]
    assert order["properties"] == {
        "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
        "size": {"enum": ["s", "l"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "pair": {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [{"type": "integer"}, {"type": "number"}]},
        "flags": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "kind": {"enum": ["a", 2]},
    }
    assert walked(Node)["$ref"] == "#/$defs/Node" and walked(Node)["$defs"]["Node"]["properties"]["value"] == {}


def broken(annotation):
    return dataclasses.make_dataclass("Broken", [("field", annotation)])


@pytest.mark.parametrize("annotation", [set[int], complex, bytes, dict[int, int], "NotThere", typing.Callable[[], int], typing.Literal[b"x"]])
def test_annotations_without_a_schema(annotation):
    with pytest.raises(gobo.InvalidError):
        walked(broken(annotation))


def test_texts_of_classes(index_of):
    matcher = index_of(gobo.Constraint.schema(Order, closed=True)).matcher()
    assert matcher.accept_tokens(tokens_of(b'{"items": [{"name": "a", "count": 3}], "size": "s", "pair": [1, 2.5], "flags": {"x": true}, "kind": 2}'))
    assert matcher.is_completed()
    matcher = index_of(gobo.Constraint.schema(Node)).matcher()
    assert matcher.accept_tokens(tokens_of(b'{"value": [null], "below": [{"value": 1, "below": []}]}')) and matcher.is_completed()


def test_pydantic_models(index_of):
    pydantic = pytest.importorskip("pydantic")

    class Tree(pydantic.BaseModel):
        value: int
        below: list["Tree"] = []

    matcher = index_of(gobo.Constraint.schema(Tree)).matcher()
    assert matcher.accept_tokens(tokens_of(b'{"value": 1, "below": [{"value": 2}]}')) and matcher.is_completed()
    assert gobo.Constraint.schema(Item) == gobo.Constraint.schema(pydantic.TypeAdapter(Item).json_schema())

    class Odd(pydantic.BaseModel):
        field: typing.Callable[[], int]

    with pytest.raises(gobo.InvalidError):
        gobo.Constraint.schema(Odd)


def test_pydantic_is_not_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    assert json.loads(gobo.Constraint.schema(Item).text) == walked(Item)
