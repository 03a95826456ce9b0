# mypy: ignore-errors
# The engine is not there where types are checked.
"""The answer to one request, as the future that SGLang's grammar manager polls.

The manager asks `done()` once a turn of the scheduler, and takes `result()` when all ranks have theirs. An `Answer` does its
work in these calls: it looks whether the index is there. No thread waits for it, so a hundred slow compiles hold up no fast
one; only what the stock engine has to compile goes to an executor.

A single rank ends its answer with whatever comes first: an index, a verdict, or a failure, after which the stock engine
serves. With several ranks an answer is what every rank gets, an index or a verdict and nothing else. That nobody can compile
the index now, one rank may find out and another not; so the index is asked for again until the manager, which counts its turns
for all ranks together, gives up and cancels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from .. import GoboError, Index, Pending, WaitTimeout
from .._engines import caught, is_verdict

__all__ = ["Answer"]

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0
_POLL_INTERVAL = 0.001


class Answer(Future):
    """What becomes of one request. One thread uses it, as the scheduler does.

    `request` finds the index on this host, or begins to look for it elsewhere. `finish` makes the grammar object of the
    outcome: of an index at once, of everything else on `executor`. `timeout` is in seconds; an answer about which ranks have
    to agree has none.
    """

    def __init__(
        self,
        request: Callable[[], Index | Pending],
        finish: Callable[[Index | GoboError], Any],
        executor: Executor,
        timeout: float | None,
    ) -> None:
        super().__init__()
        self._request = request
        self._finish = finish
        self._executor = executor
        self._timeout = timeout
        self._began = time.monotonic()
        self._pause = _FIRST_PAUSE
        self._not_before = 0.0
        self._pending: Pending | None = None
        self._stock: Future | None = None

    def done(self) -> bool:
        """Whether the answer is there; looks for it."""
        if not super().done():
            self._go_on()
        return super().done()

    def result(self, timeout: float | None = None) -> Any:
        """The grammar object; waits `timeout` seconds at most, then raises `TimeoutError`."""
        self._wait(timeout)
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The exception that making the grammar object raised, if it did; waits as `result` does."""
        self._wait(timeout)
        return super().exception(0)

    def cancel(self) -> bool:
        """Ends the answer, and the search for the index with it."""
        for part in (self._pending, self._stock):
            if part is not None:
                part.cancel()
        return super().cancel()

    def _wait(self, timeout: float | None) -> None:
        end = float("inf") if timeout is None else time.monotonic() + timeout
        while not self.done() and time.monotonic() < end:
            time.sleep(_POLL_INTERVAL)

    def _go_on(self) -> None:
        if self._stock is None:
            outcome = self._outcome()
            if outcome is None:
                return
            if isinstance(outcome, Index):
                self._take(lambda: self._finish(outcome))
                return
            self._stock = self._executor.submit(self._finish, outcome)
        if self._stock.done():
            self._take(self._stock.result)

    def _take(self, made: Callable[[], Any]) -> None:
        try:
            self.set_result(made())
        except BaseException as error:
            self.set_exception(error if isinstance(error, Exception) else caught(error))

    def _outcome(self) -> Index | GoboError | None:
        """An index, or what ends the search for one; None: not yet."""
        now = time.monotonic()
        try:
            if self._pending is None:
                if now < self._not_before:
                    return None
                asked = self._request()
                if isinstance(asked, Index):
                    return asked
                self._pending = asked
            index = self._pending.poll()
        except BaseException as error:
            # An exception of `done` would end the scheduler with all its requests.
            failed = caught(error)
            if is_verdict(failed) or self._timeout is not None:
                return failed
            self._pending = None
            self._not_before = now + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            return None
        if index is None and self._timeout is not None and now - self._began > self._timeout:
            self._pending.cancel()
            return WaitTimeout(f"the index {self._pending.key} did not come in {self._timeout:g} s")
        return index
