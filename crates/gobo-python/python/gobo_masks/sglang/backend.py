# mypy: ignore-errors
# The engine is not there where types are checked.
"""The grammar backend: which requests gobo serves, and what becomes of the others.

SGLang's scheduler asks `get_cached_or_future_value` for a grammar. An index of this host is an answer at once; for everything
else there is a future (`answer.py`). Where a model reasons before it answers, SGLang puts a `ReasonerGrammarBackend` around its
own backends, though not around registered ones; so `create` does. It has the cache and the futures then, and `_Answering` is
what both have in common.

SGLang caches whatever a request got, for ever: a timeout of the moment too. Here an answer is cached if it stays true, as
indices, verdicts, and what the stock engine makes after a verdict do; and the oldest goes when there are too many, because each
keeps an index mapped.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    InvalidGrammarObject,
    create_grammar_backend,
)
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
from sglang.srt.constrained.xgrammar_backend import TokenizerNotSupportedError, XGrammarGrammarBackend
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.runtime_context import get_context, get_parallel, get_serving

from .. import Constraint, GoboError, Index, InvalidError, Pending, Vocabulary, _engines, count_fallback, default_client
from .answer import Answer
from .grammar import GoboGrammar, traverse_tree

__all__ = ["GoboGrammarBackend", "GoboReasonerBackend", "create"]

_KINDS = {
    "json": "json",
    "regex": "regex",
    "ebnf": "ebnf",
    "full_assistant_ebnf": "ebnf",
    "structural_tag": "structural_tag",
}
"""What gobo may serve of SGLang's kinds of keys."""

_MAX_CACHED = 4096
"""Answers that are cached, as many as a client keeps indices mapped."""

_TIMEOUT = 10.0
"""Seconds that a single rank waits for an index before the stock engine serves."""


def create(
    server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: set[int] | None
) -> BaseGrammarBackend | None:
    """The backend of a scheduler, as SGLang's `create_grammar_backend` makes its own."""
    serving = get_serving()
    parser, think_end_ids = None, None
    if serving.reasoning_parser:
        parser = ReasoningParser(model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)
        think_end_ids = parser.detector.get_think_end_token_ids(tokenizer)
    stock = partial(_stock, server_args, tokenizer, vocab_size, eos_token_ids, think_end_ids)
    if parser is not None and getattr(parser.detector, "get_answer_frame", lambda: None)() is not None:
        # Such a parser embeds the text of xgrammar's grammar into a structural tag.
        return stock("answer_frame", f"the reasoning parser {serving.reasoning_parser} has an answer frame")
    try:
        backend = GoboGrammarBackend(
            tokenizer,
            vocab_size=vocab_size,
            model_eos_token_ids=sorted(eos_token_ids) if eos_token_ids else None,
            any_whitespace=not serving.constrained_json_disable_any_whitespace,
            max_whitespace_cnt=serving.constrained_json_max_whitespace_cnt,
        )
    except TokenizerNotSupportedError as error:
        return stock("unknown_tokenizer", str(error))
    if server_args.speculative_algorithm is not None:
        _hook_draft_trees()
    if not think_end_ids:
        return backend
    return GoboReasonerBackend(backend, parser, tokenizer, enable_strict_thinking=serving.enable_strict_thinking)


def _stock(
    server_args: Any,
    tokenizer: Any,
    vocab_size: int,
    eos_token_ids: set[int] | None,
    think_end_ids: list[int] | None,
    reason: str,
    detail: str,
) -> BaseGrammarBackend | None:
    """SGLang's own backend over xgrammar, in the place of gobo's; the configuration says so from now on."""
    count_fallback(reason, None, detail)
    get_context().override("gobo", grammar_backend="xgrammar")
    return create_grammar_backend(server_args, tokenizer, vocab_size, eos_token_ids, think_end_ids)


def _hook_draft_trees() -> None:
    """Puts one native call in the place of the walk over draft tokens, by SGLang's registry of hooks; once a process."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    target = "sglang.srt.speculative.spec_utils.traverse_tree"
    if target not in HookRegistry._patched:
        HookRegistry.register(target, traverse_tree, HookType.AROUND)
        HookRegistry.apply_hooks()


class _Answering(BaseGrammarBackend):
    """How requests are answered, for the backend and for its wrapper."""

    @property
    def _gobo(self) -> GoboGrammarBackend:
        raise NotImplementedError

    def get_cached_or_future_value(
        self, key: tuple[str, str], require_reasoning: bool
    ) -> tuple[BaseGrammarObject | Future, bool]:
        """A grammar and True, or its future and False. With several ranks always a future: a rank that had its index at once
        would run a request that the others do not have yet."""
        is_alone = self._gobo.is_alone
        if key[0] not in _KINDS or key in self.cache:
            value, is_hit = super().get_cached_or_future_value(key, require_reasoning)
        else:
            value, is_hit = self._gobo.answer(self, key, require_reasoning), False
            if is_alone and value.done() and value.exception() is None:
                value, is_hit = value.result(), True
        if is_hit and not is_alone:
            answered: Future = Future()
            answered.set_result(value)
            return answered, False
        return value, is_hit

    def set_cache(self, key: tuple[str, str], value: BaseGrammarObject) -> None:
        """Nothing for what gobo may serve: the answer itself caches what stays true, and a timeout does not."""
        if key[0] not in _KINDS:
            super().set_cache(key, value)

    def cache_answer(self, key: tuple[str, str], value: BaseGrammarObject) -> None:
        """Caches what every later request may get too. The executor's threads come here as well as the scheduler's."""
        super().set_cache(key, value.copy())
        # A list is made in one step, whatever other threads do.
        for oldest in list(self.cache)[:-_MAX_CACHED]:
            self.cache.pop(oldest, None)


class GoboGrammarBackend(_Answering, XGrammarGrammarBackend):
    """SGLang's backend over xgrammar, with indices in the place of its grammars wherever gobo has them."""

    def __init__(
        self,
        tokenizer: Any,
        vocab_size: int,
        model_eos_token_ids: list[int] | None = None,
        any_whitespace: bool = True,
        max_whitespace_cnt: int | None = None,
    ) -> None:
        super().__init__(tokenizer, vocab_size, model_eos_token_ids, any_whitespace, max_whitespace_cnt)
        parallel = get_parallel()
        self.is_alone = parallel.tp_size * parallel.pp_size == 1
        self._client = default_client()
        self._eos = None if model_eos_token_ids is None else tuple(model_eos_token_ids)
        self._given = threading.local()
        self._vocabulary: Vocabulary | InvalidError
        try:
            self._vocabulary = Vocabulary.of(tokenizer, eos=self._eos, width=vocab_size, client=self._client)
        except Exception as error:
            # The same for each request and each rank, so a verdict: the stock engine serves, and the counter says so.
            self._vocabulary = InvalidError(f"gobo cannot serve this tokenizer: {error}")

    @property
    def _gobo(self) -> GoboGrammarBackend:
        return self

    def answer(self, owner: _Answering, key: tuple[str, str], require_reasoning: bool) -> Answer:
        """The answer to a request of `owner`, which is this backend or its wrapper."""

        def finish(outcome: Index | GoboError) -> BaseGrammarObject:
            self._given.outcome = outcome
            try:
                grammar = owner._init_value_dispatch(key, require_reasoning)
            finally:
                del self._given.outcome
            if isinstance(outcome, Index) or _engines.is_verdict(outcome):
                owner.cache_answer(key, grammar)
            return grammar

        timeout = _TIMEOUT if self.is_alone else None
        return Answer(partial(self._request, _KINDS[key[0]], key[1]), finish, owner.executor, timeout)

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        return self._dispatch("json", key_string, super().dispatch_json)

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        return self._dispatch("regex", key_string, super().dispatch_regex)

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        return self._dispatch("ebnf", key_string, super().dispatch_ebnf)

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        return self._dispatch("structural_tag", key_string, super().dispatch_structural_tag)

    def _dispatch(self, kind: str, text: str, stock: Callable[[str], BaseGrammarObject]) -> BaseGrammarObject:
        """The grammar object of an outcome: the given one while an answer is made, else one that is waited for.

        SGLang's validator is the first half of its compile, so that `objection` does both.
        """
        outcome: Index | GoboError | None = getattr(self._given, "outcome", None)
        by_stock: list[BaseGrammarObject] = []

        def gobo() -> BaseGrammarObject:
            index = self._client.get(*self._question(kind, text)) if outcome is None else outcome
            if isinstance(index, GoboError):
                raise index
            return GoboGrammar(index, self.vocab_size, self._eos, text, kind)

        def objection() -> str | None:
            by_stock.append(stock(text))
            return by_stock[0].error_message if isinstance(by_stock[0], InvalidGrammarObject) else None

        try:
            return _engines.serve(gobo, objection, by_stock.pop, engine="xgrammar")
        except GoboError as error:
            return InvalidGrammarObject(str(error))

    def _request(self, kind: str, text: str) -> Index | Pending:
        """An index of this host, or the search for one elsewhere."""
        question = self._question(kind, text)
        return self._client.find(*question) or self._client.request(*question)

    def _question(self, kind: str, text: str) -> tuple[Vocabulary, Constraint]:
        """What the index is of. Raises what keeps gobo from serving it."""
        if isinstance(self._vocabulary, InvalidError):
            raise _engines.copied(self._vocabulary, str(self._vocabulary))
        return self._vocabulary, self._constraint(kind, text)

    def _constraint(self, kind: str, text: str) -> Constraint:
        if kind == "regex":
            return Constraint.regex(text)
        if kind == "ebnf":
            return _engines.grammar(text)
        if kind == "structural_tag":
            return _engines.structural_tag(_with_schemas(text), closed=True)
        blanks = _engines.whitespace(none=not self.any_whitespace, count=self.max_whitespace_cnt)
        if text == "$$ANY$$":
            return Constraint.json(whitespace=blanks)
        return Constraint.schema(text, whitespace=blanks, closed=True)


def _with_schemas(tag: str) -> str:
    """A structural tag with `{}` where a schema is null, which SGLang allows for tools without parameters. A text that is no JSON stays."""
    if "null" not in tag:
        return tag
    try:
        whole = json.loads(tag)
    except ValueError:
        return tag
    open = [whole]
    while open:
        value = open.pop()
        if isinstance(value, dict):
            for field in ("schema", "json_schema"):
                if field in value and value[field] is None:
                    value[field] = {}
            # Nothing within a schema is a part of the tag.
            open += [inner for field, inner in value.items() if field not in ("schema", "json_schema")]
        elif isinstance(value, list):
            open += value
    return json.dumps(whole, ensure_ascii=False)


class GoboReasonerBackend(_Answering, ReasonerGrammarBackend):
    """SGLang's wrapper for models that reason before they answer, around gobo's backend."""

    @property
    def _gobo(self) -> GoboGrammarBackend:
        return self.grammar_backend
