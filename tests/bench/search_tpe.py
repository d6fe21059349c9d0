#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""search_tpe.py FOLDER [SEEDS [AHEAD]] - searches tables of trainings by Optuna's TPE with ludwigd's stop rules

The advisor is client/python/ludwig_advisor.py, the stop rule build/bench/stop_rule.  A search has 8 slots, and AHEAD
configurations are queued beside the running ones.  A table does not have a training for every point: the nearest
configuration that was not trained yet takes the point's place, and the advisor is told of it as of a random point.
"""
import heapq
import math
import multiprocessing
import os
import subprocess
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../client/python"))

import ludwig
import ludwig_advisor
import optuna
from search_optuna import Table, draws, read_tables

SLOTS = 8
BUDGETS = (100, 200)
RANDOM_SEEDS = 100  # they are cheap, and the target is their mean
RULES = ("asha", "median")
HOURS_MOST = 0.6  # of full random's; who is not there by then, never is
STOP_RULE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/bench/stop_rule")


class Advisor:
    """The adapter, called instead of written to."""

    def __init__(self, table, seed):
        def advise(suggest, name, given, told):
            self.suggest, self.given, self.told = suggest, given, told

        self.params = {p["name"]: spec_of(p) for p in table.head["params"]}
        self.search = ludwig.Search(self.params, {}, table.head["metric"], table.head["goal"], 1, seed, {})
        self.draw = draws(seed)
        self.places = {c: self.place(dict(zip(self.params, table.head["configs"][c]))) for c in table.configs}
        ludwig.advise = advise
        ludwig_advisor.Optuna("tpe")
        warnings.simplefilter("ignore")
        optuna.logging.set_verbosity(optuna.logging.ERROR)

    def place(self, params):
        """In the unit cube; choices lie apart by their number."""
        return [self.params[name]["choices"].index(value) if self.params[name]["kind"] == "choice"
                else ludwig_advisor._to_unit(self.params[name], value) for name, value in params.items()]

    def ask(self, table):
        """A configuration of the table; None: there are no more."""
        if not self.places:
            return None
        point = self.suggest(self.search, 1, next(self.draw) >> 33)[0]
        wanted = self.place(point)
        config = min(self.places, key=lambda c: sum(
            (x != y) if self.params[name]["kind"] == "choice" else (x - y) ** 2
            for name, x, y in zip(self.params, self.places[c], wanted)))
        del self.places[config]
        trial = ludwig.Trial(config, dict(zip(self.params, table.head["configs"][config])))
        self.search.trials[config] = trial
        self.given(self.search, trial)
        return config

    def tell(self, config, value, step, is_stopped):
        """Its last value, as ludwigd tells of done and of stopped jobs."""
        trial = self.search.trials[config]
        trial.step, trial.stopped = step, is_stopped
        if math.isfinite(value):
            trial.values[0] = value
        else:
            trial.failed[0] = "it reported no finite value"
        self.told(self.search, trial)


def spec_of(param):
    """A range of whole numbers with a logarithm is drawn as one of floats."""
    if param["type"] == "choice":
        return {"kind": "choice", "choices": param["values"]}
    if param["type"] == "int" and not param["log"]:
        return {"kind": "int", "low": param["low"], "high": param["high"]}
    return {"kind": "float", "low": float(param["low"]), "high": float(param["high"]), "log": param["log"]}


class Rule:
    """ludwigd's decisions."""

    def __init__(self, rule, table):
        self.process = None if rule == "none" else subprocess.Popen(
            [STOP_RULE, rule, table.head["goal"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def event(self, kind, config, step, value):
        """Whether the job is to be stopped."""
        if self.process is None:
            return False
        self.process.stdin.write(f"{kind} {config + 1} {config} {step} {value!r}\n")
        return kind == "value" and self.process.stdout.readline() == "stop\n"

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()


class Incumbent:
    """The best training that came to its end, and when it did."""

    def __init__(self, table, seed):
        self.table, self.seed, self.best, self.steps = table, seed, None, []

    def end(self, config, now):
        worth = self.table.worth(config, self.seed)
        if self.best is None or worth > self.best:
            self.best = worth
            self.steps.append((now * SLOTS, regret(self.table, config)))


def regret(table, config):
    """By the mean over the table's seeds."""
    if not hasattr(table, "mean"):
        table.mean = {c: sum(table.worth(c, s) for s in range(table.seeds)) / table.seeds for c in table.configs}
        table.best, table.worst = max(table.mean.values()), min(table.mean.values())
    return table.best - table.mean[config]


def search_at_random(table, seed, n):
    """The hours at which the first n of the list have ended, and the incumbents."""
    s, incumbent, busy, now = seed % table.seeds, Incumbent(table, seed % table.seeds), [], 0.0
    waiting = iter(table.order(seed)[:n])
    while True:
        while len(busy) < SLOTS and (config := next(waiting, None)) is not None:
            heapq.heappush(busy, (now + table.cell(config, s, table.epochs)[1], config))
        if not busy:
            return now * SLOTS, incumbent.steps
        now, config = heapq.heappop(busy)
        incumbent.end(config, now)


def search_with_tpe(task):
    """The incumbents of a search that takes at most so many hours, and the number of trainings.

    One whose regret is half of the target goes no further: that can only make the figure worse, and TPE takes a tenth
    of a second for each question.
    """
    path, rule_name, seed, ahead, hours_max, enough = task
    table = Table(path)
    s, advisor, rule = seed % table.seeds, Advisor(table, seed), Rule(rule_name, table)
    incumbent, queued, busy, now, n = Incumbent(table, s), [], [], 0.0, 0
    while now * SLOTS <= hours_max and not (incumbent.steps and incumbent.steps[-1][1] <= enough):
        while len(queued) + len(busy) < SLOTS + ahead and (config := advisor.ask(table)) is not None:
            queued.append(config)
        while queued and len(busy) < SLOTS:
            config = queued.pop(0)
            n += 1
            heapq.heappush(busy, (now + table.cell(config, s, 1)[1], config, 1, now))
        if not busy:
            break
        now, config, epoch, began = heapq.heappop(busy)
        value = table.cell(config, s, epoch)[0]
        is_stopped = rule.event("value", config, epoch, value)
        if epoch == table.epochs:
            rule.event("ended", config, epoch, value)
            incumbent.end(config, now)
        elif is_stopped:
            rule.event("ready", config, epoch, value)
        else:
            heapq.heappush(busy, (began + table.cell(config, s, epoch + 1)[1], config, epoch + 1, began))
            continue
        advisor.tell(config, value, epoch, is_stopped and epoch < table.epochs)
    rule.close()
    return incumbent.steps, n


def hours_until(table, searches, target):
    """Until the mean regret is at most the target."""
    total, changes = len(searches) * (table.best - table.worst), []
    for steps in searches:
        before = table.best - table.worst
        for hours, now in steps:
            changes.append((hours, now - before))
            before = now
    for hours, change in sorted(changes):
        total += change
        if total <= target * len(searches) * (1 + 1e-9) + 1e-12:
            return hours
    return math.inf


def main():
    folder, n_seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    ahead = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print(f"# TPE of Optuna {optuna.__version__}, {SLOTS} slots, {n_seeds} seeds, ahead: {ahead}; hours until the "
          f"mean regret is that of full random\n# with a budget of 100 and of 200, against those of full random")
    print(f"{'table':23} {'rule':8} {'100':>5} {'200':>5} {'trainings':>9}")
    ratios = {rule: [] for rule in RULES}
    with multiprocessing.Pool(int(os.environ.get("LUDWIG_BENCH_JOBS", "1"))) as pool:
        for path, table in read_tables(folder):
            targets, hours = [], []
            for budget in BUDGETS:
                ends = [search_at_random(table, seed, budget) for seed in range(RANDOM_SEEDS)]
                targets.append(sum(steps[-1][1] for _, steps in ends) / len(ends))
            streams = [search_at_random(table, seed, len(table.configs))[1] for seed in range(RANDOM_SEEDS)]
            hours = [hours_until(table, streams, target) for target in targets]
            for rule in RULES:
                tasks = [(path, rule, seed, ahead, HOURS_MOST * hours[1], targets[1] / 2) for seed in range(n_seeds)]
                found = pool.map(search_with_tpe, tasks, chunksize=1)
                ratio = [hours_until(table, [steps for steps, _ in found], t) / h for t, h in zip(targets, hours)]
                ratios[rule].append(ratio)
                print(f"{table.head['name']:23} {rule:8} {ratio[0]:5.2f} {ratio[1]:5.2f}"
                      f" {sum(n for _, n in found) / n_seeds:9.0f}", flush=True)
    for rule, each in ratios.items():
        means = [math.exp(sum(math.log(r[b]) for r in each) / len(each)) for b in range(len(BUDGETS))]
        print(f"{'all with curves':23} {rule:8} {means[0]:5.2f} {means[1]:5.2f}")


if __name__ == "__main__":
    main()
