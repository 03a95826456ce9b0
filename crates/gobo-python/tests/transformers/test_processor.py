"""The logits processor in `generate`: greedy, sampled, beams, batches, assisted decoding, and what is refused."""

import re

import pytest
import torch
from gobo_masks import Constraint, GoboError, InvalidError, Vocabulary, default_client
from gobo_masks import transformers as adapter
from gobo_masks.transformers import ConstraintLogitsProcessor, generate
from transformers import GenerationConfig, StoppingCriteria

PATTERN = "[0-9]{2,4}-(red|blue|true){1,3}x?"
SHORT = "re?d|true"


@pytest.fixture(scope="session")
def vocabulary(tokenizer):
    return Vocabulary.of(tokenizer, eos=[tokenizer.eos_token_id])


@pytest.fixture(scope="session")
def index(vocabulary):
    return default_client().get(vocabulary, Constraint.regex(PATTERN))


def texts_of(output, width, tokenizer):
    """The finished texts of an output, and None for each that has no end."""
    texts = []
    for row in output[:, width:].tolist():
        if tokenizer.eos_token_id in row:
            texts.append(tokenizer.decode(row[: row.index(tokenizer.eos_token_id)]))
        else:
            texts.append(None)
    return texts


def batch_of(tokenizer, prompts=("a", "a longer prompt", "two words")):
    return tokenizer(list(prompts), return_tensors="pt", padding=True, return_token_type_ids=False)


def check(output, inputs, tokenizer, pattern=PATTERN, finished=None):
    texts = texts_of(output, inputs["input_ids"].shape[1], tokenizer)
    assert all(text is None or re.fullmatch(pattern, text) for text in texts), texts
    assert finished is None or sum(text is not None for text in texts) == finished, texts
    return texts


@pytest.mark.parametrize(
    "options",
    [
        {"do_sample": False},
        {"do_sample": True},
        {"do_sample": True, "temperature": 3.0, "top_k": 0, "top_p": 0.9},
        {"do_sample": True, "num_return_sequences": 3},
        {"num_beams": 4},
        {"num_beams": 4, "num_return_sequences": 4, "early_stopping": True},
        {"num_beams": 3, "do_sample": True},
        {"do_sample": False, "use_cache": False},
    ],
    ids=str,
)
def test_every_finished_text_is_valid(model, tokenizer, vocabulary, options):
    inputs = batch_of(tokenizer)
    for seed in range(4):
        torch.manual_seed(seed)
        output = generate(
            model, **inputs, constraint=Constraint.regex(PATTERN), tokenizer=vocabulary, max_new_tokens=40, **options
        )
        check(output, inputs, tokenizer, finished=len(output))


def test_a_constraint_for_each_prompt(model, tokenizer, vocabulary):
    inputs = batch_of(tokenizer)
    wanted = [Constraint.regex("[a-c]{3}"), None, Constraint.choice(["red", "blue"])]
    for options in ({"do_sample": True, "num_return_sequences": 2}, {"num_beams": 2, "num_return_sequences": 2}):
        output = generate(model, **inputs, constraint=wanted, tokenizer=vocabulary, max_new_tokens=12, **options)
        texts = texts_of(output, inputs["input_ids"].shape[1], tokenizer)
        assert all(re.fullmatch("[a-c]{3}", text) for text in texts[:2])
        assert all(text in ("red", "blue") for text in texts[4:])


@pytest.mark.parametrize("options", [{}, {"do_sample": True}, {"early_stopping": True}, {"length_penalty": 3.0}], ids=str)
def test_fewer_texts_than_beams(model, tokenizer, vocabulary, options):
    """A beam that has ended may be carried on: under stop ids alone, so that its text stays what it was."""
    inputs = batch_of(tokenizer, ["a", "b"])
    for texts in (["red"], ["red", "rd"], ["red", "blue", "true"]):
        torch.manual_seed(0)
        output = generate(
            model, **inputs, constraint=Constraint.choice(texts), tokenizer=vocabulary,
            max_new_tokens=12, num_beams=4, num_return_sequences=4, **options,
        )  # fmt: skip
        found = check(output, inputs, tokenizer, "|".join(texts))
        assert found[0] in texts and found[4] in texts
        for row in output[:, inputs["input_ids"].shape[1] :].tolist():
            if tokenizer.eos_token_id in row:
                after = row[row.index(tokenizer.eos_token_id) :]
                assert set(after) <= {tokenizer.eos_token_id, tokenizer.pad_token_id}, "nothing follows a text"


def test_ended_rows_allow_stop_ids_under_beams_and_are_left_alone_else(index, tokenizer):
    text = tokenizer.encode("12-red") + [tokenizer.eos_token_id]
    prompt, scores = torch.ones(2, 3, dtype=torch.int64), torch.zeros(2, 320)
    for beams, allowed in ((1, set(range(320))), (2, {tokenizer.eos_token_id})):
        processor = ConstraintLogitsProcessor(index, num_beams=beams)
        ids = prompt
        masked = processor(ids, scores)
        for id in text:
            ids = torch.cat([ids, torch.full((2, 1), id)], dim=1)
            masked = processor(ids, scores)
        assert {int(id) for id in masked[1].isfinite().nonzero()} == allowed


def test_scores_without_a_processor_are_masked_like_a_walk(model, tokenizer, index):
    """Each step's mask is that of a matcher that took the row's tokens."""
    inputs = batch_of(tokenizer)
    width = inputs["input_ids"].shape[1]
    processor = ConstraintLogitsProcessor(index)
    output = model.generate(
        **inputs, logits_processor=[processor], max_new_tokens=30, do_sample=True, return_dict_in_generate=True, output_scores=True,
        output_logits=True, top_k=0,
    )  # fmt: skip
    for row, ids in enumerate(output.sequences[:, width:].tolist()):
        matcher = index.matcher(width=320)
        for step, id in enumerate(ids):
            raw, masked = output.logits[step][row], output.scores[step][row]
            if matcher.is_terminated():
                assert torch.equal(raw, masked), "a finished row is left alone"
                continue
            allowed = {id for id in range(320) if matcher.validate_tokens([id])}
            assert set(masked.isfinite().nonzero().flatten().tolist()) == allowed
            assert torch.equal(masked[masked.isfinite()], raw[masked.isfinite()])
            assert matcher.accept_token(id)


def test_assisted_decoding(make_model, tokenizer, index):
    model, assistant = make_model(1), make_model(2)
    inputs = batch_of(tokenizer, ["ab"])
    for options in ({"do_sample": False}, {"do_sample": True}):
        torch.manual_seed(0)
        processor = ConstraintLogitsProcessor(index)
        output = model.generate(
            **inputs, logits_processor=[processor], assistant_model=assistant, max_new_tokens=30, **options
        )
        check(output, inputs, tokenizer, finished=1)


def test_assisted_by_a_model_with_other_logits(make_model, tokenizer, index):
    inputs = batch_of(tokenizer, ["ab"])
    model, assistant = make_model(1), make_model(2, vocab_size=384)
    assistant.generation_config.num_assistant_tokens = 4
    processor = ConstraintLogitsProcessor(index)
    ids = inputs["input_ids"]
    wide, narrow = torch.zeros(1, 384), torch.zeros(1, 320)
    assert torch.equal(processor(ids, narrow), processor(ids, wide)[:, :320])
    assert processor(ids, wide)[:, 320:].isneginf().all()


def test_prompt_lookup(model, tokenizer, index):
    inputs = batch_of(tokenizer, ["12-red 12-red 12-blue"])
    processor = ConstraintLogitsProcessor(index)
    output = model.generate(**inputs, logits_processor=[processor], prompt_lookup_num_tokens=4, max_new_tokens=30)
    check(output, inputs, tokenizer, finished=1)


def test_greedy_and_assisted_agree(make_model, tokenizer, index):
    inputs = batch_of(tokenizer, ["xyz"])
    model, assistant = make_model(3), make_model(4)
    plain = model.generate(**inputs, logits_processor=[ConstraintLogitsProcessor(index)], do_sample=False, max_new_tokens=30)
    helped = model.generate(
        **inputs, logits_processor=[ConstraintLogitsProcessor(index)], assistant_model=assistant, do_sample=False, max_new_tokens=30
    )
    assert plain.tolist() == helped.tolist()


class After(StoppingCriteria):
    """Stops each row when it has a number of tokens."""

    def __init__(self, length):
        self.length = length

    def __call__(self, input_ids, scores, **kwargs):
        stops = torch.zeros(input_ids.shape[0], dtype=torch.bool)
        stops[0] = input_ids.shape[1] >= self.length
        return stops


def test_a_row_that_is_stopped_elsewhere_holds_up_no_other(model, tokenizer, index):
    inputs = batch_of(tokenizer)
    width = inputs["input_ids"].shape[1]
    output = model.generate(
        **inputs, logits_processor=[ConstraintLogitsProcessor(index)], stopping_criteria=[After(width + 2)], do_sample=True,
        max_new_tokens=40,
    )  # fmt: skip
    assert output[0, width + 2 :].eq(tokenizer.pad_token_id).all()
    check(output[1:], inputs, tokenizer, finished=2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_scores_of_any_float_type(index, dtype):
    scores = torch.randn(2, 320).to(dtype)
    masked = ConstraintLogitsProcessor(index)(torch.ones(2, 5, dtype=torch.int64), scores)
    assert masked.dtype == dtype
    allowed = masked.isfinite()
    assert 0 < allowed[0].sum() < 320 and torch.equal(masked[allowed], scores[allowed])


def test_scores_of_another_device():
    """No device but the CPU is needed: the `meta` device has no memory, and the masks are moved to where the scores are."""
    words = torch.zeros(2, 10, dtype=torch.int32)
    assert adapter._bits(words.to("meta")).device.type == "meta"


def test_a_default_device_without_memory_changes_nothing(index):
    """As in programs that call `torch.set_default_device("cuda")`: the words of masks are the CPU's."""
    ids, scores = torch.ones(2, 5, dtype=torch.int64), torch.randn(2, 320)
    expected = ConstraintLogitsProcessor(index)(ids, scores)
    with torch.device("meta"):
        found = ConstraintLogitsProcessor(index)(ids, scores)
    assert torch.equal(found, expected)


def test_what_is_remembered_does_not_grow_with_the_texts(vocabulary, tokenizer):
    index = default_client().get(vocabulary, Constraint.regex("[0-9]{0,9000}"))
    digit = tokenizer.encode("7")[0]
    processor = ConstraintLogitsProcessor(index)
    ids, scores = torch.full((1, 600), digit), torch.zeros(1, 320)
    for length in range(600):
        processor(ids[:, : length + 1], scores)
    keys = [part for key in processor._states for part in key if isinstance(part, bytes)]
    assert len(keys) == 600 and max(map(len, keys)) == 16


def test_few_states_are_kept_and_the_texts_are_the_same(model, tokenizer, index):
    inputs = batch_of(tokenizer, [str(number) for number in range(8)])
    outputs = []
    for max_states in (1024, 0):
        torch.manual_seed(5)
        processor = ConstraintLogitsProcessor(index, max_states=max_states)
        outputs.append(model.generate(**inputs, logits_processor=[processor], do_sample=True, max_new_tokens=30))
        assert len(processor._states) <= max(max_states, 32)
    assert outputs[0].tolist() == outputs[1].tolist()


# -- what is refused --------------------------------------------------------------------------------------------------------


def test_a_processor_serves_one_call(model, tokenizer, index):
    processor = ConstraintLogitsProcessor(index)
    for prompt in ("ab", "cd"):
        inputs = batch_of(tokenizer, [prompt])
        check(model.generate(**inputs, logits_processor=[processor], max_new_tokens=30), inputs, tokenizer, finished=1)
    for prompt in ("abc", "a", "a long prompt"):
        with pytest.raises(InvalidError, match="one call"):
            model.generate(**batch_of(tokenizer, [prompt]), logits_processor=[processor], max_new_tokens=30)
    processor.reset()
    inputs = batch_of(tokenizer, ["a long prompt"])
    check(model.generate(**inputs, logits_processor=[processor], max_new_tokens=30), inputs, tokenizer, finished=1)


def test_continuous_batching_is_refused(index):
    from transformers.generation import LogitsProcessorList
    from transformers.generation.continuous_batching import cb_logits_processors

    with pytest.raises(InvalidError, match="continuous batching"):
        cb_logits_processors.ContinuousBatchingLogitsProcessorList(LogitsProcessorList([ConstraintLogitsProcessor(index)]))


def test_logits_narrower_than_the_vocabulary(index):
    with pytest.raises(GoboError):
        ConstraintLogitsProcessor(index)(torch.ones(1, 3, dtype=torch.int64), torch.zeros(1, 200))


def test_rows_that_the_indices_cannot_share(index):
    with pytest.raises(InvalidError, match="3 rows"):
        ConstraintLogitsProcessor([index, index])(torch.ones(3, 3, dtype=torch.int64), torch.zeros(3, 320))
    with pytest.raises(InvalidError, match="empty"):
        ConstraintLogitsProcessor([])


def test_generate_must_stop_where_the_text_ends(model, tokenizer, index):
    inputs = batch_of(tokenizer, ["a"])
    with pytest.raises(InvalidError, match="does not stop at"):
        model.generate(
            **inputs, logits_processor=[ConstraintLogitsProcessor(index)], eos_token_id=7, max_new_tokens=60, do_sample=True
        )


def test_a_constraint_needs_a_tokenizer(model, tokenizer):
    with pytest.raises(InvalidError, match="tokenizer"):
        generate(model, **batch_of(tokenizer), constraint=Constraint.regex(SHORT))


def test_a_refused_constraint_fails_by_name(model, tokenizer, vocabulary):
    with pytest.raises(GoboError, match="backreference"):
        generate(model, **batch_of(tokenizer), constraint=Constraint.regex(r"(a)\1"), tokenizer=vocabulary)


def test_a_generation_config_without_stop_ids_has_those_of_the_model(model, tokenizer, monkeypatch):
    """`generate` takes what a configuration leaves open from the model's; so the texts end where it stops."""
    end = tokenizer.convert_tokens_to_ids("</think>")
    monkeypatch.setattr(model.generation_config, "eos_token_id", end)
    inputs = batch_of(tokenizer)
    config = GenerationConfig(max_new_tokens=12, do_sample=False)
    output = generate(model, **inputs, constraint=Constraint.regex(SHORT), tokenizer=tokenizer, generation_config=config)
    for row in output[:, inputs["input_ids"].shape[1] :].tolist():
        assert re.fullmatch(SHORT, tokenizer.decode(row[: row.index(end)]))


def test_stop_ids_of_the_generation_config(model, tokenizer):
    """Other ids than the tokenizer's end texts if `generate` stops at them."""
    inputs = batch_of(tokenizer)
    end = tokenizer.convert_tokens_to_ids("</think>")
    config = GenerationConfig(eos_token_id=[end], pad_token_id=tokenizer.pad_token_id, max_new_tokens=12)
    output = generate(model, **inputs, constraint=Constraint.regex(SHORT), tokenizer=tokenizer, generation_config=config)
    for row in output[:, inputs["input_ids"].shape[1] :].tolist():
        assert re.fullmatch(SHORT, tokenizer.decode(row[: row.index(end)]))
