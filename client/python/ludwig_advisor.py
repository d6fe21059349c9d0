# SPDX-License-Identifier: MIT
"""Advisors of sweeps that stand on search programs of others (docs/advisor.md).

    method: {advisor: "python3 -m ludwig_advisor optuna:tpe"}

This file and ludwig.py lie beside your program, where the sweep's jobs find them as well.  What
stands behind the name is imported only when it is used:

    random               no package: each point by itself
    optuna:SAMPLER       Optuna's tpe, random, qmc, cmaes, nsgaii, ...
    optuna:SAMPLER:PRUNER  with its median, successivehalving, ..., which stops jobs
    pbt:N                population based training with N members (checkpoint: {keep: true})
    cma                  CMA-ES of the package cmaes; choices by the nearest of evenly spaced numbers
    next_runs:MODULE     next_runs(config, runs, n) of a module, as those of Weights & Biases
    gest:MODULE:NAME     a generator of the gest-api standard, which NAME(vocs) of a module makes
"""
from __future__ import annotations

import dataclasses
import importlib
import json
import math
import random as _random
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence

import ludwig

Params = Dict[str, Any]


def _key(params: Mapping[str, Any]) -> str:
    return json.dumps(params, sort_keys=True)


def _loss(search: ludwig.Search, trial: ludwig.Trial) -> Optional[float]:
    """The smaller the better; None: it failed."""
    if trial.value is None:
        return None
    return trial.value if search.goal == "min" else -trial.value


def _present(search: ludwig.Search, params: Params) -> Params:
    """Without those that do not exist, and in the order of the space."""
    return {name: params[name] for name in search.params if search.is_there(name, params)}


def _from_unit(spec: Mapping[str, Any], unit: float) -> Any:
    """The value at a place from 0 to 1 of its parameter."""
    unit = min(max(unit, 0.0), 1.0)
    if spec["kind"] == "choice":
        return spec["choices"][min(int(unit * len(spec["choices"])), len(spec["choices"]) - 1)]
    low, high = spec["low"], spec["high"]
    if spec["kind"] == "int" and spec.get("log"):
        low, high = low - 0.5, high + 0.5  # each number has the places that are rounded to it
        value = round(math.exp(math.log(low) + unit * math.log(high / low)))
        return min(max(value, spec["low"]), spec["high"])
    if spec["kind"] == "int":
        return min(low + int(unit * (high - low + 1)), high)
    if spec["log"]:
        return min(max(math.exp(math.log(low) + unit * math.log(high / low)), low), high)
    return min(max(low + unit * (high - low), low), high)


def _to_unit(spec: Mapping[str, Any], value: Any) -> float:
    """The middle of the value's places."""
    if spec["kind"] == "choice":
        return (spec["choices"].index(value) + 0.5) / len(spec["choices"])
    low, high = spec["low"], spec["high"]
    if spec["kind"] == "int" and spec.get("log"):
        return math.log(value / (low - 0.5)) / math.log((high + 0.5) / (low - 0.5))
    if spec["kind"] == "int":
        return float((value - low + 0.5) / (high - low + 1))
    if high <= low:
        return 0.5
    if spec["log"]:
        return math.log(value / low) / math.log(high / low)
    return float((value - low) / (high - low))


# ---- random ----

def _random_point(search: ludwig.Search, draw: _random.Random) -> Params:
    return _present(search, {name: _from_unit(spec, draw.random())
                             for name, spec in search.params.items()})


def random(_: str) -> None:
    """Each point by itself."""
    def suggest(search: ludwig.Search, n: int, seed: int) -> List[Params]:
        draw = _random.Random(seed)
        return [_random_point(search, draw) for _ in range(n)]

    ludwig.advise(suggest, "random")


# ---- Optuna ----

class Optuna:
    """A study of this process's own, which begins anew from what was told."""

    def __init__(self, detail: str) -> None:
        self.optuna: Any = importlib.import_module("optuna")
        self.optuna.logging.set_verbosity(self.optuna.logging.WARNING)
        sampler, _, pruner = detail.partition(":")
        self.sampler = self.find("Sampler", sampler)
        self.pruner = self.find("Pruner", pruner)() if pruner else None
        self.study: Any = None
        self.asked: Dict[str, List[Any]] = {}  # trials that were not given yet, by parameters
        self.trials: Dict[int, Any] = {}
        ludwig.advise(self.suggest, f"optuna:{detail}", given=self.given, told=self.told,
                      stepped=self.stepped if pruner else None)

    def find(self, kind: str, name: str) -> Any:
        """Optuna's sampler or pruner of this name: median is its MedianPruner."""
        module = getattr(self.optuna, f"{kind.lower()}s")
        known = {one[:-len(kind)].lower(): getattr(module, one) for one in dir(module)
                 if one.endswith(kind) and one != f"Base{kind}"}
        plain = name.replace("_", "").replace("-", "")
        if plain not in known:
            sys.exit(f"optuna: there is no {kind.lower()} '{name}'; there are "
                     f"{', '.join(sorted(known))}")
        return known[plain]

    def begin(self, search: ludwig.Search, seed: int) -> None:
        """Makes the study, and reseeds its sampler."""
        if self.study is None:
            self.study = self.optuna.create_study(
                direction="minimize" if search.goal == "min" else "maximize",
                pruner=self.pruner)
        try:
            self.study.sampler = self.sampler(seed=seed)
        except TypeError:  # one that draws nothing
            self.study.sampler = self.sampler()

    def fill(self, search: ludwig.Search, trial: Any) -> Params:
        """Has the sampler choose all parameters, those that decide whether others exist first."""
        params: Params = {}
        left = list(search.params)
        while left:
            name = next(n for n in left if not any(
                other in left for other in search.params[n].get("when", {})))
            left.remove(name)
            spec = search.params[name]
            if not search.is_there(name, params):
                continue
            if spec["kind"] == "choice":
                texts = [json.dumps(choice) for choice in spec["choices"]]
                params[name] = json.loads(trial.suggest_categorical(name, texts))
            elif spec["kind"] == "int":
                params[name] = trial.suggest_int(name, spec["low"], spec["high"],
                                                 log=spec.get("log", False))
            else:
                params[name] = trial.suggest_float(name, spec["low"], spec["high"],
                                                   log=spec["log"])
        return _present(search, params)

    def suggest(self, search: ludwig.Search, n: int, seed: int) -> List[Params]:
        """Asks the study."""
        points = []
        for trials in self.asked.values():  # answers that came too late
            for trial in trials:
                self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
        self.asked = {}
        for i in range(n):
            self.begin(search, seed + i)
            trial = self.study.ask()
            params = self.fill(search, trial)
            self.asked.setdefault(_key(params), []).append(trial)
            points.append(params)
        return points

    def given(self, search: ludwig.Search, trial: ludwig.Trial) -> None:
        """Finds the study's trial; what the study did not ask for, it learns now."""
        params = {name: trial.params[name] for name in search.params if name in trial.params}
        mine = self.asked.get(_key(params))
        if mine:
            self.trials[trial.id] = mine.pop(0)
            return
        self.begin(search, trial.id)
        self.study.enqueue_trial(
            {name: json.dumps(value) if search.params[name]["kind"] == "choice" else value
             for name, value in params.items()})
        self.trials[trial.id] = self.study.ask()
        self.fill(search, self.trials[trial.id])

    def stepped(self, _: ludwig.Search, trial: ludwig.Trial, rep: int) -> Optional[str]:
        """Asks the pruner, about the first replication as about a trial."""
        if rep != 0 or trial.is_over(1):
            return None
        step = max(trial.steps[rep])
        self.trials[trial.id].report(trial.steps[rep][step], step)
        return f"pruned at step {step}" if self.trials[trial.id].should_prune() else None

    def told(self, search: ludwig.Search, trial: ludwig.Trial) -> None:
        """Tells the study how the trial ended; one that was stopped early is Optuna's pruned one."""
        if trial.value is None:
            self.study.tell(self.trials[trial.id], state=self.optuna.trial.TrialState.FAIL)
        elif trial.stopped:
            if trial.step not in trial.steps.get(0, {}):
                self.trials[trial.id].report(trial.value, trial.step or 0)
            self.study.tell(self.trials[trial.id], state=self.optuna.trial.TrialState.PRUNED)
        else:
            self.study.tell(self.trials[trial.id], trial.value)


# ---- population based training ----

TRIES = 20  # for a change that makes a configuration that was not given yet


class Pbt:
    """Members train on, each from its checkpoint; bad ones go on from good ones, changed a little.

    Each trial trains a member for as long as the sweep's command says.  The members' first trials are
    drawn at random.  Then each trial that is over is followed by one of the same member, in the order
    in which they ended: with the same parameters from its own checkpoint or, if it is among the worst
    quarter of the newest N trials, from the checkpoint and with the parameters of one of the best
    quarter, where each number is up to a quarter smaller or larger, and each choice is drawn anew at
    times.
    """

    def __init__(self, detail: str) -> None:
        if not detail.isdigit() or int(detail) < 2:
            sys.exit(f"pbt: expected how many members there are, at least 2, found '{detail}'")
        self.members = int(detail)
        self.over: List[ludwig.Trial] = []  # in the order in which they ended
        ludwig.advise(self.suggest, f"pbt:{detail}",
                      told=lambda _, trial: self.over.append(trial))

    def changed(self, search: ludwig.Search, params: Params, draw: _random.Random) -> Params:
        """The parameters with each number, and some choices, changed."""
        new = dict(params)
        for name, spec in search.params.items():
            if name not in params or draw.random() < (0.75 if spec["kind"] == "choice" else 0.0):
                new[name] = params.get(name, _from_unit(spec, draw.random()))
            elif spec["kind"] == "choice":
                new[name] = draw.choice(spec["choices"])
            else:
                value = params[name] * (1 + draw.choice([-1, 1]) * draw.uniform(0.1, 0.25))
                value = round(value) if spec["kind"] == "int" else value
                new[name] = min(max(value, spec["low"]), spec["high"])
        return _present(search, new)

    def follow(self, search: ludwig.Search, index: int, draw: _random.Random,
               points: Sequence[ludwig.Point]) -> ludwig.Point:
        """What follows the trial that ended as this one in order; points are given with it."""
        trial = self.over[index]
        newest = self.over[max(index + 1 - self.members, 0):index + 1]
        ranked = sorted((one for one in newest if one.value is not None and not one.stopped
                         and len(one.values) == search.reps),
                        key=lambda one: (_loss(search, one), one.id))
        n = max(len(newest) // 4, 1)
        if not ranked:
            return _random_point(search, draw)
        if any(one is trial for one in ranked[:-n] + ranked[:n]):
            return _present(search, trial.params), trial.id
        best = draw.choice(ranked[:n])
        taken = [_key(_present(search, one.params)) for one in search.trials.values()
                 if one.start == best.id]
        taken += [_key(one[0]) for one in points if isinstance(one, tuple) and one[1] == best.id]
        params = self.changed(search, best.params, draw)
        for _ in range(TRIES):  # what was given before would be told again, and no job would train
            if _key(params) not in taken:
                break
            params = self.changed(search, best.params, draw)
        return params, best.id

    def suggest(self, search: ludwig.Search, n: int, seed: int) -> Optional[List[ludwig.Point]]:
        """Draws the first trials; later ones follow those that are over."""
        points: List[ludwig.Point] = []
        for i in range(n):
            draw = _random.Random(seed + i)
            index = len(search.trials) + i - self.members
            if index < 0:
                points.append(_random_point(search, draw))
            elif index < len(self.over):
                points.append(self.follow(search, index, draw, points))
        return points or None


# ---- CMA-ES ----

class Cma:
    """The distribution follows from what was told, a population after the other."""

    def __init__(self, _: str) -> None:
        self.cmaes: Any = importlib.import_module("cmaes")
        self.optimizer: Any = None
        self.over: List[Any] = []
        ludwig.advise(self.suggest, "cma", told=self.told)

    def begin(self, search: ludwig.Search) -> Any:
        """Makes the distribution over the unit cube."""
        numpy = importlib.import_module("numpy")
        n = max(len(search.params), 2)  # of one it knows nothing
        if self.optimizer is None:
            self.optimizer = self.cmaes.CMA(
                mean=numpy.full(n, 0.5), sigma=0.3, seed=search.seed % 2**32,
                bounds=numpy.array([[0.0, 1.0]] * n))
        return numpy

    def suggest(self, search: ludwig.Search, n: int, seed: int) -> List[Params]:
        """Draws from the distribution."""
        self.begin(search)
        self.optimizer.reseed_rng(seed)
        return [_present(search, {name: _from_unit(spec, float(unit)) for (name, spec), unit
                                  in zip(search.params.items(), self.optimizer.ask())})
                for _ in range(n)]

    def told(self, search: ludwig.Search, trial: ludwig.Trial) -> None:
        """Gathers a population; what failed is left out."""
        numpy = self.begin(search)
        loss = _loss(search, trial)
        if loss is None:
            return
        units = [_to_unit(spec, trial.params[name]) if name in trial.params else 0.5
                 for name, spec in search.params.items()]
        units += [0.5] * (self.optimizer.dim - len(units))
        self.over.append((numpy.array(units), loss))
        if len(self.over) == self.optimizer.population_size:
            self.optimizer.tell(self.over)
            self.over = []


# ---- next_runs ----

@dataclasses.dataclass
class Run:
    """A trial as such functions know it."""

    config: Dict[str, Dict[str, Any]]
    state: str
    summary_metrics: Dict[str, float]
    history: List[Dict[str, float]]


class NextRuns:
    """A pure function of all runs, which is asked with all of them each time."""

    def __init__(self, module: str) -> None:
        sys.path.insert(0, "")
        self.next_runs = importlib.import_module(module).next_runs
        ludwig.advise(self.suggest, f"next_runs:{module}")

    def config(self, search: ludwig.Search) -> Dict[str, Any]:
        """The search as a sweep's configuration."""
        parameters: Dict[str, Any] = {}
        for name, spec in search.params.items():
            if spec["kind"] == "choice":
                parameters[name] = {"values": spec["choices"]}
            else:
                parameters[name] = {"min": spec["low"], "max": spec["high"], "distribution": (
                    "q_log_uniform_values" if spec["kind"] == "int" and spec.get("log") else
                    "int_uniform" if spec["kind"] == "int" else
                    "log_uniform_values" if spec["log"] else "uniform")}
        goal = "minimize" if search.goal == "min" else "maximize"
        return {"method": "custom", "parameters": parameters,
                "metric": {"name": search.metric, "goal": goal}}

    def suggest(self, search: ludwig.Search, n: int, seed: int) -> Optional[List[Params]]:
        """Asks the function; a None among the runs ends the search."""
        _random.seed(seed)
        runs = []
        for trial in search.trials.values():
            measures = {} if trial.value is None else {search.metric: trial.value}
            state = ("running" if not trial.is_over(search.reps) else
                     "finished" if measures else "failed")
            runs.append(Run({name: {"value": value} for name, value in trial.params.items()}, state,
                            measures, [measures] if measures else []))
        found = self.next_runs(self.config(search), runs, n)
        return [{name: value["value"] for name, value in run.config.items()}
                for run in found if run is not None]


# ---- gest-api ----

class Gest:
    """A generator with suggest and ingest, or with ask and tell, as it was in older versions."""

    def __init__(self, target: str) -> None:
        module, _, name = target.partition(":")
        sys.path.insert(0, "")
        self.make: Any = getattr(importlib.import_module(module), name)
        self.vocs: Any = importlib.import_module("gest_api.vocs").VOCS
        self.generator: Any = None
        self.left: List[Params] = []  # suggested, and not given yet
        self.asked: Dict[str, Params] = {}  # as the generator suggested them, by parameters
        # Whatever a generator draws with, a new one begins anew from the results alone.
        ludwig.advise(self.suggest, f"gest:{target}", deterministic=False, told=self.told)

    def begin(self, search: ludwig.Search) -> None:
        """Makes the generator."""
        if self.generator is None:
            self.generator = self.make(self.vocs(
                variables={name: self.variable(spec) for name, spec in search.params.items()},
                objectives={search.metric: "MAXIMIZE" if search.goal == "max" else "MINIMIZE"},
                constants=dict(search.fixed)))

    def variable(self, spec: Mapping[str, Any]) -> Any:
        """Choices as a set; others as a range, of the decimal logarithm where it is a log one."""
        if spec["kind"] == "choice":
            return set(spec["choices"])
        if spec.get("log"):
            return [math.log10(spec["low"]), math.log10(spec["high"])]
        return [float(spec["low"]), float(spec["high"])]

    def taken(self, search: ludwig.Search, point: Mapping[str, Any]) -> Params:
        """A suggested point as a configuration."""
        params: Params = {}
        for name, spec in search.params.items():
            value = point[name]
            if spec["kind"] != "choice":
                value = 10 ** float(value) if spec.get("log") else value
                value = min(max(value, spec["low"]), spec["high"])
                value = round(value) if spec["kind"] == "int" else float(value)
            params[name] = value
        return _present(search, params)

    def suggest(self, search: ludwig.Search, n: int, seed: int) -> Optional[List[Params]]:
        """Asks for n points, or for as many as the generator can only give at once."""
        self.begin(search)
        _random.seed(seed)
        suggest = getattr(self.generator, "suggest", None) or self.generator.ask
        if not self.left:
            try:
                self.left = list(suggest(n))
            except ValueError:
                self.left = list(suggest(None))
        points, self.left = self.left[:n], self.left[n:]
        for point in points:
            self.asked[_key(self.taken(search, point))] = dict(point)
        if not points and not all(t.is_over(search.reps) for t in search.trials.values()):
            return None
        return [self.taken(search, point) for point in points]

    def told(self, search: ludwig.Search, trial: ludwig.Trial) -> None:
        """Tells it the value; the standard has no word for what failed."""
        self.begin(search)
        if trial.value is None:
            return
        params = {name: trial.params[name] for name in search.params if name in trial.params}
        mine = self.asked.pop(_key(params), {})  # with the _id that it may have
        point = {**search.fixed, **mine}
        for name, spec in search.params.items():
            if name in params or name not in mine:
                value = params.get(name, _from_unit(spec, 0.5))
                point[name] = math.log10(value) if spec.get("log") else value
        point[search.metric] = trial.value
        (getattr(self.generator, "ingest", None) or self.generator.tell)([point])


ADVISORS = {"random": random, "optuna": Optuna, "pbt": Pbt, "cma": Cma, "next_runs": NextRuns,
            "gest": Gest}


def main() -> None:
    """python3 -m ludwig_advisor NAME[:DETAIL]"""
    name, _, detail = (sys.argv[1] if len(sys.argv) == 2 else "").partition(":")
    if name not in ADVISORS:
        sys.exit("usage: python3 -m ludwig_advisor NAME, one of: random, optuna:tpe (or another "
                 "sampler), pbt:N, cma, next_runs:MODULE, gest:MODULE:NAME")
    ADVISORS[name](detail)


if __name__ == "__main__":
    main()
