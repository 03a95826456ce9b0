"""vLLM's own classes on a CPU: its manager, requests, parameters and backends; configurations are plain namespaces.

Run in an environment of `.ci/engines` with a release of vLLM on PYTHONPATH. Elsewhere this folder is skipped.
"""

import importlib.util
import os
import pathlib
import time
import types

import pytest

HAS_VLLM = importlib.util.find_spec("vllm") is not None
collect_ignore_glob = [] if HAS_VLLM else ["*"]

DATA = pathlib.Path(os.environ.get("GOBO_DATA", pathlib.Path(__file__).parents[4].parent / "shared" / "data"))


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """A store of this run, that the process's default client uses."""
    return os.environ["GOBO_STORE"]


def pytest_configure(config):
    import tempfile

    # Before anything makes the default client.
    config.gobo_store = tempfile.TemporaryDirectory(prefix="gobo-vllm-")
    os.environ["GOBO_STORE"] = config.gobo_store.name
    for name in ("GOBO_SERVER", "GOBO_DISABLE", "GOBO_FALLBACK", "GOBO_JSON_WHITESPACE", "GOBO_LOCAL"):
        os.environ.pop(name, None)


def pytest_unconfigure(config):
    config.gobo_store.cleanup()


@pytest.fixture(scope="session")
def vllm_release():
    import importlib.metadata

    return importlib.metadata.version("vllm")


@pytest.fixture(scope="session", autouse=True)
def registered():
    """The adapter in its places, as vLLM's plug-in loader puts it there."""
    import gobo_masks.vllm

    gobo_masks.vllm.register()


@pytest.fixture(scope="session")
def gpt2():
    return tokenizer("gpt2", "<|endoftext|>")


def tokenizer(name, eos):
    """A tokenizer as vLLM makes one."""
    from transformers import PreTrainedTokenizerFast
    from vllm.tokenizers.hf import get_cached_tokenizer

    path = DATA / "tokenizers" / name / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"{path} is not there (GOBO_DATA)")
    return get_cached_tokenizer(PreTrainedTokenizerFast(tokenizer_file=str(path), eos_token=eos))


@pytest.fixture
def engine(gpt2):
    """Makes engines; each is destroyed at the end of its test."""
    made = []

    def make(**options):
        made.append(Engine(options.pop("tokenizer", gpt2), **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


class Engine:
    """The structured half of an engine: a front end that validates, and the manager of the engine's process."""

    def __init__(
        self, tokenizer, *, backend="auto", seqs=256, drafts=0, executor="mp", reasoner=None, width=None, **options
    ):
        from vllm.config import StructuredOutputsConfig
        from vllm.v1 import structured_output

        self.tokenizer = tokenizer
        self.width = width or len(tokenizer)
        self.drafts = drafts
        self.config = types.SimpleNamespace(
            model_config=types.SimpleNamespace(
                skip_tokenizer_init=False,
                is_diffusion=False,
                get_vocab_size=lambda: self.width,
                hf_config=types.SimpleNamespace(model_type="gpt2"),
            ),
            parallel_config=types.SimpleNamespace(distributed_executor_backend=executor),
            scheduler_config=types.SimpleNamespace(max_num_seqs=seqs),
            structured_outputs_config=StructuredOutputsConfig(backend=backend, **options),
            speculative_config=types.SimpleNamespace(num_speculative_tokens=drafts) if drafts else None,
            num_speculative_tokens=drafts,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(structured_output, "cached_tokenizer_from_config", lambda model_config: tokenizer)
            self.manager = structured_output.StructuredOutputManager(self.config)
        self.manager.reasoner_cls = reasoner
        self.count = 0

    def close(self):
        self.manager.clear_backend()

    def params(self, *, stop=(), **constraint):
        """Parameters that the front end has validated."""
        from vllm.sampling_params import SamplingParams, StructuredOutputsParams

        params = SamplingParams(structured_outputs=StructuredOutputsParams(**constraint), stop_token_ids=list(stop))
        params._validate_structured_outputs(
            self.config.model_config, self.config.structured_outputs_config, self.tokenizer
        )
        params.update_from_generation_config({}, self.tokenizer.eos_token_id)
        return params

    def send(self, params, prompt=(0,)):
        """A request as the engine has it, before its grammar is there."""
        from vllm.v1.request import Request

        self.count += 1
        request = Request(str(self.count), list(prompt), params, None)
        self.manager.grammar_init(request)
        return request

    def request(self, **constraint):
        """A request whose grammar is there."""
        request = self.send(self.params(**constraint))
        self.grammar(request)
        return request

    def grammar_of_gobo_alone(self, **constraint):
        """A request that the stock validator does not take. The first may be late by the rule of 50 ms; it was asked for ahead."""
        from vllm.exceptions import VLLMValidationError

        for _ in range(100):
            try:
                return self.request(**constraint)
            except VLLMValidationError as error:
                assert "in time" in str(error) or "being read" in str(error)
                time.sleep(0.1)
        raise AssertionError(f"no index of {constraint} in ten seconds")

    def grammar(self, request):
        """The grammar, waited for; raises what the compile raised."""
        from concurrent.futures import Future

        future = request.structured_output_request._grammar
        if isinstance(future, Future):
            future.result(60)
        grammar = request.structured_output_request.grammar
        if isinstance(grammar, Exception):
            raise grammar
        return grammar

    def masks(self, requests, drafts=None):
        """The manager's rows, as sets of allowed ids: of each request a list of 1 + drafts."""
        import numpy as np

        by_id = {request.request_id: request for request in requests}
        drafts = {request.request_id: tokens for request, tokens in zip(requests, drafts, strict=True)} if drafts else {}
        rows = self.manager.grammar_bitmask(by_id, list(by_id), drafts)
        bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, : self.width].astype(bool)
        found, row = [], 0
        for request in requests:
            count = 1 + len(drafts.get(request.request_id, ()))
            found.append(bits[row : row + count])
            # Blocks of fixed width since 0.33.
            row += len(rows) // len(requests) if len(rows) % len(requests) == 0 and self.drafts else count
        return found

    def accept(self, request, tokens):
        taken = self.manager.accept_tokens(request, tokens)
        request.append_output_token_ids(tokens)
        return taken

    def greedy(self, request, score, limit=200):
        """The ids that a score function and the masks choose, one at a time, and whether the text has ended."""
        import numpy as np

        ids = []
        while len(ids) < limit:
            (rows,) = self.masks([request])
            allowed = np.flatnonzero(rows[0])
            token = int(allowed[np.argmax(score(ids, allowed))])
            ids.append(token)
            assert self.accept(request, [token])
            if token in request.sampling_params.all_stop_token_ids:
                return ids, True
        return ids, False
