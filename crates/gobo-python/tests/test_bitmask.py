"""Memory that others own: what is bound, what is refused, who keeps what alive; batches; logits under masks."""

import array
import ctypes
import gc
import sys
import threading
import zlib

import pytest
from conftest import EOS, TOKENS, rows_of

import gobo_masks as gobo

A, B = TOKENS.index(b"a"), TOKENS.index(b"b")
FULL = 0xFFFFFFFF


@pytest.fixture
def matcher(index_of):
    return index_of(gobo.Constraint.regex("a*b")).matcher()


@pytest.fixture
def expected(matcher):
    bitmask = gobo.allocate_token_bitmask(1, matcher.width)
    matcher.fill_next_token_bitmask(bitmask)
    return rows_of(bitmask)[0]


def numpy():
    return pytest.importorskip("numpy")


def ones(rows, words, dtype="int32"):
    return numpy().full((rows, words), -1 if dtype == "int32" else FULL, dtype)


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_arrays(matcher, expected, dtype):
    matrix = ones(4, 12, dtype)
    for row, target in enumerate([matrix, gobo.Bitmask(matrix), memoryview(matrix)]):
        assert matcher.fill_next_token_bitmask(target, row)
    assert [list(row) for row in matrix.astype("uint32")] == [expected + [0, 0]] * 3 + [[FULL] * 12]


def test_one_dimension(matcher, expected):
    row = array.array("i", [-1] * 10)
    matcher.fill_next_token_bitmask(row)
    assert [word & FULL for word in row] == expected
    with pytest.raises(gobo.InvalidError, match="row 1"):
        matcher.fill_next_token_bitmask(row, 1)


def test_views_of_wider_matrices_are_written_alone(matcher, expected):
    wide = ones(6, 16)
    view = wide[1:5:2, 3:13]
    assert matcher.fill_next_token_bitmask(view, 1)
    assert matcher.fill_draft_chain(wide[4:, 2:12], 0, [A]) == 1
    rows = [list(row) for row in wide.astype("uint32")]
    assert rows[:3] == [[FULL] * 16] * 3
    assert rows[3] == [FULL] * 3 + expected + [FULL] * 3
    assert rows[4] == rows[5] == [FULL] * 2 + expected + [FULL] * 4
    wide[:] = -1
    assert gobo.batch_fill_next_token_bitmask([matcher, matcher], wide[::2, 1:11], [2, 0]) == [True, True]
    matcher.traverse_draft_tree([1, -1], [-1, -1], [0, A], wide[1::2, 5:15])
    rows = [list(row) for row in wide.astype("uint32")]
    assert rows == [
        [FULL] + expected + [FULL] * 5,
        [FULL] * 5 + expected + [FULL],
        [FULL] * 16,
        [FULL] * 5 + expected + [FULL],
        [FULL] + expected + [FULL] * 5,
        [FULL] * 16,
    ]


def test_matrices_that_are_none(matcher):
    np = numpy()
    frozen = ones(2, 10)
    frozen.flags.writeable = False
    released = memoryview(bytearray(400)).cast("i")
    released.release()
    bad = [
        np.zeros((2, 10), "int64"),
        np.zeros((2, 10), "float32"),
        np.zeros((2, 10), ">i4"),
        np.zeros((2, 10), bool),
        np.zeros((2, 2, 10), "int32"),
        np.zeros((), "int32"),
        ones(2, 20)[:, ::2],
        ones(2, 10)[::-1],
        ones(10, 2).T,
        np.broadcast_to(np.zeros(10, "int32"), (2, 10)),
        np.frombuffer(bytearray(401), "int32", 100, 1).reshape(10, 10),
        frozen,
        bytes(400),
        released,
        ones(2, 9),
        np.zeros((2, 10), object),
        np.zeros((2, 10), [("a", "i4")]),
        None,
        3,
        "text",
        [[0] * 10],
    ]
    for matrix in bad:
        with pytest.raises(gobo.InvalidError):
            matcher.fill_next_token_bitmask(matrix)
        with pytest.raises(gobo.InvalidError):
            gobo.batch_fill_next_token_bitmask([matcher], matrix)
    for matrix in (np.zeros((0, 10), "int32"), np.zeros((2, 0), "int32")):
        with pytest.raises(gobo.InvalidError):
            matcher.fill_next_token_bitmask(matrix)


def test_rows_that_are_not_there(matcher):
    bitmask = gobo.allocate_token_bitmask(4, matcher.width)
    for row in (4, 1 << 40, -1, 1 << 90, -(1 << 90)):
        with pytest.raises(gobo.InvalidError):
            matcher.fill_next_token_bitmask(bitmask, row)
        with pytest.raises(gobo.InvalidError):
            matcher.fill_draft_chain(bitmask, row, [])
        with pytest.raises(gobo.InvalidError):
            matcher.traverse_draft_tree([-1], [-1], [0], bitmask, row)
        with pytest.raises(gobo.InvalidError):
            gobo.batch_fill_next_token_bitmask([matcher], bitmask, [row])
    with pytest.raises(gobo.InvalidError):
        matcher.fill_draft_chain(bitmask, 2, [A, A])
    assert rows_of(bitmask) == [[FULL] * 10] * 4


def test_a_bitmask_keeps_its_memory(matcher, expected):
    owner = bytearray(b"\xff" * 80)
    bitmask = gobo.Bitmask(memoryview(owner).cast("i", (2, 10)))
    with pytest.raises(BufferError):
        owner.extend(b"x")
    matrix = ones(2, 10)
    references = sys.getrefcount(matrix)
    bound = gobo.Bitmask(matrix)
    assert sys.getrefcount(matrix) > references
    with pytest.raises(ValueError):
        matrix.resize((4, 10))
    del bound
    gc.collect()
    assert sys.getrefcount(matrix) == references
    matcher.fill_next_token_bitmask(bitmask, 1)
    del bitmask
    owner.extend(b"x")
    assert list(memoryview(owner[40:80]).cast("I")) == expected


def test_its_own_memory_outlives_it(matcher, expected):
    np = numpy()
    bitmask = gobo.allocate_token_bitmask(3, matcher.width)
    assert (bitmask.rows, bitmask.words) == (3, 10)
    by_buffer, by_dlpack = np.asarray(bitmask), np.from_dlpack(bitmask)
    assert by_buffer.dtype == by_dlpack.dtype == np.int32 and by_dlpack.shape == (3, 10)
    matcher.fill_next_token_bitmask(bitmask, 1)
    del bitmask
    gc.collect()
    for view in (by_buffer, by_dlpack):
        assert list(view[1].astype("uint32")) == expected and (view[0] == -1).all()
    again = gobo.Bitmask(by_buffer)
    del by_buffer
    gc.collect()
    assert list(by_dlpack[1].astype("uint32")) == expected == rows_of(again)[1]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "dltensor"),
        ({"max_version": None}, "dltensor"),
        ({"max_version": (0, 8)}, "dltensor"),
        ({"max_version": (1, 0), "copy": False, "dl_device": (1, 0)}, "dltensor_versioned"),
        ({"max_version": (2, 3)}, "dltensor_versioned"),
    ],
)
def test_a_capsule_is_of_the_version_that_the_consumer_takes(options, name):
    bitmask = gobo.allocate_token_bitmask(3, 300)
    references = sys.getrefcount(bitmask)
    capsule = bitmask.__dlpack__(**options)
    assert f'"{name}"' in repr(capsule) and sys.getrefcount(bitmask) == references + 1

    class Consumed:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            return capsule

    assert gobo.Bitmask(Consumed()).rows == 3
    with pytest.raises(gobo.InvalidError):
        gobo.Bitmask(Consumed())
    del capsule
    gc.collect()
    assert sys.getrefcount(bitmask) == references, "taken or not, what was lent is given back"
    bitmask.__dlpack__(**options)
    # A deleter may run without the GIL: the reference is given back when somebody has it.
    assert bitmask.rows == 3 and sys.getrefcount(bitmask) == references
    for refused in ({"copy": True}, {"dl_device": (2, 0)}, {"stream": 1}):
        with pytest.raises(BufferError):
            bitmask.__dlpack__(**options | refused)


def test_arrays_of_a_bitmask_can_be_written():
    np = numpy()
    bitmask = gobo.allocate_token_bitmask(2, 64)
    array = np.from_dlpack(bitmask)
    if not array.flags.writeable:
        pytest.skip("this numpy takes no tensors of version 1")
    array[1] = 7
    assert rows_of(bitmask) == [[FULL] * 2, [7] * 2]


def test_a_bitmask_over_a_view_lends_its_rows():
    np = numpy()
    wide = np.arange(60, dtype="int32").reshape(5, 12)
    bitmask = gobo.Bitmask(wide[::2, 1:11])
    assert (np.asarray(bitmask) == wide[::2, 1:11]).all() and (np.from_dlpack(bitmask) == wide[::2, 1:11]).all()
    with pytest.raises(BufferError):
        zlib.crc32(bitmask)


class Lender:
    """Lends an array by DLPack alone, as tensors do."""

    def __init__(self, of, device=(1, 0), old=False, copied=None):
        self.of, self.device, self.old, self.copied = of, device, old, copied

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if self.old and options:
            raise TypeError("no such argument")
        return self.of.__dlpack__(**options, **({} if self.copied is None else {"copy": self.copied}))


@pytest.mark.parametrize("old", [False, True])
def test_tensors(matcher, expected, old):
    matrix = ones(2, 10)
    bitmask = gobo.Bitmask(Lender(matrix, old=old))
    matcher.fill_next_token_bitmask(bitmask, 1)
    matcher.fill_next_token_bitmask(Lender(matrix, old=old))
    assert [list(row) for row in matrix.astype("uint32")] == [expected] * 2
    references = sys.getrefcount(matrix)
    del bitmask
    gc.collect()
    assert sys.getrefcount(matrix) < references


def test_tensors_that_are_none(matcher):
    matrix = ones(2, 10)
    taken = matrix.__dlpack__()

    class Taken(Lender):
        def __dlpack__(self, **options):
            return taken

    numpy().from_dlpack(Taken(matrix))
    for bad in (
        Lender(matrix, device=(2, 0)),
        Lender(matrix, device="cpu"),
        Lender(matrix, copied=True),
        Lender(matrix.astype("int64")),
        Lender(matrix[::-1]),
        Taken(matrix),
        Lender(3),
    ):
        with pytest.raises((gobo.InvalidError, AttributeError)):
            matcher.fill_next_token_bitmask(bad)


def test_addresses(matcher, expected):
    memory = (ctypes.c_uint32 * 40)(*[FULL] * 40)
    bitmask = gobo.Bitmask.from_pointer(ctypes.addressof(memory), 3, 10, stride=13, owner=memory)
    matcher.fill_next_token_bitmask(bitmask, 2)
    assert list(memory) == [FULL] * 26 + expected + [FULL] * 4
    for bad in ((0, 1, 10), (ctypes.addressof(memory) + 1, 1, 10), (ctypes.addressof(memory), 1 << 62, 10), (-1, 1, 1)):
        with pytest.raises(gobo.InvalidError):
            gobo.Bitmask.from_pointer(*bad)
    with pytest.raises(gobo.InvalidError):
        gobo.Bitmask.from_pointer(ctypes.addressof(memory), 2, 10, stride=9)
    for rows, width in ((1 << 62, 1 << 62), (1 << 40, 1 << 20), (-1, 1)):
        with pytest.raises(gobo.InvalidError):
            gobo.allocate_token_bitmask(rows, width)


@pytest.mark.parametrize("rows", [1, 7, 300])
def test_a_batch_equals_single_fills(index_of, rows):
    index, other = index_of(gobo.Constraint.json()), index_of(gobo.Constraint.regex("a"))
    matchers = [(other if row % 3 else index).matcher() for row in range(rows)]
    for row, matcher in enumerate(matchers):
        matcher.accept_tokens([A, EOS] if row % 6 == 1 else [TOKENS.index(b"[")] * (row % 4))
    single = gobo.allocate_token_bitmask(2 * rows, 300)
    results = [matcher.fill_next_token_bitmask(single, 2 * rows - 1 - 2 * row) for row, matcher in enumerate(matchers)]
    together = gobo.allocate_token_bitmask(2 * rows, 300)
    indices = [2 * rows - 1 - 2 * row for row in range(rows)]
    assert gobo.batch_fill_next_token_bitmask(matchers, together, indices) == results
    assert rows_of(together) == rows_of(single)
    dense = gobo.allocate_token_bitmask(rows, 300)
    assert gobo.batch_fill_next_token_bitmask(matchers, dense) == results
    assert rows_of(dense) == [rows_of(single)[row] for row in indices]


def test_batches_that_are_none(matcher):
    bitmask = gobo.allocate_token_bitmask(3, matcher.width)
    for indices in ([1, 1], [0], [0, 1, 2], [0, 3], [0, -1]):
        with pytest.raises(gobo.InvalidError):
            gobo.batch_fill_next_token_bitmask([matcher, matcher], bitmask, indices)
        with pytest.raises(gobo.InvalidError):
            gobo.batch_fill_next_token_bitmask([matcher, matcher], ones(3, 14)[:, 2:12], indices)
    with pytest.raises(gobo.InvalidError):
        gobo.batch_fill_next_token_bitmask([matcher] * 4, bitmask)
    with pytest.raises(TypeError):
        gobo.batch_fill_next_token_bitmask([matcher, None], bitmask)
    # A matrix without rows, and lists that do not go together.
    for empty in (gobo.allocate_token_bitmask(0, 300), bitmask):
        for texts, indices in (([matcher], []), ([], [0])):
            with pytest.raises(gobo.InvalidError):
                gobo.batch_fill_next_token_bitmask(texts, empty, indices)
        assert gobo.batch_fill_next_token_bitmask([], empty) == []
    assert rows_of(bitmask) == [[FULL] * 10] * 3


def test_batches_in_threads_over_the_same_texts(index_of):
    matchers = [index_of(gobo.Constraint.regex("a*b")).matcher() for _ in range(200)]
    reversed_ = matchers[::-1]
    bitmask = gobo.allocate_token_bitmask(200, 300)
    threads = [
        threading.Thread(target=lambda order: [gobo.batch_fill_next_token_bitmask(order, bitmask) for _ in range(50)], args=(order,))
        for order in (matchers, reversed_, matchers, reversed_)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a deadlock"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_logits(matcher, dtype):
    np = numpy()
    bitmask = gobo.allocate_token_bitmask(3, 300)
    matcher.fill_next_token_bitmask(bitmask, 1)
    logits = np.ones((3, 330), dtype)[:, :325]
    gobo.apply_token_bitmask_inplace(logits, bitmask, indices=[1])
    assert set(np.flatnonzero(np.isfinite(logits[1]))) == {A, B, TOKENS.index(b"ab")}
    assert np.isfinite(logits[[0, 2]]).all()
    gobo.apply_token_bitmask_inplace(logits, bitmask)
    # Beyond the words of a mask nothing is allowed.
    assert np.isfinite(logits[0, :320]).all() and not np.isfinite(logits[0, 320:]).any()
    narrow = np.ones((1, 120), dtype)
    gobo.apply_token_bitmask_inplace(narrow, gobo.Bitmask(np.asarray(bitmask)[1:2]))
    assert set(np.flatnonzero(np.isfinite(narrow[0]))) == {A, B}


def test_logits_that_are_none():
    np = numpy()
    bitmask = gobo.allocate_token_bitmask(3, 300)
    frozen = np.ones((3, 300), "float32")
    frozen.flags.writeable = False
    for bad in (np.ones((2, 300), "float32"), np.ones((3, 300), "int32"), frozen, np.ones((3, 300), "float32")[:, ::2], [1.0]):
        with pytest.raises(gobo.InvalidError):
            gobo.apply_token_bitmask_inplace(bad, bitmask)
    for indices in ([3], [-1], [1 << 40]):
        with pytest.raises(gobo.InvalidError):
            gobo.apply_token_bitmask_inplace(np.ones((3, 300), "float32"), bitmask, indices=indices)
