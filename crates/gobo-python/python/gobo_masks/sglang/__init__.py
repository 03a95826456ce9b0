# mypy: ignore-errors
# The engine is not there where types are checked.
"""gobo as a grammar backend of SGLang: `--grammar-backend gobo`.

SGLang has a registry of grammar backends, and loads plug-ins (entry points of the group `sglang.srt.plugins`) in each process
before it reads its arguments. `register` is such a plug-in: it puts a name on the list, and nothing else. Engines that are
started with another backend are as they were.

The backend is a subclass of SGLang's own over xgrammar (`backend.py`), which stays the engine of whatever gobo leaves to it.

| request | served by |
|---|---|
| `json_schema`, `"$$ANY$$"`, `regex`, `ebnf` (also with a grammar in Lark), `structural_tag` with an index | gobo |
| the same, while no index can be had, or where gobo refuses the constraint | xgrammar, if it takes the constraint; else the request fails with gobo's reason |
| models whose reasoning parser has an answer frame; tokenizers that gobo cannot read | xgrammar |

With several ranks (tensor or pipeline parallel) an index that cannot be had now is waited for, since another rank may have it.

Importing this package does not import SGLang.
"""

from __future__ import annotations

from typing import Any

from .. import _engines

__all__ = ["NAME", "RELEASES", "register"]

NAME = "gobo"
"""What `--grammar-backend` takes."""

RELEASES = ("0.5.21", "0.5.22", "0.5.23")
"""The releases of SGLang that the tests run with."""


def register() -> None:
    """Adds the backend to SGLang's list; the entry point. Doing it twice does no harm.

    With `GOBO_DISABLE=1`, under another release than `RELEASES`, and where a function that gobo builds on has other parameters,
    it says so once and changes nothing.
    """
    if _engines.disabled():
        _engines.stays_out("SGLang", "GOBO_DISABLE is set")
        return
    fits = _engines.fits("sglang", RELEASES)
    if fits is True:
        from sglang.srt.constrained import base_grammar_backend
        from sglang.srt.server_args import GRAMMAR_BACKEND_CHOICES, add_grammar_backend_choices

        fits = _engines.fits("sglang", RELEASES, _signatures(base_grammar_backend))
    if fits is not True:
        _engines.stays_out("SGLang", fits)
        return
    base_grammar_backend.register_grammar_backend(NAME, _create)
    if NAME not in GRAMMAR_BACKEND_CHOICES:
        add_grammar_backend_choices([NAME])


def _signatures(module: Any) -> list[tuple[Any, tuple[str, ...]]]:
    """The functions that gobo is called by, calls, or stands in for."""
    backend, grammar = module.BaseGrammarBackend, module.BaseGrammarObject
    return [
        (module.register_grammar_backend, ("name", "init_func")),
        (module.create_grammar_backend, ("server_args", "tokenizer", "vocab_size", "eos_token_ids", "think_end_ids")),
        (backend.get_cached_or_future_value, ("self", "key", "require_reasoning")),
        (backend._init_value_dispatch, ("self", "key", "require_reasoning")),
        (backend.set_cache, ("self", "key", "value")),
        (backend.dispatch_json, ("self", "key_string")),
        (backend.dispatch_regex, ("self", "key_string")),
        (backend.dispatch_ebnf, ("self", "key_string")),
        (backend.dispatch_structural_tag, ("self", "key_string")),
        (grammar.accept_token, ("self", "token")),
        (grammar.rollback, ("self", "k")),
        (grammar.fill_vocab_mask, ("self", "vocab_mask", "idx")),
        (grammar.fill_vocab_mask_batched, ("entries", "vocab_mask")),
    ]


def _create(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: set[int] | None) -> Any:
    """The backend of a scheduler. The modules that need SGLang are imported here."""
    from .backend import create

    return create(server_args, tokenizer, vocab_size, eos_token_ids)
