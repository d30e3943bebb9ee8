# SPDX-License-Identifier: Apache-2.0
"""Weights and an optimizer's state go from PyTorch into a session, and back.

Needs torch, onnx and onnxscript in the environment of DLC_TORCH_PYTHON, an interpreter.
"""

import wheel

wheel.enter_torch()

import unittest

import dlc
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class Moments(wheel.TorchCase):
    def test_moments_go_there_and_back(self):
        """Five steps in PyTorch, five in dlc, five in PyTorch are fifteen in PyTorch."""
        optimizers = {
            "sgd": (lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), {"momentum": 0.9}),
            "adam": (lambda p: torch.optim.Adam(p, lr=0.05, amsgrad=True), {"amsgrad": True}),
            "adamw": (lambda p: torch.optim.AdamW(p, lr=0.05), {}),
            "radam": (lambda p: torch.optim.RAdam(p, lr=0.05), {}),
            "rmsprop": (lambda p: torch.optim.RMSprop(p, lr=0.05, momentum=0.5), {"momentum": 0.5}),
            "adagrad": (lambda p: torch.optim.Adagrad(p, lr=0.05), {}),
        }
        batches = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(15)]

        def steps(module, optimizer, some):
            for x, y in some:
                optimizer.zero_grad()
                F.cross_entropy(module(x), y).backward()
                optimizer.step()

        for name, (make, options) in optimizers.items():
            with self.subTest(name):
                torch.manual_seed(2)
                through, straight = (nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)) for _ in range(2))
                straight.load_state_dict(through.state_dict())
                artifact = dlc.from_torch(through, batches[0][0], f"{self.folder}/{name}.dlc", loss="cross_entropy", optimizer=name,
                                          lr=0.05, ema=0.9, **options)
                first, second, whole = make(through.parameters()), make(through.parameters()), make(straight.parameters())
                session = dlc.Session(artifact)
                session.load_from(through, first)  # nothing yet
                steps(through, first, batches[:5])
                session.load_from(through, first)
                np.testing.assert_array_equal(session.state["ema/0.weight"], session.state["0.weight"])
                session.train(batches[5:10])
                session.load_into(through, second)
                steps(through, second, batches[10:])
                steps(straight, whole, batches)
                for (key, here), there in zip(through.named_parameters(), straight.parameters()):
                    torch.testing.assert_close(here, there, rtol=0, atol=2e-5 if name == "adam" else 5e-6, msg=lambda text: f"{key}: {text}")
                for here, there in zip(second.state.values(), whole.state.values()):
                    self.assertEqual(here.keys() - {"step"}, there.keys() - {"step"})
                    self.assertEqual(here.get("step"), there.get("step"))

    def test_moments_of_another_optimizer_are_refused(self):
        module = nn.Linear(3, 2)
        session = dlc.Session(dlc.from_torch(module, torch.randn(4, 3), f"{self.folder}/l.dlc", loss="cross_entropy", momentum=0.9))
        uneven = torch.optim.Adagrad(module.parameters())
        uneven.state[module.bias]["step"] += 1
        adagrad = dlc.Session(dlc.from_torch(module, torch.randn(4, 3), f"{self.folder}/a.dlc", loss="cross_entropy", optimizer="adagrad"))
        halves = dlc.Session(dlc.from_torch(module, torch.randn(4, 3), f"{self.folder}/h.dlc", loss="cross_entropy", optimizer="adagrad",
                                            moments="bf16"))
        cases = [
            (session, torch.optim.AdamW(module.parameters()), "AdamW keeps exp_avg, exp_avg_sq of 'weight', the session weight.m: .*another optimizer"),
            (session, torch.optim.SGD(module.parameters()), "SGD keeps nothing of 'weight', the session weight.m"),
            (session, torch.optim.Adamax(module.parameters()), "the state of Adamax has no form in a session, only those of SGD, "),
            (session, torch.optim.RMSprop(module.parameters(), centered=True), "the state of a centered RMSprop has no form"),
            (session, torch.optim.SGD(nn.Linear(3, 2).parameters(), momentum=0.9), "a parameter that the module does not have"),
            (adagrad, uneven, "different numbers of steps: 0, 1"),
            (halves, torch.optim.Adagrad(module.parameters()), "'weight.v' is bfloat16: compile with moments=\"f32\""),
        ]
        for given, optimizer, message in cases:
            with self.subTest(message), self.assertRaisesRegex(dlc.UsageError, message):
                given.load_from(module, optimizer)


if __name__ == "__main__":
    unittest.main(verbosity=2)
