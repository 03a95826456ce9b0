"""Requests of every kind through vLLM's own front end and manager: which are gobo's, which the stock engine's, and their masks."""

import json
import re
import time

import numpy as np
import pytest
import xgrammar
from vllm.exceptions import VLLMValidationError

from gobo_masks.vllm._grammar import GoboGrammar

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}, "age": {"type": "integer", "minimum": 0, "maximum": 120}},
    "required": ["name", "age"],
}
GBNF = 'root ::= "yes" | "no " digit\ndigit ::= [0-9]\n'
LARK = 'start: "a" | "b"\n'
TAG = json.dumps(
    {"structures": [{"begin": "<f>", "schema": {"type": "object"}, "end": "</f>"}], "triggers": ["<f>"]}
)


def score(ids, allowed):
    """A fixed function of the text so far and a token, that likes tokens of low ids: short ones, which end texts."""
    mixed = (allowed.astype(np.uint64) + 1) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(hash(tuple(ids)) & 0xFFFFFFFF)
    mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(1000)).astype(float) - allowed / 20


def judge(kind, value, text):
    if kind == "json":
        found = json.loads(text)
        return set(found) == {"name", "age"} and len(found["name"]) <= 5 and 0 <= found["age"] <= 120
    if kind == "json_object":
        return isinstance(json.loads(text), dict)
    if kind == "regex":
        return re.fullmatch(value, text) is not None
    if kind == "choice":
        return text in value
    return re.fullmatch("yes|no [0-9]", text) is not None


KINDS = [
    ("json", PERSON),
    ("json", json.dumps(PERSON)),
    ("json_object", True),
    ("regex", "[a-c]{2,4}-[0-9]+x"),
    ("choice", ["red", "green", 'a "b" \\ \n\t\x07 ü']),
    ("grammar", GBNF),
]


@pytest.mark.parametrize("backend", ["auto", "xgrammar", "guidance"])
@pytest.mark.parametrize("kind, value", KINDS, ids=lambda value: value if isinstance(value, str) and len(value) < 12 else "")
def test_a_kind_of_request_is_served_by_an_index(engine, backend, kind, value):
    one = engine(backend=backend)
    # llguidance does not read GBNF.
    alone = backend == "guidance" and kind == "grammar"
    request = (one.grammar_of_gobo_alone if alone else one.request)(**{kind: value})
    assert isinstance(one.grammar(request), GoboGrammar)
    ids, has_ended = one.greedy(request, score, 400)
    if has_ended:
        assert judge(kind, value, one.tokenizer.decode(ids[:-1])), one.tokenizer.decode(ids)
    else:
        # Members may follow for ever where objects are open, as they are beside llguidance.
        assert kind == "json_object" or (kind == "json" and backend == "guidance")


def test_a_choice_has_one_index_as_a_list_and_as_a_grammar(engine):
    one = engine(backend="xgrammar")
    items = ["red", 'a "b" \\ \n\t\x07\x7f ü', "zero"]
    first = one.request(choice=items)
    # The stock validator has written a grammar of it, since there was no index; the second time there is one.
    second = one.request(choice=items)
    assert first.sampling_params.structured_outputs.grammar is not None
    assert second.sampling_params.structured_outputs.choice == items
    keys = [one.grammar(request).matcher.index.key for request in (first, second)]
    assert keys[0] == keys[1]
    # A front end that is not Python's sends the list to the guidance backend.
    other = engine(backend="guidance")
    assert other.grammar(other.request(choice=items)).matcher.index.key == keys[0]


@pytest.mark.parametrize("backend", ["xgrammar", "guidance"])
def test_lark_and_structural_tags_are_served_by_an_index(engine, backend):
    one = engine(backend=backend)
    for constraint, texts in (({"grammar": LARK}, ("a", "c")), ({"structural_tag": TAG}, ("x<f>{}</f>", "<f>[]</f>"))):
        request = one.request(**constraint)
        grammar = one.grammar(request)
        assert isinstance(grammar, GoboGrammar)
        taken = [grammar.validate_tokens(ids) == ids for ids in map(one.tokenizer.encode, texts)]
        assert taken == [True, False]


def test_a_grammar_in_lark_has_one_index_from_its_first_request_on(engine):
    """It goes to the engine as it is, whether the stock validator was asked or not."""
    one = engine(backend="xgrammar")
    keys = {one.grammar(one.request(grammar='start: "x" | "yz"')).matcher.index.key for _ in range(3)}
    assert len(keys) == 1


def test_a_tag_of_a_style_that_gobo_lacks_is_the_stock_engines(engine):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    format = {"type": "json_schema", "style": "minimax_m3_xml", "json_schema": schema}
    one = engine(backend="xgrammar")
    grammar = one.grammar(one.request(structural_tag=json.dumps({"type": "structural_tag", "format": format})))
    assert isinstance(grammar.matcher, xgrammar.GrammarMatcher)


def test_stop_ids_end_a_text_and_the_tokenizers_where_there_are_none(engine):
    one = engine()
    stop = one.tokenizer.convert_tokens_to_ids("!")
    request = one.request(regex="ab", stop=[stop])
    assert one.accept(request, one.tokenizer.encode("ab"))
    (rows,) = one.masks([request])
    assert set(np.flatnonzero(rows[0])) == {stop, one.tokenizer.eos_token_id}
    backend = one.manager.backend
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    grammar = backend.compile_grammar(StructuredOutputOptions.REGEX, "ab", stop_token_ids=set())
    assert grammar.matcher.eos == (one.tokenizer.eos_token_id,)


def test_blanks_are_lines_compact_or_as_told(engine, monkeypatch):
    def takes(one, text):
        request = one.request(json=PERSON)
        ids = one.tokenizer.encode(text)
        return one.grammar(request).validate_tokens(ids) == ids

    spaced, tight, wide = '{"name": "a", "age": 1}', '{"name":"a","age":1}', '{"name":  "a",   "age": 1}'
    pretty, airy = '{\n    "name": "a",\n    "age": 1\n}\n', '{ "name": "a", "age": 1 }'
    plain, compact = engine(backend="xgrammar"), engine(backend="xgrammar", disable_any_whitespace=True)
    assert [takes(plain, text) for text in (spaced, tight, pretty, airy, wide)] == [True, True, True, True, False]
    assert [takes(compact, text) for text in (spaced, tight, pretty, airy, wide)] == [False, True, False, False, False]
    monkeypatch.setenv("GOBO_JSON_WHITESPACE", "flexible:4")
    told = engine(backend="xgrammar")
    assert [takes(told, text) for text in (spaced, tight, wide)] == [True, True, True]


def test_members_that_are_not_listed_are_shut_out_beside_xgrammar_alone(engine):
    text = '{"name": "a", "age": 1, "more": 2}'
    found = {}
    for backend in ("xgrammar", "guidance"):
        one = engine(backend=backend)
        ids = one.tokenizer.encode(text)
        found[backend] = one.grammar(one.request(json=PERSON)).validate_tokens(ids) == ids
    assert found == {"xgrammar": False, "guidance": True}
    closed = engine(backend="guidance", disable_additional_properties=True)
    ids = closed.tokenizer.encode(text)
    assert closed.grammar(closed.request(json=PERSON)).validate_tokens(ids) != ids


def test_what_only_gobo_takes_is_admitted_with_its_index(engine):
    schema = {"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 99}
    one = engine(backend="xgrammar")
    request = one.grammar_of_gobo_alone(json=schema)
    ids, _ = one.greedy(request, score)
    # 28.000 is an integer to a JSON Schema.
    assert float(one.tokenizer.decode(ids[:-1])) % 7 == 0


def test_what_nobody_takes_is_refused_with_gobos_reason_and_pointer(engine):
    one = engine(backend="xgrammar")
    items = {"type": "array", "uniqueItems": True, "items": {"type": "string"}}
    for _ in range(100):
        with pytest.raises(VLLMValidationError, match="gobo: ") as caught:
            one.params(json={"type": "object", "properties": {"a": items}})
        if "in time" not in str(caught.value):
            break
        time.sleep(0.1)
    assert "uniqueItems" in str(caught.value) and "/properties/a/uniqueItems" in str(caught.value)


def test_vllm_itself_gets_xgrammars_own_answer(engine):
    """A schema inside a structural tag is compiled by xgrammar, so that gobo's index must not make it valid."""
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams
    from vllm.v1.structured_output.backend_xgrammar import validate_xgrammar_grammar

    schema = {"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 99}
    one = engine(backend="xgrammar")
    one.grammar_of_gobo_alone(json=schema)
    with pytest.raises(VLLMValidationError):
        validate_xgrammar_grammar(SamplingParams(structured_outputs=StructuredOutputsParams(json=schema)))


def test_a_request_that_only_gobo_takes_never_gets_the_stock_engines_mask(engine, monkeypatch):
    """Admitted by the front end, and gone when the engine compiles it."""
    from gobo_masks.vllm import _backends

    import gobo_masks

    one = engine(backend="xgrammar")
    one.request(regex="a")

    class Absent:
        def find(self, *_):
            return None

        def get(self, *_, **__):
            raise gobo_masks.UnavailableError("nobody is there")

    monkeypatch.setattr(_backends, "default_client", Absent)
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kind

    backend = one.manager.backend
    with pytest.raises(gobo_masks.UnavailableError, match="nobody is there; xgrammar does not take it either"):
        backend.compile_grammar(Kind.JSON, '{"type": "integer", "multipleOf": 7}', {1})
    stock = backend.compile_grammar(Kind.JSON, '{"type": "integer"}', {1})
    assert not isinstance(stock, GoboGrammar)
    choice = backend.compile_grammar(Kind.CHOICE, '["a", "b"]', {1})
    assert not isinstance(choice, GoboGrammar)
    monkeypatch.setenv("GOBO_FALLBACK", "refuse")
    with pytest.raises(gobo_masks.UnavailableError):
        backend.compile_grammar(Kind.JSON, '{"type": "integer"}', {1})


def test_the_latch(engine):
    """One backend for an engine. A request marked for the other one is refused since 0.33, and before it is checked again."""
    one = engine(backend="auto")
    one.request(regex="a")
    assert type(one.manager.backend).__name__ == "XgrammarBackend"
    params = one.params(json={"type": "integer"})
    params.structured_outputs._backend = "guidance"
    try:
        request = one.send(params)
    except VLLMValidationError as error:
        assert "only supports one backend" in str(error)
    else:
        assert isinstance(one.grammar(request), GoboGrammar)


def test_a_vocabulary_wider_than_the_logits_leaves_requests_to_the_stock_engine(engine):
    one = engine(backend="xgrammar", width=50000)
    one.params(regex="[0-9]+")
    from gobo_masks.vllm import _words

    with pytest.raises(ValueError, match="50000"):
        _words.vocabulary(one.tokenizer, 50000)
