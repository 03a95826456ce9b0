"""The exceptions of gobo_masks. All of them pickle: their fields are attributes, and the message is their one argument."""


class GoboError(Exception):
    """Whatever goes wrong in gobo. `kind` is one word that callers may act on; the message is for people.

    Kinds: `invalid`, `unsupported`, `limit`, `not_found`, `exists`, `version`, `corrupt`, `busy`, `deadline`, `cancelled`,
    `internal`.
    """

    kind: str = "internal"

    def __init__(self, message: str = "", *, kind: str | None = None) -> None:
        super().__init__(message)
        if kind is not None:
            self.kind = kind


class InvalidError(GoboError, ValueError):
    """A mistake of the caller: an argument of a wrong type of element, device, size, or range; a text that is none."""

    kind = "invalid"


class RefusedError(GoboError, ValueError):
    """The constraint is refused. A verdict: the same on every host, and remembered.

    `place` says where in the constraint; for a JSON Schema it is a JSON pointer, and `pointer` is the same (None for
    everything else). `reason` says why and `help` what to do next (perhaps empty). `span` is the range of bytes in the
    constraint's text, where it is known.
    """

    kind = "unsupported"

    def __init__(
        self,
        message: str = "",
        *,
        kind: str | None = None,
        place: str = "",
        pointer: str | None = None,
        reason: str = "",
        help: str = "",
        span: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message, kind=kind)
        self.place = place
        self.pointer = pointer
        self.reason = reason
        self.help = help
        self.span = span


class OverBudgetError(GoboError, ValueError):
    """The constraint needs more than a counted limit of its compile. A verdict: repeatable under the same limits.

    `limit` is `max_states`, `max_steps` or `max_bytes`, `given` its value, and `needed` the value that would do, where that can
    be foreseen. `place`, `reason` and `help` are as those of `RefusedError`.
    """

    kind = "limit"

    def __init__(
        self,
        message: str = "",
        *,
        kind: str | None = None,
        place: str = "",
        reason: str = "",
        help: str = "",
        limit: str = "",
        given: int = 0,
        needed: int | None = None,
    ) -> None:
        super().__init__(message, kind=kind)
        self.place = place
        self.reason = reason
        self.help = help
        self.limit = limit
        self.given = given
        self.needed = needed


class WaitTimeout(GoboError, TimeoutError):
    """The index did not come in time. Transient: the compile may go on, and the next call may find it."""

    kind = "deadline"


class UnavailableError(GoboError):
    """Nobody could compile the index now. Transient, and never remembered: try again."""

    kind = "busy"


for _class in (GoboError, InvalidError, RefusedError, OverBudgetError, WaitTimeout, UnavailableError):
    _class.__module__ = "gobo_masks"
del _class
