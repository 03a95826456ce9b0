"""Random walks over the command line's library: what Python is answered is what Rust is answered, bit for bit.

A walk writes down all that it does with a matcher and all that it gets: masks by each way that there is, tokens taken and refused,
tokens taken back, forks, chains and trees of drafts. The program `replay` (an example of `gobo-artifact`, named by GOBO_REPLAY) does it
again in Rust. Where drafts come in it fills and advances copies, one token at a time.
"""

import os
import pathlib
import random
import struct
import subprocess

import pytest

import gobo_masks as gobo
from conftest import TOKENS
from test_library import CASES, constraint_of

REPLAY = os.environ.get("GOBO_REPLAY")
FULL = b"\xff\xff\xff\xff"

pytestmark = pytest.mark.skipif(not REPLAY, reason="GOBO_REPLAY names no program")


class Walk:
    """One matcher, what was done with it, and a model of what it can take back."""

    def __init__(self, index, max_rollback, seed, **binding):
        self.matcher = index.matcher(max_rollback=max_rollback, **binding)
        self.index, self.max_rollback = index, max_rollback
        self.words = (self.matcher.width + 31) // 32
        self.chance = random.Random(seed)
        self.taken, self.remembered = [], 0
        self.transcript = bytearray()

    def write(self, letter, *numbers):
        self.transcript += letter + struct.pack(f"<{len(numbers)}I", *(number & 0xFFFFFFFF for number in numbers))

    def mask(self):
        """The mask, come by in one of the ways that there are; and whether it is one."""
        way = self.chance.randrange(5)
        if way == 0:
            bitmask = gobo.allocate_token_bitmask(1, self.matcher.width)
            is_mask = self.matcher.fill_next_token_bitmask(bitmask)
            row = bytes(bitmask)
        elif way == 1:
            # A row between two others, in memory of Python's own.
            memory = bytearray(b"\xff" * (4 * self.words * 3))
            is_mask = self.matcher.fill_next_token_bitmask(memoryview(memory).cast("i", (3, self.words)), 1)
            assert memory[: 4 * self.words] == memory[8 * self.words :] == FULL * self.words
            row = bytes(memory[4 * self.words : 8 * self.words])
        elif way == 2:
            # Rows that are longer than a mask: what comes after it is zero.
            bitmask = gobo.allocate_token_bitmask(1, self.matcher.width + 96)
            is_mask = self.matcher.fill_next_token_bitmask(bitmask)
            row = bytes(bitmask)
            assert row[4 * self.words :] == bytes(12)
            row = row[: 4 * self.words]
        else:
            others = [self.matcher.fork() for _ in range(way - 2)]
            bitmask = gobo.allocate_token_bitmask(way, self.matcher.width)
            rows = self.chance.sample(range(way), len(others) + 1)
            filled = gobo.batch_fill_next_token_bitmask([self.matcher, *others], bitmask, rows)
            is_mask, matrix = filled[0], bytes(bitmask)
            of = [matrix[4 * self.words * row : 4 * self.words * (row + 1)] for row in rows]
            assert set(filled) == {is_mask} and set(of) == {of[0]}
            row = of[0]
        self.write(b"F", is_mask)
        self.transcript += row
        return row

    def choose(self, row):
        """An id whose bit is set, now and then any id."""
        width, bits = self.matcher.width, int.from_bytes(row, "little")
        start = self.chance.randrange(width)
        after = (bits >> start) or bits
        if not after or self.chance.random() < 0.1:
            return start
        lowest = (after & -after).bit_length() - 1
        return lowest + start if bits >> start else lowest

    def accept(self, id):
        is_taken = self.matcher.accept_token(id)
        self.write(b"A", id, is_taken)
        if is_taken:
            self.taken.append(id)
            self.remembered = min(self.remembered + 1, self.max_rollback)

    def rollback(self, count):
        try:
            self.matcher.rollback(count)
        except gobo.InvalidError:
            assert count > self.remembered
            self.write(b"R", count, False)
            return
        assert count <= self.remembered, "no more than was remembered"
        self.write(b"R", count, True)
        self.remembered -= count
        del self.taken[len(self.taken) - count :]

    def there_and_back(self):
        """Takes back all that can be, and not one more; then takes it again."""
        again = self.taken[len(self.taken) - self.remembered :]
        self.rollback(self.remembered + 1)
        self.rollback(self.remembered)
        for id in again:
            self.accept(id)

    def state(self):
        forced = self.matcher.forced()
        self.write(b"S", self.matcher.is_completed(), self.matcher.is_terminated(), len(forced), *forced)

    def drafts(self, row, length):
        """Ids of which a matcher's own next masks allow the most."""
        ahead, ids = self.matcher.fork(), []
        for _ in range(length):
            ids.append(self.choose(row))
            if not ahead.accept_token(ids[-1]):
                continue
            bitmask = gobo.allocate_token_bitmask(1, self.matcher.width)
            ahead.fill_next_token_bitmask(bitmask)
            row = bytes(bitmask)
        return ids

    def validate(self, row):
        ids = self.drafts(row, self.chance.randrange(6))
        taken = self.matcher.validate_tokens(ids)
        assert taken == ids[: len(taken)]
        # Tokens after the end are taken and ignored: those are no part of the text.
        text = self.matcher.fork()
        count = next((at for at, id in enumerate(ids) if not text.accept_token(id)), len(ids))
        assert len(taken) == (len(ids) if text.is_terminated() else count)
        self.write(b"V", len(ids), *ids, count)

    def chain(self, row):
        ids = self.drafts(row, self.chance.randrange(6))
        bitmask = gobo.allocate_token_bitmask(len(ids) + 1, self.matcher.width)
        # -1 ends a chain, whatever stands after it.
        taken = self.matcher.fill_draft_chain(bitmask, 0, [*ids, *([-1, 5] if self.chance.random() < 0.3 else [])])
        self.write(b"C", len(ids), *ids, taken)
        self.transcript += bytes(bitmask)

    def tree(self, row):
        nodes = self.chance.randrange(1, 9)
        parents = [None] + [self.chance.randrange(node) for node in range(1, nodes)]
        likely = self.drafts(row, 4) or [0]
        tokens = [0] + [self.chance.choice(likely) for _ in range(1, nodes)]
        first, sibling = [-1] * nodes, [-1] * nodes
        for node in reversed(range(1, nodes)):
            sibling[node], first[parents[node]] = first[parents[node]], node
        bitmask = gobo.allocate_token_bitmask(nodes, self.matcher.width)
        self.matcher.traverse_draft_tree(first, sibling, tokens, bitmask)
        self.write(b"T", nodes, *first, *sibling, *tokens)
        self.transcript += bytes(bitmask)

    def step(self):
        row = self.mask()
        what = self.chance.randrange(24)
        if what < 2:
            self.chain(row)
            self.there_and_back()
        elif what < 4:
            self.tree(row)
            self.there_and_back()
        elif what == 4:
            self.validate(row)
        elif what == 5:
            self.state()
        elif what == 6:
            self.rollback(self.chance.randrange(6))
        elif what == 7:
            self.matcher = self.matcher.fork()
            self.write(b"K")
        elif what == 8 or self.matcher.is_terminated():
            self.matcher.reset()
            self.write(b"Z")
            self.taken, self.remembered = [], 0
        else:
            self.accept(self.choose(row))

    def replay(self):
        """Does it again in Rust; the number of masks that were compared."""
        digest = self.index.vocabulary.digest
        store = pathlib.Path(self.index.path).parents[2]
        [vocabulary] = store.glob(f"vocab/*/{digest}*.gobov")
        arguments = [self.index.path, vocabulary, ",".join(map(str, self.matcher.eos)), str(self.matcher.width), str(self.max_rollback)]
        ended = subprocess.run([REPLAY, *arguments], input=bytes(self.transcript), capture_output=True, timeout=600)
        assert ended.returncode == 0, ended.stderr.decode()[:2000]
        return int(ended.stdout.split()[0])


def walks(index, steps, **binding):
    masks = 0
    for seed, max_rollback in enumerate((256, 3, 0)):
        walk = Walk(index, max_rollback, seed, **binding)
        for _ in range(steps):
            walk.step()
        masks += walk.replay()
    return masks


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_walks_under_a_real_vocabulary(client, gpt2, case):
    assert walks(client.get(gpt2, constraint_of(case)), 40) >= 120


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_walks_under_all_bytes(client, vocabulary, case):
    index = client.get(vocabulary, constraint_of(case))
    assert walks(index, 150) >= 450
    # Without an id that ends a text, and with logits that are no tokens.
    assert walks(index, 60, eos=[], width=len(TOKENS) + 77) >= 180


def test_a_wrong_transcript_is_found(client, vocabulary):
    walk = Walk(client.get(vocabulary, gobo.Constraint.regex("(ab|c)*")), 8, 1)
    walk.mask()
    walk.transcript[-1] ^= 1
    with pytest.raises(AssertionError, match="record 1, F: the mask"):
        walk.replay()
