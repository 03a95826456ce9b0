# mypy: ignore-errors
# The engine is not there where types are checked.
"""vLLM's two main backends, with gobo before them: `compile_grammar` finds the index or waits for it, then asks the stock class.

The stock class is initialised as ever, and allocates the matrix of masks: it may serve the next request. What the stock class serves
is checked by the stock validator here as well, because the front end may have admitted a request on gobo's word, the Rust front
end validates little, and releases before 0.33 compile a request that was validated for one backend with another one.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.v1.structured_output.backend_types import StructuredOutputGrammar, StructuredOutputOptions
from vllm.v1.structured_output.utils import choice_as_grammar

from .. import Index, _engines, default_client
from . import _words
from ._grammar import GoboGrammar, Rows

# A matcher takes back as many tokens as ever are drafted at once, and some more.
MIN_ROLLBACK = 256
# Constraints of beam searches whose engine is settled. The one that was asked for longest ago is forgotten first: a search asks for its
# own at every step.
MAX_SETTLED = 1024


class _Served:
    """What both stand-ins have. `engine` is the stock engine's name, `closed` whether schemas are, where they do not say, and `lexer` how it
    splits texts of grammars in Lark."""

    engine: str
    closed: bool
    lexer: str | None

    def __post_init__(self) -> None:
        super().__post_init__()
        config = self.vllm_config
        self.gobo_rows = Rows()
        self.gobo_blanks = _engines.whitespace(none=config.structured_outputs_config.disable_any_whitespace)
        drafts = config.speculative_config.num_speculative_tokens if config.speculative_config is not None else 0
        self.gobo_rollback = max(MIN_ROLLBACK, drafts + 1)
        # Ranks that compile for themselves must agree, so that nothing there may be decided by time.
        self.gobo_is_timed = config.parallel_config.distributed_executor_backend != "external_launcher"
        # Of each constraint without stop ids: its index, or None where the stock class serves it.
        self.gobo_settled: OrderedDict[tuple[StructuredOutputOptions, str], Index | None] = OrderedDict()
        # Read on a thread while the first constraint is looked at.
        _words.begin(self.tokenizer, self.vocab_size)

    def compile_grammar(
        self, request_type: StructuredOutputOptions, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> StructuredOutputGrammar:
        """The grammar of a request, by the rule of all.

        Requests of the manager state their stop ids. Offline beam search does not, and asks again for each beam at each step: its
        answer is settled once, since a text that was begun under one engine's masks cannot go on under another's.
        """
        asked = (request_type, grammar_spec)
        if stop_token_ids is None and asked in self.gobo_settled:
            settled = self.gobo_settled[asked]
            self.gobo_settled.move_to_end(asked)
            return self._stock_grammar(*asked, None) if settled is None else self._grammar_of(settled, None)
        grammar = _engines.serve(
            lambda: self._grammar_of(self._index(request_type, grammar_spec), stop_token_ids),
            lambda: self.gobo_objection(request_type, grammar_spec),
            lambda: self._stock_grammar(request_type, grammar_spec, stop_token_ids),
            engine=self.engine,
        )
        if stop_token_ids is None:
            self.gobo_settled[asked] = grammar.matcher.index if isinstance(grammar, GoboGrammar) else None
            if len(self.gobo_settled) > MAX_SETTLED:
                self.gobo_settled.popitem(last=False)
        return grammar

    def _index(self, request_type: StructuredOutputOptions, text: str) -> Index:
        constraint = _words.constraint(
            request_type.name, text, closed=self.closed, blanks=self.gobo_blanks, lexer=self.lexer
        )
        vocabulary = _words.vocabulary(self.tokenizer, self.vocab_size)
        client = default_client()
        found = client.find(vocabulary, constraint)
        if found is not None:
            return found
        return client.get(vocabulary, constraint) if self.gobo_is_timed else client.get(vocabulary, constraint, timeout=None)

    def _grammar_of(self, index: Index, stop_token_ids: set[int] | None) -> GoboGrammar:
        return GoboGrammar(index.matcher(stop_token_ids or None, max_rollback=self.gobo_rollback), self.gobo_rows)

    def _stock_grammar(
        self, request_type: StructuredOutputOptions, text: str, stop_token_ids: set[int] | None
    ) -> StructuredOutputGrammar:
        return super().compile_grammar(request_type, text, stop_token_ids)


def params(request_type: StructuredOutputOptions, text: str) -> SamplingParams:
    """Parameters that ask for a constraint, as the validators take them."""
    field: dict[str, Callable[[], Any]] = {
        "JSON": lambda: {"json": text},
        "JSON_OBJECT": lambda: {"json_object": True},
        "REGEX": lambda: {"regex": text},
        "CHOICE": lambda: {"choice": _words.items(text)},
        "GRAMMAR": lambda: {"grammar": text},
        "STRUCTURAL_TAG": lambda: {"structural_tag": text},
    }
    return SamplingParams(structured_outputs=StructuredOutputsParams(**field[request_type.name]()))


def stand_ins(backend_xgrammar: Any, backend_guidance: Any) -> tuple[type, type]:
    """Subclasses of the two stock backends. `stock` is the class that each stands in for."""
    validate_xgrammar = backend_xgrammar.validate_xgrammar_grammar
    validate_guidance = backend_guidance.validate_guidance_grammar

    class XgrammarBackend(_Served, backend_xgrammar.XgrammarBackend):
        """vLLM's xgrammar backend, with gobo before it."""

        stock = backend_xgrammar.XgrammarBackend
        engine = "xgrammar"
        closed = True
        lexer = None

        def gobo_objection(self, request_type: StructuredOutputOptions, text: str) -> str | None:
            return _objection(lambda: validate_xgrammar(params(request_type, text)))

        def _stock_grammar(
            self, request_type: StructuredOutputOptions, text: str, stop_token_ids: set[int] | None
        ) -> StructuredOutputGrammar:
            # Releases before 0.33 have no choices here: their front end writes a grammar of each.
            if request_type is StructuredOutputOptions.CHOICE:
                request_type, text = StructuredOutputOptions.GRAMMAR, choice_as_grammar(_words.items(text))
            return super()._stock_grammar(request_type, text, stop_token_ids)

    class GuidanceBackend(_Served, backend_guidance.GuidanceBackend):
        """vLLM's guidance backend, with gobo before it."""

        stock = backend_guidance.GuidanceBackend
        engine = "guidance"
        lexer = "longest"

        @property
        def closed(self) -> bool:
            return self.vllm_config.structured_outputs_config.disable_additional_properties

        def gobo_objection(self, request_type: StructuredOutputOptions, text: str) -> str | None:
            return _objection(lambda: validate_guidance(params(request_type, text), self.ll_tokenizer))

    return XgrammarBackend, GuidanceBackend


def _objection(validate: Callable[[], None]) -> str | None:
    try:
        validate()
    except Exception as error:
        return str(error) or type(error).__name__
    return None
