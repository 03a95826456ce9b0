"""What the tests of the adapter for SGLang read out of masks and answers."""

import torch

_BITS = torch.tensor([1 << bit for bit in range(8)], dtype=torch.uint8)


def rows_of(mask):
    """A matrix of words as sets of allowed ids, one for each row."""
    bits = mask.contiguous().view(torch.uint8).unsqueeze(-1).bitwise_and(_BITS).ne(0)
    return [set(row.nonzero().flatten().tolist()) for row in bits.flatten(1)]


def settled(answer, timeout=20):
    """The grammar object of what `get_cached_or_future_value` gives."""
    value, is_hit = answer
    return value if is_hit else value.result(timeout)
