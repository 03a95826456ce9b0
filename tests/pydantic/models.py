"""Models as people write them with Pydantic 2, and the lines of `schemas.jsonl`, which a test replays.

    python -m venv venv && venv/bin/pip install pydantic==2.12.5 email-validator jsonschema[format-nongpl]
    PYTHONHASHSEED=0 venv/bin/python models.py > schemas.jsonl

A line has a model's name, its schema (`model_json_schema`), texts that the model writes (`model_dump_json`), and texts that
the model and a validator of the schema both refuse.
"""

import json
import sys
import uuid
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, TypeVar, Union

import jsonschema
from annotated_types import Gt, Len
from pydantic import (
    UUID4,
    AnyUrl,
    AwareDatetime,
    Base64Str,
    BaseModel,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    Json,
    JsonValue,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    PostgresDsn,
    RootModel,
    SecretStr,
    StrictInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    conbytes,
    condecimal,
    confloat,
    conint,
    conlist,
    constr,
)
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

#: (model, what it writes, what it refuses, arguments of model_dump_json)
MODELS: list[tuple[type[BaseModel], list[BaseModel], list[str], dict[str, Any]]] = []


def add(model: type[BaseModel], writes: list[BaseModel], refuses: list[str], **dump: Any) -> None:
    MODELS.append((model, writes, refuses, dump))


# Nested models, and values that may be missing.


class Address(BaseModel):
    street: str
    city: str
    postal_code: constr(pattern=r"^\d{5}(-\d{4})?$")
    country: constr(min_length=2, max_length=2, to_upper=True) = "DE"


class User(BaseModel):
    """A user of the shop."""

    id: int
    name: str = Field(..., description="The full name", examples=["Ada Lovelace"])
    nickname: Optional[str] = None
    age: int | None = Field(default=None, ge=0, le=150)
    address: Address
    tags: list[str] = []


_address = Address(street="Rämistraße 1", city="Zürich", postal_code="80011", country="CH")
add(
    User,
    [
        User(id=1, name="Ada \"the first\" Lovelace", address=_address),
        User(id=-7, name="", nickname="A\\B\n", age=36, address=_address, tags=["a", "é", "\U0001f600", "\x1f"]),
    ],
    [
        '{"id":1,"name":"a"}',
        '{"id":"one","name":"a","address":{"street":"a","city":"b","postal_code":"12345"}}',
        '{"id":1,"name":"a","age":151,"address":{"street":"a","city":"b","postal_code":"12345"}}',
        '{"id":1,"name":"a","address":{"street":"a","city":"b","postal_code":"1234"}}',
        '{"id":1,"name":"a","address":{"street":"a","city":"b","postal_code":"12345","country":"DEU"}}',
        "[]",
    ],
)


class LineItem(BaseModel):
    sku: str = Field(min_length=3, max_length=32, pattern=r"^[A-Z0-9\-]+$")
    quantity: PositiveInt
    price: Decimal


class Order(BaseModel):
    number: int
    items: list[LineItem] = Field(min_length=1, max_length=50)
    total: Decimal


add(
    Order,
    [
        Order(number=7, items=[LineItem(sku="AB-1", quantity=2, price=Decimal("19.99"))], total=Decimal("39.98")),
        Order(
            number=8,
            items=[
                LineItem(sku="X" * 32, quantity=10**20, price=Decimal("0")),
                LineItem(sku="000", quantity=1, price=Decimal("-0.50")),
            ],
            total=Decimal("123456789012345678901234567890.123"),
        ),
    ],
    [
        '{"number":7,"items":[],"total":"0"}',
        '{"number":7,"items":[{"sku":"ab","quantity":1,"price":"1"}],"total":"0"}',
        '{"number":7,"items":[{"sku":"ABC","quantity":0,"price":"1"}],"total":"0"}',
        '{"number":7,"items":[{"sku":"ABC","quantity":1,"price":"one"}],"total":"0"}',
        '{"number":7,"items":[{"sku":"ABC","quantity":1,"price":"1"}],"total":"."}',
    ],
)


# Unions.


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    breed: str
    good: Literal[True] = True


class Lizard(BaseModel):
    kind: Literal["lizard", "reptile"]
    scales: bool


class Owner(BaseModel):
    pet: Annotated[Union[Cat, Dog, Lizard], Field(discriminator="kind")]
    others: list[Annotated[Union[Cat, Dog], Field(discriminator="kind")]] = []


add(
    Owner,
    [
        Owner(pet=Cat(kind="cat")),
        Owner(pet=Lizard(kind="reptile", scales=False), others=[Dog(kind="dog", breed="Pug"), Cat(kind="cat", lives=1)]),
    ],
    [
        '{"pet":{"kind":"fish"}}',
        '{"pet":{"kind":"dog"}}',
        '{"pet":{"kind":"lizard","scales":true},"others":[{"kind":"lizard","scales":true}]}',
        '{"pet":{"kind":"dog","breed":"Pug","good":false}}',
    ],
)


class Answer(BaseModel):
    value: Union[int, str, list[float], dict[str, bool], None]
    confidence: Literal["low", "medium", "high"]
    code: Literal[1, 2, "three", None, True]


add(
    Answer,
    [
        Answer(value=1, confidence="low", code=1),
        Answer(value="1", confidence="medium", code="three"),
        Answer(value=[1.5, -2e-5, 1e21], confidence="high", code=None),
        Answer(value={"a": True}, confidence="high", code=2),
        Answer(value=None, confidence="high", code=True),
    ],
    [
        '{"value":1,"confidence":"none","code":1}',
        '{"value":[null],"confidence":"low","code":1}',
        '{"value":{"a":1.5},"confidence":"low","code":1}',
        '{"value":1,"confidence":"low","code":"two"}',
        '{"value":1,"confidence":"low"}',
    ],
)


class Circle(BaseModel):
    shape: Literal["circle"] = "circle"
    radius: PositiveFloat


class Square(BaseModel):
    shape: Literal["square"] = "square"
    side: PositiveFloat


class Group(BaseModel):
    shape: Literal["group"] = "group"
    members: list["Shape"]


Shape = Annotated[Union[Circle, Square, Group], Field(discriminator="shape")]
Drawing = RootModel[Shape]
Drawing.__name__ = "Drawing"
add(
    Drawing,
    [
        Drawing(Circle(radius=0.5)),
        Drawing(Group(members=[Square(side=1e-3), Group(members=[]), Circle(radius=12.25)])),
    ],
    [
        '{"shape":"circle","radius":0}',
        '{"shape":"circle","radius":-1.5}',
        '{"shape":"group","members":[{"shape":"line"}]}',
        '{"shape":"group"}',
    ],
)


# Dates and times.


class Event(BaseModel):
    at: datetime
    until: AwareDatetime | None = None
    day: date
    each: Optional[timedelta] = None


_at = datetime(2024, 2, 29, 12, 30, 5, tzinfo=timezone.utc)
add(
    Event,
    [
        Event(at=_at, day=date(2024, 2, 29)),
        Event(
            at=_at.replace(microsecond=120),
            until=_at.replace(tzinfo=timezone(timedelta(hours=-5, minutes=-30))),
            day=date(1, 1, 1),
            each=timedelta(days=2, hours=1, minutes=4),
        ),
        Event(at=_at, day=date(9999, 12, 31), each=timedelta(seconds=30)),
    ],
    [
        '{"at":"2023-02-29T12:00:00Z","day":"2024-01-01"}',
        '{"at":"2024-01-01T25:00:00Z","day":"2024-01-01"}',
        '{"at":"2024-01-01T12:00:00Z","day":"2024-13-01"}',
        '{"at":"2024-01-01T12:00:00Z","day":"2024-01-01","each":"one day"}',
    ],
)


class Shift(BaseModel):
    start: time
    worked: timedelta
    days: list[date]


add(
    Shift,
    [
        Shift(start=time(8, 0, tzinfo=timezone.utc), worked=timedelta(hours=8), days=[]),
        Shift(start=time(23, 59, 59, 999999, tzinfo=timezone.utc), worked=timedelta(days=3), days=[date(2024, 1, 31)]),
    ],
    [
        '{"start":"24:00:00Z","worked":"PT8H","days":[]}',
        '{"start":"08:00:00Z","worked":"8 h","days":[]}',
        '{"start":"08:00:00Z","worked":"PT8H","days":["2024-04-31"]}',
    ],
)


# Strings of a known form.


class Key(BaseModel):
    id: uuid.UUID
    parent: Optional[UUID4] = None
    secret: SecretStr


_uuid = uuid.UUID("886313e1-3b8a-4372-9b90-0c9aee199e5d")
add(
    Key,
    [Key(id=_uuid, secret="x"), Key(id=uuid.UUID(int=0), parent=_uuid, secret="")],
    [
        '{"id":"886313e1-3b8a-4372-9b90-0c9aee199e5","secret":""}',
        '{"id":"886313e1-3b8a-4372-9b90-0c9aee199e5g","secret":""}',
        '{"id":"886313e1-3b8a-4372-9b90-0c9aee199e5d","parent":1,"secret":""}',
        '{"id":"886313e1-3b8a-4372-9b90-0c9aee199e5d","secret":1}',
    ],
)


class Contact(BaseModel):
    email: EmailStr
    others: list[EmailStr] = Field(default_factory=list, max_length=5)


add(
    Contact,
    [
        Contact(email="ada@example.org"),
        Contact(email="ada.l+tag@mail.example.co.uk", others=["o'neill@example.org", "a_b-c@x-y.example.com"]),
    ],
    [
        '{"email":"ada"}',
        '{"email":null}',
        '{"email":"ada@example.org","others":["ada.example.org"]}',
        '{"email":"ada@example.org","others":["a@b.de","a@b.de","a@b.de","a@b.de","a@b.de","a@b.de"]}',
    ],
)


class Host(BaseModel):
    v4: IPv4Address
    v6: Optional[IPv6Address] = None
    network: IPv4Network
    any: Union[IPv4Address, IPv6Address]
    config: Path


add(
    Host,
    [
        Host(v4="192.168.0.1", network="10.0.0.0/8", any="::1", config="/etc/hosts"),
        Host(v4="0.0.0.0", v6="2001:db8::ff00:42:8329", network="0.0.0.0/0", any="8.8.8.8", config="a b/ü"),
    ],
    [
        '{"v4":"192.168.0","network":"10.0.0.0/8","any":"::1","config":"a"}',
        '{"v4":"192.168.0.256","network":"10.0.0.0/8","any":"::1","config":"a"}',
        '{"v4":"192.168.0.1","v6":"1","network":"10.0.0.0/8","any":"::1","config":"a"}',
        '{"v4":"192.168.0.1","network":"10.0.0.0/8","any":"::g","config":"a"}',
    ],
)


class Texts(BaseModel):
    slug: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=64)]
    title: constr(min_length=1, max_length=200)
    body: constr(min_length=10, max_length=5000)
    summary: Optional[constr(max_length=280)] = None
    phone: Annotated[str, Field(pattern=r"^\+?[1-9]\d{1,14}$")]
    color: constr(pattern=r"^#(?:[0-9a-fA-F]{3}){1,2}$") = "#fff"


add(
    Texts,
    [
        Texts(slug="a-1-b", title="é", body="0123456789", phone="+41446681800"),
        Texts(slug="x" * 64, title="t" * 200, body="\u20ac" * 5000, summary="", phone="12", color="#00FFaa"),
    ],
    [
        '{"slug":"a-","title":"a","body":"0123456789","phone":"+12"}',
        '{"slug":"a","title":"","body":"0123456789","phone":"+12"}',
        '{"slug":"a","title":"a","body":"012345678","phone":"+12"}',
        '{"slug":"a","title":"a","body":"0123456789","phone":"+02"}',
        '{"slug":"a","title":"a","body":"0123456789","phone":"+12","color":"#ffff"}',
        '{"slug":"%s","title":"a","body":"0123456789","phone":"+12"}' % ("a" * 65),
    ],
)


# Numbers.


class Bounds(BaseModel):
    port: conint(ge=1, le=65535)
    even: conint(multiple_of=2, gt=-10, lt=10)
    ratio: confloat(ge=0, le=1)
    rate: Annotated[float, Gt(0)]
    step: confloat(multiple_of=0.5) = 0.5
    count: NonNegativeInt = 0
    strict: StrictInt = 1


add(
    Bounds,
    [
        Bounds(port=1, even=-8, ratio=0, rate=0.1),
        Bounds(port=65535, even=8, ratio=1, rate=123456.789, step=-1.5, count=10**12, strict=-3),
        Bounds(port=80, even=0, ratio=0.125, rate=3.5),
    ],
    [
        '{"port":0,"even":2,"ratio":0.5,"rate":1}',
        '{"port":65536,"even":2,"ratio":0.5,"rate":1}',
        '{"port":1,"even":3,"ratio":0.5,"rate":1}',
        '{"port":1,"even":10,"ratio":0.5,"rate":1}',
        '{"port":1,"even":2,"ratio":1.5,"rate":1}',
        '{"port":1,"even":2,"ratio":0.5,"rate":0}',
        '{"port":1,"even":2,"ratio":0.5,"rate":1,"step":0.25}',
        '{"port":1,"even":2,"ratio":0.5,"rate":1,"count":-1}',
        '{"port":1,"even":2,"ratio":0.5,"rate":1,"strict":1.5}',
    ],
)


class Money(BaseModel):
    amount: condecimal(max_digits=10, decimal_places=2)
    tax: condecimal(ge=Decimal("0"), le=Decimal("0.25"), decimal_places=4) = Decimal("0.19")
    currency: Literal["CHF", "EUR", "USD"]


add(
    Money,
    [
        Money(amount=Decimal("12345678.90"), currency="CHF"),
        Money(amount=Decimal("-0.05"), tax=Decimal("0.0825"), currency="EUR"),
        Money(amount=Decimal("0"), tax=Decimal("0"), currency="USD"),
    ],
    [
        '{"amount":"-","currency":"CHF"}',
        '{"amount":"1","tax":"0.12345","currency":"CHF"}',
        '{"amount":null,"currency":"CHF"}',
        '{"amount":"1","currency":"GBP"}',
        '{"amount":"1","tax":0.26,"currency":"CHF"}',
    ],
)


# Containers.


class Settings(BaseModel):
    flags: dict[str, bool]
    limits: dict[constr(pattern=r"^[a-z_]+$"), int] = {}
    nested: dict[str, dict[str, list[int]]] = {}
    by_number: dict[int, str] = {}
    defaults: dict[Literal["a", "b"], float] = {}


add(
    Settings,
    [
        Settings(flags={}),
        Settings(
            flags={"on": True, "é \"": False},
            limits={"max_size": 10, "min_size": -1},
            nested={"a": {"b": [1, 2]}, "c": {}},
            by_number={1: "one", -2: "two"},
            defaults={"b": 1.5},
        ),
    ],
    [
        '{"flags":{"on":"perhaps"}}',
        '{"flags":[]}',
        '{"flags":{},"limits":{"a":"x"}}',
        '{"flags":{},"nested":{"a":{"b":[1.5]}}}',
        '{"flags":{},"defaults":{"c":1}}',
    ],
)


class Point(NamedTuple):
    x: float
    y: float


class Track(BaseModel):
    start: Point
    pair: tuple[int, str]
    triple: tuple[int, Optional[str], bool] = (0, None, False)
    many: tuple[int, ...] = ()
    empty: tuple[()] = ()
    grid: conlist(conlist(int, min_length=3, max_length=3), min_length=1, max_length=3)


add(
    Track,
    [
        Track(start=Point(0.5, -1), pair=(1, "a"), grid=[[1, 2, 3]]),
        Track(
            start=Point(1, 2), pair=(-1, ""), triple=(1, "b", True), many=(1, 2, 3), grid=[[1, 2, 3], [4, 5, 6], [7, 8, 9]]
        ),
    ],
    [
        '{"start":[1],"pair":[1,"a"],"grid":[[1,2,3]]}',
        '{"start":[1,2],"pair":[1,"a",2],"grid":[[1,2,3]]}',
        '{"start":[1,2],"pair":["a",1],"grid":[[1,2,3]]}',
        '{"start":[1,2],"pair":[1,"a"],"empty":[1],"grid":[[1,2,3]]}',
        '{"start":[1,2],"pair":[1,"a"],"grid":[[1,2]]}',
        '{"start":[1,2],"pair":[1,"a"],"grid":[]}',
    ],
)


class Weekday(str, Enum):
    mon = "Monday"
    tue = "Tuesday"
    wed = "Wednesday"


class Level(IntEnum):
    low = 1
    high = 10


class Mixed(Enum):
    half = 0.5
    one = 1
    text = "text"


class Plan(BaseModel):
    first: Weekday
    level: Level = Level.low
    mixed: Mixed
    days: set[Weekday] = set()


add(
    Plan,
    [
        Plan(first=Weekday.mon, mixed=Mixed.half),
        Plan(first=Weekday.wed, level=Level.high, mixed=Mixed.text, days={Weekday.tue}),
        Plan(first=Weekday.wed, mixed=Mixed.one, days={Weekday.tue, Weekday.mon, Weekday.wed}),
    ],
    [
        '{"first":"monday","mixed":1}',
        '{"first":"Monday","level":2,"mixed":1}',
        '{"first":"Monday","mixed":"two"}',
        '{"first":"Monday","mixed":1,"days":["Sunday"]}',
    ],
)


class Tags(BaseModel):
    tags: set[str]
    numbers: frozenset[int] = frozenset()


add(Tags, [Tags(tags={"a"}), Tags(tags=set(), numbers={1})], ['{"tags":[1]}', '{"tags":"a"}'])


class Roles(BaseModel):
    name: str
    roles: set[Literal["reader", "writer", "owner"]] = Field(min_length=1)


add(
    Roles,
    [Roles(name="a", roles={"reader"}), Roles(name="", roles={"reader", "owner", "writer"})],
    ['{"name":"a","roles":[]}', '{"name":"a","roles":["admin"]}'],
)


# Recursion.


class TreeNode(BaseModel):
    value: int
    children: list["TreeNode"] = []


add(
    TreeNode,
    [
        TreeNode(value=1),
        TreeNode(value=1, children=[TreeNode(value=2, children=[TreeNode(value=3)]), TreeNode(value=4)]),
    ],
    ['{"value":1,"children":[{"children":[]}]}', '{"value":1,"children":{}}', '{"children":[]}'],
)


class Link(BaseModel):
    item: str
    next: Optional["Link"] = None


add(
    Link,
    [Link(item="a"), Link(item="a", next=Link(item="b", next=Link(item="c")))],
    ['{"item":"a","next":{"next":null}}', '{"item":"a","next":[]}'],
)


class Number(BaseModel):
    type: Literal["number"] = "number"
    value: float


class Negation(BaseModel):
    type: Literal["not"] = "not"
    of: "Expression"


class Operation(BaseModel):
    type: Literal["operation"] = "operation"
    operator: Literal["+", "-", "*", "/"]
    left: "Expression"
    right: "Expression"


Expression = Union[Number, Negation, Operation]


class Formula(BaseModel):
    name: str
    expression: Expression
    definitions: dict[str, "Formula"] = {}


for _model in (Negation, Operation, Formula):
    _model.model_rebuild()

_one = Number(value=1.5)
add(
    Formula,
    [
        Formula(name="f", expression=_one),
        Formula(
            name="g",
            expression=Operation(operator="/", left=Negation(of=_one), right=Operation(operator="+", left=_one, right=_one)),
            definitions={"h": Formula(name="h", expression=_one)},
        ),
    ],
    [
        '{"name":"f","expression":{"type":"operation","operator":"%","left":{"value":1},"right":{"value":1}}}',
        '{"name":"f","expression":{"type":"not"}}',
        '{"name":"f","expression":{"value":1},"definitions":{"g":1}}',
    ],
)


class Document(BaseModel):
    meta: dict[str, JsonValue]
    content: JsonValue
    payload: Json
    numbers: Json[list[int]]
    anything: Any = None


add(
    Document,
    [
        Document(meta={}, content=None, payload="{}", numbers="[1,2]"),
        Document(
            meta={"a": [1, {"b": None}], "c": "d"},
            content={"x": [True, 1.5, "\u20ac"]},
            payload='{"a":1}',
            numbers="[]",
            anything=[{"deep": [[]]}],
        ),
    ],
    ['{"meta":[],"content":null,"payload":"{}","numbers":"[1]"}', '{"meta":{},"content":null,"payload":"{}"}'],
    round_trip=True,
)


# Configurations, aliases, defaults.


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    first_name: str
    last_login_at: Optional[AwareDatetime] = None
    is_active: bool = True
    class_: str = Field(alias="class")
    weird: int = Field(default=0, alias="@odd name/~\"")


add(
    Camel,
    [
        Camel.model_validate({"firstName": "a", "class": "b"}),
        Camel.model_validate({"firstName": "a", "lastLoginAt": _at, "isActive": False, "class": "", '@odd name/~"': 3}),
    ],
    ['{"firstName":"a"}', '{"firstName":"a","class":1}', '{"firstName":"a","class":"b","isActive":"perhaps"}'],
    by_alias=True,
)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", title="A closed object", json_schema_extra={"examples": [{"a": 1}]})
    a: int
    b: list[Address] = Field(default_factory=list, title="Addresses", deprecated=True)


add(
    Strict,
    [Strict(a=1), Strict(a=2, b=[_address])],
    ['{"a":1,"c":2}', '{"b":[]}', '{"a":1,"b":[{"street":"a"}]}', '{"a":1.5}'],
)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    name: str


add(
    Open,
    [Open(name="a"), Open(name="a", x=1, y=-2)],
    ['{"x":1}', '{"name":"a","x":"one"}', '{"name":1}'],
)


class Defaults(BaseModel):
    text: str = "a"
    maybe: Optional[int] = 5
    either: int | str = "x"
    many: list[int] = Field(default_factory=lambda: [1, 2])
    shape: Circle = Circle(radius=1)
    never: None = None
    fixed: Literal["v1"] = "v1"


add(
    Defaults,
    [Defaults(), Defaults(text="", maybe=None, either=1, many=[], shape=Circle(radius=2))],
    ['{"maybe":"x"}', '{"never":0}', '{"fixed":"v2"}', '{"either":null}', '{"shape":{}}'],
)


# Generic models, typed dictionaries, data classes, models that are no objects.


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    page: PositiveInt = 1
    next: Optional[str] = None


add(
    Page[User],
    [
        Page[User](items=[]),
        Page[User](items=[User(id=1, name="a", address=_address)], page=2, next="abc"),
    ],
    ['{"items":[{}]}', '{"items":[],"page":0}', '{"page":1}'],
)


class Movie(TypedDict, total=False):
    title: str
    year: Annotated[int, Field(ge=1888)]


@dataclass
class Rating:
    stars: Annotated[int, Field(ge=1, le=5)]
    comment: str = ""


class Review(BaseModel):
    movie: Movie
    ratings: Annotated[list[Rating], Len(1, 10)]


add(
    Review,
    [
        Review(movie={}, ratings=[Rating(5)]),
        Review(movie={"title": "Metropolis", "year": 1927}, ratings=[Rating(1, "no"), Rating(3)]),
    ],
    [
        '{"movie":{"year":1887},"ratings":[{"stars":5}]}',
        '{"movie":{},"ratings":[{"stars":6}]}',
        '{"movie":{},"ratings":[]}',
        '{"movie":{},"ratings":[{"comment":"a"}]}',
    ],
)


class Matrix(RootModel[list[list[float]]]):
    pass


add(
    Matrix,
    [Matrix([]), Matrix([[1, -0.5], [], [1e300, 5e-324]])],
    ['[1]', '{}', '[["a"]]', '[[null]]'],
)


class Scores(RootModel[dict[str, Annotated[float, Field(ge=0, le=100)]]]):
    pass


add(Scores, [Scores({}), Scores({"a": 99.5, "b": 0})], ['{"a":101}', '{"a":"b"}', '[]'])


class Blob(BaseModel):
    data: bytes
    short: conbytes(min_length=1, max_length=8)
    encoded: Base64Str = ""


add(
    Blob,
    [Blob(data=b"", short=b"a"), Blob(data="é".encode(), short=b"12345678", encoded="YWJj")],
    ['{"data":1,"short":"a"}', '{"data":"a","short":""}', '{"data":"a","short":"123456789"}'],
    round_trip=True,
)


# What an agent answers with.


class Search(BaseModel):
    tool: Literal["search"]
    query: str = Field(min_length=1, description="What to look for")
    limit: conint(ge=1, le=100) = 10
    filters: Optional[dict[str, Union[str, int, bool]]] = None


class Calculate(BaseModel):
    tool: Literal["calculate"]
    expression: Expression
    precision: Optional[Annotated[int, Field(ge=0, le=15)]] = None


class Finish(BaseModel):
    model_config = ConfigDict(extra="forbid")
    tool: Literal["finish"]
    answer: str
    sources: list[Annotated[str, StringConstraints(max_length=256)]] = Field(default_factory=list, max_length=20)


class Step(BaseModel):
    thought: str = Field(max_length=2000)
    action: Union[Search, Calculate, Finish] = Field(discriminator="tool")
    confidence: confloat(ge=0.0, le=1.0)
    at: AwareDatetime


class Trace(BaseModel):
    """The steps of an agent."""

    run: UUID4
    steps: conlist(Step, min_length=1, max_length=8)
    usage: dict[Literal["input", "output"], NonNegativeInt]


_step = {"thought": "t", "confidence": 0.5, "at": _at}
add(
    Trace,
    [
        Trace(
            run=_uuid,
            steps=[
                _step | {"action": {"tool": "search", "query": "a", "filters": {"b": 1, "c": "d", "e": True}}},
                _step | {"action": {"tool": "calculate", "expression": {"type": "number", "value": 2}}},
                _step | {"action": {"tool": "finish", "answer": "42", "sources": ["x" * 256]}},
            ],
            usage={"input": 10, "output": 0},
        ),
    ],
    [
        '{"run":"%s","steps":[],"usage":{}}' % _uuid,
        '{"run":"%s","steps":[{"thought":"","action":{"tool":"finish","answer":"","x":1},"confidence":1,'
        '"at":"2024-01-01T00:00:00Z"}],"usage":{}}' % _uuid,
        '{"run":"%s","steps":[{"thought":"","action":{"tool":"search","query":""},"confidence":1,'
        '"at":"2024-01-01T00:00:00Z"}],"usage":{}}' % _uuid,
        '{"run":"%s","steps":[{"thought":"","action":{"tool":"finish","answer":""},"confidence":1.5,'
        '"at":"2024-01-01T00:00:00Z"}],"usage":{}}' % _uuid,
        '{"run":"%s","steps":[{"thought":"","action":{"tool":"finish","answer":""},"confidence":1,'
        '"at":"2024-01-01T00:00:00Z"}],"usage":{"all":1}}' % _uuid,
    ],
)


# Addresses.


class Bookmark(BaseModel):
    url: HttpUrl
    icon: Optional[HttpUrl] = None
    title: str


add(
    Bookmark,
    [
        Bookmark(url="https://example.org", title="a"),
        Bookmark(url="http://user:pw@münchen.example:8080/a%20b/;c?d=e&f=g#h", icon="https://[::1]/i.png", title="é"),
    ],
    [
        '{"url":"","title":"a"}',
        '{"url":"example.org","title":"a"}',
        '{"url":"https://example.org/%s","title":"a"}' % ("a" * 2083),
        '{"url":"https://example.org","icon":7,"title":"a"}',
    ],
)


class Sources(BaseModel):
    home: AnyUrl
    database: PostgresDsn
    pages: list[HttpUrl] = Field(default_factory=list, max_length=10)


add(
    Sources,
    [
        Sources(home="ftp://example.org/pub", database="postgres://user:pass@localhost:5432/app"),
        Sources(
            home="urn:isbn:0451450523",
            database="postgresql://a@b/c",
            pages=["https://example.org/1", "https://xn--mnchen-3ya.example/?q=" + "x" * 1000],
        ),
    ],
    [
        '{"home":"example","database":"postgres://a@b/c"}',
        '{"home":"ftp://a","database":"postgres://a@b/c","pages":["https:// a"]}',
        '{"home":"ftp://a","database":"postgres://a@b/c","pages":"https://a"}',
    ],
)


def line(model: type[BaseModel], writes: list[BaseModel], refuses: list[str], dump: dict[str, Any]) -> str:
    schema = model.model_json_schema()
    texts = [instance.model_dump_json(**dump) for instance in writes]
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    validator.check_schema(schema)
    for text in texts:
        model.model_validate_json(text)
        validator.validate(json.loads(text))
    for text in refuses:
        try:
            model.model_validate_json(text)
        except ValidationError:
            pass
        else:
            raise AssertionError(f"{model.__name__} takes {text}")
        assert not validator.is_valid(json.loads(text)), f"the schema of {model.__name__} takes {text}"
    out = {"name": model.__name__, "schema": schema, "valid": texts, "invalid": refuses}
    return json.dumps(out, ensure_ascii=False)


if __name__ == "__main__":
    assert len({model.__name__ for model, *_ in MODELS}) == len(MODELS)
    print(len(MODELS), "models", file=sys.stderr)
    for of in MODELS:
        print(line(*of))
