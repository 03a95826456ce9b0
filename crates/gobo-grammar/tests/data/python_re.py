"""Writes python_re.tsv: random patterns, and which of TEXTS each one matches wholly, decided by this interpreter's module re.

A line is a pattern as JSON, a tab, and a number in hexadecimal digits whose bit i says whether text i matches. Texts are listed in
the first line. Patterns with \\B are not asked about the empty text, about which versions of Python differ: their bit is the last one.
"""

import itertools
import json
import random
import re
import sys
import warnings

warnings.simplefilter("ignore")
TEXTS = ["".join(of) for n in range(4) for of in itertools.product("ab\n", repeat=n)]
TEXTS += ["A", "aB", "_", "a b", "a1", "1", " ", "é", "É", "ſ", "s", "S", "K", "k", "ı", "İ", "i", "I", "a-b", "٣", "ab_1",
          "aaaa", "abab", "bbbb", "a\u0301", "\x1c", "\u2028", "abba", "aaab", "\\", "a\nb\n", "½"]
RANDOM = random.Random(22)


def atom(depth):
    kind = RANDOM.randrange(24)
    if kind < 8:
        return RANDOM.choice("aabbsik\n") if kind < 7 else RANDOM.choice("1_ AK-")
    if kind < 12:
        return RANDOM.choice([r"\w", r"\W", r"\d", r"\s", r"\S", ".", ".", r"\x61", r"\n", r"\101", r"\u00e9", r"\-"])
    if kind < 15:
        members = RANDOM.sample(["a", "b", "a-b", r"\n", r"\w", r"\d", "i", "k", "-", "^", r"\s", "A-Z"], RANDOM.randint(1, 3))
        return "[" + RANDOM.choice(["", "", "^"]) + "".join(members) + "]"
    if depth == 0:
        return RANDOM.choice("ab")
    inner = alternatives(depth - 1)
    if kind < 18:
        return RANDOM.choice(["(", "(?:", "(?i:", "(?s:", "(?m:", "(?a:", "(?P<x>"]) + inner + ")"
    if kind < 20:
        return RANDOM.choice(["(?=", "(?!"]) + inner + ")"
    if kind < 22:
        inner = "".join(RANDOM.choice(["a", "b", ".", "[ab]", r"\w", r"\n", "^"]) for _ in range(RANDOM.randint(1, 2)))
        return RANDOM.choice(["(?<=", "(?<!"]) + inner + ")"
    return RANDOM.choice(["^", "$", r"\b", r"\B", r"\A", r"\Z"])


def sequence(depth):
    parts = []
    for _ in range(RANDOM.choice([0, 1, 1, 2, 2, 3])):
        part = atom(depth)
        if RANDOM.random() < 0.35:
            part += RANDOM.choice(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}", "{2,}", "{1,3}?", "*+", "?+", "{1,2}+", "{", "{}"])
        parts.append(part)
    return "".join(parts)


def alternatives(depth):
    return "|".join(sequence(depth) for _ in range(RANDOM.choice([1, 1, 2, 3])))


def main():
    lines, seen = [json.dumps(TEXTS)], set()
    while len(lines) <= 4000:
        pattern = RANDOM.choice(["", "", "", "", "(?i)", "(?m)", "(?s)"]) + alternatives(2)
        if pattern in seen or len(pattern) > 60:
            continue
        seen.add(pattern)
        try:
            compiled = re.compile(pattern)
        except re.error:
            continue
        bits = sum(1 << i for i, text in enumerate(TEXTS) if compiled.fullmatch(text))
        if r"\B" in pattern:
            bits = bits >> 1 << 1 | 1 << len(TEXTS)
        lines.append(json.dumps(pattern) + "\t" + format(bits, "x"))
    sys.stdout.write("\n".join(lines) + "\n")


main()
