"""A live daemon under vLLM's manager: requests are served by it, by the local worker while it is away or silent, and by it again.

The tests go on from each other: one daemon lives, is killed, is started again, and falls silent.
"""

import os
import pathlib
import sys

import numpy as np
import pytest

import gobo_masks
from gobo_masks.vllm._grammar import GoboGrammar

sys.path.append(str(pathlib.Path(__file__).parents[1]))  # processes

from processes import BINARY, Daemon  # noqa: E402

pytestmark = pytest.mark.skipif(not BINARY, reason="GOBO_BINARY names no command")

GONE = {"no_daemon", "daemon_failed", "busy_daemon", "late_daemon", "stream_failed"}


@pytest.fixture(scope="module")
def daemon():
    daemon = Daemon(os.environ["GOBO_STORE"])
    yield daemon
    daemon.close()


class Counts:
    """What has happened since it was made."""

    def __init__(self):
        self.before = gobo_masks.stats()

    def __call__(self, kind):
        now, before = gobo_masks.stats()[kind], self.before[kind]
        return {key: count - before.get(key, 0) for key, count in now.items() if count != before.get(key, 0)}


def check(engine, requests):
    """Each is served by gobo, under its own masks; the engine goes on."""
    for request in requests:
        assert isinstance(engine.grammar(request), GoboGrammar)
    for number, (mask,) in enumerate(engine.masks(requests)):
        texts = {engine.tokenizer.decode([int(id)]) for id in np.flatnonzero(mask)}
        assert texts and all(text.startswith(f"{number}"[0]) for text in texts), texts


def slow(name, number):
    """A choice that takes some milliseconds, and whose texts begin with its number."""
    return {"choice": [f"{number} {name} {item:05x}" for item in range(500)]}


def test_the_daemon_serves(engine, daemon):
    one, counts = engine(), Counts()
    check(one, [one.request(regex=f"{number}served[a-z]{{2}}") for number in range(6)])
    found = counts("found")
    assert found.get("compile", 0) >= 1 and "local" not in found and counts("fallback") == {}


def test_it_is_killed_in_the_middle_of_a_burst_and_comes_back(engine, daemon):
    one, counts = engine(), Counts()
    requests = [one.send(one.params(**slow("burst", number))) for number in range(48)]
    while not any(request.structured_output_request.is_grammar_ready for request in requests):
        pass
    daemon.kill()
    check(one, requests)
    fallback = counts("fallback")
    assert set(fallback) <= GONE, fallback
    assert set(counts("found")) <= {"map", "host", "compile", "local"}
    # Away: the local worker serves. Back: the daemon does.
    counts = Counts()
    check(one, [one.request(**slow("away", 0))])
    assert "compile" not in counts("found") and set(counts("fallback")) <= GONE
    daemon.start()
    counts = Counts()
    check(one, [one.request(**slow("back", number)) for number in range(4)])
    assert counts("found").get("compile", 0) >= 1


def test_it_falls_silent(engine, daemon):
    one, counts = engine(), Counts()
    daemon.stop()
    try:
        check(one, [one.request(**slow("silent", number)) for number in range(2)])
        found = counts("found")
        assert found.get("local", 0) >= 1 and "compile" not in found
        assert set(counts("fallback")) == {"deaf_daemon"}, "no request went to the stock engine"
    finally:
        daemon.go_on()
