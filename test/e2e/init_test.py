# SPDX-License-Identifier: Apache-2.0
"""--init: the distributions, their bounds and fans, and that nothing but seed and name decides."""

import json
import os

import numpy as np
import onnx
from dlc import MODELS, REFS, TestCase, compile, data, dlc, evaluate, main, model, train
from onnx import TensorProto, helper, numpy_helper
from philox import philox
from safetensors.numpy import load_file

with open(os.path.join(REFS, "fans.json")) as file:
    FANS = json.load(file)


def gemms(path, layers):
    """x [batch, n] through weights given as (name, array, transB or None for MatMul)."""
    nodes, tensors, last = [], [], "x"
    for name, array, trans in layers:
        tensors.append(numpy_helper.from_array(array.astype(np.float32), name))
        if trans is None:
            nodes.append(helper.make_node("MatMul", [last, name], [name + "/y"]))
        else:
            nodes.append(helper.make_node("Gemm", [last, name], [name + "/y"], transB=trans))
        last = name + "/y"
    n, m = layers[0][1].shape[:2] if not layers[0][2] else layers[0][1].shape[::-1][:2]
    m = layers[-1][1].shape[0] if layers[-1][2] else layers[-1][1].shape[1]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", n])],
                              [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["batch", m])], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


class Init(TestCase):
    def state(self, source, name="a.dlc", **options):
        return load_file(os.path.join(compile(source, self.path(name), quiet=True, **options),
                                      "state.safetensors"))

    def test_fans_are_torchs(self):
        formulas = {"xavier_uniform": lambda i, o: (6 / (i + o)) ** 0.5,
                    "xavier_normal": lambda i, o: (2 / (i + o)) ** 0.5,
                    "kaiming_uniform": lambda i, o: (6 / i) ** 0.5,
                    "kaiming_normal": lambda i, o: (2 / i) ** 0.5}
        for name, kinds in {"lenet": list(formulas), "resnet8": ["kaiming_uniform"],
                            "gpt_tiny": ["xavier_normal"]}.items():
            for kind in kinds:
                scale = formulas[kind]
                state = self.state(model(name), f"{name}-{kind}", init=kind)
                for weight, fans in FANS[name].items():
                    w, s = state[weight].astype(np.float64), scale(*fans)
                    n = w.size
                    if kind.endswith("uniform"):
                        self.assertLessEqual(np.abs(w).max(), s * 1.0000001, weight)
                        self.assertGreater(np.abs(w).max(), s * (1 - 12 / n), weight)
                        s /= 3**0.5
                    self.assertLess(abs(w.std() / s - 1), 5 / (2 * n) ** 0.5, f"{kind} {weight}")
                    self.assertLess(abs(w.mean()), 5 * s / n**0.5, f"{kind} {weight}")

    def test_layouts(self):
        """MatMul and Gemm without transB hold [in, out], Gemm with transB [out, in]."""
        path = gemms(self.path("m.onnx"), [("a.weight", np.zeros((300, 50)), None),
                                           ("b.weight", np.zeros((50, 200)), 0),
                                           ("c.weight", np.zeros((10, 200)), 1)])
        state = self.state(path, init="kaiming_uniform", loss="mse")
        for name, fan in [("a.weight", 300), ("b.weight", 50), ("c.weight", 200)]:
            bound = (6 / fan) ** 0.5
            self.assertLessEqual(np.abs(state[name]).max(), bound * 1.0000001)
            self.assertGreater(np.abs(state[name]).max(), bound * 0.99)

    def test_numbers_are_philoxs(self):
        """Element i of a uniform weight comes from the counter (i, hash of the name) under the seed."""
        state = self.state(model("mlp"), init="xavier_uniform", seed=7)
        w = state["f1.weight"]
        # xxh3_64 of "f1.weight"; the hash is part of what must not change.
        words = philox(7, np.arange(w.size), 0xe2534e00df28ade0)[0]
        bound = (6 / (64 + 48)) ** 0.5
        expected = (bound * (2 * (words * 2.0**-32) - 1)).astype(np.float32)
        np.testing.assert_array_equal(w.ravel(), expected)

    def test_vectors_are_those_of_an_untrained_layer(self):
        state = self.state(model("resnet8"), init="kaiming_normal")
        for name, value in state.items():
            if name.endswith((".bias", "running_mean")):
                self.assertFalse(value.any(), name)
            elif ("bn" in name or "down.1" in name) and name.endswith((".weight", "running_var")):
                self.assertTrue((value == 1).all(), name)

    def test_truncated_normal(self):
        path = gemms(self.path("m.onnx"), [("a.weight", np.zeros((400, 500)), None)])
        w = self.state(path, init="trunc_normal", loss="mse")["a.weight"].astype(np.float64)
        self.assertLessEqual(np.abs(w).max(), 2)
        self.assertGreater(np.abs(w).max(), 1.999)
        self.assertLess(abs(w.std() - 0.87963), 0.005)  # of N(0, 1) within 2
        self.assertLess(abs(w.mean()), 0.01)
        w = self.state(path, "b.dlc", init="trunc_normal(0.02)", loss="mse")["a.weight"].astype(np.float64)
        self.assertLess(abs(w.std() / 0.02 - 1), 0.01)
        kurtosis = ((w / w.std()) ** 4).mean()
        self.assertLess(abs(kurtosis - 3), 0.06)

    def test_orthogonal(self):
        path = gemms(self.path("m.onnx"), [("a.weight", np.zeros((64, 160)), None),
                                           ("b.weight", np.zeros((40, 160)), 1)])
        state = self.state(path, init="orthogonal(2)", loss="mse")
        for name in ["a.weight", "b.weight"]:
            w = state[name].astype(np.float64)
            np.testing.assert_allclose(w @ w.T, 4 * np.eye(len(w)), atol=2e-6)
        w = self.state(model("lenet"), "b.dlc", init="orthogonal")["c2.weight"].reshape(16, -1).astype(np.float64)
        np.testing.assert_allclose(w @ w.T, np.eye(16), atol=1e-6)

    def test_first_rule_counts_and_the_rest_is_kept(self):
        artifact = self.path("a.dlc")
        _, log = dlc("compile", model("lenet"), "--init=c1:ones", "--init=^c:keep", "--init=f3:zeros", "-o", artifact)
        self.assertIn("initial weights: keep 2, ones 2, zeros 2", log)
        state = load_file(os.path.join(artifact, "state.safetensors"))
        source = {t.name: numpy_helper.to_array(t) for t in onnx.load(model("lenet")).graph.initializer}
        self.assertTrue((state["c1.weight"] == 1).all() and (state["c1.bias"] == 1).all())
        self.assertFalse(state["f3.weight"].any())
        for name in ["c2.weight", "f1.weight", "f2.bias"]:
            np.testing.assert_array_equal(state[name], source[name])

    def test_only_seed_and_name_decide(self):
        first = self.state(model("lenet"), init="xavier_normal", seed=3)
        self.assertBitwise(self.state(model("lenet"), "b.dlc", init="xavier_normal", seed=3, ddp=2, batch=4),
                           first, "other ranks and batch")
        other = self.state(model("lenet"), "c.dlc", init="xavier_normal", seed=4)
        self.assertFalse(np.array_equal(first["f1.weight"], other["f1.weight"]))
        a, b = first["f2.weight"].ravel(), first["f1.weight"].ravel()[:84 * 120]
        self.assertLess(abs(np.corrcoef(a, b)[0, 1]), 0.05)

    def test_trains_from_fresh_weights(self):
        """As well as from the weights that the framework made."""
        best = {}
        for name, options in {"exported": {}, "fresh": dict(init="kaiming_uniform(2.2360679)")}.items():
            artifact = compile(model("lenet"), self.path(name + ".dlc"), quiet=True, lr=0.05, momentum=0.9, **options)
            run = self.path(name)
            train(artifact, data("mnist-train"), run, epochs=1, quiet=True)
            best[name] = evaluate(run, data("mnist-test"))["accuracy"]
        self.assertGreater(best["fresh"], 0.85)
        self.assertGreater(best["fresh"], best["exported"] - 0.03)

    def test_errors(self):
        for words, message in [
            (["--init=xavier_unifrom"], "did you mean 'xavier_uniform'"),
            (["--init=(:zeros"], "'(' is not a regular expression"),
            (["--init=zeros(1)"], "expected zeros, found 'zeros(1)'"),
            (["--init=orthogonal(x)"], "expected orthogonal(NUMBER), found 'orthogonal(x)'"),
            (["--init=trunc_normal("], "expected trunc_normal(NUMBER), found 'trunc_normal('"),
            (["--seed=-1"], "expected a whole number of at least 0"),
        ]:
            _, log = dlc("compile", model("mlp"), *words, "-o", self.path("a.dlc"), code=2)
            self.assertIn(message, log)
        _, log = dlc("compile", model("mlp"), "--init=nothing:zeros", "-o", self.path("a.dlc"), code=2)
        self.assertIn("--init=nothing:zeros matches no trained weight of the model", log)
        self.assertFalse(os.path.exists(self.path("a.dlc")))


if __name__ == "__main__":
    main()
