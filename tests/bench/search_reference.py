#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""search_reference.py <TRACES - makes the decisions in traces of build/bench/search once more, and compares them

A plain reference for `asha` and `median`: each decision looks at all values recorded so far and keeps no other state.
"""
import math
import sys

STEPS = [0]
while STEPS[-1] < 10**9:
    STEPS.append(STEPS[-1] + (1 if STEPS[-1] < 12 else STEPS[-1] // 6))


def span_of(step):
    return max(i for i, first in enumerate(STEPS) if first <= step)


class Sweep:
    def __init__(self, rule, goal, first, eta, max_step):
        self.rule, self.sign = rule, 1 if goal == "max" else -1
        self.first, self.eta, self.max_step = int(first), float(eta) or 2.0, int(max_step)
        self.values = {}   # job -> {span: value, the larger the better}
        self.last = {}     # job -> step, value
        self.stopped = {}  # job -> how many rungs it had passed or failed
        self.rungs = {}    # job -> the same of all
        self.ended = []

    def length(self):
        if self.max_step:
            return self.max_step
        return sorted(self.ended)[(len(self.ended) - 1) // 2] if self.ended else 0

    def put(self, job, step, value):
        value = self.sign * value if math.isfinite(value) else -math.inf
        span, values = span_of(step), self.values.setdefault(job, {})
        if values and span <= max(values):
            return False
        if values:
            before, x = self.last[job]
            for i in range(max(values) + 1, span):
                part = (STEPS[i] - before) / (step - before)
                values[i] = x + part * (value - x) if math.isfinite(x) and math.isfinite(value) else value
        values[span] = value
        self.last[job] = step, value
        return True

    def is_good(self, job, rung):
        span = max(self.values[job])
        here = [v[span] for v in self.values.values() if span in v]
        n = len(here) + sum(max(self.values[j]) < span for j in self.stopped)
        rank = 1 + sum(v > self.values[job][span] for v in here)
        if rank > 1 and self.values[job][span] == -math.inf:
            return False
        return rank <= math.ceil(n / (2 if self.rule == "median" else self.eta**rung))

    def value(self, job, step, value):
        if job in self.stopped:
            return "stop"
        length = self.length()
        first = self.first or (length + 9) // 10
        if not self.put(job, step, value) or first == 0 or (length and step >= length):
            return "go"
        if self.rule == "median":
            rung = 1
            if step < first:
                return "go"
        else:
            end, rung, at = STEPS[span_of(step) + 1], 0, float(first)
            while at < end:
                rung, at = rung + 1, at * self.eta
            if rung <= self.rungs.get(job, 0):
                return "go"
            self.rungs[job] = rung
        if self.is_good(job, rung):
            return "go"
        self.stopped[job] = rung
        return "stop"

    def resume(self, job):
        """It must be one of the best by now, and none that got further is."""
        good = [j for j in self.stopped if self.is_good(j, self.stopped[j])]
        fine = job in good and max(self.values[job]) == max(max(self.values[j]) for j in good)
        self.stopped.pop(job, None)
        return fine


def main():
    sweep, n, wrong = None, {}, 0
    for line in sys.stdin:
        kind, *rest = line.split()
        if kind == "spec":
            sweep = Sweep(*rest)
        elif kind == "value":
            job, step, value, answer = rest
            wrong += sweep.value(int(job), int(step), float(value)) != answer
        elif kind == "resumed":
            wrong += not sweep.resume(int(rest[0]))
        elif kind == "ended":
            sweep.ended.append(int(rest[1]))
        n[kind] = n.get(kind, 0) + 1
    print(f"{n.get('spec', 0)} replays, {n.get('value', 0)} values, {n.get('resumed', 0)} resumed:",
          f"{wrong} decisions differ")
    return wrong > 0 or n.get("value", 0) == 0


sys.exit(main())
