"""Counts of word sequences, kept in files ("shards") on scratch, one per piece of the text."""

import os
from collections import Counter

from .text import START


def write_shard(path, sentences, order):
    """Count all sequences of 1 to `order` words. One line each: the numbers, a tab, the count."""
    counts = Counter()
    for sentence in sentences:
        padded = [START] * (order - 1) + sentence
        for end in range(order, len(padded) + 1):
            for length in range(1, order + 1):
                counts[tuple(padded[end - length:end])] += 1
    with open(path + ".tmp", "w", encoding="ascii") as f:
        for sequence, count in sorted(counts.items()):
            f.write("%s\t%d\n" % (" ".join(map(str, sequence)), count))
    os.rename(path + ".tmp", path)


def add_shards(paths):
    """Read shards back and add them up."""
    total = Counter()
    for path in paths:
        with open(path, encoding="ascii") as f:
            for line in f:
                sequence, count = line.split("\t")
                total[sequence] += int(count)
    return {tuple(map(int, sequence.split())): count for sequence, count in total.items()}
