# mypy: ignore-errors
# The engine is not there where types are checked.
"""A grammar object of SGLang over an index, and its masks: a row, a batch, a tree of drafts.

An exception in a fill or a rollback would end the engine with all its requests; one in `accept_token` (a `ValueError`) ends one
request. So a grammar that fails notes it, writes rows that allow the stop ids alone, and refuses the next token.

SGLang allocates a new matrix at each step, with all bits set; a row that nobody fills stays so. A grammar that has ended is not
filled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from sglang.srt.constrained.base_grammar_backend import BaseGrammarObject, GrammarRow, GrammarStats
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarObject
from sglang.srt.constrained.xgrammar_backend import MAX_ROLLBACK_TOKENS, XGrammarGrammar

from .. import Bitmask, GoboError, Index, InvalidError, batch_fill_next_token_bitmask, count_fallback
from .._engines import caught

__all__ = ["GoboGrammar", "traverse_tree"]


class GoboGrammar(XGrammarGrammar):
    """One text being decoded under an index; in the place of SGLang's object over xgrammar."""

    def __init__(self, index: Index, vocab_size: int, eos: tuple[int, ...] | None, key_string: str, kind: str) -> None:
        matcher = index.matcher(eos, vocab_size, max_rollback=MAX_ROLLBACK_TOKENS)
        super().__init__(matcher, vocab_size, index, None, key_string, GrammarStats(dispatch_type=kind))
        self._eos = eos
        self._failure: GoboError | None = None

    def copy(self) -> GoboGrammar:
        """A grammar at the start, as SGLang means it; no fork."""
        copy = GoboGrammar(self.ctx, self.vocab_size, self._eos, self.key_string, self.grammar_stats.dispatch_type)
        copy.grammar_stats.is_cache_hit = True
        return copy

    def accept_token(self, token: int) -> None:
        """Takes a token; a `ValueError` if it is refused, upon which SGLang ends the request."""
        if self.is_terminated():
            return
        self.current_token = token
        try:
            accepted = self._failure is None and self.matcher.accept_token(token)
        except BaseException as error:
            self._fail(error)
            accepted = False
        if not accepted:
            raise ValueError(
                f"token {token} is not accepted: {self._failure or 'it is not among those allowed'}\n"
                f"accepted tokens: {self.accepted_tokens}\nindex {self.ctx.key} of: {self.key_string}"
            )
        self.accepted_tokens.append(token)

    def rollback(self, k: int) -> None:
        """Takes the last `k` tokens back."""
        if k <= 0:
            return
        try:
            self.matcher.rollback(k)
        except BaseException as error:
            self._fail(error)
        del self.accepted_tokens[-k:]

    def is_terminated(self) -> bool:
        """Whether a stop id was taken. A failed grammar has not ended: its next token ends the request with the reason."""
        return self._failure is None and self.matcher.is_terminated()

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Writes the mask of the next token into a row."""
        if self._failure is None:
            try:
                self.matcher.fill_next_token_bitmask(_bound(vocab_mask), idx)
                return
            except BaseException as error:
                self._fail(error)
        self._allow_stop(vocab_mask, idx)

    @staticmethod
    def fill_vocab_mask_batched(entries: list[GrammarRow], vocab_mask: torch.Tensor) -> None:
        """Writes the rows of a batch: gobo's in one call, and those of other grammars by themselves.

        SGLang calls this on the class of any grammar of the batch, with all its entries.
        """
        ours, others = [], []
        for entry in entries:
            grammar = entry.grammar
            whole = isinstance(grammar, GoboGrammar) and grammar._failure is None
            (ours if whole else others).append(entry)
        if ours:
            matchers = [entry.grammar.matcher for entry in ours]
            try:
                batch_fill_next_token_bitmask(matchers, _bound(vocab_mask), [entry.row for entry in ours])
            except BaseException as error:
                caught(error)
                others += ours  # one by one, so that only those that fail are ended
        for entry in others:
            entry.grammar.fill_vocab_mask(vocab_mask, entry.row)

    def fill_draft_tree(
        self, first_child: torch.Tensor, next_sibling: torch.Tensor, tokens: torch.Tensor, vocab_mask: torch.Tensor
    ) -> None:
        """Writes the row of each node of a tree of drafts that can be reached; the grammar stays as it was.

        Node 0 stands for the text so far. Rows of drafts that are refused, and of ended texts, are left alone.
        """
        if self.is_terminated():
            return
        if self._failure is None:
            try:
                self.matcher.traverse_draft_tree(
                    first_child.tolist(), next_sibling.tolist(), tokens.tolist(), _bound(vocab_mask), 0
                )
                return
            except BaseException as error:
                self._fail(error)
        for row in range(len(vocab_mask)):
            self._allow_stop(vocab_mask, row)

    def try_jump_forward(self, tokenizer: Any) -> None:
        """None: SGLang does not call this."""

    def _fail(self, error: BaseException) -> None:
        failure = caught(error)
        if self._failure is None:
            self._failure = failure
            count_fallback("matcher_failed", self.ctx.key, str(failure))

    def _allow_stop(self, vocab_mask: torch.Tensor, idx: int) -> None:
        try:
            row = vocab_mask[idx].zero_()
            for id in self.matcher.eos:
                row[id >> 5] |= _BITS[id & 31]
        except (RuntimeError, IndexError):
            # No such row, or none that can be written. Whatever is sampled there, the next accept refuses it.
            pass

    def __repr__(self) -> str:
        return f"GoboGrammar({self.key_string=}, index={self.ctx.key}, {self.accepted_tokens=}, {self.current_token=})"


_BITS = [1 << bit for bit in range(31)] + [-(1 << 31)]

_last_bound: tuple[torch.Tensor, Bitmask] | None = None


def _bound(vocab_mask: torch.Tensor) -> Bitmask:
    """The matrix, bound for filling. The last one is kept: rows of one matrix are often filled one by one."""
    global _last_bound
    last = _last_bound
    if last is not None and last[0] is vocab_mask:
        return last[1]
    rows, words = vocab_mask.shape
    if not (vocab_mask.is_cpu and vocab_mask.dtype is torch.int32 and vocab_mask.stride(1) == 1):
        raise InvalidError(f"a matrix of masks is int32 on the CPU, not {vocab_mask.dtype} on {vocab_mask.device}")
    bitmask = Bitmask.from_pointer(vocab_mask.data_ptr(), rows, words, stride=vocab_mask.stride(0), owner=vocab_mask)
    _last_bound = (vocab_mask, bitmask)
    return bitmask


def traverse_tree(
    stock: Callable[..., None],
    retrieve_next_token: torch.Tensor,
    retrieve_next_sibling: torch.Tensor,
    draft_tokens: torch.Tensor,
    grammar: BaseGrammarObject,
    allocate_token_bitmask: torch.Tensor,
    vocab_size: int | None = None,
) -> None:
    """SGLang's `traverse_tree`, in one native call where the grammar is gobo's; `stock` is the engine's own.

    While a text is still reasoning, drafts may end the reasoning; the engine's own traversal follows that.
    """
    ours = grammar
    if isinstance(grammar, ReasonerGrammarObject) and not getattr(grammar, "reasoning_in_grammar", False):
        ours = grammar.grammar if grammar._is_generation() else None
    if isinstance(ours, GoboGrammar):
        ours.fill_draft_tree(retrieve_next_token, retrieve_next_sibling, draft_tokens, allocate_token_bitmask)
    else:
        stock(
            retrieve_next_token, retrieve_next_sibling, draft_tokens, grammar, allocate_token_bitmask, vocab_size=vocab_size
        )
