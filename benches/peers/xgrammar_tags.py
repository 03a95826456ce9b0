"""Measures XGrammar's compile of structural tags: one line of JSON for each."""

import json
import sys
import time

import xgrammar
from tokens import read_tokens

RUNS = 3


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    info = xgrammar.TokenizerInfo(
        read_tokens(asked["tokens"]), xgrammar.VocabType.RAW, vocab_size=asked["logits_width"], stop_token_ids=asked["eos"]
    )
    for case in asked["cases"]:
        compiles = []
        for _ in range(RUNS):
            compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
            begin = time.perf_counter_ns()
            compiled = compiler.compile_structural_tag(case["tag"])
            compiles.append(time.perf_counter_ns() - begin)
        print(json.dumps({"name": case["name"], "compile_ns": compiles, "bytes": compiled.memory_size_bytes}), flush=True)


if __name__ == "__main__":
    main()
