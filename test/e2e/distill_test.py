# SPDX-License-Identifier: Apache-2.0
"""--teacher and --distill: losses and movements equal PyTorch's (test/refs/make_distill.py), and the teacher is in
training steps alone.
"""

import os
import re

import dlc
import numpy as np
import onnx
from onnx import helper

TEACHER = os.path.join(dlc.REFS, "distill_teacher.onnx")
STEPS = 20
KL = dict(teacher=TEACHER, distill="kl(temperature=2,weight=.5)")
SGD = dict(optimizer="sgd", lr=0.05, momentum=0.9)


class Distill(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        with np.load(os.path.join(dlc.REFS, "optimizers_ref.npz")) as file:
            cls.x, cls.y = file["images"], file["classes"]
        with np.load(os.path.join(dlc.REFS, "distill_ref.npz")) as file:
            cls.reference = dict(file)

    def data(self):
        np.savez(self.path("data.npz"), x=np.concatenate(self.x), y=np.concatenate(self.y))
        return self.path("data.npz")

    def compile(self, name="model", *words, **options):
        dlc.dlc("compile", dlc.model("mlp"), "-o", self.path(name + ".dlc"), *words, **dict(batch=self.x.shape[1]) | options)
        return self.path(name + ".dlc")

    def train(self, artifact, name="run", **options):
        return dlc.train(artifact, self.data(), self.path(name), **dict(shuffle="off", threads=1, steps=STEPS) | options)

    def check(self, case, *words, **options):
        expected = {k[len(case) + 1:]: v for k, v in self.reference.items() if k.startswith(case + "/")}
        artifact = self.compile(case, *words, **options)
        run = self.train(artifact)
        np.testing.assert_allclose(run.metrics("loss"), expected["losses"], rtol=2e-6)
        np.testing.assert_allclose(run.metrics("loss.distill"), expected["distill"], rtol=2e-6)
        self.assertEqual(self.assertMoved(run.state(STEPS), run.initial(artifact), expected), 4)
        return run

    def test_kl(self):
        self.check("kl", **KL, **SGD)

    def test_hidden_values(self):
        run = self.check("hidden", "--distill=mse(weight=3,student=/Tanh_output_0,teacher=/tanh/Tanh_output_0)",
                         "--distill=kl(student=logits,teacher=scores)", teacher=TEACHER, features="/Tanh_output_0",
                         optimizer="adamw", lr=1e-3)
        self.assertGreater(run.metrics("loss.distill2").min(), 0)

    def test_only_training_steps_have_it(self):
        """Its tensors are in the artifact, once; checkpoints, evaluation and exports are those of the model alone."""
        artifact = self.compile(**KL, **SGD)
        run = self.train(artifact)
        first = run.initial(artifact)
        taught = {name for name in first if name.startswith("teacher/")}
        with open(TEACHER, "rb") as file:
            tensors = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(file).graph.initializer}
        self.assertEqual({"teacher/" + name for name in tensors}, taught)
        for name, value in tensors.items():
            np.testing.assert_array_equal(first["teacher/" + name], value, name)
        self.assertFalse([name for name in run.state(STEPS) if "teacher" in name])
        dlc.dlc("export", run.folder, "-o", self.path("out.onnx"))
        names = [sorted(t.name for t in onnx.load(p).graph.initializer) for p in (self.path("out.onnx"), dlc.model("mlp"))]
        self.assertEqual(*names)
        plain = self.train(self.compile("plain", **SGD | dict(lr=0), weights=self.path("out.onnx")), "plain", steps=1)
        self.assertEqual(dlc.evaluate(run.folder, self.data()), dlc.evaluate(plain.folder, self.data()))
        with open(os.path.join(artifact, "model.mlir")) as file:
            text = file.read()
        for program in re.split(r"(?=func\.func @)", text)[1:]:
            self.assertEqual("teacher/" in program, "@train_step" in program.split("(")[0], program.split("(")[0])

    def test_resumed(self):
        options = dict(**KL, optimizer="adamw", lr=1e-3, clip_grad=1)
        whole = self.train(self.compile(**options))
        half = self.train(self.compile("again", **options), "half", steps=STEPS // 2)
        dlc.dlc("train", resume=half.folder, steps=STEPS, threads=1)
        self.assertBitwise(half.state(STEPS), whole.state(STEPS), "resumed")

    def test_ranks_and_micro_batches(self):
        """Both give the mean gradient of all samples."""
        whole = self.train(self.compile(**KL, **SGD))
        rows = self.x.shape[1] // 2
        for name, options in dict(accumulated=dict(accumulate=2), ranks=dict(ddp=2), shards=dict(ddp=2, zero=2)).items():
            run = self.train(self.compile(name, batch=rows, **KL, **SGD, **options), name)
            np.testing.assert_allclose(run.metrics("loss.distill"), whole.metrics("loss.distill"), rtol=1e-5)
            for key, value in whole.state(STEPS).items():
                if value.dtype == np.float32:
                    self.assertNear(run.state(STEPS)[key], value, 1e-5, key)

    def test_beside_adapters_and_a_list_of_losses(self):
        run = self.train(self.compile(**KL, **SGD, lora=4, amp=True, loss="logits:cross_entropy:0.5"))
        self.assertLess(run.metrics("loss.distill")[-1], run.metrics("loss.distill")[0])

    def test_padded_batches(self):
        """Samples that fill up a batch do not count: 48 in a batch of 64 train as 48 alone would."""
        x, y = np.concatenate(self.x)[:48], np.concatenate(self.y)[:48]
        np.savez(self.path("few.npz"), x=x, y=y)
        losses = []
        for batch in 48, 64:
            artifact = self.compile(f"b{batch}", batch=batch, last_batch="pad", **KL, **SGD)
            run = dlc.train(artifact, self.path("few.npz"), self.path(f"r{batch}"), shuffle="off", threads=1, steps=3)
            losses.append(run.metrics("loss.distill"))
        np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)

    def changed(self, change):
        model = onnx.load(TEACHER)
        change(model.graph)
        onnx.save(model, self.path("changed.onnx"))
        return self.path("changed.onnx")

    def refused(self, code, message, **options):
        _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("no.dlc"), code=code, **dict(KL, batch=8) | options)
        self.assertRegex(err, message)

    def test_refusals(self):
        self.refused(dlc.USAGE, "--teacher and --distill need each other", teacher=None)
        self.refused(dlc.USAGE, "--teacher and --distill need each other", distill=None)
        self.refused(dlc.USAGE, "--predict-only leaves out", predict_only=True)
        self.refused(dlc.USAGE, "expected kl or mse", distill="l1")
        self.refused(dlc.USAGE, "mse has no argument 'temperature=2', only weight, student, teacher", distill="mse(temperature=2)")
        self.refused(dlc.USAGE, "kl's temperature: expected a number", distill="kl(temperature=0)")
        self.refused(dlc.USAGE, "--distill adds to the loss of all parameters", loss="logits:cross_entropy", loss_params="f1:logits")
        self.refused(dlc.BAD_MODEL, "student=hidden is no output, there are logits; --features=NAME", distill="mse(student=hidden)")
        self.refused(dlc.BAD_MODEL, r"output 'logits' of the model is f32 \[8, 10\], output '/tanh/Tanh_output_0' of the "
                     r"teacher f32 \[8, 48\]; a loss needs two of one shape", distill="mse(teacher=/tanh/Tanh_output_0)")
        self.refused(dlc.USAGE, r"no node of the model's main graph has this name", distill="mse(teacher=nothing)")
        self.refused(dlc.BAD_MODEL, "the loss 'distill' has the name of one of --distill; give it another by as=NAME",
                     loss="logits:cross_entropy:as=distill")
        self.refused(dlc.FAILED, "missing.onnx.*no such file", teacher=self.path("missing.onnx"))

    def test_teachers_that_do_not_fit(self):
        def smaller(graph):
            graph.input[0].type.tensor_type.shape.dim[2].dim_value = 4
            graph.input[0].type.tensor_type.shape.dim[3].dim_value = 16
        self.refused(dlc.BAD_MODEL, r"the teacher's input 'images' is f32 \[8, 1, 4, 16\], that of the model is f32 \[8, 1, 8, 8\]",
                     teacher=self.changed(smaller))

        def two(graph):
            graph.input.append(helper.make_tensor_value_info("more", 1, ["batch", 48]))
            graph.node.insert(4, helper.make_node("Add", ["/tanh/Tanh_output_0", "more"], ["sum"]))
            graph.node[-2].input[0] = "sum"
        self.refused(dlc.BAD_MODEL, r"the teacher's input 'images' is no input of the model; rename it", teacher=self.changed(two))

        def softmax(graph):
            graph.node.append(helper.make_node("Softmax", ["scores"], ["shares"]))
            graph.output[0].name = "shares"
        self.refused(dlc.BAD_MODEL, r"--distill=kl takes logits, but the teacher's output 'shares' is a softmax; name what goes into "
                     r"it by teacher=NAME", teacher=self.changed(softmax))
        self.compile(teacher=self.changed(softmax), distill="kl(teacher=scores)")


if __name__ == "__main__":
    dlc.main()
