# SPDX-License-Identifier: Apache-2.0
"""Metrics by name equal sklearn's and torchmetrics' (test/refs/make_metrics.py), for any number of ranks; the best checkpoint and the end
by patience are those of a run that was not interrupted."""

import hashlib
import json
import os
import shutil

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CASES = {"classes": dict(loss="cross_entropy"), "image": dict(loss="cross_entropy", ignore_index=-100), "binary": dict(loss="bce"),
         "probability": dict(loss="bce"), "labels": dict(loss="bce"), "values": dict(loss="mse")}


class Metrics(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.arrays = dict(np.load(os.path.join(dlc.REFS, "metrics_ref.npz")))

    def model(self, shape, after=None, name="m.onnx"):
        """x times a weight of 1, behind it `after`."""
        shape = ["batch", *shape]
        info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("input", "out")]
        nodes = [helper.make_node("Mul", ["input", "out.weight"], ["product" if after else "out"])]
        if after:
            nodes.append(helper.make_node(after, ["product"], ["out"]))
        weight = numpy_helper.from_array(np.ones(1, np.float32), "out.weight")
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", info[:1], info[1:], [weight]),
                                    opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path(name))
        return self.path(name)

    def case(self, name, **options):
        x, y = self.arrays[name + "/x"], self.arrays[name + "/y"]
        np.savez(self.path("d.npz"), x=x, y=y)
        source = self.model(x.shape[1:], "Sigmoid" if name == "probability" else None)
        return dlc.compile(source, self.path("m.dlc"), **dict(batch=8, quiet=True) | CASES[name] | options)

    def expected(self, name):
        head = name + "/is/"
        return {key[len(head):]: value for key, value in self.arrays.items() if key.startswith(head)}

    def test_as_sklearn(self):
        for name in CASES:
            expected = self.expected(name)
            found = dlc.evaluate(self.case(name), self.path("d.npz"), metrics=",".join(expected))
            for metric, value in expected.items():
                with self.subTest(case=name, metric=metric):
                    np.testing.assert_allclose(found[metric], value, 2e-6, 1e-12)
            shutil.rmtree(self.path("m.dlc"))

    def test_tables(self):
        artifact, expected = self.case("classes"), self.expected("classes")
        found = dlc.evaluate(artifact, self.path("d.npz"), metrics="f1,recall,confusion")
        rows = expected["confusion"].sum(1)
        self.assertEqual(found["classes"]["rows"], rows.tolist())
        np.testing.assert_allclose(rows @ found["classes"]["recall"] / rows.sum(), expected["recall.weighted"])
        text, _ = dlc.dlc("eval", artifact, data=self.path("d.npz"), metrics="f1,confusion")
        self.assertIn(f"f1 {float(expected['f1.macro']):.6g}", text)
        self.assertRegex(text, r"\n +class +f1 +rows\n +0 +0\.\d{4} +" + str(rows[0]))
        line = "".join(f" {n:>6}" for n in expected["confusion"][1])
        self.assertIn(f"\n       1{line}\n", text)

    def test_beyond_the_limit_curves_are_binned(self):
        """Of 5 million scores."""
        random = np.random.default_rng(1)
        y = random.integers(0, 2, (1250, 4096)).astype(np.float32)
        x = random.normal(size=y.shape).astype(np.float32) + y
        np.savez(self.path("d.npz"), x=x, y=y)
        artifact = dlc.compile(self.model([4096]), self.path("m.dlc"), loss="bce", batch=250, quiet=True)
        found = dlc.evaluate(artifact, self.path("d.npz"), metrics="auc")
        self.assertTrue(found["binned"])
        self.assertAlmostEqual(found["auc"], 0.7602, places=2)  # of normal scores a unit apart
        few = {key: value[:100] for key, value in (("x", x), ("y", y))}
        np.savez(self.path("d.npz"), **few)
        self.assertNotIn("binned", dlc.evaluate(artifact, self.path("d.npz"), metrics="auc"))

    def test_over_ranks(self):
        """The last line of epochs.jsonl, by two ranks, is what dlc eval says, bit by bit."""
        for name in "classes", "image", "labels", "values":
            expected = [metric for metric in self.expected(name) if metric != "confusion"]
            artifact = self.case(name, ddp=2, batch=4, lr=0.001)
            run = self.path(name)
            dlc.train(artifact, self.path("d.npz"), run, val=self.path("d.npz"), metrics=",".join(expected), steps=2, quiet=True)
            with open(os.path.join(run, "epochs.jsonl")) as file:
                line = json.loads(file.readlines()[-1])
            found = dlc.evaluate(run, self.path("d.npz"), metrics=",".join(expected))
            for metric in expected:
                self.assertEqual(line["val_" + metric], found[metric], (name, metric))
            shutil.rmtree(artifact)

    def test_errors(self):
        artifact = self.case("classes")
        kl = dlc.compile(self.model([7]), self.path("kl.dlc"), loss="kl", batch=8, quiet=True)
        binary = dlc.compile(self.model([]), self.path("binary.dlc"), loss="bce", batch=8, quiet=True)
        d = self.path("d.npz")
        np.savez(self.path("binary.npz"), x=np.zeros(8, np.float32), y=np.zeros(8, np.float32))
        np.savez(self.path("kl.npz"), x=np.zeros((8, 7), np.float32), y=np.zeros((8, 7), np.float32))
        for model, metrics, message in [
                (artifact, "acuracy", "--metrics: 'acuracy' is not a metric, expected some of accuracy, balanced_accuracy, top5, "),
                (artifact, "acuracy", "did you mean 'accuracy'?"),
                (artifact, "top", "'top' is not a metric"),
                (artifact, "f1.mean", "'f1.mean': 'mean' is no average, expected macro, micro or weighted"),
                (artifact, "mcc.macro", "mcc is one number, without averages"),
                (artifact, "auc.micro", "auc is averaged as macro or weighted"),
                (artifact, "top9", "top9: output 'out' has 7 classes"),
                (artifact, "rmse", "rmse is not a metric of output 'out', which is multiclass by its loss; metrics that apply: accuracy, "),
                (binary, "f1.macro", "f1.macro: output 'out' is binary, of one class: there is nothing to average, expected f1"),
                (kl, "accuracy", "--metrics needs a loss of class numbers")]:
            with self.subTest(metrics=metrics, message=message):
                data = d if model == artifact else model.replace(".dlc", ".npz")
                _, err = dlc.dlc("eval", model, data=data, metrics=metrics, code=dlc.USAGE)
                self.assertIn(message, err)
        for options, message in [
                (dict(metrics="f1"), "--metrics, --best and --patience need validations: expected --val=FILE"),
                (dict(patience=3), "expected --val=FILE"),
                (dict(best="f2", val=d), "--best, which may be loss, too: 'f2' is not a metric"),
                (dict(best="confusion", val=d), "--best: confusion is no number"),
                (dict(best="ema_loss", val=d), "--best=ema_loss: the model has no averages 'ema'"),
                (dict(save_every="10m"), "--save-every: expected a whole number of at least 0, or a time as 30s, 10min or 2h, found '10m'")]:
            with self.subTest(**options):
                _, err = dlc.dlc("train", artifact, data=d, code=dlc.USAGE, run=self.path("none"), **options)
                self.assertIn(message, err)
        scores = os.path.join(artifact, "scores.json")
        with open(scores) as file:
            noted = json.load(file)
        for change, message in [({"task": "art"}, "'art' is not one of"), ({"output": "none"}, "has no output 'none'"),
                                ({"axis": "x"}, "expected numbers 'axis'")]:
            with open(scores, "w") as file:
                json.dump(noted | change, file)
            manifest = os.path.join(artifact, "manifest.json")
            with open(manifest) as file:
                fields = json.load(file)
            with open(scores, "rb") as file:
                content = file.read()
            fields["files"]["scores.json"] = {"size": len(content), "hash": hashlib.sha256(content).hexdigest()}
            dlc.write_manifest(manifest, fields)
            _, err = dlc.dlc("eval", artifact, data=d, metrics="f1", code=dlc.CORRUPT)
            self.assertIn(message, err)


class Best(dlc.TestCase):
    """A learning rate that is too high after a while: the best validation is not the last."""

    @classmethod
    def setUpClass(cls):
        cls.share_artifact(lr=0.3, momentum=0.9, ema="0.9")
        cls.options = dict(val=dlc.data("digits-test"), epochs=12, keep=1, best="f1", patience=3, quiet=True)

    def train(self, name, **options):
        return dlc.train(self.artifact, dlc.data("digits-train"), self.path(name), **self.options | options)

    def epochs(self, run):
        with open(os.path.join(run.folder, "epochs.jsonl")) as file:
            return [json.loads(line) for line in file]

    def checkpoints(self, run):
        return sorted(name for name in os.listdir(run.folder) if name.startswith("checkpoint-"))

    def test_kept_linked_and_used(self):
        run = self.train("run")
        epochs = self.epochs(run)
        values = [line["val_f1"] for line in epochs]
        best = values.index(max(values))
        self.assertEqual(len(values), min(12, best + 1 + 3), values)
        step = epochs[best]["step"]
        self.assertEqual(os.readlink(os.path.join(run.folder, "best")), f"checkpoint-{step}")
        last = epochs[-1]["step"]
        self.assertEqual(self.checkpoints(run), sorted({f"checkpoint-{step}", f"checkpoint-{last}"}))
        link = os.path.join(run.folder, "best")
        self.assertEqual(dlc.evaluate(link, dlc.data("digits-test"), metrics="f1")["f1"], max(values))
        dlc.dlc("export", link, output=self.path("best.onnx"))
        dlc.dlc("export", os.path.join(run.folder, f"checkpoint-{step}"), output=self.path("named.onnx"))
        with open(self.path("best.onnx"), "rb") as a, open(self.path("named.onnx"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        out, err = dlc.dlc("train", resume=run.folder)
        if len(values) < 12:
            self.assertIn("validations without an improvement of val_f1", err)
        self.assertEqual(self.epochs(run), epochs)

    def test_resumed_it_is_the_same(self):
        whole = self.train("whole")
        epochs = self.epochs(whole)
        part = self.train("part", steps=epochs[2]["step"] + 3, epochs=None, patience=None)
        dlc.dlc("train", resume=part.folder, epochs=12, patience=3, quiet=True)
        self.assertEqual(self.epochs(part)[-1], epochs[-1])
        last = epochs[-1]["step"]
        self.assertBitwise(part.state(last), whole.state(last), "resumed")
        self.assertEqual(os.readlink(part.folder + "/best"), os.readlink(whole.folder + "/best"))
        notes = []
        for run in whole, part:
            with open(os.path.join(run.folder, f"checkpoint-{last}", "trainer.json")) as file:
                notes.append(json.load(file)["best"])
        self.assertEqual(*notes)

    def test_another_value_begins_anew_and_a_lost_one_is_told(self):
        run = self.train("run", epochs=2, patience=None)
        link = os.path.join(run.folder, "best")
        dlc.dlc("train", resume=run.folder, epochs=3, best="ema_loss")
        last = f"checkpoint-{self.epochs(run)[2]['step']}"
        self.assertEqual(os.readlink(link), last)  # the only one since
        dlc.dlc("train", resume=run.folder, epochs=9, best="ema_f1", min_delta=5, patience=2)
        self.assertEqual(len(self.epochs(run)), 6)  # the first, and two that are not better by 5
        run = self.train("lost", patience=None)
        link = os.path.join(run.folder, "best")
        shutil.rmtree(os.path.join(run.folder, os.readlink(link)))
        _, err = dlc.dlc("train", resume=run.folder)
        self.assertRegex(err, r"the best checkpoint, of step \d+, is missing: '.*/best' will be the next one better than val_f1 0\.")
        self.assertFalse(os.path.lexists(link))

    def test_saved_by_time(self):
        run = self.train("run", epochs=None, steps=1000, save_every="0.01s", best=None, patience=None, val=None, keep=1000)
        with open(os.path.join(run.folder, "config.yaml")) as file:
            self.assertIn("save_every: 0.01s\n", file.read())
        self.assertGreater(len(self.checkpoints(run)), 1)


if __name__ == "__main__":
    dlc.main()
