"""Disks that are full or may only be read, files that change under a matcher, workers that are killed, processes that publish one key:
a request is served by the next in order, or fails by name, and the counters say so. The interpreter lives."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import gobo_masks as gobo
from conftest import EOS, TOKENS, mask_of, rows_of
from processes import workers

A = TOKENS.index(b"a")
HERE = pathlib.Path(__file__).parent


def open_client(store, **options):
    client = gobo.Client(store, **{"timeout": 60, **options})
    return client, gobo.Vocabulary.from_tokens(TOKENS, [EOS], eos=[EOS], client=client)


PREAMBLE = """
import os, sys
import gobo_masks as gobo
from conftest import EOS, TOKENS, mask_of
store = sys.argv[1]

def open_client(**options):
    client = gobo.Client(store, **{"timeout": 60, **options})
    return client, gobo.Vocabulary.from_tokens(TOKENS, [EOS], eos=[EOS], client=client)
"""


def run(script, store, **options):
    """A process of its own, over a store; what it prints."""
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run([sys.executable, "-c", PREAMBLE + script, store], capture_output=True, text=True, timeout=300, env=environment, **options)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()


# -- disks ------------------------------------------------------------------------------------------------------------------

NO_ROOM = """
import resource
# Files of more than 4 KiB cannot be written, by the worker either: writing fails as it does on a full disk.
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
client, vocabulary = open_client()
try:
    client.get(vocabulary, gobo.Constraint.json())
except gobo.UnavailableError as error:
    counts = client.stats()
    print(error.kind, counts["failures"], counts["fallback"]["store_failed"] > 0, counts["in_memory"], "local worker" in str(error))
# What has been mapped by others is served all the same.
print(vocabulary.digest)
"""


def test_a_disk_without_room_fails_the_request_by_name(tmp_path):
    assert run(NO_ROOM, tmp_path)[:5] == ["busy", "1", "True", "0", "True"]
    assert not list(tmp_path.rglob(".tmp-*")), "nothing is left behind"


FULL = """
client, vocabulary = open_client()
sources = []
for number in range(400):
    index = client.get(vocabulary, gobo.Constraint.choice([f"{number}-{item:04x}" for item in range(400)]))
    assert mask_of(index.matcher())
    sources.append((index.source, index.path is None))
assert {source for source, _ in sources} == {"local"}
assert not sources[0][1] and sources[-1][1], "published as long as there is room, then kept in memory"
counts = client.stats()
assert counts["failures"] == 0 and counts["in_memory"] == sum(is_none for _, is_none in sources)
print("store_failed" in counts["fallback"])
"""


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], capture_output=True).returncode != 0:
        pytest.skip("no small disk can be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_keeps_indices_in_memory(small_disk):
    assert run(FULL, small_disk) == ["True"]


PUBLISHED = """
client, vocabulary = open_client()
print(client.get(vocabulary, gobo.Constraint.regex("published")).source)
"""

READ_ONLY = """
client, vocabulary = open_client()
print(client.get(vocabulary, gobo.Constraint.regex("published")).source)
index = client.get(vocabulary, gobo.Constraint.regex("not published"))
assert mask_of(index.matcher()) and client.find(vocabulary, gobo.Constraint.regex("not published")).source == "map"
counts = client.stats()
print(index.source, index.path, counts["in_memory"], counts["fallback"]["store_failed"] > 0, counts["failures"])
"""


def test_a_store_that_may_only_be_read_serves_what_it_has(small_disk):
    # By a process of its own: a disk on which a file is open for writing does not become one that may only be read.
    assert run(PUBLISHED, small_disk) == ["local"]
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert run(READ_ONLY, small_disk) == ["host", "local", "None", "1", "True", "0"]


# -- files that change ------------------------------------------------------------------------------------------------------


def test_an_index_that_is_evicted_or_replaced_under_a_matcher(tmp_path):
    client, vocabulary = open_client(tmp_path)
    constraint, other = gobo.Constraint.regex("a*b"), gobo.Constraint.regex("c+")
    index = client.get(vocabulary, constraint)
    matcher, expected, content = index.matcher(), mask_of(index.matcher()), pathlib.Path(index.path).read_bytes()

    def goes_on():
        return matcher.accept_token(A) and mask_of(matcher) == expected and mask_of(client.find(vocabulary, constraint).matcher()) == expected

    os.remove(index.path)
    assert goes_on(), "what is mapped stays"
    fresh, same = open_client(tmp_path)
    assert fresh.find(same, constraint) is None and fresh.get(same, constraint).source == "local"
    # Another index under its name: found out when it is opened, and made again.
    os.remove(index.path)
    shutil.copy(client.get(vocabulary, other).path, index.path)
    fresh, same = open_client(tmp_path)
    again = fresh.get(same, constraint)
    assert again.source == "local" and again.path == index.path and mask_of(again.matcher()) == expected
    assert pathlib.Path(index.path).read_bytes() == content and goes_on()


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 6}, "tags": {"type": "array", "items": {"enum": ["ab", "abc", 10]}}, "next": {"$ref": "#"}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("constraint", [gobo.Constraint.schema(SCHEMA), gobo.Constraint.regex("(ab|c){2,9}[0-9a-f]{4}")], ids=["schema", "regex"])
def test_a_file_that_is_overwritten_under_a_matcher_never_ends_the_process(tmp_path, constraint):
    """A mask may change then, but each call ends with an answer or with an error of gobo's."""
    client, vocabulary = open_client(tmp_path)
    index = client.get(vocabulary, constraint)
    sound, failed = pathlib.Path(index.path).read_bytes(), set()
    os.chmod(index.path, 0o644)
    for seed in range(60):
        chance = random.Random(seed)
        with open(index.path, "r+b") as file:
            file.write(sound)
            file.flush()
            matchers = [index.matcher() for _ in range(3)]
            for matcher in matchers[1:]:
                for _ in range(chance.randrange(6)):
                    matcher.accept_token(chance.choice(sorted(mask_of(matcher)) or [EOS]))
            # The header stays: it has been read. In place, so that the map sees it.
            for _ in range(chance.choice([1, 20, 400])):
                file.seek(chance.randrange(128, len(sound)))
                file.write(bytes(chance.randrange(256) for _ in range(chance.choice([1, 4, 64])))[: len(sound) - file.tell()])
        bitmask = gobo.allocate_token_bitmask(6, 300)
        for _ in range(60):
            matcher = chance.choice(matchers)
            ids = [chance.randrange(300) for _ in range(3)]
            calls = {
                "fill": lambda: matcher.fill_next_token_bitmask(bitmask, 1),
                "accept": lambda: matcher.accept_token(ids[0]),
                "accept several": lambda: matcher.accept_tokens(ids),
                "validate": lambda: matcher.validate_tokens(ids),
                "chain": lambda: matcher.fill_draft_chain(bitmask, 0, ids),
                "tree": lambda: matcher.traverse_draft_tree([1, 2, -1], [-1, -1, -1], [0, *ids[:2]], bitmask),
                "batch": lambda: gobo.batch_fill_next_token_bitmask(matchers, bitmask),
                "rollback": lambda: matcher.rollback(chance.randrange(3)),
                "forced": lambda: len(matcher.forced()) <= 1 << 20,
                "ask": lambda: (matcher.is_terminated(), matcher.is_completed(), matcher.fork()),
                "report": lambda: index.report,
            }
            call = chance.choice(list(calls))
            try:
                calls[call]()
            except gobo.GoboError as error:
                if error.kind == "corrupt":
                    failed.add(call)
    assert "fill" in failed, "some damage is seen"
    # Another process sees that it is no sound file, or what is left of it; nothing hangs.
    fresh, same = open_client(tmp_path)
    assert mask_of(fresh.get(same, gobo.Constraint.regex("unharmed")).matcher())


def test_a_file_that_is_damaged_between_processes_is_made_again(tmp_path):
    client, vocabulary = open_client(tmp_path)
    constraint = gobo.Constraint.regex("[0-9]{2}")
    index = client.get(vocabulary, constraint)
    expected, content = mask_of(index.matcher()), bytearray(pathlib.Path(index.path).read_bytes())
    for damaged in (b"", bytes(content[:50]), b"x" * len(content), bytes(content[:100]) + bytes([content[100] ^ 1]) + bytes(content[101:])):
        os.remove(index.path)
        pathlib.Path(index.path).write_bytes(damaged)
        fresh, same = open_client(tmp_path)
        assert fresh.find(same, constraint) is None, "a damaged file is none"
        again = fresh.get(same, constraint)
        assert again.source == "local" and mask_of(again.matcher()) == expected


def test_a_vocabulary_that_is_gone_is_written_again(tmp_path):
    client, vocabulary = open_client(tmp_path)
    for file in tmp_path.glob("v0/vocab/*/*"):
        file.unlink()
    assert client.get(vocabulary, gobo.Constraint.regex("a+")).source == "local"
    fresh, same = open_client(tmp_path)
    assert same.digest == vocabulary.digest and fresh.find(same, gobo.Constraint.regex("a+")).source == "host"


# -- workers and processes --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not pathlib.Path("/proc/self/stat").exists(), reason="no /proc")
def test_a_local_worker_that_is_killed_is_replaced(tmp_path):
    client, vocabulary = open_client(tmp_path)
    before = set(workers())
    pendings = [client.request(vocabulary, gobo.Constraint.choice([f"{number}-{item:05x}" for item in range(3000)])) for number in range(40)]
    while not any(pending.done() for pending in pendings):
        time.sleep(0.001)
    for worker in set(workers()) - before:
        os.kill(worker, signal.SIGKILL)
    for pending in pendings:
        assert pending.result().key == pending.key
    counts = client.stats()
    assert counts["found"]["local"] == 40 and counts["failures"] == 0
    assert set(counts["fallback"]) <= {"no_daemon", "local_died"} and counts["fallback"].get("local_died", 0) <= 1


def test_sixteen_threads_start_one_compile(tmp_path):
    client, vocabulary = open_client(tmp_path)
    constraint = gobo.Constraint.choice([f"{item:05x}" for item in range(3000)])
    begin = threading.Barrier(16)

    def ask(_):
        begin.wait()
        return client.get(vocabulary, constraint).key

    with ThreadPoolExecutor(16) as threads:
        keys = list(threads.map(ask, range(16)))
    counts = client.stats()
    assert len(keys) == 16 and len(set(keys)) == 1 and counts["local_compiles"] == 1
    assert counts["found"]["local"] + counts["found"]["map"] == 16


PUBLISHING = """
client, vocabulary = open_client()
for number in range(12):
    index = client.get(vocabulary, gobo.Constraint.choice([f"{number}-{item:04x}" for item in range(600)]))
    assert index.path and mask_of(index.matcher())
    print(index.key)
assert client.stats()["failures"] == 0
"""


def test_processes_that_publish_the_same_keys_agree(tmp_path):
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: run(PUBLISHING, tmp_path), range(4)))
    assert len({tuple(keys) for keys in answers}) == 1 and len(answers[0]) == 12
    assert len(list(tmp_path.glob("v0/index/*/*"))) == 12 and not list(tmp_path.rglob(".tmp-*"))


# -- locks and the GIL ------------------------------------------------------------------------------------------------------

LOCKS = """
import threading
sys.setswitchinterval(1e-6)
client, vocabulary = open_client()
matcher = client.get(vocabulary, gobo.Constraint.regex("a*b")).matcher()
ended = matcher.fork()
bitmask, narrow = gobo.allocate_token_bitmask(2, 300), gobo.allocate_token_bitmask(2, 40)
logits = bytearray(4 * 300 * 3)
logits = memoryview(logits).cast("f", (3, 300))
wrong = [
    lambda: matcher.fill_next_token_bitmask(bitmask, 9),
    lambda: matcher.fill_next_token_bitmask(narrow),
    lambda: matcher.fill_draft_chain(bitmask, 1, [97, 97]),
    lambda: matcher.fill_draft_chain(narrow, 0, []),
    lambda: matcher.traverse_draft_tree([1, 0], [-1, -1], [0, 97], bitmask),
    lambda: matcher.traverse_draft_tree([-1], [-1], [0], bitmask, 7),
    lambda: gobo.batch_fill_next_token_bitmask([matcher, matcher], bitmask, [1, 1]),
    lambda: gobo.batch_fill_next_token_bitmask([matcher], narrow),
    lambda: gobo.batch_fill_next_token_bitmask([matcher], bitmask, [5]),
    lambda: gobo.apply_token_bitmask_inplace(logits, bitmask),
    lambda: gobo.apply_token_bitmask_inplace(logits, bitmask, indices=[2]),
    lambda: matcher.rollback(999),
]

def work(number):
    for turn in range(400):
        matcher.fill_next_token_bitmask(bitmask, number % 2)
        gobo.batch_fill_next_token_bitmask([matcher, ended], bitmask)
        try:
            wrong[(turn + number) % len(wrong)]()
        except gobo.InvalidError:
            continue
        raise SystemExit(f"{turn}: no error")

threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

def indices():
    # Python that runs while a call reads its arguments, and uses the same matrix.
    matcher.fill_next_token_bitmask(bitmask, 1)
    yield 1

gobo.apply_token_bitmask_inplace(logits, bitmask, indices=indices())
print("alive")
"""


NO_THREADS = """
import resource, threading
client, vocabulary = open_client()
index = client.get(vocabulary, gobo.Constraint.regex("a*b"))
matchers, bitmask = [index.matcher() for _ in range(3000)], gobo.allocate_token_bitmask(3000, 300)
if os.getuid() == 0:
    # The number of root's processes has no limit.
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
try:
    threading.Thread(target=print).start()
    print("a thread was started")
except RuntimeError:
    assert gobo.batch_fill_next_token_bitmask(matchers, bitmask) == [True] * 3000
    content = bytes(bitmask)
    assert len({content[40 * row : 40 * row + 40] for row in range(3000)}) == 1
    assert index.matcher().accept_token(97)
"""


def test_a_batch_is_filled_where_no_thread_can_be_started(tmp_path):
    if run(NO_THREADS, tmp_path):
        pytest.skip("the number of processes has no limit here")


def test_errors_are_raised_without_a_lock(tmp_path):
    """An exception is made by Python, which may give the GIL to a thread that waits for the lock of this very matrix."""
    assert run(LOCKS, tmp_path) == ["alive"]


def test_a_fork_waits_for_batches_however_many_forks_there_are(index_of):
    """The hooks count: the first fork that is over does not let batches begin before the second one."""
    from gobo_masks import _native

    matchers = [index_of(gobo.Constraint.regex("a*b")).matcher() for _ in range(8)]
    bitmask = gobo.allocate_token_bitmask(8, 300)
    expected = mask_of(matchers[0])
    _native._before_fork()
    _native._before_fork()
    for _ in range(3):
        assert gobo.batch_fill_next_token_bitmask(matchers, bitmask) == [True] * 8
        _native._after_fork_in_parent()
    assert gobo.batch_fill_next_token_bitmask(matchers, bitmask) == [True] * 8
    assert len({tuple(row) for row in rows_of(bitmask)}) == 1 and mask_of(matchers[0]) == expected
