"""The masks of a batch in one call, beside `memcpy` of as many rows into the same matrix, in turns.

    python benches/python/batch.py

Each text has an index and a place of its own among 16 schemas of JSONSchemaBench, so that no two rows next to each other are the same.
"""

import itertools
import tempfile

import figures
import gobo_masks as gobo
import numpy as np
from figures import clock, since

SIZES = (32, 64, 128, 256, 512)
SCHEMAS = 16
ROUNDS, WARM_UP = 400, 20


def texts(tokenizer, client, vocabulary):
    """Indices, each with the tokens of a text."""
    for schema, instances in figures.corpus(1, "Glaiveai2K"):
        ids = figures.ids_of(tokenizer, instances[0])
        try:
            index = client.get(vocabulary, gobo.Constraint.schema(schema, closed=True))
        except gobo.GoboError:
            continue
        if len(ids) >= 16 and index.matcher().accept_tokens(ids):
            yield index, ids


def main():
    tokenizer = figures.tokenizer()
    with tempfile.TemporaryDirectory(prefix="gobo-bench-") as store:
        client = gobo.Client(store, timeout=120.0)
        vocabulary = gobo.Vocabulary.of(tokenizer, eos=[tokenizer.eos_token_id], client=client)
        chosen = list(itertools.islice(texts(tokenizer, client, vocabulary), SCHEMAS))
        matchers = []
        for number in range(max(SIZES)):
            index, ids = chosen[number % len(chosen)]
            matcher = index.matcher()
            assert matcher.accept_tokens(ids[: number // len(chosen) % len(ids)])
            matchers.append(matcher)
        bitmask = gobo.allocate_token_bitmask(max(SIZES), vocabulary.width)
        matrix = np.asarray(bitmask)
        ready = np.random.default_rng(0).integers(-(2**31), 2**31, matrix.shape, dtype=np.int32)
        for size in SIZES:
            some, target, source = matchers[:size], matrix[:size], ready[:size]
            samples = {"gobo": [], "floor": []}
            calls = {
                "gobo": lambda: gobo.batch_fill_next_token_bitmask(some, bitmask),
                "floor": lambda: np.copyto(target, source),
            }
            for turn in range(ROUNDS + WARM_UP):
                for name in figures.in_turns(calls):
                    begin = clock()
                    calls[name]()
                    if turn >= WARM_UP:
                        samples[name].append(since(begin))
            for name, times in samples.items():
                figures.row("batch", f"{size} rows", name, times, note="memcpy" if name == "floor" else "")
        ratio = figures.quantile(samples["gobo"], 0.5) / figures.quantile(samples["floor"], 0.5)
        figures.at_most("batch_of_512_p50_ratio", ratio, "times memcpy", 1.3)


if __name__ == "__main__":
    main()
