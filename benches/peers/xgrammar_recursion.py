"""Measures XGrammar on grammars and texts: one line of JSON for each constraint."""

import json
import os
import signal
import sys
import time

import numpy as np
import xgrammar
from tokens import read_tokens

COMPILE_RUNS = 5
ENOUGH_NS = 1_000_000_000
# A process of its own for each constraint, ended after so long.
BOUND_S = 15


def clock_cost():
    readings = []
    for _ in range(2001):
        begin = time.perf_counter_ns()
        readings.append(time.perf_counter_ns() - begin)
    return sorted(readings)[1000]


def measure(compiler, case, width, rounds):
    compiles = []
    while len(compiles) < COMPILE_RUNS and sum(compiles) < ENOUGH_NS:
        begin = time.perf_counter_ns()
        compiled = compiler.compile_grammar(case["grammar"])
        compiles.append(time.perf_counter_ns() - begin)
    mask = np.full((1, (width + 31) // 32), -1, dtype=np.int32)
    own = clock_cost()
    cold, warm, advances = [], [], []
    with open(case["masks"], "wb") as file:
        matcher = xgrammar.GrammarMatcher(compiled)
        for round_number in range(rounds + 1):
            # One round with its interpreter may take seconds where stacks are deep.
            if warm and sum(cold) + sum(warm) > ENOUGH_NS:
                break
            times = warm if round_number else cold
            for text in case["texts"]:
                matcher.reset()
                for token in text + [None]:
                    begin = time.perf_counter_ns()
                    restricts = matcher.fill_next_token_bitmask(mask)
                    times.append(max(0, time.perf_counter_ns() - begin - own))
                    if round_number == 0:
                        file.write((mask if restricts else np.full_like(mask, -1)).tobytes())
                    if token is not None and not matcher.accept_token(token):
                        raise ValueError("a token of an accepted text is refused")
    for text in case["texts"]:
        per_token = []
        for _ in range(rounds + 1):
            matcher.reset()
            begin = time.perf_counter_ns()
            for token in text:
                matcher.accept_token(token)
            per_token.append((time.perf_counter_ns() - begin - own) / len(text))
        advances.append(sorted(per_token)[len(per_token) // 2])
    return {"compile_ns": compiles, "cold_fill_ns": cold, "fill_ns": warm, "advance_ns": advances}


def answer(compiler, case, asked):
    try:
        samples = measure(compiler, case, asked["logits_width"], asked["rounds"])
        return {"name": case["name"], "samples": samples}
    except (RuntimeError, ValueError) as error:
        lines = str(error).strip().splitlines()
        return {"name": case["name"], "refused": lines[0][:160] if lines else repr(error)}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    info = xgrammar.TokenizerInfo(
        read_tokens(asked["tokens"]),
        xgrammar.VocabType.RAW,
        vocab_size=asked["logits_width"],
        stop_token_ids=asked["eos"],
    )
    compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
    for case in asked["cases"]:
        child = os.fork()
        if child == 0:
            # Its default is to end the process, in the middle of native code too.
            signal.alarm(BOUND_S)
            print(json.dumps(answer(compiler, case, asked)), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            print(json.dumps({"name": case["name"], "refused": f"over {BOUND_S} s"}), flush=True)


if __name__ == "__main__":
    main()
