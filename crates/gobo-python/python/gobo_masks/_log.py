"""Lines for Python's logging, under the logger `gobo_masks`. Imported at the first line, so that a quiet process has no logging."""

import logging

_logger = logging.getLogger("gobo_masks")


def fallback(reason: str, key: str | None, detail: str | None) -> None:
    """The first fallback for a reason."""
    parts = [f"gobo does not serve a request: {reason}"]
    if key is not None:
        parts.append(f"index {key}")
    if detail:
        parts.append(detail)
    _logger.warning("; ".join(parts))


def summary(line: str) -> None:
    """What has changed in the last minute or more."""
    _logger.info(line)
