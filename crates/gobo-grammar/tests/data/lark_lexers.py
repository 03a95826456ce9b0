"""Writes lark_lexers.jsonl: grammars, and which texts over a few characters Lark's LALR(1) parser takes under its lexers.

Needs lark 1.3.1. A line has the grammar, the lexer, the characters, the greatest length, and all texts over them up to that length
that the grammar has. No text needs more than eight characters after a lexeme.
"""

import itertools
import json

from lark import Lark

CASES = [
    # The first match: an alternative that is tried earlier hides a longer one, in a pattern and not among parts of a terminal.
    ("start: AB+ C?\nAB: /ab|abb/\nC: \"b\" \"c\"", "abc", 6),
    ("start: AB+ C?\nAB: /abb|ab/\nC: \"bc\"", "abc", 6),
    ("start: A+\nA: \"a\" | \"a\" \"b\" | \"a\" \"b\" \"b\"", "abc", 6),
    ("start: (X | Y)+\nX: /a.*?b/\nY: /c+/", "abc", 5),
    # Numbers.
    ("start: (INT | FLOAT | DOT)+\nINT: /[0-9]+/\nFLOAT: /[0-9]+\\.[0-9]+/\nDOT: \".\"\n%ignore \" \"", "1. ", 6),
    ("start: FLOAT \"f\"? | INT \"..\" INT | INT \".f\"\nINT: /[0-9]+/\nFLOAT: /[0-9]+\\.[0-9]*/", "1.f", 6),
    ("start: NUMBER (\"+\" NUMBER)*\n%import common.NUMBER\n%import common.WS_INLINE\n%ignore WS_INLINE", "1.e+ ", 5),
    # Keywords and names, in context and out of it.
    ("start: stmt+\nstmt: \"if\" NAME | NAME \"=\" NAME\nNAME: /[a-z]+/\n%ignore \" \"", "if =", 6),
    ("start: \"if\" NAME | \"fi\" \"if\"\nNAME: /[a-z]+/\n%ignore \" \"", "if ", 6),
    ("start: \"pa\" NAME \";\"\nNAME: /[a-z]+/\n%ignore \" \"", "pa; ", 5),
    ("start: A \"i\"i B\nA: /[a-z]/\nB: /[a-z]/i", "iIj", 4),
    ("start: KEY | NAME\nKEY.2: \"ab\"\nNAME: /[ab]+/", "ab", 4),
    ("start: (KEY | NAME)+\nKEY.1: \"a\"\nNAME: /a+b/", "ab", 5),
    # Comments.
    ("start: (\"/\" | A)*\nA: /a+/\nC: /\\/\\*(.|\\n)*?\\*\\//\n%ignore C", "a/*\n", 6),
    ("start: A*\nA: /a/\nWS: /\\s+/\nC: /\\s*#[^\\n]*/\n%ignore WS\n%ignore C", "a# \n", 5),
    ("start: A+ EQ?\nA: /a/\nEQ: \"==\"\n%ignore /=?b/", "ab=", 5),
    ("start: \"a\" \"b\"\n%ignore /a*c/", "abc", 5),
    ("start: \"a\" (\"b\" \"c\")?\n%ignore \" \"\n%ignore /_+/", "abc _", 5),
    # Look-around.
    ("start: OP+ A?\nOP: /[+*]|[?](?![a-z])/\nA: \"?a\" | \"a\"", "+?a", 5),
    ("start: (I | N)+\nI.1: /if\\b/\nN: /[a-z]+/\n%ignore \" \"", "ifx ", 5),
    ("start: S+\nS: /\"(?!\"\").*?(?<!\\\\)(\\\\\\\\)*?\"/", "\"\\a", 6),
    ("start: (A | B)+\nA: /a(?=b|$)/\nB: /b|a/", "ab", 5),
    ("start: A B? \nA: /a(?!b)/\nB: /b|a/", "ab", 4),
    ("start: X Y*\nX: /a+(?=bc)|a/\nY: /b|c|a/", "abc", 5),
    # Rules: conflicts, repetitions, templates, priorities.
    ("start: s\ns: \"i\" s \"e\" s | \"i\" s | \"x\"", "iex", 6),
    ("start: e\n?e: e \"+\" e | \"-\" e | \"x\"", "x+-", 6),
    ("start: a \"c\" | b \"d\"\na: \"x\" y\nb: \"x\" z\ny.2: \"y\"\nz: \"y\"", "xycd", 4),
    ("start: p | q\np.1: \"x\"\nq: \"x\"\n", "xy", 3),
    ("start: [A] [B] C?\nA: \"a\"\nB: \"b\"\nC: \"c\"", "abc", 4),
    ("start: (A | B A)* B?\nA: \"a\"\nB: \"b\"", "ab", 6),
    ("start: \"a\"~2..3 \"b\"~2", "ab", 6),
    ("start: list{A, \",\"} list{B, \";\"}?\nlist{item, by}: item (by item)*\nA: \"a\"\nB: \"b\"", "ab,;", 5),
    ("start: x* y\nx: \"a\" \";\" | \";\"\ny: \"a\"", "a;", 6),
    ("start: (\"a\" \"b\"?)+ | ((\"c\"))+ \"d\"", "abcd", 5),
    ("start: x\nx: \"(\" x \")\" |", "()a", 6),
    ("start: x \"b\" | y \"c\"\nx: \"a\" z\ny: \"d\" z\nz: \"a\"* ", "abcd", 5),
    # The order of terminals.
    ("start: X | Y \"c\"\nX: /ab?c?/\nY: /a[bc]?/", "abc", 4),
    ("start: (P | Q)+ \"!\"\nP: \"a\" | \"b\" \"c\"\nQ: /[ab]/ \"d\"?", "abcd!", 4),
    ("start: (\"ab\"i | \"a\" | \"B\")+", "aAbB", 4),
    ("start: (A | B)+\nA: \"x\"..\"z\"\nB: /[xy]+w/ | \"zz\"~2", "xzw", 6),
    ("start: (A | B) C\nA.-1: /a+/\nB: /a/\nC: /a*b/", "ab", 5),
    ("start: w+ \"!\"?\nw: /[a-b]+/ | /[b-c]+/ | \"c\"", "abc!", 4),
    # Characters of several bytes.
    ("start: (N | U)+\nN: /[a\\u00e9]+/\nU: \"\\u00e8\"", "a\u00e9\u00e8\u00ea", 4),
    ("start: \"=\" \">\"? | \"=>\" \"\\u2264\"", "=>\u2264\u2265", 4),
    # A terminal that is used and ignored, and unused rules that call each other.
    ("start: A B\nA: \"a\"\nB: \"b\"\nC: \"ab\"\nx: y\ny: x C\n", "abc", 4),
    ("start: A N? A\nA: \"a\"\nN: \"n\"\n%ignore N", "an", 5),
    ("start: NAME NAME\nNAME: /[a-z]+/\nKW: \"kw\"\n%ignore KW\n%ignore \" \"", "kw ", 6),
]


def main():
    for grammar, chars, most in CASES:
        for lexer in ("basic", "contextual"):
            try:
                parser = Lark(grammar, parser="lalr", lexer=lexer)
            except Exception as error:
                raise SystemExit(f"{grammar!r}: {error}")
            texts = []
            for length in range(most + 1):
                for text in map("".join, itertools.product(sorted(set(chars)), repeat=length)):
                    try:
                        parser.parse(text)
                        texts.append(text)
                    except Exception:
                        pass
            case = {"grammar": grammar, "lexer": lexer, "chars": "".join(sorted(set(chars))), "most": most, "texts": texts}
            print(json.dumps(case))


main()
