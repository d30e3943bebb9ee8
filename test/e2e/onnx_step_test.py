# SPDX-License-Identifier: Apache-2.0
"""dlc export --step: ONNX Runtime's CPU trains as dlc does, by models/examples/onnx_step.py.

Losses agree to 1e-5, and each parameter's movement to 30 times the noise, which is what dlc's own run differs by if the
rows of each batch are in the reverse order, or to what it is rounded by when each step adds to it.
"""
# processors: 2

import os
import re
import sys

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(dlc.MODELS, "examples"))
from onnx_step import Step  # noqa: E402

STEPS = 20
ADAMW = dict(optimizer="adamw", lr=1e-3, weight_decay=1e-2)
OPTIMIZERS = "sgd", "adam", "adamw", "radam", "rmsprop", "rmsprop_tf", "adagrad", "lamb", "lion", "muon", "nadam", "adafactor", "lars"
SGD = dict(optimizer="sgd", lr=0.05, momentum=0.9, weight_decay=1e-4)


def recurrent(name):
    with np.load(os.path.join(dlc.REFS, "recurrent_ref.npz")) as ref:
        return ref[f"{name}/inputs"], ref[f"{name}/labels"]


def folded(name):
    with np.load(os.path.join(dlc.REFS, "folded_ref.npz")) as ref:
        return ref[f"{name}/inputs"], ref[f"{name}/labels"]


def reference(name):
    ref = dlc.Reference(name)
    return ref.inputs, ref.labels


def moved(first, last):
    return {name: last[name].astype(np.float64) - value for name, value in first.items() if name in last}


class OnnxStep(dlc.TestCase):
    def compile(self, path, batches, **options):
        """Of batches [steps, batch, ...] of the inputs and labels."""
        self.batches = [(x, y.reshape(len(x), -1) if len(y) > len(x) else y) for x, y in zip(*batches)]
        return dlc.compile(path, self.path("model.dlc"), batch=len(self.batches[0][0]), **dict(loss="cross_entropy") | options)

    def train(self, artifact, name="run", reverse=False, **options):
        turn = slice(None, None, -1 if reverse else 1)
        np.savez(self.path("data.npz"), **{key: np.concatenate([batch[i][turn] for batch in self.batches]) for i, key in enumerate("xy")})
        return dlc.train(artifact, self.path("data.npz"), self.path(name),
                         **dict(shuffle="off", steps=STEPS, save_every=STEPS, threads=1) | options)

    def export(self, model, name="step.onnx", **options):
        """The step, which is right by ONNX's own rules."""
        path = self.path(name)
        dlc.dlc("export", model, "--step", "-o", path, **options)
        onnx.checker.check_model(path, full_check=True)
        self.assertEqual({node.domain for node in onnx.load(path, load_external_data=False).graph.node}, {""})
        return path

    def run_onnx(self, path, steps=STEPS):
        step, results = Step(path), []
        types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
        for number in range(steps):
            batch = self.batches[number % len(self.batches)]
            results.append(step({info.name: value.astype(types[info.type]).reshape(info.shape) for info, value in zip(step.inputs, batch)}))
        return step, {key: np.array([result[key] for result in results]) for key in results[0]}

    def check(self, artifact, tolerance=1e-5, noisy=True, steps=STEPS, **options):
        """Losses, other results and movements of all that trains; what the runs have seen."""
        options = dict(steps=steps, save_every=steps) | options
        run = self.train(artifact, **options)
        step, results = self.run_onnx(self.export(artifact), steps)
        turned = self.train(artifact, "turned", reverse=True, **options) if noisy else run
        for key, values in results.items():
            own, noise = run.metrics(key), np.abs(turned.metrics(key) / run.metrics(key) - 1).max()
            np.testing.assert_allclose(values, own, rtol=max(tolerance, 30 * noise), err_msg=key)
        first, last = run.initial(artifact), run.state(steps)
        expected, found = moved(first, last), moved(first, step.state)
        other = moved(first, turned.state(steps))
        trained = [name for name in found if first[name].dtype == np.float32]
        self.assertGreater(len(trained), 1)
        for name in trained:
            norm = max(np.linalg.norm(expected[name]), 1e-30)
            noise = np.linalg.norm(other[name] - expected[name]) / norm
            rounding = steps * 2**-24 * np.linalg.norm(first[name]) / norm
            self.assertNear(found[name], expected[name], max(2e-6, 30 * noise, rounding), name)
        counters = [name for name in step.state if step.state[name].dtype.kind in "iu"]
        for name in counters:
            self.assertEqual(step.state[name], last[name], name)
        self.assertLessEqual(set(step.state), set(last))
        return step, run

    def test_lenet(self):
        step, run = self.check(self.compile(dlc.model("lenet"), reference("lenet"), ema=0.9, clip_grad=1, schedule="cosine",
                                            warmup=3, steps=STEPS, **ADAMW))
        self.assertIn("ema/c1.weight", step.state)
        rates = run.metrics("lr")
        self.assertGreater(np.ptp(rates), 1e-4, "the schedule moves it")

    def test_resnet8(self):
        """Batch norms, whose running statistics are states, and strided convolutions. In few steps: sooner or later an input
        of a ReLU has another sign by rounding, which the reverse order of rows need not show."""
        step, _ = self.check(self.compile(dlc.model("resnet8"), reference("resnet8"), **SGD | dict(lr=0.005)), steps=8)
        self.assertTrue(any("running_mean" in name for name in step.state), step.state.keys())

    def test_gpt_tiny(self):
        self.check(self.compile(dlc.model("gpt_tiny"), reference("gpt_tiny"), clip_grad=1, **ADAMW))

    def test_bert(self):
        self.check(self.compile(os.path.join(dlc.REFS, "folded_hf_bert.onnx"), folded("hf_bert"), **ADAMW))

    def test_lstm(self):
        self.check(self.compile(os.path.join(dlc.REFS, "recurrent_lstm-old.onnx"), recurrent("lstm"), **ADAMW | dict(lr=1e-2)))

    def test_optimizers(self):
        """Every one, and what else a step may have."""
        with np.load(dlc.data("digits-train")) as file:
            x, y = file["x"][:160] / np.float32(16), file["y"][:160]
        batches = x.reshape(STEPS, 8, *x.shape[1:]), y.reshape(STEPS, 8)
        for options in (*(dict(optimizer=name) for name in OPTIMIZERS), dict(optimizer="adamw(amsgrad=true)"), dict(lora=4),
                        dict(stats=True), dict(clip_param_grad=0.1, clip_value=0.01), dict(loss="focal"), dict(ema="0.9,0.99")):
            with self.subTest(**options):
                self.new_folder()
                artifact = self.compile(dlc.model("mlp"), batches, **dict(optimizer="sgd", lr=0.01) | options)
                run = self.train(artifact)
                step, results = self.run_onnx(self.export(artifact))
                np.testing.assert_allclose(results["loss"], run.metrics("loss"), rtol=1e-6)
                first = run.initial(artifact)
                self.assertTrue(any(np.any(value != first[name]) for name, value in step.state.items() if name in first))
                self.assertEqual(set(step.state) - set(run.state(STEPS)), set())

    def test_dropout(self):
        """The masks are the same, step by step: Philox in ONNX's integers."""
        random = np.random.default_rng(1)
        batches = random.normal(size=(4, 8, 1, 8, 8)).astype(np.float32), random.integers(0, 10, (4, 8))
        artifact = self.compile(os.path.join(dlc.REFS, "dropout_mlp.onnx"), batches, seed=5, **ADAMW)
        with open(os.path.join(artifact, "model.mlir")) as file:
            self.assertIn("dlc.uniform", file.read())
        step, _ = self.check(artifact, noisy=False)
        self.assertGreater(step.state["rng.draw"], 0)

    def test_halves(self):
        """Rounded where dlc rounds, so that the losses are closer to dlc's than those in f32; fp16 has its scale as a state."""
        _, whole = self.run_onnx(self.export(self.compile(dlc.model("lenet"), reference("lenet"), **SGD)))
        for kind in "bf16", "fp16":
            self.new_folder()
            artifact = self.compile(dlc.model("lenet"), reference("lenet"), amp=True, amp_dtype=kind, **SGD)
            run = self.train(artifact)
            step, results = self.run_onnx(self.export(artifact))
            losses = run.metrics("loss")
            found, far = (np.abs(other["loss"] / losses - 1) for other in (results, whole))
            self.assertLess(found[0], 1e-6, kind)
            self.assertLess(found[:4].max(), far[:4].max() / 2, kind)
            self.assertLess(found.max(), 1e-2, kind)  # one rounding the other way, and both go their ways
            if kind == "fp16":
                np.testing.assert_array_equal(results["loss_scale"], run.metrics("loss_scale"))

    def test_a_run_goes_on(self):
        """Its newest state, whole as dlc has it; what is frozen is no input; large weights are beside the graph."""
        artifact = self.compile(dlc.model("lenet"), reference("lenet"), freeze="^c1", **ADAMW)
        run = self.train(artifact, save_every=10)
        os.rename(os.path.join(run.folder, "checkpoint-20"), self.path("last"))
        path = self.export(run.folder, inline_limit="1KiB")
        model = onnx.load(path, load_external_data=False)
        inputs = {value.name for value in model.graph.input}
        self.assertTrue({"c2.weight", "c2.weight.v", "step"} <= inputs, inputs)
        self.assertFalse({"c1.weight", "c1.bias"} & inputs, inputs)
        self.assertTrue(any(tensor.data_location == TensorProto.EXTERNAL for tensor in model.graph.initializer))
        step = Step(path)
        first = run.state(10)
        batch = self.batches[10 % len(self.batches)]
        loss = step({info.name: value for info, value in zip(step.inputs, batch)})["loss"]
        np.testing.assert_allclose(loss, run.metrics("loss")[10], rtol=1e-5)
        self.assertEqual(step.state["step"], first["step"] + 1)

    def refused(self, message, artifact, code=dlc.USAGE, *words):
        _, err = dlc.dlc("export", artifact, "--step", *words, "-o", self.path("no.onnx"), code=code)
        self.assertIn(message, err)
        self.assertFalse(os.path.exists(self.path("no.onnx")))

    def test_refusals(self):
        compiled = lambda **options: dlc.compile(dlc.model("mlp"), self.path("m.dlc"), quiet=True, **options)
        for message, options in (
                ("trains on 2 ranks by dlc.all_reduce, which ONNX does not have: compile without --ddp", dict(ddp=2)),
                ("has two programs by --accumulate", dict(accumulate=2)),
                ("has programs of several sizes", dict(batch="8,16")),
                ("schedule has no length ('schedule.steps' is 0): compile with --steps, or export a run", dict(schedule="cosine")),
                ("has no training step: it was compiled with --predict-only", dict(predict_only=True))):
            with self.subTest(message):
                self.refused(message, compiled(**options))
        artifact = compiled(ema=True)
        self.refused("--ema: --step writes all states", artifact, dlc.USAGE, "--ema")
        with open(os.path.join(artifact, "model.mlir"), "a") as file:
            file.write("more\n")
        dlc.rehash(artifact)
        self.refused("model.mlir", artifact, dlc.CORRUPT)
        plan = os.path.join(artifact, "plan.pb")
        with open(plan, "rb") as file:
            content = file.read()
        own = max(re.findall(rb"dlc \d+\.\d+\.\d+", content))
        other = own[:-1] + (b"9" if own[-1:] != b"9" else b"8")
        with open(plan, "wb") as file:
            file.write(content.replace(own, other))
        dlc.rehash(artifact)
        self.refused(f"is of {other.decode()}, whose model.mlir {own.decode()} does not read: compile the model again", artifact,
                     dlc.INCOMPATIBLE)

    def small(self, op, kind=TensorProto.FLOAT, x="x"):
        """The mean of a function of x w."""
        nodes = [helper.make_node("MatMul", [x, "w"], ["h"]), helper.make_node(op, ["h"], ["t"]),
                 helper.make_node("ReduceMean", ["t"], ["cost"], keepdims=0)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(x, kind, ["batch", 3])],
                                  [helper.make_tensor_value_info("cost", kind, [])],
                                  [numpy_helper.from_array(np.ones((3, 4), helper.tensor_dtype_to_np_dtype(kind)), "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), self.path("small.onnx"))
        return dlc.compile(self.path("small.onnx"), self.path("small.dlc"), batch=4, loss="cost:graph", optimizer="sgd", lr=1,
                           schedule="constant", quiet=True)

    def test_an_op_without_a_form(self):
        artifact = self.small("Erf", TensorProto.DOUBLE)
        with open(os.path.join(artifact, "model.mlir")) as file:
            lines = list(file)
        start = next(i for i, line in enumerate(lines) if "@train_step" in line)
        line = next(i for i, line in enumerate(lines, 1) if i > start and "dlc.erf" in line)
        self.refused(f"model.mlir:{line}: 'dlc.erf' is in f64, in which ONNX Runtime's CPU does not compute it: dlc train runs "
                     "the step", artifact, dlc.BAD_MODEL)

    def test_a_name_of_two(self):
        self.refused("'step' is the name of two of the step's inputs, states and results, of which a graph needs different ones: "
                     "rename one in the model", self.small("Tanh", x="step"), dlc.BAD_MODEL)


if __name__ == "__main__":
    dlc.main()
