# SPDX-License-Identifier: Apache-2.0
"""A weight that an embedding and a head share trains as one, or as two with --untie: by the gradients' formulas."""

import os

import dlc
import numpy as np
import onnx
from onnx import helper, numpy_helper
from safetensors.numpy import save_file

WORDS, WIDTH, ROWS, STEPS, RATE = 12, 8, 4, 3, 0.5
random = np.random.RandomState(0)
TABLE = random.randn(WORDS, WIDTH).astype(np.float32)
IDS, LABELS = random.randint(0, WORDS, (2, STEPS * ROWS))


def trained(tied):
    """Losses, table and head after steps of gradient descent, in f64."""
    table, head, losses = TABLE.astype(np.float64), TABLE.astype(np.float64), []
    for step in range(STEPS):
        ids, labels = (a[step * ROWS:(step + 1) * ROWS] for a in (IDS, LABELS))
        hidden = np.tanh(table[ids])
        logits = hidden @ head.T
        share = np.exp(logits - logits.max(1, keepdims=True))
        share /= share.sum(1, keepdims=True)
        losses.append(-np.log(share[np.arange(ROWS), labels]).mean())
        share[np.arange(ROWS), labels] -= 1
        of_head, of_table = share.T @ hidden / ROWS, np.zeros_like(table)
        np.add.at(of_table, ids, share @ head / ROWS * (1 - hidden**2))
        if tied:
            of_head = of_table = of_head + of_table
        table, head = table - RATE * of_table, head - RATE * of_head
    return losses, table, head


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

    def train(self, form, *words):
        np.savez(self.path("d.npz"), x=IDS, y=LABELS)
        self.count = getattr(self, "count", 0) + 1
        artifact = self.path(f"m{self.count}.dlc")
        _, self.log = dlc.dlc("compile", self.file(form), *words, "-o", artifact, lr=RATE, optimizer="sgd", momentum=0)
        return dlc.train(artifact, self.path("d.npz"), artifact + ".run", steps=STEPS, shuffle="off", save_every=STEPS)

    def test_one_or_two(self):
        losses, table, head = trained(tied=True)
        for form in "shared", "bare", "folded":
            run = self.train(form)
            np.testing.assert_allclose(run.metrics("loss"), losses, rtol=1e-5)
            np.testing.assert_allclose(run.state(STEPS)["emb.weight"], table, rtol=1e-4, atol=1e-5)
        losses, table, head = trained(tied=False)
        for form, name, given in (("shared", "head.weight", "emb.weight"), ("folded", "head.weight", "emb.weight"),
                                  ("bare", "emb.weight/MatMul", "emb.weight")):
            run = self.train(form, "--untie=" + given)
            np.testing.assert_allclose(run.metrics("loss"), losses, rtol=1e-5)
            state = run.state(STEPS)
            np.testing.assert_allclose(state["emb.weight"], table, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(state[name], head, rtol=1e-4, atol=1e-5)
            # The export has both, where the file had them in a form of its own, in that.
            dlc.dlc("export", run.folder, "-o", self.path("out.onnx"))
            out = {t.name: numpy_helper.to_array(t) for t in onnx.load(self.path("out.onnx")).graph.initializer}
            own = {"folded": "val_9"}.get(form, name)
            self.assertEqual(set(out), {"emb.weight", own})
            np.testing.assert_array_equal(out[own].T if form == "folded" else out[own], state[name])
            found, _ = dlc.dlc("inspect", run.folder.removesuffix(".run"))
            self.assertRegex(found, f"untied +{name}: from emb.weight by --untie; '(head|MatMul)' reads it")

    def test_weights_of_tied_and_untied_models(self):
        other, last = random.randn(2, WORDS, WIDTH).astype(np.float32)
        for tensors, head in ({"emb.weight": other}, other), ({"emb.weight": other, "head.weight": last}, last):
            save_file(tensors, self.path("w.safetensors"))
            run = self.train("shared", "--untie=emb.weight", "--weights=" + self.path("w.safetensors"))
            before = run.initial(run.folder.removesuffix(".run"))
            np.testing.assert_array_equal(before["emb.weight"], other)
            np.testing.assert_array_equal(before["head.weight"], head)
            self.assertIn("2 matched", self.log)

    def test_a_second_name(self):
        """That one alone is parted."""
        save_file({"emb.weight": TABLE, "top.weight": TABLE}, self.path("n.safetensors"))
        for name, code in ("top.weight", dlc.USAGE), ("emb.weight", dlc.OK):
            _, log = dlc.dlc("compile", self.file("shared"), "--names=" + self.path("n.safetensors"), "--untie=" + name, "-o",
                             self.path("o.dlc"), code=code)
            if code:
                self.assertIn("--untie=top.weight: second name of 'emb.weight', which no module reads under that name; "
                              "--untie=emb.weight unties all its readers", log)

    def test_what_shares_nothing(self):
        for name, message in (("head.weigth", r"--untie=head.weigth: no weight has that name; there .*'emb.weight'"),
                              ("x", "--untie=x: no weight has that name")):
            _, log = dlc.dlc("compile", self.file("shared"), "--untie=" + name, "-o", self.path("o.dlc"), code=dlc.USAGE)
            self.assertRegex(log, message)
        proto = onnx.load(self.file("shared"))
        del proto.graph.node[2:], proto.graph.output[0].type.tensor_type.shape.dim[:]
        proto.graph.output[0].name = "h"
        onnx.save(proto, self.path("one.onnx"))
        _, log = dlc.dlc("compile", self.path("one.onnx"), "--untie=emb.weight", "-o", self.path("o.dlc"), code=dlc.USAGE)
        self.assertIn("--untie=emb.weight: only 'emb' reads the weight", log)
        proto = onnx.load(self.file("shared"))
        proto.graph.node[-1].output[0] = "z"
        branches = {f"{b}_branch": helper.make_graph([helper.make_node(op, ["emb.weight"], [b], keepdims=0)], b, [],
                                                     [helper.make_tensor_value_info(b, 1, [])])
                    for b, op in (("then", "ReduceMax"), ("else", "ReduceMin"))}
        proto.graph.node.extend([helper.make_node("ReduceMax", ["z"], ["m"], keepdims=0), helper.make_node("Cast", ["m"], ["c"], to=9),
                                 helper.make_node("If", ["c"], ["b"], **branches), helper.make_node("Add", ["z", "b"], ["y"])])
        onnx.save(proto, self.path("if.onnx"))
        _, log = dlc.dlc("compile", self.path("if.onnx"), "--untie=emb.weight", "-o", self.path("o.dlc"), code=dlc.USAGE)
        self.assertIn("--untie=emb.weight: the weight is also a graph input or output, or is read by a subgraph", log)


if __name__ == "__main__":
    dlc.main()
