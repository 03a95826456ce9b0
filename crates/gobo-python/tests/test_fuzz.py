"""Whatever callers give: an exception of a known type, and the interpreter lives. GOBO_FUZZ_SECONDS says for how long."""

import array
import os
import time

import pytest
from conftest import EOS, TOKENS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gobo_masks as gobo

SECONDS = float(os.environ.get("GOBO_FUZZ_SECONDS", "6"))
# `TypeError` for what is of another type altogether, as everywhere in Python.
KNOWN = (gobo.GoboError, TypeError)

integers = st.integers(-3, 12) | st.integers() | st.sampled_from([EOS, -1, 1 << 31, (1 << 32) - 1, 1 << 63, -(1 << 63), 1 << 64])
scalars = integers | st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.binary(max_size=48)
ids = st.lists(st.integers(0, len(TOKENS) + 50) | integers, max_size=6) | st.lists(scalars, max_size=4) | scalars | st.builds(lambda code, items: array.array(code, items), st.sampled_from("bhiqd"), st.lists(st.integers(-1, 100), max_size=5))


def released():
    view = memoryview(bytearray(80)).cast("i")
    view.release()
    return view


def view(code, rows, columns):
    size = array.array(code).itemsize * rows * columns
    return memoryview(bytearray(size)).cast("B").cast(code, (rows, columns)) if size else memoryview(bytearray(0))


matrices = (
    st.builds(view, st.sampled_from("bBhHiIlLqQfd"), st.integers(0, 6), st.integers(0, 14))
    | st.builds(lambda rows: gobo.allocate_token_bitmask(rows, 300), st.integers(0, 6))
    | st.builds(lambda count: array.array("i", [0] * count), st.integers(0, 30))
    | st.builds(lambda of, by: memoryview(of)[::by], st.binary(min_size=40, max_size=80), st.sampled_from([1, -1, 2]))
    | st.builds(released)
    | scalars
)

try:
    import numpy
except ImportError:
    pass
else:

    def strided(dtype, shape, steps, order, writable, shift):
        steps = steps[: len(shape)]
        base = numpy.zeros([length * abs(step) + 1 for length, step in zip(shape, steps)], dtype, order=order)
        made = base[tuple(slice(shift, None, step) for step in steps)]
        made.flags.writeable = writable
        return made

    matrices |= st.builds(
        strided,
        st.sampled_from(["int32", "uint32", "int64", "float32", ">i4", "bool", "object", "complex64", "float16", "M8[s]"]),
        st.lists(st.integers(0, 12), min_size=1, max_size=3),
        st.lists(st.sampled_from([1, 1, 1, 2, -1, 3]), min_size=3, max_size=3),
        st.sampled_from("CF"),
        st.booleans(),
        st.integers(0, 1),
    )


def fuzz(test):
    """Runs a test with new examples until the time is up."""
    return settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))(test)


@pytest.fixture(scope="module")
def matchers(index_of):
    return [index_of(gobo.Constraint.json()).matcher(), index_of(gobo.Constraint.regex("(ab|c)*")).matcher(eos=[])]


def forever(run):
    until = time.monotonic() + SECONDS / 3
    while time.monotonic() < until:
        run()


def test_calls_of_a_matcher(matchers):
    calls = st.one_of(
        st.tuples(st.just("fill_next_token_bitmask"), matrices, integers | scalars),
        st.tuples(st.just("accept_token"), ids | integers),
        st.tuples(st.just("accept_tokens"), ids),
        st.tuples(st.just("validate_tokens"), ids),
        st.tuples(st.just("rollback"), integers),
        st.tuples(st.just("reset")),
        st.tuples(st.just("is_terminated")),
        st.tuples(st.just("forced")),
        st.tuples(st.just("fill_draft_chain"), matrices, integers, ids),
        st.tuples(st.just("traverse_draft_tree"), ids, ids, ids, matrices, integers),
    )

    @fuzz
    @given(steps=st.lists(calls, max_size=12), which=st.integers(0, 1))
    def run(steps, which):
        matcher = matchers[which].fork()
        for name, *arguments in steps:
            try:
                getattr(matcher, name)(*arguments)
            except KNOWN:
                pass

    forever(run)


def test_batches_and_logits(matchers):
    @fuzz
    @given(count=st.integers(0, 5), matrix=matrices, rows=ids | st.none(), logits=matrices)
    def run(count, matrix, rows, logits):
        for call in (
            lambda: gobo.batch_fill_next_token_bitmask((matchers * 3)[:count], matrix, rows),
            lambda: gobo.apply_token_bitmask_inplace(logits, matrix, indices=rows),
            lambda: gobo.Bitmask(matrix),
            lambda: gobo.Bitmask(gobo.Bitmask(matrix)),
        ):
            try:
                call()
            except KNOWN:
                pass

    forever(run)


def test_constraints_and_vocabularies(client):
    values = st.recursive(scalars, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3) | scalars, below, max_size=3), max_leaves=6)

    @fuzz
    @given(value=values, word=scalars)
    def run(value, word):
        for call in (
            lambda: gobo.Constraint.schema(value, max_depth=word),
            lambda: gobo.Constraint.schema(value, whitespace=word),
            lambda: gobo.Constraint.choice(value, text_start=word),
            lambda: gobo.Constraint.regex(word),
            lambda: gobo.Constraint.gbnf(word, start=word),
            lambda: gobo.Constraint.json(whitespace=word),
            lambda: gobo.Constraint.call(value),
            lambda: gobo.parse_call(value, word),
            lambda: gobo.Vocabulary.from_tokens(value, value, eos=value, width=word, client=client),
            lambda: gobo.Vocabulary.of(value, client=client) if not isinstance(value, (str, bytes)) else None,
        ):
            try:
                call()
            except KNOWN:
                pass

    forever(run)
