# SPDX-License-Identifier: Apache-2.0
"""dlc debug compare of a CPU's and a GPU's compilation: they agree, or part at the node that was made wrong."""

import json

import dlc
import onnx
import standins
from onnx import helper

WRONG = "/Relu_2"


class Compare(standins.StandinTest):
    def compare(self, source, code, **options):
        cpu = dlc.compile(dlc.model("lenet"), self.path("cpu.dlc"))
        gpu = self.compile_for_cuda(source, **options)
        out, _ = self.run_on_standins(cpu, gpu, "--json", command="debug compare", data=dlc.data("mnist-train"), code=code)
        return json.loads(out)

    def test_agrees(self):
        found = self.compare("lenet", dlc.OK)
        self.assertGreater(found["compared"], found["results"][0] / 2)
        self.assertIsNone(found["first"])

    def test_agrees_in_bf16(self):
        self.assertIsNone(self.compare("lenet", dlc.OK, amp=True)["first"])

    def test_finds_the_wrong_node(self):
        proto = onnx.load(dlc.model("lenet"))
        node = next(node for node in proto.graph.node if node.name == WRONG)
        node.op_type = "Selu"  # without its negative part, 1 % too large
        node.attribute.extend([helper.make_attribute("alpha", 0.0), helper.make_attribute("gamma", 1.01)])
        onnx.save(proto, self.path("wrong.onnx"))
        first = self.compare(self.path("wrong.onnx"), 1)["first"]
        self.assertEqual((first["name"], first["phase"]), (WRONG, "forward"))


if __name__ == "__main__":
    dlc.main()
