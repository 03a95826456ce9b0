# mypy: ignore-errors
# The engine is not there where types are checked.
"""A request's matcher, under the names that vLLM's manager calls.

The manager calls `is_terminated` and `fill_bitmask` for each row of each step, so these are little more than one native call. The
matrix of masks is bound once: the manager hands in the same tensor each time.

An exception of `fill_bitmask` or `rollback` would end the engine, and with it the requests of everybody. So whatever goes wrong ends this
request alone: from then on its rows allow the ids that end its text, and its next `accept_tokens` is False, which the scheduler
answers by ending the request with an error.
"""

from typing import Any

import torch
from vllm.v1.structured_output.backend_types import StructuredOutputGrammar

from .. import Bitmask, Matcher, count_fallback


class Rows:
    """The matrix of masks that was bound last, for all grammars of a backend."""

    def __init__(self) -> None:
        # One attribute, because threads fill rows at the same time.
        self.bound: tuple[torch.Tensor | None, Bitmask | None] = (None, None)

    def bind(self, matrix: torch.Tensor) -> Bitmask:
        """Binds another matrix. Raises `InvalidError` if it is none of int32 on the CPU."""
        bitmask = Bitmask(matrix)
        self.bound = (matrix, bitmask)
        return bitmask


class GoboGrammar(StructuredOutputGrammar):
    """The grammar of one request."""

    def __init__(self, matcher: Matcher, rows: Rows) -> None:
        self.matcher = matcher
        self.rows = rows
        self._ended = False
        # Replaced when something has failed.
        self._fill = matcher.fill_next_token_bitmask
        self._accept = matcher.accept_tokens

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Writes the mask of the next token to a row."""
        matrix, bound = self.rows.bound
        try:
            if bitmask is not matrix:
                bound = self.rows.bind(bitmask)
            if self._fill(bound, batch_index):
                return
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self._fail("fill", error)
        self._allow_stops(bitmask, batch_index)

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Takes all of the tokens, or none and answers False. Tokens after the end are taken and ignored."""
        try:
            if not self._accept(tokens):
                return False
            self._ended = self.matcher.is_terminated()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self._fail("accept", error)
            return False
        return True

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The longest beginning of the tokens that could be taken; none behind the end."""
        if self._ended or self._accept is _refuse:
            return []
        try:
            return self.matcher.validate_tokens(tokens)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self._fail("validate", error)
            return []

    def rollback(self, num_tokens: int) -> None:
        """Takes back the last tokens."""
        if self._accept is _refuse:
            return
        try:
            self.matcher.rollback(num_tokens)
            self._ended = self.matcher.is_terminated()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self._fail("rollback", error)

    def is_terminated(self) -> bool:
        """Whether the text has ended."""
        return self._ended

    def reset(self) -> None:
        """Goes back to the empty text."""
        self.matcher.reset()
        self._ended = False

    def _fail(self, what: str, error: BaseException) -> None:
        """Ends this request: its rows allow what ends the text, and its next accept is False."""
        self._fill, self._accept = _refuse, _refuse
        self._ended = False
        count_fallback("matcher_failed", self.matcher.index.key, f"{what}: {error}")

    def _allow_stops(self, bitmask: torch.Tensor, row: int) -> None:
        try:
            words = bitmask[row].zero_()
            for id in self.matcher.eos:
                words[id >> 5] |= _BITS[id & 31]
        except (RuntimeError, IndexError) as error:
            # No such row, or none that can be written. Whatever is sampled there, the next accept refuses it.
            self._fail("stop ids", error)


def _refuse(*_: Any) -> bool:
    return False


# Of each bit, a word as torch reads it: signed.
_BITS = [1 << bit if bit < 31 else -(1 << 31) for bit in range(32)]
