"""Constructor calls: every generated text reads back, and the spelling of every instance is allowed."""

import dataclasses
import enum
import random
import typing

import pytest
from conftest import mask_of, tokens_of, TOKENS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gobo_masks as gobo
from gobo_masks import _call


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


@dataclasses.dataclass
class Point:
    x: int
    y: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tag:
    key: str
    weight: float | None = None


@dataclasses.dataclass
class Person:
    name: str
    age: int | None
    tall: bool
    place: Point
    colour: Colour
    tags: list[Tag]
    pair: tuple[int, str]
    one: tuple[bool]
    many: tuple[int, ...]
    scores: dict[str, float]
    mood: typing.Literal["good", "bad \"mood\"", 3, None, Colour.RED]
    either: typing.Union[int, float, str, list[int], Point]
    noted: typing.Annotated[str, "a note"]
    made: int = dataclasses.field(default=7, init=False)


@dataclasses.dataclass
class Tree:
    value: int
    children: list["Tree"]


@dataclasses.dataclass
class Empty:
    pass


integers = st.integers(-(10**640) + 1, 10**640 - 1) | st.integers()
floats = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=()))
points = st.builds(Point, integers, floats)
persons = st.builds(
    Person,
    name=texts,
    age=st.none() | integers,
    tall=st.booleans(),
    place=points,
    colour=st.sampled_from(Colour),
    tags=st.lists(st.builds(Tag, key=texts, weight=st.none() | floats), max_size=3),
    pair=st.tuples(integers, texts),
    one=st.tuples(st.booleans()),
    many=st.lists(integers, max_size=3).map(tuple),
    scores=st.dictionaries(texts, floats, max_size=3),
    mood=st.sampled_from(["good", 'bad "mood"', 3, None, Colour.RED]),
    either=integers | floats | texts | st.lists(integers, max_size=2) | points,
    noted=texts,
)
trees = st.recursive(st.builds(Tree, integers, st.just([])), lambda below: st.builds(Tree, integers, st.lists(below, max_size=3)), max_leaves=8)


@pytest.fixture(scope="module")
def matchers(index_of):
    return {cls: index_of(gobo.Constraint.call(cls)).matcher(max_rollback=0) for cls in (Person, Tree, Point, Empty)}


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(value=persons | trees | points)
def test_the_spelling_of_an_instance_is_allowed_and_reads_back(matchers, value):
    text = _call.spell(value)
    assert gobo.parse_call(type(value), text) == value
    matcher = matchers[type(value)]
    matcher.reset()
    written = text.encode()
    assert matcher.accept_tokens(tokens_of(written)), text
    assert matcher.is_completed()


@pytest.mark.parametrize("cls", [Person, Tree, Point, Empty])
def test_every_generated_text_reads_back(matchers, cls):
    for seed in range(60):
        chance = random.Random(seed)
        matcher = matchers[cls].fork()
        matcher.reset()
        text = b""
        while True:
            if matcher.is_completed():
                break
            ids = sorted(mask_of(matcher) - {len(TOKENS) - 2, len(TOKENS) - 1})
            # What ends brackets and strings, now and then, so that texts end.
            ending = [id for id in ids if TOKENS[id] in (b'"', b"]", b")", b"}", b",", b" ")]
            id = chance.choice(ending if ending and chance.random() < 0.4 else ids)
            assert matcher.accept_token(id)
            text += TOKENS[id]
        value = gobo.parse_call(cls, text.decode())
        assert gobo.parse_call(cls, _call.spell(value)) == value, text


def test_the_text_is_as_documented():
    value = Person("A\n\"é\x00\ud800", None, True, Point(-1, 1e300), Colour.RED, [Tag(key="k")], (1, "a"), (False,), (1,), {"s": -0.0}, 3, 2.0, "n")
    assert _call.spell(value) == (
        'Person(name="A\\n\\"é\\x00\\ud800", age=None, tall=True, place=Point(x=-1, y=1e+300), colour=Colour.RED, '
        'tags=[Tag(key="k", weight=None)], pair=(1, "a"), one=(False,), many=(1,), scores={"s": -0.0}, mood=3, either=2.0, noted="n")'
    )
    assert _call.spell(Empty()) == "Empty()" and gobo.parse_call(Empty, "Empty()") == Empty()
    assert gobo.parse_call(Point, 'P(y=1.5, x=2)', name="P") == Point(2, 1.5)


@pytest.mark.parametrize(
    "text",
    [
        "", "Point", "Point()", "Point(x=1)", "Point(1, 2.0)", "Point(x=1, y=2.0, z=3)", "Point(x=1, x=1, y=2.0)", "Point(x=1, y=2)", "Point(x=True, y=2.0)",
        "Point(x=1.0, y=2.0)", "Point(x='1', y=2.0)", "Point(x=1+1, y=2.0)", "Point(x=--1, y=2.0)", "Point(**{'x': 1, 'y': 2.0})", "Other(x=1, y=2.0)",
        "m.Point(x=1, y=2.0)", "Point(x=1, y=2.0); x", "Point(x=1, y=2.0)\x00", "Point(x=__import__('os'), y=2.0)", "(" * 5000, "Point(x=" + "9" * 5000 + ", y=2.0)", "\ud800", "lambda: 0", "Point(x=1, y=0x" + "f" * 5000 + ")",
    ],
)
def test_texts_that_are_no_such_call(text):
    with pytest.raises(gobo.InvalidError):
        gobo.parse_call(Point, text)
    with pytest.raises(gobo.InvalidError):
        gobo.parse_call(Point, None)


def test_texts_that_are_nested_too_deeply():
    text = "Tree(value=0, children=[" * 300 + "])" * 300
    with pytest.raises(gobo.InvalidError):
        gobo.parse_call(Tree, text)


@dataclasses.dataclass
class Pair:
    items: "list[Pair] | list[Pair | None] | list[Pair | int]"
    made: typing.ClassVar[int] = 0

    def __post_init__(self):
        Pair.made += 1


@pytest.mark.parametrize("leaf, works", [("None", True), ("7", True), ("'x'", False)])
def test_types_that_begin_alike_read_each_node_once(leaf, works):
    # Without what unions keep, each of 60 levels would read its items three times over.
    depth = 60
    text = "Pair(items=[" * depth + leaf + "])" * depth
    Pair.made = 0
    if works:
        value = gobo.parse_call(Pair, text)
        assert _call.spell(value) == text
        assert Pair.made <= 4 * depth
    else:
        with pytest.raises(gobo.InvalidError):
            gobo.parse_call(Pair, text)


def broken(annotation, **options):
    return dataclasses.make_dataclass("Broken", [("field", annotation)], **options)


@pytest.mark.parametrize(
    "cls",
    [
        int, 3, broken(set[int]), broken(typing.Any), broken(object), broken(bytes), broken(list), broken(complex), broken(dict[list[int], int]),
        broken(typing.Callable[[], int]), broken("NotThere"), broken(typing.Literal[b"x"]), broken(Colour | dataclasses.make_dataclass("Colour", [])),
        broken(int, init=False), dataclasses.make_dataclass("Extra", [("a", dataclasses.InitVar[int])]),
    ],
)
def test_classes_without_such_calls(cls):
    with pytest.raises((gobo.InvalidError, TypeError)):
        gobo.Constraint.call(cls)


def nested(depth):
    annotation = int
    for _ in range(depth):
        annotation = list[annotation]
    return annotation


def test_a_grammar_grows_with_the_annotations_and_not_with_their_nesting():
    few, many = (len(gobo.Constraint.call(broken(dict[str, nested(depth)] | tuple[nested(depth), ...])).text) for depth in (10, 40))
    assert many < 6 * few
    endless = typing.NewType("endless", int)
    endless.__supertype__ = list[endless]
    with pytest.raises(gobo.InvalidError, match="nested too deeply"):
        gobo.Constraint.call(broken(endless))


def test_nested_types_read_back(index_of):
    cls = dataclasses.make_dataclass("Nested", [("a", list[list[list[int | None]]]), ("b", dict[str, tuple[list[bool], Colour]])])
    value = cls([[], [[1, None], []]], {"k": ([True], Colour.BLUE), "": ([], Colour.RED)})
    text = _call.spell(value)
    assert text == 'Nested(a=[[], [[1, None], []]], b={"k": ([True], Colour.BLUE), "": ([], Colour.RED)})'
    assert gobo.parse_call(cls, text) == value
    matcher = index_of(gobo.Constraint.call(cls)).matcher()
    assert matcher.accept_tokens(tokens_of(text.encode())) and matcher.is_completed()


def test_members_that_python_reads_under_another_name():
    # It reads the ligature of `fi` as two letters.
    with pytest.raises(gobo.InvalidError, match="no name in Python"):
        gobo.Constraint.call(broken(enum.Enum("Ligatures", ["\ufb01"])))


@pytest.mark.parametrize("name", ["", "a b", "None", "a.b", "1a", "ﬁ", "a\ud800"])
def test_names_that_are_none(name):
    with pytest.raises(gobo.InvalidError):
        gobo.Constraint.call(Point, name=name)


def test_values_without_a_literal():
    for value in (Point(10**640, 1.0), Point(1, float("inf")), Point(1, float("nan")), Point(1, 10**400)):
        with pytest.raises(gobo.InvalidError):
            _call.spell(value)


def test_a_class_may_refuse_its_arguments():
    @dataclasses.dataclass
    class Even:
        number: int

        def __post_init__(self):
            if self.number % 2:
                raise RuntimeError("odd")

    assert gobo.parse_call(Even, "Even(number=2)").number == 2
    with pytest.raises(gobo.InvalidError, match="odd"):
        gobo.parse_call(Even, "Even(number=1)")
