# SPDX-License-Identifier: Apache-2.0
"""--loss-chunk: training without whole logits is the same but for the order of sums, in less memory."""

import json

import dlc
import numpy as np
import onnx
from onnx import helper, numpy_helper

STEPS, WORDS, WIDTH, ROWS, TIME = 5, 203, 16, 6, 25
random = np.random.RandomState(0)


class ChunkLoss(dlc.TestCase):
    tolerance = 2e-6

    def head(self, biased=False):
        """Logits [ROWS, TIME, WORDS] by the embedding's own weight, or with a bias."""
        nodes = [helper.make_node("Gather", ["emb.weight", "x"], ["e"]), helper.make_node("Tanh", ["e"], ["h"]),
                 helper.make_node("Transpose", ["emb.weight"], ["t"], perm=[1, 0], name="/head/Transpose"),
                 helper.make_node("MatMul", ["h", "t"], ["product" if biased else "y"], name="/head/MatMul")]
        tensors = {"emb.weight": random.randn(WORDS, WIDTH).astype(np.float32)}
        if biased:
            tensors["head.bias"] = random.randn(WORDS).astype(np.float32)
            nodes.append(helper.make_node("Add", ["product", "head.bias"], ["y"], name="/head/Add"))
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 7, [ROWS, TIME])],
                                  [helper.make_tensor_value_info("y", 1, [ROWS, TIME, WORDS])],
                                  [numpy_helper.from_array(v, k) for k, v in tensors.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path("head.onnx"))
        x, y = random.randint(0, WORDS, (2, 40 * ROWS, TIME))
        np.savez(self.path("head.npz"), x=x, y=y)
        return self.path("head.onnx"), self.path("head.npz")

    def train(self, source, data, run, **options):
        artifact = dlc.compile(source, self.path(run + ".dlc"), **options)
        trained = dlc.train(artifact, data, self.path(run), steps=STEPS, seed=3, threads=1)
        out, _ = dlc.dlc("inspect", artifact, json=True)
        return trained, json.loads(out)

    def check(self, source, data, chunks, tolerance=None, **options):
        """Losses, parameters and evaluation of the whole form; returns the inspections, that of the whole form first."""
        whole, about = self.train(source, data, "whole", loss_chunk="off", **options)
        judged = dlc.evaluate(whole.folder, data)
        all_about = [about]
        for rows in chunks:
            what = f"{rows} {options}"
            pieces, about = self.train(source, data, f"chunk{rows}", loss_chunk=rows, **options)
            all_about.append(about)
            self.assertGreater(about["programs"]["train_step"]["commands"], all_about[0]["programs"]["train_step"]["commands"], what)
            self.assertNear(pieces.metrics("loss"), whole.metrics("loss"), tolerance or self.tolerance, what)
            for name, value in whole.state(STEPS).items():
                self.assertNear(pieces.state(STEPS)[name], value, tolerance or self.tolerance, f"{what}: {name}")
            for key, value in dlc.evaluate(pieces.folder, data).items():
                if isinstance(value, float):
                    self.assertAlmostEqual(value, judged[key], delta=(tolerance or 1e-5) * max(1, abs(value)), msg=f"{what}: {key}")
        return all_about

    def check_head(self, chunks, biased=False, **options):
        self.new_folder()
        return self.check(*self.head(biased), chunks, **dict(dict(optimizer="sgd", lr=0.1), **options))

    def test_gpt_tiny(self):
        """Also rows that do not divide evenly, nor lie where tensors must."""
        self.check(dlc.model("gpt_tiny"), dlc.data("text-train"), (64, 100), batch=8, optimizer="sgd", lr=0.1)

    def test_tied(self):
        self.check_head((64, 37))

    def test_bias(self):
        self.check_head((64,), biased=True)

    def test_kinds_of_cross_entropy(self):
        weights = ",".join(str(1 + i % 3) for i in range(WORDS))
        for options in (dict(ignore_index=7), dict(label_smoothing=0.1), dict(class_weights=weights),
                        dict(class_weights=weights, ignore_index=7, label_smoothing=0.1)):
            with self.subTest(**options):
                self.check_head((64,), biased=True, **options)

    def test_several_steps_of_a_window(self):
        for options in (dict(accumulate=2), dict(accumulate=2, ignore_index=7)):
            with self.subTest(**options):
                self.check_head((64,), **options)

    def test_ranks(self):
        for options in (dict(ddp=2), dict(ddp=2, zero=2), dict(ddp=2, zero=3, ignore_index=7)):
            with self.subTest(**options):
                self.check_head((64,), **options)

    def test_half(self):
        """Sums are f32; each piece's part is rounded once."""
        for options in (dict(amp=True), dict(amp=True, amp_dtype="fp16", loss_scale="dynamic")):
            with self.subTest(**options):
                self.check_head((64,), biased=True, tolerance=5e-3, **options)

    def test_other_optimizers_and_recomputation(self):
        self.check_head((64,), optimizer="adamw", lr=1e-3, clip_grad=1, recompute=".")

    def test_memory(self):
        """Without logits, in whose place their gradient is; sums of gradients have one place."""
        whole, pieces = (about["programs"]["train_step"]["scratch_bytes"] for about in self.check_head((64,)))
        logits = 4 * ROWS * TIME * WORDS
        self.assertLess(pieces, whole - logits * (1 - 90 / (ROWS * TIME)))

    def test_limit(self):
        """A limit that whole logits exceed. What predicts has memory of its own, and the same outputs."""
        source, data = self.head()
        bytes_of = lambda artifact: json.loads(dlc.dlc("inspect", artifact, json=True)[0])["memory"]["bytes"]
        whole = dlc.compile(source, self.path("whole.dlc"), loss_chunk="off")
        limit = bytes_of(dlc.compile(source, self.path("pieces.dlc"), loss_chunk=16))
        self.assertLess(limit, bytes_of(whole))
        dlc.dlc("compile", source, "-o", self.path("m.dlc"), memory=limit, loss_chunk="off", code=dlc.LIMIT)
        pieces = dlc.compile(source, self.path("pieces.dlc"), memory=limit, loss_chunk=16)
        out, _ = dlc.dlc("inspect", pieces, "--memory")
        self.assertRegex(out, r"(?m)^  predict takes [\d.]+ KiB more where it is called$")
        for artifact in whole, pieces:
            dlc.dlc("predict", artifact, data=data, output=artifact + ".npz")
        a, b = (np.load(artifact + ".npz") for artifact in (whole, pieces))
        self.assertEqual(a.files, b.files)
        for name in a.files:
            np.testing.assert_array_equal(a[name], b[name])

    def test_too_many_pieces(self):
        source, _ = self.head()
        _, err = dlc.dlc("compile", source, "-o", self.path("m.dlc"), loss_chunk=2, code=dlc.BAD_MODEL)
        self.assertRegex(err, r"--loss-chunk=2 makes 75 pieces of the 150 rows, 64 are possible: use --loss-chunk=3 or more")

    def test_says_what_stays_whole(self):
        artifact = self.path("m.dlc")
        _, err = dlc.dlc("compile", dlc.model("gpt_tiny"), "-o", artifact, loss_chunk=64, loss="nll")
        self.assertRegex(err, r"--loss-chunk=64.*has no effect: there is no cross entropy of classes")


if __name__ == "__main__":
    dlc.main()
