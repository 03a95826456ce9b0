"""Writes lark_none.jsonl: grammars, and which texts over a few characters Lark's parser takes under the lexer dynamic_complete.

Needs lark 1.3.1. A line has the grammar, the characters, the greatest length, and all texts over them up to that length that the
grammar has. The grammars have no recursion, and no terminal in which an earlier alternative hides a longer one: there Lark finds
fewer readings than the lexer none has.
"""

import itertools
import json

from lark import Lark

CASES = [
    ('start: A A\nA: /a+/', "ab", 6),
    ('start: AB /bc?/\nAB: /a[bc]*/', "abc", 5),
    ('start: "a" "b"? ["c"]\n%ignore " "', "abc ", 5),
    ('start: ("a" | "b" "c")+\n%ignore /[ _]+/', "abc_", 5),
    ('start: x{"a", ","} | x{B, ";"}\nx{i, by}: i (by i)*\nB: "b"', "ab,;", 5),
    ('start: "a"~2..3 "b"~2', "ab", 6),
    ('start: "ab"i "c".."e"', "aBbAcd", 3),
    ('start: a b\na:\n  | "a"\nb: "b" |', "ab", 3),
    ('?start: x -> y\n!x.2: _z "c"?\n_z.-1: "a" | "b"', "abc", 3),
    ('start: /a(?<!b)/ /b(?=c)c/', "abc", 4),
    ('start: A B\nA: "a" B?\nB: "b" | "b" "b"', "ab", 5),
    ('start: "\\x61\\u0062" /\\x63[\\n]/ "\\\\"', "abc\n\\", 5),
    ('start: INT CNAME\n%import common (INT, CNAME)\n%import common.WS_INLINE -> WS\n%ignore WS', "1a_ ", 5),
    ('start: NUMBER ("," NUMBER)~1\n%import common.NUMBER', "1.,e+", 6),
    ('start: ESCAPED_STRING\n%import common.ESCAPED_STRING', '"a\\\n', 5),
    ('start: C_COMMENT | SH_COMMENT\n%import common (C_COMMENT, SH_COMMENT)', "/*#a", 6),
    ('start: N\n%import common.LETTER -> N\n%extend N: "1"\nM: "3"\n%override M: "2"\n%ignore M', "a123", 4),
    ('start: /[ab]+/x /c # no\n  d/x', "abcd#", 4),
    ('start: ("a" "b" | ["c"]) "d"*', "abcd", 4),
    ('start: /a/ /b+/s? "c"', "abc", 5),
    ('start: NAME\n%import python.NAME', "a1_-", 4),
]


def main():
    for grammar, chars, most in CASES:
        parser = Lark(grammar, parser="earley", lexer="dynamic_complete")
        texts = []
        for length in range(most + 1):
            for text in map("".join, itertools.product(sorted(set(chars)), repeat=length)):
                try:
                    parser.parse(text)
                    texts.append(text)
                except Exception:
                    pass
        print(json.dumps({"grammar": grammar, "chars": "".join(sorted(set(chars))), "most": most, "texts": texts}))


main()
