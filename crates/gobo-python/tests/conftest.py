"""A tiny tokenizer, and a client over a store of the test's own, so that no test needs data, a daemon or the network."""

import os
import pathlib

import pytest

import gobo_masks as gobo

WORDS = [b"true", b"false", b"null", b'{"', b'": ', b'", "', b'"}', b"ab", b"abc", b"the ", b" the", b"10", b"123", "é".encode(), "é".encode()[:1]]
TOKENS = [bytes([byte]) for byte in range(256)] + WORDS + [b"<eos>", b"<stop>"]
EOS, STOP = len(TOKENS) - 2, len(TOKENS) - 1


@pytest.fixture(scope="session", autouse=True)
def own_environment(tmp_path_factory):
    """What a developer has set up decides nothing here."""
    for name in ("GOBO_STORE", "GOBO_SERVER", "GOBO_LOCAL", "GOBO_LOCAL_STORE_BYTES"):
        os.environ.pop(name, None)
    os.environ["GOBO_STORE"] = str(tmp_path_factory.mktemp("default-store"))


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    return gobo.Client(tmp_path_factory.mktemp("store"), timeout=60)


@pytest.fixture(scope="session")
def vocabulary(client):
    return gobo.Vocabulary.from_tokens(TOKENS, [EOS, STOP], eos=[EOS], width=300, client=client)


@pytest.fixture(scope="session")
def index_of(client, vocabulary):
    """The index of a constraint over the tiny vocabulary."""

    def get(constraint, **options):
        return client.get(vocabulary, constraint, **options)

    return get


@pytest.fixture(scope="session")
def gpt2(client):
    try:
        return gobo.Vocabulary.of("r50k_base", client=client)
    except gobo.GoboError as error:
        pytest.skip(f"no built-in vocabularies: {error}")


@pytest.fixture(scope="session")
def data():
    folder = pathlib.Path(os.environ.get("GOBO_DATA", ""))
    if not os.environ.get("GOBO_DATA") or not folder.is_dir():
        pytest.skip("GOBO_DATA names no folder")
    return folder


def allowed(row):
    """The ids whose bit is set in a row of words."""
    return {32 * at + bit for at, word in enumerate(row) for bit in range(32) if word >> bit & 1}


def mask_of(matcher):
    """The ids that may come next."""
    bitmask = gobo.allocate_token_bitmask(1, matcher.width)
    matcher.fill_next_token_bitmask(bitmask)
    return allowed([word & 0xFFFFFFFF for word in memoryview(bitmask).tolist()[0]])


def rows_of(bitmask):
    return [[word & 0xFFFFFFFF for word in row] for row in memoryview(bitmask).tolist()]


def tokens_of(text: bytes):
    """The greedy segmentation of a text, in ids of the tiny vocabulary."""
    ids, ordinary = [], TOKENS[:EOS]
    while text:
        best = max((token for token in ordinary if text.startswith(token)), key=len)
        ids.append(TOKENS.index(best))
        text = text[len(best) :]
    return ids
