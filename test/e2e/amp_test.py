# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: types and losses as PyTorch's autocast has them (test/refs/make_amp.py), levels, masks, lists."""

import json
import os
import re
import shutil

import dlc
import numpy as np
import onnx
from onnx import helper, numpy_helper
from safetensors.numpy import load_file

node = helper.make_node
SGD = dict(loss="cross_entropy", schedule="constant", optimizer="sgd", lr=0.05, momentum=0.9, weight_decay=1e-4)
ATTRIBUTES = {
    "Softmax": dict(axis=-1), "LogSoftmax": dict(axis=-1), "Concat": dict(axis=0), "Transpose": dict(perm=[0, 1, 3, 2]),
    "MaxPool": dict(kernel_shape=[1, 1]), "AveragePool": dict(kernel_shape=[1, 1]),
    "BatchNormalization": dict(training_mode=0), "GroupNormalization": dict(num_groups=2), "Resize": dict(mode="linear"),
}
NORMS = {"GroupNormalization": 2, "LayerNormalization": 2, "RMSNormalization": 1, "PRelu": 1, "BatchNormalization": 4}
REDUCTIONS = "ReduceProd", "ReduceLogSumExp", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2"


def write(path, nodes, inputs, output, weights):
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
    value = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shape) for n, shape in inputs.items()]
    result = helper.make_tensor_value_info(output[0], onnx.TensorProto.FLOAT, output[1])
    graph = helper.make_graph(nodes, "g", value, [result], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=12), path)
    return path


class Amp(dlc.TestCase):
    def explain(self, model, **options):
        """(op, dtype, why) of the last line of each node."""
        out, _ = dlc.dlc("compile", model, "-o", self.path("out.dlc"), explain_amp=True, quiet=True, batch=4, **options)
        *lines, summary = out.splitlines()
        self.assertRegex(summary, r"^@train_step: \d+ of \d+ ops in ")
        found = {}
        for line in lines:
            name, op, dtype, casts, why = re.split(r"  +", line, maxsplit=4)
            self.assertRegex(casts, r"^\d+ casts?$")
            found[name] = op, dtype, why
        return found

    def every_op(self, table):
        """Each operator on a convolution's result; Sum and Flatten bring all to the logits."""
        weights = {"w": np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1), "e": np.float32(2.5), "axes": np.array([-1]), "zero": np.float32(0), "half": np.float32(0.5)}
        weights |= {f"s{i}": np.arange(1, 5, dtype=np.float32) + i for i in range(4)}
        weights["axis"], weights["scales"] = np.int64(-1), np.array([1, 1, 1, 0.25], np.float32)
        weights["minus"], weights["one"] = np.float32(-1), np.float32(1)
        nodes = [node("Conv", ["x", "w"], ["h"], name="Conv"), node("Greater", ["h", "zero"], ["c"], name="Greater")]
        ends = []

        def add(op, operands, name):
            nodes.append(node(op, operands, [name], name=name, **ATTRIBUTES.get(op, {})))
            if op == "Concat":
                nodes.append(node("ReduceMean", [name, "batch"], [name + "_end"], name=name + "_end"))
                weights["batch"] = np.array([0])
                name += "_end"
            ends.append(name)

        for op, cases in table.items():
            more = [f"s{i}" for i in range(NORMS.get(op, 0))]
            more += {"Pow": ["e"], "Clip": ["minus", "one"]}.get(op, [])
            more += ["axes"] if op in REDUCTIONS else []
            more += {"CumSum": ["axis"], "CumProd": ["axis"], "Resize": ["", "scales"]}.get(op, [])
            if op == "Conv":
                continue
            binary, first = "mixed" in cases, ["c"] if op == "Where" else []
            # Not of what another one computes, too: equal ops are one.
            add(op, first + ["Abs" if op in ("Mish", "Cosh") else "h"] + (["Neg"] if binary else more), op)
            if binary:
                add(op, first + ["h", "x"], op + "_mixed")
            if "scalar" in cases:
                add(op, ["h", "half"], op + "_scalar")
        nodes += [node("Sum", ends, ["sum"], name="Sum"), node("Flatten", ["sum"], ["logits"], name="Flatten")]
        return write(self.path("ops.onnx"), nodes, {"x": [4, 4, 4, 4]}, ("logits", [4, 64]), weights)

    def test_types_as_torch(self):
        with open(os.path.join(dlc.REFS, "amp_types.json")) as file:
            table = json.load(file)
        model = self.every_op(table)
        for half in "bf16", "fp16":
            found = self.explain(model, amp=True, amp_dtype=half, amp_preset="torch")
            for op, cases in table.items():
                for case, expected in cases.items():
                    name = op if case == "half" else f"{op}_{case}"
                    with self.subTest(name, half=half):
                        self.assertEqual(found[name][1].replace(half, "half"), expected, found[name][2])

    def test_operators_that_become_several_ops(self):
        with open(os.path.join(dlc.REFS, "amp_types.json")) as file:
            model = self.every_op(json.load(file))
        with open(self.path("lists.yaml"), "w") as file:
            file.write("deny: [HardSwish]\nallow:\n  - ReduceL2\n")
        found = self.explain(model, amp=True, amp_preset="torch", amp_lists=self.path("lists.yaml"), amp_allow="Gelu",
                             amp_node="^Swish$:f32")
        self.assertEqual(found["HardSwish"][1:], ("f32", "--amp-deny=HardSwish"))
        self.assertEqual(found["HardSigmoid"][1], "bf16")
        self.assertEqual(found["ReduceL2"][1:], ("bf16", "--amp-allow=ReduceL2"))
        self.assertEqual(found["Gelu"][1:], ("bf16", "--amp-allow=Gelu"))
        self.assertEqual(found["Swish"][1:], ("f32", "--amp-node=^Swish$:f32"))
        with open(os.path.join(self.path("out.dlc"), "config.yaml")) as file:
            config = file.read()  # the artifact does not need the file of lists
        self.assertIn("  allow: [Gelu, ReduceL2]\n  deny: [HardSwish]\n", config)
        self.assertNotIn("lists.yaml", config)

    def train(self, name, steps, **options):
        ref = dlc.Reference(name)
        artifact = dlc.compile(dlc.model(name), self.path("model.dlc"), batch=ref.batch, **SGD | options)
        data = ref.write(self.path("data.npz"))
        return artifact, data, dlc.train(artifact, data, self.path("run"), shuffle="off", steps=steps, threads=1,
                                         save_every=3)

    def test_losses_as_torch(self):
        reference = np.load(os.path.join(dlc.REFS, "amp_ref.npz"))
        for name in reference.files:
            with self.subTest(name):
                self.new_folder()
                _, _, run = self.train(name, 20, amp=True, amp_preset="torch")
                np.testing.assert_allclose(run.metrics("loss"), reference[name], rtol=1e-2)

    def test_masters(self):
        """O1 and O2 keep f32; all O-levels but O0 differ from it."""
        _, _, run = self.train("resnet8", 3)
        full = run.metrics("loss")
        for level in "O1", "O2":
            self.new_folder()
            _, _, run = self.train("resnet8", 3, amp=level)
            self.assertEqual({v.dtype.name for v in run.state(3).values()}, {"float32", "int64"})
            np.testing.assert_allclose(run.metrics("loss"), full, rtol=2e-2)
            self.assertFalse(np.array_equal(run.metrics("loss"), full))

    def test_pure_half(self):
        """At O3 what the step keeps is half, averages are f32; resume, eval and export agree about it."""
        artifact, data, run = self.train("resnet8", 6, amp="O3", amp_dtype="fp16", lr=0.01, ema=0.5)
        self.assertTrue(np.isfinite(run.metrics("loss")).all())
        state = run.state(6)
        source = {t.name: numpy_helper.to_array(t) for t in onnx.load(dlc.model("resnet8")).graph.initializer}
        initial = load_file(os.path.join(artifact, "state.safetensors"))
        for name, value in state.items():
            is_float = value.dtype != np.int64
            expected = np.float32 if name.startswith("ema/") else np.float16
            if is_float and name not in ("scaler.scale",):
                self.assertEqual(value.dtype, expected, name)
            if name in source and is_float and source[name].dtype == np.float32:
                np.testing.assert_array_equal(initial[name], source[name].astype(np.float16), name)
        self.assertIn("conv1.weight.m", state)
        self.assertIn("ema/bn1.running_mean", state)
        dlc.dlc("export", self.path("run"), "-o", self.path("out.onnx"))
        dlc.dlc("export", self.path("run"), "--ema", "-o", self.path("ema.onnx"))
        for file, prefix in ("out.onnx", ""), ("ema.onnx", "ema/"):
            for tensor in onnx.load(self.path(file)).graph.initializer:
                if prefix + tensor.name in state and source[tensor.name].dtype == np.float32:
                    value = numpy_helper.to_array(tensor)
                    self.assertEqual(value.dtype, np.float32)
                    np.testing.assert_array_equal(value, state[prefix + tensor.name].astype(np.float32), tensor.name)
        plain = dlc.evaluate(self.path("run"), data)
        averaged = dlc.evaluate(self.path("run"), data, ema=True)
        self.assertNotEqual(plain["loss"], averaged["loss"])
        shutil.rmtree(self.path("run/checkpoint-6"))
        dlc.dlc("train", resume=self.path("run"))
        self.assertBitwise(run.state(6), state, "resumed")

    def masked(self, kind):
        """Attention scores with masks of -1e9 and of the last f32 number; the last row is masked throughout."""
        keep = np.tril(np.ones((8, 8), bool))
        keep[7] = False
        low = np.float32(-3.4028234663852886e38 if kind == "last" else -1e9)
        weights = {"w": np.random.RandomState(0).randn(8, 8).astype(np.float32), "low": low, "keep": keep,
                   "zero": np.float32(0), "one": np.float32(1), "mask": np.where(keep, np.float32(0), low)}
        masking = {
            "where": [node("Where", ["keep", "q", "low"], ["s"])],
            "last": [node("Where", ["keep", "zero", "low"], ["m"]), node("Add", ["q", "m"], ["s"])],
            "product": [node("Cast", ["keep"], ["k"], to=1), node("Sub", ["one", "k"], ["n"]),
                        node("Mul", ["n", "low"], ["m"]), node("Add", ["q", "m"], ["s"])],
            "state": [node("Add", ["q", "mask"], ["s"])],
        }[kind]
        nodes = [node("MatMul", ["x", "w"], ["q"]), *masking, node("Softmax", ["s"], ["p"], axis=-1),
                 node("MatMul", ["p", "w"], ["y"])]
        return write(self.path("masked.onnx"), nodes, {"x": [8, 8]}, ("y", [8, 8]), weights)

    def test_masks(self):
        random = np.random.RandomState(1)
        np.savez(self.path("data.npz"), x=random.randn(16, 8).astype(np.float32), y=random.randint(0, 8, 16))
        for kind in "where", "last", "product", "state":
            model, losses = self.masked(kind), {}
            for half in None, "bf16", "fp16":
                with self.subTest(kind, half=half):
                    amp = dict(amp=True, amp_dtype=half, loss_scale="none") if half else {}
                    artifact = dlc.compile(model, self.path(f"{kind}-{half}.dlc"), batch=8, lr=0.01, **amp)
                    run = dlc.train(artifact, self.path("data.npz"), self.path(f"{kind}-{half}"), steps=4,
                                    shuffle="off", threads=1)
                    losses[half] = run.metrics("loss")
                    np.testing.assert_allclose(losses[half], losses[None], rtol=3e-2)

    def test_a_weight_is_cast_once(self):
        artifact = dlc.compile(dlc.model("gpt_tiny"), self.path("gpt.dlc"), batch=2, amp=True, optimizer="adamw",
                               clip_grad=1, ema=0.9, loss_scale="dynamic")
        with open(os.path.join(artifact, "model.mlir")) as file:
            text = file.read()
        step = text[text.index("@train_step"):]
        step = step[:step.index("\n  }")]
        reads = dict(re.findall(r"(%\S+) = dlc.read @(\S+) ", step))
        casts = re.findall(r"= dlc.cast (%\S+) : \(\S+xf32>\) -> tensor<\S+xbf16>", step)
        of_weights = [reads[value] for value in casts if value in reads]
        self.assertGreater(len(of_weights), 15)
        self.assertEqual(len(of_weights), len(set(of_weights)))
        self.assertEqual(len(reads), len(set(reads.values())))


if __name__ == "__main__":
    dlc.main()
