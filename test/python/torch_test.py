# SPDX-License-Identifier: Apache-2.0
"""PyTorch's modules train in dlc as they do there, and come back with their weights.

Needs torch, onnx and onnxscript in the environment of DLC_TORCH_PYTHON, an interpreter.
"""

import os

import wheel

wheel.enter_torch()

import subprocess
import sys
import unittest

import dlc
import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, wheel.MODELS)
import export as models

STEPS = 20


class Classifier(nn.Module):
    """A transformer with dropout over a sequence's vectors."""

    def __init__(self, dropout):
        super().__init__()
        self.inner = nn.ModuleList(nn.TransformerEncoderLayer(32, 4, 64, dropout, batch_first=True, norm_first=True)
                                   for _ in range(2))
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        for layer in self.inner:
            x = layer(x)
        return self.head(x.mean(1))


class Torch(wheel.TorchCase):
    def losses_equal(self, module, x, y, steps=STEPS, **options):
        """Steps of SGD here and there; the session."""
        artifact = dlc.from_torch(module, x, f"{self.folder}/m.dlc", loss="cross_entropy", optimizer="sgd", lr=0.05,
                                  momentum=0.9, **options)
        session = dlc.Session(artifact)
        found = session.train((x.roll(step, 0).contiguous(), y.roll(step, 0)) for step in range(steps))
        optimizer, expected = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9), []
        module.train()
        for step in range(steps):
            loss = F.cross_entropy(module(x.roll(step, 0)), y.roll(step, 0))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            expected.append(loss.item())
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        self.assertLess(expected[-1], expected[0])
        return session

    def comes_back(self, session, trained, fresh):
        """Into a fresh module: what the trained one has, and predicts."""
        session.load_into(fresh)
        for name, tensor in trained.state_dict().items():
            if not name.endswith("num_batches_tracked"):
                error = (fresh.state_dict()[name] - tensor).norm() / tensor.norm().clamp(min=1e-3)
                self.assertLess(error.item(), 0.01, name)

    def test_resnet(self):
        module = models.make("resnet8")
        x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
        before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        dlc.from_torch(module, x, f"{self.folder}/untouched.dlc")
        self.assertTrue(module.training)
        for name, tensor in module.state_dict().items():
            torch.testing.assert_close(tensor, before[name], rtol=0, atol=0)
        # Later some ReLU's input is zero but for rounding, and from there on the runs part.
        session = self.losses_equal(module, x, y, steps=8)
        self.comes_back(session, module, models.make("resnet8", seed=5))

    def test_transformer(self):
        torch.manual_seed(1)
        module = Classifier(dropout=0.0)
        session = self.losses_equal(module, torch.randn(8, 6, 32), torch.randint(0, 5, (8,)))
        self.comes_back(session, module, Classifier(0.0))

    def test_language_model_with_tied_weights(self):
        module = models.Gpt(96, layers=2, width=32, heads=2, length=16, tied=True)
        tokens = torch.randint(0, 96, (4, 16))
        artifact = dlc.from_torch(module, tokens, f"{self.folder}/g.dlc", optimizer="adamw", lr=0.003)
        session = dlc.Session(artifact)
        losses = session.train((tokens, tokens.reshape(-1)) for _ in range(15))
        self.assertLess(losses[-1], losses[0] / 2)
        fresh = models.Gpt(96, layers=2, width=32, heads=2, length=16, tied=True)
        session.load_into(fresh)
        with torch.no_grad():
            found, = session.predict({"x": tokens}).values()
            np.testing.assert_allclose(fresh.eval()(tokens).numpy(), found, rtol=1e-3, atol=1e-3)

    def test_inputs_by_name(self):
        class Two(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(3, 2)

            def forward(self, left, right, scale=None, shift=None):
                return self.fc(left - right) + (0 if shift is None else shift)

        left, right = torch.rand(4, 3), torch.rand(4, 3)
        artifact = dlc.from_torch(Two(), {"right": right, "left": left}, f"{self.folder}/two.dlc")
        self.assertEqual([port.name for port in dlc.Session(artifact).inputs("predict")], ["left", "right"])
        with self.assertRaisesRegex(dlc.UsageError, "example_inputs: forward takes shift only by name"):
            dlc.from_torch(Two(), {"left": left, "right": right, "shift": left}, f"{self.folder}/no.dlc")

    def test_dropout_drops_out_in_training_alone(self):
        module, x = Classifier(dropout=0.5), torch.randn(8, 6, 32)
        session = dlc.Session(dlc.from_torch(module, x, f"{self.folder}/d.dlc", loss="cross_entropy", lr=0))
        y = torch.randint(0, 5, (8,))
        losses = session.train((x, y) for _ in range(4))
        self.assertEqual(len(set(losses)), 4)
        with torch.no_grad():
            expected = F.cross_entropy(module.eval()(x), y).item()
        self.assertAlmostEqual(session.evaluate({"x": x, "y": y}).loss, expected, places=4)

    def test_a_batch_of_torch_is_not_copied(self):
        x = torch.randn(4, 3)
        self.assertEqual(dlc._dlc.address(x), x.data_ptr())
        self.assertEqual(dlc._dlc.address(x.to(torch.bfloat16)) % 2, 0)
        with self.assertRaisesRegex(dlc.UsageError, "no array that can be read|has gaps"):
            dlc._dlc.address(x.T)
        with self.assertRaisesRegex(dlc.UsageError, "no array that can be read|on the device meta"):
            dlc._dlc.address(torch.empty(3, device="meta"))

    def test_a_module_that_computes_something_else_is_refused(self):
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                self.f = nn.Linear(3, 2)

            def forward(self, x):
                return self.f(x) if self.training else self.f(x) + 1

        with self.assertRaisesRegex(dlc.Failed, r"output 'output' .* differs from the module's in eval\(\)"):
            dlc.from_torch(Odd(), torch.randn(4, 3), f"{self.folder}/o.dlc", loss="cross_entropy")
        with self.assertRaisesRegex(dlc.UsageError, "a tensor or a tuple of tensors, found list|found int"):
            dlc.from_torch(Odd(), 3, f"{self.folder}/o.dlc")

    def test_a_branch_on_data_is_refused(self):
        class Branch(nn.Module):
            def __init__(self, condition):
                super().__init__()
                self.f, self.condition = nn.Linear(3, 2), condition

            def forward(self, x):
                if self.condition(self, x):
                    x = x * 2
                return self.f(x)

        refused = {
            "a bool of data": (lambda self, x: x.sum() > 0, "Python bool"),
            "a number of data": (lambda self, x: float(x.mean()) > 0, "Python float"),
            "an item of data": (lambda self, x: x.max().item() > 0, "Python number"),
            "an array of data": (lambda self, x: x.detach().numpy().sum() > 0, "Python array"),
            "equal data": (lambda self, x: torch.equal(x, x + 1), "Python bool"),
            "a parameter": (lambda self, x: self.f.bias[0] > 0, "Python bool"),
            "chance": (lambda self, x: torch.rand(1) < 0.5, "Python bool"),
        }
        for name, (condition, what) in refused.items():
            line = condition.__code__.co_firstlineno if name != "a bool of data" and what != "Python bool" else ""
            with self.subTest(name), self.assertRaisesRegex(dlc.BadModel, rf"torch_test.py:{line}.*makes a {what}.*export.md"):
                dlc.from_torch(Branch(condition), torch.randn(4, 3), f"{self.folder}/b.dlc", loss="cross_entropy")
            self.assertFalse(os.path.exists(f"{self.folder}/b.dlc"))
        allowed = {
            "a size": lambda self, x: x.shape[1] == 3,
            "the number of rows": lambda self, x: len(x) > 1,
            "a check": lambda self, x: torch._assert(x.shape[1] == 3, "three") or True,
        }
        for name, condition in allowed.items():
            with self.subTest(name):
                module = Branch(condition)
                dlc.from_torch(module, torch.randn(4, 3), f"{self.folder}/b.dlc", loss="cross_entropy")
                self.assertNotIn("forward", vars(module))

    def test_other_data_than_the_example_is_compared(self):
        class Remembers(nn.Module):
            """Reads its data where no trace sees it."""

            def __init__(self):
                super().__init__()
                self.f = nn.Linear(3, 2)

            def forward(self, x):
                import ctypes
                first = ctypes.c_float.from_address(x.data_ptr()).value
                return self.f(x) if first > 0 else self.f(x) * 2

        x = torch.ones(4, 3)
        x[1, 1] = -2  # so that other values are the negated ones
        with self.assertRaisesRegex(dlc.Failed, "'output' .* differs .* by .* on the example with other values, expected at most"):
            dlc.from_torch(Remembers(), x, f"{self.folder}/r.dlc", loss="cross_entropy")
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_command_that_exports(self):
        with open(f"{self.folder}/my.py", "w") as file:
            file.write("from torch import nn\n\n\ndef make(classes=5):\n"
                       "    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, classes))\n\n\n"
                       "class Branch(nn.Linear):\n    def forward(self, x):\n        return x if x.sum() > 0 else -x\n")
        weights = {name: tensor + 1 for name, tensor in nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 7)).state_dict().items()}
        torch.save({"state_dict": weights}, f"{self.folder}/w.pt")

        def export(*words):
            ended = subprocess.run([sys.executable, "-m", "dlc.export", *words], cwd=self.folder, text=True, capture_output=True)
            return ended.returncode, ended.stdout + ended.stderr

        code, said = export("my.py:make(classes=7)", "--input", "1,3,8,8", "--weights", "w.pt", "-o", "m.onnx")
        self.assertEqual(code, 0, said)
        self.assertIn("dlc check m.onnx", said)
        session = dlc.Session(dlc.compile(f"{self.folder}/m.onnx", f"{self.folder}/m.dlc", batch=8, loss="cross_entropy"))
        self.assertEqual(session.inputs()[0].shape, (8, 3, 8, 8))
        np.testing.assert_allclose(session.state["3.weight"], weights["3.weight"].numpy(), rtol=1e-6)
        self.assertIn("1.running_mean", session.state)
        cases = {
            "a branch": (("my.py:Branch(3, 3)", "--input", "1,3"), 3, "my.py:10: 'return x if x.sum"),
            "no such model": (("my.py:Brunch", "--input", "1,3"), 2, "my.py has no 'Brunch'; it has Branch"),
            "no file": (("your.py:Model", "--input", "1,3"), 2, "no such file: 'your.py'"),
            "no model": (("my.py", "--input", "1,3"), 2, "expected FILE.py:MODEL"),
            "no sizes": (("my.py:make", "--input", "1x3"), 2, "--input 1x3: expected sizes"),
            "not its weights": (("my.py:make", "--input", "1,3,8,8", "--weights", "w.pt"), 2, "--weights w.pt: .*size mismatch"),
        }
        for name, (words, expected, message) in cases.items():
            with self.subTest(name):
                code, said = export(*words)
                self.assertEqual(code, expected, said)
                self.assertRegex(said.replace("\n", " "), message)

    def test_gradients_end_where_the_module_ends_them(self):
        """detach(), data and no_grad(), of what has a gradient; frozen parameters that forward does not read are no error."""
        class Ends(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)
                self.place, self.unused = (nn.Parameter(torch.randn(6), requires_grad=False) for _ in range(2))
                self.scale = nn.Parameter(torch.tensor(0.5))

            def forward(self, x):
                hidden = self.a(x) + self.place
                with torch.no_grad():
                    rounded = (hidden * self.scale).round()
                code = hidden + (hidden.round() - hidden).detach()
                first, second = self.b(code).chunk(2, -1)
                return self.c(torch.cat([first.data * self.scale, second], -1) + rounded)

        module, x, y = Ends(), torch.randn(8, 6), torch.arange(8) % 3
        session = self.losses_equal(module, x, y)
        for name, parameter in module.named_parameters():
            if name != "unused":
                np.testing.assert_allclose(np.asarray(session.state[name]), parameter.detach().numpy(), rtol=0, atol=2e-6, err_msg=name)

    def test_an_exported_stop_is_an_identity_elsewhere(self):
        path = f"{self.folder}/s.onnx"
        with open(f"{self.folder}/my.py", "w") as file:
            file.write("import torch\n\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                       "        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)\n\n    def forward(self, x):\n"
                       "        return self.b(self.a(x).detach())\n")
        subprocess.run([sys.executable, "-m", "dlc.export", f"{self.folder}/my.py:Model", "--input", "2,4", "-o", path], check=True, capture_output=True)
        proto = onnx.load(path)
        onnx.checker.check_model(proto, full_check=True)
        self.assertEqual([(f.domain, f.name, f.node[0].op_type) for f in proto.functions], [("ai.dlc", "StopGradient", "Identity")])

    def test_parameters_with_dimensions_of_one_come_back(self):
        """Attention sinks, which the newer exporter repeats for each sample: the file has [2, 4, 1], the module [4]."""
        class Sinks(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.sinks = nn.Linear(3, 3), nn.Parameter(torch.randn(4))

            def forward(self, x):
                sinks = self.sinks.reshape(1, -1, 1).expand(len(x), -1, 1)
                return torch.cat([self.layer(x), sinks], -1).softmax(-1)[..., :3].sum(1)

        module, fresh, x, y = Sinks(), Sinks(), torch.randn(2, 4, 3), torch.tensor([0, 2])
        torch.onnx.export(module.eval(), (x,), f"{self.folder}/s.onnx", dynamo=True, input_names=["x"], verbose=False)
        session = dlc.Session(dlc.compile(f"{self.folder}/s.onnx", f"{self.folder}/s.dlc", loss="cross_entropy", optimizer="sgd", lr=1.0))
        self.assertEqual(session.state.port("sinks").shape, (1, 4, 1))
        session.train([(x, y)] * 2)
        optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
        for _ in range(2):
            optimizer.zero_grad()
            F.cross_entropy(module(x), y).backward()
            optimizer.step()
        session.load_into(fresh)
        for name, parameter in module.named_parameters():
            np.testing.assert_allclose(fresh.get_parameter(name).detach(), parameter.detach(), rtol=0, atol=2e-6, err_msg=name)

    def test_frozen_parameters_stay(self):
        module = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2))
        module[0].requires_grad_(False)
        session = dlc.Session(dlc.from_torch(module, torch.randn(4, 3), f"{self.folder}/f.dlc", loss="cross_entropy", lr=0.1,
                                             freeze="^1", momentum=0.9))
        session.train([(torch.randn(4, 3), torch.tensor([0, 1, 0, 1]))] * 3)
        self.assertEqual([name for name in session.state if name.endswith(".m")], ["2.weight.m", "2.bias.m"])
        before = [layer.weight.detach().clone() for layer in module]
        session.load_into(module)
        self.assertEqual([torch.equal(layer.weight, old) for layer, old in zip(module, before)], [True, True, False])
        x = torch.randn(4, 3)
        with torch.no_grad():
            np.testing.assert_allclose(module(x).numpy(), session.predict({"x": x})["output"], rtol=1e-4, atol=1e-5)

    def test_what_the_exporter_cannot_write_is_said(self):
        class Steps(nn.Module):
            def forward(self, x):
                return torch.diff(x)

        with self.assertRaisesRegex(dlc.BadModel, "cannot write the module: .*aten::diff.* give the file to dlc.compile"):
            dlc.from_torch(Steps(), torch.randn(4, 3), f"{self.folder}/s.dlc")

    def test_another_module_is_refused(self):
        session = dlc.Session(dlc.from_torch(nn.Linear(3, 2), torch.randn(4, 3), f"{self.folder}/l.dlc", loss="cross_entropy"))
        other = nn.Linear(3, 4)
        before = other.weight.clone()
        with self.assertRaisesRegex(dlc.UsageError, r"'weight' of the module is \[4, 3\], of the session \[2, 3\]"):
            session.load_into(other)
        with self.assertRaisesRegex(dlc.UsageError, "no state for the module's parameters 0.weight, 0.bias"):
            session.load_into(nn.Sequential(nn.Linear(3, 2)))
        self.assertTrue(torch.equal(other.weight, before))


if __name__ == "__main__":
    unittest.main(verbosity=2)
