"""Real tokenizers and a model of random weights; needs torch, `transformers`, and the tokenizers of GOBO_DATA."""

import importlib.util
import os
import tempfile
from pathlib import Path

import pytest

_LIBRARIES = ("torch", "transformers", "jsonschema")

if any(importlib.util.find_spec(name) is None for name in _LIBRARIES):
    collect_ignore_glob = ["test_*.py"]
else:
    os.environ["GOBO_STORE"] = tempfile.mkdtemp(prefix="gobo-end-to-end-")
    os.environ.pop("GOBO_SERVER", None)

_ENDS = {"gpt2": "<|endoftext|>", "llama-3.1": "<|end_of_text|>", "qwen2.5": "<|endoftext|>"}


@pytest.fixture(scope="session", params=list(_ENDS))
def tokenizer(request):
    data = os.environ.get("GOBO_DATA")
    if not data:
        pytest.skip("GOBO_DATA names no folder with tokenizers")
    from transformers import PreTrainedTokenizerFast

    end = _ENDS[request.param]
    file = Path(data, "tokenizers", request.param, "tokenizer.json")
    return PreTrainedTokenizerFast(tokenizer_file=str(file), eos_token=end, pad_token=end, padding_side="left")


@pytest.fixture(scope="session")
def model(tokenizer):
    """A small GPT-2 whose logits are wider than the vocabulary, as models pad them."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    end = tokenizer.eos_token_id
    width = (len(tokenizer) + 127) // 64 * 64
    config = GPT2Config(
        vocab_size=width, n_positions=1024, n_embd=8, n_layer=1, n_head=1, initializer_range=0.5,
        bos_token_id=end, eos_token_id=end, pad_token_id=end,
    )  # fmt: skip
    return GPT2LMHeadModel(config).eval()


def pytest_collection_modifyitems(items):
    """What the libraries warn of is no failure of gobo's."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))
            item.add_marker(pytest.mark.data)
