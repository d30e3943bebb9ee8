# SPDX-License-Identifier: Apache-2.0
"""dlc.zoo: models by name train as in PyTorch, from the weights that a cache has or from random ones.

Needs torch, timm, torchvision, transformers, onnx and onnxscript in the environment of DLC_TORCH_PYTHON, an interpreter.
"""

import os

import wheel

wheel.enter_torch("torch, timm and transformers")

import copy
import importlib.util
import shutil
import tempfile
import unittest

for package in ("timm", "torchvision", "transformers", "torch", "onnxscript"):
    if importlib.util.find_spec(package) is None:
        wheel.skip(f"no package {package}")
CACHE = tempfile.mkdtemp(prefix="dlc-test-")
os.environ.update(HF_HUB_OFFLINE="1", HF_HOME=CACHE, TORCH_HOME=CACHE)

import dlc
import numpy as np
import torch
import transformers
from torch.nn import functional as F
from torchvision import models

STEPS, CLASSES, RATE = 4, 3, 1e-3


def tearDownModule():
    shutil.rmtree(CACHE, ignore_errors=True)


class Zoo(wheel.TorchCase):
    def steps(self, module, x, y):
        """Losses of SGD in PyTorch, and the parameters."""
        module.train()
        optimizer, losses = torch.optim.SGD(module.parameters(), lr=RATE), []
        for _ in range(STEPS):
            out = module(x)
            loss = F.cross_entropy(getattr(out, "logits", out), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return np.array(losses), {key: parameter.detach().numpy() for key, parameter in module.named_parameters()}

    def trained(self, name, **options):
        """Some steps here and there, equal within 30 times PyTorch's own noise; the state of the module as it was made."""
        module, example = dlc.zoo.create(name, classes=CLASSES, **options)
        before = {key: value.clone() for key, value in module.state_dict().items()}
        x, = example.values() if isinstance(example, dict) else [example]
        y = torch.arange(len(x)) % CLASSES
        session = dlc.Session(dlc.from_torch(module, example, f"{self.folder}/m.dlc", optimizer="sgd", lr=RATE))
        found = session.train((x, y) for _ in range(STEPS))
        exact, final = self.steps(copy.deepcopy(module).double(), x.double() if x.is_floating_point() else x, y)
        rounded, near = self.steps(module, x, y)
        np.testing.assert_allclose(found, exact, rtol=0, atol=max(2e-6, 30 * np.abs(rounded - exact).max()))
        for key, value in final.items():
            self.assertGreater(np.abs(value - before[key].numpy()).max(), 0, key)
            np.testing.assert_allclose(np.asarray(session.state[key]), value, rtol=0, atol=max(2e-6, 30 * np.abs(near[key] - value).max()), err_msg=key)
        return before

    def test_timm(self):
        self.trained("timm/resnet10t.c3_in1k", pretrained=False, zero_init_last=False)

    def test_torchvision(self):
        """Its cache has weights for other classes: the head is new, all else the cache's."""
        torch.manual_seed(1)
        other = models.squeezenet1_1().state_dict()
        os.makedirs(f"{CACHE}/hub/checkpoints", exist_ok=True)
        torch.save(other, f"{CACHE}/hub/checkpoints/{os.path.basename(models.SqueezeNet1_1_Weights.DEFAULT.url)}")
        made = self.trained("torchvision/squeezenet1_1", dropout=0)
        self.assertEqual(list(made["classifier.1.weight"].shape), [CLASSES, 512, 1, 1])
        self.assertTrue(all(torch.equal(made[key], value) for key, value in other.items() if not key.startswith("classifier.")))

    def test_transformers(self):
        """Of a folder of the user's, too."""
        config = transformers.BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                                         max_position_embeddings=16, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
        saved = transformers.BertModel(config)
        saved.save_pretrained(f"{self.folder}/bert")
        made = self.trained(f"transformers/{self.folder}/bert")
        self.assertTrue(torch.equal(made["bert.embeddings.word_embeddings.weight"], saved.embeddings.word_embeddings.weight))
        pictures = transformers.ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, image_size=32,
                                          patch_size=8, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
        pictures.save_pretrained(f"{self.folder}/vit")
        self.trained(f"transformers/{self.folder}/vit", pretrained=False)

    def test_a_language_model(self):
        """As its configuration names it, without its cache."""
        config = transformers.GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2, n_positions=8, architectures=["GPT2LMHeadModel"])
        config.save_pretrained(f"{self.folder}/gpt")
        module, example = dlc.zoo.create(f"transformers/{self.folder}/gpt", pretrained=False)
        self.assertIsInstance(module, transformers.GPT2LMHeadModel)
        self.assertEqual(list(example["input_ids"].shape), [2, 8])
        self.assertEqual([list(tensor.shape) for tensor in module.eval()(**example).values()], [[2, 8, 50]])

    def test_names(self):
        names = dlc.zoo.list("timm/resnet18*")
        self.assertIn("timm/resnet18.a1_in1k", names)
        self.assertIn("timm/resnet18", names)
        self.assertIn("torchvision/resnet18", dlc.zoo.list("torchvision/resnet*"))
        self.assertEqual(dlc.zoo.list("transformers/*"), [])

    def test_what_is_not_there_is_said(self):
        for name, options, says in (
                ("timm/resnet10t.c3_in1k", {}, "neither in the cache nor can be downloaded, pretrained=False"),
                ("transformers/none/such", {}, "neither in the cache nor can be downloaded"),
                ("timm/resnet1x", {"pretrained": False}, "cannot make 'timm/resnet1x'"),
                ("torchvision/resnet1x", {"pretrained": False}, "cannot make 'torchvision/resnet1x'"),
                ("keras/resnet", {}, "expected timm/NAME, torchvision/NAME, transformers/NAME"),
                ("resnet18", {}, "expected timm/NAME")):
            with self.subTest(name), self.assertRaisesRegex(dlc.UsageError, says):
                dlc.zoo.create(name, **options)


if __name__ == "__main__":
    unittest.main()
