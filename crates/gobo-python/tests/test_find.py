"""Finding indices: the order, verdicts, waits, forks, pickles, counts."""

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import EOS, TOKENS, mask_of

import gobo_masks as gobo


def test_the_order_is_mapped_then_local(client, vocabulary):
    constraint = gobo.Constraint.regex("x[0-9]{3}")
    assert client.find(vocabulary, constraint) is None
    index = client.get(vocabulary, constraint)
    assert index.source == "local" and index.path.startswith(client.store) and index.size == os.path.getsize(index.path)
    assert client.find(vocabulary, constraint).source == client.get(vocabulary, constraint).source == "map"
    assert len(index.key) == 64 and index.states > 3 and index.rows > 1
    assert index.vocabulary.digest == vocabulary.digest and index.vocabulary.eos == (EOS,)
    other = gobo.Client(client.store, local=False)
    opened, mapped = (other.find(vocabulary, constraint) for _ in range(2))
    assert (opened.key, opened.source, mapped.source) == (index.key, "host", "map")
    assert other.stats()["found"] == {"map": 1, "host": 1, "remote": 0, "upstream": 0, "compile": 0, "stream": 0, "local": 0}


def test_reports_say_what_is_enforced(index_of):
    report = index_of(gobo.Constraint.schema({"type": "integer", "minimum": 3, "title": "n", "minimun": 3})).report
    assert {"pointer": "", "keyword": "type, minimum", "why": "exactly"} in report["enforced"]
    assert [entry["keyword"] for entry in report["notes"]] == ["minimun"] and report["widened"] == []
    assert sorted(report) == ["annotations", "enforced", "narrowed", "notes", "unspellable", "widened"]


def test_requests(client, vocabulary):
    pending = client.request(vocabulary, gobo.Constraint.regex("y+z"))
    index = pending.result()
    assert pending.done() and pending.poll().key == pending.key == index.key and pending.result(0).key == index.key
    again = client.request(vocabulary, gobo.Constraint.regex("y+z"))
    assert again.done() and again.poll().source == "map"


def test_verdicts(client, vocabulary):
    with pytest.raises(gobo.RefusedError) as error:
        client.get(vocabulary, gobo.Constraint.regex("(a"))
    refused = error.value
    assert (refused.kind, refused.pointer, refused.place) == ("invalid", None, "offset 0") and refused.reason and isinstance(refused, ValueError)
    with pytest.raises(gobo.RefusedError) as error:
        client.get(vocabulary, gobo.Constraint.schema({"type": "object", "properties": {"a": {"type": "string", "minLength": 3, "maxLength": 2}}, "required": ["a"]}))
    assert error.value.kind == "unsupported" and error.value.pointer is not None
    with pytest.raises(gobo.OverBudgetError) as error:
        client.get(vocabulary, gobo.Constraint.regex("(?:a|b)*a(?:a|b){40}"))
    over = error.value
    assert over.kind == "limit" and over.limit == "max_states" and over.given > 0
    pending = client.request(vocabulary, gobo.Constraint.regex("(a"))
    assert pending.done(), "a refusal is remembered"
    for copy in (pickle.loads(pickle.dumps(refused)), pickle.loads(pickle.dumps(over))):
        assert type(copy) in (gobo.RefusedError, gobo.OverBudgetError) and copy.reason is not None and str(copy)
    assert pickle.loads(pickle.dumps(refused)).__dict__ == refused.__dict__


def test_where_nobody_compiles(tmp_path, vocabulary):
    client = gobo.Client(tmp_path, local=False)
    with pytest.raises(gobo.UnavailableError) as error:
        client.get(vocabulary, gobo.Constraint.regex("q"))
    assert error.value.kind == "busy"
    counts = client.stats()
    assert counts["fallback"]["no_daemon"] == 1 and counts["failures"] == 1 and counts["found"]["local"] == 0


def test_waits_are_bounded(tmp_path, client, vocabulary):
    slow = gobo.Constraint.schema({"type": "array", "items": {"enum": [f"{n:08x}" for n in range(40_000)]}})
    began = time.monotonic()
    with pytest.raises(gobo.WaitTimeout) as error:
        client.get(vocabulary, slow, timeout=0.02)
    assert error.value.kind == "deadline" and isinstance(error.value, TimeoutError)
    with pytest.raises(gobo.WaitTimeout):
        client.request(vocabulary, gobo.Constraint.schema({"type": "array", "items": {"enum": [f"x{n:08x}" for n in range(40_000)]}})).result(timeout=0.02)
    assert time.monotonic() - began < 30
    for bad in (-1, float("nan"), 1e300):
        with pytest.raises(gobo.InvalidError):
            client.get(vocabulary, slow, timeout=bad)
    pending = client.request(vocabulary, slow)
    pending.cancel()
    if pending.done():
        with pytest.raises(gobo.GoboError):
            pending.poll()


WAITING = """
import os, signal, socket, sys, threading, time
import gobo_masks as gobo
# Where the tests run in the background of a shell, the signal is ignored, and Python leaves it so.
signal.signal(signal.SIGINT, signal.default_int_handler)
deaf = socket.socket(socket.AF_UNIX)
deaf.bind(sys.argv[1] + "/deaf.sock")
deaf.listen()
client = gobo.Client(sys.argv[1], f"unix:{sys.argv[1]}/deaf.sock", timeout=None, local=False)
vocabulary = gobo.Vocabulary.from_tokens([bytes([n]) for n in range(256)], client=client)
ticks, sent = 0, None

def tick():
    global ticks, sent
    while True:
        ticks += 1
        time.sleep(0.001)
        if ticks == 10:
            sent = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=tick, daemon=True).start()
try:
    client.get(vocabulary, gobo.Constraint.regex("a"))
except KeyboardInterrupt:
    print("interrupted", ticks, time.monotonic() - sent)
"""


def test_a_wait_is_interrupted_and_holds_no_gil(tmp_path):
    ended = subprocess.run([sys.executable, "-c", WAITING, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert ended.stdout.startswith("interrupted"), ended.stderr
    assert int(ended.stdout.split()[1]) >= 10, "another thread ran meanwhile"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_a_fork_works_on(client, vocabulary):
    constraint = gobo.Constraint.regex("forked[a-z]")
    index = client.get(vocabulary, gobo.Constraint.regex("before"))
    matcher = index.matcher()
    stop = threading.Event()
    batch = [index.matcher() for _ in range(300)]
    bitmask = gobo.allocate_token_bitmask(300, 300)

    def fill():
        while not stop.is_set():
            gobo.batch_fill_next_token_bitmask(batch, bitmask)

    threads = [threading.Thread(target=fill) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    signal.alarm(60)
                    assert gobo.stats()["found"]["map"] == 0
                    assert client.get(vocabulary, constraint).matcher().accept_tokens([TOKENS.index(b"f")])
                    assert gobo.batch_fill_next_token_bitmask(batch, bitmask) == [True] * 300
                    assert mask_of(matcher) and matcher.accept_token(TOKENS.index(b"b"))
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert mask_of(matcher)


def test_indices_pickle_by_key(client, vocabulary, index_of):
    index = index_of(gobo.Constraint.regex("pick(le)?"))
    stored = pickle.dumps(index)
    copy = pickle.loads(stored)
    assert (copy.key, copy.source, copy.vocabulary.eos, copy.vocabulary.width) == (index.key, "host", (EOS,), 300)
    assert len(stored) < 1000
    script = f"import pickle; print(pickle.loads({stored!r}).matcher().forced())"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip() == "b'pick'", ended.stderr
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert (copy.digest, copy.eos, copy.width) == (vocabulary.digest, vocabulary.eos, vocabulary.width)


def test_a_pickle_of_what_is_not_there(client, index_of):
    index = index_of(gobo.Constraint.regex("gone"))
    function, (vocabulary, key) = index.__reduce__()
    with pytest.raises(gobo.GoboError) as error:
        function(vocabulary, "0" * 64)
    assert error.value.kind == "not_found"
    with pytest.raises(gobo.InvalidError):
        function(vocabulary, "no digest")


def test_a_store_that_cannot_be_written_keeps_indices_in_memory(tmp_path, vocabulary):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    client = gobo.Client(blocked, timeout=60)
    here = gobo.Vocabulary.from_tokens(TOKENS, [EOS], client=client)
    index = client.get(here, gobo.Constraint.regex("in memory"))
    assert index.source == "local" and index.path is None and index.matcher().forced() == b"in memory"
    with pytest.raises(gobo.GoboError) as error:
        pickle.dumps(index)
    assert error.value.kind == "unsupported"
    assert client.stats()["in_memory"] == 1


def test_clients_that_are_none(tmp_path):
    for options in ({"timeout": -1}, {"timeout": float("nan")}, {"server": "ftp://x"}, {"server": "a\ud800"}):
        with pytest.raises(gobo.GoboError):
            gobo.Client(tmp_path, **options)
    with pytest.raises(TypeError):
        gobo.Client(3)


def test_defaults_come_from_the_environment(tmp_path):
    script = "import gobo_masks as gobo; c = gobo.default_client(); print(c.store, c.server, c is gobo.default_client(), gobo.Client().store)"

    def run(**variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GOBO", "XDG"))}
        return subprocess.run(
            [sys.executable, "-c", script], env={**environment, "HOME": str(tmp_path), **variables}, capture_output=True, text=True, timeout=60, check=True
        ).stdout.split()

    assert run() == [f"{tmp_path}/.cache/gobo", f"unix:{tmp_path}/.cache/gobo/daemon.sock", "True", f"{tmp_path}/.cache/gobo"]
    assert run(XDG_CACHE_HOME=f"{tmp_path}/x")[0] == f"{tmp_path}/x/gobo"
    assert run(GOBO_STORE=f"{tmp_path}/s", GOBO_SERVER="http://127.0.0.1:1")[:2] == [f"{tmp_path}/s", "http://127.0.0.1:1"]


def test_counts_and_log_lines(tmp_path, vocabulary, caplog):
    before = gobo.stats()
    with caplog.at_level(logging.INFO, "gobo_masks"):
        gobo.count_fallback("a_test", "key", "a detail")
        gobo.count_fallback("a_test", "other key")
    assert [record.getMessage() for record in caplog.records] == ["gobo does not serve a request: a_test; index key; a detail"]
    after = gobo.stats()
    assert after["fallback"]["a_test"] == before["fallback"].get("a_test", 0) + 2
    client = gobo.Client(tmp_path, timeout=60)
    here = gobo.Vocabulary.from_tokens(TOKENS, client=client)
    index = client.get(here, gobo.Constraint.regex("counted"))
    matchers = [index.matcher(), index.matcher()]
    assert mask_of(matchers[0]) and mask_of(matchers[0]) and mask_of(matchers[0].fork())
    client.find(here, gobo.Constraint.regex("counted"))
    counts = client.stats()
    assert (counts["found"]["local"], counts["found"]["map"], counts["first_masks"], counts["waits"]) == (1, 1, 1, 1)
    assert counts["wait_seconds"] > 0
    del client, here, index, matchers
    total = gobo.stats()
    assert total["found"]["local"] == after["found"]["local"] + 1, "counts of a client that is gone stay"


def test_reasons_that_are_counted_apart_are_bounded():
    program = """
import gobo_masks as gobo
for nth in range(100):
    gobo.count_fallback(f"reason {nth}")
counts = gobo.stats()["fallback"]
print(len(counts), counts["reason 0"], counts["other"])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.split() == ["65", "1", "36"]
