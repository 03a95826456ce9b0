"""What tokenizer objects have inside: the text of a `tokenizer.json`, a file, or a table of bytes.

Nothing is imported to look at an object: it is known by its methods. An object that wraps another one, as those of engines do,
is opened along `_INSIDE` until a known form is met. Ids are those of the object, whatever the file says that it was made of.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any

from ._errors import InvalidError

# Where objects keep the tokenizer that they wrap, the most telling name first.
_INSIDE = ("backend_tokenizer", "_tokenizer", "tokenizer", "instruct_tokenizer", "model", "encoding", "_encoding")
# A processor holds a tokenizer, which holds another library's, which holds the table.
_DEPTH = 4

# A form, its content, the ids of special tokens (of a table alone).
Form = tuple[str, Any, list[int]]


def describe(tokenizer: Any) -> tuple[str, Any, list[int], list[int] | None, int | None]:
    """The form (`json`, `file` or `table`), its content and special ids; and the EOS ids and the number of logits, where the
    object knows them."""
    level = [tokenizer]
    for _ in range(_DEPTH):
        for one in level:
            form = _form(one)
            if form is not None:
                return (*form, _eos(tokenizer), _width(tokenizer))
        level = [inner for one in level for inner in _inside(one)]
    raise InvalidError(
        f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__} has no form that gobo knows (a `tokenizers.Tokenizer`, a "
        "`tiktoken.Encoding`, a Mistral tokenizer, or an object that wraps one); state its tokens with Vocabulary.from_tokens",
        kind="unsupported",
    )


def _inside(one: Any) -> list[Any]:
    found = (_attribute(one, name) for name in _INSIDE)
    return [inner for inner in found if inner is not None and not isinstance(inner, (str, bytes, int))]


def _attribute(one: Any, name: str) -> Any:
    try:
        return getattr(one, name, None)
    except Exception:
        # A property that fails is one that the object does not have.
        return None


def _method(one: Any, name: str) -> Callable[..., Any] | None:
    method = _attribute(one, name)
    return method if callable(method) and not isinstance(one, type) else None


def _form(one: Any) -> Form | None:
    to_str = _method(one, "to_str")
    if to_str is not None and _method(one, "get_vocab_size") is not None:
        return "json", to_str(), []
    if _method(one, "decode_single_token_bytes") is not None and _method(one, "encode_single_token") is not None:
        return _of_encoding(one)
    if type(one).__module__.startswith("mistral_common.") and isinstance(_attribute(one, "file_path"), os.PathLike):
        return "file", os.fspath(one.file_path), []
    return None


def _of_encoding(encoding: Any) -> Form:
    """A `tiktoken.Encoding`."""

    def bytes_of(id: int) -> bytes | None:
        try:
            return bytes(encoding.decode_single_token_bytes(id))
        except KeyError:
            return None

    tokens = [bytes_of(id) for id in range(encoding.max_token_value + 1)]
    special = sorted(encoding.encode_single_token(name) for name in encoding.special_tokens_set)
    return "table", tokens, special


def _eos(tokenizer: Any) -> list[int] | None:
    eos = _attribute(tokenizer, "eos_token_id")
    if isinstance(eos, int) and not isinstance(eos, bool):
        return [eos]
    if isinstance(eos, Iterable) and not isinstance(eos, (str, bytes)):
        ids = list(eos)
        return ids if ids and all(isinstance(id, int) for id in ids) else None
    return None


def _width(tokenizer: Any) -> int | None:
    try:
        return len(tokenizer)
    except TypeError:
        return None
