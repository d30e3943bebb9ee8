# SPDX-License-Identifier: Apache-2.0
"""A weight that an embedding and a head share trains as one: by the gradients' formulas."""

import dlc
import numpy as np
import onnx
from onnx import helper, numpy_helper

WORDS, WIDTH, ROWS, STEPS, RATE = 12, 8, 4, 3, 0.5
random = np.random.RandomState(0)
TABLE = random.randn(WORDS, WIDTH).astype(np.float32)
IDS, LABELS = random.randint(0, WORDS, (2, STEPS * ROWS))


def trained():
    """Losses and table after steps of gradient descent, in f64."""
    table, losses = TABLE.astype(np.float64), []
    for step in range(STEPS):
        ids, labels = (a[step * ROWS:(step + 1) * ROWS] for a in (IDS, LABELS))
        hidden = np.tanh(table[ids])
        logits = hidden @ table.T
        share = np.exp(logits - logits.max(1, keepdims=True))
        share /= share.sum(1, keepdims=True)
        losses.append(-np.log(share[np.arange(ROWS), labels]).mean())
        share[np.arange(ROWS), labels] -= 1
        of_head, of_table = share.T @ hidden / ROWS, np.zeros_like(table)
        np.add.at(of_table, ids, share @ table / ROWS * (1 - hidden**2))
        table = table - RATE * (of_head + of_table)
    return losses, table


class Ties(dlc.TestCase):
    def file(self, form):
        """shared: one tensor, as torch's older exporter has it; bare: the same without names of nodes; folded: a transposed copy with notes,
        as by the newer one."""
        call = lambda name, path: f"/{path}/{name}" if form == "shared" else ""
        nodes = [helper.make_node("Gather", ["emb.weight", "x"], ["e"], name=call("Gather", "emb")), helper.make_node("Tanh", ["e"], ["h"])]
        tensors = {"emb.weight": TABLE}
        if form == "folded":
            tensors["val_9"] = TABLE.T.copy()
            nodes += [helper.make_node("MatMul", ["h", "val_9"], ["y"])]
            for n, text, path in ((nodes[0], "embedding.default](args = (%p_emb_weight, %x)", "emb"),
                                  (nodes[2], "linear.default](args = (%tanh, %p_emb_weight)", "head")):
                n.metadata_props.add(key="pkg.torch.onnx.fx_node",
                                     value=f"%v : [num_users=1] = call_function[target=torch.ops.aten.{text}, kwargs = {{}})")
                n.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=f"['', '{path}', 'v']")
        else:
            nodes += [helper.make_node("Transpose", ["emb.weight"], ["t"], perm=[1, 0], name=call("Transpose", "head")),
                      helper.make_node("MatMul", ["h", "t"], ["y"], name=call("MatMul", "head"))]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 7, [ROWS])],
                                  [helper.make_tensor_value_info("y", 1, [ROWS, WORDS])],
                                  [numpy_helper.from_array(v, k) for k, v in tensors.items()])
        if form == "folded":
            graph.metadata_props.add(key="pkg.torch.export.ExportedProgram.graph_signature",
                                     value="\n# inputs\np_emb_weight: PARAMETER target='emb.weight'\nx: USER_INPUT\n")
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10, producer_name="pytorch")
        onnx.save(proto, self.path(form + ".onnx"))
        return self.path(form + ".onnx")

    def train(self, form):
        np.savez(self.path("d.npz"), x=IDS, y=LABELS)
        self.count = getattr(self, "count", 0) + 1
        artifact = self.path(f"m{self.count}.dlc")
        dlc.dlc("compile", self.file(form), "-o", artifact, lr=RATE, optimizer="sgd", momentum=0)
        return dlc.train(artifact, self.path("d.npz"), artifact + ".run", steps=STEPS, shuffle="off", save_every=STEPS)

    def test_one(self):
        losses, table = trained()
        for form in "shared", "bare", "folded":
            run = self.train(form)
            np.testing.assert_allclose(run.metrics("loss"), losses, rtol=1e-5)
            np.testing.assert_allclose(run.state(STEPS)["emb.weight"], table, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    dlc.main()
