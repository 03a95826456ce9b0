"""The masks of a tree of 8 drafts: through SGLang's `traverse_tree` with XGrammar and with gobo, and gobo's native call alone.

    PYTHONPATH=SGLANG python benches/python/drafts.py

Without SGLang the native call alone is measured, which is said aloud.
"""

import sys
import tempfile

import figures
import gobo_masks as gobo
import numpy as np
from figures import clock, since

SCHEMA = '{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}'
TEXT = '{"name": "Ada Lovelace", "age": 36}'
ROUNDS, WARM_UP = 2000, 200


def drafts_of(tokenizer):
    return tokenizer.encode(TEXT, add_special_tokens=False)[:8]


def shapes(ids):
    """Trees as SGLang has them: the first child and the next sibling of each node, and its token; node 0 is the text so far."""
    return {
        "chain of 8": ([1, 2, 3, 4, 5, 6, 7, -1], [-1] * 8, [0, *ids[:7]]),
        "2 branches": (
            [1, 3, 4, 5, 6, 7, -1, -1],
            [-1, 2, -1, -1, -1, -1, -1, -1],
            [0, ids[0], ids[0], ids[1], ids[1], ids[2], ids[2], ids[3]],
        ),
    }


def through_sglang(tokenizer, index, width):
    import torch
    import xgrammar
    from gobo_masks.sglang.grammar import GoboGrammar, traverse_tree
    from sglang.srt.constrained.xgrammar_backend import MAX_ROLLBACK_TOKENS, XGrammarGrammar
    from sglang.srt.speculative import spec_utils

    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=width, stop_token_ids=[tokenizer.eos_token_id])
    compiled = xgrammar.GrammarCompiler(info).compile_json_schema(SCHEMA)
    matcher = xgrammar.GrammarMatcher(compiled, max_rollback_tokens=MAX_ROLLBACK_TOKENS)
    stock = spec_utils.traverse_tree
    grammars = {
        "xgrammar": (stock, XGrammarGrammar(matcher, width, compiled, None)),
        "gobo": (lambda *all, **named: traverse_tree(stock, *all, **named), GoboGrammar(index, width, None, SCHEMA, "json")),
    }
    for shape, lists in shapes(drafts_of(tokenizer)).items():
        arrays = [torch.tensor(numbers) for numbers in lists]
        samples = {name: [] for name in grammars}
        for turn in range(ROUNDS + WARM_UP):
            for name in figures.in_turns(grammars):
                traverse, grammar = grammars[name]
                mask = grammar.allocate_vocab_mask(width, 8, "cpu")
                begin = clock()
                traverse(*arrays, grammar, mask, vocab_size=width)
                if turn >= WARM_UP:
                    samples[name].append(since(begin))
        for name, times in samples.items():
            figures.row("tree", f"{shape}, through SGLang", name, times)
        name = "tree_of_8_sglang_" + shape.replace(" ", "_")
        figures.at_most(name, figures.quantile(samples["gobo"], 0.5), "us", 20)


def native(tokenizer, index, width):
    matcher = index.matcher()
    bitmask = gobo.allocate_token_bitmask(8, width)
    ready = np.random.default_rng(0).integers(-(2**31), 2**31, (8, (width + 31) // 32), dtype=np.int32)
    matrix = np.asarray(bitmask)
    for shape, lists in shapes(drafts_of(tokenizer)).items():
        arrays = [np.array(numbers, dtype=np.int64) for numbers in lists]
        samples = {"gobo": [], "floor": []}
        for turn in range(ROUNDS + WARM_UP):
            begin = clock()
            np.copyto(matrix, ready)
            copied = since(begin)
            begin = clock()
            matcher.traverse_draft_tree(*arrays, bitmask)
            filled = since(begin)
            if turn >= WARM_UP:
                samples["floor"].append(copied)
                samples["gobo"].append(filled)
        for name, times in samples.items():
            figures.row("tree", f"{shape}, the native call", name, times, note="a copy of 8 rows" if name == "floor" else "")
        figures.at_most("tree_of_8_" + shape.replace(" ", "_"), figures.quantile(samples["gobo"], 0.5), "us", 20)


def main():
    tokenizer = figures.tokenizer()
    with tempfile.TemporaryDirectory(prefix="gobo-bench-") as store:
        client = gobo.Client(store, timeout=120.0)
        vocabulary = gobo.Vocabulary.of(tokenizer, eos=[tokenizer.eos_token_id], client=client)
        index = client.get(vocabulary, gobo.Constraint.schema(SCHEMA, closed=True))
        native(tokenizer, index, vocabulary.width)
        try:
            through_sglang(tokenizer, index, vocabulary.width)
        except ImportError as error:
            print(f"the tree through SGLang is left out: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
