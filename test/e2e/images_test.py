# SPDX-License-Identifier: Apache-2.0
"""Images of one and three dimensions: convolutions, transposed ones, pooling and batch norm train to PyTorch's losses in
both layouts, and come out as ONNX. The models and the losses are make_images.py's."""

import os

import dlc
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, save_model

MODELS = "signal", "volume"


def path(name):
    return os.path.join(dlc.REFS, name + ".onnx")


class Images(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        with np.load(os.path.join(dlc.REFS, "images_ref.npz")) as file:
            cls.arrays = dict(file)

    def train(self, name, steps=20, **options):
        inputs = self.arrays[f"{name}/inputs"]
        np.savez(self.path("data.npz"), x=np.concatenate(inputs), y=np.concatenate(self.arrays[f"{name}/labels"]))
        artifact = dlc.compile(path(name), self.path("m.dlc"), batch=inputs.shape[1], lr=0.02, momentum=0.9, weight_decay=0,
                               **dlc.CONSTANT_SGD, **options)
        return dlc.train(artifact, self.path("data.npz"), self.path("run"), shuffle="off", steps=steps, threads=1)

    def check_losses(self, name, layout):
        run = self.train(name, layout=layout)
        np.testing.assert_allclose(run.metrics("loss"), self.arrays[f"{name}/losses"], rtol=1e-4)
        state, final = run.state(20), f"{name}/final/"
        for key, value in self.arrays.items():
            if key.startswith(final):
                self.assertNear(state[key[len(final):]], value, 1e-3, key)

    def check_half(self, name):
        run = self.train(name, steps=8, amp=True)
        np.testing.assert_allclose(run.metrics("loss"), self.arrays[f"{name}/losses"][:8], rtol=3e-2)

    def check_export(self, name):
        run, x = self.train(name, steps=4), self.arrays[f"{name}/inputs"][0]
        dlc.dlc("export", run.folder, "-o", self.path("trained.onnx"))
        session = onnxruntime.InferenceSession(self.path("trained.onnx"), providers=["CPUExecutionProvider"])
        expected = session.run(None, {"input": x})[0]
        np.savez(self.path("x.npz"), x=x)
        dlc.dlc("predict", run.folder, "-o", self.path("y.npz"), data=self.path("x.npz"))
        with np.load(self.path("y.npz")) as file:
            np.testing.assert_allclose(file["y"], expected, rtol=1e-4, atol=1e-5)

    def test_four_dimensions_are_refused(self):
        graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], name="c")], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 3, 3, 3, 3])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(np.ones([1, 2, 1, 1, 1, 1], np.float32), "w")])
        save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path("m.onnx"))
        _, err = dlc.dlc("compile", self.path("m.onnx"), "-o", self.path("m.dlc"), code=dlc.BAD_MODEL, batch=1)
        self.assertRegex(err, r"'?c'?.*expected an input of rank 3 to 5, found \[1, 2, 3, 3, 3, 3\]")


for name in MODELS:
    for layout in "nchw", "nhwc":
        setattr(Images, f"test_{name}_{layout}", lambda self, n=name, l=layout: self.check_losses(n, l))
    setattr(Images, f"test_{name}_in_halves", lambda self, n=name: self.check_half(n))
    setattr(Images, f"test_{name}_export", lambda self, n=name: self.check_export(n))


if __name__ == "__main__":
    dlc.main()
