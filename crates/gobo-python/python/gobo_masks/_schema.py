"""The text of a JSON Schema, from whatever states one: JSON values, Pydantic models, dataclasses and typed dictionaries.

Pydantic writes the schema of its own models, and of dataclasses and typed dictionaries where it is installed. Without it, `_of`
walks over the annotations; what it does not know is refused by name, and never left out.
"""

import dataclasses
import enum
import importlib
import json
import types
import typing
from collections.abc import Mapping
from typing import Any

from ._errors import InvalidError


def text(schema: Any) -> str:
    """The JSON text of a schema that is neither text nor a bool."""
    if isinstance(schema, Mapping):
        return _dumped(dict(schema))
    if isinstance(schema, type) or typing.get_origin(schema) is not None:
        return _dumped(_of_class(schema))
    raise InvalidError(
        f"a schema is a text, a bool, a mapping, a Pydantic model, a dataclass or a TypedDict, not {type(schema).__name__}"
    )


def _dumped(value: Any) -> str:
    try:
        # The order of keys is the order of properties.
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise InvalidError("the schema is nested too deeply, or contains itself") from None
    except (TypeError, ValueError) as error:
        raise InvalidError(f"the schema is no JSON value: {error}") from error


def _of_class(cls: Any) -> Any:
    own = getattr(cls, "model_json_schema", None)
    if own is not None:
        return _asked(own, cls)
    if not (dataclasses.is_dataclass(cls) or typing.is_typeddict(cls)):
        raise InvalidError(f"{_name(cls)} is no Pydantic model, dataclass or TypedDict")
    try:
        pydantic: Any = importlib.import_module("pydantic")
    except ImportError:
        return _Walk().whole(cls)
    try:
        return _asked(lambda: pydantic.TypeAdapter(cls).json_schema(), cls)
    except InvalidError as error:
        # Before Python 3.12 Pydantic takes no TypedDict of `typing`.
        if getattr(error.__cause__, "code", None) == "typed-dict-version":
            return _Walk().whole(cls)
        raise


def _asked(schema: Any, cls: Any) -> Any:
    try:
        return schema()
    except Exception as error:
        raise InvalidError(f"Pydantic makes no schema of {_name(cls)}: {error}") from error


def _name(annotation: Any) -> str:
    return getattr(annotation, "__qualname__", None) or repr(annotation)


_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    Any: {},
}


class _Walk:
    """One schema: the definitions of the classes that were met, by name."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.definitions: dict[str, Any] = {}

    def whole(self, cls: Any) -> dict[str, Any]:
        """The schema of a class, its definitions included. A class that is not met again stands at the root."""
        reference = self.of(cls, _name(cls))
        root = self.definitions.pop(self.names[cls])
        if json.dumps(reference) in json.dumps([root, self.definitions]):
            self.definitions[self.names[cls]] = root
            root = reference
        return {**root, "$defs": self.definitions} if self.definitions else root

    def of(self, annotation: Any, place: str) -> dict[str, Any]:
        """The schema of an annotation. `place` is for the message of a refusal."""
        try:
            scalar = _SCALARS.get(annotation)
        except TypeError:
            scalar = None
        if scalar is not None:
            return dict(scalar)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in (typing.Annotated, typing.Required, typing.NotRequired, getattr(typing, "ReadOnly", typing.Required)):
            return self.of(arguments[0], place)
        if origin in (typing.Union, types.UnionType):
            return {"anyOf": [self.of(argument, place) for argument in arguments]}
        if origin is typing.Literal:
            return {"enum": [self.value(value, place) for value in arguments]}
        if annotation is list or origin is list:
            return {"type": "array", **({"items": self.of(arguments[0], place)} if arguments else {})}
        if annotation is tuple or origin is tuple:
            return self.of_tuple(annotation, arguments, place)
        if annotation is dict or origin in (dict, Mapping):
            if not arguments:
                return {"type": "object"}
            if arguments[0] is not str:
                raise self.refusal(annotation, place, "the keys of a JSON object are str")
            return {"type": "object", "additionalProperties": self.of(arguments[1], place)}
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return {"enum": [self.value(member, place) for member in annotation]}
        if isinstance(annotation, type) and (dataclasses.is_dataclass(annotation) or typing.is_typeddict(annotation)):
            return self.of_fields(annotation)
        own = getattr(annotation, "__supertype__", None)
        if own is not None:
            return self.of(own, place)
        raise self.refusal(annotation, place, "it has no schema here")

    def of_tuple(self, annotation: Any, arguments: tuple[Any, ...], place: str) -> dict[str, Any]:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": self.of(arguments[0], place)}
        if not arguments and annotation is tuple:
            return {"type": "array"}
        schema: dict[str, Any] = {"type": "array", "minItems": len(arguments), "maxItems": len(arguments)}
        if arguments:
            schema["prefixItems"] = [self.of(argument, place) for argument in arguments]
        return schema

    def of_fields(self, cls: Any) -> dict[str, Any]:
        if cls not in self.names:
            name = cls.__name__
            while name in self.definitions:
                name += "_"
            self.names[cls] = name
            self.definitions[name] = {}
            self.definitions[name] = self.members(cls)
        # `~` and `/` cannot stand in the name of a class.
        return {"$ref": f"#/$defs/{self.names[cls]}"}

    def members(self, cls: Any) -> dict[str, Any]:
        hints = hints_of(cls)
        if dataclasses.is_dataclass(cls):
            fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
            missing = dataclasses.MISSING
            required = [
                name for name, field in fields.items() if field.default is missing and field.default_factory is missing
            ]
            names = list(fields)
        else:
            names = list(hints)
            required = [name for name in names if name in cls.__required_keys__]
        properties = {name: self.of(hints[name], f"{_name(cls)}.{name}") for name in names}
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        return schema

    def value(self, value: Any, place: str) -> Any:
        if isinstance(value, enum.Enum):
            value = value.value
        if value is None or isinstance(value, (str, bool, int, float)):
            return value
        raise self.refusal(value, place, "it is no JSON value")

    def refusal(self, annotation: Any, place: str, why: str) -> InvalidError:
        return InvalidError(f"{place}: {_name(annotation)} cannot be stated as a JSON Schema: {why}")


def hints_of(cls: Any) -> dict[str, Any]:
    """The annotations of a class, with names looked up."""
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except (NameError, TypeError, SyntaxError, RecursionError) as error:
        raise InvalidError(f"the annotations of {_name(cls)} cannot be read: {error}") from error
