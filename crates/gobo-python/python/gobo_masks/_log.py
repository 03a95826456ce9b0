"""Lines for Python's logging, under the logger `gobo_masks`. Imported at the first line, so that a quiet process has no logging."""

import logging

_logger = logging.getLogger("gobo_masks")


def fallback(reason: str, key: str | None, detail: str | None) -> None:
    """The first request, for a reason, that gobo does not serve."""
    _logger.warning(_joined(f"gobo does not serve a request: {reason}", key, detail))


def passed_over(reason: str, key: str | None, detail: str | None) -> None:
    """The first time, for a reason, that one source of indices was passed over and the next one had its turn."""
    _logger.info(_joined(f"passed over: {reason}", key, detail))


def _joined(text: str, key: str | None, detail: str | None) -> str:
    parts = [text]
    if key is not None:
        parts.append(f"index {key}")
    if detail:
        parts.append(detail)
    return "; ".join(parts)


def summary(line: str) -> None:
    """What has changed in the last minute or more."""
    _logger.info(line)
