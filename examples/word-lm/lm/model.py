"""An n-gram model with absolute discounting: take a little from every count, and give what was
taken to the words that the next shorter context would expect."""

import math
from collections import Counter, defaultdict

from .text import END, START


class Model:
    def __init__(self, counts, order, discount, words):
        self.order, self.discount, self.words = order, discount, words
        self.counts = counts
        self.totals = Counter()               # how often a context was seen
        self.kinds = Counter()                # how many different words came after it
        self.followers = defaultdict(list)    # which
        for sequence, count in counts.items():
            context = sequence[:-1]
            self.totals[context] += count
            self.kinds[context] += 1
            self.followers[context].append((sequence[-1], count))

    def probability(self, context, word):
        chance = 1 / self.words
        for length in range(self.order):
            shorter = context[len(context) - length:]
            total = self.totals.get(shorter)
            if not total:
                break
            count = self.counts.get(shorter + (word,), 0)
            kept = max(count - self.discount, 0) / total
            chance = kept + self.discount * self.kinds[shorter] / total * chance
        return chance

    def log_probability(self, sentence):
        padded = (START,) * (self.order - 1) + tuple(sentence)
        return sum(math.log(self.probability(padded[i - self.order + 1:i], padded[i]))
                   for i in range(self.order - 1, len(padded)))

    def sentence(self, rng, longest=30):
        """Make up a sentence."""
        made = [START] * (self.order - 1)
        while len(made) < longest:
            length = self.order - 1
            # Now and then look at fewer words before, as the discount says.
            while length:
                context = tuple(made[len(made) - length:])
                total = self.totals.get(context)
                if total and rng.random() >= self.discount * self.kinds[context] / total:
                    break
                length -= 1
            choices = self.followers[tuple(made[len(made) - length:]) if length else ()]
            word = rng.choices([w for w, _ in choices],
                               [count - self.discount for _, count in choices])[0]
            if word == END:
                break
            made.append(word)
        return [word for word in made if word != START]


class Speller:
    """What an unknown word costs: its letters, one by one. Without this, a model that calls
    every word unknown would look best of all."""

    def __init__(self, words):
        counts = Counter(letter for word in words for letter in word + "\n")
        total = sum(counts.values()) + 40
        self.cost = {letter: math.log((count + 1) / total) for letter, count in counts.items()}
        self.other = math.log(1 / total)

    def log_probability(self, word):
        return sum(self.cost.get(letter, self.other) for letter in word + "\n")
