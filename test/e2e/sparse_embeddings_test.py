# SPDX-License-Identifier: Apache-2.0
"""Embedding tables whose gradients and updates are rows: PyTorch's numbers with sparse=True (test/refs/make_sparse.py), and the bits of
dense gradients, whatever else a step does."""

import json
import os
import re
from unittest import mock

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STEPS = 20
OPTIMIZERS = {"sgd": dict(optimizer="sgd", lr=0.5), "adagrad": dict(optimizer="adagrad", lr=0.1),
              "adam": dict(optimizer="adam", lr=0.01, sparse_embeddings="lazy")}
AS_GPUS = "unique_rows=decomposed,put_rows=generated"  # pairs of indices are compared, and a kernel stores the rows
NAMES = {"table": "table", "weight": "weight", "bias": "bias", "m": "table.m", "v": "table.v"}


class SparseEmbeddings(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        with np.load(os.path.join(dlc.REFS, "sparse_ref.npz")) as file:
            cls.ref = dict(file)

    def setUp(self):
        super().setUp()
        np.savez(self.path("data.npz"), x=np.concatenate(self.ref["inputs"]), y=np.concatenate(self.ref["labels"]))

    def save(self, form="once"):
        """once: the reference's; twice: a table that two look-ups read; tied: and a product."""
        length = self.ref["inputs"].shape[2]
        tensors = {name: self.ref[name] for name in ("table", "weight", "bias")}
        nodes = [helper.make_node("Gather", ["table", "tokens"], ["e"], name="embed"),
                 helper.make_node("ReduceMean", ["e"], ["m"], axes=[1], keepdims=0)]
        hidden = "m"
        if form == "twice":
            tensors["first"] = np.array([0])
            nodes += [helper.make_node("Gather", ["tokens", "first"], ["one"], axis=1),
                      helper.make_node("Gather", ["table", "one"], ["own"], name="again"),
                      helper.make_node("Tanh", ["own"], ["bent"]), helper.make_node("ReduceSum", ["bent", "axis"], ["flat"], keepdims=0),
                      helper.make_node("Add", ["m", "flat"], ["both"])]
            tensors["axis"], hidden = np.array([1]), "both"
        outputs = len(self.ref["weight"])
        if form == "tied":
            nodes.append(helper.make_node("Gemm", [hidden, "table"], ["logits"], transB=1))
            outputs = len(self.ref["table"])
            del tensors["weight"], tensors["bias"]
        else:
            nodes.append(helper.make_node("Gemm", [hidden, "weight", "bias"], ["logits"], transB=1))
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["N", length])],
                                  [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", outputs])],
                                  [numpy_helper.from_array(value, name) for name, value in tensors.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), self.path("m.onnx"))
        return self.path("m.onnx")

    def compile(self, form="once", **options):
        self.count = getattr(self, "count", 0) + 1
        artifact = self.path(f"{self.count}.dlc")
        _, self.said = dlc.dlc("compile", self.save(form), "-o", artifact, loss="cross_entropy", **dict(batch=6) | options)
        return artifact

    def train(self, artifact, **options):
        options = dict(run=artifact + ".run", shuffle="off", steps=STEPS, threads=1) | options
        return dlc.train(artifact, self.path("data.npz"), **options)

    def by_rows(self, artifact):
        out, _ = dlc.dlc("inspect", artifact, json=True)
        return json.loads(out)["programs"]["train_step"]["moved_by_rows"]

    def check(self, model, optimizer, **options):
        run = self.train(self.compile(**OPTIMIZERS[optimizer], **options))
        np.testing.assert_allclose(run.metrics("loss"), self.ref[f"{model}/{optimizer}/losses"], rtol=2e-6)
        state = run.state(STEPS)
        for key, name in NAMES.items():
            if f"{model}/{optimizer}/{key}" in self.ref:
                self.assertNear(state[name], self.ref[f"{model}/{optimizer}/{key}"], 2e-6, f"{model} {optimizer}: {name}")
        return state

    def test_as_pytorch(self):
        for optimizer in OPTIMIZERS:
            state = self.check("all", optimizer)
            # Rows that were never looked up have not moved, by a bit.
            self.assertEqual(self.by_rows(self.path(f"{self.count}.dlc")), ["table"])
            np.testing.assert_array_equal(state["table"][5::2], self.ref["table"][5::2])
            state = self.check("padding", optimizer, padding_idx=f"table:{self.ref['padding']}")
            np.testing.assert_array_equal(state["table"][3], self.ref["table"][3])

    def test_as_gpus_do(self):
        for optimizer in OPTIMIZERS:
            self.check("all", optimizer, place=AS_GPUS)
            self.assertEqual(self.by_rows(self.path(f"{self.count}.dlc")), ["table"])
            self.check("padding", optimizer, place=AS_GPUS, padding_idx=f"table:{self.ref['padding']}")
        for form, options in (("once", dict(clip_grad=0.05, ema=0.9)), ("once", dict(amp=True, amp_dtype="fp16")), ("twice", {}),
                              ("once", dict(ddp=2))):
            runs = self.assertAsDense(form, near=2e-6 if "amp" not in options else 1e-3, place=AS_GPUS, **options)
        _, said = dlc.dlc("train", resume=runs[0].folder, ranks=3, steps=STEPS + 1, code=dlc.INCOMPATIBLE)
        self.assertRegex(said, "kernel '.*': the artifact has memory for the rows of 2 ranks, but there are 3: compile with --ddp=3")

    def test_on_gpus(self):
        """Gradients and updates of rows, of which nothing has the table's size, where that is faster than the table."""
        table = 20000 * 6 * 4
        self.ref = self.ref | {"table": np.zeros((20000, 6), np.float32)}
        artifact = self.compile(optimizer="adagrad", target="cuda", clip_grad=1)
        self.assertEqual(self.by_rows(artifact), ["table"])
        summary = json.loads(dlc.dlc("inspect", artifact, json=True)[0])
        self.assertLess(summary["memory"]["regions"]["scratch"], 0.05 * table)
        self.assertLess(summary["programs"]["train_step"]["bytes"], 0.1 * table)
        self.assertEqual(self.by_rows(self.compile(optimizer="sgd", target="cuda", ddp=2)), ["table"])
        self.assertEqual(self.by_rows(self.compile(optimizer="sgd", target="cuda", batch=500)), [])

    def test_lazy_is_said_and_another_function(self):
        lazy = self.train(self.compile(**OPTIMIZERS["adam"]))
        self.assertIn("--sparse-embeddings=lazy: adam moves 'table' in rows that a step looks up; other rows and their moments stay", self.said)
        exact = self.compile(optimizer="adam", lr=0.01)
        self.assertNotIn("table", self.said.replace(self.path(""), ""))
        self.assertEqual(self.by_rows(exact), [])
        self.assertGreater(np.abs(self.train(exact).state(STEPS)["table"] - lazy.state(STEPS)["table"]).max(), 1e-3)
        plain = self.compile(optimizer="sgd", lr=0.5, sparse_embeddings="lazy")
        self.assertNotIn("--sparse-embeddings", self.said)
        self.assertEqual(self.by_rows(plain), ["table"])

    def assertAsDense(self, form="once", rows=["table"], train={}, near=None, **options):
        options = dict(optimizer="sgd", lr=0.5, batch=3) | options
        runs = []
        for sparse in "exact", "off":
            if sparse == "off":
                options.pop("place", None)
            artifact = self.compile(form, sparse_embeddings=sparse, **options)
            self.assertEqual(self.by_rows(artifact), rows if sparse == "exact" else [])
            runs.append(self.train(artifact, **train))
        found, expected = runs
        what = f"{form} {options}"
        found, expected = ({k: v for k, v in run.state(STEPS).items() if k != "rng.rank"} for run in runs)
        if not near:
            self.assertBitwise(found, expected, what)
            np.testing.assert_array_equal(runs[0].metrics("loss"), runs[1].metrics("loss"), what)
        else:
            for name, value in expected.items():
                self.assertNear(found[name], value, near, f"{what}: {name}")
        return runs

    def test_the_bits_of_dense_gradients(self):
        for options in (dict(), dict(optimizer="adagrad", lr=0.1), dict(clip_grad=0.05), dict(clip_value=0.001), dict(clip_param_grad=0.01),
                        dict(grad_norm=True), dict(ema=0.9), dict(loss_scale="dynamic"), dict(amp=True, amp_dtype="bf16"),
                        dict(amp=True, amp_dtype="fp16"), dict(amp="O3", amp_dtype="bf16"), dict(optimizer="adagrad", moments="bf16"),
                        dict(schedule="cosine", warmup=3), dict(debug_overflow=True), dict(padding_idx="table:3")):
            with self.subTest(**options):
                self.assertAsDense(**options)

    def test_two_look_ups(self):
        self.assertAsDense("twice", near=2e-6)

    def test_two_ranks(self):
        """The bits are those of dense gradients, and a run goes on with any number of ranks that there is room for."""
        for options in dict(), dict(clip_grad=0.05), dict(loss_scale="dynamic"):
            with self.subTest(**options):
                self.assertAsDense(ddp=2, **options)
        # Rows travel in halves, as dense gradients do, but their sums are not halves.
        self.assertAsDense(ddp=2, compress="bf16", near=2e-3)
        thin = self.train(self.compile(optimizer="sgd", lr=0.5, batch=3, ddp=2, compress="powersgd:1")).state(STEPS)
        self.assertTrue("weight.powersgd_q" in thin and "table.powersgd_q" not in thin, "rows travel as they are")
        runs = [self.train(self.compile(optimizer="sgd", lr=0.5, batch=3, ddp=2, sparse_embeddings=sparse), steps=4) for sparse in ("exact", "off")]
        _, said = dlc.dlc("train", resume=runs[0].folder, ranks=3, steps=8, code=dlc.INCOMPATIBLE)
        self.assertRegex(said, "unique_rows '.*embed.*': the artifact has memory for the rows of 2 ranks, but there are 3: compile with --ddp=3, or with "
                         "--sparse-embeddings=off")
        for run in runs:
            dlc.dlc("train", resume=run.folder, ranks=1, steps=8)
        alone, dense = (run.state(8) for run in runs)
        alone.pop("rng.rank")
        self.assertBitwise(alone, dense, "one rank")

    def test_what_stays_dense(self):
        said = "the gradient of 'table' is of the whole table: "
        for options, why in ((dict(accumulate=2), "--accumulate adds up whole gradients"),
                             (dict(ddp=2, zero=1), "--zero splits whole gradients among the ranks"),
                             (dict(stats=True), "--stats measures whole gradients")):
            self.assertAsDense(rows=[], **options)
            self.compile(optimizer="sgd", batch=3, **options)
            self.assertIn(said + why, self.said)
        self.assertAsDense("tied", rows=[])
        artifact = self.compile("tied", sparse_embeddings="lazy", optimizer="adam")
        self.assertIn(said + "the table is not only looked up", self.said)
        self.assertEqual(self.by_rows(artifact), [])
        # More look-ups than half of the rows.
        self.assertEqual(self.by_rows(self.compile(optimizer="sgd", batch=8)), [])
        for options in dict(momentum=0.9), dict(weight_decay=0.1), dict(optimizer="adagrad", weight_decay=0.1):
            self.assertEqual(self.by_rows(self.compile(**dict(optimizer="sgd") | options)), [])

    def test_a_group_by_rows(self):
        artifact = self.compile(optimizer="adamw", lr=0.01, optimizer_group="table:sgd(lr=0.5)")
        self.assertEqual(self.by_rows(artifact), ["table"])
        self.assertEqual(self.by_rows(self.compile(optimizer="adamw", optimizer_group="table:sgd(sparse-embeddings=off)")), [])
        out, _ = dlc.dlc("inspect", artifact)
        self.assertIn("\n  updated by rows: table\n", out)

    def test_a_skipped_step_moves_nothing(self):
        with mock.patch.dict(os.environ, DLC_INJECT_INF="1"):
            run = self.train(self.compile(**OPTIMIZERS["adam"], loss_scale="dynamic"), steps=1)
        self.assertEqual(run.metrics("found_inf").tolist(), [1])
        state = run.state(1)
        np.testing.assert_array_equal(state["table"], self.ref["table"])
        self.assertFalse(state["table.m"].any())

    def test_resumed_and_taken_over(self):
        """From a checkpoint; from one of dense gradients, and back."""
        options = dict(optimizer="adagrad", lr=0.1)
        by_rows, dense = self.compile(**options), self.compile(sparse_embeddings="off", **options)
        expected = self.train(by_rows).state(STEPS)
        half = self.train(by_rows, steps=STEPS // 2, run=self.path("half"))
        dlc.dlc("train", resume=half.folder, steps=STEPS, threads=1)
        self.assertBitwise(half.state(STEPS), expected, "resumed")
        for first, second in (dense, by_rows), (by_rows, dense):
            start = self.train(first, steps=STEPS // 2, run=first + ".half")
            run = self.train(second, run=second + ".on", state=start.folder)
            self.assertBitwise(run.state(STEPS), expected, "taken over")

    def test_memory_and_bytes(self):
        """Nothing of the table's size but its state is there, or moved."""
        self.ref = self.ref | {"table": np.zeros((20000, 6), np.float32)}
        sizes = {}
        for sparse in "exact", "off":
            out, _ = dlc.dlc("inspect", self.compile(optimizer="sgd", sparse_embeddings=sparse), json=True)
            summary = json.loads(out)
            sizes[sparse] = summary["memory"]["bytes"] - summary["memory"]["regions"]["param"], summary["programs"]["train_step"]["bytes"]
        table = 20000 * 6 * 4
        self.assertLess(sizes["exact"][0], 0.05 * table)
        self.assertLess(sizes["exact"][1], 0.1 * table)
        self.assertGreater(sizes["off"][0], table)

    def test_indices_out_of_range_are_refused(self):
        np.savez(self.path("data.npz"), x=np.full((6, 5), 64), y=np.zeros(6, np.int64))
        _, said = dlc.dlc("train", self.compile(optimizer="sgd"), data=self.path("data.npz"), run=self.path("run"), steps=1, code=dlc.FAILED)
        self.assertTrue(re.search("64", said), said)

    def test_step_as_onnx(self):
        """ONNX has no such rows: export --step names the option that it needs."""
        words = "--step", "-o", self.path("step.onnx")
        _, err = dlc.dlc("export", self.compile(**OPTIMIZERS["sgd"]), *words, code=dlc.BAD_MODEL)
        self.assertIn("'dlc.put_rows' has no form in ONNX's standard operators: compile with --sparse-embeddings=off", err)
        dlc.dlc("export", self.compile(**OPTIMIZERS["sgd"], sparse_embeddings="off"), *words)


if __name__ == "__main__":
    dlc.main()
