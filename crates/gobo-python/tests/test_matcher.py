"""One text: masks, steps, ends, drafts."""

import pickle
import random
import threading

import pytest
from conftest import EOS, STOP, TOKENS, allowed, mask_of, rows_of, tokens_of

import gobo_masks as gobo

A, B, AB, ABC = (TOKENS.index(token) for token in (b"a", b"b", b"ab", b"abc"))
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 6}, "tags": {"type": "array", "items": {"enum": ["ab", "abc", 10]}}, "next": {"$ref": "#"}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.fixture
def matcher(index_of):
    return index_of(gobo.Constraint.regex("(ab)*c?")).matcher()


def test_a_mask_is_what_may_come_next(matcher):
    assert mask_of(matcher) == {A, AB, ABC, TOKENS.index(b"c"), EOS}
    assert matcher.accept_token(A)
    assert mask_of(matcher) == {B}
    assert matcher.forced() == b"b"
    assert not matcher.accept_token(A)
    assert mask_of(matcher) == {B}, "a refused token changes nothing"


def test_the_end(matcher):
    assert matcher.is_completed() and not matcher.is_terminated()
    assert matcher.accept_token(EOS)
    assert matcher.is_completed() and matcher.is_terminated()
    assert not matcher.accept_token(A) and not matcher.accept_token(EOS)
    bitmask = gobo.allocate_token_bitmask(1, matcher.width)
    assert matcher.fill_next_token_bitmask(bitmask) is False
    assert rows_of(bitmask) == [[0] * bitmask.words]
    matcher.rollback()
    assert not matcher.is_terminated()


def test_a_chain_is_taken_whole_or_not_at_all(matcher):
    assert matcher.accept_tokens([A, B, -1, A, A])
    assert not matcher.accept_tokens([A, A])
    assert matcher.validate_tokens([A, A]) == [A]
    assert matcher.validate_tokens([A, B, AB, -1, 7]) == [A, B, AB]
    assert matcher.accept_tokens([]) and matcher.accept_tokens([-1])
    matcher.rollback(2)
    with pytest.raises(gobo.InvalidError):
        matcher.rollback()


def test_tokens_after_the_end_are_taken_and_ignored(matcher):
    assert matcher.accept_tokens([AB, EOS, A, 7, STOP])
    assert matcher.is_terminated()
    assert matcher.validate_tokens([5, 6]) == [5, 6]
    assert matcher.accept_tokens([9, 9])
    matcher.rollback(3)
    assert matcher.is_terminated()
    matcher.rollback(3)
    assert mask_of(matcher) == {A, AB, ABC, TOKENS.index(b"c"), EOS}, "one token is left"
    matcher.rollback()
    with pytest.raises(gobo.InvalidError):
        matcher.rollback()


def test_without_an_eos_the_text_ends_where_nothing_can_follow(index_of):
    matcher = index_of(gobo.Constraint.regex("ab?c")).matcher(eos=[])
    assert matcher.accept_tokens([A])
    assert not matcher.is_terminated()
    assert matcher.validate_tokens([TOKENS.index(b"c"), 5, 5]) == [TOKENS.index(b"c"), 5, 5]
    assert matcher.accept_tokens([B, TOKENS.index(b"c"), 5])
    assert matcher.is_terminated()
    matcher.rollback(3)
    assert mask_of(matcher) == {B, TOKENS.index(b"c")}


def test_bindings(index_of):
    index = index_of(gobo.Constraint.regex("ab"))
    matcher = index.matcher(eos=[EOS, STOP, STOP], width=321)
    assert (matcher.eos, matcher.width) == ((EOS, STOP), 321)
    assert matcher.accept_token(AB) and mask_of(matcher) == {EOS, STOP}
    for bad in ({"eos": [321], "width": 321}, {"width": 3}, {"eos": [-1]}, {"max_rollback": 1 << 40}):
        with pytest.raises(gobo.InvalidError):
            index.matcher(**bad)
    assert index.matcher(max_rollback=0).accept_token(AB)


def test_ids_that_are_none(matcher):
    for bad in (-1, -2, 300, 1 << 31, 1 << 40, 1 << 90, -(1 << 90)):
        with pytest.raises(gobo.InvalidError) as error:
            matcher.accept_token(bad)
        assert error.value.kind == "invalid" and isinstance(error.value, ValueError)
        if bad != -1:
            for call in (matcher.accept_tokens, matcher.validate_tokens):
                with pytest.raises(gobo.InvalidError):
                    call([bad])
    with pytest.raises(gobo.InvalidError):
        matcher.accept_tokens(b"ab")
    with pytest.raises(TypeError):
        matcher.accept_token("a")
    assert not matcher.accept_token(299), "a logit that is no token is refused, not an error"


def test_fork_and_reset(matcher):
    matcher.accept_token(A)
    other = matcher.fork()
    assert other.accept_token(B) and not other.accept_token(B)
    assert matcher.forced() == b"b"
    matcher.reset()
    assert A in mask_of(matcher)
    with pytest.raises(gobo.InvalidError):
        matcher.rollback()
    assert other.index.key == matcher.index.key


def test_a_text_that_begins_inside_of_a_token(matcher):
    matcher.accept_token(A)
    healed = matcher.with_prefix(b"a")
    assert mask_of(healed) == {A}, "the prefix, and no text goes on with b"
    assert healed.forced().startswith(b"a")
    assert healed.accept_token(A) and healed.is_completed()
    assert mask_of(healed) == {A, AB, ABC, TOKENS.index(b"c"), EOS}
    healed.rollback()
    assert mask_of(healed) == {A} and mask_of(matcher) == {B}
    with pytest.raises(gobo.InvalidError, match="65536"):
        matcher.with_prefix(b"a" * 65_537)


def test_token_edges_and_structural_tags(index_of):
    tag = {"type": "tag", "begin": {"type": "token", "token": A}, "content": {"type": "const_string", "value": "b"}, "end": "b"}
    matcher = index_of(gobo.Constraint.structural_tag(tag)).matcher()
    assert matcher.forced() == b"" and matcher.forced_token() == A, "an edge forces a token, and no bytes"
    assert matcher.accept_token(A) and matcher.forced() == b"bb"
    assert matcher.accept_token(B) and matcher.accept_token(B) and matcher.is_completed() and matcher.forced_token() is None
    with pytest.raises(gobo.RefusedError, match="no token"):
        index_of(gobo.Constraint.structural_tag({"type": "token", "token": "<none>"}))


def test_a_matcher_does_not_pickle(matcher):
    with pytest.raises(gobo.GoboError) as error:
        pickle.dumps(matcher)
    assert error.value.kind == "unsupported"


def walk(matcher, random, steps=40):
    """A random text under the masks."""
    taken = []
    for _ in range(steps):
        ids = sorted(mask_of(matcher))
        if not ids:
            break
        id = random.choice(ids)
        assert matcher.accept_token(id), id
        taken.append(id)
        if matcher.is_terminated():
            break
    return taken


@pytest.mark.parametrize("constraint", [gobo.Constraint.schema(SCHEMA), gobo.Constraint.json(), gobo.Constraint.regex("(ab|c)+d")])
def test_a_chain_equals_fill_accept_and_rollback(index_of, constraint):
    index = index_of(constraint)
    for seed in range(30):
        chance = random.Random(seed)
        ahead = index.matcher()
        text = walk(ahead, chance)
        matcher = index.matcher()
        start = chance.randrange(len(text) + 1)
        matcher.accept_tokens(text[:start])
        drafts = text[start : start + 6]
        if chance.random() < 0.5 and drafts:
            drafts[chance.randrange(len(drafts))] = chance.randrange(256)
        expected, reference = [], matcher.fork()
        for id in [*drafts, None]:
            if reference.is_terminated():
                break
            row = gobo.allocate_token_bitmask(1, matcher.width)
            reference.fill_next_token_bitmask(row)
            expected += rows_of(row)
            if id is None or not reference.accept_token(id):
                break
        bitmask = gobo.allocate_token_bitmask(len(drafts) + 3, matcher.width)
        taken = matcher.fill_draft_chain(bitmask, 1, drafts)
        rows, full = rows_of(bitmask), [0xFFFFFFFF] * bitmask.words
        assert rows[0] == full and rows[1 : 1 + len(expected)] == expected and rows[1 + len(expected) :] == [full] * (len(rows) - 1 - len(expected))
        assert taken == len(matcher.validate_tokens(drafts)) or reference.is_terminated()
        matcher.rollback(start)
        with pytest.raises(gobo.InvalidError):
            matcher.rollback()


def test_a_full_memory_stays_full_over_drafts(index_of):
    matcher = index_of(gobo.Constraint.regex("a*")).matcher(max_rollback=8)
    assert matcher.accept_tokens([A] * 20)
    bitmask = gobo.allocate_token_bitmask(6, matcher.width)
    assert matcher.fill_draft_chain(bitmask, 0, [A] * 5) == 5
    matcher.traverse_draft_tree([1, 2, -1], [-1, -1, -1], [A, A, A], bitmask)
    matcher.rollback(8)
    with pytest.raises(gobo.InvalidError):
        matcher.rollback()


def test_a_tree_equals_a_chain_to_each_node(index_of):
    index = index_of(gobo.Constraint.schema(SCHEMA))
    for seed in range(30):
        chance = random.Random(seed)
        text = walk(index.matcher(), chance)
        start = chance.randrange(len(text) + 1)
        matcher = index.matcher()
        matcher.accept_tokens(text[:start])
        nodes = chance.randrange(1, 12)
        parents = [None] + [chance.randrange(node) for node in range(1, nodes)]
        later = text[start:] or [A]
        tokens = [text[start - 1] if start else 0] + [later[chance.randrange(min(3, len(later)))] if chance.random() < 0.7 else chance.randrange(256) for _ in range(1, nodes)]
        first, sibling = [-1] * nodes, [-1] * nodes
        for node in reversed(range(1, nodes)):
            sibling[node], first[parents[node]] = first[parents[node]], node
        bitmask = gobo.allocate_token_bitmask(nodes + 1, matcher.width)
        matcher.traverse_draft_tree(first, sibling, tokens, bitmask, 1)
        full = [0xFFFFFFFF] * bitmask.words
        expected = [full]
        for node in range(nodes):
            path, at = [], node
            while at:
                path.insert(0, tokens[at])
                at = parents[at]
            reference = matcher.fork()
            row = gobo.allocate_token_bitmask(1, matcher.width)
            if all(reference.accept_token(id) for id in path) and not reference.is_terminated():
                reference.fill_next_token_bitmask(row)
            expected += rows_of(row)
        assert rows_of(bitmask) == expected
        matcher.rollback(start)


@pytest.mark.parametrize(
    "first, sibling, tokens",
    [([], [], []), ([1], [-1], [0]), ([1, 0], [-1, -1], [0, A]), ([1, -1], [-1, 1], [0, A]), ([1, -1], [-1], [0, A]), ([-5, -1], [-1, -1], [0, A]), ([1, -1], [-1, -1], [0, -7]), ([1, -1], [-1, -1], [0, 1 << 40])],
)
def test_arrays_that_are_no_tree(matcher, first, sibling, tokens):
    bitmask = gobo.allocate_token_bitmask(4, matcher.width)
    with pytest.raises(gobo.InvalidError):
        matcher.traverse_draft_tree(first, sibling, tokens, bitmask)
    assert rows_of(bitmask) == [[0xFFFFFFFF] * bitmask.words] * 4


def test_sixteen_threads_on_one_matcher(index_of):
    matcher = index_of(gobo.Constraint.regex("a{0,100000}")).matcher(max_rollback=1 << 17)
    bitmask = gobo.allocate_token_bitmask(16, matcher.width)
    failures = []

    def work(row):
        try:
            for _ in range(200):
                assert matcher.accept_token(A)
                assert matcher.fill_next_token_bitmask(bitmask, row)
                assert matcher.fill_draft_chain(gobo.allocate_token_bitmask(3, matcher.width), 0, [A, A]) == 2
                gobo.batch_fill_next_token_bitmask([matcher, matcher.fork()], gobo.allocate_token_bitmask(2, matcher.width))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    matcher.rollback(16 * 200)
    with pytest.raises(gobo.InvalidError):
        matcher.rollback()
    assert all(allowed(row) == {A, AB - AB + A, EOS} for row in rows_of(bitmask))


def test_whole_texts(index_of):
    matcher = index_of(gobo.Constraint.schema(SCHEMA)).matcher()
    for text, is_valid in [(b'{"name": "abc", "tags": [10]}', True), (b'{"name": 3', False), (b'{"tags": []}', False), (b'{"name": "\xc3\xa9", "next": {"name": ""}}', True)]:
        matcher.reset()
        assert matcher.accept_tokens(tokens_of(text)) is is_valid, text
        assert not is_valid or matcher.is_completed()


def test_canonical_tokens(client, vocabulary, gpt2):
    constraint = gobo.Constraint.choice(["Diablo", "Diablo II"])
    assert client.get(gpt2, constraint).matcher().forced_tokens() == []
    matcher = client.get(gpt2, constraint.cut("canonical")).matcher()
    tokens = matcher.forced_tokens()
    assert b"".join(gpt2.token_bytes(token) for token in tokens) == matcher.forced() == b"Diablo"
    assert matcher.accept_tokens(tokens) and matcher.is_completed() and not matcher.accept_token(ord("D"))
    with pytest.raises(gobo.InvalidError):
        constraint.cut("mine")
    # `http` and `:`; behind them the tokenizer writes `://` as one token.
    rest, prompt = gobo.Constraint.choice(["//x.org"]), [4023, 25]
    with pytest.raises(gobo.InvalidError, match="no text of the constraint behind this prompt"):
        client.get(gpt2, rest.cut("canonical-strict")).matcher().after_prompt(prompt)
    healed = client.get(gpt2, rest.cut("canonical-heal")).matcher().after_prompt(prompt)
    assert healed.taken_back == 1 and healed.forced().startswith(b"://x")
    assert healed.forced_tokens()[0] == 1378
    free = client.get(gpt2, rest.cut("canonical")).matcher().after_prompt(prompt)
    assert free.taken_back == 0 and free.forced().startswith(b"//x")
    # Nobody knows the merges of a table in memory.
    with pytest.raises(gobo.RefusedError, match="without the merges"):
        client.get(vocabulary, constraint.cut("canonical"))
