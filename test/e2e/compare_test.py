# SPDX-License-Identifier: Apache-2.0
"""dlc debug compare: two compilations of one model agree, or part at the node that was made wrong."""

import json

import dlc
import onnx
from onnx import helper

WRONG = "/Relu_3"


def plant(path):
    """LeNet whose node WRONG gives 1 % too much: Selu without its negative part is a scaled Relu."""
    proto = onnx.load(dlc.model("lenet"))
    node = next(node for node in proto.graph.node if node.name == WRONG)
    node.op_type = "Selu"
    node.attribute.extend([helper.make_attribute("alpha", 0.0), helper.make_attribute("gamma", 1.01)])
    onnx.save(proto, path)
    return path


class Compare(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.share_folder()
        folder = cls.shared
        cls.artifacts = {}
        wrong = plant(f"{folder}/wrong.onnx")
        for name, source, options in [("f32", dlc.model("lenet"), {}), ("bf16", dlc.model("lenet"), dict(amp=True)),
                                      ("wrong", wrong, {}), ("wrong-bf16", wrong, dict(amp=True)),
                                      ("faster", dlc.model("lenet"), dict(lr=0.0101)),
                                      ("seeded", dlc.model("lenet"), dict(init="kaiming_uniform(2.236)")),
                                      ("small", dlc.model("lenet"), dict(batch=16))]:
            cls.artifacts[name] = dlc.compile(source, f"{folder}/{name}.dlc", **options)

    def compare(self, a, b, code=dlc.OK, **options):
        words = self.artifacts[a], self.artifacts[b]
        options = dict(data=dlc.data("mnist-train"), **options)
        out, self.messages = dlc.dlc("debug", "compare", *words, "--json", code=code, **options)
        return json.loads(out) if out else None

    def test_equal(self):
        found = self.compare("f32", "f32", steps=3)
        self.assertTrue(found["agree"])
        self.assertEqual([step["step"] for step in found["steps"]], [1, 2, 3])
        # Every result, and each parameter with its momentum.
        self.assertGreater(found["compared"], found["results"][0])
        self.assertEqual(found["results"][0], found["results"][1])
        self.assertEqual(found["worst"], [])

    def test_precisions_agree(self):
        for a, b in [("f32", "bf16"), ("bf16", "f32")]:
            found = self.compare(a, b)
            self.assertIsNone(found["first"])
            least = min(found["results"])
            self.assertGreater(found["compared"], least)
            # Roundings of bf16 are there, and borne.
            self.assertGreater(found["worst"][0]["error"], 1e-3)

    def test_models_agree(self):
        """Norms, attention, and moments of Adam, with fp16's scaled gradients, too."""
        images = dlc.Reference("resnet8").write(self.path("images.npz"))
        for model, data in ("resnet8", images), ("gpt_tiny", dlc.data("text-train")):
            exact = dlc.compile(dlc.model(model), self.path(f"{model}.dlc"), batch=8, optimizer="adamw")
            for dtype in "bf16", "fp16":
                half = dlc.compile(dlc.model(model), self.path(f"{model}-{dtype}.dlc"), batch=8, optimizer="adamw", amp=True, amp_dtype=dtype)
                out, _ = dlc.dlc("debug", "compare", exact, half, "--json", data=data, steps=2)
                found = json.loads(out)
                self.assertGreater(found["compared"], 0.8 * found["results"][0])

    def test_finds_the_wrong_node(self):
        for a, b in [("f32", "wrong"), ("wrong", "f32"), ("f32", "wrong-bf16"), ("bf16", "wrong-bf16")]:
            first = self.compare(a, b, code=1)["first"]
            self.assertEqual((first["name"], first["phase"]), (WRONG, "forward"), f"{a} and {b}")
            self.assertLess(abs(first["error"] - 0.01), 0.003)
        self.compare("f32", "wrong", tolerance=0.02)

    def test_prints_it(self):
        out, _ = dlc.dlc("debug", "compare", self.artifacts["f32"], self.artifacts["wrong"], data=dlc.data("mnist-train"), code=1)
        self.assertRegex(out, rf"step 1: the first that differs is {WRONG}, forward \(.*f32 \[32, 84\]\): relative error 0.01, ")
        out, _ = dlc.dlc("debug", "compare", self.artifacts["f32"], self.artifacts["f32"], data=dlc.data("mnist-train"))
        self.assertTrue(out.endswith("no tensor differs\n"), out)

    def test_finds_a_wrong_update(self):
        first = self.compare("f32", "faster", code=1)["first"]
        self.assertEqual((first["phase"], first["operation_a"]), ("update", "param"))
        self.assertLess(abs(first["error"] - 0.01), 1e-4)

    def test_predict_and_eval(self):
        for program in "predict", "eval_step":
            self.assertTrue(self.compare("f32", "bf16", program=program)["agree"])
            first = self.compare("f32", "wrong", program=program, code=1)["first"]
            self.assertEqual(first["name"], WRONG)

    def test_other_weights(self):
        found = self.compare("f32", "seeded")
        self.assertTrue(found["agree"])
        self.assertIn("c1.weight", found["states"])
        self.assertRegex(self.messages, "starts with other values of [0-9]+ states")
        found = self.drift("f32", "seeded")
        self.assertFalse(found["agree"])
        losses = found["steps"][0]["loss"]
        self.assertNotEqual(*losses)

    def drift(self, a, b):
        out, _ = dlc.dlc("debug", "compare", self.artifacts[a], self.artifacts[b], "--drift", "--json", code=1,
                         data=dlc.data("mnist-train"))
        return json.loads(out)

    def test_refuses(self):
        self.compare("f32", "small", code=dlc.USAGE)
        self.assertIn("take 32 and 16 samples at a time: compile both with the same --batch", self.messages)
        other = dlc.compile(dlc.model("mlp"), self.path("mlp.dlc"))
        _, err = dlc.dlc("debug", "compare", self.artifacts["f32"], other, data=dlc.data("mnist-train"), code=dlc.FAILED)
        self.assertIn("a sample has shape [1, 28, 28], expected [1, 8, 8]", err)
        _, err = dlc.dlc("debug", "compare", self.artifacts["f32"], data=dlc.data("mnist-train"), code=dlc.USAGE)
        self.assertIn("expected either B or --onnxruntime", err)


if __name__ == "__main__":
    dlc.main()
