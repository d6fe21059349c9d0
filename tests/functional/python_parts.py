# python_parts.py CLIENT_PYTHON - tests the parts of client/python that need no program; run by python.sh
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, sys.argv.pop(1))

import ludwig
import ludwigcluster

try:
    import pandas
except ImportError:
    pandas = None


class Number:
    """A number with the attributes of numpy's scalars."""

    dtype = "float64"

    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value

    def __float__(self):
        return float(self.value)


class Whole(Number):
    def __index__(self):
        return self.value


class Series:
    """A column like a pandas.Series."""

    def __init__(self, name, values):
        self.name, self.values = name, values

    def to_csv(self, f, index, header):
        assert index is True
        f.write("," + ",".join(header) + "\n")
        f.writelines(f"{i},{value}\n" for i, value in enumerate(self.values))


class Place(unittest.TestCase):
    """A test in a folder of its own, without ludwig's variables."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(os.path.realpath(folder.name))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LUDWIG_")}
        patch = mock.patch.dict(os.environ, clean, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def as_job(self, **variables):
        os.environ.update({f"LUDWIG_{name}": str(value) for name, value in variables.items()},
                          LUDWIG_ATTEMPT="0" * 32)

    def refused(self, pattern, kind=ludwig.UsageError):
        return self.assertRaisesRegex(kind, pattern)


class TextTest(Place):
    def test_values_are_one_line_of_json(self):
        for value, wanted in [
            ({"a": (1, 1.0, "1", None, True)}, '{"a": [1, 1.0, "1", null, true]}'),
            ({"n": Number(0.5), "l": Number([1, 2]), "p": Path("a") / "b"},
             '{"n": 0.5, "l": [1, 2], "p": "a/b"}'),
            (types.MappingProxyType({"a": 1}), '{"a": 1}'),
            ("a\n\x7f\x85\u2028\ufeff\U0001f600é", '"a\\n\\u007f\\u0085\\u2028\\ufeff\U0001f600é"'),
        ]:
            self.assertEqual(ludwig._text(value, "x"), wanted)

    def test_what_is_no_value_is_refused(self):
        loop = []
        loop.append(loop)
        for value, wanted in [({"a": {1, 2}}, "x: a set cannot be a value"),
                              ({"a": object()}, "x: a object cannot be a value"),
                              ({"a": [{1: 2}]}, "x: 1 is no name: names are text"),
                              ({"a": "\ud800"}, "x: .*surrogates not allowed")]:
            with self.refused(wanted):
                ludwig._text(value, "x")

    def test_errors_tell_of_what_was_given(self):
        text = ("/t/list:3:1: the same configuration as in line 1 (1 and 1.0 are the same)\n"
                '    3 | {"lr": 1}\n'
                "      | ^\n"
                "/t/list:4:8: nested too deep\n"
                "<stdin>:2:10: resources: cpus: expected a number\n"
                '    2 | resources: {"cpus": "x"}\n'
                "      |          ^\n"
                "and 2 more")
        self.assertEqual(
            ludwig._without_places(text, "/t/list"),
            "param2val_list[2]: the same configuration as param2val_list[0] (1 and 1.0 are the same)\n"
            "param2val_list[3]: nested too deep\n"
            "resources: cpus: expected a number\n"
            "and 2 more")

    def test_of_stderr_the_error_is_taken(self):
        self.assertEqual(ludwig._error_text("note: x\nludwig: one\n   1 | a\nludwig: two\n"),
                         "one\n   1 | a\ntwo")
        self.assertEqual(ludwig._error_text("sweep 1: all done\n"), "")

    def test_rows_become_flat(self):
        row = {"param_name": "param_001", "n": 2, "params": {"lr": 0.1, "n": 5},
               "metrics": {"acc": {"mean": 0.9, "std": None}}}
        self.assertEqual(ludwig._flat(row), {"param_name": "param_001", "n": 2, "lr": 0.1,
                                             "params.n": 5, "acc_mean": 0.9, "acc_std": None})


class ClientTest(Place):
    def test_a_sweep_file_has_a_line_for_each_key(self):
        (self.folder / "model").mkdir()
        client = ludwig.Client("p")
        text = client._sweep_file({"command": "x {lr}", "src_ps": ["train.py", self.folder / "model"],
                                   "data_ps": ["d.csv", "/abs/./x", {"share": "s"}], "reps": 2,
                                   "name": None, "env": {"A": "1"}})
        self.assertEqual(text, 'project: "p"\ncommand: "x {lr}"\nreps: 2\nenv: {"A": "1"}\n'
                               'source: ["train.py", "model"]\n'
                               f'data: ["{self.folder}/d.csv", "/abs/x", {{"share": "s"}}]\n')
        self.assertEqual(ludwig.Client()._sweep_file({"command": "x", "src_ps": [], "data_ps": []}),
                         'command: "x"\nsource: []\n')

    def test_paths_begin_in_the_folder(self):
        (self.folder / "a" / "b").mkdir(parents=True)
        (self.folder / "link").symlink_to("a", target_is_directory=True)
        client = ludwig.Client(folder="link")
        self.assertEqual(client._source("b"), "b")
        self.assertEqual(client._source(self.folder / "a" / "b"), "b")
        self.assertEqual(client._source(self.folder / "link" / "b"), "b")
        self.assertEqual(client._source("."), ".")
        with self.refused("src_ps: ../x does not lie below"):
            client._source("../x")
        with self.refused("there is no folder .*/nowhere"):
            ludwig.Client(folder="nowhere")

    def test_configurations_are_checked(self):
        for configs, wanted in [([{}, 7], r"param2val_list\[1\]: expected a dict, found a int"),
                                ([{"a": {1}}], r"param2val_list\[0\]: a set cannot be a value")]:
            with self.refused(wanted):
                ludwig._write_list("list", configs)
        ludwig._write_list("list", ({"i": i} for i in range(3)))
        self.assertEqual(Path("list").read_text(), '{"i": 0}\n{"i": 1}\n{"i": 2}\n')

    def test_an_unknown_keyword_is_refused(self):
        with self.assertRaisesRegex(TypeError, "submit has no keyword 'rep'"):
            ludwig.Client().dry_run(command="x", param2val_list=[], rep=2)

    def test_a_program_that_is_not_there_is_told(self):
        with self.refused("cannot run /no/ludwig: No such file", ludwig.LudwigError):
            ludwig.Client(ludwig="/no/ludwig").sweeps()


class JobTest(Place):
    def test_what_a_job_sees(self):
        Path("param2val.json").write_text('{"lr": 1, "l": [1.0]}')
        self.as_job(PARAM2VAL="param2val.json", SAVE_PATH=self.folder / "save", DATA="/data",
                    CHECKPOINT=self.folder / "c", RESTART=2, REP=3, SEED=4, JOB="7.13",
                    JOB_NAME="n", PARAM_NAME="param_001", PROJECT_PATH="/share/p")
        self.assertTrue(ludwig.in_job())
        self.assertEqual(ludwig.param2val(), {"lr": 1, "l": [1.0]})
        self.assertEqual(ludwig.param2val({"lr": 2, "hidden": 16}), {"lr": 1, "l": [1.0], "hidden": 16})
        self.assertEqual(ludwig.save_path("elsewhere"), self.folder / "save")
        self.assertEqual(ludwig.checkpoint(), self.folder / "c")
        self.assertTrue((self.folder / "c").is_dir())
        self.assertEqual(ludwig.data_path("digits.csv", default="here"), Path("/data/digits.csv"))
        self.assertEqual((ludwig.restart(), ludwig.rep(), ludwig.seed()), (2, 3, 4))
        self.assertEqual((ludwig.job(), ludwig.job_name(), ludwig.param_name()),
                         ("7.13", "n", "param_001"))
        self.assertEqual(ludwig.project_path(), Path("/share/p"))

    def test_by_hand_there_are_defaults(self):
        self.assertFalse(ludwig.in_job())
        self.assertEqual(ludwig.param2val({"lr": 2}), {"lr": 2})
        self.assertEqual(ludwig.save_path("results"), Path("results"))
        self.assertTrue(Path("results").is_dir())
        self.assertEqual(ludwig.data_path("a", default="b"), Path("b"))
        self.assertEqual((ludwig.restart(), ludwig.rep(), ludwig.seed(9)), (0, 0, 9))
        ludwig.report(accuracy=1)
        for function in (ludwig.param2val, ludwig.save_path, ludwig.data_path, ludwig.checkpoint,
                         ludwig.project_path, ludwig.job, ludwig.job_name, ludwig.param_name):
            with self.refused(r"^\w+\(\) works in a job only \(\$LUDWIG_\w+ is not set\)",
                              ludwig.LudwigError):
                function()

    def test_reports_are_lines(self):
        self.as_job(METRICS="m")
        ludwig.report(accuracy=0.93, step=4)
        ludwig.report({"val/acc": Number(0.5), "n": Whole(3)}, loss=float("nan"), big=2**70)
        ludwig.report(right=True, step=Whole(7))
        lines = Path("m").read_text().splitlines()
        self.assertEqual(lines[0], '{"accuracy": 0.93, "step": 4}')
        self.assertEqual(lines[1], '{"val/acc": 0.5, "n": 3, "loss": NaN, "big": 1.1805916207174113e+21}')
        self.assertEqual(lines[2], '{"right": 1, "step": 7}')
        for call, wanted in [(lambda: ludwig.report(accuracy="0.9"), "accuracy='0.9': expected a number"),
                             (lambda: ludwig.report(a=None), "a=None: expected a number"),
                             (lambda: ludwig.report(done=1), "'done' cannot be the name"),
                             (lambda: ludwig.report({"": 1}), "'' cannot be the name"),
                             (lambda: ludwig.report(a=1, step=-1), "step=-1: expected a whole number")]:
            with self.refused(wanted):
                call()
        with self.assertRaises(TypeError):
            ludwig.report(a=1, step=1.5)
        self.assertEqual(len(Path("m").read_text().splitlines()), 3)

    def test_the_jobs_of_a_batch(self):
        item = {"job": "7.1", "param_name": "param_001", "job_name": "n", "rep": 0, "seed": 5,
                "restart": 1, "params": {"lr": 1}, "param2val": "/x", "save_path": "/s",
                "checkpoint": "/c", "later": 1}
        Path("chunk.json").write_text(json.dumps([item, {**item, "job": "7.2"}]))
        self.as_job(CHUNK=self.folder / "chunk.msgpack", METRICS="m")
        first, second = ludwig.chunk()
        self.assertEqual((first.param2val, first.save_path, first.restart), ({"lr": 1}, Path("/s"), 1))
        first.report(accuracy=1, step=2)
        first.done()
        second.failed(ValueError("loss is nan"))
        self.assertEqual(re.sub(r', "log": \[\d+, \d+\]', "", Path("m").read_text()),
                         '{"job": "7.1", "accuracy": 1, "step": 2}\n{"job": "7.1", "done": true}\n'
                         '{"job": "7.2", "failed": "loss is nan"}\n')
        for function in (ludwig.param2val, ludwig.save_path, ludwig.rep):
            with self.refused("this process works through several: see chunk", ludwig.LudwigError):
                function()
        with self.refused("several jobs: report by those of chunk", ludwig.LudwigError):
            ludwig.report(a=1)


class ClusterTest(Place):
    def params(self, **dictionaries):
        module = types.ModuleType("params")
        module.__dict__.update({"param2requests": {}, "param2default": {}, **dictionaries})
        return module

    def test_the_first_parameter_turns_fastest(self):
        configs = ludwigcluster.gen_all_param2vals({"a": [1, 2], "c": ["x", "y"]},
                                                   {"a": 0, "b": (1, 0), "c": "z"})
        self.assertEqual([list(config.values()) for config in configs],
                         [[1, (1, 0), "x"], [2, (1, 0), "x"], [1, (1, 0), "y"], [2, (1, 0), "y"]])

    def test_requests_are_checked(self):
        for requests, wanted in [({"a": (1, 2)}, "must be a list"), ({"a": []}, "is an empty list"),
                                 ({"b": [1]}, "has no default in param2default")]:
            with self.refused(wanted, ludwigcluster.ProjectError):
                list(ludwigcluster.gen_all_param2vals(requests, {"a": 1}))
        with self.refused(r"param2requests\['a'\] has \(1, 0\) twice", ludwigcluster.ProjectError):
            ludwigcluster._configurations(
                self.params(param2requests={"a": [(1, 0), 2, (1, 0)]}, param2default={"a": 1}), False)

    def test_values_have_the_types_of_params_py_again(self):
        path = Path("x")
        params = self.params(
            param2requests={"t": [(1, (2, 3)), ()], "l": [[1], [2]], "n": [1, 1.5], "p": [path]},
            param2default={"t": None, "l": None, "n": 2.0, "p": None, "b": True, "d": {"k": (1,)}},
            param2debug={"n": 7})
        given = {"t": [1, [2, 3]], "l": [2], "n": 1.5, "p": "x", "b": True, "d": {"k": [1]},
                 "unknown": [1, [2]]}
        restored = ludwigcluster.restore(given, params)
        self.assertEqual(restored, {"t": (1, (2, 3)), "l": [2], "n": 1.5, "p": path, "b": True,
                                    "d": {"k": (1,)}, "unknown": (1, (2,))})
        self.assertEqual(repr(ludwigcluster.restore({"n": 2}, params)["n"]), "2.0")
        restored["d"]["k"] = 0
        self.assertEqual(params.param2default["d"], {"k": (1,)})

    def test_series_become_csv(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            ludwigcluster._save_series(self.folder, [Series("loss", [0.5, 0.25]), 7, Series(None, [])])
            ludwigcluster._save_series(self.folder, None)
        self.assertEqual(Path("loss.csv").read_text(), ",loss\n0,0.5\n1,0.25\n")
        self.assertEqual(os.listdir(), ["loss.csv"])
        self.assertIn("a int is left out", said.getvalue())
        self.assertIn("did not return any results", said.getvalue())

    @unittest.skipIf(pandas is None, "there is no pandas")
    def test_series_of_pandas_become_csv(self):
        series = pandas.Series([0.5, 0.25], index=[1, 2])
        series.name = "loss"
        ludwigcluster._save_series(self.folder, [series])
        self.assertEqual(Path("loss.csv").read_text(), ",loss\n1,0.5\n2,0.25\n")
        table = ludwig._dataframe([ludwig._flat({"n": 1, "params": {"lr": 0.1}})])
        self.assertEqual(list(table.columns), ["n", "lr"])

    @unittest.skipIf(pandas is not None, "pandas is here")
    def test_without_pandas_a_dataframe_is_refused(self):
        with self.refused("a DataFrame needs pandas", ludwig.LudwigError):
            ludwig._dataframe([])

    def test_results_are_found_by_their_configuration(self):
        for number, params, jobs in [(1, {"a": 1, "t": [1, 0]}, 2), (2, {"a": 2, "t": [1, 0]}, 1),
                                     (3, {"a": 3, "t": [1, 0]}, 1), (4, {"a": 1}, 0)]:
            for rep in range(jobs):
                folder = Path(f"runs/param_{number:03}/20261121-101500_num{rep}")
                folder.mkdir(parents=True)
                (folder / "job.json").write_text(json.dumps({"params": params}))
        words = ({"a": [1, 3]}, {"a": 0, "t": (1, 0)})
        found = list(ludwigcluster.gen_param_paths("P", *words, runs_path=Path("runs"),
                                                   label_params=["t"], verbose=False))
        self.assertEqual(found, [(Path("runs/param_001"), "a=1\nt=(1, 0)\nn=2"),
                                 (Path("runs/param_003"), "a=3\nt=(1, 0)\nn=1")])
        with self.assertRaisesRegex(SystemExit, "found 1 but requested 2"):
            list(ludwigcluster.gen_param_paths("P", {"a": [2, 7]}, words[1], isolated=True, verbose=False))
        with self.assertRaisesRegex(FileNotFoundError, "Q/runs does not exist"):
            list(ludwigcluster.gen_param_paths("Q", *words, ludwig_data_path=self.folder))


if __name__ == "__main__":
    unittest.main(verbosity=0)
