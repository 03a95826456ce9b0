"""gobo from Python, beside XGrammar and llguidance in the same process; prints CSV.

    venv/bin/python benches/peers/python_masks.py --data "$GOBO_DATA" > benches/record/<machine>/<date>-python.csv

Needs gobo-masks, xgrammar, llguidance, numpy, transformers and torch; for the tree of drafts SGLang too, else that part is left out,
aloud. All parts are over llama-3.1.

steps       Fill and accept, called from Python, along valid instances of JSONSchemaBench (as `json.dumps` writes them, cut by the
            tokenizer). One pass over each text warms everything up, in the second contestants take turns text by text. A text
            counts if all three contestants take it whole, so that all times are of the same steps.
tree        A tree of 8 drafts through SGLang's `traverse_tree`: XGrammar by the engine's walk, gobo by its one call.
first_mask  From the text of a schema of 4 KiB to the first mask: an index that another process compiled (a file of this
            host), and a mapped one.
import      A new process that imports the module, less one that imports nothing.
memory      What 1,000 open indices add to the process's private memory.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gobo_masks as gobo
import numpy as np

clock = time.perf_counter_ns


def clock_cost():
    readings = []
    for _ in range(5001):
        begin = clock()
        readings.append(clock() - begin)
    return sorted(readings)[2500]


def line(part, case, contestant, times, unit="us", target="", note=""):
    """A figure: samples, least, median, 99th percentile."""
    times = sorted(times)
    at = lambda share: times[min(len(times) - 1, int(len(times) * share))]
    print(f"{part},{case},{contestant},{unit},{len(times)},{times[0]:.3f},{at(0.5):.3f},{at(0.99):.3f},{target},{note}", flush=True)


# -- steps ------------------------------------------------------------------------------------------------------------------


def gobo_matcher(index):
    matcher = index.matcher()
    bitmask = gobo.allocate_token_bitmask(1, matcher.width)
    return lambda: matcher.fill_next_token_bitmask(bitmask, 0), matcher.accept_token, matcher.reset


def xgrammar_matcher(compiled, width):
    import torch
    import xgrammar

    matcher = xgrammar.GrammarMatcher(compiled)
    bitmask = torch.full((1, (width + 31) // 32), -1, dtype=torch.int32)
    return lambda: matcher.fill_next_token_bitmask(bitmask, 0), matcher.accept_token, matcher.reset


def llguidance_matcher(tokenizer, grammar, width):
    import llguidance
    from llguidance.numpy import fill_next_token_bitmask

    matcher = llguidance.LLMatcher(tokenizer, grammar)
    if matcher.is_error():
        raise ValueError(matcher.get_error())
    bitmask = np.full((1, (width + 31) // 32), -1, dtype=np.int32)
    return lambda: fill_next_token_bitmask(matcher, bitmask, 0), matcher.consume_token, matcher.reset


def walk(contestant, ids, times, own):
    """Whether a text is taken whole; the time of each step, fill and accept together."""
    fill, accept, reset = contestant
    reset()
    for id in ids:
        begin = clock()
        fill()
        taken = accept(id)
        times.append((clock() - begin - own) / 1000)
        if not taken:
            return False
    return True


def steps(tokenizer, client, vocabulary, schemas, own):
    import llguidance.hf
    import xgrammar

    width = vocabulary.width
    compiler = xgrammar.GrammarCompiler(
        xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=width, stop_token_ids=[tokenizer.eos_token_id])
    )
    ll_tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=width)
    times = {"gobo": [], "xgrammar": [], "llguidance": []}
    counted = {"schemas": 0, "texts": 0, "not taken by all": 0}
    chance = random.Random(1)
    for schema, instances in schemas:
        try:
            contestants = {
                "gobo": gobo_matcher(client.get(vocabulary, gobo.Constraint.schema(schema))),
                "xgrammar": xgrammar_matcher(compiler.compile_json_schema(schema, strict_mode=False), width),
                "llguidance": llguidance_matcher(ll_tokenizer, llguidance.LLMatcher.grammar_from_json_schema(schema), width),
            }
        except (gobo.GoboError, RuntimeError, ValueError):
            counted["not taken by all"] += 1
            continue
        counted["schemas"] += 1
        for instance in instances:
            ids = tokenizer.encode(json.dumps(instance, ensure_ascii=False), add_special_tokens=False)
            if not all(walk(contestant, ids, [], own) for contestant in contestants.values()):
                counted["not taken by all"] += 1
                continue
            counted["texts"] += 1
            for name in chance.sample(list(contestants), 3):
                walk(contestants[name], ids, times[name], own)
    note = "; ".join(f"{count} {what}" for what, count in counted.items())
    for name, samples in times.items():
        line("steps", "fill and accept", name, samples, note=note)
    at = lambda name, share: sorted(times[name])[int(len(times[name]) * share)]
    for share in (0.5, 0.99):
        better = min(at("xgrammar", share), at("llguidance", share))
        line("steps", f"the better peer over gobo at {share}", "ratio", [better / at("gobo", share)], "ratio", "5")


# -- the tree of drafts -----------------------------------------------------------------------------------------------------


def tree(tokenizer, client, vocabulary, own):
    import torch
    import xgrammar

    try:
        from gobo_masks.sglang.grammar import GoboGrammar, traverse_tree
        from sglang.srt.constrained.xgrammar_backend import MAX_ROLLBACK_TOKENS, XGrammarGrammar
        from sglang.srt.speculative import spec_utils
    except ImportError as error:
        print(f"the tree of drafts is left out: {error}", file=sys.stderr)
        return
    schema = '{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}'
    width = vocabulary.width
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=width, stop_token_ids=[tokenizer.eos_token_id])
    compiled = xgrammar.GrammarCompiler(info).compile_json_schema(schema)
    matcher = xgrammar.GrammarMatcher(compiled, max_rollback_tokens=MAX_ROLLBACK_TOKENS)
    index = client.get(vocabulary, gobo.Constraint.schema(schema, closed=True))
    contestants = {
        "xgrammar": (spec_utils.traverse_tree, XGrammarGrammar(matcher, width, compiled, None)),
        "gobo": (lambda *all, **named: traverse_tree(None, *all, **named), GoboGrammar(index, width, None, schema, "json")),
    }
    ids = tokenizer.encode('{"name": "Ada Lovelace", "age": 36}', add_special_tokens=False)[:8]
    shapes = {
        "chain of 8": ([1, 2, 3, 4, 5, 6, 7, -1], [-1] * 8, [0, *ids[:7]]),
        "2 branches": ([1, 3, 4, 5, 6, 7, -1, -1], [-1, 2, -1, -1, -1, -1, -1, -1], [0, ids[0], ids[0], ids[1], ids[1], ids[2], ids[2], ids[3]]),
    }
    for shape, lists in shapes.items():
        arrays = [torch.tensor(numbers) for numbers in lists]
        samples = {name: [] for name in contestants}
        for round in range(2200):
            for name, (traverse, grammar) in contestants.items():
                mask = grammar.allocate_vocab_mask(width, 8, "cpu")
                begin = clock()
                traverse(*arrays, grammar, mask, vocab_size=width)
                if round >= 200:
                    samples[name].append((clock() - begin - own) / 1000)
        for name, times in samples.items():
            line("tree", shape, name, times, target="20" if name == "gobo" else "")


# -- the first mask ---------------------------------------------------------------------------------------------------------


def compiled_elsewhere(client, vocabulary, texts, kind):
    """Has another process compile constraints into the store, so that this one has mapped none of them."""
    program = (
        "import json, sys, gobo_masks as gobo\n"
        "store, name, kind, texts = json.load(sys.stdin)\n"
        "client = gobo.Client(store, timeout=120.0)\n"
        "vocabulary = gobo.Vocabulary.of(name, client=client)\n"
        "for text in texts: client.get(vocabulary, getattr(gobo.Constraint, kind)(text))\n"
    )
    request = json.dumps([client.store, vocabulary.name, kind, texts])
    subprocess.run([sys.executable, "-c", program], input=request, text=True, check=True, stderr=subprocess.DEVNULL)


def first_mask(client, vocabulary, own):
    def schema_of(version):
        members = {f"a_member_of_some_length_{number}": {"type": "string", "maxLength": 9} for number in range(42)}
        return json.dumps({"title": f"version {version:03}", "type": "object", "properties": members, "required": list(members)})

    schemas = [schema_of(version) for version in range(100)]
    compiled_elsewhere(client, vocabulary, schemas, "schema")
    bitmask = gobo.allocate_token_bitmask(1, vocabulary.width)
    samples = {"a file of this host": [], "mapped": []}
    for schema in schemas:
        for turn in range(3):
            begin = clock()
            index = client.find(vocabulary, gobo.Constraint.schema(schema))
            index.matcher().fill_next_token_bitmask(bitmask, 0)
            samples["mapped" if turn else "a file of this host"].append((clock() - begin - own) / 1000)
    note = f"{len(schemas[0])} bytes of schema"
    for case, target in (("a file of this host", "100"), ("mapped", "15")):
        line("first_mask", case, "gobo", samples[case], target=target, note=note)
    spent = []
    for _ in range(1000):
        begin = clock()
        gobo.Constraint.schema(schemas[0])
        spent.append((clock() - begin - own) / 1000)
    line("first_mask", "of which reading the schema", "gobo", spent, note=note)


# -- import, memory ---------------------------------------------------------------------------------------------------------


def importing():
    for module in ("gobo_masks", "llguidance", "xgrammar"):
        program = f"import time; begin = time.perf_counter_ns(); import {module}; print(time.perf_counter_ns() - begin)"
        times = [int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout) / 1e6 for _ in range(9)]
        line("import", "a new process", module, times, "ms", "50" if module == "gobo_masks" else "")


def private_kib():
    fields = dict(row.split(":") for row in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    return {name: int(fields[name].split()[0]) for name in ("Private_Dirty", "Private_Clean")}


def memory(client, vocabulary):
    """Private_Dirty is what the process alone costs; Private_Clean are pages of files that no other process maps now."""
    texts = [f"choice{number}|other{number}" for number in range(1000)]
    compiled_elsewhere(client, vocabulary, texts, "regex")
    constraints = [gobo.Constraint.regex(text) for text in texts]
    before = private_kib()
    indices = [client.find(vocabulary, constraint) for constraint in constraints]
    after = private_kib()
    assert None not in indices
    for name in before:
        target = "10" if name == "Private_Dirty" else ""
        line("memory", f"1000 open indices: {name}", "gobo", [(after[name] - before[name]) / 1024], "MiB", target)


def corpus(data, every):
    """Schemas with at least one valid instance, each `every`-th, spread over all files."""
    kept = []
    for file in sorted(Path(data, "jsonschemabench").glob("*.jsonl")):
        for number, text in enumerate(file.read_text().strip().split("\n")):
            case = json.loads(text)
            valid = [test["data"] for test in case.get("tests", ()) if test["valid"]]
            if number % every == 0 and valid:
                kept.append((json.dumps(case["schema"]), valid))
    return kept


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", default=os.environ.get("GOBO_DATA"), help="the folder with tokenizers and schemas")
    options.add_argument("--every", type=int, default=20, help="each how many-th schema is measured")
    options.add_argument("--only", default="steps,tree,first_mask,import,memory")
    options.add_argument("--origin", default="", help="what the first line says of commit, date and machine")
    options = options.parse_args()
    only = options.only.split(",")
    from transformers import PreTrainedTokenizerFast

    end = "<|end_of_text|>"
    file = Path(options.data, "tokenizers", "llama-3.1", "tokenizer.json")
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(file), eos_token=end)
    own = clock_cost()
    print(f"# {options.origin}; load average {os.getloadavg()[0]:.2f}; clock {own} ns, taken off; schemas each {options.every}th")
    print("part,case,contestant,unit,n,min,p50,p99,target,note")
    with tempfile.TemporaryDirectory(prefix="gobo-bench-") as store:
        client = gobo.Client(store, timeout=120.0)
        vocabulary = gobo.Vocabulary.of(tokenizer, eos=[tokenizer.eos_token_id], client=client)
        if "import" in only:
            importing()
        if "memory" in only:
            memory(client, vocabulary)
        if "first_mask" in only:
            first_mask(client, vocabulary, own)
        if "tree" in only:
            tree(tokenizer, client, vocabulary, own)
        if "steps" in only:
            steps(tokenizer, client, vocabulary, corpus(options.data, options.every), own)


if __name__ == "__main__":
    main()
