"""The tokens of a vocabulary, as the benchmarks hand them to peers in Python."""

import struct


def read_tokens(path):
    """The bytes of each token, in the order of ids; none for special tokens."""
    with open(path, "rb") as file:
        data = file.read()
    tokens, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        tokens.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return tokens
