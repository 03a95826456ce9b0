import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar, final

from typing_extensions import Buffer

_T = TypeVar("_T")
_TextStart: TypeAlias = Literal["exact", "strip_one_space"]

class _SupportsDLPack(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

_Matrix: TypeAlias = Bitmask | Buffer | _SupportsDLPack
_Ids: TypeAlias = Iterable[int] | _SupportsDLPack

__all__ = [
    "Bitmask",
    "Client",
    "Constraint",
    "GoboError",
    "Index",
    "InvalidError",
    "Matcher",
    "OverBudgetError",
    "Pending",
    "RefusedError",
    "UnavailableError",
    "Vocabulary",
    "WaitTimeout",
    "__version__",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "batch_fill_next_token_bitmask",
    "count_fallback",
    "default_client",
    "parse_call",
    "stats",
]

__version__: str

class GoboError(Exception):
    """Whatever goes wrong in gobo. `kind` is one word that callers may act on; the message is for people."""

    kind: str
    def __init__(self, message: str = "", *, kind: str | None = None) -> None: ...

class InvalidError(GoboError, ValueError):
    """A mistake of the caller."""

class RefusedError(GoboError, ValueError):
    """The constraint is refused. A verdict: the same on every host, and remembered."""

    place: str
    pointer: str | None
    reason: str
    help: str
    span: tuple[int, int] | None
    def __init__(
        self,
        message: str = "",
        *,
        kind: str | None = None,
        place: str = "",
        pointer: str | None = None,
        reason: str = "",
        help: str = "",
        span: tuple[int, int] | None = None,
    ) -> None: ...

class OverBudgetError(GoboError, ValueError):
    """The constraint needs more than a counted limit of its compile. A verdict."""

    place: str
    reason: str
    help: str
    limit: str
    given: int
    needed: int | None
    def __init__(
        self,
        message: str = "",
        *,
        kind: str | None = None,
        place: str = "",
        reason: str = "",
        help: str = "",
        limit: str = "",
        given: int = 0,
        needed: int | None = None,
    ) -> None: ...

class WaitTimeout(GoboError, TimeoutError):
    """The index did not come in time. Transient."""

class UnavailableError(GoboError):
    """Nobody could compile the index now. Transient, and never remembered."""

@final
class Vocabulary:
    @staticmethod
    def of(
        tokenizer: Any, *, eos: _Ids | None = None, width: int | None = None, client: Client | None = None
    ) -> Vocabulary: ...
    @staticmethod
    def from_tokens(
        tokens: Iterable[bytes | None],
        special: _Ids = (),
        *,
        eos: _Ids | None = None,
        width: int | None = None,
        client: Client | None = None,
    ) -> Vocabulary: ...
    def bind(self, *, eos: _Ids | None = None, width: int | None = None) -> Vocabulary: ...
    @property
    def digest(self) -> str: ...
    @property
    def name(self) -> str | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def eos(self) -> tuple[int, ...]: ...
    @property
    def width(self) -> int: ...
    def __len__(self) -> int: ...
    def token_bytes(self, id: int) -> bytes: ...
    def is_special(self, id: int) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Constraint:
    @staticmethod
    def regex(
        pattern: str,
        *,
        search: bool = False,
        dialect: Literal["rust", "ecma", "python"] = "rust",
        and_: Sequence[str] = (),
        not_: Sequence[str] = (),
        text_start: _TextStart = "exact",
    ) -> Constraint: ...
    @staticmethod
    def choice(items: Iterable[str], *, text_start: _TextStart = "exact") -> Constraint: ...
    @staticmethod
    def json(
        *,
        whitespace: str = "single",
        numbers: Literal["plain", "json"] = "plain",
        max_objects: int | None = None,
        max_arrays: int | None = None,
        text_start: _TextStart = "exact",
    ) -> Constraint: ...
    @staticmethod
    def schema(
        schema: str | bytes | bool | Mapping[str, Any] | type,
        *,
        draft: str | None = None,
        dialect: Literal["json-schema", "openapi-3.0"] = "json-schema",
        order: Literal["declared", "any"] = "declared",
        notation: Literal["json", "yaml"] = "json",
        whitespace: str = "single",
        spelling: Literal["canonical", "any"] = "canonical",
        numbers: Literal["plain", "json"] = "plain",
        format: Literal["assert", "annotate"] = "assert",
        date_times: Literal["rfc3339", "naive"] = "rfc3339",
        closed: bool = False,
        max_depth: int | None = None,
        documents: Mapping[str, str | bytes | bool | Mapping[str, Any]] | None = None,
        allow_widening: bool = False,
        text_start: _TextStart = "exact",
    ) -> Constraint: ...
    @staticmethod
    def structural_tag(
        format: str | bytes | Mapping[str, Any],
        *,
        special_text: Literal["both", "token", "spelled"] = "both",
        order: Literal["declared", "any"] = "declared",
        whitespace: str = "single",
        numbers: Literal["plain", "json"] = "plain",
        open: bool = False,
        text_start: _TextStart = "exact",
    ) -> Constraint: ...
    @staticmethod
    def gbnf(grammar: str, *, start: str = "root", text_start: _TextStart = "exact") -> Constraint: ...
    @staticmethod
    def grammar(
        grammar: str,
        *,
        dialect: Literal["gbnf", "ebnf", "lark"],
        start: str | None = None,
        lexer: str | None = None,
        indent_by: int | None = None,
        indent_depth: int | None = None,
        documents: Mapping[str, str] | None = None,
        text_start: _TextStart = "exact",
    ) -> Constraint: ...
    @staticmethod
    def call(cls: type, *, name: str | None = None, text_start: _TextStart = "exact") -> Constraint: ...
    def stopping(self, phrases: Sequence[str]) -> Constraint: ...
    def naming(self, classes: Mapping[str, Mapping[str, Any]]) -> Constraint: ...
    def cut(self, tokenization: Literal["any", "canonical", "canonical-strict", "canonical-heal"]) -> Constraint: ...
    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def digest(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def parse_call(cls: type[_T], text: str, *, name: str | None = None) -> _T: ...
@final
class Client:
    def __new__(
        cls,
        store: str | os.PathLike[str] | None = None,
        server: str | None = None,
        *,
        tenant: str | None = None,
        timeout: float | None = 10.0,
        local: bool | None = None,
    ) -> Self: ...
    @property
    def store(self) -> str: ...
    @property
    def server(self) -> str: ...
    def find(self, vocabulary: Vocabulary, constraint: Constraint) -> Index | None: ...
    def get(self, vocabulary: Vocabulary, constraint: Constraint, *, timeout: float | None = ...) -> Index: ...
    def request(self, vocabulary: Vocabulary, constraint: Constraint) -> Pending: ...
    def stats(self) -> dict[str, Any]: ...

def default_client() -> Client: ...
def stats() -> dict[str, Any]: ...
def count_fallback(reason: str, key: str | None = None, detail: str | None = None) -> None: ...
@final
class Pending:
    @property
    def key(self) -> str: ...
    def done(self) -> bool: ...
    def poll(self) -> Index | None: ...
    def result(self, timeout: float | None = ...) -> Index: ...
    def cancel(self) -> None: ...

@final
class Index:
    @property
    def key(self) -> str: ...
    @property
    def source(self) -> Literal["map", "host", "remote", "upstream", "compile", "stream", "local"]: ...
    @property
    def report(self) -> dict[str, list[dict[str, str]]]: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def path(self) -> str | None: ...
    @property
    def states(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def size(self) -> int: ...
    def matcher(self, eos: _Ids | None = None, width: int | None = None, *, max_rollback: int = 256) -> Matcher: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Matcher:
    @property
    def index(self) -> Index: ...
    @property
    def eos(self) -> tuple[int, ...]: ...
    @property
    def width(self) -> int: ...
    def fill_next_token_bitmask(self, bitmask: _Matrix, index: int = 0) -> bool: ...
    def accept_token(self, token: int) -> bool: ...
    def accept_tokens(self, tokens: _Ids) -> bool: ...
    def validate_tokens(self, tokens: _Ids) -> list[int]: ...
    def rollback(self, count: int = 1) -> None: ...
    def reset(self) -> None: ...
    def fork(self) -> Matcher: ...
    def with_prefix(self, prefix: bytes) -> Matcher: ...
    def after_prompt(self, tokens: _Ids) -> Matcher: ...
    @property
    def taken_back(self) -> int: ...
    def is_terminated(self) -> bool: ...
    def is_completed(self) -> bool: ...
    def forced(self) -> bytes: ...
    def forced_token(self) -> int | None: ...
    def forced_tokens(self) -> list[int]: ...
    def fill_draft_chain(self, bitmask: _Matrix, index: int, drafts: _Ids) -> int: ...
    def traverse_draft_tree(
        self, first_child: _Ids, next_sibling: _Ids, tokens: _Ids, bitmask: _Matrix, index: int = 0
    ) -> None: ...

@final
class Bitmask:
    def __new__(cls, matrix: Buffer | _SupportsDLPack) -> Self: ...
    @staticmethod
    def from_pointer(
        address: int, rows: int, words: int, *, stride: int | None = None, owner: Any = None
    ) -> Bitmask: ...
    @property
    def rows(self) -> int: ...
    @property
    def words(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

def allocate_token_bitmask(rows: int, width: int) -> Bitmask: ...
def apply_token_bitmask_inplace(
    logits: Buffer | _SupportsDLPack, bitmask: _Matrix, *, indices: _Ids | None = None
) -> None: ...
def batch_fill_next_token_bitmask(
    matchers: Sequence[Matcher], bitmask: _Matrix, indices: _Ids | None = None
) -> list[bool]: ...
