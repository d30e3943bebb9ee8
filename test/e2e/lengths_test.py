# SPDX-License-Identifier: Apache-2.0
"""A run on files of several lengths, and on samples that are filled up to one."""

import os
import shutil
import time

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import dlc

WORDS, WIDTH = 11, 8
NOTHING = -100  # the label that the loss ignores
node = helper.make_node


def masked_model():
    """[N, T] words beside a mask of those that count -> [N, T, WORDS]: attention that sees no filling."""
    random = np.random.default_rng(0)
    weights = {"words": random.standard_normal((WORDS, WIDTH)) / 2, "head": random.standard_normal((WIDTH, WORDS)) / 2}
    tensors = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    tensors += [numpy_helper.from_array(np.float32(value), name) for name, value in (("one", 1), ("low", -1e9))]
    tensors.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    nodes = [
        node("Gather", ["words", "x"], ["e"]), node("Transpose", ["e"], ["et"], perm=[0, 2, 1]),
        node("MatMul", ["e", "et"], ["s"]), node("Sub", ["one", "mask"], ["gone"]), node("Mul", ["gone", "low"], ["far"]),
        node("Unsqueeze", ["far", "axis"], ["row"]), node("Add", ["s", "row"], ["m"]),
        node("Softmax", ["m"], ["p"], axis=-1), node("MatMul", ["p", "e"], ["z"]), node("MatMul", ["z", "head"], ["logits"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.INT64, ["N", "time"]),
              helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["N", "time"])]
    graph = helper.make_graph(nodes, "g", inputs,
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", "time", WORDS])], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class Lengths(dlc.TestCase):
    PAD = dict(pad=f"x:3,mask:0,y:{NOTHING}")

    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.onnx = os.path.join(cls.shared, "m.onnx")
        with open(cls.onnx, "wb") as file:
            file.write(masked_model().SerializeToString())
        cls.artifact = cls.compiled()
        random = np.random.default_rng(1)
        for length, samples in (6, 22), (12, 17), (4, 9), (9, 13):
            x = random.integers(0, WORDS, (samples, length))
            arrays = dict(x=x, mask=np.ones((samples, length), np.float32), y=np.roll(x, -1, axis=1))
            np.savez(cls.data(length), **arrays)
            to = 6 if length <= 6 else 12
            for key, value in dict(x=3, mask=0, y=NOTHING).items():
                arrays[key] = np.pad(arrays[key], ((0, 0), (0, to - length)), constant_values=value)
            np.savez(cls.data(length, "by-hand"), **arrays)

    @classmethod
    def compiled(cls, **options):
        path = os.path.join(cls.shared, f"{len(os.listdir(cls.shared))}.dlc")
        return dlc.compile(cls.onnx, path, **dict(batch="4", dim="time=6,12", optimizer="sgd", momentum=0.9, lr=0.1,
                                                  loss="cross_entropy", ignore_index=NOTHING) | options)

    @classmethod
    def data(cls, length, kind="data"):
        return os.path.join(cls.shared, f"{kind}-{length}.npz")

    @classmethod
    def several(cls, *lengths, kind="data"):
        return ",".join(cls.data(length, kind) for length in lengths)

    def check_same(self, a, b, step):
        np.testing.assert_array_equal(a.metrics("loss"), b.metrics("loss"))
        self.assertBitwise(a.state(step), b.state(step), "by hand")

    def test_as_filled_up_by_hand(self):
        """Bit for bit, in training, in validation and after it."""
        runs = []
        for name, kind, pads in ("a", "data", self.PAD), ("b", "by-hand", {}):
            runs.append(dlc.train(self.artifact, self.several(6, 12, 4, 9, kind=kind), self.path(name), epochs=3,
                                  val=self.several(4, 12, kind=kind), threads=1, **pads))
        self.assertEqual(len(runs[0].metrics("loss")), 3 * ((22 + 9) // 4 + (17 + 13) // 4))
        self.check_same(*runs, 42)
        self.assertEqual(*(self.lines(run.folder, "epochs") for run in runs))
        self.assertEqual(len(self.lines(runs[0].folder, "epochs")), 3)
        # A run's own numbers, where none are given.
        found = dlc.evaluate(runs[0].folder, self.data(9), threads=1)
        expected = dlc.evaluate(runs[0].folder, self.data(9, "by-hand"), threads=1)
        self.assertEqual(found, expected)

    def test_evaluation_of_several(self):
        """The mean over the rows of all."""
        found = dlc.evaluate(self.artifact, self.several(6, 12), threads=1)
        one, other = (dlc.evaluate(self.artifact, self.data(length), threads=1) for length in (6, 12))
        rows = 22 * 6, 17 * 12
        np.testing.assert_allclose(found["loss"], (one["loss"] * rows[0] + other["loss"] * rows[1]) / sum(rows), rtol=1e-12)
        self.assertEqual(found["samples"], 39)

    def test_killed(self):
        """In the middle of an epoch, at any step: the bits of the undisturbed run."""
        options = dict(data=self.several(6, 12, 9), steps=200, seed=7, threads=1, save_every=2, **self.PAD)
        whole = dlc.train(self.artifact, run=self.path("whole"), **options)
        expected = whole.state(200)
        for number, kills in enumerate((1, 3)):
            run, killed = self.path(f"run{number}"), 0
            process = dlc.start("train", self.artifact, run=run, **options)
            for _ in range(kills):
                goal = len(self.lines(run)) + 30
                while process.poll() is None and len(self.lines(run)) < goal:
                    time.sleep(0.002)
                killed += process.poll() is None
                dlc.kill(process)
                process = dlc.start("train", resume=run)
            status, _, err = dlc.finish(process)
            self.assertEqual(status, dlc.OK, err)
            self.assertGreater(killed, 0)
            self.assertBitwise(dlc.Run(run).state(200), expected, f"after {kills} kills")
            self.assertEqual(dlc.Run(run).metrics("step").tolist(), list(range(1, 201)))

    @staticmethod
    def lines(run, name="metrics"):
        try:
            with open(os.path.join(run, name + ".jsonl")) as file:
                return file.readlines()
        except FileNotFoundError:
            return []

    def test_ranks(self):
        """Two ranks share an update; one goes on in the middle of the epoch with what they left."""
        two = self.compiled(ddp=2, batch="2")
        options = dict(steps=20, seed=3, threads=1, save_every=5)
        one = dlc.train(self.artifact, self.several(6, 12), self.path("one"), **options)
        run = dlc.train(two, self.several(6, 12), self.path("two"), **options)
        np.testing.assert_allclose(run.metrics("loss"), one.metrics("loss"), rtol=1e-5)
        shutil.rmtree(os.path.join(run.folder, "checkpoint-20"))
        _, err = dlc.dlc("train", resume=run.folder, ranks=1)
        self.assertIn("from step 15", err)
        self.assertEqual(len(run.metrics("loss")), 20)

    def test_one_length_of_several_files(self):
        """As one file of all their samples."""
        arrays = [np.load(self.data(length, "by-hand")) for length in (6, 4)]
        np.savez(self.path("all.npz"), **{key: np.concatenate([a[key] for a in arrays]) for key in arrays[0]})
        one = dlc.train(self.artifact, self.path("all.npz"), self.path("one"), epochs=2, threads=1)
        both = dlc.train(self.artifact, self.several(6, 4, kind="by-hand"), self.path("both"), epochs=2, threads=1,
                         metrics="f1", val=self.several(6, 4, kind="by-hand"))
        self.check_same(one, both, 14)

    def test_refused(self):
        def refused(message, code=dlc.FAILED, command="train", **options):
            words = [command] + ([] if "resume" in options else [options.pop("artifact", self.artifact)])
            _, err = dlc.dlc(*words, code=code, **options)
            self.assertIn(message, err)
        random = np.random.default_rng(2)
        x = random.integers(0, WORDS, (9, 13))
        np.savez(self.path("long.npz"), x=x, mask=np.ones((9, 13), np.float32), y=x)
        np.savez(self.path("uneven.npz"), x=x[:, :9], mask=np.ones((9, 8), np.float32), y=x[:, :9])
        np.savez(self.path("wild.npz"), x=np.full((9, 5), WORDS), mask=np.ones((9, 5), np.float32), y=np.zeros((9, 5), int))
        np.savez(self.path("few.npz"), x=x[:3, :6], mask=np.ones((3, 6), np.float32), y=x[:3, :6])
        refused("long.npz': 'x' is i64 [9, 13], 'mask' is f32 [9, 13], 'y' is i64 [9, 13], which fits none of the sizes that "
                "the model was compiled for:\n  batch=4,time=12: 'x' [12], 'mask' [12], 'y' [12]\n  batch=4,time=6: 'x' [6], "
                "'mask' [6], 'y' [6]\ncut longer samples, or compile the model for them (--dim)",
                data=f"{self.data(6)},{self.path('long.npz')}", **self.PAD)
        refused("\npad them by --pad=x:NUMBER,mask:NUMBER,y:NUMBER, or compile the model for them (--dim)",
                data=self.data(4))
        refused("\npad them by --pad=y:NUMBER, or", data=self.data(4), pad="x:0,mask:0")
        refused("samples of 'x' have length 9, but those of 'mask' 8: expected the same of both",
                data=self.path("uneven.npz"), **self.PAD)
        refused("wild.npz': 'x': value 11 in row 0 is out of range, expected 0 to 10", data=self.path("wild.npz"), **self.PAD)
        refused("--pad: '" + self.data(4) + "': 'x': 0.5 is no i64", dlc.USAGE, data=self.data(4), pad="x:0.5,mask:0,y:-100")
        refused("--pad=words: the model has no such input, found: x, mask, y", dlc.USAGE, data=self.data(6), pad="words:1")
        refused("--pad=y:0: the loss counts these labels, it ignores -100: compile the model with --ignore-index=0",
                dlc.USAGE, data=self.data(4), pad="x:3,mask:0,y:0")
        refused("--pad: expected INPUT:NUMBER, found 'x'", dlc.USAGE, data=self.data(4), pad="x")
        refused("--pad: 'x' has two numbers, expected one", dlc.USAGE, data=self.data(4), pad="x:1,x:2")
        refused("fewer", dlc.OK, data=f"{self.data(12)},{self.path('few.npz')}", steps=1, run=self.path("few"))
        refused("--pad cannot change in a run that is resumed", dlc.USAGE, resume=self.path("few"), pad="x:1")
        refused("they need samples of one length, found 2", dlc.USAGE, "eval", data=self.several(6, 12), metrics="f1")
        refused("--data has samples of 2 lengths: predict each length separately", dlc.USAGE, "predict",
                data=self.several(6, 12), output=self.path("y.npz"))
        mixed = self.compiled(batch="8,4", dim="time=6")
        refused("no size of batch 5", dlc.USAGE, artifact=mixed, data=self.data(6), batch=5)


if __name__ == "__main__":
    dlc.main()
