"""Token masks for constrained decoding, read from indices that are compiled once for all workers of a host.

    import gobo_masks as gobo

    vocabulary = gobo.Vocabulary.of(tokenizer)                      # of transformers, tokenizers, or a path
    index = gobo.default_client().get(vocabulary, gobo.Constraint.schema(Person))
    matcher = index.matcher()
    bitmask = gobo.allocate_token_bitmask(1, matcher.width)
    while matcher.fill_next_token_bitmask(bitmask):
        matcher.accept_token(sample_under(bitmask))

Importing this module loads neither torch nor numpy, and starts no thread.
"""

from ._errors import GoboError, InvalidError, OverBudgetError, RefusedError, UnavailableError, WaitTimeout
from ._native import (
    Bitmask,
    Client,
    Constraint,
    Index,
    Matcher,
    Pending,
    Vocabulary,
    __version__,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    batch_fill_next_token_bitmask,
    count_fallback,
    default_client,
    stats,
)

__all__ = [
    "Bitmask",
    "Client",
    "Constraint",
    "GoboError",
    "Index",
    "InvalidError",
    "Matcher",
    "OverBudgetError",
    "Pending",
    "RefusedError",
    "UnavailableError",
    "Vocabulary",
    "WaitTimeout",
    "__version__",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "batch_fill_next_token_bitmask",
    "count_fallback",
    "default_client",
    "parse_call",
    "stats",
]


def parse_call(cls, text, *, name=None):
    """The instance that a constructor call writes, such as `Person(name="Ada", age=3)`.

    The text is read by `ast.parse` and never evaluated: it has to be a call of `name` (the name of `cls` unless given) with each
    field of the dataclass as a keyword, and values of the fields' types. Raises `InvalidError` for every other text.
    """
    from ._call import parse

    return parse(cls, text, name)
