"""A byte-level tokenizer of some 280 ids, as `transformers` has them, for tests that need no file."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

_SPECIAL = ["<eos>", "<think>", "</think>", "<pad>"]
_MERGES = """
t r, u e, tr ue, f a, l s, ls e, fa lse, n u, l l, nu ll, r e, re d, b l, bl ue, 1 2, " :, { ", " }
"""


def small_tokenizer() -> PreTrainedTokenizerFast:
    """All bytes, some words that are spelled in several ways, and four special tokens."""
    merges = [tuple(pair.split()) for pair in _MERGES.strip().split(", ")]
    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in merges), *_SPECIAL]
    backend = Tokenizer(models.BPE(vocab={token: id for id, token in enumerate(tokens)}, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(_SPECIAL)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>", pad_token="<pad>")
