"""Texts of grammars, read by gobo and by the engine whose dialect they are in: llguidance for Lark, XGrammar for EBNF and GBNF.

    python peers.py --gobo target/release/gobo grammars/*.ebnf grammars/*.gbnf
    python peers.py --gobo target/release/gobo --lexer longest grammars/*.lark

Texts are samples under gobo's masks, and samples with one character damaged. Prints a line for each grammar: how many texts both take, and the
shortest of those that one alone takes. Needs llguidance and xgrammar.
"""

import argparse
import json
import pathlib
import random
import subprocess
import tempfile

import llguidance
import xgrammar
from xgrammar.testing import _is_grammar_accept_string

LETTERS = "abcxyzABC_019 .,;(){}[]<>=+-*/\\\"'#\t\né日"
SHOWN = 4


def run(args, command, *more):
    done = subprocess.run([args.gobo, command, "--json", "--tokenizer", args.tokenizer, *more], capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def texts_of(args, path, options):
    found, said = run(args, "sample", "-n", str(args.texts), "--max-tokens", str(args.max_tokens), "--grammar", str(path), *options)
    draw, texts = random.Random(7), {}
    for line in found:
        if not line.get("complete"):
            continue
        text = line["text"]
        at = draw.randrange(len(text) + 1)
        texts[text] = None
        texts[text[:at] + draw.choice(["", *LETTERS]) + text[at + draw.randrange(2) :]] = None
    return list(texts), said


def ours(args, path, dialect, texts):
    with tempfile.TemporaryDirectory() as folder:
        cases = pathlib.Path(folder) / "cases.jsonl"
        case = {"id": "0", "grammar": path.read_text(), "dialect": dialect, "accept": texts, "reject": []}
        case |= {"start": "start", "lexer": args.lexer} if dialect == "lark" else {"start": "root"}
        cases.write_text(json.dumps(case) + "\n")
        lines, said = run(args, "check", str(cases))
    if not lines or lines[0]["verdict"] != "index":
        raise ValueError(said or lines[0]["reason"])
    refused = {wrong["text"] for wrong in lines[0]["wrong"]}
    return [text not in refused for text in texts]


def by_llguidance(grammar):
    tokenizer, grammar = llguidance.LLTokenizer("byte"), llguidance.grammar_from("lark", grammar)
    first = llguidance.LLMatcher(tokenizer, grammar)
    if first.is_error():
        raise ValueError(first.get_error())

    def reads(text):
        matcher = first.deep_copy()
        return all(matcher.try_consume_tokens([byte]) == 1 for byte in text.encode()) and matcher.is_accepting()

    return reads


def by_xgrammar(grammar):
    compiled = xgrammar.Grammar.from_ebnf(grammar)
    return lambda text: _is_grammar_accept_string(compiled, text)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gobo", required=True)
    options.add_argument("--tokenizer", default="r50k_base")
    options.add_argument("--lexer", default="longest")
    options.add_argument("--texts", type=int, default=200)
    options.add_argument("--max-tokens", type=int, default=48, help="longer samples are left out")
    options.add_argument("grammars", type=pathlib.Path, nargs="+")
    args = options.parse_args()
    for path in args.grammars:
        dialect = path.suffix[1:]
        of_lark = ["--lexer", args.lexer] if dialect == "lark" else []
        try:
            reads = (by_llguidance if dialect == "lark" else by_xgrammar)(path.read_text())
            texts, said = texts_of(args, path, of_lark)
            own, theirs = ours(args, path, dialect, texts), [reads(text) for text in texts]
        except (ValueError, RuntimeError) as error:
            print(json.dumps({"grammar": path.name, "left_out": str(error).strip().splitlines()[-1][:200]}))
            continue
        pairs = list(zip(texts, own, theirs))
        alone = [sorted((text for text, mine, other in pairs if (mine, other) == of), key=len) for of in [(True, False), (False, True)]]
        line = {"grammar": path.name, "texts": len(texts), "both": sum(mine and other for _, mine, other in pairs)}
        line |= {"gobo_alone": len(alone[0]), "peer_alone": len(alone[1]), "examples": [of[:SHOWN] for of in alone]}
        print(json.dumps(line, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
