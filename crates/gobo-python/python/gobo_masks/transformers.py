# mypy: ignore-errors
# The engine is not there where types are checked.
"""Masks for `transformers`: a logits processor, and `generate` with a constraint.

A logits processor is called once a step with all ids so far and the scores of the next token, and nothing tells it which row
was which at the step before. Beam search reorders and duplicates rows; assisted decoding asks for prefixes again, and for
shorter ones; rows of texts that have ended go on with padding. So a state belongs to a *prefix* of ids, never to a row: the
processor keeps a matcher for each prefix that it has seen lately, and the matcher of a new prefix is a fork of the one that is
a token shorter. Prompts are padded on the left, so generated ids begin at the width of the first call; that holds for
encoder-decoders too.

| a row's generated ids | its mask |
|---|---|
| the beginning of a text | the tokens that may follow |
| a whole text and a stop id | left alone: `generate` writes padding there whatever the scores are. Under beam search the stop ids, because a beam that has ended may be carried on for want of better ones. |
| anything else | the stop ids. Here come rows that `generate` has ended for a reason of its own (a stop string), beams without probability (there are fewer texts than beams), and guesses that assisted decoding throws away. |

No row is all -inf: `softmax` would make NaN of it. Continuous batching (`generate_batch`) passes no history of ids, so it
cannot be served; it is refused.
"""

from __future__ import annotations

import hashlib
import sys
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import (
    Bitmask,
    Client,
    Constraint,
    Index,
    InvalidError,
    Matcher,
    Vocabulary,
    _engines,
    batch_fill_next_token_bitmask,
    default_client,
)

if TYPE_CHECKING:
    import torch

__all__ = ["RELEASES", "ConstraintLogitsProcessor", "generate"]

RELEASES = ("5.20", "5.21", "5.22", "5.23")
"""The releases of `transformers` that the tests run with."""

_ID_BYTES = 8


class ConstraintLogitsProcessor:
    """Keeps the texts of one call of `generate` within a constraint.

    Args:
        indices: one index for all prompts, or one for each prompt of the batch; None leaves a prompt unconstrained.
        eos: the ids that end a text; by default those of the index's vocabulary. `generate` must stop at them.
        num_beams: the number of beams; 1 without beam search.
        max_states: how many prefixes are remembered, and at least four for each row. A state takes some kilobytes; a
            forgotten prefix costs a replay of its tokens.

    Errors: `InvalidError` if the rows are no multiple of the number of indices, if the logits of the first call are narrower
    than the vocabulary, if the ids go on from a text that this processor has not seen, or if `generate` does not stop at
    `eos`.

    Example:

        processor = ConstraintLogitsProcessor(index)
        model.generate(**inputs, logits_processor=[processor])
    """

    def __init__(
        self,
        indices: Index | Sequence[Index | None],
        *,
        eos: Iterable[int] | None = None,
        num_beams: int = 1,
        max_states: int = 1024,
    ) -> None:
        fits = _engines.fits("transformers", RELEASES)
        if fits is not True:
            _engines.say_once(f"gobo's logits processor may not work: {fits}")
        self._indices: list[Index | None] = [indices] if isinstance(indices, Index) else list(indices)
        if not self._indices:
            raise InvalidError("the list of indices is empty; one for each prompt is needed")
        self._eos = None if eos is None else tuple(eos)
        self._num_beams = num_beams
        self._max_states = max_states
        self.reset()

    def reset(self) -> None:
        """Forgets all texts, so that the processor may serve another call of `generate`."""
        self._prompts: torch.Tensor | None = None
        self._width = 0
        self._states: OrderedDict[tuple[int, int, bytes], _State] = OrderedDict()
        self._has_forgotten = False

    @property
    def supports_continuous_batching(self) -> bool:
        """Raises `InvalidError`. Continuous batching would drop a processor that answers False, and decode without it."""
        raise InvalidError("continuous batching passes no history of ids, so no constraint can be followed; use generate")

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores, with -inf where a token may not come next; O(rows) forks and mask rows.

        `input_ids` has the shape [rows, length] and `scores` [rows, number of logits], on any device and of any float type.
        """
        import torch

        rows, width = scores.shape
        if input_ids.shape[0] != rows or rows % len(self._indices):
            raise InvalidError(
                f"{input_ids.shape[0]} rows of ids and {rows} of scores cannot be shared by {len(self._indices)} indices"
            )
        # An assistant's logits may be wider or narrower than those of the first call.
        self._width = self._width or width
        # On the CPU, whatever the program's default device is.
        words = torch.full((rows, (max(width, self._width) + 31) // 32), -1, dtype=torch.int32, device="cpu")
        matchers, unfinished = [], []
        for row, state in enumerate(self._states_of(input_ids)):
            if state is None:
                continue
            words[row, (self._width + 31) // 32 :] = 0
            if state.is_unfinished:
                matchers.append(state.matcher)
                unfinished.append(row)
            elif state.is_refused or (self._num_beams > 1 and state.matcher.eos):
                _allow_only(words[row], state.matcher.eos)
            else:
                words[row] = -1
        batch_fill_next_token_bitmask(matchers, _bound(words, self._width), unfinished)
        allowed = _bits(words.to(scores.device))[:, :width]
        return torch.where(allowed, scores, float("-inf"))

    def _states_of(self, input_ids: torch.Tensor) -> list[_State | None]:
        """The state of each row; None where the prompt has no constraint."""
        import torch

        rows, length = input_ids.shape
        ids = input_ids.to("cpu", torch.int64)
        if self._prompts is None or length == self._prompts.shape[1]:
            self._prompts = ids
        start = self._prompts.shape[1]
        # Longer prefixes are looked up below. One generated id follows the empty prefix, which every text has.
        if length < start or (length == start + 1 and not torch.equal(ids[:, :start], self._prompts)):
            raise _another_call()
        generated = ids[:, start:].contiguous().numpy()
        rows_each = rows // len(self._indices)
        states: list[_State | None] = []
        for row in range(rows):
            index = self._indices[row // rows_each]
            states.append(None if index is None else self._state(row // rows_each, index, generated[row].tobytes()))
        while len(self._states) > max(self._max_states, 4 * rows):
            self._states.popitem(last=False)
            self._has_forgotten = True
        return states

    def _state(self, slot: int, index: Index, prefix: bytes) -> _State:
        """The state after the ids of `prefix`, made from that of the longest prefix that is kept."""
        kept = len(prefix)
        while kept and _key(slot, prefix[:kept]) not in self._states:
            kept -= _ID_BYTES
        if len(prefix) > kept + _ID_BYTES and not self._has_forgotten:
            raise _another_call()
        state = self._states.get(_key(slot, prefix[:kept])) or _State(index.matcher(self._eos, self._width))
        for end in range(kept + _ID_BYTES, len(prefix) + 1, _ID_BYTES):
            state = state.after(int.from_bytes(prefix[end - _ID_BYTES : end], sys.byteorder, signed=True))
        key = _key(slot, prefix)
        self._states[key] = state
        self._states.move_to_end(key)
        return state


def _key(slot: int, prefix: bytes) -> tuple[int, int, bytes]:
    """What a prefix is kept under: its digest, because 1,024 prefixes of long texts would take more memory than their states."""
    return slot, len(prefix), hashlib.blake2b(prefix, digest_size=16).digest()


class _State:
    """Where a prefix of ids stands: within a text, after its end, or refused."""

    __slots__ = ("is_refused", "is_unfinished", "matcher", "padding")

    def __init__(self, matcher: Matcher, *, is_refused: bool = False, padding: int | None = None) -> None:
        self.matcher = matcher
        self.is_refused = is_refused
        self.is_unfinished = not is_refused and not matcher.is_terminated()
        self.padding = padding

    def after(self, token: int) -> _State:
        """The state one token on. This one stays as it is, since other rows may go on from it."""
        if self.is_refused:
            return self
        if not self.is_unfinished:
            if self.padding is None:
                return _State(self.matcher, padding=token)
            if token not in (self.padding, *self.matcher.eos):
                raise InvalidError(
                    f"ids {self.padding} and {token} follow the end of a text: generate does not stop at {self.matcher.eos}; "
                    "give its eos_token_id as eos"
                )
            return self
        matcher = self.matcher.fork()
        if matcher.accept_token(token):
            return _State(matcher)
        if not matcher.eos:
            raise InvalidError(f"token {token} is refused, and the text cannot be ended: the vocabulary has no stop id; give eos")
        return _State(matcher, is_refused=True)


def generate(
    model: Any,
    inputs: Any = None,
    *,
    constraint: Constraint | Index | Sequence[Constraint | Index | None],
    tokenizer: Any = None,
    client: Client | None = None,
    timeout: float | None = 10.0,
    **kwargs: Any,
) -> Any:
    """Calls `model.generate` with texts kept within a constraint, and returns what it returns.

    Args:
        model: a model of `transformers` that can generate.
        inputs: as for `model.generate`; `input_ids=` and the others go there by name.
        constraint: one for all prompts, or a list with one for each prompt; None leaves a prompt unconstrained.
        tokenizer: the model's tokenizer, or a `Vocabulary`; needed unless every constraint is an index already.
        client: where indices are found; by default the process's.
        timeout: seconds to wait for each index that is not there yet; None waits without end.
        kwargs: everything else that `model.generate` takes. Its logits processors come before the masks.

    Errors: what `Client.get` raises (`RefusedError`, `OverBudgetError`, `WaitTimeout`, `UnavailableError`), and those of
    `ConstraintLogitsProcessor`.

    Example:

        generate(model, **inputs, tokenizer=tokenizer, constraint=Constraint.regex("[0-9]{4}-[0-9]{2}"), max_new_tokens=20)
    """
    configs = (kwargs.get("generation_config"), model.generation_config)

    def setting(name: str) -> Any:
        """What `generate` takes: an argument, else what its configuration says, else the model's."""
        given = (kwargs.get(name), *(getattr(config, name, None) for config in configs))
        return next((value for value in given if value is not None), None)

    eos = setting("eos_token_id")
    eos = (eos,) if isinstance(eos, int) else None if eos is None else tuple(int(id) for id in eos)
    wanted = [constraint] if isinstance(constraint, Constraint | Index) else list(constraint)
    indices = _found(wanted, tokenizer, client or default_client(), timeout, eos)
    masks = ConstraintLogitsProcessor(indices, eos=eos, num_beams=setting("num_beams") or 1)
    processors = [*(kwargs.pop("logits_processor", None) or ()), masks]
    return model.generate(inputs, logits_processor=processors, **kwargs)


def _found(
    wanted: Sequence[Constraint | Index | None],
    tokenizer: Any,
    client: Client,
    timeout: float | None,
    eos: tuple[int, ...] | None,
) -> list[Index | None]:
    """An index for each constraint. All are asked for before the first is waited for."""
    constraints = {one for one in wanted if isinstance(one, Constraint)}
    if not constraints:
        return [one for one in wanted if not isinstance(one, Constraint)]
    if tokenizer is None:
        raise InvalidError("a constraint needs the model's tokenizer; give tokenizer=")
    vocabulary = tokenizer if isinstance(tokenizer, Vocabulary) else Vocabulary.of(tokenizer, eos=eos, client=client)
    pending = {one: client.request(vocabulary, one) for one in constraints}
    ready = {one: request.result(timeout) for one, request in pending.items()}
    return [ready[one] if isinstance(one, Constraint) else one for one in wanted]


def _another_call() -> InvalidError:
    return InvalidError(
        "the ids go on from a text that this processor has not seen; a processor serves one call of generate: make another, "
        "or call reset() before"
    )


def _bound(words: torch.Tensor, width: int) -> Bitmask:
    """The words of a matrix that masks of `width` logits take, bound for filling."""
    return Bitmask.from_pointer(words.data_ptr(), words.shape[0], (width + 31) // 32, stride=words.stride(0), owner=words)


def _allow_only(row: torch.Tensor, ids: Iterable[int]) -> None:
    """Writes a mask row that allows the ids alone."""
    row.zero_()
    for id in ids:
        row[id // 32] |= -(1 << 31) if id % 32 == 31 else 1 << (id % 32)


def _bits(words: torch.Tensor) -> torch.Tensor:
    """A matrix of mask words as one boolean for each token; bit `id & 31` of word `id >> 5` is token `id`."""
    import torch

    one_of_each = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8, device=words.device)
    return (words.view(torch.uint8).unsqueeze(-1) & one_of_each).ne(0).flatten(1)
