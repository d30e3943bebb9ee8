# SPDX-License-Identifier: Apache-2.0
"""Writes experts.onnx and experts_ref.npz beside this file: a small Mixtral of transformers, exported with the matrices of each
token's experts looked up, and what PyTorch computes when it trains the same weights by a loop over the experts.

    python make_experts.py   # needs torch and transformers; half a minute

x, y                             tokens and labels of each step
32/losses, 64/losses             before each step, in f32 and in f64
32/NAME, 64/NAME                 parameters after the last step
"""

import os

import numpy as np
import onnx
import torch
from transformers import MixtralConfig, MixtralForCausalLM

here = os.path.dirname(os.path.abspath(__file__))
STEPS, BATCH, LENGTH, WORDS, LR = 6, 3, 8, 32, 0.2


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(input_ids=x, use_cache=False).logits


def build():
    torch.manual_seed(3)
    config = MixtralConfig(vocab_size=WORDS, hidden_size=16, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2,
                           num_key_value_heads=1, num_local_experts=5, num_experts_per_tok=2, max_position_embeddings=LENGTH,
                           initializer_range=0.2, attention_dropout=0.0)
    return MixtralForCausalLM(config)


def train(model, x, y):
    model.set_experts_implementation("eager")
    optimizer, losses = torch.optim.SGD(model.parameters(), LR, momentum=0.9), []
    for tokens, labels in zip(x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(Logits(model)(tokens).reshape(-1, WORDS), labels.reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": np.array(losses)} | {"model." + k: v.detach().numpy() for k, v in model.named_parameters()}


def main():
    torch.manual_seed(4)
    x, y = torch.randint(0, WORDS, (2, STEPS, BATCH, LENGTH))
    model = build()
    model.train().set_experts_implementation("batched_mm")
    path = os.path.join(here, "experts.onnx")
    torch.onnx.export(Logits(model), (x[0],), path, dynamo=True, optimize=False, external_data=False, input_names=["x"],
                      output_names=["y"], dynamic_shapes={"x": {0: torch.export.Dim("batch")}})
    file = onnx.load(path)
    for part in (*file.graph.node, *file.graph.value_info, *file.graph.input, *file.graph.output):
        del part.metadata_props[:]  # the lines of Python that made it, most of the file
    onnx.save(file, path)
    results = {"x": x.numpy(), "y": y.numpy()}
    for bits, dtype in ((32, torch.float32), (64, torch.float64)):
        results |= {f"{bits}/{k}": v for k, v in train(build().to(dtype).train(), x, y).items()}
    np.savez_compressed(os.path.join(here, "experts_ref.npz"), **results)


if __name__ == "__main__":
    main()
