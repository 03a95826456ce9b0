"""Whatever fails ends one request at most: a matcher in the middle of a fill, no daemon, a verdict; and the switches."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gobo_masks
from gobo_masks.vllm._grammar import GoboGrammar


class Broken:
    """A matcher that fails."""

    def __init__(self, real, what):
        self.real = real
        self.what = what

    def __getattr__(self, name):
        if name in self.what:

            def fails(*_):
                raise gobo_masks.GoboError("the file is damaged")

            return fails
        return getattr(self.real, name)


def broken(grammar, *what):
    return GoboGrammar(Broken(grammar.matcher, what), grammar.rows)


def test_a_matcher_that_fails_inside_fill_ends_its_request_alone(engine):
    one = engine()
    requests = [one.request(regex="[0-9]+") for _ in range(3)]
    grammar = one.grammar(requests[1])
    requests[1].structured_output_request.grammar = broken(grammar, "fill_next_token_bitmask")
    before = gobo_masks.stats()["fallback"].get("matcher_failed", 0)
    masks = one.masks(requests)
    eos = one.tokenizer.eos_token_id
    assert list(np.flatnonzero(masks[1][0])) == [eos]
    assert not one.manager.accept_tokens(requests[1], [eos])
    assert gobo_masks.stats()["fallback"]["matcher_failed"] == before + 1
    for request, (mask,) in (requests[0], masks[0]), (requests[2], masks[2]):
        token = int(np.flatnonzero(mask)[0])
        assert one.accept(request, [token])


@pytest.mark.parametrize("rows", [4, 200])
def test_every_matcher_of_a_batch_fails_and_the_engine_lives(engine, rows):
    one = engine()
    requests = [one.request(regex="[0-9]+") for _ in range(rows)]
    for request in requests[::2]:
        request.structured_output_request.grammar = broken(one.grammar(request), "fill_next_token_bitmask")
    masks = one.masks(requests)
    assert [len(np.flatnonzero(mask)) == 1 for (mask,) in masks] == [row % 2 == 0 for row in range(rows)]


def test_a_rollback_that_fails_does_not_raise(engine):
    one = engine(drafts=4)
    request = one.request(regex="[0-9]+")
    request.structured_output_request.grammar = broken(one.grammar(request), "rollback")
    digit = one.tokenizer.convert_tokens_to_ids("1")
    one.masks([request], [[digit] * 4])
    assert not one.manager.accept_tokens(request, [digit])
    (rows,) = one.masks([request])
    assert list(np.flatnonzero(rows[0])) == [one.tokenizer.eos_token_id]


@pytest.mark.parametrize("what", ["accept_tokens", "validate_tokens", "is_terminated"])
def test_other_calls_do_not_raise_either(engine, what):
    one = engine()
    request = one.request(regex="[0-9]+")
    request.structured_output_request.grammar = broken(one.grammar(request), what)
    digit = one.tokenizer.convert_tokens_to_ids("1")
    one.manager.validate_tokens(request, [digit])
    one.manager.accept_tokens(request, [digit])
    one.masks([request])


def test_a_matrix_of_another_kind_fails_its_requests_alone(engine):
    import torch

    one = engine()
    grammar = one.grammar(one.request(regex="[0-9]+"))
    words = (one.width + 31) // 32
    grammar.fill_bitmask(torch.zeros((1, words), dtype=torch.int64), 0)
    assert not grammar.accept_tokens("", [1])
    for matrix, row in ((torch.zeros((1, words), dtype=torch.int32), 1), (torch.zeros((1, 3), dtype=torch.int32), 0)):
        grammar = one.grammar(one.request(regex="[0-9]+"))
        grammar.fill_bitmask(matrix, row)
        assert not grammar.accept_tokens("", [1])


def test_ids_outside_of_the_logits_are_refused(engine):
    one = engine()
    grammar = one.grammar(one.request(regex="[0-9]+"))
    assert not grammar.accept_tokens("", [1 << 40])
    grammar = one.grammar(one.request(regex="[0-9]+"))
    assert grammar.validate_tokens([one.width + 5]) == []


SCRIPT = """
import os, sys
sys.path.insert(0, {folder!r})
import conftest, gobo_masks
class Config: pass
conftest.pytest_configure(Config)
{before}
import gobo_masks.vllm
from vllm.v1 import structured_output
stock = structured_output.XgrammarBackend
gobo_masks.vllm.register()
gobo_masks.vllm.register()
is_stock = structured_output.XgrammarBackend is stock
{after}
"""


# Imports vLLM once, half a minute, and runs each script in a fork of itself: as in a new process, but for that half minute.
NURSERY = """
import atexit, json, os, sys, traceback
import vllm.sampling_params, vllm.tokenizers.hf, vllm.v1.request, vllm.v1.structured_output
for line in sys.stdin:
    script, environ, out, err = json.loads(line)
    child = os.fork()
    if child == 0:
        os.environ.clear()
        os.environ.update(environ)
        for path, number in ((out, 1), (err, 2)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
        code = 0
        try:
            exec(script, {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            code = 1
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a script in a process where gobo is not registered: the last line of its output, and its standard error."""
    nursery = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def run(before="", after="print(is_stock)"):
        script = SCRIPT.format(folder=os.path.dirname(__file__), before=before, after=after)
        files = [tmp_path_factory.mktemp("run") / name for name in ("out", "err")]
        print(json.dumps([script, dict(os.environ), *map(str, files)]), file=nursery.stdin, flush=True)
        status = nursery.stdout.readline().strip()
        out, err = (file.read_text() for file in files)
        assert status == "0", err
        return out.strip().splitlines()[-1], err

    yield run
    nursery.kill()
    nursery.wait()


REQUEST = """
one = conftest.Engine(conftest.tokenizer("gpt2", "<|endoftext|>"), backend="xgrammar")
try:
    grammar = one.grammar(one.request({constraint}))
    print(type(grammar).__name__, gobo_masks.stats()["fallback"])
except Exception as error:
    print(type(error).__name__, str(error).replace(chr(10), " "))
"""


REFUSE = """
os.environ["GOBO_FALLBACK"] = "refuse"
import gobo_masks.vllm._validators
gobo_masks.vllm._validators.WAIT_SECONDS = {wait}
"""


def test_under_gobo_disable_nothing_changes(run):
    assert run(before='os.environ["GOBO_DISABLE"] = "1"')[0] == "True"


def test_a_release_it_was_not_tested_with_stays_as_it_was(run):
    before = "import importlib.metadata as m; real = m.version\nm.version = lambda name: '0.34.0' if name == 'vllm' else real(name)"
    last, log = run(before=before)
    assert last == "True"
    assert log.count("gobo leaves vLLM as it is: vllm 0.34.0 is none of those that it was tested with") == 1


def test_another_signature_leaves_vllm_as_it_was(run):
    before = (
        "from vllm.v1.structured_output import backend_guidance\n"
        "backend_guidance.validate_guidance_grammar = lambda sampling_params, tokenizer=None, more=None: None"
    )
    last, log = run(before=before)
    assert last == "True"
    assert log.count("gobo leaves vLLM as it is") == 1 and "(sampling_params, tokenizer, more)" in log


def test_without_a_daemon_and_a_local_worker_the_stock_engine_serves_what_its_validator_takes(run, gpt2):
    last, log = run(before='os.environ["GOBO_LOCAL"] = "0"', after=REQUEST.format(constraint="regex='[0-9]+'"))
    assert last.startswith("XgrammarGrammar") and "'unavailable': 1" in last


def test_without_a_daemon_and_a_local_worker_the_rest_fails_by_name(run, gpt2):
    last, log = run(
        before='os.environ["GOBO_LOCAL"] = "0"', after=REQUEST.format(constraint="json={'type': 'integer', 'multipleOf': 7}")
    )
    assert last.startswith("VLLMValidationError") and "gobo: " in last


STOCK = """
one = conftest.Engine(conftest.tokenizer("gpt2", {eos!r}), backend="xgrammar", **{options})
for constraint in (dict(regex="[0-9]+"), dict(json={{"type": "integer", "multipleOf": 7}})):
    try:
        print(type(one.grammar(one.request(**constraint))).__name__, end=" ")
    except Exception as error:
        print(type(error).__name__, str(error).replace(chr(10), " "), end=" ")
print(gobo_masks.stats()["fallback"])
"""


def test_logits_narrower_than_the_vocabulary_are_the_stock_engines(run, gpt2):
    # XGrammar takes no stop id beyond the logits, and gpt2's own is its last id.
    last, log = run(after=STOCK.format(eos="!", options="dict(width=50_000)"))
    assert last.startswith("XgrammarGrammar VLLMValidationError") and "width 50000" in last and "'invalid'" in last


def test_a_tokenizer_that_gobo_cannot_read_is_the_stock_engines(run, gpt2):
    before = (
        "class Unread:\n"
        "    def of(*args, **kwargs):\n"
        "        raise gobo_masks.InvalidError('no such kind of tokenizer', kind='unsupported')\n"
        "import gobo_masks.vllm._words\n"
        "gobo_masks.vllm._words.Vocabulary = Unread"
    )
    last, log = run(before=before, after=STOCK.format(eos="<|endoftext|>", options="{}"))
    assert last.startswith("XgrammarGrammar VLLMValidationError") and "no such kind of tokenizer" in last and "'invalid'" in last


def test_a_panic_is_an_absence(run, gpt2):
    before = (
        "class Panic(BaseException): pass\n"
        "class Client:\n"
        "    def find(*args): raise Panic('on purpose')\n"
        "import gobo_masks.vllm._backends, gobo_masks.vllm._validators\n"
        "gobo_masks.vllm._backends.default_client = gobo_masks.vllm._validators.default_client = Client"
    )
    last, log = run(before=before, after=STOCK.format(eos="<|endoftext|>", options="{}"))
    assert last.startswith("XgrammarGrammar VLLMValidationError") and "on purpose" in last and "'failed'" in last


def test_under_refuse_a_verdict_fails_its_request_in_the_front_end(run, gpt2):
    last, log = run(before=REFUSE.format(wait=60), after=REQUEST.format(constraint="regex=r'(a)\\1'"))
    assert last.startswith("VLLMValidationError") and "backreference" in last


def test_under_refuse_a_verdict_that_comes_after_the_wait_fails_its_request_in_the_engine(run, gpt2):
    last, log = run(before=REFUSE.format(wait=0), after=REQUEST.format(constraint="regex=r'(a)\\1'"))
    assert last.startswith("RefusedError") and "backreference" in last


def test_the_plug_in_is_found_by_its_entry_point():
    import importlib.metadata

    (point,) = [one for one in importlib.metadata.entry_points(group="vllm.general_plugins") if one.name == "gobo"]
    assert point.value == "gobo_masks.vllm:register"
