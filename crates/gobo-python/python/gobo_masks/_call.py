"""Constructor calls as constraints: `Person(name="Ada", age=3)`, after Koo et al. 2024, *Automata-based constraints for language
model decoding*, section 5.2.

A dataclass becomes a *form*: a tree that mirrors its annotations, and that does three things with the same knowledge. `rule`
writes the texts of the type in GBNF, `spell` writes the one text of a value, and `read` turns the syntax tree of such a text back
into the value. A form that has others in it is a rule of its own, so that the grammar grows with the annotations and not with
their nesting. The texts are Python's literals in one fixed spelling:

- all fields of a call as keywords, in the order of their declaration; one space after each comma and colon, and nowhere else;
- strings in double quotes, with `\\\\ \\" \\n \\r \\t`, `\\xNN` for other control characters, and `\\udNNN` for lone surrogates;
- integers of at most 640 digits, which every interpreter reads whatever its limit is; floats as `repr` writes them, all finite;
- members of an enumeration as `Colour.RED`.

`ast` reads at most 200 brackets in each other, so the text of a class that contains itself may be too deep for `parse`.
"""

import ast
import dataclasses
import enum
import inspect
import keyword
import math
import types
import typing
import unicodedata
from collections.abc import Callable
from typing import Any, TypeVar

from ._errors import InvalidError
from ._schema import hints_of

# The least limit that `sys.set_int_max_str_digits` takes.
_INT_DIGITS = 640

# The fraction of the greatest float, 1.7976931348623157e+308.
_GREATEST = "7976931348623157"


class _Mismatch(Exception):
    """A syntax tree that is no value of a form. It is spelled for the message alone: a union tries one form after another."""

    def __init__(self, what: str, node: ast.expr | None = None) -> None:
        self.what, self.node = what, node

    def __str__(self) -> str:
        return self.what if self.node is None else f"{_shown(self.node)} {self.what}"


def grammar(cls: type, name: str | None = None) -> str:
    """The constructor calls of `cls` as a grammar in GBNF, with the start rule `root`."""
    forms = _Forms()
    root = _of_call(forms, cls, name)
    rules = [f"root ::= {root.rule()}"]
    rules += [f"{form.rule_name} ::= {form.body()}" for form in forms.compound]
    rules += [f"{name} ::= {body}" for name, body in _SHARED.items()]
    return "\n".join(rules) + "\n"


def parse(cls: type, text: str, name: str | None = None) -> Any:
    """The instance that a constructor call writes."""
    form = _of_call(_Forms(), cls, name)
    if not isinstance(text, str):
        raise InvalidError(f"a constructor call is a str, not {type(text).__name__}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return form.read(tree.body)
    except _Mismatch as error:
        raise InvalidError(f"the text is no {form.name}(…): {error}") from None
    except (RecursionError, MemoryError) as error:
        raise InvalidError("the text is nested too deeply", kind="limit") from error
    except (SyntaxError, ValueError) as error:
        raise InvalidError(f"the text is no constructor call: {error}") from error


def spell(value: Any, name: str | None = None) -> str:
    """The text of an instance: the one that the constraint of its class allows."""
    return _of_call(_Forms(), type(value), name).spell(value)


def _of_call(forms: "_Forms", cls: Any, name: str | None) -> "_Call":
    try:
        return forms.of_call(cls, name)
    except RecursionError as error:
        raise InvalidError(f"the annotations of {cls.__qualname__} are nested too deeply", kind="limit") from error


# -- GBNF ----------------------------------------------------------------------------------------------------------------------


def _quoted(text: str) -> str:
    """A text as a literal of GBNF."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(char) or (char if char >= " " else f"\\x{ord(char):02x}") for char in text) + '"'


def _separated(item: str, least: int = 0) -> str:
    """Items with a comma and a space between them."""
    more = f'{item} (", " {item}){"+" if least > 1 else "*"}'
    return more if least else f"({more})?"


def _up_to(digits: str) -> str:
    """One to sixteen digits of a fraction that is no greater than that with the given sixteen."""
    first, rest = digits[0], digits[1:]
    more = f" [0-9]{{0,{len(rest)}}}" if rest else ""
    less = f"[0-{int(first) - 1}]{more}" if first > "0" else None
    equal = f'"{first}" ({_up_to(rest)})?' if rest else f'"{first}"'
    return f"{less} | {equal}" if less else equal


_SHARED = {
    "string": '"\\"" char* "\\""',
    "char": '[^"\\\\\\x00-\\x1f\\x7f] | "\\\\" (["\\\\nrt] | "x" ("0" [0-8bcef] | "1" [0-9a-f] | "7f") | "ud" [89a-f] [0-9a-f]{2})',
    "int": f'"0" | "-"? [1-9] [0-9]{{0,{_INT_DIGITS - 1}}}',
    "float": '"-"? (fixed | scientific | greatest)',
    "fixed": '("0" | [1-9] [0-9]{0,15}) "." [0-9]{1,20}',
    "scientific": '[1-9] ("." [0-9]{1,16})? "e" ("-" ([0-9] [0-9] | [12] [0-9] [0-9] | "3" [01] [0-9] | "32" [0-4])'
    ' | "+" ([0-9] [0-9] | [12] [0-9] [0-9] | "30" [0-7]))',
    "greatest": f'"1" ("." ({_up_to(_GREATEST)}))? "e+308"',
}


# -- forms ---------------------------------------------------------------------------------------------------------------------


class _Form:
    """A type: its texts as an expression of GBNF, a value's text, and the value of a syntax tree."""

    hashable = True

    def rule(self) -> str:
        raise NotImplementedError

    def holds(self, value: Any) -> bool:
        """Whether the form has a text for the value."""
        raise NotImplementedError

    def spell(self, value: Any) -> str:
        raise NotImplementedError

    def read(self, node: ast.expr) -> Any:
        raise NotImplementedError


class _Compound(_Form):
    """A form with a rule of its own."""

    rule_name: str

    def rule(self) -> str:
        return self.rule_name

    def body(self) -> str:
        """What the rule stands for."""
        raise NotImplementedError


def _number(node: ast.expr) -> Any:
    """The number of a literal, perhaps with a minus; None if it is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand) if isinstance(node.operand, ast.Constant) else None
        return None if value is None else -value
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    return None


class _String(_Form):
    def rule(self) -> str:
        return "string"

    def holds(self, value: Any) -> bool:
        return isinstance(value, str) and not isinstance(value, enum.Enum)

    def spell(self, value: Any) -> str:
        escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}

        def char(char: str) -> str:
            if char in escapes:
                return escapes[char]
            if char < " " or char == "\x7f":
                return f"\\x{ord(char):02x}"
            return f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char

        return '"' + "".join(map(char, value)) + '"'

    def read(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) is str:
            return node.value
        raise _Mismatch("is no str", node)


class _Int(_Form):
    def rule(self) -> str:
        return "int"

    def holds(self, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, (bool, enum.Enum))

    def spell(self, value: Any) -> str:
        if abs(value) >= 10**_INT_DIGITS:
            raise InvalidError(f"an integer has more than {_INT_DIGITS} digits", kind="limit")
        return str(int(value))

    def read(self, node: ast.expr) -> Any:
        value = _number(node)
        if type(value) is int:
            return value
        raise _Mismatch("is no int", node)


class _Float(_Form):
    def rule(self) -> str:
        return "float"

    def holds(self, value: Any) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, (bool, enum.Enum))

    def spell(self, value: Any) -> str:
        try:
            number = float(value)
        except OverflowError as error:
            raise InvalidError(f"{error}", kind="limit") from error
        if not math.isfinite(number):
            raise InvalidError(f"{number} has no literal in Python")
        return repr(number)

    def read(self, node: ast.expr) -> Any:
        value = _number(node)
        if type(value) is float:
            return value
        raise _Mismatch("is no float", node)


class _Constants(_Compound):
    """One of some values with a text each: a bool, None, a literal, a member of an enumeration."""

    def __init__(self, values: list[tuple[Any, str]]) -> None:
        self.values = values

    def body(self) -> str:
        return " | ".join(_quoted(text) for _, text in self.values)

    def _text(self, value: Any) -> str | None:
        return next((text for known, text in self.values if type(known) is type(value) and known == value), None)

    def holds(self, value: Any) -> bool:
        return self._text(value) is not None

    def spell(self, value: Any) -> str:
        text = self._text(value)
        if text is None:
            raise InvalidError(f"{value!r} is none of {', '.join(text for _, text in self.values)}")
        return text

    def read(self, node: ast.expr) -> Any:
        for value, text in self.values:
            if isinstance(value, enum.Enum):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and f"{node.value.id}.{node.attr}" == text:
                    return value
            elif isinstance(value, int) and not isinstance(value, bool):
                number = _number(node)
                if type(number) is int and number == value:
                    return value
            elif isinstance(node, ast.Constant) and type(node.value) is type(value) and node.value == value:
                return value
        raise _Mismatch("is none of " + ", ".join(text for _, text in self.values), node)


class _Union(_Compound):
    """One of several types. What it has read of a node is kept, because types that begin alike read the same nodes, and where they
    contain the union, each level of a text would double the work."""

    def __init__(self, forms: list[_Form]) -> None:
        self.forms = forms
        self.hashable = all(form.hashable for form in forms)
        self.known: dict[ast.expr, Any] = {}

    def body(self) -> str:
        return " | ".join(form.rule() for form in self.forms)

    def holds(self, value: Any) -> bool:
        return any(form.holds(value) for form in self.forms)

    def spell(self, value: Any) -> str:
        # An int is no float where both may stand.
        exact = [form for form in self.forms if form.holds(value) and not (isinstance(form, _Float) and type(value) is int)]
        for form in exact or self.forms:
            if form.holds(value):
                return form.spell(value)
        raise InvalidError(f"{value!r} is of no type of the union")

    def read(self, node: ast.expr) -> Any:
        if node not in self.known:
            self.known[node] = self._read(node)
        value = self.known[node]
        if isinstance(value, _Mismatch):
            raise value.with_traceback(None)
        return value

    def _read(self, node: ast.expr) -> Any:
        for form in self.forms:
            try:
                return form.read(node)
            except _Mismatch:
                continue
        return _Mismatch("is of no type of the union", node)


class _List(_Compound):
    hashable = False

    def __init__(self, item: _Form) -> None:
        self.item = item

    def body(self) -> str:
        return f'"[" {_separated(self.item.rule())} "]"'

    def holds(self, value: Any) -> bool:
        return isinstance(value, list) and all(map(self.item.holds, value))

    def spell(self, value: Any) -> str:
        return "[" + ", ".join(map(self.item.spell, value)) + "]"

    def read(self, node: ast.expr) -> Any:
        if not isinstance(node, ast.List):
            raise _Mismatch("is no list", node)
        return [self.item.read(item) for item in node.elts]


class _Tuple(_Compound):
    """A tuple of these items, or of any number of one kind."""

    def __init__(self, items: list[_Form], *, repeats: bool) -> None:
        self.items, self.repeats = items, repeats
        self.hashable = all(item.hashable for item in items)

    def body(self) -> str:
        rules = [item.rule() for item in self.items]
        if self.repeats:
            return f'"(" ({rules[0]} "," | {_separated(rules[0], 2)})? ")"'
        if len(rules) == 1:
            return f'"(" {rules[0]} ",)"'
        return '"(" ' + ' ", " '.join(rules) + ' ")"'

    def _forms(self, count: int) -> list[_Form] | None:
        if self.repeats:
            return self.items * count
        return self.items if len(self.items) == count else None

    def holds(self, value: Any) -> bool:
        forms = self._forms(len(value)) if isinstance(value, tuple) else None
        return forms is not None and all(form.holds(item) for form, item in zip(forms, value))

    def spell(self, value: Any) -> str:
        forms = self._forms(len(value))
        if forms is None:
            raise InvalidError(f"the tuple has {len(value)} items, not {len(self.items)}")
        items = [form.spell(item) for form, item in zip(forms, value)]
        return f"({items[0]},)" if len(items) == 1 else "(" + ", ".join(items) + ")"

    def read(self, node: ast.expr) -> Any:
        items = node.elts if isinstance(node, ast.Tuple) else None
        forms = None if items is None else self._forms(len(items))
        if items is None or forms is None:
            raise _Mismatch("is no such tuple", node)
        return tuple(form.read(item) for form, item in zip(forms, items))


class _Dict(_Compound):
    hashable = False

    def __init__(self, key: _Form, value: _Form) -> None:
        self.key, self.value = key, value

    def body(self) -> str:
        member = f'{self.key.rule()} ": " {self.value.rule()}'
        return f'"{{" {_separated(member)} "}}"'

    def holds(self, value: Any) -> bool:
        return isinstance(value, dict) and all(self.key.holds(k) and self.value.holds(v) for k, v in value.items())

    def spell(self, value: Any) -> str:
        return "{" + ", ".join(f"{self.key.spell(k)}: {self.value.spell(v)}" for k, v in value.items()) + "}"

    def read(self, node: ast.expr) -> Any:
        if not isinstance(node, ast.Dict) or None in node.keys:
            raise _Mismatch("is no dict", node)
        return {self.key.read(k): self.value.read(v) for k, v in zip(node.keys, node.values) if k is not None}


class _Call(_Compound):
    """A call of a dataclass. It is made before its fields are known, because they may contain it."""

    hashable = False

    def __init__(self, cls: type, name: str) -> None:
        self.cls, self.name = cls, name
        self.fields: dict[str, _Form] = {}

    def body(self) -> str:
        parts = [_quoted(f"{self.name}(")]
        for number, (field, form) in enumerate(self.fields.items()):
            parts += [_quoted(f"{', ' if number else ''}{field}="), form.rule()]
        return " ".join([*parts, '")"'])

    def holds(self, value: Any) -> bool:
        return type(value) is self.cls

    def spell(self, value: Any) -> str:
        written = (f"{field}={form.spell(getattr(value, field))}" for field, form in self.fields.items())
        return f"{self.name}({', '.join(written)})"

    def read(self, node: ast.expr) -> Any:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == self.name and not node.args):
            raise _Mismatch(f"is no call of {self.name} by keywords", node)
        values = {}
        for given in node.keywords:
            if given.arg is None or given.arg not in self.fields or given.arg in values:
                raise _Mismatch(f"{self.name} has no field {given.arg}, or it is given twice")
            values[given.arg] = self.fields[given.arg].read(given.value)
        missing = [field for field in self.fields if field not in values]
        if missing:
            raise _Mismatch(f"{self.name} lacks {', '.join(missing)}")
        try:
            return self.cls(**values)
        except Exception as error:
            raise _Mismatch(f"{self.name} refuses its arguments: {error}") from error


def _shown(node: ast.expr) -> str:
    try:
        text = ast.unparse(node)
    except (RecursionError, ValueError):
        # Of integers with more digits than the interpreter writes.
        return "what is there"
    return text if len(text) <= 60 else text[:59] + "…"


# -- annotations ---------------------------------------------------------------------------------------------------------------


_BOOL = [(True, "True"), (False, "False")]
_NONE = [(None, "None")]

C = TypeVar("C", bound=_Compound)


def _is_name(name: str) -> bool:
    """Whether it is a name that Python reads as it is written."""
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


class _Forms:
    """The forms of one constraint: each class has one, and each name stands for one class."""

    def __init__(self) -> None:
        self.calls: dict[type, _Call] = {}
        self.named: dict[str, type] = {}
        self.compound: list[_Compound] = []

    def _add(self, form: C) -> C:
        form.rule_name = f"part-{len(self.compound)}"
        self.compound.append(form)
        return form

    def _name(self, cls: type, name: str) -> str:
        if not _is_name(name):
            raise InvalidError(f"{name!r} is no name in Python")
        if self.named.setdefault(name, cls) is not cls:
            raise InvalidError(f"two classes are called {name}")
        return name

    def of_call(self, cls: Any, name: str | None = None) -> _Call:
        if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
            raise InvalidError(f"{getattr(cls, '__qualname__', cls)!r} is no dataclass")
        if cls in self.calls:
            return self.calls[cls]
        form = self._add(_Call(cls, self._name(cls, cls.__name__ if name is None else name)))
        self.calls[cls] = form
        names = [field.name for field in dataclasses.fields(cls) if field.init]
        takes = {
            parameter.name
            for parameter in inspect.signature(cls).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        }
        if takes != set(names):
            odd = ", ".join(sorted(takes ^ set(names)))
            raise InvalidError(f"{cls.__qualname__} is not called with its fields: {odd}")
        hints = hints_of(cls)
        for field in names:
            form.fields[field] = self.of(hints[field], f"{cls.__qualname__}.{field}")
        return form

    def of(self, annotation: Any, place: str) -> _Form:
        simple: dict[Any, Callable[[], _Form]] = {
            str: _String,
            int: _Int,
            float: _Float,
            bool: lambda: self._add(_Constants(_BOOL)),
            None: lambda: self._add(_Constants(_NONE)),
            type(None): lambda: self._add(_Constants(_NONE)),
        }
        try:
            make = simple.get(annotation)
        except TypeError:
            make = None
        if make is not None:
            return make()
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return self.of(arguments[0], place)
        if origin in (typing.Union, types.UnionType):
            return self._add(_Union([self.of(argument, place) for argument in arguments]))
        if origin is typing.Literal:
            return self._add(_Constants([(value, self._constant(value, place)) for value in arguments]))
        if origin is list:
            return self._add(_List(self.of(arguments[0], place)))
        if origin is tuple:
            repeats = len(arguments) == 2 and arguments[1] is Ellipsis
            items = [self.of(argument, place) for argument in (arguments[:1] if repeats else arguments)]
            return self._add(_Tuple(items, repeats=repeats))
        if origin is dict:
            key = self.of(arguments[0], place)
            if not key.hashable:
                raise InvalidError(f"{place}: {annotation} has keys that cannot be keys")
            return self._add(_Dict(key, self.of(arguments[1], place)))
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum) and len(annotation) > 0:
            return self._add(_Constants([(member, self._constant(member, place)) for member in annotation]))
        if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
            return self.of_call(annotation)
        own = getattr(annotation, "__supertype__", None) or getattr(annotation, "__value__", None)
        if own is not None and not isinstance(annotation, type):
            return self.of(own, place)
        shown = getattr(annotation, "__qualname__", None) or repr(annotation)
        raise InvalidError(f"{place}: {shown} has no literals that gobo writes")

    def _constant(self, value: Any, place: str) -> str:
        if isinstance(value, enum.Enum):
            cls = type(value)
            if not _is_name(value.name):
                raise InvalidError(f"{place}: {cls.__qualname__} has a member whose name is no name in Python")
            return f"{self._name(cls, cls.__name__)}.{value.name}"
        if value is None or isinstance(value, bool):
            return repr(value)
        if isinstance(value, int):
            return _Int().spell(value)
        if isinstance(value, str):
            return _String().spell(value)
        raise InvalidError(f"{place}: {value!r} has no literal that gobo writes")
