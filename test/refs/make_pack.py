# SPDX-License-Identifier: Apache-2.0
"""Writes pack_NAME.onnx, small language models as transformers exports them, and pack_ref.npz: PyTorch's training on packed rows.

    python make_pack.py           # needs torch, onnx, onnxscript and transformers; a minute

Each row holds several documents. PyTorch computes them with an explicit block-diagonal causal mask, and one by one without any
filling; both must agree to f32's noise. Then:

input_ids, position_ids, y [STEPS, BATCH, T]     the rows; y is the next token of the document, or -100
NAME/losses [STEPS]                              before each step of SGD
NAME/final/PARAMETER                             after the last one
"""

import os
import warnings

import numpy as np
import onnx
import torch
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

here = os.path.dirname(os.path.abspath(__file__))
STEPS, BATCH, T, VOCABULARY, IGNORED, LR = 4, 2, 12, 23, -100, 0.1
LENGTHS = [[[5, 4, 3], [12]], [[1, 7, 4], [2, 2, 6, 2]], [[11, 1], [6, 6]], [[3, 3, 3, 3], [8, 4]]]


def gpt():
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=T, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0,
                                      attn_pdrop=0, embd_pdrop=0, initializer_range=0.3, attn_implementation="eager"))


def llama():
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                                        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=T,
                                        initializer_range=0.3, attn_implementation="sdpa"))


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, use_cache=False).logits


def rows():
    random = np.random.default_rng(0)
    ids = random.integers(0, VOCABULARY, (STEPS, BATCH, T))
    positions, y = np.zeros_like(ids), np.full_like(ids, IGNORED)
    for step, batch in enumerate(LENGTHS):
        for row, lengths in enumerate(batch):
            at = 0
            for n in lengths:
                positions[step, row, at:at + n] = np.arange(n)
                y[step, row, at:at + n - 1] = ids[step, row, at + 1:at + n]
                at += n
            assert at == T
    return ids, positions, y


def masked_loss(model, ids, positions, y):
    """By a block-diagonal causal mask."""
    begin = torch.arange(T) - positions
    same = begin[:, :, None] == begin[:, None, :]
    seen = same & torch.ones(T, T, dtype=torch.bool).tril()
    mask = torch.where(seen, 0.0, -torch.inf)[:, None]
    logits = model(ids, mask, positions)
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=IGNORED)


def single_loss(model, ids, y, lengths):
    """One by one: a batch of one text without filling."""
    total = 0
    for row, some in enumerate(lengths):
        at = 0
        for n in some:
            one = slice(at, at + n)
            at += n
            if n == 1:
                continue
            logits = model(ids[row:row + 1, one], None, torch.arange(n)[None])
            total = total + F.cross_entropy(logits[0], y[row, one], ignore_index=IGNORED, reduction="sum")
    return total / (y != IGNORED).sum()


def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    losses = []
    for step, (ids, positions, y) in enumerate(zip(*data)):
        optimizer.zero_grad()
        single = single_loss(model, ids, y, LENGTHS[step])
        single.backward()
        expected = [p.grad.clone() for p in model.parameters()]
        optimizer.zero_grad()
        loss = masked_loss(model, ids, positions, y)
        loss.backward()
        torch.testing.assert_close(loss, single, rtol=1e-6, atol=1e-6)
        for p, grad in zip(model.parameters(), expected):
            torch.testing.assert_close(p.grad, grad, rtol=1e-4, atol=1e-6)
        losses.append(loss.item())
        optimizer.step()
    return losses


def export(model, example, path):
    torch.onnx.export(model, example, path, dynamo=True, external_data=False, verbose=False,
                      input_names=["input_ids", "attention_mask", "position_ids"], output_names=["logits"])
    file = onnx.load(path)
    for node in file.graph.node:
        for note in [note for note in node.metadata_props if note.key == "pkg.torch.onnx.stack_trace"]:
            node.metadata_props.remove(note)
    onnx.save(file, path)


def main():
    warnings.simplefilter("ignore")
    data = rows()
    values = dict(zip(("input_ids", "position_ids", "y"), data))
    tensors = [torch.from_numpy(array) for array in data]
    for name, make in ("gpt", gpt), ("llama", llama):
        torch.manual_seed(0)
        model = Logits(make()).train()
        example = tensors[0][0], torch.ones(BATCH, T, dtype=torch.int64), torch.arange(T).expand(BATCH, T).contiguous()
        export(model, example, os.path.join(here, f"pack_{name}.onnx"))
        values[f"{name}/losses"] = np.array(train(model, tensors))
        for key, parameter in model.named_parameters():
            values[f"{name}/final/{key}"] = parameter.detach().numpy()
    np.savez_compressed(os.path.join(here, "pack_ref.npz"), **values)


if __name__ == "__main__":
    main()
