# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX files of this folder by PyTorch's exporters. Needs torch, onnx and
onnxscript (and torchvision for those of its models).

    python export.py                       # mlp lenet resnet8 gpt_tiny, training form, here
    python export.py resnet18 -o /tmp      # any of MODELS, anywhere
    python export.py lenet --form=eval     # inference form: constants folded, BN folded into Conv
    python export.py lenet --form=dynamo   # the newer exporter: opset 20, BN loses its training mode
"""

import argparse
import os
import warnings

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    """[N,1,8,8] images -> [N,10] logits; one hidden layer with tanh."""

    def __init__(self):
        super().__init__()
        self.f1 = nn.Linear(64, 48)
        self.f2 = nn.Linear(48, 10)

    def forward(self, images):
        hidden = torch.tanh(self.f1(torch.flatten(images, 1)))
        return self.f2(hidden)


class LeNet(nn.Module):
    """[N,1,28,28] images -> [N,10] logits; LeNet-5 with ReLU and max-pooling."""

    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, kernel_size=5, padding=2)
        self.c2 = nn.Conv2d(6, 16, kernel_size=5)
        self.f1 = nn.Linear(16 * 5 * 5, 120)
        self.f2 = nn.Linear(120, 84)
        self.f3 = nn.Linear(84, 10)

    def forward(self, images):
        maps = F.max_pool2d(F.relu(self.c1(images)), 2)
        maps = F.max_pool2d(F.relu(self.c2(maps)), 2)
        hidden = F.relu(self.f1(torch.flatten(maps, 1)))
        return self.f3(F.relu(self.f2(hidden)))


class Block(nn.Module):
    """A basic residual block: two 3x3 convolutions and a shortcut, 1x1 where shapes differ."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.down = nn.Identity()
        if stride != 1 or inputs != outputs:
            project = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.down = nn.Sequential(project, nn.BatchNorm2d(outputs))

    def forward(self, x):
        residual = F.relu(self.bn1(self.conv1(x)))
        residual = self.bn2(self.conv2(residual))
        return F.relu(residual + self.down(x))


class ResNet8(nn.Module):
    """[N,3,32,32] images -> [N,10] logits; a stem and three residual blocks."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.l = nn.Sequential(Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2))
        self.fc = nn.Linear(64, 10)

    def forward(self, images):
        maps = self.l(F.relu(self.bn1(self.conv1(images))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(maps, 1), 1))


class Layer(nn.Module):
    """A transformer layer: attention, then a GELU network four times as wide; a norm before or after (post) each."""

    def __init__(self, width, heads, causal=False, post=False, gelu="none"):
        super().__init__()
        self.heads, self.causal, self.post, self.gelu = heads, causal, post, gelu
        self.ln1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.ln2 = nn.LayerNorm(width)
        self.fc = nn.Linear(width, 4 * width)
        self.out = nn.Linear(4 * width, width)

    def attend(self, x):
        n, t, d = x.shape
        parts = self.qkv(x).split(d, dim=2)
        q, k, v = (p.reshape(n, t, self.heads, d // self.heads).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.proj(y.transpose(1, 2).reshape(n, t, d))

    def feed(self, x):
        return self.out(F.gelu(self.fc(x), approximate=self.gelu))

    def forward(self, x):
        if self.post:
            x = self.ln1(x + self.attend(x))
            return self.ln2(x + self.feed(x))
        x = x + self.attend(self.ln1(x))
        return x + self.feed(self.ln2(x))


class Gpt(nn.Module):
    """[N,T] tokens -> [N*T,V] logits of the next one; learned positions, no dropout."""

    def __init__(self, vocabulary, layers, width, heads, length, tied=False):
        super().__init__()
        self.tok = nn.Embedding(vocabulary, width)
        self.pos = nn.Embedding(length, width)
        self.b = nn.ModuleList(Layer(width, heads, causal=True, gelu="tanh") for _ in range(layers))
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.tok.weight

    def forward(self, tokens):
        x = self.tok(tokens) + self.pos.weight[: tokens.shape[1]]
        for layer in self.b:
            x = layer(x)
        logits = self.head(self.ln(x))
        return logits.reshape(-1, self.head.weight.shape[0])


def resnet18():
    import torchvision

    return torchvision.models.resnet18(weights=None)


def mobilenet_v3_small():
    import torchvision

    return torchvision.models.mobilenet_v3_small(weights=None, dropout=0.0)


def efficientnet_b0():
    import torchvision

    return torchvision.models.efficientnet_b0(weights=None, dropout=0.0, stochastic_depth_prob=0.0)


def densenet121():
    import torchvision

    return torchvision.models.densenet121(weights=None)


def convnext_tiny():
    import torchvision

    return torchvision.models.convnext_tiny(weights=None, stochastic_depth_prob=0.0)


def unet():
    import zoo

    return zoo.UNet(width=32)


def lstm():
    import zoo

    return zoo.Recurrent("LSTM", two_way=False, kinds=256, width=128, hidden=256, classes=256)


class LlamaLayer(nn.Module):
    """Attention with rotary positions and two queries to a key, then SwiGLU; an RMSNorm before each, no biases."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, wide = heads, 8 * width // 3
        self.norm1, self.norm2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.q, self.kv = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.proj, self.out = nn.Linear(width, width, bias=False), nn.Linear(wide, width, bias=False)
        self.gate, self.up = nn.Linear(width, wide, bias=False), nn.Linear(width, wide, bias=False)

    def scale(self, x, weight):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * weight

    def turn(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def attend(self, x, cos, sin):
        n, t, d = x.shape
        split = lambda y, heads: y.reshape(n, t, heads, d // self.heads).transpose(1, 2)
        k, v = self.kv(x).chunk(2, -1)
        k, v = split(k, self.heads // 2), split(v, self.heads // 2)
        k, v = (y[:, :, None].expand(-1, -1, 2, -1, -1).flatten(1, 2) for y in (self.turn(k, cos, sin), v))
        y = F.scaled_dot_product_attention(self.turn(split(self.q(x), self.heads), cos, sin), k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(n, t, d))

    def forward(self, x, cos, sin):
        x = x + self.attend(self.scale(x, self.norm1), cos, sin)
        y = self.scale(x, self.norm2)
        return x + self.out(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """[N,T] tokens -> [N*T,V] logits of the next one."""

    def __init__(self, vocabulary, layers, width, heads, length):
        super().__init__()
        self.tok, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary, bias=False)
        self.b = nn.ModuleList(LlamaLayer(width, heads) for _ in range(layers))
        half = width // heads // 2
        angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(half) / half)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens):
        x = self.tok(tokens)
        for layer in self.b:
            x = layer(x, self.cos, self.sin)
        return self.head(x).flatten(0, 1)


def resnet50(layers=(3, 4, 6, 3), **sizes):
    from torchvision.models.resnet import Bottleneck, ResNet

    return ResNet(Bottleneck, list(layers), **sizes)


class Vit(nn.Module):
    """[N,3,S,S] images -> [N,C] logits; patches of 16 by a convolution, a class token, learned positions."""

    def __init__(self, classes, layers, width, heads, size):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, 16)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.pos = nn.Parameter(0.02 * torch.randn(1, (size // 16) ** 2 + 1, width))
        self.b = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        x = self.patch(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.pos
        for layer in self.b:
            x = layer(x)
        return self.head(self.ln(x)[:, :1].flatten(1))


class Bert(nn.Module):
    """[N,T] tokens -> [N*T,V] logits of each; learned positions, no dropout."""

    def __init__(self, vocabulary, layers, width, heads, length):
        super().__init__()
        self.tok = nn.Embedding(vocabulary, width)
        self.pos = nn.Embedding(length, width)
        self.ln = nn.LayerNorm(width)
        self.b = nn.ModuleList(Layer(width, heads, post=True) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.ln(self.tok(tokens) + self.pos.weight[: tokens.shape[1]])
        for layer in self.b:
            x = layer(x)
        return self.head(x).reshape(-1, self.head.weight.shape[0])


def images(*shape):
    return torch.zeros(shape)


def tokens(*shape):
    return torch.zeros(shape, dtype=torch.int64)


# name: (maker, an input of the exported batch size)
MODELS = {
    "mlp": (Mlp, images(32, 1, 8, 8)),
    "lenet": (LeNet, images(16, 1, 28, 28)),
    "resnet8": (ResNet8, images(16, 3, 32, 32)),
    "gpt_tiny": (lambda: Gpt(96, layers=2, width=64, heads=4, length=32), tokens(4, 32)),
    "gpt_mini": (lambda: Gpt(96, layers=6, width=384, heads=6, length=256), tokens(8, 256)),
    "resnet18": (resnet18, images(8, 3, 224, 224)),
    "resnet50": (resnet50, images(2, 3, 224, 224)),
    "mobilenet_v3_small": (mobilenet_v3_small, images(16, 3, 224, 224)),
    "efficientnet_b0": (efficientnet_b0, images(8, 3, 224, 224)),
    "densenet121": (densenet121, images(8, 3, 224, 224)),
    "convnext_tiny": (convnext_tiny, images(4, 3, 224, 224)),
    "unet": (unet, images(4, 3, 128, 128)),
    "vit_tiny": (lambda: Vit(1000, layers=12, width=192, heads=3, size=224), images(8, 3, 224, 224)),
    "bert_mini": (lambda: Bert(8192, layers=4, width=256, heads=4, length=128), tokens(8, 128)),
    "llama_mini": (lambda: Llama(4096, layers=4, width=384, heads=6, length=256), tokens(4, 256)),
    "lstm": (lstm, tokens(32, 64)),
    "vit_b": (lambda: Vit(1000, layers=12, width=768, heads=12, size=224), images(2, 3, 224, 224)),
    # GPT-2's 50257 tokens, filled up to a multiple of 128 as is usual.
    "gpt2": (lambda: Gpt(50304, layers=12, width=768, heads=12, length=1024, tied=True), tokens(1, 1024)),
    "bert_large": (lambda: Bert(30528, layers=24, width=1024, heads=16, length=512), tokens(1, 512)),
}
# With all kinds of layers and few of them, to try what is done with the large ones.
SMALL = {
    "resnet50": (lambda: resnet50(layers=[1, 1, 1, 1], width_per_group=16, num_classes=16), images(2, 3, 64, 64)),
    "vit_b": (lambda: Vit(16, layers=2, width=64, heads=2, size=64), images(2, 3, 64, 64)),
    "gpt2": (lambda: Gpt(128, layers=2, width=64, heads=2, length=64, tied=True), tokens(1, 64)),
    "bert_large": (lambda: Bert(128, layers=2, width=64, heads=2, length=64), tokens(1, 64)),
}
MODELS |= {name + "_small": row for name, row in SMALL.items()}
HERE = ["mlp", "lenet", "resnet8", "gpt_tiny"]


def make(name, seed=0):
    """A fresh model in training mode; the same seed gives the same weights."""
    torch.manual_seed(seed)
    return MODELS[name][0]().train()


def export(name, form, path, seed=0):
    model, example = make(name, seed), MODELS[name][1]
    fresh = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    options = dict(input_names=["input"], output_names=["logits"])
    axes = {"input": {0: "batch"}, "logits": {0: "batch"}}
    if name.startswith(("gpt", "bert", "llama")):
        del axes["logits"]  # rows are batch * length
    if form == "dynamo":
        torch.onnx.export(model, (example,), path, dynamo=True, optimize=False,
                          external_data=False, verbose=False, **options)
    elif form == "eval":
        torch.onnx.export(model.eval(), (example,), path, dynamo=False, opset_version=17,
                          do_constant_folding=True, dynamic_axes=axes, **options)
    else:
        torch.onnx.export(model, (example,), path, dynamo=False, opset_version=17,
                          training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False, dynamic_axes=axes, **options)
    clean(path, fresh)


def clean(path, fresh):
    """Undoes what exporting leaves behind: running statistics that one traced step has moved, and
    notes with stack traces of the computer it ran on."""
    import onnx

    model = onnx.load(path)
    for tensor in model.graph.initializer:
        value = fresh.get(tensor.name)
        if value is not None and list(value.shape) == list(tensor.dims) and "running" in tensor.name:
            tensor.CopyFrom(onnx.numpy_helper.from_array(value, tensor.name))
    for part in [model.graph, *model.graph.node, *model.graph.value_info,
                 *model.graph.input, *model.graph.output, *model.functions]:
        for note in [p for p in part.metadata_props if "stack_trace" in p.key]:
            part.metadata_props.remove(note)
    onnx.save(model, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models, of " + " ".join(MODELS))
    parser.add_argument("-o", "--output", default=os.path.dirname(os.path.abspath(__file__)), help="folder of the files (default: this one)")
    parser.add_argument("--form", choices=["train", "eval", "dynamo"], default="train", help="form of the export (default: train)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the weights (default: 0)")
    options = parser.parse_args()
    for name in options.names or HERE:
        if name not in MODELS:
            parser.error(f"unknown model {name}; there are {' '.join(MODELS)}")
        suffix = "" if options.form == "train" else "-" + options.form
        path = os.path.join(options.output, f"{name}{suffix}.onnx")
        export(name, options.form, path, options.seed)
        print(path, os.path.getsize(path), "bytes")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
