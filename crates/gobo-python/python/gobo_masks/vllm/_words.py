"""What vLLM's words mean: a kind of request and its text, as a constraint; and a tokenizer, as a vocabulary."""

import functools
import json
import os
import threading
from collections import OrderedDict
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from .. import Constraint, GoboError, InvalidError, Vocabulary, WaitTimeout, _engines


def constraint(kind: str, text: str, *, closed: bool, blanks: str, lexer: str | None = None) -> Constraint:
    """The constraint of a request: `kind` is the name of one of vLLM's `StructuredOutputOptions`, and `text` what goes with it; `lexer`
    splits the texts of grammars in Lark.

    Raises `InvalidError` for a text that is none of its kind. The last ones are remembered, because beam search asks for each beam at each step.
    """
    if len(text) > _REMEMBERED_TEXT:
        return _constraint.__wrapped__(kind, text, closed, blanks, lexer)
    return _constraint(kind, text, closed, blanks, lexer)


_REMEMBERED_TEXT = 64 * 1024


@functools.lru_cache(maxsize=256)
def _constraint(kind: str, text: str, closed: bool, blanks: str, lexer: str | None) -> Constraint:
    if kind == "JSON":
        return Constraint.schema(text, closed=closed, whitespace=blanks)
    if kind == "JSON_OBJECT":
        return _engines.any_object(blanks)
    if kind == "REGEX":
        return Constraint.regex(text)
    if kind == "CHOICE":
        return Constraint.choice(items(text))
    if kind == "GRAMMAR":
        return _engines.grammar(text, lexer=lexer)
    if kind == "STRUCTURAL_TAG":
        return _engines.structural_tag(text, closed=closed)
    raise InvalidError(f"there is no kind of request {kind}")


def items(text: str) -> list[str]:
    """The items of a choice, from its JSON."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidError(f"a choice that is no JSON: {error}") from error
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise InvalidError("a choice is a list of texts")
    return found


# Of each tokenizer and width: the tokenizer, so that its id stays its own, and its vocabulary to come. An engine has one or two; the
# one that was asked for longest ago is forgotten first.
_vocabularies: OrderedDict[tuple[int, int, int], tuple[Any, Future[Vocabulary]]] = OrderedDict()
MAX_TOKENIZERS = 16
_lock = threading.Lock()


def vocabulary(tokenizer: Any, width: int, timeout: float | None = None) -> Vocabulary:
    """The vocabulary of a tokenizer with `width` logits. It is made once in a process, on a thread of its own, because reading a
    tokenizer takes up to a second and a front end asks in its event loop. Raises `WaitTimeout` after `timeout` seconds, and
    `InvalidError` for a tokenizer that gobo cannot read."""
    future = begin(tokenizer, width)
    try:
        error = future.exception(timeout)
    except FutureTimeout:
        raise WaitTimeout("the tokenizer is still being read") from None
    if error is None:
        return future.result()
    if not _engines.is_verdict(error):
        # Whatever is wrong now may be mended: the next request reads it again.
        _forget(tokenizer, width, future)
    if isinstance(error, GoboError):
        raise _engines.copied(error, str(error))
    raise GoboError(f"{type(error).__name__}: {error}")


def _forget(tokenizer: Any, width: int, future: Future[Vocabulary]) -> None:
    key = _key(tokenizer, width)
    with _lock:
        if key in _vocabularies and _vocabularies[key][1] is future:
            del _vocabularies[key]


def _key(tokenizer: Any, width: int) -> tuple[int, int, int]:
    return os.getpid(), id(tokenizer), width


def begin(tokenizer: Any, width: int) -> Future[Vocabulary]:
    """Begins to read a tokenizer."""
    key = _key(tokenizer, width)
    with _lock:
        if key not in _vocabularies:
            future: Future[Vocabulary] = Future()
            _vocabularies[key] = (tokenizer, future)
            if len(_vocabularies) > MAX_TOKENIZERS:
                _vocabularies.popitem(last=False)
            threading.Thread(target=_read, args=(tokenizer, width, future), name="gobo-vocabulary", daemon=True).start()
        _vocabularies.move_to_end(key)
        return _vocabularies[key][1]


def _read(tokenizer: Any, width: int, future: Future[Vocabulary]) -> None:
    try:
        future.set_result(Vocabulary.of(tokenizer, width=width))
    except BaseException as error:
        future.set_exception(error)
