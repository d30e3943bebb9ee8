# SPDX-License-Identifier: Apache-2.0
"""--lora beside weights of few bits: as PyTorch trains on the dequantised weights, of which one is in memory at a time."""

import json
import os

import dlc
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Of test/refs/make_quantized_lora.py.
STEPS, BATCH, RANK, ALPHA, SEED, BLOCK = 10, 16, 4, 8, 5, 16
LAYERS = {"up": (48, 40, 4), "mid": (40, 33, 8), "head": (33, 7, 4)}
SGD = dict(optimizer="sgd", lr=0.1, momentum=0.9, schedule="constant")


def model(path, weights, layers, block=BLOCK):
    """MatMulNBits by MatMulNBits, Tanh between them."""
    nodes, value = [], "x"
    for name, (inputs, outputs, bits) in layers.items():
        names = [f"{name}.codes", f"{name}.scales", f"{name}.zeros", "", f"{name}.bias"]
        nodes.append(helper.make_node("MatMulNBits", [value, *(n if n in weights else "" for n in names)], [name + "_y"],
                                      name=name, domain="com.microsoft", K=inputs, N=outputs, bits=bits, block_size=block))
        value = name + "_y"
        if name != list(layers)[-1]:
            nodes.append(helper.make_node("Tanh", [value], [name + "_t"], name=name + "_tanh"))
            value = name + "_t"
    first, last = list(layers.values())[0][0], list(layers.values())[-1][1]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", first])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["batch", last])],
                              [numpy_helper.from_array(v, k) for k, v in weights.items()])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


class QuantizedLora(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.ref = dict(np.load(os.path.join(dlc.REFS, "quantized_lora_ref.npz")))
        self.model = model(self.path("m.onnx"), {k[8:]: v for k, v in self.ref.items() if k.startswith("weights/")}, LAYERS)

    def train(self, name, **options):
        artifact = dlc.compile(self.model, self.path(name + ".dlc"), loss="cross_entropy", batch=BATCH, lora=RANK, lora_alpha=ALPHA,
                               seed=SEED, quiet=True, **(SGD | options))
        data = self.path("data.npz")
        np.savez(data, x=self.ref["x"].reshape(STEPS * BATCH, -1), y=self.ref["y"].reshape(-1))
        return artifact, dlc.train(artifact, data, self.path(name), steps=STEPS, shuffle="off", threads=1, quiet=True)

    def close(self, found, key, what):
        exact = self.ref["64/" + key]
        noise = np.abs(self.ref["32/" + key] - exact).max()
        scale = np.abs(exact).max()
        self.assertLess(np.abs(found - exact).max(), max(2e-6 * scale, 30 * noise), what)

    def test_as_pytorch(self):
        artifact, run = self.train("run")
        np.testing.assert_allclose(run.metrics("loss"), self.ref["64/losses"], rtol=1e-5)
        first, last = run.initial(artifact), run.state(STEPS)
        names = [k[3:] for k in self.ref if k.startswith("64/") and k != "64/losses"]
        self.assertEqual(len(names), 2 * len(LAYERS))
        for key in names:
            self.assertFalse(np.array_equal(first[key], last[key]), key)
            self.close(last[key], key, key)
        for name in LAYERS:  # as they are in the file, and with nothing beside them
            np.testing.assert_array_equal(first[name + ".codes"], self.ref[f"weights/{name}.codes"])
            self.assertNotIn(name + ".codes.m", last)

    def test_memory_holds_one_weight_at_a_time(self):
        """Four layers of 64 KiB in 4 bits, 512 KiB in f32."""
        layers = {f"l{i}": (512, 256, 4) if i % 2 == 0 else (256, 512, 4) for i in range(4)}
        generator = np.random.default_rng(1)
        weights = {}
        for name, (inputs, outputs, _) in layers.items():
            weights[name + ".codes"] = generator.integers(0, 256, (outputs, inputs // 32, 16), np.uint8)
            weights[name + ".scales"] = generator.uniform(0.01, 0.02, (outputs, inputs // 32)).astype("f4")
        artifact = dlc.compile(model(self.path("deep.onnx"), weights, layers, 32), self.path("deep.dlc"), lora=2, batch=4,
                               loss="mse", optimizer="sgd", quiet=True)
        out, _ = dlc.dlc("inspect", artifact, json=True)
        self.assertLess(json.loads(out)["programs"]["train_step"]["scratch_bytes"], 2 * 512 * 1024)

    def test_large_weight_in_pieces_as_whole_in_f32(self):
        """20 MiB in f32: forward and gradient go by pieces of rows. numpy dequantises it for a plain product."""
        inputs, outputs, generator = 256, 20000, np.random.default_rng(2)
        codes = generator.integers(0, 256, (outputs, inputs // 32, 16), np.uint8)
        scales = generator.uniform(0.01, 0.02, (outputs, inputs // 32)).astype("f4")
        first = {"in.codes": generator.integers(0, 256, (inputs, 1, 16), np.uint8),
                 "in.scales": generator.uniform(0.01, 0.02, (inputs, 1)).astype("f4")}
        layers = {"in": (32, inputs, 4), "out": (inputs, outputs, 4)}
        packed = model(self.path("packed.onnx"), first | {"out.codes": codes, "out.scales": scales}, layers, 32)
        proto = onnx.load(packed)
        values = (np.stack([codes & 15, codes >> 4], -1).reshape(outputs, -1, 32).astype("f4") - 8) * scales[..., None]
        del proto.graph.initializer[2:]
        proto.graph.initializer.append(numpy_helper.from_array(values.reshape(outputs, inputs).T.copy(), "out.codes"))
        proto.graph.node[-1].CopyFrom(helper.make_node("MatMul", ["in_t", "out.codes"], ["out_y"], name="out"))
        onnx.save(proto, self.path("whole.onnx"))
        np.savez(self.path("d.npz"), x=generator.normal(0, 1, (24, 32)).astype("f4"), y=generator.integers(0, outputs, 24))
        states, losses = [], []
        for name in "packed", "whole":
            artifact = dlc.compile(self.path(name + ".onnx"), self.path(name + ".dlc"), loss="cross_entropy", batch=8, lora=2,
                                   lora_targets="^in", seed=1, quiet=True, **SGD)
            run = dlc.train(artifact, self.path("d.npz"), self.path(name), steps=3, shuffle="off", threads=1, quiet=True)
            states.append(run.state(3))
            losses.append(run.metrics("loss"))
        out, _ = dlc.dlc("inspect", self.path("packed.dlc"), json=True)
        self.assertLess(json.loads(out)["programs"]["train_step"]["scratch_bytes"], 20 << 20)
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
        for key in "in.codes.lora_A.weight", "in.codes.lora_B.weight":
            self.assertNear(states[0][key], states[1][key], 1e-5, key)

    def test_targets_by_name_and_precision(self):
        _, run = self.train("amp", lora_targets="^(up|head)", amp=True)
        self.assertNotIn("mid.codes.lora_A.weight", run.state(STEPS))
        losses = run.metrics("loss")
        self.assertLess(losses[-1], losses[0])

    def test_export(self):
        _, run = self.train("run")
        dlc.dlc("export", run.folder, "--lora=adapters", "-o", self.path("a.safetensors"))
        adapters = dlc.load_file(self.path("a.safetensors"))
        self.assertEqual({name: value.shape for name, value in adapters.items()},
                         {f"{name}.codes.lora_{part}.weight": shape for name, (inputs, outputs, _) in LAYERS.items()
                          for part, shape in (("A", (RANK, inputs)), ("B", (outputs, RANK)))})
        _, log = dlc.dlc("export", run.folder, "-o", self.path("merged.onnx"), code=dlc.USAGE)
        self.assertIn("'up.codes' is stored in few bits, to which a merged weight would have to be rounded: "
                      "use --lora=adapters", log)


if __name__ == "__main__":
    dlc.main()
