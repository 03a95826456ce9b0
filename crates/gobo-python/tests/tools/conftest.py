"""Structural tags as XGrammar's own builders make them for calls of tools, under gobo. Elsewhere than in an environment of `.ci/engines` this
folder is skipped."""

import importlib.util
import json
import os
import pathlib
import tempfile

import pytest

HAS_XGRAMMAR = importlib.util.find_spec("xgrammar") is not None
collect_ignore_glob = [] if HAS_XGRAMMAR else ["test_*.py"]

DATA = pathlib.Path(os.environ.get("GOBO_DATA", pathlib.Path(__file__).parents[4].parent / "shared" / "data"))

# What the models of these families have as tokens of their own.
SPECIAL = [
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    *("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>", "｜DSML｜"),
    *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>"),
    *("<|tool_call_end|>", "<|open|>", "<|close|>", "<|sep|>", "<minimax:tool_call>", "</minimax:tool_call>"),
    *("<|channel|>", "<|message|>", "<|constrain|>", "<|call|>", "<|end|>", "<|return|>", "<|start|>"),
]


def pytest_configure(config):
    # Before anything makes the default client.
    config.gobo_store = tempfile.TemporaryDirectory(prefix="gobo-tools-")
    os.environ["GOBO_STORE"] = config.gobo_store.name
    for name in ("GOBO_SERVER", "GOBO_DISABLE", "GOBO_FALLBACK", "GOBO_JSON_WHITESPACE", "GOBO_LOCAL"):
        os.environ.pop(name, None)


def pytest_unconfigure(config):
    config.gobo_store.cleanup()


@pytest.fixture(scope="session")
def tokenizer():
    """GPT-2's, with the control tokens of all families."""
    from transformers import PreTrainedTokenizerFast

    path = DATA / "tokenizers" / "gpt2" / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"{path} is not there (GOBO_DATA)")
    made = PreTrainedTokenizerFast(tokenizer_file=str(path), eos_token="<|endoftext|>")
    made.add_tokens(SPECIAL, special_tokens=True)
    return made


@pytest.fixture(scope="session")
def vocabulary(tokenizer):
    import gobo_masks

    return gobo_masks.Vocabulary.of(tokenizer)


@pytest.fixture(scope="session")
def calls():
    """Functions of the Berkeley Function-Calling Leaderboard, each with its parameters and valid arguments in their order."""
    path = DATA / "jsonschemabench" / "BFCL.jsonl"
    if not path.is_file():
        pytest.skip(f"{path} is not there (GOBO_DATA)")
    found = {}
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        for name, schema in entry["schema"].get("properties", {}).items():
            for test in entry["tests"]:
                if test["valid"] and name in test["data"]:
                    found.setdefault(name, (schema, in_order(schema, test["data"][name])))
    return [(name, *call) for name, call in found.items()]


def in_order(schema, value):
    """A value with its members as the schema lists them, others behind them."""
    if isinstance(value, list):
        items = schema.get("items", {}) if isinstance(schema, dict) else {}
        return [in_order(items, item) for item in value]
    if not isinstance(value, dict) or not isinstance(schema, dict):
        return value
    known = schema.get("properties", {})
    names = [name for name in known if name in value] + [name for name in value if name not in known]
    return {name: in_order(known.get(name, {}), value[name]) for name in names}
