# SPDX-License-Identifier: Apache-2.0
"""Files of torch's default exporter, which folds constants and merges equal tensors, train to PyTorch's losses.

The models and the losses are make_folded.py's. What comes out must run in onnxruntime and predict the same.
"""

import os

import dlc
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

MODELS = ["vit", "gpt2", "hf_gpt2", "bert", "hf_bert", "gemma", "convnext", "ssm"]
OPTIMIZERS = {"sgd": dict(optimizer="sgd", lr=0.05, momentum=0.9),
              "adamw": dict(optimizer="adamw", lr=1e-3, weight_decay=1e-2)}


def path(name):
    return os.path.join(dlc.REFS, f"folded_{name}.onnx")


class Folded(dlc.TestCase):
    def train(self, name, optimizer):
        ref = np.load(os.path.join(dlc.REFS, "folded_ref.npz"))
        inputs, labels = ref[f"{name}/inputs"], ref[f"{name}/labels"]
        x, y = np.concatenate(inputs), np.concatenate(labels)
        np.savez(self.path("data.npz"), x=x, y=y.reshape(len(x), -1) if len(y) > len(x) else y)
        artifact = dlc.compile(path(name), self.path("model.dlc"), batch=inputs.shape[1], loss="cross_entropy",
                               schedule="constant", **OPTIMIZERS[optimizer])
        run = dlc.train(artifact, self.path("data.npz"), self.path("run"), shuffle="off", steps=10, threads=1)
        np.testing.assert_allclose(run.metrics("loss"), ref[f"{name}/losses_{optimizer}"], rtol=1e-5,
                                   err_msg=f"{name} {optimizer}")
        return run, inputs[0]

    def check_losses(self, name):
        self.train(name, "sgd")

    def check_export(self, name):
        run, x = self.train(name, "adamw")
        dlc.dlc("export", run.folder, "-o", self.path("trained.onnx"))
        onnx.checker.check_model(self.path("trained.onnx"), full_check=True)
        session = onnxruntime.InferenceSession(self.path("trained.onnx"), providers=["CPUExecutionProvider"])
        expected = session.run(None, {session.get_inputs()[0].name: x})[0]
        np.savez(self.path("x.npz"), x=x)
        dlc.dlc("predict", run.folder, "-o", self.path("y.npz"), data=self.path("x.npz"))
        with np.load(self.path("y.npz")) as file:
            np.testing.assert_allclose(file["y"].reshape(expected.shape), expected, rtol=1e-4, atol=1e-5, err_msg=name)
        source = onnxruntime.InferenceSession(path(name), providers=["CPUExecutionProvider"])
        before = source.run(None, {source.get_inputs()[0].name: x})[0]
        self.assertGreater(np.abs(before - expected).max(), 1e-3, "the export holds the trained weights")

    def joined(self, folded):
        """y = [a; b] x, where the exporter has joined a and b, or not."""
        random = np.random.RandomState(0)
        a, b, head = (random.randn(*shape).astype(np.float32) for shape in ((2, 8), (3, 8), (5, 4)))
        weights = {"cat": np.concatenate([a, b]), "head": head} if folded else {"a": a, "b": b, "head": head}
        nodes = [] if folded else [helper.make_node("Concat", ["a", "b"], ["cat"], axis=0)]
        product = helper.make_node("Gemm", ["x", "cat"], ["h"], transB=1)
        product.metadata_props.add(key="pkg.torch.onnx.fx_node", value="%h : [num_users=1] = call_function[target=torch.ops."
                                   "aten.linear.default](args = (%x, %cat), kwargs = {})")
        nodes += [product, helper.make_node("Tanh", ["h"], ["t"]), helper.make_node("MatMul", ["t", "head"], ["y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [4, 8])],
                                  [helper.make_tensor_value_info("y", 1, [4, 4])],
                                  [numpy_helper.from_array(value, name) for name, value in weights.items()])
        graph.metadata_props.add(key="pkg.torch.export.ExportedProgram.graph_signature",
                                 value="".join(f"p_{name}: PARAMETER target='{name}'\n" for name in ("a", "b", "head")))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), self.path("j.onnx"))

    def test_joined_parameters_train_as_their_parts(self):
        np.savez(self.path("j.npz"), x=np.random.RandomState(1).randn(16, 8).astype(np.float32), y=np.arange(16) % 4)
        for optimizer, options in OPTIMIZERS.items():
            losses = []
            for folded in (True, False):
                self.joined(folded)
                artifact = dlc.compile(self.path("j.onnx"), self.path("j.dlc"), loss="cross_entropy", clip_grad=0.5, batch=4,
                                       schedule="constant", train="^[ab]$|cat|head" if not folded else "cat|head", **options)
                run = dlc.train(artifact, self.path("j.npz"), self.path(f"j-{optimizer}-{folded}"), shuffle="off", steps=10,
                                threads=1)
                losses.append(run.metrics("loss"))
            np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6, err_msg=optimizer)

    def test_rules_of_whole_tensors_are_warned_of(self):
        self.joined(True)
        for options in ({"optimizer": "lamb"}, {"optimizer": "muon"}, {"optimizer": "adamw", "no_decay": "norm_bias"},
                        {"optimizer": "sgd", "optimizer_group": "cat:lamb,lr=0.1"}):
            out, err = dlc.dlc("compile", self.path("j.onnx"), "-o", self.path("j.dlc"), batch=4, **options)
            self.assertRegex(out + err, r"(lamb|muon|--no-decay=norm_bias) depends on whole tensors, .*: 'cat'\. They train differently")
        out, err = dlc.dlc("compile", self.path("j.onnx"), "-o", self.path("j.dlc"), batch=4, optimizer="adamw")
        self.assertNotIn("whole tensors", out + err)
        self.assertRegex(dlc.dlc("inspect", self.path("j.dlc"))[0],
                         r"joined +cat: cat of one of 2 parameters \(a, \.\.\.\) in the source; trains and is exported as one tensor")

    def test_decisions_are_shown(self):
        out, err = dlc.dlc("compile", path("hf_bert"), "-o", self.path("model.dlc"), batch=4)
        self.assertRegex(out + err, r"the exporter merged or folded tensors: .*\d+ parted.*\(dlc inspect says which and why\)")
        out, _ = dlc.dlc("inspect", self.path("model.dlc"))
        for line in [r"parted +bert.encoder.layer.0.output.dense.bias: from bert.embeddings.LayerNorm.bias",
                     r"unfolded +embedding_1: \[1, 1, 16\] expanded to \[4, 12, 16\]", r"restored +classifier.bias: as zeros",
                     r"constant +val_83: the file says what it was folded from"]:
            self.assertRegex(out, line)


for name in MODELS:
    setattr(Folded, f"test_{name}_sgd", lambda self, n=name: self.check_losses(n))
    setattr(Folded, f"test_{name}_adamw_and_export", lambda self, n=name: self.check_export(n))


if __name__ == "__main__":
    dlc.main()
