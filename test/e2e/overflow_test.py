# SPDX-License-Identifier: Apache-2.0
"""A run that diverges ends with exit code 8 and a bundle that does the step again and names the node."""

import glob
import json
import os
import re
from unittest import mock

import dlc
import numpy as np
import onnx
from onnx import numpy_helper


class Overflow(dlc.TestCase):
    def setUp(self):
        super().setUp()
        arrays = np.load(dlc.data("digits-train"))
        self.x = arrays["x"][:64].astype(np.float32) / 16
        self.y = arrays["y"][:64]

    def data(self):
        np.savez(self.path("data.npz"), x=self.x, y=self.y)
        return self.path("data.npz")

    def mlp(self, **values):
        """The model with some tensors filled: f1_bias=30."""
        model = onnx.load(dlc.model("mlp"))
        for tensor in model.graph.initializer:
            if tensor.name.replace(".", "_") in values:
                value = np.full(list(tensor.dims), values[tensor.name.replace(".", "_")], np.float32)
                tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
        onnx.save(model, self.path("filled.onnx"))
        return self.path("filled.onnx")

    def compile(self, model=None, **options):
        options = dict(batch=16, optimizer="sgd", lr=0.05, momentum=0.9, schedule="constant") | options
        return dlc.compile(model or dlc.model("mlp"), self.path("m.dlc"), **options)

    def fail(self, artifact, code=dlc.DIVERGED, inject="", run="run", **options):
        options = dict(data=self.data(), run=self.path(run), steps=12, shuffle="off") | options
        with mock.patch.dict(os.environ, DLC_INJECT_INF=inject):
            _, err = dlc.dlc("train", artifact, code=code, **options)
        return err

    def replay(self, step, code=dlc.OK, run="run"):
        out, err = dlc.dlc("debug", "replay", self.path(f"{run}/replay-{step}"), code=code)
        return out + err

    def reported(self):
        with open(self.path("run/metrics.jsonl")) as file:
            return [json.loads(line) for line in file]

    def test_bad_sample(self):
        """Without a loss scale the first NaN ends the run; row 5 of the third batch is to blame."""
        self.x[2 * 16 + 5, 0, 3, 3] = np.nan
        err = self.fail(self.compile(), save_every=1)
        self.assertRegex(err, r"the loss is nan at step 3: the data has numbers that are not finite: .*'x' in row 37 .1 of 64.; .*dlc debug replay .*replay-3")
        self.assertEqual([line["loss"] is None for line in self.reported()], [False, False, True])
        text = self.replay(3)
        self.assertRegex(text, r"input 'input' is from 0 to 1, 1 NaN, first in row 5 of the batch")
        self.assertRegex(text, r"reproduced: loss nan")

    def test_state_before_is_that_of_the_run(self):
        """The bundle of step 8 is found by going back to the checkpoint of step 5; it is bitwise what was."""
        self.x[16:32, 0, 0, 0] = 0
        artifact = self.compile(optimizer="adamw", momentum=None)
        good = dlc.train(artifact, self.data(), self.path("good"), steps=7, shuffle="off", save_every=7, threads=1)
        x = np.tile(self.x, (3, 1, 1, 1))
        y = np.tile(self.y, 3)
        x[7 * 16] = np.inf
        np.savez(self.path("bad.npz"), x=x, y=y)
        err = self.fail(artifact, data=self.path("bad.npz"), save_every=5, threads=1)
        self.assertIn("repeating steps 6 to 7", err)
        found = dlc.load_file(self.path("run/replay-8/state.safetensors"))
        expected = {k: v for k, v in good.state(7).items() if k != "schedule.steps"}
        self.assertBitwise({k: found[k] for k in expected}, expected, "state before step 8")
        self.assertIn("input 'input' is from 0 to 1, 64 infinite", self.replay(8))

    def test_weights_overflow(self):
        """tanh gives 1, and 48 times 3e37 is beyond f32; the report has the ranges of what is read."""
        err = self.fail(self.compile(self.mlp(f1_bias=30, f2_weight=3e37)), debug_overflow=True)
        self.assertRegex(err, r"the loss is nan at step 1: '/f2/Gemm' \(matmul, forward\) computes f32 "
                              r"\[16, 10\], all 160 values infinite; it reads f32 \[16, 48\] from 1 to 1; "
                              r"f32 \[10, 48\] from 3e\+37 to 3e\+37.*try a lower --lr")
        self.assertIn("'/f2/Gemm' (matmul, forward)", self.replay(1))

    def test_half_overflow_names_the_option(self):
        options = dict(amp=True, amp_dtype="fp16", loss_scale=1)
        err = self.fail(self.compile(self.mlp(f1_bias=30, f2_weight=3e3), **options), debug_overflow=True,
                        max_skips=2)
        found = re.search(r"step 1 was skipped, the 1\. in a row: (.*)", err).group(1)
        self.assertRegex(found, r"'/f2/Gemm'.*f16.*--amp-node='\^/f2/Gemm\$:f32'")
        self.assertIn("step 2 was skipped, the 2. in a row: training diverged", err)

    def test_the_option_mends_it(self):
        """What the report says, given to the compiler, makes the step finite."""
        options = dict(amp=True, amp_dtype="fp16", loss_scale=1, amp_node="^/f2/Gemm$:f32")
        run = self.fail(self.compile(self.mlp(f1_bias=30, f2_weight=3e3), **options), dlc.OK, steps=1)
        self.assertNotIn("skipped", run)
        self.assertEqual(self.reported()[0]["found_inf"], 0)

    def test_one_node_without_fusion(self):
        """exp(x) overflows in a kernel that holds three nodes; a debug program names the one."""
        x = onnx.helper.make_tensor_value_info("x", 1, ["N", 4])
        y = onnx.helper.make_tensor_value_info("out", 1, ["N", 4])
        nodes = [onnx.helper.make_node(op, i, o, name) for op, i, o, name in [
            ("MatMul", ["x", "w"], ["a"], "/product"), ("Abs", ["a"], ["b"], "/abs"), ("Exp", ["b"], ["c"], "/exp"),
            ("Sub", ["c", "c"], ["out"], "/minus")]]
        w = numpy_helper.from_array(np.full((4, 4), 30, np.float32), "w")
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [x], [y], [w]),
                                         opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8),
                  self.path("exp.onnx"))
        self.x, self.y = np.ones((16, 4), np.float32), np.zeros((16, 4), np.float32)
        for debug, nodes in (False, "/abs.*/exp.*"), (True, "/exp"):
            artifact = self.compile(self.path("exp.onnx"), loss="mse", debug_overflow=debug)
            err = self.fail(artifact, debug_overflow=True, run=f"run{debug}")
            self.assertRegex(err, f"the loss is nan at step 1: '{nodes}' [(]")
            self.assertIn("computes f32 [16, 4], all 64 values", err)

    def test_skips_in_a_row(self):
        artifact = self.compile(loss_scale="dynamic", loss_scale_init=1024, ema=0.9)
        err = self.fail(artifact, inject="2,4,5,6,8", max_skips=3, save_every=1)
        self.assertIn("step 6 was skipped, the 3. in a row: training diverged", err)
        self.assertEqual([line["found_inf"] for line in self.reported()], [0, 1, 0, 1, 1, 1])
        with open(self.path("run/replay-6/manifest.json")) as file:
            manifest = json.load(file)
        self.assertEqual((manifest["step"], manifest["ranks"], manifest["injected"]), (6, 1, 1))
        self.assertBitwise(dlc.load_file(self.path("run/replay-6/state.safetensors")),
                           dlc.Run(self.path("run")).state(5), "state before step 6")
        text = self.replay(6)
        self.assertRegex(text, r"made infinite on purpose")
        self.assertRegex(text, r"\(all_finite, backward\) reads f32 .* 1 infinite, which no node has computed")
        self.assertRegex(text, r"reproduced: .*loss_scale 128, found_inf 1")

    def test_skips_that_are_borne(self):
        """Ten in a row are the default; the attribution changes nothing."""
        artifact = self.compile(loss_scale="dynamic", loss_scale_init=1024)
        plain = self.fail(artifact, dlc.OK, "2,4,5", run="plain", threads=1)
        self.assertNotIn("backward", plain)
        err = self.fail(artifact, dlc.OK, "2,4,5", run="probed", debug_overflow=True, threads=1)
        self.assertEqual(len(re.findall(r"step \d+ was skipped, the \d\. in a row", err)), 3)
        self.assertBitwise(dlc.Run(self.path("probed")).state(12), dlc.Run(self.path("plain")).state(12), "state")

    def test_no_loss_scale_and_no_ranks(self):
        """The infinite gradient reaches a weight; such weights are not kept."""
        err = self.fail(self.compile(), inject="2", save_every=2)
        self.assertIn("no checkpoint written: 'f1.bias' is no longer finite", err)
        self.assertFalse(glob.glob(self.path("run/checkpoint-*")))
        err = self.fail(self.compile(clip_grad=1), inject="2", debug_overflow=True, run="clipped", save_every=9)
        self.assertRegex(err, r"the loss is nan at step 3: (param|moment) 'f1\.bias(\.m)?' is .*NaN before the step")

    def test_two_ranks_name_the_first(self):
        """Only rank 1's half of the batch holds the sample."""
        self.x[12] = 1e6
        artifact = self.compile(self.mlp(f1_weight=1e-3, f2_weight=3e37), batch=8, ddp=2)
        err = self.fail(artifact, debug_overflow=True)
        place = r"rank 1: '/f2/Gemm' \(matmul, forward\) computes f32 \[8, 10\] with 10 infinite"
        self.assertRegex(err, "the loss is nan at step 1: " + place)
        text = self.replay(1)
        self.assertRegex(text, place)
        self.assertEqual(text.count("reproduced"), 1)
        self.assertTrue(os.path.exists(self.path("run/replay-1/inputs-1.safetensors")))

    def test_micro_batch(self):
        self.x[16 + 3, 0] = np.inf
        err = self.fail(self.compile(batch=8, accumulate=4), debug_overflow=True)
        self.assertRegex(err, r"the loss is nan at step 1: micro-batch 3: input 'input' is .* first in row 3")
        self.assertIn("micro-batch 3", self.replay(1))

    def test_masks_are_no_overflow(self):
        """gpt's causal mask is minus infinity on purpose; the blame goes to the gradient that is made infinite."""
        artifact = dlc.compile(dlc.model("gpt_tiny"), self.path("m.dlc"), batch=4, loss_scale=128)
        err = self.fail(artifact, dlc.OK, "1", data=dlc.data("text-train"), steps=2, debug_overflow=True)
        self.assertRegex(err, r"step 1 was skipped, the 1\. in a row: .*which no node has computed")

    def test_damaged_bundle(self):
        self.x[0] = np.nan
        self.fail(self.compile())
        path = self.path("run/replay-1/state.safetensors")
        with open(path, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"\x55")
        self.assertRegex(self.replay(1, dlc.CORRUPT), r"state.safetensors")

    def test_no_bundle(self):
        _, err = dlc.dlc("debug", "replay", self.path("run/replay-1"), code=dlc.CORRUPT)
        self.assertRegex(err, r"manifest.json' is missing")


if __name__ == "__main__":
    dlc.main()
