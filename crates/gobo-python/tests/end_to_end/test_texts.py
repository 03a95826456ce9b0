"""Texts of a model under constraints, judged by libraries that are not gobo's.

Each prompt of a batch has a constraint of its own, and prompts have different lengths. A random model would write endless strings
and lists where a constraint lets it; such a text is cut, and only finished ones are judged.
"""

import pytest
import torch
from constraints import cases
from gobo_masks import Vocabulary
from gobo_masks.transformers import generate

CASES = list(cases())
MODES = {
    "greedy": {"do_sample": False},
    "sampled": {"do_sample": True, "top_k": 0},
    "beams": {"num_beams": 4, "num_return_sequences": 4},
}


@pytest.fixture(scope="session")
def vocabulary(tokenizer):
    return Vocabulary.of(tokenizer, eos=[tokenizer.eos_token_id])


@pytest.mark.parametrize("mode", MODES)
def test_every_finished_text_is_valid(model, tokenizer, vocabulary, mode):
    finished, options = 0, MODES[mode]
    for seed, begin in enumerate(range(0, len(CASES), 10)):
        part = CASES[begin : begin + 10]
        prompts = ["word " * (1 + 3 * number) for number in range(len(part))]
        inputs = tokenizer(prompts, return_tensors="pt", padding=True, return_token_type_ids=False)
        torch.manual_seed(seed)
        constraints = [constraint for _, constraint, _ in part]
        output = generate(model, **inputs, constraint=constraints, tokenizer=vocabulary, max_new_tokens=40, **options)
        rows_each = len(output) // len(part)
        for row, ids in enumerate(output[:, inputs["input_ids"].shape[1] :].tolist()):
            name, _, judge = part[row // rows_each]
            if tokenizer.eos_token_id not in ids or ids[0] == tokenizer.eos_token_id:
                continue  # cut, or a beam in excess of the texts there are
            text = tokenizer.decode(ids[: ids.index(tokenizer.eos_token_id)], clean_up_tokenization_spaces=False)
            assert judge(text), f"{name}: {text!r}"
            finished += 1
    assert finished > 0.8 * len(CASES), "most texts end, else this test says nothing"


def test_a_constraint_that_holds_shuts_nothing_out(tokenizer, vocabulary):
    """Valid texts as the tokenizer cuts them are taken, to their ends."""
    from gobo_masks import default_client

    texts = {
        "regex [0-9]{4}": "2026-11-23",
        "choice ['New": "São Paulo",
        "schema {'type': 'object', 'properties': {'name'": '{"name": "Bo", "ok": false}',
        "gbnf root ::= term": "7+(1+22)",
        "json": '{"a": [1, 2.5e3, null], "ß": "\\u00e9"}',
    }
    for begin, text in texts.items():
        (constraint,) = (constraint for name, constraint, _ in CASES if name.startswith(begin))
        matcher = default_client().get(vocabulary, constraint).matcher()
        ids = tokenizer.encode(text, add_special_tokens=False)
        assert matcher.accept_tokens([*ids, tokenizer.eos_token_id]) and matcher.is_terminated(), text
