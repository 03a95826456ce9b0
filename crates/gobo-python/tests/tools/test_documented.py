"""Each format that XGrammar documents (*Structural Tag Usage*, and *Advanced Topics*), with texts and tokens that it takes and refuses, under gobo and
under XGrammar. Where the two differ, the reason is one of `docs/semantics.md`."""

import json
import pathlib

import gobo_masks
import pytest
import xgrammar

DOCUMENT = pathlib.Path(__file__).parents[4] / "docs" / "semantics.md"

THINK, END_THINK = {"token": "<think>"}, {"token": "</think>"}
CALL, END_CALL = {"token": "<tool_call>"}, {"token": "</tool_call>"}

# Why the two differ, as the document says it.
FREE = "**Free text** holds no special tokens."
PROPERTIES = "may be missing or repeated under `any_order`"


def text(value):
    return {"type": "const_string", "value": value}


def schema(of, **more):
    return {"type": "json_schema", "json_schema": of, **more}


def tag(begin, content, end):
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def token(name):
    return {"type": "token", "token": name}


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TIMEZONE = {"type": "object", "properties": {"timezone": {"type": "string"}}, "required": ["timezone"]}
PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}
WEATHER = tag("<function=get_weather>", schema(CITY), "</function>")
TIME = tag("<function=get_time>", schema(TIMEZONE), "</function>")
ROME = '<function=get_weather>{"city": "Rome"}</function>'
UTC = '<function=get_time>{"timezone": "UTC"}</function>'


def triggered(**more):
    return {"type": "triggered_tags", "triggers": ["<function="], "tags": [WEATHER, TIME], **more}


def separated(**more):
    item = tag("<item>", schema({"type": "object", "properties": {"a": {"type": "integer"}}}), "</item>")
    return {"type": "tags_with_separator", "tags": [item], "separator": ",", **more}


def dispatch(**more):
    rules = [["<function=func1>", schema(CITY)], ["<function=func2>", schema(TIMEZONE)]]
    return {"type": "dispatch", "rules": rules, **more}


def token_triggered(**more):
    of = tag(token("<tool_call>"), schema(CITY), token("</tool_call>"))
    return {"type": "token_triggered_tags", "trigger_tokens": ["<tool_call>"], "tags": [of], **more}


# Of each format: texts and tokens, whether gobo takes them, and why XGrammar says something else, if it does.
CASES = {
    "tag": (
        tag("<think>", {"type": "any_text"}, "</think>"),
        [
            (["<think>a b</think>"], True),
            ([THINK, "a b", END_THINK], True),
            (["<think>a b", END_THINK], True),
            (["<think></think>"], True),
            (["<think>a"], False),
            (["a</think>"], False),
        ],
    ),
    "tag with ends": (
        tag("<r>", schema(CITY), ["</r>", "</a>"]),
        [
            (['<r>{"city": "Rome"}</r>'], True),
            (['<r>{"city": "Rome"}</a>'], True),
            (['<r>{"city": "Rome"}</b>'], False),
        ],
    ),
    "const_string": (text("Let's think."), [(["Let's think."], True), (["Let's think"], False), ([""], False)]),
    "json_schema": (
        schema(PERSON),
        [
            (['{"name": "Ann", "age": 3}'], True),
            (['{"age": 3, "name": "Ann"}'], False),
            (['{"name": "Ann"}'], False),
            (['{"name": "Ann", "age": 3, "more": 1}'], False),
            (['{"name": "Ann", "age": 3}{}'], False),
        ],
    ),
    "any_order": (
        schema(PERSON, any_order=True),
        [
            (['{"age": 3, "name": "Ann"}'], True),
            (['{"name": "Ann", "age": 3}'], True),
            (['{"name": "Ann"}'], False),
            (['{"name": "Ann", "name": "Bob"}'], False, PROPERTIES),
            (['{"age": 3, "age": 4}'], False, PROPERTIES),
        ],
    ),
    "qwen_xml": (
        schema({"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]}, style="qwen_xml"),
        [
            (["<parameter=location>Rome</parameter>"], True),
            (["<parameter=place>Rome</parameter>"], False),
            ([""], False),
        ],
    ),
    "minimax_xml": (
        schema(PERSON, style="minimax_xml"),
        [(['<parameter name="name">Ann</parameter><parameter name="age">3</parameter>'], True), (["Ann"], False)],
    ),
    "glm_xml": (
        schema(PERSON, style="glm_xml"),
        [
            (["<arg_key>name</arg_key><arg_value>Ann</arg_value><arg_key>age</arg_key><arg_value>3</arg_value>"], True),
            (["<arg_key>name</arg_key><arg_value>Ann</arg_value><arg_key>age</arg_key><arg_value>three</arg_value>"], False),
        ],
    ),
    "cohere_xml": (
        schema(PERSON, style="cohere_xml"),
        [
            (['<cofl:value name="name" type="raw">Ann</cofl:value><cofl:value name="age" type="json">3</cofl:value>'], True),
            (['<cofl:value name="name" type="raw">Ann</cofl:value>'], False),
        ],
    ),
    "kimi_k3_xml": (
        schema(PERSON, style="kimi_k3_xml"),
        [
            (
                [
                    '<|open|>argument key="name" type="string"<|sep|>Ann<|close|>argument<|sep|>'
                    '<|open|>argument key="age" type="number"<|sep|>3<|close|>argument<|sep|>'
                ],
                True,
            ),
            (['<|open|>argument key="name" type="number"<|sep|>3<|close|>argument<|sep|>'], False),
        ],
    ),
    "grammar": ({"type": "grammar", "grammar": 'root ::= ("yes" | "no")'}, [(["yes"], True), (["no"], True), (["yesno"], False)]),
    "regex": ({"type": "regex", "pattern": "[A-Z]{3}-[0-9]{4}"}, [(["ABC-1234"], True), (["ABC-123"], False), (["xABC-1234"], False)]),
    "any_text": (
        {"type": "any_text", "excludes": ["<function="]},
        [(["some text"], True), ([""], True), (["a <function=f"], False), (["a <func"], True), (["a", THINK, "b"], False, FREE)],
    ),
    "any_text with max_chars": (
        tag("<a>", {"type": "any_text", "max_chars": 3}, "</a>"),
        [(["<a>äöü</a>"], True), (["<a></a>"], True), (["<a>abcd</a>"], False)],
    ),
    "sequence": (
        {"type": "sequence", "elements": [text("Answer: "), schema(CITY)]},
        [(['Answer: {"city": "Rome"}'], True), (['{"city": "Rome"}'], False)],
    ),
    "or": ({"type": "or", "elements": [text("yes"), text("no")]}, [(["yes"], True), (["no"], True), (["maybe"], False)]),
    "optional": (
        {"type": "sequence", "elements": [{"type": "optional", "content": text("a")}, text("b")]},
        [(["ab"], True), (["b"], True), (["aab"], False)],
    ),
    "plus": ({"type": "plus", "content": text("item")}, [(["item"], True), (["itemitem"], True), ([""], False)]),
    "star": ({"type": "star", "content": text("x")}, [([""], True), (["xxx"], True), (["xy"], False)]),
    "repeat": (
        {"type": "repeat", "min": 1, "max": 3, "content": text("item")},
        [(["item"], True), (["itemitemitem"], True), ([""], False), (["item" * 4], False)],
    ),
    "repeat without end": (
        {"type": "repeat", "min": 2, "max": -1, "content": text("x")},
        [(["x"], False), (["xx"], True), (["xxxxx"], True)],
    ),
    "triggered_tags": (
        triggered(),
        [
            ([f"I call a tool. {ROME}"], True),
            ([f"{ROME} and {UTC} done"], True),
            (["no call"], True),
            (["<function=other>{}</function>"], False),
            (['<function=get_weather>{"timezone": "UTC"}</function>'], False),
        ],
    ),
    "triggered_tags, one and no more": (
        triggered(at_least_one=True, stop_after_first=True),
        [([ROME], True), ([f"text {ROME}"], False), ([ROME + UTC], False), (["text"], False)],
    ),
    "triggered_tags, at least one": (triggered(at_least_one=True), [([ROME], True), ([f"{ROME}{UTC}"], True), (["text"], False)]),
    "triggered_tags, at most one": (
        triggered(stop_after_first=True),
        [(["text"], True), ([f"text {ROME}"], True), ([f"text {ROME}{UTC}"], False), ([f"text {ROME} more"], False)],
    ),
    "triggered_tags with excludes": (triggered(excludes=["stop"]), [(["text"], True), (["text stop"], False), ([ROME], True)]),
    "structures and triggers": (
        {
            "structures": [{"begin": "<function=f>", "schema": CITY, "end": "</function>"}],
            "triggers": ["<function="],
        },
        [(['a <function=f>{"city": "Rome"}</function> b'], True), (["text"], True), (["<function=g>"], False)],
    ),
    "tags_with_separator": (
        separated(),
        [
            ([""], True),
            (['<item>{"a": 1}</item>'], True),
            (['<item>{"a": 1}</item>,<item>{}</item>'], True),
            (['<item>{"a": 1}</item><item>{}</item>'], False),
            (['<item>{"a": 1}</item>,'], False),
        ],
    ),
    "tags_with_separator, at least one": (separated(at_least_one=True), [([""], False), (["<item>{}</item>"], True)]),
    "tags_with_separator, at most one": (
        separated(stop_after_first=True),
        [([""], True), (["<item>{}</item>"], True), (["<item>{}</item>,<item>{}</item>"], False)],
    ),
    "dispatch": (
        dispatch(excludes=["</end>"]),
        [
            (['a <function=func1>{"city": "Rome"} b'], True),
            (['<function=func1>{"city": "Rome"}<function=func2>{"timezone": "UTC"}'], True),
            (["text"], True),
            (["text</end>"], False),
            (['<function=func1>{"timezone": "UTC"}'], False),
        ],
    ),
    "dispatch once": (
        dispatch(loop=False),
        [(["text"], True), (['a <function=func1>{"city": "Rome"}'], True), (['<function=func1>{"city": "Rome"} b'], False)],
    ),
    "dispatch in a tag": (
        tag("<response>", dispatch(excludes=["</response>"]), "</response>"),
        [(['<response>a <function=func1>{"city": "Rome"} b</response>'], True), (["<response>a</response>b"], False)],
    ),
    "token": (token("<tool_call>"), [([CALL], True), ([THINK], False), (["<tool_call>"], False)]),
    "exclude_token": (
        {"type": "exclude_token", "exclude_tokens": ["<think>"]},
        [([CALL], True), ([THINK], False), ([""], False), ([CALL, CALL], False)],
    ),
    "any_tokens": (
        {"type": "any_tokens", "exclude_tokens": ["<think>"]},
        [([""], True), ([CALL, "text", END_CALL], True), (["text", THINK], False)],
    ),
    "any_tokens with max_tokens": (
        {"type": "any_tokens", "max_tokens": 2},
        [([CALL, CALL], True), ([CALL, CALL, CALL], False), ([""], True)],
    ),
    "token_triggered_tags": (
        token_triggered(exclude_tokens=["<think>"]),
        [
            (["text", CALL, '{"city": "Rome"}', END_CALL], True),
            (["text"], True),
            (["text", THINK], False),
            ([CALL, "{}", END_CALL], False),
        ],
    ),
    "token_triggered_tags, at least one": (
        token_triggered(at_least_one=True),
        [([CALL, '{"city": "Rome"}', END_CALL], True), (["text"], False)],
    ),
    "token_dispatch": (
        {"type": "token_dispatch", "rules": [["<tool_call>", text("x")]], "exclude_tokens": ["<think>"]},
        [(["a", CALL, "x", "b"], True), (["a", CALL, "y"], False), (["a", THINK], False)],
    ),
    "reasoning, then calls": (
        {"type": "sequence", "elements": [tag("<think>", {"type": "any_text"}, "</think>"), triggered()]},
        [([f"<think>hm</think>so {ROME}"], True), ([ROME], False)],
    ),
    "token delimiters": (
        {
            "type": "sequence",
            "elements": [
                tag(token("<think>"), {"type": "any_tokens"}, token("</think>")),
                token_triggered(at_least_one=True),
            ],
        },
        [
            ([THINK, "hm", END_THINK, CALL, '{"city": "Rome"}', END_CALL], True),
            ([THINK, "hm", END_THINK, "text"], False),
            ([THINK, "hm"], False),
        ],
    ),
}


@pytest.fixture(scope="module")
def compiler(tokenizer):
    return xgrammar.GrammarCompiler(xgrammar.TokenizerInfo.from_huggingface(tokenizer))


def ids_of(tokenizer, pieces):
    """Texts as ordinary tokens write them, and tokens."""
    spelled, found = tokenizer._tokenizer, []
    spelled.encode_special_tokens = True
    try:
        for piece in pieces:
            if isinstance(piece, dict):
                found.append(tokenizer.convert_tokens_to_ids(piece["token"]))
            else:
                found += spelled.encode(piece, add_special_tokens=False).ids
    finally:
        spelled.encode_special_tokens = False
    return found


def theirs(compiled, ids, eos):
    """Whether each token is in the mask before it: budgets of tokens are kept there alone."""
    matcher = xgrammar.GrammarMatcher(compiled)
    mask = xgrammar.allocate_token_bitmask(1, compiled.tokenizer_info.vocab_size)
    for token in [*ids, eos]:
        is_masked = matcher.fill_next_token_bitmask(mask)
        if is_masked and not int(mask[0, token // 32]) >> token % 32 & 1:
            return False
        if not matcher.accept_token(token):
            return False
    return True


def in_older_form(compiler, of):
    items = [
        xgrammar.StructuralTagItem(begin=one["begin"], schema=json.dumps(one["schema"]), end=one["end"]) for one in of["structures"]
    ]
    return compiler.compile_structural_tag(items, of["triggers"])


@pytest.mark.parametrize("name", CASES)
def test_a_documented_format(name, tokenizer, vocabulary, compiler):
    of_format, cases = CASES[name]
    is_older = "structures" in of_format
    document = json.dumps({"type": "structural_tag"} | (of_format if is_older else {"format": of_format}))
    compiled = in_older_form(compiler, of_format) if is_older else compiler.compile_structural_tag(document)
    index = gobo_masks.default_client().get(vocabulary, gobo_masks.Constraint.structural_tag(document, whitespace="lines"))
    for pieces, expected, *why in cases:
        ids = ids_of(tokenizer, pieces)
        matcher = index.matcher()
        assert (matcher.accept_tokens(ids) and matcher.is_completed()) is expected, pieces
        assert theirs(compiled, ids, tokenizer.eos_token_id) is (expected if not why else not expected), (pieces, why)


def test_every_reason_is_documented():
    reasons = {why for _, cases in CASES.values() for _, _, *rest in cases for why in rest}
    document = " ".join(DOCUMENT.read_text().split())
    assert reasons and [reason for reason in reasons if reason not in document] == []
