"""Batches, drafts, reasoning and synchronous compiles through vLLM's own manager."""

import numpy as np
import pytest

from gobo_masks.vllm._grammar import GoboGrammar


@pytest.mark.parametrize("rows", [1, 128, 200])
def test_rows_of_a_batch_are_those_of_their_requests(engine, rows):
    """Up to 128 rows are filled one after the other, more by a pool of threads."""
    one = engine(seqs=256)
    requests = [one.request(regex=f"{'ab'[row % 2]}[0-9]{{{1 + row % 3}}}") for row in range(rows)]
    for step in range(3):
        masks = one.masks(requests)
        for row, (request, (mask,)) in enumerate(zip(requests, masks, strict=True)):
            texts = {one.tokenizer.decode([id]) for id in np.flatnonzero(mask)}
            if step == 0:
                assert all(text.startswith("ab"[row % 2]) for text in texts) and texts
            elif step <= 1 + row % 3 - 1 + 0:
                assert all(text.isdigit() for text in texts) and texts
        for row, request in enumerate(requests):
            if one.grammar(request).is_terminated():
                continue
            (mask,) = masks[row]
            allowed = np.flatnonzero(mask)
            # The shortest token goes on slowest.
            token = int(min(allowed, key=lambda id: (len(one.tokenizer.decode([id])), id)))
            assert one.accept(request, [token])


def test_drafts_are_masked_and_taken_back(engine):
    """Four drafts: all of them fit, one is refused in the middle, padding."""
    one = engine(drafts=4)
    request = one.request(regex="[0-9]{2}-[0-9]{2}-[0-9]{2}")
    encode = {char: one.tokenizer.convert_tokens_to_ids(char) for char in "0123456789-x"}
    digits = {encode[char] for char in "0123456789"}

    def row(mask):
        return {one.tokenizer.decode([id])[0] for id in np.flatnonzero(mask)}

    alone = one.masks([request])[0][0]
    (rows,) = one.masks([request], [[encode[char] for char in "12-3"]])
    assert (rows[0] == alone).all()
    assert [row(mask) == set("0123456789") for mask in rows] == [True, True, False, True, True]
    assert row(rows[2]) == {"-"}
    # Nothing has moved.
    assert (one.masks([request])[0][0] == alone).all()
    # Refused: later rows repeat the last mask (0.31 and later).
    (rows,) = one.masks([request], [[encode[char] for char in "1x23"]])
    assert (rows[1] == rows[2]).all() and (rows[1] == rows[4]).all()
    assert (one.masks([request])[0][0] == alone).all()
    # Padding: -1 and what follows is not masked.
    (rows,) = one.masks([request], [[encode["1"], -1, -1, -1]])
    assert row(rows[1]) == set("0123456789")
    assert (one.masks([request])[0][0] == alone).all()
    assert one.manager.validate_tokens(request, [encode["1"], encode["2"], encode["x"], encode["3"]]) == [
        encode["1"],
        encode["2"],
    ]
    assert one.accept(request, [encode[char] for char in "12-"])
    assert {id for id in np.flatnonzero(one.masks([request])[0][0])} >= digits
    # Drafts over the end of the text.
    assert one.accept(request, [encode[char] for char in "34-5"])
    eos = one.tokenizer.eos_token_id
    (rows,) = one.masks([request], [[encode["6"], eos, encode["1"], encode["1"]]])
    assert list(np.flatnonzero(rows[1])) == [eos]
    assert row(one.masks([request])[0][0]) == set("0123456789")
    assert one.accept(request, [encode["6"], eos])
    assert one.grammar(request).is_terminated()
    # Behind the end everything is taken and ignored.
    assert one.accept(request, [encode["x"]])


def test_drafts_of_many_requests_have_their_own_rows(engine):
    one = engine(drafts=2, seqs=8)
    requests = [one.request(regex=f"{char}{char}{char}z") for char in "abc"]
    encode = {char: one.tokenizer.convert_tokens_to_ids(char) for char in "abcz"}
    found = one.masks(requests, [[encode[char]] * 2 for char in "abc"])
    for char, rows in zip("abc", found, strict=True):
        assert all(encode[char] in np.flatnonzero(mask) for mask in rows)
        assert all(encode[other] not in np.flatnonzero(mask) for mask in rows for other in set("abc") - {char})


def reasoner_of(end):
    from vllm.reasoning import ReasoningParser

    class Reasoner(ReasoningParser):
        """Reasoning ends with one token."""

        def is_reasoning_end(self, input_ids):
            return end in input_ids

        def is_reasoning_end_streaming(self, input_ids, delta_ids):
            return end in list(delta_ids)

        def extract_content_ids(self, input_ids):
            return input_ids

        def extract_reasoning(self, *_):
            raise NotImplementedError

        extract_reasoning_content = extract_reasoning
        extract_reasoning_streaming = extract_reasoning
        extract_reasoning_content_streaming = extract_reasoning

    return Reasoner


def test_a_grammar_begins_where_reasoning_ends(engine, gpt2):
    """In the middle of the tokens of one step."""
    end = gpt2.convert_tokens_to_ids("?")
    one = engine(reasoner=reasoner_of(end))
    request = one.request(regex="[0-9]{3}")
    ids = {char: gpt2.convert_tokens_to_ids(char) for char in "12x"}
    assert one.masks([request])[0][0].all()
    request.append_output_token_ids([ids["x"]])
    assert one.manager.accept_tokens(request, [ids["x"]])
    assert one.masks([request])[0][0].all()
    request.append_output_token_ids([ids["x"], end, ids["1"]])
    assert one.manager.accept_tokens(request, [ids["x"], end, ids["1"]])
    mask = one.masks([request])[0][0]
    assert not mask.all() and mask[ids["2"]] and not mask[ids["x"]]
    assert one.accept(request, [ids["2"], ids["2"]])
    assert list(np.flatnonzero(one.masks([request])[0][0])) == [gpt2.eos_token_id]


def test_drafts_over_the_end_of_reasoning(engine, gpt2):
    end = gpt2.convert_tokens_to_ids("?")
    one = engine(reasoner=reasoner_of(end), drafts=4)
    request = one.request(regex="[0-9]{3}")
    ids = {char: gpt2.convert_tokens_to_ids(char) for char in "12x"}
    (rows,) = one.masks([request], [[ids["x"], end, ids["1"], ids["2"]]])
    assert rows[0].all() and rows[1].all()
    assert [bool(mask[ids["x"]]) for mask in rows[2:]] == [False, False, False]
    assert one.grammar(request).matcher.is_completed() is False
    assert one.masks([request])[0][0].all()


def test_synchronous_compiles(engine):
    """Each rank compiles for itself. An error belongs to its request."""
    one = engine(executor="external_launcher", backend="xgrammar")
    request = one.request(json={"type": "integer"})
    assert isinstance(one.grammar(request), GoboGrammar)
    assert not one.manager.backend.gobo_is_timed


def test_synchronous_ranks_wait_as_long_as_it_takes(engine, monkeypatch):
    """Nothing is decided by time: neither in the engine nor in the front end."""
    from gobo_masks.vllm import _backends, _validators

    asked = []

    class Client:
        def __init__(self, real):
            self.real = real

        def find(self, *arguments):
            return None

        def get(self, *arguments, **options):
            asked.append(options)
            return self.real.get(*arguments, **options)

        def request(self, *arguments):
            real = self.real.request(*arguments)

            class Pending:
                def done(self):
                    return real.done()

                def result(self, timeout=0):
                    asked.append({"timeout": timeout})
                    return real.result(None)

            return Pending()

    import gobo_masks

    client = Client(gobo_masks.default_client())
    monkeypatch.setattr(_backends, "default_client", lambda: client)
    monkeypatch.setattr(_validators, "default_client", lambda: client)
    monkeypatch.setattr(_validators, "_is_rank", lambda: True)
    one = engine(executor="external_launcher", backend="xgrammar")
    request = one.request(json={"type": "integer", "multipleOf": 11, "minimum": 0, "maximum": 99})
    assert isinstance(one.grammar(request), GoboGrammar)
    assert asked == [{"timeout": None}, {"timeout": None}]


def test_offline_beam_search(engine, gpt2):
    """vLLM's own step from beams to allowed ids: a new grammar for each beam, and its tokens again."""
    import types

    from vllm.entrypoints.generate.beam_search import offline
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams

    mixin = next(
        value for value in vars(offline).values() if hasattr(value, "_build_beam_sampling_params") and isinstance(value, type)
    )
    one = engine(backend="xgrammar")
    owner = types.SimpleNamespace(
        llm_engine=types.SimpleNamespace(vllm_config=one.config), model_config=one.config.model_config
    )
    params = StructuredOutputsParams(regex="[0-9]{2}(-[0-9]){2}")
    params._backend = "xgrammar"
    backend, key, bitmask = mixin._init_beam_search_structured_output(owner, params, gpt2)
    assert type(backend).engine == "xgrammar"
    beams = [[]]
    finished = set()
    for _ in range(8):
        entries = mixin._build_beam_sampling_params(
            owner,
            [
                types.SimpleNamespace(orig_prompt={"type": "token", "prompt_token_ids": [0]}, tokens=[0, *beam])
                for beam in beams
            ],
            SamplingParams(logprobs=4),
            backend,
            key,
            bitmask,
        )
        grown = []
        for beam, entry in zip(beams, entries, strict=True):
            if entry is None:
                finished.add(gpt2.decode(beam[:-1]))
                continue
            allowed = entry[1]
            grown += [[*beam, allowed[0]], [*beam, allowed[-1]]]
        beams = grown[:4]
        if not beams:
            break
    import re

    assert finished and all(re.fullmatch("[0-9]{2}(-[0-9]){2}", text) for text in finished)
    backend.destroy()


def test_beam_search_keeps_to_the_engine_it_began_with(engine, monkeypatch):
    import gobo_masks
    from gobo_masks.vllm import _backends
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kind

    one = engine(backend="xgrammar")
    one.request(regex="a")
    backend = one.manager.backend
    with monkeypatch.context() as patch:

        class Absent:
            def find(self, *_):
                raise gobo_masks.UnavailableError("nobody is there")

        patch.setattr(_backends, "default_client", Absent)
        assert not isinstance(backend.compile_grammar(Kind.REGEX, "b{3}"), GoboGrammar)
    # gobo is there again, but this search has begun.
    assert not isinstance(backend.compile_grammar(Kind.REGEX, "b{3}"), GoboGrammar)
    assert isinstance(backend.compile_grammar(Kind.REGEX, "b{3}", {1}), GoboGrammar)
    assert isinstance(backend.compile_grammar(Kind.REGEX, "c{3}"), GoboGrammar)
    monkeypatch.setattr(_backends, "default_client", Absent)
    assert isinstance(backend.compile_grammar(Kind.REGEX, "c{3}"), GoboGrammar)
