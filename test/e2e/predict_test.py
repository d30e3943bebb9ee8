# SPDX-License-Identifier: Apache-2.0
"""dlc predict names the likeliest classes: those of the same outputs, prepared as the run's evaluation was, each beside its own file."""

import csv
import io
import json
import os
import shutil
import subprocess

import dlc
import numpy as np
import onnx
import pictures
from onnx import TensorProto, helper, numpy_helper

COUNT = 40  # no multiple of the batch
SHAPING = dict(scale=0.0625, mean="2", std="4")


def softmax(logits):
    shares = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


class Predict(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()
        cls.images = os.path.join(cls.shared, "images")
        cls.x, cls.y = pictures.write_digits(cls.images, dlc.data("digits-train"), COUNT)
        cls.files = [os.path.join(cls.images, f"class{y}", f"{i:04}.png") for i, y in enumerate(cls.y)]
        cls.names = sorted({f"class{y}" for y in cls.y})
        cls.run_folder = dlc.train(cls.artifact, cls.images, os.path.join(cls.shared, "run"), epochs=4, **SHAPING).folder
        np.savez(os.path.join(cls.shared, "same.npz"), x=cls.x, y=cls.y)
        dlc.dlc("predict", cls.run_folder, data=os.path.join(cls.shared, "same.npz"), output=os.path.join(cls.shared, "y.npz"))
        with np.load(os.path.join(cls.shared, "y.npz")) as found:
            cls.shares = softmax(found["y"])

    def ranks(self, *words, model=None, **options):
        out, self.messages = dlc.dlc("predict", model or self.run_folder, *words, "--json", **options)
        return [json.loads(line) for line in out.splitlines()]

    def check(self, found, rows, top):
        """Every file's classes, by name, in order, with the probabilities of `rows`."""
        self.assertEqual([line["file"] for line in found], [self.files[row] for row in rows])
        for line, row in zip(found, rows):
            order = np.argsort(-self.shares[row], kind="stable")[:top]
            self.assertEqual([entry["number"] for entry in line["classes"]], order.tolist())
            self.assertEqual([entry["class"] for entry in line["classes"]], [self.names[c] for c in order])
            np.testing.assert_allclose([entry["probability"] for entry in line["classes"]], self.shares[row][order], 1e-5)

    def test_as_outputs_of_the_same_pixels(self):
        """Files, a folder, names on standard input: the run's scale, mean and std are theirs, too."""
        self.assertEqual(len(self.names), 10)
        self.check(self.ranks(*self.files[:19], top=3), range(19), 3)
        self.assertIn("probabilities: softmax of output 'logits'", self.messages)
        self.assertRegex(self.messages, r"preprocessing of pictures as in training: scale 0\.0625, mean \[?2\]?, std \[?4")
        self.assertRegex(self.messages, r"pictures are scaled to cover 8 x 8 pixels, cropped at the center, and made grey")
        self.check(self.ranks(self.images, top=99), range(COUNT), 10)
        self.check(self.ranks(data=self.images), range(COUNT), 1)
        self.check(self.ranks(data=f"{self.images},{self.images}"), [*range(COUNT)] * 2, 1)
        lines = "\n".join(self.files[5:8]) + "\n\n"
        ran = subprocess.run([dlc.DLC, "predict", self.run_folder, self.files[30], "-", "--json"], input=lines, capture_output=True, text=True,
                             check=True, timeout=60)
        self.check([json.loads(line) for line in ran.stdout.splitlines()], [30, 5, 6, 7], 1)

    def test_patterns(self):
        """No shell expands them behind an equals sign or in quotes; a file of that very name comes first."""
        rows = [row for row, name in enumerate(self.files) if "class3/" in name]
        found = self.ranks(os.path.join(self.images, "class3", "*.png"))
        self.assertEqual([line["file"] for line in found], sorted(self.files[row] for row in rows))
        odd = self.path("[3].png")
        shutil.copy(self.files[3], odd)
        shutil.copy(self.files[4], self.path("3.png"))
        self.assertEqual([line["file"] for line in self.ranks(odd)], [odd])
        _, err = dlc.dlc("predict", self.run_folder, self.path("none-*.png"), code=dlc.FAILED)
        self.assertRegex(err, r"none-\*\.png': No such file")

    def test_tables_of_evaluation_name_classes(self):
        out, _ = dlc.dlc("eval", self.run_folder, data=self.images, metrics="f1,confusion")
        lines = [line.split() for line in out.splitlines()]
        self.assertEqual([line[0] for line in lines[2:12]], self.names)
        self.assertEqual(lines[12], ["is\\found", *self.names])
        self.assertEqual([line[0] for line in lines[13:]], self.names)
        self.assertEqual(dlc.evaluate(self.run_folder, self.images)["class_names"], self.names)

    def test_text_and_csv(self):
        odd = self.path('a "b", c.png')
        shutil.copy(self.files[3], odd)
        out, _ = dlc.dlc("predict", self.run_folder, odd, self.files[4], "--csv", top=2)
        rows = list(csv.reader(io.StringIO(out)))
        self.assertEqual(rows[0], ["file", "rank", "class", "probability"])
        self.assertEqual([row[:2] for row in rows[1:]], [[odd, "1"], [odd, "2"], [self.files[4], "1"], [self.files[4], "2"]])
        best = int(self.shares[3].argmax())
        self.assertEqual(rows[1][2], self.names[best])
        self.assertAlmostEqual(float(rows[1][3]), self.shares[3][best], 5)
        out, _ = dlc.dlc("predict", self.run_folder, odd)
        self.assertRegex(out, rf"^file +rank +class +probability\n.*b\", c\.png +1 +{self.names[best]} +{self.shares[3][best]:.4f}\n$")

    def test_samples_without_files(self):
        """Of arrays: by number; other names of classes, and too few."""
        found = self.ranks(data=os.path.join(self.shared, "same.npz"), classes="a,b")
        self.assertEqual([line["sample"] for line in found], list(range(COUNT)))
        self.assertIn("2 class names, but the model has 10", self.messages)
        best = self.shares.argmax(1)
        self.assertEqual([line["classes"][0]["class"] for line in found], [str(c) if c > 1 else "ab"[c] for c in best])

    def test_preparation_that_is_not_known(self):
        self.ranks(self.files[0], model=self.artifact)
        self.assertRegex(self.messages, r"mlp\.dlc' does not record the preprocessing of pictures.*flags alone determine it \(scale 1/255\)")
        run = dlc.train(self.artifact, os.path.join(self.shared, "same.npz"), self.path("run"), steps=1).folder
        self.ranks(self.files[0], model=run)
        self.assertRegex(self.messages, r"trained on arrays, '.*same\.npz'.*get scale 1/255, which is right if the arrays were pixels")

    def test_broken_files(self):
        """End it by name, or are left out; nothing of another file stands beside their names."""
        broken, missing = self.path("broken.png"), self.path("missing.png")
        pictures.write(broken, pictures.png(self.x[3, 0])[:60])
        words = [self.files[2], broken, self.files[9], missing]
        for names, message in [(words[:2], r"broken\.png': damaged PNG"), (words[3:], r"missing\.png.*No such file")]:
            _, err = dlc.dlc("predict", self.run_folder, *names, code=dlc.FAILED)
            self.assertRegex(err, message)
        self.check(self.ranks(*words, top=2, code=dlc.FAILED), [2, 9], 2)
        self.assertRegex(self.messages, r"skipped: .*broken\.png': damaged PNG")
        self.assertIn("error: 2 of 4 pictures could not be decoded and are left out; with --bad-samples=skip", self.messages)
        for options in {"bad_samples": "error"}, {"output": self.path("y.npz")}:
            _, err = dlc.dlc("predict", self.run_folder, *words, code=dlc.FAILED, **options)
            self.assertRegex(err, r"error: samples 0 to 3 .*broken\.png': damaged PNG")
        self.assertFalse(os.path.exists(self.path("y.npz")))
        self.check(self.ranks(*words, bad_samples="skip", top=2), [2, 9], 2)
        self.assertRegex(self.messages, r"skipped: .*broken\.png")
        self.assertRegex(self.messages, r"skipped: .*missing\.png")
        self.assertIn("2 of 4 samples could not be decoded and are left out", self.messages)
        dlc.dlc("predict", self.run_folder, *words, bad_samples="skip", output=self.path("y.npz"))
        with np.load(self.path("y.npz")) as found:
            np.testing.assert_allclose(softmax(found["y"]), self.shares[[2, 9]], 1e-5)
        both = os.path.join(self.folder, "both")
        os.mkdir(both)
        for name in words[:2]:
            shutil.copy(name, both)
        found = self.ranks(data=f"{both},{both}", bad_samples="skip")  # of both folders it is known which is not there
        self.assertEqual([line["file"] for line in found], [os.path.join(both, os.path.basename(self.files[2]))] * 2)
        _, err = dlc.dlc("predict", self.run_folder, broken, bad_samples="skip", code=dlc.FAILED)
        self.assertIn("none of 1 pictures can be decoded", err)

    def head(self, shape, after=None, **options):
        """An artifact whose output is x times 1, behind it `after`."""
        info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", *shape]) for n in ("input", "out")]
        nodes = [helper.make_node("Mul", ["input", "out.weight"], ["product" if after else "out"])]
        if after:
            nodes.append(helper.make_node(after, ["product"], ["out"]))
        weight = numpy_helper.from_array(np.ones(1, np.float32), "out.weight")
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", info[:1], info[1:], [weight]), opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), self.path("m.onnx"))
        shutil.rmtree(self.path("m.dlc"), ignore_errors=True)
        return dlc.compile(self.path("m.onnx"), self.path("m.dlc"), batch=4, quiet=True, **options)

    def test_what_the_loss_says(self):
        """Sigmoid of one logit or of several labels; probabilities as they are."""
        x = np.array([[-2, 0, 3], [1, -1, 0.5]], np.float32)
        sigmoid = 1 / (1 + np.exp(-x.astype(np.float64)))
        for shape, after, loss, says, expected in [
                ([], None, "bce", "sigmoid of output 'out'", np.stack([1 - sigmoid[0], sigmoid[0]], 1)),
                ([], "Sigmoid", "bce", "probabilities: output 'out'", np.stack([1 - sigmoid[0], sigmoid[0]], 1)),
                ([3], None, "bce", "sigmoid of output 'out'", sigmoid), ([3], None, "cross_entropy", "softmax of output 'out'", softmax(x)),
                ([3], "LogSoftmax", "nll", "softmax of output 'out'", softmax(x))]:
            with self.subTest(shape=shape, after=after, loss=loss):
                np.savez(self.path("x.npz"), x=x if shape else x[0])
                found = self.ranks(model=self.head(shape, after, loss=loss), data=self.path("x.npz"), top=3)
                self.assertIn(says, self.messages)
                for line, row in zip(found, expected, strict=True):
                    order = np.argsort(-row)
                    self.assertEqual([entry["class"] for entry in line["classes"]], [str(c) for c in order])
                    np.testing.assert_allclose([entry["probability"] for entry in line["classes"]], row[order], 1e-5)

    def test_refused(self):
        np.savez(self.path("x.npz"), x=np.full((2, 3), np.nan, np.float32))
        _, err = dlc.dlc("predict", self.head([3], loss="cross_entropy"), data=self.path("x.npz"), code=dlc.FAILED)
        self.assertIn("output 'out' has scores that are not finite", err)
        np.savez(self.path("x.npz"), x=np.zeros((2, 3), np.float32))
        for loss, message in [("mse", "--top: output 'out' has values, not scores of classes: -o writes them"),
                              ("kl", "--top needs a loss of class numbers")]:
            _, err = dlc.dlc("predict", self.head([3], loss=loss), data=self.path("x.npz"), code=dlc.USAGE)
            self.assertIn(message, err)
        np.savez(self.path("x.npz"), x=np.zeros((2, 3, 4, 4), np.float32))
        _, err = dlc.dlc("predict", self.head([3, 4, 4], loss="cross_entropy"), data=self.path("x.npz"), code=dlc.USAGE)
        self.assertIn("output 'out' has scores for each of 16 rows of a sample (pixels, tokens)", err)
        npz, file = os.path.join(self.shared, "same.npz"), self.files[0]
        for words, message in [([], "no samples: expected either --data or names of pictures"),
                               ([file, "--data=" + npz], "samples twice: expected either --data"),
                               ([file, "--top=2", "-o", self.path("y.npz")], "--top formats printed classes, but --output writes"),
                               ([file, "--csv", "--json"], "--csv and --json are both given"), ([file, "--top=0"], "--top")]:
            _, err = dlc.dlc("predict", self.run_folder, *words, code=dlc.USAGE)
            self.assertIn(message, err)
        ran = subprocess.run([dlc.DLC, "predict", self.run_folder, "-"], input="", capture_output=True, text=True, timeout=60)
        self.assertEqual((ran.returncode, ran.stdout), (dlc.FAILED, ""))
        self.assertIn("no names of pictures", ran.stderr)


if __name__ == "__main__":
    import unittest
    unittest.main()
