"""Time of vLLM's own `grammar_bitmask` and `accept_tokens`, with gobo, with xgrammar, and with a backend that copies a ready row.

    PYTHONPATH=VLLM GOBO_DATA=… python crates/gobo-python/benches/vllm_manager.py [--rounds N] [--json FILE]

The last one is the floor: what is left of an engine's step when masks cost one copy of a row in numpy. All three take turns within one
process, over the same schemas and the same texts, so that ratios may be compared and times may not be carried elsewhere. A step is one
`grammar_bitmask` of the batch and one `accept_tokens` for each request; a text that has ended begins again.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

os.environ.setdefault("GOBO_STORE", tempfile.mkdtemp(prefix="gobo-bench-"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "vllm"))

import conftest  # noqa: E402
import numpy as np  # noqa: E402

DATA = conftest.DATA
# Texts that gobo and xgrammar both take, so that all three walk the same way.
SCHEMAS = 16
TOKENS = 48


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


def instances(tokenizer):
    """Schemas with the ids of a valid text, from JSONSchemaBench."""
    for line in (DATA / "jsonschemabench" / "Glaiveai2K.jsonl").open():
        entry = json.loads(line)
        schema, valid = entry.get("schema") or entry.get("json_schema"), None
        for test in entry.get("tests", ()):
            if test.get("valid"):
                valid = test["data"]
                break
        if valid is None:
            continue
        yield schema, tokenizer.encode(json.dumps(valid, ensure_ascii=False), add_special_tokens=False)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json")
    options = arguments.parse_args()

    from vllm.v1 import structured_output

    stock = structured_output.XgrammarBackend
    import gobo_masks.vllm

    gobo_masks.vllm.register()
    tokenizer = conftest.tokenizer("llama-3.1", "<|eot_id|>")
    results = []
    chosen = []
    probe = conftest.Engine(tokenizer, backend="xgrammar")
    plain = stock(probe.config, tokenizer, len(tokenizer))
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kind

    for schema, ids in instances(tokenizer):
        ids = ids[:TOKENS]
        text = schema if isinstance(schema, str) else json.dumps(schema)
        try:
            request = probe.request(json=text)
            theirs = plain.compile_grammar(Kind.JSON, text, {tokenizer.eos_token_id})
        except Exception:
            continue
        grammar = probe.grammar(request)
        if len(ids) >= 16 and grammar.validate_tokens(ids) == ids and theirs.validate_tokens(ids) == ids:
            chosen.append((text, ids))
        if len(chosen) == SCHEMAS:
            break
    ready = np.random.default_rng(0).integers(-(2**31), 2**31, (64, (len(tokenizer) + 31) // 32), dtype=np.int32)

    for seqs, drafts in ((64, 0), (128, 0), (256, 0), (64, 4)):
        one = conftest.Engine(tokenizer, backend="xgrammar", seqs=256, drafts=drafts)
        kinds = {"floor": [], "gobo": [], "xgrammar": []}
        theirs = stock(one.config, tokenizer, len(tokenizer))
        for number in range(seqs):
            text, ids = chosen[number % len(chosen)]
            for kind in kinds:
                request = one.request(json=text)
                if kind == "xgrammar":
                    grammar = theirs.compile_grammar(Kind.JSON, text, {tokenizer.eos_token_id})
                    request.structured_output_request.grammar = grammar
                elif kind == "floor":
                    request.structured_output_request.grammar = Ready(ready, number % 64)
                kinds[kind].append((request, ids))
        times = {kind: [] for kind in kinds}
        for turn in range(options.rounds + 1):
            for kind, requests in kinds.items():
                spent = run(one, requests, drafts)
                if turn:
                    times[kind].append(spent)
        one.close()
        rows = seqs * (1 + drafts)
        median = {kind: statistics.median(all_of) for kind, all_of in times.items()}
        entry = {
            "requests": seqs,
            "drafts": drafts,
            "floor_us_per_row": median["floor"] / rows * 1e6,
            "gobo": median["gobo"] / median["floor"],
            "xgrammar": median["xgrammar"] / median["floor"],
        }
        results.append(entry)
        print(
            f"{seqs:4} requests, {drafts} drafts: floor {entry['floor_us_per_row']:.2f} us a row; "
            f"gobo {entry['gobo']:.2f}, xgrammar {entry['xgrammar']:.2f} times the floor",
            flush=True,
        )
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


def run(one, requests, drafts):
    """Seconds of one step, the mean over all steps of the texts."""
    by_id = {request.request_id: request for request, _ in requests}
    names = list(by_id)
    manager, step = one.manager, 1 + drafts
    spent, steps = 0.0, 0
    for request, _ in requests:
        request.structured_output_request.grammar.reset()
    for at in range(0, TOKENS - step, step):
        live = {}
        for request, ids in requests:
            cut = at % (len(ids) - step)
            if cut < step:
                request.structured_output_request.grammar.reset()
                request.structured_output_request.grammar.accept_tokens("", ids[:cut]) if cut else None
            live[request.request_id] = ids[cut : cut + step]
        planned = {name: tokens[:drafts] for name, tokens in live.items()} if drafts else {}
        began = time.perf_counter()
        manager.grammar_bitmask(by_id, names, planned)
        for name in names:
            manager.accept_tokens(by_id[name], live[name])
        spent += time.perf_counter() - began
        steps += 1
    return spent / steps


if __name__ == "__main__":
    main()
