# SPDX-License-Identifier: Apache-2.0
"""Several sizes in one artifact: each has the numbers of an artifact of that size alone, bit for bit; states, memory and
equal kernels are there once; the data chooses."""

import ctypes
import json
import os

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import dlc

WORDS, WIDTH, LONGEST = 11, 8, 16
node = helper.make_node


def ints(*values):
    return np.array(values, np.int64)


def language_model():
    """[N, T] words -> [N, T, WORDS]: a table of positions of which T rows are read, and a mask [T, T] that is folded."""
    random = np.random.default_rng(0)
    weights = {
        "words": random.standard_normal((WORDS, WIDTH)) / 2,
        "positions": random.standard_normal((LONGEST, WIDTH)) / 2,
        "head": random.standard_normal((WIDTH, WORDS)) / 2,
    }
    tensors = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    tensors += [numpy_helper.from_array(array, name) for name, array in {
        "zero": ints(0), "one": ints(1), "low": np.float32(-1e9), "half": np.float32(0.5)}.items()]
    nodes = [
        node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "one"], ["time"]),
        node("Slice", ["positions", "zero", "time", "zero"], ["rows"]),
        node("Concat", ["time", "time"], ["square"], axis=0),
        node("ConstantOfShape", ["square"], ["ones"], value=numpy_helper.from_array(np.float32([1]))),
        node("Trilu", ["ones", "one"], ["later"], upper=1), node("Mul", ["later", "low"], ["mask"]),
        node("Gather", ["words", "x"], ["e"]), node("Add", ["e", "rows"], ["h"]),
        node("Transpose", ["h"], ["ht"], perm=[0, 2, 1]), node("MatMul", ["h", "ht"], ["s"]),
        node("Mul", ["s", "half"], ["t"]), node("Add", ["t", "mask"], ["m"]), node("Softmax", ["m"], ["p"], axis=-1),
        node("MatMul", ["p", "h"], ["z"]), node("MatMul", ["z", "head"], ["logits"]),
    ]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.INT64, ["N", "time"])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", "time", WORDS])], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class Tensor(ctypes.Structure):
    """dlc_tensor of the interface for programs."""
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64)]


def tensor(array):
    assert array.dtype == np.int64
    return Tensor(None, 4, array.ndim, array.ctypes.shape_as(ctypes.c_int64), array.ctypes.data, array.nbytes)


class Sizes(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.onnx = os.path.join(cls.shared, "m.onnx")
        with open(cls.onnx, "wb") as file:
            file.write(language_model().SerializeToString())
        cls.artifacts = {}
        cls.all = cls.artifact("4,8", "6,12")
        random = np.random.default_rng(1)
        for time in 6, 12, 7:
            x = random.integers(0, WORDS, (27, time))
            np.savez(cls.data(time), x=x, y=np.roll(x, -1, axis=1))

    @classmethod
    def data(cls, time):
        return os.path.join(cls.shared, f"data-{time}.npz")

    @classmethod
    def artifact(cls, batch, time, **options):
        """Compiled once; "4,8" and "6,12" are four sizes."""
        key = f"{batch}-{time}-{options}"
        if key not in cls.artifacts:
            path = os.path.join(cls.shared, f"{len(cls.artifacts)}.dlc")
            settings = dict(optimizer="sgd", momentum=0.9, lr=0.1) | options
            cls.artifacts[key] = dlc.compile(cls.onnx, path, batch=batch, dim=f"time={time}", **settings)
        return cls.artifacts[key]

    def predict(self, artifact, x):
        np.savez(self.path("x.npz"), x=x)
        dlc.dlc("predict", artifact, data=self.path("x.npz"), output=self.path("y.npz"), threads=1)
        return np.load(self.path("y.npz"))["y"]

    def check_same_run(self, several, single, time, run_options=None, **options):
        """The same losses and states, bit for bit."""
        options = dict(steps=5, threads=1) | options
        a = dlc.train(several, self.data(time), self.path("a"), **options, **(run_options or {}))
        b = dlc.train(single, self.data(time), self.path("b"), **options)
        np.testing.assert_array_equal(a.metrics("loss"), b.metrics("loss"))
        found, expected = a.state(5), b.state(5)
        self.assertGreaterEqual(set(found), set(expected))
        for name, array in expected.items():
            if not name.startswith("x") and found[name].shape == array.shape:
                np.testing.assert_array_equal(found[name], array, name)
        return a

    def inspect(self, artifact):
        return json.loads(dlc.dlc("inspect", artifact, "--json")[0])

    def test_predict(self):
        """Each length by its programs, and what is left over by the smallest that holds it."""
        for time in 6, 12:
            x = np.load(self.data(time))["x"][:11]
            for samples, parts in (8, [(8, 8)]), (4, [(4, 4)]), (3, [(3, 4)]), (11, [(8, 8), (3, 4)]), (7, [(7, 8)]):
                expected, first = [], 0
                for count, batch in parts:
                    expected.append(self.predict(self.artifact(batch, time), x[first:first + count]))
                    first += count
                np.testing.assert_array_equal(self.predict(self.all, x[:samples]), np.concatenate(expected))

    def test_train(self):
        """By the length of the data, in batches of the most rows; --batch says otherwise. A checkpoint, which knows no
        size, evaluates at every length."""
        run = self.check_same_run(self.all, self.artifact(8, 12), 12)
        for time in 6, 12:
            found = dlc.evaluate(run.folder, self.data(time), threads=1)
            self.assertEqual(found["samples"], 27)
        self.new_folder()
        run = self.check_same_run(self.all, self.artifact(4, 6), 6, {"batch": 4})
        dlc.dlc("train", "--resume=" + run.folder, steps=8, threads=1)
        whole = dlc.train(self.artifact(4, 6), self.data(6), self.path("whole"), steps=8, threads=1)
        np.testing.assert_array_equal(run.metrics("loss"), whole.metrics("loss"))

    def test_eval(self):
        """27 samples are three batches of 8 and one of 4."""
        found = dlc.evaluate(self.all, self.data(6), threads=1)
        arrays = np.load(self.data(6))
        sums = 0
        for first, count, batch in (0, 24, 8), (24, 3, 4):
            np.savez(self.path("part.npz"), **{k: arrays[k][first:first + count] for k in ("x", "y")})
            sums += count * dlc.evaluate(self.artifact(batch, 6), self.path("part.npz"), threads=1)["loss"]
        np.testing.assert_allclose(found["loss"], sums / 27, rtol=1e-12)

    def test_accumulation_and_averages(self):
        """Micro-batches of one size; averages that the host keeps follow the steps of every size."""
        options = dict(accumulate=2, ema=True, ema_device="cpu")
        several, single = self.artifact("3,2", "6,12", **options), self.artifact(2, 6, **options)
        self.check_same_run(several, single, 6, {"batch": 2})

    def test_ranks(self):
        several, single = self.artifact("2,4", "6,12", ddp=2), self.artifact(4, 6, ddp=2)
        self.check_same_run(several, single, 6)

    def test_memory(self):
        """That of the largest, and what the constants of the others take."""
        regions = [self.inspect(self.artifact(batch, time))["memory"]["regions"]
                   for batch in (4, 8) for time in (6, 12)]
        found = self.inspect(self.all)
        for name, bytes in found["memory"]["regions"].items():
            most = max(region[name] for region in regions)
            if name == "const":
                self.assertLess(bytes, 2 * sum(region[name] for region in regions))
            else:
                self.assertEqual(bytes, most, name)
        self.assertEqual(found["sizes"], [{"batch": 8, "time": 12}, {"batch": 4, "time": 12},
                                          {"batch": 8, "time": 6}, {"batch": 4, "time": 6}])
        self.assertIn("train_step@batch=4,time=6", found["programs"])
        out, _ = dlc.dlc("inspect", self.all)
        self.assertIn('sizes: {"batch":8,"time":12}', out.replace(" ", "").replace("sizes:", "sizes: "))
        weights = [os.path.getsize(os.path.join(a, "state.safetensors")) for a in (self.all, self.artifact(8, 12))]
        self.assertLess(weights[0], weights[1] + 4000)

    def test_kernels_are_shared(self):
        """What does not depend on the size, such as the optimizer's update, is there once."""
        def code(artifact):
            return os.path.getsize(os.path.join(artifact, "kernels.so"))
        singles = [code(self.artifact(batch, time)) for batch in (4, 8) for time in (6, 12)]
        self.assertLess(code(self.all), sum(singles))

    def test_check_and_summary(self):
        """dlc check tells of the largest size; dlc compile names all."""
        words = ("--batch=4,8", "--dim", "time=6,12", "--json")
        found = json.loads(dlc.dlc("check", self.onnx, *words)[0])
        one = json.loads(dlc.dlc("check", self.onnx, "--batch=8", "--dim", "time=12", "--json")[0])
        self.assertEqual((found["batch"], found["memory"]), (8, one["memory"]))
        _, err = dlc.dlc("compile", self.onnx, *words[:-1], "-o", self.path("m.dlc"))
        self.assertIn("4 sizes, selected by the data: batch=8,time=12; batch=4,time=12; batch=8,time=6", err)
        out, _ = dlc.dlc("compile", self.onnx, *words[:-1], "--stop-after=import", "--emit=mlir")
        self.assertEqual(out.count("// -----"), 3)

    def test_programs(self):
        """A step of the interface for programs has the size of its tensors."""
        lib = ctypes.CDLL(os.path.join(dlc.BUILD, "lib", "libdlc.so"))
        lib.dlc_message.restype = ctypes.c_char_p
        session = ctypes.c_void_p()
        self.assertEqual(lib.dlc_session_open(self.all.encode(), None, 0, ctypes.byref(session)), 0)
        for rows, time, code in (4, 6, dlc.OK), (8, 12, dlc.OK), (4, 12, dlc.OK), (8, 6, dlc.OK), (5, 6, dlc.USAGE):
            arrays = np.load(self.data(6 if time == 6 else 12))
            x, y = (np.ascontiguousarray(arrays[key][:rows]) for key in "xy")
            inputs = (Tensor * 2)(tensor(x), tensor(y.reshape(-1)))
            found = lib.dlc_session_train_step(session, inputs, ctypes.c_size_t(2), None)
            self.assertEqual(found, code, lib.dlc_message())
        self.assertIn("train_step takes [8, 12], [96] or [4, 12], [48] or [8, 6], [48] or [4, 6], [24], found [5, 6], [30]",
                      lib.dlc_message().decode())
        lib.dlc_session_close(session)

    def test_data_of_no_size(self):
        for words in ["eval"], ["train"]:
            _, err = dlc.dlc(*words, self.all, data=self.data(7), code=dlc.FAILED)
            self.assertIn("'x' is i64 [27, 7], 'y' is i64 [27, 7], which fits none of the sizes that the model was "
                          "compiled for:\n  batch=8,time=12: 'x' [12], 'y' [12]\n  batch=8,time=6: 'x' [6], 'y' [6]\n", err)
        _, err = dlc.dlc("train", self.all, data=self.data(6), batch=5, code=dlc.USAGE)
        self.assertIn("no size of batch 5: the model was compiled for batch=8,time=12; batch=4,time=12;", err)

    def test_wrong_sizes(self):
        for words, message in (
                (["--batch=8,8", "--dim", "time=6"], "--batch: 8 is given twice"),
                (["--batch=8,0", "--dim", "time=6"], "--batch: expected numbers of at least 1, found 0 among 2"),
                (["--batch=8,", "--dim", "time=6"], "--batch: expected a whole number"),
                (["--dim", "time=6,x"], "expected NAME=N with N of 0 or more, found 'time=6,x'"),
                (["--dim", "time=6,0"], "expected NAME=N,M with numbers of at least 1, found 'time=6,0'"),
                (["--batch=1,2,3,4,5,6", "--dim", "time=6,7,8"], "--batch and --dim make more than 16 sizes")):
            _, err = dlc.dlc("compile", self.onnx, "-o", self.path("m.dlc"), *words, code=dlc.USAGE)
            self.assertIn(message, err)

    def test_weights_of_a_size(self):
        """What is trained is the same at all sizes: here each has a weight of its own."""
        def branch(name, weight):
            return helper.make_graph([node("Mul", ["x", weight], [name])], name, [],
                                     [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", "time"])])
        nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "one"], ["time"]),
                 node("Greater", ["time", "four"], ["is_long"]),
                 node("If", ["is_long"], ["y"], then_branch=branch("a", "v"), else_branch=branch("b", "w"))]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "time"])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", "time"])],
                                  [numpy_helper.from_array(np.float32([2]), name) for name in "vw"] +
                                  [numpy_helper.from_array(np.array(n), name) for name, n in (("one", 1), ("four", 4))])
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        with open(self.path("w.onnx"), "wb") as file:
            file.write(proto.SerializeToString())
        words = "compile", self.path("w.onnx"), "-o", self.path("w.dlc"), "--batch=2", "--loss=mse", "--train=^[vw]$", "--dim"
        _, err = dlc.dlc(*words, "time=3,5", code=dlc.BAD_MODEL)
        self.assertIn("'w' has shape [1] at batch=2,time=3, but is not there at the first size", err)
        dlc.dlc(*words, "time=5,6")

    def test_frozen_tables(self):
        """What is folded of them is of a size."""
        several, single = (self.artifact(4, times, freeze="positions|words") for times in ("6,12", "6"))
        self.check_same_run(several, single, 6)


if __name__ == "__main__":
    dlc.main()
