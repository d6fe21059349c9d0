"""From a text to numbers: words, sentences, vocabulary."""

import re
from collections import Counter

START, END, UNKNOWN = 0, 1, 2
MARKS = ["<s>", "</s>", "<unknown>"]


def read_sentences(path):
    """The sentences of a text, each a list of lower-case words and punctuation marks."""
    with open(path, encoding="utf-8") as f:
        text = f.read().lower().replace("_", "")
    sentences = []
    for paragraph in re.split(r"\n\s*\n", text):
        words = re.findall(r"[a-z]+(?:'[a-z]+)?|[0-9]+|[.,;:!?]", paragraph)
        sentence = []
        for word in words:
            sentence.append(word)
            if word in ".!?":
                sentences.append(sentence)
                sentence = []
        if sentence:
            sentences.append(sentence)
    return sentences


class Vocabulary:
    """Words seen at least `min_count` times have a number of their own."""

    def __init__(self, words):
        self.words = words
        self.numbers = {word: number for number, word in enumerate(words)}

    @classmethod
    def of(cls, sentences, min_count):
        counts = Counter(word for sentence in sentences for word in sentence)
        known = sorted(word for word, count in counts.items() if count >= min_count)
        return cls(MARKS + known)

    def save(self, path):
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(self.words) + "\n")

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as f:
            return cls(f.read().split("\n")[:-1])

    def __len__(self):
        return len(self.words)

    def __contains__(self, word):
        return word in self.numbers

    def encode(self, sentence):
        return [self.numbers.get(word, UNKNOWN) for word in sentence] + [END]
