#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""search_optuna.py FOLDER [SEEDS [SLOTS]] - replays the lists of build/bench/search with Optuna's own pruners

The configurations, their order and the clock are the same, so the lines can be compared with those of ludwigd's rules.
"""
import array
import json
import math
import os
import sys
import warnings

import optuna

LIST = 200
MASK = 2**64 - 1


def draws(seed):
    """splitmix64, as in search.c"""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        yield z ^ z >> 31


class Table:
    def __init__(self, path):
        with open(path) as f:
            self.head = json.load(f)
        self.cells = array.array("f")
        with open(os.path.join(os.path.dirname(path), self.head["file"]), "rb") as f:
            self.cells.frombytes(f.read())
        self.seeds, self.epochs = self.head["seeds"], self.head["epochs"]
        self.is_max = self.head["goal"] == "max"
        # one with a run that the source does not have has no seconds, and search.c leaves it out, too
        self.configs = [c for c in range(len(self.head["configs"]))
                        if all(math.isfinite(self.cell(c, s, self.epochs)[1]) for s in range(self.seeds))]

    def worth(self, config, seed):
        """Of the last measure: the larger the better, nan the worst."""
        value = self.cell(config, seed, self.epochs)[0]
        return -math.inf if math.isnan(value) else value if self.is_max else -value

    def cell(self, config, seed, epochs):
        """The measure and the seconds after that many epochs."""
        i = 2 * ((config * self.seeds + seed) * self.epochs + epochs - 1)
        return self.cells[i], self.cells[i + 1]

    def order(self, seed):
        """All configurations, drawn as search.c does."""
        order, random = list(self.configs), draws(seed)
        n = len(order)
        for i in range(n):
            j = i + next(random) % (n - i)
            order[i], order[j] = order[j], order[i]
        return order

    def list(self, seed):
        return self.order(seed)[:LIST]


def read_tables(folder):
    """Those with curves, each with its path."""
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".json")]
    return [(path, Table(path)) for path in paths if json.load(open(path))["epochs"] > 1]


def replay(table, pruner, configs, seed, n_slots):
    """Hours, and the place in the list of the configuration that is chosen."""
    study = optuna.create_study(direction="maximize" if table.is_max else "minimize", pruner=pruner,
                                sampler=optuna.samplers.RandomSampler(0))
    waiting, running, now, hours, ended = list(range(len(configs))), [], 0.0, 0.0, []
    while waiting or running:
        while waiting and len(running) < n_slots:
            place = waiting.pop(0)
            running.append([now + table.cell(configs[place], seed, 1)[1], place, study.ask(), 0, now])
        slot = min(running, key=lambda s: s[0])
        now, place, trial, epochs, began = slot
        slot[3] = epochs = epochs + 1
        value, seconds = table.cell(configs[place], seed, epochs)
        trial.report(value, epochs)
        if epochs == table.epochs:
            study.tell(trial, value)
            ended.append((table.worth(configs[place], seed), -place))
        elif trial.should_prune():
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            slot[0] = began + table.cell(configs[place], seed, epochs + 1)[1]
            continue
        hours += seconds
        running.remove(slot)
    return hours, -max(ended)[1]


def main():
    folder, n_seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
    slots = [int(sys.argv[3])] if len(sys.argv) > 3 else [8]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    print(f"# Optuna {optuna.__version__}, a list of {LIST}, {n_seeds} seeds")
    print(f"{'table':23} {'slots':>5}  {'pruner':40} {'hours':>5} {'same':>5}")
    tables = [table for _, table in read_tables(folder)]
    sums = {}
    for n_slots in slots:
        for table in tables:
            first = max(1, -(-table.epochs // 10))
            pruners = {
                "MedianPruner()": optuna.pruners.MedianPruner(),
                "SuccessiveHalvingPruner()": optuna.pruners.SuccessiveHalvingPruner(),
                "SuccessiveHalvingPruner(a tenth, 3)":
                    optuna.pruners.SuccessiveHalvingPruner(min_resource=first, reduction_factor=3),
                "SuccessiveHalvingPruner(a tenth, 2)":
                    optuna.pruners.SuccessiveHalvingPruner(min_resource=first, reduction_factor=2),
            }
            for name, pruner in pruners.items():
                share, same = 0.0, 0
                for seed in range(n_seeds):
                    configs, s = table.list(seed), seed % table.seeds
                    best = max(range(len(configs)), key=lambda i: (table.worth(configs[i], s), -i))
                    full = sum(table.cell(c, s, table.epochs)[1] for c in configs)
                    hours, chosen = replay(table, pruner, configs, s, n_slots)
                    share += hours / full / n_seeds
                    same += chosen == best
                print(f"{table.head['name']:23} {n_slots:5}  {name:40} {share:5.2f} {same / n_seeds:5.2f}", flush=True)
                sums.setdefault((n_slots, name), []).append((share, same / n_seeds))
    for (n_slots, name), each in sums.items():
        print(f"{'all with curves':23} {n_slots:5}  {name:40} {sum(s for s, _ in each) / len(each):5.2f}"
              f" {sum(m for _, m in each) / len(each):5.2f}")


if __name__ == "__main__":
    main()
