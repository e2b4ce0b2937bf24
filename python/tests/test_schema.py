"""What Kerf writes against the schemas of docs/schema."""

import copy
import glob
import importlib.util
import json
import os
import subprocess
import tempfile
import unittest

import jsonschema
import numpy as np

import kerf

from .common import MIXED, ROOT, command

FOLDER = os.path.join(ROOT, "docs", "schema")


def read(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def schemas():
    """Validators by what documents call themselves; plans have a number instead."""
    found = {}
    for name in sorted(os.listdir(FOLDER)):
        s = read(os.path.join(FOLDER, name))
        jsonschema.Draft202012Validator.check_schema(s)
        key = s["properties"].get("schema", {}).get("const", "plan")
        stem = name[: -len(".json")]
        assert key in ("plan", "kerf-device-profile") or key == "kerf." + stem.rsplit("-", 1)[0] + "/" + stem.rsplit("-", 1)[1], name
        found[key] = jsonschema.Draft202012Validator(s)
    return found


def onnx_runtime():
    """The library of the Python package, which scripts/setup.sh --dev installs."""
    package = importlib.util.find_spec("onnxruntime")
    assert package, "onnxruntime is not installed: run scripts/setup.sh --dev"
    return glob.glob(os.path.join(package.submodule_search_locations[0], "capi", "libonnxruntime.so*"))[0]


class Documents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schemas = schemas()
        cls.seen = set()
        cls.folder = tempfile.TemporaryDirectory()
        d = cls.folder.name
        x = np.random.default_rng(7).uniform(1, 2, 128)
        w = kerf.Workload(MIXED, "mixed", 1, 128, [x, kerf.Out(np.zeros(128)), 128], tolerance=1e-5)
        cls.workload, cls.out = w, os.path.join(d, "result")
        kerf.tune(w, out=cls.out, budget=3, what="precision", formats="f32", validate=2, progress=False)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def fits(self, document):
        key = document.get("schema", "plan")
        self.assertIn(key, self.schemas, "no schema")
        errors = [f"{e.json_path}: {e.message[:200]}" for e in self.schemas[key].iter_errors(document)]
        self.assertEqual(errors, [], key)
        self.seen.add(key)

    def test_every_document(self):
        self.files_of_a_result()
        self.what_commands_print()
        self.answers_to_jobs()
        self.assertEqual(set(self.schemas), self.seen)

    def answers_to_jobs(self):
        jobs = [["run", self.workload.path], ["run", "none.toml"], ["inspect", self.workload.source], ["doctor"]]
        lines = [json.dumps({"id": i, "arguments": words}) for i, words in enumerate(jobs)]
        o = subprocess.run([kerf.program(), "serve"], input="\n".join([*lines, "no job"]), capture_output=True, text=True)
        answers = [json.loads(line) for line in o.stdout.splitlines()]
        self.assertEqual(sorted(str(a["id"]) for a in answers), ["0", "1", "2", "3", "None"])
        for a in answers:
            self.fits(a)
            self.assertEqual(a["document"] is None, a["error"] is not None)
            if a["document"] is not None:
                self.fits(a["document"])

    def files_of_a_result(self):
        for name in ["result.json", "evidence.json", "space.json", "plan.json"]:
            self.fits(read(os.path.join(self.out, name)))
        data = os.path.join(ROOT, "crates", "kerf-report", "tests", "data")
        for name in ["result.json", "evidence.json"]:
            self.fits(read(os.path.join(data, name)))

    def what_commands_print(self):
        source = os.path.join(self.folder.name, "mixed.cu")
        with open(source, "w") as f:
            f.write(MIXED)
        toml = os.path.join(self.folder.name, "mixed.toml")
        space = os.path.join(self.out, "space.json")
        output = self.workload.outputs[0]
        recorded = os.path.join(ROOT, "crates", "kerf-search", "tests", "data", "pnpoly_rtx3090_part.json.gz")
        cases = os.path.join(self.folder.name, "log.wc")
        for words in [
            ["inspect", source],
            ["init", source, "--out", toml],
            ["run", self.workload.path, "--reference", "--count"],
            ["run", self.workload.path, "--save", self.folder.name],
            ["run", self.workload.path, "--answer", f"{output}={os.path.join(self.folder.name, output)}.npy"],
            ["predict", self.workload.path],
            ["report", self.out],
            ["report", self.out, "--evaluations"],
            ["explain", self.out],
            ["check", self.out, "--inputs", "2"],
            ["doctor"],
            *self.judgements(),
            ["selftest", "--count", "2"],
            ["patch", self.out, "--inputs", "1"],
            ["search", "replay", space, "--strategy", "random", "--budget", "2", "--repeats", "2"],
            ["search", "replay", recorded, "--strategy", "random,local", "--budget", "5", "--repeats", "2"],
            ["search", "compare", space, "--strategy", "guided,random", "--budget", "2", "--repeats", "2"],
            ["search", "show", space],
            ["search", "show", recorded],
            ["search", "score", space, self.workload.path, "--out", os.path.join(self.folder.name, "scored.json")],
            ["search", "race", recorded],
            ["search", "export", self.out, "--to", "t4", "--out", os.path.join(self.folder.name, "t4.json")],
            ["study", "list"],
            ["study", "latency", "--profile", "h200"],
            ["study", "sfu-functions", "--profile", "h200"],
            ["device", "list"],
            ["device", "diff", "h100", "h200"],
            ["device", "show", "rtx4090"],
            ["device", "occupancy", "--arch", "9.0", "--regs", "64", "--block", "256"],
            ["device", "occupancy", "--arch", "8.0", "--regs", "32"],
            ["device", "breakeven", "h100", "rtx4090"],
            ["hardround", "exp", "--from", "1", "--to", "0x1.00001p0", "--bits", "30"],
            ["hardround", "log", "--from", "1", "--to", "0x1.000001p0", "--bits", "34", "--out", cases],
            ["hardround", "verify", cases + ".cert"],
            ["hardround", "check-libm", "--list", cases, "log"],
            ["hardround", "check-libm", "--list", cases, "log", "--library", "libm.so.6"],
            ["hardround", "exp", "--type", "binary16"],
            ["function", "exp", "--from", "-1", "--to", "0", "--error", "1e-6"],
            *self.applications(),
            *self.networks(),
        ]:
            code, out, err = command("--format", "json", *words)
            self.assertIn(code, (0, 1), err)
            self.fits(json.loads(out))

    def judgements(self):
        """A wrong kernel and a right one, alone and as a suite."""
        kernels = os.path.join(ROOT, "crates", "kerf", "tests", "judge", "blur")
        suite = os.path.join(self.folder.name, "suite", "blur")
        os.makedirs(suite)
        for name, to in [("original.cu", "original.cu"), ("w.toml", "w.toml"), ("wrong_edge.cu", "candidate.cu")]:
            with open(os.path.join(kernels, name)) as f, open(os.path.join(suite, to), "w") as g:
                g.write(f.read())
        workload = ["--workload", os.path.join(kernels, "w.toml"), "--seeds", "0"]
        return [
            ["judge", os.path.join(kernels, "wrong_edge.cu"), *workload],
            ["judge", os.path.join(kernels, "right_tiled.cu"), *workload, "--device", "cpu"],
            ["judge", "--suite", os.path.dirname(suite), "--no-time", "--seeds", "0"],
        ]

    def networks(self):
        """A network, trained for an epoch on images that are drawn."""
        run = os.path.join(self.folder.name, "network")
        onnx = os.path.join(self.folder.name, "network.onnx")
        train = ["quantize", "train", "--data", "stripes", "--epochs", "1", "--batch", "128", "--held-out", "0.1", "--out", run]
        return [
            train,
            ["quantize", "eval", run],
            ["quantize", "sensitivity", run],
            ["quantize", "tune", run, "--max-drop", "20%", "--budget", "4"],
            ["quantize", "export", run, "--onnx", onnx],
            ["quantize", "infer", run, "--library", onnx_runtime()],
            ["quantize", "methods"],
        ]

    def applications(self):
        """A small application, built and tuned."""
        source = os.path.join(ROOT, "crates", "kerf", "tests", "apps", "tiny.cu")
        built = os.path.join(self.folder.name, "tiny")
        code, _, err = command("cc", source, "-o", built)
        if code != 0 and "libkerfrt.so" in err:
            self.seen.add("kerf.tune-app/1")
            return []
        self.assertEqual(code, 0, err)
        out = os.path.join(self.folder.name, "app")
        return [["tune", "--app", built, "--tolerance", "1e-5", "--budget", "2", "--kernels", "series", "--out", out]]

    def test_schemas_refuse(self):
        """A schema that takes everything would test nothing."""
        good = read(os.path.join(self.out, "result.json"))

        def refused(change):
            bad = copy.deepcopy(good)
            change(bad)
            return next(self.schemas["kerf.tune/1"].iter_errors(bad), None) is not None

        for change in [
            lambda r: r.update(schema="kerf.tune/2"),
            lambda r: r.update(verdict="good"),
            lambda r: r.pop("front"),
            lambda r: r["speedup"].update(value="fast"),
            lambda r: r["groups"][0].update(formats=[]),
            lambda r: r["sites"][0].update(line="three"),
        ]:
            self.assertTrue(refused(change))


if __name__ == "__main__":
    unittest.main()
