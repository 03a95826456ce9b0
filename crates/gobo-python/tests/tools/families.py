"""How families of models write calls of tools, and what stands around them."""

import json


def as_json(value):
    return json.dumps(value, ensure_ascii=False)


def bare(value):
    return value if isinstance(value, str) else as_json(value)


def _qwen(arguments):
    return "\n".join(f"<parameter={name}>\n{bare(value)}\n</parameter>" for name, value in arguments.items())


def _deepseek(arguments):
    members = (
        f'<｜DSML｜parameter name="{name}" string="{as_json(isinstance(value, str))}">{bare(value)}</｜DSML｜parameter>\n'
        for name, value in arguments.items()
    )
    return "".join(members)


def _glm(arguments):
    return "".join(
        f"\n<arg_key>{name}</arg_key>\n<arg_value>{bare(value)}</arg_value>" for name, value in arguments.items()
    )


def _minimax(arguments):
    return "".join(f'<parameter name="{name}">{bare(value)}</parameter>\n' for name, value in arguments.items())


_WORDS = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    dict: "object",
    list: "array",
}


def _kimi(arguments):
    return "".join(
        f'<|open|>argument key="{name}" type="{_WORDS[type(value)]}"<|sep|>{bare(value)}<|close|>argument<|sep|>'
        for name, value in arguments.items()
    )


def _cohere(value):
    if isinstance(value, str):
        return f' type="raw">{value}</cofl:value>'
    if isinstance(value, dict):
        return f' type="dict">{_cohere_members(value)}</cofl:value>'
    if isinstance(value, list):
        return ' type="list">' + "".join("<cofl:value" + _cohere(item) for item in value) + "</cofl:value>"
    return f' type="json">{as_json(value)}</cofl:value>'


def _cohere_members(arguments):
    return "".join(f'<cofl:value name="{name}"{_cohere(value)}' for name, value in arguments.items())


class Family:
    """`call` writes one call; `around` stands before all calls and behind them, `asked` in its place where calls are asked for; `between` parts two
    of them, `thought` stands behind the reasoning, if the family has one, and `end` at the end."""

    def __init__(self, name, call, *, around=("", ""), asked=None, between="", thought="</think>", end=""):
        self.name, self.call, self.around, self.between = name, call, around, between
        self.asked = around if asked is None else asked
        self.thought, self.end = thought, end

    def transcript(self, choice, reasoning, calls):
        """A whole answer."""
        thought = "It is 5 < 7, so:" + self.thought if reasoning and self.thought else self.no_thought
        if choice == "none":
            return thought + self.no_call
        before, behind = self.around if choice == "auto" else self.asked
        free = "Let me see.\n" if choice == "auto" else self.forced
        return thought + free + before + self.between.join(self.call(*call) for call in calls) + behind + self.end

    no_thought = ""
    no_call = "Nothing to do."
    forced = ""


class KimiK3(Family):
    def transcript(self, choice, reasoning, calls):
        thought = "It is 5 < 7.<|close|>think<|sep|><|open|>response<|sep|>" if reasoning else ""
        response = thought + "Let me see.<|close|>response<|sep|>"
        tools = self.around[0] + "".join(self.call(*call) for call in calls) + self.around[1]
        return response + (tools if calls else "") + "<|close|>message<|sep|>"


class MiniMax(Family):
    no_thought = "\n</think>\n\n\n\n"


class Harmony(Family):
    no_call = "<|channel|>final<|message|>Nothing to do.<|return|>"

    def transcript(self, choice, reasoning, calls):
        thought = "<|channel|>analysis<|message|>It is 5 < 7.<|end|><|start|>assistant" if reasoning else ""
        if choice == "none":
            return thought + self.no_call
        return thought + self.between.join(self.call(*call) for call in calls)


FAMILIES = [
    Family(
        "llama", lambda name, arguments: f'{{"name": "{name}", "parameters": {as_json(arguments)}}}', thought=""
    ),
    Family(
        "qwen_3",
        lambda name, arguments: f'<tool_call>\n{{"name": "{name}", "arguments": {as_json(arguments)}}}\n</tool_call>',
        between="\n",
        thought="</think>\n\n",
    ),
    Family(
        "qwen_3_coder",
        lambda name, arguments: f"<tool_call>\n<function={name}>\n{_qwen(arguments)}\n</function>\n</tool_call>",
        between="\n",
        thought="</think>\n\n",
    ),
    Family(
        "deepseek_v3_1",
        lambda name, arguments: f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{as_json(arguments)}<｜tool▁call▁end｜>",
        around=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    ),
    Family(
        "deepseek_v3_2",
        lambda name, arguments: f'<｜DSML｜invoke name="{name}">\n{_deepseek(arguments)}</｜DSML｜invoke>\n',
        around=("<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>"),
        asked=("\n\n<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>"),
    ),
    Family("glm_4_7", lambda name, arguments: f"<tool_call>{name}{_glm(arguments)}\n</tool_call>"),
    Family(
        "kimi",
        lambda name, arguments: (
            f"<|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{as_json(arguments)}<|tool_call_end|>"
        ),
        around=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    ),
    KimiK3(
        "kimi_k3",
        lambda name, arguments: (
            f'<|open|>call tool="{name}" index="0"<|sep|>{_kimi(arguments)}<|close|>call<|sep|>'
        ),
        around=("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
    ),
    MiniMax(
        "minimax",
        lambda name, arguments: f'<invoke name="{name}">\n{_minimax(arguments)}</invoke>\n',
        around=("<minimax:tool_call>\n", "</minimax:tool_call>"),
        asked=("\n<minimax:tool_call>\n", "</minimax:tool_call>"),
        thought="</think>\n\n",
    ),
    Family(
        "cohere",
        lambda name, arguments: f'<cofl:tool_call id="0" name="{name}">{_cohere_members(arguments)}</cofl:tool_call>',
        around=("<cofl:tool_calls>", "</cofl:tool_calls>"),
        thought="<|END_THINKING|>",
    ),
    Harmony(
        "harmony",
        lambda name, arguments: (
            f"<|channel|>commentary to=functions.{name}<|constrain|>json<|message|>{as_json(arguments)}<|call|>"
        ),
        between="<|start|>assistant",
    ),
]
