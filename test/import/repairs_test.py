# SPDX-License-Identifier: Apache-2.0
"""Each repair of the import's list changes some file, is counted there, and can be left out or says why not."""

import json
import os
import re
import struct
import sys

import numpy as np
import onnx

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from onnx import helper
from support import SIGNATURE, call, linear, model, node, value

random = np.random.RandomState(0)
NEEDED, NEVER = {"upgrade", "contrib", "masked-scatter", "standard-bodies"}, {"drop-dead", "bind-inputs"}


def floats(*shape):
    return random.randn(*shape).astype(np.float32)


def of_torch(proto, *parameters):
    proto.producer_name = "pytorch"
    lines = [f"p_{re.sub('[.]', '_', p)}: PARAMETER target='{p}'" for p in parameters]
    if parameters:
        proto.graph.metadata_props.add(key=SIGNATURE, value="\n# inputs\n" + "\n".join(lines) + "\nx: USER_INPUT\n")
    return proto


def chain(*nodes, weights=None, outputs="y", shape=(4, 8), **options):
    return model(list(nodes), [value("x", shape)], [value(outputs, None)], weights, **options)


def quantized():
    """y = x times a matrix of 8-bit integers."""
    weights = {"w_quantized": random.randint(-127, 128, (8, 8)).astype(np.int8), "s": np.float32(0.01), "z": np.int8(0), "v": floats(8, 8)}
    return chain(node("DequantizeLinear", ["w_quantized", "s", "z"], ["w"]), node("MatMul", ["x", "w"], ["h"]),
                 node("MatMul", ["h", "v"], ["y"]), weights=weights)


def carried(w):
    """y = x w w w, of a loop that carries w from step to step."""
    body = helper.make_graph([node("MatMul", ["h", "v"], ["g"])], "body",
                             [value("i", [], onnx.TensorProto.INT64), value("c", [], onnx.TensorProto.BOOL), value("h", None), value("v", None)],
                             [value("c", [], onnx.TensorProto.BOOL), value("g", None), value("v", None)])
    return chain(node("Loop", ["n", "", "x", "w"], ["y", "unused"], body=body), weights={"w": w, "n": np.array(3)})


def parallel_norms():
    """y = a(norm(x)) + b(norm2(x)), where the exporter kept one of two norms with equal parameters."""
    norm = call(node("LayerNormalization", ["x", "n.weight", "n.bias"], ["layer_norm"], epsilon=0.25), "layer_norm",
                "%x, [8], %p_n_weight, %p_n_bias, 0.25, False", "n")
    nodes = [norm, call(node("MatMul", ["layer_norm", "a.weight"], ["p"]), "matmul", "%layer_norm, %p_a_weight", "a"),
             call(node("MatMul", ["layer_norm", "b.weight"], ["q"]), "matmul", "%layer_norm_1, %p_b_weight", "b"),
             call(node("Add", ["p", "q"], ["y"]), "add", "%p, %q")]
    weights = {"a.weight": floats(8, 8), "b.weight": floats(8, 8), "n.weight": np.ones(8, np.float32), "n.bias": np.zeros(8, np.float32)}
    return of_torch(chain(*nodes, weights=weights), *weights, "m.weight", "m.bias")


def two_norms():
    """A batch norm that trains, and one in inference mode."""
    names = [f"{n}.{part}" for n in "ab" for part in ("weight", "bias", "running_mean", "running_var")]
    norms = [node("BatchNormalization", [x, *names[4 * i:4 * i + 4]], results, training_mode=1 - i)
             for i, (x, results) in enumerate([("x", ["h", "m", "v"]), ("h", ["y"])])]
    return of_torch(chain(*norms, weights={name: np.abs(floats(8)) for name in names}))


def largest(target, op="ReduceMax", indices=None):
    """The largest of x p and x q, equal numbers, by a call of torch or, without one, as the older exporter writes it."""
    best = node(op, ["c"], ["y"], **({} if op == "GlobalMaxPool" else {"axes": [2]}))
    nodes = [*(node("Mul", ["x", w], [w + "x"]) for w in "pq"), node("Concat", ["px", "qx"], ["c"], axis=2),
             call(best, target, "%c, 2") if target else best]
    outputs = [value("y", None)]
    if indices is not None:
        nodes.append(node("ArgMax", ["c"], ["i"], axis=indices))
        outputs.append(value("i", None, onnx.TensorProto.INT64))
    return of_torch(model(nodes, [value("x", [4, 1, 1])], outputs, {w: np.ones(1, np.float32) for w in "pq"}), *("pq" if target else ""))


def masked():
    """y = x.masked_scatter(x > 0, v), as torch's exporters write it."""
    nodes = [node("Greater", ["x", "zero"], ["m"]), node("NonZero", ["m"], ["at"]), node("Transpose", ["at"], ["places"], perm=[1, 0]),
             node("Reshape", ["v", "all"], ["flat"]), node("Shape", ["places"], ["s"]), node("Gather", ["s", "start"], ["n"]),
             node("Slice", ["flat", "start", "n", "start"], ["first"]), node("ScatterND", ["x", "places", "first"], ["y"])]
    numbers = {"zero": np.float32(0), "all": np.array([-1]), "start": np.array([0]), "v": floats(4, 8)}
    return of_torch(chain(*nodes, weights=numbers), "v")


def products(*names):
    """The same weights in products of these names."""
    inputs = ["x", *(f"h{i}" for i in range(len(names) - 1)), "y"]
    return [node("MatMul", [a, "a.weight"], [b], name=name) for name, a, b in zip(names, inputs, inputs[1:])]


class Repairs(dlc.TestCase):
    def file(self, proto, name="m.onnx"):
        onnx.save(proto, self.path(name))
        return self.path(name)

    def safetensors(self, name, array):
        header = json.dumps({name: {"dtype": "F32", "shape": list(array.shape), "data_offsets": [0, array.nbytes]}}).encode()
        with open(self.path("w.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + array.tobytes())
        return self.path("w.safetensors")

    def cases(self):
        """{repair: (file, flags)}"""
        ref = lambda name: os.path.join(dlc.REFS, name)
        lenet, folded = os.path.join(dlc.ROOT, "models", "lenet.onnx"), ref("folded_bert.onnx")
        w, place = floats(8, 8), np.array([8, 8])
        constant = node("Constant", [], ["w"], value=onnx.numpy_helper.from_array(w))
        gelu = chain(node("Gelu", ["x"], ["y"], domain="com.microsoft"), domains=["com.microsoft"])
        product = node("MatMul", ["x", "onnx::MatMul_7"], ["y"])
        return {
            "constants": (self.file(chain(constant, node("MatMul", ["x", "w"], ["y"])), "constant.onnx"), []),
            "carried-weights": (self.file(carried(w), "carried.onnx"), []),
            "stop-gradients": (ref("stops_vq-plain.onnx"), []),
            "keep-statistics": (self.file(two_norms(), "modes.onnx"), []),
            "indexed-extrema": (self.file(largest("max"), "largest.onnx"), []),
            "add-zero-biases": (ref("folded_convnext.onnx"), []),
            "settle-folded": (folded, []),
            "split-norms": (self.file(parallel_norms(), "norms.onnx"), []),
            "split-merged": (folded, []),
            "unpack-recurrent": (ref("recurrent_lstm-dynamo.onnx"), []),
            "one-bias": (self.file(chain(node("RNN", ["x", "W", "R", "B"], ["y"], hidden_size=8), shape=[3, 4, 8], weights={
                "W": floats(1, 8, 8), "R": floats(1, 8, 8), "B": np.concatenate([floats(1, 8), np.zeros((1, 8), np.float32)], 1)}), "rnn.onnx"), []),
            "names-by-value": (self.file(chain(product, weights={"onnx::MatMul_7": w}), "unnamed.onnx"),
                               [f"--names={self.safetensors('fc.weight', w.T.copy())}"]),
            "adopt-names": (folded, []),
            "unfold-values": (folded, []),
            "untie": (self.file(of_torch(chain(*products("/a/MatMul", "/b/MatMul"), weights={"a.weight": w})), "tied.onnx"),
                      ["--untie=a.weight"]),
            "fill-weights": (self.file(chain(node("ConstantOfShape", ["s"], ["w"]), node("MatMul", ["x", "w"], ["y"]), weights={"s": place}),
                                       "filled.onnx"), []),
            "unfold-bn": (ref("resnet8-eval.onnx"), ["--unfold-bn"]),
            "freeze-bn": (self.file(two_norms(), "frozen.onnx"), ["--freeze-bn=."]),
            "train-quantized": (self.file(quantized(), "quantized.onnx"), ["--qat"]),
            "dropout": (ref("dropout_mlp.onnx"), ["--dropout"]),
            "new-head": (lenet, ["--replace-head=5"]),
            "load-weights": (lenet, [f"--weights={lenet}"]),
            "features": (self.file(chain(node("MatMul", ["x", "w"], ["h"]), node("Relu", ["h"], ["y"]), weights={"w": w}), "inner.onnx"),
                         ["--features=h"]),
            "upgrade": (self.file(chain(node("Softmax", ["x"], ["y"], axis=0), opset=11), "old.onnx"), []),
            "contrib": (self.file(gelu, "gelu.onnx"), []),
            "masked-scatter": (self.file(masked(), "masked.onnx"), []),
            "standard-bodies": (self.file(chain(node("Shrink", ["x"], ["y"])), "shrink.onnx"), []),
            "drop-dead": (lenet, []),  # no file is known of which another repair leaves such nodes
            "bind-inputs": (lenet, []),
            "init": (lenet, ["--init=zeros"]),
        }

    def explained(self, path, *flags, code=dlc.OK):
        """{repair: places}, in their order, and what was said."""
        out, err = dlc.dlc("compile", path, "--stop-after=import", "--explain-import", *flags, code=code)
        return {name: int(places) for name, places in re.findall(r"(?m)^// (\S+) +(\d+) +\d+\.\d+ ms  \S", out)}, err

    def test_each_repairs_a_file_and_can_be_left_out(self):
        cases = self.cases()
        _, err = self.explained(cases["bind-inputs"][0], "--no-repair=upgrades", code=dlc.USAGE)
        named = re.search(r"is called 'upgrades'; did you mean 'upgrade'\?; there are (.*)", err)
        self.assertIsNotNone(named, err)
        self.assertEqual(set(named[1].strip().split(", ")), set(cases) - NEVER)
        order = []
        for name, (path, flags) in cases.items():
            with self.subTest(name):
                places, _ = self.explained(path, *flags)
                self.assertGreater(places[name], -1 if name == "drop-dead" else 0, places)
                order += [repair for repair in places if repair not in order]
                skip = f"--no-repair={name}"
                if name in NEVER:
                    self.assertIn(f"is called '{name}'", self.explained(path, skip, code=dlc.USAGE)[1])
                elif name in NEEDED:
                    self.assertRegex(self.explained(path, skip, *flags, code=dlc.USAGE)[1], f"{skip}: 1 node of the model needs it, which ")
                    self.explained(self.file(linear()), skip, "--train=w")
                else:
                    places, err = self.explained(path, skip, *flags)
                    self.assertNotIn(name, places)
                    self.assertIn(f"skipped by --no-repair: {name}; ", err)
        self.assertEqual(set(order), set(cases))

    def test_what_is_left_out_trains_as_the_file_has_it(self):
        path = os.path.join(dlc.REFS, "folded_bert.onnx")
        parameters = lambda *flags: dlc.dlc("compile", path, "--stop-after=import", *flags)[0].count(" param init")
        self.assertEqual([parameters(), parameters("--no-repair=split-merged,dropout")], [33, 25])

    def test_a_mask_places_elements_in_order(self):
        proto, x = masked(), floats(4, 8)
        v = onnx.numpy_helper.to_array(proto.graph.initializer[3])
        y = x.copy()
        y[x > 0] = v.flatten()[:(x > 0).sum()]
        np.savez(self.path("d.npz"), x=x, y=np.zeros_like(x))
        dlc.dlc("compile", self.file(proto), "--loss=y:mse", "--lr=16", "--train=v", "-o", self.path("m.dlc"))
        run = dlc.train(self.path("m.dlc"), self.path("d.npz"), self.path("run"), steps=1)
        self.assertAlmostEqual(run.metrics("loss")[0], (y * y).mean(), places=6)
        used = np.arange(32).reshape(4, 8) < (x > 0).sum()  # of the mean of y^2: dv = 2 v / 32 of lr 16
        np.testing.assert_allclose(run.state(1)["v"], np.where(used, 0, v), atol=1e-6)

    def test_the_second_bias_stays_zero(self):
        """In a layer of a source with one bias; if that is zeros, too, nothing tells."""
        np.savez(self.path("d.npz"), x=floats(3, 4, 8), y=floats(3, 4, 8))
        path, _ = self.cases()["one-bias"]
        for value in np.float32(0.5), np.float32(0):
            proto = onnx.load(path)
            b = np.concatenate([np.full((1, 8), value), np.zeros((1, 8), np.float32)], 1)
            next(t for t in proto.graph.initializer if t.name == "B").CopyFrom(onnx.numpy_helper.from_array(b, "B"))
            artifact = self.path(f"{value}.dlc")
            _, err = dlc.dlc("compile", self.file(proto), "--loss=mse", "--optimizer=adam", "-o", artifact)
            self.assertEqual("--lr-scale=REGEX:0.5, which they match" in err, value == 0, err)
            run = dlc.train(artifact, self.path("d.npz"), self.path(f"{value}"), steps=1)
            moved = (run.state(1)["B"] != b).reshape(2, 8)
            self.assertEqual(moved.all(1).tolist(), [True, value == 0])

    def test_the_first_of_equal_elements_gets_the_gradient_of_max_dim(self):
        """As in PyTorch, where amax divides it. An ArgMax beside the maximum tells that the older exporter's call was max(dim)."""
        np.savez(self.path("d.npz"), x=np.full((4, 1, 1), 2, np.float32), y=np.zeros((4, 1, 1), np.float32))
        for kind, proto, moves in (("max(dim)", largest("max"), [1, 0]), ("amax", largest("amax"), [0.5, 0.5]),
                                   ("min(dim)", largest("min", "ReduceMin"), [1, 0]), ("older", largest("", indices=-1), [1, 0]), ("other axis", largest("", indices=0), [0.5, 0.5]),
                                   ("unknown", largest(""), [0.5, 0.5]), ("pool", largest("", "GlobalMaxPool"), [1, 0])):
            with self.subTest(kind):
                artifact = self.path(f"{kind}.dlc")
                _, said = dlc.dlc("compile", self.file(proto), "--train=^[pq]$", "--loss=y:mse", "--lr=0.125", "-o", artifact)
                state = dlc.train(artifact, self.path("d.npz"), self.path(kind), steps=1).state(1)
                self.assertEqual("share the gradient of these maxima" in said, kind == "unknown")
                self.assertEqual([1 - state[w].item() for w in "pq"], moves)  # of the mean of (2 max(p, q))^2

    def test_inspect_counts_them(self):
        artifact = dlc.compile(os.path.join(dlc.REFS, "recurrent_gru-dynamo.onnx"), self.path("gru.dlc"), loss="mse")
        decisions = json.loads(dlc.dlc("inspect", artifact, "--json")[0])["decisions"]
        packed = sum(d["repair"] == "unpack-recurrent" for d in decisions)
        self.assertGreater(packed, 0)
        self.assertRegex(dlc.dlc("inspect", artifact)[0], rf"decided about tensors, by repairs: .*unpack-recurrent {packed}")


if __name__ == "__main__":
    dlc.main()
