"""Tags of XGrammar's builders for each family and each choice of tools: transcripts are accepted, and refused where they are damaged in one place,
as XGrammar itself accepts and refuses their texts."""

import copy
import json
import random

import gobo_masks
import pytest
import xgrammar
from families import FAMILIES, Harmony
from xgrammar.builtin_structural_tag import get_model_structural_tag
from xgrammar.testing import _is_grammar_accept_string

def chosen(calls, count):
    """The same functions for each count, those of a smaller one among those of a larger one."""
    return random.Random(7).sample(calls, len(calls))[:count]


def tag_of(family, tools, choice, reasoning):
    functions = [
        {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema, _ in tools
    ]
    if choice == "named":
        choice = {"type": "function", "function": {"name": tools[0][0]}}
    tag = get_model_structural_tag(
        family.name, tools=functions, tool_choice=choice, reasoning="enabled" if reasoning else "disabled"
    )
    return tag.model_dump_json()


def index_of(vocabulary, tag):
    return gobo_masks.default_client().get(vocabulary, gobo_masks.Constraint.structural_tag(tag, whitespace="lines"))


def takes(index, ids):
    matcher = index.matcher()
    return matcher.accept_tokens(ids) and matcher.is_completed()


def encoded(tokenizer, text):
    """The tokens of a text with the control tokens in it, and with those spelled."""
    spelled = tokenizer._tokenizer
    whole = tokenizer.encode(text, add_special_tokens=False)
    spelled.encode_special_tokens = True
    try:
        return whole, spelled.encode(text, add_special_tokens=False).ids
    finally:
        spelled.encode_special_tokens = False


def damages(family, call):
    """The call with damage in one place, each with a word for it."""
    name, schema, arguments = call
    yield "name", (name + "x", arguments)
    required = schema.get("required", [])
    if required:
        yield "required", (name, {key: value for key, value in arguments.items() if key != required[0]})
    for key, value in schema.get("properties", {}).items():
        if key in arguments and value.get("type") in ("integer", "boolean"):
            wrong = copy.deepcopy(arguments)
            wrong[key] = "seven"
            yield "type", (name, wrong)
            break
    if schema.get("additionalProperties") is False:
        yield "more", (name, arguments | {"no_such_argument": 1})


@pytest.mark.parametrize("count", [1, 8, 64])
@pytest.mark.parametrize("choice", ["auto", "required", "named", "none"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_transcripts_of_a_family(family, choice, count, calls, tokenizer, vocabulary):
    tools = chosen(calls, count)
    picked = [tools[0]] if choice == "named" else tools[:: max(1, count // 4)]
    for reasoning in (True, False) if count < 64 else (False,):
        tag = tag_of(family, tools, choice, reasoning)
        index, theirs = index_of(vocabulary, tag), xgrammar.Grammar.from_structural_tag(tag)

        def check(text, expected, why, index=index, theirs=theirs):
            for ids in encoded(tokenizer, text):
                assert takes(index, ids) is expected, f"{why}: {text}"
            assert _is_grammar_accept_string(theirs, text) is expected, f"{why}, by XGrammar: {text}"

        if choice == "none":
            check(family.transcript(choice, reasoning, []), True, "no call")
            continue
        for call in picked:
            plain = (call[0], call[2])
            whole = family.transcript(choice, reasoning, [plain])
            check(whole, True, "whole")
            check(whole[:-1], False, "the last character is missing")
            for why, damaged in damages(family, call):
                text = family.transcript(choice, reasoning, [damaged])
                check(text, False, why)
        if choice != "named" and len(picked) > 1:
            several = family.transcript(choice, reasoning, [(name, arguments) for name, _, arguments in picked[:3]])
            check(several, True, "several calls")


def test_objects_are_closed_unless_their_schemas_say_otherwise(calls, tokenizer, vocabulary):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    for more, expected in (({}, False), ({"additionalProperties": True}, True)):
        tag = tag_of(FAMILIES[1], [("f", schema | more, None)], "named", False)
        text = FAMILIES[1].transcript("named", False, [("f", {"a": 1, "b": 2})])
        assert takes(index_of(vocabulary, tag), encoded(tokenizer, text)[0]) is expected


def test_harmony_is_json_behind_control_tokens():
    assert isinstance(FAMILIES[-1], Harmony)
    name, arguments = "f", {"a": "b"}
    assert json.loads(FAMILIES[-1].call(name, arguments).partition("<|message|>")[2].removesuffix("<|call|>")) == arguments
