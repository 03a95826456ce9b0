"""SGLang's own classes on a CPU, over a store of the tests' own and a small byte-level tokenizer.

SGLang reads its configuration from a context that a launched server publishes; here the namespaces that the constrained-decoding
modules read are published by hand. Everything else is the engine's.
"""

import importlib.util
import os
import sys
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # processes, small_tokenizer

if importlib.util.find_spec("sglang") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    os.environ["GOBO_STORE"] = tempfile.mkdtemp(prefix="gobo-sglang-")
    os.environ.pop("GOBO_SERVER", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sglang.srt import runtime_context
        from sglang.srt.constrained import base_grammar_backend, grammar_manager, xgrammar_backend  # noqa: F401
        from sglang.srt.speculative import spec_utils  # noqa: F401

    from small_tokenizer import small_tokenizer

    from gobo_masks import sglang as adapter


@pytest.fixture(scope="session")
def tokenizer():
    return small_tokenizer()


@pytest.fixture
def width(tokenizer):
    """Logits are padded to a multiple of 64, as models have them."""
    return (len(tokenizer) + 63) // 64 * 64


@pytest.fixture
def publish(monkeypatch):
    """Publishes a configuration: `publish(reasoning_parser="qwen3", tp_size=2)`. What is not given has SGLang's default."""

    def publish(**given):
        config = {
            "grammar_backend": "gobo",
            "reasoning_parser": None,
            "enable_strict_thinking": False,
            "constrained_json_disable_any_whitespace": False,
            "constrained_json_max_whitespace_cnt": None,
            "constrained_json_whitespace_pattern": None,
            "skip_tokenizer_init": False,
            "tp_size": 1,
            "pp_size": 1,
            "pp_rank": 0,
            "speculative_algorithm": None,
        } | given
        serving = SimpleNamespace(**config)
        bags = {"serving": serving, "exec": SimpleNamespace(kernel=serving), "parallel": serving}
        monkeypatch.setattr(runtime_context._CONTEXT, "_config_bags", bags)
        overridden = []

        def override(self, source, **fields):
            overridden.append((source, fields))
            vars(serving).update(fields)

        monkeypatch.setattr(runtime_context.RuntimeContext, "override", override)
        monkeypatch.setattr(runtime_context.ParallelContext, "_read", lambda self, name: getattr(serving, name))
        return SimpleNamespace(server_args=serving, overridden=overridden)

    return publish


@pytest.fixture
def registered(monkeypatch):
    """gobo's plug-in has run, and is forgotten afterwards."""
    from sglang.srt import server_args

    monkeypatch.setattr(base_grammar_backend, "GRAMMAR_BACKEND_REGISTRY", {})
    choices = list(server_args.GRAMMAR_BACKEND_CHOICES)
    adapter.register()
    yield
    server_args.GRAMMAR_BACKEND_CHOICES[:] = choices


@pytest.fixture
def make_backend(registered, publish, tokenizer, width):
    """`make_backend(**config)`: what SGLang's own `create_grammar_backend` gives for `--grammar-backend gobo`."""

    def make(eos=None, **config):
        published = publish(**config)
        return base_grammar_backend.create_grammar_backend(
            published.server_args,
            tokenizer,
            width,
            eos or {tokenizer.eos_token_id},
            tokenizer.encode("</think>") if config.get("reasoning_parser") else None,
        )

    return make


@pytest.fixture
def backend(make_backend):
    """A backend without a reasoning parser, of a single rank."""
    return make_backend()


def pytest_collection_modifyitems(items):
    """What SGLang warns of is no failure of gobo's."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))
