"""A grammar object under the calls that SGLang makes: rows, batches, rollback, copies, failures, trees of drafts."""

import random

import pytest
import torch
from sglang_support import rows_of, settled
from gobo_masks.sglang.grammar import GoboGrammar, traverse_tree
from sglang.srt.constrained.base_grammar_backend import GrammarRow
from sglang.srt.constrained.xgrammar_backend import XGrammarGrammar
from sglang.srt.speculative import spec_utils

SCHEMA = '{"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"enum": ["red", "blue"]}}, "required": ["a", "b"]}'
TEXT = '{"a": true, "b": "red"}'


@pytest.fixture
def grammar(backend):
    return settled(backend.get_cached_or_future_value(("json", SCHEMA), False))


def empty(grammar, rows):
    return grammar.allocate_vocab_mask(width_of(grammar), rows, "cpu")


def width_of(grammar):
    return getattr(grammar, "grammar", grammar).vocab_size


def mask_of(grammar):
    mask = empty(grammar, 1)
    grammar.fill_vocab_mask(mask, 0)
    return mask[0]


def walk(grammar, tokenizer, text):
    for id in tokenizer.encode(text):
        assert id in rows_of(mask_of(grammar).unsqueeze(0))[0]
        grammar.accept_token(id)


def test_a_text_to_its_end(grammar, tokenizer):
    walk(grammar, tokenizer, TEXT)
    # A line end may follow the value.
    (line_feed,), (carriage_return,) = tokenizer.encode("\n"), tokenizer.encode("\r")
    assert rows_of(mask_of(grammar).unsqueeze(0)) == [{tokenizer.eos_token_id, line_feed, carriage_return}]
    grammar.accept_token(tokenizer.eos_token_id)
    assert grammar.is_terminated()
    grammar.accept_token(7)
    assert grammar.accepted_tokens == [*tokenizer.encode(TEXT), tokenizer.eos_token_id], "nothing follows the end"


def test_a_refused_token_raises_what_the_engine_catches_and_changes_nothing(grammar, tokenizer):
    before = mask_of(grammar)
    with pytest.raises(ValueError, match="not accepted"):
        grammar.accept_token(tokenizer.encode("x")[0])
    assert torch.equal(mask_of(grammar), before)


def test_tokens_are_taken_back_over_the_end(grammar, tokenizer):
    masks = []
    ids = [*tokenizer.encode(TEXT), tokenizer.eos_token_id]
    for id in ids:
        masks.append(mask_of(grammar))
        grammar.accept_token(id)
    for count in (1, 2, len(ids) - 3):
        grammar.rollback(count)
        ids = ids[:-count]
        assert grammar.accepted_tokens == ids and not grammar.is_terminated()
        assert torch.equal(mask_of(grammar), masks[len(ids)])


def test_a_copy_is_at_the_start(grammar, tokenizer):
    start = mask_of(grammar)
    walk(grammar, tokenizer, '{"a"')
    copy = grammar.copy()
    assert torch.equal(mask_of(copy), start) and copy.accepted_tokens == []
    assert copy.grammar_stats.is_cache_hit and not grammar.grammar_stats.is_cache_hit


def test_a_batch_fills_gobos_rows_and_foreign_ones(make_backend, tokenizer):
    plain = make_backend()
    gobo = settled(plain.get_cached_or_future_value(("json", SCHEMA), False))
    foreign = stock_grammar(plain, '{"enum": ["red"]}')
    wrapped = settled(make_backend(reasoning_parser="qwen3").get_cached_or_future_value(("json", SCHEMA), False))
    thinking = settled(make_backend(reasoning_parser="qwen3").get_cached_or_future_value(("json", SCHEMA), True))
    batch = {0: gobo, 2: foreign, 3: wrapped, 4: thinking, 6: gobo.copy()}
    mask = empty(gobo, 8)
    type(gobo).fill_vocab_mask_batched([GrammarRow(row, grammar) for row, grammar in batch.items()], mask)
    for row in range(8):
        expected = torch.full_like(mask[0], -1)
        if row in batch:
            single = empty(gobo, 1)
            batch[row].fill_vocab_mask(single, 0)
            expected = single[0]
        assert torch.equal(mask[row], expected), row
    assert torch.equal(mask[1], torch.full_like(mask[1], -1)), "rows that are not named keep all tokens"
    assert torch.equal(mask[4], torch.full_like(mask[1], -1)), "a text that still reasons is free"


def stock_grammar(backend, schema):
    from sglang.srt.constrained.xgrammar_backend import XGrammarGrammarBackend

    grammar = XGrammarGrammarBackend.dispatch_json(backend, schema)
    assert type(grammar) is XGrammarGrammar
    return grammar


# -- failures ---------------------------------------------------------------------------------------------------------------


class Panic(BaseException):
    """As a panic of Rust is in Python: no `Exception`."""


class Broken:
    """A matcher whose index was damaged under it."""

    def __init__(self, matcher, error=RuntimeError):
        self.eos = matcher.eos
        self.error = error

    def is_terminated(self):
        return False

    def __getattr__(self, name):
        def fail(*args):
            raise self.error("the index is damaged")

        return fail


@pytest.mark.parametrize("error", [RuntimeError, Panic])
def test_a_failed_row_allows_the_stop_ids_and_the_next_token_ends_the_request(grammar, tokenizer, error):
    grammar.matcher = Broken(grammar.matcher, error)
    assert rows_of(mask_of(grammar).unsqueeze(0)) == [{tokenizer.eos_token_id}]
    grammar.rollback(3)
    assert not grammar.is_terminated()
    with pytest.raises(ValueError, match="damaged"):
        grammar.accept_token(tokenizer.eos_token_id)


def test_ctrl_c_is_no_failure(grammar):
    grammar.matcher = Broken(grammar.matcher, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        mask_of(grammar)


@pytest.mark.parametrize(
    "matrix",
    [torch.zeros((1, 16), dtype=torch.int64), torch.zeros((1, 16), dtype=torch.int32, device="meta"), torch.zeros((1, 32), dtype=torch.int32)[:, ::2]],
    ids=["int64", "another device", "steps"],
)
def test_a_matrix_of_another_kind_ends_its_request_alone(grammar, tokenizer, matrix):
    broken = grammar.copy()
    GoboGrammar.fill_vocab_mask_batched([GrammarRow(0, broken)], matrix)
    with pytest.raises(ValueError, match="matrix of masks"):
        broken.accept_token(tokenizer.encode("{")[0])
    grammar.accept_token(tokenizer.encode("{")[0])


def test_a_failed_rollback_does_not_raise(grammar, tokenizer):
    grammar.rollback(100)
    assert rows_of(mask_of(grammar).unsqueeze(0)) == [{tokenizer.eos_token_id}]
    with pytest.raises(ValueError, match="not accepted"):
        grammar.accept_token(tokenizer.encode("{")[0])


def test_one_broken_row_of_a_batch_leaves_the_others(grammar, tokenizer):
    broken, whole = grammar.copy(), grammar.copy()
    broken.matcher = Broken(broken.matcher)
    mask = empty(grammar, 3)
    GoboGrammar.fill_vocab_mask_batched([GrammarRow(0, broken), GrammarRow(1, whole), GrammarRow(2, grammar)], mask)
    assert rows_of(mask)[0] == {tokenizer.eos_token_id}
    assert torch.equal(mask[1], mask_of(grammar)) and torch.equal(mask[2], mask[1])


def test_a_broken_tree_allows_the_stop_ids(grammar, tokenizer):
    grammar.matcher = Broken(grammar.matcher)
    mask = empty(grammar, 2)
    traverse_tree(None, torch.tensor([1, -1]), torch.tensor([-1, -1]), torch.tensor([0, 5]), grammar, mask)
    assert rows_of(mask) == [{tokenizer.eos_token_id}] * 2


# -- trees of drafts --------------------------------------------------------------------------------------------------------


def random_tree(chance, nodes, likely, width):
    """First-child and next-sibling links of a random tree, and drafts of which most can be taken."""
    parents = [None] + [chance.randrange(node) for node in range(1, nodes)]
    first, sibling = [-1] * nodes, [-1] * nodes
    for node in range(nodes - 1, 0, -1):
        sibling[node], first[parents[node]] = first[parents[node]], node
    drafts = [0] + [chance.choice(likely) if chance.random() < 0.9 else chance.randrange(width) for _ in range(1, nodes)]
    return torch.tensor(first), torch.tensor(sibling), torch.tensor(drafts)


@pytest.mark.parametrize("wrap", [False, True])
def test_a_tree_in_one_call_is_the_engines_walk(make_backend, tokenizer, wrap):
    backend = make_backend(**({"reasoning_parser": "qwen3"} if wrap else {}))
    chance = random.Random(1)
    ids = tokenizer.encode(TEXT)
    for round in range(200):
        grammar = settled(backend.get_cached_or_future_value(("json", SCHEMA), False))
        taken = chance.randrange(len(ids) + 1)
        for id in ids[:taken]:
            grammar.accept_token(id)
        likely = [*ids[taken : taken + 3], tokenizer.eos_token_id, *tokenizer.encode("tr")]
        first, sibling, drafts = random_tree(chance, chance.randrange(1, 12), likely, width_of(grammar))
        expected, found = empty(grammar, len(drafts)), empty(grammar, len(drafts))
        stock = getattr(spec_utils.traverse_tree, "__wrapped__", spec_utils.traverse_tree)
        stock(first, sibling, drafts, grammar, expected, vocab_size=width_of(grammar))
        before = rolled_back(grammar, taken)
        traverse_tree(_never, first, sibling, drafts, grammar, found, vocab_size=width_of(grammar))
        assert torch.equal(found, expected), round
        assert rolled_back(grammar, taken) == before, "as many tokens can be taken back as before"


def rolled_back(grammar, taken):
    """The masks on the way back to the start, and forward again."""
    inner = getattr(grammar, "grammar", grammar)
    ids = list(inner.accepted_tokens)
    assert len(ids) == taken
    inner.rollback(taken)
    masks = []
    for id in ids:
        masks.append(mask_of(inner).tolist())
        inner.accept_token(id)
    return masks


def _never(*args, **kwargs):
    raise AssertionError("the engine's walk is not called")


def test_a_tree_that_still_reasons_is_walked_by_the_engine(make_backend, tokenizer):
    grammar = settled(make_backend(reasoning_parser="qwen3").get_cached_or_future_value(("json", SCHEMA), True))
    end, brace = tokenizer.encode("</think>")[0], tokenizer.encode("{")[0]
    arrays = torch.tensor([1, 2, -1]), torch.tensor([-1, -1, -1]), torch.tensor([0, end, brace])
    mask = empty(grammar, 3)
    stock = getattr(spec_utils.traverse_tree, "__wrapped__", spec_utils.traverse_tree)
    traverse_tree(stock, *arrays, grammar, mask, vocab_size=width_of(grammar))
    free = torch.full_like(mask[0], -1)
    assert torch.equal(mask[0], free) and not torch.equal(mask[1], free) and not torch.equal(mask[2], mask[1])
    assert grammar._is_thinking()


def test_the_engine_takes_the_native_walk_where_it_drafts(make_backend, monkeypatch, tokenizer):
    from sglang.srt.plugins.hook_registry import HookRegistry

    stock = spec_utils.traverse_tree
    HookRegistry.reset()
    try:
        backend = make_backend(speculative_algorithm="EAGLE")
        make_backend(speculative_algorithm="EAGLE")
        assert spec_utils.traverse_tree.__wrapped__ is stock, "hooked, and once"
        grammar = settled(backend.get_cached_or_future_value(("json", SCHEMA), False))
        chain = torch.tensor([[1, 2, -1]]), torch.tensor([[-1, -1, -1]]), torch.tensor([[0, *tokenizer.encode('{"')][:3]])
        calls = []
        monkeypatch.setattr(GoboGrammar, "fill_draft_tree", lambda self, *arrays: calls.append(len(arrays)))

        class Request:
            pass

        request = Request()
        request.grammar = grammar
        count = chain[2].shape[1]
        chain = tuple(array[:, :count] for array in chain)
        mask, found = spec_utils.generate_token_bitmask([request], *chain, grammar.vocab_size)
        assert calls == [4] and found is grammar and mask.shape[0] == count
    finally:
        HookRegistry.reset()
        spec_utils.traverse_tree = stock


def test_a_damaged_file_under_a_matcher_ends_one_request(backend, tokenizer):
    """Bytes of the mapped file are overwritten: every fill of that index gives the old mask, or stop ids, and never raises."""
    grammar = settled(backend.get_cached_or_future_value(("regex", "(red|blue){5}x{3}"), False))
    path = grammar.ctx.path
    if path is None:
        pytest.skip("the index is in memory")
    import os

    os.chmod(path, 0o644)
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        file.seek(size // 4)
        file.write(b"\xff" * (size // 2))
    other = settled(backend.get_cached_or_future_value(("regex", "[ab]c"), False))
    chance = random.Random(2)
    for _ in range(20):
        mask = empty(grammar, 2)
        GoboGrammar.fill_vocab_mask_batched([GrammarRow(0, grammar), GrammarRow(1, other)], mask)
        assert rows_of(mask)[1] == {tokenizer.encode("a")[0], tokenizer.encode("b")[0]}
        allowed = sorted(rows_of(mask)[0])
        if not allowed or grammar.is_terminated():
            break
        try:
            grammar.accept_token(chance.choice(allowed))
        except ValueError:
            break
