#!/usr/bin/env python3
"""Train a little neural network on handwritten digits. Plain Python, no packages needed.

    python3 train.py                        by hand, with the defaults below
    python3 train.py --lr 0.1 --hidden 8    by hand, with your own values
    ludwig submit sweep.yaml                the whole grid of sweep.yaml

The network has 64 inputs (the pixels), one hidden layer (tanh) and ten outputs (softmax).
It learns by stochastic gradient descent with momentum, one picture at a time.
"""

import argparse
import csv
import json
import math
import os
import random
import time
from operator import mul

DEFAULTS = {"lr": 0.01, "hidden": 16, "momentum": 0.0, "epochs": 20, "samples": 1000}


def read_parameters():
    """Defaults, then what ludwig wrote to param2val.json, then the command line: the last wins."""
    values = dict(DEFAULTS)
    path = os.environ.get("LUDWIG_PARAM2VAL")
    if path:
        with open(path, encoding="utf-8") as f:
            values.update(json.load(f))
    parser = argparse.ArgumentParser(description="Train a little neural network on digits.")
    for name, default in DEFAULTS.items():
        parser.add_argument("--" + name, type=type(default), default=values[name],
                            help="default: %(default)s")
    return parser.parse_args()


def read_digits(path):
    """One picture per line: 64 pixels from 0 to 16, then the digit that was meant."""
    with open(path, newline="", encoding="ascii") as f:
        rows = [[int(cell) for cell in row] for row in csv.reader(f)]
    # The 1.0 at the end of each picture stands in for the bias.
    return [([pixel / 16 for pixel in row[:-1]] + [1.0], row[-1]) for row in rows]


class Network:
    def __init__(self, hidden, rng):
        def layer(rows, columns):
            scale = 1 / math.sqrt(columns)
            return [[rng.gauss(0, scale) for _ in range(columns)] for _ in range(rows)]

        self.weights1 = layer(hidden, 65)
        self.weights2 = layer(10, hidden + 1)
        self.speed1 = [[0.0] * 65 for _ in range(hidden)]
        self.speed2 = [[0.0] * (hidden + 1) for _ in range(10)]

    def forward(self, picture):
        middle = [math.tanh(sum(map(mul, row, picture))) for row in self.weights1]
        middle.append(1.0)
        scores = [sum(map(mul, row, middle)) for row in self.weights2]
        highest = max(scores)
        powers = [math.exp(score - highest) for score in scores]
        total = sum(powers)
        return middle, [power / total for power in powers]

    def learn(self, picture, digit, lr, momentum):
        """One step of gradient descent on one picture. Returns the loss before it."""
        middle, chances = self.forward(picture)
        loss = -math.log(max(chances[digit], 1e-12))
        errors = chances
        errors[digit] -= 1
        back = [sum(map(mul, column, errors)) for column in zip(*self.weights2)]
        errors1 = [b * (1 - m * m) for b, m in zip(back, middle[:-1])]
        for weights, speeds, deltas, inputs in ((self.weights2, self.speed2, errors, middle),
                                                (self.weights1, self.speed1, errors1, picture)):
            for i, delta in enumerate(deltas):
                step = -lr * delta
                if momentum:
                    speeds[i] = [momentum * v + step * x for v, x in zip(speeds[i], inputs)]
                    weights[i] = [w + v for w, v in zip(weights[i], speeds[i])]
                else:
                    weights[i] = [w + step * x for w, x in zip(weights[i], inputs)]
        return loss

    def accuracy(self, pictures):
        right = 0
        for picture, digit in pictures:
            chances = self.forward(picture)[1]
            right += chances.index(max(chances)) == digit
        return right / len(pictures)


def report(line):
    """Tell ludwig about numbers: one line of JSON each time, appended to $LUDWIG_METRICS."""
    path = os.environ.get("LUDWIG_METRICS")
    if path:
        with open(path, "a", encoding="utf-8") as f:
            f.write(json.dumps(line) + "\n")


def write_series(path, name, values):
    """A CSV file as pandas' Series.to_csv writes it: the index first, then the values."""
    with open(path, "w", newline="", encoding="ascii") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(["", name])
        writer.writerows(enumerate(values))


def main():
    args = read_parameters()
    seed = os.environ.get("LUDWIG_SEED", "1")
    here = os.path.dirname(os.path.abspath(__file__))
    data = os.environ.get("LUDWIG_DATA", here)             # where `data:` was staged
    save = os.environ.get("LUDWIG_SAVE_PATH", "results")   # all in here is kept
    started = time.time()
    print(f"lr={args.lr} hidden={args.hidden} momentum={args.momentum} "
          f"epochs={args.epochs} samples={args.samples} seed={seed}", flush=True)

    # The seed decides which pictures are trained on and where the weights begin.
    rng = random.Random(seed)
    digits = read_digits(os.path.join(data, "digits.csv"))
    rng.shuffle(digits)
    test, validation, rest = digits[:200], digits[200:400], digits[400:]
    train = rest[:args.samples]
    network = Network(args.hidden, rng)

    accuracies = []
    for epoch in range(args.epochs):
        rng.shuffle(train)
        losses = [network.learn(picture, digit, args.lr, args.momentum)
                  for picture, digit in train]
        loss = sum(losses) / len(losses)
        accuracy = network.accuracy(validation)
        accuracies.append(accuracy)
        report({"step": epoch, "accuracy": accuracy, "loss": round(loss, 6)})
        print(f"epoch {epoch + 1}/{args.epochs}  loss {loss:.4f}  accuracy {accuracy:.3f}  "
              f"{time.time() - started:.1f} s", flush=True)

    test_accuracy = network.accuracy(test)
    report({"step": args.epochs - 1, "test_accuracy": test_accuracy})
    print(f"accuracy on pictures it never saw: {test_accuracy:.3f}", flush=True)

    os.makedirs(save, exist_ok=True)
    write_series(os.path.join(save, "accuracy.csv"), "accuracy", accuracies)
    with open(os.path.join(save, "weights.json"), "w", encoding="ascii") as f:
        json.dump({"layer1": network.weights1, "layer2": network.weights2}, f)


if __name__ == "__main__":
    main()
