"""Fill and accept, called from Python along the valid instances of JSONSchemaBench: gobo beside XGrammar and llguidance.

    python benches/python/steps.py --every 20

One pass over each text warms everything up; in the second the contestants take turns text by text. A text counts if all three take it
whole, so that all times are of the same steps. Needs gobo_masks, xgrammar, llguidance, numpy, torch and transformers.
"""

import argparse
import importlib.metadata
import tempfile

import figures
import gobo_masks as gobo
import llguidance
import llguidance.hf
import llguidance.numpy
import numpy as np
import torch
import xgrammar
from figures import OWN, clock


def of_gobo(index):
    matcher = index.matcher()
    bitmask = gobo.allocate_token_bitmask(1, matcher.width)
    return lambda: matcher.fill_next_token_bitmask(bitmask, 0), matcher.accept_token, matcher.reset


def of_xgrammar(compiled, width):
    matcher = xgrammar.GrammarMatcher(compiled)
    bitmask = torch.full((1, (width + 31) // 32), -1, dtype=torch.int32)
    return lambda: matcher.fill_next_token_bitmask(bitmask, 0), matcher.accept_token, matcher.reset


def of_llguidance(tokenizer, schema, width):
    matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_json_schema(schema))
    if matcher.is_error():
        raise ValueError(matcher.get_error())
    bitmask = np.full((1, (width + 31) // 32), -1, dtype=np.int32)
    fill = llguidance.numpy.fill_next_token_bitmask
    return lambda: fill(matcher, bitmask, 0), matcher.consume_token, matcher.reset


def walk(contestant, ids, times):
    """Whether a text is taken whole; the time of each step, fill and accept together."""
    fill, accept, reset = contestant
    reset()
    for id in ids:
        begin = clock()
        fill()
        taken = accept(id)
        times.append((clock() - begin - OWN) / 1000)
        if not taken:
            return False
    return True


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--every", type=int, default=20, help="each how many-th schema is measured")
    every = options.parse_args().every
    tokenizer = figures.tokenizer()
    with tempfile.TemporaryDirectory(prefix="gobo-bench-") as store:
        client = gobo.Client(store, timeout=120.0)
        vocabulary = gobo.Vocabulary.of(tokenizer, eos=[tokenizer.eos_token_id], client=client)
        measure(tokenizer, client, vocabulary, every)


def measure(tokenizer, client, vocabulary, every):
    width = vocabulary.width
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=width, stop_token_ids=[tokenizer.eos_token_id])
    compiler = xgrammar.GrammarCompiler(info)
    ll_tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=width)
    times = {"gobo": [], "xgrammar": [], "llguidance": []}
    schemas = texts = left_out = 0
    for schema, instances in figures.corpus(every):
        try:
            contestants = {
                "gobo": of_gobo(client.get(vocabulary, gobo.Constraint.schema(schema))),
                "xgrammar": of_xgrammar(compiler.compile_json_schema(schema, strict_mode=False), width),
                "llguidance": of_llguidance(ll_tokenizer, schema, width),
            }
        except (gobo.GoboError, RuntimeError, ValueError):
            left_out += len(instances)
            continue
        schemas += 1
        for instance in instances:
            ids = figures.ids_of(tokenizer, instance)
            if not all(walk(contestant, ids, []) for contestant in contestants.values()):
                left_out += 1
                continue
            texts += 1
            for name in figures.in_turns(contestants):
                walk(contestants[name], ids, times[name])
    counts = f"{texts} texts of {schemas} schemas, each {every}th; {left_out} texts not taken by all"
    for name, samples in times.items():
        note = counts if name == "gobo" else f"{name} {importlib.metadata.version(name)}"
        figures.row("steps", "fill and accept", name, samples, note=note)
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        better = min(figures.quantile(times[peer], share) for peer in ("xgrammar", "llguidance"))
        ratio = better / figures.quantile(times["gobo"], share)
        figures.at_least(f"steps_{name}_below_the_better_peer", ratio, "times", 5)


if __name__ == "__main__":
    main()
