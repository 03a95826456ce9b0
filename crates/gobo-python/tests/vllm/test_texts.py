"""Greedy texts under gobo and under the stock backend: the whole comparison is `texts.py`, and this is its gate."""

import importlib.metadata

import pytest
import texts

import gobo_masks.vllm

DATA = texts.conftest.DATA / "jsonschemabench"


@pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there (GOBO_DATA)")
@pytest.mark.skipif(
    not importlib.metadata.version("vllm").startswith(gobo_masks.vllm.TESTED[-1] + "."), reason="once, in the newest release"
)
def test_texts_are_equal_or_differ_by_a_policy():
    told = []
    counts = texts.compare(300, told.append)
    print(dict(counts))
    assert counts["equal"] >= 100
    assert counts["unexplained"] == 0, "\n".join(told)
    assert counts["neither serves"] == 0, "\n".join(told)
