#!/usr/bin/env python3
"""Train a little language model that counts words, and watch it get better with more text.

    python3 train.py                 by hand, with the defaults below
    ludwig submit sweep.yaml         the whole grid of sweep.yaml

Parameters come from the JSON file that $LUDWIG_PARAM2VAL names.
"""

import json
import math
import os
import random
import shutil
import subprocess
import tempfile
import time

from lm.counts import add_shards, write_shard
from lm.model import Model, Speller
from lm.text import Vocabulary, read_sentences

DEFAULTS = {"corpus": "sawyer", "order": 3, "discount": 0.75, "min_count": 2, "steps": 40}


def read_parameters():
    values = dict(DEFAULTS)
    path = os.environ.get("LUDWIG_PARAM2VAL")
    if path:
        with open(path, encoding="utf-8") as f:
            values.update(json.load(f))
    return values


def report(**numbers):
    """`ludwig report perplexity=212.4 step=3`: ludwig is in the PATH of every job."""
    if "LUDWIG_JOB" in os.environ and shutil.which("ludwig"):
        words = ["%s=%s" % (name, value) for name, value in numbers.items()]
        subprocess.run(["ludwig", "report"] + words, check=False)


def perplexity(model, speller, vocabulary, sentences):
    """How many words the model is torn between, on average, at each word it has not seen."""
    total = words = 0
    for sentence in sentences:
        total += model.log_probability(vocabulary.encode(sentence))
        total += sum(speller.log_probability(word) for word in sentence if word not in vocabulary)
        words += len(sentence) + 1
    return math.exp(-total / words)


def write_series(path, name, index, values):
    """A CSV file as pandas' Series.to_csv writes it: the index first, then the values."""
    with open(path, "w", encoding="ascii") as f:
        f.write(",%s\n" % name)
        f.writelines("%s,%s\n" % pair for pair in zip(index, values))


def main():
    params = read_parameters()
    order, discount, steps = params["order"], params["discount"], params["steps"]
    seed = os.environ.get("LUDWIG_SEED", "1")
    here = os.path.dirname(os.path.abspath(__file__))
    data = os.environ.get("LUDWIG_DATA", here)             # where `data:` was staged
    save = os.environ.get("LUDWIG_SAVE_PATH", "results")   # all in here is kept
    os.makedirs(save, exist_ok=True)
    started = time.time()
    print(" ".join("%s=%s" % item for item in sorted(params.items())), "seed=%s" % seed, flush=True)

    # The seed decides which sentences are held back to test the model.
    rng = random.Random(seed)
    sentences = read_sentences(os.path.join(data, "corpora", params["corpus"] + ".txt"))
    rng.shuffle(sentences)
    held_back = len(sentences) // 5
    test, train = sentences[:held_back], sentences[held_back:]

    # A job may write what it likes into its working folder; that goes when the job ends.
    Vocabulary.of(train, params["min_count"]).save("vocabulary.txt")
    vocabulary = Vocabulary.load("vocabulary.txt")
    speller = Speller(word for sentence in train for word in sentence if word not in vocabulary)
    print("%d sentences to learn from, %d to test on, %d words known"
          % (len(train), len(test), len(vocabulary)), flush=True)

    # The counts go through files in $TMPDIR: tempfile finds it by itself.
    perplexities = []
    with tempfile.TemporaryDirectory(prefix="word-lm-") as scratch:
        shards = []
        for step in range(1, steps + 1):
            piece = train[len(train) * (step - 1) // steps:len(train) * step // steps]
            shards.append(os.path.join(scratch, "shard-%02d.tsv" % step))
            write_shard(shards[-1], map(vocabulary.encode, piece), order)
            model = Model(add_shards(shards), order, discount, len(vocabulary))
            perplexities.append(round(perplexity(model, speller, vocabulary, test), 3))
            report(perplexity=perplexities[-1], step=step)
            print("step %2d/%d  %6d sequences  perplexity %8.2f  %.1f s"
                  % (step, steps, len(model.counts), perplexities[-1], time.time() - started),
                  flush=True)

    write_series(os.path.join(save, "perplexity.csv"), "perplexity",
                 range(1, steps + 1), perplexities)
    with open(os.path.join(save, "sample.txt"), "w", encoding="utf-8") as f:
        for _ in range(10):
            f.write(" ".join(vocabulary.words[word] for word in model.sentence(rng)) + "\n")
    with open(os.path.join(save, "summary.json"), "w", encoding="utf-8") as f:
        json.dump({"perplexity": perplexities[-1], "sequences": len(model.counts),
                   "vocabulary": len(vocabulary), "seconds": round(time.time() - started, 2),
                   "params": params}, f, indent=2)
        f.write("\n")


if __name__ == "__main__":
    main()
