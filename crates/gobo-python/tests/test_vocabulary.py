"""Vocabularies: of names, files, objects and tables; published once, and mapped by the next process."""

import json
import os
import pathlib
import subprocess
import sys
import threading

import pytest
from conftest import EOS, STOP, TOKENS

import gobo_masks as gobo

JSON = {
    "pre_tokenizer": {"type": "ByteLevel"},
    "added_tokens": [{"id": 3, "content": "</s>", "special": True}],
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "\u0120the": 2}, "merges": []},
}
NAMES = ["bert-base-uncased", "falcon", "gemma", "gpt2", "llama-3.1", "llama2", "mistral-7b-v0.3", "mistral-tekken", "o200k_base", "phi-2", "phi-3", "qwen2.5", "roberta-base", "t5-small"]


class Fast:
    """As `tokenizers.Tokenizer`."""

    def __init__(self, content=JSON):
        self.content = content

    def to_str(self):
        return json.dumps(self.content)

    def get_vocab_size(self):
        return 4


class Wrapped:
    """As the tokenizers of transformers and of engines."""

    def __init__(self, inner, eos, length, name="backend_tokenizer"):
        setattr(self, name, inner)
        self.eos_token_id, self.length = eos, length

    def __len__(self):
        return self.length


class Encoding:
    """As `tiktoken.Encoding`."""

    max_token_value = 5
    special_tokens_set = {"<eos>"}
    table = {0: b"a", 1: b"\xff", 2: b"ab", 5: b"<eos>"}

    def decode_single_token_bytes(self, id):
        return self.table[id]

    def encode_single_token(self, name):
        return 5


def test_a_table(client, vocabulary):
    assert len(vocabulary) == len(TOKENS) and vocabulary.width == 300 and vocabulary.eos == (EOS,) and vocabulary.kind == "table"
    assert [vocabulary.token_bytes(id) for id in (0, EOS - 1, EOS, 299)] == [b"\0", TOKENS[EOS - 1], b"<eos>", b""]
    assert vocabulary.is_special(STOP) and not vocabulary.is_special(0)
    assert vocabulary.name.startswith("of-") and len(vocabulary.name) == 35
    again = gobo.Vocabulary.from_tokens(iter(TOKENS), {EOS, STOP}, client=client)
    assert (again.digest, again.name, again.eos, again.width) == (vocabulary.digest, vocabulary.name, (), len(TOKENS))
    assert gobo.Vocabulary.from_tokens(TOKENS, client=client).digest != vocabulary.digest
    assert gobo.Vocabulary.of(vocabulary.name, client=client).digest == vocabulary.digest
    holes = gobo.Vocabulary.from_tokens([b"a", None, b"", b"b"], client=client)
    assert len(holes) == 4 and holes.token_bytes(1) == b""


@pytest.mark.parametrize("place", [lambda path: path, lambda path: path.parent], ids=["file", "folder"])
def test_a_file_that_is_replaced_while_it_is_read_gets_no_wrong_name(tmp_path, place):
    """A name stands for the bytes that it is made of, for every process that comes later."""
    contents = [JSON, {**JSON, "model": {**JSON["model"], "vocab": {"b": 0, "a": 1, "\u0120the": 2}}}]
    texts = [json.dumps(content) for content in contents]
    steady = [tmp_path / str(number) / "tokenizer.json" for number in range(2)]
    for path, text in zip(steady, texts):
        path.parent.mkdir()
        path.write_text(text)
    expected = [gobo.Vocabulary.of(place(path), client=gobo.Client(tmp_path / "expected")).digest for path in steady]
    assert expected[0] != expected[1]
    moving, stop = tmp_path / "moving" / "tokenizer.json", threading.Event()
    moving.parent.mkdir()
    moving.write_text(texts[0])

    def replace():
        turn = 0
        while not stop.is_set():
            turn += 1
            (moving.parent / "next").write_text(texts[turn % 2])
            os.replace(moving.parent / "next", moving)

    replacing = threading.Thread(target=replace)
    replacing.start()
    try:
        for turn in range(60):
            store = tmp_path / "stores" / str(turn)
            assert gobo.Vocabulary.of(place(moving), client=gobo.Client(store)).digest in expected
            assert [gobo.Vocabulary.of(place(path), client=gobo.Client(store)).digest for path in steady] == expected
    finally:
        stop.set()
        replacing.join()


def test_bindings(vocabulary):
    bound = vocabulary.bind(eos=[STOP, EOS, EOS], width=1000)
    assert (bound.eos, bound.width, bound.digest) == ((EOS, STOP), 1000, vocabulary.digest)
    for bad in ({"eos": [300]}, {"eos": [-1]}, {"width": 5}, {"width": -1}, {"width": 1 << 40}, {"eos": [1 << 90]}):
        with pytest.raises(gobo.InvalidError):
            vocabulary.bind(**bad)
    for bad in (-1, 300, 1 << 40, 1 << 90):
        for call in (vocabulary.token_bytes, vocabulary.is_special):
            with pytest.raises(gobo.InvalidError):
                call(bad)


def test_tables_that_are_none(client):
    for tokens, special in (([], []), ([None, b""], []), ([b"a"], [1]), ([b"a"], [-1]), ([b"x" * 5000], [])):
        with pytest.raises(gobo.GoboError):
            gobo.Vocabulary.from_tokens(tokens, special, client=client)
    with pytest.raises(TypeError):
        gobo.Vocabulary.from_tokens(["a"], client=client)


def test_files_and_objects(client, tmp_path):
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(JSON))
    (tmp_path / "config.json").write_text('{"vocab_size": 9, "eos_token_id": 1}')
    of_file, of_folder, of_object = (gobo.Vocabulary.of(what, client=client) for what in (file, str(tmp_path), Fast()))
    assert of_file.digest == of_folder.digest == of_object.digest and of_file.kind == "byte-level BPE"
    assert (of_file.eos, of_file.width, of_folder.eos, of_folder.width, of_object.eos) == ((3,), 4, (1,), 9, (3,))
    assert len({of_file.name, of_folder.name, of_object.name}) == 3
    (tmp_path / "config.json").write_text('{"vocab_size": 10, "eos_token_id": 1}')
    assert gobo.Vocabulary.of(tmp_path, client=client).width == 10
    bound = gobo.Vocabulary.of(tmp_path, eos=[2], width=64, client=client)
    assert (bound.eos, bound.width) == ((2,), 64)
    for wrapped in (Wrapped(Fast(), 2, 7), Wrapped(Wrapped(Fast(), 0, 0, "_tokenizer"), [2], 7, "tokenizer")):
        of_wrapped = gobo.Vocabulary.of(wrapped, client=client)
        assert (of_wrapped.digest, of_wrapped.eos, of_wrapped.width) == (of_file.digest, (2,), 7)
    assert gobo.Vocabulary.of(Wrapped(Fast(), None, 1), client=client).width == 4, "never fewer logits than ids"
    encoding = gobo.Vocabulary.of(Wrapped(Encoding(), 5, 6, "model"), client=client)
    assert (encoding.token_bytes(1), encoding.token_bytes(3), encoding.eos) == (b"\xff", b"", (5,)) and encoding.is_special(5)


def test_what_has_no_known_form(client, tmp_path):
    class Slow:
        def get_vocab(self):
            return {"a": 0}

        @property
        def backend_tokenizer(self):
            raise RuntimeError("none")

    for odd in (Slow(), 3, None, [b"a"], object()):
        with pytest.raises(gobo.InvalidError, match="from_tokens") as error:
            gobo.Vocabulary.of(odd, client=client)
        assert error.value.kind == "unsupported"
    with pytest.raises(gobo.GoboError) as error:
        gobo.Vocabulary.of("no such thing", client=client)
    assert error.value.kind == "not_found"
    (tmp_path / "x").write_text("hello")
    for bad in (tmp_path / "x", tmp_path / "none", tmp_path, "\ud800", Fast({"model": {}}), Wrapped(Fast(), 50, 4)):
        with pytest.raises(gobo.GoboError):
            gobo.Vocabulary.of(bad, client=client)


def test_the_next_process_maps_it(client, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(JSON))
    first = gobo.Vocabulary.of(tmp_path, client=client)
    # Of a process that cannot write the store: it has nowhere to publish what it might import.
    script = f"import gobo_masks as g; print(g.Vocabulary.of({str(tmp_path)!r}, client=g.Client({client.store!r})).name)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.strip() == first.name


@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
def test_a_file_and_the_object_of_the_library_have_one_digest(client, data, name):
    tokenizers = pytest.importorskip("tokenizers")
    file = data / "tokenizers" / name / "tokenizer.json"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    of_object = gobo.Vocabulary.of(tokenizers.Tokenizer.from_file(str(file)), client=client)
    of_file = gobo.Vocabulary.of(file, client=client)
    if name == "o200k_base":
        # The library renumbers special tokens that leave a gap: the object's ids are what an engine uses.
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
        assert of_object.digest != of_file.digest
        for content, id in ((token.content, id) for id, token in tokenizer.get_added_tokens_decoder().items()):
            assert of_object.token_bytes(id) == content.encode()
    else:
        assert of_object.digest == of_file.digest
