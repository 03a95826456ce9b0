"""vLLM's own `grammar_bitmask` and `accept_tokens`, with gobo, with xgrammar, and with a backend that copies a ready row.

    PYTHONPATH=VLLM python benches/python/manager.py

The last one is the floor: what is left of an engine's step when masks cost one copy of a row in numpy. All three take turns within one
process, over the same schemas and the same texts. A step is one `grammar_bitmask` of the batch and one `accept_tokens` for each request;
a text that has ended begins again. Then `compile_grammar` of schemas that are mapped, each time as a new text.

VLLM is a folder with the Python files of a release, as `.ci/engines/build` lays it out.
"""

import argparse
import importlib.metadata
import itertools
import os
import pathlib
import sys
import tempfile
import time

store = tempfile.TemporaryDirectory(prefix="gobo-bench-")
os.environ["GOBO_STORE"] = store.name
# The stand-ins of vLLM's configuration, as the adapter's tests have them.
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "crates" / "gobo-python" / "tests" / "vllm"))

import conftest  # noqa: E402
import figures  # noqa: E402
import first_mask  # noqa: E402
import gobo_masks.vllm  # noqa: E402
import numpy as np  # noqa: E402
from figures import clock, since  # noqa: E402
from gobo_masks.vllm import _words  # noqa: E402
from gobo_masks.vllm._grammar import GoboGrammar  # noqa: E402
from vllm.v1 import structured_output  # noqa: E402
from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kind  # noqa: E402

SCHEMAS = 16
TOKENS = 48
BATCHES = ((64, 0), (128, 0), (256, 0), (64, 4))


class Ready:
    """A grammar whose masks are ready."""

    def __init__(self, rows, at):
        self.rows = rows
        self.at = at

    def fill_bitmask(self, bitmask, row):
        bitmask.numpy()[row] = self.rows[self.at]

    def accept_tokens(self, request_id, tokens):
        return True

    def validate_tokens(self, tokens):
        return tokens

    def rollback(self, count):
        pass

    def is_terminated(self):
        return False

    def reset(self):
        pass


def texts(tokenizer, probe, stock):
    """Schemas, each with the tokens of a text that gobo and xgrammar both take, so that all three walk the same way."""
    for schema, instances in figures.corpus(1, "Glaiveai2K"):
        ids = figures.ids_of(tokenizer, instances[0])[:TOKENS]
        try:
            theirs = stock.compile_grammar(Kind.JSON, schema, {tokenizer.eos_token_id})
            ours = probe.grammar(probe.request(json=schema))
        except Exception:
            # Whatever either of them has against it.
            continue
        if len(ids) >= 16 and ours.validate_tokens(ids) == ids and theirs.validate_tokens(ids) == ids:
            yield schema, ids


def step(engine, requests, drafts):
    """Microseconds of one step, the mean over all steps of the texts."""
    by_id = {request.request_id: request for request, _ in requests}
    names, width = list(by_id), 1 + drafts
    spent, steps = 0.0, 0
    for request, _ in requests:
        request.structured_output_request.grammar.reset()
    for at in range(0, TOKENS - width, width):
        live = {}
        for request, ids in requests:
            cut = at % (len(ids) - width)
            if cut < width:
                grammar = request.structured_output_request.grammar
                grammar.reset()
                if cut:
                    grammar.accept_tokens("", ids[:cut])
            live[request.request_id] = ids[cut : cut + width]
        planned = {name: tokens[:drafts] for name, tokens in live.items()} if drafts else {}
        begin = clock()
        engine.manager.grammar_bitmask(by_id, names, planned)
        for name in names:
            engine.manager.accept_tokens(by_id[name], live[name])
        spent += since(begin)
        steps += 1
    return spent / steps


def batch(tokenizer, stock_class, chosen, ready, seqs, drafts, rounds):
    engine = conftest.Engine(tokenizer, backend="xgrammar", seqs=256, drafts=drafts)
    stock = stock_class(engine.config, tokenizer, len(tokenizer))
    requests = {"gobo": [], "xgrammar": [], "floor": []}
    for number in range(seqs):
        schema, ids = chosen[number % len(chosen)]
        for name, all_of in requests.items():
            request = engine.request(json=schema)
            if name == "xgrammar":
                grammar = stock.compile_grammar(Kind.JSON, schema, {tokenizer.eos_token_id})
                request.structured_output_request.grammar = grammar
            elif name == "floor":
                request.structured_output_request.grammar = Ready(ready, number % len(ready))
            else:
                assert isinstance(engine.grammar(request), GoboGrammar)
            all_of.append((request, ids))
    times = {name: [] for name in requests}
    for turn in range(rounds + 1):
        for name in figures.in_turns(requests):
            spent = step(engine, requests[name], drafts)
            if turn:
                times[name].append(spent)
    engine.close()
    case = f"{seqs} requests" + (f", {drafts} drafts" if drafts else "")
    for name, samples in times.items():
        figures.row("vLLM's manager", f"a step of {case}", name, samples, note="copies a ready row" if name == "floor" else "")
    ratio = figures.quantile(times["gobo"], 0.5) / figures.quantile(times["floor"], 0.5)
    name = f"vllm_{seqs}" + (f"_drafts_{drafts}" if drafts else "") + "_p50_ratio"
    figures.at_most(name, ratio, "times a ready row", 1.2)


def compiles(tokenizer, stock_class):
    """`compile_grammar` of what is mapped. xgrammar's compiler keeps what it has compiled, and is asked for that."""
    engine = conftest.Engine(tokenizer, backend="xgrammar")
    schemas = [first_mask.schema_of(version) for version in range(SCHEMAS)]
    for schema in schemas:
        assert isinstance(engine.grammar(engine.request(json=schema)), GoboGrammar)
    backends = {"gobo": engine.manager.backend, "xgrammar": stock_class(engine.config, tokenizer, len(tokenizer))}
    samples = {name: [] for name in backends}
    for turn in range(70):
        for schema in schemas:
            for name in figures.in_turns(backends):
                text, stop = schema.encode().decode(), {tokenizer.eos_token_id}
                begin = clock()
                backends[name].compile_grammar(Kind.JSON, text, stop)
                if turn >= 10:
                    samples[name].append(since(begin))
    engine.close()
    for name, times in samples.items():
        figures.row("vLLM's manager", "compile_grammar, mapped", name, times, note=f"{len(schemas[0])} bytes of schema")
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        figures.at_most(f"compile_grammar_mapped_{name}", figures.quantile(samples["gobo"], share), "us", 30)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=9)
    options = options.parse_args()
    stock_class = structured_output.XgrammarBackend
    gobo_masks.vllm.register()
    tokenizer = conftest.tokenizer("llama-3.1", "<|eot_id|>")
    # Read on a thread of its own; what comes before that is late.
    _words.vocabulary(tokenizer, len(tokenizer))
    probe = conftest.Engine(tokenizer, backend="xgrammar")
    found = texts(tokenizer, probe, stock_class(probe.config, tokenizer, len(tokenizer)))
    chosen = list(itertools.islice(found, SCHEMAS))
    ready = np.random.default_rng(0).integers(-(2**31), 2**31, (64, (len(tokenizer) + 31) // 32), dtype=np.int32)
    print(f"vLLM {importlib.metadata.version('vllm')}, {len(chosen)} schemas", file=sys.stderr)
    for seqs, drafts in BATCHES:
        batch(tokenizer, stock_class, chosen, ready, seqs, drafts, options.rounds)
    compiles(tokenizer, stock_class)
    probe.close()


if __name__ == "__main__":
    main()
