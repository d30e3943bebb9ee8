# SPDX-License-Identifier: Apache-2.0
"""Embeddings with a padding row train to PyTorch's losses, whether the file names the row or --padding-idx does.

The numbers are make_padding.py's.
"""

import os

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPTIMIZERS = {"sgd": dict(optimizer="sgd", lr=0.1, momentum=0.9), "adamw": dict(optimizer="adamw", lr=1e-2, weight_decay=0.1)}


class Padding(dlc.TestCase):
    def setUp(self):
        super().setUp()
        with np.load(os.path.join(dlc.REFS, "padding_ref.npz")) as file:
            self.ref = dict(file)
        np.savez(self.path("data.npz"), x=np.concatenate(self.ref["inputs"]), y=np.concatenate(self.ref["labels"]))

    def save(self, tied, noted):
        rows, batch, length = len(self.ref["table"]), *self.ref["inputs"].shape[1:]
        lookup = helper.make_node("Gather", ["table", "tokens"], ["e"], name="embed")
        if noted:
            lookup.metadata_props.add(key="pkg.torch.onnx.fx_node",
                                      value="%embedding : [num_users=1] = call_function[target=torch.ops.aten.embedding.default]"
                                      f"(args = (%p_table, %tokens, {self.ref['padding']}), kwargs = {{}})")
        nodes = [lookup, helper.make_node("ReduceMean", ["e"], ["m"], axes=[1], keepdims=0),
                 helper.make_node("Gemm", ["m", "hidden"], ["h"], transB=1), helper.make_node("Tanh", ["h"], ["a"]),
                 helper.make_node("Gemm", ["a", "table" if tied else "head"], ["logits"], transB=1)]
        names = ["table", "hidden"] + ([] if tied else ["head"])
        graph = helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("tokens", TensorProto.INT64, [batch, length])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, rows])],
            [numpy_helper.from_array(self.ref[name], name) for name in names])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), self.path("m.onnx"))

    def losses(self, tied, optimizer, noted, **options):
        """The run's losses; the trained table is at self.table."""
        self.save(tied, noted)
        artifact = dlc.compile(self.path("m.onnx"), self.path("m.dlc"), loss="cross_entropy", schedule="constant", batch=6,
                               **OPTIMIZERS[optimizer], **options)
        run = dlc.train(artifact, self.path("data.npz"), self.path(f"run-{tied}-{optimizer}-{noted}-{len(options)}"),
                        shuffle="off", steps=20, threads=1)
        dlc.dlc("export", run.folder, "-o", self.path("out.onnx"))
        self.table = {t.name: numpy_helper.to_array(t) for t in onnx.load(self.path("out.onnx")).graph.initializer}["table"]
        return run.metrics("loss")

    def check(self, tied, optimizer, noted, **options):
        key = "tied" if tied else "apart"
        losses = self.losses(tied, optimizer, noted, **options)
        np.testing.assert_allclose(losses, self.ref[f"{key}/losses_{optimizer}"], rtol=1e-5)
        np.testing.assert_allclose(self.table, self.ref[f"{key}/rows_{optimizer}"], rtol=1e-4, atol=1e-5)

    def test_notes_tied(self):
        self.check(True, "adamw", True)
        self.check(True, "sgd", True)

    def test_notes_apart(self):
        """Nothing but weight decay moves the row."""
        self.check(False, "adamw", True)
        self.check(False, "sgd", True)
        row = int(self.ref["padding"])
        np.testing.assert_array_equal(self.table[row], self.ref["table"][row])

    def test_option_and_yaml(self):
        option = f"table:{self.ref['padding']}"
        self.check(True, "adamw", False, padding_idx=option)
        with open(self.path("c.yaml"), "w") as file:
            file.write(f"model: {{padding-idx: ['{option}']}}\n")
        self.check(False, "sgd", False, config=self.path("c.yaml"))
        out, _ = dlc.dlc("inspect", self.path("m.dlc"))
        self.assertRegex(out, r"padding +table: row 3 gets no gradient from the lookup 'e', by --padding-idx")

    def test_without_either_the_row_trains(self):
        losses = self.losses(False, "sgd", False)
        self.assertGreater(np.abs(losses / self.ref["apart/losses_sgd"] - 1).max(), 1e-3)


if __name__ == "__main__":
    dlc.main()
