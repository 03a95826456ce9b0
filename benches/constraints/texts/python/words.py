import re
from collections import Counter


def count(text, least=2):
    """Words of a text, and how often each is there."""
    words = Counter()
    for word in re.findall(r"[a-z']+", text.lower()):
        if len(word) >= least:
            words[word] += 1
        else:
            continue
    return {word: n for word, n in words.items() if n > 1}


class Index:
    def __init__(self, *texts, **options):
        self.texts = list(texts)
        self.least = options.get("least", 3)

    def most(self, n=10):
        # The most frequent words first.
        found = sorted(
            count(" ".join(self.texts), self.least).items(),
            key=lambda item: (-item[1], item[0]),
        )
        return found[:n]


if __name__ == "__main__":
    index = Index("the cat and the dog", "a dog", least=1)
    print(index.most(), 1.5e3, 0x1F, not True, sep="\n")
