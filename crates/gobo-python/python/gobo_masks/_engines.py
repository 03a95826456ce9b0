"""What the adapters of engines share: their settings, what an engine's words mean, and the rule of all.

**The rule of all**: gobo's index serves a request; else the stock engine, if the stock engine's own validator takes the constraint;
else the request fails with gobo's reason and place. So a request never gets a looser mask because gobo was absent. `serve` is the
rule; each adapter passes it what its engine calls these things.

Settings come from the environment, read at each use, so that a process may be told otherwise before its first request:

| variable | meaning |
|---|---|
| `GOBO_DISABLE=1` | adapters change nothing |
| `GOBO_FALLBACK=refuse` | the stock engine serves nothing: what gobo cannot serve fails with gobo's reason. Else `stock` |
| `GOBO_JSON_WHITESPACE` | `compact`, `single`, `lines` or `flexible:N` for all JSON, whatever the engine says |

An adapter looks at its engine before it changes anything: `fits` compares the engine's release with those it was tested with, and
the parameters of what it replaces with those it knows. If either differs, it says so once, and the engine stays as it was.
"""

import importlib.metadata
import inspect
import logging
import os
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar

from . import Constraint, GoboError, InvalidError, OverBudgetError, RefusedError, UnavailableError, WaitTimeout, count_fallback

T = TypeVar("T")

_logger = logging.getLogger("gobo_masks")

# The largest N of `flexible:N` (docs/limits.md).
MAX_BLANKS = 64


# -- settings ---------------------------------------------------------------------------------------------------------------


def disabled() -> bool:
    """`GOBO_DISABLE` is set, to anything but `0`."""
    return os.environ.get("GOBO_DISABLE", "0") not in ("", "0")


def refuses() -> bool:
    """`GOBO_FALLBACK=refuse`: the stock engine serves nothing. Raises `InvalidError` for a word that is none."""
    word = os.environ.get("GOBO_FALLBACK", "") or "stock"
    if word not in ("refuse", "stock"):
        raise InvalidError(f"GOBO_FALLBACK is {word!r}; it is `refuse` or `stock`")
    return word == "refuse"


def whitespace(*, none: bool = False, count: int | None = None) -> str:
    """The whitespace policy of JSON. `GOBO_JSON_WHITESPACE` if it is set; else what the engine says: `none` at all, or up to
    `count` blanks at each place where JSON has them; else `lines`, which has the layouts that models write and no text that is
    blanks without end. Raises `InvalidError` for a count above 64."""
    told = os.environ.get("GOBO_JSON_WHITESPACE")
    if told:
        return told
    if none or count == 0:
        return "compact"
    if count is None:
        return "lines"
    if not 0 < count <= MAX_BLANKS:
        raise InvalidError(f"the engine allows {count} blanks in a row; gobo takes 0 to {MAX_BLANKS}")
    return f"flexible:{count}"


# -- what words mean --------------------------------------------------------------------------------------------------------


def any_object(blanks: str) -> Constraint:
    """Any JSON object."""
    return Constraint.schema('{"type": "object"}', whitespace=blanks)


def grammar(text: str, *, lexer: str | None = None) -> Constraint:
    """The constraint of a grammar: a list of choices where it is the grammar that vLLM writes of one (so that both have one index),
    EBNF where a line has a `::=` before any comment, else Lark, whose texts are split into lexemes by `lexer` (gobo's default if None)."""
    items = choices(text)
    if items is not None:
        return Constraint.choice(items)
    if any("::=" in _COMMENT.sub("", line) for line in text.splitlines()):
        return Constraint.grammar(text, dialect="ebnf")
    return Constraint.grammar(text, dialect="lark", lexer=lexer)


_COMMENT = re.compile(r"(#|//).*")


def structural_tag(text: str, *, closed: bool) -> Constraint:
    """The constraint of a structural tag. Whitespace is that of `whitespace` without what the engine says of it: stock engines say it of
    JSON by itself alone. `closed`: objects have no properties but those that their schemas list, where these do not say."""
    return Constraint.structural_tag(text, whitespace=whitespace(), open=not closed)


_LITERAL = re.compile(r'"((?:[^"\\\n]|\\(?:["\\nrt]|u[0-9a-f]{4}))*)"')
_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|.)")
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


def choices(text: str) -> list[str] | None:
    """The texts of a grammar `root ::= "…" | "…"`, where each alternative is one literal; None for every other grammar."""
    head = "root ::= "
    if not text.startswith(head):
        return None
    items: list[str] = []
    place = len(head)
    while True:
        literal = _LITERAL.match(text, place)
        if literal is None:
            return None
        items.append(_ESCAPE.sub(lambda escape: _unescaped(escape.group(1)), literal.group(1)))
        place = literal.end()
        if place == len(text):
            return items
        if not text.startswith(" | ", place):
            return None
        place += 3


def _unescaped(escape: str) -> str:
    return _ESCAPED[escape] if len(escape) == 1 else chr(int(escape[1:], 16))


# -- the rule of all --------------------------------------------------------------------------------------------------------


def is_verdict(error: BaseException) -> bool:
    """The error says something about the constraint, the same on every host and for all time: it may be cached."""
    return isinstance(error, (RefusedError, OverBudgetError, InvalidError))


def reason(error: BaseException) -> str:
    """One word for the counters."""
    for word, classes in _REASONS:
        if isinstance(error, classes):
            return word
    return "failed"


_REASONS: tuple[tuple[str, type[BaseException]], ...] = (
    ("refused", RefusedError),
    ("over_budget", OverBudgetError),
    ("late", WaitTimeout),
    ("unavailable", UnavailableError),
    ("invalid", InvalidError),
)


def serve(
    gobo: Callable[[], T], objection: Callable[[], str | None], stock: Callable[[], T], *, engine: str, key: str | None = None
) -> T:
    """The rule of all. `gobo` finds the index or raises; `objection` is what the stock engine's own validator says against the
    constraint, or None; `stock` serves it without gobo. `engine` is the stock engine's name, for messages.

    An error of `gobo` that is none of gobo's counts as an absence as well: it must not fail a request that the stock engine serves.
    """
    try:
        return gobo()
    except BaseException as error:
        failed = caught(error)
    count_fallback(reason(failed), key, str(failed))
    if refuses():
        raise failed
    objected = objection()
    if objected is not None:
        raise copied(failed, f"{failed}; {engine} does not take it either: {objected}") from failed
    return stock()


def caught(error: BaseException) -> GoboError:
    """Whatever a call has raised, as an error of gobo: also a panic of Rust, which is no `Exception` of Python. What ends the process is
    raised again."""
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        raise error
    if isinstance(error, GoboError):
        return error
    failed = GoboError(f"{type(error).__name__}: {error}")
    failed.__cause__ = error
    return failed


def copied(error: GoboError, message: str) -> GoboError:
    """The same error as another object, with another message. An object that is raised again and again keeps every place it was at."""
    copy = type(error)(message)
    copy.__dict__.update(error.__dict__)
    return copy


# -- releases and signatures ------------------------------------------------------------------------------------------------

_told: set[str] = set()
_telling = threading.Lock()


def say_once(message: str, *, level: int = logging.WARNING) -> None:
    """A line in the log, the first time that this process says it."""
    with _telling:
        if message in _told:
            return
        _told.add(message)
    _logger.log(level, message)


def released(distribution: str) -> str | None:
    """The release of a distribution, without what a builder has added behind `+`; None if it is not installed."""
    try:
        return importlib.metadata.version(distribution).partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def fits(
    distribution: str, tested: Sequence[str], signatures: Iterable[tuple[Callable[..., Any], Sequence[str]]] = ()
) -> Literal[True] | str:
    """True if an adapter may change this engine, else why not. `tested` has releases: `0.5.21` is that release, `0.33` is any
    `0.33.N` (no candidates, no builds between releases). `signatures` has functions with the names of their parameters."""
    release = released(distribution)
    if release is None or not any(_is_of(release, one) for one in tested):
        return f"{distribution} {release or '(of an unknown release)'} is none of those that it was tested with ({', '.join(tested)})"
    for function, expected in signatures:
        try:
            names = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            names = []
        if names != list(expected):
            where = f"{function.__module__}.{function.__qualname__}"
            return f"{where} of {distribution} {release} takes ({', '.join(names)}), and not ({', '.join(expected)})"
    return True


def _is_of(release: str, tested: str) -> bool:
    return release == tested or (tested.count(".") == 1 and re.fullmatch(re.escape(tested) + r"\.\d+(\.post\d+)?", release) is not None)


def stays_out(engine: str, why: str) -> None:
    """Says once that an adapter changes nothing."""
    say_once(f"gobo leaves {engine} as it is: {why}")
