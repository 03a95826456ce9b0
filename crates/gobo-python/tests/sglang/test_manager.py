"""SGLang's own `GrammarManager`: one rank, and two whose results come at different times."""

import threading
import time
from types import SimpleNamespace

import pytest
import torch
from sglang_support import settled
from gobo_masks import UnavailableError
from gobo_masks.sglang.backend import GoboReasonerBackend
from gobo_masks.sglang.grammar import GoboGrammar
from sglang.srt.constrained.base_grammar_backend import InvalidGrammarObject
from sglang.srt.constrained.grammar_manager import GrammarManager
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarObject

NEITHER = r"(a)\1"


class Request:
    """What the manager reads and writes of SGLang's `Req`."""

    def __init__(self, kind, text, require_reasoning=False):
        parameters = dict.fromkeys(("json_schema", "regex", "ebnf", "structural_tag", "custom_params"))
        self.sampling_params = SimpleNamespace(ebnf_full_assistant=False, **parameters)
        setattr(self.sampling_params, {"json": "json_schema"}.get(kind, kind), text)
        self.rid = text
        self.origin_input_ids = [1]
        self.require_reasoning = require_reasoning
        self.grammar = self.grammar_key = self.aborted = None
        self.grammar_wait_ct = 0

    def finished(self):
        return self.aborted is not None

    def set_finish_with_abort(self, message):
        self.aborted = message


@pytest.fixture
def make_manager(registered, publish, tokenizer, width):
    def make(ranks=1, **config):
        published = publish(tp_size=ranks, **config)
        scheduler = SimpleNamespace(
            server_args=published.server_args,
            tokenizer=tokenizer,
            model_config=SimpleNamespace(
                vocab_size=width,
                hf_eos_token_id={tokenizer.eos_token_id},
                think_end_ids=tokenizer.encode("</think>") if config.get("reasoning_parser") else None,
            ),
            dp_tp_cpu_group=None,
            dp_tp_group=SimpleNamespace(world_size=ranks, first_rank=0, is_first_rank=True),
            pp_group=None,
        )
        return GrammarManager(scheduler)

    return make


def ready(manager, turns=2000):
    for _ in range(turns):
        found = manager.get_ready_grammar_requests()
        if found:
            return found
    raise AssertionError("no request became ready")


def test_a_cold_request_waits_and_a_warm_one_does_not(make_manager):
    manager = make_manager()
    cold, warm = Request("regex", "cold[0-9]{2}"), Request("regex", "cold[0-9]{2}")
    if manager.process_req_with_grammar(cold):
        assert ready(manager) == [cold]
    assert isinstance(cold.grammar, GoboGrammar) and cold.aborted is None
    assert not manager.process_req_with_grammar(warm)
    assert isinstance(warm.grammar, GoboGrammar) and warm.grammar is not cold.grammar


def test_a_refused_request_fails_alone(make_manager):
    manager = make_manager()
    bad, good = Request("regex", NEITHER), Request("regex", "good")
    for request in (bad, good):
        manager.process_req_with_grammar(request)
    while manager.has_waiting_grammars():
        manager.get_ready_grammar_requests()
    assert "backreference" in bad.aborted and good.aborted is None and isinstance(good.grammar, GoboGrammar)


def test_requests_of_a_model_that_reasons(make_manager):
    manager = make_manager(reasoning_parser="qwen3")
    assert isinstance(manager.grammar_backend, GoboReasonerBackend)
    for require in (True, False, True):
        request = Request("regex", "reason[0-9]", require)
        if manager.process_req_with_grammar(request):
            ready(manager)
        assert isinstance(request.grammar, ReasonerGrammarObject) and request.grammar._is_thinking() == require
        assert isinstance(request.grammar.grammar, GoboGrammar)


def test_an_aborted_request_leaves_the_queue(make_manager, monkeypatch):
    manager = make_manager()
    monkeypatch.setattr(manager.grammar_backend, "_client", Delayed(manager.grammar_backend._client, 1e9))
    request = Request("regex", "abort[0-9]")
    assert manager.process_req_with_grammar(request)
    manager.abort_requests(SimpleNamespace(abort_all=True, rid=""))
    assert ready(manager) == [request] and not manager.has_waiting_grammars()


# -- two ranks --------------------------------------------------------------------------------------------------------------


class Delayed:
    """A client whose answers come late, or fail for a while first."""

    def __init__(self, client, seconds, failures=0):
        self.client, self.seconds, self.failures = client, seconds, failures
        self.is_cancelled = False

    def find(self, vocabulary, constraint):
        return None if self.seconds or self.failures else self.client.find(vocabulary, constraint)

    def request(self, vocabulary, constraint):
        outer, began = self, time.monotonic()
        pending = self.client.request(vocabulary, constraint)

        class Later:
            key = pending.key

            def poll(self):
                if outer.failures:
                    outer.failures -= 1
                    raise UnavailableError("nobody answers")
                return pending.poll() if time.monotonic() - began >= outer.seconds else None

            def cancel(self):
                outer.is_cancelled = True
                pending.cancel()

        return Later()


class Ranks:
    """Schedulers in threads, which gather what each other has ready, as processes of `torch.distributed` do."""

    def __init__(self, make_manager, monkeypatch, count=2, **config):
        self.managers = [make_manager(ranks=count, **config) for _ in range(count)]
        self.barrier = threading.Barrier(count, timeout=60)
        self.slots = [None] * count
        self.rank = threading.local()
        monkeypatch.setattr(torch.distributed, "all_gather_object", self.gather)

    def gather(self, output, value, group):
        self.slots[self.rank.number] = value
        self.barrier.wait()
        output[:] = list(self.slots)
        self.barrier.wait()

    def run(self, requests, turns=4000):
        """Serves the requests on all ranks; for each rank, which requests came out of each turn."""
        logs = [[] for _ in self.managers]
        failures = []

        def serve(number):
            self.rank.number = number
            manager = self.managers[number]
            try:
                at_once = [request for request in requests[number] if not manager.process_req_with_grammar(request)]
                logs[number].append([request.rid for request in at_once])
                for _ in range(turns):
                    if not manager.has_waiting_grammars():
                        break
                    logs[number].append(sorted(request.rid for request in manager.get_ready_grammar_requests()))
            except Exception as error:
                failures.append(error)
                self.barrier.abort()

        threads = [threading.Thread(target=serve, args=(number,)) for number in range(len(self.managers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not failures
        return logs


@pytest.fixture
def make_ranks(make_manager, monkeypatch):
    return lambda **config: Ranks(make_manager, monkeypatch, **config)


def requests_of(texts, count=2):
    return [[Request("regex", text) for text in texts] for _ in range(count)]


def test_ranks_with_results_at_different_times_go_on_together(make_ranks):
    ranks = make_ranks()
    for manager, seconds in zip(ranks.managers, (0, 0.3), strict=True):
        manager.grammar_backend._client = Delayed(manager.grammar_backend._client, seconds)
    requests = requests_of(["one[0-9]", "two[0-9]", NEITHER])
    logs = ranks.run(requests)
    assert logs[0] == logs[1] and logs[0][0] == [], "no request is ready without the other rank"
    for mine, other in zip(*requests, strict=True):
        assert type(mine.grammar) is type(other.grammar) and mine.finished() == other.finished()
    assert [request.aborted is None for request in requests[0]] == [True, True, False]


def test_hits_are_futures_too(make_ranks):
    ranks = make_ranks()
    ranks.run(requests_of(["hit[0-9]"]))
    # One rank has forgotten what it had; the other has it in its cache.
    ranks.managers[1].grammar_backend.reset()
    again = requests_of(["hit[0-9]"])
    logs = ranks.run(again)
    assert logs[0] == logs[1] and logs[0][0] == []
    assert all(isinstance(request.grammar, GoboGrammar) for side in again for request in side)


def test_a_rank_whose_daemon_is_away_waits_for_it(make_ranks):
    ranks = make_ranks()
    client = Delayed(ranks.managers[1].grammar_backend._client, 0, failures=2)
    ranks.managers[1].grammar_backend._client = client
    requests = requests_of(["away[0-9]"])
    logs = ranks.run(requests)
    assert logs[0] == logs[1] and client.failures == 0
    assert all(isinstance(side[0].grammar, GoboGrammar) for side in requests), "and does not fall back alone"


def test_a_timeout_fails_on_all_ranks_and_is_forgotten(make_ranks):
    ranks = make_ranks()
    real = ranks.managers[1].grammar_backend._client
    away = Delayed(real, 1e9)
    ranks.managers[1].grammar_backend._client = away
    for manager in ranks.managers:
        manager.SGLANG_GRAMMAR_MAX_POLL_ITERATIONS = 3
    requests = requests_of(["late[0-9]"])
    logs = ranks.run(requests)
    assert logs[0] == logs[1] and all("timed out" in side[0].aborted for side in requests)
    assert away.is_cancelled
    ranks.managers[1].grammar_backend._client = real
    for manager in ranks.managers:
        manager.SGLANG_GRAMMAR_MAX_POLL_ITERATIONS = 10000
    again = requests_of(["late[0-9]"])
    ranks.run(again)
    assert all(side[0].aborted is None and isinstance(side[0].grammar, GoboGrammar) for side in again)


def test_verdicts_agree_and_are_kept(make_ranks):
    ranks = make_ranks()
    for _ in range(2):
        requests = requests_of([NEITHER])
        logs = ranks.run(requests)
        assert logs[0] == logs[1]
        assert all(isinstance(side[0].grammar, InvalidGrammarObject) for side in requests)
        assert all(side[0].finished() for side in requests)


def test_a_single_rank_may_settle_before_its_manager_asks(make_manager):
    manager = make_manager()
    answer = manager.grammar_backend.get_cached_or_future_value(("regex", "direct[0-9]"), False)
    assert isinstance(settled(answer), GoboGrammar)
