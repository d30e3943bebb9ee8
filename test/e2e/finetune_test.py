# SPDX-License-Identifier: Apache-2.0
"""From one task to another: weights of other files, a new head, frozen layers, and what the file says about itself."""

import os

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file, save_file


def weights(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}


def stop_after(source, phase, **options):
    return dlc.dlc("compile", source, stop_after=phase, quiet=True, **options)[0]


class FineTune(dlc.TestCase):
    def compiled(self, source, name="a.dlc", **options):
        return load_file(os.path.join(dlc.compile(source, self.path(name), quiet=True, **options), "state.safetensors"))

    def linear(self, nodes, tensors, outputs=("out",)):
        """x [batch, 6] through `nodes`; `tensors` by name."""
        info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", d])
                for n, d in [("x", 6), *((o, 4) for o in outputs)]]
        graph = helper.make_graph([helper.make_node(*n[:3], **(n[3] if len(n) > 3 else {})) for n in nodes], "g",
                                  info[:1], info[1:], [numpy_helper.from_array(v.astype(np.float32), k)
                                                       for k, v in tensors.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path("m.onnx"))
        return self.path("m.onnx")

    def test_new_head_on_real_data(self):
        """LeNet after an epoch of digits tells pairs of digits apart: new head, frozen convolutions."""
        base = dlc.compile(dlc.model("lenet"), self.path("base.dlc"), lr=0.05, momentum=0.9, quiet=True)
        run = dlc.train(base, dlc.data("mnist-train"), self.path("base"), epochs=1, quiet=True)
        dlc.dlc("export", run.folder, "-o", self.path("base.onnx"))
        for part in ["train", "test"]:
            digits = np.load(dlc.data("mnist-" + part))
            np.savez(self.path(part + ".npz"), x=digits["x"], y=digits["y"] // 2)
        tuned = dlc.compile(self.path("base.onnx"), self.path("tuned.dlc"), replace_head=5, freeze="^c", lr=0.02, momentum=0.9, quiet=True)
        first, source = dlc.Run("").initial(tuned), weights(self.path("base.onnx"))
        self.assertEqual(first["f3.weight"].shape, (5, 84))
        bound = 84**-0.5  # of torch's Linear
        self.assertTrue(0.98 * bound < np.abs(first["f3.weight"]).max() <= bound * 1.0000001)
        self.assertFalse(first["f3.bias"].any())
        for name in ["c1.weight", "f1.weight", "f2.bias"]:
            np.testing.assert_array_equal(first[name], source[name])
        run = dlc.train(tuned, self.path("train.npz"), self.path("tuned"), epochs=1, quiet=True)
        self.assertGreater(dlc.evaluate(run.folder, self.path("test.npz"))["accuracy"], 0.93)
        dlc.dlc("export", run.folder, "-o", self.path("tuned.onnx"))
        model = onnx.load(self.path("tuned.onnx"))
        onnx.checker.check_model(onnx.shape_inference.infer_shapes(model, strict_mode=True))
        self.assertEqual(model.graph.output[0].type.tensor_type.shape.dim[-1].dim_value, 5)
        found = weights(self.path("tuned.onnx"))
        np.testing.assert_array_equal(found["c2.weight"], source["c2.weight"])
        self.assertEqual(found["f3.weight"].shape, (5, 84))

    def test_frozen_layers_have_no_gradient(self):
        text = stop_after(dlc.model("lenet"), "autodiff", freeze="^c")
        self.assertNotIn("conv_backward", text)
        self.assertEqual(text.count("dlc.gradient"), 6)
        text = stop_after(dlc.model("lenet"), "autodiff", freeze="c1")
        self.assertEqual(text.count("dlc.conv_backward_filter"), 1)
        self.assertNotIn("dlc.conv_backward_data", text)
        text = stop_after(dlc.model("lenet"), "autodiff", freeze=".", replace_head=7)
        self.assertEqual(text.count("dlc.gradient"), 2)
        self.assertIn("dlc.gradient @f3.weight", text)

    def test_frozen_batch_norm_moves_its_statistics(self):
        """As in PyTorch, whose training mode is not that of requires_grad."""
        artifact = dlc.compile(dlc.model("resnet8"), self.path("a.dlc"), freeze="bn|down", quiet=True)
        np.savez(self.path("d.npz"), x=np.random.default_rng(0).standard_normal((32, 3, 32, 32)).astype(np.float32),
                 y=np.arange(32) % 10)
        run = dlc.train(artifact, self.path("d.npz"), self.path("run"), steps=1, quiet=True)
        before, after = run.initial(artifact), run.state(1)
        self.assertNotIn("bn1.weight.m", after)
        self.assertFalse(np.array_equal(after["bn1.running_mean"], before["bn1.running_mean"]))
        self.assertFalse(np.array_equal(after["conv1.weight"], before["conv1.weight"]))

    def test_forms_of_heads(self):
        w, b = np.ones((6, 4)), np.ones(4)
        forms = {
            "matmul and bias": ([("MatMul", ["x", "w"], ["h"]), ("Add", ["b", "h"], ["out"])], dict(w=w, b=b), (6, 9)),
            "gemm": ([("Gemm", ["x", "w", "b"], ["out"])], dict(w=w, b=b), (6, 9)),
            "transposed gemm": ([("Gemm", ["x", "w", "b"], ["h"], dict(transB=1)), ("Softmax", ["h"], ["out"])],
                                dict(w=w.T, b=b), (9, 6)),
            "transpose": ([("Transpose", ["w"], ["t"], dict(perm=[1, 0])), ("MatMul", ["x", "t"], ["out"])],
                          dict(w=w.T), (9, 6)),
        }
        for form, (nodes, tensors, shape) in forms.items():
            state = self.compiled(self.linear(nodes, tensors), replace_head=9, init="w:ones", train="^[wb]$")
            self.assertEqual(state["w"].shape, shape, form)
            self.assertTrue((state["w"] == 1).all(), "--init counts")
            if "b" in state:
                np.testing.assert_array_equal(state["b"], np.zeros(9), form)

    def test_heads_of_convolutions(self):
        """As of SqueezeNet, whose file reshapes to [2, 4], and LR-ASPP: 4 classes become 3, and the outputs those of the new weights."""
        random = np.random.default_rng(0)
        u, v, b = (random.standard_normal(s).astype(np.float32) for s in ((4, 6, 1, 1), (4, 6, 1, 1), (4,)))
        node, info = helper.make_node, lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        pooled = [node("Conv", ["x", "u", "b"], ["c"]), node("Relu", ["c"], ["r"]), node("GlobalAveragePool", ["r"], ["p"]), node("Reshape", ["p", "s"], ["out"])]
        summed = [node("Conv", ["x", "u", "b"], ["c"]), node("Conv", ["x", "v"], ["d"]), node("Add", ["c", "d"], ["a"]),
                  node("Resize", ["a", "", "f"], ["out"], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")]
        x = random.standard_normal((2, 6, 3, 3)).astype(np.float32)
        np.savez(self.path("x.npz"), x=x)
        for nodes, shape, new in (pooled, [2, 4], [2, 3]), (summed, [2, 4, 6, 6], [2, 3, 6, 6]):
            tensors = dict(u=u, v=v, b=b, s=np.array([2, 4]), f=np.array([1, 1, 2, 2], np.float32))
            used = {name for n in nodes for name in n.input}
            graph = helper.make_graph(nodes, "g", [info("x", [2, 6, 3, 3])], [info("out", shape)],
                                      [numpy_helper.from_array(t, k) for k, t in tensors.items() if k in used])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path("m.onnx"))
            state = self.compiled(self.path("m.onnx"), replace_head=3, train="^[uvb]$", loss="mse")
            self.assertEqual([state[k].shape[0] for k in "uvb" if k in used], [3] * len(used & set("uvb")))
            dlc.dlc("export", self.path("a.dlc"), "-o", self.path("new.onnx"))
            self.assertEqual([d.dim_value for d in onnx.load(self.path("new.onnx")).graph.output[0].type.tensor_type.shape.dim], new)
            dlc.dlc("predict", self.path("a.dlc"), "-o", self.path("y.npz"), data=self.path("x.npz"))
            conv = lambda w: np.einsum("nihw,oi->nohw", x, w[:, :, 0, 0])
            y = conv(state["u"]) + state["b"][:, None, None]
            y = np.maximum(y, 0).mean((2, 3)) if new == [2, 3] else (y + conv(state["v"])).repeat(2, 2).repeat(2, 3)
            np.testing.assert_allclose(np.load(self.path("y.npz"))["y"], y, rtol=1e-5, atol=1e-6)

    def test_heads_that_cannot_be_found(self):
        w = np.ones((6, 4))
        for nodes, tensors, message in [
            ([("Relu", ["x"], ["out"])], {}, "output 'out' comes from no layer, expected a Gemm, MatMul or Conv before it"),
            ([("Sin", ["x"], ["out"])], {}, "expected a Gemm, MatMul or ungrouped Conv before output 'out', found Sin"),
            ([("MatMul", ["x", "w"], ["h"]), ("MatMul", ["x", "w"], ["i"]), ("Mul", ["h", "i"], ["j"]),
              ("Identity", ["j"], ["out"])], dict(w=w), "expected a Gemm, MatMul or ungrouped Conv before output 'out', found Mul"),
            ([("MatMul", ["x", "w"], ["out"]), ("MatMul", ["x", "w"], ["two"])], dict(w=w),
             "weight 'w' of '' has another use"),
        ]:
            outputs = ("out", "two") if "two" in nodes[-1][2] else ("out",)
            _, log = dlc.dlc("compile", self.linear(nodes, tensors, outputs), "--replace-head=3", "-o", self.path("e.dlc"), code=3)
            self.assertIn("--replace-head: ", log)
            self.assertIn(message, log)

    def test_weights_of_files(self):
        random = np.random.default_rng(0)
        tensors = {k: random.standard_normal(v.shape).astype(np.float32) for k, v in weights(dlc.model("mlp")).items()}
        save_file({k: v.astype(np.float16) for k, v in tensors.items()} | {"steps": np.arange(3)}, self.path("w.safetensors"))
        state = self.compiled(dlc.model("mlp"), weights=self.path("w.safetensors"))
        for key, value in tensors.items():
            np.testing.assert_array_equal(state[key], value.astype(np.float16).astype(np.float32))
        other = self.compiled(dlc.model("resnet8"), init="xavier_normal", seed=5)
        artifact = dlc.compile(dlc.model("resnet8"), self.path("b.dlc"), init="xavier_normal", seed=5, quiet=True)
        dlc.dlc("export", artifact, "-o", self.path("other.onnx"))
        _, log = dlc.dlc("compile", dlc.model("resnet8"), "--weights=" + self.path("other.onnx"), "--freeze=conv1",
                         "-o", self.path("c.dlc"))
        self.assertIn(f"{len(weights(dlc.model('resnet8')))} matched", log)
        found = dlc.Run("").initial(self.path("c.dlc"))
        for key in ["conv1.weight", "fc.weight", "bn1.running_var"]:
            np.testing.assert_array_equal(found[key], other[key])

    def test_what_does_not_match_is_reported(self):
        tensors = weights(dlc.model("mlp"))
        tensors["extra"] = np.zeros(3, np.float32)
        tensors["f2.weight"] = np.zeros((7, 48), np.float32)
        del tensors["f1.bias"]
        save_file(tensors, self.path("w.safetensors"))
        command = ["compile", dlc.model("mlp"), "--weights=" + self.path("w.safetensors"), "-o", self.path("a.dlc")]
        _, log = dlc.dlc(*command, code=3)
        lists = ["2 matched", "1 missing in the file: f1.bias", "1 unknown to the model: extra",
                 "1 of another shape: f2.weight [7, 48], expected [10, 48]"]
        for text in [*lists, "--weights-partial takes those that match"]:
            self.assertIn(text, log)
        self.assertFalse(os.path.exists(self.path("a.dlc")))
        _, log = dlc.dlc(*command, "--weights-partial")
        for text in lists:
            self.assertIn(text, log)
        found, own = dlc.Run("").initial(self.path("a.dlc")), weights(dlc.model("mlp"))
        np.testing.assert_array_equal(found["f1.weight"], tensors["f1.weight"])
        np.testing.assert_array_equal(found["f2.weight"], own["f2.weight"])
        # A new head takes nothing from the file, and its names are no mismatch.
        tensors = weights(dlc.model("mlp"))
        save_file(tensors, self.path("w.safetensors"))
        dlc.dlc(*command, "--replace-head=4")
        self.assertEqual(dlc.Run("").initial(self.path("a.dlc"))["f2.weight"].shape, (4, 48))

    def test_weights_errors(self):
        save_file({"x": np.zeros(3, np.float32)}, self.path("x.safetensors"))
        for words, code, message in [
            (["--weights=a.bin"], 2, "expected a .safetensors or .onnx file, found 'a.bin'"),
            (["--weights=" + self.path("none.onnx")], 1, "no such file"),
            (["--weights=" + self.path("x.safetensors"), "--weights-partial"], 3, "no name of the file is in the model"),
            (["--weights-partial"], 2, "--weights-partial needs --weights"),
        ]:
            _, log = dlc.dlc("compile", dlc.model("mlp"), *words, "-o", self.path("e.dlc"), code=code)
            self.assertIn(message, log)

    def test_metadata_is_carried_to_the_export(self):
        model = onnx.load(dlc.model("mlp"))
        props = [("zeta", "1"), ("names", "{0: 'zero'}"), ("alpha", ""), ("stride", "32")]
        for key, value in props:
            model.metadata_props.add(key=key, value=value)
        model.doc_string, model.domain, model.model_version = "digits", "org.example", 7
        model.graph.doc_string = "two layers"
        onnx.save(model, self.path("m.onnx"))
        artifact = dlc.compile(self.path("m.onnx"), self.path("a.dlc"), ema=True, quiet=True)
        run = dlc.train(artifact, dlc.data("digits-train"), self.path("run"), steps=2, quiet=True)
        dlc.dlc("export", run.folder, "--ema", "-o", self.path("e.onnx"))
        found = onnx.load(self.path("e.onnx"))
        self.assertEqual([(p.key, p.value) for p in found.metadata_props], props)
        for field in ["doc_string", "domain", "model_version", "producer_name", "producer_version", "ir_version"]:
            self.assertEqual(getattr(found, field), getattr(model, field), field)
        self.assertEqual(found.graph.doc_string, "two layers")


if __name__ == "__main__":
    dlc.main()
