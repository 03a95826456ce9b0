# mypy: ignore-errors
# The engine is not there where types are checked.
"""The front end: vLLM validates each structured request before it is sent to the engine, in its event loop.

The validators that vLLM looks up get the parameters alone, so `_validate_structured_outputs`, which has the tokenizer, leaves it
where they find it. Others call the same validators to ask whether *xgrammar* can do something, such as a schema inside a structural
tag; for them nothing is left, and they get xgrammar's own answer.

1. A constraint whose index is on this host is valid: a look-up, no call.
2. Else the index is asked for, so that it is made while the request waits for its turn, and the stock validator decides at once.
3. What the stock validator does not take is admitted if the index comes within 50 ms. The verdict is in the message otherwise.

Under `GOBO_FALLBACK=refuse` the stock validator is not asked, and an index that comes later is left to the engine, which waits longer.
"""

import collections
import contextvars
import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch.distributed
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import SamplingParams
from vllm.v1.structured_output.request import get_structured_output_key

from .. import GoboError, Pending, Vocabulary, WaitTimeout, _engines, default_client
from . import _words

# How long a request may hold up the event loop for what only gobo takes.
WAIT_SECONDS = 0.05
# Indices asked for ahead, of which nobody waits for the answer yet. The oldest is forgotten.
MAX_AHEAD = 256

_ahead: collections.deque[Pending] = collections.deque(maxlen=MAX_AHEAD)


class _Front(NamedTuple):
    """What the front end knows of the request that is being validated."""

    model_config: Any
    config: Any
    tokenizer: Any

    def blanks(self) -> str:
        return _engines.whitespace(none=self.config.disable_any_whitespace)

    def vocabulary(self, until: float | None) -> Vocabulary:
        return _words.vocabulary(self.tokenizer, self.model_config.get_vocab_size(), _left(until))


_front: contextvars.ContextVar[_Front | None] = contextvars.ContextVar("gobo_front_end", default=None)


def _left(until: float | None) -> float | None:
    return None if until is None else max(0.0, until - time.monotonic())


def _is_rank() -> bool:
    """This front end is one of several ranks, each of which validates for itself (`external_launcher`): they must agree."""
    distributed = torch.distributed
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def _admit(
    sampling_params: SamplingParams, *, closed: bool, lexer: str | None, engine: str, stock: Callable[[], None]
) -> None:
    """Returns if the request may be sent to the engine; else raises as the stock validator does."""
    front = _front.get()
    if front is None or sampling_params.structured_outputs is None:
        return stock()
    until = None if _is_rank() else time.monotonic() + WAIT_SECONDS
    pending: Pending | None = None
    failed: GoboError | None = None
    try:
        kind, text = get_structured_output_key(sampling_params.structured_outputs)
        constraint = _words.constraint(kind.name, text, closed=closed, blanks=front.blanks(), lexer=lexer)
        vocabulary = front.vocabulary(until)
        if default_client().find(vocabulary, constraint) is not None:
            return None
        pending = default_client().request(vocabulary, constraint)
        _ask_ahead(pending)
    except BaseException as error:
        failed = _engines.caught(error)
    objected: Exception | None = None
    if not _engines.refuses():
        try:
            return stock()
        except Exception as error:
            objected = error
    if pending is not None:
        try:
            pending.result(timeout=_left(until))
            return None
        except GoboError as error:
            failed = error
    assert failed is not None
    if objected is None:
        if isinstance(failed, WaitTimeout):
            return None
        raise VLLMValidationError(str(failed)) from failed
    if not isinstance(objected, VLLMValidationError):
        raise objected
    raise VLLMValidationError(f"{objected} ({engine}; gobo: {failed})") from objected


def _ask_ahead(pending: Pending) -> None:
    """Keeps a pending until it ends: one that nobody holds is cancelled."""
    while _ahead and _ahead[0].done():
        _ahead.popleft()
    if not pending.done():
        _ahead.append(pending)


class StandIns(NamedTuple):
    """What takes the places of vLLM's own."""

    validate_structured_outputs: Callable[..., None]
    validate_xgrammar_grammar: Callable[..., None]
    validate_guidance_grammar: Callable[..., None]


def stand_ins(sampling_params_class: Any, backend_xgrammar: Any, backend_guidance: Any) -> StandIns:
    """The two validators and their caller, around those of vLLM."""
    stock_caller = sampling_params_class._validate_structured_outputs
    stock_xgrammar = backend_xgrammar.validate_xgrammar_grammar
    stock_guidance = backend_guidance.validate_guidance_grammar

    @functools.wraps(stock_caller)
    def validate_structured_outputs(self, model_config, structured_outputs_config, tokenizer):
        if structured_outputs_config is None or tokenizer is None:
            return stock_caller(self, model_config, structured_outputs_config, tokenizer)
        left = _front.set(_Front(model_config, structured_outputs_config, tokenizer))
        try:
            return stock_caller(self, model_config, structured_outputs_config, tokenizer)
        finally:
            _front.reset(left)

    @functools.wraps(stock_xgrammar)
    def validate_xgrammar_grammar(sampling_params):
        _admit(
            sampling_params, closed=True, lexer=None, engine="xgrammar", stock=lambda: stock_xgrammar(sampling_params)
        )

    @functools.wraps(stock_guidance)
    def validate_guidance_grammar(sampling_params, tokenizer=None):
        front = _front.get()
        closed = front is not None and front.config.disable_additional_properties
        _admit(
            sampling_params,
            closed=closed,
            lexer="longest",
            engine="guidance",
            stock=lambda: stock_guidance(sampling_params, tokenizer),
        )

    return StandIns(validate_structured_outputs, validate_xgrammar_grammar, validate_guidance_grammar)
