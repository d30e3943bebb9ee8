# SPDX-License-Identifier: Apache-2.0
"""Writes folded_NAME.onnx, torch's default export of small models, and folded_ref.npz: PyTorch's losses.

    python make_folded.py          # needs torch, onnx, onnxscript and transformers; a minute
    python make_folded.py vit --good -o /tmp

The default (dynamo=True, with an optimizer) folds constants and merges equal tensors. --good also writes
folded_NAME_good.onnx, which keeps every parameter (optimize=False). Both must train to the same losses:

NAME/inputs[4]      four batches of random data, used in turn
NAME/labels[4]
NAME/losses_OPT     before each of 10 steps; OPT is sgd or adamw
"""

import argparse
import os
import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "models"))
import export  # noqa: E402

STEPS, BATCHES = 10, 4
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=1e-2),
}


class Vit(export.Vit):
    """A class token, positions, a fused qkv."""

    def __init__(self, zeros=False):
        super().__init__(10, layers=2, width=16, heads=2, size=32)
        if not zeros:
            nn.init.normal_(self.cls, std=0.5)


class Embeddings(nn.Module):
    """BERT's: words, positions sliced from a longer table, token types gathered by zeros."""

    def __init__(self, vocabulary, width, length):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width)
        self.types = nn.Embedding(2, width)
        self.ln = nn.LayerNorm(width)
        self.register_buffer("position_ids", torch.arange(length)[None], persistent=False)

    def forward(self, tokens):
        types = torch.zeros_like(tokens)
        places = self.position_ids[:, : tokens.shape[1]]
        return self.ln(self.words(tokens) + self.types(types) + self.places(places))


class Masked(export.Layer):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        self.mask = None

    def attend(self, x):
        n, t, d = x.shape
        parts = self.qkv(x).split(d, dim=2)
        q, k, v = (p.reshape(n, t, self.heads, d // self.heads).transpose(1, 2) for p in parts)
        scores = q @ k.transpose(2, 3) / (d // self.heads) ** 0.5 + self.mask
        y = scores.softmax(-1) @ v
        return self.proj(y.transpose(1, 2).reshape(n, t, d))


class Bert(nn.Module):
    """[N,T] tokens -> [N,C] logits from the first; an attention mask of ones."""

    def __init__(self):
        super().__init__()
        self.embed = Embeddings(40, 16, 24)
        self.b = nn.ModuleList(Masked(16, 2, post=True) for _ in range(2))
        self.pool = nn.Linear(16, 16)
        self.head = nn.Linear(16, 5)

    def forward(self, tokens):
        n, t = tokens.shape
        attend = torch.ones_like(tokens)[:, None, None, :].expand(n, 1, t, t).to(torch.float32)
        mask = torch.where(attend > 0, 0.0, torch.finfo(torch.float32).min)
        x = self.embed(tokens)
        for layer in self.b:
            layer.mask = mask
            x = layer(x)
        return self.head(torch.tanh(self.pool(x[:, 0])))


class OneMore(nn.Module):
    """Gemma's norm: x / rms(x) * (1 + weight)."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * (1.0 + self.weight)


class Gemma(nn.Module):
    """[N,T] tokens -> [N*T,V] logits; its norms, a tied head, an embedding times a root."""

    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(40, 16)
        self.b = nn.ModuleList(export.Layer(16, 2, causal=True, gelu="tanh") for _ in range(2))
        for layer in self.b:
            layer.ln1, layer.ln2 = OneMore(16), OneMore(16)
        self.norm = OneMore(16)
        self.head = nn.Linear(16, 40, bias=False)
        self.head.weight = self.tok.weight

    def forward(self, tokens):
        x = self.tok(tokens) * 4.0
        for layer in self.b:
            x = layer(x)
        return self.head(self.norm(x)).reshape(-1, 40)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(1e-1 * torch.ones(width))
        for bias in self.conv.bias, self.up.bias, self.down.bias:
            nn.init.zeros_(bias)

    def forward(self, x):
        y = self.norm(self.conv(x).permute(0, 2, 3, 1))
        y = self.gamma * self.down(F.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    """[N,3,16,16] images -> [N,10] logits; three blocks with layer scale, biases of zero."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, 4)
        self.b = nn.Sequential(*[ConvNeXtBlock(8) for _ in range(3)])
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 10)
        nn.init.zeros_(self.head.bias)

    def forward(self, images):
        return self.head(self.norm(self.b(self.stem(images)).mean((2, 3))))


class StateSpace(nn.Module):
    """[N,T,D] -> [N,C]; a recurrence unrolled over T with A = -exp(A_log), as Mamba has."""

    def __init__(self, width=8, states=4):
        super().__init__()
        self.A_log = nn.Parameter(torch.log(torch.arange(1, states + 1).float()).repeat(width, 1))
        self.D = nn.Parameter(torch.ones(width))
        self.dt = nn.Linear(width, width)
        self.B = nn.Linear(width, states, bias=False)
        self.C = nn.Linear(width, states, bias=False)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        A = -torch.exp(self.A_log)
        dt, B, C = F.softplus(self.dt(x)), self.B(x), self.C(x)
        h, ys = torch.zeros(x.shape[0], *A.shape), []
        for t in range(x.shape[1]):
            h = torch.exp(dt[:, t, :, None] * A) * h + dt[:, t, :, None] * B[:, t, None, :] * x[:, t, :, None]
            ys.append((h * C[:, t, None, :]).sum(-1) + self.D * x[:, t])
        return self.head(torch.stack(ys, 1).mean(1))


def hf_gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    class Logits(GPT2LMHeadModel):
        def forward(self, tokens):
            return super().forward(tokens, use_cache=False).logits.reshape(-1, 40)

    return Logits(GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0.0,
                             embd_pdrop=0.0, attn_pdrop=0.0))


def hf_bert():
    from transformers import BertConfig, BertForSequenceClassification

    class Logits(BertForSequenceClassification):
        def forward(self, tokens):
            return super().forward(tokens).logits

    return Logits(BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                             intermediate_size=32, max_position_embeddings=24, num_labels=5,
                             hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


# name: (maker, shape of a batch, tokens of the vocabulary or 0, classes)
MODELS = {
    "vit": (Vit, (4, 3, 32, 32), 0, 10),
    "vit0": (lambda: Vit(zeros=True), (4, 3, 32, 32), 0, 10),
    "gpt2": (lambda: export.Gpt(40, layers=2, width=16, heads=2, length=16, tied=True), (4, 12), 40, 40),
    "hf_gpt2": (hf_gpt2, (4, 12), 40, 40),
    "bert": (Bert, (4, 12), 40, 5),
    "hf_bert": (hf_bert, (4, 12), 40, 5),
    "gemma": (Gemma, (4, 12), 40, 40),
    "convnext": (ConvNeXt, (4, 3, 16, 16), 0, 10),
    "ssm": (StateSpace, (4, 6, 8), 0, 5),
}
STORED = [name for name in MODELS if name != "vit0"]


def make(name):
    torch.manual_seed(0)
    return MODELS[name][0]().train()


def data(name):
    """Random inputs, and labels one for each row of logits."""
    _, shape, tokens, classes = MODELS[name]
    random = np.random.RandomState(1)
    rows = shape[0] * shape[1] if classes == tokens else shape[0]
    if tokens:
        x = [random.randint(0, tokens, shape).astype(np.int64) for _ in range(BATCHES)]
    else:
        x = [random.randint(-8, 9, shape).astype(np.float32) / 4 for _ in range(BATCHES)]  # few bits: small files
    return np.stack(x), np.stack([random.randint(0, classes, rows).astype(np.int64) for _ in range(BATCHES)])


def losses(name, optimizer, x, y):
    model, found = make(name), []
    update = OPTIMIZERS[optimizer](model.parameters())
    for step in range(STEPS):
        loss = F.cross_entropy(model(torch.from_numpy(x[step % BATCHES])), torch.from_numpy(y[step % BATCHES]))
        update.zero_grad()
        loss.backward()
        update.step()
        found.append(loss.item())
    return np.array(found)


def save(name, folder, good):
    model = make(name)
    fresh = {key: value.detach().numpy().copy() for key, value in model.state_dict().items()}
    example = torch.from_numpy(data(name)[0][0])
    path = os.path.join(folder, f"folded_{name}{'_good' if good else ''}.onnx")
    torch.onnx.export(model, (example,), path, dynamo=True, optimize=not good, external_data=False, verbose=False,
                      input_names=["input"], output_names=["logits"])
    export.clean(path, {} if not good else fresh)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=" ".join(MODELS))
    parser.add_argument("-o", "--output", default=here)
    parser.add_argument("--good", action="store_true", help="the export that folds nothing, too")
    options = parser.parse_args()
    torch.set_num_threads(1)
    arrays = {}
    for name in options.names or STORED:
        x, y = data(name)
        arrays |= {f"{name}/inputs": x, f"{name}/labels": y}
        for optimizer in OPTIMIZERS:
            arrays[f"{name}/losses_{optimizer}"] = losses(name, optimizer, x, y)
        for good in [False, True][: 1 + options.good]:
            save(name, options.output, good)
        print(name, arrays[f"{name}/losses_sgd"].round(4).tolist(), flush=True)
    np.savez_compressed(os.path.join(options.output, "folded_ref.npz"), **arrays)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
