# SPDX-License-Identifier: Apache-2.0
"""Rows that have weights, of classes or 0 where a label is ignored: evaluation and training divide by the weights of all
rows together, whatever the batch, the ranks and the micro-batches. Judged by numpy in f64."""

import json

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES, FEATURES, CLASSES, IGNORED = 103, 16, 5, -100
WEIGHTS = np.array([0.5, 3, 1, 0, 2])
FLAGS = {"ignored": dict(ignore_index=IGNORED), "classes": dict(class_weights="0.5,3,1,0,2"),
         "both": dict(ignore_index=IGNORED, class_weights="0.5,3,1,0,2")}
SGD = dict(optimizer="sgd", momentum=0, lr=0.5, schedule="constant", quiet=True)
node = helper.make_node


def graph_losses():
    """What follows logits [N, C] and labels y [N], the weights of rows, and initializers."""
    i64 = np.array(IGNORED, np.int64)
    mask = [node("Equal", ["y", "none"], ["is_none"]), node("Not", ["is_none"], ["counts"]),
            node("Cast", ["counts"], ["w"], to=TensorProto.FLOAT),
            node("SoftmaxCrossEntropyLoss", ["logits", "y"], ["l"], reduction="none", ignore_index=IGNORED),
            node("Mul", ["l", "w"], ["wl"]), node("ReduceSum", ["wl"], ["above"], keepdims=0),
            node("ReduceSum", ["w"], ["below"], keepdims=0)]
    return {
        "ignored": ([node("SoftmaxCrossEntropyLoss", ["logits", "y"], ["loss"], ignore_index=IGNORED)], {}),
        "both": ([node("SoftmaxCrossEntropyLoss", ["logits", "y", "cw"], ["loss"], ignore_index=IGNORED)],
                 {"cw": WEIGHTS.astype(np.float32)}),
        "nll": ([node("LogSoftmax", ["logits"], ["logs"], axis=1),
                 node("NegativeLogLikelihoodLoss", ["logs", "y"], ["loss"], ignore_index=IGNORED)], {}),
        "divided": ([*mask, node("Div", ["above", "below"], ["loss"])], {"none": i64}),
        "bounded": ([*mask, node("Max", ["below", "one"], ["most"]), node("Div", ["above", "most"], ["loss"])],
                    {"none": i64, "one": np.array(1, np.float32)}),
        "scaled": ([node("SoftmaxCrossEntropyLoss", ["logits", "y"], ["mean"], ignore_index=IGNORED),
                    node("Mul", ["mean", "two"], ["twice"]), node("Neg", ["twice"], ["minus"]), node("Neg", ["minus"], ["loss"])],
                   {"two": np.array(2, np.float32)}),
    }


def weights_of(kind, y):
    counts = np.ones(len(y)) if kind == "classes" else (y != IGNORED).astype(np.float64)
    return counts * (WEIGHTS[np.where(y == IGNORED, 0, y)] if kind in ("classes", "both") else 1)


def logs_of(state, x):
    logits = np.tanh(x.astype(np.float64) @ state["f1.weight"] + state["f1.bias"]) @ state["f2.weight"] + state["f2.bias"]
    logits -= logits.max(1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def exact(kind, state, x, y):
    """(loss, accuracy): of rows by their weights; of rows that have any."""
    logs, w = logs_of(state, x), weights_of(kind, y)
    rows = -logs[np.arange(len(y)), np.where(y == IGNORED, 0, y)]
    return (rows * w).sum() / w.sum(), (logs.argmax(1) == y)[w != 0].mean()


def moved(kind, state, x, y, scale=1):
    """A step of plain SGD: (loss, state), of rows by their weights; nothing moves if there are none."""
    w = weights_of(kind, y)
    if w.sum() == 0:
        return 0.0, state
    h = np.tanh(x.astype(np.float64) @ state["f1.weight"] + state["f1.bias"])
    hit = np.eye(CLASSES)[np.where(y == IGNORED, 0, y)]
    d = (np.exp(logs_of(state, x)) - hit) * (w / w.sum() * scale)[:, None]
    dh = d @ state["f2.weight"].T * (1 - h**2)
    grads = {"f1.weight": x.T.astype(np.float64) @ dh, "f1.bias": dh.sum(0), "f2.weight": h.T @ d, "f2.bias": d.sum(0)}
    return exact(kind, state, x, y)[0] * scale, {name: state[name] - SGD["lr"] * grads[name] for name in state}


class Rows(dlc.TestCase):
    def setUp(self):
        super().setUp()
        r = np.random.default_rng(0)
        self.state = {"f1.weight": r.standard_normal((FEATURES, 12)).astype(np.float32) / 4, "f1.bias": np.zeros(12, np.float32),
                      "f2.weight": r.standard_normal((12, CLASSES)).astype(np.float32), "f2.bias": np.zeros(CLASSES, np.float32)}
        self.x = r.standard_normal((SAMPLES, FEATURES)).astype(np.float32)
        self.y = r.integers(0, CLASSES, SAMPLES)
        self.ignored = self.y.copy()
        self.ignored[r.random(SAMPLES) < np.linspace(0.9, 0.1, SAMPLES)] = IGNORED
        self.ignored[48:56] = IGNORED  # a micro-batch without a label

    def labels(self, kind):
        return self.y if kind == "classes" else self.ignored

    def data(self, kind, rows=slice(None)):
        np.savez(self.path("data.npz"), x=self.x[rows], y=self.labels(kind)[rows])
        return self.path("data.npz")

    def source(self, loss=None):
        nodes = [node("Gemm", ["x", "f1.weight", "f1.bias"], ["h"]), node("Tanh", ["h"], ["t"]),
                 node("Gemm", ["t", "f2.weight", "f2.bias"], ["logits"])]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", FEATURES])]
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])]
        tensors = dict(self.state)
        if loss:
            more, constants = graph_losses()[loss]
            nodes, tensors = nodes + more, {**tensors, **constants}
            inputs.append(helper.make_tensor_value_info("y", TensorProto.INT64, ["batch"]))
            outputs.append(helper.make_tensor_value_info("loss", TensorProto.FLOAT, []))
        graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in tensors.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path("m.onnx"))
        return self.path("m.onnx")

    def compile(self, graph=None, **options):
        """Parameters alone train, however a file's constants are called."""
        which = dict(loss="loss:graph") if graph else dict(loss="cross_entropy")
        return dlc.compile(self.source(graph), self.path("m.dlc"), train="^f[12]", **(SGD | which | options))


class Evaluation(Rows):
    def expect(self, artifact, data, loss, accuracy=None):
        found = dlc.evaluate(artifact, data)
        self.assertLess(abs(found["loss"] / loss - 1), 1e-6, (found, loss))
        if accuracy is not None:
            self.assertAlmostEqual(found["accuracy"], accuracy, delta=1e-9)

    def test_any_batch(self):
        for kind, options in FLAGS.items():
            expected = exact(kind, self.state, self.x, self.labels(kind))
            for batch in 1, 8, 32, 103:
                with self.subTest(kind=kind, batch=batch):
                    self.expect(self.compile(batch=batch, **options), self.data(kind), *expected)

    def test_losses_of_the_graph(self):
        for kind in graph_losses():
            loss, accuracy = exact("both" if kind == "both" else "ignored", self.state, self.x, self.ignored)
            for batch in 1, 8, 103:
                with self.subTest(kind=kind, batch=batch):
                    self.expect(self.compile(graph=kind, batch=batch), self.data("ignored"), loss * (2 if kind == "scaled" else 1),
                                accuracy if kind in ("ignored", "both") else None)

    def test_several(self):
        """Each of several losses is divided by its own weights; ranks share the batches."""
        loss, accuracy = exact("ignored", self.state, self.x, self.ignored)
        logs = logs_of(self.state, self.x)
        np.savez(self.path("data.npz"), **{"x": self.x, "y.logits": self.ignored, "y.other": self.x[:, :CLASSES]})
        for batch in 8, 103:
            artifact = self.compile(batch=batch, ignore_index=IGNORED, loss="logits:cross_entropy,logits:mse:0.25:as=other")
            found = dlc.evaluate(artifact, self.path("data.npz"))
            shift = np.tanh(self.x.astype(np.float64) @ self.state["f1.weight"]) @ self.state["f2.weight"]
            mse = ((shift - self.x[:, :CLASSES]) ** 2).mean()
            self.assertLess(abs(found["loss"] / (loss + mse / 4) - 1), 1e-6)
            self.assertAlmostEqual(found["accuracy"], accuracy, delta=1e-9)
        self.assertEqual(logs.shape, (SAMPLES, CLASSES))

    def test_validation(self):
        """What a run's validations say, and decide by, on any number of ranks."""
        loss, accuracy = exact("ignored", self.state, self.x, self.ignored)
        data = self.data("ignored")
        for ranks in 1, 3:
            artifact = self.compile(batch=8, ignore_index=IGNORED, ddp=ranks, lr=0)
            run = dlc.train(artifact, data, self.path(f"run{ranks}"), val=data, epochs=1, metrics="perplexity", best="loss", quiet=True)
            with open(f"{run.folder}/epochs.jsonl") as file:
                line = json.loads(file.readline())
            self.assertLess(abs(line["val_loss"] / loss - 1), 1e-6)
            self.assertAlmostEqual(line["val_accuracy"], accuracy, delta=1e-9)
            self.assertLess(abs(line["val_perplexity"] / np.exp(loss) - 1), 1e-5)

    def test_nothing_counts(self):
        self.ignored[:] = IGNORED
        artifact = self.compile(batch=8, ignore_index=IGNORED)
        _, err = dlc.dlc("eval", artifact, data=self.data("ignored"), code=dlc.FAILED)
        self.assertIn("row_loss: no row of the 103 samples has a weight: all labels are ignored, or of classes of weight 0", err)

    def test_no_means(self):
        """A root of a mean has no rows: that is said."""
        self.source("ignored")
        model = onnx.load(self.path("m.onnx"))
        model.graph.node[-1].output[0] = "mean"
        model.graph.node.append(node("Sqrt", ["mean"], ["loss"]))
        onnx.save(model, self.path("m.onnx"))
        _, err = dlc.dlc("compile", self.path("m.onnx"), "-o", self.path("root.dlc"), loss="loss:graph", batch=8)
        self.assertIn("the loss is no sum of means over samples", err)


# Ranks, micro-batches and rows of each, all of 24 rows a step.
SHAPES = [dict(batch=24), dict(batch=12, ddp=2), dict(batch=8, ddp=3), dict(batch=8, accumulate=3),
          dict(batch=4, ddp=2, accumulate=3)]
STEP = 24


class Training(Rows):
    """Ranks, micro-batches and the last batch are one batch: losses, and how far each parameter moves."""

    def expected(self, kind, pads, scale=1):
        """(losses, state) of an epoch."""
        y, state = self.labels(kind), {name: value.astype(np.float64) for name, value in self.state.items()}
        losses = []
        for first in range(0, SAMPLES if pads else SAMPLES // STEP * STEP, STEP):
            rows = slice(first, min(first + STEP, SAMPLES))
            loss, state = moved(kind, state, self.x[rows], y[rows], scale)
            losses.append(loss)
        return losses, state

    def run_of(self, artifact, kind, **options):
        self.runs = getattr(self, "runs", 0) + 1
        return dlc.train(artifact, self.data(kind), self.path(f"run{self.runs}"),
                         **(dict(epochs=1, shuffle="off", threads=1, quiet=True) | options))

    def expect(self, run, losses, state, tolerance=1e-6):
        np.testing.assert_allclose(run.metrics("loss"), losses, rtol=tolerance, atol=1e-7)
        found = run.state(len(losses))
        for name, before in self.state.items():
            self.assertNear(found[name] - before, state[name] - before, tolerance, name)

    def test_kinds(self):
        for kind, options in FLAGS.items():
            for pads in False, True:
                expected = self.expected(kind, pads)
                for shape in SHAPES if kind == "both" else SHAPES[-1:]:
                    with self.subTest(kind=kind, pads=pads, **shape):
                        artifact = self.compile(last_batch="pad" if pads else None, **options, **shape)
                        self.expect(self.run_of(artifact, kind), *expected)

    def test_losses_of_the_graph(self):
        for kind in graph_losses():
            expected = self.expected("both" if kind == "both" else "ignored", False, 2 if kind == "scaled" else 1)
            for shape in SHAPES[2], SHAPES[4]:
                with self.subTest(kind=kind, **shape):
                    self.expect(self.run_of(self.compile(graph=kind, **shape), "ignored"), *expected)

    def test_options(self):
        """What is made of gradients is made of those of all: as with one batch of the same options."""
        options = dict(zero=1, clip_grad=0.05), dict(zero=2, loss_scale=1024), dict(zero=3, zero_whole_mb=1e-5, bucket_mb=1e-4), \
            dict(optimizer="adamw", lr=1e-2, momentum=None, ema=True), dict(loss="focal"), dict(label_smoothing=0.1), \
            dict(loss="nll")
        for each in options:
            each = FLAGS["both"] | each
            whole = self.run_of(self.compile(**each, **SHAPES[0]), "both")
            losses = whole.metrics("loss")
            for shape in SHAPES[2::2] if "zero" in each else SHAPES[4:]:
                with self.subTest(**each, **shape):
                    self.expect(self.run_of(self.compile(**each, **shape), "both"), losses, whole.state(len(losses)))

    def test_halves(self):
        """Within what rounding to fp16 does to rows that count alike, as ranks and micro-batches round other sums."""
        def distance(kind, **options):
            runs = [self.run_of(self.compile(amp=True, amp_dtype="fp16", loss_scale=128, **options, **shape), kind)
                    for shape in (SHAPES[0], SHAPES[4])]
            states = [run.state(SAMPLES // STEP) for run in runs]
            return max(np.linalg.norm(states[0][name] - states[1][name]) / np.linalg.norm(states[0][name] - before)
                       for name, before in self.state.items())

        noise = distance("classes")
        for kind, options in FLAGS.items():
            self.assertLess(distance(kind, **options), 3 * noise, kind)

    def test_several(self):
        """Each of several losses is divided by its own weights; one denominator cannot serve two."""
        np.savez(self.path("data.npz"), **{"x": self.x, "y.logits": self.ignored, "y.other": self.x[:, :CLASSES]})
        options = dict(ignore_index=IGNORED, loss="logits:cross_entropy,logits:mse:0.25:as=other")
        runs = [dlc.train(self.compile(**options, **shape), self.path("data.npz"), self.path(f"several{i}"), epochs=1, quiet=True)
                for i, shape in enumerate((SHAPES[0], SHAPES[2]))]
        for name in "loss", "loss.logits", "loss.other":
            np.testing.assert_allclose(runs[1].metrics(name), runs[0].metrics(name), rtol=1e-6)
        self.expect(runs[1], runs[0].metrics("loss"), runs[0].state(SAMPLES // STEP))
        _, err = dlc.dlc("compile", self.source(), "-o", self.path("no.dlc"), batch=8, accumulate=3, code=dlc.BAD_MODEL, **options)
        self.assertIn("--accumulate=3 divides what micro-batches add up once, by the weights of all their rows, but the losses 'logits', "
                      "'other' have different weights; compile without --accumulate", err)

    def test_nothing_counts(self):
        """A step without a label moves nothing, and the run goes on."""
        self.ignored[STEP:2 * STEP] = IGNORED
        expected = self.expected("ignored", False)
        self.assertEqual(expected[0][1], 0)
        for shape in SHAPES[0], SHAPES[4]:
            self.expect(self.run_of(self.compile(**FLAGS["ignored"], **shape), "ignored"), *expected)
        self.expect(self.run_of(self.compile(graph="ignored", batch=STEP), "ignored"), *expected)


if __name__ == "__main__":
    dlc.main()
