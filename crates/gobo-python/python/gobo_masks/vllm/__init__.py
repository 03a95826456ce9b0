# mypy: ignore-errors
# The engine is not there where types are checked.
"""gobo inside vLLM, releases 0.31 to 0.33: the masks of structured outputs come from indices.

Installed beside vLLM, this adapter is found by the entry point `vllm.general_plugins: gobo`, which vLLM calls once in each of its
processes. vLLM has no registry of backends, so `register` puts subclasses of its two main ones in their places:

- **engine** (`_backends`): `XgrammarBackend` and `GuidanceBackend`, in `vllm.v1.structured_output`, whose manager makes the one or the
  other at the first structured request, and in the modules that define them, where offline beam search looks. Requests of
  the Rust front end are marked *guidance*, so one of the two alone would not see them.
- **front end** (`_validators`): `validate_xgrammar_grammar` and `validate_guidance_grammar`, which
  `SamplingParams._validate_structured_outputs` looks up at each request. A constraint that has an index is valid; what only gobo
  takes is admitted; an index that is missing is asked for ahead of the engine.
- **grammars** (`_grammar`): a request's matcher under the names that the manager calls. No fill and no rollback raises there, because
  that would end the engine.

Everything that decides between gobo and the stock engine is the rule of all (`gobo_masks._engines`). Under `external_launcher` every rank compiles for itself and all must agree, so nothing is decided by time.
"""

import threading

from .. import _engines

__all__ = ["register"]

# Releases that the contract tests run with.
TESTED = ("0.31", "0.32", "0.33")

_registering = threading.Lock()


def register() -> None:
    """Puts gobo in its places, once. Nothing happens under `GOBO_DISABLE=1`; under a release of vLLM that is not in `TESTED`, or where
    something that would be replaced takes other parameters than it did in those, the log says so and vLLM stays as it was."""
    if _engines.disabled():
        return
    with _registering:
        try:
            why = _put()
        except Exception as error:
            # An engine must not fail to start because a plug-in does not fit it.
            why = f"{type(error).__name__}: {error}"
    if why is not None:
        _engines.stays_out("vLLM", why)


def _put() -> str | None:
    """Why nothing was changed, or None."""
    fits = _engines.fits("vllm", TESTED)
    if fits is not True:
        return fits
    from vllm.sampling_params import SamplingParams
    from vllm.v1 import structured_output
    from vllm.v1.structured_output import backend_guidance, backend_types, backend_xgrammar

    if hasattr(structured_output.XgrammarBackend, "stock"):
        return None
    fits = _engines.fits("vllm", TESTED, _signatures(SamplingParams, backend_guidance, backend_xgrammar))
    if fits is not True:
        return fits
    asked = set(backend_types.StructuredOutputGrammar.__abstractmethods__)
    if asked != _GRAMMAR:
        return f"a grammar of vLLM has the methods {sorted(asked)}, and not {sorted(_GRAMMAR)}"

    from . import _backends, _validators

    xgrammar, guidance = _backends.stand_ins(backend_xgrammar, backend_guidance)
    front_end = _validators.stand_ins(SamplingParams, backend_xgrammar, backend_guidance)
    # Nothing below this line can fail.
    structured_output.XgrammarBackend = backend_xgrammar.XgrammarBackend = xgrammar
    structured_output.GuidanceBackend = backend_guidance.GuidanceBackend = guidance
    backend_xgrammar.validate_xgrammar_grammar = front_end.validate_xgrammar_grammar
    backend_guidance.validate_guidance_grammar = front_end.validate_guidance_grammar
    SamplingParams._validate_structured_outputs = front_end.validate_structured_outputs
    return None


_GRAMMAR = {"accept_tokens", "validate_tokens", "rollback", "fill_bitmask", "is_terminated", "reset"}


def _signatures(sampling_params, backend_guidance, backend_xgrammar):
    compile_grammar = ("self", "request_type", "grammar_spec", "stop_token_ids")
    for backend in (backend_xgrammar.XgrammarBackend, backend_guidance.GuidanceBackend):
        yield backend.__init__, ("self", "vllm_config", "tokenizer", "vocab_size")
        yield backend.__post_init__, ("self",)
        yield backend.compile_grammar, compile_grammar
        yield backend.allocate_token_bitmask, ("self", "max_num_seqs")
    yield backend_xgrammar.validate_xgrammar_grammar, ("sampling_params",)
    yield backend_guidance.validate_guidance_grammar, ("sampling_params", "tokenizer")
    yield (
        sampling_params._validate_structured_outputs,
        ("self", "model_config", "structured_outputs_config", "tokenizer"),
    )
