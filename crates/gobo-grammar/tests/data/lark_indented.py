"""Writes lark_indented.jsonl: grammars with blocks of indented lines, and which texts Lark's LALR(1) parser takes after its Indenter.

Needs lark 1.3.1. A line has the grammar, the lexer, the blanks for each level, the most levels, the characters, the greatest length, all
texts over them up to that length that Lark takes and whose lines are indented so, and other texts, each with whether it is one of these.
A text is left out if some block is indented otherwise or too deep, or if a newline has other characters than blanks after its last line
feed.
"""

import itertools
import json
import random

from lark import Lark
from lark.indenter import Indenter

BLOCKS = "\n%declare _INDENT _DEDENT"
STMT = "start: stmt*\nstmt: \"a\" _NL | \"b\" _NL _INDENT stmt+ _DEDENT"

# Grammar, blanks for each level, most levels, characters, greatest length, parts of lines of the other texts.
CASES = [
    (STMT + "\n_NL: /(\\n *)+/", 1, 2, "ab\n ", 7, ["a", "b", "ab", ""]),
    (STMT + "\n_NL: /(\\n *)+/", 2, 3, "ab\n ", 6, ["a", "b"]),
    (STMT + "\n_NL: /\\n */", 1, 2, "ab\n ", 6, ["a", "b", ""]),
    # Comments and blank lines are part of a newline.
    (STMT + "\n_NL: (/\\n */ | /#[^\\n]*/)+", 1, 2, "ab#\n ", 6, ["a", "b", "#a ", "a # b", ""]),
    # A tab is eight blanks.
    (STMT + "\n_NL: /(\\r?\\n[\\t ]*)+/", 8, 2, "ab\n\t ", 6, ["a", "b", "\ta", "\tb", "\t\ta", "        a"]),
    (STMT + "\n_NL: /(\\r?\\n[\\t ]*)+/", 4, 3, "ab\n\t", 6, ["a", "b", "\ta", "\t\ta", "    a", "\t    a", "\r"]),
    # Newlines within brackets are dropped.
    ("start: stmt+\nstmt: e _NL | \"b\" e _NL _INDENT stmt+ _DEDENT\ne: \"a\" | \"(\" e* \")\"\n_NL: /(\\n *)+/\n%ignore \" \"", 1, 2, "ab(\n )", 6, ["a", "b a", "(a", "a)", "b (", ")", "(a)"]),
    ("start: (e \";\")* e\ne: \"a\" | \"[\" e \"]\" | \"{\" e? \"}\" _NL?\n_NL: /\\n */", 1, 2, "a;[{\n}]", 5, ["a;", "[a];", "{", "}", "a"]),
    # The last newline may be missing, and the text may end in a block.
    ("start: \"a\" (_NL _INDENT start+ _DEDENT)?\n_NL: /(\\n *)+/", 1, 3, "a\n ", 8, ["a", "aa"]),
    ("start: line+\nline: \"a\" [\":\" _NL _INDENT line+ _DEDENT] \";\"? _NL?\n_NL: /(\\n *)+/", 1, 2, "a:;\n ", 6, ["a", "a:", "a;"]),
    # What Lark's grammar of Python 2 has.
    ("start: (_NEWLINE | stmt)*\nstmt: \"a\" _NEWLINE | \"b\" suite\nsuite: \"a\" _NEWLINE | _NEWLINE _INDENT _NEWLINE? stmt+ _DEDENT _NEWLINE?\nCOMMENT: /#[^\\n]*/\n_NEWLINE: ( /\\r?\\n[\\t ]*/ | COMMENT )+\n%ignore /[\\t \\f]+/\n%ignore COMMENT", 1, 2, "ab#\n ", 6, ["a", "b", "ba", "#b", "a #", ""]),
    # Ignored texts after a newline, which do not count.
    (STMT + "\n_NL: /(\\n *)+/\n%ignore /_+/\n%ignore /\\\\\\n/", 1, 2, "ab\n _", 6, ["a", "b", "_a", "_", "\\"]),
    ("start: stmt*\nstmt: \"a\" _NL | \"b\" _NL _NL? _INDENT stmt+ _DEDENT\n_NL: /\\n */\n%ignore /_+/", 1, 2, "ab\n _", 6, ["a", "b", "_", " _"]),
    # Blocks whose beginnings and ends stand in several rules, or without lines between.
    ("start: \"b\" _NL x y\nx: _INDENT \"a\"\ny: _NL z \"c\"\nz: _DEDENT\n_NL: /(\\n *)+/", 1, 2, "abc\n ", 6, ["a", "b", "c"]),
    ("start: \"b\" _NL o \"a\" _NL? \nx: o\no: (_INDENT _DEDENT)?\n_NL: /(\\n *)+/", 1, 2, "ab\n ", 6, ["a", "b"]),
    ("start: \"b\" _NL _INDENT _DEDENT \"a\"? | \"a\" _NL (_INDENT \"b\" _NL _DEDENT)* \"c\"\n_NL: /(\\n *)+/", 1, 2, "abc\n ", 6, ["a", "b", "c"]),
    # Names and keywords, and what only a context decides.
    ("start: stmt+\nstmt: NAME _NL | \"if\" NAME block\nblock: \":\" _NL _INDENT stmt+ _DEDENT [\"else\" \":\" _NL _INDENT stmt+ _DEDENT]\nNAME: /[a-z]+/\n_NL: /(\\n *)+/\n%ignore \" \"", 2, 2, "if:\n ", 6, ["if a:", "else:", "x", "else", "if if:"]),
    ("start: stmt+\nstmt: NAME \"=\" e _NL | \"f\" NAME \":\" _NL _INDENT stmt+ _DEDENT\ne: NAME | \"(\" [e (\",\" e)*] \")\"\nNAME: /[a-z]+/\n_NL: /(\\n *)+/\n%ignore \" \"", 2, 3, "fx=:\n ", 5, ["x = y", "f x:", "x = (", "y,", ")", "x = (y,y)", "f f:"]),
    # Long strings that are read as newlines, as in SynCode's Python.
    (STMT + "\n_NL: ( /(\\r?\\n[\\t ]*)+/ | /\"[^\"]*\"/ )+", 1, 2, "ab\"\n ", 6, ["a", "b", "\"a\"", "\"", "a\"b"]),
    # Priorities and conflicts.
    ("start: stmt+\nstmt: \"i\" block (\"e\" block)? | \"a\" _NL\nblock: stmt | _NL _INDENT stmt+ _DEDENT\n_NL: /(\\n *)+/", 1, 2, "iea\n ", 6, ["i", "a", "e", "ia", "ea"]),
]


def indenter(newline, by, depth):
    """Lark's Indenter, which notes whether lines are indented by so many blanks for each level."""

    class Noting(Indenter):
        NL_type = newline
        OPEN_PAREN_types = ["LPAR", "LSQB", "LBRACE"]
        CLOSE_PAREN_types = ["RPAR", "RSQB", "RBRACE"]
        INDENT_type = "_INDENT"
        DEDENT_type = "_DEDENT"
        tab_len = 8

        def process(self, stream):
            self.is_plain = True
            return super().process(stream)

        def handle_NL(self, token):
            if self.paren_level == 0:
                self.is_plain &= not token.rsplit("\n", 1)[1].strip("\t ")
            yield from super().handle_NL(token)
            self.is_plain &= self.indent_level == [by * level for level in range(len(self.indent_level))]
            self.is_plain &= len(self.indent_level) <= depth + 1

    return Noting()


def others(parts, by, depth, chance):
    """Texts of lines, most of them indented by whole levels, and most blocks where one may begin."""
    texts = []
    for _ in range(3000):
        lines, level = [], 0
        for _ in range(chance.randrange(1, 9)):
            off = chance.choice([0] * 20 + [1, -1])
            part = chance.choice(parts)
            lines.append(" " * max(by * level + off, 0) + part)
            level += chance.choice([1] * 9 + [0] if part[-1:] in ("b", ":", "i") else [0, 0, 0, -1, -1, -2, -3])
            level = max(0, min(depth + 1, level))
        texts.append("\n".join(lines) + chance.choice(["\n", "\n", "", "\n  "]))
    return texts


def main():
    chance = random.Random(22)
    for grammar, by, depth, chars, most, parts in CASES:
        for lexer in ("basic", "contextual"):
            postlex = indenter("_NEWLINE" if "_NEWLINE" in grammar else "_NL", by, depth)
            try:
                parser = Lark(grammar + BLOCKS, parser="lalr", lexer=lexer, postlex=postlex)
            except Exception as error:
                raise SystemExit(f"{grammar!r}: {error}")

            def is_taken(text):
                try:
                    parser.parse(text)
                    return postlex.is_plain
                except Exception:
                    return False

            texts = []
            for length in range(most + 1):
                texts.extend(filter(is_taken, map("".join, itertools.product(sorted(set(chars)), repeat=length))))
            other = [(text, is_taken(text)) for text in sorted(set(others(parts, by, depth, chance)))]
            # Nearly all are refused: as many of these are kept as are taken, and some more.
            refused = [text for text, taken in other if not taken]
            taken = [text for text, taken in other if taken]
            taken = chance.sample(taken, min(len(taken), 60))
            case = {"grammar": grammar + BLOCKS, "lexer": lexer, "by": by, "depth": depth, "chars": "".join(sorted(set(chars))), "most": most}
            print(json.dumps(case | {"texts": texts, "taken": taken, "refused": chance.sample(refused, min(len(refused), len(taken) + 20))}))


main()
