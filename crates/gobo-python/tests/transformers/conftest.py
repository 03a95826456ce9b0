"""`transformers` with a model of a few thousand parameters and no file; skipped where torch is not installed."""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # small_tokenizer

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    os.environ["GOBO_STORE"] = tempfile.mkdtemp(prefix="gobo-transformers-")
    os.environ.pop("GOBO_SERVER", None)

    from small_tokenizer import small_tokenizer


@pytest.fixture(scope="session")
def tokenizer():
    tokenizer = small_tokenizer()
    tokenizer.padding_side = "left"
    return tokenizer


@pytest.fixture(scope="session")
def make_model(tokenizer):
    """`make_model(seed, vocab_size)`: a GPT-2 of random weights, whose scores differ enough to be decided."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    def make(seed=0, vocab_size=320):
        torch.manual_seed(seed)
        config = GPT2Config(
            vocab_size=vocab_size,
            n_positions=256,
            n_embd=16,
            n_layer=2,
            n_head=2,
            initializer_range=0.5,
            bos_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        return GPT2LMHeadModel(config).eval()

    return make


@pytest.fixture(scope="session")
def model(make_model):
    return make_model()


def pytest_collection_modifyitems(items):
    """What transformers warns of is no failure of gobo's."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))
