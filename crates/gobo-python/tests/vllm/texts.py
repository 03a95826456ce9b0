"""Greedy texts of a fixed score function under gobo and under vLLM's stock backend: equal, or the difference is a policy's that has a name.

    PYTHONPATH=VLLM GOBO_DATA=… python crates/gobo-python/tests/vllm/texts.py [COUNT]

Both write a text for each schema of JSONSchemaBench by taking the allowed token that the score function likes best. Where the two
first part, each side's token is tried under gobo with one policy after the other relaxed: the first that takes the other side's token names
the difference. What no policy explains is judged: `jsonschema` says whether the stock engine's text is a valid one (`stock_is_looser` if it
is not, or begins as no valid text can), and whether gobo's is (`stock_is_narrower`). The rest is `unexplained`, and fails.
"""

import collections
import json
import os
import pathlib
import sys
import tempfile
import zlib

os.environ.setdefault("GOBO_STORE", tempfile.mkdtemp(prefix="gobo-texts-"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import conftest  # noqa: E402
import jsonschema  # noqa: E402
import numpy as np  # noqa: E402

LIMIT = 120
# Policies by name, as options that relax each of them. The last has all of them relaxed.
RELAXED = {
    "whitespace": {"whitespace": "flexible:64"},
    "spelling": {"spelling": "any"},
    "closed": {"closed": False},
    "order": {"order": "any"},
    "format": {"format": "annotate"},
    "whitespace and spelling": {"whitespace": "flexible:64", "spelling": "any"},
    "whitespace and closed": {"whitespace": "flexible:64", "closed": False},
    "several": {"whitespace": "flexible:64", "spelling": "any", "closed": False, "format": "annotate"},
}


def weights(tokenizer, width):
    """What the score function likes: tokens that end strings, members and texts, since a text must end some day; and no whitespace,
    which the two do not bound alike, unless there is nothing else."""
    liked = np.zeros(width)
    for id in range(len(tokenizer)):
        text = tokenizer.decode([id])
        liked[id] = 900 if text in ('"', "}", "]", '"}', '"]', '",') else 500 if set(text) <= set('",:}]') else -4 * len(text)
        if any(char.isspace() for char in text):
            liked[id] -= 5000
    liked[tokenizer.eos_token_id] = 2000
    return liked


def score(liked, ids, allowed):
    seed = np.uint64(zlib.crc32(np.asarray(ids[-4:], dtype=np.int64).tobytes()) + len(ids))
    mixed = (allowed.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + seed * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    return (mixed % np.uint64(1000)).astype(float) + liked[allowed]


def write(grammar, liked, width, eos):
    """The ids of a text, and whether it has ended."""
    import torch

    words = (width + 31) // 32
    matrix = torch.zeros((1, words), dtype=torch.int32)
    ids = []
    while len(ids) < LIMIT:
        grammar.fill_bitmask(matrix, 0)
        bits = np.unpackbits(matrix.numpy().view(np.uint8), bitorder="little")[:width]
        allowed = np.flatnonzero(bits)
        if not len(allowed):
            return ids, False
        token = int(allowed[np.argmax(score(liked, ids, allowed))])
        ids.append(token)
        if token == eos:
            return ids, True
        assert grammar.accept_tokens("", [token])
    return ids, False


def is_valid(schema, text):
    try:
        value = json.loads(text)
    except ValueError:
        return False
    checker = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    return checker(schema, format_checker=checker.FORMAT_CHECKER).is_valid(value)


class Judge:
    def __init__(self, client, vocabulary, stock):
        self.client = client
        self.vocabulary = vocabulary
        self.stock = stock

    def name(self, schema, text, ours, theirs, decode):
        """Why two texts part."""
        import gobo_masks

        at = next((at for at, pair in enumerate(zip(ours[0], theirs[0])) if pair[0] != pair[1]), None)
        if at is None:
            return "unexplained"
        prefix, token = theirs[0][:at], theirs[0][at]
        for name, options in RELAXED.items():
            options = {"closed": True, "whitespace": "lines", **options}
            try:
                index = self.client.get(self.vocabulary, gobo_masks.Constraint.schema(text, **options), timeout=30)
            except gobo_masks.GoboError:
                continue
            if index.matcher().accept_tokens([*prefix, token]):
                return name
        eos = index.matcher().eos
        if theirs[1] and not is_valid(schema, decode([id for id in theirs[0] if id not in eos])):
            return "stock_is_looser"
        if ours[1] and is_valid(schema, decode([id for id in ours[0] if id not in eos])):
            taken = self.stock(text).accept_tokens("", [*ours[0][:at], ours[0][at]])
            if not taken:
                return "stock_is_narrower"
        return "unexplained"


def schemas(count):
    files = sorted((conftest.DATA / "jsonschemabench").glob("*.jsonl"))
    lines = {path: path.read_text().splitlines() for path in files}
    # In turns, so that every collection is there.
    for at in range(max(map(len, lines.values()))):
        for path in files:
            if at < len(lines[path]):
                entry = json.loads(lines[path][at])
                if len(json.dumps(entry["schema"])) < 8192:
                    yield entry["id"], entry["schema"]
                    count -= 1
                    if not count:
                        return


def compare(count, tell=print):
    from vllm.v1 import structured_output
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kind

    import gobo_masks
    import gobo_masks.vllm
    from gobo_masks.vllm._grammar import GoboGrammar

    gobo_masks.vllm.register()
    served = structured_output.XgrammarBackend
    tokenizer = conftest.tokenizer("gpt2", "<|endoftext|>")
    width = len(tokenizer)
    config = conftest.Engine(tokenizer, backend="xgrammar").config
    gobo, plain = served(config, tokenizer, width), served.stock(config, tokenizer, width)
    liked, eos = weights(tokenizer, width), tokenizer.eos_token_id
    client = gobo_masks.default_client()
    vocabulary = gobo_masks.Vocabulary.of(tokenizer, width=width)
    judge = Judge(client, vocabulary, lambda text: plain.compile_grammar(Kind.JSON, text, {eos}))
    counts = collections.Counter()
    for id, schema in schemas(count):
        text = json.dumps(schema)
        if gobo.gobo_objection(Kind.JSON, text) is not None:
            counts["stock refuses"] += 1
            continue
        try:
            grammar = gobo.compile_grammar(Kind.JSON, text, {eos})
        except Exception as error:
            counts["neither serves"] += 1
            tell(f"{id}: {error}")
            continue
        if not isinstance(grammar, GoboGrammar):
            counts["stock alone serves"] += 1
            continue
        ours = write(grammar, liked, width, eos)
        theirs = write(plain.compile_grammar(Kind.JSON, text, {eos}), liked, width, eos)
        if ours == theirs:
            counts["equal"] += 1
            continue
        why = judge.name(schema, text, ours, theirs, tokenizer.decode)
        counts[why] += 1
        if why in ("unexplained", "stock_is_looser", "stock_is_narrower"):
            tell(f"{id}: {why}\n  gobo  {tokenizer.decode(ours[0])!r:.300}\n  stock {tokenizer.decode(theirs[0])!r:.300}")
    return counts


if __name__ == "__main__":
    for name, number in compare(int(sys.argv[1]) if len(sys.argv) > 1 else 300).most_common():
        print(f"{number:5} {name}")
