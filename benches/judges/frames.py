"""Counts what masks would be made of if frames were states of Lark's LALR(1) parser: the model of decision 32, from which decision 48 came.

    python frames.py --grammar go.lark --start start --vocabulary o200k_base.tiktoken

Each token that is text is cut into lexemes by Lark's basic lexer, as if it began between two, and stands for its terminals. From each state behind a
terminal, those tokens that reduce a production whose first symbols lie deeper on the stack than that state are *suffixes*: the terminals that are left, the rule,
and how many states are still to be popped. A set of them and the state below leave another set. Printed are the distinct sets, and the pairs of a set and a state that can
lie there.

Needs lark 1.3.1. Minutes for a programming language. Prints a line of JSON.
"""

import argparse
import base64
import collections
import json
import pathlib
import re

import lark
from lark.parsers.lalr_analysis import Shift


class Parser:
    """The tables of a grammar."""

    def __init__(self, grammar: str, start: str):
        self.grammar = lark.Lark(grammar, parser="lalr", lexer="basic", start=start)
        table = self.grammar.parser.parser._parse_table
        self.terminals = {terminal.name for terminal in self.grammar.terminals} | {"$END"}
        self.start = table.start_states[start]
        self.shifts = collections.defaultdict(dict)
        self.reductions = collections.defaultdict(dict)
        self.below = collections.defaultdict(set)
        self.behind_terminals = [self.start]
        for state, row in table.states.items():
            for symbol, (action, argument) in row.items():
                if action is not Shift:
                    self.reductions[state][symbol] = argument
                    continue
                if symbol in self.terminals and argument not in self.below:
                    self.behind_terminals.append(argument)
                self.shifts[state][symbol] = argument
                self.below[argument].add(state)

    def read(self, stack: tuple, terminals: tuple):
        """Reads terminals above a stack: what is left of them where more of the stack is needed, the rule, and the states to pop; else None."""
        stack = list(stack)
        for at, terminal in enumerate(terminals):
            while terminal not in self.shifts[stack[-1]]:
                rule = self.reductions[stack[-1]].get(terminal)
                if rule is None:
                    return None
                name, length = rule.origin.name, len(rule.expansion)
                if length >= len(stack):
                    return terminals[at:], (name, length - len(stack))
                del stack[len(stack) - length :]
                after = self.shifts[stack[-1]].get(name)
                if after is None:
                    return None
                stack.append(after)
            stack.append(self.shifts[stack[-1]][terminal])
        return None

    def left(self, suffixes: frozenset, state) -> frozenset:
        """What a set of suffixes leaves below a state."""
        left = set()
        for terminals, (name, pops) in suffixes:
            if pops > 0:
                left.add((terminals, (name, pops - 1)))
            elif (after := self.shifts[state].get(name)) is not None:
                left.add(self.read((state, after), terminals))
        return frozenset(left - {None})


class Lexer:
    """Lark's basic lexer, of texts that may end within a lexeme."""

    def __init__(self, grammar: lark.Lark):
        key = lambda of: (-of.priority, -of.pattern.max_width, -len(of.pattern.value), of.name)
        flags = grammar.options.g_regex_flags
        self.patterns = [
            (of.name, re.compile(of.pattern.to_regexp(), flags)) for of in sorted(grammar.terminals, key=key)
        ]
        self.texts = {of.pattern.value: of.name for of in grammar.terminals if of.pattern.type == "str"}
        self.ignored = set(grammar.ignore_tokens)

    def terminals(self, text: str) -> tuple:
        """The terminals of its lexemes, as far as there are any."""
        found, at = [], 0
        while at < len(text):
            ends = ((name, pattern.match(text, at)) for name, pattern in self.patterns)
            name, end = next(((name, end.end()) for name, end in ends if end and end.end() > at), (None, at))
            if name is None:
                break
            name = self.texts.get(text[at:end], name)
            if name not in self.ignored:
                found.append(name)
            at = end
        return tuple(found)


def texts(vocabulary: pathlib.Path):
    for line in vocabulary.read_bytes().splitlines():
        try:
            yield base64.b64decode(line.split()[0]).decode()
        except UnicodeDecodeError:
            pass


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--grammar", type=pathlib.Path, required=True)
    options.add_argument("--start", default="start")
    options.add_argument("--vocabulary", type=pathlib.Path, required=True)
    options = options.parse_args()
    parser = Parser(options.grammar.read_text(), options.start)
    lexer = Lexer(parser.grammar)
    tokens = {lexer.terminals(text) for text in texts(options.vocabulary)} - {()}
    sets, pairs, open_pairs = set(), set(), []

    def follow(suffixes, state):
        if not suffixes:
            return
        sets.add(suffixes)
        open_pairs.extend((suffixes, below) for below in parser.below[state])

    for state in parser.behind_terminals:
        follow(frozenset({parser.read((state,), token) for token in tokens} - {None}), state)
    while open_pairs:
        pair = open_pairs.pop()
        if pair not in pairs:
            pairs.add(pair)
            follow(parser.left(*pair), pair[1])
    found = {"grammar": options.grammar.name, "states": len(parser.below), "sets": len(sets), "pairs": len(pairs)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
