"""Which requests gobo serves, and what becomes of the others."""

import importlib.metadata
import json
import os
import signal

import pytest
import torch
from gobo_masks import GoboError, Index, UnavailableError, _engines, stats
from gobo_masks import sglang as adapter
from gobo_masks.sglang.backend import GoboGrammarBackend, GoboReasonerBackend
from gobo_masks.sglang.grammar import GoboGrammar
from sglang.srt import server_args as server_args_module
from sglang.srt.constrained import base_grammar_backend
from sglang.srt.constrained.base_grammar_backend import InvalidGrammarObject
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend, ReasonerGrammarObject
from sglang.srt.constrained.xgrammar_backend import XGrammarGrammar, XGrammarGrammarBackend
from processes import workers
from sglang_support import rows_of, settled

ENUM = '{"enum": ["red", "blue"]}'
# SGLang's validator refuses `not` for xgrammar; gobo compiles it.
ONLY_GOBO = '{"enum": ["red", "blue", null], "not": {"type": "null"}}'
# A back-reference is refused by both.
NEITHER = r"(a)\1"


def with_line_ends(*values):
    """JSON values as they may be written where the engine allows any whitespace: a line end may follow."""
    return {value + end for value in values for end in ("", "\n", "\r\n")}


def texts(grammar, tokenizer, width, longest=12):
    """All texts of a small grammar, by walking its masks."""
    found, eos = set(), tokenizer.eos_token_id

    def walk(ids):
        mask = torch.full((1, width // 32), -1, dtype=torch.int32)
        grammar.fill_vocab_mask(mask, 0)
        for id in rows_of(mask)[0]:
            grammar.accept_token(id)
            if id == eos:
                assert grammar.is_terminated()
                found.add(tokenizer.decode(ids))
            elif len(ids) < longest:
                walk([*ids, id])
            grammar.rollback(1)

    walk([])
    return found


# -- the plug-in ------------------------------------------------------------------------------------------------------------


def test_the_entry_point_is_found():
    (entry,) = (one for one in importlib.metadata.entry_points(group="sglang.srt.plugins") if one.name == "gobo")
    assert entry.load() is adapter.register


def test_registering_twice_adds_one_name(registered):
    adapter.register()
    assert server_args_module.GRAMMAR_BACKEND_CHOICES.count("gobo") == 1
    assert list(base_grammar_backend.GRAMMAR_BACKEND_REGISTRY) == ["gobo"]


@pytest.fixture
def unregistered(monkeypatch):
    monkeypatch.setattr(base_grammar_backend, "GRAMMAR_BACKEND_REGISTRY", {})
    monkeypatch.setattr(_engines, "_told", set())
    choices = list(server_args_module.GRAMMAR_BACKEND_CHOICES)
    yield
    assert base_grammar_backend.GRAMMAR_BACKEND_REGISTRY == {}
    assert server_args_module.GRAMMAR_BACKEND_CHOICES == choices


def said(caplog):
    return [record.message for record in caplog.records if record.name.startswith("gobo_masks")]


def test_disabled_it_changes_nothing(unregistered, monkeypatch, caplog):
    monkeypatch.setenv("GOBO_DISABLE", "1")
    adapter.register()
    adapter.register()
    assert len(said(caplog)) == 1 and "GOBO_DISABLE" in said(caplog)[0]


def test_under_another_release_it_changes_nothing(unregistered, monkeypatch, caplog):
    monkeypatch.setattr(_engines, "released", lambda distribution: "0.6.0")
    adapter.register()
    adapter.register()
    assert len(said(caplog)) == 1 and "0.6.0" in said(caplog)[0]


def test_where_a_signature_differs_it_changes_nothing(unregistered, monkeypatch, caplog):
    def set_cache(self, key, value, expires):
        raise AssertionError

    monkeypatch.setattr(base_grammar_backend.BaseGrammarBackend, "set_cache", set_cache)
    adapter.register()
    assert len(said(caplog)) == 1 and "expires" in said(caplog)[0]


# -- which class ------------------------------------------------------------------------------------------------------------


def test_the_backend_is_a_subclass_of_the_stock_one(backend):
    assert type(backend) is GoboGrammarBackend and isinstance(backend, XGrammarGrammarBackend)


def test_it_wraps_itself_where_a_model_reasons(make_backend):
    backend = make_backend(reasoning_parser="qwen3")
    assert type(backend) is GoboReasonerBackend and isinstance(backend, ReasonerGrammarBackend)
    assert type(backend.grammar_backend) is GoboGrammarBackend
    grammar = settled(backend.get_cached_or_future_value(("json", ENUM), True))
    assert isinstance(grammar, ReasonerGrammarObject) and isinstance(grammar.grammar, GoboGrammar)


def test_a_parser_with_an_answer_frame_is_the_stock_backends(make_backend, monkeypatch):
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    detector = ReasoningParser.DetectorMap["qwen3"]
    monkeypatch.setattr(detector, "get_answer_frame", lambda self: _Frame(), raising=False)
    backend = make_backend(reasoning_parser="qwen3")
    assert type(backend) is ReasonerGrammarBackend and type(backend.grammar_backend) is XGrammarGrammarBackend


class _Frame:
    framed_key_types = frozenset({"json"})

    def framing_token_ids(self):
        return []


# -- kinds ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("json", ENUM, with_line_ends('"red"', '"blue"')),
        ("json", '{"type": "boolean"}', with_line_ends("true", "false")),
        ("regex", "re?d|(true){2}", {"red", "rd", "truetrue"}),
        ("ebnf", 'root ::= "red" | "blue"', {"red", "blue"}),
        ("ebnf", 'root ::= item item\nitem ::= [ab]', {"aa", "ab", "ba", "bb"}),
        ("full_assistant_ebnf", 'root ::= "null"', {"null"}),
    ],
)
def test_gobo_serves(backend, tokenizer, width, kind, text, expected):
    grammar = settled(backend.get_cached_or_future_value((kind, text), False))
    assert isinstance(grammar, GoboGrammar)
    assert texts(grammar, tokenizer, width) == expected


def test_any_json_is_any_json(backend, tokenizer):
    grammar = settled(backend.get_cached_or_future_value(("json", "$$ANY$$"), False))
    assert isinstance(grammar, GoboGrammar)
    for text in ["12", "null", '[1, {"a": []}]', '"x"']:
        tested = grammar.copy()
        for id in tokenizer.encode(text):
            tested.accept_token(id)
        tested.accept_token(tokenizer.eos_token_id)
        assert tested.is_terminated()


def test_schemas_are_closed(backend, tokenizer):
    grammar = settled(backend.get_cached_or_future_value(("json", '{"type": "object", "properties": {"a": {"type": "null"}}}'), False))
    for id in tokenizer.encode('{"a'):
        grammar.accept_token(id)
    mask = torch.zeros((1, 16), dtype=torch.int32)[:, : (grammar.vocab_size + 31) // 32]
    grammar.fill_vocab_mask(mask, 0)
    assert {tokenizer.decode([id])[0] for id in rows_of(mask)[0]} == {'"'}, "no member but `a`"


@pytest.mark.parametrize(
    ("config", "text", "is_taken"),
    [
        ({}, '{"a": 1}', True),
        ({}, '{\n\t"a": 1\n}', True),
        ({}, '{ "a": 1 }', True),
        ({}, '{"a":  1}', False),
        ({"constrained_json_disable_any_whitespace": True}, '{"a":1}', True),
        ({"constrained_json_disable_any_whitespace": True}, '{"a": 1}', False),
        ({"constrained_json_max_whitespace_cnt": 3}, '{"a":   1}', True),
        ({"constrained_json_max_whitespace_cnt": 3}, '{"a":    1}', False),
    ],
)
def test_blanks_are_what_the_engine_says(make_backend, tokenizer, config, text, is_taken):
    schema = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'
    grammar = settled(make_backend(**config).get_cached_or_future_value(("json", schema), False))
    assert isinstance(grammar, GoboGrammar)
    assert (len(grammar.matcher.validate_tokens(tokenizer.encode(text))) == len(tokenizer.encode(text))) == is_taken


TAG = {"begin": "<f>", "content": {"type": "json_schema", "json_schema": {"enum": [1]}}, "end": "</f>"}
OLDER = {"structures": [{"begin": "<f>", "schema": {"enum": [1]}, "end": "</f>"}], "triggers": ["<f>"], "at_least_one": True}


@pytest.mark.parametrize(
    "tag",
    [
        {"type": "structural_tag", "format": {"type": "tag"} | TAG},
        {"type": "structural_tag"} | OLDER,
        {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<"], "tags": [TAG], "at_least_one": True}},
    ],
)
def test_structural_tags_are_served(backend, tokenizer, tag):
    grammar = settled(backend.get_cached_or_future_value(("structural_tag", json.dumps(tag)), False))
    assert isinstance(grammar, GoboGrammar)
    for text, is_taken in (("<f>1</f>", True), ("<f>2</f>", False), ("f", False)):
        ids = tokenizer.encode(text)
        assert (grammar.matcher.validate_tokens(ids) == ids) is is_taken, text


def test_tools_without_parameters_take_any_arguments(backend, tokenizer):
    """SGLang reads a schema that is null as one that allows everything."""
    tag = {"begin": "<f>", "content": {"type": "json_schema", "json_schema": None}, "end": "</f>"}
    tag = {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<f>"], "tags": [tag]}}
    grammar = settled(backend.get_cached_or_future_value(("structural_tag", json.dumps(tag)), False))
    assert isinstance(grammar, GoboGrammar)
    ids = tokenizer.encode('<f>{"a": null}</f>')
    assert grammar.matcher.validate_tokens(ids) == ids


def test_a_tag_of_a_style_that_gobo_lacks_is_the_stock_engines(backend):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    format = {"type": "json_schema", "style": "minimax_m3_xml", "json_schema": schema}
    tag = json.dumps({"type": "structural_tag", "format": format})
    assert type(settled(backend.get_cached_or_future_value(("structural_tag", tag), False))) is XGrammarGrammar


def test_grammars_in_lark_are_served(backend, tokenizer, width):
    lark = settled(backend.get_cached_or_future_value(("ebnf", 'start: "red"'), False))
    assert texts(lark, tokenizer, width) == {"red"}


# -- the rule of all --------------------------------------------------------------------------------------------------------


def test_what_only_gobo_takes_is_served(backend, tokenizer, width):
    grammar = settled(backend.get_cached_or_future_value(("json", ONLY_GOBO), False))
    assert texts(grammar, tokenizer, width) == with_line_ends('"red"', '"blue"')


def test_what_nobody_takes_fails_with_gobos_reason_and_is_remembered(backend):
    grammar = settled(backend.get_cached_or_future_value(("regex", NEITHER), False))
    assert isinstance(grammar, InvalidGrammarObject)
    assert "backreference" in grammar.error_message and "xgrammar" in grammar.error_message
    again, is_hit = backend.get_cached_or_future_value(("regex", NEITHER), False)
    assert is_hit and isinstance(again, InvalidGrammarObject)


def test_a_refused_schema_names_its_pointer(backend, monkeypatch):
    monkeypatch.setenv("GOBO_FALLBACK", "refuse")
    schema = '{"type": "object", "properties": {"a": {"$ref": "https://example.com/none.json"}}}'
    grammar = settled(backend.get_cached_or_future_value(("json", schema), False))
    assert isinstance(grammar, InvalidGrammarObject) and "/properties/a" in grammar.error_message


class Absent:
    """A client to whom nobody answers."""

    def __init__(self, error=None):
        self.error = error or UnavailableError("nobody can compile this now")
        self.asked = 0

    def find(self, vocabulary, constraint):
        return None

    def request(self, vocabulary, constraint):
        self.asked += 1
        return Lost(self.error)

    def get(self, vocabulary, constraint):
        raise self.error


class Lost:
    key = "00"

    def __init__(self, error):
        self.error = error

    def poll(self):
        raise self.error

    def cancel(self):
        pass


def test_in_gobos_absence_the_stock_engine_serves_what_it_takes_and_nothing_is_cached(backend, monkeypatch):
    monkeypatch.setattr(backend, "_client", Absent())
    assert type(settled(backend.get_cached_or_future_value(("json", ENUM), False))) is XGrammarGrammar
    failed = settled(backend.get_cached_or_future_value(("json", ONLY_GOBO), False))
    assert isinstance(failed, InvalidGrammarObject) and "nobody can compile" in failed.error_message
    assert backend.cache == {}
    monkeypatch.undo()
    assert isinstance(settled(backend.get_cached_or_future_value(("json", ONLY_GOBO), False)), GoboGrammar)


class Crash(BaseException):
    """As a panic of Rust is in Python: no `Exception`."""


@pytest.mark.parametrize("error", [TypeError, Crash])
def test_whatever_a_search_raises_the_scheduler_lives(backend, monkeypatch, error):
    class Failing(Absent):
        def find(self, vocabulary, constraint):
            raise error("on purpose")

    monkeypatch.setattr(backend, "_client", Failing())
    assert type(settled(backend.get_cached_or_future_value(("json", ENUM), False))) is XGrammarGrammar
    failed = settled(backend.get_cached_or_future_value(("json", ONLY_GOBO), False))
    assert isinstance(failed, InvalidGrammarObject) and "on purpose" in failed.error_message
    assert backend.cache == {}


def test_a_constraint_that_is_no_text_fails_alone(backend):
    value, is_hit = backend.get_cached_or_future_value(("regex", 5), False)
    assert not is_hit
    with pytest.raises(Exception):
        value.result(60)
    assert isinstance(settled(backend.get_cached_or_future_value(("json", ENUM), False)), GoboGrammar)


def test_answers_that_are_cached_are_bounded(backend, monkeypatch):
    monkeypatch.setattr("gobo_masks.sglang.backend._MAX_CACHED", 4)
    keys = [("regex", f"[0-9]{{{count}}}") for count in range(1, 8)]
    for key in keys:
        settled(backend.get_cached_or_future_value(key, False))
    assert list(backend.cache) == keys[-4:], "the oldest goes first"


def test_refuse_takes_the_stock_engine_away(backend, monkeypatch):
    monkeypatch.setenv("GOBO_FALLBACK", "refuse")
    monkeypatch.setattr(backend, "_client", Absent())
    failed = settled(backend.get_cached_or_future_value(("json", ENUM), False))
    assert isinstance(failed, InvalidGrammarObject) and "nobody can compile" in failed.error_message


def test_an_index_that_does_not_come_in_time_is_given_up(backend, monkeypatch):
    class Slow(Lost):
        is_cancelled = False

        def poll(self):
            return None

        def cancel(self):
            self.is_cancelled = True

    slow = Slow(None)
    client = Absent()
    client.request = lambda vocabulary, constraint: slow
    monkeypatch.setattr(backend, "_client", client)
    monkeypatch.setattr("gobo_masks.sglang.backend._TIMEOUT", 0.05)
    assert type(settled(backend.get_cached_or_future_value(("json", ENUM), False))) is XGrammarGrammar
    assert slow.is_cancelled and backend.cache == {}


def test_a_nul_is_refused_whether_the_index_is_there_or_not(backend):
    schema = '{"const": "a\\u0000b"}'
    for _ in range(2):
        assert isinstance(settled(backend.get_cached_or_future_value(("json", schema), False)), InvalidGrammarObject)


def test_requests_are_served_after_the_local_worker_was_killed(backend):
    settled(backend.get_cached_or_future_value(("regex", "before[0-9]"), False))
    killed = list(workers())
    assert killed, "no daemon runs here, so there is a local worker"
    for worker in killed:
        os.kill(worker, signal.SIGKILL)
    for text in ("after[0-9]", "later[0-9]"):
        served = settled(backend.get_cached_or_future_value(("regex", text), False))
        assert isinstance(served, XGrammarGrammar), "by gobo's next worker, or by the stock engine"
    assert isinstance(served, GoboGrammar)


# -- tokenizers -------------------------------------------------------------------------------------------------------------


def test_a_tokenizer_that_gobo_cannot_read_is_the_stock_engines(make_backend, monkeypatch):
    def of(*args, **kwargs):
        raise GoboError("no such kind of tokenizer")

    monkeypatch.setattr("gobo_masks.sglang.backend.Vocabulary", type("Vocabulary", (), {"of": staticmethod(of)}))
    backend = make_backend()
    assert type(settled(backend.get_cached_or_future_value(("json", ENUM), False))) is XGrammarGrammar
    failed = settled(backend.get_cached_or_future_value(("json", ONLY_GOBO), False))
    assert "no such kind of tokenizer" in failed.error_message


def test_logits_narrower_than_the_vocabulary_are_the_stock_engines(registered, publish, tokenizer):
    narrow = len(tokenizer) - 3
    backend = base_grammar_backend.create_grammar_backend(publish().server_args, tokenizer, narrow, {narrow - 1})
    before = stats()["fallback"].get("invalid", 0)
    assert type(settled(backend.get_cached_or_future_value(("json", ENUM), False))) is XGrammarGrammar
    assert stats()["fallback"]["invalid"] == before + 1


def test_an_index_is_found_again_without_a_future(backend):
    first = settled(backend.get_cached_or_future_value(("regex", "[0-9]{3}"), False))
    backend.reset()
    value, is_hit = backend.get_cached_or_future_value(("regex", "[0-9]{3}"), False)
    assert is_hit and isinstance(value, GoboGrammar) and value.ctx.key == first.ctx.key
    assert isinstance(value.ctx, Index)
