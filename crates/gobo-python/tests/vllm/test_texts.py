"""Greedy texts under gobo and under the stock backend: the whole comparison is `texts.py`, and this is its gate."""

import texts


def test_texts_are_equal_or_differ_by_a_policy():
    told = []
    counts = texts.compare(300, told.append)
    print(dict(counts))
    assert counts["equal"] >= 1
    assert counts["unexplained"] == 0, "\n".join(told)
