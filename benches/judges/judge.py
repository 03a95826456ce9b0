"""Random sentences of a grammar in Lark, judged by gobo, by Lark, and by a parser of another author.

    python judge.py --gobo target/release/gobo --grammar go.lark --lexer basic --judge go --sentences 1000

Sentences are random derivations of the productions that Lark makes of a grammar, their terminals random texts of the terminals' patterns, with
ignored text between most of them and nothing between the others, so that lexemes run into each other. Of each ten, four are damaged by one
character. What decides between gobo and Lark is Lark: `wrong` counts texts that gobo takes and Lark refuses, which must be none, `left out`
those that Lark takes and gobo refuses, which must be what gobo's report calls narrowed. The other author's parser decides nothing: of each
disagreement with it a class and an example are printed.

Needs lark 1.3.1 and, by --judge: go, c: tree_sitter with tree_sitter_go, tree_sitter_c; sql: sqloxide (the crate sqlparser); python and json
need nothing. Prints a line of JSON.
"""

import argparse
import ast
import collections
import json
import pathlib
import random
import re._constants as sre
import re._parser as sre_parse
import subprocess
import sys
import tempfile
import warnings

import lark
from lark.grammar import Terminal
from lark.indenter import Indenter

# Characters for classes that are too large to list.
LETTERS = "abcxyzABC_019 .,;(){}[]<>=+-*/\\\"'#\t\né日"

class PythonIndenter(Indenter):
    """Of SynCode's grammar and of Lark's."""

    INDENT_type, DEDENT_type, tab_len = "_INDENT", "_DEDENT", 8
    OPEN_PAREN_types = ["LPAR", "LSQB", "LBRACE"]
    CLOSE_PAREN_types = ["RPAR", "RSQB", "RBRACE"]

    def __init__(self, newline):
        self.newline = newline
        super().__init__()

    @property
    def NL_type(self):
        return self.newline


def some_text(nodes, draw, flags=0):
    """A random text of a parsed regular expression; what stands around it is not looked at."""
    out = []
    for op, of in nodes:
        if op is sre.LITERAL:
            char = chr(of)
            out.append(char.swapcase() if flags & sre.SRE_FLAG_IGNORECASE and draw.random() < 0.3 else char)
        elif op is sre.NOT_LITERAL:
            out.append(draw.choice([char for char in LETTERS if ord(char) != of]))
        elif op is sre.ANY:
            out.append(draw.choice([char for char in LETTERS if char != "\n"]))
        elif op is sre.IN:
            out.append(draw.choice(members(of)))
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            least, most, inner = of
            times = draw.randint(least, min(most, least + 3))
            out.extend(some_text(inner, draw, flags) for _ in range(times))
        elif op is sre.SUBPATTERN:
            out.append(some_text(of[3], draw, (flags | of[1]) & ~of[2]))
        elif op is sre.BRANCH:
            out.append(some_text(draw.choice(of[1]), draw, flags))
        elif op is sre.ATOMIC_GROUP:
            out.append(some_text(of, draw, flags))
        elif op in (sre.ASSERT, sre.ASSERT_NOT, sre.AT):
            pass
        else:
            sys.exit(f"no text is known of {op}")
    return "".join(out)


def members(items):
    """Characters of a class: those of `LETTERS`, and the ends of its ranges."""
    matcher = sre_parse.SubPattern(sre_parse.State(), [(sre.IN, items)])
    compiled = re_of(matcher)
    found = [char for char in LETTERS if compiled(char)]
    for op, of in items:
        if op is sre.RANGE:
            found += [chr(code) for code in of if compiled(chr(code))]
        elif op is sre.LITERAL and compiled(chr(of)):
            found.append(chr(of))
    return found or sys.exit(f"no character is known of {items}")


def re_of(pattern):
    """Whether a character is in a class, by Python's own engine."""
    import re._compiler

    code = re._compiler.compile(pattern, 0)
    return lambda char: code.fullmatch(char) is not None


class Sentences:
    """Random derivations of a grammar."""

    def __init__(self, parser, seed, largest, glued):
        self.draw = random.Random(seed)
        self.largest, self.glued = largest, glued
        self.of = collections.defaultdict(list)
        for rule in parser.rules:
            self.of[rule.origin].append(rule.expansion)
        self.start = lark.grammar.NonTerminal(parser.options.start[0])
        self.patterns = {}
        for terminal in parser.terminals:
            flags = sre.SRE_FLAG_UNICODE
            self.patterns[terminal.name] = sre_parse.parse(terminal.pattern.to_regexp(), flags)
        self.ignored = list(parser.ignore_tokens)
        self.cost = {origin: 1 << 30 for origin in self.of}
        changed = True
        while changed:
            changed = False
            for origin, bodies in self.of.items():
                cost = min(self.body_cost(body) for body in bodies)
                if cost < self.cost[origin]:
                    self.cost[origin], changed = cost, True

    def body_cost(self, body):
        costs = (0 if isinstance(symbol, Terminal) else self.cost.get(symbol, 1 << 30) for symbol in body)
        return 1 + sum(costs)

    def terminals(self):
        """The names of the terminals of a random sentence."""
        names, open_symbols, spent = [], [self.start], 0
        while open_symbols:
            symbol = open_symbols.pop()
            if isinstance(symbol, Terminal):
                names.append(symbol.name)
                continue
            spent += 1
            bodies = self.of[symbol]
            if spent > self.largest:
                least = min(self.body_cost(body) for body in bodies)
                bodies = [body for body in bodies if self.body_cost(body) == least]
            open_symbols += reversed(self.draw.choice(bodies))
        return names

    def between(self):
        """What stands between two terminals."""
        if not self.ignored or self.draw.random() < self.glued:
            return ""
        if self.draw.random() < 0.8:
            return " "
        return some_text(self.patterns[self.draw.choice(self.ignored)], self.draw)

    def text(self, name):
        return some_text(self.patterns[name], self.draw)

    def sentence(self):
        names, depth, inside, out = self.terminals(), 0, 0, []
        for at, name in enumerate(names):
            if name in ("_INDENT", "_DEDENT"):
                continue
            if name in ("_NL", "_NEWLINE") and "_INDENT" in self.patterns:
                for follower in names[at + 1 :]:
                    if follower not in ("_INDENT", "_DEDENT"):
                        break
                    depth += 1 if follower == "_INDENT" else -1
                out.append("\n" + " " * (4 * depth))
                continue
            out += [self.text(name), self.between()]
        return "".join(out)

    def damaged(self, text):
        at = self.draw.randrange(len(text) + 1)
        other = self.draw.choice(LETTERS)
        return text[:at] + self.draw.choice(["", other]) + text[at + self.draw.randrange(2) :]


def lark_reads(parser, text):
    try:
        parser.parse(text)
        return True
    except lark.exceptions.UnexpectedInput:
        return False
    except (lark.exceptions.LarkError, AssertionError, IndexError):
        # Of the indenter: a level that is not there.
        return False


def tree_sitter(language):
    import tree_sitter

    parser = tree_sitter.Parser(tree_sitter.Language(language))
    return lambda text: not parser.parse(text.encode()).root_node.has_error


def judge_of(name):
    """Whether the parser of another author takes a text."""
    if name == "go":
        import tree_sitter_go

        return tree_sitter(tree_sitter_go.language())
    if name == "c":
        import tree_sitter_c

        return tree_sitter(tree_sitter_c.language())

    def python(text):
        warnings.simplefilter("ignore")
        ast.parse(text)

    def sql(text):
        import sqloxide

        sqloxide.parse_sql(sql=text, dialect="generic")

    read = {"python": python, "sql": sql, "json": json.loads}[name]

    def reads(text):
        try:
            read(text)
            return True
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return False

    return reads


def gobo_reads(args, texts):
    """Whether gobo takes each text."""
    with tempfile.TemporaryDirectory() as folder:
        cases = pathlib.Path(folder) / "cases.jsonl"
        grammar = args.grammar.read_text()
        with cases.open("w") as file:
            case = {"id": "0", "grammar": grammar, "dialect": "lark", "lexer": args.lexer, "accept": texts, "reject": []}
            case["start"] = args.start
            file.write(json.dumps(case) + "\n")
        command = [args.gobo, "check", "--json", "--tokenizer", args.tokenizer, *args.option, str(cases)]
        done = subprocess.run(command, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    refused = set()
    for line in lines[:-1]:
        if line["verdict"] != "index":
            sys.exit(f"no index: {line}")
        refused.update(wrong["text"] for wrong in line["wrong"])
    if not any("summary" in line for line in lines):
        sys.exit(done.stderr)
    return [text not in refused for text in texts]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gobo", required=True)
    options.add_argument("--grammar", type=pathlib.Path, required=True)
    options.add_argument("--lexer", choices=["basic", "contextual"], default="basic")
    options.add_argument("--start", default="start")
    options.add_argument("--judge", choices=["go", "c", "sql", "python", "json"])
    options.add_argument("--newline", help="the newline terminal of a grammar with indentation")
    options.add_argument("--sentences", type=int, default=1000)
    options.add_argument("--largest", type=int, default=60, help="productions before the shortest ones are taken")
    options.add_argument("--glued", type=float, default=0.3, help="how often nothing stands between two terminals")
    options.add_argument("--end", default="", help="what each sentence ends with; added where it does not")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--tokenizer", default="o200k_base")
    options.add_argument("--option", action="append", default=[], help="an option for gobo")
    args = options.parse_args()
    postlex = PythonIndenter(args.newline) if args.newline else None
    grammar = args.grammar.read_text()
    parser = lark.Lark(grammar, parser="lalr", lexer=args.lexer, start=args.start, postlex=postlex)
    sentences = Sentences(parser, args.seed, args.largest, args.glued)
    texts = {}
    while len(texts) < args.sentences:
        text = sentences.sentence()
        if sentences.draw.random() < 0.4:
            text = sentences.damaged(text)
        texts.setdefault(text if text.endswith(args.end) else text + args.end)
    texts = list(texts)
    ours = gobo_reads(args, texts)
    lark_s = [lark_reads(parser, text) for text in texts]
    wrong = [text for text, own, true in zip(texts, ours, lark_s) if own and not true]
    left_out = [text for text, own, true in zip(texts, ours, lark_s) if true and not own]
    line = {
        "grammar": args.grammar.name,
        "lexer": args.lexer,
        "sentences": len(texts),
        "lark_takes": sum(lark_s),
        "gobo_takes": sum(ours),
        "wrong": len(wrong),
        "left_out": len(left_out),
        "examples": [min(of, key=len) for of in (wrong, left_out) if of],
    }
    if args.judge:
        reads = judge_of(args.judge)
        theirs = [reads(text) for text in texts]
        only_gobo = [text for text, own, other in zip(texts, ours, theirs) if own and not other]
        only_judge = [text for text, own, other in zip(texts, ours, theirs) if other and not own]
        line |= {
            "judge": args.judge,
            "judge_takes": sum(theirs),
            "only_gobo": len(only_gobo),
            "only_judge": len(only_judge),
            "only_gobo_shortest": sorted(only_gobo, key=len)[:8],
            "only_judge_shortest": sorted(only_judge, key=len)[:8],
        }
    print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
