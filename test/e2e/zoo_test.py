# SPDX-License-Identifier: Apache-2.0
"""Small models of models/zoo.py train to PyTorch's losses; the files and the losses are make_zoo.py's.

The larger ones, and every exporter and form, are compared by models/compare.py, which needs torch.
"""

import os

import dlc
import numpy as np
import onnx

SGD = dict(optimizer="sgd", lr=0.002, momentum=0.9, weight_decay=0)
ADAMW = dict(optimizer="adamw", lr=1e-3, weight_decay=1e-2)


class Zoo(dlc.TestCase):
    def check(self, name, *files, loss="cross_entropy", **options):
        with np.load(os.path.join(dlc.REFS, "zoo_ref.npz")) as ref:
            arrays = {key.split("/")[1]: ref[key] for key in ref.files if key.startswith(name + "/")}
        for file in files:
            path = os.path.join(dlc.REFS, f"zoo_{name}-{file}.onnx")
            inputs, data = onnx.load(path).graph.input, {}
            for i, value in enumerate(inputs):
                values = np.concatenate(arrays[f"input{i}"])
                data[value.name] = values.astype(np.float32) if values.dtype == np.float16 else values
            if loss == "cross_entropy":
                data["y"] = np.concatenate(arrays["labels"])
            np.savez(self.path("data.npz"), **data)
            artifact = dlc.compile(path, self.path("model.dlc"), batch=arrays["input0"].shape[1], loss=loss, **options)
            run = dlc.train(artifact, self.path("data.npz"), self.path(file), shuffle="off", steps=20, threads=1)
            np.testing.assert_allclose(run.metrics("loss"), arrays["losses"], rtol=2e-6, err_msg=f"{name} {file}")

    def test_unet(self):
        self.check("unet", "script-train", "dynamo-eval", **SGD)

    def test_diffusion(self):
        self.check("diffusion", "dynamo-eval", **ADAMW)

    def test_graph(self):
        self.check("graph", "script-train", "dynamo-eval", **SGD)

    def test_recurrent(self):
        self.check("rnn", "dynamo-eval", **SGD)

    def test_experts(self):
        self.check("experts", "dynamo-eval", **ADAMW)

    def test_loss_in_the_graph(self):
        self.check("yolo", "script-train", loss="out:graph", **SGD)


if __name__ == "__main__":
    dlc.main()
