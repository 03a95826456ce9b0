"""A live daemon: who serves, what is counted, and what becomes of requests when it is killed or falls silent."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import gobo_masks as gobo
from conftest import EOS, TOKENS, mask_of
from processes import BINARY, Daemon

pytestmark = pytest.mark.skipif(not BINARY, reason="GOBO_BINARY names no command")

# Why the daemon may have been passed over that was killed, or is not there.
GONE = {"no_daemon", "daemon_failed", "busy_daemon", "late_daemon", "stream_failed"}


@pytest.fixture
def daemon(tmp_path):
    # The path of a socket is short.
    daemon = Daemon(tmp_path)
    yield daemon
    daemon.close()


def client_of(daemon, store=None, **options):
    return gobo.Client(store or daemon.store, daemon.server, **{"timeout": 60, **options})


def vocabulary_of(client):
    return gobo.Vocabulary.from_tokens(TOKENS, [EOS], eos=[EOS], client=client)


def slow(name):
    """Constraints that take some milliseconds each."""
    return gobo.Constraint.choice([f"{name}-{number:05x}" for number in range(3000)])


def check(index, pending=None):
    """It is the index that was asked for, and has masks."""
    assert pending is None or index.key == pending.key
    assert mask_of(index.matcher())


def test_the_order_is_mapped_file_daemon(daemon, tmp_path_factory):
    client = client_of(daemon)
    vocabulary, constraint = vocabulary_of(client), gobo.Constraint.regex("[0-9]{3}")
    assert client.find(vocabulary, constraint) is None
    index = client.get(vocabulary, constraint)
    assert index.source == "compile" and os.path.dirname(index.path).startswith(str(daemon.store))
    assert client.get(vocabulary, constraint).source == "map"
    # A file of this host, for which nobody is asked.
    other = client_of(daemon)
    assert other.get(vocabulary_of(other), constraint).source == "host"
    # Another host: it has a store of its own, into which the daemon's file is streamed.
    far = client_of(daemon, tmp_path_factory.mktemp("far"))
    streamed = far.get(vocabulary_of(far), constraint)
    assert streamed.source == "stream" and streamed.key == index.key and streamed.path.startswith(far.store)
    assert mask_of(streamed.matcher()) == mask_of(index.matcher())
    for one, source in ((client, "compile"), (far, "stream")):
        counts = one.stats()
        assert counts["found"][source] == 1 and counts["found"]["local"] == 0
        assert (counts["fallback"], counts["failures"], counts["local_compiles"]) == ({}, 0, 0)


def test_verdicts_are_the_daemons(daemon):
    client = client_of(daemon, local=False)
    vocabulary = vocabulary_of(client)
    for _ in range(2):
        with pytest.raises(gobo.RefusedError) as error:
            client.get(vocabulary, gobo.Constraint.schema({"properties": {"a": {"$ref": "https://example.com/none.json"}}}))
        assert error.value.pointer == "/properties/a/$ref"
        with pytest.raises(gobo.OverBudgetError) as error:
            client.get(vocabulary, gobo.Constraint.regex("(?:a|b)*a(?:a|b){40}"))
        assert error.value.limit == "max_states"
    counts = client.stats()
    assert (counts["verdicts"], counts["remembered"], counts["failures"]) == (4, 2, 0)


def test_a_daemon_that_is_killed_in_a_burst_is_passed_over_and_found_again(daemon):
    client = client_of(daemon)
    vocabulary = vocabulary_of(client)
    pendings = [client.request(vocabulary, slow(f"burst{number}")) for number in range(150)]
    while not any(pending.done() for pending in pendings):
        pass
    daemon.kill()
    assert not all(pending.done() for pending in pendings), "the kill came in the middle"
    for pending in pendings:
        check(pending.result(), pending)
    counts = client.stats()
    found, fallback = counts["found"], counts["fallback"]
    assert found["compile"] >= 1 and found["local"] >= 1
    assert sum(found.values()) == len(pendings) == counts["waits"] and counts["failures"] == 0
    # Each that the daemon did not serve was handed on once, for a reason that says so.
    assert set(fallback) <= GONE and found["local"] <= sum(fallback.values()) <= len(pendings) - found["compile"]
    # While it is away the local worker serves; its files are the daemon's when that is back.
    assert client.get(vocabulary, slow("away")).source == "local"
    daemon.start()
    sources = [client.get(vocabulary, gobo.Constraint.regex(f"again{number}")).source for number in range(3)]
    assert sources[-1] == "compile", sources
    assert client.stats()["failures"] == 0


def test_a_daemon_that_is_killed_fails_requests_by_name_where_nobody_else_compiles(daemon):
    client = client_of(daemon, local=False)
    vocabulary = vocabulary_of(client)
    pendings = [client.request(vocabulary, slow(f"alone{number}")) for number in range(100)]
    while not any(pending.done() for pending in pendings):
        pass
    daemon.kill()
    ended = {"found": 0, "failed": 0}
    for pending in pendings:
        try:
            check(pending.result(), pending)
            ended["found"] += 1
        except gobo.UnavailableError as error:
            assert error.kind == "busy" and pending.key in str(error) and "daemon" in str(error)
            ended["failed"] += 1
    assert ended["found"] and ended["failed"]
    counts = client.stats()
    assert (sum(counts["found"].values()), counts["failures"]) == (ended["found"], ended["failed"])
    assert counts["fallback"].pop("no_local") == sum(counts["fallback"].values()) == ended["failed"]
    # Nothing of it is remembered.
    daemon.start()
    for _ in range(3):
        try:
            check(client.get(vocabulary, slow("alone99")))
            break
        except gobo.UnavailableError:
            continue
    else:
        pytest.fail("the daemon is back, and is not asked")


def test_a_deaf_daemon_is_passed_over_and_heard_again(daemon):
    client = client_of(daemon, timeout=8)
    vocabulary = vocabulary_of(client)
    assert client.get(vocabulary, gobo.Constraint.regex("heard")).source == "compile"
    daemon.stop()
    for number in range(3):
        assert client.get(vocabulary, gobo.Constraint.regex(f"deaf{number}")).source == "local"
    counts = client.stats()
    assert counts["fallback"] == {"deaf_daemon": 3} and counts["failures"] == 0
    with pytest.raises(gobo.GoboError) as error:
        alone = client_of(daemon, timeout=4, local=False)
        alone.get(vocabulary_of(alone), gobo.Constraint.regex("deaf and alone"))
    assert isinstance(error.value, (gobo.UnavailableError, gobo.WaitTimeout))
    # A timeout that is shorter than patience with the daemon ends the wait all the same.
    hurried = client_of(daemon)
    with pytest.raises(gobo.WaitTimeout):
        hurried.get(vocabulary_of(hurried), gobo.Constraint.regex("hurried"), timeout=0.2)
    assert hurried.stats()["fallback"]["timeout"] == 1
    daemon.go_on()
    other = client_of(daemon)
    assert other.get(vocabulary_of(other), gobo.Constraint.regex("heard again")).source == "compile"


def test_sixteen_threads_ask_for_one_index(daemon):
    client = client_of(daemon)
    vocabulary, begin = vocabulary_of(client), threading.Barrier(16)

    def ask(_):
        begin.wait()
        index = client.get(vocabulary, slow("threads"))
        check(index)
        return index.source

    with ThreadPoolExecutor(16) as threads:
        sources = list(threads.map(ask, range(16)))
    assert len(sources) == 16 and set(sources) <= {"compile", "map", "host"}
    counts = client.stats()
    assert sum(counts["found"].values()) == 16 and counts["local_compiles"] == 0 and counts["fallback"] == {}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_a_fork_has_a_connection_of_its_own(daemon):
    client = client_of(daemon, local=False)
    vocabulary = vocabulary_of(client)
    assert client.get(vocabulary, gobo.Constraint.regex("parent")).source == "compile"
    under_way = client.request(vocabulary, slow("under way"))
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.alarm(120)
                assert client.get(vocabulary, gobo.Constraint.regex(f"child{number}")).source == "compile"
                assert client.stats()["found"]["compile"] == 1
                if not under_way.done():
                    raise AssertionError("a request of the parent's has ended in the child")
                try:
                    check(under_way.poll(), under_way)
                except gobo.UnavailableError as error:
                    assert error.kind == "cancelled"
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    for number in range(3):
        assert client.get(vocabulary, gobo.Constraint.regex(f"beside{number}")).source == "compile"
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    check(under_way.result(), under_way)


ASKING = """
import sys
import gobo_masks as gobo
from conftest import TOKENS, EOS
client = gobo.Client(sys.argv[1], timeout=60, local=False)
vocabulary = gobo.Vocabulary.from_tokens(TOKENS, [EOS], eos=[EOS], client=client)
for number in range(20):
    print(client.get(vocabulary, gobo.Constraint.regex(f"both{number}[a-z]+")).key)
"""


def test_processes_that_ask_for_the_same_get_the_same(daemon):
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    asking = [
        subprocess.Popen([sys.executable, "-c", ASKING, daemon.store], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path})
        for _ in range(3)
    ]
    answers = [one.communicate(timeout=120)[0] for one in asking]
    assert [one.returncode for one in asking] == [0] * 3
    assert len(set(answers)) == 1 and len(answers[0].split()) == 20
