"""The command line's library of constraints: masks through Python are those through Rust, id for id."""

import json
import os
import pathlib
import random
import subprocess

import pytest

import gobo_masks as gobo
from conftest import mask_of

LIBRARY = pathlib.Path(__file__).parents[2] / "gobo-cli" / "library" / "everyday.jsonl"
CASES = [json.loads(line) for line in LIBRARY.read_text().splitlines() if line]


def constraint_of(case):
    if "regex" in case:
        return gobo.Constraint.regex(case["regex"])
    if "choice" in case:
        return gobo.Constraint.choice(case["choice"])
    if "grammar" in case:
        return gobo.Constraint.gbnf((LIBRARY.parent / case["grammar"]["file"]).read_text() if isinstance(case["grammar"], dict) else case["grammar"])
    return gobo.Constraint.json(whitespace=case["json"])


def cut(vocabulary, text: bytes):
    """A segmentation of a text: at each place the longest token, as far as it has at most 16 bytes."""
    ids = {vocabulary.token_bytes(id): id for id in reversed(range(len(vocabulary))) if not vocabulary.is_special(id)}
    taken = []
    while text:
        token = next(text[:length] for length in range(min(16, len(text)), 0, -1) if text[:length] in ids)
        taken.append(ids[token])
        text = text[len(token) :]
    return taken


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_masks_are_those_of_the_command_line(client, gpt2, case):
    binary = os.environ.get("GOBO_BINARY")
    if not binary:
        pytest.skip("GOBO_BINARY names no command")
    index = client.get(gpt2, constraint_of(case))
    chance = random.Random(case["id"])
    for text in case["accept"][:3]:
        for end in {0, len(text), chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)}:
            command = [binary, "mask", "--json", "--ids", "--store", client.store, "--index", index.path, "--text", text[:end]]
            printed = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)
            matcher = index.matcher()
            assert matcher.accept_tokens(cut(gpt2, text[:end].encode())), text[:end]
            assert matcher.is_completed() is printed["complete"]
            assert mask_of(matcher) - set(matcher.eos) == set(printed["ids"]) - set(matcher.eos)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_texts_are_taken_as_the_library_says(client, gpt2, case):
    index = client.get(gpt2, constraint_of(case))
    for texts, is_accepted in ((case["accept"], True), (case["reject"], False)):
        for text in texts:
            matcher = index.matcher()
            taken = matcher.accept_tokens(cut(gpt2, text.encode()))
            assert (taken and matcher.is_completed()) is is_accepted, text
