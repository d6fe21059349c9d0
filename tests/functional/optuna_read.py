"""optuna_read.py STUDY RESULTS - loads a study that ludwig wrote, and compares it with `results --json` in RESULTS"""

import json
import math
import sys

import optuna
from optuna.trial import TrialState

try:
    from optuna.storages.journal import JournalFileBackend  # its name since 4.0
except ImportError:
    from optuna.storages import JournalFileStorage as JournalFileBackend
storage = optuna.storages.JournalStorage(JournalFileBackend(sys.argv[1]))
results = json.load(open(sys.argv[2]))
[summary] = optuna.get_all_study_summaries(storage)
study = optuna.load_study(study_name=summary.study_name, storage=storage)
assert study.study_name == "demo, sweep 1", study.study_name
assert study.direction == optuna.study.StudyDirection.MINIMIZE
assert study.user_attrs == {"epochs": 3}, study.user_attrs
assert storage.get_study_system_attrs(study._study_id)["study:metric_names"] == ["loss"]
rows = {r["param_name"]: r for r in results["results"]}
assert len(study.trials) == len(rows) == 24
states = set()
for trial in study.trials:
    row = rows[trial.user_attrs["configuration"]]
    params = {k: json.dumps(v, separators=(",", ":")) if isinstance(v, list) else v
              for k, v in row["params"].items() if k != "epochs"}
    assert trial.params == params, (trial.params, params)
    assert trial.user_attrs["jobs"].split() == row["jobs"]
    states.add(trial.state)
    if row["n"] == 0 or row["metrics"]["loss"]["mean"] is None:
        assert trial.state == TrialState.FAIL and trial.value is None
    else:
        assert trial.state == TrialState.COMPLETE and trial.value == row["metrics"]["loss"]["mean"]
        assert trial.user_attrs["accuracy"] == row["metrics"]["accuracy"]["mean"]
        wanted = {s: row["params"]["lr"] / s + 0.5 for s in (1, 2, 3)}
        assert list(trial.intermediate_values) == [1, 2, 3]
        assert all(math.isclose(trial.intermediate_values[s], wanted[s], abs_tol=1e-5) for s in wanted)
        assert trial.duration.total_seconds() >= 0
    trial._validate()
assert states == {TrialState.COMPLETE, TrialState.FAIL}
assert study.best_trial.user_attrs["configuration"] == next(r["param_name"] for r in results["results"] if r["best"])
kinds = {name: type(d).__name__ for t in study.trials for name, d in t.distributions.items()}
assert kinds == {"lr": "FloatDistribution", "width": "IntDistribution", "opt": "CategoricalDistribution",
                 "</script>": "CategoricalDistribution", "layers": "CategoricalDistribution",
                 "momentum": "FloatDistribution"}, kinds
assert study.trials[0].distributions["lr"].log
# Optuna can continue the study.
study.enqueue_trial(study.best_params)
space = study.trials[0].distributions["lr"]
study.optimize(lambda trial: trial.suggest_float("lr", space.low, space.high, log=True), n_trials=1)
assert len(study.trials) == 25
