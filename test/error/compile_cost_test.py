# SPDX-License-Identifier: Apache-2.0
"""Small models whose kernels could grow without end: compiled in seconds, and what they train is right."""

import os
import resource
import subprocess

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node
SECONDS = 6  # of CPU on a busy machine; without limits these take from 10 to more than memory holds
MEMORY = 512 << 20


def parted(count):
    """x w, `count` times in one Concat, and its mean."""
    return [node("Concat", ["v0"] * count, ["c"], axis=1), node("ReduceMean", ["c"], ["y"], axes=[1])]


def shifted(count):
    """What is added is read twice by the next Concat."""
    nodes = []
    for i in range(count):
        nodes += [node("Concat", [f"v{i}", f"v{i}"], [f"c{i}"], axis=1),
                  node("Slice", [f"c{i}", "one", "nine", "one"], [f"s{i}"]),
                  node("Add", [f"s{i}", "v0"], ["y" if i == count - 1 else f"v{i + 1}"])]
    return nodes


def chain(op, count):
    return [node(op, [f"v{i}"], ["y" if i == count - 1 else f"v{i + 1}"]) for i in range(count)]


def states(count):
    """A norm with statistics of its own each."""
    return [node("BatchNormalization", [f"v{i}", "s", "s", "z", "s"], ["y" if i == count - 1 else f"v{i + 1}"])
            for i in range(count)]


class CompileCost(dlc.TestCase):
    def write(self, nodes, outputs=("y",), shape=(4, 8)):
        weights = {"w": np.linspace(0.1, 0.8, 8, dtype=np.float32), "one": np.array([1]), "nine": np.array([9]),
                   "s": np.ones(8, np.float32), "z": np.zeros(8, np.float32)}
        tensors = [numpy_helper.from_array(v, k) for k, v in weights.items()]
        floats = TensorProto.FLOAT
        graph = helper.make_graph([node("Mul", ["x", "w"], ["v0"]), *nodes], "g",
                                  [helper.make_tensor_value_info("x", floats, shape)],
                                  [helper.make_tensor_value_info(o, floats, None) for o in outputs], tensors)
        onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), self.path("m.onnx"))
        return self.path("m.onnx")

    def compile(self, nodes, *words, **options):
        """With an empty cache of objects; fails past the limits."""
        command = [dlc.DLC, "compile", self.write(nodes, **options), "-o", self.path("m.dlc"), *words,
                   *dlc.flags(dict(batch=4, loss="mse", train="^w$"))]
        with open(self.path("err"), "w+") as messages:
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=messages,
                                     env=dict(os.environ, DLC_CACHE_DIR=self.path("cache"), XDG_CACHE_HOME=self.path("cache")),
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)))
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            messages.seek(0)
            self.assertEqual(child.returncode, dlc.OK, messages.read()[-2000:])
        self.assertLess(usage.ru_utime, SECONDS)
        self.assertLess(usage.ru_maxrss << 10, MEMORY)

    def test_kernels_stay_small(self):
        self.compile(parted(2000))
        self.compile(shifted(60))
        self.compile(chain("Softmax", 100))

    def test_states_and_losses_are_looked_at_once(self):
        self.compile(states(400))
        outputs = [f"y{i}" for i in range(2000)]
        self.compile([node("Relu", ["v0"], [o]) for o in outputs], outputs=outputs)

    def trained(self, name, nodes):
        self.compile(nodes)
        random = np.random.RandomState(0)
        np.savez(self.path("d.npz"), x=random.randn(8, 8).astype(np.float32), y=random.randn(8, 1).astype(np.float32))
        dlc.dlc("train", self.path("m.dlc"), data=self.path("d.npz"),
                run=self.path(name), steps=4, threads=1)
        dlc.dlc("export", self.path(name), "-o", self.path("t.onnx"))
        return next(numpy_helper.to_array(t) for t in onnx.load(self.path("t.onnx")).graph.initializer if t.name == "w")

    def test_many_parts_train_as_one(self):
        """The mean of copies is the mean of one."""
        one, many = self.trained("one", parted(1)), self.trained("many", parted(130))
        self.assertFalse(np.allclose(one, np.linspace(0.1, 0.8, 8)))
        np.testing.assert_allclose(many, one, rtol=1e-5)


if __name__ == "__main__":
    dlc.main()
