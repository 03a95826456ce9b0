"""Measures XGrammar's compile of structural tags: one line of JSON for each."""

import json
import struct
import sys
import time

import xgrammar

RUNS = 3


def read_tokens(path):
    with open(path, "rb") as file:
        data = file.read()
    tokens, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        tokens.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return tokens


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
