# SPDX-License-Identifier: Apache-2.0
"""Losses and final weights under each optimizer equal PyTorch's and timm's: see test/refs/make_optimizers.py."""

import os
import re

import dlc
import numpy as np

REFERENCE = os.path.join(dlc.REFS, "optimizers_ref.npz")


class Optimizers(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.arrays = np.load(REFERENCE)
        cls.data = {"mlp": (cls.arrays["images"], cls.arrays["classes"])}
        for model in "resnet8", "lenet":
            reference = dlc.Reference(model)
            cls.data[model] = reference.inputs, reference.labels

    def run_(self, model, steps, **options):
        x, y = self.data[model]
        np.savez(self.path("data.npz"), x=np.concatenate(x), y=np.concatenate(y))
        artifact = dlc.compile(dlc.model(model), self.path("model.dlc"), loss="cross_entropy", schedule="constant",
                               batch=x.shape[1], **options)
        return dlc.train(artifact, self.path("data.npz"), self.path("run"), shuffle="off", threads=1, steps=steps)

    def check(self, key, model="mlp", tolerance=1e-5, **options):
        start = key + "/final/"
        losses = self.arrays[key + "/losses"]
        run = self.run_(model, len(losses), **options)
        np.testing.assert_allclose(run.metrics("loss"), losses, rtol=1e-4)
        state = run.state(len(losses))
        finals = [k for k in self.arrays.files if k.startswith(start)]
        self.assertGreater(len(finals), 3)
        for k in finals:
            self.assertNear(state[k[len(start):]], self.arrays[k], tolerance, k)

    def check_moved(self, key, model="mlp", **options):
        """Each parameter's movement, within 30 times what the order of a batch's rows does to PyTorch's own."""
        reference = {k[len(key) + 1:]: self.arrays[k] for k in self.arrays.files if k.startswith(key + "/")}
        run = self.run_(model, len(reference["losses"]), **options)
        np.testing.assert_allclose(run.metrics("loss"), reference["losses"], rtol=1e-5)
        moved = self.assertMoved(run.state(len(reference["losses"])), run.initial(self.path("model.dlc")), reference)
        self.assertGreater(moved, 3)
        return run

    def test_nadam(self):
        run = self.check_moved("nadam", optimizer="nadam", lr=2e-3)
        self.assertLess(run.state(20)["step.product"], 1e-3)

    def test_nadam_with_weight_decay(self):
        own = "nadam(momentum_decay=0.02,betas=[0.8,0.95])"
        self.check_moved("nadam_decay", optimizer=own, lr=5e-3, weight_decay=0.05)

    def test_nadam_with_decoupled_weight_decay(self):
        self.check_moved("nadamw", optimizer="nadam(decoupled_weight_decay)", lr=5e-3, weight_decay=0.05)

    def test_two_nadams(self):
        """Each has a product of its own."""
        run = self.check_moved("nadam_groups", optimizer="nadam", lr=2e-3, optimizer_group="^f1:nadam(lr=1e-3,beta1=0.8)")
        self.assertLess(run.state(20)["step.product.1"], run.state(20)["step.product"])

    def test_adafactor(self):
        run = self.check_moved("adafactor", optimizer="adafactor", lr=1e-2)
        state = run.state(20)
        rows, columns = state["f1.weight"].shape
        self.assertEqual((state["f1.weight.vr"].shape, state["f1.weight.vc"].shape), ((rows, 1), (1, columns)))

    def test_adafactor_with_all_arguments(self):
        own = "adafactor(beta2_decay=-0.5,eps=1e-5,eps2=0.1,clip_threshold=1.5)"
        self.check_moved("adafactor_decay", optimizer=own, lr=0.5, weight_decay=0.1)

    def test_adafactor_of_filters(self):
        self.check_moved("adafactor_lenet", model="lenet", optimizer="adafactor", lr=1e-2)

    def test_lars(self):
        self.check_moved("lars", model="lenet", optimizer="lars", lr=0.5)

    def test_lars_with_weight_decay(self):
        self.check_moved("lars_decay", optimizer="lars(momentum=0.5,nesterov)", lr=0.1, weight_decay=0.01)

    def test_lars_without_momentum(self):
        self.check_moved("lars_plain", optimizer="lars(momentum=0)", lr=0.1)

    def test_sgd_with_dampening(self):
        self.check("dampened", optimizer="sgd", lr=0.05, momentum=0.9, dampening=0.5, weight_decay=1e-3)

    def test_adam(self):
        self.check("adam", optimizer="adam", lr=1e-3, weight_decay=0.01)

    def test_amsgrad(self):
        self.check("adam_amsgrad", optimizer="adam", lr=1e-3, amsgrad=True)

    def test_adamw_amsgrad(self):
        self.check("adamw_amsgrad", optimizer="adamw", lr=1e-3, amsgrad=True)

    def test_radam(self):
        """50 steps cross the one, the sixth, from which the second moment counts."""
        self.check("radam", optimizer="radam", lr=5e-3, weight_decay=0.01)

    def test_rmsprop(self):
        self.check("rmsprop", optimizer="rmsprop", lr=1e-3, weight_decay=0.01)

    def test_rmsprop_with_momentum(self):
        self.check("rmsprop_momentum", optimizer="rmsprop", lr=1e-4, alpha=0.95, momentum=0.9)

    def test_rmsprop_tf(self):
        self.check("rmsprop_tf", optimizer="rmsprop_tf", lr=1e-2, weight_decay=0.01)

    def test_rmsprop_tf_with_momentum(self):
        self.check("rmsprop_tf_momentum", optimizer="rmsprop_tf", lr=1e-3, momentum=0.9, eps=1e-3)

    def test_adagrad(self):
        self.check("adagrad", optimizer="adagrad", lr=1e-2, weight_decay=1e-3)

    def test_lion(self):
        self.check("lion", optimizer="lion", lr=1e-4, weight_decay=0.1)

    def test_lamb(self):
        self.check("lamb", optimizer="lamb", lr=1e-2, weight_decay=0.02)

    def test_muon(self):
        self.check("muon", optimizer="muon", lr=1e-3, weight_decay=0.1)

    def test_lamb_trusts_only_what_decays(self):
        self.check("lamb_no_decay", optimizer="lamb", lr=1e-2, weight_decay=0.02, no_decay="norm_bias")

    def test_no_decay_of_norms_and_biases(self):
        self.check("no_decay", optimizer="adamw", lr=1e-3, weight_decay=0.1, no_decay="norm_bias")

    def test_factors_by_name(self):
        self.check("scaled", optimizer="adamw", lr=1e-3, lr_scale="^f1:0.1", weight_decay_scale="weight:5")

    def test_resnet8(self):
        """PyTorch's own weights in f32 and in f64 differ by 6e-4 after these steps, its losses by 3e-5."""
        self.check("resnet8", model="resnet8", tolerance=1e-3, optimizer="sgd", lr=0.01, momentum=0.5, dampening=0.5,
                   weight_decay=1e-3, no_decay="norm_bias")

    def test_a_pattern_without_a_match_is_an_error(self):
        _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("m.dlc"), lr_scale="f3:2", code=dlc.USAGE)
        self.assertIn("--lr-scale=f3:2 matches no trained parameter", err)

    def test_what_the_optimizer_does_not_read_is_an_error(self):
        for flag, optimizer in [("momentum", "adam"), ("alpha", "sgd"), ("eps", "lion"), ("amsgrad", "lamb"),
                                ("betas", "muon"), ("dampening", "rmsprop"), ("nesterov", "adagrad"), ("eps2", "nadam"),
                                ("momentum-decay", "adam"), ("trust-coefficient", "sgd")]:
            value = {"amsgrad": True, "nesterov": True, "betas": "0.9,0.99"}.get(flag, 0.5)
            _, err = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path("m.dlc"), optimizer=optimizer,
                             **{flag: value}, code=dlc.USAGE)
            self.assertIn(f"--{flag} needs --optimizer", err)


class OneKernel(dlc.TestCase):
    """The updates of a group are one command over flat arrays."""

    def updates(self, model="resnet8", **options):
        """The launches of a step that write parameters."""
        out, _ = dlc.dlc("compile", dlc.model(model), stop_after="plan", loss="cross_entropy", batch=4, **options)
        step = out[out.index("exec.program @train_step"):].split("\n  }")[0].splitlines()
        parameters = {line.split()[0] for line in step if "exec.buffer @param" in line}
        written = [re.search(r"outs\((.*?) :", line)[1].split(", ") for line in step if "exec.launch" in line]
        return sum(1 for names in written if parameters & set(names))

    def test_one_group(self):
        for optimizer in "sgd", "adam", "adamw", "radam", "nadam", "rmsprop", "rmsprop_tf", "adagrad", "lion":
            self.assertEqual(self.updates(optimizer=optimizer), 1, optimizer)

    def test_with_all_that_moves_along(self):
        self.assertEqual(self.updates(optimizer="adam", amsgrad=True, amp=True, amp_dtype="fp16", clip_grad=1,
                                      ema=True), 1)

    def test_moments_in_half(self):
        self.assertEqual(self.updates(optimizer="adamw", moments="bf16"), 1)
        self.assertEqual(self.updates(optimizer="adam", amsgrad=True, moments="bf16", amp=True, clip_grad=1, ema=True,
                                      loss_scale="dynamic"), 1)

    def test_a_kernel_each_group(self):
        self.assertEqual(self.updates(optimizer="adamw", no_decay="norm_bias"), 2)
        self.assertEqual(self.updates(optimizer="adamw", no_decay="norm_bias", lr_scale="^fc:10"), 4)

    def test_a_kernel_each_group_and_bucket(self):
        buckets = dict(ddp=2, bucket_mb=0.1)
        self.assertEqual(self.updates(optimizer="lion", **buckets), 1)
        self.assertLessEqual(self.updates(optimizer="lion", no_decay="norm_bias", **buckets), 8)


if __name__ == "__main__":
    dlc.main()
