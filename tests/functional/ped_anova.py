"""ped_anova.py [--optuna] RESULTS IMPORTANCE - checks `ludwig results --importance --json`

Computes PED-ANOVA (arXiv:2304.10255, with the kernels of Optuna's evaluator) from RESULTS by code that is
independent of the C code or, with --optuna, by Optuna."""

import json
import math
import sys

STEPS = 50


def trials(results):
    metric, sign = results["metric"], -1 if results["goal"] == "max" else 1
    return [(r["params"], sign * r["metrics"][metric]["mean"]) for r in results["results"] if metric in r["metrics"]]


def kind_of(values):
    """The kind of axis, as client/importance/axis.h says: choices, or a range with its scale."""
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    different = sorted(set(values)) if numbers else sorted(set(values), key=repr)
    if not numbers or (len(different) <= 10 and 2 * len(different) <= len(values)):
        return "choice", different
    low, high, n = different[0], different[-1], len(different)
    middle = (different[n // 2] + different[(n - 1) // 2]) / 2
    is_log = low > 0 and high / low >= 10 and (
        abs(math.log(middle / low) / math.log(high / low) - 0.5) < abs((middle - low) / (high - low) - 0.5))
    whole = all(isinstance(v, int) for v in values)
    return ("whole" if whole else "real", is_log, low, high)


def cells(values, kind):
    if kind[0] == "choice":
        return len(kind[1]), [kind[1].index(v) for v in values]
    what, is_log, low, high = kind
    n = STEPS
    if what == "whole":
        n = min(n, math.ceil(math.log2(high - low + 1)) + 1 if is_log else high - low + 1)
    scale = math.log if is_log else float
    step = (scale(high) - scale(low)) / (n - 1)
    grid = [scale(low) + k * step for k in range(n)]
    return n, [next((k for k, g in enumerate(grid) if g >= scale(v) - step / 2), n - 1) for v in values]


def density_of_choices(counts):
    n, kernels = sum(counts), [k for k, c in enumerate(counts) if c]
    total = []
    for x in range(len(counts)):
        p = (1 / len(counts)) / (n + 1)
        for k in kernels:
            row = [1 / (len(kernels) + 1) + (j == k) for j in range(len(counts))]
            p += counts[k] / (n + 1) * row[x] / sum(row)
        total.append(p)
    return total


def density_in_order(counts):
    def below(x, centre, width):
        return (1 + math.erf((x - centre) / width / math.sqrt(2))) / 2

    def kernel(x, centre, width):
        inside = below(len(counts) - 0.5, centre, width) - below(-0.5, centre, width)
        return (below(x + 0.5, centre, width) - below(x - 0.5, centre, width)) / inside

    places = [k for k, c in enumerate(counts) for _ in range(c)]
    n, mean = len(places), sum(places) / len(places)
    deviation = math.sqrt(sum((p - mean) ** 2 for p in places) / max(1, n - 1))
    # The quartiles as Optuna's searchsorted(left) and searchsorted(right) on cumulated counts give them.
    quarter = places[max(0, n // 4 - 1)]
    three = places[min(n - 1, n * 3 // 4)]
    width = max(1.059 * min((three - quarter) / 1.34, deviation) * n ** -0.2, 0.5 / 1.64)
    return [(sum(kernel(x, p, width) for p in places) + kernel(x, (len(counts) - 1) / 2, len(counts))) / (n + 1)
            for x in range(len(counts))]


def reference(all_trials, n_top):
    limit = sorted(cost for _, cost in all_trials)[n_top - 1]
    found = {}
    for name in all_trials[0][0]:
        values = [params[name] for params, _ in all_trials]
        if len(set(map(repr, values))) == 1:
            continue
        kind = kind_of(values)
        n, places = cells(values, kind)
        counts, top = [0] * n, [0] * n
        for place, (_, cost) in zip(places, all_trials):
            counts[place] += 1
            top[place] += cost <= limit
        density = density_of_choices if kind[0] == "choice" else density_in_order
        found[name] = sum((p + 1e-12) * ((q + 1e-12) / (p + 1e-12) - 1) ** 2
                          for p, q in zip(density(counts), density(top)))
    return {name: value / sum(found.values()) for name, value in found.items()}


def by_optuna(all_trials, n_top):
    import optuna
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    def distribution(values):
        kind = kind_of(values)
        if kind[0] == "choice":
            return CategoricalDistribution(kind[1])
        return (IntDistribution if kind[0] == "whole" else FloatDistribution)(kind[2], kind[3], log=kind[1])

    space = {name: distribution([params[name] for params, _ in all_trials]) for name in all_trials[0][0]}
    study = optuna.create_study()
    for params, cost in all_trials:
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=cost))
    # The middle between two trials, so that rounding does not move the limit.
    quantile = (n_top - 0.5) / len(all_trials)
    try:
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(baseline_quantile=quantile)
    except TypeError:  # its name since 4.6
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=quantile)
    found = evaluator.evaluate(study)
    return {name: value / sum(found.values()) for name, value in found.items()}


def main():
    words = sys.argv[1:]
    work_out = by_optuna if words[0] == "--optuna" else reference
    results, importance = (json.load(open(path)) for path in words[-2:])
    all_trials = trials(results)
    assert importance["configs"] == len(all_trials) and importance["top"] == math.ceil(len(all_trials) / 10)
    wanted = work_out(all_trials, importance["top"])
    found = {p["param"]: p["importance"] for p in importance["importance"]}
    print(found)
    assert set(found) == set(wanted), wanted
    for name in found:
        assert abs(found[name] - wanted[name]) < 1e-6, (name, found[name], wanted[name])
    assert list(found) == sorted(found, key=found.get, reverse=True)


main()
